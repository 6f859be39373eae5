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
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import penstock
import states
from debian import Packages, UnavailableError, packages
from image import image, write
from machine import GuestError, said
from module import module
from netlink import adaptive_red
from penstock.model.scenario import Scenario, literal
from penstock.operators import config
from penstock.operators.state import Given
from states import DEVICE

#: Exit status where packages cannot be had; 2 is a wrong argument, 1 a guest that failed.
UNAVAILABLE = 77

#: How often the qdisc is looked at while it is measured.
LOOKS = 500

#: For how long the kernel may be late with a frame and catch up.
LATE_S = 20e-6

#: Seconds from the start of one group of flows to that of the next.
STAGGER_S = 3

#: For how long the queue is there before time counts: until a server is up, and 0.2 s.
AHEAD_S = 0.3

#: A tick of Debian's kernel (HZ is 250).
TICK_US = 4000

#: Kernel modules of every run.
MODULES = ("veth", "af_packet", "sch_netem", "sch_htb")

#: Modules that are built here.
BUILT = ("sch_dualpi2",)

#: The queue discipline without another word.
RED = "red limit 300000 min 15000 max 45000 avpkt 1514 burst 20 probability 0.1 bandwidth 10mbit ecn"

#: Payload of a full segment, with timestamps.
SEGMENT = 1448

#: What each stream of iperf3 sends when it is connected.
COOKIE = 37

#: A full frame, as htb counts it.
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

#: What is read of a RED that adapts.
_RAMP = ("unit", "mean_packet", "min_th", "max_th", "max_p", "w_q", "gate", "gentle", "byte_mode", "ecn", "forced")

