"""`penstock reproduce`: from the papers' modules to a folder with one report.

The folder has `report.html` and `claims.csv`; `figures/PAPER.EXHIBIT.svg` and `.png`, and
`drawn.json`, which says what they were drawn from;
`data/PAPER.EXHIBIT.parquet` with a row for each run, and `….series.parquet` where an exhibit shows
time; and `runs/`, a sweep's store, from which a second call takes what it needs.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock._files import replacing, write
from penstock.reproduce import report
from penstock.reproduce.drawn import Drawn, made_of
from penstock.reproduce.execute import Finished, Spent, Wanted, gather, run
from penstock.reproduce.model import DEFAULT, Cases, Claim, Exhibit, Finding, Paper, Reading, Settings, TableData
from penstock.reproduce.verdict import judge
from penstock.show import style
from penstock.show.progress import Bar

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.reproduce.runs import Runs

#: The columns of `claims.csv`.
COLUMNS = ("paper", "claim", "paper_value", "estimate", "ci_low", "ci_high", "n", "verdict", "reading")


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be run, for each exhibit and for each claim under each reading."""

    exhibits: Sequence[tuple[Paper, Exhibit, Wanted]]
    claims: Sequence[tuple[Paper, Claim, Reading, Wanted]]

    @staticmethod
    def of(papers: Sequence[Paper], settings: Settings) -> _Plan:
        made: dict[tuple[Cases, str], Wanted] = {}

        def wanted(place: str, cases: Cases, reading: Reading) -> Wanted:
            # Building a scenario takes as long as a short run: what claims share is built once.
            if (cases, reading.key) not in made:
                made[cases, reading.key] = Wanted.of(place, cases(settings, reading))
            return made[cases, reading.key]

        exhibits, claims = [], []
        for each in papers:
            for exhibit in each.exhibits:
                exhibits.append((each, exhibit, wanted(f"{each.name} {exhibit.key}", exhibit.cases, DEFAULT)))
            for claim in each.claims:
                for reading in (DEFAULT, *claim.readings):
                    place = f"{each.name} {claim.key} ({reading.key})"
                    claims.append((each, claim, reading, wanted(place, claim.cases, reading)))
        return _Plan(exhibits, claims)

    @property
    def wanted(self) -> list[Wanted]:
        return [wanted for *_, wanted in self.exhibits] + [wanted for *_, wanted in self.claims]


@dataclass(frozen=True, slots=True)
class Reproduced:
    """What came of it: the report's path, and every claim's finding under each of its readings."""

    page: Path
    findings: Sequence[Finding]


def reproduce(
    papers: Sequence[Paper], settings: Settings, out: Path, jobs: int, timing: Path | None = None
) -> Reproduced:
    """Runs what is not kept yet, judges, draws and writes it all.

    Interrupted, it leaves in `out/runs` what has run.
    """
    clock = _Phases()
    plan = _Plan.of(papers, settings)
    clock.ended("plan")
    seeds = range(1, settings.seeds + 1)
    with Bar("running") as bar:
        spent = run(plan.wanted, seeds, out / "runs", jobs, _on(bar))
    clock.ended("run")
    finished = Finished(out / "runs")
    findings = _judge_all(plan, seeds, finished)
    clock.ended("judge")
    shown: dict[tuple[str, str], str | TableData] = {}
    drawn = Drawn(out)
    with Bar("drawing") as bar:
        for i, (each, exhibit, wanted) in enumerate(plan.exhibits):
            bar.show(i / len(plan.exhibits), f"drawing {each.name} {exhibit.key}")
            name, of = f"{each.key}.{exhibit.key}", made_of(exhibit, wanted, seeds)
            if drawn.has(name, of):
                shown[each.key, exhibit.key] = _svg(out, name).read_text(encoding="utf-8")
                continue
            files, shows = _exhibit(out, name, exhibit, gather(wanted, seeds, finished))
            shown[each.key, exhibit.key] = shows
            if isinstance(shows, str):  # a table takes no time
                drawn.keep(name, of, files)
    drawn.write()
    clock.ended("draw")
    write(out / "claims.csv", claims_csv(findings))
    page = out / "report.html"
    write(page, report.page(papers, settings, findings, shown))
    clock.ended("write")
    if timing is not None:
        write(timing, json.dumps(clock.report(jobs, spent), indent=1) + "\n")
    return Reproduced(page, findings)


