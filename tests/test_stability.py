"""`penstock stability`: the model against published designs, its own equations, and the disciplines in Rust."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import control
import numpy as np
import pytest

import penstock as ps
from conftest import SCENARIOS
from penstock.cli import main
from penstock.fluid import limits, loops, margins, model, motion, profiles, rared, simulated
from penstock.fluid import path as paths
from penstock.fluid.path import Answers
from penstock.fluid.path import Path as Link

#: The network of Hollot et al.: 15 Mbit/s of 500 B packets, 60 flows, and a queue that makes R0 = 0.246 s.
HOLLOT = Link(capacity=3750.0, flows=60.0, rtt_s=0.246 - 175 / 3750)

FILE = """\
name = "small"
duration = "30 s"
measure = { from = "10 s" }
[topology]
kind = "dumbbell"
bottleneck = { rate = "50 Mbit/s", delay = "%(delay)s", buffer = "3000 packets" }
access = { rate = "1 Gbit/s", delay = { uniform = ["1 ms", "3 ms"] } }
[aqm]
kind = "%(kind)s"
ecn = true
%(aqm)s
[[traffic]]
kind = "ftp"
flows = %(flows)d
ecn = "%(ecn)s"
start = { uniform = ["0 s", "2 s"] }
"""
RED = "min_th = 100\nmax_th = 700\nmax_p = 0.05\nw_q = 0.002"


def text(kind: str = "red", aqm: str = RED, flows: int = 40, delay: str = "45 ms", ecn: str = "classic") -> str:
    return FILE % {"kind": kind, "aqm": aqm, "flows": flows, "delay": delay, "ecn": ecn}


def one(scenario: str, set: Mapping[str, object] | None = None) -> model.Loop:
    """The loop of a scenario with one point."""
    case = ps.stability(ps.Scenario.from_toml(scenario).set_all(set or {})).cases[0]
    assert case.loop is not None, case.why
    return case.loop


def at(link: Link, queue: float, steepness: float, w_q: float) -> model.Loop:
    """RED's loop at a queue, with a given slope of D."""
    balance = model.balance(link, "ramp", queue, (0.0, 2 * link.growth / link.window(queue) ** 2, 0.0))
    return model.Loop(path=link, at=balance, discipline=loops.red(steepness, w_q, link.capacity))


# ------------------------------------------------------------------------- published designs


def test_hollots_red_by_hand() -> None:
    """Their example: L_RED = 1.86e-4 and K = 0.005 rad/s, which is w_q = 1.33e-6 at C = 3750.

    W0 = RC/N = 922.5/60 = 15.4, so the poles are 2N/(R²C) = 0.529 and 1/R = 4.07 rad/s. The gain at
    low frequency is L_RED·(RC)³/(4N²) = 1.86e-4·54519 = 10.1. The filter's pole alone brings it down
    to 1 near 0.005·10.1 = 0.05 rad/s = 0.1·min(0.529, 4.07), which is the design's rule. There the
    phase is −84.3° (filter) − 5.4° (window) − 0.7° (queue) − 0.7° (delay): a margin of 89°.
    """
    w_q = 1.33e-6
    assert -HOLLOT.capacity * math.log1p(-w_q) == pytest.approx(0.005, rel=0.01)
    loop = at(HOLLOT, 175, 0.5 * 1.86e-4, w_q)
    assert loop.at.window == pytest.approx(15.375)
    assert 2 * loop.pole == pytest.approx(0.529, abs=1e-3)
    found = margins.margins(loop, simplified=True)
    assert found.stable
    assert found.crossover_rad_s == pytest.approx(0.05, rel=0.02)
    assert found.phase_margin_deg == pytest.approx(89, abs=0.5)


