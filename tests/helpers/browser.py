"""A page in headless Chromium: what it became, what it said, whom it asked."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from chromium import CHROMIUM, OPTIONS


class Visit:
    """What Chromium saw of a page: the document after loading, the console, the addresses it asked for."""

    def __init__(self, page: Path | str, tmp_path: Path, *options: str) -> None:
        log = tmp_path / "net.json"
        assert CHROMIUM is not None
        done = subprocess.run(
            [
                CHROMIUM,
                *OPTIONS,
                "--enable-logging=stderr",
                f"--user-data-dir={tmp_path / 'profile'}",
                f"--log-net-log={log}",
                *options,
                "--dump-dom",
                page if isinstance(page, str) else page.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=90,
        )
        self.dom = done.stdout
        self.console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
        self.asked = asked(log.read_text(encoding="utf-8"))


def asked(net_log: str) -> set[str]:
    """The address of every request that the page made; the browser's own (updates, the time) have no origin."""
    started = [event["params"] for event in json.loads(net_log)["events"] if "initiator" in event.get("params", {})]
    return {str(params["url"]) for params in started if params["initiator"] != "not an origin"}
