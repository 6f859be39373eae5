"""`penstock compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from penstock._files import write
from penstock._names import kind_named, kinds
from penstock.cli import options
from penstock.cli.inputs import check_writable, name_of, scenario_of, series_interval
from penstock.cli.output import Clock, report, warn, write_result
from penstock.cli.picture import Picture
from penstock.errors import Error
from penstock.runs import runner
from penstock.runs.execute import cores
from penstock.runs.result import Comparison
from penstock.show.progress import Bar
from penstock.show.run_tables import comparison_table

#: What compares disciplines of the user's own.
_OWN = "penstock.compare takes an instance of it in Python, and `penstock evaluate FILE.py:CLASS` judges it"
#: The figures that `--figure-kind` names: methods of `Comparison.plot`.
FIGURES = ("overview", "plane")


@click.command("compare")
@options.simulation
@click.option(
    "--aqm",
    "aqms",
    multiple=True,
    required=True,
    metavar="KIND",
    help='A discipline; give it repeatedly, or "all" for every kind.',
)
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
    figure: Path | None,
    style: str | None,
    shape: str | None,
) -> None:
    """Run FILE under several disciplines, paired by seed.

    Every discipline takes its own keys of the file's [aqm]. The table shows each discipline's mean with its 95 %
    interval, and the paired differences against the first.
    """
    scenario = scenario_of(given.file, given.changes)
    interval = series_interval(scenario, given.series, given.out)
    check_writable(out=given.out, timing=given.timing)
    picture = Picture(figure, style)
    if shape is not None and figure is None:
        raise Error("--figure-kind: needs --figure FILE, where it is drawn")
    clock = Clock()
    named = _kinds(aqms)
    with Bar(name_of(scenario, given.file)) as bar:
        comparison = runner.compare(scenario, named, given.seeds, jobs=given.jobs, series=interval, progress=bar)
    clock.stop()
    if given.out is not None:
        _write(given.out, comparison)
    picture.draw(lambda: getattr(comparison.plot, shape or FIGURES[0])())
    report(given.as_json, comparison.json, lambda: comparison_table(comparison))
    warn(comparison.warnings)
    clock.report(given.timing, list(comparison.results.values()), given.jobs or cores())


def _kinds(aqms: Sequence[str]) -> list[str]:
    """Returns the named kinds; "all" adds every other kind except `custom`, which the user has to put together."""
    named = [kind_named(aqm, "--aqm", _OWN) for aqm in aqms if aqm != "all"]
    every = [kind for kind in kinds() if kind != "custom"]
    return named + [kind for kind in every if "all" in aqms and kind not in named]


def _write(out: Path, comparison: Comparison) -> None:
    """Writes one folder per discipline, and the document with the differences."""
    for name, result in comparison.results.items():
        write_result(out / name, result)
    write(out / "comparison.json", comparison.json() + "\n")
