"""NRED, adaptive nonlinear RED: the reproduction of its section 3, figures 3 to 6, and of Fig. 1's profiles.

N − 1 FTP flows and one CBR flow share a slow link; the buffer varies at N = 50, and N with a buffer of 100 KB. The
paper: NRED, whose drop probability is a power of the average queue that reaches 1 at the buffer, has the lowest delay
at large buffers and at small N, is like the others at small buffers, and has the lowest loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import penstock as ps
from penstock.reproduce.common import difference_along, measured, percent_along, tally
from penstock.reproduce.draw import curves, figure
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
from penstock.show import style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from penstock.reproduce.runs import Run, Runs

# ------------------------------------------------------------------ the scenarios of section 3

QUEUES = ("DropTail", "RED", "NRED")
BUFFERS_KB = tuple(range(20, 141, 20))
LOADS = tuple(range(20, 101, 20))

#: Table 1, and with max_p and the gentle option RED's part of it.
BOTH: Mapping[str, Any] = {"min_th": 5, "max_th": 15, "w_q": 0.002}


def queue(name: str, reading: Reading, **of_nred: Any) -> Any:
    """The discipline of that name. of_nred: NRED's own parameters."""
    common: dict[str, Any] = {"mean_packet": "1000 B"}
    if reading == BYTES:
        common["unit"] = "bytes"
    if name == "DropTail":
        return ps.DropTail(**common)
    if reading in (ECN, ECN_MARK_P):
        common |= {"ecn": True, "mark_p": 1.0 if reading == ECN else 0.1}
    if name == "RED":
        return ps.Red(**BOTH, max_p=0.1, gentle=reading != NOT_GENTLE, **common)
    return ps.Nred(**BOTH, **common, **{**OF_NRED.get(reading, {}), **of_nred})


def scenario(name: str, flows: int, buffer_kb: int, reading: Reading) -> ps.Scenario:
    """Fig. 2's network with N = `flows`."""
    tcp = {"tcp": "reno", "segment": "1000 B", "window": 20, **OF_TCP.get(reading, {})}
    return ps.Scenario(
        name=f"NRED paper: {name}, N = {flows}, {buffer_kb} KB",
        topology=ps.Dumbbell(
            bottleneck=ps.Link(
                rate="1.5 Mbit/s",
                delay="50 ms",
                buffer=f"{buffer_kb} kB" if reading == BYTES else buffer_kb,
                reverse_buffer=1000,
            ),
            access=ps.Access(rate="10 Mbit/s", delay={"uniform": ["40 ms", "60 ms"]}),
            egress=ps.Access(rate="10 Mbit/s", delay={"uniform": ["40 ms", "60 ms"]}),
        ),
        aqm=queue(name, reading),
        traffic=[ps.Ftp(flows=flows - 1, **tcp), ps.Cbr(rate="150 kbit/s", packet="1000 B")],
        duration="100 s",
        profile="rfc" if reading == RFC else "ns-2",
    )


# ------------------------------------------------------------------ readings of what is open

RFC = Reading("rfc", "TCP and queues as the RFCs and the papers have them (profile rfc) instead of as ns-2 has them.")
N_MAX_3 = Reading("n_max=3", "NRED's exponent is at most 3, not 5.")
N_MAX_10 = Reading("n_max=10", "NRED's exponent is at most 10, not 5.")
N_0_1 = Reading("n_0=1", "NRED's exponent starts at 1, not 2.")
GATE = Reading("gate=geometric", "NRED drops each packet with p as it stands, without RED's count.")
BYTES = Reading("unit=bytes", "Buffer and queues count bytes (headers too), not packets.")
NOT_GENTLE = Reading("gentle=false", "RED drops every packet when the average is above max_th.")
ECN = Reading("ecn", "The flows use ECN; RED and NRED mark at any p below 1 (Table 1: “dropped or marked”).")
ECN_MARK_P = Reading("ecn,mark_p=0.1", "Likewise, but dropping above a probability of 0.1, as ns-2 since 2002.")
TAHOE = Reading("tcp=tahoe", "The flows are Tahoe, the plain agent of ns-2.")
SACK = Reading("tcp=sack", "The flows are SACK.")
WINDOW = Reading(
    "window=100", "The receivers' windows are 100 packets, not ns-2's 20: more than the buffer and the link hold."
)

