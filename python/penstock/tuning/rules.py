"""Published rules for setting a discipline's parameters: the first candidates of a search.

Each takes what the range says about the link (`Facts`) and the delay that is aimed at. C is the
bottleneck's rate in mean packets a second, the least of the range; N the least number of long
transfers; R the longest base round trip plus the delay aimed at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.tuning.facts import Facts
from penstock.tuning.goals import Aims
from penstock.tuning.space import Space, automatic

#: The delay that Floyd, Gummadi and Shenker aim at where nothing else is wanted.
USUAL_DELAY_S = 0.005
#: Updates of PI's probability in a second, and the time between two of REM's price: their defaults.
PI_HZ, REM_PERIOD_S = 170.0, 0.002
#: REM's base φ, its default.
PHI = 1.001


@dataclass(frozen=True, slots=True)
class Rule:
    """A setting, and where it comes from.

    values: of those keys that the rule is about.
    """

    name: str
    source: str
    values: Mapping[str, float]


def first_candidates(kind: str, space: Space, facts: Facts, aims: Aims) -> list[Rule]:
    """Returns the settings that a search begins with: the defaults, what the file has, and the
    published rules.

    Keys that a rule says nothing about have their defaults. No two have the same values.
    """
    found: dict[tuple[tuple[str, float], ...], Rule] = {}
    rules = () if space.is_own else published(kind, facts, delays_s(aims))
    for rule in (Rule("defaults", "the declared defaults", {}), *rules):
        if rule.values and not rule.values.keys() & set(space.names):
            continue
        values = complete(rule.values, space, facts)
        if values is not None:
            found.setdefault(tuple(values.items()), Rule(rule.name, rule.source, values))
    return list(found.values())


def complete(given: Mapping[str, float], space: Space, facts: Facts) -> dict[str, float] | None:
    """Returns a value for each searched key: the given one, or what the discipline has where the
    key is left out.

    Thresholds that are left out follow from those that are not, as the declarations say. `None`
    where a key has none.
    """
    if space.is_own:
        found = {key.name: given.get(key.name, key.default) for key in space.keys}
        known = {name: value for name, value in found.items() if value is not None}
        return {key.name: key.rounded(known[key.name]) for key in space.keys} if len(known) == len(found) else None
    min_th = given.get("min_th", automatic("min_th", facts))
    assert min_th is not None
    max_th = given.get("max_th", 3 * min_th)
    following = {"min_th": min_th, "max_th": max_th, "mid_th": min_th + 0.625 * (max_th - min_th)}
    values = {}
    for key in space.keys:
        left_out = key.default if key.default is not None else automatic(key.name, facts)
        value = given.get(key.name, following.get(key.name, left_out))
        if value is None:
            return None
        values[key.name] = key.rounded(value)
    return values


def delays_s(aims: Aims) -> list[float]:
    """Returns the delays to aim at: the tightest bound on a delay, and half of it; without one, the
    usual 5 ms.
    """
    bounds = [goal.bound for goal in aims.goals if goal.lower and "delay" in goal.metric and goal.metric.endswith("_s")]
    return [min(bounds), min(bounds) / 2] if bounds else [USUAL_DELAY_S]


def published(kind: str, facts: Facts, aimed_s: Sequence[float]) -> Iterator[Rule]:
    """Yields the published settings for a discipline."""
    if kind in _CONSTANTS:
        yield from _CONSTANTS[kind]
    for delay in aimed_s:
        at = f"at {delay * 1e3:g} ms"
        if kind in ("mecn", "amecn"):
            yield Rule(f"AMECN's target rule {at}", "AMECN paper, section 3.3.3", amecn(facts, delay))
        source = "Floyd, Gummadi, Shenker 2001, sections 4 and 5"
        yield Rule(f"Floyd's automatic setting {at}", source, floyd(facts, delay))
        if kind in ("pie", "fq-pie"):
            yield Rule(f"PIE {at}", "RFC 8033, section 4.2", {"qdelay_ref": delay, "alpha": 0.125, "beta": 1.25})
        if kind == "docsis-pie":
            yield Rule(
                f"DOCSIS-PIE {at}", "RFC 8034, section 4.1", {"latency_target": delay, "alpha": 0.25, "beta": 2.5}
            )
        if kind == "pi2":
            yield Rule(f"PI2 {at}", "RFC 9332, appendix A.1", {"target": delay, "alpha": 0.16, "beta": 3.2})
        if kind == "dualpi2":
            yield Rule(f"DualPI2 {at}", "RFC 9332, appendix A.1", {"target": delay, "rtt_max": 0.1, "k": 2})
        if kind == "step":
            yield Rule(f"threshold {at}", "the queue that waits so long", {"threshold": delay * facts.rate_pps[0]})
        if facts.flows is not None and facts.rtt_s is not None:
            yield from _control(kind, facts, delay, at)
    if facts.rtt_s is not None:
        yield from _from_round_trips(kind, facts, facts.rtt_s[1])


def _control(kind: str, facts: Facts, delay: float, at: str) -> Iterator[Rule]:
    """Yields the rules of control theory, which need flows and round trips."""
    if kind == "pi":
        yield Rule(f"Hollot's PI rule {at}", "Hollot, Misra, Towsley, Gong 2001, PI design", hollot_pi(facts, delay))
    elif kind == "rem":
        yield Rule(f"REM's constants {at}", "Athuraliya, Li, Low, Yin 2001", {"b_star": delay * facts.rate_pps[0]})
        yield Rule(f"REM as a PI controller {at}", "the PI rule, with REM's price as the integral", rem(facts, delay))
    else:
        yield Rule(f"Hollot's RED rule {at}", "Hollot, Misra, Towsley, Gong 2001, RED design", hollot_red(facts, delay))


def _from_round_trips(kind: str, facts: Facts, rtt_s: float) -> Iterator[Rule]:
    """Yields the rules that need the longest round trip alone."""
    if kind in _CODELS:
        for share in (0.05, 0.1):
            values = {"interval": rtt_s, "target": max(share * rtt_s, 1 / facts.rate_pps[0])}
            name = f"interval of the longest round trip, target {100 * share:.0f} % of it"
            yield Rule(name, "RFC 8289, section 4.3", values)
    if kind == "dualpi2":
        name = "gains for the longest round trip"
        yield Rule(name, "RFC 9332, appendix A.1", {"target": 0.015, "rtt_max": rtt_s, "k": 2})
    if kind == "step":
        values = {"threshold": facts.rate_pps[0] * rtt_s / 7}
        yield Rule("a seventh of the bandwidth-delay product", "Alizadeh and others 2010, section 3.4", values)


def floyd(facts: Facts, delay_s: float) -> dict[str, float]:
    """Returns RED's automatic setting for an average delay: min_th = max(5, delay·C/2), max_th =
    3·min_th, w_q = 1 − exp(−1/C), so that the middle of the ramp is the delay's queue.
    """
    rate = facts.rate_pps[0]
    min_th = min(max(5.0, delay_s * rate / 2), max(1.0, facts.room / 3))
    return {"min_th": min_th, "max_th": 3 * min_th, "w_q": -math.expm1(-1 / rate), "max_p": 0.1}


def amecn(facts: Facts, delay_s: float) -> dict[str, float]:
    """Returns AMECN's setting: the target queue is 2·min_th, mid_th 2.25·min_th, max_th 3·min_th;
    the average's time constant is one second.
    """
    rate = facts.rate_pps[0]
    min_th = min(max(1.0, delay_s * rate / 2), max(1.0, facts.room / 3))
    thresholds = {"min_th": min_th, "mid_th": 2.25 * min_th, "max_th": 3 * min_th, "target_queue": 2 * min_th}
    return {**thresholds, "w_q": -math.expm1(-1 / rate), "p1_max": 0.1, "p2_max": 0.1}


def _loop(facts: Facts, delay_s: float) -> tuple[float, float, float, float]:
    """Returns C, N, R and the inverse of the loop's gain, (2N)²/(RC)³."""
    assert facts.flows is not None
    assert facts.rtt_s is not None
    rate, flows, trip = facts.rate_pps[0], facts.flows[0], facts.rtt_s[1] + delay_s
    return rate, flows, trip, (2 * flows) ** 2 / (trip * rate) ** 3


