"""What the pages show is typed here if it takes seconds, and its output compared; `make accept` runs the rest."""

from __future__ import annotations

import fnmatch
import os
import subprocess
import sys
from pathlib import Path

import pytest

import console
import snippets
from conftest import PATHS, ROOT
from snippets import Piece

PAGES = [page for page in console.documents(ROOT) if any(each.kind != "file" for each in snippets.pieces(ROOT, page))]


def lent(tmp_path: Path) -> Path:
    """A folder as a reader has it: the scenarios, and a link."""
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    (tmp_path / "link.toml").write_bytes((ROOT / "scenarios" / "links" / "red.toml").read_bytes())
    return tmp_path


def leave(piece: Piece) -> str | None:
    return "make accept runs it" if piece.slow else piece.lacks()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_shows_is_what_happens(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = lent(tmp_path)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    monkeypatch.setenv("PYTHONPATH", PATHS)
    environment = {**os.environ, "PATH": path, "COLUMNS": "110", "PYTHONUTF8": "1"}

    def run(command: str) -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=place,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        return done.returncode, done.stdout

    shown = list(snippets.pieces(ROOT, page))
    outcome = snippets.try_page(shown, place, run, sys.executable, leave)
    assert outcome.wrong == []
    if outcome.count == 0:
        pytest.skip("; ".join(outcome.left))


def test_pieces_are_read_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(
        """```toml title="a/b.toml"
x = 1
```

```python
print(6 * 7)
```

```text
42
```

- in a list:

  ```console
  $ cat a/b.toml
  x = …
  ```

```python
raise ValueError("no")
```
"""
    )
    shown = list(snippets.pieces(tmp_path, tmp_path / "page.md"))
    assert [(each.kind, each.name or each.shown, each.output) for each in shown] == [
        ("file", "a/b.toml", ()),
        ("python", "print(6 * 7)", ("42",)),
        ("command", "cat a/b.toml", ("x = …",)),
        ("python", 'raise ValueError("no")', ()),
    ]
    outcome = snippets.try_page(
        shown, tmp_path, lambda text: (0, (tmp_path / text.split()[1]).read_text()), sys.executable, lambda piece: None
    )
    assert outcome.count == 3
    assert len(outcome.wrong) == 1
    assert "ValueError: no" in outcome.wrong[0]


def test_a_shown_line_may_leave_something_out() -> None:
    assert console.missing(("a … d", "…", "e"), "a b c d\ne\n") == []
    assert console.missing(("a … d", "(x) …"), "a b c\n(y) z\n") == ["a … d", "(x) …"]


def test_every_reason_is_about_a_snippet_that_is_shown() -> None:
    pieces = [each for page in console.documents(ROOT) for each in snippets.pieces(ROOT, page)]
    for page, part in snippets.LISTED:
        assert any(each.where == page and part in each.text for each in pieces if each.kind == "python"), (page, part)
    for key in snippets.SLOW:
        assert any(fnmatch.fnmatchcase(each.text, key) for each in pieces if each.kind == "command"), key


def test_blocks_are_read_as_they_are_typed() -> None:
    block = "$ penstock run a.toml \\\n    --json   # a table\nshown\n  too\n$ penstock list\n"
    assert list(console.commands(block)) == [("penstock run a.toml --json", ("shown", "  too")), ("penstock list", ())]
    assert list(console.commands("make demo   # all\n# so\n")) == [("make demo", ())]


def test_output_that_is_no_longer_printed_is_found() -> None:
    assert console.missing(("a  b", "c"), "c\n a b \n") == []
    assert console.missing(("a 1", "c"), "c\na 2\n") == ["a 1"]


def test_every_reason_is_about_a_command_that_is_shown() -> None:
    commands = [each.text for each in snippets.commands(ROOT)]
    assert len(commands) > 60
    for key in console.LISTED:
        used = [c for c in commands if c == key or (key.endswith("*") and c.startswith(key[:-1]))]
        assert used, f"{key}: no document shows this"


def test_a_command_is_run_or_left_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "bpf").mkdir()
    (tmp_path / "bpf" / "README.md").write_text("")
    (tmp_path / "README.md").write_text(
        "```console\n$ make demo\n$ penstock list\nred\n$ penstock emulate a.toml\n```\n"
    )
    done = snippets.try_all(tmp_path, tmp_path, lambda command: (3, "blue\n"), sys.executable, "no iperf3")
    assert done.count == 1
    assert done.wrong == [
        "`penstock list` (README.md) ended with 3: blue\n",
        "`penstock list` (README.md) no longer prints: red",
    ]
    assert done.left == [
        "not run: `make demo` (README.md): accept's `demo` runs it",
        "not run: `penstock emulate a.toml` (README.md): no iperf3",
    ]
