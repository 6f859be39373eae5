"""What the kernel's program is told: a scenario's bottleneck as fixed-point numbers, each with what it comes to."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock._penstock import LinkFacts, parse_duration, parse_queue, parse_size
from penstock.model.scenario import Scenario, value_at
from penstock.operators.model import RefusedError, Value

#: Packets that may wait at most: the ring of bpf/src/aqm.h.
SLOTS = 16384
#: The kinds in the order of `enum kind` in bpf/src/aqm.h.
KINDS = (
    "red",
    "ared",
    "mecn",
    "amecn",
    "rared",
    "nred",
    "red-at",
    "wred",
    "step",
    "pi",
    "pi2",
    "pie",
    "avq",
)
#: Why other kinds cannot.
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("codel", "cobalt"), "it decides where packets leave, the kernel's program where they arrive"),
    **dict.fromkeys(
        ("fq-codel", "fq-pie", "fq-cobalt", "sfq", "cake", "dualpi2"),
        "it keeps a queue for each flow or class, and the kernel's program holds no packet",
    ),
    "droptail": "it is what the device's own queue does",
}

_WHOLE = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Told:
    """What the program is told.

    words: by name, as `PARAMS` in bpf/src/aqm.h lists them; others are 0.
    values: the scenario's numbers, as wanted and as the program has them.
    lost: what the scenario asks for and the program does otherwise, a sentence each.
    """

    words: Mapping[str, int]
    values: tuple[Value, ...]
    lost: tuple[str, ...]


@dataclass(slots=True)
class Sheet:
    """Words as they are written down."""

    aqm: Mapping[str, Any]
    link: LinkFacts
    words: dict[str, int] = field(default_factory=dict)
    values: list[Value] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def put(self, word: str, value: float, bits: int = 32, *, name: str = "", unit: str = "", times: float = 1) -> None:
        """Writes a number times 2^bits. With a name it is reported: as `times` what it is here."""
        exact = math.ldexp(value, bits)
        if not 0 <= exact < _WHOLE:
            raise RefusedError(f"aqm.{name or word} = {value * times:g}: too much for the kernel's program")
        self.words[word] = round(exact)
        if name:
            used = math.ldexp(self.words[word], -bits)
            self.values.append(Value(name=name, wanted=value * times, used=used * times, unit=unit))

    def flag(self, word: str, value: object) -> None:
        """Writes a truth or a small number."""
        self.words[word] = int(value)  # type: ignore[call-overload]

    def length(self, queue: str) -> float:
        """A length in the queue's unit."""
        number, in_packets = parse_queue(queue)
        if in_packets == (not self.link.in_bytes):
            return number
        return number * self.link.mean_packet if in_packets else number / self.link.mean_packet

    def threshold(self, word: str, length: float, name: str = "") -> None:
        """Writes a length of the queue's unit."""
        self.put(word, length, name=name or word, unit="B" if self.link.in_bytes else "packets")

    def only(self, key: str, allowed: object, why: str) -> None:
        """Refuses a key that has another value."""
        found = self.aqm.get(key, allowed)
        if found not in (allowed, None):
            raise RefusedError(f"aqm.{key} = {found!r}: {why}")


def told(scenario: Scenario, generation: int = 1) -> Told:
    """Returns what the program is told of a scenario's bottleneck.

    generation: counts the sets of parameters that a device has had; the program begins anew with each.

    Raises `RefusedError` with the reason where the program cannot do what the scenario asks for.
    """
    facts = scenario.core.facts()
    here, resolved = facts.bottleneck, scenario.resolved
    if not here.forward:
        raise RefusedError("topology.bottleneck: is the opposite direction of a link; name the forward one")
    link, aqm = value_at(resolved, here.path), value_at(resolved, here.aqm_path)
    kind = str(aqm["kind"])
    if kind not in KINDS:
        why = "a discipline of your own" if kind.startswith("python:") else REFUSED.get(kind, "it has no form there")
        shown = kind.removeprefix("python:")
        raise RefusedError(f"aqm.kind = {shown!r}: not in the kernel: {why}; these run there: {', '.join(KINDS)}")
    sheet = Sheet(aqm, here)
    sheet.flag("generation", generation)
    sheet.flag("kind", KINDS.index(kind))
    _link(sheet, link)
    _OF_KIND[kind](sheet)
    return Told(sheet.words, tuple(sheet.values), tuple(sheet.lost))


