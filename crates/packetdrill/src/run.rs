//! A run: the script's events one after the other, on a clock that is a number.

use crate::bytes::Cuts;
use crate::code::{Names, Trouble};
use crate::parse::parse;
use crate::plan::{plan, Plan};
use crate::script::{Action, Base, Call, EcnField, Event, Options, Packet, TcpOption, When};
use crate::told::told;
use penstock_tcp::{
    AccEcnOption, Ack, Bits, Block, Ecn, FieldOrder, Io, Receiver, Reply, Segment, Sender, Stamp,
    TcpParams, MAX_BLOCKS,
};
use penstock_units::param::Profile;
use penstock_units::{Bytes, Duration, Ecn as Codepoint, Time};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;

/// What came of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything is as the script says.
    Passed(Passed),
    /// Something is not.
    Failed(Failure),
    /// The script cannot be told to the crate.
    Refused {
        /// The line of the reason.
        line: usize,
        /// The reason.
        reason: String,
    },
}

/// How a script passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Packets and code that were compared.
    pub checks: usize,
    /// The most that a packet missed its time by.
    pub off: Duration,
    /// The line on which closing begins, where the run stopped.
    pub stopped: Option<usize>,
}

/// What is not as a script says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The line.
    pub line: usize,
    /// What is compared there.
    pub of: Compared,
    /// What it says.
    pub expected: String,
    /// What happened.
    pub got: String,
}

/// What a line of a script compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// A packet's contents.
    Packet,
    /// The time at which it leaves.
    Time,
    /// What the host believes.
    Assertion,
}

/// Runs a script.
pub fn run(text: &str, profile: Profile) -> Verdict {
    traced(text, profile, &mut String::new())
}

/// Runs a script, and writes down what happens.
pub fn traced(text: &str, profile: Profile, trace: &mut String) -> Verdict {
    let plan = match parse(text).and_then(|script| plan(script, profile)) {
        Ok(plan) => plan,
        Err(unread) => return Verdict::Refused { line: unread.line, reason: unread.what },
    };
    let mut run = Run::new(&plan, trace);
    for (i, event) in plan.events.iter().enumerate() {
        match run.event(i, event) {
            Ok(()) => {}
            Err(Stop::Failed(failure)) => return Verdict::Failed(failure),
            Err(Stop::Refused(reason)) => return Verdict::Refused { line: event.line, reason },
        }
    }
    Verdict::Passed(Passed { stopped: plan.stops, ..run.passed })
}

/// Why a run ends early.
enum Stop {
    Failed(Failure),
    Refused(String),
}

/// A packet that the host has sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    /// The data in it, if there are any.
    segment: Option<Segment>,
    /// The acknowledgement in it.
    ack: Ack,
    /// The TCP header's ECN bits, and the IP header's field: of the two ends in one.
    bits: Bits,
    ecn: Codepoint,
}

/// The host's way out.
#[derive(Default)]
struct Out(Vec<(Segment, Time)>);

impl Io for Out {
    fn send(&mut self, segment: Segment, not_before: Time) {
        self.0.push((segment, not_before));
    }

    fn random(&mut self) -> f64 {
        0.5
    }
}

struct Run<'a> {
    plan: &'a Plan,
    now: Time,
    host: Arc<TcpParams>,
    sender: Sender,
    receiver: Receiver,
    out: Out,
    /// What it has sent that the script has not looked at.
    sent: VecDeque<Sent>,
    /// Its data, as far as they are written.
    outbound: Cuts,
    /// The last segment that it has sent.
    last_sent: i64,
    /// The peer's SYN, which the receiver answers each time that the sender's leaves.
    asked: Option<Segment>,
    /// The ECN bits of the host's first SYN, and the peer's answer to one of its own.
    syn_bits: Bits,
    answer_bits: Bits,
    /// The sender before the peer's answer: what it makes of one.
    unanswered: Option<Sender>,
    /// AccECN is agreed on, and so many packets without data have come marked CE.
    accurate: bool,
    acks_marked: u8,
    /// What the peer's third packet says of the host's answer; the crate expects that of the first
    /// data.
    third: Option<Bits>,
    /// Bytes that the application has read.
    read: u64,
    opened: bool,
    established: bool,
    names: Names,
    passed: Passed,
    trace: &'a mut String,
}

