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

Importing this loads the standard library and the extension, nothing else: Arrow and matplotlib load when a series or a
figure is asked for.
"""

from penstock import aqm, kinds
from penstock._penstock import RunResult, __version__
from penstock.aqm import *  # noqa: F403  # their list is aqm.__all__
from penstock.errors import Error, ScenarioError, SimulationError
from penstock.kinds import *  # noqa: F403  # the generated classes; their list is kinds.__all__
from penstock.probing import Probe, probe
from penstock.result import Comparison, Estimate, Result
from penstock.runner import compare, run
from penstock.scenario import Scenario
from penstock.sweep.drive import sweep

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
