//! The simulation engine: events, hosts, traffic, metrics, series, captures. Its links are those
//! of `penstock_queue`.
//!
//! A run is a pure function of its [`Config`]: no clock, no threads, no global state. [`run`] may
//! be called from many threads at once.

mod access;
mod apps;
mod aside;
mod batch;
mod browser;
mod config;
mod ends;
mod engine;
mod error;
mod flow;
mod handle;
mod host;
mod inbox;
mod layout;
mod lead_in;
mod line;
mod log;
mod lone;
mod measure;
mod metrics;
mod network;
mod observe;
mod one_way;
mod packet;
mod pages;
mod pcap;
mod prefetch;
mod result;
mod routes;
mod run;
mod sched;
mod series;
mod session;
mod statistics;
mod transfers;
mod video;
mod way;
mod web;

pub use access::{AccessLink, AccessParts, AccessQueue};
pub use config::{
    App, Config, Datagram, Early, FlowConfig, LeadIn, OnOff, Pages, Record, Session, Tap,
    UdpPattern, VideoConfig,
};
pub use engine::{run, run_watched};
pub use error::SimError;
pub use handle::Handle;
pub use lead_in::shifted;
pub use metrics::{FlowView, GroupView, RunView, TcpView, FLOW_METRICS, GROUP_METRICS, METRICS};
pub use observe::{SenderState, Sent};
pub use pages::{page_table, Page, PageView, PAGE_METRICS};
pub use result::{BandResult, FlowResult, LinkResult, PacketResult, PageResult, RunResult};
pub use run::Run;
pub use sched::MAX_TIME;
pub use series::no_models;
pub use session::{Browsing, Follows, Object};
pub use statistics::{jain, quantile};
pub use transfers::{transfer_table, Completed, Ideals, Transfer};
pub use video::{VideoView, Viewer, VIDEO_METRICS};
pub use web::WebSession;

// What a configuration and a result are made of.
pub use penstock_queue::{
    Abort, AqmConfig, Bounds, Column, HostConfig, Jitter, LinkConfig, LinkError, LinkView, Of,
    PacketStats, PacketView, Queued, Schedule, Start, Table, Trace, UserAqm, UserError,
    LINK_METRICS, PACKET_METRICS,
};
pub use penstock_queue::{Link, Tally};
