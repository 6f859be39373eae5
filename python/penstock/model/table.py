"""The base of the generated classes: a table of a scenario as a Python object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class Table:
    """A table of a scenario. A field that is `None` is left out, so its default or automatic value holds."""

    __slots__ = ()
    #: The value of the table's key `kind`; empty where it has none.
    kind: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """Returns the table as the scenario file has it."""
        from dataclasses import fields  # a run of a file has no use for it

        table: dict[str, Any] = {"kind": self.kind} if self.kind else {}
        for field in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, field.name)
            if value is not None:
                table[field.name.rstrip("_")] = plain(value)  # from_, class_: Python's own words
        if (reverse := table.pop("reverse_aqm", None)) is not None:
            table["aqm"] = {**table.get("aqm", {}), "reverse": reverse}
        return table


def plain(value: Any) -> Any:
    """Returns `value` with every `Table` in it as a dict."""
    if isinstance(value, Table):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(each) for each in value]
    # json does not take numpy's numbers
    return value.item() if hasattr(value, "item") else value
