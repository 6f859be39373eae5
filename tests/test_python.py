"""The Python interface: what interface.md and the docstrings promise."""

from __future__ import annotations

import contextlib
import json
import pickle
import threading
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from conftest import ROOT, SMALL
from penstock import _files, _penstock
from penstock.runs import execute
from penstock.show import numbers, plot


@pytest.fixture(scope="module")
def scenario() -> ps.Scenario:
    return ps.Scenario.from_toml(SMALL)


@pytest.fixture(scope="module")
def result(scenario: ps.Scenario) -> ps.Result:
    return ps.run(scenario, seeds=3, series="10 ms", events=True)


def built() -> ps.Scenario:
    return ps.Scenario(
        name="small",
        duration="5 s",
        measure={"from": "1 s"},
        topology=ps.Dumbbell(
            bottleneck=ps.Link(rate="1.5 Mbit/s", delay="10 ms", buffer="20 packets"),
            access=ps.Access(rate="10 Mbit/s", delay={"uniform": ["2 ms", "4 ms"]}),
        ),
        aqm=ps.Red(min_th=5, max_th=15, ecn=True),
        traffic=[
            ps.Ftp(flows=3, start={"uniform": ["0 s", "0.1 s"]}, ecn="classic"),
            ps.Cbr(rate="150 kbit/s", packet="1000 B"),
        ],
    )


def test_built_in_python_is_the_same_as_the_file(scenario: ps.Scenario) -> None:
    assert built().resolved == scenario.resolved
    assert ps.run(built()).json() == ps.run(scenario).json()


def test_a_graph_and_its_links(tmp_path: Path) -> None:
    (tmp_path / "up.trace").write_text("4\n8\n", encoding="utf-8")
    (tmp_path / "packets.csv").write_text("t_s,bytes\n0,1000\n0.5,1500\n", encoding="utf-8")
    graph = ps.Graph(
        link=[
            ps.GraphLink(from_="a", to="b", rate="8 Mbit/s", delay="5 ms", aqm=ps.Ared(), reverse_aqm=ps.Pi()),
            ps.GraphLink(
                from_="b", to="c", delay="5 ms", schedule={"mahimahi": str(tmp_path / "up.trace")}, reverse_aqm=ps.Rem()
            ),
        ],
        node=[ps.Node(name="c"), ps.Node(name="a"), ps.Node(name="b")],
        bottleneck="b-c",
    )
    traffic = [
        ps.Cbr(rate="6 Mbit/s", from_="a", to="c"),
        ps.Ftp(from_="c", to="a"),
        ps.Replay(file=str(tmp_path / "packets.csv"), from_="c", to="a"),
    ]
    scenario = ps.Scenario(topology=graph, aqm=ps.Red(), traffic=traffic, duration="5 s")
    links = scenario.resolved["topology"]["link"]
    assert [link["aqm"]["reverse"]["kind"] for link in links] == ["pi", "rem"]
    assert (links[0]["aqm"]["kind"], "kind" in links[1]["aqm"]) == ("ared", False)
    named = scenario.set("topology.link.1.schedule", str(tmp_path / "up.trace"))  # a name alone is a trace's
    assert named.resolved == scenario.resolved
    result = ps.run(scenario)
    run = result.runs[0]
    assert list(run.links) == ["a-b", "b-a", "b-c", "c-b"]
    assert run.links["b-c"] == {name: run.metrics[name] for name in run.links["b-c"]}
    assert run.links["b-c"]["utilization"] == pytest.approx(1, abs=0.01)  # 3 Mbit/s, by the trace
    assert json.loads(result.json())["runs"][0]["links"] == run.links
    assert len(ps.run(scenario, pcap="bottleneck").runs[0].pcap or b"") > 1000
    with pytest.raises(ps.ScenarioError, match=r"topology\.link\.0\.rate"):
        ps.Scenario(topology=ps.Graph(link=[ps.GraphLink(from_="a", to="b", delay="5 ms")]), traffic=traffic)


def test_one_link_is_described_by_the_metrics(result: ps.Result) -> None:
    assert result.runs[0].links == {}
    assert "links" not in json.loads(result.json())["runs"][0]


def test_a_mistake_in_python_names_the_key() -> None:
    with pytest.raises(ps.ScenarioError, match="min_th") as caught:
        ps.Scenario(
            topology=ps.Dumbbell(bottleneck=ps.Link(rate="1 Mbit/s", delay="1 ms", buffer=9)),
            aqm=ps.Red(min_th=20, max_th=15),
            traffic=[ps.Ftp()],
        )
    assert isinstance(caught.value, ps.Error)
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


