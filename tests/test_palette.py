"""One palette: it is legible, told apart by every kind of colour vision, and nobody has colours of their own."""

from __future__ import annotations

import itertools
import math
import re

import pytest

import visual
from conftest import ROOT
from penstock._names import kinds
from penstock.show import palette, style

#: What a kind of colour vision makes of linear red, green and blue: Machado, Oliveira and Fernandes (2009), severity 1.
VISIONS = {
    "normal": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
SCHEMES = ("light", "dark")


def linear(colour: str) -> list[float]:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def contrast(a: str, b: str) -> float:
    """As WCAG 2.1 has it."""
    low, high = sorted(
        sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(each), strict=True)) for each in (a, b)
    )
    return (high + 0.05) / (low + 0.05)


def seen(colour: str, vision: str) -> tuple[float, float, float]:
    """A colour in Oklab, as one kind of vision has it."""
    rgb = linear(colour)
    r, g, b = (max(0.0, sum(w * c for w, c in zip(row, rgb, strict=True))) for row in VISIONS[vision])
    long = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    middle = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    short = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def apart(a: str, b: str, vision: str) -> float:
    return 100 * math.dist(seen(a, vision), seen(b, vision))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_and_signals_are_legible(scheme: str) -> None:
    of = {each.name: getattr(each, scheme) for each in palette.PALETTE}
    texts = ["ink", "muted", *(each.name for each in palette.DISCIPLINES), "drop", "threshold"]
    areas = ["mark", *(each.name for each in palette.FLOWS)]
    for paper, name in itertools.product((of["paper"], of["shade"]), texts + areas):
        assert contrast(of[name], paper) >= (4.5 if name in texts else 3.0), (name, paper)


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_signal_is_told_from_all_else(scheme: str, vision: str) -> None:
    signals = {each.name: getattr(each, scheme) for each in palette.SIGNALS}
    others = {each.name: getattr(each, scheme) for each in (*palette.GROUND, *palette.DISCIPLINES)}
    pairs = [*itertools.combinations(signals.items(), 2), *itertools.product(signals.items(), others.items())]
    wrong = [(a, b, round(apart(x, y, vision), 1)) for (a, x), (b, y) in pairs if apart(x, y, vision) < 5.0]
    assert wrong == []


def test_no_two_colours_are_the_same() -> None:
    for scheme in SCHEMES:
        assert len({getattr(each, scheme) for each in palette.PALETTE}) == len(palette.PALETTE)


def test_every_discipline_has_its_look_and_no_two_the_same() -> None:
    names = [name for name in kinds() if name != "custom"]
    own = [style.discipline(name) for name in names]
    assert [name for name, each in zip(names, own, strict=True) if each is None] == []
    assert len({(each.colour, each.line, each.marker) for each in own if each}) == len(names)
    for some in itertools.combinations(names, 2):
        assert len({each.colour for each in style.looks(some).values()}) == 2, some


@pytest.mark.parametrize("path", visual.files())
def test_what_is_made_of_it_is_fresh(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == visual.files()[path], "stale: make generate"


#: Colours of one's own: the mark, which is a file by itself, has those of the table.
OWN = ("python/**/*.py", "python/**/*.css", "python/**/*.html", "docs/*.css", "docs/img/mark.svg")


def test_nobody_else_says_a_colour() -> None:
    ours = {colour for each in palette.PALETTE for colour in (each.light, each.dark)}
    files = [file for pattern in OWN for file in ROOT.glob(pattern)]
    assert len(files) > 50
    wrong = [
        (file.relative_to(ROOT).as_posix(), found)
        for file in files
        if file.name not in ("palette.py", "palette.css")
        for found in re.findall(r"(?<![\w&])#(?:[0-9a-f]{6}|[0-9a-f]{3})\b(?![\w-])", file.read_text(encoding="utf-8"))
        if not (file.name == "mark.svg" and found in ours)
    ]
    assert wrong == []
