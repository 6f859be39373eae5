"""`make bench`: how fast Penstock is, beside ns-2 on the same work in the same run where `ns` is installed.

    python benches/bench.py [--quick] [--only speed,likeness,…] [--out docs/performance.md]

Writes its tables into the marked blocks of `docs/performance.md` and leaves the prose around them alone. Time is CPU
time (user and system) of a whole process, start-up included, the median of three with the two programs taking turns;
nothing here passes or fails by the clock. Instructions are callgrind's, the difference of two lengths, so that start-up
cancels.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from penstock import _files, _penstock

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CASES = ("B1", "B2", "B3", "B4")
#: Simulated seconds: of the timed run (start-up below 5 %), of the comparison of results, and two for callgrind.
TIMED = {"B1": 1000, "B2": 60, "B3": 60, "B4": 60}
COMPARED = {"B1": 100, "B2": 10, "B3": 10, "B4": 10}
COUNTED = {"B1": (30, 90), "B2": (1.0, 1.3), "B3": (1.0, 1.3), "B4": (0.2, 0.4)}
SEGMENT = {"B1": 1000, "B2": 1460, "B3": 1460}
#: ns-2 counts wire bytes.
HEADER = 40


@dataclass(frozen=True)
class Cost:
    """What a process took: CPU and wall seconds, its largest resident set, and what it printed."""

    cpu_s: float
    wall_s: float
    peak_bytes: int
    stdout: str

    @property
    def document(self) -> Any:
        """The JSON that it printed."""
        return json.loads(self.stdout)


def spend(command: Sequence[str | Path]) -> Cost:
    """Runs a process to its end. Raises `SystemExit` with its complaint if it fails.

    The peak is polled from /proc: the kernel's `ru_maxrss` of a child begins at what its parent had.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begun = time.monotonic()
        process = subprocess.Popen([str(c) for c in command], stdout=out, stderr=err, cwd=ROOT)
        peak = 0
        while True:
            peak = max(peak, _high_water(process.pid))
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(0.005)
        wall = time.monotonic() - begun
        process.returncode = os.waitstatus_to_exitcode(status)  # it is reaped: subprocess must not wait again
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            message = err.read().decode(errors="replace").strip()
            raise SystemExit(f"bench: {' '.join(map(str, command))}: exit {process.returncode}: {message}")
        return Cost(usage.ru_utime + usage.ru_stime, wall, peak, out.read().decode())


def _high_water(pid: int) -> int:
    """The largest resident set of a live process so far, in bytes."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


def say(text: str) -> None:
    """Progress, on stderr."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


# ---------------------------------------------------------------------- the programs


def penstock(case: str, seconds: float, seeds: int = 1) -> list[str]:
    """The command that runs a benchmark case, one seed after the other."""
    options = ["--json", "--set", f"duration={seconds:g} s", "--seeds", str(seeds), "--jobs", "1"]
    return [sys.executable, "-m", "penstock", "run", f"benches/{case.lower()}.toml", *options]


def ns2(case: str, seconds: float, count: bool, seed: int = 0) -> list[str]:
    """The same work for ns-2; seed 0 is its own default."""
    return ["ns", "benches/ns2.tcl", case, f"{seconds:g}", "1" if count else "0", str(seed)]


def native() -> Path:
    """The runner without Python (`crates/scenario/examples/run.rs`), built."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "penstock-scenario", "--example", "run"]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return ROOT / target / "release" / "examples" / "run"


def natively(binary: Path, file: str | Path, *changes: str) -> list[str]:
    """The command that runs a scenario without Python; `changes` are KEY=VALUE."""
    return [str(binary), str(file), *changes]


def metrics(document: Any) -> dict[str, float]:
    """The means of a document's metrics; one that does not apply is 0."""
    return {name: estimate["mean"] or 0.0 for name, estimate in document["summary"].items()}


