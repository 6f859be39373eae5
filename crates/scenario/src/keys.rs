//! This module finds the keys that may stand in each table of a scenario, and the kinds that the
//! tables name.

use crate::check;
use crate::error::{nearest, Problem, ScenarioError};
use crate::node::{Item, Node, Origin, Table};
use crate::tables::{
    self, Access, GraphLink, Group, Link, Measure, Record, Router, Top, AQM_KIND, TOPOLOGY,
    TRAFFICS, TRAFFIC_KIND,
};
use crate::user::UserAqms;
use penstock_aqm::{COMMON, KINDS};
use penstock_sim::UserAqm;
use penstock_units::param::{Param, Ty, Value};

type Result<T> = std::result::Result<T, ScenarioError>;

/// A scenario's tree, and the user disciplines whose parameters are keys of it, too.
#[derive(Clone, Copy)]
pub(crate) struct Tree<'a> {
    pub root: &'a Node,
    pub user: &'a UserAqms,
}

/// Tables of parameters that one table of the scenario may hold.
pub(crate) type Params = Vec<&'static [Param]>;

/// The keys that one table of a scenario may hold.
pub(crate) struct Keys {
    path: String,
    own: Params,
    /// Keys of other kinds, which are there for a sweep or a comparison. They are checked but not
    /// used.
    foreign: Params,
    sections: Vec<&'static str>,
    /// The user discipline whose keys they are.
    user: Option<UserAqm>,
}

impl Keys {
    pub fn new(path: &str, own: Params) -> Self {
        Keys { path: path.into(), own, foreign: vec![], sections: vec![], user: None }
    }

    pub fn sections(mut self, sections: &[&'static str]) -> Self {
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

    /// Says why a name is no key, where one may take it for one. A file's table may hold it for
    /// another kind.
    fn refuse(&self, key: &str, origin: Origin) -> Result<()> {
        self.user.as_ref().and_then(|user| user.refuses(key)).map_or(Ok(()), |why| {
            let problem = Problem::Conflict(why.into());
            Err(ScenarioError::new(origin, join(&self.path, key), problem))
        })
    }

    fn unknown(&self, key: &str, origin: Origin) -> ScenarioError {
        let allowed = self.names().map(String::from).collect();
        let foreign = self.foreign.iter().copied().flatten().map(|p| p.name);
        let nearest = nearest(key, self.names().chain(foreign));
        ScenarioError::new(origin, join(&self.path, key), Problem::UnknownKey { allowed, nearest })
    }

    /// Checks a table's parameters; `section` gets the keys that are tables themselves.
    pub fn walk(
        &self,
        node: &Node,
        mut section: impl FnMut(&str, &Node) -> Result<()>,
    ) -> Result<()> {
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

pub(crate) fn table<'a>(node: &'a Node, path: &str) -> Result<&'a Table> {
    let allowed = || Problem::Value { allowed: "a table".into() };
    node.table().ok_or_else(|| ScenarioError::at(node, path, allowed()))
}

pub(crate) fn list<'a>(node: &'a Node, path: &str) -> Result<&'a [Node]> {
    match &node.item {
        Item::List(list) => Ok(list),
        _ => {
            let allowed = format!("a list of tables, each under its own [[{path}]]");
            Err(ScenarioError::at(node, path, Problem::Value { allowed }))
        }
    }
}

pub(crate) const SECTIONS: &[&str] =
    &["measure", "record", "topology", "aqm", "traffic", "sweep", "variant"];

pub(crate) fn measure() -> Keys {
    Keys::new("measure", vec![Measure::TABLE])
}

pub(crate) fn record() -> Keys {
    Keys::new("record", vec![Record::TABLE])
}

/// Returns the row of a table of kinds that the key `kind`, or its default, names.
fn kind<T>(
    node: Option<&Node>,
    (path, absent): (&str, Origin),
    declared: &'static [Param],
    row: impl Fn(&str) -> Option<&'static T>,
) -> Result<&'static T> {
    let param = &declared[0];
    let path = join(path, "kind");
    let value = match node.and_then(|n| n.child("kind")) {
        Some(given) => Some(check::value(given, param, &path)?),
        None => param.default.map(|text| default(param, text)),
    };
    let found = match &value {
        Some(Value::Word(word)) => row(word),
        _ => None,
    };
    let missing = Problem::Missing { allowed: param.ty.allowed() };
    found.ok_or_else(|| ScenarioError::new(node.map_or(absent, |n| n.origin), path, missing))
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
    kind(root.child("topology"), ("topology", root.origin), TOPOLOGY, tables::topology)
}

pub(crate) fn topology_keys(root: &Node) -> Result<Keys> {
    let kind = topology_kind(root)?;
    let keys = Keys::new("topology", vec![TOPOLOGY, kind.params]);
    Ok(if kind.graph {
        keys.sections(&["node", kind.link, "access", "egress"])
    } else {
        keys.sections(&[kind.link, "access", "egress"])
    })
}

