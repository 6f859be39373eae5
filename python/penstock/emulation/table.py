"""A run on real packets as a table on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock._text import visible
from penstock.show.run_tables import result_table

if TYPE_CHECKING:
    from rich.console import Group

    from penstock.emulation import Emulated


def emulated_table(result: Emulated) -> Group:
    """Returns one run on real packets: its metrics, and how far to believe them."""
    from rich.console import Group
    from rich.text import Text

    e = result.emulation

    def us(value: float | None) -> str:
        return "–" if value is None else f"{value * 1e6:.0f} µs"

    more = f" {e['overhead_bytes']:+d} a packet" if e["overhead_bytes"] else ""
    lines = [
        f"{'valid' if e['valid'] else 'NOT VALID'} · {e['backend']}, {e['privilege']}, scheduling {e['priority']}; "
        f"the rate counts IP bytes{more}",
        f"late: p50 {us(e['late_p50_s'])}, p99 {us(e['late_p99_s'])}, p99.9 {us(e['late_p999_s'])}, "
        f"max {us(e['late_max_s'])}; "
        f"{e['late_share'] * 100:.2f} % by more than one transmission time ({us(e['transmission_s'])}) · "
        f"CPU {us(e['cpu_per_packet_s'])} a packet",
        *(f"not valid: {why}" for why in e["invalid_because"]),
        *(f"note: {note}" for note in e["notes"]),
    ]
    if e["frames"]["made_ce"] or e["frames"]["made_ect1"]:
        received = "unknown" if e["received_ce"] is None else str(e["received_ce"])
        if e["frames"]["handshake_ce"]:
            received += f" ({e['frames']['handshake_ce']} completed a handshake, where it counts none)"
        lines.append(
            f"marks of the whole run: {e['frames']['made_ce']} CE and {e['frames']['made_ect1']} ECT(1) made; "
            f"CE as the receiving kernel counts them: {received}"
        )
    own = e["congestion_default"]
    if own is not None:
        lines[1:1] = [_window(e), _congestion(e)]
    return Group(result_table(result), *(Text(visible(line)) for line in lines))


def _window(e: dict[str, Any]) -> str:
    """Returns what was measured of a run of own programs."""
    if e["measured_from_s"] is None:
        return "measured: nothing"
    return f"measured: {round(e['measured_from_s'], 3):g} to {round(e['measured_to_s'], 3):g} s"


def _congestion(e: dict[str, Any]) -> str:
    """Returns the congestion control of own programs' TCP, and where it is from."""
    default = e["congestion_default"]
    if e["congestion"] in ([], [default]):
        return f"congestion control of the programs' TCP: {default} (--cc NAME chooses another)"
    return (
        f"congestion control of the programs' TCP: {', '.join(e['congestion'])}, as they chose; "
        f"it begins with {default} (--cc)"
    )
