"""Congestion controls in Debian's kernel and in Penstock's simulator, through RED and FQ-CoDel: the table in README.md.

Each case is a run of oracle.py with `--kernel --simulated`. A pair agrees where the simulator's mean is within 10 % of
the kernel's, or where the two differ by less than the joint 95 % interval.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import oracle
from debian import UnavailableError
from image import HERE, write
from machine import GuestError

#: Within this part of the kernel's mean the simulator's agrees.
BOUND = 0.1

#: What has to agree.
JUDGED = ("queue_mean_pkts", "marks_per_s", "drops_per_s")

#: Shown beside it.
BESIDE = ("utilization", "window_mean_pkts")

#: The page, and the lines between which its table stands.
PAGE = HERE / "README.md"
BEGIN, END = "<!-- controls: made by make oracle -->\n", "<!-- controls: end -->\n"

#: Windows on the rows of HighSpeed's table that are not Reno's.
_LONG: dict[str, Any] = {"rate_bps": 20_000_000, "delay_s": 0.05, "duration_s": 45, "warmup_s": 10}
_RED = "red limit {limit} min {min} max {max} avpkt 1514 burst {burst} probability {max_p} bandwidth {rate}"
_USUAL = _RED.format(limit=300_000, min=15_000, max=45_000, burst=20, max_p=0.1, rate="10mbit")
_FEW = _RED.format(limit=300_000, min=9_000, max=39_000, burst=20, max_p=0.1, rate="10mbit")
_STEP = _RED.format(limit=300_000, min=30_000, max=32_000, burst=20, max_p=1, rate="10mbit")
_LARGE = _RED.format(limit=600_000, min=60_000, max=180_000, burst=60, max_p=0.02, rate="20mbit")


def _case(cc: str, queue: str, ecn: bool = True, number: int = 4, **more: Any) -> oracle.Setting:
    flows = oracle.Flows(number=number, cc=cc, ecn=ecn)
    return oracle.Setting(
        groups=(flows,), qdisc=(f"{queue} {'ecn' if ecn or queue == 'fq_codel' else ''}".strip(),), **more
    )


#: The cases by name. Vegas has drops to answer, since Linux's would answer marks as Reno does; the others have marks.
CASES = {
    "reno, red": _case("reno", _USUAL),
    "cubic, red": _case("cubic", _USUAL),
    "bbr, red": _case("bbr", _USUAL, duration_s=35),
    "dctcp, red": _case("dctcp", _USUAL),
    "dctcp, a step, red": _case("dctcp", _STEP),
    "vegas, red": _case("vegas", _FEW, ecn=False),
    "westwood, red": _case("westwood", _USUAL),
    "highspeed, red": _case("highspeed", _LARGE, number=2, **_LONG),
    "reno, fq_codel": _case("reno", "fq_codel"),
    "cubic, fq_codel": _case("cubic", "fq_codel"),
    "bbr, fq_codel": _case("bbr", "fq_codel", duration_s=35),
    "dctcp, fq_codel": _case("dctcp", "fq_codel"),
    "vegas, fq_codel": _case("vegas", "fq_codel", ecn=False),
    "westwood, fq_codel": _case("westwood", "fq_codel"),
    "highspeed, fq_codel": _case("highspeed", "fq_codel", number=2, **_LONG),
}


def agrees(kernel: oracle.Estimate, simulated: oracle.Estimate) -> str:
    """How: "yes", "interval", or "no"."""
    difference = abs(float(simulated["mean"] or 0) - float(kernel["mean"] or 0))
    if difference <= BOUND * abs(float(kernel["mean"] or 0)):
        return "yes"
    joint = math.hypot(float(kernel["ci95"] or 0), float(simulated["ci95"] or 0))
    return "interval" if difference <= joint else "no"


def rows(results: dict[str, dict[str, Any]]) -> str:
    """The table as Markdown."""
    head = ["case", "queue, packets", "marks/s", "drops/s", "utilization", "window"]
    lines = [head, ["---"] * len(head)]
    for name, result in results.items():
        sides = [result[side]["summary"] for side in ("kernel", "simulator")]
        row = [name]
        for metric in (*JUDGED, *BESIDE):
            kernel, simulated = (side[metric] for side in sides)
            if not kernel["mean"] and not simulated["mean"]:
                row.append("0")
                continue
            text = f"{oracle.shown(kernel)} → {oracle.shown(simulated)}"
            if kernel["mean"]:
                text += f", {oracle.difference(kernel, simulated):+.1f} %"
            if metric in JUDGED:
                how = agrees(kernel, simulated)
                text = {"yes": text, "interval": f"{text} *i*", "no": f"**{text}**"}[how]
            row.append(text)
        lines.append(row)
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def block(results: dict[str, dict[str, Any]]) -> str:
    """What README.md has between its two lines."""
    first = next(iter(results.values()))
    judged = [
        agrees(*(result[side]["summary"][metric] for side in ("kernel", "simulator")))
        for result in results.values()
        for metric in JUDGED
        if any(result[side]["summary"][metric]["mean"] for side in ("kernel", "simulator"))
    ]
    how = f"{judged.count('yes')} within 10 %, {judged.count('interval')} by the interval alone"
    seeds = ", ".join(str(seed) for seed in first["kernel"]["seeds"])
    text = f"Linux {first['release']}, seeds {seeds}; {oracle.SIMULATED_SEEDS} simulated.\n"
    text += f"Of {len(judged)} pairs {len(judged) - judged.count('no')} agree: {how}.\n"
    return f"{text}\n{rows(results)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="controls.py", description=(__doc__ or "").split("\n")[0], allow_abbrev=False)
    parser.add_argument("--seeds", type=oracle.seeds, default=[7, 8, 9, 10, 11], help="qemu's (7,8,9,10,11)")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="results; what guests said is kept there"
    )
    parser.add_argument("--cache", type=Path, default=oracle.CACHE, help="unpacked packages (~/.cache/penstock-oracle)")
    options = parser.parse_args(arguments)
    try:
        found = oracle.run(
            list(CASES.values()), options.seeds, options.cache, True, None, simulator=True, keep=options.out / "guests"
        )
    except UnavailableError as error:
        print(f"controls.py: {error}", file=sys.stderr)
        return oracle.UNAVAILABLE
    except GuestError as error:
        print(f"controls.py: {error}", file=sys.stderr)
        return 1
    results = dict(zip(CASES, found, strict=True))
    write(options.out / "controls.json", (json.dumps(results, indent=1) + "\n").encode())
    text = block(results)
    before, after = PAGE.read_text(encoding="utf-8").split(BEGIN)
    write(PAGE, f"{before}{BEGIN}\n{text}\n{END}{after.split(END)[1]}".encode())
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