def _link(sheet: Sheet, link: Mapping[str, Any]) -> None:
    here = sheet.link
    if link.get("schedule"):
        raise RefusedError("schedule: the kernel's program has one rate; leave it out")
    overhead, mpu = (parse_size(link.get(key) or "0 B") for key in ("overhead", "mpu"))
    if overhead or mpu or (link.get("framing") or "none") != "none":
        raise RefusedError("overhead, mpu, framing: the kernel's program counts packets as tc does, with their header")
    number, in_packets = parse_queue(link["buffer"])
    if in_packets and number > SLOTS:
        raise RefusedError(f"buffer = {link['buffer']!r}: the kernel's program has room for {SLOTS} packets")
    sheet.flag("in_bytes", here.in_bytes)
    sheet.flag("mean_packet", here.mean_packet)
    sheet.put("byte_ns", 8e9 / here.rate_bps, 24)
    used = math.ldexp(sheet.words["byte_ns"], -24)
    sheet.values.append(Value(name="rate", wanted=here.rate_bps / 1e6, used=8e3 / used, unit="Mbit/s"))
    sheet.flag("limit", number)
    sheet.flag("limit_bytes", not in_packets)
    sheet.flag("count_in_service", sheet.aqm["count_in_service"])
    sheet.flag("ecn", sheet.aqm["ecn"])
    sheet.put("mark_p", sheet.aqm.get("mark_p", 1.0))


def _base(sheet: Sheet) -> None:
    """What RED's family shares: the average, the gate, the ramp's ends."""
    aqm, here = sheet.aqm, sheet.link
    w_q, c = here.settled["w_q"], here.rate_bps / 8 / here.mean_packet
    sheet.put("w_q", w_q, name="w_q")
    if w_q < 1:
        octaves = -math.log2(1 - math.ldexp(sheet.words["w_q"], -32)) * c / 1e9
        sheet.put("idle_rate", octaves, 58, name="idle decay", unit="1/s", times=1e9 * math.log(2))
        sheet.put("idle_max", min(40 / octaves, 2**62), 0)
    if aqm["idle"] == "floor":
        sheet.put("idle_step", 1e9 / c, 0, name="packet time", unit="us", times=1e-3)
    sheet.flag("gate", ("uniform", "wait", "geometric", "drawn").index(aqm["gate"]))
    sheet.flag("sizes", (1 + (aqm["byte_scale"] == "p_a")) if aqm["byte_mode"] else 0)
    sheet.flag("first_passes", aqm["first_passes"])
    sheet.flag("mark_forced", aqm["forced"] == "mark")
    sheet.put("early_min_queue", aqm["early_min_queue"])
    for end in ("min_th", "max_th"):
        if end in here.settled:
            sheet.threshold(end, here.settled[end])


def _ramp(sheet: Sheet) -> None:
    _base(sheet)
    aqm = sheet.aqm
    sheet.put("max_p", aqm["max_p"], name="max_p")
    sheet.flag("gentle", 0 if not aqm["gentle"] else 1 if aqm["gentle_tracks_max_p"] else 2)


def _clock(sheet: Sheet, low: float, high: float) -> None:
    sheet.flag("adapts", True)
    sheet.put("interval", parse_duration(sheet.aqm["interval"]) * 1e9, 0, name="interval", unit="ms", times=1e-6)
    sheet.flag("at_arrivals", sheet.aqm["adapt_on"] == "arrival")
    sheet.put("low_at", low)
    sheet.put("high_at", high)


def _floyd(sheet: Sheet) -> None:
    aqm = sheet.aqm
    _clock(sheet, aqm["target_low"], aqm["target_high"])
    sheet.put("alpha", aqm["alpha"], name="alpha")
    sheet.put("beta", aqm["beta"], name="beta")
    low = sheet.link.settled.get("max_p_low")
    sheet.put("p_low", aqm["max_p_low"] if low is None else low, name="max_p_low")
    sheet.put("p_high", aqm["max_p_high"], name="max_p_high")


def _ared(sheet: Sheet) -> None:
    _ramp(sheet)
    _floyd(sheet)


def _mecn(sheet: Sheet) -> None:
    _base(sheet)
    aqm = sheet.aqm
    sheet.threshold("mid_th", sheet.link.settled["mid_th"])
    sheet.put("max_p", aqm["p1_max"], name="p1_max")
    sheet.put("p2_max", aqm["p2_max"], name="p2_max")
    sheet.flag("gentle_above", aqm["above_max"] != "drop")
    sheet.flag("mark_severe", aqm["above_max"] == "gentle-mark")
    sheet.flag("incipient", 1 if aqm["codepoints"] == "wire" else 2)


