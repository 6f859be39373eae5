//! Reno's window, RFC 5681: one segment per round trip, and half of it at a cut. Everything is the
//! trait's default. Jacobson's two papers, NewReno and SACK repair losses in different ways on top
//! of this window, so that four variants share it.

use crate::control::algorithm::{CongestionControl, Cut};
use crate::control::variant::{Repair, VariantInfo, VARIANT};
use crate::recovery::kind::Recovery;

/// Reno keeps nothing.
#[derive(Clone, Debug)]
pub(crate) struct Reno;

impl CongestionControl for Reno {
    /// Table 3 as it stands: it was written for this window.
    fn level_leaves(&self, table_3: f64, _c: &Cut) -> f64 {
        table_3
    }
}
