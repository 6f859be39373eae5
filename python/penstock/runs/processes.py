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
from collections.abc import Callable, Sequence
from multiprocessing import connection, current_process, get_context
from multiprocessing.connection import Connection
from typing import Any

from penstock import _penstock
from penstock.errors import SimulationError
from penstock.runs.blame import RemoteError, frames

#: Seconds between two looks at the workers when none of them says anything.
WAKE_S = 0.05


def available() -> bool:
    """Returns whether this process can fork workers; macOS' own libraries do not survive a fork, Windows has none."""
    return sys.platform == "linux" and not current_process().daemon


def run(
    core: _penstock.Scenario,
    seeds: Sequence[int],
    jobs: int,
    done: dict[int, _penstock.RunResult],
    progress: Callable[[float, int, int], object] | None,
    **record: Any,
) -> None:
    """Runs seed number i into `done[i]`. What a run raises is raised here, after the other workers have been ended."""
    context = get_context("fork")
    workers = []
    fractions = [0.0] * len(seeds)
    # Ctrl-C reaches every process of the terminal; only this one answers it, and ends the others.
    signals = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for first in range(min(jobs, len(seeds))):
            ours, theirs = context.Pipe(duplex=False)
            mine = list(enumerate(seeds))[first::jobs]
            worker = context.Process(target=_work, args=(core, mine, theirs, os.getpid(), record), daemon=True)
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
            for pipe in connection.wait(list(open_pipes), WAKE_S):
                assert isinstance(pipe, Connection)
                try:
                    i, said = pipe.recv()
                except EOFError:
                    worker = open_pipes.pop(pipe)
                    worker.join()
                    if worker.exitcode != 0:
                        raise SimulationError(f"a worker process ended with exit code {worker.exitcode}") from None
                    continue
                if isinstance(said, float):
                    fractions[i] = said
                elif isinstance(said, _penstock.RunResult):
                    done[i], fractions[i] = said, 1.0
                else:
                    error, where, lines = said
                    raise error from RemoteError(f"\n{where}", lines)
            if progress is not None:
                progress(sum(fractions) / len(seeds), len(done), len(seeds))
    finally:
        for worker, pipe in workers:
            worker.kill()  # nothing else ends an endless loop in the user's code
            worker.join()
            pipe.close()


def _work(
    core: _penstock.Scenario, mine: Sequence[tuple[int, int]], pipe: Connection, parent: int, record: dict[str, Any]
) -> None:
    """Runs a worker's life."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for i, seed in mine:

        def tell(fraction: float, _done: int, _total: int, i: int = i) -> None:
            if os.getppid() != parent:  # killed: nobody waits for the rest
                os._exit(1)
            pipe.send((i, fraction))

        try:
            pipe.send((i, _penstock.run(core, [seed], 1, progress=tell, **record)[0]))
        except BaseException as error:
            where = "".join(traceback.format_exception(error))
            pipe.send((i, (_portable(error), where, frames(error))))
            return


def _portable(error: BaseException) -> BaseException:
    """Returns the exception if it survives the way to another process, else its text."""
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    except Exception:
        pass
    return SimulationError(f"{type(error).__name__}: {error}")
