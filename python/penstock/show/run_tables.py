"""The results of runs as tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.judging.estimate import Estimate
from penstock.show.numbers import IDENTICAL, NOT_RANDOM, number, scale
from penstock.show.shown import Compared, Runs
from penstock.show.table import Bold, Table

#: What a comparison shows; `--json` has everything.
HEADLINES = (
    "utilization",
    "goodput_bps",
    "queue_mean_pkts",
    "queue_sd_pkts",
    "delay_mean_s",
    "delay_p99_s",
    "delay_variation_s",
    "loss_ratio",
    "drops_early",
    "drops_forced",
    "drops_overflow",
    "marks_ce",
    "timeouts",
    "jain",
    "fct_p50_s",
    "fct_p99_s",
    "page_time_mean_s",
    "page_time_p99_s",
)


def result_table(result: Runs) -> Table:
    """Returns a table of the metrics of one scenario that apply."""
    table = Table(_title(result))
    table.add_column("metric")
    many = len(result.runs) > 1
    table.add_column("mean ± 95 %" if many and not result.identical else "value", justify="right")
    table.add_column("")
    for metric, estimate in result.summary.items():
        if estimate.mean is not None:
            factor, unit = scale(metric, abs(estimate.mean))
            table.add_row(metric, number(_without_width(estimate) if result.identical else estimate, factor), unit)
    if result.identical:
        table.caption = NOT_RANDOM
    return table


def parts_table(result: Runs, parts: Mapping[str, Mapping[str, Estimate]], what: str) -> Table:
    """Returns a table of the metrics of a run's parts that apply, a column for each part.

    parts: name → metric → estimate. what: what they are, `"links"`.
    """
    table = Table(f"{what} of {_title(result)}")
    table.add_column("metric")
    table.add_column("", style="dim")
    for name in parts:
        table.add_column(name, justify="right")
    for metric in dict.fromkeys(metric for each in parts.values() for metric in each):
        estimates = [each.get(metric) for each in parts.values()]
        sizes = [abs(e.mean) for e in estimates if e is not None and e.mean is not None]
        if sizes:
            factor, unit = scale(metric, max(sizes))
            cells = [
                "–" if e is None else number(_without_width(e) if result.identical else e, factor) for e in estimates
            ]
            table.add_row(metric, unit, *cells)
    return table


def _without_width(estimate: Estimate) -> Estimate:
    """Returns the mean alone: an interval without a width says nothing."""
    return Estimate(estimate.mean, None, estimate.n)


#: What many disciplines are compared by: as many columns as a terminal has room for.
SHORT = ("utilization", "delay_mean_s", "delay_p99_s", "loss_ratio", "marks_ce", "timeouts", "jain")
#: Side by side up to here, then one below the other.
SIDE_BY_SIDE = 4


def comparison_table(comparison: Compared, link: str | None = None) -> Table:
    """Returns disciplines side by side, then the paired difference of each against the first.

    A difference is bold where its interval excludes 0. Many disciplines are listed one below the other, in fewer
    metrics.

    link: one whose metrics are shown; default: the run's, which are those of the bottleneck.
    """
    if len(comparison.results) > SIDE_BY_SIDE:
        return _ranking(comparison, link)
    first = comparison.results[comparison.baseline]
    many = len(first.runs) > 1
    table = Table(_title(first, kinds=True, link=link), keys=2)
    table.add_column("metric")
    table.add_column("", style="dim")
    for name in comparison.results:
        table.add_column(name, justify="right")
    for name in comparison.results:
        if name != comparison.baseline:
            table.add_column(f"{name} − {comparison.baseline}", justify="right")
    differences = {name: comparison.difference(name) for name in comparison.results if name != comparison.baseline}
    for metric, estimates in _compared(comparison, link):
        sizes = [abs(e.mean) for e in estimates if e is not None and e.mean is not None]
        if not sizes or max(sizes) == 0:
            continue
        factor, unit = scale(metric, max(sizes))
        cells = [number(e, factor) if e is not None else "–" for e in estimates]
        for difference in differences.values():
            paired = difference[_path(link, metric)]
            cell = number(paired, factor, sign=True)
            cells.append(Bold(cell) if many and _clear(paired) else cell)
        table.add_row(metric, unit, *cells)
    if many:
        caption = "mean ± 95 % interval; differences are paired by seed, bold where 0 is outside"
        table.caption = _unless_identical(comparison, caption)
    return table


#: What it shows of transfers by their size, where they have several.
BY_SIZE = tuple((f"fct_{size}_p99_s", f"slowdown_{size}_p99") for size in ("short", "medium", "long"))
#: What a comparison shows of each group, where groups are recorded.
OF_GROUPS = ("goodput_bps", "delay_mean_s", "delay_p99_s", "delay_variation_s", "loss_ratio", "r_factor")


def _compared(comparison: Compared, link: str | None) -> Iterator[tuple[str, list[Estimate | None]]]:
    """Yields the metrics that are compared, with the estimate for each discipline."""
    results = comparison.results.values()
    parts = [_part(result, link) for result in results]
    there = {name for part in parts for name, each in part.items() if each.mean is not None}
    sizes = [each for each in BY_SIZE if there.intersection(each)]
    for metric in (*HEADLINES, *(name for each in sizes for name in each if len(sizes) > 1)):
        yield metric, [part.get(metric) for part in parts]
    first = comparison.results[comparison.baseline]
    if link is None and first.scenario.core.records_groups:
        groups = [result.groups for result in results]
        for group in groups[0]:
            for metric in OF_GROUPS:
                yield f"groups.{group}.{metric}", [each[group].get(metric) for each in groups]


def _part(result: Runs, link: str | None) -> Mapping[str, Estimate]:
    """Returns the metrics of a link, or those of the run."""
    return result.summary if link is None else result.links[link]


def _path(link: str | None, metric: str) -> str:
    """Returns what a metric of a link is called among all."""
    return metric if link is None else f"links.{link}.{metric}"


def _unless_identical(comparison: Compared, caption: str) -> str:
    """Returns the caption with the disciplines whose runs no seed changes, or why none changes any."""
    if comparison.identical:
        return NOT_RANDOM
    same = [name for name, result in comparison.results.items() if result.identical]
    return f"{caption}; {IDENTICAL} with {', '.join(same)}" if same else caption


def _clear(difference: Estimate) -> bool:
    """Returns whether the interval of a difference excludes 0."""
    return difference.mean is not None and difference.ci95 is not None and abs(difference.mean) > difference.ci95


def _title(result: Runs, *, kinds: bool = False, link: str | None = None) -> str:
    runs = result.runs
    seeds = f"seed {runs[0].seed}" if len(runs) == 1 else f"seeds {runs[0].seed}–{runs[-1].seed}"
    parts = [result.scenario.name, f"{round(result.duration_s, 3):g} s", seeds, link or ""]
    if not kinds:
        parts.insert(1, result.scenario.label)
    return " · ".join(part for part in parts if part)


def _ranking(comparison: Compared, link: str | None) -> Table:
    """Returns one row per discipline, bold where the interval of its paired difference against the first excludes 0."""
    first = comparison.results[comparison.baseline]
    table = Table(_title(first, kinds=True, link=link))
    table.add_column("discipline")
    parts = {name: _part(result, link) for name, result in comparison.results.items()}
    shown = [metric for metric in SHORT if all(metric in part for part in parts.values())]
    largest = {metric: max((abs(part[metric].mean or 0.0) for part in parts.values()), default=0.0) for metric in shown}
    units = {metric: scale(metric, largest[metric]) for metric in shown}
    for metric in shown:
        table.add_column(f"{metric}\n{units[metric][1]}".rstrip(), justify="right")
    for name, part in parts.items():
        differences = comparison.difference(name)
        cells = [name]
        for metric in shown:
            cell = number(part[metric], units[metric][0])
            cells.append(Bold(cell) if _clear(differences[_path(link, metric)]) else cell)
        table.add_row(*cells)
    if len(first.runs) > 1:
        caption = f"mean ± 95 % interval; bold where the difference to {comparison.baseline}, paired by seed, is clear"
        table.caption = _unless_identical(comparison, caption)
    return table
