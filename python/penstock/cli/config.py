"""`penstock config`."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from penstock._files import write
from penstock._json import document
from penstock.cli import options
from penstock.cli.inputs import scenario_of
from penstock.cli.output import draw, say, tell, warn
from penstock.errors import ScenarioError
from penstock.model.scenario import not_empty, read_text
from penstock.operators import config as work
from penstock.operators.changes import text as changed
from penstock.operators.model import Place
from penstock.operators.platforms import PLATFORMS
from penstock.operators.show import difference_table, platforms_table, values_table
from penstock.operators.state import Given
from penstock.show.progress import Bar
from penstock.show.table import Table

#: `--exact` alone.
_EXACT = f"{100 * work.EXACT:g}%"


@options.command("config")
@click.argument("file", type=options.PATH, required=False)
@click.option("--to", metavar="PLATFORM", help="Write FILE's bottleneck for it; --list shows the platforms.")
@click.option(
    "--from",
    "from_",
    metavar="PLATFORM",
    help="Read FILE (-: standard input), a box's state (tc, sonic), as a scenario.",
)
@click.option(
    "--exact",
    metavar="[ERROR]",
    is_flag=False,
    flag_value=_EXACT,
    help=f"Refuse where a value is off by more, or anything is lost [alone: {_EXACT}].",
)
@click.option(
    "--against",
    type=options.PATH,
    metavar="FILE",
    help="Print what changes beside this state of the box.",
)
@click.option("--as", "variant", metavar="FORM", help="One of several forms: gred for red, cake for fq_codel.")
@click.option("--dev", metavar="NAME", help="The interface.")
@click.option("--shape", is_flag=True, help="tc: make the rate, too.")
@click.option(
    "--parent", metavar="CLASS", help="--from tc: the class of the queue, such as 1:12, where several differ."
)
@click.option("--rate", metavar="RATE", help="--from: the link's rate, where the state lacks it.")
@click.option("--rtt", metavar="TIME", help="--from: the round trip without queues.")
@click.option("--profile", metavar="NAME", help="--from sonic: which profile.")
@options.changes()
@options.seeds("Runs of both, wanted and rounded; 0: none.", 5, click.IntRange(0, 1_000_000))
@options.jobs
@click.option("--out", type=options.PATH, metavar="FILE", help="Write the configuration there.")
@options.as_json("the configuration and the report")
@click.option("--list", "only_list", is_flag=True, help="Show the platforms; write nothing.")
def command(
    file: Path | None,
    to: str | None,
    from_: str | None,
    exact: str | None,
    against: Path | None,
    variant: str | None,
    dev: str | None,
    shape: bool,
    parent: str | None,
    rate: str | None,
    rtt: str | None,
    profile: str | None,
    changes: tuple[str, ...],
    seeds: int,
    jobs: int | None,
    out: Path | None,
    as_json: bool,
    only_list: bool,
) -> None:
    """Write FILE's queue as a router takes it, or read one.

    The configuration or the scenario goes to the standard output or to --out; what the box will
    really use, what is lost, and what the rounding costs in a simulation go to the standard error.
    """
    if only_list and as_json:
        listed = [
            {"name": name, "doc": each.doc, "disciplines": list(each.kinds), "checked": each.checked}
            for name, each in PLATFORMS.items()
        ]
        say(document({"platforms": listed}))
        return
    if only_list:
        draw(platforms_table())
        return
    if file is None or (to is None) == (from_ is None):
        raise ScenarioError("needs FILE and either --to PLATFORM or --from PLATFORM; --list shows the platforms")
    _check_out(out)
    given = Given(dev=dev, parent=parent, profile=profile, rate=rate, rtt=rtt)
    if from_ is not None:
        _only_to({"--exact": exact, "--against": against, "--as": variant, "--set": changes, "--shape": shape})
        reading = work.read(_text(file), from_, given, _name(file))
        if as_json:
            _put(work.read_json(reading, from_) + "\n", out)
            return
        _put(reading.text, out)
        _lines("Lost:", reading.fate.sentences())
        _lines("Note:", reading.fate.notes)
        return
    if parent is not None:
        raise ScenarioError("--parent: goes with --from, not with --to")
    assert to is not None
    scenario = scenario_of(file, changes)
    if against is not None:
        if to not in work.READERS:
            raise ScenarioError(f"--against: the state of {to} is not read; that of {' and '.join(work.READERS)} is")
        place = Place(dev=dev, variant=variant, shape=shape)
        found = work.difference(_text(against), to, given, scenario, place, _name(against))
        _put(work.difference_json(found, to) + "\n" if as_json else changed(found), out)
        return
    most = None if exact is None else _share(exact)
    with Bar(scenario.name or file.name) as bar:
        done = work.config(
            scenario, to, dev=dev, variant=variant, shape=shape, exact=most, seeds=seeds, jobs=jobs, progress=bar
        )
    if done.comparison is not None:
        warn(done.comparison.warnings)
    if as_json:
        _put(done.json() + "\n", out)
        return
    _put(done.text, out)
    _tell(values_table(done))
    _lines("Lost:", done.written.lost)
    _lines("Note:", done.written.notes)
    if (table := difference_table(done)) is not None:
        _tell(table)


def _text(file: Path) -> str:
    """Returns a file's text, or the standard input's. Raises `ScenarioError`."""
    if str(file) != "-":
        return read_text(file)
    try:
        return not_empty(sys.stdin.buffer.read().decode(), _name(file))
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{_name(file)}: not UTF-8 text (byte {error.start})") from None


def _name(file: Path) -> str:
    return "standard input" if str(file) == "-" else str(file)


def _check_out(out: Path | None) -> None:
    """Refuses a file that could not be written afterwards; elsewhere `--out` is a folder."""
    if out is not None and out.is_dir():
        raise ScenarioError(f"--out {out}: is a folder, not a file")
    if out is not None and not out.parent.is_dir():
        raise ScenarioError(f"--out {out}: there is no folder {out.parent}")


def _only_to(given: dict[str, object]) -> None:
    for name, value in given.items():
        if value:
            raise ScenarioError(f"{name}: goes with --to, not with --from")


def _share(text: str) -> float:
    """Returns the error that is allowed, from `1%` or `0.01`."""
    number = text.removesuffix("%").strip()
    try:
        value = float(number) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise ScenarioError(f"--exact {text}: must be a share such as 1% or 0.01")
    return value


def _put(text: str, out: Path | None) -> None:
    if out is not None:
        write(out, text)
    elif text:
        say(text)
        sys.stdout.flush()  # before the report, where both go to one place


def _tell(table: Table) -> None:
    """Prints a table on the standard error."""
    draw(table, sys.stderr)


def _lines(head: str, sentences: Sequence[str]) -> None:
    for each in sentences:
        tell(f" {head} {each}.")
