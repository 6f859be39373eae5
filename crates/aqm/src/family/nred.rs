//! NRED: "Adaptive nonlinear RED". Park, Park, Lim, Choi. Equation (1): `p = ((avg − min_th)/(B −
//! min_th))^n` for `min_th < avg < B`; the exponent moves when the average enters a region: up
//! below `min_th` (towards DropTail), down above `max_th` (towards RED).
//!
//! There is no forced drop at `max_th`, the curve goes on to the buffer. The paper gives neither
//! bounds nor start of `n`: parameters. Nor does it give the status at the start: `Between`, so
//! that a queue that starts empty enters Below with its first packet, which raises `n` once.

use crate::context::{Common, Context};
use crate::family::params::{Base, Setting, Thresholds};
use crate::kind::{column, own_tables, states, Column, Kind};
use crate::parts::adapter::{AdaptOn, Adapter, Clock, ClockParams, Status};
use crate::parts::compose::Composed;
use crate::parts::profile::{power, Arrival, Point, Profile, Ramp};
use penstock_units::param::{num_open, ParamError};
use penstock_units::{group, params, words, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "nred",
    doc: "Nonlinear RED: a power law up to the buffer, whose exponent falls with load.",
    source: "Park, Park, Lim, Choi (NRED paper)",
    equations: "avg as in RED\n\
        p = 0                                      avg < min_th\n\
        p = ((avg − min_th)/(B − min_th))^n        min_th ≤ avg < B\n\
        entering avg < min_th:  n ← min(n_max, n + 1)\n\
        entering avg > max_th:  n ← max(n_min, n − 1)",
    expect: "One curve from min_th to the full buffer instead of max_p: nearly flat at first, \
        steep towards the end, and with n the load decides how flat. At light load (n up to 5) \
        almost nothing is signalled before half the buffer is full; under a heavy one n falls to \
        1, a straight line. Losses are fewer than RED's at the price of a longer queue.",
    weaknesses: "The profile ends at the buffer: with a large one the queue becomes long, with a \
        small one it is DropTail with averaging. n moves only when the average crosses a \
        threshold, one step at a time, so under a steady load it stays wherever the start left \
        it. `n_step = \"timed\"` moves it on a timer (penstock reproduce repairs). The paper \
        gives no bounds, start or gate: n in 1…5 from 2 \
        and RED's gate are readings. Between max_th and B nothing bounds the delay but the \
        buffer.",
    params: own_tables::<NredParams>(),
    state: &states(COLUMNS),
    defaults: NredParams::DEFAULTS,
};

group! {
    /// What the user of NRED sets.
    pub struct NredParams {
        /// What the whole family takes.
        pub base: Base,
        /// Where the ramp lies.
        pub thresholds: Thresholds,
        /// The exponent, and how it moves.
        pub exponents: Exponents,
        /// What every kind takes.
        pub common: Common,
    }
}

words! {
    /// How the exponent moves.
    pub enum Step or num_open(0.0, 1000.0) {
        /// On a timer, as ARED's max_p does.
        Timed = "timed",
    }
}

params! {
    /// Its own parameters.
    pub struct Exponents: Default {
        /// Smallest exponent.
        pub n_min: f64 {
            ty: num_open(0.0, 1000.0),
            unit: "1",
            default: 1,
            source: "reading: the paper gives no bound",
        },
        /// Largest exponent.
        pub n_max: f64 {
            ty: num_open(0.0, 1000.0),
            unit: "1",
            default: 5,
            source: "reading: the paper gives no bound",
        },
        /// Exponent at the start.
        pub n_0: f64 {
            ty: num_open(0.0, 1000.0),
            unit: "1",
            default: 2,
            source: "reading: the paper gives no start",
        },
        /// How far the exponent moves when the average crosses a threshold. "timed": every half
        /// second instead, down while the average is above the middle fifth between the thresholds
        /// and up while it is below, so far that p in their middle changes by a tenth; and up to
        /// max_th p is at most the straight line from 0 at min_th.
        pub n_step: Step {
            unit: "1",
            default: 1,
            source: "NRED paper, section 2: n ± 1; timed: ours, after Floyd, Gummadi, Shenker \
                2001, Fig. 2",
        },
    }
}

