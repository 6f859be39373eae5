"""Results as text for a person: numbers in units that read well, tables on a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.result import Comparison, Estimate, Result

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from penstock.emulation import Emulated
    from penstock.probing import Probe
    from penstock.reproduce.model import Finding, Paper
    from penstock.validate_real import Agreement

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
)


def scale(metric: str, size: float) -> tuple[float, str]:
    """The factor and unit in which a metric of that size reads well; the metric's name ends in its own unit.

    >>> scale("delay_mean_s", 0.08)
    (1000.0, 'ms')
    """
    if metric.endswith("_bps"):
        for limit, factor, unit in ((1e9, 1e-9, "Gbit/s"), (1e6, 1e-6, "Mbit/s"), (1e3, 1e-3, "kbit/s")):
            if size >= limit:
                return factor, unit
        return 1.0, "bit/s"
    if metric.endswith("_s2"):
        return 1e6, "ms²"
    if metric.endswith("_per_s"):
        return 1.0, "/s"
    if metric.endswith("_s"):
        return (1.0, "s") if size >= 10 else (1e3, "ms")
    if metric.endswith("_pkts"):
        return 1.0, "packets"
    if metric == "utilization" or metric.endswith("_ratio"):
        return 100.0, "%"
    return 1.0, ""


def number(estimate: Estimate, factor: float = 1.0, *, sign: bool = False) -> str:
    """An estimate as text: the interval to two figures, the mean to the same place.

    >>> number(Estimate(mean=0.08123, ci95=0.00123, n=10), 1000.0)
    '81.2 ± 1.2'
    >>> number(Estimate(mean=0.5, ci95=None, n=1), sign=True)
    '+0.5000'
    >>> number(Estimate(mean=-1e-17, ci95=2e-17, n=10))
    '0 ± 0'
    """
    if estimate.mean is None:
        return "–"
    plus = "+" if sign else ""
    mean = _shown(estimate.mean * factor)
    if estimate.ci95 is None:
        return f"{mean:{plus}.{_places(mean, 4)}f}"
    half = _shown(estimate.ci95 * factor)
    places = _places(half, 2) if half > 0 else _places(mean, 4)
    return f"{mean:{plus}.{places}f} ± {half:.{places}f}"


def spanned(mean: float | None, ends: tuple[float, float] | None, factor: float = 1.0, *, sign: bool = False) -> str:
    """A mean and the ends of an interval that need not be symmetric, to two figures of its half-width.

    >>> spanned(0.08123, (0.0801, 0.0842), 1000.0)
    '81.2 (80.1 to 84.2)'
    """
    if mean is None or ends is None:
        return number(Estimate(mean=mean, ci95=None, n=0), factor, sign=sign)
    low, middle, high = (_shown(each * factor) for each in (ends[0], mean, ends[1]))
    half = (high - low) / 2
    places = _places(half, 2) if half > 0 else _places(middle, 4)
    plus = "+" if sign else ""
    return f"{middle:{plus}.{places}f} ({low:{plus}.{places}f} to {high:{plus}.{places}f})"


#: Decimal places, at most.
PLACES = 9


def _shown(value: float) -> float:
    """The value, or 0 where no place shown has a digit of it: what rounding leaves of a difference of equals."""
    return 0.0 if abs(value) < 0.5 * 10**-PLACES else value


def _places(value: float, figures: int) -> int:
    """Decimal places that show `figures` significant figures of `value`; whole numbers show none."""
    if value == 0 or (figures > 2 and value == int(value)):
        return 0
    return max(0, min(PLACES, figures - 1 - math.floor(math.log10(abs(value)))))


def result_table(result: Result) -> Table:
    """All metrics of one scenario that apply."""
    table = _new(_title(result))
    table.add_column("metric")
    many = len(result.runs) > 1
    table.add_column("mean ± 95 %" if many else "value", justify="right")
    table.add_column("")
    for metric, estimate in result.summary.items():
        if estimate.mean is not None:
            factor, unit = scale(metric, abs(estimate.mean))
            table.add_row(metric, number(estimate, factor), unit)
    return table


#: What many disciplines are compared by: as many columns as a terminal has room for.
SHORT = ("utilization", "delay_mean_s", "delay_p99_s", "loss_ratio", "marks_ce", "timeouts", "jain")
#: Side by side up to here, then one below the other.
SIDE_BY_SIDE = 4


def emulated_table(result: Emulated) -> Group:
    """One run on real packets: its metrics, and how far to believe them."""
    from rich.console import Group
    from rich.text import Text

    e = result.emulation

    def us(value: float | None) -> str:
        return "–" if value is None else f"{value * 1e6:.0f} µs"

    more = f" {e['overhead_bytes']:+d} a packet" if e["overhead_bytes"] else ""
    lines = [
        f"{'valid' if e['valid'] else 'NOT VALID'} · {e['backend']}, {e['privilege']}, scheduling {e['priority']}; "
        f"the rate counts IP bytes{more}",
        f"late: p50 {us(e['late_p50_s'])}, p99 {us(e['late_p99_s'])}, p99.9 {us(e['late_p999_s'])}, "
        f"max {us(e['late_max_s'])}; "
        f"{e['late_share'] * 100:.2f} % by more than one transmission time ({us(e['transmission_s'])}) · "
        f"CPU {us(e['cpu_per_packet_s'])} a packet",
        *(f"not valid: {why}" for why in e["invalid_because"]),
        *(f"note: {note}" for note in e["notes"]),
    ]
    if e["frames"]["made_ce"] or e["frames"]["made_ect1"]:
        received = "unknown" if e["received_ce"] is None else str(e["received_ce"])
        if e["frames"]["handshake_ce"]:
            received += f" ({e['frames']['handshake_ce']} completed a handshake, where it counts none)"
        lines.append(
            f"marks of the whole run: {e['frames']['made_ce']} CE and {e['frames']['made_ect1']} ECT(1) made; "
            f"CE as the receiving kernel counts them: {received}"
        )
    return Group(result_table(result), *(Text(line) for line in lines))


def agreement_table(agreement: Agreement) -> Group:
    """One scenario on real packets and in the simulator, metric by metric, and what the real runs were like."""
    from rich.console import Group
    from rich.text import Text

    from penstock.validate_real import word

    real, simulated = len(agreement.real.runs), len(agreement.simulated.runs)
    seconds = f"{agreement.real.scenario.duration_s:g} s"
    table = _new(f"{agreement.name} · {seconds} · {real} real runs, {simulated} simulated")
    table.add_column("metric")
    for name in ("real", "simulated"):
        table.add_column(name, justify="right")
    table.add_column("")
    table.add_column("difference", justify="right")
    table.add_column("verdict")
    for pair in agreement.pairs:
        factor, unit = scale(pair.metric, max(abs(pair.real.mean or 0.0), abs(pair.simulated.mean or 0.0)))
        said = word(pair.verdict)
        table.add_row(
            pair.metric,
            number(pair.real, factor),
            number(pair.simulated, factor),
            unit,
            pair.verdict.difference,
            f"[bold]{said}[/bold]" if pair.verdict.agrees is False else said,
        )
    table.caption = "mean ± 95 % interval (Student's t); the difference is that of the simulated mean to the real one"
    table.caption_justify = "left"
    late = max(e["late_p99_s"] or 0.0 for e in agreement.emulations)
    lines = [
        f"{len(agreement.emulations)} valid real runs; 99 % of their frames were at most {late * 1e6:.0f} µs late",
        *(f"not counted, seed {each.seed}: {'; '.join(each.because)}" for each in agreement.invalid),
        *(f"note: {note}" for note in dict.fromkeys(n for e in agreement.emulations for n in e["notes"])),
    ]
    return Group(table, *(Text(line) for line in lines))


def agreements_table(agreements: Sequence[Agreement]) -> Table:
    """Many scenarios, a row each: the two metrics that the bounds are about, and which others differ."""
    from penstock.validate_real import HEADLINES

    table = _new("simulated against real")
    table.add_column("scenario")
    for name in HEADLINES:
        table.add_column(name, justify="right")
    table.add_column("differs")
    for each in agreements:
        pairs = {pair.metric: pair for pair in each.pairs}
        cells = [
            f"{pairs[name].verdict.difference} {'agrees' if pairs[name].verdict.agrees else 'differs'}"
            for name in HEADLINES
        ]
        differ = ", ".join(pair.metric for pair in each.pairs if pair.verdict.agrees is False)
        table.add_row(*_literal([each.name, *cells, differ or "–"]))
    return table


def comparison_table(comparison: Comparison) -> Table:
    """Disciplines side by side; under each but the first its paired difference against the first, bold where the
    interval leaves 0 out. Many disciplines stand one below the other, in fewer metrics."""
    if len(comparison.results) > SIDE_BY_SIDE:
        return _ranking(comparison)
    first = comparison.results[comparison.baseline]
    many = len(first.runs) > 1
    table = _new(_title(first, kinds=True))
    table.add_column("metric")
    table.add_column("", style="dim")
    for name in comparison.results:
        table.add_column(name, justify="right")
    for name in comparison.results:
        if name != comparison.baseline:
            table.add_column(f"{name} − {comparison.baseline}", justify="right")
    differences = {name: comparison.difference(name) for name in comparison.results if name != comparison.baseline}
    for metric in HEADLINES:
        estimates = [result.summary.get(metric) for result in comparison.results.values()]
        sizes = [abs(e.mean) for e in estimates if e is not None and e.mean is not None]
        if not sizes or max(sizes) == 0:
            continue
        factor, unit = scale(metric, max(sizes))
        cells = [number(e, factor) if e is not None else "–" for e in estimates]
        for difference in differences.values():
            cell = number(difference[metric], factor, sign=True)
            cells.append(f"[bold]{cell}[/bold]" if many and _clear(difference[metric]) else cell)
        table.add_row(metric, unit, *cells)
    if many:
        table.caption = "mean ± 95 % interval (Student's t); differences are paired by seed, bold where 0 is outside"
        table.caption_justify = "left"
    return table


def _clear(difference: Estimate) -> bool:
    """Whether the interval of a difference leaves 0 out."""
    return difference.mean is not None and difference.ci95 is not None and abs(difference.mean) > difference.ci95


def _title(result: Result, *, kinds: bool = False) -> str:
    runs = result.runs
    seeds = f"seed {runs[0].seed}" if len(runs) == 1 else f"seeds {runs[0].seed}–{runs[-1].seed}"
    parts = [result.scenario.name, f"{result.scenario.duration_s:g} s", seeds]
    if not kinds:
        parts.insert(1, result.scenario.label)
    return " · ".join(part for part in parts if part)


def list_table(what: str, rows: list[Mapping[str, Any]]) -> list[Table]:
    """What `penstock list` shows: an overview, then the parameters of each kind."""
    overview = _new(what)
    overview.add_column("name", no_wrap=True)
    overview.add_column("what")
    if any(row.get("source") for row in rows):
        overview.add_column("source", style="dim")
    for row in rows:
        cells = [row["name"], row.get("doc", "")]
        if len(overview.columns) == 3:
            cells.append(row.get("source", ""))
        overview.add_row(*_literal(cells))
    return [overview, *(_parameters(row) for row in rows if row.get("params"))]


def entry(row: Mapping[str, Any]) -> Group:
    """All about one entry of a list: for a discipline what its page in docs/aqm says, but for the figure."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    def prose(text: str) -> Text:
        return Text("\n".join(textwrap.wrap(text, 110)))

    parts: list[Any] = [Text(row["name"], style="bold"), prose(row["doc"])]
    if row.get("source"):
        parts.append(Text(row["source"], style="dim"))
    for title, key in (("Algorithm", "equations"), ("What to expect", "expect"), ("Weaknesses", "weaknesses")):
        if row.get(key):
            text = Text(row[key]) if key == "equations" else prose(row[key])
            parts += [Text(f"\n{title}", style="bold"), Padding(text, (0, 0, 0, 2))]
    parts.append(Text(""))
    if row.get("params"):
        parts.append(_parameters({**row, "name": "Keys"}))
    if row.get("state"):
        table = _new("State, columns of the queue series")
        table.add_column("column", no_wrap=True)
        table.add_column("what it is")
        for state in row["state"]:
            table.add_row(state["name"], state["doc"])
        parts.append(table)
    return Group(*parts)


