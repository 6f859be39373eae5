"""The kernel's RED in a virtual machine: runs repeat, tc's arguments and Penstock's scenario mean the same."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import controls
import debian
import disciplines
import image
import netlink
import oracle
import pairs
import program
from conftest import ROOT
from penstock.model.scenario import Scenario, literal

SCRIPT = ROOT / "validation" / "oracle" / "oracle.py"
CACHE = Path.home() / ".cache" / "penstock-oracle"
SHORT = oracle.Setting(duration_s=5, warmup_s=1, groups=(oracle.Flows(ecn=True),), qdisc=(f"{oracle.RED} adaptive",))
#: What the kernel shows of it, and of others, before anything is sent.
RED: dict[str, Any] = {
    "limit": 300_000,
    "min": 15_000,
    "max": 45_000,
    "ecn": True,
    "harddrop": False,
    "adaptive": False,
}
RED |= {"nodrop": False, "ewma": 4, "probability": 0.1, "Scell_log": 15}
FQ_CODEL: dict[str, Any] = {"limit": 10240, "flows": 1024, "quantum": 1514, "target": 4999, "interval": 99999}
FQ_CODEL |= {"memory_limit": 33554432, "ecn": True, "drop_batch": 64}


def state(kind: str, options: dict[str, Any]) -> oracle.State:
    """The queue below htb."""
    shaper = {"kind": "htb", "handle": "1:", "root": True, "options": {"r2q": 10, "default": "0x1"}}
    return [shaper, {"kind": kind, "handle": "10:", "parent": "1:1", "options": options}]


ROUTER = ROOT / "target" / "debug" / "penstock-emulate"


def documents(
    folder: Path, seeds: Sequence[int], settings: Sequence[oracle.Setting] = (SHORT,), router: Path | None = None
) -> list[list[dict[str, Any]]]:
    """What the virtual machine says for each seed, side by side: its time is not this machine's."""
    try:
        packages = debian.packages(CACHE)
    except debian.UnavailableError as error:
        pytest.skip(str(error))
    archive = folder / "guest.gz"
    states = [
        state("red", RED | {"adaptive": setting is SHORT}) for setting in settings
    ]  # of the others no word is read
    texts = oracle.texts(settings, states, kernel=router is None)
    wanted = list(dict.fromkeys(name for setting in settings for name in setting.modules()))
    archive.write_bytes(image.image(packages, texts, router, wanted=wanted))
    with ThreadPoolExecutor(len(seeds)) as pool:
        return list(pool.map(lambda seed: oracle.boot(packages, archive, seed, limit_s=900), seeds))


@pytest.mark.slow
def test_runs_repeat_byte_for_byte_and_the_kernels_queues_are_as_ours(tmp_path: Path) -> None:
    """The short form of docs/validation-kernel.md: a run has twelve seconds."""
    flows = (oracle.Flows(ecn=True, cc="cubic"),)
    compared = [
        oracle.Setting(duration_s=12, warmup_s=4, groups=flows, qdisc=(line,)) for line in ("codel ecn", "fq_codel ecn")
    ]
    first, second = documents(tmp_path, (7, 7), (SHORT, *compared))
    assert json.dumps(first) == json.dumps(second)
    metrics = oracle.kernel_metrics(first[0], SHORT)
    assert (metrics["marks_per_s"] or 0) > 0
    assert metrics["drops_per_s"] == 0
    red = first[0]["samples"][0][-1]
    assert (red["options"]["ewma"], red["options"]["adaptive"]) == (RED["ewma"], True)
    assert metrics["max_p_mean"] != RED["probability"]  # what tc alone asks for does not adapt
    for setting, document in zip(compared, first[1:], strict=True):
        kernel = oracle.kernel_metrics(document, setting)
        ours = oracle.summary(oracle.simulated(setting, document["samples"][0], fresh=False))
        for metric, least in (("queue_mean_pkts", 1.5), ("marks_per_s", 2.0)):
            real, simulated = float(kernel[metric] or 0), float(ours[metric]["mean"] or 0)
            assert simulated == pytest.approx(real, rel=0.3, abs=least), (setting.kind, metric)


@pytest.mark.slow
def test_our_router_in_the_same_machine_repeats_too(tmp_path: Path) -> None:
    if not ROUTER.is_file():
        pytest.skip(f"{ROUTER} is not built: make setup")
    [first], [second] = documents(tmp_path, (7, 7), router=ROUTER)
    assert json.dumps(first["router"]["metrics"]) == json.dumps(second["router"]["metrics"])
    metrics, frames = first["router"]["metrics"], first["router"]["emulation"]["frames"]
    assert metrics["marks_ce"] > 0
    assert metrics["loss_ratio"] < 0.01
    assert frames["received"] == frames["forwarded"] + frames["dropped"]
    # Of five seconds two flows need some to fill the link; it is not idle, and not beyond its rate.
    assert 0.5 < metrics["utilization"] <= 1.001


