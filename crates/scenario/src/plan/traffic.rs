//! Each entry of `[[traffic]]` says where its data go, and what it sends.

use super::section::{Defaults, Section};
use super::topology::{Topology, LONGEST_ROUTE};
use crate::error::{Problem, ScenarioError};
use crate::files::Files;
use crate::keys::{self, join};
use crate::node::{Item, Node};
use crate::tables::{
    Browser, Datagrams, Direction, Ftp, Group, OnOff, Replay, Sends, Shape, Top, TrafficKind,
    Video, Voip, Web,
};
use penstock_sim::{Datagram, UdpPattern};
use penstock_tcp::{Ecn, QuicParams, RackParams, Recovery, TcpParams, VariantInfo, VARIANTS};
use penstock_units::param::{
    field, Arrivals, Dist, OwnDefaults, Param, Params as _, Profile, StartSpec, Value, Values,
};
use penstock_units::{format_duration, Bytes, Duration, Rate};
use std::sync::Arc;

type Result<T> = std::result::Result<T, ScenarioError>;

/// A faster source of datagrams is taken for a mistake.
const FASTEST_CALL: u64 = 1_000_000_000_000;

/// More header bytes than this are taken for a mistake.
pub(super) const LARGEST_HEADER: u64 = 10_000;

/// An entry of `[[traffic]]`.
#[derive(Clone)]
pub(crate) struct Traffic {
    pub kind: &'static TrafficKind,
    /// Every key of the entry, TCP's among them.
    pub values: Values,
    /// The keys that every entry has.
    pub group: Group,
    pub source: Source,
    /// When its transfers begin, where that is a process of its own.
    pub arrivals: Option<Poisson>,
    /// Routers at which the data enter and leave.
    pub from: u32,
    pub to: u32,
    /// Whether the sender's host hangs on `access`: in a chain where the data go forward, in a
    /// graph always.
    pub forward: bool,
}

/// A Poisson process.
#[derive(Clone, Copy)]
pub(crate) struct Poisson {
    /// Arrivals per second, on average.
    pub often: f64,
    /// From when until when, in the scenario's time.
    pub from: Duration,
    pub until: Duration,
}

impl Poisson {
    /// Returns how many arrivals there are at most, in all but one of a million runs.
    pub fn most(&self) -> u32 {
        let long = (self.until.as_secs_f64() - self.from.as_secs_f64()).max(0.0);
        let mean = self.often * long;
        (mean + 5.0 * mean.sqrt() + 10.0) as u32
    }
}

impl Traffic {
    /// Returns the number of its flows in the results, those of a way back included: a session of a
    /// browser has one for each connection. With `arrivals` it is the most that there may be.
    pub fn flows(&self) -> u32 {
        if let Some(arrivals) = &self.arrivals {
            return arrivals.most();
        }
        let each = if self.source.is_call() { 2 } else { self.source.connections() };
        self.group.flows.saturating_mul(each)
    }

    /// Returns what tables and figures call it.
    pub fn name(&self) -> &str {
        self.group.name.as_deref().unwrap_or(self.kind.name)
    }

    /// Returns whether the entry reads a parameter. It does not read keys of other TCP variants,
    /// nor RACK's or QUIC's where that does not repair its losses, nor those of a browser where it gives none
    /// of them, nor `lead_in` where it has none.
    pub fn reads(&self, param: &Param, profile: Profile) -> bool {
        if param.name == "lead_in" {
            return matches!(&self.source, Source::Ftp(_, ftp) if ftp.lead_in.is_some());
        }
        if Browser::TABLE.iter().any(|p| p.name == param.name) {
            return self.source.browser().is_some();
        }
        let recovery = self.source.tcp().map(|tcp| tcp.recovery);
        if RackParams::TABLE.iter().any(|p| p.name == param.name) {
            let undoes = param.name == "undo" && recovery == Some(Recovery::Quic);
            return undoes || recovery == Some(Recovery::Rack);
        }
        if QuicParams::TABLE.iter().any(|p| p.name == param.name) {
            return recovery == Some(Recovery::Quic);
        }
        let own = self.variant();
        // Reno's window goes with RACK: where the profile has that, another way has to be named.
        let rack = param.of_profile(profile, &OwnDefaults::NONE).is_some();
        if param.name == "recovery" && own.is_some_and(|v| v.name == "reno") && rack {
            return true;
        }
        own.is_some_and(|v| v.owns(param.name)) || !VARIANTS.iter().any(|v| v.owns(param.name))
    }

