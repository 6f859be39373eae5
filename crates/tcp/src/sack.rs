//! SACK-based loss recovery, RFC 2018 and RFC 6675; with `loss_recovery = "ns-2"` the earlier pipe
//! algorithm of Fall and Floyd, "Simulation-based comparisons of Tahoe, Reno, and SACK TCP", 1996,
//! as ns-2 2.35 has it.

use crate::sender::Cut;
use crate::{Ack, Block, Io, Sender};
use penstock_units::Time;

/// A segment is lost once this many above it have arrived (DupThresh).
const DUP_THRESH: i64 = 3;

/// What the receiver has reported above the cumulative ACK: disjoint blocks, ascending. A few,
/// whatever the window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    blocks: Vec<Block>,
}

impl Scoreboard {
    /// Takes a block in; whether it brought news.
    fn add(&mut self, b: Block) -> bool {
        if b.left >= b.right {
            return false;
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
    fn acknowledge(&mut self, seq: i64) {
        let gone = self.blocks.partition_point(|x| x.right <= seq + 1);
        self.blocks.drain(..gone);
        if let Some(first) = self.blocks.first_mut() {
            first.left = first.left.max(seq + 1);
        }
    }

    fn clear(&mut self) {
        self.blocks.clear();
    }

    /// One past the highest segment reported.
    fn high(&self) -> Option<i64> {
        self.blocks.last().map(|b| b.right)
    }

    /// The lowest unreported segment from `seq` on that lies below a reported one.
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

    /// Reported segments among those up to and including `seq`.
    fn reported_to(&self, seq: i64) -> i64 {
        self.blocks
            .iter()
            .take_while(|b| b.left <= seq)
            .map(|b| b.right.min(seq + 1) - b.left)
            .sum()
    }

    /// Unreported segments below this one have at least DupThresh reported above them: they are
    /// lost (RFC 6675, IsLost).
    fn lost_below(&self) -> Option<i64> {
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

    /// The segment at which to go on sending: past `seq` where it has been reported.
    fn skip(&self, seq: i64) -> i64 {
        self.blocks.iter().find(|b| b.left <= seq && seq < b.right).map_or(seq, |b| b.right)
    }
}

/// What SACK keeps beside the common state.
#[derive(Clone, Debug, Default)]
pub(crate) struct SackState {
    board: Scoreboard,
    /// ns-2: segments believed to be on the path.
    pipe: i64,
    /// The highest segment sent again in this recovery (HighRxt).
    high_rxt: i64,
    /// ns-2: no duplicates are counted between a timeout and the next new ACK.
    after_timeout: bool,
}

impl Sender {
    /// Takes the ACK's blocks in; whether they or the cumulative ACK brought news.
    fn update_board(&mut self, ack: &Ack) -> bool {
        let mut news = ack.seq > self.highest_ack;
        self.sack.board.acknowledge(self.highest_ack.max(ack.seq));
        for b in &ack.blocks[..usize::from(ack.n_blocks)] {
            let left = b.left.max(self.highest_ack + 1);
            news |= self.sack.board.add(Block { left, right: b.right });
        }
        news
    }

    pub(crate) fn sack_ack(&mut self, now: Time, ack: &Ack, io: &mut impl Io) {
        self.ecn_echo(now, ack);
        if self.in_recovery {
            self.sack_in_recovery(now, ack, io);
        } else {
            self.sack_normal(now, ack, io);
        }
    }

    fn sack_normal(&mut self, now: Time, ack: &Ack, io: &mut impl Io) {
        if ack.seq > self.last_ack {
            self.first_partial = false;
            self.new_ack(now, ack);
            self.sack.after_timeout = false;
            if self.p.ns2_recovery || self.p.go_back_n {
                self.sack.board.clear();
            } else {
                self.update_board(ack);
            }
        } else if ack.seq == self.last_ack && !self.sack.after_timeout {
            // Only an ACK that reports something new is a duplicate (RFC 6675, section 2).
            if self.update_board(ack) {
                self.dupacks += 1;
                let lost = !self.p.ns2_recovery
                    && self.sack.board.lost_below().is_some_and(|l| self.highest_ack + 1 < l);
                if self.dupacks == 3 || (self.dupacks < 3 && lost) {
                    self.dupacks = 3;
                    self.sack_enter(now, io);
                } else if self.dupacks < 3 && self.p.limited_transmit {
                    self.send_one(now, io);
                }
            }
        }
        if ack.seq >= self.last_ack && self.dupacks == 0 {
            self.send_window(now, io);
        }
    }

    fn sack_enter(&mut self, now: Time, io: &mut impl Io) {
        let new_event = self.highest_ack > self.recover || self.highest_ack == 0;
        if new_event {
            self.recover = self.max_sent;
        } else if self.last_cut != Cut::Ecn {
            return;
        }
        self.sack.pipe = self.max_sent - self.highest_ack - DUP_THRESH;
        self.restart_timer(now, false);
        self.in_recovery = true;
        self.sack.high_rxt = self.highest_ack + 1;
        if new_event {
            self.cut_for_loss();
        }
        self.last_cut = Cut::DupAcks;
        self.count_fast_retransmit();
        self.output(now, self.last_ack + 1, io);
        if !self.p.ns2_recovery {
            self.send_window(now, io); // RFC 6675 5 (4.3): what the pipe allows
        }
    }

    fn sack_in_recovery(&mut self, now: Time, ack: &Ack, io: &mut impl Io) {
        let valid = ack.seq >= self.last_ack;
        self.sack.pipe -= 1;
        if ack.seq >= self.recover {
            self.in_recovery = false;
            if self.p.ns2_recovery {
                self.recover = 0;
            }
            self.advance(now, ack);
            self.sack.after_timeout = false;
            self.sack.board.clear();
        } else if ack.seq > self.highest_ack {
            self.update_board(ack);
            // ns-2 moves highest_ack alone; the left edge of the window waits for the end of
            // recovery.
            self.highest_ack = ack.seq;
            self.sack.pipe -= 1;
            self.set_timer(now);
            self.end_back_off();
            if !self.p.ns2_recovery {
                self.advance_partially(ack);
            }
        } else if !self.sack.after_timeout && self.update_board(ack) && self.dupacks > 0 {
            self.dupacks += 1;
        }
        if valid {
            self.send_window(now, io);
        }
    }

    pub(crate) fn sack_timeout(&mut self) {
        self.sack.after_timeout = self.p.ns2_recovery;
        self.last_ack = self.last_ack.max(self.highest_ack);
        if self.p.go_back_n {
            // RFC 2018, section 8: the receiver may have reneged, so a timeout forgets what it
            // reported.
            self.sack.board.clear();
        }
    }

    /// RFC 6675 SetPipe: segments believed to be on the path.
    fn pipe(&self) -> i64 {
        if self.p.ns2_recovery {
            return self.sack.pipe;
        }
        let board = &self.sack.board;
        let base = self.highest_ack;
        let unreported = |from: i64, to: i64| {
            // among (from, to]
            (to - from).max(0) - (board.reported_to(to) - board.reported_to(from)).max(0)
        };
        let lost = board.lost_below().unwrap_or(base + 1).max(base + 1);
        let rxt = self.sack.high_rxt.min(self.max_sent);
        unreported(lost - 1, self.max_sent) + unreported(base, rxt)
    }

    /// Sends what the window (outside recovery) or the pipe (inside) allows.
    pub(crate) fn sack_send(&mut self, now: Time, force: bool, io: &mut impl Io) {
        loop {
            let open = if self.in_recovery {
                self.pipe() < self.cwnd as i64
            } else {
                self.next <= self.last_ack + self.window()
            };
            if !open || self.last_ack + 1 >= self.limit || self.delay_send(now, force, io) {
                return;
            }
            let Some(seq) = self.sack_next() else { return };
            self.output(now, seq, io);
            self.next = self.next.max(seq + 1);
            self.sack.pipe += 1;
        }
    }

    /// RFC 6675 NextSeg: a hole not yet sent again (rule 1), else new data (2), else any hole (3).
    fn sack_next(&mut self) -> Option<i64> {
        if !self.in_recovery {
            let seq = self.sack.board.skip(self.next);
            let end = self.highest_ack + self.window();
            return (seq <= end && seq < self.limit).then_some(seq);
        }
        let after = self.sack.high_rxt.max(self.highest_ack) + 1;
        let hole =
            self.sack.board.hole(after).filter(|h| self.sack.board.high().is_some_and(|r| *h < r));
        let within = |seq: i64, s: &Self| seq <= s.highest_ack + i64::from(s.p.window);
        let lost =
            |h: i64, s: &Self| s.p.ns2_recovery || s.sack.board.lost_below().is_some_and(|l| h < l);
        if let Some(h) = hole.filter(|h| lost(*h, self)) {
            if !within(h, self) {
                return None;
            }
            self.sack.high_rxt = h;
            return Some(h);
        }
        if within(self.next, self) && self.next < self.limit {
            return Some(self.next);
        }
        let h = hole?;
        self.sack.high_rxt = h;
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
