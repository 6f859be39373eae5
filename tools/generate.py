"""Writes `kinds.py`, the classes that mirror a scenario's tables, from the declarations in Rust.

`make generate`, or `python tools/generate.py`. A test fails while the committed file is stale, so
a parameter is declared in one place, its Rust table, and turns up here by itself.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import commands
import pages
import profiles
import reference
import visual
from penstock._files import write
from penstock._names import listing

Row = Mapping[str, Any]

#: Names that capitals alone do not make.
NAMES = {
    "droptail": "DropTail",
    "onoff": "OnOff",
    "dctcp": "Dctcp",
    "fq-codel": "FqCodel",
    "fq-pie": "FqPie",
    "docsis-pie": "DocsisPie",
    "wred": "Wred",
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
    "sizes": "str | Spec",
    "time distribution": "Spec",
    "arrivals": "Spec",
    "loss": "float | Spec",
    "schedule": "Sequence[Spec] | Spec",
    "tables": "dict[str, dict[str, float | str | bool]]",
}

#: Classes that others stand on: name, own base, the key by which a row is known to stand on it,
#: what it is. A row stands on the last one that it fits. A base has the keys that all on it have;
#: a class says only what it adds, and what differs.
BASES = (
    ("_Discipline", "Table", "mean_packet", "A queue discipline."),
    ("_Averaging", "_Discipline", "w_q", "RED and its descendants."),
    ("_Thresholds", "_Averaging", "target_delay", "Those with two thresholds."),
    ("_TwoLevels", "_Thresholds", "p2_max", "Those with incipient marks."),
    ("_Ramp", "_Thresholds", "max_p", "Those with one ramp between the thresholds."),
    ("_Adaptive", "_Ramp", "target_low", "Those that move max_p as ARED does."),
    ("_Traffic", "Table", "direction", "A group of flows."),
    ("_Tcp", "_Traffic", "recovery", "Flows of TCP."),
    ("_Datagrams", "_Traffic", "jitter", "Datagrams at a rate."),
)

#: Columns of the written file.
WIDTH = 120
KINDS = "python/penstock/model/kinds.py"

#: Words of Python's own, which take an underscore.
RESERVED = {"from", "class"}

HEAD = '''"""The tables of a scenario as Python classes: disciplines, traffic, topology.

Made by `tools/generate.py` from the declarations in Rust; `make generate` writes it again. Every
field that is not said to be required may be left out: then its default or automatic value holds. A
quantity is text with its unit. A class whose name begins with an underscore has what several kinds
share; their docstrings get its keys when they are made (`Table`).
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
    """Returns the text of `kinds.py`."""
    read = {name: listing(name) for name in ("aqm", "tcp", "traffic", "topology")}
    classes = [
        *_topology(read["topology"]),
        *_disciplines(read["aqm"]),
        *_traffic(read["traffic"], read["tcp"]),
    ]
    names = sorted(name for name, _ in classes if not name.startswith("_"))
    listed = "".join(f'    "{name}",\n' for name in names)
    return _formatted(
        "\n\n".join([HEAD + f"\n__all__ = [\n{listed}]\n", *(text for _, text in classes)])
    )


def _formatted(text: str) -> str:
    ruff = str(Path(sys.executable).with_name("ruff"))
    command = [ruff, "format", "--stdin-filename", KINDS, "-"]
    return subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE, check=True).stdout


def main() -> None:
    """Writes the files in their places: `kinds.py`, `docs/reference`, `docs/profiles.md`,
    `docs/aqm`, `docs/commands.md`, the man page and the completions, and the visual system's.
    """
    root = Path(__file__).parents[1]
    write(root / KINDS, source())
    for name, text in reference.pages().items():
        write(root / "docs/reference" / name, text)
    write(root / "docs/profiles.md", profiles.source())
    pages.write(root / "docs")
    commands.write(root)
    visual.main()


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
    edge = {**edge, "doc": "A link of a graph, and the queues at its ends."}
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
        ("GraphLink", _class("GraphLink", edge, inner=on_link, base="Link")),
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
    return _based(rows)


