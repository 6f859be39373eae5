//! Routers and links: a chain of like links or a graph, and the routes through it.

use super::link::{directions, discipline, fill_link, modem, side, Discipline, Line};
use super::section::{Defaults, Section};
use crate::error::{Problem, ScenarioError};
use crate::files::Files;
use crate::keys::{self, join};
use crate::node::{Item, Node};
use crate::tables::{Access, Graph, GraphLink, Link, Router, Shape, TopologyKind, TOPOLOGY};
use penstock_units::param::{Params as _, Profile, Values};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

type Result<T> = std::result::Result<T, ScenarioError>;

#[derive(Clone)]
pub(crate) struct Topology {
    pub kind: &'static TopologyKind,
    pub shape: Shape,
    /// The keys beside its tables.
    pub values: Values,
    /// The routers' names.
    pub nodes: Vec<String>,
    /// The links as they were written; in a chain one represents all.
    pub wires: Vec<Wire>,
    /// Every direction of every link. In a chain hop `i` is link `2i` forward, `2i + 1` back.
    pub links: Vec<Line>,
    /// The link that the run's metrics describe.
    pub bottleneck: usize,
    pub access: Option<Access>,
    pub egress: Option<Access>,
}

/// Routes are at most this long; the engine counts a packet's hops in a byte.
pub(super) const LONGEST_ROUTE: usize = 200;
/// More links than this are taken for a mistake.
const MOST_LINKS: usize = 10_000;

impl Topology {
    /// Links in a row.
    pub fn hops(&self) -> u32 {
        match &self.shape {
            Shape::ParkingLot(lot) => lot.hops,
            Shape::Dumbbell | Shape::Graph(_) => 1,
        }
    }

    /// One-hop flows on each hop.
    pub fn cross_flows(&self) -> u32 {
        match &self.shape {
            Shape::ParkingLot(lot) => lot.cross_flows,
            Shape::Dumbbell | Shape::Graph(_) => 0,
        }
    }

