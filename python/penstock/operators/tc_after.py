"""Computes what a box's queue disciplines will be once lines of `tc` are pasted, beside what they are now.

`tc qdisc replace` of a discipline of the same kind and number changes what it says and leaves the
rest as it is; of another one it makes a new one, with the kernel's defaults. Both follow from
Linux's net/sched/sch_api.c (tc_modify_qdisc). Whatever stood below what is replaced goes with it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.errors import ScenarioError
from penstock.operators import tc_text
from penstock.operators.changes import ABSENT, Change
from penstock.operators.model import Place, Written
from penstock.operators.state import Given
from penstock.operators.tc_fields import OPTION_STATISTICS, OUTER, QDISCS, STAB, VIRTUAL_QUEUE, Field
from penstock.operators.tc_forms import Form, as_text, cell_size, show
from penstock.operators.tc_text import TextState
from penstock.operators.tc_tree import FILTERS, Node, nodes

#: Words of a command that no state reports: what they make is in `Written.readback`.
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "red": ("avpkt", "burst", "bandwidth"),
    "choke": ("avpkt", "burst", "bandwidth"),
    "sfq": ("avpkt", "burst", "redflowlimit"),
    "gred": ("avpkt", "burst", "bandwidth", "setup", "vq"),
}
#: What gred has for all its virtual queues or for each.
RED_FLAGS = ("ecn", "harddrop", "adaptive", "nodrop")
#: Where the filters of what arrives hang.
INGRESS = "ffff:fff1"
#: What `raw` sets beside itself (iproute2's tc/q_cake.c).
RAW = {"atm": "noatm", "overhead": 0}


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue discipline as it is or will be.

    place: `root`, or the class above it.
    options: every field, those of size tables and virtual queues included; none is left out that has
        a default.
    """

    place: str
    kind: str
    handle: str
    options: dict[str, Any] = field(default_factory=dict)


def changes(document: Any, given: Given, write: Callable[[Place], Written], place: Place) -> list[Change]:
    """Returns what changes on the interface that was chosen, or the only one, and on those that the lines name
    beside it. Raises `ScenarioError`.
    """
    own = replace(given, dev=given.dev or _only_device(document))
    dev = nodes(document, own, _kinds(document))[0].dev
    written = write(replace(place, dev=dev))
    found: list[Change] = []
    for each in dict.fromkeys([dev, *(words[1] for words in _commands(written.text))]):
        now = _now(document, each)
        found += _all(each, now, _after(written, now, each, each == dev), is_rounded(document))
    return found


def between(document: Any, later: Any, dev: str) -> list[Change]:
    """Returns what changed on an interface between two states."""
    return _all(dev, _now(document, dev), _now(later, dev), is_rounded(document) or is_rounded(later))


def _all(dev: str, now: Mapping[str, Queue], after: Mapping[str, Queue], rounded: bool) -> list[Change]:
    found: list[Change] = []
    for where in [*now, *(name for name in after if name not in now)]:
        found += _compared(dev, now.get(where), after.get(where), rounded)
    return found


def _now(document: Any, dev: str) -> dict[str, Queue]:
    """Returns the queue disciplines of an interface, by their places."""
    there = [Node(dev, each) for each in _entries(document) if each.get("dev", dev) == dev]
    return {node.place: _queue(node) for node in there}


def is_rounded(document: Any) -> bool:
    """Returns whether a state was read from text, which rounds."""
    return isinstance(document, TextState)


def _commands(text: str) -> list[list[str]]:
    """Returns the commands of tc on queue disciplines: the verb, the interface, the rest."""
    found = []
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if words[:2] == ["tc", "qdisc"] and words[3:4] == ["dev"] and len(words) > 5:
            found.append([words[2], words[4], *words[5:]])
    return found


def _kinds(document: Any) -> tuple[str, ...]:
    """Returns every kind that the state has, so that none is left out for not being read."""
    return tuple(dict.fromkeys(each["kind"] for each in _entries(document)))


def _entries(document: Any) -> list[Any]:
    listed = document if isinstance(document, list) else []
    return [each for each in listed if isinstance(each, dict) and isinstance(each.get("kind"), str)]


def _only_device(document: Any) -> str | None:
    """Returns the only interface that has a queue; `None` where several do."""
    devices = {each.get("dev") for each in _entries(document) if each["kind"] not in (*FILTERS, "noqueue")}
    only = devices.pop() if len(devices) == 1 else None
    return only if isinstance(only, str) else None


def _known(kind: str) -> Mapping[str, Field]:
    return QDISCS[kind].fields if kind in QDISCS else {}


