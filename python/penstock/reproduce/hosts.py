"""A paper's claims under the TCP of today's hosts: a reading of its own beside those of the paper's gaps.

It does not say how to read the paper. It says which conclusions are the router's, because they hold whosever the hosts
are, and which were those of the hosts that the paper had.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from penstock.model.hosts import HOSTS
from penstock.reproduce.model import Case, Cases, Finding, Settings
from penstock.reproduce.readings import DEFAULT, Reading
from penstock.reproduce.verdict import FAILS, HOLDS

#: What a caller calls a claim.
C = TypeVar("C")

#: Hosts → what a reader calls them.
NAMES: Mapping[str, str] = {"linux": "Linux", "quic": "QUIC"}

#: Hosts → the reading.
READINGS: Mapping[str, Reading] = {
    hosts: Reading(f"hosts={hosts}", f"TCP of today's hosts, {NAMES[hosts]}'s, in the place of the paper's.")
    for hosts in HOSTS
}


def cases_under(cases: Cases, settings: Settings, reading: Reading) -> Iterable[Case]:
    """Returns the cases under a reading, which may be one of hosts."""
    hosts = next((each for each, of in READINGS.items() if of == reading), None)
    if hosts is None:
        return cases(settings, reading)
    return _with_hosts(cases(settings, DEFAULT), hosts)


def _with_hosts(cases: Iterable[Case], hosts: str) -> Iterator[Case]:
    for case in cases:
        yield replace(case, scenario=case.scenario.with_hosts(hosts))


@dataclass(frozen=True, slots=True)
class Compared(Generic[C]):
    """What became of claims with other hosts than the paper's.

    both: hold with either: they are the router's. lost: hold with the paper's, and do not with the others: they were
    the hosts'. now: hold with the others, and do not with the paper's. open: decided with the paper's alone, or with
    the others alone.
    """

    both: Sequence[C]
    lost: Sequence[C]
    now: Sequence[C]
    open: Sequence[C]

    @staticmethod
    def of(found: Iterable[tuple[C, Finding, Finding]]) -> Compared[C]:
        """Sorts claims by what was found with the paper's hosts, and with the others."""
        by_kind: dict[str, list[C]] = {"both": [], "lost": [], "now": [], "open": []}
        for claim, usual, other in found:
            kind = _KINDS.get((usual.verdict, other.verdict))
            if kind is not None:
                by_kind[kind].append(claim)
            elif usual.verdict != other.verdict:
                by_kind["open"].append(claim)
        return Compared(**by_kind)


#: Verdicts with the paper's hosts and with the others → the kind.
_KINDS = {(HOLDS, HOLDS): "both", (HOLDS, FAILS): "lost", (FAILS, HOLDS): "now"}