LINK = '[topology]\nbottleneck = { rate = "1 Mbit/s", delay = "1 ms", buffer = 9 }\n'


@pytest.mark.parametrize(
    ("text", "line", "path", "found", "allowed", "nearest", "problem"),
    [
        ("seed = 1\nseeed = 2\n", 2, "seeed", None, "seed", "seed", "unknown-key"),
        ('[aqm]\nkind = "redd"\n', 2, "aqm.kind", '"redd"', "codel", "red", "unknown-word"),
        ('duration = "10 sek"\n', 1, "duration", '"10 sek"', "ms", "sec", "quantity"),
        ('duration = "10"\n', 1, "duration", '"10"', "ms", "s", "quantity"),
        ("seed = true\n", 1, "seed", "true", None, None, "value"),
        (LINK, 1, "duration", None, None, None, "missing"),
        ("seed = \n", 1, "", None, None, None, "syntax"),
    ],
)
def test_an_error_carries_the_facts_of_its_message(
    tmp_path: Path,
    text: str,
    line: int | None,
    path: str,
    found: str | None,
    allowed: str | None,
    nearest: str | None,
    problem: str,
) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ps.ScenarioError) as caught:
        ps.Scenario.load(file)
    error = caught.value
    assert (error.file, error.line, error.path, error.found) == (str(file), line, path, found), error
    assert (error.nearest, error.problem) == (nearest, problem), error
    assert allowed is None or allowed in error.allowed, error
    for fact in (error.file, error.path, error.found, error.nearest, *error.allowed):
        assert fact is None or fact in str(error), "the message has the same facts"
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), vars(copy)) == (str(error), vars(error)), "processes send errors to each other"


def test_an_error_has_only_the_facts_that_there_are(scenario: ps.Scenario) -> None:
    with pytest.raises(ps.ScenarioError) as caught:
        scenario.set("aqm.min_thh", 7)
    assert (caught.value.file, caught.value.line, caught.value.path) == ("<text>", None, "aqm.min_thh")
    assert caught.value.nearest == "min_th"
    with pytest.raises(ps.ScenarioError) as caught:
        _penstock.parse_duration("10 sek")
    assert (caught.value.found, caught.value.nearest, caught.value.problem) == ("sek", "sec", "quantity")
    with pytest.raises(ps.ScenarioError) as caught:
        _penstock.parse_size("1 Gb")
    assert (caught.value.found, caught.value.problem) == ("Gb", "quantity")
    assert "GB" in caught.value.allowed
    bare = ps.ScenarioError("--out: is a file")
    assert (bare.file, bare.line, bare.path, bare.found, bare.allowed, bare.nearest, bare.problem) == (
        *(None, None, "", None, ()),
        *(None, None),
    )


def test_sizes_and_lengths_of_queues_are_read_with_their_units() -> None:
    sizes = ("1000 B", "1 kB", "1.5 MB", "1 GB", "64 KiB", "1 MiB", "1 GiB")
    assert [_penstock.parse_size(each) for each in sizes] == [1000, 1000, 1_500_000, 10**9, 2**16, 2**20, 2**30]
    lengths = [_penstock.parse_queue(each) for each in ("40", "1 packet", "2.5 packets", "30 kB", "1 GB")]
    assert lengths == [(40.0, True), (1.0, True), (2.5, True), (30e3, False), (1e9, False)]


def test_every_exception_has_one_root() -> None:
    from penstock.emulation import EmulationError
    from penstock.sweeps.drive import FailFastError
    from penstock.validate.real.compare import TooFewValidError

    for each in (ps.ScenarioError, ps.SimulationError, EmulationError, FailFastError, TooFewValidError):
        assert issubclass(each, ps.Error)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ps.ScenarioError, match=r"none\.toml"):
        ps.Scenario.load(tmp_path / "none.toml")


def test_tables_are_frozen_and_keyword_only() -> None:
    red = ps.Red(min_th=5)
    with pytest.raises(AttributeError):
        red.min_th = 6  # type: ignore[misc]
    with pytest.raises(TypeError):
        ps.Red(5)  # type: ignore[call-arg, arg-type]
    with pytest.raises(TypeError):
        ps.Red(min_thh=5)  # type: ignore[call-arg]


