//! These types hold the facts of the connections of web sessions and videos, which
//! [`crate::exchange`] opens.

use crate::socket;
use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

/// The way in which the connections of a flow are opened and used.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The address of the end that listens.
    pub to: Ipv4Addr,
    /// Its port, which no other flow uses.
    pub port: u16,
    /// The maximum segment size to announce.
    pub mss: u32,
    /// The size of the sockets' buffers, if the kernel is not to choose.
    pub buffer: Option<u32>,
    /// DSCP.
    pub class: u8,
    /// Bytes with which the client asks for an object; `None`: the server begins by itself.
    pub request: Option<u32>,
    /// Whether a connection stays open from object to object.
    pub persistent: bool,
}

/// A flow for the loops: its number in the scenario, its connections, and the sender's congestion
/// control.
#[derive(Clone, Debug)]
pub struct Carried {
    /// An index into the configuration's flows.
    pub flow: usize,
    /// Its connections.
    pub stream: Stream,
    /// The congestion control that the sender asks for.
    pub congestion: String,
}

/// A socket from which a flow's data come.
#[derive(Clone, Debug)]
pub struct Sending {
    /// The socket's number, by which the kernel reports on it.
    pub cookie: u64,
    /// Its congestion control, as the kernel said when it was opened.
    pub congestion: String,
}

/// The sockets from which the flows' data have come so far.
#[derive(Clone, Debug, Default)]
pub struct Sockets(Arc<Mutex<Vec<Vec<Sending>>>>);

impl Sockets {
    /// Returns room for the sockets of `flows` flows, without any yet.
    pub fn new(flows: usize) -> Self {
        Sockets(Arc::new(Mutex::new(vec![vec![]; flows])))
    }

    pub(crate) fn add(&self, flow: usize, stream: &TcpStream) -> io::Result<()> {
        let sending =
            Sending { cookie: socket::cookie(stream)?, congestion: socket::congestion(stream)? };
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[flow].push(sending);
        Ok(())
    }

    /// Calls with the sockets of a flow, the latest one last.
    pub fn of<T>(&self, flow: usize, f: impl FnOnce(&[Sending]) -> T) -> T {
        f(&self.0.lock().unwrap_or_else(PoisonError::into_inner)[flow])
    }
}

/// The facts of the flows that both loops know.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    /// The sockets that send.
    pub sockets: Sockets,
    /// By flow, the size of the object for which its client asks.
    pub(crate) sizes: Arc<[AtomicU64]>,
}

impl Shared {
    /// Returns the shared facts of `flows` flows.
    pub fn new(flows: usize) -> Self {
        let sizes = (0..flows).map(|_| AtomicU64::new(0)).collect();
        Shared { sockets: Sockets::new(flows), sizes }
    }
}
