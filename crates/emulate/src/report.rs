//! The result of an emulation: the same result as the simulator's, and how far reality was from the
//! ideal path.

use crate::flows::Measured;
use crate::netns::Privilege;
use crate::path::Counts;
use crate::port::Backend;
use crate::sys::Priority;
use crate::work::Log;
use penstock_queue::{Column, LinkView, Table};
use penstock_sim::{
    page_table, transfer_table, AccessParts, AccessQueue, App, BandResult, Config, FlowResult,
    FlowView, Ideals, LinkResult, PacketResult, PacketView, Page, PageResult, RunResult, RunView,
    TcpView, Transfer,
};
use penstock_units::{Duration, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The course of the emulation. Times in seconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Emulation {
    /// The way in which frames reach the router.
    pub backend: Backend,
    /// The rights under which it ran.
    pub privilege: Privilege,
    /// The scheduling of the router's thread.
    pub priority: Priority,
    /// Bytes that the wire counts per packet in addition to IP's (the scenario's `overhead` minus
    /// 40).
    pub overhead_bytes: i32,
    /// The run's length.
    pub duration_s: f64,
    /// The beginning of the measured window, from the scenario's time zero on; null where the run
    /// ended before, and nothing was measured.
    pub measured_from_s: Option<f64>,
    /// The end of the measured window.
    pub measured_to_s: Option<f64>,
    /// Frames of the whole run.
    pub frames: Counts,
    /// Median lateness: the time at which a frame was sent minus the time at which the ideal path
    /// delivers it, over the frames due in the measured window.
    pub late_p50_s: Option<f64>,
    /// The 99th percentile of the lateness.
    pub late_p99_s: Option<f64>,
    /// The 99.9th percentile of the lateness.
    pub late_p999_s: Option<f64>,
    /// The largest lateness.
    pub late_max_s: f64,
    /// The share of frames that were later than one transmission time of a full packet.
    pub late_share: f64,
    /// One transmission time of a full packet.
    pub transmission_s: f64,
    /// CPU that the router's thread used.
    pub cpu_s: f64,
    /// CPU per frame that came in.
    pub cpu_per_packet_s: Option<f64>,
    /// Whether the run may be believed; see [`Emulation::judge`].
    pub valid: bool,
    /// The reasons why the run is not valid, if it is not.
    pub invalid_because: Vec<String>,
    /// Frames that were due but could not be sent.
    pub unsent: u64,
    /// Frames that the router did not read in time.
    pub missed: u64,
    /// Frames longer than an MTU.
    pub oversized: u64,
    /// Frames that are missing in the capture.
    pub uncaptured: u64,
    /// Segments with CE, as the kernels of the right side's hosts counted them over the whole run;
    /// null where the kernel does not.
    pub received_ce: Option<u64>,
    /// Payload bytes with ECT(1), likewise.
    pub received_ect1_bytes: Option<u64>,
    /// The congestion control that own programs' TCP begins with, as the kernel says; null for the
    /// scenario's traffic.
    pub congestion_default: Option<String>,
    /// The congestion controls of own programs' connections, as the kernel says: that with most
    /// data acknowledged first.
    pub congestion: Vec<String>,
    /// By flow of the scenario: what the kernel said that it uses.
    pub kernel: Vec<KernelFlow>,
    /// The settings that the scenario asked for and that are not in force.
    pub notes: Vec<String>,
    /// The counts of the multi-level ECN programs.
    pub mecn: Option<serde_json::Value>,
    /// The exit code of the user's program, 128 + n if signal n ended it; null if the run's
    /// duration did.
    pub exit_code: Option<i32>,
}

/// A connection as the sender's kernel sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelFlow {
    /// Congestion control.
    pub congestion: Option<String>,
    /// Whether ECN was negotiated.
    pub ecn: Option<bool>,
    /// Payload of a full segment, by the MSS.
    pub mss: Option<u32>,
    /// The smallest round-trip time.
    pub min_rtt_s: Option<f64>,
}

/// Above this share of frames later than `max(one transmission time, 1 ms)` a run is not valid.
pub const LATE_SHARE: f64 = 0.01;
/// Lateness up to this never counts against validity.
pub const LATE_AT_LEAST: Duration = Duration::from_millis(1);

