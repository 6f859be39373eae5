//! The router counts what it sees of the flows that cross it: payload acknowledged, segments sent
//! again, datagrams delivered.
//!
//! It stands between the hosts, so it sees what both of them see, apart from what they still hold.
//!
//! Of a flow that the scenario does not describe, what goes the bottleneck's way counts, from left
//! to right: what the link carried and what arrived of it then speak of the same packets.

use crate::frame::{Ends, Seen};
use crate::side::Side;
use penstock_sim::Transfer;
use penstock_units::Time;
use std::collections::HashMap;

/// A flow of the scenario.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The port of its listening end, which no other flow uses.
    pub port: u16,
    /// The side that its data come from.
    pub sender: Side,
    /// Datagrams.
    pub udp: bool,
    /// Bytes that the wire counts per packet in addition to IP's.
    pub header: i32,
    /// The length of the transfer; `None` for one without end.
    pub bytes: Option<u64>,
    /// Whether every connection to the port carries the flow's data. Otherwise only the one with
    /// the port at both ends does.
    pub every_connection: bool,
}

/// The counts of a flow, over the measured window unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Payload newly acknowledged; for datagrams, delivered bytes on the wire.
    pub bytes: u64,
    /// Data segments sent again.
    pub retransmits: u64,
    /// Data segments or datagrams sent.
    pub sent: u64,
    /// Connections whose handshake ended.
    pub connections: u32,
    /// Segments that the receiver of the data sent again to ask for them: SYNs and requests.
    pub repeats: u64,
    /// Whether a flow that the scenario does not describe carries datagrams.
    pub udp: bool,
}

struct Connection {
    flow: u32,
    opened: Time,
    established: bool,
    /// Indexed by the side that sends.
    halves: [Half; 2],
    counts: bool,
    ended: bool,
}

/// One direction of a connection.
#[derive(Clone, Copy, Default)]
struct Half {
    /// The sequence number behind the last byte that was sent.
    next: Option<u32>,
    /// The sequence number behind the last byte that was acknowledged.
    una: Option<u32>,
    /// The sequence number of the FIN.
    fin: Option<u32>,
    acked: u64,
}

/// Watches the flows that cross the router.
pub struct Flows {
    known: Vec<Known>,
    /// Port → flow + 1.
    ports: Vec<u32>,
    /// Connections as seen from the left.
    connections: HashMap<Ends, u32>,
    list: Vec<Connection>,
    measured: Vec<Measured>,
    transfers: Vec<Transfer>,
    window: (Time, Time),
    /// Header bytes on packets of flows that the scenario does not describe.
    header: i32,
    /// The flows that the router does not know from the scenario: a connection each.
    others: u32,
}

impl Flows {
    /// `header`: what the wire counts beside IP on packets of flows that are not known.
    pub fn new(known: Vec<Known>, window: (Time, Time), header: i32) -> Self {
        let mut ports = vec![0; 1 << 16];
        for (i, k) in (1..).zip(&known) {
            ports[usize::from(k.port)] = i;
        }
        Flows {
            measured: vec![Measured::default(); known.len()],
            known,
            ports,
            connections: HashMap::with_capacity(1024),
            list: Vec::with_capacity(1024),
            transfers: vec![],
            window,
            header,
            others: 0,
        }
    }

    /// The side whose data count.
    fn sender(&self, flow: u32) -> Side {
        self.known.get(flow as usize).map_or(Side::Left, |k| k.sender)
    }

    /// Returns whether a flow's data come from that side.
    pub fn leads(&self, flow: u32, from: Side) -> bool {
        self.sender(flow) == from
    }

    fn inside(&self, t: Time) -> bool {
        self.window.0 <= t && t < self.window.1
    }

    /// Lets the window end at `at`, if it was to end later.
    pub fn close(&mut self, at: Time) {
        self.window.1 = self.window.1.min(at);
    }

