//! Westwood+. S. Mascolo, C. Casetti, M. Gerla, M. Sanadidi, R. Wang, "TCP Westwood: bandwidth
//! estimation for enhanced transport over wireless links", MobiCom 2001; L. Grieco, S. Mascolo,
//! "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion
//! control", CCR 34(2), 2004: the bandwidth is sampled once per round trip, which makes it proof
//! against compressed ACKs.
//!
//! b_k = data acknowledged / time, b̂_k = a b̂_{k−1} + (1 − a)/2 (b_k + b_{k−1}). Patel's eq. (3)
//! prints a minus, with which the filter would hold nothing. A loss sets ssthresh = max(2, b̂
//! RTT_min). So does a mark, which the papers do not mention. Readings: the first sample starts the
//! filter, as in Linux. A duplicate ACK reports one segment, which the cumulative ACK after it does
//! not report again (2001, AckedCount). Before the first sample ssthresh falls to 2, as the formula
//! says.
//!
//! `westwood = "linux"` is `tcp_westwood.c`. Two filters follow each other, each of which keeps 7/8;
//! a sample takes longer than a round trip and than 50 ms; round trips count in whole ticks, rounded
//! up. A cut leaves half of the window as Reno's does, and b̂ RTT_min comes when it is over: cwnd and
//! ssthresh become that at the end of a recovery, or of the round trip after a mark, and ssthresh
//! does at a timeout, after which RTT_min is found anew.

use crate::control::algorithm::{Acked, Cause, CongestionControl, Cut, Growth};
use crate::control::hystart::HyStartParams;
use crate::control::reno::Reno;
use crate::control::variant::{Form, VariantInfo, VARIANT};
use crate::control::window::Window;
use crate::ecn::bits::Ecn;
use crate::info::CaState;
use crate::recovery::kind::Recovery;
use penstock_units::param::{num, OwnDefaults, ParamError, Under};
use penstock_units::{Duration, Time};

penstock_units::words! {
    /// What three duplicate ACKs make of cwnd.
    pub enum WestwoodCwnd {
        /// The smaller of cwnd and ssthresh.
        Min = "min",
        /// ssthresh, even where that is above cwnd.
        Printed = "printed",
    }
}

penstock_units::params! {
    /// Westwood+'s filter and cut.
    pub struct WestwoodParams: Default {
        /// Westwood's filter: how much of the bandwidth estimate stays from one round trip to the
        /// next.
        pub gain: f64 {
            ty: num(0.0, 0.999_999),
            unit: "1",
            default: 0.9,
            source: "Mascolo 2001; Patel 2014, eq. 3",
        },
        /// Three duplicate ACKs set cwnd to min(cwnd, ssthresh), or as printed to ssthresh.
        pub westwood_cwnd: WestwoodCwnd {
            default: "min",
            source: "Grieco 2004; printed: Patel 2014, fig. 3",
        },
        /// Whose Westwood: the papers', or Linux's, which filters twice, samples at most every 50
        /// ms, halves the window, and sets it to the estimate when the cut is over. linux goes with
        /// recovery = "rack".
        pub westwood: Form {
            default: "rfc",
            linux: "linux",
            quiet: true,
            source: "Grieco 2004; Linux 6.x tcp_westwood.c",
        },
    }
}

pub(crate) const INFO: VariantInfo = VariantInfo {
    name: "westwood",
    doc: "Westwood+: a loss sets ssthresh to what the estimated bandwidth delivers in the \
          shortest round trip.",
    source: "Mascolo, Casetti, Gerla, Sanadidi, Wang 2001; Grieco, Mascolo 2004",
    own: &[WestwoodParams::TABLE, HyStartParams::TABLE, Recovery::TABLE],
    defaults: OwnDefaults {
        any: &[("recovery", "\"newreno\"")],
        under: Under {
            linux: &[("recovery", "\"rack\"")],
            quic: &[("recovery", "\"quic\"")],
            ..Under::all(&[])
        },
    },
    linux: Some("westwood"),
    ..VARIANT
};

/// The state that Westwood keeps beside the common state. Rates are in segments per second.
#[derive(Clone, Debug)]
pub(crate) struct Westwood {
    p: WestwoodParams,
    linux: bool,
    /// b̂_k.
    estimate: Option<f64>,
    /// b_{k−1}; in Linux's form what the first of the two filters holds.
    last: f64,
    /// Since when `acked` counts.
    since: Option<Time>,
    acked: i64,
    rtt_min: Duration,
    /// A timeout was the last to speak: the next sample is RTT_min.
    forget: bool,
    /// The clock's, in Linux's form.
    tick: Duration,
    /// Data were acknowledged.
    knows: bool,
}

/// Linux: a sample takes longer than this.
const LEAST: Duration = Duration::from_millis(50);

impl Westwood {
    fn sample(&mut self, b: f64) {
        if self.linux {
            let keeps = |held: f64, new: f64| (7.0 * held + new) / 8.0;
            match self.estimate {
                None => (self.last, self.estimate) = (b, Some(b)),
                Some(estimate) => {
                    self.last = keeps(self.last, b);
                    self.estimate = Some(keeps(estimate, self.last));
                }
            }
            return;
        }
        let a = self.p.gain;
        self.estimate = Some(match self.estimate {
            None => b,
            Some(estimate) => a * estimate + (1.0 - a) / 2.0 * (b + self.last),
        });
        self.last = b;
    }

