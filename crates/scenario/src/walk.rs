//! The first pass: every key is declared and every value has its declared type, in the order of the
//! file. The second pass (`plan.rs`) checks values together.

use crate::check;
use crate::error::{Problem, ScenarioError};
use crate::keys::{
    aqm, at_path, graph_entry, join, leaves, list, measure, record, table, topology_keys,
    topology_kind, topology_section, traffic, Keys, Tree, SECTIONS,
};
use crate::node::{Item, Node};
use crate::range::Range;
use crate::tables::{DesignKeys, Top, SWEEP_SEEDS};
use penstock_units::param::{Param, PARAM};

type Result<T> = std::result::Result<T, ScenarioError>;

/// Checks the whole tree.
pub(crate) fn scenario(tree: Tree<'_>) -> Result<()> {
    let root = tree.root;
    let top = Keys::new("", vec![Top::TABLE]).sections(SECTIONS);
    top.walk(root, |key, node| match key {
        "measure" => measure().walk(node, nothing),
        "record" => record().walk(node, nothing),
        "topology" => topology(tree, node),
        "aqm" => aqm(tree, "aqm")?
            .walk(node, |_, reverse| aqm(tree, "aqm.reverse")?.walk(reverse, nothing)),
        "traffic" => list(node, "traffic")?
            .iter()
            .enumerate()
            .try_for_each(|(i, entry)| traffic(entry, i, false)?.walk(entry, nothing)),
        "sweep" => sweep(tree, node),
        _ => list(node, "variant")?.iter().enumerate().try_for_each(|(i, v)| variant(tree, v, i)),
    })
}

fn nothing(_: &str, _: &Node) -> Result<()> {
    Ok(())
}

fn topology(tree: Tree<'_>, node: &Node) -> Result<()> {
    let root = tree.root;
    table(node, "topology")?;
    let graph = topology_kind(root)?.graph;
    topology_keys(root)?.walk(node, |key, inner| match key {
        "node" | "link" if graph => {
            let path = join("topology", key);
            list(inner, &path)?.iter().enumerate().try_for_each(|(i, entry)| {
                graph_entry(key, i).walk(entry, |_, own| {
                    let path = format!("{path}.{i}.aqm");
                    aqm(tree, &path)?.walk(own, |_, reverse| {
                        aqm(tree, &join(&path, "reverse"))?.walk(reverse, nothing)
                    })
                })
            })
        }
        _ => topology_section(key).walk(inner, nothing),
    })
}

fn sweep(tree: Tree<'_>, node: &Node) -> Result<()> {
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
                list.iter().try_for_each(|value| at_path(tree, &path, value).map(|_| ()))?;
            }
            Item::Table(_) => {
                Range::read(tree, &path, values)?;
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

fn variant(tree: Tree<'_>, node: &Node, i: usize) -> Result<()> {
    let path = format!("variant.{i}");
    let keys = Keys::new(&path, vec![VARIANT]).sections(&["set"]);
    keys.walk(node, |_, set| {
        let mut changes = vec![];
        table(set, &join(&path, "set"))?;
        leaves(set, "", &mut changes)?;
        changes.into_iter().try_for_each(|(key, value)| at_path(tree, &key, value).map(|_| ()))
    })?;
    if let (Some(name), Some(earlier)) = (node.child("name"), tree.root.child("variant")) {
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
