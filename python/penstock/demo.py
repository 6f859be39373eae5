"""The main job, as one command: a load that rises, under DropTail, RED and Adaptive RED, compared over ten seeds.

`make demo`, or `python -m penstock.demo`, prints the table and writes figures (SVG, PNG) and one self-contained page.
"""

from __future__ import annotations

import argparse
import html
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock import __version__, runner, style
from penstock._files import write
from penstock._progress import Bar
from penstock._tables import HEADLINES, comparison_table, number, scale
from penstock.plot import window_s
from penstock.result import Comparison
from penstock.scenario import Scenario

#: What runs; the captions below are about it.
SCENARIO = Path("scenarios/load-rises.toml")

#: What is compared, the baseline first.
DISCIPLINES = ("droptail", "red", "ared")

#: Figure → what a reader should see in it. `{…}` are filled in with what ran.
CAPTIONS = {
    "queue": "The queue at the bottleneck. Two flows run from the start, twenty more join from 25 s on, one every "
    "0.1 s. Strong: seed {first}; faint: the other seeds; heavy: the average that the discipline steers by. The shaded "
    "time, {since:g} s to {until:g} s, is what the numbers below measure.",
    "delay_cdf": "How long packets wait: the share of packets that spent at most so long in the queue, {since:g} s to "
    "{until:g} s. Strong: all seeds together; faint: each seed.",
    "plane": "Throughput against delay, the compromise that a discipline chooses. A point is a run, the large marker "
    "the median, the ellipse one standard deviation of the runs. Up and to the right is better.",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the demo; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m penstock.demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=None)
    options = parser.parse_args(argv)

    scenario = Scenario.load(SCENARIO)
    with Bar(scenario.name) as bar:
        comparison = runner.compare(scenario, DISCIPLINES, options.seeds, jobs=options.jobs, series=0.1, progress=bar)
    from rich.console import Console

    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=160)
    console.print(comparison_table(comparison))
    for path in write_report(comparison, options.out):
        print(path)
    return 0


def write_report(comparison: Comparison, out: Path) -> list[Path]:
    """Writes the figures, the page and the numbers into `out`; returns the files, the page first."""
    figures = {
        "queue": comparison.plot.queue(),
        "delay_cdf": comparison.plot.delay_cdf(),
        "plane": comparison.plot.plane(),
    }
    written, inline = [], {}
    for name, figure in figures.items():
        for kind in ("svg", "png"):
            path = out / f"{name}.{kind}"
            style.save(figure, str(path))
            written.append(path)
        inline[name] = style.themed_svg((out / f"{name}.svg").read_text(encoding="utf-8"), name)
    document = out / "comparison.json"
    write(document, comparison.json() + "\n")
    index = out / "index.html"
    write(index, page(comparison, inline))
    return [index, *written, document]


def page(comparison: Comparison, figures: Mapping[str, str]) -> str:
    """The page: nothing is fetched from anywhere, and it follows the reader's light or dark."""
    first = comparison.results[comparison.baseline]
    seeds = [run.seed for run in first.runs]
    since, until = window_s(first)
    facts = {"first": seeds[0], "since": since, "until": until}
    source = f"Penstock {__version__}, {SCENARIO}, seeds {seeds[0]}–{seeds[-1]}."
    parts = [
        f"<figure>{svg.replace('<svg', _LABELLED.format(html.escape(_plain(CAPTIONS[name], facts))), 1)}"
        f"<figcaption>{html.escape(_plain(CAPTIONS[name], facts))} <small>{source}</small></figcaption></figure>"
        for name, svg in figures.items()
    ]
    command = f"penstock compare {SCENARIO} " + " ".join(f"--aqm {name}" for name in comparison.results)
    return _PAGE.format(
        title=html.escape(first.scenario.name or "Penstock"),
        css=style.css() + _CSS,
        names=html.escape(", ".join(comparison.results)),
        runs=len(seeds),
        figures="\n".join(parts),
        table=_html_table(comparison),
        baseline=html.escape(comparison.baseline),
        command=html.escape(f"{command} --seeds {len(seeds)}"),
        source=source,
    )


def _plain(caption: str, facts: Mapping[str, float]) -> str:
    return caption.format(**facts)


def _html_table(comparison: Comparison) -> str:
    """The same numbers as on the terminal."""
    others = [name for name in comparison.results if name != comparison.baseline]
    differences = {name: comparison.difference(name) for name in others}
    heads = [*comparison.results, *(f"{name} − {comparison.baseline}" for name in others)]
    rows = []
    for metric in HEADLINES:
        estimates = [result.summary.get(metric) for result in comparison.results.values()]
        sizes = [abs(e.mean) for e in estimates if e is not None and e.mean is not None]
        if not sizes or max(sizes) == 0:
            continue
        factor, unit = scale(metric, max(sizes))
        cells = [number(e, factor) if e is not None else "–" for e in estimates]
        cells += [number(differences[name][metric], factor, sign=True) for name in others]
        label = f"{metric} <small>{unit}</small>" if unit else metric
        rows.append(f'<tr><th scope="row">{label}</th>' + "".join(f"<td>{c}</td>" for c in cells) + "</tr>")
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in heads)
    return f"<table><thead><tr><td></td>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


_LABELLED = '<svg role="img" aria-label="{}"'

_CSS = """
:root { color-scheme: light dark; }
body { margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 58rem; background: var(--paper); color: var(--ink);
       font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; }
figure { margin: 2rem 0; }
figure svg { width: 100%; height: auto; }
figcaption, footer { color: var(--muted); max-width: 46rem; }
small { color: var(--muted); }
code { font-size: .92em; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--grid); }
th[scope=row] { text-align: left; font-weight: 400; padding-left: 0; }
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}: {names}</title>
<link rel="icon" href="data:,">
<style>
{css}</style>
</head>
<body>
<h1>{title}</h1>
<p>One scenario, three answers: {names}, each run {runs} times with the same seeds.</p>
{figures}
<h2>The numbers</h2>
<div class="scroll">{table}</div>
<p><small>Mean ± half-width of the 95 % confidence interval (Student's t) over {runs} seeds. The last columns are
differences against {baseline}, seed by seed.</small></p>
<footer><p>{source} Again: <code>{command}</code></p></footer>
</body>
</html>
"""

if __name__ == "__main__":
    sys.exit(main())
