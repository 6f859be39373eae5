"""Writes `docs/aqm`: one page per discipline, from its declaration in Rust, with a figure.

The figure is drawn by probing the code. `make generate` writes all of them; a test fails while a
page is stale. A page names the digest of what its figure shows, so it is stale as soon as the
figure is.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import reference
from penstock._names import listing
from penstock.model.scenario import Scenario
from penstock.runs import probing, runner
from penstock.runs.probing import Probe
from penstock.runs.result import Comparison
from penstock.sweeps.figure import draw
from penstock.sweeps.show import show
from penstock.sweeps.sweep import sweep
from slim_svg import written
from snippets import file_in
from tables import filled, table

Row = Mapping[str, Any]

NOTE = "Made by `tools/pages.py` from the declaration in Rust; `make generate` writes it again."

#: Whose marks are around the table in the index, which is written by hand otherwise.
MAKER = "tools/pages.py"


@dataclass(frozen=True, kw_only=True)
class View:
    """What a kind's figure shows.

    set: keys besides `ecn`.
    upto: the longest queue; 98 leaves out the full buffer, where every kind drops.
    loads: loads instead of lengths.
    runs: more where shares are small.
    why: a sentence for the caption.
    """

    set: Mapping[str, object] = field(default_factory=dict)
    upto: int = 98
    loads: Sequence[float] | None = None
    runs: int = 16
    why: str = ""


VIEWS = {
    **{
        kind: View(upto=40)
        for kind in (
            "red",
            "choke",
            "ared",
            "feng-ared",
            "mecn",
            "amecn",
            "red-at",
            "dt-red",
            "nlred",
            "step",
            "custom",
            "wred",
        )
    },
    "droptail": View(upto=100),
    "pi": View(runs=160),
    "dualpi2": View(
        why="The packets are ECT(0) and wait in C. Of L, where each goes with "
        '`identify = "any-ect"`, all are marked from two packets on: a packet takes 0.8 ms here.',
    ),
    "rem": View(runs=64),
    "blue": View(
        set={"limit": 50},
        why="Without `limit` only a full buffer raises p_m, and nothing is marked at less.",
    ),
    "sfb": View(
        set={"target": 5, "max": 15},
        why="With its own target of 20 packets five flows would need more than the buffer.",
    ),
    "avq": View(
        loads=[round(0.9 + 0.005 * i, 3) for i in range(61)],
        why="AVQ looks at the rate of arrivals, so this is over their rate; "
        "the queue is held at 10 packets.",
    ),
}


def view(kind: str) -> View:
    """Returns what the figure of a kind shows."""
    return VIEWS.get(kind, View())


def probed(kind: str) -> Probe:
    """Returns what a kind's figure is drawn from."""
    shown = view(kind)
    scenario = probing.scenario(kind).set_all(
        {f"aqm.{key}": value for key, value in shown.set.items()}
    )
    if shown.loads is not None:
        return probing.probe(scenario, loads=shown.loads, runs=shown.runs)
    return probing.probe(scenario, queues=range(shown.upto + 1), runs=shown.runs)


def rows() -> list[Row]:
    """Returns every kind as it is declared."""
    listed: list[Row] = listing("aqm")
    return listed


def page(row: Row, probe: Probe) -> str:
    """Returns the text of one kind's page."""
    return "\n".join(_page(row, probe)).rstrip() + "\n"


def index(text: str) -> str:
    """Returns the index with its table written again."""
    return filled(text, MAKER, table(["", "kind", "what it is", "source"], _index(), "l"))


def write(docs: Path) -> None:
    """Writes all pages and figures into their places under `docs`."""
    from penstock import _files

    for row in rows():
        probe = probed(row["name"])
        figure = docs / f"img/aqm/{row['name']}.svg"
        _files.write(figure, written(probe.plot()))
        _files.write(docs / f"aqm/{row['name']}.md", page(row, probe))
    for name, made in PICTURES.items():
        _files.write(docs / f"img/{name}.svg", made(docs))
    readme = docs / "aqm/README.md"
    _files.write(readme, index(readme.read_text(encoding="utf-8")))


def first(docs: Path, kinds: Sequence[str], seeds: int, series: str | None = None) -> Comparison:
    """Compares disciplines in the start page's scenario, as its commands do."""
    scenario = shown(docs / "README.md", "first.toml")
    return runner.compare(scenario, list(kinds), seeds=seeds, series=series)


def shown(page: Path, title: str) -> Scenario:
    """Returns the scenario that a page shows under this title."""
    return Scenario.from_toml(file_in(page.read_text("utf-8"), title))