    /// Returns whether a resolved scenario names a key that the entry reads; see [`Param::quiet`].
    pub fn names(&self, param: &'static Param, profile: Profile) -> bool {
        let own = self.variant().map_or(OwnDefaults::NONE, |v| v.defaults);
        let general = param.default.map(|text| keys::default(param, text));
        !param.quiet
            || param.default_under(profile, &own) != param.default
            || self.values.get(param.name) != general.as_ref()
    }

    /// Its variant of TCP.
    fn variant(&self) -> Option<&'static VariantInfo> {
        self.source.tcp().map(|tcp| tcp.control.variant(tcp.recovery))
    }
}

/// The data that a group sends.
#[derive(Clone)]
pub(crate) enum Source {
    Ftp(Arc<TcpParams>, Ftp),
    Web(Arc<TcpParams>, Web, Option<Browser>),
    Video(Arc<TcpParams>, Video),
    /// Datagrams of one size, and the gaps between them.
    Datagrams(Datagrams, UdpPattern),
    /// One end of a call, whose other end does the same.
    Call(Datagrams, UdpPattern),
    /// The packets that a file holds.
    Replay(Arc<[Datagram]>),
}

impl Source {
    /// Its transport, where it is TCP.
    pub fn tcp(&self) -> Option<&Arc<TcpParams>> {
        match self {
            Source::Ftp(tcp, _) | Source::Web(tcp, ..) | Source::Video(tcp, _) => Some(tcp),
            _ => None,
        }
    }

    /// Whether each flow has a counterpart that goes the other way.
    pub fn is_call(&self) -> bool {
        matches!(self, Source::Call(..))
    }

    /// Returns how its sessions fetch, where they are those of a browser.
    pub fn browser(&self) -> Option<&Browser> {
        match self {
            Source::Web(_, _, browser) => browser.as_ref(),
            _ => None,
        }
    }

    /// Returns how many flows each of the entry's `flows` or `sessions` has.
    pub fn connections(&self) -> u32 {
        self.browser().and_then(|b| b.connections).unwrap_or(1)
    }

    /// Whether it is a transfer, whose payload `goodput_bps` counts.
    pub fn is_ftp(&self) -> bool {
        matches!(self, Source::Ftp(..))
    }

    /// Whether the cross flows of a parking lot may be as its flows.
    pub fn lends(&self) -> bool {
        matches!(self, Source::Ftp(_, ftp) if ftp.arrivals.is_none())
    }
}

/// Reads an entry, whose table `node` is.
pub(super) fn entry(
    root: &Node,
    node: &Node,
    i: usize,
    top: &Top,
    topology: &Topology,
    files: &Files,
) -> Result<Traffic> {
    let kind = keys::traffic_kind(node, i)?;
    let section = Section::new(root, &format!("traffic.{i}"));
    let tcp = match node.child("tcp").map(|n| &n.item) {
        Some(Item::Text(name)) => name.as_str(),
        _ => default_variant(top.profile),
    };
    let variant = VARIANTS.iter().find(|v| v.name == tcp);
    let own = variant.map_or(OwnDefaults::NONE, |v| v.defaults);
    let defaults = Defaults { profile: top.profile, own };
    let params = keys::traffic_params(kind);
    let mut values = section.fill(&params, defaults)?;
    section.read_files(&params, &mut values, files)?;
    let group = Group::read(&values);
    let (from, to) = ends(&section, &values, &group, topology)?;
    let route = routed(&section, &values, topology, (from, to), needs_way_back(kind))?;
    codepoints(&section, &mut values, topology, &route)?;
    let tcp = if kind.tcp { Some(Arc::new(transport(&section, &values, top)?)) } else { None };
    check_times(&section, &values, &group)?;
    let source = source(&section, &mut values, kind, tcp, files)?;
    let arrivals = poisson(&section, &values, &source, top, topology, &route)?;
    if group.access_delay.is_some() && topology.access.is_none() {
        let problem = "needs topology.access, which has the rate";
        return Err(section.conflict("access_delay", &values, problem));
    }
    // A web entry's sessions are its flows.
    let group = Group::read(&values);
    let forward = matches!(topology.shape, Shape::Graph(_)) || from < to;
    Ok(Traffic { kind, values, group, source, arrivals, from, to, forward })
}

