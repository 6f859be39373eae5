"""The runs of `tools/hosts.py`: each part's scenarios, and the numbers that its expectations name.

Numbers have names such as `shares/bbr/10/0.5`: BBR's share, 10 Mbit/s, half a product of buffer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import penstock as ps
from outcomes import ROOT, Found, Trace, less, metric, over, ratio, share
from penstock.judging.estimate import FROM_ZERO, PERCENT, SHARE
from penstock.runs.result import Result

#: Whose keys each scenario replaces.
BASE = ROOT / "scenarios" / "hosts.toml"
SEEDS = 10
#: Bytes of a full packet, as Linux sends it.
PACKET = 1500


# ---- scenarios


@dataclass(frozen=True, kw_only=True)
class Route:
    """A link. rate in Mbit/s; trip in ms, there and back over an empty queue."""

    rate: float
    trip: float

    @property
    def product(self) -> float:
        """Bytes that are under way at full rate."""
        return self.rate * self.trip * 125


def flow(tcp: str, **keys: Any) -> dict[str, Any]:
    """Returns flows of one kind."""
    return {"kind": "ftp", "tcp": tcp, "start": {"uniform": ["0 s", "1 s"]}, **keys}


def through(
    path: Route,
    traffic: Sequence[Mapping[str, Any]],
    *,
    buffer: float,
    aqm: Mapping[str, Any] | None = None,
    duration: float,
    since: float,
    profile: str = "linux",
) -> ps.Scenario:
    """Returns a dumbbell. buffer in bytes; duration and since in seconds.

    A group's `trip` in ms is its own round trip, instead of the path's.
    """
    groups = [dict(group) for group in traffic]
    trips = any("trip" in group for group in groups)
    topology: dict[str, Any] = {
        "kind": "dumbbell",
        "bottleneck": {
            "rate": f"{path.rate:g} Mbit/s",
            "delay": "1 ms" if trips else f"{path.trip / 2:g} ms",
            "buffer": f"{max(buffer, 2 * PACKET):.0f} B",
        },
    }
    if trips:
        topology |= {
            "access": {"rate": "10 Gbit/s", "delay": "0 s"},
            "egress": {"rate": "10 Gbit/s", "delay": "0 s"},
        }
        for group in groups:
            group["access_delay"] = f"{group.pop('trip') / 2 - 1:g} ms"
    return ps.Scenario.load(
        BASE,
        {
            "duration": f"{duration:g} s",
            "measure": {"from": f"{since:g} s"},
            "profile": profile,
            "topology": topology,
            "aqm": dict(aqm or {"kind": "droptail"}),
            "traffic": groups,
        },
    )


# ---- 1. BBR beside CUBIC

BUFFERS = (0.25, 0.5, 1, 2, 4, 8, 16)
#: Mbit/s → the path, and the seconds of a run and of its warm-up.
LINKS = {
    10: (Route(rate=10, trip=40), 220, 20),
    100: (Route(rate=100, trip=20), 120, 20),
}
BESIDE = (1, 4, 10)


def shares(found: Found) -> None:
    """One BBR flow beside CUBIC over the buffer, over the number of CUBIC flows, and alone."""
    of: dict[str, list[float]] = {}
    for control in ("bbr", "bbr3"):
        for rate, (path, duration, since) in LINKS.items():
            for size in BUFFERS:
                for flows in BESIDE if rate == 10 else (1,):
                    run = ps.run(
                        through(
                            path,
                            [flow(control), flow("cubic", flows=flows)],
                            buffer=size * path.product,
                            duration=duration,
                            since=since,
                        ),
                        SEEDS,
                    )
                    name = f"shares/{control}/{size:g}/n{flows}"
                    if flows == 1:
                        name = f"shares/{control}/{rate}/{size:g}"
                        lost = metric(run, "data_loss_ratio", 100)
                        found.add(f"{name}/loss", lost, PERCENT)
                        of[name] = share(run)
                    found.add(name, share(run), PERCENT)
                    of[f"{control}/{rate}/{size:g}/{flows}"] = share(run)
                    if rate == 10 and flows == 1:
                        found.add(f"shares/{control}/{size:g}/n1", share(run), PERCENT)
        for low, high in ((0.5, 2), (2, 8)):
            fall = less(of[f"shares/{control}/10/{low:g}"], of[f"shares/{control}/10/{high:g}"])
            found.add(f"shares/{control}/10/fall/{low:g}-{high:g}", fall)
        many = less(of[f"{control}/10/8/10"], of[f"{control}/10/8/1"])
        found.add(f"shares/{control}/8/n10-n1", many)
    for size in BUFFERS:
        both = less(of[f"shares/bbr/10/{size:g}"], of[f"shares/bbr3/10/{size:g}"])
        found.add(f"shares/bbr-bbr3/10/{size:g}", both)
    path, duration, since = LINKS[10]
    products = PACKET / path.product
    for control in ("bbr", "bbr3"):
        kind: Mapping[str, Any] = {"duration": duration, "since": since}
        one = ps.run(through(path, [flow(control)], buffer=path.product, **kind), SEEDS)
        found.add(f"alone/{control}/utilization", metric(one, "utilization", 100), PERCENT)
        found.add(f"alone/{control}/queue", metric(one, "queue_mean_pkts", products), FROM_ZERO)
        found.add(f"alone/{control}/drops", metric(one, "drops_overflow"), FROM_ZERO)
        four = through(path, [flow(control, flows=4)], buffer=8 * path.product, **kind)
        run = ps.run(four, SEEDS)
        found.add(f"alone/{control}4/queue", metric(run, "queue_mean_pkts", products), FROM_ZERO)
        found.add(f"alone/{control}4/jain", metric(run, "jain"), SHARE)
        fast = Route(rate=100, trip=40)
        run = ps.run(through(fast, [flow(control)], buffer=fast.product, **kind), SEEDS)
        held = metric(run, "queue_mean_pkts", PACKET / fast.product)
        found.add(f"alone/{control}-100/queue", held, FROM_ZERO)
        run = ps.run(
            through(fast, [flow(control, flows=4)], buffer=8 * fast.product, **kind), SEEDS
        )
        held = metric(run, "queue_mean_pkts", PACKET / fast.product)
        found.add(f"alone/{control}4-100/queue", held, FROM_ZERO)
        for aqm in ("codel", "pie"):
            two = [flow(control), flow("cubic")]
            run = ps.run(through(path, two, buffer=1.5e6, aqm={"kind": aqm}, **kind), SEEDS)
            found.add(f"shares/{control}/{aqm}", share(run), PERCENT)


# ---- 2. Prague beside classic senders

#: The queues of heistp/l4s-tests, as they were set up there.
QUEUES: Mapping[str, Mapping[str, Any]] = {
    "codel": {"kind": "codel", "ecn": True},
    "codel-1ms": {"kind": "codel", "ecn": True, "target": "1 ms", "interval": "20 ms"},
    "pie": {"kind": "pie", "ecn": True},
    "pie-5ms": {"kind": "pie", "ecn": True, "qdelay_ref": "5 ms"},
    # tc's defaults for a limit of 150000 bytes: max is a quarter, min a twelfth, probability 0.02.
    "red": {
        "kind": "red",
        "ecn": True,
        "min_th": "12500 B",
        "max_th": "37500 B",
        "max_p": 0.02,
        "gentle": False,
        "forced": "mark",
        "w_q": 0.0625,
    },
    "fq-codel": {"kind": "fq-codel", "ecn": True},
    "droptail": {"kind": "droptail"},
}
CLASSIC = {
    "cubic": flow("cubic", ecn="classic"),
    "cubic-off": flow("cubic"),
    "reno": flow("reno", ecn="classic"),
}


def prague(found: Found) -> None:
    """One Prague flow beside a classic one in one queue, and alone."""
    path = Route(rate=50, trip=20)
    for name, aqm in QUEUES.items():
        buffer = {"red": 150_000.0}.get(name, 1000.0 * PACKET)
        for other, classic in CLASSIC.items():
            both = [flow("prague"), classic]
            scenario = through(path, both, buffer=buffer, aqm=aqm, duration=180, since=120)
            run = ps.run(scenario, SEEDS)
            found.add(f"prague/{other}/{name}", ratio(run), FROM_ZERO)
            if other == "cubic":
                found.add(f"prague/delay/{name}", metric(run, "delay_mean_s", 1e3), FROM_ZERO)
                alone = through(path, [classic], buffer=buffer, aqm=aqm, duration=60, since=20)
                delay = metric(ps.run(alone, SEEDS), "delay_mean_s", 1e3)
                found.add(f"prague/delay-without/{name}", delay, FROM_ZERO)
    for rate in (10, 100):
        link = Route(rate=rate, trip=20)
        aqm = {"kind": "step", "threshold": f"{rate * 125} B"}
        alone = through(link, [flow("prague")], buffer=1.5e6, aqm=aqm, duration=60, since=10)
        run = ps.run(alone, SEEDS)
        found.add(f"prague/alone/{rate}/utilization", metric(run, "utilization", 100), PERCENT)
        found.add(f"prague/alone/{rate}/p99", metric(run, "delay_p99_s", 1e3), FROM_ZERO)


# ---- 3. Round trips

CONTROLS = ("reno", "cubic", "bbr", "bbr3", "prague")
TRIPS = (2, 4, 8)
#: flent's example, in ms.
FLENT = (10, 50, 200, 500)
#: Hosts → their profile, and what their flows have besides. The rfc's have a window that does not
#: limit them, and selective ACKs.
HOSTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "linux": ("linux", {}),
    "linux-sack": ("linux", {"recovery": "sack"}),
    "linux-at-once": ("linux", {"reduction": "at once"}),
    "rfc": ("rfc", {"recovery": "sack", "segment": "1448 B", "header": "52 B", "window": 11_586}),
}


def trips(found: Found) -> None:
    """Two flows of one kind whose round trips differ; four of CUBIC as in flent's example."""
    path = Route(rate=40, trip=20)
    for control in CONTROLS:
        for aqm in ("droptail", "codel"):
            ecn = aqm == "codel" and control == "prague"
            for times in TRIPS:
                both = [flow(control, trip=path.trip), flow(control, trip=times * path.trip)]
                scenario = through(
                    path,
                    both,
                    buffer=times * path.product if aqm == "droptail" else 1.5e6,
                    aqm={"kind": aqm, "ecn": ecn},
                    duration=200,
                    since=50,
                )
                run = ps.run(scenario, SEEDS)
                name = f"trips/{control}/{aqm}"
                short = ratio(run)
                waits = metric(run, "delay_mean_s", 1e3)
                lasts = [(times * path.trip + d) / (path.trip + d) for d in waits]
                power = [
                    math.log(r) / math.log(t) if r else None
                    for r, t in zip(short, lasts, strict=True)
                ]
                found.add(f"{name}/{times}", power)
                found.add(f"{name}/short/{times}", short, FROM_ZERO)
                if control.startswith("bbr"):
                    found.add(f"{name}/long/{times}", ratio(run, 1, 0), FROM_ZERO)
    for a, b in ((5, 20), (25, 50)):
        marks = {
            "kind": "red",
            "ecn": True,
            "min_th": f"{PACKET} B",
            "max_th": f"{20 * PACKET} B",
            "max_p": 0.4,
            "w_q": 1,
            "gate": "geometric",
        }
        both = [flow("prague", trip=a), flow("prague", trip=b)]
        run = ps.run(through(path, both, buffer=1.5e6, aqm=marks, duration=100, since=20), SEEDS)
        found.add(f"trips/prague/red/{a}-{b}", ratio(run), FROM_ZERO)
    link = Route(rate=100, trip=20)
    for hosts, (profile, keys) in HOSTS.items():
        four = [flow("cubic", trip=trip, **keys) for trip in FLENT]
        scenario = through(
            link,
            four,
            buffer=10_240 * PACKET,
            aqm={"kind": "fq-codel"},
            duration=310,
            since=10,
            profile=profile,
        )
        run = ps.run(scenario, SEEDS)
        for i, trip in enumerate(FLENT):
            rates = [(each.groups[i]["goodput_bps"] or 0.0) / 1e6 for each in run.runs]
            found.add(f"flent/{hosts}/{trip}", rates, FROM_ZERO)
        for what in ("timeouts", "retransmits"):
            counts = [each.groups[-1][what] for each in run.runs]
            found.add(f"flent/{hosts}/{what}", counts, FROM_ZERO)


