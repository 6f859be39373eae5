"""Every example runs, alone, and prints what is in `examples/expected`. PENSTOCK_UPDATE=1 writes that again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, example],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    expected = example.parent / "expected" / f"{example.stem}.txt"
    if os.environ.get("PENSTOCK_UPDATE"):
        expected.write_text(done.stdout, encoding="utf-8")
    assert done.stdout == expected.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [], "an example leaves nothing behind"


def test_the_list_of_examples_names_all() -> None:
    listed = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert EXAMPLES
    assert [path.name for path in EXAMPLES if path.name not in listed] == []
