//! Captures: packets as a capture of the link would show them. A classic pcap file with nanoseconds
//! and raw IPv4.
//!
//! *Where.* In front of the queue of the captured link and of its opposite ([`crate::Tap`]): a
//! packet is written when it arrives, before the queue decides, so a retransmission follows its
//! original even where the original was dropped here. The ECN field is what came in; the marks that
//! this queue sets show after it. With `out` the tap is behind both queues: a packet is written
//! when its transmission starts, with the mark it got, and what the queues dropped is missing.
//!
//! *What.* The simulator counts segments; here they become bytes. Data segment `k` starts at ISN +
//! 1 + (k − first) · segment. Hosts are `10.x.y.z`, counted from `10.0.0.1`; a flow has its own
//! server port, each of its connections its own client port and ISN. The SYN negotiates what the
//! flow uses: MSS, window scale, SACK, ECN. PSH and the ECN bits (AE, CWR, ECE) are those that the
//! two ends sent. A flow without handshake (ns-2's Vegas) looks like a connection that was open
//! before the capture began. There is no FIN: the simulator sends none.
//!
//! *Retransmissions.* Each that the simulator counted and that reached the link is in the file,
//! with its original before it. Wireshark calls some of them "out-of-order" (they follow newer data
//! within the handshake's round trip and are no fast retransmission by its 20 ms rule), and a last
//! segment of a single byte that is sent again a "keep-alive". Nothing is reordered here;
//! `tests/test_pcap.py` counts.
//!
//! *Sizes.* A packet without TCP options is as long as it was in the simulation where headers count
//! 40 bytes (datagrams: 28), and so is each packet of a flow with timestamps where they count 52.
//! Without timestamps options make a packet longer: SYNs by 8 or 12 bytes, ACKs by 4 + 8 for each
//! SACK block, and by 12 at most for AccECN's option, which data segments do without. Data return no
//! timestamp: zero stands for it.
//! So do headers that the scenario counts as less than 40 bytes (ns-2's Vegas: 0) make them longer,
//! and headers that it counts as more make them shorter.
//!
//! *Payload* is zeros and is written, so that a reader can verify checksums, unless the file would
//! exceed [`FULL_LIMIT`]: then headers alone are. A packet beyond IPv4's 64 KiB is written without
//! payload, checksum and IP length, as one before segmentation offload.

use etherparse::{IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, TsResolution};
use penstock_aqm::Ecn;
use penstock_tcp::{AccEcnOption, Bits, Block, Stamp, MAX_BLOCKS};
use penstock_units::Time;
use std::collections::BTreeMap;

/// The largest file that holds payload.
const FULL_LIMIT: u64 = 2 << 30;
/// The longest packet that IPv4 can say.
const LARGEST: u32 = 65_535;
static ZEROS: [u8; LARGEST as usize] = [0; LARGEST as usize];

/// Ports to which Wireshark ties no protocol, so that it shows the payload as what it is.
const CLIENT_PORTS: (u16, u16) = (60_100, 5400);
const SERVER_PORTS: (u16, u16) = (50_001, 4300);

/// What a capture needs to know of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketView {
    pub(crate) udp: bool,
    pub(crate) flow: u32,
    /// The flow's data go from `src` to `dst`, its ACKs the other way.
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) epoch: u16,
    /// It goes from `dst` to `src`: an ACK or a request.
    pub(crate) ack: bool,
    /// Payload that went the way of the ACKs before it, on the same connection; for data, what has
    /// come of it.
    pub(crate) upstream: u32,
    pub(crate) syn: bool,
    /// Data that end a burst.
    pub(crate) push: bool,
    pub(crate) bits: Bits,
    pub(crate) ecn: Ecn,
    /// Written as DSCP.
    pub(crate) class: u8,
    /// Data: the segment. ACK: the highest segment acknowledged.
    pub(crate) seq: i64,
    pub(crate) segment: u32,
    pub(crate) payload: u32,
    /// What the last segments of the connection's earlier transfers lack to full ones.
    pub(crate) lacking: u32,
    pub(crate) first_data: i64,
    /// The connection's last segment and its payload; `None` where a later connection has taken the
    /// flow over.
    pub(crate) last: Option<(i64, u32)>,
    /// The receiver's window, segments.
    pub(crate) window: u32,
    pub(crate) sack: bool,
    pub(crate) blocks: [Block; MAX_BLOCKS],
    /// AccECN's option.
    pub(crate) option: Option<AccEcnOption>,
    /// The packet's timestamp, and the one that it returns, where the flow has them.
    pub(crate) stamps: Option<(Stamp, Stamp)>,
}

/// A packet whose headers stand in [`Capture::headers`].
#[derive(Clone)]
struct Entry {
    at: Time,
    from: usize,
    headers: u8,
    payload: u32,
    /// Its length and checksum are right, so its payload may follow.
    whole: bool,
}

