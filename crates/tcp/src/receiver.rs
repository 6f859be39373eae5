//! The receiving end: cumulative ACKs, reassembly, SACK blocks (RFC 2018), delayed ACKs (RFC 5681, 4.2), ECN-Echo (RFC 3168, 6.1.3).

use crate::{Ack, Block, Ecn, Segment, TcpParams, Variant, MAX_BLOCKS};
use penstock_units::{Duration, Time};
use std::sync::Arc;

/// A receiving end.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The next segment expected.
    next: i64,
    /// Blocks received above it, the most recently changed first: the order in which SACK reports them.
    ooo: Vec<Block>,
    ecn: bool,
    /// A mark has come since the sender last said that it cut.
    echo: bool,
    echo_survives: bool,
    /// When a held-back ACK is due.
    delayed_until: Option<Time>,
    delay: Option<Duration>,
    sack: bool,
    handshake: bool,
}

/// What the receiver does with a segment.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub enum Reply {
    /// Send this ACK now.
    Now(Ack),
    /// Hold it back until [`Receiver::deadline`].
    Later,
}

impl Receiver {
    /// A receiver that has received nothing.
    pub fn new(p: &Arc<TcpParams>) -> Self {
        Receiver {
            next: 0,
            ooo: Vec::new(),
            ecn: p.ecn != Ecn::Off,
            echo: false,
            echo_survives: p.ecn_across_connections,
            delayed_until: None,
            delay: p.delayed_ack.then_some(p.delayed_ack_timeout),
            sack: p.variant == Variant::Sack,
            handshake: p.handshake,
        }
    }

    /// A fresh connection.
    pub fn reset(&mut self) {
        self.next = 0;
        self.ooo.clear();
        self.echo &= self.echo_survives;
        self.delayed_until = None;
    }

    /// When [`Receiver::on_timer`] is due.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        self.delayed_until
    }

    /// Segments received in order, the SYN among them.
    pub fn received(&self) -> i64 {
        self.next
    }

    /// A segment arrives; `ce`: with congestion experienced.
    pub fn on_segment(&mut self, now: Time, s: &Segment, ce: bool) -> Reply {
        let in_order = s.seq == self.next;
        let gap = !self.ooo.is_empty();
        self.take(s.seq);
        if self.ecn {
            // RFC 3168 6.1.3: CWR ends the echo, unless that very segment is marked.
            if s.cwr {
                self.echo = false;
            }
            if ce {
                self.echo = true;
            }
        }
        if let Some(delay) = self.delay {
            // At once: the second segment, whatever is out of order or fills a gap, a SYN.
            let hold = self.delayed_until.is_none() && in_order && !gap && !s.syn;
            if hold {
                self.delayed_until = Some(now + delay);
                return Reply::Later;
            }
            self.delayed_until = None;
        }
        Reply::Now(self.ack(s.syn))
    }

    /// A held-back ACK is due.
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        if self.delayed_until.is_some_and(|t| t <= now) {
            self.delayed_until = None;
            return Some(self.ack(false));
        }
        None
    }

    fn take(&mut self, seq: i64) {
        if seq == self.next {
            self.next += 1;
            // The blocks are disjoint and do not touch, so at most one continues here.
            if let Some(i) = self.ooo.iter().position(|b| b.left == self.next) {
                self.next = self.ooo.remove(i).right;
            }
        } else if seq > self.next {
            let mut merged = Block { left: seq, right: seq + 1 };
            self.ooo.retain(|b| {
                let touches = b.left <= merged.right && merged.left <= b.right;
                if touches {
                    merged = Block { left: b.left.min(merged.left), right: b.right.max(merged.right) };
                }
                !touches
            });
            self.ooo.insert(0, merged);
        }
    }

    fn ack(&self, answers_syn: bool) -> Ack {
        let mut ack = Ack { seq: self.next - 1, ece: self.echo, ..Ack::default() };
        if answers_syn && self.handshake {
            ack.ece = self.ecn; // negotiation: RFC 3168 6.1.1
        }
        if self.sack {
            for (to, from) in ack.blocks.iter_mut().zip(&self.ooo) {
                *to = *from;
            }
            ack.n_blocks = self.ooo.len().min(MAX_BLOCKS) as u8;
        }
        ack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::rfc;

    fn seg(seq: i64) -> Segment {
        Segment { seq, syn: seq == 0, retransmit: false, ect: true, cwr: false }
    }

    fn now(r: Reply) -> Ack {
        match r {
            Reply::Now(a) => a,
            Reply::Later => panic!("held back"),
        }
    }

    #[test]
    fn reassembles_and_reports_the_latest_block_first() {
        let mut r = Receiver::new(&Arc::new(rfc(Variant::Sack)));
        let t = Time::ZERO;
        let mut ack = |s: i64| now(r.on_segment(t, &seg(s), false));
        assert_eq!(ack(0).seq, 0);
        assert_eq!(ack(2).blocks[0], Block { left: 2, right: 3 });
        let a = ack(5);
        assert_eq!((a.seq, a.n_blocks, a.blocks[0].left, a.blocks[1].left), (0, 2, 5, 2));
        let a = ack(3);
        assert_eq!((a.blocks[0], a.blocks[1].left), (Block { left: 2, right: 4 }, 5));
        let a = ack(1);
        assert_eq!((a.seq, a.n_blocks), (3, 1));
        assert_eq!(ack(1).seq, 3, "a duplicate");
        assert_eq!(ack(4).seq, 5);
    }

    #[test]
    fn delays_every_other_ack_but_not_gaps() {
        let p = TcpParams { delayed_ack: true, ..rfc(Variant::Reno) };
        let mut r = Receiver::new(&Arc::new(p));
        let t = Time::ZERO;
        assert!(matches!(r.on_segment(t, &seg(0), false), Reply::Now(_)), "SYN");
        assert_eq!(r.on_segment(t, &seg(1), false), Reply::Later);
        assert_eq!(r.deadline(), Some(Time::from_nanos(100_000_000)));
        assert_eq!(now(r.on_segment(t, &seg(2), false)).seq, 2);
        assert_eq!(r.on_segment(t, &seg(3), false), Reply::Later);
        assert_eq!(r.on_timer(Time::from_nanos(100_000_000)).map(|a| a.seq), Some(3));
        assert!(matches!(r.on_segment(t, &seg(5), false), Reply::Now(_)), "out of order");
        assert_eq!(now(r.on_segment(t, &seg(4), false)).seq, 5, "fills the gap");
    }

    #[test]
    fn echoes_until_told() {
        let p = TcpParams { ecn: Ecn::Classic, ..rfc(Variant::Reno) };
        let mut r = Receiver::new(&Arc::new(p));
        let t = Time::ZERO;
        let cwr = |seq| Segment { cwr: true, ..seg(seq) };
        assert!(now(r.on_segment(t, &seg(0), false)).ece, "capable");
        assert!(!now(r.on_segment(t, &seg(1), false)).ece);
        assert!(now(r.on_segment(t, &seg(2), true)).ece);
        assert!(now(r.on_segment(t, &seg(3), false)).ece);
        assert!(!now(r.on_segment(t, &cwr(4), false)).ece);
        assert!(now(r.on_segment(t, &cwr(5), true)).ece, "CWR and CE at once: the echo goes on");
    }
}
