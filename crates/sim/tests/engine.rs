//! The engine by itself, on configurations made by hand.

use penstock_aqm::{kind, Context, COMMON};
use penstock_sim::{
    run, App, AqmConfig, Column, Config, Early, FlowConfig, Handle, HostConfig, LinkConfig, Record,
    RunResult, Schedule, Table, Tap, UdpPattern, METRICS,
};
use penstock_tcp::{PaceKeys, Pacing, PacingParams, Recovery, TcpParams};
use penstock_units::param::{Loss, Profile, Value, Values};
use penstock_units::{Bytes, Duration, QueueLen, Rate, Time};
use std::sync::Arc;

/// 8 Mbit/s, so that a byte takes a microsecond, 10 ms of delay, and room for 20 packets.
fn link(name: &str, aqm: &str) -> LinkConfig {
    let kind = kind(aqm).expect("a kind");
    let tables: Vec<_> = kind.params.iter().copied().chain([COMMON]).collect();
    let mut values = Values::defaults(&tables, &kind.defaults, Profile::Rfc);
    values.set("unit", Value::Word("packets".into()));
    let rate = Rate::from_bps(8_000_000).expect("not zero");
    let (delay, buffer) = (Duration::from_millis(10), QueueLen::Packets(20.0));
    LinkConfig {
        name: name.into(),
        opposite: None,
        rate,
        delay,
        buffer,
        count_in_service: false,
        aqm: AqmConfig::Kind(kind.name),
        aqm_values: Arc::new(values),
        aqm_context: Context::new(rate, delay, buffer),
        loss: Loss::Bernoulli(0.0),
        bleach: false,
        jitter: None,
        schedule: Schedule::Steps(vec![]),
        framing: None,
        burst: None,
    }
}

/// Flows from one router to another over a link each way. The hosts are the routers themselves.
fn config(aqm: &str, duration: Duration, apps: Vec<App>) -> Config {
    let host = HostConfig { rate: None, delay: Duration::ZERO, buffer: None };
    let flow = |(i, app)| FlowConfig {
        group: 0,
        index: i,
        src: 2 * i,
        dst: 2 * i + 1,
        forward: 0,
        backward: 1,
        counts: true,
        open_loop: false,
        class: 0,
        app,
    };
    Config {
        seed: 1,
        duration,
        measure_from: Time::ZERO,
        measure_to: Time::ZERO + duration,
        links: vec![link("forward", aqm), link("back", "droptail")],
        bottleneck: 0,
        measure_links: false,
        calls: Default::default(),
        ties_by_scheduling: false,
        hosts: vec![host; 2 * apps.len()],
        routes: vec![vec![0], vec![1]],
        groups: 1,
        flows: (0..).zip(apps).map(flow).collect(),
        lead_in: None,
        record: Record {
            series: Some(Duration::from_millis(100)),
            events: true,
            groups: false,
            tally: false,
            pcap: None,
        },
    }
}

fn ftp(bytes: Option<u64>) -> App {
    let tcp = TcpParams { initial_window: 10, ..TcpParams::default() };
    App::Ftp { tcp: Arc::new(tcp), start: Time::ZERO, early: None, stop: None, bytes }
}

fn ran(c: &Config) -> RunResult {
    run(c, &Handle::default()).expect("a run")
}

fn metric(r: &RunResult, name: &str) -> Option<f64> {
    r.metrics[METRICS.iter().position(|m| m.name == name).expect("a metric")]
}

fn table<'a>(r: &'a RunResult, name: &str) -> &'a Table {
    r.series.iter().find(|t| t.name == name).expect("a series")
}

/// How often the series `events` says `word`.
fn said(r: &RunResult, word: &str) -> usize {
    let events = table(r, "events");
    let (_, column) = events.columns.iter().find(|(name, _)| name == "event").expect("a column");
    let Column::Word(codes, words) = column else { panic!("words") };
    codes.iter().filter(|code| words[usize::from(**code)] == word).count()
}

