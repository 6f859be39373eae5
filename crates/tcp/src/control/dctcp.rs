//! DCTCP, RFC 8257: alpha estimates the fraction of marked segments, and a window with marks is cut
//! by alpha/2. Losses are answered as Reno answers them (3.5). The receiver's part, DCTCP.CE (3.2),
//! is in `receiver.rs`; with `ecn = "accecn"` the ACE field reports the counts instead, or the option
//! the bytes. SYN and SYN-ACK are ECT (3.6). Retransmissions follow RFC 3168, since RFC 8257 does
//! not mention them.
//!
//! `dctcp = "linux"` is `tcp_dctcp.c` (6.x). Alpha counts in 1/1024 and g is a power of two. Below
//! 1/g, in these units, alpha falls to 0 before each window's part is added: it then stays small
//! until a window has a quarter of its segments marked. A window is over when all that was sent in
//! it is acknowledged, and the fraction is of segments delivered, in order or not. A cut takes whole
//! segments, and leaves two. The receiver's ACKs tell marked segments and others apart: where the
//! RFC's one covers a marked segment and an unmarked one before it, both count as marked.

use crate::control::algorithm::{Acked, Cause, CongestionControl, Cut};
use crate::control::hystart::HyStartParams;
use crate::control::variant::{Form, VariantInfo, FRACTIONS, VARIANT};
use crate::control::window::Window;
use crate::ecn::bits::Ecn;
use crate::recovery::kind::Recovery;
use penstock_units::param::{num_open, OwnDefaults, ParamError};
use penstock_units::Time;

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
        /// Whose DCTCP: RFC 8257's, or Linux's in integers, in which g is a power of two, small
        /// fractions count as none, and a cut takes whole segments; no ACK covers marked segments
        /// and others.
        pub dctcp: Form {
            default: "rfc",
            linux: "linux",
            quiet: true,
            source: "RFC 8257; Linux 6.x tcp_dctcp.c",
        },
    }
}

/// Alpha of a window whose every segment was marked (`DCTCP_MAX_ALPHA`).
const ALL: u64 = 1024;

/// Linux's alpha after a window in which `marked` of `delivered` segments were marked; g = 2^−`shift`.
fn in_integers(alpha: u64, shift: u32, marked: u64, delivered: u64) -> u64 {
    let part = alpha >> shift;
    let alpha = if part == 0 { 0 } else { alpha - part };
    (alpha + marked * (ALL >> shift) / delivered.max(1)).min(ALL)
}

/// What Linux's alpha leaves of a window.
fn leaves_in_integers(cwnd: f64, alpha: f64) -> f64 {
    let cwnd = cwnd as u64;
    let alpha = (alpha * ALL as f64) as u64;
    (cwnd - ((cwnd * alpha) >> 11)).max(2) as f64
}

pub(crate) const INFO: VariantInfo = VariantInfo {
    name: "dctcp",
    doc: "Cuts the window by half the estimated fraction of marked packets.",
    source: "RFC 8257",
    own: &[DctcpParams::TABLE, HyStartParams::TABLE, Recovery::TABLE],
    defaults: OwnDefaults::any(&[("ecn", "\"classic\"")]),
    linux: Some("dctcp"),
    ..VARIANT
};

/// The state that DCTCP keeps beside the common state: 3.3's variables, in segments.
#[derive(Clone, Debug)]
pub(crate) struct Dctcp {
    g: f64,
    /// `dctcp = "linux"`: −log2 of g.
    shift: Option<u32>,
    /// In Linux's form a whole number of 1/1024.
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
    const SCE: bool = true;

    fn new(p: &DctcpParams) -> Self {
        let shift = (p.dctcp == Form::Linux).then(|| libm::log2(1.0 / p.g) as u32);
        Dctcp { g: p.g, shift, alpha: 1.0, window_end: 0, acked: 0, marked: 0.0 }
    }

    fn check(p: &DctcpParams, ecn: Ecn) -> Result<(), ParamError> {
        let shift = libm::log2(1.0 / p.g);
        if p.dctcp == Form::Linux && (shift != libm::trunc(shift) || shift > 10.0) {
            let problem = "must be 1, 1/2, 1/4 … or 1/1024 with dctcp = \"linux\"";
            return Err(ParamError::new("g", problem));
        }
        match ecn {
            Ecn::Sce if p.dctcp == Form::Linux => Err(ParamError::new("dctcp", FRACTIONS)),
            Ecn::Classic | Ecn::AccEcn | Ecn::Sce => Ok(()),
            Ecn::Off => Err(ParamError::new(
                "ecn",
                "must be \"classic\", \"accecn\" or \"sce\" with tcp = \"dctcp\", which lives on marks",
            )),
            // Nothing of DCTCP would be left: its window grows like Reno's.
            Ecn::Mecn => Err(ParamError::new(
                "ecn",
                "must be \"classic\", \"accecn\" or \"sce\" with tcp = \"dctcp\", which cuts by the \
                 fraction of marked packets; table 3 of multi-level ECN has a cut for each mark \
                 instead",
            )),
        }
    }

