"""`penstock tune` with the simulator: it finds something better, repeats, goes on after a kill,
refuses bad input.
"""

from __future__ import annotations

import csv
import html
import json
import re
from pathlib import Path

import pytest

import penstock as ps
from conftest import ROOT, Command, needs_chromium
from helpers.axe import needs_axe, violations
from helpers.chromium import Browser
from penstock.sweeps.drive import Sweep
from penstock.tuning.compare import Standing
from penstock.tuning.tune import Tuning

#: Four conditions of milliseconds each.
TINY = """\
name = "tiny"
duration = "20 s"
measure = { from = "5 s" }

[topology]
kind = "dumbbell"
bottleneck = { rate = "2 Mbit/s", delay = "5 ms", buffer = "60 packets" }
access = { rate = "100 Mbit/s", delay = "1 ms" }

[aqm]                      # the queue that is tuned
kind = "red"
gentle = true              # stays

[[traffic]]
kind = "ftp"
flows = 2
tcp = "sack"

[sweep]
"traffic.0.flows" = [2, 10]
"topology.bottleneck.delay" = ["5 ms", "40 ms"]
"""
#: What each test asks for, and few enough runs.
GOAL, RUNS = "delay_p99_s < 80 ms", 300
FILES = ("statement.json", "candidates.csv", "range.csv", "sensitivity.csv", "tuned.toml", "index.html")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny") / "tiny.toml"
    path.write_text(TINY, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def done(tiny: Path) -> Tuning:
    """One tuning that several tests look at."""
    return tuned(tiny, tiny.parent / "out")


def tuned(file: Path, out: Path, **options: object) -> Tuning:
    given: dict[str, object] = {"goals": [GOAL], "maximize": ["utilization"], "runs": RUNS, "seeds": 5, **options}
    return ps.tune(file, "red", out=out, **given)  # type: ignore[arg-type]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_tiny_search_beats_the_defaults(done: Tuning) -> None:
    goal, objective = done.statement.aims.wanted
    best, defaults = done.statement.finals.best, done.statement.finals.beside[0]
    assert defaults.name == "red, defaults"
    assert best.standing(done.statement.aims) is Standing.MET
    assert defaults.standing(done.statement.aims) is not Standing.MET
    shorter = done.statement.against(defaults, goal)
    assert shorter.mean is not None
    assert shorter.ci95 is not None
    assert shorter.mean < -shorter.ci95, "a shorter worst delay than with the defaults, beyond chance"
    gain = done.statement.against(defaults, objective)
    assert gain.mean is not None
    assert gain.ci95 is not None
    assert gain.mean > -gain.ci95, "and no less utilization"


def test_droptail_and_codel_stand_beside_it(done: Tuning) -> None:
    names = [each.name for each in done.statement.finals.beside]
    assert names == ["red, defaults", "droptail", "codel"]
    droptail = done.statement.finals.beside[1]
    assert droptail.standing(done.statement.aims) is Standing.MISSED, "its buffer alone is 240 ms"


def test_the_statement_says_what_an_engineer_signs(done: Tuning) -> None:
    said = "\n".join(done.statement.sentences())
    for words in (
        *("min_th =", "max_th =", "max_p =", "w_q ="),
        *(GOAL, "flows=", "Compared with red, defaults", "with droptail (which misses a goal)", "Compared with codel"),
        *(
            "seeds that the search has not seen",
            "6 other conditions",
            "The same file, options and versions give this statement again",
        ),
    ):
        assert words in said
    assert len(done.statement.finals.neighbours) == 8, "each of four parameters down and up"


def test_the_validation_uses_other_seeds_and_conditions(done: Tuning) -> None:
    statement = done.statement
    assert not set(statement.seeds) & set(statement.unseen_seeds)
    assert not set(statement.seen) & set(statement.unseen)
    assert statement.finals.held_out[0].runs["utilization"].shape == (len(statement.unseen), 5)


def test_the_tables_hold_every_number(done: Tuning) -> None:
    out = done.page.parent
    ranged = rows(out / "range.csv")
    assert {row["setting"] for row in ranged} == {"tuned", "red, defaults", "droptail", "codel"}
    assert len(ranged) == 2 * (5 * len(done.statement.seen) + 4 * len(done.statement.unseen))
    candidates = rows(out / "candidates.csv")
    assert len(candidates) == done.statement.candidates
    assert any(row["source"].startswith("Floyd, Gummadi, Shenker 2001") for row in candidates)
    assert any(row["dropped"] for row in candidates)
    document = json.loads((out / "statement.json").read_text(encoding="utf-8"))
    assert document["standing"] == done.statement.standing.name.lower()
    assert document["parameters"] == dict(done.parameters)


def test_the_tuned_file_is_the_file_with_the_parameters(done: Tuning, tiny: Path) -> None:
    text = (done.page.parent / "tuned.toml").read_text(encoding="utf-8")
    assert "# the queue that is tuned" in text
    assert "gentle = true              # stays" in text
    again = ps.Scenario.from_toml(text)
    assert again.resolved == done.scenario.resolved
    assert again.core.grid() == ps.Scenario.load(tiny).core.grid(), "the range stays"
    for path, value in done.parameters.items():
        assert str(value) in str(again.resolved["aqm"][path.removeprefix("aqm.")])


def test_the_page_opens_from_a_file_and_fetches_nothing(done: Tuning) -> None:
    page = done.page.read_text(encoding="utf-8")
    assert page.count("<svg ") >= 4
    head = page.split('id="statement"')[0]
    block = html.unescape(head.split("<pre")[1].split("<code>")[1].split("</code>")[0])
    keys, *values = block.splitlines()
    assert keys == "[aqm]"
    assert set(values) <= set(done.page.with_name("tuned.toml").read_text(encoding="utf-8").splitlines())
    assert any(line.startswith("max_p = ") for line in values)
    assert len(re.findall('<svg role="img" aria-label="[^"]{20,}"', head)) == 1, "one figure, with a name"
    assert head.count(' class="panel"') == 3, "two panels and the legend, below each other on a phone"
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page)
    for sentence in done.statement.sentences()[:2]:
        assert sentence.partition("<")[0].strip()[:40] in page
    for target in re.findall(r'href="#([\w-]+)"', page):
        assert f'id="{target}"' in page, target


