//! The metrics of a run, of a traffic group and of a flow, over the measured window. Each row holds
//! its function. The simulator and the router fill the views; the tables do the rest.

use crate::result::{FlowResult, RunResult};
use crate::statistics::{jain, mean, quantile, sum};
use crate::transfers::{self, Completed, Ends};
use crate::video::{VideoView, VIDEO_METRICS};
use penstock_queue::{values, AtLink, LinkView, Of, OfLink};
use penstock_units::joined;

/// Metrics of a run, in the order of [`crate::RunResult::metrics`].
pub const METRICS: &[Of<RunView>] = joined!(PARTS);

const PARTS: &[&[Of<RunView>]] = &[
    OfLink::CARRIED,
    &[GOODPUT],
    OfLink::QUEUE,
    &[JAIN],
    OfLink::COUNTS,
    OF_THE_FLOWS,
    &transfers::rows(),
];

const GOODPUT: Of<RunView> = Of::new(
    "goodput_bps",
    "Goodput",
    "Payload newly acknowledged at the senders of forward FTP flows (in a graph: of those whose \
     data cross the bottleneck), bits per second.",
    |r| sum(r.counted().map(FlowView::goodput)),
);

const JAIN: Of<RunView> = Of::share(
    "jain",
    "Fairness (Jain's index)",
    "Jain's index (Σx)²/(n·Σx²) of the goodputs of the flows that goodput_bps counts, without \
     those of groups with `arrivals`.",
    |r| fairness(r.counted()),
);

/// Metrics of a run that add up what its flows did.
const OF_THE_FLOWS: &[Of<RunView>] = &[
    Of::new(
        "timeouts",
        "Timeouts",
        "Retransmission timeouts with data outstanding, all TCP flows.",
        |r| sum(r.flows.iter().filter_map(FlowView::timeouts)),
    ),
    Of::new("retransmits", "Retransmissions", "Segments sent again, all TCP flows.", |r| {
        sum(r.flows.iter().filter_map(FlowView::retransmits))
    }),
    Of::new(
        "fct_p50_s",
        "Median completion time",
        "Median completion time of the transfers that ended in the window.",
        |r| quantile(&mut seconds(&r.ended), 0.5),
    ),
    Of::new("fct_p99_s", "99th-percentile completion time", "99th percentile of the same.", |r| {
        quantile(&mut seconds(&r.ended), 0.99)
    }),
    Of::new(
        "transfers",
        "Transfers",
        "Byte-limited and web transfers, and chunks of video, that ended in the window.",
        |r| Some(r.ended.len() as f64),
    ),
    Of::new(
        "udp_goodput_bps",
        "Goodput of datagrams",
        "Datagram bits per second delivered to their sinks.",
        |r| sum(r.flows.iter().filter(|f| f.tcp.is_none()).map(FlowView::goodput)),
    ),
];

/// Metrics of a traffic group.
pub const GROUP_METRICS: &[Of<GroupView>] = joined!(PARTS_OF_A_GROUP);

const PARTS_OF_A_GROUP: &[&[Of<GroupView>]] = &[OF_THE_GROUP, &transfers::rows()];

