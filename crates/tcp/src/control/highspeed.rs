//! HighSpeed TCP, RFC 3649: at large windows additive increase is steeper and multiplicative
//! decrease shallower than Reno's, so that losses may be as rare as they are on a fast path.
//!
//! Section 5, with W = Low_Window, W_1 = High_Window, P_1 = High_P, P the rate of drops at which
//! Reno's window is W, by its response function w = 1.2/√p:
//!
//! p(w) = P (w/W)^(1/S), where S = (log W_1 − log W)/(log P_1 − log P),
//! b(w) = (High_Decrease − 0.5) (log w − log W)/(log W_1 − log W) + 0.5,
//! a(w) = w² p(w) 2 b(w)/(2 − b(w)).
//!
//! Up to Low_Window it is Reno. The appendix's table rounds a(w) to whole segments. Readings: a(w)
//! is never below Reno's 1 (at 38 the formula gives 0.96, the table 1), nor above w, slow start's
//! step. Beyond High_Window b(w) stays at High_Decrease, where the formula would go on to 0, and
//! p(w) goes on falling. The new slow start of RFC 3742 is left out.
//!
//! `highspeed = "linux"` is `tcp_highspeed.c`: the rows of the appendix's table, of which a window
//! takes the first that is not below it, and a(w)/w for each ACK, whatever it covers. With delayed
//! ACKs that is little more than half of a(w) per round trip.

use crate::control::algorithm::{CongestionControl, Cut, Growth};
use crate::control::hystart::HyStartParams;
use crate::control::variant::{Form, VariantInfo, VARIANT};
use crate::control::window::Window;
use crate::ecn::bits::Ecn;
use crate::recovery::kind::Recovery;
use penstock_units::param::{num, num_open, ParamError};

penstock_units::params! {
    /// HighSpeed's response function.
    pub struct HighSpeedParams: Default {
        /// HighSpeed is Reno up to this window.
        pub low_window: f64 {
            ty: num(2.0, 1e9),
            unit: "segments",
            default: 38,
            source: "RFC 3649 5",
        },
        /// The window that HighSpeed reaches at a drop rate of high_p.
        pub high_window: f64 {
            ty: num(2.0, 1e9),
            unit: "segments",
            default: 83000,
            source: "RFC 3649 5",
        },
        /// The drop rate at which HighSpeed's window is high_window.
        pub high_p: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 0.0000001,
            source: "RFC 3649 5",
        },
        /// The part of the window that a loss takes at high_window; 0.5 up to low_window.
        pub high_decrease: f64 {
            ty: num_open(0.0, 0.5),
            unit: "1",
            default: 0.1,
            source: "RFC 3649 5",
        },
        /// Whose HighSpeed: RFC 3649's formulas, or Linux's, with the steps of the RFC's table, whole
        /// windows after a cut, and one step for each ACK.
        pub highspeed: Form {
            default: "rfc",
            linux: "linux",
            quiet: true,
            source: "RFC 3649 5 and B; Linux 6.x tcp_highspeed.c",
        },
    }
}

/// RFC 3649, appendix B: row n is the last window at which a(w) is n + 1 in Linux. Made by the rule
/// that the appendix gives.
const TABLE: [u32; 73] = [
    38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778,
    4177, 4596, 5036, 5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082,
    12834, 13614, 14424, 15265, 16137, 17042, 17981, 18955, 19965, 21013, 22101, 23230, 24402,
    25618, 26881, 28193, 29557, 30975, 32450, 33986, 35586, 37253, 38992, 40808, 42707, 44694,
    46776, 48961, 51258, 53677, 56230, 58932, 61799, 64851, 68113, 71617, 75401, 79517, 84035,
    89053, 94717,
];

pub(crate) const INFO: VariantInfo = VariantInfo {
    name: "highspeed",
    doc: "Reno up to 38 segments; above, steps grow and cuts shrink with the window, for fast \
          paths with few losses.",
    source: "RFC 3649",
    own: &[HighSpeedParams::TABLE, HyStartParams::TABLE, Recovery::TABLE],
    linux: Some("highspeed"),
    ..VARIANT
};

