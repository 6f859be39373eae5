//! The second pass: defaults filled in, values checked together, disciplines and transports tried
//! out.

use crate::check;
use crate::error::{nearest, Problem, ScenarioError};
use crate::files::Files;
use crate::node::{shorten, Item, Node, Origin};
use crate::show;
use crate::tables::{TrafficKind, ACCESS, MEASURE, REQUIRED, TOP};
use crate::walk::{self, join, Params};
use penstock_aqm::{Context, Kind};
use penstock_sim::{Datagram, Schedule};
use penstock_tcp::{TcpParams, VARIANTS};
use penstock_units::param::{Loss, Param, ParamError, StartSpec, Value, Values};
use penstock_units::{format_duration, Bytes, Duration, QueueLen, Rate};
use std::sync::Arc;

mod topology;
use topology::{topology, LONGEST_ROUTE};
pub(crate) use topology::{Line, Topology, Wire};

type Result<T> = std::result::Result<T, ScenarioError>;

/// Header bytes above this are a slip.
const LARGEST_HEADER: u64 = 10_000;

/// A scenario whose values are complete and fit together.
#[derive(Clone)]
pub(crate) struct Plan {
    pub top: Values,
    pub measure: Values,
    pub topology: Topology,
    pub aqm: Discipline,
    pub reverse: Discipline,
    pub traffic: Vec<Traffic>,
}

#[derive(Clone)]
pub(crate) struct Discipline {
    pub kind: &'static Kind,
    pub values: Values,
}

/// An entry of `[[traffic]]`.
#[derive(Clone)]
pub(crate) struct Traffic {
    pub kind: &'static TrafficKind,
    pub values: Values,
    pub tcp: Option<Arc<TcpParams>>,
    /// What a replay sends.
    pub packets: Option<Arc<[Datagram]>>,
    /// Routers at which the data enter and leave.
    pub from: u32,
    pub to: u32,
    /// Whether the sender's host hangs on `access`: in a chain where the data go forward, in a
    /// graph always.
    pub forward: bool,
}

impl Traffic {
    /// Flows, or sessions.
    pub fn flows(&self) -> u32 {
        self.values.int("flows") as u32
    }
}

/// Defaults that a kind or a variant has instead of its tables': key and TOML literal.
type Own = &'static [(&'static str, &'static str)];

/// Which defaults hold.
#[derive(Clone, Copy, Default)]
struct Defaults {
    ns2: bool,
    /// Of the kind, always.
    kind: Own,
    /// Of the kind, under profile ns-2.
    kind_ns2: Own,
}

impl Defaults {
    /// The kind's own before the table's, and in each the profile's before the general.
    fn of(&self, param: &Param) -> Option<&'static str> {
        let own =
            |list: Own| list.iter().find(|(key, _)| *key == param.name).map(|(_, text)| *text);
        let when_ns2 = |text: Option<&'static str>| text.filter(|_| self.ns2);
        when_ns2(own(self.kind_ns2)).or(own(self.kind)).or(when_ns2(param.ns2)).or(param.default)
    }
}

/// One table of the scenario with everything that is needed to read and to complain about it.
struct Section<'a> {
    path: String,
    node: Option<&'a Node>,
    /// The place that a missing key is reported at.
    origin: Origin,
}

impl<'a> Section<'a> {
    fn new(root: &'a Node, path: &str) -> Self {
        let node = if path.is_empty() { Some(root) } else { root.at(path) };
        // An absent table is reported at the nearest one that is there.
        let parent =
            path.rsplit_once('.').map_or(root, |(parent, _)| root.at(parent).unwrap_or(root));
        Section { path: path.into(), node, origin: node.unwrap_or(parent).origin }
    }

    fn fill(&self, params: &Params, defaults: Defaults) -> Result<Values> {
        let mut values = Values::new();
        for param in params.iter().copied().flatten() {
            let path = join(&self.path, param.name);
            if let Some(node) = self.node.and_then(|n| n.child(param.name)) {
                values.set(param.name, check::value(node, param, &path)?);
            } else if let Some(text) = defaults.of(param) {
                values.set(param.name, walk::default(param, text));
            } else if param.auto == REQUIRED {
                let problem = Problem::Missing { allowed: param.ty.allowed() };
                return Err(ScenarioError::new(self.origin, path, problem));
            }
        }
        Ok(values)
    }

