"""The scenarios of RFC 7928 and one beyond it, each a file that can be read and run by itself, and their variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from penstock.evaluation.link import RFC, Link, under
from penstock.model.hosts import HOSTS
from penstock.model.scenario import Scenario

FOLDER = Path(__file__).parent / "scenarios"

#: Whose TCP the flows of a scenario are: the RFC's, which the files have, or that of hosts of today.
OWN_HOSTS = "rfc"
ALL_HOSTS = (OWN_HOSTS, *HOSTS)
#: Whose they are where the RFC names no sender. Section 5 is about the senders that it names: there they stay.
LINUX = HOSTS[0]

#: What the RFC says of a scenario, in its own capitals elsewhere.
Level = Literal["must", "should", "recommended", "may", "beyond it"]


@dataclass(frozen=True, slots=True)
class Variant:
    """One form of a scenario.

    key: short and stable; empty for the file as it is.
    changes: key path → value.
    at: where it stands on the scenario's axis, if that has one.
    """

    key: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A scenario of the RFC, or one beyond it.

    key: its file's name without `.toml`.
    section, level: of the RFC; of a scenario beyond it, the RFC that asks for it.
    title: in our words.
    variants: its forms; the first one is the file as it is.
    axis: what `Variant.at` counts, with its unit.
    ecn: whether it is also run with ECN (section 4.5).
    knobs: whether each discipline's control values are varied in it (section 8.3).
    both_ways: whether the discipline is at work in both directions.
    changing: seconds at which the load or the link changes.
    link: the one that it is played on.
    hosts: whose TCP its flows are, one of `ALL_HOSTS`.
    """

    key: str
    section: str
    level: Level
    title: str
    variants: Sequence[Variant] = (Variant(),)
    axis: str = ""
    ecn: bool = True
    knobs: bool = False
    both_ways: bool = False
    changing: Sequence[float] = ()
    link: Link = RFC
    hosts: str = LINUX

    @property
    def file(self) -> Path:
        """The scenario's file."""
        return FOLDER / f"{self.key}.toml"

    def scenario(self, variant: Variant) -> Scenario:
        """Returns one of its forms, still with the file's discipline."""
        made = _loaded(self.file, self.hosts)
        # After the hosts: what a form changes of them is what it asks about.
        made = made.set_all(variant.changes) if variant.changes else made
        return made if self.link == RFC else under(made, self.key, self.link)


@cache
def _loaded(file: Path, hosts: str) -> Scenario:
    made = Scenario.load(file)
    return made if hosts == OWN_HOSTS else made.with_hosts(hosts)


#: Payload of a full segment in the files, bytes.
SEGMENT = 1460


def _short(packets: int, window: int) -> Variant:
    changes = {"traffic.1.bytes": f"{packets * SEGMENT} B", "traffic.1.initial_window": window}
    return Variant(f"{packets} packets, IW {window}", changes, packets)


#: Round trips of section 6.2's second category, milliseconds.
RTTS_MS = (5, 25, 50, 100, 200, 400, 560)


def _second_rtt(ms: int) -> Variant:
    # 1.5 ms of each way are behind the sender's own link.
    return Variant(f"{ms} ms", {"traffic.1.access_delay": f"{ms / 2 - 1.5:g} ms"}, ms)


def _beside(percent: float) -> Variant:
    return Variant(f"{percent:g} %", {"traffic.1.rate": f"{percent / 10:g} Mbit/s"}, percent)


def _behind(kind: str) -> Variant:
    return Variant(f"{kind} behind it", {"topology.link.1.aqm.kind": kind})


ASYMMETRIC = Variant("asymmetric", {"topology.bottleneck.reverse_rate": "1 Mbit/s"})

