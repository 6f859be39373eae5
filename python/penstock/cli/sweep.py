"""`penstock sweep`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from penstock.cli import options
from penstock.cli.inputs import assignments, check_writable, scenario_of, series_interval, values
from penstock.cli.output import EXIT_FAILED, EXIT_INTERRUPTED, fail, say, tell, warn
from penstock.errors import ScenarioError
from penstock.model.scenario import Scenario
from penstock.show.progress import Bar
from penstock.sweeps import drive, store, warm_up
from penstock.sweeps.sweep import sweep


@options.command("sweep")
@click.argument("file", type=options.PATH, required=False)
@options.aqm()
@click.option(
    "--vary", multiple=True, metavar="KEY=VALUE,…", help="One more axis: aqm.limit=5,10,20; give it repeatedly."
)
@options.seeds("Runs of every point [default: the file's].", None)
@options.changes()
@options.out("Keep the runs there; what is there is not run again.", Path("out/sweep"))
@options.jobs
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="A Dask scheduler whose workers run them: tcp://head:8786 or tls://head:8786.",
)
@click.option(
    "--until",
    metavar='"METRIC ±WIDTH"',
    help='More seeds for each point until its interval is so narrow: "utilization ±0.5%"; at most --seeds [1000].',
)
@click.option("--flows", is_flag=True, help="Keep the metrics of each flow, too, in DIR/flows.")
@options.series("Keep series sampled at this interval, too, in DIR/series.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first run that fails.")
@click.option(
    "--patience",
    metavar="TIME",
    help="With --scheduler: how long nothing may come back before lost runs are sent again, or the sweep ends [300 s].",
)
@click.option("--verify", is_flag=True, help="Run nothing: read all that DIR holds, and name damaged files.")
@click.option("--no-warm-up-check", is_flag=True, help="Do not look whether the measured window starts too early.")
def command(
    file: Path | None,
    aqm: str | None,
    vary: tuple[str, ...],
    changes: tuple[str, ...],
    out: Path,
    jobs: int | None,
    series: str | None,
    verify: bool,
    no_warm_up_check: bool,
    **asked: Any,
) -> int:
    """Run every point of FILE's [sweep] with every seed.

    A [[variant]] of FILE is one more axis, and so is --vary. DIR/runs holds Parquet files, one row per run. Killed at
    any moment, the same command goes on; with more values or seeds it runs only what is new. `penstock sweep --verify
    --out DIR` checks the files in DIR.
    """
    if verify:
        return _verify(out)
    if file is None:
        raise click.UsageError("Missing argument 'FILE'.")
    axes = {f"sweep.{path}": values(text) for path, text in assignments(vary, "--vary").items()}
    scenario = scenario_of(file, changes, aqm)
    scenario = _varied(scenario, axes) if axes else scenario
    interval_s = None if series is None else series_interval(scenario, series, out)
    check_writable(out=out)
    try:
        with Bar(scenario.name or file.name) as bar:
            done = sweep(
                scenario,
                out=out,
                jobs=jobs,
                series=interval_s,
                progress=lambda now: _advance(bar, scenario.name or file.name, now),
                failure=lambda what: tell(f"run {what.key}, seed {what.seed}: {what.error}"),
                **asked,
            )
    except KeyboardInterrupt:
        return fail(f"interrupted; finished runs are kept in {out}: the same command goes on", EXIT_INTERRUPTED)
    except drive.FailFastError as error:
        return fail(str(error), EXIT_FAILED)
    _summarize(done, out)
    if done.ran and not no_warm_up_check:
        _check_warm_up(scenario, jobs)
    return EXIT_FAILED if done.failed else 0


def _varied(scenario: Scenario, axes: Mapping[str, object]) -> Scenario:
    """Returns the scenario with the axes of `--vary`; a message about them begins with that option."""
    try:
        return scenario.set_all(axes)
    except ScenarioError as error:
        raise ScenarioError(f"--vary: {error}") from None


def _verify(folder: Path) -> int:
    """Checks a sweep's folder."""
    damages = store.verify(folder)
    files = sum(len(store.parts(folder, table)) for table in store.TABLES)
    if not damages:
        say(f"{folder}: {files} of {files} Parquet files are as they were written")
        return 0
    listed = "; ".join(f"{each.path.relative_to(folder)}: {each.why}" for each in damages)
    return fail(
        f"{folder}: damaged: {listed}; the next sweep into {folder} sets damaged files aside and does their runs again",
        EXIT_FAILED,
    )


def _advance(bar: Bar, label: str, now: drive.Sweep) -> None:
    rate = f"{now.ran / now.elapsed_s:.1f}/s" if now.elapsed_s > 0 else ""
    failed = f", {now.failed} failed" if now.failed else ""
    bar.show(now.done / max(1, now.runs), label, f"{now.done}/{now.runs} runs {rate}{failed}")


def _summarize(done: drive.Sweep, out: Path) -> None:
    failed = f", {done.failed} failed" if done.failed else ""
    wide = f"; {done.wide} points are not that narrow after the most seeds" if done.wide else ""
    say(f"{done.runs} runs in {out}: {done.ran} new, {done.kept} kept{failed}{wide}")
    warn(done.warnings)


def _check_warm_up(scenario: Scenario, jobs: int | None) -> None:
    for line in warm_up.check_points(scenario, jobs):
        tell(line)
