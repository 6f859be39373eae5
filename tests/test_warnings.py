"""A run whose queue was at an access link says so, whatever ran it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import penstock as ps
from conftest import Command

#: A window that no path holds, so that what does not fit waits at the first of the slowest links.
TEXT = """\
name = "line"
duration = "5 s"

[topology]
bottleneck = { rate = "10 Mbit/s", delay = "10 ms", buffer = "1000 packets" }
access = { rate = "10 Mbit/s" }

[[traffic]]
name = "backup <b>"
kind = "ftp"
tcp = "cubic"
window = 500

[sweep]
"topology.access.rate" = ["10 Mbit/s", "100 Mbit/s"]
"""
SAYS = 'access link of traffic.0 "backup <b>", flow 0, from its host'
FASTER = "topology.access.rate=100 Mbit/s"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "line.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_run_says_it_on_stderr_and_in_the_document(file: Path, penstock: Command) -> None:
    done = penstock("run", str(file), "--json")
    assert done.returncode == 0, done.stderr
    out, err = done.stdout, done.stderr
    (warning,) = json.loads(out)["runs"][0]["warnings"]
    assert SAYS in warning
    assert err == f"warning: {warning}\n"
    done = penstock("run", str(file), "--seeds", "3", "--set", FASTER, "--json")
    assert done.returncode == 0, done.stderr
    out, err = done.stdout, done.stderr
    assert err == ""
    assert "warnings" not in out


def test_compare_says_it_of_each_discipline(file: Path, penstock: Command) -> None:
    done = penstock("compare", str(file), "--aqm", "droptail", "--aqm", "codel", "--seeds", "2", "--json")
    assert done.returncode == 0, done.stderr
    out, err = done.stdout, done.stderr
    lines = err.splitlines()
    assert [line.split(":")[1].strip() for line in lines] == ["droptail", "codel"]
    assert all(SAYS in line and "in all 2 runs" in line for line in lines)
    compared = json.loads(out)["compared"]
    assert all(SAYS in run["warnings"][0] for each in compared.values() for run in each["runs"])


def test_a_sweep_keeps_and_says_it(file: Path, tmp_path: Path, penstock: Command) -> None:
    folder = tmp_path / "out"
    for new in (4, 0):  # what was kept is told as well
        done = penstock("sweep", str(file), "--seeds", "2", "--out", str(folder), "--no-warm-up-check")
        assert done.returncode == 0, done.stderr
        out, err = done.stdout, done.stderr
        assert f"{new} new" in out
        assert err.startswith(f"warning: 2 runs in {folder} have a warning, such as: a queue at an access link was")
        assert SAYS in err
    runs = pq.read_table(folder / "runs").to_pylist()
    told = {(run["topology.access.rate"], len(run["warnings"])) for run in runs}
    assert told == {("10 Mbit/s", 1), ("100 Mbit/s", 0)}
    assert SAYS.replace('"', '\\""') in penstock("export", str(folder), "--csv").stdout


def test_results_have_it(file: Path) -> None:
    scenario = ps.Scenario.load(file)
    result = ps.run(scenario, seeds=2, jobs=2)
    (warning,) = result.warnings
    assert SAYS in warning
    assert "in all 2 runs" in warning
    assert "<p>warning: a queue at" in result._repr_html_()
    assert "backup &lt;b&gt;" in result._repr_html_()
    comparison = ps.compare(scenario, ["droptail", "red"])
    assert [text.split(":")[0] for text in comparison.warnings] == ["droptail", "red"]
    faster = ps.run(scenario.set("topology.access.rate", "100 Mbit/s"))
    assert faster.warnings == ()
    assert "warning" not in faster._repr_html_()


class Tail(ps.Aqm):
    """Lets all pass."""

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        return ps.PASS


def test_it_comes_back_from_other_processes(file: Path) -> None:
    """A discipline in Python: two seeds run in worker processes."""
    result = ps.run(ps.Scenario.load(file).with_aqm(Tail()), seeds=2, jobs=2)
    assert len(result.warnings) == 1
    assert "in all 2 runs" in result.warnings[0]
