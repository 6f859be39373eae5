"""The RFC's scenarios on real packets: each through `penstock emulate`, set beside the simulator.

What the simulator is told of Linux's TCP, and when two numbers agree, is as for `penstock validate-real`. Two things
differ from the simulated evaluation. The lead-in takes its whole time, since nobody sees in time when the kernel's
senders leave slow start; the first ten seconds are therefore not measured, on neither side, where a scenario stays
the same throughout. And such scenarios are shorter, since real runs take real time.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from penstock._files import sources, write
from penstock.emulation import EmulationError, emulate
from penstock.errors import ScenarioError
from penstock.evaluation.candidates import Candidate
from penstock.evaluation.rfc import OWN_HOSTS, Experiment, shortened
from penstock.judging.estimate import Estimate
from penstock.model.scenario import Scenario
from penstock.runs.identity import Identities
from penstock.runs.tasks import simulator
from penstock.validate.real.compare import Agreement, TooFewValidError, as_linux, compared_bounds, validate

#: Sections 5.1 to 5.3, 7, 8 and 9.1: what one machine can carry, up to 100 Mbit/s.
SECTIONS = ("5.1", "5.2", "5.3", "7.", "8.", "9.1")
#: How long the lead-in takes.
LEAD_IN = "10 s"
#: A scenario in which nothing changes: how long it is, and from when it is measured, seconds.
LENGTH_S, FROM_S = 40.0, 10.0
#: Runs of each side. Real ones take their time; simulated ones cost nothing.
RUNS, SEEDS = 2, 10

#: Told what is done of the whole (0 to 1), and what is under way.
Progress = Callable[[float, str], object]


@dataclass(frozen=True, slots=True)
class Pair:
    """A metric on both sides.

    agrees: `None` where the two cannot be compared.
    """

    metric: str
    real: float | None
    real_ci95: float | None
    simulated: float | None
    simulated_ci95: float | None
    agrees: bool | None


@dataclass(frozen=True, slots=True)
class Carried:
    """A scenario under a candidate on real packets.

    valid, tried: real runs. why: what was wrong with the others, or why there is none. pairs: where two were valid.
    """

    candidate: str
    experiment: str
    valid: int
    tried: int
    why: str
    pairs: Sequence[Pair] = ()


def can_be_carried(experiment: Experiment) -> bool:
    """Returns whether the scenario is one of those that real packets are for."""
    return experiment.section.startswith(SECTIONS)


def on_real_packets(experiment: Experiment) -> Scenario:
    """Returns the scenario's first form as it runs there."""
    scenario = experiment.scenario(experiment.variants[0])
    if experiment.hosts != OWN_HOSTS:  # under their profile they leave open what a kernel has its own way of
        scenario = as_linux(scenario).with_hosts(experiment.hosts)
    entries = scenario.resolved["traffic"]
    leading = {f"traffic.{i}.lead_in": LEAD_IN for i, each in enumerate(entries) if each.get("lead_in") is not None}
    changed = scenario.set_all(leading) if leading else scenario
    return changed if experiment.changing else shortened(changed.set("measure.from", f"{FROM_S:g} s"), LENGTH_S)


def check() -> None:
    """Raises `EmulationError` where this machine sends no real packets."""
    trivial = """
        duration = "0.2 s"
        topology.bottleneck = { rate = "10 Mbit/s", delay = "1 ms", buffer = 10 }
        traffic = [{ kind = "cbr", rate = "1 Mbit/s", packet = "500 B" }]
    """
    emulate(Scenario.from_toml(trivial))


def carry(
    candidates: Sequence[Candidate],
    experiments: Sequence[Experiment],
    folder: Path,
    progress: Progress | None = None,
) -> list[Carried]:
    """Runs every candidate in every scenario that can be carried. What the folder holds is not run again."""
    wanted = [(e, c) for e in experiments if can_be_carried(e) for c in candidates]
    found = []
    for i, (experiment, candidate) in enumerate(wanted):

        def tell(done: float, what: str, i: int = i, place: str = f"{experiment.key}, {candidate.name}") -> None:
            if progress is not None:
                progress((i + done) / len(wanted), f"{place}: {what}")

        found.append(_one(candidate, experiment, folder, tell))
    return found


