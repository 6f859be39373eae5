//! DCTCP, RFC 8257: alpha estimates the fraction of marked segments, and a window with marks is cut
//! by alpha/2. Losses are answered as by Reno (3.5). The receiver's part, DCTCP.CE (3.2), is in
//! `receiver.rs`; with `ecn = "accecn"` the ACE field tells the counts instead. SYN and SYN-ACK are
//! ECT (3.6); retransmissions are as RFC 3168 has them, of which RFC 8257 does not speak.

/// What DCTCP keeps beside the common state; 3.3's variables, in segments.
#[derive(Clone, Debug)]
pub(crate) struct DctcpState {
    pub(crate) alpha: f64,
    /// The highest segment of the window that is being observed.
    window_end: i64,
    acked: i64,
    marked: i64,
}

impl DctcpState {
    pub(crate) fn new() -> Self {
        DctcpState { alpha: 1.0, window_end: 0, acked: 0, marked: 0 }
    }

    /// An ACK up to `seq` newly covers `acked` segments, of which (or beside which) `marked` were
    /// marked; `sent` is the highest sent.
    pub(crate) fn ack(&mut self, g: f64, seq: i64, acked: i64, marked: i64, sent: i64) {
        self.acked += acked;
        self.marked += marked;
        if seq <= self.window_end || self.acked == 0 {
            return;
        }
        // M = marked/acked; alpha = alpha (1 − g) + g M. Counts of the ACE field may run ahead of
        // cumulative ACKs.
        let m = (self.marked as f64 / self.acked as f64).min(1.0);
        self.alpha = self.alpha * (1.0 - g) + g * m;
        self.window_end = sent;
        self.acked = 0;
        self.marked = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of four segments, g = 1/16: alpha = 1, 15/16 + 1/16 · 0, … Powers of two, so `==` is
    /// exact.
    #[test]
    fn alpha_moves_once_a_window() {
        let mut d = DctcpState::new();
        d.ack(0.0625, 1, 1, 0, 4); // ends the empty first window
        assert_eq!(d.alpha, 0.9375);
        for (seq, marked) in [(2, 1), (3, 0), (4, 1)] {
            d.ack(0.0625, seq, 1, marked, seq + 4);
            assert_eq!(d.alpha, 0.9375, "within the window");
        }
        d.ack(0.0625, 5, 1, 0, 9);
        assert_eq!(d.alpha, 0.9375 * 0.9375 + 0.0625 * 0.5, "two of four");
        d.ack(0.5, 20, 15, 40, 30);
        assert_eq!(d.alpha, (0.9375 * 0.9375 + 0.03125) * 0.5 + 0.5, "at most all");
    }
}