def test_set_gives_another_scenario(scenario: ps.Scenario) -> None:
    other = scenario.set("aqm.min_th", 7).set("topology.bottleneck.delay", "30 ms")
    assert other.resolved["aqm"]["min_th"] == "7 packets"
    assert scenario.resolved["aqm"]["min_th"] == "5 packets"
    spread = scenario.set("topology.access.delay", {"spread": ["1 ms", "9 ms"]})
    assert "spread" in spread.resolved["topology"]["access"]["delay"]
    with pytest.raises(ps.ScenarioError, match="aqm"):
        scenario.set("aqm.min_thh", 7)


def test_changes_only_have_to_hold_together(scenario: ps.Scenario) -> None:
    for changes in ({"aqm.min_th": 20, "aqm.max_th": 60}, {"aqm.max_th": 60, "aqm.min_th": 20}):
        assert scenario.set_all(changes).resolved["aqm"]["min_th"] == "20 packets"
    with pytest.raises(ps.ScenarioError, match="min_th"):
        scenario.set_all({"aqm.min_th": 20, "aqm.max_th": 16})


def test_summary_is_mean_interval_and_number(result: ps.Result) -> None:
    values = [run.metrics["utilization"] for run in result.runs]
    assert None not in values
    used = result.summary["utilization"]
    assert used.n == 3
    assert used.mean == pytest.approx(np.mean(np.array(values, float)))
    half = 4.302653 * np.std(np.array(values, float), ddof=1) / np.sqrt(3)  # t of 2 degrees of freedom, by the table
    assert used.ci95 == pytest.approx(half, rel=1e-5)
    ours = ps.Estimate.of([float(v) for v in values if v is not None])
    assert ours.ci95 == pytest.approx(used.ci95)


def test_the_seeds_are_the_ones_asked_for(scenario: ps.Scenario) -> None:
    runs = ps.run(scenario, seeds=[9, 4, 9], jobs=2).runs
    assert [run.seed for run in runs] == [9, 4, 9]
    assert runs[0].metrics == runs[2].metrics != runs[1].metrics
    with pytest.raises(ValueError, match="at least one"):
        ps.run(scenario, seeds=[])


def test_the_queue_series_and_the_metric_agree(result: ps.Result) -> None:
    queue = result.series("queue")
    assert queue.column_names[:3] == ["seed", "t_s", "queue_pkts"]
    assert "avg_pkts" in queue.column_names
    seeds, times = queue["seed"].to_numpy(), queue["t_s"].to_numpy()
    for run in result.runs:
        window = (seeds == run.seed) & (times >= 1)
        mean = queue["queue_pkts"].to_numpy()[window].mean()
        exact = run.metrics["queue_mean_pkts"]
        assert exact is not None
        assert mean == pytest.approx(exact, rel=0.1)  # samples every 10 ms against the exact time average


# A discipline that drops at arrival, one that drops at the head, one that orders packets and drops waiting ones.
@pytest.fixture(scope="module", params=["red", "codel", "fq-codel"])
def watched(request: pytest.FixtureRequest, scenario: ps.Scenario, result: ps.Result) -> ps.Result:
    if request.param == "red":
        return result
    tight = scenario.with_aqm(request.param).set("topology.bottleneck.buffer", 10).set("aqm.ecn", False)
    return ps.run(tight, seeds=2, events=True)


def test_the_events_count_what_the_metrics_count(watched: ps.Result) -> None:
    events = watched.series("events")
    first = watched.runs[0]
    rows = (events["seed"].to_numpy() == first.seed) & (events["t_s"].to_numpy() >= 1.0)
    words = np.array(events["event"].cast("string").to_pylist())[rows]
    assert (words == "dequeue").sum() == first.metrics["departures"]
    assert (words == "mark").sum() == first.metrics["marks_ce"]
    for why, waiting in (("early", "drop_head"), ("forced", "-"), ("overflow", "evict")):
        counted = (words == f"drop_{why}").sum() + (words == waiting).sum()
        assert counted == first.metrics[f"drops_{why}"]


def test_each_packet_has_a_number_and_its_time_in_the_queue(watched: ps.Result) -> None:
    of_run = [row for row in watched.series("events").to_pylist() if row["seed"] == watched.runs[0].seed]
    came: dict[int, float] = {}
    for row in of_run:
        packet, word = row["packet"], row["event"]
        if word in ("enqueue", "mark") or word in ("drop_early", "drop_forced", "drop_overflow"):
            assert packet not in came
            came[packet] = row["t_s"]
        assert row["sojourn_ns"] * 1e-9 == pytest.approx(row["t_s"] - came[packet], abs=1e-9), row
    assert len(came) > 500
    assert {row["ecn"] for row in of_run if row["event"] == "mark"} <= {"CE"}


