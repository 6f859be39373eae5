"""NRED: what the paper leaves open, and the scenarios that are run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import penstock as ps
from penstock.reproduce.grids import Grid
from penstock.reproduce.model import Case, Settings
from penstock.reproduce.readings import (
    Alternative,
    Reading,
    Readings,
    as_the_rfcs,
    changing_only,
    marking_up_to_0_1,
    of_our_own,
)

# ---- what the paper leaves open


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """What a reading takes where the paper says nothing.

    tcp: keys of the senders. nred: keys of NRED.
    mark_p: RED and NRED mark up to this probability and the flows use ECN; `None`: they drop.
    in_bytes: the buffer and the queues count bytes, not packets.
    """

    profile: str = "ns-2"
    tcp: Mapping[str, Any] = field(default_factory=dict)
    nred: Mapping[str, Any] = field(default_factory=dict)
    gentle: bool = True
    mark_p: float | None = None
    in_bytes: bool = False


OPEN = Readings(
    Open(),
    as_the_rfcs(Open(profile="rfc")),
    Alternative("unit=bytes", "Buffer and queues count bytes (headers too), not packets.", Open(in_bytes=True)),
    Alternative(
        "ecn", "The flows use ECN; RED and NRED mark at any p below 1 (Table 1: “dropped or marked”).", Open(mark_p=1.0)
    ),
    marking_up_to_0_1(Open(mark_p=0.1)),
    Alternative("tcp=tahoe", "The flows are Tahoe, the plain agent of ns-2.", Open(tcp={"tcp": "tahoe"})),
    Alternative("tcp=sack", "The flows are SACK.", Open(tcp={"tcp": "sack"})),
    *of_our_own(
        Alternative(
            "window=100",
            "The receivers' windows are 100 packets, not ns-2's 20: more than the buffer and the link hold.",
            Open(tcp={"window": 100}),
        )
    ),
    *changing_only(
        ("NRED",),
        *of_our_own(
            Alternative("n_max=3", "NRED's exponent is at most 3, not 5.", Open(nred={"n_max": 3})),
            Alternative("n_max=10", "NRED's exponent is at most 10, not 5.", Open(nred={"n_max": 10})),
            Alternative("n_0=1", "NRED's exponent starts at 1, not 2.", Open(nred={"n_0": 1})),
        ),
        Alternative(
            "gate=geometric",
            "NRED drops each packet with p as it stands, without RED's count.",
            Open(nred={"gate": "geometric"}),
        ),
    ),
    *changing_only(
        ("RED",),
        Alternative("gentle=false", "RED drops every packet when the average is above max_th.", Open(gentle=False)),
    ),
)

# ---- the scenarios of section 3

QUEUES = ("DropTail", "RED", "NRED")
#: Table 1, and with max_p and the gentle option RED's part of it.
BOTH: Mapping[str, Any] = {"min_th": 5, "max_th": 15, "w_q": 0.002}


def queue(name: str, taken: Open) -> Any:
    """Returns the discipline of that name."""
    common: dict[str, Any] = {"mean_packet": "1000 B"}
    if taken.in_bytes:
        common["unit"] = "bytes"
    if name == "DropTail":
        return ps.DropTail(**common)
    if taken.mark_p is not None:
        common |= {"ecn": True, "mark_p": taken.mark_p}
    if name == "RED":
        return ps.Red(**BOTH, max_p=0.1, gentle=taken.gentle, **common)
    return ps.Nred(**BOTH, **common, **taken.nred)


def scenario(name: str, flows: int, buffer_kb: int, reading: Reading) -> ps.Scenario:
    """Returns Fig. 2's network with N = `flows`."""
    taken = OPEN[reading]
    ecn = {} if taken.mark_p is None else {"ecn": "classic"}
    tcp = {"tcp": "reno", "segment": "1000 B", "window": 20, **ecn, **taken.tcp}
    access = ps.Access(rate="10 Mbit/s", delay={"uniform": ["40 ms", "60 ms"]})
    return ps.Scenario(
        name=f"NRED paper: {name}, N = {flows}, {buffer_kb} KB",
        topology=ps.Dumbbell(
            bottleneck=ps.Link(
                rate="1.5 Mbit/s",
                delay="50 ms",
                buffer=f"{buffer_kb} kB" if taken.in_bytes else buffer_kb,
                reverse_buffer=1000,
            ),
            access=access,
            egress=access,
        ),
        aqm=queue(name, taken),
        traffic=[ps.Ftp(flows=flows - 1, **tcp), ps.Cbr(rate="150 kbit/s", packet="1000 B")],
        duration="100 s",
        profile=taken.profile,
    )


#: Figures 3 and 4: every buffer, N = 50.
OVER_BUFFER = Grid(
    build=lambda name, kb, reading: scenario(name, 50, kb, reading),
    names=QUEUES,
    along="buffer_kb",
    values=tuple(range(20, 141, 20)),
)
LARGE_KB = (80, 100, 120, 140)

#: Figures 5 and 6: every N, a buffer of 100 KB.
OVER_LOAD = Grid(
    build=lambda name, n, reading: scenario(name, n, 100, reading),
    names=QUEUES,
    along="N",
    values=tuple(range(20, 101, 20)),
)
#: NRED over N, its exponent recorded.
EXPONENTS = replace(OVER_LOAD.only("NRED"), trace_s=0.1)

#: The exponents of Fig. 1's profiles of NRED, and its buffer.
PROFILE_N, FLOOD_BUFFER = (1, 2, 5), 100


def profiles(settings: Settings, reading: Reading) -> Iterator[Case]:
    """Yields the cases of Fig. 1: RED, and NRED with its exponent held, while the average rises through the profile.

    A flood lifts the average from 0 to the buffer's size, over a link so slow that the queue stays
    full. A discipline publishes the average and the probability of the last arrival.
    """
    for n in PROFILE_N:
        held = ps.Nred(**BOTH, n_min=n, n_max=n, n_0=n)
        yield Case({"aqm": f"NRED, n = {n}", "n": n}, _flood(held), trace_s=0.0002)
    yield Case({"aqm": "RED", "n": 0}, _flood(ps.Red(**BOTH, max_p=0.1, gentle=True)), trace_s=0.0002)


def _flood(aqm: Any) -> ps.Scenario:
    return ps.Scenario(
        name="NRED paper: profile",
        topology=ps.Dumbbell(bottleneck=ps.Link(rate="15 kbit/s", delay="50 ms", buffer=FLOOD_BUFFER)),
        aqm=aqm,
        traffic=[ps.Cbr(rate="100 Mbit/s", packet="1000 B")],
        duration="0.4 s",
        profile="ns-2",
    )
