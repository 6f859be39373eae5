//! Properties of every run, over the whole scenario space. `PENSTOCK_CASES=5000` looks further.

use crate::common::{checks, space};
use proptest::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

static ACCEPTED: AtomicU32 = AtomicU32::new(0);

fn cases() -> u32 {
    std::env::var("PENSTOCK_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(150)
}

/// A scenario; a failing one is printed as the file that it is.
struct Drawn(String);

impl std::fmt::Debug for Drawn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\n{}", self.0)
    }
}

fn drawn() -> impl Strategy<Value = Drawn> {
    prop::collection::vec(any::<u8>(), 0..300).prop_map(|bytes| Drawn(space::scenario(&bytes)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 400, failure_persistence: None, ..ProptestConfig::default() })]

    fn run_the_space(scenario in drawn()) {
        ACCEPTED.fetch_add(u32::from(checks::check(&scenario.0)), Ordering::Relaxed);
    }
}

#[test]
fn hold_over_the_scenario_space() {
    run_the_space();
    let share = f64::from(ACCEPTED.load(Ordering::Relaxed)) / f64::from(cases());
    assert!(share > 0.5, "only {share} of the scenarios were accepted: the space is drawn badly");
}
