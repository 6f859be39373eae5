//! Reno's window, RFC 5681: one segment per round trip, and half of it at a cut. Everything is the
//! trait's default. Tahoe, Reno, NewReno and SACK repair losses in different ways under this
//! window, so that four variants share it.

use crate::control::algorithm::{CongestionControl, Cut};
use crate::control::hystart::HyStartParams;
use crate::control::variant::{VariantInfo, VARIANT};
use crate::control::window::Window;
use crate::ecn::abe::AbeParams;
use crate::recovery::kind::Recovery;
use penstock_units::param::Param;

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

/// What ends slow start, and what a mark leaves.
const OWN: &[&[Param]] = &[HyStartParams::TABLE, AbeParams::TABLE];

pub(crate) const VARIANTS: &[VariantInfo] = &[
    VariantInfo {
        name: "tahoe",
        doc: "Fast retransmit on the third duplicate ACK, then slow start from one segment.",
        source: "Jacobson 1988",
        own: OWN,
        recovery: Some(Recovery::Tahoe),
        ..VARIANT
    },
    VariantInfo {
        name: "reno",
        doc: "Fast recovery with window inflation; the first new ACK ends it.",
        source: "RFC 5681",
        own: OWN,
        recovery: Some(Recovery::Reno),
        linux: Some("reno"),
        ..VARIANT
    },
    VariantInfo {
        name: "newreno",
        doc: "Fast recovery that partial ACKs do not end: one hole repaired each round trip.",
        source: "RFC 6582",
        own: OWN,
        recovery: Some(Recovery::NewReno),
        linux: Some("reno"),
        ..VARIANT
    },
    VariantInfo {
        name: "sack",
        doc:
            "Loss recovery from selective acknowledgements: holes are repaired as the pipe allows.",
        source: "RFC 2018, RFC 6675",
        own: OWN,
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
    own: &[HyStartParams::TABLE, AbeParams::TABLE, Recovery::TABLE],
    linux: Some("reno"),
    ..VARIANT
};

/// Reno's window with QUIC's recovery: `tcp = "reno"` and `recovery = "quic"`.
const WITH_QUIC: VariantInfo = VariantInfo {
    doc: "Reno's window; losses are found by later arrivals or by time, and timeouts send probes.",
    source: "RFC 9002",
    recovery: Some(Recovery::Quic),
    ..WITH_RACK
};

/// Returns every row of Reno's window.
pub(crate) fn rows() -> impl Iterator<Item = &'static VariantInfo> {
    const BY_KEY: &[VariantInfo] = &[WITH_RACK, WITH_QUIC];
    VARIANTS.iter().chain(BY_KEY)
}
