"""Measure who imports whom, file by file, and where that goes in a circle.

A *room* is a Rust crate or a Python package (one folder of `python/penstock`). An *arrow* leads
from a file to a file of the same repository that it imports. A *circle* is a strongly connected
component of more than one file: every file in it reaches every other along arrows.

What counts as an arrow:

- Rust: every `use` and every path in an expression that begins with `crate`, `self`, `super`, a
  workspace crate or a submodule's name. `mod` and `pub use` do not count: they say what a crate is
  made of. A path through a `pub use` counts for the file in which the name is defined. Code under
  `#[cfg(test)]` is left out.
- Python: every import of a module of `penstock`, also inside a function. What is imported under
  `if TYPE_CHECKING`, or by `importlib.import_module` from a text, is an arrow that is not needed to
  run: each module counts that the text may name. `__main__.py`, which only starts the command
  line, is left out, and so is what the package itself shows: a name taken from there counts for the
  module that it comes from.

The Rust side reads text, not types: a call of a method needs no import and is not seen.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: A Rust path: the segments after the crate's root.
Segments = tuple[str, ...]


@dataclass
class Graph:
    """What was measured. Files are named by their path in the repository."""

    rooms: dict[str, list[str]] = field(default_factory=dict)  # room → its files
    arrows: set[tuple[str, str]] = field(default_factory=set)  # from file → to file
    loose: set[tuple[str, str]] = field(default_factory=set)  # those that are not needed to run

    def room_of(self) -> dict[str, str]:
        """Return file → room."""
        return {file: room for room, files in self.rooms.items() for file in files}

    def between_rooms(self) -> set[tuple[str, str]]:
        """Return the arrows between different rooms."""
        room = self.room_of()
        arrows = self.arrows | self.loose
        return {(room[a], room[b]) for a, b in arrows if room[a] != room[b]}

    def circles(self) -> list[list[str]]:
        """Return all circles of files, the largest first."""
        files = [file for each in self.rooms.values() for file in each]
        return _circles(files, self.arrows | self.loose)

    def circles_of_rooms(self) -> list[list[str]]:
        """Return all circles of rooms, the largest first."""
        return _circles(self.rooms, self.between_rooms())


def _circles(nodes: Iterable[str], arrows: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one node (Tarjan, 1972)."""
    out: dict[str, list[str]] = {node: [] for node in sorted(nodes)}
    for a, b in sorted(arrows):
        out[a].append(b)
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []
    for root in out:
        path = [] if root in number else [(root, iter(out[root]))]
        while path:
            node, rest = path[-1]
            if node not in number:
                number[node] = low[node] = len(number)
                stack.append(node)
            for each in rest:
                if each not in number:
                    path.append((each, iter(out[each])))
                    break
                if each in stack:
                    low[node] = min(low[node], number[each])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == number[node]:
                    at = stack.index(node)
                    found.append(sorted(stack[at:]))
                    del stack[at:]
    return sorted((each for each in found if len(each) > 1), key=lambda each: (-len(each), each))


# ---- Rust

_NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"""
    r"""r(?P<hash>\#+)".*?"(?P=hash)|b?r"[^"]*"|b?"(?:[^"\\]|\\.)*"|"""
    r"""'(?:[^'\\\n]|\\[^\n]+?)'""",
    re.S,
)
_ITEM = re.compile(
    r"\b(?:(?:unsafe|async|const|extern)\s+)*"
    r"(?:struct|enum|union|trait|fn|type|const|static|macro_rules!)\s+(?:mut\s+)?(\w+)"
)
_MOD = re.compile(r"\bmod\s+(\w+)\s*([;{])")
_USE = re.compile(r"(\bpub(?:\s*\([^)]*\))?\s+)?\buse\s+([^;]+);")
_PATH = re.compile(r"(?<![\w:.])(?:::)?(\w+)((?:\s*::\s*\w+)+)")


@dataclass
class _Module:
    """A Rust module: a file's, or one written between braces."""

    path: Segments
    file: str
    code: str = ""
    items: set[str] = field(default_factory=set)
    children: set[str] = field(default_factory=set)
    names: dict[str, Segments] = field(default_factory=dict)  # name → where a `use` took it from
    globs: list[Segments] = field(default_factory=list)
    uses: list[Segments] = field(
        default_factory=list
    )  # paths that `use` names, except in `pub use`


