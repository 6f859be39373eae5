"""Reads what `tc -s -d qdisc show` says, in JSON or as text, as a scenario."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from penstock._penstock import parse_rate
from penstock.errors import ScenarioError
from penstock.operators import tc_fields as fields
from penstock.operators import tc_text
from penstock.operators.state import Carried, Fate, Given, Lost, Reading, rate_text, scenario_file, table
from penstock.operators.tc_arithmetic import TICKS_PER_US, cell_log
from penstock.operators.tc_box import PACKET, Box
from penstock.operators.tc_fields import Field
from penstock.operators.tc_forms import Form, show
from penstock.operators.tc_read import READ
from penstock.operators.tc_tree import FILTERS, Node, chosen, default_class, nodes

#: Field → why it is lost here, in place of what the table says; `None`: nothing is lost.
Special = Mapping[str, str | None]


def parse(text: str) -> Any:
    """Returns the document of a state in JSON or as text. Raises `ScenarioError`."""
    if tc_text.is_text(text):
        return tc_text.document(text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ScenarioError(
            f"is not JSON ({str(error).splitlines()[0]}), nor the text of `tc -s -d qdisc show`, in which lines begin "
            "with `qdisc`"
        ) from None


def read(document: Any, given: Given) -> Reading:
    """Returns a scenario file, and what became of each field. Raises `ScenarioError`."""
    there = nodes(document, given, tuple(READ))
    choice = chosen(there, given, tuple(READ))
    leaf = choice.leaf
    fate = Fate()
    shaper = next((each for each in (leaf, *choice.above) if each.kind == "tbf"), None)
    box = Box(leaf, given, shaper, has_classes=bool(choice.above) and shaper is None)
    made = READ[leaf.kind](box)
    rate = box.rate()
    fate.notes += made.notes
    replaced = {name: None for name in ("bandwidth", "rate") if given.rate is not None}
    own = box.framing(leaf)
    special = {**own.lost, **_idle_of(leaf, box), **made.special, **replaced}
    account(fate, leaf, box, special, {**box.default_to, **own.carried})
    for each in choice.above:
        if each.kind in fields.QDISCS:
            _above(fate, each, leaf, box, replaced if each.kind == "tbf" else {})
        else:
            why = "is not known here: what it does to the queue below is not in the scenario"
            _lost(fate, each, f"at {each.place}", None, why)
    for each in there:
        if each.kind in FILTERS:
            _lost(fate, each, "", None, fields.QDISCS[each.kind].above)
    for each in choice.beside:
        _lost(fate, each, f"at {each.place}", None, "another queue of the interface, not this one")
    if choice.like:
        more = (
            "1 more queue of the interface is"
            if choice.like == 1
            else f"{choice.like} more queues of the interface are"
        )
        fate.notes.append(f"{more} just like it")
    if isinstance(document, tc_text.TextState):
        fate.notes.append("the state was read from text, in which times have three digits; `tc -j` has them whole")
    _replaced(fate, box, given)
    said = f"What `tc -s -d qdisc show` says of {leaf.dev}: {leaf.kind} at {leaf.place}."
    text = scenario_file(
        leaf.dev, said, link={"rate": rate, **box.link()}, buffer=made.buffer, aqm=made.aqm, given=given, fate=fate
    )
    return Reading(text=text, fate=fate)


def _above(fate: Fate, node: Node, leaf: Node, box: Box, special: Special) -> None:
    """Names what a queue discipline above the chosen one does."""
    known = fields.QDISCS[node.kind]
    if known.above:
        _lost(fate, node, f"at {node.place}", None, known.above)
    more: dict[str, str | None] = {}
    if node.kind == "tbf":  # the queue below it has the limit
        more = {"lat": None, "limit": None, **box.framing(node).lost}
    if default_class(node) == leaf.place:
        more["default"] = None
    account(fate, node, box, {**special, **more}, box.framing(node).carried)


def account(fate: Fate, node: Node, box: Box, special: Special, default_to: Mapping[str, str]) -> None:
    """Puts each field of a queue discipline where it belongs."""
    known = fields.QDISCS[node.kind].fields
    counted = fields.OPTION_STATISTICS.get(node.kind, ())
    for name, value in _in_order(node.options(), known):
        if node.kind == "gred" and name == "vqs":
            for queue in value if isinstance(value, list) else []:
                _table(
                    fate,
                    node,
                    "vq ",
                    table(queue, node.where),
                    {**fields.VIRTUAL_QUEUE, **known},
                    counted,
                    special,
                    default_to,
                )
        else:
            _field(fate, node, name, value, known.get(name), counted, special, default_to)
    stab = node.entry.get("stab")
    if isinstance(stab, dict):
        sizes = box.size_table(node)
        lost = {f"stab {name}": why for name, why in sizes.lost.items()}
        carried = {f"stab {name}": to for name, to in sizes.carried.items()}
        _table(fate, node, "stab ", stab, fields.STAB, (), lost, carried)
    counted = (*fields.STATISTICS[""], *fields.STATISTICS.get(node.kind, ()))
    for name, value in node.entry.items():
        if name not in fields.PLACE:
            _field(fate, node, name, value, fields.OUTER.get(name), counted, {}, {})
    tins = node.entry.get("tins")
    for tin in tins if isinstance(tins, list) else []:
        _table(fate, node, "tins ", tin if isinstance(tin, dict) else {}, {}, fields.TIN, {})


def _in_order(values: Mapping[str, Any], known: Mapping[str, Field]) -> list[tuple[str, Any]]:
    """Returns fields in the order of the table, so that JSON and text are told alike; then the unknown ones."""
    names = [*(name for name in known if name in values), *(name for name in values if name not in known)]
    return [(name, values[name]) for name in names]


def _table(
    fate: Fate,
    node: Node,
    prefix: str,
    values: Mapping[str, Any],
    known: Mapping[str, Field],
    counted: Iterable[str],
    special: Special,
    default_to: Mapping[str, str] = {},
) -> None:
    """Accounts for a table within a state; its fields have a word in front."""
    for name, value in _in_order(values, known):
        statistics = tuple(f"{prefix}{each}" for each in counted)
        _field(fate, node, f"{prefix}{name}", value, known.get(name), statistics, special, default_to)


def _field(
    fate: Fate,
    node: Node,
    name: str,
    value: Any,
    known: Field | None,
    counted: Iterable[str],
    special: Special,
    default_to: Mapping[str, str],
) -> None:
    if known is not None and known.form is Form.FLAG and value is None:
        value = True  # `tc` writes some flags as null
    if known is None:
        if name in counted:
            if name not in fate.statistics:
                fate.statistics.append(name)
            return
        _lost(fate, node, name, value, "is not known here: what it does is not in the scenario")
        return
    to = default_to.get(name, known.to)
    why = special[name] if name in special else known.lost if known.costs(value) and not to else None
    if to and special.get(name, "") is not None:
        fate.carried.append(Carried(field=f"{node.where} {name}", value=value, to=to))
    if why is not None:
        _lost(fate, node, name, value, why, known.form)


def _lost(fate: Fate, node: Node, name: str, value: Any, why: str, form: Form | None = None) -> None:
    said = name if value is None or value is True else f"{name} {show(form, value)}"
    fate.lost.append(Lost(field=f"{node.where} {name}".strip(), value=value, by=node.kind, said=said, why=why))


def _idle_of(leaf: Node, box: Box) -> dict[str, str | None]:
    """Returns what is lost of how the average of RED's kin decays while the link is idle."""
    if leaf.kind not in ("red", "gred", "choke"):
        return {}
    name = "vq Scell_log" if leaf.kind == "gred" else "Scell_log"
    return {name: idle(box.ramp.get("Scell_log"), box.ramp.get("ewma"), parse_rate(box.rate()))}


