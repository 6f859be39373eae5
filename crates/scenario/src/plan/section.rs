//! One table of the scenario gives its values with defaults filled in, and the errors about bad
//! ones.

use crate::check;
use crate::error::{nearest, Problem, ScenarioError};
use crate::keys::{self, join, Params};
use crate::node::{Node, Origin};
use crate::show;
use crate::tables::REQUIRED;
use penstock_units::param::{Param, ParamError, Values};
use penstock_units::shorten;

type Result<T> = std::result::Result<T, ScenarioError>;

/// Defaults that a kind or a variant has instead of its tables': key and TOML literal.
pub(super) type Own = &'static [(&'static str, &'static str)];

/// The defaults that are in force.
#[derive(Clone, Copy, Default)]
pub(super) struct Defaults {
    pub ns2: bool,
    /// Defaults of the kind under every profile.
    pub kind: Own,
    /// Defaults of the kind under profile ns-2.
    pub kind_ns2: Own,
}

impl Defaults {
    /// Returns the default that is in force: the kind's before the table's, and in each the
    /// profile's before the general one.
    fn of(&self, param: &Param) -> Option<&'static str> {
        let own =
            |list: Own| list.iter().find(|(key, _)| *key == param.name).map(|(_, text)| *text);
        let when_ns2 = |text: Option<&'static str>| text.filter(|_| self.ns2);
        when_ns2(own(self.kind_ns2)).or(own(self.kind)).or(when_ns2(param.ns2)).or(param.default)
    }
}

/// One table of the scenario with everything that is needed to read and to complain about it.
pub(super) struct Section<'a> {
    pub path: String,
    pub node: Option<&'a Node>,
    /// The place at which a missing key is reported.
    pub origin: Origin,
}

impl<'a> Section<'a> {
    pub fn new(root: &'a Node, path: &str) -> Self {
        let node = if path.is_empty() { Some(root) } else { root.at(path) };
        // An absent table is reported at the nearest one that is there.
        let parent =
            path.rsplit_once('.').map_or(root, |(parent, _)| root.at(parent).unwrap_or(root));
        Section { path: path.into(), node, origin: node.unwrap_or(parent).origin }
    }

    pub fn fill(&self, params: &Params, defaults: Defaults) -> Result<Values> {
        let mut values = Values::new();
        for param in params.iter().copied().flatten() {
            // Most keys are left out: a path is put together for those that are not.
            let path = || join(&self.path, param.name);
            if let Some(node) = self.node.and_then(|n| n.child(param.name)) {
                values.set(param.name, check::value(node, param, &path())?);
            } else if let Some(text) = defaults.of(param) {
                values.set(param.name, keys::default(param, text));
            } else if param.auto == REQUIRED {
                let problem = Problem::Missing { allowed: param.ty.allowed() };
                return Err(ScenarioError::new(self.origin, path(), problem));
            }
        }
        Ok(values)
    }

    pub fn given(&self, key: &str) -> bool {
        self.node.is_some_and(|n| n.child(key).is_some())
    }

    /// Makes the error for a value that does not fit: with its line where it was written, otherwise
    /// with the value in force.
    pub fn conflict(
        &self,
        key: &str,
        values: &Values,
        problem: impl Into<String>,
    ) -> ScenarioError {
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

    /// Makes the error for a name that is not among `allowed`.
    pub fn unknown<'n>(
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

    pub fn param_error(&self, values: &Values, error: ParamError) -> ScenarioError {
        self.conflict(error.name, values, error.problem)
    }
}
