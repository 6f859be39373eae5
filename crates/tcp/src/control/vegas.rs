//! Vegas. L. Brakmo, S. O'Malley, L. Peterson, "TCP Vegas: new techniques for congestion detection
//! and avoidance", SIGCOMM 1994: once per round trip `Diff = (cwnd/RTT_min − cwnd/RTT)·RTT_min` is
//! compared with α and β. A fine-grained timer, looked at when a duplicate ACK arrives, finds lost
//! segments early; `recovery/vegas.rs` sends them again. RED-AT's eq. (2) prints a comparison with
//! `cwnd + α`; the original compares with α. Linux's form is in `vegas_linux.rs`.

use crate::control::algorithm::{Acked, CongestionControl, Growth};
use crate::control::variant::{Form, VariantInfo};
use crate::control::vegas_linux::{InSegments, Thresholds};
use crate::control::window::Window;
use crate::ecn::bits::Ecn;
use crate::info::CaState;
use crate::recovery::kind::Recovery;
use crate::sent::Acknowledged;
use penstock_units::param::{num, num_open, OwnDefaults, ParamError, Under};
use penstock_units::Time;

penstock_units::params! {
    /// Vegas's thresholds.
    pub struct VegasParams: Default {
        /// Vegas grows below this many segments queued.
        pub alpha: f64 {
            ty: num(0.0, 1e6),
            unit: "segments",
            default: 2,
            source: "Brakmo 1994",
        },
        /// Vegas shrinks above this many segments queued.
        pub beta: f64 {
            ty: num(0.0, 1e6),
            unit: "segments",
            default: 4,
            source: "Brakmo 1994",
        },
        /// Vegas leaves slow start above this many segments queued.
        pub gamma: f64 {
            ty: num_open(0.0, 1e6),
            unit: "segments",
            default: 1,
            source: "Brakmo 1994",
        },
        /// Whose Vegas: the paper's with its own repair of losses, or Linux's, which takes the least
        /// round trip of each, doubles in slow start, halves for losses and marks, and leaves their
        /// repair to recovery = "rack".
        pub vegas: Form {
            default: "rfc",
            linux: "linux",
            quiet: true,
            source: "Brakmo 1994; Linux 6.x tcp_vegas.c",
        },
    }
}

pub(crate) const INFO: VariantInfo = VariantInfo {
    name: "vegas",
    doc: "Keeps between alpha and beta segments of its own in the queue, judged from the \
          round-trip time.",
    source: "Brakmo, O'Malley, Peterson 1994",
    recovery: Some(Recovery::Vegas),
    own: &[VegasParams::TABLE],
    defaults: OwnDefaults {
        under: Under {
            ns2: &[("alpha", "1"), ("beta", "3"), ("header", "\"0 B\""), ("handshake", "false")],
            ..Under::all(&[])
        },
        ..OwnDefaults::NONE
    },
    linux: Some("vegas"),
};

/// `vegas = "linux"`, which leaves repairs to `recovery = "rack"`.
pub(crate) const IN_LINUX: VariantInfo =
    VariantInfo { recovery: None, own: &[VegasParams::TABLE, Recovery::TABLE], ..INFO };

/// The state that Vegas keeps beside the common state. Times are in seconds since the first
/// segment.
#[derive(Clone, Debug)]
pub(crate) struct Vegas {
    p: VegasParams,
    linux: Option<InSegments>,
    first_sent: Option<Time>,
    /// The segment that the present ACK acknowledges, if it was under way.
    newest: Option<Acknowledged>,
    base_rtt: f64,
    answered: bool,
    begin_seq: i64,
    begin_time: f64,
    sum_rtt: f64,
    n_rtt: u32,
    /// The segments that each ACK of this round trip adds to cwnd.
    step: f64,
    /// Slow start grows every other round trip.
    grow_now: bool,
}

impl Vegas {
    fn clock(&self, now: Time) -> f64 {
        self.first_sent.map_or(0.0, |t| now.since(t).as_secs_f64())
    }

    fn sample(&mut self, rtt: f64) {
        self.sum_rtt += rtt;
        self.n_rtt += 1;
        if rtt > 0.0 {
            self.base_rtt = self.base_rtt.min(rtt);
        }
    }