# ---- 4. The first seconds

FORMS = ("off", "linux", "rfc9406")
RATES, DELAYS = (10, 30, 100), (10, 40, 100)
START_S = 5


def starts(found: Found) -> None:
    """One CUBIC flow's first seconds, by what ends its slow start."""
    lost: dict[str, dict[tuple[int, int], list[float]]] = {}
    used: dict[str, list[float]] = {}
    again: dict[str, Any] = {form: np.zeros(SEEDS) for form in FORMS}
    waits: dict[str, Any] = {form: np.zeros(SEEDS) for form in FORMS}
    for form in FORMS:
        lost[form] = {}
        for rate in RATES:
            for delay in DELAYS:
                path = Route(rate=rate, trip=delay)
                first = flow("cubic", hystart=form) | {"start": {"uniform": ["0 s", "10 ms"]}}
                scenario = through(path, [first], buffer=path.product, duration=START_S, since=0)
                run = ps.run(scenario, SEEDS, series="1 ms")
                name = f"starts/{form}/{rate}-{delay}"
                lost[form][rate, delay] = metric(run, "drops_overflow")
                used[name] = metric(run, "utilization", 100)
                found.add(f"{name}/drops", lost[form][rate, delay], FROM_ZERO)
                found.add(f"{name}/utilization", used[name], PERCENT)
                window = max(2 * path.product, 4 * PACKET) / PACKET
                part = [each / window for each in lost[form][rate, delay]]
                found.add(f"{name}/drops-of-window", part, FROM_ZERO)
                found.add(f"{name}/peak", _first_peak(run, path), FROM_ZERO)
                if rate == 100:
                    again[form] += metric(run, "retransmits")
                    waits[form] += metric(run, "timeouts")
        most = [max(each) for each in zip(*lost[form].values(), strict=True)]
        found.add(f"starts/{form}/most-drops", most, FROM_ZERO)
    for form in FORMS[1:]:
        found.add(f"starts/{form}-off/retransmits", over(again[form], again["off"]), FROM_ZERO)
        found.add(f"starts/{form}-off/timeouts", over(waits[form], waits["off"]), FROM_ZERO)
    for a, b in (("linux", "off"), ("rfc9406", "linux"), ("rfc9406", "off")):
        both = less(used[f"starts/{a}/100-100"], used[f"starts/{b}/100-100"])
        found.add(f"starts/{a}-{b}/100-100/utilization", both)


