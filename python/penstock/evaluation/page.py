"""The pages: one that compares all candidates, and one for each. They open from a file and fetch nothing."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from penstock import __version__
from penstock._files import write
from penstock._names import listing
from penstock.evaluation import measured
from penstock.evaluation.candidates import BASELINE
from penstock.evaluation.cost import Costs
from penstock.evaluation.judge import Answer, Judged, Judgement
from penstock.evaluation.link import RFC, Link
from penstock.evaluation.numbers import Numbers
from penstock.evaluation.points import Where
from penstock.evaluation.questions import Question
from penstock.evaluation.real import SHOWN, Carried, estimates, real_csv
from penstock.evaluation.rfc import Experiment
from penstock.judging.estimate import Estimate, bounds_of
from penstock.runs.forked import forked
from penstock.show import palette, style
from penstock.show.numbers import number
from penstock.show.pages import svg, templates

#: The columns of `answers.csv`. Numbers are in the unit named.
COLUMNS = (
    *("candidate", "question", "section", "text", "answer", "rule", "measured", "unit"),
    *("mean", "ci95", "n", "minus_droptail", "minus_droptail_ci95", "differs_from_droptail", "best", "low", "high"),
)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What the pages are made of."""

    numbers: Numbers
    judgement: Judgement
    questions: Sequence[Question]
    experiments: Sequence[Experiment]
    names: Sequence[str]
    seeds: Sequence[int]
    knob_seeds: Sequence[int]
    costs: Costs
    changes: str = ""
    real: Sequence[Carried] = ()
    link: Link = RFC

    @property
    def best_is(self) -> Mapping[str, Sequence[str]]:
        """Returns the candidates that answer a question best: question → names."""
        return self.judgement.best


def file_of(name: str) -> str:
    """Returns the name of a candidate's page.

    >>> file_of("my_aqm.Mine")
    'my_aqm.Mine.html'
    """
    return re.sub(r"[^\w.-]", "-", name) + ".html"


def write_pages(out: Path, done: Evaluated, jobs: int) -> Path:
    """Writes the pages, which several processes draw, and the tables; returns the first page."""
    write(out / "answers.csv", answers_csv(done))
    write(out / "numbers.csv", measured.measured_csv(done.numbers, done.names))
    if done.real:
        write(out / "real.csv", real_csv(done.real))
    environment = templates(Path(__file__).parent / "page")
    shared: dict[str, Any] = {
        "version": __version__,
        "variables": palette.css(),
        "seeds": _seeds(done.seeds),
        "knob_seeds": _seeds(done.knob_seeds),
        "experiments": done.experiments,
        "link": "" if done.link == RFC else done.link.text,
        "link_notes": done.link.notes,
        "changes": done.changes,
        "names": done.names,
        "costs_under": done.costs.under,
        "real": done.real,
    }

    def made(name: str | None) -> str:
        template, content = ("compare.html", _all(done)) if name is None else ("one.html", _one(done, name))
        return environment.get_template(template).render(**shared, **content)

    done.numbers.load()  # once, before the processes part
    wanted: list[str | None] = [None, *done.names]
    for name, page in zip(wanted, forked(made, wanted, jobs), strict=True):
        write(out / ("index.html" if name is None else file_of(name)), page)
    return out / "index.html"


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]}–{seeds[-1]}"


def said(judged: Judged) -> str:
    """Returns an answer's number, in its question's unit: `"12.8 ± 0.4 ms"`."""
    question = judged.question
    text = number(judged.estimate, question.scale)
    return f"{text} {question.unit}".rstrip() if judged.estimate.mean is not None else "–"


def _all(done: Evaluated) -> dict[str, Any]:
    rows = []
    for question in done.questions:
        cells = []
        for name in done.names:
            judged = done.judgement.of(question, name)
            best = name in done.best_is[question.key]
            cells.append({"name": name, "answer": judged.answer.value, "said": _short(judged), "best": best})
        rows.append({"question": question, "cells": cells})
    title = "Queue disciplines, judged by RFC 7928"
    files = {name: file_of(name) for name in done.names}
    return {
        "title": title,
        "rows": rows,
        "sentences": [_sentence(done, name) for name in done.names],
        "files": files,
        "figures": _figures(done, done.names, "all"),
        "costs": [_cost(done, name) for name in done.names],
        "carried": _carried_in_short(done),
    }