def first_picture(docs: Path) -> str:
    """Returns the queues of the first scenario under the disciplines that its page compares."""
    compared = first(docs, ["droptail", "codel"], 1, "50 ms")
    return written(compared.plot.queue(size=(7.6, 3.4)))


def plane(docs: Path) -> str:
    """Returns the start page's delay against throughput."""
    kinds = ["droptail", "red", "ared", "pie", "codel", "fq-codel"]
    return written(first(docs, kinds, 5).plot.plane())


def compared(docs: Path) -> str:
    """Returns the second tutorial's overview."""
    return written(first(docs, ["droptail", "red", "codel"], 5).plot.overview())


def swept(docs: Path) -> str:
    """Returns the fourth tutorial's delay over the number of flows."""
    scenario = shown(docs / "tutorials/4-sweep.md", "sweep.toml")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "flows"
        sweep(scenario, seeds=5, out=out)
        return written(draw(show(out, "delay_p99_s", "traffic.0.flows", "aqm.kind")))


#: The pictures of the pages that a reader meets first, each as the page's own command draws it.
PICTURES: dict[str, Callable[[Path], str]] = {
    "queue": first_picture,
    "plane": plane,
    "compare": compared,
    "sweep": swept,
}


#: Where the keys are that a page leaves out.
SHARED = "[every discipline](../reference/disciplines.md#every-discipline)"


def _page(row: Row, probe: Probe) -> Iterator[str]:
    kind = row["name"]
    yield f"# {kind}\n"
    yield f"<!-- {NOTE} Figure: {digest(probe)}. -->\n"
    yield f"{row['doc']} *{row['source']}.*\n"
    yield f"![Share of packets that {kind} marks and drops](../img/aqm/{kind}.svg)\n"
    yield _caption(kind, probe) + "\n"
    lab = f"../lab/index.html#aqm={kind}"
    yield f"[Open in the lab]({lab}): {kind} under ten flows, in the browser.\n"
    yield f"## Algorithm\n\n```text\n{row['equations']}\n```\n"
    yield f"## What to expect\n\n{_prose(row['expect'])}\n"
    yield f"## Weaknesses, and what the source leaves open\n\n{_prose(row['weaknesses'])}\n"
    yield "## Keys\n"
    shared = reference.shared_keys(rows())
    own = [p for p in row["params"] if p["name"] not in shared]
    if own:
        yield from reference.params_table(own)
        yield f"Besides these, the keys of {SHARED}."
    else:
        yield f"None of its own; the keys of {SHARED}."
    changed = [p for p in row["params"] if p["name"] == "ecn" and p["default"] == "true"]
    yield (" Its `ecn` is on by default." if changed else "") + "\n"
    yield "## State\n"
    if not row["state"]:
        yield "It publishes nothing.\n"
        return
    yield "Columns of the `queue` series:\n"
    columns = [(f"`{state['name']}`", state["doc"]) for state in row["state"]]
    yield from table(["column", "what it is"], columns, "l")


def _caption(kind: str, probe: Probe) -> str:
    shown = view(kind)
    times = [f"{after:g} s" for after in probe.after_s]
    held = (
        "the queue is held at so many packets" if probe.axis == "queue" else "the load is so high"
    )
    keys = ", ".join(["`ecn = true`", *(f"`{key} = {value}`" for key, value in shown.set.items())])
    return " ".join(
        [
            f"Share of packets marked and dropped while {held},",
            f"{', '.join(times[:-1])} and {times[-1]} after the start.",
            "Link: 10 Mbit/s, 20 ms, a buffer of 100 packets;",
            "1000 B packets of five flows, all ECN-capable;",
            f"{keys}, all else by default. No sender answers. {shown.why}".rstrip(),
            f"`penstock probe {kind}` counts again.",
        ]
    )


def _prose(text: str) -> str:
    """Returns a paragraph as Markdown."""
    text = re.sub(r"(?<!`)\*", r"\\*", text)
    return re.sub(r"docs/(\w+\.md)", r"[\1](../\1)", text)


def _index() -> Iterator[tuple[str, ...]]:
    for row in rows():
        kind = row["name"]
        figure = (
            f'<a href="{kind}.md"><img src="../img/aqm/{kind}.svg" width="260" alt="{kind}"></a>'
        )
        yield figure, f"[{kind}]({kind}.md)", row["doc"], row["source"]


def digest(probe: Probe) -> str:
    """Returns a short name for what a figure shows."""
    shown = json.dumps([probe.axis, probe.points, probe.after_s, probe.counts])
    return hashlib.sha256(shown.encode()).hexdigest()[:16]