    /// A packet enters from that side: its connection, its flow, and the bytes that the wire counts
    /// on it beside those of IP.
    pub fn arrive(&mut self, now: Time, from: Side, seen: &Seen) -> (u32, u32, i32) {
        let Some(t) = seen.transport else {
            // All that is neither TCP nor UDP (ICMP) is one flow.
            let ends = Ends { from: 0, to: 0, from_port: 0, to_port: 0, udp: true };
            let at = self.connection(now, Side::Left, ends);
            return (at, self.list[at as usize].flow, self.header);
        };
        let at = self.connection(now, from, t.ends);
        let inside = self.inside(now);
        let sends = self.sender(self.list[at as usize].flow) == from;
        let c = &mut self.list[at as usize];
        let header = self.known.get(c.flow as usize).map_or(self.header, |k| k.header);
        let m = &mut self.measured[c.flow as usize];
        let Some(tcp) = t.tcp else {
            m.sent += u64::from(inside && c.counts && sends);
            return (at, c.flow, header);
        };
        let opens = tcp.syn && tcp.ack.is_none();
        if opens && c.established {
            // The ports are used again.
            (c.halves, c.established, c.ended) = ([Half::default(); 2], false, false);
        }
        let half = &mut c.halves[from as usize];
        if inside && c.counts && !sends {
            let again = match half.next {
                Some(next) if opens => next == tcp.seq.wrapping_add(1),
                Some(next) => t.payload > 0 && before(tcp.seq, next),
                None => false,
            };
            m.repeats += u64::from(again);
        }
        if tcp.syn {
            (half.next, half.una) = (Some(tcp.seq.wrapping_add(1)), Some(tcp.seq.wrapping_add(1)));
            if tcp.ack.is_none() && !c.established {
                c.opened = now;
            }
        }
        let end = tcp.seq.wrapping_add(t.payload);
        if tcp.fin {
            half.fin = Some(end);
        }
        if t.payload > 0 {
            let next = *half.next.get_or_insert(tcp.seq);
            if inside && c.counts && sends {
                m.sent += 1;
                m.retransmits += u64::from(before(tcp.seq, next));
            }
            if before(next, end) {
                half.next = Some(end);
            }
        }
        (at, c.flow, header)
    }

    /// A packet of that connection reaches the host that it goes to, `wire_bytes` long. Whether it
    /// completes a handshake there.
    pub fn deliver(
        &mut self,
        now: Time,
        from: Side,
        connection: u32,
        wire_bytes: u32,
        seen: &Seen,
    ) -> bool {
        let Some(t) = seen.transport else { return false };
        let inside = self.inside(now);
        let sender = self.sender(self.list[connection as usize].flow);
        let c = &mut self.list[connection as usize];
        let known = self.known.get(c.flow as usize);
        let m = &mut self.measured[c.flow as usize];
        let Some(tcp) = t.tcp else {
            if inside && c.counts && sender == from {
                m.bytes += u64::from(wire_bytes);
            }
            return false;
        };
        let completes = !c.established && !tcp.syn && tcp.ack.is_some();
        if completes {
            c.established = true;
            m.connections += u32::from(inside && c.counts);
        }
        let Some(ack) = tcp.ack else { return completes };
        // It acknowledges what its receiver has sent.
        let side = from.other();
        let half = &mut c.halves[side as usize];
        let una = *half.una.get_or_insert(ack);
        if !before(una, ack) {
            return completes;
        }
        let mut new = u64::from(ack.wrapping_sub(una));
        if half.fin.is_some_and(|fin| before(fin, ack) && !before(fin, una)) {
            new -= 1;
        }
        half.una = Some(ack);
        half.acked += new;
        let counted = c.counts && sender == side;
        if inside && counted {
            m.bytes += new;
        }
        if let Some(bytes) = known.and_then(|k| k.bytes).filter(|_| counted && !c.ended) {
            if half.acked >= bytes {
                c.ended = true;
                let took = now.since(c.opened);
                self.transfers.push(Transfer { end: now, flow: c.flow, bytes, took });
            }
        }
        completes
    }

    fn connection(&mut self, now: Time, from: Side, ends: Ends) -> u32 {
        let key = if from == Side::Left { ends } else { ends.turned() };
        if let Some(at) = self.connections.get(&key) {
            return *at;
        }
        let known = [key.from_port, key.to_port].map(|p| self.ports[usize::from(p)]);
        let known = known.into_iter().find(|f| *f > 0).map(|f| f - 1);
        let flow = known.unwrap_or_else(|| {
            self.others += 1;
            self.measured.push(Measured { udp: ends.udp, ..Measured::default() });
            self.known.len() as u32 + self.others - 1
        });
        // iperf3 opens a connection for its own talk beside that of the data, which alone has the
        // flow's port at both ends; a datagram flow's TCP is such talk, too.
        let talk = known.is_some_and(|f| {
            let k = &self.known[f as usize];
            !key.udp && !k.every_connection && (k.udp || key.from_port != key.to_port)
        });
        let c = Connection {
            flow,
            opened: now,
            established: false,
            halves: [Half::default(); 2],
            counts: !talk,
            ended: false,
        };
        self.list.push(c);
        let at = (self.list.len() - 1) as u32;
        self.connections.insert(key, at);
        at
    }

