//! What happens to a sender: the application gives data, an ACK arrives, a timer expires. Each is
//! handed to the way of repairing losses that the connection uses.

use crate::control::Control;
use crate::ecn::answer;
use crate::recovery::kind::Recovery;
use crate::recovery::{newreno, reno, sack, tahoe, vegas};
use crate::segment::Ack;
use crate::sender::{Event, Io, Sender};
use penstock_units::Time;

impl Sender {
    /// The application gives `segments` more. The first call opens the connection.
    pub fn give(&mut self, now: Time, segments: u64, io: &mut impl Io) {
        let first = if self.limit == 0 { self.first_data() } else { 0 };
        self.limit = self.limit.saturating_add(first).saturating_add(segments.min(1 << 60) as i64);
        self.control.started(now);
        self.send_window(now, io);
    }

    /// An ACK arrives.
    pub fn on_ack(&mut self, now: Time, ack: &Ack, io: &mut impl Io) {
        if self.stopped {
            return;
        }
        self.peer_window = self.p.window.min(ack.window);
        if matches!(self.control, Control::Vegas(_)) {
            return vegas::on_ack(self, now, ack, io);
        }
        answer::on_ack(self, now, ack);
        match self.p.recovery {
            Recovery::Tahoe => tahoe::on_ack(self, now, ack, io),
            Recovery::Reno => reno::on_ack(self, now, ack, io),
            Recovery::NewReno => newreno::on_ack(self, now, ack, io),
            Recovery::Sack => sack::on_ack(self, now, ack, io),
        }
    }

    /// The deadline has come.
    pub fn on_timer(&mut self, now: Time, io: &mut impl Io) {
        if self.delayed_send_at <= now {
            self.delayed_send_at = Time::NEVER;
            self.send_much(now, true, u32::MAX, io);
        }
        if self.rtx_at <= now {
            self.rtx_at = Time::NEVER;
            self.timeout(now, io);
        }
    }

    /// The retransmission timer has expired.
    fn timeout(&mut self, now: Time, io: &mut impl Io) {
        self.inflation = 0.0;
        self.in_recovery = false;
        if !(self.p.ns2() && self.p.recovery == Recovery::Tahoe) {
            self.dupacks = 0;
        }
        if matches!(self.control, Control::Vegas(_)) {
            return vegas::timeout(self, now, io);
        }
        if self.p.recovery == Recovery::Sack {
            sack::timeout(self);
        }
        let outstanding = self.highest_ack < self.max_sent;
        if std::mem::take(&mut self.waits_for_timer) && !outstanding {
            return self.send_window(now, io); // what the mark asked for; nothing was lost
        }
        if self.cwnd < 1.0 {
            self.cwnd = 1.0;
        }
        self.recover = self.max_sent;
        if self.highest_ack == -1 {
            // RFC 6298 (5.7), RFC 5681 3.1: a lost SYN means an initial window of one segment.
            self.initial_window = 1.0;
        }
        if !outstanding {
            // Nothing to repair: the window was below one segment.
            self.cut_to_one(false);
        } else if self.last_event == Event::Mark && self.p.ns2() {
            // In recovery from an ECN cut: ssthresh is not cut again.
            self.cut_to_one(false);
        } else {
            self.counters.timeouts += 1;
            // RFC 5681 3.1: ssthresh stays when the timer has already sent the segment again.
            let again = self.last_event == Event::Timeout && !self.p.ns2();
            self.cut_to_one(!again);
        }
        if outstanding {
            self.back_off();
        }
        self.limited = 0;
        self.restart_timer(now, true);
        self.last_event = Event::Timeout;
        self.send_window(now, io);
    }
}
