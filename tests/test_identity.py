"""A stored result belongs to the code that made it: what `penstock.runs.identity` tells apart, and what not."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.cli import main
from penstock.evaluation import candidates
from penstock.model import own_file
from penstock.runs.identity import UnidentifiedError, identity

#: A discipline that leads to code and values of every kind.
FILES = {
    "mine_of_tests.py": """
        import enum
        import functools
        import math
        from collections import namedtuple
        from dataclasses import dataclass, field

        import numpy as np
        import penstock as ps

        import helper_of_tests
        import pack_of_tests.inner
        from helper_of_tests import limit
        from base_of_tests import Base

        THRESHOLD = 10
        TABLE = {"a": [1, 2.5], "b": {"x", "y", "z", "w"}}
        ARRAY = np.array([1.0, 2.0, 3.0])
        UNUSED = 1
        Pair = namedtuple("Pair", "one two")

        class Level(enum.Enum):
            LOW = 1
            HIGH = 2

        @dataclass
        class Gains:
            alpha: float = 0.25
            list: list = field(default_factory=lambda: [1, 2])

        def above(bound):
            return lambda queue: queue.pkts > bound
        longer = above(7)

        def twice(function):
            @functools.wraps(function)
            def called(*given):
                return function(*given) * 2
            return called

        @twice
        def decorated(x):
            return x + 11

        @functools.lru_cache
        def cached(x):
            return x + 12

        def recursive(n):
            return n if n < 13 else recursive(n - 1)

        def default(queue, at=14, *, least=15):
            return at + least

        class Mine(Base):
            size = 16
            sizes = frozenset({"p", "q", "r"})
            __slots__ = ("kept",)

            def __init__(self, made=17):
                self.made = made + 1
                self.kept = 18
                self.rule = lambda x: x + 19
                self.part = functools.partial(math.pow, 20)
                self.gains = Gains()
                self.pair = Pair(21, 22)

            def arrive(self, now, packet, queue):
                import late_of_tests
                inner = [x + 23 for x in range(3)]
                if packet.flow in {"one", "two", "three", "four"}:
                    return ps.DROP
                if queue.pkts > THRESHOLD + TABLE["a"][0] + ARRAY[0] + self.size and Level.HIGH:
                    return ps.MARK
                if longer(queue) or decorated(1) or cached(1) or recursive(3) or default(queue):
                    return ps.PASS
                if limit(queue) or pack_of_tests.inner.bound(1) or late_of_tests.late() or self.of_property:
                    return ps.DROP
                return ps.PASS if helper_of_tests.factor * self.of_static(1) * self.of_class() else ps.DROP

            @property
            def of_property(self):
                return 24

            @staticmethod
            def of_static(x):
                return x + 25

            @classmethod
            def of_class(cls):
                return 26

            def depart(self, now, packet, queue):
                return super().depart(now, packet, queue)
    """,
    "helper_of_tests.py": """
        from deep_of_tests import deep
        factor = 27
        other = 0
        def limit(queue):
            return queue.pkts > 28 + deep()
    """,
    "deep_of_tests.py": "def deep():\n    return 29\n",
    "late_of_tests.py": "def late():\n    return 30\n",
    "base_of_tests.py": """
        import penstock as ps
        class Base(ps.Aqm):
            def depart(self, now, packet, queue):
                return ps.PASS if now > 31 else ps.DROP
    """,
    "pack_of_tests/__init__.py": "",
    "pack_of_tests/inner.py": "from . import sub\ndef bound(x):\n    return x + 32 + sub.VALUE\n",
    "pack_of_tests/sub.py": "VALUE = 33\n",
}
#: File, text, what takes its place: each changes what Mine does.
CHANGES = [
    *(("mine_of_tests.py", f"{old}{end}", f"9{old}{end}") for old, end in ((10, "\n"), (16, "\n"), (17, "):"))),
    ("mine_of_tests.py", '"a": [1,', '"a": [7,'),
    ("mine_of_tests.py", '"z", "w"', '"z", "v"'),
    ("mine_of_tests.py", "[1.0, 2.0, 3.0]", "[1.0, 2.0, 4.0]"),
    ("mine_of_tests.py", "HIGH = 2", "HIGH = 0"),
    ("mine_of_tests.py", "0.25", "0.5"),
    ("mine_of_tests.py", "lambda: [1, 2]", "lambda: [1, 3]"),
    ("mine_of_tests.py", "above(7)", "above(8)"),
    ("mine_of_tests.py", "> bound", ">= bound"),
    ("mine_of_tests.py", "* 2\n", "* 3\n"),
    ("mine_of_tests.py", "x + 11", "x + 1"),
    ("mine_of_tests.py", "x + 12", "x + 1"),
    ("mine_of_tests.py", "n < 13", "n < 1"),
    ("mine_of_tests.py", "at=14", "at=1"),
    ("mine_of_tests.py", "least=15", "least=1"),
    ("mine_of_tests.py", '"q", "r"', '"q", "s"'),
    ("mine_of_tests.py", "self.kept = 18", "self.kept = 1"),
    ("mine_of_tests.py", "x + 19", "x + 1"),
    ("mine_of_tests.py", "math.pow, 20", "math.pow, 2"),
    ("mine_of_tests.py", "math.pow, 20", "math.fmod, 20"),
    ("mine_of_tests.py", "Pair(21", "Pair(2"),
    ("mine_of_tests.py", "x + 23", "x + 2"),
    ("mine_of_tests.py", '"three", "four"', '"three", "five"'),
    ("mine_of_tests.py", "return ps.MARK", "return ps.DROP"),
    ("mine_of_tests.py", "return 24", "return 2"),
    ("mine_of_tests.py", "x + 25", "x + 2"),
    ("mine_of_tests.py", "return 26", "return 2"),
    ("helper_of_tests.py", "27", "2"),
    ("helper_of_tests.py", "28", "2"),
    ("deep_of_tests.py", "29", "2"),
    ("late_of_tests.py", "30", "2"),
    ("base_of_tests.py", "31", "2"),
    ("pack_of_tests/inner.py", "32", "2"),
    ("pack_of_tests/sub.py", "33", "2"),
]
#: These change nothing in what it does.
NEUTRAL = [
    ("mine_of_tests.py", "THRESHOLD = 10", "# A comment.\n\n\nTHRESHOLD = 10"),
    ("mine_of_tests.py", "UNUSED = 1", "UNUSED = 2"),
    ("mine_of_tests.py", "def above(bound)", "def above(bound: float)"),
    ("helper_of_tests.py", "other = 0", "other = 1"),
]


def put(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files in a folder, and no trace of them in this process afterwards."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # two edits within a second look the same to Python's cache
    monkeypatch.setattr(sys, "path", [*sys.path])
    put(tmp_path, FILES)
    before = {*sys.modules}
    yield tmp_path
    own_file._LOADED.clear()
    for name in {*sys.modules} - before:
        if "_of_tests" in name:
            del sys.modules[name]


def told(folder: Path, name: str = "mine_of_tests.py:Mine") -> str:
    _, mine = candidates.candidates([str(folder / name)])
    assert mine.unknown == ""
    return mine.source


@pytest.mark.parametrize(("file", "old", "new"), CHANGES)
def test_whatever_changes_what_it_does_is_another_discipline(project: Path, file: str, old: str, new: str) -> None:
    first = told(project)
    text = (project / file).read_text(encoding="utf-8")
    assert text.count(old) == 1
    (project / file).write_text(text.replace(old, new), encoding="utf-8")
    second = told(project)
    assert second != first
    (project / file).write_text(text, encoding="utf-8")
    assert told(project) == first


@pytest.mark.parametrize(("file", "old", "new"), NEUTRAL)
def test_what_changes_nothing_is_the_same_discipline(project: Path, file: str, old: str, new: str) -> None:
    first = told(project)
    text = (project / file).read_text(encoding="utf-8")
    assert text.count(old) == 1
    (project / file).write_text(text.replace(old, new), encoding="utf-8")
    assert told(project) == first


def test_it_is_the_same_in_every_process_whatever_the_seed_of_its_hashes(project: Path) -> None:
    asked = "import sys; from penstock.evaluation import candidates as c; print(c.candidates([sys.argv[1]])[1].source)"
    found = {told(project)}
    for seed in ("0", "1", "12345"):
        line = [sys.executable, "-c", asked, str(project / "mine_of_tests.py:Mine")]
        done = subprocess.run(line, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found.add(done.stdout.strip())
    assert len(found) == 1


class Plain(ps.Aqm):
    """Its objects are changed below."""

    level = 3

    def __init__(self, **held: object) -> None:
        vars(self).update(held)

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        return ps.PASS


def test_what_is_changed_after_it_was_loaded_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    first = identity(Plain())
    assert identity(Plain()) == first
    monkeypatch.setattr(Plain, "level", 4)
    second = identity(Plain())
    monkeypatch.setattr(Plain, "arrive", lambda self, now, packet, queue: ps.DROP)
    assert len({first, second, identity(Plain())}) == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 2),
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        ("1", b"1"),
        ([1, 2], (1, 2)),
        ([1, [2]], [[1], 2]),
        ({"a": 1}, {"a": 2}),
        ({1, 2}, {1, 3}),
        ({1, 2}, frozenset({1, 2})),
        (10**50, 10**50 + 1),
        (partial(min, 1), partial(max, 1)),
    ],
)
def test_values_are_told_apart(one: object, other: object) -> None:
    assert identity(Plain(a=one)) == identity(Plain(a=one))
    assert identity(Plain(a=one)) != identity(Plain(a=other))
    assert identity(Plain(a=one)) != identity(Plain(b=one))


def test_one_list_twice_is_not_two_lists() -> None:
    """A method that appends to one of them tells them apart."""
    shared: list[int] = []
    assert identity(Plain(a=shared, b=shared)) != identity(Plain(a=[], b=[]))


def test_an_object_may_hold_itself() -> None:
    first, second = Plain(), Plain()
    for each in (first, second):
        vars(each)["me"] = [each]
    assert identity(first) == identity(second)


def nested() -> list[Any]:
    inner: list[Any] = []
    for _ in range(100_000):
        inner = [inner]
    return inner


#: What has no value to know it by.
OPAQUE = {
    "an open file": (lambda: Path(__file__).open(encoding="utf-8"), "Plain.held is a TextIOWrapper"),  # noqa: SIM115
    "a lock": (threading.Lock, "Plain.held is a lock"),
    "a generator": (lambda: (x for x in [1]), "Plain.held is a generator"),
    "in a list": (lambda: {"at": [threading.Lock()]}, "Plain.held.at.0 is a lock"),
    "a path": (lambda: Path("x"), "Plain.held: PosixPath reaches out"),
    "too deep": (nested, "Plain holds what is nested too deeply"),
}


@pytest.mark.parametrize(("make", "message"), OPAQUE.values(), ids=OPAQUE)
def test_what_has_no_value_is_named(make: Any, message: str) -> None:
    held = make()
    with pytest.raises(UnidentifiedError) as raised:
        identity(Plain(held=held))
    if hasattr(held, "close"):
        held.close()
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("len(open('bounds.txt').read())", "open"),
        ("eval('1')", "eval"),
        ("globals()['x']", "globals"),
        ("os.environ.get('X')", "os.environ"),
        ("os.getenv('X')", "os.getenv"),
        ("pathlib.Path('bounds.txt').read_text()", "pathlib.Path"),
        ("np.loadtxt('bounds.txt')", "np.loadtxt"),
        ("subprocess.run(['true'])", "subprocess.run"),
        ("__import__('x')", "__import__"),
    ],
)
def test_what_a_method_reads_from_outside_is_named(project: Path, body: str, what: str) -> None:
    head = "import os, pathlib, subprocess\nimport numpy as np\nimport penstock as ps\nclass Mine(ps.Aqm):\n"
    text = head + f"    def arrive(self, now, packet, queue):\n        return ps.DROP if {body} else ps.PASS\n"
    (project / "reads_of_tests.py").write_text(text, encoding="utf-8")
    _, mine = candidates.candidates([f"{project / 'reads_of_tests.py'}:Mine"])
    assert mine.unknown.startswith(f"Mine.arrive.{what}")
    assert mine.unknown.endswith("reaches out of the program")


def test_a_constructor_may_read_and_what_it_read_counts(project: Path) -> None:
    text = "from pathlib import Path\nimport penstock as ps\nclass Mine(ps.Aqm):\n    def __init__(self):\n"
    text += "        self.bound = int(Path({!r}).read_text())\n"
    text = (
        text.format(str(project / "bound.txt")) + "    def arrive(self, now, packet, queue):\n        return ps.PASS\n"
    )
    (project / "table_of_tests.py").write_text(text, encoding="utf-8")
    found = []
    for bound in ("5", "6", "5"):
        (project / "bound.txt").write_text(bound, encoding="utf-8")
        found.append(told(project, "table_of_tests.py:Mine"))
    assert found[0] == found[2] != found[1]


# ------------------------------------------------------------------------- the whole way


CELL = """\
import penstock as ps
class Cell(ps.Aqm):
    def arrive(self, now, packet, queue):
        return ps.DROP if queue.pkts > {bound} else ps.PASS

