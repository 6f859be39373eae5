"""Writes the files of `penstock validate`: the report as Markdown, and every pair as CSV."""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Iterable, Sequence

from penstock.validate.agreement import NO_SPREAD, RULES, Value
from penstock.validate.ns2.causes import Cause
from penstock.validate.ns2.files import OTHER_FILES
from penstock.validate.ns2.measure import SEEDS, Outcome
from penstock.validate.ns2.pairs import Pair

#: Columns of the Markdown.
WIDTH = 100
#: Stands in the report above the pairs that no cause names.
NOT_LOOKED_AT = "Not looked at. Nobody has examined these pairs; some may differ for one of the causes above."


def last_line(done: Sequence[Outcome]) -> str:
    """Returns the summary: `N of M pairs agree (P %); K cases not expressible`."""
    verdicts = [pair.verdict.agrees for o in done for pair in o.pairs if pair.verdict.agrees is not None]
    agree, count = sum(verdicts), len(verdicts)
    # Rounded down: 94.97 % is not 95 %.
    share = math.floor(1000 * agree / count) / 10 if count else 0.0
    return f"{agree} of {count} pairs agree ({share:.1f} %); {sum(bool(o.refused) for o in done)} cases not expressible"


def shown(value: Value | None) -> str:
    """Returns a value with its interval."""
    if value is None:
        return "–"
    # Below that it is only the rounding of equal numbers.
    spread = value.half > 1e-9 * abs(value.mean)
    return f"{value.mean:.5g} ± {value.half:.2g}" if spread else f"{value.mean:.5g}"


def _row(cells: Iterable[object]) -> str:
    return "| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |\n"


def _paragraph(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)


def _count(pairs: Sequence[Pair]) -> tuple[int, int]:
    known = [p.verdict.agrees for p in pairs if p.verdict.agrees is not None]
    return sum(known), len(known)


HEADER = """# Agreement with ns-2

<!-- Made by `penstock validate`; edits are lost. -->

**{agree}.** A pair is one metric of one case, on either side.

{measured}

"""
#: Follows on what measured the cases.
SAME = 'Penstock runs the same cases with `profile = "ns-2"`; no parameter is tuned to a case.'

READING = """
A pair agrees when the difference of the two means is within the tolerance, or within the joint
interval √(h₁² + h₂²) of the half-widths of their 95 % intervals. Ours are over at least {seeds}
seeds. A pair whose reference is 0 or undefined is not counted.

| pair | tolerance | ns-2 without spread (n ≤ {bare}) | one flow, no chance |
| --- | --- | --- | --- |
{rules}
marks_1 are incipient marks, marks_2 moderate ones (RARED: those made while the average climbs).
maxp_mean is the mean of what an adapter moves: max_p, of AMECN the incipient one, of NRED the
exponent, of BLUE its probability; a queue without adapter has no such pair. ns-2 counts the SYN as
a packet: for the comparison (only here) each long-lived flow that opened inside the window gets one
packet more.

To repeat: `make validate`, or `penstock validate --cases FILE --results FILE --out FILE` for other
files in the same formats. `out/pairs.csv` then has every pair, those that agree as well.
`validation/README.md` says where the data come from, and how a case becomes a scenario.
[validation-real.md](validation-real.md) is about agreement with Linux itself: its TCP on real
packets, and its own `sch_red` in a virtual machine.
"""


def _rules() -> str:
    rows = []
    for r in RULES:

        def limit(x: float, absolute: bool = r.absolute) -> str:
            return f"{x:g}" if absolute else f"{100 * x:g} %"

        alone = "± 1 event" if r.counted else "as before" if r.alone is None else f"{limit(r.alone)}, no interval"
        name = r.metric if r.metric == r.ours else f"{r.metric} → {r.ours}"
        rows.append(_row([name, limit(r.tolerance), limit(r.bare), alone]))
    return "".join(rows)


def report(
    done: Sequence[Outcome],
    causes: Sequence[Cause],
    seeds: int = SEEDS,
    measured: str = OTHER_FILES,
) -> str:
    """Returns the whole document; its last line is `last_line`."""
    out = io.StringIO()
    out.write(HEADER.format(agree=last_line(done).partition(";")[0], measured=_paragraph(f"{measured} {SAME}")))

    groups: dict[str, list[Outcome]] = {}
    for o in done:
        groups.setdefault(o.case.group, []).append(o)
    out.write(_row(["group", "cases", *(r.metric for r in RULES), "all"]))
    out.write(_row(["---"] * (len(RULES) + 3)))
    for name, members in [*groups.items(), ("all", list(done))]:
        pairs = [p for o in members for p in o.pairs]
        cells = []
        for rule in RULES:
            agree, count = _count([p for p in pairs if p.metric == rule.metric])
            cells.append(f"{agree}/{count}" if count else "–")
        out.write(_row([name or "–", len(members), *cells, "{}/{}".format(*_count(pairs))]))

    out.write(READING.format(seeds=seeds, bare=NO_SPREAD, rules=_rules()))

    differing = [p for o in done for p in o.pairs if p.verdict.agrees is False]
    out.write("\n## Pairs that differ, and why\n\n")
    _write_causes(out, differing, causes)
    out.write("\n## Cases not expressible\n\n")
    reasons: dict[str, list[str]] = {}
    for o in done:
        if o.refused:
            reasons.setdefault(o.refused, []).append(o.case.name)
    out.writelines(f"- {reason}: {', '.join(names)}\n" for reason, names in reasons.items())
    out.write("" if reasons else "None.\n")
    if unmeasured := [o.case.name for o in done if o.unmeasured]:
        out.write(f"\n## Cases without results of ns-2\n\n{', '.join(unmeasured)}\n")
    out.write(f"\n{last_line(done)}\n")
    return out.getvalue()


def _write_causes(out: io.StringIO, pairs: Sequence[Pair], causes: Sequence[Cause]) -> None:
    """Writes the pairs under the cause that explains them, those that nobody looked at last."""
    if not pairs:
        out.write("None.\n")
        return
    by_cause: dict[str, list[Pair]] = {}
    for pair in pairs:
        text = next((c.text for c in causes if c.explains(pair)), NOT_LOOKED_AT)
        by_cause.setdefault(text, []).append(pair)
    for i, text in enumerate(sorted(by_cause, key=lambda t: t == NOT_LOOKED_AT)):
        out.write(f"{'' if i == 0 else chr(10)}{_paragraph(text)}\n\n")
        out.write(_row(["case", "pair", "ns-2", "Penstock", "difference"]))
        out.write(_row(["---", "---", "---:", "---:", "---:"]))
        for p in by_cause[text]:
            out.write(_row([p.case, p.metric, shown(p.reference), shown(p.ours), p.verdict.difference]))


#: The columns of `pairs_csv`.
COLUMNS = ("report", "group", "case", "metric", "ns2", "ns2_ci95", "ns2_n", "mean", "ci95", "n", "difference", "agrees")


def pairs_csv(sets: Iterable[tuple[str, Sequence[Outcome]]]) -> str:
    """Returns every pair of the sets, each with its report's name, as CSV with a header.

    `agrees` is empty where a pair does not count.
    """
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)
    for name, done in sets:
        for o in done:
            for p in o.pairs:
                both = [("", "", "") if v is None else (v.mean, v.half, v.n) for v in (p.reference, p.ours)]
                agrees = {True: "yes", False: "no", None: ""}[p.verdict.agrees]
                rows.writerow([name, o.case.group, p.case, p.metric, *both[0], *both[1], p.verdict.difference, agrees])
    return out.getvalue()