impl Emulation {
    /// Decides whether the run is valid: something was measured, at most 1 % of its frames left
    /// later than the larger of one transmission time and 1 ms, and only the queue lost frames.
    pub fn judge(&mut self, measure_from_s: f64, share_beyond_bound: f64) {
        let mut why = vec![];
        if self.measured_from_s.is_none() {
            why.push(format!(
                "nothing was measured: the run ended at {:.3} s, before measure.from ({measure_from_s} s)",
                self.duration_s
            ));
        }
        if share_beyond_bound > LATE_SHARE {
            why.push(format!(
                "{:.2} % of the frames left more than {:.2} ms late; the bound is 1 %",
                share_beyond_bound * 100.0,
                self.transmission_s.max(LATE_AT_LEAST.as_secs_f64()) * 1e3
            ));
        }
        for (n, what) in [
            (self.unsent, "frames could not be sent: the device behind the router was full"),
            (self.missed, "frames were lost in front of the router: it was not run in time"),
            (self.oversized, "frames were longer than an MTU: segmentation offload was on"),
        ] {
            if n > 0 {
                why.push(format!("{n} {what}"));
            }
        }
        self.valid = why.is_empty();
        self.invalid_because = why;
    }
}

/// The result of a run and its quality.
#[derive(Clone, Debug)]
pub struct Report {
    /// The result, as the simulator would give it.
    pub result: RunResult,
    /// The distance of the run from the ideal path.
    pub emulation: Emulation,
}

#[derive(Serialize, Deserialize)]
struct WireResult {
    seed: u64,
    events: u64,
    metrics: Vec<Option<f64>>,
    groups: Vec<Vec<Option<f64>>>,
    flows: Vec<(u32, Vec<Option<f64>>)>,
    pages: Option<WirePages>,
    series: Vec<WireTable>,
    zero_ns: Option<u64>,
    access: Option<AccessParts>,
    /// Of groups, and of flows.
    packets: Option<WirePackets>,
    /// Link, metrics, series.
    links: Vec<(String, Vec<Option<f64>>, Vec<WireTable>)>,
    /// Link, band, metrics.
    bands: Vec<(String, String, Vec<Option<f64>>)>,
    emulation: Emulation,
}

/// The metrics of packets: of each group, and of each flow.
type WirePackets = (Vec<Vec<Option<f64>>>, Vec<Vec<Option<f64>>>);

/// Name and columns.
type WireTable = (String, Vec<(String, WireColumn)>);

/// The metrics of pages: of all groups, and of each that has some.
type WirePages = (Vec<Option<f64>>, Vec<(u32, Vec<Option<f64>>)>);

#[derive(Serialize, Deserialize)]
enum WireColumn {
    /// A null is no number.
    F(Vec<Option<f64>>),
    U(Vec<u64>),
}

/// Tables that an emulation writes.
const TABLES: &[&str] = &["queue", "cwnd", "rtt", "fct", "pages"];

impl Report {
    /// Writes the report as JSON, for the process that asked for it.
    pub fn to_json(&self) -> String {
        let r = &self.result;
        let column = |(name, column): &(String, Column)| {
            let column = match column {
                Column::F64(x) => {
                    WireColumn::F(x.iter().map(|x| x.is_finite().then_some(*x)).collect())
                }
                Column::U64(x) => WireColumn::U(x.clone()),
                Column::Word(..) => WireColumn::U(vec![]),
            };
            (name.clone(), column)
        };
        let tables = |series: &[Table]| {
            let table = |t: &Table| (t.name.to_owned(), t.columns.iter().map(column).collect());
            series.iter().map(table).collect()
        };
        let link = |l: &LinkResult| (l.name.clone(), l.metrics.clone(), tables(&l.series));
        let band = |b: &BandResult| (b.link.clone(), b.name.clone(), b.metrics.clone());
        let wire = WireResult {
            seed: r.seed,
            events: r.events,
            metrics: r.metrics.clone(),
            groups: r.groups.clone(),
            flows: r.flows.iter().map(|f| (f.group, f.metrics.clone())).collect(),
            pages: r.pages.as_ref().map(|p| (p.metrics.clone(), p.groups.clone())),
            series: tables(&r.series),
            packets: r.packets.as_ref().map(|p| (p.groups.clone(), p.flows.clone())),
            links: r.links.iter().map(link).collect(),
            zero_ns: r.lead_in.map(Duration::as_nanos),
            access: r.access.map(Into::into),
            bands: r.bands.iter().map(band).collect(),
            emulation: self.emulation.clone(),
        };
        serde_json::to_string(&wire).expect("plain values")
    }

