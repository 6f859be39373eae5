"""`penstock evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from penstock._json import document
from penstock.cli import options
from penstock.cli.inputs import assignments, check_writable
from penstock.cli.output import EXIT_INTERRUPTED, alone, draw, fail, report, say, tell
from penstock.errors import ScenarioError
from penstock.evaluation.evaluate import chosen, evaluate
from penstock.evaluation.rfc import ALL_HOSTS, Experiment
from penstock.evaluation.tables import answers_table, experiments_table
from penstock.show.progress import Bar
from penstock.sweeps.drive import Sweep


@options.command("evaluate")
@click.argument("disciplines", nargs=-1, metavar="DISCIPLINE...")
@options.changes("Change a key for all but DropTail: aqm.max_p=0.2.")
@click.option("--link", type=options.PATH, metavar="FILE", help="On this link's rate, round trip, buffer and framing.")
@click.option(
    "--hosts",
    type=options.Word(ALL_HOSTS),
    help="Whose TCP the flows are [default: linux; rfc in section 5, which names the senders].",
)
@options.seeds("Runs of every form of a scenario [default: 5, quick: 3].", None)
@click.option("--quick", is_flag=True, help="One discipline in under a minute: fewer seeds, forms and scenarios.")
@click.option("--only", multiple=True, metavar="SCENARIO", help="Only this scenario of --list; give it repeatedly.")
@click.option("--real", is_flag=True, help="Also on real packets (sections 5.1 to 5.3, 7, 8, 9.1): half an hour each.")
@options.out("Write the pages and keep the runs there; what is there is not run again.", Path("out/evaluate"))
@options.jobs
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="A Dask scheduler whose workers run them: tcp://head:8786 or tls://head:8786.",
)
@click.option("--list", "only_list", is_flag=True, help="Show the scenarios of RFC 7928; run nothing.")
@options.as_json()
def command(
    disciplines: tuple[str, ...],
    changes: tuple[str, ...],
    only: tuple[str, ...],
    out: Path,
    hosts: str | None,
    only_list: bool,
    as_json: bool,
    **asked: Any,
) -> int:
    """Judge disciplines by RFC 7928, with DropTail beside them.

    DISCIPLINE is a kind such as red or red:min_th=20,max_th=60, "all", or one of your own: my_aqm.py:Mine(limit=5).
    DIR/index.html compares them, and each has a page with its numbers. Killed at any moment, the same command goes on.
    """
    if only_list and as_json:
        say(document({"scenarios": [_scenario(each) for each in chosen(only, quick=False, hosts=hosts)]}))
        return 0
    if only_list:
        draw(experiments_table(chosen(only, quick=False, hosts=hosts)))
        return 0
    if not disciplines:
        raise ScenarioError('needs a discipline, such as red, or "all"; --list shows the scenarios')
    check_writable(out=out)
    changed = assignments(changes, "--set")
    try:
        with alone(as_json), Bar("evaluating") as bar:
            done = evaluate(
                disciplines,
                set=changed,
                only=only,
                hosts=hosts,
                out=out,
                progress=lambda now: _advance(bar, now),
                real_progress=lambda share, what: bar.show(share, "real packets", what),
                **asked,
            )
    except KeyboardInterrupt:
        return fail(f"interrupted; finished runs are kept in {out}: the same command goes on", EXIT_INTERRUPTED)
    for note in done.notes:
        tell(note)
    report(as_json, done.json, lambda: answers_table(done))
    if not as_json:
        say(str(done.page))
    return 0


def _scenario(each: Experiment) -> dict[str, object]:
    forms = [variant.key for variant in each.variants if variant.key]
    return {
        "key": each.key,
        "section": each.section,
        "level": each.level,
        "title": each.title,
        "hosts": each.hosts,
        "forms": forms,
    }


def _advance(bar: Bar, now: Sweep) -> None:
    bar.show(now.ran / max(1, now.runs), "evaluating", f"{now.ran}/{now.runs} runs")
