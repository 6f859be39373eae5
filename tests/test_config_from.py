"""`penstock config --from`: each field of each state is carried, or named with what it costs, or counts
something.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as ps
from conftest import ROOT
from helpers import tc_states
from penstock.operators import config as work
from penstock.operators import tc_fields as fields
from penstock.operators import tc_read
from penstock.operators.model import Place
from penstock.operators.state import Given, Reading
from penstock.operators.tc_tree import FILTERS

PATIENT = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
#: What a kernel said, in JSON and as text; tests/test_config_kernel.py asks it again.
KEPT = json.loads((ROOT / "tests" / "tc_states.json").read_text(encoding="utf-8"))
RATE = Given(rate="10 Mbit/s")
#: Kinds whose states are read, alone or above another.
READ = [kind for kind in fields.QDISCS if kind in tc_read.READ or fields.QDISCS[kind].above]


def reading(state: Any, given_: Given = RATE) -> Reading:
    return work.read(state if isinstance(state, str) else json.dumps(state), "tc", given_, "state")


def scenario(made: Reading) -> str:
    """The scenario alone, without what its comments say."""
    return re.sub(r"^#.*\n", "", made.text, flags=re.MULTILINE)


def every_field() -> list[tuple[str, str, str]]:
    """Table, queue discipline and field."""
    found = [("options", kind, name) for kind in READ for name in fields.QDISCS[kind].fields]
    found += [("vqs", "gred", name) for name in fields.VIRTUAL_QUEUE]
    found += [("stab", kind, name) for kind in ("fq_codel", "red") for name in fields.STAB]
    return found + [("outer", "fq_codel", name) for name in fields.OUTER]


def states(where: str, kind: str, name: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]], Any]:
    """A state, the same with another value of one field, and the value."""
    base = tc_states.state(kind)
    entry = next(each for each in base if each["kind"] == kind)
    if (where, name) == ("vqs", "ecn"):  # on where either says so
        entry["options"]["ecn"] = False
    changed = json.loads(json.dumps(base))
    into = next(each for each in changed if each["kind"] == kind)
    if where == "options":
        known, was = fields.QDISCS[kind].fields[name], entry["options"].get(name)
        value = tc_states.other(kind, name, known, was)
        into["options"][name] = value
        if name == "Plog":
            del into["options"]["probability"]
    elif where == "vqs":
        known, was = fields.VIRTUAL_QUEUE[name], entry["options"]["vqs"][0].get(name)
        value = tc_states.other(kind, name, known, was)
        into["options"]["vqs"][0][name] = value
        if name == "Plog":
            del into["options"]["vqs"][0]["probability"]
    else:
        known = (fields.STAB if where == "stab" else fields.OUTER)[name]
        value = tc_states.other(where, name, known, None)
        if where == "stab":
            into["stab"] = {name: value}
        else:
            into[name] = value
    return base, changed, value


@pytest.mark.parametrize(("where", "kind", "name"), every_field())
def test_no_field_is_ignored(where: str, kind: str, name: str) -> None:
    """A value of its own is carried into the scenario, or named with what it costs; in JSON and as text
    alike.
    """
    base, changed, _ = states(where, kind, name)
    given_ = Given() if (kind, name) == ("cake", "bandwidth") else RATE  # what the user says comes first
    before, after = reading(base, given_), reading(changed, given_)
    said = [each for each in after.fate.sentences() if each not in before.fate.sentences()]
    named = [each for each in said if re.search(rf"\b{re.escape(name)}\b", each)]
    differs = scenario(before) != scenario(after)
    gone = len(before.fate.sentences()) > len(after.fate.sentences())
    assert differs or named or gone, (said, after.text)
    from_text = reading(tc_states.text(changed), given_)
    assert scenario(from_text) == scenario(after)
    assert from_text.fate.sentences() == after.fate.sentences()


@pytest.mark.parametrize(("where", "kind", "name"), every_field())
def test_what_is_said_to_be_carried_is(where: str, kind: str, name: str) -> None:
    base, changed, _ = states(where, kind, name)
    before, after = reading(base), reading(changed)
    words = {each.field.split()[-1] for each in after.fate.carried if f" {kind} " in each.field}
    sentences = " ".join(after.fate.sentences())
    if name in words and name not in sentences:
        assert scenario(before) != scenario(after)


@pytest.mark.parametrize("kind", [kind for kind in fields.QDISCS if kind not in (*READ, "noqueue")])
def test_what_the_simulator_has_not_is_refused_by_name(kind: str) -> None:
    for state in (tc_states.state(kind), tc_states.text(tc_states.state(kind))):
        with pytest.raises(ps.ScenarioError, match=rf"it has: {kind}"):
            reading(state)


@pytest.mark.parametrize("kind", [kind for kind in READ if kind in tc_read.READ])
def test_statistics_change_nothing(kind: str) -> None:
    names = {*fields.STATISTICS[""], *fields.STATISTICS.get(kind, ())} - {"memory_limit"}
    options = dict(tc_states.OPTIONS[kind]) | dict.fromkeys(fields.OPTION_STATISTICS.get(kind, ()), 5)
    made = reading(tc_states.state(kind, options, **dict.fromkeys(sorted(names), 5)))
    before = reading(tc_states.state(kind))
    assert scenario(made) == scenario(before)
    assert made.fate.sentences() == before.fate.sentences()
    assert names <= set(made.fate.statistics)


@pytest.mark.parametrize("kind", [*READ])
def test_an_unknown_field_is_named(kind: str) -> None:
    options = {**tc_states.OPTIONS[kind], "frobnicate": 17}
    said = " ".join(reading(tc_states.state(kind, options)).fate.sentences())
    if kind not in FILTERS:
        assert "frobnicate 17" in said
        as_text = tc_states.text(tc_states.state(kind, options))
        assert "frobnicate 17" in " ".join(reading(as_text).fate.sentences())
        beside = reading(tc_states.state(kind, frobnicated=18)).fate.sentences()
        assert "frobnicated 18" in " ".join(beside)


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: " / ".join(kept["commands"])[:60])
def test_a_kernels_text_reads_as_its_json(kept: dict[str, Any]) -> None:
    """What a kernel with `tc` 6.1 printed; times of the text have three digits."""

    def outcome(state: Any) -> tuple[str, Any]:
        try:
            made = reading(state)
        except ps.ScenarioError as error:
            return str(error), None
        return scenario(made), [each for each in made.fate.sentences() if "peakrate" not in each]  # text alone has it

    said, sentences = outcome(kept["json"])
    text, from_text = outcome(kept["text"])
    numbers = re.compile(r"[0-9.]+")
    assert numbers.sub("#", text) == numbers.sub("#", said)
    assert [float(each) for each in numbers.findall(text) if each != "."] == pytest.approx(
        [float(each) for each in numbers.findall(said) if each != "."], rel=5e-3
    )
    if sentences is not None:
        kind = kept["json"][0]["kind"]
        assert kind == "netem" or from_text == sentences  # netem's options are tables in JSON
        assert not [each for each in sentences if "not known here" in each]


# ------------------------------------------------------------------------- the public faults


def test_nodrop_is_named_with_what_it_does() -> None:
    said = reading(tc_states.state("red", {**tc_states.RED, "nodrop": True})).fate.sentences()
    assert len(said) == 1
    assert said[0].startswith("red nodrop: the box lets packets pass that may not be marked")


def test_memory_is_carried_with_what_the_kernel_books_of_a_packet() -> None:
    options = {**tc_states.OPTIONS["fq_codel"], "memory_limit": 4 << 20}
    made = ps.Scenario.from_toml(reading(tc_states.state("fq_codel", options)).text)
    keys = ("variant", "limit", "memory_limit", "packet_overhead")
    assert [made.resolved["aqm"][key] for key in keys] == ["linux", 10240, "4194304 B", "790 B"]
    again = work.write(made, "tc", Place())
    assert (again.readback["options"]["memory_limit"], again.lost) == (4 << 20, ())
    assert " memory_limit 4194304 " in again.text


def test_what_cake_does_becomes_cake() -> None:
    """Words of tc are the scenario's, too; a packet counts what the kernel books of it."""
    told = {"diffserv": "diffserv4", "flowmode": "dual-dsthost", "rtt": 30000, "memlimit": 4_194_304}
    options = {**tc_states.OPTIONS["cake"], "bandwidth": 99375, **told}
    made = reading(tc_states.state("cake", options), Given())
    resolved = ps.Scenario.from_toml(made.text).resolved
    aqm = {key: resolved["aqm"][key] for key in ("kind", "tins", "isolation", "rtt", "unlimited", "memory_limit")}
    assert aqm == {
        **{"kind": "cake", "tins": "diffserv4", "isolation": "dual-dsthost", "rtt": "30 ms", "unlimited": False},
        "memory_limit": "4194304 B",
    }
    assert (resolved["aqm"]["packet_overhead"], resolved["topology"]["bottleneck"]["rate"]) == ("790 B", "795 kbit/s")
    again = work.write(ps.Scenario.from_toml(made.text), "tc", Place()).readback["options"]
    assert {key: again[key] for key in told} == told
    said = " ".join(made.fate.notes)
    assert "`class`" in said
    assert "`destination_host`" in said


