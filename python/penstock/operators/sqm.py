"""OpenWrt's SQM: /etc/config/sqm.

Facts: OpenWrt's "SQM configuration" and sqm-scripts of June 2024 (functions.sh, defaults.sh,
simplest.qos, piece_of_cake.qos): rates are whole kbit/s; a target that is not given follows from
the rate (adapt_target_to_slow_link: the time of 33 ATM cells' worth of 53 B, at least 5 ms, and
interval = 95 ms + target); `qdisc_advanced` and `qdisc_really_really_advanced` show the further
options in the router's pages. Not checked on a router; the qdiscs that the scripts set are what
`tc` is tested for.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.operators import tc
from penstock.operators.model import (
    LINUX,
    Cake,
    Codel,
    Discipline,
    Framing,
    Place,
    Range,
    RefusedError,
    Tail,
    Wanted,
    Written,
    ranges,
)
from penstock.operators.tc_delays import HEADER, asked_limit, queue_words, threshold_words
from penstock.operators.tc_line import RANGES as TC
from penstock.operators.tc_line import Line

#: Qdisc → the script that sets it without classes.
SCRIPTS = {"fq_codel": "simplest.qos", "cake": "piece_of_cake.qos"}
INTERFACE = replace(LINUX, first="eth1")
RANGES = ranges(
    # 0 switches a direction off; the scripts reckon with 32 bits of kbit/s and of the bytes of a
    # millisecond.
    *(
        Range(name=name, low=1, high=2**31 - 1, unit="kbit/s", source="sqm-scripts, functions.sh: sqm_start_default")
        for name in ("upload", "download")
    ),
    *(TC[f"codel {name}"] for name in ("limit", "target", "interval", "ce_threshold")),
    *(TC[f"fq_codel {name}"] for name in ("flows", "quantum", "drop_batch", "memory_limit")),
    *(TC[f"cake {name}"] for name in ("rtt", "memlimit")),
)


def write(wanted: Wanted, place: Place) -> Written:
    """Returns the configuration of both directions: forward is the upload."""
    dev, wants = INTERFACE.chosen(place), wanted.aqm
    able = _able(wants)
    if not able:
        raise RefusedError(f"sqm: it sets fq_codel and cake, which run fq-codel and cake, not {wants.kind}")
    qdisc = place.variant or able[0]
    if qdisc not in able:
        raise RefusedError(f"--as {qdisc}: sqm expresses {wants.kind} as {' or '.join(able)}")
    if isinstance(wants, Cake) and wants.unlimited:
        made = "unlimited = true: SQM's CAKE makes the rate"
        written = write(replace(wanted, aqm=replace(wants, unlimited=False)), place)
        return replace(written, lost=(*written.lost, made))
    arriving, lost, notes = _arriving(wanted)
    rates = {
        name: RANGES[name].value(word, each.rate_bps / 1e3, "whole kbit/s")
        for name, word, each in (("upload", "rate", wanted), ("download", "reverse rate", arriving))
    }
    up, down = (
        tc.line_of(replace(each, rate_bps=rate.used * 1e3), qdisc)
        for each, rate in zip((wanted, arriving), rates.values(), strict=True)
    )
    options = {
        "enabled": "1",
        "interface": dev,
        **{name: f"{rate.used:.0f}" for name, rate in rates.items()},
        "qdisc": qdisc,
        "script": "layer_cake.qos" if isinstance(wants, Cake) and wants.tins != "besteffort" else SCRIPTS[qdisc],
        **_linklayer(wanted.framing, qdisc),
        "qdisc_advanced": "1",
        "ingress_ecn": "ECN" if arriving.ecn else "NOECN",
        "egress_ecn": "ECN" if wanted.ecn else "NOECN",
        "qdisc_really_really_advanced": "1",
    }
    for letter, each, line, rate in (("i", arriving, down, rates["download"]), ("e", wanted, up, rates["upload"])):
        more, said = _fq_codel(each, letter, round(rate.used)) if qdisc == "fq_codel" else _cake(line, letter)
        options |= more
        notes += said
    framed, unframed = _framing_said(wanted.framing, qdisc, dev)
    same = down.values == up.values
    text = "config queue\n" + "".join(f"\toption {key} '{value}'\n" for key, value in options.items())
    return Written(
        text=text,
        values=(
            rates["upload"],
            rates["download"],
            *up.values,
            *(replace(each, name=f"reverse {each.name}") for each in (() if same else down.values)),
        ),
        aqm=up.aqm,
        buffer=up.buffer,
        reverse=(down.aqm, down.buffer),
        lost=(*up.lost, *lost, *unframed, *(f"download: {each}" for each in down.lost if each not in up.lost)),
        notes=(
            "upload is the scenario's forward direction, download the opposite one (reverse_rate)",
            "the queue forms in the router only if both rates are a little below what the line really carries",
            *tc.unshaped(wanted),
            *framed,
            *notes,
        ),
    )


def _able(aqm: Discipline) -> tuple[str, ...]:
    """Returns the qdiscs of SQM that run a discipline, the nearest first."""
    if isinstance(aqm, Cake):
        return ("cake",)
    return tuple(SCRIPTS) if isinstance(aqm, Codel) and aqm.flows is not None else ()


def _arriving(wanted: Wanted) -> tuple[Wanted, tuple[str, ...], list[str]]:
    """Returns what the download gets, what is lost of what was wanted there, and what should be known
    of it: SQM gives it a queue of the upload's kind in any case.
    """
    there = wanted.opposite
    if there is not None and _able(there.aqm) == _able(wanted.aqm):
        return there, there.lost, []
    like = replace(there or wanted, aqm=wanted.aqm, ecn=wanted.ecn, rate_bps=wanted.reverse_rate_bps)
    if there is None or isinstance(there.aqm, Tail):
        return like, (), ["the download gets the upload's discipline; the scenario has a plain queue there"]
    lost = f"opposite direction: SQM gives the download the upload's discipline, not {there.aqm.kind}"
    return like, (lost,), []


def _linklayer(framing: Framing | None, qdisc: str) -> dict[str, str]:
    """Returns the options for what the rates count of a packet. fq_codel gets a size table, which counts the
    interface's header by itself; CAKE counts from the bare packet.
    """
    if framing is None:
        return {"linklayer": "none"}
    overhead = framing.overhead if qdisc == "cake" else framing.overhead - HEADER
    return {
        "linklayer": "atm" if framing.cells == "atm" else "ethernet",
        "overhead": str(overhead),
        "linklayer_advanced": "1",
        "tcMTU": "2047",
        "tcTSIZE": "128",
        "tcMPU": str(framing.mpu),
        "linklayer_adaptation_mechanism": "default",
    }


def _framing_said(framing: Framing | None, qdisc: str, dev: str) -> tuple[list[str], list[str]]:
    """Returns what whoever pastes it should know of the framing, and what of it is lost."""
    if framing is None:
        said = (
            "linklayer 'none': the line's own framing is not counted; give the link overhead, mpu and framing for DSL"
        )
        return [f"{said} and cable"], []
    lost = []
    if framing.cells == "ptm" and qdisc != "cake":
        lost = ["framing = 'ptm': a size table has no PTM; CAKE has (--as cake), and 64/65 of the rates make up for it"]
    if qdisc == "cake":
        return [], lost
    return [
        f"overhead is without the {HEADER} B of {dev}'s Ethernet header, which the kernel counts by itself; on an "
        f"interface without one, such as pppoe-wan, it is {framing.overhead}"
    ], lost


def adapted_us(kbit_per_s: int) -> tuple[int, int]:
    """Returns target and interval that SQM takes where none is given, in microseconds.

    >>> adapted_us(47500), adapted_us(1000)
    ((5000, 100000), (13992, 108992))
    """
    target = max(5000, 33 * 53 * 8 * 1000 // kbit_per_s)
    return target, 95_000 + target


def _fq_codel(wanted: Wanted, letter: str, kbit_per_s: int) -> tuple[dict[str, str], list[str]]:
    """Returns the options of one direction, `i`ngress or `e`gress."""
    wants = wanted.aqm
    assert isinstance(wants, Codel)
    target, interval = (
        TC[f"codel {name}"].fit(each * 1e6)
        for name, each in (("target", wants.target_s), ("interval", wants.interval_s))
    )
    own = adapted_us(kbit_per_s)
    pinned = (target, interval) != own
    limit = TC["codel limit"].fit(asked_limit(wanted, wants))
    more = {"interval": f"{interval}us"} if pinned else {}
    more |= queue_words(wants, limit) | threshold_words(wants)
    options = {f"{letter}limit": str(limit)}
    options |= {f"{letter}target": f"{target}us"} if pinned else {}
    options[f"{letter}qdisc_opts"] = " ".join(f"{key} {each}" for key, each in more.items())
    way = "upload" if letter == "e" else "download"
    if not pinned:
        return options, []
    return options, [
        f"{letter}target pins the {way}'s target, {target / 1000:g} ms; without it and `interval` SQM takes "
        f"{own[0] / 1000:g} and {own[1] / 1000:g} ms at this rate"
    ]


def _cake(line: Line, letter: str) -> tuple[dict[str, str], list[str]]:
    """Returns CAKE's options of one direction."""
    told = line.readback
    cells = " ptm" if told.get("atm") == "ptm" else ""
    tins = "" if told["diffserv"] == "besteffort" else f"{told['diffserv']} nowash "
    more = f"rtt {told['rtt']}us {tins}{told['flowmode']} nonat memlimit {told['memlimit']}{cells}"
    return {f"{letter}qdisc_opts": f"{more} ingress" if letter == "i" else more}, []
