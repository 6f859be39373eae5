"""What can go wrong, under one root.

The extension raises these classes too (it imports them from here), so `except penstock.Error` catches all that
Penstock reports about its input. A `KeyboardInterrupt` stays one.
"""

from __future__ import annotations


class Error(Exception):
    """The root of every exception that Penstock raises on purpose."""


class ScenarioError(Error, ValueError):
    r"""A scenario that cannot run. The message is one line; the attributes hold its facts.

    file: the file's name, `<text>` for a scenario read from text; `None` where there was neither.
    line: the line in that file, from 1; `None` where there is none.
    path: the dotted path of the key, as in `aqm.min_th`; empty where the text as a whole is wrong.
    found: the value that was found, as TOML writes it; `None` where a key is missing or unknown.
    allowed: what is allowed instead: keys, words or units, or one description of the values; may be empty.
    nearest: the allowed name that looks most like the one that was found; `None` where names are not the problem.
    problem: what is wrong: `syntax`, `unknown-key`, `unknown-word`, `value`, `quantity`, `missing` or `conflict`;
        `None` where no scenario is at fault, but an option of the command, say.

    >>> import penstock as ps
    >>> try:
    ...     ps.Scenario.from_toml("[aqm]\nkind = 'red'\nmax_pp = 0.1\n")
    ... except ps.ScenarioError as error:
    ...     print(error.line, error.path, error.problem, error.nearest)
    3 aqm.max_pp unknown-key max_p
    """

    file: str | None = None
    line: int | None = None
    path: str = ""
    found: str | None = None
    allowed: tuple[str, ...] = ()
    nearest: str | None = None
    problem: str | None = None


class SimulationError(Error, RuntimeError):
    """A run that was refused or gave up: more memory than the limit, say. The message has the numbers."""
