"""How often the gates of RED's family signal, by how they space signals."""

from __future__ import annotations

#: Signals per packet at one max_p, by how RED spaces them. Even gaps on 1…1/p − 1 have a mean of
#: 1/(2p), those on 1/p…2/p − 1 a mean of 3/(2p); an independent coin has one of 1/p.
SHARE = {"uniform": 2.0, "wait": 2.0 / 3.0, "geometric": 1.0}

#: RED's even gaps as Floyd and Jacobson have them and as Linux does, whose longest is 1/p.
EVEN = ("uniform", "drawn")


def signalled(gate: str, p: float) -> float:
    """Returns the share of packets that are signalled at `p`, which may be above 1."""
    return 2 * p / (1 + p) if gate == "drawn" else p * SHARE[gate]
