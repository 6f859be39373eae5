"""Whether this machine lets tests send real packets, asked once."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import SMALL
from penstock.emulation import EmulationError, emulate
from penstock.model.scenario import Scenario


@functools.cache
def refusal() -> str | None:
    """Why no emulation is possible here; `None` where one is."""
    if not sys.platform.startswith("linux"):
        return "emulation needs Linux"
    if shutil.which("iperf3") is None:
        return "iperf3 is not installed"
    scenario = Scenario.from_toml(SMALL).set_all({"duration": "0.3 s", "measure.from": "0.1 s"})
    try:
        emulate(scenario)
    except EmulationError as error:
        return f"no emulation on this machine: {error}"
    return None


def needs_real_packets() -> None:
    """Skips the test, with the reason, where there are none."""
    if why := refusal():
        pytest.skip(why)


@contextlib.contextmanager
def machines_controls(*, changed: bool) -> Iterator[None]:
    """Who changes the machine's list of congestion controls is alone with it; who wants it to stay as it is, is not."""
    with (Path(tempfile.gettempdir()) / "penstock-test-controls").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if changed else fcntl.LOCK_SH)
        yield
