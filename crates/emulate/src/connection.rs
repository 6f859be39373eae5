//! A connection of web or video at either of its ends: writes, reads, and knows when an object is
//! complete. Nothing here waits.

use crate::socket;
use crate::stream::Stream;
use std::io::{self, ErrorKind};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};

/// A connection from the end that drives its flow.
pub(crate) struct Open {
    stream: TcpStream,
    /// Bytes of the present object, or of the request for it, still to write.
    out: u64,
    /// Bytes of it still to read.
    due: u64,
    /// Whether an object is under way.
    busy: bool,
    /// Whether it will write no more.
    shut: bool,
}

/// A connection that has arrived at a port.
pub(crate) struct Served {
    stream: TcpStream,
    /// The number of the port.
    pub(crate) post: usize,
    /// Bytes of requests that have not been answered.
    got: u64,
    /// Bytes of the present object still to write.
    out: u64,
    /// Whether it has answered.
    answered: bool,
    /// Whether it will write no more.
    shut: bool,
}

/// Returns a number of bytes; `None` where the kernel would have to wait.
fn unless_blocked(result: io::Result<u64>) -> io::Result<Option<u64>> {
    match result {
        Ok(n) => Ok(Some(n)),
        Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(e) => Err(e),
    }
}

/// Writes what is left. Returns whether nothing is.
fn write(stream: &TcpStream, left: &mut u64) -> io::Result<bool> {
    while *left > 0 {
        let Some(n) = unless_blocked(socket::send_zeros(stream, *left))? else { return Ok(false) };
        *left -= n;
    }
    Ok(true)
}

impl Open {
    /// A connection that is being opened.
    pub(crate) fn new(stream: TcpStream) -> Self {
        Open { stream, out: 0, due: 0, busy: false, shut: false }
    }

    /// Begins with an object of `bytes`.
    pub(crate) fn begin(&mut self, bytes: u64, s: &Stream) {
        self.busy = true;
        (self.out, self.due) = match s.request {
            None => (bytes, 0),
            Some(request) => (u64::from(request), bytes),
        };
    }

    /// Whether it has written its object, and waits for the last ACK.
    pub(crate) fn waits_for_ack(&self, s: &Stream) -> bool {
        s.request.is_none() && self.busy && self.out == 0
    }

    /// Does what can be done. Returns whether the object is complete.
    pub(crate) fn advance(&mut self, s: &Stream, quiet: bool) -> io::Result<bool> {
        let asks = s.request.is_some();
        if !asks {
            socket::clear_reports(&self.stream);
        }
        if !self.busy || (self.out > 0 && (quiet || !write(&self.stream, &mut self.out)?)) {
            return Ok(false);
        }
        if !asks {
            if !s.persistent && !self.shut && !quiet {
                self.stream.shutdown(Shutdown::Write)?;
                self.shut = true;
            }
            let done = socket::unacknowledged(&self.stream)? <= u64::from(self.shut);
            self.busy = !done;
            return Ok(done);
        }
        while self.due > 0 {
            match unless_blocked(socket::discard(&self.stream, self.due))? {
                None => return Ok(false),
                Some(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Some(n) => self.due -= n,
            }
        }
        self.busy = false;
        Ok(true)
    }
}

impl Served {
    pub(crate) fn new(stream: TcpStream, post: usize) -> Self {
        Served { stream, post, got: 0, out: 0, answered: false, shut: false }
    }

    /// Does what can be done; `size`: of the object that the client asks for. Returns whether the
    /// connection is over.
    pub(crate) fn advance(
        &mut self,
        s: &Stream,
        size: &AtomicU64,
        quiet: bool,
    ) -> io::Result<bool> {
        while let Some(n) = unless_blocked(socket::discard(&self.stream, u64::MAX))? {
            if n == 0 {
                return Ok(true);
            }
            self.got += n;
        }
        let Some(request) = s.request.map(u64::from) else { return Ok(false) };
        if self.got >= request {
            self.got -= request;
            self.out += size.load(Ordering::Acquire);
            self.answered = true;
        }
        if quiet || !write(&self.stream, &mut self.out)? {
            return Ok(false);
        }
        if self.answered && !s.persistent && !self.shut {
            self.stream.shutdown(Shutdown::Write)?;
            self.shut = true;
        }
        Ok(false)
    }
}
