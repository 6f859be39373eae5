"""The package as a thing: what its import loads, its stub against the binary, its generated file, its docstrings."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import importlib
import inspect
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest

import generate
import penstock as ps
import profiles
import reference
from conftest import ROOT, SMALL
from penstock import _penstock

PACKAGE = ROOT / "python" / "penstock"


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


def test_import_loads_the_package_alone() -> None:
    code = "import sys; before = set(sys.modules); import penstock; print(*(set(sys.modules) - before))"
    assert set(python(code).split()) == {"penstock", "__future__"}


#: Libraries that take long to load, and that a short run has no use for.
HEAVY = set(
    """asyncio concurrent dask hashlib http jinja2 logging matplotlib multiprocessing numpy pandas pyarrow rich
scipy shutil socket subprocess tempfile""".split()
)
#: Parts of the package that a short run has no use for: what loads those libraries, and the generated classes.
UNUSED = {
    f"penstock.{name}"
    for name in "emulation model.kinds operators reproduce runs.pool runs.tasks sweeps validate".split()
}


def loaded(printed: str) -> set[str]:
    """Names of modules from the last line printed, with the packages that they are in."""
    modules = printed.splitlines()[-1].split()
    return {name.rsplit(".", depth)[0] for name in modules for depth in range(name.count(".") + 1)}


def test_the_command_run_loads_no_heavy_library(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL, encoding="utf-8")
    code = f"import sys; from penstock.cli import main; main(['run', '--json', {str(file)!r}]); print(*sys.modules)"
    modules = loaded(python(code))
    assert "penstock.show.run_tables" in modules
    assert modules & (HEAVY | UNUSED) == set()


def test_the_collector_of_garbage_passes_over_what_the_program_loads() -> None:
    code = (
        "import gc, sys; from penstock.__main__ import main; sys.argv = ['penstock', '--version']\n"
        "code = main(); print(code, gc.isenabled(), gc.get_freeze_count() > 10_000)"
    )
    assert python(code).splitlines()[-1] == "0 True True"


def test_a_run_loads_no_heavy_library() -> None:
    code = (
        "import sys, penstock as ps\n"
        "s = ps.Scenario(topology=ps.Dumbbell(bottleneck=ps.Link(rate='1 Mbit/s', delay='1 ms', buffer=9)),"
        " traffic=[ps.Ftp()], duration='1 s')\n"
        "ps.run(s).summary\n"
        "print(*sys.modules)"
    )
    modules = loaded(python(code))
    assert "penstock.model.kinds" in modules
    assert modules & (HEAVY | UNUSED | {"click"}) == {"penstock.model.kinds"}


def test_every_name_is_found_when_it_is_first_used() -> None:
    code = (
        "import penstock as ps\n"
        "assert not hasattr(ps, 'run_')\n"
        "assert set(ps.__all__) <= set(dir(ps))\n"
        "assert all(getattr(ps, name) is vars(ps)[name] for name in ps.__all__)"
    )
    python(code)


def test_a_discipline_in_python_loads_no_more_than_it_uses() -> None:
    code = (
        "import sys, penstock as ps\n"
        "class Pass(ps.Aqm):\n"
        "    def arrive(self, now, packet, queue):\n"
        "        return ps.PASS\n"
        f"ps.run(ps.Scenario.from_toml({SMALL!r}).with_aqm(Pass()))\n"
        "print(*sys.modules)"
    )
    assert loaded(python(code)) & (HEAVY | UNUSED - {"penstock.model.kinds"}) == set()


def stub() -> dict[str, dict[str, list[str]] | list[str]]:
    """Public names of the stub: functions with their parameters, classes with their members' parameters."""
    tree = ast.parse((PACKAGE / "_penstock.pyi").read_text(encoding="utf-8"))
    names: dict[str, dict[str, list[str]] | list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            names[node.name] = parameters(node)
        elif isinstance(node, ast.ClassDef):
            members = [f for f in node.body if isinstance(f, ast.FunctionDef) and not f.name.startswith("_")]
            names[node.name] = {f.name: parameters(f) for f in members}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names[node.target.id] = []
    return names


def parameters(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    optional = [*([None] * (len(arguments.args) - len(arguments.defaults))), *arguments.defaults]
    return [
        a.arg if default is None else f"{a.arg}={ast.unparse(default)}"
        for a, default in zip(arguments.args, optional, strict=True)
    ]


def signature(member: object) -> list[str]:
    if not callable(member):
        return ["self"]  # a property
    return [
        p.name if p.default is p.empty else f"{p.name}={p.default!r}"
        for p in inspect.signature(member).parameters.values()
    ]


def binary() -> dict[str, dict[str, list[str]] | list[str]]:
    names: dict[str, dict[str, list[str]] | list[str]] = {}
    for name, member in vars(_penstock).items():
        if inspect.isclass(member):
            names[name] = {k: signature(getattr(member, k)) for k in vars(member) if not k.startswith("_")}
        elif callable(member):
            names[name] = signature(member)
        elif name == "__version__":
            names[name] = []
    return names


def test_the_stub_is_the_binary() -> None:
    assert stub() == binary()


def test_the_generated_classes_are_fresh() -> None:
    committed = (PACKAGE / "model" / "kinds.py").read_text(encoding="utf-8")
    assert committed == generate.source(), "stale: make generate"


@pytest.mark.parametrize("name", ps.kinds.__all__)
def test_a_generated_class_says_all_its_keys_once(name: str) -> None:
    made = getattr(ps, name)
    keys = [field.name for field in dataclasses.fields(made)]
    said = re.findall(r"^    (\w+): ", made.__doc__.rpartition("\n\n")[2], re.MULTILINE)
    assert sorted(said) == sorted([*keys, *(["Source"] if "\n    Source: " in made.__doc__ else [])])
    assert keys == list(inspect.signature(made).parameters), "completion sees them, too"


def test_a_class_says_what_differs_from_its_base() -> None:
    of_most, of_mecn = (re.findall(r"ecn: .*; default: (\w+)", made.__doc__ or "") for made in (ps.Red, ps.Mecn))
    assert (of_most, of_mecn) == (["false"], ["true"])
    assert [field.name for field in dataclasses.fields(ps.Mecn)].count("ecn") == 1
    assert ps.Mecn(min_th=5).to_dict() == {"kind": "mecn", "min_th": 5}


def test_the_generated_reference_is_fresh() -> None:
    folder = PACKAGE.parents[1] / "docs/reference"
    committed = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert committed == reference.pages(), "stale: make generate"


def test_the_generated_page_of_profiles_is_fresh() -> None:
    committed = (PACKAGE.parents[1] / "docs/profiles.md").read_text(encoding="utf-8")
    assert committed == profiles.source(), "stale: make generate"


def test_every_public_name_is_there_and_said() -> None:
    assert len(set(ps.__all__)) == len(ps.__all__)
    for name in ps.__all__:
        member = getattr(ps, name)
        assert name == "__version__" or inspect.getdoc(member), f"{name} has no docstring"


def test_type_checkers_see_the_names_that_there_are() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    ours = [n for n in block.body if isinstance(n, ast.ImportFrom) and (n.module or "").startswith("penstock")]
    seen = {alias.name for node in ours for alias in node.names}
    whole = {*ps.aqm.__all__, *ps.kinds.__all__}
    assert seen == {*ps.__all__} - whole | {"*", "aqm", "kinds"}


def test_the_version_is_the_installed_one() -> None:
    from importlib.metadata import version

    assert version("penstock") == ps.__version__ == _penstock.__version__


def modules() -> list[str]:
    """Every module of the package, by its full name."""
    paths = (path.relative_to(PACKAGE.parent).with_suffix("") for path in PACKAGE.rglob("*.py"))
    return sorted(".".join(path.parts).removesuffix(".__init__") for path in paths if path.name != "__main__")


@pytest.mark.parametrize("name", modules())
def test_docstrings_run(name: str) -> None:
    if name.startswith("penstock.rl"):
        pytest.importorskip("gymnasium", reason="Gymnasium is not installed (penstock[rl])")
    module: ModuleType = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_doctests_are_looked_for_in_the_right_place() -> None:
    assert doctest.testmod(importlib.import_module("penstock.show.numbers")).attempted > 2


def test_the_wheel_is_abi3() -> None:
    assert _penstock.__file__ is not None
    assert "abi3" in Path(_penstock.__file__).name, sysconfig.get_config_var("EXT_SUFFIX")
