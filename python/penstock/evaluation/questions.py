"""Lists what a reader of RFC 7928 wants to know of a discipline: each question with what is measured and the
rule by which the answer is yes.

The bounds are this project's; the RFC asks that they be stated, and states none. Section 8 speaks of a link of 10
Mbit/s with a base round trip of 100 ms: its fifth, 20 ms, is what "low delay" means here. On another link the bounds
that are times keep their proportion to the round trip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.evaluation.asks import (
    Ask,
    convergence,
    during,
    goodput,
    measure,
    metric,
    phases,
    product,
    ratio,
    settling,
    share,
    tuning,
    unsteadiness,
    utilization,
)
from penstock.evaluation.link import RFC, Link
from penstock.judging.estimate import FROM_ZERO, SHARE, Bounds
from penstock.judging.rules import Above, Below


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question of the RFC.

    key: short and stable, for files.
    section: of the RFC.
    text: the question, as a reader asks it.
    measured: what the number is, in a phrase; {mild}, {medium}, {heavy}, {half}, {join}, {rtt} are the link's.
    unit: of the number as shown; scale: what it is multiplied by for that.
    ask: returns one number a seed for a candidate.
    rule: when the answer is yes; of_droptail: its bound is so many times DropTail's number; of_round_trip: it is one on
        the RFC's link, and as much of the round trip on another.
    within: the least and the most that the number can be.
    needs: the experiments whose runs it takes.
    beyond_quick: whether it takes forms that a quick evaluation leaves out.
    """

    key: str
    section: str
    text: str
    measured: str
    unit: str
    scale: float = 1.0
    ask: Ask
    rule: Above | Below
    of_droptail: bool = False
    of_round_trip: bool = False
    within: Bounds = FROM_ZERO
    needs: Sequence[str]
    beyond_quick: bool = False

    @property
    def lower_is_better(self) -> bool:
        """Returns which way is good."""
        return isinstance(self.rule, Below)

    @property
    def rule_text(self) -> str:
        """The rule in words, in the unit shown."""
        way = "below" if self.lower_is_better else "above"
        if self.of_droptail:
            return f"{way} DropTail's" if self.rule.bound == 1 else f"{way} {self.rule.bound:g} times DropTail's"
        return f"{way} {self.rule.bound * self.scale:g}{'' if self.unit == '%' else ' '}{self.unit}".rstrip()


#: The share of a link's rate that payload can have beside datagrams of half the rate.
_LEFT = 0.5 * 1460 / 1500

