//! Accurate ECN, RFC 9768: every ACK carries the low three bits of the count of packets that came
//! marked CE, the ACE field. The AccECN TCP option, with its byte counters, is left out; without it
//! the field alone decides, as it does where a middlebox strips the option. Nor are the tests for
//! mangled and zeroed fields (3.2.2.3, 3.2.2.4) there: the simulated network changes no header.

/// Both ends' first count (3.2.1).
pub(crate) const FIRST: u8 = 5;

/// A receiver with unacknowledged data acknowledges at once when so many marks have come
/// (3.2.2.5.1).
pub(crate) const MARKS_PER_ACK: u8 = 2;

/// How many marks an ACE field newly tells: it wraps at eight, and more packets than that may have
/// been answered, so the largest number that fits (3.2.2.5.2: "the safest likely case"). `packets`
/// have arrived there since the last ACK was sent.
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
