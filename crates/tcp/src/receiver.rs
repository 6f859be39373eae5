//! The receiving end: cumulative ACKs, reassembly, SACK blocks (RFC 2018), delayed ACKs (RFC 5681,
//! 4.2), and what ACKs say of marks.

use crate::ecn::accecn::{self, AccEcnParams, Ace, EctOn};
use crate::ecn::bits::{Bits, Ecn, Mark};
use crate::ecn::option::Teller;
use crate::ecn::{classic, handshake, mecn, sce};
use crate::held::Held;
use crate::params::TcpParams;
use crate::room::Room;
use crate::segment::{Ack, Block, Segment, MAX_BLOCKS};
use crate::stamp::Echo;
use penstock_units::{Codepoints, Ecn as Codepoint, Time};
use std::cmp::Ordering;
use std::sync::Arc;

/// A receiving end.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The next segment expected.
    next: i64,
    /// Blocks received above it, the most recently changed first. SACK reports them in this order.
    ooo: Vec<Block>,
    /// One past the highest segment received; what is not below it needs no search.
    high: i64,
    /// The SYN settles it.
    feedback: Feedback,
    /// The mark that the next ACK reports. The feedback decides until when.
    level: Mark,
    /// Packets marked CE, modulo eight, and those since the last ACK (AccECN).
    marks: u8,
    unsaid: u8,
    /// The last segment met some congestion (SCE).
    some: bool,
    /// The ECN field of the last packet.
    last_field: Codepoint,
    /// The ECN field of ACKs.
    ack_field: Codepoint,
    /// The first data segment is to tell how the SYN's answer, sent with that ECN field, arrived.
    awaited: Option<Codepoint>,
    /// SYNs received, with the bits of the first.
    syns: u8,
    asked: Bits,
    p: Arc<TcpParams>,
    /// The time at which a held-back ACK is due; [`Time::NEVER`]: none is held back.
    delayed_until: Time,
    /// What few do, where it does any of that: the others do not ask for each.
    special: Option<Box<Special>>,
    sack: bool,
    /// ACKs may be held back.
    delays: bool,
    /// Multi-level ECN: the level is held; what the code points mean.
    latch: bool,
    codepoints: Codepoints,
}

/// What a receiver keeps that reports segments that arrive twice, offers a window that grows, adapts
/// its delays, tells of some congestion or of marks apart, or carries an option.
#[derive(Clone, Debug)]
struct Special {
    /// Segments that arrive twice are reported; the one that the next ACK reports, −1 for none.
    dsack: bool,
    twice: i64,
    /// The timestamp that ACKs return.
    echo: Echo,
    /// What adapts of the delay.
    held: Option<Held>,
    /// The window, where that grows.
    room: Option<Room>,
    /// What AccECN's option tells, where there is one.
    teller: Option<Box<Teller>>,
}

/// Returns what adapts of the delay, where something does.
#[inline(always)]
fn held(special: &mut Option<Box<Special>>) -> Option<&mut Held> {
    special.as_mut().and_then(|own| own.held.as_mut())
}

/// The way in which ACKs report marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feedback {
    None,
    /// ECE from a mark until the sender's CWR (RFC 3168, 6.1.3).
    Echo,
    /// ECE while segments come marked (RFC 8257, 3.2: DCTCP.CE).
    State,
    /// The same, but no ACK covers segments of both states (Linux).
    Apart,
    /// The highest level since the last ACK (multi-level ECN), or with `latch` until the sender's
    /// "window reduced".
    Level,
    /// The count (AccECN).
    Count,
    /// ECE as `Echo`, and ESCE while segments come with some congestion (SCE).
    Some,
}

/// The receiver's answer to a segment.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub enum Reply {
    /// Send this ACK now.
    Now(Ack),
    /// Hold it back until [`Receiver::deadline`].
    Later,
}

impl Receiver {
    /// Returns a receiver that has received nothing.
    pub fn new(p: &Arc<TcpParams>) -> Self {
        Receiver {
            next: 0,
            ooo: Vec::new(),
            high: 0,
            feedback: Feedback::None,
            level: Mark::None,
            marks: accecn::FIRST,
            unsaid: 0,
            some: false,
            last_field: Codepoint::NotEct,
            ack_field: Codepoint::NotEct,
            awaited: None,
            syns: 0,
            asked: Bits::NONE,
            p: Arc::clone(p),
            delayed_until: Time::NEVER,
            special: Special::new(p).map(Box::new),
            sack: p.sack(),
            delays: p.delayed_ack,
            latch: p.mecn.latch,
            codepoints: p.codepoints(),
        }
    }

    /// Starts a fresh connection.
    pub fn reset(&mut self) {
        self.next = 0;
        self.ooo.clear();
        self.high = 0;
        if !self.p.ecn_across_connections || self.feedback != Feedback::Echo {
            self.level = Mark::None;
        }
        self.feedback = Feedback::None;
        self.marks = accecn::FIRST;
        self.unsaid = 0;
        self.some = false;
        self.ack_field = Codepoint::NotEct;
        (self.syns, self.asked) = (0, Bits::NONE);
        if let Some(own) = &mut self.special {
            own.reset(&self.p);
        }
        self.delayed_until = Time::NEVER;
    }

