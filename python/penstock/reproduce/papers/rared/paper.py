"""RARED: how the gaps were read, what was found, and the whole."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.reproduce.model import Finding, Paper
from penstock.reproduce.nearest import shipped
from penstock.reproduce.papers.rared.claims import CLAIMS
from penstock.reproduce.papers.rared.exhibits import EXHIBITS
from penstock.reproduce.papers.rared.scenarios import OPEN, QUEUES
from penstock.reproduce.words import amount, apart, at_points, read_otherwise, saying

UNSTATED = (
    "The topology's numbers, since Fig. 2 is not in the text. We take a bottleneck of 1.5 Mbit/s "
    "and 90 ms, and access links of 10 Mbit/s with 2 ms on the sources' and 4 ms on the sinks' "
    "side, as in the network of ns-2's own tests of RED. The printed w_q of 0.0019 is ns-2's "
    "automatic weight for 1.5 Mbit/s and about 90 ms. Other delays and another rate are readings.",
    "Which link delay is short: 10 ms. The 20 ms of ns-2's own tests are a reading.",
    "The web: 20 sessions that start within the first second, one object after the other, Pareto "
    "sizes (shape 1.5, mean 12 kB, at most 500 kB), and exponential pauses of 1 s in the mean.",
    "What is measured, and when: queueing delay, loss and throughput at the bottleneck's forward "
    "direction, of all packets, over the whole 40 s. The second half alone, and data packets "
    "alone, are readings.",
    "The other direction's queue: the same discipline with the same buffer.",
    "The unit of slope_th = 20: packets a second. Penstock's slope_th = \"auto\", the paper's "
    "future work, gives the same 20 with thresholds of 5 and 15, hence the same runs.",
    "Whether a packet that can be marked is marked or dropped while the average climbs (p = 0.8). "
    "We mark it. That ns-2 since 2002 drops where p is above 0.1 is a reading.",
    "What RARED is when the average does not climb: RED with the parameters printed for RED; ARED is a reading.",
    "“The default values in ns-2” for ARED: all automatic, which gives thresholds of 5 and 15 "
    "here. For REM the rest of its parameters: period 2 ms, weight of the queue 0.1, marks at "
    "departure.",
    "What “the same” and “no effect” allow: the margins in the claims are ours.",
)


def of_all(claim: str) -> list[str]:
    """Returns the keys of a claim against RED, REM and ARED."""
    return [f"{claim}-{name.lower()}" for name in QUEUES[:3]]


def believe(found: Mapping[str, Finding]) -> str:
    """Returns what to believe of the paper, in a sentence."""
    lower = saying(
        found,
        [*of_all("fig3.delay"), *of_all("fig5.loss")],
        holds="RARED does have a lower delay and less loss than RED, REM and ARED at every load",
        fails="RARED does not have the lower delay and loss at every load",
        undecided="Whether RARED has the lower delay and loss at every load is open",
    )
    price = saying(
        found,
        of_all("fig6.throughput"),
        holds="keeps their throughput",
        fails=f"pays for that with {amount(found['fig6.throughput-red'])} throughput",
        undecided="may pay for that with throughput",
    )
    plain = f"a plain RED with a max_p of 0.8 has a lower delay {at_points(found['beside.delay'])} loads"
    return f"{lower}, but it {price}; {plain}{read_otherwise(found)}."


def discussion(found: Mapping[str, Finding]) -> str:
    """Discusses the paper in plain words, from the findings."""
    return "\n\n".join((_delay(found), _jitter(found), _parameters(found), _beside(found), _ns2(found)))


def _delay(found: Mapping[str, Finding]) -> str:
    lower = saying(
        found,
        [*of_all("fig3.delay"), *of_all("fig5.loss")],
        holds="**Believe that RARED has the lowest delay and the lowest loss of the four.** It "
        "does at every number of joining flows, against each of the others.",
        fails="**RARED does not have the lowest delay and loss everywhere.** At least one "
        "comparison comes out against it.",
        undecided="**RARED's delay and loss are lower in the mean, though not shown to be at every number of flows.**",
    )
    price = saying(
        found,
        of_all("fig6.throughput"),
        holds="It keeps the throughput as well.",
        fails="**Do not believe that it keeps the throughput.**",
        undecided="Whether it keeps the throughput is open.",
    )
    lost = found["fig6.throughput-red"]
    return f"""\
{lower} In the mean over the loads the delay is {apart(found["fig3.delay-red"])} than RED's, and
the loss {apart(found["fig5.loss-red"])}. {price} It is {apart(lost)} throughput in the mean, and
within the margin of 2 % {at_points(lost)} loads. The two belong together: the queue is short
because flows are cut back hard and often, and while they recover the link stands idle."""


def _jitter(found: Mapping[str, Finding]) -> str:
    jitter = saying(
        found,
        of_all("fig4.jitter"),
        holds="**The delay jitter is lower at every load, too.**",
        fails="**The delay jitter is not lower at every load.**",
        undecided="**That the delay jitter is lower at every load cannot be shown.**",
    )
    steady = saying(
        found,
        of_all("section4.steady"),
        holds="The queue is steadier at each of them.",
        fails="The queue is not steadier at every load either.",
        undecided="That the queue is steadier at every load cannot be shown.",
    )
    against = ", ".join(f"{name}'s {at_points(found[f'fig4.jitter-{name.lower()}'])}" for name in QUEUES[:3])
    return f"""\
{jitter} It is shown to be lower than {against} loads. {steady} Jitter over the whole run contains
the step from the first half, with two flows, to the second: a shorter queue makes that step
smaller. The reading window=20-40s leaves the step out and shows what remains, where many flows
join."""


def _parameters(found: Mapping[str, Finding]) -> str:
    short = saying(
        found,
        ["section5.short"],
        holds="On a short link RARED has ARED's delay, as the paper says.",
        fails="On a short link RARED's delay is not ARED's.",
        undecided="On a short link RARED's delay is near ARED's, but not within 10 % of it at every load for certain.",
    )
    slope = saying(
        found,
        ["slope.performance", "slope.utilization"],
        holds="What the paper says of a lower threshold of the slope is so: the delay falls, and "
        "so does the throughput.",
        fails="A lower threshold of the slope does not do all that the paper says.",
        undecided="A lower threshold of the slope trades throughput for delay in the mean; at "
        "every load it is not shown.",
    )
    return f"""\
{short} The loss is another matter, since this reading marks at any probability and a mark costs no
packet; under mark_p=0.1 ns-2 drops every packet that RARED signals with a probability of 0.8, so
the claims on loss must be read with that reading beside them. {slope} With a threshold of 5
instead of 20 packets a second the delay is {apart(found["slope.performance"])}, and the throughput
is {apart(found["slope.utilization"])}."""


def _beside(found: Mapping[str, Finding]) -> str:
    delay, jitter = found["beside.delay"], found["beside.jitter"]
    same = saying(
        found,
        ["beside.throughput"],
        holds="at RARED's throughput",
        fails="at another throughput than RARED's",
        undecided="at about RARED's throughput",
    )
    loss = saying(
        found,
        ["beside.loss"],
        holds="Only the lower loss is RARED's own",
        fails="Even the loss is not RARED's own",
        undecided="Whether the lower loss is RARED's own is open",
    )
    return f"""\
