"""WRED by colour as a switch has it: each colour's numbers, and what it is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from conftest import SCENARIOS
from penstock.operators import config as work
from penstock.operators import sonic, wanted
from penstock.operators.model import Place, RefusedError, Written
from penstock.operators.platforms import PLATFORMS

WRED = ps.Scenario.load(SCENARIOS / "wred.toml")
GREEN = {"min_th": 60, "max_th": 120}
YELLOW = {"drop_precedence": 2, "min_th": 40, "max_th": 80, "max_p": 0.053}
RED = {"drop_precedence": 3, "min_th": "20 kB", "max_th": "60 kB", "max_p": 0.2}


def coloured(*, colour: dict[str, Any], **keys: Any) -> ps.Scenario:
    table = {"kind": "wred", "mean_packet": "1500 B", "w_q": 1.0, "gate": "geometric", "max_p": 0.1, **keys}
    return WRED.set("aqm", {**table, "colour": colour})


def write(scenario: ps.Scenario, to: str = "sonic") -> Written:
    return work.write(scenario, to, Place())


def profile(written: Written) -> dict[str, str]:
    (found,) = json.loads(written.text)["WRED_PROFILE"].values()
    assert sonic.mistakes({"WRED_PROFILE": {"x": found}}) == []
    return {key: value for key, value in found.items() if not key.endswith("_enable")}


def test_each_colour_has_its_numbers() -> None:
    """Packets are 1500 B each, and the switch takes whole per cent: 5.3 is 5."""
    made = write(coloured(colour={"green": GREEN, "yellow": YELLOW, "red": RED}))
    assert profile(made) == {
        "ecn": "ecn_none",
        **{"green_min_threshold": "90000", "green_max_threshold": "180000", "green_drop_probability": "10"},
        **{"yellow_min_threshold": "60000", "yellow_max_threshold": "120000", "yellow_drop_probability": "5"},
        **{"red_min_threshold": "20000", "red_max_threshold": "60000", "red_drop_probability": "20"},
    }
    assert made.lost == ()
    off = {each.name for each in made.values if each.error}
    assert off == {"yellow share at max_th"}
    assert made.aqm["colour"]["yellow"] == {
        **{"drop_precedence": 2, "min_th": "60000 B", "max_th": "120000 B", "max_p": 0.05}
    }


def test_a_colour_that_is_not_named_is_like_all_others() -> None:
    made = profile(write(coloured(colour={"rest": GREEN, "red": RED})))
    assert {key[7:]: value for key, value in made.items() if key.startswith("yellow")} == {
        key[6:]: value for key, value in made.items() if key.startswith("green")
    }
    assert made["red_max_threshold"] == "60000"


def test_marks_have_thresholds_of_their_own() -> None:
    green = {**GREEN, "ecn_min_th": 10, "ecn_max_th": 20, "ecn_max_p": 0.5}
    made = write(coloured(colour={"green": green, "yellow": YELLOW, "red": RED}, ecn=True, forced="mark"))
    found = profile(made)
    assert found["ecn"] == "ecn_all"
    assert {key: value for key, value in found.items() if key.startswith("ecn_")} == {
        f"ecn_{colour}_{key}": value
        for colour in ("green",)
        for key, value in (("min_threshold", "15000"), ("max_threshold", "30000"), ("mark_probability", "50"))
    }
    assert (found["green_min_threshold"], found["green_drop_probability"]) == ("90000", "10")
    assert made.lost == ()
    kept = {"min_th": "90000 B", "max_th": "180000 B", "max_p": 0.1}
    assert made.aqm["colour"]["green"] == kept | {"ecn_min_th": "15000 B", "ecn_max_th": "30000 B", "ecn_max_p": 0.5}


def test_what_the_switch_has_not_is_named() -> None:
    made = write(coloured(colour={"green": GREEN, "red": RED}, average="own", w_q=0.002, gentle=True, ecn=True))
    assert [each.partition(":")[0] for each in made.lost] == ["average = 'own'", "gentle", "averaging"]


@pytest.mark.parametrize(
    ("colour", "said"),
    [
        ({"a": {"dscp": 10, **GREEN}, "b": GREEN}, r"aqm\.colour\.a\.dscp: a switch's colours are .* drop_precedence"),
        (
            {"a": {"drop_precedence": 1, **GREEN}, "b": GREEN},
            r"aqm\.colour\.a\.drop_precedence = 1: is green .*\(aqm\.colour\.b\)",
        ),
        ({"a": {"min_th": 5}}, r"aqm\.colour\.a\.max_th: is needed here"),
        ({}, r"aqm\.colour: name the colours here"),
    ],
)
def test_other_colours_are_refused(colour: dict[str, Any], said: str) -> None:
    with pytest.raises(RefusedError, match=said):
        write(coloured(colour=colour))


@pytest.mark.parametrize("to", [to for to, platform in PLATFORMS.items() if "wred" not in platform.kinds])
def test_elsewhere_colours_are_refused(to: str) -> None:
    with pytest.raises(RefusedError, match="wred"):
        write(WRED, to)


ENDS = st.tuples(st.integers(1, 10**9), st.integers(1, 10**9), st.floats(1e-6, 1.0))


def table(ends: tuple[int, int, float], prefix: str = "") -> dict[str, Any]:
    low, more, most = ends
    return {f"{prefix}min_th": f"{low} B", f"{prefix}max_th": f"{low + more} B", f"{prefix}max_p": most}


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.data(), st.booleans(), st.sampled_from(["shared", "own", "rio"]))
def test_any_colours_are_a_profile_and_a_scenario(data: st.DataObject, ecn: bool, average: str) -> None:
    colour: dict[str, Any] = {"rest": table(data.draw(ENDS))}
    for y in data.draw(st.sets(st.sampled_from([2, 3]))):
        colour[f"y{y}"] = {"drop_precedence": y, **table(data.draw(ENDS))}
        if data.draw(st.booleans()):
            colour[f"y{y}"] |= table(data.draw(ENDS), "ecn_")
    asked = coloured(colour=colour, ecn=ecn, average=average)
    made = write(asked)
    found = profile(made)
    box = wanted.rounded(asked, made)
    # What the box runs is written as it is, and asks for nothing that it has not.
    again = write(box)
    assert profile(again) == found
    assert again.lost == ()
