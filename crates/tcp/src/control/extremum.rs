//! A maximum over the last rounds in three samples (K. Nichols; Linux's `win_minmax.h`): the best,
//! the best since it, and the best since that. Each takes the place of the one before it when that
//! is too old.

/// The largest of the samples of the last rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Maximum([(u64, u64); 3]);

impl Maximum {
    /// Returns the largest.
    pub(crate) fn get(&self) -> u64 {
        self.0[0].1
    }

    /// Takes in `value`, of round `round`; what is older than `rounds` counts no longer.
    pub(crate) fn add(&mut self, round: u64, value: u64, rounds: u64) {
        let (new, [first, second, third]) = ((round, value), &mut self.0);
        let age = |sample: &(u64, u64)| round - sample.0;
        if value >= first.1 || age(third) > rounds {
            self.0 = [new; 3];
            return;
        }
        if value >= second.1 {
            (*second, *third) = (new, new);
        } else if value >= third.1 {
            *third = new;
        }
        if age(first) > rounds {
            (*first, *second, *third) = (*second, *third, new);
            if age(first) > rounds {
                (*first, *second) = (*second, *third);
            }
        } else if second.0 == first.0 && age(first) > rounds / 4 {
            // A quarter of the time without anything to follow the best: the newest does.
            (*second, *third) = (new, new);
        } else if third.0 == second.0 && age(first) > rounds / 2 {
            *third = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 in round 0, then less every round: it holds for ten rounds, and what follows it is the
    /// best of a later quarter or half, not of all.
    #[test]
    fn the_best_of_the_last_ten_rounds() {
        let mut max = Maximum::default();
        let seen: Vec<u64> = (0..=16)
            .map(|round| {
                max.add(round, 100 - round, 10);
                max.get()
            })
            .collect();
        let mut want = vec![100; 11];
        want.extend([97, 97, 97, 94, 94, 94]);
        assert_eq!(seen, want);
        max.add(17, 98, 10);
        assert_eq!(max.get(), 98);
        // After a long rest only the newest counts.
        max.add(40, 3, 10);
        assert_eq!(max.get(), 3);
    }
}
