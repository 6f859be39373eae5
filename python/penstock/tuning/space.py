"""Says which keys of a discipline are searched, and between which values.

The optimiser sees a unit cube. Here each of its axes becomes a key's value: on a logarithmic scale
where the range spans more than a decade, rounded to three figures (whole packets for thresholds),
and so that what must be in order is
in order: `max_th` is drawn between `min_th` and its own upper end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock._names import known, parameters
from penstock.errors import Error, ScenarioError
from penstock.evaluation.candidates import own_keys
from penstock.model.discipline import Discipline
from penstock.tuning.facts import Facts, amount, quantity

#: Kind → the keys that are searched unless `--vary` names others: those that its paper sets for a
#: link. A key below another in `ORDERS` stands before it.
SEARCHED: Mapping[str, Sequence[str]] = {
    "red": ("min_th", "max_th", "max_p", "w_q"),
    "ared": ("min_th", "max_th", "w_q"),
    "feng-ared": ("min_th", "max_th", "w_q"),
    "blue": ("d2", "d1", "freeze_time"),
    "rem": ("gamma", "alpha", "b_star"),
    "pi": ("a", "b", "q_ref"),
    "avq": ("gamma", "alpha", "virtual_buffer"),
    "mecn": ("min_th", "max_th", "mid_th", "p1_max", "p2_max", "w_q"),
    "amecn": ("min_th", "max_th", "mid_th", "w_q"),
    "rared": ("min_th", "max_th", "max_p", "slope_th", "w_q"),
    "nred": ("min_th", "n_min", "n_max", "w_q"),
    "red-at": ("min_th", "max_th", "max_p", "w_q"),
    "dt-red": ("min_th", "min_th_target", "max_p", "w_q"),
    "pdt-red": ("share_low", "share_high", "max_p", "w_q"),
    "nlred": ("min_th", "max_th", "max_p", "w_q"),
    "wred": ("min_th", "max_th", "max_p", "w_q"),
    "codel": ("target", "interval"),
    "pie": ("qdelay_ref", "alpha", "beta"),
    "fq-pie": ("qdelay_ref", "alpha", "beta"),
    "docsis-pie": ("latency_target", "alpha", "beta"),
    "dualpi2": ("target", "rtt_max", "k"),
    "pi2": ("target", "alpha", "beta"),
    "cobalt": ("target", "interval"),
    "fq-cobalt": ("target", "interval"),
    "cake": ("rtt",),
    "fq-codel": ("target", "interval"),
    "sfb": ("target", "max", "increment"),
    "afd": ("q_target",),
    "sfq": ("depth",),
    "choke": ("min_th", "max_th", "max_p", "w_q"),
    "step": ("threshold",),
    "bernoulli": ("p",),
}
#: Pairs of keys of which the first must be below the second.
ORDERS = (
    *(("min_th", "max_th"), ("min_th", "mid_th"), ("mid_th", "max_th"), ("min_th", "min_th_target")),
    *(("d2", "d1"), ("target", "interval"), ("target", "max"), ("n_min", "n_max"), ("share_low", "share_high")),
    *(("target_low", "target_high"), ("max_p_low", "max_p_high")),
)
#: A key → the key that it lies just below. PI's b is a·(1 − x): only their difference makes the
#: queue settle, so that x is what is searched, between these ends.
NEAR = {"b": "a"}
NEAR_ENDS = (1e-4, 0.5)
#: (Kind, key) → ends that no declaration has. AVQ's γ is the utilisation that it aims at. NRED
#: starts at n_0 = 2, which must lie between n_min and n_max. DualPI2's k is 1.4 to 2.8 for round
#: trips from 100 to 15 ms (RFC 9332, appendix C).
ENDS = {
    ("avq", "gamma"): (0.5, 1.0),
    ("nred", "n_min"): (0.1, 2.0),
    ("nred", "n_max"): (2.0, 20.0),
    ("dualpi2", "k"): (1.0, 4.0),
}
#: A range goes from the usual value over this factor to the usual value times it, within what is
#: declared.
FACTORS = {"number": 100.0, "int": 10.0, "duration": 20.0, "size": 10.0}
#: From this ratio of its ends on, a range is searched on a logarithmic scale.
DECADE = 10.0

_DECLARED = re.compile(r"in ([\[(])([^,]+), ([^\])]+)[\])]")


@dataclass(frozen=True, slots=True)
class Key:
    """A key that is searched.

    kind: its type, as it is declared: number, int, queue (packets), duration (seconds), size
        (bytes).
    default: its usual value; `None` where the declaration has none.
    near: of a key of `NEAR`, the other key; `low` and `high` are then the ends of x.
    hard: whether no value is below `low`, above `high`: a declared end, one packet, the buffer.
    """

    name: str
    kind: str
    low: float
    high: float
    default: float | None
    near: str | None = None
    hard: tuple[bool, bool] = (False, False)

    @property
    def path(self) -> str:
        """Returns the key's path in the scenario."""
        return f"aqm.{self.name}"

    @property
    def log(self) -> bool:
        """Returns whether it is searched on a logarithmic scale."""
        return self.low > 0 and self.high / self.low >= DECADE

    def rounded(self, value: float) -> float:
        """Returns a value as it is written: three figures, or a whole number."""
        if self.kind in ("queue", "int", "size"):
            return float(max(round(value), 1) if self.kind == "queue" else round(value))
        return float(f"{value:.{7 if self.near else 3}g}")

    def written(self, value: float) -> float | int | str:
        """Returns a value as the scenario takes it: `"12.3 ms"` for a time."""
        if self.kind == "duration":
            return f"{float(f'{value * 1e3:.6g}'):g} ms"
        if self.kind == "size":
            return f"{value:.0f} B"
        return int(value) if self.kind in ("queue", "int") else value

    def text(self, value: float | None) -> str:
        """Returns a value as a person reads it."""
        if value is None:
            return "automatic"
        written = self.written(value)
        if isinstance(written, str):
            return written
        figures = f"{written:.7g}" if self.near else f"{written:.4g}"
        if self.kind == "queue":
            return f"{figures} packet" if written == 1 else f"{figures} packets"
        return figures