/// A script waits so much longer than it says for a packet.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where any time will do, a packet has to come within this.
const ANY: Duration = Duration::from_secs(600);

impl<'a> Run<'a> {
    fn new(plan: &'a Plan, trace: &'a mut String) -> Self {
        let host = Arc::new(plan.host.clone());
        // AccECN's option counts the peer's segments as full ones.
        let segment = plan.peer.inbound.map_or(host.segment, Bytes);
        let receiving = Arc::new(TcpParams { segment, ..plan.host.clone() });
        Run {
            plan,
            now: Time::ZERO,
            sender: Sender::new(Arc::clone(&host), 0.0),
            receiver: Receiver::new(&receiving),
            host,
            out: Out::default(),
            sent: VecDeque::new(),
            outbound: Cuts::syn(),
            last_sent: -1,
            asked: None,
            syn_bits: Bits::NONE,
            answer_bits: Bits::NONE,
            unanswered: None,
            accurate: false,
            acks_marked: 0,
            third: None,
            read: 0,
            opened: false,
            established: false,
            names: Names::default(),
            passed: Passed { checks: 0, off: Duration::ZERO, stopped: None },
            trace,
        }
    }

    fn event(&mut self, i: usize, event: &Event) -> Result<(), Stop> {
        let (from, to) = self.times(event.when);
        match &event.action {
            Action::Packet(p) if !p.inbound => return self.outbound(event, p, from, to),
            _ => self.advance(from),
        }
        match &event.action {
            Action::Packet(p) => self.inbound(p),
            Action::Call(call) => self.call(call),
            Action::Command(_) => Ok(()),
            Action::Code(_) => self.assert(i, event.line),
        }
    }

    /// Returns the first and the last time at which an event is right.
    fn times(&self, when: When) -> (Time, Time) {
        match when.base {
            Base::Start => (Time::ZERO + when.from, Time::ZERO + when.to),
            Base::Previous => (self.now + when.from, self.now + when.to),
            Base::Any => (self.now, self.now + ANY),
        }
    }

    // ---- the clock ------------------------------------------------------------------------------

