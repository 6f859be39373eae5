"""What `penstock config --to tc` writes, loaded into a real kernel: it reports what was
predicted.
"""

from __future__ import annotations

import functools
import json
import math
import random
import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import debian
import machine
import penstock as ps
import states
from conftest import SCENARIOS
from penstock.operators import tc, tc_read, vyos
from penstock.operators import tc_arithmetic as arithmetic
from penstock.operators.model import (
    Codel,
    Colour,
    Coloured,
    Discipline,
    Framing,
    Pie,
    Place,
    Ramp,
    RefusedError,
    Sfb,
    Sfq,
    Step,
    Tail,
    Wanted,
    Written,
)
from penstock.operators.tc_fields import OPTION_STATISTICS

CACHE = Path.home() / ".cache" / "penstock-oracle"
#: Random parameter sets, and how many of each qdisc.
COUNTS = {"red": 40, "step": 6, "gred": 8, "choke": 12, "codel": 8, "fq_codel": 10, "pie": 10, "cake": 8, "pfifo": 4}
COUNTS |= {"sfq": 16, "sfb": 8, "wred": 12}


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def ramp(rng: random.Random, kind: str, mean: int) -> Ramp:
    low = mean * log_uniform(rng, 1.2, 400)
    return Ramp(
        kind=kind,
        min_bytes=low,
        max_bytes=low * rng.uniform(1.2, 5),
        max_p=log_uniform(rng, 0.005, 1),
        w_q=log_uniform(rng, 2**-14, 1),
        gate=rng.choice(["uniform", "uniform", "geometric", "wait"]),
        gentle=rng.random() < 0.5,
        forced=rng.choice(["drop", "mark"]),
    )


def discipline(rng: random.Random, qdisc: str, mean: int) -> Discipline:
    if qdisc in ("red", "gred", "choke"):
        return ramp(rng, {"gred": "red"}.get(qdisc, qdisc), mean)
    if qdisc == "step":
        not_capable = rng.choice(["pass", "drop"])
        return Step(threshold_bytes=mean * log_uniform(rng, 2, 200), bytes_counted=True, not_capable=not_capable)
    if qdisc == "codel":
        return Codel(kind="codel", target_s=log_uniform(rng, 1e-4, 0.1), interval_s=log_uniform(rng, 1e-3, 1))
    if qdisc in ("fq_codel", "cake"):
        return Codel(
            kind="fq-codel",
            target_s=log_uniform(rng, 1e-4, 0.1),
            interval_s=log_uniform(rng, 1e-3, 1),
            flows=rng.randrange(1, 5000),
            quantum_bytes=rng.randrange(200, 4000),
            limit_pkts=rng.randrange(10, 20000),
            drop_batch=rng.randrange(1, 200),
            ce_threshold_s=rng.choice([None, log_uniform(rng, 1e-4, 0.01)]),
        )
    if qdisc == "pie":
        return Pie(
            target_s=log_uniform(rng, 1e-3, 0.1),
            t_update_s=log_uniform(rng, 1e-3, 0.1),
            alpha=rng.uniform(0, 2.5),
            beta=rng.uniform(0, 2.5),
            max_burst_s=0.15,
            mark_ecnth=0.1,
            derandomize=True,
            high_delay_s=0.25,
            rate_estimate=rng.random() < 0.5,
            dq_threshold_bytes=16384,
        )
    if qdisc == "sfq":
        return Sfq(
            divisor=2 ** rng.randrange(17),
            flows=rng.randrange(1, 5000),
            depth=rng.randrange(1, 200),
            limit_pkts=rng.randrange(2, 20000),
            quantum_bytes=rng.randrange(256, 9000),
            perturb_s=rng.choice([None, log_uniform(rng, 0.1, 100)]),
            headdrop=rng.random() < 0.5,
            red=rng.choice([None, ramp(rng, "red", mean)]),
        )
    if qdisc == "sfb":
        target = rng.randrange(1, 1000)
        return Sfb(
            target=target,
            max=target + rng.randrange(100),
            increment=log_uniform(rng, 1e-6, 1),
            decrement=rng.choice([0, log_uniform(rng, 1e-6, 1)]),
            penalty_rate=rng.uniform(0, 1000),
            penalty_burst=rng.randrange(1000),
            rehash_s=log_uniform(rng, 1, 1000),
            warm_up_s=rng.uniform(0, 1),
        )
    if qdisc == "wred":
        claims: list[dict[str, Any]] = [{"precedence": 2}, {"precedence": 3}, {"dscps": (46, 46)}, {}]
        shared = ramp(rng, "red", mean)
        colours = [
            Colour(
                name=f"colour{place}",
                dscps=claim.get("dscps"),
                precedence=claim.get("precedence"),
                rank=place,
                drops=replace(ramp(rng, "red", mean), w_q=shared.w_q, gate=shared.gate, forced=shared.forced),
                marks=None,
            )
            for place, claim in enumerate(claims[rng.randrange(4) :])
        ]
        return Coloured(colours=tuple(colours), average=rng.choice(["shared", "own", "rio"]))
    return Tail()


