//! Explicit congestion notification settles what the two ends say to each other, and what a mark
//! costs.
//!
//! [`bits`] holds the vocabulary and the negotiation on the SYN; each of the other files is one way
//! of telling marks.

pub(crate) mod abe;
pub(crate) mod accecn;
pub(crate) mod answer;
pub(crate) mod bits;
pub(crate) mod classic;
pub(crate) mod mecn;
pub(crate) mod sce;
