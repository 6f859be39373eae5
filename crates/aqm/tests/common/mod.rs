//! What the tests share.

pub mod ops;
pub mod replay;
