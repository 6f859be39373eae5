"""The kernel's queues and Penstock's router under the same real TCP, in a virtual machine whose clock is virtual.

Penstock's simulator may stand beside them.

One Linux kernel in qemu, without KVM: every instruction takes a nanosecond and every random number follows from the
seed, so a run depends on its arguments alone and repeats byte for byte. README.md has what is built, how the parameters
correspond, and results.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import penstock
from debian import Packages, UnavailableError, packages
from image import MODULES, image, write
from netlink import adaptive_red
from penstock.model.scenario import Scenario, literal

#: Exit status where packages cannot be had; 2 is a wrong argument, 1 a guest that failed.
UNAVAILABLE = 77

#: Time between two looks at the qdisc.
STEP_US = 20_000

#: Payload of a full segment, with timestamps.
SEGMENT = 1448

#: A full frame, as tbf counts it.
FRAME = 1514

#: Half-widths of Student's 95 % interval in standard errors, for 1, 2, … degrees of freedom; the last serves for more.
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
       2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045)  # fmt: skip

#: Congestion controls of Debian's kernel; those with a module's name are none of the kernel's own.
CONTROLS = {
    "reno": None,
    "cubic": None,
    "bbr": "tcp_bbr",
    "dctcp": "tcp_dctcp",
    "vegas": "tcp_vegas",
    "westwood": "tcp_westwood",
    "highspeed": "tcp_highspeed",
}

#: Where packages are unpacked.
CACHE = Path.home() / ".cache" / "penstock-oracle"

#: The simulator's seeds: its runs are cheap.
SIMULATED_SEEDS = 20

Metrics = dict[str, float | None]
Estimate = dict[str, float | int | None]


class GuestError(Exception):
    """The guest did not do what it should; says what it printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a run consists of, but for the seed. The names of RED's parameters are tc's.

    delay_s: one way; flows: that many connections of one iperf3; warmup_s: not measured; queue: "red", or "fq_codel",
    which has the kernel's defaults; bucket: tbf's, in bytes.
    """

    rate_bps: int = 10_000_000
    delay_s: float = 0.02
    flows: int = 4
    cc: str = "reno"
    queue: str = "red"
    duration_s: int = 20
    warmup_s: int = 5
    ecn: bool = False
    adaptive: bool = False
    min: int = 15_000
    max: int = 45_000
    limit: int = 300_000
    avpkt: int = 1500
    burst: int = 20
    probability: float = 0.1
    bucket: int = 3000

    def wlog(self) -> int:
        """The weight's exponent, as tc finds it: the least for which `burst` packets may arrive at once.

        >>> Setting().wlog()
        4
        """
        room = self.burst + 1 - self.min / self.avpkt
        for wlog in range(1, 32) if room >= 1 else ():
            weight = 2.0**-wlog
            if room <= (1 - (1 - weight) ** self.burst) / weight:
                return wlog
        raise ValueError(
            f"--burst {self.burst}: there is no weight for it at --min {self.min} and --avpkt {self.avpkt}"
        )

    def modules(self) -> tuple[str, ...]:
        """The kernel modules that a run needs."""
        module = CONTROLS[self.cc]
        return (*MODULES, module) if module else MODULES

    def qdisc(self) -> str:
        """The arguments of tc's red or fq_codel; adaptive it becomes afterwards."""
        if self.queue == "fq_codel":
            ecn = "ecn" if self.ecn else "noecn"
            return f"fq_codel limit 10240 flows 1024 target 5ms interval 100ms quantum 1514 {ecn}"
        numbers = f"limit {self.limit} min {self.min} max {self.max} avpkt {self.avpkt} burst {self.burst}"
        ecn = " ecn" if self.ecn else ""
        return f"red {numbers} probability {self.probability} bandwidth {self.rate_bps}bit{ecn}"

    def aqm(self, early_s: float = 0.0) -> dict[str, Any]:
        """The same for Penstock; README.md says why these are the same.

        early_s: fq_codel is asked for the next packet so much before its time on the link begins.
        """
        if self.queue == "fq_codel":
            return {
                "kind": "fq-codel",
                "limit": 10240,
                "flows": 1024,
                "target": f"{5000 + early_s * 1e6:.3f} us",
                "interval": "100 ms",
                "quantum": "1514 B",
                "maxpacket": "1514 B",
                "behind": "all",
                "ecn": self.ecn,
            }
        return {
            "kind": "ared" if self.adaptive else "red",
            "unit": "bytes",
            "mean_packet": f"{self.avpkt} B",
            "min_th": f"{self.min} B",
            "max_th": f"{self.max} B",
            "max_p": self.probability,
            "w_q": 2.0 ** -self.wlog(),
            "gentle": False,
            "ecn": self.ecn,
            "forced": "mark",
        }

    def scenario(self, simulated: bool = False) -> dict[str, Any]:
        """The scenario of our router, which carries real packets, or of our simulator, whose hosts are Linux's."""
        # A frame leaves tbf, whose bucket holds one, when its time on the link begins, and not when that ends.
        early_s = FRAME * 8 / self.rate_bps if simulated else 0.0
        rate = f"{self.rate_bps} bit/s"
        there, back = (f"{(self.delay_s - early) * 1e6:.3f} us" for early in (early_s, 0.0))
        buffer: str | int = f"{self.limit} B" if self.queue == "red" else "10240 packets"
        flows: dict[str, Any] = {"kind": "ftp", "flows": self.flows, "tcp": self.cc}
        flows["ecn"] = "classic" if self.ecn else "off"
        if simulated:
            # iperf3 starts all its connections at once, but for the time that its loop takes, after 1.1 s of its own
            # and nine round trips.
            start = 1.1 + 18 * self.delay_s
            flows["start"] = {"uniform": [f"{start:.3f} s", f"{start + 0.01:.3f} s"]}
            flows["tick"] = "4 ms"  # Debian's HZ is 250
            duration = self.duration_s
        else:
            flows |= {"segment": "1448 B", "window": 1000}
            duration = self.router_duration_s()
        written = {
            "name": "oracle",
            "duration": f"{duration} s",
            "measure": {"from": f"{self.warmup_s} s", "to": f"{self.duration_s} s"},
            # A full segment is a frame of 1514 B: Ethernet's header counts as well.
            "overhead": "54 B",
            "topology": {
                "kind": "dumbbell",
                "bottleneck": {"rate": rate, "delay": there, "reverse_delay": back, "buffer": buffer},
                "access": {"rate": "1 Gbit/s", "delay": "0 s"},
            },
            "aqm": self.aqm(early_s),
            "traffic": [flows],
        }
        return {"profile": "linux", **written} if simulated else written

    def router_duration_s(self) -> int:
        """The router outlives the flows: iperf3's last exchange crosses it too."""
        return self.duration_s + 3


