//! Transfers of a known length: a thread at each end of a connection.
//!
//! iperf3 ends a test when all is written, and its peer may then close before all has arrived. Here
//! the sender waits until its peer has read everything and closes.

use crate::socket;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::sync::Arc;
use std::thread;
use std::time::Duration as Wall;

/// A transfer of a known length.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The receiver's address.
    pub to: Ipv4Addr,
    /// The port of both ends.
    pub port: u16,
    /// Payload.
    pub bytes: u64,
    /// The maximum segment size to announce.
    pub mss: u32,
    /// The size of the socket's buffers, if the kernel is not to choose.
    pub buffer: Option<u32>,
    /// DSCP.
    pub class: u8,
}

/// The sender of a transfer in progress. Its threads end with the process.
pub struct Sending {
    go: Sender<()>,
    quiet: Arc<AtomicBool>,
}

/// Listens, in the namespace that this thread is in.
///
/// # Errors
/// If the port is taken.
pub fn listen(t: &Transfer) -> io::Result<()> {
    let socket = socket::tcp_socket(None, t.mss, t.buffer, t.class)?;
    let listener = socket::listen(socket, SocketAddrV4::new(t.to, t.port))?;
    spawn(move || serve(&listener))
}

fn serve(listener: &TcpListener) -> io::Result<()> {
    let (mut stream, _) = listener.accept()?;
    let mut buffer = vec![0; 64 << 10];
    while stream.read(&mut buffer)? > 0 {}
    Ok(())
}

/// Makes the sender in the namespace that this thread is in; [`Sending::go`] starts it.
///
/// # Errors
/// If the kernel refuses the congestion control or the port.
pub fn prepare(t: &Transfer, congestion: &str) -> io::Result<Sending> {
    let socket = socket::tcp_socket(Some(congestion), t.mss, t.buffer, t.class)?;
    socket::bind(&socket, t.port)?;
    let (go, started) = channel();
    let quiet = Arc::new(AtomicBool::new(false));
    let (t, stopped) = (t.clone(), Arc::clone(&quiet));
    spawn(move || match started.recv() {
        Ok(()) => {
            send(socket::connect(socket, SocketAddrV4::new(t.to, t.port))?, t.bytes, &stopped)
        }
        Err(_) => Ok(()),
    })?;
    Ok(Sending { go, quiet })
}

fn send(mut stream: TcpStream, bytes: u64, quiet: &AtomicBool) -> io::Result<()> {
    // A write that waits for room looks at `quiet` now and then.
    stream.set_write_timeout(Some(Wall::from_millis(20)))?;
    let zeros = [0; 16 << 10];
    let mut left = bytes;
    while left > 0 {
        if quiet.load(Ordering::Relaxed) {
            // The connection stays as it is.
            loop {
                thread::park();
            }
        }
        match stream.write(&zeros[..left.min(zeros.len() as u64) as usize]) {
            Ok(n) => left -= n as u64,
            Err(e)
                if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(e) => return Err(e),
        }
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.read(&mut [0]).map(|_| ())
}

fn spawn(f: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<()> {
    // What goes wrong on the way shows in what arrives; there is nobody else to tell.
    thread::Builder::new().stack_size(256 << 10).spawn(move || drop(f())).map(drop)
}

impl Sending {
    /// Starts the transfer.
    pub fn go(&self) {
        let _ = self.go.send(());
    }

    /// Stops writing.
    pub fn quiet(&self) {
        self.quiet.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Diag;

    #[test]
    fn all_of_it_arrives() {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let t = Transfer {
            to: Ipv4Addr::LOCALHOST,
            port,
            bytes: 300_001,
            mss: 1012,
            buffer: None,
            class: 0,
        };
        let listener = socket::tcp_socket(None, t.mss, None, 0).unwrap();
        let listener = socket::listen(listener, SocketAddrV4::new(t.to, port)).unwrap();
        // The port is the same at both ends, on one address here: the sender takes another.
        let socket = socket::tcp_socket(Some("reno"), t.mss, t.buffer, 10).unwrap();
        let sender = socket::connect(socket, SocketAddrV4::new(t.to, port)).unwrap();
        let local = sender.local_addr().unwrap().port();
        let sent = thread::spawn(move || send(sender, t.bytes, &AtomicBool::new(false)));
        let (mut stream, _) = listener.accept().unwrap();
        if let Ok(all) = Diag::open().and_then(|d| d.connections()) {
            let c = all.iter().find(|c| c.ports == (local, port)).unwrap();
            assert_eq!((c.congestion.as_str(), c.info.unwrap().mss), ("reno", 1000));
        }
        let mut got = vec![];
        stream.read_to_end(&mut got).unwrap();
        assert_eq!(got.len(), 300_001);
        drop(stream);
        sent.join().unwrap().unwrap();
    }

    #[test]
    fn what_the_kernel_lacks_is_an_error() {
        assert!(socket::tcp_socket(Some("no-such-control"), 1012, None, 0).is_err());
    }
}