def drops(m: dict[str, float]) -> float:
    """All packets dropped at the bottleneck."""
    return m["drops_early"] + m["drops_forced"] + m["drops_overflow"]


# ---------------------------------------------------------------------- tables


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table, numbers to the right."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(str(c) for c in line) + " |" for line in lines) + "\n"


def millions(x: float) -> str:
    """A rate in millions."""
    return f"{x / 1e6:.2f}"


def mib(x: float) -> str:
    """Bytes in MiB."""
    return f"{x / 2**20:.1f}"


def machine(_: Bench) -> str:
    """The machine and the programs."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    cores = len(os.sched_getaffinity(0))
    python = platform.python_version()
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False).stdout.split()
    rust = rustc[1] if len(rustc) > 1 else "unknown"
    return f"{model}, {cores} cores; Linux {platform.release().split('-')[0]}, Python {python}, Rust {rust}.\n"


def speed(bench: Bench) -> str:
    """The timed runs."""
    rows = []
    for case in CASES:
        seconds = TIMED[case] / bench.shorter
        ours: list[Cost] = []
        theirs: list[Cost] = []
        for i in range(bench.repeats):
            say(f"{case}, {seconds:g} s simulated, {i + 1} of {bench.repeats}")
            ours.append(spend(penstock(case, seconds)))
            if bench.ns:
                theirs.append(spend(ns2(case, seconds, count=False)))
        packets = metrics(ours[0].document)["departures"]
        cpu = median(c.cpu_s for c in ours)
        row: list[object] = [case, f"{seconds:g}", f"{packets:,.0f}", f"{cpu:.2f}", millions(packets / cpu)]
        row += [f"{cpu / packets * 1e9:.0f}", mib(max(c.peak_bytes for c in ours))]
        if theirs:
            there = spend(ns2(case, seconds, count=True)).document["packets"]
            their_cpu = median(c.cpu_s for c in theirs)
            row += [f"{their_cpu:.2f}", millions(there / their_cpu), mib(max(c.peak_bytes for c in theirs))]
            # Per packet, should the two numbers of packets differ by a percent.
            row.append(f"{(their_cpu / there) / (cpu / packets):.1f}×")
        else:
            row += ["–"] * 4
        rows.append(row)
    head = ["", "simulated s", "packets", "CPU s", "M packets / CPU s", "ns a packet", "peak MiB"]
    return table([*head, "ns-2: CPU s", "M packets / CPU s", "peak MiB", "times ns-2"], rows)


def likeness(bench: Bench) -> str:
    """Whether the two did the same work."""
    if not bench.ns:
        return "ns-2 is not installed here.\n"
    rows = []
    for case in CASES:
        seeds = bench.seeds if case in SEGMENT else 1  # B4's datagrams leave nothing to chance but RED's coin
        say(f"{case}, results over {COMPARED[case]} s, {seeds} seeds")
        m = metrics(spend(penstock(case, COMPARED[case], seeds)).document)
        there = [spend(ns2(case, COMPARED[case], count=True, seed=i)).document for i in range(seeds)]
        theirs = {key: sum(d[key] for d in there) / seeds for key in ("goodput_wire_bps", "drops", "packets")}
        payload = SEGMENT[case] / (SEGMENT[case] + HEADER) if case in SEGMENT else 1.0
        ours_bps = m["goodput_bps"] if case in SEGMENT else m["throughput_bps"]
        theirs_bps = theirs["goodput_wire_bps"] * payload
        row: list[object] = [case, f"{ours_bps / 1e6:.2f}", f"{theirs_bps / 1e6:.2f}"]
        row += [f"{100 * (ours_bps / theirs_bps - 1):+.2f} %", f"{drops(m):.0f}", f"{theirs['drops']:.0f}"]
        row += [
            f"{100 * (drops(m) / theirs['drops'] - 1):+.1f} %",
            f"{m['departures']:.0f}",
            f"{theirs['packets']:.0f}",
        ]
        rows.append(row)
    head = ["", "goodput Mbit/s", "ns-2", "difference", "drops", "ns-2", "difference", "packets", "ns-2"]
    return f"Means of {bench.seeds} seeds on either side (B4: one); goodput is payload.\n\n" + table(head, rows)


def per_packet(short: Sequence[str], long: Sequence[str], key: str = "packets") -> tuple[int, float]:
    """Packets (`key`) by which two lengths of one run differ, and callgrind's instructions for each."""
    counts = []
    for line in (short, long):
        with tempfile.TemporaryDirectory() as folder:
            tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--quiet"]
            packets = spend([*tool, *line]).document[key]
            text = Path(folder, "out").read_text(encoding="utf-8", errors="replace")
        found = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
        if not found:
            raise SystemExit("bench: callgrind wrote no total")
        counts.append((int(found[1]), packets))
    (fewer, first), (more, last) = counts
    return last - first, (more - fewer) / (last - first)


