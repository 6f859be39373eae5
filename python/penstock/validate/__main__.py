"""`python -m penstock.validate`: some of ns-2's cases as a table on the terminal, to look into a difference."""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from penstock.runs.execute import cores
from penstock.validate.ns2.command import DATA
from penstock.validate.ns2.files import SHIPPED, read_cases, read_results
from penstock.validate.ns2.measure import SEEDS, Outcome, outcomes
from penstock.validate.ns2.report import last_line, shown
from penstock.validate.ns2.translate import scenario


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the cases that were asked for, prints them, and returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m penstock.validate", description=__doc__)
    parser.add_argument("--only", default="*", metavar="GLOB", help="cases to run; several with commas")
    parser.add_argument("--cases", type=Path, metavar="FILE", default=DATA / SHIPPED[0].cases)
    parser.add_argument("--results", type=Path, metavar="FILE", default=DATA / SHIPPED[0].results)
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N")
    parser.add_argument("--jobs", type=int, metavar="N")
    parser.add_argument("--differing", action="store_true", help="only pairs that differ")
    parser.add_argument("--scenario", action="store_true", help="print the scenarios as JSON instead of running them")
    options = parser.parse_args(argv)
    globs = options.only.split(",")
    chosen = [c for c in read_cases(options.cases) if any(fnmatch.fnmatchcase(c.name, g) for g in globs)]
    if options.scenario:
        for case in chosen:
            print(json.dumps(scenario(case.name, case.args), indent=1))
        return 0
    done = outcomes(chosen, read_results(options.results), options.jobs or cores(), options.seeds)
    if options.differing:
        done = [replace(o, pairs=tuple(p for p in o.pairs if p.verdict.agrees is False)) for o in done]
    print(_table(done))
    return 0


def _table(done: Sequence[Outcome]) -> str:
    """Returns a compact table for a terminal: one line per pair."""
    lines = []
    for o in done:
        if o.refused or o.unmeasured:
            lines.append(f"{o.case.name}: {o.refused or 'no results of ns-2'}")
        for p in o.pairs:
            mark = {True: "  ", False: "X ", None: "- "}[p.verdict.agrees]
            lines.append(
                f"{mark}{p.case:34} {p.metric:15} {shown(p.reference):>24} {shown(p.ours):>24} "
                f"{p.verdict.difference:>14}  {p.verdict.why if p.verdict.agrees is not None else ''}".rstrip()
            )
    return "\n".join([*lines, last_line(done)])


if __name__ == "__main__":
    sys.exit(main())
