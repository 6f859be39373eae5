"""What `--json` prints: one document, the same for the same input."""

from __future__ import annotations

import json
import math
from typing import Any

from penstock import _penstock


def document(parts: dict[str, Any]) -> str:
    """Returns parts as the text of one document, Penstock's version first.

    What is no number (infinite, or not defined) is null.
    """
    whole = {"version": _penstock.__version__, **parts}
    return json.dumps(_finite(whole), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