    /// Reads the report in the process that asked for it.
    ///
    /// # Errors
    /// If the text is not [`Report::to_json`]'s.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let wire: WireResult = serde_json::from_str(text)?;
        let column = |(name, column)| {
            let column = match column {
                WireColumn::F(x) => {
                    Column::F64(x.into_iter().map(|x| x.unwrap_or(f64::NAN)).collect())
                }
                WireColumn::U(x) => Column::U64(x),
            };
            (name, column)
        };
        let table = |(name, columns): (String, Vec<_>)| {
            let name = TABLES.iter().find(|t| **t == name)?;
            Some(Table { name, columns: columns.into_iter().map(column).collect() })
        };
        let tables = |series: Vec<WireTable>| series.into_iter().filter_map(table).collect();
        let link = |(name, metrics, series)| LinkResult { name, metrics, series: tables(series) };
        let band = |(link, name, metrics)| BandResult { link, name, metrics };
        let result = RunResult {
            seed: wire.seed,
            events: wire.events,
            metrics: wire.metrics,
            groups: wire.groups,
            flows: wire
                .flows
                .into_iter()
                .map(|(group, metrics)| FlowResult { group, metrics })
                .collect(),
            packets: wire.packets.map(|(groups, flows)| PacketResult { groups, flows }),
            links: wire.links.into_iter().map(link).collect(),
            bands: wire.bands.into_iter().map(band).collect(),
            pages: wire.pages.map(|(metrics, groups)| PageResult { metrics, groups }),
            series: tables(wire.series),
            lead_in: wire.zero_ns.map(Duration::from_nanos),
            pcap: None,
            access: wire.access.map(Into::into),
        };
        Ok(Report { result, emulation: wire.emulation })
    }
}

/// The kernel's figures of a flow at the window's ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowFacts {
    /// Timeouts within the window.
    pub timeouts: Option<u32>,
    /// The smoothed round-trip time at the window's end.
    pub srtt_s: Option<f64>,
}

/// The measurements at the end of a run.
pub struct Window<'a> {
    /// Its beginning and its end.
    pub from_to: (Time, Time),
    /// The run's end: hosts and programs stop a moment later.
    pub end: Time,
    /// The bottleneck.
    pub link: LinkView,
    /// Both links, where the link back is measured, too.
    pub links: Vec<LinkResult>,
    /// Their bands.
    pub bands: Vec<BandResult>,
    /// By flow.
    pub measured: &'a [Measured],
    /// By flow, where packets were asked for: at the bottleneck, and one way.
    pub packets: Option<Vec<PacketView>>,
    /// Byte-limited transfers that ended, whenever that was.
    pub transfers: &'a [Transfer],
    /// The objects that web and video fetched, likewise.
    pub log: &'a Log,
    /// By flow of the scenario.
    pub facts: &'a [FlowFacts],
    /// The scenario's time zero, after a lead-in.
    pub zero: Option<Duration>,
    /// The longest queue at an access link, where it was longer than at the bottleneck.
    pub access: Option<AccessQueue>,
}