/// The packets so far: headers alone, the payload is added when the file is made.
#[derive(Clone)]
pub(crate) struct Capture {
    end: Time,
    headers: Vec<u8>,
    entries: Vec<Entry>,
    /// Last segments of connections that end in a short one: their ACKs may still be under way when
    /// the next connection has begun.
    lasts: BTreeMap<(u32, u16), (i64, u32)>,
}

impl Capture {
    /// A capture of the time before `end`.
    pub(crate) fn new(end: Time) -> Self {
        Capture { end, headers: vec![], entries: vec![], lasts: BTreeMap::new() }
    }

    /// A packet passes at `now`.
    pub(crate) fn packet(&mut self, now: Time, p: &PacketView) {
        if now >= self.end {
            return;
        }
        let mut ip = Ipv4Header { time_to_live: 64, dont_fragment: true, ..Ipv4Header::default() };
        let (from, to) = if p.ack { (p.dst, p.src) } else { (p.src, p.dst) };
        (ip.source, ip.destination) = (address(from), address(to));
        ip.dscp = (p.class & 63).try_into().unwrap_or_default();
        ip.ecn = (p.ecn as u8).try_into().unwrap_or_default();
        ip.protocol = if p.udp { IpNumber::UDP } else { IpNumber::TCP };

        let tcp = (!p.udp).then(|| self.tcp(p));
        let length = 20 + tcp.as_ref().map_or(8, |t| u32::from(t.header_len_u16())) + p.payload;
        let whole = length <= LARGEST;
        let payload = if whole { &ZEROS[..p.payload as usize] } else { &[] };
        ip.total_len = if whole { length as u16 } else { 0 };
        ip.header_checksum = ip.calc_header_checksum();

        let start = self.headers.len();
        self.headers.extend_from_slice(&ip.to_bytes());
        if let Some(mut tcp) = tcp {
            if whole {
                tcp.checksum = tcp.calc_checksum_ipv4(&ip, payload).expect("it fits IPv4");
            }
            self.headers.extend_from_slice(&tcp.to_bytes());
        } else {
            let (source, destination) = ports(p);
            let udp = if whole {
                UdpHeader::with_ipv4_checksum(source, destination, &ip, payload)
                    .expect("it fits IPv4")
            } else {
                UdpHeader {
                    source_port: source,
                    destination_port: destination,
                    length: LARGEST as u16 - 20,
                    checksum: 0,
                }
            };
            self.headers.extend_from_slice(&udp.to_bytes());
        }
        let headers = (self.headers.len() - start) as u8;
        self.entries.push(Entry { at: now, from: start, headers, payload: p.payload, whole });
    }

    fn tcp(&mut self, p: &PacketView) -> TcpHeader {
        let key = (p.flow, p.epoch);
        let last = match p.last {
            Some((seq, bytes)) if bytes < p.segment => {
                self.lasts.insert(key, (seq, bytes));
                p.last
            }
            Some(_) => {
                self.lasts.remove(&key); // of an earlier connection whose number comes round again
                None
            }
            None => self.lasts.get(&key).copied(),
        };
        let (first, segment, lacking) = (p.first_data, p.segment, p.lacking);
        let bytes = Bytes { isn: isn(p), first, segment, lacking, last };

        let (source, destination) = ports(p);
        let mut t = TcpHeader {
            source_port: source,
            destination_port: destination,
            ..TcpHeader::default()
        };
        let answering_isn = !bytes.isn;
        let answered = answering_isn.wrapping_add(1).wrapping_add(p.upstream);
        if p.ack {
            t.sequence_number = if p.syn { answering_isn } else { answered };
            t.acknowledgment_number = bytes.end(p.seq);
        } else {
            t.sequence_number = if p.syn { bytes.isn } else { bytes.start(p.seq) };
            t.acknowledgment_number = if p.syn { 0 } else { answered };
        }
        t.ack = p.ack || !p.syn;
        t.syn = p.syn;
        t.psh = p.push;
        t.ns = p.bits.ae(); // the same bit
        t.cwr = p.bits.cwr();
        t.ece = p.bits.ece();

        let window = u64::from(p.window) * u64::from(p.segment);
        let scale = scale(window);
        // A SYN's window is never scaled (RFC 7323, 2.2). Rounded up, so that the sender keeps
        // within it.
        let field = if p.syn { window } else { window.div_ceil(1 << scale) };
        t.window_size = field.min(0xffff) as u16;
        t.set_options(&options(p, scale, &bytes)).expect("at most 40 bytes of options");
        if let Some(option) = p.option {
            let (option, length) = option.encode();
            let all = [t.options.as_slice(), &option[..length]].concat();
            t.set_options_raw(&padded(all)).expect("a receiver leaves room for it");
        }
        t
    }

