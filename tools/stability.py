"""`make stability`: the fluid model against the simulator, RARED's rule against 20 packets/s.

    tools/stability.py [red|others|gates|rared…]

Draws the figures of `docs/stability`, and writes the tables of `docs/stability.md` and
`docs/rared-threshold.md` again, between their marks. The same build gives the same bytes.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import penstock as ps
from penstock._files import write
from penstock.fluid.figures import draw_spectra, map_of
from penstock.fluid.margins import expected_sd
from penstock.fluid.range import SMALL_WINDOW, Case, Stability
from penstock.fluid.simulated import OSCILLATES
from penstock.show import style
from penstock.show.progress import Bar

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGE = DOCS / "stability.md"
FIGURES = DOCS / "stability"
SCENARIOS = ROOT / "scenarios" / "stability"
SEEDS = 3
#: Round trips in ms and flows of the spectra: from placid to wild along one round trip.
SPECTRA = ((98.0, 160), (98.0, 63), (98.0, 25), (98.0, 10))


def fill(page: Path, name: str, lines: Iterable[str]) -> None:
    """Writes lines between a page's marks of that name."""
    text = page.read_text(encoding="utf-8")
    begin = f"<!-- made by tools/stability.py: {name} -->"
    pattern = re.compile(re.escape(begin) + r".*?<!-- end -->", re.S)
    assert pattern.search(text), f"{page}: has no marks of {name}"
    made = "\n".join([begin, "", *lines, "", "<!-- end -->"])
    write(page, pattern.sub(lambda _: made, text))


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 0) -> list[str]:
    """A Markdown table. left: how many columns are words."""
    rules = ["---" if i < left else "---:" for i in range(len(header))]
    return ["| " + " | ".join(cells) + " |" for cells in (header, rules, *rows)]


def judged(scenario: ps.Scenario | Path, label: str) -> Stability:
    """A scenario's range with its runs."""
    with Bar(label) as bar:
        return ps.stability(scenario, simulate=True, seeds=SEEDS, progress=bar)


# ---- RED over its whole grid


def red() -> None:
    """The map, the spectra, the standard deviations, and their numbers."""
    found = judged(SCENARIOS / "red.toml", "red")
    style.save(map_of(found), str(FIGURES / "red-map.png"))
    style.save(spectra(found), str(FIGURES / "red-spectra.png"))
    style.save(scatter(found), str(FIGURES / "red-scatter.png"))
    fill(PAGE, "red", red_grid(found))
    fill(PAGE, "red agreement", agreement({"RED": found}))
    fill(PAGE, "red numbers", red_numbers(found))
    fill(PAGE, "red signals", signals(found))


def red_grid(found: Stability) -> list[str]:
    """Phase margin and rhythm, a line for each number of flows."""
    trips = sorted({round(case.path.rtt_s * 1e3) for case in found.cases})
    rows = []
    for flows in sorted({case.path.flows for case in found.cases}):
        cells = [f"{flows:g}"]
        for trip in trips:
            case = next(
                c
                for c in found.cases
                if c.path.flows == flows and round(c.path.rtt_s * 1e3) == trip
            )
            cells.append(cell(case))
        rows.append(cells)
    return table(["flows", *(f"{trip} ms" for trip in trips)], rows)


def cell(case: Case) -> str:
    """A point: the phase margin, and the rhythm of its runs, bold where they oscillate."""
    if case.margins is None or case.swing is None:
        return "–"
    lacks = case.margins.phase_margin_deg
    margin = "none" if lacks is None else f"{lacks:+.0f}°"
    rhythm = f"{case.swing.rhythm.mean:.2f}"
    return f"{margin} / " + (f"**{rhythm}**" if case.swing.oscillates else rhythm)


