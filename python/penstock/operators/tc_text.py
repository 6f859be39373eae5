"""The text of `tc -s -d qdisc show`, as the JSON that `-j` would print.

A line that begins with `qdisc` says a queue discipline and its options; the lines below it belong
to it. What no table knows is kept under its own word, so that the reader names it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.errors import ScenarioError
from penstock.operators import tc_fields as fields
from penstock.operators.tc_fields import Field
from penstock.operators.tc_forms import Form, parse

#: A word that can only be a value.
_VALUE = re.compile(r"[-+]?[0-9].*")
_SENT = re.compile(r"Sent (\d+) bytes (\d+) pkts? \(dropped (\d+), overlimits (\d+)(?: requeues (\d+))?\)")
_BACKLOG = re.compile(r"(?:rate (\S+) (\d+)pps )?backlog (\S+) (\d+)p(?: requeues (\d+))?")
#: What the text of cake's and gred's statistics has in more words than one; groups are named as in
#: JSON.
_PHRASES: Mapping[str, tuple[re.Pattern[str], ...]] = {
    "cake": tuple(
        re.compile(phrase)
        for phrase in (
            r"memory used: (?P<memory_used>\S+) of (?P<memory_limit>\S+)",
            r"capacity estimate: (?P<capacity_estimate>\S+)",
            r"min/max network layer size: +(?P<min_network_size>\d+) / +(?P<max_network_size>\d+)",
            r"min/max overhead-adjusted size: +(?P<min_adj_size>\d+) / +(?P<max_adj_size>\d+)",
            r"average network hdr offset: +(?P<avg_hdr_offset>\d+)",
            r"active queues: +(?P<active_queues>\d+)",
        )
    ),
    "gred": (re.compile(r"(Queue size|Dropped packets|Marked packets|Total packets): .*"),),
}
#: The rows of cake's table of tins, by JSON's names.
_TINS = {
    "thresh": "threshold_rate",
    "target": "target_us",
    "interval": "interval_us",
    "pk_delay": "peak_delay_us",
    "av_delay": "avg_delay_us",
    "sp_delay": "base_delay_us",
    "backlog": "backlog_bytes",
    "pkts": "sent_packets",
    "bytes": "sent_bytes",
    "way_inds": "way_indirect_hits",
    "way_miss": "way_misses",
    "way_cols": "way_collisions",
    "drops": "drops",
    "marks": "ecn_mark",
    "ack_drop": "ack_drops",
    "sp_flows": "sparse_flows",
    "bk_flows": "bulk_flows",
    "un_flows": "unresponsive_flows",
    "max_len": "max_pkt_len",
    "quantum": "flow_quantum",
}
_TIN_HEADS = ("Bulk  Best Effort", "Tin 0")


def is_text(text: str) -> bool:
    """Returns whether this is text of `tc`, and not JSON."""
    return re.search(r"^\s*qdisc\s", text, re.MULTILINE) is not None and text.lstrip()[:1] not in ("[", "{")


class TextState(list[dict[str, Any]]):
    """A state from text: times have three digits, and sizes and rates a unit's."""


def document(text: str) -> TextState:
    """Returns the queue disciplines. Raises `ScenarioError`, which names the line."""
    found = TextState()
    for number, line in enumerate(text.splitlines(), 1):
        try:
            if line.split()[:1] == ["qdisc"]:
                found.append(_qdisc(line.split()))
            elif found and line.strip() and not re.search(r"[#$>] *(sudo +)?tc ", line):
                _below(found[-1], line.strip())
        except ScenarioError as error:
            raise ScenarioError(f"line {number}: {error}") from None
    return found


def _qdisc(tokens: Sequence[str]) -> dict[str, Any]:
    if len(tokens) < 3 or not re.fullmatch(r"[0-9a-f]+:", tokens[2]):
        raise ScenarioError(f"{' '.join(tokens[:3])!r}: must be `qdisc KIND HANDLE:`")
    entry: dict[str, Any] = {"kind": tokens[1], "handle": tokens[2]}
    place = 3
    while place < len(tokens):
        word, value = tokens[place], tokens[place + 1] if place + 1 < len(tokens) else ""
        if word in ("root", "offloaded"):
            entry[word] = True
            place += 1
        elif word in ("dev", "parent"):
            entry[word] = value
            place += 2
        elif word in ("refcnt", "ingress_block", "egress_block"):
            entry[word] = parse(Form.COUNT, value, word)
            place += 2
        elif re.fullmatch(r"\[[0-9a-f]{8}\]", word):  # the handle, by `-r`
            place += 1
        else:
            break
    known = fields.QDISCS[tokens[1]].fields if tokens[1] in fields.QDISCS else {}
    entry["options"] = options(tokens[place:], known)
    return entry


