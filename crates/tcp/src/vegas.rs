//! Vegas. L. Brakmo, S. O'Malley, L. Peterson, "TCP Vegas: new techniques for congestion detection
//! and avoidance", SIGCOMM 1994: once a round trip `Diff = (cwnd/RTT_min − cwnd/RTT)·RTT_min` is
//! compared with α and β. Lost segments are found early by a fine-grained timer that is looked at
//! when a duplicate ACK comes. RED-AT's eq. (2) prints a comparison with `cwnd + α`; the original
//! compares with α.

use crate::sender::{Cut, Own};
use crate::{Ack, Io, Sender};
use penstock_units::Time;
use std::collections::VecDeque;

/// What Vegas keeps beside the common state. Times are in seconds since the first segment.
#[derive(Clone, Debug)]
pub(crate) struct VegasState {
    first_sent: Option<Time>,
    /// When each outstanding segment was last sent and how often, from `base` on.
    sent: VecDeque<(f64, u32)>,
    base: i64,
    base_rtt: f64,
    /// Smoothed fine-grained round trip, scaled by 8, and deviation, scaled by 4.
    sa: f64,
    sd: f64,
    timeout: f64,
    heard: bool,
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
    gamma: f64,
}

impl VegasState {
    pub(crate) fn new(gamma: f64) -> Self {
        VegasState {
            first_sent: None,
            sent: VecDeque::new(),
            base: 0,
            base_rtt: f64::INFINITY,
            sa: 0.0,
            sd: 0.0,
            timeout: 1000.0,
            heard: false,
            begin_seq: 0,
            begin_time: 0.0,
            sum_rtt: 0.0,
            n_rtt: 0,
            step: 0.0,
            grow_now: true,
            worried: 0,
            new_cwnd: 0.0,
            changed: 0.0,
            gamma,
        }
    }

    pub(crate) fn started(&mut self, now: Time) {
        self.first_sent.get_or_insert(now);
    }

    fn clock(&self, now: Time) -> f64 {
        self.first_sent.map_or(0.0, |t| now.since(t).as_secs_f64())
    }

    pub(crate) fn sent(&mut self, now: Time, seq: i64, highest_ack: i64) {
        let t = self.clock(now);
        if self.sent.is_empty() {
            self.base = highest_ack + 1;
        }
        let i = (seq - self.base).max(0) as usize;
        while self.sent.len() <= i {
            self.sent.push_back((-1.0, 0));
        }
        self.sent[i].0 = t;
        self.sent[i].1 += 1;
    }

    fn when(&self, seq: i64) -> (f64, u32) {
        usize::try_from(seq - self.base)
            .ok()
            .and_then(|i| self.sent.get(i).copied())
            .unwrap_or((-1.0, 0))
    }

    fn forget_to(&mut self, seq: i64) {
        while self.base <= seq && self.sent.pop_front().is_some() {
            self.base += 1;
        }
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

    /// The segment after `seq`, if it has been out for longer than the fine-grained timeout.
    fn expired(&self, t: f64, seq: i64) -> Option<i64> {
        (t - self.when(seq + 1).0 >= self.timeout).then_some(seq + 1)
    }
}

impl Sender {
    /// Takes the state out while `f` works on both; an allocation is moved, not made.
    fn with_vegas<R>(&mut self, f: impl FnOnce(&mut Self, &mut VegasState) -> R) -> R {
        let Own::Vegas(mut v) = std::mem::replace(&mut self.own, Own::None) else {
            unreachable!("a Vegas sender has Vegas's state");
        };
        let r = f(self, &mut v);
        self.own = Own::Vegas(v);
        r
    }

    pub(crate) fn vegas_ack(&mut self, now: Time, ack: &Ack, io: &mut impl Io) {
        if ack.seq > self.last_ack {
            let expired = self.with_vegas(|s, v| s.vegas_new_ack(v, now, ack));
            if let Some(expired) = expired.filter(|seq| self.vegas_may_resend(*seq)) {
                self.dupacks = 3;
                self.output(now, expired, io);
            }
        } else if ack.seq == self.last_ack {
            let lost = self.with_vegas(|s, v| s.vegas_dup_ack(v, now, ack));
            if let Some(lost) = lost.filter(|(seq, _)| self.vegas_may_resend(*seq)) {
                self.output(now, lost.0, io);
                if lost.1 {
                    self.dupacks = 3;
                }
            }
        }
        if self.dupacks == 0 || self.dupacks > 2 {
            self.send_window(now, io);
        }
    }

    /// Whether what counts as expired was sent at all. ns-2 does not ask: it sends a new segment
    /// then, but none that was not given.
    fn vegas_may_resend(&self, seq: i64) -> bool {
        seq <= self.max_sent || (self.p.ns2_recovery && seq < self.limit)
    }