    fn given(&self, key: &str) -> bool {
        self.node.is_some_and(|n| n.child(key).is_some())
    }

    /// A value that does not fit: with its line where it was written, else with the value in force.
    fn conflict(&self, key: &str, values: &Values, problem: impl Into<String>) -> ScenarioError {
        let path = join(&self.path, key);
        let problem = Problem::Conflict(problem.into());
        match self.node.and_then(|n| n.child(key)) {
            Some(node) => ScenarioError::at(node, &path, problem),
            None => {
                let error = ScenarioError::new(self.origin, path, problem);
                match values.get(key) {
                    Some(value) => error.found(format!("{} (default)", show::value(value))),
                    None => error,
                }
            }
        }
    }

    /// A name that is none of `allowed`.
    fn unknown<'n>(
        &self,
        key: &str,
        name: &str,
        allowed: impl Iterator<Item = &'n str> + Clone,
    ) -> ScenarioError {
        const SHOWN: usize = 20;
        let nearest = nearest(name, allowed.clone());
        let allowed = allowed.take(SHOWN).map(String::from).collect();
        let problem = Problem::UnknownWord { allowed, nearest };
        let node = self.node.and_then(|n| n.child(key));
        let error = ScenarioError::new(
            node.map_or(self.origin, |n| n.origin),
            join(&self.path, key),
            problem,
        );
        error.found(format!("\"{}\"", shorten(name)))
    }

    fn param_error(&self, values: &Values, error: ParamError) -> ScenarioError {
        self.conflict(error.name, values, error.problem)
    }
}

/// Reads a tree that has passed [`walk::scenario`].
pub(crate) fn plan(root: &Node, files: &Files) -> Result<Plan> {
    let head = Section::new(root, "");
    let top = head.fill(&vec![TOP], Defaults::default())?;
    let top =
        head.fill(&vec![TOP], Defaults { ns2: top.is("profile", "ns-2"), ..Defaults::default() })?;
    let duration = top.duration("duration");
    if duration == Duration::ZERO {
        return Err(head.conflict("duration", &top, "must be above 0 s"));
    }
    if top.size("overhead").0 > LARGEST_HEADER {
        return Err(head.conflict("overhead", &top, "must be at most 10 kB"));
    }
    let ns2 = top.is("profile", "ns-2");
    let measure = measured(root, duration)?;
    let aqm = discipline(root, "aqm", ns2)?;
    let reverse = discipline(root, "aqm.reverse", ns2)?;
    let topology = topology(root, files, (&aqm, &reverse), ns2)?;
    let entries = match root.child("traffic").map(|n| &n.item) {
        Some(Item::List(list)) => list.as_slice(),
        _ => &[],
    };
    if entries.is_empty() {
        let problem = Problem::Missing { allowed: "at least one [[traffic]]".into() };
        return Err(ScenarioError::new(root.origin, "traffic", problem));
    }
    let traffic = entries.iter().enumerate();
    let traffic = traffic.map(|(i, e)| entry(root, e, i, &top, &topology, files));
    let traffic = traffic.collect::<Result<Vec<_>>>()?;
    if topology.cross_flows() > 0 && !traffic.iter().any(|t| t.kind.name == "ftp") {
        let problem = "needs a [[traffic]] of kind \"ftp\", whose transport the cross flows take";
        return Err(Section::new(root, "topology").conflict("cross_flows", &topology.own, problem));
    }
    Ok(Plan { top, measure, topology, aqm, reverse, traffic })
}

fn measured(root: &Node, duration: Duration) -> Result<Values> {
    let section = Section::new(root, "measure");
    let values = section.fill(&vec![MEASURE], Defaults::default())?;
    let to = values.opt_duration("to").unwrap_or(duration);
    if to > duration {
        let problem = format!("must not be above duration ({})", format_duration(duration));
        return Err(section.conflict("to", &values, problem));
    }
    if values.duration("from") >= to {
        let end = if values.get("to").is_some() { "measure.to" } else { "the end of the run" };
        let problem = format!("must be below {end} ({})", format_duration(to));
        return Err(section.conflict("from", &values, problem));
    }
    Ok(values)
}

