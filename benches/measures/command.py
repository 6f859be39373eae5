"""The command line: ten seeds on two cores, and how long it takes to start."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

from .plan import Plan
from .processes import say, spend
from .programs import scenario
from .tables import table
from .targets import WITHOUT, beside


def parallel(plan: Plan) -> str:
    """Ten seeds on one core and on two."""
    length = f"duration={1000 / plan.shorter:g} s"
    file = [scenario("B1"), "--set", length, "--seeds", "10", "--json"]
    walls: dict[int, list[float]] = {1: [], 2: []}
    documents = set()
    for i in range(plan.repeats):
        for jobs, each in walls.items():
            say(f"10 seeds of B1, {jobs} at a time, {i + 1} of {plan.repeats}")
            line = [sys.executable, "-m", "penstock", "run", *file, "--jobs", str(jobs)]
            cost = spend(line)
            each.append(cost.wall_s)
            documents.add(cost.stdout)
    one, two = (median(each) for each in walls.values())
    same = "the documents are the same" if len(documents) == 1 else "THE DOCUMENTS DIFFER"
    rows = [[f"{one:.2f}", f"{two:.2f}", f"{two / one:.2f}×"]]
    head = ["wall s, one at a time", "two at a time", "ratio"]
    return table(head, rows) + f"\n({same} to the byte.)\n"


#: One flow for a second, so that start-up is all that takes time.
TRIVIAL = """\
duration = "1 s"
[topology]
bottleneck = { rate = "1 Mbit/s", delay = "20 ms", buffer = 100 }
[[traffic]]
kind = "ftp"
"""


def start_up(plan: Plan) -> str:
    """A trivial scenario from process start to exit, and the import beyond the interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "trivial.toml")
        file.write_text(TRIVIAL, encoding="utf-8")
        lines = {
            "run": ["-m", "penstock", "run", "--json", str(file)],
            "import": ["-c", "import penstock"],
            "alone": ["-c", ""],
        }
        walls: dict[str, list[float]] = {name: [] for name in lines}
        for i in range(3 if plan.quick else 16):
            for name, line in lines.items():
                wall = spend([sys.executable, *line], watch=False).wall_s
                if i:  # the first turn brings the files into memory
                    walls[name].append(wall)
    run, imported, alone = (median(walls[name]) for name in lines)
    more = imported - alone
    what = "`import penstock`, beyond the interpreter"
    rows: list[list[object]] = [
        ["`penstock run --json` on a trivial scenario", f"{run:.3f}", *beside("penstock run", run)],
        [what, f"{more:.3f}", *beside("import penstock", more)],
        ["the interpreter alone", f"{alone:.3f}", *WITHOUT],
    ]
    return table(["", "wall s", "target", "met"], rows)
