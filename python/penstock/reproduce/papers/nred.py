"""NRED, adaptive nonlinear RED: the reproduction of its section 3, figures 3 to 6, and of Fig. 1.

N − 1 FTP flows and one CBR flow share a slow link. The buffer varies at N = 50, and N varies with a
buffer of 100 KB. The paper says of NRED, whose drop probability is a power of the average queue that
reaches 1 at the buffer: it has the lowest delay at large buffers and at small N, is like the others
at small buffers, and has the lowest loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import penstock as ps
from penstock import style
from penstock.reproduce import draw
from penstock.reproduce.claims import Comparison, difference
from penstock.reproduce.grids import Grid
from penstock.reproduce.measures import DELAY, LOSS
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
from penstock.reproduce.readings import Alternative, Readings, as_the_rfcs, changing_only, marking_up_to_0_1
from penstock.reproduce.words import measured, tally

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from penstock.reproduce.runs import Run, Runs

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
    Alternative(
        "window=100",
        "The receivers' windows are 100 packets, not ns-2's 20: more than the buffer and the link hold.",
        Open(tcp={"window": 100}),
    ),
    *changing_only(
        ("NRED",),
        Alternative("n_max=3", "NRED's exponent is at most 3, not 5.", Open(nred={"n_max": 3})),
        Alternative("n_max=10", "NRED's exponent is at most 10, not 5.", Open(nred={"n_max": 10})),
        Alternative("n_0=1", "NRED's exponent starts at 1, not 2.", Open(nred={"n_0": 1})),
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
    """The discipline of that name."""
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
    """Fig. 2's network with N = `flows`."""
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
    quick=(20, 80, 140),
)
LARGE_KB = (80, 100, 120, 140)

#: Figures 5 and 6: every N, a buffer of 100 KB.
OVER_LOAD = Grid(
    build=lambda name, n, reading: scenario(name, n, 100, reading),
    names=QUEUES,
    along="N",
    values=tuple(range(20, 101, 20)),
    quick=(20, 60, 100),
)
#: NRED over N, its exponent recorded.
EXPONENTS = replace(OVER_LOAD.only("NRED"), trace_s=0.1)

#: The exponents of Fig. 1's profiles of NRED, and its buffer.
PROFILE_N, FLOOD_BUFFER = (1, 2, 5), 100


def profiles(settings: Settings, reading: Reading) -> Iterator[Case]:
    """Fig. 1: RED, and NRED with its exponent held, while the average rises through the profile.

    A flood lifts the average from 0. A discipline publishes the average and the probability of the
    last arrival.
    """
    for n in PROFILE_N:
        held = ps.Nred(**BOTH, n_min=n, n_max=n, n_0=n)
        yield Case({"aqm": f"NRED, n = {n}", "n": n}, _flood(held), trace_s=0.0002)
    yield Case({"aqm": "RED", "n": 0}, _flood(ps.Red(**BOTH, max_p=0.1, gentle=True)), trace_s=0.0002)


def _flood(aqm: Any) -> ps.Scenario:
    return ps.Scenario(
        name="NRED paper: profile",
        topology=ps.Dumbbell(bottleneck=ps.Link(rate="1.5 Mbit/s", delay="50 ms", buffer=FLOOD_BUFFER)),
        aqm=aqm,
        traffic=[ps.Cbr(rate="100 Mbit/s", packet="1000 B")],
        duration="0.4 s",
        profile="ns-2",
    )


# ---- figures


