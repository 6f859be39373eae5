"""Answers the study's questions in sentences, with the findings' numbers.

A sentence stands on verdicts. Where one of them turns, the numbers are said without it, so that no sentence says what
the numbers do not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.reproduce.model import Finding, Point
from penstock.reproduce.verdict import FAILS, HOLDS, UNDECIDED
from penstock.reproduce.words import minus, ours, verdict

Found = Mapping[str, Finding]

#: A claim in a sentence, after `@` one of its points, after `-` its size without the sign:
#: `{crowd.dualpi2}`, `{crowd.dualpi2@5}`, `{-ramp.delay}`.
_NAME = re.compile(r"\{(-?)([^}@]+)(?:@([^}]+))?\}")


@dataclass(frozen=True, slots=True)
class Answer:
    """A question and what the findings say.

    text: names of claims in braces stand for their numbers.
    given: the verdicts that the words stand on.
    """

    question: str
    text: str
    given: Mapping[str, str] = field(default_factory=dict)

    def said(self, found: Found) -> str:
        """Returns the answer; empty where a number of it is not among the findings, as in a quick run."""
        names = [(name[2], name[3]) for name in _NAME.finditer(self.text)]
        if any(key not in found for key in (*(key for key, _ in names), *self.given)):
            return ""
        if any(at and at not in [point.at for point in found[key].points] for key, at in names):
            return ""
        if any(found[key].verdict != given for key, given in self.given.items()):
            return " ".join(
                f"{found[key].claim.text.rstrip('.')}: {ours(found[key])} ({verdict(found[key])})."
                for key in self.given
            )
        return _NAME.sub(lambda name: _number(found[name[2]], name[3], name[1]), " ".join(self.text.split()))


def _number(of: Finding, at: str | None, size: str) -> str:
    """Returns a finding with its interval, or that of one of its points; with `size` without its sign.

    The sentence says what a percentage is of.
    """
    unit = re.sub(r" of .*", "", of.unit).replace("percentage points", "points")
    if at is None:
        text = ours(replace(of, unit=unit, note=""))
        return text.removeprefix(minus("-")) if size else text
    point = next(each for each in of.points if each.at == at)
    return f"{_of_point(point, -1 if size and (point.estimate or 0) < 0 else 1)} {unit}"


def _of_point(point: Point, sign: int) -> str:
    if point.estimate is None or point.low is None or point.high is None:
        return "–"
    low, high = sorted((sign * point.low, sign * point.high))
    return minus(f"{sign * point.estimate:.3g} ({low:.3g} to {high:.3g})")


def first(found: Found) -> str:
    """Returns the answer to it all."""
    return FIRST.said(found)


def discussion(found: Found) -> str:
    """Returns every answer, a paragraph each."""
    said = ((answer.question, answer.said(found)) for answer in ANSWERS)
    return "\n\n".join(f"**{question}** {text}" for question, text in said if text)


FIRST = Answer(
    "",
    """**By itself, next to nothing.** In MECN's router, under the same senders, two levels differ from one whose
    marks take 20 % by {folded.goodput-reno-20} in goodput and {folded.delay-reno-20} in delay (Reno, the mean over
    four places); the most is {-folded.delay-reno-20@20 Mbit/s, 50 ms, 50 flows} less delay, with fifty flows. Where
    MECN beats RED with classic ECN, by {plane.used-mecn-red-100} of a link of 100 Mbit/s at equal delay, the milder
    cut does it, and one level can have that. **A finer signal shortens the queue**: the median over twelve places of
    the mean delay is {places.delay-dualpi2-prague} with L4S, {places.delay-sce-cubic} with SCE, {places.delay-mecn}
    with MECN, {places.delay-codel} with CoDel and {places.delay-droptail} with DropTail; L4S uses
    {places.used-dualpi2-prague} of the link for it, CoDel {places.used-codel}. **None is fair where one side does not
    know the signal**: in a CoDel queue Prague has {published.prague-codel} the goodput of a CUBIC flow, and in their
    own queues SCE has {pairs.cubic-sce-its-own} and MECN {pairs.mecn-its-own} of it. DualPI2 mends that for Prague, and
    flow isolation for all.""",
    {
        "plane.used-mecn-red-100": HOLDS,
        "published.prague-codel": HOLDS,
        "pairs.cubic-sce-its-own": FAILS,
        "pairs.mecn-its-own": FAILS,
        "crowd.isolated-prague": HOLDS,
        "crowd.isolated-cubic-sce": HOLDS,
        "crowd.isolated-mecn": HOLDS,
        "crowd.dualpi2": HOLDS,
    },
)
ANSWERS: tuple[Answer, ...] = (
    Answer(
        "Which delay at equal throughput, which throughput at equal delay?",
        """At 100 Mbit/s, 50 ms and one flow MECN uses {plane.used-mecn-red-100} more of the link than RED with
        classic ECN at equal delay, and waits {-plane.delay-mecn-red-100} less at equal use. Beside CoDel it uses
        {-plane.used-mecn-codel-100} less at equal delay, and SCE uses {plane.used-sce-cubic-codel-100} more. At 20
        Mbit/s, 10 ms and four flows all fill the link, and MECN differs from RED by {plane.used-mecn-red-20}. L4S waits
        {-places.delay-dualpi2-prague-codel} less than CoDel in the mean over twelve places, and in their median uses
        {places.used-dualpi2-prague} of the link, where CoDel uses {places.used-codel}.""",
        {
            "plane.used-mecn-red-100": HOLDS,
            "plane.delay-mecn-red-100": HOLDS,
            "plane.used-mecn-codel-100": FAILS,
            "plane.used-sce-cubic-codel-100": HOLDS,
        },
    ),
    Answer(
        "How soon is it settled after a change?",
        """When four flows become sixteen, the 99th percentile of the next ten seconds' delay is
        {-changes.p99-dualpi2-prague-load-rises} lower with L4S than with CoDel, and {-changes.p99-sce-cubic-load-rises}
        lower with SCE. MECN's is {changes.p99-mecn-load-rises} against RED's: that it settles sooner is not found.
        The price is the link: after the rate has fallen to a quarter L4S uses
        {-changes.used-dualpi2-prague-rate-falls} less of it than CoDel, and SCE
        {-changes.used-sce-cubic-rate-falls}. AMECN uses {changes.used-amecn-load-falls} more than RED after the load
        has fallen.""",
        {
            "changes.p99-dualpi2-prague-load-rises": HOLDS,
            "changes.p99-sce-cubic-load-rises": HOLDS,
            "changes.p99-mecn-load-rises": UNDECIDED,
            "changes.used-dualpi2-prague-rate-falls": FAILS,
            "changes.used-sce-cubic-rate-falls": FAILS,
            "changes.used-amecn-load-falls": HOLDS,
        },
    ),
    Answer(
        "What is lost?",
        """Where marks are understood nothing is lost in the median over the places, with one level or with two
        ({places.loss-codel} with CoDel, {places.loss-mecn} with MECN, {places.loss-dualpi2-prague} with L4S;
        {places.loss-droptail} with DropTail). CoDel that marks loses {-places.ecn-loss} less than CoDel that drops in
        the mean over the places, and {-places.ecn-loss@20 Mbit/s, 50 ms, 50 flows} less with fifty flows on 20
        Mbit/s, where windows are at their least and its queue grows instead. MECN loses {places.mecn-loss} more than
        RED in that mean: no difference.""",
    ),
    Answer(
        "What do a call and a page gain?",
        """A call is rated {home.call-dualpi2-prague} beside L4S, {home.call-sce-cubic} beside SCE, {home.call-fq-codel}
        with FQ-CoDel, {home.call-codel} with CoDel, {home.call-droptail} with DropTail, and {home.call-mecn} with
        MECN, the least of all: a call is not ECN-capable, and MECN's router drops where it would mark, at either
        level. A page takes {home.page-dualpi2-prague} beside L4S, {home.page-mecn} with MECN, {home.page-codel} with
        CoDel and {home.page-fq-codel} with FQ-CoDel. Pages gain from queues of their own, not from a finer signal.""",
    ),
    Answer(
        "Who starves whom, and when?",
        """The published 20 : 1 is found: Prague has {published.prague-codel} CUBIC's goodput through one CoDel queue
        with classic ECN at 50 Mbit/s and 20 ms. It grows with the rate, from {pairs.prague-codel@5} at 5 Mbit/s to
        {pairs.prague-codel@200} at 200: at a share p of marks Prague's window goes as 1/p and CUBIC's, which is
        Reno's here, as 1/√p, so that the fewer marks a large window needs, the further apart they are. That is Prague
        as the L4S team's Linux has it by default. RFC 9331 (4.3) wants it to be able to find out such a queue and to
        answer it as Reno does; with that, a pair shared one CoDel queue about evenly at its defaults, and not where
        these were set for shorter paths (heistp/sce-l4s-ect1 2020), so that the number is what a wrong guess costs.
        Through DualPI2 it is {crowd.dualpi2}, under isolation {crowd.isolated-prague}. The second levels have the
        opposite fault. In SCE's queue a flow of CUBIC-SCE has {pairs.cubic-sce-its-own} a CUBIC flow's goodput, and in
        MECN's a flow of MECN {pairs.mecn-its-own}, at any rate of the link: the neighbours do not see the mark to which
        it gives way. In CoDel's queue MECN ({crowd.mecn-codel-cubic}) and CUBIC-SCE ({crowd.cubic-sce-codel-cubic})
        are good neighbours; Reno-SCE, which takes less off for a mark, has {crowd.reno-sce-codel-cubic}. BBR answers no
        mark: it leaves a flow of MECN {crowd.mecn-codel-bbr} and one of CUBIC-SCE {crowd.cubic-sce-codel-bbr} of its
        own goodput through CoDel, and Prague {crowd.prague-dualpi2-bbr} through DualPI2. Flow isolation ends that, too
        ({crowd.prague-fq-codel-bbr}).""",
        {
            "published.prague-codel": HOLDS,
            "pairs.prague-codel": FAILS,
            "crowd.dualpi2": HOLDS,
            "crowd.isolated-prague": HOLDS,
            "pairs.cubic-sce-its-own": FAILS,
            "pairs.mecn-its-own": FAILS,
            "crowd.mecn-codel-cubic": HOLDS,
            "crowd.cubic-sce-codel-cubic": HOLDS,
            "crowd.mecn-codel-bbr": FAILS,
            "crowd.prague-dualpi2-bbr": FAILS,
            "crowd.prague-fq-codel-bbr": HOLDS,
        },
    ),
    Answer(
        "How does each fare where its signal is not understood?",
        """Behind a path that clears the ECN field CoDel's queue grows to {hidden.delay-codel-bleached}, SCE's to
        {hidden.delay-sce-cubic-bleached} and DCTCP's to {hidden.delay-step-dctcp-bleached}, since these mark and do not
        drop. DualPI2 drops in overload ({hidden.delay-dualpi2-prague-bleached}). MECN's last level is a drop, and its
        queue keeps {hidden.delay-mecn-bleached}: here the old idea is the most robust. With hosts of classic ECN
        MECN's queue holds {hidden.delay-mecn-classic-hosts} instead of {hidden.delay-mecn-understood}, SCE's what
        CoDel's does ({hidden.delay-sce-cubic-classic-hosts}), DualPI2's what its other queue aims at
        ({hidden.delay-dualpi2-prague-classic-hosts}), and a step leaves them {hidden.used-step-dctcp-classic-hosts}
        of the link. Where nothing marks, a queue is DropTail's whoever sends ({hidden.delay-mecn-no-aqm} with MECN's
        senders, {hidden.delay-codel-no-aqm} with CUBIC's), and Prague delivers what CUBIC does, but for
        {hidden.prague-droptail}.""",
        {"hidden.prague-droptail": HOLDS},
    ),
    Answer(
        "What does the second level buy by itself?",
        """Next to nothing. Against one level that takes 20 % the two levels' delay is {folded.delay-reno-20} and
        their goodput {folded.goodput-reno-20} under Reno, {folded.delay-cubic-20} and {folded.goodput-cubic-20} under
        CUBIC, in the mean over four places. Few marks are moderate, since the average seldom gets to mid_th:
        {places.moderate@20 Mbit/s, 10 ms, 4 flows} of them with four flows on 20 Mbit/s and 10 ms,
        {places.moderate@20 Mbit/s, 200 ms, 1 flow} with one and 200 ms, {places.moderate@20 Mbit/s, 50 ms, 50 flows}
        with fifty and 50 ms. With these fifty the two levels wait {-folded.delay-reno-20@20 Mbit/s, 50 ms, 50 flows}
        less under Reno and {-folded.delay-cubic-20@20 Mbit/s, 50 ms, 50 flows} less under CUBIC, and that is all; at
        equal delay they deliver {folded.equal-reno-20-50} more than one level. The cut is what counts: one level that
        takes 20 % instead of 50 % delivers {folded.milder} more, which is ABE's gain. SCE's second level is another
        thing, as each of its marks is answered. With four flows on 20 Mbit/s and 10 ms the ramp takes
        {-ramp.delay-cubic@20 Mbit/s, 10 ms, 4 flows} off the delay of CUBIC-SCE, for
        {-ramp.goodput-cubic@20 Mbit/s, 10 ms, 4 flows} of goodput; with one on 20 Mbit/s and 200 ms it fills what CE
        leaves, and {ramp.goodput-cubic@20 Mbit/s, 200 ms, 1 flow} more is delivered. Where windows are a few segments
        it takes too much: {-ramp.goodput-cubic@5 Mbit/s, 50 ms, 4 flows} of the goodput with four flows on 5 Mbit/s and
        50 ms. Reno-SCE, of whose window a mark takes half as much, loses {-ramp.goodput-reno@5 Mbit/s, 50 ms, 4 flows}
        there.""",
        {"folded.delay-reno-20": UNDECIDED, "folded.goodput-reno-20": UNDECIDED, "folded.equal-reno-20-50": UNDECIDED},
    ),
    Answer(
        "What does each key move?",
        """Targets move the delay, and other keys little: twice the target gives MECN
        {tuned.delay-mecn-target_delay-higher} more delay and {tuned.goodput-mecn-target_delay-higher} more goodput,
        twice its start DualPI2's ramp {tuned.delay-dualpi2-prague-ramp_start-higher} more delay and SCE's
        {tuned.delay-sce-cubic-sce_ramp-higher}. p2_max, which is the second level's, moves MECN's delay by
        {tuned.delay-mecn-p2_max-higher} and its goodput by {tuned.goodput-mecn-p2_max-higher}; p1_max moves the
        goodput by {tuned.goodput-mecn-p1_max-higher}. DCTCP depends on its step most,
        {tuned.goodput-step-dctcp-sojourn-higher} of goodput for twice the threshold: at a round trip of 50 ms a
        millisecond is far below the seventh of the product that it needs.""",
    ),
    Answer(
        "Where does the old idea win, where does it lose, and what is left of it?",
        """It wins over RED with classic ECN where few flows cross a long path ({plane.used-mecn-red-100} of the link
        at 100 Mbit/s), and where marks do not arrive. It loses to CoDel, with {-places.goodput-mecn-codel} less
        goodput in the mean over twelve places, since its router still acts on an average; it loses beside classic
        flows in its own queue ({crowd.mecn-mecn-cubic} of their goodput); and it loses calls. Two of its thoughts are
        left, and both are in use without it. A mark should cost less than a loss: that is ABE (RFC 8511), and needs
        no second level. A router should say *how much*: DCTCP and L4S read it from the share of marked packets, and
        SCE's sender answers each mark. A level that is answered once a window says too little for that.""",
        {
            "plane.used-mecn-red-100": HOLDS,
            "places.goodput-mecn-codel": FAILS,
            "crowd.mecn-mecn-cubic": FAILS,
        },
    ),
)

