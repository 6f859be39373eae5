"""Runs a notebook's cells without Jupyter: for its test, and to write its outputs again.

A cell shows what it prints, and its last line as Jupyter does: as HTML or as a picture where the
object knows how. Of its text, the type alone is stored; pictures are made small (`slim_svg.py`).
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

from slim_svg import slim

Cell = dict[str, Any]

#: What Jupyter calls a picture of lines.
PICTURE = "image/svg+xml"


def executed(path: Path) -> list[Cell]:
    """Returns the cells of a notebook with the outputs that they have now."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells: list[Cell] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, 1):
        cell["execution_count"] = number
        cell["outputs"] = _outputs("".join(cell["source"]), number, names)
    return cells


def _outputs(source: str, number: int, names: dict[str, Any]) -> list[Cell]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    outputs: list[Cell] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        data = {"text/plain": [f"<{type(value).__name__}>"]}
        # A figure of matplotlib's has one, and says nothing by it.
        if (html := getattr(value, "_repr_html_", lambda: None)()) is not None:
            data["text/html"] = [html]
        if hasattr(value, "_repr_svg_"):
            data[PICTURE] = slim(value._repr_svg_()).splitlines(keepends=True)
        outputs.append(
            {
                "data": data,
                "execution_count": number,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return outputs


def write(path: Path) -> None:
    """Writes a notebook with its outputs."""
    document = json.loads(path.read_text(encoding="utf-8"))
    document["cells"] = executed(path)
    text = json.dumps(document, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
