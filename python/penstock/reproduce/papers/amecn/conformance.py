"""AMECN: tables 1 to 3 beside what the simulator's packets and windows do.

These tables say how bits are set and windows are cut, which no metric shows. So a run is run once
more here, with its packets captured or its windows recorded.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

import penstock as ps
from penstock import _penstock
from penstock.reproduce.model import Case, Settings, TableData
from penstock.reproduce.papers.amecn.scenarios import load_change
from penstock.reproduce.readings import Reading
from penstock.runs.recorded import recorded

if TYPE_CHECKING:
    from penstock.reproduce.runs import Run, Runs


def with_marks(settings: Settings, reading: Reading) -> Iterator[Case]:
    """Yields MECN under the load of figure 5: marks of both levels."""
    yield Case({"aqm": "MECN"}, load_change("MECN", "rises", reading))


def one_level(settings: Settings, reading: Reading) -> Iterator[Case]:
    """Yields one flow behind a router that gives signals of one level alone."""
    always: dict[str, Any] = {"mark_p": 1.0, "w_q": 0.02}
    for level, aqm, buffer in (
        ("incipient", ps.Mecn(min_th=2, mid_th=60, max_th=61, p1_max=0.5, p2_max=0.5, **always), 100),
        ("moderate", ps.Mecn(min_th=1, mid_th=2, max_th=60, p1_max=1e-4, p2_max=0.5, **always), 100),
        ("severe", ps.DropTail(), 20),
    ):
        scenario = ps.Scenario(
            profile="rfc",
            topology=ps.Dumbbell(
                bottleneck=ps.Link(rate="1.5 Mbit/s", delay="40 ms", buffer=buffer),
                access=ps.Access(rate="10 Mbit/s", delay="2 ms"),
            ),
            aqm=aqm,
            traffic=[ps.Ftp(flows=1, tcp="reno", ecn="mecn", window=64, segment="1000 B")],
            duration="50 s",
        )
        yield Case({"level": level}, scenario)


def router_marks(runs: Runs) -> TableData:
    """Returns table 1: the bits of the IP header behind the queue."""
    run = first(runs)
    seen = Counter(packet[1] & 3 for packet in captured(run, "bottleneck:out"))
    drops = sum(run.metrics[f"drops_{why}"] or 0 for why in ("early", "forced", "overflow"))
    marks = [f"{run.metrics[name]:.0f}" for name in ("marks_incipient", "marks_ce")]
    # The table writes CE before ECT; in the header ECT comes first.
    return TableData(
        ("congestion", "paper: CE ECT", "in the header: ECT CE", "packets seen", "marked by the queue"),
        [
            ["none", "0 1", "1 0", f"{seen[2]}", ""],
            ["incipient", "1 0", "0 1", f"{seen[1]}", marks[0]],
            ["moderate", "1 1", "1 1", f"{seen[3]}", marks[1]],
            ["severe", "packet drop", "", "", f"{drops:.0f} dropped"],
            ["(not capable)", "0 0", "0 0", f"{seen[0]}", ""],
        ],
    )


def receiver_echoes(runs: Runs) -> TableData:
    """Returns table 2: the bits of the TCP header on the way back."""
    run = first(runs)
    acks: Counter[int] = Counter()
    data: Counter[int] = Counter()
    for packet in captured(run, "bottleneck.reverse"):
        flags = packet[20 + 13]
        if not flags & 0x02:  # no SYN
            (data if len(packet) > 100 else acks)[flags >> 6] += 1
    marks = [f"{run.metrics[name]:.0f}" for name in ("marks_incipient", "marks_ce")]
    return TableData(
        ("congestion", "paper: CWR ECE", "ACKs seen", "marks that left the queue", "data packets seen"),
        [
            ["window reduced", "0 0", f"{acks[0]}", "", f"{data[0]}"],
            ["none", "0 1", f"{acks[1]}", "", f"{data[1]}"],
            ["incipient", "1 0", f"{acks[2]}", marks[0], f"{data[2]}"],
            ["moderate", "1 1", f"{acks[3]}", marks[1], f"{data[3]}"],
        ],
    )


def sender_cuts(runs: Runs) -> TableData:
    """Returns table 3: the window after a cut over the window before."""
    rows = [["none", "grows additively", "", ""]]
    for level, said in (("incipient", "−20 %"), ("moderate", "−40 %"), ("severe", "−50 %")):
        cuts = 100 * (ratios(first(runs.where(level=level))) - 1)
        middle = f"{np.median(cuts):.1f} %".replace("-", "−") if len(cuts) else "no cut"
        rows.append([level, said, middle, f"{len(cuts)}"])
    return TableData(("congestion", "paper", "here: the median", "cuts"), rows)


def first(runs: Runs) -> Run:
    """Returns the run of the first seed."""
    return min(runs, key=lambda run: run.seed)


def captured(run: Run, link: str) -> Iterator[bytes]:
    """Yields the packets of a link, from the IP header on."""
    (result,) = _penstock.run(run.scenario.core, [run.seed], 1, pcap=link)
    capture, at = result.pcap or b"", 24
    while at < len(capture):
        (length,) = struct.unpack_from("<I", capture, at + 8)
        yield capture[at + 16 : at + 16 + length]
        at += 16 + length


def ratios(run: Run) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Returns the slow-start threshold after each cut over the window before it.

    The window itself swells while a lost packet is repaired.
    """
    (result,) = _penstock.run(run.scenario.core, [run.seed], 1, series_interval_s=0.001)
    series = recorded(result, "cwnd")
    window, ssthresh = (series[name].to_numpy() for name in ("cwnd_segments", "ssthresh_segments"))
    # The threshold is infinite until the first cut, which ends slow start.
    cuts = np.flatnonzero(np.isfinite(ssthresh[:-1]) & (ssthresh[1:] != ssthresh[:-1]))
    found: np.ndarray[tuple[int], np.dtype[np.float64]] = ssthresh[cuts + 1] / window[cuts]
    return found
