"""A paper that reproduces in milliseconds: every kind of exhibit, every verdict, a claim with readings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import penstock as ps
from penstock.judging.rules import Above, Below, Within
from penstock.reproduce.model import Case, Claim, Exhibit, Finding, Paper, Sense, Settings, TableData
from penstock.reproduce.readings import Reading
from penstock.show import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from penstock.reproduce.runs import Runs

RFC = Reading("rfc", "TCP as the RFCs have it.")
SLOW = Reading("rate=1", "The bottleneck at 1 Mbit/s, which a <reader> might & would ask about.")

EACH = Reading("each", "At every buffer longer than 5.")

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
    for buffer in BUFFERS:
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


def longer_each(runs: Runs) -> Mapping[str, list[float]]:
    at = {buffer: runs.difference("delay_mean_s", {"buffer": buffer}, {"buffer": 5}) for buffer in (10, 20)}
    return {str(buffer): [float(1e3 * d) for d in found] for buffer, found in at.items()}


def discussion(found: Mapping[str, Finding]) -> str:
    return f"**A longer buffer:** {found['fig1.delay'].verdict}.\n\nThat < is all."


PAPER = Paper(
    key="amecn",  # the place of a real one, so that the command finds it
    name="TINY",
    citation="A. Nobody, “On buffers & delay”, 1999.",
    bibtex="@article{tiny,\n  author = {Nobody, A.},\n  title = {On buffers {\\&} delay},\n  year = 1999,\n}",
    believe=lambda found: f"A longer buffer delays longer: {found['fig1.delay'].verdict}; <believe> it.",
    exhibits=[
        Exhibit(
            key="fig1",
            title="Delay over buffer",
            cases=over_buffer,
            show=delay_curve,
            caption="Mean delay. Buffers < 20 packets are short.",
        ),
        Exhibit(key="fig2", title="The queue over time", cases=over_time, show=queue_over_time, caption="All seeds."),
        Exhibit(key="table1", title="Loss over buffer", cases=over_buffer, show=loss_table, caption="Data and ACKs."),
    ],
    claims=[
        Claim(
            key="fig1.delay",
            text="A buffer of 20 packets delays longer than one of 5",
            exhibit="fig1",
            paper_value="longer: 200 ms",
            place="section 2",
            unit="ms",
            cases=over_buffer,
            values=longer,
            rule=Above(),
            printed=200.0,
            readings=(RFC, SLOW),
            senses=(Sense(reading=EACH, values=longer_each),),
        ),
        Claim(
            key="table1.none",
            text="Nothing is lost with 5 packets",
            exhibit="table1",
            paper_value="0 %",
            unit="%",
            cases=over_buffer,
            values=lambda runs: [float(100 * v) for v in runs.values("loss_ratio", buffer=5)],
            rule=Below(1e-6),
            readings=(RFC,),
        ),
        Claim(
            key="fig2.seed",
            text="The seeds' numbers average to 2",
            exhibit="fig2",
            paper_value="2",
            of="check",
            unit="",
            cases=over_time,
            values=lambda runs: [float(seed) for seed in runs.seeds],
            rule=Within(1.9, 2.1),
        ),
    ],
    unstated=["The rate, read as 1.5 Mbit/s."],
    discussion=discussion,
)


if __name__ == "__main__":  # `penstock reproduce`, with this paper in the place of all
    import sys

    from penstock.cli import main
    from penstock.reproduce import papers
    from penstock.show import progress

    progress.LINE_S = float("inf")  # what a test sees on stderr does not depend on the machine's speed
    papers.paper = lambda key: PAPER
    sys.exit(main(["reproduce", *sys.argv[1:]]))
