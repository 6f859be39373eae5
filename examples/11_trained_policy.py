"""A trained queue beside PIE and CoDel, on loads that it has not seen: who pays more, with intervals.

`examples/rl/train.py` trained it. The pay is that of the training: utilization − mean delay / 40 ms. Differences are
paired by seed.
"""

import sys
from pathlib import Path

import penstock as ps

sys.path.insert(0, str(Path(__file__).parent / "rl"))
from trained_queue import Trained

SEEDS = 5


def load(flows: int, mbit: int, delay_ms: int, calls: int = 0) -> ps.Scenario:
    """Returns CUBIC's flows with ECN, and calls, at a link with a buffer of about 120 ms."""
    link = ps.Link(rate=f"{mbit} Mbit/s", delay=f"{delay_ms} ms", buffer=f"{10 * mbit} packets")
    traffic = [ps.Ftp(flows=flows, tcp="cubic", ecn="classic", start={"uniform": ["0 s", "1 s"]})]
    return ps.Scenario(
        duration="12 s",
        measure={"from": "2 s"},
        topology=ps.Dumbbell(bottleneck=link),
        traffic=[*traffic, *([ps.Cbr(flows=calls, rate="300 kbit/s", packet="500 B")] if calls else [])],
    )


LOADS = {
    "10 flows, 10 Mbit/s, 20 ms": load(10, 10, 20),
    "2 flows, 10 Mbit/s, 40 ms": load(2, 10, 40),
    "30 flows, 15 Mbit/s, 5 ms": load(30, 15, 5),
    "6 flows, 30 Mbit/s, 60 ms": load(6, 30, 60),
    "5 flows and 10 calls, 8 Mbit/s": load(5, 8, 25, calls=10),
}


def paid(run: ps.RunResult) -> float:
    """Returns the pay of a run."""
    return run.metrics["utilization"] - run.metrics["delay_mean_s"] / 0.04


for name, scenario in LOADS.items():
    results = ps.compare(scenario, ["pie:ecn=true", "codel:ecn=true", Trained()], seeds=SEEDS).results
    print(name)
    trained = [paid(run) for run in results["trained"].runs]
    for label, result in results.items():
        pay = [paid(run) for run in result.runs]
        utilization, delay = (result.summary[metric].mean for metric in ("utilization", "delay_mean_s"))
        ahead = ps.Estimate.of([a - b for a, b in zip(trained, pay, strict=True)])
        beside = "" if label == "trained" else f"   trained is paid {ahead.mean:+.3f} ± {ahead.ci95:.3f}"
        print(f"  {label.split(':')[0]:8} {utilization:6.1%} busy, {delay * 1e3:4.1f} ms{beside}")
