//! The written form of a scenario: values with their place, from TOML, JSON or a `--set`.

use penstock_units::shorten;
use serde_json::Value as Json;
use std::fmt;
use toml::de::{DeTable, DeValue};
use toml::Spanned;

/// The place where a value was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The value was written in a place without lines: JSON, or a default.
    #[default]
    Unknown,
    /// A line of the file, from 1.
    Line(u32),
    /// `--set` on the command line.
    Set,
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub origin: Origin,
    pub item: Item,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Table(Table),
    /// Something that no key takes: a date, or a null within a list.
    Other(String),
}

/// Keys and values in the order in which they were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table(Vec<(String, Node)>);

/// An error in TOML or JSON: where and why.
pub(crate) struct SyntaxError {
    pub line: Option<u32>,
    pub message: String,
}

impl Table {
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }
    fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.0.iter_mut().find(|(k, _)| k == key).map(|(_, v)| v)
    }
    pub fn set(&mut self, key: &str, node: Node) {
        match self.get_mut(key) {
            Some(old) => *old = node,
            None => self.0.push((key.into(), node)),
        }
    }
    pub fn remove(&mut self, key: &str) {
        self.0.retain(|(k, _)| k != key);
    }
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v))
    }
}

impl Node {
    /// Reads the root table of a TOML file.
    pub fn from_toml(text: &str) -> Result<Node, SyntaxError> {
        let lines = Lines::new(text);
        let table = DeTable::parse(text).map_err(|e| SyntaxError {
            line: e.span().map(|s| lines.of(s.start)),
            message: e.message().trim().replace('\n', "; "),
        })?;
        let entries = table.get_ref().iter();
        let entries = entries
            .map(|(k, v)| (k.get_ref().to_string(), from_spanned(v, key_line(k, v), &lines)));
        Ok(Node { origin: Origin::Line(1), item: Item::Table(Table(entries.collect())) })
    }

    /// Reads a TOML literal; `None` if the text is not one.
    pub fn from_literal(text: &str, origin: Origin) -> Option<Node> {
        let line = format!("x = {text}");
        let table = DeTable::parse(&line).ok()?;
        // More than one entry means that the text held a line break and further keys.
        let mut entries = table.get_ref().iter();
        let (Some((_, value)), None) = (entries.next(), entries.next()) else { return None };
        let mut node = from_spanned(value, 0, &Lines::new(""));
        node.place(origin);
        Some(node)
    }

    /// Reads a value of `--set`: a TOML literal, or else plain text.
    pub fn from_argument(text: &str) -> Node {
        let literal =
            Node::from_literal(text, Origin::Set).filter(|n| !matches!(n.item, Item::Other(_)));
        literal.unwrap_or_else(|| Node { origin: Origin::Set, item: Item::Text(text.into()) })
    }

    /// Converts parsed JSON. A null under a key is the same as no key.
    pub fn from_json(json: &Json, origin: Origin) -> Node {
        let item = match json {
            Json::Null => Item::Other("null".into()),
            Json::Bool(b) => Item::Bool(*b),
            Json::Number(n) => {
                n.as_i64().map_or_else(|| Item::Float(n.as_f64().unwrap_or(f64::NAN)), Item::Int)
            }
            Json::String(s) => Item::Text(s.clone()),
            Json::Array(list) => {
                Item::List(list.iter().map(|v| Node::from_json(v, origin)).collect())
            }
            Json::Object(map) => {
                let given = map.iter().filter(|(_, v)| !v.is_null());
                Item::Table(Table(
                    given.map(|(k, v)| (k.clone(), Node::from_json(v, origin))).collect(),
                ))
            }
        };
        Node { origin, item }
    }

    /// Returns the value as JSON.
    pub fn to_json(&self) -> Json {
        match &self.item {
            Item::Bool(b) => Json::from(*b),
            Item::Int(i) => Json::from(*i),
            Item::Float(f) => Json::from(*f),
            Item::Text(s) | Item::Other(s) => Json::from(s.as_str()),
            Item::List(list) => list.iter().map(Node::to_json).collect(),
            Item::Table(t) => t.iter().map(|(k, v)| (k.to_string(), v.to_json())).collect(),
        }
    }

    pub fn table(&self) -> Option<&Table> {
        match &self.item {
            Item::Table(t) => Some(t),
            _ => None,
        }
    }

    pub fn table_mut(&mut self) -> Option<&mut Table> {
        match &mut self.item {
            Item::Table(t) => Some(t),
            _ => None,
        }
    }

