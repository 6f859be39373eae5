//! A browser's session: pages whose objects come over parallel connections (RFC 7928, 7.2).
//!
//! A connection asks for an object, gets it, and asks for the next one of the page. The first
//! connection of a session keeps its pages. Without requests the server knows by itself when
//! a connection is free: when the last ACK of its object has come. With them the client says so,
//! when the object's last byte has come, and the object is the client's from then on.
//!
//! A request is one packet to the server. It goes before the handshake of the connection that it
//! opens, instead of after it as in reality. The packets each way and the time of the first byte,
//! two round trips after the request was sent, are the same.

use crate::ends::{self, with_sender};
use crate::flow::{Flow, FlowKind, Tcp, TcpApp};
use crate::network::Network;
use crate::packet::{flag, Pkt};
use crate::pages::Ended;
use crate::sched::Kind;
use crate::session::{Browsing, Connection, ConnectionState, Follows};
use crate::transfers::Transfer;
use penstock_tcp::Ack;
use penstock_units::{Duration, Time};
use std::sync::Arc;

/// A request is not repeated more often than this, whatever the timeouts are.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(1);

/// Returns the connection of a flow that is one.
fn connection(flow: &mut Flow) -> Option<&mut Connection> {
    match &mut flow.kind {
        FlowKind::Tcp(Tcp { app: TcpApp::Browser(c), .. }) => Some(c),
        _ => None,
    }
}

/// Returns the pages of a session; `flow` is its first connection.
fn browsing(flow: &mut Flow) -> Option<&mut Browsing> {
    connection(flow)?.browsing.as_deref_mut()
}

/// A page may begin; a pause or a request's timeout may be over.
pub(crate) fn due(net: &mut Network, flows: &mut [Flow], now: Time, flow: usize) {
    if browsing(&mut flows[flow]).is_some_and(|b| b.next() == now) {
        begin_page(net, flows, now, flow);
    }
    let Some(c) = connection(&mut flows[flow]) else { return };
    if c.due != now {
        return; // overtaken
    }
    c.due = Time::NEVER;
    match c.state {
        ConnectionState::Free => {}
        ConnectionState::Pausing => {
            c.state = ConnectionState::Free;
            hand_out(net, flows, now, flow);
        }
        ConnectionState::Asking | ConnectionState::Fetching => ask_again(net, flows, now, flow),
    }
}

/// A page begins: every connection of the session gets an object.
fn begin_page(net: &mut Network, flows: &mut [Flow], now: Time, first: usize) {
    let Some(c) = connection(&mut flows[first]) else { return };
    let connections = first..first + c.session.connections as usize;
    if !c.browsing.as_deref_mut().is_some_and(|b| b.begin(now)) {
        return;
    }
    for c in flows[connections.clone()].iter_mut().filter_map(connection) {
        // Some may wait for the end of a pause that no object came after.
        (c.state, c.due) = (ConnectionState::Free, Time::NEVER);
    }
    for flow in connections {
        hand_out(net, flows, now, flow);
    }
}

/// A free connection takes the next object of the page, if there is one.
fn hand_out(net: &mut Network, flows: &mut [Flow], now: Time, flow: usize) {
    let Some(c) = connection(&mut flows[flow]) else { return };
    let (session, first) = (Arc::clone(&c.session), flow - c.number as usize);
    let object = browsing(&mut flows[first]).and_then(|b| b.hand_out(now));
    let Some(object) = object else { return };
    let FlowKind::Tcp(t) = &mut flows[flow].kind else { return };
    t.began = now;
    let first_timeout = t.p.rtt.initial_rto.max(SHORTEST_TIMEOUT);
    let TcpApp::Browser(c) = &mut t.app else { return };
    (c.bytes, c.pause) = (object.bytes, object.pause);
    if session.request.is_none() {
        return serve(net, flows, now, flow);
    }
    c.state = ConnectionState::Asking;
    c.asked = c.asked.wrapping_add(1);
    c.timeout = first_timeout;
    ask(net, flows, now, flow);
}

/// The client sends the request, and sets its timer.
fn ask(net: &mut Network, flows: &mut [Flow], now: Time, flow: usize) {
    let Flow { ends, kind: FlowKind::Tcp(t), .. } = &mut flows[flow] else { return };
    let TcpApp::Browser(c) = &mut t.app else { return };
    c.due = now + c.timeout;
    net.sched.push(c.due, Kind::App, flow as u32);
    let open = c.session.persistent && c.answered > 0;
    let ack = if open { t.receiver.carry() } else { Ack { seq: -1, ..Ack::default() } };
    let mut p = Pkt {
        flow: flow as u32,
        bytes: c.session.request.unwrap_or(0) + t.p.header_bytes(),
        host: ends.src,
        route: ends.backward,
        epoch: c.asked,
        flags: flag::REQUEST,
        class: ends.class,
        ..Pkt::BLANK
    };
    p.set_ack(&ack, &mut net.options);
    net.send(now, now, ends.dst, p);
}

