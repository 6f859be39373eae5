"""What can go wrong, under one root.

The extension raises these classes too (it imports them from here), so `except penstock.Error` catches all that
Penstock reports about its input. A `KeyboardInterrupt` stays one.
"""


class Error(Exception):
    """The root of every exception that Penstock raises on purpose."""


class ScenarioError(Error, ValueError):
    """A scenario that cannot run. One line: file, line, key path, what was found, what is allowed, the nearest key."""


class SimulationError(Error, RuntimeError):
    """A run that was refused or gave up: more memory than the limit, say. The message has the numbers."""
