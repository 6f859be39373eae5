"""A discipline of the user's own in Python: what `penstock.Aqm` and docs/own-discipline.md promise."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

import penstock as ps
from conftest import SMALL
from penstock.runs import processes

TWO_CORES = processes.available()


def scenario(aqm: ps.Aqm | None = None) -> ps.Scenario:
    """SMALL, whose datagrams overload the link: once it has begun to send it never falls idle."""
    changes = {"traffic.1.rate": "1.6 Mbit/s", "traffic.0.flows": 10, "measure.from": "0 s"}
    loaded = ps.Scenario.from_toml(SMALL).set_all(changes)
    return loaded if aqm is None else loaded.with_aqm(aqm)


class Red(ps.Aqm):
    """Floyd and Jacobson 1993, Fig. 2, in the order of operations of the Rust core."""

    def __init__(self, min_th: float, max_th: float, max_p: float, w_q: float) -> None:
        self.min_th, self.max_th, self.max_p, self.w_q = min_th, max_th, max_p, w_q
        self.avg = self.p_b = 0.0
        self.count = -1

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        if queue.idle_since_s is None:
            self.avg = (1.0 - self.w_q) * self.avg + self.w_q * queue.pkts
        else:
            assert self.avg == 0, "an idle time's power differs in the last bit from one libm to the other"
        if self.avg < self.min_th:
            self.p_b, self.count = 0.0, -1
            return ps.PASS
        if self.avg >= self.max_th:
            self.p_b, self.count = 1.0, 0
            return ps.DROP_FORCED
        self.p_b = self.max_p * (self.avg - self.min_th) / (self.max_th - self.min_th)
        self.count += 1
        due = self.count * self.p_b
        p_a = min(self.p_b / (1.0 - due), 1.0) if due < 1.0 else 1.0
        if p_a >= 1.0 or (p_a > 0.0 and self.random() < p_a):
            self.count = 0
            return ps.MARK
        return ps.PASS

    def overflow(self, now: float, packet: ps.Packet, queue: ps.Queue) -> None:
        self.count = 0

    def average_pkts(self) -> float:
        return self.avg

    def series(self) -> Mapping[str, float]:
        return {"avg_pkts": self.avg, "max_p": self.max_p, "p_b": self.p_b}


def test_red_in_python_is_red_to_the_last_bit() -> None:
    keys = {"min_th": 5.0, "max_th": 15.0, "max_p": 0.05, "w_q": 0.002}
    longer = scenario().set("duration", "20 s")
    built_in = longer.set_all({f"aqm.{key}": value for key, value in {**keys, "gentle": False}.items()})
    theirs = ps.run(built_in, seeds=3, series="10 ms", events=True)
    ours = ps.run(longer.with_aqm(Red(**keys)), seeds=3, series="10 ms", events=True)
    for a, b in zip(theirs.runs, ours.runs, strict=True):
        assert (a.metrics, a.groups, a.flows, a.events) == (b.metrics, b.groups, b.flows, b.events)
        used = {name: b.metrics[name] or 0 for name in ("drops_early", "drops_forced", "drops_overflow", "marks_ce")}
        assert min(used.values()) > 3, used
    assert ours.series("queue").equals(theirs.series("queue"))
    assert ours.series("events").equals(theirs.series("events"))


class Everything(ps.Aqm):
    """Uses every hook and publishes what it has seen."""

    interval_s = 0.25

    def __init__(self) -> None:
        self.seen = dict.fromkeys(("arrivals", "overflows", "departures", "waited_s", "ticks", "last_tick_s"), 0.0)
        self.link: ps.LinkFacts | None = None

    def setup(self, link: ps.LinkFacts) -> None:
        self.link = link

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        assert packet.sojourn_s == 0
        assert packet.flow < 11
        assert packet.ecn_capable == (packet.ecn is not ps.Ecn.NOT_ECT)
        assert packet.bytes in (40, 1000, 1040)
        assert packet.class_ == 0
        assert queue.bytes >= 40 * queue.pkts
        assert queue.idle_since_s is None or (queue.pkts == 0 and queue.idle_since_s <= now)
        self.seen["arrivals"] += 1
        return ps.PASS

    def overflow(self, now: float, packet: ps.Packet, queue: ps.Queue) -> None:
        assert queue.pkts == 20
        self.seen["overflows"] += 1

    def depart(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        self.seen["departures"] += 1
        self.seen["waited_s"] += packet.sojourn_s
        return ps.PASS

    def tick(self, now: float, queue: ps.Queue) -> float | None:
        self.seen["ticks"] += 1
        self.seen["last_tick_s"] = now
        return 0.5 if now >= 2 else None

    def average_pkts(self) -> float | None:
        return 7.5

    def series(self) -> Mapping[str, float]:
        assert self.link is not None
        return {**self.seen, "rate_bps": self.link.rate_bps}


def test_every_hook_is_called_and_published() -> None:
    result = ps.run(scenario(Everything()), series=0.001, events=True)
    metrics, queue = result.runs[0].metrics, result.series("queue")
    last = {name: queue[name][-1].as_py() for name in queue.column_names}
    events = result.series("events")["event"].cast("string").to_pylist()
    for name, number in (
        ("arrivals", metrics["arrivals"]),
        ("overflows", metrics["drops_overflow"]),
        ("departures", events.count("dequeue")),
    ):
        assert number is not None
        assert last[name] == number  # the last sample is at the end
        assert last[name] > 100
    assert last["waited_s"] / last["departures"] == pytest.approx(metrics["delay_mean_s"], rel=1e-9)
    assert metrics["avg_queue_mean_pkts"] == pytest.approx(7.5, rel=1e-2)  # none before the first arrival
    # 0.25, 0.5, …, 2, then 2.5, …, 5.
    assert (last["ticks"], last["last_tick_s"], last["rate_bps"]) == (8 + 6, 5.0, 1.5e6)


def test_the_link_is_told_before_the_run() -> None:
    told: list[ps.LinkFacts] = []

    class Listens(ps.Aqm):
        def setup(self, link: ps.LinkFacts) -> None:
            told.append(link)

        def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
            return ps.PASS

    small = scenario(Listens())
    ps.run(small)
    ps.run(small.set("topology.bottleneck.buffer", "30 kB").with_aqm("red").with_reverse_aqm(Listens()))
    expected = ps.LinkFacts(
        name="bottleneck",
        rate_bps=1.5e6,
        delay_s=0.01,
        buffer_pkts=20,
        buffer_bytes=None,
        mean_packet_bytes=1000,
        ecn=True,
    )
    assert told[0] == expected
    assert (told[1].name, told[1].buffer_pkts, told[1].buffer_bytes) == ("bottleneck.reverse", None, 30_000)


class Threshold(ps.Aqm):
    """Signals from a length on; counts its arrivals, so that state that leaks shows."""

    def __init__(self, limit_pkts: int, verdict: ps.Verdict = ps.DROP) -> None:
        self.limit_pkts, self.verdict, self.arrivals = limit_pkts, verdict, 0

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        self.arrivals += 1
        return self.verdict if queue.pkts >= self.limit_pkts and self.random() < 0.5 else ps.PASS

    def series(self) -> Mapping[str, float]:
        return {"arrivals": self.arrivals}


def test_nothing_leaks_from_run_to_run() -> None:
    own = Threshold(5)
    s = scenario(own)
    own.limit_pkts = 0  # after the scenario was made: it has its own copy
    first, again = ps.run(s, seeds=[4, 4], jobs=1, series="0.1 s").runs
    assert (first.metrics, first.table("queue")) == (again.metrics, again.table("queue"))
    assert own.arrivals == 0
    assert first.metrics == ps.run(scenario(Threshold(5)), seeds=[4]).runs[0].metrics


@pytest.mark.skipif(not TWO_CORES, reason="no worker processes here")
def test_processes_give_what_one_process_gives() -> None:
    s = scenario(Threshold(5, ps.MARK))
    one, three = (ps.run(s, seeds=5, jobs=jobs, series="10 ms", events=True, pcap="bottleneck") for jobs in (1, 3))
    assert one.json() == three.json()
    assert one.series("queue").equals(three.series("queue"))
    assert one.series("events").equals(three.series("events"))
    assert [run.pcap for run in one.runs] == [run.pcap for run in three.runs]
    bare = ps.run(s, seeds=2, jobs=2)
    assert bare.series("cwnd").num_rows > 100, "recorded when asked for"


def test_without_processes_the_seeds_run_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "available", lambda: False)
    s = scenario(Threshold(5))
    with pytest.warns(RuntimeWarning, match="one after the other"):
        result = ps.run(s, seeds=2, jobs=2)
    assert result.json() == ps.run(s, seeds=2, jobs=1).json()


def test_a_result_survives_pickle() -> None:
    run = ps.run(scenario(), series="10 ms", events=True, pcap="bottleneck").runs[0]
    back = pickle.loads(pickle.dumps(run))
    assert type(back) is ps.RunResult
    for name in ("seed", "events", "metrics", "groups", "flows", "tables", "pcap"):
        assert getattr(back, name) == getattr(run, name)
    assert run.tables
    assert [back.table(name) for name in run.tables] == [run.table(name) for name in run.tables]


class BoomError(Exception):
    """What a discipline of these tests raises."""


class Fails(ps.Aqm):
    """Raises in one hook, at its third call; counts what is called afterwards."""

    interval_s = 0.1
    after = 0

    def __init__(self, where: str) -> None:
        self.where, self.calls = where, 0

    def note(self, where: str) -> None:
        if self.calls >= 3:
            Fails.after += 1
        if where == self.where:
            self.calls += 1
            if self.calls == 3 or where == "setup":
                raise BoomError(where)

    def setup(self, link: ps.LinkFacts) -> None:
        self.note("setup")

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        self.note("arrive")
        return ps.PASS

    def overflow(self, now: float, packet: ps.Packet, queue: ps.Queue) -> None:
        self.note("overflow")

    def depart(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        self.note("depart")
        return ps.PASS

    def tick(self, now: float, queue: ps.Queue) -> None:
        self.note("tick")

    def average_pkts(self) -> float:
        self.note("average_pkts")
        return 0.0

    def series(self) -> Mapping[str, float]:
        self.note("series")
        return {"x": 1.0}


class Keeps(ps.Aqm):
    """Gets hold of the tuples of its first calls, and of the time in each."""

    kept: ClassVar[list[tuple[object, tuple[object, ...]]]] = []

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        if len(self.kept) < 2:
            tuples = [each for each in gc.get_referrers(packet) if isinstance(each, tuple)]
            Keeps.kept.extend((each[0], each) for each in tuples)
        return ps.PASS


def test_no_tuple_changes_that_a_discipline_holds() -> None:
    Keeps.kept.clear()
    gc.disable()  # a collection hides tuples of plain objects
    try:
        result = ps.run(scenario(Keeps()))
    finally:
        gc.enable()
    assert Keeps.kept
    assert all(arguments[0] == first for first, arguments in Keeps.kept)
    assert result.runs[0].metrics == ps.run(scenario().with_aqm("droptail")).runs[0].metrics


@pytest.mark.parametrize("where", ["setup", "arrive", "overflow", "depart", "tick", "average_pkts", "series"])
def test_what_a_hook_raises_ends_the_run(where: str) -> None:
    Fails.after = 0
    shares = [0.0]
    with pytest.raises(BoomError, match=f"^{where}$") as caught:
        ps.run(
            scenario(Fails(where)).set("duration", "100000 s"),
            series="0.1 s",
            progress=lambda share, *_: shares.append(share),
        )
    assert [frame.name for frame in caught.traceback[-2:]] == [where, "note"]
    assert Fails.after == 0, "no hook is called after a failure"
    assert max(shares) < 0.1, "the rest is not simulated"


class Answers(ps.Aqm):
    """Gives rubbish; typed as if it did not."""

    def __init__(self, hook: str, answer: object, interval_s: object = None) -> None:
        self.hook, self.answer, self.calls = hook, answer, 0
        self.interval_s = interval_s  # type: ignore[assignment]

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        return self.answer if self.hook == "arrive" else ps.PASS  # type: ignore[return-value]

    def series(self) -> Mapping[str, float]:
        self.calls += 1
        return self.answer if self.hook == "series" and self.calls > 3 else {"a": 1}  # type: ignore[return-value]


class Ticks(Answers):
    def tick(self, now: float, queue: ps.Queue) -> float | None:
        return self.answer if self.hook == "tick" else None  # type: ignore[return-value]


class Average(Answers):
    def __init__(self) -> None:
        super().__init__("average_pkts", "many")

    def average_pkts(self) -> float:
        return self.answer  # type: ignore[return-value]


def test_a_series_may_not_take_the_queues_own_columns() -> None:
    class Clock(ps.Aqm):
        def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
            return ps.PASS

        def series(self) -> dict[str, float]:
            return {"t_s": -7.0}

    with pytest.raises(ValueError, match=r"Clock\.series: the name \"t_s\""):
        ps.run(scenario(Clock()), series="0.1 s")


@pytest.mark.parametrize(
    ("own", "error", "message"),
    [
        (Answers("arrive", None), TypeError, r"Answers\.arrive returned None, not a penstock\.Verdict \(PASS, DROP"),
        (Answers("arrive", "drop"), TypeError, "returned 'drop'"),
        (Answers("arrive", True), TypeError, "returned True"),
        (Answers("series", [1]), TypeError, r"Answers\.series returned \[1\]"),
        (Answers("series", {"a": "x"}), TypeError, r"Answers\.series returned \{'a': 'x'\}"),
        (Answers("series", {"b": 1}), ValueError, r"\[\"b\"\] after \[\"a\"\]"),
        (Ticks("tick", "soon", 0.1), TypeError, r"Ticks\.tick returned 'soon'"),
        (Ticks("tick", -1.0, 0.1), ValueError, "-1"),
        (Ticks("tick", float("nan"), 0.1), ValueError, "NaN"),
        (Average(), TypeError, r"Average\.average_pkts returned 'many'"),
        (Ticks("", None, 0), ValueError, "next tick: 0"),
        (Ticks("", None), TypeError, "interval_s"),
        (Answers("", None, 0.1), TypeError, "no tick"),
    ],
)
def test_rubbish_is_refused(own: ps.Aqm, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ps.run(scenario(own), series="0.1 s")


def test_a_class_without_arrive_is_refused_at_once() -> None:
    class Nothing(ps.Aqm):
        pass

    with pytest.raises(TypeError, match="arrive"):
        Nothing()  # type: ignore[abstract]
    with pytest.raises(RuntimeError, match="during a run"):
        Threshold(1).random()


class Unlucky(Threshold):
    """Fails with about half of the seeds."""

    def setup(self, link: ps.LinkFacts) -> None:
        if self.random() < 0.5:
            raise BoomError("unlucky")


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.skipif(not TWO_CORES, reason="one process"))])
def test_an_exception_carries_the_finished_runs(jobs: int) -> None:
    s = scenario(Unlucky(5))

    def lucky(seed: int) -> bool:
        try:
            ps.run(s, seeds=[seed])
        except BoomError:
            return False
        return True

    seeds = range(1, 20)
    good = [seed for seed in seeds if lucky(seed)][:4]
    bad = next(seed for seed in seeds if seed not in good and not lucky(seed))
    # Of two workers one takes the first, the third and the fifth seed, which fails: it has sent two results by then.
    with pytest.raises(BoomError, match="unlucky") as caught:
        ps.run(s, seeds=[*good, bad], jobs=jobs)
    finished = caught.value.finished["Unlucky"]  # type: ignore[attr-defined]
    assert {run.seed for run in finished.runs} <= set(good)
    assert finished.runs[0].metrics == ps.run(s, seeds=[finished.runs[0].seed]).runs[0].metrics
    if jobs > 1:
        text = "".join(traceback.format_exception(caught.value))
        assert 'raise BoomError("unlucky")' in text
    else:
        assert [run.seed for run in finished.runs] == good
    with pytest.raises(BoomError) as caught:
        ps.compare(s, ["red", Unlucky(5)], seeds=[bad], jobs=jobs)
    assert list(caught.value.finished) == ["red"]  # type: ignore[attr-defined]


@pytest.mark.skipif(not TWO_CORES, reason="no worker processes here")
def test_what_cannot_travel_between_processes_comes_as_text() -> None:
    class LocalError(Exception):
        pass

    class Raises(ps.Aqm):
        def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
            raise LocalError("of this function")

    with pytest.raises(ps.SimulationError, match="LocalError: of this function"):
        ps.run(scenario(Raises()), seeds=2, jobs=2)

    class Dies(ps.Aqm):
        def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
            os._exit(3)

    with pytest.raises(ps.SimulationError, match="exit code 3"):
        ps.run(scenario(Dies()), seeds=2, jobs=2)


HANGS = """
import os
import penstock as ps
class Hangs(ps.Aqm):
    def arrive(self, now, packet, queue):
        if now > 0.1:
            os.write(1, b"hanging\\n")  # at once: of two workers each says so
            while True:
                pass
        return ps.PASS