def test_cake_without_a_rate_takes_turns_by_rounds() -> None:
    options = {**tc_states.OPTIONS["cake"], "bandwidth": "unlimited"}
    made = reading(tc_states.state("cake", options), Given(rate="10 Mbit/s"))
    scenario = ps.Scenario.from_toml(made.text)
    assert scenario.resolved["aqm"]["unlimited"] is True
    written = work.write(scenario, "tc", Place(shape=True))
    assert " tbf rate 10000000bit " in written.text
    assert " cake unlimited rtt " in written.text


def test_cells_cost_what_they_cost() -> None:
    """RFC 2684 over ATM: 1496 B are 32 cells of 53 B."""
    options = {**tc_states.OPTIONS["cake"], "bandwidth": 99375, "atm": "atm", "overhead": -4}
    said = " ".join(reading(tc_states.state("cake", options), Given()).fate.sentences())
    assert "cake atm atm, overhead -4: a packet of 1500 B takes 1696 B of the rate" in said
    assert "--rate '703.125 kbit/s'" in said


def classes(*targets: int, default: str = "0x12") -> list[dict[str, Any]]:
    """Three queues of fq_codel below htb, with these targets."""
    made = tc_states.state("htb", {"r2q": 10, "default": default})[:1]
    for number, target in enumerate(targets, 1):
        options = {**tc_states.OPTIONS["fq_codel"], "target": target}
        parent = f"1:1{number}"
        made.append({"kind": "fq_codel", "handle": f"{number}1:", "dev": "eth0", "parent": parent, "options": options})
    return made


