"""`penstock validate-real`: one scenario in the simulator and on real packets, metric by metric.

Both sides have the same bottleneck (one piece of code), the same payload, the same starts of the flows. Only the TCP
differs, and the clock: Linux's and the machine's on one side, ours and virtual time on the other. What the simulator's
TCP can be told of Linux's it is told (`as_linux`); no value is fitted to a result. Only valid emulations count.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock import _penstock
from penstock._agreement import Rule, Value, Verdict, judge
from penstock.emulation import Emulated, EmulationError, Status, emulate
from penstock.plot import window_s
from penstock.result import Estimate, Result
from penstock.scenario import Scenario

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

#: Real runs of a scenario, and simulated ones: these cost nothing, so that what is left of the interval is reality's.
RUNS, SEEDS = 3, 20
#: How often one real run is tried until it is valid.
ATTEMPTS = 3
#: Both sides' queue is sampled this often.
INTERVAL_S = 0.01
#: The shares at which the distributions of the delay are kept.
SHARES = tuple(i / 100 for i in range(101))

#: Bytes of Linux's timestamp option, on every segment.
TIMESTAMPS = 12


@dataclass(frozen=True, slots=True)
class Mapped:
    """A key of `[[traffic]]` by which the simulator is told what Linux does, and where that stands."""

    key: str
    value: object
    why: str
    tcp: tuple[str, ...] = ()


#: What Linux does and our defaults do not; `tcp`: for these transports alone.
LINUX = (
    Mapped("tcp", "sack", "Linux's reno repairs losses by SACK; `newreno` turns it off in the hosts", ("reno",)),
    Mapped("recovery", "sack", "likewise", ("westwood", "highspeed", "cubic", "dctcp")),
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
    """The scenario for the simulator, and the keys changed for it.

    A data segment on the real wire has 12 bytes more than the scenario says: the timestamps.

    changes: more of them, which win.
    """
    wanted: dict[str, object] = {}
    resolved = scenario.resolved
    for i, entry in enumerate(resolved["traffic"]):
        if entry["kind"] != "ftp":
            continue
        header, _ = (entry["header"] or resolved["overhead"]).split()
        wanted[f"traffic.{i}.header"] = f"{int(header) + TIMESTAMPS} B"
        for each in LINUX:
            if not each.tcp or entry["tcp"] in each.tcp:
                wanted[f"traffic.{i}.{each.key}"] = each.value
    wanted.update(changes or {})
    return scenario.set_all(wanted), wanted


Metrics = Mapping[str, "float | None"]


def _sum_per_second(*names: str) -> Callable[[Metrics, float], float | None]:
    def of(metrics: Metrics, seconds: float) -> float | None:
        known = [v for v in (metrics[name] for name in names) if v is not None]
        return math.fsum(known) / seconds if known else None

    return of


def _as_it_is(name: str) -> Callable[[Metrics, float], float | None]:
    return lambda metrics, _: metrics[name]


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
)


@dataclass(frozen=True, slots=True)
class Pair:
    """One metric on both sides: a value a run, means with intervals, the verdict."""

    metric: str
    tolerance: float
    real_values: tuple[float, ...]
    simulated_values: tuple[float, ...]
    verdict: Verdict

    @property
    def real(self) -> Estimate:
        """Over the real runs."""
        return Estimate.of(self.real_values)

    @property
    def simulated(self) -> Estimate:
        """Over the simulated ones."""
        return Estimate.of(self.simulated_values)


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
        """The scenario's."""
        return self.real.scenario.name

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Metric by metric; those that apply on neither side are left out."""
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
        """Whether every pair that counts does."""
        return all(pair.verdict.agrees is not False for pair in self.pairs)

    def delays_s(self) -> tuple[list[list[float]], list[list[float]]]:
        """The distribution of the delay in each run, real and simulated: its quantiles at `SHARES`.

        What waits at an instant over the link's rate, sampled alike on both sides: how long a packet that came
        then would wait.
        """
        import numpy as np

        def of(side: Result) -> list[list[float]]:
            return [np.quantile(each, SHARES).tolist() for each in _delays(side)]

        return of(self.real), of(self.simulated)

    def document(self) -> dict[str, Any]:
        """Everything but the series."""
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

    def plot(self) -> Figure:
        """Every metric against reality's, the distribution of the delay, a stretch of the queue on each side."""
        return _draw(self)


def document(agreements: Sequence[Agreement]) -> str:
    """What `penstock validate-real --json` prints."""
    cases = [each.document() for each in agreements]
    return json.dumps({"version": _penstock.__version__, "cases": cases}, ensure_ascii=False, separators=(",", ":"))


