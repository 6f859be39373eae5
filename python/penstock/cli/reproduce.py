"""`penstock reproduce`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from penstock.cli import options
from penstock.cli.inputs import check_writable
from penstock.cli.output import EXIT_INTERRUPTED, alone, draw, fail, report, say
from penstock.model.hosts import HOSTS
from penstock.reproduce import papers as papers_
from penstock.reproduce.command import reproduce
from penstock.reproduce.document import document_of
from penstock.reproduce.levels import KEY as LEVELS
from penstock.reproduce.model import LOOKS, QUICK_LOOKS, Paper, Settings
from penstock.reproduce.nearest import anew
from penstock.reproduce.papers import choose
from penstock.reproduce.tables import findings_table, papers_table
from penstock.runs.execute import cores


@options.command("reproduce")
@click.argument("papers", nargs=-1, metavar="[PAPER]...")
@click.option(
    "--only",
    multiple=True,
    metavar="PAPER.EXHIBIT",
    help="Only this exhibit and its claims, or this claim: amecn.fig9.",
)
@options.seeds(
    "Runs of every case [default: 10, then up to 200 until a claim is decided; levels: 10, then up to 20].",
    None,
    click.IntRange(min=1),
)
@click.option("--quick", is_flag=True, help="5 seeds, and only the default reading: all papers in under a minute.")
@click.option(
    "--nearest",
    is_flag=True,
    help="Search each paper's nearest joint reading anew, for minutes; without it the shipped one is taken.",
)
@click.option(
    "--hosts",
    multiple=True,
    type=options.Word(HOSTS),
    help="Judge every claim also with the TCP of today's hosts; give it twice for both.",
)
@options.out(
    "Write report.html, claims.csv, figures and data there, and keep finished runs for the next call.",
    Path("out/reproduce"),
)
@options.jobs
@click.option("--timing", type=options.PATH, metavar="FILE", help="Write where the time went.")
@click.option("--list", "only_list", is_flag=True, help="Show every exhibit and claim; run nothing.")
@options.as_json()
def command(
    papers: tuple[str, ...],
    only: tuple[str, ...],
    seeds: int | None,
    quick: bool,
    nearest: bool,
    hosts: tuple[str, ...],
    out: Path,
    jobs: int | None,
    timing: Path | None,
    only_list: bool,
    as_json: bool,
) -> int:
    """Reproduce the papers' figures, and judge their claims.

    PAPER is amecn, rared, nred, rvd, red-at, or all, which is the default. It may also be what is this project's:
    repairs, what mends the papers' disciplines, judged beside RED, PIE and CoDel; or levels, what a second level of
    congestion is worth beside classic ECN, SCE and L4S. DIR/report.html says first what holds and what does not. A
    second call runs only what is not kept in DIR/runs yet; after Ctrl-C the same command goes on.
    """
    chosen = choose(("all", "repairs", LEVELS) if only_list and not papers and not only else papers, only)
    if only_list and as_json:
        say(document_of(chosen, Settings(), ()))
        return 0
    if only_list:
        draw(papers_table(chosen))
        return 0
    check_writable(out=out, timing=timing)
    settings = Settings.of_seeds(seeds) if seeds else Settings(looks=QUICK_LOOKS if quick else _looks(chosen))
    settings = replace(settings.quickly(nearest) if quick else settings, hosts=tuple(dict.fromkeys(hosts)))
    try:
        with alone(as_json):
            if nearest:
                chosen = anew(chosen, papers_.paper, out / "nearest.json", jobs or cores())
            done = reproduce(chosen, settings, out, jobs or cores(), timing)
    except KeyboardInterrupt:
        kept = out / "runs"
        return fail(
            f"interrupted; what has run is kept in {kept}: the same command goes on from there", EXIT_INTERRUPTED
        )
    report(as_json, done.json, lambda: findings_table(done.findings))
    if not as_json:
        say(str(done.page))
    return 0


def _looks(chosen: Sequence[Paper]) -> Sequence[int]:
    """Returns after how many seeds claims are judged: as what is chosen says where it is of one kind."""
    found = {tuple(each.looks) for each in chosen}
    return found.pop() if len(found) == 1 else LOOKS
