//! BBR and Prague in closed loop: what a correct one shows of itself at a bottleneck.

use crate::common::{column, good, metric, numbers};
use penstock_scenario::Scenario;
use penstock_sim::{run, Column, Handle, Record, RunResult};
use penstock_units::Duration;

/// The goodput of each group in bit/s.
fn goodputs(r: &RunResult) -> Vec<f64> {
    r.groups.iter().map(|g| g[0].expect("a goodput")).collect()
}

fn simulate(text: &str) -> RunResult {
    let s: Scenario = good(text);
    let config = s.lower(s.seed()).unwrap();
    let record = Record { series: Some(Duration::from_millis(10)), ..Record::default() };
    run(&penstock_sim::Config { record, ..config }, &Handle::default()).unwrap()
}

/// The states in the `model` series: time, flow, word.
fn states(r: &RunResult) -> Vec<(f64, u64, &'static str)> {
    let (t, flow) = (numbers(r, "model", "t_s"), numbers(r, "model", "flow"));
    let Column::Word(codes, words) = column(r, "model", "state") else { panic!("no words") };
    (0..t.len()).map(|i| (t[i], flow[i] as u64, words[usize::from(codes[i])])).collect()
}

/// Packets of 1488 B that are under way at 10 Mbit/s in 40 ms.
const BDP: f64 = 33.6;

/// 10 Mbit/s, 40 ms, with a buffer in packets.
fn line(buffer: u32, rest: &str) -> String {
    format!(
        "duration = \"60 s\"\nmeasure = {{ from = \"10 s\" }}\n[topology]\nkind = \"dumbbell\"\n\
         bottleneck = {{ rate = \"10 Mbit/s\", delay = \"20 ms\", buffer = \"{buffer} packets\" }}\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"0 ms\" }}\n{rest}"
    )
}

fn flows(n: u32, tcp: &str, more: &str) -> String {
    format!(
        "[[traffic]]\nkind = \"ftp\"\nflows = {n}\ntcp = \"{tcp}\"\nsegment = \"1448 B\"\n\
         initial_window = 10\nwindow = 20000\n{more}"
    )
}

/// From half a product of buffer on: nothing is lost, the link is busy but for PROBE_RTT, and what
/// stands in the queue are the three bursts of two that a window allows, and a quarter of a product
/// for one round trip in eight.
#[test]
fn one_flow_keeps_the_queue_short() {
    for buffer in [17, 34, 400] {
        let r = simulate(&line(buffer, &flows(1, "bbr", "")));
        assert!(metric(&r, "utilization") >= 0.97, "{buffer}: {}", metric(&r, "utilization"));
        assert!(metric(&r, "queue_mean_pkts") < 6.0 + BDP / 32.0, "{buffer}");
        assert_eq!(metric(&r, "data_loss_ratio"), 0.0, "{buffer}");
        let probes: Vec<f64> =
            states(&r).iter().filter(|s| s.2 == "probe-rtt").map(|s| s.0).collect();
        let starts = 1 + probes.windows(2).filter(|w| w[1] - w[0] > 1.0).count();
        assert_eq!(starts, 5, "every ten seconds of sixty, but the first: {probes:?}");
    }
}

/// STARTUP fills at most 1.9 products besides the one under way; DRAIN empties that within two
/// round trips. The window's gain of version 3 is 2: one product.
#[test]
fn start_up_and_drain() {
    for (tcp, most) in [("bbr", 1.9), ("bbr3", 1.2)] {
        let r = simulate(&line(400, &flows(1, tcp, "")));
        let (t, q) = (numbers(&r, "queue", "t_s"), numbers(&r, "queue", "queue_pkts"));
        let peak = (0..t.len()).max_by(|a, b| q[*a].total_cmp(&q[*b])).unwrap();
        assert!(t[peak] < 1.0 && q[peak] <= (most + 0.2) * BDP, "{tcp}: {} {}", t[peak], q[peak]);
        let drains: Vec<f64> = states(&r).iter().filter(|s| s.2 == "drain").map(|s| s.0).collect();
        let (first, last) = (drains[0], drains[drains.len() - 1]);
        // While the queue stands a round trip takes the longer.
        assert!(last - first < 0.25, "{tcp}: DRAIN takes {}", last - first);
        let after = t.iter().position(|t| *t > last + 0.02).unwrap();
        assert!(q[after] <= 8.0, "{tcp}: {} after DRAIN", q[after]);
    }
}

/// Each believes in more than its share, so that the windows fill the queue: a product or more.
/// They measure the path's round trip together, and share fairly.
#[test]
fn several_flows_fill_a_deep_buffer_by_a_product() {
    for n in [2, 4] {
        let r =
            simulate(&line(400, &flows(n, "bbr", "start = { uniform = [\"0 s\", \"1 s\"] }\n")));
        let queue = metric(&r, "queue_mean_pkts");
        let bursts = 6.0 * f64::from(n);
        assert!((0.8 * BDP..1.6 * BDP + bursts).contains(&queue), "{n}: {queue}");
        assert_eq!(metric(&r, "data_loss_ratio"), 0.0);
        assert!(metric(&r, "jain") > 0.9, "{n}: {}", metric(&r, "jain"));
        assert!(metric(&r, "utilization") > 0.95);
        // From the second time on all are in PROBE_RTT at once.
        let probes = |from: f64, to: f64| {
            let mut who: Vec<u64> = states(&r)
                .iter()
                .filter(|s| s.2 == "probe-rtt" && (from..to).contains(&s.0))
                .map(|s| s.1)
                .collect();
            who.dedup();
            who.sort_unstable();
            who.dedup();
            who.len()
        };
        let times: Vec<f64> =
            states(&r).iter().filter(|s| s.2 == "probe-rtt" && s.0 > 25.0).map(|s| s.0).collect();
        assert_eq!(probes(times[0], times[0] + 1.0), n as usize, "{n}: they are not in step");
    }
}

