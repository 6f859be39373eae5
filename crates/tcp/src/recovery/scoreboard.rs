//! The scoreboard holds what a sender knows from selective acknowledgements, and chooses the next
//! segment from that. RFC 6675; with `loss_recovery = "ns-2"` the pipe of Fall and Floyd.

use crate::segment::{Ack, Block};

/// A segment is lost once this many above it have arrived (DupThresh).
pub(crate) const DUP_THRESH: i64 = 3;

/// The segments that the receiver has reported above the cumulative ACK: disjoint blocks,
/// ascending. There are few, however large the window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    blocks: Vec<Block>,
}

impl Scoreboard {
    /// Takes a block in. Returns whether it brought news.
    pub(crate) fn add(&mut self, b: Block) -> bool {
        if b.left >= b.right {
            return false;
        }
        // Most news is of the highest block, or above it.
        let above = match self.blocks.last_mut() {
            None => true,
            Some(last) if b.left > last.right => true,
            Some(last) if b.left >= last.left => {
                let news = b.right > last.right;
                last.right = last.right.max(b.right);
                return news;
            }
            Some(_) => false,
        };
        if above {
            self.blocks.push(b);
            return true;
        }
        // First block that touches or follows `b`; first that begins beyond it.
        let from = self.blocks.partition_point(|x| x.right < b.left);
        let to = self.blocks.partition_point(|x| x.left <= b.right);
        if from == to {
            self.blocks.insert(from, b);
            return true;
        }
        let merged = Block {
            left: b.left.min(self.blocks[from].left),
            right: b.right.max(self.blocks[to - 1].right),
        };
        if to - from == 1 && self.blocks[from] == merged {
            return false;
        }
        self.blocks[from] = merged;
        self.blocks.drain(from + 1..to);
        true
    }

    /// Everything up to and including `seq` is acknowledged.
    pub(crate) fn acknowledge(&mut self, seq: i64) {
        if self.blocks.first().is_some_and(|first| first.right <= seq + 1) {
            let gone = self.blocks.partition_point(|x| x.right <= seq + 1);
            self.blocks.drain(..gone);
        }
        if let Some(first) = self.blocks.first_mut() {
            first.left = first.left.max(seq + 1);
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
    }

    /// Returns one past the highest segment reported.
    fn high(&self) -> Option<i64> {
        self.blocks.last().map(|b| b.right)
    }

    /// Returns the lowest unreported segment from `seq` on that lies below a reported one.
    fn hole(&self, seq: i64) -> Option<i64> {
        let mut hole = seq;
        for b in &self.blocks {
            if hole < b.left {
                return Some(hole);
            }
            hole = hole.max(b.right);
        }
        None
    }

    /// Returns how many segments up to and including `seq` were reported.
    fn reported_to(&self, seq: i64) -> i64 {
        self.blocks
            .iter()
            .take_while(|b| b.left <= seq)
            .map(|b| b.right.min(seq + 1) - b.left)
            .sum()
    }

    /// Returns the segment below which unreported ones are lost: at least DupThresh were reported
    /// above them (RFC 6675, IsLost).
    pub(crate) fn lost_below(&self) -> Option<i64> {
        let mut need = DUP_THRESH;
        for b in self.blocks.iter().rev() {
            let n = b.right - b.left;
            if n >= need {
                return Some(b.right - need);
            }
            need -= n;
        }
        None
    }

    /// Returns the segment at which to go on sending: past `seq` where it has been reported.
    pub(crate) fn skip(&self, seq: i64) -> i64 {
        if let Some(last) = self.blocks.last().filter(|last| last.left <= seq) {
            return seq.max(last.right);
        }
        let i = self.blocks.partition_point(|b| b.right <= seq);
        self.blocks.get(i).filter(|b| b.left <= seq).map_or(seq, |b| b.right)
    }
}

/// The position of a sender, as far as repairs care.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edges {
    pub(crate) highest_ack: i64,
    /// The next new segment.
    pub(crate) next: i64,
    /// One past the last segment that the application has given.
    pub(crate) limit: i64,
    /// The highest segment within the receiver's window.
    pub(crate) edge: i64,
}