def _amecn(sheet: Sheet) -> None:
    _mecn(sheet)
    aqm = sheet.aqm
    _clock(sheet, 0.4, 0.6)
    sheet.put("middle", 0.5)
    sheet.put("alpha", 0.25 * aqm["alpha_scale"], name="alpha_scale", times=4)
    sheet.put("beta", aqm["beta_floor"] or 0.0)
    sheet.put("p_low", 0.01)
    sheet.put("p_high", 0.5)
    sheet.flag("deadband", aqm["deadband"])
    if aqm["adapt"] == "both":
        sheet.put("ratio", aqm["p2_over_p1"], name="p2_over_p1")


def _rared(sheet: Sheet) -> None:
    _ramp(sheet)
    aqm, here = sheet.aqm, sheet.link
    if aqm["base"] == "ared":
        _floyd(sheet)
    sheet.put("slope_th", here.settled["slope_th"], name="slope_th", unit="B/s" if here.in_bytes else "packets/s")
    sheet.flag("climb", ("bernoulli", "ramp", "once").index(aqm["climb"]))
    sheet.put("max_p_climb", aqm["max_p_climb"], name="max_p_climb")
    sheet.flag("instantaneous", aqm["slope_of"] == "instantaneous")
    c = here.rate_bps / 8 / here.mean_packet
    sheet.put("round_trip", 1e9 * max(0.1, 3 * (here.delay_s + 1 / c)), 0)


def _nred(sheet: Sheet) -> None:
    _base(sheet)
    aqm = sheet.aqm
    if aqm["n_step"] == "timed":
        raise RefusedError("aqm.n_step = 'timed': the kernel's program moves the exponent at crossings alone")
    sheet.threshold("buffer", sheet.length(_buffer(sheet)))
    for key in ("n_0", "n_min", "n_max"):
        sheet.put(key, aqm[key], name=key)
    sheet.put("n_step", aqm["n_step"], name="n_step")


def _buffer(sheet: Sheet) -> str:
    limit = sheet.words["limit"]
    return f"{limit} B" if sheet.words["limit_bytes"] else f"{limit} packets"


def _red_at(sheet: Sheet) -> None:
    _ramp(sheet)
    aqm, settled = sheet.aqm, sheet.link.settled
    min_th, max_th = settled["min_th"], settled["max_th"]
    automatic = {
        "min_lo": 0.5 * min_th,
        "min_hi": 1.5 * min_th,
        "max_lo": max(0.8 * max_th, min_th),
        "max_hi": 1.2 * max_th,
    }
    bounds = {key: auto if aqm[key] is None else sheet.length(aqm[key]) for key, auto in automatic.items()}
    for key, bound in bounds.items():
        sheet.threshold(key, bound)
    sheet.put("region_a", bounds["min_hi" if aqm["region_a"] == "min_plus" else "min_lo"])
    sheet.flag("hold", aqm["hold"])
    sheet.flag("reset", aqm["reset"])
    sheet.put("min_step", aqm["alpha"] * (bounds["min_hi"] - bounds["min_lo"]), name="alpha's step")
    sheet.put("max_step", aqm["beta"] * (bounds["max_hi"] - bounds["max_lo"]), name="beta's step")


#: Without colours of the scenario's own: the drop precedence and the shares of min_th and max_th.
_BUILT_IN = {"green": (None, 1.0, 1.0), "yellow": (2, 0.75, 0.9), "red": (3, 0.5, 0.8)}


def _wred(sheet: Sheet) -> None:
    sheet.only("average", "shared", "the kernel's program has one average for all colours")
    _base(sheet)
    aqm = sheet.aqm
    colours: Mapping[str, Mapping[str, Any]] = aqm["colour"] or {}
    if len(colours) > 4:
        raise RefusedError(f"aqm.colour: {len(colours)} colours; the kernel's program has room for 4")
    sheet.put("max_p", aqm["max_p"], name="max_p")
    sheet.flag("gentle", 0 if not aqm["gentle"] else 1 if aqm["gentle_tracks_max_p"] else 2)
    ends = _thresholds(sheet)
    for place, (name, (_, *shares)) in enumerate(_BUILT_IN.items() if not colours else ()):
        for end, share in zip(("min_th", "max_th"), shares, strict=True):
            sheet.threshold(f"{end}_{place}", share * ends[end], f"{name}.{end}")
        sheet.put(f"max_p_{place}", aqm["max_p"])
    for place, (name, of) in enumerate(colours.items()):
        _colour(sheet, place, name, of, ends)
    _dscps(sheet, colours)


