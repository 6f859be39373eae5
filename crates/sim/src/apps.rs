//! The applications: long transfers, web sessions, videos, datagrams.

use crate::batch;
use crate::browser;
use crate::ends::with_sender;
use crate::flow::{Flow, FlowKind, TcpApp, Udp};
use crate::lone;
use crate::network::Network;
use crate::packet::{flag, Pkt};
use crate::pages::Ended;
use crate::sched::{Event, Kind};
use crate::transfers::Transfer;
use penstock_queue::Link;
use penstock_units::Time;

/// Schedules what starts by itself.
pub(crate) fn begin(net: &mut Network, flows: &mut [Flow]) {
    let mut datagrams = vec![];
    for (i, f) in flows.iter_mut().enumerate() {
        let i = i as u32;
        match &mut f.kind {
            FlowKind::Tcp(t) => {
                let (start, stop) = match &t.app {
                    TcpApp::Ftp { stop, early } => {
                        if let Some(early) = early {
                            net.sched.push(t.began.before(early.ahead), Kind::App, i);
                        }
                        (t.began, (*stop != Time::NEVER).then_some(*stop))
                    }
                    TcpApp::Web(w) => (w.start, None),
                    // The first connection begins for all of its session.
                    TcpApp::Browser(c) if c.browsing.is_none() => continue,
                    TcpApp::Browser(c) => (c.session.start, None),
                    TcpApp::Video(v) => (v.start, None),
                };
                net.sched.push(start, Kind::App, i);
                if let Some(stop) = stop {
                    net.sched.push(stop, Kind::App, i);
                }
            }
            FlowKind::Udp(u) => {
                if let Some(t) = u.begin(&mut f.rng) {
                    datagrams.push((t, i as usize));
                }
            }
        }
    }
    for (t, i) in datagrams {
        udp_next(net, flows, Time::ZERO, t, i, Time::ZERO);
    }
}

/// An application starts, stops or fetches its next object.
pub(crate) fn app(net: &mut Network, flows: &mut [Flow], now: Time, flow: usize) {
    let f = &mut flows[flow];
    let FlowKind::Tcp(t) = &mut f.kind else { return };
    match &mut t.app {
        TcpApp::Ftp { stop, early } => {
            if now == *stop && now > t.began {
                t.sender.stop();
            } else if now == t.began {
                let bytes = t.bytes;
                if t.sender.given() > 0 && t.sender.done() {
                    t.keep_open();
                }
                transfer(net, flows, now, flow, bytes);
            } else if let Some(early) = early {
                let bytes = early.bytes;
                greet(net, flows, now, flow, bytes);
            }
        }
        TcpApp::Web(w) => {
            let Some((bytes, again)) = w.next(now, &mut f.rng) else { return };
            if again {
                // A connection of its own for every object.
                t.reconnect(&mut f.ends, &mut f.rng);
            }
            transfer(net, flows, now, flow, Some(bytes));
        }
        TcpApp::Browser(_) => browser::due(net, flows, now, flow),
        TcpApp::Video(v) => {
            if let Some(bytes) = v.next(now) {
                fetch(net, flows, now, flow, bytes);
            }
        }
    }
}

/// A chunk of a video begins, on a connection that stays open. It is cut into whole segments.
fn fetch(net: &mut Network, flows: &mut [Flow], now: Time, flow: usize, bytes: u64) {
    let FlowKind::Tcp(t) = &mut flows[flow].kind else { return };
    let segment = u64::from(t.p.segment_bytes());
    let segments = bytes.div_ceil(segment).max(1);
    t.began = now;
    t.bytes = Some(segments * segment);
    with_sender(net, flows, now, flow, |s, wire| s.give(now, segments, wire));
}

/// A flow connects before its transfer begins, and sends `bytes`.
fn greet(net: &mut Network, flows: &mut [Flow], now: Time, flow: usize, bytes: u64) {
    let FlowKind::Tcp(t) = &mut flows[flow].kind else { return };
    let segments = t.cut(Some(bytes));
    t.bytes = None; // nobody waits for its end
    with_sender(net, flows, now, flow, |s, wire| s.give(now, segments, wire));
}

