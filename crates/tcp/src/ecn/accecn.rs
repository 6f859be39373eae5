//! Accurate ECN, RFC 9768. Every ACK carries the ACE field: the low three bits of the count of
//! packets that arrived marked CE. The option (`option.rs`) says in bytes what has come; where the
//! field may have wrapped, bytes decide how often.
//!
//! Left out: an ACK in answer to marked ACKs alone (3.2.2.5.1), since nothing here answers ACKs.

use crate::ecn::bits::Bits;
use crate::ecn::option::Reader;
use crate::info::DeliveredBytes;
use crate::segment::Ack;

penstock_units::words! {
    /// Whose rules of the ACE field the two ends follow.
    pub enum Ace {
        /// RFC 9768's.
        Rfc = "rfc",
        /// Linux's.
        Linux = "linux",
    }
}

penstock_units::words! {
    /// The packets of a connection that are ECN-capable.
    pub enum EctOn {
        /// Data that were not sent before.
        Data = "data",
        /// All after the handshake: retransmissions and ACKs as well.
        Established = "established",
        /// All, with the SYN and its answer.
        All = "all",
    }
}

penstock_units::params! {
    /// What AccECN may do beyond its counter, and how ends guard themselves against paths that
    /// change ECN's bits.
    pub struct AccEcnParams: Default {
        /// accecn: ACKs carry the option that counts bytes by code point.
        pub accecn_option: bool {
            default: false,
            linux: true,
            quiet: true,
            source: "RFC 9768 3.2.3; Linux: tcp_ecn_option",
        },
        /// accecn: whose rules of the ACE field hold. rfc: a receiver ACKs at once the first mark
        /// after none, and each second mark; a sender takes the largest number that fits where the
        /// field may have wrapped. linux: at once each change of the ECN field, and six marks; the
        /// smallest number from a receiver whose ACKs usually answer more than four packets.
        pub ace: Ace {
            default: "rfc",
            linux: "linux",
            quiet: true,
            source: "RFC 9768 3.2.2.5, A.2; Linux 6.18",
        },
        /// accecn: which packets are ECN-capable. established: all after the handshake,
        /// retransmissions and ACKs too, as Linux has it; all: the SYN and its answer as well
        /// (ECN++). Marks on ACKs are counted and told in the data's ACE field.
        pub ect_on: EctOn {
            default: "data",
            linux: "established",
            quiet: true,
            source: "RFC 3168 6.1; draft-ietf-tcpm-generalized-ecn; Linux 6.18",
        },
        /// A SYN that is sent again asks for less and then for nothing, and an end that finds ECN's
        /// bits changed on the way sends no more ECN-capable packets.
        pub ecn_fallback: bool {
            default: false,
            linux: true,
            quiet: true,
            source: "RFC 3168 6.1.1.1; RFC 9768 3.1.4, 3.2.2.3, 3.2.2.4; Linux: tcp_ecn_fallback",
        },
    }
}

/// Both ends' first count (3.2.1).
pub(crate) const FIRST: u8 = 5;

/// A data segment's bits: the sender's own count, which starts to move when ACKs are marked.
pub(crate) const ON_DATA: Bits = on_data(0);

/// A data segment's bits where `marks` ACKs have come marked.
#[inline]
pub(crate) const fn on_data(marks: u8) -> Bits {
    Bits::from_number(FIRST.wrapping_add(marks))
}

/// A receiver that holds back an ACK sends it as soon as this many marks have arrived (3.2.2.5.1).
pub(crate) const MARKS_PER_ACK: u8 = 2;

/// The same in Linux.
pub(crate) const MARKS_PER_ACK_IN_LINUX: u8 = 6;

/// The ACE field comes round again after so many marks.
const CYCLE: i64 = 8;

/// Returns how many new marks an ACE field reports. `packets` have arrived at the receiver since it
/// sent the last ACK. The field wraps at eight. Where more packets than that were answered, this is
/// the largest number that fits (3.2.2.5.2: "the safest likely case").
pub(crate) fn newly_marked(known: u8, ace: u8, packets: i64) -> i64 {
    let least = least(known, ace);
    if packets < CYCLE {
        return least; // no cycle is possible; a larger count than packets is believed
    }
    safest(least, packets)
}

/// The smallest number of new marks.
fn least(known: u8, ace: u8) -> i64 {
    i64::from(ace.wrapping_sub(known) & 7)
}

fn safest(least: i64, packets: i64) -> i64 {
    packets - (packets - least) % CYCLE
}

