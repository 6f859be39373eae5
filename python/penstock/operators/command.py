"""`penstock config`: writing for a platform, and reading what runs."""

from __future__ import annotations

import difflib
import json
import math
from dataclasses import dataclass
from typing import Any

from penstock import _penstock
from penstock._names import known
from penstock.errors import ScenarioError
from penstock.model.scenario import Scenario
from penstock.operators import platforms, simulate, sonic_state, tc_state, wanted
from penstock.operators.model import Place, RefusedError, Written
from penstock.operators.state import Given
from penstock.runs.execute import Progress
from penstock.runs.result import Comparison

#: Platforms that are read → their reader.
READERS = {"tc": tc_state.read, "sonic": sonic_state.read}
#: What `--exact` without a number allows.
EXACT = 0.01


@dataclass(frozen=True, slots=True)
class Configuration:
    """A scenario's bottleneck as a platform takes it.

    platform: its name.
    written: the text, each value with what the box makes of it, and what is lost.
    scenario: what was wanted.
    box: the scenario with what the box will really do.
    comparison: runs of both, paired by seed; `None` where none were asked for.
    """

    platform: str
    written: Written
    scenario: Scenario
    box: Scenario
    comparison: Comparison | None

    @property
    def text(self) -> str:
        """The configuration, complete."""
        return self.written.text

    def json(self) -> str:
        """Returns everything as one document."""
        written = self.written
        document: dict[str, Any] = {
            "version": _penstock.__version__,
            "platform": self.platform,
            "text": written.text,
            "values": [
                {
                    "name": each.name,
                    "wanted": each.wanted,
                    "used": each.used,
                    "unit": each.unit,
                    "relative_error": each.error if math.isfinite(each.error) else None,
                    "why": each.why,
                }
                for each in written.values
            ],
            "lost": written.lost,
            "notes": written.notes,
            "box": {"aqm": dict(written.aqm), "buffer": written.buffer},
        }
        if self.comparison is not None:
            difference = self.comparison.difference(simulate.BOX)
            document["difference"] = {metric: difference[metric].row() for metric in simulate.METRICS}
            document["identical"] = self.comparison.identical
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def configure(
    scenario: Scenario,
    to: str,
    place: Place,
    *,
    exact: float | None = None,
    seeds: int = 5,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Configuration:
    """Writes, and runs what the box will do. Raises `RefusedError` with the reason where the
    platform cannot.
    """
    written = write(scenario, to, place)
    if exact is not None:
        check_exact(written, to, exact)
    box = wanted.rounded(scenario, written)
    comparison = simulate.compared(scenario, box, seeds, jobs, progress) if seeds else None
    return Configuration(to, written, scenario, box, comparison)


def write(scenario: Scenario, to: str, place: Place) -> Written:
    """Returns what a platform makes of a scenario's bottleneck."""
    written = platforms.write(wanted.wanted(scenario), to, place)
    mean, full = wanted.wanted(scenario).mean_packet, wanted.wire_packet(scenario)
    if full is not None and abs(full / mean - 1) > 0.1:
        note = (
            f"aqm.mean_packet is {mean} B, but the senders' full packets are {full} B: "
            "packets and bytes do not mean the same"
        )
        return _with_note(written, note)
    return written


def _with_note(written: Written, note: str) -> Written:
    from dataclasses import replace

    return replace(written, notes=(*written.notes, note))


def check_exact(written: Written, to: str, most: float) -> None:
    """Raises `RefusedError` if a value is off by more than `most`, or anything is lost."""
    wrong = [
        f"{each.name} is {each.used:.4g} for {each.wanted:.4g} {each.unit}".rstrip() + f" ({100 * each.error:.2g} %)"
        for each in written.values
        if each.error > most
    ]
    wrong += [f"lost is {each}" for each in written.lost]
    if wrong:
        raise RefusedError(f"--exact {100 * most:g}%: {to} does not do that: {'; '.join(wrong)}")


def read(text: str, from_: str, given: Given, name: str = "<text>") -> str:
    """Returns a scenario file for what runs on a box. Raises `ScenarioError` with one message.

    text: what the platform says of its state.
    given: what a state leaves open.
    name: what messages call it.
    """
    reader = READERS[known(from_, READERS, "platform that is read")]
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"{name}: is not JSON: {str(error).splitlines()[0]}") from None
    try:
        made = reader(document, given)
        Scenario.from_toml(made)
    except ScenarioError as error:
        raise ScenarioError(f"{name}: {error}") from None
    return made


def difference(running: str, from_: str, given: Given, scenario: Scenario, place: Place, name: str) -> str:
    """Returns what changes on the box, as a unified diff of the two configurations; empty where
    nothing does.
    """
    before = write(Scenario.from_toml(read(running, from_, given, name)), from_, place).text
    after = write(scenario, from_, place).text
    return "".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"{name} (running)", "wanted"))
