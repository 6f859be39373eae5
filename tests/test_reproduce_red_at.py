"""RED-AT's reproduction: its scenarios are what ns-2 ran, its claims measure what they say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from helpers.reproduced import differences_from_ns2, readings_that_change_nothing
from penstock import _penstock
from penstock.reproduce.command import series_table
from penstock.reproduce.execute import collect, ensure, identity
from penstock.reproduce.model import Settings
from penstock.reproduce.papers import paper
from penstock.reproduce.papers.red_at.exhibits import forced
from penstock.reproduce.papers.red_at.scenarios import OPEN, one_flow, scenario
from penstock.reproduce.readings import DEFAULT
from penstock.reproduce.runs import Run
from penstock.runs.recorded import recorded

PAPER = paper("red-at")
BY_KEY = {reading.key: reading for reading in OPEN}


@pytest.mark.parametrize(
    ("case", "name", "n", "reading"),
    [
        ("redat-red-nogentle-n020", "RED", 20, "default"),
        ("redat-ared-n030", "ARED", 30, "default"),
        ("redat-redat-nogentle-n100", "RED-AT", 100, "default"),
        ("redat-redat-n070", "RED-AT", 70, "gentle"),
        ("redat-ared-nogentle-n020", "ARED", 20, "ared.gentle=false"),
        ("redat-blue-n080", "ARED", 80, "ared=blue"),
        ("redat-bw02-redat-n005", "RED-AT", 5, "rate=1.5M"),
    ],
)
def test_scenarios_are_what_ns2_ran(case: str, name: str, n: int, reading: str) -> None:
    gentle = {} if reading != "rate=1.5M" else {".aqm.gentle"}
    assert differences_from_ns2(case, scenario(name, n, BY_KEY[reading])) <= {".measure.to", *gentle}


def test_readings_reach_what_they_are_about() -> None:
    narrow = scenario("RED-AT", 20, BY_KEY["bounds=20/10%"]).resolved["aqm"]
    assert [narrow[key] for key in ("min_lo", "min_hi", "max_lo", "max_hi")] == [
        "8 packets",
        "12 packets",
        "27 packets",
        "33 packets",
    ]
    marking = scenario("RED-AT", 20, BY_KEY["ecn,mark_p=0.1"]).resolved
    assert (marking["aqm"]["ecn"], marking["aqm"]["mark_p"], marking["traffic"][0]["ecn"]) == (True, 0.1, "classic")
    flows = [(t.get("flows"), t.get("sessions")) for t in scenario("RED", 20, BY_KEY["http=30"]).resolved["traffic"]]
    assert flows[0][0] == 20
    assert flows[1][1] == 30
    assert readings_that_change_nothing(PAPER) == []


def test_the_time_above_the_threshold_by_hand() -> None:
    import pyarrow as pa

    def share(**columns: list[float]) -> float:
        trace = pa.table({"t_s": [0.0, 20.0, 21.0, 22.0, 23.0], **columns})
        run = Run(labels={}, seed=1, scenario=scenario("RED", 5, DEFAULT), metrics={}, groups=[], links={}, trace=trace)
        return forced(run)

    average = [50.0, 29.0, 30.0, 31.0, 26.0]  # the first is before second 20
    assert share(avg_pkts=average) == 0.5
    assert share(avg_pkts=average, max_th=[24.0, 36.0, 36.0, 24.0, 24.0]) == 0.5
    assert share(avg_pkts=average, max_th=[24.0] * 5) == 1


def test_windows_are_recorded_where_a_figure_shows_them(tmp_path: Path) -> None:
    (case,) = one_flow("Vegas")(Settings(), DEFAULT)
    ensure([case], [1], tmp_path, 1, lambda done, total: None)
    runs = collect([case], [1], tmp_path)
    (run,) = runs
    assert run.windows is not None
    window = run.windows["cwnd_segments"].to_numpy()
    # Vegas settles; ns-2's β is 3 packets more than the link holds.
    assert window[-1000:].min() == window[-1000:].max()
    assert "cwnd_segments" in (series_table(runs) or run.windows).column_names
    queue_alone = replace(case, windows=False)
    assert identity(queue_alone) != identity(case)
    with pytest.raises(LookupError):
        collect([queue_alone], [1], tmp_path)


def test_a_fast_link_turns_experiment_1() -> None:
    """The discussion says so of the reading rate=45M in words of its own."""

    def run(name: str) -> dict[str, float]:
        (result,) = _penstock.run(
            scenario(name, 80, BY_KEY["rate=45M"]).core, [1], 1, series_interval_s=0.05, progress=None
        )
        trace = recorded(result, "queue")
        late = trace["t_s"].to_numpy() >= 20
        queue, average = (trace[column].to_numpy()[late] for column in ("queue_pkts", "avg_pkts"))
        return {"sd": queue.std(), "average": average.mean(), "used": result.metrics["utilization"] or 0.0}

    red, red_at = run("RED"), run("RED-AT")
    assert red_at["sd"] < red["sd"]
    assert red_at["average"] > red["average"]
    assert red_at["used"] > red["used"]
