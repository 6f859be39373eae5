"""`make hosts`: what today's senders do beside each other, judged by what is published.

    tools/hosts.py [shares|prague|trips|starts|dctcp|dip|mix…]

Without a name all parts run: minutes. The expectations were written down before the first run. A
part runs its scenarios (`hosts_runs`) and draws its figure (`hosts_figures`). The same build gives
the same bytes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from outcomes import ROOT, Found, Numbers, Outcomes, rows, said, write_rows
from penstock import _files
from tables import table

COMMAND = ("run", "scenarios/hosts.toml")


def table_of_shares(found: Numbers) -> list[str]:
    """Returns BBR's share beside one CUBIC flow, and what both lose, over the buffer."""
    buffers = ("0.25", "0.5", "1", "2", "4", "8", "16")
    lines = []
    for control in ("bbr", "bbr3"):
        for rate in ("10", "100"):
            names = [f"shares/{control}/{rate}/{size}" for size in buffers]
            link = f"{control}, {rate} Mbit/s"
            lines.append([f"{link}: share, %", *(said(found.get(name)) for name in names)])
            lost = [said(found.get(f"{name}/loss")) for name in names]
            lines.append([f"{link}: lost, %", *lost])
    return ["", *table(["buffer, in products", *buffers], lines, "lr")]


def shares_of_three(found: Numbers) -> list[str]:
    """Returns what each control gets in both disciplines, and what `penstock run` prints."""
    lines = [
        [aqm, *(said(found.get(f"mix/{aqm}/{name}")) for name in ("cubic", "bbr", "prague"))]
        for aqm in ("droptail", "fq-codel")
    ]
    header = ["share of the goodput, %", "cubic", "bbr", "prague"]
    run = OUTCOMES.folder / "run.txt"
    shown = run.read_text(encoding="utf-8").splitlines() if run.exists() else []
    console = ["```console", f"$ penstock {' '.join(COMMAND)}", *shown, "```"]
    return ["", *table(header, lines, "lr"), "", *console]


OUTCOMES = Outcomes(
    name="hosts",
    questions={
        "shares": "BBR beside CUBIC",
        "prague": "Prague beside classic senders",
        "trips": "Round trips",
        "starts": "The first seconds",
        "dctcp": "DCTCP",
        "dip": "Proportional rate reduction",
        "mix": "All three in one link",
    },
    extra={"shares": table_of_shares, "mix": shares_of_three},
)


def keep_dips(found: Sequence[tuple[str, float, float]]) -> None:
    """Writes the dips that a figure shows into their file."""
    columns = ["run", "ms", "packets"]
    kept = {i: dict(zip(columns, each, strict=True)) for i, each in enumerate(found)}
    write_rows(OUTCOMES.folder / "dips.csv", columns, kept)


def dips() -> dict[str, list[tuple[float, float]]]:
    """Returns the dips: name → milliseconds after the mark, packets in the queue."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows(OUTCOMES.folder / "dips.csv"):
        found.setdefault(row["run"], []).append((float(row["ms"]), float(row["packets"])))
    return found


def keep_run() -> None:
    """Keeps what `penstock run` says of the scenario with all three."""
    command = [sys.executable, "-m", "penstock", *COMMAND]
    wide = {**os.environ, "COLUMNS": "80"}
    ran = subprocess.run(command, cwd=ROOT, env=wide, capture_output=True, text=True, check=True)
    lines = [line.rstrip() for line in ran.stdout.splitlines()]
    _files.write(OUTCOMES.folder / "run.txt", "\n".join(lines).strip("\n") + "\n")


def main(names: Sequence[str]) -> int:
    """Does these parts, or all; returns the exit status."""
    import hosts_figures
    import hosts_runs

    for name in names or OUTCOMES.questions:
        found = Found()
        hosts_runs.PARTS[name](found)
        OUTCOMES.keep(name, found.numbers)
        if found.trace:
            keep_dips(found.trace)
        if name == "mix":
            keep_run()
        hosts_figures.write(name, OUTCOMES.folder, OUTCOMES.numbers(), dips())
    OUTCOMES.write()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
