"""WRED by colour as a switch has it: each colour's numbers, and what it is refused."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from conftest import SCENARIOS
from helpers import tc_states
from penstock.operators import config as work
from penstock.operators import sonic, wanted
from penstock.operators.model import Place, RefusedError, Written
from penstock.operators.platforms import PLATFORMS
from penstock.operators.state import Given, Reading
from penstock.operators.tc_fields import VIRTUAL_QUEUE
from penstock.operators.tc_forms import Form

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


# ------------------------------------------------------------------------- gred


def lines(written: Written) -> list[str]:
    """What is said of gred, without its place, and what follows from the weight alone."""
    said = [each.partition(" gred ")[2] for each in written.text.splitlines()[1:]]
    return [re.sub(r" avpkt \d+ burst \d+ bandwidth \d+bit", "", each) for each in said]


def options(written: Written) -> dict[str, Any]:
    return dict(written.readback["options"])


def state(written: Written, **change: Any) -> str:
    return json.dumps([{"kind": "gred", "handle": "1:", "root": True, "options": options(written) | change}])


RATE = Given(rate="20 Mbit/s")
THREE = coloured(colour={"green": GREEN, "yellow": YELLOW, "red": RED}, gate="uniform", w_q=2.0**-9)


def test_each_colour_is_a_virtual_queue_of_its_drop_precedence() -> None:
    """One priority is one average, as Linux's WRED mode has it."""
    made = write(THREE, "tc")
    assert lines(made) == [
        "setup vqs 4 default 0 grio limit 300000",
        "vq 0 prio 8 limit 300000 min 90000 max 180000 probability 0.1",
        "vq 2 prio 8 limit 300000 min 60000 max 120000 probability 0.053",
        "vq 3 prio 8 limit 300000 min 20000 max 60000 probability 0.2",
    ]
    assert made.lost == ()
    assert {each["ewma"] for each in options(made)["vqs"]} == {9}
    assert made.aqm["average"] == "shared"
    assert made.aqm["colour"]["red"].keys() == {"drop_precedence", "min_th", "max_th", "max_p"}


@pytest.mark.parametrize(
    ("average", "ranks", "said"),
    [("own", (), ["", "", ""]), ("rio", (), ["prio 1 ", "prio 2 ", "prio 3 "]), ("rio", (7, 3, 9), [*"739"])],
)
def test_averages_are_grios_priorities(average: str, ranks: tuple[int, ...], said: list[str]) -> None:
    made = write(THREE.set("aqm.average", average), "tc")
    if ranks:
        ranked = {f"aqm.colour.{name}.rank": rank for name, rank in zip(("green", "yellow", "red"), ranks, strict=True)}
        made = write(THREE.set("aqm.average", average).set_all(ranked), "tc")
        said = [f"prio {each} " for each in said]
    setup, *queues = lines(made)
    assert (" grio " in setup) == (average == "rio")
    assert [re.findall(r"prio \d+ ", each) for each in queues] == [[each] if each else [] for each in said]
    again = ps.Scenario.from_toml(work.read(state(made), "tc", RATE).text)
    assert again.resolved["aqm"]["average"] == average
    assert options(write(again, "tc")) == options(made)


@pytest.mark.parametrize("average", ["shared", "own", "rio"])
def test_one_colour_needs_no_priority(average: str) -> None:
    made = write(coloured(colour={"all": {**GREEN, "rank": 3}}, average=average), "tc")
    assert ("grio" in made.text, "prio" in made.text) == (False, False)
    assert [each["prio"] for each in options(made)["vqs"]] == [8]  # as the kernel has it by itself


def test_virtual_queues_that_are_read_and_written_again_change_nothing() -> None:
    """In JSON and as text alike; and one that has another number shows."""
    for average in ("shared", "own", "rio"):
        made = write(THREE.set("aqm.average", average), "tc")
        (entry,) = json.loads(state(made))
        entry["dev"] = "eth0"
        for text in (json.dumps([entry]), tc_states.text([entry])):
            again = ps.Scenario.from_toml(work.read(text, "tc", RATE).text)
            assert work.difference(text, "tc", RATE, again, Place(), "state") == []
            wider = again.set("aqm.colour.vq3.max_th", "70 kB")
            (change,) = work.difference(text, "tc", RATE, wider, Place(), "state")
            assert (change.where, change.field) == ("eth0 root gred", "vq 3 max")


