//! The engine takes events in order and hands each to the room that it belongs to.

use crate::access::AccessQueue;
use crate::config::{App, Config, FlowConfig};
use crate::error::SimError;
use crate::flow::{Flow, FlowKind, Tcp, TcpApp};
use crate::handle::Handle;
use crate::host::Host;
use crate::inbox::Inbox;
use crate::layout::{capture_links, crowded, foresees, geometry, lone, parts, senders};
use crate::log::PacketLog;
use crate::metrics::RunView;
use crate::network::Network;
use crate::observe::SenderState;
use crate::one_way::OneWay;
use crate::packet::{flag, Pkt, Pool, AT_HOST, ROOM};
use crate::pages::{page_table, Ended};
use crate::pcap::Capture;
use crate::prefetch::prefetch;
use crate::result::{BandResult, LinkResult, PacketResult, PageResult, RunResult};
use crate::routes::{Routes, HOST};
use crate::sched::{Event, Kind, Scheduler, MAX_TIME};
use crate::series::FlowSeries;
use crate::transfers::{transfer_table, Completed, Ideals};
use crate::{apps, batch, browser, ends, lead_in, measure};
use penstock_queue::{
    values, Abort, Link, LinkConfig, LinkError, LinkView, PacketView, Pipe, Table, UserError,
    LINK_METRICS,
};
use penstock_tcp::Ack;
use penstock_units::{Duration, Time};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Runs a configuration to its end.
///
/// # Errors
/// If it was stopped, or the configuration is not one that the scenario parser lets through.
pub fn run(config: &Config, handle: &Handle) -> Result<RunResult, SimError> {
    run_watched(config, handle, &mut || ())
}

/// [`run`], calling `watch` every few thousand events on the thread that it runs on.
///
/// # Errors
/// As for [`run`].
pub fn run_watched(
    config: &Config,
    handle: &Handle,
    watch: &mut dyn FnMut(),
) -> Result<RunResult, SimError> {
    let (engine, lead_in) = prepared(config, handle, watch)?;
    Ok(RunResult { lead_in, ..ended(engine, handle, watch)?.result() })
}

/// Returns the engine of a run at its beginning, and how long its lead-in takes, which is run to
/// learn that.
pub(crate) fn prepared(
    config: &Config,
    handle: &Handle,
    watch: &mut dyn FnMut(),
) -> Result<(Engine, Option<Duration>), SimError> {
    let Some(lead) = &config.lead_in else {
        return Ok((Engine::new(config, &handle.abort)?, None));
    };
    let alone = lead_in::alone(config, lead);
    let mut engine = Engine::new(&alone, &handle.abort)?;
    engine.leading = Some(lead_in::others(&alone, lead));
    let zero = ended(engine, handle, watch)?.net.end.since(Time::ZERO);
    let whole = lead_in::shifted(config, lead, zero);
    Ok((Engine::new(&whole, &handle.abort)?, Some(zero)))
}

/// Runs an engine to its end.
pub(crate) fn ended(
    mut engine: Engine,
    handle: &Handle,
    watch: &mut dyn FnMut(),
) -> Result<Engine, SimError> {
    engine.advance(Time::NEVER, handle, watch)?;
    if handle.abort.raised() {
        return Err(SimError::Aborted(handle.abort.message()));
    }
    engine.finish(handle);
    Ok(engine)
}

/// How many events ahead [`Engine::warm`] looks: far enough for memory, near enough for the cache.
const AHEAD: usize = 2;

/// What is known of the flows whose packets are watched.
#[derive(Clone)]
struct Watched {
    /// Of each flow the link at which its data wait: the bottleneck, or its other direction.
    crosses: Vec<Option<usize>>,
    /// The time between two packets of a call, by group.
    calls: BTreeMap<u32, Duration>,
}

impl Watched {
    fn of(c: &Config) -> Self {
        let crosses = c.flows.iter().map(|f| c.crosses(f)).collect();
        Watched { crosses, calls: c.calls.clone() }
    }
}