def instructions(bench: Bench) -> str:
    """Instructions a packet."""
    if not shutil.which("valgrind"):
        return "valgrind is not installed here.\n"
    binary = native()
    rows = []
    for case in CASES:
        say(f"{case}, instructions")
        file = f"benches/{case.lower()}.toml"
        packets, each = per_packet(*(natively(binary, file, f"duration={s:g} s") for s in COUNTED[case]))
        rows.append([case, f"{packets:,}", f"{each:,.0f}"])
    return table(["", "packets", "instructions a packet"], rows)


#: The cost of a packet that a discipline may have, as a multiple of RED's.
ALLOWED = {"fq-codel": 5}


def disciplines(bench: Bench) -> str:
    """Every discipline on the same two links, as multiples of RED in the same round."""
    binary = native()
    kinds = [kind["name"] for kind in json.loads(_penstock.list_json("aqm"))]
    kinds.remove("red")
    files = {case: (f"benches/{case.lower()}.toml", TIMED[case] / 3 / bench.shorter) for case in ("B2", "B4")}
    rows = []
    for kind in kinds:
        say(f"{kind} beside red")
        row: list[object] = [kind]
        for case, (file, seconds) in files.items():
            ratios, each = [], 0.0
            for _ in range(bench.repeats):
                cost = {}
                for k in (kind, "red"):
                    run = spend(natively(binary, file, f"aqm.kind={k}", f"duration={seconds:g} s"))
                    cost[k] = run.cpu_s / run.document["arrivals"]
                ratios.append(cost[kind] / cost["red"])
                each = cost[kind]
            row += [f"{each * 1e9:.0f}", f"{median(ratios):.2f}×"]
            if shutil.which("valgrind"):
                lengths = [natively(binary, file, f"aqm.kind={kind}", f"duration={s:g} s") for s in COUNTED[case]]
                row.append(f"{per_packet(*lengths, key='arrivals')[1]:,.0f}")
            else:
                row.append("–")
        row.append(f"{ALLOWED.get(kind, 3)}×")
        rows.append(row)
    columns = [f"{case}: {what}" for case in files for what in ("ns", "times RED", "instructions")]
    return table(["", *columns, "allowed"], rows)


FLOWS = (10, 100, 1000, 10_000)


def crowded(folder: str, flows: int, seconds: float, share: float) -> Path:
    """B2 with other numbers of flows; link, thresholds and limit are `share` of its own."""
    text = (HERE / "b2.toml").read_text(encoding="utf-8")
    changes = {
        'duration = "10 s"': f'duration = "{seconds:g} s"',
        "flows = 100": f"flows = {flows}",
        'every = "10 ms"': f'every = "{1e9 / flows:.0f} ns"',
        'rate = "1 Gbit/s"': f'rate = "{1000 * share:g} Mbit/s"',
    }
    lengths = (("min_th", 833), ("max_th", 2500), ("buffer", 6667))
    changes |= {f"{key} = {packets}": f"{key} = {math.ceil(share * packets)}" for key, packets in lengths}
    for old, new in changes.items():
        if text.count(old) != 1:
            raise SystemExit(f"bench: b2.toml must say {old!r} once")
        text = text.replace(old, new)
    file = Path(folder, f"{flows}-{seconds:g}.toml")
    file.write_text(text, encoding="utf-8")
    return file


