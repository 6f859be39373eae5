"""Each number that a platform takes, asked for beyond both ends: the text has the end itself, and the report why."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from penstock.operators import platforms
from penstock.operators import tc_arithmetic as arithmetic
from penstock.operators.model import Codel, Pie, Place, Ramp, Range, RefusedError, Step, Tail, Wanted, Written
from penstock.operators.platforms import PLATFORMS

MEAN = 1500
BASE = Wanted(
    name="a link",
    aqm=Tail(),
    ecn=False,
    rate_bps=1e7,
    reverse_rate_bps=1e7,
    buffer_bytes=300_000,
    buffer_counted=False,
    mean_packet=MEAN,
)
RAMP = Ramp(kind="red", min_bytes=30_000, max_bytes=90_000, max_p=0.1, w_q=0.002, gate="geometric")
STEP = Step(threshold_bytes=30_000, bytes_counted=True)
CODEL = Codel(kind="codel", target_s=0.005, interval_s=0.1)
FQ = Codel(kind="fq-codel", target_s=0.005, interval_s=0.1, flows=1024, quantum_bytes=1514, limit_pkts=10**12)
PIE = Pie(
    target_s=0.015,
    t_update_s=0.016,
    alpha=0.125,
    beta=1.25,
    max_burst_s=0.15,
    mark_ecnth=0.1,
    derandomize=True,
    high_delay_s=0.25,
    rate_estimate=False,
    dq_threshold_bytes=16384,
)
#: More than any box takes.
HUGE = 1e25


def link(**keys: Any) -> Wanted:
    """The link with a plain queue and these changes."""
    return replace(BASE, **keys)


def red(keys: dict[str, Any] | None = None, **more: Any) -> Wanted:
    """With a ramp."""
    return link(aqm=replace(RAMP, **(keys or {})), **more)


def step(threshold: float) -> Wanted:
    """With a step."""
    return link(aqm=replace(STEP, threshold_bytes=threshold), ecn=True)


def codel(**keys: Any) -> Wanted:
    """With CoDel."""
    return link(aqm=replace(CODEL, **keys))


def fq(keys: dict[str, Any] | None = None, **more: Any) -> Wanted:
    """With FQ-CoDel."""
    return link(aqm=replace(FQ, **(keys or {})), **more)


def pie(**keys: Any) -> Wanted:
    """With PIE."""
    return link(aqm=replace(PIE, **keys))


Find = str | Callable[[Written], Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class Breaks:
    """How a range is broken.

    find: where the number stands in the text.
    below, above: what asks for less and for more than the range; `None`: nothing can.
    near: which end something else keeps away: the number is only seen to be inside.
    refused: which end is refused, for nothing near it would be of use, or something else forbids it.
    variant: the form.
    """

    find: Find
    below: Wanted | None
    above: Wanted | None
    near: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    variant: str | None = None
    shape: bool = False


def weight(written: Written) -> Sequence[float]:
    """The n of the weight 2^-n, of which tc is told a burst."""
    return [written.readback["options"]["ewma"]]


def of_2_32(written: Written) -> Sequence[float]:
    """A probability in parts of 2^32."""
    return [round(float(each) * 2**32) for each in re.findall(r"probability ([0-9.e-]+)", written.text)]


THIN = {"min_bytes": 0.01 * MEAN, "max_bytes": 0.02 * MEAN}
FAT = {"min_bytes": HUGE, "max_bytes": 2 * HUGE}

BREAKS: dict[str, dict[str, Breaks]] = {
    "tc": {
        "red limit": Breaks(find=r" red limit (\d+)", below=red(buffer_bytes=0.2), above=red(buffer_bytes=HUGE)),
        "red min": Breaks(find=r" min (\d+)", below=step(0.2), above=step(HUGE)),
        "red max": Breaks(
            find=r" max (\d+)",
            below=red({"min_bytes": 0.01, "max_bytes": 0.02}),
            above=red(FAT),
            refused=("above",),
        ),
        # Even over one byte tc refuses so flat a ramp.
        "red probability": Breaks(
            find=of_2_32,
            below=red({"max_p": 1e-12, "gate": "uniform", "max_bytes": 30_001}),
            above=red({"max_p": 1.0, "gate": "uniform"}),
            near=("above",),
            refused=("below",),
        ),
        # The kernel takes less beside a large threshold, tc beside a small one.
        "red average": Breaks(find=weight, below=red({"w_q": 1.0}), above=red({"w_q": 1e-12}), near=("above",)),
        "choke limit": Breaks(
            find=r" limit (\d+)",
            below=red({"kind": "choke", **THIN, "min_bytes": 6.0 * MEAN}, buffer_bytes=0.2),
            above=red({"kind": "choke"}, buffer_bytes=HUGE),
            near=("below",),
        ),
        "choke min": Breaks(
            find=r" min (\d+)",
            below=red({"kind": "choke", **THIN, "w_q": 0.5}),
            above=red({"kind": "choke", "min_bytes": (2**30 - 2) * MEAN, "max_bytes": (2**30 - 1) * MEAN}),
        ),
        "choke max": Breaks(
            find=r" max (\d+)",
            below=red({"kind": "choke", **THIN, "w_q": 0.5}),
            above=red({"kind": "choke", **FAT}),
            refused=("above",),
        ),
        "codel limit": Breaks(
            find=r" limit (\d+)", below=link(aqm=CODEL, buffer_bytes=0.2), above=link(aqm=CODEL, buffer_bytes=HUGE)
        ),
        "codel target": Breaks(find=r" target (\d+)us", below=codel(target_s=1e-9), above=codel(target_s=1e6)),
        "codel interval": Breaks(find=r" interval (\d+)us", below=codel(interval_s=1e-9), above=codel(interval_s=1e6)),
        "codel ce_threshold": Breaks(
            find=r" ce_threshold (\d+)us", below=fq({"ce_threshold_s": 1e-9}), above=fq({"ce_threshold_s": 1e6})
        ),
        "fq_codel flows": Breaks(find=r" flows (\d+)", below=fq({"flows": 0}), above=fq({"flows": 10**6})),
        "fq_codel quantum": Breaks(
            find=r" quantum (\d+)", below=fq({"quantum_bytes": 1}), above=fq({"quantum_bytes": 10**9})
        ),
        "fq_codel drop_batch": Breaks(
            find=r" drop_batch (\d+)", below=fq({"drop_batch": 0}), above=fq({"drop_batch": 10**12})
        ),
        "fq_codel memory_limit": Breaks(find=r" memory_limit (\d+)", below=None, above=fq(buffer_bytes=HUGE)),
        "pie limit": Breaks(
            find=r" limit (\d+)", below=link(aqm=PIE, buffer_bytes=0.2), above=link(aqm=PIE, buffer_bytes=HUGE)
        ),
        "pie target": Breaks(find=r" target (\d+)us", below=pie(target_s=1e-9), above=pie(target_s=1e6)),
        "pie tupdate": Breaks(find=r" tupdate (\d+)us", below=pie(t_update_s=1e-9), above=pie(t_update_s=1e6)),
        "pie alpha": Breaks(find=r" alpha (\d+)", below=pie(alpha=-1.0), above=pie(alpha=9.0)),
        "pie beta": Breaks(find=r" beta (\d+)", below=pie(beta=-1.0), above=pie(beta=9.0)),
        "cake rtt": Breaks(
            find=r" rtt (\d+)us", below=fq({"interval_s": 1e-9}), above=fq({"interval_s": 1e6}), variant="cake"
        ),
        "cake memlimit": Breaks(
            find=r" memlimit (\d+)",
            below=fq(buffer_bytes=0.2),
            above=fq(buffer_bytes=HUGE),
            near=("below",),
            variant="cake",
        ),
        "cake bandwidth": Breaks(
            find=r" bandwidth (\d+)bit", below=fq(rate_bps=1.0), above=fq(rate_bps=HUGE), variant="cake"
        ),
        "pfifo limit": Breaks(find=r"pfifo limit (\d+)", below=link(buffer_bytes=0.2), above=link(buffer_bytes=HUGE)),
        "bfifo limit": Breaks(
            find=r"bfifo limit (\d+)",
            below=link(buffer_counted=True, buffer_bytes=0.2),
            above=link(buffer_counted=True, buffer_bytes=HUGE),
        ),
        "tbf rate": Breaks(find=r"tbf rate (\d+)bit", below=link(rate_bps=1.0), above=link(rate_bps=HUGE), shape=True),
        "tbf limit": Breaks(
            find=r"tbf .* limit (\d+)", below=link(buffer_bytes=0.2), above=link(buffer_bytes=HUGE), shape=True
        ),
    },
    "sonic": {
        "min_threshold": Breaks(find=r'_min_threshold": "(\d+)"', below=red(THIN), above=red(FAT), near=("below",)),
        "max_threshold": Breaks(find=r'_max_threshold": "(\d+)"', below=step(0.2), above=red(FAT)),
        "drop_probability": Breaks(
            find=r'_drop_probability": "(\d+)"',
            below=red({"max_p": 1e-6}),
            above=red({"max_p": 1.0, "gate": "uniform"}),
        ),
    },
    "cisco-ios": {
        "random-detect minimum": Breaks(find=r"precedence \d (\d+) ", below=red(THIN), above=red(FAT)),
        "random-detect maximum": Breaks(find=r"precedence \d \d+ (\d+) ", below=red(THIN), above=red(FAT)),
        "mark-probability-denominator": Breaks(
            find=r"precedence \d \d+ \d+ (\d+)",
            below=red({"max_p": 1.0, "gate": "uniform"}),
            above=red({"max_p": 1e-9}),
        ),
        "exponential-weighting-constant": Breaks(
            find=r"weighting-constant (\d+)", below=red({"w_q": 1.0}), above=red({"w_q": 1e-12})
        ),
        "shape average": Breaks(find=r"shape average (\d+)", below=red(rate_bps=1.0), above=red(rate_bps=HUGE)),
        "queue-limit": Breaks(find=r"queue-limit (\d+)", below=red(buffer_bytes=0.2), above=red(buffer_bytes=HUGE)),
    },
    "junos": {
        # A ramp whose end is above the buffer is refused: nothing would be dropped early.
        "fill-level": Breaks(
            find=lambda written: _list(written, "fill-level"), below=red(THIN), above=red(FAT), refused=("above",)
        ),
        "drop-probability": Breaks(
            find=lambda written: _list(written, "drop-probability"),
            below=red({"max_p": 1e-9}),
            above=red({"max_p": 1.0, "gate": "uniform"}),
        ),
        "buffer-size temporal": Breaks(
            find=r"buffer-size temporal (\d+)",
            below=red({"min_bytes": 0.1, "max_bytes": 0.2}, buffer_bytes=0.3),
            above=red(buffer_bytes=HUGE),
        ),
    },
    "eos": {
        "minimum-threshold": Breaks(
            find=r"minimum-threshold (\d+) bytes", below=red({"min_bytes": 0.1}), above=red(FAT)
        ),
        "maximum-threshold": Breaks(find=r"maximum-threshold (\d+) bytes", below=step(0.2), above=red(FAT)),
        "max-mark-probability": Breaks(
            find=r"(?:drop|max-mark)-probability (\d+)",
            below=red({"max_p": 1e-9}),
            above=red({"max_p": 1.0, "gate": "uniform"}),
        ),
        "weight": Breaks(find=r" weight (\d+)", below=red({"w_q": 1.0}), above=red({"w_q": 1e-12})),
    },
    "openconfig": {
        "min-threshold": Breaks(find=r'"min-threshold": "(\d+)"', below=red({"min_bytes": 0.1}), above=red(FAT)),
        "max-threshold": Breaks(find=r'"max-threshold": "(\d+)"', below=step(0.2), above=red(FAT)),
        "weight": Breaks(find=r'"weight": (\d+)', below=red({"w_q": 1.0}), above=red({"w_q": 1e-12})),
        "max-drop-probability-percent": Breaks(
            find=r'"max-drop-probability-percent": (\d+)',
            below=red({"max_p": 1e-9}),
            above=red({"max_p": 1.0, "gate": "uniform"}),
        ),
    },
    "dpdk": {
        "rte_red min": Breaks(
            find=r"red min = (\d+)",
            below=red(THIN),
            above=red({"min_bytes": 1023.0 * MEAN, "max_bytes": 1023.4 * MEAN}),
        ),
        "rte_red max": Breaks(find=r"red max = (\d+)", below=red(THIN), above=red(FAT), refused=("above",)),
        "rte_red inv prob": Breaks(
            find=r"red inv prob = (\d+)", below=red({"max_p": 1.0, "gate": "uniform"}), above=red({"max_p": 1e-9})
        ),
        "rte_red weight": Breaks(find=r"red weight = (\d+)", below=red({"w_q": 1.0}), above=red({"w_q": 1e-12})),
    },
    "vyos": {
        "random-detect bandwidth": Breaks(
            find=r"bandwidth (\d+)bit", below=red(rate_bps=1.0), above=red(rate_bps=HUGE), refused=("below",)
        ),
        "average-packet": Breaks(find=r"average-packet (\d+)", below=red(mean_packet=1), above=red(mean_packet=20_000)),
        "minimum-threshold": Breaks(find=r"minimum-threshold (\d+)", below=red(THIN), above=red(FAT)),
        "maximum-threshold": Breaks(find=r"maximum-threshold (\d+)", below=red(THIN), above=red(FAT)),
        "mark-probability": Breaks(
            find=r"mark-probability (\d+)",
            below=red({"max_p": 1.0, "gate": "uniform"}),
            above=red({"max_p": 1e-12}),
            refused=("above",),
        ),
        "random-detect queue-limit": Breaks(
            find=r"queue-limit (\d+)",
            below=red(buffer_bytes=0.2),
            above=red(buffer_bytes=HUGE),
            near=("below", "above"),
        ),
        "codel-quantum": Breaks(
            find=r"codel-quantum (\d+)", below=fq({"quantum_bytes": 1}), above=fq({"quantum_bytes": 10**9})
        ),
        "flows": Breaks(find=r" flows (\d+)", below=None, above=fq({"flows": 10**6})),
        "fq-codel interval": Breaks(
            find=r" interval (\d+)", below=fq({"interval_s": 1e-9}), above=fq({"interval_s": 1e9})
        ),
        "fq-codel target": Breaks(find=r" target (\d+)", below=fq({"target_s": 1e-9}), above=fq({"target_s": 1e9})),
        "fq-codel queue-limit": Breaks(
            find=r"queue-limit (\d+)", below=fq(buffer_bytes=0.2), above=fq(buffer_bytes=HUGE)
        ),
        "drop-tail queue-limit": Breaks(
            find=r"queue-limit (\d+)", below=link(buffer_bytes=0.2), above=link(buffer_bytes=HUGE)
        ),
    },
    "sqm": {
        "upload": Breaks(find=r"upload '(\d+)'", below=fq(rate_bps=1.0), above=fq(rate_bps=HUGE)),
        "download": Breaks(find=r"download '(\d+)'", below=fq(reverse_rate_bps=1.0), above=fq(reverse_rate_bps=HUGE)),
        "codel limit": Breaks(find=r"[ie]limit '(\d+)'", below=fq(buffer_bytes=0.2), above=fq(buffer_bytes=HUGE)),
        "codel target": Breaks(find=r"[ie]target '(\d+)us'", below=fq({"target_s": 1e-9}), above=fq({"target_s": 1e6})),
        "codel interval": Breaks(
            find=r"interval (\d+)us", below=fq({"interval_s": 1e-9}), above=fq({"interval_s": 1e6})
        ),
        "codel ce_threshold": Breaks(
            find=r"ce_threshold (\d+)us", below=fq({"ce_threshold_s": 1e-9}), above=fq({"ce_threshold_s": 1e6})
        ),
        "fq_codel flows": Breaks(find=r"flows (\d+)", below=fq({"flows": 0}), above=fq({"flows": 10**6})),
        "fq_codel quantum": Breaks(
            find=r"quantum (\d+)", below=fq({"quantum_bytes": 1}), above=fq({"quantum_bytes": 10**9})
        ),
        "fq_codel drop_batch": Breaks(
            find=r"drop_batch (\d+)", below=fq({"drop_batch": 0}), above=fq({"drop_batch": 10**12})
        ),
        "fq_codel memory_limit": Breaks(find=r"memory_limit (\d+)", below=None, above=fq(buffer_bytes=HUGE)),
        "cake rtt": Breaks(
            find=r" rtt (\d+)us|'rtt (\d+)us",
            below=fq({"interval_s": 1e-9}),
            above=fq({"interval_s": 1e6}),
            variant="cake",
        ),
        "cake memlimit": Breaks(
            find=r" memlimit (\d+)",
            below=fq(buffer_bytes=0.2),
            above=fq(buffer_bytes=HUGE),
            near=("below",),
            variant="cake",
        ),
    },
}


def _list(written: Written, name: str) -> Sequence[float]:
    (found,) = re.findall(rf"{name} \[ ([0-9 ]+) \]", written.text)
    return [int(each) for each in found.split()]


def told(written: Written, find: Find) -> Sequence[float]:
    """The numbers of a range in what is written."""
    if callable(find):
        return find(written)
    found = re.findall(find, written.text)
    return [int("".join(each)) for each in found]


@pytest.mark.parametrize("to", PLATFORMS)
def test_every_range_is_broken(to: str) -> None:
    assert list(BREAKS[to]) == list(PLATFORMS[to].ranges)
    for each in PLATFORMS[to].ranges.values():
        assert each.source
        assert 0 <= each.low < each.high


@pytest.mark.parametrize(
    ("to", "name", "side"),
    [
        (to, name, side)
        for to, every in BREAKS.items()
        for name, each in every.items()
        for side in ("below", "above")
        if getattr(each, side) is not None
    ],
)
def test_no_number_leaves_its_range(to: str, name: str, side: str) -> None:
    takes: Range = PLATFORMS[to].ranges[name]
    breaks = BREAKS[to][name]
    end = takes.low if side == "below" else takes.high
    asked, place = getattr(breaks, side), Place(variant=breaks.variant, shape=breaks.shape)
    if side in breaks.refused:
        with pytest.raises(RefusedError) as caught:
            platforms.write(asked, to, place)
        assert re.search(f"{re.escape(takes.said)}|so slow a link|so flat a ramp", str(caught.value))
        return
    written = platforms.write(asked, to, place)
    numbers = told(written, breaks.find)
    assert numbers, written.text
    assert [each for each in numbers if not takes.low <= each <= takes.high] == []
    if side not in breaks.near:
        assert end in numbers, written.text
        assert [value for value in written.values if value.error and not value.why] == []


def test_thresholds_of_vyos_are_what_its_validators_take() -> None:
    """`maximum-threshold 12000` and `queue-limit 20000` were refused by the router."""
    text = platforms.write(red({"min_bytes": 4000.0 * MEAN, "max_bytes": 12_000.0 * MEAN}), "vyos", Place()).text
    assert "precedence 0 maximum-threshold 4096\n" in text
    assert "queue-limit 10999\n" in platforms.write(fq(buffer_bytes=20_000.0 * MEAN), "vyos", Place()).text
    few = platforms.write(red(THIN), "cisco-ios", Place())
    assert arithmetic.MOST_PROBABILITY < 1
    assert "precedence 0 1 2 " in few.text
