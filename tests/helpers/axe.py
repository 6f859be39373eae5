"""What axe-core finds against a page for those who read by ear, by keyboard, or with weak eyes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from helpers.chromium import Browser

#: The package does nothing here but bring the script.
_FOUND = importlib.util.find_spec("axe_core_python")
needs_axe = pytest.mark.skipif(_FOUND is None, reason="no axe-core: pip install 'penstock[test]'")

ASK = """axe.run({ resultTypes: ["violations"] }).then((found) =>
    found.violations.flatMap((wrong) => wrong.nodes.map((at) => `${wrong.id}: ${at.html.slice(0, 120)}`)))"""


def violations(browser: Browser, *addresses: str, ready: str = "true") -> list[tuple[str, str]]:
    """What is wrong with these pages, in a wide light window and on a dark phone: the address, what and where.

    ready: a script in the page that comes to something true once the page is as it is to be looked at.
    """
    assert _FOUND is not None
    assert _FOUND.origin is not None
    script = (Path(_FOUND.origin).parent / "axe.min.js").read_text(encoding="utf-8")
    wrong = []
    for width, dark in ((1400, False), (400, True)):
        browser.size(width, 900, dark=dark, phone=dark)
        for address in addresses:
            browser.open(address)
            browser.until(ready)
            browser.run(f"{script};0")
            wrong += [(f"{address}, {width} pixels", each) for each in browser.run(ASK)]
    return wrong
