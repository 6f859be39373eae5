//! The two ends of a TCP connection in the network. A segment that arrives is handed to the
//! receiver, an ACK to the sender, and their answers are sent. One event stands for a timer; it is
//! moved only to an earlier time, and looked at again when it comes.

use crate::flow::{Ends, Flow, FlowKind, Tcp, Turn};
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
    last_bytes: u32,
    last: i64,
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
        self.last_bytes + self.p.header_bytes()
    }
}

impl Io for Uplink<'_> {
    #[inline(always)]
    fn send(&mut self, s: Segment, not_before: Time) {
        let whole = !s.syn && s.seq < self.last;
        let bytes = if whole { self.full } else { self.other_bytes(&s) };
        let mut flags = s.ecn as u8;
        flags |= flag::when(s.syn, flag::SYN);
        flags |= flag::when(s.retransmit, flag::RETRANSMIT);
        flags |= flag::when(s.owes_cwr, flag::OWES_CWR);
        flags |= flag::when(s.push, flag::PUSH);
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
        reply_to(net, t, ends, now, index, reply, None, |_| BARE_ACK);
    } else {
        special(net, t, ends, now, index);
    }
}

/// Returns the segment that a packet carries.
#[inline(always)]
fn segment(p: &Pkt) -> Segment {
    let syn = p.is(flag::SYN);
    Segment {
        seq: p.seq,
        syn,
        retransmit: p.is(flag::RETRANSMIT),
        ecn: p.ecn(),
        bits: p.bits,
        owes_cwr: syn && p.is(flag::OWES_CWR),
        push: p.pushes(),
        stamp: p.stamp(),
    }
}

/// The rest.
#[inline(never)]
fn special(net: &mut Network, t: &mut Tcp, ends: Ends, now: Time, index: u32) {
    let s = segment(&net.packets.items[index as usize]);
    let due = t.receiver.deadline();
    let reply = t.receiver.on_special_segment(now, &s);
    let (syn, flow) = (s.syn, net.packets.items[index as usize].flow);
    let at_once = matches!(reply, Reply::Now(_));
    reply_to(net, t, ends, now, index, reply, due, |ack| (ack.bytes(syn), syn));
    if at_once && t.receiver.deadline().is_some() {
        hold_back(net, t, flow, due); // the ACK was an earlier segment's
    }
}

/// The packet at `index` becomes the reply to the segment that it brought. `held`: until when an ACK
/// was held back before. `form` says how long an ACK is, and whether it answers a SYN.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "part of its two callers")]
fn reply_to(
    net: &mut Network,
    t: &mut Tcp,
    ends: Ends,
    now: Time,
    index: u32,
    reply: Reply,
    held: Option<Time>,
    form: impl FnOnce(&Ack) -> (u32, bool),
) {
    match reply {
        Reply::Now(ack) => {
            net.answer(index, &ack, form(&ack), ends.src, ends.backward);
            net.send_up(now, ends.dst, index);
        }
        Reply::Later => {
            hold_back(net, t, net.packets.items[index as usize].flow, held);
            net.discard(index);
        }
    }
}

/// From now on an ACK is held back, or waits with one that was `held` until then before. One event
/// stands for the timer; it is looked at again when it comes, and moved only to an earlier time.
#[inline]
fn hold_back(net: &mut Network, t: &mut Tcp, flow: u32, held: Option<Time>) {
    let due = t.receiver.deadline().unwrap_or(Time::NEVER);
    if held != Some(due) {
        t.held_back = net.sched.present();
    }
    if due < t.ack_timer_at {
        t.ack_timer_at = due;
        net.sched.push(due, Kind::AckTimer, flow);
    }
}

/// A held-back ACK may be due. Where none is, nothing has happened: whether there is an event then
/// depends on what was worked out ahead.
pub(crate) fn ack_timer(net: &mut Network, flows: &mut [Flow], now: Time, flow: usize) {
    net.events -= 1;
    let f = &mut flows[flow];
    let FlowKind::Tcp(t) = &mut f.kind else { return };
    if t.ack_timer_at != now {
        return; // overtaken
    }
    t.ack_timer_at = Time::NEVER;
    if let_go(net, t, f.ends, flow as u32, now) {
        net.events += 1;
    } else if let Some(due) = t.receiver.deadline() {
        // Which event goes first at an instant does not depend on where an older one stood.
        t.ack_timer_at = due;
        net.sched.push_as_of(t.held_back, due, Kind::AckTimer, flow as u32);
    }
}

/// Sends the held-back ACK that is due at `now`. Returns whether there is one.
fn let_go(net: &mut Network, t: &mut Tcp, ends: Ends, flow: u32, now: Time) -> bool {
    let Some(ack) = t.receiver.on_timer(now) else { return false };
    let Ends { src, dst, backward, epoch, class, .. } = ends;
    let index = net.enter(Pkt { flow, epoch, class, ..Pkt::BLANK });
    net.answer(index, &ack, (ack.bytes(false), false), src, backward);
    net.send_up(now, dst, index);
    true
}

/// Returns whether a segment that comes at `at`, to a host that may hold ACKs back, may be worked
/// out now, once those before it are. The timer's event may come before it, and will do nothing.
#[inline]
pub(crate) fn foresees_segment(
    net: &mut Network,
    t: &mut Tcp,
    ends: Ends,
    flow: u32,
    at: Time,
) -> bool {
    match t.receiver.deadline() {
        Some(due) if due <= at => lets_go_before(net, t, ends, flow, due, at),
        _ => true,
    }
}

