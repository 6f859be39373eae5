//! TCP sockets of this process on the hosts: the system calls that no library of ours wraps safely.
#![allow(unsafe_code)]

use crate::sys::{check, set};
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

fn set_bytes(fd: RawFd, level: libc::c_int, name: libc::c_int, value: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel reads as many bytes as there are.
    check(unsafe {
        libc::setsockopt(fd, level, name, value.as_ptr().cast(), value.len() as libc::socklen_t)
    })
    .map(|_| ())
}

/// Opens a TCP socket over IPv4 in this namespace, with a congestion control where one is named, an
/// MSS to announce, buffers of that size and a DSCP.
pub fn tcp_socket(
    congestion: Option<&str>,
    mss: u32,
    buffer: Option<u32>,
    class: u8,
) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: a fresh descriptor, owned from here on.
    let fd = unsafe { OwnedFd::from_raw_fd(check(libc::socket(libc::AF_INET, kind, 0))?) };
    let raw = fd.as_raw_fd();
    if let Some(name) = congestion {
        set_bytes(raw, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes())?;
    }
    set(raw, libc::IPPROTO_TCP, libc::TCP_MAXSEG, mss as libc::c_int)?;
    if let Some(bytes) = buffer {
        set(raw, libc::SOL_SOCKET, libc::SO_SNDBUF, bytes as libc::c_int)?;
        set(raw, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes as libc::c_int)?;
    }
    if class > 0 {
        set(raw, libc::IPPROTO_IP, libc::IP_TOS, libc::c_int::from(class) << 2)?;
    }
    Ok(fd)
}

/// Returns the largest buffers that this machine lets a socket ask for, in bytes: the lesser of
/// net.core.wmem_max and net.core.rmem_max, which a namespace of one's own may not show.
pub fn largest_buffer() -> io::Result<u32> {
    let fd = tcp_socket(None, 1448, Some(i32::MAX as u32), 0)?;
    let allowed = |name| -> io::Result<u32> {
        let mut booked = [0; 4];
        get_bytes(fd.as_raw_fd(), libc::SOL_SOCKET, name, &mut booked)?;
        // The kernel books twice what was asked for: packets take room beside their data.
        Ok(u32::from_ne_bytes(booked) / 2)
    };
    Ok(u32::min(allowed(libc::SO_SNDBUF)?, allowed(libc::SO_RCVBUF)?))
}

/// Calls with a socket address in C's form.
fn with_address(
    address: SocketAddrV4,
    f: impl FnOnce(*const libc::sockaddr, libc::socklen_t) -> libc::c_int,
) -> io::Result<()> {
    // SAFETY: all zeros are a valid sockaddr_in.
    let mut c: libc::sockaddr_in = unsafe { zeroed() };
    c.sin_family = libc::AF_INET as u16;
    c.sin_port = address.port().to_be();
    c.sin_addr.s_addr = u32::from(*address.ip()).to_be();
    check(f((&raw const c).cast(), size_of::<libc::sockaddr_in>() as libc::socklen_t)).map(|_| ())
}

/// Gives a socket a local port.
pub fn bind(fd: &OwnedFd, port: u16) -> io::Result<()> {
    let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port);
    // SAFETY: the address lives during the call and has the given length.
    with_address(any, |to, length| unsafe { libc::bind(fd.as_raw_fd(), to, length) })
}

/// The number of connections that may wait to be accepted. Where there is no room for one, the
/// kernel forgets its SYN, and the other end asks again after a second.
const BACKLOG: libc::c_int = 128;

/// Listens at an address.
pub fn listen(fd: OwnedFd, at: SocketAddrV4) -> io::Result<TcpListener> {
    // SAFETY: as above.
    with_address(at, |to, length| unsafe { libc::bind(fd.as_raw_fd(), to, length) })?;
    // SAFETY: numbers alone.
    check(unsafe { libc::listen(fd.as_raw_fd(), BACKLOG) })?;
    Ok(fd.into())
}

