//! Runs against results that are known without simulating: queueing theory, conservation,
//! arithmetic.

use crate::common::metric;
use penstock_scenario::Scenario;
use penstock_sim::{run, Handle, RunResult};

fn simulate(text: &str, seed: u64) -> RunResult {
    let scenario =
        Scenario::from_toml(text, "theory.toml").unwrap_or_else(|e| panic!("{e}\n{text}"));
    run(&scenario.lower(seed).expect("a small run"), &Handle::default()).expect("a run")
}

/// Mean over seeds, and the half-width of its 99.9 % interval (normal).
fn over_seeds(text: &str, name: &str, seeds: u64) -> (f64, f64) {
    let x: Vec<f64> = (1..=seeds).map(|s| metric(&simulate(text, s), name)).collect();
    let n = seeds as f64;
    let mean = x.iter().sum::<f64>() / n;
    let var = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
    (mean, 3.3 * (var / n).sqrt())
}

#[track_caller]
fn near(got: f64, want: f64, relative: f64) {
    assert!((got - want).abs() <= relative * want.abs(), "{got}, should be {want}");
}

/// M/D/1: rho^2 / (2 (1 − rho)) packets wait: 0.25 at load 0.5, 1.6 at 0.8. 8 Mbit/s of 1000 B: a
/// packet takes 1 ms, and by Little the mean delay is rho / (2 (1 − rho)) ms.
#[test]
fn poisson_arrivals_wait_as_in_m_d_1() {
    for (load, want) in [(0.5f64, 0.25), (0.8, 1.6)] {
        let text = format!(
            "duration = \"61 s\"\nmeasure = {{ from = \"1 s\" }}\n[topology]\n\
             bottleneck = {{ rate = \"8 Mbit/s\", delay = \"10 ms\", buffer = 1000 }}\n\
             [[traffic]]\nkind = \"poisson\"\nrate = \"{} kbit/s\"\npacket = \"1000 B\"\n",
            8000.0 * load
        );
        let (queue, half) = over_seeds(&text, "queue_mean_pkts", 12);
        assert!(
            (queue - want).abs() < half && half < 0.1 * want,
            "load {load}: {queue} ± {half}, should be {want}"
        );
        let (delay, half) = over_seeds(&text, "delay_mean_s", 12);
        let want = load / (2.0 * (1.0 - load)) * 1e-3;
        assert!((delay - want).abs() < half, "load {load}: {delay} ± {half}, should be {want}");
        let (busy, half) = over_seeds(&text, "utilization", 12);
        assert!((busy - load).abs() < half + 1e-4, "load {load}: {busy} ± {half}");
    }
}

/// A window of w segments, never lost: w segments a round trip. RTT: 2 · 50 ms, and 1040 B and 40 B
/// at 10 Mbit/s: 0.864 ms.
#[test]
fn a_window_a_round_trip() {
    for (window, delayed) in [(1, false), (4, false), (20, false), (20, true)] {
        let text = format!(
            "duration = \"61 s\"\nmeasure = {{ from = \"11 s\" }}\n[topology]\n\
             bottleneck = {{ rate = \"10 Mbit/s\", delay = \"50 ms\", buffer = 100 }}\n\
             [[traffic]]\nkind = \"ftp\"\nwindow = {window}\ndelayed_ack = {delayed}\n"
        );
        let r = simulate(&text, 1);
        let rtt = 0.1 + (1040.0 + 40.0) * 8.0 / 10e6;
        // A delayed ACK waits for the second segment, 0.832 ms later, if it is on its way.
        near(
            metric(&r, "goodput_bps"),
            f64::from(window) * 8000.0 / rtt,
            if delayed { 0.02 } else { 0.003 },
        );
        assert_eq!((metric(&r, "drops_overflow"), metric(&r, "loss_ratio")), (0.0, 0.0));
    }
}

/// Datagrams at `load` times the rate: what does not fit is dropped, 1 − 1/load of them, and the
/// link is full.
#[test]
fn overload_drops_the_excess() {
    for load in [1.25, 2.0, 5.0] {
        let text = format!(
            "duration = \"20 s\"\nmeasure = {{ from = \"10 s\" }}\n[topology]\n\
             bottleneck = {{ rate = \"1 Mbit/s\", delay = \"10 ms\", buffer = 20 }}\n\
             [[traffic]]\nkind = \"cbr\"\nrate = \"{load} Mbit/s\"\npacket = \"500 B\"\njitter = 0.5\n"
        );
        let r = simulate(&text, 1);
        near(metric(&r, "loss_ratio"), 1.0 - 1.0 / load, 0.02);
        near(metric(&r, "utilization"), 1.0, 1e-3);
        assert_eq!(metric(&r, "queue_p99_pkts"), 20.0);
    }
}

