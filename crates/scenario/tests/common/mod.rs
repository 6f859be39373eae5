//! Scenarios that the tests share.

pub mod checks;
pub mod inputs;
pub mod space;

use penstock_scenario::{Scenario, ScenarioError};
use penstock_sim::{run, Column, Handle, RunResult, GROUP_METRICS, LINK_METRICS, METRICS};

/// The smallest dumbbell: what is put in place of `{}` comes after it.
pub const SMALL: &str = r#"duration = "10 s"
[topology.bottleneck]
rate = "1.5 Mbit/s"
delay = "40 ms"
[[traffic]]
kind = "ftp"
"#;

/// The example of the interface's description, with everything in it that this version has.
pub const EXAMPLE: &str = r#"name = "load rises"
duration = "100 s"
measure = { from = "50 s" }          # to = end; everything before is warm-up
seed = 1
profile = "rfc"                      # or "ns-2"

[topology]
kind = "dumbbell"
bottleneck = { rate = "1.5 Mbit/s", delay = "40 ms", buffer = "40 packets" }
access = { rate = "10 Mbit/s", delay = "2 ms" }            # sources' side
egress = { rate = "10 Mbit/s", delay = "4 ms" }            # sinks' side; default: as access

[aqm]                                # at the bottleneck, forward direction
kind = "red"
min_th = 5
max_th = 15
max_p = 0.1
w_q = 0.002
gentle = true
ecn = true                           # mark where the packet allows it

[[traffic]]
kind = "ftp"
flows = 2
start = "0 s"                        # or { uniform = ["0 s", "0.1 s"] }, or { every = "0.1 s", from = "25 s" }
stop = "100 s"                       # optional
tcp = "reno"
ecn = "classic"                      # off | classic | mecn | accecn
segment = "1000 B"
window = 25                          # receiver window, segments
direction = "forward"                # or "reverse"

[[traffic]]
kind = "cbr"
rate = "150 kbit/s"
packet = "1000 B"

[[traffic]]
kind = "web"
sessions = 20
pairs = 10

[sweep]                              # optional: axes of a grid; a key path to a list
"aqm.kind" = ["droptail", "red", "ared"]
"traffic.0.flows" = [10, 20, 50]
seeds = 10
"#;

pub fn read(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::from_toml(text, "load.toml")
}

pub fn good(text: &str) -> Scenario {
    read(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

pub fn message(text: &str) -> String {
    match read(text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(e) => e.to_string(),
    }
}

/// The text of `scenarios/NAME.toml`.
pub fn shipped(name: &str) -> String {
    let path = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// What comes of a scenario with its own seed.
pub fn simulate(text: &str) -> RunResult {
    let s = good(text);
    run(&s.lower(s.seed()).unwrap(), &Handle::default()).unwrap()
}

/// The goodput of a group in bit/s.
pub fn goodput(r: &RunResult, group: usize) -> f64 {
    let i = GROUP_METRICS.iter().position(|m| m.name == "goodput_bps").expect("declared");
    r.groups[group][i].expect("a goodput")
}

/// A metric of a band of the bottleneck.
pub fn band(r: &RunResult, name: &str, metric: &str) -> f64 {
    let band = r.bands.iter().find(|b| b.name == name).expect("a band");
    let i = LINK_METRICS.iter().position(|m| m.name == metric).expect("a metric");
    band.metrics[i].unwrap_or(0.0)
}

/// A metric of a run, which it has.
pub fn metric(r: &RunResult, name: &str) -> f64 {
    r.metrics[METRICS.iter().position(|m| m.name == name).unwrap()]
        .unwrap_or_else(|| panic!("{name}"))
}

/// A column of a series.
pub fn column<'a>(r: &'a RunResult, table: &str, name: &str) -> &'a Column {
    let table = r.series.iter().find(|t| t.name == table).unwrap();
    &table.columns.iter().find(|(n, _)| n == name).unwrap().1
}

/// The same as numbers.
pub fn numbers(r: &RunResult, table: &str, name: &str) -> Vec<f64> {
    match column(r, table, name) {
        Column::F64(x) => x.clone(),
        Column::U64(x) => x.iter().map(|x| *x as f64).collect(),
        Column::Word(..) => panic!("words"),
    }
}
