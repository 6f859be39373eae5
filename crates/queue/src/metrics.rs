//! Metrics, and those of a link. Each row holds its name, its exact definition and
//! the function that finds its value. All are over the measured window.

use crate::stats::LinkStats;
use penstock_units::joined;

/// Where the values of a quantity can be: from `least` to `most`, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Minus infinity where there is no such bound.
    pub least: f64,
    /// Infinity where there is no such bound.
    pub most: f64,
}

impl Bounds {
    /// Of delays, rates, lengths and counts.
    pub const FROM_ZERO: Bounds = Bounds { least: 0.0, most: f64::INFINITY };
    /// Of shares, ratios and Jain's index.
    pub const SHARE: Bounds = Bounds { least: 0.0, most: 1.0 };
    /// Of what may be anywhere: differences.
    pub const NONE: Bounds = Bounds { least: f64::NEG_INFINITY, most: f64::INFINITY };
}

/// A metric of the level that `V` describes: a link, a run, a traffic group, a flow.
#[derive(Debug)]
pub struct Of<V> {
    /// Its name in JSON, tables and Python; the unit is in the name.
    pub name: &'static str,
    /// What an axis of a figure says, without the unit.
    pub label: &'static str,
    /// What it is, exactly.
    pub doc: &'static str,
    /// Returns its value; `None` where the metric does not apply.
    pub value: fn(&V) -> Option<f64>,
    /// Where its values can be; its intervals stay there.
    pub bounds: Bounds,
}

// By hand, because a derived one would ask for a `V` that can be copied.
impl<V> Clone for Of<V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<V> Copy for Of<V> {}

impl<V> Of<V> {
    /// A row of a table: a delay, a rate, a length, a count. Its values are not below 0.
    pub const fn new(
        name: &'static str,
        label: &'static str,
        doc: &'static str,
        value: fn(&V) -> Option<f64>,
    ) -> Self {
        Of { name, label, doc, value, bounds: Bounds::FROM_ZERO }
    }

    /// The row of a share, a ratio or an index: its values are from 0 to 1.
    pub const fn share(
        name: &'static str,
        label: &'static str,
        doc: &'static str,
        value: fn(&V) -> Option<f64>,
    ) -> Self {
        Of { name, label, doc, value, bounds: Bounds::SHARE }
    }
}

/// Returns the values of all rows, in their order.
pub fn values<V>(table: &[Of<V>], view: &V) -> Vec<Option<f64>> {
    table.iter().map(|metric| (metric.value)(view)).collect()
}

/// What the metrics of a link are computed from.
#[derive(Clone, Debug)]
pub struct LinkView {
    /// What was counted over the window.
    pub stats: LinkStats,
    /// The link's mean rate over the window, bits per second.
    pub mean_rate: f64,
}

impl LinkView {
    fn throughput(&self) -> f64 {
        let (_, _, length) = self.stats.window();
        self.stats.departed_bytes as f64 * 8.0 / length.as_secs_f64()
    }

    fn utilization(&self) -> Option<f64> {
        (self.mean_rate > 0.0).then(|| self.throughput() / self.mean_rate)
    }

    fn loss_ratio(&self) -> Option<f64> {
        ratio(self.stats.drops.iter().sum(), self.stats.arrivals)
    }
}

fn ratio(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}

/// What has a link whose metrics count among its own: the link itself, and a run with its
/// bottleneck.
pub trait AtLink {
    /// Returns that link.
    fn link(&self) -> &LinkView;
}

impl AtLink for LinkView {
    fn link(&self) -> &LinkView {
        self
    }
}

/// The rows of a link's table, for every table that includes them. The parts are those between
/// which a run has rows that no link has.
#[derive(Debug)]
pub struct OfLink<V>(std::marker::PhantomData<V>);

