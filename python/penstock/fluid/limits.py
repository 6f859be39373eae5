"""Says where the model stops being one, and where a run counts as oscillating."""

from __future__ import annotations

#: Below this window, in packets, losses often end in timeouts, which the model has not.
SMALL_WINDOW = 4.0
#: Signals to all flows in the time of one swing below which they are single events, and no fluid.
FEW_SIGNALS = 10.0
#: The rhythm from which on a run's queue oscillates: (r + r²)/2 with r² = 1/4 (`simulated.py`).
OSCILLATES = 0.375
