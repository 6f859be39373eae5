"""The tree of queue disciplines of an interface: which one decides, and what stands above it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock._names import nearest
from penstock.errors import ScenarioError
from penstock.operators.state import Given, one, table
from penstock.operators.tc_fields import QDISCS
from penstock.operators.tc_forms import Form, show

#: Filters hang on these; packets do not wait there.
FILTERS = ("clsact", "ingress")
#: These rest on classes or queues of the hardware, with or without queues that the state shows.
CLASSES = tuple(kind for kind, each in QDISCS.items() if each.above and kind not in (*FILTERS, "netem"))
#: These may stand above the one that decides, and the reader says what they do.
ABOVE = (*CLASSES, "tbf", "netem")


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A queue discipline of one interface.

    entry: what the state says of it.
    place: `root`, or the class above it, such as `1:12`.
    """

    dev: str
    entry: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The discipline's name."""
        return str(self.entry["kind"])

    @property
    def handle(self) -> str:
        """The discipline's own number, such as `10:`."""
        return str(self.entry.get("handle", ""))

    @property
    def place(self) -> str:
        """`root`, or the class that it stands below."""
        parent = self.entry.get("parent")
        return parent if isinstance(parent, str) else "root"

    @property
    def where(self) -> str:
        """The discipline's place and name, for messages and comments."""
        return f"{self.dev} {self.place} {self.kind}"

    def options(self) -> Mapping[str, Any]:
        """Returns the queue discipline's options. Raises `ScenarioError` where there are none."""
        return table(self.entry.get("options"), f"{self.dev}: {self.kind}")


def nodes(document: Any, given: Given, readable: Collection[str]) -> list[Node]:
    """Returns the queue disciplines of the interface that was chosen, or that is the only one with
    one that is read. Raises `ScenarioError`.
    """
    if not isinstance(document, list):
        raise ScenarioError("must be the list that `tc -d -j qdisc show` prints")
    entries = [table(each, f"entry {place}") for place, each in enumerate(document)]
    found = [Node(_device(each, given), each) for each in entries if isinstance(each.get("kind"), str)]
    devices = sorted({each.dev for each in found})
    if given.dev is not None and given.dev not in devices:
        near = nearest(given.dev, devices)
        hint = f"; nearest: {near}" if near else ""
        raise ScenarioError(f"--dev {given.dev}: no such interface; there are: {', '.join(devices) or 'none'}{hint}")
    there = [each for each in found if given.dev in (None, each.dev)]
    able = sorted({each.dev for each in there if each.kind in readable})
    if not able:
        kinds = ", ".join(sorted({each.kind for each in there})) or "none"
        raise ScenarioError(f"has no qdisc that is read ({', '.join(readable)}); it has: {kinds}")
    dev = one(able, "interface", "--dev")
    return [each for each in there if each.dev == dev]