def wanted(rng: random.Random, qdisc: str) -> Wanted:
    mean = rng.choice([500, 1000, 1500])
    return Wanted(
        name="random",
        aqm=discipline(rng, qdisc, mean),
        ecn=qdisc == "step" or rng.random() < 0.5,
        rate_bps=round(log_uniform(rng, 1e6, 20e9)),
        reverse_rate_bps=1e6,
        buffer_bytes=mean * rng.randrange(20, 3000),
        buffer_counted=rng.random() < 0.5,
        mean_packet=mean,
    )


def cases() -> list[tuple[Wanted, Place]]:
    rng = random.Random(15)
    made = []
    for qdisc, count in COUNTS.items():
        variant = qdisc if qdisc in ("gred", "cake") else None
        made += [(wanted(rng, qdisc), Place(dev=states.DEVICE, variant=variant)) for _ in range(count)]
    # Below a shaper, too, and both directions at once.
    made += [(wanted(rng, qdisc), Place(dev=states.DEVICE, shape=True)) for qdisc in ("red", "codel", "pie")]
    for qdisc, back in (("fq_codel", "red"), ("pfifo", "cake"), ("pie", "gred")):
        both = replace(wanted(rng, qdisc), opposite=wanted(rng, back))
        made.append((both, Place(dev=states.DEVICE, shape=True)))
    # On a line with framing, which each shaper counts in its own words.
    for framing in (
        Framing(overhead=40, mpu=0, cells="atm"),
        Framing(overhead=18, mpu=64, cells="none"),
        Framing(overhead=30, mpu=0, cells="ptm"),
        Framing(overhead=14, mpu=0, cells="none"),
    ):
        home = Codel(kind="fq-codel", target_s=0.005, interval_s=0.1, flows=1024, quantum_bytes=1514, limit_pkts=1000)
        framed = Wanted(
            name="home",
            aqm=home,
            ecn=True,
            rate_bps=9_300_000,
            reverse_rate_bps=9_300_000,
            buffer_bytes=1_514_000,
            buffer_counted=False,
            mean_packet=1514,
            framing=framing,
        )
        made.append((framed, Place(dev=states.DEVICE, variant="cake")))
        made.append((framed, Place(dev=states.DEVICE, variant="fq_codel", shape=True)))
    # What an automatic burst would do: tc's own arithmetic at the border between two exponents.
    for low, n in ((5000, 1), (5000, 9), (30000, 9), (900_000, 12), (2_000, 3)):
        edge = Ramp(kind="red", min_bytes=low, max_bytes=3 * low, max_p=1.0, w_q=2.0**-n)
        made.append((replace(wanted(rng, "red"), aqm=edge, mean_packet=1000), Place(dev=states.DEVICE)))
    return made


