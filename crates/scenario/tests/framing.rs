//! The line as it is framed, and a shaper in front of it.

use penstock_scenario::Scenario;
use penstock_sim::{run, Handle, RunResult, LINK_METRICS};
use penstock_units::Duration;

/// A sender of 1000-byte packets at `rate`, over a link with these keys.
fn scenario(link: &str, sender: &str) -> String {
    format!(
        "duration = '10 s'\n[topology]\nbottleneck = {{ {link} }}\n[aqm]\nkind = 'droptail'\n\
         [[traffic]]\nkind = 'cbr'\nrate = '{sender}'\npacket = '1000 B'\n"
    )
}

fn go(text: &str) -> RunResult {
    let scenario = Scenario::from_toml(text, "framing.toml").unwrap_or_else(|e| panic!("{e}"));
    run(&scenario.lower(1).unwrap(), &Handle::default()).unwrap()
}

fn refused(link: &str) -> String {
    Scenario::from_toml(&scenario(link, "1 Mbit/s"), "framing.toml").unwrap_err().to_string()
}

/// A metric of a link.
fn of(r: &RunResult, link: &str, name: &str) -> f64 {
    let i = LINK_METRICS.iter().position(|m| m.name == name).unwrap();
    let found = r.links.iter().find(|l| l.name == link).unwrap_or_else(|| panic!("{:?}", r.links));
    found.metrics[i].unwrap()
}

fn metric(r: &RunResult, name: &str) -> f64 {
    r.metrics[penstock_sim::METRICS.iter().position(|m| m.name == name).unwrap()].unwrap()
}

/// 1000 B and 40 B of overhead are ⌈1040/48⌉ = 22 cells, 1166 B: of 10 Mbit/s 1072 packets a second
/// get through, and a second's 1250 do not.
#[test]
fn a_link_carries_what_its_line_frames() {
    let link = "rate = '10 Mbit/s', delay = '5 ms', overhead = '40 B', framing = 'atm'";
    let r = go(&scenario(link, "10 Mbit/s"));
    assert!((metric(&r, "departures") - 10_720.0).abs() < 60.0, "{}", metric(&r, "departures"));
    assert!((metric(&r, "throughput_bps") - 1e7).abs() < 2e4, "on the wire");
    assert!((metric(&r, "utilization") - 1.0).abs() < 2e-3);
    // A sender of 8 Mbit/s has 9.328 Mbit/s on the wire, and no queue.
    let r = go(&scenario(link, "8 Mbit/s"));
    assert!((metric(&r, "throughput_bps") - 9.328e6).abs() < 1e4);
    assert_eq!(metric(&r, "delay_mean_s"), 0.0);
    // 8 B of overhead on a packet of 40 B are still 64.
    let link = "rate = '10 Mbit/s', delay = '5 ms', overhead = '8 B', mpu = '64 B'";
    let small = scenario(link, "1 Mbit/s").replace("1000 B", "40 B");
    assert!((metric(&go(&small), "throughput_bps") - 1.6e6).abs() < 2e3);
}

/// The queue stands where the narrower of the two is: the shaper at 9.5 Mbit/s in front of 10, or
/// the modem if the shaper lets 10.5 through.
#[test]
fn a_shaper_holds_the_queue_in_front_of_the_modem() {
    let link = "rate = '10 Mbit/s', delay = '5 ms', buffer = 50, shaped = '95 %'";
    let r = go(&scenario(link, "20 Mbit/s"));
    let delay = |r: &RunResult, link| of(r, link, "delay_mean_s");
    // 50 packets of 8000 bits at 9.5 Mbit/s: 42 ms.
    assert!((delay(&r, "bottleneck") - 0.0421).abs() < 2e-3, "{}", delay(&r, "bottleneck"));
    assert!(delay(&r, "bottleneck.modem") < 1e-3, "{}", delay(&r, "bottleneck.modem"));
    assert!((of(&r, "bottleneck", "throughput_bps") - 9.5e6).abs() < 2e4);
    assert!((metric(&r, "utilization") - 1.0).abs() < 3e-3, "of the shaper's rate");
    let wide = go(&scenario(&link.replace("95 %", "105 %"), "20 Mbit/s"));
    // 1000 packets at 10 Mbit/s are 800 ms; it fills with 0.5 Mbit/s, in 16 s.
    assert!(delay(&wide, "bottleneck.modem") > 0.2, "{}", delay(&wide, "bottleneck.modem"));
    assert!((of(&wide, "bottleneck.modem", "throughput_bps") - 1e7).abs() < 2e4);
    // A rate says the same as a share.
    let rate = go(&scenario(&link.replace("95 %", "9.5 Mbit/s"), "20 Mbit/s"));
    assert_eq!(rate.metrics, r.metrics);
}

