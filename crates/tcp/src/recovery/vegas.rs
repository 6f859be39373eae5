//! Vegas's own repair of losses, Brakmo, O'Malley, Peterson 1994, section 3.1: a duplicate ACK
//! sends a segment again that has been out for longer than a fine-grained timeout, without waiting
//! for the third duplicate. Times are in seconds since the first segment.

use crate::connection::{Connection, Event, Io};
use crate::control::algorithm::Cause;
use crate::recovery::LossRecovery;
use crate::segment::Ack;
use penstock_units::Time;

#[derive(Clone, Debug, Default)]
pub(crate) struct Vegas {
    dupacks: u32,
    fine: Box<Fine>,
}

/// The fine-grained timer. Boxed: other recoveries keep less, and every sender has room for one.
#[derive(Clone, Debug)]
struct Fine {
    first_sent: Option<Time>,
    answered: bool,
    /// Smoothed fine-grained round trip, scaled by 8, and deviation, scaled by 4.
    sa: f64,
    sd: f64,
    timeout: f64,
    /// ACKs after a retransmission that look for further losses.
    worried: i64,
    /// The window that an inflated one returns to.
    new_cwnd: f64,
    /// The time at which the window was cut last.
    changed: f64,
}

impl Default for Fine {
    fn default() -> Self {
        Fine {
            first_sent: None,
            answered: false,
            sa: 0.0,
            sd: 0.0,
            timeout: 1000.0,
            worried: 0,
            new_cwnd: 0.0,
            changed: 0.0,
        }
    }
}

impl LossRecovery for Vegas {
    const RECORDS: bool = true;

    fn started(&mut self, now: Time) {
        self.fine.first_sent.get_or_insert(now);
    }

    fn dupacks(&self) -> u32 {
        self.dupacks
    }

    fn on_ack(&mut self, c: &mut Connection, now: Time, ack: &Ack, io: &mut impl Io) {
        if ack.seq > c.last_ack {
            let expired = self.new_ack(c, now, ack);
            if let Some(expired) = expired.filter(|seq| may_resend(c, *seq)) {
                self.dupacks = 3;
                c.output(now, expired, io);
            }
        } else if ack.seq == c.last_ack {
            let lost = self.duplicate(c, now, ack);
            if let Some((seq, first)) = lost.filter(|(seq, _)| may_resend(c, *seq)) {
                c.output(now, seq, io);
                if first {
                    self.dupacks = 3;
                }
            }
        }
        if self.dupacks == 0 || self.dupacks > 2 {
            self.send(c, now, false, u32::MAX, io);
        }
    }

    fn forget(&mut self, _c: &mut Connection) {
        self.dupacks = 0;
    }

    fn on_timeout(&mut self, c: &mut Connection, now: Time, io: &mut impl Io) {
        self.forget(c);
        c.recover = c.max_sent;
        c.last_event = Event::Timeout;
        c.counters.timeouts += 1;
        c.back_off();
        c.cut(Cause::Timeout, 0.0);
        c.window.cwnd = 2.0;
        c.restart_timer(now, true);
        self.fine.new_cwnd =
            if c.p.quirks().vegas_falls_to_nothing() { 0.0 } else { c.window.cwnd };
        self.fine.changed = self.clock(now);
        self.send(c, now, false, u32::MAX, io);
    }
}

/// Whether an expired segment was sent at all, or at least given.
fn may_resend(c: &Connection, seq: i64) -> bool {
    seq <= c.max_sent || (c.p.quirks().vegas_resends_the_unsent() && seq < c.limit)
}

impl Vegas {
    fn clock(&self, now: Time) -> f64 {
        self.fine.first_sent.map_or(0.0, |t| now.since(t).as_secs_f64())
    }

    /// Returns when a segment was last sent, and how often; −1 for one that is not under way.
    fn when(&self, c: &Connection, seq: i64) -> (f64, u16) {
        c.segment(seq).map_or((-1.0, 0), |s| (self.clock(s.at), s.times))
    }

