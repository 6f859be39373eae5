"""The structure of the repository: imports run one way, the map is true, Markdown is wrapped."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT
from import_graph import measure
from penstock.runs import tasks

MAP = ROOT / "docs/architecture.md"


def test_files_import_each_other_in_no_circle() -> None:
    assert measure(ROOT).circles() == []


def test_a_build_is_known_by_all_files_that_make_what_is_kept() -> None:
    """A run that is kept counts for as long as these are unchanged: what a worker's code imports, and nothing else."""
    package = "python/penstock/"
    arrows = measure(ROOT).arrows
    reached = {f"{package}runs/tasks.py"}
    while more := {b for a, b in arrows if a in reached and b.startswith(package)} - reached:
        reached |= more
    assert {f"{package}{name}" for name in tasks.MAKERS} == reached


def test_a_method_is_not_taken_for_the_module_of_its_name(tmp_path: Path) -> None:
    files = {
        "crates/one/Cargo.toml": '[package]\nname = "one"\n',
        "crates/one/src/lib.rs": "mod above;\n",
        "crates/one/src/above/mod.rs": "mod leaf;\nmod user;\nimpl user::U { fn leaf(&self) {} }\n",
        "crates/one/src/above/leaf.rs": "pub struct L;\n",
        "crates/one/src/above/user.rs": "use crate::above::leaf::L;\npub struct U(L);\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    above, leaf, user = (f"crates/one/src/above/{name}.rs" for name in ("mod", "leaf", "user"))
    assert measure(tmp_path).arrows == {(above, user), (user, leaf)}


def test_every_file_of_rust_tests_is_in_its_crates_one_program() -> None:
    """The compiler passes over a file that no `mod` names, and its tests would never run."""
    programs = sorted(ROOT.glob("crates/*/tests/all.rs"))
    assert len(programs) == 4
    for program in programs:
        here = program.parent
        files = {path.stem for path in here.glob("*.rs")} | {path.parent.name for path in here.glob("*/mod.rs")}
        assert re.findall(r"^mod (\w+);$", program.read_text(encoding="utf-8"), re.M) == sorted(files - {"all"})


def test_crates_and_packages_import_each_other_in_no_circle() -> None:
    assert measure(ROOT).circles_of_rooms() == []


def test_circles_are_found_across_re_exports_of_types_and_outside_tests(tmp_path: Path) -> None:
    files = {
        "crates/one/Cargo.toml": '[package]\nname = "one"\n',
        "crates/one/src/lib.rs": "mod a;\nmod b;\nmod c;\npub use a::A;\npub use b::{B as Both};\n",
        "crates/one/src/a.rs": "use crate::Both;\npub struct A(Both);\n",
        "crates/one/src/b.rs": "pub struct B;\nfn f() -> Option<super::a::A> { None }\n",
        "crates/one/src/c.rs": "// crate::a::A\n#[cfg(test)]\nmod tests { use crate::A; }\n",
        "python/penstock/__init__.py": "",
        "python/penstock/x.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from penstock import y\n",
        "python/penstock/y.py": "def f():\n    from penstock import x\n",
        "python/penstock/app.py": "import importlib\nimportlib.import_module(f'penstock.do_{it}')\n",
        "python/penstock/do_it.py": "from penstock import app\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    graph = measure(tmp_path)
    a, b = "crates/one/src/a.rs", "crates/one/src/b.rs"
    app, do_it, x, y = (f"python/penstock/{name}.py" for name in ("app", "do_it", "x", "y"))
    assert graph.arrows == {(a, b), (b, a), (y, x), (do_it, app)}
    assert graph.loose == {(x, y), (app, do_it)}
    assert graph.circles() == [[a, b], [app, do_it], [x, y]]


def test_the_map_names_the_crates_and_who_depends_on_whom() -> None:
    asked = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"]
    said = subprocess.run(asked, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    listed = json.loads(said)["packages"]
    packages = {each["name"]: each for each in listed if Path(each["manifest_path"]).parent.parent.name == "crates"}
    folder = {name: Path(each["manifest_path"]).parent.name for name, each in packages.items()}
    real = {
        folder[name]: {
            folder[each["name"]]
            for each in package["dependencies"]
            if each["kind"] is None and each["name"] in packages
        }
        for name, package in packages.items()
    }
    row = re.compile(r"^\| `crates/(\w+)` \|.*\| ([^|]*) \|$", re.M)
    shown = {
        crate: set(re.findall(r"`(\w+)`", depends)) for crate, depends in row.findall(MAP.read_text(encoding="utf-8"))
    }
    assert shown == real


def test_every_path_on_the_map_exists() -> None:
    text = MAP.read_text(encoding="utf-8")
    named = [
        path
        for path in re.findall(r"`([\w.-]+/[\w./*-]*)`", text)
        if (ROOT / path.split("/")[0]).is_dir()  # the rest are folders of the crate in the row
    ]
    assert len(named) > 50
    assert [path for path in named if not any(ROOT.glob(path.rstrip("/")))] == []


def test_every_folder_is_on_the_map() -> None:
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    folders = {file.split("/")[0] + "/" for file in files if "/" in file and not file.startswith(".")}
    packages = {"/".join(file.split("/")[:3]) + "/" for file in files if re.match(r"python/penstock/\w+/", file)}
    text = MAP.read_text(encoding="utf-8")
    assert sorted(name for name in folders | packages if f"`{name}" not in text) == []
    drawn = text.partition("```text")[2].partition("```")[0]
    assert sorted(name for name in packages if f"{name.split('/')[2]}/" not in drawn) == []


def hand_written() -> list[Path]:
    """Return the Markdown files of the repository, except generated ones."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    said = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = [ROOT / name for name in said.splitlines() if (ROOT / name).exists()]
    made = re.compile(r"^(<!-- )?Made by `", re.M)
    return [path for path in paths if not made.search(path.read_text(encoding="utf-8")[:300])]


def long_lines(text: str) -> list[int]:
    """Return the numbers of the lines above 100 columns, except in tables, links and code."""
    found, fence = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fence = not fence
        shown = re.sub(r"\]\([^)]*\)", "]()", line)
        if len(shown) > 100 and not fence and not line.lstrip().startswith("|"):
            found.append(number)
    return found


@pytest.mark.parametrize("page", hand_written(), ids=lambda page: str(page.relative_to(ROOT)))
def test_hand_written_markdown_is_wrapped_at_100_columns(page: Path) -> None:
    assert long_lines(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", hand_written(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_hand_written_markdown_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    there = [link for link in links if "://" in link or (page.parent / link).exists()]
    assert there == links


def test_long_lines_are_seen_in_prose_alone() -> None:
    wide = "word " * 21
    text = f"{wide}\n| {wide} |\n```\n{wide}\n```\n[short]({'x' * 99})\n{wide}\n"
    assert long_lines(text) == [1, 7]