/// Returns the variant of entries that name none.
fn default_variant(profile: Profile) -> &'static str {
    let param = keys::find(&[penstock_tcp::PARAMS], "tcp");
    let text = param.and_then(|p| p.default_under(profile, &OwnDefaults::NONE));
    text.map_or("", |t| t.trim_matches('"'))
}

/// Plans a group's transport, and fills in what the scenario as a whole decides.
fn transport(section: &Section, values: &Values, top: &Top) -> Result<TcpParams> {
    let mut values = values.clone();
    let given = TcpParams::read(&values);
    let stamps = u64::from(given.stamp_bytes());
    let header = given.header.unwrap_or(Bytes(top.overhead.0 + stamps));
    values.put("header", &header);
    if top.profile == Profile::Ns2 && given.initial_ssthresh.is_none() {
        values.put("initial_ssthresh", &f64::from(given.window));
    }
    if header.0 > LARGEST_HEADER {
        return Err(section.conflict("header", &values, "must be at most 10 kB"));
    }
    TcpParams::from_values(&values).map_err(|e| section.param_error(&values, e))
}

fn check_times(section: &Section, values: &Values, group: &Group) -> Result<()> {
    let (first, _) = group.start.between(0);
    if group.stop.is_some_and(|stop| stop <= first) {
        let problem = format!("must be above start ({})", format_duration(first));
        return Err(section.conflict("stop", values, problem));
    }
    Ok(())
}

/// Returns what the kind says that the group sends. `values` takes what follows from it: a web
/// entry's flows, the hash of a replayed file.
fn source(
    section: &Section,
    values: &mut Values,
    kind: &TrafficKind,
    tcp: Option<Arc<TcpParams>>,
    files: &Files,
) -> Result<Source> {
    let tcp = || tcp.expect("the entry of a kind that sends TCP has its transport");
    Ok(match kind.sends {
        Sends::Ftp => {
            let tcp = tcp();
            let ftp = ftp(section, values, tcp.segment_bytes())?;
            Source::Ftp(tcp, ftp)
        }
        Sends::Web => {
            let web = web(section, values)?;
            let tcp = tcp();
            let browser = browser(section, values, &tcp)?;
            Source::Web(tcp, web, browser)
        }
        Sends::Video => Source::Video(tcp(), video(section, values)?),
        Sends::Cbr => Source::Datagrams(datagrams(section, values)?, UdpPattern::Cbr),
        Sends::Poisson => Source::Datagrams(datagrams(section, values)?, UdpPattern::Poisson),
        Sends::OnOff => {
            let OnOff { on, off } = OnOff::read(values);
            Source::Datagrams(datagrams(section, values)?, UdpPattern::on_off(on, off))
        }
        Sends::Voip => voip(section, values)?,
        Sends::Replay => Source::Replay(replay(section, values, files)?),
    })
}

fn ftp(section: &Section, values: &Values, segment: u32) -> Result<Ftp> {
    let ftp = Ftp::read(values);
    if ftp.lead_in == Some(Duration::ZERO) {
        return Err(section.conflict("lead_in", values, "must be above 0 s"));
    }
    if ftp.bytes == Some(Dist::Constant(0.0)) {
        return Err(section.conflict("bytes", values, "must be between 1 B and 1 PB"));
    }
    let Group { flows, start, .. } = Group::read(values);
    if let Some(connect) = ftp.connect {
        let wrong = |problem: &str| Err(section.conflict("connect", values, problem));
        if ftp.bytes.is_some() || ftp.arrivals.is_some() {
            return wrong(
                "must be left out beside bytes and arrivals: it is for flows without end",
            );
        }
        if [0, flows - 1].iter().any(|i| connect.between(*i).1 > start.between(*i).0) {
            return wrong("must be before start, of each flow");
        }
        if !(1..=u64::from(segment)).contains(&ftp.greeting.0) {
            let problem =
                format!("must be between 1 B and a segment ({segment} B): it is one packet");
            return Err(section.conflict("greeting", values, problem));
        }
    }
    if ftp.arrivals.is_none() && ftp.pairs.is_some_and(|pairs| pairs > flows) {
        let problem = format!("must not be above the flows ({flows})");
        return Err(section.conflict("pairs", values, problem));
    }
    Ok(ftp)
}

