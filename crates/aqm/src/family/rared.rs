//! RARED, rate-aware RED (RARED paper, Fig. 1): when the average climbs faster than `slope_th`,
//! this packet's probability is `max_p'` instead of RED's.
//!
//! Beyond the end of RED's profile its forced drop stands, climbing or not.
//!
//! `if avg_new > min_th and avg_new − avg_old > slope_th·(now − t_old) then p = max_p' else p =
//! p_a`.

use crate::context::{Common, Context};
use crate::family::ared::{Floyd, Steps, Target};
use crate::family::params::{Base, Ceiling, Setting, Thresholds};
use crate::kind::{column, own_tables, states, Column, Kind};
use crate::parts::adapter::{Adapter, ClockParams, Instead};
use crate::parts::compose::Composed;
use crate::parts::profile::{Arrival, Ramp, Straight};
use crate::verdict::Verdict;
use penstock_units::param::{num_open, ParamError};
use penstock_units::{group, params, words, Duration, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "rared",
    doc: "Rate-aware RED: a high probability while the average climbs fast.",
    source: "RARED paper",
    equations: "RED, but at each arrival:\n\
        avg_new > min_th and avg_new − avg_old > slope_th·(now − t_old):  p = max_p'  (max_p_climb), else RED's p_a",
    expect: "When a load rises suddenly, RED's average lags. RARED looks at the slope of the \
        average: while it climbs faster than 20 packets/s, four packets of five are signalled, \
        and senders slow down before the queue is long. When nothing climbs it is RED (or ARED: \
        `base`). In the figure the queue is there from the start. The average climbs at first, \
        and where the gap is large enough 80 % are marked after 0.1 s, when RED marks nothing; \
        later it is RED.",
    weaknesses: "The slope of an average with a time constant of T can exceed slope_th only while \
        q − avg > slope_th·T: with the default weight (1 s) at gaps of more than 20 packets. On a \
        fast link 20 packets/s is nothing and every burst is hit, on a slow one it is never \
        reached; `slope_th = \"auto\"` scales with the thresholds (our rule; the paper leaves it \
        to future work). Signalling 80 % halves many windows at once: a burst is signalled many \
        times within a round trip, before one sender can answer, and the link then stands idle. \
        `climb = \"once\"` signals once per round trip (penstock reproduce repairs). The paper \
        reads as if p = max_p' replaced p_a directly. So it does here, without the gate \
        (`climb`).",
    params: own_tables::<RaredParams>(),
    state: &states(COLUMNS),
    defaults: RaredParams::DEFAULTS,
    ns2: RaredParams::NS2,
};

group! {
    /// What the user of RARED sets.
    pub struct RaredParams {
        /// What the whole family takes.
        pub base: Base,
        /// Where the ramp lies.
        pub thresholds: Thresholds,
        /// The ramp's ceiling.
        pub ceiling: Ceiling,
        /// When the average climbs, and what happens then.
        pub climbing: Climbing,
        /// What it is otherwise.
        pub basis: Basis,
        /// ARED's clock.
        pub clock: ClockParams,
        /// ARED's target range.
        pub target: Target,
        /// ARED's steps and bounds.
        pub steps: Steps,
        /// What every kind takes.
        pub common: Common,
    }
}

/// The time in which `slope_th = "auto"` lets the average cross the ramp. With the paper's
/// thresholds, 5 and 15, it gives the paper's 20 packets/s.
const CROSSING_S: f64 = 0.5;

words! {
    /// The slope from which the average climbs.
    pub enum Slope or num(0.0, 1e9) {
        /// The ramp in half a second.
        Auto = "auto",
    }
}

words! {
    /// What `max_p_climb` is.
    pub enum ClimbAs {
        /// The probability of an independent coin.
        Bernoulli = "bernoulli",
        /// The ceiling of the ramp.
        Ramp = "ramp",
        /// The probability of one signal per round trip, while the queue is above `max_th`.
        Once = "once",
    }
}

words! {
    /// What is to climb.
    pub enum SlopeOf {
        /// The average.
        Average = "average",
        /// The queue itself.
        Instantaneous = "instantaneous",
    }
}

