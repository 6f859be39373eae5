//! The scenario's traffic as programs: iperf3 with the kernel's TCP, one pair of processes per
//! flow; threads of this process; or the user's programs.

use crate::error::EmulateError;
use crate::flows::Known;
use crate::side::Side;
use crate::socket::largest_buffer;
use crate::stream::Stream;
use crate::transfer::Transfer;
use penstock_scenario::TrafficView;
use penstock_sim::{App, Config, FlowConfig, UdpPattern};
use penstock_tcp::{ControlParams, Ecn, TcpParams, VARIANTS};
use penstock_units::{Bytes, Rate, Time};
use std::net::Ipv4Addr;

/// Ports of the listening ends, one per flow.
const FIRST_PORT: u16 = 20_000;
/// The largest number of flows, limited by their ports.
const MOST_FLOWS: usize = 40_000;
/// The payload and the timestamps of an MTU of 1500 B.
const LARGEST_MSS: u32 = 1460;
/// The ports that the kernel gives to other ends, first and last.
pub const OTHER_PORTS: (u16, u16) = (FIRST_PORT + MOST_FLOWS as u16, u16::MAX);

/// Addresses of the two sides: the first of each asks for nothing, connections to the second ask
/// for ECN.
pub const ADDRESSES: [[Ipv4Addr; 2]; 2] = [
    [Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 3)],
    [Ipv4Addr::new(10, 9, 0, 2), Ipv4Addr::new(10, 9, 0, 4)],
];

/// A flow as a pair of programs.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The router's knowledge of the flow.
    pub known: Known,
    /// The time at which the flow starts.
    pub start: Time,
    /// The time at which the flow stops.
    pub stop: Time,
    /// The congestion control that the kernel is to use; `None` for datagrams.
    pub congestion: Option<&'static str>,
    /// The way in which the flow uses ECN.
    pub ecn: Ecn,
    /// The programs that carry the flow.
    pub by: By,
}

/// The programs of a flow.
#[derive(Clone, Debug)]
pub enum By {
    /// iperf3, for a flow that continues until it is stopped.
    Iperf3 {
        /// Arguments of the sending process.
        sender: Vec<String>,
        /// Arguments of the listening process.
        listener: Vec<String>,
    },
    /// Threads of this process, for a transfer that ends by itself.
    Threads(Transfer),
    /// The event loops of this process, for web and video.
    Loops(Stream),
}

impl By {
    /// Returns the connections of a flow that the event loops carry.
    pub fn stream(&self) -> Option<&Stream> {
        match self {
            By::Loops(stream) => Some(stream),
            _ => None,
        }
    }
}

/// The traffic of a scenario as programs.
#[derive(Clone, Debug)]
pub struct TrafficPlan {
    /// The flows, in the order of the scenario.
    pub flows: Vec<Planned>,
    /// Whether TCP may use selective acknowledgements.
    pub sack: bool,
    /// The most that a socket's send buffer grows to, where the scenario says so.
    pub send_buffer: Option<Bytes>,
    /// The parts of the window that multi-level ECN's three signals take, if any flow uses it.
    pub betas: Option<[f64; 3]>,
    /// Keys of the scenario that the kernel's TCP ignores.
    pub notes: Vec<String>,
}

impl TrafficPlan {
    /// A plan without traffic.
    pub fn none() -> Self {
        TrafficPlan { flows: vec![], sack: true, send_buffer: None, betas: None, notes: vec![] }
    }

    /// Returns how many flows the event loops carry.
    pub fn streams(&self) -> usize {
        self.flows.iter().filter(|f| f.by.stream().is_some()).count()
    }
}

/// Returns what the kernel calls a flow's congestion control.
fn kernel_name(tcp: &TcpParams) -> Result<&'static str, EmulateError> {
    let variant = tcp.variant();
    variant.linux.ok_or_else(|| {
        let known = VARIANTS.iter().filter(|v| v.linux.is_some()).map(|v| v.name);
        EmulateError::Scenario(format!(
            "tcp = \"{}\": Linux has none; allowed, where the kernel has them: {}",
            variant.name,
            known.collect::<Vec<_>>().join(", ")
        ))
    })
}

