"""The kernel's program in fixed point, on this machine, beside the crate's own objects: the same arrivals."""

from __future__ import annotations

import ctypes
import json
import math
import random
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any

import pytest

import penstock as ps
from conftest import ROOT, SMALL
from penstock.kernel import state, words
from penstock.kernel.device import Loaded
from penstock.kernel.words import KINDS, told
from penstock.model.discipline import discipline
from penstock.operators.model import RefusedError

HEADER = (ROOT / "bpf" / "src" / "aqm.h").read_text()
CC = shutil.which("cc")
Words = ctypes.c_uint64
ECN = {"Not-ECT": 0, "ECT(1)": 1, "ECT(0)": 2, "CE": 3}

compiled = pytest.mark.skipif(CC is None, reason="no C compiler")


def fields(macro: str) -> list[str]:
    """The names that a macro of the header declares."""
    body = re.search(rf"#define {macro}\(X\)(.*?[^\\])\n(?!\s)", HEADER, re.DOTALL)
    assert body
    colour = re.search(r"#define COLOUR\(X, i\)(.*)", HEADER)
    assert colour
    text = re.sub(r"COLOUR\(X, (\d)\)", lambda found: colour.group(1).replace("##i", found.group(1)), body.group(1))
    return re.findall(r"X\((\w+)\)", text)


PARAMS, STATE = fields("PARAMS"), fields("STATE")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    built = tmp_path_factory.mktemp("aqm") / "aqm.so"
    line = [str(CC), "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-shared", "-fPIC"]
    source = ROOT / "tests" / "helpers" / "aqm_host.c"
    subprocess.run([*line, f"-I{ROOT}/bpf/src", "-o", str(built), str(source)], check=True)
    library = ctypes.CDLL(str(built))
    for name in ("exp2_neg_", "log2_neg_", "ratio_", "mul_"):
        getattr(library, name).restype = Words
        getattr(library, name).argtypes = [Words] * (2 if name in ("ratio_", "mul_") else 1)
    return library


class Replayed:
    """The program on the arrivals that another run has had."""

    def __init__(self, library: ctypes.CDLL, scenario: ps.Scenario) -> None:
        library.forget()
        self.library, self.told = library, told(scenario)
        assert set(self.told.words) <= set(PARAMS)
        self.words = (Words * len(PARAMS))(*(self.told.words.get(name, 0) for name in PARAMS))
        self.state = (Words * len(STATE))()
        self.chance = random.Random(1)
        self.verdicts: list[int] = []

    def arrives(self, at_ns: int, bytes_: int, ecn: int, enters: int, dscp: int = 0) -> None:
        draws = (ctypes.c_uint32 * 3)(*(self.chance.getrandbits(32) for _ in range(3)))
        at = Words(at_ns + 1)  # a time of 0 is none
        self.verdicts.append(self.library.replay(self.words, self.state, at, bytes_, ecn, dscp, draws, enters))

    def values(self, now_ns: int) -> dict[str, Any]:
        self.library.catch_up(self.words, self.state, Words(now_ns))  # what comes at that time has not come yet
        by_name = dict(zip(STATE, self.state, strict=True))
        of_words = dict(zip(PARAMS, self.words, strict=True))
        return dict(state.read(by_name, of_words, now_ns))


def test_words_and_state_are_those_of_the_header() -> None:
    enum = re.search(r"enum kind \{(.*?)\}", HEADER)
    assert enum
    assert [each.strip() for each in enum.group(1).split(",")] == [kind.upper().replace("-", "_") for kind in KINDS]
    slots = re.search(r"SLOTS = (\d+)", HEADER)
    assert slots
    assert int(slots.group(1)) == words.SLOTS
    zero = dict.fromkeys(STATE, 0)
    for number, kind in enumerate(KINDS):
        named = state.read(zero, {**dict.fromkeys(PARAMS, 1), "kind": number}, 1)
        assert set(state.variables()[kind]) <= set(named)


@compiled
def test_arithmetic_is_as_exact_as_it_says(program: ctypes.CDLL) -> None:
    chance = random.Random(1)
    for _ in range(2000):
        x = 40 * chance.random()
        assert abs(program.exp2_neg_(int(math.ldexp(x, 58))) / 2**32 - 2**-x) < 2**-30
        y = int(2 ** (32 - 31 * chance.random()))
        assert abs(program.log2_neg_(y) / 2**32 + math.log2(y / 2**32)) < 2**-28
        a, b = int(2 ** (60 * chance.random())), int(2 ** (34 * chance.random()))
        if a * b >> 32 < 2**64:
            assert program.mul_(a, b) == a * b >> 32
        if a < b << 20:
            assert abs(program.ratio_(a, b) / 2**32 - a / b) < 2**-31 * max(1, a / b) + 2**-30


LINK = ps.Link(rate="10 Mbit/s", delay="10 ms", buffer="100 packets")
CASES = [
    "red",
    "red:w_q=0.02,gate=wait,min_th=3,max_th=9,max_p=0.3,gentle=false,forced=mark",
    "red:unit=bytes,byte_mode=true,w_q=0.01,idle=floor,mean_packet=997 B",
    "red:w_q=0.02,gate=drawn,min_th=3",
    "mecn:w_q=0.01,min_th=4,gate=drawn,byte_mode=true",
    "ared:interval=100 ms,w_q=0.01",
    "ared:interval=100 ms,w_q=0.01,adapt_on=arrival,gentle_tracks_max_p=false",
    "mecn:w_q=0.01,min_th=4",
    "amecn:w_q=0.01,interval=200 ms",
    "amecn:w_q=0.01,interval=200 ms,adapt=p1,deadband=false,beta_floor=0.83",
    "rared:w_q=0.05",
    "rared:w_q=0.05,base=ared,climb=ramp,slope_of=instantaneous",
    "nred:w_q=0.02",
    "nred:w_q=0.02,n_0=2.5,n_step=0.3",
    "red-at:w_q=0.02",
    "red-at:w_q=0.02,reset=false,region_a=min_minus",
    "wred:w_q=0.02",
    "step:threshold=10",
    "step:threshold=10,kmax=30,pmax=0.37,spread=recur",
    "step:sojourn=5 ms",
    "step:of=phantom,threshold=6011 B",
    "pi:a=1e-3,b=0.9e-3,q_ref=20",
    "pi2:decides=arrival",
    "pi2:decides=arrival,identify=any-ect",
    "pie:delay_from=timestamps",
    "avq:virtual_buffer=31234 B",
]
#: Kinds in which no chance is: each verdict is to be the same.
CERTAIN = ("step", "avq")
#: Of fixed point: what a variable may be off by, beside itself and at all.
RELATIVE, ABSOLUTE = 2e-5, 2e-6


