"""`penstock run` read without Click: where it is, it is as Click reads it."""

from __future__ import annotations

from typing import Any

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.cli.app import program
from penstock.cli.plain import run_asked
from penstock.cli.run_options import OPTIONS

RUN = program.get_command(click.Context(program), "run")

VALUES = ["", "-", "--", "-1", "0", "1", "2", "007", "1000000", "1000001", "1_000", " 3", "²", "1e3", "x y", "a=b", "é"]
WORDS = [*OPTIONS, "--see", "--help", "-h", "--no-json", "-j", "--JSON", "file.toml", *VALUES]
words = st.lists(
    st.one_of(
        st.sampled_from(WORDS),
        st.builds("{}={}".format, st.sampled_from([*OPTIONS, "--see"]), st.sampled_from(VALUES)),
        st.text(max_size=6),
    ),
    max_size=7,
)


def by_click(line: list[str]) -> dict[str, Any] | None:
    """What Click gives the command; `None` where it has something to say instead."""
    assert RUN is not None
    try:
        return RUN.make_context("run", [*line]).params
    except (click.ClickException, click.exceptions.Exit):
        return None


@given(words)
@example(["f.toml", "--set", "a=1", "--set=b=2", "--json", "--seeds", "3", "--seeds=4"])
@example(["--out", "o", "--pcap=p", "--timing", "t", "--jobs", "2", "f.toml", "--warm-up-check"])
def test_what_is_read_without_click_is_what_click_reads(line: list[str]) -> None:
    read = run_asked(["run", *line])
    if read is not None:
        assert read == by_click(line)


@pytest.mark.parametrize(
    "line",
    [
        ["f.toml"],
        ["f.toml", "--json"],
        ["--seeds", "5", "f.toml", "--set", "aqm.min_th=7", "--set", "duration=1 s"],
        ["f.toml", "--out=o", "--series", "0.1 s", "--jobs", "1", "--timing", "t.json"],
        ["f.toml", "--pcap", "x.pcap", "--pcap-link", "bottleneck:out", "--warm-up-check"],
    ],
)
def test_an_ordinary_call_needs_no_click(line: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    read = run_asked(["run", *line])
    assert read is not None
    assert read == by_click(line)
    monkeypatch.setenv("_PENSTOCK_COMPLETE", "bash_complete")
    assert run_asked(["run", *line]) is None


@pytest.mark.parametrize(
    "line",
    [
        [],
        ["run"],
        ["sweep", "f.toml"],
        ["--version"],
        ["run", "f.toml", "g.toml"],
        ["run", "f.toml", "--help"],
        ["run", "f.toml", "--seed", "3"],
        ["run", "f.toml", "--seeds"],
        ["run", "f.toml", "--seeds", "0"],
        ["run", "f.toml", "--seeds", "-1"],
        ["run", "f.toml", "--json=yes"],
        ["run", "--", "f.toml"],
    ],
)
def test_what_is_not_plain_is_left_to_click(line: list[str]) -> None:
    assert run_asked(line) is None
