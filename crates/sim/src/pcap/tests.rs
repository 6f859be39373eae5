use super::*;
use penstock_tcp::FieldOrder;
use penstock_units::Duration;

const DATA: PacketView = PacketView {
    udp: false,
    flow: 0,
    src: 0,
    dst: 1,
    epoch: 0,
    ack: false,
    upstream: 0,
    syn: false,
    push: false,
    bits: Bits::NONE,
    ecn: Ecn::Ect0,
    class: 0,
    seq: 1,
    segment: 4,
    payload: 4,
    lacking: 0,
    first_data: 1,
    last: Some((i64::MAX, 4)),
    window: 1000,
    sack: true,
    blocks: [Block { left: 0, right: 0 }; MAX_BLOCKS],
    option: None,
    stamps: None,
};
const SYN: PacketView =
    PacketView { syn: true, bits: Bits::CWR_ECE, ecn: Ecn::NotEct, seq: 0, payload: 0, ..DATA };
const ACK: PacketView = PacketView { ack: true, ecn: Ecn::NotEct, payload: 0, ..DATA };

fn capture(packets: &[PacketView]) -> Capture {
    let mut c = Capture::new(Time::NEVER);
    for p in packets {
        c.packet(Time::from_nanos(1_000_000_002), p);
    }
    c
}

/// The packets of a file: seconds, nanoseconds, length on the wire, what was stored of them.
fn read(file: &[u8]) -> Vec<(u32, u32, u32, &[u8])> {
    let word = |i: usize| u32::from_le_bytes(file[i..i + 4].try_into().unwrap());
    let (mut i, mut packets) = (24, vec![]);
    while i < file.len() {
        let end = i + 16 + word(i + 8) as usize;
        packets.push((word(i), word(i + 4), word(i + 12), &file[i + 16..end]));
        i = end;
    }
    packets
}

fn one(p: &PacketView) -> Vec<u8> {
    read(&capture(&[*p]).file(FULL_LIMIT))[0].3.to_vec()
}

/// RFC 1071: a block that holds its own checksum sums up to all ones.
fn sum(parts: &[&[u8]]) -> u32 {
    let all = parts.concat();
    let mut s: u32 =
        all.chunks(2).map(|c| u32::from(c[0]) << 8 | u32::from(*c.get(1).unwrap_or(&0))).sum();
    while s > 0xffff {
        s = (s >> 16) + (s & 0xffff);
    }
    s
}

fn word(packet: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(packet[at..at + 4].try_into().unwrap())
}

#[test]
fn a_file_byte_by_byte() {
    let file = capture(&[SYN]).file(FULL_LIMIT);
    #[rustfmt::skip]
    let want = [
        // nanoseconds, version 2.4, zone, accuracy, snapshot length, raw IP
        0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 101, 0, 0, 0,
        // 1.000000002 s, 52 bytes stored of 52
        1, 0, 0, 0, 2, 0, 0, 0, 52, 0, 0, 0, 52, 0, 0, 0,
        // IPv4, 52 bytes, do not fragment, TTL 64, TCP, 10.0.0.1 to 10.0.0.2
        0x45, 0, 0, 52, 0, 0, 0x40, 0, 64, 6, 0x26, 0xc2, 10, 0, 0, 1, 10, 0, 0, 2,
        // 60100 to 50001, ISN, no ACK, SYN with ECE and CWR, window 4000
        0xea, 0xc4, 0xc3, 0x51, 0x9e, 0x37, 0x79, 0xb9, 0, 0, 0, 0, 0x80, 0xc2, 0x0f, 0xa0, 0x12, 0xd0, 0, 0,
        // MSS 4, window scale 0, SACK permitted
        2, 4, 0, 4, 1, 3, 3, 0, 1, 1, 4, 2,
    ];
    let checksum = 24 + 16 + 20 + 16;
    assert_eq!(file[..checksum], want[..checksum]);
    assert_eq!(file[checksum + 2..], want[checksum + 2..]);
}

