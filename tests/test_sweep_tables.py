"""Flows and series of sweeps: complete, once, of runs that the runs' table has, whoever is killed."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from conftest import SMALL, Command
from penstock.errors import Error, ScenarioError
from penstock.model.scenario import Scenario
from penstock.runs import runner
from penstock.runs.tasks import SERIES
from penstock.sweeps import drive, store
from penstock.sweeps.drive import Threads
from penstock.sweeps.store import journal, parquet, reader, writer
from penstock.sweeps.until import Until
from test_sweep import InLine, csv, exported

GRID = SMALL + '[sweep]\n"aqm.kind" = ["red", "codel"]\n"topology.bottleneck.delay" = ["20 ms", "5 ms"]\nseeds = 5\n'
RUNS = 2 * 2 * 5
TABLES = ("runs", "flows", *SERIES)
BOTH: dict[str, Any] = {"flows": True, "series": "200 ms"}


def sweep(out: Path, **options: Any) -> drive.Sweep:
    return ps.sweep(Scenario.from_toml(GRID), out=out, **options)


def all_of(folder: Path) -> list[bytes]:
    return [exported(folder, table) for table in TABLES]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """What every table holds after a sweep that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "runs"
    assert sweep(folder, jobs=1, **BOTH).ran == RUNS
    return all_of(folder)


def test_the_tables_are_those_of_penstock_run(tmp_path: Path) -> None:
    sweep(tmp_path, jobs=2, **BOTH)
    for kind in ("red", "codel"):
        chosen = next(
            run
            for run in store.read(tmp_path).to_pylist()
            if (run["aqm.kind"], run["topology.bottleneck.delay"], run["seed"]) == (kind, "5 ms", 3)
        )
        of_point = {"aqm.kind": kind, "topology.bottleneck.delay": "5 ms", "seed": 3}
        again = runner.run(Scenario.from_toml(GRID).set_all(of_point), 1, series="200 ms")
        flows = store.read(tmp_path, table="flows", filters=[("key", "=", chosen["key"])]).to_pylist()
        assert [(row.pop("key"), row.pop("point"), row.pop("seed"), row.pop("flow")) for row in flows] == [
            (chosen["key"], chosen["point"], 3, flow) for flow in range(4)
        ]
        # The table has a column for every metric; some are only of flows of a kind.
        expected = again.runs[0].flows
        assert flows == [dict.fromkeys(row, None) | each for row, each in zip(flows, expected, strict=True)]
        for name in SERIES:
            kept = store.read(tmp_path, table=name, filters=[("key", "=", chosen["key"])]).drop(["key"])
            theirs = again.series(name)
            ours = kept.select(theirs.column_names)
            assert ours.equals(theirs.cast(ours.schema)), name  # words are text in files
            others = set(kept.column_names) - set(theirs.column_names)
            assert all(kept[column].null_count == kept.num_rows for column in others), name


def test_one_schema_and_keys_that_join(tmp_path: Path) -> None:
    sweep(tmp_path, **BOTH)
    sweep(tmp_path, seeds=6, **BOTH)
    keys = set(store.read(tmp_path)["key"].to_pylist())
    for table in TABLES:
        files = store.parts(tmp_path, table)
        assert len(files) == 2
        assert all(pq.read_schema(part).equals(pq.read_schema(files[0])) for part in files)
        found = set(store.read(tmp_path, table=table)["key"].to_pylist())
        assert found <= keys if table in ("fct", "pages", "model") else found == keys, table


@pytest.mark.parametrize("engine", [Threads(3), InLine()])
def test_the_same_bytes_whatever_runs_it(engine: Any, tmp_path: Path, whole: list[bytes]) -> None:
    sweep(tmp_path / "runs", engine=engine, **BOTH)
    assert all_of(tmp_path / "runs") == whole


def test_tables_are_added_to_runs_that_lack_them(tmp_path: Path, whole: list[bytes]) -> None:
    out = tmp_path / "runs"
    sweep(out, seeds=3)
    runs = csv(out)
    assert sweep(out, seeds=3, flows=True).ran == 12
    assert csv(out) == runs
    assert sweep(out, seeds=3, flows=True).ran == 0
    assert sweep(out, seeds=2, series="200 ms").ran == 8  # those of the third seed have flows only
    assert (sweep(out, seeds=3).ran, sweep(out, seeds=2, **BOTH).ran) == (0, 0)
    done = sweep(out, **BOTH)
    assert (done.ran, done.kept) == (12, 8)
    assert all_of(out) == whole


def test_runs_until_an_interval_is_narrow_are_asked_for_their_tables_too(tmp_path: Path) -> None:
    rule = Until.parse("queue_mean_pkts ±40%", least=2, most=4)
    first = ps.sweep(Scenario.from_toml(SMALL), out=tmp_path, until=rule)
    again = ps.sweep(Scenario.from_toml(SMALL), out=tmp_path, until=rule, flows=True)
    assert (again.ran, again.kept) == (first.ran, 0)
    assert ps.sweep(Scenario.from_toml(SMALL), out=tmp_path, until=rule, flows=True).kept == first.ran
    assert store.read(tmp_path).num_rows == first.ran
    assert len(store.read(tmp_path, table="flows")["key"].unique()) == first.ran