#: What `tc -d -s -j qdisc show` prints of the router's device.
State = list[dict[str, Any]]
Metrics = dict[str, float | None]
Estimate = dict[str, float | int | None]
Said = TypeVar("Said")


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """Connections of one iperf3.

    cc: their congestion control.
    """

    number: int = 4
    cc: str = "reno"
    ecn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a run consists of, but for the seed.

    delay_s: one way; groups: start one `STAGGER_S` after the other; qdisc: the arguments of `tc qdisc add`, then those
    of `tc qdisc change`; warmup_s: not measured; program: what `penstock-kernel` loads above the queue, as its standard
    input has it.
    """

    rate_bps: int = 10_000_000
    delay_s: float = 0.02
    groups: tuple[Flows, ...] = (Flows(),)
    qdisc: tuple[str, ...] = (RED,)
    duration_s: int = 20
    warmup_s: int = 5
    program: str = ""

    @property
    def windows(self) -> bool:
        """Whether the flows' windows are looked at: of a few."""
        return len(self.groups) == 1 and self.groups[0].number <= 4

    @property
    def kind(self) -> str:
        """The queue discipline's name."""
        return self.qdisc[0].split()[0]

    def modules(self) -> tuple[str, ...]:
        """The kernel modules that a run needs."""
        controls = (CONTROLS[group.cc] for group in self.groups)
        return (*MODULES, f"sch_{self.kind}", *(module for module in controls if module))

    def lines(self, device: str) -> list[str]:
        """The arguments of tc that make the link and its queue. CAKE makes the rate itself.

        The bucket holds what the link carries while the kernel is late: a frame goes when the one before it has had its
        time.
        """
        if self.kind == "cake":
            return [f"qdisc add dev {device} root {self.qdisc[0]} bandwidth {self.rate_bps}bit"]
        first, *others = self.qdisc
        rate, burst = f"rate {self.rate_bps}bit", max(1, round(self.rate_bps * LATE_S / 8))
        return [
            f"qdisc add dev {device} root handle 1: htb default 1",
            f"class add dev {device} parent 1: classid 1:1 htb {rate} quantum {FRAME} burst {burst} cburst {burst}",
            f"qdisc add dev {device} parent 1:1 handle 10: {first}",
            *(f"qdisc change dev {device} parent 1:1 handle 10: {line}" for line in others),
        ]

    def scenario(self, state: State, simulated: bool = False, fresh: bool = True) -> dict[str, Any]:
        """The scenario of our router, which carries real packets, or of our simulator, whose hosts are Linux's.

        state: what the kernel shows of the queue, which is read as `penstock config --from tc` reads it; fresh: the
        guest has just booted.
        """
        # A frame leaves the kernel's queue when its time on the link begins, and not when that ends.
        early_s = FRAME * 8 / self.rate_bps if simulated else 0.0
        rate = f"{self.rate_bps} bit/s"
        there, back = (f"{(self.delay_s - early) * 1e6:.3f} us" for early in (early_s, 0.0))
        read = Scenario.from_toml(config.read(json.dumps(state), "tc", Given(rate=rate)).text).resolved
        aqm = {key: value for key, value in read["aqm"].items() if value is not None and key != "reverse"}
        if state[-1]["options"].get("adaptive"):  # netlink.py makes it so, which tc does not
            aqm = {"kind": "ared", **{key: aqm[key] for key in _RAMP}}
        # What a frame has beside the packet is in `overhead` below.
        buffer = read["topology"]["bottleneck"]["buffer"]
        link = {"rate": rate, "delay": there, "reverse_delay": back, "buffer": buffer}
        access = {"rate": "1 Gbit/s", "delay": "0 s"}
        ahead_s = AHEAD_S if simulated else 0
        written = {
            "name": "oracle",
            "duration": f"{self.duration_s + ahead_s if simulated else self.router_duration_s()} s",
            "measure": {"from": f"{self.warmup_s + ahead_s} s", "to": f"{self.duration_s + ahead_s} s"},
            # A full segment is a frame of 1514 B: Ethernet's header counts as well.
            "overhead": "54 B",
            "topology": {"kind": "dumbbell", "bottleneck": link, "access": access},
            "aqm": aqm,
            "traffic": [self._traffic(k, group, simulated, fresh) for k, group in enumerate(self.groups)],
        }
        return {"profile": "linux", **written} if simulated else written

    def _traffic(self, number: int, group: Flows, simulated: bool, fresh: bool) -> dict[str, Any]:
        ecn = "classic" if group.ecn else "off"
        flows: dict[str, Any] = {"kind": "ftp", "flows": group.number, "tcp": group.cc, "ecn": ecn}
        if not simulated:
            return flows | {"segment": "1448 B", "window": 1000}
        # iperf3 is there after 0.03 s, the first one of a guest after 1.1 s. It connects one flow after the other, in a
        # round trip and 4 ms each, and lets all send three and a half round trips later.
        connects_s = 2 * self.delay_s + 0.004
        start = AHEAD_S + number * STAGGER_S + (1.1 if fresh and number == 0 else 0.03)
        sends = start + group.number * connects_s + 7 * self.delay_s
        # That is known to 10 ms. In traces the flows of one iperf3 begin within 2 ms of each other.
        within = 0.01 if group.number == 1 else 0.002
        begins = {"uniform": [f"{sends:.3f} s", f"{sends + within:.3f} s"]}
        connects = {"from": f"{start:.3f} s", "every": f"{connects_s:.3f} s"}
        # Each stream sends a cookie when it is connected. What is less than a frame arrives early here, since the
        # link's delay is less by a frame's time; with a frame receivers see the kernel's round trip. CAKE alone
        # remembers how much a flow has sent.
        greeting = f"{COOKIE if self.kind == 'cake' else SEGMENT} B"
        # Debian's HZ is 250. Its TCP hands down in one piece what its pace has for a millisecond.
        linux = {"tick": f"{TICK_US} us", "min_tso_segments": 2}
        ends = {"pairs": 1, "source_host": "c", "destination_host": "s"}
        return flows | linux | {"connect": connects, "greeting": greeting, "start": begins} | ends

    def router_duration_s(self) -> int:
        """The router outlives the flows: iperf3's last exchange crosses it too."""
        return self.duration_s + 3


