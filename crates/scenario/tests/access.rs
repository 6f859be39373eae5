//! A queue at an access link that is longer than at the bottleneck is told, with its link's name.

use crate::common::good;
use penstock_scenario::{document, warnings};
use penstock_sim::{run, Handle, RunResult};
use serde_json::Value;

fn ran(text: &str, seed: u64) -> RunResult {
    run(&good(text).lower(seed).unwrap(), &Handle::default()).unwrap()
}

fn said(text: &str) -> Vec<String> {
    warnings(&good(text), &[&ran(text, 1)])
}

/// 10 Mbit/s each way, with `links` beside it; one CUBIC flow whose window is far beyond what the
/// path holds, with `keys`.
fn dumbbell(links: &str, keys: &str) -> String {
    format!(
        "duration = \"10 s\"\n[topology]\n\
         bottleneck = {{ rate = \"10 Mbit/s\", delay = \"10 ms\", buffer = 1000 }}\n{links}\n\
         [[traffic]]\nkind = \"ftp\"\ntcp = \"cubic\"\nwindow = 500\n{keys}\n"
    )
}

const CBR: &str = "[[traffic]]\nname = \"probe\"\nkind = \"cbr\"\npacket = \"1000 B\"\n";

/// What is in the file, and the words that the warning has; none: there is no warning.
#[test]
fn the_link_is_named() {
    let access = |rate: &str| format!("access = {{ rate = \"{rate}\", delay = \"1 ms\" }}");
    let egress = |rate: &str| format!("{}\negress = {{ rate = \"{rate}\" }}", access("100 Mbit/s"));
    let cbr = |rate: &str| format!("{CBR}rate = \"{rate}\"");
    let lot = |rate: &str| {
        format!(
            "duration = \"10 s\"\n[topology]\nkind = \"parking-lot\"\nhops = 3\n\
             link = {{ rate = \"10 Mbit/s\", delay = \"5 ms\", buffer = 1000 }}\n{}\n\
             [[traffic]]\nkind = \"ftp\"\nwindow = 500\n",
            access(rate)
        )
    };
    let graph = |rate: &str| {
        format!(
            "duration = \"10 s\"\n[topology]\nkind = \"graph\"\n{}\n\
             [[topology.link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"10 Mbit/s\"\n\
             delay = \"5 ms\"\nbuffer = 1000\n[[topology.link]]\nfrom = \"b\"\nto = \"c\"\n\
             rate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
             [[traffic]]\nkind = \"ftp\"\nwindow = 500\nfrom = \"a\"\nto = \"c\"\n",
            access(rate)
        )
    };
    let at = "longer than at the bottleneck: packets waited ";
    let here = "access link of traffic.0, flow 0, from its host";
    let rate = |key: &str, now: &str| format!("make topology.{key}.rate larger (now {now})");
    for (text, words) in [
        (dumbbell(&access("10 Mbit/s"), ""), vec![at, here, &rate("access", "10 Mbit/s")]),
        (dumbbell(&access("5 Mbit/s"), "flows = 2"), vec![at, "access link of traffic.0, flow"]),
        (dumbbell(&access("100 Mbit/s"), ""), vec![]),
        (dumbbell("", ""), vec![]),
        (
            dumbbell(&egress("4 Mbit/s"), "name = \"load\""),
            vec![
                "egress link of traffic.0 \"load\", flow 0, to its host",
                &rate("egress", "4 Mbit/s"),
            ],
        ),
        // The egress is as the access, which is what to change.
        (
            dumbbell(&access("9 Mbit/s"), "direction = \"reverse\""),
            vec!["egress link of traffic.0, flow 0, from its host", &rate("access", "9 Mbit/s")],
        ),
        (
            dumbbell(&egress("4 Mbit/s"), "direction = \"reverse\""),
            vec!["egress link of traffic.0, flow 0, from its host", &rate("egress", "4 Mbit/s")],
        ),
        // A source that is faster than its access link, behind which all is well.
        (
            dumbbell(&access("40 Mbit/s"), &cbr("50 Mbit/s")),
            vec!["access link of traffic.1 \"probe\", flow 0, from its host"],
        ),
        (dumbbell(&access("40 Mbit/s"), &cbr("5 Mbit/s")), vec![]),
        (
            lot("8 Mbit/s"),
            vec!["longer than at the links between routers", here, "at most at one on its way"],
        ),
        (lot("80 Mbit/s"), vec![]),
        (graph("10 Mbit/s"), vec!["longer than at the links between routers", here]),
        (graph("100 Mbit/s"), vec![]),
    ] {
        let said = said(&text);
        assert_eq!(said.len(), usize::from(!words.is_empty()), "{said:?} in\n{text}");
        assert!(
            words.iter().all(|word| said[0].contains(word)),
            "{said:?}\nlacks one of {words:?}"
        );
    }
}

/// A link of 10 Mbit/s behind an access link as fast: of 500 segments some 17 are under way, and
/// the others wait at the access link, for half a second.
#[test]
fn what_waits_is_told() {
    let text = dumbbell("access = { rate = \"10 Mbit/s\" }", "segment = \"1000 B\"");
    let queue = ran(&text.replace("[topology]", "measure = { from = \"5 s\" }\n[topology]"), 1);
    let queue = queue.access.expect("a queue");
    let want = (500.0 * 1040.0 * 8.0) / 10e6 - 0.02;
    assert!((queue.mean_s - want).abs() < 0.01 * want, "{queue:?}, not {want}");
    assert_eq!(queue.on_the_way_s, 0.0);
}

/// The document has them in the runs that have them; several runs are told together.
#[test]
fn documents_have_warnings() {
    let text = dumbbell("access = { rate = \"10 Mbit/s\" }", "");
    let with: Vec<RunResult> = (1..=3).map(|seed| ran(&text, seed)).collect();
    let fast = text.replace("access = { rate = \"10", "access = { rate = \"100");
    let without = ran(&fast, 4);
    let scenario = good(&text);
    let runs = [&with[0], &without];
    let document: Value = serde_json::from_str(&document(&scenario, &runs)).unwrap();
    assert_eq!(
        document["runs"][0]["warnings"].as_array().unwrap()[0].as_str().unwrap(),
        warnings(&scenario, &runs[..1])[0]
    );
    assert!(document["runs"][1].get("warnings").is_none());
    assert!(warnings(&scenario, &runs)[0].contains("bottleneck, in 1 of 2 runs: "));
    let all: Vec<&RunResult> = with.iter().collect();
    assert!(warnings(&scenario, &all)[0].contains("bottleneck, in all 3 runs: "));
}
