"""Every field that `tc -s -d qdisc show` prints, for each queue discipline: what becomes of it.

Facts: the printers of iproute2 (tc/q_*.c, tc/tc_qdisc.c, tc/tc_util.c, tc/tc_stab.c) and what
Linux's net/sched/sch_*.c do with a value. A field is *carried* to a key of the scenario, or *lost*
with what that costs, or it counts something (`STATISTICS`). Tests give each one a value of its own
and look for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.operators.tc_cake import ISOLATION, TINS
from penstock.operators.tc_forms import Form


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a state.

    form: how it is written.
    to: the key of the scenario that carries it; empty where none does.
    lost: what it costs that none does, without the field's name; empty where one does.
    new: what a new queue discipline reports where its command does not say it; `None`: nothing.
    harmless: at which values nothing is lost; empty: at `new` alone.
    text: what the text calls it; empty: as JSON does.
    words: words of the text that stand for a value by themselves.
    """

    form: Form
    to: str = ""
    lost: str = ""
    new: Any = None
    harmless: tuple[Any, ...] = ()
    text: str = ""
    words: Mapping[str, Any] = field(default_factory=dict)

    def costs(self, value: Any) -> bool:
        """Returns whether a value loses something."""
        return bool(self.lost) and value not in (self.harmless or (self.new,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Qdisc:
    """A queue discipline of Linux.

    fields: JSON's name → what becomes of it.
    above: of one that stands above others: what a scenario, which has one queue, loses by it.
    """

    fields: Mapping[str, Field]
    above: str = ""


COUNT, SIZE, TIME, RATE, NUMBER = Form.COUNT, Form.SIZE, Form.TIME, Form.RATE, Form.NUMBER


def carried(form: Form, to: str, new: Any = None, **more: Any) -> Field:
    """Returns a field that the scenario has."""
    return Field(form=form, to=to, new=new, **more)


def lost(form: Form, why: str, new: Any = None, **more: Any) -> Field:
    """Returns a field that the scenario has not."""
    return Field(form=form, lost=why, new=new, **more)


def flag(name: str, to: str = "", why: str = "", **more: Any) -> Field:
    """Returns a flag, which the text says by its own name alone."""
    words = {name: True, **more.pop("words", {})}
    return Field(form=Form.FLAG, to=to, lost=why, new=more.pop("new", False), words=words)


_IDLE = "how fast the average decays while the link is idle"
_NODROP = (
    "the box lets packets pass that may not be marked, up to its limit; the scenario drops them where it would mark. "
    "Where no sender uses ECN the box is a plain queue"
)
_RED_FLAGS = {
    "ecn": flag("ecn", "aqm.ecn"),
    "harddrop": flag("harddrop", "aqm.forced"),
    "adaptive": flag(
        "adaptive", why="max_p stands still, as it does with tc and kernels since 5.7; an older kernel moves it"
    ),
    "nodrop": flag("nodrop", why=_NODROP),
}
_RED_DETAILS = {
    "ewma": carried(COUNT, "aqm.w_q"),
    "probability": carried(NUMBER, "aqm.max_p"),
    "Plog": carried(COUNT, "aqm.max_p"),
    "Scell_log": lost(COUNT, _IDLE),
}


def _ends(form: Form) -> dict[str, Field]:
    return {"min": carried(form, "aqm.min_th"), "max": carried(form, "aqm.max_th")}


def _red(form: Form) -> dict[str, Field]:
    return {"limit": carried(form, "topology.bottleneck.buffer"), **_ends(form), **_RED_FLAGS, **_RED_DETAILS}


_CE = "aqm.ce_threshold"
_BUFFER = "topology.bottleneck.buffer"
_FRAMING = "what a packet takes of the rate beside its own bytes"
_ACKS = "ACKs that newer ones make superfluous are dropped; the scenario sends them all, which matters on a thin uplink"

_BURSTS = (
    "bursts of up to 64 kB from the network card stay together, so that others wait for them; the scenario "
    "sends packet by packet"
)

_PIE = {
    "limit": carried(COUNT, _BUFFER, 1000),
    "target": carried(Form.PIE, "aqm.qdelay_ref", 15000),
    "tupdate": carried(TIME, "aqm.t_update", 16000),
    "alpha": carried(COUNT, "aqm.alpha", 2),
    "beta": carried(COUNT, "aqm.beta", 20),
    "ecn": flag("ecn", "aqm.ecn", words={"noecn": False}),
    "bytemode": flag("bytemode", "aqm.bytemode", words={"nobytemode": False}),
    "dq_rate_estimator": flag("dq_rate_estimator", "aqm.delay_from", words={"no_dq_rate_estimator": False}),
}
_CODEL = {
    "limit": carried(COUNT, _BUFFER, 1000),
    "target": carried(Form.CODEL, "aqm.target", 4999),
    "ce_threshold": carried(Form.CODEL, _CE),
    "interval": carried(Form.CODEL, "aqm.interval", 99999),
    "ecn": flag("ecn", "aqm.ecn", words={"noecn": False}),
}
_CAKE = {
    "bandwidth": carried(RATE, "topology.bottleneck.rate", "unlimited"),
    "autorate": lost(
        Form.NAME,
        "the box follows the rate that it measures; the scenario's stands still",
        words={"autorate-ingress": "autorate-ingress"},
    ),
    "diffserv": carried(Form.NAME, "aqm.tins", "diffserv3", words={word: word for word in TINS}),
    "flowmode": carried(Form.NAME, "aqm.isolation", "triple-isolate", words={word: word for word in ISOLATION}),
    "nat": flag("nat", why="the box tells hosts behind a NAT apart; the scenario has no NAT", words={"nonat": False}),
    "wash": flag(
        "wash",
        why="the box clears the DSCP of what it sends, so that later queues have no classes",
        words={"nowash": False},
    ),
    "ingress": flag(
        "ingress", why="what is dropped counts against the rate, too; in the scenario only what is sent does"
    ),
    "ack-filter": lost(
        Form.NAME,
        _ACKS,
        "disabled",
        words={"ack-filter": "enabled", "ack-filter-aggressive": "aggressive", "no-ack-filter": "disabled"},
    ),
    "split_gso": flag(
        "split-gso",
        why=_BURSTS,
        words={"no-split-gso": False},
        new=True,
    ),
    "rtt": carried(TIME, "aqm.rtt", 100000),
    "raw": flag("raw", why=_FRAMING, new=True),
    "atm": lost(Form.NAME, _FRAMING, "noatm", words={word: word for word in ("atm", "ptm", "noatm")}),
    "overhead": lost(COUNT, _FRAMING, 0),
    "mpu": lost(COUNT, "a packet counts at least so many bytes of the rate; in the scenario its own size", 0),
    "memlimit": carried(SIZE, "aqm.memory_limit", 0),
    "fwmark": lost(Form.NAME, "the firewall's mark chooses a packet's tin; the scenario has one", "0"),
}
_TBF = {
    "rate": carried(RATE, "topology.bottleneck.rate"),
    "burst": lost(Form.CELL, "after a pause so much leaves at once, at the speed of the interface"),
    "mpu": lost(SIZE, "a packet counts at least so many bytes of the rate; in the scenario its own size", 0),
    "peakrate": lost(RATE, "no burst is faster than this; in the scenario nothing is faster than the rate"),
    "mtu": lost(Form.CELL, "so much leaves at once at the peak rate"),
    "minburst": lost(SIZE, "so much leaves at once at the peak rate"),
    "lat": carried(TIME, _BUFFER),
    "limit": carried(SIZE, _BUFFER),
    "overhead": lost(COUNT, _FRAMING, 0),
    "linklayer": lost(Form.NAME, _FRAMING, "ethernet"),
}
_BANDS = {"bands": lost(COUNT, "the box serves so many queues by priority; the scenario has one")}
_PRIO = {
    **_BANDS,
    "priomap": lost(Form.LIST, "a packet's priority (TOS) chooses its queue; the scenario has one"),
    "multiqueue": flag("multiqueue", why="queues of the hardware stand for the bands"),
}
_WAYS = "packets are delayed, lost or changed on purpose; the scenario has the links' delay and `loss` for that"
_NETEM = {
    "limit": lost(COUNT, "so many packets may be on their way at once; on the scenario's link any number", 1000),
    **{
        name: lost(Form.WORDS, _WAYS)
        for name in (
            *("delay", "loss", "loss-random", "loss-state", "loss-gemodel", "duplicate", "reorder", "corrupt"),
            *("rate", "slot", "seed"),
        )
    },
    "ecn": flag("ecn", why=_WAYS),
    "gap": lost(COUNT, _WAYS, 0),
}
_HTB = {
    "r2q": lost(COUNT, "quanta of classes follow from it; the scenario has no classes", 10),
    "default": lost(Form.NAME, "packets that no filter sorts go to this class; the scenario has one queue for all"),
    "direct_qlen": lost(COUNT, "so many packets that belong to no class may wait; the scenario has no classes", 1000),
    "offload": flag("offload", why="the hardware shares the rate"),
}
#: Queue discipline → its fields, as `options` has them.
QDISCS: Mapping[str, Qdisc] = {
    "red": Qdisc(fields={**_red(SIZE), "qevents": lost(Form.WORDS, "filters act on what is dropped or marked")}),
    "gred": Qdisc(
        fields={
            "dp_cnt": lost(COUNT, "so many virtual queues, each with thresholds of its own", 1, text="vqs"),
            "dp_default": lost(COUNT, "packets that no filter sorts go to this virtual queue", 0, text="default"),
            "grio": flag("grio", why="a virtual queue's average counts those of higher priority, too"),
            "limit": carried(SIZE, _BUFFER),
            **_RED_FLAGS,
        }
    ),
    "choke": Qdisc(fields=_red(COUNT)),
    "codel": Qdisc(fields=_CODEL),
    "fq_codel": Qdisc(
        fields={
            **_CODEL,
            "limit": carried(COUNT, "aqm.limit", 10240),
            "ecn": flag("ecn", "aqm.ecn", words={"noecn": False}, new=True),
            "flows": carried(COUNT, "aqm.flows", 1024),
            "quantum": carried(SIZE, "aqm.quantum", 1514),
            "ce_threshold_selector": carried(Form.MASKED, "aqm.ce_selector", 0),
            "ce_threshold_mask": carried(COUNT, "aqm.ce_mask", 0),
            "memory_limit": carried(SIZE, "aqm.memory_limit", 2**25),
            "drop_batch": carried(COUNT, "aqm.drop_batch", 64),
        }
    ),
    "pie": Qdisc(fields=_PIE),
    "fq_pie": Qdisc(
        fields={
            **_PIE,
            "limit": carried(COUNT, "aqm.limit", 10240),
            "flows": carried(COUNT, "aqm.flows", 1024),
            "quantum": carried(SIZE, "aqm.quantum", 1514),
            "memory_limit": lost(SIZE, "the kernel counts it, and lets packets in all the same", 2**25),
            "ecn_prob": carried(COUNT, "aqm.mark_ecnth", 10),
        }
    ),
    "cake": Qdisc(fields=_CAKE),
    "sfq": Qdisc(
        fields={
            "limit": carried(COUNT, "aqm.limit", 127),
            "quantum": carried(SIZE, "aqm.quantum", 1514),
            "depth": carried(COUNT, "aqm.depth", 127),
            "headdrop": flag("headdrop", "aqm.headdrop"),
            "flows": carried(COUNT, "aqm.flows", 128),
            "divisor": carried(COUNT, "aqm.divisor", 1024),
            "perturb": carried(COUNT, "aqm.perturb"),
            **{name: _RED_DETAILS[name] for name in ("ewma", "probability")},
            **_ends(SIZE),
            **_RED_FLAGS,
            "harddrop": flag("harddrop", "aqm.harddrop"),
        }
    ),
    "sfb": Qdisc(
        fields={
            "rehash": carried(TIME, "aqm.rehash", 600_000_000),
            "db": carried(TIME, "aqm.warm_up", 60_000_000),
            "limit": carried(COUNT, _BUFFER, 1000),
            "max": carried(COUNT, "aqm.max", 25),
            "target": carried(COUNT, "aqm.target", 20),
            "increment": carried(NUMBER, "aqm.increment", 0.000503548),
            "decrement": carried(NUMBER, "aqm.decrement", 4.57771e-05),
            "penalty_rate": carried(COUNT, "aqm.penalty_rate", 10),
            "penalty_burst": carried(COUNT, "aqm.penalty_burst", 20),
        }
    ),
    "dualpi2": Qdisc(
        fields={
            "limit": carried(COUNT, "aqm.limit_packets", 10000),
            "memory-limit": carried(SIZE, "aqm.memory", 30280000, text="memlimit"),
            "target": carried(TIME, "aqm.target", 15000),
            "tupdate": carried(TIME, "aqm.t_update", 16000),
            "alpha": carried(NUMBER, "aqm.alpha", 0.15625),
            "beta": carried(NUMBER, "aqm.beta", 3.1953125),
            "step-thresh-pkts": carried(COUNT, "aqm.step_packets", text="step_thresh"),
            "step-thresh-us": carried(TIME, "aqm.step_thresh", 1000, text="step_thresh"),
            "min-qlen-step": carried(COUNT, "aqm.th_len", 0, text="min_qlen_step"),
            "coupling": carried(COUNT, "aqm.k", 2, text="coupling_factor"),
            "drop-overload": carried(
                Form.NAME,
                "aqm.drop_on_overload",
                "drop",
                words={"drop_on_overload": "drop", "overflow": "overflow"},
            ),
            "drop-early": carried(
                Form.NAME,
                "aqm.decides",
                "drop-dequeue",
                words={"drop_enqueue": "drop-enqueue", "drop_dequeue": "drop-dequeue"},
            ),
            "c-protection": carried(Form.PERCENT, "aqm.classic_protection", 10, text="classic_protection"),
            "ecn-mask": carried(
                Form.NAME, "aqm.identify", "l4s-ect", words={"l4s_ect": "l4s-ect", "any_ect": "any-ect"}
            ),
            "split-gso": lost(
                Form.FLAG, _BURSTS, True, harmless=(True,), words={"split_gso": True, "no_split_gso": False}
            ),
        }
    ),
    "pfifo": Qdisc(fields={"limit": carried(COUNT, _BUFFER, 1000)}),
    "bfifo": Qdisc(fields={"limit": carried(SIZE, _BUFFER)}),
    "pfifo_fast": Qdisc(fields={**_PRIO, "bands": lost(COUNT, "three queues by priority; the scenario has one")}),
    "tbf": Qdisc(fields=_TBF),
    "htb": Qdisc(
        fields=_HTB,
        above="it shares the rate among classes, each of which has its queue and may borrow; the scenario has one "
        "queue with a rate of its own (`tc class show` says the rates)",
    ),
    "mq": Qdisc(fields={}, above="each queue of the hardware has such a queue of its own; the scenario has one"),
    "mqprio": Qdisc(
        fields={
            name: lost(Form.WORDS, "classes of traffic have queues of the hardware; the scenario has one")
            for name in ("tc", "map", "queues", "mode", "shaper", "min_rate", "max_rate")
        },
        above="classes of traffic have queues of their own; the scenario has one",
    ),
    "prio": Qdisc(fields=_PRIO, above="it serves several queues by priority; the scenario has one"),
    "ets": Qdisc(
        fields={
            **_BANDS,
            "strict": lost(COUNT, "so many of the queues go before the others; the scenario has one"),
            "quanta": lost(Form.LIST, "the other queues share what is left by these; the scenario has one"),
            "priomap": _PRIO["priomap"],
        },
        above="it serves several queues, some before others; the scenario has one",
    ),
    "drr": Qdisc(fields={}, above="it serves several queues in turn; the scenario has one"),
    "hfsc": Qdisc(
        fields={"default": _HTB["default"]}, above="it shares the rate among classes; the scenario has one queue"
    ),
    "qfq": Qdisc(fields={}, above="it shares the rate among classes; the scenario has one queue"),
    "multiq": Qdisc(fields={}, above="it serves several queues of the hardware; the scenario has one"),
    "netem": Qdisc(fields=_NETEM, above="it delays, loses or changes packets on purpose; the scenario does not"),
    "noqueue": Qdisc(fields={}),
    "clsact": Qdisc(fields={}, above="filters (`tc filter show`) may mark, police or redirect packets"),
    "ingress": Qdisc(fields={}, above="filters (`tc filter show`) may police packets or redirect them to an ifb"),
}
#: The fields of one of gred's virtual queues; their names stand behind `vq N` in messages.
VIRTUAL_QUEUE: Mapping[str, Field] = {
    "vq": lost(COUNT, "its number, by which filters choose it", 0),
    "prio": lost(COUNT, "its priority among the virtual queues", 8),
    **_red(SIZE),
}
#: The size table that any queue discipline may have.
STAB: Mapping[str, Field] = {
    "linklayer": lost(Form.NAME, _FRAMING, "ethernet"),
    "overhead": lost(COUNT, _FRAMING, 0),
    "mpu": lost(COUNT, "a packet counts at least so many bytes of the rate; in the scenario its own size", 0),
    "mtu": lost(COUNT, "packets beyond this size are not in the table of sizes", harmless=(2047, 2048)),
    "tsize": lost(COUNT, "the table of sizes has so many steps", harmless=(512,)),
}
#: What stands beside `options` and says where the queue discipline is.
PLACE = ("kind", "handle", "dev", "root", "parent", "options", "stab", "tins")
#: What stands there and changes what the box does.
OUTER: Mapping[str, Field] = {
    "offloaded": flag("offloaded", why="the hardware runs it, in its own way and with its own limits"),
    "ingress_block": lost(COUNT, "filters shared between interfaces act on what comes in"),
    "egress_block": lost(COUNT, "filters shared between interfaces act on what leaves"),
}
_COUNTED = "refcnt bytes packets drops dropped overlimits requeues backlog qlen rate pps sw_bytes sw_packets hw_bytes"
_RED_COUNTED = "marked early pdrop other"
_SFQ_COUNTED = "prob_mark prob_mark_head prob_drop forced_mark forced_mark_head forced_drop"
_FLOWS = "new_flow_count new_flows_len old_flows_len"
_TIN = (
    "threshold_rate sent_bytes backlog_bytes target_us interval_us peak_delay_us avg_delay_us base_delay_us "
    "sent_packets way_indirect_hits way_misses way_collisions drops ecn_mark ack_drops sparse_flows bulk_flows "
    "unresponsive_flows max_pkt_len flow_quantum"
)
#: Queue discipline → what it counts, beside `options`. "": every one.
STATISTICS: Mapping[str, tuple[str, ...]] = {
    kind: tuple(names.split())
    for kind, names in {
        "": f"{_COUNTED} hw_packets deleted replaced added",
        "red": _RED_COUNTED,
        "choke": f"{_RED_COUNTED} matched",
        "codel": "count lastcount ldelay dropping drop_next maxpacket ecn_mark drop_overlimit ce_mark",
        "fq_codel": f"maxpacket drop_overlimit ecn_mark ce_mark memory_used drop_overmemory {_FLOWS}",
        "pie": "prob delay avg_dq_rate pkts_in overlimit dropped maxq ecn_mark",
        "fq_pie": f"pkts_in overlimit overmemory dropped ecn_mark memory_used {_FLOWS}",
        "cake": "memory_used memory_limit capacity_estimate min_network_size max_network_size min_adj_size "
        "max_adj_size active_queues avg_hdr_offset",
        "sfq": f"allot {_SFQ_COUNTED}",  # those of RED in the text, which has them on lines of their own
        "sfb": "earlydrop penaltydrop bucketdrop queuedrop childdrop marked maxqlen maxprob avgprob",
        "dualpi2": "prob delay-c delay-l delay_c delay_l pkts-in-c pkts-in-l pkts_in_c pkts_in_l maxq ecn-mark "
        "step-mark ecn_mark step_mark credit memory-used max-memory-used memory-limit",
        "netem": "delayed dropped corrupted duplicated reordered ecn_marked alloc_errors",
    }.items()
}
#: Queue discipline → what it counts within `options`.
OPTION_STATISTICS: Mapping[str, tuple[str, ...]] = {
    "gred": tuple("qave backlog forced_drop prob_drop pdrop other forced_mark prob_mark packets bytes".split()),
    "sfq": tuple(_SFQ_COUNTED.split()),
    "htb": ("direct_packets_stat", "ver"),
}
#: What one of cake's tins counts.
TIN = tuple(_TIN.split())