def options(tokens: Sequence[str], known: Mapping[str, Field]) -> dict[str, Any]:
    """Returns options from their words. Raises `ScenarioError`."""
    single = {word: (name, value) for name, each in known.items() for word, value in each.words.items()}
    named: dict[str, list[str]] = {}
    for name, each in known.items():
        named.setdefault(each.text or name, []).append(name)
    made: dict[str, Any] = {}
    place = 0
    while place < len(tokens):
        word = tokens[place]
        place += 1
        following = tokens[place] if place < len(tokens) else ""
        if word in single:
            name, value = single[word]
            made[name] = value
        elif word in named and known[named[word][0]].form in (Form.LIST, Form.WORDS):
            end, form = place, known[word].form
            while end < len(tokens) and tokens[end] not in single and tokens[end] not in named:
                if form is Form.LIST and not tokens[end].isdigit():
                    break
                end += 1
            made[word] = _several(form, tokens[place:end], word)
            place = end
        elif word in named:
            _one(made, named[word], known, following)
            place += 1
        elif following and _VALUE.fullmatch(following):
            made[word] = following
            place += 1
        else:
            made[word] = True
    return {name: False for name, each in known.items() if each.form is Form.FLAG} | made


def _several(form: Form, tokens: Sequence[str], name: str) -> Any:
    if form is Form.WORDS:
        return " ".join(tokens)
    return [parse(Form.COUNT, token, name) for token in tokens]


def _one(made: dict[str, Any], names: Sequence[str], known: Mapping[str, Field], token: str) -> None:
    """Reads the value of a word, which may stand for several fields that are told apart by their form."""
    name = names[0] if len(names) == 1 or token.endswith("p") else names[-1]
    form = known[name].form
    if form is not Form.MASKED:
        made[name] = parse(form, token, name)
        return
    value, _, mask = token.partition("/")
    try:
        made[name], made[name.replace("selector", "mask")] = int(value, 0), int(mask or "0", 0)
    except ValueError:
        parse(Form.COUNT, token, name)
        raise ScenarioError(f"{name}: must be {form.value}, not {token!r}") from None


def _below(entry: dict[str, Any], line: str) -> None:
    """Reads a line below a queue discipline's own."""
    kind, tokens = entry["kind"], line.split()
    if (sent := _SENT.fullmatch(line)) is not None:
        entry |= _counted(("bytes", "packets", "drops", "overlimits", "requeues"), sent.groups())
    elif (backlog := _BACKLOG.fullmatch(line)) is not None:
        rate, pps, size, waiting, _ = backlog.groups()
        entry |= {"backlog": parse(Form.SIZE, size, "backlog"), "qlen": int(waiting)}
        entry |= {"rate": parse(Form.RATE, rate, "rate"), "pps": int(pps)} if rate else {}
    elif "bytes" not in entry and tokens[0] in fields.STAB:
        entry["stab"] = options(tokens, fields.STAB)
    elif kind == "gred" and tokens[0] == "vq":
        entry["options"].setdefault("vqs", []).append(options(tokens, fields.VIRTUAL_QUEUE))
    elif kind == "cake" and line.startswith(_TIN_HEADS):
        entry["tins"] = [{} for _ in range(1 + len(re.findall("Best Effort|Voice|Video|Tin [1-9]", line)))]
    elif "tins" in entry and tokens[0] in _TINS:
        _row(entry["tins"], tokens)
    else:
        for phrase in _PHRASES.get(kind, ()):
            if (said := phrase.fullmatch(line)) is not None:
                entry |= {name: _statistic(value) for name, value in said.groupdict().items()}
                return
        _statistics(entry, line)


def _row(tins: list[dict[str, Any]], tokens: Sequence[str]) -> None:
    form = {"thresh": Form.RATE, "backlog": Form.SIZE}.get(tokens[0], Form.TIME)
    for tin, token in zip(tins, tokens[1:], strict=False):
        tin[_TINS[tokens[0]]] = parse(form, token, tokens[0])


def _counted(names: Sequence[str], values: Sequence[str | None]) -> dict[str, int]:
    return {name: int(value) for name, value in zip(names, values, strict=True) if value is not None}


def _statistics(entry: dict[str, Any], line: str) -> None:
    """Reads words and numbers that take turns; a word without a number is a flag."""
    tokens = re.split(r"[\s(),:]+", line.strip("(), :"))
    place = 0
    while place < len(tokens):
        word = tokens[place]
        place += 1
        if place < len(tokens) and _VALUE.fullmatch(tokens[place]):
            value: Any = _statistic(tokens[place])
            place += 1
        else:
            value = True
        if word:
            entry.setdefault(word, value)


def _statistic(token: str) -> Any:
    """Returns a count as a number; with a unit as far as sizes have it, else as it stands."""
    for form in (Form.SIZE, Form.RATE, Form.TIME):
        try:
            return parse(form, token, "statistic")
        except ScenarioError:
            continue
    return token
