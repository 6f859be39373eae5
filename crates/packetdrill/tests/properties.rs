//! Whatever text stands in a script: it is read or refused, run or not, and nothing panics.

use penstock_packetdrill::{parse, run};
use penstock_units::param::Profile;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn scripts() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut texts: Vec<String> = fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| fs::read_to_string(entry.expect("an entry").path()).expect("a script"))
        .collect();
    texts.sort();
    texts
}

/// What scripts are made of.
const PARTS: &[&str] = &[
    "+0",
    "+.1",
    "*",
    "~",
    "...",
    "1.5",
    " ",
    "\n",
    "<",
    ">",
    "S",
    "S.",
    "P.",
    ".",
    ".5",
    "-",
    "E.",
    "0:0(0)",
    "1:1001(1000)",
    "1:1(0)",
    "4294967295:4294967295(0)",
    "ack",
    "1",
    "4294967295",
    "win",
    "257",
    "<mss 1000>",
    "<sack 1:2>",
    "<...>",
    "[ce]",
    "[",
    "]",
    "(",
    ")",
    "write(4, ..., 1000)",
    "= 1000",
    "= -1",
    "connect(3, ..., ...) = 0",
    "`",
    "`defaults.sh`",
    "%{",
    "}%",
    "assert",
    "==",
    "tcpi_snd_cwnd",
    "not",
    "and",
    ",",
    ";",
    "#",
    "//",
    "/*",
    "*/",
    "\"",
    "é",
    "--mss=1",
    "accept",
];

fn cases() -> u32 {
    std::env::var("PENSTOCK_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(200)
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() }
}

fn parts() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(PARTS), 0..60)
}

/// Where, how, and what with.
type Damage = (prop::sample::Index, u8, &'static str);

fn damage() -> impl Strategy<Value = Vec<Damage>> {
    let one = (any::<prop::sample::Index>(), 0_u8..5, prop::sample::select(PARTS));
    prop::collection::vec(one, 1..6)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn any_parts_are_read_or_refused(parts in parts()) {
        for glue in ["", " "] {
            let text = parts.join(glue);
            let _ = parse(&text);
            let _ = run(&text, Profile::Linux);
        }
    }

    /// A script with some of its characters, words or lines replaced.
    #[test]
    fn a_damaged_script_is_run_or_refused(which in 0_usize..100, damage in damage()) {
        let texts = scripts();
        let text = &texts[which % texts.len()];
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        for (at, how, part) in damage {
            let i = at.index(lines.len());
            let other = lines[at.index(i + 1)].clone();
            match how {
                0 => lines[i] = other,
                1 => lines[i] = String::new(),
                2 => {
                    let mut words: Vec<&str> = lines[i].split(' ').collect();
                    let j = at.index(words.len());
                    words[j] = part;
                    lines[i] = words.join(" ");
                }
                3 => lines[i] = lines[i].replace(|c: char| c.is_ascii_digit(), "9"),
                _ => lines[i].push_str(part),
            }
        }
        for profile in [Profile::Rfc, Profile::Linux] {
            let _ = run(&lines.join("\n"), profile);
        }
    }
}