def test_leaves_that_differ_are_named_and_one_can_be_chosen() -> None:
    state = classes(39999, 13999, 79999)
    with pytest.raises(ps.ScenarioError) as caught:
        reading(state)
    assert (
        "eth0 has 3 queues that differ: fq_codel at 1:11 (target 40ms), fq_codel at 1:12 (target 14ms, the default "
        "class), fq_codel at 1:13 (target 80ms); choose one with --parent, as in --parent 1:12" in str(caught.value)
    )
    made = reading(state, Given(rate="10 Mbit/s", parent="1:12"))
    assert 'target = "14000 us"' in made.text
    said = " ".join(made.fate.sentences())
    assert "htb at root: it shares the rate among classes" in said
    assert "fq_codel at 1:11, at 1:13: another queue" in said
    with pytest.raises(ps.ScenarioError, match=r"--parent 1:14: no queue stands there; there are: fq_codel at 1:11"):
        reading(state, Given(rate="10 Mbit/s", parent="1:14"))


def test_leaves_that_are_alike_are_one() -> None:
    made = reading(classes(4999, 4999, 4999))
    assert made.fate.notes == ["2 more queues of the interface are just like it"]
    with pytest.raises(ps.ScenarioError, match=r"--rate '50 Mbit/s'; `tc class show` says the classes'"):
        reading(classes(4999), Given())


