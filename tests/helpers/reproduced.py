"""What the tests of the papers' modules share."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock import Scenario, _penstock
from penstock.reproduce.execute import collect, ensure, identity
from penstock.reproduce.model import Cases, Finding, Numbers, Paper, Settings, TableData
from penstock.reproduce.readings import DEFAULT, Reading
from penstock.reproduce.verdict import judge
from penstock.validate.ns2.command import DATA
from penstock.validate.ns2.translate import scenario as ns2_scenario

TWO = Settings.of_seeds(2).quickly()


def readings_that_change_nothing(paper: Paper) -> list[tuple[str, str]]:
    """(claim, reading) where a reading's cases are the default's: it would be run, and shown, for nothing."""

    @functools.cache  # claims share their cases
    def runs(cases: Cases, reading: Reading) -> set[str]:
        return {identity(case) for case in cases(TWO, reading)}

    return [(c.key, r.key) for c in paper.claims for r in c.readings if runs(c.cases, r) == runs(c.cases, DEFAULT)]


def reproduce(paper: Paper, folder: Path) -> dict[str, Finding]:
    """Two seeds: every exhibit drawn, every claim judged under the default reading."""
    found = {}
    seeds = range(1, TWO.seeds + 1)
    runs = folder / "runs"
    for exhibit in paper.exhibits:
        cases = list(exhibit.cases(TWO, DEFAULT))
        assert len({tuple(case.labels.items()) for case in cases}) == len(cases), exhibit.key
        ensure(cases, seeds, runs, 2, lambda done, total: None)
        shown = exhibit.show(collect(cases, seeds, runs))
        if not isinstance(shown, TableData):
            shown.savefig(folder / f"{exhibit.key}.svg")
            # Of panels above each other only the lowest has an axis for time.
            named = (ax.get_xlabel() or not ax.xaxis.get_tick_params()["labelbottom"] for ax in shown.axes)
            assert all(named), exhibit.key
            assert all(ax.get_ylabel() for ax in shown.axes), exhibit.key
    for claim in paper.claims:
        assert claim.exhibit in {exhibit.key for exhibit in paper.exhibits}, claim.key
        cases = list(claim.cases(TWO, DEFAULT))
        ensure(cases, seeds, runs, 2, lambda done, total: None)
        ran = collect(cases, seeds, runs)
        for sense in claim.senses:
            assert seeds_of(sense.values(ran)) == {TWO.seeds}, (claim.key, sense.reading.key)
        values = claim.values(ran)
        assert seeds_of(values) == {TWO.seeds}, claim.key
        found[claim.key] = judge(paper.key, claim, DEFAULT, values)
    return found


def seeds_of(values: Numbers) -> set[int]:
    """How many numbers there are for each point of an axis, or at all."""
    return {len(each) for each in values.values()} if isinstance(values, Mapping) else {len(values)}


def differences_from_ns2(case: str, ours: Scenario, cases_file: str = "ns2x-cases.json") -> set[str]:
    """Keys in which a scenario differs from a case of the shipped `cases_file`; names apart."""
    cases = json.loads((DATA / cases_file).read_text(encoding="utf-8"))["cases"]
    arguments = next(each["args"] for each in cases if each["id"] == case)
    theirs = _penstock.Scenario.from_json(json.dumps(ns2_scenario(case, arguments)))
    a, b = flat(json.loads(theirs.resolved_json())), flat(ours.resolved)
    return {key for key in a.keys() | b.keys() if a.get(key) != b.get(key) and not key.endswith(".name")}


def flat(value: Any, path: str = "") -> dict[str, Any]:
    """A nested document as path → value."""
    if isinstance(value, Mapping):
        items = value.items()
    elif isinstance(value, list):
        items = dict(enumerate(value)).items()
    else:
        return {path: value}
    return {k: v for key, each in items for k, v in flat(each, f"{path}.{key}").items()}
