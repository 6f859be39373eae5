//! A checked scenario and what can be done with it.

use crate::error::{Problem, ScenarioError};
use crate::files::Files;
use crate::keys::{self, Tree};
use crate::node::{Item, Node, Origin, SyntaxError};
use crate::plan::facts::Facts;
use crate::plan::{self, Plan};
use crate::show;
use crate::tables::{Access, GraphLink, Link, Record, TOPOLOGY};
use crate::user::UserAqms;
use crate::walk;
use penstock_sim::UserAqm;
use penstock_tcp::{ControlParams, Ecn};
use penstock_units::param::{Param, Values};
use penstock_units::{shorten, Duration};
use serde_json::{json, Map, Value as Json};
use std::fmt;

/// A scenario that has been checked as a whole; nothing in it changes.
#[derive(Clone)]
pub struct Scenario {
    pub(crate) file: Option<String>,
    pub(crate) root: Node,
    pub(crate) plan: Plan,
    pub(crate) user: UserAqms,
    name: String,
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scenario({})", self.resolved())
    }
}

impl Scenario {
    /// Reads and checks the text of a scenario file; `file_name` appears in messages.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn from_toml(text: &str, file_name: &str) -> Result<Self, ScenarioError> {
        Scenario::from_toml_with(text, file_name, &[], &[])
    }

    /// Reads a scenario with keys changed, as [`Scenario::set_all`] does, before anything is
    /// checked: what a change replaces need not be right. The parameters of `own` are keys of its
    /// `[aqm]`, too.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn from_toml_with(
        text: &str,
        file_name: &str,
        changes: &[(&str, &str)],
        own: &[UserAqm],
    ) -> Result<Self, ScenarioError> {
        let root = changed(text, file_name, changes)?;
        Scenario::checked(root, Some(file_name.into()), known(own))
    }

    /// Reads and checks a file that may contain a link alone, for a run of the user's programs.
    /// Without `[[traffic]]` it gets one FTP flow, and without `duration` an hour. The second value
    /// says whether the file has traffic.
    ///
    /// # Errors
    /// As for [`Scenario::from_toml_with`].
    pub fn link_from_toml(
        text: &str,
        file_name: &str,
        changes: &[(&str, &str)],
        own: &[UserAqm],
    ) -> Result<(Self, bool), ScenarioError> {
        let mut root = changed(text, file_name, changes)?;
        let has_traffic = root.child("traffic").is_some();
        let stand_ins = [("traffic", json!([{ "kind": "ftp" }])), ("duration", json!("1 h"))];
        for (key, value) in stand_ins {
            if root.child(key).is_none() {
                if let Some(table) = root.table_mut() {
                    table.set(key, Node::from_json(&value, Origin::Unknown));
                }
            }
        }
        Ok((Scenario::checked(root, Some(file_name.into()), known(own))?, has_traffic))
    }

    /// Reads and checks the same tables as JSON, where a null is the same as an absent key.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        let json: Json = serde_json::from_str(text).map_err(|e| {
            syntax(SyntaxError { line: u32::try_from(e.line()).ok(), message: e.to_string() })
        })?;
        Scenario::checked(Node::from_json(&json, Origin::Unknown), None, UserAqms::default())
    }

    pub(crate) fn checked(
        root: Node,
        file: Option<String>,
        user: UserAqms,
    ) -> Result<Self, ScenarioError> {
        let files = Files::beside(file.as_deref());
        let plan = walk::scenario(Tree { root: &root, user: &user })
            .and_then(|()| plan::plan(&user.placed(&root), &files))
            .and_then(|mut plan| plan.settle(&root, &user).map(|()| plan));
        match plan {
            Ok(plan) => Ok(Scenario { file, root, name: plan.top.name.clone(), plan, user }),
            Err(e) => Err(e.in_file(file.as_deref())),
        }
    }

    /// Says why a path that is to be changed is no key of a user discipline, where that needs to be
    /// said.
    pub(crate) fn refuse<'a>(
        &self,
        paths: impl Iterator<Item = &'a str>,
        user: &UserAqms,
    ) -> Result<(), ScenarioError> {
        for path in paths {
            let (section, key) = path.rsplit_once('.').unwrap_or(("", path));
            if let Some(why) = user.at(section).and_then(|own| own.refuses(key)) {
                let problem = Problem::Conflict(why.into());
                let error = ScenarioError::new(Origin::Set, path, problem);
                return Err(error.in_file(self.file.as_deref()));
            }
        }
        Ok(())
    }

    pub(crate) fn tree(&self) -> Tree<'_> {
        Tree { root: &self.root, user: &self.user }
    }

    /// The scenario with one key changed, as `--set path=value` does: `value` is a TOML literal, or
    /// else plain text (`aqm.kind`, `red`; `topology.bottleneck.rate`, `2 Mbit/s`;
    /// `traffic.0.flows`, `5`).
    ///
    /// # Errors
    /// If there is no such key, or the changed scenario is wrong.
    pub fn set(&self, path: &str, value: &str) -> Result<Self, ScenarioError> {
        self.set_all(&[(path, value)])
    }

    /// The scenario with several keys changed, which only have to hold together.
    ///
    /// # Errors
    /// As for [`Scenario::set`].
    pub fn set_all(&self, changes: &[(&str, &str)]) -> Result<Self, ScenarioError> {
        let mut root = self.root.clone();
        put_all(&mut root, changes).map_err(|e| e.in_file(self.file.as_deref()))?;
        let user = self.user.after(changes.iter().map(|c| c.0));
        self.refuse(changes.iter().map(|c| c.0), &user)?;
        Scenario::checked(root, self.file.clone(), user)
    }

    pub(crate) fn put(
        &self,
        root: &mut Node,
        path: &str,
        value: Node,
    ) -> Result<(), ScenarioError> {
        put(root, path, value).map_err(|e| e.in_file(self.file.as_deref()))
    }

    /// Returns this scenario with another discipline at the bottleneck, as `compare` runs it: the
    /// kind takes its own keys of `[aqm]` (or of the table that a link of a graph has instead), and
    /// for `mecn` and `amecn` the flows that use ECN use its multi-level form.
    ///
    /// # Errors
    /// If there is no such kind, or its keys do not fit.
    pub fn with_aqm(&self, kind: &str) -> Result<Self, ScenarioError> {
        self.with_aqm_set(kind, &[])
    }

    /// [`Scenario::with_aqm`] with some of the discipline's keys changed: `value` is as for
    /// [`Scenario::set`].
    ///
    /// # Errors
    /// As for [`Scenario::with_aqm`].
    pub fn with_aqm_set(&self, kind: &str, set: &[(&str, &str)]) -> Result<Self, ScenarioError> {
        let text = |s: &str| Node { origin: Origin::Unknown, item: Item::Text(s.into()) };
        let mut root = self.root.clone();
        let key = keys::join(&self.bottleneck().place, "kind");
        self.put(&mut root, &key, text(kind))?;
        for (name, value) in set {
            let path = keys::join(&self.bottleneck().place, name);
            self.put(&mut root, &path, Node::from_argument(value))?;
        }
        if matches!(kind, "mecn" | "amecn") {
            for (i, traffic) in self.plan.traffic.iter().enumerate() {
                let multi_level = traffic.source.tcp().is_some_and(|t| {
                    !matches!(t.ecn, Ecn::Off | Ecn::Sce) && t.control == ControlParams::Reno
                });
                if multi_level {
                    self.put(&mut root, &format!("traffic.{i}.ecn"), text("mecn"))?;
                }
            }
        }
        Scenario::checked(root, self.file.clone(), self.user.after([key.as_str()].into_iter()))
    }

    /// Returns the same scenario under a user discipline at the bottleneck, forward. It gets those
    /// keys of `[aqm]` that every kind takes, and the parameters that it declares.
    ///
    /// # Errors
    /// If those do not fit.
    pub fn with_user_aqm(&self, aqm: UserAqm) -> Result<Self, ScenarioError> {
        self.with_user_aqm_set(aqm, &[])
    }

    /// [`Scenario::with_user_aqm`] with some of its keys changed: `value` is as for
    /// [`Scenario::set`].
    ///
    /// # Errors
    /// As for [`Scenario::with_user_aqm`].
    pub fn with_user_aqm_set(
        &self,
        aqm: UserAqm,
        set: &[(&str, &str)],
    ) -> Result<Self, ScenarioError> {
        self.under("aqm", aqm, set)
    }

    /// Returns the same scenario with a user discipline in the opposite direction
    /// (`[aqm.reverse]`).
    ///
    /// # Errors
    /// As for [`Scenario::with_user_aqm`].
    pub fn with_user_reverse_aqm(&self, aqm: UserAqm) -> Result<Self, ScenarioError> {
        self.with_user_reverse_aqm_set(aqm, &[])
    }

    /// [`Scenario::with_user_reverse_aqm`] with some of its keys changed.
    ///
    /// # Errors
    /// As for [`Scenario::with_user_aqm`].
    pub fn with_user_reverse_aqm_set(
        &self,
        aqm: UserAqm,
        set: &[(&str, &str)],
    ) -> Result<Self, ScenarioError> {
        self.under("aqm.reverse", aqm, set)
    }

    fn under(&self, path: &str, aqm: UserAqm, set: &[(&str, &str)]) -> Result<Self, ScenarioError> {
        let mut root = self.root.clone();
        for (name, value) in set {
            self.put(&mut root, &keys::join(path, name), Node::from_argument(value))?;
        }
        let user = self.user.clone().with(path, aqm);
        Scenario::checked(root, self.file.clone(), user)
    }

    /// Returns whether it contains a user discipline.
    pub fn has_user_aqm(&self) -> bool {
        self.user.forward.is_some() || self.user.reverse.is_some()
    }

    fn bottleneck(&self) -> &plan::Line {
        &self.plan.topology.links[self.plan.topology.bottleneck]
    }

    /// Returns the user discipline in a direction, with the values of its parameters.
    pub fn user_aqm(&self, reverse: bool) -> Option<&UserAqm> {
        if reverse { &self.plan.reverse } else { &self.plan.aqm }.user.as_ref()
    }

    /// Returns the kind of the discipline at the bottleneck, or the name of a user discipline.
    pub fn aqm(&self) -> &str {
        let line = self.bottleneck();
        line.user.as_ref().map_or(line.aqm.name, UserAqm::name)
    }

    /// The scenario's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first seed.
    pub fn seed(&self) -> u64 {
        self.plan.top.seed.unsigned_abs()
    }

    /// Simulated time.
    pub fn duration(&self) -> Duration {
        self.plan.top.duration
    }

    /// Returns the end of the measured window, where the scenario sets one.
    pub fn measure_to(&self) -> Option<Duration> {
        self.plan.measure.to
    }

    /// Simulated time in seconds.
    pub fn duration_s(&self) -> f64 {
        self.duration().as_secs_f64()
    }

    /// Packets of 1000 B that the forward and backward links can carry in the run: about
    /// proportional to the time that it takes.
    pub fn work(&self) -> f64 {
        let bps: f64 = self.plan.topology.links.iter().map(|l| l.rate.as_bps() as f64).sum();
        bps * self.duration_s() / 8000.0
    }

    /// Returns what follows from it before anything runs.
    pub fn facts(&self) -> Facts {
        self.plan.facts()
    }

    /// The names of the traffic groups, in the order of the results' groups.
    pub fn group_names(&self) -> Vec<String> {
        let entries = || self.plan.traffic.iter();
        let mut names: Vec<String> = entries().map(|t| t.name().into()).collect();
        let calls = entries().filter(|t| t.source.is_call());
        names.extend(calls.map(|t| format!("{} back", t.name())));
        if self.plan.topology.cross_flows() > 0 {
            names.push("cross".into());
        }
        names
    }

    /// The names of the links, in the order of the results' links.
    pub fn link_names(&self) -> Vec<String> {
        self.plan.topology.links.iter().map(|line| line.name.clone()).collect()
    }

    /// Returns the name of the link that a run's metrics describe.
    pub fn bottleneck_name(&self) -> &str {
        &self.bottleneck().name
    }

    /// Returns whether results have every link's metrics; else the run's alone, which are the
    /// bottleneck's.
    pub fn measures_links(&self) -> bool {
        self.plan.measures_links()
    }

    /// Returns whether groups and flows have the metrics of their packets.
    pub fn records_groups(&self) -> bool {
        self.plan.record.groups
    }

    /// The scenario as it was written, `[sweep]` and `[[variant]]` included, as JSON.
    pub fn source(&self) -> Json {
        self.root.to_json()
    }

    /// Every key with its value in force, defaults filled in, automatic ones null. It reads back as
    /// the same scenario, unless it contains a user discipline, whose name is not a kind.
    /// `[sweep]`, `[[variant]]` and keys of other kinds are not part of it.
    pub fn resolved(&self) -> Json {
        let Plan { top, measure, record, topology, aqm, reverse, traffic } = &self.plan;
        let mut root = Map::new();
        root.extend(show::params(top));
        root.insert("measure".into(), Json::Object(show::params(measure)));
        if *record != Record::default() {
            root.insert("record".into(), Json::Object(show::params(record)));
        }
        root.insert("topology".into(), Json::Object(resolved_topology(topology)));
        let mut at_bottleneck = discipline(aqm);
        at_bottleneck.insert("reverse".into(), Json::Object(discipline(reverse)));
        root.insert("aqm".into(), Json::Object(at_bottleneck));
        let entries = traffic.iter().map(|t| {
            let params = keys::traffic_params(t.kind);
            let read = flat(&params).filter(|p| t.reads(p, top.profile) && t.names(p, top.profile));
            Json::Object(show::values(read, &t.values))
        });
        root.insert("traffic".into(), entries.collect());
        Json::Object(root)
    }

    /// [`Scenario::resolved`] as text.
    pub fn resolved_json(&self) -> String {
        self.resolved().to_string()
    }

    /// [`Scenario::resolved_json`], and the same without `name` and `seed`: equal texts are the
    /// same runs, seed by seed.
    pub fn canonical_json(&self) -> (String, String) {
        let mut resolved = self.resolved();
        let whole = resolved.to_string();
        if let Some(keys) = resolved.as_object_mut() {
            keys.retain(|key, _| !matches!(key.as_str(), "name" | "seed"));
        }
        (whole, resolved.to_string())
    }
}