def growth(bench: Bench) -> str:
    """Cost a packet from few flows to many: on B2's link, and with a link that grows with them."""
    binary = native()

    def rows(length: Callable[[int], float], share: Callable[[int], float]) -> list[list[object]]:
        lines: list[list[object]] = []
        first = 0.0
        for flows in FLOWS:
            seconds = length(flows) / bench.shorter
            say(f"{flows} flows, {seconds:g} s simulated")
            with tempfile.TemporaryDirectory() as folder:
                line = natively(binary, crowded(folder, flows, seconds, share(flows)))
                runs = [spend(line) for _ in range(bench.repeats)]
            d, cpu = runs[0].document, median(c.cpu_s for c in runs)
            each = cpu / d["packets"]
            first = first or each
            row: list[object] = [f"{flows:,}", f"{d['packets']:,}", f"{100 * d['drops'] / d['packets']:.1f} %"]
            lines.append([*row, f"{each * 1e9:.0f}", f"{each / first:.2f}×"])
        return lines

    head = ["flows", "packets through", "dropped", "ns a packet", "against 10 flows"]
    same = rows(lambda _: 20, lambda _: 1)
    grown = rows(lambda flows: max(4, 10_000 / flows), lambda flows: flows / 1000)
    if shutil.which("valgrind") and bench.shorter == 1:
        head_grown = [*head, "instructions a packet"]
        for row, flows in zip(grown, FLOWS, strict=True):
            say(f"{flows} flows, instructions")
            with tempfile.TemporaryDirectory() as folder:
                lengths = (max(1.0, 600 / flows), max(1.2, 900 / flows))
                lines = [natively(binary, crowded(folder, flows, s, flows / 1000)) for s in lengths]
                row.append(f"{per_packet(*lines)[1]:,.0f}")
    else:
        head_grown = head
    return (
        f"On B2's 1 Gbit/s, where each flow's share shrinks and timeouts take over:\n\n{table(head, same)}\n"
        f"With 1 Mbit/s of link for each flow, so that a flow always does the same:\n\n{table(head_grown, grown)}"
    )


IDLE = """\
duration = "1 s"
profile = "ns-2"
[topology]
bottleneck = { rate = "1 Gbit/s", delay = "20 ms", buffer = 1000 }
access = { rate = "1 Gbit/s", delay = "1 ms" }
[[traffic]]
kind = "ftp"
flows = %d
start = "2 s"
"""
UNDER_WAY = """\
duration = "18 s"
[topology]
bottleneck = { rate = "10 Gbit/s", delay = "1 s", buffer = 400000 }
access = { rate = "10 Gbit/s", delay = "1 ms" }
[[traffic]]
kind = "ftp"
flows = 10
window = %d
initial_window = 1000
initial_rto = "10 s"
"""
CROWD = """\
duration = "20 s"
measure = { from = "10 s" }
profile = "ns-2"
[topology]
bottleneck = { rate = "1 Gbit/s", delay = "20 ms", buffer = 10000 }
access = { rate = "1 Gbit/s", delay = { spread = ["2 ms", "20 ms"] } }
[aqm]
kind = "red"
[[traffic]]
kind = "ftp"
flows = 100000
start = { uniform = ["0 s", "10 s"] }
"""