/// Reads the process by which a group's transfers begin, where it has one.
fn poisson(
    section: &Section,
    values: &Values,
    source: &Source,
    top: &Top,
    topology: &Topology,
    route: &[u32],
) -> Result<Option<Poisson>> {
    let Source::Ftp(_, Ftp { arrivals: Some(arrivals), bytes, lead_in, .. }) = source else {
        return Ok(None);
    };
    let wrong = |key, problem: &str| Err(section.conflict(key, values, problem));
    let group = Group::read(values);
    let Some(bytes) = bytes else {
        return wrong("arrivals", "needs bytes, which says how much a transfer sends");
    };
    if group.flows != 1 {
        return wrong("flows", "must be left out beside arrivals, which says how many there are");
    }
    if lead_in.is_some() {
        return wrong("lead_in", "must be left out beside arrivals");
    }
    let StartSpec::Fixed(from) = group.start else {
        return wrong("start", "must be a time beside arrivals: the first one may be after it");
    };
    let until = group.stop.unwrap_or(top.duration).min(top.duration);
    let often = match arrivals {
        Arrivals::PoissonRate(often) => *often,
        Arrivals::PoissonLoad(load) => {
            let Some(line) = topology.crossed(route) else {
                return wrong(
                    "arrivals",
                    "load is of the bottleneck's rate, and the data do not cross it: give a rate",
                );
            };
            load * line.mean_rate(top.duration) / (8.0 * bytes.mean().max(1.0))
        }
    };
    Ok(Some(Poisson { often, from, until }))
}

fn web(section: &Section, values: &mut Values) -> Result<Web> {
    let web = Web::read(values);
    let mut flows = Group::read(values).flows;
    if let Some(sessions) = web.sessions {
        if section.given("flows") && sessions != flows {
            let problem = format!("must be left out beside sessions ({sessions}), or be the same");
            return Err(section.conflict("flows", values, problem));
        }
        flows = sessions;
        values.put("flows", &flows);
    }
    if web.pairs.is_some_and(|pairs| pairs > flows) {
        let problem = format!("must not be above the sessions ({flows})");
        return Err(section.conflict("pairs", values, problem));
    }
    Ok(web)
}

/// The keys of a browser, where one of them is given: `connections` is then there, too.
fn browser(section: &Section, values: &mut Values, tcp: &TcpParams) -> Result<Option<Browser>> {
    let browser = Browser::read(values);
    if browser.connections.is_none() && !browser.persistent && browser.request.is_none() {
        return Ok(None);
    }
    let segment = tcp.segment_bytes();
    if browser.request.is_some_and(|b| !(1..=u64::from(segment)).contains(&b.0)) {
        let problem = format!("must be between 1 B and a segment ({segment} B): it is one packet");
        return Err(section.conflict("request", values, problem));
    }
    values.put("connections", &browser.connections.unwrap_or(1));
    Ok(Some(Browser::read(values)))
}

/// A larger chunk is taken for a mistake.
const LARGEST_CHUNK: f64 = (1u64 << 50) as f64;

fn video(section: &Section, values: &Values) -> Result<Video> {
    let video = Video::read(values);
    let wrong = |key, problem: &str| Err(section.conflict(key, values, problem));
    if video.chunk == Duration::ZERO {
        return wrong("chunk", "must be above 0 s");
    }
    if video.bitrates.windows(2).any(|pair| pair[0].as_bps() >= pair[1].as_bps()) {
        return wrong("bitrates", "must be ascending");
    }
    let highest = video.bitrates.last().map_or(0, |r| r.as_bps()) as f64;
    if highest * video.chunk.as_secs_f64() / 8.0 > LARGEST_CHUNK {
        return wrong("bitrates", "gives chunks above 1 PB");
    }
    let least = video.startup.as_nanos().saturating_add(video.chunk.as_nanos());
    if video.buffer.as_nanos() < least {
        let least = format_duration(Duration::from_nanos(least));
        return wrong("buffer", &format!("must be at least startup and a chunk ({least})"));
    }
    Ok(video)
}

fn datagrams(section: &Section, values: &Values) -> Result<Datagrams> {
    let datagrams = Datagrams::read(values);
    packet(section, values, datagrams.packet)?;
    Ok(datagrams)
}

fn packet(section: &Section, values: &Values, packet: Bytes) -> Result<()> {
    if (1..=1_000_000).contains(&packet.0) {
        return Ok(());
    }
    Err(section.conflict("packet", values, "must be between 1 B and 1 MB"))
}