/// NRED: RED with a power law for its profile, and an adapter of the exponent.
pub type Nred = Composed<Power, Exponent>;

const COLUMNS: &[Column<Nred>; 3] =
    &[Nred::AVG, column(EXPONENT.0, EXPONENT.1, |d| d.profile.n), Nred::P_B];

/// A column that the recombined family publishes too: name and doc.
pub(crate) const EXPONENT: (&str, &str) = ("n", "The exponent of the profile in force.");

impl Nred {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &NredParams, cx: &Context) -> Result<Self, ParamError> {
        let setting = Setting::of(p, &p.common, cx)?;
        // The profile has no ceiling below 1.
        let mut ramp = p.thresholds.ramp(&setting, 1.0)?;
        let mut profile = Power::within(&setting, &p.thresholds, &p.exponents, &mut ramp)?;
        let adapter = Exponent::new(&p.exponents, &ramp, &mut profile)?;
        Ok(p.base.compose(&setting, ramp, profile, adapter, COLUMNS))
    }
}

/// NRED's profile: equation (1).
#[derive(Clone, Copy, Debug)]
pub struct Power {
    /// The buffer, `B`: where the profile ends.
    pub limit: f64,
    /// The exponent.
    pub n: f64,
    /// Up to `max_th`, at most the straight line from 0 at `min_th` to the power law there: an
    /// exponent below 1 would begin with an infinite slope.
    pub straight: bool,
}

impl Power {
    /// The profile up to the buffer. An automatic `min_th` is at most half of it.
    pub(crate) fn within(
        setting: &Setting,
        thresholds: &Thresholds,
        exponents: &Exponents,
        r: &mut Ramp,
    ) -> Result<Self, ParamError> {
        let limit = setting.limit();
        if thresholds.min_th.is_none() {
            r.min_th = r.min_th.min(limit / 2.0);
        }
        if r.min_th >= limit {
            let shown = limit / setting.unit.per_pkt;
            let problem = format!("must be below the buffer ({shown} packets)");
            return Err(ParamError::new("min_th", problem));
        }
        Ok(Power { limit, n: 1.0, straight: exponents.n_step == Step::Timed })
    }
}

impl Profile for Power {
    #[inline]
    fn at(&mut self, a: &Arrival, r: &Ramp) -> Point {
        let avg = a.avg;
        if avg < r.min_th {
            return Point::Below;
        }
        if avg >= self.limit {
            return Point::Beyond;
        }
        // p <- ((avg - min_th) / (B - min_th))^n
        let part = |avg: f64| (avg - r.min_th) / (self.limit - r.min_th);
        if self.straight && avg < r.max_th {
            let end = libm::pow(part(r.max_th), self.n);
            let line = (avg - r.min_th) / (r.max_th - r.min_th) * end;
            return Point::On(power(part(avg), self.n).min(line).max(0.0));
        }
        Point::On(power(part(avg), self.n))
    }
}

/// With a timer, n moves outside of this part of the way from `min_th` to `max_th`, as ARED's max_p
/// does.
const RANGE: (f64, f64) = (0.4, 0.6);

/// NRED's adapter: section 2's update rule, or the same on a timer.
#[derive(Clone, Debug)]
pub struct Exponent {
    bounds: (f64, f64),
    step: f64,
    status: Status,
    /// The clock, where a timer drives the exponent and crossings do not.
    clock: Option<Clock>,
}

impl Exponent {
    /// The adapter; the profile gets the exponent's start.
    pub(crate) fn new(p: &Exponents, r: &Ramp, profile: &mut Power) -> Result<Self, ParamError> {
        let (low, high) = (p.n_min, p.n_max);
        if low > high {
            return Err(ParamError::new("n_min", format!("must not be above n_max ({high})")));
        }
        if !(low..=high).contains(&p.n_0) {
            let problem = format!("must be in [n_min, n_max] = [{low}, {high}]");
            return Err(ParamError::new("n_0", problem));
        }
        profile.n = p.n_0;
        let (step, clock) = match p.n_step {
            Step::Number(step) => (step, None),
            Step::Timed => (timed_step(r, profile.limit), Some(Clock::new(&timer())?)),
        };
        Ok(Exponent { bounds: (low, high), step, status: Status::Between, clock })
    }

