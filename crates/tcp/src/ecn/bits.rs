//! The three ECN bits of the TCP header. `handshake.rs` has how two ends agree on their meaning;
//! multi-level ECN's code points are in `mecn.rs`.

penstock_units::words! {
    /// How the two ends use ECN.
    pub enum Ecn {
        /// Not at all.
        Off = "off",
        /// RFC 3168.
        Classic = "classic",
        /// Multi-level ECN.
        Mecn = "mecn",
        /// RFC 9768.
        AccEcn = "accecn",
        /// Some congestion experienced.
        Sce = "sce",
    }
}

/// A TCP header's bits AE, CWR and ECE, from the highest to the lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bits(u8);

impl Bits {
    /// No bit is set.
    pub const NONE: Bits = Bits(0b000);
    /// ECN-Echo.
    pub const ECE: Bits = Bits(0b001);
    /// Congestion window reduced.
    pub const CWR: Bits = Bits(0b010);
    /// Both.
    pub const CWR_ECE: Bits = Bits(0b011);
    /// All three: an AccECN SYN.
    pub const ALL: Bits = Bits(0b111);

    /// The lowest three bits of a number: RFC 9768's ACE field.
    #[inline]
    pub const fn from_number(n: u8) -> Self {
        Bits(n & 0b111)
    }
    /// The bits as a number below eight.
    #[inline]
    pub const fn number(self) -> u8 {
        self.0
    }
    /// Accurate ECN (RFC 3540's NS).
    pub const fn ae(self) -> bool {
        self.0 & 0b100 != 0
    }
    /// Congestion window reduced.
    pub const fn cwr(self) -> bool {
        self.0 & 0b010 != 0
    }
    /// ECN-Echo.
    pub const fn ece(self) -> bool {
        self.0 & 0b001 != 0
    }
}

/// The strength of a packet's mark, or of the mark that an ACK reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// No mark.
    #[default]
    None,
    /// Multi-level ECN's first level; SCE's some congestion.
    Incipient,
    /// Congestion experienced; multi-level ECN's moderate level.
    Ce,
}
