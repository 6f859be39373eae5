"""Puts hosts of today into a scenario, in the place of those that it was written with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from penstock._names import known, listing

#: An entry of a scenario's traffic, every key with its value in force.
Entry: TypeAlias = Mapping[str, Any]

#: The profiles that are hosts of today.
HOSTS = ("linux", "quic")

#: Reno under its repairs of losses: the control of hosts that nothing else is said of.
RENO = ("tahoe", "reno", "newreno", "sack")


def with_hosts(
    resolved: Mapping[str, Any], hosts: str, traffic: Callable[[Mapping[str, object]], Sequence[Entry]]
) -> Mapping[str, object]:
    """Returns the changes that put such hosts into a scenario; see `Scenario.with_hosts`.

    resolved: the scenario. traffic: returns its traffic under some changes.
    """
    known(hosts, HOSTS, "profile of hosts")
    tcp = {i: each for i, each in enumerate(resolved["traffic"]) if "tcp" in each}
    without = {i: _without_hosts(each, resolved["overhead"]) for i, each in tcp.items()}
    if resolved["profile"] == hosts:  # what is left out is theirs
        return _replaced(without)
    theirs = traffic({"profile": hosts, **_replaced(without)})
    # Under the scenario's own profile again, of which router and links have their defaults. What stands there for a
    # key that is not named of theirs would be that profile's; theirs is the general default.
    usual = traffic(_replaced({i: {**each, "tcp": theirs[i]["tcp"]} for i, each in without.items()}))
    changes = _replaced({i: _written(theirs[i]) for i in tcp})
    for i in tcp:
        unnamed = {key: _of_hosts().get(key) for key in usual[i] if key not in theirs[i]}
        changes |= {f"traffic.{i}.{key}": default for key, default in unnamed.items() if default is not None}
    return changes


def _replaced(entries: Mapping[int, Entry]) -> dict[str, object]:
    return {f"traffic.{i}": each for i, each in entries.items()}


def _without_hosts(entry: Entry, overhead: str) -> Entry:
    """Returns an entry of the traffic without what its hosts decide."""
    own = {key: value for key, value in _written(entry).items() if key not in _of_hosts()}
    kept = {"segment": entry["segment"], "header": entry["header"] or overhead}
    return own | kept | ({} if entry["tcp"] in RENO else {"tcp": entry["tcp"]})


def _written(entry: Entry) -> Entry:
    return {key: value for key, value in entry.items() if value is not None}


@cache
def _of_hosts() -> Mapping[str, str | None]:
    """Returns the keys of a connection for which some profile has a value of its own, with their general defaults;
    `None` where another key says it."""
    columns = [each["column"] for each in listing("profiles") if each["column"]]
    declared = [key for each in listing("tcp") for key in each["params"]]
    return {key["name"]: key["default"] for key in declared if any(key[column] is not None for column in columns)}
