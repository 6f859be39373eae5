"""A rule for RARED's `slope_th`, which the RARED paper leaves to future work.

RARED calls the average climbing where it rises faster than slope_th packets per second. The average
follows the queue with d(avg)/dt = K·(q − avg), K = −C·ln(1 − w_q). What a climb of the queue by r
packets per second does to it within a round trip R is r·(1 − e^(−KR)) = r·(1 − (1 − w_q)^(CR)).

How fast is a climb that RARED should answer? In congestion avoidance N flows send N packets more
with each round trip, so the queue climbs by N/R = C/W, W = CR/N. Below windows of four packets a
loss ends in a timeout, so C/4 is the most that an ordinary climb has. In slow start the flows double
their rate within a round trip, and of that C is too much. The rule takes the geometric middle, C/2.

`docs/stability.md` has the derivation at length, and where the rule helps.
"""

from __future__ import annotations

import math

from penstock._penstock import parse_rate
from penstock.errors import ScenarioError
from penstock.fluid.loops import Keys
from penstock.fluid.path import Path
from penstock.model.scenario import seconds

#: Between the steepest climb of congestion avoidance, C/4, and that of slow start, C.
EXCESS = 0.5


def slope_th(rate: str | float, rtt: str | float, w_q: float, packet_bytes: float = 1040.0) -> float:
    """Returns a threshold for RARED's slope, packets per second: `C/2·(1 − (1 − w_q)^(C·R))`.

    rate: the link's, `"10 Mbit/s"` or bits per second. rtt: the flows' round trip, queue included:
    `"100 ms"` or seconds. w_q: RED's weight. packet_bytes: of a packet on the wire.

    >>> round(slope_th("1.5 Mbit/s", "200 ms", 0.0019, 1000), 1)
    6.5
    >>> round(slope_th("100 Mbit/s", "100 ms", 0.0019, 1000))
    5670
    """
    bits = parse_rate(rate) if isinstance(rate, str) else rate
    trip_s = seconds(rtt)
    if not (bits > 0 and trip_s > 0 and 0 < w_q <= 1 and packet_bytes > 0):
        raise ScenarioError("slope_th: rate, rtt and packet_bytes must be above 0, w_q in (0, 1]")
    capacity = bits / (8 * packet_bytes)
    if w_q == 1:
        return EXCESS * capacity
    return -EXCESS * capacity * math.expm1(capacity * trip_s * math.log1p(-w_q))


def of_path(path: Path, keys: Keys) -> tuple[float, float]:
    """Returns the rule's threshold for a scenario with RARED, and the one in force there.

    The round trip has the queue in it that stands in the middle of the thresholds.
    """
    min_th, max_th = keys.thresholds
    trip_s = path.round_trip_s((min_th + max_th) / 2)
    return slope_th(keys.link.rate_bps, trip_s, keys.w_q, keys.packet), keys.settled("slope_th")
