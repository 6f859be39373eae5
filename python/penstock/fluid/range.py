"""Stability over a range: the points of a scenario's axes, each with its balance and its margins."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock import _penstock
from penstock._json import document
from penstock.errors import ScenarioError
from penstock.fluid import rared
from penstock.fluid.limits import FEW_SIGNALS, SMALL_WINDOW
from penstock.fluid.loops import Keys, check_kind, loop
from penstock.fluid.margins import Margins, expected_sd, margins
from penstock.fluid.model import Loop, NoBalanceError
from penstock.fluid.path import Path, Table, modelled, path
from penstock.fluid.swing import Swing
from penstock.model.scenario import Scenario, seconds, value_at
from penstock.sweeps.drive import Grid
from penstock.sweeps.values import text

#: Values of a range `A:B` of flows or round trips.
STEPS = 8
#: The most points of one call.
MOST_POINTS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One point of the range.

    at: axis → value. core: the scenario there. path: link and flows.
    loop, margins: `None` where there is no balance; `why` is the reason then.
    notes: what the model leaves out here.
    slopes: of RARED, the rule's threshold and the one in force.
    swing: what the simulator's queue did, if it was asked.
    """

    at: Mapping[str, Any]
    core: _penstock.Scenario
    path: Path
    loop: Loop | None = None
    margins: Margins | None = None
    why: str | None = None
    notes: Sequence[str] = ()
    slopes: tuple[float, float] | None = None
    swing: Swing | None = None

    @property
    def stable(self) -> bool | None:
        """Returns whether small motions die out; `None` where there is no balance."""
        return None if self.margins is None else self.margins.stable

    @property
    def signals_per_swing(self) -> float | None:
        """Returns the signals to all flows in a period of the frequency at which a swing is looked for."""
        if self.loop is None or self.margins is None or self.margins.frequency_rad_s is None:
            return None
        return self.path.capacity * self.loop.at.signals * 2 * math.pi / self.margins.frequency_rad_s

    @property
    def doubts(self) -> list[str]:
        """Returns why the model may be wrong about this point."""
        found = []
        if self.loop is not None and self.loop.at.window < SMALL_WINDOW:
            found.append(
                f"windows below {SMALL_WINDOW:g} packets: losses often end in timeouts, which are not modelled"
            )
        signals = self.signals_per_swing
        if self.stable is False and signals is not None and signals < FEW_SIGNALS:
            found.append(f"fewer than {FEW_SIGNALS:g} signals in a swing: single events, of which no rhythm comes")
        return found

    def row(self) -> dict[str, Any]:
        """Returns the point as plain numbers, each with its unit in the name."""
        found: dict[str, Any] = {"at": dict(self.at), "flows": self.path.flows, "rtt_s": self.path.rtt_s}
        found |= {"stable": self.stable, "why": self.why, "notes": [*self.notes, *self.doubts]}
        if self.loop is not None and self.margins is not None:
            at, margin = self.loop.at, self.margins
            found |= {
                "where": at.where,
                "queue_pkts": at.queue,
                "round_trip_s": at.round_trip_s,
                "window_pkts": at.window,
                "signal_ratio": at.signals,
                "signals_per_swing": self.signals_per_swing,
                "crossover_rad_s": margin.crossover_rad_s,
                "phase_margin_deg": margin.phase_margin_deg,
                "turn_rad_s": margin.turn_rad_s,
                "gain_margin": margin.gain_margin,
                "delay_margin_s": margin.delay_margin_s,
                "queue_sd_pkts": expected_sd(self.loop) if margin.stable else None,
            }
        if self.slopes is not None:
            found["slope_th_rule"], found["slope_th"] = self.slopes
        if self.swing is not None:
            found["simulated"] = self.swing.row()
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A scenario's points, in the order of its axes."""

    name: str
    kind: str
    axes: Sequence[str]
    cases: Sequence[Case] = field(default_factory=list)

    def json(self) -> str:
        """Returns all of it as one document."""
        points = [case.row() for case in self.cases]
        return document({"scenario": self.name, "aqm": self.kind, "axes": list(self.axes), "points": points})