@dataclass
class Seen:
    """A run of the simulator: the discipline's variables between steps, and every packet that came."""

    scenario: ps.Scenario
    variables: list[tuple[int, dict[str, float]]]
    packets: list[tuple[int, int, int, str]]  # ns, bytes, ECN as it came, what became of it


def simulated(named: str) -> Seen:
    scenario = ps.Scenario(
        duration="1.2 s",
        topology=ps.Dumbbell(bottleneck=LINK),
        aqm=ps.Red(),
        traffic=[
            ps.Ftp(flows=5, tcp="sack", ecn="classic", segment="1460 B"),
            ps.OnOff(rate="6 Mbit/s", packet="500 B", on={"constant": "300 ms"}, off={"constant": "700 ms"}),
        ],
    )
    scenario = scenario.with_aqm(discipline(named, "test")).set("aqm.ecn", True)
    session = ps.Session(scenario, 3, events=True)
    variables = []
    while not session.ended:
        session.advance("47 ms")
        variables.append((round(session.now_s * 1e9), session.variables()))
    packets: list[tuple[int, int, int, str]] = []
    places: dict[int, int] = {}
    table = session.result().series("events")
    columns = (table[key].to_pylist() for key in ("t_s", "event", "bytes", "ecn", "packet"))
    for at_s, event, size, ecn, number in zip(*columns, strict=True):
        if event == "mark_head":  # decided where it leaves
            packets[places[number]] = (*packets[places[number]][:3], "mark")
        elif event != "dequeue":
            places[number] = len(packets)
            packets.append((round(at_s * 1e9), size, ECN["ECT(0)" if event == "mark" else ecn], event))
    return Seen(scenario, variables, packets)


@compiled
@pytest.mark.parametrize("named", CASES)
def test_fixed_point_is_the_crates_discipline(program: ctypes.CDLL, named: str) -> None:
    """The same packets enter; the discipline's variables are the same then, and as many are signalled."""
    seen = simulated(named)
    ours = Replayed(program, seen.scenario)
    kind, packets = named.split(":")[0], iter(seen.packets)
    packet = next(packets, None)
    for now, variables in seen.variables:
        while packet is not None and packet[0] < now:
            ours.arrives(*packet[:3], enters=not packet[3].startswith("drop"))
            packet = next(packets, None)
        values = ours.values(now)
        variables.pop("climb_marks", None)  # chance has its part in them
        for name, wanted in variables.items():
            assert abs(values[name] - wanted) <= RELATIVE * abs(wanted) + ABSOLUTE, (now, name, values[name], wanted)
    signals = [fate in ("mark", "drop_early", "drop_forced") for *_, fate in seen.packets]
    decided = [verdict != 0 for verdict in ours.verdicts]
    assert len(signals) == len(decided) > 700
    if kind in CERTAIN:
        assert decided == signals
    else:
        assert sum(signals) > 3
        assert abs(sum(decided) - sum(signals)) < 4 * math.sqrt(2 * sum(signals))


def test_what_cannot_be_is_refused_with_the_reason() -> None:
    link = ps.Scenario(topology=ps.Dumbbell(bottleneck=LINK), aqm=ps.Red(), traffic=ps.Ftp())
    for named, why in [
        ("codel", "where packets leave"),
        ("fq-codel", "holds no packet"),
        ("droptail", "device's own queue"),
        ("blue", "no form there"),
        ("wred:average=own", "one average"),
        ("pie:variant=linux", "sch_pie"),
        ("nred:n_step=timed", "at crossings alone"),
        ("pi:a=1e-5,b=2e-5", "no b above a"),
        ("step:sojourn=1 ms,few=2", "not known when it arrives"),
    ]:
        with pytest.raises(RefusedError, match=why):
            told(link.with_aqm(discipline(named, "test")))
    with pytest.raises(RefusedError, match="room for 16384"):
        told(link.set("topology.bottleneck.buffer", "20000 packets"))


def test_the_error_of_each_number_is_small() -> None:
    link = ps.Scenario(topology=ps.Dumbbell(bottleneck=LINK), aqm=ps.Red(), traffic=ps.Ftp())
    for rate in ("1 Mbit/s", "100 Mbit/s", "1 Gbit/s"):
        for named in CASES:
            found = told(link.set("topology.bottleneck.rate", rate).with_aqm(discipline(named, "test")))
            assert max(each.error for each in found.values) < 1e-4, (rate, named)


def test_a_document_has_the_version_and_null_for_what_is_no_number() -> None:
    scenario = ps.Scenario.from_toml(SMALL).set("aqm.ecn", value=False)
    loaded = Loaded("eth0", scenario, told(scenario), {"avg": math.inf})
    found = json.loads(loaded.json)
    assert (found["version"], found["values"]) == (ps.__version__, {"avg": None})