fn discipline(root: &Node, path: &str, ns2: bool) -> Result<Discipline> {
    let kind = walk::aqm_kind(root, path)?;
    let section = Section::new(root, path);
    let defaults = Defaults { ns2, kind: kind.defaults, kind_ns2: kind.ns2 };
    let values = section.fill(&walk::aqm_params(kind), defaults)?;
    if values.size("mean_packet").0 == 0 {
        return Err(section.conflict("mean_packet", &values, "must be above 0 B"));
    }
    Ok(Discipline { kind, values })
}

/// A buffer holds at least one packet, and a number that exists.
fn check_buffer(section: &Section, key: &str, values: &Values, buffer: QueueLen) -> Result<()> {
    let fits = match buffer {
        QueueLen::Packets(n) => n.fract() == 0.0 && (1.0..=1e9).contains(&n),
        QueueLen::Bytes(b) => (1..=1 << 50).contains(&b),
    };
    if fits {
        return Ok(());
    }
    let problem = "must be a whole number of packets in [1, 1000000000], or a size of at least 1 B";
    Err(section.conflict(key, values, problem))
}

/// One direction of a link: the unit of its queue settled, the buffer in it, the discipline tried
/// out.
fn line(
    root: &Node,
    (path, aqm): (&str, &Discipline),
    link: (Rate, Duration, QueueLen),
) -> Result<Line> {
    let section = Section::new(root, path);
    let (rate, delay, buffer) = link;
    let mut values = aqm.values.clone();
    let in_bytes = |q: &QueueLen| matches!(q, QueueLen::Bytes(_));
    let threshold_in_bytes =
        values.iter().any(|(_, v)| matches!(v, Value::Queue(q) if in_bytes(q)));
    let automatic = if in_bytes(&buffer) || threshold_in_bytes { "bytes" } else { "packets" };
    let unit = values.opt_word("unit").unwrap_or_else(|| automatic.into());
    let mean = values.size("mean_packet").0;
    let buffer = match buffer {
        // A float times a whole number; both far below 2^53.
        QueueLen::Packets(n) if unit == "bytes" => {
            QueueLen::Bytes((n * mean as f64).round() as u64)
        }
        QueueLen::Bytes(b) if unit == "packets" => {
            let problem = format!(
                "contradicts the buffer, which is given in bytes ({}); leave unit out, or give the buffer in packets",
                penstock_units::format_size(Bytes(b)),
            );
            return Err(section.conflict("unit", &values, problem));
        }
        other => other,
    };
    values.set("unit", Value::Word(unit));
    let context = Context { rate, delay, buffer };
    if let Err(error) = penstock_aqm::build(aqm.kind.name, &values, &context) {
        return Err(section.param_error(&values, error));
    }
    Ok(Line {
        name: String::new(),
        from: 0,
        to: 0,
        cost: 1,
        rate,
        delay,
        buffer,
        aqm: aqm.kind,
        values: Arc::new(values),
        user: None,
        place: path.into(),
        loss: Loss::Bernoulli(0.0),
        schedule: Schedule::Steps(vec![]),
    })
}

/// `topology.access` or `.egress`; `None` where it is left out.
fn side(root: &Node, name: &str) -> Result<Option<Values>> {
    let section = Section::new(root, &join("topology", name));
    if section.node.is_none() {
        return Ok(None);
    }
    let values = section.fill(&vec![ACCESS], Defaults::default())?;
    if let Some(buffer) = values.opt_queue("buffer") {
        check_buffer(&section, "buffer", &values, buffer)?;
    }
    Ok(Some(values))
}

