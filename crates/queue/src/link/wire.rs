//! What a wire does to packets, behind the queue: it may lose them, clear their ECN field, and delay
//! one longer than another.

use crate::config::{Jitter, LinkConfig};
use penstock_units::param::Loss;
use penstock_units::{Duration, Ecn, Rng, Time};

/// A wire that is not just a delay.
#[derive(Clone)]
pub(crate) struct Wire {
    loss: Loss,
    bad: bool,
    rng: Rng,
    bleaches: bool,
    jitter: Option<Delays>,
}

/// The delays of a wire's packets.
#[derive(Clone)]
struct Delays {
    jitter: Jitter,
    rng: Rng,
    /// When the last packet arrives.
    last: Time,
}

impl Delays {
    /// Returns when a packet arrives that would at `at`, were the delay the least.
    fn arrives(&mut self, at: Time) -> Time {
        let at = at + Duration::from_secs_f64(self.jitter.law.draw(&mut self.rng));
        self.last = if self.jitter.reorder { at } else { at.max(self.last) };
        self.last
    }
}

impl Wire {
    /// The wire of a link; `None` where it is just a delay.
    pub(crate) fn new(c: &LinkConfig, seed: u64) -> Option<Self> {
        let stream = |what| Rng::stream(seed, &format!("{what}/{}", c.name));
        let jitter = c.jitter.clone();
        let jitter =
            jitter.map(|jitter| Delays { jitter, rng: stream("jitter"), last: Time::ZERO });
        Wire::that(c.loss, c.bleach, jitter, stream("loss"))
    }

    fn that(loss: Loss, bleaches: bool, jitter: Option<Delays>, rng: Rng) -> Option<Self> {
        let ever = match loss {
            Loss::Bernoulli(p) => p > 0.0,
            Loss::GilbertElliott { good, bad, .. } => good > 0.0 || bad > 0.0,
        };
        let wire = Wire { loss, bad: false, bleaches, jitter, rng };
        (ever || bleaches || wire.jitter.is_some()).then_some(wire)
    }

    /// Returns when the next packet reaches the other end, which would at `at` were the delay the
    /// least, and with which ECN field; `None`: it is lost.
    pub(crate) fn carries(&mut self, at: Time, ecn: Ecn) -> Option<(Time, Ecn)> {
        if self.loses() {
            return None;
        }
        let at = self.jitter.as_mut().map_or(at, |jitter| jitter.arrives(at));
        Some((at, if self.bleaches { Ecn::NotEct } else { ecn }))
    }

    fn loses(&mut self) -> bool {
        match self.loss {
            Loss::Bernoulli(p) => self.rng.unit() < p,
            Loss::GilbertElliott { p, r, good, bad } => {
                let lost = self.rng.unit() < if self.bad { bad } else { good };
                self.bad ^= self.rng.unit() < if self.bad { r } else { p };
                lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_units::param::Dist;

    fn made(loss: Loss, bleaches: bool) -> Option<Wire> {
        Wire::that(loss, bleaches, None, Rng::stream(1, "loss/a-b"))
    }

    fn carried(wire: &mut Wire, ecn: Ecn) -> Option<Ecn> {
        wire.carries(Time::ZERO, ecn).map(|(_, ecn)| ecn)
    }

    /// A packet every millisecond, up to 5 ms late: each has its own delay, and overtakes where it
    /// may; where not, it waits behind the one before.
    #[test]
    fn jitter_is_drawn_for_each_packet() {
        let ms = |t: u64| Time::from_nanos(t * 1_000_000);
        let arrivals = |reorder| -> Vec<Time> {
            let jitter = Jitter { law: Dist::Uniform(0.0, 5e-3), reorder };
            let delays = Delays { jitter, rng: Rng::stream(1, "jitter/a-b"), last: Time::ZERO };
            let rng = Rng::stream(1, "loss/a-b");
            let mut wire = Wire::that(Loss::Bernoulli(0.0), false, Some(delays), rng).unwrap();
            (0..1000).filter_map(|i| wire.carries(ms(i), Ecn::NotEct)).map(|(at, _)| at).collect()
        };
        let (own, in_order) = (arrivals(true), arrivals(false));
        assert!(own.windows(2).filter(|pair| pair[0] > pair[1]).count() > 100);
        let mut last = Time::ZERO;
        for (i, (own, in_order)) in (0..).zip(own.iter().zip(&in_order)) {
            assert!(*own >= ms(i) && *own < ms(i + 5), "{i}");
            last = last.max(*own);
            assert_eq!(*in_order, last, "{i}");
        }
    }

    /// Gilbert's model loses in the bad state alone: a share p/(p + r) of the packets, in bursts of
    /// 1/r.
    #[test]
    fn losses_come_in_bursts() {
        let spec = Loss::GilbertElliott { p: 0.01, r: 0.25, good: 0.0, bad: 1.0 };
        let mut wire = made(spec, false).unwrap();
        let n = 400_000;
        let lost: Vec<bool> = (0..n).map(|_| wire.loses()).collect();
        let all = lost.iter().filter(|l| **l).count() as f64;
        let bursts = lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
        // Standard errors: bursts sqrt(n p) of about 3850, that is 1.6 %; a burst's length
        // 0.87/sqrt(3850) of 4.
        assert!(
            (bursts / f64::from(n) - 0.01 * 0.25 / 0.26).abs() < 4.0 * 0.016 * 0.0096,
            "{bursts} bursts"
        );
        assert!((all / bursts - 4.0).abs() < 4.0 * 3.5 / bursts.sqrt(), "{} a burst", all / bursts);
        // Elliott's: each state has a probability of its own.
        let spec = Loss::GilbertElliott { p: 0.5, r: 0.5, good: 0.1, bad: 0.3 };
        let mut wire = made(spec, false).unwrap();
        let share = (0..n).filter(|_| wire.loses()).count() as f64 / f64::from(n);
        assert!((share - 0.2).abs() < 4.0 * (0.2f64 * 0.8 / f64::from(n)).sqrt(), "{share}");
        // It starts good, and without p it stays so.
        let mut good =
            made(Loss::GilbertElliott { p: 0.0, r: 0.0, good: 0.0, bad: 1.0 }, false).unwrap();
        assert!((0..100).all(|_| !good.loses()));
        assert!(made(Loss::Bernoulli(0.0), false).is_none());
    }

    /// Whatever it was, a field comes out cleared; losses are the same as without.
    #[test]
    fn a_bleaching_wire_clears_every_field() {
        let fields = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
        let wire = |loss, bleaches| made(Loss::Bernoulli(loss), bleaches).unwrap();
        assert_eq!(fields.map(|ecn| carried(&mut wire(0.0, true), ecn)), [Some(Ecn::NotEct); 4]);
        let (mut plain, mut bleaching) = (wire(0.5, false), wire(0.5, true));
        for ecn in fields.into_iter().cycle().take(100) {
            let (got, cleared) = (carried(&mut plain, ecn), carried(&mut bleaching, ecn));
            assert!(got.is_none_or(|got| got == ecn), "left alone");
            assert_eq!(cleared, got.map(|_| Ecn::NotEct));
        }
    }
}
