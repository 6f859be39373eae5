"""Readings whose values no document has: they show what depends on a gap, and no search takes them."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.reproduce.readings import Alternative, Readings, of_our_own


@dataclass(frozen=True)
class Open:
    """What a paper leaves open."""

    a: int = 0
    b: int = 0


def test_values_of_our_own_are_in_no_joint_reading() -> None:
    readings = Readings(
        Open(),
        Alternative("printed", "Printed.", Open(a=1)),
        *of_our_own(Alternative("ours", "Ours.", Open(b=1))),
        Alternative("documented", "Documented.", Open(a=2)),
    )
    assert list(readings.possible()) == [(), ("printed",), ("documented",)]
    assert readings.count() == 3
    assert readings.keys_in_order() == ("printed", "documented")
    # By itself it is a reading like the others.
    assert [each.key for each in readings.without()] == ["printed", "ours", "documented"]
    assert readings[readings.joint("ours")] == Open(b=1)
