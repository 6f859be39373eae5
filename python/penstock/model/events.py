"""The packet events of a queue: which packet it was that left."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: What the table calls a packet that is let in, and one that is in the queue no more.
LET_IN, OUT = ("enqueue", "mark"), ("dequeue", "drop_head", "evict")


def matched(
    flow: NDArray[np.integer], let_in: NDArray[np.bool_], out: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Returns the rows of the packets that went out, flow by flow: where each came in, and where it
    went out.

    Disciplines may put flows out of order, but no flow's packets: the k-th of a flow to go out is
    the k-th of it that was let in. A waiting packet that is evicted counts as its flow's first;
    which one it was, the table does not say.
    """
    import numpy as np

    came, went = np.flatnonzero(let_in), np.flatnonzero(out)
    came = came[np.argsort(flow[came], kind="stable")]
    went = went[np.argsort(flow[went], kind="stable")]
    number = np.arange(len(went)) - np.searchsorted(flow[went], flow[went])  # within its flow
    return came[np.searchsorted(flow[came], flow[went]) + number], went
