//! Disciplines in closed loop, as their authors describe them.

use crate::common::{goodput, metric, shipped, simulate};
use penstock_sim::RunResult;

/// HULL gives up 5 to 15 % of the link, and waits are shorter than its threshold takes, 6 kB or 48 us
/// (the senders are not paced, so that some wait). With DCTCP's step the link is full, and its 20 kB
/// wait, 160 us.
#[test]
fn a_phantom_queue_trades_bandwidth_for_an_empty_queue() {
    let text = shipped("hull");
    let hull = simulate(&text);
    let step = simulate(&text.replace("\"phantom\"", "\"queue\"").replace("6 kB", "20 kB"));
    let numbers = |r: &RunResult| [metric(r, "utilization"), metric(r, "delay_mean_s")];
    let [[used, waited], [full, stood]] = [numbers(&hull), numbers(&step)];
    assert!((0.85..=0.951).contains(&used) && full > 0.99, "{used} {full}");
    assert!(waited < 48e-6 && (130e-6..190e-6).contains(&stood), "{waited} {stood}");
}

/// A short round trip, a long one and a source that answers nothing have a third of the link each.
/// Through DropTail the one that does not answer has what it sends, two thirds.
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

/// Of datagrams at the link's rate SFB lets in what keeps its bins below the target, AFD a flow's share,
/// RED what is sent. In Mbit/s: TCP, the flood.
#[test]
fn the_flood_is_pressed_or_shared_with() {
    let text = shipped("unresponsive");
    let seen = ["sfb", "afd", "red"].map(|kind| {
        let r = simulate(&text.replace("kind = \"sfb\"", &format!("kind = \"{kind}\"")));
        [0, 1].map(|group| goodput(&r, group) / 1e6)
    });
    println!("{seen:?}");
    let [sfb, afd, red] = seen;
    assert!(sfb[1] < 1.5 && sfb[0] > 8.0, "{sfb:?}");
    // A ninth of 10 Mbit/s is 1.11, and what TCP leaves is to be had.
    assert!((1.0..1.8).contains(&afd[1]) && afd[0] > 7.8, "{afd:?}");
    assert!(red[1] > 6.0, "{red:?}");
}