def test_another_interval_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    sweep(tmp_path, seeds=1, series="200 ms")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(Error, match=r"keeps series every 0\.2 s, not 0\.1 s; give --series 0\.2s"):
        sweep(tmp_path, seeds=2, series=0.1)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    for wrong in ("0 s", -1.0, "a while"):
        with pytest.raises(ScenarioError):
            sweep(tmp_path / "new", series=wrong)
    assert not (tmp_path / "new").exists()


def test_two_sweeps_into_one_folder(tmp_path: Path, whole: list[bytes]) -> None:
    out = tmp_path / "runs"
    both = [threading.Thread(target=sweep, args=(out,), kwargs={"jobs": 1, **BOTH}) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert all_of(out) == whole


def test_a_journal_counts_up_to_its_first_broken_entry(tmp_path: Path) -> None:
    kept = journal.Journal(tmp_path)
    ends = []
    for i in range(3):
        kept.append({"a": pa.table({"x": [i] * 100}), "b": pa.table({"y": ["text"]})}, 1)
        ends.append(kept.bytes)
    content = kept.path.read_bytes()

    def found(content: bytes) -> list[int]:
        path = tmp_path / "other"
        path.write_bytes(content)
        return [entry["a"]["x"][99].as_py() for entry in journal.entries(path)]

    assert found(content) == [0, 1, 2]
    for cut in (1, 30, ends[1] - ends[0] - 1):
        assert found(content[: ends[1] - cut]) == [0]
    for at in (ends[0], ends[0] + 5, ends[0] + 30, ends[1] - 1):
        assert found(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]) == [0], at
    assert found(content[: ends[0]] + bytes(5000)) == [0]  # a block that was never written
    assert next(list(entry) for entry in journal.entries(kept.path)) == ["a", "b"]
    kept.remove()


def test_export_in_parts_is_in_order(tmp_path: Path, whole: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    sweep(tmp_path / "runs", **BOTH)
    monkeypatch.setattr(reader, "ORDER_ROWS", 7)
    assert all_of(tmp_path / "runs") == whole


def test_a_row_group_is_no_larger_than_it_has_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "FLUSH_RUNS", 2)
    monkeypatch.setattr(parquet, "GROUP_BYTES", 1)
    sweep(tmp_path, jobs=1, **BOTH)
    (part,) = store.parts(tmp_path, "queue")
    groups = pq.ParquetFile(part).metadata
    assert {groups.row_group(i).num_rows for i in range(groups.num_row_groups)} <= {26, 52}


def test_files_of_a_build_that_knew_fewer_columns_are_completed(tmp_path: Path, whole: list[bytes]) -> None:
    out = tmp_path / "runs"
    sweep(out, **BOTH)
    (part,) = store.parts(out, "queue")
    table = pq.read_table(part)
    empty = next(name for name in table.column_names if table[name].null_count == table.num_rows)
    pq.write_table(table.drop([empty]), part)
    shutil.rmtree(out / "manifest")  # which that build did not write
    sweep(out, **BOTH)
    assert pq.read_schema(part).equals(store.table_schema("queue"))
    assert all_of(out) == whole


def test_commands(penstock: Command, tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(GRID)
    done = penstock("sweep", "grid.toml", "--seeds", 1, "--out", "runs", "--flows")
    assert (done.returncode, done.stdout) == (0, "4 runs in runs: 4 new, 0 kept\n")
    missing = penstock("export", "runs", "--csv", "--table", "queue")
    assert missing.returncode == 2
    assert missing.stderr == (
        "penstock: runs: no queue is kept there; `penstock sweep FILE --series 100ms --out runs` adds it\n"
    )
    done = penstock("sweep", "grid.toml", "--seeds", 1, "--out", "runs", "--flows", "--series", "100ms")
    assert (done.returncode, done.stdout) == (0, "4 runs in runs: 4 new, 0 kept\n")
    rows = {table: penstock("export", "runs", "--csv", "--table", table).stdout.splitlines() for table in TABLES}
    assert {table: len(rows[table]) - 1 for table in ("runs", "flows", "queue")} == {
        "runs": 4,
        "flows": 16,
        "queue": 4 * 51,
    }
    assert rows["flows"][0].startswith('"key","point","seed","group","flow","goodput_bps"')
    assert rows["cwnd"][0] == '"key","seed","t_s","flow","cwnd_segments","ssthresh_segments"'
    wrong = penstock("sweep", "grid.toml", "--out", "runs", "--series", "10ms")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "keeps series every 0.1 s" in wrong.stderr
    for bad in ("0s", "fast"):
        wrong = penstock("sweep", "grid.toml", "--out", "new", "--series", bad)
        assert wrong.returncode == 2
        assert len(wrong.stderr.splitlines()) == 1
    assert not (tmp_path / "new").exists()


def test_from_python(tmp_path: Path, small: Path) -> None:
    done = ps.sweep(small, over={"aqm.max_th": [12, 15]}, seeds=2, out=tmp_path / "runs", flows=True, series=0.5)
    runs = pq.read_table(tmp_path / "runs" / "runs")
    queue = pq.read_table(tmp_path / "runs" / "series" / "queue")
    assert done.ran == runs.num_rows == 4
    joined = queue.join(runs.select(["key", "aqm.max_th"]), "key")
    assert joined.num_rows == 4 * 11
    assert sorted(set(joined["aqm.max_th"].to_pylist())) == ["12 packets", "15 packets"]
