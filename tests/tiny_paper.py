"""A paper that reproduces in milliseconds: every kind of exhibit, every verdict, a claim with readings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import penstock as ps
from penstock import style
from penstock.reproduce.model import (
    Above,
    Below,
    Case,
    Claim,
    Exhibit,
    Finding,
    Paper,
    Reading,
    Settings,
    TableData,
    Within,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from penstock.reproduce.runs import Runs

RFC = Reading("rfc", "TCP as the RFCs have it.")
SLOW = Reading("rate=1", "The bottleneck at 1 Mbit/s, which a <reader> might & would ask about.")

BUFFERS = (5, 10, 20)


def scenario(buffer: int, reading: Reading) -> ps.Scenario:
    rate = "1 Mbit/s" if reading == SLOW else "1.5 Mbit/s"
    return ps.Scenario(
        topology=ps.Dumbbell(bottleneck=ps.Link(rate=rate, delay="10 ms", buffer=f"{buffer} packets")),
        traffic=[ps.Ftp(flows=4, tcp="reno", start={"uniform": ["0 s", "0.5 s"]})],
        duration="5 s",
        measure={"from": "1 s"},
        profile="rfc" if reading == RFC else "ns-2",
    )


def over_buffer(settings: Settings, reading: Reading) -> Iterator[Case]:
    for buffer in BUFFERS[:: 2 if settings.quick else 1]:
        yield Case({"buffer": buffer}, scenario(buffer, reading))


def over_time(settings: Settings, reading: Reading) -> Iterator[Case]:
    yield Case({"buffer": 20}, scenario(20, reading), trace_s=0.05)


def delay_curve(runs: Runs) -> Figure:
    from matplotlib.figure import Figure

    with style.context():
        figure = Figure(figsize=(7, 3))
        axes = figure.subplots()
        points = runs.curve("buffer", "delay_mean_s")
        axes.plot([x for x, _ in points], [1e3 * (y.mean or 0) for _, y in points], color=style.look(0).colour)
        axes.set(xlabel="buffer (packets)", ylabel="mean delay (ms)")
    return figure


def queue_over_time(runs: Runs) -> Figure:
    from matplotlib.figure import Figure

    with style.context():
        figure = Figure(figsize=(7, 3))
        axes = figure.subplots()
        for run in runs:
            assert run.trace is not None
            axes.plot(run.trace["t_s"], run.trace["queue_pkts"], color=style.look(0).colour, alpha=0.5)
        axes.set(xlabel="time (s)", ylabel="queue (packets)")
    return figure


def loss_table(runs: Runs) -> TableData:
    rows = [[str(b), f"{runs.estimate('loss_ratio', buffer=b).mean:.4f}"] for b in runs.labels("buffer")]
    return TableData(["buffer (packets)", "loss ratio"], rows)


def longer(runs: Runs) -> list[float]:
    return [float(1e3 * d) for d in runs.difference("delay_mean_s", {"buffer": 20}, {"buffer": 5})]


def discussion(found: Mapping[str, Finding]) -> str:
    return f"**A longer buffer:** {found['fig1.delay'].verdict}.\n\nThat < is all."


PAPER = Paper(
    key="amecn",  # the place of a real one, so that the command finds it
    name="TINY",
    citation="A. Nobody, “On buffers & delay”, 1999.",
    exhibits=[
        Exhibit("fig1", "Delay over buffer", over_buffer, delay_curve, "Mean delay. Buffers < 20 packets are short."),
        Exhibit("fig2", "The queue over time", over_time, queue_over_time, "All seeds."),
        Exhibit("table1", "Loss over buffer", over_buffer, loss_table, "Data and ACKs."),
    ],
    claims=[
        Claim(
            "fig1.delay",
            "A buffer of 20 packets delays longer than one of 5",
            "fig1",
            "longer",
            "ms",
            over_buffer,
            longer,
            Above(),
            (RFC, SLOW),
        ),
        Claim(
            "table1.none",
            "Nothing is lost with 5 packets",
            "table1",
            "0 %",
            "%",
            over_buffer,
            lambda runs: [float(100 * v) for v in runs.values("loss_ratio", buffer=5)],
            Below(1e-6),
            (RFC,),
        ),
        Claim(
            "fig2.seed",
            "The seeds' numbers average to 2",
            "fig2",
            "2",
            "",
            over_time,
            lambda runs: [float(seed) for seed in runs.seeds],
            Within(1.9, 2.1),
        ),
    ],
    unstated=["The rate, read as 1.5 Mbit/s."],
    discussion=discussion,
)


if __name__ == "__main__":  # `penstock reproduce`, with this paper in the place of all
    import sys

    from penstock import _progress
    from penstock.cli import main
    from penstock.reproduce import command

    _progress.LINE_S = float("inf")  # what a test sees on stderr does not depend on the machine's speed
    command.paper = lambda key: PAPER  # type: ignore[attr-defined]
    sys.exit(main(["reproduce", *sys.argv[1:]]))
