"""`penstock run`."""

from __future__ import annotations

from pathlib import Path

import click

from penstock._files import write
from penstock.cli import options
from penstock.cli.inputs import check_writable, name_of, scenario_of, series_interval
from penstock.cli.output import Clock, report, tell, warn, whole, write_result
from penstock.model.scenario import Scenario
from penstock.runs import runner
from penstock.runs.execute import Progress, cores
from penstock.runs.result import Result
from penstock.show.progress import Bar
from penstock.show.run_tables import result_table


@options.command("run")
@options.simulation
@options.aqm()
@options.links
@options.groups
@options.pcap
@click.option(
    "--pcap-link",
    default="bottleneck",
    metavar="LINK[:out]",
    show_default=True,
    help="The link to capture, both directions: packets as they arrive at its queue, including those that it drops; "
    "with :out as they leave the queue, with the CE marks that it sets.",
)
@click.option(
    "--warm-up-check", is_flag=True, help="Say on stderr whether the measured window starts before the queue settles."
)
def command(
    given: options.Simulation,
    aqm: str | None,
    links: bool,
    groups: bool,
    pcap: Path | None,
    pcap_link: str,
    warm_up_check: bool,
) -> None:
    """Run the scenario in FILE.

    Prints a table, or with --json a document. The same input always gives the same document, byte for byte. --out DIR
    receives document.json and the recorded series as Parquet.
    """
    scenario = scenario_of(given.file, given.changes, aqm).recording(links=links, groups=groups)
    interval = series_interval(scenario, given.series, given.out)
    check_writable(out=given.out, pcap=pcap, timing=given.timing)
    clock = Clock()
    with Bar(name_of(scenario, given.file)) as bar:
        if pcap is None:
            result = runner.run(scenario, given.seeds, jobs=given.jobs, series=interval, progress=bar)
        else:
            result = _with_capture(scenario, given.seeds, given.jobs, interval, pcap_link, bar)
    clock.stop()
    if pcap is not None:
        write(pcap, result.runs[0].pcap or b"")
    if given.out is not None:
        write_result(given.out, result)
    report(given.as_json, result.json, lambda: whole(result_table(result), result, links=links))
    warn(result.warnings)
    if warm_up_check:
        _check_warm_up(result if interval is not None else Result(scenario, result.runs[:1], given.jobs))
    clock.report(given.timing, [result], given.jobs or cores())


def _with_capture(
    scenario: Scenario, seeds: int, jobs: int | None, interval: float | None, link: str, progress: Progress
) -> Result:
    """Runs the scenario and captures packets of the first seed only: a capture is large, and one file is asked for."""
    first = runner.run(scenario, 1, jobs=1, series=interval, pcap=link, progress=progress)
    others = range(scenario.seed + 1, scenario.seed + seeds)
    rest = runner.run(scenario, others, jobs=jobs, series=interval, progress=progress).runs if others else ()
    return Result(scenario, (*first.runs, *rest), jobs)


def _check_warm_up(result: Result) -> None:
    """Says whether the queue had settled; a result without series runs once more."""
    from penstock.sweeps import warm_up

    tell(f"warm-up: {warm_up.of_result(result)}")