def _short(judged: Judged) -> str:
    """Returns an answer's number without its interval: `"12.8"`, in the unit of its rule.

    A rule that speaks of DropTail names no unit; then the number has it.
    """
    mean = judged.estimate.mean
    if mean is None:
        return "–"
    unit = f" {judged.question.unit}".rstrip() if judged.question.of_droptail else ""
    return f"{_digits(mean * judged.question.scale)}{unit}"


def _digits(x: float) -> str:
    """Returns three digits, and all those before the point."""
    return f"{x:.0f}" if abs(x) >= 1000 else f"{x:.3g}"


#: The numbers that a discipline's sentence has, as far as they were asked for.
_TOLD = {"delay": "packets wait {} under heavy load", "busy": "the link is busy {} under light load"}


def _sentence(done: Evaluated, name: str) -> dict[str, Any]:
    """Returns what came of a discipline in a sentence, the questions that it fails, and its colour."""
    judged = [done.judgement.of(question, name) for question in done.questions]
    asked = [each for each in judged if each.answer is not Answer.NOT_ASKED]
    counts = {answer: sum(each.answer is answer for each in asked) for answer in Answer}
    text = f"answers {counts[Answer.YES]} of {len(asked)} questions with yes, {counts[Answer.NO]} with no"
    undecided = counts[Answer.UNDECIDED]
    text += f"; the runs do not tell {undecided}." if undecided else "."
    told = []
    for each in judged:
        if each.question.key in _TOLD and each.estimate.mean is not None:
            value = f"{_digits(each.estimate.mean * each.question.scale)} {each.question.unit}"
            told.append(_TOLD[each.question.key].format(value))
    if told:
        found = ", ".join(told)
        text += f" {found[0].upper()}{found[1:]}."
    fails = [each.question.text.rstrip("?") for each in asked if each.answer is Answer.NO]
    more = f" and {len(fails) - 3} more" if len(fails) > 3 else ""
    look = style.looks(list(done.names))[name].colour
    colour = next(each.name for each in palette.PALETTE if each.light == look)
    return {"name": name, "said": text, "no": "; ".join(fails[:3]) + more, "colour": colour}


def _one(done: Evaluated, name: str) -> dict[str, Any]:
    rows = []
    for question in done.questions:
        judged = done.judgement.of(question, name)
        rows.append(
            {
                "question": question,
                "answer": judged.answer.value,
                "ours": said(judged),
                "against": _against(judged),
                "droptail": said(done.judgement.of(question, BASELINE)),
                "best": _best(done, question),
            }
        )
    return {
        "title": f"{name}, judged by RFC 7928",
        "name": name,
        "doc": _doc(name),
        "rows": rows,
        "knobs": _knobs(done, name),
        "columns": measured.COLUMNS,
        "measured": measured.rows(done.numbers, name),
        "costs": [_cost(done, each) for each in dict.fromkeys([name, BASELINE])],
        "carried": _carried(done, name),
        "carried_metrics": [title for title, _, _ in SHOWN.values()],
        "figures": _figures(done, [BASELINE, name] if name != BASELINE else [BASELINE], name),
    }


def _against(judged: Judged) -> str:
    """Returns the paired difference to DropTail, in words."""
    if judged.against is None or judged.against.mean is None:
        return ""
    if not judged.differs:
        return "no different from DropTail"
    text = number(judged.against, judged.question.scale, sign=True).replace("-", "−")
    return f"{text} {judged.question.unit}".rstrip() + " against DropTail"


def _best(done: Evaluated, question: Question) -> str:
    """Returns the best number, and whose it is; where several cannot be told apart, how many."""
    best = done.best_is[question.key]
    if not best:
        return "–"
    text = said(done.judgement.of(question, best[0]))
    more = "" if len(best) <= 3 else f" and {len(best) - 3} more"
    return f"{text}: {', '.join(best[:3])}{more}"


def _doc(name: str) -> str:
    docs = {each["name"]: each["doc"] for each in listing("aqm")}
    return str(docs.get(name, "A discipline of your own."))


