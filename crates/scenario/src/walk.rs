//! The first pass: every key is declared and every value has its declared type, in the order of the
//! file. The second pass (`plan.rs`) checks values together.

use crate::check;
use crate::error::{nearest, Problem, ScenarioError};
use crate::node::{Item, Node, Origin, Table};
use crate::range::Range;
use crate::tables::{
    self, Access, DesignKeys, GraphLink, Group, Link, Measure, Router, Top, AQM_KIND, SWEEP_SEEDS,
    TOPOLOGIES, TOPOLOGY, TRAFFICS, TRAFFIC_KIND,
};
use penstock_aqm::{COMMON, KINDS};
use penstock_units::param::{Param, Value, PARAM};

type Result<T> = std::result::Result<T, ScenarioError>;

/// Tables of parameters that one table of the scenario may hold.
pub(crate) type Params = Vec<&'static [Param]>;

/// What one table of a scenario may hold.
struct Keys {
    path: String,
    own: Params,
    /// Keys of other kinds, which are there for a sweep or a comparison. They are checked but not
    /// used.
    foreign: Params,
    sections: Vec<&'static str>,
}

impl Keys {
    fn new(path: &str, own: Params) -> Self {
        Keys { path: path.into(), own, foreign: vec![], sections: vec![] }
    }

    fn sections(mut self, sections: &[&'static str]) -> Self {
        self.sections = sections.to_vec();
        self
    }

    fn foreign(mut self, foreign: Params) -> Self {
        self.foreign = foreign;
        self
    }

    fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.own.iter().copied().flatten().map(|p| p.name).chain(self.sections.iter().copied())
    }

    /// Checks a value under a declared key. Returns `None` if the key is not a parameter.
    fn check(&self, key: &str, node: &Node) -> Result<Option<Value>> {
        let path = join(&self.path, key);
        if let Some(param) = find(&self.own, key) {
            return check::value(node, param, &path).map(Some);
        }
        // Kinds may declare one name with different types: one of them must fit.
        let mut first = Ok(None);
        for param in self.foreign.iter().copied().flatten().filter(|p| p.name == key) {
            match check::value(node, param, &path) {
                Ok(value) => return Ok(Some(value)),
                Err(e) => first = first.and(Err(e)),
            }
        }
        first
    }

    fn unknown(&self, key: &str, origin: Origin) -> ScenarioError {
        let allowed = self.names().map(String::from).collect();
        let foreign = self.foreign.iter().copied().flatten().map(|p| p.name);
        let nearest = nearest(key, self.names().chain(foreign));
        ScenarioError::new(origin, join(&self.path, key), Problem::UnknownKey { allowed, nearest })
    }

    /// Checks a table's parameters; `section` gets the keys that are tables themselves.
    fn walk(&self, node: &Node, mut section: impl FnMut(&str, &Node) -> Result<()>) -> Result<()> {
        for (key, inner) in table(node, &self.path)?.iter() {
            if self.sections.contains(&key) {
                section(key, inner)?;
            } else if self.check(key, inner)?.is_none() {
                return Err(self.unknown(key, inner.origin));
            }
        }
        Ok(())
    }
}

/// Returns the declaration of `key` in some tables.
pub(crate) fn find(tables: &[&'static [Param]], key: &str) -> Option<&'static Param> {
    tables.iter().copied().flatten().find(|p| p.name == key)
}

/// Joins a dotted path.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.into()
    } else {
        format!("{path}.{key}")
    }
}

fn table<'a>(node: &'a Node, path: &str) -> Result<&'a Table> {
    let allowed = || Problem::Value { allowed: "a table".into() };
    node.table().ok_or_else(|| ScenarioError::at(node, path, allowed()))
}

fn list<'a>(node: &'a Node, path: &str) -> Result<&'a [Node]> {
    match &node.item {
        Item::List(list) => Ok(list),
        _ => {
            let allowed = format!("a list of tables, each under its own [[{path}]]");
            Err(ScenarioError::at(node, path, Problem::Value { allowed }))
        }
    }
}

const SECTIONS: &[&str] = &["measure", "topology", "aqm", "traffic", "sweep", "variant"];

/// Checks the whole tree.
pub(crate) fn scenario(root: &Node) -> Result<()> {
    let top = Keys::new("", vec![Top::TABLE]).sections(SECTIONS);
    top.walk(root, |key, node| match key {
        "measure" => measure().walk(node, nothing),
        "topology" => topology(root, node),
        "aqm" => aqm(root, "aqm")?
            .walk(node, |_, reverse| aqm(root, "aqm.reverse")?.walk(reverse, nothing)),
        "traffic" => list(node, "traffic")?
            .iter()
            .enumerate()
            .try_for_each(|(i, entry)| traffic(entry, i, false)?.walk(entry, nothing)),
        "sweep" => sweep(root, node),
        _ => list(node, "variant")?.iter().enumerate().try_for_each(|(i, v)| variant(root, v, i)),
    })
}

