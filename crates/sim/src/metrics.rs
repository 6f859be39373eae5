//! The metrics, declared once: what each is, exactly. All are over the measured window, at the
//! bottleneck.

use crate::result::Metric;
use crate::stats::{seconds, LinkStats};

const fn m(name: &'static str, doc: &'static str) -> Metric {
    Metric { name, doc }
}

/// Metrics of a run, in the order of [`crate::RunResult::metrics`].
pub const METRICS: &[Metric] = &[
    m("throughput_bps", "Bits per second that left the bottleneck's queue, headers included."),
    m(
        "goodput_bps",
        "Payload newly acknowledged at the senders of forward FTP flows (in a graph: of those whose data cross the bottleneck), bits per second.",
    ),
    m("utilization", "throughput_bps over the link's rate (its mean over the window, where it changes). A packet counts when its transmission starts: a window of few packets may show more than 1."),
    m("queue_mean_pkts", "Waiting packets, time-weighted mean; the packet in transmission does not count."),
    m("queue_sd_pkts", "Waiting packets, time-weighted standard deviation."),
    m("queue_p99_pkts", "Queue length that was not exceeded for 99 % of the time."),
    m(
        "avg_queue_mean_pkts",
        "The discipline's own average queue, time-weighted mean; null where it keeps none.",
    ),
    m(
        "delay_mean_s",
        "Queueing delay, from arrival to the start of transmission: mean over the packets that left.",
    ),
    m("delay_p50_s", "Median queueing delay (to 0.4 %)."),
    m("delay_p99_s", "99th percentile of the queueing delay (to 0.4 %)."),
    m("delay_var_s2", "Variance of the queueing delay."),
    m(
        "delay_variation_s",
        "Mean absolute difference of consecutive departures' queueing delays (RFC 3550's D).",
    ),
    m("data_delay_mean_s", "delay_mean_s of data packets alone, without ACKs."),
    m("data_delay_var_s2", "delay_var_s2 of data packets alone."),
    m("loss_ratio", "Packets dropped at the queue over packets that arrived, ACKs included. Where waiting packets are dropped (CoDel), a short window may show more than 1."),
    m("data_loss_ratio", "loss_ratio of data packets alone."),
    m("drops_early", "Packets dropped by the gate."),
    m("drops_forced", "Packets dropped by a full threshold: the average beyond the end of the profile."),
    m("drops_overflow", "Packets dropped by a full buffer."),
    m("marks_incipient", "Packets marked here with the first level of multi-level ECN that left."),
    m("marks_ce", "Packets marked CE here that left."),
    m("jain", "Jain's index (Σx)²/(n·Σx²) of the goodputs of the flows that goodput_bps counts."),
    m("arrivals", "Packets that arrived at the queue."),
    m("departures", "Packets that left the queue."),
    m("timeouts", "Retransmission timeouts with data outstanding, all TCP flows."),
    m("retransmits", "Segments sent again, all TCP flows."),
    m("fct_p50_s", "Median completion time of the transfers that ended in the window."),
    m("fct_p99_s", "99th percentile of the same."),
    m("transfers", "Byte-limited and web transfers that ended in the window."),
    m("udp_goodput_bps", "Datagram bits per second delivered to their sinks."),
];

/// Metrics of a run that no single link has.
const OF_THE_FLOWS: &[&str] = &[
    "goodput_bps",
    "jain",
    "timeouts",
    "retransmits",
    "fct_p50_s",
    "fct_p99_s",
    "transfers",
    "udp_goodput_bps",
];

/// Metrics of a link: those of [`METRICS`] that describe a queue, in the same order.
pub fn link_metrics() -> impl Iterator<Item = &'static Metric> {
    METRICS.iter().filter(|m| !OF_THE_FLOWS.contains(&m.name))
}

/// Metrics of a traffic group.
pub const GROUP_METRICS: &[Metric] = &[
    m(
        "goodput_bps",
        "Payload newly acknowledged (datagrams: delivered), bits per second, sum of the group's flows.",
    ),
    m("jain", "Jain's index of the group's goodputs."),
    m("retransmits", "Segments sent again."),
    m("timeouts", "Retransmission timeouts."),
    m("sent", "Segments or datagrams sent."),
    m("ecn_cuts", "Reductions of the window in answer to marks."),
    m("cuts_incipient", "Those for multi-level ECN's incipient marks; null without it."),
    m("cuts_moderate", "Those for multi-level ECN's moderate marks; null without it."),
    m("fct_mean_s", "Mean completion time of the group's transfers that ended in the window."),
    m("transfers", "Transfers that ended in the window."),
];

