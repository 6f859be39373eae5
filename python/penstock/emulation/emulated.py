"""What a run on real packets gives."""

from __future__ import annotations

import json
from typing import Any

from penstock import _penstock
from penstock.model.scenario import Scenario
from penstock.runs.result import Result


class Emulated(Result):
    """What an emulation gives: the simulator's metrics of one run, and how far reality was from the ideal path.

    emulation: backend, rights, priority, lateness (seconds), frames, marks that the receiving kernel counted, and
        whether the run is `valid`, with the reasons where it is not.
    """

    def __init__(self, scenario: Scenario, run: _penstock.RunResult, emulation: dict[str, Any]) -> None:
        super().__init__(scenario, [run])
        self.emulation = emulation
        self._document: str | None = None

    @property
    def duration_s(self) -> float:
        """Returns how long the run lasted, in seconds, without its lead-in: own programs end when they like."""
        lasted: float = self.emulation["duration_s"]
        return lasted - (self.runs[0].lead_in_s or 0.0)

    def json(self) -> str:
        """Returns the document of `penstock run --json`, with `emulation` beside its other parts."""
        if self._document is None:
            document = json.loads(super().json())
            document["emulation"] = self.emulation
            self._document = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        return self._document

    def _with_table(self, name: str) -> tuple[_penstock.RunResult, ...]:
        """Returns the run. Raises `ValueError` for a table that it has not recorded: the packets are gone."""
        if name not in self.runs[0].tables:
            raise ValueError(
                f'the emulation recorded no {name}: emulate(..., series="10 ms") records queue, cwnd and rtt'
            )
        return self.runs

    @property
    def valid(self) -> bool:
        """Returns whether the machine kept up."""
        return bool(self.emulation["valid"])