OF_NRED: Mapping[Reading, Mapping[str, Any]] = {
    N_MAX_3: {"n_max": 3},
    N_MAX_10: {"n_max": 10},
    N_0_1: {"n_0": 1},
    GATE: {"gate": "geometric"},
}
OF_TCP: Mapping[Reading, Mapping[str, Any]] = {
    ECN: {"ecn": "classic"},
    ECN_MARK_P: {"ecn": "classic"},
    TAHOE: {"tcp": "tahoe"},
    SACK: {"tcp": "sack"},
    WINDOW: {"window": 100},
}
OF_ALL = (RFC, BYTES, ECN, ECN_MARK_P, TAHOE, SACK, WINDOW)
OF_EXPONENT = (N_MAX_3, N_MAX_10, N_0_1)


def over_buffer(
    settings: Settings, reading: Reading, *, queues: Iterable[str] = QUEUES, buffers_kb: Iterable[int] = BUFFERS_KB
) -> Iterable[Case]:
    """Figures 3 and 4: every buffer, N = 50."""
    for kb in buffers_kb:
        if not settings.quick or kb in (20, 80, 140):
            for name in queues:
                yield Case({"aqm": name, "buffer_kb": kb}, scenario(name, 50, kb, reading))


def over_load(
    settings: Settings, reading: Reading, *, queues: Iterable[str] = QUEUES, loads: Iterable[int] = LOADS
) -> Iterable[Case]:
    """Figures 5 and 6: every N, a buffer of 100 KB."""
    for n in loads:
        if not settings.quick or n in (20, 60, 100):
            for name in queues:
                yield Case({"aqm": name, "N": n}, scenario(name, n, 100, reading))


def exponents(settings: Settings, reading: Reading, *, loads: Iterable[int] = LOADS) -> Iterable[Case]:
    """NRED over N, its exponent recorded."""
    for case in over_load(settings, reading, queues=("NRED",), loads=loads):
        yield Case(case.labels, case.scenario, trace_s=0.1)


def profiles(settings: Settings, reading: Reading) -> Iterable[Case]:
    """Fig. 1: RED, and NRED with its exponent held, under a flood that lifts the average from 0 to the end of the
    profile. A discipline publishes the average and the probability of the last arrival."""
    for n in (1, 2, 5):
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


FLOOD_BUFFER = 100


# ------------------------------------------------------------------ figures

DELAY, LOSS = "delay_mean_s", "loss_ratio"


def over(x: str, quantity: str, scale: float, xlabel: str, ylabel: str) -> Any:
    """Draws one of the figures 3 to 6."""

    def show(runs: Runs) -> Figure:
        return curves(
            runs,
            x,
            quantity,
            "aqm",
            xlabel=xlabel,
            ylabel=ylabel,
            scale=scale,
            ylim=(0, None),
            order=QUEUES,
        )

    return show


def show_profiles(runs: Runs) -> Figure:
    """Fig. 1, from what the disciplines published."""
    with style.context():
        made = figure()
        ax = made.subplots()
        for name, number, at in (
            ("RED", 1, 23),
            ("NRED, n = 1", 2, 62),
            ("NRED, n = 2", 3, 72),
            ("NRED, n = 5", 4, 84),
        ):
            run = min(runs.where(aqm=name), key=lambda run: run.seed)
            avg, p = _profile(run)
            order = np.argsort(avg, kind="stable")
            look = style.look(number)
            ax.plot(avg[order], p[order], color=look.colour, linestyle=look.line)
            level = float(np.interp(at, avg[order], p[order]))
            ax.annotate(
                name,
                (at, level),
                xytext=(-6, 3),
                textcoords="offset points",
                ha="right",
                color=look.colour,
                fontweight="bold",
            )
        look = style.look(0)
        ax.plot([0, FLOOD_BUFFER, FLOOD_BUFFER], [0, 0, 1], color=look.colour, linewidth=2.4, zorder=1)
        ax.annotate(
            "DropTail, over the queue itself",
            (1.01, 0.5),
            xycoords="axes fraction",
            rotation=90,
            va="center",
            color=look.colour,
            fontweight="bold",
        )
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
        mean = part.estimate(_exponent_mean)
        seen = [float(np.max(part.values(f))) for f in (_exponent_highest, _exponent_changes)]
        last = sorted({float(v) for v in part.values(_exponent_last)})
        ends = " or ".join(f"{v:g}" for v in last)
        rows.append([f"{flows}", f"{mean.mean:.3f}", f"{seen[0]:g}", f"{seen[1]:g}", ends])
    return TableData(("N", "mean of n", "highest n", "most changes in a run", "n at the end"), rows)