def _side(estimate: Estimate, values: Sequence[float]) -> dict[str, Any]:
    return {"mean": estimate.mean, "ci95": estimate.ci95, "n": estimate.n, "values": list(values)}


def _verdict(c: Compared, real: Sequence[float], simulated: Sequence[float]) -> Verdict:
    """By the rules of `penstock validate`, with reality as the reference."""
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

    runs: real ones, one a seed from the scenario's on (at least 2: one has no interval). seeds: simulated ones.
    simulated: keys that are otherwise on the simulator's side, beside those of `LINUX`.
    rootless: as for `emulate`.

    Raises `ScenarioError`, `EmulationError`; `TooFewValidError` where fewer than two real runs are valid.
    """
    from penstock import runner

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
    """The flows that asked for ECN and did not get it, as where a SYN was lost: their marks became drops."""
    entries = done.scenario.resolved["traffic"]
    asked = [entries[flow["group"]].get("ecn", "off") != "off" for flow in done.runs[0].flows]
    kernel = done.emulation["kernel"]
    return [
        f"flow {i} asked for ECN and did not get it"
        for i, (wanted, found) in enumerate(zip(asked, kernel, strict=True))
        if wanted and found["ecn"] is False
    ]


# ----------------------------------------------------------------------- showing

#: What stands for each metric in the summary of many scenarios.
HEADLINES = ("utilization", "delay_mean_s")


def word(verdict: Verdict) -> str:
    """A verdict in a word or two."""
    if verdict.agrees is None:
        return "not counted"
    return f"agrees ({verdict.why})" if verdict.agrees else f"differs ({verdict.why})"


def markdown(agreements: Sequence[Agreement]) -> str:
    """The summary as Markdown: a row a scenario, first the metrics that the bounds are about, then the others.

    A cell is the real value, an arrow, the simulated one and the difference: bold where it differs, with an i where
    only the interval lets it agree.
    """
    others = [c.name for c in COMPARED if c.name not in HEADLINES]
    return _markdown(agreements, HEADLINES) + "\n" + _markdown(agreements, others)


def _markdown(agreements: Sequence[Agreement], names: Sequence[str]) -> str:
    lines = ["| scenario | runs | " + " | ".join(names) + " |", "| --- " * (len(names) + 2) + "|"]
    for each in agreements:
        pairs = {pair.metric: pair for pair in each.pairs}
        cells = [_cell(pairs[name]) if name in pairs else "–" for name in names]
        again = f" (+ {len(each.invalid)} not counted)" if each.invalid else ""
        lines.append(f"| {each.name} | {len(each.emulations)}{again} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(pair: Pair) -> str:
    from penstock._tables import number, scale

    largest = max(abs(pair.real.mean or 0.0), abs(pair.simulated.mean or 0.0))
    if largest == 0:
        return "0"
    factor, unit = scale(pair.metric, largest)
    text = f"{number(pair.real, factor)} → {number(pair.simulated, factor)} {unit}, {pair.verdict.difference}"
    if pair.verdict.agrees is False:
        return f"**{text}**"
    return f"{text} i" if pair.verdict.why == "interval" else text


def _delays(side: Result) -> list[NDArray[np.float64]]:
    """What waited at each sample of the window over the link's rate: seconds, a row a run."""
    import pyarrow.compute as pc

    since, until = window_s(side)
    table = side.series("queue")
    delays = []
    for run in side.runs:
        mine = table.filter(pc.equal(table["seed"], run.seed))
        times, waiting = mine["t_s"].to_numpy(), mine["queue_bytes"].to_numpy()
        inside = (times >= since) & (times < until)
        delays.append(waiting[inside] * 8.0 / _rate_bps(run.metrics, side.scenario))
    return delays


def _rate_bps(metrics: Metrics, scenario: Scenario) -> float:
    """The link's mean rate in the window."""
    throughput, utilization = metrics["throughput_bps"], metrics["utilization"]
    if not throughput or not utilization:
        raise EmulationError(f"{scenario.name}: nothing crossed the bottleneck in the measured window")
    return throughput / utilization


