//! Captures: packets as a real capture of the link would show them.

use penstock_aqm::Ecn;
use penstock_tcp::{Block, MAX_BLOCKS};
use penstock_units::Time;

/// What a capture needs to know of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketView {
    pub(crate) udp: bool,
    pub(crate) flow: u32,
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) epoch: u16,
    pub(crate) ack: bool,
    pub(crate) syn: bool,
    pub(crate) cwr: bool,
    pub(crate) ece: bool,
    pub(crate) ecn: Ecn,
    pub(crate) class: u8,
    /// Data: the segment. ACK: the highest segment acknowledged.
    pub(crate) seq: i64,
    pub(crate) segment: u32,
    pub(crate) payload: u32,
    pub(crate) first_data: i64,
    pub(crate) ecn_setup: bool,
    pub(crate) blocks: [Block; MAX_BLOCKS],
}

pub(crate) struct Capture;
impl Capture {
    pub(crate) fn new() -> Self {
        Capture
    }
    pub(crate) fn packet(&mut self, _now: Time, _p: &PacketView) {}
    pub(crate) fn finish(self: Box<Self>) -> Vec<u8> {
        vec![]
    }
}
