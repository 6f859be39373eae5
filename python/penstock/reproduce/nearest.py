"""The joint reading of a paper that comes nearest to what the paper says.

A paper leaves several things open at once. Each alternative is printed somewhere in the paper, or is
documented for the simulator that it used; none is a free number. The search tries sets of
alternatives that do not contradict each other. A set is better than another if fewer of the paper's
claims lie on the wrong side under it, then if what it gives is nearer to the printed numbers, then if
it takes fewer alternatives. Where a paper prints tables (it has distances that are not judged), the
numbers come first: what it leaves open is settled by its tables, and its claims are not chosen by.

It tries every set where there are few enough. Otherwise it grows the best sets by one alternative at
a time, until that improves nothing. It is chosen on seeds of its own: the report judges it on others.

`papers/PAPER/nearest.json` has what was found, with where it comes from. `make nearest` remakes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock import _penstock
from penstock._files import write
from penstock.judging.rules import Above
from penstock.reproduce.execute import QUEUE, identity
from penstock.reproduce.model import Case, Cases, MostBelow, Nearest, Paper, Settings
from penstock.reproduce.readings import Readings
from penstock.reproduce.runs import Run, Runs
from penstock.reproduce.verdict import HOLDS, decide, judge
from penstock.runs.pool import Pool, Watch
from penstock.runs.recorded import recorded
from penstock.runs.tasks import simulator

if TYPE_CHECKING:
    from penstock.reproduce.model import Finding

#: What a joint reading is chosen on. The report's seeds are 1 and on.
SEEDS = tuple(range(1001, 1006))
#: How many sets are tried one and all.
ALL = 4000
#: How many seeds each set takes at first, and where all are tried, how many of the best take all.
SCREEN, BEST = 1, 200
#: Where sets are grown: how many of a size take all seeds, how many of these grow, and how far.
SIFTED, WIDTH, DEPTH = 4, 2, 5
#: How many of those that were tried are shipped.
SHIPPED = 20

#: Called with how many sets were tried, of how many as far as is known, and the last one's name.
Progress: TypeAlias = Callable[[int, int, str], object]

#: The keys of the alternatives that are taken at once.
Keys: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """How far a joint reading is from the paper: the smaller, the nearer.

    wrong: how many of the paper's claims have their estimate on the wrong side.
    off: the mean distance from the printed numbers in percent, infinite where nothing is printed.
    numbers_first: `off` counts before `wrong`, in whole percent: less is within the noise.
    """

    wrong: int
    off: float
    numbers_first: bool = False

    def __lt__(self, other: Score) -> bool:
        return self._order() < other._order()

    def _order(self) -> tuple[float, float]:
        return (round(self.off), self.wrong) if self.numbers_first else (self.wrong, self.off)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search found.

    scores: of every set that took all seeds, the nearest first.
    tried: how many sets were run. possible: how many there are.
    claims: how many of the paper's claims were counted.
    how: `"all"`, or `"grown"` from the default by one alternative at a time.
    """

    paper: str
    seeds: Sequence[int]
    how: str
    tried: int
    possible: int
    claims: int
    scores: Mapping[Keys, Score]

    def nearest(self, readings: Readings[Any]) -> Nearest:
        """Returns the nearest of them."""
        keys, score = next(iter(self.scores.items()))
        return Nearest(
            reading=readings.joint(*keys),
            tried=self.tried,
            possible=self.possible,
            seeds=self.seeds,
            score=_pair(score),
            default_score=_pair(self.scores[()]),
        )

    def document(self, most: int | None = None) -> dict[str, Any]:
        """Returns the search as JSON. most: the nearest ones alone, and the default."""
        listed = [keys for i, keys in enumerate(self.scores) if most is None or i < most or not keys]
        return {
            "paper": self.paper,
            "version": simulator(),
            "seeds": list(self.seeds),
            "how": self.how,
            "tried": self.tried,
            "possible": self.possible,
            "claims": self.claims,
            "scores": [
                {"takes": list(keys), "wrong": _pair(self.scores[keys])[0], "off_percent": _pair(self.scores[keys])[1]}
                for keys in listed
            ],
        }


