"""`penstock validate`: ns-2's cases run here, pair by pair beside what ns-2 measured.

The data that the project ships lie in `validation/`; other files in the same two formats are taken as well. A case
becomes a scenario with `profile = "ns-2"` (`_ns2cases`), runs over at least ten seeds, and is judged by the rules of
`_agreement`. No parameter is tuned: the same case gives the same scenario, and that the same report to the byte.
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import io
import json
import math
import sys
import threading
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock import _files
from penstock._agreement import NO_SPREAD, RULES, ZERO, Value, Verdict, judge
from penstock._ns2cases import NotExpressible, deterministic, forward_flows, scenario
from penstock.errors import Error, ScenarioError, SimulationError

#: Seeds on our side, at least: as many as take minutes on two cores. What is left of the joint interval is then the
#: reference's.
SEEDS = 40
#: Where the shipped data lie, from the checkout's root.
DATA = Path("validation")


@dataclass(frozen=True)
class Shipped:
    """One of the reference's sets of cases: its two files in `DATA`, the report on it, and what measured it."""

    cases: str
    results: str
    report: Path
    measured: str


#: What measured the cases of the caller's own files.
OTHER_FILES = "What ns-2 measured, from files of the caller's."
SHIPPED = (
    Shipped(
        "ns2-cases.json",
        "ns2.csv",
        Path("docs/validation.md"),
        "What ns-2 2.35 (Debian `ns2 2.35+dfsg-5`, stock) measured; its cases with the papers' own queues are in "
        "[validation-papers.md](validation-papers.md).",
    ),
    Shipped(
        "ns2x-cases.json",
        "ns2x.csv",
        Path("docs/validation-papers.md"),
        "What ns-2 2.35 measured with the papers' queues and multi-level ECN built in, by another hand from their "
        "text; its cases with ns-2's own queues are in [validation.md](validation.md).",
    ),
)

#: What the script samples as maxp_mean, by kind: a column of the queue's series. Only what an adapter moves; it is a
#: parameter elsewhere, and no measurement.
ADAPTED = {
    "ared": "max_p",
    "feng-ared": "max_p",
    "amecn": "p1_max",
    "nred": "n",
    "blue": "p_m",
}
#: How often the series are sampled for it, in seconds.
SAMPLING_S = 0.1
#: Begins the paragraph of a cause that names its pairs.
LOOKED_AT = "Looked at:"
#: Stands in the report above the pairs that no cause names.
NOT_LOOKED_AT = "Not looked at. Nobody has examined these pairs; some may differ for one of the causes above."


@dataclass(frozen=True)
class Case:
    """One case of the reference: its name, the group that it is reported under, what it stands for, how ns-2 ran it."""

    name: str
    group: str
    about: str
    seeds: int
    args: Mapping[str, object]


@dataclass(frozen=True)
class Pair:
    """One metric of one case on both sides."""

    case: str
    metric: str
    reference: Value | None
    ours: Value | None
    verdict: Verdict


@dataclass(frozen=True)
class Outcome:
    """What became of one case: its pairs, or why it has none."""

    case: Case
    pairs: tuple[Pair, ...] = ()
    refused: str = ""
    unmeasured: bool = False


@dataclass(frozen=True)
class Cause:
    """Why some pairs differ. It is told only of the pairs that somebody looked at, each a case and a metric."""

    title: str
    looked_at: frozenset[tuple[str, str]]
    text: str

    def explains(self, pair: Pair) -> bool:
        """Whether this pair was looked at."""
        return (pair.case, pair.metric) in self.looked_at


# ----------------------------------------------------------------------- reading


def root() -> Path:
    """The checkout that this package runs from; without one, the folder one stands in."""
    here = Path(__file__).resolve().parents[2]
    return here if (here / DATA / SHIPPED[0].cases).is_file() else Path.cwd()


