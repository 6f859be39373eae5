//! The kernel's view of its TCP connections: `tcp_info` of every socket of a namespace, by
//! sock_diag.
//!
//! Programs need not cooperate, and the figures are the kernel's own: marks as the receiver counted
//! them, windows, timeouts.

use netlink_sys::{protocols::NETLINK_SOCK_DIAG, Socket, SocketAddr};
use std::io;

/// A connection as its host sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Connection {
    /// The socket's number, which is unique on the machine.
    pub cookie: u64,
    /// Local and remote port. The local port of a destroyed socket is 0.
    pub ports: (u16, u16),
    /// The remote address's last four bytes.
    pub remote: u32,
    /// Whether it listens.
    pub listens: bool,
    /// The name of its congestion control.
    pub congestion: String,
    /// Its `tcp_info`; `None` for an incomplete socket (TIME-WAIT, half open).
    pub info: Option<TcpInfo>,
}

/// The parts of the kernel's `struct tcp_info` that are used here; `None` where the kernel is too
/// old to have them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TcpInfo {
    /// Whether ECN was negotiated.
    pub ecn: bool,
    /// The path's smoothed round-trip time, microseconds; `None` before the first sample.
    pub rtt_us: Option<u32>,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow-start threshold in segments; `None` before the first.
    pub ssthresh: Option<u32>,
    /// Segments sent again.
    pub retransmits: u32,
    /// Payload acknowledged by the other end.
    pub bytes_acked: u64,
    /// Payload received.
    pub bytes_received: u64,
    /// The smallest round-trip time, microseconds; `None` before the first sample.
    pub min_rtt_us: Option<u32>,
    /// Payload of a full segment.
    pub mss: u32,
    /// Retransmission timeouts.
    pub timeouts: Option<u32>,
    /// Segments that arrived with CE.
    pub received_ce: Option<u32>,
    /// Payload that arrived with ECT(1).
    pub received_ect1_bytes: Option<u32>,
}

const TCPI_OPT_ECN: u8 = 8;

impl TcpInfo {
    /// Reads the kernel's bytes (`include/uapi/linux/tcp.h`).
    fn parse(b: &[u8]) -> Self {
        let u16_at =
            |i: usize| Some(u32::from(u16::from_ne_bytes(b.get(i..i + 2)?.try_into().ok()?)));
        let u32_at = |i: usize| Some(u32::from_ne_bytes(b.get(i..i + 4)?.try_into().ok()?));
        let u64_at = |i: usize| Some(u64::from_ne_bytes(b.get(i..i + 8)?.try_into().ok()?));
        TcpInfo {
            ecn: b.get(5).is_some_and(|options| options & TCPI_OPT_ECN != 0),
            mss: u32_at(16).unwrap_or(0),
            // Before the first sample the kernel says 0, and of the smallest the largest number.
            rtt_us: u32_at(68).filter(|us| *us > 0),
            ssthresh: u32_at(76).filter(|s| *s < 0x7fff_ffff),
            cwnd: u32_at(80).unwrap_or(0),
            retransmits: u32_at(100).unwrap_or(0),
            bytes_acked: u64_at(120).unwrap_or(0),
            bytes_received: u64_at(128).unwrap_or(0),
            min_rtt_us: u32_at(148).filter(|us| *us < u32::MAX),
            timeouts: u16_at(240),
            received_ce: u32_at(248),
            received_ect1_bytes: u32_at(264),
        }
    }
}

/// Asks about the namespace in which it was opened.
pub struct Diag(Socket);

/// Receives the last `tcp_info` of every TCP socket of its namespace that is destroyed.
pub struct Destroyed(Socket);

/// Groups of sock_diag's destroy notifications: TCP over IPv4, over IPv6.
const SKNLGRP_INET_TCP_DESTROY: u32 = 1;
const SKNLGRP_INET6_TCP_DESTROY: u32 = 3;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_CONG: u16 = 4;
const NLM_F_REQUEST_DUMP: u16 = 0x0301;
const NLMSG_DONE: u16 = 3;
const NLMSG_ERROR: u16 = 2;
const TCP_LISTEN: u8 = 10;
/// `struct inet_diag_msg`.
const MESSAGE: usize = 72;

