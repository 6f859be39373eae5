//! Reads off a run what its metrics and series are computed from.

use crate::access::AccessLink;
use crate::flow::{Ends, Flow, FlowKind, Snapshot, Tcp, TcpApp, Udp};
use crate::host::Host;
use crate::metrics::{FlowView, TcpView};
use crate::observe::{SenderState, Sent};
use crate::routes::Routes;
use crate::series::FlowSeries;
use penstock_queue::Queued;
use penstock_tcp::Ecn;
use penstock_units::Time;

/// Keeps what the flows have counted when the measured window begins.
pub(crate) fn begin(flows: &mut [Flow]) {
    for f in flows {
        if let FlowKind::Tcp(t) = &mut f.kind {
            t.window = t.snapshot().kept();
        }
    }
}

/// Keeps instead what they have counted since then: the window ends.
pub(crate) fn end(flows: &mut [Flow]) {
    for f in flows {
        if let FlowKind::Tcp(t) = &mut f.kind {
            t.window = t.snapshot().since(t.in_window()).kept();
        }
    }
}

/// Adds a row per TCP flow to the series.
pub(crate) fn sample(flows: &[Flow], series: &mut FlowSeries, now: Time) {
    let t_s = now.as_secs_f64();
    for (i, f) in flows.iter().enumerate() {
        let FlowKind::Tcp(t) = &f.kind else { continue };
        let s = &t.sender;
        series.cwnd[0].push(t_s);
        series.cwnd[1].push(s.cwnd());
        series.cwnd[2].push(s.ssthresh());
        series.cwnd_flow.push(i as u64);
        series.acked.push(t.acked_bytes());
        series.models.sample(t_s, i as u64, s, t.p.segment_bytes());
        if let Some(rtt) = s.rtt() {
            series.rtt[0].push(t_s);
            series.rtt[1].push(rtt.as_secs_f64());
            series.rtt_flow.push(i as u64);
        }
    }
}

/// Returns how a flow's sender stands; `None` for datagrams.
pub(crate) fn sender(f: &Flow) -> Option<SenderState> {
    let FlowKind::Tcp(t) = &f.kind else { return None };
    let s = &t.sender;
    Some(SenderState {
        cwnd: s.cwnd(),
        ssthresh: s.ssthresh(),
        srtt_s: s.srtt(),
        pacing_bps: s.pacing_rate(),
        done: Sent { acked_bytes: t.acked_bytes(), counters: s.counters() },
    })
}

/// Returns what a flow did within a window.
pub(crate) fn flow_view(f: &Flow, (from, to): (Time, Time)) -> FlowView {
    let view = FlowView {
        group: f.group,
        counts: f.counts,
        open_loop: f.open_loop,
        seconds: to.since(from).as_secs_f64(),
        bytes: 0,
        sent: 0,
        tcp: None,
        video: None,
    };
    match &f.kind {
        FlowKind::Tcp(t) => {
            let video = match &t.app {
                TcpApp::Video(v) => Some(Box::new(v.view(from, to))),
                _ => None,
            };
            tcp_view(t, FlowView { video, ..view })
        }
        FlowKind::Udp(u) => udp_view(u, view),
    }
}

fn udp_view(u: &Udp, view: FlowView) -> FlowView {
    FlowView { bytes: u.delivered, sent: u.sent_in_window(), ..view }
}

fn tcp_view(t: &Tcp, view: FlowView) -> FlowView {
    let Snapshot { acked_bytes, counters, connected, srtt_s } = t.in_window();
    let one_connection = matches!(t.app, TcpApp::Ftp { .. } | TcpApp::Video(_));
    let tcp = TcpView {
        retransmits: counters.retransmits,
        timeouts: Some(counters.timeouts),
        cuts: Some(counters.ecn_cuts),
        cuts_incipient: (t.p.ecn == Ecn::Mecn).then_some(counters.cuts_incipient),
        connections: one_connection.then_some(u32::from(connected && t.p.handshake)),
        srtt_s,
    };
    FlowView { bytes: acked_bytes, sent: counters.sent, tcp: Some(tcp), ..view }
}

/// Returns the queues at access links that were measured, and with each the longest mean delay on its flow's way.
/// What flows share is the first one's.
///
/// `delays`: of each link its mean delay, where it is measured and packets left it.
pub(crate) fn at_access_links<'a>(
    flows: &'a [Flow],
    hosts: &'a [Host],
    routes: &'a Routes,
    delays: &'a [Option<f64>],
) -> impl Iterator<Item = (AccessLink, Queued, Option<f64>)> + 'a {
    let mut seen = vec![false; hosts.len()];
    let mut before = (None, 0);
    flows.iter().flat_map(move |f| {
        // The flows of a group follow each other.
        let number = if before.0 == Some(f.group) { before.1 + 1 } else { 0 };
        before = (Some(f.group), number);
        let Ends { src, dst, forward, backward, .. } = f.ends;
        let links = [forward, backward].into_iter().flat_map(|route| routes.links(route));
        let way = links.filter_map(|link| delays[link as usize]).reduce(f64::max);
        let ends = [(src, true), (dst, false)].map(|(host, sender)| {
            (host, sender, std::mem::replace(&mut seen[host as usize], true))
        });
        ends.into_iter().filter(|(.., seen)| !seen).flat_map(move |(host, sender, _)| {
            let Host { up, down } = &hosts[host as usize];
            [(up, true), (down, false)].into_iter().filter_map(move |(pipe, up)| {
                let link = AccessLink { group: Some(f.group), flow: number, sender, up };
                Some((link, pipe.queued()?, way))
            })
        })
    })
}
