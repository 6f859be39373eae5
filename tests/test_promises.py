"""`make accept`: what README and docs/ promise, tried in full on a fresh clone. The first tests are about the table."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import chromium
import snippets
from accept import PROMISES, Promise, Table, Trial, clone, git, ratios
from conftest import PATHS, ROOT
from helpers import real

#: Seconds of fuzzing, shared over the targets.
FUZZING_S = 3600


def test_a_budget_is_kept_up_to_its_end() -> None:
    for value, least, most, keeps in [
        (3, None, 3, True),
        (3.01, None, 3, False),
        (5, 5, None, True),
        (4.99, 5, None, False),
        (7, 5, 6, False),
        (7, None, None, True),
        (float("nan"), 5, None, False),
        (float("nan"), None, 5, False),
    ]:
        assert Promise("x", "", least, most).keeps(value) is keeps, (value, least, most)
    assert Promise("x", "s", 5, 6).budget == "≥ 5 s, ≤ 6 s"
    assert (Promise("x", "s", 5, 5).budget, Promise("x").budget) == ("= 5 s", "–")
    assert Promise("x", "s").shown(0.333333) == "0.333 s"


def test_the_table_is_all_that_an_interrupted_call_needs(tmp_path: Path) -> None:
    page = tmp_path / "accept.md"
    promises = {"a": Promise("fast", "s", most=3), "a again": Promise("b"), "c": Promise("slow")}
    Table(page, promises).write("a", 2.5, "1234567")
    assert f"\n| a | fast | ≤ 3 s | 2.5 s | {time.strftime('%Y-%m-%d')} | 1234567 |\n" in page.read_text("utf-8")
    table = Table(page, promises)
    assert not table.kept("a", "1234567"), "its other promise was not measured"
    table.write("a again", 1, "1234567")
    assert Table(page, promises).text() == page.read_text("utf-8")
    table = Table(page, promises)
    assert table.kept("a", "1234567")
    assert not table.kept("a", "7654321"), "at another commit"
    Table(page, promises).write("c", 1, "1234567")
    table.write("a", 3.5, "1234567")
    assert "**3.5 s**" in page.read_text("utf-8")
    assert not Table(page, promises).kept("a", "1234567"), "it fell short"
    assert Table(page, promises).kept("c", "1234567"), "what another call measured meanwhile is lost"
    table.write("a", "RuntimeError: x | y\nz", "1234567")
    assert "**RuntimeError: x / y z**" in page.read_text("utf-8")


def test_the_committed_table_is_of_these_promises() -> None:
    page = ROOT / "docs" / "accept.md"
    assert Table(page).text() == page.read_text(encoding="utf-8")
    measured = {name.removeprefix("test_") for name in globals() if getattr(globals()[name], "pytestmark", None)}
    assert measured == {name.split()[0] for name in PROMISES}


def test_the_pages_promise_what_is_measured() -> None:
    readme, ns2 = (
        " ".join((ROOT / page).read_text(encoding="utf-8").split())
        for page in ("README.md", "docs/coming-from/ns-2.md")
    )
    for name in ("validate", "validate papers"):
        pairs, share = PROMISES[name].least, PROMISES[f"{name} agree"].least
        for page in (readme, ns2):
            assert re.search(rf"\b{pairs:g} pairs\b[^.]*\b{share:g} %", page), (name, page[:20])
    ratio = re.search(r"(\d+) to \d+ times as fast as ns-2", readme)
    assert ratio is not None
    assert float(ratio[1]) == min(PROMISES[f"bench B{i}"].least or 0 for i in (1, 2, 3, 4))


def test_the_clone_holds_what_is_committed(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("one\n")
    for line in ("init -q", "add kept", "-c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -qm first"):
        subprocess.run(["git", "-C", str(tmp_path), *line.split()], check=True)
    (tmp_path / "kept").write_text("two\n")
    place = clone(tmp_path)
    assert (place / "kept").read_text() == "one\n"
    (place / "made").touch()
    assert (clone(tmp_path) / "made").exists(), "the same commit: gone on with"


def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    it, begun = Trial(tmp_path, tmp_path / "it"), time.monotonic()
    code, done = it.ended("sh", "-c", "echo begun; sleep 60 & sleep 60", limit_s=0.5)
    assert (code, done.output) == (124, "begun\n")
    assert time.monotonic() - begun < 20
    assert (tmp_path / "it" / "log").read_text() == "$ sh -c echo begun; sleep 60 & sleep 60\nbegun\n"
    with pytest.raises(RuntimeError, match="`false` ended with 1"):
        it.run("false")


# ----------------------------------------------------------------------- the promises


@pytest.fixture
def it(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trial]:
    """The trial of one test. What it measured goes into the table, whatever becomes of it."""
    monkeypatch.setenv("PYTHONPATH", PATHS)  # without what stands in the place of pandas here
    test, commit = request.node.name.removeprefix("test_"), git(ROOT, "rev-parse", "--short", "HEAD")
    table = Table(ROOT / "docs" / "accept.md")
    if not request.config.option.keyword and table.kept(test, commit):
        pytest.skip("measured at this commit")
    folder = ROOT / "out" / "accept" / test
    shutil.rmtree(folder, ignore_errors=True)
    trial = Trial(clone(ROOT), folder)
    yield trial
    for name in table.names(test):
        if name in trial.measured or trial.failed:
            table.write(name, trial.measured.get(name, trial.failed or ""), commit)
    assert trial.lacking or [*trial.measured] == table.names(test)
    short = {name: value for name, value in trial.measured.items() if not PROMISES[name].keeps(value)}
    assert short == {}, "falls short"


def lack(it: Trial, why: str) -> None:
    """Skips the test: its rows stay as they were."""
    it.lacking = why
    pytest.skip(why)


@pytest.mark.accept
def test_setup(it: Trial) -> None:
    it.measured["setup"] = it.run("make", "setup").seconds


@pytest.mark.accept
def test_demo(it: Trial) -> None:
    it.bin("penstock")
    seconds = it.run("make", "demo").seconds
    assert (it.checkout / "out" / "report.html").exists()
    it.measured["demo"] = seconds


@pytest.mark.accept
def test_tests(it: Trial) -> None:
    it.measured["tests"] = it.run("make", "test").seconds
    it.measured["tests slow"] = it.run("make", "test-slow").seconds


def claims(folder: Path) -> Sequence[Mapping[str, str]]:
    with (folder / "claims.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.accept
def test_reproduce(it: Trial) -> None:
    command = (it.bin("penstock"), "reproduce", "all", "--out", it.folder / "papers")
    it.measured["reproduce"] = it.run(*command).seconds
    it.measured["reproduce again"] = it.run(*command).seconds
    full = {(row["paper"], row["claim"], row["reading"]): row["verdict"] for row in claims(it.folder / "papers")}
    if not (it.checkout / "out" / "claims.csv").exists():
        it.run("make", "demo")
    quick = claims(it.checkout / "out")
    both = [{row["verdict"], full.get((row["paper"], row["claim"], row["reading"]))} for row in quick]
    it.measured["reproduce quick"] = both.count({"holds", "does not hold"})
    assert max(int(row["n"]) for row in claims(it.folder / "papers")) >= 10


@pytest.mark.accept
def test_evaluate(it: Trial) -> None:
    penstock, folder = it.bin("penstock"), it.folder / "judged"
    it.measured["evaluate"] = it.run(penstock, "evaluate", "red", "--quick", "--out", it.folder / "quick").seconds
    it.measured["evaluate all"] = it.run(penstock, "evaluate", "all", "--seeds", "10", "--out", folder).seconds
    committed = it.checkout / "docs" / "evaluate" / "answers.csv"
    it.measured["evaluate answers"] = committed.read_bytes() == (folder / "answers.csv").read_bytes()


@pytest.mark.accept
def test_validate(it: Trial) -> None:
    done = it.run(it.bin("penstock"), "validate", "--pairs", it.folder / "pairs.csv")
    found = re.findall(r"^\S+\.md: \d+ of (\d+) pairs agree \(([\d.]+) %\)", done.output, re.MULTILINE)
    for name, (pairs, share) in zip(("validate", "validate papers"), found, strict=True):
        it.measured |= {name: float(pairs), f"{name} agree": float(share)}
    it.measured["validate fresh"] = git(it.checkout, "diff", "--stat", "--", "docs/validation*.md") == ""


@pytest.mark.accept
def test_bench(it: Trial) -> None:
    if shutil.which("ns") is None:
        lack(it, "no ns: apt-get install ns2")
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout
    if not any(Path(sysroot.strip()).rglob("llvm-profdata")):
        lack(it, "no llvm-profdata: rustup component add llvm-tools")
    it.bin("penstock")
    it.run("make", "bench")
    page = (it.checkout / "docs" / "performance.md").read_text(encoding="utf-8")
    table = page.partition("<!-- bench:speed -->")[2].partition("<!-- /bench:speed -->")[0]
    it.measured |= {f"bench {case}": ratio for case, ratio in ratios(table).items()}


@pytest.mark.accept
def test_examples(it: Trial) -> None:
    it.pytest("tests/test_examples.py")
    it.measured["examples"] = True


@pytest.mark.accept
def test_console(it: Trial) -> None:
    place = it.folder / "here"
    place.mkdir(parents=True)
    (place / "scenarios").symlink_to(it.checkout / "scenarios")
    shutil.copy(it.checkout / "scenarios" / "links" / "red.toml", place / "link.toml")
    path = f"{it.bin('penstock').parent}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

    def run(command: str) -> tuple[int, str]:
        environment = {"PATH": path, "COLUMNS": "110"}
        code, done = it.ended("bash", "-c", command, limit_s=1800, cwd=place, environment=environment)
        return code, done.output

    done = snippets.try_all(it.checkout, place, run, it.bin("python"), real.refusal())
    it.measured |= {"console": done.count, "console wrong": len(done.wrong)}
    assert done.wrong == []


@pytest.mark.accept
def test_kills(it: Trial) -> None:
    it.pytest("-m", "long", "-k", "kill")
    it.measured["kills"] = True


@pytest.mark.accept
def test_flips(it: Trial) -> None:
    it.pytest("-m", "long", "-k", "flip")
    it.measured["flips"] = True


@pytest.mark.accept
def test_real(it: Trial) -> None:
    if why := real.refusal():
        lack(it, why)
    files = sorted((it.checkout / "scenarios" / "real").glob("*.toml"))
    out = it.folder / "real"
    done = it.run(it.bin("penstock"), "validate-real", *files, "--out", out, "--json")
    found = next(line for line in done.output.splitlines() if line.startswith('{"version"'))
    pairs = [pair for case in json.loads(found)["cases"] for pair in case["pairs"] if pair["agrees"] is True]
    for name, metric in (("real", "delay_mean_s"), ("real utilization", "utilization")):
        it.measured[name] = sum(pair["metric"] == metric for pair in pairs)


@pytest.mark.accept
def test_fuzz(it: Trial) -> None:
    script = it.checkout / "fuzz" / "run.sh"
    listed = re.search(r"targets=\$\{\*:-([^}]*)\}", script.read_text(encoding="utf-8"))
    assert listed is not None, "fuzz/run.sh lists its targets as `${*:-…}`"
    targets = listed[1].split()
    each = FUZZING_S // len(targets)
    it.run(script, "1", targets[0])  # so that two do not build at once

    def one(target: str) -> None:
        own = Trial(it.checkout, it.folder / target)
        try:
            own.run(script, str(each), target, limit_s=each + 1800)
        finally:
            it.failed = it.failed or own.failed

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, targets))
    it.measured["fuzz"] = each * len(targets)


@pytest.mark.accept
def test_lab(it: Trial) -> None:
    if chromium.CHROMIUM is None:
        lack(it, chromium.MISSING)
    it.run("make", "lab")
    it.run(it.bin("python"), it.checkout / "tools" / "lab_speed.py")
    it.measured["lab"] = True


@pytest.mark.accept
def test_site(it: Trial) -> None:
    it.bin("penstock")
    seconds = it.run("make", "site").seconds
    it.pytest("tests/test_site.py")
    it.measured["site"] = seconds


@pytest.mark.accept
def test_dist(it: Trial) -> None:
    it.bin("penstock")
    it.run("make", "dist")
    it.measured["dist"] = True