fn nothing(_: &str, _: &Node) -> Result<()> {
    Ok(())
}

fn measure() -> Keys {
    Keys::new("measure", vec![Measure::TABLE])
}

/// The checked word under `kind`, or its default; `None` where it is required and absent.
fn kind(node: Option<&Node>, path: &str, declared: &'static [Param]) -> Result<Option<String>> {
    let param = &declared[0];
    let path = join(path, "kind");
    let value = match node.and_then(|n| n.child("kind")) {
        Some(given) => check::value(given, param, &path)?,
        None => match param.default {
            Some(text) => default(param, text),
            None => return Ok(None),
        },
    };
    match value {
        Value::Word(word) => Ok(Some(word)),
        _ => Ok(None),
    }
}

/// The value of a declared default.
///
/// # Panics
/// If a declared default does not pass its type; a test tries them all.
pub(crate) fn literal(param: &Param, text: &str) -> Value {
    let node = Node::from_literal(text, Origin::Unknown);
    let node = node.unwrap_or_else(|| panic!("default of {}: {text} is not TOML", param.name));
    check::value(&node, param, param.name).unwrap_or_else(|e| panic!("default: {e}"))
}

/// Returns the value of a default: as it stands, or, where it is a TOML table, parsed.
pub(crate) fn default(param: &'static Param, text: &'static str) -> Value {
    param.ty.literal(text).unwrap_or_else(|| literal(param, text))
}

/// The kind of the tree's topology.
pub(crate) fn topology_kind(root: &Node) -> Result<&'static tables::TopologyKind> {
    let name = kind(root.child("topology"), "topology", TOPOLOGY)?.unwrap_or_default();
    // The word has passed a list of the same names.
    Ok(tables::topology(&name).unwrap_or(&TOPOLOGIES[0]))
}

fn topology_keys(root: &Node) -> Result<Keys> {
    let kind = topology_kind(root)?;
    let keys = Keys::new("topology", vec![TOPOLOGY, kind.params]);
    Ok(if kind.graph {
        keys.sections(&["node", kind.link, "access", "egress"])
    } else {
        keys.sections(&[kind.link, "access", "egress"])
    })
}

fn topology(root: &Node, node: &Node) -> Result<()> {
    table(node, "topology")?;
    let graph = topology_kind(root)?.graph;
    topology_keys(root)?.walk(node, |key, inner| match key {
        "node" | "link" if graph => {
            let path = join("topology", key);
            list(inner, &path)?.iter().enumerate().try_for_each(|(i, entry)| {
                graph_entry(key, i).walk(entry, |_, own| {
                    let path = format!("{path}.{i}.aqm");
                    aqm(root, &path)?.walk(own, |_, reverse| {
                        aqm(root, &join(&path, "reverse"))?.walk(reverse, nothing)
                    })
                })
            })
        }
        _ => topology_section(key).walk(inner, nothing),
    })
}

/// A router or a link of a graph.
fn graph_entry(key: &str, i: usize) -> Keys {
    let path = format!("topology.{key}.{i}");
    match key {
        "node" => Keys::new(&path, vec![Router::TABLE]),
        _ => Keys::new(&path, vec![GraphLink::TABLE, Link::TABLE]).sections(&["aqm"]),
    }
}

fn topology_section(key: &str) -> Keys {
    let params = if matches!(key, "access" | "egress") { Access::TABLE } else { Link::TABLE };
    Keys::new(&join("topology", key), vec![params])
}

/// The discipline's kind under `aqm` or `aqm.reverse`.
pub(crate) fn aqm_kind(root: &Node, path: &str) -> Result<&'static penstock_aqm::Kind> {
    let node = root.at(path);
    if let Some(node) = node {
        table(node, path)?;
    }
    let name = kind(node, path, AQM_KIND)?.unwrap_or_default();
    // The word has passed a list that is made from the same table.
    Ok(penstock_aqm::kind(&name).unwrap_or(&KINDS[0]))
}

/// The tables of a kind of discipline.
pub(crate) fn aqm_params(kind: &penstock_aqm::Kind) -> Params {
    [AQM_KIND, COMMON].into_iter().chain(kind.params.iter().copied()).collect()
}

fn aqm(root: &Node, path: &str) -> Result<Keys> {
    let others = KINDS.iter().flat_map(|k| k.params).copied().collect();
    let keys = Keys::new(path, aqm_params(aqm_kind(root, path)?)).foreign(others);
    Ok(if path.ends_with(".reverse") { keys } else { keys.sections(&["reverse"]) })
}