EXPERIMENTS: Sequence[Experiment] = (
    Experiment(key="friendly-long", section="5.1.1", level="must", title="One TCP-friendly flow", hosts=OWN_HOSTS),
    Experiment(
        key="friendly-short",
        section="5.1.2",
        level="must",
        title="Short transfers beside a long one",
        variants=[_short(packets, window) for window in (3, 10) for packets in (30, 10, 100)],
        axis="packets",
        hosts=OWN_HOSTS,
    ),
    Experiment(key="aggressive", section="5.2", level="must", title="One aggressive flow (CUBIC)", hosts=OWN_HOSTS),
    Experiment(
        key="unresponsive-alone",
        section="5.3",
        level="must",
        title="Datagrams above the link's rate",
        ecn=False,
        hosts=OWN_HOSTS,
    ),
    Experiment(
        key="unresponsive-beside",
        section="5.3",
        level="must",
        title="TCP beside datagrams",
        variants=[_beside(percent) for percent in (50, 75, 100)],
        axis="datagrams, % of the rate",
        hosts=OWN_HOSTS,
    ),
    Experiment(key="background", section="5.4", level="may", title="LEDBAT beside TCP", hosts=OWN_HOSTS),
    Experiment(
        key="rtt-fairness",
        section="6.2",
        level="must",
        title="Two round trips",
        variants=[_second_rtt(ms) for ms in RTTS_MS],
        axis="second round trip, ms",
    ),
    *(
        Experiment(key=f"bursts-{mix}", section="7.2", level="must", title=f"Bursts, mix {mix.upper()}: {what}")
        for mix, what in (
            ("i", "web, constant rate"),
            ("ii", "web, constant rate, bulk"),
            ("iii", "video, web, constant rate"),
            ("iv", "video, web, constant rate, bulk"),
        )
    ),
    Experiment(
        key="mild",
        section="8.2.2",
        level="recommended",
        title="Mild congestion",
        variants=[Variant(), ASYMMETRIC],
    ),
    Experiment(key="medium", section="8.2.3", level="recommended", title="Medium congestion", knobs=True),
    Experiment(key="heavy", section="8.2.4", level="recommended", title="Heavy congestion"),
    Experiment(
        key="varying-load",
        section="8.2.5",
        level="must",
        title="Congestion that varies",
        changing=(20, 40, 60, 80, 100),
    ),
    Experiment(
        key="capacity-slow",
        section="8.2.6",
        level="must",
        title="Capacity that varies slowly",
        changing=(20, 40, 60, 80, 100),
    ),
    Experiment(key="capacity-fast", section="8.2.6", level="must", title="Capacity that varies fast"),
    Experiment(key="mix", section="9.1", level="recommended", title="Traffic mix"),
    Experiment(
        key="series",
        section="10.2",
        level="may",
        title="Two queues in a row",
        variants=[Variant(), _behind("droptail"), _behind("codel")],
    ),
    Experiment(key="packet-sizes", section="4.4", level="should", title="Two packet sizes"),
    Experiment(key="both-ways", section="9.2", level="may", title="Congestion both ways", both_ways=True),
    Experiment(
        key="bbr",
        section="RFC 9743",
        level="beyond it",
        title="Half of the flows BBR",
        variants=[Variant(), Variant("BBRv3", {"traffic.1.tcp": "bbr3"})],
    ),
)


def experiment(key: str) -> Experiment:
    """Returns the scenario of that name. Raises `KeyError`."""
    return {each.key: each for each in EXPERIMENTS}[key]


def with_ecn(scenario: Scenario) -> Scenario:
    """Returns the same scenario with ECN at every queue and every TCP sender (section 4.5)."""
    resolved = scenario.resolved
    changes: dict[str, object] = {
        f"traffic.{i}.ecn": "classic" for i, each in enumerate(resolved["traffic"]) if "ecn" in each
    }
    links = resolved["topology"]["link"] if resolved["topology"]["kind"] == "graph" else []
    changes |= {f"topology.link.{i}.aqm.ecn": True for i, each in enumerate(links) if each.get("aqm") is not None}
    return scenario.set_all({"aqm.ecn": True, **changes})


def shortened(scenario: Scenario, duration_s: float) -> Scenario:
    """Returns the scenario, ended after that time at the latest."""
    return scenario.set("duration", f"{duration_s:g} s") if duration_s < scenario.duration_s else scenario
