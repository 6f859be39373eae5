"""The documentation site is built, complete, asks nobody for anything, and its search finds what it should."""

from __future__ import annotations

import functools
import html
import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import commands
from conftest import ROOT, needs_chromium
from helpers.axe import needs_axe, violations
from helpers.browser import Visit
from helpers.chromium import Browser

needs_mkdocs = pytest.mark.skipif(
    not all(importlib.util.find_spec(each) for each in ("mkdocs", "material", "mkdocstrings")),
    reason="no MkDocs: pip install 'penstock[site]'",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built pages; `--strict` refuses links, anchors and pages that lead nowhere."""
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", out],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr.strip()) == (0, "")
    return out


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The pages on a server of this machine, as a visitor has them."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Server(SimpleHTTPRequestHandler):
    """The built pages. It does not write down who asked."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.slow
@needs_mkdocs
def test_every_link_and_picture_of_the_built_pages_is_there(site: Path) -> None:
    wrong = []
    pages = list(site.rglob("*.html"))
    assert len(pages) > 80
    for page in pages:
        for target in re.findall(r'(?:href|src)="([^"]+)"', page.read_text(encoding="utf-8")):
            parts = urlsplit(html.unescape(target))
            if parts.scheme or parts.netloc or not parts.path or parts.path.startswith("/"):
                continue
            found = (page.parent / unquote(parts.path)).resolve()
            # `make site` puts the Rust API and the lab's engine there.
            if not found.exists() and "rust/penstock_" not in target and found.name != "engine.js":
                wrong.append(f"{page.relative_to(site)}: {target}")
    assert wrong == []


@pytest.mark.slow
@needs_mkdocs
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^\"]*\"")
    wrong = [(page.name, loaded.findall(page.read_text(encoding="utf-8"))) for page in site.rglob("*.html")]
    assert [each for each in wrong if each[1]] == []


@pytest.mark.slow
@needs_mkdocs
def test_a_link_out_of_docs_leads_to_a_page_of_the_site(site: Path) -> None:
    page = (site / "files/scenarios/operators/home-uplink.toml.html").read_text(encoding="utf-8")
    assert "47.5" in re.sub(r"<[^>]+>", "", page)
    contributing = (site / "files/CONTRIBUTING.html").read_text(encoding="utf-8")
    assert 'href="../architecture.html"' in contributing


@pytest.mark.slow
@needs_mkdocs
def test_nested_lists_stay_nested(site: Path) -> None:
    page = (site / "emulate.html").read_text(encoding="utf-8")
    assert re.search(r"<li>(?:(?!</li>).)*<ul>\s*<li>With a <code>request</code>", page, re.DOTALL)


@pytest.mark.slow
@needs_mkdocs
def test_the_python_page_shows_arguments_as_a_list(site: Path) -> None:
    page = (site / "python.html").read_text(encoding="utf-8")
    assert "<li><code>jobs</code>: threads; default" in page
    assert page.count('class="doc doc-heading"') > 25


@pytest.mark.slow
@needs_mkdocs
@needs_chromium
@pytest.mark.parametrize("page", ["index.html", "faq.html", "python.html", "aqm/red.html", "coming-from/ns-2.html"])
def test_a_page_loads_without_complaint_and_asks_only_its_own_server(page: str, address: str, tmp_path: Path) -> None:
    visit = Visit(f"{address}/{page}", tmp_path)
    assert visit.console == []
    assert [each for each in visit.asked if not each.startswith(address)] == []
    assert "<h1" in visit.dom


#: One page of each kind: the start, a tutorial, generated ones, two programs side by side, tables that stack.
KINDS = (
    "404.html",
    "index.html",
    "tutorials/1-first-run.html",
    "aqm/red.html",
    "coming-from/ns-2.html",
    "performance.html",
    "reference/tcp.html",
)


@pytest.mark.slow
@needs_mkdocs
@needs_chromium
@needs_axe
def test_axe_has_nothing_against_a_page_of_any_kind(address: str, tmp_path: Path) -> None:
    with Browser(tmp_path / "profile") as browser:
        assert violations(browser, *(f"{address}/{page}" for page in KINDS)) == []
        assert browser.complaints == []


@needs_mkdocs
@needs_chromium
@pytest.mark.long
def test_every_page_loads_without_complaint_and_fits_a_window_and_a_phone(
    site: Path, address: str, tmp_path: Path
) -> None:
    pages = sorted(f"{page.relative_to(site)}" for page in site.rglob("*.html"))
    pages.remove("lab/index.html")  # it has no engine here; tests/test_lab.py opens it
    wrong = []
    with Browser(tmp_path / "profile") as browser:
        for width in (1400, 390):
            browser.size(width, 900, phone=width < 400)
            for page in pages:
                browser.open(f"{address}/{page}")
                wrong += [(page, each) for each in browser.complaints]
                wrong += [(page, each) for each in browser.asked if not each.startswith((address, "data:"))]
                if (wide := browser.run("document.documentElement.scrollWidth")) > width:
                    wrong.append((page, f"{wide} of {width} pixels"))
                browser.complaints.clear()
                browser.asked.clear()
    assert wrong == []


#: What a visitor types, and a page that is to be among the first five.
SOUGHT = {
    "why is my RED not marking": "faq.html",
    "bufferbloat": "index.html",
    "ECN": "accecn.html",
    "WRED": "aqm/wred.html",
    "buffer size": "how-to.html",
    "L4S": "answers.html",
    "my own link": "how-to.html",
}

TYPE = """{ const field = document.querySelector("[data-md-component=search-query]");
field.focus(); field.value = %s; field.dispatchEvent(new Event("keyup")); }"""
FOUND = """[...document.querySelectorAll(".md-search-result__item > .md-search-result__link")]
    .map((link) => link.pathname.slice(1))"""


@pytest.mark.slow
@needs_mkdocs
@needs_chromium
def test_the_search_finds_what_a_visitor_seeks(address: str, tmp_path: Path) -> None:
    with Browser(tmp_path / "profile") as browser:
        browser.call("Emulation.setFocusEmulationEnabled", enabled=True)
        browser.open(f"{address}/glossary.html")
        for words, page in SOUGHT.items():
            browser.run(TYPE % json.dumps(words))
            browser.until(f"{FOUND}.slice(0, 5).includes({json.dumps(page)})")
        for letter in "abcdefghijklmnopqrstuvwxyz0123456789":  # one broken term, and its letter finds nothing
            browser.run(TYPE % json.dumps("@"))
            browser.until(f"{FOUND}.length === 0")
            browser.run(TYPE % json.dumps(letter))
            browser.until(f"{FOUND}.length > 0")
        assert [each for each in browser.asked if not each.startswith((address, "data:"))] == []


def test_the_pages_of_commands_and_the_man_page_are_fresh() -> None:
    for path, text in commands.files().items():
        if "completion" in str(path) or "site-functions" in str(path):
            continue  # from Click, whose versions differ; the next test asks what they do
        assert (ROOT / path).read_text(encoding="utf-8") == text, f"{path} is stale: make generate"