"""
JUDGE = """\
from penstock.sweeps import store
done = ps.evaluate([Cell], seeds=1, quick=True, only=["mild"], out={out!r}, jobs=1)
at = next(each for each in done.numbers.seeds if each.candidate == "Cell")
print("found", done.numbers.metric(at, "delay_mean_s")[0], store.read(done.page.parent).num_rows)
"""


def results(text: str) -> list[tuple[float, int]]:
    """Of each evaluation the delay, and how many runs the folder then has: one of DropTail, one of each Cell."""
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith("found")]
    return [(float(delay), int(runs)) for delay, runs in lines]


def judged(out: Path, *bounds: int) -> str:
    return "".join(CELL.format(bound=bound) + JUDGE.format(out=str(out)) for bound in bounds)


def piped(tmp_path: Path, text: str) -> str:
    done = subprocess.run([sys.executable, "-"], input=text, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_ipython(tmp_path: Path, text: str) -> str:
    pytest.importorskip("IPython")
    (tmp_path / "cells.ipy").write_text(text, encoding="utf-8")
    line = [sys.executable, "-m", "IPython", "--colors=nocolor", "cells.ipy"]
    env = {**os.environ, "IPYTHONDIR": str(tmp_path / "ipython")}
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def in_a_notebook(tmp_path: Path, text: str) -> str:
    """Each class and each call is a cell of a real kernel."""
    client = pytest.importorskip("jupyter_client", reason="needs a notebook's kernel")
    pytest.importorskip("ipykernel")
    manager = client.KernelManager(ip="127.0.0.1")
    manager.kernel_spec.argv[0] = sys.executable
    manager.start_kernel(cwd=str(tmp_path), env={**os.environ, "IPYTHONDIR": str(tmp_path / "ipython")})
    said: list[str] = []

    def heard(message: Any) -> None:
        if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
            said.append(message["content"]["text"])

    kernel = manager.client()
    kernel.start_channels()
    try:
        kernel.wait_for_ready(timeout=120)
        for cell in text.replace("from penstock.sweeps", "\n\nfrom penstock.sweeps").split("\n\n"):
            reply = kernel.execute_interactive(cell, timeout=300, output_hook=heard)
            assert reply["content"]["status"] == "ok", reply["content"]
    finally:
        kernel.stop_channels()
        manager.shutdown_kernel(now=True)
    return "".join(said)


@pytest.mark.slow
@pytest.mark.parametrize("way", [piped, in_ipython, in_a_notebook])
def test_a_class_that_is_written_anew_is_run_anew(way: Any, tmp_path: Path) -> None:
    out = tmp_path / "kept"
    (long, one), (short, two), (again, three) = results(way(tmp_path, judged(out, 1000, 5, 1000)))
    assert (one, two, three) == (2, 3, 3)  # the last one was there
    assert short < long / 5
    assert again == long
    # Another process, another kind of program: nothing is run.
    assert results(piped(tmp_path, judged(out, 5))) == [(short, 3)]


def test_a_helper_that_is_edited_between_two_commands_counts(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command, in processes of their own, with the helper beside the file and not in the current folder."""
    text = (
        "import penstock as ps\nimport bound_of_tests\nclass Mine(ps.Aqm):\n    def arrive(self, now, packet, queue):\n"
    )
    text += "        return ps.DROP if queue.pkts > bound_of_tests.most() else ps.PASS\n"
    (project / "asks_of_tests.py").write_text(text, encoding="utf-8")
    out = project / "kept"
    rows = []
    for bound, seed in ((1000, "1"), (5, "2"), (5, "3")):
        (project / "bound_of_tests.py").write_text(f"def most():\n    return {bound}\n", encoding="utf-8")
        line = [sys.executable, "-m", "penstock", "evaluate", f"{project / 'asks_of_tests.py'}:Mine", "--quick"]
        line += ["--seeds", "1", "--only", "mild", "--out", str(out), "--jobs", "1"]
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(line, capture_output=True, text=True, cwd="/", env=env)
        assert done.returncode == 0, done.stderr
        rows.append((done.stdout.splitlines()[3:-1], len(keys(out))))
    assert rows[0][0] != rows[1][0] == rows[2][0]
    assert [runs for _, runs in rows] == [2, 3, 3]


