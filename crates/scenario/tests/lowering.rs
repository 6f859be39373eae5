//! What the simulator gets.

use crate::common::{self, good, EXAMPLE, SMALL};
use penstock_aqm::{Common, QueueUnit};
use penstock_sim::{App, Pages, Schedule, UdpPattern};
use penstock_units::param::{Dist, Loss, Params as _, Profile, Value};
use penstock_units::{Bytes, Duration, QueueLen, Time};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn the_example() {
    let c = good(EXAMPLE).lower(7).unwrap();
    assert_eq!((c.seed, c.duration), (7, Duration::from_secs(100)));
    assert_eq!(
        (c.measure_from, c.measure_to),
        (Time::ZERO + Duration::from_secs(50), Time::ZERO + c.duration)
    );
    assert_eq!(
        c.links.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(),
        ["bottleneck", "bottleneck.reverse"]
    );
    assert_eq!((c.bottleneck, c.groups, c.routes), (0, 3, vec![vec![0], vec![1]]));
    let l = &c.links[0];
    assert_eq!(
        (l.aqm.name(), l.rate.as_bps(), l.delay, l.buffer),
        ("red", 1_500_000, ms(40), QueueLen::Packets(40.0))
    );
    let common = Common::read(&l.aqm_values);
    assert!(common.unit == Some(QueueUnit::Packets) && common.ecn && !l.count_in_service);
    let r = &c.links[1];
    assert_eq!((r.aqm.name(), r.rate, r.delay, r.buffer), ("droptail", l.rate, l.delay, l.buffer));
    // 2 ftp, 1 cbr, 20 sessions; a host pair each, but 10 pairs for the sessions.
    assert_eq!((c.flows.len(), c.hosts.len()), (23, 2 * (2 + 1 + 10)));
    assert!(c
        .flows
        .iter()
        .enumerate()
        .all(|(i, f)| f.counts == (i < 2) && f.forward == 0 && f.backward == 1));
    assert_eq!(
        c.flows.iter().map(|f| (f.group, f.index)).take(4).collect::<Vec<_>>(),
        [(0, 0), (0, 1), (1, 0), (2, 0)]
    );
    assert_eq!((c.flows[3].src, c.flows[13].src), (6, 6), "session 10 shares session 0's pair");
    for f in &c.flows {
        let (src, dst) = (&c.hosts[f.src as usize], &c.hosts[f.dst as usize]);
        assert_eq!(
            (src.delay, dst.delay, src.rate.unwrap().as_bps(), src.buffer),
            (ms(2), ms(4), 10_000_000, None)
        );
    }
    let App::Ftp { tcp, stop, bytes: None, .. } = &c.flows[0].app else {
        panic!("{:?}", c.flows[0].app)
    };
    assert_eq!(
        (tcp.window, tcp.header_bytes(), *stop),
        (25, 40, Some(Time::ZERO + Duration::from_secs(100)))
    );
    let App::Udp { rate, pattern: UdpPattern::Cbr, jitter: 0.0, .. } = &c.flows[2].app else {
        panic!()
    };
    assert_eq!(rate.as_bps(), 150_000);
    let App::Web { pages, .. } = &c.flows[3].app else { panic!() };
    let Pages { object: Dist::Pareto { shape, mean, max }, objects_per_page: 1, .. } = **pages
    else {
        panic!()
    };
    assert_eq!((shape, mean, max), (1.5, 12_000.0, Some(500_000.0)));
}

