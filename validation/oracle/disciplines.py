"""Queue disciplines of Debian's kernel beside Penstock's: the page docs/validation-kernel.md.

Each of the kernel's disciplines runs under six conditions with real TCP; our simulator runs the scenario that
`penstock config --from tc` reads from the kernel's own state, its hosts with `profile = "linux"`. pairs.py says when
a pair agrees.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import oracle
import pairs
from image import HERE, write

#: What has to agree, and the heading of its column.
JUDGED = {
    "queue_mean_pkts": "queue, packets",
    "queue_p99_pkts": "99th percentile",
    "marks_per_s": "marks/s",
    "drops_per_s": "drops/s",
}

#: Shown beside it.
BESIDE = ("utilization",)

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


def _bandwidth(at: Condition) -> str:
    return f"probability 0.1 bandwidth {at.rate_mbps * 1000:.0f}kbit"


def _red(at: Condition) -> str:
    """RED's parameters in bytes."""
    numbers = _ramp(at)
    sizes = " ".join(f"{name} {numbers[name] * oracle.FRAME}" for name in ("limit", "min", "max"))
    return f"{sizes} avpkt {oracle.FRAME} burst {numbers['burst']} {_bandwidth(at)}"


def _choke(at: Condition) -> str:
    """The same in packets."""
    numbers = " ".join(f"{name} {value}" for name, value in _ramp(at).items())
    return f"choke {numbers} avpkt {oracle.FRAME} {_bandwidth(at)}"


def _sfq(at: Condition) -> str:
    """SFQ marks with RED alone, which looks at each flow's queue."""
    red = f"redflowlimit {100 * oracle.FRAME} min {3 * oracle.FRAME} max {9 * oracle.FRAME} avpkt {oracle.FRAME}"
    return f"sfq {red} burst 6 probability 0.1 ecn" if at.ecn else "sfq"


def _sfb(at: Condition) -> str:
    bins = "max 25 target 20" if at.flows == 1 else "max 10 target 5"
    return f"sfb limit 1000 {bins} increment 0.0025 decrement 0.00025"


def _ecn(line: str, at: Condition, no: str = "") -> str:
    """The line with the word for ECN; no: that for none."""
    return f"{line} {'ecn' if at.ecn else no}".strip()


#: tc's arguments of each discipline, then those of a change.
DISCIPLINES: dict[str, Callable[[Condition], tuple[str, ...]]] = {
    "codel": lambda at: (_ecn("codel", at),),
    "fq_codel": lambda at: (_ecn("fq_codel", at, "noecn"),),
    "pie": lambda at: (_ecn("pie", at),),
    "fq_pie": lambda at: (_ecn("fq_pie", at),),
    "cake": lambda _: ("cake",),
    "red": lambda at: (_ecn(f"red {_red(at)}", at),),
    "red adaptive": lambda at: (f"{_ecn(f'red {_red(at)}', at)} adaptive",),
    "gred": lambda at: ("gred setup DPs 1 default 0", _ecn(f"gred {_red(at)} DP 0", at)),
    "choke": lambda at: (_ecn(_choke(at), at),),
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


def table(results: dict[str, list[dict[str, Any]]]) -> str:
    """The pairs as Markdown, a row for each condition of each discipline."""
    rows = (
        [f"{discipline}: {at}", *pairs.cells(result, JUDGED, BESIDE)]
        for discipline, found in results.items()
        for at, result in zip(CONDITIONS, found, strict=True)
    )
    return pairs.table(["", *JUDGED.values(), *BESIDE], rows)


def summary(judged: dict[str, list[dict[str, str]]]) -> str:
    """How many pairs agree, of each discipline and of all."""
    everything = {"all": [how for found in judged.values() for how in found]}
    rows = []
    for name, found in (judged | everything).items():
        rows.append([name, *_counts({metric: [how[metric] for how in found if metric in how] for metric in JUDGED})])
    return pairs.table(["discipline", *JUDGED.values(), "all"], rows)


def _counts(each: dict[str, list[str]]) -> list[str]:
    columns = [*each.values(), [how for found in each.values() for how in found]]
    return [f"{len(found) - found.count('no')}/{len(found)}" if found else "–" for found in columns]


def block(results: dict[str, list[dict[str, Any]]]) -> str:
    """What the page has between its two lines."""
    first = next(iter(results.values()))[0]
    judged = {name: [pairs.judged(result, JUDGED) for result in found] for name, found in results.items()}
    how = [each for found in judged.values() for result in found for each in result.values()]
    agreed = len(how) - how.count("no")
    seeds = ", ".join(str(seed) for seed in first["kernel"]["seeds"])
    return f"""\
**{agreed} of {len(how)} pairs agree ({100 * agreed / len(how):.1f} %)**: {how.count("yes")} within 10 %,
{how.count("interval")} by the interval alone. Linux {first["release"]}, seeds {seeds}; {oracle.SIMULATED_SEEDS}
simulated.

{summary(judged)}
*i*: agrees by the joint interval alone. **Bold**: differs.

{table(results)}"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit status."""
    parser = pairs.parser("disciplines.py", __doc__, [7, 8])
    parser.add_argument("disciplines", nargs="*", metavar="NAME", help=f"of {', '.join(DISCIPLINES)} [all]")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.disciplines if name not in DISCIPLINES]:
        parser.error(f"{unknown[0]!r} is none of {', '.join(DISCIPLINES)}")

    def work() -> None:
        results = {}
        for name in options.disciplines or DISCIPLINES:
            print(name, file=sys.stderr)
            results[name] = pairs.compared([setting(name, at) for at in CONDITIONS], options)
        write(options.out / "disciplines.json", (json.dumps(results, indent=1) + "\n").encode())
        text = block(results)
        if options.page:
            pairs.put(PAGE, BEGIN, END, text)
        print(text, end="")

    return oracle.status("disciplines.py", work)


if __name__ == "__main__":
    sys.exit(main())
