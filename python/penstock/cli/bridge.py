"""`penstock bridge`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from penstock import emulation
from penstock.cli import options, real
from penstock.cli.inputs import check_writable, series_interval
from penstock.cli.output import alone
from penstock.emulation.screen import Screen


@options.command("bridge")
@click.argument("left")
@click.argument("right")
@options.file
@click.option("--duration", metavar="TIME", help="End after it; default: at Ctrl-C.")
@options.aqm()
@options.changes()
@options.links
@options.as_json()
@options.out("Write the document and series there.")
@options.series()
@real.pcap
@real.pcap_link
@real.live
@real.no_fifo
@click.option("--allow-default-route", is_flag=True, help="Take an interface that this machine's own traffic needs.")
def command(
    left: str,
    right: str,
    file: str,
    duration: str | None,
    aqm: str | None,
    changes: tuple[str, ...],
    links: bool,
    as_json: bool,
    out: Path | None,
    series: str | None,
    pcap: Path | None,
    pcap_link: str,
    live: bool,
    no_fifo: bool,
    allow_default_route: bool,
) -> int:
    """Put FILE's bottleneck between two interfaces.

    The interfaces LEFT and RIGHT are this machine's. What comes at one leaves by the other, through the bottleneck of
    FILE, which may be a link alone; its traffic does not run. The bottleneck's forward direction leads from LEFT to
    RIGHT. Needs root. Ctrl-C or SIGTERM ends it: the interfaces are as they were, and the result is shown, with how
    late packets were and whether it is valid.
    """
    scenario, _ = real.link(file, duration, aqm, changes)
    scenario = scenario.recording(links=links)
    interval = series_interval(scenario, series, out)
    check_writable(out=out, pcap=pcap)
    with alone(as_json), Screen(scenario, live=live, own=True) as screen:
        ready = False

        def progress(now: emulation.Status) -> None:
            nonlocal ready
            if not ready and now.t_s >= 0:
                ready = True
                print(f"{left} → {right}; Ctrl-C ends it", file=sys.stderr, flush=True)
            screen(now)

        result = emulation.bridge(
            scenario,
            left,
            right,
            limited=duration is not None,
            allow_default_route=allow_default_route,
            fifo=not no_fifo,
            series=interval,
            pcap=pcap,
            pcap_link=pcap_link,
            progress=progress,
        )
    real.show(as_json, out, result, links=links)
    return 0
