"""The readings of a paper: one table that says what each of them takes where the paper is silent.

A paper declares what it leaves open as a dataclass, `Open`, whose defaults are what the
specification settles on. A reading is another value of that dataclass.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, TypeVar

#: The dataclass in which a paper's module declares what the paper leaves open.
Open = TypeVar("Open")


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read what a paper leaves open.

    key: short and stable, for `claims.csv` and file names: `"mark_p=0.1"`.
    text: what it takes instead of the default, in a sentence.
    parts: of a joint reading the keys of those that it takes at once; else empty.
    """

    key: str
    text: str
    parts: tuple[str, ...] = ()


#: The readings that the specification settles on.
DEFAULT = Reading("default", "As the specification settles what the paper leaves open.")


@dataclass(frozen=True, slots=True)
class Alternative(Generic[Open]):
    """A reading, and what it takes.

    key, text: those of the reading.
    queues: the disciplines whose runs it changes; empty: all.
    where: the experiments whose runs it changes, by names that the paper's module gives them;
        empty: all.
    documented: the paper prints the value, or what it builds on documents it. Another value is
        ours, or contradicts what the paper prints: it shows how much depends on the gap, and no
        joint reading is searched with it.
    """

    key: str
    text: str
    taken: Open
    queues: Sequence[str] = field(default=(), kw_only=True)
    where: Sequence[str] = field(default=(), kw_only=True)
    documented: bool = field(default=True, kw_only=True)


def changing_only(queues: Sequence[str], *others: Alternative[Open]) -> list[Alternative[Open]]:
    """Returns these alternatives, which change the runs of these disciplines alone."""
    return [replace(other, queues=queues) for other in others]


def of_our_own(*others: Alternative[Open]) -> list[Alternative[Open]]:
    """Returns these alternatives, whose values no document has."""
    return [replace(other, documented=False) for other in others]


def as_the_rfcs(taken: Open) -> Alternative[Open]:
    """Returns the reading that takes the profile `rfc`, which several papers have."""
    text = "TCP and queues as the RFCs and the papers have them (profile rfc) instead of as ns-2 has them."
    return Alternative("rfc", text, taken)


def marking_up_to_0_1(taken: Open) -> Alternative[Open]:
    """Returns the reading after `ecn` that limits marks as ns-2 does, which several papers have."""
    text = "Likewise, but dropping above a probability of 0.1, as ns-2 since 2002."
    return Alternative("ecn,mark_p=0.1", text, taken)


