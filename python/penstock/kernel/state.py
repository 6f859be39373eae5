"""What the kernel's program has seen, under the names that series and metrics have."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping

from penstock._names import listing
from penstock.kernel.words import KINDS

Words = Mapping[str, int]


def _bits(word: int, bits: int) -> float:
    return math.ldexp(word, -bits)


def _p(word: str, bits: int = 32) -> Callable[[Words, Words], float]:
    return lambda state, _: _bits(state[word], bits)


def _pkts(word: str) -> Callable[[Words, Words], float]:
    return lambda state, words: _bits(state[word], 32) / (words["mean_packet"] if words["in_bytes"] else 1)


def _count(word: str) -> Callable[[Words, Words], float]:
    return lambda state, _: float(state[word])


#: The discipline's own variables: column → its value from the state and the words.
_COLUMNS: Mapping[str, Callable[[Words, Words], float]] = {
    "avg_pkts": _pkts("avg"),
    "min_th": _pkts("min_th"),
    "max_th": _pkts("max_th"),
    "max_p": _p("max_p"),
    "p1_max": _p("max_p"),
    "p2_max": _p("p2_max"),
    "p_b": _p("p"),
    "p1": _p("p"),
    "p2": _p("p2"),
    "n": _p("n"),
    "climb_pkts": _count("climb_pkts"),
    "climb_marks": _count("climb_marks"),
    "p": _p("p", 48),
    "p_c": lambda state, _: _bits(state["p"], 48) ** 2,
    "p_cl": lambda state, words: min(1.0, _bits(words["coupling"], 32) * _bits(state["p"], 48)),
    "qdelay_s": _p("old"),
    "burst_allowance_s": lambda state, _: state["burst"] / 1e9,
    "c_tilde_bps": lambda state, _: 8e9 * _bits(state["c_tilde"], 48),
    "vq_pkts": lambda state, words: _bits(state["vq"], 16) / words["mean_packet"],
}
_COUNTS = ("arrivals", "departures", "marks_incipient", "marks_ce", "drops_early", "drops_forced", "drops_overflow")


@functools.cache
def variables() -> Mapping[str, tuple[str, ...]]:
    """Returns the columns that each kind publishes, as `penstock list` has them."""
    kinds = listing("aqm")
    return {kind["name"]: tuple(each["name"] for each in kind["state"]) for kind in kinds}


def read(state: Words, words: Words, now_ns: int) -> dict[str, float | None]:
    """Returns the discipline's variables, the queue and the counts by name.

    `queue_pkts` is the virtual queue at the last arrival. `queue_mean_pkts` and `delay_mean_s` are those of all packets
    since the load, `large` counts arrivals of several segments in one, `late_updates` those that were due in a silence
    and were left out.
    """
    found: dict[str, float | None] = {name: _COLUMNS[name](state, words) for name in variables()[KINDS[words["kind"]]]}
    since = now_ns - state["begun"] if state["begun"] else 0
    found |= {
        "time_s": since / 1e9,
        "queue_pkts": state["queue_pkts"],
        "queue_mean_pkts": state["delay_ns"] / since if since else None,
        "delay_mean_s": state["delay_ns"] / state["departures"] / 1e9 if state["departures"] else None,
        **{name: state[name] for name in _COUNTS},
        "large": state["large"],
        "late_updates": state["late_updates"],
    }
    return found
