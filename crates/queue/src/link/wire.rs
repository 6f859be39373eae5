//! What a wire does to packets, behind the queue: it may lose them, and clear their ECN field.

use penstock_units::param::Loss;
use penstock_units::{Ecn, Rng};

/// A wire that is not just a delay.
#[derive(Clone)]
pub(crate) struct Wire {
    loss: Loss,
    bad: bool,
    rng: Rng,
    bleaches: bool,
}

impl Wire {
    /// A wire that loses packets, or `bleaches` their ECN field; `None` where it does neither.
    pub(crate) fn new(loss: Loss, bleaches: bool, seed: u64, link: &str) -> Option<Self> {
        let ever = match loss {
            Loss::Bernoulli(p) => p > 0.0,
            Loss::GilbertElliott { good, bad, .. } => good > 0.0 || bad > 0.0,
        };
        (ever || bleaches).then(|| Wire {
            loss,
            bad: false,
            bleaches,
            rng: Rng::stream(seed, &format!("loss/{link}")),
        })
    }

    /// Returns the ECN field with which the next packet reaches the other end; `None`: it is lost.
    pub(crate) fn carries(&mut self, ecn: Ecn) -> Option<Ecn> {
        if self.loses() {
            return None;
        }
        Some(if self.bleaches { Ecn::NotEct } else { ecn })
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

    /// Gilbert's model loses in the bad state alone: a share p/(p + r) of the packets, in bursts of
    /// 1/r.
    #[test]
    fn losses_come_in_bursts() {
        let spec = Loss::GilbertElliott { p: 0.01, r: 0.25, good: 0.0, bad: 1.0 };
        let mut wire = Wire::new(spec, false, 1, "a-b").unwrap();
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
        let mut wire = Wire::new(spec, false, 1, "a-b").unwrap();
        let share = (0..n).filter(|_| wire.loses()).count() as f64 / f64::from(n);
        assert!((share - 0.2).abs() < 4.0 * (0.2f64 * 0.8 / f64::from(n)).sqrt(), "{share}");
        // It starts good, and without p it stays so.
        let mut good = Wire::new(
            Loss::GilbertElliott { p: 0.0, r: 0.0, good: 0.0, bad: 1.0 },
            false,
            1,
            "a-b",
        )
        .unwrap();
        assert!((0..100).all(|_| !good.loses()));
        assert!(Wire::new(Loss::Bernoulli(0.0), false, 1, "a-b").is_none());
    }

    /// Whatever it was, a field comes out cleared; losses are the same as without.
    #[test]
    fn a_bleaching_wire_clears_every_field() {
        let fields = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
        let wire = |loss, bleaches| Wire::new(Loss::Bernoulli(loss), bleaches, 1, "a-b").unwrap();
        assert_eq!(fields.map(|ecn| wire(0.0, true).carries(ecn)), [Some(Ecn::NotEct); 4]);
        let (mut plain, mut bleaching) = (wire(0.5, false), wire(0.5, true));
        for ecn in fields.into_iter().cycle().take(100) {
            let (got, cleared) = (plain.carries(ecn), bleaching.carries(ecn));
            assert!(got.is_none_or(|got| got == ecn), "left alone");
            assert_eq!(cleared, got.map(|_| Ecn::NotEct));
        }
    }
}
