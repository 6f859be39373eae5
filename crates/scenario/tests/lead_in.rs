//! The lead-in, which ends when all of its flows are in congestion avoidance, and rates that take
//! turns.

use crate::common::{column, good, metric, numbers};
use penstock_scenario::Scenario;
use penstock_sim::{run, Column, Handle, Record, RunResult};
use penstock_units::Duration;

fn simulate(s: &Scenario) -> RunResult {
    let config = s.lower(s.seed()).unwrap();
    let record =
        Record { series: Some(Duration::from_millis(10)), events: true, ..Record::default() };
    run(&penstock_sim::Config { record, ..config }, &Handle::default()).unwrap()
}

const LINK: &str = r#"
duration = "5 s"
[topology]
kind = "dumbbell"
bottleneck = { rate = "2 Mbit/s", delay = "20 ms", buffer = "20 packets" }
access = { rate = "10 Mbit/s", delay = "5 ms" }
"#;

fn led(more: &str) -> Scenario {
    good(&format!(
        "{LINK}{more}[[traffic]]\nkind = \"ftp\"\nflows = 3\nlead_in = \"60 s\"\n\
         start = {{ uniform = [\"0 s\", \"1 s\"] }}\n\
         [[traffic]]\nkind = \"cbr\"\nrate = \"100 kbit/s\"\nstart = \"2 s\"\n"
    ))
}

/// At time zero each flow has left slow start once, and 10 ms before not all of them had.
#[test]
fn time_zero_is_when_all_are_in_congestion_avoidance() {
    let r = simulate(&led(""));
    let zero = r.lead_in.unwrap().as_secs_f64();
    assert!(zero > 1.0, "{zero}");
    let (t, flow) = (numbers(&r, "cwnd", "t_s"), numbers(&r, "cwnd", "flow"));
    let cwnd = numbers(&r, "cwnd", "cwnd_segments");
    let ssthresh = numbers(&r, "cwnd", "ssthresh_segments");
    let left = |until: f64| {
        (0..3).all(|f| {
            let mut rows = 0..t.len();
            rows.any(|i| flow[i] == f as f64 && t[i] < until && cwnd[i] >= ssthresh[i])
        })
    };
    assert!(left(zero + 0.005) && !left(zero - 0.005), "{zero}");
}

/// Other flows, the measured window and the end of the run count from time zero.
#[test]
fn other_times_count_from_time_zero() {
    let r = simulate(&led("[measure]\nfrom = \"1 s\"\n"));
    let zero = r.lead_in.unwrap().as_secs_f64();
    let (t, flow) = (numbers(&r, "events", "t_ns"), numbers(&r, "events", "flow"));
    let first = (0..t.len()).find(|i| flow[*i] == 3.0).unwrap();
    // 80 ms lie between two packets; the first leaves at once, and takes 5.8 ms to the queue.
    assert!((t[first] / 1e9 - zero - 2.0058).abs() < 1e-9, "{} {zero}", t[first]);
    let last = t.iter().copied().fold(0.0, f64::max) / 1e9;
    assert!(last > zero + 4.9 && last < zero + 5.0, "{last} {zero}");
    // The window is the 4 s before the end.
    let bytes = numbers(&r, "events", "bytes");
    let Column::Word(codes, words) = column(&r, "events", "event") else { panic!("words") };
    let inside = |i: &usize| (zero + 1.0..zero + 5.0).contains(&(t[*i] / 1e9));
    let sent = (0..t.len()).filter(|i| words[usize::from(codes[*i])] == "dequeue").filter(inside);
    let sent: f64 = sent.map(|i| bytes[i]).sum();
    assert_eq!(metric(&r, "throughput_bps"), sent * 8.0 / 4.0);
}

/// The beginning of the whole run is the lead-in that was tried by itself: without the other
/// traffic it takes as long.
#[test]
fn it_takes_as_long_whatever_comes_later() {
    let with = simulate(&led("[aqm]\nkind = \"red\"\n"));
    let text = format!(
        "{LINK}[aqm]\nkind = \"red\"\n[[traffic]]\nkind = \"ftp\"\nflows = 3\nlead_in = \"60 s\"\n\
         start = {{ uniform = [\"0 s\", \"1 s\"] }}\n"
    );
    assert_eq!(with.lead_in, simulate(&good(&text)).lead_in);
    assert_eq!(with, simulate(&led("[aqm]\nkind = \"red\"\n")));
}

/// A window of two segments never fills this link: the flow stays in slow start.
#[test]
fn it_ends_at_its_limit() {
    let text = format!("{LINK}[[traffic]]\nkind = \"ftp\"\nlead_in = \"3 s\"\nwindow = 2\n");
    assert_eq!(simulate(&good(&text)).lead_in, Some(Duration::from_secs(3)));
}

/// 1 and 3 Mbit/s take turns of a second, from 1 on: over 5 s on average 9/5.
#[test]
fn rates_take_turns() {
    let text = LINK.replace(
        "buffer = \"20 packets\"",
        "buffer = \"20 packets\", schedule = { cycle = [\"1 Mbit/s\", \"3 Mbit/s\"], every = \"1 s\" }",
    );
    let text = format!("{text}[[traffic]]\nkind = \"cbr\"\nrate = \"8 Mbit/s\"\n");
    let r = simulate(&good(&text));
    assert!((metric(&r, "throughput_bps") - 1.8e6).abs() < 1e4);
    assert!((metric(&r, "utilization") - 1.0).abs() < 0.01);
}
