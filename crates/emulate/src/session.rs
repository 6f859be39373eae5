//! One emulation from its beginning to its end: hosts, router, programs, what the kernels say, the
//! report.

use crate::capture::{self, Recorder, Writer};
use crate::control::Control;
use crate::error::EmulateError;
use crate::flows::Flows;
use crate::holder::Holder;
use crate::hosts::{Hosts, ORPHANS};
use crate::netns::{Namespace, Privilege};
use crate::options::Options;
use crate::path::Path;
use crate::port::{Backend, Port};
use crate::programs::Programs;
use crate::report::{self, Emulation, Report, Window, LATE_AT_LEAST};
use crate::router::{Loop, Ran, Shared};
use crate::side::Side;
use crate::sys::{self, WholeFrames};
use crate::traffic::{self, TrafficPlan};
use crate::watch::{Said, Watch};
use crate::work::Log;
use penstock_queue::{values, Abort, LINK_METRICS};
use penstock_scenario::Scenario;
use penstock_sim::{BandResult, Config, LinkResult};
use penstock_units::{Duration, Time, TxClock};
use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{channel, Receiver};
use std::time::Duration as Wall;

pub use crate::options::Status;

/// The interval at which a caller without programs is heard.
const LOOK: Wall = Wall::from_millis(20);

/// Emulates on this process, which [`crate::netns::isolate`] has prepared and which is the first of
/// its process namespace: when it ends, everything ends. The caller holds it by `control`. `alive`
/// is called about ten times a second; `false` ends the run.
///
/// # Errors
/// Where the scenario or the machine does not allow it, or a program fails.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    options: &Options,
    privilege: Privilege,
    control: Control,
    alive: &mut dyn FnMut() -> bool,
) -> Result<Report, EmulateError> {
    let own = options.own;
    let Prepared { mut config, plan, zero } = prepare(scenario, seed, options, own)?;
    let abort = Abort::default();
    let header = header(&config);
    let window = (config.measure_from, config.measure_to);
    let known = plan.flows.iter().map(|f| f.known).collect();
    let hosts = Hosts::new(options, &plan, own, scenario)?;
    let flows = Flows::new(known, window, header);
    let path = Path::new(&config, hosts.backend.layer(), &abort, flows)
        .map_err(|e| EmulateError::Scenario(e.to_string()))?;
    if own {
        config.flows.clear();
        config.groups = 0;
    }
    let (recorder, writer) = start_capture(options, hosts.backend)?;
    let mut programs = Programs::start(&hosts, &plan, &config, options, privilege, alive)?;
    let transmission = transmission(&config, header);
    let endless = own && !options.limited;
    let until = if endless { penstock_sim::MAX_TIME } else { Time::ZERO + config.duration };
    let congestion_default = if own { Some(hosts.congestion_default()?) } else { None };
    let shared = Shared::new(until);
    let Hosts { namespaces, ports, backend } = hosts;
    let mut holder = Holder::new(control, Some(&namespaces), scenario, &config);
    if own {
        holder.hand_over(privilege)?;
        holder.begins(alive)?;
    }
    let packet_loop = Loop {
        path,
        ports,
        fifo: !options.no_fifo,
        bound: transmission,
        valid_bound: transmission.max(LATE_AT_LEAST),
        window,
        capture: recorder,
        capture_out: options.pcap_out,
        shared: &shared,
        zero_ns: u64::MAX,
    };
    let right = usize::from(!options.download);
    let sockets = programs.sockets.clone();
    let mut watch = Watch::new(&namespaces, &plan, sockets, &config, right)?;
    let ran = route(packet_loop, &abort, |zero, finished| {
        let Ok(zero_ns) = zero.recv() else { return Ok(false) };
        programs.begin(zero_ns);
        watch.begin(zero_ns);
        watch.run(&shared, &mut programs, &abort, &mut holder, alive, finished)
    })?;
    // The router has stopped and everything that was under way has arrived: what the kernels say
    // now is final.
    watch.settle()?;
    let log = programs.log()?;
    let device_drops = if backend == Backend::Tun { watch.device_drops() } else { 0 };
    finish(&namespaces, &mut programs, writer, &watch)?;
    let Holder { exit_code, notes, .. } = holder;
    let end = Time::from_nanos(shared.until_ns.load(Ordering::Relaxed));
    let facts = Facts {
        privilege,
        backend,
        header,
        transmission,
        exit_code,
        end,
        zero,
        device_drops,
        congestion_default,
        mecn: programs.mecn_counts.take(),
        notes: [plan.notes.clone(), std::mem::take(&mut programs.notes), notes].concat(),
    };
    Ok(conclude(config, ran, watch.said(), &log, facts))
}

