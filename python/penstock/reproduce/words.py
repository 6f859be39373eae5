"""Findings in words, for a paper's discussion."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from penstock.judging.rules import Above, Below, Within
from penstock.reproduce.model import Finding, MostBelow, Rule
from penstock.reproduce.verdict import CANNOT_TELL, FAILS, HOLDS, UNDECIDED
from penstock.show.numbers import number, spread


def verdict(finding: Finding) -> str:
    """Returns the verdict with what qualifies it: `"holds, at 15 of 15 points, a fifth of what is printed"`."""
    if finding.verdict == CANNOT_TELL:
        return f"{CANNOT_TELL}: the runs are the same"
    parts = [finding.verdict]
    if len(finding.points) > 1 and finding.rule is not None:
        at, of = held(finding)
        fails = sum(point.verdict == FAILS for point in finding.points)
        if finding.verdict == HOLDS:
            parts.append(f"at {at} of {of} points")
        elif finding.verdict == FAILS:
            parts[0] += f" at {fails} of {of} points"
        else:
            parts[0] += f": it holds at {at} of {of} points"
    size = size_in_words(finding)
    if size and finding.verdict == HOLDS:
        parts.append(size)
    if isinstance(finding.rule, MostBelow):
        if finding.verdict == UNDECIDED:
            parts[0] += f": {finding.n} runs are too few to tell"
        if not finding.note.startswith("never"):  # the number itself says that none did
            parts.append(finding.note)
    elif finding.note:
        parts.append(finding.note)
    return ", ".join(parts)


def ours(finding: Finding) -> str:
    """Returns the estimate with its interval and its unit: `"−3.1 ± 0.2 ms"`."""
    if finding.estimate is None:
        return "–"
    if isinstance(finding.rule, MostBelow):
        return f"{finding.estimate * finding.n / 100:.0f} of {finding.n} runs"
    # Where all runs are one, the interval of width 0 says nothing: the note does.
    text = re.sub(r" ± 0(?:\.0*)?$", "", number(finding.interval))
    return minus(f"{text} {finding.unit}").strip()


def listed(names: Sequence[str]) -> str:
    """Returns names for a sentence: `"AMECN, RARED and NRED"`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def direction(finding: Finding) -> str:
    """Returns what the sign of a difference means: `"in the claimed direction"`; empty where the rule is no sign."""
    if not isinstance(finding.rule, Above | Below) or finding.rule.bound != 0 or not finding.estimate:
        return ""
    return f"in the {'claimed' if (finding.estimate > 0) is isinstance(finding.rule, Above) else 'other'} direction"


def say(found: Mapping[str, Finding], key: str) -> str:
    """Returns a finding with its verdict: `"13.5 ± 0.1 packets (does not hold)"`."""
    return f"{ours(found[key])} ({verdict(found[key])})"


def nearest(found: Mapping[str, Finding]) -> dict[str, Finding]:
    """Returns the findings of the nearest joint reading, by the claims' keys; empty where there is none."""
    return {key.removeprefix("@"): each for key, each in found.items() if key.startswith("@")}


def held(finding: Finding) -> tuple[int, int]:
    """Returns at how many points of its axis a claim holds, and how many there are."""
    return sum(point.verdict == HOLDS for point in finding.points), len(finding.points)


#: (up to this multiple of what is printed, in words), ascending.
SIZES = (
    (0.0, "the other way round"),
    (0.075, "a twentieth of what is printed"),
    (0.15, "a tenth of what is printed"),
    (0.225, "a fifth of what is printed"),
    (0.29, "a quarter of what is printed"),
    (0.4, "a third of what is printed"),
    (0.6, "half of what is printed"),
    (0.8, "three quarters of what is printed"),
    (1.25, "as much as is printed"),
    (1.75, "one and a half times what is printed"),
    (2.5, "twice what is printed"),
)


def size_in_words(finding: Finding) -> str:
    """Returns how large the effect is beside the printed one; empty where no number is printed."""
    if finding.size is None:
        return ""
    bounds = (words for most, words in SIZES if finding.size is not None and finding.size <= most)
    return next(bounds, f"{finding.size:.0f} times what is printed")


