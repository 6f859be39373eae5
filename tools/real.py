"""`make validate-real`: the simulator against this machine's kernel, for docs/validation-real.md.

    tools/real.py [--real DIR] [--seeds N] [--page]

Writes the cases' scenarios into `out/validate-real/scenarios`, compares each by `penstock
validate-real`, keeps every pair in `docs/validation-real/pairs.csv`, and writes the tables of the
page again from that file and from `docs/validation-real/causes.csv`, which has the cause of each
pair that differs. `--real`: real runs that were kept before, as `validate-real --out` keeps them;
without it all are measured, 80 minutes. `--page`: only the page.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock import _files
from tables import filled, table

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "validation-real.md"
PAIRS = ROOT / "docs" / "validation-real" / "pairs.csv"
CAUSES = ROOT / "docs" / "validation-real" / "causes.csv"
OUT = ROOT / "out" / "validate-real"

CONTROLS = ("reno", "cubic", "bbr")
QUEUES = ("droptail", "red", "codel", "pie", "fq-codel")
RATES_MBPS = (1.5, 10, 100)
ROUND_TRIPS_MS = (10, 100)
FLOWS = (1, 4, 20)
PACKET = 1500


@dataclass(frozen=True, slots=True)
class Case:
    """One scenario.

    groups: a control and how many flows have it. bdp: DropTail's buffer in bandwidth-delay
    products.
    """

    groups: tuple[tuple[str, int], ...]
    queue: str
    rate_mbps: float
    round_trip_ms: int
    bdp: float | None = None

    @property
    def key(self) -> str:
        """The name of its file."""
        path = f"{self.queue}-{self.rate_mbps:g}-{self.round_trip_ms}"
        if len(self.groups) > 1:
            return f"mix-{path}" + ("" if self.bdp is None else f"-{self.bdp:g}bdp")
        ((control, flows),) = self.groups
        return f"{control}-{path}-{flows}"

    @property
    def title(self) -> str:
        """Its name in tables."""
        path = f"{self.queue}, {self.rate_mbps:g} Mbit/s, {self.round_trip_ms} ms"
        if len(self.groups) > 1:
            return f"half cubic, half bbr, {path}" + (
                "" if self.bdp is None else f", {self.bdp:g} BDP"
            )
        ((control, flows),) = self.groups
        return f"{control}, {path}, {flows} {'flow' if flows == 1 else 'flows'}"

    def toml(self) -> str:
        """The scenario."""
        packets = self.rate_mbps * 1e6 * self.round_trip_ms / 1e3 / 8 / PACKET
        if self.queue == "droptail":
            buffer = max(20 if self.bdp is None else 4, round(packets * (self.bdp or 1)))
        else:
            buffer = (
                max(60, round(2 * packets)) if self.queue == "red" else max(100, round(4 * packets))
            )
        lines = [
            f'name = "{self.title}"',
            'profile = "linux"',
            'duration = "26 s"',
            'measure = { from = "6 s" }',
            "seed = 1",
            "[topology]",
            'kind = "dumbbell"',
            f'bottleneck = {{ rate = "{self.rate_mbps:g} Mbit/s", '
            f'delay = "{self.round_trip_ms / 2:g} ms", '
            f'buffer = "{buffer} packets" }}',
            "[aqm]",
            f'kind = "{self.queue}"',
        ]
        if self.queue == "red":
            low = max(5, round(packets / 4))
            lines += [
                f"min_th = {low}",
                f"max_th = {3 * low}",
                f'mean_packet = "{PACKET} B"',
                "ecn = true",
            ]
        if self.queue == "fq-codel":
            lines.append('behind = "all"')
        for control, flows in self.groups:
            lines += [
                "[[traffic]]",
                'kind = "ftp"',
                f"flows = {flows}",
                'start = { uniform = ["0 s", "1 s"] }',
            ]
            lines.append(f'tcp = "{control}"')
            if self.queue in ("red", "fq-codel"):
                lines.append('ecn = "classic"')
        return "\n".join(lines) + "\n"


def cases() -> list[Case]:
    """Returns the cases: a fraction of all, six more, and the mixes."""
    return [*dict.fromkeys([*_crossed(), *_more()]), *_mixes()]


def _crossed() -> Iterator[Case]:
    for i, j, k in itertools.product(
        range(len(CONTROLS)), range(len(QUEUES)), range(len(RATES_MBPS))
    ):
        flows = FLOWS[(i + 2 * j + k) % len(FLOWS)]
        trip = ROUND_TRIPS_MS[(i + j + k) % len(ROUND_TRIPS_MS)]
        yield Case(((CONTROLS[i], flows),), QUEUES[j], RATES_MBPS[k], trip)


def _more() -> Iterator[Case]:
    """Yields what the fraction would leave uncrossed in one factor, or has with few flows alone."""
    yield Case((("reno", 20),), "droptail", 10, 100)
    yield Case((("cubic", 1),), "fq-codel", 100, 100)
    yield Case((("bbr", 4),), "droptail", 10, 10)
    yield Case((("cubic", 4),), "red", 10, 100)
    yield Case((("bbr", 1),), "codel", 1.5, 100)
    yield Case((("reno", 4),), "pie", 1.5, 100)


def _mixes() -> Iterator[Case]:
    both = (("cubic", 2), ("bbr", 2))
    for bdp in (0.5, 1.0, 4.0, 8.0):
        yield Case(both, "droptail", 10, 40, bdp)
    for queue in ("fq-codel", "codel", "red"):
        yield Case(both, queue, 10, 40)
    yield Case(both, "droptail", 100, 20, 1.0)


# ---- the page


@dataclass(frozen=True, slots=True)
class Cause:
    """Why pairs differ: the scenarios' names begin with `scenario`, the metrics with `metric`."""

    scenario: str
    metric: str
    cause: str

    def of(self, row: Mapping[str, str]) -> bool:
        """Returns whether it is this pair's."""
        return row["scenario"].startswith(self.scenario) and row["metric"].startswith(self.metric)


