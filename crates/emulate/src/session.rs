//! One emulation from its beginning to its end: hosts, router, programs, what the kernels say, the
//! report.

use crate::capture;
use crate::error::EmulateError;
use crate::flows::Flows;
use crate::links::Links;
use crate::netns::{Namespace, Privilege};
use crate::path::{Path, Side};
use crate::port::{Backend, Port};
use crate::programs::Programs;
use crate::report::{self, Emulation, Report, Window, LATE_AT_LEAST};
use crate::router::{Loop, Ran, Shared};
use crate::sys;
use crate::traffic::{self, EcnUse, TrafficPlan, ADDRESSES};
use crate::watch::{Said, Watch};
use penstock_scenario::Scenario;
use penstock_sim::{Abort, App, Config};
use penstock_units::{Duration, Time, TxClock};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// The device of a host.
pub(crate) const DEVICE: &str = "eth0";

/// How to emulate.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// How frames travel; `None` means TUN where it may be opened, otherwise AF_PACKET.
    pub backend: Option<Backend>,
    /// Whether not to ask for SCHED_FIFO.
    pub no_fifo: bool,
    /// The user's program on the client's side, in place of the scenario's traffic. An empty list
    /// means a shell.
    pub client: Option<Vec<String>>,
    /// The user's program on the server's side, as a shell command.
    pub server: Option<String>,
    /// Whether the bottleneck's forward direction is from the server to the client.
    pub download: bool,
    /// Whether this process is in the foreground of the terminal on its standard input. The user's
    /// program then takes that place.
    pub foreground: bool,
    /// Whether the user's programs end after the scenario's duration.
    pub limited: bool,
    /// The file to capture into, which is emptied first.
    pub pcap: Option<PathBuf>,
    /// Whether to capture behind both queues and links instead of in front of them.
    pub pcap_out: bool,
    /// Sampling interval of the series.
    pub series_s: Option<f64>,
    /// The program that makes multi-level ECN's ends.
    pub mecn: Option<PathBuf>,
}

/// The progress of an emulation.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Status {
    /// Seconds since the beginning; negative before it.
    pub t_s: f64,
    /// Packets that wait at the bottleneck.
    pub queue_pkts: u64,
    /// Frames received so far.
    pub received: u64,
    /// Frames dropped so far.
    pub dropped: u64,
    /// Frames marked so far.
    pub marked: u64,
}

/// Emulates on this process, which [`crate::netns::isolate`] has prepared and which is the first of
/// its process namespace: when it ends, everything ends. `tell` is called about ten times a second;
/// `false` ends the run.
///
/// # Errors
/// Where the scenario or the machine does not allow it, or a program fails.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    options: &Options,
    privilege: Privilege,
    tell: &mut dyn FnMut(Status) -> bool,
) -> Result<Report, EmulateError> {
    let own = options.client.is_some() || options.server.is_some();
    let (mut config, plan) = prepare(scenario, seed, options, own)?;
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
    let capture = options.pcap.as_ref().map(|file| {
        let file = std::fs::File::create(file)?;
        capture::start(file, hosts.backend.layer())
    });
    let capture =
        capture.transpose().map_err(|e| EmulateError::system("opening the capture", e))?;
    let (recorder, writer) = capture.map_or((None, None), |(r, w)| (Some(r), Some(w)));

    let mut programs = Programs::start(&hosts, &plan, options, privilege)?;
    let transmission = transmission(&config, header);
    let endless = own && !options.limited;
    let until = if endless { penstock_sim::MAX_TIME } else { Time::ZERO + config.duration };
    let shared = Shared::new(until);
    let zero_ns = sys::monotonic_ns() + 50_000_000;
    let Hosts { namespaces, ports, backend, .. } = hosts;
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
        zero_ns,
    };
    let mut watch =
        Watch::new(&namespaces, &plan, &config, zero_ns, usize::from(!options.download))?;
    let (ran, interrupted) = std::thread::scope(|scope| {
        let router = scope.spawn(move || packet_loop.run());
        let watched =
            watch.run(&shared, &mut programs, endless, &abort, tell, || router.is_finished());
        if watched.is_err() {
            shared.stop.store(true, Ordering::Relaxed);
        }
        let ran = router.join().unwrap_or_else(|_| Err(io::Error::other("the router panicked")));
        (ran, watched)
    });
    let interrupted = interrupted?;
    if let Some(error) = abort.take() {
        return Err(EmulateError::Program(error.to_string()));
    }
    if interrupted {
        return Err(EmulateError::Interrupted);
    }
    let ran = ran.map_err(|e| EmulateError::system("the router", e))?;
    // The router has stopped and everything that was under way has arrived: what the kernels say
    // now is final.
    watch.settle()?;
    let device_drops = if backend == Backend::Tun { watch.device_drops() } else { 0 };
    for host in &namespaces {
        // Nobody answers any more: what the programs leave unsent is given up at the first chance,
        // and the namespace with it.
        host.sysctl(ORPHANS, "1").map_err(|e| EmulateError::system("ending the hosts", e))?;
    }
    let exit_code = programs.finish()?;
    if let Some(mismatch) = watch.mismatch(programs.mecn_name) {
        return Err(EmulateError::Program(mismatch));
    }
    if let Some(writer) = writer {
        writer.finish().map_err(|e| EmulateError::system("writing the capture", e))?;
    }
    let end =
        if endless { Time::from_nanos(shared.until_ns.load(Ordering::Relaxed)) } else { until };
    let facts = Facts {
        privilege,
        backend,
        header,
        transmission,
        exit_code,
        end,
        device_drops,
        mecn: programs.mecn_counts,
        notes: [plan.notes.clone(), programs.notes].concat(),
    };
    Ok(conclude(config, ran, watch.said(), facts))
}

