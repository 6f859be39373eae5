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

/// The source that answers nothing sends 1000 packets a second. SFB lets less than a tenth of them
/// through: its penalty alone would be ten, but p falls below 1 where its bins run empty. RED lets
/// more than half through.
#[test]
fn a_flow_that_does_not_answer_is_pressed() {
    let text = shipped("sfb");
    let passes = |text: &str| goodput(&simulate(text), 1) / 8000.0;
    let (sfb, red) = (passes(&text), passes(&text.replace("\"sfb\"", "\"red\"")));
    assert!((10.0..100.0).contains(&sfb) && red > 500.0, "{sfb} {red}");
}

/// Of four flows one sends two thirds of the link and answers nothing. AFD leaves it about a third;
/// a quarter would be fair. RED leaves it more than half.
#[test]
fn rates_are_nearly_fair_in_one_fifo() {
    let text = shipped("afd");
    let share = |text: &str| {
        let r = simulate(text);
        goodput(&r, 1) / (goodput(&r, 0) + goodput(&r, 1))
    };
    let red = text.replace("\"afd\"", "\"red\"").replace("shadow", "# shadow");
    let (afd, red) = (share(&text), share(&red));
    assert!((0.25..0.37).contains(&afd) && red > 0.5, "{afd} {red}");
}
