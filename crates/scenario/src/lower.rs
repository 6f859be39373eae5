//! From a checked scenario to one run of the simulator: links, hosts, routes, flows.

use crate::error::{Problem, ScenarioError};
use crate::node::Origin;
use crate::plan::{Line, Plan, Poisson, Source, Topology, Traffic};
use crate::scenario::Scenario;
use crate::tables::{Access, Ftp, Ties};
use penstock_aqm::{Context, Hosts};
use penstock_sim::{
    App, AqmConfig, Config, Early, FlowConfig, HostConfig, LeadIn, LinkConfig, Pages, Record,
    Session, VideoConfig,
};
use penstock_units::param::{DelaySpec, Dist, StartSpec};
use penstock_units::{Duration, QueueLen, Rng, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The memory that [`Scenario::lower`] allows a run: 8 GiB.
pub const MEMORY_LIMIT: u64 = 8 << 30;

/// Memory of a flow: connection, timers, hosts, results.
const BYTES_A_FLOW: f64 = 2048.0;
/// Memory of what is counted of its packets: histograms of its delays at the bottleneck and one way.
const BYTES_A_WATCHED_FLOW: f64 = 16_384.0;
/// Memory of a measured link: its histograms.
const BYTES_A_LINK: f64 = 65_536.0;
/// Each entry takes two routes, whose numbers are 16-bit.
const MOST_ENTRIES: usize = 10_000;
/// Memory of a packet that is on its way or waiting.
const BYTES_A_PACKET: f64 = 100.0;

impl Scenario {
    /// Makes the run with this seed.
    ///
    /// # Errors
    /// If it would take more than [`MEMORY_LIMIT`].
    pub fn lower(&self, seed: u64) -> Result<Config, ScenarioError> {
        self.lower_within(seed, MEMORY_LIMIT)
    }

    /// Makes the run with this seed, if it takes at most `limit` bytes of memory as far as can be
    /// estimated.
    ///
    /// # Errors
    /// If it would take more.
    pub fn lower_within(&self, seed: u64, limit: u64) -> Result<Config, ScenarioError> {
        guard(&self.plan, limit).map_err(|e| e.in_file(self.file.as_deref()))?;
        let config = lower(&self.plan, seed);
        if config.flows.is_empty() {
            let problem = format!("no transfer begins in the run of seed {seed}");
            let error = ScenarioError::new(
                Origin::Unknown,
                "traffic.0.arrivals",
                Problem::Conflict(problem),
            );
            return Err(error.in_file(self.file.as_deref()));
        }
        Ok(config)
    }
}

fn time(d: Duration) -> Time {
    Time::ZERO + d
}

fn lower(plan: &Plan, seed: u64) -> Config {
    let topology = &plan.topology;
    let duration = plan.top.duration;
    let cross = cross_traffic(plan);
    let calls: Vec<usize> =
        (0..plan.traffic.len()).filter(|i| plan.traffic[*i].source.is_call()).collect();
    let groups = plan.traffic.len() + calls.len() + usize::from(!cross.is_empty());
    let mut build = Build {
        plan,
        seed,
        routes: Routes::default(),
        hosts: vec![],
        identities: vec![],
        names: BTreeMap::new(),
        flows: vec![],
    };
    if !topology.kind.graph {
        // Route 0 goes all the way forward, route 1 all the way back, whatever the traffic.
        build.routes.between(topology, 0, topology.hops());
        build.routes.between(topology, topology.hops(), 0);
    }
    for (i, traffic) in plan.traffic.iter().enumerate() {
        build.group(i, &i.to_string(), traffic);
    }
    for (of, group) in calls.iter().zip(plan.traffic.len()..) {
        build.way_back(group, *of);
    }
    for (hop, traffic) in cross.iter().enumerate() {
        build.group(groups - 1, &format!("cross/{hop}"), traffic);
    }
    let hosts = build.flow_hosts();
    Config {
        seed,
        duration,
        measure_from: time(plan.measure.from),
        measure_to: time(plan.measure.to.unwrap_or(duration)),
        links: links(topology, &hosts),
        bottleneck: topology.bottleneck,
        measure_links: plan.measures_links(),
        ties_by_scheduling: plan.top.ties == Ties::Scheduling,
        hosts: build.hosts,
        routes: build.routes.list,
        groups,
        flows: build.flows,
        calls: intervals(plan, &calls),
        lead_in: lead_in(plan, groups),
        record: Record { groups: plan.record.groups, ..Record::default() },
    }
}

/// The time between two packets of each group that is a call, there and back.
fn intervals(plan: &Plan, calls: &[usize]) -> BTreeMap<u32, Duration> {
    let interval = |of: usize| match &plan.traffic[of].source {
        Source::Call(d, _) => d.packet.0 as f64 * 8.0 / d.rate.as_bps() as f64,
        _ => 0.0,
    };
    let back = calls.iter().copied().zip(plan.traffic.len()..);
    let groups = back.flat_map(|(of, back)| [(of, of), (back, of)]);
    groups.map(|(group, of)| (group as u32, Duration::from_secs_f64(interval(of)))).collect()
}

/// The groups that run before time zero, where there are any. Cross flows are of the first FTP
/// entry, and of its group's kind.
fn lead_in(plan: &Plan, groups: usize) -> Option<LeadIn> {
    let leads = |t: &Traffic| match &t.source {
        Source::Ftp(_, ftp) => ftp.lead_in,
        _ => None,
    };
    let limit = plan.traffic.iter().filter_map(leads).max()?;
    let mut led: Vec<bool> = plan.traffic.iter().map(|t| leads(t).is_some()).collect();
    led.resize(groups, false); // the calls' ways back
    if plan.topology.cross_flows() > 0 {
        led[groups - 1] = plan.traffic.iter().find(|t| t.source.lends()).and_then(leads).is_some();
    }
    Some(LeadIn { groups: led, limit })
}

fn links(topology: &Topology, hosts: &[Hosts]) -> Vec<LinkConfig> {
    let numbered = (0..).zip(&topology.links);
    let by_ends: BTreeMap<_, u32> = numbered.map(|(i, l)| ((l.from, l.end), i)).collect();
    let made = (0..).zip(&topology.links).map(|(i, l)| LinkConfig {
        aqm_context: Context { hosts: hosts.get(i).cloned().unwrap_or_default(), ..l.context() },
        ..link(l, by_ends.get(&(l.end, l.from)).copied())
    });
    made.collect()
}

fn link(line: &Line, opposite: Option<u32>) -> LinkConfig {
    LinkConfig {
        name: line.name.clone(),
        opposite,
        rate: line.rate,
        delay: line.delay,
        buffer: line.buffer,
        count_in_service: line.common.count_in_service,
        aqm: line.user.clone().map_or(AqmConfig::Kind(line.aqm.name), AqmConfig::User),
        aqm_values: Arc::clone(&line.values),
        aqm_context: line.context(),
        loss: line.loss,
        bleach: line.bleach,
        jitter: line.jitter.clone(),
        schedule: line.schedule.clone(),
        framing: line.framing,
        burst: line.burst,
    }
}

/// One-hop flows of a parking lot, a group for each hop: the first FTP entry's transport and start.
fn cross_traffic(plan: &Plan) -> Vec<Traffic> {
    let count = plan.topology.cross_flows();
    let Some(first) = plan.traffic.iter().find(|t| t.source.lends()).filter(|_| count > 0) else {
        return vec![];
    };
    let hops = 0..plan.topology.hops();
    hops.map(|hop| {
        let mut traffic = Traffic { from: hop, to: hop + 1, forward: true, ..first.clone() };
        traffic.group.flows = count;
        traffic
    })
    .collect()
}

/// The routes: sequences of links, each kept once.
#[derive(Default)]
struct Routes {
    list: Vec<Vec<u32>>,
    by_ends: BTreeMap<(u32, u32), u16>,
}

impl Routes {
    /// The route from router `a` to router `b`; without links where nothing needs one (back from a
    /// datagram's sink).
    fn between(&mut self, topology: &Topology, a: u32, b: u32) -> u16 {
        let list = &mut self.list;
        *self.by_ends.entry((a, b)).or_insert_with(|| {
            list.push(topology.route(a, b).unwrap_or_default());
            (list.len() - 1) as u16
        })
    }
}

struct Build<'a> {
    plan: &'a Plan,
    seed: u64,
    routes: Routes,
    hosts: Vec<HostConfig>,
    /// For each of `hosts` the number of the host that disciplines take it for: its own, or of
    /// those that share a name the first one's.
    identities: Vec<u32>,
    names: BTreeMap<String, u32>,
    flows: Vec<FlowConfig>,
}

