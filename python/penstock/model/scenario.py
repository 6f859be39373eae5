"""A scenario: what is simulated."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _penstock
from penstock.errors import ScenarioError
from penstock.model.table import Table, plain

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.model.aqm import Aqm


class Scenario:
    """A checked scenario: topology, discipline, traffic and time. Nothing in it changes.

    Read one with `Scenario.load`, or build it from the classes that mirror the file's tables:

    >>> import penstock as ps
    >>> s = ps.Scenario(
    ...     topology=ps.Dumbbell(bottleneck=ps.Link(rate="1.5 Mbit/s", delay="40 ms", buffer=40)),
    ...     aqm=ps.Red(min_th=5, max_th=15),
    ...     traffic=[ps.Ftp(flows=2, tcp="reno")],
    ...     duration="20 s",
    ... )
    >>> s.duration_s
    20.0

    topology: `Dumbbell`, `ParkingLot`, or `Graph` with its `GraphLink`s.
    traffic: one entry a group of flows: `Ftp`, `Web`, `Video`, `Cbr`, `Poisson`,
        `OnOff`, `Voip`, `Replay`.
    aqm: the discipline at the bottleneck, forward; default `DropTail()`. Or one of your own, see `Aqm`.
    reverse_aqm: the one in the other direction; default `DropTail()`.
    duration: simulated time.
    measure: the measured window, `{"from": "50 s", "to": "100 s"}`; default: all.
    seed: the first seed.
    profile: `"rfc"` (default), or `"ns-2"` for the defaults that ns-2 has.
    overhead: header bytes that the wire counts on a segment.

    Raises `ScenarioError`, which says where and what.
    """

    def __init__(
        self,
        *,
        topology: Table,
        traffic: Sequence[Table] | Table,
        aqm: Table | Aqm | None = None,
        reverse_aqm: Table | Aqm | None = None,
        name: str | None = None,
        duration: str = "100 s",
        measure: Mapping[str, str] | None = None,
        seed: int | None = None,
        profile: str | None = None,
        overhead: str | None = None,
    ) -> None:
        from penstock.model.aqm import Aqm

        for name_of, given in (("aqm", aqm), ("reverse_aqm", reverse_aqm)):
            if given is not None and not isinstance(given, (Table, Aqm)):
                raise TypeError(
                    f"{name_of}: an instance such as ps.Red(min_th=5), or one of a subclass of ps.Aqm, not {given!r}"
                )
        discipline: dict[str, Any] | None = aqm.to_dict() if isinstance(aqm, Table) else None
        if isinstance(reverse_aqm, Table):
            discipline = {**(discipline or {"kind": "droptail"}), "reverse": reverse_aqm.to_dict()}
        document = {
            "name": name,
            "duration": duration,
            "measure": measure,
            "seed": seed,
            "profile": profile,
            "overhead": overhead,
            "topology": topology,
            "aqm": discipline,
            "traffic": [traffic] if isinstance(traffic, Table) else list(traffic),
        }
        text = json.dumps(plain({key: value for key, value in document.items() if value is not None}))
        self._core = _penstock.Scenario.from_json(text)
        for own, reverse in ((aqm, False), (reverse_aqm, True)):
            if isinstance(own, Aqm):
                self._core = _with_user_aqm(self._core, own, reverse)

    @classmethod
    def load(cls, path: str | Path, changes: Mapping[str, object] | None = None) -> Scenario:
        """Reads a scenario file (TOML). Raises `ScenarioError` with file and line.

        changes: key path → value, as for `set_all`. They are made before the file is checked, so that what they
            replace need not be right.
        """
        return cls._of(_penstock.Scenario.from_toml(read_text(path), str(path), _pairs(changes or {})))

    @classmethod
    def load_link(cls, path: str | Path, changes: Mapping[str, object] | None = None) -> tuple[Scenario, bool]:
        """Reads a file that may be a link alone, for `emulate` with own programs: where it has no `[[traffic]]`, one
        FTP flow stands there, and without a `duration` an hour. Whether it has traffic of its own comes second.

        changes: as for `load`.
        """
        core, has_traffic = _penstock.Scenario.link_from_toml(read_text(path), str(path), _pairs(changes or {}))
        return cls._of(core), has_traffic

    @classmethod
    def from_toml(cls, text: str) -> Scenario:
        """Reads a scenario from the text of a scenario file."""
        return cls._of(_penstock.Scenario.from_toml(text, "<text>"))

    @classmethod
    def _of(cls, core: _penstock.Scenario) -> Scenario:
        made = cls.__new__(cls)
        made._core = core
        return made

    def set(self, path: str, value: object) -> Scenario:
        """Returns another scenario that differs in one key.

        path: `"aqm.min_th"`, `"traffic.0.flows"`.
        value: as in the file: a number, a string with its unit, a dict, a list. A string may also be TOML.
        """
        return self.set_all({path: value})

    def set_all(self, changes: Mapping[str, object]) -> Scenario:
        """Returns another scenario that differs in several keys, which only have to hold together: a shorter `duration`
        and an earlier `measure.from`, in whichever order.

        changes: key path → value, as for `set`.
        """
        return self._of(self._core.set_all(_pairs(changes)))

    def with_aqm(self, aqm: str | Aqm) -> Scenario:
        """Returns the same scenario under another discipline at the bottleneck: a kind, which takes its own keys of
        `[aqm]`, or one of your own, which takes the keys of every kind (`ecn`, `mean_packet` …).
        """
        from penstock.model.aqm import Aqm, check_named

        check_named(aqm, "with_aqm")
        return self._of(
            _with_user_aqm(self._core, aqm, reverse=False) if isinstance(aqm, Aqm) else self._core.with_aqm(aqm)
        )

    def with_reverse_aqm(self, aqm: Aqm) -> Scenario:
        """Returns the same scenario under a discipline of your own in the other direction."""
        from penstock.model.aqm import check_own

        check_own(aqm, "with_reverse_aqm")
        return self._of(_with_user_aqm(self._core, aqm, reverse=True))

    @property
    def core(self) -> _penstock.Scenario:
        """The extension's object."""
        return self._core

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self._core.name

    @property
    def seed(self) -> int:
        """The first seed."""
        return self._core.seed

    @property
    def duration_s(self) -> float:
        """Simulated time."""
        return self._core.duration_s

    @property
    def resolved(self) -> dict[str, Any]:
        """Returns every key with its value in force, defaults included. A discipline of your own stands there as
        `"python:"` and its name, which no file can say.
        """
        resolved: dict[str, Any] = json.loads(self._core.resolved_json())
        return resolved

    def to_toml(self) -> str:
        """Returns the text of a file that says the same: what was written, and what was set since. Comments are
        lost."""
        return self._core.to_toml()

    @property
    def label(self) -> str:
        """The kind of the discipline at the bottleneck, or the name of your own, as figures name it."""
        return self._core.aqm.removeprefix("python:")

    def __repr__(self) -> str:
        return f"<penstock.Scenario {self.name!r}, {self.label}, {self.duration_s:g} s>"