def _code(text: str) -> str:
    """Return Rust text without comments, literals and what is compiled for tests only."""
    text = _NOT_CODE.sub(
        lambda m: "''" if m[0].startswith("'") else " " if m[0].startswith("/") else '""', text
    )
    while (m := re.search(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*", text)) is not None:
        end = m.end()
        stop = re.compile(r"[;{]").search(text, end)
        if stop is None:
            end = len(text)
        elif stop[0] == ";":
            end = stop.end()
        else:
            end = _closing(text, stop.start())
        text = text[: m.start()] + text[end:]
    return text


def _closing(text: str, at: int) -> int:
    """Return the place after the brace that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return i + 1
    return len(text)


def _leaves(tree: str) -> Iterator[tuple[Segments, str | None]]:
    """Yield each path of a `use` tree with the name that it gets, None for a glob."""
    tree = " ".join(tree.split())
    head, brace, rest = tree.partition("{")
    before = tuple(each.strip() for each in head.split("::") if each.strip())
    if brace:
        inner, depth, start = rest[: rest.rindex("}")], 0, 0
        for i, c in enumerate(inner + ","):
            depth += (c == "{") - (c == "}")
            if c == "," and depth == 0:
                if inner[start:i].strip():
                    for leaf, name in _leaves(inner[start:i]):
                        yield before + leaf, name
                start = i + 1
        return
    path, _, alias = tree.partition(" as ")
    segments = tuple(each.strip() for each in path.split("::") if each.strip())
    if segments[-1] == "*":
        yield segments[:-1], None
    elif segments[-1] == "self":
        yield segments, alias.strip() or "self"
    else:
        yield segments, alias.strip() or segments[-1]


class _Crate:
    """The modules of a crate, and where a path in it leads."""

    def __init__(self, root: Path, sources: dict[Path, Segments]) -> None:
        self.modules: dict[Segments, _Module] = {}
        for path, module in sources.items():
            code = _code(path.read_text(encoding="utf-8"))
            self._take(module, str(path.relative_to(root)), code)
        declared = {()} | {(*m.path, child) for m in self.modules.values() for child in m.children}
        self.modules = {path: m for path, m in self.modules.items() if path in declared}

    def _take(self, path: Segments, file: str, code: str) -> None:
        module = self.modules.setdefault(path, _Module(path, file))
        while (m := re.search(r"\bmod\s+(\w+)\s*\{", code)) is not None:
            end = _closing(code, m.end() - 1)
            module.children.add(m[1])
            self._take((*path, m[1]), file, code[m.end() : end - 1])
            code = code[: m.start()] + code[end:]
        module.children |= {m[1] for m in _MOD.finditer(code)}
        module.items |= set(_ITEM.findall(code))
        for m in _USE.finditer(code):
            for leaf, name in _leaves(m[2]):
                if name is None:
                    module.globs.append(leaf)
                elif name == "self":
                    module.names[leaf[-2]] = leaf[:-1]
                else:
                    module.names[name] = leaf
                if not m[1]:
                    module.uses.append(leaf[:-1] if leaf[-1] == "self" else leaf)
        module.code = _MOD.sub(" ", _USE.sub(" ", code))

    def absolute(self, at: _Module, path: Segments) -> Segments | None:
        """Return a path of `at` from the crate's root; None if it leads out of the crate."""
        first = path[0]
        if first == "crate":
            return path[1:]
        if first == "self":
            return at.path + path[1:]
        if first == "super":
            up = next((i for i, each in enumerate(path) if each != "super"), len(path))
            return at.path[: len(at.path) - up] + path[up:]
        return at.path + path if first in at.children else None

    def file_of(self, path: Segments, seen: frozenset[Segments] = frozenset()) -> str | None:
        """Return the file in which a path's name is defined, looked up through `use`."""
        if path in seen:
            return None
        seen |= {path}
        module = self.modules.get(())
        for i, name in enumerate(path):
            assert module is not None
            below = self.modules.get((*module.path, name))
            if below is not None:
                module = below
                continue
            if name in module.items:
                return module.file
            if name in module.names:
                target = self.absolute(module, module.names[name])
                return None if target is None else self.file_of(target + path[i + 1 :], seen)
            for glob in module.globs:
                target = self.absolute(module, glob)
                if target is not None and (file := self.file_of(target + path[i:], seen)) not in (
                    None,
                    module.file,
                ):
                    return file
            return module.file
        return None if module is None else module.file


def _library(folder: Path) -> dict[Path, Segments]:
    """Return the files of a crate's library, each with its module's path."""
    files = {}
    for path in sorted(folder.rglob("*.rs")):
        *above, last = path.relative_to(folder).with_suffix("").parts
        if above or last != "main":  # a program is a root of its own
            files[path] = tuple(above if last in ("lib", "mod") else [*above, last])
    return files


def _rust(root: Path, graph: Graph) -> None:
    read: dict[str, _Crate] = {}
    programs: dict[str, Path] = {}
    for manifest in sorted(root.glob("crates/*/Cargo.toml")):
        found = re.search(r'^name\s*=\s*"([^"]+)"', manifest.read_text(encoding="utf-8"), re.M)
        assert found is not None, manifest
        name, folder = found[1].replace("-", "_"), manifest.parent
        read[name] = _Crate(root, _library(folder / "src"))
        graph.rooms[f"crates/{folder.name}"] = sorted({m.file for m in read[name].modules.values()})
        if (folder / "src/main.rs").exists():
            programs[name] = folder / "src/main.rs"
            graph.rooms[f"crates/{folder.name}"].append(str(programs[name].relative_to(root)))
    mains = [_Crate(root, {path: ()}) for path in programs.values()]
    for crate in [*read.values(), *mains]:
        for module in crate.modules.values():
            for path in _mentioned(module):
                if path[0] in read:
                    target = read[path[0]].file_of(path[1:])
                else:
                    inside = crate.absolute(module, path)
                    target = None if inside is None else crate.file_of(inside)
                if target is not None and target != module.file:
                    graph.arrows.add((module.file, target))


def _mentioned(module: _Module) -> Iterator[Segments]:
    yield from (path for path in module.uses if path)
    for m in _PATH.finditer(module.code):
        yield (m[1], *re.findall(r"\w+", m[2]))


# ---- Python

_PACKAGE = "penstock"


class _Imports(ast.NodeVisitor):
    """Collects (module, name) of every import; the name is None for `import module`."""

    def __init__(self, package: tuple[str, ...]) -> None:
        self.package = package
        self.found: list[
            tuple[str, str | None, str]
        ] = []  # module, name, the name that it gets here
        self.loose: list[tuple[str, str | None, str]] = []
        self.texts: list[str] = []  # patterns of the modules that `import_module` may load
        self.attributes: set[tuple[str, str]] = set()

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test).endswith("TYPE_CHECKING"):
            kept, self.found = self.found, []
            for each in node.body:
                self.visit(each)
            self.loose, self.found = self.loose + self.found, kept
            for each in node.orelse:
                self.visit(each)
        else:
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if ast.unparse(node.func).endswith("import_module") and node.args:
            (name, *_) = node.args
            parts = name.values if isinstance(name, ast.JoinedStr) else [name]
            texts = [each.value if isinstance(each, ast.Constant) else None for each in parts]
            if texts != [None]:
                self.texts.append(
                    "".join(r"\w+" if t is None else re.escape(str(t)) for t in texts)
                )
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.found.append((alias.name, None, alias.asname or alias.name.split(".")[0]))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        up = self.package[: len(self.package) - node.level + 1] if node.level else ()
        module = ".".join([*up, *([node.module] if node.module else [])])
        for alias in node.names:
            self.found.append((module, alias.name, alias.asname or alias.name))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name):
            self.attributes.add((node.value.id, node.attr))
        self.generic_visit(node)


