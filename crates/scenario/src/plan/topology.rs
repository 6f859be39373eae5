//! Routers and links: a chain of like links or a graph, and the routes through it.

use super::{check_buffer, discipline, line, side, Defaults, Discipline, Result, Section};
use crate::error::{Problem, ScenarioError};
use crate::files::Files;
use crate::node::{Item, Node};
use crate::tables::{TopologyKind, GRAPH_LINK, LINK, NODE, TOPOLOGY};
use crate::walk::{self, join, Params};
use penstock_aqm::Kind;
use penstock_sim::{Schedule, UserAqm};
use penstock_units::param::{Loss, RateSchedule, Ty, Value, Values};
use penstock_units::{Duration, QueueLen, Rate, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

#[derive(Clone)]
pub(crate) struct Topology {
    pub kind: &'static TopologyKind,
    pub own: Values,
    /// The routers' names.
    pub nodes: Vec<String>,
    /// The links as they were written; in a chain one stands for all.
    pub wires: Vec<Wire>,
    /// Every direction of every link. In a chain hop `i` is link `2i` forward, `2i + 1` back.
    pub links: Vec<Line>,
    /// The link that the run's metrics describe.
    pub bottleneck: usize,
    pub access: Option<Values>,
    pub egress: Option<Values>,
}

/// Routes are at most this long; the engine counts a packet's hops in a byte.
pub(super) const LONGEST_ROUTE: usize = 200;
/// More links than this are a slip.
const MOST_LINKS: usize = 10_000;

impl Topology {
    /// Links in a row.
    pub fn hops(&self) -> u32 {
        self.own.opt_int("hops").unwrap_or(1) as u32
    }
    pub fn cross_flows(&self) -> u32 {
        self.own.opt_int("cross_flows").unwrap_or(0) as u32
    }

    /// The links from router `from` to router `to` at the least cost; among equal ones, at each
    /// router the first.
    pub fn route(&self, from: u32, to: u32) -> Option<Vec<u32>> {
        let left = self.costs_to(to);
        let mut route = vec![];
        let mut at = from;
        while at != to {
            let best = |l: &Line| {
                let onward =
                    left[l.to as usize].and_then(|cost| cost.checked_add(u64::from(l.cost)));
                l.from == at && onward.is_some() && onward == left[at as usize]
            };
            let i = self.links.iter().position(best)?;
            route.push(i as u32);
            at = self.links[i].to;
        }
        Some(route)
    }

    /// What it costs to get to a router from each other one, where that is possible (Dijkstra
    /// 1959).
    fn costs_to(&self, to: u32) -> Vec<Option<u64>> {
        let mut into = vec![vec![]; self.nodes.len()];
        for l in &self.links {
            into[l.to as usize].push((l.from, u64::from(l.cost)));
        }
        let mut costs = vec![None; self.nodes.len()];
        let mut open = BinaryHeap::from([Reverse((0, to))]);
        while let Some(Reverse((cost, node))) = open.pop() {
            if costs[node as usize].is_none() {
                costs[node as usize] = Some(cost);
                open.extend(into[node as usize].iter().map(|(from, c)| Reverse((cost + c, *from))));
            }
        }
        costs
    }
}

/// A link as it was written, and the disciplines that stand there instead of `[aqm]` and
/// `[aqm.reverse]`.
#[derive(Clone)]
pub(crate) struct Wire {
    pub values: Values,
    pub aqm: Option<Discipline>,
    pub reverse: Option<Discipline>,
}

/// One direction of a link between routers.
#[derive(Clone)]
pub(crate) struct Line {
    pub name: String,
    pub from: u32,
    pub to: u32,
    pub cost: u32,
    pub rate: Rate,
    pub delay: Duration,
    pub buffer: QueueLen,
    pub aqm: &'static Kind,
    pub values: Arc<Values>,
    /// A discipline of the user's own, in place of `aqm`.
    pub user: Option<UserAqm>,
    /// The table that `aqm` was read from: `aqm`, `aqm.reverse`, or the link's own.
    pub place: String,
    pub loss: Loss,
    pub schedule: Schedule,
}

/// `[aqm]` and `[aqm.reverse]`.
type Disciplines<'a> = (&'a Discipline, &'a Discipline);

/// Reads `[topology]`.
pub(super) fn topology(
    root: &Node,
    files: &Files,
    aqm: Disciplines,
    ns2: bool,
) -> Result<Topology> {
    let kind = walk::topology_kind(root)?;
    let own =
        Section::new(root, "topology").fill(&vec![TOPOLOGY, kind.params], Defaults::default())?;
    let (access, egress) = (side(root, "access")?, side(root, "egress")?);
    let mut topology = Topology {
        kind,
        own,
        nodes: vec![],
        wires: vec![],
        links: vec![],
        bottleneck: 0,
        access,
        egress,
    };
    if kind.graph {
        graph(root, files, aqm, ns2, &mut topology)?;
    } else {
        chain(root, files, aqm, &mut topology)?;
    }
    Ok(topology)
}

/// Routers R0 … Rn with links that are alike.
fn chain(root: &Node, files: &Files, aqm: Disciplines, topology: &mut Topology) -> Result<()> {
    let section = Section::new(root, &join("topology", topology.kind.link));
    let mut values = fill_link(&section, &vec![LINK])?;
    let places = [("aqm", aqm.0), ("aqm.reverse", aqm.1)];
    let [forward, backward] = directions(root, &section, &mut values, files, places)?;
    topology.nodes = (0..=topology.hops()).map(|i| format!("R{i}")).collect();
    for (i, ends) in topology.nodes.windows(2).enumerate() {
        let (a, b) = (i as u32, i as u32 + 1);
        let names = match topology.kind.name {
            "dumbbell" => ("bottleneck".into(), "bottleneck.reverse".into()),
            _ => (format!("{}-{}", ends[0], ends[1]), format!("{}-{}", ends[1], ends[0])),
        };
        topology.links.push(Line { name: names.0, from: a, to: b, ..forward.clone() });
        topology.links.push(Line { name: names.1, from: b, to: a, ..backward.clone() });
    }
    topology.wires = vec![Wire { values, aqm: None, reverse: None }];
    Ok(())
}

/// Routers and links that are listed one by one.
fn graph(
    root: &Node,
    files: &Files,
    aqm: Disciplines,
    ns2: bool,
    topology: &mut Topology,
) -> Result<()> {
    let entries = |path: &str| match root.at(path).map(|n| &n.item) {
        Some(Item::List(list)) => list.len(),
        _ => 0,
    };
    let head = Section::new(root, "topology");
    let count = entries("topology.link");
    if count == 0 {
        let problem = Problem::Missing { allowed: "at least one [[topology.link]]".into() };
        return Err(ScenarioError::new(head.origin, "topology.link", problem));
    }
    if count > MOST_LINKS {
        let problem = Problem::Conflict(format!("there must be at most {MOST_LINKS}"));
        return Err(ScenarioError::new(head.origin, "topology.link", problem));
    }
    let mut nodes = Nodes { listed: head.given("node"), ..Nodes::default() };
    for i in 0..entries("topology.node") {
        let section = Section::new(root, &format!("topology.node.{i}"));
        let values = section.fill(&vec![NODE], Defaults::default())?;
        nodes.declare(&section, &values)?;
    }
    let (mut taken, mut named) = (BTreeMap::new(), BTreeMap::new());
    for i in 0..count {
        let section = Section::new(root, &format!("topology.link.{i}"));
        let mut values = fill_link(&section, &vec![GRAPH_LINK, LINK])?;
        let (from, to) =
            (nodes.end(&section, &values, "from")?, nodes.end(&section, &values, "to")?);
        if from == to {
            return Err(section.conflict("to", &values, "must not be where the link begins"));
        }
        let one_way = values.bool("one_way");
        for ends in [(from, to), (to, from)].into_iter().take(if one_way { 1 } else { 2 }) {
            if let Some(earlier) = taken.insert(ends, i) {
                let (a, b) = (&nodes.names[ends.0 as usize], &nodes.names[ends.1 as usize]);
                let problem = format!("topology.link.{earlier} goes from {a} to {b} already");
                return Err(section.conflict("to", &values, problem));
            }
        }
        let here = join(&section.path, "aqm");
        let back = join(&here, "reverse");
        // A table that holds `reverse` alone says nothing of the forward direction.
        let says = root
            .at(&here)
            .and_then(Node::table)
            .is_some_and(|t| t.iter().any(|(key, _)| key != "reverse"));
        let own = if says { Some(discipline(root, &here, ns2)?) } else { None };
        let own_back =
            if root.at(&back).is_some() { Some(discipline(root, &back, ns2)?) } else { None };
        let places = [
            own.as_ref().map_or(("aqm", aqm.0), |own| (&here, own)),
            own_back.as_ref().map_or(("aqm.reverse", aqm.1), |own| (&back, own)),
        ];
        let [forward, backward] = directions(root, &section, &mut values, files, places)?;
        let cost = values.int("cost") as u32;
        let (a, b) = (&nodes.names[from as usize], &nodes.names[to as usize]);
        topology.links.push(Line { name: format!("{a}-{b}"), from, to, cost, ..forward });
        if !one_way {
            topology.links.push(Line {
                name: format!("{b}-{a}"),
                from: to,
                to: from,
                cost,
                ..backward
            });
        }
        for line in topology.links.iter().rev().take(if one_way { 1 } else { 2 }) {
            // "a-b" to "c" and "a" to "b-c".
            if let Some(earlier) = named.insert(line.name.clone(), i) {
                let problem =
                    format!("topology.link.{earlier} is called {} too; rename a router", line.name);
                return Err(section.conflict("to", &values, problem));
            }
        }
        topology.wires.push(Wire { values, aqm: own, reverse: own_back });
    }
    topology.nodes = nodes.names;
    if let Some(name) = topology.own.opt_word("bottleneck") {
        let names = || topology.links.iter().map(|l| l.name.as_str());
        topology.bottleneck = match names().position(|n| n == name) {
            Some(i) => i,
            None => return Err(head.unknown("bottleneck", &name, names())),
        };
    }
    Ok(())
}

/// The routers of a graph.
#[derive(Default)]
struct Nodes {
    names: Vec<String>,
    by_name: BTreeMap<String, u32>,
    /// Whether all are listed; else links name them.
    listed: bool,
}

impl Nodes {
    fn add(&mut self, name: &str) -> u32 {
        let number = self.names.len() as u32;
        self.names.push(name.into());
        self.by_name.insert(name.into(), number);
        number
    }

    fn declare(&mut self, section: &Section, values: &Values) -> Result<()> {
        let name = values.word("name");
        check_name(section, "name", values, &name)?;
        if self.by_name.contains_key(&name) {
            return Err(section.conflict("name", values, "an earlier router has this name"));
        }
        self.add(&name);
        Ok(())
    }

    /// The router that a link names.
    fn end(&mut self, section: &Section, values: &Values, key: &str) -> Result<u32> {
        let name = values.word(key);
        match self.by_name.get(&name) {
            Some(number) => Ok(*number),
            None if self.listed => {
                Err(section.unknown(key, &name, self.names.iter().map(String::as_str)))
            }
            None => {
                check_name(section, key, values, &name)?;
                Ok(self.add(&name))
            }
        }
    }
}

fn check_name(section: &Section, key: &str, values: &Values, name: &str) -> Result<()> {
    let plain = !name.trim().is_empty() && !name.chars().any(char::is_control);
    if plain && name.chars().count() <= 64 {
        return Ok(());
    }
    Err(section.conflict(key, values, "must be 1 to 64 characters"))
}

/// A link's values. A trace tells its rate, nothing else does.
fn fill_link(section: &Section, params: &Params) -> Result<Values> {
    let trace = section
        .node
        .and_then(|n| n.child("schedule"))
        .is_some_and(|n| !matches!(n.item, Item::List(_)));
    if !trace && !section.given("rate") {
        let problem = Problem::Missing { allowed: Ty::Rate.allowed() };
        return Err(ScenarioError::new(section.origin, join(&section.path, "rate"), problem));
    }
    section.fill(params, Defaults::default())
}

/// Both directions of a link; who asks gives them their names and ends.
fn directions(
    root: &Node,
    section: &Section,
    values: &mut Values,
    files: &Files,
    [forward, backward]: [(&str, &Discipline); 2],
) -> Result<[Line; 2]> {
    let schedule = schedule(section, values, files)?;
    let rate = match &schedule {
        Schedule::Trace(trace) => values.opt_rate("rate").unwrap_or_else(|| trace.mean_rate()),
        Schedule::Steps(_) => values.rate("rate"),
    };
    let (delay, buffer) = (values.duration("delay"), values.queue("buffer"));
    check_buffer(section, "buffer", values, buffer)?;
    let reverse_buffer = values.opt_queue("reverse_buffer").unwrap_or(buffer);
    check_buffer(section, "reverse_buffer", values, reverse_buffer)?;
    if matches!(schedule, Schedule::Trace(_)) {
        let at = Section::new(root, forward.0);
        if at.given("count_in_service") && forward.1.values.bool("count_in_service") {
            let problem = "on a link with a mahimahi trace no packet counts as in service";
            return Err(at.conflict("count_in_service", &forward.1.values, problem));
        }
    }
    let ahead = line(root, forward, (rate, delay, buffer))?;
    let back = (
        values.opt_rate("reverse_rate").unwrap_or(rate),
        values.opt_duration("reverse_delay").unwrap_or(delay),
        reverse_buffer,
    );
    let back = line(root, backward, back)?;
    Ok([
        Line { loss: values.loss("loss"), schedule, ..ahead },
        Line { loss: values.loss("reverse_loss"), ..back },
    ])
}

/// A link's rate over time, its file read; the file's hash goes into `values`.
fn schedule(section: &Section, values: &mut Values, files: &Files) -> Result<Schedule> {
    match values.opt_schedule("schedule") {
        None => Ok(Schedule::Steps(vec![])),
        Some(RateSchedule::Steps(steps)) => {
            Ok(Schedule::Steps(steps.iter().map(|(at, rate)| (Time::ZERO + *at, *rate)).collect()))
        }
        Some(RateSchedule::Mahimahi { file, hash }) => {
            let wrong = |problem| section.conflict("schedule", values, problem);
            let content = files.read(&file, hash.as_deref()).map_err(wrong)?;
            let trace = Arc::new(content.trace().map_err(wrong)?);
            let hash = Some(content.hash());
            values.set("schedule", Value::Schedule(RateSchedule::Mahimahi { file, hash }));
            Ok(Schedule::Trace(trace))
        }
    }
}