def texts(settings: Sequence[Setting], states: Sequence[State], kernel: bool) -> dict[str, bytes]:
    """What the guest program reads of each run: settings, as its shell does, queue, groups of flows, the adaptive RED.

    states: what the kernel shows of each queue; kernel: the kernel is the bottleneck, otherwise our router.
    """
    controls = {group.cc for setting in settings for group in setting.groups}
    common = {"controls": " ".join(sorted(controls)), "bottleneck": "kernel" if kernel else "router"}
    files = {"settings": _shell(common)}
    for number, (setting, state) in enumerate(zip(settings, states, strict=True)):
        measured_us = (setting.duration_s - setting.warmup_s) * 1_000_000
        values = {
            "delay": f"{setting.delay_s * 1e6:.0f}us",
            "duration": setting.duration_s,
            "warmup": setting.warmup_s,
            "router_duration": setting.router_duration_s(),
            "step_us": measured_us // LOOKS,
            "interval": 0.1 if setting.windows else 0,
        }
        groups = [(group.number, group.cc, int(group.ecn), k * STAGGER_S) for k, group in enumerate(setting.groups)]
        run = {
            "settings": _shell(values),
            "qdiscs": "".join(f"{line}\n" for line in setting.lines("rs")).encode(),
            "groups": "".join(f"{' '.join(map(str, group))}\n" for group in groups).encode(),
        }
        if setting.program:
            run["program.json"] = setting.program.encode()
        if not kernel:
            run["scenario.json"] = json.dumps(setting.scenario(state), indent=1).encode()
        if (options := state[-1]["options"]).get("adaptive"):
            run["adaptive"] = adaptive_red(options, FRAME * 8 / setting.rate_bps)
        files |= {f"runs/{number:02}/{name}": content for name, content in run.items()}
    return files


def _shell(values: Mapping[str, object]) -> bytes:
    """Settings, as a shell reads them."""
    return "".join(f"{name}='{value}'\n" for name, value in values.items()).encode()


def boot(packages: Packages, archive: Path, seed: int, limit_s: float) -> list[dict[str, Any]]:
    """Boots the guest and returns its documents, one for each run."""
    text = said(packages, archive, seed, limit_s)
    try:
        parsed = list(json.loads(text))
    except ValueError as error:
        raise GuestError(f"seed {seed}: the document is not JSON: {error}") from error
    for each in (group for document in parsed for group in document["iperf3"]):
        if (failed := each.get("error")) is not None:  # its exit status is 0 all the same
            raise GuestError(f"seed {seed}: iperf3: {failed}")
    return parsed


def kernel_metrics(document: dict[str, Any], setting: Setting) -> Metrics:
    """What the looks at the qdisc say of the window between the first and the last of them."""
    looks = document["samples"]
    first, last = looks[0][-1], looks[-1][-1]
    begin, end = ([each["backlog"], each["qlen"], each["options"].get("probability")] for each in (first, last))
    waiting = [begin, *looks[1:-1], end]
    seconds = (document["times_us"][-1] - document["times_us"][0]) / 1e6
    queue = sorted(look[1] for look in waiting)
    found: Metrics = {
        "queue_mean_pkts": statistics.mean(queue),
        "queue_sd_pkts": statistics.pstdev(queue),
        "queue_p99_pkts": queue[math.ceil(0.99 * len(queue)) - 1],
        "marks_per_s": _marked(first, last) / seconds,
        "drops_per_s": (last["drops"] - first["drops"]) / seconds,
        "utilization": (last["bytes"] - first["bytes"]) * 8 / seconds / setting.rate_bps,
        "goodput_bps": _goodput(document),
    }
    if setting.windows:
        found["window_mean_pkts"] = _window(document)
    if setting.kind == "red":
        found["max_p_mean"] = statistics.mean(look[2] for look in waiting)
    return found


