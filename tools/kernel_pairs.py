"""The kernel's disciplines beside the emulator's, under real TCP: the table in docs/kernel.md.

    tools/kernel_pairs.py [--sets N] [--seconds S] [--kinds KIND,…] [--jobs N] [--page]

Draws N sets of parameters a kind, runs each in the kernel and in the emulator (`kernel_side`),
keeps all pairs in `docs/kernel/pairs.csv`, and writes the tables again from there. Both sides of a
pair run at the same time, so that they share what else the machine does. Needs root and
`penstock-kernel`. `--page`: only the tables.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kernel_side import BETWEEN_S, FRAME, Flows, Setting, measured
from penstock import _files
from penstock.judging.estimate import FROM_ZERO, Estimate
from penstock.kernel.words import KINDS
from penstock.validate.agreement import ZERO, Rule, Value, Verdict, judge
from tables import filled, table

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "kernel.md"
PAIRS = ROOT / "docs" / "kernel" / "pairs.csv"
SIDES = ("emulator", "kernel")
#: What has to agree within a tenth, or within the joint interval.
BOUND = 0.1
#: Metric → its column in the tables.
RULES = {
    "queue_mean_pkts": "queue, packets",
    "marks_per_s": "marks/s",
    "drops_per_s": "drops/s",
    "received_bps": "received, bit/s",
}
#: A signal that comes more seldom, a second, is not counted: a window has a handful of them.
SIGNALS, SELDOM = ("marks_per_s", "drops_per_s"), 0.5
#: A pair is measured again where the machine did not keep up.
TRIES = 3


# ---- sets of parameters


class Draw:
    """One set: the link and its load, and numbers that fit them."""

    def __init__(self, kind: str, number: int) -> None:
        self.random = random.Random(f"{kind} {number}")
        self.rate = self.between(5, 20)
        self.trip = self.between(20, 80)
        self.flows = self.random.randint(2, 8)
        self.cc = self.one_of("reno", "cubic")
        self.ecn = self.one_of(True, False)

    def between(self, low: float, high: float) -> float:
        """Returns a number of three digits, of which the logarithm is uniform."""
        return float(f"{low * (high / low) ** self.random.random():.3g}")

    def one_of(self, *those: Any) -> Any:
        """Returns one of those."""
        return self.random.choice(those)

    def packets(self, milliseconds: float) -> float:
        """Returns how many packets the link sends meanwhile."""
        return round(max(3.0, self.rate * milliseconds / 8e-3 / FRAME), 1)


def _average(d: Draw) -> dict[str, Any]:
    low = d.packets(d.between(4, 12))
    return {
        "w_q": d.between(0.005, 0.1),
        "gate": d.one_of("uniform", "wait", "geometric"),
        "idle": d.one_of("exact", "floor"),
        "first_passes": d.one_of(True, False),
        "byte_mode": d.one_of(True, False),
        "count_in_service": d.one_of(True, False),
        "min_th": low,
        "max_th": round(low * d.between(2, 4), 1),
        "ecn": d.ecn,
    }


def _red(d: Draw) -> dict[str, Any]:
    gentle = {"gentle": d.one_of(True, False), "gentle_tracks_max_p": d.one_of(True, False)}
    return _average(d) | gentle | {"max_p": d.between(0.03, 0.3)}


def _ared(d: Draw) -> dict[str, Any]:
    clock = {"interval": f"{d.between(100, 500)} ms", "adapt_on": d.one_of("interval", "arrival")}
    return _red(d) | clock | {"alpha": d.between(0.005, 0.03), "beta": d.between(0.8, 0.95)}


def _mecn(d: Draw) -> dict[str, Any]:
    ramp = _average(d)
    middle = d.between(ramp["min_th"] * 1.1, ramp["max_th"] * 0.9)
    ceilings = {"p1_max": d.between(0.03, 0.3), "p2_max": d.between(0.03, 0.3)}
    return (
        ramp
        | ceilings
        | {
            "mid_th": round(middle, 1),
            "above_max": d.one_of("gentle-drop", "gentle-mark", "drop"),
            "ecn": True,
        }
    )


def _amecn(d: Draw) -> dict[str, Any]:
    clock = {"interval": f"{d.between(100, 500)} ms", "adapt": d.one_of("both", "p1")}
    return _mecn(d) | clock | {"alpha_scale": d.between(0.5, 2), "deadband": d.one_of(True, False)}


def _rared(d: Draw) -> dict[str, Any]:
    return _red(d) | {
        "slope_th": d.between(5, 50),
        "climb": d.one_of("bernoulli", "ramp", "once"),
        "max_p_climb": d.between(0.1, 0.8),
        "slope_of": d.one_of("average", "instantaneous"),
        "base": d.one_of("red", "ared"),
    }


def _nred(d: Draw) -> dict[str, Any]:
    return _average(d) | {"n_0": d.between(1, 3), "n_step": d.between(0.2, 1)}


def _red_at(d: Draw) -> dict[str, Any]:
    return _red(d) | {
        "hold": d.random.randint(1, 8),
        "region_a": d.one_of("min_plus", "min_minus"),
        "reset": d.one_of(True, False),
        "alpha": d.between(0.05, 0.3),
        "beta": d.between(0.02, 0.1),
    }


def _step(d: Draw) -> dict[str, Any]:
    of = d.one_of("queue", "sojourn", "phantom")
    low, wide = d.between(3, 10), d.between(1.5, 3)
    d.ecn = d.ecn or of != "queue"
    ramp = d.one_of(True, False)
    if of == "sojourn":
        ends: dict[str, Any] = {"sojourn": f"{low} ms"} | (
            {"sojourn_max": f"{low * wide:.3g} ms"} if ramp else {}
        )
    else:
        there = d.packets(low)
        ends = {"threshold": there, "of": of} | ({"kmax": round(there * wide, 1)} if ramp else {})
        if of == "phantom":
            ends["gamma"] = d.between(0.9, 0.99)
    shape = {"pmax": d.between(0.1, 1), "spread": d.one_of("recur", "random")} if ramp else {}
    return ends | shape | {"not_capable": "drop"}


def _pi(d: Draw) -> dict[str, Any]:
    b = d.between(1e-4, 1e-3)
    gains = {"a": b * (1 + d.between(0.003, 0.03)), "b": b, "w": d.between(50, 200)}
    return gains | {"q_ref": d.packets(d.between(8, 20)), "ecn": d.ecn}


def _pi2(d: Draw) -> dict[str, Any]:
    return {
        "target": f"{d.between(8, 25)} ms",
        "t_update": f"{d.between(10, 30)} ms",
        "alpha": d.between(0.08, 0.3),
        "beta": d.between(1.5, 5),
        "decides": "arrival",
        "ecn": d.ecn,
    }


def _pie(d: Draw) -> dict[str, Any]:
    return {
        "qdelay_ref": f"{d.between(8, 25)} ms",
        "t_update": f"{d.between(10, 30)} ms",
        "alpha": d.between(0.06, 0.25),
        "beta": d.between(0.6, 2.5),
        "mark_ecnth": d.between(0.05, 0.3),
        "delay_from": "timestamps",
        "derandomize": d.one_of(True, False),
        "ecn": d.ecn,
    }


def _avq(d: Draw) -> dict[str, Any]:
    virtual = d.packets(d.between(10, 40))
    return {
        "gamma": d.between(0.9, 0.99),
        "alpha": d.between(0.05, 0.3),
        "virtual_buffer": virtual,
        "ecn": d.ecn,
    }


OF_KIND: Mapping[str, Callable[[Draw], dict[str, Any]]] = {
    "red": _red,
    "ared": _ared,
    "mecn": _mecn,
    "amecn": _amecn,
    "rared": _rared,
    "nred": _nred,
    "red-at": _red_at,
    "wred": _red,
    "step": _step,
    "pi": _pi,
    "pi2": _pi2,
    "pie": _pie,
    "avq": _avq,
}
#: WRED's three colours by their drop precedence (AF11, AF12, AF13).
COLOURS = (10, 12, 14)


def drawn(kind: str, number: int) -> Setting:
    """Returns one of a kind's sets; a number is always the same set."""
    d = Draw(kind, number)
    aqm = {"kind": kind, "mean_packet": f"{FRAME} B", **OF_KIND[kind](d)}
    high = aqm.get("max_th") or d.packets(30)
    flows: tuple[Flows, ...] = (Flows(d.flows, d.cc),)
    if kind == "wred":
        flows = tuple(Flows(max(1, d.flows // 3), d.cc, dscp) for dscp in COLOURS)
    return Setting(
        aqm=aqm,
        rate=d.rate,
        trip=d.trip,
        buffer=round(high * d.between(1.5, 4)),
        flows=flows,
        ecn=d.ecn or kind in ("mecn", "amecn"),
    )


# ---- runs


def both(setting: Setting, number: int, looks: int) -> dict[str, dict[str, Any]]:
    """Returns what the two sides measure at the same time, each in a process of its own."""
    started = {}
    for side in SIDES:
        line = [sys.executable, __file__, "--side", side]
        pipe = subprocess.PIPE
        process = subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        assert process.stdin is not None
        json.dump({"setting": asdict(setting), "looks": looks, "seed": number + 1}, process.stdin)
        process.stdin.close()
        process.stdin = None
        started[side] = process
    found = {}
    for side, process in started.items():
        out, err = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{side}: {err}")
        found[side] = json.loads(out)
    return found


def one_side(side: str, text: str) -> str:
    """Measures what a process of `both` is told."""
    told = json.loads(text)
    keys = told["setting"]
    setting = Setting(**{**keys, "flows": tuple(Flows(*each) for each in keys["flows"])})
    in_kernel = side == "kernel"
    found = measured(setting, in_kernel=in_kernel, looks=told["looks"], seed=told["seed"])
    return json.dumps(found)


def rows_of(kind: str, number: int, found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields a row for each metric of a pair."""
    for name in RULES:
        there, here = (_value(found[side]["rows"], name) for side in SIDES)
        verdict = _verdict(name, there, here)
        yield {
            "kind": kind,
            "set": number,
            "metric": name,
            "emulator": f"{there.mean:.6g}",
            "emulator_ci95": f"{there.half:.3g}",
            "kernel": f"{here.mean:.6g}",
            "kernel_ci95": f"{here.half:.3g}",
            "looks": here.n,
            "shaper_pkts": f"{found['kernel']['waiting']:.4g}" if name == "queue_mean_pkts" else "",
            "valid": "yes" if valid(found) else "no",
            "agrees": {None: "", True: "yes", False: "no"}[verdict.agrees],
            "why": verdict.why,
        }


def valid(found: Mapping[str, Any]) -> bool:
    """Returns whether the machine kept up on both sides, and each packet was decided alone.

    A shaper that is late for long has a longer queue than the virtual one.
    """
    sides = [found[side] for side in SIDES]
    virtual = _value(found["kernel"]["rows"], "queue_mean_pkts").mean
    on_time = found["kernel"]["waiting"] <= (1 + BOUND) * virtual
    return on_time and all(
        side["valid"] and not side["late_updates"] and not side["large"] for side in sides
    )


def _verdict(name: str, there: Value, here: Value) -> Verdict:
    if name in SIGNALS and max(there.mean, here.mean) < SELDOM:
        return Verdict(None, "", "seldom")
    if there.mean < ZERO:  # which has no tenth
        return Verdict(here.mean <= here.half, "", "interval")
    return judge(Rule(name, name, BOUND, BOUND), there, here)


def _value(rows: Sequence[Mapping[str, float]], name: str) -> Value:
    mean, half, n = Estimate.of([row[name] for row in rows], FROM_ZERO)
    return Value(mean or 0.0, half or 0.0, n)


def run(asked: Sequence[tuple[str, int]], looks: int, jobs: int) -> Iterator[dict[str, Any]]:
    """Yields the rows of all pairs, and tells of each on standard error."""

    def of(each: tuple[str, int]) -> list[dict[str, Any]]:
        for _ in range(TRIES):
            found = both(drawn(*each), each[1], looks)
            if valid(found):
                break
        rows = list(rows_of(*each, found))
        said = (f"{row['emulator']} {row['kernel']} {row['agrees']}" for row in rows)
        print(*each, rows[0]["valid"], *said, sep=", ", file=sys.stderr, flush=True)
        return rows

    with ThreadPoolExecutor(jobs) as pool:
        for rows in pool.map(of, asked):
            yield from rows


# ---- the page


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes rows of the same columns."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    _files.write(path, text.getvalue())


def read_csv(path: Path) -> list[dict[str, str]]:
    """Reads them."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _key(row: Mapping[str, Any]) -> tuple[int, int, str]:
    return KINDS.index(row["kind"]), int(row["set"]), row["metric"]


def page(text: str, pairs: Sequence[Mapping[str, str]]) -> str:
    """Returns the page with its tables written again."""
    judged = [row for row in pairs if row["valid"] == "yes" and row["agrees"]]
    lines = []
    for name in (*KINDS, "all"):
        mine = [row for row in judged if name in (row["kind"], "all")]
        if mine:
            lines.append([f"`{name}`" if name != "all" else name, *_share(mine)])
    counts = table(["kind", *RULES.values(), "all", "by interval alone"], lines, "lr")
    differ = [
        [
            f"`{row['kind']}` {row['set']}",
            RULES[row["metric"]],
            *(_shown(row, side) for side in SIDES),
        ]
        for row in judged
        if row["agrees"] == "no"
    ]
    text = filled(text, "tools/kernel_pairs.py: counts", counts)
    differs = table(["set", "metric", *SIDES], differ, "llr")
    return filled(text, "tools/kernel_pairs.py: differ", differs)


def _shown(row: Mapping[str, str], side: str) -> str:
    return f"{float(row[side]):.3g} ± {float(row[f'{side}_ci95']):.2g}"


def _share(rows: Sequence[Mapping[str, str]]) -> list[str]:
    cells = []
    for metric in (*RULES, None):
        mine = [row for row in rows if metric in (None, row["metric"])]
        agree = sum(row["agrees"] == "yes" for row in mine)
        cells.append(f"{agree}/{len(mine)}" if mine else "–")
    alone = sum(row["agrees"] == "yes" and row["why"] == "interval" for row in rows)
    return [*cells, str(alone)]


# ---- the command


def main(arguments: Sequence[str]) -> int:
    """Compares, and writes the page; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", type=int, default=10, help="sets of parameters a kind (10)")
    parser.add_argument("--seconds", type=int, default=32, help="measured of each (32)")
    parser.add_argument("--kinds", default=",".join(KINDS), help="which, with commas (all)")
    parser.add_argument("--jobs", type=int, default=4, help="pairs at a time (4)")
    parser.add_argument("--page", action="store_true", help="only write the table again")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.side:
        print(one_side(asked.side, sys.stdin.read()))
        return 0
    if not asked.page:
        pairs = [(kind, number) for number in range(asked.sets) for kind in asked.kinds.split(",")]
        kept = {_key(row): row for row in (read_csv(PAIRS) if PAIRS.exists() else [])}
        for row in run(pairs, max(2, round(asked.seconds / BETWEEN_S)), asked.jobs):
            kept[_key(row)] = row
            write_csv(PAIRS, [kept[key] for key in sorted(kept)])
    _files.write(PAGE, page(PAGE.read_text(encoding="utf-8"), read_csv(PAIRS)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