/// The tables of a kind of traffic.
pub(crate) fn traffic_params(kind: &tables::TrafficKind) -> Params {
    [TRAFFIC_KIND, Group::TABLE].into_iter().chain(kind.params.iter().copied()).collect()
}

/// The kind of an entry of `[[traffic]]`.
pub(crate) fn traffic_kind(entry: &Node, i: usize) -> Result<&'static tables::TrafficKind> {
    let path = format!("traffic.{i}");
    table(entry, &path)?;
    let name = kind(Some(entry), &path, TRAFFIC_KIND)?;
    let missing = || {
        let problem = Problem::Missing { allowed: TRAFFIC_KIND[0].ty.allowed() };
        ScenarioError::new(entry.origin, format!("{path}.kind"), problem)
    };
    name.and_then(|n| tables::traffic(&n)).ok_or_else(missing)
}

/// With `any`, keys of other kinds pass: a sweep may change the kind too.
fn traffic(entry: &Node, i: usize, any: bool) -> Result<Keys> {
    let keys = Keys::new(&format!("traffic.{i}"), traffic_params(traffic_kind(entry, i)?));
    Ok(if any {
        keys.foreign(TRAFFICS.iter().flat_map(|k| k.params).copied().collect())
    } else {
        keys
    })
}

/// Checks a value under a dotted path, as `[sweep]` and `[[variant]]` name it.
pub(crate) fn at_path(root: &Node, path: &str, value: &Node) -> Result<Value> {
    let (section, key) = path.rsplit_once('.').unwrap_or(("", path));
    let keys = keys_of(root, section, value.origin)?;
    if keys.sections.contains(&key) {
        let problem = Problem::Conflict("is a table: name one of its keys".into());
        return Err(ScenarioError::at(value, path, problem));
    }
    keys.check(key, value)?.ok_or_else(|| keys.unknown(key, value.origin))
}

/// What may stand under a section's path.
fn keys_of(root: &Node, section: &str, origin: Origin) -> Result<Keys> {
    let top = || Keys::new("", vec![Top::TABLE]).sections(SECTIONS);
    let segments: Vec<&str> = section.split('.').collect();
    match segments[..] {
        [""] => Ok(top()),
        ["measure"] => Ok(measure()),
        ["aqm"] | ["aqm", "reverse"] => aqm(root, section),
        ["topology"] => topology_keys(root),
        ["topology", key, ref inside @ ..] => {
            let keys = topology_keys(root)?;
            if !keys.sections.contains(&key) {
                return Err(keys.unknown(key, origin));
            }
            let listed = topology_kind(root)?.graph && matches!(key, "node" | "link");
            match inside {
                [] if !listed => Ok(topology_section(key)),
                [index, ref inside @ ..] if listed => {
                    let (i, _) = entry_of(root, &join("topology", key), index, origin)?;
                    match inside {
                        [] => Ok(graph_entry(key, i)),
                        ["aqm"] | ["aqm", "reverse"] if key == "link" => aqm(root, section),
                        ["aqm", wrong, ..] if key == "link" => {
                            Err(aqm(root, &format!("topology.link.{i}.aqm"))?
                                .unknown(wrong, origin))
                        }
                        [wrong, ..] => Err(graph_entry(key, i).unknown(wrong, origin)),
                    }
                }
                _ => {
                    let problem = match inside {
                        [] => {
                            format!("is a list: name one of its entries, for example {section}.0")
                        }
                        _ => "has no keys inside".into(),
                    };
                    Err(ScenarioError::new(origin, section, Problem::Conflict(problem)))
                }
            }
        }
        ["traffic", index] => {
            let (i, entry) = entry_of(root, "traffic", index, origin)?;
            traffic(entry, i, true)
        }
        [first, ..] if SECTIONS.contains(&first) => {
            let problem = Problem::Conflict("has no keys inside".into());
            Err(ScenarioError::new(origin, section, problem))
        }
        [first, ..] => Err(top().unknown(first, origin)),
        [] => Ok(top()), // split yields at least one segment
    }
}

/// The entry of a list of tables.
fn entry_of<'a>(
    root: &'a Node,
    path: &str,
    index: &str,
    origin: Origin,
) -> Result<(usize, &'a Node)> {
    let entries = root.at(path).map_or(&[][..], |n| list(n, path).unwrap_or_default());
    let entry = index.parse::<usize>().ok().and_then(|i| Some((i, entries.get(i)?)));
    entry.ok_or_else(|| no_entry(path, index, entries.len(), origin))
}