def test_a_packet_keeps_its_number_over_all_links() -> None:
    """Through flows of a parking lot, over three hops: all see them in the same order, at 1 Mbit/s and 5 ms apart."""
    lot = ps.ParkingLot(hops=3, cross_flows=1, link=ps.Link(rate="1 Mbit/s", delay="5 ms", buffer=20))
    result = ps.run(
        ps.Scenario(
            topology=lot,
            aqm=ps.CoDel(),
            traffic=[ps.Cbr(rate="100 kbit/s", packet="500 B"), ps.Ftp(tcp="cubic", ecn="classic")],
            duration="5 s",
            record={"links": True},
        ),
        events=True,
    )
    rows = result.series("events", link="all").to_pylist()
    assert [row["t_s"] for row in rows] == sorted(row["t_s"] for row in rows)
    assert {row["link"] for row in rows} >= {"R0-R1", "R1-R2", "R2-R3"}
    way: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        way.setdefault(row["packet"], []).append(row)
    datagrams = [seen for seen in way.values() if seen[0]["flow"] == 0]
    assert [seen[0]["seq"] for seen in datagrams] == list(range(len(datagrams)))
    whole = [seen for seen in datagrams if [r["event"] for r in seen] == ["enqueue", "dequeue"] * 3]
    assert len(whole) > 50
    for seen in whole:
        assert [row["link"] for row in seen[::2]] == ["R0-R1", "R1-R2", "R2-R3"]
        assert len({(row["flow"], row["seq"], row["type"], row["bytes"]) for row in seen}) == 1
        for left, came in (seen[1:3], seen[3:5]):  # 4 ms to send it, and 5 ms on the way
            assert came["t_s"] - left["t_s"] == pytest.approx(0.009, abs=1e-9)
    assert {seen[0]["type"] for seen in way.values()} == {"ack", "data"}


def test_the_words_of_the_packet_log_are_documented(watched: ps.Result) -> None:
    page = (ROOT / "docs" / "how-to.md").read_text(encoding="utf-8")
    section = page[page.index("## A log of every packet") : page.index("## Export to CSV")]
    events = watched.series("events")
    for name in ("event", "type", "ecn"):
        for word in events[name].chunk(0).dictionary.to_pylist():
            assert f"`{word}`" in section, word
    assert all(f"`{name}`" in section for name in events.column_names)


def test_the_delays_of_the_figure_are_those_of_the_metrics(watched: ps.Result) -> None:
    for seed, waits in plot._waits_ms(watched).items():
        metrics = next(run.metrics for run in watched.runs if run.seed == seed)
        assert waits.mean() * 1e-3 == pytest.approx(metrics["delay_mean_s"], rel=1e-6)
        assert len(waits) == metrics["departures"]


def test_a_series_nobody_recorded_is_recorded_when_asked_for(scenario: ps.Scenario) -> None:
    bare = ps.run(scenario, seeds=2)
    assert "queue" not in bare.runs[0].tables
    assert bare.series("queue").num_rows > 1000
    assert set(bare.series("cwnd")["seed"].to_pylist()) == {1, 2}
    with pytest.raises(ValueError, match="queue"):
        bare.series("quue")


def test_pages_are_timed_where_a_web_group_has_connections(scenario: ps.Scenario, result: ps.Result) -> None:
    assert result.series("pages").num_rows == 0
    assert not any("page" in name for name in result.summary)
    web = ps.Web(
        flows=2,
        connections=6,
        persistent=True,
        request="360 B",
        objects_per_page=10,
        object={"exponential": "5 kB"},
        think={"constant": "0.5 s"},
    )
    browsers = ps.run(ps.Scenario(duration="20 s", topology=scenario.resolved["topology"], traffic=[web]), seeds=2)
    pages = browsers.series("pages")
    assert pages.column_names == ["seed", "t_s", "flow", "session", "objects", "bytes", "page_time_s"]
    assert set(pages["session"].to_pylist()) == {0, 1}
    assert set(pages["flow"].to_pylist()) == {0, 6}
    for run in browsers.runs:
        times = [row["page_time_s"] for row in pages.to_pylist() if row["seed"] == run.seed]
        assert run.metrics["pages"] == len(times) > 10
        assert run.metrics["page_time_mean_s"] == pytest.approx(sum(times) / len(times))
        assert run.groups[0]["page_time_p99_s"] == max(times)
        back = pickle.loads(pickle.dumps(run))
        assert (back.metrics, back.groups) == (run.metrics, run.groups)
    assert browsers.summary["page_time_mean_s"].n == 2


