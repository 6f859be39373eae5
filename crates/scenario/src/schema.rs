//! The JSON Schema (2020-12) of a scenario file, from which editors complete and check.

use crate::keys;
use crate::show;
use crate::tables::{
    Access, DesignKeys, GraphLink, Link, Measure, Record, Router, Top, AQM_KIND, GRAPH_LINK_DOC,
    NODE_DOC, RECORD_DOC, REQUIRED, SIDES, SWEEP_SEEDS, TOPOLOGIES, TOPOLOGY, TRAFFICS,
};
use penstock_aqm::{COMMON, KINDS};
use penstock_units::param::{Param, Profile, Ty};
use penstock_units::{
    any_case, DURATION_UNITS, FREQUENCY_UNITS, QUEUE_UNITS, RATE_UNITS, SIZE_UNITS,
};
use serde_json::{json, Map, Value as Json};

const NUMBER: &str = r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*";
/// The schema as an indented text.
pub fn schema() -> String {
    format!("{:#}\n", schema_json())
}

/// The schema.
pub fn schema_json() -> Json {
    let mut top = properties(Top::TABLE.iter());
    top.insert("measure".into(), table("The measured window.", Measure::TABLE.iter(), vec![]));
    top.insert("record".into(), table(RECORD_DOC, Record::TABLE.iter(), vec![]));
    top.insert("topology".into(), topology());
    let reverse = discipline("The discipline of the other direction.", vec![]);
    let at_bottleneck =
        discipline("The discipline at the bottleneck, forward.", vec![("reverse", reverse)]);
    top.insert("aqm".into(), at_bottleneck);
    top.insert("traffic".into(), traffic());
    top.insert("sweep".into(), sweep());
    top.insert("variant".into(), variant());
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Penstock scenario",
        "type": "object",
        "properties": top,
        "required": ["duration", "topology", "traffic"],
        "additionalProperties": false,
    })
}

fn properties<'a>(params: impl Iterator<Item = &'a Param>) -> Map<String, Json> {
    params.map(|p| (p.name.to_string(), property(p))).collect()
}

