"""The files of cases, and of what ns-2 measured on them."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import Error
from penstock.validate.agreement import Value


@dataclass(frozen=True)
class Shipped:
    """One of the reference's sets of cases: its two files of data, its report, and what measured it."""

    cases: str
    results: str
    report: str
    measured: str


#: What measured the cases of the caller's own files.
OTHER_FILES = "The cases and what ns-2 measured on them are files of the caller's."
SHIPPED = (
    Shipped(
        "ns2-cases.json",
        "ns2.csv",
        "validation.md",
        "The reference is ns-2 2.35 as Debian has it (`ns2 2.35+dfsg-5`). The cases with the papers' own queues are in "
        "[validation-papers.md](validation-papers.md).",
    ),
    Shipped(
        "ns2x-cases.json",
        "ns2x.csv",
        "validation-papers.md",
        "The reference is ns-2 2.35 with the papers' queues and multi-level ECN, which another hand built into it from "
        "the papers' text. The cases with ns-2's own queues are in [validation.md](validation.md).",
    ),
)


@dataclass(frozen=True)
class Case:
    """One case of the reference: its name, the group that it is reported under, what it stands for, how ns-2 ran it."""

    name: str
    group: str
    about: str
    seeds: int
    args: Mapping[str, object]


def read_cases(path: Path) -> list[Case]:
    """Returns the cases of a JSON file, in its order. Raises `Error` with the file's name for anything else."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["cases"]
        cases = [
            Case(
                name=str(row["id"]),
                group=str(row.get("group", "")),
                about=str(row.get("figure", "")),
                seeds=int(row.get("seeds", 1)),
                args=dict(row["args"]),
            )
            for row in rows
        ]
    except OSError as e:
        raise Error(f"{path}: {e.strerror or e}") from e
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise Error(f'{path}: not a file of cases ({{"cases": [{{"id", "args", …}}]}}): {e!r}') from e
    if not cases:
        raise Error(f"{path}: no cases")
    return cases


def read_results(path: Path) -> dict[str, dict[str, Value]]:
    """Returns case → metric → value from a CSV file with the columns case, metric, mean, ci95_half, n, and any
    others."""
    results: dict[str, dict[str, Value]] = {}
    line = 1
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = {"case", "metric", "mean", "ci95_half", "n"} - set(reader.fieldnames or ())
            if missing:
                raise Error(f"{path}:1: no column {', '.join(sorted(missing))}")
            for row in reader:
                line = reader.line_num
                half = float(row["ci95_half"] or 0)
                value = Value(float(row["mean"]), half if math.isfinite(half) else 0.0, int(row["n"]))
                results.setdefault(row["case"], {})[row["metric"]] = value
    except OSError as e:
        raise Error(f"{path}: {e.strerror or e}") from e
    except (ValueError, TypeError, csv.Error) as e:
        raise Error(f"{path}:{line}: {e}") from e
    return results
