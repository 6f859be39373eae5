"""The arithmetic of Linux's tc for RED: a weight is not given, it follows from `burst`.

The facts are those of iproute2's tc/tc_red.c and tc/q_red.c and of Linux's include/net/red.h; a
test holds the numbers against a real kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.operators.model import RefusedError

#: Ticks of the kernel's packet scheduler in a microsecond, of 64 ns each (/proc/net/psched).
TICKS_PER_US = 1000 / 64
#: The kernel keeps thresholds shifted by the weight's exponent in 32 bits, of which one stays free.
THRESHOLD_BITS = 31
#: tc keeps `bandwidth` as bytes per second in 32 bits.
MOST_BYTES_PER_S = 2**32 - 1
#: The largest max_p: tc multiplies it by 2^32, and 2^32 itself would be taken for 0.
MOST_PROBABILITY = 1 - 2.0**-32


def weight_log(low: int, burst: int, avpkt: int) -> int | None:
    """Returns n of the weight 2^-n that tc takes: the least one that lets `burst` packets in above
    `low` bytes.

    n is the least from 1 on with burst + 1 − low/avpkt ≤ (1 − (1 − 2^-n)^burst)/2^-n; `None` where
    tc refuses.

    >>> weight_log(5000, 8, 1000), weight_log(5000, 55, 1000), weight_log(5000, 4, 1000)
    (3, 9, None)
    """
    room = burst + 1 - low / avpkt
    if room < 1:
        return None
    for n in range(1, 32):
        weight = 2.0**-n
        if room <= (1 - (1 - weight) ** burst) / weight:
            return n
    return None


def slope_log(low: int, high: int, max_p: float) -> int | None:
    """Returns Plog, the slope of the ramp as a power of two, for kernels before 3.3; `None` where
    tc refuses.
    """
    if high <= low:
        return None
    slope = max_p / (high - low)
    for n in range(32):
        if slope > 1:
            return n
        slope *= 2
    return None


def cell_log(n: int, avpkt: int, bytes_per_s: float) -> int | None:
    """Returns Scell_log: cells of 2^this ticks in the table by which the average decays when idle;
    `None` where tc refuses.
    """
    ticks = int(packet_us(avpkt, bytes_per_s) * TICKS_PER_US)
    if ticks == 0:  # tc divides by it, and the table says nothing
        return 0
    per_tick = -math.log(1 - 2.0**-n) / ticks
    return next((log for log in range(32) if 31 / per_tick / 2**log < 512), None)


def packet_us(avpkt: int, bytes_per_s: float) -> int:
    """Returns the transmission time of a packet as tc takes it: whole microseconds, rounded
    down.
    """
    return int(1e6 * (avpkt / bytes_per_s))


@dataclass(frozen=True, slots=True)
class Burst:
    """What tc is to be told, so that its weight is 2^-n. `bits_per_s` is the argument
    `bandwidth`.
    """

    n: int
    avpkt: int
    burst: int
    bits_per_s: int


def burst_for(low: int, n: int, mean_packet: int, rate_bps: float) -> Burst:
    """Returns arguments from which tc makes the weight 2^-n, or the nearest that it can.

    `avpkt` serves two ends: the weight, and with `bandwidth` the packets that an idle link could
    have sent. Where no burst gives n at the mean packet, both are divided by the same factor: idle
    time then still decays the average as for mean packets, and the weight has more values to choose
    from.
    """
    best: Burst | None = None
    for avpkt, bits in _idle(mean_packet, rate_bps):
        found = nearest(low, n, avpkt)
        if found is not None and (best is None or abs(found[0] - n) < abs(best.n - n)):
            best = Burst(found[0], avpkt, found[1], bits)
        if best is not None and best.n == n:
            return best
    if best is None:
        raise RefusedError(f"min_th = {low} B: tc finds no weight for so low a threshold")
    return best


def idle(mean_packet: int, rate_bps: float) -> tuple[int, int]:
    """Returns `avpkt` and `bandwidth` from which tc makes the time of a mean packet."""
    return next(_idle(mean_packet, rate_bps))


def largest_for_idle(n: int, mean_packet: int, rate_bps: float) -> int:
    """Returns n, or the largest exponent below it whose table of idle times tc can make: none that is
    slow on a slow link.
    """
    avpkt, bits = idle(mean_packet, rate_bps)
    while n > 1 and cell_log(n, avpkt, bits / 8) is None:
        n -= 1
    return n


def idle_us(mean_packet: int, rate_bps: float) -> int:
    """Returns the time of a mean packet in the whole microseconds that tc knows: the nearest, not
    none.
    """
    return max(1, round(8e6 * mean_packet / rate_bps))


def _idle(mean_packet: int, rate_bps: float) -> Iterator[tuple[int, int]]:
    """Yields pairs of `avpkt` and `bandwidth` that all say the same time of a packet, the largest
    first.
    """
    us = idle_us(mean_packet, rate_bps)
    divisor = 1
    while (avpkt := mean_packet // divisor) >= 1:
        # Whole bytes per second, so that rounding down gives this time and not one microsecond
        # less.
        bytes_per_s = max(1, int(avpkt * 1e6 / us))
        if bytes_per_s <= MOST_BYTES_PER_S:
            yield avpkt, 8 * bytes_per_s
        divisor *= 2


def nearest(low: int, n: int, avpkt: int) -> tuple[int, int] | None:
    """Returns (exponent, burst) with the exponent as near to n as whole bursts allow."""
    first = max(1, math.ceil(low / avpkt))
    last = first + 2 ** (n + 1)
    if weight_log(low, first, avpkt) is None:
        return None
    at_least = _first(low, avpkt, n, first, last)
    beyond = _first(low, avpkt, n + 1, first, last)
    if at_least < beyond:  # the middle of those that give n, away from where rounding decides
        return n, (at_least + beyond - 1) // 2
    around = [burst for burst in (at_least - 1, at_least) if burst >= first]
    found = [(log, burst) for burst in around if (log := weight_log(low, burst, avpkt)) is not None]
    return min(found, key=lambda each: abs(each[0] - n), default=None)


def _first(low: int, avpkt: int, n: int, first: int, last: int) -> int:
    """Returns the first burst whose exponent is n or more; it never falls with the burst."""
    while first < last:
        middle = (first + last) // 2
        found = weight_log(low, middle, avpkt)
        if found is None or found >= n:
            last = middle
        else:
            first = middle + 1
    return first


def largest_exponent(high: int) -> int:
    """Returns the largest n that the kernel takes beside a threshold of so many bytes or
    packets.
    """
    return THRESHOLD_BITS - high.bit_length()
