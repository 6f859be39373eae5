//! Runs a scenario file once, without Python, and prints what benchmarks and profilers ask for as
//! one JSON object: `run FILE [KEY=VALUE]…`.

use penstock_scenario::Scenario;
use penstock_sim::{Handle, METRICS};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("run: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut args: impl Iterator<Item = String>) -> Result<String, String> {
    let file = args.next().ok_or("usage: run FILE [KEY=VALUE]…")?;
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
    let changes: Vec<String> = args.collect();
    let changes: Vec<(&str, &str)> = changes
        .iter()
        .map(|c| c.split_once('=').map(|(path, value)| (path.trim(), value.trim())))
        .collect::<Option<_>>()
        .ok_or("a change must be KEY=VALUE")?;
    let scenario = Scenario::from_toml(&text, &file)
        .and_then(|s| s.set_all(&changes))
        .map_err(|e| e.to_string())?;
    let config = scenario.lower(scenario.seed()).map_err(|e| e.to_string())?;
    let result = penstock_sim::run(&config, &Handle::default()).map_err(|e| e.to_string())?;

    let metric = |name: &str| {
        let i = METRICS.iter().position(|m| m.name == name);
        i.and_then(|i| result.metrics[i]).unwrap_or(0.0)
    };
    let drops: f64 =
        ["drops_early", "drops_forced", "drops_overflow"].into_iter().map(metric).sum();
    Ok(format!(
        "{{\"packets\": {}, \"arrivals\": {}, \"drops\": {drops}, \"events\": {}, \"goodput_bps\": {}, \"throughput_bps\": {}, \"peak_bytes\": {}, \"cpu_s\": {}}}",
        metric("departures"),
        metric("arrivals"),
        result.events,
        metric("goodput_bps"),
        metric("throughput_bps"),
        1024 * proc("status", peak_kib).unwrap_or(0),
        proc("stat", cpu_ticks).unwrap_or(0) as f64 / 100.0,
    ))
}

/// Reads a number out of a file of this process in /proc; `None` where there is none.
fn proc(file: &str, read: fn(&str) -> Option<u64>) -> Option<u64> {
    read(&std::fs::read_to_string(format!("/proc/self/{file}")).ok()?)
}

/// The largest resident set so far.
fn peak_kib(status: &str) -> Option<u64> {
    status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

/// User and system time in hundredths of a second (Linux's USER_HZ); the fields are numbered after
/// the name.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}