/// Connects a socket.
pub fn connect(fd: OwnedFd, to: SocketAddrV4) -> io::Result<TcpStream> {
    // SAFETY: as above.
    with_address(to, |to, length| unsafe { libc::connect(fd.as_raw_fd(), to, length) })?;
    Ok(fd.into())
}

/// Begins to connect a socket, which from then on never blocks.
pub fn begin_connect(fd: OwnedFd, to: SocketAddrV4) -> io::Result<TcpStream> {
    let stream = TcpStream::from(fd);
    stream.set_nonblocking(true)?;
    // SAFETY: as above.
    let begun =
        with_address(to, |to, length| unsafe { libc::connect(stream.as_raw_fd(), to, length) });
    match begun {
        Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => Err(e),
        _ => Ok(stream),
    }
}

/// Sends some of `bytes` zeros, without waiting. Returns how many the kernel took. While more are
/// to follow, it keeps back a segment that they do not fill.
pub fn send_zeros(stream: &TcpStream, bytes: u64) -> io::Result<u64> {
    static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
    let n = bytes.min(ZEROS.len() as u64);
    let more = if n < bytes { libc::MSG_MORE } else { 0 };
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL | more;
    // SAFETY: at most as many bytes as the array has, which the kernel only reads.
    let sent = unsafe { libc::send(stream.as_raw_fd(), ZEROS.as_ptr().cast(), n as usize, flags) };
    u64::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Takes up to `most` bytes that have arrived and forgets them, without waiting. Returns how many;
/// 0 where the other end will send no more.
pub fn discard(stream: &TcpStream, most: u64) -> io::Result<u64> {
    let n = most.min(1 << 20) as usize;
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    // SAFETY: with MSG_TRUNC TCP writes nothing into the buffer (tcp(7)), so that none is needed.
    let got = unsafe { libc::recv(stream.as_raw_fd(), std::ptr::null_mut(), n, flags) };
    u64::try_from(got).map_err(|_| io::Error::last_os_error())
}

/// Lets the kernel raise EPOLLERR each time that all which was written has been acknowledged.
pub fn report_acks(stream: &TcpStream) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_TX_ACK
        | libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    set(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags)
}

/// Empties the queue of those reports.
pub fn clear_reports(stream: &TcpStream) {
    // SAFETY: all zeros are a valid msghdr: no name, no buffer, no control.
    let mut message: libc::msghdr = unsafe { zeroed() };
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: the message lives here and points nowhere.
    while unsafe { libc::recvmsg(stream.as_raw_fd(), &raw mut message, flags) } >= 0 {}
}

/// Returns how many bytes of what was written the other end has not acknowledged; a FIN counts as
/// one.
pub fn unacknowledged(stream: &TcpStream) -> io::Result<u64> {
    let mut n: libc::c_int = 0;
    // SAFETY: the kernel writes one int, which lives here.
    check(unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ as _, &raw mut n) })?;
    Ok(n.max(0) as u64)
}

/// Returns a socket's number, which is unique on the machine. [`crate::diag`] reports it as well.
pub fn cookie(stream: &TcpStream) -> io::Result<u64> {
    let mut value = [0; 8];
    get_bytes(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_COOKIE, &mut value)?;
    Ok(u64::from_ne_bytes(value))
}

/// Returns the name of a socket's congestion control.
pub fn congestion(stream: &TcpStream) -> io::Result<String> {
    let mut value = [0; 16];
    get_bytes(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, &mut value)?;
    let name = value.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

fn get_bytes(fd: RawFd, level: libc::c_int, name: libc::c_int, value: &mut [u8]) -> io::Result<()> {
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most as many bytes as there are.
    check(unsafe { libc::getsockopt(fd, level, name, value.as_mut_ptr().cast(), &raw mut length) })
        .map(drop)
}

/// Lets this process have that many files open, as far as its hard limit allows. Returns how many
/// it may have.
pub fn allow_files(wanted: u64) -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes the limit, which lives here.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    if limit.rlim_cur < wanted {
        limit.rlim_cur = wanted.min(limit.rlim_max);
        // SAFETY: the kernel reads the limit.
        check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) })?;
    }
    Ok(limit.rlim_cur)
}