#[test]
fn data_and_acks_byte_by_byte() {
    #[rustfmt::skip]
    let data = [
        0x45, 2, 0, 44, 0, 0, 0x40, 0, 64, 6, 0x26, 0xc8, 10, 0, 0, 1, 10, 0, 0, 2,
        // segment 3 begins 8 bytes after ISN + 1; the other ISN is the complement
        0xea, 0xc4, 0xc3, 0x51, 0x9e, 0x37, 0x79, 0xc2, 0x61, 0xc8, 0x86, 0x47, 0x50, 0x90, 0x0f, 0xa0, 0, 0, 0, 0,
        0, 0, 0, 0,
    ];
    let packet = one(&PacketView { seq: 3, bits: Bits::CWR, ..DATA });
    assert_eq!((&packet[..36], &packet[38..]), (&data[..36], &data[38..]));
    assert_eq!(one(&PacketView { seq: 3, bits: Bits::CWR, push: true, ..DATA })[33], 0x98);

    #[rustfmt::skip]
    let ack = [
        0x45, 0, 0, 60, 0, 0, 0x40, 0, 64, 6, 0x26, 0xba, 10, 0, 0, 2, 10, 0, 0, 1,
        // segment 1 is acknowledged: 4 bytes after ISN + 1
        0xc3, 0x51, 0xea, 0xc4, 0x61, 0xc8, 0x86, 0x47, 0x9e, 0x37, 0x79, 0xbe, 0xa0, 0x50, 0x0f, 0xa0, 0, 0, 0, 0,
        // blocks: segment 4; segments 6 and 7, the last one a byte
        1, 1, 5, 18,
        0x9e, 0x37, 0x79, 0xc6, 0x9e, 0x37, 0x79, 0xca,
        0x9e, 0x37, 0x79, 0xce, 0x9e, 0x37, 0x79, 0xd3,
    ];
    let blocks = [Block { left: 4, right: 5 }, Block { left: 6, right: 8 }, Block::default()];
    let packet = one(&PacketView { seq: 1, bits: Bits::ECE, last: Some((7, 1)), blocks, ..ACK });
    assert_eq!((&packet[..36], &packet[38..]), (&ack[..36], &ack[38..]));
}

/// An ACK with AccECN's option: of three fields behind a block, of two alone.
#[test]
fn the_accecn_option_byte_by_byte() {
    let option = |counters: &[u32]| Some(AccEcnOption::new(FieldOrder::Ect1First, counters));
    let blocks = [Block { left: 4, right: 5 }, Block::default(), Block::default()];
    let packet = one(&PacketView { option: option(&[1, 1448, 1001]), blocks, ..ACK });
    #[rustfmt::skip]
    let want = [
        1, 1, 5, 10, 0x9e, 0x37, 0x79, 0xc6, 0x9e, 0x37, 0x79, 0xca,
        174, 11, 0, 0, 1, 0, 5, 0xa8, 0, 3, 0xe9, 1,
    ];
    assert_eq!(packet[40..], want);
    assert_eq!(packet[32], (5 + 6) << 4, "words of header");
    let packet = one(&PacketView { option: option(&[1, 0]), ..ACK });
    assert_eq!(packet[40..], [174, 8, 0, 0, 1, 0, 0, 0]);
    // The answer to a SYN: MSS, window scale, SACK permitted, and all three.
    let packet = one(&PacketView { syn: true, option: option(&[1, 0, 1]), ..ACK });
    assert_eq!(packet.len(), 40 + 12 + 12);
}

#[test]
fn checksums_hold() {
    let odd = PacketView { payload: 3, last: Some((1, 3)), ..DATA };
    let datagram =
        PacketView { udp: true, segment: 0, last: None, payload: 172, class: 46, ..DATA };
    for p in [SYN, PacketView { syn: true, ..ACK }, DATA, odd, ACK, datagram] {
        let packet = one(&p);
        let protocol = if p.udp { 17 } else { 6 };
        let length = (packet.len() - 20) as u16;
        assert_eq!(sum(&[&packet[..20]]), 0xffff);
        let pseudo = [&packet[12..20], &[0, protocol], &length.to_be_bytes(), &packet[20..]];
        assert_eq!(sum(&pseudo), 0xffff, "{p:?}");
        assert_eq!(u32::from(u16::from_be_bytes([packet[2], packet[3]])), u32::from(length) + 20);
    }
    assert_eq!(one(&datagram).len(), 200);
    assert_eq!(one(&datagram)[1], 46 << 2 | 2, "DSCP and ECN");
}

#[test]
fn sequence_numbers_wrap() {
    let n = 1 << 30; // times 4: once around
    let (a, b) = (one(&DATA), one(&PacketView { seq: 1 + n, ..DATA }));
    assert_eq!(word(&a, 24), word(&b, 24));
    assert_eq!(word(&one(&PacketView { seq: n, ..ACK }), 28), word(&a, 24));
}

#[test]
fn without_a_handshake_data_begin_with_segment_0() {
    let p = PacketView { first_data: 0, seq: 0, ..DATA };
    assert_eq!(word(&one(&p), 24), 0x9e37_79b9 + 1);
    let none = PacketView { first_data: 0, seq: -1, ..ACK };
    assert_eq!(word(&one(&none), 28), 0x9e37_79b9 + 1, "nothing has come");
}

#[test]
fn the_window_is_scaled() {
    let wide = PacketView { window: 1000, segment: 1000, ..SYN };
    let (syn, ack) = (one(&wide), one(&PacketView { window: 1000, segment: 1000, ..ACK }));
    assert_eq!((&syn[34..36], syn[47]), (&[0xff, 0xff][..], 4), "a SYN's own window is not");
    assert_eq!(u16::from_be_bytes([ack[34], ack[35]]), 62_500);
    assert_eq!(scale(u64::from(u32::MAX)), 14);
}

