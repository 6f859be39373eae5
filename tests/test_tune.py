"""`penstock tune` without a simulation: goals, the range, the rules' numbers, the judge, races, the
search.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.errors import Error, ScenarioError
from penstock.judging.paired import paired
from penstock.model.discipline import Discipline
from penstock.tuning import rules
from penstock.tuning.candidates import Ask, Candidate, Setting
from penstock.tuning.compare import Ground, Standing, choose, feasible_alone, finals
from penstock.tuning.conditions import conditions, unseen
from penstock.tuning.facts import Facts, amount, facts
from penstock.tuning.goals import Goal, Objective, aims
from penstock.tuning.hunt import Budget, Hunt
from penstock.tuning.judge import Array, Judge, Runs, Verdict, clearly_above, difference, over, verdict
from penstock.tuning.racing import Heat, Race
from penstock.tuning.search import Search, front
from penstock.tuning.space import Key, Space, space

HOME_LINE = Path(__file__).resolve().parents[1] / "scenarios" / "home-line.toml"
LINK = """\
duration = "5 s"
[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mbit/s", delay = "8 ms", buffer = "250 packets" }
access = { rate = "100 Mbit/s", delay = "1 ms" }
[aqm]
kind = "red"
[[traffic]]
kind = "ftp"
flows = 5
[sweep]
"traffic.0.flows" = [5, 50, 200]
"topology.bottleneck.delay" = ["8 ms", "98 ms"]
"""
#: 10 Mbit/s in packets of 1000 B; round trips of 20 to 200 ms.
FACTS = Facts((1250.0, 1250.0), (0.02, 0.2), (5, 200), 250, 1000.0)
#: The network of Hollot and others 2001: 60 flows, 3750 packets a second, 246 ms with the queue
#: (here 46 ms of it).
HOLLOT, QUEUE_S = Facts((3750.0, 3750.0), (0.1, 0.2), (60, 60), 800, 500.0), 0.046


# ---------------------------------------------------------------------------- what is wanted


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("delay_p99_s < 20 ms", Goal("delay_p99_s", True, 0.02)),
        ("delay_p99_s<=0.02s", Goal("delay_p99_s", True, 0.02)),
        ("utilization > 90 %", Goal("utilization", False, 0.9)),
        ("utilization ≥ 0.9", Goal("utilization", False, 0.9)),
        ("goodput_bps > 9 Mbit/s", Goal("goodput_bps", False, 9e6)),
        ("queue_mean_pkts < 30 packets", Goal("queue_mean_pkts", True, 30.0)),
        ("delay_var_s2 < 4 ms²", Goal("delay_var_s2", True, 4e-6)),
        ("timeouts < 10", Goal("timeouts", True, 10.0)),
    ],
)
def test_a_goal_is_read_with_its_unit(text: str, goal: Goal) -> None:
    found = Goal.parse(text)
    assert (found.metric, found.lower) == (goal.metric, goal.lower)
    assert found.bound == pytest.approx(goal.bound)
    assert Goal.parse(str(found)) == found


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("delay_p98_s < 20 ms", ["nearest: delay_p99_s"]),
        ("delay_p99_s < 20", ["20", "delay_p99_s"]),
        ("delay_p99_s < 20 Mbit/s", ["20 Mbit/s"]),
        ("delay_p99_s = 20 ms", ["< or >"]),
        ("delay_p99_s < 0 ms", ["no run can keep it"]),
        ("utilization > 120 %", ["no run can keep it"]),
        ("loss_ratio < 1.5", ["every run keeps it"]),
        ("utilization > 9 packets", ["no bound of utilization"]),
        ("timeouts < many", ["no bound of timeouts"]),
        ("", ["must be a metric"]),
    ],
)
def test_a_goal_that_makes_no_sense_is_refused(text: str, named: Sequence[str]) -> None:
    with pytest.raises(Error) as caught:
        Goal.parse(text)
    assert all(word in str(caught.value) for word in named), caught.value


@pytest.mark.parametrize(
    ("goals", "maximize", "minimize", "named"),
    [
        ([], [], [], "nothing is wanted"),
        (["delay_p99_s < 20 ms", "delay_p99_s > 30 ms"], [], [], "contradict each other"),
        (["delay_p99_s < 20 ms", "delay_p99_s > 20 ms"], [], [], "contradict each other"),
        (["jain > 0.5", "jain > 0.7"], [], [], "give the tighter one"),
        ([], ["utilization"], ["utilization"], "cannot be an objective twice"),
        ([], ["utilisation"], [], "nearest: utilization"),
    ],
)
def test_wishes_that_contradict_each_other_are_refused(
    goals: Sequence[str], maximize: Sequence[str], minimize: Sequence[str], named: str
) -> None:
    with pytest.raises(Error, match=named):
        aims(goals, maximize, minimize)


def test_two_bounds_with_room_between_them_are_a_band() -> None:
    assert len(aims(["queue_mean_pkts < 30", "queue_mean_pkts > 10"], [], []).goals) == 2


# ------------------------------------------------------------------------------- the range


def test_the_conditions_are_the_points_of_the_sweep() -> None:
    found = conditions(ps.Scenario.from_toml(LINK))
    assert [each.name for each in found[:2]] == ["flows=5, delay=8 ms", "flows=5, delay=98 ms"]
    assert len(found) == 6
    assert found[5].values == (("traffic.0.flows", "200"), ("topology.bottleneck.delay", '"98 ms"'))


def test_variants_are_conditions_too() -> None:
    variants = '[[variant]]\nname = "web"\nset = { "traffic.0.tcp" = "cubic" }\n[[variant]]\nname = "plain"\nset = {}\n'
    found = conditions(ps.Scenario.from_toml(LINK + variants))
    assert len(found) == 12
    assert {each.variant for each in found} == {"web", "plain"}


def test_a_scenario_without_a_range_is_refused() -> None:
    with pytest.raises(ScenarioError, match="an empty range"):
        conditions(ps.Scenario.from_toml(LINK.partition("[sweep]")[0]))


def test_a_range_with_too_many_points_is_refused() -> None:
    many = LINK.replace("[5, 50, 200]", str(list(range(1, 151))))
    with pytest.raises(ScenarioError, match="more than 200 points"):
        conditions(ps.Scenario.from_toml(many))


def test_unseen_conditions_lie_between_the_ends_of_the_axes() -> None:
    scenario = ps.Scenario.from_toml(LINK)
    found = unseen(scenario, 6, 1)
    assert len(found) == 6
    assert found == unseen(scenario, 6, 1)
    assert found != unseen(scenario, 6, 2)
    for each in found:
        values = {path: json.loads(text) for path, text in each.values}
        assert 5 <= values["traffic.0.flows"] <= 200
        assert 8 <= float(values["topology.bottleneck.delay"].removesuffix(" ms")) <= 98
    assert not set(found) & set(conditions(scenario))


def test_unseen_conditions_take_words_in_turn() -> None:
    words = LINK.replace('"topology.bottleneck.delay" = ["8 ms", "98 ms"]', '"traffic.0.tcp" = ["sack", "cubic"]')
    found = [dict(each.values)["traffic.0.tcp"] for each in unseen(ps.Scenario.from_toml(words), 6, 1)]
    assert set(found) == {'"sack"', '"cubic"'}


def test_sampled_ranges_have_other_points_unseen() -> None:
    sampled = LINK.partition("[sweep]")[0] + '[sweep]\n"traffic.0.flows" = { integer = [5, 200] }\nsamples = 8\n'
    scenario = ps.Scenario.from_toml(sampled)
    assert len(conditions(scenario)) == 8
    assert set(conditions(scenario)) != set(unseen(scenario, 8, scenario.seed + 1))


def test_the_facts_of_the_link() -> None:
    scenario = ps.Scenario.from_toml(LINK)
    made = [scenario.core.point(each.variant, list(each.values)) for each in conditions(scenario)]
    found = facts(made)
    assert found.rate_pps == (1250.0, 1250.0)
    assert found.flows == (5, 200)
    assert found.rtt_s == pytest.approx((0.02, 0.2))
    assert (found.room, found.mean_packet) == (250, 1000.0)


def test_a_graph_has_no_single_round_trip() -> None:
    """`bottleneck` names a link of the graph. The slowest of its links has 2 Mbit/s."""
    found = facts([ps.Scenario.load(HOME_LINE).core])
    assert (found.rate_pps, found.rtt_s) == ((250.0, 250.0), None)


def test_the_rate_is_the_bottlenecks() -> None:
    """Of a graph the link that is named, not the slowest one."""
    text = """
    duration = "1 s"
    [topology]
    kind = "graph"
    bottleneck = "B-C"
    link = [
      { from = "A", to = "B", rate = "1 Mbit/s", delay = "1 ms", buffer = 9 },
      { from = "B", to = "C", rate = "4 Mbit/s", delay = "1 ms", buffer = 9 },
    ]
    [[traffic]]
    kind = "cbr"
    rate = "1 Mbit/s"
    packet = "100 B"
    from = "B"
    to = "C"
    """
    assert facts([ps.Scenario.from_toml(text).core]).rate_pps == (500, 500)


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("1 GB", "size", 1e9),
        ("1 GiB", "size", 2.0**30),
        ("1 GB", "queue", 1e6),  # of 1000 B
        ("40 packets", "queue", 40.0),
        ("5 ms", "duration", 0.005),
        ("0.1", "number", 0.1),
        ("auto", "number", None),
        ("auto", "queue", None),
    ],
)
def test_an_amount_counts_its_unit(value: str, kind: str, expected: float | None) -> None:
    assert amount(value, kind, 1000.0) == expected


# ------------------------------------------------------------------- the rules, by hand


def test_floyds_automatic_setting_by_hand() -> None:
    """20 ms at 1250 packets/s: min_th = 20 ms · 1250 / 2 = 12.5, max_th = 37.5; w_q = 1 −
    exp(−1/1250).
    """
    found = rules.floyd(FACTS, 0.02)
    assert (found["min_th"], found["max_th"], found["max_p"]) == (12.5, 37.5, 0.1)
    assert found["w_q"] == pytest.approx(0.00079968, rel=1e-5)
    assert rules.floyd(FACTS, 0.001)["min_th"] == 5.0, "never below 5 packets"


def test_amecns_target_rule_by_hand() -> None:
    """20 ms at 1250 packets/s: the target is 25 packets, min_th half of it, mid_th 2.25 and max_th
    3 times that.
    """
    found = rules.amecn(FACTS, 0.02)
    thresholds = (found["target_queue"], found["min_th"], found["mid_th"], found["max_th"])
    assert thresholds == (25.0, 12.5, 28.125, 37.5)


def test_hollots_pi_rule_gives_the_published_gains() -> None:
    """With z = 120/(0.246² · 3750) = 0.5288, (2N)²/(RC)³ = 14400/922.5³ = 1.834e-5, K = 0.5288 ·
    1.0084 · that.

    K = 9.78e-6, a = K·(1.8911 + 0.0029) = 1.853e-5, b = K·(1.8911 − 0.0029) = 1.847e-5; the paper
    prints 1.822e-5 and 1.816e-5.
    """
    found = rules.hollot_pi(HOLLOT, QUEUE_S)
    assert found["a"] == pytest.approx(1.853e-5, rel=1e-3)
    assert found["b"] == pytest.approx(1.847e-5, rel=1e-3)
    assert found["a"] == pytest.approx(1.822e-5, rel=0.02)
    assert found["b"] == pytest.approx(1.816e-5, rel=0.02)
    assert found["q_ref"] == pytest.approx(172.5)


def test_hollots_red_rule_gives_the_published_slope() -> None:
    """√101 · 1.834e-5 = 1.843e-4 a packet; the paper's L_RED is 1.86e-4. min_th = 0.046 · 3750 / 2
    = 86.25.
    """
    found = rules.hollot_red(HOLLOT, QUEUE_S)
    assert found["min_th"] == 86.25
    slope = found["max_p"] / (found["max_th"] - found["min_th"])
    assert slope == pytest.approx(1.843e-4, rel=1e-3)
    assert slope == pytest.approx(1.86e-4, rel=0.02)
    assert found["w_q"] == pytest.approx(0.005288 / 3750, rel=1e-3)


def test_rem_as_a_pi_controller_by_hand() -> None:
    """γ·ln 1.001 = K/z = 9.78e-6/0.5288 = 1.850e-5, so γ = 0.01851; α = z · 2 ms = 0.0010576."""
    found = rules.rem(HOLLOT, QUEUE_S)
    assert found["gamma"] == pytest.approx(0.01851, rel=1e-3)
    assert found["alpha"] == pytest.approx(0.0010576, rel=1e-4)


def settings(kind: str, *goals: str) -> dict[str, Mapping[str, float]]:
    """Rule → values, of the first candidates for the link of this file."""
    resolved = ps.Scenario.from_toml(LINK).with_aqm(kind).resolved["aqm"]
    wanted = aims(goals or ["delay_p99_s < 20 ms"], ["utilization"], [])
    found = rules.first_candidates(kind, space(Discipline(kind, kind), resolved, FACTS, [], []), FACTS, wanted)
    return {each.name: each.values for each in found}


@pytest.mark.parametrize(
    ("kind", "rule", "values"),
    [
        ("red", "Floyd's automatic setting at 20 ms", {"min_th": 12, "max_th": 38, "max_p": 0.1, "w_q": 0.0008}),
        ("red", "Floyd's advice of 1997", {"min_th": 5, "max_th": 15, "max_p": 0.1, "w_q": 0.002}),
        ("pie", "defaults", {"qdelay_ref": 0.015, "alpha": 0.125, "beta": 1.25}),  # RFC 8033, section 4.2
        ("pie", "PIE at 20 ms", {"qdelay_ref": 0.02, "alpha": 0.125, "beta": 1.25}),
        ("codel", "defaults", {"target": 0.005, "interval": 0.1}),  # RFC 8289, section 4.4
        ("codel", "interval of the longest round trip, target 5 % of it", {"target": 0.01, "interval": 0.2}),
        ("codel", "interval of the longest round trip, target 10 % of it", {"target": 0.02, "interval": 0.2}),
        ("dualpi2", "defaults", {"target": 0.015, "rtt_max": 0.1, "k": 2}),  # RFC 9332, appendix A.1
        ("dualpi2", "DualPI2 at 20 ms", {"target": 0.02, "rtt_max": 0.1, "k": 2}),
        ("dualpi2", "gains for the longest round trip", {"target": 0.015, "rtt_max": 0.2, "k": 2}),
        ("fq-pie", "PIE at 20 ms", {"qdelay_ref": 0.02, "alpha": 0.125, "beta": 1.25}),
        ("cobalt", "interval of the longest round trip, target 5 % of it", {"target": 0.01, "interval": 0.2}),
        ("wred", "Floyd's automatic setting at 20 ms", {"min_th": 12, "max_th": 38, "max_p": 0.1, "w_q": 0.0008}),
        ("step", "a seventh of the bandwidth-delay product", {"threshold": 36}),  # 1250 · 0.2 / 7 = 35.7
        ("rem", "REM's constants at 20 ms", {"gamma": 0.001, "alpha": 0.1, "b_star": 25}),
        ("blue", "defaults", {"d2": 0.00025, "d1": 0.0025, "freeze_time": 0.1}),
        ("blue", "SFB's steps in Linux", {"d2": 0.00005, "d1": 0.0005, "freeze_time": 0.1}),
        ("amecn", "AMECN's target rule at 20 ms", {"min_th": 12, "max_th": 38, "mid_th": 28, "w_q": 0.0008}),
    ],
)
def test_rules_as_first_candidates(kind: str, rule: str, values: Mapping[str, float]) -> None:
    assert settings(kind)[rule] == values


@pytest.mark.parametrize("kind", list(rules._CONSTANTS))
def test_every_first_candidate_cites_its_source_and_is_a_scenario(kind: str) -> None:
    scenario = ps.Scenario.from_toml(LINK).with_aqm(kind)
    searched = space(Discipline(kind, kind), scenario.resolved["aqm"], FACTS, [], [])
    found = rules.first_candidates(kind, searched, FACTS, aims(["delay_p99_s < 20 ms"], [], []))
    assert len(found) >= (1 if kind == "avq" else 2), "AVQ's published constants are its defaults"
    for rule in found:
        assert rule.source
        scenario.set_all(searched.changes(rule.values))


# ------------------------------------------------------------------------------ the space


def test_every_kind_with_parameters_has_a_space() -> None:
    kinds = [each["name"] for each in json.loads(ps._penstock.list_json("aqm"))]
    for kind in kinds:
        if kind in ("droptail", "custom"):
            continue
        scenario = ps.Scenario.from_toml(LINK).with_aqm(kind)
        found = space(Discipline(kind, kind), scenario.resolved["aqm"], FACTS, [], [])
        rng = np.random.default_rng(1)
        made = 0
        for _ in range(40):
            values = found.decode(rng.random(len(found.keys)).tolist())
            try:
                scenario.set_all(found.changes(values))
                made += 1
            except ScenarioError:
                pass
        assert made >= 38, f"{kind}: {made} of 40 points are scenarios"


def test_what_must_be_in_order_is() -> None:
    found = space(Discipline("red", "red"), {}, FACTS, [], [])
    for corner in itertools.product((0.0, 0.5, 1.0), repeat=4):
        values = found.decode(corner)
        assert values["min_th"] + 2 <= values["max_th"]
        assert 0.001 <= values["max_p"] <= 1.0


def test_a_setting_and_its_point_of_the_cube_are_one() -> None:
    found = space(Discipline("red", "red"), {}, FACTS, [], [])
    values = {"min_th": 12.0, "max_th": 38.0, "max_p": 0.123, "w_q": 0.00123}
    assert found.decode(found.encode(values)) == values


def test_pis_two_gains_stay_close() -> None:
    found = space(Discipline("pi", "pi"), {}, FACTS, [], [])
    values = {"a": 1.82e-5, "b": 1.816e-5, "q_ref": 50.0}
    again = found.decode(found.encode(values))
    assert again["b"] == pytest.approx(values["b"], rel=1e-6)
    assert all(found.decode(c)["b"] < found.decode(c)["a"] for c in itertools.product((0.0, 1.0), repeat=3))


def test_vary_and_fix_say_what_is_searched() -> None:
    found = space(Discipline("red", "red"), {"min_th": "7 packets"}, FACTS, ["aqm.max_p=0.01..0.5", "max_th"], [])
    assert [(key.name, key.low, key.high) for key in found.keys] == [("max_th", 1, 250), ("max_p", 0.01, 0.5)]
    assert found.decode([0.0, 0.0])["max_th"] == 9.0, "above the min_th that stays"
    assert space(Discipline("red", "red"), {}, FACTS, [], ["w_q"]).names == ["min_th", "max_th", "max_p"]


@pytest.mark.parametrize(
    ("kind", "vary", "named"),
    [
        ("red", ["aqm.max_pp"], "nearest: max_p"),
        ("red", ["aqm.gate"], "is no number"),
        ("red", ["aqm.max_p=0.5..0.1"], "the lower one first"),
        ("red", ["aqm.max_p=auto..0.1"], "the lower one first"),
        ("red", ["aqm.max_p=0.5"], "must be a key"),
        ("red", ["aqm.target_delay=1 ms..1 fortnights"], 'unknown unit "fortnights"; allowed: ns, us'),
        ("red", ["aqm.max_th=10..1 KB"], 'unit "KB" is ambiguous'),
        ("red", ["aqm.early_min_queue"], "needs its ends"),
        ("droptail", [], "it has no parameters"),
    ],
)
def test_a_space_that_makes_no_sense_is_refused(kind: str, vary: Sequence[str], named: str) -> None:
    with pytest.raises(Error, match=named):
        space(Discipline(kind, kind), {}, FACTS, vary, [])


# ------------------------------------------------------------------------------ the judge


def test_the_judges_by_hand() -> None:
    means = np.array([1.0, 5.0, 2.0, 4.0, 3.0])
    assert Judge.parse("worst").over(means, True) == 5.0
    assert Judge.parse("worst").over(means, False) == 1.0
    assert Judge.parse("mean").over(means, True) == 3.0
    assert Judge.parse("q75").over(means, True) == 4.0  # of five points the fourth
    assert Judge.parse("q75").over(means, False) == 2.0
    assert Judge.parse("worst").binds(means, False) == 0
    assert Judge.parse("q75").binds(means, True) == 3
    nothing = np.array([1.0, math.nan])
    assert all(Judge.parse(name).over(nothing, True) == math.inf for name in ("worst", "mean", "q90"))
    with pytest.raises(Error, match="worst, mean, or a quantile"):
        Judge.parse("best")


#: Of a delay in some unit.
DELAY = Goal("delay_p99_s", True, 1.0)


def test_of_a_mean_the_interval_is_students() -> None:
    values = np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 4.0]])
    found = over(Judge.parse("mean"), DELAY, values)
    of_seeds = ps.Estimate.of([2.0, 3.5, 4.0])
    assert found.estimate.mean == pytest.approx(of_seeds.mean)
    assert found.estimate.ci95 == pytest.approx(of_seeds.ci95)


def test_of_a_worst_case_that_one_condition_decides_the_interval_is_that_conditions() -> None:
    values = np.array([[1.0, 2.0, 1.5], [10.0, 12.0, 17.0]])
    found = over(Judge.parse("worst"), DELAY, values)
    alone = ps.Estimate.of([10.0, 12.0, 17.0])
    assert found.binds == 1
    assert found.estimate.mean == pytest.approx(alone.mean)
    assert found.estimate.ci95 == pytest.approx(alone.ci95)


def test_differences_are_paired_by_seed() -> None:
    ours, theirs = np.array([[11.0, 22.0, 33.5]]), np.array([[10.0, 21.0, 32.0]])
    judge = Judge.parse("worst")
    found = difference(over(judge, DELAY, ours), over(judge, DELAY, theirs))
    expected = paired(dict(enumerate(ours[0].tolist())), dict(enumerate(theirs[0].tolist()))).difference
    assert isinstance(expected, ps.Estimate)
    assert found.mean == pytest.approx(expected.mean)
    assert found.ci95 == pytest.approx(expected.ci95)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[1.0, 1.1, 0.9], [2.0, 2.1, 1.9]], Verdict.MET),
        ([[1.0, 1.1, 0.9], [3.9, 3.8, 4.3]], Verdict.UNDECIDED),  # 4.0 −0.63 +0.69 holds the bound
        ([[1.0, 1.1, 0.9], [6.0, 6.1, 5.9]], Verdict.MISSED),
        (
            [[1.0, 8.0, 0.0], [3.0, 3.1, 2.9]],
            Verdict.UNDECIDED,
        ),  # 3.0 −3.0 +20.6, though it does not decide the worst case
        ([[1.0, 1.1, 0.9], [math.nan] * 3], Verdict.MISSED),
    ],
)
def test_a_goal_is_met_where_every_condition_keeps_it(values: Sequence[Sequence[float]], expected: Verdict) -> None:
    judge, goal = Judge.parse("worst"), Goal("delay_p99_s", True, 4.05)
    assert verdict(goal, over(judge, goal, np.array(values)), judge) is expected


def test_clearly_above_needs_more_than_a_larger_mean() -> None:
    flat = np.array([1.0, 1.0, 1.0])
    assert clearly_above(flat + 1.0, flat, 0.05)
    assert not clearly_above(flat, flat, 0.05)
    assert not clearly_above(flat - 1.0, flat, 0.05)
    assert not clearly_above(np.array([0.0, 5.0, 1.0]), flat, 0.05)
    assert clearly_above(np.array([math.inf] * 3), flat, 0.05)
    spread = np.array([1.0, 12.0, 5.0])
    assert clearly_above(spread + np.array([0.10, 0.11, 0.09]), spread, 0.05), "paired by seed"


# ------------------------------------------------------------ races and search, with a bench that
# computes nothing


class Planted:
    """A bench with a known answer: metrics are functions of the two searched keys, the condition
    and the seed.
    """

    def __init__(self, of: Callable[[float, float, int], Mapping[str, float]], conditions: int, noise: float) -> None:
        self._of, self._conditions, self._noise = of, conditions, noise
        self._asked: set[tuple[Setting, bool, int, int]] = set()
        self.metrics: Sequence[str] = sorted(of(0.5, 0.5, 0))

    @property
    def asked(self) -> int:
        return len(self._asked)

    def refuses(self, setting: Setting) -> str | None:
        return None

    def measure(self, asks: Sequence[Ask]) -> list[Runs]:
        return [self._one(ask) for ask in asks]

    def _one(self, ask: Ask) -> Runs:
        x, y = (json.loads(value) for _, value in ask.setting.changes) if ask.setting.changes else (1.0, 1.0)
        found = {metric: np.zeros((len(ask.conditions), len(ask.seeds))) for metric in self.metrics}
        for i, condition in enumerate(ask.conditions):
            for j, seed in enumerate(ask.seeds):
                self._asked.add((ask.setting, ask.unseen, condition, seed))
                # What a seed does to all candidates, and a little of each one's own.
                common = np.random.default_rng([seed, condition]).normal()
                own = np.random.default_rng([seed, condition, round(1e6 * x), round(1e6 * y)]).normal()
                for metric, value in self._of(x, y, condition).items():
                    found[metric][i, j] = value + self._noise * (common + 0.1 * own)
        return found


#: Two keys from 0 to 1.
SQUARE = Space([Key("max_p", "number", 0.0, 1.0, 1.0), Key("w_q", "number", 0.0, 1.0, 1.0)])
SEEDS = range(1, 11)


def hunting(
    bench: Planted, wanted: tuple[Sequence[str], Sequence[str], Sequence[str]], judge: str = "worst", seed: int = 1,
    count: int = 5, heats: Sequence[Heat] = (Heat(3, half=True), Heat(3), Heat(6)),
) -> tuple[Hunt, Ground]:  # fmt: skip
    aimed, by = aims(*wanted), Judge.parse(judge)
    race = Race(bench, aimed, by, count, SEEDS, heats)
    first = [rules.Rule("defaults", "somewhere", {"max_p": 1.0, "w_q": 1.0})]
    points = [SQUARE.encode(rule.values) for rule in first]
    search = Search(2, max(1, len(aimed.objectives)), seed, points)
    ground = Ground(bench, aimed, by, SEEDS, [seed + 100 for seed in SEEDS], count, count)
    return Hunt(SQUARE, search, race, bench, "red", first), ground


def bowl(x: float, y: float, condition: int) -> Mapping[str, float]:
    """The utilization is best at (0.3, 0.6) and worst under condition 4; the delay grows with x,
    there most.
    """
    distance = (x - 0.3) ** 2 + (y - 0.6) ** 2
    return {"utilization": 0.95 - distance - 0.01 * condition, "delay_p99_s": 0.02 * (0.5 + x) * (1 + condition / 4)}


def test_a_planted_optimum_is_found() -> None:
    hunt, ground = hunting(Planted(bowl, 5, 0.002), ([], ["utilization"], []))
    hunt.run(Budget(runs=1500))
    best = finals(ground, hunt, {}).best
    assert best.values["max_p"] == pytest.approx(0.3, abs=0.06)
    assert best.values["w_q"] == pytest.approx(0.6, abs=0.06)
    assert best.over(ground.aims.objectives[0]).binds == 4


def test_a_planted_optimum_under_a_goal_lies_at_its_bound() -> None:
    """The worst condition's delay is 0.04·(0.5 + x): below 28 ms for x < 0.2."""
    hunt, ground = hunting(Planted(bowl, 5, 0.0002), (["delay_p99_s < 28 ms"], ["utilization"], []))
    hunt.run(Budget(runs=1500))
    best = finals(ground, hunt, {}).best
    assert best.standing(ground.aims) is Standing.MET
    assert 0.12 < best.values["max_p"] < 0.2
    assert best.values["w_q"] == pytest.approx(0.6, abs=0.08)


def test_goals_without_an_objective_are_met_with_the_widest_margin() -> None:
    goals = ["delay_p99_s < 40 ms", "utilization > 0.5"]
    hunt, ground = hunting(Planted(bowl, 5, 0.0002), (goals, [], []))
    hunt.run(Budget(runs=1500))
    best = finals(ground, hunt, {}).best
    assert best.standing(ground.aims) is Standing.MET
    assert min(goal.margin(best.over(goal).estimate.mean or 0.0) for goal in ground.aims.goals) > 0.25


def test_several_objectives_give_a_front() -> None:
    """With y = 0.6 less x costs utilization and saves delay: the front is y = 0.6, x from 0 to 0.3."""
    hunt, ground = hunting(Planted(bowl, 5, 0.0002), ([], ["utilization"], ["delay_p99_s"]))
    hunt.run(Budget(runs=1500))
    found = finals(ground, hunt, {})
    assert len(found.front) >= 4
    assert found.best in found.front
    assert all(each.values["max_p"] < 0.36 for each in found.front)
    assert np.median([abs(each.values["w_q"] - 0.6) for each in found.front]) < 0.1
    delays = [each.over(ground.aims.objectives[1]).estimate.mean for each in found.front]
    assert delays == sorted(delays, key=lambda each: -(each or 0.0)), "less utilization, less delay"


def test_an_infeasible_goal_names_what_binds_and_the_nearest_candidate() -> None:
    """The delay is at least 20 ms in the worst condition, at x = 0."""
    hunt, ground = hunting(Planted(bowl, 5, 0.0002), (["delay_p99_s < 10 ms", "utilization > 0.5"], [], []))
    hunt.run(Budget(runs=1500))
    best = finals(ground, hunt, {}).best
    assert best.standing(ground.aims) is Standing.MISSED
    assert str(best.binding(ground.aims)) == "delay_p99_s < 10 ms"
    assert best.values["max_p"] < 0.1
    assert feasible_alone(hunt, ground) == dict(zip(ground.aims.goals, (False, True), strict=True))


def test_races_spare_most_of_the_runs_and_drop_what_is_worse() -> None:
    bench = Planted(bowl, 5, 0.002)
    hunt, _ = hunting(bench, ([], ["utilization"], []))
    hunt.run(Budget(runs=1500))
    dropped = [each for each in hunt.candidates if "clearly worse" in each.out]
    assert len(dropped) > len(hunt.candidates) / 2
    assert bench.asked < len(hunt.candidates) * 5 * 6 * 0.7, "all seeds under all conditions would be twice as many"

    def truth(each: Candidate) -> float:
        return bowl(each.values["max_p"], each.values["w_q"], 4)["utilization"]

    kept = max(truth(each) for each in hunt.candidates if not each.out)
    assert [each.number for each in dropped if truth(each) > kept] == []
    assert any(len(each.done) == 3 for each in dropped), "some after half of the conditions"


def test_the_budget_is_kept_and_the_search_repeats() -> None:
    tried = []
    for _ in range(2):
        bench = Planted(bowl, 5, 0.002)
        hunt, _ = hunting(bench, ([], ["utilization"], []))
        hunt.run(Budget(runs=500))
        assert 400 < bench.asked <= 500
        tried.append([(dict(each.values), tuple(each.costs), each.out) for each in hunt.candidates])
    assert tried[0] == tried[1]
    other, _ = hunting(Planted(bowl, 5, 0.002), ([], ["utilization"], []), seed=2)
    other.run(Budget(runs=500))
    assert [dict(each.values) for each in other.candidates] != [values for values, _, _ in tried[0]]


def test_the_first_candidates_are_the_rules() -> None:
    hunt, _ = hunting(Planted(bowl, 5, 0.002), ([], ["utilization"], []))
    hunt.run(Budget(runs=300))
    assert (hunt.candidates[0].origin, hunt.candidates[0].values) == ("defaults", {"max_p": 1.0, "w_q": 1.0})
    assert {each.origin for each in hunt.candidates[1:]} == {"search"}


def test_a_small_space_is_used_up() -> None:
    bench = Planted(bowl, 5, 0.0)
    hunt, _ = hunting(bench, ([], ["utilization"], []))
    hunt.space = Space([Key("max_p", "int", 0.0, 1.0, 1.0), Key("w_q", "int", 0.0, 1.0, 1.0)])
    hunt.run(Budget(runs=100_000))
    assert len(hunt.candidates) <= 4


def test_what_breaks_a_goal_less_is_nearer() -> None:
    assert front([[0.2, 1.0], [0.1, 9.0]]) == [1]
    assert front([[0.0, 1.0], [0.1, 0.0]]) == [0]


def test_an_objective_that_is_as_bad_as_can_be_is_told_apart() -> None:
    def nothing(x: float, y: float, condition: int) -> Mapping[str, float]:
        return {"utilization": math.nan if x > 0.5 else 0.5 + x / 2}

    hunt, ground = hunting(Planted(nothing, 5, 0.0), ([], ["utilization"], []))
    hunt.run(Budget(runs=1000))
    best = choose(list(finals(ground, hunt, {}).front or [finals(ground, hunt, {}).best]), ground.aims)
    assert 0.4 < best.values["max_p"] <= 0.5


def test_objectives_have_a_direction() -> None:
    assert str(Objective("utilization", False)) == "maximize utilization"
    found: Array = np.array([[0.9, 0.9, 0.9], [0.5, 0.5, 0.5]])
    assert over(Judge.parse("worst"), Objective("utilization", False), found).binds == 1