def _device(entry: Mapping[str, Any], given: Given) -> str:
    """Returns the interface; `tc qdisc show dev NAME` leaves it out."""
    dev = entry.get("dev")
    return dev if isinstance(dev, str) else given.dev or "eth0"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The queue discipline that decides.

    above: those above it, the nearest first.
    like: how many others are just like it.
    beside: other queues of the interface, which differ.
    """

    leaf: Node
    above: Sequence[Node]
    like: int
    beside: Sequence[Node]


def chosen(there: Sequence[Node], given: Given, readable: Collection[str]) -> Chosen:
    """Returns the queue discipline at which packets wait. Raises `ScenarioError`, which names them,
    where several differ and none was chosen.
    """
    majors = {_major(each.place) for each in there} - {"0"}
    inner = (*FILTERS, *CLASSES, "noqueue")
    leaves = [each for each in there if each.kind not in inner and _major(each.handle) not in majors]
    alike: dict[str, list[Node]] = {}
    for each in leaves:
        alike.setdefault(_identity(each), []).append(each)
    if given.parent is not None:
        group = [each for each in leaves if given.parent in (each.place, each.handle)]
        if not group:
            raise ScenarioError(f"--parent {given.parent}: no queue stands there; there are: {_listed(leaves, there)}")
    elif len(alike) > 1:
        raise ScenarioError(
            f"{leaves[0].dev} has {len(leaves)} queues that differ: {_listed(leaves, there)}; choose one with "
            f"--parent, as in --parent {_likely(leaves, there).place}"
        )
    else:
        group = leaves
    if not group or group[0].kind not in readable:
        kinds = ", ".join(sorted({each.kind for each in group or there}))
        raise ScenarioError(f"has no qdisc that is read ({', '.join(readable)}); it has: {kinds}")
    leaf = group[0]
    same = alike[_identity(leaf)]
    return Chosen(leaf, _above(leaf, there), len(same) - 1, [each for each in leaves if each not in same])


def default_class(node: Node) -> str | None:
    """Returns the class of what no filter sorts, such as `1:12`; `None` where there is none."""
    options = node.entry.get("options")
    told = options.get("default") if isinstance(options, dict) and node.kind in ("htb", "hfsc") else None
    try:
        minor = int(told, 16) if isinstance(told, str) else 0
    except ValueError:
        return None
    return f"{_major(node.handle)}:{minor:x}" if minor else None


def _above(leaf: Node, there: Sequence[Node]) -> list[Node]:
    found: list[Node] = []
    place = leaf.place
    while place != "root":
        major = _major(place)
        above = [each for each in there if _major(each.handle) == major and (major != "0" or each.kind in CLASSES)]
        if not above or above[0] in found:
            break
        found.append(above[0])
        place = above[0].place
    for each in found:
        if each.kind in QDISCS and each.kind not in ABOVE:
            raise ScenarioError(f"{leaf.dev}: {each.kind} stands above {leaf.kind}: a scenario has one of them")
    return found


def _identity(node: Node) -> str:
    """Returns kind and options, without what is counted."""
    return f"{node.kind} {sorted(_settings(node).items())!r}"


def _settings(node: Node) -> dict[str, str]:
    options = node.entry.get("options")
    if not isinstance(options, dict) or node.kind not in QDISCS:
        return {"": repr(options)}
    known = QDISCS[node.kind].fields
    return {
        name: repr(value)
        for name, value in options.items()
        if (name not in known or known[name].form is not Form.FLAG or value) and name != "vqs"
    } | {"vqs": repr(options.get("vqs"))}


def _listed(leaves: Sequence[Node], there: Sequence[Node]) -> str:
    """Returns the queues, each with its class and with what sets it apart."""
    default = [each for each in map(default_class, there) if each]
    settings = [_settings(each) for each in leaves]
    words = []
    for node, own in zip(leaves, settings, strict=True):
        peers = [other for other, peer in zip(settings, leaves, strict=True) if peer.kind == node.kind]
        apart = [name for name in own if len({peer.get(name) for peer in peers}) > 1]
        known = QDISCS[node.kind].fields if node.kind in QDISCS else {}
        options = node.entry.get("options")
        values = options if isinstance(options, dict) else {}
        said = [f"{name} {show(known[name].form, values[name])}" for name in apart if name in known and name in values]
        notes = [*said[:3], *(["the default class"] if node.place in default else [])]
        words.append(f"{node.kind} at {node.place}" + (f" ({', '.join(notes)})" if notes else ""))
    return ", ".join(words[:12]) + (f", and {len(words) - 12} more" if len(words) > 12 else "") or "none"


def _likely(leaves: Sequence[Node], there: Sequence[Node]) -> Node:
    """Returns the queue of the default class, else the first."""
    default = [each for each in map(default_class, there) if each]
    return next((each for each in leaves if each.place in default), leaves[0])


def _major(number: str) -> str:
    """Returns the part before the colon. `0:` and `:3` are of a queue discipline without a number."""
    return number.partition(":")[0] or "0"
