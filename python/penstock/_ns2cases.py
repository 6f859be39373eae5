"""From a case of the ns-2 reference (arguments of a Tcl script) to a scenario of ours.

A case is a table of keys, each a command-line argument of the parametric experiment that produced the reference. All
keys have a meaning here, or the case is refused by name: nothing is skipped in silence. What ns-2 sets without being
asked comes with `profile = "ns-2"`; this module spells out only what a case says, and the stock settings of ns-2's
queue classes, since the script overrides some of them.

Quantities are in ns-2's units: seconds, bit/s, packets, bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

Table = dict[str, Any]


class NotExpressible(Exception):  # noqa: N818 - a verdict on the case, not an error
    """The case uses something that Penstock has no counterpart for; the message names it."""


# What the script takes where a case is silent.
DEFAULTS: Mapping[str, str] = {
    "topo": "dumbbell",
    "bw": "1.5e6",
    "delay": "0.04",
    "buf": "50",
    "abw": "10e6",
    "adelay1": "fixed:0.002",
    "adelay2": "fixed:0.004",
    "abuf": "100000",
    "rq": "DropTail",
    "rbuf": "1000",
    "q": "DropTail",
    "qset": "",
    "ecn": "0",
    "thresh": "",
    "maxthresh": "",
    "linterm": "",
    "qw": "",
    "gentle": "",
    "adaptive": "",
    "targetdelay": "",
    "meanpkt": "",
    "bytes": "0",
    "qib": "0",
    "tcp": "Reno",
    "delack": "0",
    "latch": "0",
    "window": "20",
    "pkt": "1000",
    "tcpset": "",
    "n1": "1",
    "start1": "fixed:0",
    "stop1": "-1",
    "n2": "0",
    "start2": "fixed:0",
    "gap2": "0",
    "stop2": "-1",
    "window2": "-1",
    "nrev": "0",
    "startrev": "fixed:0",
    "cbr": "0",
    "cbrpkt": "1000",
    "cbrn": "1",
    "cbrstart": "fixed:0",
    "cbrrandom": "0",
    "poisson": "0",
    "poispkt": "1000",
    "web": "0",
    "webpairs": "10",
    "webthink": "1.0",
    "webmean": "12",
    "webshape": "1.5",
    "webmax": "500",
    "webstart": "uniform:0:1",
    "hops": "3",
    "plcross": "20",
    "plin": "20 20 0",
    "dur": "50",
    "t0": "25",
    "t1": "50",
}

# Keys that steer only what the script prints or where it writes, or that it declares and does not read.
IGNORED = frozenset({"name", "seed", "qtrace", "sample", "series", "flows", "tmp", "webbytes"})

# Stock class variables of ns-2 2.35 that the mapping reads, by queue class.
STOCK_QUEUE: Mapping[str, Mapping[str, str]] = {
    "DropTail": {"queue_in_bytes_": "false", "mean_pktsize_": "500"},
    "RED": {
        "bytes_": "true",
        "queue_in_bytes_": "true",
        "mean_pktsize_": "500",
        "q_weight_": "-1",
        "thresh_": "0",
        "maxthresh_": "0",
        "linterm_": "10",
        "gentle_": "true",
        "wait_": "true",
        "use_mark_p_": "true",
        "mark_p_": "0.1",
        "setbit_": "false",
        "adaptive_": "0",
        "feng_adaptive_": "0",
        "alpha_": "0.01",
        "beta_": "0.9",
        "interval_": "0.5",
        "top_": "0.5",
        "bottom_": "0",
        "targetdelay_": "0.005",
    },
    "REM": {
        "mean_pktsize_": "1000",
        "phi_": "1.001",
        "gamma_": "0.001",
        "inw_": "1",
        "pupdtime_": "0.002",
        "pbo_": "20",
        "markpkts_": "false",
        "qib_": "false",
    },
    "PI": {
        "bytes_": "false",
        "queue_in_bytes_": "false",
        "mean_pktsize_": "500",
        "setbit_": "false",
        "a_": "0.00001822",
        "b_": "0.00001816",
        "w_": "170",
        "qref_": "50",
    },
}

# The queue classes of the extended binary are children of RED: they have its variables and these. Those that mean an
# unset threshold have 0.
RED_CHILDREN: Mapping[str, Mapping[str, str]] = {
    "RED/MECN": {
        "mid_": "0",
        "m_adapt_": "0",
        "p2ratio_": "1",
        "p2fix_": "0",
        "m_inside_": "0",
        "m_ascale_": "1",
        "m_gdrop_": "1",
    },
    "RED/RARED": {"slope_th_": "20", "maxp2_": "0.8", "rmode_": "0", "rsrc_": "0"},
    "RED/NRED": {"n_0_": "2", "n_min_": "1", "n_max_": "5", "n_gate_": "1"},
    "RED/REDAT": {
        "at_dmin_": "0.5",
        "at_dmax_": "0.2",
        "at_alpha_": "0.1",
        "at_beta_": "0.05",
        "at_hold_": "4",
        "at_region_": "0",
        "at_reset_": "1",
    },
    "RED/BLUE": {"b_d1_": "0.0025", "b_d2_": "0.00025", "b_freeze_": "0.1", "b_limit_": "0"},
}

# Variables that we can take only as ns-2 ships them.
FIXED_QUEUE: Mapping[str, Mapping[str, str]] = {
    "DropTail": {"drop_front_": "false", "drop_smart_": "false", "drop_prio_": "false"},
    "RED": {
        "drop_tail_": "true",
        "drop_front_": "false",
        "drop_rand_": "false",
        "doubleq_": "false",
        "ns1_compat_": "false",
        "cautious_": "0",
    },
    "REM": {},
    "PI": {},
}

# Variables without any effect in the script's experiments: overwritten by it, or outputs, or read only by what is off.
INERT_QUEUE: Mapping[str, frozenset[str]] = {
    "DropTail": frozenset({"limit_", "summarystats_"}),
    "RED": frozenset(
        {"limit_", "summarystats_", "idle_pktsize_", "dqthresh_", "thresh_queue_", "curq_", "ave_", "prob1_"}
    ),
    "REM": frozenset({"limit_", "prob_", "curq_", "pmark_"}),
    "PI": frozenset({"limit_", "prob_", "curq_"}),
}

# Variables of Agent/TCP that are times: our key, and the stock value in seconds.
TCP_TIMES: Mapping[str, tuple[str, str]] = {
    "tcpTick_": ("tick", "0.01"),
    "minrto_": ("min_rto", "0.2"),
    "maxrto_": ("max_rto", "60"),
    "rtxcur_init_": ("initial_rto", "3"),
    "overhead_": ("send_overhead", "0"),
}
# Those that we can take only as ns-2 ships them. (The header's size is the SYN's too, which ours does not vary.)
FIXED_TCP: Mapping[str, str] = {
    "windowInitOption_": "1",
    "tcpip_base_hdr_size_": "40",
    "windowOption_": "1",
    "bugFix_": "true",
    "bugFix_ack_": "false",
    "bugFix_ts_": "false",
    "LimTransmitFix_": "false",
    "SetCWRonRetransmit_": "true",
    "partial_ack_": "false",
    "srtt_init_": "0",
    "rttvar_init_": "12",
    "rttvar_exp_": "2",
    "T_SRTT_BITS": "3",
    "T_RTTVAR_BITS": "2",
    "rfc2988_": "true",
    "timerfix_": "true",
    "maxburst_": "0",
    "aggressive_maxburst_": "1",
    "maxcwnd_": "0",
    "numdupacks_": "3",
    "numdupacksFrac_": "-1",
    "noFastRetrans_": "false",
    "exitFastRetrans_": "true",
    "oldCode_": "false",
    "timestamps_": "false",
    "increase_num_": "1",
    "decrease_num_": "0.5",
    "delay_growth_": "true",
    "syn_": "true",
    "old_ecn_": "0",
    "eln_": "0",
    "max_ssthresh_": "0",
    "cwnd_range_": "0",
    "sfrto_enabled_": "0",
    "frto_enabled_": "0",
    "qs_enabled_": "false",
    "QOption_": "0",
    "EnblRTTCtr_": "0",
    "control_increase_": "0",
}
# Read only by options that are off, by other variants, or outputs.
INERT_TCP = frozenset(
    {
        "windowConstant_",
        "windowThresh_",
        "low_window_",
        "high_window_",
        "k_parameter_",
        "l_parameter_",
        "ts_resetRTO_",
        "ts_option_size_",
        "slow_start_restart_",
        "restart_bugfix_",
        "CoarseTimer_",
        "spurious_response_",
        "tcp_qs_recovery_",
        "rate_request_",
        "trace_all_oneline_",
    }
)

VARIANTS: Mapping[str, str] = {
    "Tahoe": "tahoe",
    "Reno": "reno",
    "Newreno": "newreno",
    "Sack1": "sack",
    "Vegas": "vegas",
    "MecnReno": "reno",
    "Westwood": "westwood",
}

# The multi-level ECN of the extended binary's Reno: its variables and their stock values.
MECN_TCP: Mapping[str, str] = {
    "mecnMode_": "0",
    "mecnB1_": "0.2",
    "mecnB2_": "0.4",
    "mecnEscalate_": "0",
    "mecnFloor_": "0",
}
MECN_MODES = ("decrease", "hold", "additive")


# ----------------------------------------------------------------------- values as Tcl reads them


def _text(value: object) -> str:
    """The argument as the script saw it."""
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value).strip()


def _number(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise NotExpressible(f"{what} = {text!r} is not a number") from None
    if not math.isfinite(value):
        raise NotExpressible(f"{what} = {text!r} is not finite")
    return value


def _integer(text: str, what: str) -> int:
    value = _number(text, what)
    if value != int(value):
        raise NotExpressible(f"{what} = {text} is not a whole number")
    return int(value)


def _truth(text: str, what: str) -> bool:
    word = text.lower()
    if word in {"true", "yes", "on", "t", "y"}:
        return True
    if word in {"false", "no", "off", "f", "n", ""}:
        return False
    return _number(text, what) != 0


def _pairs(text: str, what: str) -> Iterator[tuple[str, str]]:
    """`a_=1,b_=2` as the script splits it."""
    for part in text.split(","):
        if not part:
            continue
        name, equals, value = part.partition("=")
        if not equals:
            raise NotExpressible(f"{what}: {part!r} is not name=value")
        yield name.strip(), value.strip()


def _same(a: str, b: str) -> bool:
    """Whether two settings of one variable mean the same to ns-2."""
    words = {"true": "1", "false": "0"}
    a, b = words.get(a.lower(), a), words.get(b.lower(), b)
    try:
        return float(a) == float(b)
    except ValueError:
        return a == b


# ----------------------------------------------------------------------- quantities as ours


def _plain(value: float) -> str:
    """Decimal digits without an exponent."""
    text = format(Decimal(repr(value)).normalize(), "f")
    return "0" if text == "-0" else text


def seconds(value: float) -> str:
    """A span of time, to the nanosecond: `0.0005` is `"0.5 ms"`.

    >>> seconds(0.0005), seconds(25.0), seconds(0.0)
    ('0.5 ms', '25 s', '0 s')
    """
    value = round(value, 9)
    return f"{_plain(value)} s" if value == 0 or abs(value) >= 1 else f"{_plain(round(value * 1e3, 6))} ms"


def rate(bps: float) -> str:
    """A rate, to the bit per second: `1.5e6` is `"1.5 Mbit/s"`.

    >>> rate(1.5e6), rate(150e3), rate(7)
    ('1.5 Mbit/s', '150 kbit/s', '7 bit/s')
    """
    bits = round(bps)
    for unit, size in (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3)):
        if bits >= size and bits % (size // 1000) == 0:
            return f"{_plain(bits / size)} {unit}"
    return f"{bits} bit/s"


def size(count: float) -> str:
    """A number of bytes.

    >>> size(1460.0)
    '1460 B'
    """
    return f"{round(count)} B"


# ----------------------------------------------------------------------- one value per flow


@dataclass(frozen=True)
class Spec:
    """A value for each of n flows: fixed, in even steps from `low` to `high`, or drawn between them."""

    kind: str
    low: float
    high: float

    @classmethod
    def parse(cls, text: str, what: str) -> Spec:
        """From `fixed:x`, `linear:a:b`, `uniform:a:b`; anything else is taken by the script as the value itself."""
        kind, *numbers = text.split(":")
        if kind not in {"fixed", "linear", "uniform"}:
            kind, numbers = "fixed", [text]
        if len(numbers) != (1 if kind == "fixed" else 2):
            raise NotExpressible(f"{what} = {text!r}: wrong number of values")
        values = [_number(n, what) for n in numbers]
        return cls(kind, values[0], values[-1])

    @property
    def random(self) -> bool:
        """Whether the values differ from seed to seed."""
        return self.kind == "uniform" and self.low != self.high

    def of(self, n: int) -> Spec:
        """For `n` flows: even steps over fewer than two are their middle."""
        if self.low == self.high or (self.kind == "linear" and n < 2):
            middle = 0.5 * (self.low + self.high)
            return Spec("fixed", middle, middle)
        return self

    def flow(self, i: int, n: int) -> Spec:
        """For flow `i` of `n` alone."""
        spec = self.of(n)
        if spec.kind != "linear":
            return spec
        value = spec.low + (spec.high - spec.low) * i / (n - 1)
        return Spec("fixed", value, value)

    def shifted(self, by: float) -> Spec:
        """Every value later by `by`."""
        return Spec(self.kind, self.low + by, self.high + by)

    def delay(self) -> object:
        """As a delay of a scenario."""
        if self.kind == "fixed" or self.low == self.high:
            return seconds(0.5 * (self.low + self.high))
        return {"uniform" if self.kind == "uniform" else "spread": [seconds(self.low), seconds(self.high)]}


def _start(spec: Spec, gap: float, n: int) -> object | None:
    """Starts of `n` flows, flow i later by `i * gap`, as one entry's `start`; None if they take an entry each."""
    spec = spec.of(n)
    if spec.kind == "uniform":
        return {"uniform": [seconds(spec.low), seconds(spec.high)]} if gap == 0 or n < 2 else None
    every = gap + ((spec.high - spec.low) / (n - 1) if spec.kind == "linear" else 0.0)
    if every == 0 or n < 2:
        return seconds(spec.low)
    return {"every": seconds(every), "from": seconds(spec.low)} if every > 0 else None


