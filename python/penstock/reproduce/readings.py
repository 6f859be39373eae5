"""The readings of a paper: one table that says what each of them takes where the paper is silent.

A paper declares what it leaves open as a dataclass, `Open`, whose defaults are what the
specification settles on. A reading is another value of that dataclass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from penstock.reproduce.model import DEFAULT, Reading

#: The dataclass in which a paper's module declares what the paper leaves open.
Open = TypeVar("Open")


@dataclass(frozen=True, slots=True)
class Alternative(Generic[Open]):
    """A reading, and what it takes.

    key, text: those of the reading.
    queues: the disciplines whose runs it changes; empty: all.
    where: the experiments whose runs it changes, by names that the paper's module gives them;
        empty: all.
    """

    key: str
    text: str
    taken: Open
    queues: Sequence[str] = field(default=(), kw_only=True)
    where: Sequence[str] = field(default=(), kw_only=True)


def changing_only(queues: Sequence[str], *others: Alternative[Open]) -> list[Alternative[Open]]:
    """These alternatives, which change the runs of these disciplines alone."""
    return [replace(other, queues=queues) for other in others]


def as_the_rfcs(taken: Open) -> Alternative[Open]:
    """The reading that takes the profile `rfc`, which several papers have."""
    text = "TCP and queues as the RFCs and the papers have them (profile rfc) instead of as ns-2 has them."
    return Alternative("rfc", text, taken)


def marking_up_to_0_1(taken: Open) -> Alternative[Open]:
    """The reading after `ecn` that limits marks as ns-2 does, which several papers have."""
    text = "Likewise, but dropping above a probability of 0.1, as ns-2 since 2002."
    return Alternative("ecn,mark_p=0.1", text, taken)


class Readings(Mapping[Reading, Open]):
    """Reading → what it takes: the default reading first, then the alternatives in their order."""

    def __init__(self, default: Open, *others: Alternative[Open]) -> None:
        self._others = {Reading(other.key, other.text): other for other in others}
        self._taken = {DEFAULT: default, **{reading: other.taken for reading, other in self._others.items()}}

    def __getitem__(self, reading: Reading) -> Open:
        return self._taken[reading]

    def __iter__(self) -> Iterator[Reading]:
        return iter(self._taken)

    def __len__(self) -> int:
        return len(self._taken)

    def keyed(self, *keys: str) -> tuple[Reading, ...]:
        """The readings with these keys, in the order given. Raises `KeyError` for an unknown key."""
        by_key = {reading.key: reading for reading in self}
        return tuple(by_key[key] for key in keys)

    def without(self, *keys: str) -> tuple[Reading, ...]:
        """All readings except the default one and these. Raises `KeyError` for an unknown key."""
        left_out = self.keyed(*keys)
        return tuple(reading for reading in self._others if reading not in left_out)

    def touching(self, *queues: str, where: str | None = None) -> tuple[Reading, ...]:
        """The readings that change the runs of one of these disciplines in that experiment."""
        return tuple(
            reading
            for reading, other in self._others.items()
            if (not other.queues or set(other.queues) & set(queues)) and (not other.where or where in other.where)
        )
