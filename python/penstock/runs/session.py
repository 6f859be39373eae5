"""A run in steps, which shows how it stands and is changed under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _penstock
from penstock.model.discipline import discipline
from penstock.model.scenario import Scenario, as_toml, seconds
from penstock.runs.result import Result

if TYPE_CHECKING:
    from penstock.model.discipline import Named

#: A row of `Session.links`.
LINK = np.dtype(
    [
        ("queue_pkts", "u8"),
        ("queue_bytes", "u8"),
        ("arrivals", "u8"),
        ("drops", "u8"),
        ("marks", "u8"),
        ("departures", "u8"),
        ("departed_bytes", "u8"),
        ("delay_s", "f8"),
    ]
)
#: A row of `Session.flows`.
FLOW = np.dtype(
    [
        ("cwnd_segments", "f8"),
        ("ssthresh_segments", "f8"),
        ("srtt_s", "f8"),
        ("pacing_bps", "f8"),
        ("acked_bytes", "u8"),
        ("sent", "u8"),
        ("retransmits", "u8"),
        ("timeouts", "u8"),
    ]
)


class Session:
    """A run that goes on when it is told to, and that is looked at and changed in between.

    Where it pauses makes no difference: without a change `result()` is what `run` gives for the same seed, to the byte.

    >>> import penstock as ps
    >>> link = ps.Link(rate="10 Mbit/s", delay="20 ms", buffer=100)
    >>> flows = ps.Ftp(flows=4, tcp="cubic")
    >>> s = ps.Session(ps.Scenario(duration="3 s", topology=ps.Dumbbell(bottleneck=link), aqm=ps.Red(), traffic=flows))
    >>> while not s.ended:
    ...     s.advance("50 ms")
    ...     if s.link()["queue_pkts"] > 30:
    ...         s.set("aqm.max_p", 0.3)
    >>> s.result().summary["utilization"].n
    1

    scenario: what runs.
    seed: which run of it; default: the scenario's first seed.
    series, events: what is recorded besides, as for `run`.

    Raises `ScenarioError` or `SimulationError`. A discipline of your own runs in a deep copy of its instance, as in
    `run`, on this thread.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int | None = None,
        *,
        series: str | float | None = None,
        events: bool = False,
    ) -> None:
        self.scenario = scenario
        self.seed = scenario.seed if seed is None else seed
        interval = seconds(series) if series is not None else None
        self._take(_penstock.Session(scenario.core, self.seed, interval, events), 0.0)

    def _take(self, core: _penstock.Session, now_s: float) -> None:
        """Begins with a run that stands at `now_s`."""
        self._core = core
        self._now_s, self._end_s = now_s, core.end_s
        self._links = tuple(core.link_names())
        self._changed = False
        self._result: Result | None = None

    # ---- time ----------------------------------------------------------------------------------------------------

    def advance(self, span: str | float | None = None, *, until: str | float | None = None) -> None:
        """Lets the run go on for a span of time, or until a time: seconds, or text with its unit.

        Everything has happened then that comes before that time. A span that passes the end leads to the end; a time
        behind it, or one that has passed, raises `ScenarioError`, as does a session that has ended. Releases the GIL,
        except for a discipline in Python. Ctrl-C ends the session.
        """
        self._now_s = self._core.advance(span, until)

    @property
    def now_s(self) -> float:
        """The time before which everything has happened, seconds. With a lead-in it counts from its beginning."""
        return self._now_s

    @property
    def end_s(self) -> float:
        """When the run ends, seconds."""
        return self._end_s

    @property
    def ended(self) -> bool:
        """Whether it has come to its end."""
        return self._now_s >= self._end_s

    # ---- how it stands -------------------------------------------------------------------------------------------

    @property
    def link_names(self) -> tuple[str, ...]:
        """The names of the links, in the order of `links()`: `bottleneck` and `bottleneck.reverse` in a dumbbell."""
        return self._links

    def links(self) -> np.ndarray[Any, np.dtype[np.void]]:
        """Returns how the links stand, a row each.

        queue_pkts, queue_bytes: what waits now, without the packet in transmission.
        arrivals, drops, marks: packets of the last step: those that came, those that the queue dropped whether it had
            let them in or not, and those that were marked, when the discipline did so.
        departures, departed_bytes, delay_s: of the last step the packets that started to be sent, their bytes, and the
            mean of what they had waited, seconds; not a number where none did.
        """
        return np.frombuffer(self._core.links(), LINK)

    def link(self, name: str | None = None) -> np.void:
        """Returns one row of `links()`: of the link of that name, or of the bottleneck."""
        row: np.void = self.links()[self._core.link_named(name)]
        return row

    def flows(self) -> np.ndarray[Any, np.dtype[np.void]]:
        """Returns how the flows' senders stand, a row each, in the order of `RunResult.flows`.

        cwnd_segments, ssthresh_segments: the congestion window, and the slow-start threshold (infinity before the first
            cut).
        srtt_s: the smoothed round trip, seconds.
        pacing_bps: the rate of payload at which segments may leave, bits per second, where they are paced.
        acked_bytes, sent, retransmits, timeouts: of the last step: payload bytes acknowledged, segments sent,
            retransmissions among them, retransmission timeouts.

        What there is not is not a number. Datagrams have neither windows nor counters here.
        """
        return np.frombuffer(self._core.flows(), FLOW)

    @property
    def flow_groups(self) -> np.ndarray[Any, np.dtype[np.uint32]]:
        """The number of each flow's traffic group."""
        return np.array(self._core.flow_groups(), np.uint32)

    def variables(self, link: str | None = None) -> dict[str, float]:
        """Returns the variables of a link's discipline by name, those that the `queue` series has, such as `avg` and
        `p`; default: the bottleneck's."""
        return self._core.variables(self._core.link_named(link))

    # ---- changes -------------------------------------------------------------------------------------------------

    def set(self, path: str, value: object) -> None:
        """Changes a parameter of a discipline, or a link's buffer, from now on.

        path, value: as for `Scenario.set`: `"aqm.max_p"`, `"aqm.reverse.target"`, `"topology.bottleneck.buffer"`.

        The discipline goes on where it was: averages, counts, timers and the packets that wait stay. Raises
        `ScenarioError` where there is no such key, the value does not fit, or the key cannot change under way; nothing
        has changed then.
        """
        self._core.set(path, as_toml(value))
        self._changed = True

    def steer(self, flow: int, *, window: float, rate: str | float | None = None) -> None:
        """Sets a sender's congestion window, and its pace, from now on. Its `tcp` must be `"fixed"`.

        flow: its number, as in `flows()`.
        window: segments, 1 or more. The losses and marks that it meets do not change it.
        rate: the rate of payload at which segments leave, `"5 Mbit/s"` or bits per second; default: they are not paced.
        """
        given = _penstock.parse_rate(rate) if isinstance(rate, str) else rate
        self._core.steer(flow, window, given)
        self._changed = True

    def swap(self, aqm: Named, link: str | None = None) -> None:
        """Puts another discipline in the place of a link's, from now on.

        aqm: as for `Scenario.with_aqm`: `"codel"`, `ps.Red(min_th=20)`, one of your own.
        link: whose; default: the bottleneck's.

        The discipline begins here, as at the beginning of a run. What waits is sent in the order in which it came;
        nobody decides about it any more, and it counts as waiting until then. Bands of the link are no longer counted.
        """
        made = self.scenario_now.with_aqm(discipline(aqm, "swap"))
        self._core.swap(self._core.link_named(link), made.core)
        self._changed = True

    @property
    def scenario_now(self) -> Scenario:
        """The scenario with what has been changed at the bottleneck, and with `set`."""
        return Scenario._of(self._core.scenario)

    def copy(self) -> Session:
        """Returns a session that stands where this one does and goes on by itself: with the same steps and changes it
        has the same future, to the byte.

        A discipline of your own is copied with `copy.deepcopy`; what that raises comes out as it is.
        """
        made = type(self).__new__(type(self))
        made.scenario, made.seed = self.scenario, self.seed
        made._take(self._core.copy(), self._now_s)
        made._changed = self._changed
        return made

    # ---- the end -------------------------------------------------------------------------------------------------

    def result(self) -> Result:
        """Lets the rest happen, and returns what `run` does. The session is over then, and this returns the same again.

        After a change the result has the series that were recorded, and no others: `Result.series` would have to run
        the scenario again, without the change.
        """
        if self._result is None:
            run = self._core.finish()
            self._now_s = self._end_s
            self._result = Result(self.scenario, [run], 1, changed=self._changed)
        return self._result

    def __repr__(self) -> str:
        return f"<penstock.Session {self.scenario.name!r}, seed {self.seed}, at {self._now_s:g} of {self._end_s:g} s>"
