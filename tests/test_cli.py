"""The command as a user meets it: another process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from conftest import ROOT, SCENARIOS, SMALL, Command
from helpers.processes import MARK, wait_until_busy
from penstock.cli.app import COMMANDS, main, program

#: interface.md's names; a metric that does not apply is null, but it is there.
METRICS = """throughput_bps goodput_bps utilization queue_mean_pkts queue_sd_pkts queue_p99_pkts avg_queue_mean_pkts
delay_mean_s delay_p50_s delay_p99_s delay_var_s2 delay_variation_s loss_ratio drops_early drops_forced drops_overflow
marks_incipient marks_ce jain arrivals departures timeouts retransmits data_loss_ratio data_delay_mean_s fct_p50_s
fct_p99_s""".split()


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_run_prints_a_table(penstock: Command, small: Path) -> None:
    done = penstock("run", small, "--seeds", 2)
    assert (done.returncode, done.stderr) == (0, "")
    assert "utilization" in done.stdout
    assert "±" in done.stdout


def test_json_has_the_promised_shape(penstock: Command, small: Path) -> None:
    document = json.loads(penstock("run", small, "--seeds", 3, "--json").stdout)
    assert list(document) == ["scenario", "version", "runs", "summary", "identical"]
    assert [run["seed"] for run in document["runs"]] == [1, 2, 3]
    run = document["runs"][0]
    assert set(METRICS) <= set(run["metrics"])
    assert run["metrics"]["marks_incipient"] in (None, 0)
    assert set(run["groups"]) == {"0", "1"}
    assert [flow["group"] for flow in run["flows"]] == [0, 0, 0, 1]
    used = document["summary"]["utilization"]
    assert set(used) == {"mean", "ci95", "n", "low", "high"}
    assert used["n"] == 3
    values = [run["metrics"]["utilization"] for run in document["runs"]]
    assert used["mean"] == pytest.approx(sum(values) / 3)
    assert document["scenario"]["aqm"]["kind"] == "red"


def test_one_seed_has_no_interval(penstock: Command, small: Path) -> None:
    summary = json.loads(penstock("run", small, "--json").stdout)["summary"]
    assert summary["utilization"]["n"] == 1
    assert summary["utilization"]["ci95"] is None


def test_the_same_bytes_whatever_the_number_of_threads(penstock: Command, small: Path) -> None:
    one, two, again = (penstock("run", small, "--seeds", 6, "--json", "--jobs", jobs).stdout for jobs in (1, 2, 2))
    assert one
    assert one == two == again


def test_set_changes_one_key(penstock: Command, small: Path) -> None:
    done = penstock(
        "run", small, "--json", "--set", "aqm.kind=droptail", "--set", "seed=7", "--set", "traffic.0.flows=1"
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["scenario"]["aqm"]["kind"] == "droptail"
    assert document["runs"][0]["seed"] == 7
    assert [flow["group"] for flow in document["runs"][0]["flows"]] == [0, 1]


#: What is changed in the small scenario; what the message names.
MISTAKES = [
    ("min_th = 5", "min_thh = 5", ["small.toml:12", "aqm.min_thh", "min_th"]),
    ('rate = "1.5 Mbit/s"', 'rate = "1.5 mbps"', ["small.toml:7", "topology.bottleneck.rate", "1.5 mbps", "MB/s"]),
    ('delay = "10 ms"', 'delay = "10 packets"', ["small.toml:7", "topology.bottleneck.delay", "10 packets"]),
    ("min_th = 5", "min_th = 20", ["small.toml:12", "aqm.min_th", "max_th"]),
    ("min_th = 5", "min_th = -1", ["small.toml:12", "aqm.min_th", "-1"]),
    ('kind = "red"', 'kind = "redd"', ["small.toml:11", "aqm.kind", "redd", "red"]),
    ("flows = 3", 'flows = "three"', ["small.toml:18", "traffic", "flows", "three"]),
    ('kind = "cbr"', 'kind = "cbr"\nkind = "cbr"', ["small.toml:24"]),
    ("flows = 3", "flows = ", ["small.toml:18"]),
    ('duration = "5 s"', 'duraton = "5 s"', ["small.toml:2", "duraton", "duration"]),
]


@pytest.mark.parametrize(("right", "wrong", "named"), MISTAKES, ids=[wrong for _, wrong, _ in MISTAKES])
def test_a_mistake_is_one_line_and_nothing_is_written(
    penstock: Command, small: Path, right: str, wrong: str, named: list[str]
) -> None:
    assert right in SMALL
    small.write_text(SMALL.replace(right, wrong, 1), encoding="utf-8")
    before = files(small.parent)
    done = penstock("run", small.name, "--out", "out", "--pcap", "out.pcap", "--timing", "timing.json")
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert [word for word in named if word not in done.stderr] == [], done.stderr
    assert files(small.parent) == before


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["run", "none.toml"], "none.toml"),
        (["run"], "FILE"),
        (["run", "small.toml", "--seeds", "0"], "--seeds"),
        (["run", "small.toml", "--seeds", "many"], "many"),
        (["run", "small.toml", "--set", "aqm.min_th"], "KEY=VALUE"),
        (["run", "small.toml", "--set", "aqm.min_thh=5"], "aqm.min_thh"),
        (["run", "small.toml", "--set", "aqm.min_th=fast"], "aqm.min_th"),
        (["run", "small.toml", "--pcap", "none/x.pcap"], "none"),
        (["run", "small.toml", "--pcap", "x.pcap", "--pcap-link", "nowhere"], "bottleneck"),
        (["run", "small.toml", "--out", "small.toml"], "small.toml"),
        (["run", "small.toml", "--series", "10 ms"], "--out"),
        (["run", "small.toml", "--out", "out", "--series", "10 mm"], "10 mm"),
        (["compare", "small.toml"], "--aqm"),
        (["compare", "small.toml", "--aqm", "red", "--aqm", "redd"], "redd"),
        (["compare", "small.toml", "--aqm", "red", "--aqm", "red"], "red"),
        (["run", "small.toml", "--aqm", "red", "--aqm", "codel"], "penstock compare several"),
        (["list", "colours"], "colours"),
        (["frobnicate"], "frobnicate"),
        (["run", "small.toml", "--frobnicate"], "--frobnicate"),
    ],
    ids=" ".join,
)
def test_wrong_arguments_are_one_line_and_nothing_is_written(
    penstock: Command, small: Path, arguments: list[str], named: str
) -> None:
    before = files(small.parent)
    done = penstock(*arguments)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert named in done.stderr
    assert files(small.parent) == before


def test_out_holds_the_document_and_the_series(penstock: Command, small: Path) -> None:
    import pyarrow.parquet as pq

    done = penstock(
        "run", small, "--seeds", 2, "--out", "out", "--series", "100 ms", "--timing", "timing.json", "--json"
    )
    assert done.returncode == 0, done.stderr
    out = small.parent / "out"
    assert (out / "document.json").read_text(encoding="utf-8") == done.stdout
    queue = pq.read_table(out / "queue.parquet")
    assert queue.column_names[:3] == ["seed", "t_s", "queue_pkts"]
    assert set(queue["seed"].to_pylist()) == {1, 2}
    assert "cwnd.parquet" in files(out)
    assert not [name for name in files(small.parent) if name.endswith(".part")]
    timing = json.loads((small.parent / "timing.json").read_text(encoding="utf-8"))
    assert timing["runs"] == 2
    assert timing["wall_s"] > 0


def test_recording_does_not_change_a_run(penstock: Command, small: Path) -> None:
    bare = penstock("run", small, "--json").stdout
    recorded = penstock("run", small, "--json", "--out", "out", "--series", "1 ms", "--pcap", "x.pcap").stdout
    assert bare == recorded


def test_compare_pairs_by_seed(penstock: Command, small: Path) -> None:
    kinds = ("--aqm", "droptail", "--aqm", "red")
    document = json.loads(penstock("compare", small, *kinds, "--seeds", 4, "--json").stdout)
    assert document["baseline"] == "droptail"
    assert list(document["compared"]) == ["droptail", "red"]
    waits = {
        kind: [run["metrics"]["delay_mean_s"] for run in document["compared"][kind]["runs"]]
        for kind in ("droptail", "red")
    }
    gaps = [b - a for a, b in zip(waits["droptail"], waits["red"], strict=True)]
    mean = sum(gaps) / 4
    sd = (sum((gap - mean) ** 2 for gap in gaps) / 3) ** 0.5
    stated = document["difference"]["red"]["delay_mean_s"]
    assert stated["n"] == 4
    assert stated["mean"] == pytest.approx(mean)
    assert stated["ci95"] == pytest.approx(3.182446 * sd / 2, rel=1e-5)  # t of 3 degrees of freedom, by the table

    shown = penstock("compare", small, *kinds, "--seeds", 4)
    assert shown.returncode == 0
    assert "red − droptail" in shown.stdout


def test_all_disciplines_in_one_command(penstock: Command, small: Path, tmp_path: Path) -> None:
    figure = tmp_path / "all.svg"
    done = penstock("compare", small, "--aqm", "pi", "--aqm", "all", "--json", "--figure", figure)
    kinds = [kind["name"] for kind in json.loads(penstock("list", "aqm", "--json").stdout)]
    compared = list(json.loads(done.stdout)["compared"])
    assert compared[0] == "pi"
    assert sorted(compared) == sorted(set(kinds) - {"custom", "bernoulli"})
    assert len(compared) == 32
    assert figure.read_text(encoding="utf-8").count("<svg") == 1
    shown = penstock("compare", small, "--aqm", "all", "--seeds", 2).stdout
    assert all(kind in shown for kind in compared)
    refused = penstock("compare", small, "--aqm", "all", "--figure", tmp_path / "all.bmp")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert ".svg" in refused.stderr


def test_each_compared_kind_takes_its_own_keys(penstock: Command, tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    file.write_text(SMALL.replace("ecn = true", 'ecn = true\ninterval = "0.1 s"', 1), encoding="utf-8")
    done = penstock("compare", file, "--aqm", "red", "--aqm", "ared", "--aqm", "droptail", "--json")
    assert done.returncode == 0, done.stderr
    compared = json.loads(done.stdout)["compared"]
    assert "interval" in compared["ared"]["scenario"]["aqm"]
    assert "interval" not in compared["red"]["scenario"]["aqm"]
    assert "min_th" not in compared["droptail"]["scenario"]["aqm"]


@pytest.mark.parametrize("what", ["aqm", "tcp", "traffic", "topology", "metrics", "profiles"])
def test_list(penstock: Command, what: str) -> None:
    rows = json.loads(penstock("list", what, "--json").stdout)
    assert rows
    assert all(row["name"] and row["doc"] for row in rows)
    shown = penstock("list", what)
    assert shown.returncode == 0
    assert [row["name"] for row in rows if row["name"] not in shown.stdout] == []


def test_list_all_is_the_six(penstock: Command) -> None:
    lists = ["aqm", "tcp", "traffic", "topology", "metrics", "profiles"]
    assert list(json.loads(penstock("list", "--json").stdout)) == lists
    names = {row["name"] for row in json.loads(penstock("list", "metrics", "--json").stdout)}
    assert set(METRICS) <= names


def test_init_writes_a_scenario_that_runs(penstock: Command, tmp_path: Path) -> None:
    assert penstock("init", "mine").returncode == 0
    text = (tmp_path / "mine.toml").read_text(encoding="utf-8")
    assert text.count("#") > 5
    assert penstock("run", "mine.toml", "--set", "duration=2 s", "--set", "measure.from=1 s").returncode == 0
    refused = penstock("init", "mine")
    assert refused.returncode == 2
    assert "mine.toml" in refused.stderr
    assert (tmp_path / "mine.toml").read_text(encoding="utf-8") == text


def test_init_without_a_name(penstock: Command, tmp_path: Path) -> None:
    assert penstock("init").returncode == 0
    assert files(tmp_path) == {"scenario.toml"}


def test_schema_is_json(penstock: Command) -> None:
    schema = json.loads(penstock("schema").stdout)
    assert {"topology", "aqm", "traffic", "duration"} <= set(schema["properties"])


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("*.toml")), ids=lambda file: file.stem)
def test_every_scenario_runs(penstock: Command, file: Path) -> None:
    done = penstock("run", file, "--json", "--timing", "t.json")
    assert done.returncode == 0, done.stderr
    metrics = json.loads(done.stdout)["runs"][0]["metrics"]
    assert 0.3 < metrics["utilization"] < 1.001
    assert metrics["departures"] > 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the process in /proc")
def test_ctrl_c_ends_a_run_that_takes_for_ever_and_leaves_nothing(small: Path) -> None:
    small.write_text(SMALL.replace('"5 s"', '"400000 s"'), encoding="utf-8")
    before = files(small.parent)
    line = [sys.executable, "-m", "penstock", "run", small.name, "--seeds", "4", "--jobs", "2"]
    process = subprocess.Popen(
        [*line, "--pcap", "x.pcap", "--timing", "t.json"],
        cwd=small.parent,
        env={**os.environ, MARK: (name := uuid.uuid4().hex)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until_busy(process, name)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines()[-1] == "penstock: interrupted"  # before it, on a slow machine, how far it is
    assert files(small.parent) == before


def test_a_reader_that_goes_away_is_no_error(small: Path) -> None:
    line = f"{sys.executable} -m penstock list --json | head -c 10"
    done = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert done.stderr == ""


def test_the_commands_lines_of_help_fit_a_terminal(tmp_path: Path) -> None:
    environment = {**os.environ, "COLUMNS": "80"}
    shown = subprocess.run([sys.executable, "-m", "penstock", "-h"], env=environment, capture_output=True, text=True)
    commands = shown.stdout.split("Commands:\n")[1].splitlines()
    assert len(commands) == len(COMMANDS)
    assert [line for line in commands if line.endswith("...")] == []
    assert max(map(len, commands)) <= 80


@pytest.mark.parametrize(("name", "line"), COMMANDS.items())
def test_a_commands_line_of_help_is_its_first_sentence(name: str, line: str) -> None:
    command = program.get_command(click.Context(program), name)
    assert command is not None
    assert command.get_short_help_str(limit=59) == line


def test_a_name_that_a_list_lacks_is_answered_with_all_names(penstock: Command) -> None:
    shown = penstock("list", "aqm", "zzzzz")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr.startswith("penstock: no aqm is called 'zzzzz'; there are: droptail, red, ")


def all_commands(group: click.Group, *words: str) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(click.Context(group)):
        found = group.get_command(click.Context(group), name)
        if isinstance(found, click.Group):
            yield from all_commands(found, *words, name)
        elif found is not None:
            yield " ".join([*words, name]), found


@pytest.mark.parametrize(("name", "command"), [*all_commands(program)])
def test_an_option_that_takes_one_value_is_refused_where_it_is_given_twice(
    name: str, command: click.Command, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in command.params:
        if isinstance(option, click.Option) and not (option.multiple or option.is_flag):
            given = option.opts[0]
            code = main([*name.split(), f"{given}=1", f"{given}=2"])
            said = capsys.readouterr()
            assert (code, said.out) == (2, "")
            assert said.err.startswith(f"penstock: {given} is given 2 times; penstock {name} takes one")