def test_queues_of_the_hardware_are_one() -> None:
    queue = {"kind": "fq_codel", "handle": "0:", "dev": "eth0", "options": tc_states.OPTIONS["fq_codel"]}
    state = [{"kind": "mq", "handle": "0:", "dev": "eth0", "root": True, "options": {}}]
    state += [{**queue, "parent": f":{number}"} for number in (1, 2, 3)]
    made = reading(state)
    assert [each.split(":")[0] for each in made.fate.sentences()] == ["mq at root"]
    state[-1] = {**state[-1], "options": {**tc_states.OPTIONS["fq_codel"], "limit": 7}}
    with pytest.raises(ps.ScenarioError, match=r"fq_codel at :1 \(limit 10240\).*--parent :1"):
        reading(state)


def test_no_access_link_can_hide_the_queue() -> None:
    """One sender, a plain queue of 100 packets at 10 Mbit/s: it stands at the discipline."""
    made = ps.Scenario.from_toml(reading(tc_states.state("pfifo", {"limit": 100})).text)
    assert made.resolved["topology"]["access"] is None
    one = made.set_all({"traffic.0.flows": 1, "duration": "20 s", "measure.from": "5 s"})
    assert (ps.run(one).runs[0].metrics["delay_p99_s"] or 0) > 0.1


def test_the_comment_on_the_round_trip_stands_at_the_delay() -> None:
    line = next(each for each in reading(tc_states.state("pfifo")).text.splitlines() if "--rtt" in each)
    assert line.startswith('delay = "20000 us"')
    assert "--rtt" not in reading(tc_states.state("pfifo"), Given(rate="1 Mbit/s", rtt="30 ms")).text


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        (Given(rate="10"), '--rate "10": needs a unit'),
        (Given(rate="fast"), '--rate "fast": '),
        (Given(rate="1 Mbit/s", rtt="7"), '--rtt "7": needs a unit'),
        (Given(rate="1 Mbit/s", buffer="many"), '--buffer "many": '),
        (Given(dev="eht0"), "nearest: eth0"),
    ],
)
def test_a_wrong_option_is_blamed_itself(given_: Given, said: str) -> None:
    with pytest.raises(ps.ScenarioError) as caught:
        reading(tc_states.state("pfifo"), given_)
    assert said in str(caught.value)
    assert "<text>" not in str(caught.value)


def test_a_name_stays_within_its_comment() -> None:
    state = json.loads(json.dumps(tc_states.state("pfifo")))
    state[0] |= {"dev": "eth0\n[aqm]\nkind = 'red'", "more\n[aqm]": "x\n\x1b[31m"}
    made = reading(state)
    assert ps.Scenario.from_toml(made.text).resolved["aqm"]["kind"] == "droptail"
    assert all(each.isprintable() for each in made.fate.sentences())


# ------------------------------------------------------------------------- SONiC

COLOURS = {
    key.format(colour): value
    for colour in ("green", "yellow", "red")
    for key, value in {
        "wred_{}_enable": "true",
        "{}_min_threshold": "1048576",
        "{}_max_threshold": "2097152",
        "{}_drop_probability": "5",
    }.items()
}
SONIC: dict[str, Any] = {
    "PORT": {"Ethernet0": {"speed": "25000"}, "Ethernet4": {"speed": "100000"}},
    "QUEUE": {"Ethernet0|3": {"wred_profile": "AZURE", "scheduler": "scheduler.1"}},
    "WRED_PROFILE": {"AZURE": {"ecn": "ecn_all", **COLOURS}},
}