/// A run under way.
pub(crate) struct Engine {
    net: Network,
    /// Before this everything has happened, once it has come there.
    now: Time,
    links: Vec<Link>,
    flows: Vec<Flow>,
    bottleneck: usize,
    /// Of each link its name and mean rate over the window, for the results.
    link_rates: Vec<(String, f64)>,
    measure_links: bool,
    /// Where the packets of groups and flows are.
    packets: Option<Box<Watched>>,
    groups: usize,
    seed: u64,
    /// Transfers and pages that ended.
    ended: Ended,
    record_transfers: bool,
    /// How long transfers take over an empty network.
    ideals: Ideals,
    /// Clients send requests, and end objects.
    browses: bool,
    sampling: Option<Duration>,
    flow_series: Option<Box<FlowSeries>>,
    /// In a lead-in, of each flow whether it is no longer waited for.
    leading: Option<Vec<bool>>,
}

/// Tells the outside how far the run is, and asks it whether to stop.
#[cold]
fn watch_out(now: Time, handle: &Handle, watch: &mut dyn FnMut()) -> Result<(), SimError> {
    handle.now_ns.store(now.as_nanos(), Ordering::Relaxed);
    watch();
    // An error that a discipline raised goes before a stop from outside.
    if !handle.abort.raised() && handle.stop.load(Ordering::Relaxed) {
        return Err(SimError::Stopped);
    }
    Ok(())
}

/// Makes the links, with taps behind their queues where the capture asks for them.
fn links(c: &Config, capture: &mut [u32; 2], abort: &Abort) -> Result<Vec<Link>, SimError> {
    let mut links = vec![];
    for i in 0..c.links.len() {
        links.push(c.link(i, abort)?);
    }
    if c.record.pcap.is_some_and(|tap| tap.out) {
        for link in std::mem::replace(capture, [u32::MAX; 2]) {
            if let Some(link) = links.get_mut(link as usize) {
                link.tap();
            }
        }
    }
    Ok(links)
}

/// Returns whether a flow's client sends requests.
fn asks(f: &FlowConfig) -> bool {
    matches!(&f.app, App::Browser { session, .. } if session.request.is_some())
}

/// Makes the flows. A source whose host serves nobody else can spare events.
fn flows(c: &Config) -> Vec<Flow> {
    let senders = senders(c);
    let datagrams = |f: &&FlowConfig| f.app.tcp().is_none();
    let alone = c.flows.iter().filter(datagrams).count() == 1;
    let window = (c.measure_from, c.measure_to);
    let mut flows: Vec<Flow> = c.flows.iter().map(|f| Flow::new(f, c.seed, window)).collect();
    for f in &mut flows {
        let own_host = senders[f.ends.src as usize] == 1;
        match &mut f.kind {
            FlowKind::Udp(u) => {
                u.own_host = own_host && !c.routes[usize::from(f.ends.forward)].is_empty();
                u.foreseen = u.own_host && alone;
                // A lone source's packets have no places, by which they could be watched.
                let watched = c.record.groups || c.record.events;
                u.lone = u.foreseen && !watched && lone(c, f.ends.forward);
            }
            // The access link is not the flow's own.
            FlowKind::Tcp(t) if !own_host => t.undisturbed_until = Time::ZERO,
            FlowKind::Tcp(_) => {}
        }
    }
    flows
}

impl Engine {
    /// Handles the events before `until` and before the end of the run.
    pub(crate) fn advance(
        &mut self,
        until: Time,
        handle: &Handle,
        watch: &mut dyn FnMut(),
    ) -> Result<(), SimError> {
        self.net.pause = until;
        self.net.acks_foreseen_until = self.net.next_look(self.now.before(Duration::from_ticks(1)));
        self.now = until.min(self.net.end);
        let mut told = self.net.events + Self::WATCH;
        while let Some(event) = self.net.sched.pop() {
            if event.time() >= until.min(self.net.end) {
                self.net.sched.add(event);
                break;
            }
            self.net.events += 1;
            if self.net.events >= told {
                told = self.net.events + Self::WATCH;
                watch_out(event.time(), handle, watch)?;
                if handle.abort.raised() {
                    return Ok(());
                }
            }
            if self.net.crowded {
                self.warm();
            }
            self.net.sched.begin_event(&event);
            self.handle(&event);
        }
        Ok(())
    }