def points(scenario: Scenario, over: Mapping[str, Sequence[Any]]) -> Range:
    """Returns every point of a scenario's `[sweep]` and `[[variant]]`, and of further axes, judged.

    Raises `ScenarioError` for a scenario that the model says nothing about.
    """
    grid = Grid(scenario, over)
    if len(grid) > MOST_POINTS:
        raise ScenarioError(f"{len(grid)} points: at most {MOST_POINTS}")
    cases = []
    for point, made in itertools.islice(grid, MOST_POINTS):
        if isinstance(made, ScenarioError):
            raise made
        resolved = json.loads(made.resolved_json())
        at = {axis: value_at(resolved, axis) for axis in grid.paths}
        cases.append(judged(made, resolved, {**({"variant": point.variant} if point.variant else {}), **at}))
    kinds = list(dict.fromkeys(case.core.aqm for case in cases))
    axes = [axis for axis in cases[0].at if len({text(case.at[axis]) for case in cases}) > 1]
    return Range(name=scenario.name, kind=", ".join(kinds), axes=axes, cases=cases)


def judged(core: _penstock.Scenario, resolved: Table, at: Mapping[str, Any]) -> Case:
    """Returns one point with its balance and margins, or with the reason why it has none."""
    check_kind(resolved["aqm"]["kind"])
    where, notes = path(core, resolved)
    keys = Keys.of(where, core, resolved)
    slopes = rared.of_path(where, keys) if keys["kind"] == "rared" else None
    try:
        closed = loop(where, keys)
    except NoBalanceError as reason:
        return Case(at=at, core=core, path=where, why=str(reason), notes=notes, slopes=slopes)
    return Case(at=at, core=core, path=where, loop=closed, margins=margins(closed), notes=notes, slopes=slopes)


def axes(
    scenario: Scenario, flows: str | float | Sequence[float] | None, rtt: str | float | Sequence[str | float] | None
) -> dict[str, list[Any]]:
    """Returns the axes of a scenario that give it these numbers of flows and these round trips.

    flows, rtt: a value, a list, or the ends of a range: `"5:200"`, `"20ms:200ms"`.
    """
    resolved = scenario.resolved
    found: dict[str, list[Any]] = {}
    if flows is not None:
        chosen = modelled(scenario.core.facts())
        if len(chosen) != 1:
            raise ScenarioError(f"--flows: needs one group of long transfers, and here are {len(chosen)}")
        found[f"traffic.{chosen[0]}.flows"] = list(dict.fromkeys(round(n) for n in _values("--flows", flows, _flows)))
    if rtt is not None:
        empty, _ = path(scenario.core, resolved)
        link = resolved["topology"]["bottleneck"]
        if link["reverse_delay"] is not None:
            raise ScenarioError("--rtt: moves the bottleneck's delay, and here reverse_delay fixes half of it")
        rest = empty.rtt_s - 2 * scenario.core.facts().bottleneck.delay_s
        trips = _values("--rtt", rtt, seconds)
        if min(trips) < rest:
            raise ScenarioError(
                f"--rtt {min(trips) * 1e3:g} ms: access links and transmissions alone take {rest * 1e3:.3g} ms"
            )
        found["topology.bottleneck.delay"] = [f"{round((trip - rest) / 2 * 1e9)} ns" for trip in trips]
    return found


def _values(option: str, given: Any, read: Any) -> list[float]:
    """Returns the values of a range's ends, of a list, or of one value."""
    try:
        if isinstance(given, str) and ":" in given:
            low, high = (read(end) for end in given.split(":"))
            if not 0 < low <= high:
                raise ScenarioError("the range is empty; it goes from its lesser end, above 0, to its greater one")
            ratio = (high / low) ** (1 / (STEPS - 1))
            return [low] if low == high else [*(low * ratio**i for i in range(STEPS - 1)), high]
        listed = given.split(",") if isinstance(given, str) else given if isinstance(given, Sequence) else [given]
        values = [float(read(each)) for each in listed]
        if not values or not all(value > 0 and math.isfinite(value) for value in values):
            raise ScenarioError("needs values above 0")
    except ValueError as error:
        raise ScenarioError(f"{option} {given}: {error}; it is A:B, or values with commas between them") from None
    return values


def _flows(text: str | float) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ScenarioError(f"{text!r} is no number of flows") from None
    if number < 1 or number > 1e6:
        raise ScenarioError("a number of flows is from 1 to 1000000")
    return number
