"""What an acceptance run is made of: items, what they measured, their verdicts, and the table.

An item runs commands and returns measures. A measure has a budget: at least or at most a number. An
item that this machine cannot run is skipped, and says why; it never disappears from the table.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO


class SkippedError(Exception):
    """What this machine cannot run of an item: why, and what was measured all the same."""

    def __init__(self, why: str, measures: Sequence[Measure] = ()) -> None:
        super().__init__(why)
        self.measures = list(measures)


#: Characters of a line that a complaint quotes.
WIDTH = 300


@dataclass(frozen=True)
class Measure:
    """A number that was measured, and its budget. Without a budget it only informs."""

    what: str
    value: float
    unit: str = ""
    least: float | None = None
    most: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the value keeps to its budget; NaN does not."""
        above = self.least is None or self.value >= self.least
        return above and (self.most is None or self.value <= self.most)

    @property
    def budget(self) -> str:
        """`≥ 5 ×`, `≤ 300 s`, or a dash."""
        if self.least is not None and self.least == self.most:
            return f"= {_shown(self.least, self.unit)}"
        parts = [
            (sign, end) for sign, end in (("≥", self.least), ("≤", self.most)) if end is not None
        ]
        return ", ".join(f"{sign} {_shown(end, self.unit)}" for sign, end in parts) or "–"

    @property
    def shown(self) -> str:
        """The value with its unit."""
        return _shown(self.value, self.unit)


def _shown(value: float, unit: str) -> str:
    number = f"{value:.0f}" if value == int(value) or value >= 1000 else f"{value:.3g}"
    return f"{number} {unit}".rstrip()


@dataclass(frozen=True)
class Item:
    """Something that is promised, and how it is tried.

    promise: what is promised, and where.
    minutes: how long it takes on two idle cores, about.
    run: tries it, and returns what it measured. Raises `SkippedError` where the machine lacks what
        it takes.
    """

    name: str
    promise: str
    minutes: float
    run: Callable[[Work], list[Measure]]


@dataclass
class Outcome:
    """What became of an item. `failed` and `skipped` hold the reason."""

    name: str
    commit: str
    when: str
    seconds: float
    load: float
    measures: list[Measure] = field(default_factory=list)
    skipped: str | None = None
    failed: str | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def falls_short(self) -> bool:
        """Whether something failed or missed its budget. What was skipped did neither."""
        return self.failed is not None or not all(m.holds for m in self.measures)

    @property
    def complaint(self) -> str:
        """What fell short, in one line."""
        missed = [f"{m.what} {m.shown}, budget {m.budget}" for m in self.measures if not m.holds]
        return "; ".join([*([self.failed] if self.failed else []), *missed])


@dataclass(frozen=True)
class Done:
    """A command that ended, or was ended after its limit (`code` is then 124)."""

    code: int
    seconds: float
    output: str


