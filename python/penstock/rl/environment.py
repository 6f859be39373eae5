"""The environments: one simulation, or many on several threads, behind Gymnasium's interfaces."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space

from penstock.errors import Error
from penstock.rl import task as tasks
from penstock.rl.task import ROW, Array, Reward, Scenarios, Task, now
from penstock.runs.execute import cores

#: Seeds of runs are drawn below this.
SEEDS = 2**31


class Simulations:
    """So many simulations of a task at once, with the last action of each."""

    def __init__(self, task: Task, number: int, jobs: int) -> None:
        self.task, self.number = task, number
        self._core = task.core(number, jobs)
        self._of_scenarios = task.facts()
        self._chosen = np.zeros(number, np.int64)
        self._actions = np.zeros((number, task.actions))
        self.action_space = gymnasium.spaces.Box(0.0, 1.0, (task.actions,), np.float32)
        size = len(task.observed) + task.actions
        self.observation_space = gymnasium.spaces.Box(0.0, np.inf, (size,), np.float32)

    def begin(self, places: np.ndarray[Any, np.dtype[np.intp]], random: np.random.Generator) -> dict[str, Array]:
        """Begins new runs at those places: each draws a scenario and a seed. Returns how all stand."""
        scenarios = random.integers(len(self.task.scenarios), size=len(places))
        seeds = random.integers(SEEDS, size=len(places))
        self._chosen[places] = scenarios
        self._actions[places] = 0.0
        runs = zip(places.tolist(), scenarios.tolist(), seeds.tolist(), strict=True)
        return self._read(self._core.begin(list(runs)))

    def step(self, actions: Any, new: np.ndarray[Any, np.dtype[np.bool_]] | None = None) -> dict[str, Array]:
        """Lets all go on for a step under these actions, within their bounds. Returns how they stand.

        new: those that have just begun: they take no action, and stand still.
        """
        taken = np.clip(np.asarray(actions, np.float64).reshape(self._actions.shape), 0.0, 1.0)
        if not np.isfinite(taken).all():
            raise Error(f"an action must be numbers from 0 to 1, not {actions}")
        waiting: list[int] = []
        if new is not None and new.any():
            taken[new] = 0.0
            waiting = np.flatnonzero(new).tolist()
        self._actions = taken
        values = self.task.values(self._actions, self._of_scenarios[self._chosen])
        return self._read(self._core.step(np.ascontiguousarray(values, np.float64).tobytes(), waiting))

    def _read(self, rows: bytes) -> dict[str, Array]:
        table = np.frombuffer(rows).reshape(self.number, len(ROW))
        return now(table, self._of_scenarios[self._chosen], self.task.step_s)

    def observation(self, seen: dict[str, Array]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Returns what the controllers see."""
        columns = [seen[name][:, None] for name in self.task.observed]
        return np.concatenate([*columns, self._actions], axis=1, dtype=np.float32, casting="same_kind")


class _Env(gymnasium.Env[Any, Any]):
    """One simulation."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, task: Task) -> None:
        self._simulations = Simulations(task, 1, 1)
        self.action_space = self._simulations.action_space
        self.observation_space = self._simulations.observation_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins another run: a scenario and a seed are drawn."""
        super().reset(seed=seed)
        seen = self._simulations.begin(np.zeros(1, np.intp), self.np_random)
        return self._simulations.observation(seen)[0], _first(seen)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Sets what the action says, and lets the simulation go on. At its end the episode is truncated."""
        seen = self._simulations.step(action)
        reward = float(self._simulations.task.reward(seen)[0])
        return self._simulations.observation(seen)[0], reward, False, bool(seen["ended"][0]), _first(seen)


def _first(seen: dict[str, Array]) -> dict[str, Any]:
    return {name: float(column[0]) for name, column in seen.items()}


class _VectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Many simulations, stepped together by the core, on several threads and without Python in between. One that has
    ended begins anew at the next step, whose action it does not take (Gymnasium's `NEXT_STEP`)."""

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": [],
        "autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP,
    }

    def __init__(self, task: Task, num_envs: int, jobs: int | None) -> None:
        self._simulations = Simulations(task, num_envs, cores() if jobs is None else jobs)
        self.num_envs = num_envs
        self.single_action_space = self._simulations.action_space
        self.single_observation_space = self._simulations.observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._ended = np.zeros(num_envs, bool)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins other runs everywhere."""
        super().reset(seed=seed)
        self._ended[:] = False
        seen = self._simulations.begin(np.arange(self.num_envs), self.np_random)
        return self._simulations.observation(seen), dict(seen)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Lets all go on for a step."""
        before = self._ended
        if before.any():
            self._simulations.begin(np.flatnonzero(before), self.np_random)
        seen = self._simulations.step(actions, before)
        reward = np.where(before, 0.0, self._simulations.task.reward(seen))
        self._ended = seen["ended"] > 0
        observation = self._simulations.observation(seen)
        return observation, reward, np.zeros(self.num_envs, bool), self._ended.copy(), dict(seen)