/// Runs the router alone, between two existing interfaces of this namespace (left, right), for
/// `seconds` or the scenario's duration, with `seed` or the scenario's. The scenario's traffic is
/// not started. Flows come from elsewhere and are told apart as they come.
///
/// # Errors
/// As for [`run`].
pub fn bridge(
    scenario: &Scenario,
    interfaces: [&str; 2],
    seed: Option<u64>,
    seconds: Option<f64>,
) -> Result<Report, EmulateError> {
    let options = Options { limited: true, ..Options::default() };
    let (mut config, plan) =
        prepare(scenario, seed.unwrap_or_else(|| scenario.seed()), &options, true)?;
    if let Some(seconds) = seconds {
        config.duration = Duration::from_secs_f64(seconds);
        config.measure_to = config.measure_to.min(Time::ZERO + config.duration);
    }
    let open = |name: &str| {
        Port::on(name).map_err(|e| EmulateError::system(format!("interface {name}"), e))
    };
    let ports = [open(interfaces[0])?, open(interfaces[1])?];
    let header = header(&config);
    let flows = Flows::new(vec![], (config.measure_from, config.measure_to), header);
    let path = Path::new(&config, Backend::Packet.layer(), &Abort::default(), flows)
        .map_err(|e| EmulateError::Scenario(e.to_string()))?;
    config.flows.clear();
    config.groups = 0;
    let end = Time::ZERO + config.duration;
    let transmission = transmission(&config, header);
    let shared = Shared::new(end);
    let ran = Loop {
        path,
        ports,
        fifo: true,
        bound: transmission,
        valid_bound: transmission.max(LATE_AT_LEAST),
        window: (config.measure_from, config.measure_to),
        capture: None,
        capture_out: false,
        shared: &shared,
        zero_ns: sys::monotonic_ns(),
    }
    .run()
    .map_err(|e| EmulateError::system("the router", e))?;
    let facts = Facts {
        privilege: Privilege::Root,
        backend: Backend::Packet,
        header,
        transmission,
        exit_code: None,
        end,
        device_drops: 0,
        mecn: None,
        notes: plan.notes.clone(),
    };
    Ok(conclude(config, ran, Said::default(), facts))
}

fn header(config: &Config) -> i32 {
    let of = config.flows.iter().find_map(|f| match &f.app {
        App::Ftp { tcp, .. } => Some(traffic::header(tcp)),
        _ => None,
    });
    of.unwrap_or(0)
}

/// Returns the time that a packet of 1500 B takes on the bottleneck.
fn transmission(config: &Config, header: i32) -> Duration {
    TxClock::new(config.links[config.bottleneck].rate).alone((1500 + header).max(1) as u32)
}

/// What is known in addition to what the router counted.
struct Facts {
    privilege: Privilege,
    backend: Backend,
    header: i32,
    transmission: Duration,
    exit_code: Option<i32>,
    end: Time,
    device_drops: u64,
    mecn: Option<serde_json::Value>,
    notes: Vec<String>,
}

