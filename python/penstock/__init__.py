"""Penstock: active queue management and TCP, simulated.

>>> import penstock as ps
>>> s = ps.Scenario(
...     topology=ps.Dumbbell(bottleneck=ps.Link(rate="1.5 Mbit/s", delay="40 ms", buffer=40)),
...     aqm=ps.Red(min_th=5, max_th=15),
...     traffic=[ps.Ftp(flows=2)],
...     duration="10 s",
... )
>>> r = ps.run(s, seeds=2)
>>> r.summary["utilization"].n
2

Importing this package loads nothing: a name's module is loaded when the name is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # Type checkers know the name and take it for true. `typing` would be all that is loaded here.
if TYPE_CHECKING:  # the same names for type checkers, which do not see `__getattr__`; a test compares the two
    from types import ModuleType
    from typing import Any

    from penstock._penstock import RunResult as RunResult
    from penstock._penstock import __version__ as __version__
    from penstock.emulation.network import network as network
    from penstock.errors import Error as Error
    from penstock.errors import ScenarioError as ScenarioError
    from penstock.errors import SimulationError as SimulationError
    from penstock.evaluation.evaluate import evaluate as evaluate
    from penstock.fluid.stability import stability as stability
    from penstock.judging.estimate import Estimate as Estimate
    from penstock.model import aqm as aqm
    from penstock.model import kinds as kinds
    from penstock.model.aqm import *  # noqa: F403
    from penstock.model.kinds import *  # noqa: F403
    from penstock.model.scenario import Scenario as Scenario
    from penstock.operators.config import config as config
    from penstock.operators.config import config_from as config_from
    from penstock.runs.probing import Probe as Probe
    from penstock.runs.probing import probe as probe
    from penstock.runs.result import Comparison as Comparison
    from penstock.runs.result import Result as Result
    from penstock.runs.runner import compare as compare
    from penstock.runs.runner import run as run
    from penstock.runs.session import Session as Session
    from penstock.sweeps.sweep import sweep as sweep
    from penstock.tuning.tune import tune as tune

#: Module → the names that this package has from it.
_NAMES = {
    "_penstock": ("RunResult", "__version__"),
    "emulation.network": ("network",),
    "errors": ("Error", "ScenarioError", "SimulationError"),
    "judging.estimate": ("Estimate",),
    "evaluation.evaluate": ("evaluate",),
    "fluid.stability": ("stability",),
    "model.scenario": ("Scenario",),
    "operators.config": ("config", "config_from"),
    "runs.probing": ("Probe", "probe"),
    "runs.result": ("Comparison", "Result"),
    "runs.runner": ("compare", "run"),
    "runs.session": ("Session",),
    "sweeps.sweep": ("sweep",),
    "tuning.tune": ("tune",),
}
#: Modules that are names here themselves, and every name of whose `__all__` is one, too.
_WHOLE = {"aqm": "model.aqm", "kinds": "model.kinds"}


def _find(name: str) -> Any:
    """Returns a name of this package, and keeps it. Raises `AttributeError` if there is none."""
    value: Any
    if name in _WHOLE:
        value = _module(_WHOLE[name])
    elif name == "__all__":
        whole = (each for module in _WHOLE.values() for each in _module(module).__all__)
        value = sorted([*(each for names in _NAMES.values() for each in names), *whole])
    else:
        value = getattr(_module(_home(name)), name)
    globals()[name] = value
    return value


__getattr__ = _find


def __dir__() -> list[str]:
    return sorted({*globals(), *_find("__all__")})


def _home(name: str) -> str:
    """Returns the module that has a public name. Raises `AttributeError` if there is none."""
    for module, names in _NAMES.items():
        if name in names:
            return module
    if not name.startswith("_"):  # else a look for `__path__` or `__wrapped__` would load them
        for module in _WHOLE.values():
            if name in _module(module).__all__:
                return module
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")


def _module(name: str) -> ModuleType:
    import importlib

    return importlib.import_module(f"penstock.{name}")
