"""Files that are whole or absent."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from pathlib import Path

#: Why a file takes no more.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Opens a binary file that takes the place of `path` when the block ends well, and leaves nothing when it does not.

    Written under another name in the same folder, flushed to the disk, then renamed: a reader, a full disk or a
    Ctrl-C never meets half a file.
    """
    import tempfile
    from pathlib import Path

    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.chmod(0o666 & ~_umask())
        part.replace(path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in _FULL and error.filename is None:
            error.filename = str(path)
        raise


def write(path: Path, content: bytes | str) -> None:
    """Writes `path` in one step (see `replacing`); text as UTF-8."""
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@cache
def sources() -> str:
    """Returns a hash of this package's Python files."""
    import hashlib
    from pathlib import Path

    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _umask() -> int:
    """Returns the process's mask (it can only be read by setting it)."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