def _with_user_aqm(core: _penstock.Scenario, aqm: Aqm, reverse: bool) -> _penstock.Scenario:
    import copy

    from penstock.model.aqm import label

    # A copy: what becomes of the user's object afterwards changes no scenario.
    return core.with_user_aqm(copy.deepcopy(aqm), label(aqm), reverse)


def read_text(path: str | Path) -> str:
    """Returns the text of a file that somebody named. Raises `ScenarioError`, which says what is wrong with it."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 — a run does without pathlib
            return file.read()
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: not UTF-8 text (byte {error.start})") from None


def seconds(span: str | float) -> float:
    """Returns a span of time in seconds: a number, or text with its unit. Raises `ScenarioError`.

    >>> seconds("10 ms")
    0.01
    """
    return _penstock.parse_duration(span) if isinstance(span, str) else float(span)


def value_at(scenario: Any, path: str) -> Any:
    """Returns the value of a key path in a resolved scenario, or `None` if there is no such key."""
    for name in path.split("."):
        if isinstance(scenario, list):
            scenario = scenario[int(name)] if name.isdigit() and int(name) < len(scenario) else None
        else:
            scenario = scenario.get(name) if isinstance(scenario, dict) else None
    return scenario


def _pairs(changes: Mapping[str, object]) -> list[tuple[str, str]]:
    return [(path, _toml(value)) for path, value in changes.items()]


def _toml(value: object) -> str:
    """Returns a value as TOML; a string as it is, since the core reads bare words and TOML alike."""
    if isinstance(value, str):
        return value
    return literal(plain(value))


def literal(value: object) -> str:
    """Returns a plain value as a TOML literal."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {literal(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(literal(each) for each in value) + "]"
    if isinstance(value, (bool, int, float, str)):
        return json.dumps(value)
    raise TypeError(f"a scenario holds no {type(value).__name__}: {value!r}")
