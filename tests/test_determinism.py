"""The same scenario, seed and version give the same bytes, whatever program runs them, on however many threads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, SCENARIOS, built


@pytest.fixture(scope="module")
def document() -> Path:
    return built("--example", "document")


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("*.toml")), ids=lambda file: file.stem)
def test_a_program_in_rust_gives_the_commands_bytes(file: Path, document: Path) -> None:
    own = subprocess.run([document, str(file), "2"], cwd=ROOT, capture_output=True, check=True)
    for jobs in ("1", "2"):
        line = [sys.executable, "-m", "penstock", "run", str(file), "--seeds", "2", "--json", "--jobs", jobs]
        command = subprocess.run(line, cwd=ROOT, capture_output=True, check=True)
        assert command.stdout.strip() == own.stdout.strip(), f"{jobs} threads"