    /// The links from router `from` to router `to` at the least cost; among equal ones, at each
    /// router the first.
    pub fn route(&self, from: u32, to: u32) -> Option<Vec<u32>> {
        let left = self.costs_to(to, from);
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

    /// Returns the bottleneck, or its other direction, where a route has one of them.
    pub fn crossed(&self, route: &[u32]) -> Option<&Line> {
        let bottleneck = &self.links[self.bottleneck];
        let ends = (bottleneck.from, bottleneck.end);
        let of_it = |l: &&Line| {
            l.wire == bottleneck.wire && (ends == (l.from, l.end) || ends == (l.end, l.from))
        };
        route.iter().map(|i| &self.links[*i as usize]).find(of_it)
    }

    /// Returns the cost of reaching router `to` from each other one that costs no more than `from`
    /// does (Dijkstra 1959).
    fn costs_to(&self, to: u32, from: u32) -> Vec<Option<u64>> {
        const NONE: usize = usize::MAX;
        // The links into each router in a chain: the last one, and before each the one before it.
        let modems = self.links.iter().filter(|l| l.to != l.end).count();
        let routers = self.nodes.len() + modems;
        let (mut last, mut before) = (vec![NONE; routers], vec![]);
        for (i, l) in self.links.iter().enumerate() {
            before.push(std::mem::replace(&mut last[l.to as usize], i));
        }
        let some = |i: usize| (i != NONE).then_some(i);
        let mut costs = vec![None; routers];
        let mut open = BinaryHeap::from([Reverse((0, to))]);
        while let Some(Reverse((cost, node))) = open.pop() {
            if costs[from as usize].is_some_and(|most| cost > most) {
                break;
            }
            if costs[node as usize].is_none() {
                costs[node as usize] = Some(cost);
                let into = std::iter::successors(some(last[node as usize]), |i| some(before[*i]));
                let into = into.map(|i| &self.links[i]);
                open.extend(into.map(|l| Reverse((cost + u64::from(l.cost), l.from))));
            }
        }
        costs
    }
}

impl Topology {
    /// Puts behind each shaper its modem, a link from a router without a name. The line's delay
    /// stays with the shaper's link, and all that is said of the line's wire goes to the modem's.
    fn put_modems(&mut self, root: &Node) -> Result<()> {
        let mut at = self.nodes.len() as u32;
        for i in 0..self.links.len() {
            if let Some(modem) = modem(root, &mut self.links[i], at)? {
                self.links.push(modem);
                at += 1;
            }
        }
        Ok(())
    }
}

/// A link as it was written, and the disciplines that replace `[aqm]` and `[aqm.reverse]` there.
#[derive(Clone)]
pub(crate) struct Wire {
    pub values: Values,
    pub aqm: Option<Discipline>,
    pub reverse: Option<Discipline>,
}

/// `[aqm]` and `[aqm.reverse]`.
type Disciplines<'a> = (&'a Discipline, &'a Discipline);

/// Reads `[topology]`.
pub(super) fn topology(
    root: &Node,
    files: &Files,
    aqm: Disciplines,
    profile: Profile,
) -> Result<Topology> {
    let kind = keys::topology_kind(root)?;
    let section = Section::new(root, "topology");
    let values = section.fill(&vec![TOPOLOGY, kind.params], Defaults::GENERAL)?;
    let shape = (kind.shape)(&values);
    let (access, egress) = (side(root, "access")?, side(root, "egress")?);
    let mut topology = Topology {
        kind,
        shape,
        values,
        nodes: vec![],
        wires: vec![],
        links: vec![],
        bottleneck: 0,
        access,
        egress,
    };
    if matches!(topology.shape, Shape::Graph(_)) {
        graph(root, files, aqm, profile, &mut topology)?;
    } else {
        chain(root, files, aqm, &mut topology)?;
    }
    topology.put_modems(root)?;
    Ok(topology)
}

/// Routers R0 … Rn with links that are alike.
fn chain(root: &Node, files: &Files, aqm: Disciplines, topology: &mut Topology) -> Result<()> {
    let section = Section::new(root, &join("topology", topology.kind.link));
    let mut values = fill_link(&section, &vec![Link::TABLE], files)?;
    let places = [("aqm", aqm.0), ("aqm.reverse", aqm.1)];
    let [forward, backward] = directions(root, &section, &mut values, files, places)?;
    topology.nodes = (0..=topology.hops()).map(|i| format!("R{i}")).collect();
    for (i, ends) in topology.nodes.windows(2).enumerate() {
        let (a, b) = (i as u32, i as u32 + 1);
        let names = match topology.shape {
            Shape::Dumbbell => ("bottleneck".into(), "bottleneck.reverse".into()),
            _ => (format!("{}-{}", ends[0], ends[1]), format!("{}-{}", ends[1], ends[0])),
        };
        topology.links.push(Line { name: names.0, from: a, to: b, end: b, ..forward.clone() });
        topology.links.push(Line { name: names.1, from: b, to: a, end: a, ..backward.clone() });
    }
    topology.wires = vec![Wire { values, aqm: None, reverse: None }];
    Ok(())
}

/// Routers and links that are listed one by one.
fn graph(
    root: &Node,
    files: &Files,
    aqm: Disciplines,
    profile: Profile,
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
        let values = section.fill(&vec![Router::TABLE], Defaults::GENERAL)?;
        nodes.declare(&section, &values)?;
    }
    let (taken, named) = (BTreeMap::new(), BTreeMap::new());
    let mut links = GraphLinks { root, files, aqm, profile, nodes, taken, named, topology };
    (0..count).try_for_each(|i| links.add(i))?;
    links.topology.nodes = links.nodes.names;
    if let Shape::Graph(Graph { bottleneck: Some(name) }) = &topology.shape {
        let names = || topology.links.iter().map(|l| l.name.as_str());
        topology.bottleneck = match names().position(|n| n == name) {
            Some(i) => i,
            None => return Err(head.unknown("bottleneck", name, names())),
        };
    }
    Ok(())
}

/// The links of a graph, as they are read one after the other.
struct GraphLinks<'a> {
    root: &'a Node,
    files: &'a Files,
    aqm: Disciplines<'a>,
    profile: Profile,
    nodes: Nodes,
    /// The entry that goes from one router to another.
    taken: BTreeMap<(u32, u32), usize>,
    /// The entry whose link has a name.
    named: BTreeMap<String, usize>,
    topology: &'a mut Topology,
}