def search(
    paper: Paper,
    jobs: int,
    progress: Progress = lambda *_: None,
    *,
    seeds: Sequence[int] | None = None,
    most: int = ALL,
    so_far: Callable[[Found], object] = lambda found: None,
) -> Found:
    """Tries a paper's joint readings. most: how many sets are tried one and all.

    so_far: gets what is found after each step of a search that takes long.

    Raises `ValueError` for a paper that declares no readings.
    """
    if paper.readings is None:
        raise ValueError(f"{paper.key} declares no readings")
    seeds = SEEDS if seeds is None else seeds
    possible = paper.readings.count()
    scorer = _Scorer(paper, paper.readings, jobs)
    whole = possible <= most
    order = {key: i for i, key in enumerate(paper.readings.keys_in_order())}
    found: Found | None = None
    for tried, scores in (_all if whole else _grown)(scorer, paper.readings, seeds, progress):
        ranked = sorted(scores, key=lambda keys: (scores[keys], len(keys), [order[key] for key in keys]))
        found = Found(
            paper=paper.key,
            seeds=seeds,
            how="all" if whole else "grown",
            tried=tried,
            possible=possible,
            claims=len(scorer.judged),
            scores={keys: scores[keys] for keys in ranked},
        )
        so_far(found)
    assert found is not None
    return found


def _all(
    scorer: _Scorer, readings: Readings[Any], seeds: Sequence[int], progress: Progress
) -> Iterator[tuple[int, dict[Keys, Score]]]:
    """Yields every set on the first seeds; the best of them, and the default, on all."""
    possible = list(readings.possible())
    first: dict[Keys, Score] = {}
    total = len(possible) + min(BEST, len(possible))
    for i, keys in enumerate(possible):
        progress(i, total, " + ".join(keys) or "default")
        first[keys] = scorer.of(keys, seeds[:SCREEN])
    best = sorted(possible, key=lambda keys: (first[keys], len(keys)))[:BEST]
    scores = {}
    for i, keys in enumerate(dict.fromkeys(((), *best))):
        progress(len(possible) + i, total, " + ".join(keys) or "default")
        scores[keys] = scorer.of(keys, seeds)
    yield len(possible), scores


def _grown(
    scorer: _Scorer, readings: Readings[Any], seeds: Sequence[int], progress: Progress
) -> Iterator[tuple[int, dict[Keys, Score]]]:
    """Yields the best sets of each size, grown by one alternative, until none of the larger ones is better.

    All of a size run with the first seeds, and the best of them with all.
    """
    order = list(readings.keys_in_order())
    scores: dict[Keys, Score] = {(): scorer.of((), seeds)}
    level: list[Keys] = [()]
    tried = 1
    while len(level[0]) < DEPTH:
        larger = (
            tuple(key for key in order if key == more or key in keys)
            for keys in level[:WIDTH]
            for more in order
            if more not in keys
        )
        grown = [keys for keys in dict.fromkeys(larger) if readings.permitted(keys)]
        first: dict[Keys, Score] = {}
        for i, keys in enumerate(grown):
            progress(tried + i, tried + len(grown), " + ".join(keys))
            first[keys] = scorer.of(keys, seeds[:SCREEN])
        tried += len(grown)
        of_all = {keys: scorer.of(keys, seeds) for keys in sorted(grown, key=first.__getitem__)[:SIFTED]}
        level = sorted(of_all, key=of_all.__getitem__)
        better = bool(level) and of_all[level[0]] < min(scores.values())
        scores |= of_all
        yield tried, scores
        if not better:
            break


class _Scorer:
    """Scores sets of alternatives.

    A claim whose runs a set does not change is not run again: what it came to is kept by its runs.
    """

    def __init__(self, paper: Paper, readings: Readings[Any], jobs: int) -> None:
        self._readings = readings
        self._jobs = jobs
        self._settings = Settings()
        self._paper = paper.key
        self.judged = [each for each in paper.claims if each.of == "paper" and each.rule is not None]
        distances = [each for each in paper.claims if each.rule is None and each.unit == "%"]
        self._claims = [*self.judged, *distances]
        self._known: dict[tuple[str, tuple[str, ...], Sequence[int]], Finding] = {}

    def of(self, keys: Keys, seeds: Sequence[int]) -> Score:
        """Returns the score of these alternatives on these seeds."""
        reading = self._readings.joint(*keys)
        made: dict[Cases, tuple[list[Case], tuple[str, ...]]] = {}
        for claim in self._claims:
            if claim.cases not in made:
                cases = list(claim.cases(self._settings, reading))
                made[claim.cases] = cases, tuple(identity(case) for case in cases)
        known = {claim.key: (claim.key, made[claim.cases][1], tuple(seeds)) for claim in self._claims}
        asked = [claim for claim in self._claims if known[claim.key] not in self._known]
        wanted = {name: case for claim in asked for case, name in zip(*made[claim.cases], strict=True)}
        runs = _run(wanted, seeds, self._jobs)
        for claim in asked:
            part = [
                _labelled(runs[name, seed], case)
                for case, name in zip(*made[claim.cases], strict=True)
                for seed in seeds
            ]
            self._known[known[claim.key]] = judge(self._paper, claim, reading, claim.values(Runs(part)))
        found = [self._known[known[claim.key]] for claim in self._claims]
        wrong = sum(_wrong(each) for each in found[: len(self.judged)])
        distances = found[len(self.judged) :]
        return Score(wrong, _off(distances or found), numbers_first=bool(distances))


