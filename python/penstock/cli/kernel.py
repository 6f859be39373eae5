"""`penstock kernel`."""

from __future__ import annotations

import click

from penstock.cli import options, real
from penstock.cli.inputs import assignments
from penstock.cli.output import report, tell
from penstock.kernel import device as kernel
from penstock.kernel.show import parameters_table, values_table

DEVICE = click.argument("device")


@click.group("kernel", cls=options.Commands)
def command() -> None:
    """Put FILE's discipline into this machine's kernel.

    It decides about what leaves a device, on a virtual queue at FILE's rate: pass, mark or drop. Needs root, Linux 6.6
    or newer, and penstock-kernel, which make mecn builds. docs/kernel.md says what it does and what it does not.
    """


@command.command("load")
@DEVICE
@options.file
@options.aqm()
@options.changes()
@options.as_json()
def load(device: str, file: str, aqm: str | None, changes: tuple[str, ...], as_json: bool) -> None:
    """Put FILE's discipline on DEVICE; it stays until it is unloaded."""
    scenario, _ = real.link(file, None, aqm, changes)
    _say(kernel.load(scenario, device), as_json)


@command.command("show")
@DEVICE
@options.as_json()
def show(device: str, as_json: bool) -> None:
    """Show DEVICE's discipline: averages, probabilities, counts."""
    loaded = kernel.show(device)
    report(as_json, lambda: loaded.json, lambda: values_table(loaded))


@command.command("set")
@DEVICE
@click.argument("changes", nargs=-1, required=True, metavar="KEY=VALUE...")
@options.as_json()
def set_(device: str, changes: tuple[str, ...], as_json: bool) -> None:
    """Change keys of DEVICE's scenario, such as aqm.max_p=0.2, under traffic."""
    _say(kernel.change(device, assignments(changes, "KEY=VALUE")), as_json)


@command.command("unload")
@DEVICE
def unload(device: str) -> None:
    """Take the discipline from DEVICE; nothing of it stays."""
    kernel.unload(device)


def _say(loaded: kernel.Loaded, as_json: bool) -> None:
    report(as_json, lambda: loaded.json, lambda: parameters_table(loaded))
    for line in () if as_json else loaded.told.lost:
        tell(f"Lost: {line}")