def read_cases(path: Path) -> list[Case]:
    """The cases of a JSON file, in its order. Raises `Error` with the file's name for anything else."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["cases"]
        cases = [
            Case(
                name=str(row["id"]),
                group=str(row.get("group", "")),
                about=str(row.get("figure", "")),
                seeds=int(row.get("seeds", 1)),
                args=dict(row["args"]),
            )
            for row in rows
        ]
    except OSError as e:
        raise Error(f"{path}: {e.strerror or e}") from e
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise Error(f'{path}: not a file of cases ({{"cases": [{{"id", "args", …}}]}}): {e!r}') from e
    if not cases:
        raise Error(f"{path}: no cases")
    return cases


def read_results(path: Path) -> dict[str, dict[str, Value]]:
    """Case → metric → value from a CSV file with the columns case, metric, mean, ci95_half, n, and any others."""
    results: dict[str, dict[str, Value]] = {}
    line = 1
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = {"case", "metric", "mean", "ci95_half", "n"} - set(reader.fieldnames or ())
            if missing:
                raise Error(f"{path}:1: no column {', '.join(sorted(missing))}")
            for row in reader:
                line = reader.line_num
                half = float(row["ci95_half"] or 0)
                value = Value(float(row["mean"]), half if math.isfinite(half) else 0.0, int(row["n"]))
                results.setdefault(row["case"], {})[row["metric"]] = value
    except OSError as e:
        raise Error(f"{path}: {e.strerror or e}") from e
    except (ValueError, TypeError, csv.Error) as e:
        raise Error(f"{path}:{line}: {e}") from e
    return results


def read_causes(path: Path) -> list[Cause]:
    """The written causes of differences: sections `## title`, a paragraph `Looked at:`, then prose.

    That paragraph names pairs: "`case` metric, metric; `case` metric". A section without it is told of no pair. Raises
    `Error` for a pair that it cannot read.
    """
    if not path.is_file():
        return []
    causes = []
    for section in ("\n" + path.read_text(encoding="utf-8")).split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        paragraphs = [" ".join(paragraph.split()) for paragraph in body.split("\n\n")]
        looked = [p.removeprefix(LOOKED_AT) for p in paragraphs if p.startswith(LOOKED_AT)]
        pairs = frozenset(pair for text in looked for pair in _named_pairs(path, text))
        prose = " ".join(p for p in paragraphs if p and not p.startswith(LOOKED_AT))
        causes.append(Cause(title.strip(), pairs, prose))
    return causes


def _named_pairs(path: Path, text: str) -> Iterator[tuple[str, str]]:
    known = {rule.metric for rule in RULES}
    for entry in text.split(";"):
        _, case, metrics = [part.strip() for part in entry.split("`")] if entry.count("`") == 2 else ("", "", "")
        names = [metric.strip() for metric in metrics.split(",")]
        if not case or not known.issuperset(names):
            raise Error(
                f"{path}: {LOOKED_AT} {entry.strip()}: must be `case` and metrics out of {', '.join(sorted(known))}"
            )
        yield from ((case, metric) for metric in names)


def reference_value(measured: Mapping[str, Value], metric: str) -> Value | None:
    """A metric of ns-2's, the ratio of marks to arrivals made from its two parts."""
    if metric != "marks/arrivals":
        return measured.get(metric)
    marks, arrivals = measured.get("marks"), measured.get("arrivals")
    if marks is None or arrivals is None or arrivals.mean <= 0:
        return None
    return Value(marks.mean / arrivals.mean, marks.half / arrivals.mean, marks.n)


# ----------------------------------------------------------------------- running


Metrics = Mapping[str, "float | None"]
#: A table of a run, as the extension module gives it.
Table = Sequence[tuple[str, str, bytes, Sequence[str]]]


@dataclass
class _Work:
    """A case that can run, and the metrics of the seeds that have run."""

    case: Case
    core: Any
    document: Mapping[str, Any]
    runs: dict[int, Metrics] = field(default_factory=dict)


class _Stopped(Exception):  # noqa: N818 - a signal between threads
    """Another run failed or the user pressed Ctrl-C."""


