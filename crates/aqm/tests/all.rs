//! The crate's tests from outside, in one program: each program of its own would be linked with
//! everything again.

mod common;
mod corpus;
mod ns3_codel;
mod ns3_pie;
mod ns3_red;
mod properties;
