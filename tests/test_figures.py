"""Figures do not mislead: spans, names, the number of lines, the user's own style, and what pages say of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Text

import console
import penstock as ps
from conftest import HOLLOT, ROOT, SMALL, Command
from penstock._names import kinds
from penstock.fluid.stability import stability
from penstock.runs import probing
from penstock.runs.result import Comparison
from penstock.show import canvas, labels, style
from penstock.show.plot import Plots
from penstock.show.plot import profile as profile_of
from penstock.sweeps import show
from penstock.sweeps.figure import draw as swept

SWEPT = (
    SMALL.replace('duration = "5 s"', 'duration = "1.2 s"')
    + """
[sweep]
"aqm.max_p" = [0.02, 0.05, 0.1]
"aqm.min_th" = [2, 3, 4]
"traffic.0.flows" = [2, 3, 4]
"""
)


@pytest.fixture(scope="module")
def every() -> Comparison:
    """Every discipline on one link, three seeds each."""
    return ps.compare(
        ps.Scenario.from_toml(SMALL), [each for each in kinds() if each != "custom"], seeds=3, series="100 ms"
    )


@pytest.fixture(scope="module")
def three(every: Comparison) -> Comparison:
    return Comparison({name: every.results[name] for name in ("droptail", "red", "codel")})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """27 places of three axes."""
    out = tmp_path_factory.mktemp("figures") / "s"
    ps.sweep(ps.Scenario.from_toml(SWEPT), seeds=2, out=out)
    return out


#: Everything that draws a result, by the page or method that has it.
Draw = Callable[[Comparison, Path, Any], Any]
FIGURES: dict[str, Draw] = {
    "queue": lambda three, _, size: three.plot.queue(size=size),
    "delay_cdf": lambda three, _, size: three.plot.delay_cdf(size=size),
    "plane": lambda three, _, size: three.plot.plane(size=size),
    "overview": lambda three, _, size: three.plot.overview(size=size),
    "cwnd": lambda three, _, size: three.plot.cwnd(size=size),
    "profile": lambda *given: profile_of(probing.probe(probing.scenario("red")), given[2]),
    "sweep": lambda _, store, size: swept(show.show(store, "utilization", "aqm.max_p", "aqm.min_th"), size),
    "stability": lambda *given: stability(ps.Scenario.from_toml(HOLLOT)).plot(size=given[2]),
    "map": lambda *given: stability(ps.Scenario.from_toml(HOLLOT), flows="20:60", rtt="100ms:300ms").plot(
        size=given[2]
    ),
}


def boxes(figure: Any, artists: Any) -> list[Any]:
    """Where artists stand, in parts of the figure."""
    style.settle(figure)
    renderer = figure._get_renderer()
    return [each.get_window_extent(renderer).transformed(figure.transFigure.inverted()) for each in artists]


def names_of(figure: Any) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


# ------------------------------------------------------------------------- lines and names


def test_every_method_that_draws_is_tried() -> None:
    drawing = {name for name, _ in inspect.getmembers(Plots, inspect.isfunction) if not name.startswith("_")}
    assert drawing <= FIGURES.keys()


def test_a_queue_is_drawn_to_the_end_of_a_run_with_a_lead_in() -> None:
    leading = SMALL.replace('start = { uniform = ["0 s", "0.1 s"] }', 'lead_in = "2 s"')
    result = ps.run(ps.Scenario.from_toml(leading).set("duration", "3 s"), series="100 ms")
    end = 3 + (result.runs[0].lead_in_s or 0)
    assert end > 3
    assert result.plot.queue().axes[0].get_xlim() == (0, end)


def test_at_most_eight_lines_a_panel_and_the_others_are_counted(store: Path) -> None:
    figure = swept(show.show(store, "utilization"))
    (ax,) = figure.axes
    assert len(ax.get_legend_handles_labels()[0]) == canvas.MOST == 8
    assert " ".join(names_of(figure)[-1].split()) == "1 more not drawn: choose with --over and --by"
    assert swept(show.show(store, "utilization", "traffic.0.flows")).legends == []


def test_the_delays_of_many_disciplines_are_those_of_eight(every: Comparison) -> None:
    figure = every.plot.delay_cdf()
    assert len(figure.axes[0].get_legend_handles_labels()[0]) == canvas.MOST
    assert f"{len(every.results) - canvas.MOST} more not drawn" in " ".join(names_of(figure)[-1].split())


@pytest.mark.parametrize("kind", FIGURES)
def test_names_stand_on_the_canvas_and_off_the_data(kind: str, three: Comparison, store: Path) -> None:
    figure = FIGURES[kind](three, store, None)
    beside = [legend for ax in figure.axes if (legend := ax.get_legend()) is not None]
    for box in boxes(figure, [*figure.legends, *beside]):
        assert -0.005 <= box.x0 <= box.x1 <= 1.005
        assert -0.005 <= box.y0 <= box.y1 <= 1.005
        panels = [ax.get_window_extent().transformed(figure.transFigure.inverted()) for ax in figure.axes]
        assert not [panel for panel in panels if box.overlaps(panel)], kind


def test_a_legend_of_long_names_stays_on_the_canvas() -> None:
    with style.context():
        figure = canvas.figure(6.4, 4.0)
        ax = figure.subplots()
        for i in range(8):
            ax.plot([0, 1], [i, i], label=f"topology.bottleneck.delay = {i} ms, traffic.0.a_long_key = somewhere/else")
        canvas.legend(figure, ax)
        (box,) = boxes(figure, figure.legends)
        (panel,) = boxes(figure, [ax])
    assert box.x0 >= -0.005 and box.x1 <= 1.005 and box.y0 >= -0.005  # noqa: PT018
    assert not box.overlaps(panel)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=32), st.floats(0, 1 / 31))
def test_levels_of_names_are_apart_and_inside(wanted: list[float], gap: float) -> None:
    levels = canvas.apart(sorted(wanted), gap)
    assert all(b - a >= gap - 1e-9 for a, b in pairwise(levels))
    assert levels[0] >= -1e-9
    assert levels[-1] <= 1 + 1e-9


def test_better_stands_above_the_plane_and_no_name_on_another(every: Comparison) -> None:
    figure = every.plot.plane()
    (ax,) = figure.axes
    (better,) = figure.findobj(lambda each: isinstance(each, Text) and each.get_text() == "better ↗")
    texts = [text for text in ax.texts if text.get_text()]
    assert {text.get_text() for text in texts} == set(every.results)
    found = boxes(figure, [*texts, better])
    overlapping = [
        (i, j) for i, a in enumerate(found) for j, b in enumerate(found[:i]) if a.shrunk(0.98, 0.8).overlaps(b)
    ]
    assert overlapping == []


# ------------------------------------------------------------------------- spans


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    values=st.lists(st.floats(-1e9, 1e9).map(lambda value: round(value, 6)), min_size=1, max_size=6),
    share=st.sampled_from([None, 1.0, 100.0]),
    zero=st.booleans(),
)
def test_an_axis_spans_what_it_should(values: list[float], share: float | None, zero: bool) -> None:
    if share is not None:
        values = [abs(each) % share for each in values]
    with style.context():
        figure = canvas.figure(4, 3)
        ax = figure.subplots()
        ax.plot(range(len(values)), values, "o")
        canvas.span(ax, "y", share=share, zero=zero)
        low, high = ax.get_ylim()
    assert low < min(values)
    assert max(values) < high
    assert high - low >= canvas.LEAST * max(map(abs, values))
    if share is not None or zero:
        assert low <= 0 <= high
    if share is not None and max(values) > share / 2:
        assert high > share
    if min(values) >= 0:
        assert low >= -0.04 * (high - low)


def test_a_throughput_of_ninety_nine_per_cent_is_no_collapse(three: Comparison) -> None:
    figure = three.plot.plane()
    (ax,) = figure.axes
    low, high = ax.get_ylim()
    assert "Mbit/s" in ax.get_ylabel()
    assert high - low >= canvas.LEAST * 1.4


# ------------------------------------------------------------------------- the user's style


@pytest.mark.parametrize("kind", FIGURES)
def test_the_users_size_font_and_letters_hold(kind: str, three: Comparison, store: Path, tmp_path: Path) -> None:
    import matplotlib as mpl

    mine: Any = {"font.family": "STIXGeneral", "font.size": 8.0, "figure.figsize": (3.4, 2.4)}
    with mpl.rc_context(mine):
        before = dict(mpl.rcParams)
        figure = FIGURES[kind](three, store, None)
        assert dict(mpl.rcParams) == before
        assert tuple(figure.get_size_inches()) == (3.4, 2.4)
        style.save(figure, str(tmp_path / "figure.pdf"))
        said = [text for text in figure.findobj(mpl.text.Text) if text.get_text()]
        assert {text.get_fontfamily()[0] for text in said} == {"STIXGeneral"}
        assert max(text.get_fontsize() for text in said) < 9.7
        assert tuple(FIGURES[kind](three, store, (5.0, 3.0)).get_size_inches()) == (5.0, 3.0)
    file = (tmp_path / "figure.pdf").read_bytes()
    assert b"STIXGeneral" in file
    assert b"/FontFile2" in file, "TrueType, embedded"
    assert b"/Type3" not in file


@pytest.mark.parametrize("metric", ["queue_sd_pkts", "utilization"])
def test_what_axes_say_stays_on_a_small_canvas(metric: str, store: Path) -> None:
    figure = swept(show.show(store, metric, "aqm.max_p", "aqm.min_th"), (3.4, 2.2))
    for box in boxes(figure, [axis.label for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]):
        assert 0 <= box.x0 <= box.x1 <= 1
        assert 0 <= box.y0 <= box.y1 <= 1


def test_a_notebook_shows_a_figure_whatever_its_names_are(three: Comparison) -> None:
    figure: Any = Comparison({"a\x01": three.results["red"]}).plot.queue()
    assert "a\\u0001" in figure._repr_svg_()


def test_a_style_sheet_is_one_option(penstock: Command, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "paper.mplstyle").write_text("font.family: STIXGeneral\nfigure.figsize: 3.4, 2.4\n", encoding="utf-8")
    line = ["compare", "small.toml", "--aqm", "red", "--aqm", "codel", "--figure"]
    assert penstock(*line, "own.svg", "--style", "paper.mplstyle").returncode == 0
    text = (tmp_path / "own.svg").read_text(encoding="utf-8")
    assert 'width="244.8pt" height="172.8pt"' in text
    assert "STIXGeneral" in text
    for style_, said in (("papr.mplstyle", "no such file"), ("gplot", "Nearest: ggplot")):
        done = penstock(*line, "own.svg", "--style", style_)
        assert done.returncode == 2
        assert said in done.stderr
    (tmp_path / "wrong.mplstyle").write_text("font.sise: 3\n", encoding="utf-8")
    assert "font.sise" in penstock(*line, "own.svg", "--style", "wrong.mplstyle").stderr


@pytest.mark.parametrize("size", [(0, 1), (-3, 2), "big", (1,), (float("inf"), 1)])
def test_a_size_that_is_none_is_refused(size: Any, three: Comparison) -> None:
    with pytest.raises(ps.Error, match=r"size: .*must be \(width, height\)"):
        three.plot.overview(size=size)


# ------------------------------------------------------------------------- what axes say


def test_every_metric_has_words_for_an_axis() -> None:
    from penstock.judging.estimate import _bounds

    for metric in _bounds():
        said = labels.label(metric)
        assert said != metric
        assert re.fullmatch(r"[A-Z0-9][^_\[\]]*", said), (metric, said)


@pytest.mark.parametrize("kind", FIGURES)
def test_axes_speak(kind: str, three: Comparison, store: Path) -> None:
    for line in style.described(FIGURES[kind](three, store, None)).split("; "):
        assert re.fullmatch(r"[xy]: [A-Z].*|x: aqm\.max_p", line), line


# ------------------------------------------------------------------------- pages


COMPARED = ["compare", "small.toml", "--aqm", "red", "--aqm", "pie"]
#: The commands of the pages with `--figure`, by how they begin, each as one that takes seconds; of `validate-real`,
#: which needs minutes of real packets, what its figure is made of.
QUICK: dict[str, list[str]] = {
    "penstock compare … --figure-kind plane": [*COMPARED, "--figure-kind", "plane"],
    "penstock compare": COMPARED,
    "penstock probe": ["probe", "red"],
    "penstock show out/red utilization --over topology.bottleneck.delay --by variant": [
        *("show", "s", "utilization", "--over", "topology.bottleneck.delay", "--by", "aqm.min_th")
    ],
    "penstock show out/red utilization --over topology.bottleneck.delay --against": [
        *("show", "s", "utilization", "--over", "topology.bottleneck.delay", "--against", "aqm.min_th=2")
    ],
    "penstock show out/flows delay_p99_s --over traffic.0.flows --by aqm.kind": [
        *("show", "s", "delay_p99_s", "--over", "traffic.0.flows", "--by", "aqm.kind")
    ],
    "penstock stability": ["stability", "hollot.toml", "--flows", "20:60", "--rtt", "100ms:300ms"],
    "penstock validate-real": [],
}
STORE = (
    SMALL.replace('duration = "5 s"', 'duration = "1.2 s"')
    + """
