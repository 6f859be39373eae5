//! What becomes of the packets of each flow: delays and losses, in constant memory a flow.

use crate::metrics::{Bounds, Of};
use crate::stats::{bucket, seconds, value, Delays, SUB};
use penstock_units::{Duration, Time};

/// The buckets of [`crate::DelayHistogram`], a page of them for each octave that is used: a flow's
/// delays fall into few octaves, and flows may be many.
#[derive(Clone, Debug, Default)]
struct Octaves(Vec<Option<Box<[u64; PAGE]>>>);

const PAGE: usize = 1 << SUB;

impl Octaves {
    fn add(&mut self, b: usize, n: u64) {
        let (page, place) = (b / PAGE, b % PAGE);
        if page >= self.0.len() {
            self.0.resize(page + 1, None);
        }
        self.0[page].get_or_insert_with(|| Box::new([0; PAGE]))[place] += n;
    }

    fn counts(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let pages = self.0.iter().enumerate();
        let pages = pages.filter_map(|(i, page)| Some((i * PAGE, page.as_deref()?)));
        pages.flat_map(|(first, page)| (first..).zip(page.iter().copied()))
    }

    /// Returns the q-quantile of `n` durations, in seconds.
    fn quantile_s(&self, n: u64, q: f64) -> Option<f64> {
        let rank = (libm::ceil(q * n as f64) as u64).max(1);
        let mut seen = 0;
        let found = self.counts().find(|(_, count)| {
            seen += count;
            seen >= rank
        });
        found.map(|(b, _)| seconds(value(b)))
    }
}

/// Counters of packets that go from one place to another, of a flow or several.
#[derive(Clone, Debug, Default)]
pub struct PacketStats {
    /// Packets that came.
    pub came: u64,
    /// Those that were lost.
    pub lost: u64,
    delays: Delays,
    histogram: Octaves,
    /// The delay of the packet that got through last, in ticks.
    last: Option<u64>,
    /// Pairs of packets one after the other in a flow, and the sum of how much their delays differ.
    pairs: u64,
    variation: u128,
}

impl PacketStats {
    /// A packet gets through, after this delay.
    pub fn through(&mut self, delay: Duration) {
        let ticks = delay.as_ticks();
        self.delays.add(delay);
        self.histogram.add(bucket(ticks), 1);
        if let Some(last) = self.last.replace(ticks) {
            self.pairs += 1;
            self.variation += u128::from(ticks.abs_diff(last));
        }
    }

    /// Counts another flow's packets, too.
    pub fn and(&mut self, other: &Self) {
        self.came += other.came;
        self.lost += other.lost;
        self.delays.and(&other.delays);
        other
            .histogram
            .counts()
            .filter(|(_, n)| *n > 0)
            .for_each(|(b, n)| self.histogram.add(b, n));
        self.pairs += other.pairs;
        self.variation += other.variation;
    }

    /// Returns how many packets got through.
    pub fn through_n(&self) -> u64 {
        self.delays.n
    }

    /// Returns the mean delay in seconds.
    pub fn mean_s(&self) -> Option<f64> {
        self.delays.mean()
    }

    /// Returns the q-quantile of the delays in seconds.
    pub fn quantile_s(&self, q: f64) -> Option<f64> {
        self.histogram.quantile_s(self.delays.n, q)
    }

    /// Returns the mean absolute difference of the delays of consecutive packets, in seconds.
    pub fn variation_s(&self) -> Option<f64> {
        (self.pairs > 0).then(|| seconds(self.variation as f64 / self.pairs as f64))
    }

    /// Returns the share of the packets that were lost.
    pub fn loss(&self) -> Option<f64> {
        (self.came > 0).then(|| self.lost as f64 / self.came as f64)
    }
}

/// The counters of each flow's packets that carry data, at one queue.
#[derive(Clone)]
pub(crate) struct PerFlow {
    window: (Time, Time),
    flows: Vec<PacketStats>,
}

impl PerFlow {
    /// Counters over the window from the first time to before the second.
    pub(crate) fn new(window: (Time, Time)) -> Self {
        PerFlow { window, flows: vec![] }
    }

    fn at(&mut self, now: Time, flow: u32) -> Option<&mut PacketStats> {
        if now < self.window.0 || now >= self.window.1 {
            return None;
        }
        let flow = flow as usize;
        if flow >= self.flows.len() {
            self.flows.resize_with(flow + 1, PacketStats::default);
        }
        Some(&mut self.flows[flow])
    }

    pub(crate) fn arrives(&mut self, now: Time, flow: u32) {
        if let Some(stats) = self.at(now, flow) {
            stats.came += 1;
        }
    }

    pub(crate) fn dropped(&mut self, now: Time, flow: u32) {
        if let Some(stats) = self.at(now, flow) {
            stats.lost += 1;
        }
    }

