//! Vegas. L. Brakmo, S. O'Malley, L. Peterson, "TCP Vegas: new techniques for congestion detection
//! and avoidance", SIGCOMM 1994: once per round trip `Diff = (cwnd/RTT_min − cwnd/RTT)·RTT_min` is
//! compared with α and β. A fine-grained timer, looked at when a duplicate ACK arrives, finds lost
//! segments early; `recovery/vegas.rs` sends them again. RED-AT's eq. (2) prints a comparison with
//! `cwnd + α`; the original compares with α.

use crate::control::algorithm::CongestionControl;
use crate::control::variant::{VariantInfo, VARIANT};
use crate::control::window::Window;
use crate::ecn::bits::Ecn;
use crate::recovery::kind::Recovery;
use crate::sent::{Sent, SentLog};
use penstock_units::param::{num, num_open, ParamError};
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
    }
}

pub(crate) const INFO: VariantInfo = VariantInfo {
    name: "vegas",
    doc: "Keeps between alpha and beta segments of its own in the queue, judged from the \
          round-trip time.",
    source: "Brakmo, O'Malley, Peterson 1994",
    recovery: Some(Recovery::Reno), // and retransmissions of its own: recovery/vegas.rs
    own: &[VegasParams::TABLE],
    ns2: &[("alpha", "1"), ("beta", "3"), ("header", "\"0 B\""), ("handshake", "false")],
    linux: Some("vegas"),
    ..VARIANT
};

/// What Vegas keeps beside the common state. Times are in seconds since the first segment.
#[derive(Clone, Debug)]
pub(crate) struct Vegas {
    p: VegasParams,
    first_sent: Option<Time>,
    base_rtt: f64,
    /// Smoothed fine-grained round trip, scaled by 8, and deviation, scaled by 4.
    sa: f64,
    sd: f64,
    timeout: f64,
    answered: bool,
    begin_seq: i64,
    begin_time: f64,
    sum_rtt: f64,
    n_rtt: u32,
    /// What each ACK of this round trip adds to cwnd.
    step: f64,
    /// Slow start grows every other round trip.
    grow_now: bool,
    /// ACKs after a retransmission that look for further losses.
    worried: i64,
    /// What an inflated window returns to.
    new_cwnd: f64,
    changed: f64,
}

/// An ACK of new data, after the sender has taken it in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewAck {
    pub(crate) now: Time,
    /// The highest segment acknowledged.
    pub(crate) seq: i64,
    /// The next segment to send.
    pub(crate) next: i64,
    /// Duplicates before it.
    pub(crate) dupacks: u32,
    /// That segment, if it was under way.
    pub(crate) newest: Option<Sent>,
    /// ns-2 rounds Diff.
    pub(crate) ns2: bool,
}

impl Vegas {
    fn clock(&self, now: Time) -> f64 {
        self.first_sent.map_or(0.0, |t| now.since(t).as_secs_f64())
    }

    /// Returns when a segment was last sent; -1 for one that was not.
    fn when(&self, segment: Option<&Sent>) -> f64 {
        segment.map_or(-1.0, |s| self.clock(s.at))
    }

    /// The fine-grained timeout follows every sample of a segment sent once.
    fn sample(&mut self, rtt: f64) {
        self.sum_rtt += rtt;
        self.n_rtt += 1;
        if rtt > 0.0 {
            self.base_rtt = self.base_rtt.min(rtt);
            let n = rtt - self.sa / 8.0;
            self.sa += n;
            self.sd += n.abs() - self.sd / 4.0;
            self.timeout = (self.sa / 4.0 + self.sd) / 2.0;
            self.timeout += self.timeout / 16.0;
        }
    }

    /// Returns the segment after `seq`, if it has been out for longer than the fine-grained
    /// timeout.
    fn expired(&self, t: f64, seq: i64, log: &SentLog) -> Option<i64> {
        (t - self.when(log.get(seq + 1)) >= self.timeout).then_some(seq + 1)
    }