def show_profiles(runs: Runs) -> Figure:
    """Fig. 1, from what the disciplines published."""
    with style.context():
        made = draw.figure()
        ax = made.subplots()
        for number, (name, at) in enumerate(
            (("RED", 23), ("NRED, n = 1", 62), ("NRED, n = 2", 72), ("NRED, n = 5", 84)), start=1
        ):
            run = min(runs.where(aqm=name), key=lambda run: run.seed)
            avg, p = run.recorded("avg_pkts"), run.recorded("p_b")
            order = np.argsort(avg, kind="stable")
            look = style.look(number)
            ax.plot(avg[order], p[order], color=look.colour, linestyle=look.line)
            level = float(np.interp(at, avg[order], p[order]))
            draw.write(ax, name, (at, level), look.colour, xytext=(-6, 3), textcoords="offset points", ha="right")
        colour = style.look(0).colour
        ax.plot([0, FLOOD_BUFFER, FLOOD_BUFFER], [0, 0, 1], color=colour, linewidth=2.4, zorder=1)
        draw.write(ax, "DropTail, over the queue itself", (1.01, 0.5), colour, beside=True, rotation=90)
        ax.set_xlim(0, FLOOD_BUFFER * 1.02)
        ax.set_ylim(0, 1.02)
        ax.set_xlabel("average queue [packets]; min_th 5, max_th 15, buffer 100")
        ax.set_ylabel("drop probability p")
    return made


def show_exponents(runs: Runs) -> TableData:
    """What NRED's exponent does in the runs of figures 5 and 6."""
    rows = []
    for flows in runs.labels("N"):
        part = runs.where(N=flows)
        mean = part.estimate(mean_exponent)
        series = [run.recorded("n") for run in part]
        highest = max(float(np.max(n)) for n in series)
        changes = max(int(np.count_nonzero(np.diff(n))) for n in series)
        ends = " or ".join(f"{v:g}" for v in sorted({float(n[-1]) for n in series}))
        rows.append([f"{flows}", f"{mean.mean:.3f}", f"{highest:g}", f"{changes:g}", ends])
    return TableData(("N", "mean of n", "highest n", "most changes in a run", "n at the end"), rows)


def mean_exponent(run: Run) -> float:
    """The mean of NRED's exponent over a run."""
    return float(np.mean(run.recorded("n")))


over_buffer = partial(draw.over, "buffer_kb", xlabel="buffer [KB]", order=QUEUES)
over_load = partial(draw.over, "N", xlabel="flows N (N − 1 FTP, 1 CBR)", order=QUEUES)

EXHIBITS = (
    Exhibit(
        key="fig1",
        title="Drop probability profile of NRED, DropTail and RED",
        cases=profiles,
        show=show_profiles,
        caption="RED's and NRED's curves are what the disciplines published, arrival by arrival, while a flood lifted "
        "the average; DropTail's is its definition. The paper's Fig. 1 names no n.",
    ),
    Exhibit(
        key="section2",
        title="Not shown in the paper: NRED's exponent in the runs of figures 5 and 6",
        cases=EXPONENTS,
        show=show_exponents,
        caption="Sampled every 0.1 s for 100 s. The exponent starts at 2, with bounds 1 and 5.",
    ),
    Exhibit(
        key="fig3",
        title="Delay over buffer size",
        cases=OVER_BUFFER,
        show=over_buffer(DELAY),
        caption="N = 50. Queueing delay at the bottleneck, of all packets; propagation is a constant more.",
    ),
    Exhibit(
        key="fig4",
        title="Packet loss over buffer size",
        cases=OVER_BUFFER,
        show=over_buffer(LOSS),
        caption="N = 50. Packets dropped at the bottleneck over packets that arrived there.",
    ),
    Exhibit(
        key="fig5",
        title="Delay over the number of connections",
        cases=OVER_LOAD,
        show=over_load(DELAY),
        caption="Buffer 100 KB.",
    ),
    Exhibit(
        key="fig6",
        title="Packet loss over the number of connections",
        cases=OVER_LOAD,
        show=over_load(LOSS),
        caption="Buffer 100 KB.",
    ),
)

# ---- claims


def compared(grid: Grid, ours: str, theirs: str, at: Sequence[int] | None = None) -> Comparison:
    """Two of the disciplines on a grid."""
    return Comparison.on(grid, ours, theirs, at=at, readings=OPEN.touching(ours, theirs))


