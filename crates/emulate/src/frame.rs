//! Reading and writing headers: enough of Ethernet, IP, TCP and UDP for a router that marks.

use penstock_aqm::Ecn;

/// The place where the IP packet begins in the bytes that a port reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// After an Ethernet header.
    Ethernet,
    /// At the start (TUN).
    Ip,
}

/// An IP packet as the router sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Length of the IP packet in bytes, its header included.
    pub ip_bytes: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its DSCP.
    pub class: u8,
    /// TCP or UDP, unless it is neither or a later fragment.
    pub transport: Option<Transport>,
}

/// A TCP segment or a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    /// Addresses and ports.
    pub ends: Ends,
    /// Bytes after the transport's header.
    pub payload: u32,
    /// The fields of the TCP header; `None` for UDP.
    pub tcp: Option<Tcp>,
}

/// The two ends of a connection. Only the last four bytes of addresses count: both hosts have few.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ends {
    /// Source address.
    pub from: u32,
    /// Destination address.
    pub to: u32,
    /// Source port.
    pub from_port: u16,
    /// Destination port.
    pub to_port: u16,
    /// Whether it carries datagrams.
    pub udp: bool,
}

impl Ends {
    /// Returns the same connection seen from the other end.
    pub fn turned(self) -> Self {
        Ends {
            from: self.to,
            to: self.from,
            from_port: self.to_port,
            to_port: self.from_port,
            udp: self.udp,
        }
    }
}

/// The fields that the router reads in a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number; `None` without the flag.
    pub ack: Option<u32>,
    /// SYN.
    pub syn: bool,
    /// FIN.
    pub fin: bool,
}

fn u16_at(b: &[u8], i: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*b.get(i)?, *b.get(i + 1)?]))
}

fn u32_at(b: &[u8], i: usize) -> Option<u32> {
    Some(u32::from_be_bytes(b.get(i..i + 4)?.try_into().ok()?))
}

/// Returns where the IP packet is in a frame; `None` if it is not IP.
fn ip(layer: Layer, frame: &[u8]) -> Option<usize> {
    let at = match layer {
        Layer::Ip => 0,
        Layer::Ethernet => {
            let mut at = 12;
            while matches!(u16_at(frame, at)?, 0x8100 | 0x88a8) {
                at += 4; // the tag of a VLAN
            }
            if !matches!(u16_at(frame, at)?, 0x0800 | 0x86dd) {
                return None;
            }
            at + 2
        }
    };
    matches!(frame.get(at)? >> 4, 4 | 6).then_some(at)
}

/// Reads a frame. Returns `None` if it is not IP (ARP), or is cut short.
pub fn read(layer: Layer, frame: &[u8]) -> Option<Seen> {
    let at = ip(layer, frame)?;
    let b = frame.get(at..)?;
    let (header, total, traffic_class, protocol, from, to, whole) = if b[0] >> 4 == 4 {
        let fragment = u16_at(b, 6)? & 0x1fff;
        let header = usize::from(b[0] & 15) * 4;
        (
            header,
            usize::from(u16_at(b, 2)?),
            b[1],
            *b.get(9)?,
            u32_at(b, 12)?,
            u32_at(b, 16)?,
            fragment == 0,
        )
    } else {
        let class = (b[0] << 4) | (*b.get(1)? >> 4);
        (
            40,
            40 + usize::from(u16_at(b, 4)?),
            class,
            *b.get(6)?,
            u32_at(b, 20)?,
            u32_at(b, 36)?,
            true,
        )
    };
    if total < header || b.len() < total {
        return None;
    }
    let transport = whole.then(|| transport(&b[header..total], protocol, from, to)).flatten();
    let ip_bytes = u32::try_from(total).ok()?;
    Some(Seen {
        ip_bytes,
        ecn: Ecn::from_bits(traffic_class),
        class: traffic_class >> 2,
        transport,
    })
}

fn transport(b: &[u8], protocol: u8, from: u32, to: u32) -> Option<Transport> {
    let udp = match protocol {
        6 => false,
        17 => true,
        _ => return None,
    };
    let ends = Ends { from, to, from_port: u16_at(b, 0)?, to_port: u16_at(b, 2)?, udp };
    if udp {
        return Some(Transport {
            ends,
            payload: u32::try_from(b.len().checked_sub(8)?).ok()?,
            tcp: None,
        });
    }
    let flags = *b.get(13)?;
    let payload = b.len().checked_sub(usize::from(b[12] >> 4) * 4)?;
    let tcp = Tcp {
        seq: u32_at(b, 4)?,
        ack: if flags & 0x10 == 0 { None } else { u32_at(b, 8) },
        syn: flags & 2 != 0,
        fin: flags & 1 != 0,
    };
    Some(Transport { ends, payload: u32::try_from(payload).ok()?, tcp: Some(tcp) })
}