def test_hollots_pi_by_hand() -> None:
    """Their example: K = 9.64e-6 and a zero at 0.53 rad/s cross over at 0.53 rad/s.

    The zero cancels the window's pole, 0.529. What is left is K·54519/s = 0.526/s, the queue's pole and
    the delay: phase −90° − 7.4° − 7.4° there, a margin of 75°. At 160 Hz the paper has
    a = 1.822e-5 and b = 1.816e-5.
    """
    k, zero, w = 9.64e-6, 0.53, 160.0
    a, b = k * (1 / zero + 0.5 / w), k * (1 / zero - 0.5 / w)
    assert [a, b] == pytest.approx([1.822e-5, 1.816e-5], rel=1e-3)
    balance = model.set_point(HOLLOT, 175)
    loop = model.Loop(path=HOLLOT, at=balance, discipline=loops.pi(a, b, w, 0.5))
    found = margins.margins(loop, simplified=True)
    assert found.stable
    assert found.crossover_rad_s == pytest.approx(0.525, abs=0.01)
    assert found.phase_margin_deg == pytest.approx(75, abs=0.6)


def test_pi_is_its_difference_equation() -> None:
    """The bilinear transformation of the law gives p ← p + a·(q − q_ref) − b·(q_old − q_ref)."""
    a, b, w = 1.822e-5, 1.816e-5, 170.0
    sampled = control.sample_system(loops.pi(a, b, w, 1.0), 1 / w, method="tustin")
    exact = control.TransferFunction([a, -b], [1, -1], 1 / w)
    for z in (np.exp(1j * x) for x in (0.01, 0.3, 2.0)):
        assert sampled(z) == pytest.approx(exact(z), rel=1e-9)


def test_rem_is_its_difference_equation() -> None:
    """One update at a small excess: the price moves by γ·(α·excess + what the queue grew)."""
    phi, gamma, alpha, period, p = 1.001, 0.001, 0.1, 0.002, 0.02
    law = loops.rem(phi, gamma, alpha, period, p, 1.0)
    w = 0.5  # rad/s, slow against the period
    excess = np.exp(1j * w * period)  # q − b* at the end of a period, 1 at its beginning
    price = gamma * (alpha * excess + (excess - 1)) / (excess - 1)
    assert complex(law(1j * w)) == pytest.approx(math.log(phi) * (1 - p) * price / excess, rel=2e-3)


# ------------------------------------------------------------------------- the model's equations


@pytest.mark.parametrize(("flows", "queue", "growth"), [(60, 175, 1.0), (300, 50, 1.0), (20, 400, 0.5)])
def test_the_linear_form_is_the_derivative_of_the_equations(flows: float, queue: float, growth: float) -> None:
    """Each coefficient by central differences of the nonlinear equations, put together as a transfer function."""
    link = replace(HOLLOT, flows=float(flows), growth=growth)
    loop = at(link, queue, 1e-4, 1e-3)
    w0, q0, d0 = loop.at.window, loop.at.queue, loop.at.decrease
    assert motion.window_slope(link, w0, q0, (w0, q0), d0) == pytest.approx(0, abs=1e-9)
    assert motion.queue_slope(link, w0, q0) == pytest.approx(0, abs=1e-6)

    def by(i: int, function: object) -> float:
        """The derivative by one of (W, q, W then, q then, D)."""
        state = [w0, q0, w0, q0, d0]
        step = 1e-5 * state[i]
        values = []
        for sign in (1, -1):
            moved = list(state)
            moved[i] += sign * step
            values.append(function(moved))  # type: ignore[operator]
        return float((values[0] - values[1]) / (2 * step))

    def grows(x: Sequence[float]) -> float:
        return motion.window_slope(link, x[0], x[1], (x[2], x[3]), x[4])

    def fills(x: Sequence[float]) -> float:
        return motion.queue_slope(link, x[0], x[1])

    ww, wq, ww_then, wq_then, wd = (by(i, grows) for i in range(5))
    qw, qq = by(0, fills), by(1, fills)
    for omega in (0.1, 1.0, 5.0, 20.0):
        s = 1j * omega
        lag = np.exp(-s * loop.at.round_trip_s)
        # (s − qq)·Q = qw·W and (s − ww − ww_then·lag)·W = (wq + wq_then·lag)·Q + wd·lag·D
        delta = (s - qq) * (s - ww - ww_then * lag) - qw * (wq + wq_then * lag)
        queue_over_d = -qw * wd * lag / delta
        law = complex(loop.discipline(s))
        assert complex(loop.response(np.array([omega]))[0]) == pytest.approx(queue_over_d * law, rel=1e-5)


