"""Numbers at logarithmic axes, without the formulas that matplotlib makes of them: text of figures is no formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import LogFormatter, NullFormatter

if TYPE_CHECKING:
    from matplotlib.axis import Axis


class _Plain(LogFormatter):
    """`0.01`, `20`, `1e-12`: where matplotlib would write a power of ten."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:g}" if super().__call__(x, pos) else ""


def plain(*axes: Axis) -> None:
    """Writes the numbers of axes whose scale is `"log"` or `"symlog"` as they are."""
    for axis in axes:
        if axis.get_scale() == "log":
            axis.set_major_formatter(_Plain())
            axis.set_minor_formatter(_Plain(labelOnlyBase=False))
        else:
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter(NullFormatter())
