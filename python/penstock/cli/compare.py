"""`penstock compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock._files import write
from penstock.cli import options
from penstock.cli.inputs import assignments, check_writable, name_of, series_interval
from penstock.cli.output import Clock, report, warn, write_result
from penstock.cli.picture import Picture
from penstock.errors import Error
from penstock.model.discipline import Discipline, disciplines
from penstock.model.scenario import Scenario
from penstock.runs import runner
from penstock.runs.execute import cores
from penstock.runs.result import Comparison
from penstock.show.progress import Bar
from penstock.show.run_tables import comparison_table
from penstock.show.table import Table

if TYPE_CHECKING:
    from rich.console import Group

#: The figures that `--figure-kind` names: methods of `Comparison.plot`.
FIGURES = ("overview", "plane")


@options.command("compare")
@options.simulation
@click.option(
    "--aqm",
    "aqms",
    multiple=True,
    required=True,
    metavar="[NAME=]DISCIPLINE",
    help="A discipline, under a name of your choice: red, tight=red:min_th=5,max_th=15, my_aqm.py:Mine(limit=5); give "
    'it repeatedly, or "all" for every kind.',
)
@options.links
@options.groups
@options.figure("Draw them: .svg, .png or .pdf.")
@click.option(
    "--figure-kind",
    "shape",
    type=click.Choice(FIGURES),
    help="A row for each discipline, or delay against throughput [default: overview].",
)
def command(
    given: options.Simulation,
    aqms: tuple[str, ...],
    links: bool,
    groups: bool,
    figure: Path | None,
    style: str | None,
    shape: str | None,
) -> None:
    """Run FILE under several disciplines, paired by seed.

    Every discipline takes its own keys of the file's [aqm]. Each stands at the bottleneck, forward; the other direction
    keeps the file's [aqm.reverse], which `penstock sweep FILE --vary aqm.reverse.kind=...` varies. The table shows each
    discipline's mean with its 95 % interval, and the paired differences against the first.
    """
    named = disciplines(aqms, "--aqm")
    scenario = Scenario.load(given.file, assignments(given.changes, "--set"), named)
    scenario = scenario.recording(links=links, groups=groups)
    interval = series_interval(scenario, given.series, given.out)
    if given.out is not None:
        _check_folders(named)
    check_writable(out=given.out, timing=given.timing)
    picture = Picture(figure, style)
    if shape is not None and figure is None:
        raise Error("--figure-kind: needs --figure FILE, where it is drawn")
    clock = Clock()
    with Bar(name_of(scenario, given.file)) as bar:
        comparison = runner.compare(scenario, named, given.seeds, jobs=given.jobs, series=interval, progress=bar)
    clock.stop()
    if given.out is not None:
        _write(given.out, comparison)
    picture.draw(lambda: getattr(comparison.plot, shape or FIGURES[0])())
    report(given.as_json, comparison.json, lambda: _tables(comparison, links))
    warn(comparison.warnings)
    clock.report(given.timing, list(comparison.results.values()), given.jobs or cores())


def _tables(comparison: Comparison, links: bool) -> Table | Group:
    """Returns the table of the bottleneck, with one of each other link if they were asked for."""
    from rich.console import Group

    first = comparison.results[comparison.baseline]
    others = [each for each in first.links if each != first.scenario.core.bottleneck_name] if links else []
    return Group(comparison_table(comparison), *(comparison_table(comparison, each) for each in others))


def _check_folders(named: Sequence[Discipline]) -> None:
    """Refuses a name that no folder can have."""
    for each in named:
        if "/" in each.label:
            raise Error(f"--out: no folder can be called {each.label!r}; NAME={each.label} gives it another name")


def _write(out: Path, comparison: Comparison) -> None:
    """Writes one folder per discipline, and the document with the differences."""
    for name, result in comparison.results.items():
        write_result(out / name, result)
    write(out / "comparison.json", comparison.json() + "\n")
