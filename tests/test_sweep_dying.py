"""A sweep that dies at any one of its writes loses no finished run, and the next one ends as if nothing had been."""

from __future__ import annotations

import contextlib
import gc
import itertools
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from helpers.disk import DeathError, Disk
from penstock.runs.tasks import Outcome, Task, run_task
from penstock.sweeps import store
from penstock.sweeps.store import Store, adopt, writer
from penstock.sweeps.store.journal import SUFFIX, Journal
from test_sweep import exported
from test_sweep_tables import sweep

pytestmark = pytest.mark.slow

#: Of four points.
RUNS = 4


class Replay:
    """An engine that runs every task once, and gives what came of it from then on."""

    workers = 1
    known: ClassVar[dict[str, Outcome]] = {}

    def run(self, tasks: Iterator[Task]) -> Iterator[Sequence[Outcome]]:
        for task in tasks:
            if task.key not in self.known:
                self.known[task.key] = run_task(task)
            yield [self.known[task.key]]


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal is written after each run and becomes Parquet after each second; nothing is written by the clock."""
    for name, value in {"FLUSH_RUNS": 1, "COMPACT_RUNS": 2, "FLUSH_S": 1e6}.items():
        monkeypatch.setattr(writer, name, value)


def swept(out: Path) -> int:
    return sweep(out, seeds=1, engine=Replay(), flows=True).ran


def both(out: Path) -> list[bytes]:
    return [exported(out, table) for table in ("runs", "flows")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """What both tables hold after a sweep that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "runs"
    assert swept(folder) == RUNS
    return both(folder)


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with Parquet files of all tables, and a journal of another run whose process has died."""
    out = tmp_path_factory.mktemp("unfinished") / "runs"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"FLUSH_RUNS": 1, "COMPACT_RUNS": 3, "FLUSH_S": 1e6}.items():
            patch.setattr(writer, name, value)
        rotate = Store._rotate

        def die_at_the_end(opened: Store, last: bool) -> None:
            if last:
                raise DeathError
            rotate(opened, last)

        patch.setattr(Store, "_rotate", die_at_the_end)
        with contextlib.suppress(DeathError), Disk().mounted():
            swept(out)
    assert len(list((out / "journal").iterdir())) == 1
    return out


def finished(out: Path) -> list[str]:
    """The keys of the runs that are on the disk, in Parquet files or in journals."""
    there = store.read(out)["key"].to_pylist() if store.parts(out) else []
    for path in (out / "journal").glob(f"*{SUFFIX}"):
        there += adopt.keys(path).get("runs", [])
    return there


def at_every_write(
    folder: Path, act: Callable[[Path], object], begun: Path | None = None
) -> Iterator[tuple[Path, set[str]]]:
    """Dies at the first write of `act`, then at its second, and so on until it lives.

    Gives the folder and the runs that were in a journal whole, or in `begun`, by then.
    """
    append = Journal.append
    gc.freeze()  # what was there before is not looked through again after each death
    for n in itertools.count():
        out = folder / str(n)
        if begun is not None:
            shutil.copytree(begun, out)
        kept = set(finished(out)) if begun is not None else set()

        def noted(journal: Journal, tables: Any, runs: int) -> None:
            append(journal, tables, runs)
            kept.update(tables["runs"]["key"].to_pylist())  # noqa: B023  # of this round

        disk = Disk(n)
        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(DeathError), disk.mounted():
            patch.setattr(Journal, "append", noted)
            act(out)
        gc.collect()
        yield out, kept
        if not disk.dead:
            assert n > 6, "it writes more often than that"
            return


def check(out: Path, kept: set[str]) -> None:
    """What a reader meets is whole, and nothing that was finished is gone or there twice."""
    assert store.verify(out) == []
    assert kept <= set(finished(out))
    store.settle(out)
    runs = store.read(out)["key"].to_pylist()
    assert len(set(runs)) == len(runs)
    assert kept <= set(runs)


def test_a_sweep_that_dies_anywhere(tmp_path: Path, whole: list[bytes]) -> None:
    for out, kept in at_every_write(tmp_path, swept):
        journals = list((out / "journal").glob(f"*{SUFFIX}"))
        if journals and len(kept) % 2:  # another that died with those runs, and comes first by its name
            shutil.copy(journals[0], journals[0].with_name(f"{'0' * 32}{SUFFIX}"))
        there = set(finished(out)) if (out / "runs").exists() else set()
        assert swept(out) == RUNS - len(there)
        check(out, kept)
        assert both(out) == whole
        assert list((out / "journal").iterdir()) == []


def test_another_that_writes_its_journal_out_dies_anywhere(
    unfinished: Path, tmp_path: Path, whole: list[bytes]
) -> None:
    for out, kept in at_every_write(tmp_path, store.settle, unfinished):
        check(out, kept)
        assert swept(out) == RUNS - len(kept)
        assert both(out) == whole


def test_new_columns_that_die_anywhere(unfinished: Path, tmp_path: Path) -> None:
    def widen(out: Path) -> None:
        with Store(out, ["aqm.max_p"]):
            pass

    for out, kept in at_every_write(tmp_path, widen, unfinished):
        check(out, kept)
        widen(out)
        check(out, kept)
        assert "aqm.max_p" in store.read(out).column_names
