"""One scenario in the simulator and on real packets: the mapping, the verdicts, repeated runs, what is written."""

from __future__ import annotations

import csv
import gzip
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, SMALL, Command
from helpers.real import needs_real_packets
from penstock import cli
from penstock.emulation import Emulated, EmulationError
from penstock.errors import ScenarioError
from penstock.model.scenario import Scenario
from penstock.runs import runner
from penstock.validate.real import compare as v

CASES = sorted((ROOT / "scenarios" / "real").glob("*.toml"))

EMULATION = {"late_p99_s": 1e-4, "notes": []}
#: What the kernels say of SMALL's three flows and its datagrams.
KERNEL = [{"ecn": True}] * 3 + [{"ecn": None}]


#: What applies where nobody fetches pages.
WITHOUT_PAGES = [c for c in v.COMPARED if not c.name.startswith("page_")]


class Bench:
    """In place of the machine: real runs are simulated ones, valid or not as the list says."""

    def __init__(self, valid: Iterator[bool]) -> None:
        self.valid = valid
        self.kernel = KERNEL
        self.seeds: list[int] = []

    def __call__(self, scenario: Scenario, *, seed: int, series: float, progress: Any, rootless: bool) -> Emulated:
        self.seeds.append(seed)
        run = runner.run(scenario, [seed], series=series).runs[0]
        valid = next(self.valid)
        why = [] if valid else ["2.00 % of the frames left late"]
        return Emulated(scenario, run, {**EMULATION, "valid": valid, "invalid_because": why, "kernel": self.kernel})


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A machine on which every run is valid."""

    def always() -> Iterator[bool]:
        while True:
            yield True

    made = Bench(always())
    monkeypatch.setattr(v, "emulate", made)
    return made


def small(**changes: object) -> Scenario:
    return Scenario.from_toml(SMALL).set_all(changes)


# ---------------------------------------------------------------------- the mapping


def test_both_sides_have_the_profile_of_linux() -> None:
    scenario = small()
    mapped = v.as_linux(scenario)
    ftp, cbr = mapped.resolved["traffic"]
    assert mapped.resolved["profile"] == "linux"
    assert (ftp["recovery"], ftp["initial_window"], ftp["delayed_ack"]) == ("rack", 10, True)
    assert cbr == scenario.resolved["traffic"][1], "datagrams are what they are"
    for part in ("topology", "measure"):
        assert mapped.resolved[part] == scenario.resolved[part], "the same bottleneck"


def test_what_a_scenario_sets_itself_holds() -> None:
    entry = v.as_linux(small(**{"traffic.0.tcp": "newreno", "traffic.0.initial_window": 3})).resolved["traffic"][0]
    assert (entry["tcp"], entry["initial_window"]) == ("newreno", 3)


# ---------------------------------------------------------------------- the verdicts


def verdict(metric: str, real: list[float], simulated: list[float]) -> bool | None:
    compared = next(c for c in v.COMPARED if c.name == metric)
    return v._verdict(compared, real, simulated).agrees


def test_bounds_and_intervals() -> None:
    assert verdict("utilization", [0.9] * 3, [0.918] * 3), "2 % to the digit"
    assert verdict("utilization", [0.9] * 3, [0.9181] * 3) is False
    assert verdict("delay_mean_s", [0.1] * 3, [0.11] * 3)
    assert verdict("delay_mean_s", [0.1] * 3, [0.1101] * 3) is False
    # 4.303 · s/√3 with s = 0.01: an interval of ± 0.0248 around 0.1.
    assert verdict("delay_mean_s", [0.09, 0.1, 0.11], [0.124] * 3)
    assert verdict("delay_mean_s", [0.09, 0.1, 0.11], [0.126] * 3) is False


def test_what_reality_has_none_of() -> None:
    assert verdict("drops_per_s", [0.0] * 3, [0.0] * 3) is None, "neither has: nothing to count"
    assert verdict("drops_per_s", [0.0] * 3, [1.0, 1.0, 1.0]) is False, "no per cent of nothing hides it"
    assert verdict("drops_per_s", [0.0] * 3, [0.0, 0.0, 1.0]), "one in three may be luck"


# ---------------------------------------------------------------------- runs


def test_both_sides_of_the_same_code_agree(bench: Bench) -> None:
    agreement = v.validate(small(), 3, 4)
    assert bench.seeds == [1, 2, 3]
    assert [run.seed for run in agreement.simulated.runs] == [1, 2, 3, 4]
    pairs = {pair.metric: pair for pair in agreement.pairs}
    assert list(pairs) == [*(c.name for c in WITHOUT_PAGES), "goodput_share.0", "goodput_share.1"]
    shares = [pairs[f"goodput_share.{i}"].real.mean for i in range(2)]
    assert sum(share or 0.0 for share in shares) == pytest.approx(1)
    assert pairs["utilization"].verdict.agrees
    window = 4.0
    for run, marks in zip(agreement.real.runs, pairs["marks_per_s"].real_values, strict=True):
        metrics = run.metrics
        assert marks == pytest.approx(((metrics["marks_ce"] or 0) + (metrics["marks_incipient"] or 0)) / window)


def test_the_distribution_of_the_delay_is_that_of_what_waits(bench: Bench) -> None:
    agreement = v.validate(small(), 2, 2)
    real, simulated = agreement.delays_s()
    for side, runs in ((real, agreement.real.runs), (simulated, agreement.simulated.runs)):
        assert len(side) == 2
        for quantiles, run in zip(side, runs, strict=True):
            assert quantiles == sorted(quantiles)
            mean = math.fsum(quantiles) / len(quantiles)
            # 1.5 Mbit/s: the queue's time average against what packets met.
            assert mean == pytest.approx(run.metrics["delay_mean_s"], rel=0.25)


def test_invalid_runs_are_repeated_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(iter([True, False, True, True]))
    monkeypatch.setattr(v, "emulate", bench)
    agreement = v.validate(small(), 3, 2)
    assert bench.seeds == [1, 2, 2, 3]
    assert [each.seed for each in agreement.invalid] == [2]
    assert len(agreement.real.runs) == len(agreement.emulations) == 3
    assert agreement.document()["invalid"] == [{"seed": 2, "because": ["2.00 % of the frames left late"]}]


def test_a_run_in_which_a_flow_got_no_ecn_does_not_count(bench: Bench) -> None:
    bench.kernel = [KERNEL[0], {"ecn": False}, *KERNEL[2:]]
    with pytest.raises(EmulationError, match=r"0 of 6 real runs were valid.*flow 1 asked for ECN and did not get it"):
        v.validate(small(), 2, 2)
    agreement = v.validate(small(**{"traffic.0.ecn": "off"}), 2, 2)
    assert not agreement.invalid, "it did not ask"


def test_a_machine_that_cannot_keep_up_gives_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(iter([True] + [False] * (2 * v.ATTEMPTS)))
    monkeypatch.setattr(v, "emulate", bench)
    with pytest.raises(
        EmulationError, match=r"small: 1 of 7 real runs were valid, 2 are needed: .*2\.00 % of the frames"
    ):
        v.validate(small(), 3, 2)
    assert len(bench.seeds) == 7, "tried a bounded number of times"


def test_one_run_has_no_interval() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        v.validate(small(), 1, 20)


# ---------------------------------------------------------------------- what is written


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.main(["validate-real", *map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def test_the_table(bench: Bench, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, file, "--runs", 2, "--seeds", 2)
    assert (code, err) == (0, "")
    for compared in WITHOUT_PAGES:
        assert compared.name in out
    assert "2 valid real runs; 99 % of their frames were at most 100 µs late" in out


def test_the_window_at_the_start_is_half_of_the_kernels_buffer() -> None:
    scenario = Scenario.from_toml(SMALL).set("profile", "linux")
    of = {size: v.hosts(scenario.set("traffic.0.segment", size)) for size in ("1448 B", "512 B", "8948 B")}
    assert {size: keys["traffic.0.window_start"] for size, keys in of.items()} == {
        "1448 B": 45,
        "512 B": 128,
        "8948 B": 7,
    }
    assert "traffic.0.window_start" not in v.hosts(scenario.set("traffic.0.window", 45))


def test_the_tick_is_the_kernels(tmp_path: Path) -> None:
    plain, packed, other = (tmp_path / name for name in ("config", "config.gz", "other"))
    plain.write_text("# CONFIG_HZ_PERIODIC is not set\nCONFIG_HZ_250=y\nCONFIG_HZ=250\n", encoding="utf-8")
    packed.write_bytes(gzip.compress(b"CONFIG_HZ=1000\n"))
    other.write_text("CONFIG_HZ_250=y\n", encoding="utf-8")
    assert [v.tick([plain]), v.tick([other, packed]), v.tick([tmp_path / "none", other])] == ["4 ms", "1 ms", None]


def test_the_document_and_the_folder(bench: Bench, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = file.with_name("other.toml")
    other.write_text(SMALL, encoding="utf-8")
    out_dir, figure = file.parent / "out", file.parent / "one.svg"
    code, out, err = run(
        capsys, file, other, "--runs", 2, "--seeds", 2, "--json", "--out", out_dir, "--duration", "4 s"
    )
    assert (code, err) == (0, "")
    document = json.loads(out)
    first, second = document["cases"]
    assert first["scenario"]["duration"] == "4 s"
    assert first["pairs"] == second["pairs"]
    assert [len(each["values"]) for each in (first["pairs"][0]["real"], first["pairs"][0]["simulated"])] == [2, 2]
    ticks = {} if (tick := v.tick()) is None else {"tick": tick}
    own = {"min_tso_segments": 2, "ecn_fallback": False, "window_start": 45, **ticks}
    assert first["changed"] == {f"traffic.0.{key}": value for key, value in own.items()}
    assert first["scenario"]["profile"] == "linux"
    assert [len(side) for side in first["delay"]["real_s"]] == [101, 101]
    for name in ("small", "other"):
        assert json.loads((out_dir / name / "document.json").read_text("utf-8"))["cases"][0]["name"] == "small"
        assert {path.name for path in (out_dir / name).iterdir()} == {
            "document.json",
            "figure.svg",
            "real",
            "simulated",
        }
        for seed in (1, 2):
            assert (out_dir / name / "real" / str(seed) / "queue.parquet").is_file()
    summary = (out_dir / "summary.md").read_text("utf-8").splitlines()
    counted = [
        p for case in document["cases"] for p in case["pairs"] if p["metric"] in v.BOUNDED or "share" in p["metric"]
    ]
    counted = [p for p in counted if p["agrees"] is not None]
    agree = sum(p["agrees"] for p in counted)
    assert summary[0].startswith(f"2 scenarios, {len(counted)} pairs: {agree} agree")
    rows = list(csv.DictReader((out_dir / "pairs.csv").read_text("utf-8").splitlines()))
    assert [(row["scenario"], row["metric"]) for row in rows] == [
        (case["name"], pair["metric"]) for case in document["cases"] for pair in case["pairs"]
    ]
    assert not figure.exists()


def test_stored_real_runs_are_compared_again_without_measuring(
    bench: Bench, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = file.parent / "out"
    code, first, _ = run(capsys, file, "--runs", 2, "--seeds", 2, "--json", "--out", kept)
    assert code == 0
    bench.seeds.clear()
    code, again, err = run(capsys, file, "--real", kept, "--seeds", 2, "--json", "--figure", file.with_name("it.svg"))
    assert (code, err, bench.seeds) == (0, "", [])
    assert json.loads(again) == json.loads(first)
    code, changed, _ = run(
        capsys, file, "--real", kept, "--seeds", 2, "--json", "--set-simulated", "traffic.0.tcp=reno"
    )
    assert code == 0
    assert json.loads(changed)["cases"][0]["changed"]["traffic.0.tcp"] == "reno"
    assert json.loads(changed)["cases"][0]["pairs"] != json.loads(first)["cases"][0]["pairs"]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: None, "topology.bottleneck.rate was"),
        (lambda folder: (folder / "1" / "document.json").unlink(), "1 of 1 real runs were valid, 2 are needed"),
        (lambda folder: (folder / "1" / "document.json").write_text("{}"), "no document of penstock emulate"),
        (lambda folder: [(folder / str(i) / "document.json").unlink() for i in (1, 2)], "no real runs"),
    ],
)
def test_stored_runs_that_do_not_fit_are_refused(
    bench: Bench, file: Path, capsys: pytest.CaptureFixture[str], spoil: Callable[[Path], object], message: str
) -> None:
    kept = file.parent / "out"
    run(capsys, file, "--runs", 2, "--seeds", 2, "--json", "--out", kept)
    spoil(kept / "small" / "real")
    more = ["--set", "topology.bottleneck.rate=2 Mbit/s"] if "rate" in message else []
    code, _, err = run(capsys, file, "--real", kept, "--seeds", 2, "--json", *more)
    assert code == (1 if "valid" in message else 2)
    assert message in err


def test_the_figure_is_the_same_for_the_same_runs(bench: Bench, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = [file.parent / f"{i}.svg" for i in range(2)]
    for figure in figures:
        assert run(capsys, file, "--runs", 2, "--seeds", 2, "--figure", figure)[0] == 0
    first, second = (figure.read_text("utf-8") for figure in figures)
    assert first == second
    for text in ("Utilization", "99th-percentile delay", "real: queue, seed 1", "simulated: queue, seed 1"):
        assert text in first


def test_one_scenario_that_the_machine_cannot_keep_up_with_leaves_the_others(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = file.with_name("other.toml")
    other.write_text(SMALL.replace('"small"', '"other"'), encoding="utf-8")
    monkeypatch.setattr(v, "emulate", Bench(iter([False] * 2 * v.ATTEMPTS + [True] * 2)))
    code, out, err = run(capsys, file, other, "--runs", 2, "--seeds", 2, "--json")
    assert code == 1
    assert err.startswith("penstock: small: 0 of 6 real runs were valid")
    assert [case["name"] for case in json.loads(out)["cases"]] == ["other"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no.toml"], "no.toml: No such file"),
        (["small.toml", "--runs", "1"], "--runs"),
        (["small.toml", "--figure", "x.gif"], "must end in .png, .svg, .pdf"),
        (["small.toml", "sub/small.toml"], "another FILE is called small"),
        (["small.toml", "sub/other.toml", "--figure", "x.svg"], "--figure: one FILE"),
        (["small.toml", "--set-simulated", "traffic.0.delayed_akc=true"], "delayed_ack"),
        (["small.toml", "--set-simulated", "traffic.0"], "--set-simulated traffic.0: must be KEY=VALUE"),
        (["small.toml", "--duration", "0.5 s"], "measure.from"),
        (["small.toml", "--out", "small.toml"], "is a file"),
        ([], "FILE"),
    ],
)
def test_bad_input_runs_and_writes_nothing(
    bench: Bench,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    (file.parent / "sub").mkdir()
    for name in ("small", "other"):
        (file.parent / "sub" / f"{name}.toml").write_text(SMALL, encoding="utf-8")
    monkeypatch.chdir(file.parent)
    before = sorted(file.parent.rglob("*"))
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert bench.seeds == []
    assert sorted(file.parent.rglob("*")) == before


# ---------------------------------------------------------------------- the shipped cases


def test_the_shipped_cases_are_twelve_and_can_be_simulated() -> None:
    assert len(CASES) == 12
    kinds = set()
    for case in CASES:
        scenario = Scenario.load(case)
        resolved = v.as_linux(scenario).resolved
        tcp, aqm, rate = case.stem.rsplit("-", 2)
        assert (scenario.resolved["traffic"][0]["tcp"], resolved["aqm"]["kind"]) == (tcp, aqm)
        assert resolved["topology"]["bottleneck"]["rate"] == f"{rate} Mbit/s"
        kinds.add((tcp, aqm, rate))
    assert len(kinds) == 12


@pytest.mark.alone
def test_a_real_case(penstock: Command) -> None:
    """Two runs of 4 s after 2 s: real packets, a verdict for each metric, the link as busy as in the simulator."""
    needs_real_packets()
    case = ROOT / "scenarios" / "real" / "reno-droptail-10.toml"
    done = penstock(
        "validate-real", case, "--runs", 2, "--seeds", 4, "--json", "--duration", "6 s", "--set", "measure.from=2 s"
    )
    if "real runs were valid, 2 are needed" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert (done.returncode, done.stderr) == (0, "")
    (found,) = json.loads(done.stdout)["cases"]
    pairs = {pair["metric"]: pair for pair in found["pairs"]}
    assert all(emulation["valid"] for emulation in found["emulations"])
    assert pairs["utilization"]["agrees"], pairs["utilization"]
    # The payload's share of the wire, 1448/1500, on both sides, but for what has passed and is not acknowledged at the
    # ends of those 4 s: behind a hole up to two windows of buffer and path, the second sent while the hole is mended.
    held = 2 * (60 * 1500 + 10e6 / 8 * 0.04) / (10e6 / 8 * 4)
    for side in ("real", "simulated"):
        share = pairs["goodput_bps"][side]["mean"] / pairs["utilization"][side]["mean"] / 10e6
        assert share == pytest.approx(1448 / 1500, rel=held)


def test_a_scenario_that_real_packets_cannot_play_is_refused() -> None:
    needs_real_packets()
    with pytest.raises(ScenarioError, match="dumbbell"):
        v.validate(Scenario.load(ROOT / "scenarios" / "parking-lot.toml"), 2, 2)
