//! Whether a script can be told to the crate, and what has to be known of it before it starts.

use crate::bytes::Cuts;
use crate::code::{self, Statement};
use crate::parse::Unread;
use crate::script::{Action, Call, Event, Options, Packet, Script, TcpOption};
use crate::settings::{Peer, Settings};
use penstock_tcp::{TcpParams, MAX_BLOCKS};
use penstock_units::param::Profile;
use penstock_units::Duration;
use std::collections::BTreeMap;

/// A script that can be run.
pub struct Plan {
    /// What happens, up to where the run stops.
    pub events: Vec<Event>,
    /// The code among them, by its place.
    pub code: BTreeMap<usize, Vec<Statement>>,
    /// The host under test.
    pub host: TcpParams,
    /// What the SYNs settle.
    pub peer: Peer,
    /// The peer's data.
    pub inbound: Cuts,
    /// How far from its time a packet may leave.
    pub tolerance: Duration,
    /// The line on which closing begins, where the run stops.
    pub stops: Option<usize>,
}

/// packetdrill's tolerance, where a script states none.
const TOLERANCE: Duration = Duration::from_micros(4000);

/// TCP and IPv4 in an Ethernet frame leave so much for data; timestamps take twelve bytes of it.
const FULL_SEGMENT: u64 = 1460;
const TIMESTAMPS: u64 = 12;
/// RFC 9293: what a peer takes that does not say.
const DEFAULT_MSS: u64 = 536;

/// Returns the plan of a script.
///
/// # Errors
/// Why it cannot be run.
pub fn plan(mut script: Script, profile: Profile) -> Result<Plan, Unread> {
    let mut stops = None;
    if let Some(end) = script.events.iter().position(closes) {
        stops = Some(script.events[end].line);
        script.events.truncate(end);
    }
    let tolerance = options(&script)?;
    let mut settings = Settings::default();
    let (mut code, mut known) = (BTreeMap::new(), Vec::new());
    let mut begun = false;
    for (i, event) in script.events.iter().enumerate() {
        let refuse = |what: String| Unread { line: event.line, what };
        match &event.action {
            Action::Command(text) => {
                let before = settings.clone();
                settings.commands(text).map_err(refuse)?;
                if begun && settings != before {
                    return Err(refuse("a setting that changes under way".into()));
                }
            }
            Action::Call(call) => {
                if event.when.from != event.when.to && call.name != "connect" {
                    return Err(refuse("a call that blocks".into()));
                }
                system_call(call, &mut settings).map_err(refuse)?;
            }
            Action::Code(text) => {
                let statements = code::parse(text).map_err(refuse)?;
                for name in code::reads(&statements) {
                    if !known.contains(&name) && !crate::told::tells(&name) {
                        return Err(refuse(format!("the name {name}")));
                    }
                }
                known.extend(code::assigns(&statements).map(str::to_string));
                code.insert(i, statements);
            }
            Action::Packet(packet) => {
                begun = true;
                expressible(packet).map_err(refuse)?;
            }
        }
    }
    checks_something(&script, stops)?;
    let peer = syns(&script, &settings)?;
    let host = settings.host(profile, &peer).map_err(|what| Unread { line: 1, what })?;
    let inbound = Cuts::at(inbound_edges(&script));
    Ok(Plan { events: script.events, code, host, peer, inbound, tolerance, stops })
}

/// Whether closing begins here: the crate's connections have no end.
fn closes(event: &Event) -> bool {
    match &event.action {
        Action::Packet(p) => p.flags.fin || p.flags.rst,
        Action::Call(call) => call.name == "shutdown",
        _ => false,
    }
}

fn options(script: &Script) -> Result<Duration, Unread> {
    let mut tolerance = TOLERANCE;
    for option in &script.options {
        let micros = option.value.parse::<u32>();
        match (option.name.as_str(), micros) {
            ("tolerance_usecs", Ok(micros)) => tolerance = Duration::from_micros(micros.into()),
            ("tcp_ts_tick_usecs" | "local_ip" | "remote_ip", _) => {}
            (name, _) => {
                let what = format!("the option {name} = {}", option.value);
                return Err(Unread { line: option.line, what });
            }
        }
    }
    Ok(tolerance)
}

/// A script that compares nothing before it stops shows nothing.
fn checks_something(script: &Script, stops: Option<usize>) -> Result<(), Unread> {
    let checks = |event: &Event| match &event.action {
        // The ECN bits of a SYN are an answer.
        Action::Packet(p) => !p.inbound && (!p.flags.syn || p.flags.ecn != 0),
        Action::Code(_) => true,
        _ => false,
    };
    if script.events.iter().any(checks) {
        return Ok(());
    }
    let (line, what) = match stops {
        Some(line) => (line, "the end of a connection, and nothing before it"),
        None => (1, "nothing that a connection sends"),
    };
    Err(Unread { line, what: what.into() })
}