#: What somebody typed on the router whose state docs/operators.md reads; a manual page has it.
RUNNING = (
    f"tc qdisc replace dev {states.DEVICE} root handle 1: red limit 400000 min 30000 max 90000 avpkt 1000 "
    "burst 55 ecn adaptive bandwidth 10Mbit"
)
STATE = SCENARIOS / "operators" / "running-red.json"


#: What may run before a line is pasted, by hand and with handles that the lines have, too.
BEFORE: dict[str, list[str]] = {
    "nothing": [],
    "red": ["root handle 1: red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn nodrop bandwidth 10Mbit"],
    "gred": [
        "root handle 1: gred setup vqs 2 default 0 grio limit 90000",
        "root handle 1: gred vq 0 prio 2 limit 60000 min 15000 max 45000 avpkt 1000 burst 30 bandwidth 10Mbit ecn",
    ],
    "choke": ["root handle 1: choke limit 1000 min 60 max 180 avpkt 1000 burst 80 bandwidth 10Mbit ecn"],
    "codel": ["root handle 1: codel limit 500 target 7ms interval 70ms ce_threshold 3ms ecn"],
    "fq_codel": [
        "root handle 1: fq_codel limit 5000 flows 512 target 7ms interval 70ms ce_threshold 3ms memory_limit 9Mb"
    ],
    "pie": ["root handle 1: pie limit 500 target 9ms tupdate 9ms alpha 4 beta 8 ecn bytemode dq_rate_estimator"],
    "cake": ["root handle 1: cake bandwidth 9mbit diffserv4 dual-dsthost nat wash ack-filter rtt 30ms atm overhead -4"],
    "pfifo": ["root handle 1: pfifo limit 7"],
    "bfifo": ["root handle 1: bfifo limit 7000"],
    "sfq": ["root handle 1: sfq perturb 10"],
    "prio": ["root handle 1: prio bands 3", "parent 1:1 handle 10: pfifo limit 9"],
    "mq": ["root handle 1: mq", "parent 1:1 handle 10: fq_codel"],
    "tbf": ["root handle 1: tbf rate 3mbit burst 4000 limit 9000", "parent 1:1 handle 10: fq_codel limit 77"],
    "htb": ["root handle 1: htb default 10"],
    "tree": ["root handle 10: htb default 10", "parent 10:10 handle 1: sfq"],
    "ingress": ["handle ffff: ingress"],
    "clsact": ["clsact"],
}
CLASSES = {"htb": ["parent 1: classid 1:10"], "tree": ["parent 10: classid 10:10"]}


def before(name: str) -> list[str]:
    """The commands that set up what runs before."""
    root, *rest = [f"tc qdisc add dev {states.DEVICE} {each}" for each in BEFORE[name]] or [""]
    if root and name == "gred":
        rest = [each.replace(" add ", " change ") for each in rest]
    classes = [f"tc class add dev {states.DEVICE} {each} htb rate 5mbit" for each in CLASSES.get(name, ())]
    return [each for each in (root, *classes, *rest) if each]


@functools.cache
def pasted() -> list[tuple[str, str, Written]]:
    """What is pasted over what: each form over nothing, over itself, and over a third of what else may run, so that
    each of that has several forms over it.
    """
    rng = random.Random(16)
    forms: dict[str, tuple[Wanted, Place]] = {}
    for qdisc in COUNTS:
        variant = qdisc if qdisc in ("gred", "cake") else None
        forms[qdisc] = (wanted(rng, qdisc), Place(dev=states.DEVICE, variant=variant))
    forms["bfifo"] = (replace(wanted(rng, "pfifo"), buffer_counted=True), Place(dev=states.DEVICE))
    shaped = Place(dev=states.DEVICE, shape=True)
    forms["shaped red"] = (wanted(rng, "red"), shaped)
    forms["both directions"] = (replace(wanted(rng, "fq_codel"), opposite=wanted(rng, "pie")), shaped)
    written = {name: tc.write(*form) for name, form in forms.items()}
    return [
        (name, over, each)
        for i, (name, each) in enumerate(written.items())
        for j, over in enumerate((*BEFORE, "itself"))
        if over in ("nothing", "itself") or (i + j) % 3 == 0
    ]