fn prepare(
    scenario: &Scenario,
    seed: u64,
    options: &Options,
    own: bool,
) -> Result<(Config, TrafficPlan), EmulateError> {
    let refuse = |text: &str| Err(EmulateError::Scenario(text.into()));
    if scenario.resolved()["topology"]["kind"] != "dumbbell" {
        return refuse("topology.kind: emulation has one bottleneck; allowed: dumbbell");
    }
    let mut config = scenario.lower(seed).map_err(|e| EmulateError::Scenario(e.to_string()))?;
    config.record.series = options.series_s.map(Duration::from_secs_f64);
    // Real packets have no order of scheduling.
    config.ties_by_scheduling = false;
    if own {
        if !options.limited {
            config.measure_from = Time::ZERO;
            config.measure_to = penstock_sim::MAX_TIME;
        }
        let plan = TrafficPlan { flows: vec![], sack: true, betas: None, notes: vec![] };
        return Ok((config, plan));
    }
    let plan = traffic::plan(&config, &scenario.source())?;
    Ok((config, plan))
}

/// Both hosts, and the router's ports to them.
pub(crate) struct Hosts {
    pub(crate) namespaces: [Namespace; 2],
    ports: [Port; 2],
    pub(crate) backend: Backend,
}

impl Hosts {
    fn new(
        options: &Options,
        plan: &TrafficPlan,
        own: bool,
        scenario: &Scenario,
    ) -> Result<Self, EmulateError> {
        let failed = |e| EmulateError::system("making the hosts", e);
        let namespaces = [Namespace::new().map_err(failed)?, Namespace::new().map_err(failed)?];
        let _ = Namespace::current().and_then(|here| no_ipv6(&here));
        if !own {
            has_congestion_controls(&namespaces[0], plan)?;
        }
        for (i, host) in namespaces.iter().enumerate() {
            settings(host, plan, own, scenario)
                .map_err(|e| EmulateError::system(format!("host {i}"), e))?;
        }
        let tun = || -> io::Result<[Port; 2]> {
            let made = [
                namespaces[0].with(|| sys::tun(DEVICE))?,
                namespaces[1].with(|| sys::tun(DEVICE))?,
            ];
            Ok(made.map(|fd| Port::new(Backend::Tun, fd)))
        };
        let (backend, ports) = match options.backend {
            Some(Backend::Packet) => (Backend::Packet, None),
            Some(Backend::Tun) => {
                let ports = tun().map_err(|e| {
                    EmulateError::Refused(format!(
                        "/dev/net/tun: {e}; --backend packet needs no device"
                    ))
                })?;
                (Backend::Tun, Some(ports))
            }
            None => tun().map_or((Backend::Packet, None), |ports| (Backend::Tun, Some(ports))),
        };
        let ports = match ports {
            Some(ports) => ports,
            None => wires(&namespaces)?,
        };
        for (side, host) in namespaces.iter().enumerate() {
            addresses(host, side, own, backend)
                .map_err(|e| EmulateError::system(format!("setting up host {side}"), e))?;
        }
        let [left, right] = ports;
        // With --download the client's host is on the right of the bottleneck.
        Ok(Hosts {
            namespaces,
            ports: if options.download { [right, left] } else { [left, right] },
            backend,
        })
    }
}

/// Two wires, and raw sockets on this end of each.
fn wires(namespaces: &[Namespace; 2]) -> Result<[Port; 2], EmulateError> {
    let make = || -> io::Result<[Port; 2]> {
        let links = Links::open()?;
        let one = |name: &str, host: &Namespace| -> io::Result<Port> {
            links.wire(name, DEVICE, host.fd().as_fd())?;
            links.queue(name, 10_000)?;
            links.up(name)?;
            Port::on(name)
        };
        Ok([one("left", &namespaces[0])?, one("right", &namespaces[1])?])
    };
    make().map_err(|e| EmulateError::system("making the wires", e))
}

fn no_ipv6(host: &Namespace) -> io::Result<()> {
    if std::path::Path::new("/proc/sys/net/ipv6").exists() {
        host.sysctl("net/ipv6/conf/all/disable_ipv6", "1")?;
        host.sysctl("net/ipv6/conf/default/disable_ipv6", "1")?;
    }
    Ok(())
}

