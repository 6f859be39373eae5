//! The counters of a link, over the measured window, and two histograms: constant memory, no
//! allocation a packet.

use penstock_aqm::{Level, Reason};
use penstock_units::{Duration, Framing, Time, TICKS_PER_NANO};

/// Ticks in seconds.
pub(crate) fn seconds(ticks: f64) -> f64 {
    ticks / (1e9 * TICKS_PER_NANO as f64)
}

/// A histogram of durations whose buckets are at most 1/128 wide, relative to their value.
#[derive(Clone, Debug, Default)]
pub struct DelayHistogram {
    counts: Vec<u64>,
}

/// An octave has two to this power of buckets.
pub(crate) const SUB: u32 = 7;

/// Returns the bucket of a duration in ticks.
#[inline(always)]
pub(crate) fn bucket(ticks: u64) -> usize {
    if ticks < 1 << (SUB + 1) {
        return ticks as usize;
    }
    let e = 63 - ticks.leading_zeros() - SUB;
    ((u64::from(e) << SUB) + (ticks >> e)) as usize
}

/// Returns the middle of a bucket, in ticks.
pub(crate) fn value(bucket: usize) -> f64 {
    if bucket < 1 << (SUB + 1) {
        return bucket as f64;
    }
    let e = (bucket >> SUB) - 1;
    // A processor's word may be too short for it, as in WebAssembly.
    let low = ((bucket as u64 & ((1 << SUB) - 1)) + (1 << SUB)) << e;
    low as f64 + ((1u64 << e) as f64 - 1.0) / 2.0
}

impl DelayHistogram {
    /// Counts a duration.
    #[inline(always)]
    pub fn add(&mut self, d: Duration) {
        let b = bucket(d.as_ticks());
        match self.counts.get_mut(b) {
            Some(count) => *count += 1,
            None => self.add_first(b),
        }
    }

    /// Counts a duration in a bucket that is new.
    #[cold]
    fn add_first(&mut self, b: usize) {
        self.counts.resize(b + 1, 0);
        self.counts[b] = 1;
    }

    /// Returns the q-quantile in seconds: the smallest value with at least `q·n` at or below it.
    pub fn quantile_s(&self, q: f64) -> Option<f64> {
        self.quantile(q).map(seconds)
    }

    /// Returns the q-quantile in ticks, of which a bucket's middle may be a fraction.
    fn quantile(&self, q: f64) -> Option<f64> {
        let all: u64 = self.counts.iter().sum();
        let rank = (libm::ceil(q * all as f64) as u64).max(1);
        let mut seen = 0;
        let b = self.counts.iter().position(|n| {
            seen += n;
            seen >= rank
        });
        b.map(value)
    }
}

/// How long the queue held each number of packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Occupancy {
    ticks: Vec<u64>,
}

impl Occupancy {
    #[inline]
    fn add(&mut self, pkts: u32, d: Duration) {
        match self.ticks.get_mut(pkts as usize) {
            Some(ticks) => *ticks += d.as_ticks(),
            None => self.add_first(pkts as usize, d),
        }
    }

    /// Counts a length that the queue never had.
    #[cold]
    fn add_first(&mut self, pkts: usize, d: Duration) {
        self.ticks.resize((pkts + 1).next_power_of_two(), 0);
        self.ticks[pkts] += d.as_ticks();
    }

    fn total(&self) -> u64 {
        self.ticks.iter().sum()
    }

    /// Time-weighted mean and standard deviation.
    pub(crate) fn moments(&self) -> Option<(f64, f64)> {
        let total = self.total();
        if total == 0 {
            return None;
        }
        let (mut s1, mut s2) = (0u128, 0u128);
        for (n, d) in self.ticks.iter().enumerate() {
            s1 += n as u128 * u128::from(*d);
            s2 += (n as u128 * n as u128) * u128::from(*d);
        }
        let mean = s1 as f64 / total as f64;
        let var = s2 as f64 / total as f64 - mean * mean;
        Some((mean, libm::sqrt(var.max(0.0))))
    }

    /// The smallest length that was not exceeded for a share `q` of the time.
    pub(crate) fn quantile(&self, q: f64) -> Option<f64> {
        let total = self.total();
        let mut seen = 0u128;
        for (n, d) in self.ticks.iter().enumerate() {
            seen += u128::from(*d);
            if total > 0 && seen as f64 >= q * total as f64 {
                return Some(n as f64);
            }
        }
        None
    }
}

