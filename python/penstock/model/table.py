"""The base of the generated classes: a table of a scenario as a Python object."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class Table:
    """A table of a scenario. A field that is `None` is left out, so its default or automatic value holds."""

    __slots__ = ()
    #: The value of the table's key `kind`; empty where it has none.
    kind: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        """Adds the keys that its base describes to a class's docstring, so that `help(ps.Red)` has them all."""
        prose, own = _parts(cls)
        keys = own | _parts(cls.__base__)[1] | own  # its own first, and in its own words
        if keys:
            keys["Source"] = keys.pop("Source", "")  # last
            cls.__doc__ = "\n".join([*prose, *filter(None, keys.values()), "    "])

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


def _parts(cls: type | None) -> tuple[list[str], dict[str, str]]:
    """Returns a docstring's prose, and its last paragraph by key where that describes keys."""
    text = (getattr(cls, "__doc__", None) or "").rstrip()
    prose, _, last = text.rpartition("\n\n")
    if not re.match(r"    \w+: ", last):
        return [text, ""], {}
    return [prose, ""], {each.split(":")[0].strip(): each for each in re.split(r"\n(?=    \w+: )", last)}


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
