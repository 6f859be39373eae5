//! The smallest value of a window of time, from three candidates: the best, the best since then,
//! and the best since that (K. Nichols; Linux's `win_minmax`). It is exact while values fall, and
//! forgets a value at most a window after it came.

use penstock_units::{Duration, Time};

/// The smallest duration of late.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Minimum([(Time, Duration); 3]);

const NONE: Duration = Duration::from_ticks(u64::MAX);

impl Minimum {
    /// No value has come.
    pub(crate) const EMPTY: Minimum = Minimum([(Time::ZERO, NONE); 3]);

    /// Returns the smallest.
    pub(crate) fn get(&self) -> Option<Duration> {
        Some(self.0[0].1).filter(|d| *d != NONE)
    }

    /// Takes a value in; what is older than `window` is forgotten.
    pub(crate) fn take(&mut self, now: Time, window: Duration, value: Duration) {
        let new = (now, value);
        let [best, second, third] = &mut self.0;
        if value <= best.1 || now.since(third.0) > window {
            self.0 = [new; 3];
            return;
        }
        if value <= second.1 {
            (*second, *third) = (new, new);
        } else if value <= third.1 {
            *third = new;
        }
        let age = now.since(best.0);
        let part = |n: u64| Duration::from_ticks(window.as_ticks() / n);
        if age > window {
            (*best, *second, *third) = (*second, *third, new);
            if now.since(best.0) > window {
                (*best, *second, *third) = (*second, *third, new);
            }
        } else if second.0 == best.0 && age > part(4) {
            (*second, *third) = (new, new);
        } else if third.0 == second.0 && age > part(2) {
            *third = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of 100 s: 10 ms at 0 s holds until 100 s, then the 20 ms of 60 s, the smallest
    /// since a quarter and a half of the window.
    #[test]
    fn old_values_are_forgotten() {
        let mut m = Minimum::EMPTY;
        assert_eq!(m.get(), None);
        for (at, value, want) in [
            (0, 10, 10),
            (30, 30, 10),
            (60, 20, 10),
            (90, 40, 10),
            (100, 40, 10),
            (101, 40, 20),
            (161, 40, 40),
            (162, 5, 5),
        ] {
            let now = Time::ZERO + Duration::from_secs(at);
            m.take(now, Duration::from_secs(100), Duration::from_millis(value));
            assert_eq!(m.get(), Some(Duration::from_millis(want)), "at {at} s");
        }
    }
}