def _judge_all(plan: _Plan, seeds: Sequence[int], finished: Finished) -> list[Finding]:
    """The findings, in the order of the plan.

    Runs that several claims share are gathered once, and released after the last of these claims.
    """
    sharing: dict[int, list[int]] = {}
    for i, (*_, wanted) in enumerate(plan.claims):
        sharing.setdefault(id(wanted), []).append(i)
    found: dict[int, Finding] = {}
    for places in sharing.values():
        runs = gather(plan.claims[places[0]][-1], seeds, finished)
        for i in places:
            each, claim, reading, _ = plan.claims[i]
            found[i] = judge(each.key, claim, reading, claim.values(runs))
    return [found[i] for i in range(len(found))]


def _on(bar: Bar) -> Any:
    return lambda done, total, place: bar.show(done / total if total else 1.0, place)


def _exhibit(out: Path, name: str, exhibit: Exhibit, runs: Runs) -> tuple[list[Path], str | TableData]:
    """Writes an exhibit's files; returns them, and what the report shows: a figure as SVG, or the table."""
    import pyarrow.parquet as pq

    files = []
    for ending, table in (("parquet", runs_table(runs)), ("series.parquet", series_table(runs))):
        if table is not None:
            files.append(out / "data" / f"{name}.{ending}")
            with replacing(files[-1]) as file:
                pq.write_table(table, file, compression="zstd")
    drawn = exhibit.show(runs)
    if isinstance(drawn, TableData):
        return files, drawn
    for path in (_svg(out, name).with_suffix(".png"), _svg(out, name)):
        style.save(drawn, str(path))
        files.append(path)
    return files, _svg(out, name).read_text(encoding="utf-8")


def _svg(out: Path, name: str) -> Path:
    return out / "figures" / f"{name}.svg"


def runs_table(runs: Runs) -> pa.Table:
    """One row for each run: the labels of its case, the seed, its metrics.

    The metrics of each traffic entry (`group0.…`) follow and, where there are several links, those
    of each link (`link.NAME.…`).
    """
    rows = [
        {
            **run.labels,
            "seed": run.seed,
            **run.metrics,
            **{f"group{i}.{name}": value for i, group in enumerate(run.groups) for name, value in group.items()},
            **{f"link.{link}.{name}": value for link, of in run.links.items() for name, value in of.items()},
        }
        for run in runs
    ]
    return _table(rows)


def series_table(runs: Runs) -> pa.Table | None:
    """The recorded series of all runs, after the labels of their cases; `None` if there are none."""
    import pyarrow as pa

    parts = []
    for each in runs:
        if each.trace is not None:
            labels = _table([each.labels] * each.trace.num_rows)
            columns = {**_columns(labels), **_columns(each.trace)}
            parts.append(pa.table(columns))
    return pa.concat_tables(parts, promote_options="permissive") if parts else None


def _columns(table: pa.Table) -> dict[str, Any]:
    return dict(zip(table.column_names, table.columns, strict=True))


def _table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as columns of texts, whole numbers or numbers; a mix of texts and numbers is text."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        kinds = {type(value) for value in values if value is not None}
        if str in kinds:
            columns[name] = pa.array([None if value is None else str(value) for value in values], pa.string())
        else:
            columns[name] = pa.array(values, pa.int64() if kinds == {int} else pa.float64())
    return pa.table(columns)


def claims_csv(findings: Iterable[Finding]) -> str:
    """One row for each claim and reading. A number that does not exist is empty."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for found in findings:
        numbers = ["" if x is None else repr(x) for x in (found.estimate, found.low, found.high)]
        claim = found.claim
        rows.writerow([found.paper, claim.key, claim.paper_value, *numbers, found.n, found.verdict, found.reading.key])
    return text.getvalue()


class _Phases:
    """Where the time goes, for `--timing`; never in results."""

    def __init__(self) -> None:
        self._begun = self._last = time.perf_counter()
        self._cpu = time.process_time()
        self._phases: dict[str, float] = {}

    def ended(self, phase: str) -> None:
        now = time.perf_counter()
        self._phases[phase], self._last = now - self._last, now

    def report(self, jobs: int, spent: Sequence[Spent]) -> dict[str, Any]:
        places: dict[str, dict[str, float]] = {}
        for each in spent:
            place = places.setdefault(each.place, {"runs": 0, "events": 0, "run_s": 0.0})
            place["runs"] += 1
            place["events"] += each.events
            place["run_s"] += each.run_s
        return {
            "wall_s": time.perf_counter() - self._begun,
            "cpu_s": time.process_time() - self._cpu,
            "jobs": jobs,
            "runs": len(spent),
            "events": sum(each.events for each in spent),
            "phases_s": self._phases,
            "places": dict(sorted(places.items(), key=lambda item: -item[1]["run_s"])),
        }
