"""The command `penstock`.

stdout carries results, stderr everything else. Exit 0: done; 1: the machine would not (a full disk); 2: the input was
wrong, said in one message, and nothing was run or written; 130: Ctrl-C.
"""

from __future__ import annotations

import difflib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from penstock import _penstock
from penstock.errors import Error, ScenarioError
from penstock.scenario import Scenario

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from penstock.result import Comparison, Result
    from penstock.validate_real import Agreement

F = TypeVar("F", bound=Callable[..., Any])

#: What `penstock list` knows, in the order in which it shows them.
LISTS = ("aqm", "tcp", "traffic", "topology", "metrics")

EXIT_FAILED, EXIT_INPUT, EXIT_INTERRUPTED, EXIT_PIPE = 1, 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    try:
        code = cli.main(args=None if argv is None else list(argv), prog_name="penstock", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted", EXIT_INTERRUPTED)
    except click.ClickException as error:
        return _fail(error.format_message(), EXIT_INPUT)
    except (Error, ValueError) as error:
        return _fail(str(error), EXIT_INPUT)
    except BrokenPipeError:
        # Who read our output has gone (`| head`); without this Python would complain once more while it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_PIPE
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), EXIT_FAILED)


def _fail(message: str, code: int) -> int:
    print(f"penstock: {message}", file=sys.stderr)
    return code


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(_penstock.__version__, package_name="penstock", message="%(prog)s %(version)s")
def cli() -> None:
    """Simulate active queue management and TCP, compare disciplines, and see what happens in the queue.

    Start with `penstock init`, then `penstock run scenario.toml`.
    """


