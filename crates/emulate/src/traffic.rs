//! The scenario's traffic as programs: iperf3 with the kernel's TCP, one pair of processes per
//! flow, or the user's programs.

use crate::error::EmulateError;
use crate::flows::Known;
use crate::path::Side;
use crate::transfer::Transfer;
use penstock_sim::{App, Config, UdpPattern};
use penstock_tcp::{ControlParams, Ecn, TcpParams, VARIANTS};
use penstock_units::Time;
use std::net::Ipv4Addr;

/// Ports of the listening ends, one per flow.
const FIRST_PORT: u16 = 20_000;
/// The largest number of flows, limited by their ports.
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
    /// Not at all.
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
    /// What the router knows about the flow.
    pub known: Known,
    /// When the flow starts.
    pub start: Time,
    /// When the flow stops.
    pub stop: Time,
    /// The congestion control that the kernel is to use; `None` for datagrams.
    pub congestion: Option<&'static str>,
    /// How the flow uses ECN.
    pub ecn: EcnUse,
    /// Which programs carry the flow.
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
    /// Keys of the scenario that the kernel's TCP ignores.
    pub notes: Vec<String>,
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

/// Plans the flows of a run. `source` is the scenario as it was written.
///
/// # Errors
/// If the scenario asks for something that real packets cannot have.
pub fn plan(c: &Config, source: &serde_json::Value) -> Result<TrafficPlan, EmulateError> {
    let refuse = |text: String| Err(EmulateError::Scenario(text));
    if c.flows.len() > MOST_FLOWS {
        return refuse(format!("{} flows; emulation has ports for {MOST_FLOWS}", c.flows.len()));
    }
    let end = Time::ZERO + c.duration;
    let mut flows = vec![];
    let given = given(source);
    let of_the_kernel = given.iter().enumerate().flat_map(|(i, keys)| {
        let own = keys.iter().filter(|key| KERNELS.contains(key));
        own.map(move |key| format!("traffic.{i}.{key}: the kernel's own holds"))
    });
    let notes: Vec<String> = of_the_kernel.collect();
    let (mut newreno, mut other_tcp) = (false, false);
    let mut betas = None;
    for (f, port) in c.flows.iter().zip(FIRST_PORT..) {
        // Route 0 leads forward.
        let sender = if f.forward == 0 { Side::Left } else { Side::Right };
        let receiver = sender.other();
        let place = format!("traffic.{}", f.group);
        let stop_of = |stop: Option<Time>| stop.unwrap_or(end).min(end);
        let listener = ["-s", "-1", "-p", &port.to_string()].map(String::from).to_vec();
        match &f.app {
            App::Ftp { tcp, start, stop, bytes } => {
                let congestion = kernel_name(tcp)?;
                let without_sack = tcp.variant().name == "newreno";
                newreno |= without_sack;
                other_tcp |= !without_sack;
                let ecn = match tcp.ecn {
                    Ecn::Off => EcnUse::Off,
                    Ecn::Classic => EcnUse::Classic,
                    Ecn::Mecn => EcnUse::Mecn,
                    Ecn::AccEcn => EcnUse::Accurate,
                };
                if ecn == EcnUse::Mecn {
                    if tcp.control != ControlParams::Reno {
                        return refuse(format!(
                            "{place}.ecn = \"mecn\": on real packets with reno, newreno and sack"
                        ));
                    }
                    betas = Some([tcp.mecn.beta1, tcp.mecn.beta2, tcp.mecn.beta3]);
                }
                let to = ADDRESSES[receiver as usize][usize::from(ecn != EcnUse::Off)];
                let seconds = stop_of(*stop).since(*start).as_secs_f64();
                // A data segment carries 12 bytes of timestamps, which count against the MSS.
                let mut args = vec![
                    "-c".into(),
                    to.to_string(),
                    "-p".into(),
                    port.to_string(),
                    // The same at this end: so it is known which of iperf3's connections has the
                    // data.
                    "--cport".into(),
                    port.to_string(),
                    "-M".into(),
                    (tcp.segment_bytes() + 12).to_string(),
                    "-i".into(),
                    "0".into(),
                    "-J".into(),
                ];
                // Longer than the run, which ends it.
                args.extend(["-t".into(), (seconds.ceil() as u64 + 2).to_string()]);
                let window = given.get(f.group as usize).is_some_and(|keys| keys.contains(&"window"));
                let buffer = window.then(|| tcp.window.saturating_mul(tcp.segment_bytes()));
                if let Some(bytes) = buffer {
                    args.extend(["-w".into(), bytes.to_string()]);
                }
                if f.class > 0 {
                    args.extend(["--dscp".into(), f.class.to_string()]);
                }
                let header = header(tcp);
                let by = match *bytes {
                    Some(bytes) => {
                        By::Threads(Transfer { to, port, bytes, mss: tcp.segment_bytes() + 12, buffer, class: f.class })
                    }
                    None => By::Iperf3 { sender: args, listener },
                };
                flows.push(Planned {
                    known: Known { port, sender, udp: false, header, bytes: *bytes },
                    start: *start,
                    stop: stop_of(*stop),
                    congestion: Some(congestion),
                    ecn,
                    by,
                });
            }
            App::Udp { rate, packet, pattern: UdpPattern::Cbr, start, stop, .. } => {
                let payload = packet.0.saturating_sub(28);
                if !(16..=1472).contains(&payload) {
                    return refuse(format!(
                        "{place}.packet = {} B: on real packets from 44 B to 1500 B",
                        packet.0
                    ));
                }
                let bps = rate.as_bps() as f64 * payload as f64 / packet.0 as f64;
                let gap_us = packet.0 as f64 * 8e6 / rate.as_bps() as f64;
                let to = ADDRESSES[receiver as usize][0];
                let mut args: Vec<String> =
                    ["-c", &to.to_string(), "-p", &port.to_string(), "-u", "-i", "0", "-J"].map(String::from).into();
                args.extend(["-l".into(), payload.to_string(), "-b".into(), format!("{bps:.0}")]);
                // iperf3 looks at the time that often: a tenth of a gap, not more than needed.
                args.extend(["--pacing-timer".into(), (gap_us / 10.0).clamp(20.0, 1000.0).round().to_string()]);
                let seconds = stop_of(*stop).since(*start).as_secs_f64();
                args.extend(["-t".into(), (seconds.ceil() as u64 + 2).to_string()]);
                flows.push(Planned {
                    known: Known { port, sender, udp: true, header: 0, bytes: None },
                    start: *start,
                    stop: stop_of(*stop),
                    congestion: None,
                    ecn: EcnUse::Off,
                    by: By::Iperf3 { sender: args, listener },
                });
            }
            _ => {
                return refuse(format!(
                    "{place}.kind: on real packets ftp and cbr; run your own program for other traffic (--client, --server)"
                ))
            }
        }
    }
    if newreno && other_tcp {
        return refuse(
            "tcp = \"newreno\" beside another: whether TCP uses SACK holds for a whole host; give all flows newreno, or none"
                .into(),
        );
    }
    Ok(TrafficPlan { flows, sack: !newreno, betas, notes })
}

/// Returns the bytes per packet that the wire counts in addition to IP's, from the header bytes
/// that the scenario counts per segment.
pub fn header(tcp: &TcpParams) -> i32 {
    tcp.header_bytes() as i32 - 40
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

/// The keys of each entry of `[[traffic]]`, as they were written.
fn given(source: &serde_json::Value) -> Vec<Vec<&str>> {
    let entries = source["traffic"].as_array().map(Vec::as_slice).unwrap_or_default();
    entries
        .iter()
        .map(|e| e.as_object().map(|t| t.keys().map(String::as_str).collect()).unwrap_or_default())
        .collect()
}
