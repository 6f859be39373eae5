"""States what sources lead to expect of the signals, as numbers. This was written down before the first run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.judging.rules import Above, Below, Within
from penstock.reproduce.comparisons import Comparison, of_one_case
from penstock.reproduce.levels import scenarios as at
from penstock.reproduce.levels import signals
from penstock.reproduce.levels.measured import GOODPUT, JAIN, P99, USED, per_flow_ratio
from penstock.reproduce.levels.values import at_each, percent_more, versus_at_places
from penstock.reproduce.measures import DELAY, LOSS
from penstock.reproduce.model import Claim, Rule

#: Places where a packet takes less than the millisecond that L4S aims at.
FAST = tuple(name for name, place in signals.PLACES.items() if place.rate_mbps >= 20)
SEVERAL = tuple(name for name, place in signals.PLACES.items() if place.flows > 1)


def expected_of_ecn() -> Iterator[Claim]:
    """Yields what is expected of marks in the place of drops, at the places."""
    yield versus_at_places("CoDel", "CoDel, drops").difference(
        LOSS,
        key="places.ecn-loss",
        text="CoDel that marks loses fewer packets than CoDel that drops at each place.",
        paper_value="fewer",
        place="RFC 8087, section 2.1",
        rule=Below(),
    )
    yield versus_at_places("CoDel", "CoDel, drops").percent(
        GOODPUT,
        key="places.ecn-goodput",
        text="CoDel that marks delivers at least what CoDel that drops delivers at each place: the goodput less one "
        "percent.",
        paper_value="more",
        place="RFC 8087, section 2.1",
        rule=Above(-1.0),
    )


def expected_of_l4s() -> Iterator[Claim]:
    """Yields what is expected of Prague through DualPI2, at the places."""
    l4s = "DualPI2, Prague"
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
            cases=signals.places(l4s, at=FAST),
            values=at_each("place", measure.quantity, 1e3, aqm=l4s),
            rule=Below(most_ms),
        )
    yield versus_at_places(l4s, "CoDel").difference(
        USED,
        key="places.l4s-used",
        text="Prague through DualPI2 uses as much of the link as CUBIC through CoDel at each place: at most two points "
        "less.",
        paper_value="as much",
        place="RFC 9332, abstract: without compromising link utilization",
        rule=Above(-2.0),
    )
    yield versus_at_places(l4s, "CoDel").difference(
        LOSS,
        key="places.l4s-loss",
        text="Prague through DualPI2 loses no more than CUBIC through CoDel at each place: at most a hundredth of a "
        "percent more.",
        paper_value="next to none",
        place="RFC 9330, section 1",
        rule=Below(0.01),
    )


def expected_of_sce_and_dctcp() -> Iterator[Claim]:
    """Yields what is expected of SCE at the places, and of DCTCP on a fast link."""
    for window in at.WINDOWS:
        versus = versus_at_places(f"SCE, {window}", "CoDel")
        yield versus.difference(
            DELAY,
            key=f"places.sce-{window.lower()}-delay",
            text=f"With {window}'s window SCE's queue is shorter than CoDel's at each place: the mean delay.",
            paper_value="shorter",
            place="draft-morton-tsvwg-sce-04, section 1",
            rule=Below(),
        )
        yield versus.difference(
            USED,
            key=f"places.sce-{window.lower()}-used",
            text=f"With {window}'s window SCE uses what CUBIC's sawtooth leaves through CoDel: at least as much of the "
            "link at each place, less one point.",
            paper_value="almost all that is left",
            place="J. Morton, ecn-sane, 10 July 2019",
            rule=Above(-1.0),
        )
    one = "1 Gbit/s, 10 ms, 1 flow"
    yield versus_at_places("Step, DCTCP", "DropTail", [one]).percent(
        DELAY,
        key="places.dctcp-delay",
        text="DCTCP through a step needs a tenth of the buffer that TCP takes through DropTail at 1 Gbit/s and 10 ms: "
        "the mean delay less DropTail's.",
        paper_value="−90 %",
        printed=-90.0,
        place="Alizadeh et al. 2010, abstract",
        rule=Below(-80.0),
    )
    yield versus_at_places("Step, DCTCP", "DropTail", [one]).difference(
        USED,
        key="places.dctcp-used",
        text="It delivers as much there: the link's use, at most a point less.",
        paper_value="the same or better",
        place="Alizadeh et al. 2010, abstract",
        rule=Above(-1.0),
    )


def expected_of_mecn() -> Iterator[Claim]:
    """Yields what is expected of MECN beside RED with ECN, at the places."""
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
        versus = versus_at_places("MECN", "RED")
        yield (versus.percent if percent else versus.difference)(
            measure,
            key=f"places.mecn-{key}",
            text=f"MECN {said}.",
            paper_value=value,
            place="Durresi et al. 2001 and 2007 (IPSJ), abstracts",
            rule=rule,
        )
    yield versus_at_places("MECN", "RED", SEVERAL).difference(
        JAIN,
        key="losses.mecn-fair",
        text="MECN shares more fairly than RED with ECN at each place with several flows: Jain's index.",
        paper_value="better fairness",
        place="Durresi et al. 2001, abstract",
        rule=Above(),
    )


#: Ratio of goodputs to one CUBIC flow: key, (new, queue, round trip), what is published, the range, the source. A
#: published ratio counts as found within a factor of two, one of 1.5 within that factor.
_RATIOS: Sequence[tuple[str, tuple[str, str, int], str, float | None, Rule, str]] = (
    ("prague-codel", ("Prague", "CoDel", 20), "24 : 1", 24.0, Within(12, 48), "heistp/l4s-tests 2020, fq_codel(1q)"),
    ("prague-codel-10", ("Prague", "CoDel", 10), "7.5 : 1", 7.5, Within(3.75, 15), "heistp/sce-l4s-bakeoff 2019, 3"),
    ("prague-fq", ("Prague", "FQ-CoDel", 20), "1.03 : 1", 1.03, Within(0.9, 1.1), "heistp/l4s-tests 2020, scenario 1"),
    ("prague-dualpi2", ("Prague", "DualPI2, Prague", 20), "1 : 1", 1.0, Within(0.5, 2), "RFC 9332, section 1.4"),
    ("sce-codel", ("Reno-SCE", "CoDel", 10), "1.5 : 1", 1.5, Within(1.0, 2.25), "heistp/sce-l4s-bakeoff 2019, 3"),
    (
        *("sce-own", ("Reno-SCE", "SCE, Reno", 10), "dominated by CUBIC", None),
        *(Below(0.5), "heistp/sce-l4s-bakeoff 2019, 1"),
    ),
    (
        *("cubic-sce-codel", ("CUBIC-SCE", "CoDel", 20), "indistinguishable", 1.0),
        *(Within(1 / 1.5, 1.5), "heistp/sce-l4s-ect1 2020, Choosing input vs output"),
    ),
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
        )


def expected_of_changes() -> Iterator[Claim]:
    """Yields what is expected of changes."""
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
    )


def expected_of_senders() -> Iterator[Claim]:
    """Yields what is expected of senders without their signal, and of the cut for a mark."""
    for window in at.WINDOWS:
        cases = at.Conventional(window)
        versus = Comparison(cases=cases, ours="SCE's", theirs="classic", series="senders", along="place")
        yield versus.percent(
            GOODPUT,
            key=f"ramp.conventional-{window.lower()}",
            text=f"Through CoDel without a ramp {window}-SCE delivers what {window} with classic ECN delivers at each "
            "place: within five percent.",
            paper_value="indistinguishable",
            place="heistp/sce-l4s-ect1 2020, Choosing input vs output",
            rule=Within(-5.0, 5.0),
        )
    prague = Comparison(cases=at.Bufferbloat(), ours="Prague", theirs="CUBIC", series="senders", along=None)
    yield prague.claim(
        key="hidden.prague-droptail",
        text="Where nothing marks, Prague is a Reno: it delivers what CUBIC delivers through DropTail, within ten "
        "percent.",
        paper_value="as Reno",
        place="RFC 9331, section 4.3",
        unit="% of that with CUBIC",
        values=percent_more("goodput_bps", {"senders": "Prague"}, {"senders": "CUBIC"}),
        rule=Within(-10.0, 10.0),
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
    )


EXPECTED = (
    *expected_of_ecn(),
    *expected_of_l4s(),
    *expected_of_sce_and_dctcp(),
    *expected_of_mecn(),
    *expected_of_two(),
    *expected_of_crowds(),
    *expected_of_changes(),
    *expected_of_senders(),
)