def _thresholds(sheet: Sheet) -> dict[str, float]:
    """The kind's own, which `Thresholds::place` in crates/aqm has for every member of the family."""
    aqm, here = sheet.aqm, sheet.link
    per_packet = here.mean_packet if here.in_bytes else 1
    packets = parse_duration(aqm["target_delay"]) * here.rate_bps / 8 / here.mean_packet / 2
    low = max(5.0, packets) * per_packet if aqm["min_th"] is None else sheet.length(aqm["min_th"])
    return {"min_th": low, "max_th": 3 * low if aqm["max_th"] is None else sheet.length(aqm["max_th"])}


def _colour(sheet: Sheet, place: int, name: str, of: Mapping[str, Any], ends: Mapping[str, float]) -> None:
    drops = {end: ends[end] if of[end] is None else sheet.length(of[end]) for end in ("min_th", "max_th")}
    max_p = sheet.aqm["max_p"] if of["max_p"] is None else of["max_p"]
    for end, length in drops.items():
        sheet.threshold(f"{end}_{place}", length, f"{name}.{end}")
    sheet.put(f"max_p_{place}", max_p, name=f"{name}.max_p")
    if of["ecn_max_th"] is None:
        return
    sheet.flag(f"marks_{place}", True)
    low = drops["min_th"] if of["ecn_min_th"] is None else sheet.length(of["ecn_min_th"])
    sheet.threshold(f"ecn_min_th_{place}", low, f"{name}.ecn_min_th")
    sheet.threshold(f"ecn_max_th_{place}", sheet.length(of["ecn_max_th"]), f"{name}.ecn_max_th")
    sheet.put(f"ecn_max_p_{place}", max_p if of["ecn_max_p"] is None else of["ecn_max_p"], name=f"{name}.ecn_max_p")


def _dscps(sheet: Sheet, colours: Mapping[str, Mapping[str, Any]]) -> None:
    """The colour of each DSCP, two bits each: that which names it, that of its drop precedence, that of all others."""
    claims: list[tuple[int | None, int | None, int | None]] = [
        (of["dscp"], of["dscp_to"], of["drop_precedence"]) for of in colours.values()
    ] or [(None, None, precedence) for precedence, *_ in _BUILT_IN.values()]
    for dscp in range(64):
        class_, precedence = dscp >> 3, (dscp & 7) >> 1
        assured = 1 <= class_ <= 4 and 1 <= precedence <= 3 and not dscp & 1
        named = [i for i, (a, b, _) in enumerate(claims) if a is not None and a <= dscp <= (a if b is None else b)]
        drops = [i for i, claim in enumerate(claims) if assured and claim[2] == precedence]
        others = [i for i, claim in enumerate(claims) if claim == (None, None, None)]
        colour = (named or drops or others)[0]
        half = f"dscp_{dscp // 32}"
        sheet.words[half] = sheet.words.get(half, 0) | colour << 2 * (dscp % 32)


def _step(sheet: Sheet) -> None:
    aqm, here = sheet.aqm, sheet.link
    phantom, sojourn = aqm.get("of") == "phantom", aqm.get("sojourn")
    if sojourn is not None:
        sheet.flag("measure", 1)
        sheet.put("threshold", parse_duration(sojourn), name="sojourn", unit="ms", times=1e3)
        end = aqm.get("sojourn_max")
        if end is not None:
            sheet.put("slope_end", parse_duration(end), name="sojourn_max", unit="ms", times=1e3)
        sheet.only("few", 0, "how many are there when a packet leaves is not known when it arrives")
    else:
        as_bytes = here.mean_packet if phantom and not here.in_bytes else 1
        sheet.put("threshold", as_bytes * sheet.length(aqm["threshold"]), name="threshold", times=1 / as_bytes)
        end = aqm.get("kmax")
        if end is not None:
            sheet.put("slope_end", as_bytes * sheet.length(end), name="kmax", times=1 / as_bytes)
    if phantom:
        sheet.flag("measure", 2)
        gamma = 0.95 if aqm.get("gamma") is None else aqm["gamma"]
        sheet.put("phantom_rate", gamma * here.rate_bps / 8e9, 48, name="gamma", times=8e9 / here.rate_bps)
    sheet.flag("slope", end is not None)
    sheet.put("pmax", 1.0 if aqm.get("pmax") is None else aqm["pmax"])
    sheet.flag("recur", aqm.get("spread") == "recur")
    sheet.flag("few", aqm.get("few") or 0)
    sheet.flag("not_capable_drops", aqm["not_capable"] == "drop")


