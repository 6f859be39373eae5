"""Real runs that have been measured before, as `penstock emulate --out` writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.emulation import EmulationError
from penstock.model.scenario import Scenario
from penstock.runs.result import ALL, Result

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What a comparison reads of a run."""

    seed: int
    metrics: Mapping[str, float | None]
    groups: Sequence[Mapping[str, float | None]]
    flows: Sequence[Mapping[str, Any]]
    emulation: Mapping[str, Any]
    folder: Path
    links: Mapping[str, Mapping[str, float | None]]
    lead_in_s: float | None = None


class Stored(Result):
    """Runs on real packets whose series are files."""

    def __init__(self, scenario: Scenario, runs: Sequence[StoredRun]) -> None:
        super().__init__(scenario, runs)  # type: ignore[arg-type]
        self._stored = tuple(runs)

    def series(self, name: str, link: str | None = None) -> pa.Table:
        """Returns a recorded table of all runs."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        file = Path(f"{name}.parquet") if link is None else Path("links", f"{name}.parquet")
        one = None if link in (None, ALL) else [("link", "=", link)]
        return pa.concat_tables([pq.read_table(run.folder / file, filters=one) for run in self._stored])


def read(folder: Path, scenario: Scenario) -> list[StoredRun]:
    """Returns the runs of a scenario below a folder, one in each folder, by seed.

    Raises `EmulationError` where there is none, or one of another scenario.
    """
    runs = [_run(path, scenario) for path in folder.glob("*/document.json")]
    if not runs:
        raise EmulationError(
            f"{folder}: no real runs; penstock validate-real --out DIR writes them to DIR/NAME/real/SEED"
        )
    return sorted(runs, key=lambda run: run.seed)


def _run(path: Path, scenario: Scenario) -> StoredRun:
    try:
        document = json.loads(path.read_text("utf-8"))
        (run,) = document["runs"]
        differs = _differs(document["scenario"], scenario.resolved)
        found = StoredRun(
            seed=run["seed"],
            metrics=run["metrics"],
            groups=list(run["groups"].values()),
            flows=run["flows"],
            emulation=document["emulation"],
            folder=path.parent,
            links=run.get("links", {}),
            lead_in_s=run.get("lead_in_s"),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmulationError(f"{path}: no document of penstock emulate ({error!r})") from None
    if differs is not None:
        raise EmulationError(f"{path}: a run of another scenario: {differs}; measure it again, without --real")
    return found


def _differs(there: object, here: object, place: str = "") -> str | None:
    """Returns the first key that both have with different values; what one side lacks is a later version's."""
    if isinstance(there, dict) and isinstance(here, dict):
        keys = [key for key in there if key in here and (place or key not in ("name", "seed"))]
        found = (_differs(there[key], here[key], f"{place}.{key}".lstrip(".")) for key in keys)
        return next((each for each in found if each is not None), None)
    if isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        found = (_differs(a, b, f"{place}.{i}") for i, (a, b) in enumerate(zip(there, here, strict=True)))
        return next((each for each in found if each is not None), None)
    return None if there == here else f"{place} was {json.dumps(there)} and is {json.dumps(here)}"
