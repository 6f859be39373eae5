//! One table of the scenario gives its values with defaults filled in, and the errors about bad
//! ones.

use crate::check;
use crate::error::{nearest, Problem, ScenarioError};
use crate::files::Files;
use crate::keys::{self, join, Params};
use crate::node::{Node, Origin};
use crate::show;
use crate::tables::REQUIRED;
use penstock_units::param::{DistFile, OwnDefaults, ParamError, Profile, Ty, Value, Values};
use penstock_units::{shorten, Duration};

type Result<T> = std::result::Result<T, ScenarioError>;

/// The defaults that are in force: the profile's, and those that the kind has instead.
#[derive(Clone, Copy)]
pub(super) struct Defaults {
    pub profile: Profile,
    pub own: OwnDefaults,
}

impl Defaults {
    /// The tables' own, of what no profile changes.
    pub const GENERAL: Defaults = Defaults::of(Profile::Rfc);

    /// The tables' own under a profile.
    pub const fn of(profile: Profile) -> Self {
        Defaults { profile, own: OwnDefaults::NONE }
    }
}

/// A size as a resolved scenario writes it: whole bytes, at most a petabyte.
fn bytes(x: f64) -> Option<f64> {
    (x <= (1u64 << 50) as f64).then(|| x.round())
}

/// A time in the same way: whole nanoseconds, at most five days.
fn seconds(x: f64) -> Option<f64> {
    const MOST: f64 = penstock_sim::MAX_TIME.as_nanos() as f64 / 1e9;
    (x <= MOST).then(|| Duration::from_nanos((x.max(0.0) * 1e9).round() as u64).as_secs_f64())
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
            } else if let Some(text) = param.default_under(defaults.profile, &defaults.own) {
                values.set(param.name, keys::default(param, text));
            } else if param.auto == REQUIRED {
                let problem = Problem::Missing { allowed: param.ty.allowed() };
                return Err(ScenarioError::new(self.origin, path(), problem));
            }
        }
        Ok(values)
    }

    /// Puts the distributions that are in files in the files' places.
    pub fn read_files(&self, params: &Params, values: &mut Values, files: &Files) -> Result<()> {
        for param in params.iter().copied().flatten() {
            let Some(Value::DistFile(DistFile { file, unit })) = values.get(param.name) else {
                continue;
            };
            let sizes = matches!(param.ty, Ty::SizeDist | Ty::Sizes);
            let held = |x: f64| if sizes { bytes(x * unit.unwrap_or(1.0)) } else { seconds(x) };
            let dist = files
                .read(file, None)
                .and_then(|content| content.distribution(sizes && unit.is_none(), held))
                .map_err(|problem| self.conflict(param.name, values, problem))?;
            values.set(param.name, Value::Dist(dist));
        }
        Ok(())
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
