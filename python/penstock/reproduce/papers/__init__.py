"""One package for each paper, which reads like the paper's evaluation section.

`scenarios` has what the paper leaves open and what is run. `exhibits` has what is measured and how
it is drawn. `claims` has the paper's claims as numbers. `paper` has how the gaps were read, what was
found, and `PAPER`. Each imports only from those before it.
"""

from __future__ import annotations

import importlib

from penstock.reproduce.model import Paper

#: On the command line, in the order of publication in the report.
KEYS = ("amecn", "rared", "nred", "rvd", "red-at")


def paper(key: str) -> Paper:
    """The paper of that key. Raises `KeyError` if there is none."""
    if key not in KEYS:
        raise KeyError(key)
    module = importlib.import_module(f"penstock.reproduce.papers.{key.replace('-', '_')}.paper")
    found: Paper = module.PAPER
    return found
