"""`make queues`: what is published of today's queues, judged by runs.

    tools/queues.py [dualpi2|cake|…]

Without a name all parts run: a minute. Scenarios are those of `scenarios/`, whose keys a part
changes; the same build gives the same bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import penstock as ps
from outcomes import ROOT, Found, Outcomes, less, metric, over, ratio, share
from penstock.judging.estimate import FROM_ZERO, PERCENT, SHARE
from penstock.runs.result import Result

SEEDS = 10
#: Bits of a datagram.
PACKET = 12_000
#: Mbit/s and ms: the points at which DualPI2 is judged.
GRID = [(rate, trip) for rate in (10, 40, 100) for trip in (10, 25, 50)]
#: Disciplines that RFC 9330 has beside DualPI2.
CLASSIC = ("fq-codel", "pie", "docsis-pie")

OUTCOMES = Outcomes(
    name="queues",
    questions={
        "dualpi2": "DualPI2",
        "classic": "Classic queues beside it",
        "cake": "CAKE",
        "wred": "WRED",
        "unresponsive": "A load that answers nothing",
        "sfq": "SFQ",
        "hull": "HULL",
    },
)


def scenario(name: str, **keys: Any) -> ps.Scenario:
    """Returns a shipped scenario with other keys; dots are written as `__`."""
    loaded = ps.Scenario.load(ROOT / "scenarios" / f"{name}.toml")
    return loaded.set_all({key.replace("__", "."): value for key, value in keys.items()})


def band(found: Result, name: str, metric: str, times: float = 1.0) -> list[float]:
    """Returns a metric of a band in each run."""
    return [times * (run.bands["bottleneck"][name][metric] or 0.0) for run in found.runs]


def goodput(found: Result, group: int, unit: float = 1e6) -> list[float]:
    """Returns a group's goodput in each run, in Mbit/s or in another unit of bit/s."""
    return [(run.groups[group]["goodput_bps"] or 0.0) / unit for run in found.runs]


# ---- the parts


def line(rate: int, trip: int, aqm: Mapping[str, Any], tcp: Sequence[str]) -> ps.Scenario:
    """Returns a link with a flow of each of these; rate in Mbit/s, trip in ms."""
    start = {"uniform": ["0 s", "1 s"]}
    return scenario(
        "dualpi2",
        duration="60 s",
        measure={"from": "20 s"},
        topology={
            "kind": "dumbbell",
            "bottleneck": {
                "rate": f"{rate} Mbit/s",
                "delay": f"{trip / 2:g} ms",
                "buffer": "10000 packets",
            },
            "access": {"rate": "1 Gbit/s", "delay": "0 ms"},
        },
        aqm=dict(aqm),
        traffic=[{"kind": "ftp", "flows": 1, "tcp": each, "start": start} for each in tcp],
    )


def dualpi2(found: Found) -> None:
    """One Prague flow and one CUBIC flow at each point; as Linux has it, the ratio alone."""
    for variant, rate, trip in ((variant, *at) for variant in ("rfc", "linux") for at in GRID):
        at = f"dualpi2/{variant}/{rate}/{trip}"
        queue: dict[str, Any] = {"kind": "dualpi2", "variant": variant}
        run = ps.run(line(rate, trip, queue, ("prague", "cubic")), SEEDS)
        found.add(f"{at}/ratio", ratio(run), FROM_ZERO)
        if variant == "linux":
            if rate == 10:
                queue["th_len"] = 1
                run = ps.run(line(rate, trip, queue, ("prague", "cubic")), SEEDS)
                found.add(f"{at}/th_len", ratio(run), FROM_ZERO)
            continue
        for name, said in (("delay_mean_s", "mean"), ("delay_p99_s", "p99")):
            found.add(f"{at}/l/{said}", band(run, "L", name, 1e3), FROM_ZERO)
        found.add(f"{at}/c/mean", band(run, "C", "delay_mean_s", 1e3), FROM_ZERO)
        lost = [band(run, "L", name) for name in ("drops_early", "drops_overflow")]
        found.add(f"{at}/l/lost", [a + b for a, b in zip(*lost, strict=True)], FROM_ZERO)


def classic(found: Found) -> None:
    """Ten CUBIC flows through the queues that DualPI2 is compared with; PI2 beside PIE."""
    delays: dict[str, list[float]] = {}
    for kind in (*CLASSIC, "pi2"):
        run = ps.run(line(40, 25, {"kind": kind, "ecn": True}, ["cubic"] * 10), SEEDS)
        found.add(f"classic/{kind}/mean", metric(run, "delay_mean_s", 1e3), FROM_ZERO)
        delays[kind] = metric(run, "delay_p99_s", 1e3)
        found.add(f"classic/{kind}/p99", delays[kind], FROM_ZERO)
    found.add("classic/pi2-pie/p99", less(delays["pi2"], delays["pie"]))


