//! Explicit congestion notification settles what the two ends say to each other, and what a mark
//! costs.
//!
//! [`bits`] holds the vocabulary, [`handshake`] the negotiation; `answer` is what marks make a
//! sender do, and each of the other files is one way of telling them.

pub(crate) mod abe;
pub(crate) mod accecn;
pub(crate) mod answer;
pub(crate) mod bits;
pub(crate) mod classic;
pub(crate) mod handshake;
pub(crate) mod mecn;
pub(crate) mod option;
pub(crate) mod sce;
