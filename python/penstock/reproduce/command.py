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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock._files import replacing, write
from penstock.reproduce import lab, report
from penstock.reproduce.document import document_of
from penstock.reproduce.drawn import Drawn, made_of
from penstock.reproduce.execute import Finished, Spent, Wanted, gather, run_each
from penstock.reproduce.hosts import READINGS, cases_under
from penstock.reproduce.model import (
    Cases,
    Claim,
    Exhibit,
    Finding,
    Paper,
    Settings,
    TableData,
)
from penstock.reproduce.readings import DEFAULT, Reading
from penstock.reproduce.verdict import UNDECIDED, judge
from penstock.reproduce.words import held, rule_in_words
from penstock.runs.forked import forked
from penstock.show import style
from penstock.show.progress import Bar

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.reproduce.runs import Runs

#: The columns of `claims.csv`. `size` is the estimate over what the paper prints; `points_held` of
#: `points` says at how many points of an axis a claim holds. The interval is of 99 %.
COLUMNS = (
    *("paper", "claim", "paper_value", "estimate", "ci_low", "ci_high", "n", "verdict", "reading"),
    *("of", "place", "text", "unit", "rule", "size", "points_held", "points", "note"),
)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A claim to be judged under a reading. looks: after how many seeds."""

    paper: Paper
    claim: Claim
    reading: Reading
    wanted: Wanted
    looks: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be run, for each exhibit and for each claim under each reading."""

    exhibits: Sequence[tuple[Paper, Exhibit, Wanted]]
    claims: Sequence[_Asked]

    @staticmethod
    def of(papers: Sequence[Paper], settings: Settings) -> _Plan:
        made: dict[tuple[Cases, str], Wanted] = {}

        def wanted(place: str, cases: Cases, reading: Reading) -> Wanted:
            # Building a scenario takes as long as a short run: what claims share is built once.
            if (cases, reading.key) not in made:
                made[cases, reading.key] = Wanted.of(place, cases_under(cases, settings, reading))
            return made[cases, reading.key]

        exhibits, claims = [], []
        for each in papers:
            found = (each.nearest.reading,) if settings.joint and each.nearest else ()
            nearest = [reading for reading in found if reading != DEFAULT]
            for exhibit in each.exhibits:
                exhibits.append((each, exhibit, wanted(f"{each.name} {exhibit.key}", exhibit.cases, DEFAULT)))
            for claim in each.claims:
                place = f"{each.name} {claim.key}"
                looks = settings.up_to(settings.looks[-1] if claim.most is None else claim.most)
                usual = wanted(place, claim.cases, DEFAULT)
                claims.append(_Asked(each, claim, DEFAULT, usual, looks))
                # What checks our code or a reading says nothing of hosts.
                today = [READINGS[hosts] for hosts in settings.hosts if claim.of != "check"]
                for reading in (*nearest, *today):
                    joint = wanted(f"{place} ({reading.key})", claim.cases, reading)
                    claims.append(_Asked(each, claim, reading, joint, settings.up_to(min(settings.joint, looks[-1]))))
                claims += [_Asked(each, claim, sense.reading, usual, looks) for sense in claim.senses]
                for reading in () if settings.quick else claim.readings:
                    if reading not in nearest:
                        single = wanted(f"{place} ({reading.key})", claim.cases, reading)
                        claims.append(_Asked(each, claim, reading, single, (settings.single,)))
        return _Plan(exhibits, claims)


@dataclass(frozen=True, slots=True)
class Reproduced:
    """What came of it: the report's path, and every claim's finding under each of its readings.

    papers, settings: what was asked.
    """

    page: Path
    findings: Sequence[Finding]
    papers: Sequence[Paper]
    settings: Settings

    def json(self) -> str:
        """Returns every claim with its findings as one document."""
        return document_of(self.papers, self.settings, self.findings)


def reproduce(
    papers: Sequence[Paper], settings: Settings, out: Path, jobs: int, timing: Path | None = None
) -> Reproduced:
    """Runs what is not kept yet, judges, draws and writes it all.

    Interrupted, it leaves in `out/runs` what has run.
    """
    clock = _Phases()
    papers = [_within_quick(each, settings) for each in papers] if settings.quick else papers
    plan = _Plan.of(papers, settings)
    clock.ended("plan")
    findings, finished, spent = _decide(plan, settings, out / "runs", jobs, clock)
    seeds = range(1, settings.seeds + 1)
    shown = _draw_all(plan, seeds, finished, out, jobs)
    clock.ended("draw")
    claims = claims_csv(findings)
    write(out / "claims.csv", claims)
    page = out / "report.html"
    write(page, report.page(papers, settings, findings, shown, claims, lab.place(out)))
    clock.ended("write")
    if timing is not None:
        write(timing, json.dumps(clock.report(jobs, spent), indent=1) + "\n")
    return Reproduced(page, findings, papers, settings)


def _within_quick(whole: Paper, settings: Settings) -> Paper:
    """Returns a paper without what a quick reproduction runs nothing for."""

    def has(part: Exhibit | Claim) -> bool:
        return any(True for _ in part.cases(settings, DEFAULT))

    return replace(whole, exhibits=list(filter(has, whole.exhibits)), claims=list(filter(has, whole.claims)))


