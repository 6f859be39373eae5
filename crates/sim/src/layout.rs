//! Facts that the engine derives from a configuration before it runs.

use crate::access;
use crate::config::{App, Config, Tap};
use crate::host::Part;
use penstock_queue::{LinkConfig, Schedule};
use penstock_units::Duration;

/// Returns whether anything may be worked out ahead of time. Not where packets are captured as they
/// come, nor where a link sends at opportunities: several packets share one, so that they come to
/// the same place at the same instant, in an order that only their events can tell.
pub(crate) fn foresees(c: &Config) -> bool {
    let opportunities = |l: &LinkConfig| matches!(l.schedule, Schedule::Trace(_));
    c.record.pcap.is_none() && !c.links.iter().any(opportunities)
}

/// Returns whether the flows are too many for the processor's caches. The engine then asks for what
/// it will need: a packet would else wait for memory several times.
pub(crate) fn crowded(c: &Config) -> bool {
    c.flows.len() > 2048
}

/// Returns what is known of each host before the run.
pub(crate) fn parts(c: &Config, foresees: bool) -> Vec<Part> {
    const NONE: u32 = u32::MAX;
    let mut feeder: Vec<Option<u32>> = vec![None; c.hosts.len()];
    let part = Part { answers: foresees, near: true, ..Part::default() };
    let mut parts = vec![part; c.hosts.len()];
    let mut feed = |host: u32, route: u16| {
        let links = &c.routes[usize::from(route)];
        let last = links.last().copied().unwrap_or(NONE);
        parts[host as usize].near &= links.len() == 1;
        let f = &mut feeder[host as usize];
        // Without a link in between, packets come from other hosts' access links. What may overtake
        // each other on the way has to come in the order of its arrivals.
        let reorders = c.links.get(last as usize).is_some_and(LinkConfig::reorders);
        if last == NONE || reorders || f.is_some_and(|x| x != last) {
            parts[host as usize].merges = true;
        }
        *f = Some(last);
    };
    for f in &c.flows {
        feed(f.dst, f.forward);
        feed(f.src, f.backward);
    }
    let senders = senders(c);
    for f in &c.flows {
        parts[f.src as usize].answers = false;
        let dst = &mut parts[f.dst as usize];
        let (at_once, held_back) = match &f.app {
            App::Ftp { tcp, .. } | App::Video { tcp, .. } => (!tcp.delayed_ack, tcp.delayed_ack),
            // A session's next object begins at its sender, which starts both ends afresh.
            App::Web { .. } | App::Browser { .. } => (false, false),
            App::Udp { .. } | App::Replay { .. } => (true, false),
        };
        // With another flow's ACKs in between those held back are sent in their turn.
        dst.holds_back = foresees && held_back && senders[f.dst as usize] == 1;
        dst.answers &= at_once;
    }
    for ((part, queues), n) in parts.iter_mut().zip(access::queues(c)).zip(senders) {
        part.near &= !part.merges;
        part.answers &= !part.merges;
        part.holds_back &= !part.merges;
        part.queues = queues;
        part.shared = n > 1;
    }
    parts
}

/// For each host, how many flow ends send from it.
pub(crate) fn senders(c: &Config) -> Vec<u32> {
    let mut n = vec![0; c.hosts.len()];
    for f in &c.flows {
        n[f.src as usize] += 1;
        n[f.dst as usize] += u32::from(f.app.tcp().is_some());
    }
    n
}

/// Returns whether what comes to the first link of the only datagram source's route is all its own.
pub(crate) fn lone(c: &Config, route: u16) -> bool {
    let first = c.routes[usize::from(route)].first();
    let passes = |route: u16| c.routes[usize::from(route)].iter().any(|link| Some(link) == first);
    !c.flows.iter().any(|f| f.app.tcp().is_some() && (passes(f.forward) || passes(f.backward)))
}

/// The captured link and its opposite.
pub(crate) fn capture_links(c: &Config) -> [u32; 2] {
    let Some(Tap { link, .. }) = c.record.pcap else { return [u32::MAX; 2] };
    [link, c.links[link as usize].opposite.unwrap_or(u32::MAX)]
}

/// The wheel's geometry: slots of about one packet time of the fastest link that carries traffic,
/// enough of them to hold the longest hop. Speed depends on it, results do not.
pub(crate) fn geometry(c: &Config) -> (u32, usize) {
    let bps = c.links.iter().map(|l| l.rate.as_bps()).max().unwrap_or(1_000_000);
    let packet = Duration::from_nanos((1000 * 8 * 1_000_000_000u64 / bps).clamp(1 << 8, 1 << 22));
    // Few packets a slot: one alone needs no sorting. With many flows the engine looks ahead in it.
    let shift = 63 - packet.as_ticks().leading_zeros() - 1 + 2 * u32::from(crowded(c));
    let hop = c.links.iter().map(|l| l.delay.as_ticks()).max().unwrap_or(0);
    let slots = ((hop * 4) >> shift).clamp(1 << 8, 1 << 14) as usize;
    (shift, slots)
}
