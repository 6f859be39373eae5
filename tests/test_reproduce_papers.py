"""Every paper in small, two seeds: each exhibit is drawn, each claim judged, and the discussion says what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.reproduced import reproduce
from penstock.reproduce.model import Finding, Paper
from penstock.reproduce.papers import KEYS
from penstock.reproduce.papers import paper as paper_of
from penstock.reproduce.verdict import CANNOT_TELL, HOLDS, NOT_JUDGED

Found = Mapping[str, Finding]


def amecn(paper: Paper, found: Found) -> None:
    text = paper.discussion(found)
    assert "What turns these verdicts" in text
    assert f"{found['fig3.falls'].estimate:.4g}" in text
    assert "nearest joint reading" not in text
    near = {f"@{key}": finding for key, finding in found.items()}
    assert "In the nearest joint reading the average ends at" in paper.discussion({**found, **near})
    assert paper.believe(found).endswith(".")
    better = replace(found["fig6.settled"], verdict=HOLDS)
    assert "1 more of its claims holds" in paper.believe({**found, "@fig6.settled": better})


def nred(paper: Paper, found: Found) -> None:
    assert found["fig1.profile"].verdict == "holds"
    # Far from any border: NRED's queue is about half of DropTail's, and about three times RED's.
    droptail, red = found["fig3.large-droptail"].estimate, found["fig3.large-red"].estimate
    assert droptail is not None and -60 < droptail < -40  # noqa: PT018
    assert red is not None and 140 < red < 230  # noqa: PT018
    assert [point.at for point in found["fig3.small"].points] == [
        "NRED against DropTail",
        "NRED against RED",
        "RED against DropTail",
    ]
    said = paper.discussion(found)
    assert f"{-droptail:.1f}" in said
    assert f"{red:.0f}" in said
    assert paper.believe(found)


def rared(paper: Paper, found: Found) -> None:
    # Far from any border: RARED's delay and loss are lower at a long link, and by this.
    delay, loss = found["fig3.delay-rem"].estimate, found["fig5.loss-rem"].estimate
    assert delay is not None and -30 < delay < -5  # noqa: PT018
    assert loss is not None and -8 < loss < -1  # noqa: PT018
    # The plain RED's throughput is RARED's, its loss is not.
    assert (found["beside.throughput"].estimate or 0) < (found["beside.loss"].estimate or 0)
    said = paper.discussion(found)
    shown = (found[key].estimate or 0 for key in ("fig3.delay-red", "fig5.loss-red", "beside.delay"))
    assert all(f"{abs(value):.1f}" in said for value in shown)
    assert found["fig3.delay-red"].verdict != "holds" or "does have a lower delay" in paper.believe(found)


def red_at(paper: Paper, found: Found) -> None:
    # Far from any border: at N = 80 RED-AT's queue swings between empty and full, RED's half as much.
    queue, level = found["fig9.oscillation"].estimate, found["fig9.level"].estimate
    assert queue is not None and 5 < queue < 12  # noqa: PT018
    assert level is not None and -10 < level < -5  # noqa: PT018
    assert [point.at for point in found["fig9.much-smaller"].points] == ["against RED", "against ARED"]
    said = paper.discussion(found)
    assert f"{queue:.1f}" in said
    assert f"{-level:.1f}" in said
    assert paper.believe(found)


def rvd(paper: Paper, found: Found) -> None:
    assert found["fig2.places"].estimate == 0.0
    assert found["fig5.fairer"].verdict == CANNOT_TELL
    assert {found[key].verdict for key in ("fig2.congested", "table1.off")} == {NOT_JUDGED}
    # Windows of 20 packets of 1500 B each 160 ms, set-up and slow start off: N = 4 has 5.07 Mbit/s, printed are 3.5.
    at = {point.at: point.estimate for point in found["table1.off"].points}
    assert at["N 4, RED"] == at["N 4, DropTail"] == pytest.approx(45.0, abs=0.5)
    near = {f"@{key}": finding for key, finding in found.items()}
    said = paper.discussion({**found, **near})
    assert said.count(f"{found['table4.off'].estimate:.0f} %") >= 2
    assert all(f"{found[key].estimate:.0f} %" in said for key in ("fig2.congested", "fig3.congested"))
    assert "no packet is lost there" in paper.believe(found)


CHECKS: dict[str, Callable[[Paper, Found], None]] = {
    "amecn": amecn,
    "nred": nred,
    "rared": rared,
    "red-at": red_at,
    "rvd": rvd,
}
#: All but the one that takes least.
SLOW = CHECKS.keys() - {"rvd"}


@pytest.mark.parametrize(
    "key", [pytest.param(each, marks=[pytest.mark.slow] if each in SLOW else []) for each in CHECKS]
)
def test_two_seeds(key: str, tmp_path: Path) -> None:
    paper = paper_of(key)
    CHECKS[key](paper, reproduce(paper, tmp_path))


def test_every_paper_is_checked() -> None:
    assert set(CHECKS) == set(KEYS)