/// The state that HighSpeed keeps: the constants of its response function.
#[derive(Clone, Debug)]
pub(crate) struct HighSpeed {
    p: HighSpeedParams,
    /// log W and log W_1 − log W.
    log_low: f64,
    log_range: f64,
    /// Reno's rate of drops at Low_Window.
    low_p: f64,
    /// 1/S.
    slope: f64,
    /// `highspeed = "linux"`: the row of the table.
    row: Option<usize>,
}

/// The rate of drops at which Reno's window is `w`: w = 1.2/√p.
fn reno_p(w: f64) -> f64 {
    1.44 / (w * w)
}

impl HighSpeed {
    /// (log w − log W)/(log W_1 − log W), within [0, 1].
    fn decades(&self, w: f64) -> f64 {
        ((libm::log(w) - self.log_low) / self.log_range).clamp(0.0, 1.0)
    }

    /// b(w): the part of the window that a loss takes.
    fn b(&self, w: f64) -> f64 {
        (self.p.high_decrease - 0.5) * self.decades(w) + 0.5
    }

    /// a(w): segments per round trip.
    fn a(&self, w: f64) -> f64 {
        if w <= self.p.low_window {
            return 1.0;
        }
        let p = self.low_p * libm::pow(w / self.p.low_window, self.slope);
        let b = self.b(w);
        (w * w * p * 2.0 * b / (2.0 - b)).clamp(1.0, w)
    }

    /// Linux: moves from `row` to that of a window of `w` segments.
    fn row_of(mut row: usize, w: f64) -> usize {
        while row + 1 < TABLE.len() && w > f64::from(TABLE[row]) {
            row += 1;
        }
        while row > 0 && w <= f64::from(TABLE[row - 1]) {
            row -= 1;
        }
        row
    }

    /// Linux: what a cut leaves, with b(w) of the row in 1/256.
    fn leaves_in_integers(&self, row: usize, cwnd: f64) -> f64 {
        let decades = (libm::log(f64::from(TABLE[row])) - self.log_low) / self.log_range;
        let takes = (256.0 * (0.5 - 0.4 * decades)) as u64;
        let cwnd = cwnd as u64;
        (cwnd - ((cwnd * takes) >> 8)).max(2) as f64
    }
}

impl CongestionControl for HighSpeed {
    type Params = HighSpeedParams;

    fn new(p: &HighSpeedParams) -> Self {
        let low_p = reno_p(p.low_window);
        let log_range = libm::log(p.high_window) - libm::log(p.low_window);
        HighSpeed {
            log_low: libm::log(p.low_window),
            log_range,
            low_p,
            slope: (libm::log(p.high_p) - libm::log(low_p)) / log_range,
            row: (p.highspeed == Form::Linux).then_some(0),
            p: p.clone(),
        }
    }

    fn check(p: &HighSpeedParams, _ecn: Ecn) -> Result<(), ParamError> {
        if p.low_window >= p.high_window {
            let problem = format!("must be below high_window ({})", p.high_window);
            return Err(ParamError::new("low_window", problem));
        }
        let reno = reno_p(p.low_window);
        if p.high_p >= reno {
            let problem = format!("must be below Reno's rate of drops at low_window ({reno})");
            return Err(ParamError::new("high_p", problem));
        }
        if p.highspeed == Form::Linux {
            let own = HighSpeedParams { highspeed: p.highspeed, ..HighSpeedParams::default() };
            if *p != own {
                let problem = "must be \"rfc\" unless low_window, high_window, high_p and \
                               high_decrease have their defaults: Linux's table stands for those";
                return Err(ParamError::new("highspeed", problem));
            }
        }
        Ok(())
    }

    fn avoid(&mut self, g: &Growth, cwnd: f64) -> f64 {
        if let Some(row) = self.row {
            let row = HighSpeed::row_of(row, cwnd);
            self.row = Some(row);
            return cwnd + (row + 1) as f64 / cwnd;
        }
        cwnd + self.a(cwnd) * g.acked / cwnd
    }

