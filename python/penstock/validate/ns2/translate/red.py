"""Queue classes of RED's family."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from penstock.validate.ns2.translate.arguments import NotExpressible, integer, number, same, truth
from penstock.validate.ns2.translate.quantities import seconds
from penstock.validate.ns2.translate.stock import Table


def _red(v: Mapping[str, str], pkts_per_s: float) -> Table:
    """Returns `[aqm]` of RED's class variables, but for the unit and the mean packet. The link sends `pkts_per_s` of
    those."""
    linterm = number(v["linterm_"], "linterm_")
    if linterm <= 0:
        raise NotExpressible(f"linterm = {v['linterm_']}")
    weight = number(v["q_weight_"], "q_weight_")
    adaptive = same(v["adaptive_"], "1")
    feng = adaptive and same(v["feng_adaptive_"], "1")
    table: Table = {
        "kind": "feng-ared" if feng else "ared" if adaptive else "red",
        "ecn": truth(v["setbit_"], "setbit_"),
        "max_p": 1.0 / linterm,
        "gentle": truth(v["gentle_"], "gentle_"),
        "gate": "wait" if truth(v["wait_"], "wait_") else "uniform",
        # Off: a capable packet is marked at any probability below one.
        "mark_p": number(v["mark_p_"], "mark_p_") if truth(v["use_mark_p_"], "use_mark_p_") else 1.0,
    }
    # Zero asks ns-2 for its automatic value; ours is the same formula.
    for variable, key in (("thresh_", "min_th"), ("maxthresh_", "max_th")):
        if (value := number(v[variable], variable)) != 0:
            table[key] = value
    if weight in (0.0, -1.0):
        table["w_q"] = "auto" if weight == 0 else "rtt"
    elif weight == -2:
        table["w_q"] = 1.0 - math.exp(-10.0 / pkts_per_s)
    else:
        table["w_q"] = weight
    table["target_delay"] = seconds(number(v["targetdelay_"], "targetdelay_"))
    if truth(v["bytes_"], "bytes_"):
        table["byte_mode"] = True
    if feng:
        table.update(decrease=number(v["alpha_"], "alpha_"), increase=number(v["beta_"], "beta_"))
    elif adaptive:
        table.update(
            alpha=number(v["alpha_"], "alpha_"),
            beta=number(v["beta_"], "beta_"),
            interval=seconds(number(v["interval_"], "interval_")),
            max_p_high=number(v["top_"], "top_"),
        )
        if (bottom := number(v["bottom_"], "bottom_")) != 0:
            table["max_p_low"] = bottom
    return table


def _thresholds(v: Mapping[str, str], pkts_per_s: float) -> tuple[float, float]:
    """Returns min_th and max_th in packets, ns-2's automatic values where they are left out."""
    low, high = (number(v[variable], variable) for variable in ("thresh_", "maxthresh_"))
    low = low or max(5.0, number(v["targetdelay_"], "targetdelay_") * pkts_per_s / 2.0)
    return low, high or 3.0 * low


def _child(v: Mapping[str, str], pkts_per_s: float, kind: str) -> Table:
    """Returns `[aqm]` of what a child of RED shares with it: all but the ramp's ceiling and its adapter."""
    table = _red({**v, "adaptive_": "0"}, pkts_per_s)
    low, high = _thresholds(v, pkts_per_s)
    table.update(kind=kind, min_th=low, max_th=high)
    del table["target_delay"]
    return table


def _no_adapter(v: Mapping[str, str], queue: str) -> None:
    if not same(v["adaptive_"], "0"):
        raise NotExpressible(f"adaptive of queue class {queue}")


def _mecn(v: Mapping[str, str], pkts_per_s: float) -> Table:
    """Returns RED/MECN's keys: its marks know no mark_p, and its gentle ramp starts at the P_max in force."""
    _no_adapter(v, "RED/MECN")
    adaptive = truth(v["m_adapt_"], "m_adapt_")
    table = _child(v, pkts_per_s, "amecn" if adaptive else "mecn")
    p1, fixed = table.pop("max_p"), number(v["p2fix_"], "p2fix_")
    gentle, drops = table.pop("gentle"), truth(v["m_gdrop_"], "m_gdrop_")
    table["mark_p"] = 1.0
    ratio = number(v["p2ratio_"], "p2ratio_")
    table.update(
        mid_th=number(v["mid_"], "mid_") or 2.25 * table["min_th"],
        p1_max=p1,
        above_max="drop" if not gentle else "gentle-drop" if drops else "gentle-mark",
    )
    if fixed > 0 or not adaptive:
        table["p2_max"] = fixed if fixed > 0 else min(p1 * ratio, 1.0)
    if adaptive:
        table.update(
            interval=seconds(number(v["interval_"], "interval_")),
            alpha_scale=number(v["m_ascale_"], "m_ascale_"),
            deadband=not truth(v["m_inside_"], "m_inside_"),
            adapt="p1" if fixed > 0 else "both",
        )
        if fixed <= 0:
            table["p2_over_p1"] = ratio
    return table


