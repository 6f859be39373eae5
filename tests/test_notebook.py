"""What notebooks show: tables, a bar, and the worked example. PENSTOCK_UPDATE=1 writes its outputs again."""

from __future__ import annotations

import json
import os
import sys
import types
from pathlib import Path

import pytest

import notebook
import penstock as ps
from conftest import ROOT, SMALL
from penstock.runs import runner
from penstock.show import progress
from penstock.show.table import Bold, Table

NOTEBOOK = ROOT / "examples" / "10_notebook.ipynb"


def test_the_worked_notebook_shows_what_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.environ.get("PENSTOCK_UPDATE"):
        (tmp_path / "update").mkdir()
        monkeypatch.chdir(tmp_path / "update")
        notebook.write(NOTEBOOK)
    monkeypatch.chdir(tmp_path)
    stored = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    pictures = [taken(stored), taken(again := notebook.executed(NOTEBOOK))]
    assert again == stored
    for (drawn,) in pictures:
        assert "<title>y: Queue [packets]; x: Time [s]</title>" in drawn
        assert drawn.count(", seed 1<") == 3  # a panel for each discipline
        assert len(drawn) < 30_000
    assert sum("text/html" in output.get("data", {}) for cell in stored for output in cell.get("outputs", ())) == 3


def taken(cells: list[notebook.Cell]) -> list[str]:
    """Takes out the cells' pictures and returns them: how they are written is up to matplotlib's version."""
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    return ["".join(output["data"].pop(notebook.PICTURE)) for output in outputs if notebook.PICTURE in output["data"]]


def test_a_table_is_html_and_escapes_what_is_not() -> None:
    table = Table("a < b")
    table.add_column("x & y", justify="right")
    table.add_row(Bold("<1>"))
    table.add_row("2")
    assert table._repr_html_() == (
        '<p><b>a &lt; b</b></p><table><thead><tr><th style="text-align:right">x &amp; y</th></tr></thead><tbody>'
        '<tr><td style="text-align:right"><b>&lt;1&gt;</b></td></tr><tr><td style="text-align:right">2</td></tr>'
        "</tbody></table>"
    )


def test_a_run_in_a_notebook_draws_a_bar_and_clears_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[str] = []

    class ZMQInteractiveShell:
        pass

    class Handle:
        def update(self, page: str) -> None:
            pages.append(page)

    def display(page: str, display_id: bool) -> Handle:
        pages.append(page)
        return Handle()

    python = types.ModuleType("IPython")
    python.get_ipython = ZMQInteractiveShell  # type: ignore[attr-defined]
    shown = types.ModuleType("IPython.display")
    shown.HTML, shown.display = str, display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", python)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    monkeypatch.setattr(progress, "PATIENCE_S", 0)
    bar = progress.in_notebook("a <b>")
    assert bar is not None
    bar(0.25, 1, 4)
    bar(1.0, 4, 4)
    assert pages == ['a &lt;b&gt; <progress value="0.250"></progress> 25%, 1/4 runs', ""]
    given: list[object] = []
    monkeypatch.setattr(runner, "execute", lambda *_, progress, **__: given.append(progress) or [])  # type: ignore[func-returns-value]
    ps.run(ps.Scenario.from_toml(SMALL))
    assert isinstance(given[0], progress.NotebookBar), "run finds the notebook by itself"


def test_outside_of_a_notebook_there_is_no_bar() -> None:
    assert progress.in_notebook("x") is None