def _one(candidate: Candidate, experiment: Experiment, folder: Path, progress: Progress) -> Carried:
    scenario = candidate.under(on_real_packets(experiment), experiment.both_ways)
    # The kernel's TCP and all of this package's Python have a part in real runs.
    code = [simulator(), sources(), platform.release()]
    what = candidate.source if candidate.unknown else Identities().of(scenario.core)[1]
    said = json.dumps([*code, RUNS, SEEDS, what, scenario.resolved], sort_keys=True)
    key = hashlib.sha256(said.encode()).hexdigest()
    file = folder / "real" / candidate.name / f"{experiment.key}.json"
    kept = None if candidate.unknown else _kept(file, key)
    if kept is not None:
        return kept
    found = _carried(candidate, experiment, scenario, progress)
    if candidate.unknown:
        return found
    write(file, json.dumps({"key": key, "carried": asdict(found)}, indent=1) + "\n")
    return found


def _kept(file: Path, key: str) -> Carried | None:
    if not file.exists():
        return None
    held = json.loads(file.read_text(encoding="utf-8"))
    if held["key"] != key:
        return None
    carried = held["carried"]
    return Carried(**{**carried, "pairs": [Pair(**each) for each in carried["pairs"]]})


def _carried(candidate: Candidate, experiment: Experiment, scenario: Scenario, progress: Progress) -> Carried:
    place = candidate.name, experiment.key
    try:
        agreement = validate(scenario, RUNS, SEEDS, progress=progress)
    except TooFewValidError as error:
        return Carried(*place, 0, RUNS, str(error))
    except (ScenarioError, EmulationError) as error:
        return Carried(*place, 0, 0, str(error))
    why = "; ".join(dict.fromkeys(reason for each in agreement.invalid for reason in each.because))
    valid, invalid = len(agreement.real.runs), len(agreement.invalid)
    return Carried(*place, valid, valid + invalid, why, list(_pairs(agreement)))


def _pairs(agreement: Agreement) -> Iterator[Pair]:
    for pair in agreement.pairs:
        real, simulated = pair.real, pair.simulated
        yield Pair(pair.metric, real.mean, real.ci95, simulated.mean, simulated.ci95, pair.verdict.agrees)


#: The columns of `real.csv`.
COLUMNS = (
    *("candidate", "experiment", "valid", "tried", "why"),
    *("metric", "real", "real_ci95", "simulated", "simulated_ci95", "agrees"),
    *("real_low", "real_high", "simulated_low", "simulated_high"),
)


def real_csv(found: Sequence[Carried]) -> str:
    """Returns every pair, a row each; a scenario without pairs is a row with its reason."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for each in found:
        about = (each.candidate, each.experiment, each.valid, each.tried, each.why)
        for pair in each.pairs:
            numbers = (pair.real, pair.real_ci95, pair.simulated, pair.simulated_ci95)
            ends = [end for side in estimates(pair) for end in (side.low, side.high)]
            rows.writerow([*about, pair.metric, *_shown(numbers), pair.agrees, *_shown(ends)])
        if not each.pairs:
            rows.writerow([*about, *[None] * (len(COLUMNS) - len(about))])
    return text.getvalue()


def _shown(numbers: Sequence[float | None]) -> list[str | None]:
    return [None if v is None else f"{v:.6g}" for v in numbers]


#: What a page shows of the pairs: metric → title, factor, unit.
SHOWN: Mapping[str, tuple[str, float, str]] = {
    "utilization": ("utilization", 100, "%"),
    "delay_mean_s": ("mean delay", 1e3, "ms"),
    "delay_p99_s": ("99th percentile", 1e3, "ms"),
    "drops_per_s": ("drops", 1, "/s"),
    "page_time_mean_s": ("mean page time", 1, "s"),
}


def estimates(pair: Pair) -> tuple[Estimate, Estimate]:
    """Returns both sides' numbers, the real one first."""
    within = compared_bounds(pair.metric)
    real = Estimate.around(pair.real, pair.real_ci95, RUNS, within)
    return real, Estimate.around(pair.simulated, pair.simulated_ci95, SEEDS, within)
