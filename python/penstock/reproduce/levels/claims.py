"""States what is asked of the signals beside what sources lead to expect, and lists all claims."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.judging.rules import Above, Below, Within
from penstock.reproduce.comparisons import Comparison, Values, at_equal, of_one_case
from penstock.reproduce.levels import scenarios as at
from penstock.reproduce.levels import signals
from penstock.reproduce.levels.expected import EXPECTED
from penstock.reproduce.levels.measured import (
    DOWNLOADS,
    GOODPUT,
    P99,
    PAGE,
    RATING,
    USED,
    moderate_share,
    per_flow_ratio,
)
from penstock.reproduce.levels.values import at_each, middle, percent_more, versus_at_places
from penstock.reproduce.measures import DELAY, LOSS, Measure
from penstock.reproduce.model import Claim, Numbers
from penstock.reproduce.runs import Labels, Runs

#: A signal of the new kind → what it is compared with: nearest to it, with classic ECN.
AGAINST = {
    "MECN": "RED",
    "AMECN": "RED",
    "AMECN repaired": "RED",
    "SCE, CUBIC": "CoDel",
    "SCE, Reno": "CoDel",
    "DualPI2, Prague": "CoDel",
    "Step, Prague": "CoDel",
    "Step, DCTCP": "CoDel",
}


def key_of(name: str) -> str:
    """Returns a signal's name as keys have it: `"dualpi2-prague"`."""
    return name.lower().replace(", ", "-").replace(" ", "-")


def asked_at_places() -> Iterator[Claim]:
    """Yields each signal's own numbers, and each new one beside the nearest classic one, over the places."""
    for name in signals.NAMES:
        for what, measure, unit in (
            ("delay", DELAY, "ms"),
            ("p99", P99, "ms"),
            ("used", USED, "%"),
            ("loss", LOSS, "%"),
        ):
            yield Claim(
                key=f"places.{what}-{key_of(name)}",
                text=f"{name}: the median over the places of {_WORDS[what]}.",
                exhibit="places",
                paper_value="asked",
                of="project",
                unit=unit,
                cases=signals.places(name),
                values=middle(at_each("place", measure.quantity, measure.scale, aqm=name)),
                rule=None,
            )
    yield Claim(
        key="places.moderate",
        text="How many of MECN's marks are moderate.",
        exhibit="places",
        paper_value="asked",
        of="project",
        unit="%",
        cases=signals.places("MECN"),
        values=at_each("place", moderate_share, 100),
        rule=None,
    )
    for ours, theirs in (*AGAINST.items(), ("MECN", "CoDel")):
        for what, measure, rule in (("delay", DELAY, Below()), ("goodput", GOODPUT, Above(-1.0))):
            yield versus_at_places(ours, theirs).percent(
                measure,
                key=f"places.{what}-{key_of(ours)}-{key_of(theirs)}",
                text=f"{ours} has {_BETTER[what]} than {theirs} at each place.",
                paper_value="asked",
                of="project",
                rule=rule,
            )


_BETTER = {"delay": "a lower mean delay", "goodput": "at most one percent less goodput"}
_WORDS = {
    "delay": "the mean delay",
    "p99": "the 99th percentile of the delay",
    "used": "what is used of the link",
    "loss": "what is lost",
}


_EQUAL = {"delay": "a lower delay at equal use of the link", "used": "more use of the link at equal delay"}


def asked_of_the_plane() -> Iterator[Claim]:
    """Yields delay at equal use, and use at equal delay, where two curves share a range."""
    for ours, theirs in (("MECN", "RED"), ("AMECN repaired", "RED"), ("MECN", "CoDel"), ("SCE, CUBIC", "CoDel")):
        for place in signals.PLANE:
            for what, x, y, rule in (("delay", USED, DELAY, Below()), ("used", DELAY, USED, Above())):
                yield Claim(
                    key=f"plane.{what}-{key_of(ours)}-{key_of(theirs)}-{signals.PLACES[place].rate_mbps}",
                    text=f"{ours} has {_EQUAL[what]} than {theirs} at {place}: the mean over the range that both lines "
                    "share.",
                    exhibit="plane",
                    paper_value="asked",
                    of="project",
                    unit=y.unit,
                    cases=at.Plane((ours, theirs), (place,)),
                    values=_between(x, y, ours, theirs),
                    rule=rule,
                )