@needs_chromium
@needs_axe
def test_axe_has_nothing_against_the_page(done: Tuning, tmp_path: Path) -> None:
    with Browser(tmp_path / "profile") as browser:
        assert violations(browser, done.page.as_uri()) == []


def test_the_same_call_gives_the_same_bytes(done: Tuning, tiny: Path, tmp_path: Path) -> None:
    tuned(tiny, tmp_path / "again", jobs=1)
    for name in FILES:
        assert (tmp_path / "again" / name).read_bytes() == (done.page.parent / name).read_bytes(), name


def test_a_killed_call_goes_on_and_gives_the_same_tables(done: Tuning, tiny: Path, tmp_path: Path) -> None:
    class Kill(BaseException):
        pass

    def kill(now: Sweep) -> None:
        if now.ran > RUNS / 2:
            raise Kill

    with pytest.raises(Kill):
        tuned(tiny, tmp_path, progress=kill)
    assert not (tmp_path / "index.html").exists()
    kept = len(list(tmp_path.rglob("*.parquet")))
    assert kept > 0, "finished runs are kept"
    tuned(tiny, tmp_path)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (done.page.parent / name).read_bytes(), name


def test_a_second_call_runs_nothing(done: Tuning, tiny: Path) -> None:
    before = sorted((done.page.parent / "runs").iterdir())
    tuned(tiny, done.page.parent)
    assert sorted((done.page.parent / "runs").iterdir()) == before


def test_a_goal_that_nothing_meets_is_a_finding(penstock: Command, tiny: Path, tmp_path: Path) -> None:
    found = penstock(
        *("tune", tiny, "--aqm", "red", "--goal", "delay_p99_s < 1 ms", "--goal", "utilization > 95 %"),
        *("--runs", 150, "--seeds", 3, "--out", "out"),
    )
    assert found.returncode == 0, found.stderr
    assert "No candidate meets the goals over the range. The nearest red:" in found.stdout
    assert "The goal that binds is delay_p99_s < 1 ms." in found.stdout
    assert "No candidate kept delay_p99_s < 1 ms" in found.stdout
    assert (tmp_path / "out" / "index.html").is_file()