def test_two_of_one_rank_are_refused_where_ranks_count() -> None:
    same = THREE.set_all({"aqm.average": "rio", "aqm.colour.red.rank": 0})
    with pytest.raises(RefusedError, match="two have one rank"):
        write(same, "tc")


def test_what_gred_has_not_is_named() -> None:
    green = {**GREEN, "ecn_min_th": 10, "ecn_max_th": 20, "ecn_max_p": 0.5}
    made = write(coloured(colour={"green": green, "red": RED}, ecn=True, gentle=True), "tc")
    assert [each.partition(":")[0] for each in made.lost] == [
        *("gentle", "gate", "ecn_min_th, ecn_max_th, ecn_max_p of green"),
    ]
    assert any("tc_index" in each for each in made.notes)


def test_virtual_queues_are_numbered_by_what_tells_them_apart() -> None:
    by_class = {f"c{n}": {"dscp": 8 * n, "dscp_to": 8 * n + 7, **GREEN} for n in (1, 5)}
    made = options(write(coloured(colour={**by_class, "rest": GREEN}), "tc"))
    assert ([each["vq"] for each in made["vqs"]], made["dp_default"]) == ([0, 1, 5], 0)
    mixed = {"voice": {"dscp": 46, **GREEN}, "rest": GREEN, "red": RED}
    assert [each["vq"] for each in options(write(coloured(colour=mixed), "tc"))["vqs"]] == [0, 3, 4]
    many = {f"c{n}": {"dscp": 2 * n, **GREEN} for n in range(13)}
    with pytest.raises(RefusedError, match="14 colours; gred has 16 virtual queues"):
        write(coloured(colour={**many, "rest": GREEN}), "tc")


@pytest.mark.parametrize(
    ("numbers", "default", "claims"),
    [
        ((0, 2, 3), 0, {2: {"drop_precedence": 2}, 3: {"drop_precedence": 3}}),
        ((0, 1, 2), 1, {0: {"dscp": 0, "dscp_to": 7}, 2: {"dscp": 16, "dscp_to": 23}}),
        ((0, 9), 0, {9: {"dscp": 36, "dscp_to": 39}}),
    ],
)
def test_a_virtual_queues_number_says_whose_it_is(
    numbers: tuple[int, ...], default: int, claims: dict[int, dict[str, int]]
) -> None:
    told = options(write(THREE, "tc"))["vqs"]
    queues = [queue | {"vq": number} for number, queue in zip(numbers, told, strict=False)]
    made = work.read(state(write(THREE, "tc"), vqs=queues, dp_default=default), "tc", RATE)
    colours = ps.Scenario.from_toml(made.text).resolved["aqm"]["colour"]
    keys = ("dscp", "dscp_to", "drop_precedence")
    found = {name: {key: each[key] for key in keys if each[key] is not None} for name, each in colours.items()}
    assert found == {f"vq{number}": claims.get(number, {}) for number in numbers}
    assert any("filters, which are not in the state" in each for each in made.fate.notes)


def test_without_a_default_queue_the_rest_passes() -> None:
    queues = options(write(THREE, "tc"))["vqs"][1:]
    made = ps.Scenario.from_toml(work.read(state(write(THREE, "tc"), vqs=queues, dp_default=1), "tc", RATE).text)
    assert made.resolved["aqm"]["colour"]["rest"]["min_th"] == "300 kB"


