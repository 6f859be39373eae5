"""How long a round trip over empty queues takes in a resolved scenario, transmissions left out."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any

from penstock._penstock import parse_duration

Table = Mapping[str, Any]


def least_s(resolved: Table) -> float:
    """Returns the shortest round trip over the whole of a dumbbell or parking lot, or on the routes
    of a graph's traffic, seconds.
    """
    return span_s(resolved)[0]


def span_s(resolved: Table) -> tuple[float, float]:
    """Returns the shortest and the longest round trip of all groups, seconds."""
    spans = [of_group_s(resolved, group) for group in resolved["traffic"]]
    return min(each[0] for each in spans), max(each[1] for each in spans)


def of_group_s(resolved: Table, group: Table) -> tuple[float, float]:
    """Returns the shortest and the longest round trip of a group's flows, seconds.

    It leads over the whole of a dumbbell or parking lot, or on the group's routes in a graph.
    """
    topology = resolved["topology"]
    access = topology.get("access")
    egress = topology.get("egress") or access
    own = group.get("access_delay")
    near = _ends_s(access["delay"] if own is None and access else own)
    far = _ends_s(egress["delay"] if egress else None)
    between = _between_s(topology, group)
    return 2 * (near[0] + far[0]) + between, 2 * (near[1] + far[1]) + between


def _between_s(topology: Table, group: Table) -> float:
    """Returns the propagation delay between the outer routers, there and back."""
    if topology["kind"] == "graph":
        a, b = group["from"], group["to"]
        return _route_s(topology["link"], a, b) + _route_s(topology["link"], b, a)
    link, hops = (topology["link"], topology["hops"]) if "hops" in topology else (topology["bottleneck"], 1)
    return float(hops * sum(_there_and_back_s(link)))


def _there_and_back_s(link: Table) -> tuple[float, float]:
    ahead = parse_duration(link["delay"])
    back = link.get("reverse_delay")
    return ahead, ahead if back is None else parse_duration(back)


def _route_s(links: Sequence[Table], start: str, end: str) -> float:
    """Returns the propagation delay of a graph's cheapest route, one way."""
    edges: dict[str, list[tuple[int, float, str]]] = {}
    for link in links:
        ahead, back = _there_and_back_s(link)
        edges.setdefault(link["from"], []).append((link["cost"], ahead, link["to"]))
        if not link["one_way"]:
            edges.setdefault(link["to"], []).append((link["cost"], back, link["from"]))
    waiting, seen = [(0, 0.0, start)], set()
    while waiting:
        cost, delay, router = heapq.heappop(waiting)
        if router == end:
            return delay
        if router not in seen:
            seen.add(router)
            for more, further, to in edges.get(router, ()):
                heapq.heappush(waiting, (cost + more, delay + further, to))
    raise ValueError(f"no route from {start} to {end}")


def _ends_s(delay: Any) -> tuple[float, float]:
    """Returns the least and the greatest of a delay, of which flows may have different ones; zero
    where there is none.
    """
    if delay is None:
        return 0.0, 0.0
    ends = [parse_duration(each) for each in (next(iter(delay.values())) if isinstance(delay, dict) else [delay])]
    return min(ends), max(ends)
