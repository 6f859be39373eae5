"""The disciplines' pages and figures, what they are drawn from, and the commands that show the same."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest

import answers
import evaluated
import pages
import papers_today
import penstock as ps
import tables
from conftest import ROOT, Command
from penstock.model.hosts import HOSTS
from penstock.reproduce import papers
from penstock.runs import probing
from penstock.show import style
from slim_svg import slim

DOCS = ROOT / "docs"
ROWS = {row["name"]: row for row in pages.rows()}


@pytest.mark.parametrize("kind", ROWS)
def test_a_page_is_fresh(kind: str) -> None:
    committed = (DOCS / f"aqm/{kind}.md").read_text(encoding="utf-8")
    assert committed == pages.page(ROWS[kind], pages.probed(kind)), "stale: make generate"


def test_the_index_is_fresh_and_there_are_no_other_pages() -> None:
    text = (DOCS / "aqm/README.md").read_text(encoding="utf-8")
    assert text == pages.index(text), "stale: make generate"
    assert {path.stem for path in (DOCS / "aqm").glob("*.md")} == {*ROWS, "README"}
    assert {path.name for path in (DOCS / "img/aqm").iterdir()} == {f"{kind}.svg" for kind in ROWS}
    guide = text.split("<!-- made by")[0]
    assert [kind for kind in ROWS if f"({kind}.md)" not in guide] == []


def test_the_summary_of_the_judgement_says_what_its_numbers_say() -> None:
    with (DOCS / "evaluate/answers.csv").open(newline="", encoding="utf-8") as text:
        rows = list(csv.DictReader(text))
    committed = (DOCS / "evaluate/README.md").read_text(encoding="utf-8")
    assert committed == "\n".join(evaluated.summary(rows)) + "\n", "stale: make evaluate"


def test_the_picture_of_the_judgement_has_each_discipline_with_its_number_of_yes() -> None:
    with (DOCS / "evaluate/answers.csv").open(newline="", encoding="utf-8") as text:
        rows = list(csv.DictReader(text))
    drawn = re.findall(r">([^<>\n]+)</text>", (DOCS / "img/evaluate.svg").read_text(encoding="utf-8"))
    assert {row["text"].rstrip("?") for row in rows} <= set(drawn), "stale: make evaluate"
    said = dict(
        zip([each for each in drawn if each in ROWS], [each for each in drawn if each.endswith(" yes")], strict=True)
    )
    counts = Counter(row["candidate"] for row in rows if row["answer"] == "yes")
    assert said == {name: f"{counts[name]} yes" for name in dict.fromkeys(row["candidate"] for row in rows)}


def test_ten_answers_have_a_picture_and_a_number_that_its_command_prints() -> None:
    found = list(answers.answers((DOCS / "answers.md").read_text(encoding="utf-8")))
    assert len(found) == 10
    for each in found:
        numbers = re.findall(r"\d+(?:\.\d+)?", each.number)
        printed = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", each.shown)]
        assert numbers, each.question
        for number in numbers:
            digits = len(number.partition(".")[2])
            rounded = {f"{value:.{digits}f}" for value in printed}
            assert number in rounded, (each.question, number)
        assert any(f"--figure {each.picture}.svg" in command for command, _ in each.typed), each.question
        (title,) = re.findall("<title>(.*)</title>", (DOCS / f"img/answers/{each.picture}.svg").read_text("utf-8"))
        axes = [re.sub(r"^[xy]: | [\[(].*|,.*", "", axis).lower() for axis in title.split("; ")]
        assert [axis for axis in axes if axis not in each.text.lower()] == [], "an axis is named near the picture"
    assert {each.picture for each in found} == {file.stem for file in (DOCS / "img/answers").iterdir()}


def test_the_page_of_today_s_hosts_says_what_its_numbers_say() -> None:
    text = (DOCS / "papers-today.md").read_text(encoding="utf-8")
    listed = papers_today.read()
    for name, of in (("papers", papers.KEYS), ("repairs", papers.REPAIRS)):
        mine = [row for row in listed if row["paper"] in of]
        again = tables.filled(text, f"tools/papers_today.py: {name}", papers_today.summary(mine))
        again = tables.filled(again, f"tools/papers_today.py: {name}, changed", papers_today.changed(mine))
        assert again == text, "stale: make papers-today"
    judged = {(row["paper"], row["claim"]) for row in listed}
    there = {(each.key, c.key) for each in papers.choose(("all",)) for c in each.claims if c.of == each.headline}
    assert there <= judged
    assert {row["hosts"] for row in listed} == {"paper", *HOSTS}


def test_a_table_goes_between_its_marks() -> None:
    page = "a\n<!-- made by me: one -->\nold\n<!-- end -->\nb\n<!-- made by me: two -->\n\nkept\n\n<!-- end -->\n"
    lines = tables.table(["", "n", "m"], [["x", "1", "2"]], "lr")
    assert lines == ["|  | n | m |", "| --- | ---: | ---: |", "| x | 1 | 2 |"]
    filled = tables.filled(page, "me: one", lines)
    assert filled == page.replace("\nold\n", "\n" + "\n".join(["", *lines, "", ""]))
    assert tables.filled(filled, "me: one", lines) == filled
    with pytest.raises(SystemExit, match="me: three -->"):
        tables.filled(page, "me: three", lines)


def test_figures_are_small_and_undated() -> None:
    for figure in [*(DOCS / "img/aqm").iterdir(), *(DOCS / f"img/{name}.svg" for name in pages.PICTURES)]:
        text = figure.read_text(encoding="utf-8")
        assert len(text) < 20_000, figure
        assert text.count("\n") < 300, figure
        assert "date" not in text


@pytest.mark.parametrize("page", [*(DOCS / "aqm").glob("*.md"), DOCS / "mecn.md"], ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r'\]\(([^)#]+)|(?:src|href)="([^"#]+)', text)
    assert [link for pair in links for link in pair if link and not (page.parent / link).exists()] == []


def test_a_figure_is_the_same_bytes_again(tmp_path: Path) -> None:
    probed = probing.probe(probing.scenario("mecn"), queues=[0, 10, 40], runs=1)
    for name in ("a", "b"):
        style.save(probed.plot(), str(tmp_path / f"{name}.svg"))
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_group_of_nothing_leaves_the_others_whole() -> None:
    svg = '<svg><style></style><g clip-path="url(#a)"/><g id="b"><g><path/></g></g></svg>'
    assert slim(svg).endswith("</style><path/></svg>\n")


def test_a_small_picture_shows_what_the_large_one_showed() -> None:
    large = """<?xml version="1.0"?>