/// No user discipline, and the parameters of those that may come.
fn known(own: &[UserAqm]) -> UserAqms {
    own.iter().fold(UserAqms::default(), |user, each| user.declaring(each.params()))
}

/// The tables of a text, with keys changed.
fn changed(text: &str, file: &str, changes: &[(&str, &str)]) -> Result<Node, ScenarioError> {
    let root = Node::from_toml(text).map_err(syntax).and_then(|mut root| {
        put_all(&mut root, changes)?;
        Ok(root)
    });
    root.map_err(|e| e.in_file(Some(file)))
}

fn put_all(root: &mut Node, changes: &[(&str, &str)]) -> Result<(), ScenarioError> {
    changes.iter().try_for_each(|(path, value)| put(root, path, Node::from_argument(value)))
}

/// Puts a value under a dotted path.
fn put(root: &mut Node, path: &str, value: Node) -> Result<(), ScenarioError> {
    let origin = value.origin;
    // Splitting finds empty segments too ("aqm..kind"): they are unknown keys, found by the
    // check.
    let failed = root.put(path, value).err();
    let Some(stop) = failed else { return Ok(()) };
    let (parent, last) = stop.rsplit_once('.').unwrap_or((&stop, ""));
    Err(match root.at(parent).map(|n| &n.item) {
        Some(Item::List(list)) if list.iter().all(|n| n.table().is_some()) => {
            keys::no_entry(parent, last, list.len(), origin)
        }
        _ => {
            let problem = Problem::Conflict(format!(
                "{} has no keys inside; set it as a whole",
                shorten(parent)
            ));
            ScenarioError::new(origin, path, problem)
        }
    })
}

