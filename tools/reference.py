"""Writes `docs/reference`, every key and metric in tables, a page a section, from the declarations
in Rust.

`make generate` does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock import _penstock
from penstock._names import listing
from penstock.errors import ScenarioError

Row = Mapping[str, Any]

#: What each page begins with, below its title.
NOTE = "<!-- Made by `tools/reference.py`; `make generate` writes it again. -->\n"

HEAD = f"""# Reference

{NOTE}
Every key of a scenario, with what it may be, its default and its source, and every metric. The
pages are made from the declarations in Rust, and `penstock list` shows the same on the terminal. A
quantity is text with its unit (`"1.5 Mbit/s"`, `"40 ms"`, `"1000 B"`); a bare number for a queue
counts packets. A column *ns-2*, *linux* or *quic* is the default under that `profile`, where it
differs ([all of them](../profiles.md)); a key that is set wins over it.
"""

UNITS = """
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

KINDS = """
A discipline has a page, [the list of them](../aqm/README.md), with what it does and its own keys.

| discipline | its own keys |
| --- | --- |
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A page: its title, what it is for, and the list that fills it."""

    title: str
    what: str
    listed: str


#: Name of the page → what is on it, in reading order.
SECTIONS = {
    "quantities": Section("Quantities", "how times, rates, sizes and lengths are written", ""),
    "scenario": Section(
        "A scenario's tables", "the keys outside of the other sections", "scenario"
    ),
    "topology": Section("Topology", "routers, links and their queues, hosts", "topology"),
    "disciplines": Section("Keys of the disciplines", "which discipline has which", "aqm"),
    "traffic": Section("Traffic", "what is sent, when, and by how many", "traffic"),
    "tcp": Section("TCP", "the senders, and the keys of each and of all", "tcp"),
    "metrics": Section(
        "Metrics", "what a result says of a run, a group, a flow, a link", "metrics"
    ),
}


def pages() -> dict[str, str]:
    """Returns the text of each page, by its name in `docs/reference`."""
    made = {f"{name}.md": _page(name, each) for name, each in SECTIONS.items()}
    lines = [HEAD]
    for name, each in SECTIONS.items():
        lines.append(f"- [{each.title}]({name}.md): {each.what}.")
    return {"README.md": "\n".join([*lines, ""]), **made}


def _page(name: str, section: Section) -> str:
    lines = [f"# {section.title}\n", NOTE.rstrip()]
    if name == "quantities":
        lines.append(units())
    elif name == "disciplines":
        lines.extend(_disciplines())
    elif name == "metrics":
        lines.extend(_metrics(listing(section.listed)))
    else:
        lines.append("")
        for row in listing(section.listed):
            lines.extend(_entry(row))
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


def _disciplines() -> Iterator[str]:
    """Yields the lines of the keys that all have, and of who has which besides."""
    kinds = listing("aqm")
    shared = shared_keys(kinds)
    yield KINDS.rstrip()
    for kind in kinds:
        own = [f"`{p['name']}`" for p in kind["params"] if p["name"] not in shared]
        yield f"| [{kind['name']}](../aqm/{kind['name']}.md#keys) | {', '.join(own) or 'none'} |"
    yield "\n## every discipline\n"
    yield from params_table([p for p in kinds[0]["params"] if p["name"] in shared])


def _entry(row: Row) -> Iterator[str]:
    yield f"## {row['name']}\n"
    yield row["doc"] + (f" *{row['source']}.*" if row.get("source") else "") + "\n"
    yield from params_table(row["params"])


def columns() -> dict[str, str]:
    """Returns the column of each profile in the lists, and its word in scenarios."""
    profiles = listing("profiles")
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
            yield f"\n## per {per}\n"
            yield "| metric | what it is |"
            yield "| --- | --- |"
        yield f"| `{m['name']}` | {m['doc']} |"
