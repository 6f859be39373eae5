"""Queue disciplines of Debian's kernel beside Penstock's: the page docs/validation-kernel.md.

Each of the kernel's disciplines runs under six conditions with real TCP; our simulator runs the scenario that
`penstock config --from tc` reads from the kernel's own state, its hosts with `profile = "linux"`. A pair agrees as in
controls.py.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import oracle
from controls import agrees
from debian import UnavailableError
from image import HERE, write
from machine import GuestError

#: What has to agree, and the heading of its column.
JUDGED = {
    "queue_mean_pkts": "queue, packets",
    "queue_p99_pkts": "99th percentile",
    "marks_per_s": "marks/s",
    "drops_per_s": "drops/s",
}

#: The page, and the lines between which its tables stand.
PAGE = HERE.parents[1] / "docs" / "validation-kernel.md"
BEGIN, END = "<!-- disciplines: made by make kernel -->\n", "<!-- disciplines: end -->\n"


@dataclass(frozen=True, slots=True)
class Condition:
    """A link and its load. delay_ms: one way."""

    rate_mbps: float
    flows: int
    ecn: bool
    delay_ms: float
    duration_s: int
    warmup_s: int

    def __str__(self) -> str:
        flows = f"{self.flows} flow{'s' * (self.flows > 1)}"
        return f"{self.rate_mbps:g} Mbit/s, {flows}, ECN {'on' if self.ecn else 'off'}"

    def packets(self, seconds: float) -> int:
        """How many full frames the link sends in that time."""
        return round(self.rate_mbps * 1e6 * seconds / 8 / oracle.FRAME)


CONDITIONS = (
    Condition(1.5, 1, True, 20, 130, 30),
    Condition(1.5, 20, False, 20, 130, 30),
    Condition(10, 1, False, 20, 50, 15),
    Condition(10, 20, True, 20, 30, 10),
    Condition(100, 1, True, 5, 10, 4),
    Condition(100, 20, False, 5, 8, 4),
)


def _ramp(at: Condition) -> dict[str, int]:
    """RED's thresholds in packets: from 12 ms, but at least 5 packets, to three times that."""
    low = max(5, at.packets(0.012))
    return {"min": low, "max": 3 * low, "limit": 20 * low, "burst": 2 * low}


def _red(at: Condition, more: str = "") -> str:
    numbers = _ramp(at)
    sizes = " ".join(f"{name} {numbers[name] * oracle.FRAME}" for name in ("limit", "min", "max"))
    ecn = " ecn" if at.ecn else ""
    rest = f"probability 0.1 bandwidth {at.rate_mbps * 1000:.0f}kbit"
    return f"{sizes} avpkt {oracle.FRAME} burst {numbers['burst']} {rest}{ecn}{more}"


def _choke(at: Condition) -> str:
    numbers = " ".join(f"{name} {value}" for name, value in _ramp(at).items())
    rest = f"avpkt {oracle.FRAME} probability 0.1 bandwidth {at.rate_mbps * 1000:.0f}kbit"
    return f"choke {numbers} {rest}{' ecn' if at.ecn else ''}"


def _sfq(at: Condition) -> str:
    """SFQ marks with RED alone, which looks at each flow's queue."""
    red = f"redflowlimit {100 * oracle.FRAME} min {3 * oracle.FRAME} max {9 * oracle.FRAME} avpkt {oracle.FRAME}"
    return f"sfq {red} burst 6 probability 0.1 ecn" if at.ecn else "sfq"


def _sfb(at: Condition) -> str:
    bins = "max 25 target 20" if at.flows == 1 else "max 10 target 5"
    return f"sfb limit 1000 {bins} increment 0.0025 decrement 0.00025"


def _with_ecn(kind: str, no: str = "") -> Callable[[Condition], str]:
    return lambda at: f"{kind} ecn" if at.ecn else f"{kind} {no}".strip()


#: tc's arguments of each discipline, then those of a change.
DISCIPLINES: dict[str, Callable[[Condition], tuple[str, ...]]] = {
    "codel": lambda at: (_with_ecn("codel")(at),),
    "fq_codel": lambda at: (_with_ecn("fq_codel", "noecn")(at),),
    "pie": lambda at: (_with_ecn("pie")(at),),
    "fq_pie": lambda at: (_with_ecn("fq_pie")(at),),
    "cake": lambda _: ("cake",),
    "red": lambda at: (f"red {_red(at)}",),
    "red adaptive": lambda at: (f"red {_red(at, ' adaptive')}",),
    "gred": lambda at: ("gred setup DPs 1 default 0", f"gred {_red(at).removesuffix(' ecn')} DP 0{' ecn' * at.ecn}"),
    "choke": lambda at: (_choke(at),),
    "sfq": lambda at: (_sfq(at),),
    "sfb": lambda at: (_sfb(at),),
    "dualpi2": lambda _: ("dualpi2 any_ect",),
}


