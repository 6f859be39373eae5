"""Loading, showing, changing and unloading, by the program `penstock-kernel`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock._json import document
from penstock.errors import Error, ScenarioError
from penstock.kernel import state
from penstock.kernel.words import KINDS, Told, told
from penstock.model.scenario import Scenario, value_at

#: The program, and what builds it.
PROGRAM = "penstock-kernel"
#: What the state cannot take over.
FIXED = ("kind", "unit", "mean_packet")


class KernelError(Error):
    """The machine does not allow it; the message says what would do."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A discipline at a device.

    device: its name. scenario: what was loaded, with what was set since. told: what the program has of it.
    values: the discipline's variables, the queue and the counts, by the names of series and metrics; empty when it has
    just been loaded.
    """

    device: str
    scenario: Scenario
    told: Told
    values: Mapping[str, float | None]

    @property
    def json(self) -> str:
        """All of it as one document."""
        parts = {
            "device": self.device,
            "kind": KINDS[self.told.words["kind"]],
            "values": dict(self.values),
            "parameters": [
                {"name": v.name, "wanted": v.wanted, "used": v.used, "unit": v.unit, "relative_error": v.error}
                for v in self.told.values
            ],
            "lost": list(self.told.lost),
            "scenario": self.scenario.to_toml(),
        }
        return document(parts)


def load(scenario: Scenario, device: str) -> Loaded:
    """Puts a scenario's discipline on a device's egress, at the scenario's rate.

    Raises `ScenarioError` where the program cannot do what the scenario asks for, there is no such device, or it has a
    discipline already; `KernelError` where the machine cannot.
    """
    wanted = told(scenario)
    _ask("load", device, _document(scenario, wanted))
    return Loaded(device, scenario, wanted, {})


def show(device: str) -> Loaded:
    """Reads what a device has. Raises `ScenarioError` where it has nothing."""
    found = _ask("show", device)
    scenario = Scenario.from_toml(found["scenario"])
    words: Mapping[str, int] = found["words"]
    return Loaded(
        device, scenario, told(scenario, words["generation"]), state.read(found["state"], words, found["now_ns"])
    )


def change(device: str, changes: Mapping[str, object]) -> Loaded:
    """Changes keys of the scenario under traffic: the discipline's parameters, the rate, the buffer. What it has
    learned stays; a ceiling or threshold that it adapts begins anew.

    changes: as for `Scenario.set_all`.

    Raises `ScenarioError` where a value does not fit, or a key cannot change while packets wait.
    """
    before = _ask("show", device)
    old = Scenario.from_toml(before["scenario"])
    new = old.set_all(changes)
    for key in FIXED:
        sides = [_aqm(each)[key] for each in (old, new)]
        if sides[0] != sides[1]:
            raise ScenarioError(f"aqm.{key}: cannot change under traffic; unload, and load again")
    wanted = told(new, before["words"]["generation"] + 1)
    if wanted.words["in_bytes"] != before["words"]["in_bytes"]:
        raise ScenarioError("the queue would count in another unit: cannot change under traffic; say aqm.unit")
    _ask("set", device, _document(new, wanted))
    return Loaded(device, new, wanted, {})


def unload(device: str) -> None:
    """Removes what `load` has put there. Raises `ScenarioError` where there is nothing."""
    _ask("unload", device)


def _aqm(scenario: Scenario) -> Mapping[str, Any]:
    found: Mapping[str, Any] = value_at(scenario.resolved, scenario.core.facts().bottleneck.aqm_path)
    return found


def _document(scenario: Scenario, wanted: Told) -> str:
    return json.dumps({"words": wanted.words, "scenario": scenario.to_toml()})


def program() -> str | None:
    """Returns the program: the checkout's, else the one in PATH."""
    built = Path(__file__).parents[3] / "target" / "release" / PROGRAM
    return str(built) if built.is_file() else shutil.which(PROGRAM)


def _ask(what: str, device: str, said: str = "") -> dict[str, Any]:
    if not sys.platform.startswith("linux"):
        raise KernelError("needs Linux: the discipline is a program in its kernel")
    found = program()
    if found is None:
        raise KernelError(f"needs {PROGRAM}: make mecn builds it in a checkout, with clang and libelf (bpf/README.md)")
    done = subprocess.run(
        [found, what, "--", device], input=said, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if done.returncode == 0:
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer
    message = done.stderr.strip().removeprefix(f"{PROGRAM}: ") or f"{PROGRAM} ended with {done.returncode}"
    raise (ScenarioError if done.returncode == 2 else KernelError)(message)
