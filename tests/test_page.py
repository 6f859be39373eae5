"""The demo's page in a real browser: it draws, complains of nothing, and asks nobody for anything."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import penstock as ps
from conftest import SCENARIOS
from penstock import demo

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scenario = ps.Scenario.load(SCENARIOS / "load-rises.toml").set_all({"duration": "40 s", "measure.from": "30 s"})
    comparison = ps.compare(scenario, demo.DISCIPLINES, seeds=3, series="100 ms")
    out = tmp_path_factory.mktemp("demo")
    return demo.write_report(comparison, out)[0]


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
    assert visit.dom.count("<svg") == 3
    assert visit.dom.count("<figcaption>") == 3
    for name in demo.DISCIPLINES:
        assert name in visit.dom
    assert f"Penstock {ps.__version__}" in visit.dom
    assert "seeds 1–3" in visit.dom


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
    assert re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', text) == []
    assert "prefers-color-scheme: dark" in text
    assert "<script" not in text
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
