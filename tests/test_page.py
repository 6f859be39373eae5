"""The report in a real browser: it draws, sorts, complains of nothing, and asks nobody for anything."""

from __future__ import annotations

import hashlib
import html
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import penstock as ps
from conftest import needs_chromium
from helpers import tiny_paper
from helpers.axe import needs_axe, violations
from helpers.browser import Visit
from helpers.chromium import Browser
from penstock.judging.rules import Below
from penstock.reproduce import command, draw, papers, report
from penstock.reproduce.model import Finding, Nearest, Paper, Point, Sense, Settings, TableData
from penstock.reproduce.readings import DEFAULT, Reading
from penstock.show import style

CSS = (Path(report.__file__).parent / "page" / "report.css").read_text(encoding="utf-8")

pytestmark = [pytest.mark.slow, needs_chromium]


@pytest.fixture
def page(reproduced: Path) -> Path:
    return reproduced / "report.html"


def test_the_page_draws_and_asks_nobody(page: Path, tmp_path: Path) -> None:
    visit = Visit(page, tmp_path)
    assert visit.console == []
    assert visit.asked == set()
    figures = re.findall(r"<figure.*?</figure>", visit.dom, flags=re.DOTALL)
    assert ['class="drawing" role="img"' in figure for figure in figures] == [True, False, True]
    assert all("<figcaption" in figure for figure in figures)
    assert "<table" in figures[1]
    assert f"Penstock {ps.__version__}, seeds 1–3" in visit.dom
    assert "<strong>A longer buffer:</strong> holds." in visit.dom


#: The line that forbids all but the page's own script.
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="[^"]+">')


def opened(text: str) -> str:
    """A page in which a test's own script may run."""
    assert len(POLICY.findall(text)) == 1
    return POLICY.sub("", text)


def test_a_figure_that_was_changed_in_its_folder_can_do_nothing(page: Path, tmp_path: Path) -> None:
    """The page's own script runs; what comes with a figure does not, nor does it ask anybody."""
    evil = '<script>document.title = "taken"</script><rect onload="document.title = \'taken\'"/>'
    evil += '<image href="http://127.0.0.1:9/x.png"/><style>@import url(http://127.0.0.1:9/x.css)</style>'
    text = page.read_text(encoding="utf-8")
    changed = tmp_path / "changed.html"
    changed.write_text(text.replace("</svg>\n</div>", evil + "</svg>\n</div>").replace("</body>", f"{evil}</body>"))
    assert changed.stat().st_size > page.stat().st_size
    visit = Visit(changed, tmp_path)
    assert "<title>taken" not in visit.dom
    assert visit.asked == set()
    assert "<button" in visit.dom  # that the claims can be sorted is the page's own script's work
    opened_page = tmp_path / "opened.html"
    opened_page.write_text(opened(changed.read_text(encoding="utf-8")), encoding="utf-8")
    assert "<title>taken" in Visit(opened_page, tmp_path).dom  # so the policy it was


#: Clicks on every column's head twice, and leaves the order of the claims after each click in the document.
PROBE = """<pre id="probe"></pre><script>
const table = document.querySelector("table.claims");
const order = () => [...table.tBodies[0].rows].map((row) => row.querySelector("th").textContent);
const seen = [[null, null, order()]];
for (const head of table.tHead.rows[0].cells) for (const click of [1, 2]) {
  head.querySelector("button").click();
  seen.push([head.textContent, head.getAttribute("aria-sort"), order()]);
}
document.getElementById("probe").textContent = JSON.stringify(seen);
</script></body>"""


def test_a_click_on_a_head_sorts(page: Path, tmp_path: Path) -> None:
    probed = tmp_path / "probed.html"
    probed.write_text(opened(page.read_text(encoding="utf-8")).replace("</body>", PROBE), encoding="utf-8")
    visit = Visit(probed, tmp_path)
    assert visit.console == []
    found = re.search(r'<pre id="probe">(.*?)</pre>', visit.dom)
    assert found is not None
    (*_, unsorted), *clicks = json.loads(html.unescape(found[1]))
    longer, lost, seeds = unsorted  # 68 ms, holds; 8.3 %, does not hold; 2.0, undecided
    ascending = {
        "Paper": [longer, lost, seeds],  # the paper's own order
        "Claim": [longer, lost, seeds],
        "The paper's number": [lost, seeds, longer],  # 0 %, 2, longer
        "Ours": [seeds, lost, longer],
        "Verdict": [lost, seeds, longer],  # the worst first
        "Exhibit": [longer, seeds, lost],  # fig1, fig2, table1
    }
    expected = []
    for head, order in ascending.items():
        expected += [[head, "ascending", order], [head, "descending", order[::-1]]]
    assert clicks == expected