def mecn_for_classic(mecn: Table) -> Table:
    """Returns the keys for classic senders: to their packets, which it can tell from a MECN one, that queue is RED with
    the incipient ramp."""
    table = {k: x for k, x in mecn.items() if k not in {"mid_th", "p1_max", "p2_max", "above_max"}}
    p1, above = mecn["p1_max"], mecn["above_max"]
    gentle = above != "drop"
    # The gentle ramp, which begins above p1_max, drops or marks.
    table.update(kind="red", max_p=p1, gentle=gentle, mark_p=p1 if above == "gentle-drop" else 1.0)
    return table


def _rared(v: Mapping[str, str], pkts_per_s: float) -> Table:
    """Returns the keys of RED/RARED, on RED or on ARED."""
    if same(v["adaptive_"], "1") and not same(v["feng_adaptive_"], "1"):
        table = _red(v, pkts_per_s)  # with the adapter's keys
        table["base"] = "ared"
        table["min_th"], table["max_th"] = _thresholds(v, pkts_per_s)
        del table["target_delay"]
    else:
        _no_adapter(v, "RED/RARED")
        table = _child(v, pkts_per_s, "rared")
    table.update(
        kind="rared",
        slope_th=number(v["slope_th_"], "slope_th_"),
        max_p_climb=number(v["maxp2_"], "maxp2_"),
        climb="ramp" if truth(v["rmode_"], "rmode_") else "bernoulli",
        slope_of="instantaneous" if truth(v["rsrc_"], "rsrc_") else "average",
    )
    return table


def _nred(v: Mapping[str, str], pkts_per_s: float) -> Table:
    """Returns RED/NRED's keys: a curve up to the limit instead of the ramp."""
    _no_adapter(v, "RED/NRED")
    table = _child(v, pkts_per_s, "nred")
    del table["max_p"], table["gentle"]
    if not truth(v["n_gate_"], "n_gate_"):
        table["gate"] = "geometric"
    start, low, high = (number(v[variable], variable) for variable in ("n_0_", "n_min_", "n_max_"))
    # A start outside the bounds lasts until the first arrival, which finds the average below min_th.
    table.update(n_0=min(max(start, low), high), n_min=low, n_max=high)
    return table


def _red_at(v: Mapping[str, str], pkts_per_s: float) -> Table:
    """Returns the keys of RED/REDAT."""
    _no_adapter(v, "RED/REDAT")
    table = _child(v, pkts_per_s, "red-at")
    for th, variable in (("min", "at_dmin_"), ("max", "at_dmax_")):
        nominal, width = table[f"{th}_th"], number(v[variable], variable)
        table.update({f"{th}_lo": nominal * (1.0 - width), f"{th}_hi": nominal * (1.0 + width)})
    table.update(
        alpha=number(v["at_alpha_"], "at_alpha_"),
        beta=number(v["at_beta_"], "at_beta_"),
        hold=integer(v["at_hold_"], "at_hold_"),
        region_a="min_minus" if truth(v["at_region_"], "at_region_") else "min_plus",
        reset=truth(v["at_reset_"], "at_reset_"),
    )
    return table


def _blue(v: Mapping[str, str], _pkts_per_s: float) -> Table:
    """Returns RED/BLUE's keys: nothing of RED but the place in the tree of classes."""
    table: Table = {
        "kind": "blue",
        "ecn": truth(v["setbit_"], "setbit_"),
        "d1": number(v["b_d1_"], "b_d1_"),
        "d2": number(v["b_d2_"], "b_d2_"),
        "freeze_time": seconds(number(v["b_freeze_"], "b_freeze_")),
    }
    if (limit := number(v["b_limit_"], "b_limit_")) > 0:
        table["limit"] = limit
    return table


RED_FAMILY: Mapping[str, Callable[[Mapping[str, str], float], Table]] = {
    "RED": _red,
    "RED/MECN": _mecn,
    "RED/RARED": _rared,
    "RED/NRED": _nred,
    "RED/REDAT": _red_at,
    "RED/BLUE": _blue,
}
