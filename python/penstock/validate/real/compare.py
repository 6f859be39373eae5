"""`penstock validate-real`: one scenario in the simulator and on real packets, metric by metric.

Both sides have the same bottleneck (one piece of code), the same payload, the same starts of the flows. Only the TCP
differs, and the clock: Linux's and the machine's on one side, ours and virtual time on the other. Both sides have the
scenario under `profile = "linux"`; `hosts` says what the hosts of an emulation do besides. Only valid emulations count.
"""

from __future__ import annotations

import gzip
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock._penstock import parse_size
from penstock.emulation import Emulated, EmulationError, Status, emulate
from penstock.judging.estimate import ANYWHERE, FROM_ZERO, Bounds, Estimate, bounds_of
from penstock.model.scenario import Scenario
from penstock.runs.result import Result
from penstock.show.shown import window_s
from penstock.validate.agreement import Rule, Value, Verdict, judge
from penstock.validate.real.delays import SHARES, Metrics, delays
from penstock.validate.real.stored import Stored, StoredRun, read

#: Real runs of a scenario, and simulated ones: these cost nothing, so that what is left of the interval is reality's.
RUNS, SEEDS = 3, 20
#: How often one real run is tried until it is valid.
ATTEMPTS = 3
#: Both sides' queue is sampled this often.
INTERVAL_S = 0.01


#: The window that the hosts of an emulation offer first: half of `tcp_rmem`'s 128 KiB.
WINDOW_START_B = 65536


def tick(places: Sequence[Path] | None = None) -> str | None:
    """Returns the tick of this machine's kernel, as a scenario has it; `None` where its configuration is not there."""
    release = os.uname().release
    for place in places or (Path("/proc/config.gz"), Path(f"/boot/config-{release}")):
        try:
            text = place.read_bytes()
            text = gzip.decompress(text) if place.suffix == ".gz" else text
        except OSError:
            continue
        if hz := re.search(rb"^CONFIG_HZ=(\d+)$", text, re.MULTILINE):
            return f"{1000 / int(hz[1]):g} ms"
    return None