    /// Moves the window at a new ACK. Returns a segment that has expired, to be sent again.
    pub(crate) fn new_ack(&mut self, a: &NewAck, log: &SentLog, w: &mut Window) -> Option<i64> {
        let t = self.clock(a.now);
        if !self.answered {
            self.answered = true;
            self.base_rtt = t;
            self.sa = 8.0 * t;
            self.sd = t;
            self.timeout = (self.sa / 4.0 + self.sd) / 2.0;
        }
        if a.dupacks > 3 && w.cwnd > self.new_cwnd {
            w.cwnd = self.new_cwnd; // it was inflated
            w.ssthresh = 2.0;
        }
        if a.seq >= self.begin_seq {
            self.once_per_round_trip(a, t, w);
        }
        if self.step == 1.0 && w.cwnd >= w.ssthresh {
            self.step = 0.0;
        }
        // Grow only while the window is being used.
        if self.step > 0.0 && w.cwnd - (a.next - a.seq) as f64 <= 2.0 {
            w.cwnd += self.step;
        }
        if let Some(newest) = a.newest.filter(|s| s.times == 1) {
            self.sample(t - self.clock(newest.at));
        }
        if self.worried <= 0 {
            return None;
        }
        self.worried -= 1;
        let expired = self.expired(t, a.seq, log);
        if expired.is_none() {
            self.worried = 0;
        }
        expired
    }

    fn once_per_round_trip(&mut self, a: &NewAck, t: f64, w: &mut Window) {
        let n = f64::from(self.n_rtt);
        let rtt = if self.n_rtt > 0 { self.sum_rtt / n } else { t - self.begin_time };
        self.sum_rtt = 0.0;
        self.n_rtt = 0;
        let in_transit = a.next - self.begin_seq;
        if rtt > 0.0 {
            if rtt < self.base_rtt || in_transit <= 1 {
                self.base_rtt = rtt;
            }
            // Diff = (expected - actual) RTT_min, in segments.
            let actual = in_transit as f64 / rtt;
            let expected = (a.next - a.seq) as f64 / self.base_rtt;
            let mut diff = (expected - actual) * self.base_rtt;
            if a.ns2 {
                diff = (diff + 0.5).trunc();
            }
            self.judge(diff, w);
        }
        self.begin_seq = a.next;
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

    /// Returns the segment after `seq`, if a duplicate ACK finds that it has expired.
    pub(crate) fn found_expired(&self, now: Time, seq: i64, log: &SentLog) -> Option<i64> {
        self.expired(self.clock(now), seq, log)
    }

    /// A segment is lost; `window` segments may be outstanding, `outstanding` are. Returns the
    /// window that is left, if this loss cuts it, and whether the segment was sent once only.
    pub(crate) fn lost(
        &mut self,
        now: Time,
        segment: Option<&Sent>,
        window: i64,
        outstanding: i64,
    ) -> (Option<f64>, bool) {
        let t = self.clock(now);
        let (sent, times) = (self.when(segment), segment.map_or(0, |s| s.times));
        self.worried = 2.min(outstanding);
        if times > 1 {
            self.timeout *= 2.0;
        } else {
            self.timeout += self.timeout / 8.0;
        }
        // Decrease only for a segment sent after the last decrease.
        if self.changed >= sent {
            return (None, times == 1);
        }
        let w = match window {
            ..=3 => 2,
            w if times > 1 => w >> 1,
            w => w - (w >> 2),
        };
        self.new_cwnd = w as f64;
        self.changed = t;
        (Some(self.new_cwnd), times == 1)
    }

    /// The retransmission timer has expired. An inflated window will return to `new_cwnd`.
    pub(crate) fn timed_out(&mut self, now: Time, new_cwnd: f64) {
        self.new_cwnd = new_cwnd;
        self.changed = self.clock(now);
    }
}

impl CongestionControl for Vegas {
    type Params = VegasParams;
    const RECORDS: bool = true;

    fn new(p: &VegasParams) -> Self {
        Vegas {
            p: p.clone(),
            first_sent: None,
            base_rtt: f64::INFINITY,
            sa: 0.0,
            sd: 0.0,
            timeout: 1000.0,
            answered: false,
            begin_seq: 0,
            begin_time: 0.0,
            sum_rtt: 0.0,
            n_rtt: 0,
            step: 0.0,
            grow_now: true,
            worried: 0,
            new_cwnd: 0.0,
            changed: 0.0,
        }
    }

    fn check(p: &VegasParams, ecn: Ecn) -> Result<(), ParamError> {
        if p.alpha > p.beta {
            return Err(ParamError::new("alpha", format!("must not be above beta ({})", p.beta)));
        }
        match ecn {
            Ecn::Off => Ok(()),
            Ecn::Classic | Ecn::AccEcn => Err(ParamError::new(
                "ecn",
                "must be \"off\" with tcp = \"vegas\", which has no answer to marks",
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
}
