"""Holds what the platforms share that have WRED by colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.operators.model import Colour, Coloured, RefusedError, Value, Wanted
from penstock.operators.wred import Told

#: The keys of a scenario that say whose packets the colours of a switch have: of drop precedence 1 and all
#: others, of 2 and of 3.
CLAIMS: Sequence[Mapping[str, int]] = ({}, {"drop_precedence": 2}, {"drop_precedence": 3})


def by_precedence(aqm: Coloured, words: Sequence[str]) -> dict[str, Colour]:
    """Returns the scenario's colour for each of a switch's, by its words for green, yellow and red: yellow is drop
    precedence 2, red 3, green all else. Raises `RefusedError` where that is not how the scenario has them.
    """
    by = {each.precedence: each for each in aqm.colours if each.dscps is None}
    named = next((each.name for each in aqm.colours if each.dscps is not None), None)
    if named is not None:
        said = f"{words[0]}, {words[1]} and {words[2]}"
        raise RefusedError(f"aqm.colour.{named}.dscp: a switch's colours are {said}, by drop_precedence")
    if 1 in by and None in by:
        raise RefusedError(
            f"aqm.colour.{by[1].name}.drop_precedence = 1: is {words[0]} on a switch, as is what has no drop "
            f"precedence (aqm.colour.{by[None].name})"
        )
    others = by.get(None) or by.get(1)
    assert others is not None  # The scenario has a colour for every packet.
    return {word: by.get(y) or others for word, y in zip(words, (1, 2, 3), strict=True)}


def of_dscps(aqm: Coloured) -> list[Colour]:
    """Returns the colour of each DSCP: that which names it, or has its drop precedence (RFC 2597), or all others."""

    def has(colour: Colour, dscp: int) -> int:
        if colour.dscps is not None:
            return 3 if colour.dscps[0] <= dscp <= colour.dscps[1] else 0
        if colour.precedence is not None:
            assured = 8 <= dscp < 40 and dscp % 2 == 0
            return 2 if assured and dscp % 8 // 2 == colour.precedence else 0
        return 1

    return [max(aqm.colours, key=lambda each: has(each, dscp)) for dscp in range(64)]


def merged(
    wants: Coloured, claims: Mapping[str, Mapping[str, int]], told: Mapping[str, Told], average: str = "shared"
) -> Told:
    """Returns what becomes of the colours together: what all have alike is named once.

    claims, told: by the box's names of the colours. average: the box's.
    """
    values: dict[str, Value] = {}
    lost: list[str] = []
    table: dict[str, dict[str, Any]] = {}
    rest: dict[str, Any] = {}
    if wants.average != average:
        lost.append(f"average = {wants.average!r}: the thresholds of each colour act on the whole queue")
    for name, each in told.items():
        rest = dict(each.aqm)
        table[name] = {**claims[name], **{key: rest.pop(key) for key in ("min_th", "max_th", "max_p")}}
        values |= {value.name if value.name == "w_q" else f"{name} {value.name}": value for value in each.values}
        lost += [said for said in each.lost if said not in lost]
    return Told(
        values=tuple(replace(value, name=name) for name, value in values.items()),
        lost=tuple(lost),
        aqm={**rest, "kind": "wred", "average": average, "colour": table},
    )


def no_marks(wanted: Wanted, wants: Coloured, box: str) -> tuple[str, ...]:
    """Returns what is lost of thresholds for marks alone where a box has none."""
    named = [each.name for each in wants.colours if wanted.ecn and each.marks is not None]
    keys = "ecn_min_th, ecn_max_th, ecn_max_p"
    return (f"{keys} of {', '.join(named)}: {box} marks where it would drop",) if named else ()
