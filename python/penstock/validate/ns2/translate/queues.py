"""The queues of a case."""

from __future__ import annotations

from penstock.validate.ns2.translate.arguments import Case, NotExpressible, integer, number, pairs, same, truth
from penstock.validate.ns2.translate.flows import full_packet, has_tcp, tcp_keys
from penstock.validate.ns2.translate.quantities import seconds, size
from penstock.validate.ns2.translate.red import RED_FAMILY, mecn_for_classic
from penstock.validate.ns2.translate.stock import FIXED_QUEUE, INERT_QUEUE, RED_CHILDREN, STOCK_QUEUE, Table


def _variables(case: Case, name: str) -> dict[str, str]:
    """Returns the class variables of queue class `name` once the script has set its own."""
    family = "RED" if name in RED_CHILDREN else name
    if family not in STOCK_QUEUE:
        raise NotExpressible(f"queue class {name}")
    v = {**STOCK_QUEUE[family], **RED_CHILDREN.get(name, {})}
    if name != case.p["q"]:  # the script's settings go to the forward queue's class only
        return v
    p = case.p
    if family == "RED":
        named = {
            "thresh": "thresh_",
            "maxthresh": "maxthresh_",
            "linterm": "linterm_",
            "qw": "q_weight_",
            "gentle": "gentle_",
            "adaptive": "adaptive_",
            "targetdelay": "targetdelay_",
        }
        v.update({variable: p[key] for key, variable in named.items() if p[key] != ""})
    if family in {"RED", "PI"}:
        v.update(bytes_=p["bytes"], queue_in_bytes_=p["qib"])
        if case.on("ecn"):
            v["setbit_"] = "true"
    elif name == "REM":
        v["qib_"] = p["qib"]
        if case.on("ecn"):
            v["markpkts_"] = "true"
    elif case.on("qib"):
        v["queue_in_bytes_"] = "true"
    if p["meanpkt"] != "":
        v["mean_pktsize_"] = p["meanpkt"]
    for variable, value in pairs(p["qset"], "qset"):
        if variable in v:
            v[variable] = value
        elif variable in FIXED_QUEUE[family]:
            if not same(value, FIXED_QUEUE[family][variable]):
                raise NotExpressible(f"qset {variable}={value}")
        elif variable not in INERT_QUEUE[family]:
            raise NotExpressible(f"qset {variable} of queue class {name}")
    return v


def discipline(case: Case, name: str, limit: int) -> tuple[Table, object]:
    """Returns `[aqm]` and the buffer for queue class `name` with `limit` packets."""
    v = _variables(case, name)
    mean = integer(v["mean_pktsize_"], "mean_pktsize_")
    if mean < 1:
        raise NotExpressible(f"mean_pktsize_ = {mean}")
    if name == "DropTail":
        if not truth(v["queue_in_bytes_"], "queue_in_bytes_"):
            return {"kind": "droptail"}, limit
        # Dropped where the waiting bytes with the arriving packet's reach limit * mean, the one being sent apart.
        return {"kind": "droptail", "count_in_service": False}, size(limit * mean - 1)
    if name == "REM":
        in_bytes = truth(v["qib_"], "qib_")
        table: Table = {
            "kind": "rem",
            "ecn": truth(v["markpkts_"], "markpkts_"),
            "phi": number(v["phi_"], "phi_"),
            "gamma": number(v["gamma_"], "gamma_"),
            "b_star": number(v["pbo_"], "pbo_"),
            "period": seconds(number(v["pupdtime_"], "pupdtime_")),
        }
        if not same(v["inw_"], "1"):
            raise NotExpressible(f"qset inw_={v['inw_']} (REM's smoothing of the arrival rate)")
        if in_bytes:
            table.update(byte_mode=True, count_in_service=False)
    elif name == "PI":
        in_bytes = truth(v["queue_in_bytes_"], "queue_in_bytes_")
        table = {
            "kind": "pi",
            "ecn": truth(v["setbit_"], "setbit_"),
            "a": number(v["a_"], "a_"),
            "b": number(v["b_"], "b_"),
            "w": number(v["w_"], "w_"),
            "q_ref": number(v["qref_"], "qref_"),
        }
        if truth(v["bytes_"], "bytes_"):
            table["byte_mode"] = True
    else:
        in_bytes = truth(v["queue_in_bytes_"], "queue_in_bytes_")
        table = RED_FAMILY[name](v, case.num("bw") / (8.0 * mean))
        if table["kind"] == "mecn" and _classic_senders(case):
            table = mecn_for_classic(table)
    table["mean_packet"] = size(mean)
    if not in_bytes:
        return table, limit
    table["unit"] = "bytes"
    # REM counts the arriving packet, as DropTail does. RED and PI look at what waits alone: there is room for a
    # packet of any size until that reaches the limit. (Ours always counts it; so this is exact for full packets.)
    return table, size(limit * mean - 1 + (0 if name == "REM" else full_packet(case)))


def _classic_senders(case: Case) -> bool:
    """Returns whether what is ECN-capable is so in the classic way."""
    return has_tcp(case) and tcp_keys(case).get("ecn") == "classic"
