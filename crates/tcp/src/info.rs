//! This module says how a sender stands: its state in the words of Linux, and the numbers that
//! `TCP_INFO` has.

use penstock_units::Duration;

/// What a sender believes of its path, in Linux's words (`tcpi_ca_state`). The order is that of
/// gravity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// Nothing is amiss.
    #[default]
    Open,
    /// Something is missing or was sent twice, and is not taken for lost.
    Disorder,
    /// A mark has reduced the window, until the ACKs pass what was outstanding then.
    Cwr,
    /// A loss has reduced the window, until what was outstanding then is acknowledged.
    Recovery,
    /// The retransmission timer has expired, and not all that was outstanding is acknowledged.
    Loss,
}

/// How a sender stands. Windows and counts are in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// What it believes of its path.
    pub state: CaState,
    /// The congestion window, in whole segments.
    pub cwnd: u32,
    /// The slow-start threshold, in whole segments; `None` before the first cut, unless one was
    /// set.
    pub ssthresh: Option<u32>,
    /// Segments outstanding.
    pub unacked: u64,
    /// Those of them that ACKs have reported, where a record is kept.
    pub sacked: u64,
    /// Those of them that are taken for lost.
    pub lost: u64,
    /// Those of them whose retransmission is outstanding.
    pub retrans: u64,
    /// By how many segments the path was seen to reorder, at least three.
    pub reordering: u32,
    /// How often it was seen to reorder.
    pub reord_seen: u32,
    /// The smoothed round trip; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// The smallest round trip of late.
    pub min_rtt: Option<Duration>,
    /// The retransmission timeout, backed off.
    pub rto: Duration,
    /// How often in a row the timeout has doubled.
    pub backoff: u32,
    /// Retransmissions so far.
    pub total_retrans: u64,
    /// Segments delivered so far, where a record is kept.
    pub delivered: u64,
    /// Packets reported as marked so far.
    pub delivered_ce: u64,
    /// Bytes of payload that AccECN's option has reported, by the field that they came with.
    pub delivered_bytes: DeliveredBytes,
}

/// Bytes by ECN field, modulo 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveredBytes {
    /// With ECT(0).
    pub ect0: u32,
    /// With ECT(1).
    pub ect1: u32,
    /// With CE.
    pub ce: u32,
}
