//! Any bytes as a discipline and what happens to its queue, checked as the property tests do.
#![no_main]

#[path = "../../crates/aqm/tests/common/ops.rs"]
#[allow(dead_code)]
mod ops;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ops::check(bytes));