def test_a_page_that_fetches_and_fails_would_be_noticed(tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    font = '<link rel="stylesheet" href="https://fonts.googleapis.com/css?family=x">'
    image = '<img src="http://127.0.0.1:9/x.png">'
    page.write_text(f'{font}{image}<script>throw new Error("broken")</script>', encoding="utf-8")
    visit = Visit(page, tmp_path)
    assert any("broken" in line for line in visit.console)
    assert visit.asked == {"http://127.0.0.1:9/x.png", "https://fonts.googleapis.com/css?family=x"}


def test_the_page_is_one_file_with_light_and_dark(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.findall(r'(?:src|href)="(?!#|data:)[^"]*"|url\((?!#)|@import', text) == []
    assert "prefers-color-scheme: dark" in text
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids)), "two figures share an id"
    used = set(re.findall(r"var\((--[a-z0-9-]+)\)", text))
    assert used <= set(re.findall(r"(--[a-z0-9-]+):", text))
    left = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", text))
    assert left == set(), "colours that do not follow light and dark"


def test_dark_and_light_look_different(page: Path, tmp_path: Path) -> None:
    import matplotlib.image as image
    import numpy as np

    shots = []
    for scheme in ("0", "1"):  # Chromium's numbers for dark and light
        shot = tmp_path / f"{scheme}.png"
        folder = tmp_path / scheme
        folder.mkdir()
        Visit(
            page,
            folder,
            f"--screenshot={shot}",
            "--window-size=900,700",
            f"--blink-settings=preferredColorScheme={scheme}",
        )
        shots.append(float(np.mean(image.imread(shot)[..., :3])))
    dark, light = shots
    assert dark < 0.4
    assert light > 0.7


