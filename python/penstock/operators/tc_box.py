"""A queue discipline of `tc`'s state with what stands around it, and what a reader makes of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.operators.state import Given, rate_text
from penstock.operators.tc_tree import Node

#: A frame's IP packet; the state does not say the mean packet.
PACKET = 1500
MOST = 2**32 - 1
Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Read:
    """A queue discipline as a scenario has it.

    buffer: what may wait.
    special: field → what is lost by it here; `None`: nothing.
    notes: what whoever reads the scenario should know, a sentence each.
    """

    aqm: dict[str, object]
    buffer: str
    special: dict[str, str | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Box:
    """A queue discipline with what stands around it.

    ramp: the fields of RED's average, wherever they stand.
    default_to: field → the key that carries it, where that is not the usual one.
    """

    def __init__(self, node: Node, given: Given, shaper: Node | None, has_classes: bool) -> None:
        self.options = node.options()
        self.where = f"{node.dev}: {node.kind}"
        self.given = given
        self.ramp: Options = self.options
        self.default_to: dict[str, str] = {}
        self._node, self._shaper, self._has_classes = node, shaper, has_classes

    def own_rate(self) -> float | None:
        """Returns the rate that the state says, in bit/s; `tc` has bytes per second."""
        above = self._shaper.entry.get("options") if self._shaper is not None else None
        told = self.options.get("bandwidth") if self._node.kind == "cake" else None
        told = above.get("rate") if isinstance(above, dict) and told is None else told
        return 8 * told if isinstance(told, (int, float)) and not isinstance(told, bool) and 0 < told < 1e12 else None

    def rate(self) -> str:
        """Returns the bottleneck's rate. Raises `ScenarioError` where neither the state nor the user
        says it.
        """
        hint = "; `tc class show` says the classes'" if self._has_classes else ""
        return rate_text(self.own_rate(), self.given, self.where, hint)

    def framing(self, node: Node) -> Counted:
        """Returns what the rate counts of a packet, as a queue discipline's own options say it: that of the
        one that makes the rate.
        """
        options = node.options()
        if node.kind == "cake":
            rate = self.own_rate() if node is self._node else None
            return counted(options, 14 if options.get("raw") is True else 0, rate)
        if node is self._shaper:
            return counted(options, 14, self.own_rate())
        return Counted({}, {}, {})

    def size_table(self, node: Node) -> Counted:
        """Returns the same of a queue discipline's size table."""
        stab = node.entry.get("stab")
        if not isinstance(stab, dict):
            return Counted({}, {}, {})
        own = self.framing(node)
        # The header counts once.
        shapes = node is self._shaper and not own.carried
        return counted(stab, 14, self.own_rate() if shapes else None)

    def link(self) -> Mapping[str, str]:
        """Returns the keys of the link for all that."""
        makes_it = self._shaper if self._shaper is not None else self._node
        return {**self.framing(makes_it).keys, **self.size_table(makes_it).keys}

    def statistic(self, name: str) -> Any:
        """Returns what stands beside the options."""
        return self._node.entry.get(name)


def on(options: Options, key: str) -> bool:
    """Returns whether a flag is set."""
    return options.get(key) is True


#: What the options and the size table call how the line cuts up packets → the link's `framing`.
CELLS = {"atm": "atm", "adsl": "atm", "ptm": "ptm"}
#: The most bytes that a link's `overhead` and `mpu` are.
MOST_FRAMING = 256
_LINK = "topology.bottleneck"


@dataclass(frozen=True, slots=True)
class Counted:
    """What a shaper's rate counts of a packet.

    keys: of the scenario's link. carried: field → the key that carries it.
    lost: field → what is lost by it.
    """

    keys: Mapping[str, str]
    carried: Mapping[str, str]
    lost: Mapping[str, str | None]


def counted(options: Options, header: int, rate: float | None) -> Counted:
    """Returns what a shaper of this rate counts: as keys of the link, or as what is lost where no link has
    it, such as fewer bytes than the packet's own.

    header: bytes beside the packet's own that count without being told. rate: in bit/s; `None`: nothing is
    shaped here, and a size counts for the buffer at most.
    """
    told = {"overhead": options.get("overhead", 0), "mpu": options.get("mpu", 0)}
    plain = all(isinstance(each, int) and not isinstance(each, bool) for each in told.values())
    overhead, mpu = (header + told["overhead"], told["mpu"]) if plain else (-1, 0)
    cells = CELLS.get(str(options.get("atm", options.get("linklayer"))), "none")
    if not rate or not 0 <= overhead <= MOST_FRAMING or not 0 <= mpu <= MOST_FRAMING:
        return Counted({}, {}, framing(options, header, rate))
    keys = {
        **({"overhead": f"{overhead} B"} if overhead else {}),
        **({"mpu": f"{mpu} B"} if mpu else {}),
        **({"framing": cells} if cells != "none" else {}),
    }
    carried = {
        **({"overhead": f"{_LINK}.overhead"} if told["overhead"] else {}),
        **({"raw": f"{_LINK}.overhead"} if options.get("raw") is True else {}),
        **({"mpu": f"{_LINK}.mpu"} if mpu else {}),
        **({name: f"{_LINK}.framing" for name in ("atm", "linklayer") if name in options and cells != "none"}),
    }
    return Counted(keys, carried, {})


def framed(options: Options, header: int) -> int:
    """Returns the bytes of the rate that a full packet takes, as sch_cake and the size table count.

    header: bytes beside the packet's own that count without being told.
    """
    own = options.get("overhead", 0)
    size = PACKET + header + (own if isinstance(own, int) and abs(own) < 1000 else 0)
    layer = options.get("atm", options.get("linklayer"))
    if layer in ("atm", "adsl"):
        return -(-size // 48) * 53
    return size + -(-size // 64) if layer == "ptm" else size


def framing(options: Options, header: int, rate: float | None = None) -> dict[str, str | None]:
    """Returns what is lost by `raw`, `atm`, `linklayer` and `overhead`, in bytes of a full packet.

    rate: of the shaper, in bit/s, where it counts so.
    """
    size = framed(options, header)
    why = f"a packet of {PACKET} B takes {size} B of the rate, in the scenario {PACKET} B"
    if rate:
        why += f"; --rate '{rate * PACKET / size / 1e3:.6g} kbit/s' makes up for it with full packets"
    costs = {
        "raw": options.get("raw") is True,
        "atm": options.get("atm") in ("atm", "ptm"),
        "linklayer": options.get("linklayer") not in (None, "ethernet"),
        "overhead": options.get("overhead", 0) != 0,
    }
    return {name: why if cost else None for name, cost in costs.items()}