fn voip(section: &Section, values: &Values) -> Result<Source> {
    let Voip { interval, packet: size, talk, silence } = Voip::read(values);
    packet(section, values, size)?;
    if interval == Duration::ZERO {
        return Err(section.conflict("interval", values, "must be above 0 s"));
    }
    let bps = size.0 as f64 * 8.0 / interval.as_secs_f64();
    let Some(rate) = Rate::from_bps(bps.round() as u64).filter(|r| r.as_bps() <= FASTEST_CALL)
    else {
        let problem = "gives a rate that is not between 1 bit/s and 1 Tbit/s";
        return Err(section.conflict("interval", values, problem));
    };
    let pattern = silence.map_or(UdpPattern::Cbr, |off| UdpPattern::on_off(talk, off));
    Ok(Source::Call(Datagrams { rate, packet: size, jitter: 0.0 }, pattern))
}

/// The packets that a replay sends.
fn replay(section: &Section, values: &mut Values, files: &Files) -> Result<Arc<[Datagram]>> {
    let Replay { file, hash } = Replay::read(values);
    let wrong = |problem| section.conflict("file", values, problem);
    let content = files.read(&file, hash.as_deref()).map_err(wrong)?;
    let packets = content.datagrams().map_err(wrong)?;
    values.put("hash", &content.hash());
    Ok(packets.into())
}

/// The routers at which a group's data enter and leave.
fn ends(
    section: &Section,
    values: &Values,
    group: &Group,
    topology: &Topology,
) -> Result<(u32, u32)> {
    let (from, to) = if matches!(topology.shape, Shape::Graph(_)) {
        if group.direction.is_some() {
            return Err(section.conflict(
                "direction",
                values,
                "has no meaning in a graph; from and to say it",
            ));
        }
        let router = |key: &str, name: &Option<String>| -> Result<u32> {
            let names = || topology.nodes.iter().map(String::as_str);
            let Some(name) = name else {
                let allowed = format!("a router's name, for example \"{}\"", topology.nodes[0]);
                let problem = Problem::Missing { allowed };
                return Err(ScenarioError::new(section.origin, join(&section.path, key), problem));
            };
            let found = names().position(|n| n == name);
            found.map(|i| i as u32).ok_or_else(|| section.unknown(key, name, names()))
        };
        (router("from", &group.from)?, router("to", &group.to)?)
    } else {
        ends_of_chain(section, values, group, topology.hops())?
    };
    if from == to {
        let key = if section.given("to") { "to" } else { "from" };
        let problem = format!("the data would stay at {}", topology.nodes[from as usize]);
        return Err(section.conflict(key, values, problem));
    }
    Ok((from, to))
}

/// Returns what needs a way back from the sinks to the sources.
fn needs_way_back(kind: &TrafficKind) -> Option<&'static str> {
    match kind.sends {
        _ if kind.tcp => Some("acknowledgements need"),
        Sends::Voip => Some("a call needs"),
        _ => None,
    }
}

/// The links of a group's data, where there is also a way back if it needs one.
fn routed(
    section: &Section,
    values: &Values,
    topology: &Topology,
    (from, to): (u32, u32),
    back: Option<&str>,
) -> Result<Vec<u32>> {
    let name = |i: u32| &topology.nodes[i as usize];
    let route = topology.route(from, to).ok_or_else(|| {
        section.conflict(
            "to",
            values,
            format!("there is no route from {} to {}", name(from), name(to)),
        )
    })?;
    let back = if let Some(needs) = back {
        topology.route(to, from).ok_or_else(|| {
            let problem = format!(
                "there is no route from {} back to {}, which {needs}",
                name(to),
                name(from)
            );
            section.conflict("to", values, problem)
        })?
    } else {
        vec![]
    };
    let longest = route.len().max(back.len());
    if longest > LONGEST_ROUTE {
        let problem = format!("is {longest} links away; at most {LONGEST_ROUTE}");
        return Err(section.conflict("to", values, problem));
    }
    Ok(route)
}

