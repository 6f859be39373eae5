"""A scenario: what is simulated."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock import _penstock
from penstock.errors import ScenarioError
from penstock.model.table import Table, plain

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.model.aqm import Aqm
    from penstock.model.discipline import Discipline, Named


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
    aqm: the discipline at the bottleneck, forward; default `DropTail()`. Or one of your own, a class or an instance,
        see `Aqm`.
    reverse_aqm: the one in the other direction; default `DropTail()`.
    duration: simulated time.
    measure: the measured window, `{"from": "50 s", "to": "100 s"}`; default: all.
    record: what results have besides the metrics, `{"links": True, "groups": True}`; see `penstock list scenario`.
    seed: the first seed.
    profile: whose defaults hold: `"rfc"` (default), `"ns-2"`, `"linux"` or `"quic"` for those of such hosts.
    overhead: header bytes that the wire counts on a segment.

    Raises `ScenarioError`, which says where and what.
    """

    def __init__(
        self,
        *,
        topology: Table,
        traffic: Sequence[Table] | Table,
        aqm: Table | Aqm | type[Aqm] | None = None,
        reverse_aqm: Table | Aqm | type[Aqm] | None = None,
        name: str | None = None,
        duration: str = "100 s",
        measure: Mapping[str, str] | None = None,
        record: Mapping[str, bool] | None = None,
        seed: int | None = None,
        profile: str | None = None,
        overhead: str | None = None,
    ) -> None:
        for name_of, given in (("aqm", aqm), ("reverse_aqm", reverse_aqm)):
            if isinstance(given, str) or (isinstance(given, Table) and not given.kind):
                raise TypeError(
                    f"{name_of}: ps.Red(min_th=5), or a subclass of ps.Aqm or an instance of one, not {given!r}"
                )
        discipline: dict[str, Any] | None = aqm.to_dict() if isinstance(aqm, Table) else None
        if isinstance(reverse_aqm, Table):
            discipline = {**(discipline or {"kind": "droptail"}), "reverse": reverse_aqm.to_dict()}
        document = {
            "name": name,
            "duration": duration,
            "measure": measure,
            "record": record,
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
            if own is not None and not isinstance(own, Table):
                from penstock.model.discipline import discipline as found

                self._core = _under(self._core, found(own, "reverse_aqm" if reverse else "aqm"), reverse)

    @classmethod
    def load(
        cls, path: str | Path, changes: Mapping[str, object] | None = None, own: Iterable[Discipline] = ()
    ) -> Scenario:
        """Reads a scenario file (TOML). Raises `ScenarioError` with file and line.

        changes: key path → value, as for `set_all`. They are made before the file is checked, so that what they
            replace need not be right.
        own: disciplines under which it will stand: the arguments of a class are keys of the file's `[aqm]`, too.
        """
        made = _penstock.Scenario.from_toml(read_text(path), str(path), _pairs(changes or {}), _declared(own))
        return cls._of(made)

    @classmethod
    def load_link(
        cls, path: str | Path, changes: Mapping[str, object] | None = None, own: Iterable[Discipline] = ()
    ) -> tuple[Scenario, bool]:
        """Reads a file that may be a link alone, for `emulate` with own programs: where it has no `[[traffic]]`, one
        FTP flow stands there, and without a `duration` an hour. Whether it has traffic of its own comes second.

        changes, own: as for `load`.
        """
        core, has_traffic = _penstock.Scenario.link_from_toml(
            read_text(path), str(path), _pairs(changes or {}), _declared(own)
        )
        return cls._of(core), has_traffic

    @classmethod
    def from_toml(cls, text: str, own: Iterable[Discipline] = ()) -> Scenario:
        """Reads a scenario from the text of a scenario file; `own` is as for `load`."""
        return cls._of(_penstock.Scenario.from_toml(text, "<text>", [], _declared(own)))

    def __deepcopy__(self, memo: object) -> Scenario:
        return self  # nothing in it changes

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

    def with_aqm(self, aqm: Named) -> Scenario:
        """Returns the same scenario under another discipline at the bottleneck.

        aqm: a kind, which takes its own keys of `[aqm]`; with some of them changed (`ps.Red(min_th=5)`, or
            `"red:min_th=5"`); one of your own, a class or an instance, which takes the keys of every kind (`ecn`,
            `mean_packet` …) and, as its annotated arguments, keys of their names; or the file of one,
            `"my_aqm.py:Mine(limit=5)"`.
        """
        from penstock.model.discipline import discipline

        return self._of(_under(self._core, discipline(aqm, "with_aqm"), reverse=False))

    def with_reverse_aqm(self, aqm: Named) -> Scenario:
        """Returns the same scenario under another discipline in the other direction; `aqm` is as for `with_aqm`."""
        from penstock.model.discipline import discipline

        return self._of(_under(self._core, discipline(aqm, "with_reverse_aqm"), reverse=True))

    def with_hosts(self, hosts: str) -> Scenario:
        """Returns the same scenario with the TCP of other hosts: Linux's, or QUIC in its place.

        A key of a connection for which some profile has a value of its own is the hosts', and takes theirs: control,
        recovery, timers, windows, delayed ACKs, pacing. What no profile speaks of stays: what is sent, when and where
        to, ECN and the answers to marks. So do `segment` and `header`, since thresholds and buffers count packets of
        that size; and a control other than Reno's, which is there for what it is.

        hosts: `"linux"` or `"quic"`. Raises `Error` for others.
        """
        from penstock.model.hosts import with_hosts

        return self.set_all(with_hosts(self.resolved, hosts, lambda changes: self.set_all(changes).resolved["traffic"]))

    def recording(self, metrics: Sequence[str] = (), *, links: bool = False, groups: bool = False) -> Scenario:
        """Returns the same scenario, whose results have these metrics, of links and groups too:
        `"links.bottleneck.reverse.delay_p99_s"`. Raises `Error` with the nearest name where there is none.

        links, groups: whether they have every metric of links, and of groups' packets.
        """
        from penstock.judging.named import recorded

        return self._of(recorded(self._core, metrics, links=links, groups=groups))

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


def _declared(own: Iterable[Discipline]) -> list[_penstock.UserAqm]:
    return [core for each in own for core in each.declared]


def _under(core: _penstock.Scenario, aqm: Discipline, reverse: bool) -> _penstock.Scenario:
    if aqm.own is not None:
        return core.with_user_aqm(aqm.own.core, [(key, literal(value)) for key, value in aqm.keys.items()], reverse)
    keys = _pairs(aqm.keys)
    if reverse:
        return core.set_all([("aqm.reverse.kind", aqm.kind), *((f"aqm.reverse.{key}", value) for key, value in keys)])
    return core.with_aqm(aqm.kind, keys)


def scenario_under(
    scenario: Scenario | str | Path, aqm: Named | None = None, changes: Mapping[str, object] | None = None
) -> Scenario:
    """Returns a scenario, or that of a file, under a discipline (default: its own) and with changes, among which may be
    the discipline's own keys."""
    from penstock.model.discipline import discipline

    found = None if aqm is None else discipline(aqm, "aqm")
    if not isinstance(scenario, Scenario):
        made = Scenario.load(scenario, changes, () if found is None else (found,))
        return made if found is None else made.with_aqm(found)
    made = scenario if found is None else scenario.with_aqm(found)
    return made.set_all(changes) if changes else made


def read_text(path: str | Path) -> str:
    """Returns the text of a file that somebody named. Raises `ScenarioError`, which says what is wrong with it."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 — a run does without pathlib
            return not_empty(file.read(), path)
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: not UTF-8 text (byte {error.start})") from None


def not_empty(text: str, name: str | Path) -> str:
    """Returns a text that was read. Raises `ScenarioError` where there is none: a shell makes the file of `penstock
    config … > link.toml` before the command, which then fails."""
    if not text.strip():
        raise ScenarioError(f"{name}: is empty; did the command that wrote it fail?")
    return text


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
    return [(path, as_toml(value)) for path, value in changes.items()]


def as_toml(value: object) -> str:
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