fn entry(
    root: &Node,
    node: &Node,
    i: usize,
    top: &Values,
    topology: &Topology,
    files: &Files,
) -> Result<Traffic> {
    let kind = walk::traffic_kind(node, i)?;
    let section = Section::new(root, &format!("traffic.{i}"));
    let ns2 = top.is("profile", "ns-2");
    let tcp = match node.child("tcp").map(|n| &n.item) {
        Some(Item::Text(name)) => name.as_str(),
        _ => default_variant(),
    };
    let variant = VARIANTS.iter().find(|v| v.name == tcp);
    let defaults = Defaults {
        ns2,
        kind: variant.map_or(&[], |v| v.defaults),
        kind_ns2: variant.map_or(&[], |v| v.ns2),
    };
    let mut values = section.fill(&walk::traffic_params(kind), defaults)?;
    let (from, to) = ends(&section, &values, topology)?;
    let route = routed(&section, &values, topology, (from, to), kind.tcp)?;
    codepoints(&section, &mut values, topology, &route)?;
    let tcp = if kind.tcp { Some(Arc::new(transport(&section, &values, top)?)) } else { None };
    check_times(&section, &values)?;
    check_sizes(&section, &values)?;
    if let Some(sessions) = values.opt_int("sessions") {
        if section.given("flows") && sessions != values.int("flows") {
            let problem = format!("must be left out beside sessions ({sessions}), or be the same");
            return Err(section.conflict("flows", &values, problem));
        }
        values.set("flows", Value::Int(sessions));
    }
    let flows = values.int("flows");
    if values.opt_int("pairs").is_some_and(|pairs| pairs > flows) {
        return Err(section.conflict(
            "pairs",
            &values,
            format!("must not be above the sessions ({flows})"),
        ));
    }
    if values.get("access_delay").is_some() && topology.access.is_none() {
        return Err(section.conflict(
            "access_delay",
            &values,
            "needs topology.access, which has the rate",
        ));
    }
    let packets = replay(&section, &mut values, files)?;
    let forward = topology.kind.graph || from < to;
    Ok(Traffic { kind, values, tcp, packets, from, to, forward })
}

/// The variant of entries that name none.
fn default_variant() -> &'static str {
    let text = walk::find(&[penstock_tcp::PARAMS], "tcp").and_then(|p| p.default);
    text.map_or("", |t| t.trim_matches('"'))
}

/// A group's transport: what the scenario as a whole decides is filled in.
fn transport(section: &Section, values: &Values, top: &Values) -> Result<TcpParams> {
    let mut values = values.clone();
    if values.get("header").is_none() {
        values.set("header", Value::Size(top.size("overhead")));
    }
    if top.is("profile", "ns-2") && values.get("initial_ssthresh").is_none() {
        values.set("initial_ssthresh", Value::Num(values.int("window") as f64));
    }
    if values.size("header").0 > LARGEST_HEADER {
        return Err(section.conflict("header", &values, "must be at most 10 kB"));
    }
    TcpParams::from_values(&values).map_err(|e| section.param_error(&values, e))
}

fn check_times(section: &Section, values: &Values) -> Result<()> {
    let first = match values.start("start") {
        StartSpec::Fixed(t) | StartSpec::Uniform(t, _) | StartSpec::Every { from: t, .. } => t,
    };
    if values.opt_duration("stop").is_some_and(|stop| stop <= first) {
        let problem = format!("must be above start ({})", format_duration(first));
        return Err(section.conflict("stop", values, problem));
    }
    Ok(())
}

fn check_sizes(section: &Section, values: &Values) -> Result<()> {
    if values.get("packet").is_some_and(|_| !(1..=1_000_000).contains(&values.size("packet").0)) {
        return Err(section.conflict("packet", values, "must be between 1 B and 1 MB"));
    }
    if values.opt_size("bytes").is_some_and(|b| !(1..=1 << 50).contains(&b.0)) {
        return Err(section.conflict("bytes", values, "must be between 1 B and 1 PB"));
    }
    Ok(())
}

/// What a replay sends; the file's hash goes into `values`.
fn replay(
    section: &Section,
    values: &mut Values,
    files: &Files,
) -> Result<Option<Arc<[Datagram]>>> {
    let Some(file) = values.opt_word("file") else { return Ok(None) };
    let wrong = |problem| section.conflict("file", values, problem);
    let content = files.read(&file, values.opt_word("hash").as_deref()).map_err(wrong)?;
    let packets = content.datagrams().map_err(wrong)?;
    values.set("hash", Value::Word(content.hash()));
    Ok(Some(packets.into()))
}

