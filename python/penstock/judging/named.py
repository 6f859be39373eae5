"""Finds metrics by their names: a run's, such as `delay_p99_s`, or one of a link's or a traffic group's.

Those are `links.LINK.METRIC`, as in `links.bottleneck.reverse.delay_p99_s`, and `groups.GROUP.METRIC`, as in
`groups.calls.delay_p99_s`. A group goes by its name; where several have the same one, by its number in the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, TypeVar

from penstock import _penstock
from penstock._names import known, listing
from penstock.errors import Error

T = TypeVar("T")

Values: TypeAlias = Mapping[str, float | None]

#: Where a run's results have the metrics of its parts, and what the parts are called.
LEVELS = {"links": "link", "groups": "group"}


@dataclass(frozen=True, slots=True)
class Named:
    """A metric, and whose it is.

    level: `"run"`, or a key of `LEVELS`. of: the link or the group; empty for a run's. metric: its own name.
    """

    level: str
    of: str
    metric: str

    @classmethod
    def parse(cls, text: str) -> Named:
        """Returns the metric of that name. Raises `Error` with the nearest name where there is none.

        >>> Named.parse("links.bottleneck.reverse.delay_p99_s")
        Named(level='links', of='bottleneck.reverse', metric='delay_p99_s')
        """
        level, dot, rest = text.strip().partition(".")
        of, inner, metric = rest.rpartition(".")
        if not dot:
            return cls("run", "", known(level, [*metrics("run")], "metric"))
        if level not in LEVELS or not inner:
            forms = " or ".join(f"{level}.NAME.METRIC" for level in LEVELS)
            raise Error(f"no metric is called {text!r}: one of a part of a run is {forms}")
        return cls(level, of, known(metric, metrics(LEVELS[level]), f"metric of a {LEVELS[level]}"))

    @property
    def needs_record(self) -> bool:
        """Returns whether results have it only with `record = { groups = true }`."""
        return self.level == "groups" and "record" in metrics("group")[self.metric]

    def check(self, scenario: _penstock.Scenario) -> None:
        """Raises `Error` with the nearest name where the scenario has no such link or group."""
        if self.level != "run":
            names = scenario.link_names() if self.level == "links" else group_keys(scenario.group_names())
            if self.level == "groups" and self.of.isdecimal() and int(self.of) < len(names):
                return
            known(self.of, names, LEVELS[self.level])

    def value(self, numbers: Mapping[str, Any]) -> float | None:
        """Returns its value in a run; `None` where it does not apply.

        numbers: the run's `metrics`, `links` and `groups`, as `penstock.runs.tasks.numbers` gives them.
        """
        if self.level == "run":
            found: float | None = numbers["metrics"].get(self.metric)
            return found
        return self.of_part(parts(numbers[self.level]))

    def of_part(self, found: Mapping[str, Values]) -> float | None:
        """Returns its value in the parts of a run, by their names."""
        return found.get(self.of, {}).get(self.metric)

    def __str__(self) -> str:
        return self.metric if self.level == "run" else f"{self.level}.{self.of}.{self.metric}"


def parts(listed: Mapping[str, Values] | Sequence[Mapping[str, Any]]) -> dict[str, Values]:
    """Returns the parts of a run by what `Named.of` calls them: a mapping already, or rows that have a `name`."""
    if isinstance(listed, Mapping):
        return dict(listed)
    keys = group_keys([str(row["name"]) for row in listed])
    return {str(i): row for i, row in enumerate(listed)} | dict(zip(keys, listed, strict=True))


def group_keys(names: Sequence[str]) -> list[str]:
    """Returns what groups go by: their names, or the numbers of those that share one.

    >>> group_keys(["ftp", "call", "ftp"])
    ['0', 'call', '2']
    """
    count = Counter(names)
    return [name if count[name] == 1 else str(i) for i, name in enumerate(names)]


@cache
def metrics(per: str) -> Mapping[str, Mapping[str, Any]]:
    """Returns what is declared of the metrics of a run, a group, a flow or a link: name → row of `penstock list`."""
    rows = listing("metrics")
    return {row["name"]: row for row in rows if (row["links"] if per == "link" else row["per"] == per)}


def own(metric: str) -> str:
    """Returns a metric's own name, without what it is of.

    >>> own("links.bottleneck.reverse.delay_p99_s"), own("jain")
    ('delay_p99_s', 'jain')
    """
    return metric.rpartition(".")[2]


def recorded(
    scenario: _penstock.Scenario, wanted: Iterable[str], *, links: bool = False, groups: bool = False
) -> _penstock.Scenario:
    """Returns the scenario whose results have these metrics: with what `[record]` has to say for them.

    links, groups: whether every metric of links, and of groups' packets, is wanted.

    Raises `Error` for a metric, a link or a group that does not exist.
    """
    for each in map(Named.parse, wanted):
        each.check(scenario)
        links |= each.level == "links"
        groups |= each.needs_record
    changes = []
    if links and not scenario.measures_links:
        changes.append(("record.links", "true"))
    if groups and not scenario.records_groups:
        changes.append(("record.groups", "true"))
    return scenario.set_all(changes) if changes else scenario
