"""Completion in bash, zsh and fish themselves: the files that the wheel installs offer commands, options and files."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import commands
from conftest import ROOT

SHARE = ROOT / commands.SHARE


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"no {shell}: apt-get install {shell}")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A home with a scenario in it, and the command `penstock` in its `bin`."""
    command = tmp_path / "bin" / "penstock"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from penstock.cli import main; main()" "$@"\n')
    command.chmod(0o755)
    (tmp_path / "scenario.toml").touch()
    return tmp_path


def surroundings(place: Path) -> dict[str, str]:
    """The environment of a shell that reads nobody's settings and finds `penstock`."""
    ours = {"HOME": f"{place}", "ZDOTDIR": f"{place}", "XDG_CONFIG_HOME": f"{place}", "TERM": "dumb"}
    return {**os.environ, **ours, "PATH": f"{place / 'bin'}:{os.environ['PATH']}"}


def printed(place: Path, *line: str | Path) -> list[str]:
    done = subprocess.run(
        line, cwd=place, env=surroundings(place), capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@needs("bash")
def test_bash_offers_commands_and_options(place: Path) -> None:
    def offered(*words: str) -> list[str]:
        typed = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _penstock_completion penstock'
        said = '; printf "%s\\n" "${COMPREPLY[@]}"'
        return printed(
            place, "bash", "-c", typed + said, "bash", SHARE / "bash-completion/completions/penstock", *words
        )

    assert sorted(offered("penstock", "s")) == ["schema", "show", "stability", "sweep"]
    assert sorted(offered("penstock", "run", "--se")) == ["--seeds", "--series", "--set"]


@needs("fish")
def test_fish_offers_commands_options_and_files(place: Path) -> None:
    def offered(text: str) -> list[str]:
        file = SHARE / "fish/vendor_completions.d/penstock.fish"
        return [line.split("\t")[0] for line in printed(place, "fish", "-c", f"source {file}; complete -C '{text}'")]

    assert offered("penstock s") == ["schema", "show", "stability", "sweep"]
    assert offered("penstock run --se") == ["--seeds", "--series", "--set"]
    assert offered("penstock run sc") == ["scenario.toml"]


@needs("zsh")
def test_zsh_offers_commands_options_and_files(place: Path) -> None:
    (place / ".zshrc").write_text(
        f"PROMPT='ready> '\nfpath=({SHARE / 'zsh/site-functions'} $fpath)\nautoload -Uz compinit\ncompinit -u -D\n"
    )

    def types(text: str, *wanted: str) -> None:
        """Types into a new shell, and waits until the terminal shows everything that is wanted."""
        ours, theirs = pty.openpty()
        line, shown, end = ["zsh", "-d", "-i"], "", time.monotonic() + 30
        shell = subprocess.Popen(
            line, cwd=place, env=surroundings(place), stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        try:
            while not all(each in shown for each in ("ready> ", *wanted)):
                assert time.monotonic() < end, f"zsh shows {shown!r}"
                if select.select([ours], [], [], 0.2)[0]:
                    shown += os.read(ours, 65536).decode(errors="replace")
                if text and "ready> " in shown:
                    os.write(ours, text.encode())
                    text = ""
        finally:
            shell.kill()
            shell.wait()
            os.close(ours)

    types("penstock s\t", "schema ", "show ", "stability ", "sweep ", "-- Print the JSON Schema")
    types("penstock run --se\t", "--seeds ", "--series ", "--set ", "-- Change a key")
    types("penstock repr\t", "penstock reproduce ")
    types("penstock run sc\t", "penstock run scenario.toml ")


def test_the_files_are_there_and_ask_the_command() -> None:
    for path in commands.COMPLETIONS:
        assert "_PENSTOCK_COMPLETE" in (SHARE / path).read_text(encoding="utf-8"), path
