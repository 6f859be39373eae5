"""Holds what runs return: estimates over seeds, every run, recorded series, and figures made from them."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from penstock import _penstock
from penstock._json import document
from penstock._names import known
from penstock._penstock import RunResult
from penstock.errors import Error
from penstock.judging.estimate import Estimate, bounds_of
from penstock.judging.named import group_keys
from penstock.runs.recorded import recorded

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.model.scenario import Scenario
    from penstock.show.plot import Plots

#: Those of the tables that a run can record which links have, and what stands for every link.
OF_LINKS, ALL = ("queue", "events"), "all"
#: The tables that a run can record.
SERIES = ("queue", "cwnd", "rtt", "goodput", "model", "fct", "pages", "events")


class Result:
    """One scenario's runs, one per seed.

    scenario: what ran.
    runs: one `RunResult` per seed, in the order of the seeds, with `.seed`, `.metrics`, `.groups`, `.flows`
        and, where every link is measured, `.links`: name → metrics; where a discipline tells bands of packets
        apart, `.bands`: link → band → metrics.
    summary: metric name → `Estimate` over the runs.
    links, groups: link or traffic group → metric name → `Estimate`.
    warnings: what is to be said of the runs beside their numbers, sentences; most often none.
    """

    def __init__(
        self, scenario: Scenario, runs: Sequence[RunResult], jobs: int | None = None, *, changed: bool = False
    ) -> None:
        self.scenario = scenario
        self.runs = tuple(runs)
        self._jobs = jobs
        self._changed = changed  # while they ran: they are not the scenario's runs, and cannot be had again
        self._recorded: dict[str, tuple[RunResult, ...]] = {}
        self._json: str | None = None
        self._summary: Mapping[str, Estimate] | None = None

    @property
    def duration_s(self) -> float:
        """Returns how long each run lasted, in seconds, without its lead-in."""
        return self.scenario.duration_s

    def json(self) -> str:
        """Returns the document that `penstock run --json` prints: the same input gives the same bytes."""
        if self._json is None:
            self._json = _penstock.document(self.scenario.core, self.runs)
        return self._json

    @property
    def summary(self) -> Mapping[str, Estimate]:
        """Returns metric name → mean and 95 % interval over the runs, and how many there are."""
        if self._summary is None:
            self._summary = {name: Estimate(**row) for name, row in json.loads(self.json())["summary"].items()}
        return self._summary

    @property
    def links(self) -> Mapping[str, Mapping[str, Estimate]]:
        """Returns link → metric name → estimate over the runs; nothing where the bottleneck alone is measured, which
        `summary` describes."""
        return _estimates([run.links for run in self.runs])

    @property
    def groups(self) -> Mapping[str, Mapping[str, Estimate]]:
        """Returns traffic group → metric name → estimate over the runs. A group goes by its name; where several have
        the same one, by its number."""
        keys = group_keys(self.scenario.core.group_names())
        return _estimates([dict(zip(keys, run.groups, strict=False)) for run in self.runs])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Returns what a reader of the numbers has to know: where a queue at an access link was longer than at the
        bottleneck, its link, and what helps. Empty where there is nothing to say."""
        return tuple(_penstock.warnings(self.scenario.core, self.runs))

    @property
    def identical(self) -> bool:
        """Returns whether there are several runs and they are all the same: no seed changes anything."""
        return _penstock.identical(self.runs)

    def series(self, name: str, link: str | None = None) -> pa.Table:
        """Returns a recorded table of all runs: `seed`, then the table's own columns; the unit is in each name.

        name: `"queue"` (t_s, queue_pkts and what the discipline publishes), `"cwnd"`, `"rtt"`, `"goodput"`, `"model"`
            (what controls such as BBR believe of their paths), `"fct"`, `"pages"` (where a web group has `connections`)
            or `"events"`, every packet's fate at a link: t_s, event, flow, bytes, queue_pkts, packet, seq, type, ecn,
            sojourn_ns (docs/how-to.md has what each column means).
        link: whose `"queue"` or `"events"`: one of `links`, or `"all"`, which gives the rows of each run in the order
            of time; default: the bottleneck's. The table then has a column `link`, which `"events"` always has.

        What was not recorded is recorded now: the same seeds run again, with the same outcome, since a run depends
        on its scenario and seed alone. `run(..., series="10 ms")` chooses the interval and saves the second run.
        """
        import pyarrow as pa

        if name not in SERIES:
            raise ValueError(f"no series is called {name!r}; there are: {', '.join(SERIES)}")
        runs = self._with_table(name)
        if link is None and name != "events":
            return pa.concat_tables([recorded(run, name) for run in runs])
        links = self._links(name, link or self.scenario.core.bottleneck_name)
        found = []
        for run in runs:
            of_run = pa.concat_tables([self._of_link(run, name, of) for of in links], promote_options="default")
            found.append(of_run.sort_by("t_s") if len(links) > 1 else of_run)
        return pa.concat_tables(found, promote_options="default")

    def _links(self, name: str, link: str) -> Sequence[str]:
        """Returns the links whose series is asked for. Raises `ValueError` where one has none."""
        if name not in OF_LINKS:
            raise ValueError(f"series {name!r}: no link's; those of links are: {', '.join(OF_LINKS)}")
        core, measured = self.scenario.core, list(self.runs[0].links)
        if link == ALL:
            return measured or [core.bottleneck_name]
        if link not in (core.bottleneck_name, *measured):
            known(link, core.link_names(), "link")
            raise ValueError(f"{link} is not measured; record = {{ links = true }} in the scenario measures every link")
        return [link]

    def _of_link(self, run: RunResult, name: str, link: str) -> pa.Table:
        """Returns a link's series, whose second column has its name."""
        import pyarrow as pa

        table = recorded(run, name, None if link == self.scenario.core.bottleneck_name else link)
        return table.add_column(1, "link", pa.repeat(pa.scalar(link, pa.string()), table.num_rows))

    @property
    def plot(self) -> Plots:
        """Figures of these runs: `plot.queue()`, `plot.delay_cdf()`, and others."""
        from penstock.show.plot import Plots

        return Plots({self.scenario.label: self})

    def _with_table(self, name: str) -> tuple[RunResult, ...]:
        """Returns the runs, run once more if they lack the table."""
        # A run that has no pages, or no models, has no such table.
        if all(({"pages": "fct", "model": "cwnd"}.get(name, name)) in run.tables for run in self.runs):
            return self.runs
        if self._changed:
            asked = "events=True" if name == "events" else 'series="10 ms"'
            raise Error(f"series {name!r} was not recorded, and a run that was changed is not run again: {asked}")
        key = "events" if name == "events" else "samples"
        if key not in self._recorded:
            from penstock.runs.execute import auto_interval_s, execute

            interval = None if key == "events" else auto_interval_s(self.scenario.duration_s)
            self._recorded[key] = tuple(
                execute(
                    self.scenario.core,
                    [run.seed for run in self.runs],
                    self._jobs or 1,
                    series_interval_s=interval,
                    events=key == "events",
                )
            )
        return self._recorded[key]

    def _repr_html_(self) -> str:
        """Returns the table of `penstock run`, for notebooks."""
        from penstock.show.run_tables import result_table

        return result_table(self)._repr_html_() + _in_html(self.warnings)

    def __repr__(self) -> str:
        seeds = f"seed {self.runs[0].seed}" if len(self.runs) == 1 else f"{len(self.runs)} seeds"
        return f"<penstock.Result {self.scenario.name!r}, {seeds}>"


