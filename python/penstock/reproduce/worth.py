"""Says what a repair is worth beside what a router has at hand today, from the findings over the range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.reproduce.model import Finding
from penstock.reproduce.words import listed, minus
from penstock.show.numbers import spread

Found = Mapping[str, Finding]

#: What a router has at hand today.
TODAY = ("PIE", "CoDel")

BETTER, WORSE, ALIKE, TRADES = "better than", "worse than", "not to be told from", "neither better nor worse than"


def asked(found: Found, exhibit: str, measure: str, other: str) -> Finding | None:
    """Returns what was found of a measure against another discipline; `None` where it was not asked."""
    finding = found.get(f"{exhibit}.{measure}-{other.lower()}")
    return None if finding is None or finding.estimate is None else finding


def number(finding: Finding, unit: str) -> str:
    """Returns the mean over the points with its interval: `"−7.9 ± 2.9 %"`."""
    return minus(f"{finding.estimate:+.1f}{spread(finding.interval, 1)} {unit}")


def standing(found: Found, other: str) -> str | None:
    """Returns whether delay and goodput, in the mean over the range, are better or worse than another's.

    Better: one is, and the other is not worse. A mean counts where its whole interval does.
    """
    delay, goodput = (asked(found, "range", measure, other) for measure in ("delay", "goodput"))
    if delay is None or goodput is None:
        return None
    signs = {_sign(delay) * -1, _sign(goodput)}
    if signs == {0}:
        return ALIKE
    return TRADES if signs == {-1, 1} else BETTER if 1 in signs else WORSE


def _sign(finding: Finding) -> int:
    if finding.low is None or finding.high is None:
        return 0
    return 1 if finding.low > 0 else -1 if finding.high < 0 else 0


@dataclass(frozen=True, slots=True)
class Beside:
    """A repair beside one of today's disciplines, in the mean over the range.

    signs: of delay and goodput, 1 where the repair is better, −1 where it is worse, 0 where that cannot be told.
    """

    repair: str
    other: str
    standing: str
    delay: Finding
    goodput: Finding
    signs: tuple[int, int]


def beside_today(found: Mapping[str, Found]) -> list[Beside]:
    """Returns each repair beside each of today's disciplines, where both were run; `found`: by the repair's name."""
    made = []
    for repair, each in found.items():
        for other in TODAY:
            stands = standing(each, other)
            delay, goodput = (asked(each, "range", measure, other) for measure in ("delay", "goodput"))
            if stands is not None and delay is not None and goodput is not None:
                made.append(Beside(repair, other, stands, delay, goodput, (-_sign(delay), _sign(goodput))))
    return made


#: Signs of delay and goodput that trade one for the other → in words.
TRADED = {(1, -1): "the shorter queue, and the emptier link", (-1, 1): "the fuller link, and the longer queue"}


def instead(sides: Sequence[Beside]) -> list[str]:
    """Returns what to take instead of the repairs: a sentence for each of today's disciplines and what comes of it."""
    said = []
    for other in dict.fromkeys(each.other for each in sides):
        here = [each for each in sides if each.other == other]
        if worse := [each.repair for each in here if each.standing == WORSE]:
            said.append(
                f"**Take {other} instead of {listed(worse)}**: its queue is shorter or its link is fuller, and neither "
                "is worse."
            )
        for signs, words in TRADED.items():
            if traded := [each.repair for each in here if each.signs == signs]:
                said.append(f"Beside {other}, {listed(traded)} {'has' if len(traded) == 1 else 'have'} {words}.")
        if better := [each.repair for each in here if each.standing == BETTER]:
            said.append(
                f"**Instead of {other} take {listed(better)}**: the queue is shorter or the link fuller, and neither "
                "is worse."
            )
        if alike := [each.repair for each in here if each.standing == ALIKE]:
            said.append(f"{listed(alike)} cannot be told from {other}.")
    return said