/// Metrics of a group that add up what its flows did.
const OF_THE_GROUP: &[Of<GroupView>] = &[
    Of::new(
        "goodput_bps",
        "Goodput",
        "Payload newly acknowledged (datagrams: delivered), bits per second, sum of the group's \
         flows.",
        |g| sum(g.flows.iter().map(FlowView::goodput)),
    ),
    Of::share("jain", "Fairness (Jain's index)", "Jain's index of the group's goodputs.", |g| {
        fairness(g.flows.iter())
    }),
    Of::new("retransmits", "Retransmissions", "Segments sent again.", |g| {
        sum(g.flows.iter().filter_map(FlowView::retransmits))
    }),
    Of::new("timeouts", "Timeouts", "Retransmission timeouts.", |g| {
        sum(g.flows.iter().filter_map(FlowView::timeouts))
    }),
    Of::new(
        "sent",
        "Packets sent",
        "Segments or datagrams that left the senders in the window, retransmissions included.",
        |g| sum(g.flows.iter().map(|f| f.sent as f64)),
    ),
    Of::new(
        "ecn_cuts",
        "Window cuts for marks",
        "Reductions of the window in answer to marks.",
        |g| sum(g.flows.iter().filter_map(FlowView::cuts)),
    ),
    Of::new(
        "cuts_incipient",
        "Window cuts for incipient marks",
        "Those for multi-level ECN's incipient marks; null without it.",
        |g| sum(g.flows.iter().filter_map(FlowView::cuts_incipient)),
    ),
    Of::new(
        "cuts_moderate",
        "Window cuts for moderate marks",
        "Those for multi-level ECN's moderate marks; null without it.",
        |g| sum(g.flows.iter().filter_map(FlowView::cuts_moderate)),
    ),
    Of::new(
        "fct_mean_s",
        "Mean completion time",
        "Mean completion time of the group's transfers that ended in the window.",
        |g| mean(&seconds(&g.ended)),
    ),
    Of::new("transfers", "Transfers", "Transfers that ended in the window.", |g| {
        Some(g.ended.len() as f64)
    }),
];

/// Metrics of a flow.
pub const FLOW_METRICS: &[Of<FlowView>] = &[
    Of::new(
        "goodput_bps",
        "Goodput",
        "Payload newly acknowledged (datagrams: delivered), bits per second.",
        |f| Some(f.goodput()),
    ),
    Of::new(
        "retransmits",
        "Retransmissions",
        "Segments sent again; null for datagrams.",
        FlowView::retransmits,
    ),
    Of::new(
        "timeouts",
        "Timeouts",
        "Retransmission timeouts; null for datagrams.",
        FlowView::timeouts,
    ),
    Of::new(
        "sent",
        "Packets sent",
        "Segments or datagrams that left the sender in the window, retransmissions included.",
        |f| Some(f.sent as f64),
    ),
    Of::new(
        "ecn_cuts",
        "Window cuts for marks",
        "Reductions of the window in answer to marks; null for datagrams.",
        FlowView::cuts,
    ),
    Of::new(
        "cuts_incipient",
        "Window cuts for incipient marks",
        "Those for multi-level ECN's incipient marks; null without it.",
        FlowView::cuts_incipient,
    ),
    Of::new(
        "cuts_moderate",
        "Window cuts for moderate marks",
        "Those for multi-level ECN's moderate marks; null without it.",
        FlowView::cuts_moderate,
    ),
    Of::share(
        "connections",
        "Connections",
        "1 where the flow's handshake ended in the window, else 0; null for datagrams and web.",
        |f| f.tcp?.connections.map(|n| n as f64),
    ),
    Of::new(
        "srtt_s",
        "Smoothed round-trip time",
        "The smoothed round-trip time of the sender (RFC 6298) at the end of the window; null before \
         the first sample.",
        |f| f.tcp?.srtt_s,
    ),
];

/// What the metrics of a run are computed from.
#[derive(Clone, Debug)]
pub struct RunView {
    /// The bottleneck.
    pub link: LinkView,
    /// All flows.
    pub flows: Vec<FlowView>,
    /// The transfers that ended in the window, in the order of their ends.
    pub ended: Vec<Completed>,
}

/// What the metrics of a traffic group are computed from.
#[derive(Clone, Debug)]
pub struct GroupView {
    /// The group's flows.
    pub flows: Vec<FlowView>,
    /// The group's transfers that ended in the window, in the order of their ends.
    pub ended: Vec<Completed>,
}

/// What the metrics of a flow are computed from.
#[derive(Clone, Debug)]
pub struct FlowView {
    /// Its entry of `[[traffic]]`.
    pub group: u32,
    /// Whether the run's `goodput_bps` and `jain` count it.
    pub counts: bool,
    /// Whether it is one of many transfers that come one after the other.
    pub open_loop: bool,
    /// Length of the window, seconds.
    pub seconds: f64,
    /// Payload newly acknowledged, or bytes of datagrams delivered.
    pub bytes: u64,
    /// Segments or datagrams sent.
    pub sent: u64,
    /// What TCP alone has; `None` for datagrams.
    pub tcp: Option<TcpView>,
    /// What a viewer saw; `None` where nobody watches a video.
    pub video: Option<Box<VideoView>>,
}

