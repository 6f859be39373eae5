"""The options that several commands take, each spelled once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class _Command(click.Command):
    """A command that refuses an option which takes one value and is given several times: Click takes the last."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the words behind the command's name."""
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        for option in self.params:
            one = isinstance(option, click.Option) and not (option.multiple or option.is_flag)
            if one and (times := given.count(option)) > 1:
                takers = "".join(f", penstock {name} several" for name in _takers(ctx, option))
                raise click.UsageError(f"{option.opts[0]} is given {times} times; {ctx.command_path} takes one{takers}")
        return super().parse_args(ctx, args)


def _takers(ctx: click.Context, option: click.Parameter) -> list[str]:
    """Returns the program's commands that take several values of an option."""
    program = ctx.find_root().command
    assert isinstance(program, click.Group)
    commands = [(name, program.get_command(ctx, name)) for name in program.list_commands(ctx)]
    return [
        name
        for name, command in commands
        for each in (command.params if command is not None else ())
        if each.multiple and each.opts == option.opts
    ]


class Commands(click.Group):
    """A command that has commands of its own."""

    command_class = _Command


def command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Makes a function a command."""
    return click.command(name, cls=_Command)


class Word(click.Choice):  # type: ignore[type-arg]  # not generic before click 8.2
    """One of several words; a wrong one is answered with the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Returns the word."""
        from penstock._names import nearest

        if value not in self.choices:
            near = nearest(str(value), map(str, self.choices))
            hint = f"; nearest: {near}" if near else ""
            self.fail(f"{str(value)!r} is none of {', '.join(map(str, self.choices))}{hint}", param, ctx)
        return str(value)


PATH = click.Path(path_type=Path)
#: The most runs of a scenario that a command takes.
SEEDS = click.IntRange(1, 1_000_000)

file = click.argument("file", type=click.Path())
folder = click.argument("folder", metavar="DIR", type=PATH)

jobs = click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Threads [default: one per core].")
timing = click.option("--timing", type=PATH, metavar="FILE", help="Write how long it took.")
rootless = click.option("--rootless", is_flag=True, help="Use a user namespace even as root.")
pcap = click.option("--pcap", type=PATH, metavar="FILE", help="Capture packets (of the first seed).")


links = click.option("--links", is_flag=True, help="Also print the metrics of each link, both directions of each.")

groups = click.option(
    "--groups", is_flag=True, help="Also print the metrics of each traffic group, delays and losses of its packets too."
)


def changes(text: str = "Change a key: aqm.min_th=7.") -> Callable[[F], F]:
    """Adds `--set KEY=VALUE`, any number of times."""
    return click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help=text)


def aqm(text: str = "The discipline, in place of the file's") -> Callable[[F], F]:
    """Adds `--aqm DISCIPLINE`."""
    said = f"{text}: red, red:min_th=20,max_th=60, or yours: my_aqm.py:Mine(limit=5)."
    return click.option("--aqm", metavar="DISCIPLINE", help=said)


def as_json(instead_of: str = "a table") -> Callable[[F], F]:
    """Adds `--json`."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print one JSON document instead of {instead_of}.")


def out(text: str, default: Path | None = None) -> Callable[[F], F]:
    """Adds `--out DIR`."""
    shown = default is not None
    return click.option("--out", type=PATH, metavar="DIR", default=default, show_default=shown, help=text)


def seeds(
    text: str = "Runs, one per seed.", default: int | None = 1, range_: click.IntRange = SEEDS
) -> Callable[[F], F]:
    """Adds `--seeds N`."""
    return click.option("--seeds", type=range_, default=default, metavar="N", help=text)


def series(text: str = "Sampling interval of the series that --out writes.") -> Callable[[F], F]:
    """Adds `--series TIME`."""
    return click.option("--series", metavar="TIME", help=text)


def figure(text: str = "Draw it: .svg, .png or .pdf.") -> Callable[[F], F]:
    """Adds `--figure FILE` and `--style FILE`."""
    drawn = click.option("--figure", type=PATH, metavar="FILE", help=text)
    styled = click.option("--style", metavar="FILE", help="Draw it by this style sheet of matplotlib, or one's name.")
    return lambda command: drawn(styled(command))


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """What a user says to `run` and `compare` alike."""

    file: str
    seeds: int
    changes: tuple[str, ...]
    as_json: bool
    out: Path | None
    series: str | None
    jobs: int | None
    timing: Path | None


def simulation(command: Callable[..., None]) -> Callable[..., None]:
    """Adds what `run` and `compare` share. The command gets it as one value, before its own options."""

    @wraps(command)
    def given(**values: Any) -> None:
        shared = {each.name: values.pop(each.name) for each in fields(Simulation)}
        command(Simulation(**shared), **values)

    shared = [
        file,
        seeds(),
        changes(),
        as_json(),
        out("Write results and series there."),
        series(),
        jobs,
        timing,
    ]
    for option in reversed(shared):
        given = option(given)
    return given