/// An ACK is held back until `due`, and nothing comes to its host before the segment at `at`: it is
/// sent now. Returns false where both are due at one instant: which goes first their events tell.
#[inline(never)]
fn lets_go_before(
    net: &mut Network,
    t: &mut Tcp,
    ends: Ends,
    flow: u32,
    due: Time,
    at: Time,
) -> bool {
    if due == at {
        return false;
    }
    net.events += 1;
    net.sched.begin_as_of(t.held_back, due);
    let_go(net, t, ends, flow, due)
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
    let Tcp { sender, p, full, last_bytes, last, .. } = t;
    let mut wire = Uplink {
        net: &mut *net,
        now,
        number: flow as u32,
        flow: &fl.ends,
        p,
        full: *full,
        last_bytes: *last_bytes,
        last: *last,
        rng: &mut fl.rng,
    };
    f(sender, &mut wire);
    // One event stands for the timer; it is looked at again when it comes, and moved only to an
    // earlier time.
    let plain = t.sender.is_plain();
    let due = if plain { t.sender.timers().at(Timer::Rtx) } else { t.slow_timer() };
    if due < t.timer_at {
        t.timer_at = due;
        net.sched.push(due, Kind::Timer, flow as u32);
    }
    if !plain {
        let due = t.sender.timers().at(Timer::Release);
        if due != Time::NEVER {
            waits_for_turn(net, t, flow as u32, due);
        }
    }
    t.bytes.is_some() && t.sender.done()
}

/// A sender's next segment may leave at `due`, unless it has a turn before.
fn waits_for_turn(net: &mut Network, t: &mut Tcp, flow: u32, due: Time) {
    let turn = t.turn.get_or_insert_with(|| Box::new(Turn::NONE));
    if due < turn.at {
        (turn.at, turn.since) = (due, net.sched.present());
        if due < turn.event_at {
            turn.event_at = due;
            net.sched.push(due, Kind::Release, flow);
        }
    }
}

/// The event of a sender's turn has come. The turn may have been had, and the next one be later.
pub(crate) fn release(net: &mut Network, flows: &mut [Flow], now: Time, flow: usize) {
    net.events -= 1; // a turn counts, with or without an event
    let FlowKind::Tcp(Tcp { turn: Some(turn), .. }) = &mut flows[flow].kind else { return };
    if turn.event_at != now {
        return; // overtaken
    }
    turn.event_at = Time::NEVER;
    if turn.at == now {
        has_turn(net, flows, now, flow);
    } else if turn.at != Time::NEVER {
        turn.event_at = turn.at;
        net.sched.push_as_of(turn.since, turn.at, Kind::Release, flow as u32);
    }
}

/// Pacing may let a sender's next segment out.
fn has_turn(net: &mut Network, flows: &mut [Flow], now: Time, flow: usize) {
    net.events += 1;
    let FlowKind::Tcp(t) = &mut flows[flow].kind else { return };
    if let Some(turn) = &mut t.turn {
        turn.at = Time::NEVER;
    }
    let due = t.sender.timers().at(Timer::Release);
    if due <= now {
        with_sender(net, flows, now, flow, |s, wire| s.on_timer(now, wire));
    } else if due != Time::NEVER {
        waits_for_turn(net, t, flow as u32, due);
    }
}

/// Returns whether an ACK that comes to a flow's sender at `at` may be worked out now, once those
/// before it are. The turns to send that the sender has until then are.
#[inline(always)]
pub(crate) fn foresees_ack(net: &mut Network, flows: &mut [Flow], flow: usize, at: Time) -> bool {
    let until = net.acks_foreseen_until;
    let FlowKind::Tcp(t) = &mut flows[flow].kind else { return false };
    if at >= until || (t.turn.is_some() && !has_turns_before(net, flows, flow, at, until)) {
        return false;
    }
    let FlowKind::Tcp(t) = &mut flows[flow].kind else { return false };
    t.foresees(at, until, &mut net.events)
}

/// Works out the turns that a sender has before `at`. Returns whether they are all that it has until
/// then.
#[inline(never)]
fn has_turns_before(
    net: &mut Network,
    flows: &mut [Flow],
    flow: usize,
    at: Time,
    until: Time,
) -> bool {
    let present = net.sched.present();
    let all = loop {
        let FlowKind::Tcp(t) = &mut flows[flow].kind else { break false };
        let Some(turn) = t.turn.as_deref().copied() else { break true };
        if turn.at >= at {
            break turn.at > at;
        }
        if !t.foresees(turn.at, until, &mut net.events) {
            break false;
        }
        net.sched.begin_as_of(turn.since, turn.at);
        let due = t.sender.timers().at(Timer::Release);
        if due <= turn.at {
            has_turn(net, flows, turn.at, flow);
        } else {
            // It was put off. The event in the queue still comes before.
            net.events += 1;
            let since = net.sched.present();
            if let Some(turn) = &mut t.turn {
                (turn.at, turn.since) = (due, since);
            }
        }
    };
    net.sched.go_back(present);
    all
}

/// A sender's timer may be due.
pub(crate) fn timer(net: &mut Network, flows: &mut [Flow], now: Time, flow: usize) {
    let FlowKind::Tcp(t) = &mut flows[flow].kind else { return };
    if let Some(passed) = t.passed.as_mut().filter(|passed| passed.first == now) {
        passed.first = Time::NEVER;
        let [before, last] = passed.last;
        if last != now {
            net.sched.begin(last, before);
        }
        net.sched.push(passed.moves_to, Kind::Timer, flow as u32);
        return net.sched.go_on();
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