/// In a shallow buffer version 1 takes nearly all, and CUBIC starves; in a deep one CUBIC fills it
/// and takes more. Version 3 leaves CUBIC more where the buffer is shallow.
#[test]
fn the_share_beside_cubic_falls_with_the_buffer() {
    let share = |tcp: &str, buffer: u32| {
        let both = flows(1, tcp, "") + &flows(1, "cubic", "recovery = \"rack\"\n");
        let r = simulate(&line(buffer, &both));
        let g = goodputs(&r);
        g[0] / (g[0] + g[1])
    };
    let v1 = [17, 34, 134, 538].map(|buffer| share("bbr", buffer));
    assert!(v1.is_sorted_by(|a, b| a >= b), "{v1:?}");
    assert!(v1[0] > 0.8 && v1[1] > 0.5 && v1[3] < 0.5, "{v1:?}");
    let v3 = share("bbr3", 17);
    assert!((0.5..v1[0] - 0.1).contains(&v3), "{v3}");
}

/// CoDel marks most of what a flow of version 1 sends, and is not heard.
#[test]
fn marks_do_not_move_it() {
    let codel = "[aqm]\nkind = \"codel\"\necn = true\n";
    let r = simulate(&line(400, &(codel.to_owned() + &flows(1, "bbr", "ecn = \"classic\"\n"))));
    assert!(metric(&r, "marks_ce") > 1000.0, "{}", metric(&r, "marks_ce"));
    assert!(metric(&r, "utilization") >= 0.97);
    assert!(metric(&r, "queue_mean_pkts") > 4.0);
}

/// Prague through a queue that marks at 1 ms of 40 Mbit/s: the queue stays there, the link busy.
#[test]
fn prague_holds_the_queue_at_the_threshold() {
    for (n, delay, busy) in
        [(1, "5 ms", 0.98), (4, "5 ms", 0.98), (1, "10 ms", 0.98), (4, "10 ms", 0.97)]
    {
        let r = simulate(&format!(
            "duration = \"30 s\"\nmeasure = {{ from = \"5 s\" }}\n[topology]\nkind = \"dumbbell\"\n\
             bottleneck = {{ rate = \"40 Mbit/s\", delay = \"{delay}\", buffer = \"1000 packets\" }}\n\
             access = {{ rate = \"1 Gbit/s\", delay = \"0 ms\" }}\n\
             [aqm]\nkind = \"step\"\nthreshold = \"5000 B\"\n{}",
            flows(n, "prague", "start = { uniform = [\"0 s\", \"0.1 s\"] }\n")
        ));
        assert!(metric(&r, "utilization") > busy, "{n} {delay}: {}", metric(&r, "utilization"));
        assert!(metric(&r, "delay_p99_s") < 3e-3, "{n} {delay}: {}", metric(&r, "delay_p99_s"));
        assert!(metric(&r, "jain") > 0.98);
        // At most one cut in 25 ms.
        let cuts = r.groups[0]
            [penstock_sim::GROUP_METRICS.iter().position(|m| m.name == "ecn_cuts").unwrap()];
        let most = 25.0 / 25e-3 * f64::from(n);
        assert!(cuts.is_some_and(|cuts| (0.1 * most..=most).contains(&cuts)), "{cuts:?}");
        assert_eq!(metric(&r, "data_loss_ratio"), 0.0);
    }
}

/// Below 25 ms the round trip does not count; above, twice the time is half the rate. The queue
/// marks at random, so that both flows see the same fraction.
#[test]
fn pragues_round_trips_count_little() {
    for (short, long, ratio) in [(2.5, 10.0, 1.0), (12.5, 25.0, 2.0)] {
        let of = |delay: f64| {
            let access = format!("access_delay = \"{} ms\"\n", delay - 1.0);
            flows(1, "prague", &access)
        };
        let r = simulate(&format!(
            "duration = \"60 s\"\nmeasure = {{ from = \"20 s\" }}\n[topology]\nkind = \"dumbbell\"\n\
             bottleneck = {{ rate = \"40 Mbit/s\", delay = \"1 ms\", buffer = \"1000 packets\" }}\n\
             access = {{ rate = \"1 Gbit/s\", delay = \"0 ms\" }}\n\
             [aqm]\nkind = \"red\"\necn = true\nw_q = 1.0\nmin_th = 1\nmax_th = 100\nmax_p = 1.0\n{}{}",
            of(short),
            of(long)
        ));
        let g = goodputs(&r);
        assert!((g[0] / g[1] / ratio - 1.0).abs() < 0.15, "{short} {long}: {}", g[0] / g[1]);
    }
}

/// A run none of whose controls has a model has no such table.
#[test]
fn only_models_are_recorded() {
    let r = simulate(&line(34, &flows(1, "reno", "")));
    assert!(r.series.iter().all(|t| t.name != "model"));
    let r = simulate(&line(34, &(flows(1, "reno", "") + &flows(1, "bbr", ""))));
    assert!(numbers(&r, "model", "flow").iter().all(|flow| *flow == 1.0));
    let bandwidth = numbers(&r, "model", "bandwidth_bps");
    // 10 Mbit/s less headers.
    assert!(bandwidth.iter().all(|b| *b < 1.1 * 10e6 * 1448.0 / 1488.0));
    assert!(numbers(&r, "model", "alpha").iter().all(|a| a.is_nan()));
}
