"""RED-AT: what the paper leaves open, and the scenarios that are run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import penstock as ps
from penstock.reproduce.grids import Grid
from penstock.reproduce.model import Case, Cases, Settings
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
    """What a reading takes where the paper says nothing, or nothing clear.

    mark_p: the queues mark up to this probability and the flows use ECN; `None`: they drop.
    red_at: keys of RED-AT.
    ared: whose ARED it is.
    gentle: RED's, ARED's and RED-AT's.
    http_of: the HTTP sources as a part of N. extra_http: those besides the N.
    """

    profile: str = "ns-2"
    rate: str = "10 Mbit/s"
    delay: str = "20 ms"
    mark_p: float | None = None
    red_at: Mapping[str, Any] = field(default_factory=dict)
    ared: str = "Floyd"
    gentle: tuple[bool, bool, bool] = (False, True, False)
    http_of: float = 0.3
    extra_http: int = 0


def bounds(of_min: float, of_max: float) -> Mapping[str, float]:
    """Returns min± and max± as parts of the nominal 10 and 30 packets."""
    return {
        "min_lo": 10 * (1 - of_min),
        "min_hi": 10 * (1 + of_min),
        "max_lo": 30 * (1 - of_max),
        "max_hi": 30 * (1 + of_max),
    }


OPEN = Readings(
    Open(),
    as_the_rfcs(Open(profile="rfc")),
    Alternative(
        "gentle",
        "All three are gentle above max_th, as ns-2's RED is unless told otherwise.",
        Open(gentle=(True, True, True)),
    ),
    Alternative("rate=1.5M", "The link has 1.5 Mbit/s, as in ns-2's own tests of RED.", Open(rate="1.5 Mbit/s")),
    Alternative("rate=45M", "The link has 45 Mbit/s, as in the paper that introduced RED [2].", Open(rate="45 Mbit/s")),
    *of_our_own(Alternative("delay=80ms", "The link's delay is 80 ms.", Open(delay="80 ms"))),
    Alternative("ecn", "The flows use ECN and the queues mark, at any probability below 1.", Open(mark_p=1.0)),
    marking_up_to_0_1(Open(mark_p=0.1)),
    *of_our_own(
        Alternative("http=0", "All N sources are FTP.", Open(http_of=0)),
        Alternative("http=50%", "Half of the N sources are HTTP.", Open(http_of=0.5)),
    ),
    Alternative(
        "http=30", "N counts the FTP sources; 30 HTTP sources are always there.", Open(http_of=0, extra_http=30)
    ),
    *changing_only(
        ("ARED",),
        Alternative("ared=feng", "ARED is Feng's of 1999, max_p times 2 or over 3.", Open(ared="Feng")),
        Alternative("ared=blue", "ARED is what the paper's Fig. 4 prints under that name: BLUE.", Open(ared="BLUE")),
        Alternative(
            "ared.gentle=false", "ARED, too, drops every packet above max_th.", Open(gentle=(False, False, False))
        ),
    ),
    *changing_only(
        ("RED-AT",),
        *of_our_own(
            Alternative(
                "bounds=20/10%", "Narrower bounds: min_th ± 20 %, max_th ± 10 %.", Open(red_at=bounds(0.2, 0.1))
            ),
            Alternative("bounds=50/50%", "Wider bounds of max_th: ± 50 %.", Open(red_at=bounds(0.5, 0.5))),
            Alternative(
                "reset=false", "Between the regions the thresholds stay where they are.", Open(red_at={"reset": False})
            ),
            Alternative(
                "alpha=0.01", "Steps of a tenth: α = 0.01, β = 0.005.", Open(red_at={"alpha": 0.01, "beta": 0.005})
            ),
        ),
        Alternative(
            "region_a=min_minus",
            "Region a is below min⁻, as Fig. 5 suggests, not below min⁺ as Fig. 6 prints.",
            Open(red_at={"region_a": "min_minus"}),
        ),
    ),
)

# ---- the scenarios of section 6

QUEUES = ("RED", "ARED", "RED-AT")
#: "All three schemes use parameters w_q = 0.002, max_p = 0.1, min_th = 10 packets and max_th = 30
#: packets."
PARAMETERS: Mapping[str, Any] = {"w_q": 0.002, "max_p": 0.1, "min_th": 10, "max_th": 30}


def queue(name: str, taken: Open) -> Any:
    """Returns the discipline of that name."""
    common: dict[str, Any] = {"mean_packet": "1000 B"}
    if taken.mark_p is not None:
        common["ecn"] = True
    if name == "ARED" and taken.ared == "BLUE":
        return ps.Blue(**common)
    if taken.mark_p is not None:
        common["mark_p"] = taken.mark_p
    if name == "ARED" and taken.ared == "Feng":
        return ps.FengAred(**PARAMETERS, **common, gentle=False)
    gentle = dict(zip(QUEUES, taken.gentle, strict=True))[name]
    own: dict[str, Any] = {**PARAMETERS, **common, "gentle": gentle}
    if name == "RED-AT":
        return ps.RedAt(**{**own, **bounds(0.5, 0.2), "alpha": 0.1, "beta": 0.05, **taken.red_at})
    return ps.Ared(**own) if name == "ARED" else ps.Red(**own)


def scenario(name: str, n: int, reading: Reading) -> ps.Scenario:
    """Returns the scenario of Fig. 7: N sources through R1, where the discipline is, to a sink behind R2."""
    taken = OPEN[reading]
    ecn = "off" if taken.mark_p is None else "classic"
    tcp: dict[str, Any] = {"tcp": "reno", "segment": "1000 B", "window": 20, "ecn": ecn}
    start = {"uniform": ["0 s", "1 s"]}
    http = int(taken.http_of * n)
    traffic: list[Any] = [ps.Ftp(name="FTP", flows=n - http, start=start, **tcp)]
    http += taken.extra_http
    if http:
        traffic.append(ps.Web(name="HTTP", sessions=http, pairs=http, start=start, **tcp))
    access = ps.Access(rate="100 Mbit/s", delay="5 ms")
    return ps.Scenario(
        profile=taken.profile,
        topology=ps.Dumbbell(
            bottleneck=ps.Link(rate=taken.rate, delay=taken.delay, buffer=50, reverse_buffer=1000),
            access=access,
            egress=access,
        ),
        aqm=queue(name, taken),
        traffic=traffic,
        duration="150 s",
    )


def at_80(*queues: str) -> Cases:
    """Returns the cases of experiment 1: N = 80, recorded."""

    def cases(settings: Settings, reading: Reading) -> Iterator[Case]:
        for name in queues:
            yield Case({"aqm": name}, scenario(name, 80, reading), trace_s=0.05)

    return cases


ALL_AT_80, ONLY_RED_AT = at_80(*QUEUES), at_80("RED-AT")

#: Experiment 2: every N.
OVER_FLOWS = Grid(build=scenario, names=QUEUES, along="N", values=(5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100))
#: The loads that claims are about, as the paper groups them: "low to medium" and "high". The others
#: are in the figures alone, since a run at all of them would take a third of the whole report.
LOW, HIGH = (5, 20, 40), (60, 80, 100)


# ---- the illustrations of sections 2 to 5

#: Figures 1 to 3: TCPs whose windows are shown, as the panels name them.
LOSS_BASED, DELAY_BASED = ("Tahoe", "Reno"), ("Vegas",)
WIRELESS = ("New Reno", "Westwood+")
#: The part of packets that figure 3's link loses whatever its queue does.
WIRE_LOSS = 0.002


def one_flow(*tcps: str, loss: float = 0.0) -> Cases:
    """Returns one flow alone over the link of Fig. 7, its window recorded."""

    def cases(settings: Settings, reading: Reading) -> Iterator[Case]:
        for name in tcps:
            yield Case({"tcp": name}, _alone(name, loss), trace_s=0.02, windows=True)

    return cases


def _alone(name: str, loss: float) -> ps.Scenario:
    usual = Open()
    access = ps.Access(rate="100 Mbit/s", delay="5 ms")
    control: Any = name.lower().replace(" ", "").rstrip("+")
    return ps.Scenario(
        profile=usual.profile,
        topology=ps.Dumbbell(
            bottleneck=ps.Link(rate=usual.rate, delay=usual.delay, buffer=50, reverse_buffer=1000, loss=loss),
            access=access,
            egress=access,
        ),
        aqm=ps.DropTail(mean_packet="1000 B"),
        traffic=[ps.Ftp(tcp=control, segment="1000 B", window=300)],
        duration="40 s",
    )


def blue(settings: Settings, reading: Reading) -> Iterator[Case]:
    """Yields the cases of figure 4: what the paper prints as ARED [4], under experiment 1's traffic."""
    yield Case({"aqm": "BLUE"}, scenario("ARED", 80, OPEN.keyed("ared=blue")[0]), trace_s=0.05)