class Comparison:
    """One scenario under several disciplines, paired by seed.

    results: discipline → `Result`, in the order in which they were asked for.
    baseline: the first of them, against which `difference` is taken.
    """

    def __init__(self, results: Mapping[str, Result]) -> None:
        self.results = dict(results)
        self.baseline = next(iter(self.results))

    def difference(self, aqm: str) -> dict[str, Estimate]:
        """Returns metric name → mean of the differences `aqm` − baseline, seed by seed, with the interval of that mean.
        Where links are measured, or groups recorded, their metrics are there as well:
        `links.bottleneck.reverse.delay_p99_s`, `groups.calls.delay_p99_s`.

        Pairing takes the luck of a seed (who starts when) out of the comparison; a metric that does not apply in one
        of the two runs leaves the pair out.
        """
        ours, theirs = self.results[aqm].runs, self.results[self.baseline].runs
        core = self.results[aqm].scenario.core
        both = list(zip(ours, theirs, strict=True))
        parts = [("", [(a.metrics, b.metrics) for a, b in both])]
        for link in ours[0].links:
            parts.append((f"links.{link}.", [(a.links[link], b.links[link]) for a, b in both]))
        for i, group in enumerate(group_keys(core.group_names()) if core.records_groups else ()):
            parts.append((f"groups.{group}.", [(a.groups[i], b.groups[i]) for a, b in both]))
        found = {}
        for whose, pairs in parts:
            for name in pairs[0][0]:
                differences = [x - y for x, y in _both(pairs, name)]
                found[whose + name] = Estimate.of_differences(differences, bounds_of(name))
        return found

    @property
    def identical(self) -> bool:
        """Returns whether the runs of every discipline are all the same: no seed changes anything."""
        return all(result.identical for result in self.results.values())

    @property
    def warnings(self) -> tuple[str, ...]:
        """Returns the warnings of every discipline's runs, each behind the discipline's name."""
        return tuple(f"{name}: {text}" for name, result in self.results.items() for text in result.warnings)

    def json(self) -> str:
        """Returns one document: for each discipline what `run --json` prints, and the differences."""
        parts = {
            "baseline": self.baseline,
            "compared": {name: json.loads(result.json()) for name, result in self.results.items()},
            "difference": {
                name: {metric: each.row() for metric, each in self.difference(name).items()}
                for name in self.results
                if name != self.baseline
            },
        }
        return document(parts)

    @property
    def plot(self) -> Plots:
        """Returns the same figures as `Result.plot`, with the disciplines side by side."""
        from penstock.show.plot import Plots

        return Plots(self.results)

    def _repr_html_(self) -> str:
        """Returns the table of `penstock compare`, for notebooks."""
        from penstock.show.run_tables import comparison_table

        return comparison_table(self)._repr_html_() + _in_html(self.warnings)

    def __repr__(self) -> str:
        return f"<penstock.Comparison {', '.join(self.results)}>"


def _estimates(runs: Sequence[Mapping[str, Mapping[str, float | None]]]) -> dict[str, dict[str, Estimate]]:
    """Returns part of the runs → metric name → estimate."""
    return {
        part: {name: Estimate.of([run[part].get(name) for run in runs], bounds_of(name)) for name in first}
        for part, first in runs[0].items()
    }


def _in_html(warnings: Sequence[str]) -> str:
    """Returns warnings for a notebook, below the table."""
    return "".join(f"<p>warning: {html.escape(text)}</p>" for text in warnings)


def _both(
    pairs: Sequence[tuple[Mapping[str, float | None], Mapping[str, float | None]]], name: str
) -> list[tuple[float, float]]:
    """Returns the pairs in which both runs have the metric."""
    values = [(a.get(name), b.get(name)) for a, b in pairs]
    return [(x, y) for x, y in values if x is not None and y is not None]