    fn on_ack(&mut self, a: &Acked, _w: &mut Window) {
        self.marked += a.marked_segments();
        if let Some(shift) = self.shift {
            if a.seq <= 0 {
                return; // the SYN's
            }
            self.acked += a.delivered;
            if a.seq >= self.window_end {
                let alpha = (self.alpha * ALL as f64) as u64;
                let alpha = in_integers(alpha, shift, self.marked as u64, self.acked as u64);
                self.alpha = alpha as f64 / ALL as f64;
                (self.window_end, self.acked, self.marked) = (a.max_sent, 0, 0.0);
            }
            return;
        }
        self.acked += a.newly.max(0);
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

    /// DCTCP-SCE: half of what such ACKs acknowledge. It does not end slow start: ssthresh is raised
    /// to half the window, and never lowered.
    fn on_some_congestion(&mut self, _now: Time, acked: f64, w: &mut Window) {
        w.ssthresh = w.ssthresh.max(w.cwnd / 2.0);
        w.shrink(acked / 2.0);
    }

    fn leaves(&self, c: &Cut, w: &Window) -> f64 {
        if let Some(sce) = c.abe {
            return (c.base * sce).max(2.0);
        }
        match c.cause {
            Cause::Mark | Cause::Deeper if self.shift.is_some() => {
                leaves_in_integers(w.cwnd, self.alpha)
            }
            Cause::Loss | Cause::Timeout if self.shift.is_some() => {
                libm::trunc(w.cwnd / 2.0).max(2.0)
            }
            Cause::Mark | Cause::Deeper => w.cwnd * (1.0 - self.alpha / 2.0),
            Cause::Loss | Cause::Timeout | Cause::Again => c.base * c.reno,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux: no marks, all marked, and ten of a hundred. There alpha settles at 111 from above and
    /// at 96 from below, where 102.4 would be exact; but once it is below 16, each window takes all
    /// of it, and adds 6.
    #[test]
    fn alpha_in_integers() {
        let run = |start: u64, marked: u64, n: usize| -> Vec<u64> {
            let step = |alpha: &u64| Some(in_integers(*alpha, 4, marked, 100));
            std::iter::successors(Some(start), step).take(n).collect()
        };
        let unmarked = [1024, 960, 900, 844, 792, 743, 697, 654, 614, 576, 540, 507];
        assert_eq!(run(1024, 0, 12), unmarked);
        assert_eq!(run(0, 100, 7), [0, 64, 124, 181, 234, 284, 331]);
        let falling = run(1024, 10, 300);
        assert_eq!(falling[..5], [1024, 966, 912, 861, 814]);
        assert_eq!((falling[60], falling[299]), (124, 111));
        assert_eq!((run(16, 10, 300)[299], run(15, 10, 300)[299]), (96, 6));
    }

    #[test]
    fn cuts_in_integers() {
        for (alpha, left) in [(1024, 50.0), (960, 54.0), (512, 75.0), (102, 96.0), (20, 100.0)] {
            assert_eq!(leaves_in_integers(100.0, f64::from(alpha) / 1024.0), left, "{alpha}");
        }
        assert_eq!(leaves_in_integers(2.0, 1.0), 2.0);
    }

    /// Linux: a window is what was out when the last one ended. Of four segments two are marked.
    #[test]
    fn linuxs_windows() {
        let mut d = Dctcp::new(&DctcpParams { dctcp: Form::Linux, ..DctcpParams::default() });
        let w = &mut Window { cwnd: 4.0, ssthresh: 4.0 };
        let mut alphas = vec![];
        for (seq, newly, marked, max_sent) in
            [(0, 1, 0, 0), (1, 1, 0, 4), (3, 2, 2, 7), (4, 1, 0, 8), (8, 4, 0, 12)]
        {
            d.on_ack(&Acked { marked, max_sent, ..Acked::of(Time::ZERO, seq, newly) }, w);
            alphas.push((d.alpha * 1024.0) as u64);
        }
        // 1024 · 15/16 = 960; 900 + 64 · 2/3 = 942; 942 − 58 = 884.
        assert_eq!(alphas, [1024, 960, 960, 942, 884]);
    }

    /// Windows of four segments, g = 1/16: alpha = 1, 15/16 + 1/16 · 0, … Powers of two, so `==` is
    /// exact.
    #[test]
    fn alpha_moves_once_per_window() {
        let mut d = Dctcp::new(&DctcpParams::default());
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
            let mut d = Dctcp::new(&DctcpParams { g: 0.5, ..DctcpParams::default() });
            let a = Acked { marked: 8, marked_bytes, ..Acked::of(Time::ZERO, 8, 8) };
            d.on_ack(&a, &mut Window { cwnd: 4.0, ssthresh: 4.0 });
            assert_eq!(d.alpha, alpha, "{marked_bytes:?}");
        }
    }
}
