"""Eighty columns: every table of every command, on a terminal, on input that is awkwardly wide."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

import penstock as ps
from conftest import HOLLOT, SMALL
from penstock.cli.app import COMMANDS
from penstock.show.table import Table

#: Long names, many digits, many disciplines.
LONG = "a-very-long-name-of-a-scenario-that-nobody-would-abbreviate"
WIDE = SMALL.replace('name = "small"', f'name = "{LONG}"').replace("flows = 3", f'name = "{LONG}"\nflows = 3')
SWEPT = (
    WIDE
    + """
[sweep]
"topology.bottleneck.delay" = ["5 ms", "123.456789 ms"]
"traffic.0.flows" = [2, 6]
"aqm.max_p" = [0.1, 0.123456789]
"topology.access.delay" = [{ uniform = ["2 ms", "4 ms"] }, { spread = ["1.23456 ms", "4.56789 ms"] }]
"""
)
RANGE = SMALL + '\n[sweep]\n"traffic.0.flows" = [2, 6]\n"topology.bottleneck.delay" = ["5 ms", "40 ms"]\n'
SLOPES = (
    'name = "%s"\n'
    + HOLLOT.replace('"20 s"', '"5 s"')
    + """
[sweep]
"aqm.max_p" = [0.1, 0.0123456789]
"topology.bottleneck.buffer" = ["800 packets", "1234567 packets"]
"""
)

#: How each command is called that draws a table; the others say why they draw none.
CALLS: dict[str, list[list[str]]] = {
    "compare": [
        [
            "wide.toml",
            "--aqm",
            "droptail",
            "--aqm",
            "feng-ared",
            "--aqm",
            "pdt-red",
            "--aqm",
            "fq-codel",
            "--seeds",
            "2",
        ],
        ["wide.toml", "--aqm", "all", "--seeds", "2"],
    ],
    "config": [["wide.toml", "--to", "tc", "--seeds", "2"], ["--list"]],
    "emulate": [["link.toml", "--", "true"]],
    "evaluate": [
        ["red", "pie", "codel", "--quick", "--only", "unresponsive-alone", "--seeds", "2", "--out", "e"],
        ["--list"],
    ],
    "list": [[], ["aqm"], ["tcp"], ["traffic"], ["topology"], ["metrics"], ["aqm", "custom"], ["aqm", "red"]],
    "probe": [["red"], ["mecn"]],
    "reproduce": [["--only", "nred.fig1.profile", "--quick", "--out", "r"], ["--list"]],
    "run": [["wide.toml"], ["wide.toml", "--seeds", "3"]],
    "show": [
        ["s"],
        ["s", "delay_p99_s", "--ci", "bootstrap"],
        ["s", "utilization", "--against", "aqm.max_p=0.1"],
        ["s", "delay_variation_s", "--over", "topology.access.delay"],
    ],
    "stability": [["hollot.toml"], ["hollot.toml", "--simulate", "--seeds", "2"]],
    "tune": [
        [
            *("range.toml", "--aqm", "red", "--maximize", "utilization", "--minimize", "delay_variation_s"),
            *("--goal", "delay_p99_s < 500 ms", "--runs", "60", "--seeds", "2", "--out", "t"),
        ]
    ],
}
NO_TABLE = {
    "bridge": "needs two interfaces; its table is that of emulate",
    "export": "writes CSV",
    "init": "writes a file",
    "kernel": "needs a device to spare; tests/test_kernel_bpf.py makes one where it can",
    "schema": "prints a schema",
    "sweep": "prints a line",
    "validate": "writes a report, in minutes",
    "validate-real": "needs minutes of real packets; its tables are drawn by the same class",
}


def on_a_terminal(folder: Path, *arguments: str) -> list[str]:
    """The lines that a command shows on a terminal of 80 columns."""
    lead, end = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "LINES": "50", "TERM": "xterm", "NO_COLOR": "1"}
    words = [sys.executable, "-m", "penstock", *arguments]
    # The tables of `config` are beside its result; elsewhere there is the bar.
    beside = end if arguments[0] == "config" else subprocess.DEVNULL
    process = subprocess.Popen(words, cwd=folder, stdin=end, stdout=end, stderr=beside, env=environment)
    os.close(end)
    text = b""
    while True:
        try:
            read = os.read(lead, 65536)
        except OSError:  # the terminal is gone with the last who had it
            break
        if not read:
            break
        text += read
    os.close(lead)
    code = process.wait()
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.decode()).replace("\r\n", "\n")
    if code == 1 and "namespaces" in shown:
        pytest.skip(shown)
    assert code == 0, shown
    return shown.split("\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("terminal")
    for name, text in {
        "wide.toml": WIDE,
        "range.toml": RANGE,
        "hollot.toml": SLOPES % LONG,
        "link.toml": f'name = "{LONG}"\n[topology.bottleneck]\nrate = "10mbit"\ndelay = "5msec"\n',
    }.items():
        (place / name).write_text(text, encoding="utf-8")
    swept = ps.Scenario.from_toml(SWEPT)
    ps.sweep(swept, seeds=2, out=place / "s")
    return place


def test_every_command_is_tried_or_has_no_table() -> None:
    assert {*CALLS, *NO_TABLE} == set(COMMANDS)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [(name, call) for name, calls in CALLS.items() for call in calls],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_nothing_is_wider_or_cut(folder: Path, name: str, arguments: list[str]) -> None:
    lines = on_a_terminal(folder, name, *arguments)
    rules = [line for line in lines if set(line.strip()) == {"─"}]
    assert rules, "a table was drawn"
    # What is no table may be longer: a terminal folds a sentence.
    tables = _tables(lines)
    assert [line for line in tables if len(line) > 80] == []
    # Nothing of ours ends in an ellipsis but the sequence 1…1/p_b of a gate, and the profiles of a range.
    assert [line for line in tables if re.search(r"[A-Za-z_0-9]… |…$", line)] == []
    # A number in a column of numbers is not folded: it stands on one line with its interval.
    if name in ("compare", "config", "run", "show", "stability", "tune"):
        assert [line for line in tables if re.search(r"±(?! [0-9]| 95 %)|(?<![0-9]) ±(?! 95 %)", line)] == []


def _tables(lines: list[str]) -> list[str]:
    """The lines of tables: from the header above each rule to the next empty line."""
    found: list[str] = []
    for i, line in enumerate(lines):
        if set(line.strip()) == {"─"}:
            start = i
            while start and lines[start - 1].strip():
                start -= 1
            end = i
            while end < len(lines) and lines[end].strip():
                end += 1
            found += lines[start:end]
    return found


def test_a_header_longer_than_the_terminal_is_folded_and_no_letter_is_lost() -> None:
    from io import StringIO

    from rich.console import Console

    table = Table("title")
    words = ["m" * 100, "n" * 90, "o" * 85]
    for i, word in enumerate(words):
        table.add_column(word, justify="right" if i else "left")
    table.add_row(*(word.upper() for word in words))
    file = StringIO()
    Console(file=file, width=80, highlight=False).print(table)
    shown = file.getvalue()
    assert max(map(len, shown.splitlines())) <= 80
    for word in words[1:]:
        assert shown.count(word[0]) == len(word)
        assert shown.count(word[0].upper()) == len(word)
    assert "…" not in shown
