//! What a packet takes on the wire: the bytes that a line's framing adds to it, the least that it
//! sends, and the cells into which it cuts what it sends.
//!
//! ATM (ITU-T I.361, AAL5: I.363.5) sends cells of 53 bytes, 48 of which carry data; the last one
//! is padded. PTM (ITU-T G.992.3 annex N, 64/65 octets) puts a byte before each 64.

crate::words! {
    /// How a line cuts up what it sends.
    pub enum Cells {
        /// Not at all.
        None = "none",
        /// Cells of 53 bytes with 48 of data, the last one padded.
        Atm = "atm",
        /// 65 bytes for each 64.
        Ptm = "ptm",
    }
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Bytes that a packet has on the line beyond its own; fewer, where what is taken for the
    /// packet's size has headers that the line does not.
    pub overhead: i64,
    /// The least that a packet takes, with its overhead.
    pub mpu: u32,
    /// How that is cut up.
    pub cells: Cells,
}

impl Framing {
    /// Nothing is added.
    pub const NONE: Framing = Framing { overhead: 0, mpu: 0, cells: Cells::None };

    /// Returns the bytes that a packet of `bytes` takes on the wire.
    #[inline]
    pub fn wire(&self, bytes: u32) -> u32 {
        let sum = (i64::from(bytes) + self.overhead).clamp(0, i64::from(u32::MAX / 2));
        let framed = (sum as u32).max(self.mpu);
        match self.cells {
            Cells::None => framed,
            Cells::Atm => framed.div_ceil(48) * 53,
            Cells::Ptm => framed + framed.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: ⌈(1492 + 40)/48⌉ = 32 cells; a pure ACK of 40 B takes ⌈80/48⌉ = 2 cells; 1530 B are
    /// 23 blocks of 64 and a rest, 24 bytes more.
    #[test]
    fn a_packet_takes_what_the_line_frames_it_in() {
        let framing = |overhead, mpu, cells| Framing { overhead, mpu, cells };
        let cable = framing(18, 64, Cells::None);
        assert_eq!((cable.wire(1500), cable.wire(40), cable.wire(46)), (1518, 64, 64));
        let ethernet = framing(38, 84, Cells::None);
        assert_eq!((ethernet.wire(1500), ethernet.wire(46)), (1538, 84));
        let pppoe_over_atm = framing(40, 0, Cells::Atm);
        assert_eq!((pppoe_over_atm.wire(1492), pppoe_over_atm.wire(40)), (1696, 106));
        assert_eq!(framing(48, 0, Cells::Atm).wire(1500), 1749);
        assert_eq!(framing(22, 0, Cells::Ptm).wire(1500), 1546);
        assert_eq!(framing(30, 0, Cells::Ptm).wire(1500), 1554);
        assert_eq!(Framing::NONE.wire(1500), 1500);
        assert_eq!(framing(-14, 0, Cells::None).wire(1514), 1500);
        assert_eq!(framing(-64, 0, Cells::None).wire(40), 0);
    }
}