fn system_call(call: &Call, settings: &mut Settings) -> Result<(), String> {
    let arg = |i: usize| call.args.get(i).map_or("", String::as_str);
    let failed = call.result.starts_with('-');
    match call.name.as_str() {
        "connect" => Ok(()), // one that does not block has not succeeded yet
        "fcntl" => Ok(()),
        "socket" if arg(1) != "SOCK_STREAM" => Err(format!("a socket of the type {}", arg(1))),
        "socket" | "bind" | "listen" | "accept" | "close" if !failed => Ok(()),
        "setsockopt" => match arg(2) {
            "SO_REUSEADDR" | "SO_SNDBUF" | "IP_TOS" | "IP_MTU_DISCOVER" | "TCP_NODELAY" => Ok(()),
            "TCP_CONGESTION" => {
                settings.control = Some(arg(3).trim_matches(['[', ']', '"']).to_string());
                Ok(())
            }
            option => Err(format!("the socket option {option}")),
        },
        "read" if call.result == arg(2) => Ok(()),
        "write" | "send" => {
            if call.name == "send" && !matches!(arg(3), "0" | "MSG_DONTWAIT") {
                return Err(format!("a send with {}", arg(3)));
            }
            match arg(2).parse::<u32>() {
                Ok(bytes) if call.result == arg(2) && bytes > 0 => Ok(()),
                _ => Err("a write that takes less than it is given".into()),
            }
        }
        name if failed => Err(format!("the call {name} that fails")),
        name => Err(format!("the call {name}")),
    }
}

fn expressible(p: &Packet) -> Result<(), String> {
    if p.flags.syn && p.len > 0 {
        return Err("data on a SYN".into());
    }
    if !p.flags.syn && !p.flags.ack {
        return Err("a packet without an acknowledgement".into());
    }
    let Options::List(options) = &p.options else { return Ok(()) };
    for option in options {
        match option {
            TcpOption::Other(name) => return Err(format!("the TCP option {name}")),
            TcpOption::Timestamps if p.inbound && !p.flags.syn => {
                return Err("timestamps of the peer".into());
            }
            TcpOption::Sack(blocks) if blocks.len() > MAX_BLOCKS => {
                return Err(format!("{} SACK blocks in an ACK", blocks.len()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Reads what the two SYNs settle.
fn syns(script: &Script, settings: &Settings) -> Result<Peer, Unread> {
    let packets = || {
        script.events.iter().filter_map(|event| match &event.action {
            Action::Packet(p) => Some((event.line, p)),
            _ => None,
        })
    };
    let Some((line, first)) = packets().next() else {
        return Err(Unread { line: 1, what: "no packet".into() });
    };
    if !first.flags.syn || first.flags.ack {
        return Err(Unread { line, what: "a connection that begins without a SYN".into() });
    }
    let other = packets().find(|(_, p)| p.flags.syn && p.inbound != first.inbound);
    let Some((_, other)) = other else {
        return Err(Unread { line, what: "a SYN that nobody answers".into() });
    };
    let second = packets().find(|(_, p)| p.flags.syn && p.inbound && p.flags.ack == first.inbound);
    if let Some((line, _)) = second {
        return Err(Unread { line, what: "a SYN from both ends".into() });
    }
    let (theirs, ours) = if first.inbound { (first, other) } else { (other, first) };
    let has = |p: &Packet, what: &dyn Fn(&TcpOption) -> bool| match &p.options {
        Options::List(options) => options.iter().any(what),
        Options::Any => false,
    };
    let number = |what: &dyn Fn(&TcpOption) -> Option<u64>| match &theirs.options {
        Options::List(options) => options.iter().find_map(what),
        Options::Any => None,
    };
    let mss = number(&|o| if let TcpOption::Mss(n) = o { Some(*n) } else { None });
    let scale = number(&|o| if let TcpOption::WindowScale(n) = o { Some(*n) } else { None });
    let stamps = |p: &Packet| has(p, &|o| *o == TcpOption::Timestamps);
    let segment = mss.unwrap_or(DEFAULT_MSS).min(FULL_SEGMENT);
    let less = if stamps(theirs) && stamps(ours) { TIMESTAMPS } else { 0 };
    Ok(Peer {
        sack: settings.sack() && has(theirs, &|o| *o == TcpOption::SackOk),
        segment: segment.saturating_sub(less).max(1),
        scale: scale.unwrap_or(0).min(14) as u32,
        asks_first: first.inbound,
        inbound: segment_of_peer(script),
        counts: counts_bytes(script),
    })
}

/// Whether the peer sends AccECN's option.
fn counts_bytes(script: &Script) -> bool {
    script.events.iter().any(|event| match &event.action {
        Action::Packet(Packet { inbound: true, options: Options::List(options), .. }) => {
            options.iter().any(|option| matches!(option, TcpOption::AccEcn(_)))
        }
        _ => false,
    })
}

/// Returns the length of the peer's segments, if all are alike.
fn segment_of_peer(script: &Script) -> Option<u64> {
    let mut lengths = script.events.iter().filter_map(|event| match &event.action {
        Action::Packet(p) if p.inbound && p.len > 0 => Some(p.len),
        _ => None,
    });
    let first = lengths.next()?;
    lengths.all(|len| len == first).then_some(first)
}

/// Returns where the peer's segments begin and end.
fn inbound_edges(script: &Script) -> Vec<u64> {
    let mut edges = Vec::new();
    for event in &script.events {
        if let Action::Packet(p) = &event.action {
            if p.inbound && p.len > 0 && p.start > 0 {
                edges.extend([p.start - 1, p.start - 1 + p.len]);
            }
        }
    }
    edges
}