def memory(bench: Bench) -> str:
    """Memory a flow, a packet, and of a crowd."""
    binary = native()
    rows = []
    with tempfile.TemporaryDirectory() as folder:

        def peak(text: str) -> tuple[int, Any]:
            file = Path(folder, "case.toml")
            file.write_text(text, encoding="utf-8")
            document = spend(natively(binary, file)).document
            return document["peak_bytes"], document

        say("memory of idle flows")
        few, many = 1000, 101_000
        each = (peak(IDLE % many)[0] - peak(IDLE % few)[0]) / (many - few)
        rows.append(["an idle flow", f"{each:.0f} B", "2048 B"])
        say("memory of packets in flight")
        # No loss, and windows that are open long before the end: what differs is all in flight, as data or as ACK.
        small, large = 2000, 20_000
        each = (peak(UNDER_WAY % large)[0] - peak(UNDER_WAY % small)[0]) / (10 * (large - small))
        rows.append(["a TCP packet in flight, with what both ends keep of it", f"{each:.0f} B", "100 B"])
        say("100,000 flows")
        bytes_, document = peak(CROWD)
        cost = f"{document['packets']:,} packets through, {document['cpu_s']:.1f} CPU s"
        rows.append([f"100,000 flows, 20 s on 1 Gbit/s ({cost})", f"{mib(bytes_)} MiB", "1024 MiB"])
    return table(["", "here", "asked for"], rows)


def parallel(bench: Bench) -> str:
    """Ten seeds on one core and on two."""
    file = ["benches/b1.toml", "--set", f"duration={1000 / bench.shorter:g} s", "--seeds", "10", "--json"]
    walls: dict[int, list[float]] = {1: [], 2: []}
    documents = set()
    for i in range(bench.repeats):
        for jobs, each in walls.items():
            say(f"10 seeds of B1, {jobs} at a time, {i + 1} of {bench.repeats}")
            cost = spend([sys.executable, "-m", "penstock", "run", *file, "--jobs", str(jobs)])
            each.append(cost.wall_s)
            documents.add(cost.stdout)
    one, two = (median(each) for each in walls.values())
    same = "the documents are the same" if len(documents) == 1 else "THE DOCUMENTS DIFFER"
    rows = [[f"{one:.2f}", f"{two:.2f}", f"{two / one:.2f}×"]]
    return table(["wall s, one at a time", "two at a time", "ratio"], rows) + f"\n({same} to the byte.)\n"


#: A million datagrams through one link, under a discipline that lets all of them in.
OWN = """\
import sys
import penstock as ps

class Pass(ps.Aqm):
    def arrive(self, now, packet, queue):
        return ps.PASS

class Reads(ps.Aqm):
    def arrive(self, now, packet, queue):
        return ps.DROP if self.random() < 0 or packet.bytes * queue.pkts > 10**8 else ps.PASS

class Average(Pass):
    def average_pkts(self):
        return 1.0

class Departs(Pass):
    def depart(self, now, packet, queue):
        return ps.PASS

aqm = {"none": None, "pass": Pass(), "reads": Reads(), "average": Average(), "departs": Departs()}[sys.argv[1]]
link = ps.Link(rate="100 Mbit/s", delay="10 ms", buffer=10_000)
datagrams = ps.Poisson(rate="98 Mbit/s", packet="1000 B")
s = ps.Scenario(topology=ps.Dumbbell(bottleneck=link), aqm=aqm, traffic=[datagrams], duration=f"{sys.argv[2]} s")
print(ps.run(s, jobs=1).json())
"""


def own(bench: Bench) -> str:
    """What a discipline in Python costs beside DropTail, per arrival at its link."""
    seconds = f"{80 / bench.shorter:g}"

    def cost(which: str) -> tuple[float, float]:
        say(f"a discipline in Python: {which}")
        runs = [spend([sys.executable, "-c", OWN, which, seconds]) for _ in range(bench.repeats)]
        return median(c.cpu_s for c in runs), metrics(runs[0].document)["arrivals"]

    bare, arrivals = cost("none")
    lines = {
        "`arrive` returns `PASS`": "pass",
        "`arrive` reads queue and packet, draws a number": "reads",
        "`arrive` and `average_pkts`": "average",
        "`arrive` and `depart` (an event more for each packet, besides)": "departs",
    }
    rows = [
        [name, f"{arrivals:,.0f}", f"{(cost(which)[0] - bare) / arrivals * 1e9:.0f}"] for name, which in lines.items()
    ]
    return table(["", "arrivals", "ns more an arrival than DropTail"], rows)


