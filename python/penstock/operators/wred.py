"""Holds what the switches and routers share that have WRED: a ramp, and often no average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.operators.gates import signalled
from penstock.operators.model import (
    ADAPTATION,
    Coloured,
    Ramp,
    Range,
    RefusedError,
    Step,
    Value,
    Wanted,
    bytes_text,
    exponent,
    per_cent,
)

#: What WRED runs: RED itself, and ARED with its first max_p.
KINDS = ("red", "ared")


def ramp_of(wanted: Wanted, platform: str, also: Sequence[str] = ()) -> Ramp:
    """Returns the ramp that is wanted. Raises `RefusedError` for a discipline that is no ramp."""
    if isinstance(wanted.aqm, Ramp) and wanted.aqm.kind in (*KINDS, *also):
        return wanted.aqm
    if isinstance(wanted.aqm, Coloured) and "wred" not in also:
        raise RefusedError(f"{platform}: all packets get one profile here, and wred has one for each colour")
    runs = " and ".join((*KINDS, *also))
    raise RefusedError(f"{platform}: it has WRED, which runs {runs}, not {wanted.aqm.kind}")


def losses(ramp: Ramp, ecn: bool, *, gentle: bool = False, beyond: str) -> list[str]:
    """Returns what the box does not do.

    gentle: whether it has a second ramp.
    beyond: what becomes of a capable packet above max_th: `drop` or `mark`.
    """
    lost = []
    if ramp.gentle and not gentle:
        lost.append(
            f"gentle: above max_th it {'marks' if ecn and beyond == 'mark' else 'drops'} every packet, not with a "
            "probability that rises to 1"
        )
    if ramp.kind == "ared":
        lost.append(f"adaptation: max_p stays at its first value, and there is no {ADAPTATION}")
    if ecn and ramp.forced != beyond and not ramp.gentle:
        lost.append(f"forced: above max_th it {beyond}s capable packets, it does not {ramp.forced} them")
    if ecn and ramp.mark_p < 1:
        lost.append(f"mark_p: above a probability of {ramp.mark_p:g} capable packets are marked, not dropped")
    if ramp.byte_mode:
        lost.append("byte_mode: the probability does not depend on a packet's size")
    return lost


def instantaneous(ramp: Ramp, lost: list[str]) -> Value:
    """Returns the weight of a box that does not average, and names the loss."""
    if ramp.w_q < 1:
        lost.append("averaging: the thresholds act on the queue as it is, so that short bursts are signalled, too")
    return Value(name="w_q", wanted=ramp.w_q, used=1.0, why="it looks at the queue itself")


def share_value(ramp: Ramp, used: float, why: str, shown: str = "") -> Value:
    """Returns the share of packets that are signalled at max_th: what these boxes call the drop
    probability.
    """
    if ramp.gate != "geometric" and signalled(ramp.gate, ramp.max_p) <= 1:
        why = f"{why}; max_p {ramp.max_p:g} with gate {ramp.gate} signals {ramp.share():.3g} of the packets"
    return Value(name="share at max_th", wanted=100 * ramp.share(), used=100 * used, unit="%", why=why, shown=shown)


def whole_per_cent(ramp: Ramp, takes: Range) -> tuple[int, Value]:
    """Returns the share as whole per cent: one at least, as none would signal nothing."""
    used = takes.fit(per_cent(ramp.share()))
    return used, share_value(ramp, used / 100, takes.why(100 * ramp.share(), "whole per cent"))


def thresholds(wanted: tuple[float, float], takes: tuple[Range, Range], why: str = "") -> tuple[int, int, list[Value]]:
    """Returns both thresholds as a platform takes them, the lower one below the upper one.

    wanted, takes: the lower and the upper one. why: what rounds them inside their ranges.
    """
    (low, high), (lower, upper) = wanted, takes
    used_low = min(lower.fit(low), upper.high - 1)
    used_high = max(upper.fit(high), used_low + 1)
    above = why if used_high == upper.fit(high) else "max_th is above min_th"
    return (
        used_low,
        used_high,
        [lower.value("min_th", low, why, used_low), upper.value("max_th", high, above, used_high)],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What becomes of a discipline on a box: as in `Written`."""

    values: tuple[Value, ...]
    lost: tuple[str, ...]
    aqm: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class InBytes(Told):
    """What a switch is told that has thresholds in bytes and a share in per cent.

    weight: n of an average by 2^-n; 0: none.
    """

    low: int
    high: int
    share: int
    weight: int