#[test]
fn starts_and_delays() {
    let text = SMALL.replace(
        "[[traffic]]",
        "[topology.access]\nrate = \"10 Mbit/s\"\ndelay = { spread = [\"2 ms\", \"27 ms\"] }\n[[traffic]]",
    );
    let c = good(&format!("{text}flows = 6\nstart = {{ every = \"0.1 s\", from = \"25 s\" }}\n"))
        .lower(1)
        .unwrap();
    for (i, f) in c.flows.iter().enumerate() {
        let App::Ftp { start, .. } = f.app else { panic!() };
        assert_eq!(start.as_nanos(), 25_000_000_000 + i as u64 * 100_000_000);
        let delays = [f.src, f.dst].map(|h| c.hosts[h as usize].delay);
        assert_eq!(delays, [ms(2 + 5 * i as u64); 2], "egress is as access");
    }
    let one = good(&text).lower(1).unwrap();
    assert_eq!(one.hosts[0].delay.as_nanos(), 14_500_000, "one flow gets the middle");
    let own = good(&format!("{text}access_delay = \"1 ms\"\n")).lower(1).unwrap();
    assert_eq!((own.hosts[0].delay, own.hosts[1].delay.as_nanos()), (ms(1), 14_500_000));
    // Back: the data come from the right, whose links are the egress.
    let back = good(&format!("{text}direction = \"reverse\"\naccess_delay = \"1 ms\"\n"))
        .lower(1)
        .unwrap();
    assert_eq!((back.hosts[0].delay.as_nanos(), back.hosts[1].delay), (14_500_000, ms(1)));
    assert_eq!(
        (back.flows[0].forward, back.flows[0].backward, back.flows[0].counts),
        (1, 0, false)
    );
}

#[test]
fn dice_are_the_groups_own() {
    let text = SMALL.replace(
        "[[traffic]]",
        "[topology.access]\nrate = \"10 Mbit/s\"\ndelay = { uniform = [\"40 ms\", \"60 ms\"] }\n[[traffic]]",
    );
    let group = "flows = 4\nstart = { uniform = [\"0 s\", \"1 s\"] }\n";
    let starts = |text: &str, seed| -> Vec<(u64, u64)> {
        let c = good(text).lower(seed).unwrap();
        let of = |f: &penstock_sim::FlowConfig| match f.app {
            App::Ftp { start, .. } => (start.as_nanos(), c.hosts[f.src as usize].delay.as_nanos()),
            _ => panic!(),
        };
        c.flows.iter().filter(|f| f.group == 0).map(of).collect()
    };
    let alone = starts(&format!("{text}{group}"), 1);
    assert!(
        alone.iter().all(|(s, d)| *s < 1_000_000_000 && (40_000_000..60_000_000).contains(d)),
        "{alone:?}"
    );
    assert_eq!(alone, starts(&format!("{text}{group}[[traffic]]\nkind = \"ftp\"\n{group}"), 1));
    assert_ne!(alone, starts(&format!("{text}{group}"), 2));
}

/// Flows that connect one after the other, and start together.
#[test]
fn a_group_connects_before_it_starts() {
    let group = "flows = 3\nconnect = { every = \"100 ms\", from = \"0 s\" }\nstart = \"300 ms\"\n";
    let c = good(&format!("{SMALL}{group}")).lower(1).unwrap();
    let of = |f: &penstock_sim::FlowConfig| match &f.app {
        App::Ftp { early: Some(early), .. } => early.ahead.as_secs_f64(),
        _ => panic!(),
    };
    let ahead: Vec<f64> = c.flows.iter().filter(|f| f.group == 0).map(of).collect();
    assert_eq!(ahead, [0.3, 0.2, 0.1]);
}

/// When each flow of a group starts, and how much it sends.
fn transfers(text: &str, seed: u64, group: u32) -> Vec<(f64, u64)> {
    let c = good(text).lower(seed).unwrap();
    let of = |f: &penstock_sim::FlowConfig| match f.app {
        App::Ftp { start, bytes: Some(bytes), .. } => (start.as_secs_f64(), bytes),
        _ => panic!(),
    };
    c.flows.iter().filter(|f| f.group == group).map(of).collect()
}

