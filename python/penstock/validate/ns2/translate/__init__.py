"""Translates a case of the ns-2 reference (arguments of a Tcl script) into a scenario of ours.

A case is a table of keys, each a command-line argument of the parametric experiment that produced the reference. All
keys have a meaning here, or the case is refused by name: nothing is skipped in silence. What ns-2 sets without being
asked comes with `profile = "ns-2"`; this module spells out only what a case says, and the stock settings of ns-2's
queue classes, since the script overrides some of them.

Quantities are in ns-2's units: seconds, bit/s, packets, bytes.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.validate.ns2.translate.arguments import Case, NotExpressible, integer, pairs, same
from penstock.validate.ns2.translate.flows import ftp, tcp_keys, udp, web
from penstock.validate.ns2.translate.quantities import rate, seconds
from penstock.validate.ns2.translate.queues import discipline
from penstock.validate.ns2.translate.stock import Table

__all__ = ["NotExpressible", "deterministic", "forward_flows", "scenario"]


def scenario(name: str, args: Mapping[str, object]) -> Table:
    """Returns the case as a scenario document, ready for JSON.

    name: of the scenario. args: the case's arguments, strings or numbers.
    Raises NotExpressible, with the reason, for what has no counterpart.

    >>> scenario("one", {"bw": 1e6, "q": "RED", "thresh": 5, "maxthresh": 15})["aqm"]["max_th"]
    15.0
    """
    return _document(Case(args), name)


def forward_flows(args: Mapping[str, object]) -> int:
    """Returns how many long-lived forward flows the case has: those of goodput and fairness."""
    case = Case(args)
    if case.p["topo"] == "parkinglot":
        return _chain_flows(case)
    return max(case.whole("n1"), 0) + max(case.whole("n2"), 0)


def _chain_flows(case: Case) -> int:
    hops = case.whole("hops")
    through = sum(max(integer(c, "plin"), 0) for c in case.p["plin"].split()[:hops])
    return through + hops * max(case.whole("plcross"), 0)


def deterministic(args: Mapping[str, object], seeds: int) -> bool:
    """Returns whether the case is one flow without any random element (except the phase of TCP's clock)."""
    case = Case(args)
    if case.p["topo"] == "parkinglot":
        long_lived = _chain_flows(case)
    else:
        long_lived = sum(max(case.whole(k), 0) for k in ("n1", "n2", "nrev"))
    udp = case.whole("cbrn") if case.num("cbr") > 0 else 0
    specs = ("adelay1", "adelay2", "start1", "start2", "startrev", "cbrstart")
    chance = any(case.spec(k).random for k in specs) or (udp > 0 and case.on("cbrrandom"))
    chance = chance or case.num("poisson") > 0 or case.whole("web") > 0
    chance = chance or case.p["q"] != "DropTail" or case.p["rq"] not in {"DropTail", "same"}
    chance = chance or any(k == "overhead_" and not same(v, "0") for k, v in pairs(case.p["tcpset"], "tcpset"))
    return seeds == 1 and not chance and long_lived + udp == 1


def _dumbbell(case: Case) -> tuple[Table, list[Table]]:
    """Returns the topology and long-lived flows of a dumbbell."""
    traffic: list[Table] = []
    if (n := case.whole("n1")) > 0:
        traffic += ftp(case, "f1", n, "start1", stop=case.num("stop1"))
    if (n := case.whole("n2")) > 0:
        more = {"gap": case.num("gap2"), "stop": case.num("stop2")}
        traffic += ftp(case, "f2", n, "start2", **more, window=case.whole("window2"))
    if (n := case.whole("nrev")) > 0:
        traffic += ftp(case, "rev", n, "startrev")
    return {"kind": "dumbbell", "bottleneck": {}}, traffic


def _parking_lot(case: Case) -> tuple[Table, list[Table]]:
    """Returns the topology and long-lived flows of a chain of equal links."""
    hops = case.whole("hops")
    traffic: list[Table] = []
    counts = [integer(c, "plin") for c in case.p["plin"].split()]
    for k, n in enumerate(counts[:hops]):
        if n > 0:
            entries = ftp(case, f"long{k}", n, "start1")
            traffic += [{**e, "from": f"R{k}"} for e in entries]
    cross = case.whole("plcross")
    return {"kind": "parking-lot", "hops": hops, "cross_flows": max(cross, 0), "link": {}}, traffic


def _access_can_fill(case: Case) -> bool:
    """Returns whether any access link could ever hold as many packets as it may; if not, its limit says nothing."""
    window = max(integer(str(tcp_keys(case)["window"]), "window"), case.whole("window2"))
    shared = -(-case.whole("web") // max(case.whole("webpairs"), 1))
    udp = max(case.num("cbr") / max(case.whole("cbrn"), 1), case.num("poisson"))
    return max(window, shared * window) >= case.whole("abuf") - 1 or udp >= case.num("abw")


def _document(case: Case, name: str) -> Table:
    """Returns the whole case."""
    if case.p["topo"] not in {"dumbbell", "parkinglot"}:
        # The script builds a parking lot for whatever is no dumbbell, but with a single hop.
        raise NotExpressible(f"topo {case.p['topo']}")
    chain = case.p["topo"] == "parkinglot"
    topology, traffic = _parking_lot(case) if chain else _dumbbell(case)
    aqm, buffer = discipline(case, case.p["q"], case.whole("buf"))
    if case.p["rq"] == "same":
        reverse, reverse_buffer = discipline(case, case.p["q"], case.whole("buf"))
    else:
        reverse, reverse_buffer = discipline(case, case.p["rq"], case.whole("rbuf"))
    topology["link" if chain else "bottleneck"] = {
        "rate": rate(case.num("bw")),
        "delay": seconds(case.num("delay")),
        "buffer": buffer,
        "reverse_buffer": reverse_buffer,
    }
    for side, key in (("access", "adelay1"), ("egress", "adelay2")):
        topology[side] = {"rate": rate(case.num("abw")), "delay": case.spec(key).delay()}
        if _access_can_fill(case):
            topology[side]["buffer"] = max(case.whole("abuf") - 1, 0)  # DropTail's limit - 1
    start, end = case.num("t0"), case.num("t1")
    if reverse != {"kind": "droptail"}:
        aqm = {**aqm, "reverse": reverse}
    return {
        "name": name,
        "profile": "ns-2",
        "duration": seconds(max(case.num("dur"), end)),
        "measure": {"from": seconds(start), "to": seconds(end)},
        "seed": 1,
        "topology": topology,
        "aqm": aqm,
        "traffic": traffic + udp(case) + web(case),
    }
