//! Transfers that ended: their series and metrics, by size and against the ideal.

use crate::config::{Config, FlowConfig};
use crate::statistics::{mean, quantile};
use penstock_queue::{Column, Of, Table};
use penstock_units::{Duration, Time};

/// A transfer that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// When it ended.
    pub end: Time,
    /// Whose it was.
    pub flow: u32,
    /// Its length.
    pub bytes: u64,
    /// How long it took.
    pub took: Duration,
}

/// A transfer, and how many times as long it took as over an empty network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Completed {
    /// The transfer.
    pub transfer: Transfer,
    /// Its time over the ideal one: the flow's round trip over empty queues, and the payload at the
    /// lowest rate on the way of its data. Headers and the handshake are left out, so that it is
    /// above 1.
    pub slowdown: f64,
}

impl Completed {
    pub(crate) fn seconds(&self) -> f64 {
        self.transfer.took.as_secs_f64()
    }
}

/// Of each flow, how long a transfer takes over an empty network: the round trip in seconds, and
/// the time of a byte.
#[derive(Clone)]
pub struct Ideals(Vec<(f64, f64)>);

impl Ideals {
    /// Those of the flows of a run. A link whose rate changes counts with the rate at its beginning, a
    /// trace with its mean: what is measured does not know what comes later.
    pub fn of(c: &Config) -> Self {
        let link = |i: &u32| {
            let link = &c.links[*i as usize];
            (link.delay.as_secs_f64(), link.rate.as_bps() as f64)
        };
        let route = |route: &Vec<u32>| {
            let along = |(delay, rate): (f64, f64), (d, r): (f64, f64)| (delay + d, rate.min(r));
            route.iter().map(link).fold((0.0, f64::INFINITY), along)
        };
        let routes: Vec<_> = c.routes.iter().map(route).collect();
        let of = |f: &FlowConfig| {
            let (there, mut rate) = routes[usize::from(f.forward)];
            let (back, _) = routes[usize::from(f.backward)];
            let mut round_trip = there + back;
            for host in [f.src, f.dst].map(|host| &c.hosts[host as usize]) {
                round_trip += 2.0 * host.delay.as_secs_f64();
                rate = rate.min(host.rate.map_or(f64::INFINITY, |r| r.as_bps() as f64));
            }
            (round_trip, 8.0 / rate)
        };
        Ideals(c.flows.iter().map(of).collect())
    }

    /// Returns transfers with their slowdowns.
    pub fn completed(&self, transfers: &[Transfer]) -> Vec<Completed> {
        let of = |transfer: &Transfer| {
            let (round_trip, byte) = self.0[transfer.flow as usize];
            let ideal = round_trip + transfer.bytes as f64 * byte;
            Completed { transfer: *transfer, slowdown: transfer.took.as_secs_f64() / ideal }
        };
        transfers.iter().map(of).collect()
    }
}

/// What has transfers: a run, or a group.
pub(crate) trait Ends {
    /// Those that ended in the window, in the order of their ends.
    fn ended(&self) -> &[Completed];
}

/// Those up to 100 kB, those up to 10 MB, and longer ones.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Short,
    Medium,
    Long,
}

impl Size {
    fn of(bytes: u64) -> Self {
        match bytes {
            0..=100_000 => Size::Short,
            100_001..=10_000_000 => Size::Medium,
            _ => Size::Long,
        }
    }
}

fn of_size<V: Ends>(view: &V, size: Size, of: fn(&Completed) -> f64) -> Vec<f64> {
    let mine = |t: &&Completed| Size::of(t.transfer.bytes) == size;
    view.ended().iter().filter(mine).map(of).collect()
}

fn slowdowns<V: Ends>(view: &V) -> Vec<f64> {
    view.ended().iter().map(|t| t.slowdown).collect()
}

/// The rows of a run and of a group alike.
pub(crate) const fn rows<V: Ends>() -> [Of<V>; 11] {
    [
        Of::new(
            "slowdown_mean",
            "Mean slowdown",
            "Mean over the transfers that ended in the window of the completion time over the ideal \
             one: the round trip over empty queues, and payload over the lowest rate on the way.",
            |v| mean(&slowdowns(v)),
        ),
        Of::new(
            "slowdown_p99",
            "99th-percentile slowdown",
            "99th percentile of the same.",
            |v| quantile(&mut slowdowns(v), 0.99),
        ),
        Of::new(
            "fct_short_mean_s",
            "Mean completion time, short",
            "Mean completion time of the transfers of up to 100 kB that ended in the window.",
            |v| mean(&of_size(v, Size::Short, Completed::seconds)),
        ),
        Of::new(
            "fct_short_p99_s",
            "99th-percentile completion time, short",
            "99th percentile of the same.",
            |v| quantile(&mut of_size(v, Size::Short, Completed::seconds), 0.99),
        ),
        Of::new(
            "slowdown_short_p99",
            "99th-percentile slowdown, short",
            "99th percentile of the slowdown of the transfers of up to 100 kB.",
            |v| quantile(&mut of_size(v, Size::Short, |t| t.slowdown), 0.99),
        ),
        Of::new(
            "fct_medium_mean_s",
            "Mean completion time, medium",
            "Mean completion time of the transfers of more, up to 10 MB.",
            |v| mean(&of_size(v, Size::Medium, Completed::seconds)),
        ),
        Of::new(
            "fct_medium_p99_s",
            "99th-percentile completion time, medium",
            "99th percentile of the same.",
            |v| quantile(&mut of_size(v, Size::Medium, Completed::seconds), 0.99),
        ),
        Of::new(
            "slowdown_medium_p99",
            "99th-percentile slowdown, medium",
            "99th percentile of the slowdown of these.",
            |v| quantile(&mut of_size(v, Size::Medium, |t| t.slowdown), 0.99),
        ),
        Of::new(
            "fct_long_mean_s",
            "Mean completion time, long",
            "Mean completion time of the transfers of more than 10 MB.",
            |v| mean(&of_size(v, Size::Long, Completed::seconds)),
        ),
        Of::new(
            "fct_long_p99_s",
            "99th-percentile completion time, long",
            "99th percentile of the same.",
            |v| quantile(&mut of_size(v, Size::Long, Completed::seconds), 0.99),
        ),
        Of::new(
            "slowdown_long_p99",
            "99th-percentile slowdown, long",
            "99th percentile of the slowdown of these.",
            |v| quantile(&mut of_size(v, Size::Long, |t| t.slowdown), 0.99),
        ),
    ]
}

/// Returns the `fct` series: every transfer with its end, flow, bytes, completion time and slowdown.
pub fn transfer_table(ended: &[Completed]) -> Table {
    let reals = |of: fn(&Completed) -> f64| Column::F64(ended.iter().map(of).collect());
    let counts = |of: fn(&Completed) -> u64| Column::U64(ended.iter().map(of).collect());
    Table {
        name: "fct",
        columns: vec![
            ("t_s".into(), reals(|t| t.transfer.end.as_secs_f64())),
            ("flow".into(), counts(|t| u64::from(t.transfer.flow))),
            ("bytes".into(), counts(|t| t.transfer.bytes)),
            ("fct_s".into(), reals(Completed::seconds)),
            ("slowdown".into(), reals(|t| t.slowdown)),
        ],
    }
}
