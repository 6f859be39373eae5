//! The two ends of a TCP connection in the network. A segment that arrives is handed to the
//! receiver, an ACK to the sender, and their answers are sent. One event stands for a timer; it is
//! moved only to an earlier time, and looked at again when it comes.

use crate::flow::{Ends, Flow, FlowKind, Tcp};
use crate::network::Network;
use crate::packet::{flag, Pkt};
use crate::sched::Kind;
use penstock_tcp::{Ack, Io, Reply, Segment, Sender, TcpParams, Timer};
use penstock_units::{Rng, Time};

/// An ACK without options, and not of a SYN.
const BARE_ACK: (u32, bool) = (40, false);

/// What a sender sends through: the network, and what its packets have in common.
pub(crate) struct Uplink<'a> {
    net: &'a mut Network,
    now: Time,
    number: u32,
    flow: &'a Ends,
    p: &'a TcpParams,
    /// The bytes of a full segment, and the last one of the transfer with its payload.
    full: u32,
    last: (i64, u32),
    rng: &'a mut Rng,
}

impl Uplink<'_> {
    /// The bytes of a SYN, or of the last segment.
    #[cold]
    #[inline(never)]
    fn other_bytes(&self, s: &Segment) -> u32 {
        if s.syn {
            // A SYN has its own length, whatever a data segment's header counts.
            return self.p.syn_bytes();
        }
        self.last.1 + self.p.header_bytes()
    }
}

impl Io for Uplink<'_> {
    #[inline(always)]
    fn send(&mut self, s: Segment, not_before: Time) {
        let whole = !s.syn && s.seq < self.last.0;
        let bytes = if whole { self.full } else { self.other_bytes(&s) };
        let mut flags = s.ecn as u8;
        flags |= flag::when(s.syn, flag::SYN);
        flags |= flag::when(s.retransmit, flag::RETRANSMIT);
        flags |= flag::when(s.owes_cwr, flag::OWES_CWR);
        let p = Pkt {
            seq: s.seq,
            flow: self.number,
            bytes,
            host: self.flow.dst,
            route: self.flow.forward,
            epoch: self.flow.epoch,
            flags,
            class: self.flow.class,
            bits: s.bits,
            options: s.stamp.number(),
            ..Pkt::BLANK
        };
        self.net.send(self.now, not_before, self.flow.src, p);
    }

    fn random(&mut self) -> f64 {
        self.rng.unit()
    }
}

/// A segment or datagram at its receiver.
#[inline]
pub(crate) fn data(net: &mut Network, flows: &mut [Flow], now: Time, index: u32) {
    let p = &net.packets.items[index as usize];
    let f = &mut flows[p.flow as usize];
    let t = match &mut f.kind {
        FlowKind::Tcp(t) => t,
        FlowKind::Udp(u) => {
            u.arrives(Some(now), p.bytes, net.window);
            return net.discard(index);
        }
    };
    if p.epoch != f.ends.epoch {
        return net.discard(index); // of an earlier connection
    }
    let ends = f.ends;
    if t.receiver.is_plain(p.is(flag::SYN)) {
        let reply = t.receiver.on_plain_segment(now, &segment(p));
        reply_to(net, t, ends, now, index, reply, |_| BARE_ACK);
    } else {
        special(net, t, ends, now, index);
    }
}

/// Returns the segment that a packet carries.
#[inline(always)]
fn segment(p: &Pkt) -> Segment {
    Segment {
        seq: p.seq,
        syn: p.is(flag::SYN),
        retransmit: p.is(flag::RETRANSMIT),
        ecn: p.ecn(),
        bits: p.bits,
        owes_cwr: p.is(flag::OWES_CWR),
        stamp: p.stamp(),
    }
}

/// The rest.
#[inline(never)]
fn special(net: &mut Network, t: &mut Tcp, ends: Ends, now: Time, index: u32) {
    let s = segment(&net.packets.items[index as usize]);
    let reply = t.receiver.on_segment(now, &s);
    let syn = s.syn;
    reply_to(net, t, ends, now, index, reply, |ack| (ack.bytes(syn), syn));
}

/// The packet at `index` becomes the reply to the segment that it brought. `form` says how long an
/// ACK is, and whether it answers a SYN.
#[inline(always)]
fn reply_to(
    net: &mut Network,
    t: &mut Tcp,
    ends: Ends,
    now: Time,
    index: u32,
    reply: Reply,
    form: impl FnOnce(&Ack) -> (u32, bool),
) {
    match reply {
        Reply::Now(ack) => {
            net.answer(index, &ack, form(&ack), ends.src, ends.backward);
            net.send_up(now, ends.dst, index);
        }
        Reply::Later => {
            let due = t.receiver.deadline().unwrap_or(Time::NEVER);
            if due < t.ack_timer_at {
                t.ack_timer_at = due;
                let flow = net.packets.items[index as usize].flow;
                net.sched.push(due, Kind::AckTimer, flow);
            }
            net.discard(index);
        }
    }
}