def _decide(
    plan: _Plan, settings: Settings, folder: Path, jobs: int, clock: _Phases
) -> tuple[list[Finding], Finished, list[Spent]]:
    """Adds seeds until each claim is decided or the looks are over; returns the findings in the plan's order."""
    found: dict[int, Finding] = {}
    spent: list[Spent] = []
    open_ = list(range(len(plan.claims)))
    first = [(wanted, range(1, settings.seeds + 1)) for *_, wanted in plan.exhibits]
    finished: Finished | None = None
    for round_ in range(len(settings.looks)):
        open_ = [
            i for i in open_ if i not in found or (found[i].verdict == UNDECIDED and round_ < len(plan.claims[i].looks))
        ]
        asked = [plan.claims[i] for i in open_]
        if finished is None or asked:
            with Bar("running") as bar:
                wanted = [(each.wanted, range(1, each.looks[round_] + 1)) for each in asked]
                new = run_each([*(first if finished is None else ()), *wanted], folder, jobs, _on(bar))
            spent += new
            clock.ended("run")
            if finished is None or new:
                finished = Finished(folder)
            found |= zip(open_, _judge_all(asked, round_, finished), strict=True)
            clock.ended("judge")
    assert finished is not None
    return [found[i] for i in range(len(found))], finished, spent


def _judge_all(asked: Sequence[_Asked], round_: int, finished: Finished) -> list[Finding]:
    """Returns the findings at a look, in the order of what is asked.

    Runs that several claims share are gathered once, and released after the last of these claims.
    """
    sharing: dict[tuple[int, int], list[int]] = {}
    for i, each in enumerate(asked):
        sharing.setdefault((id(each.wanted), each.looks[round_]), []).append(i)
    found: dict[int, Finding] = {}
    for (_, seeds), places in sharing.items():
        runs = gather(asked[places[0]].wanted, range(1, seeds + 1), finished)
        for i in places:
            claim, reading = asked[i].claim, asked[i].reading
            found[i] = judge(asked[i].paper.key, claim, reading, claim.under(reading)(runs))
    return [found[i] for i in range(len(found))]


def _draw_all(
    plan: _Plan, seeds: Sequence[int], finished: Finished, out: Path, jobs: int
) -> dict[tuple[str, str], str | TableData]:
    """Draws what is not there yet; returns for each exhibit its SVG or its table."""
    shown: dict[tuple[str, str], str | TableData] = {}
    drawn = Drawn(out)
    made = {f"{each.key}.{exhibit.key}": made_of(exhibit, wanted, seeds) for each, exhibit, wanted in plan.exhibits}
    wanting = [(f"{each.key}.{exhibit.key}", exhibit, wanted) for each, exhibit, wanted in plan.exhibits]
    wanting = [item for item in wanting if not drawn.has(item[0], made[item[0]])]

    def work(item: tuple[str, Exhibit, Wanted]) -> tuple[list[Path], str | TableData]:
        name, exhibit, wanted = item
        return _exhibit(out, name, exhibit, gather(wanted, seeds, finished))

    new: dict[str, str | TableData] = {}
    with Bar("drawing") as bar:
        for (name, *_), (files, shows) in zip(wanting, forked(work, wanting, jobs), strict=True):
            bar.show(len(new) / len(wanting), f"drawing {name}")
            new[name] = shows
            if isinstance(shows, str):  # a table takes no time
                drawn.keep(name, made[name], files)
    drawn.write()
    for each, exhibit, _ in plan.exhibits:
        name = f"{each.key}.{exhibit.key}"
        shown[each.key, exhibit.key] = new[name] if name in new else _svg(out, name).read_text(encoding="utf-8")
    return shown


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
    with style.context(alone=True):
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
    """Returns one row for each run: the labels of its case, the seed, its metrics.

    The metrics of each traffic entry (`group0.…`) follow and, where there are several links, those
    of each link (`link.NAME.…`).
    """
    rows = [
        {
            **run.labels,
            "seed": run.seed,
            **run.metrics,
            **{
                f"group{i}.{name}": value
                for i, group in enumerate(run.groups)
                for name, value in group.items()
                if name != "name"
            },
            **{f"link.{link}.{name}": value for link, of in run.links.items() for name, value in of.items()},
        }
        for run in runs
    ]
    return _table(rows)


def series_table(runs: Runs) -> pa.Table | None:
    """Returns the recorded series of all runs, after the labels of their cases; `None` if there are none.

    Of a run whose congestion windows are recorded it has these, of another the queue.
    """
    import pyarrow as pa

    parts = []
    for each in runs:
        shown = each.trace if each.windows is None else each.windows
        if shown is not None:
            labels = _table([each.labels] * shown.num_rows)
            columns = {**_columns(labels), **_columns(shown)}
            parts.append(pa.table(columns))
    return pa.concat_tables(parts, promote_options="permissive") if parts else None


def _columns(table: pa.Table) -> dict[str, Any]:
    return dict(zip(table.column_names, table.columns, strict=True))


def _table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Returns rows as columns of texts, whole numbers or numbers; a mix of texts and numbers is text."""
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
    """Returns one row for each claim and reading. A number that does not exist is empty."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for found in findings:
        numbers = ["" if x is None else repr(x) for x in (found.estimate, found.low, found.high)]
        claim = found.claim
        rows.writerow(
            [
                *(found.paper, claim.key, claim.paper_value, *numbers, found.n, found.verdict, found.reading.key),
                *(claim.of, claim.place, claim.text, found.unit, rule_in_words(found.rule)),
                "" if found.size is None else repr(found.size),
                *(held(found) if found.points else ("", "")),
                found.note,
            ]
        )
    return text.getvalue()


class _Phases:
    """Where the time goes, for `--timing`; never in results."""

    def __init__(self) -> None:
        self._begun = self._last = time.perf_counter()
        self._cpu = time.process_time()
        self._phases: dict[str, float] = {}

    def ended(self, phase: str) -> None:
        now = time.perf_counter()
        self._phases[phase] = self._phases.get(phase, 0.0) + now - self._last
        self._last = now

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