words! {
    /// What RARED is while nothing climbs.
    pub enum BasedOn {
        /// RED.
        Red = "red",
        /// ARED.
        Ared = "ared",
    }
}

params! {
    /// Its own parameters.
    pub struct Climbing: Default {
        /// The average climbs when it rises faster than this; "auto": (max_th − min_th) in half a
        /// second.
        pub slope_th: Slope {
            unit: "packets/s",
            default: 20,
            source: "RARED paper, section 4; \"auto\" is ours (the paper's future work)",
        },
        /// The probability while the average climbs.
        pub max_p_climb: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 0.8,
            source: "RARED paper, section 4: max_p'",
        },
        /// max_p_climb as it stands, an independent coin; or as the ceiling of the ramp, through
        /// the gate; or a coin that falls only while the queue itself is above max_th and, once it
        /// has signalled, not again within R = max(100 ms, 3·(delay + 1/C)), while RED goes on.
        pub climb: ClimbAs {
            default: "bernoulli",
            source: "RARED paper, Fig. 1: p_d ← max_p'; \"the maximum drop probability\"; once: \
                ours, R as ns-2 guesses a round trip",
        },
        /// Whether the average's slope counts, or the queue's.
        pub slope_of: SlopeOf {
            default: "average",
            source: "RARED paper, Fig. 1: average queue occupancy",
        },
    }
}

params! {
    /// What it stands on.
    pub struct Basis: Default {
        /// What it is when the average does not climb.
        pub base: BasedOn {
            default: "red",
            source: "RARED paper: Fig. 1 has RED; section 5 compares with ARED",
        },
    }
}

/// RARED: RED or ARED with an adapter that decides packets while the average climbs.
pub type Rared = Composed<Straight, (Option<Floyd>, Climb)>;

const COLUMNS: &[Column<Rared>; 5] = &[
    Rared::AVG,
    Rared::MAX_P,
    Rared::P_B,
    column(PKTS.0, PKTS.1, |d| d.adapter.1.pkts as f64),
    column(MARKS.0, MARKS.1, |d| d.adapter.1.marks as f64),
];

/// Columns that the recombined family publishes too: name and doc.
pub(crate) const PKTS: (&str, &str) =
    ("climb_pkts", "Packets decided by max_p_climb since the start.");
/// The column of the marks among these packets, which the recombined family publishes too.
pub(crate) const MARKS: (&str, &str) = ("climb_marks", "Of these, packets that were marked.");

impl Rared {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &RaredParams, cx: &Context) -> Result<Self, ParamError> {
        let setting = Setting::of(p, &p.common, cx)?;
        let ramp = p.thresholds.ramp(&setting, p.ceiling.max_p)?;
        let floyd = match p.basis.base {
            BasedOn::Red => None,
            BasedOn::Ared => Some(Floyd::new(&p.target, &p.steps, &p.clock, cx)?),
        };
        let adapter = (floyd, Climb::new(&p.climbing, &setting, &ramp));
        Ok(p.base.compose(&setting, ramp, p.ceiling.profile(), adapter, COLUMNS))
    }
}

/// RARED's switch: is the queue climbing at this arrival?
#[derive(Clone, Debug)]
pub struct Climb {
    /// The slope's threshold, in units of the queue per second.
    slope_th: f64,
    max_p: f64,
    /// `max_p_climb` is the ceiling of the ramp.
    ramp: bool,
    instantaneous: bool,
    /// Only while the queue itself is above `max_th`, and this long not again after a signal.
    once: Option<Duration>,
    /// Before this the ramp decides.
    again_at: Time,
    last: f64,
    last_at: Time,
    pub(crate) pkts: u64,
    pub(crate) marks: u64,
}

impl Climb {
    pub(crate) fn new(p: &Climbing, setting: &Setting, r: &Ramp) -> Self {
        let slope_th = match p.slope_th {
            Slope::Number(th) => th * setting.unit.per_pkt,
            Slope::Auto => (r.max_th - r.min_th) / CROSSING_S,
        };
        Climb {
            slope_th,
            max_p: p.max_p_climb,
            ramp: p.climb == ClimbAs::Ramp,
            instantaneous: p.slope_of == SlopeOf::Instantaneous,
            once: (p.climb == ClimbAs::Once).then(|| round_trip(setting)),
            again_at: Time::ZERO,
            last: 0.0,
            last_at: Time::ZERO,
            pkts: 0,
            marks: 0,
        }
    }

