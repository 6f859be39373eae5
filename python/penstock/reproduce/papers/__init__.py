"""One module a paper; each reads like that paper's evaluation section and offers `PAPER`."""

from __future__ import annotations

import importlib

from penstock.reproduce.model import Paper

#: On the command line, in the order of publication in the report.
KEYS = ("amecn", "rared", "nred", "rvd", "red-at")


def paper(key: str) -> Paper:
    """The paper of that key. Raises `KeyError` if there is none."""
    if key not in KEYS:
        raise KeyError(key)
    module = importlib.import_module(f"penstock.reproduce.papers.{key.replace('-', '_')}")
    found: Paper = module.PAPER
    return found
