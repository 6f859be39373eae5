"""Trains the policy of `trained_queue.py`: CMA-ES over eight weights, on `penstock/Aqm-v0`.

    pip install 'penstock[rl]' cma
    python examples/rl/train.py

It takes 130 s of processor time, and prints the weights.
"""

from __future__ import annotations

import time

import cma
import gymnasium
import numpy as np
from trained_queue import GAIN, SCALES

import penstock as ps
import penstock.rl

#: Loads of the training: flows, rate, delay of the link. Those of `11_trained_policy.py` are others.
LOADS = [(4, 5, 10), (8, 10, 20), (16, 10, 40), (24, 20, 20), (40, 20, 10), (12, 40, 30)]
GENERATIONS, POPULATION, EPISODES, STEPS = 40, 12, 12, 400


def scenario(flows: int, mbit: int, delay_ms: int) -> ps.Scenario:
    """Returns CUBIC's flows, with ECN, at a link with a buffer of about 120 ms."""
    link = ps.Link(rate=f"{mbit} Mbit/s", delay=f"{delay_ms} ms", buffer=f"{10 * mbit} packets")
    return ps.Scenario(
        duration="9 s",
        topology=ps.Dumbbell(bottleneck=link),
        aqm=ps.Red(ecn=True),
        traffic=ps.Ftp(flows=flows, tcp="cubic", ecn="classic", start={"uniform": ["0 s", "1 s"]}),
    )


def paid(env: gymnasium.vector.VectorEnv, weights: np.ndarray, seed: int) -> float:
    """Returns the mean reward of a step, over the same loads and seeds for all weights."""
    seen, _ = env.reset(seed=seed)
    scales = np.array([*SCALES, 0.1])
    total = 0.0
    for _ in range(STEPS):
        p = seen[:, -1]
        x = np.concatenate([seen / scales, np.ones((len(seen), 1))], axis=1)
        p = np.clip(p + GAIN * np.tanh(x @ weights), 0.0, 1.0)
        seen, reward, *_ = env.step(p[:, None])
        total += reward.mean()
    return total / STEPS


def main() -> None:
    """Searches, and prints what it found."""
    scenarios = [scenario(*load) for load in LOADS]
    env = gymnasium.make_vec(
        "penstock/Aqm-v0",
        num_envs=EPISODES,
        vectorization_mode="vector_entry_point",
        scenario=scenarios,
        step="20 ms",
        act="drop_probability",
    )
    search = cma.CMAEvolutionStrategy([0.0] * 8, 0.5, {"popsize": POPULATION, "seed": 1, "verbose": -9})
    began = time.monotonic()
    for generation in range(GENERATIONS):
        asked = search.ask()
        rewards = [paid(env, np.array(each), seed=generation) for each in asked]
        search.tell(asked, [-reward for reward in rewards])
        print(f"{generation:3}  best {max(rewards):.3f}  {time.monotonic() - began:4.0f} s", flush=True)
    print("WEIGHTS =", tuple(round(float(w), 3) for w in search.result.xfavorite))


if __name__ == "__main__":
    main()