/// The last, short, segment of a connection is known even when the flow is on with its next
/// one.
#[test]
fn connections_end_where_their_data_end() {
    let short = PacketView { seq: 2, payload: 1, last: Some((2, 1)), ..DATA };
    let late = PacketView { seq: 2, last: None, ..ACK };
    let next = PacketView { epoch: 1, ..ACK };
    let file = capture(&[short, late, next]).file(FULL_LIMIT);
    let packets = read(&file);
    assert_eq!(word(packets[1].3, 28), word(packets[0].3, 24) + 1);
    assert_ne!(packets[1].3[22..24], packets[2].3[22..24], "a port of its own");
}

#[test]
fn packets_are_in_order_and_before_the_end() {
    let mut c = Capture::new(Time::from_nanos(30));
    for (t, p) in [(20, DATA), (10, ACK), (20, SYN), (30, DATA)] {
        c.packet(Time::from_nanos(t), &p);
    }
    let file = c.file(FULL_LIMIT);
    let got: Vec<_> = read(&file).iter().map(|p| (p.1, p.2)).collect();
    assert_eq!(got, [(10, 40), (20, 44), (20, 52)]);
}

#[test]
fn too_large_a_file_has_headers_alone() {
    let full = capture(&[DATA; 10]).file(FULL_LIMIT).len() as u64;
    assert_eq!(capture(&[DATA; 10]).file(full).len() as u64, full);
    let file = capture(&[DATA; 10]).file(full - 1);
    assert!(read(&file).iter().all(|p| p.2 == 44 && p.3.len() == 40));
}

#[test]
fn too_large_a_packet_has_headers_alone() {
    for udp in [false, true] {
        let p = PacketView { udp, segment: 1_000_000, payload: 1_000_000, ..DATA };
        let file = capture(&[p]).file(FULL_LIMIT);
        let (_, _, length, stored) = read(&file)[0];
        let headers = if udp { 28 } else { 40 };
        assert_eq!(
            (length, stored.len(), &stored[2..4]),
            (1_000_000 + headers, headers as usize, &[0, 0][..])
        );
    }
}

/// A request of 3 bytes goes the way of the ACKs, which go on behind it. What the last segment of an
/// earlier transfer on the connection lacks is missing from all numbers after it.
#[test]
fn a_connection_that_carries_requests() {
    let numbers = |p: &PacketView| {
        let packet = one(p);
        let word = |i: usize| u32::from_be_bytes(packet[i..i + 4].try_into().unwrap());
        (word(24), word(28), packet.len())
    };
    let ((seq, ack, _), (back, end, empty)) = (numbers(&DATA), numbers(&ACK));
    let request = PacketView { payload: 3, ..ACK };
    assert_eq!(numbers(&request), (back, end, empty + 3));
    assert_eq!(numbers(&PacketView { upstream: 3, ..ACK }).0, back.wrapping_add(3));
    assert_eq!(numbers(&PacketView { upstream: 3, ..DATA }).1, ack.wrapping_add(3));
    // The sixth segment of 4 bytes, one of which before had 1.
    assert_eq!(numbers(&PacketView { seq: 6, lacking: 3, ..DATA }).0, seq.wrapping_add(20 - 3));
}

/// A SYN has 60 B with timestamps, data 52 B more than their payload, an ACK 52 B and 12 B more with
/// one SACK block. Data tell their own, ACKs return one as well.
#[test]
fn timestamps_are_written() {
    let at = |ms: u64| Stamp::of(Time::from_nanos(ms * 1_000_000), Duration::from_millis(1));
    let stamps = Some((at(7), Stamp::NONE));
    let ack = PacketView { stamps: Some((at(9), at(7))), ..ACK };
    let mut blocks = DATA.blocks;
    blocks[0] = Block { left: 3, right: 4 };
    let file = capture(&[
        PacketView { stamps, ..SYN },
        PacketView { stamps, sack: false, ..SYN },
        PacketView { stamps, ..DATA },
        ack,
        PacketView { blocks, ..ack },
    ])
    .finish();
    let packets = read(&file);
    assert_eq!(packets.iter().map(|p| p.2).collect::<Vec<_>>(), [60, 60, 56, 52, 64]);
    let [seven, nine] = [7u32, 9].map(|n| ((1 << 31) | n).to_be_bytes());
    let option = |p: &[u8]| [&p[44..48], &p[48..52]].map(<[u8]>::to_vec);
    assert_eq!(option(packets[2].3), [seven.to_vec(), vec![0; 4]]);
    assert_eq!(option(packets[3].3), [nine.to_vec(), seven.to_vec()]);
}