/// Sums of the packets' delays.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delays {
    pub(crate) n: u64,
    sum: u128,
    sum_sq: u128,
}

impl Delays {
    #[inline]
    pub(crate) fn add(&mut self, d: Duration) {
        let ticks = d.as_ticks();
        self.n += 1;
        self.sum += u128::from(ticks);
        self.sum_sq += u128::from(ticks) * u128::from(ticks);
    }
    /// Counts others, too.
    pub(crate) fn and(&mut self, other: &Self) {
        self.n += other.n;
        self.sum += other.sum;
        self.sum_sq += other.sum_sq;
    }

    /// Mean in seconds.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.n > 0).then(|| seconds(self.sum as f64 / self.n as f64))
    }
    /// Variance in seconds squared.
    pub(crate) fn var(&self) -> Option<f64> {
        let n = self.n as f64;
        (self.n > 0).then(|| {
            let mean = self.sum as f64 / n;
            seconds(seconds(self.sum_sq as f64 / n - mean * mean)).max(0.0)
        })
    }
}

/// The counters of a measured link.
#[derive(Clone, Debug)]
pub struct LinkStats {
    from: Time,
    length: u64,
    to: Time,
    pub(crate) arrivals: u64,
    pub(crate) data_arrivals: u64,
    /// Early, forced, overflow.
    pub(crate) drops: [u64; 3],
    pub(crate) data_drops: u64,
    /// Incipient, CE.
    pub(crate) marks: [u64; 2],
    /// As they were on the wire.
    pub(crate) departed_bytes: u64,
    framing: Option<Framing>,
    /// Of ACKs, and of packets that carry data.
    delays: [Delays; 2],
    pub(crate) histogram: DelayHistogram,
    pub(crate) occupancy: Occupancy,
    /// That of the packet that left last; [`LinkStats::NONE`] before the first one.
    last_delay: u64,
    variation: u128,
    /// Until when the window's occupancy has been counted.
    occupied_since: Time,
    /// Integral of the discipline's average over time, packets times ticks.
    avg_area: f64,
    /// Until when it has been taken.
    avg_since: Time,
    avg: Option<f64>,
}

impl LinkStats {
    /// No delay lasts so long.
    const NONE: u64 = u64::MAX;

    /// Counters for the window from `from` to `to`, which it does not include, of a link whose
    /// packets take on the wire what `framing` makes of them.
    pub fn new(from: Time, to: Time, framing: Option<Framing>) -> Self {
        LinkStats {
            from,
            to,
            length: to.since(from).as_ticks(),
            arrivals: 0,
            data_arrivals: 0,
            drops: [0; 3],
            data_drops: 0,
            marks: [0; 2],
            departed_bytes: 0,
            framing,
            delays: <[Delays; 2]>::default(),
            histogram: DelayHistogram::default(),
            occupancy: Occupancy::default(),
            last_delay: Self::NONE,
            variation: 0,
            occupied_since: from,
            avg_area: 0.0,
            avg_since: from,
            avg: None,
        }
    }

    #[inline]
    fn inside(&self, t: Time) -> bool {
        t.as_ticks().wrapping_sub(self.from.as_ticks()) < self.length
    }

    #[inline]
    pub(crate) fn arrival(&mut self, now: Time, data: bool) {
        if self.inside(now) {
            self.arrivals += 1;
            self.data_arrivals += u64::from(data);
        }
    }

    #[inline]
    pub(crate) fn dropped(&mut self, now: Time, reason: Reason, data: bool) {
        if self.inside(now) {
            self.drops[reason as usize] += 1;
            self.data_drops += u64::from(data);
        }
    }

    /// Marks count when the packet leaves (as departures do), so that marks and departures speak of
    /// the same packets.
    #[inline]
    pub(crate) fn mark(&mut self, leaves: Time, level: Level) {
        if self.inside(leaves) {
            self.marks[level as usize] += 1;
        }
    }

    /// A packet that arrived at `arrived` starts to be sent at `start`.
    #[inline(always)]
    pub(crate) fn departure(&mut self, arrived: Time, start: Time, bytes: u32, data: bool) {
        if self.inside(start) {
            let d = start.since(arrived);
            let wire = self.framing.map_or(bytes, |framing| framing.wire(bytes));
            self.departed_bytes += u64::from(wire);
            self.delays[usize::from(data)].add(d);
            self.histogram.add(d);
            let d = d.as_ticks();
            let last = if self.last_delay == Self::NONE { d } else { self.last_delay };
            self.variation += u128::from(d.abs_diff(last));
            self.last_delay = d;
        }
    }

