//! The caller of an emulation gives options, and is told meanwhile how far it is.

use crate::port::Backend;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The options of an emulation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// `None`: TUN where it may be opened, else AF_PACKET.
    pub backend: Option<Backend>,
    /// Do not ask for SCHED_FIFO.
    pub no_fifo: bool,
    /// The user's own programs run on the hosts instead of the scenario's traffic.
    pub own: bool,
    /// One of them is an interactive shell.
    pub shell: bool,
    /// The interfaces of this machine to stand between, left and right, instead of hosts.
    pub between: Option<[String; 2]>,
    /// The bottleneck's forward direction is from the server to the client.
    pub download: bool,
    /// The congestion control that own programs' TCP begins with; `None`: this machine's.
    pub cc: Option<String>,
    /// End own programs after the scenario's duration.
    pub limited: bool,
    /// Capture into this file, which is emptied first.
    pub pcap: Option<PathBuf>,
    /// Capture behind both queues and links instead of in front of them.
    pub pcap_out: bool,
    /// Sampling interval of the series.
    pub series_s: Option<f64>,
    /// The program that makes multi-level ECN's ends.
    pub mecn: Option<PathBuf>,
}

/// The progress of an emulation.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Status {
    /// Seconds since the beginning; negative before it.
    pub t_s: f64,
    /// Packets that wait at the bottleneck.
    pub queue_pkts: u64,
    /// Frames received so far.
    pub received: u64,
    /// Dropped.
    pub dropped: u64,
    /// Marked.
    pub marked: u64,
}
