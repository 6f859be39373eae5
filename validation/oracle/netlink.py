"""The message that makes sch_red adapt: tc since 5.7 asks for it where kernels since 5.7 no longer look.

Such a tc sends its flags in TCA_RED_FLAGS alone; such a kernel stores them, shows `adaptive`, and starts the timer only
for the flag in the older struct tc_red_qopt. So max_p stands still. This is the same request in tc's older form.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any

RTM_NEWQDISC = 36
NLM_F_REQUEST, NLM_F_ACK = 1, 4
TCA_KIND, TCA_OPTIONS = 1, 2
TCA_RED_PARMS, TCA_RED_STAB, TCA_RED_MAX_P = 1, 2, 3
TC_RED_ECN, TC_RED_ADAPTATIVE = 1, 4

#: Ticks of the kernel's packet scheduler in a second, of 64 ns each.
TICKS = 1e9 / 64


def adaptive_red(options: Mapping[str, Any], packet_s: float) -> bytes:
    """Makes the red with handle 10: below 1:1, which is there, adaptive, and leaves it else as it is.

    options: what `tc -j` shows of it; packet_s: how long a packet takes on the link.
    """
    flags = TC_RED_ADAPTATIVE | (TC_RED_ECN if options["ecn"] else 0)
    wlog = options["ewma"]
    cell_log, stab = idle_table(wlog, TICKS * packet_s)
    # limit, qth_min, qth_max, Wlog, Plog (not read where max_p is given), Scell_log, flags
    numbers = (options["limit"], options["min"], options["max"])
    parameters = struct.pack("=IIIBBBB", *numbers, wlog, 0, cell_log, flags)
    max_p = min(round(options["probability"] * 2**32), 2**32 - 1)
    content = _attribute(TCA_RED_PARMS, parameters) + _attribute(TCA_RED_STAB, stab)
    content += _attribute(TCA_RED_MAX_P, struct.pack("=I", max_p))
    # family, padding, interface, handle 10:, parent 1:1, info
    body = struct.pack("=BxxxiIII", 0, 0, 0x0010_0000, 0x0001_0001, 0)
    body += _attribute(TCA_KIND, b"red\0") + _attribute(TCA_OPTIONS, content)
    return struct.pack("=IHHII", 16 + len(body), RTM_NEWQDISC, NLM_F_REQUEST | NLM_F_ACK, 1, 0) + body


def idle_table(wlog: int, packet_ticks: float) -> tuple[int, bytes]:
    """By how many bits the average shifts after so long an idle time, and the length of a cell of it: tc's table."""
    per_tick = -math.log(1 - 2.0**-wlog) / packet_ticks
    cell_log = next(log for log in range(32) if 31 / per_tick / 2**log < 512)
    return cell_log, bytes([*(min(int((cell << cell_log) * per_tick), 31) for cell in range(255)), 31])


def _attribute(kind: int, content: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(content), kind) + content + bytes(-len(content) % 4)