def idle(told: Any, exponent: Any, rate_bps: float) -> str | None:
    """Returns what it costs that the scenario's average decays as for packets of its own; `None`: nothing.

    told: Scell_log, the state's; from it follows a packet's time within a factor of two.
    """
    whole = isinstance(told, int) and isinstance(exponent, int)
    if not whole or not 1 <= exponent <= 31 or not 0 <= told <= 31:
        return None
    if told in (0, cell_log(exponent, PACKET, rate_bps / 8)):  # 0: tc takes less than 64 ns for nothing
        return None
    least_ms = 512 * 2.0**told * -math.log(1 - 2.0**-exponent) / 31 / TICKS_PER_US / 1e3 / 2
    own_ms = 8e3 * PACKET / rate_bps
    return (
        f"while the link is idle the average decays as for packets of {least_ms:.3g} to {2 * least_ms:.3g} ms, in the "
        f"scenario as for the link's own, {own_ms:.3g} ms"
    )


def _replaced(fate: Fate, box: Box, given: Given) -> None:
    """Notes what the user said in place of the state."""
    own = box.own_rate()
    if given.rate is not None and own is not None and abs(parse_rate(given.rate) / own - 1) > 1e-6:
        fate.notes.append(f"--rate {given.rate} stands in place of the state's {rate_text(own, Given(), '')}")