    /// Returns the first timer that expires.
    fn deadline(&self) -> Option<Time> {
        match (self.sender.deadline(), self.receiver.deadline()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Lets the timers expire that are due at the first deadline.
    fn expire(&mut self, at: Time) {
        self.now = self.now.max(at);
        if self.sender.deadline().is_some_and(|due| due <= self.now) {
            self.sender.on_timer(self.now, &mut self.out);
            self.collect();
        }
        if self.receiver.deadline().is_some_and(|due| due <= self.now) {
            if let Some(ack) = self.receiver.on_timer(self.now) {
                self.answers(ack);
            }
        }
    }

    /// Lets time pass.
    fn advance(&mut self, to: Time) {
        while let Some(due) = self.deadline().filter(|due| *due <= to) {
            self.expire(due);
        }
        self.now = self.now.max(to);
    }

    /// Returns the next packet that the host sends, if it does so by `latest`.
    fn next(&mut self, latest: Time) -> Option<Sent> {
        loop {
            if let Some(sent) = self.sent.pop_front() {
                return Some(sent);
            }
            let due = self.deadline().filter(|due| *due <= latest)?;
            self.expire(due);
        }
    }

    // ---- what the host does ---------------------------------------------------------------------

    /// Takes what the sender has put out. Data carry the receiver's acknowledgement.
    fn collect(&mut self) {
        for (segment, not_before) in std::mem::take(&mut self.out.0) {
            let first = segment.seq > self.last_sent;
            self.last_sent = self.last_sent.max(segment.seq);
            let at = not_before.max(self.now);
            if segment.syn {
                self.syn_leaves(segment);
                continue;
            }
            let ack = self.receiver.carry();
            // The handshake's last packet has told how the answer came, and data tell of marks.
            let told = if first && segment.seq == 1 { self.count(0) } else { segment.bits };
            let bits = if self.accurate { self.joined(told, ack.bits) } else { segment.bits };
            self.leaves(Sent { at, segment: Some(segment), ack, bits, ecn: segment.ecn });
        }
    }

    /// The host's SYN leaves: the receiver's answer, or the sender's request.
    fn syn_leaves(&mut self, segment: Segment) {
        let (mut bits, mut ecn, mut ack) = (segment.bits, segment.ecn, Ack::default());
        if let Some(asked) = self.asked {
            if let Reply::Now(answer) = self.receiver.on_segment(self.now, &asked) {
                (bits, ecn, ack) = (answer.bits, answer.ecn, answer);
            }
        }
        if self.last_sent == 0 && self.syn_bits == Bits::NONE {
            self.syn_bits = bits;
        }
        self.leaves(Sent { at: self.now, segment: Some(segment), ack, bits, ecn });
    }

    /// An ACK leaves at once.
    fn answers(&mut self, ack: Ack) {
        let bits = if self.accurate { self.joined(self.count(0), ack.bits) } else { ack.bits };
        self.leaves(Sent { at: self.now, segment: None, ack, bits, ecn: ack.ecn });
    }

    /// Returns the ACE field with so many marks more than on packets without data.
    fn count(&self, more: u8) -> Bits {
        Bits::from_number(5 + (self.acks_marked + more) % 8)
    }

    /// Returns the ACE field of both ends in one: the sender counts the marks of packets without
    /// data, and the receiver those of data.
    fn joined(&self, sender: Bits, receiver: Bits) -> Bits {
        Bits::from_number(sender.number() + receiver.number() + 3)
    }

    /// A packet leaves, perhaps after others that wait for their time.
    fn leaves(&mut self, sent: Sent) {
        let what = self.describe(&sent);
        let _ = writeln!(self.trace, "{:>11.6}  > {what}", sent.at.as_secs_f64());
        let later = self.sent.iter().rev().take_while(|other| other.at > sent.at).count();
        self.sent.insert(self.sent.len() - later, sent);
    }

    fn open(&mut self) {
        self.opened = true;
        self.sender.give(self.now, 0, &mut self.out);
        self.collect();
    }

    fn call(&mut self, call: &Call) -> Result<(), Stop> {
        match call.name.as_str() {
            "connect" if !self.opened => self.open(),
            "connect" => return Err(Stop::Refused("a second connection".into())),
            "read" => {
                self.read += call.args.get(2).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
                if self.plan.inbound.after(self.receiver.received() - 1) <= self.read {
                    return Err(Stop::Refused("a read of what has not arrived".into()));
                }
            }
            "write" | "send" => {
                let bytes = call.args.get(2).and_then(|n| n.parse().ok()).unwrap_or(0);
                return self.write(bytes);
            }
            _ => {}
        }
        Ok(())
    }

    fn write(&mut self, bytes: u64) -> Result<(), Stop> {
        if !self.established {
            return Err(Stop::Refused("a write before the connection is there".into()));
        }
        // What ends inside a segment is one of its own if nothing can be joined to it: what was
        // written before has left, and no such end is on its way (Nagle, Minshall).
        let full = u64::from(self.host.segment_bytes());
        let last = self.outbound.last();
        let first = self.sender.acknowledged() + 1;
        let waits = last > self.last_sent && self.outbound.is_short(last, full);
        let under_way = (first..=self.last_sent).any(|n| self.outbound.is_short(n, full));
        if waits || (under_way && bytes % full != 0) {
            return Err(Stop::Refused("writes that are joined to segments".into()));
        }
        let segments = self.outbound.add(bytes, full);
        self.sender.give(self.now, segments, &mut self.out);
        self.collect();
        Ok(())
    }

    fn assert(&mut self, i: usize, line: usize) -> Result<(), Stop> {
        let Some(code) = self.plan.code.get(&i) else { return Ok(()) };
        self.passed.checks += 1;
        let sender = &self.sender;
        match self.names.run(code, &|name| told(sender, name)) {
            Ok(()) => Ok(()),
            Err(Trouble::Unknown(name)) => Err(Stop::Refused(format!("the name {name}"))),
            Err(Trouble::Broken(broken)) => Err(Stop::Failed(Failure {
                line,
                of: Compared::Assertion,
                expected: broken.expected,
                got: broken.got,
            })),
        }
    }

    // ---- what arrives ---------------------------------------------------------------------------

    fn inbound(&mut self, p: &Packet) -> Result<(), Stop> {
        let _ = writeln!(self.trace, "{:>11.6}  < {}", self.now.as_secs_f64(), written(p));
        if p.flags.syn && !p.flags.ack {
            return self.asked(p);
        }
        if !self.opened {
            return Err(Stop::Refused("a packet before the connection is there".into()));
        }
        let first = !self.established;
        if first {
            self.settle(p);
        }
        if let Some(ack) = p.ack {
            self.acknowledged(p, ack, first)?;
        }
        if p.flags.syn {
            self.finish_handshake(p);
        }
        if p.len > 0 {
            self.data(p)?;
        }
        Ok(())
    }

    /// The first packet of the peer after the host's SYN settles what ECN's bits mean.
    fn settle(&mut self, p: &Packet) {
        let bits = if p.flags.syn { Bits::from_number(p.flags.ecn) } else { self.syn_bits };
        let accurate = !matches!(bits, Bits::NONE | Bits::ECE | Bits::ALL);
        self.accurate = accurate && self.host.ecn == Ecn::AccEcn;
        if self.accurate && !p.flags.syn && p.len == 0 {
            self.third = Some(Bits::from_number(p.flags.ecn));
        }
        if p.flags.syn {
            // The peer's answer is the SYN that the receiver has to hear of.
            let asks = match bits {
                Bits::NONE | Bits::ALL => Bits::NONE,
                _ if self.accurate => Bits::ALL,
                _ => Bits::CWR_ECE,
            };
            self.answer_bits = bits;
            self.unanswered = Some(self.sender.clone());
            let _ = self.receiver.on_segment(self.now, &syn(asks, p));
        }
    }

    /// The peer's SYN arrives. The sender's own SYN stands for the answer.
    fn asked(&mut self, p: &Packet) -> Result<(), Stop> {
        let asked = syn(Bits::from_number(p.flags.ecn), p);
        if self.established {
            return Err(Stop::Refused("a SYN of the peer after the handshake".into()));
        }
        if self.opened {
            if let Reply::Now(answer) = self.receiver.on_segment(self.now, &asked) {
                let (bits, ecn) = (answer.bits, answer.ecn);
                let segment = Some(asked);
                self.leaves(Sent { at: self.now, segment, ack: answer, bits, ecn });
            }
            return Ok(());
        }
        self.asked = Some(asked);
        self.open();
        Ok(())
    }

    /// The third packet of the handshake leaves, perhaps again. The crate has none: its first data
    /// tell how the answer came.
    fn finish_handshake(&mut self, p: &Packet) {
        let ack = Ack { seq: 0, ..self.receiver.carry() };
        let mut bits = Bits::NONE;
        if let Some(sender) = self.unanswered.as_ref().filter(|_| self.accurate) {
            let (mut sender, mut out) = (sender.clone(), Out::default());
            let answer = Ack { bits: self.answer_bits, ecn: field(p), ..Ack::default() };
            sender.on_ack(self.now, &answer, &mut out);
            sender.give(self.now, 1, &mut out);
            bits = out.0.first().map_or(bits, |(segment, _)| segment.bits);
        }
        self.leaves(Sent { at: self.now, segment: None, ack, bits, ecn: ack.ecn });
    }

    fn acknowledged(&mut self, p: &Packet, number: u64, first: bool) -> Result<(), Stop> {
        let Some(seq) = self.outbound.ending_at(number) else {
            if number > self.outbound.end() {
                return Ok(()); // Linux ignores an ACK of what was never sent
            }
            return Err(Stop::Refused("an ACK of part of a segment".into()));
        };
        if seq > self.last_sent {
            return Ok(());
        }
        let window = match p.window {
            Some(field) if !p.flags.syn => field << self.plan.peer.scale,
            Some(field) => field,
            None => return Err(Stop::Refused("an ACK without a window".into())),
        };
        let window = window / u64::from(self.host.segment_bytes());
        if window == 0 {
            return Err(Stop::Refused("a window without room for a segment".into()));
        }
        // The third packet has AccECN's bits alone.
        let silent = first && self.plan.peer.asks_first && (!self.accurate || p.flags.ecn == 0);
        let bits = if silent { self.syn_bits } else { Bits::from_number(p.flags.ecn) };
        let ecn = if p.len == 0 { field(p) } else { Codepoint::NotEct };
        self.acks_marked += u8::from(self.accurate && ecn == Codepoint::Ce);
        let mut ack = Ack { seq, bits, ecn, window: window as u32, ..Ack::default() };
        if let Options::List(options) = &p.options {
            for option in options {
                if let TcpOption::AccEcn(counters) = option {
                    ack.option = self.accurate.then(|| counted(counters));
                }
                let TcpOption::Sack(blocks) = option else { continue };
                for block in blocks.iter().filter_map(|(l, r)| self.reported(*l, *r)) {
                    if usize::from(ack.n_blocks) < MAX_BLOCKS {
                        ack.blocks[usize::from(ack.n_blocks)] = block;
                        ack.n_blocks += 1;
                    }
                }
            }
        }
        self.established = true;
        // RFC 5681, 2: data make no duplicate.
        if p.len > 0 && seq <= self.sender.acknowledged() && ack.n_blocks == 0 {
            return Ok(());
        }
        self.sender.on_ack(self.now, &ack, &mut self.out);
        self.collect();
        Ok(())
    }

    /// Returns the segments that a block reports. Linux drops one that reports what was never sent.
    fn reported(&self, left: u64, right: u64) -> Option<Block> {
        self.outbound.within(left, right).filter(|b| b.right <= self.last_sent + 1)
    }

    /// Data arrive: one segment.
    fn data(&mut self, p: &Packet) -> Result<(), Stop> {
        let cuts = &self.plan.inbound;
        let ends = p.start.checked_add(p.len).and_then(|end| cuts.ending_at(end));
        let Some(seq) = ends.filter(|seq| cuts.of(*seq).is_some_and(|of| of.0 == p.start)) else {
            return Err(Stop::Refused("a packet of several segments".into()));
        };
        let third = self.third.filter(|_| seq == 1);
        let bits = third.unwrap_or(Bits::from_number(p.flags.ecn));
        let segment = Segment { seq, syn: false, ..syn(bits, p) };
        if let Reply::Now(ack) = self.receiver.on_segment(self.now, &segment) {
            self.answers(ack);
        }
        Ok(())
    }

    // ---- what leaves ----------------------------------------------------------------------------

    fn outbound(&mut self, event: &Event, p: &Packet, from: Time, to: Time) -> Result<(), Stop> {
        self.passed.checks += 1;
        let since = from.since(self.now);
        // packetdrill allows an eighth of the time since the last event.
        let leeway = self.plan.tolerance.max(Duration::from_nanos(since.as_nanos() / 8));
        let fail = |of, expected: String, got: String| {
            Err(Stop::Failed(Failure { line: event.line, of, expected, got }))
        };
        let (mut at, end) = (p.start, p.start + p.len);
        let mut cwr = false;
        loop {
            let Some(sent) = self.next(to + PATIENCE) else {
                let until = (to + PATIENCE).as_secs_f64();
                return fail(Compared::Packet, written(p), format!("nothing until {until:.3} s"));
            };
            let got = self.describe(&sent);
            if event.when.base != Base::Any {
                let off = from.since(sent.at).max(sent.at.since(to));
                if off > leeway {
                    return fail(
                        Compared::Time,
                        format!("{} at {}", written(p), range(from, to)),
                        format!("{got} at {:.6} s", sent.at.as_secs_f64()),
                    );
                }
                self.passed.off = self.passed.off.max(off);
            }
            self.now = self.now.max(sent.at);
            let Some(segment) = sent.segment.filter(|_| p.len > 0 || p.flags.syn) else {
                let bare = sent.segment.is_none() && p.len == 0 && !p.flags.syn;
                if bare && self.is_this_ack(p, &sent) {
                    return Ok(());
                }
                return fail(Compared::Packet, written(p), got);
            };
            if segment.syn != p.flags.syn || !is_capable(p, sent.ecn) || !has_option(p, &sent.ack) {
                return fail(Compared::Packet, written(p), got);
            }
            if segment.syn {
                if sent.bits.number() != p.flags.ecn {
                    return fail(Compared::Packet, written(p), got);
                }
                return Ok(());
            }
            let Some((first, last)) = self.outbound.of(segment.seq) else {
                return fail(Compared::Packet, written(p), got);
            };
            let number = self.plan.inbound.after(sent.ack.seq);
            if first != at || last > end || p.ack.is_some_and(|ack| ack != number) {
                return fail(Compared::Packet, written(p), got);
            }
            cwr |= sent.bits.cwr() && !self.accurate;
            at = last;
            if at == end {
                // CWR on one of several segments is on the packet that they make.
                let cwr = if cwr { Bits::CWR.number() } else { 0 };
                if sent.bits.number() | cwr != p.flags.ecn {
                    return fail(Compared::Packet, written(p), got);
                }
                return Ok(());
            }
        }
    }

    fn is_this_ack(&self, p: &Packet, sent: &Sent) -> bool {
        let ack = &sent.ack;
        let blocks = match &p.options {
            Options::Any => true,
            Options::List(options) => {
                let said = options.iter().find_map(|option| match option {
                    TcpOption::Sack(blocks) => Some(blocks.as_slice()),
                    _ => None,
                });
                said.unwrap_or(&[]) == self.blocks(ack)
            }
        };
        blocks
            && p.ack.is_none_or(|number| number == self.plan.inbound.after(ack.seq))
            && p.flags.ecn == sent.bits.number()
            && is_capable(p, sent.ecn)
            && has_option(p, ack)
    }

    fn blocks(&self, ack: &Ack) -> Vec<(u64, u64)> {
        let of = |b: &Block| {
            let cuts = &self.plan.inbound;
            (cuts.after(b.left - 1), cuts.after(b.right - 1))
        };
        ack.blocks[..usize::from(ack.n_blocks)].iter().map(of).collect()
    }

    fn describe(&self, sent: &Sent) -> String {
        let text = match &sent.segment {
            Some(segment) if segment.syn => format!("a SYN{}", named(sent.bits.number())),
            Some(segment) => {
                let (first, last) = self.outbound.of(segment.seq).unwrap_or((0, 0));
                let mut text = format!("data {first}:{last}");
                if segment.retransmit {
                    text += " again";
                }
                text += named(sent.bits.number());
                text
            }
            None => {
                let mut text = format!("an ACK of {}", self.plan.inbound.after(sent.ack.seq));
                for (left, right) in self.blocks(&sent.ack) {
                    let _ = write!(text, ", {left}:{right}");
                }
                text += named(sent.bits.number());
                text
            }
        };
        let ecn =
            if sent.ecn == Codepoint::NotEct { "".into() } else { format!(", {:?}", sent.ecn) };
        let option = sent.ack.option.map_or(String::new(), |option| options(&told_by(&option)));
        text + &ecn + &option
    }
}

/// Returns the peer's SYN, or its answer, as a segment that arrives.
fn syn(bits: Bits, p: &Packet) -> Segment {
    Segment {
        seq: 0,
        syn: true,
        retransmit: false,
        ecn: field(p),
        bits,
        owes_cwr: false,
        push: false,
        stamp: Stamp::NONE,
    }
}

/// Returns the ECN field with which a packet arrives.
fn field(p: &Packet) -> Codepoint {
    match p.ecn {
        Some(EcnField::Is(ecn)) => ecn,
        _ => Codepoint::NotEct,
    }
}

fn is_capable(p: &Packet, ecn: Codepoint) -> bool {
    match p.ecn {
        None => true,
        Some(EcnField::Is(said)) => ecn == said,
        Some(EcnField::Capable) => matches!(ecn, Codepoint::Ect0 | Codepoint::Ect1),
    }
}

/// Whether AccECN's option is the one that a script expects.
fn has_option(p: &Packet, ack: &Ack) -> bool {
    let Options::List(options) = &p.options else { return true };
    let said = options.iter().find_map(|option| match option {
        TcpOption::AccEcn(counters) => Some(*counters),
        _ => None,
    });
    said == ack.option.map(|option| told_by(&option))
}

/// Returns an option's counters: ECT(1), CE, ECT(0).
fn told_by(option: &AccEcnOption) -> [Option<u32>; 3] {
    [Codepoint::Ect1, Codepoint::Ce, Codepoint::Ect0].map(|ecn| option.field(ecn))
}

/// Returns the option with these counters.
fn counted([e1b, ceb, e0b]: &[Option<u32>; 3]) -> AccEcnOption {
    let (order, counters) = match e1b {
        Some(_) => (FieldOrder::Ect1First, [*e1b, *ceb, *e0b]),
        None => (FieldOrder::Ect0First, [*e0b, *ceb, None]),
    };
    let there: Vec<u32> = counters.iter().map_while(|counter| *counter).collect();
    AccEcnOption::new(order, &there)
}

/// Writes AccECN's counters.
fn options(counters: &[Option<u32>; 3]) -> String {
    let names = ["e1b", "ceb", "e0b"].iter().zip(counters);
    names.filter_map(|(name, n)| n.map(|n| format!(", {name} {n}"))).collect()
}

fn named(bits: u8) -> &'static str {
    ["", ", ECE", ", CWR", ", CWR ECE", ", AE", ", AE ECE", ", AE CWR", ", AE CWR ECE"]
        [usize::from(bits & 7)]
}

fn range(from: Time, to: Time) -> String {
    let (from, to) = (from.as_secs_f64(), to.as_secs_f64());
    if from == to {
        format!("{from:.6} s")
    } else {
        format!("{from:.6} to {to:.6} s")
    }
}

/// Writes what a script says of a packet.
fn written(p: &Packet) -> String {
    let mut text = match (p.flags.syn, p.len) {
        (true, _) => "a SYN".to_string(),
        (_, 0) => format!("an ACK of {}", p.ack.unwrap_or(0)),
        (_, len) => format!("data {}:{}", p.start, p.start + len),
    };
    if let Options::List(options) = &p.options {
        for option in options {
            if let TcpOption::Sack(blocks) = option {
                for (left, right) in blocks {
                    let _ = write!(text, ", {left}:{right}");
                }
            }
            if let TcpOption::AccEcn(counters) = option {
                text += &self::options(counters);
            }
        }
    }
    text += named(p.flags.ecn);
    if let Some(EcnField::Is(ecn)) = p.ecn {
        let _ = write!(text, ", {ecn:?}");
    }
    text
}