def hollot_red(facts: Facts, delay_s: float) -> dict[str, float]:
    """Returns a RED that is stable for at least N flows and round trips of at most R.

    The crossover is a tenth of the slower pole of TCP and queue, ω_g = 0.1·min(2N/(R²C), 1/R); the
    average's pole K is a tenth of that, as in the paper's example; and the slope L = max_p/(max_th
    − min_th) follows from L·(RC)³/(2N)² = √(ω_g²/K² + 1).
    """
    rate, flows, trip, inverse = _loop(facts, delay_s)
    crossover = 0.1 * min(2 * flows / (trip**2 * rate), 1 / trip)
    slope = math.sqrt(10.0**2 + 1) * inverse
    values = floyd(facts, delay_s)
    max_p = min(1.0, slope * (values["max_th"] - values["min_th"]))
    return {**values, "max_p": max_p, "w_q": -math.expm1(-crossover / 10 / rate)}


def _pi_gains(facts: Facts, delay_s: float) -> tuple[float, float]:
    """Returns PI's gain K and zero z: C(s) = K·(s/z + 1)/s.

    The zero cancels TCP's pole, z = 2N/(R²C), and the loop's gain is 1 at ω_g = z: K = ω_g·√(1 +
    (ω_g·R)²)·(2N)²/(RC)³.
    """
    rate, flows, trip, inverse = _loop(facts, delay_s)
    zero = 2 * flows / (trip**2 * rate)
    return zero * math.hypot(1.0, zero * trip) * inverse, zero


