"""Tells why each repair is what it is, what was found, and the whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from penstock.reproduce.model import Paper
from penstock.reproduce.repairs import REPAIRS as KEYS
from penstock.reproduce.repairs.claims import CLAIMS, back_key
from penstock.reproduce.repairs.exhibits import EXHIBITS
from penstock.reproduce.repairs.scenarios import AMECN, NRED, RARED, RED_AT, Repair, names
from penstock.reproduce.words import held
from penstock.reproduce.worth import BETTER, TODAY, WORSE, Found, asked, number, standing

# ---- why each repair is what it is

DERIVED: Mapping[str, str] = {
    AMECN.original: """
**Why it fails.** A mark takes a part of a flow's window, and the window is at least one packet per round trip. In the
paper's experiment 22 flows share a path that holds 17 packets and a target of 10.5: 1.25 packets a flow. The sawtooth
that moderate marks cut (40 %) has that mean only where more than every packet is marked. So P_max runs to its ceiling
of 0.5, the queue stays above the target, and what ends the rise is the forced drop.

**The repair** is `mark_p = 0.2`: a capable packet is marked up to that probability, and dropped beyond it. A drop slows
a flow below one packet per round trip where it leads to a timeout, that is, where fewer than three duplicate ACKs can
come: below a window of four segments. Marks of 40 % cut a window of 4 to 2.4 segments. It then takes 1.6 round trips to
grow back, in which 5.1 packets leave, so that one of 5.1 is marked: a probability of 0.2. Up to there marks hold the
windows at which they work; beyond, only a drop can do what is asked. With cuts of 20 % the same sum gives 0.35. It is
a key that AMECN has, and ns-2's RED has 0.1 there. Without ECN nothing is marked, and the repair changes nothing.
""",
    RARED.original: """
**Why it fails.** While the average climbs, RARED signals four packets of five. Senders answer after a round trip, and
the average follows more slowly still, so that a burst is signalled many times for one answer: windows are cut again
and again, and the link stands idle. TCP itself answers at most one mark per round trip for the same reason.

**The repair** is `climb = "once"`: one strong signal, then none for R while RED goes on; and only while the queue
itself is above `max_th`: a burst beyond RED's ramp, which the average has not seen yet. A router does not know the
round trip of its flows. R is what ns-2 takes for it from the link's settings, max(100 ms, 3·(delay + 1/C)), as
`w_q = "rtt"` does: 286 ms in the paper's network, whose flows have 192 ms and the queue. Nothing is left to be chosen.
""",
    NRED.original: """
**Why it fails.** NRED's exponent moves by one when the average crosses a threshold. Under a steady load the average
stays above the upper one, so the exponent stays where the start has left it, and the delay follows the buffer.