# ----------------------------------------------------------------------- the parts of a case


class _Case:
    """The arguments of one case, complete and as text."""

    def __init__(self, args: Mapping[str, object]) -> None:
        unknown = sorted(k for k in args if k not in DEFAULTS and k not in IGNORED)
        if unknown:
            raise NotExpressible(f"unknown key {', '.join(unknown)}")
        self.p = {**DEFAULTS, **{k: _text(v) for k, v in args.items()}}

    def num(self, key: str) -> float:
        return _number(self.p[key], key)

    def whole(self, key: str) -> int:
        return _integer(self.p[key], key)

    def on(self, key: str) -> bool:
        return _truth(self.p[key], key)

    def spec(self, key: str) -> Spec:
        return Spec.parse(self.p[key], key)

    # ------------------------------------------------------------------- queues

    def queue(self, name: str) -> dict[str, str]:
        """The class variables of queue class `name` once the script has set its own."""
        family = "RED" if name in RED_CHILDREN else name
        if family not in STOCK_QUEUE:
            raise NotExpressible(f"queue class {name}")
        v = {**STOCK_QUEUE[family], **RED_CHILDREN.get(name, {})}
        if name != self.p["q"]:  # the script's settings go to the forward queue's class only
            return v
        p = self.p
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
            if self.on("ecn"):
                v["setbit_"] = "true"
        elif name == "REM":
            v["qib_"] = p["qib"]
            if self.on("ecn"):
                v["markpkts_"] = "true"
        elif self.on("qib"):
            v["queue_in_bytes_"] = "true"
        if p["meanpkt"] != "":
            v["mean_pktsize_"] = p["meanpkt"]
        for variable, value in _pairs(p["qset"], "qset"):
            if variable in v:
                v[variable] = value
            elif variable in FIXED_QUEUE[family]:
                if not _same(value, FIXED_QUEUE[family][variable]):
                    raise NotExpressible(f"qset {variable}={value}")
            elif variable not in INERT_QUEUE[family]:
                raise NotExpressible(f"qset {variable} of queue class {name}")
        return v

    def aqm(self, name: str, limit: int) -> tuple[Table, object]:
        """`[aqm]` and the buffer for queue class `name` with `limit` packets."""
        v = self.queue(name)
        mean = _integer(v["mean_pktsize_"], "mean_pktsize_")
        if mean < 1:
            raise NotExpressible(f"mean_pktsize_ = {mean}")
        if name == "DropTail":
            if not _truth(v["queue_in_bytes_"], "queue_in_bytes_"):
                return {"kind": "droptail"}, limit
            # Dropped where the waiting bytes with the arriving packet's reach limit * mean, the one being sent apart.
            return {"kind": "droptail", "count_in_service": False}, size(limit * mean - 1)
        if name == "REM":
            in_bytes = _truth(v["qib_"], "qib_")
            table: Table = {
                "kind": "rem",
                "ecn": _truth(v["markpkts_"], "markpkts_"),
                "phi": _number(v["phi_"], "phi_"),
                "gamma": _number(v["gamma_"], "gamma_"),
                "b_star": _number(v["pbo_"], "pbo_"),
                "period": seconds(_number(v["pupdtime_"], "pupdtime_")),
            }
            if not _same(v["inw_"], "1"):
                raise NotExpressible(f"qset inw_={v['inw_']} (REM's smoothing of the arrival rate)")
            if in_bytes:
                table.update(byte_mode=True, count_in_service=False)
        elif name == "PI":
            in_bytes = _truth(v["queue_in_bytes_"], "queue_in_bytes_")
            table = {
                "kind": "pi",
                "ecn": _truth(v["setbit_"], "setbit_"),
                "a": _number(v["a_"], "a_"),
                "b": _number(v["b_"], "b_"),
                "w": _number(v["w_"], "w_"),
                "q_ref": _number(v["qref_"], "qref_"),
            }
            if _truth(v["bytes_"], "bytes_"):
                table["byte_mode"] = True
        else:
            in_bytes = _truth(v["queue_in_bytes_"], "queue_in_bytes_")
            table = RED_FAMILY[name](v, self.num("bw") / (8.0 * mean))
            if table["kind"] == "mecn" and self.classic_senders():
                table = _mecn_for_classic(table)
        table["mean_packet"] = size(mean)
        if not in_bytes:
            return table, limit
        table["unit"] = "bytes"
        # REM counts the arriving packet, as DropTail does. RED and PI look at what waits alone: there is room for a
        # packet of any size until that reaches the limit. (Ours always counts it; so this is exact for full packets.)
        return table, size(limit * mean - 1 + (0 if name == "REM" else self.full_packet()))

    # ------------------------------------------------------------------- traffic

    def has_tcp(self) -> bool:
        """Whether any flow is TCP."""
        return self.p["topo"] == "parkinglot" or any(self.whole(k) > 0 for k in ("n1", "n2", "nrev", "web"))

    def classic_senders(self) -> bool:
        """Whether what is ECN-capable is so in the classic way."""
        return self.has_tcp() and self.tcp().get("ecn") == "classic"

    def tcp(self) -> Table:
        """The keys of every TCP flow."""
        p = self.p
        if p["tcp"] not in VARIANTS:
            raise NotExpressible(f"tcp {p['tcp']}")
        vegas, mecn = p["tcp"] == "Vegas", p["tcp"] == "MecnReno"
        v = {"packetSize_": p["pkt"], "window_": p["window"], "ecn_": p["ecn"]}
        levels = dict(MECN_TCP)
        table: Table = {"tcp": VARIANTS[p["tcp"]]}
        for variable, value in _pairs(p["tcpset"], "tcpset"):
            if variable in v:
                v[variable] = value
            elif variable in TCP_TIMES:
                key, stock = TCP_TIMES[variable]
                if not _same(value, stock):
                    table[key] = seconds(_number(value, variable))
            elif variable == "windowInit_":
                table["initial_window"] = _integer(value, variable)
            elif variable == "singledup_":
                table["limited_transmit"] = _truth(value, variable)
            elif variable == "useHeaders_":
                # Vegas adds none as it is.
                if not _truth(value, variable) and not vegas:
                    table["header"] = "0 B"
            elif variable in levels:
                levels[variable] = value  # read by no other class
            elif variable in FIXED_TCP:
                if not _same(value, FIXED_TCP[variable]):
                    raise NotExpressible(f"tcpset {variable}={value}")
            elif variable not in INERT_TCP:
                raise NotExpressible(f"tcpset {variable}")
        # ns-2's Vegas sends no capable packet, whatever ecn_ says.
        if _truth(v["ecn_"], "ecn_") and mecn:
            table.update(self.levels(levels))
        elif _truth(v["ecn_"], "ecn_") and not vegas:
            table["ecn"] = "classic"
        table["segment"] = size(_integer(v["packetSize_"], "packetSize_"))
        table["window"] = _integer(v["window_"], "window_")
        if self.on("delack"):
            table["delayed_ack"] = True
        return table

    def levels(self, v: Mapping[str, str]) -> Table:
        """The keys of a sender and a receiver of multi-level ECN, from the class variables of the one."""
        mode = _integer(v["mecnMode_"], "mecnMode_")
        if mode not in range(len(MECN_MODES)):
            raise NotExpressible(f"tcpset mecnMode_={mode}")
        table: Table = {
            "ecn": "mecn",
            "incipient": MECN_MODES[mode],
            "beta1": _number(v["mecnB1_"], "mecnB1_"),
            "beta2": _number(v["mecnB2_"], "mecnB2_"),
            "escalate": _truth(v["mecnEscalate_"], "mecnEscalate_"),
            "latch": self.on("latch"),
        }
        if _truth(v["mecnFloor_"], "mecnFloor_"):
            table["cwnd_floor"] = 1
        return table

    def ftp(
        self, key: str, n: int, start: str, *, gap: float = 0.0, stop: float = -1.0, window: int = 0
    ) -> list[Table]:
        """The entries of `n` long-lived flows: one, or one a flow where a single entry cannot tell their starts."""
        entry: Table = {"kind": "ftp", "name": key, "flows": n}
        if key == "rev":
            entry["direction"] = "reverse"
        entry.update(self.tcp())
        if window > 0:
            entry["window"] = window
        if stop >= 0:
            entry["stop"] = seconds(stop)
        spec = self.spec(start)
        begin = _start(spec, gap, n)
        if begin is not None:
            return [{**entry, "start": begin}]
        near, far = (self.spec(k).of(n) for k in ("adelay1", "adelay2"))
        if key == "rev" or far.kind == "linear":
            raise NotExpressible(f"{start} = {self.p[start]} together with adelay2 = {self.p['adelay2']}")
        entries = []
        for i in range(n):
            one = _start(spec.flow(i, n).shifted(i * gap), 0.0, 1)
            alone = {**entry, "name": f"{key}.{i}", "flows": 1, "start": one}
            if near.kind == "linear":
                alone["access_delay"] = near.flow(i, n).delay()
            entries.append(alone)
        return entries

    def udp(self) -> list[Table]:
        """Constant-rate and Poisson sources."""
        entries: list[Table] = []
        for kind in ("cbr", "poisson"):
            if self.num(kind) <= 0:
                continue
            n = self.whole("cbrn") if kind == "cbr" else 1
            entry: Table = {
                "kind": kind,
                "name": kind,
                "flows": n,
                "rate": rate(self.num(kind) / n),  # of each flow
                "packet": size(self.whole("cbrpkt" if kind == "cbr" else "poispkt")),
            }
            if kind == "cbr" and self.on("cbrrandom"):
                entry["jitter"] = 0.5
            start = _start(self.spec("cbrstart"), 0.0, n)
            if start is None:
                raise NotExpressible(f"cbrstart = {self.p['cbrstart']} (descending)")
            entries.append({**entry, "start": start})
        return entries

    def web(self) -> list[Table]:
        """Web sessions."""
        n = self.whole("web")
        if n <= 0:
            return []
        start = _start(self.spec("webstart"), 0.0, n)
        if start is None:
            raise NotExpressible(f"webstart = {self.p['webstart']} (descending)")
        tcp, pairs = self.tcp(), self.whole("webpairs")
        extra: Table = {}
        if pairs > n:  # those beyond the sessions stay idle, but linear delays count them
            near, far = self.spec("adelay1").of(pairs), self.spec("adelay2").of(pairs)
            if far.kind == "linear":
                raise NotExpressible(f"webpairs = {pairs} for {n} sessions with adelay2 = {self.p['adelay2']}")
            if near.kind == "linear":
                last = near.flow(n - 1, pairs).high
                extra["access_delay"] = Spec("linear", near.low, last).of(n).delay() if n > 1 else seconds(near.low)
            pairs = n
        packet = int(str(tcp["segment"]).split()[0])
        pareto = {
            "shape": self.num("webshape"),
            "mean": size(self.num("webmean") * packet),
            "max": size(self.whole("webmax") * packet),
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
                "think": {"exponential": seconds(self.num("webthink"))},
            }
        ]

    # ------------------------------------------------------------------- the whole

    def dumbbell(self) -> tuple[Table, list[Table]]:
        """Topology and long-lived flows of a dumbbell."""
        traffic: list[Table] = []
        if (n := self.whole("n1")) > 0:
            traffic += self.ftp("f1", n, "start1", stop=self.num("stop1"))
        if (n := self.whole("n2")) > 0:
            more = {"gap": self.num("gap2"), "stop": self.num("stop2")}
            traffic += self.ftp("f2", n, "start2", **more, window=self.whole("window2"))
        if (n := self.whole("nrev")) > 0:
            traffic += self.ftp("rev", n, "startrev")
        return {"kind": "dumbbell", "bottleneck": {}}, traffic

    def parking_lot(self) -> tuple[Table, list[Table]]:
        """Topology and long-lived flows of a chain of equal links."""
        hops = self.whole("hops")
        traffic: list[Table] = []
        counts = [_integer(c, "plin") for c in self.p["plin"].split()]
        for k, n in enumerate(counts[:hops]):
            if n > 0:
                entries = self.ftp(f"long{k}", n, "start1")
                traffic += [{**e, "from": f"R{k}"} for e in entries]
        cross = self.whole("plcross")
        return {"kind": "parking-lot", "hops": hops, "cross_flows": max(cross, 0), "link": {}}, traffic

    def full_packet(self) -> int:
        """Bytes on the wire of the largest kind of packet that most of the traffic is made of."""
        if self.has_tcp():
            tcp = self.tcp()
            bare = tcp["tcp"] == "vegas" or tcp.get("header") == "0 B"
            return int(str(tcp["segment"]).split()[0]) + (0 if bare else 40)
        udp = (("cbrpkt", "cbr"), ("poispkt", "poisson"))
        return max((self.whole(k) for k, on in udp if self.num(on) > 0), default=0)

    def access_can_fill(self) -> bool:
        """Whether any access link could ever hold as many packets as it may; if not, its limit says nothing."""
        window = max(_integer(str(self.tcp()["window"]), "window"), self.whole("window2"))
        shared = -(-self.whole("web") // max(self.whole("webpairs"), 1))
        udp = max(self.num("cbr") / max(self.whole("cbrn"), 1), self.num("poisson"))
        return max(window, shared * window) >= self.whole("abuf") - 1 or udp >= self.num("abw")

    def scenario(self, name: str) -> Table:
        """The whole case."""
        if self.p["topo"] not in {"dumbbell", "parkinglot"}:
            # The script builds a parking lot for whatever is no dumbbell, but with a single hop.
            raise NotExpressible(f"topo {self.p['topo']}")
        chain = self.p["topo"] == "parkinglot"
        topology, traffic = self.parking_lot() if chain else self.dumbbell()
        aqm, buffer = self.aqm(self.p["q"], self.whole("buf"))
        if self.p["rq"] == "same":
            reverse, reverse_buffer = self.aqm(self.p["q"], self.whole("buf"))
        else:
            reverse, reverse_buffer = self.aqm(self.p["rq"], self.whole("rbuf"))
        topology["link" if chain else "bottleneck"] = {
            "rate": rate(self.num("bw")),
            "delay": seconds(self.num("delay")),
            "buffer": buffer,
            "reverse_buffer": reverse_buffer,
        }
        for side, key in (("access", "adelay1"), ("egress", "adelay2")):
            topology[side] = {"rate": rate(self.num("abw")), "delay": self.spec(key).delay()}
            if self.access_can_fill():
                topology[side]["buffer"] = max(self.whole("abuf") - 1, 0)  # DropTail's limit - 1
        start, end = self.num("t0"), self.num("t1")
        if reverse != {"kind": "droptail"}:
            aqm = {**aqm, "reverse": reverse}
        return {
            "name": name,
            "profile": "ns-2",
            "duration": seconds(max(self.num("dur"), end)),
            "measure": {"from": seconds(start), "to": seconds(end)},
            "seed": 1,
            "topology": topology,
            "aqm": aqm,
            "traffic": traffic + self.udp() + self.web(),
        }


def _red(v: Mapping[str, str], pkts_per_s: float) -> Table:
    """`[aqm]` of RED's class variables, but for the unit and the mean packet. The link sends `pkts_per_s` of those."""
    linterm = _number(v["linterm_"], "linterm_")
    if linterm <= 0:
        raise NotExpressible(f"linterm = {v['linterm_']}")
    weight = _number(v["q_weight_"], "q_weight_")
    adaptive = _same(v["adaptive_"], "1")
    feng = adaptive and _same(v["feng_adaptive_"], "1")
    table: Table = {
        "kind": "feng-ared" if feng else "ared" if adaptive else "red",
        "ecn": _truth(v["setbit_"], "setbit_"),
        "max_p": 1.0 / linterm,
        "gentle": _truth(v["gentle_"], "gentle_"),
        "gate": "wait" if _truth(v["wait_"], "wait_") else "uniform",
        # Off: a capable packet is marked at any probability below one.
        "mark_p": _number(v["mark_p_"], "mark_p_") if _truth(v["use_mark_p_"], "use_mark_p_") else 1.0,
    }
    # Zero asks ns-2 for its automatic value; ours is the same formula.
    for variable, key in (("thresh_", "min_th"), ("maxthresh_", "max_th")):
        if (value := _number(v[variable], variable)) != 0:
            table[key] = value
    if weight in (0.0, -1.0):
        table["w_q"] = "auto" if weight == 0 else "rtt"
    elif weight == -2:
        table["w_q"] = 1.0 - math.exp(-10.0 / pkts_per_s)
    else:
        table["w_q"] = weight
    table["target_delay"] = seconds(_number(v["targetdelay_"], "targetdelay_"))
    if _truth(v["bytes_"], "bytes_"):
        table["byte_mode"] = True
    if feng:
        table.update(decrease=_number(v["alpha_"], "alpha_"), increase=_number(v["beta_"], "beta_"))
    elif adaptive:
        table.update(
            alpha=_number(v["alpha_"], "alpha_"),
            beta=_number(v["beta_"], "beta_"),
            interval=seconds(_number(v["interval_"], "interval_")),
            max_p_high=_number(v["top_"], "top_"),
        )
        if (bottom := _number(v["bottom_"], "bottom_")) != 0:
            table["max_p_low"] = bottom
    return table


def _thresholds(v: Mapping[str, str], pkts_per_s: float) -> tuple[float, float]:
    """min_th and max_th in packets, ns-2's automatic values where they are left out."""
    low, high = (_number(v[variable], variable) for variable in ("thresh_", "maxthresh_"))
    low = low or max(5.0, _number(v["targetdelay_"], "targetdelay_") * pkts_per_s / 2.0)
    return low, high or 3.0 * low


def _child(v: Mapping[str, str], pkts_per_s: float, kind: str) -> Table:
    """`[aqm]` of what a child of RED shares with it: all but the ramp's ceiling and its adapter."""
    table = _red({**v, "adaptive_": "0"}, pkts_per_s)
    low, high = _thresholds(v, pkts_per_s)
    table.update(kind=kind, min_th=low, max_th=high)
    del table["target_delay"]
    return table


def _no_adapter(v: Mapping[str, str], queue: str) -> None:
    if not _same(v["adaptive_"], "0"):
        raise NotExpressible(f"adaptive of queue class {queue}")


def _mecn(v: Mapping[str, str], pkts_per_s: float) -> Table:
    """RED/MECN: its marks know no mark_p, and its gentle ramp starts at the P_max in force."""
    _no_adapter(v, "RED/MECN")
    adaptive = _truth(v["m_adapt_"], "m_adapt_")
    table = _child(v, pkts_per_s, "amecn" if adaptive else "mecn")
    p1, fixed = table.pop("max_p"), _number(v["p2fix_"], "p2fix_")
    gentle, drops = table.pop("gentle"), _truth(v["m_gdrop_"], "m_gdrop_")
    table["mark_p"] = 1.0
    ratio = _number(v["p2ratio_"], "p2ratio_")
    table.update(
        mid_th=_number(v["mid_"], "mid_") or 2.25 * table["min_th"],
        p1_max=p1,
        above_max="drop" if not gentle else "gentle-drop" if drops else "gentle-mark",
    )
    if fixed > 0 or not adaptive:
        table["p2_max"] = fixed if fixed > 0 else min(p1 * ratio, 1.0)
    if adaptive:
        table.update(
            interval=seconds(_number(v["interval_"], "interval_")),
            alpha_scale=_number(v["m_ascale_"], "m_ascale_"),
            deadband=not _truth(v["m_inside_"], "m_inside_"),
            adapt="p1" if fixed > 0 else "both",
        )
        if fixed <= 0:
            table["p2_over_p1"] = ratio
    return table


def _mecn_for_classic(mecn: Table) -> Table:
    """To a classic sender's packet, which it can tell from a MECN one, that queue is RED with the incipient ramp."""
    table = {k: x for k, x in mecn.items() if k not in {"mid_th", "p1_max", "p2_max", "above_max"}}
    p1, above = mecn["p1_max"], mecn["above_max"]
    gentle = above != "drop"
    # The gentle ramp, which begins above p1_max, drops or marks.
    table.update(kind="red", max_p=p1, gentle=gentle, mark_p=p1 if above == "gentle-drop" else 1.0)
    return table


def _rared(v: Mapping[str, str], pkts_per_s: float) -> Table:
    """RED/RARED, on RED or on ARED."""
    if _same(v["adaptive_"], "1") and not _same(v["feng_adaptive_"], "1"):
        table = _red(v, pkts_per_s)  # with the adapter's keys
        table["base"] = "ared"
        table["min_th"], table["max_th"] = _thresholds(v, pkts_per_s)
        del table["target_delay"]
    else:
        _no_adapter(v, "RED/RARED")
        table = _child(v, pkts_per_s, "rared")
    table.update(
        kind="rared",
        slope_th=_number(v["slope_th_"], "slope_th_"),
        max_p_climb=_number(v["maxp2_"], "maxp2_"),
        climb="ramp" if _truth(v["rmode_"], "rmode_") else "bernoulli",
        slope_of="instantaneous" if _truth(v["rsrc_"], "rsrc_") else "average",
    )
    return table


def _nred(v: Mapping[str, str], pkts_per_s: float) -> Table:
    """RED/NRED: a curve up to the limit instead of the ramp."""
    _no_adapter(v, "RED/NRED")
    table = _child(v, pkts_per_s, "nred")
    del table["max_p"], table["gentle"]
    if not _truth(v["n_gate_"], "n_gate_"):
        table["gate"] = "geometric"
    table.update(
        n_0=_number(v["n_0_"], "n_0_"), n_min=_number(v["n_min_"], "n_min_"), n_max=_number(v["n_max_"], "n_max_")
    )
    return table


def _red_at(v: Mapping[str, str], pkts_per_s: float) -> Table:
    """RED/REDAT."""
    _no_adapter(v, "RED/REDAT")
    table = _child(v, pkts_per_s, "red-at")
    for th, variable in (("min", "at_dmin_"), ("max", "at_dmax_")):
        nominal, width = table[f"{th}_th"], _number(v[variable], variable)
        table.update({f"{th}_lo": nominal * (1.0 - width), f"{th}_hi": nominal * (1.0 + width)})
    table.update(
        alpha=_number(v["at_alpha_"], "at_alpha_"),
        beta=_number(v["at_beta_"], "at_beta_"),
        hold=_integer(v["at_hold_"], "at_hold_"),
        region_a="min_minus" if _truth(v["at_region_"], "at_region_") else "min_plus",
        reset=_truth(v["at_reset_"], "at_reset_"),
    )
    return table


def _blue(v: Mapping[str, str], _pkts_per_s: float) -> Table:
    """RED/BLUE: nothing of RED but the place in the tree of classes."""
    table: Table = {
        "kind": "blue",
        "ecn": _truth(v["setbit_"], "setbit_"),
        "d1": _number(v["b_d1_"], "b_d1_"),
        "d2": _number(v["b_d2_"], "b_d2_"),
        "freeze_time": seconds(_number(v["b_freeze_"], "b_freeze_")),
    }
    if (limit := _number(v["b_limit_"], "b_limit_")) > 0:
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


def scenario(name: str, args: Mapping[str, object]) -> Table:
    """The case as a scenario document, ready for JSON.

    name: of the scenario. args: the case's arguments, strings or numbers.
    Raises NotExpressible, with the reason, for what has no counterpart.

    >>> scenario("one", {"bw": 1e6, "q": "RED", "thresh": 5, "maxthresh": 15})["aqm"]["max_th"]
    15.0
    """
    return _Case(args).scenario(name)


def forward_flows(args: Mapping[str, object]) -> int:
    """How many long-lived forward flows the case has: those of goodput and fairness."""
    case = _Case(args)
    if case.p["topo"] == "parkinglot":
        return _chain_flows(case)
    return max(case.whole("n1"), 0) + max(case.whole("n2"), 0)


def _chain_flows(case: _Case) -> int:
    hops = case.whole("hops")
    through = sum(max(_integer(c, "plin"), 0) for c in case.p["plin"].split()[:hops])
    return through + hops * max(case.whole("plcross"), 0)


def deterministic(args: Mapping[str, object], seeds: int) -> bool:
    """Whether the case is one flow without any random element (but for the phase of TCP's clock)."""
    case = _Case(args)
    if case.p["topo"] == "parkinglot":
        long_lived = _chain_flows(case)
    else:
        long_lived = sum(max(case.whole(k), 0) for k in ("n1", "n2", "nrev"))
    udp = case.whole("cbrn") if case.num("cbr") > 0 else 0
    specs = ("adelay1", "adelay2", "start1", "start2", "startrev", "cbrstart")
    chance = any(case.spec(k).random for k in specs) or (udp > 0 and case.on("cbrrandom"))
    chance = chance or case.num("poisson") > 0 or case.whole("web") > 0
    chance = chance or case.p["q"] != "DropTail" or case.p["rq"] not in {"DropTail", "same"}
    chance = chance or any(k == "overhead_" and not _same(v, "0") for k, v in _pairs(case.p["tcpset"], "tcpset"))
    return seeds == 1 and not chance and long_lived + udp == 1
