//! Any bytes as a scenario of the property tests' space, run and checked as they do.
#![no_main]

#[path = "../../crates/scenario/tests/common/checks.rs"]
mod checks;
#[path = "../../crates/scenario/tests/common/space.rs"]
mod space;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = checks::check(&space::scenario(bytes));
});