def _prepare(case: Case) -> _Work | Outcome:
    """The case as a checked scenario, or the reason why there is none."""
    from penstock import _penstock

    try:
        document = scenario(case.name, case.args)
        return _Work(case, _penstock.Scenario.from_json(json.dumps(document)), document)
    except (NotExpressible, ScenarioError) as e:
        return Outcome(case, refused=" ".join(str(e).split()))


def _run_all(work: Sequence[_Work], jobs: int, seeds: int) -> dict[str, str]:
    """Runs every case under every seed on `jobs` threads; returns what refused to run, case → reason."""
    from penstock import _penstock
    from penstock._progress import Bar

    stop = threading.Event()
    refused: dict[str, str] = {}

    def watch(_fraction: float, _done: int, _total: int) -> None:
        if stop.is_set():
            raise _Stopped

    def one(w: _Work, seed: int) -> None:
        if stop.is_set() or w.case.name in refused:
            return
        try:
            interval = SAMPLING_S if columns(w.document) else None
            (result,) = _penstock.run(w.core, [seed], 1, interval, progress=watch)
        except SimulationError as e:
            refused[w.case.name] = " ".join(str(e).split())
        else:
            metrics = as_ns2_counts(w.document, result.metrics, result.flows)
            w.runs[seed] = {**metrics, **counters(w.document, result.metrics, result.table("queue"))}

    todo = [(w, seed) for w in work for seed in range(1, max(seeds, w.case.seeds) + 1)]
    with Bar("validate") as bar, ThreadPoolExecutor(jobs) as pool:
        pending: set[Future[None]] = {pool.submit(one, w, seed) for w, seed in todo}
        total, done = len(pending), 0
        try:
            while pending:
                finished, pending = wait(pending, timeout=0.2, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()
                done = total - sum(not f.done() for f in pending)
                bar(done / max(total, 1), done, total)
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return refused


def as_ns2_counts(
    document: Mapping[str, Any], metrics: Metrics, flows: Sequence[Mapping[str, Any]]
) -> dict[str, float | None]:
    """The metrics with goodput and fairness as the reference has them.

    ns-2 numbers packets from the SYN, so its counter of acknowledged packets moves by one when a connection opens, and
    the reference counts that as a packet's payload. Here it is none. For the comparison each long-lived forward flow
    that opened inside the window gets that one packet: percents of what a flow sends in 3.5 s, nothing over minutes.
    """
    begin, end = (_seconds(document["measure"][key]) for key in ("from", "to"))
    entries = document["traffic"]
    forward = {i: e for i, e in enumerate(entries) if e["kind"] == "ftp" and e.get("direction") != "reverse"}
    if document["topology"]["kind"] == "parking-lot" and forward:
        # The cross flows are a group of their own, behind the others, with the start of the first.
        forward[len(entries)] = next(iter(forward.values()))
    rates, seen = [], dict.fromkeys(forward, 0)
    for flow in flows:
        entry = forward.get(flow["group"])
        if entry is None:
            continue
        bps = flow["goodput_bps"] or 0.0
        if bps > 0 and entry["tcp"] != "vegas":  # which sends no SYN
            share = _inside(entry["start"], seen[flow["group"]], begin, end)
            bps += share * 8.0 * float(entry["segment"].split()[0]) / (end - begin)
        seen[flow["group"]] += 1
        rates.append(bps)
    if not rates:
        return dict(metrics)
    squares = math.fsum(r * r for r in rates)
    jain = math.fsum(rates) ** 2 / (len(rates) * squares) if squares > 0 else 1.0
    return {**metrics, "goodput_bps": math.fsum(rates), "jain": jain}


def columns(document: Mapping[str, Any]) -> dict[str, str]:
    """The columns of the queue's series that this case's comparison needs, by what they are for."""
    aqm = document["aqm"]
    needed = {}
    if adapted := ADAPTED.get("ared" if aqm.get("base") == "ared" else aqm["kind"]):
        needed["maxp_mean"] = adapted
    if aqm["kind"] == "rared":
        needed["marks_2"] = "climb_marks"
    return needed


def counters(document: Mapping[str, Any], metrics: Metrics, queue: Table | None) -> dict[str, float | None]:
    """Those metrics of the reference that are none of ours.

    queue: the queue's series, where `columns` asks for it.
    """
    kind = document["aqm"]["kind"]
    # BLUE keeps no average; the script's variable is then the queue that the last arrival found.
    average = metrics["queue_mean_pkts" if kind == "blue" else "avg_queue_mean_pkts"]
    if average is not None and document["aqm"].get("unit") == "bytes":  # ours is in packets of the mean size
        average *= float(document["aqm"]["mean_packet"].split()[0])
    # Moderate marks; for RARED those made while the average climbs.
    found: dict[str, float | None] = {"avg_mean": average, "marks_2": metrics["marks_ce"] if kind != "rared" else None}
    if queue is None:
        return found
    begin, end = (_seconds(document["measure"][key]) for key in ("from", "to"))
    series = {name: array("d", raw) for name, kind, raw, _ in queue if kind == "f64"}
    inside = [i for i, t in enumerate(series["t_s"]) if begin - 1e-9 <= t < end - 1e-9]
    for metric, column in columns(document).items():
        values = series[column]
        if metric == "maxp_mean":
            found[metric] = math.fsum(values[i] for i in inside) / len(inside)
        else:  # a counter
            after = inside[-1] + 1
            found[metric] = values[min(after, len(values) - 1)] - values[inside[0]]
    return found


def _inside(start: Any, i: int, begin: float, end: float) -> float:
    """The probability that flow `i` of an entry starts in [begin, end)."""
    if isinstance(start, str):
        return float(begin <= _seconds(start) < end)
    if "every" in start:
        return float(begin <= _seconds(start["from"]) + i * _seconds(start["every"]) < end)
    low, high = (_seconds(t) for t in start["uniform"])
    return max(0.0, min(high, end) - max(low, begin)) / (high - low)


def _seconds(text: str) -> float:
    from penstock import _penstock

    return _penstock.parse_duration(text)


def _estimate(values: Iterable[float | None]) -> Value | None:
    """Mean and 95 % half-width over the runs where the metric applies."""
    from penstock.result import Estimate

    estimate = Estimate.of([v for v in values if v is not None])
    if estimate.mean is None:
        return None
    return Value(estimate.mean, estimate.ci95 or 0.0, estimate.n)


def our_value(runs: Sequence[Metrics], metric: str) -> Value | None:
    """One of our metrics over the runs, the ratio of marks to arrivals made from its parts."""
    if metric != "marks/arrivals":
        return _estimate(run.get(metric) for run in runs)
    marks, arrivals = _estimate(_total(run, MARKS) for run in runs), _estimate(run.get("arrivals") for run in runs)
    if marks is None or arrivals is None or arrivals.mean <= 0:
        return None
    return Value(marks.mean / arrivals.mean, marks.half / arrivals.mean, marks.n)


MARKS = ("marks_ce", "marks_incipient")
DROPS = ("drops_early", "drops_forced", "drops_overflow")


def _total(run: Metrics, names: Sequence[str]) -> float | None:
    """The sum of counters; None where none applies."""
    known = [v for v in (run.get(name) for name in names) if v is not None]
    return math.fsum(known) if known else None


def compare(case: Case, measured: Mapping[str, Value], runs: Sequence[Metrics]) -> tuple[Pair, ...]:
    """The case's pairs."""
    alone = deterministic(case.args, case.seeds)
    pairs = []
    for rule in RULES:
        reference, ours = reference_value(measured, rule.metric), our_value(runs, rule.ours)
        constant = rule.metric == "maxp_mean" and ours is None
        if rule.optional and (constant or reference is None or abs(reference.mean) < ZERO):
            continue
        if rule.metric == "jain" and forward_flows(case.args) == 0:
            reference = None  # ns-2's script prints 1 for the fairness of no flows
        events = None
        if alone and rule.counted:
            names, total = (DROPS, "drops") if rule.metric == "loss" else (MARKS, "marks")
            here, there = _estimate(_total(run, names) for run in runs), measured.get(total)
            if here is not None and there is not None:
                events = (there.mean, here.mean)
        verdict = judge(rule, reference, ours, alone=alone, events=events)
        pairs.append(Pair(case.name, rule.metric, reference, ours, verdict))
    return tuple(pairs)


def outcomes(
    cases: Sequence[Case], results: Mapping[str, Mapping[str, Value]], jobs: int, seeds: int = SEEDS
) -> list[Outcome]:
    """What becomes of every case, in the order of `cases`."""
    prepared = [_prepare(case) for case in cases]
    work = [w for w in prepared if isinstance(w, _Work) and w.case.name in results]
    refused = _run_all(work, jobs, seeds)
    done = []
    for p in prepared:
        if isinstance(p, Outcome):
            done.append(p)
        elif p.case.name in refused:
            done.append(Outcome(p.case, refused=refused[p.case.name]))
        elif p.case.name not in results:
            done.append(Outcome(p.case, unmeasured=True))
        else:
            runs = [p.runs[seed] for seed in sorted(p.runs)]
            done.append(Outcome(p.case, compare(p.case, results[p.case.name], runs)))
    return done


# ----------------------------------------------------------------------- writing


def last_line(done: Sequence[Outcome]) -> str:
    """The summary: `N of M pairs agree (P %); K cases not expressible`."""
    verdicts = [pair.verdict.agrees for o in done for pair in o.pairs if pair.verdict.agrees is not None]
    agree, count = sum(verdicts), len(verdicts)
    # Rounded down: 94.97 % is not 95 %.
    share = math.floor(1000 * agree / count) / 10 if count else 0.0
    return f"{agree} of {count} pairs agree ({share:.1f} %); {sum(bool(o.refused) for o in done)} cases not expressible"


def _shown(value: Value | None) -> str:
    if value is None:
        return "–"
    # Below that it is only the rounding of equal numbers.
    spread = value.half > 1e-9 * abs(value.mean)
    return f"{value.mean:.5g} ± {value.half:.2g}" if spread else f"{value.mean:.5g}"


def _word(pair: Pair) -> str:
    v = pair.verdict
    if v.agrees is None:
        return "not counted"
    return f"agrees ({v.why})" if v.agrees else f"**differs** ({v.why})"


def _row(cells: Iterable[object]) -> str:
    return "| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |\n"


def _count(pairs: Sequence[Pair]) -> tuple[int, int]:
    known = [p.verdict.agrees for p in pairs if p.verdict.agrees is not None]
    return sum(known), len(known)


HEADER = """# Agreement with ns-2

<!-- Made by `penstock validate`; edits are lost. -->

{measured} Beside it what Penstock measures on the same cases with
`profile = "ns-2"` and no parameter tuned to a case. Where the data come from: `validation/README.md`. To repeat:
`make validate`, or `penstock validate --cases FILE --results FILE --out FILE` for other files in the same formats.
Agreement with Linux itself, its TCP on real packets and its own `sch_red` in a virtual machine:
[validation-real.md](validation-real.md).

ns-2 counts the SYN as a packet: for the comparison (only here) each long-lived flow that opened inside the window gets
one packet more. A pair whose reference is 0 or undefined is not counted. marks_1 are incipient marks, marks_2 moderate
ones (RARED: those made while the average climbs); maxp_mean is the mean of what an adapter moves: max_p, of AMECN the
incipient one, of NRED the exponent, of BLUE its probability; a queue without adapter has no such pair. Values are means
with the half-width of their 95 % interval; ours are over at least {seeds} seeds. A pair agrees when the difference
is within the tolerance, or within the joint interval √(h₁² + h₂²):

| pair | tolerance | ns-2 without spread (n ≤ {bare}) | one flow, no chance |
| --- | --- | --- | --- |
{rules}
"""


def _rules() -> str:
    rows = []
    for r in RULES:

        def shown(x: float, absolute: bool = r.absolute) -> str:
            return f"{x:g}" if absolute else f"{100 * x:g} %"

        alone = "± 1 event" if r.counted else "as before" if r.alone is None else f"{shown(r.alone)}, no interval"
        name = r.metric if r.metric == r.ours else f"{r.metric} → {r.ours}"
        rows.append(_row([name, shown(r.tolerance), shown(r.bare), alone]))
    return "".join(rows)


def report(
    done: Sequence[Outcome],
    causes: Sequence[Cause],
    seeds: int = SEEDS,
    measured: str = OTHER_FILES,
) -> str:
    """The whole document; its last line is `last_line`."""
    out = io.StringIO()
    out.write(HEADER.format(measured=measured, seeds=seeds, bare=NO_SPREAD, rules=_rules()))

    groups: dict[str, list[Outcome]] = {}
    for o in done:
        groups.setdefault(o.case.group, []).append(o)
    out.write("## Summary\n\n")
    out.write(_row(["group", "cases", *(r.metric for r in RULES), "all"]))
    out.write(_row(["---"] * (len(RULES) + 3)))
    for name, members in [*groups.items(), ("all", list(done))]:
        pairs = [p for o in members for p in o.pairs]
        cells = []
        for rule in RULES:
            agree, count = _count([p for p in pairs if p.metric == rule.metric])
            cells.append(f"{agree}/{count}" if count else "–")
        out.write(_row([name or "–", len(members), *cells, "{}/{}".format(*_count(pairs))]))

    for name, members in groups.items():
        out.write(f"\n## Group {name or '–'}\n")
        for o in members:
            if not o.pairs:
                continue
            about = f": {o.case.about}" if o.case.about else ""
            n = {v.n for p in o.pairs for v in (p.reference,) if v is not None}
            ours = {v.n for p in o.pairs for v in (p.ours,) if v is not None}
            out.write(f"\n### {o.case.name}{about}\n\n")
            out.write(_row(["pair", f"ns-2 (n {_span(n)})", f"Penstock (n {_span(ours)})", "difference", "verdict"]))
            out.write(_row(["---"] * 5))
            for p in o.pairs:
                out.write(_row([p.metric, _shown(p.reference), _shown(p.ours), p.verdict.difference, _word(p)]))

    differing = [p for o in done for p in o.pairs if p.verdict.agrees is False]
    out.write("\n## Pairs that differ, and why\n\n")
    _write_causes(out, differing, causes)
    out.write("\n## Cases not expressible\n\n")
    reasons: dict[str, list[str]] = {}
    for o in done:
        if o.refused:
            reasons.setdefault(o.refused, []).append(o.case.name)
    out.writelines(f"- {reason}: {', '.join(names)}\n" for reason, names in reasons.items())
    out.write("" if reasons else "None.\n")
    if unmeasured := [o.case.name for o in done if o.unmeasured]:
        out.write(f"\n## Cases without results of ns-2\n\n{', '.join(unmeasured)}\n")
    out.write(f"\n{last_line(done)}\n")
    return out.getvalue()


def _span(numbers: Iterable[int]) -> str:
    """`10`, or `8 … 10`.

    >>> _span([10, 8, 10])
    '8 … 10'
    """
    known = sorted(set(numbers))
    return "–" if not known else f"{known[0]}" if len(known) == 1 else f"{known[0]} … {known[-1]}"


def _write_causes(out: io.StringIO, pairs: Sequence[Pair], causes: Sequence[Cause]) -> None:
    """The pairs under the cause that was found for them, those that nobody looked at last."""
    if not pairs:
        out.write("None.\n")
        return
    by_cause: dict[str, list[Pair]] = {}
    for pair in pairs:
        text = next((c.text for c in causes if c.explains(pair)), NOT_LOOKED_AT)
        by_cause.setdefault(text, []).append(pair)
    for i, text in enumerate(sorted(by_cause, key=lambda t: t == NOT_LOOKED_AT)):
        out.write(f"{'' if i == 0 else chr(10)}{text}\n\n")
        for p in by_cause[text]:
            out.write(
                f"- {p.case}, {p.metric}: {p.verdict.difference} (ns-2 {_shown(p.reference)}, here {_shown(p.ours)})\n"
            )


# ----------------------------------------------------------------------- the command


def validate(cases: Path | None, results: Path | None, out: Path | None, jobs: int | None) -> int:
    """Runs the cases, writes the report, prints its last line; returns the exit status.

    cases, results: other files in the formats of `validation/`; default: both sets that lie there, a report on each.
    out: default the shipped report (of the first set, with files of one's own). jobs: threads; default: one for each
    core that the process may use.

    Raises `Error` for a file that cannot be read or makes no sense.
    """
    from penstock.runner import cores

    base = root()
    causes = read_causes(base / DATA / "causes.md")
    if cases is None and results is None and out is None:
        sets = [(base / DATA / s.cases, base / DATA / s.results, base / s.report, s.measured) for s in SHIPPED]
    else:
        first = SHIPPED[0]
        paths = cases or base / DATA / first.cases, results or base / DATA / first.results, out or base / first.report
        sets = [(*paths, OTHER_FILES)]
    everything: list[Outcome] = []
    for known, measured, written, about in sets:
        done = outcomes(read_cases(known), read_results(measured), jobs or cores())
        _files.write(written, report(done, causes, measured=about))
        everything += done
        if len(sets) > 1:
            print(f"{written.name}: {last_line(done)}")
    print(last_line(everything))
    return 0


def _table(done: Sequence[Outcome]) -> str:
    """A compact table for a terminal: a line a pair."""
    lines = []
    for o in done:
        if o.refused or o.unmeasured:
            lines.append(f"{o.case.name}: {o.refused or 'no results of ns-2'}")
        for p in o.pairs:
            mark = {True: "  ", False: "X ", None: "- "}[p.verdict.agrees]
            lines.append(
                f"{mark}{p.case:34} {p.metric:15} {_shown(p.reference):>24} {_shown(p.ours):>24} "
                f"{p.verdict.difference:>14}  {p.verdict.why if p.verdict.agrees is not None else ''}".rstrip()
            )
    return "\n".join([*lines, last_line(done)])


def main(argv: Sequence[str] | None = None) -> int:
    """`python -m penstock.validate`: a table of some cases on the terminal, for whoever looks for a difference."""
    from penstock.runner import cores

    parser = argparse.ArgumentParser(prog="python -m penstock.validate", description=main.__doc__)
    parser.add_argument("--only", default="*", metavar="GLOB", help="cases to run; several with commas")
    parser.add_argument("--cases", type=Path, metavar="FILE")
    parser.add_argument("--results", type=Path, metavar="FILE")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N")
    parser.add_argument("--jobs", type=int, metavar="N")
    parser.add_argument("--differing", action="store_true", help="only pairs that differ")
    parser.add_argument("--scenario", action="store_true", help="print the scenarios as JSON instead of running them")
    options = parser.parse_args(argv)
    base = root()
    known = read_cases(options.cases or base / DATA / "ns2-cases.json")
    globs = options.only.split(",")
    chosen = [c for c in known if any(fnmatch.fnmatchcase(c.name, g) for g in globs)]
    if options.scenario:
        for case in chosen:
            print(json.dumps(scenario(case.name, case.args), indent=1))
        return 0
    done = outcomes(
        chosen,
        read_results(options.results or base / DATA / "ns2.csv"),
        options.jobs or cores(),
        options.seeds,
    )
    if options.differing:
        done = [
            Outcome(o.case, tuple(p for p in o.pairs if p.verdict.agrees is False), o.refused, o.unmeasured)
            for o in done
        ]
    print(_table(done))
    return 0


if __name__ == "__main__":
    sys.exit(main())
