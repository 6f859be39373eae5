"""A case's arguments, read as Tcl and the script read them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.validate.ns2.translate.quantities import seconds
from penstock.validate.ns2.translate.stock import DEFAULTS, IGNORED


class NotExpressible(Exception):  # noqa: N818 - a verdict on the case, not an error
    """The case uses something that Penstock has no counterpart for; the message names it."""


def text(value: object) -> str:
    """Returns the argument as the script saw it."""
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value).strip()


def number(text: str, what: str) -> float:
    """Returns an argument as a number."""
    try:
        value = float(text)
    except ValueError:
        raise NotExpressible(f"{what} = {text!r} is not a number") from None
    if not math.isfinite(value):
        raise NotExpressible(f"{what} = {text!r} is not finite")
    return value


def integer(text: str, what: str) -> int:
    """Returns an argument as a whole number."""
    value = number(text, what)
    if value != int(value):
        raise NotExpressible(f"{what} = {text} is not a whole number")
    return int(value)


def truth(text: str, what: str) -> bool:
    """Returns an argument as a truth value."""
    word = text.lower()
    if word in {"true", "yes", "on", "t", "y"}:
        return True
    if word in {"false", "no", "off", "f", "n", ""}:
        return False
    return number(text, what) != 0


def pairs(text: str, what: str) -> Iterator[tuple[str, str]]:
    """Yields `a_=1,b_=2` as the script splits it."""
    for part in text.split(","):
        if not part:
            continue
        name, equals, value = part.partition("=")
        if not equals:
            raise NotExpressible(f"{what}: {part!r} is not name=value")
        yield name.strip(), value.strip()


def same(a: str, b: str) -> bool:
    """Returns whether two settings of one variable mean the same to ns-2."""
    words = {"true": "1", "false": "0"}
    a, b = words.get(a.lower(), a), words.get(b.lower(), b)
    try:
        return float(a) == float(b)
    except ValueError:
        return a == b


@dataclass(frozen=True)
class Spec:
    """A value for each of n flows: fixed, in even steps from `low` to `high`, or drawn between them."""

    kind: str
    low: float
    high: float

    @classmethod
    def parse(cls, text: str, what: str) -> Spec:
        """Reads a value from `fixed:x`, `linear:a:b`, `uniform:a:b`; anything else is taken by the script as the value
        itself."""
        kind, *numbers = text.split(":")
        if kind not in {"fixed", "linear", "uniform"}:
            kind, numbers = "fixed", [text]
        if len(numbers) != (1 if kind == "fixed" else 2):
            raise NotExpressible(f"{what} = {text!r}: wrong number of values")
        values = [number(n, what) for n in numbers]
        return cls(kind, values[0], values[-1])

    @property
    def random(self) -> bool:
        """Returns whether the values differ from seed to seed."""
        return self.kind == "uniform" and self.low != self.high

    def of(self, n: int) -> Spec:
        """Returns the values for `n` flows: even steps over fewer than two are their middle."""
        if self.low == self.high or (self.kind == "linear" and n < 2):
            middle = 0.5 * (self.low + self.high)
            return Spec("fixed", middle, middle)
        return self

    def flow(self, i: int, n: int) -> Spec:
        """Returns the value for flow `i` of `n` alone."""
        spec = self.of(n)
        if spec.kind != "linear":
            return spec
        value = spec.low + (spec.high - spec.low) * i / (n - 1)
        return Spec("fixed", value, value)

    def shifted(self, by: float) -> Spec:
        """Returns every value later by `by`."""
        return Spec(self.kind, self.low + by, self.high + by)

    def delay(self) -> object:
        """Returns the values as a delay of a scenario."""
        if self.kind == "fixed" or self.low == self.high:
            return seconds(0.5 * (self.low + self.high))
        return {"uniform" if self.kind == "uniform" else "spread": [seconds(self.low), seconds(self.high)]}


def start_of(spec: Spec, gap: float, n: int) -> object | None:
    """Starts of `n` flows, flow i later by `i * gap`, as one entry's `start`; None if they take an entry each."""
    spec = spec.of(n)
    if spec.kind == "uniform":
        return {"uniform": [seconds(spec.low), seconds(spec.high)]} if gap == 0 or n < 2 else None
    every = gap + ((spec.high - spec.low) / (n - 1) if spec.kind == "linear" else 0.0)
    if every == 0 or n < 2:
        return seconds(spec.low)
    return {"every": seconds(every), "from": seconds(spec.low)} if every > 0 else None


class Case:
    """The arguments of one case, complete and as text."""

    def __init__(self, args: Mapping[str, object]) -> None:
        unknown = sorted(k for k in args if k not in DEFAULTS and k not in IGNORED)
        if unknown:
            raise NotExpressible(f"unknown key {', '.join(unknown)}")
        self.p = {**DEFAULTS, **{k: text(v) for k, v in args.items()}}

    def num(self, key: str) -> float:
        """Returns an argument as a number."""
        return number(self.p[key], key)

    def whole(self, key: str) -> int:
        """Returns an argument as a whole number."""
        return integer(self.p[key], key)

    def on(self, key: str) -> bool:
        """Returns an argument as a truth value."""
        return truth(self.p[key], key)

    def spec(self, key: str) -> Spec:
        """Returns an argument as a value for each flow."""
        return Spec.parse(self.p[key], key)