/// The routers at which a group's data enter and leave.
fn ends(section: &Section, values: &Values, topology: &Topology) -> Result<(u32, u32)> {
    let (from, to) = if topology.kind.graph {
        if values.get("direction").is_some() {
            return Err(section.conflict(
                "direction",
                values,
                "has no meaning in a graph; from and to say it",
            ));
        }
        let router = |key: &str| -> Result<u32> {
            let names = || topology.nodes.iter().map(String::as_str);
            let Some(name) = values.opt_word(key) else {
                let allowed = format!("a router's name, for example \"{}\"", topology.nodes[0]);
                let problem = Problem::Missing { allowed };
                return Err(ScenarioError::new(section.origin, join(&section.path, key), problem));
            };
            let found = names().position(|n| n == name);
            found.map(|i| i as u32).ok_or_else(|| section.unknown(key, &name, names()))
        };
        (router("from")?, router("to")?)
    } else {
        ends_of_chain(section, values, topology.hops())?
    };
    if from == to {
        let key = if section.given("to") { "to" } else { "from" };
        let problem = format!("the data would stay at {}", topology.nodes[from as usize]);
        return Err(section.conflict(key, values, problem));
    }
    Ok((from, to))
}

/// The links of a group's data, where there is also a way back if it needs one.
fn routed(
    section: &Section,
    values: &Values,
    topology: &Topology,
    (from, to): (u32, u32),
    back: bool,
) -> Result<Vec<u32>> {
    let name = |i: u32| &topology.nodes[i as usize];
    let route = topology.route(from, to).ok_or_else(|| {
        section.conflict(
            "to",
            values,
            format!("there is no route from {} to {}", name(from), name(to)),
        )
    })?;
    let back = if back {
        topology.route(to, from).ok_or_else(|| {
            let problem = format!(
                "there is no route from {} back to {}, which acknowledgements need",
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
/// write.
fn codepoints(
    section: &Section,
    values: &mut Values,
    topology: &Topology,
    route: &[u32],
) -> Result<()> {
    const KEY: &str = "codepoints";
    let own = values.get(KEY).is_some_and(|v| *v != Value::Word("auto".into()));
    if own || !values.is("ecn", "mecn") {
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

fn ends_of_chain(section: &Section, values: &Values, last: u32) -> Result<(u32, u32)> {
    let router = |key: &str| -> Result<Option<u32>> {
        let Some(name) = values.opt_word(key) else { return Ok(None) };
        let number = name.strip_prefix('R').and_then(|n| n.parse::<u32>().ok());
        match number.filter(|n| *n <= last && name == format!("R{n}")) {
            Some(n) => Ok(Some(n)),
            None => Err(section.conflict(
                key,
                values,
                format!("must be a router, \"R0\" to \"R{last}\""),
            )),
        }
    };
    let reverse = values.is("direction", "reverse");
    let (first, end) = if reverse { (last, 0) } else { (0, last) };
    let (from, to) = (router("from")?.unwrap_or(first), router("to")?.unwrap_or(end));
    if values.get("direction").is_some() && from != to && (from > to) != reverse {
        let problem = format!("contradicts from and to (R{from} to R{to}); leave one of them out");
        return Err(section.conflict("direction", values, problem));
    }
    Ok((from, to))
}

/// Whether an entry reads a parameter: keys that belong to other TCP variants it does not.
pub(crate) fn is_read(param: &Param, values: &Values) -> bool {
    let mut owners = VARIANTS.iter().filter(|v| v.owns(param.name)).peekable();
    owners.peek().is_none() || owners.any(|v| values.is("tcp", v.name))
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
        let mut topology = plan(&root, &Files::beside(None)).unwrap().topology;
        let word = |w: &str| Value::Word(w.into());
        for (written, own, ecn, read) in [
            ([Some("wire"), Some("wire")], None, "mecn", Ok(Some("wire"))),
            ([None, Some("literal")], None, "mecn", Ok(Some("literal"))),
            ([None, Some("literal")], Some("auto"), "mecn", Ok(Some("literal"))),
            ([None, None], None, "mecn", Ok(None)),
            ([Some("wire"), Some("literal")], Some("wire"), "mecn", Ok(Some("wire"))),
            ([Some("wire"), Some("literal")], None, "classic", Ok(None)),
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