def _pi(sheet: Sheet) -> None:
    aqm, here = sheet.aqm, sheet.link
    if aqm["b"] > aqm["a"]:
        raise RefusedError(f"aqm.b = {aqm['b']!r}: the kernel's program takes no b above a ({aqm['a']!r})")
    number, in_packets = parse_queue(aqm["q_ref"])
    sheet.put("target", number if in_packets else number / here.mean_packet, name="q_ref", unit="packets")
    sheet.put("gain_a", aqm["a"] - aqm["b"], 48, name="a - b", unit="1/packet")
    sheet.put("gain_b", aqm["b"], 48, name="b", unit="1/packet")
    _periods(sheet, 1 / aqm["w"], "1/w")


def _periods(sheet: Sheet, every: float, name: str, first: float | None = None) -> None:
    sheet.put("period", 1e9 * every, 0, name=name, unit="ms", times=1e-6)
    sheet.put("first_period", 1e9 * (every if first is None else first), 0)


def _delays(sheet: Sheet, target: str) -> None:
    sheet.put("target", parse_duration(sheet.aqm[target]), name=target, unit="ms", times=1e3)
    sheet.put("gain_a", sheet.aqm["alpha"], 48, name="alpha", unit="1/s")
    sheet.put("gain_b", sheet.aqm["beta"], 48, name="beta", unit="1/s")


def _pi2(sheet: Sheet) -> None:
    aqm = sheet.aqm
    _delays(sheet, "target")
    _periods(sheet, parse_duration(aqm["t_update"]), "t_update")
    sheet.put("coupling", aqm["k"], name="k")
    sheet.put("mark_p", aqm["p_cmax"], name="p_cmax")
    sheet.flag("scalable_ect0", aqm["identify"] == "any-ect")
    if aqm["decides"] != "arrival":
        sheet.lost.append("decides = 'departure': packets are chosen at their arrival, a queue earlier")


def _pie(sheet: Sheet) -> None:
    aqm, here = sheet.aqm, sheet.link
    sheet.only("variant", "rfc", "the kernel's program is RFC 8033's; Linux has its own, sch_pie")
    sheet.only("burst_from", "updates", "the kernel's program counts updates")
    sheet.only("guard_from", "update", "the kernel's program looks at the last update")
    sheet.only("bytemode", False, "the kernel's program has no byte mode")
    _delays(sheet, "qdelay_ref")
    every, first = parse_duration(aqm["t_update"]), aqm.get("first_update")
    _periods(sheet, every, "t_update", None if first is None else parse_duration(first))
    sheet.put("mark_p", aqm["mark_ecnth"], name="mark_ecnth")
    sheet.put("max_burst", 1e9 * parse_duration(aqm["max_burst"]), 0, name="max_burst", unit="ms", times=1e-6)
    sheet.put("high_delay", parse_duration(aqm["high_delay"]), name="high_delay", unit="ms", times=1e3)
    sheet.put("decay", 0.98 if aqm.get("decay") is None else aqm["decay"], name="decay")
    least = aqm.get("min_backlog")
    sheet.flag("min_backlog", 2 * here.mean_packet + 1 if least is None else parse_size(least))
    sheet.flag("derandomize", aqm["derandomize"])
    sheet.flag("timestamps", aqm["delay_from"] == "timestamps")
    if aqm["delay_from"] == "rate-estimate":
        sheet.lost.append("delay_from = 'rate-estimate': the rate is known, and not measured")


def _avq(sheet: Sheet) -> None:
    aqm, here = sheet.aqm, sheet.link
    capacity = here.rate_bps / 8e9
    sheet.put("capacity", capacity, 48)
    sheet.put("raise", aqm["alpha"] * aqm["gamma"] * capacity, 48, name="gamma", times=1 / (aqm["alpha"] * capacity))
    sheet.put("lower", aqm["alpha"] / 1e9, 64, name="alpha", unit="1/s", times=1e9)
    number, in_packets = parse_queue(aqm["virtual_buffer"] or _buffer(sheet))
    bytes_ = number * here.mean_packet if in_packets else number
    sheet.put("virtual_buffer", bytes_, 0, name="virtual_buffer", unit="B")


_OF_KIND: Mapping[str, Callable[[Sheet], None]] = {
    "red": _ramp,
    "ared": _ared,
    "mecn": _mecn,
    "amecn": _amecn,
    "rared": _rared,
    "nred": _nred,
    "red-at": _red_at,
    "wred": _wred,
    "step": _step,
    "pi": _pi,
    "pi2": _pi2,
    "pie": _pie,
    "avq": _avq,
}