class Readings(Mapping[Reading, Open]):
    """Reading → what it takes: the default reading first, then the alternatives in their order.

    A joint reading takes several alternatives at once. It is made by `joint`, and is looked up like
    the others, though it is not listed.
    """

    def __init__(self, default: Open, *others: Alternative[Open]) -> None:
        self._others = {Reading(other.key, other.text): other for other in others}
        self._by_key = {other.key: other for other in others}
        self._default = default
        self._taken = {DEFAULT: default, **{reading: other.taken for reading, other in self._others.items()}}

    def __getitem__(self, reading: Reading) -> Open:
        if reading.parts and reading not in self._taken:
            self._taken[reading] = self._merged(reading.parts)
        return self._taken[reading]

    def __iter__(self) -> Iterator[Reading]:
        return iter((DEFAULT, *self._others))

    def __len__(self) -> int:
        return 1 + len(self._others)

    def keyed(self, *keys: str) -> tuple[Reading, ...]:
        """Returns the readings with these keys, in the order given. Raises `KeyError` for an unknown key."""
        by_key = {reading.key: reading for reading in self}
        return tuple(by_key[key] for key in keys)

    def without(self, *keys: str) -> tuple[Reading, ...]:
        """Returns all readings except the default one and these. Raises `KeyError` for an unknown key."""
        left_out = self.keyed(*keys)
        return tuple(reading for reading in self._others if reading not in left_out)

    def touching(self, *queues: str, where: str | None = None) -> tuple[Reading, ...]:
        """Returns the readings that change the runs of one of these disciplines in that experiment."""
        return tuple(
            reading
            for reading, other in self._others.items()
            if (not other.queues or set(other.queues) & set(queues)) and (not other.where or where in other.where)
        )

    def joint(self, *keys: str) -> Reading:
        """Returns the reading that takes these alternatives at once; the default one for no key.

        Raises `KeyError` for an unknown key, and `ValueError` where two contradict each other.
        """
        if not keys:
            return DEFAULT
        ordered = tuple(key for key in self._by_key if key in self._known(keys))
        if not self.compatible(ordered):
            raise ValueError(f"readings that contradict each other: {', '.join(keys)}")
        if len(ordered) == 1:
            return self.keyed(*ordered)[0]
        return Reading(" + ".join(ordered), " ".join(self._by_key[key].text for key in ordered), ordered)

    def compatible(self, keys: Sequence[str]) -> bool:
        """Returns whether no two of these set the same to different values."""
        changes = [self._changes(key) for key in self._known(keys)]
        pairs = itertools.combinations(changes, 2)
        return not any(one[place] != other[place] for one, other in pairs for place in one.keys() & other.keys())

    def keys_in_order(self) -> tuple[str, ...]:
        """Returns the keys of the alternatives that joint readings take, in their order."""
        return tuple(key for key, other in self._by_key.items() if other.documented)

    def possible(self) -> Iterator[tuple[str, ...]]:
        """Returns all sets of documented alternatives without a contradiction, small ones first.

        The first is empty. An alternative that adds nothing to the others of a set is not taken up.
        """
        return self._sets(self.keys_in_order())

    def _sets(self, order: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Yields the sets of these alternatives."""
        level: list[tuple[str, ...]] = [()]
        while level:
            yield from level
            level = [
                (*taken, key)
                for taken in level
                for key in order[order.index(taken[-1]) + 1 if taken else 0 :]
                if self.compatible((*taken, key)) and self._adds(key, taken)
            ]

    def permitted(self, keys: Sequence[str]) -> bool:
        """Returns whether `possible` has this set. keys: in the order of the alternatives."""
        known = set(keys) <= set(self.keys_in_order())
        return known and self.compatible(keys) and all(self._adds(key, keys[:i]) for i, key in enumerate(keys))

    def count(self) -> int:
        """Returns how many sets `possible` gives, without listing them.

        Alternatives that set nothing in common do not restrict each other, so that groups of those
        that do are counted one by one.
        """
        groups: list[tuple[set[tuple[str, ...]], list[str]]] = []
        for key in self.keys_in_order():
            places, keys = set(self._changes(key)), [key]
            for group in [group for group in groups if group[0] & places]:
                groups.remove(group)
                places, keys = places | group[0], [*group[1], *keys]
            groups.append((places, keys))
        ordered = ([key for key in self.keys_in_order() if key in keys] for _, keys in groups)
        return math.prod(sum(1 for _ in self._sets(keys)) for keys in ordered)

    def _known(self, keys: Sequence[str]) -> Sequence[str]:
        for key in keys:
            self._by_key[key]
        return keys

    def _adds(self, key: str, taken: Sequence[str]) -> bool:
        had = {place: value for other in taken for place, value in self._changes(other).items()}
        more = self._changes(key)
        # A reading such as "window=64,30s" is the two of its parts.
        covered = any(self._changes(other).items() <= more.items() for other in taken)
        return not more.items() <= had.items() and not covered

    def _changes(self, key: str) -> dict[tuple[str, ...], Any]:
        """Returns what an alternative takes otherwise than the default: (field,) or (field, key) → value."""
        changed: dict[tuple[str, ...], Any] = {}
        taken = self._by_key[key].taken
        for each in fields(taken):  # type: ignore[arg-type]
            value, usual = getattr(taken, each.name), getattr(self._default, each.name)
            if isinstance(value, Mapping) and isinstance(usual, Mapping):
                changed |= {(each.name, name): of for name, of in value.items() if usual.get(name) != of}
            elif value != usual:
                changed[each.name,] = value
        return changed

    def _merged(self, keys: Sequence[str]) -> Open:
        values: dict[str, Any] = {}
        for key in keys:
            for place, value in self._changes(key).items():
                if len(place) == 1:
                    values[place[0]] = value
                else:
                    usual = getattr(self._default, place[0])
                    values[place[0]] = {**usual, **values.get(place[0], {}), place[1]: value}
        return replace(self._default, **values)  # type: ignore[type-var]