impl Diag {
    /// Opens a socket in this thread's namespace.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Diag(socket))
    }

    /// Returns all TCP sockets.
    pub fn connections(&self) -> io::Result<Vec<Connection>> {
        let mut all = vec![];
        for family in [libc::AF_INET as u8, libc::AF_INET6 as u8] {
            self.dump(family, &mut all)?;
        }
        Ok(all)
    }

    fn dump(&self, family: u8, all: &mut Vec<Connection>) -> io::Result<()> {
        // struct nlmsghdr, struct inet_diag_req_v2: any state, any address.
        let mut request = [0u8; 72];
        request[..4].copy_from_slice(&72u32.to_ne_bytes());
        request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        request[6..8].copy_from_slice(&NLM_F_REQUEST_DUMP.to_ne_bytes());
        request[16] = family;
        request[17] = libc::IPPROTO_TCP as u8;
        request[18] = (1 << (INET_DIAG_INFO - 1)) | (1 << (INET_DIAG_CONG - 1));
        request[20..24].copy_from_slice(&u32::MAX.to_ne_bytes());
        self.0.send(&request, 0)?;
        loop {
            let (answer, _) = self.0.recv_from_full()?;
            if messages(&answer, all)? {
                return Ok(());
            }
        }
    }
}

impl Destroyed {
    /// Listens in this thread's namespace from now on.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
        socket.bind_auto()?;
        socket.add_membership(SKNLGRP_INET_TCP_DESTROY)?;
        socket.add_membership(SKNLGRP_INET6_TCP_DESTROY)?;
        socket.set_non_blocking(true)?;
        // Some hundred of them; the least of what is allowed.
        socket.set_rx_buf_sz(4 << 20_i32)?;
        Ok(Destroyed(socket))
    }

    /// Returns the sockets destroyed since the last call. ENOBUFS means that there were more than
    /// could be kept.
    pub fn take(&self, all: &mut Vec<Connection>) -> io::Result<()> {
        loop {
            match self.0.recv_from_full() {
                Ok((answer, _)) => messages(&answer, all)?,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            };
        }
    }
}