    /// Returns b̂ RTT_min: what the path holds without a queue, in segments.
    fn path_holds(&self) -> f64 {
        self.estimate.map_or(0.0, |b| b * self.rtt_min.as_secs_f64())
    }

    /// Linux: the same in whole segments, two at least, with RTT_min in whole ticks.
    fn path_holds_in_integers(&self) -> f64 {
        let tick = self.tick.as_secs_f64();
        let ticks = libm::ceil(self.rtt_min.as_secs_f64() / tick);
        let holds = self.estimate.map_or(0.0, |b| b * ticks * tick);
        libm::trunc(holds).max(2.0)
    }
}

impl CongestionControl for Westwood {
    type Params = WestwoodParams;
    const WATCHES: bool = true;

    fn new(p: &WestwoodParams) -> Self {
        Westwood {
            p: p.clone(),
            linux: p.westwood == Form::Linux,
            estimate: None,
            last: 0.0,
            since: None,
            acked: 0,
            rtt_min: Duration::from_ticks(u64::MAX),
            forget: false,
            tick: Duration::from_millis(1),
            knows: false,
        }
    }

    fn check(p: &WestwoodParams, _ecn: Ecn) -> Result<(), ParamError> {
        let papers = WestwoodParams { westwood: p.westwood, ..WestwoodParams::default() };
        if p.westwood == Form::Linux && *p != papers {
            let problem = "must be \"rfc\" unless gain and westwood_cwnd have their defaults: \
                           Linux has neither";
            return Err(ParamError::new("westwood", problem));
        }
        Ok(())
    }

    fn on_ack(&mut self, a: &Acked, _w: &mut Window) {
        if a.newly < 0 {
            return;
        }
        let Some(since) = self.since else {
            self.since = Some(a.now); // the SYN's answer
            return;
        };
        self.acked += a.delivered;
        // What is known of the round trip when the first data are acknowledged is the SYN's, of which
        // Linux's control does not know.
        let Some(rtt) = a.rtt.filter(|_| self.knows || !self.linux) else {
            self.knows = true;
            return;
        };
        let forget = std::mem::take(&mut self.forget);
        self.rtt_min = if forget { rtt } else { self.rtt_min.min(rtt) };
        let elapsed = a.now.since(since);
        let over = if self.linux { elapsed > rtt.max(LEAST) } else { elapsed >= rtt };
        if over && elapsed > Duration::ZERO {
            self.sample(self.acked as f64 / elapsed.as_secs_f64());
            self.since = Some(a.now);
            self.acked = 0;
        }
    }

    fn grow(&mut self, g: &Growth, w: &mut Window) {
        self.tick = g.rtt_params.tick;
        Reno.grow(g, w);
    }

    fn leaves(&self, c: &Cut, w: &Window) -> f64 {
        match (self.linux, c.cause) {
            (false, _) => self.path_holds().max(2.0),
            (true, Cause::Timeout) => self.path_holds_in_integers(),
            (true, _) => Reno.leaves(c, w),
        }
    }

    fn on_state(&mut self, from: CaState, to: CaState, w: &mut Window) {
        if !self.linux {
            return;
        }
        if to == CaState::Loss {
            self.forget = true;
        } else if to == CaState::Open && matches!(from, CaState::Cwr | CaState::Recovery) {
            w.ssthresh = self.path_holds_in_integers();
            w.cwnd = w.ssthresh;
        }
    }

    fn may_lift(&self) -> bool {
        self.p.westwood_cwnd == WestwoodCwnd::Printed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(w: &mut Westwood, ms: u64, newly: i64, rtt: Option<Duration>) {
        let now = Time::ZERO + Duration::from_millis(ms);
        w.on_ack(
            &Acked { rtt, ..Acked::of(now, 0, newly) },
            &mut Window { cwnd: 1.0, ssthresh: 1.0 },
        );
    }

    #[test]
    fn the_filter_by_hand() {
        let mut w = Westwood::new(&WestwoodParams::default());
        // 100; 0.9 · 100 + 0.05 (200 + 100) = 105; 0.9 · 105 + 0.05 (0 + 200) = 104.5
        for (b, want) in [(100.0, 100.0), (200.0, 105.0), (0.0, 104.5)] {
            w.sample(b);
            assert!((w.estimate.unwrap() - want).abs() < 1e-9, "{b}: {:?}", w.estimate);
        }
    }

    /// The SYN takes 38 ms, whole segments 40: Linux's control knows of these alone.
    #[test]
    fn linux_leaves_the_syn_out() {
        for (westwood, ms) in [(Form::Linux, 40), (Form::Rfc, 38)] {
            let mut w = Westwood::new(&WestwoodParams { westwood, ..WestwoodParams::default() });
            for (at, rtt) in [(38, 38), (78, 38), (79, 40), (80, 40)] {
                ack(&mut w, at, 1, Some(Duration::from_millis(rtt)));
            }
            assert_eq!(w.rtt_min, Duration::from_millis(ms), "{westwood:?}");
        }
    }

    /// Ten segments in each round trip of 100 ms: 100 per second, of which the path holds ten.
    #[test]
    fn one_sample_per_round_trip() {
        let mut w = Westwood::new(&WestwoodParams::default());
        let rtt = Some(Duration::from_millis(100));
        ack(&mut w, 0, 1, rtt);
        for t in 1..=19 {
            ack(&mut w, 10 * t, 1, rtt);
        }
        assert_eq!(w.estimate, Some(100.0));
        assert!((w.path_holds() - 10.0).abs() < 1e-9);
        assert_eq!(w.acked, 9, "the next sample is under way");
    }
}
