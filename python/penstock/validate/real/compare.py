"""`penstock validate-real`: one scenario in the simulator and on real packets, metric by metric.

Both sides have the same bottleneck (one piece of code), the same payload, the same starts of the flows. Only the TCP
differs, and the clock: Linux's and the machine's on one side, ours and virtual time on the other. What the simulator's
TCP can be told of Linux's it is told (`as_linux`); no value is fitted to a result. Only valid emulations count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.emulation import Emulated, EmulationError, Status, emulate
from penstock.judging.estimate import ANYWHERE, FROM_ZERO, Bounds, Estimate, bounds_of
from penstock.model.scenario import Scenario
from penstock.runs.result import Result
from penstock.show.plot import window_s
from penstock.validate.agreement import Rule, Value, Verdict, judge
from penstock.validate.real.delays import SHARES, Metrics, delays

#: Real runs of a scenario, and simulated ones: these cost nothing, so that what is left of the interval is reality's.
RUNS, SEEDS = 3, 20
#: How often one real run is tried until it is valid.
ATTEMPTS = 3
#: Both sides' queue is sampled this often.
INTERVAL_S = 0.01

#: Bytes of Linux's timestamp option, on every segment.
TIMESTAMPS = 12
#: The header of a segment that has them, which a scenario may count already.
HEADER_WITH_TIMESTAMPS = 52
#: Payload of the largest segment: the hosts' MTU is 1500 B, of which 40 are headers and 12 timestamps.
LARGEST_SEGMENT = 1448


@dataclass(frozen=True, slots=True)
class Mapped:
    """A key of `[[traffic]]` by which the simulator is told what Linux does, and where that stands."""

    key: str
    value: object
    why: str
    tcp: tuple[str, ...] = ()


#: What Linux does and our defaults do not, for the transports that have the key; `tcp`: for these alone.
LINUX = (
    Mapped("tcp", "sack", "Linux's reno repairs losses by SACK; `newreno` turns it off in the hosts", ("reno",)),
    Mapped("recovery", "sack", "likewise"),
    Mapped("go_back_n", False, "after a timeout what SACK has reported is not sent again", ("reno", "sack")),
    Mapped("initial_window", 10, "TCP_INIT_CWND (RFC 6928)"),
    Mapped("delayed_ack", True, "every second segment, as soon as out of order"),
    Mapped("delayed_ack_timeout", "40 ms", "TCP_DELACK_MIN"),
    Mapped("min_rto", "200 ms", "TCP_RTO_MIN"),
    Mapped("max_rto", "120 s", "TCP_RTO_MAX"),
    Mapped(
        "ssthresh_from", "flight", "a cut takes of cwnd's whole segments; ours has a fraction besides, the flight none"
    ),
    Mapped("cwnd_floor", 2, "tcp_reno_ssthresh, cubictcp_recalc_ssthresh: max(…, 2)"),
)


def as_linux(scenario: Scenario, changes: Mapping[str, object] | None = None) -> tuple[Scenario, dict[str, object]]:
    """Returns the scenario for the simulator, and the keys changed for it.

    A data segment on the real wire has 12 bytes more than the scenario says: the timestamps. It is at most an MTU.

    changes: more of them, which win.
    """
    wanted: dict[str, object] = {}
    entries = zip(scenario.resolved["traffic"], scenario.core.facts().groups, strict=True)
    for i, (entry, group) in enumerate(entries):
        if group.full_packet is None:
            continue
        if group.full_packet.header != HEADER_WITH_TIMESTAMPS:
            wanted[f"traffic.{i}.header"] = f"{group.full_packet.header + TIMESTAMPS} B"
        if group.full_packet.segment > LARGEST_SEGMENT:
            wanted[f"traffic.{i}.segment"] = f"{LARGEST_SEGMENT} B"
        for each in LINUX:
            if each.key in entry and (not each.tcp or entry["tcp"] in each.tcp):
                wanted[f"traffic.{i}.{each.key}"] = each.value
    wanted.update(changes or {})
    return scenario.set_all(wanted), wanted


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
    Compared("marks_per_s", _sum_per_second("marks_ce", "marks_incipient"), 0.10),
    Compared("drops_per_s", _sum_per_second("drops_early", "drops_forced", "drops_overflow"), 0.10),
    Compared("retransmits_per_s", _sum_per_second("retransmits"), 0.10),
    Compared("page_time_mean_s", _as_it_is("page_time_mean_s"), 0.10),
    Compared("page_time_p50_s", _as_it_is("page_time_p50_s"), 0.10),
)


@dataclass(frozen=True, slots=True)
class Pair:
    """One metric on both sides: one value per run, means with intervals, the verdict."""

    metric: str
    tolerance: float
    real_values: tuple[float, ...]
    simulated_values: tuple[float, ...]
    verdict: Verdict

    @property
    def real(self) -> Estimate:
        """The estimate over the real runs."""
        return Estimate.of(self.real_values, compared_bounds(self.metric))

    @property
    def simulated(self) -> Estimate:
        """The estimate over the simulated ones."""
        return Estimate.of(self.simulated_values, compared_bounds(self.metric))


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

    real, simulated: the runs. changed: the keys that the simulator's side has otherwise.
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
        pairs = []
        for c in COMPARED:
            real, simulated = (
                tuple(v for run in side.runs if (v := c.of(run.metrics, until - since)) is not None)
                for side in (self.real, self.simulated)
            )
            if real or simulated:
                pairs.append(Pair(c.name, c.tolerance, real, simulated, _verdict(c, real, simulated)))
        return tuple(pairs)

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
    progress: Progress | None = None,
) -> Agreement:
    """Runs a scenario on both sides.

    runs: real ones, one per seed from the scenario's on (at least 2: one has no interval). seeds: simulated ones.
    simulated: keys that are otherwise on the simulator's side, beside those of `LINUX`.
    rootless: as for `emulate`.

    Raises `ScenarioError`, `EmulationError`; `TooFewValidError` where fewer than two real runs are valid.
    """
    from penstock.runs import runner

    if runs < 2 or seeds < 2:
        raise ValueError("runs and seeds: at least 2 each; one has no interval")
    mapped, changed = as_linux(scenario, simulated)
    ours = runner.run(mapped, seeds, series=INTERVAL_S)
    theirs, emulations, invalid = [], [], []
    for i in range(runs):
        for attempt in range(ATTEMPTS):

            def tell(now: Status, i: int = i, attempt: int = attempt) -> None:
                if progress is not None:
                    again = f", attempt {attempt + 1}" if attempt else ""
                    done = min(1.0, max(0.0, now.t_s) / scenario.duration_s)
                    progress((i + done) / runs, f"real run {i + 1} of {runs}{again}")

            seed = scenario.seed + i
            done = emulate(scenario, seed=seed, series=INTERVAL_S, rootless=rootless, progress=tell)
            because = (*done.emulation["invalid_because"], *_without_ecn(done))
            if done.valid and not because:
                theirs.append(done.runs[0])
                emulations.append(done.emulation)
                break
            invalid.append(Invalid(seed, because))
    if len(theirs) < 2:
        why = "; ".join(dict.fromkeys(reason for each in invalid for reason in each.because))
        raise TooFewValidError(
            f"{scenario.name}: {len(theirs)} of {len(theirs) + len(invalid)} real runs were valid, 2 are needed: "
            f"the machine is too busy or too slow for this rate ({why})"
        )
    return Agreement(
        real=Result(scenario, theirs),
        simulated=ours,
        changed=changed,
        emulations=tuple(emulations),
        invalid=tuple(invalid),
    )


def _without_ecn(done: Emulated) -> list[str]:
    """Returns the flows that asked for ECN and did not get it, as where a SYN was lost: their marks became drops."""
    entries = done.scenario.resolved["traffic"]
    # Groups beyond the entries are calls' ways back: datagrams.
    ask = {i for i, entry in enumerate(entries) if entry.get("ecn", "off") != "off"}
    asked = [flow["group"] in ask for flow in done.runs[0].flows]
    kernel = done.emulation["kernel"]
    return [
        f"flow {i} asked for ECN and did not get it"
        for i, (wanted, found) in enumerate(zip(asked, kernel, strict=True))
        if wanted and found["ecn"] is False
    ]
