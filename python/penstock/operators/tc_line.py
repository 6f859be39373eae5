"""A queue discipline's arguments without its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.operators.model import Range, Value, ranges

#: An Ethernet frame as the kernel counts it: 1500 B and the header.
FRAME = 1514
#: tc and the kernel keep most numbers in 32 bits.
U32 = 2**32 - 1
#: include/net/red.h: a threshold of RED, shifted by the weight's exponent, stays below 2^31.
_RED = "Linux, include/net/red.h: red_check_params"
_TIME = "iproute2, tc/tc_util.c: get_time, in 32 bits of microseconds"
_SIZE = "iproute2, tc/tc_util.c: get_size, in 32 bits"
_NUMBER = "iproute2, tc/tc_util.c: get_unsigned, in 32 bits"
#: What tc and the kernel take.
RANGES = ranges(
    Range(name="red limit", low=1, high=U32, unit="B", source=_SIZE),
    Range(name="red min", low=1, high=2**30 - 2, unit="B", source=_RED),
    Range(name="red max", low=2, high=2**30 - 1, unit="B", source=_RED),
    Range(name="red probability", low=1, high=U32, unit="/ 2^32", source="iproute2, tc/q_red.c; 0 is none"),
    Range(name="red average", low=1, high=30, source="iproute2, tc/tc_red.c: n of the weight 2^-n; " + _RED),
    Range(
        name="choke limit",
        low=1,
        high=128 * 1024 - 1,
        unit="packets",
        source="Linux, net/sched/sch_choke.c: CHOKE_MAX_QUEUE",
    ),
    Range(name="choke min", low=1, high=2**30 - 2, unit="packets", source=_RED),
    Range(name="choke max", low=2, high=2**30 - 1, unit="packets", source=_RED),
    Range(name="codel limit", low=1, high=U32, unit="packets", source=_NUMBER),
    Range(name="codel target", low=2, high=U32, unit="us", source=_TIME),
    Range(name="codel interval", low=2, high=U32, unit="us", source=_TIME),
    Range(name="codel ce_threshold", low=2, high=U32, unit="us", source=_TIME),
    Range(name="fq_codel flows", low=1, high=65536, source="Linux, net/sched/sch_fq_codel.c: fq_codel_change"),
    Range(name="fq_codel quantum", low=256, high=2**20, unit="B", source="Linux, net/sched/sch_fq_codel.c"),
    Range(name="fq_codel drop_batch", low=1, high=U32, unit="packets", source=_NUMBER),
    Range(name="fq_codel memory_limit", low=1, high=2**31, unit="B", source="Linux, net/sched/sch_fq_codel.c"),
    Range(name="pie limit", low=1, high=U32, unit="packets", source=_NUMBER),
    Range(name="pie target", low=1, high=U32, unit="us", source=_TIME),
    Range(name="pie tupdate", low=1, high=U32, unit="us", source=_TIME),
    Range(name="pie alpha", low=1, high=32, unit="/ 16", source="iproute2, tc/q_pie.c: ALPHA_MAX; 0 is not sent"),
    Range(name="pie beta", low=1, high=32, unit="/ 16", source="iproute2, tc/q_pie.c: BETA_MAX; 0 is not sent"),
    Range(name="fq_pie flows", low=1, high=65536, source="Linux, net/sched/sch_fq_pie.c: fq_pie_change"),
    Range(name="fq_pie quantum", low=256, high=2**20, unit="B", source="Linux, net/sched/sch_fq_pie.c"),
    Range(name="fq_pie ecn_prob", low=1, high=100, unit="%", source="Linux, net/sched/sch_fq_pie.c; 0 is not sent"),
    Range(name="dualpi2 limit", low=1, high=U32, unit="packets", source=f"{_NUMBER}; 0 is not sent"),
    Range(name="dualpi2 memlimit", low=2304, high=U32, unit="B", source="iproute2, tc/q_dualpi2.c; a full frame"),
    Range(name="dualpi2 target", low=1, high=U32, unit="us", source=f"{_TIME}; 0 is not sent"),
    Range(name="dualpi2 tupdate", low=1, high=U32 // 1000, unit="us", source="Linux, sch_dualpi2.c: 32 bits of ns"),
    Range(name="dualpi2 alpha", low=1, high=2**16, unit="/ 256", source="Linux, sch_dualpi2.c; at most 256 here"),
    Range(name="dualpi2 beta", low=1, high=2**16, unit="/ 256", source="Linux, sch_dualpi2.c; at most 256 here"),
    Range(name="dualpi2 coupling_factor", low=1, high=255, source="Linux, sch_dualpi2.c: dualpi2_policy"),
    Range(name="dualpi2 step_thresh", low=1, high=U32 // 1000, unit="us", source="Linux, sch_dualpi2.c: 32 bits of ns"),
    Range(name="dualpi2 step_thresh packets", low=1, high=10**6, unit="packets", source="at most a million here"),
    Range(name="dualpi2 min_qlen_step", low=0, high=10**6, unit="packets", source="at most a million here"),
    Range(name="dualpi2 classic_protection", low=0, high=100, unit="%", source="Linux, sch_dualpi2.c: MAX_WC"),
    Range(name="cake rtt", low=20, high=U32, unit="us", source=f"{_TIME}; its target is a twentieth of it"),
    Range(name="cake memlimit", low=1, high=U32, unit="B", source=_SIZE),
    Range(
        name="cake bandwidth",
        low=512,
        high=8 * (2**40 - 1),
        unit="bit/s",
        source="Linux, net/sched/sch_cake.c: cake_set_rate",
    ),
    Range(name="sfq limit", low=2, high=127 * 65408, unit="packets", source="iproute2, tc/q_sfq.c; Linux, sch_sfq.c"),
    Range(name="sfq depth", low=1, high=127, unit="packets", source="Linux, net/sched/sch_sfq.c: SFQ_MAX_DEPTH"),
    Range(name="sfq flows", low=1, high=65408, source="Linux, net/sched/sch_sfq.c: SFQ_MAX_FLOWS"),
    Range(name="sfq divisor", low=1, high=65536, source="Linux, net/sched/sch_sfq.c: sfq_change"),
    Range(
        name="sfq quantum",
        low=1,
        high=8 * (2**15 - 1),
        unit="B",
        source="Linux before 6.13, net/sched/sch_sfq.c: 15 bits of 8 B; later ones take more",
    ),
    Range(
        name="sfq perturb", low=1, high=(2**31 - 1) // 1000, unit="s", source="Linux, net/sched/sch_sfq.c; 0 is never"
    ),
    Range(name="sfb limit", low=1, high=U32, unit="packets", source=f"{_NUMBER}; 0 is the interface's txqueuelen"),
    Range(name="sfb max", low=1, high=65535, unit="packets", source="Linux, net/sched/sch_sfb.c: a bin's count"),
    Range(name="sfb target", low=1, high=65535, unit="packets", source="Linux, net/sched/sch_sfb.c: a bin's count"),
    Range(name="sfb increment", low=0, high=65535, unit="/ 65535", source="iproute2, tc/q_sfb.c: get_prob"),
    Range(name="sfb decrement", low=0, high=65535, unit="/ 65535", source="iproute2, tc/q_sfb.c: get_prob"),
    Range(name="sfb penalty_rate", low=0, high=U32, unit="packets/s", source=_NUMBER),
    Range(name="sfb penalty_burst", low=0, high=U32, unit="packets", source=_NUMBER),
    Range(name="sfb rehash", low=1, high=2**31 - 1, unit="ms", source="Linux, net/sched/sch_sfb.c; 0 is never"),
    Range(name="sfb db", low=0, high=2**31 - 1, unit="ms", source="Linux, net/sched/sch_sfb.c; 0 is never"),
    Range(name="pfifo limit", low=1, high=U32, unit="packets", source=_NUMBER),
    Range(name="bfifo limit", low=1, high=U32, unit="B", source=_SIZE),
    # The bucket is two frames, or what a tick of the timer lets through, and its time has 32 bits of
    # 64 ns.
    Range(name="tbf rate", low=100, high=8 * 250 * U32, unit="bit/s", source="iproute2, tc/q_tbf.c; Linux, sch_tbf.c"),
    Range(name="tbf limit", low=1, high=U32, unit="B", source=_SIZE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A qdisc without its place.

    arguments: after the qdisc's name; more than one where it takes several commands.
    readback: the options that `tc -d -j qdisc show` will report, all of them. tins: what `-s` adds
        of CAKE's. shapes: whether it makes the rate itself.
    """

    qdisc: str
    arguments: tuple[str, ...]
    values: tuple[Value, ...]
    aqm: Mapping[str, Any]
    buffer: str
    readback: Mapping[str, Any]
    tins: tuple[Mapping[str, Any], ...] = ()
    shapes: bool = False
    lost: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
