//! Estimators make the average follow the queue.
//!
//! S. Floyd, V. Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM ToN
//! 1(4), 1993, Fig. 2; automatic weights: Floyd, Gummadi, Shenker, "Adaptive RED", 2001; ns-2 2.35.

use penstock_units::{words, Duration, Time};

words! {
    /// The weight of the newest sample in the average.
    pub enum Weight or num_open(0.0, 1.0) {
        /// A time constant of one second.
        Auto = "auto",
        /// A time constant of ten round trips.
        Rtt = "rtt",
    }
}

impl Weight {
    /// Returns `w_q` on a link that sends `pkts_per_s` and has this propagation delay.
    pub fn on(self, pkts_per_s: f64, delay: Duration) -> f64 {
        match self {
            Weight::Number(w_q) => w_q,
            Weight::Auto => auto_weight(pkts_per_s),
            Weight::Rtt => rtt_weight(pkts_per_s, delay),
        }
    }
}

words! {
    /// How idle time decays the average.
    pub enum Idle {
        /// By the packet times that fit in it, a real number (Floyd, Jacobson 1993, Fig. 2).
        Exact = "exact",
        /// By whole packet times, and the arrival takes an ordinary step as well (ns-2).
        Floor = "floor",
    }
}

/// An exponentially weighted moving average with compensation for idle time.
#[derive(Clone, Debug)]
pub struct Ewma {
    w_q: f64,
    /// Packets (of the mean size) that the link sends per second: `C`.
    pkts_per_s: f64,
    floor_idle: bool,
    avg: f64,
}

impl Ewma {
    /// An average of nothing so far.
    pub fn new(w_q: f64, pkts_per_s: f64, idle: Idle) -> Self {
        Ewma { w_q, pkts_per_s, floor_idle: idle == Idle::Floor, avg: 0.0 }
    }

    /// Returns `w_q`.
    pub fn weight(&self) -> f64 {
        self.w_q
    }

    /// Returns the average, in the unit of the queue.
    #[inline]
    pub fn value(&self) -> f64 {
        self.avg
    }

    /// The average is `avg` now.
    pub fn start_from(&mut self, avg: f64) {
        self.avg = avg;
    }

    /// A packet arrives at `now` and finds `q` waiting. Returns the new average.
    #[inline]
    pub fn update(&mut self, now: Time, q: f64, idle_since: Option<Time>) -> f64 {
        // Busy:  avg <- (1 - w_q) avg + w_q q.
        // Idle:  avg <- (1 - w_q)^m avg,  m = packets that the link could have sent meanwhile.
        let keep = 1.0 - self.w_q;
        if let Some(idle_since) = idle_since {
            let m = now.since(idle_since).as_secs_f64() * self.pkts_per_s;
            let m = if self.floor_idle { libm::floor(m) } else { m };
            self.avg *= libm::pow(keep, m);
            if !self.floor_idle {
                return self.avg;
            }
        }
        self.avg = keep * self.avg + self.w_q * q;
        self.avg
    }
}

/// `w_q = "auto"`: 1 − exp(−1/C), a time constant of one second (Floyd 2001,
/// section 4).
pub fn auto_weight(pkts_per_s: f64) -> f64 {
    1.0 - libm::exp(-1.0 / pkts_per_s)
}

/// `w_q = "rtt"`: 1 − exp(−1/(10·R·C)), a time constant of ten round trips R = max(100 ms, 3·(delay
/// + 1/C)) (ns-2).
pub fn rtt_weight(pkts_per_s: f64, delay: Duration) -> f64 {
    let r = (3.0 * (delay.as_secs_f64() + 1.0 / pkts_per_s)).max(0.1);
    1.0 - libm::exp(-1.0 / (10.0 * r * pkts_per_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUSY: Option<Time> = None;

    /// `q` held at 10 from empty: after k arrivals avg = 10 (1 − 0.998^k).
    #[test]
    fn average_follows_a_held_queue() {
        let mut e = Ewma::new(0.002, 1000.0, Idle::Exact);
        for k in 1..=400 {
            let avg = e.update(Time::ZERO, 10.0, BUSY);
            let want = 10.0 * (1.0 - libm::pow(0.998, f64::from(k)));
            assert!((avg - want).abs() < 1e-9, "k = {k}: {avg} {want}");
            assert_eq!(avg >= 5.0, k >= 347, "the first avg of at least 5 is the 347th");
        }
    }

    #[test]
    fn idle_time_decays_the_average() {
        // C = 1000 packets/s, 2.5 ms idle: m = 2.5, floored 2; powers of 1/2 so that == is exact.
        let idle = Some(Time::from_nanos(1_000_000));
        let now = Time::from_nanos(3_500_000);
        for (idle_time, want) in [(Idle::Exact, 8.0 * libm::pow(0.5, 2.5)), (Idle::Floor, 1.0)] {
            let mut e = Ewma::new(0.5, 1000.0, idle_time);
            e.avg = 8.0;
            assert!((e.update(now, 0.0, idle) - want).abs() < 1e-12, "{idle_time:?}");
        }
    }

    #[test]
    fn automatic_weights() {
        // AMECN: 1.5 Mbit/s of 1000 B packets is C = 187.5.
        assert!((auto_weight(187.5) - 0.005319).abs() < 1e-6);
        // The papers' 0.0027 is C = 375 (500 B packets).
        assert!((auto_weight(375.0) - 0.0026631).abs() < 1e-6);
        // RARED's 0.0019: 1.5 Mbit/s, 1000 B, 88 ms link.
        assert!((rtt_weight(187.5, Duration::from_millis(88)) - 0.0019).abs() < 2e-5);
    }
}
