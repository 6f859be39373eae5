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

Importing this loads next to nothing: each name loads its module when it is first used, as `penstock.run` does.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock import aqm, kinds
    from penstock._penstock import RunResult, __version__
    from penstock.aqm import *  # noqa: F403  # their list is aqm.__all__
    from penstock.errors import Error, ScenarioError, SimulationError
    from penstock.kinds import *  # noqa: F403  # the generated classes; their list is kinds.__all__
    from penstock.probing import Probe, probe
    from penstock.result import Comparison, Estimate, Result
    from penstock.runner import compare, run
    from penstock.scenario import Scenario
    from penstock.sweeps.drive import sweep

    __all__ = [
        "Comparison",
        "Error",
        "Estimate",
        "Probe",
        "Result",
        "RunResult",
        "Scenario",
        "ScenarioError",
        "SimulationError",
        "__version__",
        "compare",
        "probe",
        "run",
        "sweep",
    ]
    __all__ += kinds.__all__
    __all__ += aqm.__all__

#: Name → module, for the names that are not in the list of a module below.
_WHERE = {
    "__version__": "_penstock",
    "RunResult": "_penstock",
    "Error": "errors",
    "ScenarioError": "errors",
    "SimulationError": "errors",
    "Probe": "probing",
    "probe": "probing",
    "Comparison": "result",
    "Estimate": "result",
    "Result": "result",
    "compare": "runner",
    "run": "runner",
    "Scenario": "scenario",
    "sweep": "sweeps.drive",
}
#: Modules all of whose `__all__` are names here, too.
_WHOLE = ("aqm", "kinds")


def __getattr__(name: str) -> Any:
    if name == "__all__":
        value: Any = sorted([*_WHERE, *(each for module in _WHOLE for each in _module(module).__all__)])
    elif name in _WHERE:
        value = getattr(_module(_WHERE[name]), name)
    elif name in _WHOLE:
        return _module(name)
    elif name.startswith("_"):
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    else:
        for module in _WHOLE:
            if name in _module(module).__all__:
                value = getattr(_module(module), name)
                break
        else:
            raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})


def _module(name: str) -> Any:
    return importlib.import_module(f"penstock.{name}")
