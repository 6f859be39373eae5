"""Our RED in the kernel beside the kernel's own: a table in docs/kernel.md.

`sch_red` below htb, and `penstock-kernel` with the same parameters above a plain queue below htb, under the same real
TCP; then what a packet costs in each. In the same virtual machine as oracle.py's.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import machine
import oracle
import pairs
from debian import Packages, packages
from image import HERE, image, write
from machine import GuestError
from oracle import Flows, Metrics, Setting
from penstock.kernel import device
from penstock.kernel.words import told
from penstock.model.scenario import Scenario, literal

#: The page, and the lines between which each table stands.
PAGE = HERE.parents[1] / "docs" / "kernel.md"
PLACES = ("beside sch_red", "cost")

#: The virtual queue's packets leave as htb's do; so the plain queue never drops.
PLAIN = "bfifo limit 3000000"
JUDGED = {"queue_mean_pkts": "queue, packets", "marks_per_s": "marks/s", "drops_per_s": "drops/s"}
BESIDE = {"utilization": "utilization", "goodput_bps": "goodput, bit/s"}
WITHOUT = oracle.RED.removesuffix(" ecn")
CASES: Mapping[str, Setting] = {
    "4 flows, ECN": Setting(groups=(Flows(ecn=True),), qdisc=(oracle.RED,)),
    "4 flows, no ECN": Setting(qdisc=(WITHOUT,)),
}


# ---- under TCP


def with_program(setting: Setting, state: oracle.State) -> Setting:
    """The same with our program in the place of the kernel's RED.

    state: what the kernel shows of its RED, which is read as `penstock config --from tc` reads it.
    """
    written = setting.scenario(state)
    del written["overhead"]  # the program counts as tc does
    return replace(setting, qdisc=(PLAIN,), program=_document(written))


def _document(written: Mapping[str, Any]) -> str:
    scenario = Scenario.from_toml("".join(f"{key} = {literal(value)}\n" for key, value in written.items()))
    return json.dumps({"words": told(scenario).words, "scenario": scenario.to_toml()})


def metrics(document: dict[str, Any], setting: Setting) -> Metrics:
    """What the looks at the qdisc say, with what the program has counted between the first and the last."""
    found = oracle.kernel_metrics(document, setting)
    first, last = document["program"]
    seconds: float = (last["now_ns"] - first["now_ns"]) / 1e9

    def rate(*names: str) -> float:
        return float(sum(last["state"][name] - first["state"][name] for name in names)) / seconds

    drops = rate("drops_early", "drops_forced", "drops_overflow") + float(found["drops_per_s"] or 0)
    return found | {"marks_per_s": rate("marks_ce"), "drops_per_s": drops}


def compared(fetched: Packages, program: Path, seeds: Sequence[int], keep: Path) -> list[dict[str, Any]]:
    """What both make of each case, in the form of oracle.py's results."""
    settings = list(CASES.values())
    wanted = list(dict.fromkeys(name for each in settings for name in each.modules()))
    states = oracle.queues(settings, fetched, wanted, {}, keep)
    sides = {
        "kernel": (settings, None, oracle.kernel_metrics),
        "simulator": ([with_program(*each) for each in zip(settings, states, strict=True)], program, metrics),
    }
    results: list[dict[str, Any]] = [{} for _ in settings]
    for name, (asked, ours, of) in sides.items():
        content = image(fetched, oracle.texts(asked, states, True), ours, wanted=wanted)
        documents = _booted(fetched, content, seeds, keep, name)
        for setting, result, runs in zip(asked, results, zip(*documents, strict=True), strict=True):
            found = [of(document, setting) for document in runs]
            result[name] = {"seeds": list(seeds), "runs": found, "summary": oracle.summary(found)}
    return results


def _booted(fetched: Packages, content: bytes, seeds: Sequence[int], keep: Path, name: str) -> list[list[Any]]:
    limit_s = 600 + 60 * sum(each.duration_s for each in CASES.values())

    def of(seed: int) -> list[Any]:
        return oracle.kept(keep, content, seed, lambda archive: oracle.boot(fetched, archive, seed, limit_s), name)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(of, seeds))


# ---- the cost


