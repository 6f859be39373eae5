"""The workflows for a public forge: their syntax, their jobs and scripts, and the targets that they call."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

yaml = pytest.importorskip("yaml")

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

needs_schema = pytest.mark.skipif(
    importlib.util.find_spec("check_jsonschema") is None, reason="no schema of workflows: pip install check-jsonschema"
)


def by_schema(path: Path) -> str:
    """What the schema of workflows, which comes with check-jsonschema, says against a file; else nothing."""
    line = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", f"{path}"]
    done = subprocess.run(line, capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else ""


def mistakes(text: str) -> list[str]:
    """What the schema does not see: jobs and steps that are not there, scripts that do not parse, targets."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    jobs: dict[str, dict[str, Any]] = yaml.safe_load(text)["jobs"]
    found = []
    for name, job in jobs.items():
        needed = job.get("needs", [])
        found += [
            f"{name} needs {each}" for each in ([needed] if isinstance(needed, str) else needed) if each not in jobs
        ]
        steps = {step["id"] for step in job["steps"] if "id" in step}
        named = set(re.findall(r"steps\.([\w-]+)\.", json.dumps(job)))
        found += [f"{name} reads step {each}" for each in sorted(named - steps)]
        for step in job["steps"]:
            if "uses" in step and not re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"]):
                found.append(f"{name} uses {step['uses']}")
            script = step.get("run", "")
            parsed = subprocess.run([shutil.which("bash") or "sh", "-n"], input=script, capture_output=True, text=True)
            if parsed.returncode:
                found.append(f"{name}: {parsed.stderr}")
            found += [
                f"{name} calls make {each}" for each in re.findall(r"make ([a-z-]+)", script) if each not in targets
            ]
    return found


def test_there_are_workflows() -> None:
    assert {path.name for path in WORKFLOWS} == {"ci.yml", "release.yml", "site.yml"}


@needs_schema
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_follows_the_schema(path: Path) -> None:
    assert by_schema(path) == ""


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_names_what_there_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert set(yaml.safe_load(text)) >= {"name", "jobs", "permissions"}
    assert re.search(r"run: .*make [a-z]", text)
    assert mistakes(text) == []


BROKEN = [
    ("runs-on: ubuntu-latest", "runs: ubuntu-latest"),
    ("timeout-minutes: 30", "timeout-minutes: long"),
    ("permissions: {contents: read}", "permissions: {contents: look}"),
    ("  pull_request:", "  pulled_request:"),
    ("      - run: make test", "      - ran: make test"),
    ("      - run: make test", "     - run: make test"),
]


@needs_schema
@pytest.mark.parametrize(("right", "wrong"), BROKEN)
def test_a_broken_workflow_is_refused_by_the_schema(right: str, wrong: str, tmp_path: Path) -> None:
    text = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    assert right in text
    broken = tmp_path / "ci.yml"
    broken.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    assert by_schema(broken) != ""


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("needs: build", "needs: built", "publish needs built"),
        ("steps.put.outputs", "steps.puts.outputs", "publish reads step puts"),
        ("make site", "make sites", "build calls make sites"),
        ("actions/checkout@v4", "actions/checkout", "build uses actions/checkout"),
        ("run: make site", "run: if make site", "build: "),
    ],
)
def test_what_is_not_there_is_found(right: str, wrong: str, said: str) -> None:
    text = (ROOT / ".github/workflows/site.yml").read_text(encoding="utf-8")
    assert right in text
    (only,) = mistakes(text.replace(right, wrong, 1))
    assert only.startswith(said)
