"""How own programs end, and with them an emulation: their codes, signals from a terminal and to the process alone, and
what is measured of a run that ends when they do.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock.emulation import EmulationError, emulate
from penstock.errors import ScenarioError
from test_emulate import LINK, REFUSAL, child, command, needs_root, running
from test_emulate import emulate as run

pytestmark = [pytest.mark.alone, pytest.mark.skipif(REFUSAL is not None, reason=REFUSAL or "")]

#: A link alone.
BARE = LINK.format(
    duration="", start="", rate="20 Mbit/s", delay="5 ms", buffer="100 packets", aqm='kind = "droptail"'
).split("\n\n", 1)[1]
#: Longer than any test may take.
FOREVER = "sleep 600"


@pytest.fixture
def link(tmp_path: Path) -> Path:
    path = tmp_path / "link.toml"
    path.write_text(BARE, encoding="utf-8")
    return path


def found(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(done.stdout)
    return document


# ---- the measured window -------------------------------------------------------------------------------------------

#: What the file says of the window, further options, how long the program lasts, and which part of it is measured:
#: from, to (`None`: the program's end), and how the note begins.
WINDOWS: dict[str, tuple[str, list[str], float, tuple[float, float | None] | None, str]] = {
    "whole": ('from = "0.3 s", to = "0.6 s"', [], 1.5, (0.3, 0.6), ""),
    "open": ('from = "0.3 s"', [], 1.0, (0.3, None), ""),
    "open, limited": ('from = "0.3 s"', ["--duration", "0.8 s"], 30.0, (0.3, 0.8), ""),
    "beyond the duration": ('from = "0.3 s"', [], 2.5, (0.3, None), ""),
    "cut short": ('from = "0.3 s", to = "1.9 s"', [], 1.0, (0.3, None), "the program ended at"),
    "cut short, limited": ('from = "0.3 s"', ["--duration", "30 s"], 1.0, (0.3, None), "the program ended at"),
    "not begun": ('from = "1.8 s"', [], 0.2, None, ""),
    "absent": ("", [], 0.2, (0.0, None), ""),
}


@pytest.mark.parametrize("case", WINDOWS)
def test_the_measured_window_holds_for_own_programs(link: Path, case: str) -> None:
    measure, options, lasts, expected, note = WINDOWS[case]
    link.write_text(f'duration = "2 s"\nmeasure = {{ {measure} }}\n{BARE}', encoding="utf-8")
    done = run(link, *options, "--json", "--", "sleep", lasts)
    assert done.returncode == 0, done.stderr
    document = found(done)
    e = document["emulation"]
    measured = (e["measured_from_s"], e["measured_to_s"])
    if expected is None:
        assert measured == (None, None)
        assert not e["valid"]
        assert e["invalid_because"][0].startswith("nothing was measured: the run ended at 0.")
        assert "before measure.from (1.8 s)" in e["invalid_because"][0]
        # No number can be taken for a count.
        assert set(document["runs"][0]["metrics"].values()) == {None}
        return
    start, end = expected
    assert measured == (start, pytest.approx(e["duration_s"] if end is None else end))
    assert [each[: len(note)] for each in e["notes"]] == ([note] if note else [])


def test_the_table_says_what_was_measured(link: Path) -> None:
    link.write_text(f'duration = "2 s"\nmeasure = {{ from = "0.5 s", to = "1.9 s" }}\n{BARE}', encoding="utf-8")
    shown = run(link, "--", "sleep", 1).stdout
    assert "measured: 0.5 to 1." in shown
    assert "note: the program ended at 1." in shown
    assert "before the measured window did (0.5 to 1.9 s)" in shown
    shown = run(link, "--", "true").stdout
    assert "NOT VALID" in shown
    assert "measured: nothing\n" in shown
    # A link alone lasts as long as its program, not the hour that stands for "without end".
    link.write_text(BARE, encoding="utf-8")
    assert "3600 s" not in run(link, "--", "true").stdout


DATAGRAMS = """
import os, socket, time
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number, pause in ((40, 3), (7, 0.5)):
    for _ in range(number):
        to.sendto(bytes(100), (os.environ["PENSTOCK_SERVER"], 5000))
    time.sleep(pause)