#: Packets of one run: fewer than the program's ring holds.
SENT = 16_000
SENDS = (f"count {SENT}", "pkt_size 1000", "delay 0", "xmit_mode queue_xmit", "dst 10.9.0.2", "tos 02")
#: More than all of them.
ALL = 17_000_000
PLAIN_QUEUE, RAMP = (
    f"bfifo limit {ALL}",
    f"red limit {ALL} min 5000 max {ALL} avpkt 1000 burst 20 probability 0.01 bandwidth 10gbit ecn",
)


def _document_of_ramp(rate: str) -> str:
    """RAMP as ours, on a virtual queue of that rate."""
    aqm = {"kind": "red", "unit": "bytes", "mean_packet": "1000 B", "min_th": "5000 B", "max_th": f"{ALL} B"}
    more = {"max_p": 0.01, "w_q": 1 / 16, "gentle": False, "ecn": True, "forced": "mark"}
    link = {"rate": rate, "delay": "0 s", "buffer": f"{ALL} B"}
    topology = {"kind": "dumbbell", "bottleneck": link}
    return _document({"duration": "1 s", "topology": topology, "aqm": aqm | more, "traffic": [{"kind": "ftp"}]})


#: The first is without RED. The device sends at once, so the kernel's queue is empty. On a slow link the virtual one
#: grows from the start of the ramp to its end.
COSTS = {
    "": (PLAIN_QUEUE, ""),
    "`sch_red`, an empty queue": (RAMP, ""),
    "program, an empty queue": (PLAIN_QUEUE, "10 Gbit/s"),
    "program, on the ramp": (PLAIN_QUEUE, "8 kbit/s"),
}


def costs(fetched: Packages, program: Path, keep: Path) -> dict[str, float]:
    """Instructions a packet, more than without RED."""
    files: dict[str, bytes] = {}
    for number, (qdisc, rate) in enumerate(COSTS.values()):
        case = {"qdiscs": f"qdisc add dev d0 root {qdisc}", "sends": "\n".join(SENDS)}
        case |= {"program.json": _document_of_ramp(rate)} if rate else {}
        files |= {f"cases/{number}/{name}": f"{text}\n".encode() for name, text in case.items()}
    content = image(fetched, files, program, "cost.sh", ("dummy", "pktgen", "sch_red"))

    def ask(archive: Path) -> list[dict[str, Any]]:
        return [json.loads(line) for line in machine.said(fetched, archive, 1, 1200).splitlines()]

    said = oracle.kept(keep, content, 1, ask, "costs")
    if len(said) != 2 * len(COSTS):
        raise GuestError(f"{2 * len(COSTS)} costs are wanted, {len(said)} came")
    without, *others = (1000 * document["us"] / SENT for document in said[len(COSTS) :])
    return {name: cost - without for name, cost in zip(list(COSTS)[1:], others, strict=True)}


# ---- the page


def tables(results: Sequence[dict[str, Any]], cost: Mapping[str, float]) -> tuple[str, str]:
    """What the page has in each of its places."""
    rows = ([name, *pairs.cells(result, JUDGED, tuple(BESIDE))] for name, result in zip(CASES, results, strict=True))
    beside = pairs.table(["`sch_red` → program", *JUDGED.values(), *BESIDE.values()], rows)
    return beside, pairs.table(["", "instructions"], ([name, f"{each:.0f}"] for name, each in cost.items()))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit status."""
    parser = pairs.parser("program.py", __doc__, [7, 8, 9, 10, 11])
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args(arguments)

    def work() -> None:
        program = device.program()
        if program is None:
            raise GuestError(f"no {device.PROGRAM}: make mecn builds it")
        fetched, keep = packages(options.cache), options.out / "guests"
        cost = costs(fetched, Path(program), keep)
        results = compared(fetched, Path(program), options.seeds, keep)
        write(options.out / "program.json", (json.dumps([results, cost], indent=1) + "\n").encode())
        for place, text in zip(PLACES, tables(results, cost), strict=True):
            if options.page:
                pairs.put(
                    PAGE, f"<!-- {place}: made by validation/oracle/program.py -->\n", f"<!-- {place}: end -->\n", text
                )
            print(text)

    return oracle.status("program.py", work)


if __name__ == "__main__":
    sys.exit(main())
