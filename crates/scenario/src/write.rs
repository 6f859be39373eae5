//! A scenario as the text of a file.

use crate::scenario::Scenario;
use serde_json::{Map, Value as Json};

impl Scenario {
    /// Returns the scenario as it was written, with the keys that were set since, as TOML. It reads
    /// back as the same scenario; comments are lost.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        if let Json::Object(root) = self.source() {
            table(&root, "", &mut out);
        }
        out
    }
}

/// Tables inside these, and at the top, have headers of their own; others stand in one line.
const OPEN: &[&str] = &["", "topology", "aqm"];

/// Writes the keys of the table at `path`, then its tables.
fn table(table: &Map<String, Json>, path: &str, out: &mut String) {
    let open = OPEN.contains(&path);
    let apart = |value: &Json| open && (value.is_object() || list_of_tables(value));
    for (name, value) in table.iter().filter(|(_, value)| !apart(value)) {
        out.push_str(&format!("{} = {}\n", key(name), inline(value)));
    }
    for (name, value) in table.iter().filter(|(_, value)| apart(value)) {
        let path = if path.is_empty() { key(name) } else { format!("{path}.{}", key(name)) };
        match value {
            Json::Object(inner) => section(&format!("[{path}]"), inner, &path, out),
            Json::Array(entries) => {
                for entry in entries.iter().filter_map(Json::as_object) {
                    section(&format!("[[{path}]]"), entry, "an entry", out);
                }
            }
            _ => {}
        }
    }
}

fn section(header: &str, inner: &Map<String, Json>, path: &str, out: &mut String) {
    out.push_str(&format!("\n{header}\n"));
    table(inner, path, out);
}

fn list_of_tables(value: &Json) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(Json::is_object))
}

/// A key, in quotes where TOML asks for them.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) {
        name.into()
    } else {
        Json::from(name).to_string()
    }
}

/// A value in one line. JSON's numbers and texts are TOML's, too.
fn inline(value: &Json) -> String {
    match value {
        Json::Array(list) => {
            format!("[{}]", list.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Json::Object(table) => {
            let entries =
                table.iter().map(|(name, value)| format!("{} = {}", key(name), inline(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
