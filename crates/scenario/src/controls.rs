//! A form that changes a scenario shows its keys with their declarations and their values.

use crate::keys;
use crate::list;
use crate::scenario::Scenario;
use crate::show;
use crate::tables::{Access, Link};
use penstock_aqm::COMMON;
use penstock_units::param::{Param, Ty};
use serde_json::{json, Map, Value as Json};

impl Scenario {
    /// Returns the keys of the discipline, of the link of a dumbbell with its hosts' links, and of
    /// each entry of traffic: a list of groups with `title`, `path` and `keys`. A key is what
    /// [`crate::list()`] says of it, with the numbers of its range (`min`, `max`, and `open` where
    /// `min` itself is not allowed) or its `words`, and its `value` in force, null where that is
    /// automatic. `main` keys come first: those that the scenario sets, and those of the kind of
    /// discipline itself.
    pub fn controls(&self) -> Json {
        let plan = &self.plan;
        let own = || plan.aqm.kind.params.iter().copied().flatten();
        let aqm = || own().chain(COMMON);
        let values = show::values(aqm(), &plan.aqm.values);
        let mut groups = vec![self.group("Discipline", "aqm", aqm(), &values)];
        for key in groups[0]["keys"].as_array_mut().into_iter().flatten() {
            if own().any(|p| key["name"] == p.name) {
                key["main"] = json!(true);
            }
        }
        if self.topology().is_dumbbell() {
            let link = show::values(Link::TABLE.iter(), &plan.topology.wires[0].values);
            let path = "topology.bottleneck";
            groups.push(self.group("Bottleneck", path, Link::TABLE.iter(), &link));
            for (title, side, table) in [
                ("Senders' links", "access", &plan.topology.access),
                ("Receivers' links", "egress", &plan.topology.egress),
            ] {
                if let Some(table) = table {
                    let (path, values) = (format!("topology.{side}"), show::params(table));
                    groups.push(self.group(title, &path, Access::TABLE.iter(), &values));
                }
            }
        }
        for (i, traffic) in plan.traffic.iter().enumerate() {
            let params = keys::traffic_params(traffic.kind);
            let read = || {
                params.iter().copied().flatten().filter(|p| traffic.reads(p, self.plan.top.profile))
            };
            let values = show::values(read(), &traffic.values);
            let title = format!("Traffic: {}", traffic.name());
            groups.push(self.group(&title, &format!("traffic.{i}"), read(), &values));
        }
        Json::Array(groups)
    }

    fn group<'a>(
        &self,
        title: &str,
        path: &str,
        params: impl Iterator<Item = &'a Param>,
        values: &Map<String, Json>,
    ) -> Json {
        let set = |p: &Param| self.root.at(&keys::join(path, p.name)).is_some();
        let keys: Json = params.map(|p| key(p, values.get(p.name), set(p))).collect();
        json!({ "title": title, "path": path, "keys": keys })
    }
}

fn key(p: &Param, value: Option<&Json>, main: bool) -> Json {
    let mut out = list::param(p);
    out["main"] = json!(main);
    out["value"] = value.cloned().unwrap_or(Json::Null);
    range(&p.ty, &mut out);
    out
}

fn range(ty: &Ty, out: &mut Json) {
    match ty {
        Ty::Int { min, max } => (out["min"], out["max"]) = (json!(min), json!(max)),
        Ty::Num { min, max, open } => {
            (out["min"], out["max"], out["open"]) = (json!(min), json!(max), json!(open));
        }
        Ty::Or(number, words) => {
            range(number, out);
            out["words"] = json!(words);
        }
        Ty::Word(words) => out["words"] = json!(words),
        _ => {}
    }
}