fn syntax(error: SyntaxError) -> ScenarioError {
    let origin = error.line.map_or(Origin::Unknown, Origin::Line);
    ScenarioError::new(origin, "", Problem::Syntax(error.message))
}

fn flat<'a>(params: &'a keys::Params) -> impl Iterator<Item = &'static Param> + 'a {
    params.iter().copied().flatten()
}

fn discipline(d: &plan::Discipline) -> Map<String, Json> {
    // A default of the kind's own is told, whatever the table's is.
    let own = |p: &&'static Param| d.kind.defaults.any.iter().any(|(key, _)| *key == p.name);
    let params = keys::aqm_params(d.kind);
    let quiet = loud(flat(&params).filter(|p| !own(p)), &d.values);
    let mut out =
        show::values(flat(&params).filter(|p| own(p) || quiet.contains_key(p.name)), &d.values);
    if let Some(user) = &d.user {
        out.insert("kind".into(), Json::String(user.name().into()));
        out.extend(show::values(user.params().iter(), &d.values));
    }
    out
}

/// The keys of a link or a discipline, without the quiet ones that say nothing.
fn loud(params: impl Iterator<Item = &'static Param>, values: &Values) -> Map<String, Json> {
    let general = |p: &'static Param| p.default.map(|text| keys::default(p, text));
    show::values(params.filter(|p| !p.quiet || values.get(p.name) != general(p).as_ref()), values)
}