    fn up(&self, profile: &mut Power) {
        profile.n = (profile.n + self.step).min(self.bounds.1);
    }

    fn down(&self, profile: &mut Power) {
        profile.n = (profile.n - self.step).max(self.bounds.0);
    }
}

/// Returns the step that changes p in the middle of the thresholds by the factor 0.9, as ARED's β
/// changes max_p: with `p = x^n` that is `ln 0.9 / ln x`.
fn timed_step(r: &Ramp, limit: f64) -> f64 {
    let middle = 0.5 * (r.min_th + r.max_th);
    // Thresholds may lie above a small buffer.
    let x = ((middle - r.min_th) / (limit - r.min_th)).min(0.9);
    libm::log(0.9) / libm::log(x)
}

/// ARED's clock: a timer of half a second.
fn timer() -> ClockParams {
    ClockParams { adapt_on: AdaptOn::Interval, ..ClockParams::default() }
}

impl Adapter<Power> for Exponent {
    #[inline]
    fn arrived(&mut self, a: &Arrival, r: &mut Ramp, profile: &mut Power) {
        if self.clock.is_some() {
            return;
        }
        match self.status.enter(a.avg, r) {
            Some(Status::Below) => self.up(profile),
            Some(Status::Above) => self.down(profile),
            Some(Status::Between) | None => {}
        }
    }

    #[inline]
    fn next_tick(&self) -> Option<Time> {
        self.clock.as_ref().and_then(Clock::next_tick)
    }

    fn start(&mut self, now: Time) {
        if let Some(clock) = &mut self.clock {
            clock.start(now);
        }
    }

