"""The report in a real browser: it draws, sorts, complains of nothing, and asks nobody for anything."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import penstock as ps
from helpers import tiny_paper
from penstock.reproduce import command
from penstock.reproduce.model import Settings

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("reproduction")
    return command.reproduce([tiny_paper.PAPER], Settings(looks=(3,), quick=False), out, jobs=2).page


class Visit:
    """What Chromium saw of a page: the document after loading, the console, the addresses it asked for."""

    def __init__(self, page: Path, tmp_path: Path, *options: str) -> None:
        log = tmp_path / "net.json"
        assert CHROMIUM is not None
        done = subprocess.run(
            [
                CHROMIUM,
                *"--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync".split(),
                *"--disable-background-networking --disable-component-update --enable-logging=stderr".split(),
                "--disable-dev-shm-usage",
                f"--user-data-dir={tmp_path / 'profile'}",
                f"--log-net-log={log}",
                *options,
                "--dump-dom",
                page.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=90,
        )
        self.dom = done.stdout
        self.console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
        self.asked = asked(log.read_text(encoding="utf-8"))


def asked(net_log: str) -> set[str]:
    """The address of every request that the page made; the browser's own (updates, the time) have no origin."""
    started = [event["params"] for event in json.loads(net_log)["events"] if "initiator" in event.get("params", {})]
    return {str(params["url"]) for params in started if params["initiator"] != "not an origin"}


def test_the_page_draws_and_asks_nobody(page: Path, tmp_path: Path) -> None:
    visit = Visit(page, tmp_path)
    assert visit.console == []
    assert visit.asked == set()
    figures = re.findall(r"<figure.*?</figure>", visit.dom, flags=re.DOTALL)
    assert ["<svg" in figure for figure in figures] == [True, True, False]
    assert all("<figcaption>" in figure for figure in figures)
    assert f"Seeds 1–3, Penstock {ps.__version__}" in figures[0]
    assert "<table" in figures[2]
    assert "<strong>A longer buffer:</strong> holds." in visit.dom


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
    probed.write_text(page.read_text(encoding="utf-8").replace("</body>", PROBE), encoding="utf-8")
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
    used = set(re.findall(r"var\((--[a-z0-9]+)\)", text))
    assert used <= set(re.findall(r"(--[a-z0-9]+):", text))
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


def test_what_the_page_says_first(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    head, rest = text.split("<main>")
    failing = head.split('id="failing"')[1]
    assert "Nothing is lost with 5 packets" in failing  # under both readings tried
    assert "delays longer" not in failing
    assert rest.index("<table") < rest.index("<article"), "the table of claims comes before everything else"


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