class AqmEnv(_Env):
    """A controller sets a queue's parameters.

    scenario: what runs: a `Scenario`, a file, or several of which each episode draws one. Its duration is the
        episode's. Default: ten CUBIC flows with ECN at 10 Mbit/s.
    step: simulated time between two actions.
    act: what is set at the bottleneck, by numbers from 0 to 1: `"max_p"`, the ceiling of RED's ramp; `"thresholds"`,
        RED's two: min_th as a share of the buffer, and max_th as a share of what is left above it;
        `"drop_probability"`, under the discipline `bernoulli`, which takes the place of the scenario's.
    reward: of a step: takes a dict of the columns in `info`, each an array over the simulations, and returns an array.
        Default: utilization − delay / 20 ms / 2.

    Observation: `queue_s` (what waits, in seconds of the link's rate), `delay_s` (mean of the packets that left in the
    step), `utilization`, `load` (what came, in packets of 1500 B), `drop_share`, `mark_share`, and the last action.
    """

    def __init__(
        self,
        scenario: Scenarios | None = None,
        step: str | float = "20 ms",
        act: str = "max_p",
        reward: Reward | None = None,
    ) -> None:
        super().__init__(tasks.aqm(scenario, step, act, reward))


class AqmVectorEnv(_VectorEnv):
    """Many of `AqmEnv`, with its arguments. jobs: threads; default: one for each core that the process may use."""

    def __init__(
        self,
        num_envs: int = 1,
        scenario: Scenarios | None = None,
        step: str | float = "20 ms",
        act: str = "max_p",
        reward: Reward | None = None,
        jobs: int | None = None,
    ) -> None:
        super().__init__(tasks.aqm(scenario, step, act, reward), num_envs, jobs)


class CongestionEnv(_Env):
    """A controller sets a sender's window or pace, by a number from 0 to 1.

    scenario: as for `AqmEnv`. Default: one flow beside three of CUBIC's at 10 Mbit/s.
    flow: the number of the flow, alone in its `[[traffic]]`. Its `tcp` becomes `"fixed"`.
    step: simulated time between two actions; a round trip or more.
    act: `"window"`: 1 is a congestion window of four times what fills the link for four link delays; or `"pacing"`:
        1 is one and a half times the link's rate.
    reward: as for `AqmEnv`. Default: share of the link − delay / 20 ms / 2 − 10 · share of retransmissions.

    Observation: `srtt_s`, `throughput` (acknowledged bytes as a share of the link's), `retransmit_share`, and the last
    action.
    """

    def __init__(
        self,
        scenario: Scenarios | None = None,
        flow: int = 0,
        step: str | float = "100 ms",
        act: str = "window",
        reward: Reward | None = None,
    ) -> None:
        super().__init__(tasks.congestion(scenario, step, act, flow, reward))


class CongestionVectorEnv(_VectorEnv):
    """Many of `CongestionEnv`, with its arguments. jobs: as for `AqmVectorEnv`."""

    def __init__(
        self,
        num_envs: int = 1,
        scenario: Scenarios | None = None,
        flow: int = 0,
        step: str | float = "100 ms",
        act: str = "window",
        reward: Reward | None = None,
        jobs: int | None = None,
    ) -> None:
        super().__init__(tasks.congestion(scenario, step, act, flow, reward), num_envs, jobs)
