"""RARED's threshold by rule, against the paper's 20 packets/s and against RED without RARED.

A part of `tools/stability.py`. The load of `scenarios/stability/rared.toml` rises at 20 s, on links
of several rates, round trips and weights. Everything scales with the bandwidth-delay product, as in
the RARED paper's own network: thresholds at 1/8 and 3/8 of it, a buffer of all of it, windows of 16
packets before the rise and of 5 after it. Runs of one seed are paired.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.fluid import rared
from penstock.judging.estimate import Estimate
from penstock.judging.paired import Paired, corrected, paired
from penstock.show import style
from penstock.show.numbers import number
from penstock.show.progress import Bar
from penstock.sweeps import store
from tables import fill, table

ROOT = Path(__file__).parent.parent
BASE = ROOT / "scenarios" / "stability" / "rared.toml"
PAGE = ROOT / "docs" / "rared-threshold.md"
FIGURE = ROOT / "docs" / "stability" / "rared.png"
RUNS = ROOT / "out" / "stability" / "rared"
SEEDS = 10

RATES_MBIT = (1.5, 10, 50)
TRIPS_MS = (20, 100, 300)
WEIGHTS: tuple[str | float, ...] = ("rtt", 0.002)
#: The paper's, and one that nothing reaches: RED.
FIXED, NEVER = 20.0, 1e9
#: A packet on the wire, bytes.
PACKET = 1040

#: Metric → how it is called, the factor of its unit, and whether less is better.
METRICS: Mapping[str, tuple[str, float, bool]] = {
    "delay_mean_s": ("mean delay, ms", 1e3, True),
    "delay_p99_s": ("99 % delay, ms", 1e3, True),
    "loss_ratio": ("loss, %", 100.0, True),
    "utilization": ("utilization, points", 100.0, False),
}
#: What the rule is compared with.
AGAINST = ("20 packets/s", "RED")


@dataclass(frozen=True, slots=True)
class Place:
    """A link: its rate, its round trip over an empty queue, and RED's weight."""

    mbit: float
    trip_ms: int
    weight: str | float

    @property
    def capacity(self) -> float:
        """Packets per second."""
        return self.mbit * 1e6 / (8 * PACKET)

    @property
    def pipe(self) -> float:
        """The bandwidth-delay product in packets."""
        return self.capacity * self.trip_ms / 1e3

    @property
    def w_q(self) -> float:
        """RED's weight: "rtt" is a time constant of ten round trips, as ns-2 guesses them."""
        if not isinstance(self.weight, str):
            return self.weight
        return float(self.scenario_keys().w_q)

    @property
    def rule(self) -> float:
        """The rule's threshold, with half a pipe of queue in the round trip."""
        trip_s = self.trip_ms / 1e3 + self.min_th * 2 / self.capacity
        return rared.slope_th(self.mbit * 1e6, trip_s, self.w_q, PACKET)

    @property
    def min_th(self) -> int:
        """An eighth of the pipe; at least 5."""
        return max(5, round(self.pipe / 8))

    def scenario_keys(self) -> Any:
        """Returns the discipline's keys as the model reads them."""
        from penstock.fluid.loops import Keys

        scenario = ps.Scenario.load(BASE).set_all(self.changes())
        return Keys(scenario.resolved["aqm"], scenario.core.facts().bottleneck, PACKET)

    def changes(self) -> dict[str, Any]:
        """Returns the keys of the scenario here."""
        return {
            "topology.bottleneck.rate": f"{self.mbit} Mbit/s",
            "topology.bottleneck.delay": f"{(self.trip_ms - 4) / 2:g} ms",
            "topology.bottleneck.buffer": f"{max(30, round(self.pipe))} packets",
            "aqm.min_th": f"{self.min_th} packets",
            "aqm.max_th": f"{3 * self.min_th} packets",
            "aqm.w_q": self.weight,
            "traffic.0.flows": max(2, round(self.pipe / 16)),
            "traffic.1.flows": max(4, round(self.pipe / 8)),
        }

    def thresholds(self) -> dict[str, float]:
        """Name → slope_th."""
        return {"rule": round(self.rule, 6), "20 packets/s": FIXED, "RED": NEVER}


def places() -> Iterator[Place]:
    """Yields every link."""
    for mbit, trip_ms, weight in itertools.product(RATES_MBIT, TRIPS_MS, WEIGHTS):
        yield Place(mbit, trip_ms, weight)


def main() -> None:
    """Runs what is not there, draws, and writes the page's tables."""
    runs = swept()
    compared = corrected(dict(comparisons(runs)))
    fill(PAGE, "tools/stability.py: rared", rows(compared))
    fill(PAGE, "tools/stability.py: rared count", counts(compared))
    style.save(figure(compared), str(FIGURE))


