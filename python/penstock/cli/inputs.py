"""Reads what a user gave, and refuses it before anything runs if it cannot work."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from penstock.errors import ScenarioError
from penstock.model.discipline import discipline, parts
from penstock.model.scenario import Scenario, scenario_under, seconds
from penstock.runs.execute import auto_interval_s


def scenario_of(file: str | Path, changes: Sequence[str], aqm: str | None = None) -> Scenario:
    """Returns the scenario of a file with the changes of `--set`, under the discipline of `--aqm`."""
    return scenario_under(file, None if aqm is None else discipline(aqm, "--aqm"), assignments(changes, "--set"))


def name_of(scenario: Scenario, file: str) -> str:
    """Returns what a scenario's runs are called: its own name, or else its file's."""
    return scenario.name or Path(file).name


def assignments(changes: Sequence[str], option: str) -> dict[str, object]:
    """Returns key path → value, from an option's `KEY=VALUE`."""
    wanted: dict[str, object] = {}
    for change in changes:
        path, equals, value = change.partition("=")
        if not equals or not path.strip():
            raise ScenarioError(f"{option} {change}: must be KEY=VALUE, as in aqm.min_th=7")
        if path.strip() == "aqm.kind" and ".py:" in value:
            own = next(each.strip() for each in parts(value) if ".py:" in each)
            several = "penstock compare takes several"
            raise ScenarioError(f"{option} {change}: a class in a file is no kind; --aqm {own} is the way ({several})")
        wanted[path.strip()] = value.strip()
    return wanted


def values(text: object) -> list[object]:
    """Returns the values that stand between commas: numbers, `true` and `false`, and else words."""
    found: list[object] = []
    for each in parts(str(text)):
        try:
            found.append(json.loads(each))
        except ValueError:
            found.append(each.strip())
    return found


def series_interval(scenario: Scenario, series: str | None, out: Path | None) -> float | None:
    """Returns the sampling interval in seconds, or `None` if the series would not be written."""
    if out is None:
        if series is not None:
            raise ScenarioError("--series: needs --out DIR, where the series are written")
        return None
    if series is None:
        return auto_interval_s(scenario.duration_s)
    return seconds_of("--series", series)


def seconds_of(option: str, span: str) -> float:
    """Returns an option's span of time in seconds."""
    try:
        return seconds(span)
    except ScenarioError as error:
        raise ScenarioError(f"{option} {error}") from None


def check_writable(out: Path | None = None, **files: Path | None) -> None:
    """Refuses a folder or files that could not be written afterwards."""
    if out is not None and out.exists() and not out.is_dir():
        raise ScenarioError(f"--out {out}: is a file, not a folder")
    for option, path in files.items():
        if path is None:
            continue
        if path.is_dir():
            raise ScenarioError(f"--{option} {path}: is a folder, not a file")
        if not path.parent.is_dir():
            raise ScenarioError(f"--{option} {path}: there is no folder {path.parent}")