impl GraphLinks<'_> {
    /// Reads entry `i`: one link, or two where it goes both ways.
    fn add(&mut self, i: usize) -> Result<()> {
        let section = Section::new(self.root, &format!("topology.link.{i}"));
        let mut values = fill_link(&section, &vec![GraphLink::TABLE, Link::TABLE], self.files)?;
        let GraphLink { from, to, cost, one_way } = GraphLink::read(&values);
        let from = self.nodes.end(&section, &values, "from", &from)?;
        let to = self.nodes.end(&section, &values, "to", &to)?;
        let ways = if one_way { 1 } else { 2 };
        self.take(&section, &values, i, &[(from, to), (to, from)][..ways])?;
        let [ahead, back] = self.disciplines(&section.path)?;
        let here = join(&section.path, "aqm");
        let there = join(&here, "reverse");
        let places = [
            ahead.as_ref().map_or(("aqm", self.aqm.0), |d| (&here, d)),
            back.as_ref().map_or(("aqm.reverse", self.aqm.1), |d| (&there, d)),
        ];
        let [forward, backward] = directions(self.root, &section, &mut values, self.files, places)?;
        let (a, b) = (&self.nodes.names[from as usize], &self.nodes.names[to as usize]);
        let lines = [
            Line { name: format!("{a}-{b}"), wire: i, from, to, end: to, cost, ..forward },
            Line {
                name: format!("{b}-{a}"),
                wire: i,
                from: to,
                to: from,
                end: from,
                cost,
                ..backward
            },
        ];
        for line in lines[..ways].iter().rev() {
            // "a-b" to "c" and "a" to "b-c".
            if let Some(earlier) = self.named.insert(line.name.clone(), i) {
                let name = &line.name;
                let problem =
                    format!("topology.link.{earlier} is called {name} too; rename a router");
                return Err(section.conflict("to", &values, problem));
            }
        }
        self.topology.links.extend(lines.into_iter().take(ways));
        self.topology.wires.push(Wire { values, aqm: ahead, reverse: back });
        Ok(())
    }

    /// Checks that a link does not end where it begins, and that no earlier one goes the same way.
    fn take(
        &mut self,
        section: &Section,
        values: &Values,
        i: usize,
        ways: &[(u32, u32)],
    ) -> Result<()> {
        for ends in ways {
            if ends.0 == ends.1 {
                let problem = "must not be where the link begins";
                return Err(section.conflict("to", values, problem));
            }
            if let Some(earlier) = self.taken.insert(*ends, i) {
                let name = |n: u32| &self.nodes.names[n as usize];
                let (a, b) = (name(ends.0), name(ends.1));
                let problem = format!("topology.link.{earlier} goes from {a} to {b} already");
                return Err(section.conflict("to", values, problem));
            }
        }
        Ok(())
    }

    /// The disciplines that the link's own tables name, forward and back.
    fn disciplines(&self, path: &str) -> Result<[Option<Discipline>; 2]> {
        let here = join(path, "aqm");
        let back = join(&here, "reverse");
        // A table that holds `reverse` alone does not set the forward direction.
        let table = self.root.at(&here).and_then(Node::table);
        let ahead = table.is_some_and(|t| t.iter().any(|(key, _)| key != "reverse"));
        let read = |path: &str| discipline(self.root, path, self.profile);
        Ok([
            if ahead { Some(read(&here)?) } else { None },
            if self.root.at(&back).is_some() { Some(read(&back)?) } else { None },
        ])
    }
}

/// The routers of a graph.
#[derive(Default)]
struct Nodes {
    names: Vec<String>,
    by_name: BTreeMap<String, u32>,
    /// Whether all routers are listed; else links name them.
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
        let Router { name } = Router::read(values);
        check_name(section, "name", values, &name)?;
        if self.by_name.contains_key(&name) {
            return Err(section.conflict("name", values, "an earlier router has this name"));
        }
        self.add(&name);
        Ok(())
    }

    /// The router that a link names.
    fn end(&mut self, section: &Section, values: &Values, key: &str, name: &str) -> Result<u32> {
        match self.by_name.get(name) {
            Some(number) => Ok(*number),
            None if self.listed => {
                Err(section.unknown(key, name, self.names.iter().map(String::as_str)))
            }
            None => {
                check_name(section, key, values, name)?;
                Ok(self.add(name))
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