def swept() -> Mapping[tuple[Place, str, str], Mapping[int, float | None]]:
    """Returns place, threshold and metric → seed → value."""
    listed = [
        (place, name, {**place.changes(), "aqm.slope_th": slope})
        for place in places()
        for name, slope in place.thresholds().items()
    ]
    with Bar("rared") as bar:
        ps.sweep(
            BASE,
            over=[changes for _, _, changes in listed],
            seeds=SEEDS,
            out=RUNS,
            progress=lambda now: bar.show(now.done / max(1, now.runs), "rared", f"{now.done} runs"),
        )
    paths = list(listed[0][2])
    read = store.read(RUNS, [*paths, "seed", *METRICS]).to_pylist()
    found: dict[tuple[Place, str, str], dict[int, float | None]] = {}
    for place, name, changes in listed:
        for row in read:
            if _is(row, changes):
                for metric in METRICS:
                    found.setdefault((place, name, metric), {})[row["seed"]] = row[metric]
    return found


def _is(row: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Returns whether a run is that of a place and a threshold."""
    told = ("topology.bottleneck.rate", "topology.bottleneck.delay", "aqm.w_q")
    same = all(str(row[path]) == str(wanted[path]) for path in told)
    return same and float(row["aqm.slope_th"]) == wanted["aqm.slope_th"]


Label = tuple[Place, str, str]


def comparisons(
    runs: Mapping[tuple[Place, str, str], Mapping[int, float | None]],
) -> Iterator[tuple[Label, Paired]]:
    """Yields the rule against each of the others, at every place, by every metric."""
    for place, other, metric in itertools.product(places(), AGAINST, METRICS):
        yield (
            (place, other, metric),
            paired(runs[place, "rule", metric], runs[place, other, metric]),
        )


def better(label: Label, found: Paired) -> int:
    """Returns 1 where the rule is better, −1 where it is worse, 0 where the runs do not tell."""
    difference = found.difference
    assert isinstance(difference, Estimate)
    if found.p_adjusted is None or found.p_adjusted >= 0.05 or not difference.mean:
        return 0
    less_is_better = METRICS[label[2]][2]
    return 1 if (difference.mean < 0) == less_is_better else -1


def rows(compared: Mapping[Label, Paired]) -> list[str]:
    """Returns a line for each place: the threshold, and what it changes against 20 packets/s."""
    lines = []
    for place in places():
        cells = [
            f"{place.mbit:g} Mbit/s",
            f"{place.trip_ms} ms",
            str(place.weight),
            f"{place.rule:.3g}",
        ]
        for metric, (_, factor, _) in METRICS.items():
            label = (place, FIXED_NAME, metric)
            shown = number(compared[label].difference, factor, sign=True)  # type: ignore[arg-type]
            mark = {1: " better", -1: " worse", 0: ""}[better(label, compared[label])]
            cells.append(f"{shown}{mark}")
        lines.append(cells)
    header = [
        "rate",
        "RTT",
        "w_q",
        "the rule, packets/s",
        *(name for name, _, _ in METRICS.values()),
    ]
    return table(header, lines)


FIXED_NAME = AGAINST[0]


def counts(compared: Mapping[Label, Paired]) -> list[str]:
    """Returns how often the rule is better and worse."""
    lines = []
    for other, (metric, (name, _, _)) in itertools.product(AGAINST, METRICS.items()):
        found = [
            better(label, each) for label, each in compared.items() if label[1:] == (other, metric)
        ]
        lines.append(
            [
                other,
                name.split(",")[0],
                str(found.count(1)),
                str(found.count(-1)),
                str(found.count(0)),
            ]
        )
    return table(["against", "", "better", "worse", "not told apart"], lines, "llr")


def figure(compared: Mapping[Label, Paired]) -> Any:
    """Returns each metric's difference to 20 packets/s over the rule's threshold."""
    import matplotlib.pyplot as plt

    with style.context():
        drawn, axes = plt.subplots(1, len(METRICS), figsize=(12.0, 3.4))
        plt.close(drawn)
        for ax, (metric, (name, factor, _)) in zip(axes, METRICS.items(), strict=True):
            for i, trip_ms in enumerate(TRIPS_MS):
                look = style.look(i)
                chosen = [place for place in places() if place.trip_ms == trip_ms]
                found = [compared[place, FIXED_NAME, metric].difference for place in chosen]
                ax.errorbar(
                    [place.rule for place in chosen],
                    [factor * (each.mean or 0) for each in found],
                    [factor * (each.ci95 or 0) for each in found],  # type: ignore[union-attr]
                    fmt=look.marker,
                    color=look.colour,
                    ms=4,
                    lw=1,
                    label=f"{trip_ms} ms",
                )
            ax.axhline(0, color=style.INK, lw=0.8)
            ax.axvline(FIXED, color=style.MUTED, lw=0.8, ls="dashed")
            ax.set_xscale("log")
            ax.set_title(name)
            ax.set_xlabel("the rule's slope_th [packets/s]")
        axes[0].set_ylabel("difference to 20 packets/s")
        axes[-1].legend(frameon=False, title="round trip", loc="lower right")
        return drawn