impl Build<'_> {
    /// For each link between which hosts each flow passes it: data from its source, ACKs from its
    /// destination. Nothing where no two flows share a host.
    fn flow_hosts(&self) -> Vec<Hosts> {
        let mut seen = vec![false; self.hosts.len()];
        let hosts = |f: &FlowConfig| [f.src, f.dst].map(|host| self.identities[host as usize]);
        let mut again = |host: u32| std::mem::replace(&mut seen[host as usize], true);
        if !self.flows.iter().any(|f| hosts(f).map(&mut again).contains(&true)) {
            return vec![];
        }
        let mut out: Vec<Hosts> = vec![];
        for link in 0..self.plan.topology.links.len() as u32 {
            let passed: Vec<bool> = self.routes.list.iter().map(|r| r.contains(&link)).collect();
            let of = |f: &FlowConfig| {
                let [src, dst] = hosts(f);
                if passed[usize::from(f.forward)] {
                    (src, dst)
                } else {
                    (dst, src)
                }
            };
            let made = Hosts::new(self.flows.iter().map(of).collect());
            // Most links are passed in one of two ways.
            let made = out.iter().find(|other| **other == made).cloned().unwrap_or(made);
            out.push(made);
        }
        out
    }

    /// The hosts and flows of an entry. `name` names its random streams: a flow added to one entry
    /// does not change the others' numbers.
    fn group(&mut self, group: usize, name: &str, traffic: &Traffic) {
        let starts = self.starts(name, traffic);
        let count = starts.len() as u32;
        let hosts = self.host_pairs(name, traffic, count);
        let pair = self.pairs(name, traffic, count, hosts.len());
        let topology = &self.plan.topology;
        let forward = self.routes.between(topology, traffic.from, traffic.to);
        let backward = self.routes.between(topology, traffic.to, traffic.from);
        // What goodput_bps and jain count: in a graph the flows of the bottleneck.
        let crosses =
            self.routes.list[usize::from(forward)].contains(&(topology.bottleneck as u32));
        let counts =
            traffic.source.is_ftp() && if topology.kind.graph { crosses } else { traffic.forward };
        let connections = traffic.source.connections();
        let mut sizes = Rng::stream(self.seed, &format!("traffic/{name}/bytes"));
        // The first of the offset that this hop's flows already have in their group.
        let first = self.flows.iter().rev().take_while(|f| f.group == group as u32).count() as u32;
        let connects = self.connects(name, traffic);
        for (i, start) in (0..count).zip(starts) {
            let (src, dst) = hosts[pair(i)];
            let ahead = connects.get(i as usize).map(|at| start.since(*at));
            let apps = apps(traffic, start, ahead, &mut sizes);
            for (index, app) in (first + i * connections..).zip(apps) {
                self.flows.push(FlowConfig {
                    group: group as u32,
                    index,
                    src,
                    dst,
                    forward,
                    backward,
                    counts,
                    open_loop: traffic.arrivals.is_some(),
                    class: traffic.group.class,
                    app,
                });
            }
        }
    }

    /// The flows of a group that do what those of group `of` do, between the same hosts the other
    /// way round.
    fn way_back(&mut self, group: usize, of: usize) {
        let there = self.flows.iter().filter(|f| f.group == of as u32);
        let back: Vec<FlowConfig> = there
            .map(|f| FlowConfig {
                group: group as u32,
                src: f.dst,
                dst: f.src,
                forward: f.backward,
                backward: f.forward,
                ..f.clone()
            })
            .collect();
        self.flows.extend(back);
    }

    /// Returns when each of a group's flows starts.
    fn starts(&self, name: &str, traffic: &Traffic) -> Vec<Time> {
        match traffic.arrivals {
            Some(process) => arrivals(process, self.seed, name),
            None => starts(traffic.group.start, traffic.group.flows, self.seed, name, "start"),
        }
    }

    /// Returns when each of a group's flows connects, where that is said.
    fn connects(&self, name: &str, traffic: &Traffic) -> Vec<Time> {
        match &traffic.source {
            Source::Ftp(_, Ftp { connect: Some(spec), .. }) => {
                starts(*spec, traffic.group.flows, self.seed, name, "connect")
            }
            _ => vec![],
        }
    }

    /// Returns which of `n` pairs of hosts each flow is on. They take turns; transfers that arrive
    /// take any, so that neither a pair nor its delay tells when.
    fn pairs(&self, name: &str, traffic: &Traffic, flows: u32, n: usize) -> impl Fn(u32) -> usize {
        let mut of_flow: Vec<u32> = vec![];
        if traffic.arrivals.is_some() {
            let mut rng = Rng::stream(self.seed, &format!("traffic/{name}/pairs"));
            let mut below = |n: usize| (rng.unit() * n as f64) as usize;
            if n < flows as usize {
                of_flow = (0..flows).map(|_| below(n) as u32).collect();
            } else {
                // Each has its own.
                of_flow = (0..flows).collect();
                (1..of_flow.len()).rev().for_each(|i| of_flow.swap(i, below(i + 1)));
            }
        }
        move |flow| of_flow.get(flow as usize).map_or(flow as usize % n, |pair| *pair as usize)
    }

    /// Returns pairs (source, sink), one per flow, or as many as an entry's flows share. The left host
    /// is on the side of `access` and the right one on that of `egress`, whichever sends.
    fn host_pairs(&mut self, name: &str, traffic: &Traffic, flows: u32) -> Vec<(u32, u32)> {
        let topology = &self.plan.topology;
        let count = match &traffic.source {
            Source::Web(_, web, _) => web.pairs.unwrap_or(flows),
            Source::Ftp(_, ftp) => ftp.pairs.unwrap_or(flows),
            _ => flows,
        };
        let access = topology.access.as_ref();
        let egress = topology.egress.as_ref().or(access);
        let own = traffic.group.access_delay;
        let left = self.side(access, own, count, &format!("traffic/{name}/access"));
        let right = self.side(egress, None, count, &format!("traffic/{name}/egress"));
        let mut pairs = Vec::with_capacity(count as usize);
        for (left, right) in left.into_iter().zip(right) {
            let next = self.hosts.len() as u32;
            let (src, dst) = if traffic.forward { (left, right) } else { (right, left) };
            self.hosts.extend([src, dst]);
            let named = [&traffic.group.source_host, &traffic.group.destination_host];
            for (host, name) in (next..).zip(named) {
                let first =
                    name.as_ref().map(|name| self.names.entry(name.clone()).or_insert(host));
                self.identities.push(first.map_or(host, |first| *first));
            }
            pairs.push((next, next + 1));
        }
        pairs
    }

    fn side(
        &self,
        table: Option<&Access>,
        own: Option<DelaySpec>,
        count: u32,
        stream: &str,
    ) -> Vec<HostConfig> {
        let Some(link) = table else {
            return vec![
                HostConfig { rate: None, delay: Duration::ZERO, buffer: None };
                count as usize
            ];
        };
        let mean = self.plan.aqm.common.mean_packet.0;
        let buffer = link.buffer.map(|q| match q {
            QueueLen::Packets(n) => n as u32,
            QueueLen::Bytes(b) => u32::try_from(b / mean).unwrap_or(u32::MAX).max(1),
        });
        let rate = Some(link.rate);
        let delays = delays(own.unwrap_or(link.delay), count, self.seed, stream);
        delays.into_iter().map(|delay| HostConfig { rate, delay, buffer }).collect()
    }
}

