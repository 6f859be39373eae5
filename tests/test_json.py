"""`--json`: one document on the standard output and nothing else there, whatever anything prints."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import click
import pytest

import commands
import penstock as ps
from conftest import HOLLOT, SMALL, Command
from penstock.cli.app import COMMANDS, program

#: A discipline that talks, in its own process and by way of another.
LOUD = """\
import os
import subprocess

import penstock as ps

print("imported")


class Loud(ps.Aqm):
    def setup(self, link):
        subprocess.run(["echo", "from a child"])

    def arrive(self, now, packet, queue):
        if queue.pkts > 30:
            print("dropped")
            os.write(1, b"to the descriptor\\n")
            return ps.DROP
        return ps.PASS
"""
STATE = '[{"kind":"red","dev":"eth0","root":true,"options":{"limit":400000,"min":30000,"max":90000,"ewma":5,"Plog":20,\
"Scell_log":10}}]'
TUNED = SMALL + '\n[sweep]\n"traffic.0.flows" = [2, 6]\n'

#: Every command that takes `--json`, as it is called; several ways where its documents differ.
CALLS: dict[str, list[list[str]]] = {
    "compare": [["small.toml", "--aqm", "droptail", "--aqm", "red", "--seeds", "2"]],
    "config": [
        ["small.toml", "--to", "tc", "--seeds", "0"],
        ["state.json", "--from", "tc", "--rate", "10mbit"],
        ["small.toml", "--to", "tc", "--against", "state.json", "--rate", "10mbit"],
        ["--list"],
    ],
    "emulate": [["link.toml", "--", "echo", "from the program"]],
    "evaluate": [
        ["loud.py:Loud", "--quick", "--only", "unresponsive-alone", "--seeds", "2", "--out", "e", "--jobs", "2"],
        ["--list"],
    ],
    "list": [[], ["aqm"], ["aqm", "red"]],
    "probe": [["red"], ["small.toml"]],
    "reproduce": [["--only", "nred.fig1.profile", "--quick", "--seeds", "2", "--out", "r"], ["--list"]],
    "run": [["small.toml"], ["small.toml", "--seeds", "2", "--warm-up-check", "--out", "o"]],
    "show": [["s", "utilization"], ["s"]],
    "stability": [["hollot.toml"], ["hollot.toml", "--flows", "20:60"]],
    "tune": [["tuned.toml", "--aqm", "red", "--maximize", "utilization", "--runs", "60", "--seeds", "2", "--out", "t"]],
    "validate-real": [["small.toml", "--runs", "2", "--seeds", "2", "--duration", "3 s"]],
}
#: What a document says whose shape the page describes: its first keys.
SHAPES: dict[str, list[str]] = {
    "evaluate": ["version", "asked", "candidates", "scenarios", "seeds", "questions", "costs", "real"],
    "reproduce": ["version", "asked", "papers"],
    "stability": ["version", "scenario", "aqm", "axes", "points"],
    "tune": ["version", "asked", "aqm", "aims", "judge", "standing", "parameters"],
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, text in {
        "small.toml": SMALL,
        "tuned.toml": TUNED,
        "hollot.toml": HOLLOT,
        "state.json": STATE,
        "loud.py": LOUD,
        "link.toml": '[topology.bottleneck]\nrate = "10mbit"\ndelay = "5msec"\n',
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def options_of(name: str) -> set[str]:
    command = program.get_command(click.Context(program), name)
    assert command is not None
    parts = [command, *(command.commands.values() if isinstance(command, click.Group) else ())]
    return {opt for part in parts for param in part.params for opt in param.opts}


def one_document(text: str) -> Any:
    """The one document of a text, which has no infinity and no end but a line's."""

    def never(word: str) -> Any:
        raise ValueError(f"{word} is no JSON")

    found, end = json.JSONDecoder(parse_constant=never).raw_decode(text)
    assert text[end:] == "\n"
    return found


def test_every_command_with_json_is_tried_and_described() -> None:
    with_json = {name for name in COMMANDS if "--json" in options_of(name)}
    # A bridge and the kernel need devices: tests/test_bridge.py and test_kernel_bpf.py have some.
    assert with_json == {*CALLS, "bridge", "kernel"} == {*commands.DOCUMENTS}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [(name, call) for name, calls in CALLS.items() for call in calls],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_one_document_and_nothing_else(penstock: Command, place: Path, name: str, arguments: list[str]) -> None:
    if name == "show":
        assert penstock("sweep", "tuned.toml", "--seeds", 2, "--out", "s").returncode == 0
    end = arguments.index("--") if "--" in arguments else len(arguments)
    done = penstock(name, *arguments[:end], "--json", *arguments[end:])
    if name in ("emulate", "validate-real") and ("namespaces" in done.stderr or "iperf3" in done.stderr):
        pytest.skip(done.stderr)
    # A busy machine may have no valid run on real packets: then there is a document without cases.
    assert done.returncode == 0 or (name == "validate-real" and "valid" in done.stderr), done.stderr
    found = one_document(done.stdout)
    assert place.exists()
    if name != "list":  # its lists are no document
        assert found["version"] == ps.__version__
    if name in SHAPES and arguments != ["--list"]:
        assert list(found)[: len(SHAPES[name])] == SHAPES[name]
    if name == "emulate":
        assert "from the program" in done.stderr
    if name == "evaluate" and "loud.py:Loud" in arguments:
        assert {"imported", "from a child", "dropped", "to the descriptor"} <= set(done.stderr.splitlines())
    if name in SAYS:
        assert penstock(name, *arguments, "--json").stdout == done.stdout, "the same input, the same document"
    if name in SAYS and arguments != ["--list"]:
        SAYS[name](found, done.stdout, place)


def _a_tuning_s_document_is_its_file(found: Any, text: str, place: Path) -> None:
    assert (place / "t" / "statement.json").read_text(encoding="utf-8") == text
    assert [each["name"] for each in found["settings"]].count("tuned") == 3
    assert {each["where"] for each in found["settings"]} == {"range", "other_seeds", "held_out"}
    for each in found["settings"]:
        assert set(each["metrics"]["utilization"]) >= {"mean", "ci95", "n", "low", "high", "condition"}


def _a_claim_s_findings_have_their_intervals(found: Any, text: str, place: Path) -> None:
    (paper,) = found["papers"]
    findings = [each for claim in paper["claims"] for each in claim["findings"]]
    assert findings
    for each in findings:
        assert each["verdict"] in ("holds", "does not hold", "undecided", "cannot tell", "not judged")
        assert {"estimate", "low", "high", "n", "unit", "rule"} <= set(each)


def _a_loud_discipline_s_answers_are_whole(found: Any, text: str, place: Path) -> None:
    assert found["asked"]["disciplines"] == ["Loud"]
    answers = [each["answers"]["Loud"] for each in found["questions"]]
    assert answers
    assert all(each["answer"] in ("yes", "no", "undecided", "not asked") for each in answers)
    assert any(math.isfinite(each["value"]["mean"]) for each in answers if each["value"]["mean"] is not None)


#: What else holds of the documents of commands that judge.
SAYS = {
    "evaluate": _a_loud_discipline_s_answers_are_whole,
    "reproduce": _a_claim_s_findings_have_their_intervals,
    "tune": _a_tuning_s_document_is_its_file,
}