def test_two_objectives_give_a_front(tiny: Path, tmp_path: Path) -> None:
    found = tuned(tiny, tmp_path, goals=[], maximize=["utilization"], minimize=["delay_mean_s"], runs=400)
    assert found.met is True, "without goals none is missed"
    assert len(found.statement.finals.front) > 1
    front = rows(tmp_path / "front.csv")
    assert [row["chosen"] for row in front].count("True") == 1
    assert "Pareto front" in found.page.read_text(encoding="utf-8")


def test_the_file_s_own_setting_is_a_candidate_and_stands_beside(tiny: Path, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(TINY.replace('kind = "red"\n', 'kind = "red"\nmin_th = 7\nmax_th = 20\n'), encoding="utf-8")
    found = tuned(file, tmp_path / "out", runs=120, seeds=3)
    assert "red, as in the file" in [each.name for each in found.statement.finals.beside]
    first = rows(tmp_path / "out" / "candidates.csv")[0]
    assert (first["origin"], first["min_th"], first["max_th"]) == ("the file's", "7.0", "20.0")


def test_fix_and_vary_reach_the_tuned_file(tiny: Path, tmp_path: Path) -> None:
    found = tuned(tiny, tmp_path, fix={"aqm.w_q": 0.01}, vary=["aqm.max_p=0.02..0.4"], runs=120, seeds=3)
    assert list(found.parameters) == ["aqm.max_p"]
    again = ps.Scenario.load(tmp_path / "tuned.toml").resolved["aqm"]
    assert again["w_q"] == 0.01
    assert 0.02 <= again["max_p"] <= 0.4


def test_another_discipline_than_the_file_s(tiny: Path, tmp_path: Path) -> None:
    found = ps.tune(tiny, "codel", goals=GOAL, maximize="utilization", runs=120, seeds=3, out=tmp_path)
    assert [each.name for each in found.statement.finals.beside] == ["codel, defaults", "droptail"]
    assert ps.Scenario.load(tmp_path / "tuned.toml").label == "codel"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--goal", "delay_p99 < 20 ms"], "nearest: delay_p99_s"),
        (["--goal", "jain > 0.9", "--goal", "jain < 0.8"], "contradict each other"),
        ([], "nothing is wanted"),
        (["--maximize", "utilization", "--judge", "best"], "worst, mean, or a quantile"),
        (["--maximize", "utilization", "--vary", "aqm.max_pp"], "nearest: max_p"),
        (["--maximize", "utilization", "--runs", "3"], "one candidate takes 12 runs"),
        (["--maximize", "utilization", "--runs", "300", "--time", "5s"], "give one of them"),
        (["--maximize", "utilization", "--time", "soon"], '--time "soon"'),
        (["--maximize", "utilization", "--aqm", "redd"], "nearest: red"),
        (["--maximize", "utilization", "--aqm", "droptail"], "it has no parameters"),
        (["--maximize", "utilization", "--fix", "w_q=2"], "w_q"),
        (["--maximize", "utilization", "--set", "sweep.aqm.max_p=[0.1,0.2]"], "which is searched"),
    ],
)
def test_bad_input_gets_one_message_and_writes_nothing(
    penstock: Command, tiny: Path, tmp_path: Path, options: list[str], named: str
) -> None:
    kind = [] if "--aqm" in options else ["--aqm", "red"]
    found = penstock("tune", tiny, *kind, *options, "--out", "out")
    assert found.returncode == 2, found.stdout
    assert named in found.stderr
    assert len(found.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_an_empty_range_is_refused(penstock: Command, small: Path, tmp_path: Path) -> None:
    found = penstock("tune", small, "--aqm", "red", "--maximize", "utilization", "--out", "out")
    assert found.returncode == 2
    assert "an empty range" in found.stderr
    assert not (tmp_path / "out").exists()


def test_a_metric_without_values_is_refused(penstock: Command, tiny: Path) -> None:
    found = penstock("tune", tiny, "--aqm", "red", "--minimize", "fct_p99_s", "--runs", 150, "--seeds", 2)
    assert found.returncode == 2
    assert "fct_p99_s has no value at flows=2, delay=5 ms" in found.stderr


def test_the_shipped_scenario_is_a_range() -> None:
    from penstock.tuning.conditions import conditions

    found = conditions(ps.Scenario.load(ROOT / "scenarios" / "tune" / "link.toml"))
    assert len(found) == 9
    assert found[0].name == "flows=5, delay=8 ms"