def _first_peak(run: Result, path: Route) -> list[float]:
    """Returns the longest queue up to two round trips after slow start's end, over the buffer."""
    queue, windows = run.series("queue"), run.series("cwnd")
    buffer = max(path.product, 2 * PACKET)
    peaks = []
    for each in run.runs:
        mine = windows["seed"].to_numpy() == each.seed
        t, cwnd, ssthresh = (
            windows[name].to_numpy()[mine] for name in ("t_s", "cwnd_segments", "ssthresh_segments")
        )
        over = t[cwnd >= ssthresh]
        end = (over[0] if len(over) else START_S) + 4 * path.trip / 1e3
        rows = (queue["seed"].to_numpy() == each.seed) & (queue["t_s"].to_numpy() < end)
        peaks.append(float(queue["queue_bytes"].to_numpy()[rows].max()) / buffer)
    return peaks


# ---- 5. DCTCP

WINDOWS = (30, 60, 120, 240)
THRESHOLDS = (1 / 28, 1 / 14, 1 / 7, 1 / 4, 1 / 2)
#: Packets under way at full rate, of the runs over the threshold.
UNDER_WAY = 100
DCTCP = {"rfc": {"segment": "1460 B", "dctcp": "rfc"}, "linux": {"dctcp": "linux"}}