def texts(setting: Setting, kernel: bool) -> dict[str, bytes]:
    """What the guest program reads: the settings, as its shell does, the adaptive RED, the router's scenario."""
    values = {
        "bottleneck": "kernel" if kernel else "router",
        "qdisc": setting.qdisc(),
        "rate": f"{setting.rate_bps}bit",
        "tbf_burst": setting.bucket,
        "delay": f"{setting.delay_s * 1e6:.0f}us",
        "ecn": int(setting.ecn),
        "cc": setting.cc,
        "flows": setting.flows,
        "duration": setting.duration_s,
        "warmup": setting.warmup_s,
        "router_duration": setting.router_duration_s(),
        "step_us": STEP_US,
    }
    settings = "".join(f"{name}='{value}'\n" for name, value in values.items())
    files = {"settings": settings.encode()}
    if not kernel:
        files["scenario.json"] = json.dumps(setting.scenario(), indent=1).encode()
    if setting.adaptive:
        files["adaptive"] = adaptive_red(
            limit=setting.limit,
            th=(setting.min, setting.max),
            wlog=setting.wlog(),
            max_p=setting.probability,
            ecn=setting.ecn,
            avpkt=setting.avpkt,
            rate_bps=setting.rate_bps,
        )
    return files


def boot(packages: Packages, archive: Path, seed: int, limit_s: float) -> dict[str, Any]:
    """Boots the guest and returns its document."""
    text = said(packages, archive, seed, limit_s)
    try:
        parsed = dict(json.loads(text))
    except ValueError as error:
        raise GuestError(f"seed {seed}: the document is not JSON: {error}") from error
    if (failed := parsed["iperf3"].get("error")) is not None:  # its exit status is 0 all the same
        raise GuestError(f"seed {seed}: iperf3: {failed}")
    return parsed


