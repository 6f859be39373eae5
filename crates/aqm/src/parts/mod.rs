//! Disciplines are made of these parts. No part knows a discipline.
//!
//! The five parts of RED and its descendants:
//!
//! - An [`estimator`] makes `avg` follow the queue.
//! - A [`profile`] turns `avg` into a probability.
//! - A [`gate`] turns the probability into a decision about this packet.
//! - A [`signal`] is a drop or a mark of some strength.
//! - An [`adapter`] retunes the profile while the queue runs.
//!
//! [`compose`] puts them together. [`isolation`] gives each flow a queue of its own, by a hash or by
//! an [`associative`] one, [`coupling`] couples the signals of two sorts of traffic, [`memory`] limits
//! what waits.

pub mod adapter;
pub mod associative;
pub mod compose;
pub mod coupling;
pub mod estimator;
pub mod gate;
pub mod isolation;
pub mod memory;
pub mod profile;
pub mod signal;