/// The segments that ACKs have reported, and those that have been sent again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports {
    pub(crate) board: Scoreboard,
    /// ns-2: segments believed to be on the path.
    pub(crate) pipe: i64,
    /// The highest segment sent again in this recovery (HighRxt).
    pub(crate) high_rxt: i64,
}

impl Reports {
    /// Takes the ACK's blocks in. Returns whether they or the cumulative ACK brought news.
    pub(crate) fn update(&mut self, ack: &Ack, highest_ack: i64) -> bool {
        let mut news = ack.seq > highest_ack;
        self.board.acknowledge(highest_ack.max(ack.seq));
        for b in &ack.blocks[..usize::from(ack.n_blocks)] {
            let left = b.left.max(highest_ack + 1);
            news |= self.board.add(Block { left, right: b.right });
        }
        news
    }

    /// Returns the segments believed to be on the path (RFC 6675, SetPipe). `counted`: ns-2 counts
    /// them.
    pub(crate) fn pipe(&self, counted: bool, highest_ack: i64, max_sent: i64) -> i64 {
        if counted {
            return self.pipe;
        }
        let board = &self.board;
        let unreported = |from: i64, to: i64| {
            // among (from, to]
            (to - from).max(0) - (board.reported_to(to) - board.reported_to(from)).max(0)
        };
        let lost = board.lost_below().unwrap_or(highest_ack + 1).max(highest_ack + 1);
        let rxt = self.high_rxt.min(max_sent);
        unreported(lost - 1, max_sent) + unreported(highest_ack, rxt)
    }

    /// Returns what recovery sends next: a hole not yet sent again (rule 1), else new data (2),
    /// else any hole (3). RFC 6675, NextSeg.
    pub(crate) fn next(&mut self, counted: bool, at: &Edges) -> Option<i64> {
        let after = self.high_rxt.max(at.highest_ack) + 1;
        let hole = self.board.hole(after).filter(|h| self.board.high().is_some_and(|r| *h < r));
        let lost = |h: &i64| counted || self.board.lost_below().is_some_and(|l| *h < l);
        if let Some(h) = hole.filter(lost) {
            if h > at.edge {
                return None;
            }
            self.high_rxt = h;
            return Some(h);
        }
        if at.next <= at.edge && at.next < at.limit {
            return Some(at.next);
        }
        let h = hole?;
        self.high_rxt = h;
        Some(h)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(blocks: &[(i64, i64)]) -> Scoreboard {
        let mut b = Scoreboard::default();
        for (left, right) in blocks {
            b.add(Block { left: *left, right: *right });
        }
        b
    }

    #[test]
    fn blocks_merge() {
        let mut b = board(&[(5, 7), (9, 11), (20, 21)]);
        assert!(!b.add(Block { left: 5, right: 6 }), "nothing new");
        assert!(b.add(Block { left: 7, right: 9 }));
        assert_eq!(b.blocks, [Block { left: 5, right: 11 }, Block { left: 20, right: 21 }]);
        assert_eq!((b.hole(3), b.hole(5), b.hole(21)), (Some(3), Some(11), None));
        assert_eq!((b.reported_to(4), b.reported_to(8), b.reported_to(30)), (0, 4, 7));
        b.acknowledge(8);
        assert_eq!(b.blocks[0], Block { left: 9, right: 11 });
        assert_eq!((b.skip(9), b.skip(11)), (11, 11));
    }

    /// IsLost: at least three reported above.
    #[test]
    fn lost_below_the_third_highest_report() {
        for (blocks, want) in [
            (vec![], None),
            (vec![(5, 7)], None),
            (vec![(5, 8)], Some(5)),
            (vec![(5, 6), (8, 10)], Some(5)),
            (vec![(2, 6), (8, 9)], Some(4)),
        ] {
            assert_eq!(board(&blocks).lost_below(), want, "{blocks:?}");
        }
    }
}