_ASKED: Sequence[Question] = (
    Question(
        key="delay",
        section="8.2.4",
        text="Keeps delay low under heavy load?",
        measured="mean queueing delay, {heavy} flows",
        unit="ms",
        scale=1e3,
        ask=metric("heavy", "delay_mean_s"),
        rule=Below(0.020),
        of_round_trip=True,
        needs=["heavy"],
    ),
    Question(
        key="tail",
        section="8.2.4",
        text="Keeps its worst delays low, too?",
        measured="99th percentile of the queueing delay, {heavy} flows",
        unit="ms",
        scale=1e3,
        ask=measure("heavy", "delay_s", 99.0),
        rule=Below(0.050),
        of_round_trip=True,
        needs=["heavy"],
    ),
    Question(
        key="even",
        section="2.6",
        text="Keeps delay even under heavy load?",
        measured="99th percentile of the delay less the flow's least, {heavy} flows",
        unit="ms",
        scale=1e3,
        ask=measure("heavy", "pdv_s", 99.0),
        rule=Below(0.050),
        of_round_trip=True,
        needs=["heavy"],
    ),
    Question(
        key="busy",
        section="8.2.2",
        text="Keeps the link busy under light load?",
        measured="utilization, {mild} flows",
        unit="%",
        scale=100,
        ask=metric("mild", "utilization"),
        within=SHARE,
        rule=Above(0.95),
        needs=["mild"],
    ),
    Question(
        key="alone",
        section="5.1.1",
        text="Lets a single transfer have the link?",
        measured="goodput of one TCP-friendly flow",
        unit="Mbit/s",
        scale=1e-6,
        ask=metric("friendly-long", "goodput_bps"),
        rule=Above(0.95),
        of_droptail=True,
        needs=["friendly-long"],
    ),
    Question(
        key="loss",
        section="8.2.4",
        text="Loses few packets under heavy load?",
        measured="packets lost, {heavy} flows",
        unit="%",
        scale=100,
        ask=metric("heavy", "loss_ratio"),
        within=SHARE,
        rule=Below(1.5),
        of_droptail=True,
        needs=["heavy"],
    ),
    Question(
        key="spread",
        section="2.3",
        text="Spreads its losses?",
        measured="median gap between losses over the mean gap, {medium} flows; 0.69 is chance",
        unit="",
        ask=product(measure("medium", "loss_gap_pkts", 50.0), measure("medium", "loss_ratio")),
        rule=Above(0.5),
        needs=["medium"],
    ),
    Question(
        key="short",
        section="5.1.2",
        text="Lets short transfers through sooner than DropTail?",
        measured="median time of 30 packets beside a long transfer",
        unit="s",
        ask=measure("friendly-short", "fct_s", 50.0, "short"),
        rule=Below(1.0),
        of_droptail=True,
        needs=["friendly-short"],
    ),
    Question(
        key="start",
        section="2.2",
        text="Lets transfers start sooner than DropTail?",
        measured="median time from a transfer's first packet to its first data, beside a long transfer",
        unit="ms",
        scale=1e3,
        ask=measure("friendly-short", "startup_s", 50.0, "short"),
        rule=Below(1.0),
        of_droptail=True,
        needs=["friendly-short"],
    ),
    Question(
        key="aggressive",
        section="5.2",
        text="Holds an aggressive sender's queue short?",
        measured="mean queueing delay, one CUBIC flow",
        unit="ms",
        scale=1e3,
        ask=metric("aggressive", "delay_mean_s"),
        rule=Below(0.020),
        of_round_trip=True,
        needs=["aggressive"],
    ),
    Question(
        key="unresponsive",
        section="5.3",
        text="Protects TCP from datagrams at half the rate?",
        measured="share of what they leave that one TCP flow gets",
        unit="%",
        scale=100,
        ask=utilization("unresponsive-beside", 0),
        rule=Above(0.8),
        needs=["unresponsive-beside"],
    ),
    Question(
        key="overload",
        section="5.3",
        text="Keeps delay low when datagrams overload the link?",
        measured="mean queueing delay, datagrams at 120 % of the rate",
        unit="ms",
        scale=1e3,
        ask=metric("unresponsive-alone", "delay_mean_s"),
        rule=Below(0.5),
        of_round_trip=True,
        of_droptail=True,
        needs=["unresponsive-alone"],
    ),
    Question(
        key="background",
        section="5.4",
        text="Leaves background transfers in the background?",
        measured="LEDBAT's share beside one TCP-friendly flow",
        unit="%",
        scale=100,
        ask=share("background", 1),
        within=SHARE,
        rule=Below(0.25),
        needs=["background"],
    ),
    Question(
        key="rtt",
        section="6.2",
        text="Gives long round trips more of their share than DropTail?",
        measured="goodput at 560 ms over that at {rtt}",
        unit="%",
        scale=100,
        ask=ratio(goodput("rtt-fairness", 1, "560 ms"), goodput("rtt-fairness", 0, "560 ms")),
        rule=Above(1.0),
        of_droptail=True,
        needs=["rtt-fairness"],
        beyond_quick=True,
    ),
    Question(
        key="fair",
        section="RFC 5166",
        text="Shares evenly between equal flows?",
        measured="Jain's index of the goodputs, {medium} flows over a minute",
        unit="",
        ask=metric("medium", "jain"),
        within=SHARE,
        rule=Above(0.95),
        needs=["medium"],
    ),
    Question(
        key="bursts",
        section="7.2",
        text="Lets bursts of web pages through sooner than DropTail?",
        measured="median time of a page of 50 objects beside video, a constant rate and bulk",
        unit="s",
        ask=measure("bursts-iv", "page_s", 50.0, "web"),
        rule=Below(1.0),
        of_droptail=True,
        needs=["bursts-iv"],
    ),
    Question(
        key="bursts-free",
        section="7.2",
        text="Lets them pass where there is room?",
        measured="median time of a page of 50 objects beside a constant rate alone",
        unit="s",
        ask=measure("bursts-i", "page_s", 50.0, "web"),
        rule=Below(1.1),
        of_droptail=True,
        needs=["bursts-i"],
    ),
    Question(
        key="call",
        section="9.1",
        text="Lets a call through beside everything else?",
        measured="99th percentile of the queueing delay of a call's packets",
        unit="ms",
        scale=1e3,
        ask=measure("mix", "delay_s", 99.0, "call"),
        rule=Below(0.050),
        of_round_trip=True,
        needs=["mix"],
    ),
    Question(
        key="load",
        section="8.2.5",
        text="Holds the same delay when the load trebles?",
        measured="mean delay with {heavy} flows over that with {mild}",
        unit="",
        ask=phases("varying-load", [(50, 60), (110, 120)], [(10, 20), (70, 80)]),
        rule=Below(2.0),
        needs=["varying-load"],
    ),
    Question(
        key="settles",
        section="8.2.5",
        text="Settles soon after the load changes?",
        measured="time until the delay stays where the phase ends",
        unit="s",
        ask=settling("varying-load"),
        rule=Below(5.0),
        needs=["varying-load"],
    ),
    Question(
        key="steady",
        section="RFC 5166",
        text="Keeps the queue from swinging?",
        measured="standard deviation of the delay over its mean, {medium} flows",
        unit="%",
        scale=100,
        ask=unsteadiness("medium"),
        rule=Below(0.5),
        needs=["medium"],
    ),
    Question(
        key="converges",
        section="RFC 5166",
        text="Lets flows that join have their part soon?",
        measured="time until {join} flows that join {mild} have, each, over half of what those have",
        unit="s",
        ask=convergence("varying-load", "always", [("from 20 s", 20, 40), ("from 80 s", 80, 100)]),
        rule=Below(5.0),
        needs=["varying-load"],
    ),
    Question(
        key="capacity",
        section="8.2.6",
        text="Keeps delay low when the rate falls to a tenth?",
        measured="mean delay in the second half of the slow phases",
        unit="ms",
        scale=1e3,
        ask=during("capacity-slow", [(30, 40), (70, 80), (110, 120)]),
        rule=Below(0.050),
        of_round_trip=True,
        needs=["capacity-slow"],
    ),
    Question(
        key="fast",
        section="8.2.6",
        text="Keeps a link busy whose rate changes all the time?",
        measured="utilization, the rate changes every 100 ms",
        unit="%",
        scale=100,
        ask=metric("capacity-fast", "utilization"),
        within=SHARE,
        rule=Above(0.95),
        of_droptail=True,
        needs=["capacity-fast"],
    ),
    Question(
        key="sync",
        section="2.4",
        text="Keeps flows from losing together?",
        measured="share of the flows that lose in a loss event, {medium} flows",
        unit="%",
        scale=100,
        ask=measure("medium", "loss_sync"),
        within=SHARE,
        rule=Below(0.8),
        of_droptail=True,
        needs=["medium"],
    ),
    Question(
        key="sizes",
        section="4.4",
        text="Does not favour large packets?",
        measured="loss of 500-byte packets over that of 1500-byte ones",
        unit="",
        ask=ratio(measure("packet-sizes", "loss_ratio", of="small"), measure("packet-sizes", "loss_ratio", of="large")),
        rule=Below(1.25),
        needs=["packet-sizes"],
    ),
    Question(
        key="ecn",
        section="4.5",
        text="Marks where it would lose?",
        measured="loss with ECN over that without, {medium} flows",
        unit="%",
        scale=100,
        ask=ratio(metric("medium", "loss_ratio", ecn=True), metric("medium", "loss_ratio")),
        rule=Below(0.2),
        needs=["medium"],
        beyond_quick=True,
    ),
    Question(
        key="tuning",
        section="8.3",
        text="Does without tuning?",
        measured="largest change of the utilization when a control value is halved or doubled, {medium} flows",
        unit="%",
        scale=100,
        ask=tuning("medium", "utilization"),
        rule=Below(0.05),
        needs=["medium"],
        beyond_quick=True,
    ),
    Question(
        key="series",
        section="10.2",
        text="Treats flows through two queues better than DropTail?",
        measured="goodput of the flows through both queues over that of the others",
        unit="%",
        scale=100,
        ask=ratio(goodput("series", 0), goodput("series", 1)),
        rule=Above(1.0),
        of_droptail=True,
        needs=["series"],
    ),
    Question(
        key="both-ways",
        section="9.2",
        text="Works when both directions are congested?",
        measured="goodput forward, {mild} flows each way",
        unit="Mbit/s",
        scale=1e-6,
        ask=metric("both-ways", "goodput_bps"),
        rule=Above(0.95),
        of_droptail=True,
        needs=["both-ways"],
    ),
    Question(
        key="bbr-share",
        section="RFC 9743",
        text="Leaves CUBIC its share beside BBR?",
        measured="CUBIC's share, {half} flows beside {half} of BBR",
        unit="%",
        scale=100,
        ask=share("bbr", 0),
        within=SHARE,
        rule=Above(0.4),
        needs=["bbr"],
    ),
    Question(
        key="bbr-delay",
        section="RFC 9743",
        text="Keeps delay low beside BBR?",
        measured="mean queueing delay, {half} flows of CUBIC and {half} of BBR",
        unit="ms",
        scale=1e3,
        ask=metric("bbr", "delay_mean_s"),
        rule=Below(0.020),
        of_round_trip=True,
        needs=["bbr"],
    ),
    Question(
        key="bbr-loss",
        section="RFC 9743",
        text="Loses few packets beside BBR?",
        measured="packets lost, {half} flows of CUBIC and {half} of BBR",
        unit="%",
        scale=100,
        ask=metric("bbr", "loss_ratio"),
        within=SHARE,
        rule=Below(1.5),
        of_droptail=True,
        needs=["bbr"],
    ),
)


def _of_what_is_left(link: Link) -> Ask:
    """Returns the goodput of a TCP flow over what datagrams leave it on a link."""
    of_rate = utilization("unresponsive-beside", 0)
    return lambda numbers, candidate: of_rate(numbers, candidate) / (_LEFT * link.left)


def questions_of(link: Link) -> Sequence[Question]:
    """Returns the questions as they are asked on a link."""
    share = link.rtt_s / RFC.rtt_s
    return [
        replace(
            each,
            measured=each.measured.format(**link.words),
            rule=replace(each.rule, bound=each.rule.bound * share) if each.of_round_trip else each.rule,
            ask=_of_what_is_left(link) if each.key == "unresponsive" else each.ask,
        )
        for each in _ASKED
    ]


QUESTIONS = questions_of(RFC)