/// Plans the flows of a run. `written`: the entries of `[[traffic]]`.
///
/// # Errors
/// Where the scenario asks for what real packets cannot be given.
pub fn plan(c: &Config, written: &[TrafficView<'_>]) -> Result<TrafficPlan, EmulateError> {
    if c.flows.len() > MOST_FLOWS {
        return refuse(format!("{} flows; emulation has ports for {MOST_FLOWS}", c.flows.len()));
    }
    let largest = largest_buffer()
        .map_err(|e| EmulateError::system("asking how large a socket's buffers may be", e))?;
    let wide = too_wide(c, written, largest);
    let notes = [notes(written), too_long(c), wide, fixed_buffers(written)].concat();
    let mut plan = TrafficPlan { notes, ..TrafficPlan::none() };
    let (mut newreno, mut other_tcp) = (false, false);
    for (f, port) in c.flows.iter().zip(FIRST_PORT..) {
        let entry = written.get(f.group as usize);
        let flow = Plan { f, port, end: Time::ZERO + c.duration, entry, largest };
        if f.app.tcp().is_some_and(|tcp| tcp.ecn == Ecn::Sce) {
            return refuse(format!(
                "{}.ecn = \"sce\": no kernel has it but its authors'",
                flow.place()
            ));
        }
        let planned = flow.planned()?;
        if let Some(tcp) = f.app.tcp() {
            let without_sack = tcp.variant().name == "newreno";
            newreno |= without_sack;
            other_tcp |= !without_sack;
            if planned.ecn == Ecn::Mecn {
                if tcp.control != ControlParams::Reno {
                    return refuse(format!(
                        "{}.ecn = \"mecn\": on real packets with reno, newreno and sack",
                        flow.place()
                    ));
                }
                plan.betas = Some([tcp.mecn.beta1, tcp.mecn.beta2, tcp.mecn.beta3]);
            }
        }
        plan.flows.push(planned);
    }
    if newreno && other_tcp {
        return refuse(
            "tcp = \"newreno\" beside another: whether TCP uses SACK holds for a whole host; give \
             all flows newreno, or none"
                .into(),
        );
    }
    plan.sack = !newreno;
    let mut buffers = c.flows.iter().filter_map(|f| f.app.tcp()).map(|tcp| tcp.send_buffer);
    plan.send_buffer = buffers.next().flatten();
    if buffers.any(|buffer| buffer != plan.send_buffer) {
        return refuse(
            "send_buffer: on real packets a host's sockets have one; give all flows the same, or \
             none"
                .into(),
        );
    }
    Ok(plan)
}

fn refuse<T>(text: String) -> Result<T, EmulateError> {
    Err(EmulateError::Scenario(text))
}

/// Says which keys of the scenario the kernel's TCP, and iperf3, have no use for.
fn notes(written: &[TrafficView<'_>]) -> Vec<String> {
    let of = |(i, entry): (usize, &TrafficView<'_>)| {
        let keys = entry.written().filter(|key| KERNELS.contains(key));
        keys.map(|key| format!("traffic.{i}.{key}: the kernel's own holds")).collect::<Vec<_>>()
    };
    written.iter().enumerate().flat_map(of).collect()
}

/// Says where segments are longer than the hosts' MTU allows.
fn too_long(c: &Config) -> Vec<String> {
    let long = |f: &&FlowConfig| f.app.tcp().is_some_and(|tcp| mss(tcp) > LARGEST_MSS);
    let mut groups: Vec<u32> = c.flows.iter().filter(long).map(|f| f.group).collect();
    groups.dedup();
    let say = |group| format!("traffic.{group}.segment: 1448 B, since the hosts' MTU is 1500 B");
    groups.into_iter().map(say).collect()
}

/// Says where windows are larger than sockets' buffers may be. iperf3 would not run with them.
fn too_wide(c: &Config, written: &[TrafficView<'_>], largest: u32) -> Vec<String> {
    let given = |f: &FlowConfig| written.get(f.group as usize).is_some_and(|e| e.has("window"));
    let wide = |f: &FlowConfig| {
        let tcp = f.app.tcp().filter(|tcp| window_bytes(tcp) > largest)?;
        given(f).then_some((f.group, largest / tcp.segment_bytes()))
    };
    let mut groups: Vec<_> = c.flows.iter().filter_map(wide).collect();
    groups.dedup();
    let say = |(group, most)| {
        let why = "a socket's buffers are no larger here (net.core.rmem_max, wmem_max)";
        format!("traffic.{group}.window: {most} segments, since {why}")
    };
    groups.into_iter().map(say).collect()
}

/// Says where a window that is given fixes the socket's buffers, and so its send buffer.
fn fixed_buffers(written: &[TrafficView<'_>]) -> Vec<String> {
    let both = |e: &TrafficView<'_>| e.has("window") && e.has("send_buffer");
    let groups = written.iter().enumerate().filter(|(_, e)| both(e));
    let say =
        |i| format!("traffic.{i}.send_buffer: twice `window`, which fixes a socket's buffers");
    groups.map(|(i, _)| say(i)).collect()
}

fn window_bytes(tcp: &TcpParams) -> u32 {
    tcp.window.saturating_mul(tcp.segment_bytes())
}

/// A flow that becomes a pair of programs.
struct Plan<'a> {
    f: &'a FlowConfig,
    port: u16,
    /// The end of the run.
    end: Time,
    /// Its entry of `[[traffic]]`.
    entry: Option<&'a TrafficView<'a>>,
    /// The largest buffers of a socket, bytes.
    largest: u32,
}

impl Plan<'_> {
    /// Returns the place of the flow in the scenario.
    fn place(&self) -> String {
        format!("traffic.{}", self.f.group)
    }

    fn sender(&self) -> Side {
        if self.f.leads_forward() {
            Side::Left
        } else {
            Side::Right
        }
    }

    /// The receiver's address: the one that negotiates ECN, or the other.
    fn to(&self, ecn: bool) -> Ipv4Addr {
        ADDRESSES[self.sender().other() as usize][usize::from(ecn)]
    }

    fn stop(&self, stop: Option<Time>) -> Time {
        stop.unwrap_or(self.end).min(self.end)
    }

    /// Returns whole seconds for iperf3, longer than the run, which ends it.
    fn seconds(&self, start: Time, stop: Option<Time>) -> String {
        (self.stop(stop).since(start).as_secs_f64().ceil() as u64 + 2).to_string()
    }

    /// The programs that carry the flow.
    fn planned(&self) -> Result<Planned, EmulateError> {
        match &self.f.app {
            App::Ftp { tcp, start, stop, bytes, .. } => self.ftp(tcp, *start, *stop, *bytes),
            App::Web { tcp, start, .. } => self.stream(tcp, *start, None, false),
            App::Browser { tcp, session, .. } => {
                self.stream(tcp, session.start, session.request, session.persistent)
            }
            App::Video { tcp, start, .. } => self.stream(tcp, *start, None, true),
            App::Udp { rate, packet, pattern: UdpPattern::Cbr, start, stop, .. } => {
                self.cbr(*rate, *packet, *start, *stop)
            }
            App::Udp { .. } | App::Replay { .. } => refuse(format!(
                "{}.kind: on real packets ftp, web, video, cbr, and voip without pauses; run your \
                 own program for other traffic (--client, --server)",
                self.place()
            )),
        }
    }

    fn listener(&self) -> Vec<String> {
        ["-s", "-1", "-p", &self.port.to_string()].map(String::from).to_vec()
    }

    fn ftp(
        &self,
        tcp: &TcpParams,
        start: Time,
        stop: Option<Time>,
        bytes: Option<u64>,
    ) -> Result<Planned, EmulateError> {
        let (ecn, sender) = (tcp.ecn, self.sender());
        let (to, port) = (self.to(ecn != Ecn::Off), self.port);
        let (mss, buffer, class) = (mss(tcp), self.buffer(tcp), self.f.class);
        let by = match bytes {
            Some(bytes) => By::Threads(Transfer { to, port, bytes, mss, buffer, class }),
            None => {
                let seconds = self.seconds(start, stop);
                By::Iperf3 {
                    sender: iperf3_tcp(to, port, mss, seconds, buffer, class),
                    listener: self.listener(),
                }
            }
        };
        let every_connection = false;
        let header = header(tcp);
        Ok(Planned {
            known: Known { port, sender, udp: false, header, bytes, every_connection },
            start,
            stop: self.stop(stop),
            congestion: Some(kernel_name(tcp)?),
            ecn,
            by,
        })
    }

    /// A flow of web or video. The end that listens is the server where its client asks, or the
    /// client, which waits for the server.
    fn stream(
        &self,
        tcp: &TcpParams,
        start: Time,
        request: Option<u32>,
        persistent: bool,
    ) -> Result<Planned, EmulateError> {
        let (ecn, sender) = (tcp.ecn, self.sender());
        let listens = if request.is_some() { sender } else { sender.other() };
        let to = ADDRESSES[listens as usize][usize::from(ecn != Ecn::Off)];
        let (mss, buffer, class) = (mss(tcp), self.buffer(tcp), self.f.class);
        let (port, header) = (self.port, header(tcp));
        let stream = Stream { to, port, mss, buffer, class, request, persistent };
        let (bytes, every_connection) = (None, true);
        Ok(Planned {
            known: Known { port, sender, udp: false, header, bytes, every_connection },
            start,
            stop: self.end,
            congestion: Some(kernel_name(tcp)?),
            ecn,
            by: By::Loops(stream),
        })
    }

    /// The size of the sockets' buffers, where the entry says how large the window may be.
    fn buffer(&self, tcp: &TcpParams) -> Option<u32> {
        let window = self.entry.is_some_and(|entry| entry.has("window"));
        window.then(|| window_bytes(tcp).min(self.largest))
    }

    fn cbr(
        &self,
        rate: Rate,
        packet: Bytes,
        start: Time,
        stop: Option<Time>,
    ) -> Result<Planned, EmulateError> {
        let payload = packet.0.saturating_sub(28);
        if !(16..=1472).contains(&payload) {
            return refuse(format!(
                "{}.packet = {} B: on real packets from 44 B to 1500 B",
                self.place(),
                packet.0
            ));
        }
        let bps = rate.as_bps() as f64 * payload as f64 / packet.0 as f64;
        let gap_us = packet.0 as f64 * 8e6 / rate.as_bps() as f64;
        let (to, port) = (self.to(false).to_string(), self.port.to_string());
        let mut args: Vec<String> =
            ["-c", &to, "-p", &port, "-u", "-i", "0", "-J"].map(String::from).into();
        args.extend(["-l".into(), payload.to_string(), "-b".into(), format!("{bps:.0}")]);
        // iperf3 looks at the time that often: a tenth of a gap, not more than needed.
        let pacing = (gap_us / 10.0).clamp(20.0, 1000.0).round();
        args.extend(["--pacing-timer".into(), pacing.to_string()]);
        args.extend(["-t".into(), self.seconds(start, stop)]);
        let (port, sender) = (self.port, self.sender());
        Ok(Planned {
            known: Known {
                port,
                sender,
                udp: true,
                header: 0,
                bytes: None,
                every_connection: false,
            },
            start,
            stop: self.stop(stop),
            congestion: None,
            ecn: Ecn::Off,
            by: By::Iperf3 { sender: args, listener: self.listener() },
        })
    }
}

/// A data segment carries 12 bytes of timestamps, which count against the MSS.
fn mss(tcp: &TcpParams) -> u32 {
    tcp.segment_bytes() + 12
}

/// Arguments of the iperf3 that sends a transfer without end.
fn iperf3_tcp(
    to: Ipv4Addr,
    port: u16,
    mss: u32,
    seconds: String,
    buffer: Option<u32>,
    class: u8,
) -> Vec<String> {
    let (to, port, mss) = (to.to_string(), port.to_string(), mss.to_string());
    // The port is the same at this end: so it is known which of iperf3's connections has the data.
    let mut args: Vec<String> =
        ["-c", &to, "-p", &port, "--cport", &port, "-M", &mss, "-i", "0", "-J", "-t", &seconds]
            .map(String::from)
            .into();
    if let Some(bytes) = buffer {
        args.extend(["-w".into(), bytes.to_string()]);
    }
    if class > 0 {
        args.extend(["--dscp".into(), class.to_string()]);
    }
    args
}

/// Returns the bytes per packet that the wire counts in addition to IP's, from the header bytes
/// that the scenario counts per segment: beyond those of a segment's own headers. 52 B are those with
/// the timestamps that the kernel's segments have.
pub fn header(tcp: &TcpParams) -> i32 {
    match tcp.header_bytes() as i32 {
        52 => 0,
        bytes => bytes - tcp.bare_bytes() as i32,
    }
}

/// Keys of an entry that the kernel's TCP decides for itself, and iperf3.
const KERNELS: &[&str] = &[
    "connect",
    "greeting",
    "delayed_ack",
    "delayed_ack_timeout",
    "delayed_ack_adapts",
    "quickack",
    "sack_compression",
    "pacing",
    "min_rto",
    "max_rto",
    "initial_rto",
    "tick",
    "rtt_clock",
    "initial_window",
    "initial_ssthresh",
    "limited_transmit",
    "send_overhead",
    "cwnd_floor",
    "ssthresh_from",
    "growth",
    "window_validation",
    "idle_restart",
    "whole_cwnd",
    "go_back_n",
    "loss_recovery",
    "reduction",
    "tlp",
    "undo",
    "retransmit_ect",
    "ecn_across_connections",
    "incipient",
    "escalate",
    "latch",
    "codepoints",
    "accecn_option",
    "ace",
    "ect_on",
    "ecn_fallback",
    "handshake",
    "whole_segments",
    "jitter",
];
