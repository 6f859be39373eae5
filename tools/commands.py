"""Writes what is made from the command line's own declarations: `docs/commands.md`, the man page,
and the completions for bash, zsh and fish that the wheel installs.

`make generate` does it; a test fails while one is stale.
"""

from __future__ import annotations

import re
from pathlib import Path

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from penstock import _penstock
from penstock.cli.app import COMMANDS, program

NOTE = "Made by `tools/commands.py` from the command line itself; `make generate` writes it again."

#: The folder that the wheel unpacks into the environment: `share/...`.
SHARE = Path("packaging/wheel.data/data/share")

COMPLETIONS: dict[str, type[ShellComplete]] = {
    "bash-completion/completions/penstock": BashComplete,
    "zsh/site-functions/_penstock": ZshComplete,
    "fish/vendor_completions.d/penstock.fish": FishComplete,
}

EXITS = (
    ("0", "Done."),
    ("1", "A run failed, or the machine did (a full disk)."),
    ("2", "The input was wrong. One message says where; nothing was run or written."),
    ("130", "Ctrl-C."),
    ("141", "Who read the output went away: `| head`."),
    (
        "other",
        "`emulate` with a program: the program's own status, 128 + n where signal n ended it.",
    ),
)

#: What `--json` prints: command → its document.
DOCUMENTS = {
    "bridge": "A document of `run`, and `emulation`, as of `emulate`.",
    "compare": "`version`, `baseline`, `compared` (discipline → a document of `run`), `difference` "
    "(discipline → metric → an estimate of the differences, paired by seed).",
    "config": "`version`, `platform`, `text`. With --to also `values` (each as wanted and as "
    "used), `lost`, `notes`, `box`, and what the rounding does in a simulation. With --from "
    "also `carried`, `lost`, `statistics`, `notes`. With --against `changes` instead of "
    "`text`. With --list `platforms`.",
    "emulate": "A document of `run`, and `emulation`: how late packets were, whether the run "
    "is valid, the program's exit code.",
    "evaluate": "`version`, `asked` (disciplines and options), `candidates`, `scenarios`, "
    "`seeds`, `questions` (each with its section, rule, unit and `best`, and of each "
    "candidate `answer`, `value` and `minus_droptail`, which are estimates in that unit, and "
    "`differs_from_droptail`), `costs` (null for a discipline of one's own, which is timed at "
    "every call), `real`. With --list `scenarios`.",
    "kernel": "`version`, `device`, `kind`, `values` (of `show`: the discipline's variables, the "
    "queue, the counts), `parameters` (each as wanted and as used), `lost`, `scenario`.",
    "list": "The lists, or one list, or one entry of it.",
    "probe": "`version`, `aqm`, `queue` or `load` (the points), `shares` (of each time the share "
    "of packets for each level).",
    "reproduce": "`version`, `asked` (seeds and readings), `papers` (each with its `claims`, "
    "and of each claim the paper's number and its `findings`: reading, verdict, estimate, "
    "low, high, n, unit, rule, points). The intervals are of 99 %. With --list there are no "
    "findings.",
    "run": "`scenario` (every key with its value in force), `version`, `runs` (each with "
    "seed, metrics, groups, links, flows), `summary` (metric → estimate), `identical`, and "
    "`warnings` where there are some.",
    "show": "`version`, `axes`, `metrics`, `pooled`, `runs`, `ci`, `identical`, `rows` (each with "
    "`at` and `values`), and `against` where it was given.",
    "stability": "`version`, `scenario`, `aqm`, `axes`, `points` (each with its balance and "
    "margins, or `why` it has none, and with --simulate `simulated`).",
    "tune": "What `statement.json` holds: `version`, `asked` (goals and options), `aqm`, "
    "`aims`, `judge`, `standing`, `parameters`, `range`, `other_seeds`, `held_out`, "
    "`settings` (of each setting its values, standing and metrics, which are estimates with "
    "the `condition` that decides), `sensitivity`, `front`, `conditions`, `seeds`, `runs`, "
    "`identical`, `statement` (its sentences).",
    "validate-real": "`version`, `cases` (of each FILE both sides' numbers by metric, and "
    "whether they agree).",
}
DOCUMENTS_HEAD = (
    "With `--json` the standard output is one JSON document and nothing else, whatever a",
    "program, a worker process or a discipline of one's own prints: that goes to the standard",
    "error. The same input gives the same document, byte for byte (`emulate` takes real time,",
    "and does not). Numbers have the unit that the key's name ends in, and what has no value is",
    "null. An estimate is `mean`, `ci95` (the half-width of its 95 % interval), `n` (the runs",
    "in it), `low` and `high`.",
)