/// A router or a link of a graph.
pub(crate) fn graph_entry(key: &str, i: usize) -> Keys {
    let path = format!("topology.{key}.{i}");
    match key {
        "node" => Keys::new(&path, vec![Router::TABLE]),
        _ => Keys::new(&path, vec![GraphLink::TABLE, Link::TABLE]).sections(&["aqm"]),
    }
}

pub(crate) fn topology_section(key: &str) -> Keys {
    let params = if matches!(key, "access" | "egress") { Access::TABLE } else { Link::TABLE };
    Keys::new(&join("topology", key), vec![params])
}

/// The discipline's kind under `aqm` or `aqm.reverse`.
pub(crate) fn aqm_kind(root: &Node, path: &str) -> Result<&'static penstock_aqm::Kind> {
    let node = root.at(path);
    if let Some(node) = node {
        table(node, path)?;
    }
    kind(node, (path, root.origin), AQM_KIND, penstock_aqm::kind)
}

/// The tables of a kind of discipline.
pub(crate) fn aqm_params(kind: &penstock_aqm::Kind) -> Params {
    [AQM_KIND, COMMON].into_iter().chain(kind.params.iter().copied()).collect()
}

pub(crate) fn aqm(tree: Tree<'_>, path: &str) -> Result<Keys> {
    let kinds = KINDS.iter().flat_map(|k| k.params).copied();
    let others = kinds.chain(tree.user.declared.iter().copied()).collect();
    let kind = aqm_kind(tree.root, path)?;
    let user = tree.user.at(path);
    let own = match user {
        Some(user) => vec![AQM_KIND, COMMON, user.params()],
        None => aqm_params(kind),
    };
    let keys = Keys { user: user.cloned(), ..Keys::new(path, own).foreign(others) };
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
    kind(Some(entry), (&path, entry.origin), TRAFFIC_KIND, tables::traffic)
}

/// With `any`, keys of other kinds pass: a sweep may change the kind too.
pub(crate) fn traffic(entry: &Node, i: usize, any: bool) -> Result<Keys> {
    let keys = Keys::new(&format!("traffic.{i}"), traffic_params(traffic_kind(entry, i)?));
    Ok(if any {
        keys.foreign(TRAFFICS.iter().flat_map(|k| k.params).copied().collect())
    } else {
        keys
    })
}

/// Checks a value under a dotted path, as `[sweep]` and `[[variant]]` name it.
pub(crate) fn at_path(tree: Tree<'_>, path: &str, value: &Node) -> Result<Value> {
    let (section, key) = path.rsplit_once('.').unwrap_or(("", path));
    let keys = keys_of(tree, section, value.origin)?;
    keys.refuse(key, value.origin)?;
    if keys.sections.contains(&key) {
        let problem = Problem::Conflict("is a table: name one of its keys".into());
        return Err(ScenarioError::at(value, path, problem));
    }
    keys.check(key, value)?.ok_or_else(|| keys.unknown(key, value.origin))
}

/// Returns the keys that may stand under a section's path.
fn keys_of(tree: Tree<'_>, section: &str, origin: Origin) -> Result<Keys> {
    let root = tree.root;
    let top = || Keys::new("", vec![Top::TABLE]).sections(SECTIONS);
    let segments: Vec<&str> = section.split('.').collect();
    match segments[..] {
        [""] => Ok(top()),
        ["measure"] => Ok(measure()),
        ["record"] => Ok(record()),
        ["aqm"] | ["aqm", "reverse"] => aqm(tree, section),
        ["aqm", key, _] if tables_of(key).is_some() => {
            Ok(Keys::new(section, tables_of(key).into_iter().collect()))
        }
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
                        ["aqm"] | ["aqm", "reverse"] if key == "link" => aqm(tree, section),
                        ["aqm", wrong, ..] if key == "link" => {
                            Err(aqm(tree, &format!("topology.link.{i}.aqm"))?
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

/// The keys of each table under a key of a discipline that holds tables by name.
fn tables_of(key: &str) -> Option<&'static [Param]> {
    KINDS.iter().flat_map(|kind| kind.params).find_map(|table| inner_of(table, key))
}

fn inner_of(table: &[Param], key: &str) -> Option<&'static [Param]> {
    table.iter().find(|p| p.name == key).and_then(|p| match p.ty {
        Ty::Tables(inner) => Some(inner),
        _ => None,
    })
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
        ["aqm", key] | ["aqm", key, _] => tables_of(key).is_some(),
        ["traffic", i] | ["topology", "node" | "link", i] => index(i),
        ["topology", "link", i, "aqm"] | ["topology", "link", i, "aqm", "reverse"] => index(i),
        _ => false,
    }
}
