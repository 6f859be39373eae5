//! Disciplines in closed loop, as their authors describe them.

mod common;
use common::good;
use penstock_sim::{run, Handle, RunResult, GROUP_METRICS, METRICS};

fn simulate(text: &str) -> RunResult {
    let s = good(text);
    run(&s.lower(s.seed()).unwrap(), &Handle::default()).unwrap()
}

fn shipped(name: &str) -> String {
    let path = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

fn of_the_run(r: &RunResult, name: &str) -> f64 {
    let i = METRICS.iter().position(|m| m.name == name).expect("a metric");
    r.metrics[i].expect("a number")
}

/// The goodput of a group.
fn goodput(r: &RunResult, group: usize) -> f64 {
    let i = GROUP_METRICS.iter().position(|m| m.name == "goodput_bps").expect("a metric");
    r.groups[group][i].expect("a goodput")
}

/// HULL gives up 5 to 15 % of the link, and waits are shorter than its threshold takes, 6 kB or 48 us
/// (the senders are not paced, so that some wait). With DCTCP's step the link is full, and its 20 kB
/// wait, 160 us.
#[test]
fn a_phantom_queue_trades_bandwidth_for_an_empty_queue() {
    let text = shipped("hull");
    let hull = simulate(&text);
    let step = simulate(&text.replace("\"phantom\"", "\"queue\"").replace("6 kB", "20 kB"));
    let numbers = |r: &RunResult| [of_the_run(r, "utilization"), of_the_run(r, "delay_mean_s")];
    let [[used, waited], [full, stood]] = [numbers(&hull), numbers(&step)];
    assert!((0.85..=0.951).contains(&used) && full > 0.99, "{used} {full}");
    assert!(waited < 48e-6 && (130e-6..190e-6).contains(&stood), "{waited} {stood}");
}

/// A short round trip, a long one and a source that answers nothing have a third of the link each.
/// Through DropTail the one that does not answer has what it sends, two
/// thirds.
#[test]
fn slots_have_equal_shares() {
    let text = shipped("sfq");
    let shares = |text: &str| {
        let r = simulate(text);
        let got = [0, 1, 2].map(|group| goodput(&r, group));
        got.map(|each| each / got.iter().sum::<f64>())
    };
    let fair = shares(&text);
    assert!(fair.iter().all(|share| (share - 1.0 / 3.0).abs() < 0.02), "{fair:?}");
    let tail = shares(&text.replace("\"sfq\"", "\"droptail\""));
    assert!(tail[2] > 0.6, "{tail:?}");
}
