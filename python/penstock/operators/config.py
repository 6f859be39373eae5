"""Writing a scenario for a router, and reading what runs on one: `penstock.config`, `penstock.config_from`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock._json import document
from penstock._names import known
from penstock.errors import ScenarioError
from penstock.model.scenario import Scenario
from penstock.operators import changes, platforms, simulate, sonic_after, sonic_state, tc_after, tc_state, wanted
from penstock.operators.changes import Change
from penstock.operators.model import Place, RefusedError, Written
from penstock.operators.state import Given, Reading, plain
from penstock.runs.execute import Progress
from penstock.runs.result import Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A platform that is read.

    parse: from the text of a state to its document.
    read: from there to a scenario file, and what became of each field.
    changes: what another configuration changes on the box.
    """

    parse: Callable[[str], Any]
    read: Callable[[Any, Given], Reading]
    changes: Callable[[Any, Given, Callable[[Place], Written], Place], list[Change]]


#: Platforms that are read → how.
READERS = {
    "tc": Reader(parse=tc_state.parse, read=tc_state.read, changes=tc_after.changes),
    "sonic": Reader(parse=sonic_state.parse, read=sonic_state.read, changes=sonic_after.changes),
}
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
        parts: dict[str, Any] = {
            "platform": self.platform,
            "text": written.text,
            "values": [
                {
                    "name": each.name,
                    "wanted": each.wanted,
                    "used": each.used,
                    "unit": each.unit,
                    "relative_error": each.error,
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
            parts["difference"] = {metric: difference[metric].row() for metric in simulate.METRICS}
            parts["identical"] = self.comparison.identical
        return document(parts)


def config(
    scenario: Scenario,
    to: str,
    *,
    dev: str | None = None,
    variant: str | None = None,
    shape: bool = False,
    exact: float | None = None,
    seeds: int = 5,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Configuration:
    """Writes a scenario's bottleneck as a router's configuration, and simulates what the router
    will make of it.

    to: the platform: `"tc"`, `"sonic"`, `"cisco-ios"`, `"junos"`, `"eos"`, `"openconfig"`,
        `"dpdk"`, `"vyos"`, `"sqm"`.
    dev: the interface; default: the platform's usual first one.
    variant: one of several forms: tc's `"gred"` instead of `"red"`, or `"cake"` instead of
        `"fq_codel"`.
    shape: let tc make the bottleneck's rate itself.
    exact: raise where a value is off by more than this, or anything is lost: `0.01` is one per
        cent.
    seeds: runs of what is wanted and of what the box will do, paired; 0: none.

    Raises `ScenarioError` with the reason where the platform cannot express it.
    """
    place = Place(dev=dev, variant=variant, shape=shape)
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


def read(text: str, from_: str, given: Given, name: str = "<text>") -> Reading:
    """Returns a scenario file for what runs on a box, and what is lost. Raises `ScenarioError` with one
    message.

    text: what the platform says of its state.
    given: what a state leaves open.
    name: what messages call it.
    """
    reader = READERS[known(from_, READERS, "platform that is read")]
    given.check()
    try:
        made = reader.read(reader.parse(text), given)
        Scenario.from_toml(made.text)
    except ScenarioError as error:
        raise ScenarioError(plain(f"{name}: {error}")) from None
    return made


def config_from(
    text: str,
    platform: str,
    *,
    dev: str | None = None,
    parent: str | None = None,
    profile: str | None = None,
    rate: str | None = None,
    rtt: str | None = None,
    buffer: str | None = None,
) -> Scenario:
    """Returns what runs on a box as a scenario.

    text: what `tc -s -d qdisc show` prints, in JSON (`-j`) or not, or SONiC's config DB.
    platform: `"tc"` or `"sonic"`.
    dev, parent, profile: which interface, class or profile, where there are several.
    rate, rtt, buffer: what the state does not say.

    Warns (`UserWarning`) of each thing that the box does and the scenario does not. Raises
    `ScenarioError` with one message.
    """
    given = Given(dev=dev, parent=parent, profile=profile, rate=rate, rtt=rtt, buffer=buffer)
    reading = read(text, platform, given)
    for sentence in reading.fate.sentences():
        warnings.warn(f"lost: {sentence}", stacklevel=2)
    return Scenario.from_toml(reading.text)


def read_json(made: Reading, from_: str) -> str:
    """Returns a reading as one document."""
    fate = made.fate
    return document(
        {
            "platform": from_,
            "text": made.text,
            "carried": [{"field": each.field, "value": each.value, "to": each.to} for each in fate.carried],
            "lost": [{"field": each.field, "value": each.value, "why": each.why} for each in fate.lost],
            "statistics": fate.statistics,
            "notes": fate.notes,
        }
    )


def difference(running: str, from_: str, given: Given, scenario: Scenario, place: Place, name: str) -> list[Change]:
    """Returns what changes on the box once what is written for the scenario is pasted: every field of
    its state is compared with what the box will report then.
    """
    reader = READERS[known(from_, READERS, "platform that is read")]
    given.check()
    try:
        return reader.changes(reader.parse(running), given, lambda place: write(scenario, from_, place), place)
    except RefusedError:
        raise
    except ScenarioError as error:
        raise ScenarioError(plain(f"{name}: {error}")) from None


def difference_json(found: list[Change], from_: str) -> str:
    """Returns changes as one document."""
    return document({"platform": from_, "changes": changes.listed(found)})