@dataclass(frozen=True, slots=True)
class Space:
    """The keys that are searched.

    fixed: values of other keys, which bound those in order with them.
    is_own: whether the discipline is the user's own: what its keys mean is not known from their names.
    """

    keys: Sequence[Key]
    fixed: Mapping[str, float] = field(default_factory=dict)
    is_own: bool = False

    @property
    def names(self) -> Sequence[str]:
        """Returns the keys' names."""
        return [key.name for key in self.keys]

    def decode(self, point: Sequence[float]) -> dict[str, float]:
        """Returns the values at a point of the unit cube."""
        values: dict[str, float] = {}
        for key, u in zip(self.keys, point, strict=True):
            low, high = self._ends(key, values)
            log = low > 0 and high / low >= DECADE
            value = math.exp(math.log(low) + u * math.log(high / low)) if log else low + u * (high - low)
            if key.near:
                value = {**self.fixed, **values}[key.near] * (1.0 - value)
            values[key.name] = key.rounded(value)
        return values

    def encode(self, values: Mapping[str, float]) -> list[float]:
        """Returns the point of the unit cube nearest to these values; the middle where a value is
        missing.
        """
        point = []
        for key in self.keys:
            low, high = self._ends(key, values)
            value = values.get(key.name)
            if value is not None and key.near:
                value = 1.0 - value / ({**self.fixed, **values}.get(key.near) or math.inf)
            if value is None or high <= low:
                point.append(0.5)
                continue
            value = min(max(value, low), high)
            log = low > 0 and high / low >= DECADE
            point.append(math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low))
        return point

    def changes(self, values: Mapping[str, float]) -> dict[str, float | int | str]:
        """Returns key path → value as the scenario takes it."""
        keys = {key.name: key for key in self.keys}
        return {keys[name].path: keys[name].written(value) for name, value in values.items() if name in keys}

    def _ends(self, key: Key, decided: Mapping[str, float]) -> tuple[float, float]:
        """Returns the ends of a key's range, given those keys that stand before it."""
        low, high = key.low, key.high
        before = set(self.names[: self.names.index(key.name)])
        values = {**self.fixed, **{name: value for name, value in decided.items() if name in before}}
        for below, above in () if self.is_own else ORDERS:
            if above == key.name and below in values:
                # Two packets leave room for a threshold between the two.
                low = max(low, values[below] + (2 if key.kind == "queue" else 0.05 * values[below]))
            if below == key.name and above in values:
                high = min(high, values[above] - (1 if key.kind == "queue" else 0.05 * values[above]))
        return low, max(low, high)