def _marked(first: dict[str, Any], last: dict[str, Any]) -> float:
    """The packets that the kernel has marked between two looks."""
    marks = _marks(last) - _marks(first)
    if first["kind"] != "dualpi2":
        return marks
    # What the coupled probability and the step both mark is counted twice. They decide independently of each other.
    step, arrived = (last[name] - first[name] for name in ("step-mark", "pkts-in-l"))
    return marks - (marks - step) * step / arrived if arrived else marks


def _marks(look: dict[str, Any]) -> int:
    """What the kernel has counted as marks; each kind counts it elsewhere."""
    options = look["options"]
    counted = {
        "gred": ("forced_mark", "prob_mark"),
        "sfq": ("prob_mark", "prob_mark_head", "forced_mark", "forced_mark_head"),
    }.get(look["kind"], ("marked", "ecn_mark", "ecn-mark"))
    places = {"gred": options.get("vqs"), "sfq": [options], "cake": look.get("tins")}.get(look["kind"]) or [look]
    return sum(place.get(name, 0) for place in places for name in counted)


def router_metrics(document: dict[str, Any], setting: Setting) -> Metrics:
    """The same metrics, as the router counted them over its measured window; what it does not have is left out."""
    found = _penstock(document["router"]["metrics"], setting)
    found["goodput_bps"] = _goodput(document)
    return found | ({"window_mean_pkts": _window(document)} if setting.windows else {})


def _penstock(metrics: dict[str, Any], setting: Setting) -> Metrics:
    """What the router and the simulator count."""
    seconds = setting.duration_s - setting.warmup_s
    drops = ("drops_early", "drops_forced", "drops_overflow")
    return {
        "queue_mean_pkts": metrics["queue_mean_pkts"],
        "queue_sd_pkts": metrics.get("queue_sd_pkts"),
        "queue_p99_pkts": metrics.get("queue_p99_pkts"),
        "marks_per_s": metrics["marks_ce"] / seconds,
        "drops_per_s": sum(metrics[kind] for kind in drops) / seconds,
        "utilization": metrics["utilization"],
        "goodput_bps": metrics.get("goodput_bps"),
    }


def simulated(setting: Setting, state: State, fresh: bool = True) -> list[Metrics]:
    """The same metrics of the simulator's runs, under `profile = "linux"`; fresh: the guest has just booted."""
    written = setting.scenario(state, simulated=True, fresh=fresh)
    scenario = Scenario.from_toml("".join(f"{key} = {literal(value)}\n" for key, value in written.items()))
    if not setting.windows:
        return [_penstock(run.metrics, setting) for run in penstock.run(scenario, seeds=SIMULATED_SEEDS).runs]
    result = penstock.run(scenario, seeds=SIMULATED_SEEDS, series="100 ms")
    windows: dict[int, list[float]] = {run.seed: [] for run in result.runs}
    for row in result.series("cwnd").to_pylist():
        if row["t_s"] >= setting.warmup_s + AHEAD_S:
            windows[row["seed"]].append(row["cwnd_segments"])
    return [
        _penstock(run.metrics, setting) | {"window_mean_pkts": statistics.mean(windows[run.seed])}
        for run in result.runs
    ]


def _window(document: dict[str, Any]) -> float:
    """The mean of the flows' windows, which iperf3 looks at every 0.1 s, in segments."""
    measured = (each for each in document["iperf3"][0]["intervals"] if not each["sum"]["omitted"])
    windows = [stream["snd_cwnd"] for each in measured for stream in each["streams"]]
    return float(statistics.mean(windows)) / SEGMENT