/// Starts the capture, if one was asked for.
fn start_capture(
    options: &Options,
    backend: Backend,
) -> Result<(Option<Recorder>, Option<Writer>), EmulateError> {
    let Some(file) = &options.pcap else { return Ok((None, None)) };
    let started = std::fs::File::create(file)
        .and_then(|file| capture::start(file, backend.layer()))
        .map_err(|e| EmulateError::system("opening the capture", e))?;
    Ok((Some(started.0), Some(started.1)))
}

/// Runs the loop on a thread of its own while `watch` runs on this one. `watch` gets what says when
/// the loop's clock shows zero, as soon as the loop can take frames, and a function that says
/// whether the loop has ended. It returns whether the caller ended it.
fn route(
    packet_loop: Loop,
    abort: &Abort,
    watch: impl FnOnce(&Receiver<u64>, &dyn Fn() -> bool) -> Result<bool, EmulateError>,
) -> Result<Ran, EmulateError> {
    let shared = packet_loop.shared;
    let (begun, zero) = channel();
    let (ran, watched) = std::thread::scope(|scope| {
        let router = scope.spawn(move || packet_loop.run(|ns| begun.send(ns).unwrap_or(())));
        let watched = watch(&zero, &|| router.is_finished());
        if watched.is_err() {
            shared.stop.store(true, Ordering::Relaxed);
        }
        let ran = router.join().unwrap_or_else(|_| Err(io::Error::other("the router panicked")));
        (ran, watched)
    });
    let interrupted = watched?;
    if let Some(error) = abort.take() {
        return Err(EmulateError::Program(error.to_string()));
    }
    if interrupted {
        return Err(EmulateError::Interrupted);
    }
    ran.map_err(|e| EmulateError::system("the router", e))
}

/// Ends the hosts, the programs and the capture.
fn finish(
    namespaces: &[Namespace; 2],
    programs: &mut Programs,
    writer: Option<Writer>,
    watch: &Watch,
) -> Result<(), EmulateError> {
    for host in namespaces {
        // Nobody answers any more: what the programs leave unsent is given up at the first chance,
        // and the namespace with it.
        host.sysctl(ORPHANS, "1").map_err(|e| EmulateError::system("ending the hosts", e))?;
    }
    programs.finish();
    if let Some(mismatch) = watch.mismatch(programs.mecn_name) {
        return Err(EmulateError::Program(mismatch));
    }
    finish_capture(writer)
}

fn finish_capture(writer: Option<Writer>) -> Result<(), EmulateError> {
    let Some(writer) = writer else { return Ok(()) };
    writer.finish().map_err(|e| match e.raw_os_error() {
        Some(errno) => EmulateError::Capture(errno),
        None => EmulateError::system("writing the capture", e),
    })
}