/// What a TCP flow did. `None` stands for what is not known of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpView {
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: Option<u32>,
    /// Reductions of the window in answer to marks.
    pub cuts: Option<u32>,
    /// Those for incipient marks; `None` also without multi-level ECN.
    pub cuts_incipient: Option<u32>,
    /// Connections whose handshake ended.
    pub connections: Option<u32>,
    /// The smoothed round-trip time, seconds.
    pub srtt_s: Option<f64>,
}

impl Ends for RunView {
    fn ended(&self) -> &[Completed] {
        &self.ended
    }
}

impl Ends for GroupView {
    fn ended(&self) -> &[Completed] {
        &self.ended
    }
}

impl AtLink for RunView {
    fn link(&self) -> &LinkView {
        &self.link
    }
}

impl RunView {
    /// Returns the flows that the run's goodput counts.
    fn counted(&self) -> impl Iterator<Item = &FlowView> {
        self.flows.iter().filter(|f| f.counts)
    }

    /// Returns the values of [`METRICS`].
    pub fn metrics(&self) -> Vec<Option<f64>> {
        values(METRICS, self)
    }

    /// Returns the values of [`FLOW_METRICS`] for each flow, and those of [`VIDEO_METRICS`] behind
    /// them where it is a video.
    pub fn flow_metrics(&self) -> Vec<FlowResult> {
        let of = |f: &FlowView| {
            let mut metrics = values(FLOW_METRICS, f);
            metrics.extend(f.video.iter().flat_map(|v| values(VIDEO_METRICS, v)));
            FlowResult { group: f.group, metrics }
        };
        self.flows.iter().map(of).collect()
    }

    /// Returns the values of [`GROUP_METRICS`] for each of `groups` groups, and those of
    /// [`VIDEO_METRICS`] behind them where its flows are videos.
    pub fn group_metrics(&self, groups: usize) -> Vec<Vec<Option<f64>>> {
        let of = |group: u32| {
            let flows = self.flows.iter().filter(|f| f.group == group).cloned().collect();
            let mine = |t: &&Completed| self.flows[t.transfer.flow as usize].group == group;
            let ended = self.ended.iter().filter(mine).copied().collect();
            let group = GroupView { flows, ended };
            let mut metrics = values(GROUP_METRICS, &group);
            let videos = group
                .flows
                .iter()
                .filter_map(|f| f.video.as_deref().copied())
                .reduce(VideoView::and);
            metrics.extend(videos.iter().flat_map(|v| values(VIDEO_METRICS, v)));
            metrics
        };
        (0..groups as u32).map(of).collect()
    }
}

impl FlowView {
    fn goodput(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.seconds
    }
    fn retransmits(&self) -> Option<f64> {
        self.tcp.map(|tcp| tcp.retransmits as f64)
    }
    fn timeouts(&self) -> Option<f64> {
        self.tcp?.timeouts.map(|n| n as f64)
    }
    fn cuts(&self) -> Option<f64> {
        self.tcp?.cuts.map(|n| n as f64)
    }
    fn cuts_incipient(&self) -> Option<f64> {
        self.tcp?.cuts_incipient.map(|n| n as f64)
    }
    fn cuts_moderate(&self) -> Option<f64> {
        let tcp = self.tcp?;
        Some((tcp.cuts? - tcp.cuts_incipient?) as f64)
    }
}

