"""The functions `penstock.config` and `penstock.config_from`.

They load what they need when they are called, as `penstock.sweep` does: the package's names are all
loaded before a discipline in Python runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.model.scenario import Scenario
    from penstock.operators.command import Configuration


def config(
    scenario: Scenario,
    to: str,
    *,
    dev: str | None = None,
    variant: str | None = None,
    shape: bool = False,
    exact: float | None = None,
    seeds: int = 5,
    jobs: int | None = None,
    progress: Callable[[float, int, int], object] | None = None,
) -> Configuration:
    """Writes a scenario's bottleneck as a router's configuration, and simulates what the router
    will make of it.

    to: the platform: `"tc"`, `"sonic"`, `"cisco-ios"`, `"junos"`, `"eos"`, `"openconfig"`,
        `"dpdk"`, `"vyos"`, `"sqm"`.
    dev: the interface; default: the platform's usual first one.
    variant: one of several forms: tc's `"gred"` instead of `"red"`, or `"cake"` instead of
        `"fq_codel"`.
    shape: let tc make the bottleneck's rate itself.
    exact: raise where a value is off by more than this, or anything is lost: `0.01` is one per
        cent.
    seeds: runs of what is wanted and of what the box will do, paired; 0: none.

    Raises `ScenarioError` with the reason where the platform cannot express it.
    """
    from penstock.operators.command import configure
    from penstock.operators.model import Place

    place = Place(dev=dev, variant=variant, shape=shape)
    return configure(scenario, to, place, exact=exact, seeds=seeds, jobs=jobs, progress=progress)


def config_from(
    text: str,
    platform: str,
    *,
    dev: str | None = None,
    parent: str | None = None,
    profile: str | None = None,
    rate: str | None = None,
    rtt: str | None = None,
    buffer: str | None = None,
) -> Scenario:
    """Returns what runs on a box as a scenario.

    text: what `tc -s -d qdisc show` prints, in JSON (`-j`) or not, or SONiC's config DB.
    platform: `"tc"` or `"sonic"`.
    dev, parent, profile: which interface, class or profile, where there are several.
    rate, rtt, buffer: what the state does not say.

    Warns (`UserWarning`) of each thing that the box does and the scenario does not. Raises
    `ScenarioError` with one message.
    """
    import warnings

    from penstock.model.scenario import Scenario
    from penstock.operators.command import read
    from penstock.operators.state import Given

    given = Given(dev=dev, parent=parent, profile=profile, rate=rate, rtt=rtt, buffer=buffer)
    reading = read(text, platform, given)
    for sentence in reading.fate.sentences():
        warnings.warn(f"lost: {sentence}", stacklevel=2)
    return Scenario.from_toml(reading.text)
