"""How the package is laid out: who imports whom, and how large a file may grow."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from conftest import ROOT

PACKAGE = ROOT / "python" / "penstock"
PAPERS = PACKAGE / "reproduce" / "papers"
FILES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}

#: The packages from the lowest floor up. A package imports from its own floor only itself, and from those below.
FLOORS = (
    {"_files", "_penstock", "errors"},
    {"_names", "estimate"},
    {"model"},
    {"show"},
    {"runs"},
    {"sweeps", "emulation"},
    {"reproduce", "validate"},
    {"cli"},
    {"__main__"},
)

#: Most lines of a file, and of a function.
LINES_OF_A_FILE, LINES_OF_A_FUNCTION = 500, 60
#: Files that may be longer: one is generated, and the papers' are mostly tables of claims.
LONGER = {"model/kinds.py", *(f"reproduce/papers/{path.name}" for path in PAPERS.glob("*.py"))}


def imports(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports when it runs, inside functions too.

    What stands under `TYPE_CHECKING` does not count: annotations may name what is above.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in typing:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("penstock"):
            module = str(node.module)
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                yield inner if inner in FILES or inner == "penstock._penstock" else module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("penstock"))


def floor(module: str) -> int:
    """The floor that a module belongs to."""
    package = module.split(".")[1]
    return next(number for number, packages in enumerate(FLOORS) if package in packages)


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {module: {name for name in imports(path) if name != module} for module, path in FILES.items()}
    assert sum(map(len, graph.values())) > 200, "the imports are found"
    TopologicalSorter(graph).prepare()  # raises CycleError with the circle


@pytest.mark.parametrize("module", [module for module in FILES if module != "penstock"])
def test_imports_run_downwards(module: str) -> None:
    own = module.split(".")[1]
    for name in imports(FILES[module]):
        if name != "penstock" and name.split(".")[1] != own:
            assert floor(name) < floor(module), f"{module} imports {name}"


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