/// The bytes `ceb` that an option newly reports as marked decide between the two numbers (A.2.2):
/// the smaller one, unless packets would have to be longer than a segment. The appendix then asks
/// whether they would be shorter than half of one under the larger number. They always would be,
/// since that is at least eight more.
fn by_bytes(least: i64, packets: i64, ceb: i64, segment: i64) -> i64 {
    if ceb <= least * segment {
        least
    } else {
        safest(least, packets)
    }
}

/// Linux, where the field may have wrapped twice: the marked part of all that was delivered says
/// how many packets were marked.
fn by_share(least: i64, packets: i64, ceb: i64, segment: i64) -> i64 {
    let (safest, delivered) = (safest(least, packets), packets * segment);
    if ceb >= delivered {
        return safest;
    }
    let marked = (ceb * packets + delivered - 1) / delivered;
    safest.min(least + (marked - marked % CYCLE))
}

/// Linux: the mean number of packets that an ACK answers, in 64ths, with a weight of 1/64.
#[derive(Clone, Copy, Debug, Default)]
struct PerAck(u32);

impl PerAck {
    /// Above this a receiver is known to answer many packets at once.
    const MANY: u32 = 4 * 64;

    fn take(&mut self, packets: i64) {
        let packets = packets.clamp(0, 1023) as u32;
        self.0 = if self.0 == 0 { packets * 64 } else { (self.0 * 63 + packets * 64) / 64 };
    }

    fn is_many(self) -> bool {
        self.0 > Self::MANY
    }
}

/// What a sender keeps that reads options, or the ACE field by Linux's rules.
#[derive(Clone, Debug)]
pub(crate) struct Decoder {
    ace: Ace,
    segment: i64,
    per_ack: PerAck,
    reader: Reader,
    /// Packets newly reported as marked since the last option.
    since_option: i64,
    /// The payload bytes that the last ACK newly reported as marked, where its option said so.
    pub(crate) marked_bytes: Option<i64>,
    /// Bytes were reported as marked, but no packets: somebody changes the field.
    pub(crate) contradicted: bool,
}

impl Decoder {
    pub(crate) fn new(ace: Ace, segment: u32) -> Self {
        Decoder {
            ace,
            segment: i64::from(segment),
            per_ack: PerAck::default(),
            reader: Reader::NEW,
            since_option: 0,
            marked_bytes: None,
            contradicted: false,
        }
    }

    /// Returns how many packets an ACK newly reports as marked; `None`: it is not to be counted, now
    /// or in the next one. `acked`: segments that it newly acknowledges; `packets`: those that have
    /// newly arrived.
    pub(crate) fn read(&mut self, known: u8, ack: &Ack, acked: i64, packets: i64) -> Option<i64> {
        self.marked_bytes = None;
        // Linux: an ACK without news may be of any age.
        if self.ace == Ace::Linux && acked == 0 && ack.n_blocks == 0 {
            return None;
        }
        let ceb = ack.option.and_then(|option| self.reader.read(&option)).map(i64::from);
        self.marked_bytes = ceb;
        self.per_ack.take(packets);
        let n = self.count(least(known, ack.bits.number()), packets, ceb);
        self.since_option += n;
        if let Some(ceb) = ceb {
            let marked = std::mem::take(&mut self.since_option);
            self.contradicted = ceb > 0 && marked == 0;
        }
        Some(n)
    }

    /// Returns the bytes that options have reported.
    pub(crate) fn delivered(&self) -> DeliveredBytes {
        self.reader.delivered()
    }

