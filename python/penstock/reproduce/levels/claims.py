"""States what sources lead to expect of the signals, and what is asked beside that, as numbers.

The sources' expectations were written down before the first run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.judging.rules import Above, Below, Within
from penstock.reproduce.comparisons import (
    Comparison,
    Values,
    at_equal,
    of_one_case,
)
from penstock.reproduce.levels import LOOKS
from penstock.reproduce.levels import scenarios as at
from penstock.reproduce.levels.exhibits import (
    DOWNLOADS,
    GOODPUT,
    JAIN,
    P99,
    PAGE,
    RATING,
    USED,
    moderate_share,
    per_flow_ratio,
)
from penstock.reproduce.measures import DELAY, LOSS, Measure
from penstock.reproduce.model import Claim, Numbers, Rule
from penstock.reproduce.runs import Labels, Quantity, Runs, bounds, within

#: How many seeds a claim takes at most: the last look, or the first where runs are dear.
LONG, MOST = LOOKS

#: Places where a packet takes less than the millisecond that L4S aims at.
FAST = tuple(name for name, place in at.PLACES.items() if place.rate_mbps >= 20)
SEVERAL = tuple(name for name, place in at.PLACES.items() if place.flows > 1)

# ---- from runs to numbers


def at_each(along: str, quantity: Quantity, scale: float = 1.0, **labels: str | float | int) -> Values:
    """Returns the quantity, times `scale`, at every value of the label `along`."""

    @within(bounds(quantity, scale))
    def values(runs: Runs) -> Numbers:
        part = runs.where(**labels) if labels else runs
        return {str(x): [float(scale * v) for v in part.values(quantity, **{along: x})] for x in part.labels(along)}

    return values


def middle(values: Values) -> Values:
    """Returns the median over the points, seed by seed."""

    @within(bounds(values))
    def median(runs: Runs) -> Numbers:
        found = values(runs)
        assert not isinstance(found, Sequence)
        return [float(x) for x in np.nanmedian(np.array(list(found.values())), axis=0)]

    return median


def _versus(ours: str, theirs: str, where: Sequence[str] | None = None) -> Comparison:
    return Comparison(cases=at.places(ours, theirs, at=where), ours=ours, theirs=theirs, along="place")


# ---- what sources lead to expect


def expected_at_places() -> Iterator[Claim]:
    """Yields what is expected at the places."""
    l4s = "DualPI2, Prague"
    yield _versus("CoDel", "CoDel, drops").difference(
        LOSS,
        key="places.ecn-loss",
        text="CoDel that marks loses fewer packets than CoDel that drops at each place.",
        paper_value="fewer",
        place="RFC 8087, section 2.1",
        rule=Below(),
        most=LONG,
    )
    yield _versus("CoDel", "CoDel, drops").percent(
        GOODPUT,
        key="places.ecn-goodput",
        text="CoDel that marks delivers at least what CoDel that drops delivers at each place: the goodput less one "
        "percent.",
        paper_value="more",
        place="RFC 8087, section 2.1",
        rule=Above(-1.0),
        most=LONG,
    )
    for key, said, measure, most_ms, place in (
        ("mean", "mean", DELAY, 1.0, "RFC 9330, section 1: less than a millisecond on average"),
        ("p99", "99th percentile of the", P99, 2.0, "RFC 9330, section 1: 1 to 2 ms at the 99th percentile"),
    ):
        yield Claim(
            key=f"places.l4s-{key}",
            text=f"With Prague through DualPI2 the {said} queueing delay is below {most_ms:g} ms from 20 Mbit/s on.",
            exhibit="places",
            paper_value=f"{most_ms:g} ms",
            place=place,
            unit="ms",
            cases=at.places(l4s, at=FAST),
            values=at_each("place", measure.quantity, 1e3, aqm=l4s),
            rule=Below(most_ms),
            most=LONG,
        )
    yield _versus(l4s, "CoDel").difference(
        USED,
        key="places.l4s-used",
        text="Prague through DualPI2 uses as much of the link as CUBIC through CoDel at each place: at most two points "
        "less.",
        paper_value="as much",
        place="RFC 9332, abstract: without compromising link utilization",
        rule=Above(-2.0),
        most=LONG,
    )
    yield _versus(l4s, "CoDel").difference(
        LOSS,
        key="places.l4s-loss",
        text="Prague through DualPI2 loses no more than CUBIC through CoDel at each place: at most a hundredth of a "
        "percent more.",
        paper_value="next to none",
        place="RFC 9330, section 1",
        rule=Below(0.01),
        most=LONG,
    )
    yield _versus("SCE", "CoDel").difference(
        DELAY,
        key="places.sce-delay",
        text="SCE's queue is shorter than CoDel's at each place: the mean delay.",
        paper_value="shorter",
        place="draft-morton-tsvwg-sce-04, section 1",
        rule=Below(),
        most=LONG,
    )
    yield _versus("SCE", "CoDel").difference(
        USED,
        key="places.sce-used",
        text="SCE uses what CUBIC's sawtooth leaves through CoDel: at least as much of the link at each place, less "
        "one point.",
        paper_value="almost all that is left",
        place="J. Morton, ecn-sane, 10 July 2019",
        rule=Above(-1.0),
        most=LONG,
    )
    one = "1 Gbit/s, 10 ms, 1 flow"
    yield _versus("Step, DCTCP", "DropTail", [one]).percent(
        DELAY,
        key="places.dctcp-delay",
        text="DCTCP through a step needs a tenth of the buffer that TCP takes through DropTail at 1 Gbit/s and 10 ms: "
        "the mean delay less DropTail's.",
        paper_value="−90 %",
        printed=-90.0,
        place="Alizadeh et al. 2010, abstract",
        rule=Below(-80.0),
        most=LONG,
    )
    yield _versus("Step, DCTCP", "DropTail", [one]).difference(
        USED,
        key="places.dctcp-used",
        text="It delivers as much there: the link's use, at most a point less.",
        paper_value="the same or better",
        place="Alizadeh et al. 2010, abstract",
        rule=Above(-1.0),
        most=LONG,
    )
    for key, measure, percent, rule, said, value in (
        ("loss", LOSS, False, Below(), "loses fewer packets than RED with ECN at each place", "fewer"),
        (
            "goodput",
            GOODPUT,
            True,
            Above(),
            "delivers more than RED with ECN at each place",
            "up to twenty times as much",
        ),
    ):
        versus = _versus("MECN", "RED")
        yield (versus.percent if percent else versus.difference)(
            measure,
            key=f"places.mecn-{key}",
            text=f"MECN {said}.",
            paper_value=value,
            place="Durresi et al. 2001 and 2007 (IPSJ), abstracts",
            rule=rule,
            most=LONG,
        )
    yield _versus("MECN", "RED", SEVERAL).difference(
        JAIN,
        key="losses.mecn-fair",
        text="MECN shares more fairly than RED with ECN at each place with several flows: Jain's index.",
        paper_value="better fairness",
        place="Durresi et al. 2001, abstract",
        rule=Above(),
        most=LONG,
    )


#: Ratio of goodputs to one CUBIC flow: key, (new, queue, round trip), what is published, the range, the source. A
#: published ratio counts as found within a factor of two, one of 1.5 within that factor.
_RATIOS: Sequence[tuple[str, tuple[str, str, int], str, float | None, Rule, str]] = (
    ("prague-codel", ("Prague", "CoDel", 20), "24 : 1", 24.0, Within(12, 48), "heistp/l4s-tests 2020, fq_codel(1q)"),
    ("prague-codel-10", ("Prague", "CoDel", 10), "7.5 : 1", 7.5, Within(3.75, 15), "heistp/sce-l4s-bakeoff 2019, 3"),
    ("prague-fq", ("Prague", "FQ-CoDel", 20), "1.03 : 1", 1.03, Within(0.9, 1.1), "heistp/l4s-tests 2020, scenario 1"),
    ("prague-dualpi2", ("Prague", "DualPI2, Prague", 20), "1 : 1", 1.0, Within(0.5, 2), "RFC 9332, section 1.4"),
    ("sce-codel", ("SCE", "CoDel", 10), "1.5 : 1", 1.5, Within(1.0, 2.25), "heistp/sce-l4s-bakeoff 2019, 3"),
    ("sce-own", ("SCE", "SCE", 10), "dominated by CUBIC", None, Below(0.5), "heistp/sce-l4s-bakeoff 2019, 1"),
)


def expected_of_two() -> Iterator[Claim]:
    """Yields published ratios of two flows' goodputs."""
    for key, case, value, printed, rule, place in _RATIOS:
        new, queue, trip = case
        yield Claim(
            key=f"published.{key}",
            text=f"One flow of {new} has the published multiple of a CUBIC flow's goodput through "
            f"{at.queue_name(queue)} at 50 Mbit/s and {trip} ms.",
            exhibit="published",
            paper_value=value,
            place=place,
            unit="times",
            cases=at.Published((case,)),
            values=of_one_case(per_flow_ratio),
            rule=rule,
            printed=printed,
            most=MOST,
        )