/// Writes the ECN field of an IP packet, and the header's checksum after it (RFC 1624, equation 3).
pub fn write_ecn(layer: Layer, frame: &mut [u8], ecn: Ecn) {
    let Some(at) = ip(layer, frame) else { return };
    let b = &mut frame[at..];
    if b.len() < 20 {
        return;
    }
    if b[0] >> 4 == 6 {
        // The traffic class straddles two bytes; its last two bits are bits 4 and 5 of the second.
        b[1] = (b[1] & !0x30) | ((ecn as u8) << 4);
        return;
    }
    let before = u16::from_be_bytes([b[0], b[1]]);
    b[1] = (b[1] & !3) | ecn as u8;
    let after = u16::from_be_bytes([b[0], b[1]]);
    // HC' = ~(~HC + ~m + m')
    let sum =
        u32::from(!u16::from_be_bytes([b[10], b[11]])) + u32::from(!before) + u32::from(after);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    b[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071: the sum over the header, its checksum included, is all ones.
    fn verifies(header: &[u8]) -> bool {
        let sum: u32 = header.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        (sum & 0xffff) + (sum >> 16) == 0xffff
    }

    fn ipv4(tos: u8, id: u16, payload: &[u8]) -> Vec<u8> {
        let total = 20 + payload.len() as u16;
        let mut b = vec![0x45, tos];
        b.extend(total.to_be_bytes());
        b.extend(id.to_be_bytes());
        b.extend([0x40, 0, 64, 6, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2]);
        let sum: u32 = b.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
        b[10..12].copy_from_slice(&sum.to_be_bytes());
        b.extend(payload);
        b
    }

    fn segment(payload: usize) -> Vec<u8> {
        let mut t = vec![0; 32 + payload];
        t[..2].copy_from_slice(&5001u16.to_be_bytes());
        t[2..4].copy_from_slice(&443u16.to_be_bytes());
        t[4..8].copy_from_slice(&7u32.to_be_bytes());
        t[8..12].copy_from_slice(&9u32.to_be_bytes());
        (t[12], t[13]) = (0x80, 0x10);
        t
    }

    #[test]
    fn a_checksum_stays_right_whatever_the_field() {
        for id in (0..=u16::MAX).step_by(97) {
            for from in 0..4 {
                for to in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
                    let mut b = ipv4(0xb8 | from, id, &[]);
                    assert!(verifies(&b[..20]));
                    write_ecn(Layer::Ip, &mut b, to);
                    assert!(verifies(&b[..20]), "id {id}: {from} to {to:?}");
                    let seen = read(Layer::Ip, &b).unwrap();
                    assert_eq!((seen.ecn, seen.class), (to, 0xb8 >> 2));
                }
            }
        }
    }

    #[test]
    fn a_segment_is_read_behind_either_layer() {
        let packet = ipv4(2, 1, &segment(100));
        let mut frame = vec![0; 12];
        frame.extend([8, 0]);
        frame.extend(&packet);
        frame.extend([0; 6]); // a padded frame
        let seen = read(Layer::Ethernet, &frame).unwrap();
        assert_eq!(Some(seen), read(Layer::Ip, &packet));
        assert_eq!((seen.ip_bytes, seen.ecn), (152, Ecn::Ect0));
        let t = seen.transport.unwrap();
        assert_eq!(
            (t.payload, t.ends.from_port, t.ends.to_port, t.ends.udp),
            (100, 5001, 443, false)
        );
        assert_eq!(t.tcp, Some(Tcp { seq: 7, ack: Some(9), syn: false, fin: false }));
        assert_eq!(t.ends.turned().turned(), t.ends);
    }

    #[test]
    fn ipv6_has_its_field_across_two_bytes() {
        let mut b = vec![0x60, 0x20, 0, 0, 0, 8, 17, 64];
        b.extend([0; 32]);
        b.extend([0, 1, 0, 2, 0, 8, 0, 0]);
        let seen = read(Layer::Ip, &b).unwrap();
        assert_eq!(
            (seen.ip_bytes, seen.ecn, seen.transport.unwrap().ends.udp),
            (48, Ecn::Ect0, true)
        );
        write_ecn(Layer::Ip, &mut b, Ecn::Ce);
        assert_eq!(read(Layer::Ip, &b).unwrap().ecn, Ecn::Ce);
        assert_eq!(b[1], 0x30);
    }

    /// No sequence of bytes makes the reader panic.
    #[test]
    fn what_is_no_packet_is_none() {
        let whole = {
            let mut frame = vec![0; 12];
            frame.extend([8, 0]);
            frame.extend(ipv4(2, 1, &segment(10)));
            frame
        };
        for n in 0..whole.len() {
            assert_eq!(read(Layer::Ethernet, &whole[..n]), None, "{n}");
            let mut cut = whole[..n].to_vec();
            if n < 14 {
                write_ecn(Layer::Ethernet, &mut cut, Ecn::Ce);
            }
        }
        let arp = [&[0u8; 12][..], &[8, 6], &[0; 28]].concat();
        assert_eq!(read(Layer::Ethernet, &arp), None);
        // A later fragment has no ports; options make the header longer.
        let mut fragment = ipv4(0, 1, &segment(10));
        fragment[7] = 1;
        assert_eq!(read(Layer::Ip, &fragment).unwrap().transport, None);
        let mut long = ipv4(0, 1, &segment(10));
        long[0] = 0x4f; // 60 bytes of header in 62
        assert!(read(Layer::Ip, &long).unwrap().transport.is_none());
        long[0] = 0x41;
        assert!(read(Layer::Ip, &long).is_some());
    }
}
