"""What `penstock config --to dpdk` writes, against DPDK's own `rte_red_*` of Debian's packages."""

from __future__ import annotations

import functools
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import penstock as ps
from conftest import SMALL
from penstock.operators import dpdk
from penstock.operators.model import Place, Ramp, RefusedError, Wanted

CACHE = Path.home() / ".cache" / "penstock-dpdk"
SOURCE = Path(__file__).parent / "helpers" / "dpdk_red.c"
#: The library, what it needs, and the headers.
PACKAGES = "libdpdk-dev librte-sched23 librte-eal23 librte-kvargs23 librte-mbuf23 librte-mempool23 librte-meter23 \
librte-ring23 librte-telemetry23 libbsd0 libfdt1 libnuma1 libmd0".split()


@functools.cache
def program() -> Path:
    """The program that asks DPDK, built once; skips where Debian's packages or a compiler are not
    to be had.
    """
    if shutil.which("cc") is None or shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        pytest.skip("needs a C compiler and Debian's packages")
    root = CACHE / "root"
    if not (CACHE / "complete").exists():
        debs = CACHE / "debs"
        debs.mkdir(parents=True, exist_ok=True)
        got = subprocess.run(["apt-get", "download", *PACKAGES], cwd=debs, capture_output=True, text=True)
        if got.returncode != 0:
            pytest.skip(f"a package cannot be downloaded: {got.stderr.strip().splitlines()[-1]}")
        for deb in debs.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", deb, root], check=True)
        shutil.rmtree(debs)
        (CACHE / "complete").touch()
    libraries = root / "usr" / "lib" / "x86_64-linux-gnu"
    built = CACHE / "dpdk_red"
    include = [f"-I{root}/usr/include/dpdk", f"-I{root}/usr/include/x86_64-linux-gnu/dpdk"]
    needed = [*libraries.glob("librte_sched.so.*"), *libraries.glob("librte_eal.so.*")]
    paths = [f"-Wl,-rpath,{libraries}", f"-Wl,-rpath-link,{libraries}:{root}/lib/x86_64-linux-gnu"]
    line = [
        "cc",
        "-O2",
        "-march=native",
        "-Wall",
        *include,
        str(SOURCE),
        *map(str, needed[:2]),
        *paths,
        "-o",
        f"{built}.{os.getpid()}",
    ]
    subprocess.run(line, check=True, capture_output=True)
    Path(line[-1]).rename(built)  # another process may be running the one of before
    return built


def ask(questions: list[str]) -> list[list[int]]:
    root = CACHE / "root"
    folders = f"{root}/usr/lib/x86_64-linux-gnu:{root}/lib/x86_64-linux-gnu"
    done = subprocess.run(
        [program()],
        input="\n".join(questions) + "\n",
        env={"LD_LIBRARY_PATH": folders},
        capture_output=True,
        text=True,
        check=True,
    )
    return [[int(number) for number in line.split()] for line in done.stdout.splitlines()]


def numbers(text: str) -> tuple[int, int, int, int]:
    """Weight, thresholds and inverse probability of a written section."""
    found = {key: int(value) for key, value in re.findall(r"^tc 0 wred ([a-z ]+) = (\d+) \2 \2$", text, re.MULTILINE)}
    return found["weight"], found["min"], found["max"], found["inv prob"]


def wanted(rng: random.Random) -> Wanted:
    low = rng.uniform(0.2, 600)
    aqm = Ramp(
        kind="red",
        min_bytes=1500 * low,
        max_bytes=1500 * min(1023.4, low + rng.uniform(0.1, 500)),
        max_p=rng.uniform(0.001, 1),
        w_q=2 ** rng.uniform(-20, 0),
        gate=rng.choice(["uniform", "wait", "geometric"]),
    )
    return Wanted(
        name="random",
        aqm=aqm,
        ecn=False,
        rate_bps=1e9,
        reverse_rate_bps=1e9,
        buffer_bytes=1.5e6,
        buffer_counted=False,
        mean_packet=1500,
    )


@pytest.mark.slow
def test_dpdk_takes_a_hundred_random_ones() -> None:
    rng = random.Random(15)
    written = [dpdk.write(wanted(rng), Place()).text for _ in range(100)]
    answers = ask([f"config {n} {low} {high} {inverse}" for n, low, high, inverse in map(numbers, written)])
    assert answers == [[0]] * 100


@pytest.mark.slow
@pytest.mark.parametrize("beyond", ["13 5 15 10", "0 5 15 10", "9 5 1024 10", "9 15 15 10", "9 5 15 256", "9 5 15 0"])
def test_dpdk_refuses_what_we_never_write(beyond: str) -> None:
    assert ask([f"config {beyond}"]) != [[0]]


@pytest.mark.slow
@pytest.mark.parametrize("inverse", [5, 10, 11, 20, 50, 255])
def test_the_library_drops_the_share_that_was_promised(inverse: int) -> None:
    """Up to 1/max_p·(max − min) = 2048 the share of the formula, beyond it less: 22 bits are too
    few.
    """
    count = 400_000
    (dropped, longest), *_ = ask([f"hold 9 100 300 {inverse} 200 {count}"])
    assert dropped / count == pytest.approx(0.5 * dpdk.share(inverse, 200), rel=0.06)
    assert longest <= 2 / (0.5 / inverse) + 1


@pytest.mark.slow
def test_the_scenario_drops_the_same_share() -> None:
    """RED with even gaps, or with ns-2's, as the re-simulation has it, all along the ramp."""
    for max_p in (0.1, 0.02):
        scenario = ps.Scenario.from_toml(SMALL).set_all(
            {
                "aqm": {"kind": "red", "min_th": 100, "max_th": 300, "max_p": max_p, "w_q": 2.0**-9},
                "topology.bottleneck.buffer": "1000 packets",
            }
        )
        done = ps.config(scenario, "dpdk", seeds=0)
        n, low, high, inverse = numbers(done.text)
        for queue in (150, 250):
            held = ps.probe(done.box, queues=[queue], after=["60 s"], window="60 s", capable=False)
            (dropped, _), *_ = ask([f"hold {n} {low} {high} {inverse} {queue} 400000"])
            assert held.shares("drop")[0][0] == pytest.approx(dropped / 400_000, rel=0.06)
            # And that is what RED itself does with even gaps: twice max_p.
            assert dropped / 400_000 == pytest.approx(2 * max_p * (queue - 100) / 200, rel=0.06)


def test_a_threshold_beyond_its_packets_is_refused() -> None:
    rng = random.Random(1)
    from dataclasses import replace

    ramp = Ramp(kind="red", min_bytes=1500, max_bytes=1500 * 1024, max_p=0.1, w_q=0.002)
    with pytest.raises(RefusedError, match="takes 1 to 1023 packets"):
        dpdk.write(replace(wanted(rng), aqm=ramp), Place())
