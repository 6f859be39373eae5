//! A limit of memory: the bytes of what waits, and for each packet what is kept of it besides.

use crate::packet::Queue;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Bytes; `u64::MAX`: no limit.
    pub limit: u64,
    /// What a packet takes beside its own bytes.
    pub per_packet: u64,
}

impl Memory {
    /// Returns whether a packet of `bytes` does not fit to those that wait.
    #[inline(always)]
    pub fn exceeded(&self, q: &Queue, bytes: u32) -> bool {
        let overhead = (u64::from(q.pkts) + 1).saturating_mul(self.per_packet);
        (q.bytes + u64::from(bytes)).saturating_add(overhead) > self.limit
    }
}
