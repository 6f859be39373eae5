"""What profile-guided optimisation learns from: a second of work, ten with instruments.

`maturin build --pgo` runs it (`pgo-command` in pyproject.toml; `make wheel`). The compiler then
knows which branches are rare and which functions are worth inlining. Each kind of work has its
share, so that none is compiled for size: the four cases of the benchmark, every discipline and
every sender, rows of links, the web, datagrams in their rhythms, a series of short runs, and a
discipline in Python.
"""

from __future__ import annotations

import json
from pathlib import Path

import penstock as ps
from penstock import _penstock

HERE = Path(__file__).resolve().parent
SCENARIOS = HERE.parent / "scenarios"

#: Simulated seconds of each case: some 200,000 packets.
CASES = {"b1": 120, "b2": 4, "b3": 4, "b4": 4}
#: Those of the other scenarios.
OTHERS = {"parking-lot": 10, "web-mix": 30, "home-line": 10, "mixed-ecn": 5, "load-rises": 10}
SENDERS = ("tahoe", "reno", "sack", "vegas", "westwood", "highspeed", "cubic", "dctcp")


class Pass(ps.Aqm):
    """Lets everything through."""

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        """Decides about one packet."""
        return ps.PASS


def case(name: str, seconds: float) -> ps.Scenario:
    """A case of the benchmark with another length."""
    return ps.Scenario.load(HERE / f"{name}.toml").set("duration", f"{seconds:g} s")


def scenario(name: str, seconds: float) -> ps.Scenario:
    """A scenario of the package with another length."""
    changes = {"duration": f"{seconds:g} s", "measure.from": f"{seconds / 2:g} s"}
    return ps.Scenario.load(SCENARIOS / f"{name}.toml").set_all(changes)


def main() -> None:
    """Runs everything once."""
    for name, seconds in CASES.items():
        ps.run(case(name, seconds))
    for name, seconds in OTHERS.items():
        ps.run(scenario(name, seconds))
    kinds = [each["name"] for each in json.loads(_penstock.list_json("aqm"))]
    for aqm in (*kinds, Pass()):
        ps.run(case("b1", 10).with_aqm(aqm))
        ps.run(case("b4", 0.1).with_aqm(aqm))
    # A hundred flows through each, so that it is as hot as RED: what runs a tenth as often is
    # compiled for size.
    for kind in kinds:
        ps.run(case("b2", 2).with_aqm(kind))
    for sender in SENDERS:
        ecn = "classic" if sender == "dctcp" else "off"
        ps.run(case("b1", 10).set_all({"traffic.0.tcp": sender, "traffic.0.ecn": ecn}))
    ps.run(scenario("single-flow", 2), seeds=50)


if __name__ == "__main__":
    main()
