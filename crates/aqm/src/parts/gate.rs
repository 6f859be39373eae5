//! Gates turn a probability into a verdict for this packet.
//!
//! Floyd, Jacobson 1993, section 7 ("method 2": uniform gaps) and Fig. 2; `wait` is ns-2's default,
//! `drawn` Linux's (include/net/red.h): where `p_b` rises, `count·p_b` rises for the packets since the
//! last signal too.

use penstock_units::{words, Rng};

words! {
    /// How the gaps between two signals are spread, at constant `p_b`.
    pub enum Spacing {
        /// `p_a = p_b / (1 − count·p_b)`: uniform on 1 … 1/p_b.
        Uniform = "uniform",
        /// Nothing before `count·p_b` reaches 1, then `p_b / (2 − count·p_b)`: uniform on 1/p_b …
        /// 2/p_b.
        Wait = "wait",
        /// `p_a = p_b`: independent coins.
        Geometric = "geometric",
        /// Where `count·p_b` reaches R, which is drawn from [0, 1) after each signal and with the
        /// packet that comes first into the ramp, and passes: uniform on 1 … 1/p_b.
        Drawn = "drawn",
    }
}

words! {
    /// How signals are spread.
    pub enum Spread {
        /// Probabilities are added up, and a signal is due where the sum passes 1.
        Recur = "recur",
        /// By chance.
        Random = "random",
    }
}

/// `count` grows by `p`, and a signal is due where it passes 1 (RFC 9332, Figure 4).
#[inline(always)]
pub fn recur(count: &mut f64, p: f64) -> bool {
    *count += p;
    let due = *count > 1.0;
    if due {
        *count -= 1.0;
    }
    due
}

/// The way in which packet sizes enter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sizes {
    /// They do not.
    Ignored,
    /// `p_b` scales with size / mean size (Floyd, Jacobson 1993, section 8). The value is the mean
    /// size.
    ScaleB(f64),
    /// `p_a` scales, and `count` counts mean packets' worth of bytes, rounded down (ns-2: bytes_).
    ScaleA(f64),
}

/// RED's gate: the count of packets since the last signal.
#[derive(Clone, Debug)]
pub struct Gate {
    spacing: Spacing,
    sizes: Sizes,
    /// The first packet of an excursion passes and counts as one, as in ns-2.
    first_passes: bool,
    inside: bool,
    count: i64,
    count_bytes: u64,
    /// R, with `Drawn`.
    drawn: f64,
}

impl Gate {
    /// A gate that has seen nothing.
    pub fn new(spacing: Spacing, sizes: Sizes, first_passes: bool) -> Self {
        Gate { spacing, sizes, first_passes, inside: false, count: -1, count_bytes: 0, drawn: 0.0 }
    }

    /// Counts on from another gate.
    pub fn go_on(&mut self, before: &Gate) {
        self.inside = before.inside;
        self.count = before.count;
        self.count_bytes = before.count_bytes;
        self.drawn = before.drawn;
    }

    /// A packet came below the profile.
    #[inline]
    pub fn leave(&mut self) {
        self.count = -1;
        self.count_bytes = 0;
        self.inside = false;
    }

    /// A packet was signalled or dropped for another reason.
    #[inline]
    pub fn restart(&mut self) {
        self.count = 0;
        self.count_bytes = 0;
        self.inside &= self.spacing != Spacing::Drawn;
    }

    /// Counts a packet that is decided elsewhere.
    #[inline]
    pub fn count(&mut self, bytes: u32) {
        self.inside |= self.spacing != Spacing::Drawn;
        self.count += 1;
        self.count_bytes += u64::from(bytes);
    }

    /// Throws an independent coin. The count goes on, or begins again where the packet is
    /// signalled.
    #[inline]
    pub fn coin(&mut self, p: f64, bytes: u32, rng: &mut Rng) -> bool {
        self.count(bytes);
        let signal = p >= 1.0 || (p > 0.0 && rng.unit() < p);
        if signal {
            self.restart();
        }
        signal
    }

    /// Returns whether this packet, of `bytes`, is signalled at probability `p_b`.
    #[inline(always)]
    pub fn decide(&mut self, p_b: f64, bytes: u32, rng: &mut Rng) -> bool {
        if self.spacing == Spacing::Drawn {
            return self.reaches(p_b, bytes, rng);
        }
        if self.enter(bytes) {
            return false;
        }
        let signal = chance(self.p_a(p_b, bytes), rng);
        if signal {
            self.restart();
        }
        signal
    }

    /// The same with `Drawn`.
    #[inline(never)]
    fn reaches(&mut self, p_b: f64, bytes: u32, rng: &mut Rng) -> bool {
        let first = !self.inside;
        self.count(bytes);
        let due = match self.sizes {
            Sizes::Ignored => self.count as f64 * p_b,
            Sizes::ScaleB(mean) => self.count as f64 * (p_b * f64::from(bytes) / mean).min(1.0),
            Sizes::ScaleA(mean) => libm::floor(self.count_bytes as f64 / mean) * p_b,
        };
        if !first && due < self.drawn {
            return false;
        }
        (self.inside, self.count, self.count_bytes, self.drawn) = (true, 0, 0, rng.unit());
        !first
    }

    /// Counts a packet. Returns whether it passes as the first of an excursion.
    #[inline(always)]
    fn enter(&mut self, bytes: u32) -> bool {
        if !self.inside {
            self.inside = true;
            if self.first_passes {
                self.count = 1;
                self.count_bytes = u64::from(bytes);
                return true;
            }
        }
        self.count += 1;
        self.count_bytes += u64::from(bytes);
        false
    }

