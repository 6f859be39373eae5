"""Reads what `--figure` and `--style` ask for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock._names import nearest
from penstock.cli.inputs import check_writable
from penstock.errors import Error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What a figure may be written as.
ENDINGS = (".png", ".svg", ".pdf")


@dataclass
class Picture:
    """A figure that a command may be asked for. Making one refuses what could not be drawn or written afterwards.

    file: where to; `None`: none is asked for.
    style: a style sheet, by its path or its name.
    """

    file: Path | None
    style: str | None = None
    _sheet: dict[str, Any] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        check_writable(figure=self.file)
        if self.file is not None and self.file.suffix not in ENDINGS:
            raise Error(f"--figure {self.file}: must end in {', '.join(ENDINGS)}")
        if self.style is not None:
            if self.file is None:
                raise Error("--style: needs --figure FILE, which it is the style of")
            self._sheet = _read(self.style)

    def draw(self, make: Callable[[], Figure]) -> None:
        """Makes the figure and writes it, if one is asked for."""
        if self.file is None:
            return
        from penstock.show import style

        with style.context(self._sheet):
            style.save(make(), str(self.file))


def _read(given: str) -> dict[str, Any]:
    """Returns the values of a matplotlib style sheet. Whatever matplotlib would only warn of is an error."""
    import matplotlib as mpl
    import matplotlib.style

    library: Any = matplotlib.style.library
    if given in library:
        return dict(library[given])
    if not Path(given).is_file():
        near = nearest(given, matplotlib.style.available, cutoff=0.0)
        raise Error(f"--style {given}: no such file, and no style of matplotlib has that name. Nearest: {near}")
    warned = _Warned()
    logger = logging.getLogger("matplotlib")
    before = logger.propagate
    logger.addHandler(warned)
    logger.propagate = False
    try:
        values: Any = mpl.rc_params_from_file(given, use_default_template=False)
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"--style {given}: {error}") from None
    finally:
        logger.removeHandler(warned)
        logger.propagate = before
    if warned.said:
        raise Error(f"--style {given}: {warned.said[0]}")
    return dict(values)


class _Warned(logging.Handler):
    """Keeps what is warned of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps the message; the advice to fetch another file is left out."""
        self.said.append(" ".join(record.getMessage().split("You probably")[0].split()))
