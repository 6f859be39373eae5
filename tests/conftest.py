"""What the tests share: the repository, the command as a process, a small scenario."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import chromium

ROOT = Path(__file__).parent.parent
SCENARIOS = ROOT / "scenarios"

needs_chromium = pytest.mark.skipif(chromium.CHROMIUM is None, reason=chromium.MISSING)

# A shell that puts a command into the background has it ignore Ctrl-C, and all that it starts. The
# tests are about what Ctrl-C does.
signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGHUP, signal.SIGQUIT):  # nohup ignores the first, the background the second
    signal.signal(_number, signal.SIG_DFL)

# What stands there hides the package of that name from the processes that tests start.
_LEAN = str(ROOT / "tests" / "helpers" / "lean")
#: The user's `PYTHONPATH`: without it, which a process of several has from its parent.
PATHS = os.pathsep.join(each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each not in ("", _LEAN))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [_LEAN, PATHS]))

#: RED on the link of Hollot and others (2001), for the fluid model.
HOLLOT = """\
duration = "20 s"
[topology]
bottleneck = { rate = "15 Mbit/s", delay = "100 ms", buffer = "800 packets" }
[aqm]
kind = "red"
min_th = 150
max_th = 200
[[traffic]]
kind = "ftp"
flows = 60
tcp = "newreno"
ecn = "off"
"""

#: Small enough that a run takes milliseconds, rich enough that every stream of random numbers is used.
SMALL = """\
name = "small"
duration = "5 s"
measure = { from = "1 s" }

[topology]
kind = "dumbbell"
bottleneck = { rate = "1.5 Mbit/s", delay = "10 ms", buffer = "20 packets" }
access = { rate = "10 Mbit/s", delay = { uniform = ["2 ms", "4 ms"] } }

[aqm]
kind = "red"
min_th = 5
max_th = 15
ecn = true

[[traffic]]
kind = "ftp"
flows = 3
start = { uniform = ["0 s", "0.1 s"] }
ecn = "classic"

[[traffic]]
kind = "cbr"
rate = "150 kbit/s"
packet = "1000 B"
"""

#: Files that take longest. They come first, so that of several processes none has a minute's work left at the end.
FIRST = (
    *("test_config_kernel", "test_oracle", "test_lab", "test_site", "test_snippets", "test_sweep_dask", "test_pcap"),
    "test_reproduce",
)
#: Files that need what `cargo test` beside them builds: by then it has.
LAST = ("test_determinism", "test_examples")

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def built(*target: str) -> Path:
    """Returns a program of the workspace, built with all of it as `cargo test` did: nothing is compiled again."""
    line = ["cargo", "build", "--quiet", "--workspace", *target, "--message-format", "json"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(done.stderr)
    made = [json.loads(text).get("executable") for text in done.stdout.splitlines()]
    return Path(next(path for path in made if path))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what `make accept` alone runs; puts the files of `FIRST` first and those of `LAST` last."""
    if "accept" not in config.option.markexpr:
        items[:] = [item for item in items if item.get_closest_marker("accept") is None]

    def place(item: pytest.Item) -> int:
        if item.path.stem in LAST:
            return len(FIRST) + 1
        return next((i for i, stem in enumerate(FIRST) if item.path.stem.startswith(stem)), len(FIRST))

    items.sort(key=place)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario file in an otherwise empty folder."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny paper reproduced with three seeds, once for all tests: they copy what they change."""
    from helpers import tiny_paper
    from penstock.reproduce import command
    from penstock.reproduce.model import Settings

    out = tmp_path_factory.mktemp("reproduced")
    command.reproduce([tiny_paper.PAPER], Settings.of_seeds(3), out, jobs=2)
    return out


@pytest.fixture
def penstock(tmp_path: Path) -> Command:
    """Runs the command in the test's folder, as a user does: another process, stdout and stderr apart."""

    def command(*arguments: object) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "penstock", *map(str, arguments)]
        environment = {**os.environ, "PYTHONUTF8": "1"}
        done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        # On a slow machine a command says every 10 s how far it is; that is no message of its own.
        done.stderr = re.sub(r"(?m)^.*: \d+%(, .*)?, \d+ s\n", "", done.stderr)
        return done

    return command
