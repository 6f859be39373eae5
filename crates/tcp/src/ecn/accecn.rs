//! Accurate ECN, RFC 9768. Every ACK carries the ACE field: the low three bits of the count of
//! packets that arrived marked CE. The AccECN TCP option, with its byte counters, is left out. The
//! field alone then decides, as it does where a middlebox strips the option. The tests for mangled
//! and zeroed fields (3.2.2.3, 3.2.2.4) are left out too: the simulated network changes no header.

use crate::ecn::bits::Bits;

/// Both ends' first count (3.2.1).
pub(crate) const FIRST: u8 = 5;

/// A data segment's bits: the sender's own count, which stays, since ACKs are never marked.
pub(crate) const ON_DATA: Bits = Bits::from_number(FIRST);

/// A receiver that holds back an ACK sends it as soon as this many marks have arrived (3.2.2.5.1).
pub(crate) const MARKS_PER_ACK: u8 = 2;

/// Returns how many new marks an ACE field reports. `packets` have arrived at the receiver since it
/// sent the last ACK. The field wraps at eight. Where more packets than that were answered, this is
/// the largest number that fits (3.2.2.5.2: "the safest likely case").
pub(crate) fn newly_marked(known: u8, ace: u8, packets: i64) -> i64 {
    let least = i64::from(ace.wrapping_sub(known) & 7);
    if packets < 8 {
        return least; // no cycle is possible; a larger count than packets is believed
    }
    packets - (packets - least) % 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_wraps_to_the_safest_count() {
        for (known, ace, packets, want) in [
            (5, 5, 1, 0),
            (5, 6, 1, 1),
            (7, 1, 2, 2),
            (5, 7, 1, 2), // believed, though only one packet is known of
            (5, 4, 7, 7),
            (5, 5, 8, 8),   // 0 or 8
            (5, 7, 10, 10), // 2 or 10
            (5, 7, 9, 2),
            (5, 7, 27, 26), // 2, 10, 18 or 26
        ] {
            assert_eq!(newly_marked(known, ace, packets), want, "{known} {ace} {packets}");
        }
    }
}
