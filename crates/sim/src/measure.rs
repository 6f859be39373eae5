//! Reads off a run what its metrics and series are computed from.

use crate::flow::{Flow, FlowKind, Snapshot, Tcp, TcpApp, Udp};
use crate::metrics::{FlowView, TcpView};
use crate::series::FlowSeries;
use penstock_tcp::Ecn;
use penstock_units::Time;

/// Keeps what the flows have counted when the measured window begins.
pub(crate) fn begin(flows: &mut [Flow]) {
    for f in flows {
        if let FlowKind::Tcp(t) = &mut f.kind {
            t.window = t.snapshot();
        }
    }
}

/// Keeps instead what they have counted since then: the window ends.
pub(crate) fn end(flows: &mut [Flow]) {
    for f in flows {
        if let FlowKind::Tcp(t) = &mut f.kind {
            t.window = t.snapshot().since(t.window);
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

/// Returns what a flow did within a window.
pub(crate) fn flow_view(f: &Flow, (from, to): (Time, Time)) -> FlowView {
    let view = FlowView {
        group: f.group,
        counts: f.counts,
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
    let Snapshot { acked_bytes, counters, connected, srtt_s } = t.window;
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