    fn count(&self, least: i64, packets: i64, ceb: Option<i64>) -> i64 {
        if packets < CYCLE {
            return least;
        }
        match (ceb, self.ace) {
            (Some(0), _) => least,
            (Some(ceb), Ace::Linux) if packets >= 2 * CYCLE => {
                by_share(least, packets, ceb, self.segment)
            }
            (Some(ceb), _) => by_bytes(least, packets, ceb, self.segment),
            (None, Ace::Linux) if self.per_ack.is_many() => least,
            (None, _) => safest(least, packets),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ecn::option::{AccEcnOption, FieldOrder};

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

    /// The field counts from five, modulo eight: after so many marks it says so much, of which so
    /// many are new.
    #[test]
    fn the_field_starts_at_five() {
        for (marks, ace, want) in
            [(0, 5, 0), (0, 6, 1), (2, 7, 0), (3, 0, 0), (3, 1, 1), (9, 5, 7), (8, 5, 0)]
        {
            assert_eq!(least((FIRST + marks) & 7, ace), want, "{marks} {ace}");
        }
    }

    #[test]
    fn the_safest_count() {
        for (packets, new, want) in [
            (8, 0, 8),
            (8, 2, 2),
            (10, 0, 8),
            (10, 2, 10),
            (10, 5, 5),
            (16, 0, 16),
            (16, 2, 10),
            (20, 2, 18),
            (20, 5, 13),
        ] {
            assert_eq!(newly_marked(0, new, packets), want, "{packets} {new}");
        }
    }

    fn ack(ace: u8, fields: Option<[u32; 3]>) -> Ack {
        let option = fields.map(|f| AccEcnOption::new(FieldOrder::Ect1First, &f));
        Ack { bits: Bits::from_number(ace), option, ..Ack::default() }
    }

    fn decoder(ace: Ace) -> Decoder {
        Decoder::new(ace, 1000)
    }

    /// Ten segments of 1000 B in one ACK. Two marks and 2000 B, ten marks and 10,000 B; nothing
    /// marked. In between: 2000 B < 10 · 500 B speaks for two, above 2 · 1000 B for ten.
    #[test]
    fn bytes_decide() {
        for rule in [Ace::Rfc, Ace::Linux] {
            for (ace, ceb, want) in
                [(7, 2000, 2), (7, 10_000, 10), (5, 0, 0), (5, 8000, 8), (7, 2001, 10), (7, 1, 2)]
            {
                let mut d = decoder(rule);
                let got = d.read(5, &ack(ace, Some([1, ceb, 1])), 10, 10);
                assert_eq!((got, d.marked_bytes), (Some(want), Some(i64::from(ceb))), "{rule:?}");
            }
        }
        // Small packets: six marks or fourteen in fourteen; 6000 B are less than 14 · 500 B.
        assert_eq!([6000, 6001].map(|ceb| by_bytes(6, 14, ceb, 1000)), [6, 14]);
        // Seven or fifteen.
        assert_eq!(by_bytes(7, 15, 7000, 1000), 7);
        assert_eq!(by_bytes(7, 15, 7500, 1000), 15);
    }

    /// Linux with 20 packets, of which 10 were marked: ACE says 2 more, and so does 18. The share
    /// of 10/20 leaves room for one cycle: 10. All marked: 18. A little: none.
    #[test]
    fn linux_reckons_with_the_share() {
        for (ceb, want) in [(10_000, 10), (20_000, 18), (7000, 2), (7001, 10), (16_000, 18)] {
            assert_eq!(by_share(2, 20, i64::from(ceb), 1000), want, "{ceb}");
            let mut d = decoder(Ace::Linux);
            assert_eq!(d.read(5, &ack(7, Some([1, ceb, 1])), 20, 20), Some(want));
        }
        // The RFC knows two answers only.
        let mut d = decoder(Ace::Rfc);
        assert_eq!(d.read(5, &ack(7, Some([1, 10_000, 1])), 20, 20), Some(18));
    }

    /// Without an option: Linux believes the small number of a receiver that answers more than four
    /// packets at a time; not where that is the exception.
    #[test]
    fn linux_knows_receivers_that_answer_many_at_once() {
        let of = |rule, acks: &[(u8, i64)]| {
            let (mut d, mut known, mut all) = (decoder(rule), FIRST, 0);
            for (ace, packets) in acks {
                all += d.read(known, &ack(*ace, None), *packets, *packets).expect("counted");
                known = *ace;
            }
            all
        };
        assert_eq!(of(Ace::Linux, &[(5, 10)]), 0);
        assert_eq!(of(Ace::Rfc, &[(5, 10)]), 8);
        assert_eq!(of(Ace::Linux, &[(6, 10)]), 1);
        assert_eq!(of(Ace::Linux, &[(5, 1), (5, 9)]), 8, "(63 · 1 + 9)/64 is not above four");
        assert_eq!(of(Ace::Linux, &[(5, 4), (5, 9)]), 0, "(63 · 4 + 9)/64 is");
    }

    /// Linux counts nothing of an ACK without news, and loses nothing by that.
    #[test]
    fn linux_waits_for_progress() {
        let mut d = decoder(Ace::Linux);
        assert_eq!(d.read(5, &ack(6, Some([1, 1000, 1])), 0, 1), None);
        assert_eq!(d.marked_bytes, None);
        assert_eq!(d.read(5, &ack(6, Some([1, 1000, 1])), 1, 1), Some(1));
        assert_eq!(d.marked_bytes, Some(1000));
        assert_eq!(decoder(Ace::Rfc).read(5, &ack(6, None), 0, 1), Some(1));
    }

    /// Marked bytes without a marked packet since the last option: the field is changed on the way.
    #[test]
    fn bytes_without_packets_contradict() {
        let mut d = decoder(Ace::Rfc);
        d.read(5, &ack(6, None), 1, 1); // no room for the option
        d.read(6, &ack(6, Some([1, 1000, 1])), 1, 1);
        assert!(!d.contradicted, "it was told before");
        d.read(6, &ack(6, Some([1, 2000, 1])), 1, 1);
        assert!(d.contradicted);
    }
}
