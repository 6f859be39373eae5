//! Real packets through the simulator's own queue.
//!
//! Two network namespaces stand for the hosts of a scenario, and between them a router whose
//! bottleneck is the very [`penstock_queue::Link`], discipline included, that the simulator runs.
//! Modules, from the wire up: [`sys`] and [`socket`] (system calls), [`netns`] and [`links`]
//! (namespaces, devices), [`port`] (frames in and out), [`frame`] (headers), [`side`] (the router's
//! two sides), [`path`] (access links and bottleneck in virtual time), [`router`] (the loop),
//! [`flows`] and [`diag`] (what is seen of TCP), [`traffic`], [`transfer`], [`exchange`] with
//! [`work`], [`stream`] and `connection`, `own`, `programs` and `watch` (what runs on the hosts),
//! [`control`] (what the caller asks for), [`session`] (all of it together).

#![cfg(target_os = "linux")]

pub mod capture;
mod connection;
pub mod control;
pub mod diag;
mod error;
pub mod exchange;
pub mod flows;
pub mod frame;
mod holder;
mod hosts;
pub mod links;
pub mod netns;
mod options;
mod own;
pub mod path;
pub mod port;
mod programs;
pub mod report;
pub mod router;
pub mod session;
pub mod side;
pub mod socket;
pub mod stream;
pub mod sys;
pub mod traffic;
pub mod transfer;
mod watch;
pub mod work;

pub use control::Control;
pub use error::EmulateError;
pub use options::{Options, Status};
pub use report::{Emulation, Report};
pub use session::run;
