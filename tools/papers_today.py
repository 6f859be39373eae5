"""`make papers-today`: the papers' claims with their own hosts, with Linux's and with QUIC's.

    tools/papers_today.py [PAPER|PAPER.EXHIBIT]...

Without a name: every paper, and every repair, over the papers' own experiments and over its range
of links. The papers' other readings are `penstock reproduce all`'s. It writes
docs/papers-today.csv, of which other claims' rows stay, and the tables of docs/papers-today.md. The
same build gives the same bytes.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from outcomes import ROOT
from penstock import _files
from penstock.model.hosts import HOSTS
from penstock.reproduce.command import reproduce
from penstock.reproduce.hosts import NAMES, READINGS
from penstock.reproduce.model import Finding, Paper, Settings
from penstock.reproduce.papers import KEYS, REPAIRS, choose, paper
from penstock.reproduce.readings import DEFAULT
from penstock.reproduce.verdict import HOLDS
from penstock.reproduce.words import ours
from penstock.runs.execute import cores
from tables import fill, table

PAGE, FILE = ROOT / "docs/papers-today.md", ROOT / "docs/papers-today.csv"
#: What is judged where nothing is named.
ALL = (
    *KEYS,
    *("repair-amecn.rises", "repair-amecn.own", "repair-rared.own"),
    *("repair-nred.own", "repair-nred.own-ecn", "repair-red-at.own"),
    *(f"{repair}.range" for repair in REPAIRS),
)
#: Where the runs are kept: what is there is not run again.
OUT = ROOT / "out/papers-today"
#: How many seeds a claim takes until it is decided; of papers whose runs are long, up to 20, and at
#: each of a range's 48 points up to ten.
SEEDS, LONG, RANGE = (10, 20, 50), ("amecn", "red-at"), (5, 10)
#: How many claims a line names.
MOST = 10
#: The paper's own hosts, as the table calls them, and the others.
OWN = "paper"
COLUMNS = ("paper", "claim", "text", "hosts", "verdict", "said", "n")

Row = dict[str, str]


def rows(findings: Sequence[Finding]) -> Iterator[Row]:
    """Yields a row for each claim with each hosts; checks of our own are left out."""
    hosts = {DEFAULT: OWN} | {reading: of for of, reading in READINGS.items()}
    for found in findings:
        if found.reading in hosts and found.claim.of == paper(found.paper).headline:
            numbers = {"verdict": found.verdict, "said": ours(found), "n": str(found.n)}
            about = {"paper": found.paper, "claim": found.claim.key, "text": found.claim.text}
            yield about | {"hosts": hosts[found.reading]} | numbers


def summary(listed: Sequence[Row]) -> list[str]:
    """Returns a line for each paper: how many of its claims hold with which hosts."""
    lines = []
    for key in dict.fromkeys(row["paper"] for row in listed):
        held = {of: _held(listed, key, of) for of in (OWN, *HOSTS)}
        claims = {row["claim"] for row in listed if row["paper"] == key}
        everywhere = set.intersection(*held.values())
        cells = [str(len(claims)), str(len(held[OWN]))]
        cells += [f"{len(held[OWN] & held[of])} + {len(held[of] - held[OWN])}" for of in HOSTS]
        shown = [f"`{claim}`" for claim in sorted(everywhere)]
        more = [f"{len(shown) - MOST} more"] if len(shown) > MOST else []
        lines.append([paper(key).name, *cells, ", ".join([*shown[:MOST], *more])])
    header = ["", "claims", "hold", *(f"with {NAMES[of]}'s hosts" for of in HOSTS), "the router's"]
    return table(header, lines, "lrrrrl")


def _held(listed: Sequence[Row], key: str, hosts: str) -> set[str]:
    of = (row for row in listed if row["paper"] == key and row["hosts"] == hosts)
    return {row["claim"] for row in of if row["verdict"] == HOLDS}


def changed(listed: Sequence[Row]) -> list[str]:
    """Returns a line for each claim that holds with some hosts, and not with others."""
    by_claim: dict[tuple[str, str], dict[str, Row]] = {}
    for row in listed:
        by_claim.setdefault((row["paper"], row["claim"]), {})[row["hosts"]] = row
    lines = []
    for (key, claim), of in by_claim.items():
        verdicts = {row["verdict"] for row in of.values()}
        if HOLDS in verdicts and len(verdicts) > 1:
            cells = [f"{of[each]['verdict']}, {of[each]['said']}" for each in (OWN, *HOSTS)]
            lines.append([f"{paper(key).name} `{claim}`", *cells])
    return table(["", "the paper's hosts", *(NAMES[of] for of in HOSTS)], lines, "l")


def _chosen(names: Sequence[str]) -> Iterator[tuple[Paper, Sequence[int]]]:
    """Yields papers by their names, narrowed to the exhibits that are named of them, each with its
    numbers of seeds."""
    ranges = [name for name in names if name.endswith(".range")]
    parts = [name for name in names if "." in name and name not in ranges]
    whole = [name for name in names if "." not in name]
    usual = [*(choose(whole) if whole else ()), *(choose((), parts) if parts else ())]
    for each in usual:
        yield each, SEEDS[:2] if each.key in LONG else SEEDS
    for each in choose((), ranges) if ranges else ():
        yield each, RANGE


def _alone(whole: Paper) -> Paper:
    """Returns the claims of a paper under its default reading, without figures."""
    return replace(whole, exhibits=(), nearest=None)


def main(names: Sequence[str]) -> None:
    """Runs what is not kept, and writes the file and the tables."""
    order = [(key, claim.key) for key in (*KEYS, *REPAIRS) for claim in paper(key).claims]
    for each, looks in _chosen(names or ALL):
        settings = Settings(looks=looks, joint=looks[-1], quick=True, hosts=HOSTS)
        done = reproduce([_alone(each)], settings, OUT, cores())
        new = list(rows(done.findings))
        judged = {_of(row) for row in new}
        others = [row for row in read() if _of(row) not in judged] if FILE.exists() else []
        write(sorted([*others, *new], key=lambda row: order.index(_of(row))))


def _of(row: Row) -> tuple[str, str]:
    return row["paper"], row["claim"]


def read() -> list[Row]:
    """Returns the rows of the file."""
    with FILE.open(newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))


def write(listed: Sequence[Row]) -> None:
    """Writes the file and the tables of the page."""
    text = io.StringIO()
    out = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    out.writeheader()
    out.writerows(listed)
    _files.write(FILE, text.getvalue())
    for name, of in (("papers", KEYS), ("repairs", REPAIRS)):
        mine = [row for row in listed if row["paper"] in of]
        fill(PAGE, f"tools/papers_today.py: {name}", summary(mine))
        fill(PAGE, f"tools/papers_today.py: {name}, changed", changed(mine))


if __name__ == "__main__":
    main(sys.argv[1:])
