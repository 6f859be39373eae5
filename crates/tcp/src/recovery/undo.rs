//! A cut is taken back when it turns out that nothing was lost: each retransmission since then was
//! reported to have arrived twice (RFC 3708; RFC 2883's DSACK), as Linux counts them. F-RTO (RFC
//! 5682), which looks at the first ACKs after a timeout, stands with RACK's timers. With timestamps an
//! ACK that returns an earlier one than that of the first retransmission answers the original
//! (Eifel, RFC 3522). A cut on an ACK that also tells of a mark stays.

use crate::segment::Block;
use crate::stamp::Stamp;

/// The last cut, as long as it may be taken back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    /// The first segment outstanding at the cut.
    pub(crate) since: Option<i64>,
    /// Retransmissions that no DSACK has answered; `None` before the first.
    again: Option<u64>,
    /// cwnd and ssthresh before it.
    pub(crate) window: Option<(f64, f64)>,
    /// The timestamp of the first retransmission since nothing was being repaired.
    first: Stamp,
}

impl Default for Undo {
    fn default() -> Self {
        Undo { since: None, again: None, window: None, first: Stamp::NONE }
    }
}

impl Undo {
    /// A cut, with the window before it, where it may be taken back. `again`: retransmissions
    /// outstanding.
    pub(crate) fn begin(&mut self, since: i64, again: u64, window: Option<(f64, f64)>) {
        let again = (again > 0).then_some(again);
        *self = Undo { since: Some(since), again, window, first: self.first };
    }

    /// The last cut stays.
    pub(crate) fn none(&mut self) {
        *self = Undo::default();
    }

    /// Nothing is being repaired.
    pub(crate) fn calm(&mut self) {
        self.first = Stamp::NONE;
    }

    /// A segment was sent again.
    pub(crate) fn resent(&mut self, stamp: Stamp) {
        self.again = Some(self.again.unwrap_or(0) + 1);
        if self.first == Stamp::NONE {
            self.first = stamp;
        }
    }

    /// Whether an ACK of new data that returns `echo` answers an original, and not what was sent
    /// again since the cut.
    pub(crate) fn is_original(&self, echo: Stamp) -> bool {
        self.since.is_some() && echo.predates(self.first)
    }

    /// A block of segments arrived twice.
    pub(crate) fn on_dsack(&mut self, block: Block) {
        if let (Some(since), Some(again)) = (self.since, &mut self.again) {
            if block.right > since {
                *again = again.saturating_sub((block.right - block.left) as u64);
            }
        }
    }

    /// Whether the cut was for nothing.
    pub(crate) fn is_due(&self) -> bool {
        self.since.is_some() && self.again == Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two are sent again. A DSACK of an earlier segment is none of theirs.
    #[test]
    fn each_retransmission_is_answered() {
        let mut undo = Undo::default();
        undo.begin(10, 0, Some((20.0, 30.0)));
        assert!(!undo.is_due(), "nothing was sent again");
        undo.resent(Stamp::NONE);
        undo.resent(Stamp::NONE);
        for (left, due) in [(8, false), (10, false), (12, true)] {
            undo.on_dsack(Block { left, right: left + 1 });
            assert_eq!(undo.is_due(), due, "{left}");
        }
        undo.begin(10, 1, None);
        assert!(!undo.is_due());
    }

    /// Eifel: sent again at 100 and at 150 ms. An ACK that returns 99 ms answers an original.
    #[test]
    fn an_echo_from_before_the_first_retransmission() {
        let at = |ms: u64| {
            let tick = penstock_units::Duration::from_millis(1);
            Stamp::of(penstock_units::Time::from_nanos(ms * 1_000_000), tick)
        };
        let mut undo = Undo::default();
        assert!(!undo.is_original(at(99)), "no cut");
        undo.begin(10, 0, None);
        assert!(!undo.is_original(at(99)), "nothing was sent again");
        undo.resent(at(100));
        undo.resent(at(150));
        assert!(undo.is_original(at(99)) && !undo.is_original(at(100)));
        undo.begin(12, 1, None);
        assert!(!undo.is_original(at(120)), "a timeout in the recovery");
        undo.calm();
        undo.begin(20, 0, None);
        undo.resent(at(200));
        assert!(undo.is_original(at(120)));
        assert!(!undo.is_original(Stamp::NONE));
    }
}
