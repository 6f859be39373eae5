//! The one error of this crate: where, what was found, what is allowed, what is nearest.

use crate::node::{Node, Origin};
use penstock_units::{shorten, QuantityError};
use std::fmt;

/// A scenario that cannot be: the first thing that is wrong with it.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioError(Box<Facts>);

#[derive(Clone, Debug, PartialEq)]
struct Facts {
    file: Option<String>,
    origin: Origin,
    path: String,
    found: Option<String>,
    problem: Problem,
}

/// The kind of problem.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    /// The text is not TOML or JSON.
    Syntax(String),
    /// Nothing is declared under this key.
    UnknownKey {
        /// Keys that are.
        allowed: Vec<String>,
        /// The one that looks most like it.
        nearest: String,
    },
    /// A word that the key does not take.
    UnknownWord {
        /// Words that it takes.
        allowed: Vec<String>,
        /// The one that looks most like it.
        nearest: String,
    },
    /// A value of another type, or outside its range.
    Value {
        /// A description of the values that are allowed.
        allowed: String,
    },
    /// A quantity that cannot be read.
    Quantity(QuantityError),
    /// A required key is absent.
    Missing {
        /// A description of the values that are allowed.
        allowed: String,
    },
    /// A value that does not go together with another, or that this version cannot do.
    Conflict(String),
}

impl ScenarioError {
    pub(crate) fn new(origin: Origin, path: impl Into<String>, problem: Problem) -> Self {
        ScenarioError(Box::new(Facts {
            file: None,
            origin,
            path: path.into(),
            found: None,
            problem,
        }))
    }

    /// An error about a value that was written down.
    pub(crate) fn at(node: &Node, path: &str, problem: Problem) -> Self {
        ScenarioError::new(node.origin, path, problem).found(node.shown())
    }

    pub(crate) fn found(mut self, found: String) -> Self {
        self.0.found = Some(found);
        self
    }

    pub(crate) fn in_file(mut self, file: Option<&str>) -> Self {
        self.0.file = file.map(Into::into);
        self
    }

    /// The file that the scenario was read from.
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }
    /// The line in that file, from 1.
    pub fn line(&self) -> Option<u32> {
        match self.0.origin {
            Origin::Line(line) => Some(line),
            _ => None,
        }
    }
    /// The dotted key path; empty where the text as a whole is wrong.
    pub fn path(&self) -> &str {
        &self.0.path
    }
    /// The value that was found, as TOML would write it.
    pub fn found_value(&self) -> Option<&str> {
        self.0.found.as_deref()
    }
    /// Returns the problem.
    pub fn problem(&self) -> &Problem {
        &self.0.problem
    }
}

impl Problem {
    /// The variant in a word, for shells that have no such enum.
    pub fn kind(&self) -> &'static str {
        match self {
            Problem::Syntax(_) => "syntax",
            Problem::UnknownKey { .. } => "unknown-key",
            Problem::UnknownWord { .. } => "unknown-word",
            Problem::Value { .. } => "value",
            Problem::Quantity(_) => "quantity",
            Problem::Missing { .. } => "missing",
            Problem::Conflict(_) => "conflict",
        }
    }

    /// Returns what is allowed in place of what was found: keys, words or units, or one description
    /// of the values. Empty where the problem names none.
    pub fn allowed(&self) -> Vec<&str> {
        match self {
            Problem::UnknownKey { allowed, .. } | Problem::UnknownWord { allowed, .. } => {
                allowed.iter().map(String::as_str).collect()
            }
            Problem::Value { allowed } | Problem::Missing { allowed } => vec![allowed],
            Problem::Quantity(error) => error.allowed().to_vec(),
            Problem::Syntax(_) | Problem::Conflict(_) => vec![],
        }
    }

    /// The allowed name that looks most like the one that was found.
    pub fn nearest(&self) -> Option<&str> {
        match self {
            Problem::UnknownKey { nearest, .. } | Problem::UnknownWord { nearest, .. } => {
                Some(nearest)
            }
            Problem::Quantity(error) => error.nearest(),
            _ => None,
        }
    }
}

impl std::error::Error for ScenarioError {}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Facts { file, origin, path, found, problem } = &*self.0;
        match (file, origin) {
            (Some(file), Origin::Line(line)) => write!(f, "{file}:{line}: ")?,
            // It is no fault of the file's, but of what the caller changes in it.
            (Some(file), Origin::Set) => write!(f, "{file} with ")?,
            (Some(file), _) => write!(f, "{file}: ")?,
            (None, Origin::Line(line)) => write!(f, "line {line}: ")?,
            (None, _) => {}
        }
        match (path.as_str(), found) {
            ("", _) => {}
            (path, Some(found)) => write!(f, "{} = {found}: ", shorten(path))?,
            (path, None) => write!(f, "{}: ", shorten(path))?,
        }
        write!(f, "{problem}")
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Syntax(message) => write!(f, "{message}"),
            Problem::UnknownKey { allowed, nearest } => {
                write!(f, "unknown key; nearest: {nearest}; allowed: {}", allowed.join(", "))
            }
            Problem::UnknownWord { allowed, nearest } => {
                write!(f, "must be one of \"{}\"; nearest: \"{nearest}\"", allowed.join("\", \""))
            }
            Problem::Value { allowed } => write!(f, "must be {allowed}"),
            Problem::Quantity(error) => write!(f, "{error}"),
            Problem::Missing { allowed } => write!(f, "is required: {allowed}"),
            Problem::Conflict(text) => write!(f, "{text}"),
        }
    }
}

/// The candidate that looks most like `word`: the fewest edits, then the longest common beginning.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    // Long garbage would cost time and tell nothing.
    let word: String = word.chars().take(64).collect();
    let common = |c: &str| c.chars().zip(word.chars()).take_while(|(a, b)| a == b).count();
    let key = |c: &&str| (strsim::osa_distance(&word, c), std::cmp::Reverse(common(c)));
    candidates.into_iter().min_by_key(key).unwrap_or_default().to_string()
}