    /// A new ACK; a segment that has expired, to be sent again.
    fn vegas_new_ack(&mut self, v: &mut VegasState, now: Time, ack: &Ack) -> Option<i64> {
        let t = v.clock(now);
        if !v.heard {
            v.heard = true;
            v.base_rtt = t;
            v.sa = 8.0 * t;
            v.sd = t;
            v.timeout = (v.sa / 4.0 + v.sd) / 2.0;
        }
        if self.last_ack == 0 {
            self.cwnd = f64::from(self.p.initial_window);
        }
        if self.dupacks > 3 && self.cwnd > v.new_cwnd {
            self.cwnd = v.new_cwnd; // it was inflated
            self.ssthresh = 2.0;
        }
        self.advance(now, ack);
        if ack.seq >= v.begin_seq {
            self.vegas_once_a_round_trip(v, t);
        }
        if v.step == 1.0 && self.cwnd >= self.ssthresh {
            v.step = 0.0;
        }
        // Grow only while the window is being used.
        if v.step > 0.0 && self.cwnd - (self.next - self.last_ack) as f64 <= 2.0 {
            self.cwnd += v.step;
        }
        let (sent, times) = v.when(ack.seq);
        v.forget_to(ack.seq);
        if times == 1 {
            v.sample(t - sent);
        }
        if v.worried > 0 {
            v.worried -= 1;
            let expired = v.expired(t, ack.seq);
            if expired.is_none() {
                v.worried = 0;
            }
            return expired;
        }
        None
    }

    fn vegas_once_a_round_trip(&mut self, v: &mut VegasState, t: f64) {
        let rtt = if v.n_rtt > 0 { v.sum_rtt / f64::from(v.n_rtt) } else { t - v.begin_time };
        v.sum_rtt = 0.0;
        v.n_rtt = 0;
        let in_transit = self.next - v.begin_seq;
        if rtt > 0.0 {
            if rtt < v.base_rtt || in_transit <= 1 {
                v.base_rtt = rtt;
            }
            // Diff = (expected - actual) RTT_min, in segments; ns-2 rounds it.
            let actual = in_transit as f64 / rtt;
            let expected = (self.next - self.last_ack) as f64 / v.base_rtt;
            let mut diff = (expected - actual) * v.base_rtt;
            if self.p.ns2_recovery {
                diff = (diff + 0.5).trunc();
            }
            if self.cwnd < self.ssthresh {
                v.grow_now = !v.grow_now;
                v.step = 0.0;
                if v.grow_now {
                    if diff > v.gamma {
                        self.ssthresh = 2.0;
                        self.cwnd = (self.cwnd - self.cwnd / 8.0).max(2.0);
                    } else {
                        v.step = 1.0;
                    }
                }
            } else if diff > self.p.beta {
                self.cwnd = (self.cwnd - 1.0).max(2.0);
                v.step = 0.0;
            } else if diff < self.p.alpha {
                v.step = 1.0 / self.cwnd;
            } else {
                v.step = 0.0;
            }
        }
        v.begin_seq = self.next;
        v.begin_time = t;
    }

    /// A duplicate ACK; the segment to send again, and whether that was its first repetition.
    fn vegas_dup_ack(&mut self, v: &mut VegasState, now: Time, ack: &Ack) -> Option<(i64, bool)> {
        let t = v.clock(now);
        self.dupacks += 1;
        let expired = v.expired(t, ack.seq);
        if expired.is_none() && self.dupacks != 3 {
            if self.dupacks > 3 {
                self.cwnd += 1.0;
            }
            return None;
        }
        // Not for the echo of segments that a timeout sent twice.
        if self.highest_ack <= self.recover && self.last_cut == Cut::Timeout {
            return None;
        }
        let (sent, times) = v.when(self.last_ack + 1);
        let window = self.window();
        self.last_cut = Cut::DupAcks;
        self.recover = self.max_sent;
        v.worried = 2.min(self.next - self.last_ack);
        if times > 1 {
            v.timeout *= 2.0;
        } else {
            v.timeout += v.timeout / 8.0;
        }
        // Decrease only for a segment sent after the last decrease.
        if v.changed < sent {
            let w = match window {
                ..=3 => 2,
                w if times > 1 => w >> 1,
                w => w - (w >> 2),
            };
            v.new_cwnd = w as f64;
            self.cwnd = v.new_cwnd + f64::from(self.dupacks);
            v.changed = t;
        }
        self.count_fast_retransmit();
        self.restart_timer(now, false);
        Some((expired.unwrap_or(self.last_ack + 1), times == 1))
    }

    pub(crate) fn vegas_timeout(&mut self, now: Time, io: &mut impl Io) {
        self.recover = self.max_sent;
        self.last_cut = Cut::Timeout;
        self.count_timeout();
        self.cut_to_one(true);
        self.cwnd = 2.0;
        self.restart_timer(now, true);
        self.with_vegas(|s, v| {
            // In ns-2 duplicates after a timeout bring the window down to nothing, and only the
            // timer helps.
            v.new_cwnd = if s.p.ns2_recovery { 0.0 } else { s.cwnd };
            v.changed = v.clock(now);
        });
        self.send_window(now, io);
    }
}
