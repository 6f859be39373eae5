"""A session is the run, whatever its steps; what is changed under way acts; a copy has the same future."""

from __future__ import annotations

import copy
import itertools
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from conftest import ROOT


def dumbbell(aqm: object = None, **changes: object) -> ps.Scenario:
    link = ps.Link(rate="5 Mbit/s", delay="20 ms", buffer="60 packets")
    made = ps.Scenario(
        duration="6 s",
        topology=ps.Dumbbell(bottleneck=link),
        aqm=aqm or ps.Red(min_th=5, max_th=15, ecn=True),  # type: ignore[arg-type]
        traffic=[ps.Ftp(flows=4, ecn="classic"), ps.Cbr(rate="200 kbit/s", packet="500 B")],
    )
    return made.set_all(changes) if changes else made


class Threshold(ps.Aqm):
    """Drops above a length, and now and then by chance; keeps count."""

    interval_s = 0.1

    def __init__(self, limit: int = 20) -> None:
        self.limit, self.seen, self.ticks = limit, 0, 0

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        self.seen += 1
        return ps.Verdict.DROP if queue.pkts > self.limit or self.random() < 0.01 else ps.Verdict.PASS

    def tick(self, now: float, queue: ps.Queue) -> None:
        self.ticks += 1

    def series(self) -> dict[str, float]:
        return {"seen": self.seen, "ticks": self.ticks}


DISCIPLINES = [ps.Red(min_th=5), ps.CoDel(), ps.FqCodel(), ps.Pie(), ps.DropTail(), Threshold(15)]


