"""`penstock emulate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from penstock import emulation
from penstock.cli import options
from penstock.cli.inputs import assignments, check_writable, seconds_of, series_interval
from penstock.cli.output import EXIT_SIGNAL, alone, fail, report, warn, whole, write_result
from penstock.emulation.ends import Signalled, heard
from penstock.emulation.screen import Screen
from penstock.emulation.table import emulated_table
from penstock.errors import ScenarioError
from penstock.model.discipline import discipline
from penstock.model.scenario import Scenario


@click.command("emulate")
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
@click.option("--pcap", type=options.PATH, metavar="FILE", help="Capture packets.")
@click.option(
    "--pcap-link",
    type=options.Word(["bottleneck", "bottleneck:out"]),
    default="bottleneck",
    show_default=True,
    help="Packets as they arrive at the router, or with :out as they leave it, with the marks that it makes.",
)
@click.option("--live", is_flag=True, help="Draw the queue while it runs.")
@options.rootless
@click.option("--backend", type=options.Word(["tun", "packet"]), help="Default: TUN where it may be opened.")
@click.option("--no-fifo", is_flag=True, help="Do not ask for real-time scheduling.")
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
    wanted = assignments(changes, "--set")
    if duration is not None:
        if seconds_of("--duration", duration) <= 0:
            raise ScenarioError(f"--duration {duration!r}: must be above 0 s")
        wanted["duration"] = duration
    found = None if aqm is None else discipline(aqm, "--aqm")
    scenario, has_traffic = Scenario.load_link(file, wanted, () if found is None else (found,))
    scenario = scenario if found is None else scenario.with_aqm(found)
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
    try:
        if out is not None:
            write_result(out, result)
    finally:  # what took real time is shown, also where the disk is full
        report(as_json, result.json, lambda: whole(emulated_table(result), result, links=links))
        warn(result.warnings)
    code: int | None = result.emulation["exit_code"]
    return code or 0


def _program(program: Sequence[str], client: str | None, shell: bool) -> str | Sequence[str] | None:
    """Returns what runs on the client's side, as `emulate` takes it: nothing for a shell, `None` for traffic."""
    if client is not None:
        return client
    if program:
        return list(program)
    return [] if shell else None
