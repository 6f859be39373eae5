"""Writes seeds for the fuzz target `scenario` from the declarations: every kind, every key at least once.

    .venv/bin/python fuzz/seeds.py

A seed holds a kind with as many of its keys as go together, each at a value that is not its default where one is
accepted. A key that does not go with the others gets a seed of its own. What no scenario accepts is said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import penstock as ps
from penstock import _penstock

FOLDER = Path(__file__).parent / "corpus" / "scenario"
LINK = 'rate = "1.5 Mbit/s"\ndelay = "9 ms"\nbuffer = 20\n'
TOP = 'duration = "2 s"\n'
DUMBBELL = f"[topology.bottleneck]\n{LINK}"
ACCESS = '[topology.access]\nrate = "9 Mbit/s"\n'
NODE = "[[topology.node]]\nname = "
FTP = '[[traffic]]\nkind = "ftp"\n'

#: Type → literal of a key of `[[traffic]]` that is required.
NEEDED = {"rate": '"1 Mbit/s"', "text": '"packets.csv"'}

#: Makes the text of a scenario from the keys of one table.
Shape = Callable[[str], str]


def tables(what: str) -> dict[str, list[dict[str, str]]]:
    """Kind → its declarations."""
    return {kind["name"]: kind["params"] for kind in json.loads(_penstock.list_json(what))}


def values(p: dict[str, str]) -> Iterator[str]:
    """Literals for a key, as TOML writes them, those that are not the default first."""
    kind, default, text = p["type"], p["default"], p["range"]
    if kind == "bool":
        yield from ("false", "true") if default == "true" else ("true", "false")
    if kind in ("number", "number or word", "int"):
        # All digits of a double: what reads it back must not lose the last bit.
        try:
            yield repr(int(default) + 1) if kind == "int" else repr(float(default) * 0.9876543210123457)
        except (TypeError, ValueError):
            yield "3" if kind == "int" else "0.039453164456023676"
    if "one of" in text:
        words = re.findall(r'"[^"]*"', text.partition("one of")[2])
        yield from (word for word in reversed(words) if word != f'"{default}"')
    if kind in ("number", "number or word", "int"):
        yield from ("1", "0.5", "2")
    yield from re.findall(r'"[^"]*"|\[?\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}\]?', text.partition("for example")[2])
    if kind == "text":
        yield from ('"n0-n1"', '"R0"', '"R1"', '"a name"')
    if kind == "queue":
        yield from ("5", "15")
    if default is not None:
        yield from (default, f'"{default}"')


def accepted(text: str) -> bool:
    """Whether it is a scenario."""
    try:
        ps.Scenario.from_toml(text)
    except ps.ScenarioError:
        return False
    return True


def fill(shape: Shape, params: Iterable[dict[str, str]]) -> tuple[str, list[dict[str, str]]]:
    """The keys that go together, and those that do not."""
    keys, left = "", list(params)
    while left:
        before = len(left)
        for p in list(left):
            lines = (f"{p['name']} = {value}\n" for value in values(p))
            line = next((line for line in lines if accepted(shape(keys + line))), None)
            if line is not None:
                keys += line
                left.remove(p)
        if len(left) == before:  # a key may wait for another one that makes room for it
            break
    return keys, left


def seeds(name: str, shape: Shape, params: list[dict[str, str]]) -> None:
    """One seed with most keys of a table, and one for each key that goes with none of them."""
    keys, left = fill(shape, params)
    write(name, shape(keys))
    for p in left:
        keys, refused = fill(shape, [p])
        if refused:
            print(f"{name}: {p['name']}: no scenario accepts it: {p['range']}")
            keys = f"{p['name']} = {next(values(p), '1')}\n"
        write(f"{name}-{p['name']}", shape(keys))


def write(name: str, text: str) -> None:
    """A file of the corpus."""
    (FOLDER / f"seed-{name}.toml").write_text(text, encoding="utf-8")


def main() -> None:
    """Writes all seeds."""
    for old in FOLDER.glob("seed-*.toml"):
        old.unlink()
    for kind, params in tables("aqm").items():
        seeds(f"aqm-{kind}", lambda keys, kind=kind: f'{TOP}{DUMBBELL}{FTP}[aqm]\nkind = "{kind}"\n{keys}', params)
    traffic = tables("traffic")
    shared = [p for p in traffic.pop("any") if p["name"] != "kind"]
    for kind, params in traffic.items():
        needed = [p for p in params if p["auto"] == "required"]
        given = "".join(f"{p['name']} = {NEEDED.get(p['type']) or next(values(p))}\n" for p in needed)
        base = f'{TOP}{DUMBBELL}{ACCESS}[[traffic]]\nkind = "{kind}"\n{given}'
        free = [p for p in (*params, *shared) if p not in needed]
        seeds(f"traffic-{kind}", lambda keys, base=base: base + keys, free)
    tcp = tables("tcp")
    every = [p for p in tcp.pop("any") if p["name"] != "tcp"]
    for kind, params in tcp.items():
        base = f'{TOP}{DUMBBELL}{FTP}tcp = "{kind}"\n'
        seeds(f"tcp-{kind}", lambda keys, base=base: base + keys, [*params, *every])
    topology = tables("topology")
    lot = f'{TOP}{FTP}[topology]\nkind = "parking-lot"\n%s[topology.link]\n{LINK}'
    hops = [p for p in topology["parking-lot"] if p["name"] != "hops"]
    seeds("parking-lot", lambda keys: lot % f"hops = 2\n{keys}", hops)
    link = [p for p in topology["bottleneck, link"] if p["name"] not in ("rate", "delay", "buffer")]
    seeds("link", lambda keys: TOP + DUMBBELL + keys + FTP, link)
    for side in ("access", "egress"):
        base = f'{TOP}{DUMBBELL}[topology.{side}]\nrate = "9 Mbit/s"\n'
        free = [p for p in topology[side] if p["name"] != "rate"]
        seeds(side, lambda keys, base=base: f"{base}{keys}{FTP}", free)
    ends = 'from = "n0"\nto = "n1"\n'
    graph = f'{TOP}[topology]\nkind = "graph"\n%s[[topology.link]]\n{ends}{LINK}%s%s{FTP}{ends}'
    own = [p for p in topology["[[topology.link]]"] if p["name"] not in ("from", "to")]
    seeds("graph", lambda keys: graph % (keys, "", ""), [p for p in topology["graph"] if p["type"] == "text"])
    seeds("graph-link", lambda keys: graph % ("", keys, ""), [*own, *link])
    node = [p for p in topology["[[topology.node]]"] if p["name"] != "name"]
    seeds("graph-node", lambda keys: graph % ("", "", f'{NODE}"n1"\n{NODE}"n0"\n{keys}'), node)
    top = tables("scenario")
    free = [p for p in top["top"] if p["name"] != "duration" and "table" not in p["type"]]
    seeds("top", lambda keys: TOP + keys + DUMBBELL + FTP, free)
    for table in ("measure", "record"):
        seeds(table, lambda keys, table=table: f"{TOP}{DUMBBELL}{FTP}[{table}]\n{keys}", top[table])
    axes = '"seed" = [1, 2]\n"aqm.max_p" = { log_uniform = [0.001, 0.5] }\n'
    red = '[aqm]\nkind = "red"\n'
    seeds("sweep", lambda keys: f"{TOP}{DUMBBELL}{FTP}{red}[sweep]\n{axes}{keys}", top["sweep"])


if __name__ == "__main__":
    main()