/// 10 s at 100 Mbit/s, load 0.5, sizes of 27.5 kB in the mean: 500 Mbit of payload, 2273 transfers,
/// give or take 48.
#[test]
fn transfers_arrive_by_load() {
    let text = "duration = \"10 s\"\n[topology]\n\
        bottleneck = { rate = \"100 Mbit/s\", reverse_rate = \"10 Mbit/s\", delay = \"1 ms\" }\n\
        access = { rate = \"1 Gbit/s\", delay = { spread = [\"1 ms\", \"2 ms\"] } }\n\
        [[traffic]]\nkind = \"ftp\"\nbytes = { empirical = [[\"10 kB\", 0.25], [\"30 kB\", 0.75], \
        [\"50 kB\", 0.75], [\"70 kB\", 1]] }\narrivals = { poisson = { load = 0.5 } }\n";
    let all = transfers(text, 1, 0);
    let n = all.len() as f64;
    assert!((n - 2273.0).abs() < 4.0 * 48.0, "{n}");
    let mean = all.iter().map(|(_, bytes)| *bytes as f64).sum::<f64>() / n;
    assert!((mean / 27_500.0 - 1.0).abs() < 0.05, "{mean}");
    assert!(all.windows(2).all(|pair| pair[0].0 < pair[1].0) && all[0].0 < 0.05);
    // A Poisson process: the variance of the gaps is the square of their mean.
    let gaps: Vec<f64> = all.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let gap = gaps.iter().sum::<f64>() / n;
    let spread = gaps.iter().map(|g| (g - gap).powi(2)).sum::<f64>() / n;
    assert!((spread / (gap * gap) - 1.0).abs() < 0.15, "{spread}");
    // Each seed has its own dice, and so has each group.
    assert_ne!(all, transfers(text, 2, 0));
    let beside = "[[traffic]]\nkind = \"ftp\"\nbytes = { exponential = \"5 kB\" }\n\
        direction = \"reverse\"\nstart = \"2 s\"\nstop = \"7 s\"\npairs = 3\n";
    let load = format!("{text}{beside}arrivals = {{ poisson = {{ load = 0.5 }} }}\n");
    assert_eq!(all, transfers(&load, 1, 0));
    // Backward the bottleneck has a tenth of the rate: 5 s × 125 /s.
    let back = transfers(&load, 1, 1);
    assert!((back.len() as f64 - 625.0).abs() < 4.0 * 25.0, "{}", back.len());
    assert!(back.iter().all(|(start, _)| (2.0..7.0).contains(start)));
    let c = good(&load).lower(1).unwrap();
    let stop = |f: &penstock_sim::FlowConfig| matches!(f.app, App::Ftp { stop: None, .. });
    assert!(c.flows.iter().all(stop), "what has begun goes on");
    let hosts = |group| -> std::collections::BTreeSet<u32> {
        c.flows.iter().filter(|f| f.group == group).map(|f| f.src).collect()
    };
    assert_eq!((hosts(0).len(), hosts(1).len()), (all.len(), 3));
    // Whoever comes late has no longer way.
    let delay = |f: &penstock_sim::FlowConfig| c.hosts[f.src as usize].delay.as_secs_f64();
    let first = c.flows[..1000].iter().map(delay).sum::<f64>() / 1000.0;
    assert!((first - 1.5e-3).abs() < 1e-4, "{first}");
    let rate = format!("{text}{beside}arrivals = {{ poisson = {{ rate = \"0.125 /ms\" }} }}\n");
    assert_eq!(back, transfers(&rate, 1, 1), "125 /s is what the load comes to");
    let resolved = good(&load).resolved();
    let again = penstock_scenario::Scenario::from_json(&resolved.to_string()).unwrap();
    assert_eq!(again.resolved(), resolved);
    let never =
        load.replace("0.5 } }", "1e-9 } }").replace("duration = \"10 s\"", "duration = \"8 s\"");
    let none = good(&never).lower(1).unwrap_err().to_string();
    assert!(none.contains("traffic.0.arrivals: no transfer begins in the run of seed 1"), "{none}");
}

#[test]
fn without_access_links_hosts_are_the_routers() {
    let c = good(SMALL).lower(1).unwrap();
    assert!(c.hosts.iter().all(|h| h.rate.is_none() && h.delay == Duration::ZERO));
}

#[test]
fn units_of_the_queue() {
    let with = |buffer: &str, aqm: &str| {
        let text =
            SMALL.replace("delay = \"40 ms\"", &format!("delay = \"40 ms\"\nbuffer = {buffer}"));
        good(&format!("{text}[aqm]\nkind = \"red\"\nmean_packet = \"500 B\"\n{aqm}"))
            .lower(1)
            .unwrap()
            .links
            .remove(0)
    };
    for (buffer, aqm, unit, held) in [
        ("40", "", QueueUnit::Packets, QueueLen::Packets(40.0)),
        ("\"30 kB\"", "", QueueUnit::Bytes, QueueLen::Bytes(30_000)),
        ("40", "min_th = \"3 kB\"", QueueUnit::Bytes, QueueLen::Bytes(20_000)),
        ("40", "unit = \"bytes\"", QueueUnit::Bytes, QueueLen::Bytes(20_000)),
    ] {
        let link = with(buffer, aqm);
        assert_eq!(
            (Common::read(&link.aqm_values).unit, link.buffer),
            (Some(unit), held),
            "{buffer} {aqm}"
        );
        assert_eq!(link.aqm_context.buffer, held);
    }
}

