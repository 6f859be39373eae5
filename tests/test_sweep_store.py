"""A sweep's store: no changed bit passes unseen, no kill loses a run, and its cost is linear."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import SMALL, Command
from penstock.errors import Error
from penstock.model.scenario import Scenario
from penstock.runs.tasks import Tables, Task, run_key, run_task
from penstock.sweeps import drive, store
from penstock.sweeps.store import Point, Store, manifest, parquet, sealed, writer
from penstock.sweeps.store.journal import SUFFIX
from test_sweep_tables import BOTH, GRID, all_of, sweep

#: Half of the runs' seeds.
SOME = 2


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """What every table holds after a sweep that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "runs"
    sweep(folder, jobs=1, **BOTH)
    return all_of(folder)


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with Parquet files of all tables, and the journal of a process that was killed."""
    folder = tmp_path_factory.mktemp("unfinished") / "runs"
    sweep(folder, seeds=SOME, **BOTH)
    donor = folder.parent / "donor"
    with Store(donor) as opened:
        tables = Tables(flows=True, series_s=0.2)
        for point, _ in list(drive.Grid(Scenario.from_toml(GRID), {}))[:2]:
            for seed in (SOME + 1, SOME + 2):
                task = Task(run_key(point.identity, seed), point.scenario, seed, tables)
                opened.put(point, seed, run_task(task))
                opened.flush()
        (journal,) = (donor / "journal").glob(f"*{SUFFIX}")
        shutil.copy(journal, folder / "journal")
    return folder


def flip(path: Path, chance: random.Random) -> None:
    """Changes one bit of a file."""
    content = bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def flipped(unfinished: Path, folder: Path, flips: int, whole: list[bytes], capfd: Any) -> None:
    chance = random.Random(flips)
    kinds = ["runs", "flows", "series", "journal", "manifest", "schema.json"]
    for i in range(flips):
        out = folder / f"flip{i}"
        shutil.copytree(unfinished, out)
        assert store.verify(out) == []
        of = out / kinds[i % len(kinds)]
        path = of if of.is_file() else chance.choice(sorted(p for p in of.rglob("*") if p.is_file()))
        flip(path, chance)
        assert path in [each.path for each in store.verify(out)], path
        if i % 4:  # the rest takes longer
            continue
        # A reader either does not need the file, or says that it is damaged.
        for table in store.TABLES:
            if path.parent == store.place(out, table):
                with pytest.raises(Error, match=path.name):
                    store.read(out, table=table)
        capfd.readouterr()
        sweep(out, **BOTH)
        said = capfd.readouterr().err
        assert str(path) in said
        assert "moved to" in said
        assert list((out / "damaged").rglob(path.name)), "it is kept"
        assert store.verify(out) == []
        assert all_of(out) == whole, path


def test_no_flipped_bit_passes_unseen(unfinished: Path, tmp_path: Path, whole: list[bytes], capfd: Any) -> None:
    flipped(unfinished, tmp_path, 40, whole, capfd)


@pytest.mark.long
def test_no_flipped_bit_passes_unseen_of_many(unfinished: Path, tmp_path: Path, whole: list[bytes], capfd: Any) -> None:
    flipped(unfinished, tmp_path, 200, whole, capfd)


def test_a_missing_file_and_a_shorter_one_are_damage(unfinished: Path, tmp_path: Path, whole: list[bytes]) -> None:
    for table in ("runs", "queue", "rtt"):
        out = tmp_path / table
        shutil.copytree(unfinished, out)
        (part,) = store.parts(out, table)
        if table == "rtt":
            part.write_bytes(part.read_bytes()[:-1])
        else:
            part.unlink()
        assert [each.path for each in store.verify(out)] == [part]
        sweep(out, **BOTH)
        assert all_of(out) == whole


def test_a_store_of_an_older_build_gets_its_manifest(unfinished: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    shutil.copytree(unfinished, out)
    shutil.rmtree(out / "manifest")
    assert store.verify(out) == []
    assert sweep(out, seeds=SOME, **BOTH).ran == 0
    assert all(manifest.Manifest(out).check(part) for part in store.parts(out))


def test_ctrl_c_does_not_part_a_run_from_its_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    (point, _), *_ = drive.Grid(Scenario.from_toml(GRID), {})
    first, second = (
        Task(run_key(point.identity, seed), point.scenario, seed, Tables(flows=True, series_s=0.2)) for seed in (1, 2)
    )
    with Store(tmp_path / "runs") as opened:
        opened.put(point, 1, run_task(first))
        outcome = run_task(second)
        with monkeypatch.context() as patch:
            patch.setattr(writer, "_owned", interrupted)
            with pytest.raises(KeyboardInterrupt):
                opened.put(point, 2, outcome)
        opened.flush()
        opened.put(point, 2, outcome)
    kept = [store.read(tmp_path / "runs", table=table) for table in store.TABLES]
    assert {frozenset(table["seed"].to_pylist()) for table in kept if table.num_rows} == {frozenset({1, 2})}


def test_verify_is_a_command(penstock: Command, unfinished: Path, tmp_path: Path) -> None:
    shutil.copytree(unfinished, tmp_path / "runs")
    right = penstock("sweep", "--verify", "--out", "runs")
    assert (right.returncode, right.stderr) == (0, "")
    assert right.stdout == "runs: 9 of 9 Parquet files are as they were written\n"
    (part,) = store.parts(tmp_path / "runs", "flows")
    flip(part, random.Random(1))
    wrong = penstock("sweep", "--verify", "--out", "runs")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr.startswith(f"penstock: runs: damaged: flows/{part.name}: its content does not")
    assert len(wrong.stderr.splitlines()) == 1
    none = penstock("sweep", "--verify", "--out", "nothing")
    assert (none.returncode, none.stdout) == (2, "")
    assert "no store of runs" in none.stderr
    assert penstock("sweep").returncode == 2


def test_a_seal_holds_each_byte() -> None:
    text = sealed.seal({"a": 1, "b": {"c": [1.5, "d"]}}).encode()
    assert sealed.unseal(text) == {"a": 1, "b": {"c": [1.5, "d"]}}
    for at in range(len(text)):
        for bit in range(8):
            with pytest.raises(sealed.SealError):
                sealed.unseal(text[:at] + bytes([text[at] ^ 1 << bit]) + text[at + 1 :])


def spent(folder: Path, entries: int, patch: pytest.MonkeyPatch) -> tuple[int, int]:
    """The sizes that were asked for and the bytes that were written for a journal of so many entries."""
    asked, written = [0], [0]
    size, write = parquet.table_bytes, parquet._Hashed.write

    def sizing(table: Any) -> int:
        asked[0] += 1
        return size(table)

    def writing(file: Any, data: Any) -> int:
        written[0] += memoryview(data).nbytes
        return write(file, data)

    point = Point("p" * 32, Scenario.from_toml(SMALL).core.resolved_json(), None)
    task = Task("", point.scenario, 1, Tables(series_s=0.1))
    like = run_task(task)
    with patch.context() as patched:
        patched.setattr(parquet, "table_bytes", sizing)
        patched.setattr(parquet._Hashed, "write", writing)
        patched.setattr(writer, "FLUSH_RUNS", 1)
        with Store(folder) as opened:
            for seed in range(entries):
                opened.put(point, seed, replace(like, key=run_key(point.identity, seed)))
    return asked[0], written[0]


def test_the_end_of_a_sweep_is_linear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (spent(tmp_path / str(n), n, monkeypatch) for n in (40, 400))
    assert many[0] <= 10 * few[0]
    assert many[1] <= 11 * few[1]
