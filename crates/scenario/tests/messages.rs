//! Every declared parameter of every table, broken in every way that its type has: the message says
//! where (file and line, or `--set`), names the key's path, quotes the value as it was written,
//! says what is allowed, and proposes the nearest name out of the right list.

use crate::common::SMALL;
use penstock_scenario::{list, Scenario};
use serde_json::Value as Json;

/// A parameter at a place: what stands above it, and the path of its table.
struct Place {
    head: String,
    path: String,
    param: Json,
    /// Names of the other keys of its table.
    keys: Vec<String>,
}

/// A wrong value, what the message must say, and the name that it must propose.
struct Wrong {
    value: String,
    says: Vec<String>,
    nearest: Option<String>,
}

fn rows(what: &str) -> Vec<Json> {
    let Some(Json::Array(rows)) = list(what) else { panic!("there is a list of {what}") };
    rows
}

fn params(row: &Json) -> Vec<Json> {
    row["params"].as_array().cloned().unwrap_or_default()
}

fn name(row: &Json) -> String {
    row["name"].as_str().unwrap_or_default().to_string()
}

/// Every parameter that a file may hold.
fn places() -> Vec<Place> {
    let mut all = vec![];
    let mut add = |head: &str, path: &str, list: &[Json]| {
        let keys: Vec<String> = list.iter().map(name).collect();
        for param in list {
            let (head, path) = (head.to_string(), path.to_string());
            all.push(Place { head, path, param: param.clone(), keys: keys.clone() });
        }
    };
    for kind in rows("aqm") {
        let (word, own) = (name(&kind), params(&kind));
        add(&format!("[aqm]\nkind = \"{word}\"\n"), "aqm", &own);
        add(&format!("[aqm.reverse]\nkind = \"{word}\"\n"), "aqm.reverse", &own);
    }
    let traffic = rows("traffic");
    let any = |rows: &[Json]| rows.iter().find(|row| name(row) == "any").map(params);
    let (group, tcp) = (any(&traffic).unwrap_or_default(), any(&rows("tcp")).unwrap_or_default());
    assert!(!group.is_empty() && !tcp.is_empty());
    for kind in traffic.iter().filter(|row| name(row) != "any") {
        let own = if kind["tcp"] == true { tcp.clone() } else { vec![] };
        let list = [params(kind), group.clone(), own].concat();
        add(&format!("[[traffic]]\nkind = \"{}\"\n", name(kind)), "traffic.1", &list);
    }
    for row in rows("scenario") {
        match name(&row).as_str() {
            "top" => {} // `SMALL` begins with these; see below
            // A range's keys are read after its axes; see `tests/errors.rs`.
            "sweep" => {}
            word => add(&format!("[{word}]\n"), word, &params(&row)),
        }
    }
    for side in rows("topology") {
        let list = params(&side);
        match name(&side).as_str() {
            "access" => add("[topology.access]\n", "topology.access", &list),
            "egress" => add("[topology.egress]\n", "topology.egress", &list),
            _ => {}
        }
    }
    all
}