def said(packages: Packages, archive: Path, seed: int, limit_s: float) -> str:
    """Boots the guest and returns what it prints between its marker lines."""
    line: list[str | Path] = [*packages.loader(), packages.program("qemu-system-x86_64")]
    for folder in ("usr/share/qemu", "usr/share/seabios"):
        line += ["-L", packages.file(folder)]
    line += ["-machine", "q35", "-m", "1024", "-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio"]
    # Translated, one processor, no randomness but the seed's, and a clock that counts instructions: repeatable.
    line += ["-accel", "tcg,thread=single", "-cpu", "max,-rdrand,-rdseed", "-seed", str(seed)]
    # Recording, though nobody reads the record: without it qemu's main thread may move the clock to the next timer
    # while the processor's thread, which has just halted, has not yet added its last instructions; the clock is then
    # late.
    icount = "shift=0,sleep=off,rr=record,rrfile=/dev/null"
    line += ["-rtc", "base=2026-01-01,clock=vm", "-icount", icount]
    line += ["-kernel", packages.file(f"boot/vmlinuz-{packages.kernel}"), "-initrd", archive]
    environment = {"QEMU_MODULE_DIR": str(packages.file("usr/lib/x86_64-linux-gnu/qemu"))}
    # The kernel stirs its command line into its random numbers before it draws any; qemu's seed alone changes none.
    line += ["-append", f"console=ttyS0 quiet panic=-1 ipv6.disable=1 oracle.seed={seed}"]
    try:
        done = subprocess.run(line, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s)
    except subprocess.TimeoutExpired as error:
        raise GuestError(f"seed {seed}: no end after {limit_s:.0f} s; {_tail(error.stdout)}") from error
    text = done.stdout.decode(errors="replace").replace("\r", "")
    document = re.search(r"^penstock-oracle begin\n(.*)^penstock-oracle end$", text, re.DOTALL | re.MULTILINE)
    if document is None:
        raise GuestError(f"seed {seed}: {_tail(done.stdout) or _tail(done.stderr)}")
    return document[1]


def _tail(output: bytes | None) -> str:
    """The last lines of a console."""
    lines = (output or b"").decode(errors="replace").replace("\r", "").strip().splitlines()
    return "\n".join(lines[-80:])


def kernel_metrics(document: dict[str, Any], setting: Setting) -> Metrics:
    """What the looks at the qdisc say of the window between the first and the last of them."""
    looks = [qdisc for look in document["samples"] for qdisc in look if qdisc["kind"] == setting.queue]
    first, last = looks[0], looks[-1]
    seconds = (document["times_us"][-1] - document["times_us"][0]) / 1e6

    def rate(*counters: str) -> float:
        change = int(sum(last[counter] - first[counter] for counter in counters))
        return change / float(seconds)

    queue = [look["qlen"] for look in looks]
    red = setting.queue == "red"
    found: Metrics = {
        "queue_mean_pkts": statistics.mean(queue),
        "queue_sd_pkts": statistics.pstdev(queue),
        "queue_mean_bytes": statistics.mean(look["backlog"] for look in looks),
        "marks_per_s": rate("marked" if red else "ecn_mark"),
        "drops_per_s": rate("early", "pdrop") if red else rate("drops"),
        "utilization": rate("bytes") * 8 / setting.rate_bps,
        "goodput_bps": _goodput(document),
        "window_mean_pkts": _window(document),
    }
    if red:
        found["max_p_mean"] = statistics.mean(look["options"]["probability"] for look in looks)
    return found


def router_metrics(document: dict[str, Any], setting: Setting) -> Metrics:
    """The same metrics, as the router counted them over its measured window; what it does not have is left out."""
    found = _penstock(document["router"]["metrics"], setting)
    # A qdisc's backlog holds the packet that waits for tbf's tokens, which is the one in service: as often as the link
    # is busy.
    found["queue_mean_pkts"] = (found["queue_mean_pkts"] or 0) + (found["utilization"] or 0)
    return found | {
        "goodput_bps": _goodput(document),
        "window_mean_pkts": _window(document),
    }


