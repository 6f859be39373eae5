"""One run as every engine sees it: a task in, an outcome out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from penstock import _penstock
from penstock.runs.recorded import recorded

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.runs.blame import Frame

#: The table of a run's flows, that of what RFC 7928 asks of it, and those that are recorded at an interval; the first
#: of these has a row in every run.
FLOWS, MEASURES, SERIES = "flows", "measures", ("queue", "cwnd", "rtt", "goodput", "model", "fct", "pages")


@dataclass(frozen=True, slots=True)
class Tables:
    """What is kept of a run besides its numbers."""

    #: The metrics of each flow.
    flows: bool = False
    #: Seconds between the samples of the series; `None`: they are not recorded.
    series_s: float | None = None
    #: What `penstock.runs.measures` computes from every packet's fate.
    measures: bool = False

    @property
    def marks(self) -> tuple[str, ...]:
        """Returns tables that a run has where it has what is wanted."""
        return (FLOWS,) * self.flows + (MEASURES,) * self.measures + SERIES[:1] * (self.series_s is not None)

    def recording(self, scenario: _penstock.Scenario) -> dict[str, Any]:
        """Returns what the simulator is told to record in runs of a scenario."""
        if not self.measures:
            return {"series_interval_s": self.series_s}
        from penstock.runs.measures import window_s

        return {"series_interval_s": self.series_s or window_s(scenario), "events": True}


@dataclass(frozen=True, slots=True)
class Task:
    """A run to do."""

    #: Identity of the run: hash of the canonical scenario (without name and seed), the seed and the engine's version.
    key: str
    #: The resolved scenario as JSON text.
    scenario: str
    seed: int
    tables: Tables = Tables()
    #: The scenario itself, where its text cannot say it: with a discipline in Python.
    made: _penstock.Scenario | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a task."""

    key: str
    #: `{"metrics": {...}, "groups": [...], "links": {...}, "warnings": [...]}`; `None` if it failed. Groups have their
    #: `name`.
    numbers: dict[str, Any] | None
    #: What went wrong, for a person.
    error: str | None
    events: int
    #: `FLOWS`, `MEASURES` and `SERIES`, as far as they were wanted.
    tables: Mapping[str, pa.Table] = field(default_factory=dict)


class Engine(Protocol):
    """Where tasks run."""

    def run(self, tasks: Iterator[Task]) -> Iterator[Sequence[Outcome]]:
        """Returns batches of outcomes, in any order.

        Tasks are pulled as there is room for them, so memory does not grow with their number. Closing the iterator
        cancels what waits.
        """
        ...

    @property
    def workers(self) -> int:
        """Returns how many runs go on at once."""
        ...


def run_task(task: Task) -> Outcome:
    """Runs a task here. Raises nothing but `KeyboardInterrupt`: what goes wrong is in the outcome."""
    try:
        made = scenario_of(task)
        result = _penstock.run(made, [task.seed], 1, **task.tables.recording(made))[0]
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of the extension is no Exception
        return failed(task, error)
    return outcome(task, result)


def outcome(task: Task, result: _penstock.RunResult) -> Outcome:
    """Returns the numbers of a finished run, and its tables."""
    made = scenario_of(task)
    tables: dict[str, pa.Table] = {}
    if task.tables.flows:
        import pyarrow as pa

        tables[FLOWS] = pa.Table.from_pylist([{**flow, "flow": i} for i, flow in enumerate(result.flows)])
    if task.tables.measures:
        from penstock.runs.measures import measured

        tables[MEASURES] = measured(result, made)
    if task.tables.series_s is not None:
        tables |= {name: recorded(result, name) for name in SERIES}
    return Outcome(task.key, numbers(made, result), None, result.events, tables)


def numbers(scenario: _penstock.Scenario, result: _penstock.RunResult) -> dict[str, Any]:
    """Returns the numbers of an outcome."""
    warnings = _penstock.warnings(scenario, [result])
    groups = [{**group, "name": name} for name, group in zip(scenario.group_names(), result.groups, strict=True)]
    return {"metrics": result.metrics, "groups": groups, "links": result.links, "warnings": warnings}


def failed(task: Task, error: BaseException, lines: Sequence[Frame] = ()) -> Outcome:
    """Returns what is reported of a run that raised.

    lines: of the traceback, where a discipline in Python did: its last one says where.
    """
    at = f"{lines[-1][0]}:{lines[-1][1]}: in {lines[-1][2]}: " if lines else ""
    return Outcome(task.key, None, f"{at}{type(error).__name__}: {error}", 0)


def identity(canonical: str, trace_s: float | None = None) -> str:
    """Returns what the runs of a scenario are, but for the seed, from its `canonical_json`; `trace_s`: with series at
    that interval."""
    about = "" if trace_s is None else repr(trace_s)
    return hashlib.sha256("\0".join((simulator(), canonical, about)).encode()).hexdigest()[:32]


def run_key(point: str, seed: int) -> str:
    """Returns the key of the run of that seed; `point` is the scenario's `identity`."""
    return hashlib.sha256(f"{point}/{seed}".encode()).hexdigest()[:32]


#: The Python files that make numbers which are kept; a test compares them with the imports.
MAKERS = ("model/events.py", "runs/measures.py", "runs/recorded.py", "runs/tasks.py")


@cache
def simulator() -> str:
    """Returns Penstock's version and build: between two releases the version alone would pass off old numbers as new
    ones."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in (Path(str(_penstock.__file__)), *(package / name for name in MAKERS)):
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return f"{_penstock.__version__}+{digest.hexdigest()[:16]}"


#: Scenarios that were used last; the seeds of a point come one after the other.
_CORES: dict[str, _penstock.Scenario] = {}
_CORES_KEPT = 1024


def scenario_of(task: Task) -> _penstock.Scenario:
    """Returns the scenario of a task."""
    return task.made or core(task.scenario)


def core(scenario: str) -> _penstock.Scenario:
    """Returns the scenario that a text says."""
    return _CORES.get(scenario) or remember(scenario, _penstock.Scenario.from_json(scenario))


def remember(scenario: str, made: _penstock.Scenario) -> _penstock.Scenario:
    """Spares reading a scenario that is at hand from its text."""
    while len(_CORES) >= _CORES_KEPT:
        _CORES.pop(next(iter(_CORES), ""), None)
    _CORES[scenario] = made
    return made
