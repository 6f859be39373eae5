//! Runs a scenario under RED and under a discipline of this crate: `cargo run --
//! ../../scenarios/load-rises.toml`.

mod delay_target;

use delay_target::DelayTarget;
use penstock_scenario::Scenario;
use penstock_sim::{run, Handle, UserAqm, METRICS};
use penstock_units::Duration;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: rust-aqm SCENARIO.toml")?;
    let red = Scenario::from_toml(&std::fs::read_to_string(&file)?, &file)?.with_aqm("red")?;

    // Called for every run and link, with the facts of the link.
    let own = UserAqm::new("delay-target", |start| {
        Ok(Box::new(DelayTarget::new(start.context, Duration::from_millis(40))))
    });
    let own = red.with_user_aqm(own)?;

    for scenario in [&red, &own] {
        let config = scenario.lower(scenario.seed())?;
        let result = run(&config, &Handle::default())?;
        let metric = |name: &str| {
            let place = METRICS.iter().position(|m| m.name == name);
            place.and_then(|i| result.metrics[i]).unwrap_or(f64::NAN)
        };
        println!(
            "{:13}{:6.0} packets, {:.6} ms in the queue",
            config.links[config.bottleneck].aqm.name(),
            metric("departures"),
            1e3 * metric("delay_mean_s"),
        );
    }
    Ok(())
}
