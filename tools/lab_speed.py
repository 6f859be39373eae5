"""Measures how fast the lab goes: `python tools/lab_speed.py`, after `make lab`. It needs Chromium.

It opens the page in headless Chromium as a visitor finds it, two lanes at real time, and with 100
flows through a link of 10 Mbit/s, at 20 and at 50 times real time, while everything is drawn. It
prints for each: simulated seconds in a second, frames in a second, the time between frames, and the
work in a frame of the page and of the worker. The exit status is 1 where one of the first two falls
short of what docs/lab.md promises. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import base64
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from chromium import CHROMIUM  # noqa: E402
from helpers.chromium import Browser  # noqa: E402

PAGE = ROOT / "docs/lab/index.html"

SCENARIO = """
name = "lab-speed"
duration = "3600 s"
topology.kind = "dumbbell"
topology.bottleneck = { rate = "10 Mbit/s", delay = "20 ms", buffer = "100 packets" }
topology.access = { rate = "100 Mbit/s", delay = { uniform = ["1 ms", "10 ms"] } }
aqm = { kind = "red", min_th = 15, max_th = 45, max_p = 0.1, ecn = true }
traffic = [{ kind = "ftp", flows = 100, start = { uniform = ["0 s", "1 s"] }, tcp = "reno", ecn = "classic" }]
"""  # noqa: E501
#: Simulated seconds in a second, and frames in a second, that are promised.
PACE, FRAMES = 20, 60
#: Of what is promised, what still counts: a display's 60 frames are 59.9.
ENOUGH = 0.98

#: Watches the page: the moments of its frames, what they cost it, what they cost the worker.
WATCH = """(() => {
  globalThis.seen = { at: [], worker: [], from: performance.now(), now: sides[0].frame.now };
  page.drawn.length = 0;
  const look = (t) => { seen.at.push(t); requestAnimationFrame(look); };
  requestAnimationFrame(look);
  worker.addEventListener("message", ({ data: { took } }) => took && seen.worker.push(took));
})()"""
TOLD = """({ ...seen, drawn: page.drawn, seconds: (performance.now() - seen.from) / 1e3,
  simulated: sides[0].frame.now - seen.now })"""


def row(name: str, numbers: list[float]) -> str:
    """Returns the median and percentiles of milliseconds."""
    ordered = sorted(numbers)
    shares = {"median": 0.5, "95 %": 0.95, "99 %": 0.99, "most": 1.0}
    said = (
        f"{each} {ordered[round(share * (len(ordered) - 1))]:.1f}" for each, share in shares.items()
    )
    return f"  {name:34} {', '.join(said)} ms"


def measure(what: str, fragment: str, speed: int, settled_s: float, seconds: float) -> bool:
    """Prints one measurement's rows; returns whether what is promised of it holds.

    fragment: of the page's address. settled_s: simulated seconds before it begins.
    """
    with tempfile.TemporaryDirectory() as profile, Browser(Path(profile)) as browser:
        browser.size(1280, 900)
        browser.open(f"{PAGE.as_uri()}{fragment}")
        # The slow start is over, the discipline's profile is drawn, and the plots are full.
        browser.until(f"sides[0].frame && sides[0].frame.now > {settled_s}", 120)
        browser.call("Performance.enable", timeDomain="threadTicks")  # processor time
        begun = busy(browser)
        browser.run(WATCH)
        browser.run(f"new Promise((done) => setTimeout(done, {seconds * 1e3}))")
        told = browser.run(TOLD)
        spent = busy(browser) - begun
    pace: float = told["simulated"] / told["seconds"]
    frames = len(told["at"]) / told["seconds"]
    gaps = [b - a for a, b in zip(told["at"], told["at"][1:], strict=False)]
    print(f"{what}, at {speed}×: {pace:.2f} simulated seconds and {frames:.1f} frames in a second")
    print(row("between two frames", gaps))
    print(row("the page's script in a frame", told["drawn"]))
    print(row("the worker in a frame", told["worker"]))
    each = spent / len(told["at"]) * 1e3
    print(f"  {'the page in a frame, with painting':34} mean {each:.1f} ms of processor")
    return pace >= ENOUGH * min(PACE, speed) and frames >= ENOUGH * FRAMES


def busy(browser: Browser) -> float:
    """Returns seconds that the page's main thread has worked: scripts, layout, painting."""
    metrics = browser.call("Performance.getMetrics")["metrics"]
    return next(float(each["value"]) for each in metrics if each["name"] == "TaskDuration")


def main() -> int:
    """Measures; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="real time measured at a speed")
    asked = parser.parse_args()
    if CHROMIUM is None or not (PAGE.parent / "engine.js").exists():
        print("lab_speed.py: it needs Chromium, and `make lab`", file=sys.stderr)
        return 1
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}")
    packed = base64.urlsafe_b64encode(SCENARIO.encode()).decode().rstrip("=")
    kept = [measure("two lanes, as the page opens", "", 1, 10, asked.seconds)]
    for speed in (PACE, 50):
        fragment = f"#toml={packed}&speed={speed}"
        kept.append(measure("100 flows, 10 Mbit/s", fragment, speed, 30, asked.seconds))
    said = " and ".join("kept" if each else "not kept" for each in kept[:2])
    print(f"promised: {FRAMES} frames in a second with two lanes at 1×, and at {PACE}×: {said}")
    return 0 if all(kept[:2]) else 1


if __name__ == "__main__":
    sys.exit(main())
