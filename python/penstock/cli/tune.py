"""`penstock tune`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from penstock.cli import options
from penstock.cli.inputs import assignments, check_writable
from penstock.cli.output import EXIT_FAILED, EXIT_INTERRUPTED, alone, draw, fail, say, warn
from penstock.show.progress import Bar
from penstock.sweeps import store
from penstock.sweeps.drive import FailFastError, Sweep
from penstock.tuning.tables import front_table, parameters_table, settings_table
from penstock.tuning.tune import RUNS, SEEDS, tune

AT_LEAST_TWO = click.IntRange(2, 10_000)


@options.command("tune")
@options.file
@click.option(
    "--aqm",
    required=True,
    metavar="DISCIPLINE",
    help="The discipline: red, codel … or yours, my_aqm.py:Mine. What is said of it stays: red:w_q=0.002.",
)
@click.option("--goal", "goals", multiple=True, metavar='"METRIC < BOUND"', help='To be kept: "delay_p99_s < 20 ms".')
@click.option("--maximize", multiple=True, metavar="METRIC", help="To be high; several objectives: a Pareto front.")
@click.option("--minimize", multiple=True, metavar="METRIC", help="To be low.")
@click.option(
    "--judge",
    default="worst",
    show_default=True,
    metavar="WORD",
    help="What counts over the range: worst, mean, or a quantile of the conditions such as q90.",
)
@click.option(
    "--vary",
    multiple=True,
    metavar="KEY[=LOW..HIGH]",
    help="Search this key, not the usual ones; give it repeatedly: aqm.max_p=0.01..0.5.",
)
@click.option("--fix", multiple=True, metavar="KEY=VALUE", help="Leave a key at a value: aqm.w_q=0.002.")
@options.changes()
@click.option(
    "--runs", type=click.IntRange(min=1), metavar="N", help=f"Runs of the search [{RUNS}]; the statement takes more."
)
@click.option("--time", metavar="TIME", help="End the search by the clock instead: 5min. It does not repeat then.")
@options.seeds("Seeds of the statement, under each condition.", SEEDS, AT_LEAST_TWO)
@options.out("Write the page and keep the runs there; what is there is not run again.", Path("out/tune"))
@options.jobs
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="A Dask scheduler whose workers run them: tcp://head:8786 or tls://head:8786.",
)
@options.as_json("tables")
def command(file: str, fix: tuple[str, ...], changes: tuple[str, ...], out: Path, as_json: bool, **wanted: Any) -> int:
    """Find a discipline's parameters for a range of conditions.

    The points of FILE's [sweep] are the range. DIR/index.html states what was found, how it stands
    beside the defaults and DropTail, and how it does on conditions and seeds that the search has
    not seen; DIR/tuned.toml is the scenario with the parameters. Killed at any moment, the same
    command goes on.
    """
    check_writable(out=out)
    fixed, changed = assignments(fix, "--fix"), assignments(changes, "--set")
    try:
        with alone(as_json), Bar("tuning") as bar:
            done = tune(file, fix=fixed, set=changed, out=out, progress=lambda now: _advance(bar, now), **wanted)
    except KeyboardInterrupt:
        return fail(f"interrupted; finished runs are kept in {out}: the same command goes on", EXIT_INTERRUPTED)
    except FailFastError as error:
        return fail(str(error), EXIT_FAILED)
    warn(store.warnings(out))
    if as_json:
        say(done.json())
        return 0
    draw(settings_table(done))
    draw(parameters_table(done))
    if len(done.statement.finals.front) > 1:
        draw(front_table(done))
    for sentence in done.statement.sentences():
        say(sentence)
    say(f"{done.page}, {out / 'tuned.toml'}")
    return 0


def _advance(bar: Bar, now: Sweep) -> None:
    bar.show(min(1.0, now.ran / max(1, now.runs)), "tuning", f"{now.ran}/{now.runs} runs")