**The repair** is `n_step = "timed"`: every half second, ARED's interval, n goes down while the average is above the
middle fifth between the thresholds and up while it is below. A step is ln 0.9 / ln x, with x the middle's place on the
way from `min_th` to the buffer: it changes the probability there by a tenth, as ARED's β changes its own. Heavy loads
need an exponent below 1 (`n_min = 0.2`, which with the paper's numbers gives a probability of 0.55 in the middle, near
ARED's bound of 0.5). Such a curve begins with an infinite slope, which would punish the first packet above `min_th`, so
up to `max_th` the probability is at most the straight line to the curve there.
""",
    RED_AT.original: """
**Why it fails.** RED-AT's thresholds cross their whole range within some dozen packets, faster than the average that
drives them can follow: it is a relay that switches between three ramps, and it oscillates.

**The repair** makes it a hundred times slower, α = 0.001 and β = 0.0005, and leaves the thresholds where they are
between the regions (`reset = false`). A step then comes each fifth packet and moves a thousandth of the range, so that
crossing it takes 5,000 packets, ten time constants of an average with w_q = 0.002. The keys are those of RED-AT. What
is left of the idea is RED with its thresholds moved to the left under load.
""",
}

# ---- what was found


#: Measure → its name in a sentence, and its unit there.
SAID: Mapping[str, tuple[str, str]] = {
    "delay": ("delay", "%"),
    "goodput": ("goodput", "%"),
    "throughput": ("throughput", "%"),
    "loss": ("loss", "points"),
    "jitter": ("deviation of the delay", "%"),
}


def beside(found: Found, exhibit: str, other: str) -> str:
    """Returns the means over the points by every measure, and at how many points each is better."""
    parts = []
    for measure, (name, unit) in SAID.items():
        finding = asked(found, exhibit, measure, other)
        if finding is not None:
            parts.append("{} {} ({} of {})".format(name, number(finding, unit), *held(finding)))
    return f"beside {other} " + ", ".join(parts) if parts else ""


def over(found: Found, repair: Repair, exhibit: str, said: str) -> str:
    """Returns a paragraph over an exhibit: the original, RED, PIE and CoDel in turn."""
    parts = [part for other in (repair.original, "RED", *TODAY) if (part := beside(found, exhibit, other))]
    return f"**{said}** {repair.name} has, {'; '.join(parts)}." if parts else ""


def judged(found: Found, repair: Repair) -> str:
    """Returns what it is worth where nothing was made for it."""
    parts = []
    for other in (repair.original, "RED", *TODAY):
        stands = standing(found, other)
        delay, goodput = (asked(found, "range", measure, other) for measure in ("delay", "goodput"))
        if stands is not None and delay is not None and goodput is not None:
            parts.append(f"{stands} {other} (delay {number(delay, '%')}, goodput {number(goodput, '%')})")
    if not parts:
        return ""
    said = f"Where nothing was made for it, {repair.name} is in the mean {'; '.join(parts)}."
    today = {other: standing(found, other) for other in TODAY}
    beaten = [other for other, stands in today.items() if stands == WORSE]
    if beaten:
        return f"{said} Where there is {' or '.join(beaten)}, nothing speaks for it."
    if all(stands == BETTER for stands in today.values()):
        return f"{said} It is worth taking."
    return f"{said} It shortens the queue or fills the link, not both, so it is one more compromise."


def of_amecn(found: Found) -> str:
    """Returns what only AMECN's experiment asks."""
    keys = {name: back_key(name) for name in names(AMECN)}
    said = "; ".join(f"{name} {found[key].note}" for name, key in keys.items() if key in found)
    return f"**Back to the target range** when the load rises: {said}." if said else ""


def discussion(found: Found, repair: Repair, own: Sequence[tuple[str, str]], more: Callable[[Found], str]) -> str:
    """Discusses the repairs in plain words, from the findings."""
    parts = [DERIVED[repair.original], more(found)]
    parts += [over(found, repair, exhibit, said) for exhibit, said in (*own, ("range", "Elsewhere."))]
    worth = judged(found, repair)
    parts.append(f"**What it is worth today.** {worth}" if worth else "")
    return "\n\n".join(part for part in parts if part)


def believe(found: Found, repair: Repair) -> str:
    """Says in a sentence what to believe."""
    return judged(found, repair)


UNSTATED = (
    "Paired seeds: all disciplines meet the same flows at the same times. A claim holds at a point where the whole "
    "99 % interval of the difference is on its side.",
    "PIE and CoDel have the target delay that the others' thresholds ask for, and else their RFCs' defaults; PIE takes "
    "the delay from timestamps, as Linux does unless told otherwise.",
    "The range: points that fill it evenly in the logarithms of rate, flows and round trip (Halton's sequence), each "
    "with ECN and without; SACK flows of 1000 B; buffers of four times the target or a bandwidth-delay product; 40 s, "
    "the first 20 s not measured. The repairs were settled before it was run.",
    "AMECN's senders understand both levels of marks; those of the other disciplines classic ECN.",
)


def _paper(key: str, repair: Repair, own: Sequence[tuple[str, str]], more: Callable[[Found], str]) -> Paper:
    return Paper(
        key=key,
        name=repair.name,
        citation=f"{repair.name}: {' and '.join(f'{k} = {v}' for k, v in repair.keys.items())} (this project's)",
        exhibits=EXHIBITS[repair.original],
        claims=CLAIMS[repair.original],
        unstated=UNSTATED,
        headline="project",
        believe=partial(believe, repair=repair),
        discussion=partial(discussion, repair=repair, own=own, more=more),
    )


_OWN = ("own", "In the paper's own experiment.")

PAPERS: Mapping[str, Paper] = {
    key: _paper(key, repair, own, more)
    for key, repair, own, more in zip(
        KEYS,
        (AMECN, RARED, NRED, RED_AT),
        (
            (_OWN,),
            (_OWN,),
            (("own", "In the paper's own experiment, with drops."), ("own-ecn", "The same with ECN.")),
            (_OWN,),
        ),
        (of_amecn, *[lambda found: ""] * 3),
        strict=True,
    )
}
