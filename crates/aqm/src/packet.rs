//! A discipline sees a packet and the queue that it arrives at.

use penstock_units::Ecn;
use penstock_units::Time;

/// A packet as a discipline sees it.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Size on the wire in bytes.
    pub bytes: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// A number that tells flows apart.
    pub flow: u32,
    /// Its priority class (DSCP).
    pub class: u8,
}

/// The queue as its discipline sees it. The packet in transmission has left the queue. It counts
/// neither in the length nor against the limit (unless `count_in_service` says so).
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// Waiting packets, without the arriving one.
    pub pkts: u32,
    /// Their bytes.
    pub bytes: u64,
    /// Since when the link has had nothing to send; `None` while it transmits.
    pub idle_since: Option<Time>,
}

impl Queue {
    /// Returns its length, in bytes or in packets.
    #[inline]
    pub fn length(&self, in_bytes: bool) -> f64 {
        if in_bytes {
            // Signed, which processors convert in one step.
            self.bytes as i64 as f64
        } else {
            f64::from(self.pkts)
        }
    }
}
