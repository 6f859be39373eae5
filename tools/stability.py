"""`make stability`: the fluid model against the simulator, RARED's rule against 20 packets/s.

    tools/stability.py [red|others|gates|rared…]

Draws the figures of `docs/stability`, and writes the tables of `docs/stability.md` and
`docs/rared-threshold.md` again, between their marks. The same build gives the same bytes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import penstock as ps
import tables
from penstock.fluid.figures import draw_spectra, map_of
from penstock.fluid.limits import OSCILLATES, SMALL_WINDOW
from penstock.fluid.margins import Margins, expected_sd
from penstock.fluid.model import Loop
from penstock.fluid.range import Case
from penstock.fluid.stability import Stability
from penstock.fluid.swing import Swing
from penstock.judging.estimate import Estimate
from penstock.show import style
from penstock.show.progress import Bar
from tables import table

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGE = DOCS / "stability.md"
FIGURES = DOCS / "stability"
SCENARIOS = ROOT / "scenarios" / "stability"
SEEDS = 3
#: Round trips in ms and flows of the spectra: from placid to wild along one round trip.
SPECTRA = ((98, 160), (98, 63), (98, 40), (98, 25))


def fill(name: str, lines: Iterable[str]) -> None:
    """Writes lines into the page, between the marks of that name."""
    tables.fill(PAGE, f"tools/stability.py: {name}", lines)


def judged(scenario: ps.Scenario | Path, label: str) -> Stability:
    """Returns a scenario's range with its runs."""
    with Bar(label) as bar:
        return ps.stability(scenario, simulate=True, seeds=SEEDS, progress=bar)


@dataclass(frozen=True, slots=True)
class Seen:
    """A point that has a balance and runs."""

    case: Case
    loop: Loop
    margins: Margins
    swing: Swing

    @property
    def flows(self) -> float:
        """The number of flows N."""
        return self.case.path.flows

    @property
    def trip_ms(self) -> int:
        """The round trip over an empty queue."""
        return round(self.case.path.rtt_s * 1e3)

    @property
    def lacks(self) -> float:
        """The phase margin in degrees; infinite where there is no crossover."""
        found = self.margins.phase_margin_deg
        return math.inf if found is None else found

    @property
    def lively(self) -> bool:
        """Returns whether the model's queue has the rhythm of one that oscillates."""
        expected = self.swing.expected_rhythm
        return not self.margins.stable or (expected is not None and expected >= OSCILLATES)


def seen(found: Stability) -> list[Seen]:
    """Returns the points of a range that have a balance and runs."""
    return [
        Seen(case, case.loop, case.margins, case.swing)
        for case in found.cases
        if case.loop is not None and case.margins is not None and case.swing is not None
    ]


def mean(estimate: Estimate) -> float:
    """Returns the mean of an estimate that has one."""
    assert estimate.mean is not None
    return estimate.mean


# ---- RED over its whole grid


def red() -> None:
    """Writes the map, the spectra, the standard deviations, and their numbers."""
    found = judged(SCENARIOS / "red.toml", "red")
    points = seen(found)
    style.save(map_of(found), str(FIGURES / "red-map.png"))
    style.save(spectra(points), str(FIGURES / "red-spectra.png"))
    style.save(scatter(points), str(FIGURES / "red-scatter.png"))
    fill("red", red_grid(points))
    fill("red agreement", agreement({"RED": points}))
    fill("red numbers", red_numbers(points))
    fill("red signals", signals(points))


def red_grid(points: Sequence[Seen]) -> list[str]:
    """Returns phase margin and rhythm, a line for each number of flows."""
    trips = sorted({each.trip_ms for each in points})
    place = {(each.flows, each.trip_ms): cell(each) for each in points}
    rows = [
        [f"{flows:g}", *(place.get((flows, trip), "–") for trip in trips)]
        for flows in sorted({each.flows for each in points})
    ]
    return table(["flows", *(f"{trip} ms" for trip in trips)], rows)


def cell(each: Seen) -> str:
    """Returns a point: the phase margin, and the rhythm of its runs, bold where they oscillate."""
    return f"{degrees(each)} / {bold(each)}"


def degrees(each: Seen) -> str:
    """Returns the phase margin."""
    return "none" if math.isinf(each.lacks) else f"{each.lacks:+.0f}°"


def bold(each: Seen) -> str:
    """Returns the rhythm of the runs, bold where they oscillate."""
    rhythm = f"{mean(each.swing.rhythm):.2f}"
    return f"**{rhythm}**" if each.swing.oscillates else rhythm