@pytest.mark.parametrize("name", VIRTUAL_QUEUE)
def test_no_field_of_a_second_virtual_queue_is_ignored(name: str) -> None:
    written = write(THREE.set("aqm.average", "rio"), "tc")
    queues = json.loads(json.dumps(options(written)["vqs"]))
    was = queues[1].get(name)
    if VIRTUAL_QUEUE[name].form is Form.FLAG:
        queues[1][name] = not was
    else:
        queues[1][name] = 0.25 if name == "probability" else {"vq": 1, "Plog": 20}.get(name) or 3 * was // 4
    if name == "Plog":
        del queues[1]["probability"]
    before, after = (work.read(text, "tc", RATE) for text in (state(written), state(written, vqs=queues)))
    named = [each for each in after.fate.sentences() if re.search(rf"\bvq {name}\b", each)]
    assert named or before.text != after.text


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.data())
def test_any_virtual_queues_give_a_scenario_or_one_message(data: st.DataObject) -> None:
    told = options(write(THREE, "tc"))
    values = st.integers(-2, 20) | st.integers(0, 2**33) | st.booleans() | st.none() | st.floats() | st.just("3")
    queues = [dict(each) for each in told["vqs"]]
    for queue in queues:
        queue |= data.draw(st.dictionaries(st.sampled_from(sorted(queue)), values, max_size=2))
    change = data.draw(st.dictionaries(st.sampled_from(["dp_cnt", "dp_default", "grio", "limit", "ecn"]), values))
    said = ""
    try:
        work.read(state(write(THREE, "tc"), **{"vqs": queues, **change}), "tc", RATE)
    except ps.Error as error:
        said = str(error)
    assert len(said.splitlines()) <= 1


# ------------------------------------------------------------------------- routers and other switches

BY_DROP = coloured(colour={"green": GREEN, "yellow": YELLOW, "red": RED}, w_q=2.0**-9)


def test_cisco_has_lines_for_dscps_or_for_precedences() -> None:
    """5.3 % is 1/19, and thresholds are packets of 1500 B."""
    made = write(BY_DROP, "cisco-ios")
    said = re.findall(r"^  random-detect (.*)", made.text, re.MULTILINE)
    assert said[:2] == ["dscp-based", "exponential-weighting-constant 9"]
    numbers = dict(each.removeprefix("dscp ").split(" ", 1) for each in said[2:])
    assert list(numbers) == [str(dscp) for dscp in range(64)]
    assert {numbers[str(dscp)] for dscp in (12, 20, 28, 36)} == {"40 80 19"}
    assert {numbers[str(dscp)] for dscp in (14, 22, 30, 38)} == {"13 40 5"}
    assert {numbers[str(dscp)] for dscp in range(64) if dscp not in (12, 20, 28, 36, 14, 22, 30, 38)} == {"60 120 10"}
    assert made.lost == ()
    assert made.aqm["colour"]["yellow"] == {
        **{"drop_precedence": 2, "min_th": "40 packets", "max_th": "80 packets", "max_p": 1 / 19}
    }
    low = {"dscp": 8, "dscp_to": 15, **{key: value for key, value in RED.items() if key != "drop_precedence"}}
    by_class = {"low": low, "rest": GREEN}
    said = re.findall(r"^  random-detect (.*)", write(coloured(colour=by_class), "cisco-ios").text, re.MULTILINE)
    assert [each for each in said if "precedence" in each] == [
        *("precedence-based", "precedence 0 60 120 10", "precedence 1 13 40 5"),
        *(f"precedence {each} 60 120 10" for each in range(2, 8)),
    ]


def test_junos_has_a_profile_for_each_loss_priority() -> None:
    made = write(BY_DROP, "junos")
    assert re.findall(r"drop-profiles (\S+) interpolate (\S+) \[ (.*) \]", made.text) == [
        *(("wred-low", "fill-level", "0 30 60 61 100"), ("wred-low", "drop-probability", "0 0 10 100 100")),
        ("wred-medium-high", "fill-level", "0 20 40 41 100"),
        ("wred-medium-high", "drop-probability", "0 0 5 100 100"),
        *(("wred-high", "fill-level", "0 7 20 21 100"), ("wred-high", "drop-probability", "0 0 20 100 100")),
    ]
    assert re.findall(r"loss-priority (\S+) protocol any drop-profile (\S+)", made.text) == [
        ("low", "wred-low"),
        ("medium-high", "wred-medium-high"),
        ("high", "wred-high"),
    ]
    assert [each.partition(":")[0] for each in made.lost] == ["averaging"]