/// Runs the router alone, between two existing interfaces of this namespace (left, right): until
/// the caller ends it, or with [`Options::limited`] for the scenario's duration. The scenario's
/// traffic is not started. Flows come from elsewhere and are told apart as they come.
///
/// # Errors
/// As for [`run`].
pub fn bridge(
    scenario: &Scenario,
    interfaces: [&str; 2],
    seed: u64,
    options: &Options,
    control: Option<Control>,
    alive: &mut dyn FnMut() -> bool,
) -> Result<Report, EmulateError> {
    let Prepared { mut config, plan, zero } = prepare(scenario, seed, options, true)?;
    let open = |name: &str| {
        Port::on(name).map_err(|e| match e.raw_os_error() {
            Some(libc::EPERM) => EmulateError::Refused(format!(
                "interface {name}: reading and sending its frames needs root (CAP_NET_RAW, CAP_NET_ADMIN)"
            )),
            _ => EmulateError::system(format!("interface {name}"), e),
        })
    };
    let ports = [open(interfaces[0])?, open(interfaces[1])?];
    let whole = |name| WholeFrames::on(name).map_err(|e| EmulateError::system(name, e));
    let _whole = [whole(interfaces[0])?, whole(interfaces[1])?];
    let (abort, header) = (Abort::default(), header(&config));
    let flows = Flows::new(vec![], (config.measure_from, config.measure_to), header);
    let path = Path::new(&config, Backend::Packet.layer(), &abort, flows)
        .map_err(|e| EmulateError::Scenario(e.to_string()))?;
    config.flows.clear();
    config.groups = 0;
    let (recorder, writer) = start_capture(options, Backend::Packet)?;
    let transmission = transmission(&config, header);
    let until = if options.limited { Time::ZERO + config.duration } else { penstock_sim::MAX_TIME };
    let shared = Shared::new(until);
    let mut holder = control.map(|control| Holder::new(control, None, scenario, &config));
    let packet_loop = Loop {
        path,
        ports,
        fifo: !options.no_fifo,
        bound: transmission,
        valid_bound: transmission.max(LATE_AT_LEAST),
        window: (config.measure_from, config.measure_to),
        capture: recorder,
        capture_out: options.pcap_out,
        shared: &shared,
        zero_ns: u64::MAX,
    };
    let ran = route(packet_loop, &abort, |zero, finished| {
        let Ok(zero_ns) = zero.recv() else { return Ok(false) };
        while !finished() {
            if abort.raised() {
                shared.stop.store(true, Ordering::Relaxed);
            }
            if !alive() {
                shared.stop.store(true, Ordering::Relaxed);
                return Ok(true);
            }
            let Some(holder) = &mut holder else {
                std::thread::sleep(LOOK);
                continue;
            };
            let since = || sys::monotonic_ns() as f64 - zero_ns as f64;
            if holder.hears(&shared, since() / 1e9, LOOK)? {
                shared.until_ns.fetch_min(since().max(0.0) as u64, Ordering::Relaxed);
            }
        }
        Ok(false)
    })?;
    finish_capture(writer)?;
    let facts = Facts {
        privilege: Privilege::Root,
        backend: Backend::Packet,
        header,
        transmission,
        exit_code: None,
        end: Time::from_nanos(shared.until_ns.load(Ordering::Relaxed)),
        zero,
        device_drops: 0,
        congestion_default: None,
        mecn: None,
        notes: [plan.notes, holder.map(|h| h.notes).unwrap_or_default()].concat(),
    };
    Ok(conclude(config, ran, Said::default(), &Log::default(), facts))
}

fn header(config: &Config) -> i32 {
    config.flows.iter().find_map(|f| f.app.tcp()).map_or(0, traffic::header)
}

/// Returns the time that a packet of 1500 B takes on the bottleneck.
fn transmission(config: &Config, header: i32) -> Duration {
    let link = &config.links[config.bottleneck];
    let bytes = (1500 + header).max(1) as u32;
    TxClock::new(link.rate).alone(link.framing.map_or(bytes, |framing| framing.wire(bytes)))
}

/// The facts known in addition to the router's counts.
struct Facts {
    privilege: Privilege,
    backend: Backend,
    header: i32,
    transmission: Duration,
    exit_code: Option<i32>,
    end: Time,
    zero: Option<Duration>,
    device_drops: u64,
    congestion_default: Option<String>,
    mecn: Option<serde_json::Value>,
    notes: Vec<String>,
}

/// The run as it was prepared.
struct Prepared {
    config: Config,
    plan: TrafficPlan,
    /// The scenario's time zero, where there is a lead-in: the lead-in takes its whole time.
    zero: Option<Duration>,
}

fn prepare(
    scenario: &Scenario,
    seed: u64,
    options: &Options,
    own: bool,
) -> Result<Prepared, EmulateError> {
    let refuse = |text: &str| Err(EmulateError::Scenario(text.into()));
    if !scenario.topology().is_dumbbell() {
        return refuse("topology.kind: emulation has one bottleneck; allowed: dumbbell");
    }
    let mut config = scenario.lower(seed).map_err(|e| EmulateError::Scenario(e.to_string()))?;
    if config.links.len() > 2 {
        return refuse("topology.bottleneck.shaped: emulation has one queue; leave the shaper out, or the modem: rate = the shaper's");
    }
    let lead = config.lead_in.take().filter(|_| !own);
    let zero = lead.as_ref().map(|lead| lead.limit);
    if let Some(lead) = &lead {
        // When a real sender leaves slow start is not known in time.
        config = penstock_sim::shifted(&config, lead, lead.limit);
    }
    config.record.series = options.series_s.map(Duration::from_secs_f64);
    // Real packets have no order of scheduling.
    config.ties_by_scheduling = false;
    if own {
        if !options.limited && scenario.measure_to().is_none() {
            config.measure_to = penstock_sim::MAX_TIME;
        }
        return Ok(Prepared { config, plan: TrafficPlan::none(), zero });
    }
    let plan = traffic::plan(&config, &scenario.traffic())?;
    Ok(Prepared { config, plan, zero })
}