@pytest.mark.long
def test_another_seed_is_another_run(tmp_path: Path) -> None:
    first, second = (oracle.kernel_metrics(document, SHORT) for [document] in documents(tmp_path, (7, 8)))
    assert first != second


def scenario(setting: oracle.Setting, shown: oracle.State, simulated: bool = False) -> tuple[Scenario, dict[str, Any]]:
    written = setting.scenario(shown, simulated=simulated)
    return Scenario.from_toml("".join(f"{key} = {literal(value)}\n" for key, value in written.items())), written


@pytest.mark.parametrize(("ecn", "adaptive", "kind"), [(True, True, "ared"), (False, False, "red")])
def test_penstock_takes_the_scenario(ecn: bool, adaptive: bool, kind: str) -> None:
    taken, _ = scenario(oracle.Setting(), state("red", RED | {"ecn": ecn, "adaptive": adaptive}))
    aqm = taken.resolved["aqm"]
    assert (aqm["kind"], aqm["w_q"], aqm["gentle"], aqm["ecn"]) == (kind, 1 / 16, False, ecn)


def test_the_kernels_program_takes_the_parameters_of_its_red() -> None:
    made = program.with_program(oracle.Setting(), state("red", RED))
    words = json.loads(made.program)["words"]
    assert (made.kind, words["w_q"], words["min_th"]) == ("bfifo", 2**28, 15_000 << 32)
    assert (words["limit"], words["limit_bytes"], words["mark_forced"]) == (300_000, 1, 1)


@pytest.mark.parametrize("name", controls.CASES)
def test_the_simulator_takes_the_scenario_of_each_control(name: str) -> None:
    setting = controls.CASES[name]
    (flows_asked,) = setting.groups
    shown = state(setting.kind, (RED | {"ecn": flows_asked.ecn}) if setting.kind == "red" else FQ_CODEL)
    taken, written = scenario(setting, shown, simulated=True)
    resolved = taken.resolved
    link, flows, aqm = resolved["topology"]["bottleneck"], resolved["traffic"][0], resolved["aqm"]
    on_the_wire = (resolved["overhead"], flows["timestamps"], flows["segment"])
    assert (resolved["profile"], *on_the_wire) == ("linux", "54 B", True, "1448 B")
    assert flows["tcp"] == flows_asked.cc
    assert flows["recovery"] == "rack"
    assert flows["ecn"] == ("off" if flows["tcp"] == "vegas" else "classic")
    assert aqm["kind"] == setting.kind.replace("_", "-")
    # A frame of 1514 B takes 1.2112 ms at 10 Mbit/s; the kernel's queue lets it go so much earlier.
    if setting.rate_bps == 10_000_000:
        assert (written["topology"]["bottleneck"]["delay"], link["reverse_delay"]) == ("18788.800 us", "20 ms")


def test_flows_begin_as_in_the_guest() -> None:
    """The queue is there for 0.3 s, the first iperf3 of a guest takes 1.1 s; then 14 ms a flow and 35 ms."""
    groups = (oracle.Flows(number=20), oracle.Flows(number=1))
    setting = oracle.Setting(delay_s=0.005, groups=groups)
    for fresh, begins in [(True, "1.715 s"), (False, "0.645 s")]:
        written = setting.scenario(state("red", RED), simulated=True, fresh=fresh)
        assert [each["start"]["uniform"][0] for each in written["traffic"]] == [begins, "3.379 s"]
        assert (written["duration"], written["measure"]) == ("20.3 s", {"from": "5.3 s", "to": "20.3 s"})
        assert written["traffic"][0]["min_tso_segments"] == 2


@pytest.mark.parametrize("discipline", disciplines.DISCIPLINES)
@pytest.mark.parametrize("at", disciplines.CONDITIONS, ids=str)
def test_each_discipline_is_asked_for_under_each_condition(discipline: str, at: disciplines.Condition) -> None:
    setting = disciplines.setting(discipline, at)
    lines = setting.lines("rs")
    assert f"sch_{setting.kind}" in setting.modules()
    if discipline == "cake":
        assert lines == [f"qdisc add dev rs root cake bandwidth {round(at.rate_mbps * 1e6)}bit"]
        return
    assert f"rate {round(at.rate_mbps * 1e6)}bit" in lines[1]
    assert [line.split()[1] for line in lines[2:]] == ["add", *(["change"] if discipline == "gred" else [])]
    assert sum(group.number for group in setting.groups) == (2 if setting.groups[1:] and at.flows == 1 else at.flows)