    /// The scenario's flows.
    pub fn known(&self) -> &[Known] {
        &self.known
    }

    /// Returns what was seen of each flow: the scenario's flows first, then every other connection.
    pub fn measured(&self) -> &[Measured] {
        &self.measured
    }

    /// Returns the byte-limited transfers that ended.
    pub fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }
}

/// Sequence numbers wrap.
fn before(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Tcp, Transport};
    use penstock_aqm::Ecn;
    use penstock_units::Duration;

    fn seen(ends: Ends, payload: u32, tcp: Option<Tcp>) -> Seen {
        let transport = Some(Transport { ends, payload, tcp });
        Seen { ip_bytes: payload + 40, ecn: Ecn::Ect0, class: 0, transport }
    }

    const ENDS: Ends = Ends { from: 1, to: 2, from_port: 5201, to_port: 5201, udp: false };

    fn tcp(seq: u32, ack: Option<u32>) -> Option<Tcp> {
        Some(Tcp { seq, ack, syn: false, fin: false })
    }

    const KNOWN: Known = Known {
        port: 5201,
        sender: Side::Left,
        udp: false,
        header: 0,
        bytes: Some(2500),
        every_connection: false,
    };

    fn flows() -> Flows {
        let mut f = Flows::new(vec![KNOWN], (Time::ZERO, Time::NEVER), 14);
        // The talk that comes first.
        let (at, flow, _) = f.arrive(
            Time::ZERO,
            Side::Left,
            &seen(Ends { from_port: 39_999, ..ENDS }, 37, tcp(1, None)),
        );
        assert_eq!((at, flow), (0, 0));
        f
    }

    #[test]
    fn sequence_numbers_wrap_and_a_fin_is_no_payload() {
        let mut f = flows();
        let isn = u32::MAX - 1000;
        let t = |ms| Time::from_nanos(ms * 1_000_000);
        let syn = Some(Tcp { seq: isn, ack: None, syn: true, fin: false });
        let (at, _, header) = f.arrive(t(1), Side::Left, &seen(ENDS, 0, syn));
        assert_eq!(header, 0);
        for (i, seq) in [1u32, 1001, 1001].into_iter().enumerate() {
            f.arrive(
                t(2 + i as u64),
                Side::Left,
                &seen(ENDS, 1000, tcp(isn.wrapping_add(seq), Some(9))),
            );
        }
        let fin = Some(Tcp { seq: isn.wrapping_add(2001), ack: Some(9), syn: false, fin: true });
        f.arrive(t(6), Side::Left, &seen(ENDS, 500, fin));
        let ack = |n: u32| seen(ENDS.turned(), 0, tcp(9, Some(isn.wrapping_add(n))));
        f.deliver(t(7), Side::Right, at, 40, &ack(1001));
        f.deliver(t(8), Side::Right, at, 40, &ack(1001)); // a duplicate
        assert_eq!(f.measured()[0].bytes, 1000);
        assert!(f.transfers().is_empty());
        f.deliver(t(9), Side::Right, at, 40, &ack(2502)); // the FIN's number too
        let m = f.measured()[0];
        assert_eq!((m.bytes, m.sent, m.retransmits, m.connections), (2500, 4, 1, 1));
        let took = Duration::from_millis(8);
        assert_eq!(f.transfers(), [Transfer { end: t(9), flow: 0, bytes: 2500, took }]);
    }

    #[test]
    fn the_window_cuts() {
        let mut f = flows();
        f.close(Time::from_nanos(10));
        f.arrive(Time::from_nanos(5), Side::Left, &seen(ENDS, 1000, tcp(1, None)));
        let (at, ..) =
            f.arrive(Time::from_nanos(10), Side::Left, &seen(ENDS, 1000, tcp(1001, None)));
        f.deliver(
            Time::from_nanos(8),
            Side::Right,
            at,
            40,
            &seen(ENDS.turned(), 0, tcp(1, Some(1))),
        );
        f.deliver(
            Time::from_nanos(9),
            Side::Right,
            at,
            40,
            &seen(ENDS.turned(), 0, tcp(1, Some(1001))),
        );
        f.deliver(
            Time::from_nanos(10),
            Side::Right,
            at,
            40,
            &seen(ENDS.turned(), 0, tcp(1, Some(2001))),
        );
        assert_eq!((f.measured()[0].sent, f.measured()[0].bytes), (1, 1000));
    }

    #[test]
    fn other_programs_have_flows_of_their_own() {
        let mut f = flows();
        let web = Ends { from_port: 40_000, to_port: 80, ..ENDS };
        let one = f.arrive(Time::ZERO, Side::Left, &seen(web, 100, tcp(1, None)));
        let same = f.arrive(Time::ZERO, Side::Right, &seen(web.turned(), 0, tcp(1, Some(101))));
        let other =
            f.arrive(Time::ZERO, Side::Left, &seen(Ends { from_port: 1, ..web }, 1, tcp(1, None)));
        assert_eq!((one.1, same.1, other.1), (1, 1, 2));
        assert_eq!(one.2, 14);
        let icmp = Seen { transport: None, ..seen(web, 0, None) };
        let a = f.arrive(Time::ZERO, Side::Left, &icmp);
        assert_eq!(a, f.arrive(Time::ZERO, Side::Right, &icmp));
        f.deliver(Time::ZERO, Side::Left, a.0, 84, &icmp);
    }

    #[test]
    fn a_datagram_flow_counts_its_datagrams_alone() {
        let known = Known { udp: true, bytes: None, ..KNOWN };
        let mut f = Flows::new(vec![known], (Time::ZERO, Time::NEVER), 0);
        f.arrive(Time::ZERO, Side::Left, &seen(ENDS, 100, tcp(1, None)));
        let udp = Ends { udp: true, ..ENDS };
        let (at, flow, _) = f.arrive(Time::ZERO, Side::Left, &seen(udp, 972, None));
        f.deliver(Time::ZERO, Side::Left, at, 1000, &seen(udp, 972, None));
        f.deliver(Time::ZERO, Side::Right, at, 1000, &seen(udp.turned(), 972, None));
        assert_eq!((flow, f.measured()[0].sent, f.measured()[0].bytes), (0, 1, 1000));
    }

    /// An echo: what goes one way counts, the bottleneck's.
    #[test]
    fn other_programs_count_one_way() {
        let (left, right, now) = (Side::Left, Side::Right, Time::ZERO);
        let mut f = Flows::new(vec![], (now, Time::NEVER), 0);
        let echo = Ends { from_port: 40_000, to_port: 7, udp: true, ..ENDS };
        for (from, ends) in [(left, echo), (right, echo.turned()), (left, echo)] {
            let (at, ..) = f.arrive(now, from, &seen(ends, 100, None));
            f.deliver(now, from, at, 128, &seen(ends, 100, None));
        }
        let web = Ends { udp: false, ..echo };
        let (at, ..) = f.arrive(now, left, &seen(web, 100, tcp(1, Some(1))));
        f.arrive(now, right, &seen(web.turned(), 900, tcp(1, Some(101))));
        f.deliver(now, right, at, 940, &seen(web.turned(), 900, tcp(1, Some(1))));
        f.deliver(now, right, at, 940, &seen(web.turned(), 900, tcp(1, Some(101))));
        f.deliver(now, left, at, 40, &seen(web, 0, tcp(101, Some(1))));
        f.deliver(now, left, at, 40, &seen(web, 0, tcp(101, Some(901))));
        let of = |m: &Measured| (m.udp, m.sent, m.bytes);
        assert_eq!([of(&f.measured()[0]), of(&f.measured()[1])], [(true, 2, 256), (false, 1, 100)]);
    }

    /// The counts of two adjoining windows add up to those of one window over both.
    #[test]
    fn adjoining_windows_add_up() {
        let measured = |from: u64, to: u64| {
            let tcp_flow = Known { bytes: None, ..KNOWN };
            let udp_flow = Known { port: 5202, udp: true, ..tcp_flow };
            let web_flow = Known { port: 5203, every_connection: true, ..tcp_flow };
            let window = (Time::from_nanos(from), Time::from_nanos(to));
            let mut f = Flows::new(vec![tcp_flow, udp_flow, web_flow], window, 0);
            let ends = |port, udp| Ends { from_port: port, to_port: port, udp, ..ENDS };
            let of = [(5201, false), (5202, true), (5203, false), (80, false), (81, true)];
            let all = of.map(|(port, udp)| ends(port, udp));
            for t in 0..40u32 {
                let (now, n) = (Time::from_nanos(u64::from(t)), t / 2);
                for ends in all {
                    let syn = !ends.udp && t < 2;
                    // Every third segment goes again, and the other side asks now and then.
                    let seq = if syn { 0 } else { 1 + 100 * (n - u32::from(n % 3 == 2)) };
                    let data = tcp(seq, (!syn).then_some(1)).map(|x| Tcp { syn, ..x });
                    let data = seen(ends, u32::from(!syn) * 100, data.filter(|_| !ends.udp));
                    let asks = tcp(n / 2, Some(seq)).filter(|_| !ends.udp);
                    let asks = seen(ends.turned(), u32::from(n % 4 == 0) * 50, asks);
                    for (side, seen) in [(Side::Left, data), (Side::Right, asks)] {
                        let (at, ..) = f.arrive(now, side, &seen);
                        f.deliver(now, side, at, seen.ip_bytes, &seen);
                    }
                }
            }
            f.measured().to_vec()
        };
        let (a, b, both) = (measured(0, 17), measured(17, 40), measured(0, 40));
        let mut seen = [0; 5];
        for ((a, b), both) in a.iter().zip(&b).zip(&both) {
            let counts = |m: &Measured| {
                let Measured { bytes, retransmits, sent, connections, repeats, udp: _ } = *m;
                [bytes, retransmits, sent, u64::from(connections), repeats]
            };
            let (a, b, both) = (counts(a), counts(b), counts(both));
            for (i, (a, b)) in a.into_iter().zip(b).enumerate() {
                assert_eq!(a + b, both[i], "count {i}");
                seen[i] += u64::from(both[i] > 0);
            }
            assert!(a[2] > 0 && b[2] > 0, "each sends in each window");
        }
        assert!(seen.iter().all(|n| *n > 0), "{seen:?}");
    }

    /// A client on the right opens one connection after the other from one port, and asks: its SYN
    /// and its request go again, which counts; the server's segment goes again, which is a
    /// retransmission.
    #[test]
    fn a_client_asks_over_any_connection() {
        let known = Known { bytes: None, every_connection: true, ..KNOWN };
        let mut f = Flows::new(vec![known], (Time::ZERO, Time::NEVER), 0);
        let asks = Ends { from: 2, to: 1, from_port: 61_000, to_port: 5201, udp: false };
        for (round, isn) in [(1, 100), (2, 90_000)] {
            let syn = seen(asks, 0, Some(Tcp { seq: isn, ack: None, syn: true, fin: false }));
            let (at, flow, _) = f.arrive(Time::ZERO, Side::Right, &syn);
            assert_eq!((at, flow), (0, 0));
            f.arrive(Time::ZERO, Side::Right, &syn);
            let answer = Some(Tcp { seq: 7, ack: Some(isn + 1), syn: true, fin: false });
            f.arrive(Time::ZERO, Side::Left, &seen(asks.turned(), 0, answer));
            let request = seen(asks, 400, tcp(isn + 1, Some(8)));
            f.arrive(Time::ZERO, Side::Right, &request);
            f.deliver(Time::ZERO, Side::Right, at, 440, &request);
            f.arrive(Time::ZERO, Side::Right, &request);
            for _ in 0..2 {
                f.arrive(
                    Time::ZERO,
                    Side::Left,
                    &seen(asks.turned(), 1000, tcp(8, Some(isn + 401))),
                );
            }
            f.deliver(Time::ZERO, Side::Right, at, 40, &seen(asks, 0, tcp(isn + 401, Some(1008))));
            let m = f.measured()[0];
            let want = (round * 1000, 2 * round, round, 2 * round, round);
            assert_eq!((m.bytes, m.sent, m.retransmits, m.repeats, u64::from(m.connections)), want);
        }
    }
}