def start_up(bench: Bench) -> str:
    """A trivial scenario from process start to exit, and the import alone."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "trivial.toml")
        file.write_text((IDLE % 1).replace('start = "2 s"', ""), encoding="utf-8")
        lines = {
            "`penstock run` on a trivial scenario": ["-m", "penstock", "run", str(file)],
            "`import penstock`": ["-c", "import penstock"],
            "the interpreter alone": ["-c", ""],
        }
        rows = []
        for name, line in lines.items():
            spend([sys.executable, *line])  # once, so that the files are in memory
            rows.append([name, f"{median(spend([sys.executable, *line]).wall_s for _ in range(9)):.3f}"])
    return table(["", "wall s"], rows)


# ---------------------------------------------------------------------- the document


@dataclass(frozen=True)
class Bench:
    """How thorough to be. shorter: divides simulated times."""

    shorter: int
    repeats: int
    seeds: int
    ns: bool


BLOCKS: dict[str, Callable[[Bench], str]] = {
    "machine": machine,
    "speed": speed,
    "likeness": likeness,
    "instructions": instructions,
    "disciplines": disciplines,
    "growth": growth,
    "memory": memory,
    "parallel": parallel,
    "own": own,
    "start": start_up,
}
TITLES = {
    "machine": "The machine",
    "speed": "Speed on B1 to B4",
    "likeness": "The work is alike",
    "instructions": "Instructions",
    "disciplines": "Disciplines",
    "growth": "From 10 to 10,000 flows",
    "memory": "Memory",
    "parallel": "Ten seeds on two cores",
    "own": "A discipline in Python",
    "start": "Start-up",
}
SKELETON = "# Performance\n\n" + "".join(
    f"## {TITLES[name]}\n\n<!-- bench:{name} -->\n<!-- /bench:{name} -->\n\n" for name in BLOCKS
)


def put(text: str, name: str, content: str) -> str:
    """`text` with the block `name` holding `content`; a block that it lacks goes to the end."""
    opening, closing = f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"
    if opening not in text:
        text = f"{text.rstrip()}\n\n## {TITLES[name]}\n\n{opening}\n{closing}\n"
    before, _, rest = text.partition(opening)
    _, found, after = rest.partition(closing)
    if not found:
        raise SystemExit(f"bench: {opening} has no {closing}")
    return f"{before}{opening}\n{content.strip()}\n{closing}{after}"


def main() -> int:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a tenth of the simulated time, once: only a smoke test")
    parser.add_argument("--only", default=",".join(BLOCKS), metavar="BLOCKS", help=f"of {', '.join(BLOCKS)}")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "performance.md", metavar="FILE")
    options = parser.parse_args()
    chosen = options.only.split(",")
    if unknown := [name for name in chosen if name not in BLOCKS]:
        parser.error(f"--only: no block {', '.join(unknown)}; there are {', '.join(BLOCKS)}")
    quick = options.quick
    ns = shutil.which("ns") is not None
    bench = Bench(shorter=10, repeats=1, seeds=1, ns=ns) if quick else Bench(shorter=1, repeats=3, seeds=8, ns=ns)
    for name in chosen:
        content = BLOCKS[name](bench)
        print(f"{TITLES[name]}\n\n{content}", flush=True)
        out: Path = options.out
        text = out.read_text(encoding="utf-8") if out.exists() else SKELETON
        if not quick:
            _files.write(out, put(text, name, content))
    return 0


if __name__ == "__main__":
    sys.exit(main())
