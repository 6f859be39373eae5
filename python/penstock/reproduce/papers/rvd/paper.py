"""RED against DropTail: how the gaps were read, what was found, and the whole."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.reproduce.model import Finding, Paper
from penstock.reproduce.nearest import shipped
from penstock.reproduce.papers.rvd.claims import CLAIMS
from penstock.reproduce.papers.rvd.exhibits import EXHIBITS
from penstock.reproduce.papers.rvd.scenarios import OPEN
from penstock.reproduce.verdict import CANNOT_TELL
from penstock.reproduce.words import minus, nearest, say, saying, tally

UNSTATED = (
    "What the connections are and how long they run: Tahoe (ns-2's Agent/TCP), ns-2's window of "
    "20 packets, packets of 1460 bytes, a buffer of 50 packets, and runs of 3.5 s. Size and time "
    "came out of a first, coarse search for tables 1 and 2. The nearest joint reading is that of "
    "a search of all documented values.",
    "When they start: each at random within the first 10 ms. At one instant (reading start=0) the seeds are one run.",
    "RED's parameters: all automatic as in ns-2 2.35 (at 45 Mbit/s min_th 9.6 and max_th 28.9 packets).",
    "What D is: source i has i·D of access delay, i = 0…15, so that with D = 10 ms the farthest "
    "is 150 ms away. An access delay that is D for all gives a fairness index near 1, far above "
    "the printed ones.",
    "Access links: 45 Mbit/s and, without a D, 0.1 ms; sinks are 0.1 ms away.",
    "Throughput: all that crosses the link during the run, headers and packets sent again "
    "included; what the receivers get is a sense of the claims. The fairness index is that of "
    "the payload acknowledged.",
)

TABLES = tuple(f"table{number}.off" for number in (1, 2, 3, 4))


def percent(found: Mapping[str, Finding], key: str) -> str:
    """Returns a distance without its interval: `"12 %"`."""
    at = found[key].estimate
    return "nothing" if at is None else minus(f"{at:.0f} %")


def distances(found: Mapping[str, Finding]) -> str:
    """Returns how far each table is, the mean and the worst number."""
    worst = [max((at.estimate or 0.0 for at in found[key].points), default=0.0) for key in TABLES]
    each = [f"{percent(found, key)} (at most {most:.0f} %)" for key, most in zip(TABLES, worst, strict=True)]
    return f"{', '.join(each[:-1])} and {each[-1]}"


def fairness(found: Mapping[str, Finding]) -> str:
    """Returns what the fairness indices say of the queues."""
    verdicts = {found[key].verdict for key in ("fig4.fairer", "fig5.fairer")}
    if verdicts == {CANNOT_TELL}:
        return "the fairness that the paper finds cannot come from the queue, because no packet is lost there"
    return saying(
        found,
        ("fig4.fairer", "fig5.fairer"),
        holds="RED is fairer",
        fails="RED is not fairer",
        undecided="whether RED is fairer is open",
    )


def believe(found: Mapping[str, Finding]) -> str:
    """Returns what to believe of the paper, in a sentence."""
    taken = nearest(found) or found
    same = saying(
        taken,
        ("fig2.same", "fig3.few"),
        holds="RED and DropTail carry almost the same, as it says",
        fails="RED and DropTail do not carry the same within 2 % everywhere",
        undecided="RED and DropTail carry about the same",
    )
    better = saying(
        taken,
        ("fig3.many",),
        holds="RED's small lead on the long link is one more waiting packet in ns-2's queue",
        fails="RED has no lead on the long link",
        undecided="RED's lead on the long link is open",
    )
    return f"{same}; {better}; and {fairness(taken)}."


def discussion(found: Mapping[str, Finding]) -> str:
    """Discusses the paper in plain words, from the findings."""
    return "\n\n".join((_near(found), _queue(found), _red(found), _itself(found), _ns2(found)))


def _near(found: Mapping[str, Finding]) -> str:
    text = f"**How near we come.** The mean distance from the printed numbers in tables 1 to 4 is {distances(found)}."
    near = nearest(found)
    if near:
        text += f" In the nearest joint reading it is {distances(near)}."
    return (
        f"{text} From N = 2 to 4 table 1 has 1.4 times the throughput: connections that are too "
        "few to lose a packet to each other carry twice as much, whatever their parameters. The "
        "scenario was probably of this kind; it was not quite this one."
    )


def _queue(found: Mapping[str, Finding]) -> str:
    return (
        "**The queue hardly matters.** With N = 32 the connections use "
        f"{percent(found, 'fig2.congested')} of the link in case 1 and "
        f"{percent(found, 'fig3.congested')} in case 2 (by the paper's tables 51 and 5 %). What "
        "they lack is time: setting up a connection and slow start take the better part of a "
        "second at a round trip of 160 ms and most of the run at 500 ms, and the losses are "
        "those of their bursts. In cases 3 and 4 the bursts come apart. RED's fairness index "
        f"over DropTail's: {say(found, 'fig4.fairer')} and {say(found, 'fig5.fairer')}. Where no "
        "packet is lost, RED and DropTail are the same run, and no number of seeds tells them "
        "apart: the index then measures round trips, not queues."
    )


def _red(found: Mapping[str, Finding]) -> str:
    better = ("fig3.many", "fig4.fairer", "fig5.fairer")
    text = (
        f"**RED against DropTail.** In case 1 {say(found, 'fig2.same')}; in case 2 "
        f"{say(found, 'fig3.few')} up to N = 8 and {say(found, 'fig3.many')} beyond. That RED is "
        f"better, in cases 2, 3 and 4: {tally(found, better)}."
    )
    near = nearest(found)
    if near:
        text += (
            f" In the nearest joint reading: {say(near, 'fig2.same')}, {say(near, 'fig3.few')} "
            f"and {say(near, 'fig3.many')}; {tally(near, better)}."
        )
    return (
        f"{text} Of a limit of 50 packets ns-2's DropTail lets 49 wait and its RED 50. With 50 "
        f"for both the difference is {say(found, 'fig2.places')} in case 1 and "
        f"{say(found, 'fig3.places')} in case 2: RED drops nothing before its buffer is full, as "
        "DropTail does. Where the link is busier (readings duration=30s, window=64 and the two "
        "together) the queues do differ; their verdicts are in the table of claims."
    )


def _itself(found: Mapping[str, Finding]) -> str:
    return (
        "**The paper against itself.** Its text has RED fairer in case 3, and its table 3 has "
        "DropTail fairer at 10 and 15 ms. The text has an increase over N; its table 2 has less "
        "at N = 12 than at 8. It defines throughput as what the receivers get; its own numbers "
        "are nearer to that with packets of 1460 bytes, and to all that crosses the link with "
        "packets of 1000."
    )


def _ns2(found: Mapping[str, Finding]) -> str:
    return (
        "**Beside ns-2.** The same cases in ns-2 itself (validation/ns2.csv, all flows from one "
        "instant) give with T_p = 250 ms what they give here. With 80 ms, packets of different "
        "connections are due at the queue at the same instant, and which is first decides who "
        "loses. ns-2's rounded and our exact times differ there: 11.9 and 12.8 Mbit/s at N = 16 "
        "in ns-2, 11.5 for both here. Starts within 10 ms take this coincidence away."
    )


PAPER = Paper(
    key="rvd",
    name="RvD",
    citation="Comparison of RED and DropTail (authors and title are not in the text at hand)",
    bibtex="""@misc{rvd,
  title = {A comparison of {RED} and {DropTail} in throughput and fairness},
  note  = {Authors, title, year and place of publication are not in the text at hand; the title says what it is about}
}""",
    exhibits=EXHIBITS,
    claims=CLAIMS,
    unstated=UNSTATED,
    readings=OPEN,
    nearest=shipped("rvd", OPEN),
    believe=believe,
    discussion=discussion,
)
