"""Runs in worker processes, one per core: for disciplines written in Python, which one interpreter runs one at a time.

The workers are forked, so a class that stands in a notebook or in `__main__` needs no import. A worker does nothing but
simulate: it starts no thread and touches neither Arrow nor a figure.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from multiprocessing import connection, current_process, get_context
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from penstock import _penstock
from penstock.errors import SimulationError
from penstock.runs.blame import Frame, RemoteError, frames

#: Seconds between two looks at the workers when none of them says anything.
WAKE_S = 0.05


def available() -> bool:
    """Returns whether this process can fork workers; macOS' own libraries do not survive a fork, Windows has none."""
    return sys.platform == "linux" and not current_process().daemon


@dataclass(frozen=True, slots=True)
class Raised:
    """What a run raised, with where it did."""

    error: BaseException
    where: str
    lines: list[Frame]

    def again(self) -> NoReturn:
        """Raises it here."""
        raise self.error from RemoteError(f"\n{self.where}", self.lines)


#: A run to do: a scenario, a seed, and what `_penstock.run` is told to record.
Item = tuple[_penstock.Scenario, int, Mapping[str, Any]]
Said = _penstock.RunResult | Raised


def run(
    core: _penstock.Scenario,
    seeds: Sequence[int],
    jobs: int,
    done: dict[int, _penstock.RunResult],
    progress: Callable[[float, int, int], object] | None,
    **record: Any,
) -> None:
    """Runs seed number i into `done[i]`. What a run raises is raised here, after the other workers have been ended."""
    fractions = [0.0] * len(seeds)
    with closing(results([(core, seed, record) for seed in seeds], jobs)) as said:
        for batch in said:
            for i, each in batch:
                if isinstance(each, float):
                    fractions[i] = each
                elif isinstance(each, Raised):
                    each.again()
                else:
                    done[i], fractions[i] = each, 1.0
            if progress is not None:
                progress(sum(fractions) / len(seeds), len(done), len(seeds))


def results(items: Sequence[Item], jobs: int) -> Generator[list[tuple[int, float | Said]], None, None]:
    """Runs items, and yields what there is to say of them by number, a few times a second: how far a run is, what came
    of it, what it raised. When the iterator is closed, the workers are ended."""
    context = get_context("fork")
    workers = []
    # Ctrl-C reaches every process of the terminal; only this one answers it, and ends the others.
    signals = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for first in range(min(jobs, len(items))):
            ours, theirs = context.Pipe(duplex=False)
            mine = range(first, len(items), jobs)
            worker = context.Process(target=_work, args=(items, mine, theirs, os.getpid()), daemon=True)
            with warnings.catch_warnings():
                # Python warns of threads that the child lacks; the child needs none of them.
                warnings.simplefilter("ignore", DeprecationWarning)
                worker.start()
            theirs.close()
            workers.append((worker, ours))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
    try:
        open_pipes = {pipe: worker for worker, pipe in workers}
        while open_pipes:
            said = []
            for pipe in connection.wait(list(open_pipes), WAKE_S):
                assert isinstance(pipe, Connection)
                try:
                    said.append(pipe.recv())
                except EOFError:
                    worker = open_pipes.pop(pipe)
                    worker.join()
                    if worker.exitcode != 0:
                        raise SimulationError(f"a worker process ended with exit code {worker.exitcode}") from None
            yield said
    finally:
        for worker, pipe in workers:
            worker.kill()  # nothing else ends an endless loop in the user's code
            worker.join()
            pipe.close()


def _work(items: Sequence[Item], mine: Sequence[int], pipe: Connection, parent: int) -> None:
    """Runs a worker's life."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for i in mine:
        core, seed, record = items[i]

        def tell(fraction: float, _done: int, _total: int, i: int = i) -> None:
            if os.getppid() != parent:  # killed: nobody waits for the rest
                os._exit(1)
            pipe.send((i, fraction))

        try:
            pipe.send((i, _penstock.run(core, [seed], 1, progress=tell, **record)[0]))
        except BaseException as error:
            where = "".join(traceback.format_exception(error))
            pipe.send((i, Raised(_portable(error), where, frames(error))))


def _portable(error: BaseException) -> BaseException:
    """Returns the exception if it survives the way to another process, else its text."""
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    except Exception:
        pass
    return SimulationError(f"{type(error).__name__}: {error}")