def test_bands_are_read_by_link_and_name(result: ps.Result) -> None:
    """No kind sorts packets into bands, so two are put into a result as pickle would."""
    run = result.runs[0]
    assert run.bands == {}
    rebuild, (state,) = cast(Any, run).__reduce__()
    names = [metric["name"] for metric in json.loads(_penstock.list_json("metrics") or "") if metric["links"]]
    bands = [("bottleneck", band, [float(i)] * len(names)) for i, band in enumerate(["urgent", "rest"])]
    filled = rebuild((*state[:6], bands, *state[7:]))
    assert {link: list(of) for link, of in filled.bands.items()} == {"bottleneck": ["urgent", "rest"]}
    assert filled.bands["bottleneck"]["rest"] == dict.fromkeys(names, 1.0)
    assert pickle.loads(pickle.dumps(filled)).bands == filled.bands


def test_columns_are_the_extensions_buffers(result: ps.Result) -> None:
    """No element is copied in Python: Arrow reads the bytes that the extension gave."""
    columns = result.runs[0].table("queue")
    assert columns is not None
    name, kind, raw, words = columns[0]
    assert (name, kind, words) == ("t_s", "f64", [])
    assert np.frombuffer(raw)[1] > np.frombuffer(raw)[0]
    assert result.runs[0].table("nothing") is None


def test_figures(result: ps.Result, tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    from penstock.show import style

    for name in ("queue", "delay_cdf", "plane", "cwnd"):
        figure = getattr(result.plot, name)()
        assert isinstance(figure, Figure)
        assert figure.axes[0].has_data()
        style.save(figure, str(tmp_path / f"{name}.svg"))
    first = (tmp_path / "queue.svg").read_bytes()
    style.save(result.plot.queue(), str(tmp_path / "again.svg"))
    assert (tmp_path / "again.svg").read_bytes() == first, "the same runs must give the same bytes"


def test_compare(scenario: ps.Scenario) -> None:
    comparison = ps.compare(scenario, ["droptail", "red"], seeds=3)
    gap = comparison.difference("red")["queue_mean_pkts"]
    assert gap.n == 3
    assert gap.mean is not None
    assert gap.mean < 0
    assert json.loads(comparison.json())["baseline"] == "droptail"
    assert comparison.difference("droptail")["queue_mean_pkts"].mean == 0


def test_the_gil_is_released(scenario: ps.Scenario) -> None:
    """Another Python thread goes on while the simulator runs, and not only when that calls `progress`."""
    called, enough = [0], threading.Event()

    def note(*_: object) -> None:
        called[0] += 1
        if enough.is_set():
            raise InterruptedError

    def run() -> None:
        with contextlib.suppress(InterruptedError):
            ps.run(scenario.set("duration", "400000 s"), jobs=1, progress=note)

    thread = threading.Thread(target=run)
    thread.start()
    while not called[0]:
        time.sleep(0.001)
    before = called[0]
    for _ in range(1000):
        time.sleep(0)  # offers the lock; who takes it and keeps it has it until its next call
    during = called[0] - before
    enough.set()
    thread.join()
    assert during < 100


def test_progress_rises_and_what_it_raises_stops_the_run(scenario: ps.Scenario) -> None:
    seen: list[tuple[float, int, int]] = []

    def note(fraction: float, done: int, total: int) -> None:
        seen.append((fraction, done, total))
        if len(seen) == 4:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        ps.run(scenario.set("duration", "400000 s"), seeds=3, jobs=2, progress=note)
    assert len(seen) == 4, "nobody is told of a run that has ended"
    fractions = [fraction for fraction, _, _ in seen]
    assert fractions == sorted(fractions)
    assert 0 < fractions[-1] < 1
    assert {total for _, _, total in seen} == {3}


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    flows=st.integers(1, 6),
    rate=st.integers(100, 20_000),
    buffer=st.integers(2, 100),
    kind=st.sampled_from(["droptail", "red", "ared", "rem", "pi"]),
    tcp=st.sampled_from(["tahoe", "reno", "newreno", "sack", "vegas"]),
    seed=st.integers(0, 2**32),
)
def test_what_arrives_leaves_or_is_dropped(flows: int, rate: int, buffer: int, kind: str, tcp: str, seed: int) -> None:
    scenario = ps.Scenario(
        duration="4 s",
        topology=ps.Dumbbell(bottleneck=ps.Link(rate=f"{rate} kbit/s", delay="5 ms", buffer=buffer)),
        traffic=[ps.Ftp(flows=flows, tcp=tcp)],  # type: ignore[arg-type]  # hypothesis draws from the declared words
    ).with_aqm(kind)
    run = ps.run(scenario, seeds=[seed]).runs[0]
    count = {name: value or 0 for name, value in run.metrics.items()}
    drops = count["drops_early"] + count["drops_forced"] + count["drops_overflow"]
    held = count["arrivals"] - count["departures"] - drops
    assert 0 <= held <= buffer + 1
    # A packet counts when its transmission starts, so the last one may reach beyond the end of the window.
    assert 0 <= count["utilization"] <= 1 + 1040 * 8 / (rate * 1000 * 4)
    assert count["jain"] == 0 or 1 / flows - 1e-9 <= count["jain"] <= 1 + 1e-9