def _penstock(metrics: dict[str, Any], setting: Setting) -> Metrics:
    """What the router and the simulator count."""
    seconds = setting.duration_s - setting.warmup_s
    drops = ("drops_early", "drops_forced", "drops_overflow")
    return {
        "queue_mean_pkts": metrics["queue_mean_pkts"],
        "queue_sd_pkts": metrics.get("queue_sd_pkts"),
        "marks_per_s": metrics["marks_ce"] / seconds,
        "drops_per_s": sum(metrics[kind] for kind in drops) / seconds,
        "utilization": metrics["utilization"],
        "goodput_bps": metrics.get("goodput_bps"),
    }


def simulated(setting: Setting) -> list[Metrics]:
    """The same metrics of the simulator's runs, under `profile = "linux"`."""
    written = setting.scenario(simulated=True)
    scenario = Scenario.from_toml("".join(f"{key} = {literal(value)}\n" for key, value in written.items()))
    result = penstock.run(scenario, seeds=SIMULATED_SEEDS, series="100 ms")
    windows: dict[int, list[float]] = {run.seed: [] for run in result.runs}
    for row in result.series("cwnd").to_pylist():
        if row["t_s"] >= setting.warmup_s:
            windows[row["seed"]].append(row["cwnd_segments"])
    return [
        _penstock(run.metrics, setting) | {"window_mean_pkts": statistics.mean(windows[run.seed])}
        for run in result.runs
    ]


def _window(document: dict[str, Any]) -> float:
    """The mean of the flows' windows, which iperf3 looks at every 0.1 s, in segments."""
    measured = (each for each in document["iperf3"]["intervals"] if not each["sum"]["omitted"])
    windows = [stream["snd_cwnd"] for each in measured for stream in each["streams"]]
    return float(statistics.mean(windows)) / SEGMENT


def _goodput(document: dict[str, Any]) -> float:
    return float(document["iperf3"]["end"]["sum_received"]["bits_per_second"])


def summary(runs: Sequence[Metrics]) -> dict[str, Estimate]:
    """Mean and half-width of the 95 % interval over the runs, of each metric that every run has."""
    estimates: dict[str, Estimate] = {}
    for name in runs[0]:
        values = [value for run in runs if (value := run.get(name)) is not None]
        n = len(values)
        if n < len(runs):
            continue
        ci95 = None
        if n > 1:
            ci95 = T95[min(n - 2, len(T95) - 1)] * statistics.stdev(values) / math.sqrt(n)
        estimates[name] = {"mean": statistics.mean(values), "ci95": ci95, "n": n}
    return estimates


def table(results: dict[str, Any]) -> str:
    """The summaries side by side, as Markdown."""
    sides = {side: results[side]["summary"] for side in ("kernel", "router", "simulator") if side in results}
    first = next(iter(sides.values()))
    head = ["metric"]
    for side in sides:
        head += [f"{side} (n {len(results[side]['runs'])})"] + ["difference"] * (sides[side] is not first)
    rows = [head, ["---"] * len(head)]
    for metric, of_first in first.items():
        row = [metric]
        for estimates in sides.values():
            cell = estimates.get(metric)
            row.append("–" if cell is None else shown(cell))
            if estimates is not first:
                row.append(f"{difference(of_first, cell):+.1f} %" if cell is not None and of_first["mean"] else "–")
        rows.append(row)
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def difference(one: Estimate, other: Estimate) -> float:
    """By how many per cent of one's mean the other's is above it."""
    return 100 * (float(other["mean"] or 0) / float(one["mean"] or 1) - 1)


def shown(estimate: Estimate) -> str:
    """The mean, with its interval."""
    mean = f"{estimate['mean']:.5g}"
    return mean if estimate["ci95"] is None else f"{mean} ± {estimate['ci95']:.2g}"