    /// A packet arrives. Returns whether its probability is `max_p'`. To be asked at every arrival,
    /// since it keeps the previous one.
    #[inline]
    fn climbs(&mut self, now: Time, avg: f64, q: f64, r: &Ramp) -> bool {
        let new = if self.instantaneous { q } else { avg };
        let rise = new - std::mem::replace(&mut self.last, new);
        let elapsed = now.since(std::mem::replace(&mut self.last_at, now)).as_secs_f64();
        // Two arrivals at one instant have no slope.
        let climbs = avg > r.min_th && elapsed > 0.0 && rise > self.slope_th * elapsed;
        climbs && (self.once.is_none() || q > r.max_th && now >= self.again_at)
    }
}

/// Returns what ns-2 takes for the round trip of the flows on a link: `max(100 ms, 3·(delay + 1/C))`.
fn round_trip(setting: &Setting) -> Duration {
    let guess = 3.0 * (setting.cx.delay.as_secs_f64() + 1.0 / setting.c);
    Duration::from_nanos((guess.max(0.1) * 1e9) as u64)
}

impl<P> Adapter<P> for Climb {
    #[inline]
    fn instead(&mut self, a: &Arrival, r: &Ramp) -> Option<Instead> {
        let by = if self.ramp { Instead::Ceiling } else { Instead::Coin };
        self.climbs(a.now, a.avg, a.q, r).then(|| by(self.max_p))
    }

    fn settled(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("slope_th", self.slope_th);
    }

