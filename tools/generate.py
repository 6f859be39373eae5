"""Writes `kinds.py`, the classes that mirror a scenario's tables, from the declarations in Rust.

`make generate`, or `python tools/generate.py`. A test fails while the committed file is stale, so
a parameter is declared in one place, its Rust table, and turns up here by itself.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import commands
import pages
import reference
from penstock import _penstock
from penstock._files import write

Row = Mapping[str, Any]

#: Names that capitals alone do not make.
NAMES = {
    "droptail": "DropTail",
    "onoff": "OnOff",
    "dctcp": "Dctcp",
    "fq-codel": "FqCodel",
    "codel": "CoDel",
}

#: Type of a declaration → what Python takes. Words are spelled out, and quantities are text with
#: their unit.
TYPES = {
    "bool": "bool",
    "int": "int",
    "number": "float",
    "text": "str",
    "duration": "str",
    "rate": "str",
    "rates": "str | Sequence[str]",
    "size": "str",
    "queue": "float | str",
    "delay": "str | Spec",
    "start": "str | Spec",
    "size distribution": "Spec",
    "time distribution": "Spec",
    "loss": "float | Spec",
    "schedule": "Sequence[Spec] | Spec",
    "tables": "dict[str, dict[str, float | str | bool]]",
}

#: Words of Python's own, which take an underscore.
RESERVED = {"from", "class"}

HEAD = '''"""The tables of a scenario as Python classes: disciplines, traffic, topology.

Made by `tools/generate.py` from the declarations in Rust; `make generate` writes it again. Every
field that is not said to be required may be left out: then its default or automatic value holds. A
quantity is text with its unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from penstock.model.table import Table