def red_numbers(found: Stability) -> list[str]:
    """Balance, scatter and frequency: model and runs, grouped by phase margin."""
    bands = ((-math.inf, -30), (-30, 0), (0, 30), (30, 60), (60, math.inf))
    rows = []
    for low, high in bands:
        cases = [c for c in found.cases if c.margins and c.swing and low <= margin(c) < high]
        if not cases:
            continue
        name = f"{low:g}° to {high:g}°"
        if math.isinf(low):
            name = f"below {high:g}°"
        if math.isinf(high):
            name = f"above {low:g}°, or no crossover"
        queue = [c.swing.queue_pkts.mean / c.loop.at.queue for c in cases]  # type: ignore[union-attr,operator]
        sd = [
            c.swing.sd_pkts.mean / expected_sd(c.loop)  # type: ignore[union-attr,operator,arg-type]
            for c in cases
            if c.stable
        ]
        peak = [
            c.swing.peak_rad_s / (c.margins.frequency_rad_s or 1)
            for c in cases
            if c.swing.oscillates
        ]  # type: ignore[union-attr]
        near = [c.swing.near.mean or 0 for c in cases]  # type: ignore[union-attr]
        rhythm = [c.swing.rhythm.mean or 0 for c in cases]  # type: ignore[union-attr]
        used = [c.swing.utilization.mean or 0 for c in cases]  # type: ignore[union-attr]
        rows.append(
            [
                name,
                str(len(cases)),
                spread(queue),
                spread(sd),
                spread(rhythm),
                spread(near),
                spread(peak),
                f"{100 * min(used):.1f} %",
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
    return table(header, rows, left=1)


def signals(found: Stability) -> list[str]:
    """The rhythm of points that should oscillate, by the number of signals in a swing."""
    rows = []
    for low, high in ((0, 3), (3, 10), (10, 30), (30, math.inf)):
        cases = [
            c
            for c in found.cases
            if c.stable is False
            and c.swing is not None
            and low <= (c.signals_per_swing or 0) < high
            and c.loop is not None
            and c.loop.at.window >= SMALL_WINDOW
        ]
        name = f"{low} or more" if math.isinf(high) else f"{low} to {high}"
        rhythm = [c.swing.rhythm.mean or 0 for c in cases]  # type: ignore[union-attr]
        swings = sum(oscillates(c) for c in cases)
        rows.append([name, str(len(cases)), str(swings), spread(rhythm)])
    return table(["signals in a swing", "points", "oscillate in the runs", "rhythm"], rows, left=1)


def margin(case: Case) -> float:
    """The phase margin; infinite where there is no crossover."""
    lacks = None if case.margins is None else case.margins.phase_margin_deg
    return math.inf if lacks is None else lacks


def spread(values: Sequence[float]) -> str:
    """The median, and the ends."""
    if not values:
        return "–"
    ordered = sorted(values)
    middle = ordered[len(ordered) // 2]
    return f"{middle:.2f} ({ordered[0]:.2f} to {ordered[-1]:.2f})"


def agreement(all_found: Mapping[str, Stability]) -> list[str]:
    """How often the runs do what the model says, by both of its rules."""
    rows = []
    everywhere = [(name, found, False) for name, found in all_found.items()]
    for name, found, only_sure in everywhere + [(n, f, True) for n, f, _ in everywhere]:
        cases = [c for c in found.cases if c.swing is not None and (sure(c) or not only_sure)]
        for rule, says in RULES.items():
            swings = [c for c in cases if says(c)]
            calm = [c for c in cases if not says(c)]
            right = sum(oscillates(c) for c in swings) + sum(not oscillates(c) for c in calm)
            rows.append(
                [
                    f"{name}, without the hatched points" if only_sure else name,
                    rule,
                    f"{sum(oscillates(c) for c in swings)} of {len(swings)}",
                    f"{sum(oscillates(c) for c in calm)} of {len(calm)}",
                    f"{right} of {len(cases)}",
                ]
            )
    header = [
        "",
        "the model oscillates where",
        "so do the runs",
        "elsewhere the runs oscillate",
        "agree",
    ]
    return table(header, rows, left=2)


def oscillates(case: Case) -> bool:
    """Whether a point's runs oscillate."""
    return case.swing is not None and case.swing.oscillates


def lively(case: Case) -> bool:
    """Whether the model's queue has the rhythm of one that oscillates."""
    assert case.swing is not None
    expected = case.swing.expected_rhythm
    return case.stable is False or (expected is not None and expected >= OSCILLATES)


def sure(case: Case) -> bool:
    """Whether nothing at a point makes the model doubtful."""
    return not case.doubts


RULES: Mapping[str, Callable[[Case], bool]] = {
    "its phase margin is below 0": lambda case: case.stable is False,
    f"that, or its rhythm is at least {OSCILLATES}": lively,
}


def spectra(found: Stability) -> Any:
    """The spectra of four points."""
    cases = []
    for trip, flows in SPECTRA:
        cases.append(
            next(
                c
                for c in found.cases
                if c.path.flows == flows and abs(c.path.rtt_s * 1e3 - trip) < 1
            )
        )
    with style.context():
        figure, axes = _axes(1, len(cases), (11.0, 3.3), sharey=True)
        draw_spectra(axes, cases)
        return figure


def scatter(found: Stability) -> Any:
    """Standard deviation and rhythm: what the runs have over what the model expects."""
    stable = [c for c in found.cases if c.stable and c.swing is not None]
    with style.context():
        figure, (left, right) = _axes(1, 2, (8.4, 3.9))
        for ax, pairs, name in (
            (
                left,
                [(expected_sd(c.loop), c.swing.sd_pkts.mean) for c in stable],  # type: ignore[arg-type,union-attr]
                "standard deviation [packets]",
            ),
            (
                right,
                [(c.swing.expected_rhythm, c.swing.rhythm.mean) for c in stable],  # type: ignore[union-attr]
                "rhythm",
            ),
        ):
            x, y = zip(*pairs, strict=True)
            look = style.look(0)
            ax.plot(x, y, look.marker, color=look.colour, ms=4)
            ends = [min(*x, *y), max(*x, *y)]
            ax.plot(ends, ends, color=style.INK, lw=0.8)
            ax.set_xlabel(f"{name}, model")
            ax.set_ylabel(f"{name}, runs")
        left.set_xscale("log")
        left.set_yscale("log")
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
    """PI, REM and AMECN on a few points."""
    all_found = {
        name: judged(SCENARIOS / f"{key}.toml", key)
        for key, name in (("pi", "PI"), ("rem", "REM"), ("amecn", "AMECN"))
    }
    rows = [point(name, case) for name, found in all_found.items() for case in found.cases]
    fill(PAGE, "others", table(POINT, rows, left=1))
    fill(PAGE, "others agreement", agreement(all_found))


POINT = [
    "",
    "flows",
    "RTT",
    "phase margin",
    "crossover, rad/s",
    "mean queue: model, runs",
    "sd: model, runs",
    "rhythm: model, runs",
    "utilization",
]


def point(name: str, case: Case) -> list[str]:
    """A line about one point."""
    where = [name, f"{case.path.flows:g}", f"{case.path.rtt_s * 1e3:.0f} ms"]
    if case.margins is None or case.swing is None or case.loop is None:
        return [*where, *["–"] * 6]
    lacks, crossover, swing = (
        case.margins.phase_margin_deg,
        case.margins.crossover_rad_s,
        case.swing,
    )
    expected = f"{expected_sd(case.loop):.0f}" if case.stable else "–"
    rhythm = "–" if swing.expected_rhythm is None else f"{swing.expected_rhythm:.2f}"
    got = f"{swing.rhythm.mean:.2f}"
    return [
        *where,
        "none" if lacks is None else f"{lacks:+.0f}°",
        "–" if crossover is None else f"{crossover:.2g}",
        f"{case.loop.at.queue:.0f}, {swing.queue_pkts.mean:.0f}",
        f"{expected}, {swing.sd_pkts.mean:.0f}",
        f"{rhythm}, " + (f"**{got}**" if swing.oscillates else got),
        f"{100 * (swing.utilization.mean or 0):.1f} %",
    ]


def gates() -> None:
    """RED's three gates at the same D, and drops instead of marks."""
    base = ps.Scenario.load(SCENARIOS / "red.toml")
    forms: Mapping[str, Mapping[str, Any]] = {
        "uniform, max_p 0.05": {},
        "geometric, max_p 0.1": {"aqm.gate": "geometric", "aqm.max_p": 0.1},
        "wait, max_p 0.15": {"aqm.gate": "wait", "aqm.max_p": 0.15},
        "drops": {"aqm.ecn": False, "traffic.0.ecn": "off"},
        "delayed ACKs": {"traffic.0.delayed_ack": True},
        "averages over 1 s": {"aqm.w_q": "auto"},
    }
    rows = []
    for name, changes in forms.items():
        scenario = base.set_all(
            {
                **changes,
                "sweep.traffic.0.flows": [25, 63, 160],
                "sweep.topology.bottleneck.delay": ["45 ms"],
            }
        )
        rows += [point(name, case) for case in judged(scenario, name).cases]
    fill(PAGE, "forms", table(POINT, rows, left=1))


# ---- the command


def rared() -> None:
    """RARED's threshold: the rule, 20 packets/s, and neither."""
    import rared_threshold

    rared_threshold.main(fill, table)


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