def _between(x: Measure, y: Measure, ours: str, theirs: str) -> Values:
    def values(runs: Runs) -> Numbers:
        if not len(runs):
            return []
        found = at_equal(runs, x.quantity, y.quantity, "factor", {"aqm": ours}, {"aqm": theirs})
        return [float(y.scale * np.mean(row)) for row in found]

    return values


_AFTER = {"p99": "a lower 99th percentile of the delay", "used": "at most a point less of the link in use"}


def asked_of_changes() -> Iterator[Claim]:
    """Yields the peak and what is carried after every change, beside the nearest classic signal."""
    for change in at.CHANGES:
        for ours, theirs in AGAINST.items():
            versus = Comparison(
                cases=at.OVER_CHANGES.only(ours, theirs, at=(change,)), ours=ours, theirs=theirs, along=None
            )
            for what, measure, rule in (("p99", P99, Below()), ("used", USED, Above(-1.0))):
                yield versus.difference(
                    measure,
                    key=f"changes.{what}-{key_of(ours)}-{change.replace(' ', '-')}",
                    text=f"In the ten seconds after the {change}, {ours} has {_AFTER[what]} than {theirs}.",
                    paper_value="asked",
                    of="project",
                    rule=rule,
                )


def asked_at_home() -> Iterator[Claim]:
    """Yields what a call, a page and a download have at home."""
    for name in signals.NAMES:
        for what, measure, unit in (("call", RATING, "R"), ("page", PAGE, "s"), ("downloads", DOWNLOADS, "Mbit/s")):
            yield Claim(
                key=f"home.{what}-{key_of(name)}",
                text=f"{name}: {measure.axis.partition(' [')[0]}.",
                exhibit="home",
                paper_value="asked",
                of="project",
                unit=unit,
                cases=at.AtHome((name,)),
                values=of_one_case(measure.quantity, measure.scale),
                rule=None,
            )


def asked_of_crowds() -> Iterator[Claim]:
    """Yields the share of each new kind beside each neighbour in each queue: who starves whom."""
    for new, queues in at.MEETS.items():
        for queue in queues:
            for neighbour in at.NEIGHBOURS:
                if queue == "FQ-CoDel" and neighbour == "CUBIC":
                    continue
                yield Claim(
                    key=f"crowd.{new.lower()}-{key_of(at.queue_name(queue))}-{neighbour.lower()}",
                    text=f"A flow of {new} has between half and twice the goodput of one of {neighbour} through "
                    f"{at.queue_name(queue)}, whatever the share.",
                    exhibit="crowd",
                    paper_value="asked",
                    of="project",
                    unit="times",
                    cases=at.Crowd((new,), (queue,), (neighbour,)),
                    values=at_each("part", per_flow_ratio),
                    rule=Within(0.5, 2.0),
                )
    for new in at.NEW:
        for queue in ("CoDel", "its own"):
            yield Claim(
                key=f"pairs.{new.lower()}-{queue.replace(' ', '-').lower()}",
                text=f"One flow of {new} has between half and twice the goodput of one of CUBIC through "
                f"{'CoDel' if queue == 'CoDel' else 'its own queue'}, at every rate.",
                exhibit="pairs",
                paper_value="asked",
                of="project",
                unit="times",
                cases=at.Pairs((new,), queues=(queue,)),
                values=at_each("rate", per_flow_ratio),
                rule=Within(0.5, 2.0),
            )


def asked_where_hidden() -> Iterator[Claim]:
    """Yields what happens on paths that do not carry the signal, beside CoDel with classic ECN where all goes well."""
    for name in at.BLIND:
        for path in at.SITUATIONS:
            for what, measure in (("delay", DELAY), ("used", USED), ("loss", LOSS)):
                yield Claim(
                    key=f"hidden.{what}-{key_of(name)}-{path.replace(' ', '-').lower()}",
                    text=f"{name}, {path}: {_WORDS[what]}.",
                    exhibit="hidden",
                    paper_value="asked",
                    of="project",
                    unit={"delay": "ms"}.get(what, "%"),
                    cases=at.OVER_SITUATIONS.only(name, at=(path,)),
                    values=of_one_case(measure.quantity, measure.scale),
                    rule=None,
                )