    fn tick(&mut self, avg: f64, _: f64, r: &mut Ramp, profile: &mut Power) {
        let Some(clock) = &mut self.clock else { return };
        clock.ticked();
        let part = |f: f64| r.min_th + f * (r.max_th - r.min_th);
        if avg > part(RANGE.1) {
            self.down(profile);
        } else if avg < part(RANGE.0) {
            self.up(profile);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::profile::tests::{at, RAMP5_15};
    use crate::testing::{context, params, PKT};

    fn build(set: &[(&'static str, &'static str)]) -> Result<Nred, ParamError> {
        Nred::new(&params(&KIND, set), &context())
    }

    /// min 5, B 100: avg 52.5 gives 0.25 at n = 2 and 0.5 at n = 1; 5 gives 0, B and more is the
    /// end.
    #[test]
    fn profile_by_hand() {
        for (n, avg, want) in [
            (2.0, 52.5, Point::On(0.25)),
            (1.0, 52.5, Point::On(0.5)),
            (3.0, 52.5, Point::On(0.125)),
            (2.0, 5.0, Point::On(0.0)),
            (2.0, 4.9, Point::Below),
            (2.0, 24.0, Point::On(0.04)), // (19/95)^2
            (2.0, 100.0, Point::Beyond),
        ] {
            match (at(Power { limit: 100.0, n, straight: false }, avg, &RAMP5_15), want) {
                (Point::On(got), Point::On(want)) => {
                    assert!((got - want).abs() < 1e-12, "{n} {avg}: {got}")
                }
                (got, want) => assert_eq!(got, want, "{n} {avg}"),
            }
        }
    }

    /// min 5, max 30, B 105, n = 1/2: the law is 1/2 at 30 (x = 1/4), so the line is (avg − 5)/50
    /// below it. n = 2 lies below its line (1/16 at 30) everywhere.
    #[test]
    fn the_straight_part_by_hand() {
        let ramp = Ramp { max_th: 30.0, ..RAMP5_15 };
        for (n, avg, want) in [
            (0.5, 5.0, 0.0),
            (0.5, 6.0, 0.02), // the law alone: 0.1
            (0.5, 17.5, 0.25),
            (0.5, 30.0, 0.5),
            (0.5, 69.0, 0.8), // beyond it the law: √0.64
            (2.0, 15.0, 0.01),
            (2.0, 55.0, 0.25),
        ] {
            let power = Power { limit: 105.0, n, straight: true };
            let [p, _] = at(power, avg, &ramp).p();
            assert!((p - want).abs() < 1e-12, "{n} {avg}: {p}");
        }
    }

    /// min 5, max 15, B 100: the middle fifth is 9 to 11, p in the middle (5/95)^n. A step down
    /// takes it from (1/19)^2 to (1/19)^2/0.9.
    #[test]
    fn exponent_on_a_timer_by_hand() {
        let set = [("min_th", "5"), ("max_th", "15"), ("n_min", "0.5"), ("n_step", "\"timed\"")];
        let d = build(&set).unwrap();
        let (mut e, mut r, mut power) = (d.adapter, RAMP5_15, d.profile);
        assert!(power.straight);
        // Crossings do nothing.
        for avg in [0.0, 16.0, 4.0, 16.0] {
            e.arrived(&Arrival { now: Time::ZERO, avg, q: 0.0, pkt: &PKT }, &mut r, &mut power);
        }
        assert_eq!(power.n, 2.0);
        let middle = |power: &Power| libm::pow(1.0 / 19.0, power.n) * 361.0;
        for (i, (avg, want)) in
            [(10.0, 1.0), (11.5, 1.0 / 0.9), (40.0, 1.0 / 0.81), (8.5, 1.0 / 0.9), (0.0, 1.0)]
                .iter()
                .enumerate()
        {
            assert_eq!(e.next_tick(), Some(Time::from_nanos((i as u64 + 1) * 500_000_000)));
            e.tick(*avg, 0.0, &mut r, &mut power);
            assert!((middle(&power) - want).abs() < 1e-9, "{avg}: {}", middle(&power));
        }
        (0..200).for_each(|_| e.tick(16.0, 0.0, &mut r, &mut power));
        assert_eq!(power.n, 0.5);
        (0..200).for_each(|_| e.tick(1.0, 0.0, &mut r, &mut power));
        assert_eq!(power.n, 5.0);
        assert_eq!(build(&[]).unwrap().adapter.next_tick(), None);
        // Thresholds above the buffer: the step is still one.
        assert!((timed_step(&Ramp { max_th: 500.0, ..RAMP5_15 }, 100.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn exponent_by_hand() {
        let d = build(&[("min_th", "5"), ("max_th", "15")]).unwrap();
        assert_eq!(d.profile.n, 2.0);
        let (mut e, mut r, mut power) = (d.adapter, RAMP5_15, d.profile);
        // Below from the start: 3. Then 2 on entering above, and down to the bound only by going
        // away and back.
        for (avg, n) in [
            (0.0, 3.0),
            (1.0, 3.0),
            (10.0, 3.0),
            (16.0, 2.0),
            (17.0, 2.0),
            (14.0, 2.0),
            (16.0, 1.0),
            (10.0, 1.0),
            (16.0, 1.0),
            (4.0, 2.0),
        ] {
            let a = Arrival { now: Time::ZERO, avg, q: 0.0, pkt: &PKT };
            e.arrived(&a, &mut r, &mut power);
            assert_eq!(power.n, n, "avg = {avg}");
        }
    }

    #[test]
    fn a_start_outside_its_bounds_names_the_key() {
        assert_eq!(build(&[("n_0", "7")]).unwrap_err().name, "n_0");
        assert_eq!(build(&[("n_min", "6")]).unwrap_err().name, "n_min");
        assert_eq!(build(&[("min_th", "120"), ("max_th", "150")]).unwrap_err().name, "min_th");
        // An automatic min_th stays within a small buffer (1000 packets of delay would ask for
        // more).
        let small = build(&[("target_delay", "\"10 s\"")]).unwrap();
        assert_eq!((small.ramp.min_th, small.profile.limit), (50.0, 100.0));
    }
}