def vyos_cases() -> list[tuple[Wanted, Written]]:
    """What VyOS is told, with the commands that it makes of it."""
    rng = random.Random(17)
    made: list[tuple[Wanted, Written]] = []
    while len(made) < 25:
        qdisc = ("red", "red", "fq_codel", "pfifo")[len(made) % 4]
        asked = replace(wanted(rng, qdisc), ecn=False)
        if rng.random() < 0.2:  # larger than an interface may hold
            asked = replace(asked, buffer_bytes=asked.mean_packet * 20_000)
        try:
            made.append((asked, vyos.write(asked, Place(dev=states.DEVICE))))
        except RefusedError:
            continue
    return made


def vyos_commands(text: str) -> list[str]:
    """The commands of tc that VyOS runs for a policy: of python/vyos/qos, randomdetect.py, fqcodel.py and
    droptail.py.
    """
    told = dict(re.findall(r"^set qos policy \S+ \S+ (?:precedence 0 )?([a-z-]+) (\d+)", text, re.MULTILINE))
    dev = f"tc qdisc add dev {states.DEVICE} root"
    if " fq-codel " in text:
        times = " ".join(f"{key} {int(told[key]) * 1000}" for key in ("interval", "target"))
        sizes = f"quantum {told['codel-quantum']} flows {told['flows']} limit {told['queue-limit']}"
        return [f"{dev} fq_codel {sizes} {times} noecn"]
    if " drop-tail " in text:
        return [f"{dev} pfifo limit {told['queue-limit']}"]
    number = {key: int(each) for key, each in told.items()}
    mean, low, high = number["average-packet"], number["minimum-threshold"], number["maximum-threshold"]
    ramp = f"limit {number['queue-limit'] * mean} min {low * mean} max {high * mean} avpkt {mean}"
    ramp += (
        f" burst {(2 * low + high) // 3} bandwidth {number['bandwidth']} probability {1 / number['mark-probability']}"
    )
    change = f"tc qdisc change dev {states.DEVICE} handle 1:0 gred"
    others = [f"{change} limit 73728 min {9216 + 512 * n} max 18432 avpkt 1024 burst {(18 + 18 + n) // 3} bandwidth "
              f"{number['bandwidth']} probability 0.1 DP {n} prio {8 - n}" for n in range(1, 8)]  # fmt: skip
    return [f"{dev} handle 1:0 gred setup DPs 8 default 0 grio", f"{change} {ramp} DP 0 prio 8", *others]


