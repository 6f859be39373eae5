"""What `penstock config --from` and `--against` make of a real kernel's states: the text as its JSON, and what
a box has after the lines were pasted.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

import pytest

import debian
import penstock as ps
import states
from penstock.operators import changes, tc_after
from penstock.operators import config as work
from penstock.operators.model import Place
from penstock.operators.state import Given

CACHE = Path.home() / ".cache" / "penstock-oracle"
#: Kept with what the kernel said of them; a list of commands each, without `tc qdisc`.
KEPT = json.loads((Path(__file__).parent / "tc_states.json").read_text(encoding="utf-8"))
LINK = """\
duration = "10 s"
[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mbit/s", delay = "10 ms", buffer = "200 packets" }
[[traffic]]
kind = "ftp"
[aqm]
mean_packet = "1500 B"
"""
#: What is written: the discipline, the form, and whether tbf makes the rate.
WRITTEN = [
    ('kind = "red"\nmin_th = 20\nmax_th = 60\necn = true', "red", False),
    ('kind = "red"\nmin_th = 20\nmax_th = 60\necn = true', "gred", False),
    ('kind = "choke"\nmin_th = 20\nmax_th = 60', None, False),
    ('kind = "codel"', None, True),
    ('kind = "fq-codel"', "fq_codel", False),
    ('kind = "fq-codel"', "cake", False),
    ('kind = "pie"', None, False),
    ('kind = "sfq"\nmin_th = 20\nperturb = "10 s"\necn = true', None, False),
    ('kind = "sfb"\ntarget = 10', None, True),
    ('kind = "wred"\nw_q = 0.002\n[aqm.colour.green]\nmin_th = 20\nmax_th = 60', None, False),
    (
        'kind = "wred"\nw_q = 0.002\naverage = "rio"\n[aqm.colour.green]\nmin_th = 20\nmax_th = 60\n'
        "[aqm.colour.red]\ndrop_precedence = 3\nmin_th = 10\nmax_th = 40",
        None,
        True,
    ),
    ('kind = "droptail"', None, True),
]
#: What ran before.
BEFORE = [
    "root handle 1: red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn nodrop bandwidth 10Mbit",
    "root handle 8001: red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn harddrop bandwidth 10Mbit",
    "root handle 1: fq_codel limit 600 memory_limit 4Mb noecn ce_threshold 3ms ce_threshold_selector 0x1/0x3",
    "root fq_codel memory_limit 4Mb",
    "root handle 1: cake bandwidth 795kbit diffserv3 dual-dsthost ack-filter atm overhead -4 mpu 68 nat memlimit 2Mb",
    "root handle 8001: cake bandwidth 20mbit ptm overhead 30",
    "root handle 1: pie limit 500 target 20ms bytemode",
    "root handle 1: stab linklayer atm overhead 10 codel limit 77 ce_threshold 2ms",
    "root handle 1: sfq limit 300 headdrop redflowlimit 90000 min 8000 max 60000 probability 0.2 ecn harddrop",
    "root handle 1: sfb max 40 target 30 penalty_rate 3",
    "root handle 1: pfifo limit 77",
]


def scenario(aqm: str) -> ps.Scenario:
    return ps.Scenario.from_toml(LINK + aqm + "\n")


def pasted(aqm: str, form: str | None, shape: bool) -> list[str]:
    place = Place(dev=states.DEVICE, variant=form, shape=shape)
    return work.write(scenario(aqm), "tc", place).text.splitlines()


@functools.cache
def asked() -> tuple[list[list[states.State]], list[list[states.State]]]:
    """What the kernel says of the kept commands, and before and after each line; asked once."""
    kept = [[*map(line, each["commands"]), "show"] for each in KEPT]
    over = [
        [f"tc qdisc add dev {states.DEVICE} {before}", "show", *pasted(*each), "show"]
        for before in BEFORE
        for each in WRITTEN
        if replaceable(before, pasted(*each)[0])
    ]
    try:
        answers = states.shown([*kept, *over], CACHE, texts=True)
    except debian.UnavailableError as error:
        pytest.skip(str(error))
    said = [[each for each in case if isinstance(each, states.State)] for case in answers]
    assert said == answers  # no line is refused
    return said[: len(kept)], said[len(kept) :]


def replaceable(before: str, first: str) -> bool:
    """Whether the kernel takes a line over what is there: under one number it changes no kind, and no number of flows
    of fq_codel.
    """
    was, words = re.sub(r"stab .*?(?=codel)", "", before).split(), first.split()
    if "del" in words or "1:" not in was:
        return True
    return was[3] == words[words.index("1:") + 1] != "fq_codel"


def line(kept: str) -> str:
    """A kept command as a line of tc."""
    word, _, rest = kept.partition(" ")
    if word == "CHANGE":
        return f"tc qdisc change dev {states.DEVICE} root handle 1: {rest}"
    if word == "PARENT":
        parent, handle, *more = rest.split()
        return f"tc qdisc add dev {states.DEVICE} parent {parent} handle {handle} {' '.join(more)}"
    if word == "CLASS":
        parent, number, *more = rest.split()
        return f"tc class add dev {states.DEVICE} parent {parent} classid {number} {' '.join(more)}"
    if word == "CLSACT":
        return f"tc qdisc add dev {states.DEVICE} clsact"
    extra = {
        "STAB": f"stab {rest.rpartition(' ')[0]} {rest.rpartition(' ')[2]}",
        "ESTIM": f"estimator 1sec 4sec {rest}",
    }
    return f"tc qdisc add dev {states.DEVICE} root handle 1: {extra.get(word, kept)}"


@pytest.mark.slow
def test_the_states_that_are_kept_are_the_kernels() -> None:
    said, _ = asked()
    for kept, [state] in zip(KEPT, said, strict=True):
        assert state.document == kept["json"]
        assert state.text == kept["text"]


@pytest.mark.slow
def test_the_kernel_has_what_was_foretold_once_the_lines_are_pasted() -> None:
    """What `--against` says that changes is what the kernel says that changed."""
    _, over = asked()
    cases = [(before, each) for before in BEFORE for each in WRITTEN if replaceable(before, pasted(*each)[0])]
    assert len(over) == len(cases) > 10
    wrong = []
    for (before, (aqm, form, shape)), [was, now] in zip(cases, over, strict=True):
        place = Place(variant=form, shape=shape)
        text = json.dumps(named(was.document))
        foretold = work.difference(text, "tc", Given(), scenario(aqm), place, "state")
        real = told(named(was.document), named(now.document))
        if changes.text(foretold) != real:
            wrong.append(f"{before} → {form or aqm}:\nforetold\n{changes.text(foretold)}real\n{real}")
    assert wrong == [], "\n".join(wrong)


def named(document: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each | {"dev": states.DEVICE} for each in document]


def told(was: list[dict[str, Any]], now: list[dict[str, Any]]) -> str:
    """What changed between two states."""
    return changes.text(tc_after.between(was, now, states.DEVICE))