[sweep]
"aqm.kind" = ["red", "ared"]
"aqm.min_th" = [2, 3]
"traffic.0.flows" = [2, 3]
"topology.bottleneck.delay" = ["5 ms", "9 ms"]
"""
)


def with_figure() -> Iterator[tuple[str, str, str]]:
    """Every page and command with `--figure` that it shows or names in a sentence, and the text around it."""
    for page in console.documents(ROOT):
        name = str(page.relative_to(ROOT))
        if name in ("docs/commands.md", "docs/accept.md"):  # made from the program itself
            continue
        if name == "docs/answers.md":  # its pictures are kept; tests/test_pages.py reads their axes
            continue
        text = page.read_text(encoding="utf-8").replace("\\\n", "")
        for found in re.finditer(r"(?:\$ |`)(penstock [^\n`]*--figure [^\n`]*)", text):
            command = " ".join(re.sub(r"\s+#.*", "", found[1]).split())
            around = text[max(0, found.start() - 1200) : found.end() + 1600]
            yield name, command, " ".join(around.lower().split())


def quick(command: str) -> list[str]:
    """The same command where it takes seconds."""
    for shown, words in QUICK.items():
        begins, _, has = shown.partition(" … ")
        if command.startswith(begins) and has in command:
            return words
    raise AssertionError(f"{command}: how is it tried in seconds?")


@pytest.mark.slow
@pytest.mark.parametrize(("page", "command", "near"), list(with_figure()), ids=lambda value: str(value)[:60])
def test_a_page_says_what_its_command_draws(
    page: str, command: str, near: str, penstock: Command, tmp_path: Path
) -> None:
    """What each axis is, in words, near the command."""
    words = quick(command)
    for name, text in {"small.toml": SMALL, "hollot.toml": HOLLOT, "store.toml": STORE}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    if words[:2] == ["show", "s"]:
        assert penstock("sweep", "store.toml", "--seeds", 2, "--out", "s").returncode == 0
    if words:
        done = penstock(*words, "--figure", "it.svg")
        assert done.returncode == 0, done.stderr
        axes = described(tmp_path / "it.svg")
    else:
        axes = of_real_packets()
    assert axes
    assert [each for each in axes if each.lower() not in near] == [], page


def described(file: Path) -> list[str]:
    """What the axes of a file say, without units and what is in brackets."""
    (said,) = re.findall(r"<dc:description>([^<]*)</dc:description>", file.read_text(encoding="utf-8"))
    return axes_of(said)


def axes_of(said: str) -> list[str]:
    plain = (re.sub(r"^[xy]: | [\[(].*|[,;].*", "", each) for each in re.split(r"; (?=[xy]: )", said))
    return [each.replace("'", "'") for each in plain]


def of_real_packets() -> list[str]:
    from penstock.validate.real.compare import Agreement
    from penstock.validate.real.figure import draw

    result = ps.run(ps.Scenario.from_toml(SMALL), seeds=2, series="100 ms")
    agreement = Agreement(real=result, simulated=result, changed={}, emulations=(), invalid=())
    return axes_of(style.described(draw(agreement)))


def test_the_plane_on_the_first_page_is_what_its_command_draws(three: Comparison) -> None:
    kept = (ROOT / "docs" / "img" / "plane.svg").read_text(encoding="utf-8")
    assert axes_of(re.findall("<title>(.*)</title>", kept)[0]) == axes_of(style.described(three.plot.plane()))