@dataclass
class Work:
    """Where an item works: the checkout that it tries, a separate folder, its log and its notes."""

    checkout: Path
    folder: Path
    log: Path
    notes: list[str] = field(default_factory=list)

    def must(self, command: Sequence[str | Path], limit_s: float = 3600, **more: Any) -> Done:
        """Runs a command that has to succeed. Raises `RuntimeError` with its last lines if not."""
        done = self.run(command, limit_s, **more)
        if done.code != 0:
            # A line may be a document of a hundred kilobytes.
            last = " / ".join(line[:WIDTH] for line in done.output.strip().splitlines()[-3:])
            raise RuntimeError(f"`{' '.join(map(str, command))}` ended with {done.code}: {last}")
        return done

    def run(
        self,
        command: Sequence[str | Path],
        limit_s: float = 3600,
        *,
        cwd: Path | None = None,
        log: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Done:
        """Runs a command to its end or its limit, its output into the log."""
        log = log or self.log
        with log.open("a", encoding="utf-8") as file:
            file.write(f"$ {' '.join(map(str, command))}\n")
            file.flush()
            begun, offset = time.monotonic(), file.tell()
            code = _to_the_end(
                list(map(str, command)), cwd or self.checkout, environment, file, limit_s
            )
            seconds = time.monotonic() - begun
        with log.open("rb") as read:
            read.seek(offset)
            output = read.read().decode("utf-8", "replace")
        return Done(code, seconds, output)


def _to_the_end(
    command: list[str],
    cwd: Path,
    environment: Mapping[str, str] | None,
    file: TextIO,
    limit_s: float,
) -> int:
    # A session of its own, so that whatever the command started ends with it.
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ, "PYTHONUTF8": "1", **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=file,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        return 124
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def attempt(item: Item, work: Work, commit: str) -> Outcome:
    """Tries an item. Whatever goes wrong becomes part of the outcome, except Ctrl-C."""
    work.log.parent.mkdir(parents=True, exist_ok=True)
    work.log.write_text("", encoding="utf-8")
    begun, load, when = time.monotonic(), os.getloadavg()[0], time.strftime("%Y-%m-%d %H:%M")
    outcome = Outcome(item.name, commit, when, 0.0, round(load, 1))
    try:
        outcome.measures = item.run(work)
    except SkippedError as why:
        outcome.skipped, outcome.measures = str(why), why.measures
    except Exception as error:  # an item that breaks falls short, and the others still run
        outcome.failed = f"{type(error).__name__}: {error}"
    else:
        if not outcome.measures:
            outcome.failed = "measured nothing"
    outcome.seconds = round(time.monotonic() - begun, 1)
    outcome.notes = work.notes
    return outcome


# ----------------------------------------------------------------------- kept between calls


def read(path: Path) -> dict[str, Outcome]:
    """The outcomes that earlier calls kept; empty where there are none."""
    if not path.exists():
        return {}
    kept = json.loads(path.read_text(encoding="utf-8"))
    return {
        o["name"]: Outcome(**{**o, "measures": [Measure(**m) for m in o["measures"]]}) for o in kept
    }


def write(path: Path, outcomes: Mapping[str, Outcome]) -> None:
    """Keeps the outcomes. The file is replaced as a whole: a kill leaves the old or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(
        json.dumps([asdict(o) for o in outcomes.values()], indent=1, ensure_ascii=False),
        encoding="utf-8",
    )
    part.replace(path)


# ----------------------------------------------------------------------- the table

COLUMNS = ("item", "promise", "measured", "value", "budget", "verdict", "took", "load", "commit")


def rows(items: Sequence[Item], outcomes: Mapping[str, Outcome]) -> list[tuple[str, ...]]:
    """A row for each measure, in the order of the items; one for an item that has none."""
    table: list[tuple[str, ...]] = []
    for item in items:
        o = outcomes.get(item.name)
        if o is None:
            table.append((item.name, item.promise, "–", "–", "–", "**not run**", "–", "–", "–"))
            continue
        once = (f"{o.seconds:.0f} s", f"{o.load:g}", o.commit)
        reasons = []
        if o.skipped is not None:
            reasons.append(f"skipped: {o.skipped}")
        if o.failed is not None:
            reasons.append(f"**failed**: {o.failed}")
        lines = [("–", "–", "–", reason) for reason in reasons]
        lines += [(m.what, m.shown, m.budget, _verdict(m)) for m in o.measures]
        for i, line in enumerate(lines):
            first = i == 0
            table.append(
                (
                    item.name if first else "",
                    item.promise if first else "",
                    *line,
                    *(once if first else [""] * 3),
                )
            )
    return table


def _verdict(m: Measure) -> str:
    if m.least is None and m.most is None:
        return "–"
    return "holds" if m.holds else "**falls short**"


def markdown(
    items: Sequence[Item], outcomes: Mapping[str, Outcome], machine: str, date: str
) -> str:
    """The page: what fell short first, then the table, then the notes."""
    known = [outcomes[item.name] for item in items if item.name in outcomes]
    short = [o for o in known if o.falls_short]
    absent = [item.name for item in items if item.name not in outcomes]
    out = [
        "# What is promised, and what was measured",
        "",
        "<!-- Made by `make accept`; edits are lost. -->",
        "",
        "`make accept` tries everything that the README and `docs/` promise, in a fresh clone.",
        "`tools/promises.py` says how. Load is the average of the minute before an item began.",
        "",
        f"{date}. {machine}",
        "",
        f"{len(known)} of {len(items)} items ran: {len(short)} fell short, "
        f"{sum(o.skipped is not None for o in known)} were skipped.",
        *(
            [
                "They ran at several commits, which the last column names, and so perhaps on",
                "several machines.",
            ]
            if len({o.commit for o in known}) > 1
            else []
        ),
        "",
        *(f"- **{o.name}** fell short: {o.complaint}" for o in short),
        *(f"- **{o.name}** was skipped: {o.skipped}" for o in known if o.skipped is not None),
        *([f"- Not run: {', '.join(absent)}."] if absent else []),
        "",
        _row(COLUMNS),
        _row(["---"] * len(COLUMNS)),
        *(_row(row) for row in rows(items, outcomes)),
    ]
    for o in known:
        if o.notes:
            out += ["", f"## {o.name}", "", *(f"- {note}" for note in o.notes)]
    return "\n".join(out) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def status(items: Sequence[Item], outcomes: Mapping[str, Outcome]) -> int:
    """The exit status: 1 where something fell short or did not run, else 0."""
    absent = [item.name for item in items if item.name not in outcomes]
    return int(bool(absent) or any(outcomes[item.name].falls_short for item in items))
