//! Any text as a scenario file.
#![no_main]

#[path = "../../crates/scenario/tests/common/inputs.rs"]
#[allow(dead_code)]
mod inputs;

libfuzzer_sys::fuzz_target!(|text: &str| inputs::scenario(text));