def commands() -> dict[str, tuple[click.Command, click.Context]]:
    """Returns every command, and each word of those that have some, with a context."""
    top = click.Context(program, info_name="penstock", **program.context_settings)
    found = {}
    for name in COMMANDS:
        each = program.get_command(top, name)
        assert each is not None
        found[name] = (each, click.Context(each, info_name=name, parent=top))
        if isinstance(each, click.Group):
            for word, part in each.commands.items():
                context = click.Context(part, info_name=word, parent=found[name][1])
                found[f"{name} {word}"] = (part, context)
    return found


def paragraphs(command: click.Command) -> list[str]:
    """Returns what a command's help says, a string for each paragraph."""
    text = (command.help or "").replace("\b\n", "")
    return [" ".join(each.split()) for each in re.split(r"\n\s*\n", text) if each.strip()]


def usage(command: click.Command, context: click.Context) -> str:
    """Returns `penstock run [OPTIONS] FILE`."""
    return " ".join([context.command_path, *command.collect_usage_pieces(context)])


def options(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    """Returns each option as it is written, and what it does."""
    asked = (each for each in command.get_params(context) if isinstance(each, click.Option))
    rows = (each.get_help_record(context) for each in asked)
    return [(row[0], " ".join(row[1].split())) for row in rows if row]


def markdown() -> str:
    """Returns the text of `docs/commands.md`."""
    lines = [
        "# Commands",
        "",
        NOTE,
        "",
        *(f"- [{name}](#{name}): {COMMANDS[name]}" for name in COMMANDS),
        "",
    ]
    for name, (command, context) in commands().items():
        lines += [f"## {name}", "", f"`{usage(command, context)}`", ""]
        for each in paragraphs(command):
            lines += [each, ""]
        lines += ["| option | |", "| --- | --- |"]
        lines += [
            f"| `{_cell(names)}` | {_cell(what)} |" for names, what in options(command, context)
        ]
        lines.append("")
    lines += ["## Documents", "", *DOCUMENTS_HEAD, "", "| command | document |", "| --- | --- |"]
    lines += [f"| {name} | {_cell(what)} |" for name, what in DOCUMENTS.items()]
    lines += ["", "## Exit status", "", "| status | |", "| --- | --- |"]
    lines += [f"| {code} | {what} |" for code, what in EXITS]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def man() -> str:
    """Returns the man page `penstock.1`."""
    first = "active queue management: simulate, compare, emulate"
    lines = [
        f'.TH PENSTOCK 1 "" "penstock {_penstock.__version__}" "User Commands"',
        ".SH NAME", f"penstock \\- {first}",
        ".SH SYNOPSIS", ".B penstock", r"\fICOMMAND\fR [\fIOPTIONS\fR] ...",
        ".SH DESCRIPTION",
    ]  # fmt: skip
    for each in paragraphs(program):
        lines += [_troff(each), ".PP"]
    lines.append(".SH COMMANDS")
    for command, context in commands().values():
        lines += [f".SS {_troff(usage(command, context))}"]
        for each in paragraphs(command):
            lines += [_troff(each), ".PP"]
        for names, what in options(command, context):
            lines += [".TP", f".B {_troff(names)}", _troff(what)]
    lines.append(".SH EXIT STATUS")
    for code, what in EXITS:
        lines += [".TP", f".B {code}", _troff(what)]
    return "\n".join(lines) + "\n"


def _troff(text: str) -> str:
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("`", "")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def files() -> dict[Path, str]:
    """Returns every file that is made here, by its path in the repository."""
    made = {
        Path("docs/commands.md"): markdown(),
        SHARE / "man/man1/penstock.1": man(),
    }
    for path, shell in COMPLETIONS.items():
        # Their `source` asks the shell of this machine for its version; the text is the same.
        maker = shell(program, {}, "penstock", "_PENSTOCK_COMPLETE")
        made[SHARE / path] = maker.source_template % maker.source_vars()
    return made


def write(root: Path) -> None:
    """Writes every file."""
    for path, text in files().items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
