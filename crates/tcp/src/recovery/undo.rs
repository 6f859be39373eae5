//! A cut is taken back when it turns out that nothing was lost: each retransmission since then was
//! reported to have arrived twice (RFC 3708; RFC 2883's DSACK), as Linux counts them. F-RTO (RFC
//! 5682), which looks at the first ACKs after a timeout, stands with RACK's timers. A cut on an ACK
//! that also tells of a mark stays.

use crate::segment::Block;

/// The last cut, as long as it may be taken back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Undo {
    /// The first segment outstanding at the cut.
    pub(crate) since: Option<i64>,
    /// Retransmissions that no DSACK has answered; `None` before the first.
    again: Option<u64>,
    /// cwnd and ssthresh before it.
    pub(crate) window: Option<(f64, f64)>,
}

impl Undo {
    /// A cut, with the window before it, where it may be taken back. `again`: retransmissions
    /// outstanding.
    pub(crate) fn begin(&mut self, since: i64, again: u64, window: Option<(f64, f64)>) {
        *self = Undo { since: Some(since), again: (again > 0).then_some(again), window };
    }

    /// The last cut stays.
    pub(crate) fn none(&mut self) {
        *self = Undo::default();
    }

    /// A segment was sent again.
    pub(crate) fn resent(&mut self) {
        self.again = Some(self.again.unwrap_or(0) + 1);
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
        undo.resent();
        undo.resent();
        for (left, due) in [(8, false), (10, false), (12, true)] {
            undo.on_dsack(Block { left, right: left + 1 });
            assert_eq!(undo.is_due(), due, "{left}");
        }
        undo.begin(10, 1, None);
        assert!(!undo.is_due());
    }
}