#: Why an expectation does not hold, or is open.
REASONS: Mapping[str, str] = {
    "places.ecn-goodput": "With four flows at 5 Mbit/s and 50 ms it is a percent less; with four at 100 Mbit/s and "
    "200 ms the seeds differ by more than the margin.",
    "places.l4s-mean": "With fifty flows a path of 83 packets cannot hold windows of two segments, Prague's least, "
    "and marks cannot make them smaller.",
    "places.l4s-p99": "The same; and with four flows on 20 Mbit/s, where 2 ms are three packets, it is "
    "{places.l4s-p99@20 Mbit/s, 10 ms, 4 flows}.",
    "places.l4s-used": "A queue of a millisecond does not bridge what a flow leaves after a cut. And where a slow "
    "start has ended early, Prague grows by a segment a round trip: with one flow at 20 Mbit/s and 200 ms it is "
    "still on its way, {places.l4s-used@20 Mbit/s, 200 ms, 1 flow}.",
    "places.l4s-loss": "With fifty flows on 5 Mbit/s DualPI2 is in overload, and drops.",
    "places.sce-cubic-delay": "Where one flow crosses a long path CUBIC leaves CoDel's queue empty for part of the "
    "time, and the link idle; SCE has both in use.",
    "places.sce-cubic-used": "The ramp takes up to √W of CUBIC's window in a round trip, which gives half a segment "
    "back. Where windows are a few segments the link runs dry: with four flows at 5 Mbit/s and 50 ms it is "
    "{places.sce-cubic-used@5 Mbit/s, 50 ms, 4 flows}.",
    "places.sce-reno-delay": "With one flow on 100 Mbit/s CUBIC leaves CoDel's queue empty for part of the time, and "
    "the link idle; SCE has both in use.",
    "places.sce-reno-used": "On round trips of 200 ms its Reno grows by a segment each, and CUBIC faster; at 5 Mbit/s "
    "and 50 ms one packet takes as long as the ramp waits.",
    "places.mecn-loss": "Both lose nothing where the average stays below max_th, and about the same where it does not; "
    "with fifty flows on 5 Mbit/s and 200 ms MECN loses {places.mecn-loss@5 Mbit/s, 200 ms, 50 flows} more.",
    "places.mecn-goodput": "It does on long paths from 20 Mbit/s on, and at 1 Gbit/s, by 8 to 44 %. Elsewhere RED "
    "leaves little to gain. Twenty times as much is found nowhere.",
    "losses.mecn-fair": "With fifty flows on 10 and 50 ms its shares are less even.",
    "changes.mecn-rises": "The seeds differ by more than the two do.",
    "changes.l4s-loss": "What is on its way when the rate falls is more than marks can take back, and DualPI2 drops "
    "in overload.",
    "folded.milder": "With fifty flows windows are at their least, whatever a mark takes.",
    "ramp.conventional-reno": "SCE's Reno takes a quarter off for CE, and the classic one half; where one flow crosses "
    "a long path it delivers 12 % more.",
}


def reason(key: str, found: Found) -> str:
    """Returns why an expectation does not hold, or is open; empty where it holds."""
    return Answer("", REASONS.get(key, "")).said(found)