def asked_of_the_second_level() -> Iterator[Claim]:
    """Yields what the second level buys, all else equal."""
    for control in at.FOLDED:
        for cut in (0.2, 0.3, 0.4) if control == "Reno" else (0.2, 0.3):
            one = at.one_level(cut)
            versus = Comparison(
                cases=at.Folded((control,), levels=(at.TWO, one)),
                ours=at.TWO,
                theirs=one,
                series="level",
                along="place",
            )
            for what, said, measure, rule in (
                ("delay", "a lower delay", DELAY, Below()),
                ("goodput", "more goodput", GOODPUT, Above()),
            ):
                yield versus.percent(
                    measure,
                    key=f"folded.{what}-{control.lower()}-{100 * cut:g}",
                    text=f"Under {control} the two levels have {said} than one level that takes {100 * cut:g} % at "
                    "each place.",
                    paper_value="asked",
                    of="project",
                    rule=rule,
                )
        for name in at.FOLDED_AT:
            place = signals.PLACES[name]
            yield Claim(
                key=f"folded.equal-{control.lower()}-{place.rate_mbps}-{place.rtt_ms}",
                text=f"Under {control} the two levels deliver more at their delay than one level does, at {place}: "
                "over the line between the two cuts whose delays are nearest on both sides.",
                exhibit="folded",
                paper_value="asked",
                of="project",
                unit="% of one level's",
                cases=at.Folded((control,), (name,)),
                values=beside_one_level,
                rule=Above(),
            )
    yield from asked_of_the_ramp()


def asked_of_the_ramp() -> Iterator[Claim]:
    """Yields what SCE's second level buys its senders."""
    for window in at.WINDOWS:
        cases = at.Ramped((window,))
        versus = Comparison(cases=cases, ours=at.RAMP[0], theirs=at.RAMP[1], series="ramp", along="place")
        for what, measure, rule in (("delay", DELAY, Below()), ("goodput", GOODPUT, Above(-1.0))):
            yield versus.percent(
                measure,
                key=f"ramp.{what}-{window.lower()}",
                text=f"The ramp gives {window}-SCE {_BETTER[what]} at each place.",
                paper_value="asked",
                of="project",
                rule=rule,
            )


def beside_one_level(runs: Runs) -> Numbers:
    """Returns, seed by seed, how much more goodput two levels have than one level at the same delay, in percent.

    One level's curve is that of its cuts; beyond its ends it does not apply: NaN.
    """
    if not len(runs):
        return []
    levels = [level for level in runs.labels("level") if level != at.TWO]
    delays, goodputs = (np.array([runs.values(q, level=x) for x in levels]) for q in ("delay_mean_s", "goodput_bps"))
    found = []
    two = zip(runs.values("delay_mean_s", level=at.TWO), runs.values("goodput_bps", level=at.TWO), strict=True)
    for i, (delay, goodput) in enumerate(two):
        order = np.argsort(delays[:, i])
        there = np.interp(delay, delays[order, i], goodputs[order, i], left=np.nan, right=np.nan)
        found.append(float(100 * (goodput / there - 1)))
    return found


def asked_of_keys() -> Iterator[Claim]:
    """Yields by how much each key moves delay and goodput."""
    for name, knobs in at.KNOBS.items():
        usual: Labels = {"aqm": name, "knob": at.AS_IT_IS, "way": ""}
        for knob, _, low, high in knobs:
            for way, value in (("lower", low), ("higher", high)):
                for what, quantity in (("delay", "delay_mean_s"), ("goodput", "goodput_bps")):
                    yield Claim(
                        key=f"tuned.{what}-{key_of(name)}-{knob}-{way}",
                        text=f"{name} with {knob} = {value}: by how much {what} changes.",
                        exhibit="tuned",
                        paper_value="asked",
                        of="project",
                        unit="%",
                        cases=at.Tuned((name,), (at.AS_IT_IS, knob)),
                        values=percent_more(quantity, {"aqm": name, "knob": knob, "way": way}, usual),
                        rule=None,
                    )


ASKED = (
    *asked_at_places(),
    *asked_of_the_plane(),
    *asked_of_changes(),
    *asked_at_home(),
    *asked_of_crowds(),
    *asked_where_hidden(),
    *asked_of_the_second_level(),
    *asked_of_keys(),
)
CLAIMS = (*EXPECTED, *ASKED)
