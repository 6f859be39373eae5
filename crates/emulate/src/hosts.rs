//! The two hosts: namespaces with a device each, their addresses, and the settings of their TCP.

use crate::error::EmulateError;
use crate::links::Links;
use crate::netns::Namespace;
use crate::options::Options;
use crate::port::{Backend, Port};
use crate::traffic::{TrafficPlan, ADDRESSES, OTHER_PORTS};
use crate::{socket, sys};
use penstock_scenario::Scenario;
use penstock_tcp::Ecn;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::AsFd;

/// The device of a host.
pub(crate) const DEVICE: &str = "eth0";

/// Both hosts, and the router's ports to them.
pub(crate) struct Hosts {
    pub(crate) namespaces: [Namespace; 2],
    pub(crate) ports: [Port; 2],
    pub(crate) backend: Backend,
}

impl Hosts {
    /// Makes them as the traffic needs them; `own`: for the user's own programs.
    pub(crate) fn new(
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
            if let Some(name) = &options.cc {
                host.sysctl(CONGESTION, name).map_err(|e| refused(host, "cc", name, &e))?;
            }
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

    /// Returns the congestion control with which the hosts' sockets begin, as the kernel says.
    pub(crate) fn congestion_default(&self) -> Result<String, EmulateError> {
        let read = || std::fs::read_to_string(format!("/proc/sys/{CONGESTION}"));
        let name = self.namespaces[0].with(read);
        let failed = |e| EmulateError::system("asking for the congestion control", e);
        Ok(name.map_err(failed)?.trim().to_owned())
    }
}

/// The congestion control with which a host's sockets begin.
const CONGESTION: &str = "net/ipv4/tcp_congestion_control";

/// Two wires, and raw sockets on this end of each.
fn wires(namespaces: &[Namespace; 2]) -> Result<[Port; 2], EmulateError> {
    let make = || -> io::Result<[Port; 2]> {
        let links = Links::open()?;
        let one = |name: &str, host: &Namespace| -> io::Result<Port> {
            links.wire(name, DEVICE, host.fd().as_fd())?;
            links.queue(name, 10_000)?;
            links.up(name)?;
            Port::wire(name)
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

/// Checks that the kernel has the congestion controls that the flows ask for. It is asked as a
/// program would, so that it may load a module.
fn has_congestion_controls(host: &Namespace, plan: &TrafficPlan) -> Result<(), EmulateError> {
    let mut asked: Vec<&str> = plan.flows.iter().filter_map(|f| f.congestion).collect();
    asked.sort_unstable();
    asked.dedup();
    for name in asked {
        let Err(e) = host.with(|| socket::tcp_socket(Some(name), 1460, None, 0)) else { continue };
        return Err(refused(host, "tcp", name, &e));
    }
    Ok(())
}

/// Returns why a congestion control cannot be had, and what there is.
fn refused(host: &Namespace, key: &str, name: &str, e: &io::Error) -> EmulateError {
    let read = |which: &str| {
        let file = format!("/proc/sys/net/ipv4/tcp_{which}_congestion_control");
        let all = host.with(|| std::fs::read_to_string(file)).unwrap_or_default();
        all.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let there = read("available");
    if e.kind() == io::ErrorKind::PermissionDenied {
        return EmulateError::Refused(format!(
            "{key} = \"{name}\": this kernel keeps it from network namespaces; as root, `sysctl \
             net.ipv4.tcp_allowed_congestion_control=\"{} {name}\"` allows it",
            read("allowed").join(" ")
        ));
    }
    let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let load = if plain { format!("; `modprobe tcp_{name}` may load it") } else { String::new() };
    EmulateError::Missing(format!(
        "{key} = \"{name}\": this kernel has no such congestion control; it has {}{load}",
        there.join(", ")
    ))
}

/// The setting for how often a connection is tried again whose program is gone.
pub(crate) const ORPHANS: &str = "net/ipv4/tcp_orphan_retries";

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
        if scenario.discipline().ecn() {
            host.sysctl("net/ipv4/tcp_ecn", "1")?;
        }
        return Ok(());
    }
    no_ipv6(host)?;
    if plan.streams() > 0 {
        // A window outlives a pause, as in the simulator.
        host.sysctl("net/ipv4/tcp_slow_start_after_idle", "0")?;
        // A connection for each object takes a port for each, of those that no flow listens at.
        let (first, last) = OTHER_PORTS;
        host.sysctl("net/ipv4/ip_local_port_range", &format!("{first} {last}"))?;
        host.sysctl("net/ipv4/tcp_tw_reuse", "1")?;
    }
    // A program may choose its control after it has connected, and one that began as bbr stays paced
    // (`sk_pacing_status`).
    host.sysctl(CONGESTION, "reno")?;
    // Unless the scenario asks for Linux's buffer, the window is what limits a sender, and a buffer
    // holds it from the start.
    let [first, most] = plan.send_buffer.map_or([4 << 20, 64 << 20], |most| [16_384, most.0]);
    host.sysctl("net/ipv4/tcp_wmem", &format!("4096 {first} {most}"))?;
    host.sysctl("net/ipv4/tcp_rmem", "4096 131072 33554432")?;
    // A SYN that is lost asks for ECN again.
    host.sysctl("net/ipv4/tcp_ecn_fallback", "0")?;
    let accurate = plan.flows.iter().any(|f| f.ecn == Ecn::AccEcn);
    // Passive: those flows ask for it whose route says so.
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