s = ps.Scenario(topology=ps.Dumbbell(bottleneck=ps.Link(rate="1 Mbit/s", delay="1 ms", buffer=9)),
                aqm=Hangs(), traffic=[ps.Ftp()], duration="10 s")
ps.run(s, seeds={seeds}, jobs={seeds})
"""
SLOW = """
import penstock as ps
class Passes(ps.Aqm):
    def arrive(self, now, packet, queue):
        return ps.PASS
# In the reverse direction nothing arrives: no line of Python runs meanwhile.
s = ps.Scenario(topology=ps.Dumbbell(bottleneck=ps.Link(rate="1 Mbit/s", delay="1 ms", buffer=9)),
                reverse_aqm=Passes(), traffic=[ps.Cbr(rate="20 Mbit/s", packet="1000 B")], duration="400000 s")
print("hanging", flush=True)
ps.run(s, jobs={seeds})
"""


@pytest.mark.parametrize("code", [HANGS.format(seeds=1), HANGS.format(seeds=2), SLOW.format(seeds=1)])
def test_ctrl_c_gets_through(code: str) -> None:
    # A session of its own: SIGINT to its group is what Ctrl-C sends, and whoever survives is in that group.
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "hanging\n"
            os.killpg(process.pid, signal.SIGINT)
            _, errors = process.communicate(timeout=30)
            assert process.returncode == -signal.SIGINT
            assert errors.rstrip().endswith("KeyboardInterrupt")
            with pytest.raises(ProcessLookupError):
                os.killpg(process.pid, 0)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_rises_and_what_it_raises_stops_the_run(jobs: int) -> None:
    seen: list[tuple[float, int, int]] = []

    def note(fraction: float, done: int, total: int) -> None:
        seen.append((fraction, done, total))
        if len(seen) == 6:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        ps.run(scenario(Threshold(5)).set("duration", "400000 s"), seeds=2, jobs=jobs, progress=note)
    fractions = [fraction for fraction, _, _ in seen]
    assert fractions == sorted(fractions)
    assert 0 < fractions[-1] < 1
    assert {total for _, _, total in seen} == {2}


def test_compare_and_plots_take_it_like_any_other(tmp_path: Path) -> None:
    small = ps.Scenario.from_toml(SMALL)
    marks = Threshold(8, ps.MARK)
    marks.name = "threshold, marking"
    comparison = ps.compare(small, ["red", Threshold(8), marks], seeds=2)
    assert list(comparison.results) == ["red", "Threshold", "threshold, marking"]
    assert comparison.results["Threshold"].scenario.label == "Threshold"
    assert comparison.results["red"].json() == ps.run(small, seeds=2).json()
    marked = comparison.results["threshold, marking"].summary
    assert (marked["marks_ce"].mean or 0) > 0
    # The datagrams are not ECN-capable: a mark drops them.
    assert (marked["drops_early"].mean or 0) > 0
    for name in ("queue", "delay_cdf", "plane", "cwnd"):
        assert getattr(comparison.plot, name)().axes[0].has_data()
    with pytest.raises(ValueError, match="each once"):
        ps.compare(small, [Threshold(8), Threshold(8)])


def test_the_resolved_scenario_names_it_and_no_file_can() -> None:
    own = ps.Scenario.from_toml(SMALL).with_aqm(Threshold(5))
    assert own.resolved["aqm"]["kind"] == "python:Threshold"
    assert own.with_aqm("red").resolved == ps.Scenario.from_toml(SMALL).resolved
    assert own.set("aqm.kind", "red").resolved == ps.Scenario.from_toml(SMALL).resolved
    both = own.with_reverse_aqm(Threshold(3)).resolved["aqm"]
    assert (both["kind"], both["reverse"]["kind"]) == ("python:Threshold", "python:Threshold")
    with pytest.raises(ps.ScenarioError, match="python:Threshold"):
        ps.Scenario.from_toml(SMALL).set("aqm.kind", "python:Threshold")
    built = ps.Scenario(
        topology=ps.Dumbbell(bottleneck=ps.Link(rate="1 Mbit/s", delay="1 ms", buffer=9)),
        aqm=ps.Red(min_th=2, max_th=6),
        reverse_aqm=Threshold(3),
        traffic=[ps.Ftp()],
        duration="1 s",
    )
    assert built.resolved["aqm"]["reverse"]["kind"] == "python:Threshold"
    assert ps.run(built).runs[0].metrics["departures"]