def dctcp(found: Found) -> None:
    """One DCTCP flow through a step: the swing of the queue over the window, use over K."""
    swings: dict[tuple[str, int], list[float]] = {}
    for profile in DCTCP:
        for window in WINDOWS:
            run = _dctcp(profile, window * 2 / 3, window / 3, series=True)
            swings[profile, window] = _swing(run)
            expected = 0.5 * math.sqrt(2 * window)
            found.add(f"dctcp/{profile}/swing/{window}", swings[profile, window], FROM_ZERO)
            found.add(
                f"dctcp/{profile}/{window}",
                [s / expected for s in swings[profile, window]],
                FROM_ZERO,
            )
        logs = np.log([swings[profile, window] for window in WINDOWS])
        slope = np.polyfit(np.log(WINDOWS), logs, 1)[0]
        found.add(f"dctcp/{profile}/exponent", slope.tolist())
        used = {}
        for part in THRESHOLDS:
            run = _dctcp(profile, UNDER_WAY, part * UNDER_WAY, series=False)
            used[part] = metric(run, "utilization", 100)
            found.add(f"dctcp/{profile}/k/{part:.3f}", used[part], PERCENT)
        found.add(f"dctcp/{profile}/k/fall", less(used[1 / 7], used[1 / 28]))
    for window in WINDOWS:
        both = less(swings["linux", window], swings["rfc", window])
        found.add(f"dctcp/linux-rfc/{window}", both)
    for window in WINDOWS:
        run = _dctcp("linux", window * 2 / 3, window / 3, series=True, reduction="at once")
        found.add(f"dctcp/linux-at-once/swing/{window}", _swing(run), FROM_ZERO)


