"""The packet events of a queue: which of them are about one packet."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: What the table calls a packet that is let in, and one that is in the queue no more.
LET_IN, OUT = ("enqueue", "mark"), ("dequeue", "drop_head", "evict")


def matched(
    packet: NDArray[np.uint64], let_in: NDArray[np.bool_], out: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Returns the rows of the packets that went out, in that order: where each came in, and where it went out."""
    import numpy as np

    came, went = np.flatnonzero(let_in), np.flatnonzero(out)
    came = came[np.argsort(packet[came], kind="stable")]
    return came[np.searchsorted(packet[came], packet[went])], went