def nred_against(other: str) -> Iterator[Claim]:
    """What the paper says of NRED and one of the others."""
    name = other.lower()
    yield compared(OVER_BUFFER, "NRED", other, LARGE_KB).percent(
        DELAY,
        key=f"fig3.large-{name}",
        text=f"At larger buffers NRED has the lower delay: NRED's mean over 80…140 KB, less {other}'s, is below 0.",
        paper_value="lower",
        rule=Below(),
    )
    yield compared(OVER_BUFFER, "NRED", other, (20,)).percent(
        DELAY,
        key=f"fig3.small-{name}",
        text=f"At a small buffer (20 KB) the delays do not differ much: NRED's is within ±10 % of {other}'s.",
        paper_value="not much difference",
        rule=Within(-10, 10),
    )
    yield compared(OVER_BUFFER, "NRED", other).difference(
        LOSS,
        key=f"fig4.loss-{name}",
        text=f"NRED loses less: its loss ratio less {other}'s, mean over 20…140 KB, is below 0.",
        paper_value="lower",
        rule=Below(),
    )
    yield compared(OVER_LOAD, "NRED", other, (20,)).percent(
        DELAY,
        key=f"fig5.few-{name}",
        text=f"With few connections (N = 20) NRED's delay is much lower: at least 20 % below {other}'s.",
        paper_value="much smaller",
        rule=Below(-20),
    )
    yield compared(OVER_LOAD, "NRED", other).difference(
        LOSS,
        key=f"fig6.loss-{name}",
        text=f"NRED suffers the least loss: its loss ratio less {other}'s, mean over N = 20…100, is below 0.",
        paper_value="lower",
        rule=Below(),
    )

    def growth(runs: Runs) -> Sequence[float]:
        few, many = (runs.where(N=n).difference(LOSS.quantity, {"aqm": "NRED"}, {"aqm": other}) for n in (20, 100))
        return [float(v) for v in LOSS.scale * (many - few)]

    yield compared(OVER_LOAD, "NRED", other, (20, 100)).claim(
        key=f"fig6.growing-{name}",
        text=f"The advantage in loss grows with N: NRED's loss ratio less {other}'s is lower at N = 100 than at "
        "N = 20.",
        paper_value="better as N grows",
        unit="percentage points",
        values=growth,
        rule=Below(),
    )


def equation_1(avg: NDArray[Any] | float, n: float) -> Any:
    """The paper's eq. (1) with the parameters of Fig. 1."""
    min_th = BOTH["min_th"]
    return np.clip((avg - min_th) / (FLOOD_BUFFER - min_th), 0.0, 1.0) ** n


def off_equation_1(runs: Runs) -> Sequence[float]:
    """A seed's largest distance of a published probability from eq. (1)."""

    def off(run: Run, n: float) -> float:
        return float(np.max(np.abs(run.recorded("p_b") - equation_1(run.recorded("avg_pkts"), n))))

    return [max(off(run, n) for n in PROFILE_N for run in runs.where(n=n) if run.seed == seed) for seed in runs.seeds]


CLAIMS = (
    Claim(
        key="fig1.profile",
        text="The code's profile is equation (1): the largest distance of a published probability from it, "
        "n = 1, 2, 5.",
        exhibit="fig1",
        paper_value="((avg − min_th)/(B − min_th))^n",
        unit="probability",
        cases=profiles,
        values=off_equation_1,
        rule=Within(-1e-9, 1e-9),
    ),
    Claim(
        key="section2.exponent",
        text="The heavier the load, the lower n: its mean over a run is higher at N = 20 than at N = 100, by more than "
        "half a step.",
        exhibit="section2",
        paper_value="n decreases as load gets heavier",
        unit="of n",
        cases=EXPONENTS.only(at=(20, 100)),
        values=difference(mean_exponent, {"N": 20}, {"N": 100}),
        rule=Above(0.5),
        readings=OPEN.keyed("rfc", "n_max=3", "n_max=10", "n_0=1"),
    ),
    *(claim for pair in zip(nred_against("DropTail"), nred_against("RED"), strict=True) for claim in pair),
    compared(OVER_BUFFER, "RED", "DropTail", (20,)).percent(
        DELAY,
        key="fig3.small-red-droptail",
        text="At a small buffer (20 KB) RED's delay is within ±10 % of DropTail's.",
        paper_value="not much difference",
        rule=Within(-10, 10),
    ),
    compared(OVER_LOAD, "RED", "DropTail").percent(
        DELAY,
        key="fig5.red-droptail",
        text="RED's and DropTail's delays do not show a large difference: RED's mean over N = 20…100 is within ±20 % "
        "of DropTail's.",
        paper_value="no large difference",
        rule=Within(-20, 20),
    ),
)