/// The rate goes 1, 4, 0, 2 Mbit/s, ten seconds each; an overloaded link sends the integral: 70
/// Mbit, of which the window of 5 … 35 s sees 5 + 40 + 0 + 10 = 55.
#[test]
fn a_schedule_sends_its_integral() {
    let text = "duration = \"40 s\"\nmeasure = { from = \"5 s\", to = \"35 s\" }\n[topology]\n\
        bottleneck = { rate = \"1 Mbit/s\", delay = \"10 ms\", buffer = 50, schedule = [\
        { at = \"10 s\", rate = \"4 Mbit/s\" }, { at = \"20 s\", rate = \"0 bit/s\" }, { at = \"30 s\", rate = \"2 Mbit/s\" }] }\n\
        [[traffic]]\nkind = \"cbr\"\nrate = \"8 Mbit/s\"\npacket = \"1000 B\"\n";
    let r = simulate(text, 1);
    // Within a packet at either end of the window.
    near(metric(&r, "throughput_bps") * 30.0, 55e6, 2.0 * 8000.0 / 55e6);
    near(metric(&r, "utilization"), 1.0, 2.0 * 8000.0 / 55e6);
}

/// Random loss behind the queue: datagrams that arrive are (1 − p) of those that left, within 4
/// standard errors.
#[test]
fn random_loss_is_the_one_asked_for() {
    for p in [0.01, 0.1, 0.5] {
        let text = format!(
            "duration = \"100 s\"\n[topology]\nbottleneck = {{ rate = \"10 Mbit/s\", delay = \"1 ms\", loss = {p} }}\n\
             [[traffic]]\nkind = \"poisson\"\nrate = \"5 Mbit/s\"\npacket = \"1000 B\"\n"
        );
        let r = simulate(&text, 3);
        let lost = 1.0 - metric(&r, "udp_goodput_bps") / metric(&r, "throughput_bps");
        let n = metric(&r, "departures");
        assert!(
            (lost - p).abs() < 4.0 * (p * (1.0 - p) / n).sqrt() + 1.0 / n,
            "{lost}, should be {p}"
        );
        assert_eq!(metric(&r, "loss_ratio"), 0.0, "the queue drops nothing");
    }
}

/// RED over a pinned average: double max_p, more signals; and every signal is a mark where all may
/// be marked.
#[test]
fn relations_of_red() {
    let signals = |max_p: f64, ecn: bool| {
        let text = format!(
            "duration = \"60 s\"\nmeasure = {{ from = \"10 s\" }}\n[topology]\n\
             bottleneck = {{ rate = \"5 Mbit/s\", delay = \"20 ms\", buffer = 200 }}\n\
             [aqm]\nkind = \"red\"\nmin_th = 5\nmax_th = 50\nmax_p = {max_p}\necn = {ecn}\n\
             [[traffic]]\nkind = \"ftp\"\nflows = 8\necn = \"classic\"\ntcp = \"newreno\"\n"
        );
        let r = simulate(&text, 1);
        (metric(&r, "marks_ce"), metric(&r, "drops_early"), metric(&r, "avg_queue_mean_pkts"))
    };
    let (low, high) = (signals(0.02, true), signals(0.2, true));
    assert!(
        low.0 > 0.0 && high.2 < low.2,
        "a steeper ramp keeps a shorter queue: {low:?} {high:?}"
    );
    assert!(
        signals(0.1, false).0 == 0.0 && signals(0.1, false).1 > 0.0,
        "without ecn the queue drops"
    );
    // Retransmissions, SYNs and ACKs alone are not ECT: next to nothing is dropped.
    assert!(high.1 <= 0.02 * high.0, "{high:?}");
}

/// A packet each millisecond, sent at once: the window from 10 ms to 20 ms, its end excluded, holds
/// ten.
#[test]
fn the_measured_window_is_half_open() {
    let text = "duration = \"30 ms\"\nmeasure = { from = \"10 ms\", to = \"20 ms\" }\n[topology]\n\
        bottleneck = { rate = \"100 Mbit/s\", delay = \"1 ms\" }\n\
        [[traffic]]\nkind = \"cbr\"\nrate = \"8 Mbit/s\"\npacket = \"1000 B\"\n";
    let r = simulate(text, 1);
    assert_eq!((metric(&r, "arrivals"), metric(&r, "departures")), (10.0, 10.0));
    near(metric(&r, "throughput_bps"), 8e6, 1e-12);
}

/// A dumbbell whose buffer holds 1.5 s, and these entries of `[[traffic]]`.
fn deep(traffic: &str) -> RunResult {
    let text = format!(
        "duration = \"120 s\"\nmeasure = {{ from = \"60 s\" }}\n[topology]\n\
         bottleneck = {{ rate = \"8 Mbit/s\", delay = \"20 ms\", buffer = 1500 }}\n{traffic}"
    );
    simulate(&text, 1)
}