    fn decided(&mut self, verdict: Verdict) {
        if let (Some(round_trip), true) = (self.once, verdict != Verdict::Pass) {
            // `last_at` is this arrival.
            self.again_at = self.last_at + round_trip;
        }
        self.pkts += 1;
        self.marks += u64::from(matches!(verdict, Verdict::Mark(..)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::profile::tests::RAMP5_15;
    use crate::testing::{context, params};

    fn build(set: &[(&'static str, &'static str)]) -> Result<Rared, ParamError> {
        Rared::new(&params(&KIND, set), &context())
    }

    fn climb(set: &[(&'static str, &'static str)]) -> Climb {
        build(&[&[("min_th", "5"), ("max_th", "15")], set].concat()).unwrap().adapter.1
    }

    /// 0.05 in 2 ms is 25 packets/s > 20; in 3 ms 16.7; at one instant there is no slope; below
    /// min_th it does not count.
    #[test]
    fn slope_by_hand() {
        let at = |us: u64| Time::from_nanos(us * 1000);
        for (from, rise, us, want) in [
            (8.0, 0.05, 2000, true),
            (8.0, 0.05, 3000, false),
            (8.0, 0.05, 0, false),
            (8.0, -0.05, 2000, false),
            (4.0, 0.05, 2000, false),
            (4.96, 0.05, 2000, true), // now above
        ] {
            let mut c = climb(&[]);
            let _ = c.climbs(at(1000), from, 0.0, &RAMP5_15);
            assert_eq!(
                c.climbs(at(1000 + us), from + rise, 0.0, &RAMP5_15),
                want,
                "{from} {rise} {us}"
            );
        }
        let mut c = climb(&[("slope_of", "\"instantaneous\"")]);
        let _ = c.climbs(at(0), 8.0, 3.0, &RAMP5_15);
        assert!(!c.climbs(at(2000), 8.0, 3.0, &RAMP5_15));
        assert!(c.climbs(at(4000), 8.0, 4.0, &RAMP5_15));
    }

    /// Asks at `us` with an average of 8 that rose by 0.1 since the last arrival, 1 ms before: 100
    /// packets/s.
    fn rising(c: &mut Climb, us: u64, q: f64) -> bool {
        let at = |us: u64| Time::from_nanos(us * 1000);
        let _ = c.climbs(at(us - 1000), 7.9, q, &RAMP5_15);
        c.climbs(at(us), 8.0, q, &RAMP5_15)
    }

    /// At 10 Mbit/s and 20 ms R is 3·(20 + 0.8) ms, so 100 ms. After a signal at 10 ms the ramp
    /// decides until 110 ms. A coin that falls on its other side is no signal.
    #[test]
    fn one_signal_per_round_trip_by_hand() {
        let signal = Verdict::Mark(penstock_units::Level::Ce, crate::verdict::Reason::Early);
        let mut c = climb(&[("climb", "\"once\"")]);
        assert!(rising(&mut c, 5_000, 16.0));
        <Climb as Adapter<Straight>>::decided(&mut c, Verdict::Pass);
        assert!(rising(&mut c, 10_000, 16.0));
        <Climb as Adapter<Straight>>::decided(&mut c, signal);
        for (us, want) in [(12_000, false), (60_000, false), (109_999, false), (110_000, true)] {
            assert_eq!(rising(&mut c, us, 16.0), want, "{us}");
        }
        assert_eq!((c.pkts, c.marks), (2, 1));
        // The paper's: each packet of a burst may be signalled.
        let mut c = climb(&[]);
        for us in [10_000, 12_000, 14_000] {
            assert!(rising(&mut c, us, 16.0), "{us}");
            <Climb as Adapter<Straight>>::decided(&mut c, signal);
        }
    }

    /// Whatever arrives: strong signals are a round trip apart, each on a queue above max_th.
    #[test]
    fn strong_signals_are_a_round_trip_apart() {
        let signal = Verdict::Mark(penstock_units::Level::Ce, crate::verdict::Reason::Early);
        let mut rng = penstock_units::Rng::stream(1, "once");
        for _ in 0..50 {
            let mut c = climb(&[("climb", "\"once\"")]);
            let (mut now, mut avg, mut last) = (Time::ZERO, 0.0f64, None);
            for _ in 0..2000 {
                now += Duration::from_nanos((rng.unit() * 5e6) as u64);
                avg = (avg + rng.unit() - 0.45).clamp(0.0, 30.0);
                let q = 40.0 * rng.unit();
                if c.climbs(now, avg, q, &RAMP5_15) && rng.unit() < 0.8 {
                    assert!(q > 15.0 && avg > 5.0, "{q} {avg}");
                    let since = last.map(|at| now.since(at));
                    assert!(since.is_none_or(|since| since >= Duration::from_millis(100)));
                    <Climb as Adapter<Straight>>::decided(&mut c, signal);
                    last = Some(now);
                }
            }
            assert!(c.marks > 5, "{}", c.marks);
        }
    }

    /// min 5, max 15: the queue itself counts, though the average is 8.
    #[test]
    fn once_needs_a_queue_above_the_upper_threshold() {
        for (q, once) in [(4.0, false), (15.0, false), (16.0, true)] {
            assert!(rising(&mut climb(&[]), 10_000, q), "{q}");
            assert_eq!(rising(&mut climb(&[("climb", "\"once\"")]), 10_000, q), once, "{q}");
        }
        // Nor without an average above min_th.
        let mut c = climb(&[("climb", "\"once\"")]);
        let at = |us: u64| Time::from_nanos(us * 1000);
        let _ = c.climbs(at(1000), 4.0, 20.0, &RAMP5_15);
        assert!(!c.climbs(at(2000), 4.5, 20.0, &RAMP5_15));
    }

    /// 90 ms and 1.5 Mbit/s: 3·(90 + 5.333) ms = 286 ms.
    #[test]
    fn the_round_trip_follows_from_the_link() {
        let cx = Context {
            rate: penstock_units::Rate::from_bps(1_500_000).unwrap(),
            delay: Duration::from_millis(90),
            ..context()
        };
        let made = Rared::new(&params(&KIND, &[("climb", "\"once\"")]), &cx).unwrap();
        let round_trip = made.adapter.1.once.unwrap();
        assert!((round_trip.as_secs_f64() - 0.286).abs() < 1e-9, "{round_trip:?}");
        assert_eq!(climb(&[("climb", "\"once\"")]).once, Some(Duration::from_millis(100)));
    }

    #[test]
    fn automatic_slope_is_the_papers() {
        assert_eq!(climb(&[("slope_th", "\"auto\"")]).slope_th, 20.0);
        assert_eq!(climb(&[("slope_th", "20"), ("unit", "\"bytes\"")]).slope_th, 20_000.0);
    }
}
