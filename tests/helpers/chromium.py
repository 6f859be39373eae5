"""Chromium at the other end of a pipe: opens pages, runs scripts in them, presses keys, takes pictures.

It speaks the DevTools protocol over two pipes, so it needs no port and no package.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from chromium import CHROMIUM, OPTIONS

#: Puts the pipes where Chromium expects them, and becomes Chromium.
PLACE = """import os, sys
for number, end in enumerate(sys.argv[1:3], 3): os.dup2(int(end), number)
os.execv(sys.argv[3], sys.argv[3:])"""


class Browser:
    """One page. What it says against itself is in `complaints`, what it asked for in `asked`."""

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM is not None
        (ours, theirs_out), (theirs_in, ours_out) = os.pipe(), os.pipe()
        self._in, self._out = os.fdopen(ours, "rb"), os.fdopen(ours_out, "wb")
        # Chromium reads from 3 and writes to 4.
        far = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (theirs_in, theirs_out)]
        command = [CHROMIUM, *OPTIONS, "--hide-scrollbars", f"--user-data-dir={profile}"]
        command += ["--remote-debugging-pipe", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", PLACE, *map(str, far), *command],
            pass_fds=far,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (theirs_in, theirs_out, *far):
            os.close(end)
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        self.asked: list[str] = []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        self._in.close()
        self._out.close()

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol. Return its result."""
        self._number += 1
        said = {"id": self._number, "method": method, "params": params}
        if self._session:
            said["sessionId"] = self._session
        self._out.write(json.dumps(said).encode() + b"\0")
        self._out.flush()
        while True:
            heard = self._read()
            if heard.get("id") == self._number:
                assert "error" not in heard, heard
                result: dict[str, Any] = heard["result"]
                return result
            self._event(heard)

    def _read(self) -> dict[str, Any]:
        said = bytearray()
        while (byte := self._in.read(1)) != b"\0":
            assert byte, "Chromium has ended"
            said += byte
        heard: dict[str, Any] = json.loads(said)
        return heard

    def _event(self, heard: dict[str, Any]) -> None:
        params = heard.get("params", {})
        if heard.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"]))
        if heard.get("method") == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        if heard.get("method") == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])

    def open(self, address: str) -> None:
        """Open a page, and wait until it has loaded."""
        self.call("Page.navigate", url=address)
        place = json.dumps(address.split("#")[0])
        self.until(f"document.readyState === 'complete' && location.href.split('#')[0] === {place}")

    def run(self, script: str) -> Any:
        """Return what a script in the page comes to."""
        said = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    def until(self, script: str, seconds: float = 60) -> None:
        """Wait until a script in the page comes to something true."""
        end = time.monotonic() + seconds
        while not self.run(script):
            assert time.monotonic() < end, f"waited {seconds} s for {script}"
            time.sleep(0.05)

    def press(self, key: str, code: str, number: int) -> None:
        """Press a key and let it go."""
        said = {"key": key, "code": code, "windowsVirtualKeyCode": number}
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **said, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **said)

    def size(self, width: int, height: int, *, dark: bool = False, phone: bool = False) -> None:
        """Set the size of the window and the colours that the visitor prefers."""
        scale = 2 if phone else 1
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=phone
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """Take a picture of the whole page, or of what the window shows."""
        said = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(said["data"]))
