//! packetdrill scripts, run against Penstock's TCP in virtual time.
//!
//! A script says what arrives at a host and what the host has to send in answer, and when; between
//! them it asserts what the host believes of its connection. The kernel's developers keep hundreds
//! of them. Here the host is `penstock-tcp`'s sender and receiver, and the clock is a number.
//!
//! - `script.rs`: what a script is; `parse.rs` reads it, `code.rs` its assertions.
//! - `settings.rs`: the shell commands at its head, and the host that they make.
//! - `bytes.rs`: scripts count bytes, the crate segments. `told.rs`: what assertions are about.
//! - `plan.rs`: whether a script can be told to the crate at all. `run.rs`: the run.
//! - `report.rs`: many scripts, and the page that is made of them.

mod bytes;
mod code;
mod parse;
mod plan;
mod report;
mod run;
mod script;
mod settings;
mod told;

pub use parse::{parse, Unread};
pub use report::{judge, page, say, Expected, Row};
pub use run::{run, traced, Compared, Failure, Passed, Verdict};
pub use script::{
    Action, Base, Call, EcnField, Event, Flags, Options, Packet, Script, ScriptOption, TcpOption,
    When,
};
