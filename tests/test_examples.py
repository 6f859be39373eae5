"""Every example runs, alone, and prints what is in `examples/expected`. PENSTOCK_UPDATE=1 writes that again.

Those on real packets never measure the same twice: there every number is a #, and the words are compared.
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import penstock as ps
from conftest import ROOT, built
from helpers.real import needs_real_packets

EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))


#: On real packets.
REAL = ("07_bufferbloat", "08_own_program", "09_own_discipline_real")


#: It shows a minute of real time.
LONG = ("07_bufferbloat",)

MARKS = [*((stem, pytest.mark.alone) for stem in REAL), *((stem, pytest.mark.long) for stem in LONG)]


@pytest.mark.parametrize(
    "example",
    [pytest.param(each, id=each.stem, marks=[mark for stem, mark in MARKS if stem == each.stem]) for each in EXAMPLES],
)
def test_example(example: Path, tmp_path: Path) -> None:
    if example.stem in REAL:
        needs_real_packets()
    done = subprocess.run(
        [sys.executable, example],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    printed = re.sub(r" *[0-9][0-9.]*", " #", done.stdout) if example.stem in REAL else done.stdout
    expected = example.parent / "expected" / f"{example.stem}.txt"
    if os.environ.get("PENSTOCK_UPDATE"):
        expected.write_text(printed, encoding="utf-8")
    assert printed == expected.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [], "an example leaves nothing behind"


@pytest.mark.skipif(shutil.which("cargo") is None, reason="Rust is not installed")
def test_the_example_in_rust_decides_as_the_one_in_python() -> None:
    file = ROOT / "scenarios" / "load-rises.toml"
    done = subprocess.run([built("--bin", "rust-aqm"), str(file)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    scenario = ps.Scenario.load(file)
    own = runpy.run_path(str(ROOT / "examples/06_own_discipline.py"))["DelayTarget"](0.04)
    expected = ""
    for name, each in (("red", scenario), ("delay-target", scenario.with_aqm(own))):
        metrics = ps.run(each).runs[0].metrics
        expected += (
            f"{name:13}{metrics['departures']:6.0f} packets, {metrics['delay_mean_s'] * 1e3:.6f} ms in the queue\n"  # type: ignore[operator]
        )
    assert done.stdout == expected


def test_the_list_of_examples_names_all() -> None:
    listed = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert EXAMPLES
    assert [path.name for path in EXAMPLES if path.name not in listed] == []