def run(
    setting: Setting,
    seeds: Sequence[int],
    cache: Path,
    kernel: bool,
    router: Path | None,
    simulator: bool = False,
    keep: Path | None = None,
) -> dict[str, Any]:
    """Boots the guest once a seed and bottleneck, runs the simulator, and returns all that was measured; timings go to
    stderr.

    keep: a folder with what the guests said. One that is the same to the byte is not booted again for the same seed.
    """
    fetched = packages(cache)
    kinds: list[tuple[str, Path | None, Callable[[dict[str, Any], Setting], Metrics]]] = []
    if kernel:
        kinds.append(("kernel", None, kernel_metrics))
    if router is not None:
        kinds.append(("router", router, router_metrics))
    shown = ("qemu-system-x86", "iproute2", "iperf3")
    results: dict[str, Any] = {
        "settings": asdict(setting),
        "release": fetched.kernel,
        "packages": {name: fetched.versions[name] for name in shown},
    }
    with tempfile.TemporaryDirectory(prefix="penstock-oracle-") as folder:
        archive = Path(folder) / "initramfs.gz"
        for name, program, metrics in kinds:
            content = image(fetched, texts(setting, program is None), program, wanted=setting.modules())
            archive.write_bytes(content)
            guest = hashlib.sha256(content).hexdigest()
            runs = []
            for seed in seeds:
                kept = None if keep is None else keep / f"{guest[:16]}-{seed}.json"
                if kept is not None and kept.is_file():
                    document = json.loads(kept.read_bytes())
                else:
                    begin = time.monotonic()
                    document = boot(fetched, archive, seed, limit_s=120 + 20 * setting.duration_s)
                    print(f"{name}, seed {seed}: {time.monotonic() - begin:.1f} s", file=sys.stderr)
                    if kept is not None:
                        write(kept, json.dumps(document).encode())
                try:
                    runs.append(metrics(document, setting))
                except (KeyError, IndexError) as error:
                    raise GuestError(f"{name}, seed {seed}: the guest's document has no {error}") from error
            results[name] = {"guest": guest, "seeds": list(seeds), "runs": runs, "summary": summary(runs)}
    if simulator:
        runs = simulated(setting)
        results["simulator"] = {"runs": runs, "summary": summary(runs)}
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit status."""
    options = _parser().parse_args(arguments)
    setting = Setting(
        rate_bps=options.rate,
        delay_s=options.delay,
        duration_s=options.duration,
        warmup_s=options.duration // 4 if options.warmup is None else options.warmup,
        **{name: getattr(options, name) for name in ("flows", "cc", "queue", "ecn", "adaptive", "bucket", *RED)},
    )
    try:
        _check(setting, options)
    except ValueError as error:
        print(f"oracle.py: {error}", file=sys.stderr)
        return 2
    try:
        results = run(
            setting, options.seeds, options.cache, options.kernel, options.penstock, options.simulated, options.keep
        )
    except UnavailableError as error:
        print(f"oracle.py: {error}", file=sys.stderr)
        return UNAVAILABLE
    except GuestError as error:
        print(f"oracle.py: {error}", file=sys.stderr)
        return 1
    if options.json is not None:
        write(options.json, (json.dumps(results, indent=1) + "\n").encode())
    print(table(results), end="")
    return 0


#: RED's parameters, as tc names them.
RED = {
    "min": "bytes; below it nothing is signalled",
    "max": "bytes; from it on everything is",
    "limit": "bytes of buffer",
    "avpkt": "bytes of a packet",
    "burst": "packets that may come at once; the weight follows from it",
    "probability": "max_p, at the start where adaptive",
}


def _parser() -> argparse.ArgumentParser:
    default = Setting()
    parser = argparse.ArgumentParser(prog="oracle.py", description=(__doc__ or "").split("\n")[0], allow_abbrev=False)
    which = parser.add_argument_group("sides (one or more)")
    which.add_argument("--kernel", action="store_true", help="tbf and the kernel's queue discipline")
    which.add_argument("--penstock", type=Path, metavar="PATH", help="the program penstock-emulate, inside the guest")
    which.add_argument("--simulated", action="store_true", help='the simulator, its hosts with profile = "linux"')
    load = parser.add_argument_group("load")
    load.add_argument("--rate", type=_rate, default=default.rate_bps, help="bottleneck, as tc writes it (10mbit)")
    load.add_argument("--delay", type=_delay, default=default.delay_s, help="one way, as tc writes it (20ms)")
    load.add_argument("--bucket", type=int, default=default.bucket, help="bytes that tbf lets go at once (%(default)s)")
    load.add_argument("--flows", type=int, default=default.flows, help="TCP connections (%(default)s)")
    load.add_argument("--cc", choices=CONTROLS, default=default.cc, help="congestion control (%(default)s)")
    load.add_argument("--duration", type=int, default=default.duration_s, help="seconds of the guest (%(default)s)")
    load.add_argument("--warmup", type=int, help="seconds of it that are not measured (a quarter)")
    load.add_argument("--seeds", type=seeds, default=[7, 8, 9], help="qemu's, one run each (7,8,9)")
    queue = parser.add_argument_group("queue discipline")
    queue.add_argument("--queue", choices=("red", "fq_codel"), default=default.queue, help="(%(default)s)")
    queue.add_argument("--ecn", action="store_true", help="the flows are ECN-capable, and it marks")
    red = parser.add_argument_group("RED")
    red.add_argument("--adaptive", action="store_true", help="max_p adapts itself")
    for name, text in RED.items():
        value = getattr(default, name)
        red.add_argument(f"--{name}", type=type(value), default=value, help=f"{text} (%(default)s)")
    files = parser.add_argument_group("files")
    files.add_argument("--json", type=Path, metavar="OUT", help="results, every run")
    files.add_argument("--keep", type=Path, metavar="DIR", help="what the guests said, which is not asked for again")
    files.add_argument("--cache", type=Path, default=CACHE, help="unpacked packages (~/.cache/penstock-oracle)")
    return parser


def _check(setting: Setting, options: argparse.Namespace) -> None:
    """Raises `ValueError` for what no run can have."""
    if not options.kernel and options.penstock is None and not options.simulated:
        raise ValueError("name a side: --kernel, --penstock PATH, --simulated or several")
    if setting.adaptive and setting.queue != "red":
        raise ValueError(f"--adaptive: not with --queue {setting.queue}")
    if options.penstock is not None and not options.penstock.is_file():
        raise ValueError(f"--penstock {options.penstock}: no such file")
    if options.json is not None and options.json.is_dir():
        raise ValueError(f"--json {options.json}: is a folder")
    if not 1 <= setting.flows <= 128:
        raise ValueError(f"--flows {setting.flows}: must be in [1, 128]")
    if not 1 <= setting.warmup_s < setting.duration_s:
        found = f"{setting.warmup_s} of --duration {setting.duration_s}"
        raise ValueError(f"--warmup {found}: must be at least 1 and below the duration")
    if setting.warmup_s > 60:
        raise ValueError(f"--warmup {setting.warmup_s}: must be at most 60, as iperf3 has it")
    if not 0 < setting.min < setting.max <= setting.limit:
        raise ValueError("--min must be above 0 and below --max, --max at most --limit")
    if setting.bucket < FRAME:
        raise ValueError(f"--bucket {setting.bucket}: must be at least {FRAME}, a frame")
    if setting.avpkt < 1 or setting.burst < 1:
        raise ValueError("--avpkt and --burst must be at least 1")
    if not 0 < setting.probability <= 1:
        raise ValueError(f"--probability {setting.probability}: must be in (0, 1]")
    setting.wlog()


def _quantity(text: str, units: dict[str, float], example: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]+)", text)
    if match is None or match[2] not in units or float(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r}: a number above 0 with one of {', '.join(units)}, as {example}")
    return float(match[1]) * units[match[2]]


def _rate(text: str) -> int:
    return round(_quantity(text, {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}, "10mbit"))


def _delay(text: str) -> float:
    return _quantity(text, {"us": 1e-6, "ms": 1e-3, "s": 1.0}, "20ms")


def seeds(text: str) -> list[int]:
    """Reads the option of that name."""
    if not re.fullmatch(r"\d{1,9}(,\d{1,9})*", text):
        raise argparse.ArgumentTypeError(f"{text!r}: whole numbers separated by commas, as 7,8,9")
    return [int(seed) for seed in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