def hollot_pi(facts: Facts, delay_s: float) -> dict[str, float]:
    """Returns PI's gains by the bilinear transform, a = K·(1/z + T/2), b = K·(1/z − T/2), and the
    delay's queue.
    """
    gain, zero = _pi_gains(facts, delay_s)
    half = 1 / PI_HZ / 2
    return {"a": gain * (1 / zero + half), "b": gain * (1 / zero - half), "q_ref": delay_s * facts.rate_pps[0]}


def rem(facts: Facts, delay_s: float) -> dict[str, float]:
    """Returns REM's steps for the PI controller of `hollot_pi`.

    The price sums γ·(α·(q − b*) + x − c), and x − c sums to the queue's change. With a probability
    of ln φ·price, which it is while small, this is a PI controller with the gains γ·ln φ = K/z and
    γ·α·ln φ/period = K.
    """
    gain, zero = _pi_gains(facts, delay_s)
    gamma = gain / zero / math.log(PHI)
    return {"gamma": gamma, "alpha": zero * REM_PERIOD_S, "b_star": delay_s * facts.rate_pps[0]}


_CODELS = ("codel", "fq-codel", "cobalt", "fq-cobalt")
_CODEL = Rule("CoDel's constants", "RFC 8289, sections 4.3 and 4.4", {"target": 0.005, "interval": 0.1})
_PIE = Rule("PIE's constants", "RFC 8033, section 4.2", {"qdelay_ref": 0.015, "alpha": 0.125, "beta": 1.25})
_RED_1997 = Rule(
    "Floyd's advice of 1997",
    "Floyd 1997, RED: discussions of setting parameters",
    {"min_th": 5, "max_th": 15, "w_q": 0.002, "max_p": 0.1},
)
_CONSTANTS: Mapping[str, Sequence[Rule]] = {
    **dict.fromkeys(
        ("red", "ared", "feng-ared", "mecn", "amecn", "rared", "red-at", "nlred", "wred", "choke"), (_RED_1997,)
    ),
    **dict.fromkeys(_CODELS, (_CODEL,)),
    "cake": tuple(
        Rule(f"CAKE's preset {name}", "iproute2: tc-cake(8)", {"rtt": rtt})
        for name, rtt in (("metro", 0.01), ("regional", 0.03))
    ),
    **dict.fromkeys(("pie", "fq-pie"), (_PIE,)),
    "docsis-pie": (
        Rule(
            "DOCSIS-PIE's constants", "RFC 8034, appendix A.1.2", {"latency_target": 0.01, "alpha": 0.25, "beta": 2.5}
        ),
    ),
    "dualpi2": (Rule("DualPI2's constants", "RFC 9332, appendix A.1", {"target": 0.015, "rtt_max": 0.1, "k": 2}),),
    "pi2": (Rule("PI2's constants", "RFC 9332, appendix A.1", {"target": 0.015, "alpha": 0.16, "beta": 3.2}),),
    "pi": (Rule("PI's published gains", "Hollot, Misra, Towsley, Gong 2001", {"a": 1.822e-5, "b": 1.816e-5}),),
    "rem": (Rule("REM's constants", "Athuraliya, Li, Low, Yin 2001", {"gamma": 0.001, "alpha": 0.1}),),
    "blue": (
        Rule("BLUE's steps", "Feng and others 1999", {"d1": 0.0025, "d2": 0.00025, "freeze_time": 0.1}),
        Rule("SFB's steps in Linux", "tc-sfb(8)", {"d1": 0.0005, "d2": 0.00005, "freeze_time": 0.1}),
    ),
    "avq": (Rule("AVQ's constants", "Kunniyur, Srikant 2001", {"gamma": 0.98, "alpha": 0.15}),),
}
