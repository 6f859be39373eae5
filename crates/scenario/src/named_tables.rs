//! Tables by names that the user gives, on their way through a scenario: a key that no kind of today
//! has, so it is tried here.

use crate::node::{Node, Origin};
use crate::{check, list, schema, show};
use penstock_units::param::{num_open, Named, Param, Params as _, Ty, Value, Values, REQUIRED};
use penstock_units::{params, QueueLen};
use serde_json::json;

params! {
    /// A class.
    struct Class {
        /// Where its ramp begins.
        min_th: QueueLen { default: "5 packets" },
        /// Where it ends.
        max_p: f64 { ty: num_open(0.0, 1.0), auto: REQUIRED },
        /// What may wait.
        most: Option<QueueLen> { auto: "no limit" },
    }
}

params! {
    /// The classes.
    struct Classes {
        /// The ramp of each class.
        class: Named<Class> { auto: "none" },
    }
}

const CLASS: &Param = &Classes::TABLE[0];

/// Returns the value that `class = { … }` gives.
fn read(text: &str) -> Result<Value, String> {
    let node = Node::from_literal(text, Origin::Unknown).expect("TOML");
    check::value(&node, CLASS, "aqm.class").map_err(|e| e.to_string())
}

#[test]
fn each_table_has_its_defaults() {
    let value = read("{ gold = { max_p = 0.1 }, tin = { max_p = 0.5, min_th = '3 kB' } }").unwrap();
    let mut values = Values::new();
    values.set("class", value.clone());
    let class = |max_p, min_th| Class { min_th, max_p, most: None };
    let gold = ("gold".to_owned(), class(0.1, QueueLen::Packets(5.0)));
    let tin = ("tin".to_owned(), class(0.5, QueueLen::Bytes(3000)));
    assert_eq!(Classes::read(&values), Classes { class: Named(vec![gold, tin]) });
    // As the resolved scenario writes it, which reads back.
    let written = show::json(&value, &CLASS.ty);
    assert_eq!(written["tin"], json!({ "min_th": "3000 B", "max_p": 0.5, "most": null }));
    let again = Node::from_json(&written, Origin::Unknown);
    assert_eq!(check::value(&again, CLASS, "aqm.class").unwrap(), value);
}

#[test]
fn what_is_wrong_in_a_table() {
    for (text, problem) in [
        ("7", "aqm.class = 7"),
        ("{ gold = 7 }", "aqm.class.gold = 7"),
        ("{ gold = {} }", "aqm.class.gold.max_p"),
        ("{ gold = { max_p = 2 } }", "aqm.class.gold.max_p = 2"),
        ("{ gold = { max_p = 0.1, min = 5 } }", "min_th"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(problem), "{text}: {error}");
    }
}

#[test]
fn lists_and_the_schema_know_the_keys_inside() {
    let listed = list::param(CLASS);
    assert_eq!(
        (&listed["type"], &listed["params"][1]["name"]),
        (&json!("tables"), &json!("max_p"))
    );
    let each = &schema::typed(&CLASS.ty)["additionalProperties"];
    assert_eq!(each["required"], json!(["max_p"]));
    assert_eq!(each["properties"]["min_th"]["default"], "5 packets");
    assert!(matches!(CLASS.ty, Ty::Tables(keys) if keys.len() == 3));
}