def sonic(change: dict[str, Any], given_: Given | None = None, **tables: Any) -> Reading:
    document = {**SONIC, **tables, "WRED_PROFILE": {"AZURE": {**SONIC["WRED_PROFILE"]["AZURE"], **change}}}
    return work.read(json.dumps(document), "sonic", given_ or Given(), "state")


@pytest.mark.parametrize("name", ["ecn", *COLOURS])
def test_no_field_of_a_profile_is_ignored(name: str) -> None:
    other = {"ecn": "ecn_green", "true": "false", "1048576": "1000000", "2097152": "2000000", "5": "7"}
    value = other.get(name) or other[COLOURS[name]]
    if name == "wred_green_enable":
        with pytest.raises(ps.ScenarioError, match="wred_green_enable is not true"):
            sonic({name: value})
        return
    made = sonic({name: value})
    named = [each for each in made.fate.sentences() if f"{name} {value}" in each]
    assert named or scenario(made) != scenario(sonic({}))


def test_what_binds_a_profile_is_named_and_chooses_the_port() -> None:
    made = sonic({})
    assert 'rate = "25000000000 bit/s"' in made.text
    assert any("QUEUE Ethernet0|3 scheduler scheduler.1" in each for each in made.fate.sentences())


def test_ports_of_mixed_speed_ask_for_one() -> None:
    with pytest.raises(
        ps.ScenarioError, match=r"Ethernet0 has 25 Gbit/s, Ethernet4 has 100 Gbit/s; choose one with --dev"
    ):
        sonic({}, QUEUE={})
    assert 'rate = "100000000000 bit/s"' in sonic({}, Given(dev="Ethernet4"), QUEUE={}).text
    with pytest.raises(ps.ScenarioError, match="--dev Ethernet5: no such port; nearest: Ethernet"):
        sonic({}, Given(dev="Ethernet5"))


def test_space_around_a_number_is_none() -> None:
    assert 'min_th = "166912 B"' in sonic({"green_min_threshold": " 166912"}).text
    with pytest.raises(ps.ScenarioError, match='green_min_threshold = "166 912": a whole number'):
        sonic({"green_min_threshold": "166 912"})


# ------------------------------------------------------------------------- the text


def test_a_pasted_session_is_read() -> None:
    text = "root@OpenWrt:~# tc -s -d qdisc show\n" + tc_states.text(tc_states.state("pie")) + "root@OpenWrt:~# tc -V\n"
    made = reading(text)
    assert made.fate.sentences() == []
    assert "tupdate" in made.fate.notes[0]
    assert "from text" in made.fate.notes[1]


def one_message(text: str) -> None:
    """Reads a text; what goes wrong is one line."""
    said = ""
    try:
        reading(text)
    except ps.Error as error:
        said = str(error)
    assert len(said.splitlines()) <= 1


@settings(PATIENT, max_examples=300)
@given(data=st.data(), kept=st.sampled_from(KEPT))
def test_a_broken_text_gives_a_scenario_or_one_message(data: st.DataObject, kept: dict[str, Any]) -> None:
    """Words of a real text are dropped, doubled, or replaced."""
    words = re.split(r"(\s+)", kept["text"])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(words) - 1))
        words[place : place + 1] = data.draw(
            st.sampled_from(
                [[], [words[place]] * 2, ["-1"], ["9" * 400], ["1e999"], ["p"], ["\n"], ["qdisc"], ["10Kb"]]
            )
            | st.text(max_size=6).map(lambda word: [word])
        )
    broken = "".join(words)
    one_message(broken)


@settings(PATIENT, max_examples=200)
@given(lines=st.lists(st.text(max_size=30) | st.just("qdisc red 1: root limit 1b"), max_size=5))
def test_any_text_gives_a_scenario_or_one_message(lines: list[str]) -> None:
    one_message("qdisc " + "\n".join(lines))


# ------------------------------------------------------------------------- the command