def test_the_papers_form_is_the_same_at_both_ends() -> None:
    """It leaves out s·a·(1 − e^(−sR)), which is nothing at low frequency, and little beside s² at high."""
    loop = at(HOLLOT, 175, 1e-4, 1e-3)
    for omega, most in ((1e-3, 1e-6), (0.5, 0.02), (200.0, 0.01)):
        exact, simple = (loop.response(np.array([omega]), simplified=each)[0] for each in (False, True))
        assert abs(exact / simple - 1) < most
    plant = complex(loop.plant(1j * 0.7)) * complex(loop.discipline(1j * 0.7))
    delay = np.exp(-1j * 0.7 * loop.at.round_trip_s)
    assert loop.response(np.array([0.7]), simplified=True)[0] == pytest.approx(plant * delay)


@pytest.mark.parametrize("flows", [20, 60, 200])
@pytest.mark.parametrize("w_q", [1e-5, 1e-3])
def test_margins_agree_with_python_control(flows: float, w_q: float) -> None:
    """Where a loop's phase stays within one turn, both find the same."""
    loop = at(replace(HOLLOT, flows=float(flows)), 175, 3e-5, w_q)
    found = margins.margins(loop)
    omega = margins.frequencies(loop)
    omega = omega[omega < 1.5 * (found.turn_rad_s or 1e9)]
    values = loop.response(omega)
    theirs = control.stability_margins((np.abs(values), np.degrees(np.unwrap(np.angle(values))), omega))
    assert found.gain_margin == pytest.approx(theirs[0], rel=1e-3)
    assert found.turn_rad_s == pytest.approx(theirs[3], rel=1e-3)
    if found.crossover_rad_s is not None and found.crossover_rad_s < omega[-1]:
        assert found.phase_margin_deg == pytest.approx(theirs[1], abs=0.05)
        assert found.crossover_rad_s == pytest.approx(theirs[4], rel=1e-3)


def test_the_three_signs_of_stability_agree() -> None:
    """Nyquist's count, the gain margin and the phase margin, over loops from placid to wild."""
    seen = set()
    for flows in (5, 20, 80, 320):
        for rtt_s in (0.01, 0.05, 0.2, 0.8):
            for steepness in (1e-6, 1e-4, 1e-2):
                link = replace(HOLLOT, flows=float(flows), rtt_s=rtt_s)
                found = margins.margins(at(link, 100, steepness, 2e-3))
                assert found.gain_margin is not None
                assert found.stable == (found.gain_margin > 1)
                assert found.stable == (found.phase_margin_deg is None or found.phase_margin_deg > 0)
                seen.add(found.stable)
    assert seen == {True, False}


def test_longer_round_trips_and_fewer_flows_take_margin_from_red() -> None:
    by_rtt = [one(text(), {"topology.bottleneck.delay": f"{ms} ms"}) for ms in (10, 30, 90)]
    by_flows = [one(text(), {"traffic.0.flows": n}) for n in (20, 60, 180)]
    for falling in (by_rtt, by_flows[::-1]):
        found = [margins.margins(loop).gain_margin or 0 for loop in falling]
        assert found == sorted(found, reverse=True)
        assert found[0] > 2 * found[-1]


@pytest.mark.parametrize(("flows", "settles"), [(40, True), (10, False)])
def test_the_nonlinear_model_settles_or_swings_as_the_border_says(flows: int, settles: bool) -> None:
    """The equations themselves, integrated from a little beside the balance."""
    scenario = ps.Scenario.from_toml(text(flows=flows, delay="18 ms"))
    link, _ = paths.path(scenario.core, scenario.resolved)
    loop = one(text(flows=flows, delay="18 ms"))
    assert margins.margins(loop).stable == settles
    profile = profiles.red(100, 700, 0.05, gate="uniform", gentle_from=0.05)

    def decrease(x: float) -> float:
        if x <= 100:
            return 0.0
        piece = next((each for each in profile if x <= each.high), None)
        return 0.5 if piece is None else link.answers.decrease(piece.shares(x))

    moved = motion.integrate(
        link,
        decrease,
        -link.capacity * math.log1p(-0.002),
        start=(loop.at.window, loop.at.queue + 0.2, loop.at.queue + 0.2),
        duration_s=20.0,
        step_s=0.002,
    )
    apart = np.abs(moved.queue - loop.at.queue)
    early, late = apart[moved.t_s < 1].max(), apart[moved.t_s > 18].max()
    assert late < 0.2 * early if settles else late > 5 * early


