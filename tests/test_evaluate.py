"""`penstock evaluate`: the scenarios of RFC 7928, who is judged, by which rules, and what is written."""

from __future__ import annotations

import csv
import dataclasses
import html
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from conftest import ROOT, needs_chromium
from helpers.axe import needs_axe, violations
from helpers.chromium import Browser
from helpers.real import needs_real_packets
from penstock.cli import main
from penstock.evaluation import asks, candidates, cost, evaluate, figures, judge, measured, points, real, rfc
from penstock.evaluation import link as on_link
from penstock.evaluation.judge import Answer
from penstock.evaluation.numbers import Array
from penstock.evaluation.points import Where
from penstock.evaluation.questions import QUESTIONS, Question
from penstock.judging.rules import Above, Below
from penstock.model.discipline import every_kind
from penstock.validate.real.compare import TooFewValidError

#: Scenarios and their lengths in a brief evaluation: a second each, after the lead-in.
BRIEF_S = 2.0


# ------------------------------------------------------------------------- the scenarios


@pytest.mark.parametrize("experiment", rfc.EXPERIMENTS, ids=lambda each: each.key)
def test_each_scenario_runs_by_itself(experiment: rfc.Experiment) -> None:
    scenario = rfc.shortened(ps.Scenario.load(experiment.file).set("measure.from", "0 s"), BRIEF_S)
    result = ps.run(scenario)
    assert (result.runs[0].metrics["departures"] or 0) > 100
    said = experiment.section if experiment.level == "beyond it" else f"section {experiment.section}"
    assert said in experiment.file.read_text(encoding="utf-8")


def test_the_files_are_where_a_reader_looks() -> None:
    folder = ROOT / "scenarios" / "rfc7928"
    assert sorted(path.name for path in folder.glob("*.toml")) == sorted(each.file.name for each in rfc.EXPERIMENTS)


@pytest.mark.parametrize("key", on_link.CONGESTION)
def test_the_number_of_flows_follows_from_path_and_buffer(key: str) -> None:
    """8.2.2 to 8.2.4: N is a share of S, never a number by itself."""
    resolved = rfc.experiment(key).scenario(rfc.Variant()).resolved
    link = resolved["topology"]["bottleneck"]
    assert (link["rate"], link["buffer"]) == ("10 Mbit/s", "83 packets")
    assert resolved["traffic"][0]["flows"] == on_link.flows(key, 10e6, 0.1, 83, 1500)


def test_the_buffer_is_one_bandwidth_delay_product() -> None:
    for experiment in rfc.EXPERIMENTS:
        if experiment.key in ("rtt-fairness", "series"):  # of the longest of its round trips
            continue
        made = experiment.scenario(experiment.variants[0])
        link = made.resolved["topology"]["bottleneck"]
        least_s = min(group.round_trip_s[0] for group in made.core.facts().groups if group.round_trip_s)
        rate = float(link["rate"].removesuffix(" Mbit/s")) * 1e6
        assert int(link["buffer"].removesuffix(" packets")) == int(rate * least_s / (8 * 1500))


