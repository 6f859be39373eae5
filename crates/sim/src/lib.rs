//! The simulation engine: events, links with their queues, hosts, traffic, metrics, series,
//! captures.
//!
//! A run is a pure function of its [`Config`]: no clock, no threads, no global state. [`run`] may
//! be called from many threads at once.

mod access;
mod config;
mod engine;
mod flow;
mod link;
mod metrics;
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
pub use engine::{run, run_watched, Control, SimError};
pub use link::{Arriving, Fate, Link};
pub use metrics::{jain, link_metrics, quantile, FLOW_METRICS, GROUP_METRICS, METRICS};
pub use result::{Column, FlowResult, LinkResult, Metric, RunResult, Table};
pub use sched::MAX_TIME;
pub use stats::DelayHistogram;
pub use user::{Abort, AqmConfig, Start, UserAqm, UserError};