    /// Returns when [`Receiver::on_timer`] is due.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        (self.delayed_until != Time::NEVER).then_some(self.delayed_until)
    }

    /// Returns how many segments have been received in order, the SYN among them.
    pub fn received(&self) -> i64 {
        self.next
    }

    /// A segment arrives.
    pub fn on_segment(&mut self, now: Time, s: &Segment) -> Reply {
        if self.is_plain(s.syn) {
            self.on_plain_segment(now, s)
        } else {
            self.on_special_segment(now, s)
        }
    }

    /// Whether [`Receiver::on_plain_segment`] does for a segment. `syn`: it is a SYN.
    #[inline]
    pub fn is_plain(&self, syn: bool) -> bool {
        self.special.is_none() && !syn
    }

    /// [`Receiver::on_segment`] for most: no SYN, and a receiver that does nothing special. A reply
    /// that is used where this is called then needs no memory.
    #[inline(always)]
    pub fn on_plain_segment(&mut self, now: Time, s: &Segment) -> Reply {
        debug_assert!(self.is_plain(s.syn));
        self.segment::<false>(now, s)
    }

    /// [`Receiver::on_segment`] for all others, and for those as well.
    #[inline(always)]
    pub fn on_special_segment(&mut self, now: Time, s: &Segment) -> Reply {
        self.segment::<true>(now, s)
    }

    /// A segment arrives. `SPECIAL`: see [`Receiver::special`]; or it is a SYN.
    #[inline(always)]
    fn segment<const SPECIAL: bool>(&mut self, now: Time, s: &Segment) -> Reply {
        let in_order = s.seq == self.next;
        let gap = !self.ooo.is_empty();
        if SPECIAL && matches!(self.feedback, Feedback::Some | Feedback::Apart) {
            if let Some(earlier) = self.overtaken(now, s) {
                return Reply::Now(earlier);
            }
        }
        if SPECIAL {
            self.note(s);
        }
        let before = self.next;
        self.take(s.seq);
        if SPECIAL && !s.syn {
            self.makes_room(now, before);
        }
        if SPECIAL && s.syn {
            if let Some(held) = held(&mut self.special) {
                held.open(now);
            }
            return Reply::Now(self.answer_syn(s));
        }
        let echoes = self.level;
        let marks = self.feedback != Feedback::None;
        let mut news = marks && self.take_mark(s);
        let adapts = SPECIAL && self.adapts();
        if adapts {
            news |= marks && self.hurries(s, echoes);
            self.adapt(now, s.seq - before);
            if !news && !self.ooo.is_empty() && self.merges(now) {
                return Reply::Later;
            }
        }
        if self.delays {
            // At once: the second segment, whatever is out of order or fills a gap, news of marks;
            // Linux: what is pushed (tcp_cleanup_rbuf).
            let pushed = adapts && s.push;
            let first = self.delayed_until == Time::NEVER;
            let hold = first && in_order && !gap && !news && !pushed;
            let due = if hold { self.due(now) } else { None };
            self.delayed_until = due.unwrap_or(Time::NEVER);
            if due.is_some() {
                return Reply::Later;
            }
        }
        Reply::Now(if SPECIAL { self.ack() } else { self.plain_ack() })
    }

    /// A segment arrives at a receiver that does what few do, perhaps for the second time.
    #[inline]
    fn note(&mut self, s: &Segment) {
        if self.special.as_ref().is_some_and(|own| own.dsack) && self.has(s.seq) {
            self.special.as_mut().expect("it reports that").twice = s.seq;
        }
        if let Some(own) = &mut self.special {
            own.echo.take(s.seq, s.stamp);
        }
    }

    /// Whether its delays adapt.
    #[inline]
    fn adapts(&self) -> bool {
        self.special.as_ref().is_some_and(|own| own.held.is_some())
    }

    /// SCE, and Linux's DCTCP: returns the ACK that is held back, if a segment arrives in another
    /// state than it tells of. The segment's own ACK then waits, or follows at once.
    #[cold]
    #[inline(never)]
    fn overtaken(&mut self, now: Time, s: &Segment) -> Option<Ack> {
        if s.seq != self.next || self.delayed_until == Time::NEVER {
            return None;
        }
        let apart = self.feedback == Feedback::Apart;
        let same = if apart {
            classic::mark(s.ecn) == self.level
        } else {
            sce::some_congestion(s.ecn) == self.some
        };
        if same {
            return None;
        }
        let (earlier, before) = (self.ack(), self.next);
        if let Some(own) = &mut self.special {
            own.echo.take(s.seq, s.stamp);
        }
        self.take(s.seq);
        self.makes_room(now, before);
        self.take_mark(s);
        self.adapt(now, 0);
        self.delayed_until = if apart { now } else { self.due(now).unwrap_or(now) };
        Some(earlier)
    }

    /// Returns until when the ACK of a segment that arrives now may be held back; `None`: it goes at
    /// once.
    #[inline]
    fn due(&self, now: Time) -> Option<Time> {
        match self.special.as_ref().and_then(|own| own.held.as_ref()) {
            Some(held) => held.due(now),
            None => Some(now + self.p.delayed_ack_timeout),
        }
    }

    /// Data have arrived, and the window may grow; `before` was expected.
    #[inline]
    fn makes_room(&mut self, now: Time, before: i64) {
        if let Some(room) = self.special.as_mut().and_then(|own| own.room.as_mut()) {
            let end = if self.ooo.is_empty() { self.next } else { self.high };
            room.data(now, before, self.next, end);
        }
    }

    /// Linux's answers to a segment that may be marked; `before`: what ACKs told of marks. The sender
    /// should hear of a first mark, as is one that comes with CWR, and who has cut may have a window
    /// of one. Returns whether that has.
    #[inline(never)]
    fn hurries(&mut self, s: &Segment, before: Mark) -> bool {
        let cut = s.bits.cwr()
            && matches!(self.feedback, Feedback::Echo | Feedback::Apart | Feedback::Some);
        let first = self.level == Mark::Ce && (before != Mark::Ce || cut);
        if first && self.feedback == Feedback::Echo {
            if let Some(held) = held(&mut self.special) {
                held.hurry(2);
            }
        }
        cut
    }

    /// Data have arrived, `ahead` beyond those that were expected. The delays adapt, where they do.
    #[cold]
    #[inline(never)]
    fn adapt(&mut self, now: Time, ahead: i64) {
        let Some(held) = held(&mut self.special) else { return };
        match ahead.cmp(&0) {
            Ordering::Less => held.again(),
            Ordering::Equal => held.data(now),
            Ordering::Greater => {}
        }
    }

    /// A segment is out of order. Returns whether its ACK waits for those of others.
    #[cold]
    #[inline(never)]
    fn merges(&mut self, now: Time) -> bool {
        let held = held(&mut self.special);
        let wait = held.and_then(|held| held.merges(self.next, &self.ooo));
        self.delayed_until = wait.map_or(Time::NEVER, |wait| self.delayed_until.min(now + wait));
        wait.is_some()
    }

    /// A held-back ACK is due.
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        if self.delayed_until <= now {
            self.delayed_until = Time::NEVER;
            let held = held(&mut self.special);
            // Behind a gap it is duplicate ACKs that waited for each other.
            if let Some(held) = held.filter(|_| self.ooo.is_empty()) {
                held.missed(now);
            }
            return Some(self.ack());
        }
        None
    }

    /// Returns the ACK that data in the other direction carry: they take a held-back one with them
    /// (RFC 1122, 4.2.3.2).
    pub fn carry(&mut self) -> Ack {
        self.delayed_until = Time::NEVER;
        self.ack()
    }

    /// Negotiation.
    #[cold]
    #[inline(never)]
    fn answer_syn(&mut self, s: &Segment) -> Ack {
        let p = Arc::clone(&self.p);
        let AccEcnParams { ect_on, ecn_fallback, accecn_option, .. } = p.accecn;
        let before = if ecn_fallback { self.syns } else { 0 };
        self.syns = self.syns.saturating_add(1);
        if before == 0 {
            self.asked = s.bits;
        }
        // A SYN that is sent again, and asks for less, does not change what the first has settled.
        let agreed = handshake::accept(p.ecn, self.asked);
        self.feedback = match agreed {
            Ecn::Off => Feedback::None,
            Ecn::Classic if p.control.tells_marks_apart() => Feedback::Apart,
            Ecn::Classic if p.control.counts_marks() => Feedback::State,
            Ecn::Classic => Feedback::Echo,
            Ecn::Mecn => Feedback::Level,
            Ecn::AccEcn => Feedback::Count,
            Ecn::Sce => Feedback::Some,
        };
        if s.owes_cwr {
            self.level = Mark::None;
        }
        self.delayed_until = Time::NEVER;
        let accurate = agreed == Ecn::AccEcn;
        if let Some(own) = self.special.as_mut().filter(|_| accurate && accecn_option) {
            own.teller.get_or_insert_with(|| Box::new(Teller::new(p.segment_bytes())));
        }
        // But who sent it takes the path for one that loses such packets.
        let same = s.bits == self.asked;
        self.ack_field = if same { p.ack_field(agreed) } else { Codepoint::NotEct };
        self.last_field = s.ecn;
        let ecn = match () {
            () if accurate && ect_on == EctOn::All => self.ack_field,
            // RFC 8257 3.6: a mark on a SYN is ignored, and the answer is ECT as well.
            () if s.ecn == Codepoint::NotEct => Codepoint::NotEct,
            () => p.syn_field(),
        };
        self.awaited = (accurate && ecn_fallback).then_some(ecn);
        let bits = handshake::confirm(agreed, s.ecn, before);
        let ack = self.ack();
        // RFC 9768 3.1.4.2: the second answer goes without the option.
        let option = ack.option.filter(|_| before == 0);
        Ack { bits, ecn, option, ..ack }
    }

    /// Takes in how a data segment is marked and what its header says. Returns whether the sender
    /// should hear of it at once.
    #[inline]
    fn take_mark(&mut self, s: &Segment) -> bool {
        let mark = classic::mark(s.ecn);
        match self.feedback {
            Feedback::None => false,
            Feedback::Echo => {
                self.level = classic::latched(self.level, s.bits, mark);
                false
            }
            Feedback::Some => {
                self.level = classic::latched(self.level, s.bits, mark);
                self.some = sce::some_congestion(s.ecn);
                false
            }
            Feedback::State | Feedback::Apart => {
                // RFC 8257 3.2: a change is reported at once.
                std::mem::replace(&mut self.level, mark) != mark
            }
            Feedback::Level => {
                if self.latch && s.bits == mecn::on_data(true) {
                    self.level = Mark::None;
                }
                self.level = self.level.max(mecn::said(self.codepoints, s.ecn));
                false
            }
            Feedback::Count => self.count(s, mark),
        }
    }

    /// AccECN: counts a data segment. Returns whether the sender should hear of it at once.
    fn count(&mut self, s: &Segment, mark: Mark) -> bool {
        if let Some(sent) = self.awaited.take() {
            if s.seq == 1 && !s.retransmit && handshake::third_is_bad(s.bits, sent) {
                self.ack_field = Codepoint::NotEct;
            }
        }
        if let Some(teller) = self.special.as_mut().and_then(|own| own.teller.as_mut()) {
            teller.take(s.ecn);
        }
        let (was, ce) = (std::mem::replace(&mut self.level, mark), mark == Mark::Ce);
        let changed = std::mem::replace(&mut self.last_field, s.ecn) != s.ecn;
        self.marks = (self.marks + u8::from(ce)) & 7;
        self.unsaid += u8::from(ce);
        if self.p.accecn.ace == Ace::Linux {
            return changed || self.unsaid >= accecn::MARKS_PER_ACK_IN_LINUX;
        }
        // RFC 9768 3.2.2.5.1: at once for the first mark after none, and when two wait to be
        // reported.
        (ce && was != Mark::Ce) || self.unsaid >= accecn::MARKS_PER_ACK
    }

    /// Whether the segment has arrived before.
    fn has(&self, seq: i64) -> bool {
        let among = || self.ooo.iter().any(|b| b.left <= seq && seq < b.right);
        seq < self.next || seq < self.high && among()
    }

    #[inline(always)]
    fn take(&mut self, seq: i64) {
        if seq == self.next {
            self.next += 1;
            // The blocks are disjoint and do not touch, so at most one continues here.
            if let Some(i) = self.ooo.iter().position(|b| b.left == self.next) {
                self.next = self.ooo.remove(i).right;
            }
        } else if seq > self.next {
            let high = self.high;
            self.high = high.max(seq + 1);
            let mut merged = Block { left: seq, right: seq + 1 };
            if seq > high {
                return self.ooo.insert(0, merged);
            }
            if let Some(top) = self.ooo.first_mut().filter(|b| b.right == seq && seq == high) {
                top.right += 1;
                return;
            }
            self.ooo.retain(|b| {
                let touches = b.left <= merged.right && merged.left <= b.right;
                if touches {
                    merged =
                        Block { left: b.left.min(merged.left), right: b.right.max(merged.right) };
                }
                !touches
            });
            self.ooo.insert(0, merged);
        }
    }

    /// Returns an ACK, with all that it may carry.
    fn ack(&mut self) -> Ack {
        let mut ack = self.plain_ack();
        if let Some(own) = &mut self.special {
            own.adds(&mut ack, self.next);
        }
        ack
    }

    #[inline(always)]
    fn plain_ack(&mut self) -> Ack {
        let bits = match self.feedback {
            Feedback::None => Bits::NONE,
            Feedback::Echo | Feedback::State | Feedback::Apart => classic::echo(self.level),
            Feedback::Some => sce::echo(self.level, self.some),
            Feedback::Level => mecn::reflected(self.level),
            Feedback::Count => Bits::from_number(self.marks),
        };
        if self.feedback == Feedback::Level && !self.latch {
            self.level = Mark::None;
        }
        self.unsaid = 0;
        // The application takes data at once.
        let window = Ack::ALL_ROOM;
        let (seq, ecn) = (self.next - 1, self.ack_field);
        let mut ack = Ack { seq, bits, ecn, window, ..Ack::default() };
        if self.sack {
            for (to, from) in ack.blocks.iter_mut().zip(&self.ooo) {
                *to = *from;
            }
            ack.n_blocks = self.ooo.len().min(MAX_BLOCKS) as u8;
        }
        ack
    }
}