def red_numbers(points: Sequence[Seen]) -> list[str]:
    """Returns balance, scatter and frequency: model and runs, grouped by phase margin."""
    bands = ((-math.inf, -30), (-30, 0), (0, 30), (30, 60), (60, math.inf))
    rows = []
    for low, high in bands:
        inside = [p for p in points if low <= p.lacks < high or (p.lacks == high == math.inf)]
        name = f"{low:g}° to {high:g}°"
        if math.isinf(low):
            name = f"below {high:g}°"
        if math.isinf(high):
            name = f"above {low:g}°, or no crossover"
        stable = [p for p in inside if p.margins.stable]
        swings = [p for p in inside if p.swing.oscillates]
        used = min(mean(p.swing.utilization) for p in inside)
        rows.append(
            [
                name,
                str(len(inside)),
                spread([mean(p.swing.queue_pkts) / p.loop.at.queue for p in inside]),
                spread([mean(p.swing.sd_pkts) / expected_sd(p.loop) for p in stable]),
                spread([mean(p.swing.rhythm) for p in inside]),
                spread([mean(p.swing.near) for p in inside]),
                spread([p.swing.peak_rad_s / p.swing.frequency_rad_s for p in swings]),
                f"{100 * used:.1f} %",
            ]
        )
    header = [
        "phase margin",
        "points",
        "mean queue, runs/model",
        "sd, runs/model",
        "rhythm",
        "variance near the frequency",
        "peak/expected",
        "least utilization",
    ]
    return table(header, rows, "lr")


def signals(points: Sequence[Seen]) -> list[str]:
    """Returns the rhythm of points that should oscillate, by the number of signals in a swing."""
    rows = []
    for low, high in ((0, 3), (3, 10), (10, 30), (30, math.inf)):
        inside = [
            p
            for p in points
            if not p.margins.stable
            and low <= (p.case.signals_per_swing or 0) < high
            and p.loop.at.window >= SMALL_WINDOW
        ]
        name = f"{low} or more" if math.isinf(high) else f"{low} to {high}"
        swings = sum(p.swing.oscillates for p in inside)
        rhythm = spread([mean(p.swing.rhythm) for p in inside])
        rows.append([name, str(len(inside)), str(swings), rhythm])
    return table(["signals in a swing", "points", "oscillate in the runs", "rhythm"], rows, "lr")


def spread(values: Sequence[float]) -> str:
    """Returns the median, and the ends."""
    if not values:
        return "–"
    ordered = sorted(values)
    middle = ordered[len(ordered) // 2]
    return f"{middle:.2f} ({ordered[0]:.2f} to {ordered[-1]:.2f})"


RULES: Mapping[str, Callable[[Seen], bool]] = {
    "its phase margin is below 0": lambda each: not each.margins.stable,
    f"that, or its rhythm is at least {OSCILLATES}": lambda each: each.lively,
}


def agreement(ranges: Mapping[str, Sequence[Seen]]) -> list[str]:
    """Returns how often the runs do what the model says, by both of its rules."""
    sure = {
        f"{name}, without doubtful points": [p for p in points if not p.case.doubts]
        for name, points in ranges.items()
    }
    rows = []
    for name, points in {**ranges, **sure}.items():
        for rule, says in RULES.items():
            swings = [p.swing.oscillates for p in points if says(p)]
            calm = [p.swing.oscillates for p in points if not says(p)]
            right = sum(swings) + len(calm) - sum(calm)
            wanted, unwanted = f"{sum(swings)} of {len(swings)}", f"{sum(calm)} of {len(calm)}"
            rows.append([name, rule, wanted, unwanted, f"{right} of {len(points)}"])
    header = [
        "",
        "the model oscillates where",
        "so do the runs",
        "elsewhere the runs oscillate",
        "agree",
    ]
    return table(header, rows, "llr")


def spectra(points: Sequence[Seen]) -> Any:
    """Returns the spectra of four points."""
    place = {(each.trip_ms, each.flows): each.case for each in points}
    with style.context():
        figure, axes = _axes(1, len(SPECTRA), (11.0, 3.3), sharey=True)
        draw_spectra(axes, [place[at] for at in SPECTRA])
        return figure


def scatter(points: Sequence[Seen]) -> Any:
    """Returns standard deviation and rhythm: what the runs have over what the model expects."""
    stable = [p for p in points if p.margins.stable and not p.case.doubts]
    deviations = [(expected_sd(p.loop), mean(p.swing.sd_pkts)) for p in stable]
    rhythms = [(p.swing.expected_rhythm or 0.0, mean(p.swing.rhythm)) for p in stable]
    with style.context():
        figure, (left, right) = _axes(1, 2, (8.4, 3.9))
        drawn = ((left, deviations, "standard deviation [packets]"), (right, rhythms, "rhythm"))
        for ax, pairs, name in drawn:
            x, y = zip(*pairs, strict=True)
            look = style.look(0)
            ax.plot(x, y, look.marker, color=look.colour, ms=4)
            ends = [0, 1.06 * max(*x, *y)]
            ax.plot(ends, ends, color=style.INK, lw=0.8)
            ax.set(xlim=ends, ylim=ends, xlabel=f"{name}, model", ylabel=f"{name}, runs")
        right.axhline(OSCILLATES, color=style.MUTED, lw=0.8, ls="dashed")
        right.axvline(OSCILLATES, color=style.MUTED, lw=0.8, ls="dashed")
        left.set_title("Points that the model calls stable")
        return figure


def _axes(
    rows: int, columns: int, size: tuple[float, float], **shared: Any
) -> tuple[Any, list[Any]]:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, **shared)
    plt.close(figure)
    return figure, list(axes.flat)