/// Nothing has come for the request's timeout: it is sent again, and the timeout doubles (RFC 6298,
/// 5.5).
fn ask_again(net: &mut Network, flows: &mut [Flow], now: Time, flow: usize) {
    let FlowKind::Tcp(t) = &mut flows[flow].kind else { return };
    let longest = t.p.rtt.max_rto;
    let TcpApp::Browser(c) = &mut t.app else { return };
    c.timeout = (c.timeout + c.timeout).min(longest.max(c.timeout));
    c.repeats += u64::from(now >= net.window.0 && now < net.window.1);
    ask(net, flows, now, flow);
}

/// A request arrives at the server.
pub(crate) fn asked(net: &mut Network, flows: &mut [Flow], now: Time, index: u32, p: Pkt) {
    let flow = p.flow as usize;
    let FlowKind::Tcp(t) = &flows[flow].kind else { return net.discard(index) };
    let TcpApp::Browser(c) = &t.app else { return net.discard(index) };
    if !c.awaits(p.epoch) {
        return net.discard(index); // the server has it already
    }
    if p.seq > t.sender.acknowledged() {
        // The ACK of the last object was held back, or lost.
        ends::ack(net, flows, now, index);
    } else {
        net.discard(index);
    }
    serve(net, flows, now, flow);
}

/// The server begins to send an object.
fn serve(net: &mut Network, flows: &mut [Flow], now: Time, flow: usize) {
    let Flow { ends, kind: FlowKind::Tcp(t), rng, .. } = &mut flows[flow] else { return };
    let earlier = (t.sender.given(), t.lacking());
    let TcpApp::Browser(c) = &mut t.app else { return };
    c.state = ConnectionState::Fetching;
    let (bytes, persistent, open) = (c.bytes, c.session.persistent, c.answered > 0);
    if !persistent {
        c.answered = 0;
    }
    c.answered += 1;
    if open && persistent {
        c.earlier = earlier;
        t.keep_open();
    } else if open {
        t.reconnect(ends, rng);
    }
    let segments = t.cut(Some(bytes));
    with_sender(net, flows, now, flow, |s, wire| s.give(now, segments, wire));
}

/// The server has the ACK of the last segment that it was given.
pub(crate) fn acked(
    net: &mut Network,
    flows: &mut [Flow],
    now: Time,
    flow: usize,
    ended: &mut Ended,
) {
    let FlowKind::Tcp(t) = &mut flows[flow].kind else { return };
    t.bytes = None;
    let TcpApp::Browser(c) = &t.app else { return };
    if !c.session.persistent {
        t.sender.stop();
    }
    if c.session.request.is_none() {
        object_done(net, flows, now, flow, ended);
    }
}

/// A segment has come to a host; where requests are sent, it may be the last of an object.
pub(crate) fn received(
    net: &mut Network,
    flows: &mut [Flow],
    now: Time,
    p: Pkt,
    ended: &mut Ended,
) {
    let flow = p.flow as usize;
    let Flow { ends, kind: FlowKind::Tcp(t), .. } = &mut flows[flow] else { return };
    let TcpApp::Browser(c) = &mut t.app else { return };
    if c.session.request.is_none() || c.state != ConnectionState::Fetching || p.epoch != ends.epoch
    {
        return;
    }
    c.due = Time::NEVER;
    if t.receiver.received() > t.last {
        object_done(net, flows, now, flow, ended);
    }
}

/// An object is there: its connection takes another one, or the page is complete.
fn object_done(net: &mut Network, flows: &mut [Flow], now: Time, flow: usize, ended: &mut Ended) {
    let FlowKind::Tcp(t) = &mut flows[flow].kind else { return };
    let took = now.since(t.began);
    let TcpApp::Browser(c) = &mut t.app else { return };
    (c.state, c.due) = (ConnectionState::Free, Time::NEVER);
    ended.transfers.push(Transfer { end: now, flow: flow as u32, bytes: c.bytes, took });
    let (pause, first) = (c.pause, flow - c.number as usize);
    let Some(b) = browsing(&mut flows[first]) else { return };
    match b.arrived(now, first as u32) {
        Follows::Nothing => {}
        Follows::NextPage(page) => {
            ended.pages.push(page);
            net.sched.push(b.next(), Kind::App, first as u32);
        }
        Follows::Another if pause == Duration::ZERO => hand_out(net, flows, now, flow),
        Follows::Another => {
            let Some(c) = connection(&mut flows[flow]) else { return };
            (c.state, c.due) = (ConnectionState::Pausing, now + pause);
            net.sched.push(c.due, Kind::App, flow as u32);
        }
    }
}
