//! The crate's tests from outside, in one program: each program of its own would be linked with
//! everything again.

mod accecn;
mod closed_loop;
mod common;
mod ecn;
mod growth;
mod modern;
mod pacing;
mod quic;
mod rack;
mod recovery;
mod steered;
mod timer;
mod vegas;