/// Draws uniformly from [a, b), in whole nanoseconds.
fn uniform(rng: &mut Rng, a: Duration, b: Duration) -> Duration {
    let width = b.as_nanos().saturating_sub(a.as_nanos());
    a + Duration::from_nanos((width as f64 * rng.unit()) as u64)
}

/// Returns step `i` of `n` from `a` to `b`; the middle for `n` = 1.
fn spread(a: Duration, b: Duration, i: u32, n: u32) -> Duration {
    let (a, b) = (i128::from(a.as_nanos()), i128::from(b.as_nanos()));
    let at = if n == 1 { (a + b) / 2 } else { a + (b - a) * i128::from(i) / i128::from(n - 1) };
    // Between a and b, both of which are 64-bit.
    Duration::from_nanos(at as u64)
}

fn delays(spec: DelaySpec, n: u32, seed: u64, stream: &str) -> Vec<Duration> {
    let mut rng = Rng::stream(seed, stream);
    let one = |i| match spec {
        DelaySpec::Fixed(d) => d,
        DelaySpec::Uniform(a, b) => uniform(&mut rng, a, b),
        DelaySpec::Spread(a, b) => spread(a, b, i, n),
    };
    (0..n).map(one).collect()
}

fn starts(spec: StartSpec, n: u32, seed: u64, name: &str, what: &str) -> Vec<Time> {
    let mut rng = Rng::stream(seed, &format!("traffic/{name}/{what}"));
    let one = |i: u32| {
        let (a, b) = spec.between(i);
        time(uniform(&mut rng, a, b))
    };
    (0..n).map(one).collect()
}

