//! The crate's tests from outside, in one program: each program of its own would be linked with
//! everything again.

mod properties;
mod scripts;