@pytest.mark.parametrize("aqm", DISCIPLINES, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("step", ["1 ms", "37 ms", 1.0, "1 min"])
def test_a_session_is_the_run(aqm: object, step: str | float) -> None:
    scenario = dumbbell(aqm)
    session = ps.Session(scenario, 7)
    looks = itertools.count()
    while not session.ended:
        session.advance(step)
        if next(looks) % 3:
            session.links(), session.flows(), session.variables()
    assert session.result().json() == ps.run(scenario, [7]).json()
    assert session.result() is session.result()


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").glob("*.toml")), ids=lambda p: p.stem)
def test_any_scenario_in_steps(path: Path) -> None:
    scenario = ps.Scenario.load(path)
    if scenario.core.work > 4e6:
        pytest.skip("it takes long")
    session = ps.Session(scenario, series="100 ms")
    for part in (0.31, 0.62, 1.0):
        session.advance(until=part * session.end_s)
    ours, whole = session.result(), ps.run(scenario, [scenario.seed], series="100 ms")
    assert ours.json() == whole.json()
    assert ours.series("cwnd").equals(whole.series("cwnd"))


def test_what_it_shows() -> None:
    session = ps.Session(dumbbell(), series="10 ms")
    counted, waited = np.zeros(3), 0.0
    acked = 0
    while not session.ended:
        session.advance("10 ms")
        row = session.link()
        counted += [row["arrivals"], row["drops"], row["departures"]]
        waited += row["delay_s"] * row["departures"] if row["departures"] else 0
        acked += session.flows()["acked_bytes"].sum()
        if session.now_s == pytest.approx(3.0):
            seen = (session.link(), session.flows(), session.variables())
    groups = session.flow_groups
    result = session.result()
    queue = next(row for row in result.series("queue").to_pylist() if row["t_s"] == 3.0)
    link, flows, variables = seen
    assert (link["queue_pkts"], link["queue_bytes"]) == (queue["queue_pkts"], queue["queue_bytes"])
    assert variables["avg_pkts"] == queue["avg_pkts"]
    cwnd = [row["cwnd_segments"] for row in result.series("cwnd").to_pylist() if row["t_s"] == 3.0]
    assert list(flows["cwnd_segments"][:4]) == cwnd
    assert np.isnan(flows["cwnd_segments"][4])
    assert list(groups) == [0, 0, 0, 0, 1]
    metrics = result.runs[0].metrics
    assert counted[0] == metrics["arrivals"]
    assert counted[1] == metrics["drops_early"] + metrics["drops_forced"] + metrics["drops_overflow"]  # type: ignore[operator]
    assert counted[2] == metrics["departures"]
    assert waited / counted[2] == pytest.approx(metrics["delay_mean_s"])
    assert acked * 8 / 6 == pytest.approx(sum(flow["goodput_bps"] for flow in result.runs[0].flows[:4]))


@pytest.mark.parametrize("aqm", DISCIPLINES, ids=lambda each: type(each).__name__)
def test_a_copy_has_the_same_future(aqm: object) -> None:
    session = ps.Session(dumbbell(aqm))
    session.advance("2 s")
    twin, other = session.copy(), session.copy()
    other.swap("blue")
    other.advance("1 s")
    session.advance("3 s")
    assert twin.now_s == 2
    again = twin.copy()
    assert session.result().json() == twin.result().json() == again.result().json() != other.result().json()


def test_a_change_acts_from_then_on() -> None:
    whole = ps.run(dumbbell(), series="10 ms")
    session = ps.Session(dumbbell(), series="10 ms")
    session.advance("3 s")
    session.set("aqm.min_th", 2)
    session.set("aqm.max_th", 6)
    session.set("topology.bottleneck.buffer", "30 packets")
    assert session.scenario_now.resolved["aqm"]["max_th"] == "6 packets"
    changed = session.result()
    queues = [each.series("queue") for each in (whole, changed)]
    before, after = (
        [q["queue_pkts"].to_numpy()[(t >= a) & (t < b)] for q in queues for t in [q["t_s"].to_numpy()]]
        for a, b in ((0, 3), (4, 6))
    )
    assert (before[0] == before[1]).all()
    assert after[1].mean() < 0.7 * after[0].mean()
    with pytest.raises(ps.Error, match="changed is not run again: events=True"):
        changed.series("events")


def test_another_discipline_takes_over() -> None:
    session = ps.Session(dumbbell(ps.DropTail()))
    session.advance("3 s")
    assert "avg_pkts" not in session.variables()
    session.swap(ps.Red(min_th=3, max_th=9))
    session.set("aqm.max_p", 0.3)
    session.advance("1 s")
    assert session.variables()["avg_pkts"] > 0
    session.swap(Threshold(5))
    session.advance("1 s")
    assert session.variables()["seen"] > 50
    assert session.variables()["ticks"] == 9  # the tick at the end of the second is still to come
    with pytest.raises(ps.ScenarioError, match="discipline of your own: swap"):
        session.set("aqm.limit", 3)
    assert session.link()["queue_pkts"] <= 7


def test_links_by_name() -> None:
    session = ps.Session(dumbbell())
    assert session.link_names == ("bottleneck", "bottleneck.reverse")
    session.swap("codel", "bottleneck.reverse")
    session.advance("1 s")
    assert session.link("bottleneck.reverse")["arrivals"] > 0
    assert "dropping" in session.variables("bottleneck.reverse")
    assert "avg_pkts" in session.variables()
    with pytest.raises(ps.ScenarioError, match=r"no link is called bottleneck\.revers; nearest: bottleneck\.reverse"):
        session.link("bottleneck.revers")


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (lambda s: s.set("aqm.max_pp", 1), "unknown key; nearest: max_p"),
        (lambda s: s.set("aqm.max_p", 2), r"max_p = 2: must be a number in \(0, 1\]"),
        (lambda s: s.set("aqm.min_th", 40), "min_th"),
        (lambda s: s.set("aqm.kind", "pie"), "aqm.kind: cannot change while the run goes on"),
        (lambda s: s.set("traffic.0.flows", 9), "cannot change while the run goes on"),
        (lambda s: s.set("topology.bottleneck.rate", "1 Mbit/s"), "cannot change while the run goes on"),
        (lambda s: s.swap("codell"), "nearest: codel"),
        (lambda s: s.advance(until="1 s"), "does not go back: it is at 2 s, not before 1 s"),
        (lambda s: s.advance(until="7 s"), "the run ends at 6 s"),
        (lambda s: s.advance(), "either a span"),
        (lambda s: s.advance("5 parsecs"), "5 parsecs"),
        (lambda s: s.advance(-1), "from 0 to"),
    ],
)
def test_what_cannot_be(wish: object, message: str) -> None:
    session = ps.Session(dumbbell())
    session.advance("2 s")
    with pytest.raises(ps.ScenarioError, match=message):
        wish(session)  # type: ignore[operator]
    assert session.result().json() == ps.run(dumbbell()).json(), "nothing has changed"


def test_the_end() -> None:
    session = ps.Session(dumbbell())
    session.advance("10 s")
    assert (session.now_s, session.ended) == (6, True)
    with pytest.raises(ps.ScenarioError, match="the run is over: it ends at 6 s"):
        session.advance("1 s")
    session.result()
    with pytest.raises(ps.ScenarioError, match="the session is over"):
        session.links()


class Stubborn(Threshold):
    def __deepcopy__(self, memo: dict[int, object]) -> Stubborn:
        if self.seen:
            raise TypeError("cannot be copied")
        return copy.copy(self)


class Failing(Threshold):
    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        if now > 1:
            raise ValueError("late")
        return ps.Verdict.PASS


def test_a_discipline_of_ones_own_that_fails() -> None:
    session = ps.Session(dumbbell(Stubborn()))
    session.advance("1 s")
    with pytest.raises(TypeError, match="cannot be copied"):
        session.copy()
    failing = ps.Session(dumbbell(Failing()))
    failing.advance("1 s")
    twin = failing.copy()
    with pytest.raises(ValueError, match="late"):
        failing.advance("3 s")
    with pytest.raises(ps.ScenarioError, match="the session is over"):
        failing.advance("1 s")
    assert twin.now_s == 1
    twin.swap("droptail")
    assert twin.result().runs[0].metrics["departures"]