def _goodput(document: dict[str, Any]) -> float:
    return sum(float(group["end"]["sum_received"]["bits_per_second"]) for group in document["iperf3"])


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
    settings: Sequence[Setting],
    seeds: Sequence[int],
    cache: Path,
    kernel: bool,
    router: Path | None,
    simulator: bool = False,
    keep: Path | None = None,
) -> list[dict[str, Any]]:
    """Boots the guest once a seed and bottleneck, each time for all settings, runs the simulator, and returns what was
    measured of each setting; timings go to stderr.

    keep: a folder with what the guests said. One that is the same to the byte is not booted again for the same seed.
    """
    fetched = packages(cache)
    built = {name: module(fetched, cache, name) for name in BUILT if any(name in each.modules() for each in settings)}
    wanted = list(dict.fromkeys(name for each in settings for name in each.modules() if name not in built))
    states = queues(settings, fetched, wanted, built, keep)
    kinds: list[tuple[str, Path | None, Callable[[dict[str, Any], Setting], Metrics]]] = []
    if kernel:
        kinds.append(("kernel", None, kernel_metrics))
    if router is not None:
        kinds.append(("router", router, router_metrics))
    named = ("qemu-system-x86", "iproute2", "iperf3")
    results: list[dict[str, Any]] = [
        {
            "settings": asdict(setting),
            "release": fetched.kernel,
            "packages": {name: fetched.versions[name] for name in named},
        }
        for setting in settings
    ]
    limit_s = 300 + 20 * sum(each.duration_s for each in settings)
    for name, program, metrics in kinds:
        content = image(fetched, texts(settings, states, program is None), program, wanted=wanted, built=built)

        def of(seed: int, name: str = name, content: bytes = content) -> list[dict[str, Any]]:
            return kept(keep, content, seed, lambda archive: boot(fetched, archive, seed, limit_s), name)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            documents = list(pool.map(of, seeds))
        for setting, result, runs in zip(settings, results, zip(*documents, strict=True), strict=True):
            try:
                found = [metrics(document, setting) for document in runs]
            except (KeyError, IndexError) as error:
                raise GuestError(f"{name}, {setting.qdisc[0]}: the guest's document has no {error}") from error
            result[name] = {"seeds": list(seeds), "runs": found, "summary": summary(found)}
    if simulator:
        for k, (setting, state, result) in enumerate(zip(settings, states, results, strict=True)):
            found = simulated(setting, state, fresh=k == 0)
            result["simulator"] = {"runs": found, "summary": summary(found)}
    return results


def queues(
    settings: Sequence[Setting],
    fetched: Packages,
    wanted: Sequence[str],
    built: Mapping[str, bytes],
    keep: Path | None = None,
) -> list[State]:
    """What the kernel shows of each setting's queue before anything is sent."""
    cases = [[*(f"tc {line}" for line in setting.lines(DEVICE)), "show"] for setting in settings]
    content = image(fetched, {"cases": states.lines(cases)}, None, "states.sh", wanted, built)
    answers = kept(keep, content, 1, lambda archive: states.answers(fetched, archive, cases), "queues")
    found = [states.read(answer) for answer in answers]
    for setting, state in zip(settings, found, strict=True):
        if isinstance(state, str):
            raise GuestError(f"{setting.qdisc}: {state}")
    return [state.document for state in found if not isinstance(state, str)]


