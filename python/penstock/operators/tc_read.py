"""The numbers of each queue discipline that a scenario can run, from `tc`'s state to its keys."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from penstock.errors import ScenarioError
from penstock.operators import tc_read_ramps as ramps
from penstock.operators.state import number, whole
from penstock.operators.tc_box import MOST, PACKET, Box, Options, Read, on
from penstock.operators.tc_cake import ISOLATION, TINS, packets_of
from penstock.operators.tc_delays import BOOKED, HZ
from penstock.operators.tc_dual import GAIN, gain_told
from penstock.operators.tc_forms import cell_size
from penstock.operators.tc_line import FRAME
from penstock.operators.tc_pie import PIE_GAIN, PIE_MOST, period, pie_reported

#: Packets that FQ-CoDel of the simulator holds at most.
MOST_LIMIT = 10**6
#: The bytes of a round that the simulator's SFQ takes.
LEAST_QUANTUM, MOST_QUANTUM = 256, 2**20
#: Longer than any run, for hashes that never change.
NEVER_US = 10**15


def codel_time(reported_us: int) -> int:
    """Returns the round number of microseconds that the kernel was given, from those that it
    reports.

    It counts in units of 1024 ns and rounds down twice: 5000 µs are reported as 4999.

    >>> codel_time(4999), codel_time(99999)
    (5000, 100000)
    """
    ticks = math.ceil(reported_us * 1000 / 1024)
    return math.ceil(ticks * 1024 / 1000)


def _codel(box: Box) -> Read:
    options, where = box.options, box.where
    aqm: dict[str, object] = {
        "kind": "codel",
        "variant": "linux",
        "mean_packet": f"{PACKET} B",
        "maxpacket": f"{FRAME} B",
        "ecn": on(options, "ecn"),
        "target": f"{codel_time(whole(options, 'target', where, 1, MOST))} us",
        "interval": f"{codel_time(whole(options, 'interval', where, 1, MOST))} us",
    }
    if "ce_threshold" in options:
        aqm["ce_threshold"] = f"{codel_time(whole(options, 'ce_threshold', where, 0, MOST))} us"
    return Read(aqm, f"{whole(options, 'limit', where, 1, MOST)} packets")


def _fq_codel(box: Box) -> Read:
    options, where = box.options, box.where
    told = whole(options, "limit", where, 1, MOST)
    limit = min(MOST_LIMIT, told)
    special: dict[str, str | None] = {}
    if limit < told:
        special["limit"] = f"the simulator holds {MOST_LIMIT} packets at most"
    # Older releases of tc do not say it; the variant's is the kernel's default.
    memory: dict[str, object] = {}
    if "memory_limit" in options:
        memory = {"memory_limit": f"{whole(options, 'memory_limit', where, 1, MOST)} B"}
    aqm: dict[str, object] = {
        **_codel(box).aqm,
        "kind": "fq-codel",
        **memory,
        "packet_overhead": f"{BOOKED} B",
        "flows": whole(options, "flows", where, 1, 65536),
        "quantum": f"{whole(options, 'quantum', where, 256, 2**20)} B",
        "limit": limit,
    }
    if "drop_batch" in options:
        aqm["drop_batch"] = whole(options, "drop_batch", where, 1, 65536)
    if "ce_threshold" not in options:
        special |= {"ce_threshold_selector": None, "ce_threshold_mask": None}
    elif options.get("ce_threshold_mask"):
        aqm["ce_mask"] = whole(options, "ce_threshold_mask", where, 0, 255)
        if "ce_threshold_selector" in options:
            aqm["ce_selector"] = whole(options, "ce_threshold_selector", where, 0, 255)
    elif options.get("ce_threshold_selector"):
        special["ce_threshold_selector"] = "without a mask it selects nothing"
    return Read(aqm, f"{limit} packets", special)


def _pie(box: Box) -> Read:
    options, where = box.options, box.where
    target = whole(options, "target", where, 1, MOST)
    target += pie_reported(target) < target  # rounded down once: the next higher is what it was given
    t_update = period(whole(options, "tupdate", where, 1, MOST))
    aqm: dict[str, object] = {
        "kind": "pie",
        "variant": "linux",
        "mean_packet": f"{PACKET} B",
        "ecn": on(options, "ecn"),
        "qdelay_ref": f"{target} us",
        "t_update": f"{t_update} us",
        "alpha": whole(options, "alpha", where, 0, PIE_MOST) / PIE_GAIN,
        "beta": whole(options, "beta", where, 0, PIE_MOST) / PIE_GAIN,
        "delay_from": "rate-estimate" if on(options, "dq_rate_estimator") else "timestamps",
    }
    if on(options, "bytemode"):
        aqm["bytemode"] = True
    late = f"tupdate: the kernel's timer fires a tick late, after {t_update / 1e3:g} ms (CONFIG_HZ={HZ})"
    return Read(aqm, f"{whole(options, 'limit', where, 1, MOST)} packets", notes=(late,))


def _fq_pie(box: Box) -> Read:
    options, where = box.options, box.where
    told = whole(options, "limit", where, 1, MOST)
    limit = min(MOST_LIMIT, told)
    special: dict[str, str | None] = {}
    if limit < told:
        special["limit"] = f"the simulator holds {MOST_LIMIT} packets at most"
    pie = _pie(box)
    aqm: dict[str, object] = {
        **pie.aqm,
        "kind": "fq-pie",
        "flows": whole(options, "flows", where, 1, 65536),
        "quantum": f"{whole(options, 'quantum', where, 256, 2**20)} B",
        "limit": limit,
    }
    if "ecn_prob" in options:
        aqm["mark_ecnth"] = whole(options, "ecn_prob", where, 0, 100) / 100
    return Read(aqm, f"{limit} packets", special, pie.notes)


def _sfq(box: Box) -> Read:
    options, where = box.options, box.where
    told = whole(options, "limit", where, 2, MOST)
    quantum = whole(options, "quantum", where, 1, MOST)
    limit, size = min(MOST_LIMIT, told), min(MOST_QUANTUM, max(LEAST_QUANTUM, quantum))
    special: dict[str, str | None] = {}
    if limit < told:
        special["limit"] = f"the simulator holds {MOST_LIMIT} packets at most"
    if size != quantum:
        special["quantum"] = f"the simulator's is {LEAST_QUANTUM} to {MOST_QUANTUM} B"
    aqm: dict[str, object] = {
        "kind": "sfq",
        "mean_packet": f"{PACKET} B",
        "ecn": on(options, "ecn"),
        "limit": limit,
        "quantum": f"{size} B",
        "divisor": whole(options, "divisor", where, 1, 65536),
        "headdrop": on(options, "headdrop"),
    }
    # What older releases of tc do not say, or without `-d`, is as the kernel makes it.
    aqm |= {name: whole(options, name, where, 1, 65408) for name in ("depth", "flows") if name in options}
    if options.get("perturb"):
        aqm["perturb"] = f"{whole(options, 'perturb', where, 1, MOST)} s"
    if "min" in options:
        red = ramps.red_numbers(options, where, "B")
        del red["gate"], red["gentle"], red["forced"]
        aqm |= {**red, "kind": "sfq", "harddrop": on(options, "harddrop")}
    return Read(aqm, f"{limit} packets", special)


def _sfb(box: Box) -> Read:
    options, where = box.options, box.where
    # Without a change of the hashes nothing trains the next ones.
    rehash = whole(options, "rehash", where)
    warm_up = min(whole(options, "db", where), rehash)
    aqm: dict[str, object] = {
        "kind": "sfb",
        "mean_packet": f"{PACKET} B",
        "ecn": True,
        "rehash": f"{rehash or NEVER_US} us",
        "warm_up": f"{warm_up} us",
        **{name: whole(options, name, where, 1, 65535) for name in ("max", "target")},
        **{name: number(options, name, where, 0, 1) for name in ("increment", "decrement")},
        "penalty_rate": whole(options, "penalty_rate", where, 0, 10**9),
        "penalty_burst": whole(options, "penalty_burst", where, 0, 10**6),
    }
    return Read(aqm, f"{whole(options, 'limit', where, 1, 10**9)} packets")


def _dualpi2(box: Box) -> Read:
    options, where = box.options, box.where
    gains = {}
    for name in ("alpha", "beta"):
        reported = round(number(options, name, where, 0, 256) * GAIN)
        gains[name] = min(256 * GAIN, gain_told(reported)) / GAIN
    limit = whole(options, "limit", where, 1, MOST)
    aqm: dict[str, object] = {
        "kind": "dualpi2",
        "variant": "linux",
        "mean_packet": f"{PACKET} B",
        "target": f"{whole(options, 'target', where, 0, MOST)} us",
        "t_update": f"{whole(options, 'tupdate', where, 1, MOST)} us",
        **gains,
        "limit_packets": min(10**9, limit),
        "packet_memory": f"{BOOKED} B",
    }
    # What older or newer releases of tc do not say is as the kernel makes it.
    if "memory-limit" in options:
        aqm["memory"] = f"{whole(options, 'memory-limit', where, 1, MOST)} B"
    if "step-thresh-pkts" in options:
        aqm["step_packets"] = whole(options, "step-thresh-pkts", where, 0, 10**6)
    elif "step-thresh-us" in options:
        aqm["step_thresh"] = f"{whole(options, 'step-thresh-us', where, 0, MOST)} us"
    if "min-qlen-step" in options:
        aqm["th_len"] = whole(options, "min-qlen-step", where, 0, 10**6)
    if "coupling" in options:
        aqm["k"] = whole(options, "coupling", where, 1, 255)
    if "c-protection" in options:
        aqm["classic_protection"] = whole(options, "c-protection", where, 0, 100) / 100
    if "drop-overload" in options:
        aqm["drop_on_overload"] = options["drop-overload"] != "overflow"
    if "drop-early" in options:
        aqm["decides"] = "arrival" if options["drop-early"] == "drop-enqueue" else "departure"
    if "ecn-mask" in options:
        aqm["identify"] = "any-ect" if options["ecn-mask"] == "any-ect" else "l4s"
    return Read(aqm, f"{limit} packets")


def _cake(box: Box) -> Read:
    options, where = box.options, box.where
    rtt = whole(options, "rtt", where, 20, MOST)
    memory = _cake_memory(box, rtt, box.own_rate())
    aqm: dict[str, object] = {
        "kind": "cake",
        "mean_packet": f"{PACKET} B",
        "tins": _word(options, "diffserv", where, TINS, "diffserv3"),
        "isolation": _word(options, "flowmode", where, ISOLATION, "triple-isolate"),
        "rtt": f"{rtt} us",
        "unlimited": not isinstance(options.get("bandwidth"), int),
        "memory_limit": f"{memory} B",
        "packet_overhead": f"{BOOKED} B",
    }
    notes: tuple[str, ...] = ()
    if aqm["tins"] != "besteffort":
        notes += ("CAKE sorts by DSCP: traffic of the scenario without `class` is best effort",)
    if aqm["isolation"] not in ("flowblind", "flows"):
        notes += (
            "CAKE shares by hosts: flows of the scenario that share one say so by `source_host` and `destination_host`",
        )
    return Read(aqm, f"{packets_of(memory)} packets", notes=notes)


def _word(options: Options, key: str, where: str, words: Sequence[str], default: str) -> str:
    """Returns a word that the scenario has, too."""
    word = options.get(key, default)
    if word not in words:
        raise ScenarioError(f"{where}: {key} {word!r}: none of {', '.join(words)}")
    return str(word)


def _cake_memory(box: Box, rtt: int, rate: float | None) -> int:
    """Returns the bytes of memory that cake's queue may take: as told, as `-s` says, or by the rule of
    sch_cake (cake_reconfigure): four intervals' worth of the rate, 4 MiB at least, and never more than
    10240 frames.
    """
    told = whole(box.options, "memlimit", box.where, 0, MOST) if "memlimit" in box.options else 0
    reported = box.statistic("memory_limit")
    if told:
        return told
    if isinstance(reported, int) and not isinstance(reported, bool) and 0 < reported <= MOST:
        return reported
    most = 10240 * FRAME
    return min(most, max(4 << 20, int(rate / 8 * rtt / 250_000))) if rate else most


def _tbf(box: Box) -> Read:
    """Returns a shaper alone: its own queue is a plain one."""
    options, where = box.options, box.where
    rate = number(options, "rate", where, 1)
    if "limit" in options:
        limit = whole(options, "limit", where, 1, MOST)
    else:
        limit = round(
            rate * number(options, "lat", where, 0) / 1e6 + cell_size(options.get("burst"), f"{where}: burst")
        )
    if not 1 <= limit <= MOST:
        raise ScenarioError(f"{where}: lat and burst make a limit of {limit} B, which is none")
    return Read({"kind": "droptail", "mean_packet": f"{PACKET} B"}, f"{limit} B")


def _fifo(unit: str) -> Callable[[Box], Read]:
    def read_fifo(box: Box) -> Read:
        limit = whole(box.options, "limit", box.where, 1, 10**9)
        return Read({"kind": "droptail", "mean_packet": f"{PACKET} B"}, f"{limit} {unit}")

    return read_fifo


def _pfifo_fast(box: Box) -> Read:
    note = (
        "pfifo_fast holds as many packets as the interface's txqueuelen (`ip link`), which the state does not say: the "
        "usual 1000 are taken"
    )
    return Read({"kind": "droptail", "mean_packet": f"{PACKET} B"}, "1000 packets", notes=(note,))


#: Queue discipline → its reader.
READ: Mapping[str, Callable[[Box], Read]] = {
    "red": ramps.red,
    "gred": ramps.gred,
    "choke": ramps.choke,
    "codel": _codel,
    "fq_codel": _fq_codel,
    "pie": _pie,
    "fq_pie": _fq_pie,
    "cake": _cake,
    "dualpi2": _dualpi2,
    "sfq": _sfq,
    "sfb": _sfb,
    "pfifo": _fifo("packets"),
    "bfifo": _fifo("B"),
    "pfifo_fast": _pfifo_fast,
    "tbf": _tbf,
}