def _traffic(rows: Sequence[Row], tcp: Sequence[Row]) -> list[tuple[str, str]]:
    common = next(row for row in rows if row["name"] == "any")["params"]
    transport = [
        p for row in sorted(tcp, key=lambda row: row["name"] != "any") for p in row["params"]
    ]
    whole = []
    for row in rows:
        if row["name"] == "any":
            continue
        own = [*row["params"], *(transport if row["tcp"] else [])]
        params = {p["name"]: p for p in [*own, *common]}
        whole.append({**row, "params": list(params.values())})
    return _based(whole)


def _based(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Returns the classes of kinds, with their bases in front."""
    parents = {name: parent for name, parent, _, _ in BASES}
    place = {row["name"]: _place({p["name"] for p in row["params"]}) for row in rows}
    known: dict[str, dict[str, Row]] = {"Table": {}}
    classes = []
    for name, parent, _, doc in BASES:
        above = [row for row in rows if name in _chain(place[row["name"]], parents)]
        if not above:
            continue
        params = []
        for key in [p["name"] for p in above[0]["params"] if p["name"] not in known[parent]]:
            forms = [p for row in above for p in row["params"] if p["name"] == key]
            if len(forms) == len(above) and len({_type(p) for p in forms}) == 1:
                params.append(max(forms, key=forms.count))
        known[name] = known[parent] | {p["name"]: p for p in params}
        classes.append((name, _class(name, {"doc": doc, "params": params}, base=parent)))
    for row in rows:
        base = place[row["name"]]
        own = [p for p in row["params"] if known[base].get(p["name"]) != p]
        name = _name(row["name"])
        classes.append((name, _class(name, {**row, "params": own}, row["name"], base=base)))
    return classes


def _chain(name: str, parents: Mapping[str, str]) -> Iterator[str]:
    """Yields a base, and what it stands on."""
    while name != "Table":
        yield name
        name = parents[name]


def _place(keys: set[str]) -> str:
    """Returns the base of a row with these keys."""
    fits = ["Table"]
    for name, parent, key, _ in BASES:
        if key in keys and parent in fits:
            fits.append(name)
    return fits[-1]


def _name(kind: str) -> str:
    return NAMES.get(kind) or "".join(part.capitalize() for part in kind.split("-"))


def _class(
    name: str,
    row: Row,
    kind: str = "",
    inner: Sequence[tuple[str, str, str]] = (),
    base: str = "Table",
) -> str:
    """Returns the text of one class. inner: fields that are tables themselves, with type and
    meaning."""
    lines = ["@dataclass(frozen=True, slots=True, kw_only=True)", f"class {name}({base}):"]
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
        lines.append(f"    {_field(p)}: {_type(p)}" + ("" if required else " | None = None"))
    return "\n".join(lines) + "\n"


def _field(p: Row) -> str:
    return f"{p['name']}_" if p["name"] in RESERVED else str(p["name"])


def _type(p: Row) -> str:
    if p["type"] in TYPES:
        return TYPES[p["type"]]
    words = ", ".join(f'"{word}"' for word in re.findall(r'"([^"]+)"', p["range"]))
    either = {"word": "", "number or word": "float | ", "bool or word": "bool | "}
    return f"{either[p['type']]}Literal[{words}]"


def _described(p: Row) -> str:
    """Returns meaning, range, unit, default and source in one paragraph."""
    text: str = p["doc"].rstrip(".") + f"; {p['range']}"
    if p["unit"] not in ("", "1"):
        text += f"; unit: {p['unit']}"
    if p["auto"] == "required":
        text += "; required"
    elif p["default"] is not None:
        text += f"; default: {p['default']}"
    elif p["auto"]:
        text += f"; left out: {p['auto']}"
    for column, profile in reference.columns().items():
        if p[column] is not None:
            text += f"; with profile {profile}: {p[column]}"
    return text + (f". Source: {p['source']}." if p["source"] else ".")


def _wrapped(text: str, first: int, rest: int) -> list[str]:
    text = text.replace("\\", "\\\\")
    indents = {"initial_indent": " " * first, "subsequent_indent": " " * rest}
    return textwrap.wrap(text, WIDTH - 2, break_long_words=False, break_on_hyphens=False, **indents)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