    /// The file.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.file(FULL_LIMIT)
    }

    fn file(mut self, limit: u64) -> Vec<u8> {
        // Behind the queues, a start of transmission is known, and written, when its packet
        // arrives: the two directions interleave.
        self.entries.sort_by_key(|e| e.at);
        let size = |full: bool| -> u64 {
            let payload = |e: &Entry| if full && e.whole { u64::from(e.payload) } else { 0 };
            24 + self.entries.iter().map(|e| 16 + u64::from(e.headers) + payload(e)).sum::<u64>()
        };
        let full = size(true) <= limit;
        let header = PcapHeader {
            snaplen: LARGEST,
            datalink: DataLink::RAW,
            ts_resolution: TsResolution::NanoSecond,
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        let file = Vec::with_capacity(usize::try_from(size(full)).unwrap_or(0));
        let mut file = PcapWriter::with_header(file, header).expect("memory takes it");
        let mut packet = vec![];
        for e in &self.entries {
            let headers = &self.headers[e.from..e.from + usize::from(e.headers)];
            packet.clear();
            packet.extend_from_slice(headers);
            if full && e.whole {
                packet.extend_from_slice(&ZEROS[..e.payload as usize]);
            }
            let at = std::time::Duration::from_nanos(e.at.as_nanos());
            let packet = PcapPacket::new(at, u32::from(e.headers) + e.payload, &packet);
            file.write_packet(&packet)
                .expect("memory takes it, and runs are shorter than 136 years");
        }
        file.into_writer()
    }
}

/// Where segments stand in the stream of bytes.
#[derive(Clone)]
struct Bytes {
    isn: u32,
    first: i64,
    segment: u32,
    lacking: u32,
    last: Option<(i64, u32)>,
}

impl Bytes {
    /// The first byte of a data segment.
    fn start(&self, seq: i64) -> u32 {
        let n = (seq - self.first).max(0) as u32; // modulo 2^32, as the product
        let before = n.wrapping_mul(self.segment).wrapping_sub(self.lacking);
        self.isn.wrapping_add(1).wrapping_add(before)
    }

    /// One past the last byte of a segment.
    fn end(&self, seq: i64) -> u32 {
        match self.last {
            Some((last, bytes)) if seq >= last => self.start(last).wrapping_add(bytes),
            _ => self.start(seq + 1),
        }
    }
}

/// The smallest window scale (RFC 7323) with which the field can say the window; 14 is the largest
/// there is.
fn scale(window: u64) -> u8 {
    (0..14).find(|s| window.div_ceil(1 << s) <= 0xffff).unwrap_or(14)
}

fn options(p: &PacketView, scale: u8, bytes: &Bytes) -> Vec<TcpOptionElement> {
    use TcpOptionElement::{
        MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted,
        Timestamp, WindowScale,
    };
    // Zero stands for none (RFC 7323, 3.2).
    let number = |s: Stamp| if s == Stamp::NONE { 0 } else { s.number() };
    let stamps = p.stamps.map(|(own, echo)| Timestamp(number(own), number(echo)));
    if p.syn {
        let mss = p.segment.min(0xffff) as u16;
        let mut options = vec![MaximumSegmentSize(mss), Noop, WindowScale(scale)];
        match stamps {
            Some(stamps) if p.sack => options.extend([SelectiveAcknowledgementPermitted, stamps]),
            Some(stamps) => options.extend([Noop, Noop, stamps]),
            None if p.sack => options.extend([Noop, Noop, SelectiveAcknowledgementPermitted]),
            None => {}
        }
        return options;
    }
    let range = |b: &Block| (bytes.start(b.left), bytes.end(b.right - 1));
    let mut blocks = p.blocks.iter().filter(|b| b.right > b.left).map(range);
    let mut options = stamps.map_or_else(Vec::new, |stamps| vec![Noop, Noop, stamps]);
    if let Some(first) = blocks.next() {
        let rest = [blocks.next(), blocks.next(), None];
        options.extend([Noop, Noop, SelectiveAcknowledgement(first, rest)]);
    }
    options
}

/// Options with no-operations behind them, up to whole words.
fn padded(mut options: Vec<u8>) -> Vec<u8> {
    const NO_OPERATION: u8 = 1;
    options.resize(options.len().next_multiple_of(4), NO_OPERATION);
    options
}

fn address(host: u32) -> [u8; 4] {
    let [_, a, b, c] = (host + 1).to_be_bytes();
    [10, a, b, c]
}

/// Source and destination port. After 5400 connections a flow uses its client ports again, as any
/// host would.
fn ports(p: &PacketView) -> (u16, u16) {
    let client = CLIENT_PORTS.0 + p.epoch % CLIENT_PORTS.1;
    let server = SERVER_PORTS.0 + (p.flow % u32::from(SERVER_PORTS.1)) as u16;
    if p.ack {
        (server, client)
    } else {
        (client, server)
    }
}

/// The initial sequence number of the connection's data: scattered, never 0. The answering
/// direction has its complement.
fn isn(p: &PacketView) -> u32 {
    let connection = u64::from(p.flow) << 16 | u64::from(p.epoch);
    ((connection + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32 | 1
}

#[cfg(test)]
mod tests;
