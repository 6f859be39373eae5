"""JSON documents that carry a checksum of themselves, so that no changed bit passes unseen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_SEAL = "sha256"


class SealError(ValueError):
    """The document is not what was written."""


def seal(document: Mapping[str, Any]) -> str:
    """Returns the document as JSON text, with its checksum as a last key."""
    return _text({**document, _SEAL: _checksum(document)})


def unseal(text: bytes) -> dict[str, Any]:
    """Returns the document. Raises `SealError` if any byte is not as `seal` wrote it."""
    try:
        document = json.loads(text)
        found = document.pop(_SEAL)
    except (ValueError, AttributeError, TypeError, KeyError):
        raise SealError("it is no JSON document with a checksum") from None
    # Spaces count, too: the text must be the one that `seal` makes of this document.
    if found != _checksum(document) or seal(document).encode() != text:
        raise SealError("its content does not fit its checksum")
    assert isinstance(document, dict)
    return document


def _checksum(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(_text(document).encode()).hexdigest()


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2) + "\n"