def _wrong(found: Finding) -> bool:
    """Returns whether the estimate is on the wrong side: that of any point, where a claim has some."""
    rule = Above(50.0) if isinstance(found.rule, MostBelow) else found.rule
    estimates = [point.estimate for point in found.points] or [found.estimate]
    return any(decide(rule, estimate, estimate) != HOLDS for estimate in estimates)


def _off(found: Iterable[Finding]) -> float:
    """Returns the mean distance from the printed numbers in percent.

    The numbers are those of distances, one at each point, or the claims' where there are no tables.
    """
    distances = []
    for each in found:
        if each.rule is None:
            distances += [abs(at.estimate) for at in each.points or (each,) if at.estimate is not None]
        elif each.size is not None and not isinstance(each.rule, MostBelow):
            distances.append(100 * abs(each.size - 1))
    return math.fsum(distances) / len(distances) if distances else math.inf


def _run(wanted: Mapping[str, Case], seeds: Sequence[int], jobs: int) -> dict[tuple[str, int], Run]:
    """Returns the runs of cases by their identities."""

    def work(item: tuple[str, Case, int], watch: Watch) -> Iterator[tuple[tuple[str, int], Run]]:
        name, case, seed = item
        (result,) = _penstock.run(case.scenario.core, [seed], 1, series_interval_s=case.trace_s, progress=watch)
        yield (
            (name, seed),
            Run(
                labels=case.labels,
                seed=seed,
                scenario=case.scenario,
                metrics=result.metrics,
                groups=result.groups,
                links=result.links,
                trace=None if case.trace_s is None else recorded(result, QUEUE),
            ),
        )

    items = [(name, case, seed) for name, case in wanted.items() for seed in seeds]
    with closing(Pool(work, jobs).results(items)) as results:
        return dict(ended for ended in results if ended is not None)


def _labelled(run: Run, case: Case) -> Run:
    """Returns a run as the case names it that asks: two cases of other labels may be the same runs."""
    if run.labels == case.labels:
        return run
    return Run(
        labels=case.labels,
        seed=run.seed,
        scenario=run.scenario,
        metrics=run.metrics,
        groups=run.groups,
        links=run.links,
        trace=run.trace,
    )


def _pair(score: Score) -> tuple[int, float | None]:
    return score.wrong, None if math.isinf(score.off) else round(score.off, 2)


# ---- what ships


def place(paper: str) -> Path:
    """Returns the file that has what was found for a paper."""
    return Path(__file__).parent / "papers" / paper.replace("-", "_") / "nearest.json"


def shipped(paper: str, readings: Readings[Any]) -> Nearest | None:
    """Returns what a search found for a paper when it was last made; `None` where there was none."""
    try:
        found = json.loads(place(paper).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    first, default = found["scores"][0], next(each for each in found["scores"] if not each["takes"])
    return Nearest(
        reading=readings.joint(*first["takes"]),
        tried=found["tried"],
        possible=found["possible"],
        seeds=tuple(found["seeds"]),
        score=(first["wrong"], first["off_percent"]),
        default_score=(default["wrong"], default["off_percent"]),
    )


def anew(chosen: Sequence[Paper], whole: Callable[[str], Paper], file: Path, jobs: int) -> list[Paper]:
    """Returns these papers with what a new search finds for each as a whole; `file` gets all that was tried.

    whole: returns the paper of a key with all its claims; those chosen may be parts.
    """
    from penstock.show.progress import Bar

    searched, documents = [], {}
    for each in chosen:
        if each.readings is not None:
            with Bar(f"nearest joint reading of {each.name}") as bar:
                found = search(whole(each.key), jobs, on(bar, each))
            documents[each.key] = found.document()
            each = replace(each, nearest=found.nearest(each.readings))
        searched.append(each)
    write(file, text(documents))
    return searched


def on(bar: Any, paper: Paper) -> Progress:
    """Returns what draws a search's progress."""

    def progress(done: int, total: int, name: str) -> None:
        bar.show(done / max(total, 1), f"reading {paper.name} as {name}", f"{done}/{total} joint readings")

    return progress


def text(document: Any) -> str:
    """Returns a document as it is kept."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
