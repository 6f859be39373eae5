//! The engine in a browser.
//!
//! A [`Session`] is a run that goes on in steps and that a visitor changes while it runs. [`answer`]
//! and [`Lab::advance`] are all that the page's worker calls; `border.rs` carries their arguments
//! and results across as bytes. Nothing is simulated here: that is `penstock_sim`.
//! `docs/decisions/0014-lab.md` says why the border is as it is.

mod border;
mod lab;
mod session;
mod tables;

pub use border::{answer_at, input, length, output, step};
pub use lab::{answer, Lab};
pub use session::{Did, Session};