#: Lines of the kernel's own tests (Linux, tools/testing/selftests/tc-testing/tc-tests/qdiscs), of those
#: about parameters: line → whether the kernel takes it.
LINES: dict[str, bool] = {
    **{
        f"red limit 1M avpkt 1500 min 100K max 300K {words}".strip(): True
        for words in ("", "adaptive", "ecn", "ecn adaptive", "ecn harddrop", "ecn nodrop", "ecn harddrop nodrop")
    },
    "red nodrop limit 1M avpkt 1500 min 100K max 300K": False,
    **{
        f"codel {words}".strip(): True
        for words in ("", "limit 1500", "target 100ms", "interval 20ms", "ecn", "ce_threshold 20ms")
    },
    **{f"codel {words}": True for words in ("interval 3us", "interval 1024us")},
    **{
        f"fq_codel {words}".strip(): True
        for words in (
            *("", "limit 1000", "memory_limit 100000", "target 2000", "interval 5000", "quantum 9000", "noecn"),
            *("ce_threshold 1024000", "drop_batch 100", "flows 256"),
        )
    },
    **{
        f"choke limit 1000 bandwidth 10000 {words}".strip(): True
        for words in ("", "min 100", "max 900", "ecn", "burst 100")
    },
    **{f"sfq {words}".strip(): True for words in ("", "limit 8", "perturb 10", "quantum 9000", "flows 20", "headdrop")},
    "sfq redflowlimit 100000 min 8000 max 60000 probability 0.20 ecn headdrop": True,
    **{f"sfb {words}".strip(): True for words in ("", "limit 100", "max 100", "target 100", "penalty_rate 4000")},
    **{
        f"cake {words}".strip(): True
        for words in (
            *("", "bandwidth 1000", "autorate-ingress", "rtt 200", "besteffort", "diffserv8", "diffserv4"),
            *("flowblind", "dsthost nat", "hosts wash", "flowblind no-split-gso", "dual-srchost ack-filter"),
            *("dual-dsthost ack-filter-aggressive", "memlimit 10000 ptm", "fwmark 8 atm", "overhead 128 mpu 256"),
            *("conservative ingress", "mpu 128"),
        )
    },
    **{
        f"tbf limit 1000 burst 1500 rate 10000 {words}".strip(): True
        for words in ("", "mtu 2048", "mtu 1510 peakrate 30000", "overhead 300", "linklayer atm")
    },
    "tbf burst 1500 rate 10000 latency 100ms": True,
    **dict.fromkeys(("bfifo", "pfifo", "bfifo limit 3000b", "pfifo limit 3000"), True),
    **dict.fromkeys(("bfifo foorbar", "pfifo foorbar", "bfifo limit foo-bar"), False),
    "pie limit 1": True,
    "fq_pie limit 1": True,
}


@functools.cache
def asked_kernel() -> dict[str, list[Any]]:
    """What the kernel reports: of what was written, of `RUNNING`, of what was pasted over something, and of
    VyOS's commands; asked once.
    """
    sets: dict[str, list[list[str]]] = {
        "written": [tc.write(*case).text.splitlines() for case in cases()],
        "running": [[RUNNING]],
        "pasted": [
            [*(each.text.splitlines() if over == "itself" else before(over)), *each.text.splitlines()]
            for _, over, each in pasted()
        ],
        "vyos": [vyos_commands(each.text) for _, each in vyos_cases()],
        "lines": [[f"tc qdisc add dev {states.DEVICE} handle 1: root {line}"] for line in LINES],
    }
    try:
        said = iter(states.shown([[*case, "show"] for each in sets.values() for case in each], CACHE))
    except debian.UnavailableError as error:
        pytest.skip(str(error))
    found = {name: [next(said)[0] for _ in each] for name, each in sets.items()}
    return {name: [each if isinstance(each, str) else each.document for each in said] for name, said in found.items()}


def answers() -> list[tuple[Wanted, Written, Any]]:
    """What was wanted, what was written, and what the kernel reports."""
    said = asked_kernel()["written"]
    return [(case[0], tc.write(*case), answer) for case, answer in zip(cases(), said, strict=True)]


#: What is counted within options, of gred's virtual queues and of sfq.
STATISTICS = {*OPTION_STATISTICS["gred"], *OPTION_STATISTICS["sfq"]}


def found(answer: Any, kind: str, dev: str | None = None) -> dict[str, Any]:
    """The qdisc of a kind, on the device beside `v0` where one is named."""
    return next(each for each in answer if each["kind"] == kind and (dev is None or each.get("dev") == dev))