def test_a_second_ramp_of_junos_is_for_all_colours_or_for_none() -> None:
    """120 packets end at 60 % of a buffer of 200: no room up to twice that."""
    none = write(BY_DROP.set("aqm.gentle", True), "junos")
    assert ("gentle" in " ".join(none.lost), none.aqm["gentle"]) == (True, False)
    every = write(BY_DROP.set_all({"aqm.gentle": True, "topology.bottleneck.buffer": "400 packets"}), "junos")
    assert ("gentle" in " ".join(every.lost), every.aqm["gentle"]) == (False, True)


def test_eos_has_a_line_for_each_drop_precedence() -> None:
    made = write(BY_DROP, "eos")
    ends = re.findall(r"drop-precedence (\d) minimum-threshold (\d+) .* maximum-threshold (\d+) bytes (.*)", made.text)
    assert ends == [
        ("0", "90000", "180000", "drop-probability 10 weight 9"),
        ("1", "60000", "120000", "drop-probability 5 weight 9"),
        ("2", "20000", "60000", "drop-probability 20 weight 9"),
    ]
    marked = write(BY_DROP.set("aqm.ecn", True), "eos")
    assert (marked.text, [each.partition(":")[0] for each in marked.lost]) == (made.text, ["ecn"])


def test_vyos_runs_one_colour_and_says_so() -> None:
    voice = {"voice": {"dscp": 40, "dscp_to": 47, "min_th": 100, "max_th": 150}, "rest": GREEN}
    made = write(coloured(colour=voice), "vyos")
    lows = re.findall(r"precedence (\d) minimum-threshold (\d+)", made.text)
    assert lows == [(str(each), "100" if each == 5 else "60") for each in range(8)]
    assert made.aqm["kind"] == "red"
    assert [each for each in made.lost if each.startswith("colour: ") and each.endswith("which is rest's")]
    with pytest.raises(RefusedError, match="do not mark"):
        write(coloured(colour=voice, ecn=True), "vyos")


@pytest.mark.parametrize("to", ["cisco-ios", "junos", "eos"])
def test_what_they_have_not_is_named(to: str) -> None:
    green = {**GREEN, "ecn_min_th": 10, "ecn_max_th": 20, "ecn_max_p": 0.5}
    made = write(coloured(colour={"green": green, "red": RED}, average="rio", ecn=True), to)
    named = [each.partition(":")[0] for each in made.lost]
    assert "average = 'rio'" in named
    assert ("ecn" if to == "eos" else "ecn_min_th, ecn_max_th, ecn_max_p of green") in named


# ------------------------------------------------------------------------- SONiC, read


def read_profile(found: dict[str, str]) -> Reading:
    enabled = {f"wred_{colour}_enable": "true" for colour in sonic.COLOURS}
    return work.read(json.dumps({"WRED_PROFILE": {"P": enabled | found}}), "sonic", Given(rate="25 Gbit/s"))


def test_a_profile_is_read_by_colour_where_colours_differ() -> None:
    found = profile(write(coloured(colour={"green": GREEN, "yellow": YELLOW, "red": RED})))
    made = read_profile(found)
    assert made.fate.sentences() == []
    aqm = ps.Scenario.from_toml(made.text).resolved["aqm"]
    assert (aqm["kind"], aqm["average"], aqm["w_q"]) == ("wred", "shared", 1.0)
    assert aqm["colour"]["yellow"]["drop_precedence"] == 2
    assert aqm["colour"]["red"]["max_th"] == "60 kB"
    fields = {each.field.split()[-1]: each.to for each in made.fate.carried}
    assert fields["red_max_threshold"] == "aqm.colour.red.max_th"
    alike = read_profile(profile(write(coloured(colour={"rest": GREEN}))))
    assert ps.Scenario.from_toml(alike.text).resolved["aqm"]["kind"] == "red"