def _dctcp(profile: str, under_way: float, k: float, *, series: bool, **keys: Any) -> Result:
    """Returns runs of one flow at 1 Gbit/s. under_way and k, the threshold, in packets."""
    trip = under_way * PACKET * 8e-9 * 1e3
    path = Route(rate=1000, trip=trip)
    scenario = through(
        path,
        [flow("dctcp", **DCTCP[profile], **keys)],
        buffer=1.5e6,
        aqm={"kind": "step", "threshold": f"{round(k) * PACKET} B"},
        duration=4,
        since=2,
        profile=profile,
    )
    return ps.run(scenario, SEEDS, series=trip / 8e3 if series else None)


def _swing(run: Result) -> list[float]:
    """Returns from where to where the queue swings after the warm-up, in packets."""
    table = run.series("queue")
    seed, t, held = (table[name].to_numpy() for name in ("seed", "t_s", "queue_pkts"))
    return [
        float(np.subtract(*np.percentile(held[(seed == each.seed) & (t > 2)], (99.5, 0.5))))
        for each in run.runs
    ]


# ---- 6. Proportional rate reduction

K = 45
REDUCTIONS = ("at once", "prr")


def dip(found: Found) -> None:
    """One flow through a step: what the queue does after a mark."""
    path = Route(rate=10, trip=40)
    slot = PACKET * 8 / 10e6
    of: dict[str, list[float | None]] = {}
    for control in ("reno", "cubic"):
        for form in REDUCTIONS:
            scenario = through(
                path,
                [flow(control, ecn="classic", recovery="rack", reduction=form)],
                buffer=1.5e6,
                aqm={"kind": "step", "threshold": f"{K * PACKET} B"},
                duration=120,
                since=20,
            )
            run = ps.run(scenario, SEEDS, series="1 ms", events=True)
            dips = [_dips(run, each.seed, path, slot) for each in run.runs]
            name = f"dip/{control}/{form}"
            for i, what in enumerate(("silence", "depth", "bottom", "left")):
                of[f"{name}/{what}"] = [
                    float(np.mean(each[:, i])) if len(each) else None for each in dips
                ]
                found.add(f"{name}/{what}", of[f"{name}/{what}"], FROM_ZERO)
            found.add(f"{name}/utilization", metric(run, "utilization", 100), PERCENT)
            found.trace += _one_dip(run, f"{control}/{form}")
        for what in ("silence", "depth", "bottom"):
            a, b = (of[f"dip/{control}/{form}/{what}"] for form in ("prr", "at once"))
            found.add(f"dip/{control}/prr-at once/{what}", less(a, b))
    used = {}
    base = ps.Scenario.load(ROOT / "scenarios" / "real" / "reno-red-10.toml")
    for form in REDUCTIONS:
        keys = {"profile": "linux", "traffic.0.reduction": form, "duration": "120 s"}
        used[form] = metric(ps.run(base.set_all(keys), SEEDS), "utilization", 100)
        found.add(f"dip/reno/red/{form}/utilization", used[form], PERCENT)
    found.add("dip/reno/red/utilization", less(used["prr"], used["at once"]))


def _first_marks(run: Result, seed: int, gap_s: float = 0.5) -> NDArray[np.float64]:
    """Returns when a mark came after none for a while, after the warm-up, in seconds."""
    table = run.series("events")
    rows = (table["seed"].to_numpy() == seed) & (
        table["event"].cast("string").to_numpy(False) == "mark"
    )
    t = table["t_s"].to_numpy()[rows]
    first = t[np.diff(t, prepend=-1.0) > gap_s]
    return np.asarray(first[(first > 20) & (first < 115)], dtype=np.float64)