<svg width="10pt" xmlns="http://www.w3.org/2000/svg">
 <metadata><dc:description>y: Share; x: "Time"</dc:description></metadata>
 <defs>
  <style type="text/css">*{stroke-linejoin: round}</style>
  <clipPath id="clip"><path d="M 0 0"/></clipPath>
 </defs>
 <g id="figure_1">
  <g id="line_1">
   <path d="M 12.3456 -0.01
L 7.96 1.25e-3
" clip-path="url(#clip)" style="fill: none"/>
  </g>
  <g clip-path="url(#clip)"><text style="fill: none" transform="rotate(-0 1 2)">"100.123"  s</text></g>
 </g>
</svg>
"""
    assert slim(large).splitlines() == [
        '<svg width="10pt" xmlns="http://www.w3.org/2000/svg">',
        '<title>y: Share; x: "Time"</title>',
        "<defs>",
        '<style type="text/css">*{stroke-linejoin: round}',
        ".s0 {fill: none}",
        "</style>",
        '<clipPath id="clip"><path d="M 0 0"/></clipPath>',
        "</defs>",
        '<path d="M 12.3 0 L 8 0" clip-path="url(#clip)" class="s0"/>',
        '<g clip-path="url(#clip)"><text class="s0">"100.123"  s</text></g>',
        "</svg>",
    ]


def test_the_first_picture_is_of_the_first_scenario() -> None:
    drawn = pages.first_picture(DOCS)
    committed = (DOCS / "img/queue.svg").read_text(encoding="utf-8")
    for name in ("droptail", "codel"):
        assert f"{name}: queue, seed 1" in drawn
        assert f"{name}: queue, seed 1" in committed


def held(kind: str, queue: int, *, capable: bool = True, **keys: object) -> list[float]:
    """Percent of incipient marks, CE marks and drops, by an average that is the queue and independent coins."""
    keys = {"w_q": 1, "gate": "geometric", "min_th": 5, "max_th": 15, **keys}
    scenario = probing.scenario(kind).set_all({f"aqm.{key}": value for key, value in keys.items()})
    probed = ps.probe(scenario, queues=[queue], after=["0.1 s"], window="10 s", runs=32, capable=capable)
    return [100 * probed.shares(level)[0][0] for level in probing.LEVELS]


def test_the_shares_in_the_page_on_mecn() -> None:
    """docs/mecn.md: min 5, mid 10, max 15, ceilings 0.1, average 12."""
    text = (DOCS / "mecn.md").read_text(encoding="utf-8")
    assert held("mecn", 12, mid_th=10) == pytest.approx([6.72, 4.0, 0.0], rel=0.03)
    assert held("mecn", 12, mid_th=10, capable=False) == pytest.approx([0.0, 0.0, 10.72], rel=0.03)
    # What a classic flow sees of it: RED from mid_th.
    assert held("red", 12, min_th=10) == pytest.approx([0.0, 4.0, 0.0], rel=0.03)
    for number in ("6.72 %", "4 %", "10.72 %"):
        assert number in text


def test_literal_codepoints_are_probed_with_unmarked_packets() -> None:
    wire, literal = (held("mecn", 12, mid_th=10, codepoints=word) for word in ("wire", "literal"))
    assert wire == literal


def test_list_tells_all_about_one(penstock: Command) -> None:
    shown = penstock("list", "aqm", "red").stdout
    row = json.loads(penstock("list", "aqm", "red", "--json").stdout)
    assert row == ROWS["red"]
    for line in [*row["equations"].splitlines(), row["weaknesses"][:60], "avg_pkts", "min_th"]:
        assert line in shown
    assert "sack" in penstock("list", "tcp", "sack").stdout
    wrong = penstock("list", "aqm", "fqcodel")
    assert wrong.returncode == 2
    assert "nearest: fq-codel; there are: " in wrong.stderr


def test_probe_of_a_kind_and_of_a_file(penstock: Command, small: Path, tmp_path: Path) -> None:
    done = penstock("probe", "droptail", "--json")
    shares = json.loads(done.stdout)
    assert shares["queue"][-1] == 100
    assert all(row["drop"][-1] == 1 and not any(row["drop"][:-1]) for row in shares["shares"])
    done = penstock("probe", small, "--set", "aqm.w_q=1", "--figure", "f.svg", "--not-capable")
    assert done.returncode == 0, done.stderr
    assert "CE mark" not in done.stdout
    assert "</svg>" in (tmp_path / "f.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["probe", "rad"], "rad"),
        (["probe", "red", "--set", "aqm.mni_th=3"], "mni_th"),
        (["probe", "red", "--figure", "no/where.svg"], "no"),
        (["probe", "red", "--flows", "0"], "0"),
    ],
)
def test_what_probe_refuses(penstock: Command, arguments: list[str], named: str) -> None:
    done = penstock(*arguments)
    assert done.returncode == 2
    assert named in done.stderr
    assert done.stdout == ""


def test_loads_instead_of_lengths() -> None:
    probed = ps.probe(probing.scenario("avq"), loads=[0.9, 1.2], after=["10 s"], runs=1)
    assert (probed.axis, probed.points) == ("load", (0.9, 1.2))
    assert probed.shares("CE mark")[0][0] == 0
    assert probed.shares("CE mark")[0][1] > 0.2