impl<V: AtLink + 'static> OfLink<V> {
    /// What the link carried.
    pub const CARRIED: &'static [Of<V>] = &[Of::new(
        "throughput_bps",
        "Throughput",
        "Bits per second that left the bottleneck's queue, headers included, as the link frames them.",
        |v| Some(v.link().throughput()),
    )];

    /// The queue, its delays, drops and marks.
    pub const QUEUE: &'static [Of<V>] = &[
        Of::share(
            "utilization",
            "Utilization",
            "throughput_bps over the link's rate (its mean over the window, where it changes). \
             A packet counts when its transmission starts: a window of few packets may show more \
             than 1.",
            |v| v.link().utilization(),
        ),
        Of::new(
            "queue_mean_pkts",
            "Mean queue",
            "Waiting packets, time-weighted mean; the packet in transmission does not count.",
            |v| v.link().stats.occupancy.moments().map(|x| x.0),
        ),
        Of::new(
            "queue_sd_pkts",
            "Standard deviation of the queue",
            "Waiting packets, time-weighted standard deviation.",
            |v| v.link().stats.occupancy.moments().map(|x| x.1),
        ),
        Of::new(
            "queue_p99_pkts",
            "99th-percentile queue",
            "Queue length that was not exceeded for 99 % of the time.",
            |v| v.link().stats.occupancy.quantile(0.99),
        ),
        Of::new(
            "avg_queue_mean_pkts",
            "Mean of the average queue",
            "The discipline's own average queue, time-weighted mean; null where it keeps none.",
            |v| v.link().stats.average_mean(),
        ),
        Of::new(
            "delay_mean_s",
            "Mean delay",
            "Queueing delay, from arrival to the start of transmission: mean over the packets \
             that left.",
            |v| v.link().stats.delays().mean(),
        ),
        Of::new("delay_p50_s", "Median delay", "Median queueing delay (to 0.4 %).", |v| {
            v.link().stats.histogram.quantile_s(0.5)
        }),
        Of::new(
            "delay_p99_s",
            "99th-percentile delay",
            "99th percentile of the queueing delay (to 0.4 %).",
            |v| v.link().stats.histogram.quantile_s(0.99),
        ),
        Of::new("delay_var_s2", "Variance of the delay", "Variance of the queueing delay.", |v| {
            v.link().stats.delays().var()
        }),
        Of::new(
            "delay_variation_s",
            "Delay variation",
            "Mean absolute difference of consecutive departures' queueing delays (RFC 3550's D).",
            |v| v.link().stats.variation(),
        ),
        Of::new(
            "data_delay_mean_s",
            "Mean delay of data",
            "delay_mean_s of data packets alone, without ACKs.",
            |v| v.link().stats.data_delays().mean(),
        ),
        Of::new(
            "data_delay_var_s2",
            "Variance of the delay of data",
            "delay_var_s2 of data packets alone.",
            |v| v.link().stats.data_delays().var(),
        ),
        Of::share(
            "loss_ratio",
            "Loss",
            "Packets dropped at the queue over packets that arrived, ACKs included. Where waiting \
             packets are dropped (CoDel), a short window may show more than 1.",
            |v| v.link().loss_ratio(),
        ),
        Of::share("data_loss_ratio", "Loss of data", "loss_ratio of data packets alone.", |v| {
            let stats = &v.link().stats;
            ratio(stats.data_drops, stats.data_arrivals)
        }),
        Of::new("drops_early", "Early drops", "Packets dropped by the gate.", |v| {
            Some(v.link().stats.drops[0] as f64)
        }),
        Of::new(
            "drops_forced",
            "Forced drops",
            "Packets dropped by a full threshold: the average beyond the end of the profile.",
            |v| Some(v.link().stats.drops[1] as f64),
        ),
        Of::new("drops_overflow", "Overflow drops", "Packets dropped by a full buffer.", |v| {
            Some(v.link().stats.drops[2] as f64)
        }),
        Of::new(
            "marks_incipient",
            "Incipient marks",
            "Packets marked here with the first level of multi-level ECN that left.",
            |v| Some(v.link().stats.marks[0] as f64),
        ),
        Of::new("marks_ce", "CE marks", "Packets marked CE here that left.", |v| {
            Some(v.link().stats.marks[1] as f64)
        }),
    ];

    /// How many packets there were.
    pub const COUNTS: &'static [Of<V>] = &[
        Of::new("arrivals", "Arrivals", "Packets that arrived at the queue.", |v| {
            Some(v.link().stats.arrivals as f64)
        }),
        Of::new("departures", "Departures", "Packets that left the queue.", |v| {
            Some(v.link().stats.delays().n as f64)
        }),
    ];
}

/// Metrics of a link.
pub const LINK_METRICS: &[Of<LinkView>] = joined!(PARTS);

const PARTS: &[&[Of<LinkView>]] = &[OfLink::CARRIED, OfLink::QUEUE, OfLink::COUNTS];

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_units::Time;

    #[test]
    fn a_link_that_was_used_has_every_metric() {
        let mut stats = LinkStats::new(Time::ZERO, Time::from_nanos(1_000_000_000), None);
        stats.arrival(Time::ZERO, true);
        stats.departure(Time::ZERO, Time::ZERO, 1000, true);
        stats.departure(Time::ZERO, Time::ZERO, 1000, true);
        stats.average(Time::ZERO, Some(0.0));
        stats.average(Time::from_nanos(1), Some(0.0));
        stats.held(Time::from_nanos(1), 0);
        let view = LinkView { stats, mean_rate: 1.0 };
        for (metric, value) in LINK_METRICS.iter().zip(values(LINK_METRICS, &view)) {
            assert!(value.is_some(), "{}", metric.name);
        }
    }
}
