//! The link that the simulator and the router share: its queue and its discipline, its counters,
//! series and metrics.
//!
//! Sans-IO: packets and the time come in, departures go out. The caller keeps the time.

mod config;
mod error;
mod link;
mod metrics;
mod packets;
mod pipe;
mod ring;
mod series;
mod stats;
mod table;
mod tally;
mod user;

pub use config::{AqmConfig, HostConfig, Jitter, Keep, LinkConfig, Schedule, Trace};
pub use error::LinkError;
pub use link::{Arriving, Fate, Link, Sent, Served, Source};
pub use metrics::{values, AtLink, Bounds, LinkView, Of, OfLink, LINK_METRICS};
pub use packets::{PacketStats, PacketView, PACKET_METRICS};
pub use pipe::{Pipe, Queued};
pub use ring::Ring;
pub use stats::{DelayHistogram, LinkStats};
pub use table::{Column, Table};
pub use tally::Tally;
pub use user::{Start, UserAqm};

// How a custom discipline ends its run.
pub use penstock_aqm::{Abort, UserError};