def _profile(run: Run) -> tuple[Any, Any]:
    assert run.trace is not None
    return np.asarray(run.trace["avg_pkts"]), np.asarray(run.trace["p_b"])


def _exponent(run: Run) -> Any:
    assert run.trace is not None
    return np.asarray(run.trace["n"])


def _exponent_mean(run: Run) -> float:
    return float(np.mean(_exponent(run)))


def _exponent_highest(run: Run) -> float:
    return float(np.max(_exponent(run)))


def _exponent_changes(run: Run) -> float:
    return float(np.count_nonzero(np.diff(_exponent(run))))


def _exponent_last(run: Run) -> float:
    return float(_exponent(run)[-1])


def equation_1(avg: Any, n: float) -> Any:
    """The paper's eq. (1) with the parameters of Fig. 1."""
    min_th = BOTH["min_th"]
    return np.clip((avg - min_th) / (FLOOD_BUFFER - min_th), 0.0, 1.0) ** n


def _off_equation_1(runs: Runs) -> Sequence[float]:
    """A seed's largest distance of a published probability from eq. (1)."""
    worst = []
    for seed in runs.seeds:
        off = 0.0
        for run in runs:
            n = float(run.labels["n"])
            if run.seed == seed and n > 0:
                avg, p = _profile(run)
                off = max(off, float(np.max(np.abs(p - equation_1(avg, n)))))
        worst.append(off)
    return worst


_BUFFER, _LOAD = "buffer [KB]", "flows N (N − 1 FTP, 1 CBR)"
_MS, _PERCENT = "mean queueing delay [ms]", "loss ratio [%]"

EXHIBITS = (
    Exhibit(
        "fig1",
        "Drop probability profile of NRED, DropTail and RED",
        profiles,
        show_profiles,
        "RED's and NRED's curves are what the disciplines published, arrival by arrival, while a flood lifted the "
        "average; DropTail's is its definition. The paper's Fig. 1 names no n.",
    ),
    Exhibit(
        "section2",
        "Not shown in the paper: NRED's exponent in the runs of figures 5 and 6",
        exponents,
        show_exponents,
        "Sampled every 0.1 s for 100 s. The exponent starts at 2, with bounds 1 and 5.",
    ),
    Exhibit(
        "fig3",
        "Delay over buffer size",
        over_buffer,
        over("buffer_kb", DELAY, 1e3, _BUFFER, _MS),
        "N = 50. Queueing delay at the bottleneck, of all packets; propagation is a constant more.",
    ),
    Exhibit(
        "fig4",
        "Packet loss over buffer size",
        over_buffer,
        over("buffer_kb", LOSS, 100, _BUFFER, _PERCENT),
        "N = 50. Packets dropped at the bottleneck over packets that arrived there.",
    ),
    Exhibit(
        "fig5",
        "Delay over the number of connections",
        over_load,
        over("N", DELAY, 1e3, _LOAD, _MS),
        "Buffer 100 KB.",
    ),
    Exhibit(
        "fig6",
        "Packet loss over the number of connections",
        over_load,
        over("N", LOSS, 100, _LOAD, _PERCENT),
        "Buffer 100 KB.",
    ),
)


# ------------------------------------------------------------------ claims

LARGE_KB = (80, 100, 120, 140)


def _readings(*names: str) -> tuple[Reading, ...]:
    """Those that touch a comparison of these."""
    own = {"NRED": (*OF_EXPONENT, GATE), "RED": (NOT_GENTLE,), "DropTail": ()}
    return (*OF_ALL, *(reading for name in names for reading in own[name]))