    /// Returns the segment after `seq`, if it has been out for longer than the timeout.
    fn expired(&self, c: &Connection, t: f64, seq: i64) -> Option<i64> {
        (t - self.when(c, seq + 1).0 >= self.fine.timeout).then_some(seq + 1)
    }

    /// The timeout follows every sample of a segment sent once.
    fn sample(&mut self, rtt: f64) {
        if rtt > 0.0 {
            let n = rtt - self.fine.sa / 8.0;
            self.fine.sa += n;
            self.fine.sd += n.abs() - self.fine.sd / 4.0;
            self.fine.timeout = (self.fine.sa / 4.0 + self.fine.sd) / 2.0;
            self.fine.timeout += self.fine.timeout / 16.0;
        }
    }

    /// Returns a segment that has expired, to be sent again.
    fn new_ack(&mut self, c: &mut Connection, now: Time, ack: &Ack) -> Option<i64> {
        if c.last_ack == 0 {
            c.window.cwnd = f64::from(c.p.initial_window);
        }
        let dupacks = std::mem::take(&mut self.dupacks);
        let (acked, flight) = (ack.seq - c.highest_ack, c.flight());
        c.advance(now, ack);
        let t = self.clock(now);
        if !self.fine.answered {
            self.fine.answered = true;
            self.fine.sa = 8.0 * t;
            self.fine.sd = t;
            self.fine.timeout = (self.fine.sa / 4.0 + self.fine.sd) / 2.0;
        }
        if dupacks > 3 && c.window.cwnd > self.fine.new_cwnd {
            c.window.cwnd = self.fine.new_cwnd; // it was inflated
            c.window.ssthresh = 2.0;
        }
        c.grow(now, acked, flight);
        let newest = c.log.as_ref().and_then(|log| log.newest());
        if let Some(newest) = newest.filter(|s| s.times == 1) {
            self.sample(t - self.clock(newest.at));
        }
        if self.fine.worried <= 0 {
            return None;
        }
        self.fine.worried -= 1;
        let expired = self.expired(c, t, ack.seq);
        if expired.is_none() {
            self.fine.worried = 0;
        }
        expired
    }

    /// Returns the segment to send again after a duplicate ACK, and whether it was sent only once
    /// so far.
    fn duplicate(&mut self, c: &mut Connection, now: Time, ack: &Ack) -> Option<(i64, bool)> {
        self.dupacks += 1;
        let expired = self.expired(c, self.clock(now), ack.seq);
        if expired.is_none() && self.dupacks != 3 {
            if self.dupacks > 3 {
                c.window.cwnd += 1.0;
            }
            return None;
        }
        // The echo of segments that a timeout sent twice does not count.
        if c.highest_ack <= c.recover && c.last_event == Event::Timeout {
            return None;
        }
        c.last_event = Event::DupAcks;
        c.recover = c.max_sent;
        let hole = c.last_ack + 1;
        let (sent, times) = self.when(c, hole);
        self.lost(c, now, sent, times);
        c.counters.fast_retransmits += 1;
        c.restart_timer(now, false);
        Some((expired.unwrap_or(hole), times == 1))
    }

    /// A segment is lost that was sent last at `sent`, and so often.
    fn lost(&mut self, c: &mut Connection, now: Time, sent: f64, times: u16) {
        self.fine.worried = 2.min(c.next - c.last_ack);
        if times > 1 {
            self.fine.timeout *= 2.0;
        } else {
            self.fine.timeout += self.fine.timeout / 8.0;
        }
        // Decrease only for a segment sent after the last decrease.
        if self.fine.changed >= sent {
            return;
        }
        let left = match c.usable(0.0) {
            ..=3 => 2,
            w if times > 1 => w >> 1,
            w => w - (w >> 2),
        };
        self.fine.new_cwnd = left as f64;
        self.fine.changed = self.clock(now);
        c.window.cwnd = self.fine.new_cwnd + f64::from(self.dupacks);
    }
}
