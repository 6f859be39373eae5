//! What a run gives back.

use penstock_queue::Table;

/// The numbers of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// The seed it ran with.
    pub seed: u64,
    /// Events that the engine handled.
    pub events: u64,
    /// Values in the order of [`crate::METRICS`]; `None` where a metric does not apply.
    pub metrics: Vec<Option<f64>>,
    /// Per traffic group, values in the order of [`crate::GROUP_METRICS`], and behind them those of
    /// [`crate::VIDEO_METRICS`] where its flows are videos.
    pub groups: Vec<Vec<Option<f64>>>,
    /// Per flow, in the order of the configuration.
    pub flows: Vec<FlowResult>,
    /// Per link, in the order of the configuration; empty where the bottleneck alone is measured.
    pub links: Vec<LinkResult>,
    /// Tables that were asked for: `queue`, `cwnd`, `rtt`, `fct`, `events`.
    pub series: Vec<Table>,
    /// The capture that was asked for: a complete pcap file.
    pub pcap: Option<Vec<u8>>,
}

/// The numbers of one flow over the measured window.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowResult {
    /// Its entry of `[[traffic]]`.
    pub group: u32,
    /// Values in the order of [`crate::FLOW_METRICS`], and behind them those of
    /// [`crate::VIDEO_METRICS`] where it is a video.
    pub metrics: Vec<Option<f64>>,
}

/// The numbers of one link over the measured window.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkResult {
    /// Its name: `"R0-R1"`.
    pub name: String,
    /// Values in the order of [`crate::LINK_METRICS`].
    pub metrics: Vec<Option<f64>>,
}
