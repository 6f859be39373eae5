//! What becomes of a load that answers no signal beside TCP: SFB drops it until its bins hold less
//! than the target, AFD gives it a flow's share, RED lets it have what it sends.

mod common;
use common::good;
use penstock_sim::{run, Handle, RunResult, GROUP_METRICS};

fn simulate(kind: &str) -> RunResult {
    let path = format!("{}/../../scenarios/unresponsive.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let s = good(&text.replace("kind = \"sfb\"", &format!("kind = \"{kind}\"")));
    run(&s.lower(s.seed()).unwrap(), &Handle::default()).unwrap()
}

/// The goodput of TCP and of the flood, in Mbit/s.
fn goodputs(kind: &str) -> [f64; 2] {
    let r = simulate(kind);
    let i = GROUP_METRICS.iter().position(|m| m.name == "goodput_bps").expect("declared");
    [0, 1].map(|group: usize| r.groups[group][i].expect("a goodput") / 1e6)
}

#[test]
fn the_flood_is_pressed_or_shared_with() {
    let seen = ["sfb", "afd", "red"].map(goodputs);
    println!("{seen:?}");
    let [sfb, afd, red] = seen;
    assert!(sfb[1] < 1.5 && sfb[0] > 8.0, "{sfb:?}");
    // A ninth of 10 Mbit/s is 1.11, and what TCP leaves is to be had.
    assert!((1.0..1.8).contains(&afd[1]) && afd[0] > 7.8, "{afd:?}");
    assert!(red[1] > 6.0, "{red:?}");
}