def test_a_file_is_whole_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    _files.write(path, "one")

    def interrupted() -> None:
        with _files.replacing(path) as file:
            file.write(b"half of tw")
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        interrupted()
    assert path.read_text(encoding="utf-8") == "one"
    assert [p.name for p in path.parent.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (0.0812345, 0.0012, "81.2 ± 1.2"),
        (0.0812345, 0.012, "81 ± 12"),
        (0.0812345, None, "81.23"),
        (0.0, None, "0"),
        (None, None, "–"),
        (0.0812345, 0.0, "81.23 ± 0.00"),
    ],
)
def test_numbers_show_what_is_known(mean: float | None, half: float | None, text: str) -> None:
    assert numbers.number(ps.Estimate(mean=mean, ci95=half, n=3), 1000) == text


@pytest.mark.parametrize(("duration", "interval"), [(100, 0.05), (60, 0.05), (1, 0.0005), (1000, 0.5), (5, 0.005)])
def test_the_interval_that_nobody_chose(duration: float, interval: float) -> None:
    assert execute.auto_interval_s(duration) == interval


def test_what_is_no_discipline_is_refused() -> None:
    topology = ps.Dumbbell(bottleneck=ps.Link(rate="1 Mbit/s", delay="10 ms"))
    for aqm in (ps.Red, "red", {"kind": "red"}, 5):
        with pytest.raises(TypeError, match=r"ps\.Red"):
            ps.Scenario(topology=topology, traffic=[ps.Ftp()], aqm=aqm)  # type: ignore[arg-type]
    one = ps.Scenario(topology=topology, traffic=ps.Ftp(flows=np.int64(3)), duration="1 s")
    assert one.resolved["traffic"][0]["flows"] == 3
    with pytest.raises(TypeError, match="list"):
        ps.compare(one, "red")
    for seeds in (0, 10**11, [-1], [2**60]):
        with pytest.raises(ValueError, match="seeds"):
            ps.run(one, seeds)


def test_compare_leaves_senders_without_multi_level_ecn_alone() -> None:
    topology = ps.Dumbbell(bottleneck=ps.Link(rate="1 Mbit/s", delay="10 ms"))
    traffic = [ps.Ftp(tcp="dctcp"), ps.Ftp(tcp="cubic", ecn="classic"), ps.Ftp(ecn="accecn"), ps.Ftp()]
    mecn = ps.Scenario(topology=topology, traffic=traffic, duration="1 s").with_aqm("mecn")
    assert [entry["ecn"] for entry in mecn.resolved["traffic"]] == ["classic", "classic", "mecn", "off"]


def test_what_a_control_believes_of_its_path() -> None:
    scenario = ps.Scenario.from_toml(
        'duration = "3 s"\n[topology]\nbottleneck = { rate = "10 Mbit/s", delay = "20 ms", buffer = 100 }\n'
        '[[traffic]]\nkind = "ftp"\ntcp = "reno"\n[[traffic]]\nkind = "ftp"\ntcp = "bbr"\n'
    )
    model = ps.run(scenario, series="100 ms").series("model")
    assert set(model["flow"].to_pylist()) == {1}
    assert {"startup", "probe-bw"} <= set(model["state"].to_pylist())
    without = scenario.set("traffic.1.tcp", "reno")
    assert ps.run(without, series="100 ms").series("model").num_rows == 0
