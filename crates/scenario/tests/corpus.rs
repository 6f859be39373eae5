//! The fuzzer's corpus (`fuzz/corpus/<target>/`), replayed through what the fuzz targets run.

#[path = "common/checks.rs"]
mod checks;
#[path = "common/inputs.rs"]
mod inputs;
#[path = "common/space.rs"]
mod space;

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
