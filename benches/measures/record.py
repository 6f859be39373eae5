"""The instruction counts that the repository remembers, and what has changed since.

Counts of the other simulators are remembered as well. They change with their version only, and
counting them takes ten minutes, so that they are counted again on request alone.
"""

from __future__ import annotations

import json
import platform
import subprocess
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from .processes import HERE

FILE = HERE / "instructions.json"
Counts = dict[str, float]


@dataclass
class Record:
    """Instructions per packet of each case, with what they were counted under."""

    date: str = ""
    rustc: str = ""
    penstock: Counts = field(default_factory=dict)
    """Of the wheel, which has profile-guided optimisation."""
    plain: Counts = field(default_factory=dict)
    """Of the same code without it."""
    ns2: Counts = field(default_factory=dict)
    htsim: Counts = field(default_factory=dict)

    @classmethod
    def load(cls, file: Path = FILE) -> Record:
        """Reads the record; an empty one where there is none."""
        if not file.exists():
            return cls()
        return cls(**json.loads(file.read_text(encoding="utf-8")))

    def save(self, file: Path = FILE) -> None:
        """Writes the record."""
        file.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    def under(self) -> str:
        """What the counts were made under."""
        return f"{self.date}, Rust {self.rustc}"


def today() -> str:
    """The date, in UTC."""
    return datetime.now(timezone.utc).date().isoformat()


def processor() -> str:
    """The processor's name."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def rustc() -> str:
    """The version of the compiler."""
    line = ["rustc", "--version"]
    words = subprocess.run(line, capture_output=True, text=True, check=False).stdout.split()
    return words[1] if len(words) > 1 else "unknown"
