"""The lab: the engine as WebAssembly gives the native engine's bytes, and the page does what it says in Chromium."""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import lab
from conftest import ROOT, needs_chromium
from helpers.chromium import Browser
from penstock import Scenario, _penstock
from penstock.reproduce import lab as report_lab
from penstock.reproduce import papers
from penstock.reproduce.model import Settings
from penstock.reproduce.readings import DEFAULT

NODE = shutil.which("node") or shutil.which("nodejs")
KEPT = sorted((ROOT / "crates/scenario/tests/documents").glob("*.toml"))

needs_node = pytest.mark.skipif(NODE is None, reason="no Node: apt-get install nodejs")


@pytest.fixture(scope="module")
def module() -> Path:
    try:
        return lab.build()
    except lab.MissingError as missing:
        pytest.skip(str(missing))


def compare_documents(module: Path) -> None:
    """The module gives the native engine's document for each scenario that the repository keeps."""
    texts = [path.read_text(encoding="utf-8") for path in KEPT]
    assert len(texts) == 50
    asked = [{"do": "document", "toml": text, "seeds": 2} for text in texts]
    assert NODE is not None
    said = subprocess.run(
        [NODE, ROOT / "tests/helpers/lab.mjs", module],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    for path, text, document in zip(KEPT, texts, json.loads(said.stdout), strict=True):
        scenario = _penstock.Scenario.from_toml(text, path.name)
        runs = _penstock.run(scenario, [scenario.seed, scenario.seed + 1], 1)
        assert document == _penstock.document(scenario, runs), path.name


@needs_node
def test_the_documents_are_the_native_engine_s(module: Path) -> None:
    compare_documents(module)


@needs_node
@pytest.mark.long
def test_so_are_those_of_a_library_built_from_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with Debian's Rust, where there is no rustup."""
    if lab.from_source() is None:
        pytest.skip("no Rust with its source: apt-get install rustc-web libstd-rust-web-dev rust-web-src")
    monkeypatch.setattr(lab, "has_target", lambda: False)
    monkeypatch.setattr(lab, "add_target", lambda: False)
    built = lab.build()
    assert built.is_relative_to(ROOT / "target/web")
    compare_documents(built)


def test_where_no_rust_can_build_it_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in ("has_target", "add_target"):
        monkeypatch.setattr(lab, each, lambda: False)
    monkeypatch.setattr(lab, "COMPILERS", ("no-such-rustc",))
    assert lab.from_source() is None
    with pytest.raises(lab.MissingError, match=r"rustup target add wasm32-unknown-unknown, or Debian's rustc-web"):
        lab.build()


WATCHED = """
duration = "600 s"
topology.bottleneck = { rate = "10 Mbit/s", delay = "20 ms", buffer = "100 packets" }
topology.access = { rate = "100 Mbit/s", delay = { uniform = ["1 ms", "10 ms"] } }
aqm = { kind = "red", min_th = 15, max_th = 45, ecn = true }
traffic = [{ kind = "ftp", flows = 10, ecn = "classic" }]
"""


@needs_node
def test_the_worker_shows_each_moment_once_and_loses_no_packet(module: Path) -> None:
    assert NODE is not None
    kinds = [row["name"] for row in json.loads(_penstock.list_json("aqm"))]
    said = subprocess.run(
        [NODE, ROOT / "tests/helpers/worker.mjs", lab.LAB / "worker.js", module],
        input=json.dumps({"toml": WATCHED, "kinds": kinds}),
        capture_output=True,
        text=True,
        check=True,
    )
    seen = json.loads(said.stdout)
    assert seen["did"] == ["again", "now", "again", "now"]
    gaps = [round(b - a, 9) for a, b in itertools.pairwise(seen["times"])]
    assert len(gaps) > 600
    assert set(gaps) == {0.02}, "a sample follows the other, whatever was worked out again"
    assert list(seen["frames"]) == kinds
    for kind, frame in seen["frames"].items():
        assert frame["arrivals"] > 1000, kind
        assert frame["arrivals"] == frame["left"] + frame["drops"] + frame["waiting"], kind


def test_the_module_asks_for_nothing_and_loses_its_names(module: Path) -> None:
    whole = module.read_bytes()
    small = lab.stripped(whole)
    kinds = [kind for kind, _ in lab.sections(small)]
    assert kinds == sorted(set(kinds) - {0}, key=kinds.index)
    assert 2 not in kinds, "no imports: the engine reaches nothing outside itself"
    assert len(small) < 3e6


@pytest.fixture(scope="module")
def built(module: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as `make lab` leaves it, in a folder of its own."""
    folder = tmp_path_factory.mktemp("lab")
    for path in lab.LAB.iterdir():
        if path.suffix in (".html", ".css", ".js") and path.name != "engine.js":
            shutil.copy(path, folder)
    lab.write(lab.stripped(module.read_bytes()), folder / "engine.js")
    return folder / "index.html"


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with Browser(tmp_path / "profile") as opened:
        yield opened


RUNS = "sides[0].frame && sides[0].frame.now > 1"

pytestmark = pytest.mark.slow


@needs_chromium
def test_it_runs_draws_and_asks_nobody(built: Path, browser: Browser) -> None:
    browser.open(built.as_uri())
    browser.until(RUNS)
    browser.until("sides[0].profile.length === 40")
    assert browser.complaints == []
    assert {address.split(":")[0] for address in browser.asked} <= {"file", "blob", "data"}
    drawn = """[...document.querySelectorAll("canvas")].filter((c) => c.checkVisibility()).map((c) =>
        new Set(new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer)).size)"""
    colours = browser.run(drawn)
    assert len(colours) == 6
    assert all(each > 5 for each in colours), "something is on every canvas"
    assert "goodput" in browser.run("document.querySelector('.lane canvas').getAttribute('aria-label')")


@needs_chromium
def test_a_slider_acts_while_it_runs(built: Path, browser: Browser) -> None:
    browser.open(built.as_uri())
    browser.until(RUNS)
    browser.run("document.getElementById('0-aqm.max_p').focus()")
    before = browser.run("sides[0].frame.now")
    browser.press("ArrowRight", "ArrowRight", 39)
    browser.until("$('said').textContent.startsWith('aqm.max_p is 0.1')")
    assert "from now on" in browser.run("$('said').textContent")
    browser.until(f"sides[0].frame.now > {before} + 0.1")
    assert "max_p = 0.1\n" not in browser.run("$('toml').value")
    # The help is the declaration's.
    (row,) = [row for row in json.loads(_penstock.list_json("aqm")) if row["name"] == "red"]
    (max_p,) = [key for key in row["params"] if key["name"] == "max_p"]
    assert max_p["doc"] in browser.run("document.getElementById('0-aqm.max_p-about').textContent")
    # A refusal is shown, and the run goes on.
    browser.run("change([0], 'aqm.min_th', '4000', true)")
    browser.until("!$('trouble').hidden")
    assert "min_th" in browser.run("$('trouble').textContent")
    now = browser.run("sides[0].frame.now")
    browser.until(f"sides[0].frame.now > {now} + 0.1")
    assert browser.complaints == []


@needs_chromium
def test_a_step_of_the_load_is_worked_out_again(built: Path, browser: Browser) -> None:
    browser.open(built.as_uri())
    browser.until(RUNS)
    before = browser.run("sides[0].frame.now")
    browser.run("change([0], 'traffic.0.flows', '20', true)")
    browser.until("sides[0].told.flows.length === 20")
    browser.until("sides[0].frame.cwnd.length === 20")
    assert browser.run("sides[0].frame.now") > before
    assert browser.run("sides[0].points[0][0]") < 0.1, "what was seen before stays"
    assert "flows = 20" in browser.run("$('toml').value")


@needs_chromium
def test_two_disciplines_and_a_link_to_them(built: Path, browser: Browser) -> None:
    browser.open(f"{built.as_uri()}#aqm=pie&beside=fq-codel&speed=5")
    browser.until("sides[0].frame?.now > 1 && sides[1].frame?.now > 1")
    assert browser.run("[sides[0].told.aqm, sides[1].told.aqm, sides[0].told.seed, sides[1].told.seed]") == [
        "pie",
        "fq-codel",
        1,
        1,
    ]
    browser.run("change([1], 'aqm.target', '9 ms', true)")
    browser.until("sides[1].told.toml.includes('9 ms')")
    link = browser.run("location.href.split('#')[0] + fragment()")
    texts = browser.run("sides.map((s) => s.told.toml)")
    browser.open("about:blank")
    browser.open(link)
    browser.until("sides[0].frame?.now > 0.1 && sides[1].frame?.now > 0.1")
    assert browser.run("sides.map((s) => s.told.toml)") == texts
    assert browser.run("page.speed") == 5


@needs_chromium
def test_a_scenario_is_pasted_and_a_wrong_one_is_told(built: Path, browser: Browser) -> None:
    text = (ROOT / "scenarios/mixed-ecn.toml").read_text(encoding="utf-8")
    fragment = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    browser.open(f"{built.as_uri()}#toml={fragment}")
    browser.until("sides[0].frame?.now > 0.1")
    name = _penstock.Scenario.from_toml(text, "x").name
    assert browser.run("sides[0].told.name") == name
    browser.run("$('toml').value = 'duration = 3'; $('use').click()")
    browser.until("!$('trouble').hidden")
    assert "duration" in browser.run("$('trouble').textContent")
    assert browser.run("sides[0].told.name") == name, "what ran goes on"


@needs_chromium
def test_it_fits_a_phone_and_has_a_dark_side(built: Path, browser: Browser) -> None:
    papers = []
    for dark in (False, True):
        browser.size(360, 740, dark=dark, phone=True)
        browser.open(f"{built.as_uri()}#aqm=red&beside=codel&dark={dark}")
        browser.until("sides[0].frame?.now > 0.2")
        assert browser.run("document.documentElement.scrollWidth") <= 360
        papers.append(browser.run("getComputedStyle(document.body).backgroundColor"))
        browser.call("Page.navigate", url="about:blank")
    assert papers == ["rgb(255, 255, 255)", "rgb(18, 24, 30)"]


@needs_chromium
def test_keys_work_it_and_everything_has_a_name(built: Path, browser: Browser) -> None:
    browser.open(f"{built.as_uri()}#beside=codel")
    browser.until("sides[1].frame?.now > 0.2")
    browser.press(" ", "Space", 32)
    browser.until("!page.playing")
    browser.press("+", "Equal", 187)
    browser.until("page.speed === 2")
    browser.press(" ", "Space", 32)
    browser.until("page.playing")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "checkbox", "combobox", "slider", "textbox", "img", "spinbutton"}
    seen = [node for node in nodes if not node["ignored"] and node["role"]["value"] in roles]
    assert len(seen) > 40
    assert [node for node in seen if not node.get("name", {}).get("value")] == []


@needs_chromium
def test_without_the_engine_the_page_says_so(tmp_path: Path) -> None:
    for name in ("index.html", "lab.css", "draw.js", "form.js", "lab.js"):
        shutil.copy(lab.LAB / name, tmp_path)
    with Browser(tmp_path / "profile") as browser:
        browser.open((tmp_path / "index.html").as_uri())
        browser.until("!$('trouble').hidden")
        assert "make lab" in browser.run("$('trouble').textContent")


def test_a_figure_of_the_report_leads_to_its_scenarios(tmp_path: Path) -> None:
    (paper,) = papers.choose(["amecn"])
    exhibits = {exhibit.key: exhibit for exhibit in paper.exhibits}
    cases = list(exhibits["fig6"].cases(Settings(), DEFAULT))
    found = report_lab.links(exhibits["fig6"], "lab/index.html")
    assert [called for called, _ in found] == ["MECN, rises", "AMECN, rises", "ARED, rises"]
    for (_, address), case in zip(found, cases, strict=True):
        page, packed = address.split("#toml=")
        text = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)).decode()
        assert (page, Scenario.from_toml(text).resolved) == ("lab/index.html", case.scenario.resolved)
    assert report_lab.links(exhibits["fig6"], None) == []
    assert report_lab.place(tmp_path) is None, "a report elsewhere has no lab beside it"
    assert report_lab.place(ROOT / "out") == "../docs/lab/index.html"


def test_make_lab_writes_the_engine(module: Path) -> None:
    said = subprocess.run([sys.executable, ROOT / "tools/lab.py"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("docs/lab/index.html: ")
    assert (lab.LAB / "engine.js").stat().st_size > 100_000
    ignored = subprocess.run(["git", "check-ignore", "docs/lab/engine.js"], cwd=ROOT, capture_output=True)
    assert ignored.returncode == 0, "nothing that is built is committed"