def _dips(run: Result, seed: int, path: Route, slot: float) -> NDArray[np.float64]:
    """Returns a row for each dip: the longest silence over the window, the depth in packets, and
    the time to the bottom in round trips, and the part of the window that is left.
    """
    events, queue = run.series("events"), run.series("queue")
    came = (events["seed"].to_numpy() == seed) & (
        events["event"].cast("string").to_numpy(False) == "enqueue"
    )
    arrivals = events["t_s"].to_numpy()[came]
    mine = queue["seed"].to_numpy() == seed
    t, held = queue["t_s"].to_numpy()[mine], queue["queue_pkts"].to_numpy()[mine].astype(float)
    windows = run.series("cwnd")
    own = windows["seed"].to_numpy() == seed
    when, cwnd = (windows[name].to_numpy()[own] for name in ("t_s", "cwnd_segments"))
    trip = path.trip / 1e3 + (K + 1) * slot
    window = trip / slot
    rows = []
    for mark in _first_marks(run, seed):
        near = arrivals[(arrivals >= mark) & (arrivals < mark + 2.5 * trip)]
        silence = (float(np.diff(near).max()) / slot - 1) / window
        here = (t >= mark) & (t < mark + 1.25 * trip)
        peak = np.flatnonzero(here)[0] + int(np.argmax(held[here]))
        after = slice(peak, peak + round(2 * trip / 1e-3))
        low = int(np.argmin(held[after]))
        near = cwnd[(when >= mark) & (when < mark + 3.5 * trip)]
        left = near.min() / near[0]
        rows.append((silence, held[peak] - held[after][low], low * 1e-3 / trip, left))
    return np.array(rows).reshape(-1, 4)


def _one_dip(run: Result, name: str) -> Trace:
    """Returns the queue around the second dip of the first run: ms after the mark, packets."""
    seed = run.runs[0].seed
    mark = _first_marks(run, seed)[1]
    queue = run.series("queue")
    t = queue["t_s"].to_numpy() - mark
    rows = (queue["seed"].to_numpy() == seed) & (t > -0.1) & (t < 0.5)
    held = queue["queue_pkts"].to_numpy()[rows]
    return [
        (name, round(1e3 * float(x)), float(y))
        for x, y in zip(t[rows][::2], held[::2], strict=True)
    ]


# ---- 7. All three in one link

DISCIPLINES = ("droptail", "fq-codel")


def mix(found: Found) -> None:
    """Four flows each of CUBIC, BBR and Prague, and of Reno in place of Prague."""
    base = ps.Scenario.load(BASE)
    waits = {}
    for aqm in DISCIPLINES:
        run = ps.run(
            base.set_all({"aqm.kind": aqm, "duration": "120 s", "measure.from": "20 s"}), SEEDS
        )
        part = {name: share(run, i) for i, name in enumerate(("cubic", "bbr", "prague"))}
        for name, values in part.items():
            found.add(f"mix/{aqm}/{name}", values, PERCENT)
        found.add(f"mix/{aqm}/cubic-prague", less(part["cubic"], part["prague"]))
        found.add(f"mix/{aqm}/jain", metric(run, "jain"), SHARE)
        found.add(f"mix/{aqm}/loss", metric(run, "data_loss_ratio", 100), PERCENT)
        waits[aqm] = metric(run, "delay_mean_s", 1e3)
        found.add(f"mix/{aqm}/delay", waits[aqm], FROM_ZERO)
    found.add("mix/fq-codel-droptail/delay", less(waits["fq-codel"], waits["droptail"]))
    for pacing in ("off", "always"):
        keys = {"traffic.2.tcp": "reno", "traffic.2.pacing": pacing}
        run = ps.run(base.set_all({**keys, "duration": "120 s", "measure.from": "20 s"}), SEEDS)
        found.add(f"mix/droptail/reno/pacing {pacing}", share(run, 2), PERCENT)


PARTS: Mapping[str, Callable[[Found], None]] = {
    "shares": shares,
    "prague": prague,
    "trips": trips,
    "starts": starts,
    "dctcp": dctcp,
    "dip": dip,
    "mix": mix,
}
