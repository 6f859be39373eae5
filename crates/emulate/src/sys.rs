//! The system calls that no library of ours wraps safely: raw sockets, TUN, scheduling. Those of TCP
//! sockets are in [`crate::socket`].
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Returns the nanoseconds of the monotonic clock.
pub fn monotonic_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` outlives the call, and this clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Returns the nanoseconds of CPU time that this thread has used.
pub fn thread_cpu_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Returns the index of an interface in this namespace.
pub fn interface(name: &str) -> io::Result<u32> {
    let c = CString::new(name)?;
    // SAFETY: a string with its end.
    match unsafe { libc::if_nametoindex(c.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

pub(crate) fn set<T>(fd: RawFd, level: libc::c_int, name: libc::c_int, value: T) -> io::Result<()> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes of a value that lives here; every T used is a
    // plain C type.
    check(unsafe {
        libc::setsockopt(
            fd,
            level,
            name,
            (&raw const value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })
    .map(|_| ())
}

/// Takes over a descriptor that this process has inherited.
pub(crate) fn inherited(fd: RawFd) -> OwnedFd {
    // SAFETY: the caller says that nobody else here uses it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Opens an AF_PACKET socket on an interface. It sees what arrives there, but not what it sends
/// itself.
pub fn packet_socket(interface: u32) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: a fresh descriptor, owned from here on.
    let fd = unsafe { OwnedFd::from_raw_fd(check(libc::socket(libc::AF_PACKET, kind, 0))?) };
    let raw = fd.as_raw_fd();
    set(raw, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1i32)?;
    set(raw, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1i32)?;
    // Room for what comes while the router is not running; FORCE needs privileges.
    if set(raw, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 64 << 20i32).is_err() {
        set(raw, libc::SOL_SOCKET, libc::SO_RCVBUF, 64 << 20i32)?;
    }
    if set(raw, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, 16 << 20i32).is_err() {
        set(raw, libc::SOL_SOCKET, libc::SO_SNDBUF, 16 << 20i32)?;
    }
    // SAFETY: all zeros are a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = interface as i32;
    // SAFETY: the address lives here and has the given length.
    check(unsafe {
        libc::bind(
            raw,
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    })?;
    Ok(fd)
}

/// Lets an AF_PACKET socket have the frames for other hosts as well, as long as it is open.
pub fn promiscuous(fd: &OwnedFd, interface: u32) -> io::Result<()> {
    let request = libc::packet_mreq {
        mr_ifindex: interface as i32,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(fd.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, request)
}

/// Lets an AF_PACKET socket say beside a frame which VLAN's tag the kernel took out of it.
pub fn report_tags(fd: &OwnedFd) -> io::Result<()> {
    set(fd.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_AUXDATA, 1i32)
}

/// Returns how many frames the kernel dropped because the socket was full, since the last call.
pub fn packet_drops(fd: BorrowedFd<'_>) -> u64 {
    // SAFETY: all zeros are a valid tpacket_stats, which the kernel fills.
    let mut stats: libc::tpacket_stats = unsafe { zeroed() };
    let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    let (level, name) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
    // SAFETY: the pointers are to values of the length given.
    let result = unsafe {
        libc::getsockopt(fd.as_raw_fd(), level, name, (&raw mut stats).cast(), &raw mut length)
    };
    if result == 0 {
        u64::from(stats.tp_drops)
    } else {
        0
    }
}

/// Opens a TUN device of that name in this namespace. It carries IP packets without a header before
/// them.
pub fn tun(name: &str) -> io::Result<OwnedFd> {
    let path = c"/dev/net/tun";
    // SAFETY: a constant string; a fresh descriptor, owned from here on.
    let fd = unsafe {
        let flags = libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
        OwnedFd::from_raw_fd(check(libc::open(path.as_ptr(), flags))?)
    };
    // SAFETY: all zeros are a valid ifreq; the name fits with its end, and the kernel writes into
    // it at most.
    unsafe {
        let mut request: libc::ifreq = zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
        check(libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request))?;
    }
    Ok(fd)
}

/// Turns off transmit checksum offload, and with it all segmentation offload, of an interface in
/// this namespace: what it sends is whole packets.
pub fn no_offload(name: &str) -> io::Result<()> {
    const ETHTOOL_STXCSUM: u32 = 0x17;
    const ETHTOOL_SGSO: u32 = 0x24;
    // Without the first there is no connection; the others only save work.
    ethtool(name, ETHTOOL_STXCSUM, 0)?;
    for cmd in [ETHTOOL_SGSO, ETHTOOL_SGRO] {
        let _ = ethtool(name, cmd, 0);
    }
    Ok(())
}

const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_SFLAGS: u32 = 0x26;
const ETHTOOL_GGRO: u32 = 0x2b;
const ETHTOOL_SGRO: u32 = 0x2c;
/// Large receive offload among the flags.
const ETH_FLAG_LRO: u32 = 1 << 15;

/// Asks the driver of an interface in this namespace for a number, or gives it one.
fn ethtool(name: &str, cmd: u32, data: u32) -> io::Result<u32> {
    #[repr(C)]
    struct Value {
        cmd: u32,
        data: u32,
    }
    // SAFETY: a fresh descriptor, owned from here on.
    let fd = unsafe {
        OwnedFd::from_raw_fd(check(libc::socket(
            libc::AF_INET,
            libc::SOCK_DGRAM | libc::SOCK_CLOEXEC,
            0,
        ))?)
    };
    let mut value = Value { cmd, data };
    // SAFETY: the request points to a value of the kind that the command takes, and both live here.
    unsafe {
        let mut request: libc::ifreq = zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        check(libc::ioctl(fd.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request))?;
    }
    Ok(value.data)
}

/// An interface puts no packets together (GRO, LRO) as long as this lives. Then it does as before.
pub struct WholeFrames {
    name: String,
    /// What was on.
    gro: bool,
    flags: Option<u32>,
}

impl WholeFrames {
    /// For an interface in this namespace.
    pub fn on(name: &str) -> io::Result<Self> {
        // A driver that knows neither has nothing to turn off.
        let gro = ethtool(name, ETHTOOL_GGRO, 0).is_ok_and(|on| on != 0);
        let flags = ethtool(name, ETHTOOL_GFLAGS, 0).ok().filter(|f| f & ETH_FLAG_LRO != 0);
        let whole = WholeFrames { name: name.into(), gro, flags };
        if gro {
            ethtool(name, ETHTOOL_SGRO, 0)?;
        }
        if let Some(flags) = flags {
            ethtool(name, ETHTOOL_SFLAGS, flags & !ETH_FLAG_LRO)?;
        }
        Ok(whole)
    }
}

impl Drop for WholeFrames {
    fn drop(&mut self) {
        // An interface that is gone has nothing to be put back.
        if self.gro {
            let _ = ethtool(&self.name, ETHTOOL_SGRO, 1);
        }
        if let Some(flags) = self.flags {
            let _ = ethtool(&self.name, ETHTOOL_SFLAGS, flags);
        }
    }
}

/// Room for one `tpacket_auxdata` beside a frame.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Beside([u8; 48]);

/// Puts the tag of a VLAN, which the kernel took out, back into a frame. Returns its length.
fn tagged(message: &libc::msghdr, frame: &mut [u8], length: usize) -> usize {
    const ADDRESSES: usize = 12;
    let size = size_of::<libc::tpacket_auxdata>();
    // SAFETY: the kernel has filled the control buffer that the message points to, which is aligned
    // and lives; an auxdata is plain numbers.
    let aux: libc::tpacket_auxdata = unsafe {
        let head = libc::CMSG_FIRSTHDR(message);
        if head.is_null()
            || (*head).cmsg_level != libc::SOL_PACKET
            || (*head).cmsg_type != libc::PACKET_AUXDATA
            || ((*head).cmsg_len as usize) < libc::CMSG_LEN(size as u32) as usize
        {
            return length;
        }
        libc::CMSG_DATA(head).cast::<libc::tpacket_auxdata>().read_unaligned()
    };
    if aux.tp_status & libc::TP_STATUS_VLAN_VALID == 0 || length + 4 > frame.len() {
        return length;
    }
    let kind = if aux.tp_status & libc::TP_STATUS_VLAN_TPID_VALID == 0 {
        libc::ETH_P_8021Q as u16
    } else {
        aux.tp_vlan_tpid
    };
    frame.copy_within(ADDRESSES..length, ADDRESSES + 4);
    frame[ADDRESSES..ADDRESSES + 2].copy_from_slice(&kind.to_be_bytes());
    frame[ADDRESSES + 2..ADDRESSES + 4].copy_from_slice(&aux.tp_vlan_tci.to_be_bytes());
    length + 4
}

/// Reads up to `buffers.len()` frames, and puts the length of each into `lengths`. With `tags`,
/// those of VLANs are put back. Returns the number of frames, which may be 0.
pub fn receive(
    fd: BorrowedFd<'_>,
    buffers: &mut [Box<[u8]>],
    lengths: &mut [usize],
    tags: bool,
) -> io::Result<usize> {
    const MOST: usize = 64;
    let n = buffers.len().min(MOST);
    // SAFETY: all zeros are valid mmsghdrs and iovecs (no name, no control, no buffers).
    let (mut vectors, mut messages): ([libc::iovec; MOST], [libc::mmsghdr; MOST]) =
        unsafe { (zeroed(), zeroed()) };
    let mut beside = [Beside([0; 48]); MOST];
    if tags {
        for (message, beside) in messages.iter_mut().zip(&mut beside) {
            message.msg_hdr.msg_control = beside.0.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = beside.0.len() as _;
        }
    }
    for ((vector, message), buffer) in vectors.iter_mut().zip(&mut messages).zip(buffers.iter_mut())
    {
        *vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        message.msg_hdr.msg_iov = vector;
        message.msg_hdr.msg_iovlen = 1;
    }
    // SAFETY: the first `n` messages point to live buffers of the given lengths.
    let result = unsafe {
        libc::recvmmsg(
            fd.as_raw_fd(),
            messages.as_mut_ptr(),
            n as u32,
            libc::MSG_DONTWAIT as _,
            std::ptr::null_mut(),
        )
    };
    match check(result) {
        Ok(got) => {
            for ((length, message), buffer) in
                lengths.iter_mut().zip(&messages[..got as usize]).zip(buffers)
            {
                *length = message.msg_len as usize;
                if tags {
                    *length = tagged(&message.msg_hdr, buffer, *length);
                }
            }
            Ok(got as usize)
        }
        Err(e) if would_block(&e) => Ok(0),
        Err(e) => Err(e),
    }
}

/// Sends frames in one call. Returns how many were sent.
pub fn send(fd: BorrowedFd<'_>, frames: &[&[u8]]) -> io::Result<usize> {
    const MOST: usize = 64;
    let n = frames.len().min(MOST);
    // SAFETY: as above.
    let (mut vectors, mut messages): ([libc::iovec; MOST], [libc::mmsghdr; MOST]) =
        unsafe { (zeroed(), zeroed()) };
    for ((vector, message), frame) in vectors.iter_mut().zip(&mut messages).zip(frames) {
        *vector = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
        message.msg_hdr.msg_iov = vector;
        message.msg_hdr.msg_iovlen = 1;
    }
    // SAFETY: the first `n` messages point to live frames of the given lengths; the kernel
    // only reads them.
    let result = unsafe {
        libc::sendmmsg(fd.as_raw_fd(), messages.as_mut_ptr(), n as u32, libc::MSG_DONTWAIT as _)
    };
    match check(result) {
        Ok(sent) => Ok(sent as usize),
        Err(e) if would_block(&e) => Ok(0),
        Err(e) => Err(e),
    }
}

/// Reads one packet.
pub fn read(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    // SAFETY: the buffer lives and has the given length.
    let got = unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
    if got >= 0 {
        return Ok(Some(got as usize));
    }
    let e = io::Error::last_os_error();
    if would_block(&e) {
        Ok(None)
    } else {
        Err(e)
    }
}

/// Writes one packet. Returns whether it was sent.
pub fn write(fd: BorrowedFd<'_>, packet: &[u8]) -> io::Result<bool> {
    // SAFETY: the packet lives and has the given length.
    let put = unsafe { libc::write(fd.as_raw_fd(), packet.as_ptr().cast(), packet.len()) };
    if put >= 0 {
        return Ok(true);
    }
    let e = io::Error::last_os_error();
    if would_block(&e) {
        Ok(false)
    } else {
        Err(e)
    }
}

fn would_block(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EINTR | libc::ENOBUFS | libc::ENETDOWN))
}

/// Waits until one of at most two descriptors can be read, or the time is over. Returns which can.
pub fn wait(fds: &[BorrowedFd<'_>], most: Duration) -> [bool; 2] {
    const MOST: usize = 2;
    // SAFETY: all zeros are valid pollfds.
    let mut polls: [libc::pollfd; MOST] = unsafe { zeroed() };
    for (poll, fd) in polls.iter_mut().zip(fds) {
        *poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    }
    let timeout = libc::timespec {
        tv_sec: most.as_secs() as libc::time_t,
        tv_nsec: most.subsec_nanos() as libc::c_long,
    };
    // SAFETY: as many polls as there are descriptors; no signal mask.
    unsafe {
        libc::ppoll(
            polls.as_mut_ptr(),
            fds.len().min(MOST) as libc::nfds_t,
            &timeout,
            std::ptr::null(),
        )
    };
    polls.map(|poll| poll.revents != 0)
}

/// The scheduling of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// SCHED_FIFO.
    Fifo,
    /// Normally, with a higher priority.
    Nice,
    /// Normally.
    Normal,
}

/// Gives this thread what timing needs, as far as it is allowed: SCHED_FIFO, timers without slack,
/// memory that stays.
pub fn prioritise(wanted: bool) -> Priority {
    // SAFETY: these take numbers alone; `parameters` lives here.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1usize, 0usize, 0usize, 0usize);
        if !wanted {
            return Priority::Normal;
        }
        // What is there stays, what comes stays from then on. Without the second flag the kernel
        // reads in all that is mapped, every library of the process: seconds. A limit on locked
        // memory refuses this without privileges, which costs a page fault at worst.
        libc::mlockall(libc::MCL_CURRENT | libc::MCL_ONFAULT);
        let parameters = libc::sched_param { sched_priority: 10 };
        if libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) == 0 {
            return Priority::Fifo;
        }
        if libc::setpriority(libc::PRIO_PROCESS, 0, -20) == 0 {
            return Priority::Nice;
        }
    }
    Priority::Normal
}

/// Keeps the processors out of idle states from which they wake slowly, as long as what it returns
/// lives; `None` where that is not allowed. (PM QoS, `/dev/cpu_dma_latency`.)
pub fn stay_awake() -> Option<std::fs::File> {
    use std::io::Write;
    let mut file = std::fs::File::options().write(true).open("/dev/cpu_dma_latency").ok()?;
    file.write_all(&0i32.to_ne_bytes()).ok()?;
    Some(file)
}

/// Makes the kernel kill this process when the thread that made it ends.
pub fn die_with_parent() {
    // SAFETY: numbers alone.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as usize, 0usize, 0usize, 0usize) };
}

/// Runs `child` in a new process and returns that one's id. `child` never returns here.
///
/// The caller has one thread: what another held in the middle of a fork (a lock, an allocator)
/// would stay held.
pub fn fork(child: impl FnOnce() -> i32) -> io::Result<libc::pid_t> {
    // SAFETY: see above; `child` ends in `_exit`, whatever it does.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).unwrap_or(101);
            // SAFETY: ends this process without running what the parent would run at its exit.
            unsafe { libc::_exit(code) }
        }
        pid => Ok(pid),
    }
}

/// Lets a process start inside a network namespace.
pub fn enter_on_exec(command: &mut std::process::Command, namespace: RawFd) {
    use std::os::unix::process::CommandExt;
    // SAFETY: between fork and exec it makes system calls alone, which are allowed there.
    unsafe {
        command.pre_exec(move || {
            check(libc::setns(namespace, libc::CLONE_NEWNET))?;
            // What this process took for itself is not for its children: timers with slack again,
            // signals that Python ignores or that wait here. What the caller ignores (`nohup`)
            // stays so.
            libc::prctl(libc::PR_SET_TIMERSLACK, 0usize, 0usize, 0usize, 0usize);
            libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            check(libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()))?;
            Ok(())
        });
    }
}

/// The terminal for a program that is about to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// It has what the caller has.
    Shared,
    /// It gets the terminal on its standard input, in a new process group. The caller's group has
    /// no number in its process namespace, and a shell that cannot name its group fails.
    Given,
    /// It may be stopped from there as well: an interactive shell, which needs that.
    Jobs,
}

/// Between a fork and its exec: moves this process, which has one thread, into namespaces (those of
/// processes among them) and goes on as a child there, the program to be. What was forked stays
/// behind as its keeper: the caller's child, which passes signals on and ends as the program does.
///
/// # Errors
/// If a namespace cannot be entered, or a process cannot be made.
pub fn enter(namespaces: &[RawFd], terminal: Terminal) -> io::Result<()> {
    // The mounts of a namespace have a root of their own.
    let here = std::env::current_dir()?;
    for namespace in namespaces {
        // SAFETY: numbers alone; the kernel refuses what is no namespace.
        check(unsafe { libc::setns(*namespace, 0) })?;
    }
    std::env::set_current_dir(&here)?;
    // SAFETY: the sets and the action live here. This process has one thread, and what follows the
    // fork in the keeper are system calls on its own memory.
    unsafe {
        let (mut all, mut none): (libc::sigset_t, libc::sigset_t) = (zeroed(), zeroed());
        libc::sigfillset(&raw mut all);
        libc::sigemptyset(&raw mut none);
        check(libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut()))?;
        // Where SIGCHLD is ignored the kernel keeps no end.
        let before = libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        let child = check(libc::fork())?;
        if child > 0 {
            keep(child, &all);
        }
        die_with_parent();
        libc::signal(libc::SIGCHLD, before);
        if terminal != Terminal::Shared {
            check(libc::setpgid(0, 0))?;
            // It asks from the background.
            libc::signal(libc::SIGTTOU, libc::SIG_IGN);
            libc::tcsetpgrp(0, libc::getpid());
            libc::signal(libc::SIGTTOU, libc::SIG_DFL);
            if terminal == Terminal::Given {
                // Nobody could let it go on.
                libc::signal(libc::SIGTSTP, libc::SIG_IGN);
            }
        }
        check(libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()))?;
    }
    Ok(())
}

/// Waits for the program, passes on to it what is sent to this process, and ends as it does.
///
/// # Safety
/// This process has one thread, which never needs its files or memory again.
unsafe fn keep(program: libc::pid_t, all: &libc::sigset_t) -> ! {
    // What reads from the program waits for the program alone.
    libc::syscall(libc::SYS_close_range, 0u32, u32::MAX, 0u32);
    loop {
        let mut status = 0;
        if libc::waitpid(program, &raw mut status, libc::WNOHANG) == program {
            if libc::WIFSIGNALED(status) {
                let signal = libc::WTERMSIG(status);
                // It has had its core dump.
                let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
                let mut only: libc::sigset_t = zeroed();
                libc::sigemptyset(&raw mut only);
                libc::sigaddset(&raw mut only, signal);
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
                libc::sigprocmask(libc::SIG_UNBLOCK, &raw const only, std::ptr::null_mut());
            }
            libc::_exit(libc::WEXITSTATUS(status));
        }
        let mut info: libc::siginfo_t = zeroed();
        let signal = libc::sigwaitinfo(all, &raw mut info);
        // What a terminal sends, the kernel sends to the whole group: the program has it already.
        if signal > 0 && signal != libc::SIGCHLD && info.si_code <= 0 {
            libc::kill(program, signal);
        }
    }
}
