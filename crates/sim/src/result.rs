//! The result of a run.

use crate::access::AccessQueue;
use penstock_queue::{values, LinkView, PacketView, Table, LINK_METRICS, PACKET_METRICS};
use penstock_units::Duration;

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
    /// Per band of each measured link whose discipline declares bands.
    pub bands: Vec<BandResult>,
    /// The pages of browsers' sessions; `None` where there are none.
    pub pages: Option<PageResult>,
    /// What became of the packets of groups and flows, where it was asked for.
    pub packets: Option<PacketResult>,
    /// Tables that were asked for: `queue`, `cwnd`, `rtt`, `goodput`, `model`, `fct`, `pages`, `events`.
    pub series: Vec<Table>,
    /// How long the lead-in took, where there was one; the series' times count from its beginning.
    pub lead_in: Option<Duration>,
    /// The capture that was asked for: a complete pcap file.
    pub pcap: Option<Vec<u8>>,
    /// The longest queue at an access link, where it was longer than at the bottleneck.
    pub access: Option<AccessQueue>,
}

impl RunResult {
    /// Returns the values of [`crate::PAGE_METRICS`]; none where there are no browsers' sessions.
    pub fn page_metrics(&self) -> &[Option<f64>] {
        self.pages.as_ref().map_or(&[], |pages| &pages.metrics)
    }

    /// Returns the same of a group.
    pub fn pages_of(&self, group: usize) -> &[Option<f64>] {
        let mut groups = self.pages.iter().flat_map(|pages| &pages.groups);
        groups.find(|(number, _)| *number as usize == group).map_or(&[], |(_, values)| values)
    }

    /// Returns the values of [`crate::PACKET_METRICS`] of a group; none where they were not asked for.
    pub fn packets_of(&self, group: usize) -> &[Option<f64>] {
        self.packets.as_ref().map_or(&[], |packets| &packets.groups[group])
    }

    /// Returns the same of a flow.
    pub fn packets_of_flow(&self, flow: usize) -> &[Option<f64>] {
        self.packets.as_ref().map_or(&[], |packets| &packets.flows[flow])
    }
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
    /// Tables that were asked for: `queue`, `events`. Those of the bottleneck are in
    /// [`RunResult::series`].
    pub series: Vec<Table>,
}

/// The numbers of one band of a link over the measured window.
#[derive(Clone, Debug, PartialEq)]
pub struct BandResult {
    /// The link's name.
    pub link: String,
    /// The band's: `"L"`.
    pub name: String,
    /// Values in the order of [`crate::LINK_METRICS`].
    pub metrics: Vec<Option<f64>>,
}

impl BandResult {
    /// Returns those of a link ([`penstock_queue::Link::bands`]).
    pub fn of(link: &str, bands: &[(String, LinkView)]) -> Vec<Self> {
        let of = |(name, view): &(String, LinkView)| BandResult {
            link: link.to_owned(),
            name: name.clone(),
            metrics: values(LINK_METRICS, view),
        };
        bands.iter().map(of).collect()
    }
}

/// The numbers of the pages over the measured window.
#[derive(Clone, Debug, PartialEq)]
pub struct PageResult {
    /// Of all groups, values in the order of [`crate::PAGE_METRICS`].
    pub metrics: Vec<Option<f64>>,
    /// The same for each group that has pages, by its number, in ascending order.
    pub groups: Vec<(u32, Vec<Option<f64>>)>,
}

/// What became of packets that carry data.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketResult {
    /// Of each group, values in the order of [`crate::PACKET_METRICS`].
    pub groups: Vec<Vec<Option<f64>>>,
    /// Of each flow, the same.
    pub flows: Vec<Vec<Option<f64>>>,
}

impl PacketResult {
    /// Returns the numbers of `groups` groups, from each flow's group and packets.
    pub fn of(flows: impl Iterator<Item = (u32, PacketView)>, groups: usize) -> Self {
        let mut of_groups = vec![PacketView::default(); groups];
        let flow = |(group, view): (u32, PacketView)| {
            if let Some(of_group) = of_groups.get_mut(group as usize) {
                *of_group = std::mem::take(of_group).and(&view);
            }
            values(PACKET_METRICS, &view)
        };
        let flows = flows.map(flow).collect();
        let groups = of_groups.iter().map(|view| values(PACKET_METRICS, view)).collect();
        PacketResult { groups, flows }
    }
}
