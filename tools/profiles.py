"""Writes `docs/profiles.md`, the defaults that each profile changes, from the declarations in Rust.

`make generate` does it; a test fails while the page is stale.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from penstock._names import listing
from tables import table

Row = Mapping[str, Any]

HEAD = """# Profiles

Made by `tools/profiles.py` from the declarations in Rust; `make generate` writes it again.

`profile` at the top of a scenario says whose defaults the keys take that are left out. A profile is
a bundle of parameters and nothing else: each can be set by itself over it, in the scenario, with
`--set`, or in a sweep. `--set profile=rfc` shows what a profile does to a result, and a sweep over
one of its keys what that key does. `penstock list profiles` has the same tables.

```toml
profile = "linux"

[[traffic]]
kind = "ftp"
tcp = "reno"              # the profile has cubic
initial_window = 2        # and 10
```

| profile | whose defaults | take it for |
| --- | --- | --- |
"""

#: What each is for.
FOR = {
    "rfc": "a paper of today, a question about an algorithm. It is the default.",
    "ns-2": "a comparison with ns-2, a paper that used it. [What it does](coming-from/ns-2.md).",
    "linux": "a network of today: what its hosts send. `penstock init` writes it.",
    "quic": "transfers over QUIC: paced from the start, no proportional rate reduction, probes.",
}

#: What else a page should say of one.
NOTES = {
    "quic": """It is what quinn, neqo and s2n-quic have in common, by RFC 9002. The SYN stands for
the handshake. A segment is a datagram of 1200 B: 1165 B of data, 35 B of QUIC's and 28 B of UDP's
and IP's headers.

| stack | keys over the profile |
| --- | --- |
| quinn | none: `pacing_gain = 1.25` is the profile's |
| neqo | `pacing_gain = 2`, `beta_ecn = 0.85`; `hystart = "rfc9406"` where that is on |
| s2n-quic | `pacing_gain_start = 2`, `hystart = "rfc9406"`, `first_repair_free`, `undo = false` |

Not modelled: ACK frequency, streams and their flow control, connection migration, path MTU
discovery, ranges of ACKs beyond three, the delay that an ACK tells of, the bursts that a token
bucket lets through, CUBIC's limits on growth that differ between stacks, s2n-quic's own HyStart, by
delay alone, to which RFC 9406's is nearest, and the size of an ACK, which is that of TCP. For
counts of marks, which QUIC reports, take `ecn = "accecn"`. The controls `bbr`, `bbr3` and `prague`
keep RACK's recovery.""",
}

#: Tables of the scenario by the lists' names for them.
PLACES = {"top": "top", "traffic": "`[[traffic]]`", "aqm": "`[aqm]`"}


def source() -> str:
    """Returns the text of `docs/profiles.md`."""
    profiles = listing("profiles")
    lines = [HEAD.rstrip("\n")]
    lines += [f'| `"{row["name"]}"` | {row["doc"]} | {FOR[row["name"]]} |' for row in profiles]
    for row in profiles:
        if row["params"]:
            notes = [NOTES[row["name"]], ""] if row["name"] in NOTES else []
            lines += ["", f"## {row['name']}", "", *notes, *_keys(row)]
    return "\n".join(lines) + "\n"


def _keys(row: Row) -> Iterator[str]:
    general = _general()
    cells = (
        (
            PLACES.get(p["table"], f"`{p['table']}`"),
            f"`{p['name']}`",
            p["default"] + _unit(p),
            general[p["name"]],
            p["doc"].replace("|", "\\|"),
            p["source"].replace("|", "\\|"),
        )
        for p in row["params"]
    )
    yield from table(("table", "key", "value", "else", "meaning", "source"), cells, "l")


def _unit(p: Row) -> str:
    return f" ({p['unit']})" if p["unit"] not in ("", "1") else ""


def _general() -> dict[str, str]:
    """Returns the general default of each key, or what it means to leave it out."""
    lists = (listing(what) for what in ("scenario", "tcp", "aqm"))
    params = [p for rows in lists for row in rows for p in row["params"]]
    return {
        p["name"]: p["auto"] if p["default"] is None else p["default"] for p in reversed(params)
    }