def test_a_colour_that_the_switch_lets_pass_is_one_without_a_ramp() -> None:
    found = profile(write(coloured(colour={"rest": GREEN})))
    read = read_profile(found | {"wred_red_enable": "false"})
    fields = {each.field.split()[-1]: each.to for each in read.fate.carried}
    assert (fields["red_min_threshold"], fields["wred_red_enable"]) == ("aqm.colour.red", "aqm.kind")
    made = ps.Scenario.from_toml(read.text)
    link, red = made.resolved["topology"]["bottleneck"], made.resolved["aqm"]["colour"]["red"]
    assert (link["buffer"], red["min_th"]) == ("720 kB", "720 kB")


def test_half_of_the_thresholds_for_marks_is_a_mistake() -> None:
    found = profile(write(coloured(colour={"rest": GREEN}, ecn=True)))
    with pytest.raises(ps.ScenarioError, match="has no ecn_green_max_threshold"):
        read_profile(found | {f"ecn_{colour}_min_threshold": "9" for colour in sonic.COLOURS})


def test_colours_that_are_marked_otherwise_are_named() -> None:
    found = profile(write(coloured(colour={"green": GREEN, "red": RED}, ecn=True, forced="mark")))
    made = read_profile(found | {"ecn": "ecn_green"})
    assert made.fate.sentences() == ["P ecn ecn_green: the scenario marks all colours, or none"]


ENDS = st.tuples(st.integers(1, 10**9), st.integers(1, 10**9), st.floats(1e-6, 1.0))


def table(ends: tuple[int, int, float], prefix: str = "") -> dict[str, Any]:
    low, more, most = ends
    return {f"{prefix}min_th": f"{low} B", f"{prefix}max_th": f"{low + more} B", f"{prefix}max_p": most}


def coloured_by(data: st.DataObject, ecn: bool, average: str) -> ps.Scenario:
    """Any colours by drop precedence."""
    colour: dict[str, Any] = {"rest": table(data.draw(ENDS))}
    for y in data.draw(st.sets(st.sampled_from([2, 3]))):
        colour[f"y{y}"] = {"drop_precedence": y, **table(data.draw(ENDS))}
        if data.draw(st.booleans()):
            colour[f"y{y}"] |= table(data.draw(ENDS), "ecn_")
    return coloured(colour=colour, ecn=ecn, average=average)


AVERAGES = st.sampled_from(["shared", "own", "rio"])


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.data(), st.booleans(), AVERAGES)
def test_any_colours_are_a_profile_and_a_scenario(data: st.DataObject, ecn: bool, average: str) -> None:
    asked = coloured_by(data, ecn, average)
    made = write(asked)
    found = profile(made)
    # What the box runs is written as it is, and asks for nothing that it has not; so is what is read of the
    # profile.
    for again in (write(wanted.rounded(asked, made)), write(ps.Scenario.from_toml(read_profile(found).text))):
        assert profile(again) == found
        assert again.lost == ()


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.data(), st.booleans(), AVERAGES, st.sampled_from(["cisco-ios", "eos"]))
def test_what_a_box_does_by_colour_is_written_as_it_is(data: st.DataObject, ecn: bool, average: str, to: str) -> None:
    asked = coloured_by(data, ecn, average)
    made = write(asked, to)
    again = write(wanted.rounded(asked, made), to)
    assert (again.text, again.lost) == (made.text, ())


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.data())
def test_any_profile_gives_a_scenario_or_one_message(data: st.DataObject) -> None:
    fields = profile(write(coloured(colour={"green": {**GREEN, "ecn_max_th": 90}, "red": RED}, ecn=True)))
    values = st.integers(-2, 2**65).map(str) | st.sampled_from(["true", "false", "ecn_red", "ecn_none", " 5", ""])
    names = st.sampled_from([*fields, *(f"wred_{colour}_enable" for colour in sonic.COLOURS)])
    changed = fields | data.draw(st.dictionaries(names, values, max_size=3))
    said = ""
    try:
        read_profile({key: value for key, value in changed.items() if value})
    except ps.Error as error:
        said = str(error)
    assert len(said.splitlines()) <= 1
