"""What a controller sees, does and is paid for: the two tasks, over any number of simulations at once.

All is in arrays with a row for each simulation; a single environment is one with one row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from penstock import _penstock
from penstock._names import known
from penstock.errors import Error
from penstock.model.scenario import Scenario, seconds

Array: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
#: Column → its values, one for each simulation.
Now: TypeAlias = Mapping[str, Array]
#: Pays for a step.
Reward: TypeAlias = Callable[[Now], Array]
#: Scenarios, of which each episode draws one.
Scenarios: TypeAlias = "Scenario | str | Path | Sequence[Scenario | str | Path]"

#: The columns of the core's rows, in their order.
ROW = (
    *("now_s", "ended", "queue_pkts", "queue_bytes", "arrivals", "drops", "marks", "departures", "departed_bytes"),
    *("delay_s", "cwnd_segments", "srtt_s", "pacing_bps", "acked_bytes", "sent", "retransmits", "timeouts"),
)
#: A full packet, in which loads are counted.
FULL_BYTES = 1500
#: The delay above which the rewards count one.
TARGET_S = 0.02
#: What an action of 1 means: round trips' worth of the link, and the link's rate.
MOST_WINDOWS, MOST_RATES = 4.0, 1.5
#: A round trip where there is none yet.
FIRST_SRTT_S = 0.1

#: Used where no scenario is given.
DEFAULT = """
duration = "20 s"
topology.bottleneck = { rate = "10 Mbit/s", delay = "20 ms", buffer = "100 packets" }
aqm = { kind = "red", ecn = true }
traffic = [{ kind = "ftp", flows = 10, tcp = "cubic", ecn = "classic", start = { uniform = ["0 s", "2 s"] } }]
"""
#: The same of a sender, beside three others.
DEFAULT_OF_A_SENDER = """
duration = "20 s"
topology.bottleneck = { rate = "10 Mbit/s", delay = "20 ms", buffer = "100 packets" }
traffic = [
  { kind = "ftp" },
  { kind = "ftp", flows = 3, tcp = "cubic", start = { uniform = ["0 s", "2 s"] } },
]
"""


@dataclass(frozen=True)
class Task:
    """A task: its scenarios, and how its numbers are read and paid.

    scenarios: of which an episode draws one.
    step_s: simulated time of a step.
    knob: what the core sets: `"keys"` with names of parameters, `"window"` or `"pacing"` with a flow.
    observed: the names of the observation's numbers, without the last action.
    actions: how many numbers an action has; each is from 0 to 1.
    values: the core's numbers from an action, and the scenarios that are simulated.
    reward: pays for a step.
    """

    scenarios: tuple[Scenario, ...]
    step_s: float
    knob: tuple[str, tuple[str, ...]]
    observed: tuple[str, ...]
    actions: int
    values: Callable[[Array, Array], Array]
    reward: Reward

    def core(self, number: int, jobs: int) -> _penstock.Controls:
        """Returns what simulates: so many at once, on so many threads."""
        kind, names = self.knob
        cores = [scenario.core for scenario in self.scenarios]
        return _penstock.Controls(cores, number, kind, list(names), self.step_s, jobs)

    def facts(self) -> Array:
        """Returns rate (bit/s), full buffer (packets) and propagation delay (s) of each scenario's bottleneck."""
        bottlenecks = [scenario.core.facts().bottleneck for scenario in self.scenarios]
        return np.array([(b.rate_bps, b.room_pkts, b.delay_s) for b in bottlenecks])


def now(rows: Array, facts: Array, step_s: float) -> dict[str, Array]:
    """Returns the columns by name, with what follows from them: `utilization`, `load`, `queue_s`, `drop_share`,
    `mark_share`, `throughput` (of the flow, as a share of the link) and `retransmit_share`."""
    found = {name: rows[:, i] for i, name in enumerate(ROW)}
    rate = facts[:, 0]
    came, sent = np.maximum(found["arrivals"], 1), np.maximum(found["sent"], 1)
    found["utilization"] = np.minimum(found["departed_bytes"] * 8 / (rate * step_s), 1)
    found["load"] = found["arrivals"] * FULL_BYTES * 8 / (rate * step_s)
    found["queue_s"] = found["queue_bytes"] * 8 / rate
    found["drop_share"] = np.minimum(found["drops"] / came, 1)
    found["mark_share"] = np.minimum(found["marks"] / came, 1)
    found["throughput"] = found["acked_bytes"] * 8 / (rate * step_s)
    found["retransmit_share"] = found["retransmits"] / sent
    return found


