"""A sweep's runs on Dask: `penstock[dask]`, an existing scheduler, as many workers as it has.

A run can be a millisecond and a message to the scheduler costs one, so runs travel in batches, sized by what the runs
before them took. A worker stops at a batch's time limit and hands back what it did; the rest is sent again. So a grid
whose runs suddenly take a thousand times as long neither starves the other workers nor holds back what is finished.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Literal

from penstock.errors import Error
from penstock.runs.tasks import Outcome, Tables, Task, failed, run_task, simulator
from penstock.sweeps import travel

try:
    import dask
    import distributed
    from distributed.scheduler import KilledWorker
except ImportError as error:
    raise Error("Dask is not installed here; install it with: pip install 'penstock[dask]'") from error

#: Seconds that a batch is meant to take, and after which a worker begins no further run of it.
AIM_S = 0.25
LIMIT_S = 0.5
#: The most batches a second for the whole cluster: a scheduler manages a few times that (docs/scale.md).
MOST_BATCHES_PER_S = 200
#: The most runs of a batch: what the store writes at once.
MOST_RUNS = 1000
#: Batches in flight for each thread of the cluster: one that runs, one that waits behind it.
AHEAD = 2
#: Batches in flight at least, also while the cluster has no worker yet.
LEAST_IN_FLIGHT = 4
#: Seconds between two looks at how many workers there are.
LOOK_S = 2.0
#: Seconds after which an empty batch says that none came, so that the sweep can write what it has.
WAKE_S = 0.25
#: Seconds without an answer before the engine looks whether anything is still being worked on.
PATIENCE_S = 300.0
#: Seconds that the scheduler has to answer a question, at least: it may be busy.
ANSWER_S = 60.0
#: How often batches that nobody works on are sent again before the engine gives up.
MOST_RESENT = 3

#: What a batch is as it travels: the scenarios with what is recorded and the disciplines in Python that they hold
#: (pickled), and of every run its key, its scenario's place and its seed.
Packed = tuple[list[tuple[str, Tables, bytes]], list[tuple[str, int, int]]]


class DaskEngine:
    """Runs tasks on a Dask cluster. Implements `penstock.runs.tasks.Engine`.

    client_or_address: a `distributed.Client`, which stays open, or a scheduler's address (`"tcp://head:8786"`, or
        `"tls://head:8786"` with the certificates that Dask's own configuration names).
    batch: runs that are sent at once; `"auto"`: as many as take about a quarter of a second.
    patience_s: how long nothing may come back before the engine asks the scheduler what is going on.
        Batches that no worker has any more are sent again, three times at most. If all workers have
        gone, the engine gives up. A run on a live worker may take as long as it likes.

    A run whose worker is lost is run again by Dask, on another worker. One that is in flight on more lost workers than
    Dask allows (`distributed.scheduler.allowed-failures`, 3) is tried once more by itself, and if it fails so again,
    it is a failed outcome: it may be what kills them, for want of memory.

    Raises `Error` if no scheduler answers, or not with these certificates; if a worker's Penstock is missing or
    another build than this one; if the scheduler is lost, or all workers are.
    """

    def __init__(
        self,
        client_or_address: distributed.Client | str,
        batch: int | Literal["auto"] = "auto",
        patience_s: float = PATIENCE_S,
    ) -> None:
        if batch != "auto" and batch < 1:
            raise ValueError(f'batch: "auto" or a number of runs from 1 on, not {batch}')
        if not patience_s > 0:
            raise ValueError(f"patience_s: a number of seconds above 0, not {patience_s}")
        self._batch = batch
        self._patience_s = patience_s
        self._ours = isinstance(client_or_address, str)
        if isinstance(client_or_address, str):
            try:
                _check_certificates(client_or_address)
                self._client = distributed.Client(client_or_address, set_as_default=False)
            except (OSError, ValueError) as error:
                raise Error(f"no Dask scheduler answers at {client_or_address}: {error}") from error
        else:
            self._client = client_or_address
            if self._client.asynchronous:
                raise ValueError("client: an asynchronous one cannot drive a sweep; make it with asynchronous=False")

    @property
    def workers(self) -> int:
        """The threads of all workers, at this moment."""
        return sum(self._client.nthreads().values())

    def close(self) -> None:
        """Leaves the cluster, if it was given by its address; a client that was handed in stays open."""
        if self._ours:
            self._client.close()

    def __enter__(self) -> DaskEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, tasks: Iterator[Task]) -> Generator[Sequence[Outcome], None, None]:
        """Yields batches of outcomes, as they are completed; see `penstock.runs.tasks.Engine`."""
        flight = _Flight(self._client, tasks, self._batch, self._patience_s)
        with _interrupts() as interrupted:
            try:
                while not interrupted() and flight.send():
                    yield from flight.land()
            finally:
                flight.cancel()


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Says whether there was a Ctrl-C. Python's exception comes at the end, or at a second one.

    Dask has callbacks of the garbage collector and finalizers, and Python drops what is raised in one of those: one
    Ctrl-C in twenty would do nothing. A handler of one's own stays, and no thread but the main one hears of signals.
    """
    asked = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            signal.default_int_handler(number, frame)
        asked = True

    usual = threading.current_thread() is threading.main_thread()
    usual = usual and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual:
        signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        if usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if asked:
        raise KeyboardInterrupt


