//! Fifty scenarios, drawn once at random from the property tests' space and kept in `documents/`,
//! give the documents that they always gave, to the byte. `documents/results.txt` has one line per
//! scenario: its name, its discipline, the hash of the result document, the hash of everything
//! recorded (series, packet events, capture), and some of the metrics, rounded, so that a change
//! of the hashes says what changed. A change that is meant to change results runs
//! `PENSTOCK_UPDATE=1 cargo test -p penstock-scenario documents::` and says why in the
//! changelog; every other change must leave the file as it is.

use crate::common::space;
use penstock_scenario::{document, Scenario};
use penstock_sim::{run, Column, Config, Handle, Record, RunResult, Tap, METRICS};
use penstock_units::{Duration, Rng};
use std::path::PathBuf;

/// How many scenarios are kept.
const KEPT: usize = 50;

/// The metrics of a line, after the columns of [`NAMED`].
const SHOWN: [&str; 10] = [
    "utilization",
    "goodput_bps",
    "queue_mean_pkts",
    "delay_mean_s",
    "delay_p99_s",
    "loss_ratio",
    "marks_ce",
    "retransmits",
    "timeouts",
    "jain",
];

/// The columns before them.
const NAMED: [&str; 4] = ["scenario", "aqm", "document", "records"];

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
    let record = Record { series: Some(interval), events: true, pcap, ..Record::default() };
    let result =
        run(&Config { record, ..config }, &Handle::default()).expect("a lowered scenario runs");
    (document(&scenario, &[&result]), result)
}

/// The cells of a scenario's line.
fn cells(name: &str, text: &str) -> Vec<String> {
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
    let mut cells = vec![
        name.to_string(),
        discipline(text).to_string(),
        format!("{:016x}", of_document.0),
        format!("{:016x}", of_records.0),
    ];
    cells.extend(SHOWN.iter().map(|shown| {
        let at = METRICS.iter().position(|metric| metric.name == *shown).expect("a metric");
        result.metrics[at].map_or("-".to_string(), rounded)
    }));
    cells
}

/// The `kind` of the bottleneck's queue.
fn discipline(text: &str) -> &str {
    let table = text.split("[aqm]").nth(1).unwrap_or_default();
    table.split('"').nth(1).unwrap_or_default()
}

/// To four digits.
fn rounded(x: f64) -> String {
    if x == 0.0 {
        return "0".to_string();
    }
    let magnitude = x.abs().log10().floor() as i32;
    if (-4..7).contains(&magnitude) {
        let text = format!("{:.*}", (3 - magnitude).max(0) as usize, x);
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
            false => text,
        }
    } else {
        format!("{x:.3e}")
    }
}

/// A line for each row, its cells below each other. No column's width depends on the values, so
/// that one that changes leaves the other lines alone.
fn table(rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    for row in rows {
        let (named, shown) = row.split_at(NAMED.len());
        text += &format!("{:<8}  {:<8}  {:<16}  {:<16}", named[0], named[1], named[2], named[3]);
        for (cell, name) in shown.iter().zip(SHOWN) {
            text += &format!("  {cell:>0$}", name.len().max(9));
        }
        text.push('\n');
    }
    text
}

/// What differs, scenario by scenario and column by column.
fn differences(want: &str, got: &str) -> Vec<String> {
    let names: Vec<&str> = NAMED.into_iter().chain(SHOWN).collect();
    let lines = want.lines().zip(got.lines()).filter(|(want, got)| want != got);
    lines
        .map(|(want, got)| {
            let cells = want.split_whitespace().zip(got.split_whitespace());
            let differ = cells.zip(&names).filter(|((want, got), _)| want != got);
            let said = differ.map(|((want, got), name)| format!("{name} {want} → {got}"));
            let scenario = got.split_whitespace().next().unwrap_or_default();
            format!("{scenario}: {}", said.collect::<Vec<_>>().join(", "))
        })
        .collect()
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
    let head = NAMED.into_iter().chain(SHOWN).map(str::to_string).collect();
    let mut rows: Vec<Vec<String>> = vec![head];
    for file in &files {
        let name = file.file_stem().expect("a name").to_string_lossy();
        rows.push(cells(&name, &std::fs::read_to_string(file).expect("a scenario")));
    }
    let got = table(&rows);
    let kept = folder().join("results.txt");
    if std::env::var("PENSTOCK_UPDATE").is_ok() {
        std::fs::write(&kept, &got).expect("a file");
    }
    let want = std::fs::read_to_string(&kept).expect("tests/documents/results.txt");
    assert!(want == got, "results changed: {:#?}", differences(&want, &got));
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