#: A value of several parts: `{"spread": ["2 ms", "27 ms"]}`, `{"exponential": "12 kB"}`.
Spec = Mapping[str, Any]
'''


def source() -> str:
    """The text of `kinds.py`."""
    read = {
        name: json.loads(_penstock.list_json(name))
        for name in ("aqm", "tcp", "traffic", "topology")
    }
    classes = [
        *_topology(read["topology"]),
        *_disciplines(read["aqm"]),
        *_traffic(read["traffic"], read["tcp"]),
    ]
    names = sorted(name for name, _ in classes)
    listed = "".join(f'    "{name}",\n' for name in names)
    return "\n\n".join([HEAD + f"\n__all__ = [\n{listed}]\n", *(text for _, text in classes)])


def main() -> None:
    """Writes the files in their places: `kinds.py`, `docs/reference.md`, `docs/aqm`,
    `docs/commands.md`, the man page and the completions.
    """
    root = Path(__file__).parents[1]
    write(root / "python/penstock/model/kinds.py", source())
    write(root / "docs/reference.md", reference.source())
    pages.write(root / "docs")
    commands.write(root)


def _topology(rows: Sequence[Row]) -> list[tuple[str, str]]:
    by_name = {row["name"]: row for row in rows}
    link, access = by_name["bottleneck, link"], by_name["access"]
    sides = [
        ("access", "Access | None = None", by_name["access"]["doc"]),
        ("egress", "Access | None = None", by_name["egress"]["doc"]),
    ]
    between = {"dumbbell": "bottleneck", "parking-lot": "link"}
    on_link = [
        (
            "aqm",
            "Table | None = None",
            "The link's own discipline, forward; left out: the scenario's `aqm`.",
        ),
        (
            "reverse_aqm",
            "Table | None = None",
            "The one back; left out: the scenario's `reverse_aqm`.",
        ),
    ]
    node = {**by_name["[[topology.node]]"], "doc": "A router of a graph."}
    edge = by_name["[[topology.link]]"]
    edge = {
        **edge,
        "doc": "A link of a graph, and the queues at its ends.",
        "params": edge["params"] + link["params"],
    }
    listed = [
        ("link", "Sequence[GraphLink]", "The links; required."),
        ("node", "Sequence[Node] | None = None", by_name["[[topology.node]]"]["doc"]),
        *sides,
    ]
    classes = [
        (
            "Link",
            _class(
                "Link", {**link, "doc": "A link between routers, and the queue in front of it."}
            ),
        ),
        (
            "Access",
            _class(
                "Access", {**access, "doc": "The links between hosts and their router, one a flow."}
            ),
        ),
        ("Node", _class("Node", node)),
        ("GraphLink", _class("GraphLink", edge, inner=on_link)),
    ]
    for row in rows:
        if row["name"] == "graph":
            classes.append(("Graph", _class("Graph", row, kind="graph", inner=listed)))
        if row["name"] in between:
            inner = [
                (between[row["name"]], "Link", "The link between two routers; required."),
                *sides,
            ]
            classes.append(
                (_name(row["name"]), _class(_name(row["name"]), row, kind=row["name"], inner=inner))
            )
    return classes


def _disciplines(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return [(_name(row["name"]), _class(_name(row["name"]), row, kind=row["name"])) for row in rows]


def _traffic(rows: Sequence[Row], tcp: Sequence[Row]) -> list[tuple[str, str]]:
    common = next(row for row in rows if row["name"] == "any")["params"]
    transport = [
        p for row in sorted(tcp, key=lambda row: row["name"] != "any") for p in row["params"]
    ]
    classes = []
    for row in rows:
        if row["name"] == "any":
            continue
        own = [
            *row["params"],
            *(transport if row["tcp"] else []),
        ]
        params = {p["name"]: p for p in [*own, *common]}
        whole = {**row, "params": list(params.values())}
        classes.append((_name(row["name"]), _class(_name(row["name"]), whole, kind=row["name"])))
    return classes


def _name(kind: str) -> str:
    return NAMES.get(kind) or "".join(part.capitalize() for part in kind.split("-"))


def _class(name: str, row: Row, kind: str = "", inner: Sequence[tuple[str, str, str]] = ()) -> str:
    """The text of one class. inner: fields that are tables themselves, with type and meaning."""
    lines = ["@dataclass(frozen=True, slots=True, kw_only=True)", f"class {name}(Table):"]
    lines += [*_wrapped(f'"""{row["doc"]}', 4, 4), ""]
    for key in ("expect", "weaknesses"):
        if row.get(key):
            lines += [*_wrapped(row[key], 4, 4), ""]
    for field, _, doc in inner:
        lines += _wrapped(f"{field}: {doc}", 4, 8)
    for p in row["params"]:
        lines += _wrapped(f"{_field(p)}: {_described(p)}", 4, 8)
    if row.get("source"):
        lines += _wrapped(f"Source: {row['source']}.", 4, 8)
    if lines[-1] == "":
        lines[-2] += '"""'
    else:
        lines += ['    """', ""]
    if kind:
        lines += [f'    kind: ClassVar[str] = "{kind}"']
    lines += [f"    {field}: {type_}" for field, type_, _ in inner]
    for p in row["params"]:
        required = p["auto"] == "required"
        line = f"    {_field(p)}: {_type(p)}" + ("" if required else " | None = None")
        if len(line) > 120:  # as ruff wraps it
            line = f"    {_field(p)}: (\n        {_type(p)} | None\n    ) = None"
        lines.append(line)
    return "\n".join(lines) + "\n"


def _field(p: Row) -> str:
    return f"{p['name']}_" if p["name"] in RESERVED else str(p["name"])


def _type(p: Row) -> str:
    if p["type"] in TYPES:
        return TYPES[p["type"]]
    words = ", ".join(f'"{word}"' for word in re.findall(r'"([^"]+)"', p["range"]))
    return {"word": f"Literal[{words}]", "number or word": f"float | Literal[{words}]"}[p["type"]]


def _described(p: Row) -> str:
    """Meaning, range, unit, default and source in one paragraph."""
    text: str = p["doc"].rstrip(".") + f"; {p['range']}"
    if p["unit"] not in ("", "1"):
        text += f"; unit: {p['unit']}"
    if p["auto"] == "required":
        text += "; required"
    elif p["default"] is not None:
        text += f"; default: {p['default']}"
    elif p["auto"]:
        text += f"; left out: {p['auto']}"
    if p["ns2"] is not None:
        text += f"; with profile ns-2: {p['ns2']}"
    return text + (f". Source: {p['source']}." if p["source"] else ".")


def _wrapped(text: str, first: int, rest: int) -> list[str]:
    text = text.replace("\\", "\\\\")
    indents = {"initial_indent": " " * first, "subsequent_indent": " " * rest}
    return textwrap.wrap(text, 118, break_long_words=False, break_on_hyphens=False, **indents)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
