//! The scenario's traffic as programs: iperf3 with the kernel's TCP, one pair of processes a flow;
//! or the user's own.

use crate::error::EmulateError;
use crate::flows::Known;
use crate::path::Side;
use crate::transfer::Transfer;
use penstock_scenario::TrafficView;
use penstock_sim::{App, Config, FlowConfig, UdpPattern};
use penstock_tcp::{Ecn, TcpParams, Variant};
use penstock_units::{Bytes, Rate, Time};
use std::net::Ipv4Addr;

/// Ports of the listening ends, one a flow.
const FIRST_PORT: u16 = 20_000;
/// As many flows as have ports.
const MOST_FLOWS: usize = 40_000;

/// Addresses of the two sides: the first of each asks for nothing, connections to the second ask
/// for ECN.
pub const ADDRESSES: [[Ipv4Addr; 2]; 2] = [
    [Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 3)],
    [Ipv4Addr::new(10, 9, 0, 2), Ipv4Addr::new(10, 9, 0, 4)],
];

/// How a flow uses ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnUse {
    /// Not.
    Off,
    /// RFC 3168.
    Classic,
    /// Multi-level ECN.
    Mecn,
    /// AccECN.
    Accurate,
}

/// A flow as a pair of programs.
#[derive(Clone, Debug)]
pub struct Planned {
    /// For the router.
    pub known: Known,
    /// When it starts and stops.
    pub start: Time,
    /// See above.
    pub stop: Time,
    /// The congestion control that the kernel is to use; `None`: datagrams.
    pub congestion: Option<&'static str>,
    /// See there.
    pub ecn: EcnUse,
    /// Who makes it.
    pub by: By,
}

/// The programs of a flow.
#[derive(Clone, Debug)]
pub enum By {
    /// iperf3, for what goes on until it is stopped.
    Iperf3 {
        /// Arguments of the sending one.
        sender: Vec<String>,
        /// Arguments of the listening one.
        listener: Vec<String>,
    },
    /// Threads of this process, for what ends by itself.
    Threads(Transfer),
}

/// What the traffic of a scenario becomes.
#[derive(Clone, Debug)]
pub struct TrafficPlan {
    /// In the order of the scenario's flows.
    pub flows: Vec<Planned>,
    /// Whether TCP may use selective acknowledgements.
    pub sack: bool,
    /// The parts of the window that multi-level ECN's three signals take, if any flow uses it.
    pub betas: Option<[f64; 3]>,
    /// Keys of the scenario that the kernel's TCP has no use for.
    pub notes: Vec<String>,
}

/// What the kernel calls a transport.
fn kernel_name(variant: Variant) -> Result<&'static str, EmulateError> {
    Ok(match variant {
        Variant::Reno | Variant::NewReno | Variant::Sack => "reno",
        Variant::Vegas => "vegas",
        Variant::Westwood => "westwood",
        Variant::Cubic => "cubic",
        Variant::Dctcp => "dctcp",
        other => {
            return Err(EmulateError::Scenario(format!(
                "tcp = \"{}\": Linux has none; allowed: reno, newreno, sack, cubic, and where the kernel has them vegas, westwood, dctcp",
                format!("{other:?}").to_lowercase()
            )))
        }
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
    let mut plan = TrafficPlan { flows: vec![], sack: true, betas: None, notes: notes(written) };
    let (mut newreno, mut other_tcp) = (false, false);
    for (f, port) in c.flows.iter().zip(FIRST_PORT..) {
        let entry = written.get(f.group as usize);
        let flow = Plan { f, port, end: Time::ZERO + c.duration, entry };
        let planned = match &f.app {
            App::Ftp { tcp, start, stop, bytes } => {
                newreno |= tcp.variant == Variant::NewReno;
                other_tcp |= tcp.variant != Variant::NewReno;
                let planned = flow.ftp(tcp, *start, *stop, *bytes)?;
                if planned.ecn == EcnUse::Mecn {
                    plan.betas = Some([tcp.beta1, tcp.beta2, tcp.beta3]);
                }
                planned
            }
            App::Udp { rate, packet, pattern: UdpPattern::Cbr, start, stop, .. } => {
                flow.cbr(*rate, *packet, *start, *stop)?
            }
            _ => {
                return refuse(format!(
                    "{}.kind: on real packets ftp and cbr; run your own program for other traffic \
                     (--client, --server)",
                    flow.place()
                ))
            }
        };
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
    Ok(plan)
}

fn refuse<T>(text: String) -> Result<T, EmulateError> {
    Err(EmulateError::Scenario(text))
}

/// Says which keys of the scenario the kernel's TCP has no use for.
fn notes(written: &[TrafficView<'_>]) -> Vec<String> {
    let of = |(i, entry): (usize, &TrafficView<'_>)| {
        let keys = entry.written().filter(|key| KERNELS.contains(key));
        keys.map(|key| format!("traffic.{i}.{key}: the kernel's own holds")).collect::<Vec<_>>()
    };
    written.iter().enumerate().flat_map(of).collect()
}

/// A flow that becomes a pair of programs.
struct Plan<'a> {
    f: &'a FlowConfig,
    port: u16,
    /// When the run ends.
    end: Time,
    /// Its entry of `[[traffic]]`.
    entry: Option<&'a TrafficView<'a>>,
}

impl Plan<'_> {
    /// Where the flow stands in the scenario.
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

    /// Whole seconds for iperf3, longer than the run, which ends it.
    fn seconds(&self, start: Time, stop: Option<Time>) -> String {
        (self.stop(stop).since(start).as_secs_f64().ceil() as u64 + 2).to_string()
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
        let congestion = kernel_name(tcp.variant)?;
        let ecn = match tcp.ecn {
            Ecn::Off => EcnUse::Off,
            Ecn::Classic => EcnUse::Classic,
            Ecn::Mecn => EcnUse::Mecn,
            Ecn::AccEcn => EcnUse::Accurate,
            other => {
                return refuse(format!("{}.ecn: {other:?} is unknown to emulation", self.place()))
            }
        };
        let (to, port, class) = (self.to(ecn != EcnUse::Off), self.port, self.f.class);
        let window = self.entry.is_some_and(|entry| entry.has("window"));
        let buffer = window.then(|| tcp.window.saturating_mul(tcp.segment));
        // A data segment carries 12 bytes of timestamps, which count against the MSS.
        let mss = tcp.segment + 12;
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
        Ok(Planned {
            known: Known { port, sender: self.sender(), udp: false, header: header(tcp), bytes },
            start,
            stop: self.stop(stop),
            congestion: Some(congestion),
            ecn,
            by,
        })
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
            known: Known { port, sender, udp: true, header: 0, bytes: None },
            start,
            stop: self.stop(stop),
            congestion: None,
            ecn: EcnUse::Off,
            by: By::Iperf3 { sender: args, listener: self.listener() },
        })
    }
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

/// Bytes of the wire beside those of IP, from the header bytes that the scenario counts on a
/// segment.
pub fn header(tcp: &TcpParams) -> i32 {
    tcp.header as i32 - 40
}

/// Keys of an entry that the kernel's TCP decides for itself.
const KERNELS: &[&str] = &[
    "delayed_ack",
    "delayed_ack_timeout",
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
    "go_back_n",
    "loss_recovery",
    "retransmit_ect",
    "ecn_across_connections",
    "incipient",
    "escalate",
    "latch",
    "codepoints",
    "handshake",
    "whole_segments",
    "jitter",
];