    /// Of all packets that left.
    pub(crate) fn delays(&self) -> Delays {
        let mut all = self.delays[0].clone();
        all.and(&self.delays[1]);
        all
    }

    /// Of those that carry data.
    pub(crate) fn data_delays(&self) -> &Delays {
        &self.delays[1]
    }

    /// The window ends at `at`, if it was to end later.
    pub(crate) fn close(&mut self, at: Time) {
        if at < self.to {
            self.to = at.max(self.from);
            self.length = self.to.since(self.from).as_ticks();
        }
    }

    /// The queue held `pkts` until `t`.
    #[inline]
    pub(crate) fn held(&mut self, t: Time, pkts: u32) {
        let to = t.min(self.to);
        if to > self.occupied_since {
            self.occupancy.add(pkts, to.since(self.occupied_since));
            self.occupied_since = to;
        }
    }

    /// The discipline's average is `avg` from `now` on.
    #[inline]
    pub(crate) fn average(&mut self, now: Time, avg: Option<f64>) {
        // Most kinds have none.
        if avg.is_none() && self.avg.is_none() {
            return;
        }
        let to = now.min(self.to);
        if to > self.avg_since {
            if let Some(avg) = self.avg {
                // Signed, which processors convert in one step; the window is shorter than 2^63.
                self.avg_area += avg * to.since(self.avg_since).as_ticks() as i64 as f64;
            }
            self.avg_since = to;
        }
        self.avg = avg;
    }

    /// Time-weighted mean of the discipline's average.
    pub(crate) fn average_mean(&self) -> Option<f64> {
        self.avg.map(|_| self.avg_area / self.length as f64)
    }

    /// Mean absolute difference of consecutive departures' delays, in seconds.
    pub(crate) fn variation(&self) -> Option<f64> {
        let pairs = self.delays().n.saturating_sub(1);
        (pairs > 0).then(|| seconds(self.variation as f64 / pairs as f64))
    }

    /// The measured window.
    pub(crate) fn window(&self) -> (Time, Time, Duration) {
        (self.from, self.to, Duration::from_ticks(self.length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_hundredth() {
        let mut h = DelayHistogram::default();
        assert_eq!(h.quantile(0.5), None);
        for i in 1..=100_000u64 {
            h.add(Duration::from_ticks(i * 1_000));
        }
        for (q, want) in [(0.5, 5e7), (0.99, 9.9e7), (0.0, 1e3), (1.0, 1e8)] {
            let got = h.quantile(q).unwrap();
            assert!((got - want).abs() < 0.005 * want, "q = {q}: {got}");
        }
    }

    #[test]
    fn buckets_are_contiguous_and_their_middles_inside() {
        let mut last = 0;
        for e in 0..50u32 {
            for ticks in [(1u64 << e) - 1, 1 << e, (1 << e) + 1, 3 << e] {
                let b = bucket(ticks);
                let v = value(b);
                assert!((v - ticks as f64).abs() <= ticks as f64 / 128.0 + 0.5, "{ticks} {v}");
                last = last.max(b);
            }
        }
        assert!(last < 8_192);
    }

    #[test]
    fn the_window_cuts_what_the_queue_held() {
        let s = |n| Time::from_ticks(n);
        let mut st = LinkStats::new(s(10), s(20), None);
        st.held(s(5), 7); // before
        st.held(s(12), 4); // 2 ticks of it inside
        st.held(s(15), 0);
        st.held(s(40), 2); // 5 ticks inside
        let (mean, sd) = st.occupancy.moments().unwrap();
        assert!((mean - 1.8).abs() < 1e-12); // (2*4 + 3*0 + 5*2) / 10
        assert!((sd - libm::sqrt(5.2 - 3.24)).abs() < 1e-12);
        assert_eq!(
            (st.occupancy.quantile(0.3), st.occupancy.quantile(0.99)),
            (Some(0.0), Some(4.0))
        );
    }

    #[test]
    fn the_average_is_weighted_by_time() {
        let s = |n| Time::from_ticks(n);
        let mut st = LinkStats::new(s(10), s(20), None);
        st.average(s(0), Some(4.0));
        st.average(s(15), Some(8.0));
        st.average(s(30), Some(0.0));
        assert_eq!(st.average_mean(), Some(6.0));
    }
}
