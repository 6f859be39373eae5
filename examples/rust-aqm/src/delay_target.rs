//! A small discipline. A timer raises the probability of a signal while the queue is longer than
//! its target, and otherwise lowers it. `examples/06_own_discipline.py` is the same in Python.

use penstock_aqm::{Aqm, Context, Ecn, Level, Packet, Queue, Reason, Verdict};
use penstock_units::{Duration, Rng, Time};

/// The discipline that the module describes.
pub struct DelayTarget {
    /// The queue that takes the target time to send.
    target_bytes: f64,
    /// How much `p` changes at each tick.
    step: f64,
    p: f64,
    next: Time,
}

impl DelayTarget {
    const INTERVAL: Duration = Duration::from_millis(100);

    /// Makes the discipline for a link, with the time that packets may wait.
    pub fn new(link: &Context, target: Duration) -> Self {
        let target_bytes = target.as_secs_f64() * link.rate.as_bps() as f64 / 8.0;
        DelayTarget { target_bytes, step: 0.005, p: 0.0, next: Time::ZERO + Self::INTERVAL }
    }
}

impl Aqm for DelayTarget {
    fn arrive(&mut self, _: Time, pkt: &Packet, _: &Queue, rng: &mut Rng) -> Verdict {
        if rng.unit() >= self.p {
            Verdict::Pass
        } else if pkt.ecn == Ecn::NotEct {
            Verdict::Drop(Reason::Early)
        } else {
            Verdict::Mark(Level::Ce, Reason::Early)
        }
    }

    fn next_tick(&self) -> Option<Time> {
        Some(self.next)
    }

    fn tick(&mut self, now: Time, q: &Queue) {
        self.next = now + Self::INTERVAL;
        let step = if q.bytes as f64 > self.target_bytes { self.step } else { -self.step };
        self.p = (self.p + step).clamp(0.0, 0.5);
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p", self.p);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_units::{QueueLen, Rate};

    /// 1 Mbit/s for 40 ms: 5000 B. Two ticks above, one below: 0.005, 0.010, 0.005; then a signal
    /// in 200 packets.
    #[test]
    fn probability_by_hand() {
        let link = Context::new(
            Rate::from_bps(1_000_000).unwrap(),
            Duration::from_millis(10),
            QueueLen::Packets(50.0),
        );
        let mut aqm = DelayTarget::new(&link, Duration::from_millis(40));
        for (bytes, p) in [(5001, 0.005), (9000, 0.010), (5000, 0.005)] {
            let now = aqm.next_tick().unwrap();
            aqm.tick(now, &Queue { pkts: 6, bytes, idle_since: None });
            assert!((aqm.p - p).abs() < 1e-12, "{bytes} B");
        }
        let mut rng = Rng::stream(1, "test");
        let pkt = Packet { bytes: 1000, ecn: Ecn::Ect0, flow: 0, class: 0 };
        let q = Queue { pkts: 6, bytes: 6000, idle_since: None };
        let marks = (0..200_000)
            .filter(|_| aqm.arrive(Time::ZERO, &pkt, &q, &mut rng) != Verdict::Pass)
            .count();
        assert!((900..1100).contains(&marks), "{marks}"); // 1000, standard deviation 32
    }
}