def test_half_of_medium_congestions_flows_are_bbr() -> None:
    first, *others = (
        rfc.experiment("bbr").scenario(each).resolved["traffic"] for each in rfc.experiment("bbr").variants
    )
    medium = on_link.flows("medium", 10e6, 0.1, 83, 1500)
    assert [(each["tcp"], each["flows"]) for each in first] == [("cubic", medium // 2), ("bbr", medium // 2)]
    assert [[each["tcp"] for each in other] for other in others] == [["cubic", "bbr3"]]


def test_every_form_is_another_scenario() -> None:
    for experiment in rfc.EXPERIMENTS:
        texts = [experiment.scenario(variant).core.canonical_json()[1] for variant in experiment.variants]
        assert len(set(texts)) == len(texts), experiment.key


# -------------------------------------------------------------------- on another link


@pytest.mark.parametrize("experiment", rfc.EXPERIMENTS, ids=lambda each: each.key)
def test_on_the_rfcs_link_the_scenarios_are_the_rfcs(experiment: rfc.Experiment) -> None:
    """What is worked out for a link gives every number of the files."""
    for variant in experiment.variants:
        usual = experiment.scenario(variant)
        again = on_link.under(usual, experiment.key, on_link.RFC)
        assert again.core.canonical_json()[1] == usual.core.canonical_json()[1], variant.key


def test_another_link_is_that_of_every_scenario() -> None:
    other = on_link.Link(50e6, 0.004, 200)
    for usual in rfc.EXPERIMENTS:
        experiment = replace(usual, link=other)
        for variant in experiment.variants:
            core = experiment.scenario(variant).core
            facts, link = core.facts(), core.facts().bottleneck
            times = [each.round_trip_s[0] for each in facts.groups if each.round_trip_s]
            if usual.key.startswith("capacity"):
                assert (link.rate_bps, link.room_pkts) == (500e6, 2007)
            elif usual.key == "rtt-fairness":
                second_s = (variant.at or 0) / 1e3
                assert link.rate_bps == 50e6
                assert times == pytest.approx([0.004, second_s])
                continue
            else:
                assert (link.rate_bps, link.room_pkts) == (50e6, 200)
            least = 0.0024 if usual.key == "series" else 0.004  # its other flows pass one of two queues
            assert all(each == pytest.approx(0.004) or each == pytest.approx(least) for each in times), usual.key
    # S is 16.7 + 200 packets.
    assert [other.flows(each) for each in on_link.CONGESTION] == [8, 18, 25]
    assert replace(rfc.experiment("heavy"), link=other).scenario(rfc.Variant()).resolved["traffic"][0]["flows"] == 25


LINE = """
[topology.bottleneck]
rate = "2 Mbit/s"
delay = "{delay}"
buffer = "45000 B"
{more}
"""


def test_a_link_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "line.toml"
    file.write_text(
        LINE.format(delay="15 ms", more="[topology.access]\nrate = '1 Gbit/s'\ndelay = '5 ms'"), encoding="utf-8"
    )
    assert on_link.link_of(file) == on_link.Link(2e6, pytest.approx(0.050), 30)  # type: ignore[arg-type]
    for text, says in [
        (LINE.format(delay="15 ms", more='schedule = [["0 s", "1 Mbit/s"]]'), "bottleneck.schedule"),
        (LINE.format(delay="0 s", more=""), "above 0 s"),
    ]:
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ps.ScenarioError, match=says):
            on_link.link_of(file)
    file.write_text(
        LINE.format(delay="15 ms", more="[topology.access]\nrate = '1 Gbit/s'\ndelay = { spread = ['5 ms', '9 ms'] }"),
        encoding="utf-8",
    )
    with pytest.raises(ps.ScenarioError, match=r"access\.delay: one round trip"):
        on_link.link_of(file)
    with pytest.raises(ps.ScenarioError, match="dumbbell"):
        on_link.link_of(rfc.experiment("series").scenario(rfc.Variant()))


@pytest.mark.parametrize(
    ("said", "text", "flows", "notes"),
    [
        ('buffer = "200 packets"', "20 Mbit/s, 50 ms, 200 packets", 32, ()),
        (
            'buffer = "90 kB"\nloss = 0.01\njitter = { exponential = "2 ms" }\nreverse_rate = "1 Mbit/s"',
            "20 Mbit/s, 50 ms, 60 packets",
            16,
            ("buffer 90 kB: in the scenarios 60 packets, which are of 1500 B", ".reverse_rate, .loss, .jitter"),
        ),
        (
            # S is 76.4 packets of 1554 B, at 95 % of the rate, and the buffer.
            'buffer = 10240\noverhead = "30 B"\nframing = "ptm"\nshaped = "95 %"\nreverse_shaped = "90 %"',
            "19 Mbit/s, 50 ms, 10240 packets, overhead 30 B, framing ptm",
            1176,
            (
                "the link has the shaper's rate, 19 Mbit/s",
                "bottleneck.reverse_shaped",
                "heavy congestion is 1176 flows",
            ),
        ),
        (
            'buffer = 50\noverhead = "30 B"\nshaped = "95 %"\nshaper_framed = false',
            "19 Mbit/s, 50 ms, 50 packets",
            15,
            ("19 Mbit/s", ".overhead, .shaper_framed"),
        ),
    ],
    ids=["packets", "what is not played", "framed and deep", "a shaper that counts packets alone"],
)
def test_a_link_says_what_of_it_is_not_played(
    said: str, text: str, flows: int, notes: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "line.toml"
    file.write_text(f'[topology.bottleneck]\nrate = "20 Mbit/s"\ndelay = "25 ms"\n{said}\n', encoding="utf-8")
    link = on_link.link_of(file)
    assert (link.text, link.flows("heavy")) == (text, flows)
    assert len(link.notes) == len(notes)
    for note, part in zip(link.notes, notes, strict=True):
        assert part in note


def test_what_datagrams_leave_is_of_what_a_framed_line_carries() -> None:
    """1500 B are 1696 B in cells: half the rate is 0.565 of the line, and a cell's tax is on the rest."""
    framed = replace(on_link.RFC, framing=(("overhead", "32 B"), ("framing", "atm")))
    assert framed.left * 0.5 == pytest.approx((1 - 0.5 * 1696 / 1500) / (1696 / 1500))
    assert on_link.RFC.left == 1.0
    assert replace(on_link.RFC, framing=(("mpu", "1600 B"),)).packet_bytes == 1600
    for experiment in rfc.EXPERIMENTS:
        topology = replace(experiment, link=framed).scenario(experiment.variants[0]).resolved["topology"]
        lines = topology["link"] if topology["kind"] == "graph" else [topology["bottleneck"]]
        assert {(each["overhead"], each["framing"]) for each in lines} == {("32 B", "atm")}


def test_an_evaluation_on_a_link_says_which(tmp_path: Path) -> None:
    file = tmp_path / "line.toml"
    file.write_text(LINE.format(delay="25 ms", more="").replace("buffer", "loss = 0.001\nbuffer"), encoding="utf-8")
    done = ps.evaluate(["pie"], link=file, quick=True, seeds=2, only=["heavy"], out=tmp_path / "out")
    document = json.loads(done.json())
    assert document["asked"]["link"] == "2 Mbit/s, 50 ms, 30 packets"
    assert [f"link: {each}" for each in document["notes"]] == done.notes
    assert any("topology.bottleneck.loss" in each for each in done.notes)
    assert done._repr_html_().startswith("<p><b>RFC 7928 on 2 Mbit/s, 50 ms, 30 packets</b>")
    for each in document["notes"]:
        assert each in html.unescape(done.page.read_text(encoding="utf-8"))
    (delay,) = (each for each in done.questions if each.key == "delay")
    # round(0.114 · (8.3 + 30)) flows, and a fifth of the round trip.
    assert (delay.measured, delay.rule_text) == ("mean queueing delay, 4 flows", "below 10 ms")
    assert "another link than the RFC" in done.page.read_text(encoding="utf-8")
    where = points.Where("pie", "heavy")
    assert done.numbers.rate_bps(where) == 2e6


def test_with_ecn_every_sender_and_the_queue_use_it() -> None:
    resolved = rfc.with_ecn(rfc.experiment("mild").scenario(rfc.Variant())).resolved
    assert resolved["aqm"]["ecn"] is True
    assert {each["ecn"] for each in resolved["traffic"]} == {"classic"}


# ------------------------------------------------------------------------- who is judged


class Never(ps.Aqm):
    """Signals nothing: DropTail."""

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        return ps.PASS


class Everything(ps.Aqm):
    """Lets through every fifth packet."""

    def __init__(self) -> None:
        self.seen = 0

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        self.seen += 1
        return ps.PASS if self.seen % 5 == 0 else ps.DROP


def test_droptail_is_always_there_and_first() -> None:
    assert [each.name for each in candidates.candidates(["red"])] == ["droptail", "red"]
    everyone = candidates.candidates(["all"])
    assert [each.name for each in everyone] == every_kind()
    assert everyone[0].name == "droptail"


def test_a_discipline_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "my_aqm_of_test.py"
    file.write_text(
        "import penstock as ps\nclass Mine(ps.Aqm):\n    def arrive(self, *_):\n        return ps.PASS\n",
        encoding="utf-8",
    )
    _, mine = candidates.candidates([f"{file}:Mine"])
    assert mine.name == "Mine"
    assert mine.is_own
    file.write_text(file.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    assert candidates.candidates([f"{file}:Mine"])[1].source == mine.source  # a comment changes nothing


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("redd", "'redd': no discipline is called that; nearest: red"),
        ("nothing.py:Mine", "there is no file nothing.py"),
        ("nothing.py", "must be FILE.py:CLASS"),
    ],
)
def test_what_cannot_be_judged_is_refused(given: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", given]) == 2
    assert message in capsys.readouterr().err


#: A discipline whose hook calls what raises.
FAULTY = """\
import sys
import penstock as ps
class Mine(ps.Aqm):
    def arrive(self, now, packet, queue):
        return self.judge(now)
    def judge(self, now):
        {judged}
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(
    ("judged", "fault"),
    [
        ("return 1 / 0", "in judge: ZeroDivisionError: division by zero"),
        ("raise ValueError('no more')", "in judge: ValueError: no more"),
        ("raise OSError(2, 'gone', 'a.txt')", "in judge: FileNotFoundError: [Errno 2] gone: 'a.txt'"),
        ("raise ps.Error('mine')", "in judge: Error: mine"),
        ("sys.exit(0)", "in judge: SystemExit: 0"),
        ("return 7", None),
    ],
)
def test_what_a_discipline_raises_is_said_with_its_own_lines(
    jobs: str,
    judged: str,
    fault: str | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / f"faulty_{jobs}.py"
    file.write_text(FAULTY.format(judged=judged))
    out = ["--only", "mild", "--quick", "--jobs", jobs, "--out", str(tmp_path / "out")]
    assert main(["evaluate", f"{file}:Mine", *out]) == 1
    errors = capsys.readouterr().err
    if fault is None:
        assert errors.startswith("penstock: Mine.arrive returned 7, not a penstock.Verdict (PASS, DROP")
        assert len(errors.splitlines()) == 1
        return
    said, *lines = errors.splitlines()
    assert said == f"penstock: {file}:7: {fault}"
    called = [text for text in lines if text.startswith("  File ")]
    place = '  File "' + str(file)
    assert all(text.startswith(place) for text in called), "nothing of Penstock's"
    assert len(called) == 2
    assert judged in lines[-1] or "^" in lines[-1]


def test_what_is_not_the_discipline_s_fault_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("ours")

    monkeypatch.setattr("penstock.evaluation.evaluate.drive.run", broken)
    with pytest.raises(KeyError, match="ours"):
        main(["evaluate", "red", "--only", "mild", "--quick", "--out", str(tmp_path)])


def test_each_form_runs_once_and_the_first_one_with_ecn_too() -> None:
    experiment = rfc.experiment("rtt-fairness")
    judged = candidates.candidates(["red"])
    planned = [
        each.where for each in points.plan(judged, [experiment], [1], [1]).points if each.where.candidate == "red"
    ]
    first, *others = (each.key for each in experiment.variants)
    assert [(each.variant, each.ecn) for each in planned] == [
        (first, False),
        (first, True),
        *((each, False) for each in others),
    ]
    quick = points.plan(judged, [experiment], [1], [1], quick=True).points
    assert [(each.where.variant, each.where.ecn) for each in quick] == [(first, False)] * 2


def test_control_values_are_halved_and_doubled() -> None:
    planned = points.plan(candidates.candidates(["red"]), [rfc.experiment("medium")], [1], [1])
    knobs = {each.where.knob for each in planned.points if each.where.candidate == "red" and each.where.knob}
    assert {"max_p × 0.5", "max_p × 2", "target_delay × 0.5"} <= knobs
    # mark_p is a probability and 1 already.
    assert any(where.knob == "mark_p × 2" for where in planned.refused)
    assert not any(each.where.knob for each in planned.points if each.where.candidate == "droptail")


# ------------------------------------------------------------------------- the rules


class Told:
    """Numbers that a test makes up: candidate → one number a seed."""

    def __init__(self, **numbers: list[float]) -> None:
        self.numbers = numbers

    def ask(self, _numbers: object, candidate: str) -> Array:
        return np.array(self.numbers[candidate])


def judged(
    rule: Above | Below, of_droptail: bool = False, /, **numbers: list[float]
) -> tuple[dict[str, judge.Judged], list[str]]:
    """The answers of candidates, and the best ones."""
    question = Question(
        key="q",
        section="1",
        text="Good?",
        measured="a number",
        unit="ms",
        ask=Told(**numbers).ask,
        rule=rule,
        of_droptail=of_droptail,
        needs=[],
    )
    found = judge.judge(None, [question], list(numbers))  # type: ignore[arg-type]
    return {name: found.of(question, name) for name in numbers}, sorted(found.best["q"])


def asked(rule: Above | Below, of_droptail: bool = False, /, **numbers: list[float]) -> dict[str, judge.Judged]:
    """The answers alone."""
    return judged(rule, of_droptail, **numbers)[0]


def test_an_answer_needs_an_interval_on_one_side() -> None:
    near = [9.0, 11.0, 10.5, 9.5]
    found = asked(Below(10.0), droptail=near, low=[1.0, 1.1, 0.9, 1.0], high=[30.0, 31.0, 29.0, 30.0])
    assert [found[name].answer for name in ("droptail", "low", "high")] == [Answer.UNDECIDED, Answer.YES, Answer.NO]
    found = asked(Above(10.0), droptail=near, low=[1.0, 1.1, 0.9, 1.0], high=[30.0, 31.0, 29.0, 30.0])
    assert [found[name].answer for name in ("droptail", "low", "high")] == [Answer.UNDECIDED, Answer.NO, Answer.YES]


def test_against_droptail_seeds_are_paired() -> None:
    """Seeds differ tenfold, the pair by little and always to one side."""
    droptail = [10.0, 100.0, 55.0, 20.0]
    found = asked(Below(1.0), True, droptail=droptail, mine=[x - 1 - x / 1000 for x in droptail])
    assert found["mine"].answer is Answer.YES
    assert found["mine"].differs
    assert found["droptail"].answer is Answer.NOT_ASKED


def test_one_seed_decides_nothing() -> None:
    assert asked(Below(10.0), droptail=[1.0])["droptail"].answer is Answer.UNDECIDED


def test_what_never_varies_is_decided() -> None:
    found = asked(Below(10.0), droptail=[1.0, 1.0], same=[10.0, 10.0])
    assert found["droptail"].answer is Answer.YES
    assert found["same"].answer is Answer.UNDECIDED


def test_a_number_that_does_not_apply_is_not_asked() -> None:
    assert asked(Below(10.0), droptail=[1.0, 1.0], none=[math.nan, math.nan])["none"].answer is Answer.NOT_ASKED


def test_nothing_is_ranked_where_it_cannot_be_told_apart() -> None:
    _, best = judged(Below(10.0), droptail=[9.0, 9.1, 8.9, 9.0], one=[1.0, 2.0, 1.5, 1.2], two=[1.6, 1.5, 1.1, 1.7])
    assert best == ["one", "two"]


def test_many_answers_are_corrected_for_their_number() -> None:
    """One p value of 0.03 is an answer; the same among forty of chance is none."""
    barely = [9.0, 9.5, 7.5, 9.6, 8.6]
    alone = asked(Below(10.0), droptail=barely)
    assert alone["droptail"].answer is Answer.YES
    noise = {f"n{i}": [9.0, 11.0, 10.0 + i / 50, 10.0 - i / 50] for i in range(40)}
    assert asked(Below(10.0), droptail=barely, **noise)["droptail"].answer is Answer.UNDECIDED


def test_every_question_says_its_rule_and_needs_scenarios_that_exist() -> None:
    keys = {each.key for each in rfc.EXPERIMENTS}
    assert len({q.key for q in QUESTIONS}) == len(QUESTIONS)
    for q in QUESTIONS:
        assert set(q.needs) <= keys
        assert q.rule_text.startswith(("above", "below"))
        assert q.text.endswith("?")


class Asked:
    """Numbers that only say where they were asked for."""

    def __init__(self) -> None:
        self.places: set[Where] = set()
        self.seeds: dict[Where, list[int]] = {}

    def number(self, where: Where, *_: object, **__: object) -> Array:
        self.places.add(where)
        return np.ones(2)

    metric = group = quantile = number

    def over_time(self, where: Where, *_: object) -> list[tuple[Array, Array]]:
        self.places.add(where)
        return []

    def rate_bps(self, where: Where) -> float:
        self.places.add(where)
        return 1e7


def test_a_quick_evaluation_asks_of_the_forms_that_it_runs() -> None:
    """And the questions beyond it ask of others, in the scenarios that they need."""
    for question in QUESTIONS:
        asked = Asked()
        question.ask(asked, "red")  # type: ignore[arg-type]
        firsts = {rfc.experiment(key).variants[0].key for key in question.needs}
        first = all(each.variant in firsts and not each.ecn for each in asked.places)
        assert {each.experiment for each in asked.places} <= set(question.needs), question.key
        assert first is not question.beyond_quick or question.key == "tuning", question.key


def test_figures_show_the_forms_that_there_are() -> None:
    asked = Asked()
    asked.seeds = {Where("droptail", key, rfc.experiment(key).variants[0].key): [1] for key in ("bbr", "rtt-fairness")}
    assert [ax.get_title("left") for ax in figures.bbr(asked, ["droptail", "red"]).axes] == ["Beside BBR"]  # type: ignore[arg-type]
    names = ["droptail", *every_kind()[1:9]]
    assert [ax.get_title("left") for ax in figures.round_trips(asked, names).axes] == ["5 ms"]  # type: ignore[arg-type]


def test_a_share_is_of_two_traffic_entries() -> None:
    share = next(column for column in measured.COLUMNS if column.key == "share")

    class Two(Asked):
        def groups(self, where: Where) -> list[str]:
            return ["cubic", "bbr"] if where.experiment == "bbr" else ["ftp"]

        def group(self, where: Where, group: int, _: str) -> Array:  # type: ignore[override]
            return np.array([[1.0, 3.0], [4.0, 2.0]][group])

    asked = Two()
    asked.seeds = {Where("red", key, ""): [1, 2] for key in ("bbr", "mild")}
    assert share.of(asked, Where("red", "bbr", "")).tolist() == [0.2, 0.6]  # type: ignore[arg-type]
    assert np.isnan(share.of(asked, Where("red", "mild", ""))).tolist() == [True, True]  # type: ignore[arg-type]


class Series:
    """Series that a test makes up: traffic group → times and values, of one run."""

    def __init__(self, **series: tuple[list[float], list[float]]) -> None:
        self.series = series

    def over_time(self, _where: Where, _measure: str, of: str = "") -> list[tuple[Array, Array]]:
        at, value = self.series[of.replace(" ", "_") or "all"]
        return [(np.array(at), np.array(value))]


def ask(of: asks.Ask, **series: tuple[list[float], list[float]]) -> float:
    """The one number of the made-up run."""
    return float(of(Series(**series), "red")[0])  # type: ignore[arg-type]


def test_a_queue_that_swings() -> None:
    of = asks.unsteadiness("medium")
    assert ask(of, all=([1.0, 2.0, 3.0], [0.01, 0.01, 0.01])) == 0.0
    assert ask(of, all=([1.0, 2.0], [0.01, 0.03])) == pytest.approx(0.5)
    # Before time zero is the lead-in.
    assert ask(of, all=([-1.0, 1.0, 2.0], [0.9, 0.01, 0.03])) == pytest.approx(0.5)


def test_flows_that_join_have_their_part_when_each_has_over_half() -> None:
    """Six flows were there, seven join: 7/13 of 6 Mbit/s for each of the six is 0.54 Mbit/s for each of the seven."""
    of = asks.convergence("varying-load", "always", [("from 20 s", 20, 40)])
    old = ([19.0, 21.0, 22.0, 23.0], [6e6, 6e6, 6e6, 6e6])
    assert ask(of, always=old, from_20_s=([19.0, 21.0, 22.0, 23.0], [9e6, 3.7e6, 3.8e6, 4e6])) == 2.0
    assert ask(of, always=old, from_20_s=([19.0, 21.0, 22.0, 23.0], [9e6, 1e6, 1e6, 1e6])) == 20.0


def test_what_a_discipline_costs() -> None:
    found = cost.costs(candidates.candidates(["red", "codel", "fq-codel", "dt-red"])).of
    droptail, red, codel, fq, dt_red = (found[name] for name in ("droptail", "red", "codel", "fq-codel", "dt-red"))
    assert (droptail.values, droptail.packet_bytes) == (0, 0)
    assert (codel.packet_bytes, fq.packet_bytes) == (8, 16)  # when it came; and what is behind it
    held = [each.state_bytes or 0 for each in (droptail, red, dt_red, fq)]
    assert held == sorted(held)
    assert held[1] < 1000
    assert held[3] > 1024 * 32  # 1024 queues
    assert (red.values or 0) > (codel.values or 0) > 0


def test_a_discipline_in_python_is_timed() -> None:
    _, mine = candidates.candidates([Never])
    found = cost.costs([mine]).of["Never"]
    assert found.ns is not None
    assert found.instructions is None


# ------------------------------------------------------------------------- real packets


def test_on_real_packets_the_lead_in_is_short_and_the_length_too() -> None:
    mild = real.on_real_packets(rfc.experiment("mild"))
    assert mild.duration_s == real.LENGTH_S
    assert mild.resolved["traffic"][0]["lead_in"] == real.LEAD_IN
    varying = real.on_real_packets(rfc.experiment("varying-load"))
    assert varying.duration_s == 120
    alone = real.on_real_packets(rfc.experiment("unresponsive-alone"))
    assert "lead_in" not in alone.resolved["traffic"][0]


def test_what_real_packets_are_for() -> None:
    carried = {each.key for each in rfc.EXPERIMENTS if real.can_be_carried(each)}
    assert {"friendly-long", "aggressive", "unresponsive-beside", "bursts-iv", "capacity-fast", "mix"} <= carried
    assert carried.isdisjoint({"background", "rtt-fairness", "series", "both-ways"})


def test_a_machine_too_busy_is_said_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged, mild = candidates.candidates(["red"]), [rfc.experiment("mild")]

    def busy(*_: object, **__: object) -> None:
        raise TooFewValidError("mild: 0 of 6 real runs were valid")

    monkeypatch.setattr(real, "validate", busy)
    found = real.carry(judged, mild, tmp_path)
    assert [(each.valid, each.pairs) for each in found] == [(0, ()), (0, ())]
    assert "0 of 6" in real.real_csv(found)
    monkeypatch.setattr(real, "validate", lambda *_, **__: pytest.fail("it runs again"))
    assert [each.why for each in real.carry(judged, mild, tmp_path)] == [each.why for each in found]


@pytest.mark.alone
def test_real_packets_stand_beside_the_simulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_real_packets()
    monkeypatch.setattr(real, "LENGTH_S", 4.0)
    monkeypatch.setattr(real, "FROM_S", 1.0)
    monkeypatch.setattr(real, "LEAD_IN", "2 s")
    done = ps.evaluate(["droptail"], seeds=2, quick=True, only=["mild"], real=True, out=tmp_path)
    (mild,) = done.real
    assert mild.tried >= 2
    if mild.pairs:
        by = {pair.metric: pair for pair in mild.pairs}
        assert (by["utilization"].real or 0) > 0.5
        assert (by["utilization"].simulated or 0) > 0.5
    page = (tmp_path / "droptail.html").read_text(encoding="utf-8")
    assert "On real packets" in page
    assert (tmp_path / "real.csv").exists()


# ------------------------------------------------------------------------- an evaluation


@pytest.fixture(scope="module")
def brief(tmp_path_factory: pytest.TempPathFactory) -> evaluate.Evaluation:
    """Two disciplines of known badness and two known ones, in the scenarios that are quick."""
    out = tmp_path_factory.mktemp("evaluate")
    only = ["heavy", "mild", "friendly-long"]
    return ps.evaluate(["pie", Never, Everything], seeds=3, quick=True, only=only, out=out)


def test_a_discipline_that_never_signals_is_droptail(brief: evaluate.Evaluation) -> None:
    for q in brief.questions:
        never, droptail = (brief.judgement.of(q, name) for name in ("Never", "droptail"))
        assert never.estimate.mean == pytest.approx(droptail.estimate.mean), q.key
        assert not never.differs
    assert brief.answer("delay", "Never") is Answer.NO


def test_a_discipline_that_drops_everything_wastes_the_link(brief: evaluate.Evaluation) -> None:
    assert brief.answer("busy", "Everything") is Answer.NO
    assert brief.answer("loss", "Everything") is Answer.NO
    assert brief.answer("alone", "Everything") is Answer.NO


def test_pie_keeps_delay_low_where_droptail_does_not(brief: evaluate.Evaluation) -> None:
    assert brief.answer("delay", "pie") is Answer.YES
    assert brief.answer("delay", "droptail") is Answer.NO


def test_pi2_in_one_queue_and_in_two_keeps_delay_at_its_target() -> None:
    """Without a flow in L, DualPI2 is PI2: 15 ms, whatever the load."""
    done = ps.evaluate(["pi2", "dualpi2"], seeds=3, quick=True, only=["heavy"])
    for kind in ("pi2", "dualpi2"):
        assert done.answer("delay", kind) is Answer.YES
        mean = done.judgement.answers["delay", kind].estimate.mean
        assert mean is not None
        assert 0.012 < mean < 0.018


def test_the_pages_hold_every_answer(brief: evaluate.Evaluation) -> None:
    folder = brief.page.parent
    with (folder / "answers.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(brief.questions) * len(brief.names)
    by = {(row["candidate"], row["question"]): row for row in rows}
    assert by["pie", "delay"]["answer"] == "yes"
    mean = brief.judgement.answers["delay", "pie"].estimate.mean
    assert mean is not None
    assert float(by["pie", "delay"]["mean"]) == pytest.approx(1e3 * mean, rel=1e-4)
    with (folder / "numbers.csv").open(newline="", encoding="utf-8") as file:
        numbers = [row for row in csv.DictReader(file) if row["candidate"] == "pie"]
    assert {row["experiment"] for row in numbers} == {"heavy", "mild", "friendly-long"}
    assert {row["measure"] for row in numbers} <= {column.key for column in measured.COLUMNS}
    index = brief.page.read_text(encoding="utf-8")
    assert "://" not in index.replace("http://www.w3.org", "")
    for name in brief.names:
        page = (folder / f"{name}.html").read_text(encoding="utf-8")
        assert all(q.text in page for q in brief.questions)
        assert f'href="{name}.html"' in index


def test_the_first_page_begins_with_a_sentence_for_each_and_has_its_numbers_in_sight(
    brief: evaluate.Evaluation,
) -> None:
    index = brief.page.read_text(encoding="utf-8")
    sentences = re.findall(r"<strong>([^<]+)</strong></a> ([^<]+)<", index.split("<table")[0])
    assert [name for name, _ in sentences] == list(brief.names)
    for name, said in sentences:
        answers = [brief.judgement.of(q, name).answer for q in brief.questions]
        asked = len(answers) - answers.count(Answer.NOT_ASKED)
        assert f"answers {answers.count(Answer.YES)} of {asked} questions with yes" in said
        assert "Packets wait" in said
    matrix = index.split('class="matrix"')[1].split("</table>")[0]
    assert "title=" not in re.sub(r'<th [^>]*>|<span class="note"[^>]*>', "", matrix)
    for question, row in zip(brief.questions, matrix.split("<tr>")[2:], strict=True):
        assert f'<td class="rule">{html.escape(question.rule_text, quote=False)}'.replace("'", "&#39;") in row
        for name in brief.names:
            mean = brief.judgement.of(question, name).estimate.mean
            shown = "–" if mean is None else f"{mean * question.scale:.3g}"
            assert f">{shown}" in row, (question.key, name)
    scrolling = re.findall(r'<div class="scroll"([^>]*)>', index)
    assert all('tabindex="0" role="region" aria-label="' in each for each in scrolling)
    assert re.findall(r"<svg (?!class|role)", index) == [], "every drawing has a role and a name, or is a panel of one"


def test_panels_of_one_quantity_share_their_axis(brief: evaluate.Evaluation) -> None:
    numbers = brief.numbers
    panels = [figures._Panel(key, "Delay [ms]", key, "delay_s", scale=1e3) for key in ("mild", "heavy")]
    mild, heavy = figures._rows(numbers, brief.names, panels).axes
    assert mild.get_xlim() == heavy.get_xlim()
    other = dataclasses.replace(panels[1], label="Delay [s]", scale=1.0)
    mild, heavy = figures._rows(numbers, brief.names, [panels[0], other]).axes
    assert mild.get_xlim() != heavy.get_xlim()


@needs_chromium
@needs_axe
def test_axe_has_nothing_against_the_pages(brief: evaluate.Evaluation, tmp_path: Path) -> None:
    with Browser(tmp_path / "profile") as browser:
        assert violations(browser, brief.page.as_uri(), brief.page.with_name("pie.html").as_uri()) == []


def test_a_second_call_runs_nothing(brief: evaluate.Evaluation, monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock import _penstock

    monkeypatch.setattr(cost, "_timed", lambda _: 0)  # times are taken anew
    monkeypatch.setattr(_penstock, "run", lambda *_: pytest.fail("it runs again"))
    again = ps.evaluate(
        ["pie", Never, Everything], seeds=3, quick=True, only=["heavy", "mild", "friendly-long"], out=brief.page.parent
    )
    assert again.judgement.answers.keys() == brief.judgement.answers.keys()


def test_what_was_not_asked_is_told_from_what_does_not_exist(brief: evaluate.Evaluation) -> None:
    for question, says in [
        ("call", "'call' was not asked: it needs the scenario mix; asked: delay"),
        ("heavy", "'heavy' is a scenario; asked of it: delay, tail"),
        ("medium", "no scenario that ran is called 'medium'; nearest: mild; there are: friendly-long, mild, heavy"),
        ("dellay", "no question is called 'dellay'; nearest: delay"),
    ]:
        with pytest.raises(ps.Error, match=says):
            brief.answer(question, "pie")
    with pytest.raises(ps.Error, match="no candidate is called 'pi'; nearest: pie"):
        brief.answer("delay", "pi")


def test_an_evaluation_shows_itself_with_what_yes_takes(brief: evaluate.Evaluation) -> None:
    shown = replace(brief, notes=["runs of <Mine> are not kept"])._repr_html_()
    assert "yes is</th>" in shown
    assert "below 20 ms</td>" in shown
    assert "&lt;Mine&gt;" in shown
    assert repr(brief) == f"<penstock.Evaluation droptail, pie, Never, Everything: {brief.page}>"


def test_the_list_names_section_and_level(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--list"]) == 0
    shown = capsys.readouterr().out
    assert "8.2.2" in shown
    assert "recommended" in shown


def test_an_unknown_scenario_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "red", "--only", "heavvy"]) == 2
    assert "nearest: heavy" in capsys.readouterr().err


def test_where_is_a_key() -> None:
    assert dataclasses.replace(Where("red", "mild"), knob="max_p × 2") != Where("red", "mild")
