//! The corpus of the fuzz target `aqm` (`fuzz/corpus/aqm`), replayed.

use crate::common::ops;
use penstock_aqm::KINDS;
use penstock_units::Rng;
use std::collections::BTreeSet;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/aqm")
}

fn corpus() -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(folder()).expect("fuzz/corpus/aqm");
    let mut files: Vec<PathBuf> = entries.map(|f| f.expect("a directory entry").path()).collect();
    files.sort();
    files.into_iter().map(|f| (f.clone(), std::fs::read(&f).expect("a readable file"))).collect()
}

#[test]
fn every_input_passes() {
    for (file, bytes) in corpus() {
        // Printed where the check panics: cargo test shows what a failed test wrote.
        println!("{}", file.display());
        ops::check(&bytes);
    }
}

const AGAIN: &str = "write the seeds again: `make generate`";

/// Every kind is there, with values that fit together, and every key of every kind is set once.
#[test]
fn every_kind_and_every_key_is_there() {
    let mut seen = BTreeSet::new();
    for (_, bytes) in corpus() {
        let (setup, _, ops) = ops::read(&bytes);
        if setup.build().is_some() && ops.len() > 20 {
            seen.insert((setup.kind, "a discipline that runs"));
        }
        seen.extend(setup.set.iter().map(|(key, _)| (setup.kind, *key)));
    }
    for kind in KINDS {
        assert!(seen.contains(&(kind.name, "a discipline that runs")), "{}: {AGAIN}", kind.name);
        for p in ops::params(kind) {
            assert!(seen.contains(&(kind.name, p.name)), "{}.{}: {AGAIN}", kind.name, p.name);
        }
    }
}

/// Writes seeds until the test above holds: for each kind one that runs, and more while a key is
/// missing. `make generate` calls this.
#[test]
#[ignore = "writes into fuzz/corpus"]
fn write_seeds() {
    for (file, _) in corpus() {
        if file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("seed-")) {
            std::fs::remove_file(file).expect("an old seed");
        }
    }
    let mut rng = Rng::stream(1, "fuzz/aqm");
    for (i, kind) in KINDS.iter().enumerate() {
        let mut missing: BTreeSet<&str> = ops::params(kind).map(|p| p.name).collect();
        let mut runs = false;
        for n in 0..100_000 {
            let mut bytes: Vec<u8> = (0..240).map(|_| (rng.unit() * 256.0) as u8).collect();
            bytes[0] = i as u8;
            let (setup, _, ops) = ops::read(&bytes);
            let good = setup.build().is_some() && ops.len() > 20;
            let new = setup.set.iter().any(|(key, _)| missing.contains(key));
            // Values that do not fit together are a seed only where nothing else has the key.
            if !(good && (new || !runs) || new && n > 20_000) {
                continue;
            }
            runs |= good;
            setup.set.iter().for_each(|(key, _)| {
                missing.remove(key);
            });
            let name = format!("seed-{}-{}", kind.name, missing.len());
            std::fs::write(folder().join(name), &bytes).expect("a seed");
            if runs && missing.is_empty() {
                break;
            }
        }
    }
}