def space(aqm: Discipline, resolved: Mapping[str, Any], facts: Facts, vary: Sequence[str], fix: Sequence[str]) -> Space:
    """Returns what is searched for a discipline; of one of the user's own, all numbers unless `vary` names some.

    resolved: its `[aqm]` table with every value in force.
    vary: only these keys, each perhaps with ends: `"aqm.max_p=0.01..0.5"`.
    fix: names of keys that stay as they are.

    Raises `Error` for a key that does not exist or is no number, and where nothing is left to
    search.
    """
    kind, declared = aqm.kind, declarations(aqm)
    own = own_keys(kind) if aqm.own is None else list(declared)
    usual = SEARCHED.get(kind, ()) if aqm.own is None else [each.name for each in aqm.own.parameters if each.is_number]
    wanted = varied(vary) or dict.fromkeys(usual)
    wanted = {name: ends for name, ends in wanted.items() if name not in fix}
    for name in wanted:
        known(name, own, f"key of {aqm.label}")
    if not wanted:
        hint = "; name the keys to search: --vary aqm.KEY" if own else ": it has no parameters"
        raise Error(f"nothing to tune in {aqm.label}{hint}")
    ranked = sorted(wanted, key=lambda name: _rank(kind, declared, name))
    keys = [_key(kind, declared[name], wanted[name], facts) for name in ranked]
    others = {name: amount(resolved.get(name), each["type"], facts.mean_packet) for name, each in declared.items()}
    fixed = {name: value for name, value in others.items() if value is not None and name not in wanted}
    for key in keys:
        if key.near and key.near not in {**fixed, **wanted}:
            raise Error(f"--vary aqm.{key.name}: needs aqm.{key.near}, which has no value")
    return Space(keys, fixed, aqm.own is not None)


def key_name(path: str) -> str:
    """Returns the name of a discipline's key from its path.

    >>> key_name("aqm.max_p")
    'max_p'
    """
    return path.strip().removeprefix("aqm.")


def automatic(name: str, facts: Facts) -> float | None:
    """Returns the value that a key has where it is left out: of a threshold and a weight at the least
    rate of the range (Floyd, Gummadi, Shenker 2001, sections 4 and 5), of DualPI2's times that of RFC
    9332, appendix A.1.
    """
    min_th = min(max(5.0, 0.005 * facts.rate_pps[0] / 2), facts.room / 2)
    values = {"w_q": -math.expm1(-1 / facts.rate_pps[0]), "min_th": min_th, "max_th": 3 * min_th}
    values |= {"mid_th": 2.25 * min_th, "min_th_target": facts.room / 4, "virtual_buffer": float(facts.room)}
    values |= {"target": 0.015, "rtt_max": 0.1}
    return values.get(name)


def varied(vary: Sequence[str]) -> dict[str, tuple[str, str] | None]:
    """Returns the names of the keys of `--vary`, with their ends where those are given."""
    return dict(map(_varied, vary))