    /// A packet that arrived at `arrived` starts to be sent at `start`.
    pub(crate) fn starts(&mut self, arrived: Time, start: Time, flow: u32) {
        if let Some(stats) = self.at(start, flow) {
            stats.through(start.since(arrived));
        }
    }

    /// The window ends at `at`, if it was to end later.
    pub(crate) fn close(&mut self, at: Time) {
        self.window.1 = self.window.1.min(at.max(self.window.0));
    }

    /// Returns what was counted of a flow.
    pub(crate) fn flow(&self, flow: u32) -> PacketStats {
        self.flows.get(flow as usize).cloned().unwrap_or_default()
    }
}

/// What the metrics of packets are computed from: those of a flow, or of a traffic group.
#[derive(Clone, Debug, Default)]
pub struct PacketView {
    /// At the bottleneck, in the direction of the data; `None` where they do not cross it.
    pub queue: Option<PacketStats>,
    /// From host to host; `None` where it is not known.
    pub path: Option<PacketStats>,
    /// The time between two packets of a call, where it is one.
    pub call: Option<Duration>,
}

impl PacketView {
    /// Counts another flow's packets, too.
    pub fn and(mut self, other: &Self) -> Self {
        for (ours, theirs) in [(&mut self.queue, &other.queue), (&mut self.path, &other.path)] {
            match (ours, theirs) {
                (Some(ours), Some(theirs)) => ours.and(theirs),
                (ours @ None, theirs) => *ours = theirs.clone(),
                (Some(_), None) => {}
            }
        }
        self.call = self.call.or(other.call);
        self
    }

    /// Returns the transmission rating of a call.
    fn r_factor(&self) -> Option<f64> {
        let (path, interval) = (self.path.as_ref()?, self.call?);
        let delay = interval.as_secs_f64() + path.quantile_s(1.0 - LATE)?;
        let lost = path.loss()?;
        Some(r_factor(delay, lost + (1.0 - lost) * LATE))
    }
}

/// The share of the packets that come too late for the de-jitter buffer, which waits for the others.
const LATE: f64 = 0.01;

/// Returns the transmission rating R of ITU-T G.107 for speech that arrives after `delay` seconds,
/// less a share `lost` of its packets.
///
/// R = Ro − Is − Id − Ie_eff with all else at its default, so that Ro − Is is 93.2 (G.107, Table 3).
/// Id as Cole and Rosenbluth fit it to G.107's curve (2001, eq. 4): 0.024 d, and from 177.3 ms on
/// 0.11 (d − 177.3) besides. Ie_eff (G.107, eq. 7-29), for random losses: Ie + (95 − Ie) Ppl/(Ppl +
/// Bpl) in percent, of G.711 with packet loss concealment Ie = 0 and Bpl = 25.1 (G.113, Table I.4).
fn r_factor(delay: f64, lost: f64) -> f64 {
    let (ms, percent) = (1e3 * delay, 1e2 * lost);
    let delay = 0.024 * ms + 0.11 * (ms - 177.3).max(0.0);
    let equipment = 95.0 * percent / (percent + 25.1);
    (93.2 - delay - equipment).clamp(0.0, 100.0)
}

fn queue(p: &PacketView) -> Option<&PacketStats> {
    p.queue.as_ref()
}

fn path(p: &PacketView) -> Option<&PacketStats> {
    p.path.as_ref()
}