/// A table's schema: parameters, and tables within.
fn table<'a>(
    doc: &str,
    params: impl Iterator<Item = &'a Param> + Clone,
    inner: Vec<(&'static str, Json)>,
) -> Json {
    let required: Vec<&str> =
        params.clone().filter(|p| p.auto == REQUIRED).map(|p| p.name).collect();
    let mut properties = properties(params);
    properties.extend(inner.into_iter().map(|(key, schema)| (key.to_string(), schema)));
    json!({
        "description": doc,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn property(p: &Param) -> Json {
    let mut schema = match p.ty {
        // The declaration names the unit, so a number alone is one.
        Ty::Size | Ty::Sizes if !p.unit.is_empty() => {
            json!({ "anyOf": [{ "type": "integer", "minimum": 0 }, typed(&p.ty)] })
        }
        _ => typed(&p.ty),
    };
    let mut doc = p.doc.to_string();
    let mut add = |label: &str, text: &str| {
        if !text.is_empty() {
            doc += &format!(" {label}: {text}.");
        }
    };
    add("Unit", if p.unit == "1" { "" } else { p.unit });
    add("Automatic", if p.auto == REQUIRED { "" } else { p.auto });
    for profile in Profile::ALL {
        let label = format!("With profile {}", profile.word());
        add(&label, p.under.get(*profile).flatten().unwrap_or(""));
    }
    add("Source", p.source);
    schema["description"] = json!(doc);
    if let Some(text) = p.default {
        schema["default"] = show::json(&keys::literal(p, text), &p.ty);
    }
    schema
}

/// A text that begins with a number and ends in one of the units; a queue's length may have none.
fn text(units: &[&str], example: &str) -> Json {
    let units: Vec<String> = units.iter().map(|unit| spelled(unit)).collect();
    let count = if example.ends_with("packets") { "?" } else { "" };
    let pattern = format!("{NUMBER}({}){count}\\s*$", units.join("|"));
    json!({ "type": "string", "pattern": pattern, "examples": [example] })
}

/// A unit as a regular expression.
fn spelled(unit: &str) -> String {
    if !any_case(unit) {
        return unit.replace('µ', "[µμ]");
    }
    let either = |c: char| match c.is_ascii_alphabetic() {
        true => format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase()),
        false => c.to_string(),
    };
    unit.chars().map(either).collect()
}

pub(crate) fn typed(ty: &Ty) -> Json {
    let duration = || text(DURATION_UNITS, "40 ms");
    let size = || text(SIZE_UNITS, "1000 B");
    let pair = || json!({ "type": "array", "items": duration(), "minItems": 2, "maxItems": 2 });
    match ty {
        Ty::Bool => json!({ "type": "boolean" }),
        Ty::Int { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Ty::Num { min, max, open: true } => {
            json!({ "type": "number", "exclusiveMinimum": min, "maximum": max })
        }
        Ty::Num { min, max, open: false } => {
            json!({ "type": "number", "minimum": min, "maximum": max })
        }
        Ty::Loss => loss(),
        Ty::Word(words) => json!({ "enum": words }),
        Ty::Text => json!({ "type": "string" }),
        Ty::Duration => duration(),
        Ty::Rate => text(RATE_UNITS, "1.5 Mbit/s"),
        Ty::Rates => {
            let rate = text(RATE_UNITS, "1.5 Mbit/s");
            json!({ "anyOf": [rate, { "type": "array", "items": rate, "minItems": 1 }] })
        }
        Ty::Size => size(),
        Ty::Queue => {
            json!({ "anyOf": [{ "type": "number", "minimum": 0 }, text(QUEUE_UNITS, "40 packets")] })
        }
        Ty::Delay => {
            json!({ "anyOf": [duration(), one_of("uniform", pair()), one_of("spread", pair())] })
        }
        Ty::Start => json!({ "anyOf": [duration(), one_of("uniform", pair()), every(duration())] }),
        Ty::SizeDist => dist(&size(), true),
        Ty::Sizes => json!({ "anyOf": [size(), dist(&size(), true)] }),
        Ty::TimeDist => dist(&duration(), false),
        Ty::Arrivals => {
            let load = json!({ "type": "number", "exclusiveMinimum": 0.0, "maximum": 10.0 });
            let often = text(FREQUENCY_UNITS, "200 /s");
            let either = json!({ "anyOf": [one_of("load", load), one_of("rate", often)] });
            one_of("poisson", either)
        }
        Ty::Schedule => schedule(),
        Ty::Or(number, words) => json!({ "anyOf": [typed(number), { "enum": words }] }),
        Ty::Tables(params) => {
            let each = table("One of them.", params.iter(), vec![]);
            json!({ "type": "object", "additionalProperties": each })
        }
    }
}

/// `{ key = … }`.
fn one_of(key: &str, inner: Json) -> Json {
    json!({ "type": "object", "properties": { key: inner }, "required": [key], "additionalProperties": false })
}

fn every(duration: Json) -> Json {
    json!({
        "type": "object",
        "properties": { "every": duration, "from": duration },
        "required": ["every"],
        "additionalProperties": false,
    })
}

fn dist(quantity: &Json, sizes: bool) -> Json {
    let pareto = json!({
        "type": "object",
        "properties": {
            "shape": { "type": "number", "exclusiveMinimum": 1.0 },
            "mean": quantity,
            "max": quantity,
        },
        "required": ["shape", "mean"],
        "additionalProperties": false,
    });
    let share = json!({ "type": "number", "minimum": 0.0, "maximum": 100.0 });
    let point =
        json!({ "type": "array", "prefixItems": [quantity, share], "minItems": 2, "maxItems": 2 });
    let points = json!({ "type": "array", "items": point, "minItems": 1 });
    let pair = json!({ "type": "array", "items": quantity, "minItems": 2, "maxItems": 2 });
    let mut measured = one_of("empirical", json!({ "anyOf": [{ "type": "string" }, points] }));
    if sizes {
        measured["properties"]["packet"] = quantity.clone();
    }
    let forms = [
        one_of("pareto", pareto),
        one_of("exponential", quantity.clone()),
        one_of("constant", quantity.clone()),
        one_of("uniform", pair),
        measured,
    ];
    json!({ "anyOf": forms })
}

fn schedule() -> Json {
    let step = json!({
        "type": "object",
        "properties": { "at": text(DURATION_UNITS, "10 s"), "rate": text(RATE_UNITS, "1 Mbit/s") },
        "required": ["at", "rate"],
        "additionalProperties": false,
    });
    let turns = json!({
        "type": "object",
        "properties": {
            "cycle": { "type": "array", "minItems": 1, "items": text(RATE_UNITS, "1 Mbit/s") },
            "every": text(DURATION_UNITS, "20 s"),
        },
        "required": ["cycle", "every"],
        "additionalProperties": false,
    });
    let text = || json!({ "type": "string" });
    let file = |key: &str| {
        json!({
            "type": "object",
            "properties": { key: text(), "hash": text() },
            "required": [key],
            "additionalProperties": false,
        })
    };
    let (steps, trace) = (file("steps"), file("mahimahi"));
    json!({ "anyOf": [{ "type": "array", "items": step }, turns, steps, trace, text()] })
}

fn loss() -> Json {
    let p = || json!({ "type": "number", "minimum": 0.0, "maximum": 1.0 });
    let bursts = json!({
        "type": "object",
        "properties": { "p": p(), "r": p(), "good": p(), "bad": p() },
        "required": ["p", "r"],
        "additionalProperties": false,
    });
    json!({ "anyOf": [p(), one_of("gilbert_elliott", bursts)] })
}

/// A list of tables.
fn list(doc: &str, items: Json) -> Json {
    json!({ "description": doc, "type": "array", "minItems": 1, "items": items })
}

fn topology() -> Json {
    let kinds = TOPOLOGIES.iter().map(|kind| {
        let one = "A link between routers.";
        let mut inner = if kind.graph {
            let reverse = discipline("Of the other direction.", vec![]);
            let own = discipline("The link's own discipline, forward.", vec![("reverse", reverse)]);
            let link = table(one, GraphLink::TABLE.iter().chain(Link::TABLE), vec![("aqm", own)]);
            let node = table("A router.", Router::TABLE.iter(), vec![]);
            vec![("node", list(NODE_DOC, node)), (kind.link, list(GRAPH_LINK_DOC, link))]
        } else {
            vec![(kind.link, table(one, Link::TABLE.iter(), vec![]))]
        };
        inner.extend(
            SIDES.iter().map(|(name, doc)| (*name, table(doc, Access::TABLE.iter(), vec![]))),
        );
        let mut schema = table(kind.doc, TOPOLOGY.iter().chain(kind.params), inner);
        schema["properties"]["kind"]["enum"] = json!([kind.name]);
        // A dumbbell need not say so.
        let named = TOPOLOGY[0].default.is_some_and(|d| d.trim_matches('"') == kind.name);
        if let (false, Some(required)) = (named, schema["required"].as_array_mut()) {
            required.push(json!("kind"));
        }
        if let Some(required) = schema["required"].as_array_mut() {
            required.push(json!(kind.link));
        }
        schema
    });
    json!({ "oneOf": kinds.collect::<Vec<_>>() })
}

/// All kinds' keys may stand in one table, for a sweep; a name that kinds declare differently may
/// be either.
fn discipline(doc: &str, inner: Vec<(&'static str, Json)>) -> Json {
    let mut all: Vec<(&str, Vec<Json>)> = vec![];
    for param in COMMON.iter().chain(KINDS.iter().flat_map(|k| k.params).copied().flatten()) {
        let schema = property(param);
        match all.iter_mut().find(|(name, _)| *name == param.name) {
            None => all.push((param.name, vec![schema])),
            Some((_, known)) if !known.contains(&schema) => known.push(schema),
            Some(_) => {}
        }
    }
    let mut out = table(doc, AQM_KIND.iter(), inner);
    for (name, mut forms) in all {
        let only = forms.len() == 1;
        out["properties"][name] = if only { forms.remove(0) } else { json!({ "anyOf": forms }) };
    }
    out
}

fn traffic() -> Json {
    let kinds = TRAFFICS.iter().map(|kind| {
        let params = keys::traffic_params(kind);
        let mut schema = table(kind.doc, params.iter().copied().flatten(), vec![]);
        schema["properties"]["kind"] = json!({ "const": kind.name, "description": kind.doc });
        schema
    });
    json!({
        "description": "Groups of flows.",
        "type": "array",
        "minItems": 1,
        "items": { "oneOf": kinds.collect::<Vec<_>>() },
    })
}

fn sweep() -> Json {
    let own = DesignKeys::TABLE.iter().chain([&SWEEP_SEEDS]);
    let own: serde_json::Map<_, _> = own.map(|p| (p.name.to_string(), property(p))).collect();
    json!({
        "description": "Axes of a grid: a key path to a list of values, or to a range.",
        "type": "object",
        "properties": own,
        "additionalProperties": true,
    })
}

fn variant() -> Json {
    let named =
        json!({ "type": "string", "description": "What tables and figures call the variant." });
    json!({
        "description": "Changes that belong together: one more axis of the grid.",
        "type": "array",
        "items": {
            "type": "object",
            "properties": { "name": named, "set": { "type": "object", "description": "Key paths and values." } },
            "required": ["name", "set"],
            "additionalProperties": false,
        },
    })
}
