"""Disciplines in Python on their way to the workers of a cluster: by value, with the user's own modules."""

from __future__ import annotations

import json
import pickle
import sys
from functools import lru_cache
from typing import Any

from penstock import _penstock
from penstock._names import parameters
from penstock.errors import Error
from penstock.model.modules import installed


def packed(made: _penstock.Scenario) -> bytes:
    """Returns a scenario's disciplines in Python, so that a worker need not have their files.

    Raises `Error` for what cannot travel.
    """
    import cloudpickle

    found = [made.user_aqm(reverse) for reverse in (False, True)]
    own = [name for name in list(sys.modules) if name != "__main__" and _travels(name)]
    for name in own:
        cloudpickle.register_pickle_by_value(sys.modules[name])
    try:
        return bytes(cloudpickle.dumps(found))
    except Exception as error:
        raise Error(f"{made.aqm.removeprefix('python:')} cannot be sent to a cluster: {error}") from error
    finally:
        for name in own:
            cloudpickle.unregister_pickle_by_value(sys.modules[name])


def unpacked(text: str, own: bytes) -> _penstock.Scenario:
    """Returns, on a worker, the scenario that a text and its disciplines are."""
    return _made(text, own)


@lru_cache(maxsize=64)
def _made(text: str, own: bytes) -> _penstock.Scenario:
    from penstock.model.discipline import discipline

    forward, back = pickle.loads(own)
    said: dict[str, Any] = json.loads(text)
    # Their own arguments are in the objects; what every discipline has stays in the text.
    reverse = said["aqm"].pop("reverse")
    tables = [_common(table) if found else table for table, found in ((said["aqm"], forward), (reverse, back))]
    said["aqm"] = {**tables[0], "reverse": tables[1]}
    made = _penstock.Scenario.from_json(json.dumps(said))
    for found, is_reverse in ((forward, False), (back, True)):
        if found is not None:
            own_core = discipline(found[0], "aqm").own
            assert own_core is not None
            made = made.with_user_aqm(own_core.core, [], is_reverse)
    return made


def _common(table: dict[str, Any]) -> dict[str, Any]:
    of_all = parameters()["droptail"]
    return {key: value for key, value in table.items() if key in of_all} | {"kind": "droptail"}


def _travels(name: str) -> bool:
    """Returns whether a module is the user's own, written in Python."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    return file is not None and str(file).endswith(".py") and not installed(name)
