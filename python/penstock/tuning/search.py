"""The optimiser: where to look next. `docs/decisions/0013-tuning.md` says why it is Optuna.

Every axis is the unit interval; `space` makes values of it. The same seed and the same answers give
the same questions.
"""

from __future__ import annotations

import math
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from penstock.errors import Error

#: Candidates that are drawn at random before the model of the good ones is used, for each axis.
RANDOM_PER_AXIS = 3
#: Stands for what is as bad as can be: the model needs finite numbers.
WORST = 1e9

_BROKEN = "broken"


class Search:
    """Asks for points of the unit cube, and is told what they cost.

    axes, objectives: how many.
    first: points that are asked for first, in this order.
    """

    def __init__(self, axes: int, objectives: int, seed: int, first: Iterable[Sequence[float]] = ()) -> None:
        optuna = _optuna()
        points = list(first)
        with _quiet(optuna):
            sampler = optuna.samplers.TPESampler(
                seed=seed,
                n_startup_trials=max(RANDOM_PER_AXIS * axes, len(points)),
                multivariate=True,
                constant_liar=True,
                constraints_func=lambda trial: [trial.user_attrs.get(_BROKEN, WORST)],
            )
            self._study = optuna.create_study(directions=["minimize"] * objectives, sampler=sampler)
            for point in points:
                self._study.enqueue_trial(dict(zip(_names(axes), point, strict=True)))
        self._optuna, self._axes, self._objectives = optuna, axes, objectives
        self._asked: deque[Any] = deque()

    def ask(self, count: int) -> list[list[float]]:
        """Returns points to try next. `tell` has to answer them in this order."""
        points = []
        with _quiet(self._optuna):
            for _ in range(count):
                trial = self._study.ask()
                points.append([trial.suggest_float(name, 0.0, 1.0) for name in _names(self._axes)])
                self._asked.append(trial)
        return points

    def tell(self, costs: Sequence[float] | None) -> None:
        """Answers the oldest open question.

        costs: by how much goals are broken, then each objective; all are to be small. `None`: no
            such scenario.
        """
        trial = self._asked.popleft()
        with _quiet(self._optuna):
            if costs is None:
                self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
                return
            trial.set_user_attr(_BROKEN, _finite(costs[0]))
            self._study.tell(trial, [_finite(cost) for cost in costs[1:]])


def front(costs: Sequence[Sequence[float]]) -> list[int]:
    """Returns the numbers of those that no other one beats: first the goals, then the objectives
    (Deb 2000).

    One that breaks the goals less is better than one that breaks them more, whatever their
    objectives. Of those that keep them, one is better that is at least as good by every objective
    and better by one.

    >>> front([[0.0, 1.0, 3.0], [0.0, 2.0, 2.0], [0.0, 2.0, 4.0], [0.5, 0.0, 0.0]])
    [0, 1]
    """
    return [i for i, ours in enumerate(costs) if not any(_beats(theirs, ours) for theirs in costs)]


def _beats(ours: Sequence[float], theirs: Sequence[float]) -> bool:
    if ours[0] != theirs[0]:
        return ours[0] < theirs[0]
    pairs = list(zip(ours[1:], theirs[1:], strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def _names(axes: int) -> list[str]:
    return [f"u{i}" for i in range(axes)]


def _finite(cost: float) -> float:
    return min(max(cost, -WORST), WORST) if not math.isnan(cost) else WORST


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise Error("Optuna is not installed here; install it with: pip install 'penstock[tune]'") from error
    return optuna


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Keeps Optuna's notes on its progress, and on what it calls experimental, off the terminal."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        optuna.logging.set_verbosity(before)