def rows(path: Path) -> list[dict[str, str]]:
    """Returns the rows of a file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def page(text: str) -> str:
    """Returns the page with its tables written again from the two files."""
    pairs = [row for row in rows(PAIRS) if row["bound"] and row["agrees"]]
    causes = [Cause(**row) for row in rows(CAUSES)]
    text = filled(text, "tools/real.py: counts", _counts(pairs))
    return filled(text, "tools/real.py: differ", _differ(pairs, causes))


def _counts(pairs: Sequence[Mapping[str, str]]) -> list[str]:
    metrics = dict.fromkeys(row["metric"].split(".")[0] for row in pairs)
    parts = {
        f"`{name}`": [row for row in pairs if row["metric"].split(".")[0] == name]
        for name in metrics
    }
    lines = []
    for name, mine in {**parts, "all": list(pairs)}.items():
        agree = [row for row in mine if row["agrees"] == "yes"]
        alone = [row for row in agree if row["why"] == "interval"]
        bound = f"{100 * float(mine[0]['bound']):g} %" if name != "all" else ""
        share = f"{100 * len(agree) / len(mine):.1f} %"
        lines.append([name, bound, str(len(mine)), str(len(agree)), share, str(len(alone))])
    return table(["metric", "bound", "pairs", "agree", "share", "by interval alone"], lines, "lr")


def _differ(pairs: Sequence[Mapping[str, str]], causes: Sequence[Cause]) -> list[str]:
    lines = []
    for row in pairs:
        if row["agrees"] == "no":
            cause = next((each.cause for each in causes if each.of(row)), "not found")
            lines.append(
                [
                    row["scenario"],
                    row["metric"],
                    row["real"],
                    row["simulated"],
                    row["difference"],
                    cause,
                ]
            )
    return table(
        ["scenario", "metric", "real", "simulated", "difference", "cause"], lines, "llrrrl"
    )


# ---- the command


def main(arguments: Sequence[str]) -> int:
    """Compares, and writes the page; returns the exit status."""
    parser = argparse.ArgumentParser(description="The simulator against this machine's kernel.")
    parser.add_argument("--real", type=Path, help="real runs that were kept before")
    parser.add_argument("--seeds", default="3", help="simulated runs of each case")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    asked = parser.parse_args(arguments)
    if not asked.page:
        files = []
        for case in cases():
            files.append(OUT / "scenarios" / f"{case.key}.toml")
            _files.write(files[-1], case.toml())
        command: list[str | Path] = [
            Path(sys.executable).with_name("penstock"),
            "validate-real",
            *files,
        ]
        command += ["--seeds", asked.seeds, "--out", OUT]
        if asked.real is not None:
            command += ["--real", asked.real]
        code = subprocess.run(command, check=False).returncode
        if code not in (0, 1):  # 1: not all agree
            return code
        _files.write(PAIRS, (OUT / "pairs.csv").read_text(encoding="utf-8"))
    _files.write(PAGE, page(PAGE.read_text(encoding="utf-8")))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
