//! The router reads and sends frames at a port: a raw socket on its end of a wire, or the host's
//! TUN device.

use crate::frame::Layer;
use crate::path::SLOT;
use crate::sys;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The way in which frames travel between the router and a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// AF_PACKET on a veth pair.
    Packet,
    /// A TUN device in each host.
    Tun,
}

impl Backend {
    /// The header with which a frame begins.
    pub fn layer(self) -> Layer {
        match self {
            Backend::Packet => Layer::Ethernet,
            Backend::Tun => Layer::Ip,
        }
    }
}

/// One side of the router.
pub struct Port {
    backend: Backend,
    fd: OwnedFd,
    buffers: Vec<Box<[u8]>>,
    lengths: [usize; BATCH],
    /// The longest frame that an MTU of 1500 allows.
    most: usize,
}

/// The number of frames that one call reads.
pub const BATCH: usize = 64;

impl Port {
    /// Makes a port from a descriptor of that kind.
    pub fn new(backend: Backend, fd: OwnedFd) -> Self {
        let buffers = (0..BATCH).map(|_| vec![0; SLOT].into()).collect();
        Port { backend, fd, buffers, lengths: [0; BATCH], most: 1514 }
    }

    /// Opens a raw socket on this end of a wire.
    pub fn wire(interface: &str) -> io::Result<Self> {
        Ok(Port::new(Backend::Packet, sys::packet_socket(sys::interface(interface)?)?))
    }

    /// Opens a raw socket on an interface that leads to any hosts: it takes the frames for all of
    /// them, and keeps the tags of their VLANs. When it is closed, the interface is as before.
    pub fn on(interface: &str) -> io::Result<Self> {
        let index = sys::interface(interface)?;
        let fd = sys::packet_socket(index)?;
        sys::promiscuous(&fd, index)?;
        sys::report_tags(&fd)?;
        Ok(Port { most: 1518, ..Port::new(Backend::Packet, fd) })
    }

    /// The length of the longest frame that is a whole packet.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Returns the descriptor, to wait on.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Reads the frames that are there, at most [`BATCH`]. [`Port::hand_over`] gives them out.
    pub fn receive(&mut self) -> io::Result<usize> {
        if self.backend == Backend::Packet {
            return sys::receive(
                self.fd.as_fd(),
                &mut self.buffers,
                &mut self.lengths,
                self.most > 1514,
            );
        }
        for (n, buffer) in self.buffers.iter_mut().enumerate() {
            match sys::read(self.fd.as_fd(), buffer)? {
                Some(length) => self.lengths[n] = length,
                None => return Ok(n),
            }
        }
        Ok(BATCH)
    }

    /// Exchanges the buffer of the frame that was read as the `i`th for another, and returns the
    /// frame's length.
    pub fn hand_over(&mut self, i: usize, buffer: &mut Box<[u8]>) -> usize {
        std::mem::swap(&mut self.buffers[i], buffer);
        self.lengths[i]
    }

    /// Sends frames. Returns how many were sent.
    pub fn send(&self, frames: &[&[u8]]) -> io::Result<usize> {
        match self.backend {
            Backend::Packet => sys::send(self.fd(), frames),
            Backend::Tun => {
                for (n, frame) in frames.iter().enumerate() {
                    if !sys::write(self.fd(), frame)? {
                        return Ok(n);
                    }
                }
                Ok(frames.len())
            }
        }
    }

    /// Returns how many frames the kernel dropped before the router could read them, since the last
    /// call.
    pub fn missed(&self) -> u64 {
        match self.backend {
            Backend::Packet => sys::packet_drops(self.fd()),
            Backend::Tun => 0, // the device counts them; see `links`
        }
    }
}