"""


def test_what_passes_before_the_window_does_not_count(link: Path) -> None:
    link.write_text(f'duration = "60 s"\nmeasure = {{ from = "2 s" }}\n{BARE}', encoding="utf-8")
    done = run(link, "--json", "--", sys.executable, "-c", DATAGRAMS)
    metrics = found(done)["runs"][0]["metrics"]
    assert (metrics["arrivals"], metrics["departures"]) == (7, 7)


# ---- congestion control --------------------------------------------------------------------------------------------

SOCKET = "import socket; print(socket.socket().getsockopt(socket.IPPROTO_TCP, 13, 16).split(b'\\0')[0].decode())"


def test_the_congestion_control_of_own_programs_is_named_and_chosen(link: Path) -> None:
    ours = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    allowed = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text().split()
    for options, name in [([], ours), *((["--cc", name], name) for name in allowed)]:
        done = run(link, *options, "--", sys.executable, "-c", SOCKET)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[0] == name
        assert f"congestion control of the programs' TCP: {name} (" in done.stdout
        assert Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip() == ours


def test_a_congestion_control_that_cannot_be_had_is_refused(link: Path) -> None:
    there = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    done = run(link, "--cc", "none_such", "--", "true")
    assert done.returncode == 2
    assert done.stderr.startswith('penstock: cc = "none_such": this kernel has no such congestion control; it has ')
    assert all(name in done.stderr for name in there)
    link.write_text(f'duration = "5 s"\n{BARE}\n[[traffic]]\nkind = "ftp"\n', encoding="utf-8")
    done = run(link, "--cc", "reno")
    assert (done.returncode, "own programs" in done.stderr) == (2, True)


# ---- from Python ---------------------------------------------------------------------------------------------------


def test_a_program_from_python_is_given_as_on_the_command_line(link: Path) -> None:
    """A link alone suffices; a string is a line for the shell."""
    assert emulate(link, client=["sh", "-c", "exit 4"]).emulation["exit_code"] == 4
    assert emulate(link, client="sleep 0.1; exit 5").emulation["exit_code"] == 5
    assert emulate(str(link), client=[Path("/bin/true")]).emulation["exit_code"] == 0
    with pytest.raises(ScenarioError, match=r"^no-such-program: no such program$"):
        emulate(link, client=["no-such-program"])
    with pytest.raises(EmulationError, match=r"^starting /: "):
        emulate(link, client=["/"])
    wrong: Any
    for wrong in ([b"true"], ["sleep", 1]):
        with pytest.raises(TypeError):
            emulate(link, client=wrong)
    with pytest.raises(ScenarioError, match="duration"):
        emulate(link)


def test_a_server_that_dies_is_said(link: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        EmulationError, match=r"\(echo it broke >&2; exit 3\) ended with exit code 3 before.*: it broke"
    ):
        emulate(link, server="echo it broke >&2; exit 3", client=["true"])
    assert capfd.readouterr().err == "it broke\n"
    with pytest.raises(EmulationError, match=r"ended with exit code 143 before the client was started$"):
        emulate(link, server="kill -TERM $$", client=["true"])
    listen = f"{sys.executable} -c 'import socket, time; s = socket.create_server((\"\", 5000)); s.accept(); exit(6)'"
    meet = f"{sys.executable} -c 'import os, socket; socket.create_connection((os.environ[\"PENSTOCK_SERVER\"], 5000))'"
    notes = emulate(link, server=listen, client=f"{meet}; sleep 1").emulation["notes"]
    assert len(notes) == 1
    assert "ended with exit code 6 at " in notes[0]
    # Who ends well has done its work, and who runs to the end is ended with everybody.
    assert emulate(link, server="true", client=["true"]).emulation["notes"] == []
    assert emulate(link, server=FOREVER, client=["true"]).emulation["notes"] == []


# ---- codes ---------------------------------------------------------------------------------------------------------


def test_a_program_that_a_signal_ended_gives_128_and_its_number(link: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGHUP, signal.SIGSEGV, signal.SIGUSR1, signal.SIGQUIT):
        done = run(link, "--client", f"kill -{number} $$")
        assert (done.returncode, "measured:" in done.stdout) == (128 + number, True), done.stderr
    # One that died of Ctrl-C was interrupted, and so is the run.
    done = run(link, "--client", "kill -INT $$")
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "penstock: interrupted")
    # One that says 130 by itself, as a shell does whose last command was interrupted, has ended by itself.
    done = run(link, "--client", "exit 130")
    assert (done.returncode, "measured:" in done.stdout) == (130, True)


def test_the_run_ends_with_its_program_also_where_it_is_limited(link: Path) -> None:
    began = time.monotonic()
    assert found(run(link, "--duration", "600 s", "--json", "--", "true"))["emulation"]["exit_code"] == 0
    assert time.monotonic() - began < 100


def test_what_the_caller_ignores_its_program_ignores(link: Path) -> None:
    """As `nohup` wants it; and what Python ignores for itself is not the program's."""
    line = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *command(link, "--client", "kill -HUP $$; exit 5")]
    assert subprocess.run(line, capture_output=True, timeout=60).returncode == 5
    ask = "grep -E 'SigIgn|SigBlk' /proc/self/status; :"
    mine = [each for each in run(link, "--client", ask).stdout.splitlines() if each.startswith("Sig")]
    # The C library keeps signals 32 and 33 for its threads: how they are inherited nobody can change through it.
    assert [int(each.split()[1], 16) & ~(0b11 << 31) for each in mine] == [0, 0]
    line[2] = line[2].replace("HUP", "CHLD")
    assert subprocess.run(line, capture_output=True, timeout=60).returncode == 129