fn resolved_topology(t: &plan::Topology) -> Map<String, Json> {
    let side = |keys: &Option<Access>| {
        keys.as_ref().map_or(Json::Null, |keys| Json::Object(show::params(keys)))
    };
    let mut out = show::values(TOPOLOGY.iter().chain(t.kind.params), &t.values);
    if t.kind.graph {
        let node = |name: &String| json!({ "name": name });
        out.insert("node".into(), t.nodes.iter().map(node).collect());
        let link = |wire: &plan::Wire| {
            let mut link = loud(GraphLink::TABLE.iter().chain(Link::TABLE), &wire.values);
            let mut own = wire.aqm.as_ref().map(discipline).unwrap_or_default();
            if let Some(reverse) = &wire.reverse {
                own.insert("reverse".into(), Json::Object(discipline(reverse)));
            }
            if !own.is_empty() {
                link.insert("aqm".into(), Json::Object(own));
            }
            Json::Object(link)
        };
        out.insert(t.kind.link.into(), t.wires.iter().map(link).collect());
    } else {
        out.insert(t.kind.link.into(), Json::Object(loud(Link::TABLE.iter(), &t.wires[0].values)));
    }
    out.insert("access".into(), side(&t.access));
    out.insert("egress".into(), side(&t.egress));
    out
}
