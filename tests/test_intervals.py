"""Intervals stay where their quantity can be, in every place that has one; runs that no seed changes say so."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from conftest import ROOT, SMALL, Command
from penstock import _penstock
from penstock.cli import main
from penstock.cli.output import draw
from penstock.evaluation.measured import COLUMNS
from penstock.evaluation.questions import QUESTIONS
from penstock.judging.estimate import ANYWHERE, FROM_ZERO, SHARE, Bounds, Estimate, bounds_of
from penstock.judging.intervals import INTERVALS, Interval, ends
from penstock.judging.paired import Paired
from penstock.reproduce import draw as papers
from penstock.reproduce.papers import paper
from penstock.reproduce.runs import Run, Runs, bounds
from penstock.runs.result import Comparison, Result
from penstock.show import numbers, style
from penstock.show.run_tables import comparison_table, result_table
from penstock.sweeps import figure as sweeps
from penstock.sweeps.show import Shown, Values, show
from penstock.sweeps.sweep import sweep
from penstock.tuning import figures as tuning
from penstock.tuning.candidates import Setting
from penstock.tuning.compare import Measured
from penstock.tuning.goals import Goal, Objective
from penstock.tuning.judge import Judge, Verdict, over, verdict
from penstock.validate.real import figure as real
from penstock.validate.real.compare import COMPARED, Agreement, compared_bounds

ROWS: Sequence[Mapping[str, Any]] = json.loads(_penstock.list_json("metrics"))
NAMES = sorted({row["name"] for row in ROWS})
#: Nothing in it is random.
FIXED = SMALL.replace('{ uniform = ["2 ms", "4 ms"] }', '"2 ms"').replace('{ uniform = ["0 s", "0.1 s"] }', '"0 s"')
FIXED = FIXED.replace("min_th = 5\nmax_th = 15\necn = true\n", "").replace('"red"', '"droptail"')
FIXED = FIXED.replace('\necn = "classic"', "")

#: Of a share: inside, at a bound, all but at one.
shares = st.one_of(
    st.floats(0, 1), st.sampled_from([0.0, 1.0]), st.floats(1e-15, 1e-9), st.floats(1e-9, 1e-6).map(lambda x: 1 - x)
)


def inside(low: float, high: float, where: Bounds) -> bool:
    least, most = where
    return (least is None or low >= least) and (most is None or high <= most)


# ---- numbers


@given(st.lists(shares, min_size=2, max_size=11), st.floats(1e-6, 1e12), st.sampled_from([0.95, 0.99]))
def test_every_metrics_interval_holds_the_mean_and_stays_where_the_metric_can_be(
    unit: list[float], size: float, level: float
) -> None:
    for name in NAMES:
        most = bounds_of(name)[1] or size
        found = Estimate.of([most * x for x in unit], bounds_of(name), level)
        assert found.mean is not None
        assert found.low is not None
        assert found.high is not None
        assert found.low <= found.mean <= found.high, name
        assert inside(found.low, found.high, bounds_of(name)), name
        assert found.below >= 0 <= found.above


def test_every_metric_has_bounds_and_one_name_has_one() -> None:
    assert all(row["bounds"][0] == 0 and row["bounds"][1] in (None, 1, 100) for row in ROWS)
    for row in ROWS:
        assert tuple(row["bounds"]) == bounds_of(row["name"])
        # What is shown in percent is a share.
        assert (numbers.scale(row["name"], 0.5)[1] == "%") <= (bounds_of(row["name"]) == SHARE)
    assert bounds_of("no such metric") == ANYWHERE


def test_in_the_middle_the_interval_is_students() -> None:
    values = [0.59, 0.6, 0.62, 0.58]
    found = Estimate.of(values, SHARE)
    half = 3.182446 * np.std(values, ddof=1) / 2
    assert found.ci95 == pytest.approx(half, rel=1e-5)
    assert found.low == pytest.approx(np.mean(values) - half, rel=1e-3)
    assert found.high == pytest.approx(np.mean(values) + half, rel=1e-3)
    assert str(found) == "0.5975 ± 0.027"


def test_near_a_bound_it_reaches_further_to_the_other_side() -> None:
    used = Estimate.of([0.99, 0.99, 0.80], SHARE)
    assert used.ci95 is not None
    assert used.mean is not None
    assert used.mean + used.ci95 > 1.19, "Student's"
    assert used.high == 1.0
    assert used.below > used.ci95
    lost = Estimate.of([0.0, 0.0, 0.3], SHARE)
    assert (lost.low, lost.above > (lost.ci95 or 0)) == (0.0, True)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 0.7, 0.005918512432432433])
def test_equal_runs_have_no_width(value: float) -> None:
    found = Estimate.of([value] * 3, SHARE)
    assert (found.mean, found.ci95, found.low, found.high) == (value, 0.0, value, value)
    assert numbers.number(found, 1e3).endswith((" ± 0", " ± 0.0", " ± 0.00", " ± 0.000"))


def test_what_rounding_leaves_is_not_shown() -> None:
    nearly = Estimate.of([1.1896377669, 1.1896377669 + 2e-15, 1.1896377669], FROM_ZERO)
    assert numbers.number(nearly, 1e3) == "1190 ± 0"
    assert numbers.number(Estimate.of([99.9999999, 99.9999998, 99.9999999], FROM_ZERO)) == "100.00000 ± 0.00000"


def test_one_run_has_no_interval_and_none_no_mean() -> None:
    one, none = Estimate.of([0.5], SHARE), Estimate.of([], SHARE)
    assert one.row() == {"mean": 0.5, "ci95": None, "n": 1, "low": None, "high": None}
    assert none.row() == {"mean": None, "ci95": None, "n": 0, "low": None, "high": None}


def test_an_estimate_unpacks_as_it_did_and_keeps_its_ends() -> None:
    found = Estimate.of([0.9, 1.0, 1.0], SHARE)
    mean, ci95, n = found
    assert (mean, ci95, n) == (found.mean, found.ci95, found.n)
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert again.row() == found.row()
    told = Estimate(mean=2.0, ci95=0.5, n=3)
    assert (told.low, told.high) == (1.5, 2.5)


@given(st.lists(st.tuples(shares, shares), min_size=2, max_size=6))
def test_a_difference_of_shares_ends_at_one(pairs: list[tuple[float, float]]) -> None:
    found = Estimate.of_differences([a - b for a, b in pairs], SHARE)
    assert found.mean is not None
    assert found.low is not None
    assert found.high is not None
    assert -1 <= found.low <= found.mean <= found.high <= 1


@given(st.lists(shares, min_size=2, max_size=6), st.sampled_from([1.0, 100.0]))
def test_text_shows_no_end_beyond_a_bound(values: list[float], factor: float) -> None:
    text = numbers.number(Estimate.of(values, SHARE), factor)
    if found := re.fullmatch(r"([\d.]+) −([\d.]+) \+([\d.]+)", text):
        mean, below, above = map(float, found.groups())
        last = 10.0 ** -len(found[1].partition(".")[2])
    else:
        centre, _, half = text.partition(" ± ")
        mean, below, above = float(centre), float(half), float(half)
        last = 10.0 ** -len(text.partition(" ")[0].partition(".")[2])
    # Rounding each of two numbers, and what is called symmetric, to a tenth.
    slack = 1.01 * last + 0.11 * max(below, above)
    assert mean - below >= -slack
    assert mean + above <= factor + slack


# ---- documents and tables


#: Runs at the bounds, with which Student's t leaves them all.
AT_BOUNDS = {"utilization": [1.0, 1.0, 0.7], "loss_ratio": [0.0, 0.0, 0.4], "jain": [1.0, 0.99, 0.3]}


@pytest.fixture(scope="module")
def scenario() -> ps.Scenario:
    return ps.Scenario.from_toml(SMALL)


def state_of(run: ps.RunResult) -> Any:
    """What makes such a result, and from what."""
    return run.__reduce__()


@pytest.fixture(scope="module")
def at_bounds(scenario: ps.Scenario) -> Result:
    """Runs whose metrics are as given, the others 0, 0 and something."""
    made = ps.run(scenario, seeds=3)
    runs = []
    for i, run in enumerate(made.runs):
        make, (state,) = state_of(run)
        metrics = [
            None if v is None else AT_BOUNDS[name][i] if name in AT_BOUNDS else v * (i == 2)
            for name, v in run.metrics.items()
        ]
        runs.append(make((*state[:2], metrics, *state[3:])))
    return Result(scenario, runs)


def estimates(document: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every estimate in a document with its name."""
    for name, value in document.items() if isinstance(document, dict) else enumerate(document):
        if isinstance(value, dict) and {"mean", "low", "high"} <= value.keys():
            yield str(name), value
        elif isinstance(value, dict | list):
            yield from estimates(value)


