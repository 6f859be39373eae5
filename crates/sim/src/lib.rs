//! The simulation engine: events, links with their queues, hosts, traffic, metrics, series,
//! captures.
//!
//! A run is a pure function of its [`Config`]: no clock, no threads, no global state. [`run`] may
//! be called from many threads at once.

mod access;
mod apps;
mod config;
mod ends;
mod engine;
mod error;
mod flow;
mod layout;
mod link;
mod link_metrics;
mod measure;
mod metrics;
mod network;
mod packet;
mod pcap;
mod prefetch;
mod result;
mod sched;
mod series;
mod stats;
mod user;

pub use access::Pipe;
pub use config::{
    App, Config, Datagram, FlowConfig, HostConfig, LinkConfig, Record, Schedule, Tap, Trace,
    UdpPattern,
};
pub use engine::{run, run_watched};
pub use error::{Control, SimError};
pub use link::{Arriving, Fate, Link};
pub use link_metrics::{LinkView, Of, LINK_METRICS};
pub use metrics::{
    jain, quantile, transfer_table, FlowView, GroupView, RunView, TcpView, Transfer, FLOW_METRICS,
    GROUP_METRICS, METRICS,
};
pub use result::{Column, FlowResult, LinkResult, RunResult, Table};
pub use sched::MAX_TIME;
pub use stats::{DelayHistogram, LinkStats};
pub use user::{Abort, AqmConfig, Start, UserAqm, UserError};
