//! No input panics: files with pieces cut out, doubled, replaced; garbage; deep nesting.

use crate::common::{self, read, EXAMPLE};
use penstock_scenario::{init_template, Scenario};
use proptest::prelude::*;

/// Reads, and if it can be read lowers (small runs alone) and resolves.
fn try_all(text: &str) {
    let Ok(s) = read(text) else { return };
    let again = Scenario::from_json(&s.resolved_json()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(again.resolved_json(), s.resolved_json(), "{text}");
    let _ = s.lower_within(1, 1 << 24);
    let _ = (s.axes(), s.ranges(), s.design(), s.variants(), s.sweep_seeds(), s.point(None, &[]));
}

/// A graph with something of everything.
const GRAPH: &str = include_str!("../../../fuzz/corpus/scenario/graph2.toml");

const PIECES: &[&str] = &[
    "0",
    "-1",
    "1e308",
    "nan",
    "inf",
    "18446744073709551616",
    "\"\"",
    "\"1e30 Gbit/s\"",
    "\"0 s\"",
    "\"1 ns\"",
    "[]",
    "{}",
    "true",
    "\"\\u0000\"",
    "\n",
    "[[",
    "]]",
    ".",
    "=",
    "\"",
    "\"40 packets\"",
    "\"30 kB\"",
    "{ uniform = [\"0 s\", \"1 s\"] }",
    "aqm.x = 1\n",
    "profile = \"ns-2\"\n",
    "kind = \"rem\"\n",
    "1000000000000000000",
    "\"9999999999 s\"",
    "\"1 bit/s\"",
    "\"1 B\"",
    "1e-320",
    "[[traffic]]\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn mutated_files(edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, 0..PIECES.len(), any::<bool>()), 1..4), base in 0..3usize) {
        let mut text: Vec<char> = [EXAMPLE, init_template(), GRAPH][base].chars().collect();
        for (at, cut, piece, value) in edits {
            let mut at = at.index(text.len().max(1)).min(text.len());
            let mut end = (at + cut).min(text.len());
            if value {
                // In place of a whole value: from the next "=" to the end of its line.
                while at < text.len() && text[at] != '=' { at += 1; }
                at = (at + 1).min(text.len());
                end = at;
                while end < text.len() && text[end] != '\n' { end += 1; }
            }
            text.splice(at..end, PIECES[piece].chars());
        }
        try_all(&text.into_iter().collect::<String>());
    }

    #[test]
    fn garbage(text in "\\PC{0,200}", path in "[a-z0-9._]{0,20}") {
        try_all(&text);
        let _ = Scenario::from_json(&text);
        let s = common::good(EXAMPLE);
        let _ = (s.set(&path, &text), s.set("aqm.kind", &text), s.with_aqm(&text));
    }
}

#[test]
fn deep_and_wide() {
    let deep = "[".repeat(100_000);
    for text in [
        format!("a = {deep}"),
        format!("a = {}", "{a=".repeat(100_000)),
        format!("a{} = 1", ".a".repeat(100_000)),
        format!("duration = \"{}\"", "9".repeat(100_000)),
        format!("duration = \"{} s\"", "x".repeat(100_000)),
        format!("{} = 1", "k".repeat(100_000)),
        format!("{}\n[sweep]\n\"aqm{}\" = [1]", common::SMALL, ".x".repeat(50_000)),
    ] {
        let message = read(&text).unwrap_err().to_string();
        assert!(message.len() < 2000, "{}", message.len());
    }
    assert!(Scenario::from_json(&deep).is_err());
    assert!(common::good(EXAMPLE).set("aqm.w_q", &deep).is_err());
    assert!(common::good(EXAMPLE).set(&"a.".repeat(100_000), "1").is_err());
    assert!(common::good(EXAMPLE).set(&"a.".repeat(10), "1").is_err());
}