def setting(discipline: str, at: Condition) -> oracle.Setting:
    """The run. DualPI2 has a flow of DCTCP in L for each of CUBIC in C where ECN is on."""
    flows = oracle.Flows(number=at.flows, cc="cubic", ecn=at.ecn)
    groups: tuple[oracle.Flows, ...] = (flows,)
    if discipline == "dualpi2" and at.ecn:
        each = max(1, at.flows // 2)
        groups = (oracle.Flows(number=each, cc="cubic"), oracle.Flows(number=each, cc="dctcp", ecn=True))
    return oracle.Setting(
        rate_bps=round(at.rate_mbps * 1e6),
        delay_s=at.delay_ms / 1e3,
        groups=groups,
        qdisc=DISCIPLINES[discipline](at),
        duration_s=at.duration_s,
        warmup_s=at.warmup_s,
    )


def judged(result: dict[str, Any]) -> dict[str, str]:
    """How each metric agrees that either side has."""
    sides = [result[side]["summary"] for side in ("kernel", "simulator")]
    return {
        metric: agrees(*(side[metric] for side in sides))
        for metric in JUDGED
        if any(side[metric]["mean"] for side in sides)
    }


def table(results: dict[str, list[dict[str, Any]]]) -> str:
    """The pairs as Markdown, a row for each condition of each discipline."""
    head = ["", *JUDGED.values(), "utilization"]
    lines = [head, ["---"] * len(head)]
    for discipline, found in results.items():
        for at, result in zip(CONDITIONS, found, strict=False):
            how = judged(result)
            row = [f"{discipline}: {at}"]
            for metric in (*JUDGED, "utilization"):
                kernel, ours = (result[side]["summary"][metric] for side in ("kernel", "simulator"))
                text = f"{oracle.shown(kernel)} → {oracle.shown(ours)}"
                if kernel["mean"]:
                    text += f", {oracle.difference(kernel, ours):+.1f} %"
                text = {"interval": f"{text} *i*", "no": f"**{text}**"}.get(how.get(metric, "yes"), text)
                row.append(text if kernel["mean"] or ours["mean"] else "0")
            lines.append(row)
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def summary(results: dict[str, list[dict[str, Any]]]) -> str:
    """How many pairs agree, of each discipline."""
    lines = [["discipline", *JUDGED.values(), "all"], ["---"] * (len(JUDGED) + 2)]
    total: dict[str, list[str]] = {metric: [] for metric in JUDGED}
    for discipline, found in results.items():
        each = {metric: [how[metric] for how in map(judged, found) if metric in how] for metric in JUDGED}
        for metric, how in each.items():
            total[metric] += how
        lines.append([discipline, *_counts(each)])
    lines.append(["all", *_counts(total)])
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def _counts(each: dict[str, list[str]]) -> list[str]:
    columns = [*each.values(), [how for found in each.values() for how in found]]
    return [f"{len(found) - found.count('no')}/{len(found)}" if found else "–" for found in columns]


def block(results: dict[str, list[dict[str, Any]]]) -> str:
    """What the page has between its two lines."""
    first = next(iter(results.values()))[0]
    how = [each for found in results.values() for result in found for each in judged(result).values()]
    agreed = len(how) - how.count("no")
    seeds = ", ".join(str(seed) for seed in first["kernel"]["seeds"])
    return f"""\
**{agreed} of {len(how)} pairs agree ({100 * agreed / len(how):.1f} %)**: {how.count("yes")} within 10 %,
{how.count("interval")} by the interval alone. Linux {first["release"]}, seeds {seeds}; {oracle.SIMULATED_SEEDS}
simulated.

{summary(results)}
*i*: agrees by the joint interval alone. **Bold**: differs.

{table(results)}"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="disciplines.py", description=(__doc__ or "").split("\n")[0], allow_abbrev=False
    )
    parser.add_argument("disciplines", nargs="*", metavar="NAME", help=f"of {', '.join(DISCIPLINES)} [all]")
    parser.add_argument("--seeds", type=oracle.seeds, default=[7, 8, 9], help="qemu's (7,8,9)")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="results; what guests said is kept there"
    )
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--cache", type=Path, default=oracle.CACHE, help="unpacked packages (~/.cache/penstock-oracle)")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.disciplines if name not in DISCIPLINES]:
        parser.error(f"{unknown[0]!r} is none of {', '.join(DISCIPLINES)}")
    results = {}
    try:
        for name in options.disciplines or DISCIPLINES:
            settings = [setting(name, at) for at in CONDITIONS]
            print(name, file=sys.stderr)
            results[name] = oracle.run(
                settings, options.seeds, options.cache, True, None, simulator=True, keep=options.out / "guests"
            )
    except UnavailableError as error:
        print(f"disciplines.py: {error}", file=sys.stderr)
        return oracle.UNAVAILABLE
    except GuestError as error:
        print(f"disciplines.py: {error}", file=sys.stderr)
        return 1
    write(options.out / "disciplines.json", (json.dumps(results, indent=1) + "\n").encode())
    text = block(results)
    if options.page:
        before, after = PAGE.read_text(encoding="utf-8").split(BEGIN)
        write(PAGE, f"{before}{BEGIN}\n{text}\n{END}{after.split(END)[1]}".encode())
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