def against(other: str) -> tuple[Claim, ...]:
    """NRED against one of the others."""
    ours, theirs = {"aqm": "NRED"}, {"aqm": other}
    pair = ("NRED", other)
    of = f"% of {other}'s"
    name = other.lower()

    def at_both_ends(runs: Runs) -> Sequence[float]:
        differences = {n: runs.difference(LOSS, {**ours, "N": n}, {**theirs, "N": n}) for n in (20, 100)}
        return [float(v) for v in 100 * (differences[100] - differences[20])]

    return (
        Claim(
            f"fig3.large-{name}",
            f"At larger buffers NRED has the lower delay: NRED's mean over 80…140 KB, less {other}'s, is below 0.",
            "fig3",
            "lower",
            of,
            partial(over_buffer, queues=pair, buffers_kb=LARGE_KB),
            percent_along("buffer_kb", DELAY, ours, theirs),
            Below(),
            _readings(*pair),
        ),
        Claim(
            f"fig3.small-{name}",
            f"At a small buffer (20 KB) the delays do not differ much: NRED's is within ±10 % of {other}'s.",
            "fig3",
            "not much difference",
            of,
            partial(over_buffer, queues=pair, buffers_kb=(20,)),
            percent_along("buffer_kb", DELAY, ours, theirs),
            Within(-10, 10),
            _readings(*pair),
        ),
        Claim(
            f"fig4.loss-{name}",
            f"NRED loses less: its loss ratio less {other}'s, mean over 20…140 KB, is below 0.",
            "fig4",
            "lower",
            "percentage points",
            partial(over_buffer, queues=pair),
            difference_along("buffer_kb", LOSS, ours, theirs, scale=100),
            Below(),
            _readings(*pair),
        ),
        Claim(
            f"fig5.few-{name}",
            f"With few connections (N = 20) NRED's delay is much lower: at least 20 % below {other}'s.",
            "fig5",
            "much smaller",
            of,
            partial(over_load, queues=pair, loads=(20,)),
            percent_along("N", DELAY, ours, theirs),
            Below(-20),
            _readings(*pair),
        ),
        Claim(
            f"fig6.loss-{name}",
            f"NRED suffers the least loss: its loss ratio less {other}'s, mean over N = 20…100, is below 0.",
            "fig6",
            "lower",
            "percentage points",
            partial(over_load, queues=pair),
            difference_along("N", LOSS, ours, theirs, scale=100),
            Below(),
            _readings(*pair),
        ),
        Claim(
            f"fig6.growing-{name}",
            f"The advantage in loss grows with N: NRED's loss ratio less {other}'s is lower at N = 100 than at N = 20.",
            "fig6",
            "better as N grows",
            "percentage points",
            partial(over_load, queues=pair, loads=(20, 100)),
            at_both_ends,
            Below(),
            _readings(*pair),
        ),
    )


def exponent_falls(runs: Runs) -> Sequence[float]:
    """The mean exponent at N = 20 less that at N = 100."""
    return [float(v) for v in runs.difference(_exponent_mean, {"N": 20}, {"N": 100})]


CLAIMS = (
    Claim(
        "fig1.profile",
        "The code's profile is equation (1): the largest distance of a published probability from it, n = 1, 2, 5.",
        "fig1",
        "((avg − min_th)/(B − min_th))^n",
        "probability",
        profiles,
        _off_equation_1,
        Within(-1e-9, 1e-9),
    ),
    Claim(
        "section2.exponent",
        "The heavier the load, the lower n: its mean over a run is higher at N = 20 than at N = 100, by more than half "
        "a step.",
        "section2",
        "n decreases as load gets heavier",
        "of n",
        partial(exponents, loads=(20, 100)),
        exponent_falls,
        Above(0.5),
        (RFC, *OF_EXPONENT),
    ),
    *(claim for claims in zip(*map(against, ("DropTail", "RED")), strict=True) for claim in claims),
    Claim(
        "fig3.small-red-droptail",
        "At a small buffer (20 KB) RED's delay is within ±10 % of DropTail's.",
        "fig3",
        "not much difference",
        "% of DropTail's",
        partial(over_buffer, queues=("RED", "DropTail"), buffers_kb=(20,)),
        percent_along("buffer_kb", DELAY, {"aqm": "RED"}, {"aqm": "DropTail"}),
        Within(-10, 10),
        _readings("RED", "DropTail"),
    ),
    Claim(
        "fig5.red-droptail",
        "RED's and DropTail's delays do not show a large difference: RED's mean over N = 20…100 is within ±20 % of "
        "DropTail's.",
        "fig5",
        "no large difference",
        "% of DropTail's",
        partial(over_load, queues=("RED", "DropTail")),
        percent_along("N", DELAY, {"aqm": "RED"}, {"aqm": "DropTail"}),
        Within(-20, 20),
        _readings("RED", "DropTail"),
    ),
)


# ------------------------------------------------------------------ what is open, and what was found

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