/// Multi-level ECN: a sender that names no codepoints reads those that the disciplines on its way
/// write. SCE's have no choice.
fn codepoints(
    section: &Section,
    values: &mut Values,
    topology: &Topology,
    route: &[u32],
) -> Result<()> {
    const KEY: &str = "codepoints";
    let ecn = field::<Option<Ecn>>(values, "ecn");
    if ecn == Some(Ecn::Sce) {
        let literal = Value::Word("literal".into());
        let links = route.iter().map(|i| &topology.links[*i as usize]);
        return match links.into_iter().find(|line| line.values.get(KEY) == Some(&literal)) {
            None => Ok(()),
            Some(line) => {
                let problem = format!(
                    "must not be \"sce\" where the discipline at {} writes codepoints = \"literal\"",
                    line.name
                );
                Err(section.conflict("ecn", values, problem))
            }
        };
    }
    let own = values.get(KEY).is_some_and(|v| *v != Value::Word("auto".into()));
    if own || ecn != Some(Ecn::Mecn) {
        return Ok(());
    }
    let mut found: Option<(&str, &Value)> = None;
    for line in route.iter().map(|i| &topology.links[*i as usize]) {
        let Some(written) = line.values.get(KEY) else { continue };
        match found {
            Some((name, other)) if other != written => {
                let problem = format!(
                    "the disciplines at {name} and {} write different codepoints",
                    line.name
                );
                return Err(section.conflict("ecn", values, problem));
            }
            _ => found = Some((&line.name, written)),
        }
    }
    if let Some((_, written)) = found {
        values.set(KEY, written.clone());
    }
    Ok(())
}

fn ends_of_chain(
    section: &Section,
    values: &Values,
    group: &Group,
    last: u32,
) -> Result<(u32, u32)> {
    let router = |key: &str, name: &Option<String>| -> Result<Option<u32>> {
        let Some(name) = name else { return Ok(None) };
        let number = name.strip_prefix('R').and_then(|n| n.parse::<u32>().ok());
        match number.filter(|n| *n <= last && *name == format!("R{n}")) {
            Some(n) => Ok(Some(n)),
            None => Err(section.conflict(
                key,
                values,
                format!("must be a router, \"R0\" to \"R{last}\""),
            )),
        }
    };
    let reverse = group.direction == Some(Direction::Reverse);
    let (first, end) = if reverse { (last, 0) } else { (0, last) };
    let (from, to) =
        (router("from", &group.from)?.unwrap_or(first), router("to", &group.to)?.unwrap_or(end));
    if group.direction.is_some() && from != to && (from > to) != reverse {
        let problem = format!("contradicts from and to (R{from} to R{to}); leave one of them out");
        return Err(section.conflict("direction", values, problem));
    }
    Ok((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two links, whose disciplines write these codepoints or know of none; what a sender reads
    /// that names its own or does not.
    #[test]
    fn senders_read_what_their_disciplines_write() {
        let text = "duration = \"1 s\"\n[topology]\nkind = \"parking-lot\"\nhops = 2\n\
                    link = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n[[traffic]]\nkind = \"ftp\"\n";
        let Ok(root) = Node::from_toml(text) else { panic!("it is TOML") };
        let mut topology = super::super::plan(&root, &Files::beside(None)).unwrap().topology;
        let word = |w: &str| Value::Word(w.into());
        for (written, own, ecn, read) in [
            ([Some("wire"), Some("wire")], None, "mecn", Ok(Some("wire"))),
            ([None, Some("literal")], None, "mecn", Ok(Some("literal"))),
            ([None, Some("literal")], Some("auto"), "mecn", Ok(Some("literal"))),
            ([None, None], None, "mecn", Ok(None)),
            ([Some("wire"), Some("literal")], Some("wire"), "mecn", Ok(Some("wire"))),
            ([Some("wire"), Some("literal")], None, "classic", Ok(None)),
            ([Some("wire"), None], None, "sce", Ok(None)),
            ([Some("wire"), Some("literal")], None, "sce", Err("writes codepoints = \"literal\"")),
            (
                [Some("wire"), Some("literal")],
                None,
                "mecn",
                Err("R0-R1 and R1-R2 write different codepoints"),
            ),
        ] {
            for (line, codepoints) in [0, 2].into_iter().zip(written) {
                let mut values = Values::clone(&topology.links[1].values);
                codepoints.into_iter().for_each(|w| values.set("codepoints", word(w)));
                topology.links[line].values = Arc::new(values);
            }
            let section = Section::new(&root, "traffic.0");
            let mut values = Values::new();
            values.set("ecn", word(ecn));
            own.into_iter().for_each(|w| values.set("codepoints", word(w)));
            let route = topology.route(0, 2).unwrap();
            let found =
                codepoints(&section, &mut values, &topology, &route).map_err(|e| e.to_string());
            match read {
                Ok(read) => {
                    assert_eq!(
                        values.get("codepoints"),
                        read.map(word).as_ref(),
                        "{written:?} {own:?}"
                    )
                }
                Err(part) => assert!(found.is_err_and(|e| e.contains(part)), "{written:?}"),
            }
        }
    }
}