def test_the_document_has_ends_within_bounds(at_bounds: Result) -> None:
    found = dict(estimates(json.loads(at_bounds.json())))
    assert found.keys() == at_bounds.summary.keys()
    for name, each in found.items():
        if each["n"]:
            assert each["low"] <= each["mean"] <= each["high"], name
            assert inside(each["low"], each["high"], bounds_of(name)), name
            assert at_bounds.summary[name].row() == each
    beyond = found["utilization"]
    assert beyond["mean"] + beyond["ci95"] > 1.2, "the test is of something"


def test_the_document_of_a_comparison_has_ends_too(at_bounds: Result) -> None:
    both = json.loads(Comparison({"a": at_bounds, "b": at_bounds}).json())
    for name, each in estimates(both["difference"]["b"]):
        assert (each["low"], each["high"]) == (each["mean"], each["mean"]), name


def test_tables_say_how_far_an_interval_reaches(at_bounds: Result) -> None:
    written = StringIO()
    draw(result_table(at_bounds), written)
    table = written.getvalue()
    rows = {line.split()[0]: line for line in table.splitlines() if line.strip()}
    assert re.search(r"utilization\s+90 −64 \+10\s+%", rows["utilization"]), rows["utilization"]
    assert " −" in rows["jain"]
    assert "±" not in rows["loss_ratio"]
    assert max(map(len, table.splitlines())) <= 80