/// What a type refuses.
fn wrongs(param: &Json) -> Vec<Wrong> {
    let range = param["range"].as_str().unwrap_or_default().to_string();
    let wrong = |value: &str, says: &[&str], nearest: Option<&str>| Wrong {
        value: value.into(),
        says: says.iter().map(|each| each.to_string()).collect(),
        nearest: nearest.map(Into::into),
    };
    let other = |value: &str| wrong(value, &[&format!("must be {range}")], None);
    let words = || -> Vec<String> {
        let text = range.rsplit_once("one of ").map_or("", |(_, words)| words);
        text.split(", ").map(|word| word.trim_matches('"').to_string()).collect()
    };
    let misspelt = || {
        let word = words().into_iter().max_by_key(String::len).unwrap_or_default();
        let said = format!("{}q{}", &word[..1], &word[1..]);
        wrong(&format!("\"{said}\""), &["must be one of"], Some(&word))
    };
    let outside = || {
        let ends = range.rsplit_once(['[', '(']).map_or("", |(_, ends)| ends);
        let ends: Vec<f64> = ends
            .split(']')
            .next()
            .unwrap_or("")
            .split(", ")
            .filter_map(|end| end.parse().ok())
            .collect();
        match ends[..] {
            [low, high] => {
                vec![other(&format!("{:?}", low - 1.5)), other(&format!("{:?}", high * 2.0 + 1.5))]
            }
            _ => vec![],
        }
    };
    let unit = |value: &str, unit: &str, nearest: &str| {
        wrong(value, &[&format!("unknown unit \"{unit}\"; allowed: ")], Some(nearest))
    };
    let ambiguous = |value: &str| wrong(value, &["ambiguous", "allowed: "], None);
    let negative = |value: &str| wrong(value, &["must not be negative", "allowed units: "], None);
    match param["type"].as_str().unwrap_or_default() {
        "bool" => vec![other("1"), other("\"yes\"")],
        "int" => [vec![other("0.5"), other("\"many\""), other("true")], outside()].concat(),
        "number" => [vec![other("\"much\""), other("nan"), other("[1, 2]")], outside()].concat(),
        "word" => vec![misspelt(), other("3"), other("true")],
        "number or word" => vec![misspelt(), other("true"), other("-1e300")],
        "bool or word" => vec![misspelt(), other("3"), other("[true]")],
        "text" => vec![other("3"), other("true")],
        "duration" => vec![
            wrong("3", &["needs a unit, for example \"3 s\"; allowed units: "], None),
            unit("\"3 mss\"", "mss", "ms"),
            unit("\"3 packets\"", "packets", "nsecs"),
            ambiguous("\"3m\""),
            negative("\"-3 s\""),
            wrong("\"soon\"", &["must be a number with a unit", "allowed units: "], None),
            other("true"),
        ],
        "rate" => vec![
            wrong("3", &["needs a unit, for example \"3 Mbit/s\"; allowed units: "], None),
            unit("\"3 Mbi/s\"", "Mbi/s", "Mbit/s"),
            ambiguous("\"3mbps\""),
            negative("\"-3 Mbit/s\""),
            wrong("\"0 Mbit/s\"", &["must be above 0; allowed units: "], None),
            other("true"),
        ],
        "rates" => vec![other("[]"), other("true"), unit("[\"3 Mbi/s\"]", "Mbi/s", "Mbit/s")],
        "size" => vec![
            unit("\"3 kBB\"", "kBB", "kB"),
            ambiguous("\"3kb\""),
            negative("\"-3 B\""),
            wrong("\"0.5 B\"", &["must be a whole number of bytes; allowed units: "], None),
            other("true"),
        ],
        "queue" => vec![
            unit("\"3 paket\"", "paket", "packet"),
            ambiguous("\"3kb\""),
            negative("-3"),
            other("true"),
        ],
        "delay" => vec![unit("\"3 mss\"", "mss", "ms"), other("true"), other("{}")],
        "start" => vec![unit("\"3 mss\"", "mss", "ms"), other("true"), other("{}")],
        "size distribution" | "time distribution" => {
            vec![other("3"), other("{}"), other("\"1 s\"")]
        }
        "sizes" => vec![
            unit("\"3 kBB\"", "kBB", "kB"),
            ambiguous("\"3kb\""),
            negative("\"-3 B\""),
            other("true"),
            other("{}"),
        ],
        "arrivals" => vec![other("3"), other("{}"), other("\"often\"")],
        "loss" => vec![other("1.5"), other("-0.5"), other("\"much\""), other("true")],
        "schedule" => vec![other("3"), other("true"), other("[{}]")],
        "tables" => vec![other("3"), other("true")],
        kind => panic!("a new type: {kind}: say here how it is broken"),
    }
}

impl Clone for Wrong {
    fn clone(&self) -> Self {
        let Wrong { value, says, nearest } = self;
        Wrong { value: value.clone(), says: says.clone(), nearest: nearest.clone() }
    }
}