# ---- what was read, and what was found

UNSTATED = (
    "The exponent's start and bounds: n_0 = 2, n_min = 1, n_max = 5; others are readings. The step is the printed 1.",
    "How p becomes a drop: through RED's count, as RED itself; without it is a reading.",
    "What the buffer counts: 1 KB is a packet, so that 100 KB are 100 packets; bytes are a reading. Packets carry "
    "1000 B of payload, the CBR's are 1000 B in all.",
    "RED gentle or not: gentle, as Fig. 1 draws it; without is a reading.",
    "Drop or mark (Table 1: “dropped or marked”): dropped; ECN is a reading, with marks at any probability and with "
    "ns-2's limit of 0.1 since 2002.",
    "The TCP variant and its window: Reno with ns-2's 20 packets; Tahoe, SACK and 100 packets are readings.",
    "The length of a run and what is measured of it: 100 s, all of it.",
    "What delay is: the queueing delay of all packets at the bottleneck. A delay from a segment's first sending to its "
    "delivery, retransmissions included, would charge losses to it; this reading was not tried.",
    "The other direction's queue: DropTail with 1000 packets.",
)


def discussion(found: Mapping[str, Finding]) -> str:
    """In plain words, from the findings."""

    def pair(claim: str) -> str:
        return "; ".join(f"{name} {measured(found[f'{claim}-{name.lower()}'])}" for name in ("DropTail", "RED"))

    against_droptail = [key for key in found if key.endswith("-droptail") and "red-" not in key]
    against_red = [key for key in found if key.endswith("-red")]
    return f"""
NRED's claims against DropTail: {tally(found, against_droptail)}; against RED: {tally(found, against_red)}. NRED's delay
at large buffers against {pair("fig3.large")}; with N = 20 against {pair("fig5.few")}. Its loss over the buffer against
{pair("fig4.loss")}; over N against {pair("fig6.loss")}.

Fig. 1 says what to expect. NRED's curve reaches 1 at the buffer, RED's at 2·max_th = 30 packets whatever the buffer is:
RED has a p of 0.1 to 0.2 at an average of 15 to 17 packets, NRED with n = 2 and a buffer of 100 at 35 to 47. Flows that
need such a p hold a longer queue under NRED than under RED, and DropTail's is the buffer. With 20 packets NRED's curve
is the steeper one; there NRED's delay against RED's: {measured(found["fig3.small-red"])}, RED's against DropTail's:
{measured(found["fig3.small-red-droptail"])}. In the paper RED's delay is close to DropTail's as N varies; here the
difference is {measured(found["fig5.red-droptail"])}. This is where our runs and the paper part, and its text does not
say what its RED did otherwise.

Lowest delay and lowest loss at once is not to be had by dropping alone: flows with a shorter round trip need more loss
to share the same link. Marks cost no packet: the reading ecn, in which RED and NRED mark and DropTail cannot, judges
the claims on loss anew, and Table 1 does say “dropped or marked”.

The adaptation: n at N = 20 less n at N = 100 is {measured(found["section2.exponent"], 3)}. The rule moves n by one as
the average enters a region: up below min_th, where every run begins, down when it first passes max_th. Under steady
load the average stays above min_th from then on, so that n_0 decides, and bounds beyond it do not matter.

The same algorithms inside ns-2 (validation/ns2x.csv, ten seeds of its own) have, at 100 KB and N = 50, NRED at 263.0 ±
1.1 ms and 14.0 ± 0.1 % loss, RED at 99.1 ms and 17.8 %, DropTail at 514.7 ms and 9.7 %.
"""


PAPER = Paper(
    key="nred",
    name="NRED",
    citation="K.-J. Park, E.-C. Park, H. Lim, C.-H. Choi, Adaptive Nonlinear RED Algorithm for TCP Congestion Control",
    exhibits=EXHIBITS,
    claims=CLAIMS,
    unstated=UNSTATED,
    discussion=discussion,
)
