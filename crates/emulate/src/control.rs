//! The caller holds an emulation by a socket: it asks for something, a JSON document a line, and is
//! answered in the same way.

use crate::error::EmulateError;
use crate::sys;
use nix::sys::socket::{sendmsg, ControlMessage, MsgFlags};
use serde::Deserialize;
use serde_json::{json, Value};
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration as Wall;

/// What the caller asks for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// The run's clock starts. The answer comes when it shows zero.
    Begin,
    /// The TCP ports at which programs listen on a host: 0 is the client's, 1 the server's.
    Listening(usize),
    /// How far it is: a [`crate::Status`].
    Status,
    /// The metrics of the measured window up to now, by name.
    Metrics,
    /// Some keys of the scenario get other values, written as TOML.
    Set(Vec<(String, String)>),
    /// The run ends. Nothing is answered: the result follows.
    End {
        /// The exit code of the program with which it ends.
        exit_code: Option<i32>,
        /// What the caller has to say of its programs.
        notes: Vec<String>,
    },
}

/// This end of the socket.
pub struct Control {
    stream: UnixStream,
    got: Vec<u8>,
}

impl Control {
    /// From the descriptor that this process has inherited for it, and owns from here on.
    pub fn inherited(fd: RawFd) -> Self {
        Control { stream: UnixStream::from(sys::inherited(fd)), got: vec![] }
    }

    /// Says something, and passes on descriptors with it.
    pub(crate) fn pass(&self, said: &Value, fds: &[RawFd]) -> Result<(), EmulateError> {
        let line = format!("{said}\n");
        let (parts, rights) = ([IoSlice::new(line.as_bytes())], [ControlMessage::ScmRights(fds)]);
        sendmsg::<()>(self.stream.as_raw_fd(), &parts, &rights, MsgFlags::MSG_NOSIGNAL, None)
            .map(drop)
            .map_err(|e| EmulateError::system("passing on the hosts", e.into()))
    }

    /// Answers a request. A caller that has gone away hears nothing.
    pub(crate) fn answer(&mut self, said: Result<Value, String>) {
        let said = said.map_or_else(|e| json!({ "error": e }), |ok| json!({ "ok": ok }));
        let _ = self.stream.write_all(format!("{said}\n").as_bytes());
    }

    /// Waits for a request, `most` at the longest.
    pub(crate) fn wait(&mut self, most: Wall) -> Result<Option<Request>, EmulateError> {
        let failed = |e| EmulateError::system("the caller's socket", e);
        if !self.got.contains(&b'\n') {
            if sys::wait(&[self.stream.as_fd()], most) == [false; 2] {
                return Ok(None);
            }
            let mut part = [0; 4096];
            match self.stream.read(&mut part) {
                Ok(0) => {
                    // The caller is gone.
                    std::thread::sleep(most);
                    return Ok(Some(Request::End { exit_code: None, notes: vec![] }));
                }
                Ok(n) => self.got.extend_from_slice(&part[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => return Ok(None),
                Err(e) => return Err(failed(e)),
            }
        }
        let Some(end) = self.got.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
        let line: Vec<u8> = self.got.drain(..=end).collect();
        serde_json::from_slice(&line).map(Some).map_err(|e| failed(e.into()))
    }
}