# ---- signals to this process alone ---------------------------------------------------------------------------------

#: Programs that mind signals, do not, or leave children behind in sessions of their own.
STUBBORN = "trap '' INT TERM HUP QUIT; (setsid sleep 600 &); while :; do sleep 600; done"
PROGRAMS = {"obeys": FOREVER, "does not": STUBBORN, "stops": "kill -STOP $$; sleep 600"}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@pytest.mark.parametrize("rootless", [pytest.param(False, marks=needs_root), True], ids=["root", "rootless"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("number", SIGNALS, ids=[number.name for number in SIGNALS])
def test_a_signal_to_the_command_alone_ends_everything(
    tmp_path: Path, link: Path, number: signal.Signals, program: str, rootless: bool
) -> None:
    serve = f"{sys.executable} -m http.server 8000"
    options = ["--pcap", tmp_path / "x.pcap", "--out", tmp_path / "out", *(["--rootless"] if rootless else [])]
    line = command(link, *options, "--server", serve, "--client", PROGRAMS[program])
    with running(tmp_path, line) as (process, _):
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, "metric" in out) == (128 + number, False)
    says = "interrupted" if number is signal.SIGINT else f"ended by {number.name}"
    assert err.rstrip().endswith(f"penstock: {says}")
    assert list(tmp_path.glob("*.pcap*")) + list(tmp_path.glob("out*")) == []


def test_a_program_gets_the_time_to_end(tmp_path: Path, link: Path) -> None:
    """SIGTERM comes first: what it writes then is there."""
    file = tmp_path / "said"
    line = command(link, "--client", f"trap 'echo farewell > {file}; exit 0' TERM; sleep 600 & wait")
    with running(tmp_path, line) as (process, _):
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert (process.returncode, file.read_text()) == (143, "farewell\n")


LOOP = """
import signal, sys, threading, time
from penstock.emulation import emulate

def three():
    for i in range(3):
        print("run", i, flush=True)
        emulate(sys.argv[1], client=sys.argv[2].split())

try:
    three()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(7)
print("end", flush=True)
"""


@pytest.mark.parametrize(("number", "code", "said"), [
    (signal.SIGINT, 7, "run 0\ninterrupted\n"),
    (signal.SIGTERM, -signal.SIGTERM, "run 0\n"),
    (signal.SIGHUP, -signal.SIGHUP, "run 0\n"),
])  # fmt: skip
def test_a_signal_to_a_python_program_alone(
    tmp_path: Path, link: Path, number: signal.Signals, code: int, said: str
) -> None:
    """Ctrl-C in a notebook comes so: the loop ends. Of other signals the caller dies as it would have."""
    with running(tmp_path, [sys.executable, "-c", LOOP, str(link), FOREVER], 4) as (process, _):
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (code, said, "")


THREAD = """
import sys
from concurrent.futures import ThreadPoolExecutor
from penstock.emulation import emulate

with ThreadPoolExecutor(2) as pool:
    ends = [pool.submit(emulate, sys.argv[1], client=f"sleep 0.3; exit {i}") for i in (3, 4)]
    print([each.result().emulation["exit_code"] for each in ends])
"""


def test_emulations_in_threads(link: Path) -> None:
    done = subprocess.run([sys.executable, "-c", THREAD, str(link)], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("[3, 4]\n", 0), done.stderr


# ---- a terminal ----------------------------------------------------------------------------------------------------


class Terminal:
    """A terminal with a process that leads its session."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid, self.descriptor = pid, descriptor
        self.said = ""

    def expect(self, text: str, seconds: float = 60) -> None:
        """Reads until the text has been written."""
        until = time.monotonic() + seconds
        while text not in self.said:
            assert time.monotonic() < until, self.said
            if not self._read(0.2):
                break
        assert text in self.said, self.said

    def _read(self, seconds: float) -> bool:
        if select.select([self.descriptor], [], [], seconds)[0]:
            try:
                self.said += os.read(self.descriptor, 4096).decode(errors="replace").replace("\r", "")
            except OSError:
                return False
        return True

    def type(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    def end(self) -> int:
        """Reads to the end. Returns the exit code."""
        until = time.monotonic() + 60
        while self._read(0.2):
            assert time.monotonic() < until, self.said
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


Open = Callable[[Sequence[str]], Terminal]


@pytest.fixture
def terminal() -> Iterator[Open]:
    """Starts a program on a terminal of its own."""
    opened = []

    def start(line: Sequence[str]) -> Terminal:
        pid, descriptor = pty.fork()
        if pid == 0:
            os.environ["SHELL"] = "/bin/sh"
            os.execvp(line[0], list(line))
        opened.append(Terminal(pid, descriptor))
        return opened[-1]

    yield start
    for each in opened:
        with contextlib.suppress(OSError):
            os.kill(each.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.waitpid(each.pid, 0)
        os.close(each.descriptor)


def test_ctrl_c_ends_the_program_and_the_run(link: Path, terminal: Open) -> None:
    there = terminal(command(link, "--client", f"echo on; exec {FOREVER}"))
    there.expect("on\n")
    there.type("\x03")
    assert there.end() == 130
    assert there.said.rstrip().endswith("penstock: interrupted")


def test_ctrl_c_ends_a_loop_of_emulations(link: Path, terminal: Open) -> None:
    there = terminal([sys.executable, "-c", LOOP, str(link), FOREVER])
    there.expect("run 0")
    time.sleep(2)
    there.type("\x03")
    assert there.end() == 7
    assert there.said.split() == ["run", "0", "^Cinterrupted"]


def test_a_program_may_use_ctrl_c_itself(link: Path, terminal: Open) -> None:
    there = terminal(command(link, "--client", "trap 'echo caught; exit 9' INT; echo on; sleep 600 & wait"))
    there.expect("on\n")
    there.type("\x03")
    assert there.end() == 9
    assert "caught\n" in there.said
    assert "measured: 0 to " in there.said


def test_ctrl_c_in_a_shell_is_for_what_runs_in_it(link: Path, terminal: Open) -> None:
    there = terminal(command(link, "--shell"))
    there.expect("# " if os.geteuid() == 0 else "$ ")
    there.type("echo o''n; sleep 600\n")
    there.expect("\non\n")
    time.sleep(0.5)
    there.type("\x03")
    there.type("echo a''gain\n")
    there.expect("again\n")
    there.type("exit 3\n")
    assert there.end() == 3
    assert "measured: 0 to " in there.said


ENDINGS = {
    "exit": ("exit 4", "", 4),
    "ctrl-c": (f"exec {FOREVER}", "\x03", 130),
    "killed": ("kill -9 $$", "", 137),
    "kill -TERM": (FOREVER, "TERM", 143),
    "kill -INT": (FOREVER, "INT", 130),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_terminal_is_given_back(link: Path, terminal: Open, ending: str) -> None:
    """A script reads from it afterwards, in the mode that it had; whoever is not in its foreground would be stopped."""
    client, send, code = ENDINGS[ending]
    line = command(link, "--client", f"stty -icanon -echo; echo on; {client}")
    script = 'trap : INT; "$@"; echo code $?; stty -a; read -r x; echo read "$x"'
    there = terminal(["sh", "-c", script, "sh", *line])
    there.expect("on\n")
    time.sleep(0.5)
    if send == "\x03":
        there.type(send)
    elif send:
        os.kill(child(there.pid), getattr(signal, f"SIG{send}"))
    there.expect(f"code {code}\n")
    there.expect(" icanon")
    there.expect(" echo ")
    there.type("hello\n")
    there.expect("read hello")
    assert there.end() == 0


def test_a_pager_that_waits_for_the_terminal_stops_nobody(link: Path, terminal: Open) -> None:
    """The kernel stops its whole group; the run goes on, and the pager when the terminal is back."""
    line = " ".join(command(link, "--", "sleep", "1.5"))
    there = terminal(["bash", "-mc", f"{line} | (sleep 0.8; read -r x < /dev/tty; echo got $x; cat); echo after"])
    time.sleep(3)
    there.type("hello\n")
    there.expect("got hello")
    there.expect("measured: 0 to 1.")
    there.expect("after")
    assert there.end() == 0
    assert "Stopped" not in there.said


# ---- full disks ----------------------------------------------------------------------------------------------------

FLOOD = """
import os, socket, time
to, began = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), time.monotonic()
while time.monotonic() - began < 2:
    to.sendto(bytes(1400), (os.environ["PENSTOCK_SERVER"], 9))
    time.sleep(0.0004)
"""


@needs_root
def test_a_full_disk_is_named_and_the_numbers_are_shown(tmp_path: Path, link: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()

    def on_a_small_disk(before: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        mount = f'mount -t tmpfs -o size=600k penstock "$0" && {before} && exec "$@"'
        line = ["unshare", "-m", "sh", "-c", mount, small, *command(link, *arguments)]
        return subprocess.run(list(map(str, line)), capture_output=True, text=True, timeout=60)

    done = on_a_small_disk("true", "--pcap", small / "x.pcap", "--", sys.executable, "-c", FLOOD)
    assert (done.returncode, done.stderr) == (1, f"penstock: {small}/x.pcap: No space left on device\n")
    fill = f"(head -c 1M /dev/zero > {small}/fill 2>/dev/null || true)"
    done = on_a_small_disk(fill, "--out", small / "out", "--", "true")
    assert done.returncode == 1
    assert done.stderr.startswith(f"penstock: {small}/out/")
    assert done.stderr.endswith(": No space left on device\n")
    assert "measured: 0 to " in done.stdout