def hosts(scenario: Scenario) -> dict[str, object]:
    """Returns keys for the simulator's side: what the hosts of an emulation do and the profile leaves open.

    They hand over bursts (`tcp_min_tso_segs` is 2), ask for ECN again after a lost SYN (the emulation sets
    `tcp_ecn_fallback` to 0), offer a window that grows, and have this machine's tick, where its kernel tells.
    """
    found: dict[str, object] = {}
    ticks = tick()
    for i, entry in enumerate(scenario.resolved["traffic"]):
        if entry.get("recovery") == "rack":
            found[f"traffic.{i}.min_tso_segments"] = 2
        if ticks is not None and "tick" in entry:
            found[f"traffic.{i}.tick"] = ticks
        if entry.get("ecn", "off") != "off":
            found[f"traffic.{i}.ecn_fallback"] = False
        if entry.get("window_start") is None and "window" in entry:
            start = int(WINDOW_START_B // parse_size(entry["segment"]))
            if start < entry["window"]:
                found[f"traffic.{i}.window_start"] = start
    return found


def as_linux(scenario: Scenario) -> Scenario:
    """Returns the scenario with the values of `profile = "linux"` where it sets none itself."""
    return scenario.set("profile", "linux")


def _sum_per_second(*names: str) -> Callable[[Metrics, float], float | None]:
    def of(metrics: Metrics, seconds: float) -> float | None:
        known = [v for v in (metrics[name] for name in names) if v is not None]
        return math.fsum(known) / seconds if known else None

    return of


def _as_it_is(name: str) -> Callable[[Metrics, float], float | None]:
    return lambda metrics, _: metrics.get(name)


@dataclass(frozen=True, slots=True)
class Compared:
    """A metric: its name with the unit, how it follows from a run's metrics and the window, how close it must be."""

    name: str
    of: Callable[[Metrics, float], float | None]
    tolerance: float


COMPARED = (
    Compared("utilization", _as_it_is("utilization"), 0.02),
    Compared("goodput_bps", _as_it_is("goodput_bps"), 0.02),
    Compared("queue_mean_pkts", _as_it_is("queue_mean_pkts"), 0.10),
    Compared("delay_mean_s", _as_it_is("delay_mean_s"), 0.10),
    Compared("delay_p50_s", _as_it_is("delay_p50_s"), 0.10),
    Compared("delay_p99_s", _as_it_is("delay_p99_s"), 0.10),
    Compared("marks_per_s", _sum_per_second("marks_ce", "marks_incipient"), 0.15),
    Compared("drops_per_s", _sum_per_second("drops_early", "drops_forced", "drops_overflow"), 0.15),
    Compared("retransmits_per_s", _sum_per_second("retransmits"), 0.15),
    Compared("jain", _as_it_is("jain"), 0.15),
    Compared("page_time_mean_s", _as_it_is("page_time_mean_s"), 0.10),
    Compared("page_time_p50_s", _as_it_is("page_time_p50_s"), 0.10),
)


#: What each group of flows gets of all groups' goodput: `goodput_share.0` and so on, where there are several.
SHARE = "goodput_share"
SHARE_TOLERANCE = 0.15
#: The metrics of which bounds are promised.
BOUNDED = ("utilization", "delay_mean_s", "marks_per_s", "drops_per_s", "jain", SHARE)


@dataclass(frozen=True, slots=True)
class Pair:
    """One metric on both sides: one value per run, means with intervals, the verdict."""

    metric: str
    tolerance: float
    real_values: tuple[float, ...]
    simulated_values: tuple[float, ...]
    verdict: Verdict

    @property
    def bounded(self) -> bool:
        """Returns whether it is one of those of which bounds are promised."""
        return self.metric.split(".")[0] in BOUNDED

    @property
    def real(self) -> Estimate:
        """The estimate over the real runs."""
        return Estimate.of(self.real_values, compared_bounds(self.metric))

    @property
    def simulated(self) -> Estimate:
        """The estimate over the simulated ones."""
        return Estimate.of(self.simulated_values, compared_bounds(self.metric))


def _share(group: int) -> Compared:
    return Compared(f"{SHARE}.{group}", lambda metrics, seconds: None, SHARE_TOLERANCE)


def _goodput_share(run: Any, group: int) -> float | None:
    """Returns what a group has of all groups' goodput."""
    goodput = [each["goodput_bps"] or 0.0 for each in run.groups]
    whole = math.fsum(goodput)
    return goodput[group] / whole if whole else None


def compared_bounds(metric: str) -> Bounds:
    """Returns where a compared metric can be; what is no run's own is a rate, which is not below 0."""
    found = bounds_of(metric)
    return FROM_ZERO if found == ANYWHERE else found


class TooFewValidError(EmulationError):
    """Fewer than two real runs of a scenario were valid, however often they were repeated."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """A real run that does not count."""

    seed: int
    because: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One scenario on both sides.

    real, simulated: the runs. changed: the simulator's own keys: those of `hosts`, and the caller's.
    emulations: of each real run that counts, how far it was from the ideal path. invalid: those that do not count.
    """

    real: Result
    simulated: Result
    changed: Mapping[str, object]
    emulations: tuple[Mapping[str, Any], ...]
    invalid: tuple[Invalid, ...]

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self.real.scenario.name

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Every pair, metric by metric; those that apply on neither side are left out."""
        since, until = window_s(self.real)
        seconds = until - since
        asked = [c for c in COMPARED if c.name != "jain" or len(self.real.runs[0].flows) > 1]
        pairs = [self._pair(c, lambda run, c=c: c.of(run.metrics, seconds)) for c in asked]  # type: ignore[misc]
        groups = len(self.real.runs[0].groups)
        if groups > 1:
            pairs += [
                self._pair(_share(i), lambda run, i=i: _goodput_share(run, i))  # type: ignore[misc]
                for i in range(groups)
            ]
        return tuple(pair for pair in pairs if pair is not None)

    def _pair(self, c: Compared, of: Callable[[Any], float | None]) -> Pair | None:
        real, simulated = (
            tuple(v for run in side.runs if (v := of(run)) is not None) for side in (self.real, self.simulated)
        )
        if not real and not simulated:
            return None
        return Pair(c.name, c.tolerance, real, simulated, _verdict(c, real, simulated))

    @property
    def agrees(self) -> bool:
        """Returns whether every pair that counts does."""
        return all(pair.verdict.agrees is not False for pair in self.pairs)

    def delays_s(self) -> tuple[list[list[float]], list[list[float]]]:
        """Returns the distribution of the delay in each run, real and simulated: its quantiles at `SHARES`.

        What waits at an instant over the link's rate, sampled alike on both sides: how long a packet that came
        then would wait.
        """
        import numpy as np

        def of(side: Result) -> list[list[float]]:
            return [np.quantile(each, SHARES).tolist() for each in delays(side)]

        return of(self.real), of(self.simulated)

    def document(self) -> dict[str, Any]:
        """Returns everything but the series."""
        real, simulated = self.delays_s()
        return {
            "name": self.name,
            "agrees": self.agrees,
            "pairs": [
                {
                    "metric": pair.metric,
                    "real": _side(pair.real, pair.real_values),
                    "simulated": _side(pair.simulated, pair.simulated_values),
                    "difference": pair.verdict.difference,
                    "tolerance": pair.tolerance,
                    "agrees": pair.verdict.agrees,
                    "why": pair.verdict.why,
                }
                for pair in self.pairs
            ],
            "delay": {"shares": SHARES, "real_s": real, "simulated_s": simulated},
            "changed": dict(self.changed),
            "invalid": [{"seed": each.seed, "because": list(each.because)} for each in self.invalid],
            "emulations": list(self.emulations),
            "scenario": self.real.scenario.resolved,
        }


def _side(estimate: Estimate, values: Sequence[float]) -> dict[str, Any]:
    return {**estimate.row(), "values": list(values)}


def _verdict(c: Compared, real: Sequence[float], simulated: Sequence[float]) -> Verdict:
    """Judges by the rules of `penstock validate`, with reality as the reference."""
    rule = Rule(c.name, c.name, c.tolerance, c.tolerance)
    ours, reference = _value(simulated), _value(real)
    if reference is not None and ours is not None and reference.mean == 0 != ours.mean:
        # No per cent of nothing: only the interval can tell.
        inside = abs(ours.mean) <= math.hypot(reference.half, ours.half)
        return Verdict(inside, "–", "interval")
    return judge(rule, reference, ours)


def _value(values: Sequence[float]) -> Value | None:
    estimate = Estimate.of(values)
    return None if estimate.mean is None else Value(estimate.mean, estimate.ci95 or 0.0, estimate.n)


#: Told where it is: what is done of the whole (0 to 1), and what is under way.
Progress = Callable[[float, str], object]


def validate(
    scenario: Scenario,
    runs: int = RUNS,
    seeds: int = SEEDS,
    *,
    simulated: Mapping[str, object] | None = None,
    rootless: bool = False,
    stored: Path | None = None,
    keep: Callable[[Emulated], object] | None = None,
    progress: Progress | None = None,
) -> Agreement:
    """Runs a scenario on both sides.

    runs: real ones, one per seed from the scenario's on (at least 2: one has no interval). seeds: simulated ones.
    simulated: keys that are otherwise on the simulator's side.
    rootless: as for `emulate`.
    stored: a folder of real runs that `keep` wrote before; then none is measured.
    keep: told each valid real run as soon as it is measured.

    Raises `ScenarioError`, `EmulationError`; `TooFewValidError` where fewer than two real runs are valid.
    """
    from penstock.runs import runner

    if runs < 2 or seeds < 2:
        raise ValueError("runs and seeds: at least 2 each; one has no interval")
    scenario = as_linux(scenario)
    changed = {**hosts(scenario), **(simulated or {})}
    ours = runner.run(scenario.set_all(changed), seeds, series=INTERVAL_S)
    if stored is None:
        theirs, emulations, invalid = _measured(scenario, runs, rootless, keep, progress)
    else:
        theirs, emulations, invalid = _read(scenario, stored)
    if len(emulations) < 2:
        why = "; ".join(dict.fromkeys(reason for each in invalid for reason in each.because)) or "no other is stored"
        raise TooFewValidError(
            f"{scenario.name}: {len(emulations)} of {len(emulations) + len(invalid)} real runs were valid, 2 are "
            f"needed: the machine is too busy or too slow for this rate ({why})"
        )
    return Agreement(real=theirs, simulated=ours, changed=changed, emulations=tuple(emulations), invalid=tuple(invalid))


def _measured(
    scenario: Scenario,
    runs: int,
    rootless: bool,
    keep: Callable[[Emulated], object] | None,
    progress: Progress | None,
) -> tuple[Result, list[Mapping[str, Any]], list[Invalid]]:
    """Returns valid real runs, how far each was from the ideal path, and those that do not count."""
    theirs = []
    emulations: list[Mapping[str, Any]] = []
    invalid = []
    for i in range(runs):
        for attempt in range(ATTEMPTS):

            def tell(now: Status, i: int = i, attempt: int = attempt) -> None:
                if progress is not None:
                    again = f", attempt {attempt + 1}" if attempt else ""
                    done = min(1.0, max(0.0, now.t_s) / scenario.duration_s)
                    progress((i + done) / runs, f"real run {i + 1} of {runs}{again}")

            seed = scenario.seed + i
            done = emulate(scenario, seed=seed, series=INTERVAL_S, rootless=rootless, progress=tell)
            because = _not_counted(scenario, done.runs[0].flows, done.emulation)
            if not because:
                theirs.append(done.runs[0])
                emulations.append(done.emulation)
                if keep is not None:
                    keep(done)
                break
            invalid.append(Invalid(seed, because))
    return Result(scenario, theirs), emulations, invalid


def _read(scenario: Scenario, folder: Path) -> tuple[Result, list[Mapping[str, Any]], list[Invalid]]:
    """Returns the same of runs that are stored."""
    theirs: list[StoredRun] = []
    invalid: list[Invalid] = []
    for run in read(folder, scenario):
        because = _not_counted(scenario, run.flows, run.emulation)
        if because:
            invalid.append(Invalid(run.seed, because))
        else:
            theirs.append(run)
    emulations: list[Mapping[str, Any]] = [run.emulation for run in theirs]
    return Stored(scenario, theirs), emulations, invalid


def _not_counted(
    scenario: Scenario, flows: Sequence[Mapping[str, Any]], emulation: Mapping[str, Any]
) -> tuple[str, ...]:
    """Returns why a real run does not count; nothing where it does.

    Beside lateness: flows that asked for ECN and did not get it, as where a SYN was lost, whose marks became drops.
    """
    entries = scenario.resolved["traffic"]
    # Groups beyond the entries are calls' ways back: datagrams.
    ask = {i for i, entry in enumerate(entries) if entry.get("ecn", "off") != "off"}
    without = [
        f"flow {i} asked for ECN and did not get it"
        for i, (flow, found) in enumerate(zip(flows, emulation["kernel"], strict=True))
        if flow["group"] in ask and found["ecn"] is False
    ]
    late = emulation["invalid_because"]
    return (*late, *without) if late or emulation["valid"] else ("not valid", *without)