/// Checks whether the kernel has what the flows ask for. It is asked as a program would ask, so
/// that it may load a module.
fn has_congestion_controls(host: &Namespace, plan: &TrafficPlan) -> Result<(), EmulateError> {
    let mut asked: Vec<&str> = plan.flows.iter().filter_map(|f| f.congestion).collect();
    asked.sort_unstable();
    asked.dedup();
    for name in asked {
        let Err(e) = host.with(|| sys::tcp_socket(Some(name), 1460, None, 0)) else { continue };
        let there = host.with(|| {
            std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        });
        let there = there.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(", ");
        return Err(EmulateError::Missing(format!(
            "tcp = \"{name}\": this kernel has no such congestion control ({e}); it has {there}; `modprobe tcp_{name}` may load it"
        )));
    }
    Ok(())
}

/// How often a connection whose program is gone is tried again.
const ORPHANS: &str = "net/ipv4/tcp_orphan_retries";

/// The host's TCP.
fn settings(
    host: &Namespace,
    plan: &TrafficPlan,
    own: bool,
    scenario: &Scenario,
) -> io::Result<()> {
    // What one connection has learnt is not for the next.
    host.sysctl("net/ipv4/tcp_no_metrics_save", "1")?;
    // Sockets that outlive their program hold the namespace, for 100 s by default where the other
    // end is gone: here for some 10 s.
    host.sysctl(ORPHANS, "5")?;
    if own {
        if scenario.resolved()["aqm"]["ecn"] == true {
            host.sysctl("net/ipv4/tcp_ecn", "1")?;
        }
        return Ok(());
    }
    no_ipv6(host)?;
    // A SYN that is lost asks for ECN again.
    host.sysctl("net/ipv4/tcp_ecn_fallback", "0")?;
    let accurate = plan.flows.iter().any(|f| f.ecn == EcnUse::Accurate);
    // Passive: only flows whose route asks for ECN negotiate it.
    host.sysctl("net/ipv4/tcp_ecn", if accurate { "3" } else { "2" }).map_err(|e| {
        if accurate {
            io::Error::other(format!(
                "ecn = \"accecn\": this kernel's TCP cannot negotiate it ({e})"
            ))
        } else {
            e
        }
    })?;
    host.sysctl("net/ipv4/tcp_sack", if plan.sack { "1" } else { "0" })
}

fn addresses(host: &Namespace, side: usize, own: bool, backend: Backend) -> io::Result<()> {
    host.with(|| {
        let links = Links::open()?;
        if backend == Backend::Packet {
            sys::no_offload(DEVICE)?;
        }
        links.queue(DEVICE, 10_000)?;
        for address in ADDRESSES[side] {
            links.address(DEVICE, IpAddr::V4(address), 24)?;
        }
        if own && std::path::Path::new("/proc/sys/net/ipv6").exists() {
            links.address(DEVICE, IpAddr::V6(address6(side)), 64)?;
        }
        links.up(DEVICE)?;
        links.ecn_route(DEVICE, ADDRESSES[1 - side][1])
    })
}

pub(crate) fn address6(side: usize) -> Ipv6Addr {
    Ipv6Addr::new(0xfd09, 0, 0, 0, 0, 0, 0, 1 + side as u16)
}

fn conclude(mut config: Config, mut ran: Ran, said: Said, facts: Facts) -> Report {
    let end = facts.end.min(config.measure_to);
    config.measure_to = end;
    ran.path.flows.close(end);
    let link = ran.path.link(Side::Left);
    link.finish(facts.end);
    link.close(end);
    let mut series = link.tables();
    series.extend(said.series);
    let window = Window {
        seconds: end.since(config.measure_from).as_secs_f64(),
        mean_rate: config.links[config.bottleneck].mean_rate(config.measure_from, end),
        measured: ran.path.flows.measured(),
        transfers: ran.path.flows.transfers(),
        facts: &said.facts,
    };
    let result = report::result(&config, ran.path.bottleneck(), &window, series);
    let counts = ran.path.counts;
    let mut emulation = Emulation {
        backend: facts.backend,
        privilege: facts.privilege,
        priority: ran.priority,
        overhead_bytes: facts.header,
        duration_s: facts.end.as_secs_f64(),
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
        kernel: said.kernel,
        notes: facts.notes,
        mecn: facts.mecn,
        exit_code: facts.exit_code,
    };
    emulation.judge(ran.lateness.share_beyond());
    Report { result, emulation }
}
