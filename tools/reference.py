"""Writes `docs/reference.md`, every key and metric in tables, from the declarations in Rust.

`make generate` does it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from penstock import _penstock
from penstock.errors import ScenarioError

Row = Mapping[str, Any]

HEAD = """# Reference

Made by `tools/reference.py` from the declarations in Rust; `make generate` writes it again, and a
test fails while it is stale. `penstock list` shows the same on the terminal. A quantity is text
with its unit (`"1.5 Mbit/s"`, `"40 ms"`, `"1000 B"`); a bare number for a queue counts packets.
A column *ns-2* or *linux* is the default under that `profile`, where it differs
([all of them](profiles.md)); a key that is set wins over both.
"""

UNITS = """## Quantities

A number and a unit, with or without a space. These spellings are taken; those of `tc` and netem are
among them (tc(8)). In units that say *bit*, upper and lower case are the same.

| quantity | units |
| --- | --- |
"""
#: How each quantity is read.
READ = {
    "time": _penstock.parse_duration,
    "rate": _penstock.parse_rate,
    "size": _penstock.parse_size,
    "length of a queue": _penstock.parse_queue,
}
UNITS_END = """
A spelling that others read in another way is refused, and the message names the readings: `mbps`
and `gbps` (bytes per second to `tc`, bits elsewhere), `k`, `kb`, `mb` and `gb` of a size (1024 to
`tc`, 1000 elsewhere), `m` of a time. `bps`, `kbps`, `Mbps` and `Gbps` are bits.
"""

#: Headings and the lists that fill them.
SECTIONS = (
    ("A scenario's tables", "scenario"),
    ("Topology", "topology"),
    ("Queue disciplines", "aqm"),
    ("Traffic", "traffic"),
    ("TCP", "tcp"),
)


def source() -> str:
    """Returns the text of `docs/reference.md`."""
    lines = [HEAD, units()]
    shared = shared_keys(json.loads(_penstock.list_json("aqm")))
    for title, what in SECTIONS:
        lines.append(f"## {title}\n")
        for row in json.loads(_penstock.list_json(what)):
            hidden = shared if what == "aqm" else frozenset()
            lines.extend(_entry(row, hidden))
        if what == "aqm":
            lines.extend(_common(shared))
    lines.append("## Metrics\n")
    lines.extend(_metrics(json.loads(_penstock.list_json("metrics"))))
    return "\n".join(lines).rstrip() + "\n"


def units() -> str:
    """Returns the section of units, from what the parsers themselves list."""
    rows = []
    for name, read in READ.items():
        try:
            read("")
        except ScenarioError as error:
            rows.append(f"| {name} | {', '.join(f'`{unit}`' for unit in error.allowed)} |\n")
    return UNITS + "".join(rows) + UNITS_END


def shared_keys(kinds: Iterable[Row]) -> frozenset[str]:
    """Returns keys that every discipline takes: told once."""
    names = [{p["name"] for p in kind["params"]} for kind in kinds]
    return frozenset(set.intersection(*names))


def _common(shared: frozenset[str]) -> Iterator[str]:
    first = json.loads(_penstock.list_json("aqm"))[0]
    yield "### every discipline\n"
    yield from params_table([p for p in first["params"] if p["name"] in shared])


def _entry(row: Row, hidden: frozenset[str]) -> Iterator[str]:
    yield f"### {row['name']}\n"
    yield row["doc"] + (f" *{row['source']}.*" if row.get("source") else "") + "\n"
    if row.get("equations"):
        yield f"[Algorithm, profile, what to expect, weaknesses](aqm/{row['name']}.md)\n"
    if row.get("state"):
        yield (
            "State, as series: "
            + "; ".join(f"`{s['name']}` {s['doc'][0].lower()}{s['doc'][1:]}" for s in row["state"])
            + "\n"
        )
    yield from params_table([p for p in row["params"] if p["name"] not in hidden])


def columns() -> dict[str, str]:
    """Returns the column of each profile in the lists, and its word in scenarios."""
    profiles = json.loads(_penstock.list_json("profiles"))
    return {each["column"]: each["name"] for each in profiles if each["column"]}


def params_table(params: Iterable[Row]) -> Iterator[str]:
    """Yields the lines of a table of parameters."""
    rows = list(params)
    if not rows:
        return
    profiles = {column: word for column, word in columns().items() if any(p[column] for p in rows)}
    header = ("key", "allowed", "default", *profiles.values(), "meaning", "source")
    yield f"| {' | '.join(header)} |"
    yield f"| {' | '.join('---' for _ in header)} |"
    for p in rows:
        unit = f" ({p['unit']})" if p["unit"] not in ("", "1") else ""
        default = p["default"] if p["default"] is not None else p["auto"]
        cells = (
            f"`{p['name']}`",
            p["range"] + unit,
            default,
            *(p[column] or "" for column in profiles),
            p["doc"],
            p["source"],
        )
        yield "| " + " | ".join(str(c).replace("|", "\\|").replace("\n", " ") for c in cells) + " |"
    yield ""


def _metrics(rows: Iterable[Row]) -> Iterator[str]:
    per = ""
    for m in rows:
        if m["per"] != per:
            per = m["per"]
            yield f"\n### per {per}\n"
            yield "| metric | what it is |"
            yield "| --- | --- |"
        yield f"| `{m['name']}` | {m['doc']} |"
