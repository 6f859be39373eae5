//! The fuzzer's corpus (`fuzz/corpus/<target>/`), replayed through what the fuzz targets run.

use crate::common::{checks, inputs, space};
use std::path::PathBuf;

fn replay(target: &str, run: impl Fn(&[u8])) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = files.map(|f| f.expect("a directory entry").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    for file in files {
        let bytes = std::fs::read(&file).expect("a file that can be read");
        // Printed where the run panics: cargo test shows what a failed test wrote.
        println!("{}", file.display());
        run(&bytes);
    }
}

#[test]
fn scenarios() {
    replay("scenario", |b| inputs::scenario(&String::from_utf8_lossy(b)));
}

#[test]
fn units() {
    replay("units", |b| inputs::units(&String::from_utf8_lossy(b)));
}

#[test]
fn engine() {
    replay("engine", |b| {
        let _ = checks::check(&space::scenario(b));
    });
}

/// Every kind and every key that is declared stands in some seed; `fuzz/seeds.py` writes them. A
/// key counts for a kind where one file names both.
#[test]
fn every_declared_key_is_in_the_corpus_of_scenarios() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/scenario");
    let files = std::fs::read_dir(folder).expect("the corpus");
    let texts: Vec<String> = files
        .map(|f| std::fs::read(f.expect("an entry").path()).expect("a readable file"))
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .collect();
    for what in ["aqm", "tcp", "traffic", "topology", "scenario"] {
        let kinds = penstock_scenario::list_json(what).expect("a list");
        let kinds: serde_json::Value = serde_json::from_str(&kinds).expect("JSON");
        for kind in kinds.as_array().expect("kinds") {
            let kind_name = kind["name"].as_str().expect("a name");
            // A table that is no kind has no word of its own in a file.
            let word = match what {
                "aqm" | "tcp" | "traffic" if kind_name != "any" => format!("= \"{kind_name}\""),
                _ => String::new(),
            };
            for param in kind["params"].as_array().expect("parameters") {
                let key = param["name"].as_str().expect("a name");
                let line = format!("\n{key} = ");
                assert!(
                    texts.iter().any(|t| t.contains(&word) && format!("\n{t}").contains(&line)),
                    "no seed has {what} {kind_name}: {key}; write the seeds again: `make generate`"
                );
            }
        }
    }
}
