"""Congestion controls in Debian's kernel and in Penstock's simulator, through RED and FQ-CoDel: the table in README.md.

Each case is a run of oracle.py with `--kernel --simulated`; pairs.py says when a pair agrees.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import oracle
import pairs
from image import HERE, write

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
    line = f"{queue} ecn" if ecn or queue == "fq_codel" else queue
    return oracle.Setting(groups=(flows,), qdisc=(line,), **more)


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


def block(results: dict[str, dict[str, Any]]) -> str:
    """What README.md has between its two lines."""
    first = next(iter(results.values()))
    judged = [how for result in results.values() for how in pairs.judged(result, JUDGED).values()]
    how = f"{judged.count('yes')} within 10 %, {judged.count('interval')} by the interval alone"
    seeds = ", ".join(str(seed) for seed in first["kernel"]["seeds"])
    text = f"Linux {first['release']}, seeds {seeds}; {oracle.SIMULATED_SEEDS} simulated.\n"
    text += f"Of {len(judged)} pairs {len(judged) - judged.count('no')} agree: {how}.\n"
    head = ["case", "queue, packets", "marks/s", "drops/s", "utilization", "window"]
    rows = ([name, *pairs.cells(result, JUDGED, BESIDE)] for name, result in results.items())
    return f"{text}\n{pairs.table(head, rows)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit status."""
    options = pairs.parser("controls.py", __doc__, [7, 8, 9, 10, 11]).parse_args(arguments)

    def work() -> None:
        results = dict(zip(CASES, pairs.compared(list(CASES.values()), options), strict=True))
        write(options.out / "controls.json", (json.dumps(results, indent=1) + "\n").encode())
        text = block(results)
        pairs.put(PAGE, BEGIN, END, text)
        print(text, end="")

    return oracle.status("controls.py", work)


if __name__ == "__main__":
    sys.exit(main())
