"""`penstock validate`: ns-2's cases run here, pair by pair beside what ns-2 measured.

The cases and results that the project ships lie in `data`; other files in the same two formats are taken as well. A
case becomes a scenario with `profile = "ns-2"` (`translate`), runs over at least forty seeds (`measure`), and is judged
by the rules of `penstock.validate.agreement`. No parameter is tuned to a case: the same case gives the same scenario,
and that the same report to the byte.
"""

from __future__ import annotations

from pathlib import Path

from penstock._files import write
from penstock.runs.execute import cores
from penstock.validate.ns2.causes import read_causes
from penstock.validate.ns2.files import OTHER_FILES, SHIPPED, read_cases, read_results
from penstock.validate.ns2.measure import Outcome, outcomes
from penstock.validate.ns2.report import last_line, pairs_csv, report

#: The shipped data.
DATA = Path(__file__).with_name("data")


def reports() -> Path:
    """Returns the folder of the reports: the `docs` of the checkout that this package runs from, or the current one."""
    docs = Path(__file__).resolve().parents[4] / "docs"
    return docs if (docs / SHIPPED[0].report).is_file() else Path.cwd()


def validate(cases: Path | None, results: Path | None, out: Path | None, pairs: Path, jobs: int | None) -> int:
    """Runs the cases, writes report and pairs, prints the report's last line, and returns the exit status.

    cases, results: other files in the formats of the shipped ones; default: both shipped sets, a report on each.
    out: default: the shipped report (of the first set, where the caller gives files).
    pairs: where every pair goes, as CSV.
    jobs: threads; default: one for each core that the process may use.

    Raises `Error` for a file that cannot be read or makes no sense.
    """
    causes = read_causes(DATA / "causes.md")
    if cases is None and results is None and out is None:
        sets = [(DATA / s.cases, DATA / s.results, reports() / s.report, s.measured) for s in SHIPPED]
    else:
        first = SHIPPED[0]
        paths = cases or DATA / first.cases, results or DATA / first.results, out or reports() / first.report
        sets = [(*paths, OTHER_FILES)]
    every: list[tuple[str, list[Outcome]]] = []
    for known, measured, written, about in sets:
        done = outcomes(read_cases(known), read_results(measured), jobs or cores())
        write(written, report(done, causes, measured=about))
        every.append((written.name, done))
        if len(sets) > 1:
            print(f"{written.name}: {last_line(done)}")
    write(pairs, pairs_csv(every))
    print(last_line([outcome for _, done in every for outcome in done]))
    return 0