    /// Brings the links to the present, too, before which all events have been handled. Returns them,
    /// for whoever looks at them or changes their parameters.
    pub(crate) fn links_now(&mut self) -> &mut [Link] {
        self.take_in_all(self.now);
        for link in &mut self.links {
            // What happens at this instant itself may come after an arrival.
            link.advance(self.now.before(Duration::from_ticks(1)));
        }
        &mut self.links
    }

    /// Before this everything has happened.
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// The discipline of `c` takes the place of a link's, now ([`Link::swap`]).
    pub(crate) fn swap(
        &mut self,
        link: usize,
        c: &LinkConfig,
        abort: &Abort,
    ) -> Result<(), LinkError> {
        self.links_now();
        let (now, mut all_sent) = (self.now, vec![]);
        let own = &mut self.links[link];
        if own.due() < self.net.end && !self.net.inboxes[link].keeps() {
            // Its turn has an event, which will find nothing to do.
            self.net.events -= 1;
        }
        own.swap(now, c, abort, |sent| all_sent.push(sent))?;
        own.resize(c.buffer);
        self.net.sched.begin(now, now);
        for sent in all_sent {
            self.net.sent(now, link as u32, sent, &mut self.flows);
        }
        let own = &self.links[link];
        if let Some(due) = self.net.inboxes[link].renew(own) {
            self.net.sched.push(due, Kind::Inbox, link as u32);
        }
        Ok(())
    }

    /// Returns a copy that goes on by itself, and that `abort` ends.
    pub(crate) fn copy(&self, abort: &Abort) -> Result<Self, UserError> {
        let links = self.links.iter().map(|link| link.copy(abort)).collect::<Result<_, _>>()?;
        Ok(Engine {
            net: self.net.clone(),
            now: self.now,
            links,
            flows: self.flows.clone(),
            bottleneck: self.bottleneck,
            link_rates: self.link_rates.clone(),
            measure_links: self.measure_links,
            packets: self.packets.clone(),
            groups: self.groups,
            seed: self.seed,
            ended: self.ended.clone(),
            record_transfers: self.record_transfers,
            ideals: self.ideals.clone(),
            browses: self.browses,
            sampling: self.sampling,
            flow_series: self.flow_series.clone(),
            leading: self.leading.clone(),
        })
    }

    /// A controller outside sets a sender's window, segments, and its rate, bits of payload per second.
    /// Returns false where the flow has another control than `fixed`.
    pub(crate) fn steer(&mut self, flow: usize, window: f64, rate: Option<f64>) -> bool {
        let FlowKind::Tcp(Tcp { sender, .. }) = &self.flows[flow].kind else { return false };
        if !sender.steers() {
            return false;
        }
        let (now, gap) = (self.now, rate.map(|rate| sender.gap_of(rate)));
        self.net.sched.begin(now, now);
        ends::with_sender(&mut self.net, &mut self.flows, now, flow, |s, wire| {
            s.steer(now, window, gap, wire);
        });
        true
    }

    /// Returns how a flow's sender stands; `None` for datagrams.
    pub(crate) fn sender(&self, flow: usize) -> Option<SenderState> {
        measure::sender(&self.flows[flow])
    }

    fn take_in_all(&mut self, now: Time) {
        for link in 0..self.links.len() {
            batch::take_in(&mut self.net, &mut self.links, &mut self.flows, now, link as u32);
        }
    }

    /// Returns what was recorded since the last time.
    pub(crate) fn taken_tables(&mut self) -> Vec<Table> {
        self.links_now();
        let mut tables = self.recorded(self.bottleneck);
        if let Some(series) = self.flow_series.as_deref_mut() {
            tables.extend(std::mem::take(series).tables());
        }
        tables
    }

    /// Takes out what a link has recorded since the last time, with the names of its packets.
    fn recorded(&mut self, link: usize) -> Vec<Table> {
        let mut tables = self.links[link].taken_tables();
        if let Some(log) = &self.net.log {
            log.name(link, &mut tables);
        }
        tables
    }

