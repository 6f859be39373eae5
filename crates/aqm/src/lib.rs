//! Active queue management, one algorithm per file.
//!
//! This crate never reads a clock, opens a socket, spawns a thread, logs, or draws randomness of
//! its own. Time, packets, the queue's state and a random stream come in, verdicts go out. The
//! simulator, the real-packet router, Python and users' programs all run the same object.
//!
//! The folders, from the bottom up; each imports from those before it only:
//!
//! - The vocabulary: [`Packet`], [`Queue`], [`Ecn`], [`Verdict`], the trait [`Aqm`], and how a
//!   [`Kind`] is declared.
//! - [`driver`]: what calls a discipline, in the right order.
//! - [`parts`]: estimator, profile, gate, signal, adapter, and their composition.
//! - [`family`]: RED and its descendants. [`alone`]: the disciplines outside the family.
//! - [`Discipline`]: all of them in one list. [`kind`] and [`build`]: the same by name.
//! - [`probe`]: what a discipline does to a queue that is held.
//!
//! ```
//! use penstock_aqm::{Context, Red, RedParams};
//! use penstock_units::{Duration, QueueLen, Rate};
//! let link = Context::new(
//!     Rate::from_bps(10_000_000).expect("not zero"),
//!     Duration::from_millis(20),
//!     QueueLen::Packets(100.0),
//! );
//! let mut params = RedParams::default();
//! params.ceiling.max_p = 0.2;
//! assert!(Red::new(&params, &link).is_ok());
//! params.ceiling.max_p = 2.0;
//! let error = Red::new(&params, &link).err().expect("not a probability");
//! assert_eq!(error.to_string(), "max_p: must be a number in (0, 1]");
//! ```

pub mod alone;
pub mod driver;
pub mod family;
pub mod parts;
pub mod probe;

mod abort;
mod aqm;
mod context;
mod discipline;
mod kind;
mod packet;
mod registry;
#[cfg(test)]
mod testing;
mod verdict;

pub use abort::{Abort, UserError};
pub use aqm::{Aqm, Service, Turn};
pub use context::{Common, Context, Hosts, QueueUnit, COMMON};
pub use discipline::*;
pub use kind::{Kind, State};
pub use packet::{Packet, Queue};
pub use penstock_units::{Codepoints, Ecn, Level};
pub use registry::{build, kind};
pub use verdict::{Reason, Verdict};

/// The README's example is a test of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
