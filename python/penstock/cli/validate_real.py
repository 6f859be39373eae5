"""`penstock validate-real`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import click

from penstock._files import write
from penstock.cli import options
from penstock.cli.inputs import assignments, check_writable, scenario_of, seconds_of
from penstock.cli.output import EXIT_FAILED, alone, draw, fail, say, write_result
from penstock.cli.picture import Picture
from penstock.emulation import Emulated
from penstock.errors import ScenarioError
from penstock.model.scenario import Scenario
from penstock.runs.series_files import write_series
from penstock.show.progress import Bar
from penstock.show.style import save
from penstock.validate.real import compare as real
from penstock.validate.real.figure import draw as figure_of
from penstock.validate.real.summary import document, markdown, pairs_csv
from penstock.validate.real.tables import agreement_table, agreements_table

#: Below two runs there is no interval.
AT_LEAST_TWO = click.IntRange(min=2)


@options.command("validate-real")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=options.PATH)
@click.option("--runs", type=AT_LEAST_TWO, default=3, show_default=True, help="Real runs, one per seed.")
@click.option("--seeds", type=AT_LEAST_TWO, default=20, show_default=True, help="Simulated runs.")
@click.option("--duration", metavar="TIME", help="In place of the file's.")
@options.aqm("The discipline on both sides, in place of the file's")
@options.changes("Change a key on both sides: aqm.min_th=7.")
@click.option(
    "--set-simulated",
    "simulated",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key on the simulator's side alone: traffic.0.delayed_ack=false.",
)
@click.option(
    "--real",
    "stored",
    type=options.PATH,
    metavar="DIR",
    help="Measure nothing: the real runs are those that --out DIR kept before, or penstock emulate --out "
    "DIR/NAME/real/SEED.",
)
@options.as_json("tables")
@options.out(
    "Write the document, a figure and both sides' runs into DIR/NAME for each FILE NAME.toml, summary.md, pairs.csv."
)
@options.figure()
@options.rootless
def command(
    files: tuple[Path, ...],
    runs: int,
    seeds: int,
    duration: str | None,
    aqm: str | None,
    changes: tuple[str, ...],
    simulated: tuple[str, ...],
    stored: Path | None,
    as_json: bool,
    out: Path | None,
    figure: Path | None,
    style: str | None,
    rootless: bool,
) -> int:
    """Compare the simulator with real packets, by metric.

    Runs the scenario in each FILE on both sides under profile = "linux", and says metric by metric whether they agree.
    Only valid real runs count: others are repeated, and reported. Each real run takes the scenario's duration.
    """
    if duration is not None:
        seconds_of("--duration", duration)
    changes = changes if duration is None else (*changes, f"duration={duration}")
    task = _Task(
        _scenarios(files, changes, aqm), runs, seeds, assignments(simulated, "--set-simulated"), rootless, stored, out
    )
    for scenario in task.scenarios.values():
        scenario.set_all(task.simulated)  # a key that does not exist is reported before anything runs
    check_writable(out=out)
    picture = Picture(figure, style)
    if figure is not None and len(files) > 1:
        raise ScenarioError("--figure: one FILE; --out DIR draws a figure for each of several")
    with alone(as_json):
        task.run(as_json)
    if task.done:
        picture.draw(lambda: figure_of(task.done[0]))
    if as_json:
        say(document(task.done))
    elif len(task.done) > 1:
        draw(agreements_table(task.done))
    return task.failed


@dataclass
class _Task:
    """Scenarios by the names of their files, and what has been found out about them."""

    scenarios: Mapping[str, Scenario]
    runs: int
    seeds: int
    simulated: Mapping[str, object]
    rootless: bool
    stored: Path | None
    out: Path | None
    done: list[real.Agreement] = field(default_factory=list)
    failed: int = 0

    def run(self, as_json: bool) -> None:
        """Runs one scenario after the other. Writes and shows each as soon as it is finished."""
        with Bar("validate-real") as bar:
            for name, scenario in self.scenarios.items():
                agreement = self._one(name, scenario, bar)
                if agreement is None:
                    continue
                self.done.append(agreement)
                if self.out is not None:
                    _write(self.out / name, agreement)
                    write(self.out / "summary.md", markdown(self.done))
                    write(self.out / "pairs.csv", pairs_csv(self.done))
                if not as_json:
                    draw(agreement_table(agreement))

    def _one(self, name: str, scenario: Scenario, bar: Bar) -> real.Agreement | None:
        """Returns how the two agree; `None` if too few real runs were valid, for the other scenarios may do better."""

        def progress(fraction: float, what: str) -> None:
            bar.show((len(self.done) + fraction) / len(self.scenarios), scenario.name or name, what)

        def keep(run: Emulated) -> None:
            if self.out is not None:
                write_result(self.out / name / "real" / str(run.runs[0].seed), run)

        try:
            return real.validate(
                scenario,
                self.runs,
                self.seeds,
                simulated=self.simulated,
                rootless=self.rootless,
                stored=None if self.stored is None else self.stored / name / "real",
                keep=keep,
                progress=progress,
            )
        except real.TooFewValidError as error:
            self.failed = fail(str(error), EXIT_FAILED)
            return None


def _scenarios(files: tuple[Path, ...], changes: tuple[str, ...], aqm: str | None) -> dict[str, Scenario]:
    """Returns the scenarios by the names of their files."""
    scenarios: dict[str, Scenario] = {}
    for file in files:
        if file.stem in scenarios:
            raise ScenarioError(f"{file}: another FILE is called {file.stem}, too; results go by that name")
        scenarios[file.stem] = scenario_of(file, changes, aqm)
    return scenarios


def _write(out: Path, agreement: real.Agreement) -> None:
    """Writes the comparison into a folder, which has the real runs already."""
    write_series(out / "simulated", agreement.simulated)
    save(figure_of(agreement), str(out / "figure.svg"))
    write(out / "document.json", document([agreement]) + "\n")