def declarations(aqm: Discipline) -> Mapping[str, Mapping[str, Any]]:
    """Returns what is declared of a discipline's keys, by name."""
    if aqm.own is None:
        return _declarations(aqm.kind)
    types = {"int": ("int", "a whole number"), "float": ("number", "a number"), "bool": ("bool", "true or false")}
    found = {}
    for each in aqm.own.parameters:
        type_, allowed = types.get(each.type, ("text", f"one of {', '.join(each.words)}" if each.words else "a text"))
        found[each.name] = {"name": each.name, "type": type_, "default": each.default, "range": allowed}
    return found


def _declarations(kind: str) -> Mapping[str, Mapping[str, Any]]:
    return parameters()[known(kind, parameters(), "discipline")]


def _rank(kind: str, declared: Mapping[str, object], name: str) -> tuple[int, int]:
    """Returns a place in the order in which keys are decided: that of `SEARCHED`, then the
    declaration's.
    """
    listed = SEARCHED.get(kind, ())
    first = list(listed).index(name) if name in listed else len(listed)
    return first, list(declared).index(name)


def _varied(text: str) -> tuple[str, tuple[str, str] | None]:
    path, equals, ends = text.partition("=")
    if not equals:
        return key_name(path), None
    low, dots, high = ends.partition("..")
    if not dots:
        raise Error(f"--vary {text}: must be a key, perhaps with its ends, as in aqm.max_p=0.01..0.5")
    return key_name(path), (low.strip(), high.strip())


def _key(kind: str, declared: Mapping[str, Any], given: tuple[str, str] | None, facts: Facts) -> Key:
    name, type_ = declared["name"], declared["type"].removesuffix(" or word")
    if type_ not in ("number", "int", "queue", "duration", "size"):
        raise Error(f"--vary aqm.{name}: is no number, it is {declared['range']}")
    default = amount(_plain(declared["default"]), type_, facts.mean_packet)
    usual = default or (automatic(name, facts) if kind else None)
    near, hard = (NEAR.get(name) if kind == "pi" else None), (False, False)
    if given is not None:
        low, high = _given(name, type_, given, facts)
        near = None
    elif near is not None:
        low, high = NEAR_ENDS
    elif (kind, name) in ENDS:
        (low, high), hard = ENDS[kind, name], (True, True)
    else:
        low, high, hard = _ends(type_, declared["range"], usual, facts)
    if not low < high:
        raise Error(f"--vary aqm.{name}: needs its ends, as in aqm.{name}=1..10; its usual value gives none")
    return Key(name, type_, low, high, usual, near, hard)


def _ends(type_: str, declared: str, usual: float | None, facts: Facts) -> tuple[float, float, tuple[bool, bool]]:
    """Returns the ends that follow from the declaration and the usual value, and whether they are
    hard.

    Those of a threshold are one packet and the buffer.
    """
    if type_ == "queue":
        return 1.0, float(max(2, facts.room)), (True, True)
    if not usual:
        return 0.0, 0.0, (False, False)
    low, high = usual / FACTORS[type_], usual * FACTORS[type_]
    found = _DECLARED.search(declared)
    if found is None:
        return low, high, (False, False)
    least, greatest = float(found[2]), float(found[3])
    return max(low, least), min(high, greatest), (low <= least, high >= greatest)


def _given(name: str, type_: str, ends: tuple[str, str], facts: Facts) -> tuple[float, float]:
    try:
        values = map(_plain, ends)
        low, high = (quantity(v, type_, facts.mean_packet) if isinstance(v, str) else v for v in values)
    except ScenarioError as error:
        raise Error(f"--vary aqm.{name}: {error}") from None
    except ValueError:  # a word
        low = high = math.nan
    if not low < high:
        raise Error(f"--vary aqm.{name}={ends[0]}..{ends[1]}: must be two values, the lower one first")
    return low, high


def _plain(text: Any) -> Any:
    """Returns a declared or given value as a number where it is one, else as its text."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return text