fn conclude(mut config: Config, mut ran: Ran, said: Said, log: &Log, mut facts: Facts) -> Report {
    let (from, to) = (config.measure_from, config.measure_to);
    let end = facts.end.min(to);
    config.measure_to = end;
    let measured = from < end;
    if measured && end < to && to < penstock_sim::MAX_TIME {
        facts.notes.push(format!(
            "the program ended at {:.3} s, before the measured window did ({} to {} s)",
            end.as_secs_f64(),
            from.as_secs_f64(),
            to.as_secs_f64()
        ));
    }
    let zero_s = facts.zero.map_or(0.0, Duration::as_secs_f64);
    let since_zero = |t: Time| measured.then(|| t.as_secs_f64() - zero_s);
    ran.path.flows.close(end);
    let bottleneck = config.bottleneck;
    let back = config.links[bottleneck].opposite.expect("a dumbbell's link has an opposite");
    for side in [Side::Left, Side::Right] {
        let link = ran.path.link(side);
        link.finish(facts.end);
        link.close(end);
    }
    let mut series = ran.path.link(Side::Left).taken_tables();
    series.extend(said.series);
    let mean_rate = config.mean_rate(bottleneck);
    let view = ran.path.bottleneck().view(mean_rate).expect("the bottleneck is measured");
    let (mut links, mut bands) = (vec![], vec![]);
    for (side, i) in [(Side::Left, bottleneck), (Side::Right, back as usize)] {
        let (link, rate, name) = (ran.path.link(side), config.mean_rate(i), &config.links[i].name);
        bands.extend(BandResult::of(name, &link.bands(rate)));
        if config.measure_links {
            let metrics = link.view(rate).map(|view| values(LINK_METRICS, &view));
            let metrics = metrics.expect("both links are measured");
            links.push(LinkResult { name: name.clone(), metrics, series: link.taken_tables() });
        }
    }
    let packets = ran.path.packets(&config);
    let window = Window {
        packets,
        from_to: (config.measure_from, end),
        end: facts.end.min(Time::ZERO + config.duration),
        link: view,
        links,
        bands,
        measured: ran.path.flows.measured(),
        transfers: ran.path.flows.transfers(),
        log,
        facts: &said.facts,
        zero: facts.zero,
        access: ran.path.access_queue(&config.flows),
    };
    let result = report::result(&config, &window, series);
    let counts = ran.path.counts();
    let mut emulation = Emulation {
        backend: facts.backend,
        privilege: facts.privilege,
        priority: ran.priority,
        overhead_bytes: facts.header,
        duration_s: facts.end.as_secs_f64(),
        measured_from_s: since_zero(from),
        measured_to_s: since_zero(end),
        frames: counts,
        late_p50_s: ran.lateness.quantile_s(0.5),
        late_p99_s: ran.lateness.quantile_s(0.99),
        late_p999_s: ran.lateness.quantile_s(0.999),
        late_max_s: ran.lateness.max_s(),
        late_share: ran.lateness.share_late(),
        transmission_s: facts.transmission.as_secs_f64(),
        cpu_s: ran.cpu_s,
        cpu_per_packet_s: (counts.received > 0).then(|| ran.cpu_s / counts.received as f64),
        valid: true,
        invalid_because: vec![],
        unsent: ran.unsent,
        missed: ran.missed + facts.device_drops,
        oversized: ran.oversized,
        uncaptured: ran.uncaptured,
        received_ce: said.received_ce,
        received_ect1_bytes: said.received_ect1_bytes,
        congestion_default: facts.congestion_default,
        congestion: said.congestion,
        kernel: said.kernel,
        notes: facts.notes,
        mecn: facts.mecn,
        exit_code: facts.exit_code,
    };
    emulation.judge(from.as_secs_f64(), ran.lateness.share_beyond());
    Report { result, emulation }
}
