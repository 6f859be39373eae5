"""The traffic of a case."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.validate.ns2.translate.arguments import (
    Case,
    NotExpressible,
    Spec,
    integer,
    number,
    pairs,
    same,
    start_of,
    truth,
)
from penstock.validate.ns2.translate.quantities import rate, seconds, size
from penstock.validate.ns2.translate.stock import FIXED_TCP, INERT_TCP, MECN_MODES, MECN_TCP, TCP_TIMES, VARIANTS, Table


def has_tcp(case: Case) -> bool:
    """Returns whether any flow is TCP."""
    return case.p["topo"] == "parkinglot" or any(case.whole(k) > 0 for k in ("n1", "n2", "nrev", "web"))


def tcp_keys(case: Case) -> Table:
    """Returns the keys of every TCP flow."""
    p = case.p
    if p["tcp"] not in VARIANTS:
        raise NotExpressible(f"tcp {p['tcp']}")
    vegas, mecn = p["tcp"] == "Vegas", p["tcp"] == "MecnReno"
    v = {"packetSize_": p["pkt"], "window_": p["window"], "ecn_": p["ecn"]}
    levels = dict(MECN_TCP)
    table: Table = {"tcp": VARIANTS[p["tcp"]]}
    for variable, value in pairs(p["tcpset"], "tcpset"):
        if variable in v:
            v[variable] = value
        elif variable in TCP_TIMES:
            key, stock = TCP_TIMES[variable]
            if not same(value, stock):
                table[key] = seconds(number(value, variable))
        elif variable == "windowInit_":
            table["initial_window"] = integer(value, variable)
        elif variable == "singledup_":
            table["limited_transmit"] = truth(value, variable)
        elif variable == "useHeaders_":
            # Vegas adds none as it is.
            if not truth(value, variable) and not vegas:
                table["header"] = "0 B"
        elif variable in levels:
            levels[variable] = value  # read by no other class
        elif variable in FIXED_TCP:
            if not same(value, FIXED_TCP[variable]):
                raise NotExpressible(f"tcpset {variable}={value}")
        elif variable not in INERT_TCP:
            raise NotExpressible(f"tcpset {variable}")
    # ns-2's Vegas sends no capable packet, whatever ecn_ says.
    if truth(v["ecn_"], "ecn_") and mecn:
        table.update(_levels(case, levels))
    elif truth(v["ecn_"], "ecn_") and not vegas:
        table["ecn"] = "classic"
    if p["tcp"] == "Westwood":  # the script gives it the sink that sends SACK
        table["recovery"] = "sack"
    table["segment"] = size(integer(v["packetSize_"], "packetSize_"))
    table["window"] = integer(v["window_"], "window_")
    if case.on("delack"):
        table["delayed_ack"] = True
    return table


def _levels(case: Case, v: Mapping[str, str]) -> Table:
    """Returns the keys of a sender and a receiver of multi-level ECN, from the class variables of the one."""
    mode = integer(v["mecnMode_"], "mecnMode_")
    if mode not in range(len(MECN_MODES)):
        raise NotExpressible(f"tcpset mecnMode_={mode}")
    table: Table = {
        "ecn": "mecn",
        "incipient": MECN_MODES[mode],
        "beta1": number(v["mecnB1_"], "mecnB1_"),
        "beta2": number(v["mecnB2_"], "mecnB2_"),
        "escalate": truth(v["mecnEscalate_"], "mecnEscalate_"),
        "latch": case.on("latch"),
    }
    if truth(v["mecnFloor_"], "mecnFloor_"):
        table["cwnd_floor"] = 1
    return table


def ftp(
    case: Case, key: str, n: int, start: str, *, gap: float = 0.0, stop: float = -1.0, window: int = 0
) -> list[Table]:
    """Returns the entries of `n` long-lived flows: one, or one a flow where a single entry cannot tell their starts."""
    entry: Table = {"kind": "ftp", "name": key, "flows": n}
    if key == "rev":
        entry["direction"] = "reverse"
    entry.update(tcp_keys(case))
    if window > 0:
        entry["window"] = window
    if stop >= 0:
        entry["stop"] = seconds(stop)
    spec = case.spec(start)
    begin = start_of(spec, gap, n)
    if begin is not None:
        return [{**entry, "start": begin}]
    near, far = (case.spec(k).of(n) for k in ("adelay1", "adelay2"))
    if key == "rev" or far.kind == "linear":
        raise NotExpressible(f"{start} = {case.p[start]} together with adelay2 = {case.p['adelay2']}")
    entries = []
    for i in range(n):
        one = start_of(spec.flow(i, n).shifted(i * gap), 0.0, 1)
        alone = {**entry, "name": f"{key}.{i}", "flows": 1, "start": one}
        if near.kind == "linear":
            alone["access_delay"] = near.flow(i, n).delay()
        entries.append(alone)
    return entries


def udp(case: Case) -> list[Table]:
    """Returns constant-rate and Poisson sources."""
    entries: list[Table] = []
    for kind in ("cbr", "poisson"):
        if case.num(kind) <= 0:
            continue
        n = case.whole("cbrn") if kind == "cbr" else 1
        entry: Table = {
            "kind": kind,
            "name": kind,
            "flows": n,
            "rate": rate(case.num(kind) / n),  # of each flow
            "packet": size(case.whole("cbrpkt" if kind == "cbr" else "poispkt")),
        }
        if kind == "cbr" and case.on("cbrrandom"):
            entry["jitter"] = 0.5
        start = start_of(case.spec("cbrstart"), 0.0, n)
        if start is None:
            raise NotExpressible(f"cbrstart = {case.p['cbrstart']} (descending)")
        entries.append({**entry, "start": start})
    return entries


def web(case: Case) -> list[Table]:
    """Returns the entries of web sessions."""
    n = case.whole("web")
    if n <= 0:
        return []
    start = start_of(case.spec("webstart"), 0.0, n)
    if start is None:
        raise NotExpressible(f"webstart = {case.p['webstart']} (descending)")
    tcp, pairs = tcp_keys(case), case.whole("webpairs")
    extra: Table = {}
    if pairs > n:  # those beyond the sessions stay idle, but linear delays count them
        near, far = case.spec("adelay1").of(pairs), case.spec("adelay2").of(pairs)
        if far.kind == "linear":
            raise NotExpressible(f"webpairs = {pairs} for {n} sessions with adelay2 = {case.p['adelay2']}")
        if near.kind == "linear":
            last = near.flow(n - 1, pairs).high
            extra["access_delay"] = Spec("linear", near.low, last).of(n).delay() if n > 1 else seconds(near.low)
        pairs = n
    packet = int(str(tcp["segment"]).split()[0])
    pareto = {
        "shape": case.num("webshape"),
        "mean": size(case.num("webmean") * packet),
        "max": size(case.whole("webmax") * packet),
    }
    return [
        {
            "kind": "web",
            "name": "web",
            "sessions": n,
            "pairs": pairs,
            **extra,
            **tcp,
            "start": start,
            "object": {"pareto": pareto},
            "objects_per_page": 1,
            "think": {"exponential": seconds(case.num("webthink"))},
        }
    ]


def full_packet(case: Case) -> int:
    """Returns bytes on the wire of the largest kind of packet that most of the traffic is made of."""
    if has_tcp(case):
        tcp = tcp_keys(case)
        bare = tcp["tcp"] == "vegas" or tcp.get("header") == "0 B"
        return int(str(tcp["segment"]).split()[0]) + (0 if bare else 40)
    udp = (("cbrpkt", "cbr"), ("poispkt", "poisson"))
    return max((case.whole(k) for k, on in udp if case.num(on) > 0), default=0)