/// A variant's own defaults stand before the table's; what is written stands before both.
#[test]
fn variants_have_defaults_of_their_own() {
    use penstock_tcp::{Ecn, Recovery};
    for profile in ["rfc", "ns-2"] {
        for (lines, ecn, recovery) in [
            ("tcp = \"reno\"", Ecn::Off, Recovery::Reno),
            ("tcp = \"dctcp\"", Ecn::Classic, Recovery::Sack),
            ("tcp = \"dctcp\"\necn = \"accecn\"", Ecn::AccEcn, Recovery::Sack),
            ("tcp = \"westwood\"", Ecn::Off, Recovery::NewReno),
            ("tcp = \"westwood\"\nrecovery = \"sack\"", Ecn::Off, Recovery::Sack),
        ] {
            let c = good(&format!("profile = \"{profile}\"\n{SMALL}{lines}\n")).lower(1).unwrap();
            let App::Ftp { tcp, .. } = &c.flows[0].app else { panic!() };
            assert_eq!((tcp.ecn, tcp.recovery), (ecn, recovery), "{profile} {lines}");
        }
    }
}

#[test]
fn profile_ns2() {
    use penstock_tcp::ControlParams;
    let text = format!("profile = \"ns-2\"\n{SMALL}");
    let s = good(&format!("{text}[[traffic]]\nkind = \"ftp\"\ntcp = \"vegas\"\n[[traffic]]\nkind = \"ftp\"\ntcp = \"vegas\"\nheader = \"8 B\"\nwindow = 30\nalpha = 2\n"));
    let c = s.lower(1).unwrap();
    let tcp = |i: usize| match &c.flows[i].app {
        App::Ftp { tcp, .. } => tcp.clone(),
        _ => panic!(),
    };
    assert_eq!(
        (tcp(0).window, tcp(0).initial_ssthresh, tcp(0).header_bytes(), tcp(0).rtt.min_rto),
        (20, Some(20.0), 40, ms(200))
    );
    let vegas = |i: usize| match &tcp(i).control {
        ControlParams::Vegas(p) => p.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((tcp(1).header_bytes(), vegas(1).alpha, tcp(1).handshake), (0, 1.0, false));
    assert_eq!(
        (tcp(2).header_bytes(), vegas(2).alpha, vegas(2).beta, tcp(2).initial_ssthresh),
        (8, 2.0, 3.0, Some(30.0))
    );
    assert!(c.links.iter().all(|l| l.count_in_service), "DropTail holds limit - 1");
    let red = s.set("aqm.kind", "red").unwrap().lower(1).unwrap();
    let wait = Value::Word("wait".into());
    assert!(!red.links[0].count_in_service && red.links[0].aqm_values.get("gate") == Some(&wait));
    let own = s.set("aqm.count_in_service", "false").unwrap().lower(1).unwrap();
    assert!(!own.links[0].count_in_service && own.links[1].count_in_service);
    let rfc = good(SMALL).lower(1).unwrap();
    assert!(matches!(&rfc.flows[0].app, App::Ftp { tcp, .. } if tcp.initial_ssthresh.is_none()));
    let overhead = good(&format!("overhead = \"20 B\"\n{SMALL}")).lower(1).unwrap();
    assert!(matches!(&overhead.flows[0].app, App::Ftp { tcp, .. } if tcp.header_bytes() == 20));
}

/// A bundle, of which each key can be set by itself, and another profile brings back what it had.
#[test]
fn profile_linux() {
    use penstock_tcp::Recovery;
    let text = SMALL.replace("tcp = \"reno\"\n", "");
    let s = good(&format!("profile = \"linux\"\n{text}"));
    let tcp = |s: &penstock_scenario::Scenario| match &s.lower(1).unwrap().flows[0].app {
        App::Ftp { tcp, .. } => tcp.as_ref().clone(),
        _ => panic!(),
    };
    let linux = tcp(&s);
    let own = penstock_tcp::TcpParams::under(Profile::Linux, "cubic").unwrap();
    assert_eq!(linux, penstock_tcp::TcpParams { header: Some(Bytes(52)), ..own });
    assert_eq!((linux.variant().name, linux.initial_window, linux.window), ("cubic", 10, 11_586));
    assert_eq!((linux.rtt.min_rto, linux.rtt.max_rto), (ms(200), ms(120_000)));
    // Timestamps are 12 B of each header, whatever else the wire counts; `header` is all of it.
    for (keys, on, want) in [
        ("overhead = \"54 B\"", "true", 66),
        ("overhead = \"54 B\"", "false", 54),
        ("name = \"x\"", "false", 40),
    ] {
        let s = good(&format!("profile = \"linux\"\n{keys}\n{text}"));
        let p = tcp(&s.set("traffic.0.timestamps", on).unwrap());
        assert_eq!(p.header_bytes(), want, "{keys}, {on}");
    }
    let given = s.set("traffic.0.header", "60 B").unwrap();
    assert_eq!(tcp(&given).header_bytes(), 60);
    assert_eq!(linux.recovery, Recovery::Rack);
    let set = s.set_all(&[("traffic.0.tcp", "reno"), ("traffic.0.initial_window", "2")]).unwrap();
    assert_eq!((tcp(&set).variant().name, tcp(&set).initial_window), ("reno", 2));
    assert_eq!((tcp(&set).window, tcp(&set).recovery), (11_586, Recovery::Rack), "Linux's reno");
    let westwood = s.set("traffic.0.tcp", "westwood").unwrap();
    assert_eq!(tcp(&westwood).recovery, Recovery::Rack, "whatever the paper has");
    let old = set.set("traffic.0.recovery", "sack").unwrap();
    assert_eq!(tcp(&old).recovery, Recovery::Reno, "as without the profile");
    assert_eq!(tcp(&s.set("profile", "rfc").unwrap()), tcp(&good(&text)));
    let wrong = s.set("profile", "lynux").unwrap_err().to_string();
    assert!(wrong.contains("nearest: \"linux\""), "{wrong}");
}

#[test]
fn profile_quic() {
    use penstock_tcp::{Pacing, Recovery};
    let text = SMALL.replace("tcp = \"reno\"\n", "");
    let s = good(&format!("profile = \"quic\"\n{text}"));
    let tcp = |s: &penstock_scenario::Scenario| match &s.lower(1).unwrap().flows[0].app {
        App::Ftp { tcp, .. } => tcp.as_ref().clone(),
        _ => panic!(),
    };
    let quic = tcp(&s);
    let own = penstock_tcp::TcpParams::under(Profile::Quic, "cubic").unwrap();
    assert_eq!(quic, penstock_tcp::TcpParams { header: Some(Bytes(63)), ..own });
    assert_eq!((quic.variant().name, quic.recovery), ("cubic", Recovery::Quic));
    assert_eq!((quic.initial_window, quic.cwnd_floor), (10, 2.0));
    assert_eq!(quic.segment_bytes() + quic.header_bytes(), 1200 + 28, "a datagram of 1200 B");
    assert_eq!((quic.rtt.min_rto, quic.delayed_ack_timeout), (ms(0), ms(25)));
    assert_eq!(quic.pacing.keys.pacing, Pacing::Always);
    let set = |key: &str, value: &str| s.set(&format!("traffic.0.{key}"), value);
    for other in ["reno", "westwood", "dctcp"] {
        assert_eq!(tcp(&set("tcp", other).unwrap()).recovery, Recovery::Quic, "{other}");
    }
    assert_eq!(tcp(&set("tcp", "bbr").unwrap()).recovery, Recovery::Rack, "it needs that");
    assert_eq!(tcp(&set("pto_probes", "1").unwrap()).quic.pto_probes, 1);
    // What does not fit together.
    let message = |s: &penstock_scenario::Scenario, pairs: &[(&str, &str)]| {
        s.set_all(pairs).unwrap_err().to_string()
    };
    for (pairs, words) in [
        (vec![("traffic.0.tcp", "bbr"), ("traffic.0.recovery", "quic")], "must be \"rack\""),
        (vec![("traffic.0.pacing", "off"), ("traffic.0.pacing_gain", "2")], "pacing_gain"),
        (vec![("traffic.0.tcp", "prague"), ("traffic.0.pacing_gain", "2")], "a pace of its own"),
        (vec![("traffic.0.window_start", "2000")], "must not be above window"),
        (vec![("traffic.0.send_buffer", "100 B")], "must not be below segment"),
        (vec![("traffic.0.send_buffer", "4 MiB")], "must be left out with recovery"),
        (vec![("traffic.0.min_tso_segments", "2")], "must be 0 unless recovery is \"rack\""),
        (vec![("traffic.0.tcp", "tahoe"), ("traffic.0.pto_probes", "3")], "pto_probes"),
    ] {
        let text = message(&s, &pairs);
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(tcp(&s.set("profile", "rfc").unwrap()), tcp(&good(&text)));
}

#[test]
fn a_parking_lot() {
    let text = r#"duration = "10 s"
[topology]
kind = "parking-lot"
hops = 3
link = { rate = "10 Mbit/s", delay = "2 ms", buffer = 300 }
cross_flows = 20
access = { rate = "10 Mbit/s", delay = "2 ms" }
[aqm]
kind = "ared"
[[traffic]]
kind = "ftp"
flows = 20
from = "R0"
[[traffic]]
kind = "ftp"
flows = 5
from = "R1"
[[traffic]]
kind = "ftp"
direction = "reverse"
"#;
    let s = good(text);
    let c = s.lower(1).unwrap();
    assert_eq!(
        c.links.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(),
        ["R0-R1", "R1-R0", "R1-R2", "R2-R1", "R2-R3", "R3-R2"]
    );
    assert!(c.links.iter().enumerate().all(|(i, l)| l.aqm.name() == ["ared", "droptail"][i % 2]));
    assert_eq!(
        (c.links[c.bottleneck].name.as_str(), c.groups, c.flows.len()),
        ("R0-R1", 4, 20 + 5 + 1 + 60)
    );
    assert_eq!(s.group_names(), ["ftp", "ftp", "ftp", "cross"]);
    let route = |i: usize| {
        (
            c.routes[c.flows[i].forward as usize].clone(),
            c.routes[c.flows[i].backward as usize].clone(),
        )
    };
    assert_eq!(route(0), (vec![0, 2, 4], vec![5, 3, 1]));
    assert_eq!(route(20), (vec![2, 4], vec![5, 3]));
    assert_eq!(route(25), (vec![5, 3, 1], vec![0, 2, 4]));
    assert_eq!(
        (route(26), route(46), route(85)),
        ((vec![0], vec![1]), (vec![2], vec![3]), (vec![4], vec![5]))
    );
    assert_eq!(
        (c.flows[26].index, c.flows[85].index, c.flows[85].group, c.flows[85].counts),
        (0, 59, 3, true)
    );
    let none =
        common::message(&text.replace("kind = \"ftp\"", "kind = \"cbr\"\nrate = \"1 Mbit/s\""));
    assert!(
        none.contains(
            "load.toml:6: topology.cross_flows = 20: needs a [[traffic]] of kind \"ftp\""
        ),
        "{none}"
    );
}

#[test]
fn schedule_and_loss() {
    let text = SMALL.replace("delay = \"40 ms\"", "delay = \"40 ms\"\nloss = 0.01\nschedule = [{ at = \"1 s\", rate = \"1 Mbit/s\" }, { at = \"2 s\", rate = \"0 bit/s\" }]");
    let c = good(&text).lower(1).unwrap();
    let Schedule::Steps(steps) = &c.links[0].schedule else { panic!() };
    let steps: Vec<_> = steps.iter().map(|(t, r)| (t.as_nanos(), r.map(|r| r.as_bps()))).collect();
    assert_eq!(steps, [(1_000_000_000, Some(1_000_000)), (2_000_000_000, None)]);
    assert_eq!((c.links[0].loss, c.links[1].loss), (Loss::Bernoulli(0.01), Loss::Bernoulli(0.0)));
    assert!(matches!(&c.links[1].schedule, Schedule::Steps(steps) if steps.is_empty()));
}
