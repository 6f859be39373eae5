"""Names of others in what a person reads."""

from __future__ import annotations

import re

#: What commands a terminal, or turns the direction of writing: C0 without tab and newline, DEL, C1, and Unicode's own.
_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def visible(text: str) -> str:
    r"""Returns a text whose control characters are written out, as JSON does it.

    >>> print(visible("a\x1b[2Jb"))
    a\u001b[2Jb
    """
    return _COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