def busy_and_short(seen: Now) -> Array:
    """Pays for a busy link with a short queue: utilization − delay / 20 ms / 2, of the packets that left."""
    paid: Array = seen["utilization"] - seen["delay_s"] / TARGET_S / 2
    return paid


def fast_and_gentle(seen: Now) -> Array:
    """Pays for throughput with a short queue and few losses: the flow's share of the link − delay / 20 ms / 2 − ten
    times the share of its segments that are retransmissions."""
    paid: Array = seen["throughput"] - seen["delay_s"] / TARGET_S / 2 - 10 * seen["retransmit_share"]
    return paid


def aqm(scenario: Scenarios | None, step: str | float, act: str, reward: Reward | None) -> Task:
    """Returns the task of a queue. Raises `Error` for an `act` that there is not."""
    known(act, ("drop_probability", "max_p", "thresholds"), "act")
    scenarios = _scenarios(scenario, DEFAULT)
    if act == "drop_probability":
        scenarios = tuple(each.with_aqm("bernoulli") for each in scenarios)
        return _aqm(scenarios, step, ("p",), lambda action, _: action, reward)
    if act == "max_p":
        return _aqm(scenarios, step, ("max_p",), lambda action, _: np.maximum(action, 1e-4), reward)
    return _aqm(scenarios, step, ("min_th", "max_th"), _thresholds, reward)


def _thresholds(action: Array, facts: Array) -> Array:
    """Returns min_th and max_th in packets: min_th is the first number's share of the buffer, max_th lies between that
    and the full buffer by the second."""
    room = facts[:, 1]
    low = np.maximum(action[:, 0] * (room - 2), 1)
    return np.stack([low, low + 1 + action[:, 1] * np.maximum(room - low - 1, 0)], axis=1)


def _aqm(
    scenarios: tuple[Scenario, ...],
    step: str | float,
    keys: tuple[str, ...],
    values: Callable[[Array, Array], Array],
    reward: Reward | None,
) -> Task:
    observed = ("queue_s", "delay_s", "utilization", "load", "drop_share", "mark_share")
    return Task(scenarios, seconds(step), ("keys", keys), observed, len(keys), values, reward or busy_and_short)


def congestion(scenario: Scenarios | None, step: str | float, act: str, flow: int, reward: Reward | None) -> Task:
    """Returns the task of a sender. Raises `Error` for an `act` or a flow that there is not."""
    known(act, ("pacing", "window"), "act")
    scenarios = tuple(_fixed(each, flow) for each in _scenarios(scenario, DEFAULT_OF_A_SENDER))
    observed = ("srtt_s", "throughput", "retransmit_share")
    values = _windows if act == "window" else _rates
    knob = (act, (str(flow),))
    return Task(scenarios, seconds(step), knob, observed, 1, values, reward or fast_and_gentle)


def _fixed(scenario: Scenario, flow: int) -> Scenario:
    """Returns the scenario with the sender of a flow's group as one that its controller sets."""
    session = _penstock.Session(scenario.core, scenario.seed)
    groups = session.flow_groups()
    if not 0 <= flow < len(groups):
        raise Error(f"flow {flow}: the scenario has flows 0 to {len(groups) - 1}")
    group = groups[flow]
    if groups.count(group) > 1:
        raise Error(f"flow {flow}: its group has {groups.count(group)} flows; the one that is controlled stands alone")
    return scenario.set(f"traffic.{group}.tcp", "fixed")


def _windows(action: Array, facts: Array) -> Array:
    """Returns segments: from 1 to four times what fills the link for a round trip of four link delays."""
    fills = facts[:, 0] * 4 * facts[:, 2] / (8 * FULL_BYTES)
    windows: Array = 1 + action * (MOST_WINDOWS * np.maximum(fills, 1))[:, None]
    return windows


def _rates(action: Array, facts: Array) -> Array:
    """Returns bits per second: up to 1.5 times the link's rate."""
    rates: Array = np.maximum(action, 1e-3) * (MOST_RATES * facts[:, 0])[:, None]
    return rates


def _scenarios(given: Scenarios | None, default: str) -> tuple[Scenario, ...]:
    if given is None:
        return (Scenario.from_toml(default),)
    listed = [given] if isinstance(given, (Scenario, str, Path)) else list(given)
    if not listed:
        raise Error("scenario: at least one")
    return tuple(each if isinstance(each, Scenario) else Scenario.load(each) for each in listed)
