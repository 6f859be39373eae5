"""The function `penstock.evaluate`.

It loads what it needs when it is called, as `penstock.sweep` does: the package's names are all loaded before a
discipline in Python runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.evaluation.command import Evaluation
    from penstock.model.aqm import Aqm
    from penstock.sweeps.drive import Sweep


def evaluate(
    disciplines: Sequence[str | Aqm | type[Aqm]],
    *,
    set: Mapping[str, object] | None = None,
    seeds: int | None = None,
    quick: bool = False,
    only: Sequence[str] = (),
    real: bool = False,
    out: str | Path = "out/evaluate",
    jobs: int | None = None,
    scheduler: Any = None,
    progress: Callable[[Sweep], object] | None = None,
    real_progress: Callable[[float, str], object] | None = None,
) -> Evaluation:
    """Judges queue disciplines by RFC 7928, with DropTail beside them, and writes the pages.

    disciplines: kinds (`"red"`), `"all"`, `"my_aqm.py:Mine"`, subclasses of `penstock.Aqm` or instances of them.
    set: key path → value, for all of them but DropTail: `{"aqm.max_p": 0.2}`.
    seeds: runs of every form of every scenario; default: 5, quick: 3.
    quick: a minute for one discipline: fewer seeds, each scenario in its first form, without ECN, without those that
        take longest.
    only: keys of scenarios, as `penstock evaluate --list` names them.
    real: also on real packets (sections 5.1 to 5.3, 7, 8 and 9.1), beside the simulator; each run takes its time.
    out: the folder of the pages and the runs; what it holds is not run again.
    jobs: threads; default: one a core.
    scheduler: a Dask scheduler's address or client; disciplines in Python run here all the same.
    progress: called a few times a second.
    real_progress: the same of real runs: what is done of them (0 to 1), and what is under way.

    Raises `ScenarioError` for what does not exist or does not hold together, `EmulationError` where this machine
    sends no real packets.
    """
    from penstock.evaluation.command import Told, Wanted, run

    wanted = Wanted(disciplines, set or {}, seeds, quick, only, real)
    return run(wanted, Path(out), jobs, scheduler, Told(progress, real_progress))
