//! `[sweep]` and `[[variant]]`: the axes of a grid, and its points.

use crate::check;
use crate::error::{nearest, Problem, ScenarioError};
use crate::keys::{join, leaves};
use crate::node::{Item, Node, Origin};
use crate::range::Range;
use crate::scenario::Scenario;
use crate::tables::DesignKeys;
use penstock_units::param::{OwnDefaults, Params as _, Profile, Values};
use serde_json::Value as Json;

/// One axis of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The key path that it changes: `"aqm.kind"`.
    pub path: String,
    /// The values that the key takes, in order.
    pub values: Vec<Json>,
}

/// The way in which the values of the ranges are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    /// The number of points; for a grid, of values of each axis.
    pub samples: u64,
    /// `"lhs"`, `"random"` or `"grid"`.
    pub method: String,
    /// The seed that determines the samples.
    pub seed: u64,
}

impl Scenario {
    /// The listed axes of `[sweep]`, in the order of the file; variants and seeds are further ones.
    pub fn axes(&self) -> Vec<Axis> {
        let values = |node: &Node| match &node.item {
            Item::List(list) => Some(list.iter().map(Node::to_json).collect()),
            _ => None,
        };
        let axes = self.sweep().into_iter();
        axes.filter_map(|(path, node)| Some(Axis { path, values: values(node)? })).collect()
    }

    /// The axes of `[sweep]` that are ranges, in the order of the file.
    pub fn ranges(&self) -> Vec<Range> {
        let axes = self.sweep().into_iter().filter(|(_, node)| node.table().is_some());
        // They were read when the scenario was checked.
        axes.filter_map(|(path, node)| Range::read(self.tree(), &path, node).ok()).collect()
    }

    /// Returns how the values of ranges are chosen; `None` where there is no range.
    pub fn design(&self) -> Option<Design> {
        let sweep = self.root.child("sweep")?;
        let mut values = Values::defaults(DesignKeys::TABLES, &OwnDefaults::NONE, Profile::Rfc);
        for param in DesignKeys::TABLE {
            if let Some(node) = sweep.child(param.name) {
                values.set(param.name, check::value(node, param, param.name).ok()?);
            }
        }
        let keys = DesignKeys::read(&values);
        Some(Design {
            samples: keys.samples?.unsigned_abs(),
            method: keys.method.word().into(),
            seed: keys.design_seed.unsigned_abs(),
        })
    }

    /// `sweep.seeds`: the number of seeds of each point.
    pub fn sweep_seeds(&self) -> Option<u64> {
        whole(self.root.at("sweep.seeds")?)
    }

    /// The names of the variants, in the order of the file.
    pub fn variants(&self) -> Vec<String> {
        self.variant_nodes().iter().filter_map(|v| text(v.child("name")?)).collect()
    }

    /// A point of the grid: this scenario with a variant's changes and then those of the axes, and
    /// without `[sweep]` and `[[variant]]`.
    ///
    /// # Errors
    /// If there is no such variant or key, or if the point is no valid scenario.
    pub fn point(
        &self,
        variant: Option<&str>,
        set: &[(&str, &Json)],
    ) -> Result<Scenario, ScenarioError> {
        let mut root = self.root.clone();
        let changes = self.changes(variant)?;
        let paths = changes.iter().map(|c| c.0.as_str()).chain(set.iter().map(|s| s.0));
        let user = self.user.after(paths);
        self.refuse(set.iter().map(|s| s.0), &user)?;
        for (path, value) in changes {
            self.put(&mut root, &path, value)?;
        }
        for (path, value) in set {
            self.put(&mut root, path, Node::from_json(value, Origin::Unknown))?;
        }
        if let Some(table) = root.table_mut() {
            table.remove("sweep");
            table.remove("variant");
        }
        Scenario::checked(root, self.file.clone(), user)
    }

    fn sweep(&self) -> Vec<(String, &Node)> {
        let mut axes = vec![];
        if let Some(sweep) = self.root.child("sweep") {
            // A checked scenario's sweep is a table.
            let _ = leaves(sweep, "", &mut axes);
        }
        axes
    }

    fn variant_nodes(&self) -> &[Node] {
        match self.root.child("variant").map(|n| &n.item) {
            Some(Item::List(list)) => list,
            _ => &[],
        }
    }

    /// Returns the keys that a variant changes, with their values.
    fn changes(&self, variant: Option<&str>) -> Result<Vec<(String, Node)>, ScenarioError> {
        let Some(name) = variant else { return Ok(vec![]) };
        let found = self
            .variant_nodes()
            .iter()
            .find(|v| v.child("name").and_then(text).as_deref() == Some(name));
        let Some(found) = found else {
            let allowed = self.variants();
            let nearest = nearest(name, allowed.iter().map(String::as_str));
            let problem = Problem::UnknownWord { allowed, nearest };
            let error = ScenarioError::new(Origin::Unknown, join("variant", "name"), problem);
            return Err(error.found(format!("\"{name}\"")).in_file(self.file.as_deref()));
        };
        let mut changes = vec![];
        if let Some(set) = found.child("set") {
            leaves(set, "", &mut changes)?;
        }
        Ok(changes.into_iter().map(|(path, node)| (path, node.clone())).collect())
    }
}

fn whole(node: &Node) -> Option<u64> {
    match node.item {
        Item::Int(n) => u64::try_from(n).ok(),
        Item::Float(x) => Some(x as u64), // checked to be whole and in range
        _ => None,
    }
}

fn text(node: &Node) -> Option<String> {
    match &node.item {
        Item::Text(s) => Some(s.clone()),
        _ => None,
    }
}