def expected_of_crowds() -> Iterator[Claim]:
    """Yields what is expected beside neighbours."""
    yield Claim(
        key="crowd.dualpi2",
        text="In DualPI2 a Prague flow has about the rate of a CUBIC flow, whatever the share of Prague.",
        exhibit="crowd",
        paper_value="about equal",
        place="RFC 9332, section 1.4",
        unit="times",
        cases=at.Crowd(("Prague",), ("DualPI2, Prague",), ("CUBIC",)),
        values=at_each("part", per_flow_ratio),
        rule=Within(0.5, 2.0),
        most=MOST,
    )
    for new in at.NEW:
        yield Claim(
            key=f"crowd.isolated-{new.lower()}",
            text=f"Under flow isolation a flow of {new} has the rate of a CUBIC flow, whatever the share.",
            exhibit="crowd",
            paper_value="equal",
            place="RFC 8290, section 1",
            unit="times",
            cases=at.Crowd((new,), ("FQ-CoDel",), ("CUBIC",)),
            values=at_each("part", per_flow_ratio),
            rule=Within(0.9, 1.1),
            most=MOST,
        )


def expected_elsewhere() -> Iterator[Claim]:
    """Yields what is expected of changes, of hidden signals, and of the cut for a mark."""
    rises = Comparison(
        cases=at.OVER_CHANGES.only("MECN", "RED", at=("load rises",)), ours="MECN", theirs="RED", along=None
    )
    yield rises.difference(
        P99,
        key="changes.mecn-rises",
        text="After the load rises MECN has the shorter peak than RED with ECN: the 99th percentile of ten seconds.",
        paper_value="stable sooner",
        place="Durresi et al. 2007 (IPSJ), abstract",
        rule=Below(),
        most=MOST,
    )
    yield Claim(
        key="changes.l4s-loss",
        text="After the rate falls to a quarter Prague through DualPI2 loses next to nothing: below a tenth of a "
        "percent.",
        exhibit="changes",
        paper_value="next to none",
        place="RFC 9330, section 1",
        unit="percent",
        cases=at.OVER_CHANGES.only("DualPI2, Prague", at=("rate falls",)),
        values=of_one_case("loss_ratio", 100),
        rule=Below(0.1),
        most=MOST,
    )
    versus = Comparison(cases=at.Conventional(), ours="SCE's", theirs="classic", series="senders", along="place")
    yield versus.percent(
        GOODPUT,
        key="ramp.conventional",
        text="Through CoDel without a ramp SCE's senders deliver what classic ones deliver at each place: within five "
        "percent.",
        paper_value="indistinguishable",
        place="heistp/sce-l4s-ect1 2020, Choosing input vs output",
        rule=Within(-5.0, 5.0),
        most=MOST,
    )
    prague = Comparison(cases=at.Bufferbloat(), ours="Prague", theirs="CUBIC", series="senders", along=None)
    yield prague.claim(
        key="hidden.prague-droptail",
        text="Where nothing marks, Prague is a Reno: it delivers what CUBIC delivers through DropTail, within ten "
        "percent.",
        paper_value="as Reno",
        place="RFC 9331, section 4.3",
        unit="% of that with CUBIC",
        values=_percent("goodput_bps", {"senders": "Prague"}, {"senders": "CUBIC"}),
        rule=Within(-10.0, 10.0),
        most=MOST,
    )
    milder = Comparison(
        cases=at.Folded(("Reno",), levels=(at.one_level(0.2), at.one_level(0.5))),
        ours=at.one_level(0.2),
        theirs=at.one_level(0.5),
        series="level",
        along="place",
    )
    yield milder.percent(
        GOODPUT,
        key="folded.milder",
        text="A mark that takes 20 % of Reno's window instead of 50 % gives more goodput at each place, with one "
        "level.",
        paper_value="more",
        place="RFC 8511, section 3.1",
        rule=Above(),
        most=MOST,
    )