/// Returns when the transfers of a process begin.
fn arrivals(process: Poisson, seed: u64, name: &str) -> Vec<Time> {
    let mut rng = Rng::stream(seed, &format!("traffic/{name}/arrivals"));
    let (mut at, until) = (process.from.as_secs_f64(), process.until.as_secs_f64());
    let next = || {
        at += rng.exponential(1.0 / process.often);
        (at < until).then(|| time(Duration::from_secs_f64(at)))
    };
    std::iter::from_fn(next).collect()
}

/// Returns what a flow sends, or the connections of a browser's session. `sizes` is for those whose
/// size is drawn before the run; `ahead`: how long before its start a flow connects.
fn apps(traffic: &Traffic, start: Time, ahead: Option<Duration>, sizes: &mut Rng) -> Vec<App> {
    let Source::Web(tcp, web, Some(browser)) = &traffic.source else {
        return vec![app(traffic, start, ahead, sizes)];
    };
    let connections = traffic.source.connections();
    let session = Arc::new(Session {
        start,
        stop: traffic.group.stop.map(time),
        object: web.object.clone(),
        objects_per_page: web.objects_per_page,
        think: web.think.clone(),
        inter_object: web.inter_object.clone(),
        connections,
        persistent: browser.persistent,
        // At most a segment.
        request: browser.request.map(|b| b.0 as u32),
    });
    let one = |connection| App::Browser {
        tcp: Arc::clone(tcp),
        session: Arc::clone(&session),
        connection,
    };
    (0..connections).map(one).collect()
}