def cake(found: Found) -> None:
    """Hosts that are equal, tins that have their shares, a flood that takes its own and no more."""
    for isolation in ("triple-isolate", "dual-dsthost", "flows"):
        run = ps.run(scenario("cake-hosts", aqm__isolation=isolation), SEEDS)
        found.add(f"cake/{isolation}/console", share(run, 1), PERCENT)
        hosts = zip(share(run, 0), share(run, 1), strict=True)
        jain = [(a + b) ** 2 / (2 * (a * a + b * b)) for a, b in hosts]
        found.add(f"cake/{isolation}/jain", jain, SHARE)
    run = ps.run(scenario("cake-tins"), SEEDS)
    for name in ("bulk", "video"):
        found.add(f"cake/{name}", band(run, name, "throughput_bps", 100 / 10e6), PERCENT)
    found.add("cake/voice/p99", band(run, "voice", "delay_p99_s", 1e3), FROM_ZERO)
    resolved = scenario("cake-tins").resolved["traffic"]
    traffic = [{k: v for k, v in group.items() if v is not None} for group in resolved]
    traffic[2] = {"kind": "cbr", "rate": "20 Mbit/s", "packet": "1500 B"}
    run = ps.run(scenario("cake-tins", traffic=traffic), SEEDS)
    found.add("cake/video/full", band(run, "video", "throughput_bps", 100 / 10e6), PERCENT)
    flood = {"kind": "cbr", "rate": "40 Mbit/s", "packet": "1500 B"}
    one = {"kind": "ftp", "start": {"uniform": ["0 s", "1 s"]}}
    run = ps.run(scenario("cake-hosts", traffic=[one, flood]), SEEDS)
    found.add("cake/flood/tcp", goodput(run, 0, 20e6 / 100), PERCENT)


def wred(found: Found) -> None:
    """Three colours between their thresholds."""
    run = ps.run(scenario("wred"), SEEDS)
    rates = [goodput(run, group) for group in range(3)]
    for name, better, worse in (("green-yellow", 0, 1), ("yellow-red", 1, 2)):
        found.add(f"wred/{name}/goodput", less(rates[better], rates[worse]))
    lost = {name: band(run, name, "loss_ratio", 100) for name in ("green", "yellow", "red")}
    for mild, severe in (("green", "yellow"), ("yellow", "red")):
        found.add(f"wred/{mild}-{severe}/lost", less(lost[severe], lost[mild]))


def unresponsive(found: Found) -> None:
    """Datagrams at the link's rate beside eight TCP flows."""
    for kind in ("red", "choke", "sfb", "afd"):
        run = ps.run(scenario("unresponsive", aqm={"kind": kind}), SEEDS)
        at = f"unresponsive/{kind}"
        found.add(f"{at}/tcp", goodput(run, 0, 10e6 / 100), PERCENT)
        found.add(f"{at}/flood", share(run, 1), PERCENT)
        found.add(f"{at}/packets", goodput(run, 1, PACKET), FROM_ZERO)
    run = ps.run(scenario("unresponsive", aqm={"kind": "sfb", "target": 5}), SEEDS)
    found.add("unresponsive/sfb/five", goodput(run, 1, PACKET), FROM_ZERO)


def sfq(found: Found) -> None:
    """A near flow, a far one, and one that answers nothing."""
    run = ps.run(scenario("sfq"), SEEDS)
    for group, name in enumerate(("near", "far", "constant")):
        found.add(f"sfq/{name}", share(run, group), PERCENT)


def hull(found: Found) -> None:
    """Two DCTCP flows through a phantom queue, and through DCTCP's step."""
    phantom = ps.run(scenario("hull"), SEEDS)
    step = ps.run(scenario("hull", aqm={"kind": "step", "threshold": "20 kB"}), SEEDS)
    found.add("hull/used", metric(phantom, "utilization", 100), PERCENT)
    waits = [metric(run, "delay_mean_s", 1e6) for run in (phantom, step)]
    for name, values in zip(("phantom", "step"), waits, strict=True):
        found.add(f"hull/{name}/wait", values, FROM_ZERO)
    found.add("hull/of-step", over([100 * x for x in waits[0]], waits[1]), FROM_ZERO)


PARTS: Mapping[str, Callable[[Found], None]] = {
    "dualpi2": dualpi2,
    "classic": classic,
    "cake": cake,
    "wred": wred,
    "unresponsive": unresponsive,
    "sfq": sfq,
    "hull": hull,
}


def main(names: Sequence[str]) -> int:
    """Does these parts, or all; returns the exit status."""
    for name in names or PARTS:
        found = Found()
        PARTS[name](found)
        OUTCOMES.keep(name, found.numbers)
    OUTCOMES.write()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
