"""`make nearest`: searches the papers' nearest joint readings anew; replaces the files that ship.

    tools/nearest.py [PAPER…]

After each step of a search the file holds what was found so far.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from penstock._files import write
from penstock.reproduce.nearest import SHIPPED, on, place, search, text
from penstock.reproduce.papers import choose
from penstock.runs.execute import cores
from penstock.show.progress import Bar


def main(names: Sequence[str]) -> None:
    """Searches for these papers, or all."""
    for paper in choose(names):
        if paper.readings is None:
            continue
        with Bar(f"nearest joint reading of {paper.name}") as bar:
            found = search(
                paper,
                cores(),
                on(bar, paper),
                so_far=lambda found: write(place(found.paper), text(found.document(SHIPPED))),
            )
        best = found.nearest(paper.readings)
        print(f"{paper.key}: {best.reading.key} {best.score}, default {best.default_score}")


if __name__ == "__main__":
    main(sys.argv[1:])
