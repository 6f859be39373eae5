"""The values that a sweep gives to axes with a range, as `[sweep]` of the scenario says.

```toml
[sweep]
"aqm.kind" = ["red", "codel"]                                      # a list: every value
"topology.bottleneck.delay" = { uniform = ["1 ms", "100 ms"] }     # a range
"aqm.max_p" = { log_uniform = [0.001, 0.5] }
"traffic.0.flows" = { integer = [1, 100] }
samples = 64                                                       # of the three ranges together
method = "lhs"                                                     # or "random", "grid"
design_seed = 1
```

From Python the same tables:
`scenario.set_all({"sweep.aqm.max_p": {"log_uniform": [0.001, 0.5]}, "sweep.samples": 64})`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from penstock import _penstock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Points that become Python objects at a time.
_BLOCK = 4096


def samples(core: _penstock.Scenario) -> Iterator[dict[str, Any]]:
    """Yields the sampled points of a scenario's `[sweep]`: key path → value as in the file. Each is run with every
    combination of the listed values; where no axis has a range, it is one point that changes nothing.

    The same file gives the same points in the same order, none twice (which whole numbers could be), as long as NumPy
    and SciPy keep their random streams. Another number of samples moves all points of a Latin hypercube, while
    `"random"` ones are only added to.
    """
    design = core.design()
    if design is None:
        yield {}
        return
    paths, count, method, seed = design
    rows: Iterable[Iterable[str]]
    if method == "grid":
        columns = zip(*core.sampled([[u] * len(paths) for u in steps(count)]), strict=True)
        rows = itertools.product(*(dict.fromkeys(column) for column in columns))
    else:
        rows = _distinct(core, unit_cube(method, count, len(paths), seed))
    for row in rows:
        yield dict(zip(paths, map(json.loads, row), strict=True))


def unit_cube(method: str, count: int, axes: int, seed: int) -> NDArray[np.float64]:
    """Returns points of the unit cube, one a row: `"lhs"` or `"random"` (independent).

    A Latin hypercube (McKay, Beckman, Conover 1979) has one point in each of an axis's `count` equal slices, at random
    within it.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    if method == "random":
        return rng.random((count, axes))
    from scipy.stats import qmc

    points: NDArray[np.float64] = qmc.LatinHypercube(axes, rng=rng).random(count)
    return points


def steps(count: int) -> list[float]:
    """Returns values that are evenly spaced, both ends included; one is the middle.

    >>> steps(3)
    [0.0, 0.5, 1.0]
    """
    return [i / (count - 1) for i in range(count)] if count > 1 else [0.5]


def _distinct(core: _penstock.Scenario, points: NDArray[np.float64]) -> Iterator[list[str]]:
    seen: set[bytes] = set()
    for start in range(0, len(points), _BLOCK):
        for row in core.sampled(points[start : start + _BLOCK].tolist()):
            digest = hashlib.blake2b("\0".join(row).encode(), digest_size=16).digest()
            if digest not in seen:
                seen.add(digest)
                yield row