    /// When the run ends.
    pub(crate) fn end(&self) -> Time {
        self.net.end
    }

    /// The run is over.
    fn finish(&mut self, handle: &Handle) {
        self.take_in_all(self.net.end);
        let (net, flows) = (&self.net, &mut self.flows[..]);
        if net.window.1 >= net.end {
            measure::end(flows);
        }
        for f in flows {
            if let FlowKind::Udp(u) = &mut f.kind {
                u.finish(net.end, &mut f.rng);
            }
        }
        for link in &mut self.links {
            link.finish(net.end);
        }
        handle.now_ns.store(net.end.as_nanos(), Ordering::Relaxed);
    }

    /// After so many events the outside is told.
    const WATCH: u64 = 1 << 14;

    #[inline(always)]
    fn handle(&mut self, event: &Event) {
        let (now, what) = (event.time(), event.what());
        let (net, links) = (&mut self.net, &mut self.links[..]);
        let (flows, index) = (&mut self.flows[..], what.index());
        match what.kind() {
            Kind::Packet => self.packet(event, index as u32),
            Kind::Timer => ends::timer(net, flows, now, index),
            Kind::Release => ends::release(net, flows, now, index),
            Kind::Departure => net.leaves_host(now, index as u32, flows),
            Kind::AckTimer => ends::ack_timer(net, flows, now, index),
            Kind::Udp => apps::udp(net, links, flows, event, index),
            Kind::Service => batch::serve(net, links, flows, now, index as u32),
            Kind::App => apps::app(net, flows, now, index),
            Kind::Sample => self.sample(now),
            Kind::Window => {
                if index == 0 {
                    measure::begin(flows);
                } else {
                    measure::end(flows);
                }
                net.acks_foreseen_until = net.next_look(now);
            }
            Kind::Inbox => {
                net.events -= 1; // it stands for no event of the network
                if net.inboxes[index].called(now) {
                    batch::take_in(net, links, flows, now, index as u32);
                }
            }
        }
    }

    /// A packet arrives: at a link, at its router's end of an access link, or at the host.
    #[inline(always)]
    fn packet(&mut self, event: &Event, index: u32) {
        let now = event.time();
        let (net, flows) = (&mut self.net, &mut self.flows[..]);
        let p = &net.packets.items[index as usize];
        if p.hop != AT_HOST {
            let link = net.routes.at(p.route, p.hop);
            if link == HOST {
                return net.down(now, now, index, flows);
            }
            if net.waits_for_others(event, link) {
                return;
            }
            return batch::arrive(net, &mut self.links, flows, event, link, index);
        }
        if !p.is(flag::ACK) {
            let (flow, in_line) = (p.flow, net.hosts[p.host as usize].holds_back());
            if self.browses && !in_line {
                return self.browse(now, index);
            }
            ends::data(net, flows, now, index);
            if in_line {
                net.segments_behind(flow as usize, flows);
            }
            return;
        }
        let flow = p.flow as usize;
        if let Some(flow) = ends::ack(net, flows, now, index) {
            apps::transfer_done(net, flows, now, flow, &mut self.ended);
        }
        net.acks_behind(flow, flows);
    }

    /// Handles what is not an ACK: requests and answers of browsers, data.
    #[cold]
    fn browse(&mut self, now: Time, index: u32) {
        let (net, flows) = (&mut self.net, &mut self.flows[..]);
        let p = net.packets.items[index as usize];
        if p.is(flag::REQUEST) {
            return browser::asked(net, flows, now, index, p);
        }
        ends::data(net, flows, now, index);
        browser::received(net, flows, now, p, &mut self.ended);
    }

    fn sample(&mut self, now: Time) {
        self.net.events -= 1; // watching a run does not change its numbers
        let Some(series) = &mut self.flow_series else { return };
        if let Some(left) = &mut self.leading {
            if lead_in::settled(&self.flows, left) {
                self.net.end = now;
                return;
            }
        }
        measure::sample(&self.flows, series, now);
        if let Some(d) = self.sampling {
            self.net.sched.push(now + d, Kind::Sample, 0);
        }
    }

