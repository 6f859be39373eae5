"""The same scenario, seed and version give the same bytes, whatever was built and however it runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, SCENARIOS


@pytest.fixture(scope="module")
def debug_build() -> Path:
    """Of the whole workspace, as `cargo test` made it before: nothing is compiled again."""
    line = ["cargo", "build", "--quiet", "--workspace", "--example", "document", "--message-format", "json"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(done.stderr)
    made = [json.loads(text).get("executable") for text in done.stdout.splitlines()]
    return Path(next(path for path in made if path))


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("*.toml")), ids=lambda file: file.stem)
def test_a_debug_build_gives_the_wheels_bytes(file: Path, debug_build: Path) -> None:
    debug = subprocess.run([debug_build, str(file), "2"], cwd=ROOT, capture_output=True, check=True)
    for jobs in ("1", "2"):
        wheel = [sys.executable, "-m", "penstock", "run", str(file), "--seeds", "2", "--json", "--jobs", jobs]
        release = subprocess.run(wheel, cwd=ROOT, capture_output=True, check=True)
        assert release.stdout.strip() == debug.stdout.strip(), f"{jobs} threads"