    /// Returns the probability of this packet, which is counted.
    #[inline(always)]
    fn p_a(&self, p_b: f64, bytes: u32) -> f64 {
        let size = f64::from(bytes);
        match self.sizes {
            Sizes::Ignored => p_a(self.spacing, p_b, self.count as f64),
            Sizes::ScaleB(mean) => {
                p_a(self.spacing, (p_b * size / mean).min(1.0), self.count as f64)
            }
            Sizes::ScaleA(mean) => {
                let p = p_a(self.spacing, p_b, libm::floor(self.count_bytes as f64 / mean));
                if p < 1.0 {
                    (p * size / mean).min(1.0)
                } else {
                    1.0
                }
            }
        }
    }
}

/// Throws the coin. The stream advances only where chance decides.
#[inline(always)]
fn chance(p_a: f64, rng: &mut Rng) -> bool {
    p_a >= 1.0 || (p_a > 0.0 && rng.unit() < p_a)
}

/// Returns the probability for the packet at `count` packets since the last signal, while `p_b` stands
/// still.
#[inline]
pub fn p_a(spacing: Spacing, p_b: f64, count: f64) -> f64 {
    let due = count * p_b;
    match spacing {
        Spacing::Geometric => p_b,
        // 1 where the denominator is zero or less.
        Spacing::Uniform if due < 1.0 => (p_b / (1.0 - due)).min(1.0),
        Spacing::Uniform => 1.0,
        Spacing::Wait if due < 1.0 => 0.0,
        Spacing::Wait if due < 2.0 => (p_b / (2.0 - due)).min(1.0),
        Spacing::Wait => 1.0,
        Spacing::Drawn if count < 1.0 => 0.0,
        Spacing::Drawn if due - p_b < 1.0 => (p_b / (1.0 - (due - p_b))).min(1.0),
        Spacing::Drawn => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fig. 2 by hand; powers of two, so `==` is exact.
    #[test]
    fn uniform_by_hand() {
        for (count, want) in
            [(0.0, 0.25), (1.0, 1.0 / 3.0), (2.0, 0.5), (3.0, 1.0), (4.0, 1.0), (9.0, 1.0)]
        {
            assert_eq!(p_a(Spacing::Uniform, 0.25, count), want, "count = {count}");
        }
    }

    /// At constant p_b = 0.05 the gap is uniform on 1..=19, uniform on 20..=39, geometric with mean
    /// 20, uniform on 1..=20.
    #[test]
    fn gaps_are_spread_as_promised() {
        for (spacing, lo, hi, mean) in [
            (Spacing::Uniform, 1, 19, 10.0),
            (Spacing::Wait, 20, 39, 29.5),
            (Spacing::Geometric, 1, 10_000, 20.0),
            (Spacing::Drawn, 1, 20, 10.5),
        ] {
            let mut rng = Rng::stream(3, "gate");
            let mut gate = Gate::new(spacing, Sizes::Ignored, false);
            gate.leave();
            let mut gaps = vec![];
            let mut gap = 0;
            while gaps.len() <= 20_000 {
                gap += 1;
                if gate.decide(0.05, 1000, &mut rng) {
                    gaps.push(gap);
                    gap = 0;
                }
            }
            gaps.remove(0); // from the entry to the first signal is another gap
            let n = gaps.len() as f64;
            let got = gaps.iter().sum::<i32>() as f64 / n;
            assert!(gaps.iter().all(|g| (lo..=hi).contains(g)), "{spacing:?}");
            assert!((got - mean).abs() < 0.03 * mean, "{spacing:?}: mean gap {got}");
            if spacing != Spacing::Geometric {
                // Uniform: every value occurs about as often as every other (5 standard errors).
                for g in lo..=hi {
                    let share = gaps.iter().filter(|x| **x == g).count() as f64 / n;
                    let want = 1.0 / f64::from(hi - lo + 1);
                    assert!(
                        (share - want).abs() < 5.0 * (want / n).sqrt(),
                        "{spacing:?}: gap {g}: {share}"
                    );
                }
            }
        }
    }

    /// R is 0.6: the first packet passes and counts as none; three at 0.125 reach 0.375. At 0.25 the
    /// fourth is due, and four at 0.125 would not have been.
    #[test]
    fn what_is_drawn_is_reached_sooner_where_the_probability_rises() {
        let mut rng = Rng::stream(3, "gate");
        let mut gate = Gate::new(Spacing::Drawn, Sizes::Ignored, false);
        assert!(!gate.decide(1.0, 1000, &mut rng));
        gate.drawn = 0.6;
        let signals: Vec<bool> =
            [0.125, 0.125, 0.125, 0.25].map(|p| gate.decide(p, 1000, &mut rng)).into();
        assert_eq!((signals, gate.count), (vec![false, false, false, true], 0));
        gate.restart();
        assert!(!gate.decide(1.0, 1000, &mut rng), "after a forced signal it is the first again");
    }

    #[test]
    fn small_packets_are_signalled_less_in_byte_mode() {
        for sizes in [Sizes::ScaleB(1000.0), Sizes::ScaleA(1000.0)] {
            let rate = |bytes| {
                let mut rng = Rng::stream(4, "gate");
                let mut gate = Gate::new(Spacing::Uniform, sizes, false);
                (0..100_000).filter(|_| gate.decide(0.02, bytes, &mut rng)).count() as f64 / 1e5
            };
            assert!(
                (rate(1000) / rate(100) - 10.0).abs() < 3.0,
                "{sizes:?}: {} {}",
                rate(1000),
                rate(100)
            );
        }
    }
}