fn app(traffic: &Traffic, start: Time, ahead: Option<Duration>, sizes: &mut Rng) -> App {
    let stop = traffic.group.stop.map(time);
    match &traffic.source {
        Source::Ftp(tcp, ftp) => {
            let bytes = |dist: &Dist| dist.draw(sizes).max(1.0).ceil() as u64;
            // No transfer begins after a process's end, and those that have begun go on.
            let stop = stop.filter(|_| traffic.arrivals.is_none());
            let bytes = ftp.bytes.as_ref().map(bytes);
            let early = |ahead| Box::new(Early { ahead, bytes: ftp.greeting.0 });
            let early = ahead.filter(|ahead| *ahead > Duration::ZERO).map(early);
            App::Ftp { tcp: Arc::clone(tcp), start, early, stop, bytes }
        }
        Source::Web(tcp, web, _) => App::Web {
            tcp: Arc::clone(tcp),
            start,
            stop,
            pages: Arc::new(Pages {
                object: web.object.clone(),
                objects_per_page: web.objects_per_page,
                think: web.think.clone(),
                inter_object: web.inter_object.clone(),
            }),
        },
        Source::Video(tcp, video) => App::Video {
            tcp: Arc::clone(tcp),
            start,
            stop,
            config: Arc::new(VideoConfig {
                chunk: video.chunk,
                bitrates: video.bitrates.clone(),
                safety: video.safety,
                weight: video.weight,
                buffer: video.buffer,
                startup: video.startup,
            }),
        },
        Source::Datagrams(d, pattern) | Source::Call(d, pattern) => App::Udp {
            rate: d.rate,
            packet: d.packet,
            pattern: pattern.clone(),
            jitter: d.jitter,
            start,
            stop,
        },
        Source::Replay(packets) => App::Replay { packets: Arc::clone(packets), start, stop },
    }
}

