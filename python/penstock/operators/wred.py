"""What the switches and routers share that have WRED: a ramp, and often no average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.operators.model import (
    SHARE,
    Ramp,
    RefusedError,
    Step,
    Value,
    Wanted,
    bytes_text,
    per_cent,
    power_of_two,
    weight_value,
)

#: What WRED runs: RED itself, and ARED with its first max_p.
KINDS = ("red", "ared")


def ramp_of(wanted: Wanted, platform: str, also: Sequence[str] = ()) -> Ramp:
    """Returns the ramp that is wanted. Raises `RefusedError` for a discipline that is no ramp."""
    if isinstance(wanted.aqm, Ramp) and wanted.aqm.kind in (*KINDS, *also):
        return wanted.aqm
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
        lost.append("adaptation: max_p stays at its first value")
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
    if SHARE[ramp.gate] != 1 and ramp.max_p * SHARE[ramp.gate] <= 1:
        why = f"{why}; max_p {ramp.max_p:g} with gate {ramp.gate} signals {ramp.share():.3g} of the packets"
    return Value(name="share at max_th", wanted=100 * ramp.share(), used=100 * used, unit="%", why=why, shown=shown)


def whole_per_cent(ramp: Ramp) -> tuple[int, Value]:
    """Returns the share as whole per cent."""
    used = per_cent(ramp.share())
    return used, share_value(ramp, used / 100, "whole per cent")


def whole_bytes(ramp: Ramp, least: int = 1) -> tuple[int, int, list[Value]]:
    """Returns the thresholds in whole bytes."""
    low = max(least, round(ramp.min_bytes))
    high = max(low + 1, round(ramp.max_bytes))
    return low, high, threshold_values(ramp.min_bytes, ramp.max_bytes, low, high, "B", "")


def threshold_values(
    wanted_low: float, wanted_high: float, low: float, high: float, unit: str, why: str
) -> list[Value]:
    """Returns both thresholds as values."""
    return [
        Value(name="min_th", wanted=wanted_low, used=low, unit=unit, why=why),
        Value(name="max_th", wanted=wanted_high, used=high, unit=unit, why=why),
    ]


@dataclass(frozen=True, slots=True)
class InBytes:
    """What a switch is told that has thresholds in bytes and a share in per cent.

    weight: n of an average by 2^-n; 0: none. values, lost, aqm: as in `Written`.
    """

    low: int
    high: int
    share: int
    weight: int
    values: tuple[Value, ...]
    lost: tuple[str, ...]
    aqm: dict[str, Any]


def in_bytes(wanted: Wanted, platform: str, averages: tuple[int, str] | None) -> InBytes:
    """Returns a step, or a ramp, as such a switch takes it.

    averages: the largest weight, and why it rounds; `None` for a switch without an average.

    Raises `RefusedError` for a discipline that is neither.
    """
    buffer = Value(name="buffer", wanted=wanted.buffer_bytes, used=wanted.buffer_bytes, unit="B")
    if isinstance(wanted.aqm, Step):
        threshold, value = step_of(wanted)
        aqm_of_step = step_aqm(wanted, threshold)
        return InBytes(threshold, threshold, 100, 0, (value, buffer), step_losses(wanted), aqm_of_step)
    ramp = ramp_of(wanted, platform, ["step"])
    low, high, thresholds = whole_bytes(ramp)
    share, value = whole_per_cent(ramp)
    lost = losses(ramp, wanted.ecn, beyond="mark")
    if averages is None:
        weight, average = 0, instantaneous(ramp, lost)
    else:
        most, why = averages
        weight = power_of_two(ramp.w_q, 0, most)
        average = weight_value(ramp.w_q, weight, why)
    ends = {"low": bytes_text(low), "high": bytes_text(high)}
    table = aqm(wanted, **ends, max_p=share / 100, w_q=2.0**-weight, beyond="mark")
    return InBytes(low, high, share, weight, (*thresholds, average, value, buffer), tuple(lost), table)


def step_of(wanted: Wanted) -> tuple[int, Value]:
    """Returns a step's threshold in whole bytes. Raises `RefusedError` where it would mark
    nothing.
    """
    wants = wanted.aqm
    assert isinstance(wants, Step)
    if not wanted.ecn:
        raise RefusedError("aqm.ecn = false: a step that marks nothing is DropTail")
    used = max(1, round(wants.threshold_bytes))
    return used, Value(name="threshold", wanted=wants.threshold_bytes, used=used, unit="B")


def step_losses(wanted: Wanted) -> tuple[str, ...]:
    """Returns what a switch that marks by WRED makes of packets that cannot be marked."""
    wants = wanted.aqm
    if isinstance(wants, Step) and wants.not_capable == "pass":
        return ("not_capable: packets that cannot be marked are dropped above the threshold",)
    return ()


def step_aqm(wanted: Wanted, threshold: int) -> dict[str, Any]:
    """Returns what such a switch does as a scenario's `[aqm]`."""
    return {
        "kind": "step",
        "unit": "bytes",
        "ecn": True,
        "mean_packet": bytes_text(wanted.mean_packet),
        "threshold": bytes_text(threshold),
        "not_capable": "drop",
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