def _percent(quantity: Quantity, ours: Labels, theirs: Labels) -> Values:
    def values(runs: Runs) -> Numbers:
        base = float(np.nanmean(runs.values(quantity, **theirs)))
        return [float(100 * x / base) for x in runs.difference(quantity, ours, theirs)]

    return values


# ---- what is asked beside that

#: A signal of the new kind → what it is compared with: nearest to it, with classic ECN.
AGAINST = {
    "MECN": "RED",
    "AMECN": "RED",
    "AMECN repaired": "RED",
    "SCE": "CoDel",
    "DualPI2, Prague": "CoDel",
    "Step, Prague": "CoDel",
    "Step, DCTCP": "CoDel",
}


def key_of(name: str) -> str:
    """Returns a signal's name as keys have it: `"dualpi2-prague"`."""
    return name.lower().replace(", ", "-").replace(" ", "-")


def asked_at_places() -> Iterator[Claim]:
    """Yields each signal's own numbers, and each new one beside the nearest classic one, over the places."""
    for name in at.NAMES:
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
                cases=at.places(name),
                values=middle(at_each("place", measure.quantity, measure.scale, aqm=name)),
                rule=None,
                most=LONG,
            )
    yield Claim(
        key="places.moderate",
        text="How many of MECN's marks are moderate.",
        exhibit="places",
        paper_value="asked",
        of="project",
        unit="%",
        cases=at.places("MECN"),
        values=at_each("place", moderate_share, 100),
        rule=None,
        most=LONG,
    )
    for ours, theirs in (*AGAINST.items(), ("MECN", "CoDel")):
        for what, measure, rule in (("delay", DELAY, Below()), ("goodput", GOODPUT, Above(-1.0))):
            yield _versus(ours, theirs).percent(
                measure,
                key=f"places.{what}-{key_of(ours)}-{key_of(theirs)}",
                text=f"{ours} has {_BETTER[what]} than {theirs} at each place.",
                paper_value="asked",
                of="project",
                rule=rule,
                most=LONG,
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
    for ours, theirs in (("MECN", "RED"), ("AMECN repaired", "RED"), ("MECN", "CoDel"), ("SCE", "CoDel")):
        for place in at.PLANE:
            for what, x, y, rule in (("delay", USED, DELAY, Below()), ("used", DELAY, USED, Above())):
                yield Claim(
                    key=f"plane.{what}-{key_of(ours)}-{key_of(theirs)}-{at.PLACES[place].rate_mbps}",
                    text=f"{ours} has {_EQUAL[what]} than {theirs} at {place}: the mean over the range that both lines "
                    "share.",
                    exhibit="plane",
                    paper_value="asked",
                    of="project",
                    unit=y.unit,
                    cases=at.Plane((ours, theirs), (place,)),
                    values=_between(x, y, ours, theirs),
                    rule=rule,
                    most=MOST,
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
                    most=MOST,
                )


def asked_at_home() -> Iterator[Claim]:
    """Yields what a call, a page and a download have at home."""
    for name in at.NAMES:
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
                most=MOST,
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
                    most=MOST,
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
                most=MOST,
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
                    most=MOST,
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
                    most=MOST,
                )
        for name in at.FOLDED_AT:
            place = at.PLACES[name]
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
                most=MOST,
            )
    ramp = Comparison(cases=at.WITHOUT_RAMP, ours=at.RAMP[0], theirs=at.RAMP[1], series="ramp", along="place")
    for what, measure, rule in (("delay", DELAY, Below()), ("goodput", GOODPUT, Above(-1.0))):
        yield ramp.percent(
            measure,
            key=f"ramp.{what}",
            text=f"The ramp gives SCE's senders {_BETTER[what]} at each place.",
            paper_value="asked",
            of="project",
            rule=rule,
            most=MOST,
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
                        values=_percent(quantity, {"aqm": name, "knob": knob, "way": way}, usual),
                        rule=None,
                        most=MOST,
                    )


EXPECTED = (*expected_at_places(), *expected_of_two(), *expected_of_crowds(), *expected_elsewhere())
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