/// LEDBAT alone: its own queue settles at the target, to within two packets of 1.04 ms, and the link
/// stays full. RFC 7928's gain of 10 overshoots, so that the link is idle at times.
#[test]
fn ledbat_keeps_its_target() {
    for (target, gain, busy) in [(100, 1, 0.999), (25, 1, 0.999), (5, 10, 0.95)] {
        let r = deep(&format!(
            "[[traffic]]\nkind = \"ftp\"\ntcp = \"ledbat\"\nledbat_target = \"{target} ms\"\n\
             ledbat_gain = {gain}\nwindow = 5000\n"
        ));
        let (delay, want) = (metric(&r, "delay_mean_s"), f64::from(target) * 1e-3);
        assert!((delay - want).abs() < 0.0021, "{delay} s at a target of {want} s");
        let utilization = metric(&r, "utilization");
        assert!(utilization > busy, "{utilization} at {want} s");
        assert_eq!(metric(&r, "loss_ratio"), 0.0);
    }
}

/// Beside Reno, whose queue is far above the target, LEDBAT falls to its least window: two segments
/// in a round trip of half a second and more, of a link that carries five hundred. It comes first,
/// since a latecomer takes the queue that it finds for the path.
#[test]
fn ledbat_yields_to_reno() {
    let r = deep(
        "[[traffic]]\nkind = \"ftp\"\nwindow = 5000\nstart = \"10 s\"\n\
         [[traffic]]\nkind = \"ftp\"\ntcp = \"ledbat\"\nwindow = 5000\n",
    );
    let goodput = |group: usize| r.groups[group][0].expect("a goodput");
    let share = goodput(1) / (goodput(0) + goodput(1));
    assert!(share < 0.01, "LEDBAT has {share} of the link");
    assert!(share > 0.0, "but is not silent");
    assert!(metric(&r, "utilization") > 0.99);
}

/// One CUBIC flow from ten segments on through DropTail of one bandwidth-delay product, for the
/// first 20 round trips.
fn first_seconds(rate: u64, rtt: u64, hystart: &str) -> RunResult {
    let buffer = rate * rtt * 1000 / 8 / 1040;
    let text = format!(
        "duration = \"{} ms\"\n[topology]\n\
         bottleneck = {{ rate = \"{rate} Mbit/s\", delay = \"{} us\", buffer = {buffer} }}\n\
         [[traffic]]\nkind = \"ftp\"\ntcp = \"cubic\"\nhystart = \"{hystart}\"\n\
         initial_window = 10\nwindow = 50000\n",
        20 * rtt,
        (rtt * 1000 - 400) / 2
    );
    simulate(&text, 1)
}

/// Slow start doubles the window until a buffer of one bandwidth-delay product overflows, and loses
/// about as much. Linux's HyStart leaves by the train of ACKs, and loses nothing. HyStart++ waits for
/// a round whose least round trip has grown: unpaced, that is known a round later than the queue has
/// begun, so that it loses less, but not nothing.
#[test]
fn hystart_leaves_before_the_buffer_overflows() {
    for (rate, rtt) in [(10, 40), (10, 100), (100, 40), (100, 100)] {
        let of = |hystart| metric(&first_seconds(rate, rtt, hystart), "drops_overflow");
        let (off, linux, plus) = (of("off"), of("linux"), of("rfc9406"));
        let bdp = (rate * rtt * 1000 / 8 / 1040) as f64;
        assert!(off > bdp, "{rate} Mbit/s, {rtt} ms: {off} lost of {bdp} without");
        assert_eq!(linux, 0.0, "{rate} Mbit/s, {rtt} ms");
        assert!(plus < 0.9 * off, "{rate} Mbit/s, {rtt} ms: {plus} of {off}");
    }
}

/// Some congestion from 2.5 ms to 5 ms of queue, by a ramp over the queue itself: a flow alone holds
/// the queue within it, the link stays full, and nothing is marked CE or lost.
#[test]
fn some_congestion_holds_a_short_queue() {
    for tcp in ["sack", "cubic", "dctcp"] {
        let r = simulate(
            &format!(
                "duration = \"60 s\"\nmeasure = {{ from = \"20 s\" }}\n[topology]\n\
                 bottleneck = {{ rate = \"50 Mbit/s\", delay = \"10 ms\", buffer = 1000 }}\n\
                 [aqm]\nkind = \"mecn\"\nmin_th = 15\nmax_th = 30\nmid_th = 30\nw_q = 1\n\
                 p1_max = 1\nabove_max = \"gentle-mark\"\n\
                 [[traffic]]\nkind = \"ftp\"\ntcp = \"{tcp}\"\necn = \"sce\"\nwindow = 5000\n"
            ),
            1,
        );
        let (busy, delay) = (metric(&r, "utilization"), metric(&r, "delay_mean_s"));
        assert!(busy > 0.95, "{tcp}: {busy}");
        assert!((0.001..0.006).contains(&delay), "{tcp}: {delay} s");
        assert_eq!((metric(&r, "marks_ce"), metric(&r, "loss_ratio")), (0.0, 0.0), "{tcp}");
    }
}