impl Window<'_> {
    /// Returns what flow `i` of the scenario did.
    fn flow(&self, config: &Config, i: usize) -> FlowView {
        let f = &config.flows[i];
        let m = self.measured.get(i).copied().unwrap_or_default();
        let facts = self.facts.get(i).copied().unwrap_or_default();
        let one_connection = matches!(f.app, App::Ftp { .. } | App::Video { .. });
        let tcp = TcpView {
            retransmits: m.retransmits,
            timeouts: facts.timeouts,
            // Why a window shrank is the kernel's secret.
            cuts: None,
            cuts_incipient: None,
            connections: one_connection.then_some(m.connections),
            srtt_s: facts.srtt_s,
        };
        let tcp = f.app.tcp().map(|_| tcp);
        let mut viewers = self.log.viewers.iter().filter(|(flow, _)| *flow as usize == i);
        let video =
            viewers.next().map(|(_, viewer)| Box::new(viewer.view(self.from_to.0, self.from_to.1)));
        let view = self.seen(f.group, &m);
        FlowView { counts: f.counts, open_loop: f.open_loop, tcp, video, ..view }
    }

    /// Returns what a connection of the user's own programs did.
    fn connection(&self, m: &Measured) -> FlowView {
        let tcp = TcpView { retransmits: m.retransmits, ..TcpView::default() };
        FlowView { counts: m.bytes > 0, tcp: (!m.udp).then_some(tcp), ..self.seen(0, m) }
    }

    fn seen(&self, group: u32, m: &Measured) -> FlowView {
        let seconds = self.from_to.1.since(self.from_to.0).as_secs_f64();
        let (bytes, sent) = (m.bytes, m.sent);
        let (counts, open_loop) = (false, false);
        FlowView { group, counts, open_loop, seconds, bytes, sent, tcp: None, video: None }
    }

    /// Returns the transfers that ended before the run did, in the order of their ends.
    fn ended(&self) -> Vec<Transfer> {
        let mut all = [self.transfers, &self.log.transfers].concat();
        all.retain(|t| t.end < self.end);
        all.sort_by_key(|t| t.end);
        all
    }

    /// Returns the pages that were complete before the run ended.
    fn complete(&self) -> Vec<Page> {
        self.log.pages.iter().filter(|p| p.end < self.end).copied().collect()
    }

    /// Returns the numbers of the pages, where there are browsers' sessions.
    fn pages(&self, config: &Config, complete: &[Page]) -> Option<PageResult> {
        let mut repeats: BTreeMap<u32, u64> = BTreeMap::new();
        for (f, m) in config.flows.iter().zip(self.measured) {
            if let App::Browser { session, .. } = &f.app {
                let asks = u64::from(session.request.is_some());
                *repeats.entry(f.group).or_default() += m.repeats * asks;
            }
        }
        let group_of = |flow: u32| config.flows[flow as usize].group;
        PageResult::of(complete, self.from_to, &repeats, group_of)
    }
}

/// Returns the metrics of a run, as the simulator has them. Where the user's own programs ran,
/// `config` has no flows, and every connection counts in `goodput_bps`, one of datagrams too.
pub fn result(config: &Config, w: &Window<'_>, mut series: Vec<Table>) -> RunResult {
    let own = config.flows.is_empty();
    let flows = if own {
        w.measured.iter().map(|m| w.connection(m)).collect()
    } else {
        (0..config.flows.len()).map(|i| w.flow(config, i)).collect()
    };
    let mut ended = Ideals::of(config).completed(&w.ended());
    series.push(transfer_table(&ended));
    let complete = w.complete();
    let pages = w.pages(config, &complete);
    series.extend(pages.is_some().then(|| page_table(&complete)));
    ended.retain(|t| t.transfer.end >= w.from_to.0 && t.transfer.end < w.from_to.1);
    let run = RunView { link: w.link.clone(), flows, ended };
    let mut metrics = run.metrics();
    let mut links = w.links.clone();
    if w.from_to.0 >= w.from_to.1 {
        // Zero would be a count.
        metrics.fill(None);
        links.iter_mut().for_each(|link| link.metrics.fill(None));
    }
    let group_of = |i: usize| config.flows.get(i).map_or(0, |f| f.group);
    let packets = w.packets.as_ref().map(|views| {
        let views = views.iter().enumerate().map(|(i, view)| (group_of(i), view.clone()));
        PacketResult::of(views, config.groups)
    });
    let packets = packets.map(|p| PacketResult { flows: if own { vec![] } else { p.flows }, ..p });
    RunResult {
        seed: config.seed,
        events: 0,
        metrics,
        groups: run.group_metrics(config.groups),
        flows: if own { vec![] } else { run.flow_metrics() },
        packets,
        links,
        bands: w.bands.clone(),
        pages,
        series,
        lead_in: w.zero,
        pcap: None,
        access: w.access,
    }
}
