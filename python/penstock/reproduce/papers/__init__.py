"""One package for each paper, which reads like the paper's evaluation section.

`scenarios` has what the paper leaves open and what is run. `exhibits` has what is measured and how
it is drawn. `claims` has the paper's claims as numbers. `paper` has how the gaps were read, what was
found, and `PAPER`. Each imports only from those before it.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock._names import known
from penstock.reproduce.levels import KEY as LEVELS
from penstock.reproduce.model import Paper
from penstock.reproduce.repairs import REPAIRS as REPAIRS

#: On the command line, in the order of publication in the report.
KEYS = ("amecn", "rared", "nred", "rvd", "red-at")


#: What may be named.
NAMES = (*KEYS, "all", "repairs", *REPAIRS, LEVELS)


def paper(key: str) -> Paper:
    """Returns the paper, the repair or the study of that key. Raises `KeyError` if there is none."""
    if key in REPAIRS:
        repairs: Mapping[str, Paper] = importlib.import_module("penstock.reproduce.repairs.paper").PAPERS
        return repairs[key]
    if key == LEVELS:
        study: Paper = importlib.import_module("penstock.reproduce.levels.paper").PAPER
        return study
    if key not in KEYS:
        raise KeyError(key)
    module = importlib.import_module(f"penstock.reproduce.papers.{key.replace('-', '_')}.paper")
    found: Paper = module.PAPER
    return found


def choose(names: Sequence[str], only: Sequence[str] = ()) -> list[Paper]:
    """Returns the papers with these names, narrowed to the exhibits and claims of `only`
    (`"amecn.fig9"`, `"amecn.fig9.utilization"`).

    `all`, or no name, chooses every paper, `repairs` every repair, `levels` the study of a second level. Without names,
    `only` chooses the papers that it names. Raises `Error` with the nearest name.
    """
    for name in names:
        known(name, NAMES, "paper")
    wanted = [each.partition(".")[0] for each in only] if only and not names else list(names)
    for key in wanted:
        known(key, NAMES, "paper")
    groups = [key for name in wanted or ["all"] for key in {"all": KEYS, "repairs": REPAIRS}.get(name, (name,))]
    chosen = [paper(key) for key in (*KEYS, *REPAIRS, LEVELS) if key in groups]
    if not only:
        return chosen
    exhibits = [f"{each.key}.{exhibit.key}" for each in chosen for exhibit in each.exhibits]
    claims = [f"{each.key}.{claim.key}" for each in chosen for claim in each.claims]
    for name in only:
        known(name, (*exhibits, *claims), "exhibit or claim")
    narrowed = (_narrow(each, [name for name in only if name.partition(".")[0] == each.key]) for each in chosen)
    return [each for each in narrowed if each.exhibits]


def _narrow(whole: Paper, only: Sequence[str]) -> Paper:
    """Returns the paper with these exhibits and the claims about them, and with these claims and their exhibits.

    What is said of the paper is about all of them, so it is left out.
    """
    keys = {name.partition(".")[2] for name in only}
    claims = [claim for claim in whole.claims if claim.exhibit in keys or claim.key in keys]
    shown = keys | {claim.exhibit for claim in claims}
    exhibits = [exhibit for exhibit in whole.exhibits if exhibit.key in shown]
    return replace(whole, exhibits=exhibits, claims=claims, discussion=lambda found: "", believe=lambda found: "")