/// Reads the messages of one datagram. Returns whether it ends a dump.
fn messages(answer: &[u8], all: &mut Vec<Connection>) -> io::Result<bool> {
    let mut rest = answer;
    while let Some((header, _)) = rest.split_at_checked(16) {
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let kind = u16::from_ne_bytes([header[4], header[5]]);
        let Some(message) = rest.get(16..length) else {
            return Err(io::Error::other("sock_diag: an answer that is cut short"));
        };
        match kind {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                let code = message.first_chunk::<4>().map_or(0, |b| i32::from_ne_bytes(*b));
                let e = io::Error::from_raw_os_error(code.saturating_neg());
                return Err(io::Error::new(e.kind(), format!("sock_diag: {e}")));
            }
            _ => all.extend(parse(message)),
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

fn parse(b: &[u8]) -> Option<Connection> {
    let attributes = b.get(MESSAGE..)?;
    let port = |i: usize| u16::from_be_bytes([b[i], b[i + 1]]);
    // Addresses take 16 bytes each; IPv4 has its four at the beginning.
    let last = if b[0] == libc::AF_INET as u8 { 24 } else { 36 };
    let mut c = Connection {
        cookie: u64::from_ne_bytes(b.get(44..52)?.try_into().ok()?),
        ports: (port(4), port(6)),
        remote: u32::from_be_bytes(b.get(last..last + 4)?.try_into().ok()?),
        listens: b[1] == TCP_LISTEN,
        ..Connection::default()
    };
    let mut rest = attributes;
    while let Some((header, _)) = rest.split_at_checked(4) {
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let value = rest.get(4..length)?;
        match u16::from_ne_bytes([header[2], header[3]]) {
            INET_DIAG_INFO => c.info = Some(TcpInfo::parse(value)),
            INET_DIAG_CONG => {
                let name = value.split(|byte| *byte == 0).next().unwrap_or_default();
                c.congestion = String::from_utf8_lossy(name).into_owned();
            }
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    /// The layout, against a connection whose figures are known.
    #[test]
    fn a_connection_of_our_own_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut server, from) = listener.accept().unwrap();
        client.write_all(&[7; 1234]).unwrap();
        let mut got = [0; 1234];
        server.read_exact(&mut got).unwrap();
        server.write_all(&[1]).unwrap();
        client.read_exact(&mut [0]).unwrap();
        let Ok(all) = Diag::open().and_then(|d| d.connections()) else {
            eprintln!("skipped: this kernel has no inet_diag");
            return;
        };
        let of = |local: u16, remote: u16| all.iter().find(|c| c.ports == (local, remote)).unwrap();
        let (a, b) = (of(from.port(), port), of(port, from.port()));
        let (ours, theirs) = (a.info.unwrap(), b.info.unwrap());
        assert_eq!((ours.bytes_acked, theirs.bytes_received), (1235, 1234)); // the SYN counts as one
        assert!(ours.cwnd > 0 && ours.mss > 500 && a.remote == 0x7f00_0001, "{a:?}");
        assert!(ours.min_rtt_us.unwrap() <= ours.rtt_us.unwrap(), "{ours:?}");
        assert!(!a.congestion.is_empty() && a.congestion.is_ascii());
        assert!(a.cookie != 0 && a.cookie != b.cookie);
        assert!(all.iter().any(|c| c.ports.0 == port && c.listens));
    }

    /// The last figures of a socket come when it is gone, under the number that it had.
    #[test]
    fn a_destroyed_socket_is_heard_of() {
        let (Ok(diag), Ok(destroyed)) = (Diag::open(), Destroyed::open()) else {
            eprintln!("skipped: this kernel has no sock_diag");
            return;
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut server, from) = listener.accept().unwrap();
        client.write_all(&[7; 1234]).unwrap();
        server.read_exact(&mut [0; 1234]).unwrap();
        let Ok(all) = diag.connections() else {
            eprintln!("skipped: this kernel has no inet_diag");
            return;
        };
        let cookie = all.iter().find(|c| c.ports == (port, from.port())).unwrap().cookie;
        client.write_all(&[7; 766]).unwrap();
        server.read_exact(&mut [0; 766]).unwrap();
        drop((server, client));
        let mut gone = vec![];
        for _ in 0..500 {
            destroyed.take(&mut gone).unwrap();
            if gone.iter().any(|c| c.cookie == cookie) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let last = gone.iter().find(|c| c.cookie == cookie).unwrap();
        assert_eq!((last.ports.1, last.info.unwrap().bytes_received), (from.port(), 2001));
        // and the FIN
    }

    /// Whatever stands in an answer, reading it ends, and does not panic.
    #[test]
    fn any_bytes_are_read() {
        let mut rng = penstock_units::Rng::stream(1, "diag");
        let mut below = |n: usize| (rng.unit() * n as f64) as usize;
        for round in 0..20_000 {
            let mut bytes: Vec<u8> = (0..below(400)).map(|_| below(256) as u8).collect();
            // Half of them with a header whose length fits, so that what is behind it is read, too.
            if round % 2 == 0 && bytes.len() >= 16 {
                let length = (bytes.len() as u32).to_ne_bytes();
                bytes[..4].copy_from_slice(&length);
                bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
                if bytes.len() > MESSAGE + 24 {
                    bytes[MESSAGE + 16..MESSAGE + 20].copy_from_slice(&[8, 0, below(6) as u8, 0]);
                }
            }
            let mut all = vec![];
            let _ = messages(&bytes, &mut all);
            assert!(all.len() <= bytes.len() / MESSAGE);
        }
    }

    /// A connection being set up has no round-trip time, not one of 0 or of 4,295 s.
    #[test]
    fn nothing_is_said_before_the_first_round_trip() {
        let mut bytes = [0; 160];
        bytes[148..152].copy_from_slice(&u32::MAX.to_ne_bytes());
        let info = TcpInfo::parse(&bytes);
        assert_eq!((info.rtt_us, info.min_rtt_us), (None, None));
        bytes[68..72].copy_from_slice(&20_500u32.to_ne_bytes());
        bytes[148..152].copy_from_slice(&20_100u32.to_ne_bytes());
        let info = TcpInfo::parse(&bytes);
        assert_eq!((info.rtt_us, info.min_rtt_us), (Some(20_500), Some(20_100)));
    }

    #[test]
    fn what_is_cut_short_is_not_there() {
        let info = TcpInfo::parse(&[0xff; 100]);
        assert_eq!((info.received_ce, info.timeouts, info.ssthresh), (None, None, None));
        assert!(info.ecn);
        assert_eq!(parse(&[0; 71]), None);
        assert!(parse(&[0; 72]).is_some());
    }
}
