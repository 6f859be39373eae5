//! Fifty scenarios, drawn once at random from the property tests' space and kept in `documents/`,
//! give the documents that they always gave, to the byte. `documents/hashes.txt` has one line per
//! scenario: its name, the hash of the result document, the hash of everything recorded (series,
//! packet events, capture). A change that is meant to change results runs `PENSTOCK_UPDATE=1 cargo
//! test -p penstock-scenario --test documents` and says why in the changelog; every other change
//! must leave the file as it is.

#[path = "common/space.rs"]
mod space;

use penstock_scenario::{document, Scenario};
use penstock_sim::{run, Column, Config, Handle, Record, RunResult, Tap};
use penstock_units::{Duration, Rng};
use std::path::PathBuf;

/// How many scenarios are kept.
const KEPT: usize = 50;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/documents")
}

/// FNV-1a, 64 bit.
struct Hash(u64);

impl Hash {
    fn new() -> Self {
        Hash(0xcbf2_9ce4_8422_2325)
    }
    fn add(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

fn results(text: &str) -> (String, RunResult) {
    let scenario = Scenario::from_toml(text, "kept.toml").unwrap_or_else(|e| panic!("{e}\n{text}"));
    let config = scenario.lower(scenario.seed()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let interval = Duration::from_nanos((config.duration.as_nanos() / 50).max(1));
    let pcap = Some(Tap { link: config.bottleneck as u32, out: true });
    let record = Record { series: Some(interval), events: true, pcap };
    let result =
        run(&Config { record, ..config }, &Handle::default()).expect("a lowered scenario runs");
    (document(&scenario, &[&result]), result)
}

/// `name document records`.
fn line(name: &str, text: &str) -> String {
    let (document, result) = results(text);
    let mut of_document = Hash::new();
    of_document.add(document.as_bytes());
    let mut of_records = Hash::new();
    for table in &result.series {
        of_records.add(table.name.as_bytes());
        for (name, column) in &table.columns {
            of_records.add(name.as_bytes());
            match column {
                Column::F64(v) => v.iter().for_each(|x| of_records.add(&x.to_bits().to_le_bytes())),
                Column::U64(v) => v.iter().for_each(|x| of_records.add(&x.to_le_bytes())),
                other => of_records.add(format!("{other:?}").as_bytes()),
            }
        }
    }
    of_records.add(result.pcap.as_deref().unwrap_or_default());
    format!("{name} {:016x} {:016x}\n", of_document.0, of_records.0)
}

#[test]
fn documents_are_what_they_were() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .expect("tests/documents")
        .map(|f| f.expect("an entry").path())
        .collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "toml"));
    files.sort();
    assert_eq!(files.len(), KEPT);
    let mut got = String::new();
    for file in &files {
        let name = file.file_stem().expect("a name").to_string_lossy();
        got += &line(&name, &std::fs::read_to_string(file).expect("a scenario"));
    }
    let kept = folder().join("hashes.txt");
    if std::env::var("PENSTOCK_UPDATE").is_ok() {
        std::fs::write(&kept, &got).expect("a file");
    }
    let want = std::fs::read_to_string(&kept).expect("tests/documents/hashes.txt");
    let differ: Vec<_> = want.lines().zip(got.lines()).filter(|(a, b)| a != b).collect();
    assert!(want == got, "results changed (kept, now): {differ:#?}");
}

/// Draws fifty new scenarios: for a new version of this test only. Those that read a file of the
/// machine are left out, and so are idle ones.
#[test]
#[ignore = "replaces the kept scenarios"]
fn draw() {
    let mut rng = Rng::stream(1, "documents");
    let mut kept = 0;
    let mut missing: Vec<String> =
        penstock_aqm::KINDS.iter().map(|k| format!("kind = \"{}\"", k.name)).collect();
    while kept < KEPT {
        let bytes: Vec<u8> = (0..300).map(|_| (rng.unit() * 256.0) as u8).collect();
        let text = space::scenario(&bytes);
        let Ok(scenario) = Scenario::from_toml(&text, "drawn.toml") else { continue };
        if text.contains("mahimahi")
            || text.contains("file =")
            || scenario.lower_within(1, 1 << 30).is_err()
        {
            continue;
        }
        if results(&text).1.events < 2_000 {
            continue;
        }
        let before = missing.len();
        missing.retain(|kind| !text.contains(kind));
        if kept >= 40 && before > 0 && missing.len() == before {
            continue; // the last ones make sure that every discipline is there
        }
        std::fs::write(folder().join(format!("{kept:02}.toml")), &text).expect("a file");
        kept += 1;
    }
}