def test_the_first_screen_has_the_paper_its_marks_and_what_to_believe(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    head, _ = text.split("<main>")
    assert '<span class="title">On buffers &amp; delay</span>' in head
    assert "A longer buffer delays longer: holds; &lt;believe&gt; it." in head
    marks = re.findall(r'<a href="#(amecn-claim-[a-z0-9-]+)" class="([^"]+)" aria-label="([^"]+)" data-tip', head)
    assert [(at, sign) for at, sign, _ in marks] == [
        ("amecn-claim-fig1-delay", "holds"),
        ("amecn-claim-table1-none", "fails"),  # under both readings
    ]  # the third claim is not the paper's
    assert all(re.search(r"\. (holds|does not hold).*; here ", told) for *_, told in marks)
    counted = re.findall(r"</svg>(holds|undecided|does not hold)</span> (\d+)", head)
    assert counted == [("holds", "1"), ("does not hold", "1")]
    nav = re.findall(r'<a href="#([^"]+)"', head.split("<nav")[1].split("</nav>")[0])
    assert nav == ["top", "amecn", "all", "method", "cite"]


def test_what_a_reading_turns_is_hatched_and_what_is_not_the_papers_does_not_count(page: Path, tmp_path: Path) -> None:
    first, second, third = tiny_paper.PAPER.claims
    turned = Sense(reading=Reading("shorter", "A shorter buffer."), values=lambda runs: [-1.0, -1.0, -1.1])
    paper = replace(
        tiny_paper.PAPER,
        claims=[replace(first, senses=[turned]), replace(second, of="check"), replace(third, of="project")],
    )
    head = command.reproduce([paper], Settings.of_seeds(3), tmp_path, jobs=2).page.read_text(encoding="utf-8")
    head, rest = head.split("<main>")
    (mark,) = re.findall(r'<a href="#amecn-claim-[^>]+>.*?</a>', head)
    assert 'class="holds turned"' in mark
    assert "#turned-holds" in mark
    assert "Turned: does not hold under shorter" in mark
    assert "1 claim is judged" in head
    assert rest.count("1 number that the paper does not claim") == 2
    further = rest.split('class="further"')[1].split("<section")[0]
    assert "2 further exhibits" in further
    assert 'id="amecn-fig2"' in further
    assert 'id="amecn-fig1"' not in further


def test_the_nearest_joint_reading_says_of_how_many_and_what_it_turns(page: Path, tmp_path: Path) -> None:
    nearest = Nearest(
        reading=tiny_paper.SLOW,
        tried=37,
        possible=412,
        seeds=range(1001, 1011),
        score=(3, 2.5),
        default_score=(9, 12.0),
    )
    first, *others = tiny_paper.PAPER.claims
    paper = replace(tiny_paper.PAPER, nearest=nearest, claims=[replace(first, rule=Below(85.0)), *others])
    text = command.reproduce([paper], Settings.of_seeds(8).quickly(nearest=True), tmp_path, jobs=2).page.read_text(
        encoding="utf-8"
    )
    box = text.split('class="nearest"')[1].split("The readings")[0]
    said = " ".join(re.sub(r"<[^>]*>", "", box).split())
    assert "Nearest of 37 tried (412 possible joint readings): rate=1" in said
    assert "10 other seeds (1001–1010)" in said
    assert "wrong side: 3, by default 9; mean distance from the printed numbers: 2.5 %, by default 12 %" in said
    assert "A buffer of 20 packets delays longer than one of 5: holds → does not hold" in said


def test_each_claim_can_be_run_and_the_data_checked_and_cited(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    commands = re.findall(r'<code class="run">penstock reproduce --only (.*?)</code>', text)
    assert commands == ["amecn.fig1.delay", "amecn.table1.none", "amecn.fig2.seed"]
    hashed = hashlib.sha256((page.parent / "claims.csv").read_bytes()).hexdigest()
    assert text.count(hashed) == 2
    assert "@article{tiny," in text
    assert "<p>Section 2. Holds above 0 ms." in text


def test_a_drawing_says_what_came_of_it(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    first, second = re.findall(r'class="drawing" role="img" aria-label="([^"]*)"', text)
    assert (
        first
        == "Delay over buffer. A buffer of 20 packets delays longer than one of 5: holds, a third of what is printed."
    )
    assert second.endswith(": undecided.")


#: Tells the frame around it how large the page is.
MEASURE = """<script>addEventListener("load", () => {
  const page = document.documentElement;
  parent.postMessage(JSON.stringify([page.scrollHeight, page.scrollWidth, page.clientWidth]), "*");
});</script></body>"""
LISTEN = """<pre id="probe"></pre><script>
addEventListener("message", (event) => { document.getElementById("probe").textContent = event.data; });
</script>"""


def measured(page: str, tmp_path: Path, width: int, height: int) -> tuple[int, int, int]:
    """Height and width of a page's content, and the width that it has, in a frame of that size.

    Chromium's own window is never narrower than 500 pixels.
    """
    (tmp_path / "measured.html").write_text(opened(page).replace("</body>", MEASURE), encoding="utf-8")
    frame = f'<iframe src="measured.html" style="width:{width}px;height:{height}px;border:0"></iframe>'
    around = tmp_path / "around.html"
    around.write_text(f"{LISTEN}{frame}", encoding="utf-8")
    visit = Visit(around, tmp_path, "--virtual-time-budget=5000")
    found = re.search(r'<pre id="probe">\[(\d+),(\d+),(\d+)\]</pre>', visit.dom)
    assert found is not None
    high, wide, has = map(int, found.groups())
    return high, wide, has


def findings(paper: Paper) -> Iterator[Finding]:
    """Each claim with a verdict that is not true, under as many readings as a quick report has."""
    for i, claim in enumerate(paper.claims):
        nearest = () if paper.nearest is None else (paper.nearest.reading,)
        for reading in (DEFAULT, *nearest, *(sense.reading for sense in claim.senses)):
            yield Finding(
                paper=paper.key,
                claim=claim,
                reading=reading,
                estimate=12.34,
                low=11.22,
                high=13.46,
                n=200,
                verdict=("holds", "undecided", "does not hold")[i % 3],
                unit=claim.unit,
                rule=claim.rule,
                points=[Point(str(at), 1.0, 0.9, 1.1, "holds") for at in range(15)],
            )


@pytest.fixture(scope="module")
def five() -> str:
    """The page of the five papers with their own texts, an empty drawing for each figure, and nothing run."""
    with style.context():
        drawing = draw.figure()
        text = io.StringIO()
        drawing.savefig(text, format="svg")
    chosen = papers.choose(["all"])
    table = TableData(["a", "b"], [["1", "2"]])
    shown = {
        (each.key, exhibit.key): table if exhibit.key.startswith("table") else text.getvalue()
        for each in chosen
        for exhibit in each.exhibits
    }
    found = [finding for each in chosen for finding in findings(each)]
    return report.page(chosen, Settings(), found, shown, "")


def test_five_papers_are_twelve_screens_before_anything_is_unfolded(five: str, tmp_path: Path) -> None:
    high, wide, has = measured(five, tmp_path, 1400, 900)
    assert high <= 12 * 900
    assert wide <= has


#: The letters of all drawings that show, in pixels.
LETTERS = """[...document.querySelectorAll(".drawing > svg")].filter((svg) => svg.checkVisibility()).flatMap((svg) => {
  const whole = svg.parentNode.querySelector("svg"), scale = (svg.querySelector("use, g") ?? svg).getScreenCTM().a;
  return [...whole.querySelectorAll("text")].map((text) => parseFloat(getComputedStyle(text).fontSize) * scale);
})"""


def test_no_letter_of_a_drawing_is_smaller_than_eleven_pixels(tmp_path: Path) -> None:
    (paper,) = papers.choose(["amecn"])
    with style.context():
        alone, (several, axes), widest = draw.figure(), draw.beside(2), draw.figure(10.2, 3.0)
        draw.note_above(alone.subplots(), "a note above")
        draw.note_above(axes[0], "another")
        widest.subplots(1, 3)
        drawn = []
        for made in (alone, several, widest):
            text = io.StringIO()
            made.savefig(text, format="svg")
            drawn.append(text.getvalue())
    shown = {(paper.key, exhibit.key): drawn[i % 3] for i, exhibit in enumerate(paper.exhibits)}
    page = tmp_path / "page.html"
    page.write_text(report.page([paper], Settings(), list(findings(paper)), shown, ""), encoding="utf-8")
    with Browser(tmp_path / "profile") as browser:
        for width in (1400, 400):
            browser.size(width, 900, phone=width < 500)
            browser.open(page.as_uri())
            letters = browser.run(LETTERS)
            assert len(letters) > 100
            assert min(letters) >= 11, width


@needs_axe
def test_axe_has_nothing_against_a_report(page: Path, tmp_path: Path) -> None:
    with Browser(tmp_path / "profile") as browser:
        assert violations(browser, page.as_uri()) == []


def test_the_repairs_begin_with_what_to_take_instead() -> None:
    chosen = [replace(each, exhibits=[]) for each in papers.choose(["repairs"])]
    ours = [
        replace(finding, low=1.0, high=2.0) if ".delay-" in finding.claim.key else replace(finding, low=-2.0, high=-1.0)
        for each in chosen
        for finding in findings(each)
    ]
    head, _ = report.page(chosen, Settings(), ours, {}, "").split("<main>")
    answer = head.index("<strong>Take PIE instead of AMECN repaired, RARED repaired,")
    assert head.index("<h1>") < answer < head.index("Each repair mends")
    table = head[answer:].split('<table class="instead">')[1].split("</table>")[0]
    assert table.count('class="strip fails"') == 4 * 2 * 2
    assert table.count("+12.3") == 4 * 2 * 2


def test_nothing_overflows_a_phone(five: str, page: Path, tmp_path: Path) -> None:
    unfolded = page.read_text(encoding="utf-8").replace("<details", "<details open")
    for text in (five, unfolded):
        _, wide, has = measured(text, tmp_path, 400, 850)
        assert wide <= has


def test_a_link_into_what_is_folded_unfolds_it(page: Path, tmp_path: Path) -> None:
    plain = opened(page.read_text(encoding="utf-8"))
    assert '<li id="amecn-claim-fig2-seed" class="claim"><details>' in plain
    # The address of a file cannot carry a fragment through `Visit`: the page goes there itself.
    there = tmp_path / "there.html"
    there.write_text(plain.replace("<script>", "<script>location.hash = 'amecn-claim-fig2-seed';", 1), encoding="utf-8")
    assert '<li id="amecn-claim-fig2-seed" class="claim"><details open="">' in Visit(there, tmp_path).dom


def test_a_verdict_has_the_colours_of_the_palette() -> None:
    verdicts = re.findall(r"--(?:holds|fails|undecided|cannot-tell|not-judged): var\((--[a-z0-9]+)\)", CSS)
    assert set(verdicts) == {"--c0", "--c1", "--muted"}


def test_text_from_a_paper_is_text(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "which a &lt;reader&gt; might &amp; would ask about" in text
    assert "Buffers &lt; 20 packets" in text
    assert "That &lt; is all." in text


def test_every_link_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    ids = set(re.findall(r' id="([^"]+)"', text))
    links = set(re.findall(r'href="#([^"]+)"', text))
    assert len(links) > 8
    assert links <= ids