def keys(out: Path) -> list[str]:
    from penstock.sweeps import store

    found: list[str] = store.read(out)["key"].to_pylist()
    return found


def test_what_cannot_be_told_is_not_kept_and_the_output_says_so(
    tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "import threading\nimport penstock as ps\nclass Mine(ps.Aqm):\n    def __init__(self):\n"
    text += (
        "        self.lock = None\n    def arrive(self, now, packet, queue):\n        return ps.PASS\n    guard = {}\n"
    )
    (project / "lock_of_tests.py").write_text(text.format("threading.Lock()"), encoding="utf-8")
    out = tmp_path / "kept"
    line = ["evaluate", f"{project / 'lock_of_tests.py'}:Mine", "--quick", "--seeds", "1", "--only", "mild"]
    line += ["--out", str(out)]
    for _ in range(2):
        assert main(line) == 0
        said = capsys.readouterr()
        assert said.err == "runs of Mine are not kept: Mine.guard is a lock, which has no value to know it by\n"
        assert "Mine" in said.out
        assert len(keys(out)) == 1  # DropTail's


def test_two_helpers_of_one_name_are_refused(project: Path, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        put(
            tmp_path / folder,
            {f"own_{folder}_of_tests.py": FILES["base_of_tests.py"] + "\n        import twin_of_tests\n"},
        )
        (tmp_path / folder / "twin_of_tests.py").write_text(f"at = {folder!r}\n", encoding="utf-8")
    own_file._imported(tmp_path / "a" / "own_a_of_tests.py")
    with pytest.raises(ps.ScenarioError, match="there are two modules twin_of_tests"):
        own_file._imported(tmp_path / "b" / "own_b_of_tests.py")
