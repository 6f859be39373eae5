"""`penstock emulate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from penstock import emulation
from penstock.cli import options, real
from penstock.cli.inputs import check_writable, series_interval
from penstock.cli.output import EXIT_SIGNAL, alone, fail
from penstock.emulation.ends import Signalled, heard
from penstock.emulation.screen import Screen
from penstock.errors import ScenarioError


@options.command("emulate")
@options.file
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- PROGRAM [ARGUMENT]...]")
@click.option("--duration", metavar="TIME", help="In place of the file's; own programs: end after it at the latest.")
@click.option("--client", metavar="CMD", help="A line for the shell on the client's side, instead of the traffic.")
@click.option("--server", metavar="CMD", help="A line for the shell on the server's side, started before the client.")
@click.option("--shell", is_flag=True, help="An interactive shell on the client's side, instead of the traffic.")
@options.aqm()
@click.option("--cc", metavar="NAME", help="The congestion control of own programs' TCP; default: this machine's.")
@click.option("--download", is_flag=True, help="The bottleneck's forward direction is from the server to the client.")
@options.changes()
@options.links
@options.groups
@options.as_json()
@options.out("Write the document and series there.")
@options.series()
@real.pcap
@real.pcap_link
@real.live
@options.rootless
@click.option("--backend", type=options.Word(["tun", "packet"]), help="Default: TUN where it may be opened.")
@real.no_fifo
def command(
    file: str,
    program: tuple[str, ...],
    duration: str | None,
    client: str | None,
    server: str | None,
    aqm: str | None,
    cc: str | None,
    shell: bool,
    download: bool,
    changes: tuple[str, ...],
    links: bool,
    groups: bool,
    as_json: bool,
    out: Path | None,
    series: str | None,
    pcap: Path | None,
    pcap_link: str,
    live: bool,
    rootless: bool,
    backend: str | None,
    no_fifo: bool,
) -> int:
    """Run FILE on real packets, between two namespaces.

    The scenario's bottleneck stands between two network namespaces of this machine. Its ftp and cbr traffic becomes
    real flows (iperf3, the kernel's TCP). A PROGRAM after "--", --client and --server run instead of it; without
    traffic and program a shell is started. The measured window holds for programs too. Root is not needed where user
    namespaces are allowed. The run says how late its packets were, and whether it is valid.
    """
    if sum((bool(program), client is not None, shell)) > 1:
        raise ScenarioError("--client, --shell and a program after -- exclude each other")
    scenario, has_traffic = real.link(file, duration, aqm, changes)
    scenario = scenario.recording(links=links, groups=groups)
    own = _program(program, client, shell or (server is not None) or not has_traffic)
    interval = series_interval(scenario, series, out)
    check_writable(out=out, pcap=pcap)
    try:
        with alone(as_json), heard(), Screen(scenario, live=live, own=own is not None) as screen:
            result = emulation.emulate(
                scenario,
                client=own,
                server=server,
                cc=cc,
                download=download,
                limited=duration is not None,
                rootless=rootless,
                backend=backend,
                fifo=not no_fifo,
                series=interval,
                pcap=pcap,
                pcap_link=pcap_link,
                progress=screen,
            )
    except Signalled as signalled:
        return fail(f"ended by {signalled}", EXIT_SIGNAL + signalled.number)
    real.show(as_json, out, result, links=links)
    code: int | None = result.emulation["exit_code"]
    return code or 0


def _program(program: Sequence[str], client: str | None, shell: bool) -> str | Sequence[str] | None:
    """Returns what runs on the client's side, as `emulate` takes it: nothing for a shell, `None` for traffic."""
    if client is not None:
        return client
    if program:
        return list(program)
    return [] if shell else None