def test_what_waits_is_read_from_every_look() -> None:
    def look(bytes_: int, marked: int) -> list[dict[str, Any]]:
        counted = {"backlog": 0, "qlen": 2, "bytes": bytes_, "drops": 1, "ecn_mark": marked}
        return [{"kind": "htb"}, {"kind": "codel", "options": {}, **counted}]

    ends = {"sum_received": {"bits_per_second": 9e6}}
    streams = [{"snd_cwnd": 14480}]
    document = {
        "times_us": [5_000_000, 7_000_000],
        "samples": [look(0, 4), [1514, 1], [15140, 10], look(2_500_000, 10)],
        "iperf3": [{"end": ends, "intervals": [{"sum": {"omitted": False}, "streams": streams}]}],
    }
    found = oracle.kernel_metrics(document, oracle.Setting(qdisc=("codel ecn",)))
    assert (found["queue_mean_pkts"], found["queue_p99_pkts"]) == (3.75, 10)
    assert (found["marks_per_s"], found["drops_per_s"], found["utilization"]) == (3, 0, 1)


def test_a_packet_that_is_marked_twice_counts_once() -> None:
    """Of 100 packets in L the step marks 50 and the coupled probability 40, which is 20 of those 50."""

    def look(**counted: int) -> dict[str, Any]:
        return {"kind": "dualpi2", "options": {}, **counted}

    first = look(**{"ecn-mark": 7, "step-mark": 5, "pkts-in-l": 10})
    last = look(**{"ecn-mark": 97, "step-mark": 55, "pkts-in-l": 110})
    assert oracle._marked(first, last) == 70
    assert oracle._marked(first, first) == 0


def test_a_pair_agrees_by_the_bound_or_by_the_interval() -> None:
    def estimate(mean: float, ci95: float) -> oracle.Estimate:
        return {"mean": mean, "ci95": ci95, "n": 3}

    for kernel, simulated, how in [
        (estimate(10, 0.1), estimate(10.9, 0.1), "yes"),
        (estimate(10, 1.0), estimate(11.3, 1.0), "interval"),  # √2
        (estimate(10, 1.0), estimate(11.5, 1.0), "no"),
        (estimate(0, 0), estimate(0.1, 0.01), "no"),
    ]:
        assert pairs.agrees(kernel, simulated) == how


def test_the_message_is_as_long_as_its_parts_say() -> None:
    message = netlink.adaptive_red(RED | {"probability": 1.0}, 1500 * 8 / 10_000_000)
    assert struct.unpack_from("=IHH", message) == (len(message), 36, 5)
    # Header 16, tcmsg 20, kind 8, options' header 4; then parameters 4 + 16, table 4 + 256, max_p 4 + 4.
    assert len(message) == 16 + 20 + 8 + 4 + 20 + 260 + 8
    assert struct.unpack_from("=IIIBBBB", message, 52) == (300_000, 15_000, 45_000, 4, 0, 15, 5)  # 15: as tc shows it
    assert struct.unpack_from("=I", message, len(message) - 4) == (2**32 - 1,)


def test_the_table_compares_what_both_sides_have() -> None:
    def side(queue: float, **more: float) -> dict[str, Any]:
        runs: list[oracle.Metrics] = [{"queue_mean_pkts": queue + step, **more} for step in (-1, 0, 1)]
        return {"runs": runs, "summary": oracle.summary(runs)}

    results = {"kernel": side(10, max_p_mean=0.1), "router": side(11)}
    assert oracle.table(results).splitlines() == [
        "| metric | kernel (n 3) | router (n 3) | difference |",
        "| --- | --- | --- | --- |",
        "| queue_mean_pkts | 10 ± 2.5 | 11 ± 2.5 | +10.0 % |",  # 4.303/√3
        "| max_p_mean | 0.1 ± 0 | – | – |",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a side"),
        (["--penstock", "nowhere"], "no such file"),
        (["--kernel", "--json", "."], "is a folder"),
        (["--kernel", "--rate", "10"], "as 10mbit"),
        (["--kernel", "--warmup", "20"], "below the duration"),
        (["--kernel", "--qdisc", " "], "names none"),
        (["--kernel", "--seeds", "7;8"], "as 7,8,9"),
        (["--kernel", "--cc", "bic"], "invalid choice"),
    ],
)
def test_a_wrong_argument_is_said(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = command(tmp_path, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_apt_it_says_so_and_exits_differently(tmp_path: Path) -> None:
    done = command(tmp_path, "--kernel", "--cache", "cache", PATH="")
    assert (done.returncode, done.stdout) == (oracle.UNAVAILABLE, "")
    assert "no apt-get here" in done.stderr
    assert not (tmp_path / "out.json").exists()


def command(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, str(SCRIPT), "--json", "out.json", *arguments]
    return subprocess.run(line, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True)