/// A SYN takes 40 us and 10 ms, and so does the SYN-ACK. Three segments of 1040 B follow at
/// 20.08 ms; the last has left at 23.2 ms and arrives at 33.2 ms. Its ACK of 40 B arrives at
/// 43.24 ms.
#[test]
fn a_transfer_takes_what_it_takes_by_hand() {
    let r = ran(&config("droptail", Duration::from_secs(1), vec![ftp(Some(3000))]));
    let fct = metric(&r, "fct_p50_s").expect("it ended");
    assert!((fct - 0.04324).abs() < 1e-9, "{fct}");
    // 3 segments and the SYN.
    assert_eq!((said(&r, "enqueue"), said(&r, "dequeue"), said(&r, "drop_overflow")), (4, 4, 0));
    assert_eq!(metric(&r, "goodput_bps"), Some(24_000.0));
}

/// A flow without end connects 50 ms before its start: SYN, SYN-ACK and a packet of 77 B. The window
/// of ten goes at 100 ms.
#[test]
fn a_flow_may_connect_before_it_starts() {
    let App::Ftp { tcp, .. } = ftp(None) else { panic!("ftp") };
    let start = Time::from_nanos(100_000_000);
    let early = Some(Box::new(Early { ahead: Duration::from_millis(50), bytes: 37 }));
    let app = App::Ftp { tcp, start, early, stop: None, bytes: None };
    let r = ran(&config("droptail", Duration::from_millis(101), vec![app]));
    let events = table(&r, "events");
    let times = events.columns.iter().find(|(name, _)| name == "t_ns");
    let Some((_, Column::U64(times))) = times else { panic!("times") };
    let mut at = times.clone();
    at.dedup();
    // The SYN, and a segment on the SYN-ACK; each leaves when it comes. Then the start.
    assert_eq!(at, [50_000_000, 70_080_000, 100_000_000]);
    assert_eq!(said(&r, "enqueue"), 12);
}

/// 1000 B come every 0.5 ms, and take a millisecond to send. Under DropTail 20 packets wait after
/// the last arrival; then the one of 1000 ms leaves, the 1001st.
#[test]
fn what_comes_in_goes_out_or_waits_or_is_dropped() {
    let source = App::Udp {
        rate: Rate::from_bps(16_000_000).expect("not zero"),
        packet: Bytes(1000),
        pattern: UdpPattern::Cbr,
        jitter: 0.0,
        start: Time::ZERO,
        stop: None,
    };
    for aqm in ["droptail", "red", "codel", "choke", "fq-codel"] {
        let r = ran(&config(aqm, Duration::from_secs(1), vec![source.clone()]));
        let let_in = said(&r, "enqueue");
        let refused: usize =
            ["drop_early", "drop_forced", "drop_overflow"].iter().map(|w| said(&r, w)).sum();
        let out = said(&r, "dequeue") + said(&r, "drop_head") + said(&r, "evict");
        assert_eq!(let_in + refused, 2000, "{aqm}");
        assert!((out..=out + 20).contains(&let_in), "{aqm}: {let_in} in, {out} out");
        if aqm == "droptail" {
            assert_eq!((out, let_in - out), (1001, 19));
        }
    }
}

#[test]
fn a_run_is_a_function_of_its_configuration() {
    let c = config("red", Duration::from_secs(5), vec![ftp(None), ftp(None)]);
    let first = ran(&c);
    assert!(said(&first, "drop_early") > 0, "there is chance in it");
    assert_eq!(first, ran(&c));
    let other = ran(&Config { seed: 2, ..c });
    assert_ne!(first.series, other.series);
}

/// A flow without end, held to `bps` and to a window of `window` segments of 1040 B.
fn paced(bps: Option<u64>, window: u32) -> App {
    let pacing = PacingParams { max_rate: bps.and_then(Rate::from_bps), ..PacingParams::default() };
    let tcp = TcpParams { initial_window: 10, pacing, window, ..TcpParams::default() };
    App::Ftp { tcp: Arc::new(tcp), start: Time::ZERO, early: None, stop: None, bytes: None }
}

/// The gaps between packets of `flow` that came to the link, in microseconds, from 100 ms on.
fn gaps(r: &RunResult, flow: u64) -> Vec<u64> {
    let events = table(r, "events");
    let column = |name: &str| &events.columns.iter().find(|c| c.0 == name).expect("a column").1;
    let Column::Word(codes, words) = column("event") else { panic!("words") };
    let (Column::U64(times), Column::U64(flows)) = (column("t_ns"), column("flow")) else {
        panic!("numbers");
    };
    let came = |i: &usize| words[usize::from(codes[*i])] == "enqueue" && flows[*i] == flow;
    let at: Vec<u64> = (0..times.len()).filter(came).map(|i| times[i] / 1000).collect();
    at.windows(2).filter(|w| w[0] >= 100_000).map(|w| w[1] - w[0]).collect()
}