def probe_table(probe: Probe) -> Table:
    """What a probe counted: a row a point, a column a level and time; of a long list about twenty rows."""
    from penstock.probing import LEVELS

    table = _new(f"{probe.scenario.label} · share of packets in % after the queue has stood so long")
    table.add_column("packets held" if probe.axis == "queue" else "load", justify="right")
    shown = [(level, shares) for level in LEVELS if any(map(any, shares := probe.shares(level)))]
    for level, _ in shown:
        for after in probe.after_s:
            table.add_column(f"{level}\n{after:g} s", justify="right")
    step = max(1, len(probe.points) // 20)
    for j in range(0, len(probe.points), step):
        cells = [f"{100 * row[j]:.2f}" if row[j] else "–" for _, shares in shown for row in shares]
        table.add_row(f"{probe.points[j]:g}", *cells)
    return table


def _parameters(kind: Mapping[str, Any]) -> Table:
    table = _new(kind["name"])
    for column in ("key", "default", "range", "unit"):
        table.add_column(column, no_wrap=column == "key")
    table.add_column("what")
    table.add_column("source", style="dim")
    for p in kind["params"]:
        default = p["default"] if p.get("default") is not None else p.get("auto", "")
        if p.get("ns2") is not None:
            default = f"{default} (ns-2: {p['ns2']})"
        cells = [p["name"], default, p.get("range", ""), p.get("unit", ""), p["doc"], p.get("source", "")]
        table.add_row(*_literal(cells))
    return table


def _literal(cells: list[str]) -> list[str]:
    """Cells in which rich takes no bracket for markup: `[[topology.link]]`."""
    from rich.markup import escape

    return [escape(cell) for cell in cells]


def _new(title: str) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    return Table(title=escape(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)


def _ranking(comparison: Comparison) -> Table:
    """A row a discipline, bold where its paired difference against the first leaves 0 out."""
    first = comparison.results[comparison.baseline]
    table = _new(_title(first, kinds=True))
    table.add_column("discipline")
    largest = {
        metric: max((abs(r.summary[metric].mean or 0.0) for r in comparison.results.values()), default=0.0)
        for metric in SHORT
    }
    units = {metric: scale(metric, largest[metric]) for metric in SHORT}
    for metric in SHORT:
        table.add_column(f"{metric}\n{units[metric][1]}".rstrip(), justify="right")
    for name, result in comparison.results.items():
        differences = comparison.difference(name)
        cells = [name]
        for metric in SHORT:
            cell = number(result.summary[metric], units[metric][0])
            cells.append(f"[bold]{cell}[/bold]" if _clear(differences[metric]) else cell)
        table.add_row(*cells)
    if len(first.runs) > 1:
        table.caption = (
            f"mean ± 95 % interval; bold where the difference to {comparison.baseline}, paired by seed, is clear"
        )
        table.caption_justify = "left"
    return table


def papers_table(papers: Sequence[Paper]) -> Table:
    """What `penstock reproduce --list` shows: every exhibit with the claims about it."""
    table = _new("papers")
    table.add_column("exhibit", no_wrap=True)
    table.add_column("claim", no_wrap=True)
    table.add_column("what")
    table.add_column("the paper's number", style="dim")
    for paper in papers:
        table.add_row(f"[bold]{paper.key}[/bold]", "", *_literal([paper.citation]))
        for exhibit in paper.exhibits:
            table.add_row(*_literal([f"{paper.key}.{exhibit.key}", "", exhibit.title]))
            for claim in paper.claims:
                if claim.exhibit == exhibit.key:
                    table.add_row(*_literal(["", claim.key, claim.text, claim.paper_value]))
    return table


def findings_table(findings: Sequence[Finding]) -> Table:
    """What `penstock reproduce` says of the claims, under the default readings."""
    from penstock.reproduce.model import DEFAULT

    table = _new("claims")
    table.add_column("paper", no_wrap=True)
    table.add_column("claim", no_wrap=True)
    table.add_column("the paper's number")
    table.add_column("ours, mean ± 95 %")
    table.add_column("verdict", no_wrap=True)
    for found in findings:
        if found.reading == DEFAULT:
            claim = found.claim
            ours = f"{number(found.interval)} {claim.unit}"
            table.add_row(*_literal([found.paper, claim.key, claim.paper_value, ours, found.verdict]))
    return table
