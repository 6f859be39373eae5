"""What `penstock config --to tc` writes, loaded into a real kernel: it reports what was
predicted.
"""

from __future__ import annotations

import functools
import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import debian
import oracle
import penstock as ps
import qdiscs
from conftest import SCENARIOS
from penstock.operators import tc
from penstock.operators import tc_arithmetic as arithmetic
from penstock.operators.model import Codel, Discipline, Pie, Place, Ramp, Step, Tail, Wanted, Written

CACHE = Path.home() / ".cache" / "penstock-oracle"
#: Random parameter sets, and how many of each qdisc.
COUNTS = {"red": 40, "step": 6, "gred": 8, "choke": 12, "codel": 8, "fq_codel": 10, "pie": 10, "cake": 8, "pfifo": 4}


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
        made += [(wanted(rng, qdisc), Place(dev=qdiscs.DEVICE, variant=variant)) for _ in range(count)]
    # Below a shaper, too.
    made += [(wanted(rng, qdisc), Place(dev=qdiscs.DEVICE, shape=True)) for qdisc in ("red", "codel", "pie")]
    # What an automatic burst would do: tc's own arithmetic at the border between two exponents.
    for low, n in ((5000, 1), (5000, 9), (30000, 9), (900_000, 12), (2_000, 3)):
        edge = Ramp(kind="red", min_bytes=low, max_bytes=3 * low, max_p=1.0, w_q=2.0**-n)
        made.append((replace(wanted(rng, "red"), aqm=edge, mean_packet=1000), Place(dev=qdiscs.DEVICE)))
    return made


#: What somebody typed on the router whose state docs/operators.md reads; a manual page has it.
RUNNING = (
    f"tc qdisc replace dev {qdiscs.DEVICE} root handle 1: red limit 400000 min 30000 max 90000 avpkt 1000 "
    "burst 55 ecn adaptive bandwidth 10Mbit"
)
STATE = SCENARIOS / "operators" / "running-red.json"


@functools.cache
def asked_kernel() -> tuple[list[Written], list[Any]]:
    """What was written, and what the kernel reports of each and of `RUNNING`; asked once."""
    written = [tc.write(*case) for case in cases()]
    try:
        said = qdiscs.loaded([*(each.text.splitlines() for each in written), [RUNNING]], CACHE)
    except debian.UnavailableError as error:
        pytest.skip(str(error))
    return written, said


def answers() -> list[tuple[Wanted, Any, Any]]:
    """What was wanted, what was written, and what the kernel reports."""
    written, said = asked_kernel()
    return [(case[0], each, answer) for case, each, answer in zip(cases(), written, said, strict=False)]


def found(answer: Any, kind: str) -> dict[str, Any]:
    return next(each for each in answer if each["kind"] == kind)


def reported(options: dict[str, Any], tins: list[dict[str, Any]], key: str) -> Any:
    if key in ("target_us", "interval_us"):
        return tins[0][key]
    return options.get(key, False if key in ("ecn", "harddrop", "adaptive", "nodrop") else None)


def flat(qdisc: dict[str, Any]) -> dict[str, Any]:
    """What the kernel reports of a qdisc, gred's only virtual queue included."""
    options = dict(qdisc["options"])
    for queue in options.pop("vqs", []):
        options |= queue
    return options


def test_a_hundred_random_parameter_sets_are_accepted() -> None:
    asked = answers()
    assert len(asked) > 100
    refused = [answer for _, _, answer in asked if isinstance(answer, str)]
    assert refused == []


def test_the_kernel_reports_what_was_predicted() -> None:
    wrong = []
    for _, written, answer in answers():
        qdisc = found(answer, written.readback["kind"])
        options = flat(qdisc)
        for key, predicted in written.readback["options"].items():
            value = reported(options, qdisc.get("tins", []), key)
            same = math.isclose(value, predicted, rel_tol=1e-5) if key == "probability" else value == predicted
            if not same:
                wrong.append(f"{written.text.strip()}: {key}: predicted {predicted}, reported {value}")
    assert wrong == []


@pytest.mark.filterwarnings("ignore:lost")  # nodrop, and what the average does while the link is idle
def test_what_the_kernel_reports_reads_as_what_was_written() -> None:
    """There and back: the state of a box, written for the same box again, changes nothing on it."""
    for asked, written, answer in answers():
        state = json.dumps(answer)
        rate = f"{round(asked.rate_bps)} bit/s"
        kind = written.readback["kind"]
        again = ps.config_from(state, "tc", rate=None if "tbf" in written.text or kind == "cake" else rate)
        configured = ps.config(
            again, "tc", dev=qdiscs.DEVICE, variant=kind if kind in ("gred", "cake") else None, seeds=0
        )
        told = configured.written.readback["options"]
        for key, value in written.readback["options"].items():
            if key == "Scell_log" or (key == "nodrop" and value):  # by the mean packet, which no state has
                continue
            got = told.get(key)
            assert got == pytest.approx(value, rel=1e-5), (written.text, key)


def test_the_state_that_the_page_reads_is_the_kernels() -> None:
    kept = json.loads(STATE.read_text(encoding="utf-8"))
    *_, running = asked_kernel()[1]
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
    monkeypatch.setattr(qdiscs, "packages", lambda cache: None)
    monkeypatch.setattr(qdiscs, "image", lambda *arguments: b"")
    monkeypatch.setattr(oracle, "said", lambda *arguments: "[]\nrefused: tc x: no\n")
    assert qdiscs.loaded([["a"], ["b"]], CACHE) == [[], "refused: tc x: no"]
    with pytest.raises(oracle.GuestError, match="3 cases have 2 answers"):
        qdiscs.loaded([["a"], ["b"], ["c"]], CACHE)
