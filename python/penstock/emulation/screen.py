"""An emulation while it runs: how far it is, and on request its queue now."""

from __future__ import annotations

import sys
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING

from penstock._text import visible
from penstock.model.scenario import Scenario
from penstock.show.progress import Bar

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from penstock.emulation import Status

#: Eighths of a character's height.
BLOCKS = " ▁▂▃▄▅▆▇█"
#: Lines of the drawing.
HEIGHT = 8


def columns(values: list[int], top: int, height: int = HEIGHT) -> list[str]:
    """Returns values as bars side by side, one per character, in lines from the top down; `top` fills the height.

    >>> columns([0, 1, 2, 4], 4, height=2)
    ['   █', ' ▄██']
    """
    eighths = [min(height * 8, round(value / max(top, 1) * height * 8)) for value in values]
    lines = range(height - 1, -1, -1)
    return ["".join(BLOCKS[max(0, min(8, each - 8 * line))] for each in eighths) for line in lines]


class Screen:
    """A callback for `emulate` that draws on stderr, if that is a terminal.

    live: draw the queue over the last seconds; else a progress bar, unless the user's program has the terminal.
    """

    def __init__(self, scenario: Scenario, *, live: bool, own: bool) -> None:
        self._scenario = scenario
        self._live: Live | None = None
        self._wanted = live and sys.stderr.isatty()
        self._bar = None if own or self._wanted else Bar(scenario.name)
        self._queue: deque[int] = deque(maxlen=400)
        self._top = 1

    def __enter__(self) -> Screen:
        if self._wanted:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=10, transient=False)
            self._live.start()
        return self

    def __call__(self, now: Status) -> None:
        """Draws the state."""
        if now.t_s < 0:
            return
        if self._bar is not None:
            done = min(1.0, now.t_s / self._scenario.duration_s)
            self._bar.show(done, self._scenario.name, f"queue {now.queue_pkts} packets, {now.marked} marked")
        self._queue.append(now.queue_pkts)
        self._top = max(self._top, now.queue_pkts)
        if self._live is not None:
            self._live.update(self._drawing(now))

    def _drawing(self, now: Status) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        assert self._live is not None
        width = max(10, min(self._live.console.width - 12, 200))
        lines = columns(list(self._queue)[-width:], self._top)
        axis = [f"{self._top:>8} ┤", *["         │"] * (HEIGHT - 2), f"{0:>8} ┤"]
        head = f"{self._scenario.name} · {self._scenario.label}   queue in packets, the last {width / 10:.0f} s"
        foot = (
            f"{now.t_s:6.1f} s   queue {now.queue_pkts:4d}   received {now.received}   dropped {now.dropped}   "
            f"marked {now.marked}"
        )
        drawn = [Text(a + line, no_wrap=True) for a, line in zip(axis, lines, strict=True)]
        return Group(Text(visible(head)), *drawn, Text(foot))

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
        if self._bar is not None:
            self._bar.__exit__(kind, value, trace)