    /// Returns the node under a key, or under an index of a list.
    pub fn child(&self, segment: &str) -> Option<&Node> {
        match &self.item {
            Item::Table(t) => t.get(segment),
            Item::List(l) => l.get(segment.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// Returns the node under a dotted path.
    pub fn at(&self, path: &str) -> Option<&Node> {
        path.split('.').try_fold(self, |node, segment| node.child(segment))
    }

    /// Puts a value under a dotted path, and makes tables on the way. On failure returns how much
    /// of the path cannot be followed.
    pub fn put(&mut self, path: &str, value: Node) -> Result<(), String> {
        // No key lies deeper than this; without a limit the tables on the way could nest beyond the
        // stack.
        const DEEPEST: usize = 16;
        if path.split('.').count() > DEEPEST {
            return Err(path.into());
        }
        let mut node = self;
        let mut walked = 0;
        let mut segments = path.split('.').peekable();
        while let Some(segment) = segments.next() {
            walked += segment.len() + usize::from(walked > 0);
            let last = segments.peek().is_none();
            let next = match &mut node.item {
                Item::Table(t) => {
                    if t.get(segment).is_none() {
                        t.set(
                            segment,
                            Node { origin: value.origin, item: Item::Table(Table::default()) },
                        );
                    }
                    t.get_mut(segment)
                }
                Item::List(l) => segment.parse::<usize>().ok().and_then(|i| l.get_mut(i)),
                _ => None,
            };
            node = next.ok_or_else(|| path[..walked].to_string())?;
            if last {
                *node = value;
                return Ok(());
            }
        }
        Err(String::new())
    }

    fn place(&mut self, origin: Origin) {
        self.origin = origin;
        match &mut self.item {
            Item::List(l) => l.iter_mut().for_each(|n| n.place(origin)),
            Item::Table(t) => t.0.iter_mut().for_each(|(_, n)| n.place(origin)),
            _ => {}
        }
    }

    /// Returns the value as TOML would write it, cut to a readable length.
    pub fn shown(&self) -> String {
        shorten(&self.to_string())
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.item {
            Item::Bool(b) => write!(f, "{b}"),
            Item::Int(i) => write!(f, "{i}"),
            Item::Float(x) => write!(f, "{x:?}"),
            Item::Text(s) => write!(f, "\"{s}\""),
            Item::Other(s) => write!(f, "{s}"),
            Item::List(list) => {
                write!(f, "[")?;
                for (i, v) in list.iter().enumerate() {
                    write!(f, "{}{v}", if i > 0 { ", " } else { "" })?;
                }
                write!(f, "]")
            }
            Item::Table(t) => {
                write!(f, "{{")?;
                for (i, (k, v)) in t.iter().enumerate() {
                    write!(f, "{} {k} = {v}", if i > 0 { "," } else { "" })?;
                }
                write!(f, " }}")
            }
        }
    }
}

/// Byte offsets to line numbers.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        Lines(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i).collect())
    }
    fn of(&self, offset: usize) -> u32 {
        self.0.partition_point(|end| *end < offset) as u32 + 1
    }
}

/// The line of a `key = value` is its key's; that of a `[header]` its header's, where the value's
/// span begins.
fn key_line(key: &Spanned<std::borrow::Cow<'_, str>>, value: &Spanned<DeValue<'_>>) -> usize {
    key.span().start.min(value.span().start)
}

fn from_spanned(value: &Spanned<DeValue<'_>>, start: usize, lines: &Lines) -> Node {
    let item = match value.get_ref() {
        DeValue::String(s) => Item::Text(s.to_string()),
        DeValue::Integer(n) => integer(n.as_str(), n.radix()),
        // The parser has checked the digits; an overflow becomes infinite, which no key takes.
        DeValue::Float(x) => Item::Float(x.as_str().parse().unwrap_or(f64::INFINITY)),
        DeValue::Boolean(b) => Item::Bool(*b),
        DeValue::Datetime(d) => Item::Other(d.to_string()),
        DeValue::Array(list) => {
            Item::List(list.iter().map(|v| from_spanned(v, v.span().start, lines)).collect())
        }
        DeValue::Table(t) => {
            let entries = t.iter();
            let entries = entries
                .map(|(k, v)| (k.get_ref().to_string(), from_spanned(v, key_line(k, v), lines)));
            Item::Table(Table(entries.collect()))
        }
    };
    Node { origin: Origin::Line(lines.of(start)), item }
}

/// Whole numbers beyond 64 bit become floats, which are then out of every range.
fn integer(digits: &str, radix: u32) -> Item {
    match i64::from_str_radix(digits, radix) {
        Ok(i) => Item::Int(i),
        Err(_) => Item::Float(digits.parse().unwrap_or(f64::INFINITY)),
    }
}
