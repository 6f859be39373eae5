"""What `make bench` reads and writes: callgrind's files, targets, the record. Nothing is timed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

import accept
import bench
from conftest import ROOT
from measures import callgrind, instructions, paths, processes, speed
from measures.plan import Plan
from measures.processes import Cost
from measures.record import Record
from measures.tables import per_cent
from measures.targets import TARGETS, Target, beside
from penstock import Scenario

#: What callgrind writes with --dump-instr=yes, cut down: two objects, names given once, positions
#: relative to the one before, a call whose cost is counted in what it calls.
CALLGRIND = """\
# callgrind format
version: 1
positions: instr line
events: Ir
summary: 1234

ob=(1) /lib/libc.so.6
fl=(1) ./string.c
fn=(1) memcpy
0x40 7 3
+4 * 2

ob=(2) /work/run
fl=(2) /work/crates/sim/src/engine.rs
fn=(2) run
0x1000 10 100
+8 +1 20
cob=(1)
cfi=(1)
cfn=(1)
calls=5 0x40
* * 555
fi=(3) /rustc/library/core/src/slice.rs
-8 -1 1
* * 30

ob=(1)
fn=(1)
0x44 8 4

totals: 1234
"""
STACKS = {
    0x1000: ["/rustc/library/core/src/slice.rs:9", "/w/crates/queue/src/link.rs:3", "crates/sim/x"],
    0x1008: ["/rustc/library/core/src/num.rs:9"],
}


def look_up(program: Path, addresses: Iterable[int]) -> dict[int, list[str]]:
    assert program.name == "run"
    return {address: STACKS.get(address, []) for address in addresses}


def test_own_costs_leave_out_what_was_called() -> None:
    costs = callgrind.own_costs(CALLGRIND)
    assert costs == {
        "/lib/libc.so.6": Counter({0x40: 3, 0x44: 6}),
        "/work/run": Counter({0x1000: 131, 0x1008: 20}),
    }


def test_total_is_stated() -> None:
    assert callgrind.total(CALLGRIND) == 1234
    with pytest.raises(SystemExit, match="no total"):
        callgrind.total("events: Ir\n")


def test_inlined_code_belongs_to_the_innermost_file_of_the_simulator() -> None:
    files = callgrind.of_files(callgrind.own_costs(CALLGRIND), Path("/work/run"), look_up)
    assert files == Counter({"queue/src/link.rs": 131, "library/core/src/num": 20, callgrind.ELSEWHERE: 9})


@pytest.mark.parametrize(
    ("stack", "file"),
    [
        ([], callgrind.ELSEWHERE),
        (["??:0"], callgrind.ELSEWHERE),
        (["/root/.cargo/registry/src/libm-0.2/src/pow.rs:7"], callgrind.ELSEWHERE),
        (["/rustc/5/library/core/src/slice/sort/quick.rs:4"], "library/core/src/slice/sort"),
        (["/rustc/5/library/core_arch/src/sse.rs:4", "crates/aqm/src/red.rs:1"], "aqm/src/red.rs"),
        (["crates/aqm/src/red.rs:1", "crates/sim/src/engine.rs:9"], "aqm/src/red.rs"),
    ],
)
def test_the_file_of_an_instruction(stack: list[str], file: str) -> None:
    assert callgrind.file_of(stack) == file


def test_lines_of_addr2line() -> None:
    answer = "0x0000000000001000\na.rs:1\nb.rs:2 (discriminator 3)\n0x0000000000001008\n??:0\n"
    stacks = dict(callgrind._stacks(answer))
    assert stacks == {0x1000: ["a.rs:1", "b.rs:2 (discriminator 3)"], 0x1008: ["??:0"]}


def test_two_lengths_differ_by_their_packets() -> None:
    short = callgrind.Count(1000, {"packets": 10}, Counter({"a": 700, "b": 300}))
    long = callgrind.Count(3000, {"packets": 30}, Counter({"a": 1700, "b": 1200, "c": 100}))
    each = callgrind.between(short, long, lambda document: int(document["packets"]))
    assert (each.packets, each.instructions) == (20, 100)
    assert each.files == {"a": 50, "b": 45, "c": 5}
    with pytest.raises(SystemExit, match="no more packets"):
        callgrind.between(long, short, lambda document: int(document["packets"]))


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("sim/src/sched.rs", "event queue"),
        ("sim/src/apps.rs", "application"),
        ("queue/src/stats.rs", "statistics"),
        ("sim/src/measure.rs", "statistics"),
        ("aqm/src/parts/gate.rs", "discipline"),
        ("queue/src/link.rs", "link and queue"),
        ("tcp/src/receiver.rs", "receiver"),
        ("tcp/src/recovery/newreno.rs", "sender"),
        ("units/src/time.rs", "time, rates, random numbers"),
        ("sim/src/engine.rs", "engine: dispatch, hosts, packets on their way"),
        (callgrind.ELSEWHERE, "elsewhere: libc, libm, calls of the standard library"),
    ],
)
def test_every_file_has_a_part(file: str, part: str) -> None:
    assert instructions.group(file) == part


def test_the_parts_name_files_that_exist() -> None:
    """A pattern that finds no file any more would leave its part out of the table unseen."""
    crates = ROOT / "crates"
    files = {str(path.relative_to(crates)) for path in crates.glob("*/src/**/*.rs")}
    found = {instructions.group(file) for file in files}
    assert found == {part for part, _ in instructions.GROUPS}


def test_a_target_is_a_bound_and_shows_what_falls_short() -> None:
    assert beside("speed B1", 8.0) == ["≥ 8×", "yes"]
    assert beside("speed B1", 7.99) == ["≥ 8×", "**no**"]
    assert beside("instructions B2", 1600) == ["≤ 1,600", "yes"]
    assert beside("instructions B2", 1601) == ["≤ 1,600", "**no**"]
    assert beside("penstock run", 0.079) == ["≤ 0.08 s", "yes"]


def test_no_change_is_shown_without_a_sign() -> None:
    assert [per_cent(x) for x in (-0.0001, 0.0, 0.0004)] == ["0.0 %"] * 3
    assert [per_cent(x) for x in (-0.021, 0.5)] == ["-2.1 %", "+50.0 %"]


def test_every_target_of_instructions_has_an_aim_below_it() -> None:
    for name, target in TARGETS.items():
        assert isinstance(target, Target)
        if name.startswith("instructions"):
            assert target.aim is not None
            assert target.aim < target.value


def test_the_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    assert Record.load(file) == Record(), "where there is none, it is empty"
    record = Record("2026-01-02", "1.95.0", {"B1": 3050}, {"B1": 3400}, {"B4": 6580}, {})
    record.save(file)
    assert Record.load(file) == record
    assert record.under() == "2026-01-02, Rust 1.95.0"


def test_the_record_has_every_case() -> None:
    record = Record.load()
    assert set(record.penstock) == set(record.plain) == {"B1", "B2", "B3", "B4"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", record.date)
    assert record.rustc


def test_a_block_is_replaced_and_the_prose_stays() -> None:
    text = "# P\n\nprose\n\n<!-- bench:own -->\nold\n<!-- /bench:own -->\n\nmore\n"
    put = bench.put(text, "own", "new\n")
    assert put == text.replace("old", "new")
    added = bench.put(text, "paths", "rows")
    assert added.startswith(text.rstrip())
    assert "## More links than one\n\n<!-- bench:paths -->\nrows\n<!-- /bench:paths -->" in added


def test_the_document_has_every_block() -> None:
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    for name in bench.BLOCKS:
        assert f"<!-- bench:{name} -->" in page, name
        assert f"<!-- /bench:{name} -->" in page, name


def test_accept_reads_the_ratio_that_the_speed_table_ends_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def spend(command: list[str]) -> Cost:
        """ns-2 takes nine times our time for the same packets."""
        document = {"summary": {"departures": {"mean": 1000.0}}, "packets": 1000}
        return Cost(9.0 if command[0] == "ns" else 1.0, 1.0, 2**20, json.dumps(document))

    for module in (speed, processes):
        monkeypatch.setattr(module, "spend", spend)
    plan = Plan(quick=True, record=False, peers=False, ns=True, valgrind=False, htsim=None)
    assert accept.ratios(speed.speed(plan)) == {"B1": 9.0, "B2": 9.0, "B3": 9.0, "B4": 9.0}
    assert speed.speed(plan).count("**no**") == 3, "nine times is enough for B1 alone"


def test_the_shortest_run_of_each_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = {"a": iter([3.0, 1.0, 2.0]), "b": iter([5.0, 6.0, 4.0])}
    order: list[str] = []

    def spend(command: list[str]) -> Cost:
        order.append(command[0])
        return Cost(next(cpu[command[0]]), 1.0, 0, "")

    monkeypatch.setattr(processes, "spend", spend)
    best = processes.shortest({"a": ["a"], "b": ["b"]}, 3)
    assert {name: cost.cpu_s for name, cost in best.items()} == {"a": 1.0, "b": 4.0}
    assert order == ["a", "b"] * 3


def test_the_ring_has_a_hundred_links_and_flows() -> None:
    text = paths.ring()
    assert text.count("[[topology.link]]") == paths.LINKS
    assert text.count("[[traffic]]") == paths.LINKS
    scenario = json.loads(Scenario.from_toml(text).core.resolved_json())
    assert scenario["topology"]["kind"] == "graph"


@pytest.mark.parametrize(
    ("link", "is_forward"),
    [("R0-R1", True), ("R1-R0", False), ("R99-R0", True), ("R0-R99", False), ("R9-R10", True)],
)
def test_data_go_forward(link: str, is_forward: bool) -> None:
    assert paths.forward(link) is is_forward
