"""OpenWrt's SQM: /etc/config/sqm.

Facts: OpenWrt's "SQM configuration" and sqm-scripts (functions.sh, simplest.qos,
piece_of_cake.qos). Rates are whole kbit/s; `qdisc_really_really_advanced` makes the scripts read
targets and further options. Not checked on a router; the qdiscs that the scripts set are what `tc`
is tested for.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.operators import tc
from penstock.operators.model import Codel, Place, RefusedError, Value, Wanted, Written
from penstock.operators.tc_delays import FRAME_MEMORY

#: Qdisc → the script that sets it without classes.
SCRIPTS = {"fq_codel": "simplest.qos", "cake": "piece_of_cake.qos"}


def write(wanted: Wanted, place: Place) -> Written:
    """Returns the configuration of both directions: forward is the upload."""
    wants = wanted.aqm
    if not isinstance(wants, Codel) or not wants.flows:
        raise RefusedError(f"sqm: it sets fq_codel and cake, which run fq-codel, not {wants.kind}")
    qdisc = place.variant or "fq_codel"
    if qdisc not in SCRIPTS:
        raise RefusedError(f"--as {qdisc}: sqm sets {' or '.join(SCRIPTS)}")
    up, down = (max(1, round(rate / 1e3)) for rate in (wanted.rate_bps, wanted.reverse_rate_bps))
    line = tc.line_of(replace(wanted, rate_bps=up * 1e3), qdisc)
    options = {
        "enabled": "1",
        "interface": place.dev or "eth1",
        "upload": str(up),
        "download": str(down),
        "qdisc": qdisc,
        "script": SCRIPTS[qdisc],
        "linklayer": "none",
        "qdisc_advanced": "1",
        "ingress_ecn": "ECN" if wanted.ecn else "NOECN",
        "egress_ecn": "ECN" if wanted.ecn else "NOECN",
        "qdisc_really_really_advanced": "1",
        **(_fq_codel(wanted, wants) if qdisc == "fq_codel" else _cake(wanted, wants)),
    }
    text = "config queue\n" + "".join(f"\toption {key} '{value}'\n" for key, value in options.items())
    rate = Value(name="rate", wanted=wanted.rate_bps / 1e3, used=up, unit="kbit/s", why="whole kbit/s")
    return Written(
        text=text,
        values=(rate, *line.values),
        aqm=line.aqm,
        buffer=line.buffer,
        lost=line.lost,
        notes=(
            "upload is the scenario's forward direction, download the opposite one (reverse_rate)",
            "the queue forms in the router only if both rates are a little below what the line really carries",
        ),
    )


def _microseconds(time_s: float) -> int:
    return max(1, round(time_s * 1e6))


def _fq_codel(wanted: Wanted, wants: Codel) -> dict[str, str]:
    limit = min(wants.limit_pkts, wanted.buffer_pkts)
    more = f"interval {_microseconds(wants.interval_s)}us flows {wants.flows} quantum {wants.quantum_bytes}"
    more += f" drop_batch {wants.drop_batch}"
    if wants.ce_threshold_s is not None:
        more += f" ce_threshold {_microseconds(wants.ce_threshold_s)}us"
    target = f"{_microseconds(wants.target_s)}us"
    return {
        "ilimit": str(limit),
        "elimit": str(limit),
        "itarget": target,
        "etarget": target,
        "iqdisc_opts": more,
        "eqdisc_opts": more,
    }


def _cake(wanted: Wanted, wants: Codel) -> dict[str, str]:
    limit = min(wants.limit_pkts, wanted.buffer_pkts)
    more = f"rtt {_microseconds(wants.interval_s)}us flows nonat memlimit {limit * FRAME_MEMORY}"
    return {"iqdisc_opts": f"{more} ingress", "eqdisc_opts": more}