/// Refuses what would not fit into memory, before any of it is taken.
fn guard(plan: &Plan, limit: u64) -> Result<(), ScenarioError> {
    let cross = f64::from(plan.topology.cross_flows()) * f64::from(plan.topology.hops());
    let flows = plan.traffic.iter().map(|t| f64::from(t.flows())).sum::<f64>() + cross;
    let packets = packets_under_way(plan, cross);
    let measured = if plan.measures_links() { plan.topology.links.len() as f64 } else { 0.0 };
    let watched = if plan.record.groups { BYTES_A_WATCHED_FLOW } else { 0.0 };
    let bytes =
        flows * (BYTES_A_FLOW + watched) + packets * BYTES_A_PACKET + measured * BYTES_A_LINK;
    if plan.traffic.len() > MOST_ENTRIES {
        let problem = Problem::Conflict(format!("there must be at most {MOST_ENTRIES} entries"));
        return Err(ScenarioError::new(Origin::Unknown, "traffic", problem));
    }
    if bytes <= limit as f64 {
        return Ok(());
    }
    let problem = format!(
        "would take about {:.1} GiB ({flows:.0} flows, up to {packets:.0} packets under way or waiting), \
         above the limit of {:.1} GiB",
        bytes / f64::from(1 << 30),
        limit as f64 / f64::from(1 << 30),
    );
    Err(ScenarioError::new(Origin::Unknown, "traffic", Problem::Conflict(problem)))
}

/// Returns the largest number of packets at one time: what the windows allow or the links hold,
/// plus what datagram sources pile up in front of their access links.
fn packets_under_way(plan: &Plan, cross: f64) -> f64 {
    let window = |t: &Traffic| t.source.tcp().map_or(0.0, |tcp| f64::from(tcp.window));
    let mut windows: f64 = plan.traffic.iter().map(|t| f64::from(t.flows()) * window(t)).sum();
    windows += cross * plan.traffic.iter().map(window).fold(0.0, f64::max);
    let mean = plan.aqm.common.mean_packet.0 as f64;
    let held = |line: &Line| {
        let buffer = match line.buffer {
            QueueLen::Packets(n) => n,
            QueueLen::Bytes(b) => b as f64 / mean,
        };
        buffer + line.rate.as_bps() as f64 * line.delay.as_secs_f64() / (8.0 * mean)
    };
    windows.min(plan.topology.links.iter().map(held).sum())
        + plan.traffic.iter().map(|t| before_the_network(plan, t)).sum::<f64>()
}

/// Returns how many packets a group may pile up in front of its access links, which have no limit
/// unless one is given.
fn before_the_network(plan: &Plan, traffic: &Traffic) -> f64 {
    let topology = &plan.topology;
    let access = topology.access.as_ref();
    let side = if traffic.forward { access } else { topology.egress.as_ref().or(access) };
    let Some(side) = side else { return 0.0 };
    let rate = side.rate.as_bps();
    // The links that leave the router: the data take one of them.
    let onward =
        topology.links.iter().filter(|l| l.from == traffic.from).map(|l| l.rate.as_bps()).max();
    let in_run =
        |bps: u64, bytes: u64| bps as f64 * plan.top.duration.as_secs_f64() / (8.0 * bytes as f64);
    let piled = match &traffic.source {
        // A window never grows beyond what has been acknowledged; a slower link further on drops
        // instead.
        Source::Ftp(tcp, _) | Source::Web(tcp, ..) | Source::Video(tcp, _) => {
            if onward.is_some_and(|onward| rate <= onward) {
                f64::from(tcp.window).min(in_run(rate, u64::from(tcp.segment_bytes())))
            } else {
                0.0
            }
        }
        Source::Replay(packets) => packets.len() as f64,
        Source::Datagrams(d, _) | Source::Call(d, _) => {
            in_run(d.rate.as_bps().saturating_sub(rate), d.packet.0)
        }
    };
    let limit = match side.buffer {
        Some(QueueLen::Packets(n)) => n,
        Some(QueueLen::Bytes(b)) => b as f64,
        None => f64::INFINITY,
    };
    f64::from(traffic.flows()) * piled.min(limit)
}
