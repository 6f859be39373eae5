"""Findings in words, for a paper's discussion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.reproduce.model import Finding
from penstock.reproduce.verdict import FAILS, HOLDS, UNDECIDED


def measured(finding: Finding, digits: int = 2) -> str:
    """A finding's number for a sentence: `"−3.10 ± 0.25 percentage points (holds)"`.

    digits: after the decimal point.
    """
    if finding.estimate is None:
        return f"not measured ({finding.verdict})"
    number = minus(f"{finding.estimate:+.{digits}f}")
    half = "" if finding.high is None else f" ± {finding.high - finding.estimate:.{digits}f}"
    return f"{number}{half} {finding.claim.unit} ({finding.verdict})"


def tally(found: Mapping[str, Finding], keys: Sequence[str]) -> str:
    """The verdicts of several claims in words: `"2 of 3 hold, 1 does not"`."""
    verdicts = [found[key].verdict for key in keys if key in found]
    held, failed, open_ = (verdicts.count(v) for v in (HOLDS, FAILS, UNDECIDED))
    parts = [f"{held} of {len(verdicts)} hold" if held != 1 else f"1 of {len(verdicts)} holds"]
    if failed:
        parts.append(f"{failed} {'does' if failed == 1 else 'do'} not")
    if open_:
        parts.append(f"{open_} {'is' if open_ == 1 else 'are'} undecided")
    return ", ".join(parts)


def minus(number: str) -> str:
    """A formatted number with a minus sign in place of the hyphen."""
    return number.replace("-", "−")