    /// Begins to load what the next event will touch, while this one is worked on.
    #[inline]
    fn warm(&self) {
        let (net, flows) = (&self.net, &self.flows[..]);
        if let Some(later) = net.sched.peek(2 * AHEAD).filter(|e| e.kind() == Kind::Packet) {
            net.warm_packet(later.index());
        }
        match net.sched.peek(AHEAD) {
            Some(next) if next.kind() == Kind::Packet => net.warm_flow(next.index(), flows),
            Some(next) if next.kind() == Kind::Timer => prefetch::<_, 3>(&flows[next.index()]),
            _ => {}
        }
    }

    /// An engine at time zero.
    fn new(c: &Config, abort: &Abort) -> Result<Self, SimError> {
        let end = Time::ZERO + c.duration;
        if end > MAX_TIME {
            return Err(SimError::TooLong);
        }
        let mut capture_links = capture_links(c);
        let links = links(c, &mut capture_links, abort)?;
        let foresees = foresees(c);
        let hosts = parts(c, foresees).into_iter().zip(&c.hosts);
        let window = (c.measure_from, c.measure_to);
        let mut hosts: Vec<Host> = hosts.map(|(part, h)| Host::new(h, part)).collect();
        if c.record.groups {
            hosts.iter_mut().flat_map(|h| [&mut h.up, &mut h.down]).for_each(Pipe::watch);
        }
        let one_way = || Box::new(OneWay::new(c.flows.len(), window, end));
        let inbox = |i| Inbox::new(c, i, foresees);
        let inboxes = (0..links.len()).map(inbox).collect();
        let (shift, slots) = geometry(c);
        let net = Network {
            sched: Scheduler::new(shift, slots),
            packets: Pool::with_room(Pkt::BLANK, ROOM),
            options: Pool::new(Ack::default()),
            held: Pool::new((Event::FIRST, 0)),
            inboxes,
            hosts,
            routes: Routes::new(&c.routes),
            end,
            pause: Time::NEVER,
            window,
            capture: c.record.pcap.map(|_| Box::new(Capture::new(end))),
            capture_links,
            one_way: c.record.groups.then(one_way),
            entered: 0,
            left: 0,
            crowded: crowded(c),
            attends: crowded(c) || c.record.events,
            log: c.record.events.then(|| Box::new(PacketLog::new(c.links.len(), c.flows.len()))),
            watched: c.record.series.is_some() || !foresees,
            acks_foreseen_until: Time::ZERO,
            events: 0,
        };
        let rate = |i: usize| (c.links[i].name.clone(), c.mean_rate(i));
        let mut engine = Engine {
            net,
            now: Time::ZERO,
            links,
            flows: flows(c),
            bottleneck: c.bottleneck,
            link_rates: (0..c.links.len()).map(rate).collect(),
            measure_links: c.measure_links,
            packets: c.record.groups.then(|| Box::new(Watched::of(c))),
            groups: c.groups,
            seed: c.seed,
            ended: Ended::default(),
            record_transfers: c.record.series.is_some(),
            ideals: Ideals::of(c),
            browses: c.flows.iter().any(asks),
            sampling: c.record.series,
            flow_series: c.record.series.map(|_| Box::default()),
            leading: None,
        };
        engine.begin();
        Ok(engine)
    }

    /// Schedules the measured window, the first sample and what starts by itself.
    fn begin(&mut self) {
        let (from, to) = self.net.window;
        self.net.sched.push(from, Kind::Window, 0);
        self.net.sched.push(to, Kind::Window, 1);
        if self.sampling.is_some() {
            self.net.sched.push(Time::ZERO, Kind::Sample, 0);
        }
        self.net.acks_foreseen_until = self.net.next_look(Time::ZERO);
        apps::begin(&mut self.net, &mut self.flows);
    }