def _field(kind: str, name: str) -> Field | None:
    """Returns what the tables say of a flattened field."""
    head, _, rest = name.rpartition(" ")
    if head.startswith("vq"):
        return VIRTUAL_QUEUE.get(rest)
    return STAB.get(rest) if head == "stab" else _known(kind).get(name, OUTER.get(name))


def _queue(node: Node) -> Queue:
    """Returns a queue discipline of the state with every field that is no statistic."""
    options = node.entry.get("options")
    made = _flat(node.kind, options if isinstance(options, dict) else {})
    stab = node.entry.get("stab")
    made |= {f"stab {name}": value for name, value in (stab if isinstance(stab, dict) else {}).items()}
    made |= {name: value for name, value in node.entry.items() if name in OUTER}
    return Queue(node.place, node.kind, node.handle, made)


def _flat(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    counted = OPTION_STATISTICS.get(kind, ())
    made: dict[str, Any] = {}
    queues = options.get("vqs")
    queues = [each for each in queues if isinstance(each, dict)] if isinstance(queues, list) else []
    shared = {flag: options[flag] for flag in RED_FLAGS if kind == "gred" and queues and options.get(flag) is True}
    for name, value in options.items():
        if name == "vqs":
            for queue in queues:
                own = {key: each for key, each in queue.items() if key not in (*counted, "vq")} | shared
                made |= {f"vq {queue.get('vq', 0)} {key}": each for key, each in own.items()}
        elif name in RED_FLAGS and kind == "gred" and queues:
            continue  # they hold for each virtual queue
        elif name not in counted:
            known = _known(kind).get(name)
            made[name] = True if value is None and known is not None and known.form is Form.FLAG else value
    return made


def _after(written: Written, now: Mapping[str, Queue], dev: str, forward: bool) -> dict[str, Queue]:
    """Returns the queue disciplines of an interface once the lines are pasted.

    forward: whether it is the one that the scenario's forward direction leaves by.
    """
    after = dict(now)
    for verb, name, *rest in _commands(written.text):
        if name != dev:
            continue
        if rest[0] in ("root", "parent"):
            where, rest = ("root", rest[1:]) if rest[0] == "root" else (rest[1], rest[2:])
        else:
            where = INGRESS
        handle, rest = (rest[1], rest[2:]) if rest[:1] == ["handle"] else ("", rest)
        if verb == "del":
            after = _without_place(after, where)
            continue
        old = after.get(where)
        kept = old if old is not None and (verb == "change" or _same(old, rest[0], handle)) else None
        if kept is None:
            after = _without_place(after, where)
        after[where] = _pasted(where, rest[0], handle, rest[1:], kept)
    said = written.readback if forward else written.readback.get("reverse", {})
    reported = {each["kind"]: each["options"] for each in (said, said.get("shaper", {})) if each}
    return {
        name: replace(each, options=each.options | _reported(each.kind, reported[each.kind]))
        if each.kind in reported and each is not now.get(name)
        else each
        for name, each in after.items()
    }


def _without_place(there: Mapping[str, Queue], where: str) -> dict[str, Queue]:
    """Returns what stays where something is deleted, with all that stands below it."""
    old = there.get(where)
    return {name: each for name, each in there.items() if name != where and not _below(each, old, there)}


def _same(old: Queue, kind: str, handle: str) -> bool:
    """Returns whether a command changes what is there, instead of making a new one."""
    return old.kind == kind and old.handle not in ("", "0:") and handle in ("", old.handle)


def _below(each: Queue, old: Queue | None, there: Mapping[str, Queue]) -> bool:
    """Returns whether a queue discipline stands somewhere below another."""
    while old is not None and each.place != "root":
        major = each.place.partition(":")[0] or "0"
        if major == (old.handle.partition(":")[0] or "0"):
            return True
        above = [other for other in there.values() if other.handle.partition(":")[0] == major and other is not each]
        if not above:
            return False
        each = above[0]
    return False


def _pasted(where: str, kind: str, handle: str, words: Sequence[str], kept: Queue | None) -> Queue:
    known: Mapping[str, Field] = _known(kind)
    head = f"vq {words[words.index('vq') + 1]} " if kind == "gred" and "vq" in words[:-1] else ""
    if head:
        known = VIRTUAL_QUEUE
    told = tc_text.options(_without(words, ARGUMENTS.get(kind, ())), known)
    said = {
        name for name, value in told.items() if known.get(name) is None or known[name].form is not Form.FLAG or value
    }
    said |= {name for name, each in known.items() if any(word in words for word in each.words)}
    options = {f"{head}{name}": told[name] for name in told if name in said}
    if options.get("raw") is True:
        options |= RAW
    if kind == "tbf":
        options |= _latency(options)
    base = dict(kept.options) if kept is not None else {}
    return Queue(where, kind, handle or (kept.handle if kept else ""), base | options)


def _without(words: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """Returns a command without the words that make what a state reports under another name."""
    kept: list[str] = []
    skip = False
    for word in words:
        if word in arguments and not skip:
            skip = word != "setup"
        elif skip:
            skip = False
        else:
            kept.append(word)
    return kept


def _latency(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a tbf reports in place of its limit."""
    try:
        return {"lat": (options["limit"] - cell_size(options["burst"], "burst")) * 1e6 / options["rate"], "limit": None}
    except (KeyError, TypeError, ZeroDivisionError, ScenarioError):
        return {}


def _reported(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a command makes of options that it does not name by themselves."""
    return {name: value for name, value in _flat(kind, options).items() if name not in ("target_us", "interval_us")}


def _compared(dev: str, now: Queue | None, after: Queue | None, rounded: bool) -> list[Change]:
    if now is None or after is None or now.kind != after.kind:
        return [_whole(dev, each, each is now) for each in (now, after) if each is not None]
    found = []
    for name in _in_order(now.kind, {**now.options, **after.options}):
        known = _field(now.kind, name)
        values = [_value(each.options.get(name), known) for each in (now, after)]
        if not _alike(values[0], values[1], known, rounded, name):
            found.append(_change(f"{dev} {now.place} {now.kind}", name, known, values[0], values[1]))
    return found


def _in_order(kind: str, options: Mapping[str, Any]) -> list[str]:
    """Returns the names of fields in the order of the tables, so that JSON, text and commands are told alike."""
    order = [*_known(kind), *(f"stab {name}" for name in STAB), *OUTER]
    queues = list(VIRTUAL_QUEUE)

    def place(name: str) -> tuple[int, str, int]:
        head, _, rest = name.rpartition(" ")
        if head.startswith("vq") and rest in queues:
            return len(order), head, queues.index(rest)
        return (order.index(name), "", 0) if name in order else (len(order) + 1, name, 0)

    return sorted(options, key=place)


def _value(value: Any, known: Field | None) -> Any:
    """Returns a value, or what is there where none is said."""
    if value is None and known is not None:
        value = known.new
    if known is not None and known.form is Form.CELL and value is not None:
        try:
            return cell_size(value, "")
        except ScenarioError:
            return value
    return None if value is False else value


def _alike(now: Any, after: Any, known: Field | None, rounded: bool, name: str) -> bool:
    form = known.form if known is not None else None
    numbers = [each for each in (now, after) if isinstance(each, (int, float)) and not isinstance(each, bool)]
    if len(numbers) < 2:
        return bool(now == after)
    if rounded:
        try:
            after = as_text(form, after, name)
        except ScenarioError:
            return False
    if name == "lat" or form is Form.CELL:  # the kernel counts both in ticks
        return bool(abs(now - after) <= max(2, 5e-3 * now if rounded else 0))
    return bool(now == after or (form in (Form.NUMBER, None) and abs(now - after) <= 1e-5 * abs(now)))


def _change(where: str, name: str, known: Field | None, now: Any, after: Any) -> Change:
    form = known.form if known is not None and known.form is not Form.CELL else Form.SIZE if known else None
    flag = known is not None and known.form is Form.FLAG
    told = tuple(
        ("off" if flag else ABSENT) if each is None else show(form, round(each) if name == "lat" else each)
        for each in (now, after)
    )
    if told[0] == told[1]:
        told = (repr(now), repr(after))
    return Change(where=where, field=name, now=now, after=after, shown=(told[0], told[1]))


def _whole(dev: str, queue: Queue, is_now: bool) -> Change:
    """Returns the change of a queue discipline that comes or goes, with what is not as the kernel makes it by
    itself.
    """
    said, options = [], {}
    for name in _in_order(queue.kind, queue.options):
        known = _field(queue.kind, name)
        value = _value(queue.options[name], known)
        if value is None or (known is not None and value == known.new):
            continue
        options[name] = value
        form = known.form if known is not None else None
        form = Form.SIZE if form is Form.CELL else form
        said.append(name if value is True else f"{name} {show(form, round(value) if name == 'lat' else value)}")
    told = ", ".join(said) or "as the kernel makes it"
    now, after = (options, None) if is_now else (None, options)
    return Change(where=f"{dev} {queue.place} {queue.kind}", field="", now=now, after=after, shown=(told, told))