def test_the_scatter_is_that_of_the_linear_model_with_random_signals() -> None:
    """The linear equations with white noise, stepped: the queue's standard deviation is the spectrum's."""
    loop = one(text(flows=100, delay="18 ms"))
    assert margins.margins(loop).stable
    rng = np.random.default_rng(1)
    step, r, a = 1e-3, loop.at.round_trip_s, loop.pole
    lag, n = round(r / step), 200_000
    pole = float(np.real(-loop.discipline.poles()[0]))
    slope = float(np.real(loop.discipline(0)))
    power = loop.path.capacity * loop.at.window**2 * loop.at.scatter
    total, queue, average = np.zeros(n), np.zeros(n), np.zeros(n)  # the sum of the windows
    kick = rng.normal(size=n) * math.sqrt(power * step)
    gain = loop.path.capacity**2 / loop.path.flows * r  # of D on the sum of the windows: N·W²/R
    for i in range(lag, n - 1):
        then = i - lag
        grows = -a * (total[i] + total[then]) - a * (queue[i] - queue[then]) - gain * slope * average[then]
        total[i + 1] = total[i] + step * grows + kick[i]
        queue[i + 1] = queue[i] + step * (total[i] - queue[i]) / r
        average[i + 1] = average[i] + step * pole * (queue[i] - average[i])
    assert margins.expected_sd(loop) == pytest.approx(float(np.std(queue[n // 10 :])), rel=0.1)


# ------------------------------------------------------------------------- balance and profiles


def test_the_balance_by_hand() -> None:
    """W²·D = 1 with D = p/2: W²·p = 2. With β = 0.2, W²·p = 5. A window that grows half as fast: W²·p = 1."""
    for answers, growth, product in (
        (Answers(), 1.0, 2.0),
        (Answers(moderate=0.2), 1.0, 5.0),
        (Answers(), 0.5, 1.0),
    ):
        balance = model.set_point(replace(HOLLOT, answers=answers, growth=growth), 175)
        assert balance.window**2 * balance.signals == pytest.approx(product)
    loop = one(text())
    assert loop.at.where == "ramp"
    # The gate doubles the ramp's p: 2·0.05·(q − 100)/600.
    assert loop.at.signals == pytest.approx(2 * 0.05 * (loop.at.queue - 100) / 600)
    assert loop.at.window**2 * loop.at.signals == pytest.approx(2)


def test_delayed_acks_change_nothing_unless_growth_counts_acks() -> None:
    plain = one(text())
    assert one(text(), {"traffic.0.delayed_ack": True}).at == plain.at
    halved = one(text(), {"traffic.0.delayed_ack": True, "traffic.0.growth": "acks"})
    assert halved.at.window**2 * halved.at.signals == pytest.approx(1)


def test_marks_and_drops_have_the_same_model() -> None:
    assert one(text(), {"aqm.ecn": False, "traffic.0.ecn": "off"}).at == one(text()).at


@pytest.mark.parametrize("gate", ["uniform", "geometric", "wait"])
def test_the_share_of_signals_is_the_disciplines(gate: str) -> None:
    """The profile in Python against the discipline in Rust, whose queue is held until its average stands still."""
    keys = f'min_th = 5\nmax_th = 15\nmax_p = 0.1\nw_q = 0.02\ngate = "{gate}"'
    scenario = ps.Scenario.from_toml(text(aqm=keys))
    held = [4, 7, 10, 14, 20]
    probed = ps.probe(scenario, queues=held, after=["5 s"], window="5 s", runs=8).shares("CE mark")[0]
    profile = profiles.red(5, 15, 0.1, gate=gate, gentle_from=0.1)
    for queue, share in zip(held, probed, strict=True):
        piece = next((each for each in profile if each.low <= queue < each.high), None)
        expected = 0.0 if piece is None else piece.shares(queue)[1]
        # The closed form is exact where 1/p is a whole number; in between, up to p = 1/2, within 8 %.
        assert share == pytest.approx(expected, rel=0.1, abs=0.001), queue


@pytest.mark.parametrize("gate", ["uniform", "geometric"])
def test_the_shares_of_two_levels_are_the_disciplines(gate: str) -> None:
    keys = f'min_th = 5\nmid_th = 10\nmax_th = 15\nw_q = 0.02\ngate = "{gate}"'
    scenario = ps.Scenario.from_toml(text("mecn", keys, ecn="mecn"))
    held = [7, 10, 12, 14]
    probed = ps.probe(scenario, queues=held, after=["5 s"], window="5 s", runs=8)
    profile = profiles.mecn(5, 10, 15, 0.1, 0.1, gate=gate, above_max="gentle-drop", mark_p=1.0)
    for i, queue in enumerate(held):
        piece = next(each for each in profile if each.low <= queue < each.high)
        incipient, moderate, lost = piece.shares(queue)
        # RED's own gate tries again at the next packet where a moderate mark came first: up to 8 % more.
        assert probed.shares("incipient mark")[0][i] == pytest.approx(incipient, rel=0.1)
        assert probed.shares("CE mark")[0][i] == pytest.approx(moderate, rel=0.08, abs=0.001)
        assert lost == 0 == probed.shares("drop")[0][i]


def test_automatic_values_are_the_disciplines() -> None:
    """At 50 Mbit/s of 1000 B packets C is 6250: min_th = 6250·2.5 ms = 15.6; below it nothing is signalled."""
    keys = _keys(text(aqm=""))
    assert list(keys.thresholds) == pytest.approx([15.625, 46.875])
    assert keys.w_q == pytest.approx(1 - math.exp(-1 / 6250))
    scenario = ps.Scenario.from_toml(text(aqm="w_q = 0.5"))
    shares = ps.probe(scenario, queues=[15, 16, 18], after=["1 s"], window="1 s").shares("CE mark")[0]
    assert shares[0] == 0
    assert 0 < shares[1] < shares[2]
    # RARED's 0.0019: 1.5 Mbit/s, 1000 B, a link of 88 ms. AMECN's target is twice min_th.
    slow = text(aqm='w_q = "rtt"', delay="88 ms").replace("50 Mbit/s", "1.5 Mbit/s")
    assert _keys(slow).w_q == pytest.approx(0.0019, abs=2e-5)
    assert _keys(text("amecn", "target_queue = 60", ecn="mecn")).thresholds == (30, 90)


def _keys(scenario: str) -> loops.Keys:
    made = ps.Scenario.from_toml(scenario)
    return loops.Keys(made.resolved["aqm"], made.core.facts().bottleneck, 1040.0)


def test_bytes_become_packets_of_the_flows_size() -> None:
    """Thresholds in bytes: 104 kB are 100 packets of 1040 B on the wire."""
    keys = RED.replace("= 100", '= "104 kB"').replace("= 700", '= "728 kB"')
    assert one(text(aqm=keys)).at.queue == pytest.approx(one(text()).at.queue, rel=1e-9)


def test_two_levels_add_up() -> None:
    """MECN between mid_th and max_th: D = β1·(1 − P2)·P1 + β2·P2, with P = 2p by the gate."""
    keys = "min_th = 100\nmid_th = 110\nmax_th = 700\nw_q = 0.002"
    loop = one(text("mecn", keys, ecn="mecn"))
    assert loop.at.where == "both ramps"
    x = loop.at.queue
    p1, p2 = 2 * 0.1 * (x - 100) / 600, 2 * 0.1 * (x - 110) / 590
    assert list(loop.at.shares) == pytest.approx([(1 - p2) * p1, p2, 0])
    assert loop.at.window**2 * (0.2 * (1 - p2) * p1 + 0.4 * p2) == pytest.approx(1)
    slope = 0.2 * ((1 - p2) * 0.2 / 600 - p1 * 0.2 / 590) + 0.4 * 0.2 / 590
    assert float(np.real(loop.discipline(0))) == pytest.approx(slope, rel=1e-5)


def test_adaptive_ceilings_hold_the_target() -> None:
    ared = one(text("ared", "min_th = 100\nmax_th = 700\nw_q = 0.002", flows=100, delay="30 ms"))
    assert ared.at.queue == pytest.approx(400)
    amecn = one(text("amecn", "target_queue = 200\nw_q = 0.002", ecn="mecn"))
    assert amecn.at.queue == pytest.approx(200)
    assert amecn.at.where.startswith("first ramp")
    # So few flows that even max_p = 0.01 is more than they need: the queue is short.
    light = one(text("ared", "min_th = 100\nmax_th = 700\nw_q = 0.002", flows=5, delay="155 ms"))
    assert light.at.queue < 400
    assert "floor" in light.at.where


@pytest.mark.parametrize(
    ("keys", "flows", "delay", "said"),
    [
        (RED + "\ngentle = false", 400, "1 ms", "no equilibrium on the profile: at its end, 700 packets"),
        (RED, 2000, "1 ms", "at its end, 1400 packets"),
    ],
)
def test_no_balance_is_said_instead_of_a_margin(keys: str, flows: int, delay: str, said: str) -> None:
    case = ps.stability(ps.Scenario.from_toml(text(aqm=keys, flows=flows, delay=delay))).cases[0]
    assert case.margins is None
    assert case.stable is None
    assert said in (case.why or "")


def test_windows_that_do_not_fill_the_link_have_no_balance() -> None:
    case = ps.stability(ps.Scenario.from_toml(text()).set("traffic.0.window", 5)).cases[0]
    assert "no queue forms" in (case.why or "")


# ------------------------------------------------------------------------- RARED's threshold


def test_the_rule_of_the_slope_by_hand() -> None:
    """C = 187.5 packets/s, R = 0.2 s, w_q = 0.0019: 93.75·(1 − 0.9981^37.5) = 6.45."""
    assert rared.slope_th("1.5 Mbit/s", "200 ms", 0.0019, 1000) == pytest.approx(6.45, abs=0.01)
    # A slow average: K·C·R/2. A fast one: C/2.
    assert rared.slope_th(8e6, 0.1, 1e-6, 1000) == pytest.approx(1e-6 * 1000 * 1000 * 0.1 / 2, rel=1e-3)
    assert rared.slope_th(8e6, 0.1, 1.0, 1000) == 500
    with pytest.raises(ps.ScenarioError, match="must be above 0"):
        rared.slope_th(8e6, "0 s", 0.1)


def test_stability_of_rared_is_that_of_its_base_and_names_the_rule(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plain, climbing = one(text()), one(text("rared", RED))
    assert climbing.at == plain.at
    file = tmp_path / "rared.toml"
    file.write_text(text("rared", RED), encoding="utf-8")
    assert main(["stability", str(file)]) == 0
    assert "slope_th: the rule for this link, round trip and w_q gives" in capsys.readouterr().out


# ------------------------------------------------------------------------- runs


def test_rhythm_tells_a_swing_from_noise() -> None:
    rng = np.random.default_rng(1)
    t = np.arange(4000) * 0.05
    swing = np.sin(2 * np.pi * t / 2) + 0.3 * rng.normal(size=t.size)
    noise = np.cumsum(rng.normal(size=t.size))
    noise = noise - np.convolve(noise, np.ones(400) / 400, "same")
    assert simulated.rhythm(simulated.correlation(swing, 80)) > 0.8
    assert simulated.rhythm(simulated.correlation(noise, 80)) < 0.2
    # A swing of which each is a quarter of the last has 3/8.
    lags = np.linspace(0, 2, 401)
    quarter = 0.25**lags * np.cos(2 * np.pi * lags)
    assert simulated.rhythm(quarter) == pytest.approx(limits.OSCILLATES, abs=0.03)


def test_runs_far_on_either_side_of_the_border() -> None:
    """18 ms with 100 flows settles; 148 ms with 25 flows swings."""
    base = ps.Scenario.load(SCENARIOS / "stability" / "red.toml").set_all({"duration": "40 s", "measure.from": "10 s"})
    found = ps.stability(_alone(base, 100, "5 ms"), simulate=True, seeds=1).cases[0]
    assert found.stable
    assert found.swing is not None
    assert not found.swing.oscillates
    found = ps.stability(_alone(base, 25, "70 ms"), simulate=True, seeds=1).cases[0]
    assert found.stable is False
    assert found.swing is not None
    assert found.swing.oscillates


def _alone(base: ps.Scenario, flows: int, delay: str) -> ps.Scenario:
    """The same scenario at one point of its sweep."""
    point = {"traffic.0.flows": [flows], "topology.bottleneck.delay": [delay]}
    return base.set_all({f"sweep.{path}": values for path, values in point.items()})


# ------------------------------------------------------------------------- the command


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--set", "aqm.kind=droptail"], 'aqm.kind = "droptail": has no fluid model; those that have one: red, ared, '),
        (["--set", "traffic.0.tcp=cubic"], 'tcp = "cubic": the model has Reno\'s window; it takes tahoe, reno'),
        (["--set", 'topology={kind="parking-lot",hops=2,link={rate="1 Mbit/s",delay="1 ms"}}'], "it takes a dumbbell"),
        (["--set", "topology.bottleneck.loss=0.01"], "the model has no losses on the wire"),
        (
            ["--set", 'topology.bottleneck.reverse_jitter={exponential="1 ms"}'],
            "bottleneck.reverse_jitter: the model has one delay",
        ),
        (["--set", "traffic.0.bytes=1 MB"], "the model needs long transfers"),
        (["--flows", "20:5"], "--flows 20:5: the range is empty"),
        (["--flows", "many"], "--flows many: 'many' is no number of flows"),
        (["--rtt", "20:x"], "--rtt 20:x: "),
        (["--rtt", "1ms"], "--rtt 1 ms: access links and transmissions alone take"),
        (["--seeds", "3"], "--seeds: needs --simulate"),
        (["--figure", "map.txt"], "must end in .png, .svg, .pdf"),
    ],
)
def test_bad_input_has_one_message(
    changes: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "small.toml"
    file.write_text(text(), encoding="utf-8")
    assert main(["stability", str(file), *changes]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1


def test_the_command_prints_tables_documents_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "small.toml"
    file.write_text(text(), encoding="utf-8")
    arguments = ["stability", str(file), "--flows", "10,40,160", "--rtt", "20ms:200ms"]
    figures = [tmp_path / name for name in ("a.png", "b.png")]
    for figure in figures:
        assert main([*arguments, "--figure", str(figure)]) == 0
    assert figures[0].read_bytes() == figures[1].read_bytes()
    printed = capsys.readouterr().out
    assert "phase margin" in printed
    assert "of 24 points stable" in printed
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    rows = document["points"]
    assert len(rows) == 24
    assert {row["flows"] for row in rows} == {10, 40, 160}
    trips = sorted({round(row["rtt_s"], 6) for row in rows})
    assert (trips[0], trips[-1]) == (pytest.approx(0.02, abs=1e-6), pytest.approx(0.2, abs=1e-6))
    for row in rows:
        if row["why"] is None:
            assert row["stable"] == (row["gain_margin"] > 1)
            assert row["queue_sd_pkts"] is None or row["stable"]


@pytest.mark.parametrize("arguments", [[], ["--flows", "10:100"], ["--rtt", "20ms,80ms"]])
def test_every_range_has_its_figure(arguments: list[str], tmp_path: Path) -> None:
    file, figure = tmp_path / "small.toml", tmp_path / "figure.svg"
    file.write_text(text(), encoding="utf-8")
    assert main(["stability", str(file), *arguments, "--figure", str(figure)]) == 0
    assert "margin" in figure.read_text(encoding="utf-8")


def test_sweep_axes_and_variants_are_points() -> None:
    scenario = ps.Scenario.from_toml(
        text() + '[sweep]\n"aqm.max_p" = [0.02, 0.1]\n[[variant]]\nname = "red"\nset = { "aqm.kind" = "red" }\n'
        '[[variant]]\nname = "pi"\nset = { "aqm.kind" = "pi" }\n'
    )
    with pytest.raises(ps.ScenarioError):
        ps.stability(scenario.set("aqm.kind", "codel").set_all({}), flows="x")
    found = ps.stability(scenario.set("sweep.aqm.max_p", [0.02, 0.1]).with_aqm("red"), flows=[20, 80])
    assert set(found.axes) >= {"aqm.max_p", "traffic.0.flows"}


@pytest.mark.parametrize("name", ["red", "pi", "rem", "amecn"])
def test_the_scenarios_of_the_page_have_models(name: str) -> None:
    found = ps.stability(SCENARIOS / "stability" / f"{name}.toml")
    judged = [case.stable for case in found.cases if case.margins is not None]
    assert {True, False} <= set(judged)
