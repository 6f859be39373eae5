"""How the package is laid out: who imports whom, and how large a file may grow."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from conftest import ROOT
from import_graph import measure

PACKAGE = ROOT / "python" / "penstock"
PAPERS = PACKAGE / "reproduce" / "papers"
FILES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}

#: The packages from the lowest floor up. A package imports from its own floor only itself, and from those below.
FLOORS = (
    {"_files", "_penstock", "_text", "errors"},
    {"_json", "_names"},
    {"judging"},
    {"model"},
    {"show"},
    {"runs"},
    {"sweeps", "emulation", "operators", "rl"},
    {"fluid"},  # it runs points of a sweep
    {"kernel"},  # its numbers are reported as a router's
    {"validate"},
    {"evaluation"},
    {"tuning"},  # its page has the frame of `evaluation`'s
    {"reproduce"},  # it draws what ns-2 measured, which `validate` has
    {"cli"},
    {"__main__"},
)

#: Most lines of a file, and of a function.
LINES_OF_A_FILE, LINES_OF_A_FUNCTION = 500, 60
#: Files that may be longer: one is generated, and the papers' are mostly tables of claims.
LONGER = {"model/kinds.py", *(f"reproduce/papers/{path.name}" for path in PAPERS.glob("*.py"))}


MODULES = {path.relative_to(ROOT).as_posix(): module for module, path in FILES.items()}


def imports() -> set[tuple[str, str]]:
    """Importer and imported: the modules of the package, by the repository's own measure."""
    arrows = measure(ROOT).arrows
    return {(MODULES[a], MODULES[b]) for a, b in arrows if a in MODULES and b in MODULES}


def floor(module: str) -> int:
    """The floor that a module belongs to."""
    package = module.split(".")[1]
    return next(number for number, packages in enumerate(FLOORS) if package in packages)


def test_imports_run_downwards() -> None:
    found = imports()
    assert len(found) > 200, "the imports are found"
    upwards = [
        f"{module} imports {name}"
        for module, name in sorted(found)
        if "penstock" not in (module, name)
        and name.split(".")[1] != module.split(".")[1]
        and floor(name) >= floor(module)
    ]
    assert upwards == []


@pytest.mark.parametrize("path", FILES.values(), ids=FILES)
def test_files_and_functions_fit_on_a_few_screens(path: Path) -> None:
    if path.relative_to(PACKAGE).as_posix() in LONGER:
        pytest.skip("a table, or generated")
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES_OF_A_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            first = node.body[0].lineno  # decorators and parameters are no code to follow
            lines = (node.end_lineno or first) - first + 1
            assert lines <= LINES_OF_A_FUNCTION, f"{node.name}: {lines} lines"