/// 4 Mbit/s: a segment every 2.08 ms, also where another flow sends from the host. What that sends
/// does not wait for segments that may not leave yet.
#[test]
fn paced_segments_come_evenly() {
    let c = config("droptail", Duration::from_secs(1), vec![paced(Some(4_000_000), 1000)]);
    let alone = gaps(&ran(&c), 0);
    assert!(alone.len() > 400 && alone.iter().all(|gap| *gap == 2080), "{alone:?}");
    let apps = vec![paced(Some(4_000_000), 1000), paced(None, 1)];
    let mut c = config("droptail", Duration::from_secs(1), apps);
    c.flows[1].src = c.flows[0].src;
    let r = ran(&c);
    assert!(gaps(&r, 0).iter().all(|gap| *gap == 2080));
    // One segment a round trip: 21.08 ms, and what it waits at the link behind one of the others.
    let other = gaps(&r, 1);
    assert!(
        other.len() > 30 && other.iter().all(|gap| (20_000..22_200).contains(gap)),
        "{other:?}"
    );
}

/// Ten segments a round trip of 21.08 ms, in a burst or evenly: the same number of events. Where
/// the pace is what limits the flow, a timer comes in addition to the four events of a segment: at 3
/// Mbit/s 3606 of them in ten seconds.
#[test]
fn pacing_costs_no_event() {
    let events = |app: &App, seconds| {
        ran(&config("droptail", Duration::from_secs(seconds), vec![app.clone()])).events
    };
    let in_steady_state = |app: &App| events(app, 12) - events(app, 2);
    let bursts = in_steady_state(&paced(None, 10));
    assert_eq!(in_steady_state(&paced(Some(4_000_000), 10)), bursts);
    let slower = in_steady_state(&paced(Some(3_000_000), 1000));
    assert!(slower < 3606 * 5 + 30, "{slower}");
}

/// The same of the pace of the window, for each way of finding losses that keeps a record and for
/// one that keeps none.
#[test]
fn the_pace_of_the_window_costs_no_event() {
    let events = |recovery, pacing, seconds| {
        let keys = PaceKeys { pacing, ..PaceKeys::default() };
        let pacing = PacingParams { keys, ..PacingParams::default() };
        let p = TcpParams { recovery, pacing, window: 10, ..TcpParams::default() };
        let app =
            App::Ftp { tcp: Arc::new(p), start: Time::ZERO, early: None, stop: None, bytes: None };
        ran(&config("droptail", Duration::from_secs(seconds), vec![app])).events
    };
    for recovery in [Recovery::Sack, Recovery::Rack, Recovery::Quic] {
        let steady = |pacing| events(recovery, pacing, 12) - events(recovery, pacing, 2);
        let bursts = steady(Pacing::Off);
        assert!(bursts > 4 * 10 * 10_000 / 22, "{bursts}: four of each segment");
        assert_eq!(steady(Pacing::Fq), bursts, "{recovery:?}");
        // The first window takes turns. After that a run differs only in what is on its way at its end.
        for seconds in 1..30 {
            let [off, always] = [Pacing::Off, Pacing::Always].map(|p| events(recovery, p, seconds));
            assert!(
                (off..=off + 12).contains(&always),
                "{recovery:?} {seconds} s: {always}, {off}"
            );
        }
    }
}

/// What is worked out ahead of its time is what events make of it, as a capture needs them.
#[test]
fn paced_segments_are_the_same_with_events() {
    for (bps, window) in [(4_000_000, 10), (3_000_000, 1000), (7_900_000, 1000)] {
        let apps = vec![paced(Some(bps), window), paced(None, 30), paced(Some(1_000_000), 30)];
        let mut c = config("red", Duration::from_secs(5), apps);
        c.flows[2].src = c.flows[1].src;
        c.record = Record::default();
        let ahead = ran(&c);
        c.record.pcap = Some(Tap { link: 0, out: false });
        let mut one_by_one = ran(&c);
        one_by_one.pcap = None;
        assert_eq!(ahead, one_by_one, "{bps} bit/s");
    }
}