    /// Returns what the run gives back.
    pub(crate) fn result(mut self) -> RunResult {
        self.net.assert_conservation(&self.links);
        let mut series = self.recorded(self.bottleneck);
        if let Some(s) = self.flow_series.take() {
            series.extend(s.tables());
        }
        let pages = self.pages();
        let ended = self.ideals.completed(&self.ended.transfers);
        if self.record_transfers {
            series.push(transfer_table(&ended));
            series.extend(pages.is_some().then(|| page_table(&self.ended.pages)));
        }
        let packets = self.packets();
        let links = if self.measure_links { self.link_results() } else { vec![] };
        let bands = self.band_results();
        let (seed, events, groups) = (self.seed, self.net.events, self.groups);
        let pcap = self.net.capture.take().map(|c| c.finish());
        let access = self.access_queue();
        let run = self.view(ended);
        RunResult {
            seed,
            events,
            metrics: run.metrics(),
            groups: run.group_metrics(groups),
            flows: run.flow_metrics(),
            links,
            bands,
            pages,
            packets,
            series,
            lead_in: None,
            pcap,
            access,
        }
    }

    /// Returns the longest queue at an access link, where it was longer than on its flow's way.
    fn access_queue(&self) -> Option<AccessQueue> {
        let Network { hosts, routes, .. } = &self.net;
        let delays: Vec<_> = self.links.iter().map(Link::delay_mean_s).collect();
        AccessQueue::longest(measure::at_access_links(&self.flows, hosts, routes, &delays))
    }

    /// Returns what the metrics are computed from. The run's memory is given back first, so that a
    /// hundred thousand flows do not need it twice.
    fn view(self, mut ended: Vec<Completed>) -> RunView {
        let (from, to) = self.net.window;
        let inside = |t: &Completed| t.transfer.end >= from && t.transfer.end < to;
        let link = self.link_view(self.bottleneck).expect("the bottleneck is measured");
        ended.retain(inside);
        drop((self.net, self.links));
        let flows = self.flows.iter().map(|f| measure::flow_view(f, (from, to))).collect();
        RunView { link, flows, ended }
    }

    /// Returns the numbers of the groups' and flows' packets, where they were asked for.
    fn packets(&mut self) -> Option<PacketResult> {
        let watched = self.packets.take()?;
        let paths = self.net.one_way.take()?.finish(self.net.packets.all());
        let views = (0..).zip(paths).zip(&self.flows).zip(&watched.crosses);
        let views = views.map(|(((i, path), f), crosses)| {
            let queue = crosses.and_then(|link| self.links[link].flow(i));
            let call = watched.calls.get(&f.group).copied();
            (f.group, PacketView { queue, path: Some(path), call })
        });
        Some(PacketResult::of(views, self.groups))
    }

    /// Returns the numbers of the pages, where there are browsers' sessions.
    fn pages(&self) -> Option<PageResult> {
        let mut repeats: BTreeMap<u32, u64> = BTreeMap::new();
        for f in &self.flows {
            let FlowKind::Tcp(Tcp { app: TcpApp::Browser(c), .. }) = &f.kind else { continue };
            *repeats.entry(f.group).or_default() += c.repeats;
        }
        let group_of = |flow: u32| self.flows[flow as usize].group;
        PageResult::of(&self.ended.pages, self.net.window, &repeats, group_of)
    }

    /// Returns what the metrics of link `i` are computed from, where it is measured.
    fn link_view(&self, i: usize) -> Option<LinkView> {
        self.links[i].view(self.link_rates[i].1)
    }

    fn band_results(&self) -> Vec<BandResult> {
        let measured = self.links.iter().zip(&self.link_rates);
        measured.flat_map(|(link, (name, rate))| BandResult::of(name, &link.bands(*rate))).collect()
    }

    /// Returns the numbers of every link; the bottleneck's series have been taken before.
    fn link_results(&mut self) -> Vec<LinkResult> {
        let links = 0..self.links.len();
        let of = |i| {
            let view = self.link_view(i).expect("every link is measured");
            let (name, metrics) = (self.link_rates[i].0.clone(), values(LINK_METRICS, &view));
            LinkResult { name, metrics, series: self.recorded(i) }
        };
        links.map(of).collect()
    }
}
