"""Runs on threads: the one place where Penstock spreads runs over cores.

The simulator computes without Python's lock, so threads suffice. (A discipline written in Python holds that lock: its
seeds run in `processes`.)
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")
R = TypeVar("R")

#: Seconds after which a pool says that nothing has ended: time to answer Ctrl-C and to draw a progress bar.
WAKE_S = 0.2

#: Called by a run about twenty times a second, as its `progress`. Raises `Stopped` to end it.
Watch: TypeAlias = Callable[[float, int, int], None]


class Stopped(BaseException):  # no Exception: whoever catches those must not catch this
    """Ends a run whose result nobody wants any more."""


@dataclass(frozen=True)
class _Ended:
    """Item number `i` has ended, well or with an error."""

    i: int
    error: BaseException | None


class Pool(Generic[T, R]):
    """Applies a function to items on threads.

    work: called with an item and a watch, on any of the threads. Each result that it returns or yields is passed on at
        once. The watch is for `_penstock.run(..., progress=watch)`: it ends the run when the pool stops.
    jobs: threads.
    """

    def __init__(self, work: Callable[[T, Watch], Iterable[R]], jobs: int) -> None:
        self._work = work
        self._jobs = jobs
        #: Items from this number on are not worth finishing: an earlier one has failed, or the caller has gone.
        self._end = float("inf")
        self._lock = threading.Lock()
        self._said: queue.SimpleQueue[R | _Ended] = queue.SimpleQueue()

    def results(self, items: Iterable[T]) -> Generator[R | None, None, None]:
        """Yields each result as soon as there is one, and `None` after each `WAKE_S` without any.

        Items are taken as there is room for them, so memory does not grow with their number. If items raise, those
        before them are finished, and the exception of the first is raised: it does not depend on the threads' timing.
        When that happens, at Ctrl-C, and when the iterator is closed, the runs under way end within a moment. Use it
        with `contextlib.closing`.
        """
        from concurrent.futures import ThreadPoolExecutor  # slow to load, as it loads `logging`

        waiting = enumerate(items)
        failed: dict[int, BaseException] = {}
        running = 0
        with ThreadPoolExecutor(self._jobs) as threads:
            try:
                while True:
                    while running < 2 * self._jobs and not failed and (more := next(waiting, None)) is not None:
                        threads.submit(self._one, *more)
                        running += 1
                    if running == 0:
                        break
                    try:
                        said = self._said.get(timeout=WAKE_S)
                    except queue.Empty:
                        yield None
                        continue
                    if not isinstance(said, _Ended):
                        yield said
                        continue
                    running -= 1
                    if said.error is not None and not isinstance(said.error, Stopped):
                        failed[said.i] = said.error
            finally:
                self._end = -1
                threads.shutdown(cancel_futures=True)
        if failed:
            raise failed[min(failed)]

    def _one(self, i: int, item: T) -> None:
        """Works on one item, on a thread."""

        def watch(_fraction: float, _done: int, _total: int) -> None:
            if i >= self._end:
                raise Stopped

        error: BaseException | None = None
        try:
            watch(0.0, 0, 1)
            for result in self._work(item, watch):
                self._said.put(result)
        except BaseException as raised:  # a panic of the extension is no Exception
            error = raised
            if not isinstance(error, Stopped):
                with self._lock:
                    self._end = min(self._end, i)
        self._said.put(_Ended(i, error))


def in_order(work: Callable[[T, Watch], R], items: Iterable[T], jobs: int) -> list[R]:
    """Returns one result per item, in the items' order; see `Pool`."""

    def numbered(one: tuple[int, T], watch: Watch) -> Iterator[tuple[int, R]]:
        yield one[0], work(one[1], watch)

    with closing(Pool(numbered, jobs).results(enumerate(items))) as results:
        done = dict(each for each in results if each is not None)
    return [done[i] for i in range(len(done))]