class _Flight:
    """One sweep on its way: what is in flight, what has to be sent again, how long a run takes."""

    def __init__(
        self,
        client: distributed.Client,
        tasks: Iterator[Task],
        batch: int | Literal["auto"],
        patience_s: float,
    ) -> None:
        self._client = client
        self._tasks = tasks
        self._batch = batch
        self._again: deque[Task] = deque()
        self._suspects: deque[Task] = deque()
        self._trial: distributed.Future | None = None
        self._sent: dict[distributed.Future, list[Task]] = {}
        self._landed = distributed.as_completed(loop=client.loop, with_results=True, raise_errors=False)
        self._run_s: float | None = None
        self._threads = 0
        self._had_workers = False
        self._looked = -math.inf
        self._patience_s = patience_s
        self._heard = time.monotonic()
        self._resent = 0

    def send(self) -> bool:
        """Sends what there is room for. Returns false once nothing is on its way or left to send."""
        self._look()
        if time.monotonic() - self._heard > self._patience_s:
            self._inquire()
        # Of the suspects one at a time: a worker's death is blamed on all that it had in hand.
        if self._trial is None and self._suspects:
            self._trial = self._submit([self._suspects.popleft()])
        while len(self._sent) < max(LEAST_IN_FLIGHT, AHEAD * self._threads):
            batch = self._take(self._size())
            if not batch:
                break
            self._submit(batch)
        return bool(self._sent)

    def land(self) -> Iterator[list[Outcome]]:
        """Waits for a batch, then gives the outcomes of all that have come; an empty one if none came in time."""
        with self._landed.thread_condition:
            if self._landed.queue.empty():
                self._landed.thread_condition.wait(WAKE_S)
        landed = self._landed.next_batch(block=False)
        if not landed:
            yield []
        for future, result in landed:
            if future not in self._sent:  # it was given up, and has been sent again
                continue
            self._heard, self._resent = time.monotonic(), 0
            tasks = self._sent.pop(future)
            tried, self._trial = future is self._trial, None if future is self._trial else self._trial
            error = _error(result)
            if error is None:
                outcomes, spent_s = result
                self._learn(spent_s / len(outcomes))
                self._again.extend(tasks[len(outcomes) :])
                yield outcomes
                continue
            if not isinstance(error, KilledWorker):
                raise _explained(error) from error
            if tried:
                yield [failed(tasks[0], RuntimeError(f"its workers died, {error.allowed_failures + 1} and again"))]
            else:
                self._suspects.extend(tasks)

    def cancel(self) -> None:
        """Takes back what has not begun; a worker ends the run that it is at."""
        if self._sent and self._client.status == "running":
            self._client.cancel(list(self._sent), force=True)
        self._sent.clear()

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked > LOOK_S and self._client.status == "running":
            self._looked = now
            self._threads = sum(self._ask(self._client.scheduler.ncores).values())
            self._had_workers |= self._threads > 0

    def _inquire(self) -> None:
        """Acts when nothing has come for long: sends again what is lost, or gives up.

        Runs may take longer than any limit. So the scheduler is asked: while a live worker has one of
        the batches, all is well. The others wait behind it.
        """
        self._heard = time.monotonic()
        if not self._sent:
            return
        if self._client.status != "running":
            # All may have been sent before, so that no submission finds out, and Dask may have nothing to take back.
            raise _lost()
        waited = f"nothing has come back for {self._patience_s:g} s"
        processing = self._ask(self._client.scheduler.processing)
        if not processing:
            if not self._had_workers:
                return  # they are still to come, from a batch system's queue for example
            raise _gave_up(f"the Dask cluster: {waited}, and no worker is left")
        held = {key for keys in processing.values() for key in keys}
        if any(future.key in held for future in self._sent):
            return
        if self._resent == MOST_RESENT:
            raise _gave_up(
                f"the Dask cluster: {waited}, and no worker has what was sent, though it was sent {self._resent} times"
                " more"
            )
        self._resent += 1
        lost, self._sent = self._sent, {}
        self._client.cancel(list(lost), force=True)
        for future, tasks in lost.items():
            if future is self._trial:
                self._trial = None
                self._suspects.extendleft(tasks)
            else:
                self._again.extend(tasks)

    def _ask(self, question: Callable[..., Any]) -> dict[str, Any]:
        """Returns what the scheduler answers to one of its remote calls."""
        limit_s = max(self._patience_s, ANSWER_S)
        try:
            answer: dict[str, Any] = self._client.sync(question, callback_timeout=limit_s)
        except TimeoutError as error:
            raise _gave_up(f"the Dask scheduler has not answered for {limit_s:g} s") from error
        except OSError as error:
            raise _explained(error) from error
        return answer

    def _aim_s(self) -> float:
        return max(AIM_S, self._threads / MOST_BATCHES_PER_S)

    def _size(self) -> int:
        if self._batch != "auto":
            return self._batch
        if self._run_s is None:
            return 1
        return min(max(int(self._aim_s() / self._run_s), 1), MOST_RUNS)

    def _take(self, most: int) -> list[Task]:
        batch = [self._again.popleft() for _ in range(min(most, len(self._again)))]
        while len(batch) < most and (task := next(self._tasks, None)) is not None:
            batch.append(task)
        return batch

    def _submit(self, tasks: list[Task]) -> distributed.Future:
        limit_s = self._aim_s() * LIMIT_S / AIM_S if self._batch == "auto" else math.inf
        if self._client.status != "running":  # a submission would wait for a scheduler that does not come back
            raise _lost()
        try:
            future = self._client.submit(run_batch, simulator(), _packed(tasks), limit_s, pure=False)
        except (OSError, RuntimeError) as error:  # a client that has been closed raises the latter
            raise _explained(error) from error
        self._sent[future] = tasks
        self._landed.add(future)
        return future

    def _learn(self, run_s: float) -> None:
        # The mean of the last few batches; a run takes more than nothing, whatever the clock's resolution.
        run_s = max(run_s, 1e-6)
        self._run_s = run_s if self._run_s is None else 0.7 * self._run_s + 0.3 * run_s


