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
import image
import netlink
import oracle
from conftest import ROOT
from penstock.model.scenario import Scenario, literal

SCRIPT = ROOT / "validation" / "oracle" / "oracle.py"
CACHE = Path.home() / ".cache" / "penstock-oracle"
SHORT = oracle.Setting(duration_s=5, warmup_s=1, ecn=True, adaptive=True)


ROUTER = ROOT / "target" / "tested" / "penstock-emulate"


def documents(folder: Path, seeds: Sequence[int], router: Path | None = None) -> list[dict[str, Any]]:
    """A run of the virtual machine for each seed, side by side: its time is not this machine's."""
    try:
        packages = debian.packages(CACHE)
    except debian.UnavailableError as error:
        pytest.skip(str(error))
    archive = folder / "guest.gz"
    archive.write_bytes(image.image(packages, oracle.texts(SHORT, kernel=router is None), router))
    with ThreadPoolExecutor(len(seeds)) as pool:
        return list(pool.map(lambda seed: oracle.boot(packages, archive, seed, limit_s=600), seeds))


@pytest.mark.slow
def test_a_run_repeats_byte_for_byte_and_marks(tmp_path: Path) -> None:
    first, second = documents(tmp_path, (7, 7))
    assert json.dumps(first) == json.dumps(second)
    metrics = oracle.kernel_metrics(first, SHORT)
    assert (metrics["marks_per_s"] or 0) > 0
    assert metrics["drops_per_s"] == 0
    red = next(qdisc for qdisc in first["samples"][0] if qdisc["kind"] == "red")
    assert (red["options"]["ewma"], red["options"]["adaptive"]) == (SHORT.wlog(), True)
    assert metrics["max_p_mean"] != SHORT.probability  # what tc alone asks for does not adapt


@pytest.mark.slow
def test_our_router_in_the_same_machine_repeats_too(tmp_path: Path) -> None:
    if not ROUTER.is_file():
        pytest.skip(f"{ROUTER} is not built: make setup")
    first, second = documents(tmp_path, (7, 7), ROUTER)
    assert json.dumps(first["router"]["metrics"]) == json.dumps(second["router"]["metrics"])
    metrics, frames = first["router"]["metrics"], first["router"]["emulation"]["frames"]
    assert metrics["marks_ce"] > 0
    assert metrics["loss_ratio"] < 0.01
    assert frames["received"] == frames["forwarded"] + frames["dropped"]
    # Of five seconds two flows need some to fill the link; it is not idle, and not beyond its rate.
    assert 0.5 < metrics["utilization"] <= 1.001


@pytest.mark.long
def test_another_seed_is_another_run(tmp_path: Path) -> None:
    first, second = (oracle.kernel_metrics(document, SHORT) for document in documents(tmp_path, (7, 8)))
    assert first != second


def test_the_weight_is_the_least_exponent_that_lets_the_burst_in() -> None:
    # 20 + 1 - 15000/1500 = 11 packets; (1 - (1 - 1/8)^20)·8 = 7.4, (1 - (1 - 1/16)^20)·16 = 11.6.
    assert oracle.Setting().wlog() == 4
    # 1 + 1 - 1 = 1; (1 - 1/2)·2 = 1.
    assert oracle.Setting(min=1500, burst=1).wlog() == 1
    # Without min the burst itself must fit, which (1 - (1 - w)^L)/w < L only approaches; below min none is left.
    for impossible in (oracle.Setting(min=1), oracle.Setting(burst=9)):
        with pytest.raises(ValueError, match="--burst"):
            impossible.wlog()


@pytest.mark.parametrize(("ecn", "adaptive", "kind"), [(True, True, "ared"), (False, False, "red")])
def test_penstock_takes_the_scenario(ecn: bool, adaptive: bool, kind: str) -> None:
    written = oracle.Setting(ecn=ecn, adaptive=adaptive).scenario()
    scenario = Scenario.from_toml("".join(f"{key} = {literal(value)}\n" for key, value in written.items()))
    aqm = scenario.resolved["aqm"]
    assert (aqm["kind"], aqm["w_q"], aqm["gentle"], aqm["ecn"]) == (kind, 1 / 16, False, ecn)


@pytest.mark.parametrize("name", controls.CASES)
def test_the_simulator_takes_the_scenario_of_each_control(name: str) -> None:
    setting = controls.CASES[name]
    written = setting.scenario(simulated=True)
    resolved = Scenario.from_toml("".join(f"{key} = {literal(value)}\n" for key, value in written.items())).resolved
    link, flows, aqm = resolved["topology"]["bottleneck"], resolved["traffic"][0], resolved["aqm"]
    on_the_wire = (resolved["overhead"], flows["timestamps"], flows["segment"])
    assert (resolved["profile"], *on_the_wire) == ("linux", "54 B", True, "1448 B")
    assert flows["tcp"] == setting.cc
    assert flows["recovery"] == "rack"
    assert flows["ecn"] == ("off" if setting.cc == "vegas" else "classic")
    assert (aqm["kind"], aqm["ecn"]) == (setting.queue.replace("_", "-"), setting.ecn)
    # A frame of 1514 B takes 1.2112 ms at 10 Mbit/s; tbf lets it go so much earlier, and asks for the next.
    if setting.rate_bps == 10_000_000:
        assert (written["topology"]["bottleneck"]["delay"], link["reverse_delay"]) == ("18788.800 us", "20 ms")
    if setting.queue == "fq_codel":
        assert aqm["behind"] == "all"
        assert "target 5ms" in setting.qdisc()
    if setting.queue == "fq_codel" and setting.rate_bps == 10_000_000:
        assert setting.aqm(12112 / setting.rate_bps)["target"] == "6211.200 us"


def test_a_pair_agrees_by_the_bound_or_by_the_interval() -> None:
    def estimate(mean: float, ci95: float) -> oracle.Estimate:
        return {"mean": mean, "ci95": ci95, "n": 3}

    for kernel, simulated, how in [
        (estimate(10, 0.1), estimate(10.9, 0.1), "yes"),
        (estimate(10, 1.0), estimate(11.3, 1.0), "interval"),  # √2
        (estimate(10, 1.0), estimate(11.5, 1.0), "no"),
        (estimate(0, 0), estimate(0.1, 0.01), "no"),
    ]:
        assert controls.agrees(kernel, simulated) == how


def test_the_message_is_as_long_as_its_parts_say() -> None:
    message = netlink.adaptive_red(
        limit=300_000, th=(15_000, 45_000), wlog=4, max_p=1.0, ecn=True, avpkt=1500, rate_bps=10_000_000
    )
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
        (["--kernel", "--min", "50000"], "below --max"),
        (["--kernel", "--seeds", "7;8"], "as 7,8,9"),
        (["--kernel", "--cc", "bic"], "invalid choice"),
        (["--kernel", "--queue", "fq_codel", "--adaptive"], "not with --queue fq_codel"),
        (["--kernel", "--bucket", "1500"], "a frame"),
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