**Most of this is had without looking at the slope.** We ran RARED's own RED with a max_p of 0.8
instead of 0.1. Its delay is lower than RARED's {at_points(delay)} loads, {same}; its jitter is
lower {at_points(jitter)}. In the mean the delay is {apart(delay)} and the jitter
{apart(jitter, 0)}. {loss}: the plain RED's is {apart(found["beside.loss"])}. The paper compares
RARED with disciplines that signal with a small probability until the queue is long."""


def _ns2(found: Mapping[str, Finding]) -> str:
    return """\
REM with the printed parameters is next to DropTail: with φ = 1.001 its probability reaches 0.1
only at a price of 105, and with γ = 0.001 the price hardly leaves 0. The same four algorithms
inside ns-2 put them in the same order; its points are on the figures."""


PAPER = Paper(
    key="rared",
    name="RARED",
    citation="Rate-Aware Random Early Detection (authors and year are not in the text at hand; "
    "the title is the method's name)",
    bibtex="""@misc{rared,
  title = {Rate-Aware Random Early Detection ({RARED})},
  note  = {Authors, year and place of publication are not in the text at hand; the title is the method's name}
}""",
    exhibits=EXHIBITS,
    claims=CLAIMS,
    unstated=UNSTATED,
    readings=OPEN,
    nearest=shipped("rared", OPEN),
    believe=believe,
    discussion=discussion,
)