# ---- PI, REM, AMECN; RED's gates, and drops


def others() -> None:
    """Compares PI, REM and AMECN on a few points."""
    ranges = {
        name: seen(judged(SCENARIOS / f"{key}.toml", key))
        for key, name in (("pi", "PI"), ("rem", "REM"), ("amecn", "AMECN"))
    }
    rows = [row(name, each) for name, points in ranges.items() for each in points]
    fill("others", table(ROW, rows, "lr"))
    fill("others agreement", agreement(ranges))


ROW = [
    "",
    "flows",
    "RTT",
    "window",
    "signals in a swing",
    "phase margin",
    "crossover, rad/s",
    "mean queue: model, runs",
    "sd: model, runs",
    "rhythm: model, runs",
    "utilization",
]


def row(name: str, each: Seen) -> list[str]:
    """Returns a line about one point."""
    crossover, expected = each.margins.crossover_rad_s, each.swing.expected_rhythm
    sd = f"{expected_sd(each.loop):.0f}" if each.margins.stable else "–"
    return [
        name,
        f"{each.flows:g}",
        f"{each.trip_ms} ms",
        f"{each.loop.at.window:.1f}",
        f"{float(f'{each.case.signals_per_swing or math.nan:.2g}'):,.10g}",
        degrees(each),
        "–" if crossover is None else f"{crossover:.2g}",
        f"{each.loop.at.queue:.0f}, {mean(each.swing.queue_pkts):.0f}",
        f"{sd}, {mean(each.swing.sd_pkts):.0f}",
        f"{'–' if expected is None else f'{expected:.2f}'}, {bold(each)}",
        f"{100 * mean(each.swing.utilization):.1f} %",
    ]


def gates() -> None:
    """Compares RED's three gates at the same D, drops instead of marks, and a slow average."""
    base = ps.Scenario.load(SCENARIOS / "red.toml")
    forms: Mapping[str, Mapping[str, Any]] = {
        "uniform, max_p 0.05": {},
        "geometric, max_p 0.1": {"aqm.gate": "geometric", "aqm.max_p": 0.1},
        "wait, max_p 0.15": {"aqm.gate": "wait", "aqm.max_p": 0.15},
        "drops": {"aqm.ecn": False, "traffic.0.ecn": "off"},
        "delayed ACKs": {"traffic.0.delayed_ack": True},
        "averages over 1 s": {"aqm.w_q": "auto"},
    }
    here = {
        "sweep.traffic.0.flows": [25, 63, 160],
        "sweep.topology.bottleneck.delay": ["45 ms"],
    }
    rows = []
    for name, changes in forms.items():
        rows += [row(name, each) for each in seen(judged(base.set_all({**changes, **here}), name))]
    fill("forms", table(ROW, rows, "lr"))


# ---- the command


def rared() -> None:
    """Compares RARED's thresholds: the rule, 20 packets/s, and neither."""
    import rared_threshold

    rared_threshold.main()


PARTS: Mapping[str, Callable[[], None]] = {
    "red": red,
    "others": others,
    "gates": gates,
    "rared": rared,
}


def main(names: Sequence[str]) -> None:
    """Does these parts, or all."""
    for name in names or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
