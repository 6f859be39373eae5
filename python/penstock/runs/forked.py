"""Work that holds Python's lock, such as drawing, on several cores."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")

#: What the processes of one call do: they are forks, so that neither work nor items are sent.
_given: tuple[Callable[[Any], Any], Sequence[Any]] | None = None


def forked(work: Callable[[Item], Made], items: Sequence[Item], jobs: int) -> Iterator[Made]:
    """Yields `work(item)` in the order of the items, from `jobs` processes.

    What `work` returns is sent back, and must be picklable; what it needs is not. Where the system
    cannot fork, or for one job, it is done here.
    """
    global _given
    if min(jobs, len(items)) < 2 or "fork" not in multiprocessing.get_all_start_methods():
        yield from map(work, items)
        return
    _given = work, items
    try:
        with ProcessPoolExecutor(min(jobs, len(items)), multiprocessing.get_context("fork")) as pool:
            yield from pool.map(_one, range(len(items)))
    finally:
        _given = None


def _one(i: int) -> Any:
    assert _given is not None
    work, items = _given
    return work(items[i])
