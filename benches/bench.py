"""`make bench`: how fast Penstock is, beside ns-2 on the same work where `ns` is installed.

    python benches/bench.py [--quick] [--only speed,floor,…] [--record] [--peers] [--out FILE]

Writes its tables into the marked blocks of `docs/performance.md` and leaves the prose around them
alone. Time is CPU time (user and system) of a whole process, start-up included; the programs take
turns, and the shortest run of each counts. Instructions are callgrind's, the difference of two
lengths, so that start-up cancels. `measures/targets.py` has what each measure should reach; nothing
here passes or fails by the clock.

Instructions of B1 to B4 are kept in `instructions.json`, with those of ns-2 and csg-htsim. The
change since then is shown; `--record` writes what this run has counted. `--peers` counts the other
two again, which takes ten minutes. For csg-htsim, HTSIM=PATH names a checkout whose library is
built (`make -C PATH/sim libhtsim.a`).
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from measures.command import parallel, start_up
from measures.disciplines import disciplines, own
from measures.flows import growth, memory
from measures.hosts import hosts
from measures.instructions import floor, instructions
from measures.paths import paths
from measures.plan import Plan
from measures.processes import CORES, ROOT
from measures.record import processor, rustc
from measures.speed import likeness, speed
from penstock import _files


def machine(_: Plan) -> str:
    """The machine and the programs."""
    linux = platform.release().split("-")[0]
    python = platform.python_version()
    return f"{processor()}, {CORES} cores; Linux {linux}, Python {python}, Rust {rustc()}.\n"


#: The blocks of the document: title, and what measures it.
BLOCKS: dict[str, tuple[str, Callable[[Plan], str]]] = {
    "machine": ("The machine", machine),
    "speed": ("Speed on B1 to B4", speed),
    "likeness": ("The work is alike", likeness),
    "instructions": ("Instructions", instructions),
    "hosts": ("Today's hosts", hosts),
    "floor": ("Where the instructions go", floor),
    "growth": ("From 10 to 10,000 flows", growth),
    "paths": ("More links than one", paths),
    "memory": ("Memory", memory),
    "disciplines": ("Disciplines", disciplines),
    "own": ("A discipline in Python", own),
    "parallel": ("Ten seeds on two cores", parallel),
    "start": ("Start-up", start_up),
}
SKELETON = "# Performance\n\n" + "".join(
    f"## {title}\n\n<!-- bench:{name} -->\n<!-- /bench:{name} -->\n\n"
    for name, (title, _) in BLOCKS.items()
)


def put(text: str, name: str, content: str) -> str:
    """`text` with the block `name` holding `content`; a block that it lacks goes to the end."""
    opening, closing = f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"
    if opening not in text:
        text = f"{text.rstrip()}\n\n## {BLOCKS[name][0]}\n\n{opening}\n{closing}\n"
    before, _, rest = text.partition(opening)
    _, found, after = rest.partition(closing)
    if not found:
        raise SystemExit(f"bench: {opening} has no {closing}")
    return f"{before}{opening}\n{content.strip()}\n{closing}{after}"


def _htsim() -> Path | None:
    """The folder `sim` of the checkout that HTSIM names. Raises `SystemExit` if it is not built."""
    path = os.environ.get("HTSIM")
    if not path:
        return None
    for folder in (Path(path, "sim"), Path(path)):
        if (folder / "libhtsim.a").exists():
            return folder.resolve()
    raise SystemExit(f"bench: HTSIM={path}: no sim/libhtsim.a; build it: make -C sim libhtsim.a")


def main() -> int:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    quick = "a tenth of the simulated time, once: only a smoke test, writes nothing"
    parser.add_argument("--quick", action="store_true", help=quick)
    blocks = f"of {', '.join(BLOCKS)}"
    parser.add_argument("--only", default=",".join(BLOCKS), metavar="BLOCKS", help=blocks)
    record = "write the instructions that this run counts into instructions.json"
    parser.add_argument("--record", action="store_true", help=record)
    peers = "count the instructions of ns-2, and of csg-htsim (HTSIM=PATH), anew: ten minutes"
    parser.add_argument("--peers", action="store_true", help=peers)
    out = ROOT / "docs" / "performance.md"
    parser.add_argument("--out", type=Path, default=out, metavar="FILE")
    options = parser.parse_args()
    chosen = options.only.split(",")
    if unknown := [name for name in chosen if name not in BLOCKS]:
        there = ", ".join(BLOCKS)
        parser.error(f"--only: no block {', '.join(unknown)}; there are {there}")
    plan = Plan(
        quick=options.quick,
        record=options.record,
        peers=options.peers,
        ns=shutil.which("ns") is not None,
        valgrind=shutil.which("valgrind") is not None,
        htsim=_htsim(),
    )
    for name in chosen:
        title, measure = BLOCKS[name]
        content = measure(plan)
        print(f"{title}\n\n{content}", flush=True)
        text = options.out.read_text(encoding="utf-8") if options.out.exists() else SKELETON
        if not plan.quick:
            _files.write(options.out, put(text, name, content))
    return 0


if __name__ == "__main__":
    sys.exit(main())