def _python(root: Path, graph: Graph) -> None:
    base = root / "python" / _PACKAGE
    files: dict[str, str] = {}  # module → file
    read: dict[str, _Imports] = {}
    for path in sorted(base.rglob("*.py")):
        if path.name == "__main__.py":
            continue
        parts = path.relative_to(base.parent).with_suffix("").parts
        inside = parts[-1] == "__init__"
        module = ".".join(parts[:-1] if inside else parts)
        files[module] = str(path.relative_to(root))
        read[module] = _Imports(parts[:-1])
        read[module].visit(ast.parse(path.read_text(encoding="utf-8")))
        graph.rooms.setdefault(str(path.parent.relative_to(root)), []).append(files[module])
    extension = next((files for room, files in graph.rooms.items() if room == "crates/py"), [])

    def home(module: str, name: str | None, seen: frozenset[str] = frozenset()) -> str | None:
        """Return the file of a module; of a name in a package, the file it comes from."""
        if f"{module}.{name}" in files:
            return files[f"{module}.{name}"]
        if module == f"{_PACKAGE}._penstock" or (module, name) == (_PACKAGE, "_penstock"):
            return next((file for file in extension if file.endswith("lib.rs")), None)
        if (
            module not in files
            or name is None
            or not files[module].endswith("__init__.py")
            or module in seen
        ):
            return files.get(module)
        shown = read[module].found + read[module].loose
        for source, each, here in shown:
            if here == name and each is not None and source != module:
                return home(source, each, seen | {module})
        for source, each, _ in shown:
            if each == "*" and re.search(
                rf"\b{name}\b", Path(root, files[source]).read_text(encoding="utf-8")
            ):
                return files[source]
        return files[module]

    for module, imports in read.items():
        named = [
            (each, None, "") for each in files if any(re.fullmatch(t, each) for t in imports.texts)
        ]
        for wanted, arrows in (
            (imports.found, graph.arrows),
            ([*imports.loose, *named] if module != _PACKAGE else [], graph.loose),
        ):
            for source, name, here in wanted:
                taken: list[str | None] = [name]
                if name is None:  # `import penstock as ps`: what is taken is `ps.run`
                    taken = [attr for value, attr in imports.attributes if value == here] or [None]
                for each in taken:
                    target = home(source, each)
                    if target is not None and target != files[module]:
                        arrows.add((files[module], target))


def measure(root: Path) -> Graph:
    """Measure a checkout."""
    graph = Graph()
    _rust(root, graph)
    _python(root, graph)
    known = graph.room_of()
    graph.arrows = {(a, b) for a, b in graph.arrows if a in known and b in known}
    graph.loose = {(a, b) for a, b in graph.loose if a in known and b in known} - graph.arrows
    return graph