/// A shaper that was told of the framing keeps the modem empty. One that was not lets 9.5 Mbit/s of
/// bare packets go, 11.1 Mbit/s on the line.
#[test]
fn a_shaper_has_to_be_told_of_the_framing() {
    let told = "rate = '10 Mbit/s', delay = '5 ms', overhead = '40 B', framing = 'atm', \
                modem_buffer = 100, shaped = '95 %'";
    let r = go(&scenario(told, "20 Mbit/s"));
    assert!(of(&r, "bottleneck.modem", "delay_mean_s") < 1e-3);
    assert!((of(&r, "bottleneck", "throughput_bps") - 9.5e6).abs() < 2e4, "framed");
    let untold = scenario(&format!("{told}, shaper_framed = false"), "20 Mbit/s");
    let r = go(&untold.replace("[topology]", "measure = { from = '2 s' }\n[topology]"));
    // 100 packets of 1166 B at 10 Mbit/s: 93 ms. 1187.5 packets a second come, 1072 go.
    assert!((of(&r, "bottleneck.modem", "delay_mean_s") - 0.093).abs() < 2e-3);
    assert!((of(&r, "bottleneck", "throughput_bps") - 9.5e6).abs() < 2e4, "bare");
    assert!(of(&r, "bottleneck.modem", "drops_overflow") > 900.0);
}

/// What is said of the line's wire is the modem's; a round trip is as long as without a shaper.
#[test]
fn the_modem_has_the_line() {
    let link = "rate = '10 Mbit/s', delay = '5 ms', loss = 0.1, bleach = true, \
                schedule = [{ at = '5 s', rate = '5 Mbit/s' }]";
    let text =
        scenario(&format!("{link}, shaped = '8 Mbit/s', reverse_shaped = '50 %'"), "6 Mbit/s");
    let plan = Scenario::from_toml(&text, "framing.toml").unwrap();
    let config = plan.lower(1).unwrap();
    let names: Vec<_> = config.links.iter().map(|l| l.name.as_str()).collect();
    let modems = ["bottleneck.modem", "bottleneck.reverse.modem"];
    assert_eq!(names, ["bottleneck", "bottleneck.reverse", modems[0], modems[1]]);
    let delays = [5, 5, 0, 0].map(Duration::from_millis);
    assert_eq!(config.links.iter().map(|l| l.delay).collect::<Vec<_>>(), delays);
    assert_eq!(
        config.links.iter().map(|l| l.bleach).collect::<Vec<_>>(),
        [false, false, true, false]
    );
    let bps: Vec<_> = config.links.iter().map(|l| l.rate.as_bps()).collect();
    assert_eq!(bps, [8_000_000, 5_000_000, 10_000_000, 10_000_000]);
    assert_eq!(config.links[0].opposite, Some(1), "one capture has both directions");
    assert_eq!(config.routes, [vec![0, 2], vec![1, 3]]);
    let r = run(&config, &Handle::default()).unwrap();
    // From 5 s on the modem has 5 Mbit/s for 6.
    assert!(of(&r, "bottleneck.modem", "delay_mean_s") > 0.05);
    assert_eq!(of(&r, "bottleneck", "delay_mean_s"), 0.0);
    assert!(metric(&r, "departures") > 7000.0);
}

#[test]
fn what_does_not_fit_is_refused() {
    let link = "rate = '10 Mbit/s', delay = '5 ms'";
    for (key, want) in [
        ("overhead = '300 B'", "topology.bottleneck.overhead = \"300 B\": must be at most 256 B"),
        ("framing = 'atm5'", "must be one of \"none\", \"atm\", \"ptm\""),
        ("shaped = '95'", "such as \"95 %\""),
        ("shaped = '0 %'", "such as \"95 %\""),
        ("shaped = '2000 %'", "such as \"95 %\""),
        ("shaper_burst = '1 ms'", "there is none: `shaped`"),
        ("shaper_framed = false", "there is none: `shaped`"),
        ("shaped = '95 %', modem_buffer = '30 kB'", "must be a number of packets"),
    ] {
        let error = refused(&format!("{link}, {key}"));
        assert!(error.contains(want), "{key}: {error}");
    }
}