# ---- figures


def drawn(figure: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of data with its axes: of lines, of the lines of error bars, of bands."""
    for ax in figure.axes:
        for line in ax.lines:
            if line.get_transform().contains_branch(ax.transData):
                yield ax, np.column_stack([np.asarray(v, dtype=float) for v in line.get_data()])
        for collection in ax.collections:
            if not hasattr(collection, "get_sizes"):
                for path in collection.get_paths():
                    yield ax, path.vertices


def check(figure: Any, along: int, most: float | None) -> None:
    """No drawn value of that axis (0: x) beyond bounds, and something is drawn there."""
    places = [v for _, place in drawn(figure) for v in np.asarray(place)[:, along] if np.isfinite(v)]
    assert len(places) > 2
    assert min(places) >= -1e-9
    assert most is None or max(places) <= most + 1e-9


def test_overview_draws_no_interval_beyond_bounds(at_bounds: Result) -> None:
    figure = Comparison({"a": at_bounds, "b": at_bounds}).plot.overview()
    for ax, place in drawn(figure):
        label = ax.get_xlabel()
        most = 100 if "%" in label else 1 if "Jain" in label else math.inf
        assert 0 <= np.min(place[:, 0]) <= np.max(place[:, 0]) <= most + 1e-9, label
    assert len(list(drawn(figure))) == 8


@pytest.mark.parametrize("ci", INTERVALS)
@pytest.mark.parametrize("metric", ["utilization", "jain", "loss_ratio", "delay_p99_s", "drops_early"])
def test_figures_of_sweeps_draw_no_interval_beyond_bounds(metric: str, ci: str) -> None:
    values = AT_BOUNDS.get(metric, [0.0, 0.0, 7.0])
    found: dict[Values, list[Interval | Paired]] = {
        (at,): [INTERVALS[ci](values[i:] + values[:i], bounds_of(metric))] for i, at in enumerate((1, 2, 3))
    }
    shown = Shown(["aqm.min_th"], [metric], found, [], 9, ci)
    most = bounds_of(metric)[1]
    check(sweeps.draw(shown), 1, None if most is None else most * shown.scaled(0)[0])
    for (each,) in found.values():
        assert not isinstance(each, Paired)
        low, high = ends(each) or (0, 0)
        assert inside(low, high, bounds_of(metric))


@pytest.mark.parametrize("wanted", [Objective("utilization", False), Goal("delay_p99_s", True, 0.02)])
def test_figures_of_tuning_draw_no_interval_beyond_bounds(wanted: Goal | Objective) -> None:
    import matplotlib.pyplot as plt

    values = np.array([AT_BOUNDS.get(wanted.metric, [0.0, 0.0, 7.0])] * 2)
    measured = Measured("red", Setting("red"), {}, {wanted.metric: values}, Judge.parse("worst"))
    figure, ax = plt.subplots()
    plt.close(figure)
    tuning._row(ax, measured, wanted, 100.0, style.look(0), (0, 1))
    check(figure, 0, 100 if wanted.metric == "utilization" else None)
    assert inside(measured.over(wanted).estimate.low or 0, measured.over(wanted).estimate.high or 0, (0, None))


@pytest.mark.parametrize("metric", ["utilization", "loss_ratio", "delay_p99_s"])
def test_figures_of_papers_draw_no_interval_beyond_bounds(scenario: ps.Scenario, metric: str) -> None:
    from matplotlib.figure import Figure

    values = AT_BOUNDS.get(metric, [0.0, 0.0, 7.0])
    runs = Runs(
        [
            Run(labels={"aqm": "RED", "N": at}, seed=i, scenario=scenario, metrics={metric: value}, groups=[], links={},
                trace=None)
            for at in (1, 2)
            for i, value in enumerate(values)
        ]
    )  # fmt: skip
    figure = Figure()
    papers.curves_on(figure.subplots(), runs, "N", metric, "aqm", scale=100.0)
    check(figure, 1, 100 if metric in AT_BOUNDS else None)


def test_the_figure_beside_real_packets_draws_no_interval_beyond_bounds(at_bounds: Result) -> None:
    from matplotlib.figure import Figure

    agreement = Agreement(real=at_bounds, simulated=at_bounds, changed={}, emulations=(), invalid=())
    figure = Figure()
    real._ratios(figure.subplots(), agreement)
    (used,) = [pair for pair in agreement.pairs if pair.metric == "utilization"]
    assert used.real.mean
    places = [place for _, place in drawn(figure)]
    assert min(np.min(place[:, 0]) for place in places) >= 0
    # The first metric's lines: in per cent of the mean, 100 % used is this.
    of_used = [place for place in places if np.max(np.abs(place[:, 1])) < 0.3]
    assert max(np.max(place[:, 0]) for place in of_used) <= 100 / used.real.mean + 1e-9


def test_no_figure_is_drawn_from_a_half_width() -> None:
    """Whoever draws an interval takes its ends."""
    for path in (ROOT / "python" / "penstock").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if ("matplotlib" in text and "errorbar" in text) or path.name in ("plot.py", "figure.py", "figures.py"):
            assert "ci95" not in text.replace("ci95=None", "").replace("real_ci95", ""), path


# ---- bounds of what is no metric


def test_what_evaluate_and_validate_measure_has_bounds() -> None:
    for question in QUESTIONS:
        assert question.within in (SHARE, FROM_ZERO)
        assert question.within == FROM_ZERO or question.unit in ("%", "")
    assert {column.key for column in COLUMNS if column.within == SHARE} == {
        "utilization",
        "loss",
        "sync",
        "jain",
        "share",
    }
    shares = {each.name for each in COMPARED if compared_bounds(each.name) == SHARE}
    assert shares == {"utilization", "jain"}


@pytest.mark.parametrize("key", ["amecn", "rared", "nred", "rvd", "red-at"])
def test_claims_about_a_level_have_its_bounds(key: str) -> None:
    """A claim that is no difference is about a level; the drawn quantities have bounds, too."""
    for claim in paper(key).claims:
        level = "percentage points" not in claim.unit and " of " not in claim.unit and "difference" not in claim.text
        if claim.unit == "%" and claim.rule is not None and level and claim.printed is not None and claim.printed > 50:
            assert bounds(claim.values) == (0.0, 100.0), claim.key
    assert bounds("utilization", 100.0) == (0.0, 100.0)
    assert bounds("delay_mean_s", 1e3) == (0.0, None)


def test_a_goal_is_judged_by_the_interval_that_is_shown() -> None:
    """Student's interval, 0.9 ± 0.43, lies above 0.3; that which is shown begins at 0.26."""
    judge, values = Judge.parse("mean"), np.array([[1.0, 1.0, 0.7]])
    for bound, expected in ((0.2, Verdict.MET), (0.3, Verdict.UNDECIDED)):
        goal = Goal("utilization", False, bound)
        assert verdict(goal, over(judge, goal, values), judge) is expected


# ---- identical runs


def test_identical_runs_say_so(penstock: Command, tmp_path: Path) -> None:
    (tmp_path / "fixed.toml").write_text(FIXED, encoding="utf-8")
    done = penstock("run", "fixed.toml", "--seeds", 3)
    text = " ".join(done.stdout.split())
    assert "the runs are identical: nothing random acts in this scenario" in text
    assert 'start = { uniform = ["0 s", "1 s"] }' in text
    assert "±" not in done.stdout
    assert json.loads(penstock("run", "fixed.toml", "--seeds", 3, "--json").stdout)["identical"] is True
    assert json.loads(penstock("run", "fixed.toml", "--json").stdout)["identical"] is False, "of one run nobody knows"
    compared = penstock("compare", "fixed.toml", "--aqm", "droptail", "--aqm", "codel", "--seeds", 2)
    assert "the runs are identical" in " ".join(compared.stdout.split())


@pytest.mark.parametrize("more", [[], ["step", "avq"]], ids=["side by side", "ranked"])
def test_of_several_disciplines_those_are_named_whose_runs_are_identical(more: list[str]) -> None:
    """FQ-CoDel's hash is drawn with the seed, and nothing else in this scenario."""
    fixed = ps.Scenario.from_toml(FIXED)
    some = ps.compare(fixed, ["droptail", "fq-codel", "codel", *more], seeds=2)
    assert not some.identical
    caption = comparison_table(some).caption or ""
    assert caption.endswith(f"the runs are identical with {', '.join(['droptail', 'codel', *more])}")
    all_of_them = ps.compare(fixed, ["droptail", "codel", *more], seeds=2)
    assert (comparison_table(all_of_them).caption or "").startswith("the runs are identical: nothing random")


@pytest.mark.parametrize("sizes", [["30 kB"], ["30 kB", "200 kB"]], ids=["one size", "two sizes"])
def test_transfers_are_compared_by_size_where_they_have_several(sizes: list[str]) -> None:
    short = ps.Scenario(
        topology=ps.Dumbbell(bottleneck=ps.Link(rate="10 Mbit/s", delay="5 ms", buffer=40)),
        traffic=[ps.Ftp(bytes=size) for size in sizes],
        duration="2 s",
    )
    rows = [row[0] for row, _ in comparison_table(ps.compare(short, ["red", "droptail"])).rows]
    assert "fct_p99_s" in rows
    by_size = ["fct_short_p99_s", "slowdown_short_p99", "fct_medium_p99_s", "slowdown_medium_p99"]
    assert [name for name in rows if name in by_size] == (by_size if len(sizes) > 1 else [])


def test_the_other_direction_is_compared_where_links_are_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = ps.Scenario(
        topology=ps.Dumbbell(bottleneck=ps.Link(rate="5 Mbit/s", delay="5 ms", buffer=40)),
        traffic=[ps.Ftp(), ps.Ftp(direction="reverse", flows=4)],
        duration="2 s",
    )
    (tmp_path / "both.toml").write_text(both.to_toml(), encoding="utf-8")
    compared = ps.compare(both.recording(links=True), ["red", "droptail"], seeds=2)
    key, metric = "bottleneck.reverse", "delay_mean_s"
    red, droptail = (result.links[key][metric].mean or 0.0 for result in compared.results.values())
    assert compared.difference("droptail")[f"links.{key}.{metric}"].mean == pytest.approx(droptail - red)
    (row,) = (cells for cells, _ in comparison_table(compared, key).rows if cells[0] == metric)
    assert row[2].startswith(f"{red * 1e3:.1f}"[:2])
    line = ["compare", str(tmp_path / "both.toml"), "--aqm", "red"]
    for more in (["droptail"], ["droptail", "pie", "codel", "ared"]):
        assert main([*line, *(word for each in more for word in ("--aqm", each)), "--links"]) == 0
        forward, back = capsys.readouterr().out.split("bottleneck.reverse")
        assert ("timeouts" in forward, "timeouts" in back) == (True, False)
    assert main([*line, "--aqm", "droptail"]) == 0
    assert key not in capsys.readouterr().out


def test_random_runs_do_not_say_so(at_bounds: Result, scenario: ps.Scenario) -> None:
    result = ps.run(scenario, seeds=2)
    assert not result.identical
    assert json.loads(result.json())["identical"] is False
    assert result_table(result).caption is None
    comparison = ps.compare(scenario, ["red", "droptail"], seeds=2)
    assert not comparison.identical
    assert "identical" not in (comparison_table(comparison).caption or "")


def test_a_single_difference_is_enough(scenario: ps.Scenario) -> None:
    """The run's own metrics may be the same while a flow's are not."""
    made = ps.run(ps.Scenario.from_toml(FIXED), seeds=2)
    assert made.identical
    first, second = made.runs
    make, (state,) = state_of(second)
    group, flow = state[4][0]
    other = make((*state[:4], [(group, [*flow[:3], (flow[3] or 0) + 1, *flow[4:]]), *state[4][1:]], *state[5:]))
    assert not Result(made.scenario, [first, other]).identical
    assert not Result(made.scenario, [first]).identical


@pytest.mark.parametrize(("text", "same"), [(FIXED, True), (SMALL, False)])
def test_a_sweep_says_whether_its_seeds_change_anything(tmp_path: Path, text: str, same: bool) -> None:
    axis = '\n[sweep]\n"topology.bottleneck.delay" = ["5 ms", "10 ms"]\n'
    sweep(ps.Scenario.from_toml(text + axis), seeds=2, out=tmp_path / "runs", jobs=1)
    found = show(tmp_path / "runs")
    assert found.identical is same
    assert json.loads(found.json())["identical"] is same
    # A count that is 0 in every run says nothing of the others.
    assert show(tmp_path / "runs", "drops_forced").identical is same


def test_lines_for_a_box_say_whether_its_runs_are_identical() -> None:
    done = ps.config(ps.Scenario.from_toml(FIXED.replace('"droptail"', '"codel"')), to="tc", seeds=2)
    assert done.comparison is not None
    assert done.comparison.identical
    assert json.loads(done.json())["identical"] is True