/// Values with the names of a table's rows, and of [`VIDEO_METRICS`] where there are more of them.
fn named<'a, V>(
    table: &'a [Of<V>],
    values: &'a [Option<f64>],
) -> impl Iterator<Item = (&'static str, Option<f64>)> + 'a {
    let names = table.iter().map(|m| m.name).chain(VIDEO_METRICS.iter().map(|m| m.name));
    names.zip(values.iter().copied())
}

impl RunResult {
    /// Returns the metrics of group `i` with their names.
    pub fn group(&self, i: usize) -> impl Iterator<Item = (&'static str, Option<f64>)> + '_ {
        named(GROUP_METRICS, &self.groups[i])
    }
}

impl FlowResult {
    /// Returns the flow's metrics with their names.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> + '_ {
        named(FLOW_METRICS, &self.metrics)
    }
}

fn seconds(ended: &[Completed]) -> Vec<f64> {
    ended.iter().map(Completed::seconds).collect()
}

/// Returns Jain's index of flows that last.
fn fairness<'a>(flows: impl Iterator<Item = &'a FlowView>) -> Option<f64> {
    jain(&flows.filter(|f| !f.open_loop).map(FlowView::goodput).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfers::Transfer;
    use penstock_queue::LinkStats;
    use penstock_units::{Duration, Time};

    const FLOW: FlowView = FlowView {
        group: 0,
        counts: true,
        open_loop: false,
        seconds: 2.0,
        bytes: 1000,
        sent: 7,
        tcp: None,
        video: None,
    };

    fn value<V>(table: &[Of<V>], name: &str, view: &V) -> Option<f64> {
        let row = table.iter().find(|m| m.name == name).expect("a metric");
        (row.value)(view)
    }

    /// Of two groups: one TCP flow with multi-level ECN; one datagram source.
    #[test]
    fn groups_and_runs_add_up_their_flows() {
        let tcp = TcpView {
            retransmits: 3,
            timeouts: Some(1),
            cuts: Some(5),
            cuts_incipient: Some(4),
            connections: Some(1),
            srtt_s: None,
        };
        let flows =
            vec![FlowView { tcp: Some(tcp), ..FLOW }, FlowView { group: 1, counts: false, ..FLOW }];
        // Over an empty network each takes half a second.
        let took = |flow, bytes, s| {
            let took = Duration::from_secs_f64(s);
            let transfer = Transfer { end: Time::ZERO, flow, bytes, took };
            Completed { transfer, slowdown: s / 0.5 }
        };
        let ended = vec![took(0, 100_000, 3.0), took(0, 1, 1.0), took(1, 100_001, 8.0)];
        let stats = LinkStats::new(Time::ZERO, Time::from_nanos(2_000_000_000), None);
        let run = RunView { link: LinkView { stats, mean_rate: 1.0 }, flows, ended };
        for (name, want) in [
            ("goodput_bps", Some(4000.0)),
            ("udp_goodput_bps", Some(4000.0)),
            ("retransmits", Some(3.0)),
            ("timeouts", Some(1.0)),
            ("fct_p50_s", Some(3.0)),
            ("fct_p99_s", Some(8.0)),
            ("transfers", Some(3.0)),
            ("slowdown_mean", Some(8.0)),
            ("slowdown_p99", Some(16.0)),
            ("fct_short_mean_s", Some(2.0)),
            ("fct_short_p99_s", Some(3.0)),
            ("slowdown_short_p99", Some(6.0)),
            ("fct_medium_mean_s", Some(8.0)),
            ("fct_medium_p99_s", Some(8.0)),
            ("slowdown_medium_p99", Some(16.0)),
            ("fct_long_mean_s", None),
            ("fct_long_p99_s", None),
            ("slowdown_long_p99", None),
            ("jain", Some(1.0)),
            ("arrivals", Some(0.0)),
        ] {
            assert_eq!(value(METRICS, name, &run), want, "{name}");
        }
        let groups = run.group_metrics(2);
        let place = |name| GROUP_METRICS.iter().position(|m| m.name == name).expect("a metric");
        for (name, want) in [
            ("cuts_moderate", [Some(1.0), None]),
            ("retransmits", [Some(3.0), None]),
            ("sent", [Some(7.0), Some(7.0)]),
            ("fct_mean_s", [Some(2.0), Some(8.0)]),
            ("slowdown_mean", [Some(4.0), Some(16.0)]),
            ("fct_short_mean_s", [Some(2.0), None]),
        ] {
            assert_eq!([groups[0][place(name)], groups[1][place(name)]], want, "{name}");
        }
    }

    #[test]
    fn names_are_given_once() {
        let mut names: Vec<&str> = METRICS.iter().map(|m| m.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
    }
}
