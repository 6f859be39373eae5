"""Each number that a platform takes, asked for beyond both ends: the text has the end itself, and the report why."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest

from penstock.operators import platforms
from penstock.operators import tc_arithmetic as arithmetic
from penstock.operators.model import (
    Codel,
    Dual,
    Pie,
    Place,
    Ramp,
    Range,
    RefusedError,
    Sfb,
    Sfq,
    Step,
    Tail,
    Wanted,
    Written,
)
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
SFQ = Sfq(divisor=1024, flows=128, depth=127, limit_pkts=10**12, quantum_bytes=1514, perturb_s=10.0, red=RAMP)
SFB = Sfb(
    target=20,
    max=25,
    increment=0.0005,
    decrement=0.00005,
    penalty_rate=10,
    penalty_burst=20,
    rehash_s=600,
    warm_up_s=60,
)
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
DUAL = Dual(
    target_s=0.015,
    t_update_s=0.016,
    alpha=0.16,
    beta=3.2,
    k=2,
    step_s=0.001,
    step_pkts=None,
    th_len=0,
    protection=0.1,
)
#: More than any box takes.
HUGE = 1e25


Make = Callable[..., Wanted]


def link(**keys: Any) -> Wanted:
    """The link with a plain queue and these changes."""
    return replace(BASE, **keys)


def under(aqm: Ramp | Codel | Pie | Dual | Sfq | Sfb) -> Make:
    """What makes the link with a discipline, of changes to either."""
    own = {each.name for each in fields(aqm)}

    def make(keys: dict[str, Any] | None = None, **more: Any) -> Wanted:
        changed = {**(keys or {}), **more}
        mine = {name: value for name, value in changed.items() if name in own}
        return link(aqm=replace(aqm, **mine), **{name: changed[name] for name in changed.keys() - own})

    return make


fq_pie = under(replace(PIE, kind="fq-pie", flows=1024, quantum_bytes=1514, limit_pkts=10240))
red, codel, fq, pie, dual = under(RAMP), under(CODEL), under(FQ), under(PIE), under(DUAL)
sfq, sfb = under(SFQ), under(SFB)


def step(threshold: float) -> Wanted:
    """With a step."""
    return link(aqm=replace(STEP, threshold_bytes=threshold), ecn=True)


Find = str | Callable[[Written], Sequence[float]]


@dataclass(frozen=True)
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


def of(name: str, parts: int) -> Find:
    """A number in such parts."""

    def find(written: Written) -> Sequence[float]:
        return [parts * float(each) for each in re.findall(rf" {name} ([0-9.]+)", written.text)]

    return find


THIN = {"min_bytes": 0.01 * MEAN, "max_bytes": 0.02 * MEAN}
FAT = {"min_bytes": HUGE, "max_bytes": 2 * HUGE}


def ends(make: Make, **key: tuple[float, float]) -> tuple[Wanted, Wanted]:
    """Less and more of one key than any box takes."""
    ((name, values),) = key.items()
    low, high = (make(**{name: value}) for value in values)
    return low, high


def buffers(make: Make) -> tuple[Wanted, Wanted]:
    """Room for no packet, and for more than there are."""
    return ends(make, buffer_bytes=(0.2, HUGE))


def rates(make: Make) -> tuple[Wanted, Wanted]:
    """A bit in a second, and more than a wire carries."""
    return ends(make, rate_bps=(1.0, HUGE))


RAMPS = red(THIN), red(FAT)
WEIGHTS = ends(red, w_q=(1.0, 1e-12))
SHARES = red(max_p=1e-9), red(max_p=1.0, gate="uniform")

BREAKS: dict[str, dict[str, Breaks]] = {
    "tc": {
        "red limit": Breaks(r" red limit (\d+)", *buffers(red)),
        "red min": Breaks(r" min (\d+)", step(0.2), step(HUGE)),
        "red max": Breaks(r" max (\d+)", red({"min_bytes": 0.01, "max_bytes": 0.02}), red(FAT), refused=("above",)),
        # Even over one byte tc refuses so flat a ramp.
        "red probability": Breaks(
            of_2_32,
            red({"max_p": 1e-12, "gate": "uniform", "max_bytes": 30_001}),
            red({"max_p": 1.0, "gate": "uniform"}),
            near=("above",),
            refused=("below",),
        ),
        # The kernel takes less beside a large threshold, tc beside a small one.
        "red average": Breaks(weight, *WEIGHTS, near=("above",)),
        "choke limit": Breaks(
            r" limit (\d+)",
            red({"kind": "choke", **THIN, "min_bytes": 6.0 * MEAN}, buffer_bytes=0.2),
            red({"kind": "choke"}, buffer_bytes=HUGE),
            near=("below",),
        ),
        "choke min": Breaks(
            r" min (\d+)",
            red({"kind": "choke", **THIN, "w_q": 0.5}),
            red({"kind": "choke", "min_bytes": (2**30 - 2) * MEAN, "max_bytes": (2**30 - 1) * MEAN}),
        ),
        "choke max": Breaks(
            r" max (\d+)", red({"kind": "choke", **THIN, "w_q": 0.5}), red({"kind": "choke", **FAT}), refused=("above",)
        ),
        "codel limit": Breaks(r" limit (\d+)", *buffers(codel)),
        "codel target": Breaks(r" target (\d+)us", *ends(codel, target_s=(1e-9, 1e6))),
        "codel interval": Breaks(r" interval (\d+)us", *ends(codel, interval_s=(1e-9, 1e6))),
        "codel ce_threshold": Breaks(r" ce_threshold (\d+)us", *ends(fq, ce_threshold_s=(1e-9, 1e6))),
        "fq_codel flows": Breaks(r" flows (\d+)", *ends(fq, flows=(0, 10**6))),
        "fq_codel quantum": Breaks(r" quantum (\d+)", *ends(fq, quantum_bytes=(1, 10**9))),
        "fq_codel drop_batch": Breaks(r" drop_batch (\d+)", *ends(fq, drop_batch=(0, 10**12))),
        "fq_codel memory_limit": Breaks(r" memory_limit (\d+)", None, fq(buffer_bytes=HUGE)),
        "pie limit": Breaks(r" limit (\d+)", *buffers(pie)),
        "pie target": Breaks(r" target (\d+)us", *ends(pie, target_s=(1e-9, 1e6))),
        "pie tupdate": Breaks(r" tupdate (\d+)us", *ends(pie, t_update_s=(1e-9, 1e6)), near=("below", "above")),
        "pie alpha": Breaks(r" alpha (\d+)", *ends(pie, alpha=(-1.0, 9.0))),
        "pie beta": Breaks(r" beta (\d+)", *ends(pie, beta=(-1.0, 9.0))),
        "fq_pie flows": Breaks(r" flows (\d+)", *ends(fq_pie, flows=(0, 10**6))),
        "fq_pie quantum": Breaks(r" quantum (\d+)", *ends(fq_pie, quantum_bytes=(1, 10**9))),
        "fq_pie ecn_prob": Breaks(r" ecn_prob (\d+)", *ends(fq_pie, mark_ecnth=(0.0, 3.0))),
        "dualpi2 limit": Breaks(r" limit (\d+)", *buffers(dual)),
        "dualpi2 memlimit": Breaks(r" memlimit (\d+)", *ends(dual, memory_bytes=(0.1, HUGE)), near=("above",)),
        "dualpi2 target": Breaks(r" target (\d+)us", *ends(dual, target_s=(1e-9, 1e6))),
        "dualpi2 tupdate": Breaks(r" tupdate (\d+)us", *ends(dual, t_update_s=(1e-9, 1e6))),
        "dualpi2 alpha": Breaks(of("alpha", 256), *ends(dual, alpha=(-1.0, 1000.0))),
        "dualpi2 beta": Breaks(of("beta", 256), *ends(dual, beta=(-1.0, 1000.0))),
        "dualpi2 coupling_factor": Breaks(r" coupling_factor (\d+)", *ends(dual, k=(0.1, 1000.0))),
        "dualpi2 step_thresh": Breaks(r" step_thresh (\d+)us", *ends(dual, step_s=(1e-9, 1e6))),
        "dualpi2 step_thresh packets": Breaks(r" step_thresh (\d+)p", *ends(dual, step_pkts=(0, 10**12))),
        "dualpi2 min_qlen_step": Breaks(r" min_qlen_step (\d+)", *ends(dual, th_len=(-1, 10**12))),
        "dualpi2 classic_protection": Breaks(r" classic_protection (\d+)%", *ends(dual, protection=(-1.0, 2.0))),
        "cake rtt": Breaks(r" rtt (\d+)us", *ends(fq, interval_s=(1e-9, 1e6)), variant="cake"),
        "cake memlimit": Breaks(r" memlimit (\d+)", *buffers(fq), near=("below",), variant="cake"),
        "cake bandwidth": Breaks(r" bandwidth (\d+)bit", *rates(fq), variant="cake"),
        "sfq limit": Breaks(
            r" sfq limit (\d+)", sfq(buffer_bytes=0.2), sfq({"flows": 10**5, "divisor": 65536}, buffer_bytes=HUGE)
        ),
        "sfq depth": Breaks(r" depth (\d+)", *ends(sfq, depth=(0, 10**6))),
        "sfq flows": Breaks(
            r" flows (\d+)", sfq({"flows": 0}), sfq({"flows": 10**6, "divisor": 65536}, buffer_bytes=HUGE)
        ),
        "sfq divisor": Breaks(r" divisor (\d+)", *ends(sfq, divisor=(0, 10**6))),
        "sfq quantum": Breaks(r" quantum (\d+)", *ends(sfq, quantum_bytes=(0, 10**6))),
        "sfq perturb": Breaks(r" perturb (\d+)", *ends(sfq, perturb_s=(0.01, 1e9))),
        "sfb limit": Breaks(r" limit (\d+)", *buffers(sfb)),
        "sfb max": Breaks(r" max (\d+)", *ends(sfb, max=(0, 10**6))),
        "sfb target": Breaks(r" target (\d+)", *ends(sfb, target=(0, 10**6))),
        "sfb increment": Breaks(of("increment", 65535), *ends(sfb, increment=(-1.0, 2.0))),
        "sfb decrement": Breaks(of("decrement", 65535), *ends(sfb, decrement=(-1.0, 2.0))),
        "sfb penalty_rate": Breaks(r" penalty_rate (\d+)", *ends(sfb, penalty_rate=(-1.0, 1e12))),
        "sfb penalty_burst": Breaks(r" penalty_burst (\d+)", *ends(sfb, penalty_burst=(-1, 10**12))),
        "sfb rehash": Breaks(r" rehash (\d+)", *ends(sfb, rehash_s=(1e-9, 1e9))),
        "sfb db": Breaks(r" db (\d+)", *ends(sfb, warm_up_s=(-1.0, 1e9))),
        "pfifo limit": Breaks(r"pfifo limit (\d+)", *buffers(link)),
        "bfifo limit": Breaks(
            r"bfifo limit (\d+)",
            link(buffer_counted=True, buffer_bytes=0.2),
            link(buffer_counted=True, buffer_bytes=HUGE),
        ),
        "tbf rate": Breaks(r"tbf rate (\d+)bit", *rates(link), shape=True),
        "tbf limit": Breaks(r"tbf .* limit (\d+)", *buffers(link), shape=True),
    },
    "sonic": {
        "min_threshold": Breaks(r'_min_threshold": "(\d+)"', *RAMPS, near=("below",)),
        "max_threshold": Breaks(r'_max_threshold": "(\d+)"', step(0.2), red(FAT)),
        "drop_probability": Breaks(
            r'_drop_probability": "(\d+)"', red({"max_p": 1e-6}), red({"max_p": 1.0, "gate": "uniform"})
        ),
    },
    "cisco-ios": {
        "random-detect minimum": Breaks(r"precedence \d (\d+) ", *RAMPS),
        "random-detect maximum": Breaks(r"precedence \d \d+ (\d+) ", *RAMPS),
        "mark-probability-denominator": Breaks(r"precedence \d \d+ \d+ (\d+)", *SHARES[::-1]),
        "exponential-weighting-constant": Breaks(r"weighting-constant (\d+)", *WEIGHTS),
        "shape average": Breaks(r"shape average (\d+)", *rates(red)),
        "queue-limit": Breaks(r"queue-limit (\d+)", *buffers(red)),
    },
    "junos": {
        # A ramp whose end is above the buffer is refused: nothing would be dropped early.
        "fill-level": Breaks(lambda written: _list(written, "fill-level"), *RAMPS, refused=("above",)),
        "drop-probability": Breaks(lambda written: _list(written, "drop-probability"), *SHARES),
        "buffer-size temporal": Breaks(
            r"buffer-size temporal (\d+)",
            red({"min_bytes": 0.1, "max_bytes": 0.2}, buffer_bytes=0.3),
            red(buffer_bytes=HUGE),
        ),
    },
    "eos": {
        "minimum-threshold": Breaks(r"minimum-threshold (\d+) bytes", red({"min_bytes": 0.1}), red(FAT)),
        "maximum-threshold": Breaks(r"maximum-threshold (\d+) bytes", step(0.2), red(FAT)),
        "max-mark-probability": Breaks(r"(?:drop|max-mark)-probability (\d+)", *SHARES),
        "weight": Breaks(r" weight (\d+)", *WEIGHTS),
    },
    "openconfig": {
        "min-threshold": Breaks(r'"min-threshold": "(\d+)"', red({"min_bytes": 0.1}), red(FAT)),
        "max-threshold": Breaks(r'"max-threshold": "(\d+)"', step(0.2), red(FAT)),
        "weight": Breaks(r'"weight": (\d+)', *WEIGHTS),
        "max-drop-probability-percent": Breaks(r'"max-drop-probability-percent": (\d+)', *SHARES),
    },
    "dpdk": {
        "rte_red min": Breaks(
            r"red min = (\d+)", red(THIN), red({"min_bytes": 1023.0 * MEAN, "max_bytes": 1023.4 * MEAN})
        ),
        "rte_red max": Breaks(r"red max = (\d+)", *RAMPS, refused=("above",)),
        "rte_red inv prob": Breaks(r"red inv prob = (\d+)", *SHARES[::-1]),
        "rte_red weight": Breaks(r"red weight = (\d+)", *WEIGHTS),
    },
    "vyos": {
        "random-detect bandwidth": Breaks(r"bandwidth (\d+)bit", *rates(red), refused=("below",)),
        "average-packet": Breaks(r"average-packet (\d+)", red(mean_packet=1), red(mean_packet=20_000)),
        "minimum-threshold": Breaks(r"minimum-threshold (\d+)", *RAMPS),
        "maximum-threshold": Breaks(r"maximum-threshold (\d+)", *RAMPS),
        "mark-probability": Breaks(
            r"mark-probability (\d+)", red({"max_p": 1.0, "gate": "uniform"}), red({"max_p": 1e-12}), refused=("above",)
        ),
        "random-detect queue-limit": Breaks(r"queue-limit (\d+)", *buffers(red), near=("below", "above")),
        "codel-quantum": Breaks(r"codel-quantum (\d+)", *ends(fq, quantum_bytes=(1, 10**9))),
        "flows": Breaks(r" flows (\d+)", None, fq({"flows": 10**6})),
        "fq-codel interval": Breaks(r" interval (\d+)", *ends(fq, interval_s=(1e-9, 1e9))),
        "fq-codel target": Breaks(r" target (\d+)", *ends(fq, target_s=(1e-9, 1e9))),
        "fq-codel queue-limit": Breaks(r"queue-limit (\d+)", *buffers(fq)),
        "drop-tail queue-limit": Breaks(r"queue-limit (\d+)", *buffers(link)),
    },
    "sqm": {
        "upload": Breaks(r"upload '(\d+)'", *rates(fq)),
        "download": Breaks(r"download '(\d+)'", fq(reverse_rate_bps=1.0), fq(reverse_rate_bps=HUGE)),
        "codel limit": Breaks(r"[ie]limit '(\d+)'", *buffers(fq)),
        "codel target": Breaks(r"[ie]target '(\d+)us'", *ends(fq, target_s=(1e-9, 1e6))),
        "codel interval": Breaks(r"interval (\d+)us", *ends(fq, interval_s=(1e-9, 1e6))),
        "codel ce_threshold": Breaks(r"ce_threshold (\d+)us", *ends(fq, ce_threshold_s=(1e-9, 1e6))),
        "fq_codel flows": Breaks(r"flows (\d+)", *ends(fq, flows=(0, 10**6))),
        "fq_codel quantum": Breaks(r"quantum (\d+)", *ends(fq, quantum_bytes=(1, 10**9))),
        "fq_codel drop_batch": Breaks(r"drop_batch (\d+)", *ends(fq, drop_batch=(0, 10**12))),
        "fq_codel memory_limit": Breaks(r"memory_limit (\d+)", None, fq(buffer_bytes=HUGE)),
        "cake rtt": Breaks(r" rtt (\d+)us|'rtt (\d+)us", *ends(fq, interval_s=(1e-9, 1e6)), variant="cake"),
        "cake memlimit": Breaks(r" memlimit (\d+)", *buffers(fq), near=("below",), variant="cake"),
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