def piped(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command with a standard input."""
    line = [sys.executable, "-m", "penstock", *arguments]
    return subprocess.run(line, input=text, capture_output=True, text=True, encoding="utf-8", timeout=120)


def test_the_standard_input_is_read_and_losses_are_told() -> None:
    state = tc_states.text(tc_states.state("red", {**tc_states.RED, "nodrop": True}))
    done = piped(state, "config", "--from", "tc", "-", "--rate", "10 Mbit/s")
    assert done.returncode == 0
    assert "# Lost: red nodrop: the box lets" in done.stdout
    assert done.stderr.startswith(" Lost: red nodrop: the box lets packets pass")
    wrong = piped("nothing", "config", "--from", "tc", "-")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "standard input: is not JSON" in wrong.stderr
    assert "standard input: is empty" in piped("", "config", "--from", "tc", "-").stderr


def test_json_is_one_document() -> None:
    state = tc_states.text(tc_states.state("red", {**tc_states.RED, "nodrop": True, "frob": 3}))
    done = piped(state, "config", "--from", "tc", "-", "--rate", "10 Mbit/s", "--json")
    document = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(document) == {"version", "platform", "text", "carried", "lost", "statistics", "notes"}
    assert ps.Scenario.from_toml(document["text"]).resolved["aqm"]["kind"] == "red"
    assert [each["field"] for each in document["lost"]] == ["eth0 root red nodrop", "eth0 root red frob"]
    assert {"field": "eth0 root red limit", "value": 300000, "to": "topology.bottleneck.buffer"} in document["carried"]


@pytest.mark.parametrize(
    ("told", "keys"),
    [
        ({"atm": "atm", "overhead": 40}, {"overhead": "40 B", "framing": "atm"}),
        ({"atm": "ptm", "overhead": 30}, {"overhead": "30 B", "framing": "ptm"}),
        ({"atm": "noatm", "overhead": 18, "mpu": 64}, {"overhead": "18 B", "mpu": "64 B"}),
        ({"raw": True}, {"overhead": "14 B"}),
    ],
)
def test_what_a_rate_counts_becomes_the_links(told: dict[str, Any], keys: dict[str, str]) -> None:
    """CAKE's own words, those of a shaper above a queue, and what is written of them again."""
    options = {**tc_states.OPTIONS["cake"], "bandwidth": 1250000, **told}
    made = reading(tc_states.state("cake", options), Given())
    link = ps.Scenario.from_toml(made.text).resolved["topology"]["bottleneck"]
    assert {key: link[key] for key in ("overhead", "mpu", "framing") if key in link} == keys
    again = work.write(ps.Scenario.from_toml(made.text), "tc", Place(variant="cake")).readback["options"]
    assert {key: again.get(key) for key in told} == told
    header = int(keys["overhead"].split()[0]) - 14
    if "ptm" in keys.values():
        return  # tbf has none
    shaped = {**tc_states.OPTIONS["tbf"], "mpu": told.get("mpu", 0), "overhead": header}
    shaped["linklayer"] = keys.get("framing", "ethernet")
    made = reading(tc_states.state("tbf", shaped), Given())
    link = ps.Scenario.from_toml(made.text).resolved["topology"]["bottleneck"]
    assert {key: link[key] for key in ("overhead", "mpu", "framing") if key in link} == keys


def test_a_size_table_counts_where_something_is_shaped() -> None:
    table = {"linklayer": "atm", "overhead": 26, "mpu": 0}
    state = tc_states.state("tbf", {**tc_states.OPTIONS["tbf"], "overhead": 0, "linklayer": "ethernet"})
    state[0]["stab"] = table
    link = ps.Scenario.from_toml(reading(state, Given()).text).resolved["topology"]["bottleneck"]
    assert (link["overhead"], link["framing"]) == ("40 B", "atm")
    state = tc_states.state("fq_codel")
    state[0]["stab"] = table
    made = reading(state)
    assert "overhead" not in ps.Scenario.from_toml(made.text).resolved["topology"]["bottleneck"]
    assert any("stab" in each for each in made.fate.sentences())