    fn once_per_round_trip(&mut self, g: &Growth, t: f64, w: &mut Window) {
        let n = f64::from(self.n_rtt);
        let rtt = if self.n_rtt > 0 { self.sum_rtt / n } else { t - self.begin_time };
        self.sum_rtt = 0.0;
        self.n_rtt = 0;
        let in_transit = g.next - self.begin_seq;
        if rtt > 0.0 {
            if rtt < self.base_rtt || in_transit <= 1 {
                self.base_rtt = rtt;
            }
            // Diff = (expected - actual) RTT_min, in segments.
            let actual = in_transit as f64 / rtt;
            let expected = (g.next - g.seq) as f64 / self.base_rtt;
            let mut diff = (expected - actual) * self.base_rtt;
            if g.quirks.vegas_rounds_diff() {
                diff = (diff + 0.5).trunc();
            }
            self.judge(diff, w);
        }
        self.begin_seq = g.next;
        self.begin_time = t;
    }

    /// Chooses the next round trip's step from Diff.
    fn judge(&mut self, diff: f64, w: &mut Window) {
        if w.cwnd < w.ssthresh {
            self.grow_now = !self.grow_now;
            self.step = 0.0;
            if self.grow_now {
                if diff > self.p.gamma {
                    w.ssthresh = 2.0;
                    w.cwnd = (w.cwnd - w.cwnd / 8.0).max(2.0);
                } else {
                    self.step = 1.0;
                }
            }
        } else if diff > self.p.beta {
            w.cwnd = (w.cwnd - 1.0).max(2.0);
            self.step = 0.0;
        } else if diff < self.p.alpha {
            self.step = 1.0 / w.cwnd;
        } else {
            self.step = 0.0;
        }
    }
}

impl CongestionControl for Vegas {
    type Params = VegasParams;
    const WATCHES: bool = true;
    const RECORDS: bool = true;

    fn new(p: &VegasParams) -> Self {
        Vegas {
            p: p.clone(),
            linux: (p.vegas == Form::Linux).then(|| {
                InSegments::new(Thresholds { alpha: p.alpha, beta: p.beta, gamma: p.gamma })
            }),
            first_sent: None,
            newest: None,
            base_rtt: f64::INFINITY,
            answered: false,
            begin_seq: 0,
            begin_time: 0.0,
            sum_rtt: 0.0,
            n_rtt: 0,
            step: 0.0,
            grow_now: true,
        }
    }

    fn check(p: &VegasParams, ecn: Ecn) -> Result<(), ParamError> {
        if p.alpha > p.beta {
            return Err(ParamError::new("alpha", format!("must not be above beta ({})", p.beta)));
        }
        match ecn {
            Ecn::Off => Ok(()),
            Ecn::Classic | Ecn::AccEcn if p.vegas == Form::Linux => Ok(()),
            Ecn::Classic | Ecn::AccEcn | Ecn::Sce => Err(ParamError::new(
                "ecn",
                "must be \"off\" with tcp = \"vegas\", which has no answer to marks; Linux's has one to \
                 \"classic\" and \"accecn\"",
            )),
            // Two controls would pull at one window.
            Ecn::Mecn => Err(ParamError::new(
                "ecn",
                "must be \"off\" with tcp = \"vegas\": table 3 of multi-level ECN grows the window \
                 until a mark says otherwise, and Vegas stops by the round-trip time before that",
            )),
        }
    }

    fn started(&mut self, now: Time) {
        self.first_sent.get_or_insert(now);
    }

    fn on_ack(&mut self, a: &Acked, _w: &mut Window) {
        self.newest = a.newest;
        if let (Some(linux), Some(rtt)) = (&mut self.linux, a.sample()) {
            linux.sample(rtt);
        }
    }

    fn on_state(&mut self, _from: CaState, to: CaState, _w: &mut Window) {
        if let Some(linux) = &mut self.linux {
            linux.on_state(to);
        }
    }

    fn grow(&mut self, g: &Growth, w: &mut Window) {
        if let Some(linux) = &mut self.linux {
            return linux.grow(g, w);
        }
        let t = self.clock(g.now);
        if !self.answered {
            self.answered = true;
            self.base_rtt = t;
        }
        if g.seq >= self.begin_seq {
            self.once_per_round_trip(g, t, w);
        }
        if self.step == 1.0 && w.cwnd >= w.ssthresh {
            self.step = 0.0;
        }
        // Grow only while the window is being used.
        if self.step > 0.0 && w.cwnd - (g.next - g.seq) as f64 <= 2.0 {
            w.cwnd += self.step;
        }
        if let Some(newest) = self.newest.filter(|s| s.times == 1) {
            self.sample(t - self.clock(newest.at));
        }
    }
}
