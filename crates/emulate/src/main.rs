//! `penstock-emulate router SCENARIO.json --client IFACE --server IFACE --duration SECONDS --seed N
//! --json FILE`: the router alone, between two interfaces of the namespace that it is started in,
//! for a machine that somebody else sets up (`validation/oracle` runs it in a virtual one).
//! `penstock emulate` makes hosts, traffic and clean-up itself.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match linux::main() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("penstock-emulate: {e}");
            std::process::ExitCode::from(2)
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("penstock-emulate needs Linux");
    std::process::exit(2);
}

#[cfg(target_os = "linux")]
mod linux {
    use lexopt::prelude::*;
    use penstock_emulate::session::bridge;
    use penstock_emulate::Options;
    use penstock_scenario::Scenario;
    use std::error::Error;
    use std::path::PathBuf;

    pub fn main() -> Result<(), Box<dyn Error>> {
        let usage = "usage: penstock-emulate router SCENARIO.json --client IFACE --server IFACE [--duration SECONDS] [--seed N] [--json FILE]";
        let (mut client, mut server, mut json, mut duration) =
            (None::<String>, None::<String>, None::<PathBuf>, None::<f64>);
        let mut seed = None::<u64>;
        let mut words: Vec<String> = vec![];
        let mut args = lexopt::Parser::from_env();
        while let Some(arg) = args.next()? {
            match arg {
                Long("client") => client = Some(args.value()?.string()?),
                Long("server") => server = Some(args.value()?.string()?),
                Long("json") => json = Some(args.value()?.into()),
                Long("duration") => duration = Some(args.value()?.parse()?),
                Long("seed") => seed = Some(args.value()?.parse()?),
                Value(word) => words.push(word.string()?),
                other => return Err(format!("{}\n{usage}", other.unexpected()).into()),
            }
        }
        let [word, file] = &words[..] else { return Err(usage.into()) };
        let (Some(client), Some(server), "router") = (client, server, word.as_str()) else {
            return Err(usage.into());
        };
        let mut scenario = Scenario::from_json(&std::fs::read_to_string(file)?)?;
        if let Some(seconds) = duration {
            scenario = scenario.set("duration", &format!("{seconds} s"))?;
        }
        let seed = seed.unwrap_or_else(|| scenario.seed());
        let options = Options { limited: true, ..Options::default() };
        let report = bridge(&scenario, [&client, &server], seed, &options, None, &mut || true)?;
        let document = penstock_scenario::document(&scenario, &[&report.result]);
        let mut document: serde_json::Value = serde_json::from_str(&document)?;
        document["emulation"] = serde_json::to_value(&report.emulation)?;
        document["metrics"] = document["runs"][0]["metrics"].clone();
        match json {
            Some(file) => std::fs::write(file, document.to_string())?,
            None => println!("{document}"),
        }
        Ok(())
    }
}
