"""RED against DropTail: what the paper leaves open, and the scenarios that are run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import penstock as ps
from penstock.reproduce.grids import Grid
from penstock.reproduce.readings import Alternative, Reading, Readings, as_the_rfcs

# ---- what the paper prints

QUEUES = ("RED", "DropTail")


@dataclass(frozen=True, slots=True)
class Printed:
    """One of the paper's tables: each row's N or D, and RED's and DropTail's numbers."""

    at: Sequence[int]
    red: Sequence[float]
    droptail: Sequence[float]

    def of(self, queue: str, at: float) -> float:
        """Returns the number of a queue in a row."""
        return self.column(queue)[self.at.index(int(at))]

    def column(self, queue: str) -> Sequence[float]:
        """Returns all numbers of a queue."""
        return self.red if queue == "RED" else self.droptail


FLOWS = (2, 4, 8, 12, 16, 20, 24, 32)
SPREADS_MS = (10, 15, 20)
#: Throughput, Mbit/s.
TABLE_1 = Printed(FLOWS, (2.5, 3.5, 7.5, 8.0, 12.0, 12.5, 17.0, 23.0), (2.5, 3.5, 7.5, 8.0, 11.9, 12.5, 17.0, 23.0))
TABLE_2 = Printed(
    FLOWS, (0.40, 0.80, 1.43, 1.40, 1.60, 1.75, 2.20, 2.35), (0.40, 0.80, 1.43, 1.35, 1.50, 1.70, 2.15, 2.30)
)
#: Fairness index.
TABLE_3 = Printed(SPREADS_MS, (0.638, 0.530, 0.585), (0.643, 0.532, 0.485))
TABLE_4 = Printed(SPREADS_MS, (0.762, 0.750, 0.738), (0.718, 0.655, 0.618))

# ---- what the paper leaves open


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """What a reading takes where the paper says nothing.

    tcp: keys of the senders. red: keys of RED.
    droptail_more: packets that DropTail's buffer has more than RED's.
    """

    profile: str = "ns-2"
    duration: str = "3.5 s"
    start: Any = field(default_factory=lambda: {"uniform": ["0 s", "10 ms"]})
    buffer: int = 50
    droptail_more: int = 0
    tcp: Mapping[str, Any] = field(default_factory=dict)
    red: Mapping[str, Any] = field(default_factory=dict)


OPEN = Readings(
    Open(),
    as_the_rfcs(Open(profile="rfc")),
    Alternative("duration=3s", "Runs of 3 s, as the FTP of a well-known ns-2 tutorial.", Open(duration="3 s")),
    Alternative(
        "duration=4s",
        "Runs of 4 s: the tutorials' sources start after 0.5 or 1 s, and their scripts end 4 s later.",
        Open(duration="4 s"),
    ),
    Alternative("duration=5s", "Runs of 5 s: the tutorials' scripts end then.", Open(duration="5 s")),
    Alternative("duration=10s", "Runs of 10 s.", Open(duration="10 s"), documented=False),
    Alternative("duration=30s", "Runs of 30 s.", Open(duration="30 s"), documented=False),
    Alternative("start=0", "All flows start at one instant.", Open(start="0 s")),
    Alternative("window=64", "Windows of 64 packets, about TCP's largest of 64 kB.", Open(tcp={"window": 64})),
    Alternative("buffer=20", "A buffer of 20 packets.", Open(buffer=20), documented=False),
    Alternative("buffer=100", "A buffer of 100 packets.", Open(buffer=100), documented=False),
    Alternative(
        "buffer=equal",
        "As many packets may wait under DropTail as under RED (ns-2's DropTail holds one less).",
        Open(droptail_more=1),
        queues=("DropTail",),
    ),
    Alternative("tcp=reno", "The flows are Reno.", Open(tcp={"tcp": "reno"})),
    Alternative("segment=1000B", "Packets of 1000 bytes, ns-2's default.", Open(tcp={"segment": "1000 B"})),
    Alternative(
        "red=5/15",
        "RED's thresholds are 5 and 15 packets, its weight 0.002: ns-2's defaults before 2001.",
        Open(red={"min_th": 5, "max_th": 15, "w_q": 0.002}),
        queues=("RED",),
    ),
)

# ---- the scenarios


def scenario(queue: str, flows: int, delay_ms: int, reading: Reading, spread_ms: int | None = None) -> ps.Scenario:
    """Returns the scenario of Fig. 1: N senders and receivers, T_p = `delay_ms`.

    Where there is a D, `spread_ms`, source i is i·D away from the router, i = 0…N − 1.
    """
    taken = OPEN[reading]
    tcp: dict[str, Any] = {"tcp": "tahoe", "window": 20, "segment": "1460 B", **taken.tcp}
    own = taken.buffer + (taken.droptail_more if queue == "DropTail" else 0)
    away: Any = "0.1 ms" if spread_ms is None else {"spread": ["0 ms", f"{(flows - 1) * spread_ms} ms"]}
    return ps.Scenario(
        profile=taken.profile,
        topology=ps.Dumbbell(
            bottleneck=ps.Link(rate="45 Mbit/s", delay=f"{delay_ms} ms", buffer=own, reverse_buffer=1000),
            access=ps.Access(rate="45 Mbit/s", delay=away),
            egress=ps.Access(rate="45 Mbit/s", delay="0.1 ms"),
        ),
        aqm=ps.Red(mean_packet=tcp["segment"], **taken.red) if queue == "RED" else ps.DropTail(),
        traffic=[ps.Ftp(flows=flows, start=taken.start, **tcp)],
        duration=taken.duration,
    )


def over_flows(delay_ms: int, droptail_more: int = 0) -> Grid:
    """Returns cases 1 and 2: every N. droptail_more: packets that DropTail's buffer has more than the reading's."""

    def build(queue: str, flows: int, reading: Reading) -> ps.Scenario:
        made = scenario(queue, flows, delay_ms, reading)
        if queue == "RED" or not droptail_more:
            return made
        taken = OPEN[reading]
        most = max(taken.droptail_more, droptail_more)
        return made.set("topology.bottleneck.buffer", taken.buffer + most)

    return Grid(build=build, names=QUEUES, along="N", values=FLOWS)


def over_spread(delay_ms: int) -> Grid:
    """Returns cases 3 and 4: N = 16, every D."""

    def build(queue: str, spread_ms: int, reading: Reading) -> ps.Scenario:
        return scenario(queue, 16, delay_ms, reading, spread_ms)

    return Grid(build=build, names=QUEUES, along="D_ms", values=SPREADS_MS)


CASE_1, CASE_2, CASE_3, CASE_4 = over_flows(80), over_flows(250), over_spread(75), over_spread(250)
