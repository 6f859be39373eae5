"""`penstock config --against`: what a box has now, field by field, beside what it will have."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import penstock as ps
from conftest import Command
from helpers import tc_states
from penstock.operators import changes, tc_after
from penstock.operators import config as work
from penstock.operators import tc_fields as fields
from penstock.operators.changes import Change
from penstock.operators.model import Place, Written
from penstock.operators.state import Given
from penstock.operators.tc_tree import FILTERS
from test_config_from import SONIC, every_field, states

RATE = Given(rate="10 Mbit/s")
#: Queue discipline → the form in which what is read of it is written again.
WRITTEN = {"red": "red", "gred": "gred", "choke": "choke", "codel": "codel", "fq_codel": "fq_codel", "pie": "pie"}
WRITTEN |= {"dualpi2": "dualpi2", "sfq": "sfq", "sfb": "sfb", "cake": "cake", "pfifo": "pfifo", "bfifo": "pfifo"}


def made_of(state: Any, from_: str = "tc", given: Given = RATE) -> ps.Scenario:
    return ps.Scenario.from_toml(work.read(json.dumps(state), from_, given, "state").text)


def against(state: Any, scenario: ps.Scenario, place: Place | None = None, given: Given = RATE) -> list[Change]:
    text = state if isinstance(state, str) else json.dumps(state)
    return work.difference(text, "tc", given, scenario, place or Place(), "state")


@pytest.mark.parametrize("kind", WRITTEN)
def test_what_is_read_and_written_again_changes_nothing(kind: str) -> None:
    """Where nothing was lost; in JSON and as text alike."""
    options = dict(tc_states.OPTIONS[kind])
    if kind == "cake":
        options["raw"] = True  # what is written has neither overhead nor cells
    state = tc_states.state(kind, options)
    place = Place(variant=WRITTEN[kind])
    assert changes.text(against(state, made_of(state), place)) == ""
    assert changes.text(against(tc_states.text(state), made_of(state), place)) == ""


@pytest.mark.parametrize(("where", "kind", "name"), every_field())
def test_any_field_that_changes_shows(where: str, kind: str, name: str) -> None:
    """The box has another value of one field than what would be pasted, whatever a scenario carries."""
    base, changed, _ = states(where, kind, name)
    for state in (base, changed):
        if kind in WRITTEN:  # another number than the line's, so that it makes a new one
            state[0]["handle"] = "8001:"
    scenario = made_of(base)
    place = Place(variant=WRITTEN.get(kind))
    before, after = (changes.text(against(state, scenario, place)) for state in (base, changed))
    assert before != after
    assert name in after or name in before


@pytest.mark.parametrize("kind", [kind for kind in fields.QDISCS if fields.QDISCS[kind].above and kind not in FILTERS])
def test_a_tree_that_goes_is_told(kind: str) -> None:
    state = tc_states.state(kind)
    told = changes.text(against(state, made_of(state)))
    assert f"eth0 root {kind}: goes" in told
    assert "eth0 1:12 fq_codel: goes: ce_threshold 3ms\n" in told
    assert "eth0 root fq_codel: comes: ce_threshold 3ms\n" in told


def test_what_is_pasted_over_the_same_kind_keeps_what_it_does_not_say() -> None:
    """`tc qdisc replace` of the same kind and number is a change; after `del`, and over another number, it is not."""

    def written(lines: str) -> Callable[[Place], Written]:
        return lambda place: Written(text=lines, values=(), aqm={}, buffer="1 packets")

    def told(lines: str, handle: str) -> str:
        options = tc_states.OPTIONS["cake"] | {"overhead": 44, "mpu": 84}
        state = [tc_states.state("cake", options)[0] | {"handle": handle}]
        return changes.text(tc_after.changes(state, Given(), written(lines), Place()))

    line = "tc qdisc replace dev eth0 root handle 1: cake bandwidth 10mbit besteffort flows memlimit 4193280 noatm"
    assert told(line, "1:") == ""
    assert "overhead: 44 → 0" in told(line, "8001:")
    assert "mpu: 84 → 0" in told(line.replace("handle 1: ", ""), "0:")
    assert told(line.replace("handle 1: ", ""), "8001:") == ""
    assert "overhead: 44 → 0" in told(f"tc qdisc del dev eth0 root 2>/dev/null || true\n{line}", "1:")
    assert "overhead: 44 → 0" in told(f"{line} raw", "1:")


def test_cells_that_go_are_told() -> None:
    """The line that would be pasted takes ATM's framing away, and with it a tenth of the rate's meaning."""
    options = tc_states.OPTIONS["cake"] | {"bandwidth": 99375, "diffserv": "diffserv3", "flowmode": "dual-dsthost"}
    state = tc_states.state("cake", options | {"ack-filter": "enabled", "atm": "atm", "overhead": -4})
    told = changes.text(against(state, made_of(state, given=Given()), Place(variant="cake"), Given())).splitlines()
    assert told == [
        "eth0 root cake ack-filter: enabled → disabled",
        "eth0 root cake raw: off → on",
        "eth0 root cake atm: atm → noatm",
        "eth0 root cake overhead: -4 → 0",
    ]


def test_a_shaper_reads_as_it_is_written() -> None:
    state = tc_states.state("tbf")
    leaf = {"kind": "red", "handle": "10:", "dev": "eth0", "parent": "1:1", "options": tc_states.RED}
    both = [*state, leaf]
    told = changes.text(against(both, made_of(both, given=Given()), Place(shape=True), Given()))
    assert "red" not in told
    assert "goes" not in told
    assert all(" tbf " in each for each in told.splitlines())


def test_the_interface_is_the_states_own() -> None:
    state = [each | {"dev": "wan"} for each in tc_states.state("pfifo")]
    assert against(state, made_of(state)) == []
    two = [*state, *tc_states.state("pfifo")]
    with pytest.raises(ps.ScenarioError, match="has 2 interfaces: eth0, wan; choose one with --dev"):
        against(two, made_of(state))
    assert against(two, made_of(state), given=Given(dev="wan")) == []


# ------------------------------------------------------------------------- SONiC


def sonic_changes(document: Any, scenario: ps.Scenario) -> str:
    found = work.difference(json.dumps(document), "sonic", Given(dev="Ethernet0"), scenario, Place(), "state")
    return changes.text(found)


def bound() -> dict[str, Any]:
    return {**SONIC, "QUEUE": {"Ethernet0|0": {"wred_profile": "AZURE"}}}


def test_a_profile_that_is_there_changes_nothing() -> None:
    scenario = made_of(bound(), "sonic", Given())
    assert sonic_changes(bound(), scenario) == ""
    old = {**bound(), "QUEUE": {"Ethernet0|0": {"wred_profile": "[WRED_PROFILE|AZURE]"}}}
    assert sonic_changes(old, scenario) == ""


@pytest.mark.parametrize("name", SONIC["WRED_PROFILE"]["AZURE"])
def test_any_field_of_a_profile_that_changes_shows(name: str) -> None:
    scenario = made_of(bound(), "sonic", Given())
    document = json.loads(json.dumps(bound()))
    was = document["WRED_PROFILE"]["AZURE"][name]
    document["WRED_PROFILE"]["AZURE"][name] = "9"
    assert sonic_changes(document, scenario) == f"WRED_PROFILE AZURE {name}: 9 → {was}\n"
    del document["WRED_PROFILE"]["AZURE"][name]
    assert sonic_changes(document, scenario) == f"WRED_PROFILE AZURE {name}: none → {was}\n"


def test_a_queue_that_is_bound_anew_shows() -> None:
    scenario = made_of(bound(), "sonic", Given())
    told = sonic_changes({**bound(), "QUEUE": {"Ethernet0|0": {"wred_profile": "OTHER"}}}, scenario)
    assert told == "QUEUE Ethernet0|0 wred_profile: OTHER → AZURE\n"
    assert "wred_profile: none → AZURE" in sonic_changes(SONIC, scenario)


# ------------------------------------------------------------------------- the command


def test_changes_are_one_document(penstock: Command, tmp_path: Any) -> None:
    state = tc_states.state("red", tc_states.RED | {"nodrop": True})
    (tmp_path / "state.json").write_text(json.dumps(state), encoding="utf-8")
    (tmp_path / "made.toml").write_text(work.read(json.dumps(state), "tc", RATE).text, encoding="utf-8")
    line = ["config", "made.toml", "--to", "tc", "--against", "state.json"]
    done = penstock(*line, "--json")
    document = json.loads(done.stdout)
    assert document["changes"] == [{"where": "eth0 root red", "field": "nodrop", "now": True, "after": None}]
    assert penstock(*line).stdout == "eth0 root red nodrop: on → off\n"