def run_batch(build: str, packed: Packed, limit_s: float) -> tuple[list[Outcome], float]:
    """Returns, on a worker, the outcomes of the first runs of a batch, at least one, and the seconds that they took."""
    if simulator() != build:
        raise Error(
            f"the worker {distributed.get_worker().address} has Penstock {simulator()}, the sweep {build}: their"
            " numbers could differ; install the same wheel on both"
        )
    scenarios, runs = packed
    begun = time.perf_counter()
    outcomes: list[Outcome] = []
    for key, scenario, seed in runs:
        text, tables, own = scenarios[scenario]
        outcomes.append(run_task(Task(key, text, seed, tables, travel.unpacked(text, own) if own else None)))
        if time.perf_counter() - begun >= limit_s:
            break
    return outcomes, time.perf_counter() - begun


def _check_certificates(address: str) -> None:
    """Raises `Error` where Dask's configuration names no certificates for `tls://`; `OSError`, no such files."""
    if not address.startswith("tls://") or dask.config.get("distributed.client.security-loader", None):
        return
    if distributed.Security().get_connection_args("client").get("ssl_context") is None:
        raise Error(
            f"no certificates for {address}: Dask's configuration has to name them (distributed.comm.tls.ca-file,"
            " .client.cert and .client.key)"
        )


def _packed(tasks: Sequence[Task]) -> Packed:
    # The seeds of a point have one scenario: it travels once.
    places: dict[tuple[str, Tables, int], int] = {}
    scenarios: list[tuple[str, Tables, bytes]] = []
    runs = []
    for task in tasks:
        place = places.setdefault((task.scenario, task.tables, id(task.made)), len(places))
        if place == len(scenarios):
            scenarios.append((task.scenario, task.tables, travel.packed(task.made) if task.made else b""))
        runs.append((task.key, place, task.seed))
    return scenarios, runs


def _error(result: Any) -> BaseException | None:
    """Returns what a batch raised, as `as_completed` gives it: an exception with its type and traceback; cancelled,
    alone."""
    if isinstance(result, tuple) and len(result) == 3:
        result = result[1]
    return result if isinstance(result, BaseException) else None


def _explained(error: BaseException) -> Error:
    if isinstance(error, Error):
        return error
    if isinstance(error, ImportError | AttributeError) or isinstance(error.__cause__, ImportError | AttributeError):
        return Error(f"a worker cannot load Penstock ({error.__cause__ or error}): install it there, the same build")
    return _gave_up(f"the Dask cluster gave up a batch: {error}")


def _lost() -> Error:
    return _explained(ConnectionError("no connection to its scheduler"))


def _gave_up(why: str) -> Error:
    return Error(f"{why}; what is finished is kept, the same sweep goes on from it")
