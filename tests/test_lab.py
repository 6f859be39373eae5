"""The lab: the engine as WebAssembly gives the native engine's bytes, and the page does what it says in Chromium."""

from __future__ import annotations

import base64
import gzip
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
from helpers.axe import needs_axe, violations
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
    assert seen["did"] == ["again", "now", "again", "now", "now", "again", "now"]
    gaps = [round(b - a, 9) for a, b in itertools.pairwise(seen["times"])]
    assert len(gaps) > 600
    assert set(gaps) == {0.02}, "a sample follows the other, whatever was worked out again"
    assert seen["places"] == sorted(set(seen["places"])), "packets are told apart, and wait in order"
    for state in seen["states"]:
        assert all(isinstance(value, float | int) for _, value in state), state
    assert "avg_pkts" not in dict(seen["states"][5]), "that was CoDel"
    # Disciplines took over while packets waited: none was lost from sight.
    assert seen["swapped"]["arrivals"] > 10_000
    assert balanced(seen["swapped"])
    assert list(seen["frames"]) == kinds
    for kind, frame in seen["frames"].items():
        assert frame["arrivals"] > 1000, kind
        assert balanced(frame), kind


def balanced(frame: dict[str, int]) -> bool:
    return frame["arrivals"] == frame["left"] + frame["drops"] + frame["waiting"]


def test_the_module_asks_for_nothing_and_loses_its_names(module: Path) -> None:
    whole = module.read_bytes()
    small = lab.stripped(whole)
    kinds = [kind for kind, _ in lab.sections(small)]
    assert kinds == sorted(set(kinds) - {0}, key=kinds.index)
    assert 2 not in kinds, "no imports: the engine reaches nothing outside itself"
    assert len(small) < 3e6


def test_the_page_weighs_less_than_a_photograph(built: Path) -> None:
    parts = [path.read_bytes() for path in built.parent.iterdir() if path.name != "engine.js"]
    engine = (built.parent / "engine.js").read_bytes()
    assert sum(len(gzip.compress(part)) for part in [*parts, engine]) < 1e6


