//! Reno's window, RFC 5681: one segment per round trip, and half of it at a cut. Everything is the
//! trait's default. Tahoe, Reno, NewReno and SACK repair losses in different ways under this
//! window, so that four variants share it.

use crate::control::algorithm::{CongestionControl, Cut};
use crate::control::variant::{VariantInfo, VARIANT};
use crate::control::window::Window;
use crate::recovery::kind::Recovery;

/// Reno keeps nothing.
#[derive(Clone, Debug)]
pub(crate) struct Reno;

impl CongestionControl for Reno {
    type Params = ();

    fn new((): &()) -> Self {
        Reno
    }

    /// Table 3 as it stands: it was written for this window.
    fn level_leaves(&self, table_3: f64, _c: &Cut, _w: &Window) -> f64 {
        table_3
    }
}

pub(crate) const VARIANTS: &[VariantInfo] = &[
    VariantInfo {
        name: "tahoe",
        doc: "Fast retransmit on the third duplicate ACK, then slow start from one segment.",
        source: "Jacobson 1988",
        recovery: Some(Recovery::Tahoe),
        ..VARIANT
    },
    VariantInfo {
        name: "reno",
        doc: "Fast recovery with window inflation; the first new ACK ends it.",
        source: "RFC 5681",
        recovery: Some(Recovery::Reno),
        linux: Some("reno"),
        ..VARIANT
    },
    VariantInfo {
        name: "newreno",
        doc: "Fast recovery that partial ACKs do not end: one hole repaired each round trip.",
        source: "RFC 6582",
        recovery: Some(Recovery::NewReno),
        linux: Some("reno"),
        ..VARIANT
    },
    VariantInfo {
        name: "sack",
        doc:
            "Loss recovery from selective acknowledgements: holes are repaired as the pipe allows.",
        source: "RFC 2018, RFC 6675",
        recovery: Some(Recovery::Sack),
        linux: Some("reno"),
        ..VARIANT
    },
];

/// Reno's window with RACK's recovery: `tcp = "reno"` and `recovery = "rack"`.
pub(crate) const WITH_RACK: VariantInfo = VariantInfo {
    name: "reno",
    doc: "Reno's window; losses are found by time, and a cut takes effect over a round trip.",
    source: "RFC 5681, RFC 8985, RFC 9937",
    recovery: Some(Recovery::Rack),
    own: &[Recovery::TABLE],
    linux: Some("reno"),
    ..VARIANT
};

/// Returns every row of Reno's window.
pub(crate) fn rows() -> impl Iterator<Item = &'static VariantInfo> {
    const RACK: &[VariantInfo] = &[WITH_RACK];
    VARIANTS.iter().chain(RACK)
}