/// A transfer of `bytes`, or without end, begins.
fn transfer(net: &mut Network, flows: &mut [Flow], now: Time, flow: usize, bytes: Option<u64>) {
    let FlowKind::Tcp(t) = &mut flows[flow].kind else { return };
    t.began = now;
    let segments = t.cut(bytes);
    with_sender(net, flows, now, flow, |s, wire| s.give(now, segments, wire));
}

/// Ends the transfer of a flow whose last segment was acknowledged.
pub(crate) fn transfer_done(
    net: &mut Network,
    flows: &mut [Flow],
    now: Time,
    flow: usize,
    ended: &mut Ended,
) {
    let f = &mut flows[flow];
    let FlowKind::Tcp(t) = &mut f.kind else { return };
    if let TcpApp::Browser(_) = t.app {
        return browser::acked(net, flows, now, flow, ended);
    }
    let bytes = t.bytes.take().unwrap_or(0);
    let took = now.since(t.began);
    let wait = match &mut t.app {
        TcpApp::Video(v) => Some(v.arrived(now, bytes, took)),
        TcpApp::Web(w) => Some(w.arrived(&mut f.rng)),
        TcpApp::Ftp { .. } | TcpApp::Browser(_) => None,
    };
    // A video's chunks share a connection.
    if !matches!(t.app, TcpApp::Video(_)) {
        t.sender.stop();
    }
    if let Some(wait) = wait {
        net.sched.push(now + wait, Kind::App, flow as u32);
    }
    ended.transfers.push(Transfer { end: now, flow: flow as u32, bytes, took });
}

/// A datagram source's packet leaves its host; where the host is the source's own, it has already
/// crossed the access link and reaches the first link of its route, which saves an event.
#[inline]
pub(crate) fn udp(
    net: &mut Network,
    links: &mut [Link],
    flows: &mut [Flow],
    event: &Event,
    flow: usize,
) {
    let now = event.time();
    if lone::is_all(net, &flows[flow]) {
        return lone::arrive(net, links, flows, now, flow);
    }
    let f = &mut flows[flow];
    let FlowKind::Udp(u) = &mut f.kind else { return };
    let p = datagram(u, flow, f.ends.dst, f.ends.forward, f.ends.class);
    let (own_host, foreseen) = (u.own_host, u.foreseen);
    let after = u.after(&mut f.rng);
    if own_host {
        let (link, index) = (net.routes.at(p.route, 0), net.enter_ahead(p));
        batch::arrive(net, links, flows, event, link, index);
    } else {
        net.send(now, now, f.ends.src, p);
    }
    let Some(leaves) = after else { return };
    let until = if foreseen { net.foresight(now, p.route) } else { now };
    udp_next(net, flows, now, leaves, flow, until);
}

/// Makes a source's next packet.
#[inline]
fn datagram(u: &mut Udp, flow: usize, host: u32, route: u16, class: u8) -> Pkt {
    u.sent += 1;
    let flags = flag::DATAGRAM;
    Pkt { flow: flow as u32, bytes: u.bytes, host, route, class, flags, ..Pkt::BLANK }
}

/// Schedules, at `now`, a datagram source's next packet, which leaves its host at `leaves`. Packets
/// that come to their first link before `until` need no event: they go to its inbox.
#[inline]
pub(crate) fn udp_next(
    net: &mut Network,
    flows: &mut [Flow],
    mut now: Time,
    leaves: Time,
    flow: usize,
    until: Time,
) {
    let Flow { ends, kind: FlowKind::Udp(u), rng, .. } = &mut flows[flow] else { return };
    let mut next = Some(leaves);
    while let Some(leaves) = next {
        let at = if u.own_host {
            if let Some(one_way) = &mut net.one_way {
                one_way.leaves_ahead(leaves, flow);
            }
            net.hosts[ends.src as usize].up.send(leaves, u.bytes, net.window)
        } else {
            Some(leaves)
        };
        let Some(at) = at else {
            // Its own access link is full.
            u.sent += 1;
            if let Some(one_way) = &mut net.one_way {
                one_way.lost_ahead(leaves, flow);
            }
            next = u.after(rng).filter(|t| *t < net.end);
            continue;
        };
        if at >= until {
            net.sched.push(at, Kind::Udp, flow as u32);
            return;
        }
        let p = datagram(u, flow, ends.dst, ends.forward, ends.class);
        next = u.after(rng);
        net.foresee(at, p);
        net.sched.begin(at, now);
        now = at;
    }
}
