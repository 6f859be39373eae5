"""The environments of `penstock.rl`: Gymnasium's own checks, the same numbers from the same seeds, and actions that
act."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import penstock as ps

gymnasium = pytest.importorskip("gymnasium", reason="Gymnasium is not installed (penstock[rl])")
import penstock.rl as rl  # noqa: E402 — it needs Gymnasium

SHORT = """
duration = "2 s"
topology.bottleneck = { rate = "10 Mbit/s", delay = "10 ms", buffer = "60 packets" }
aqm = { kind = "red", min_th = 5, max_th = 50, ecn = true }
traffic = [{ kind = "ftp", flows = 6, tcp = "cubic", ecn = "classic", start = { uniform = ["0 s", "0.1 s"] } }]
"""
TWO = """
duration = "4 s"
topology.bottleneck = { rate = "10 Mbit/s", delay = "10 ms", buffer = "60 packets" }
traffic = [{ kind = "ftp" }, { kind = "ftp", tcp = "cubic" }]
"""
KINDS: list[tuple[str, dict[str, Any]]] = [
    *(
        ("Aqm", {"act": act, "scenario": ps.Scenario.from_toml(SHORT)})
        for act in ("max_p", "thresholds", "drop_probability")
    ),
    *(("Congestion", {"act": act, "scenario": ps.Scenario.from_toml(TWO)}) for act in ("window", "pacing")),
]


def many(kind: str, number: int, **arguments: Any) -> Any:
    return gymnasium.make_vec(
        f"penstock/{kind}-v0", num_envs=number, vectorization_mode="vector_entry_point", **arguments
    )


@pytest.mark.parametrize(("kind", "arguments"), KINDS, ids=lambda each: each if isinstance(each, str) else each["act"])
def test_gymnasiums_own_check(kind: str, arguments: dict[str, Any]) -> None:
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make(f"penstock/{kind}-v0", **arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*Box observation space.*(maximum|minimum) value is .*infinity.*")
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize(("kind", "arguments"), KINDS, ids=lambda each: each if isinstance(each, str) else each["act"])
def test_the_same_seed_gives_the_same_numbers(kind: str, arguments: dict[str, Any]) -> None:
    def run(jobs: int) -> list[Any]:
        env = many(kind, 5, jobs=jobs, **arguments)
        observation, _ = env.reset(seed=3)
        rows, actions = [observation], np.random.default_rng(1).random((60, *env.action_space.shape))
        ended = np.zeros(5, bool)
        for action in actions:
            observation, reward, terminated, truncated, _ = env.step(action)
            assert (reward[ended] == 0).all(), "an episode's first row is not paid"
            assert not terminated.any()
            ended = truncated
            rows += [observation, reward]
        return rows

    one, two = run(1), run(3)
    assert all((a == b).all() for a, b in zip(one, two, strict=True))
    assert not (one[10][0] == one[10][1]).all(), "each of them has a seed of its own"


def test_one_is_the_first_of_many() -> None:
    arguments = {"scenario": ps.Scenario.from_toml(SHORT), "act": "max_p"}
    one, several = gymnasium.make("penstock/Aqm-v0", **arguments), many("Aqm", 1, **arguments)
    seen = [one.reset(seed=9)[0], several.reset(seed=9)[0][0]]
    for step in range(100):
        assert (seen[0] == seen[1]).all(), step
        a, b = one.step([0.3]), several.step([[0.3]])
        assert (a[1], a[3]) == (b[1][0], b[3][0])
        seen = [a[0], b[0][0]]
    assert a[3], "the episode ends with the scenario"
    again, reward, _, truncated, _ = several.step([[1.0]])
    assert (reward[0], truncated[0], again[0][-1]) == (0, False, 0), "it begins anew, and takes no action"


def rewards(env: Any, action: float, steps: int = 90) -> tuple[float, dict[str, float]]:
    env.reset(seed=1)
    for _ in range(steps // 2):
        env.step(np.full(env.action_space.shape, action))
    found = [env.step(np.full(env.action_space.shape, action)) for _ in range(steps - steps // 2)]
    means = {name: float(np.mean([each[4][name] for each in found])) for name in found[0][4]}
    return float(np.mean([each[1] for each in found])), means


def test_an_action_acts() -> None:
    scenario = ps.Scenario.from_toml(SHORT)
    for act, low, high in (("drop_probability", 0.0, 0.05), ("max_p", 0.001, 0.5)):
        env = rl.AqmEnv(scenario, act=act)
        assert rewards(env, low)[1]["queue_s"] > 1.5 * rewards(env, high)[1]["queue_s"], act
    env = rl.AqmEnv(scenario, act="thresholds")
    assert rewards(env, 0.8)[1]["queue_s"] > 1.5 * rewards(env, 0.02)[1]["queue_s"]
    two = ps.Scenario.from_toml(TWO)
    window = rl.CongestionEnv(two, act="window", step="40 ms")
    small, large = rewards(window, 0.02)[1], rewards(window, 0.5)[1]
    assert small["cwnd_segments"] < large["cwnd_segments"]
    assert small["throughput"] < 0.2 < 0.5 < large["throughput"]
    # Repairs are lost in the queue that CUBIC overshoots. RACK sees that; RFC 6675 waits for a timeout each time.
    paced = rl.CongestionEnv(two.set("profile", "linux"), act="pacing", step="40 ms")
    assert rewards(paced, 0.2)[1]["throughput"] == pytest.approx(0.3, abs=0.03)


def test_a_reward_of_ones_own_and_several_scenarios() -> None:
    short, other = (
        ps.Scenario.from_toml(SHORT),
        ps.Scenario.from_toml(SHORT).set("topology.bottleneck.rate", "2 Mbit/s"),
    )
    env = many("Aqm", 40, scenario=[short, other], reward=lambda seen: -seen["queue_s"])
    env.reset(seed=1)
    for _ in range(50):
        _, reward, *_, info = env.step(np.full((40, 1), 0.1))
    assert (reward == -info["queue_s"]).all()
    slow = info["departed_bytes"] * 8 / 0.02 < 3e6
    assert 8 < slow.sum() < 32, "both scenarios are drawn"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.AqmEnv(act="max_pp"), "nearest: max_p"),
        (lambda: rl.AqmEnv(ps.Scenario.from_toml(SHORT).with_aqm("codel"), act="max_p"), "codel has no number max_p"),
        (lambda: rl.AqmEnv(step="0 s"), "step"),
        (lambda: rl.AqmEnv([]), "at least one"),
        (lambda: rl.CongestionEnv(ps.Scenario.from_toml(SHORT)), "stands alone"),
        (lambda: rl.CongestionEnv(flow=9), "flows 0 to 3"),
        (lambda: rl.AqmEnv().step([float("nan")]), "must be numbers"),
    ],
)
def test_what_cannot_be(make: Any, message: str) -> None:
    with pytest.raises((ps.Error, ValueError), match=message):
        make()