def in_bytes(
    wanted: Wanted, platform: str, ends: tuple[Range, Range], share: Range, weight: Range | None, passes: bool = False
) -> InBytes:
    """Returns a step, or a ramp, as such a switch takes it.

    ends, share, weight: the ranges of its numbers; `None` for a switch without an average.
    passes: whether it can let packets pass that cannot be marked.

    Raises `RefusedError` for a discipline that is neither.
    """
    if isinstance(wanted.aqm, Step):
        threshold, value = step_of(wanted, ends[1])
        not_capable = wanted.aqm.not_capable if passes else "drop"
        lost = () if passes else step_losses(wanted)
        aqm_of = step_aqm(wanted, threshold, not_capable)
        return InBytes(low=threshold, high=threshold, share=100, weight=0, values=(value,), lost=lost, aqm=aqm_of)
    ramp = ramp_of(wanted, platform, ["step"])
    low, high, values = thresholds((ramp.min_bytes, ramp.max_bytes), ends, "whole bytes")
    told, share_told = whole_per_cent(ramp, share)
    losses_of = losses(ramp, wanted.ecn, beyond="mark")
    if weight is None:
        n, average = 0, instantaneous(ramp, losses_of)
    else:
        n, average = exponent(ramp.w_q, weight)
    table = aqm(wanted, low=bytes_text(low), high=bytes_text(high), max_p=told / 100, w_q=2.0**-n, beyond="mark")
    every = (*values, average, share_told)
    return InBytes(low=low, high=high, share=told, weight=n, values=every, lost=tuple(losses_of), aqm=table)


def elsewhere(wanted: Wanted, where: str) -> str:
    """Returns the note of a platform whose queue is not sized here."""
    return f"how much may wait is said elsewhere: {where}; the scenario has {round(wanted.buffer_bytes)} B"


def step_of(wanted: Wanted, takes: Range) -> tuple[int, Value]:
    """Returns a step's threshold in whole bytes. Raises `RefusedError` where it would mark
    nothing.
    """
    wants = wanted.aqm
    assert isinstance(wants, Step)
    if not wanted.ecn:
        raise RefusedError("aqm.ecn = false: a step that marks nothing is DropTail")
    value = takes.value("threshold", wants.threshold_bytes, "whole bytes")
    return round(value.used), value


def step_losses(wanted: Wanted) -> tuple[str, ...]:
    """Returns what a switch that marks by WRED makes of packets that cannot be marked."""
    wants = wanted.aqm
    if isinstance(wants, Step) and wants.not_capable == "pass":
        return ("not_capable: packets that cannot be marked are dropped above the threshold",)
    return ()


def step_aqm(wanted: Wanted, threshold: int, not_capable: str = "drop") -> dict[str, Any]:
    """Returns what such a switch does as a scenario's `[aqm]`."""
    return {
        "kind": "step",
        "unit": "bytes",
        "ecn": True,
        "mean_packet": bytes_text(wanted.mean_packet),
        "threshold": bytes_text(threshold),
        "not_capable": not_capable,
    }


def aqm(wanted: Wanted, *, low: str, high: str, max_p: float, w_q: float, beyond: str, **more: Any) -> dict[str, Any]:
    """Returns WRED as a scenario's `[aqm]`; each packet is decided by itself unless `gate` says
    otherwise.
    """
    return {
        "kind": "red",
        "unit": "bytes" if low.endswith(" B") else "packets",
        "mean_packet": bytes_text(wanted.mean_packet),
        "min_th": low,
        "max_th": high,
        "max_p": max_p,
        "w_q": w_q,
        "gate": "geometric",
        "gentle": False,
        "ecn": wanted.ecn,
        "forced": beyond if wanted.ecn else "drop",
        **more,
    }