/// Metrics of packets, of a traffic group and of a flow alike.
pub const PACKET_METRICS: &[Of<PacketView>] = &[
    Of::new(
        "delay_mean_s",
        "Mean delay",
        "Queueing delay of the data packets at the bottleneck, mean over those that left in the \
         window; null where the data do not cross it. A backward group's bottleneck is the other \
         direction of the link.",
        |p| queue(p)?.mean_s(),
    ),
    Of::new("delay_p50_s", "Median delay", "Median of the same (to 0.4 %).", |p| {
        queue(p)?.quantile_s(0.5)
    }),
    Of::new("delay_p99_s", "99th-percentile delay", "99th percentile of the same.", |p| {
        queue(p)?.quantile_s(0.99)
    }),
    Of::new(
        "delay_variation_s",
        "Delay variation",
        "Mean absolute difference of the same for consecutive packets of a flow (IPDV of RFC 5481, \
         section 4.1; RFC 3550's D).",
        |p| queue(p)?.variation_s(),
    ),
    Of::share(
        "loss_ratio",
        "Loss",
        "Data packets dropped at the bottleneck over those that arrived there.",
        |p| queue(p)?.loss(),
    ),
    Of::new(
        "one_way_delay_mean_s",
        "Mean one-way delay",
        "Time of the data packets from the sender's access link to the receiver's host (RFC 7679), \
         mean over those that were sent in the window and arrived.",
        |p| path(p)?.mean_s(),
    ),
    Of::new(
        "one_way_delay_p50_s",
        "Median one-way delay",
        "Median of the same (to 0.4 %).",
        |p| path(p)?.quantile_s(0.5),
    ),
    Of::new(
        "one_way_delay_p99_s",
        "99th-percentile one-way delay",
        "99th percentile of the same.",
        |p| path(p)?.quantile_s(0.99),
    ),
    Of::new(
        "one_way_delay_variation_s",
        "One-way delay variation",
        "Mean absolute difference of the same for packets of a flow that arrive one after the other \
         (RFC 5481).",
        |p| path(p)?.variation_s(),
    ),
    Of::share(
        "one_way_loss_ratio",
        "One-way loss",
        "Data packets sent in the window that were lost on their way, anywhere, over those sent (RFC \
         7680); packets under way when the run ends count as neither.",
        |p| path(p)?.loss(),
    ),
    Of {
        name: "r_factor",
        label: "Transmission rating R",
        doc: "Quality of a call: the rating R of ITU-T G.107, from 0 to 93.2, of G.711 with packet \
              loss concealment (G.113: Ie 0, Bpl 25.1); above 80 users are satisfied. Delay: a \
              packet's interval and one_way_delay_p99_s, for which a de-jitter buffer waits; its \
              impairment as Cole and Rosenbluth (2001). Loss: one_way_loss_ratio and the 1 % that \
              comes later. Null but for voip.",
        value: PacketView::r_factor,
        bounds: Bounds { least: 0.0, most: 100.0 },
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn two_flows_together_are_all_their_packets() {
        let (mut a, mut b) = (PacketStats::default(), PacketStats::default());
        for n in [10, 30, 20] {
            a.through(ms(n));
        }
        (a.came, a.lost, b.came) = (4, 1, 4);
        for n in [400, 400, 400, 440] {
            b.through(ms(n));
        }
        // |30 − 10| + |20 − 30| over two pairs.
        assert_eq!((a.variation_s(), a.loss()), (Some(0.015), Some(0.25)));
        a.and(&b);
        assert_eq!(a.loss(), Some(0.125));
        assert!((a.mean_s().unwrap() - 1.7 / 7.0).abs() < 1e-12);
        // No pair of packets of two flows: (20 + 10 + 0 + 0 + 40) over five.
        assert!((a.variation_s().unwrap() - 0.014).abs() < 1e-12);
        for (q, want) in [(0.0, 0.01), (0.4, 0.03), (0.5, 0.4), (0.9, 0.44)] {
            let got = a.quantile_s(q).unwrap();
            assert!((got - want).abs() < 0.005 * want, "q = {q}: {got}");
        }
    }

    #[test]
    fn quantiles_are_the_links() {
        let (mut link, mut flow) = (crate::DelayHistogram::default(), PacketStats::default());
        for i in 0..10_000u64 {
            let d = Duration::from_ticks(i * i);
            link.add(d);
            flow.through(d);
        }
        for q in [0.0, 0.01, 0.5, 0.9, 0.99, 1.0] {
            assert_eq!(link.quantile_s(q), flow.quantile_s(q), "q = {q}");
        }
        assert_eq!(PacketStats::default().quantile_s(0.5), None);
    }

    #[test]
    fn only_the_window_counts() {
        let at = |n| Time::ZERO + ms(n);
        let mut flows = PerFlow::new((at(10), at(20)));
        for n in [5, 10, 15, 20] {
            flows.arrives(at(n), 3);
            flows.starts(at(n), at(n), 3);
            flows.dropped(at(n), 3);
        }
        let stats = flows.flow(3);
        assert_eq!((stats.came, stats.lost, stats.delays.n), (2, 2, 2));
        assert_eq!(flows.flow(0).came, 0);
        assert_eq!(flows.flow(9).came, 0);
    }

    /// G.107's curve at its default: 93.2 without delay and loss. With 150 ms of delay 3.6 less
    /// (0.024·150); with 300 ms 7.2 + 0.11·122.7. Of 2 % of loss 95·2/27.1 less.
    #[test]
    fn the_rating_is_g_107s() {
        for (delay, lost, want) in [
            (0.0, 0.0, 93.2),
            (0.15, 0.0, 89.6),
            (0.3, 0.0, 93.2 - 7.2 - 13.497),
            (0.0, 0.02, 93.2 - 190.0 / 27.1),
            (9.0, 0.5, 0.0),
        ] {
            let got = r_factor(delay, lost);
            assert!((got - want).abs() < 1e-9, "{delay} s, {lost}: {got}");
        }
        let mut path = PacketStats { came: 100, ..PacketStats::default() };
        (0..100).for_each(|_| path.through(ms(80)));
        let mut call = PacketView { queue: None, path: Some(path), call: Some(ms(20)) };
        // 100 ms, and 1 % late.
        assert!((call.r_factor().unwrap() - (93.2 - 2.4 - 95.0 / 26.1)).abs() < 0.02);
        call.call = None;
        assert_eq!(call.r_factor(), None);
    }
}
