"""`make accept`: tries in a fresh clone what README and docs/ promise, and says what falls short.

    tools/accept.py [--list] [--only ITEM,…] [--again] [--keep] [--here]

The clone is of the last commit and lies in `out/accept/clone`. Outcomes are kept in
`docs/accept.json`, so a call that was interrupted goes on with what is left, on another machine
too; `--only` tries its items anew. The table goes to `docs/accept.md` and to the terminal, the log
of each item to `out/accept/ITEM.log`. The exit status is 0 only if every item chosen ran or was
skipped with a reason, and none fell short.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from acceptance import Item, Outcome, Work, attempt, markdown, read, rows, status, write
from promises import ITEMS

ROOT = Path(__file__).resolve().parent.parent


def main(
    argv: Sequence[str] | None = None, items: Sequence[Item] = ITEMS, root: Path = ROOT
) -> int:
    """Tries the items; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--list", action="store_true", help="list the items and how long each takes, and end"
    )
    parser.add_argument("--only", metavar="ITEM,…", help="try only these, anew")
    parser.add_argument("--again", action="store_true", help="try everything anew")
    parser.add_argument(
        "--keep", action="store_true", help="keep what was measured at another commit, too"
    )
    parser.add_argument(
        "--here", action="store_true", help="try this checkout as it is, not a fresh clone"
    )
    options = parser.parse_args(argv)
    if options.list:
        for item in items:
            print(f"{item.name:10} {item.minutes:4g} min  {item.promise}")
        return 0
    names = [item.name for item in items]
    only = options.only.split(",") if options.only else []
    if unknown := [name for name in only if name not in names]:
        parser.error(f"--only: no item {', '.join(unknown)}; there are {', '.join(names)}")

    commit = _git(root, "rev-parse", "--short", "HEAD")
    kept = read(root / "docs" / "accept.json")
    if options.again:
        kept = {}
    elif not options.keep:
        kept = {name: o for name, o in kept.items() if o.commit == commit}
    chosen = [item for item in items if (item.name in only if only else item.name not in kept)]
    if chosen:
        checkout = root if options.here else clone(root)
        for item in chosen:
            kept[item.name] = _one(item, root, checkout, commit)
            write(root / "docs" / "accept.json", kept)
    return _report(items, kept, root, [item for item in items if item.name in only] or items)


def _one(item: Item, root: Path, checkout: Path, commit: str) -> Outcome:
    print(
        f"accept: {item.name}, about {item.minutes:g} min: {item.promise}",
        file=sys.stderr,
        flush=True,
    )
    folder = root / "out" / "accept" / item.name
    folder.mkdir(parents=True, exist_ok=True)
    done = attempt(
        item, Work(checkout, folder, root / "out" / "accept" / f"{item.name}.log"), commit
    )
    said = (
        f"skipped: {done.skipped}"
        if done.skipped
        else f"falls short: {done.complaint}"
        if done.falls_short
        else "holds"
    )
    print(f"accept: {item.name} {said} ({done.seconds:.0f} s)", file=sys.stderr, flush=True)
    return done


def clone(root: Path) -> Path:
    """A clone of the last commit. One of the same commit that is there already is gone on with."""
    if _git(root, "status", "--porcelain", "--untracked-files=no"):
        print("accept: what is not committed is not in the clone", file=sys.stderr)
    place = root / "out" / "accept" / "clone"
    here = _git(root, "rev-parse", "HEAD")
    if place.exists() and _git(place, "rev-parse", "HEAD") == here:
        return place
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "clone", "--quiet", "--no-local", str(root), str(place)], check=True)
    _git(place, "checkout", "--quiet", "--detach", here)
    return place


def _report(
    items: Sequence[Item], kept: dict[str, Outcome], root: Path, judged: Sequence[Item]
) -> int:
    """Writes the page, prints the table; returns the exit status of the items judged."""
    page = markdown(items, kept, machine(), time.strftime("%Y-%m-%d"))
    (root / "docs" / "accept.md").write_text(page, encoding="utf-8")
    shown = [(row[0], *row[2:7]) for row in rows(items, kept)]
    widths = [max(len(row[i]) for row in shown) for i in range(len(shown[0]))]
    for row in shown:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    short = [item.name for item in judged if item.name in kept and kept[item.name].falls_short]
    absent = [item.name for item in judged if item.name not in kept]
    for name in short:
        print(f"fell short: {name}: {kept[name].complaint}")
    if absent:
        print(f"not run: {', '.join(absent)}")
    if short:
        print(f"to try these again: tools/accept.py --only {','.join(short)}")
    return status(judged, kept)


def machine() -> str:
    """Processor, cores and what runs on them, in a sentence."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(
            line.partition(":")[2].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    rust = subprocess.run(
        ["rustc", "--version"], capture_output=True, text=True, check=False
    ).stdout.split()
    return (
        f"{model}, {cores} cores; {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, "
        f"Rust {rust[1] if len(rust) > 1 else 'not found'}; load at the end {load}."
    )


def _git(where: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(where), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