def rule_in_words(rule: Rule | None) -> str:
    """Returns when a claim holds: `"above 0"`."""
    if rule is None:
        return "not judged"
    if isinstance(rule, Above):
        return minus(f"above {rule.bound:g}")
    if isinstance(rule, Below):
        return minus(f"below {rule.bound:g}")
    if isinstance(rule, MostBelow):
        return minus(f"below {rule.bound:g} in most runs")
    assert isinstance(rule, Within)
    return minus(f"within {rule.low:g} … {rule.high:g}")


def tally(found: Mapping[str, Finding], keys: Sequence[str]) -> str:
    """Returns the verdicts of several claims in words: `"2 of 3 hold, 1 does not"`."""
    verdicts = [found[key].verdict for key in keys if key in found]
    held, failed, open_, same = (verdicts.count(v) for v in (HOLDS, FAILS, UNDECIDED, CANNOT_TELL))
    parts = [f"{held} of {len(verdicts)} hold" if held != 1 else f"1 of {len(verdicts)} holds"]
    if failed:
        parts.append(f"{failed} {'does' if failed == 1 else 'do'} not")
    if open_:
        parts.append(f"{open_} {'is' if open_ == 1 else 'are'} undecided")
    if same:
        parts.append(f"{same} cannot be told")
    return ", ".join(parts)


def minus(number: str) -> str:
    """Returns a formatted number with a minus sign in place of the hyphen."""
    return number.replace("-", "−")


def together(found: Mapping[str, Finding], keys: Sequence[str]) -> str:
    """Returns one verdict on several claims: that of all of them, or else whether one fails or is open.

    Claims that were not judged are left out.
    """
    verdicts = {found[key].verdict for key in keys if key in found}
    if len(verdicts) == 1:
        return verdicts.pop()
    return FAILS if FAILS in verdicts else UNDECIDED


def saying(found: Mapping[str, Finding], keys: Sequence[str], *, holds: str, fails: str, undecided: str) -> str:
    """Returns the words for the claims' verdict together, so that no sentence says what the numbers do not."""
    return {HOLDS: holds, FAILS: fails}.get(together(found, keys), undecided)


def amount(finding: Finding, digits: int = 1) -> str:
    """Returns a finding's number without sign or verdict, for a sentence that has these: `"5.4 ± 0.3 %"`."""
    if finding.estimate is None:
        return "an unknown amount"
    return f"{abs(finding.estimate):.{digits}f}{spread(finding.interval, digits)} {finding.unit}"


def at_points(finding: Finding) -> str:
    """Returns at how many points of its axis a claim holds: `"at 12 of 15"`; empty for a claim without an axis."""
    return "at {} of {}".format(*held(finding)) if finding.points else ""


def apart(finding: Finding, digits: int = 1, *, above: str = "higher", below: str = "lower") -> str:
    """Returns a difference for a sentence, in words that have its sign: `"9.7 ± 1.3 ms lower"`.

    One in percent says of what: `"49.5 ± 0.4 % lower than DropTail's"`.
    """
    if finding.estimate is None:
        return "not measured"
    number, _, of = amount(finding, digits).partition(" % of ")
    side = above if finding.estimate > 0 else below
    return f"{number} % {side} than {of}" if of else f"{number} {side}"


def read_otherwise(found: Mapping[str, Finding]) -> str:
    """Returns what the nearest joint reading turns, as the end of a sentence; empty where it turns nothing.

    It counts the paper's own claims: `"; read as ecn, 3 more of its claims hold and 1 no longer does"`.
    """
    ours = {key: each for key, each in nearest(found).items() if each.claim.of == "paper" and key in found}
    more = sum(each.verdict == HOLDS != found[key].verdict for key, each in ours.items())
    fewer = sum(found[key].verdict == HOLDS != each.verdict for key, each in ours.items())
    if not more and not fewer:
        return ""
    if not more:
        said = f"{fewer} of its claims no longer {'holds' if fewer == 1 else 'hold'}"
    else:
        said = f"{more} more of its claims {'holds' if more == 1 else 'hold'}"
        said += f" and {fewer} no longer {'does' if fewer == 1 else 'do'}" if fewer else ""
    return f"; read as {next(iter(ours.values())).reading.key}, {said}"
