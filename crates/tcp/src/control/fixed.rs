//! A window that stays where it is set: what a controller outside of the sender moves, while the
//! simulation runs.
//!
//! Nothing that the network tells changes it. A loss and a mark are repaired and answered as far as
//! the protocol asks, and leave the window alone; after a timeout one segment is sent, and the
//! window is back with the next ACK. Without a controller it is a flow of the window-limited kind
//! whose rate is the window over the round trip.

use crate::control::algorithm::{Cause, CongestionControl, Cut, Growth};
use crate::control::variant::{VariantInfo, VARIANT};
use crate::control::window::Window;
use crate::recovery::kind::Recovery;
use penstock_units::param::num;
use penstock_units::Duration;

penstock_units::params! {
    /// The window.
    pub struct FixedParams: Default {
        /// The congestion window, until somebody sets another one.
        pub fixed_window: f64 {
            ty: num(1.0, 1e9),
            unit: "segments",
            default: 10,
            source: "RFC 6928: the initial window",
        },
    }
}

pub(crate) const INFO: VariantInfo = VariantInfo {
    name: "fixed",
    doc: "The window stays where it is set: in the file, or by a controller outside while the \
          simulation runs. Losses and marks do not change it.",
    source: "Penstock: for controllers of the user's own",
    own: &[FixedParams::TABLE, Recovery::TABLE],
    ..VARIANT
};

/// What stays.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    window: f64,
    /// The time from one segment to the next, where they are paced.
    gap: Option<Duration>,
}

impl Fixed {
    /// The window, and the time from one segment to the next, are others from now on.
    pub(crate) fn set(&mut self, window: f64, gap: Option<Duration>, w: &mut Window) {
        (self.window, self.gap) = (window, gap);
        self.hold(w);
    }

    fn hold(&self, w: &mut Window) {
        (w.cwnd, w.ssthresh) = (self.window, self.window.max(2.0));
    }
}

impl CongestionControl for Fixed {
    type Params = FixedParams;
    const PACES: bool = true;

    fn new(p: &FixedParams) -> Self {
        Fixed { window: p.fixed_window, gap: None }
    }

    fn grow(&mut self, _: &Growth<'_>, w: &mut Window) {
        self.hold(w);
    }

    fn on_cut(&mut self, c: &Cut, w: &mut Window) {
        self.hold(w);
        if matches!(c.cause, Cause::Timeout | Cause::Again) {
            w.cwnd = 1.0;
        }
    }

    fn on_level(&mut self, _: f64, c: &Cut, w: &mut Window) {
        self.on_cut(c, w);
    }

    fn pacing(&self, _: &Window) -> Option<Duration> {
        self.gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::{RttEstimator, RttParams};
    use penstock_units::Time;

    /// 20 segments: a loss and a mark leave them alone; after a timeout one is sent, and the next ACK
    /// brings them back. Then 7 are set.
    #[test]
    fn the_window_stays_where_it_is_set() {
        let (p, rtt) =
            (RttParams::default(), RttEstimator::new(&RttParams::default(), Duration::ZERO));
        let mut fixed = Fixed::new(&FixedParams { fixed_window: 20.0 });
        let mut w = Window { cwnd: 1.0, ssthresh: f64::INFINITY };
        fixed.grow(&Growth::of(Time::ZERO, 1.0, &rtt, &p), &mut w);
        assert_eq!(w.cwnd, 20.0);
        for (cause, left) in
            [(Cause::Loss, 20.0), (Cause::Mark, 20.0), (Cause::Timeout, 1.0), (Cause::Again, 1.0)]
        {
            let cut = Cut { cause, base: 20.0, reno: 0.5, abe: None, floor: 1.0, whole: false };
            fixed.on_cut(&cut, &mut w);
            assert_eq!(w.cwnd, left, "{cause:?}");
            fixed.grow(&Growth::of(Time::ZERO, 1.0, &rtt, &p), &mut w);
            assert_eq!(w.cwnd, 20.0, "{cause:?}");
        }
        fixed.set(7.0, None, &mut w);
        assert_eq!((w.cwnd, w.ssthresh), (7.0, 7.0));
    }
}
