//! Random loss on the wire, behind the queue.

use penstock_units::param::Loss;
use penstock_units::Rng;

/// Random loss on the wire.
pub(crate) struct LossyWire {
    loss: Loss,
    bad: bool,
    rng: Rng,
}

impl LossyWire {
    /// A wire that loses packets; `None` where it never does.
    pub(crate) fn new(loss: Loss, seed: u64, link: &str) -> Option<Self> {
        let ever = match loss {
            Loss::Bernoulli(p) => p > 0.0,
            Loss::GilbertElliott { good, bad, .. } => good > 0.0 || bad > 0.0,
        };
        ever.then(|| LossyWire {
            loss,
            bad: false,
            rng: Rng::stream(seed, &format!("loss/{link}")),
        })
    }

    /// Returns whether it loses the next packet.
    pub(crate) fn loses(&mut self) -> bool {
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
        let mut wire = LossyWire::new(spec, 1, "a-b").unwrap();
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
        let mut wire = LossyWire::new(spec, 1, "a-b").unwrap();
        let share = (0..n).filter(|_| wire.loses()).count() as f64 / f64::from(n);
        assert!((share - 0.2).abs() < 4.0 * (0.2f64 * 0.8 / f64::from(n)).sqrt(), "{share}");
        // It starts good, and without p it stays so.
        let mut good =
            LossyWire::new(Loss::GilbertElliott { p: 0.0, r: 0.0, good: 0.0, bad: 1.0 }, 1, "a-b")
                .unwrap();
        assert!((0..100).all(|_| !good.loses()));
        assert!(LossyWire::new(Loss::Bernoulli(0.0), 1, "a-b").is_none());
    }
}