impl Special {
    /// Returns what a receiver keeps that has not received anything, where it does any of it.
    fn new(p: &TcpParams) -> Option<Self> {
        let held = Held::new(p);
        let any = p.dsack()
            || p.timestamps
            || p.window_start.is_some()
            || held.is_some()
            || p.ecn == Ecn::Sce
            || p.control.tells_marks_apart()
            || (p.ecn == Ecn::AccEcn && p.accecn.accecn_option);
        any.then(|| {
            let (dsack, twice, echo) = (p.dsack(), -1, Echo::NONE);
            Special { dsack, twice, echo, held, room: room(p), teller: None }
        })
    }

    /// Starts a fresh connection.
    fn reset(&mut self, p: &TcpParams) {
        self.teller = None;
        self.twice = -1;
        self.echo = Echo::NONE;
        self.room = room(p);
    }

    /// An ACK leaves of all before segment `next`: adds what it may carry.
    #[inline]
    fn adds(&mut self, ack: &mut Ack, next: i64) {
        if let Some(held) = &mut self.held {
            held.sent();
        }
        if self.twice >= 0 {
            self.report_twice(ack);
        }
        if let Some(teller) = &self.teller {
            with_option(ack, teller);
        }
        ack.echo = self.echo.leaves(next);
        if let Some(offered) = self.room.as_ref().and_then(Room::offered) {
            ack.window = offered;
        }
    }