    fn leaves(&self, c: &Cut, w: &Window) -> f64 {
        match self.row {
            Some(row) => self.leaves_in_integers(row, w.cwnd),
            None => c.base * (1.0 - self.b(w.cwnd)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::{RttEstimator, RttParams};
    use penstock_units::{Duration, Time};

    fn near(got: f64, want: f64) {
        assert!((got / want - 1.0).abs() < 1e-3, "{got}, should be {want}");
    }

    fn highspeed() -> HighSpeed {
        HighSpeed::new(&HighSpeedParams::default())
    }

    /// P = 1.44/38² = 9.9723e-4; log(83000/38) = 7.68905; 1/S = log(1e-7/P)/7.68905 = −1.19748.
    ///
    /// w = 1000: log(1000/38)/7.68905 = 0.42536, so b = 0.5 − 0.4 · 0.42536 = 0.32986; p = P ·
    /// 26.3158^−1.19748 = 1.9866e-5; a = 1e6 · 1.9866e-5 · 2 · 0.32986/1.67014 = 7.8473.
    ///
    /// w = 83000: p = 1e-7, b = 0.1, a = 688.9 · 0.2/1.9 = 72.516.
    #[test]
    fn the_response_function_by_hand() {
        let h = highspeed();
        near(h.slope, -1.197_48);
        for (w, a, b) in [(1000.0, 7.8473, 0.329_86), (83_000.0, 72.516, 0.1)] {
            near(h.a(w), a);
            near(h.b(w), b);
        }
    }

    #[test]
    fn reno_up_to_low_window() {
        let h = highspeed();
        for w in [1.0, 10.0, 38.0] {
            assert_eq!((h.a(w), h.b(w)), (1.0, 0.5), "{w}");
        }
    }

    /// Linux's integers: a(38) = 1, a(39) = a(118) = 2, a(119) = 3; the row follows the window down
    /// as well. At 100 segments b is that of 118, 0.44105: 112/256, of which 100 leave 57.
    #[test]
    fn rows_of_the_table_in_integers() {
        for (w, row) in [(2.0, 0), (38.0, 0), (39.0, 1), (118.0, 1), (119.0, 2), (1e6, 72)] {
            assert_eq!((HighSpeed::row_of(0, w), HighSpeed::row_of(72, w)), (row, row), "{w}");
        }
        let h = highspeed();
        for (row, cwnd, left) in [(0, 30.0, 15.0), (1, 100.0, 57.0), (72, 100_000.0, 91016.0)] {
            assert_eq!(h.leaves_in_integers(row, cwnd), left, "{cwnd}");
        }
    }

    /// Linux: an ACK of two segments is a step, and so is one of one.
    #[test]
    fn linux_takes_a_step_for_each_ack() {
        let p = HighSpeedParams { highspeed: Form::Linux, ..HighSpeedParams::default() };
        let (mut h, rtt_params) = (HighSpeed::new(&p), RttParams::default());
        let rtt = RttEstimator::new(&rtt_params, Duration::ZERO);
        for acked in [1.0, 2.0] {
            let g = Growth::of(Time::ZERO, acked, &rtt, &rtt_params);
            assert_eq!(h.avoid(&g, 100.0), 100.02);
        }
    }

    /// Rows of the appendix's table, which rounds: a(w) is the next whole segment there, b(w) has
    /// two digits.
    #[test]
    fn within_rounding_of_the_table() {
        let h = highspeed();
        for (w, a, b) in [
            (118.0, 2.0, 0.44),
            (221.0, 3.0, 0.41),
            (495.0, 5.0, 0.37),
            (1058.0, 8.0, 0.33),
            (1529.0, 10.0, 0.31),
        ] {
            assert!((h.a(w) - a).abs() < 0.2, "a({w}) = {}, in the table {a}", h.a(w));
            assert!((h.b(w) - b).abs() < 0.006, "b({w}) = {}, in the table {b}", h.b(w));
        }
    }
}
