//! The crate's tests from outside, in one program: each program of its own would be linked with
//! everything again.

mod accecn;
mod access;
mod ahead;
mod bands;
mod bbr;
mod browser;
mod cake;
mod common;
mod corpus;
mod documents;
mod dualpi2;
mod errors;
mod facts;
mod forms;
mod framing;
mod graph;
mod lead_in;
mod links;
mod lowering;
mod mecn;
mod messages;
mod mutations;
mod outcomes;
mod properties;
mod rack;
mod shaper;
mod steps;
mod theory;
mod user;
mod windows;