    /// Puts a DSACK block before the others (RFC 2883).
    #[cold]
    fn report_twice(&mut self, ack: &mut Ack) {
        let twice = std::mem::replace(&mut self.twice, -1);
        ack.blocks.rotate_right(1);
        ack.blocks[0] = Block { left: twice, right: twice + 1 };
        ack.n_blocks = (ack.n_blocks + 1).min(MAX_BLOCKS as u8);
    }
}

/// Returns a window that grows, where that is asked for.
fn room(p: &TcpParams) -> Option<Room> {
    p.window_start.map(|start| Room::new(start, p.window))
}

/// Adds AccECN's option to an ACK, which may have to do with fewer blocks.
#[cold]
#[inline(never)]
fn with_option(ack: &mut Ack, teller: &Teller) {
    let (option, kept) = teller.option(usize::from(ack.n_blocks));
    ack.option = option;
    ack.blocks[kept..].fill(Block::default());
    ack.n_blocks = kept as u8;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{ControlParams, DctcpParams, Form};
    use crate::ecn::mecn::MecnParams;
    use crate::recovery::kind::Recovery;
    use crate::stamp::Stamp;
    use penstock_units::Duration;

    fn seg(seq: i64) -> Segment {
        Segment {
            seq,
            syn: seq == 0,
            retransmit: false,
            ecn: if seq > 0 { Codepoint::Ect0 } else { Codepoint::NotEct },
            bits: Bits::NONE,
            owes_cwr: false,
            push: false,
            stamp: Stamp::NONE,
        }
    }

    /// The segment as it arrives from routers that mark with ECT(1) and CE.
    fn marked(s: Segment, mark: Mark) -> Segment {
        let ecn = match mark {
            Mark::None => s.ecn,
            Mark::Incipient => Codepoint::Ect1,
            Mark::Ce => Codepoint::Ce,
        };
        Segment { ecn, ..s }
    }

    fn now(r: Reply) -> Ack {
        match r {
            Reply::Now(a) => a,
            Reply::Later => panic!("held back"),
        }
    }

    #[test]
    fn reassembles_and_reports_the_latest_block_first() {
        let mut r = Receiver::new(&Arc::new(TcpParams {
            recovery: Recovery::Sack,
            ..TcpParams::default()
        }));
        let t = Time::ZERO;
        let mut ack = |s: i64| now(r.on_segment(t, &seg(s)));
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

    /// A segment that arrives twice is reported once, before the other blocks: below the cumulative
    /// ACK, or within a block. Only a sender that finds losses by time asks for it.
    #[test]
    fn reports_what_arrives_twice() {
        for recovery in [Recovery::Rack, Recovery::Sack] {
            let p = TcpParams { recovery, ..TcpParams::default() };
            let mut r = Receiver::new(&Arc::new(p));
            let mut ack = |s: i64| now(r.on_segment(Time::ZERO, &seg(s)));
            let _ = [0, 1, 3, 4, 6].map(&mut ack);
            for twice in [1, 3] {
                let block = Block { left: twice, right: twice + 1 };
                let a = ack(twice);
                assert_eq!(a.dsack(), (recovery == Recovery::Rack).then_some(block), "{twice}");
                assert_eq!((a.seq, a.n_blocks), (1, if a.dsack().is_some() { 3 } else { 2 }));
                assert_eq!(ack(6 + twice).dsack(), None, "once");
            }
        }
    }

    #[test]
    fn delays_every_other_ack_but_not_gaps() {
        let p = TcpParams { delayed_ack: true, ..TcpParams::default() };
        let mut r = Receiver::new(&Arc::new(p));
        let t = Time::ZERO;
        assert!(matches!(r.on_segment(t, &seg(0)), Reply::Now(_)), "SYN");
        assert_eq!(r.on_segment(t, &seg(1)), Reply::Later);
        assert_eq!(r.deadline(), Some(Time::from_nanos(100_000_000)));
        assert_eq!(now(r.on_segment(t, &seg(2))).seq, 2);
        assert_eq!(r.on_segment(t, &seg(3)), Reply::Later);
        assert_eq!(r.on_timer(Time::from_nanos(100_000_000)).map(|a| a.seq), Some(3));
        assert!(matches!(r.on_segment(t, &seg(5)), Reply::Now(_)), "out of order");
        assert_eq!(now(r.on_segment(t, &seg(4))).seq, 5, "fills the gap");
    }

    /// Three quick ACKs, then every second segment. A first mark asks for two that are quick.
    #[test]
    fn the_first_acks_are_not_delayed() {
        let held = |r: &mut Receiver, s: Segment| r.on_segment(Time::ZERO, &s) == Reply::Later;
        for (ecn, want) in [
            (Ecn::Off, [false, false, false, true, false, true, false, true]),
            (Ecn::Classic, [false, false, false, true, false, false, false, true]),
        ] {
            let p = TcpParams { delayed_ack: true, quickack: 3, ecn, ..TcpParams::default() };
            let mut r = Receiver::new(&Arc::new(p));
            let _ = now(r.on_segment(Time::ZERO, &syn(handshake::request(ecn, 0))));
            let got: Vec<bool> = (1..=8)
                .map(|seq| {
                    let mark = if seq == 6 { Mark::Ce } else { Mark::None };
                    held(&mut r, marked(seg(seq), mark))
                })
                .collect();
            assert_eq!(got, want, "{ecn:?}");
        }
    }

    /// Linux: two quick ACKs after a pause longer than the timeout, here 300 ms, and when old data
    /// come again; what comes out of order ends no pause. Segment 5 is lost.
    #[test]
    fn a_pause_lasts_until_what_was_expected_comes() {
        let mut r = connected(TcpParams {
            delayed_ack: true,
            delayed_ack_adapts: true,
            quickack: 2,
            ecn: Ecn::Classic,
            ..<_>::default()
        });
        let first = (1..=7).map(|seq| (100, seq, false)); // six of them let the window grow
        let got = [
            (120, 8, true),
            (125, 9, false),
            (300, 11, false), // out of order
            (500, 10, false), // after 375 ms
            (510, 12, false),
            (520, 13, true),
            (530, 8, false), // again
            (540, 14, false),
            (550, 15, true),
        ];
        for (ms, seq, held) in first.chain(got) {
            let reply = r.on_segment(Time::from_nanos(ms * 1_000_000), &seg(seq));
            assert_eq!(reply == Reply::Later, held, "segment {seq} at {ms} ms");
        }
    }

    /// Linux: the round trip is 100 ms, a tick one. An ACK that waits 40 ms in vain lets the next one
    /// wait 80.
    #[test]
    fn an_ack_in_vain_doubles_the_wait() {
        let mut r = connected(TcpParams {
            delayed_ack: true,
            delayed_ack_timeout: Duration::from_millis(40),
            delayed_ack_adapts: true,
            ecn: Ecn::Classic,
            ..TcpParams::default()
        });
        let mut due = |ms: u64, seq| {
            assert_eq!(r.on_segment(Time::from_nanos(ms * 1_000_000), &seg(seq)), Reply::Later);
            let due = r.deadline().expect("it is held back");
            assert!(r.on_timer(due).is_some());
            due.as_nanos() / 1_000_000
        };
        assert_eq!([due(100, 1), due(300, 2)], [141, 381]);
    }

    /// Linux: data with CWR are acknowledged at once; a mark that comes with them asks for two quick
    /// ACKs, as a first does. RFC 3168 alone holds them back.
    #[test]
    fn who_has_cut_gets_an_ack_at_once() {
        let dctcp = ControlParams::Dctcp(DctcpParams { dctcp: Form::Linux, ..<_>::default() });
        let reno = TcpParams::default().control;
        let (no, ce) = (Mark::None, Mark::Ce);
        for (control, quickack, before, mark, want) in [
            (&reno, 2, ce, no, [true, false, false, true, false, true]),
            (&reno, 2, ce, ce, [true, false, false, false, true, false]),
            (&reno, 0, ce, ce, [true, false, true, false, true, false]),
            (&dctcp, 2, no, no, [true, false, false, true, false, true]),
        ] {
            let mut r = connected(TcpParams {
                control: control.clone(),
                delayed_ack: true,
                quickack,
                ecn: Ecn::Classic,
                ..<_>::default()
            });
            for seq in 1..=4 {
                let _ = r.on_segment(Time::ZERO, &marked(seg(seq), before));
            }
            let got: Vec<bool> = (5..=10)
                .map(|seq| {
                    let s = if seq == 7 {
                        marked(Segment { bits: Bits::CWR, ..seg(seq) }, mark)
                    } else {
                        seg(seq)
                    };
                    r.on_segment(Time::ZERO, &s) == Reply::Later
                })
                .collect();
            assert_eq!(got, want, "{control:?}, quickack {quickack}, {mark:?}");
        }
    }

    fn syn(bits: Bits) -> Segment {
        Segment { bits, ..seg(0) }
    }

    /// A receiver, connected.
    fn connected(p: TcpParams) -> Receiver {
        let request = handshake::request(p.ecn, 0);
        let mut r = Receiver::new(&Arc::new(p));
        let answer = now(r.on_segment(Time::ZERO, &syn(request)));
        assert_ne!(answer.bits, Bits::NONE, "capable");
        r
    }

    /// Segments 1 and 3 end bursts. Who adapts its delays answers them at once, and counts two from
    /// there; others count.
    #[test]
    fn the_end_of_a_burst_is_acknowledged_at_once() {
        for (adapts, want) in [(true, [1, 3, 5].as_slice()), (false, &[2, 4])] {
            let mut r = connected(TcpParams {
                delayed_ack: true,
                delayed_ack_adapts: adapts,
                ecn: Ecn::Classic,
                ..TcpParams::default()
            });
            let mut replies = |seq: i64| {
                let t = Time::from_nanos(seq as u64 * 1_000_000);
                match r.on_segment(t, &Segment { push: seq == 1 || seq == 3, ..seg(seq) }) {
                    Reply::Now(a) => Some(a.seq),
                    Reply::Later => None,
                }
            };
            let acks: Vec<i64> = (1..=5).filter_map(&mut replies).collect();
            assert_eq!(acks, want, "{adapts}");
        }
    }

    #[test]
    fn echoes_until_told() {
        let mut r = connected(TcpParams { ecn: Ecn::Classic, ..TcpParams::default() });
        let mut echoes =
            |s: Segment, mark| now(r.on_segment(Time::ZERO, &marked(s, mark))).bits == Bits::ECE;
        let cwr = |seq| Segment { bits: Bits::CWR, ..seg(seq) };
        assert!(!echoes(seg(1), Mark::None));
        assert!(!echoes(seg(2), Mark::Incipient), "of no concern here");
        assert!(echoes(seg(3), Mark::Ce));
        assert!(echoes(seg(4), Mark::None));
        assert!(!echoes(cwr(5), Mark::None));
        assert!(echoes(cwr(6), Mark::Ce), "CWR and CE at once: the echo goes on");
    }

    /// Each receiver, asked for each kind: a SYN that it does not understand leaves the connection
    /// without ECN.
    #[test]
    fn an_unknown_request_is_refused() {
        for (ecn, request, answer) in [
            (Ecn::Off, Bits::CWR_ECE, 0b000),
            (Ecn::Classic, Bits::CWR_ECE, 0b001),
            (Ecn::Classic, Bits::CWR, 0b000),
            (Ecn::Classic, Bits::ALL, 0b001),
            (Ecn::Sce, Bits::CWR_ECE, 0b001),
            (Ecn::Sce, Bits::CWR, 0b000),
            (Ecn::Mecn, Bits::CWR, 0b010),
            (Ecn::Mecn, Bits::CWR_ECE, 0b000),
            (Ecn::Mecn, Bits::ALL, 0b000),
            (Ecn::AccEcn, Bits::ALL, 0b010),
            (Ecn::AccEcn, Bits::CWR_ECE, 0b001),
            (Ecn::AccEcn, Bits::CWR, 0b000),
        ] {
            let mut r = Receiver::new(&Arc::new(TcpParams { ecn, ..TcpParams::default() }));
            let got = now(r.on_segment(Time::ZERO, &syn(request))).bits;
            assert_eq!(got.number(), answer, "{ecn:?} {request:?}");
            let marked = now(r.on_segment(Time::ZERO, &marked(seg(1), Mark::Ce))).bits;
            assert_eq!(
                marked == Bits::NONE,
                answer == 0,
                "{ecn:?} {request:?}: and then does not speak of marks"
            );
        }
    }

    /// Table 2: each ACK tells of its own packet, or with `latch` of the highest until "window
    /// reduced".
    #[test]
    fn reflects_levels() {
        let reduced = |seq| Segment { bits: Bits::NONE, ..seg(seq) };
        let plain = |seq| Segment { bits: Bits::ECE, ..seg(seq) };
        for (latch, want) in [
            (false, [0b01, 0b10, 0b11, 0b10, 0b01, 0b01]),
            (true, [0b01, 0b10, 0b11, 0b11, 0b11, 0b01]),
        ] {
            let mecn = MecnParams { latch, ..MecnParams::default() };
            let mut r = connected(TcpParams { ecn: Ecn::Mecn, mecn, ..TcpParams::default() });
            let marks = [Mark::None, Mark::Incipient, Mark::Ce, Mark::Incipient, Mark::None];
            let mut got: Vec<u8> = vec![];
            for (seq, mark) in (1..).zip(marks) {
                got.push(now(r.on_segment(Time::ZERO, &marked(plain(seq), mark))).bits.number());
            }
            got.push(now(r.on_segment(Time::ZERO, &reduced(6))).bits.number());
            assert_eq!(got, want, "latch = {latch}");
        }
    }

    /// A delayed ACK answers two packets: the higher of their levels. Table 1's order of bits, read
    /// literally, has ECT(0) incipient.
    #[test]
    fn a_delayed_ack_tells_the_highest_level() {
        for (literal, marks) in
            [(false, [Mark::Incipient, Mark::None]), (true, [Mark::None, Mark::Incipient])]
        {
            let codepoints = Some(if literal { Codepoints::Literal } else { Codepoints::Wire });
            let mecn = MecnParams { codepoints, ..MecnParams::default() };
            let p = TcpParams { ecn: Ecn::Mecn, delayed_ack: true, mecn, ..TcpParams::default() };
            let mut r = connected(p);
            assert_eq!(r.on_segment(Time::ZERO, &marked(seg(1), marks[0])), Reply::Later);
            assert_eq!(
                now(r.on_segment(Time::ZERO, &marked(seg(2), marks[1]))).bits,
                Bits::CWR,
                "{literal}"
            );
            let retransmission = Segment { ecn: Codepoint::NotEct, ..seg(1) };
            assert_eq!(now(r.on_segment(Time::ZERO, &retransmission)).bits, Bits::ECE);
        }
    }

    /// RFC 8257 3.2: ECE is DCTCP.CE, and a change is told at once; between changes ACKs are
    /// delayed.
    #[test]
    fn dctcp_tells_changes_at_once() {
        let p =
            TcpParams { ecn: Ecn::Classic, delayed_ack: true, ..TcpParams::of("dctcp").unwrap() };
        let mut r = connected(p);
        let (no, ce) = (Mark::None, Mark::Ce);
        // `None`: held back
        for (seq, (mark, want)) in (1..).zip([
            (no, None),
            (no, Some(false)),
            (ce, Some(true)),
            (ce, None),
            (ce, Some(true)),
            (no, Some(false)),
            (no, None),
            (ce, Some(true)), // an ACK of both, in the new state
        ]) {
            let got = match r.on_segment(Time::ZERO, &marked(seg(seq), mark)) {
                Reply::Now(ack) => Some(ack.bits.ece()),
                Reply::Later => None,
            };
            assert_eq!(got, want, "segment {seq}");
        }
    }

    /// Linux: where the state changes while an ACK is held back, that goes first, with the old state,
    /// and the new segment's follows at once. Without a change ACKs are delayed.
    #[test]
    fn dctcp_in_linux_tells_states_apart() {
        let p = TcpParams {
            ecn: Ecn::Classic,
            delayed_ack: true,
            control: ControlParams::Dctcp(DctcpParams { dctcp: Form::Linux, ..Default::default() }),
            ..TcpParams::of("dctcp").unwrap()
        };
        let mut r = connected(p);
        let (no, ce) = (Mark::None, Mark::Ce);
        // The ACKs' numbers, and whether they have ECE.
        for (seq, (mark, want)) in (1..).zip([
            (no, vec![]),
            (ce, vec![(1, false), (2, true)]),
            (ce, vec![]),
            (ce, vec![(4, true)]),
            (no, vec![(5, false)]),
            (no, vec![]),
            (ce, vec![(6, false), (7, true)]),
        ]) {
            let mut got = vec![];
            if let Reply::Now(ack) = r.on_segment(Time::ZERO, &marked(seg(seq), mark)) {
                got.push((ack.seq, ack.bits.ece()));
                got.extend(r.on_timer(Time::ZERO).map(|ack| (ack.seq, ack.bits.ece())));
            }
            assert_eq!(got, want, "segment {seq}");
        }
    }

    /// SCE: ESCE is the state of the last segment. Where that changes while an ACK is held back, the
    /// ACK goes first, with the old state, and the new segment waits. CE is latched beside it.
    #[test]
    fn sce_tells_each_state_apart() {
        let p = TcpParams { ecn: Ecn::Sce, delayed_ack: true, ..TcpParams::default() };
        let mut r = connected(p);
        let (no, some) = (Mark::None, Mark::Incipient);
        // `None`: held back; else the ACK's number and bits.
        for (seq, (mark, want)) in (1..).zip([
            (no, None),
            (no, Some((2, 0b000))),
            (some, None),
            (some, Some((4, 0b100))),
            (some, None),
            (no, Some((5, 0b100))), // of the segment before
            (no, Some((7, 0b000))),
            (Mark::Ce, None),
            (some, Some((8, 0b001))),
            (some, Some((10, 0b101))),
        ]) {
            let got = match r.on_segment(Time::ZERO, &marked(seg(seq), mark)) {
                Reply::Now(ack) => Some((ack.seq, ack.bits.number())),
                Reply::Later => None,
            };
            assert_eq!(got, want, "segment {seq}");
        }
        let cwr = Segment { bits: Bits::CWR, ..seg(11) };
        assert_eq!(r.on_segment(Time::ZERO, &cwr), Reply::Later);
        assert_eq!(r.carry().bits, Bits::NONE);
    }

    /// RFC 9768: counted modulo eight from five; at once for the first mark after none, and for
    /// every second.
    #[test]
    fn accecn_counts() {
        let p = TcpParams { ecn: Ecn::AccEcn, delayed_ack: true, ..TcpParams::default() };
        let mut r = connected(p);
        let (no, ce) = (Mark::None, Mark::Ce);
        for (seq, (mark, want)) in (1..).zip([
            (no, None),
            (no, Some(5)),
            (ce, Some(6)), // a change
            (ce, None),
            (ce, Some(0)), // two since: 7, 8
            (no, None),
            (ce, Some(1)),
        ]) {
            let got = match r.on_segment(Time::ZERO, &marked(seg(seq), mark)) {
                Reply::Now(ack) => Some(ack.bits.number()),
                Reply::Later => None,
            };
            assert_eq!(got, want, "segment {seq}");
        }
    }

    /// With `ecn_fallback`, what the first SYN has settled holds, although the next asks for less: the
    /// client may take either answer. But ACKs are no longer capable.
    #[test]
    fn a_later_syn_does_not_settle_anew() {
        let accecn = AccEcnParams {
            ecn_fallback: true,
            accecn_option: true,
            ect_on: EctOn::Established,
            ..AccEcnParams::default()
        };
        let p = TcpParams { ecn: Ecn::AccEcn, accecn, ..TcpParams::default() };
        let mut r = Receiver::new(&Arc::new(p));
        let first = now(r.on_segment(Time::ZERO, &syn(Bits::ALL)));
        assert_eq!((first.bits.number(), first.option.is_some()), (0b010, true));
        let second = now(r.on_segment(Time::ZERO, &syn(Bits::NONE)));
        assert_eq!((second.bits.number(), second.option.is_some()), (0b010, false));
        let ack = now(r.on_segment(Time::ZERO, &marked(seg(1), Mark::Ce)));
        assert_eq!((ack.bits.number(), ack.ecn), (6, Codepoint::NotEct));
        assert!(ack.option.is_some());
        assert_eq!(now(r.on_segment(Time::ZERO, &syn(Bits::NONE))).bits, Bits::NONE, "the third");
    }

    /// Linux: at once each change of the ECN field, from the SYN's on, and when six marks wait.
    #[test]
    fn linux_tells_each_change_at_once() {
        let accecn = AccEcnParams { ace: Ace::Linux, ..AccEcnParams::default() };
        let p = TcpParams { ecn: Ecn::AccEcn, delayed_ack: true, accecn, ..TcpParams::default() };
        let mut r = connected(p);
        let (ect0, ect1, ce) = (Codepoint::Ect0, Codepoint::Ect1, Codepoint::Ce);
        for (seq, (ecn, want)) in (1..).zip([
            (ect0, Some(5)), // the SYN was not capable
            (ect0, None),
            (ect0, Some(5)),
            (ce, Some(6)),
            (ce, None),
            (ce, Some(0)), // every second packet
            (ect0, Some(0)),
            (ect1, Some(0)),
            (ect1, None),
        ]) {
            let got = match r.on_segment(Time::ZERO, &Segment { ecn, ..seg(seq) }) {
                Reply::Now(ack) => Some(ack.bits.number()),
                Reply::Later => None,
            };
            assert_eq!(got, want, "segment {seq}");
        }
    }

    /// RFC 9768, Table 2: how the SYN came; a mark on it counts for nothing (RFC 8257 3.6 sends
    /// SYNs ECT).
    #[test]
    fn the_answer_tells_how_the_syn_came() {
        for (ecn, answered, want) in [
            (Codepoint::NotEct, Codepoint::NotEct, 0b010),
            (Codepoint::Ect1, Codepoint::Ect0, 0b011),
            (Codepoint::Ect0, Codepoint::Ect0, 0b100),
            (Codepoint::Ce, Codepoint::Ect0, 0b110),
        ] {
            let mut r = Receiver::new(&Arc::new(TcpParams {
                ecn: Ecn::AccEcn,
                ..TcpParams::of("dctcp").unwrap()
            }));
            let ack = now(r.on_segment(Time::ZERO, &Segment { ecn, ..syn(Bits::ALL) }));
            assert_eq!((ack.bits.number(), ack.ecn), (want, answered));
            assert_eq!(now(r.on_segment(Time::ZERO, &seg(1))).bits.number(), 5);
        }
    }
}