/// Makes the error for an index into a list of tables that is not an index.
pub(crate) fn no_entry(path: &str, index: &str, entries: usize, origin: Origin) -> ScenarioError {
    let allowed = (0..entries).map(|i| format!("{path}.{i}")).take(20).collect::<Vec<_>>();
    let problem = if allowed.is_empty() {
        format!("there is no [[{path}]]")
    } else {
        format!("there is no such entry; allowed: {}", allowed.join(", "))
    };
    ScenarioError::new(origin, join(path, index), Problem::Conflict(problem))
}

/// Values under key paths, as a sweep or a variant writes them: quoted (`"aqm.kind" = …`) or bare
/// (`aqm.kind = …`, which TOML reads as nested tables).
pub(crate) fn leaves<'a>(
    node: &'a Node,
    path: &str,
    out: &mut Vec<(String, &'a Node)>,
) -> Result<()> {
    for (key, inner) in table(node, path)?.iter() {
        let path = join(path, key);
        if is_section(&path) && inner.table().is_some() {
            leaves(inner, &path, out)?;
        } else {
            out.push((path, inner));
        }
    }
    Ok(())
}

fn is_section(path: &str) -> bool {
    let index = |segment: &str| !segment.is_empty() && segment.bytes().all(|b| b.is_ascii_digit());
    match path.split('.').collect::<Vec<_>>()[..] {
        [first] => SECTIONS.contains(&first),
        ["topology", key] => matches!(key, "bottleneck" | "node" | "link" | "access" | "egress"),
        ["aqm", "reverse"] => true,
        ["traffic", i] | ["topology", "node" | "link", i] => index(i),
        ["topology", "link", i, "aqm"] | ["topology", "link", i, "aqm", "reverse"] => index(i),
        _ => false,
    }
}

fn sweep(root: &Node, node: &Node) -> Result<()> {
    let mut axes = vec![];
    table(node, "sweep")?;
    leaves(node, "", &mut axes)?;
    let mut ranges = false;
    for (path, values) in axes {
        if path == "seeds" {
            check::value(values, &SWEEP_SEEDS, "sweep.seeds")?;
            continue;
        }
        if let Some(param) = DesignKeys::TABLE.iter().find(|p| p.name == path) {
            check::value(values, param, &join("sweep", &path))?;
            continue;
        }
        match &values.item {
            Item::List(list) if !list.is_empty() => {
                list.iter().try_for_each(|value| at_path(root, &path, value).map(|_| ()))?;
            }
            Item::Table(_) => {
                Range::read(root, &path, values)?;
                ranges = true;
            }
            _ => {
                let allowed =
                    "a list of values, at least one, or a range, for example { uniform = [0.1, 0.5] }".into();
                return Err(ScenarioError::at(
                    values,
                    &format!("sweep.{path}"),
                    Problem::Value { allowed },
                ));
            }
        }
    }
    let given = DesignKeys::TABLE.iter().find_map(|p| Some((p, node.child(p.name)?)));
    match given {
        Some((param, value)) if !ranges => {
            let problem = Problem::Conflict("chooses values of ranges, and no axis has one".into());
            Err(ScenarioError::at(value, &join("sweep", param.name), problem))
        }
        _ if ranges && node.child("samples").is_none() => {
            let problem = Problem::Missing { allowed: DesignKeys::TABLE[0].ty.allowed() };
            Err(ScenarioError::new(node.origin, "sweep.samples", problem))
        }
        _ => Ok(()),
    }
}

const VARIANT: &[Param] =
    &[Param { name: "name", doc: "What tables and figures call the variant.", ..PARAM }];

fn variant(root: &Node, node: &Node, i: usize) -> Result<()> {
    let path = format!("variant.{i}");
    let keys = Keys::new(&path, vec![VARIANT]).sections(&["set"]);
    keys.walk(node, |_, set| {
        let mut changes = vec![];
        table(set, &join(&path, "set"))?;
        leaves(set, "", &mut changes)?;
        changes.into_iter().try_for_each(|(key, value)| at_path(root, &key, value).map(|_| ()))
    })?;
    if let (Some(name), Some(earlier)) = (node.child("name"), root.child("variant")) {
        let taken = list(earlier, "variant")?.iter().take(i).filter_map(|v| v.child("name"));
        if taken.into_iter().any(|n| n.item == name.item) {
            let problem = Problem::Conflict("an earlier variant has this name".into());
            return Err(ScenarioError::at(name, &join(&path, "name"), problem));
        }
    }
    for key in ["name", "set"] {
        if node.child(key).is_none() {
            let allowed = if key == "name" { "a text" } else { "a table of key paths and values" };
            let problem = Problem::Missing { allowed: allowed.into() };
            return Err(ScenarioError::new(node.origin, join(&path, key), problem));
        }
    }
    Ok(())
}