/// Metrics of a flow.
pub const FLOW_METRICS: &[Metric] = &[
    m("goodput_bps", "Payload newly acknowledged (datagrams: delivered), bits per second."),
    m("retransmits", "Segments sent again; null for datagrams."),
    m("timeouts", "Retransmission timeouts; null for datagrams."),
    m("sent", "Segments or datagrams sent."),
    m("ecn_cuts", "Reductions of the window in answer to marks; null for datagrams."),
    m("cuts_incipient", "Those for multi-level ECN's incipient marks; null without it."),
    m("cuts_moderate", "Those for multi-level ECN's moderate marks; null without it."),
    m(
        "connections",
        "1 where the flow's handshake ended in the window, else 0; null for datagrams and web.",
    ),
    m("srtt_s", "The last round-trip sample; null before the first."),
];

/// Jain's index; `None` where nobody got anything.
pub fn jain(x: &[f64]) -> Option<f64> {
    let (s1, s2) = x.iter().fold((0.0, 0.0), |(a, b), v| (a + v, b + v * v));
    (s2 > 0.0).then(|| s1 * s1 / (x.len() as f64 * s2))
}

/// The q-quantile of unsorted values: the smallest with at least `q·n` at or below it.
pub fn quantile(values: &mut [f64], q: f64) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let rank = (libm::ceil(q * values.len() as f64) as usize).max(1);
    values.get(rank - 1).copied()
}

/// The link's part of the metrics, by name.
pub(crate) fn link_metric(s: &LinkStats, mean_rate: f64, name: &str) -> Option<f64> {
    let (_, _, length) = s.window();
    let bps = s.departed_bytes as f64 * 8.0 / length.as_secs_f64();
    let ratio = |a: u64, b: u64| (b > 0).then(|| a as f64 / b as f64);
    let drops: u64 = s.drops.iter().sum();
    match name {
        "throughput_bps" => Some(bps),
        "utilization" => (mean_rate > 0.0).then(|| bps / mean_rate),
        "queue_mean_pkts" => s.occupancy.moments().map(|x| x.0),
        "queue_sd_pkts" => s.occupancy.moments().map(|x| x.1),
        "queue_p99_pkts" => s.occupancy.quantile(0.99),
        "avg_queue_mean_pkts" => s.average_mean(),
        "delay_mean_s" => s.delays.mean(),
        "delay_p50_s" => s.histogram.quantile(0.5).map(seconds),
        "delay_p99_s" => s.histogram.quantile(0.99).map(seconds),
        "delay_var_s2" => s.delays.var(),
        "delay_variation_s" => s.variation(),
        "data_delay_mean_s" => s.data_delays.mean(),
        "data_delay_var_s2" => s.data_delays.var(),
        "loss_ratio" => ratio(drops, s.arrivals),
        "data_loss_ratio" => ratio(s.data_drops, s.data_arrivals),
        "drops_early" => Some(s.drops[0] as f64),
        "drops_forced" => Some(s.drops[1] as f64),
        "drops_overflow" => Some(s.drops[2] as f64),
        "marks_incipient" => Some(s.marks[0] as f64),
        "marks_ce" => Some(s.marks[1] as f64),
        "arrivals" => Some(s.arrivals as f64),
        "departures" => Some(s.delays.n as f64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_units::Time;

    #[test]
    fn a_metric_is_of_a_link_or_of_the_flows() {
        let mut stats = LinkStats::new(Time::ZERO, Time::from_nanos(1_000_000_000));
        stats.arrival(Time::ZERO, true);
        stats.departure(Time::ZERO, Time::ZERO, 1000, true);
        stats.departure(Time::ZERO, Time::ZERO, 1000, true);
        stats.average(Time::ZERO, Some(0.0));
        stats.average(Time::from_nanos(1), Some(0.0));
        stats.held(Time::from_nanos(1), 0);
        for m in METRICS {
            let of_link = link_metrics().any(|l| l.name == m.name);
            assert_eq!(link_metric(&stats, 1.0, m.name).is_some(), of_link, "{}", m.name);
        }
    }
}
