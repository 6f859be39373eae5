//! DCTCP, RFC 8257: alpha estimates the fraction of marked segments, and a window with marks is cut
//! by alpha/2. Losses are answered as Reno answers them (3.5). The receiver's part, DCTCP.CE (3.2),
//! is in `receiver.rs`; with `ecn = "accecn"` the ACE field reports the counts instead, or the option
//! the bytes. SYN and SYN-ACK are ECT (3.6). Retransmissions follow RFC 3168, since RFC 8257 does not mention them.

use crate::control::algorithm::{Acked, Cause, CongestionControl, Cut};
use crate::control::variant::{VariantInfo, VARIANT};
use crate::control::window::Window;
use crate::ecn::bits::Ecn;
use crate::recovery::kind::Recovery;
use penstock_units::param::{num_open, ParamError};

penstock_units::params! {
    /// DCTCP's estimate.
    pub struct DctcpParams: Default {
        /// Weight of the newest window in DCTCP's estimate of the marked fraction.
        pub g: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 0.0625,
            source: "RFC 8257 4.2",
        },
    }
}

pub(crate) const INFO: VariantInfo = VariantInfo {
    name: "dctcp",
    doc: "Cuts the window by half the estimated fraction of marked packets.",
    source: "RFC 8257",
    own: &[DctcpParams::TABLE, Recovery::TABLE],
    defaults: &[("ecn", "\"classic\"")],
    linux: Some("dctcp"),
    ..VARIANT
};

/// The state that DCTCP keeps beside the common state: 3.3's variables, in segments.
#[derive(Clone, Debug)]
pub(crate) struct Dctcp {
    g: f64,
    alpha: f64,
    /// The highest segment of the window that is being observed.
    window_end: i64,
    acked: i64,
    marked: f64,
}

impl CongestionControl for Dctcp {
    type Params = DctcpParams;
    const COUNTS_MARKS: bool = true;
    const WATCHES: bool = true;

    fn new(p: &DctcpParams) -> Self {
        Dctcp { g: p.g, alpha: 1.0, window_end: 0, acked: 0, marked: 0.0 }
    }

    fn check(_p: &DctcpParams, ecn: Ecn) -> Result<(), ParamError> {
        match ecn {
            Ecn::Classic | Ecn::AccEcn => Ok(()),
            Ecn::Off => Err(ParamError::new(
                "ecn",
                "must be \"classic\" or \"accecn\" with tcp = \"dctcp\", which lives on marks",
            )),
            // Nothing of DCTCP would be left: its window grows like Reno's.
            Ecn::Mecn => Err(ParamError::new(
                "ecn",
                "must be \"classic\" or \"accecn\" with tcp = \"dctcp\", which cuts by the \
                 fraction of marked packets; table 3 of multi-level ECN has a cut for each mark \
                 instead",
            )),
        }
    }

    fn on_ack(&mut self, a: &Acked, _w: &mut Window) {
        self.acked += a.newly.max(0);
        self.marked += a.marked_segments();
        if a.seq <= self.window_end || self.acked == 0 {
            return;
        }
        // M = marked/acked; alpha = alpha (1 − g) + g M. Counts of the ACE field may run ahead of
        // cumulative ACKs.
        let m = (self.marked / self.acked as f64).min(1.0);
        self.alpha = self.alpha * (1.0 - self.g) + self.g * m;
        self.window_end = a.max_sent;
        self.acked = 0;
        self.marked = 0.0;
    }

    fn leaves(&self, c: &Cut, w: &Window) -> f64 {
        match c.cause {
            Cause::Mark | Cause::Deeper => w.cwnd * (1.0 - self.alpha / 2.0),
            Cause::Loss | Cause::Timeout | Cause::Again => c.base * c.reno,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_units::Time;

    /// Windows of four segments, g = 1/16: alpha = 1, 15/16 + 1/16 · 0, … Powers of two, so `==` is
    /// exact.
    #[test]
    fn alpha_moves_once_per_window() {
        let mut d = Dctcp::new(&DctcpParams { g: 0.0625 });
        let ack = |d: &mut Dctcp, seq, newly, marked, max_sent| {
            let w = &mut Window { cwnd: 4.0, ssthresh: 4.0 };
            d.on_ack(&Acked { marked, max_sent, ..Acked::of(Time::ZERO, seq, newly) }, w);
        };
        ack(&mut d, 1, 1, 0, 4); // ends the empty first window
        assert_eq!(d.alpha, 0.9375);
        for (seq, marked) in [(2, 1), (3, 0), (4, 1)] {
            ack(&mut d, seq, 1, marked, seq + 4);
            assert_eq!(d.alpha, 0.9375, "within the window");
        }
        ack(&mut d, 5, 1, 0, 9);
        assert_eq!(d.alpha, 0.9375 * 0.9375 + 0.0625 * 0.5, "two of four");
        d.g = 0.5;
        ack(&mut d, 20, 15, 40, 30);
        assert_eq!(d.alpha, (0.9375 * 0.9375 + 0.03125) * 0.5 + 0.5, "at most all");
    }

    /// An ACK of eight segments, whose field may say none or eight: where bytes are told, two of
    /// the eight were marked. alpha = 0.5 · 1 + 0.5 · 2/8.
    #[test]
    fn bytes_go_before_packets() {
        for (marked_bytes, alpha) in [(None, 1.0), (Some(2000), 0.625), (Some(0), 0.5)] {
            let mut d = Dctcp::new(&DctcpParams { g: 0.5 });
            let a = Acked { marked: 8, marked_bytes, ..Acked::of(Time::ZERO, 8, 8) };
            d.on_ack(&a, &mut Window { cwnd: 4.0, ssthresh: 4.0 });
            assert_eq!(d.alpha, alpha, "{marked_bytes:?}");
        }
    }
}
