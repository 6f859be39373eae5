//! Prints the result document of a scenario file for some seeds, as `penstock run FILE --seeds N
//! --json` does, from whatever profile this was built in: `document FILE SEEDS`. The tests hold a
//! debug build's bytes against the wheel's.

use penstock_scenario::{document, Scenario};
use penstock_sim::Handle;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("document: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<String, String> {
    let [file, seeds] = args else { return Err("usage: document FILE SEEDS".into()) };
    let seeds: u64 = seeds.parse().map_err(|_| format!("{seeds}: must be a number of seeds"))?;
    let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
    let scenario = Scenario::from_toml(&text, file).map_err(|e| e.to_string())?;
    let runs = (scenario.seed()..scenario.seed() + seeds)
        .map(|seed| {
            let config = scenario.lower(seed).map_err(|e| e.to_string())?;
            penstock_sim::run(&config, &Handle::default()).map_err(|e| e.to_string())
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(document(&scenario, &runs.iter().collect::<Vec<_>>()))
}