@pytest.fixture(scope="module")
def built(module: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as `make lab` leaves it, in a folder of its own."""
    folder = tmp_path_factory.mktemp("docs") / "lab"
    folder.mkdir()
    shutil.copy(lab.LAB.parent / "palette.css", folder.parent)
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
    browser.until("sides[0].profile.length === 40 && sides[1].profile.length === 40")
    assert browser.run("sides.map((s) => s.told.aqm)") == ["droptail", "codel"]
    assert browser.complaints == []
    assert {address.split(":")[0] for address in browser.asked} <= {"file", "blob", "data"}
    drawn = """[...document.querySelectorAll("canvas")].filter((c) => c.checkVisibility()).map((c) =>
        new Set(new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer)).size)"""
    colours = browser.run(drawn)
    assert len(colours) == 7
    assert all(each > 5 for each in colours), "something is on every canvas"
    browser.until("document.querySelector('.lane canvas').getAttribute('aria-label').includes('dropped')")


@needs_chromium
@needs_axe
def test_axe_has_nothing_against_the_lab(built: Path, browser: Browser) -> None:
    assert violations(browser, built.as_uri(), f"{built.as_uri()}#bare&beside=codel", ready=RUNS) == []


@needs_chromium
def test_the_site_s_start_shows_its_lanes_in_the_place_of_a_picture(built: Path, browser: Browser) -> None:
    site_hooks = pytest.importorskip("site_hooks", reason="no MkDocs: pip install 'penstock[site]'")
    docs = lab.LAB.parent
    for name in ("site.js", "site.css"):
        shutil.copy(docs / name, built.parent.parent)
    figure = site_hooks.revived('<img alt="a queue">', (docs / "README.md").read_text(encoding="utf-8"))
    page = built.parent.parent / "start.html"
    style = '<link rel="stylesheet" href="palette.css"><link rel="stylesheet" href="site.css">'
    script = '<script src="site.js"></script>'
    page.write_text(f'{style}<body data-md-color-scheme="slate"><div class="md-content">{figure}</div>{script}')
    browser.open(page.as_uri())
    browser.until("document.querySelector('.hero.live iframe')?.offsetHeight > 200")
    assert browser.run("document.querySelector('.hero img').checkVisibility()") is False
    lanes = browser.run("document.querySelector('.hero').dataset.lab")
    browser.size(1400, 900)
    calm = {"name": "prefers-reduced-motion", "value": "reduce"}
    browser.call("Emulation.setEmulatedMedia", features=[calm])
    browser.open("about:blank")
    browser.open(page.as_uri())
    assert browser.run("[document.querySelector('iframe'), document.querySelector('img').checkVisibility()]") == [
        None,
        True,
    ]
    # What stands in the frame: the page's own run, its colours, and nothing but the lanes.
    browser.open(f"{built.as_uri()}#{lanes.partition('#')[2]}")
    browser.until("sides[1].frame")
    assert browser.run("sides.map((s) => [s.told.aqm, s.told.flows.length])") == [["droptail", 8], ["codel", 8]]
    seen = "[...document.querySelectorAll('#controls, #stories, .lane, #plot-delay, #plot-queue, #play, #restart')]"
    assert browser.run(f"{seen}.filter((e) => e.checkVisibility()).map((e) => e.id || e.dataset.slot)") == [
        "play",
        "0",
        "1",
        "plot-delay",
    ]
    assert browser.complaints == []


@needs_chromium
def test_a_slider_acts_while_it_runs(built: Path, browser: Browser) -> None:
    browser.open(f"{built.as_uri()}#aqm=red")
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
    # A refusal stands beside what caused it, and the run goes on.
    browser.run("change([0], 'aqm.min_th', '-3', true)")
    browser.until("!$('0-aqm.min_th-wrong').hidden")
    assert "negative" in browser.run("$('0-aqm.min_th-wrong').textContent")
    now = browser.run("sides[0].frame.now")
    browser.until(f"sides[0].frame.now > {now} + 0.1")
    browser.run("change([0], 'aqm.min_th', '7 packets', true)")
    browser.until("$('0-aqm.min_th-wrong').hidden")
    # The keys of the whole page work while a slider has the focus.
    browser.press(" ", "Space", 32)
    browser.until("!page.playing")
    browser.press("r", "KeyR", 82)
    browser.until("sides[0].frame === null || sides[0].frame.now < 0.5")
    assert browser.run("document.activeElement.id") == "0-aqm.max_p"
    assert browser.complaints == []


@needs_chromium
def test_a_step_of_the_load_is_worked_out_again(built: Path, browser: Browser) -> None:
    browser.open(built.as_uri())
    browser.until(RUNS)
    before = browser.run("sides[0].frame.now")
    browser.run("change([0], 'traffic.0.flows', '20', true)")
    browser.until("sides[0].told.flows.length === 22")  # a call has two
    browser.until("sides[0].frame.cwnd.length === 22")
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
    browser.until("!$('toml-wrong').hidden")
    assert "duration" in browser.run("$('toml-wrong').textContent")
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
    assert papers == ["rgb(254, 254, 254)", "rgb(23, 24, 28)"]


@needs_chromium
def test_keys_work_it_and_everything_has_a_name(built: Path, browser: Browser) -> None:
    browser.open(f"{built.as_uri()}#beside=codel")
    browser.until("sides[1].frame?.now > 0.2")
    browser.call("Emulation.setFocusEmulationEnabled", enabled=True)
    browser.press(" ", "Space", 32)
    browser.until("!page.playing")
    browser.press("+", "Equal", 187)
    browser.until("page.speed === 2")
    browser.press(" ", "Space", 32)
    browser.until("page.playing")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "checkbox", "combobox", "slider", "textbox", "img", "spinbutton"}
    seen = [node for node in nodes if not node["ignored"] and node["role"]["value"] in roles]
    assert len(seen) > 30
    assert [node for node in seen if not node.get("name", {}).get("value")] == []


#: Whether an element lies within the window.
IN_SIGHT = """(e) => {
  const { top, bottom, left, right } = e.getBoundingClientRect();
  return top >= -1 && left >= -1 && bottom <= innerHeight + 1 && right <= innerWidth + 1;
}"""
SMALL = """[...document.querySelectorAll("button, select, input, summary")].filter((e) => e.checkVisibility())
  .filter((e) => Math.min(e.offsetWidth, e.offsetHeight) < 24).map((e) => e.id)"""


@needs_chromium
@pytest.mark.parametrize("size", [(1400, 900), (1024, 768), (400, 800)], ids=str)
def test_what_changes_is_in_sight_while_a_control_moves(built: Path, browser: Browser, size: tuple[int, int]) -> None:
    browser.size(*size, phone=size[0] < 500)
    browser.open(f"{built.as_uri()}#story=4")
    browser.until("page.tale?.at >= 0 && sides[1].frame?.now > 0.2")
    for key in ("0-aqm.max_p", "1-aqm.max_th", "0-topology.bottleneck.rate", "0-traffic.0.flows"):
        browser.run(f"$('{key}').closest('.field').scrollIntoView({{ block: 'end' }})")
        for seen in (f"$('{key}')", *(f"document.querySelectorAll('canvas')[{i}]" for i in range(3))):
            assert browser.run(f"({IN_SIGHT})({seen})"), (key, seen)
    assert browser.run(SMALL) == []
    assert browser.run("document.documentElement.scrollWidth") <= size[0]


@needs_chromium
def test_a_discipline_takes_over_where_the_other_was(built: Path, browser: Browser) -> None:
    browser.open(f"{built.as_uri()}#beside=codel&speed=5")
    browser.until("sides[0].frame?.now > 6 && sides[0].frame.waiting > 60")
    before = browser.run("[sides[0].frame.now, sides[0].frame.waiting, sides[1].points.length]")
    browser.run("$('aqm-0').value = 'codel'; $('aqm-0').onchange()")
    browser.until("sides[0].told.aqm === 'codel'")
    assert browser.run("sides[0].frame.now") >= before[0]
    assert browser.run("sides.map((s) => s.points[0][0] < 0.1)") == [True, True], "history is kept"
    assert browser.run("sides[1].points.length") >= before[2]
    browser.until(f"sides[0].frame.now > {before[0]} + 6")
    assert browser.run("sides[0].frame.waiting") < before[1] / 2, "the queue drains"
    for name in ("delay", "queue", "rate", "signals"):
        assert "here: codel" in browser.run(f"$('plot-{name}').said"), name
    # A discipline that the link cannot have is told beside its list, and the old one goes on.
    assert browser.run("change([0], 'aqm.kind', 'nonsense', true).then(() => $('aqm-0').value)") == "codel"
    assert "nonsense" in browser.run("document.querySelector('.lane .wrong').textContent")


#: Looks at 40 frames: what is written under each lane, and what in its picture.
WATCHED_NUMBERS = """(async () => {
  const seen = [];
  for (let i = 0; i < 40; i++) {
    await new Promise(requestAnimationFrame);
    await 0;
    for (const lane of lanes) {
      const rows = [...lane.querySelectorAll("dl div")].map((d) => [...d.children].map((c) => c.textContent));
      seen.push([Object.fromEntries(rows), lane.querySelector("canvas").said]);
    }
  }
  return seen;
})()"""


@needs_chromium
def test_words_and_picture_say_the_same(built: Path, browser: Browser) -> None:
    browser.size(1400, 900)
    browser.open(f"{built.as_uri()}#beside=codel&speed=2")
    browser.until("sides[0].frame?.now > 5 && sides[1].frame?.now > 5")
    for rows, said in browser.run(WATCHED_NUMBERS):
        assert f"{rows['queue']} of 200 packets wait" in said
        (carried,) = [text for text in said if " of 5 Mbit/s" in text]
        assert abs(float(rows["link"].split()[0]) - 20 * float(carried.split()[0])) <= 1
    most = browser.run("Math.max(...sides.flatMap((s) => s.points.map((p) => p[RATE])))")
    assert most <= 5e6 * 1.001, "no more than the link can carry"
    assert {"link 5 Mbit/s"} <= set(browser.run("$('plot-rate').said"))
    assert {"base round trip 40 ms", "target 5.0 ms"} <= set(browser.run("$('plot-delay').said"))
    assert "buffer 200" in browser.run("$('plot-queue').said")


@needs_chromium
def test_the_stories_run_to_their_end(built: Path, browser: Browser) -> None:
    stories = browser_stories(built, browser)
    assert len(stories) == 6
    for number, title in enumerate(stories, 1):
        browser.run(f"$('stories').children[{number - 1}].click()")
        browser.until(f"page.tale?.story.title === {json.dumps(title)} && page.tale.at >= 0")
        browser.run("play(true, 20)")
        done = "(page.tale.done || $('tale-do').hidden || $('tale-do').click(), page.tale.done)"
        browser.until(done, 120)
        assert browser.run("page.tale.story.steps.filter((s) => s.press).length") >= 1, "something to do"
        assert "NaN" not in browser.run("$('tale-said').textContent")
        assert browser.run("$('stories').querySelector('[aria-current=true]').textContent") == title
    assert browser.complaints == []


def browser_stories(built: Path, browser: Browser) -> list[str]:
    browser.open(built.as_uri())
    browser.until(RUNS)
    titles: list[str] = browser.run("[...$('stories').children].map((b) => b.textContent)")
    return titles


@needs_chromium
def test_a_threshold_is_dragged_and_a_packet_followed(built: Path, browser: Browser) -> None:
    browser.open(f"{built.as_uri()}#story=4")
    browser.until("page.tale?.at >= 0 && sides[0].frame?.waiting > 5 && sides[0].thresholds?.length === 2")
    place = """(() => {
      const canvas = lanes[0].querySelector("canvas"), { left, top } = canvas.getBoundingClientRect();
      const at = places(canvas.clientWidth, canvas.clientHeight, 100);
      return [left + at.x(40), left + at.x(60), left + at.x(2), top + at.middle];
    })()"""
    old, new, packet, y = browser.run(place)
    for kind, x in (
        ("mousePressed", old),
        ("mouseMoved", (old + new) / 2),
        ("mouseMoved", new),
        ("mouseReleased", new),
    ):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)
    browser.until('/max_th = (59|60|61|"(59|60|61) packets")/.test(sides[0].told.toml)')
    assert browser.run("parted($('0-aqm.max_th').closest('.field').querySelector('[type=text]').value)[0]") in (
        59,
        60,
        61,
    )
    browser.call("Input.dispatchMouseEvent", type="mousePressed", x=packet, y=y, button="left", buttons=1, clickCount=1)
    browser.until("page.speed === FOLLOWING && sides[0].frame.flying?.length > 0 && sides[0].frame.followed")
    browser.run("play(true, 0.1)")
    browser.until("/hears|dropped/.test($('said').textContent)")
    assert browser.complaints == []


@needs_chromium
def test_who_wants_no_motion_is_asked_first(built: Path, browser: Browser) -> None:
    calm = {"name": "prefers-reduced-motion", "value": "reduce"}
    browser.call("Emulation.setEmulatedMedia", features=[calm])
    browser.open(built.as_uri())
    browser.until("sides[1].frame !== null")
    assert browser.run("[page.playing, sides[0].frame.now, $('play').textContent]") == [False, 0, "Run"]
    browser.run("$('play').click()")
    browser.until(RUNS)


@needs_chromium
def test_without_the_engine_the_page_says_so(tmp_path: Path) -> None:
    for name in ("index.html", "lab.css", "draw.js", "form.js", "stories.js", "lab.js"):
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