def kept(keep: Path | None, content: bytes, seed: int, ask: Callable[[Path], Said], name: str) -> Said:
    """What a guest says, which is asked once."""
    there = None if keep is None else keep / f"{hashlib.sha256(content).hexdigest()[:16]}-{seed}.json"
    if there is not None and there.is_file():
        return cast(Said, json.loads(there.read_bytes()))
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="penstock-oracle-") as folder:
        archive = Path(folder) / "initramfs.gz"
        archive.write_bytes(content)
        found = ask(archive)
    print(f"{name}, seed {seed}: {time.monotonic() - begin:.1f} s", file=sys.stderr)
    if there is not None:
        write(there, json.dumps(found).encode())
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit status."""
    options = _parser().parse_args(arguments)
    setting = Setting(
        rate_bps=options.rate,
        delay_s=options.delay,
        groups=(Flows(number=options.flows, cc=options.cc, ecn=options.ecn),),
        qdisc=tuple(options.qdisc or [RED]),
        duration_s=options.duration,
        warmup_s=options.duration // 4 if options.warmup is None else options.warmup,
    )
    try:
        _check(setting, options)
    except ValueError as error:
        print(f"oracle.py: {error}", file=sys.stderr)
        return 2

    def work() -> None:
        sides = (options.kernel, options.penstock, options.simulated)
        [result] = run([setting], options.seeds, options.cache, *sides, options.keep)
        if options.json is not None:
            write(options.json, (json.dumps(result, indent=1) + "\n").encode())
        print(table(result), end="")

    return status("oracle.py", work)


def status(program: str, work: Callable[[], None]) -> int:
    """The exit status of a command's work; says what it lacked, or what failed."""
    try:
        work()
    except UnavailableError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return UNAVAILABLE
    except GuestError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    default, flows = Setting(), Flows()
    parser = argparse.ArgumentParser(prog="oracle.py", description=(__doc__ or "").split("\n")[0], allow_abbrev=False)
    which = parser.add_argument_group("sides (one or more)")
    which.add_argument("--kernel", action="store_true", help="htb and the kernel's queue discipline")
    which.add_argument("--penstock", type=Path, metavar="PATH", help="the program penstock-emulate, inside the guest")
    which.add_argument("--simulated", action="store_true", help='the simulator, its hosts with profile = "linux"')
    load = parser.add_argument_group("load")
    load.add_argument("--rate", type=_rate, default=default.rate_bps, help="bottleneck, as tc writes it (10mbit)")
    load.add_argument("--delay", type=_delay, default=default.delay_s, help="one way, as tc writes it (20ms)")
    load.add_argument("--flows", type=int, default=flows.number, help="TCP connections (%(default)s)")
    load.add_argument("--cc", choices=CONTROLS, default=flows.cc, help="congestion control (%(default)s)")
    load.add_argument("--ecn", action="store_true", help="the flows are ECN-capable")
    load.add_argument("--duration", type=int, default=default.duration_s, help="seconds of the guest (%(default)s)")
    load.add_argument("--warmup", type=int, help="seconds of it that are not measured (a quarter)")
    load.add_argument("--seeds", type=seeds, default=[7, 8, 9], help="qemu's, one run each (7,8,9)")
    queue = parser.add_argument_group("queue discipline")
    text = "its name and parameters, as tc takes them; again: what is then changed [RED, from 15000 to 45000 bytes]"
    queue.add_argument("--qdisc", action="append", metavar="LINE", help=text)
    files = parser.add_argument_group("files")
    files.add_argument("--json", type=Path, metavar="OUT", help="results, every run")
    files.add_argument("--keep", type=Path, metavar="DIR", help="what the guests said, which is not asked for again")
    files.add_argument("--cache", type=Path, default=CACHE, help="unpacked packages (~/.cache/penstock-oracle)")
    return parser


def _check(setting: Setting, options: argparse.Namespace) -> None:
    """Raises `ValueError` for what no run can have."""
    if not options.kernel and options.penstock is None and not options.simulated:
        raise ValueError("name a side: --kernel, --penstock PATH, --simulated or several")
    if options.penstock is not None and not options.penstock.is_file():
        raise ValueError(f"--penstock {options.penstock}: no such file")
    if options.json is not None and options.json.is_dir():
        raise ValueError(f"--json {options.json}: is a folder")
    if not 1 <= options.flows <= 128:
        raise ValueError(f"--flows {options.flows}: must be in [1, 128]")
    if not 1 <= setting.warmup_s < setting.duration_s:
        found = f"{setting.warmup_s} of --duration {setting.duration_s}"
        raise ValueError(f"--warmup {found}: must be at least 1 and below the duration")
    if setting.warmup_s > 60:
        raise ValueError(f"--warmup {setting.warmup_s}: must be at most 60, as iperf3 has it")
    if not setting.qdisc[0].strip():
        raise ValueError("--qdisc: names none")


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