def _simulation(command: F) -> F:
    """The options that `run` and `compare` share."""
    options = [
        click.argument("file", type=click.Path(path_type=Path)),
        click.option("--seeds", type=click.IntRange(1, 1_000_000), default=1, metavar="N", help="Runs, one a seed."),
        click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change a key: aqm.min_th=7."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of a table."),
        click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write results and series there."),
        click.option("--series", metavar="TIME", help="Sampling interval of the series that --out writes."),
        click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Threads; default: one a core."),
        click.option("--timing", type=click.Path(path_type=Path), metavar="FILE", help="Write how long it took."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@cli.command()
@_simulation
@click.option("--pcap", type=click.Path(path_type=Path), metavar="FILE", help="Capture packets (of the first seed).")
@click.option(
    "--pcap-link",
    default="bottleneck",
    metavar="LINK[:out]",
    show_default=True,
    help="The link to capture, both directions: packets as they arrive at its queue, those that it drops among them; "
    "with :out as they leave the queue, with the CE marks that it sets.",
)
@click.option(
    "--warm-up-check", is_flag=True, help="Say on stderr whether the measured window starts before the queue settles."
)
def run(
    file: Path,
    seeds: int,
    changes: tuple[str, ...],
    as_json: bool,
    out: Path | None,
    series: str | None,
    jobs: int | None,
    timing: Path | None,
    pcap: Path | None,
    pcap_link: str,
    warm_up_check: bool,
) -> None:
    """Run the scenario in FILE.

    Prints a table, or with --json a document that the same input always gives byte for byte. --out DIR receives
    document.json and the recorded series as Parquet.
    """
    from penstock import runner
    from penstock._progress import Bar
    from penstock.result import Result

    scenario = _scenario(file, changes)
    interval = _series_interval(scenario, series, out)
    _writable(out=out, pcap=pcap, timing=timing)
    clock = _Clock()
    with Bar(scenario.name or file.name) as bar:
        if pcap is None:
            result = runner.run(scenario, seeds, jobs=jobs, series=interval, progress=bar)
        else:
            # A capture is large, and one is asked for: the first seed's.
            first = runner.run(scenario, 1, jobs=1, series=interval, pcap=pcap_link, progress=bar)
            others = range(scenario.seed + 1, scenario.seed + seeds)
            rest = runner.run(scenario, others, jobs=jobs, series=interval, progress=bar).runs if others else ()
            result = Result(scenario, (*first.runs, *rest), jobs)
    clock.stop()
    if pcap is not None:
        from penstock._files import write

        write(pcap, result.runs[0].pcap or b"")
    if out is not None:
        _write_result(out, result)
    _report(result.json if as_json else lambda: _tables().result_table(result))
    if warm_up_check:
        from penstock.sweeps import warm_up

        # Without series at hand one run is done once more.
        looked_at = result if interval is not None else Result(scenario, result.runs[:1], jobs)
        click.echo(f"warm-up: {warm_up.of_result(looked_at)}", err=True)
    clock.report(timing, [result], jobs or runner.cores())


@cli.command()
@_simulation
@click.option(
    "--aqm",
    "aqms",
    multiple=True,
    required=True,
    metavar="KIND",
    help='A discipline; give it repeatedly, or "all" for every kind.',
)
@click.option(
    "--figure",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw them at a glance (.png, .svg or .pdf).",
)
def compare(
    file: Path,
    seeds: int,
    changes: tuple[str, ...],
    as_json: bool,
    out: Path | None,
    series: str | None,
    jobs: int | None,
    timing: Path | None,
    aqms: tuple[str, ...],
    figure: Path | None,
) -> None:
    """Run the scenario in FILE under several disciplines, paired by seed.

    Every discipline takes its own keys of the file's [aqm]. The table shows each discipline's mean with its 95 %
    interval, and the paired differences against the first.
    """
    from penstock import runner
    from penstock._progress import Bar

    scenario = _scenario(file, changes)
    interval = _series_interval(scenario, series, out)
    _writable(out=out, timing=timing, figure=figure)
    _drawable(figure)
    clock = _Clock()
    with Bar(scenario.name or file.name) as bar:
        comparison = runner.compare(scenario, _kinds(aqms), seeds, jobs=jobs, series=interval, progress=bar)
    clock.stop()
    if out is not None:
        _write_comparison(out, comparison)
    if figure is not None:
        from penstock import style

        style.save(comparison.plot.overview(), str(figure))
    _report(comparison.json if as_json else lambda: _tables().comparison_table(comparison))
    clock.report(timing, list(comparison.results.values()), jobs or runner.cores())


@cli.command("list")
@click.argument("what", type=click.Choice(LISTS), required=False)
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def list_(what: str | None, name: str | None, as_json: bool) -> None:
    """Show what there is, with parameters, defaults and sources: disciplines, TCPs, traffic, topologies, metrics.

    `penstock list aqm red` tells all about one: equations, what to expect, where it fails, keys, state.
    """
    chosen = LISTS if what is None else (what,)
    lists = {each: json.loads(_penstock.list_json(each)) for each in chosen}
    if what is not None and name is not None:
        row = _named(lists[what], name, what)
        if as_json:
            _print(json.dumps(row, ensure_ascii=False, indent=2))
        else:
            _draw(_tables().entry(row))
        return
    if as_json:
        _print(json.dumps(lists if what is None else lists[what], ensure_ascii=False, indent=2))
        return
    for each, rows in lists.items():
        for table in _tables().list_table(each, rows):
            _draw(table)
    if what == "aqm":
        click.echo("All about one: penstock list aqm NAME", err=True)


def _named(rows: Sequence[dict[str, Any]], name: str, what: str) -> dict[str, Any]:
    """The entry of a list with that name."""
    for row in rows:
        if row["name"] == name:
            return row
    names = [row["name"] for row in rows]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise ScenarioError(f"{what}: there is no {name}{hint} There are: {', '.join(names)}")


@cli.command()
@click.argument("what", metavar="FILE|KIND")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change a key: --set aqm.min_th=7.")
@click.option("--not-capable", is_flag=True, help="Packets that may not be marked.")
@click.option("--flows", default=5, show_default=True, type=click.IntRange(min=1), help="Flows that send in turn.")
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: .svg, .png or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def probe(
    what: str, changes: tuple[str, ...], not_capable: bool, flows: int, figure: Path | None, as_json: bool
) -> None:
    """Hold the queue and count what a discipline marks and drops: its profile, 0.1 s, 1 s and 10 s after the start.

    FILE: a scenario, whose bottleneck is taken. KIND: a discipline on a link of 10 Mbit/s,
    20 ms and 100 packets, with ECN.
    """
    from penstock import probing

    kinds = [row["name"] for row in json.loads(_penstock.list_json("aqm"))]
    scenario = _changed(probing.scenario(what), changes) if what in kinds else _scenario(Path(what), changes)
    _writable(figure=figure)
    probed = probing.probe(scenario, capable=not not_capable, flows=flows)
    if figure is not None:
        from penstock import style

        style.save(probed.plot(), str(figure))
    _report(probed.json if as_json else lambda: _tables().probe_table(probed))


@cli.command()
@click.argument("name", default="scenario")
def init(name: str) -> None:
    """Write a commented scenario to start from: NAME.toml (default: scenario.toml)."""
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    try:
        with path.open("x", encoding="utf-8") as file:  # fails if it is there, also when another makes it just now
            file.write(_penstock.init_template())
    except FileExistsError:
        raise ScenarioError(f"{path}: exists already; give another name") from None
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from None
    click.echo(f"{path}: try `penstock run {path}`", err=True)


@cli.command()
def schema() -> None:
    """Print the JSON Schema of a scenario, from which editors complete and check."""
    _print(_penstock.schema())


@cli.command()
@click.option("--cases", type=click.Path(path_type=Path), metavar="FILE", help="Cases; default: those shipped.")
@click.option("--results", type=click.Path(path_type=Path), metavar="FILE", help="What ns-2 measured on them.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="The report; default: docs/validation.md.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Threads; default: one a core.")
def validate(cases: Path | None, results: Path | None, out: Path | None, jobs: int | None) -> int:
    """Run ns-2's cases here and say pair by pair how well the two agree."""
    from penstock.validate import validate as compare_with_ns2

    return compare_with_ns2(cases, results, out, jobs)


@cli.command("validate-real")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--runs", type=click.IntRange(min=2), default=3, show_default=True, help="Real runs, one a seed.")
@click.option("--seeds", type=click.IntRange(min=2), default=20, show_default=True, help="Simulated runs.")
@click.option("--duration", metavar="TIME", help="In place of the file's.")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change a key on both sides: aqm.min_th=7.")
@click.option(
    "--set-simulated",
    "simulated",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key on the simulator's side alone: traffic.0.delayed_ack=false.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of tables.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the document, a figure and both sides' series into DIR/NAME, for each FILE NAME.toml; and summary.md.",
)
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: .svg, .png or .pdf.")
@click.option("--rootless", is_flag=True, help="Use a user namespace even as root.")
def validate_real(
    files: tuple[Path, ...],
    runs: int,
    seeds: int,
    duration: str | None,
    changes: tuple[str, ...],
    simulated: tuple[str, ...],
    as_json: bool,
    out: Path | None,
    figure: Path | None,
    rootless: bool,
) -> int:
    """Run the scenario in each FILE in the simulator and on real packets, and say metric by metric whether they agree.

    The simulator is told what of Linux's TCP it can be told; docs/validation-real.md lists it. Only valid real runs
    count: others are repeated, and reported. Takes the scenario's duration for each real run.
    """
    from penstock import validate_real as real
    from penstock._progress import Bar

    scenarios = {}
    for file in files:
        if file.stem in scenarios:
            raise ScenarioError(f"{file}: another FILE is called {file.stem}, too; results go by that name")
        scenario = _changed(Scenario.load(file), changes if duration is None else (*changes, f"duration={duration}"))
        scenarios[file.stem] = scenario
    only_there = _wanted(simulated, "--set-simulated")
    for scenario in scenarios.values():
        real.as_linux(scenario, only_there)  # a key that there is not is said before anything runs
    _writable(out=out, figure=figure)
    _drawable(figure)
    if figure is not None and len(files) > 1:
        raise ScenarioError("--figure: one FILE; --out DIR draws a figure for each of several")
    done: list[Agreement] = []
    failed = 0
    with Bar("validate-real") as bar:
        for name, scenario in scenarios.items():

            def progress(fraction: float, what: str, label: str = scenario.name or name) -> None:
                bar.show((len(done) + fraction) / len(scenarios), label, what)

            try:
                agreement = real.validate(
                    scenario, runs, seeds, simulated=only_there, rootless=rootless, progress=progress
                )
            except real.TooFewValidError as error:
                failed = _fail(str(error), EXIT_FAILED)  # the others may do better
                continue
            done.append(agreement)
            if out is not None:
                _write_agreement(out / name, agreement)
                _write_text(out / "summary.md", real.markdown(done))
            if not as_json:
                _draw(_tables().agreement_table(agreement))
    if figure is not None and done:
        from penstock import style

        style.save(done[0].plot(), str(figure))
    if as_json:
        _print(real.document(done))
    elif len(done) > 1:
        _draw(_tables().agreements_table(done))
    return failed


@cli.command()
@click.argument("papers", nargs=-1, metavar="[amecn|rared|nred|rvd|red-at|all]...")
@click.option("--only", multiple=True, metavar="PAPER.EXHIBIT", help="Only this exhibit and its claims: amecn.fig9.")
@click.option("--seeds", type=click.IntRange(min=1), metavar="N", help="Runs of every case [default: 10; quick: 3].")
@click.option("--quick", is_flag=True, help="3 seeds and coarser grids: all papers in under a minute.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("out/reproduce"),
    metavar="DIR",
    show_default=True,
    help="Write report.html, claims.csv, figures and data there, and keep finished runs for the next call.",
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Threads; default: one a core.")
@click.option("--timing", type=click.Path(path_type=Path), metavar="FILE", help="Write where the time went.")
@click.option("--list", "only_list", is_flag=True, help="Show every exhibit and claim; run nothing.")
def reproduce(
    papers: tuple[str, ...],
    only: tuple[str, ...],
    seeds: int | None,
    quick: bool,
    out: Path,
    jobs: int | None,
    timing: Path | None,
    only_list: bool,
) -> int:
    """Reproduce the papers' figures and judge their claims, all of them by default.

    DIR/report.html says first, in one table, what holds and what does not. A second call runs only what is not kept
    in DIR/runs yet; after Ctrl-C the same command goes on.
    """
    from penstock import runner
    from penstock.reproduce import command
    from penstock.reproduce.model import Settings

    chosen = command.choose(papers, only)
    if only_list:
        _draw(_tables().papers_table(chosen))
        return 0
    _writable(out=out, timing=timing)
    settings = Settings(seeds=seeds or (3 if quick else 10), quick=quick)
    try:
        done = command.reproduce(chosen, settings, out, jobs or runner.cores(), timing)
    except KeyboardInterrupt:
        kept = out / "runs"
        return _fail(
            f"interrupted; what has run is kept in {kept}: the same command goes on from there", EXIT_INTERRUPTED
        )
    _draw(_tables().findings_table(done.findings))
    _print(str(done.page))
    return 0


@cli.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--seeds", type=click.IntRange(1, 1_000_000), metavar="N", help="Runs of every point [default: the file's]."
)
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change a key: aqm.min_th=7.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("out/sweep"),
    metavar="DIR",
    show_default=True,
    help="Keep the runs there; what is there is not run again.",
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Threads; default: one a core.")
@click.option("--scheduler", metavar="ADDRESS", help="A Dask scheduler whose workers run them: tcp://head:8786.")
@click.option(
    "--until",
    metavar='"METRIC ±WIDTH"',
    help='More seeds for each point until its interval is so narrow: "utilization ±0.5%"; at most --seeds [1000].',
)
@click.option("--flows", is_flag=True, help="Keep the metrics of each flow, too, in DIR/flows.")
@click.option("--series", metavar="TIME", help="Keep series sampled at this interval, too, in DIR/series.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first run that fails.")
@click.option(
    "--patience",
    metavar="TIME",
    help="With --scheduler: how long nothing may come back before lost runs are sent again, or the sweep ends [300 s].",
)
@click.option("--verify", is_flag=True, help="Run nothing: read all that DIR holds, and name damaged files.")
@click.option("--no-warm-up-check", is_flag=True, help="Do not look whether the measured window starts too early.")
def sweep(
    file: Path | None,
    seeds: int | None,
    changes: tuple[str, ...],
    out: Path,
    jobs: int | None,
    scheduler: str | None,
    until: str | None,
    flows: bool,
    series: str | None,
    fail_fast: bool,
    patience: str | None,
    verify: bool,
    no_warm_up_check: bool,
) -> int:
    """Run every point of the [sweep] and [[variant]] of FILE with every seed.

    DIR/runs holds Parquet files, one row for each run. Killed at any moment, the same command goes on; with more values
    or seeds it runs only what is new. `penstock sweep --verify --out DIR` checks the files in DIR.
    """
    from penstock._progress import Bar
    from penstock.sweeps import drive

    if verify:
        return _verify(out)
    if file is None:
        raise click.UsageError("Missing argument 'FILE'.")
    scenario = _scenario(file, changes)
    interval_s = None if series is None else _series_interval(scenario, series, out)
    _writable(out=out)
    with Bar(scenario.name or file.name) as bar:

        def progress(now: drive.Sweep) -> None:
            rate = f"{now.ran / now.elapsed_s:.1f}/s" if now.elapsed_s > 0 else ""
            failed = f", {now.failed} failed" if now.failed else ""
            bar.show(
                now.done / max(1, now.runs), scenario.name or file.name, f"{now.done}/{now.runs} runs {rate}{failed}"
            )

        def failure(what: drive.Failure) -> None:
            click.echo(f"run {what.key}, seed {what.seed}: {what.error}", err=True)

        try:
            done = drive.sweep(
                scenario,
                seeds=seeds,
                out=out,
                jobs=jobs,
                scheduler=scheduler,
                until=until,
                flows=flows,
                series=interval_s,
                fail_fast=fail_fast,
                patience=patience,
                progress=progress,
                failure=failure,
            )
        except KeyboardInterrupt:
            return _fail(f"interrupted; finished runs are kept in {out}: the same command goes on", EXIT_INTERRUPTED)
        except drive.FailFastError as error:
            return _fail(str(error), EXIT_FAILED)
    failed = f", {done.failed} failed" if done.failed else ""
    wide = f"; {done.wide} points are not that narrow after the most seeds" if done.wide else ""
    _print(f"{done.runs} runs in {out}: {done.ran} new, {done.kept} kept{failed}{wide}")
    if done.ran and not no_warm_up_check:
        from penstock.sweeps import warm_up

        for line in warm_up.check_points(scenario, jobs):
            click.echo(line, err=True)
    return EXIT_FAILED if done.failed else 0


def _verify(folder: Path) -> int:
    """Checks a sweep's folder."""
    from penstock.sweeps import store

    damages = store.verify(folder)
    files = sum(len(store.parts(folder, table)) for table in store.TABLES)
    if not damages:
        _print(f"{folder}: {files} of {files} Parquet files are as they were written")
        return 0
    listed = "; ".join(f"{each.path.relative_to(folder)}: {each.why}" for each in damages)
    return _fail(
        f"{folder}: damaged: {listed}; the next sweep into {folder} sets damaged files aside and does their runs again",
        EXIT_FAILED,
    )


@cli.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- PROGRAM [ARGUMENT]...]")
@click.option("--duration", metavar="TIME", help="In place of the file's; own programs: end after it at the latest.")
@click.option("--client", metavar="CMD", help="A line for the shell on the client's side, instead of the traffic.")
@click.option("--server", metavar="CMD", help="A line for the shell on the server's side, started before the client.")
@click.option("--shell", is_flag=True, help="An interactive shell on the client's side, instead of the traffic.")
@click.option("--download", is_flag=True, help="The bottleneck's forward direction is from the server to the client.")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change a key: aqm.min_th=7.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of a table.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write the document and series there.")
@click.option("--series", metavar="TIME", help="Sampling interval of the series that --out writes.")
@click.option("--pcap", type=click.Path(path_type=Path), metavar="FILE", help="Capture packets.")
@click.option(
    "--pcap-link",
    type=click.Choice(["bottleneck", "bottleneck:out"]),
    default="bottleneck",
    show_default=True,
    help="Packets as they arrive at the router, or with :out as they leave it, with the marks that it makes.",
)
@click.option("--live", is_flag=True, help="Draw the queue while it runs.")
@click.option("--rootless", is_flag=True, help="Use a user namespace even as root.")
@click.option("--backend", type=click.Choice(["tun", "packet"]), help="Default: TUN where it may be opened.")
@click.option("--no-fifo", is_flag=True, help="Do not ask for real-time scheduling.")
def emulate(
    file: Path,
    program: tuple[str, ...],
    duration: str | None,
    client: str | None,
    server: str | None,
    shell: bool,
    download: bool,
    changes: tuple[str, ...],
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
    """Run the scenario in FILE on real packets: its bottleneck between two network namespaces of this machine.

    Its ftp and cbr traffic becomes real flows (iperf3, the kernel's TCP). A PROGRAM after "--", --client and
    --server run instead of it; without traffic and program a shell is started. Root is not needed where user
    namespaces are allowed. The run says how late its packets were, and whether it is valid.
    """
    from penstock import emulation
    from penstock._live import Screen

    if sum((bool(program), client is not None, shell)) > 1:
        raise ScenarioError("--client, --shell and a program after -- exclude each other")
    scenario, has_traffic = Scenario.load_link(file)
    scenario = _changed(scenario, changes if duration is None else (*changes, f"duration={duration}"))
    argv: Sequence[str] | None = ["/bin/sh", "-c", client] if client is not None else list(program) or None
    if shell or (argv is None and not has_traffic):
        argv = []
    if argv is None and server is not None:
        argv = []
    interval = _series_interval(scenario, series, out)
    _writable(out=out, pcap=pcap)
    with Screen(scenario, live=live, own=argv is not None) as screen:
        result = emulation.emulate(
            scenario,
            client=argv,
            server=server,
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
    if out is not None:
        _write_result(out, result)
    _report(result.json if as_json else lambda: _tables().emulated_table(result))
    code: int | None = result.emulation["exit_code"]
    return code or 0


@cli.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("metric", required=False)
@click.option("--over", metavar="AXIS", help="The axis of the table's rows and the figure: a key path, or variant.")
@click.option("--by", metavar="AXIS", help="A line for each value of this axis.")
@click.option(
    "--ci",
    type=click.Choice(["t", "bootstrap"]),
    default="t",
    show_default=True,
    help="Intervals by Student's t, or bootstrap ones, which need not be symmetric.",
)
@click.option(
    "--against",
    metavar="AXIS=VALUE",
    help="Differences of the axis' other values against this one, paired by seed: variant=droptail, aqm.min_th=5.",
)
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: .svg, .png or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of a table.")
def show(
    folder: Path,
    metric: str | None,
    over: str | None,
    by: str | None,
    ci: str,
    against: str | None,
    figure: Path | None,
    as_json: bool,
) -> None:
    """Show METRIC of the runs that `penstock sweep` kept in DIR, over any axis, with 95 % intervals.

    Without --over: over every axis that varies. What varies besides is averaged within each seed. Without METRIC: a few
    that matter most.
    """
    from penstock.sweeps import show as shows

    _writable(figure=figure)
    _drawable(figure)
    shown = shows.show(folder, metric, over, by, ci=ci, against=against)
    if figure is not None:
        from penstock import style

        style.save(shows.draw(shown), str(figure))
    if as_json:
        _print(shown.json())
        return
    for table in shows.tables(shown, metric or str(folder)):
        _draw(table)


@cli.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--csv", "as_csv", is_flag=True, required=True, help="As CSV, one line a row, on stdout.")
@click.option(
    "--table",
    type=click.Choice(("runs", "flows", "queue", "cwnd", "rtt", "fct")),
    default="runs",
    show_default=True,
    help="What to write; all but runs where the sweep was told to keep them.",
)
def export(folder: Path, as_csv: bool, table: str) -> None:
    """Write what `penstock sweep` kept in DIR in another form, in the order of the runs' keys."""
    from penstock.sweeps import show as shows

    assert as_csv
    sys.stdout.flush()
    shows.export(folder, sys.stdout.buffer, table)


#: What a figure may be written as.
FIGURES = (".png", ".svg", ".pdf")


def _kinds(aqms: Sequence[str]) -> list[str]:
    """The named kinds; "all" adds every other kind but the one that has to be put together first."""
    named = [aqm for aqm in aqms if aqm != "all"]
    every = [kind["name"] for kind in json.loads(_penstock.list_json("aqm")) if kind["name"] != "custom"]
    return named + [kind for kind in every if "all" in aqms and kind not in named]


def _scenario(file: Path, changes: Sequence[str]) -> Scenario:
    """The scenario of a file with the changes of `--set`."""
    return _changed(Scenario.load(file), changes)


def _changed(scenario: Scenario, changes: Sequence[str]) -> Scenario:
    return scenario.set_all(_wanted(changes, "--set"))


def _wanted(changes: Sequence[str], option: str) -> dict[str, object]:
    """Key path → value, from the option's `KEY=VALUE`."""
    wanted: dict[str, object] = {}
    for change in changes:
        path, equals, value = change.partition("=")
        if not equals or not path.strip():
            raise ScenarioError(f"{option} {change}: must be KEY=VALUE, as in aqm.min_th=7")
        wanted[path.strip()] = value.strip()
    return wanted


def _series_interval(scenario: Scenario, series: str | None, out: Path | None) -> float | None:
    """The sampling interval in seconds; `None` where nobody would see the series."""
    from penstock.runner import auto_interval_s
    from penstock.scenario import seconds

    if out is None:
        if series is not None:
            raise ScenarioError("--series: needs --out DIR, where the series are written")
        return None
    if series is None:
        return auto_interval_s(scenario.duration_s)
    try:
        return seconds(series)
    except ScenarioError as error:
        raise ScenarioError(f"--series {series}: {error}") from None


def _writable(out: Path | None = None, **files: Path | None) -> None:
    """Refuses, before anything runs, what could not be written afterwards."""
    if out is not None and out.exists() and not out.is_dir():
        raise ScenarioError(f"--out {out}: is a file, not a folder")
    for option, path in files.items():
        if path is None:
            continue
        if path.is_dir():
            raise ScenarioError(f"--{option} {path}: is a folder, not a file")
        if not path.parent.is_dir():
            raise ScenarioError(f"--{option} {path}: there is no folder {path.parent}")


def _drawable(figure: Path | None) -> None:
    """Refuses what a figure cannot be written as."""
    if figure is not None and figure.suffix not in FIGURES:
        raise ScenarioError(f"--figure {figure}: must end in {', '.join(FIGURES)}")


def _write_result(out: Path, result: Result) -> None:
    """Everything about one scenario's runs into a folder."""
    from penstock import series_files

    series_files.write_series(out, result)
    _write_text(out / "document.json", result.json() + "\n")  # last: where it stands, the rest is there


def _write_comparison(out: Path, comparison: Comparison) -> None:
    """A folder a discipline, and the document with the differences."""
    for name, result in comparison.results.items():
        _write_result(out / name, result)
    _write_text(out / "comparison.json", comparison.json() + "\n")


def _write_agreement(out: Path, agreement: Agreement) -> None:
    """One scenario's two sides into a folder."""
    from penstock import series_files, style
    from penstock.validate_real import document

    for name, side in (("real", agreement.real), ("simulated", agreement.simulated)):
        series_files.write_series(out / name, side)
    style.save(agreement.plot(), str(out / "figure.svg"))
    _write_text(out / "document.json", document([agreement]) + "\n")


def _write_text(path: Path, text: str) -> None:
    from penstock._files import write

    write(path, text)


def _report(result: Callable[[], str | Table]) -> None:
    """Prints a document or draws a table."""
    shown = result()
    if isinstance(shown, str):
        _print(shown)
    else:
        _draw(shown)


def _print(text: str) -> None:
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def _tables() -> Any:
    """The module that draws tables; with it comes rich, so only when a table is wanted."""
    from penstock import _tables

    return _tables


def _draw(table: Table | Group) -> None:
    from rich.console import Console

    # Into a pipe or file a table takes the width that it needs: nothing is cut off or folded.
    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=200)
    console.print(table)


class _Clock:
    """How long the runs took. Never in results: the same input gives the same bytes."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def stop(self) -> None:
        self.wall_s, self.cpu_s = time.perf_counter() - self._wall, time.process_time() - self._cpu

    def report(self, path: Path | None, results: Sequence[Result], jobs: int) -> None:
        """Into the file that was asked for, and onto a terminal."""
        runs = [run for result in results for run in result.runs]
        events = sum(run.events for run in runs)
        if path is not None:
            timing = {"wall_s": self.wall_s, "cpu_s": self.cpu_s, "jobs": jobs, "runs": len(runs), "events": events}
            _write_text(path, json.dumps(timing) + "\n")
        if sys.stderr.isatty():
            speed = f", {events / self.wall_s / 1e6:.1f} M events/s" if self.wall_s > 0 else ""
            click.echo(f"{len(runs)} runs in {self.wall_s:.2f} s{speed}", err=True)