/// A held-back ACK may be due.
pub(crate) fn ack_timer(net: &mut Network, flows: &mut [Flow], now: Time, flow: usize) {
    let f = &mut flows[flow];
    let FlowKind::Tcp(t) = &mut f.kind else { return };
    if t.ack_timer_at != now {
        return; // overtaken
    }
    t.ack_timer_at = Time::NEVER;
    if let Some(ack) = t.receiver.on_timer(now) {
        let (epoch, class) = (f.ends.epoch, f.ends.class);
        let p = Pkt { flow: flow as u32, epoch, class, ..Pkt::BLANK };
        let index = net.enter(p);
        net.answer(index, &ack, (ack.bytes(false), false), f.ends.src, f.ends.backward);
        net.send_up(now, f.ends.dst, index);
    } else if let Some(due) = t.receiver.deadline() {
        t.ack_timer_at = due;
        net.sched.push(due, Kind::AckTimer, flow as u32);
    }
}

/// An ACK at its sender, or a request with one. Returns the flow whose transfer it completes. A
/// function of its own, with all that is done there: inlined where ACKs come from, it keeps fewer
/// values in registers. The one place that calls [`Sender::on_ack`], which is thus part of it.
#[inline(never)]
pub(crate) fn ack(net: &mut Network, flows: &mut [Flow], now: Time, index: u32) -> Option<usize> {
    let p = &net.packets.items[index as usize];
    let ack = p.ack(&net.options);
    let flow = p.flow as usize;
    let earlier = flows[flow].ends.epoch != p.epoch && !p.is(flag::REQUEST);
    net.discard(index);
    if earlier {
        return None; // of an earlier connection
    }
    with_sender(net, flows, now, flow, |s, wire| s.on_ack(now, &ack, wire)).then_some(flow)
}

/// Lets `f` work on a flow's sender, then looks after its timer. Returns whether the transfer is
/// complete.
#[inline(always)]
pub(crate) fn with_sender(
    net: &mut Network,
    flows: &mut [Flow],
    now: Time,
    flow: usize,
    f: impl FnOnce(&mut Sender, &mut Uplink<'_>),
) -> bool {
    let fl = &mut flows[flow];
    let FlowKind::Tcp(t) = &mut fl.kind else { return false };
    let Tcp { sender, p, full, last, .. } = t;
    let mut wire = Uplink {
        net: &mut *net,
        now,
        number: flow as u32,
        flow: &fl.ends,
        p,
        full: *full,
        last: *last,
        rng: &mut fl.rng,
    };
    f(sender, &mut wire);
    // One event stands for the timer; it is looked at again when it comes, and moved only to an
    // earlier time.
    let due = t.slow_timer();
    if due < t.timer_at {
        t.timer_at = due;
        net.sched.push(due, Kind::Timer, flow as u32);
    }
    let due = t.sender.timers().at(Timer::Release);
    if due < t.release_at {
        t.release_at = due;
        net.sched.push(due, Kind::Release, flow as u32);
    }
    t.bytes.is_some() && t.sender.done()
}

/// Pacing may let a sender's next segment out.
pub(crate) fn release(net: &mut Network, flows: &mut [Flow], now: Time, flow: usize) {
    let FlowKind::Tcp(t) = &mut flows[flow].kind else { return };
    t.release_at = Time::NEVER;
    let due = t.sender.timers().at(Timer::Release);
    if due <= now {
        with_sender(net, flows, now, flow, |s, wire| s.on_timer(now, wire));
    } else if due != Time::NEVER {
        t.release_at = due;
        net.sched.push(due, Kind::Release, flow as u32);
    }
}

/// A sender's timer may be due.
pub(crate) fn timer(net: &mut Network, flows: &mut [Flow], now: Time, flow: usize) {
    let FlowKind::Tcp(t) = &mut flows[flow].kind else { return };
    if t.passed_over == now {
        t.passed_over = Time::NEVER;
        return net.sched.push(t.moves_to, Kind::Timer, flow as u32);
    }
    if t.timer_at != now {
        return; // overtaken by an earlier one
    }
    t.timer_at = Time::NEVER;
    let due = t.slow_timer();
    if due <= now {
        with_sender(net, flows, now, flow, |s, wire| s.on_timer(now, wire));
    } else if due != Time::NEVER {
        t.timer_at = due;
        net.sched.push(due, Kind::Timer, flow as u32);
    }
}