def flat(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options, those of gred's virtual queues beside the others, without what is counted."""
    made = {key: value for key, value in options.items() if key not in STATISTICS}
    for queue in made.pop("vqs", []):
        made |= {f"vq {queue['vq']} {key}": value for key, value in queue.items() if key not in STATISTICS}
    return made


#: What tbf counts in ticks, which tc writes back as bytes or a time: releases of tc round otherwise.
IN_TICKS = ("burst", "mtu", "lat")


def number(shown: int | str | None) -> int:
    """A count, or the bytes of a text such as "1749b/1"."""
    return int(str(shown or 0).partition("b")[0])


def differences(predicted: Mapping[str, Any], answer: Any, dev: str | None = None) -> list[str]:
    """What the kernel reports otherwise than predicted, of the discipline, its shaper and what arrives."""
    qdisc = found(answer, predicted["kind"], dev)
    pairs = [(qdisc["kind"], predicted["options"], qdisc["options"])]
    pairs += [("tin", there, qdisc["tins"][0]) for there in predicted.get("tins", ())]
    if "shaper" in predicted:
        kind = predicted["shaper"]["kind"]
        pairs.append((kind, predicted["shaper"]["options"], found(answer, kind, dev)["options"]))
    wrong = []
    for kind, asked, said in pairs:
        one, other = flat(asked), flat(said)
        if "target_us" not in one:
            wrong += [f"{key} is not predicted: {other[key]!r}" for key in other.keys() - one.keys()]
        for key, value in one.items():
            got = other.get(key)
            same = math.isclose(got or 0, value, rel_tol=1e-5) if key.endswith("probability") else got == value
            same |= kind == "tbf" and key in IN_TICKS and abs(number(got) - number(value)) <= 1
            wrong += [] if same else [f"{key}: predicted {value!r}, reported {got!r}"]
    if "reverse" in predicted:
        wrong += differences(predicted["reverse"], answer, predicted["reverse"]["dev"])
    return wrong


@pytest.mark.slow
def test_a_hundred_random_parameter_sets_are_accepted() -> None:
    asked = answers()
    assert len(asked) > 100
    refused = [answer for _, _, answer in asked if isinstance(answer, str)]
    assert refused == []


@pytest.mark.slow
def test_the_kernel_reports_what_was_predicted() -> None:
    """All of it: an option that the kernel has and the prediction lacks is a fault, too."""
    wrong = [
        f"{written.text.strip()}: {each}"
        for _, written, answer in answers()
        for each in differences(written.readback, answer)
    ]
    assert wrong == []


@pytest.mark.slow
def test_a_line_replaces_whatever_runs_before_and_itself() -> None:
    wrong = []
    for (name, over, written), answer in zip(pasted(), asked_kernel()["pasted"], strict=True):
        said = [answer] if isinstance(answer, str) else differences(written.readback, answer)
        wrong += [f"{name} over {over}: {each}" for each in said]
    assert wrong == []


@pytest.mark.slow
def test_the_kernel_does_what_is_predicted_of_vyos() -> None:
    kinds = set()
    for (asked, written), answer in zip(vyos_cases(), asked_kernel()["vyos"], strict=True):
        assert not isinstance(answer, str), answer
        (qdisc,) = answer
        kinds.add(qdisc["kind"])
        options, aqm = qdisc["options"], written.aqm
        if qdisc["kind"] == "gred":
            queue = options["vqs"][0]
            assert (options["dp_default"], len(options["vqs"])) == (0, 8)
            assert (f"{queue['min']} B", f"{queue['max']} B") == (aqm["min_th"], aqm["max_th"])
            assert (2.0 ** -queue["ewma"], queue["ecn"]) == (aqm["w_q"], False)
            assert queue["probability"] == pytest.approx(aqm["max_p"], rel=1e-5)
            assert f"{queue['limit']} B" == written.buffer, (asked, written.text)
        elif qdisc["kind"] == "fq_codel":
            assert (options["limit"], options["flows"], options["drop_batch"]) == tuple(
                aqm[key] for key in ("limit", "flows", "drop_batch")
            )
            assert (f"{options['quantum']} B", options.get("ecn", False)) == (aqm["quantum"], False)
            for key in ("target", "interval"):
                assert options[key] == int(float(aqm[key].split()[0]))
        else:
            assert f"{options['limit']} packets" == written.buffer
    assert kinds == {"gred", "fq_codel", "pfifo"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:lost")  # nodrop, and what the average does while the link is idle
def test_what_the_kernel_reports_reads_as_what_was_written() -> None:
    """There and back: the state of a box, written for the same box again, changes nothing on it."""
    for asked, written, answer in answers():
        if "reverse" in written.readback:
            continue
        state = json.dumps(answer)
        rate = f"{round(asked.rate_bps)} bit/s"
        kind = written.readback["kind"]
        again = ps.config_from(state, "tc", rate=None if "tbf" in written.text or kind == "cake" else rate)
        configured = ps.config(
            again, "tc", dev=states.DEVICE, variant=kind if kind in ("gred", "cake") else None, seeds=0
        )
        told = flat(configured.written.readback["options"])
        for key, value in flat(written.readback["options"]).items():
            if key.endswith("Scell_log") or (key == "nodrop" and value):  # by the mean packet, which no state has
                continue
            got = told.get(key)
            assert got == value if isinstance(value, str) else got == pytest.approx(value, rel=1e-5), (
                written.text,
                key,
            )


#: What a queue discipline of another name is read as.
SIMULATED = {
    **dict.fromkeys(("bfifo", "pfifo", "tbf"), ("droptail",)),
    "fq_codel": ("fq-codel",),
    "fq_pie": ("fq-pie",),
    "cake": ("fq-codel", "cake"),
}


@pytest.mark.slow
def test_what_the_kernels_own_tests_set_is_read() -> None:
    """Each line is taken or refused as those tests have it. What was taken is read as a scenario, where any simulated
    discipline is like it; else it is refused by its name.
    """
    answers = dict(zip(LINES, asked_kernel()["lines"], strict=True))
    assert {line: not isinstance(answer, str) for line, answer in answers.items()} == LINES
    for line, state in answers.items():
        if not LINES[line]:
            continue
        kind = line.split()[0]
        text = json.dumps(state)
        if kind not in tc_read.READ:
            with pytest.raises(ps.ScenarioError, match=kind):
                ps.config_from(text, "tc", rate="10 Mbit/s")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = ps.config_from(text, "tc", rate="10 Mbit/s")
        assert made.resolved["aqm"]["kind"] in SIMULATED.get(kind, (kind,)), line


@pytest.mark.slow
def test_the_state_that_the_page_reads_is_the_kernels() -> None:
    kept = json.loads(STATE.read_text(encoding="utf-8"))
    (running,) = asked_kernel()["running"]
    assert found(kept, "red")["options"] == found(running, "red")["options"]


def test_the_tables_of_the_arithmetic() -> None:
    """The default burst of tc, (2·min + max)/(3·avpkt), makes 0.125 of what is thought to be
    0.002.
    """
    assert arithmetic.weight_log(5000, (2 * 5000 + 15000) // 3000, 1000) == 3
    # The ranges of burst that give an exponent at min/avpkt 5 and 30.
    for low, n, first, last in (
        (5, 9, 48, 65),
        (5, 4, 10, 13),
        (5, 12, 130, 182),
        (30, 9, 133, 182),
        (30, 12, 356, 497),
    ):
        assert [arithmetic.weight_log(low * 1000, burst, 1000) for burst in (first, last)] == [n, n]
        assert arithmetic.weight_log(low * 1000, first - 1, 1000) == n - 1
        assert arithmetic.weight_log(low * 1000, last + 1, 1000) == n + 1


def test_an_answer_that_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = '{"own": [], "there": [], "text": ""}'
    monkeypatch.setattr(states, "packages", lambda cache: None)
    monkeypatch.setattr(states, "image", lambda *arguments: b"")
    monkeypatch.setattr(machine, "said", lambda *arguments, **more: f'{empty}\n"refused: tc x: no"\n')
    assert states.shown([["a", "show"], ["b", "show"]], CACHE) == [[states.State([], "")], ["refused: tc x: no"]]
    with pytest.raises(machine.GuestError, match="3 states are wanted, 2 came"):
        states.shown([["a", "show"], ["b", "show", "show"]], CACHE)
