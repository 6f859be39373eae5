"""The same scenario, seed and version give the same bytes, whatever was built and however it runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, SCENARIOS, debug_build


@pytest.fixture(scope="module")
def document() -> Path:
    return debug_build("--example", "document")


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("*.toml")), ids=lambda file: file.stem)
def test_a_debug_build_gives_the_wheels_bytes(file: Path, document: Path) -> None:
    debug = subprocess.run([document, str(file), "2"], cwd=ROOT, capture_output=True, check=True)
    for jobs in ("1", "2"):
        wheel = [sys.executable, "-m", "penstock", "run", str(file), "--seeds", "2", "--json", "--jobs", jobs]
        release = subprocess.run(wheel, cwd=ROOT, capture_output=True, check=True)
        assert release.stdout.strip() == debug.stdout.strip(), f"{jobs} threads"
