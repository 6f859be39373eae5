//! User disciplines in a scenario.

use crate::node::{Item, Node, Origin};
use penstock_sim::UserAqm;
use penstock_units::param::Param;

/// User disciplines, which replace `[aqm]` and `[aqm.reverse]`.
#[derive(Clone, Default)]
pub(crate) struct UserAqms {
    pub forward: Option<UserAqm>,
    pub reverse: Option<UserAqm>,
    /// The parameters of all that the scenario has had: their keys stay, as those of other kinds do.
    pub declared: Vec<&'static [Param]>,
}

impl UserAqms {
    /// Returns the same with further parameters that are keys of `[aqm]`.
    pub fn declaring(mut self, params: &'static [Param]) -> Self {
        if !params.is_empty() && !self.declared.contains(&params) {
            self.declared.push(params);
        }
        self
    }

    /// Returns the same with a discipline under a path.
    pub fn with(self, path: &str, aqm: UserAqm) -> Self {
        let mut user = self.declaring(aqm.params());
        match path {
            "aqm.reverse" => user.reverse = Some(aqm),
            _ => user.forward = Some(aqm),
        }
        user
    }

    /// Returns the discipline under a path.
    pub fn at(&self, path: &str) -> Option<&UserAqm> {
        match path {
            "aqm" => self.forward.as_ref(),
            "aqm.reverse" => self.reverse.as_ref(),
            _ => None,
        }
    }

    /// Returns what remains of them once some keys are set: setting a kind replaces the discipline.
    pub fn after<'a>(&self, mut paths: impl Iterator<Item = &'a str> + Clone) -> Self {
        let mut left = self.clone();
        if paths.clone().any(|p| matches!(p, "aqm" | "aqm.kind")) {
            left.forward = None;
        }
        if paths.any(|p| matches!(p, "aqm" | "aqm.reverse" | "aqm.reverse.kind")) {
            left.reverse = None;
        }
        left
    }

    /// Returns the scenario that is planned. User disciplines take the keys of every kind, so the
    /// plainest kind holds their place.
    pub fn placed(&self, root: &Node) -> Node {
        let mut root = root.clone();
        for (path, user) in [("aqm", &self.forward), ("aqm.reverse", &self.reverse)] {
            if user.is_none() {
                continue;
            }
            let counted = root.at(&format!("{path}.count_in_service")).map(|n| &n.item)
                == Some(&Item::Bool(true));
            // The tree has passed the check: these are tables, and putting a value cannot fail.
            let mut put = |key: &str, item| {
                let _ = root.put(&format!("{path}.{key}"), Node { origin: Origin::Unknown, item });
            };
            put("kind", Item::Text("droptail".into()));
            // Under profile ns-2 DropTail counts the packet in service; that is its habit, not
            // theirs.
            put("count_in_service", Item::Bool(counted));
        }
        root
    }
}