def _draw(agreement: Agreement) -> Figure:
    from matplotlib.figure import Figure

    from penstock import style

    with style.context():
        figure = Figure(figsize=(9.6, 6.4))
        halves: Any = figure.subfigures(2, 1, height_ratios=(1.25, 1))
        above, below = halves
        figure.suptitle(agreement.name, x=0.01, ha="left", fontweight="bold")
        left, right = above.subplots(1, 2, width_ratios=(1.15, 1))
        _ratios(left, agreement)
        _distribution(right, agreement)
        axes = below.subplots(2, 1, sharex=True, sharey=True)
        tallest = 0.0
        sides = (("real", agreement.real), ("simulated", agreement.simulated))
        for i, (ax, (name, side)) in enumerate(zip(axes, sides, strict=True)):
            tallest = max(tallest, _stretch(ax, name, side, style.look(i).colour))
        axes[0].set_ylim(0, 1.08 * tallest or 1)
        axes[1].set_xlabel("time [s]")
        return figure


def _ratios(ax: Axes, agreement: Agreement) -> None:
    """A row a metric, in per cent of the real mean: each run a faint point, means with their intervals, the bound."""
    from penstock import style

    pairs = [pair for pair in agreement.pairs if pair.real.mean]
    for row, pair in enumerate(pairs):
        whole = pair.real.mean or 1.0
        ax.fill_between(
            [100 * (1 - pair.tolerance), 100 * (1 + pair.tolerance)],
            row - 0.42,
            row + 0.42,
            color=style.SHADE,
            linewidth=0,
            zorder=0,
        )
        for i, (estimate, values) in enumerate(
            ((pair.real, pair.real_values), (pair.simulated, pair.simulated_values))
        ):
            look, y = style.look(i), row + (-0.17, 0.17)[i]
            ax.scatter([100 * v / whole for v in values], [y] * len(values), s=9, color=look.colour, alpha=0.3, lw=0)
            if estimate.mean is not None:
                mean, half = 100 * estimate.mean / whole, 100 * (estimate.ci95 or 0.0) / whole
                ax.plot([mean - half, mean + half], [y, y], color=look.colour, linewidth=1.6)
                ax.scatter([mean], [y], s=28, color=look.colour, marker=look.marker, zorder=3, linewidth=0)
    labels = [f"{pair.metric}{'' if pair.verdict.agrees else ' ✗'}" for pair in pairs]
    ax.set_yticks(range(len(pairs)), labels)
    ax.set_ylim(len(pairs) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    # A count of few events may lie far out: the rest stays readable.
    ends = [100 * (e.mean or 0.0) / (p.real.mean or 1.0) for p in pairs for e in (p.real, p.simulated)]
    reach = min(100.0, max(25.0, 1.4 * max((abs(end - 100) for end in ends), default=0.0)))
    ax.set_xlim(100 - reach, 100 + reach)
    ax.set_xlabel("per cent of the real mean; shaded: the bound")


def _distribution(ax: Axes, agreement: Agreement) -> None:
    """The distributions of the delay: each run faint, all of a side strong."""
    import numpy as np

    from penstock import style

    for i, (name, side) in enumerate((("real", agreement.real), ("simulated", agreement.simulated))):
        look = style.look(i)
        delays = _delays(side)
        for each in delays:
            ax.plot(np.quantile(each, SHARES) * 1e3, SHARES, color=look.colour, alpha=0.2, linewidth=0.7)
        pooled = np.quantile(np.concatenate(delays), SHARES) * 1e3
        ax.plot(pooled, SHARES, color=look.colour, linestyle=look.line, linewidth=2, label=name)
    ax.set_xlabel("what waits over the link's rate [ms]")
    ax.set_ylabel("share of the time")
    ax.set_xlim(left=0)
    ax.set_ylim(0, 1.01)
    ax.legend(frameon=False, loc="upper left")


def _stretch(ax: Axes, name: str, side: Result, colour: str) -> float:
    """The queue of the first run in the window; returns its longest."""
    import pyarrow.compute as pc

    from penstock import style

    run = side.runs[0]
    since, until = window_s(side)
    table = side.series("queue")
    inside = pc.and_(pc.greater_equal(table["t_s"], since), pc.less(table["t_s"], until))
    mine = table.filter(pc.and_(pc.equal(table["seed"], run.seed), inside))
    times, waiting = mine["t_s"].to_numpy(), mine["queue_pkts"].to_numpy()
    ax.plot(times, waiting, color=colour, linewidth=0.8)
    title = f"{name}: queue, seed {run.seed}"
    if "avg_pkts" in mine.column_names:
        ax.plot(times, mine["avg_pkts"].to_numpy(), color=style.INK, linewidth=1.2)
        title += "; heavy: its average"
    ax.set_xlim(since, until)
    ax.set_title(title, color=colour)
    ax.set_ylabel("packets")
    return float(waiting.max(initial=0))