fn refused(text: &str) -> String {
    match Scenario::from_toml(text, "load.toml") {
        Ok(_) => panic!("taken:\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// The line of the last line of a text.
fn last(text: &str) -> usize {
    text.lines().count()
}

#[test]
fn a_wrong_value_is_quoted_beside_what_is_allowed() {
    let places = places();
    assert!(places.len() > 800, "{}", places.len());
    for Place { head, path, param, .. } in &places {
        let key = name(param);
        for Wrong { value, says, nearest } in wrongs(param) {
            let text = format!("{SMALL}{head}{key} = {value}\n");
            let message = refused(&text);
            let shown = match value.parse::<i64>() {
                Err(_) => value.parse::<f64>().map_or(value.clone(), |x| {
                    if x.is_nan() {
                        "NaN".into()
                    } else {
                        format!("{x:?}")
                    }
                }),
                Ok(_) => value.clone(),
            };
            let place = format!("load.toml:{}: {path}.{key}", last(&text));
            let about = format!("{text}gives {message}");
            assert!(message.starts_with(&place), "{place}?\n{about}");
            let inner = shown.trim_start_matches('[').trim_end_matches(']');
            let quoted = message.contains(&format!(" = {shown}: "))
                || message.contains(&format!(" = {inner}: "));
            assert!(
                quoted
                    || shown == "{}" && message.contains(" = { }: ")
                    || message.contains(" = [{ }]: "),
                "quotes {shown}?\n{about}"
            );
            for part in says {
                assert!(message.contains(&part), "{part}?\n{about}");
            }
            if let Some(nearest) = nearest {
                let said = message.contains(&format!("nearest: \"{nearest}\""))
                    || message.contains(&format!("nearest: {nearest}"));
                assert!(said, "nearest {nearest}?\n{about}");
            }
            assert!(!message.contains('\n'), "one line: {message}");
        }
    }
}

#[test]
fn a_misspelt_key_is_answered_from_its_own_table() {
    for Place { head, path, param, keys } in &places() {
        let key = name(param);
        let wrong = format!("{}q{}", &key[..1], &key[1..]);
        let text = format!("{SMALL}{head}{wrong} = 1\n");
        let message = refused(&text);
        let place = format!(
            "load.toml:{}: {path}.{wrong}: unknown key; nearest: {key}; allowed: ",
            last(&text)
        );
        // "from" with a q is as near to "for"; what is near must be of the table all the same.
        assert!(
            message.starts_with(&place)
                || keys.iter().any(|k| message.contains(&format!("nearest: {k};"))),
            "{message}"
        );
        assert!(message.contains(&key), "{message}");
    }
}

#[test]
fn a_value_of_set_is_blamed_on_set() {
    for Place { head, path, param, .. } in &places() {
        let key = name(param);
        // One value of each type is enough: the checks are those of the file.
        let Some(Wrong { value, .. }) = wrongs(param).into_iter().next() else { continue };
        let text = format!("{SMALL}{head}");
        let changes = [(format!("{path}.{key}"), value.clone())];
        let changes: Vec<_> = changes.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        let Err(error) = Scenario::from_toml_with(&text, "load.toml", &changes, &[]) else {
            panic!("--set {path}.{key}={value} is taken")
        };
        let said = format!("load.toml with {path}.{key}");
        assert!(error.to_string().starts_with(&said), "{said}?\n{error}");
        assert_eq!(error.line(), None);
    }
}

/// What `--set` replaces need not be right.
#[test]
fn set_comes_before_the_checks() {
    let text = format!("{SMALL}[aqm]\nkind = \"pi4\"\nmin_th = \"many\"\n");
    assert!(refused(&text).contains("aqm.kind = \"pi4\""));
    let still = Scenario::from_toml_with(&text, "load.toml", &[("aqm.kind", "red")], &[]);
    let Err(error) = still else { panic!("min_th is still wrong") };
    assert!(error.to_string().starts_with("load.toml:9: aqm.min_th = \"many\": "), "{error}");
    let both = [("aqm.kind", "red"), ("aqm.min_th", "7")];
    let saved = Scenario::from_toml_with(&text, "load.toml", &both, &[]);
    assert_eq!(saved.map(|s| s.aqm().to_string()), Ok("red".into()));
    let wrong = Scenario::from_toml_with(&text, "load.toml", &[("aqm.kind", "pi3")], &[]);
    let Err(error) = wrong else { panic!("there is no pi3") };
    assert!(
        error.to_string().starts_with("load.toml with aqm.kind = \"pi3\": must be one of"),
        "{error}"
    );
}

/// Values inside of a value: tables in tables, lists, forms.
#[test]
fn inside_a_value() {
    for (line, parts) in [
        (
            "[topology.access]\nrate = \"1 Mbit/s\"\ndelay = { unifrom = [\"1 s\", \"2 s\"] }",
            [
                "topology.access.delay.unifrom: unknown key; nearest: uniform",
                "allowed: uniform, spread",
            ],
        ),
        (
            "[topology.access]\nrate = \"1 Mbit/s\"\ndelay = { uniform = [\"1 s\"] }",
            [
                "topology.access.delay.uniform = [\"1 s\"]: must be a list of two times",
                "[\"40 ms\", \"60 ms\"]",
            ],
        ),
        (
            "[topology.access]\nrate = \"1 Mbit/s\"\ndelay = { uniform = [\"1 s\", \"2 sq\"] }",
            ["topology.access.delay.uniform = \"2 sq\": unknown unit \"sq\"", "allowed: ns"],
        ),
        (
            "[[traffic]]\nkind = \"ftp\"\nstart = { evry = \"1 s\" }",
            ["traffic.1.start.evry: unknown key; nearest: every", "allowed: uniform, every, from"],
        ),
        (
            "[[traffic]]\nkind = \"ftp\"\nstart = { every = 3 }",
            ["traffic.1.start.every = 3: needs a unit", "allowed units: ns"],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nobject = { cdf = \"x\" }",
            ["traffic.1.object.cdf: unknown key", "allowed: pareto, exponential, constant"],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nobject = { pareto = { shap = 2 } }",
            [
                "traffic.1.object.pareto.shap: unknown key; nearest: shape",
                "allowed: shape, mean, max",
            ],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nobject = { constant = \"3 ms\" }",
            ["traffic.1.object.constant = \"3 ms\": unknown unit \"ms\"", "allowed: B, kB"],
        ),
        (
            "[[traffic]]\nkind = \"video\"\nbitrates = [\"3mbps\"]",
            ["traffic.1.bitrates = \"3mbps\": unit \"mbps\" is ambiguous", "allowed: bit/s"],
        ),
    ] {
        let text = format!("{SMALL}{line}\n");
        let message = refused(&text);
        let place = format!("load.toml:{}: ", last(&text));
        assert!(message.starts_with(&place), "{place}?\n{message}");
        for part in parts {
            assert!(message.contains(part), "{part}?\n{text}gives {message}");
        }
    }
}