def _knobs(done: Evaluated, name: str) -> list[dict[str, Any]]:
    """Returns each control value varied: what it does to three metrics."""
    numbers = done.numbers
    found = []
    for where in numbers.seeds:
        if where.candidate != name or not where.knob:
            continue
        usual = Where(name, where.experiment, where.variant)
        cells = []
        for metric, factor, unit in (("delay_mean_s", 1e3, "ms"), ("utilization", 100, "%"), ("loss_ratio", 100, "%")):
            ours, theirs = numbers.metric(where, metric), numbers.metric(usual, metric)
            n = min(len(ours), len(theirs))
            apart = [float(v) for v in ours[:n] - theirs[:n] if np.isfinite(v)]
            change = Estimate.of_differences(apart, bounds_of(metric))
            mean = Estimate.of([float(v) for v in ours if np.isfinite(v)], bounds_of(metric))
            text = "–" if mean.mean is None else f"{mean.mean * factor:.3g} {unit}"
            cells.append(f"{text} ({number(change, factor, sign=True)})")
        found.append({"name": where.knob, "cells": cells})
    refused = [w for w in numbers.plan.refused if w.candidate == name]
    return found + [{"name": w.knob, "cells": ["not allowed", "", ""]} for w in refused]


def _cost(done: Evaluated, name: str) -> dict[str, Any]:
    """Returns what a candidate costs, each number as text."""
    cost = done.costs.of[name]
    held = (cost.ns, cost.instructions, cost.state_bytes, cost.packet_bytes, cost.values)
    return {"name": name, "cells": ["–" if n is None else f"{n:,}" for n in held]}


def _carried(done: Evaluated, name: str) -> list[dict[str, Any]]:
    """Returns the scenarios that real packets carried: both sides' numbers, and whether they agree."""
    found = []
    for each in done.real:
        if each.candidate != name:
            continue
        pairs = {pair.metric: pair for pair in each.pairs}
        cells = []
        for metric, (_, factor, unit) in SHOWN.items():
            if metric not in pairs:
                cells.append({"real": "–", "simulated": "", "agrees": ""})
                continue
            real, simulated = (number(side, factor) for side in estimates(pairs[metric]))
            verdict = {True: "yes", False: "no", None: ""}[pairs[metric].agrees]
            cells.append({"real": f"{real} {unit}", "simulated": f"{simulated} {unit}", "agrees": verdict})
        valid = f"{each.valid} of {each.tried}" if each.tried else "not carried"
        found.append({"experiment": each.experiment, "valid": valid, "why": each.why, "cells": cells})
    return found


def _carried_in_short(done: Evaluated) -> list[dict[str, Any]]:
    """Returns how many scenarios of each candidate were valid on real packets, and how many numbers agree."""
    found = []
    for name in done.names:
        mine = [each for each in done.real if each.candidate == name]
        told = [pair.agrees for each in mine for pair in each.pairs if pair.agrees is not None]
        valid = sum(1 for each in mine if each.pairs)
        found.append({"name": name, "valid": valid, "tried": len(mine), "agree": sum(told), "pairs": len(told)})
    return found if done.real else []


def _figures(done: Evaluated, names: Sequence[str], prefix: str) -> list[dict[str, Any]]:
    """Returns the figures whose runs there are, as SVG for the page."""
    from penstock.evaluation.figures import DRAWINGS  # matplotlib, which takes longer to load than all else

    there = {each.key for each in done.experiments}
    found = []
    for drawing in DRAWINGS:
        if there.issuperset(drawing.needs):
            drawn = svg(partial(drawing.draw, done.numbers, names), f"{prefix}-{drawing.key}", drawing.title)
            shown = {name: getattr(drawing, name) for name in ("key", "section", "title")}
            found.append(shown | {"caption": drawing.caption.format(**done.link.words), "svg": drawn})
    return found


def answers_csv(done: Evaluated) -> str:
    """Returns every answer, a row each."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for name in done.names:
        for q in done.questions:
            judged = done.judgement.of(q, name)
            about = (name, q.key, q.section, q.text, judged.answer.value, q.rule_text, q.measured, q.unit)
            best = name in done.best_is[q.key]
            against = judged.against or Estimate(None, None, 0)
            numbers = (*_scaled(q, *judged.estimate[:2]), judged.estimate.n, *_scaled(q, *against[:2]))
            ends = _scaled(q, judged.estimate.low, judged.estimate.high)
            rows.writerow([*about, *numbers, judged.differs, best, *ends])
    return text.getvalue()


def _scaled(question: Question, *values: float | None) -> list[str | None]:
    return [None if v is None else f"{v * question.scale:.6g}" for v in values]
