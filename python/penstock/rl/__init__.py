"""Gymnasium environments: a controller outside sets a queue's parameters, or a flow's window.

Importing this registers `penstock/Aqm-v0` and `penstock/Congestion-v0`:

>>> import gymnasium
>>> import penstock.rl
>>> env = gymnasium.make("penstock/Aqm-v0", step="20 ms", act="max_p")
>>> observation, info = env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

It needs Gymnasium: `pip install 'penstock[rl]'`.
"""

from __future__ import annotations

from penstock.errors import Error

try:
    import gymnasium
except ModuleNotFoundError as missing:
    raise Error("penstock.rl needs Gymnasium; install penstock[rl]") from missing

from penstock.rl.environment import AqmEnv, AqmVectorEnv, CongestionEnv, CongestionVectorEnv

__all__ = ["AqmEnv", "AqmVectorEnv", "CongestionEnv", "CongestionVectorEnv"]

for _name, _one, _many in (("Aqm", AqmEnv, AqmVectorEnv), ("Congestion", CongestionEnv, CongestionVectorEnv)):
    _home = "penstock.rl.environment"
    gymnasium.register(
        f"penstock/{_name}-v0",
        entry_point=f"{_home}:{_one.__name__}",
        vector_entry_point=f"{_home}:{_many.__name__}",
    )
