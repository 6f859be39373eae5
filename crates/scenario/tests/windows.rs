//! Every number counts the measured window: one scenario and seed, measured over two adjoining
//! windows and over both together, and in a run that ends with its window. Each metric of each level
//! is classified by how its values combine, and a metric without a class fails.

use crate::common::space;
use penstock_scenario::{list, Scenario};
use penstock_sim::{
    run, Config, Handle, Of, RunResult, FLOW_METRICS, GROUP_METRICS, LINK_METRICS, METRICS,
    PAGE_METRICS, VIDEO_METRICS,
};
use penstock_units::{Duration, Rng, Time};
use std::collections::{BTreeMap, BTreeSet};

/// How the values of two adjoining windows make that of both.
#[derive(Clone, Copy, Debug)]
enum Combines {
    /// A count, or seconds of the window: they add up.
    Sum,
    /// Something per second: the mean, weighted by the windows' lengths; nothing counts as 0.
    Rate,
    /// A mean over what the metric of that name counts.
    MeanOf(&'static str),
    /// A ratio or a quantile: it lies between them.
    Between,
    /// Losses over arrivals: it lies between them. Where nothing arrived in one of them, packets that
    /// waited may still have been lost in it.
    Losses,
    /// What was carried over what could have been: it lies between them, unless the link was down
    /// throughout one of them.
    Share,
    /// A variance (`true`: its square root is told) around the mean of that name: between them, and
    /// what the means differ by comes on top.
    Spread(&'static str, bool),
    /// A mean over pairs of consecutive departures: one pair more spans the boundary.
    Pairs,
    /// Jain's index of the flows' goodputs in the same window, which add up.
    Jain,
    /// What holds at the end of the window.
    AtTheEnd,
}

use Combines::{AtTheEnd, Between, Jain, Losses, MeanOf, Pairs, Rate, Share, Spread, Sum};

/// Every metric; one name means the same on every level.
const CLASSES: &[(&[&str], Combines)] = &[
    (&["throughput_bps", "goodput_bps", "udp_goodput_bps", "queue_mean_pkts"], Rate),
    (&["avg_queue_mean_pkts"], Rate),
    (&["arrivals", "departures", "drops_early", "drops_forced", "drops_overflow"], Sum),
    (&["marks_incipient", "marks_ce"], Sum),
    (&["timeouts", "retransmits", "transfers", "sent", "connections"], Sum),
    (&["ecn_cuts", "cuts_incipient", "cuts_moderate"], Sum),
    (&["pages", "request_repeats"], Sum),
    (&["video_chunks", "video_switches", "video_stalls", "video_stalled_s"], Sum),
    (&["utilization"], Share),
    (&["loss_ratio", "data_loss_ratio"], Losses),
    (&["data_delay_mean_s"], Between),
    (&["queue_p99_pkts", "delay_p50_s", "delay_p99_s", "fct_p50_s", "fct_p99_s"], Between),
    (&["page_time_p50_s", "page_time_p95_s", "page_time_p99_s"], Between),
    (&["video_stalled_share"], Between),
    (&["delay_mean_s"], MeanOf("departures")),
    (&["fct_mean_s", "slowdown_mean"], MeanOf("transfers")),
    (&["slowdown_p99", "slowdown_short_p99", "slowdown_medium_p99", "slowdown_long_p99"], Between),
    (&["fct_short_mean_s", "fct_medium_mean_s", "fct_long_mean_s"], Between),
    (&["fct_short_p99_s", "fct_medium_p99_s", "fct_long_p99_s"], Between),
    (&["page_time_mean_s"], MeanOf("pages")),
    (&["video_bitrate_bps"], MeanOf("video_chunks")),
    (&["delay_var_s2"], Spread("delay_mean_s", false)),
    (&["data_delay_var_s2"], Spread("data_delay_mean_s", false)),
    (&["queue_sd_pkts"], Spread("queue_mean_pkts", true)),
    (&["delay_variation_s"], Pairs),
    (&["jain"], Jain),
    // The sender's estimate, and what the viewers have waited for so far.
    (&["srtt_s", "video_startup_s"], AtTheEnd),
];

fn class(name: &str) -> Combines {
    let of = |(names, _): &&(&[&str], Combines)| names.contains(&name);
    CLASSES.iter().find(of).unwrap_or_else(|| panic!("{name}: how do its windows combine?")).1
}

/// Every level's tables, by the names of their rows.
fn declared() -> Vec<&'static str> {
    fn names<V>(table: &'static [Of<V>]) -> impl Iterator<Item = &'static str> {
        table.iter().map(|m| m.name)
    }
    let all = names(METRICS).chain(names(GROUP_METRICS)).chain(names(FLOW_METRICS));
    let all = all.chain(names(LINK_METRICS)).chain(names(PAGE_METRICS));
    all.chain(names(VIDEO_METRICS)).collect()
}

#[test]
fn every_metric_has_a_class() {
    let declared: BTreeSet<_> = declared().into_iter().collect();
    let classified: Vec<_> = CLASSES.iter().flat_map(|(names, _)| *names).copied().collect();
    assert_eq!(classified.len(), declared.len(), "each once");
    assert_eq!(classified.into_iter().collect::<BTreeSet<_>>(), declared);
}

type Values = BTreeMap<&'static str, Option<f64>>;

/// A place that metrics describe, with its values; and the goodputs that its Jain's index is of.
struct Place {
    name: String,
    values: Values,
    goodputs: Vec<f64>,
}

fn named<V>(table: &'static [Of<V>], values: &[Option<f64>]) -> Values {
    table.iter().map(|m| m.name).zip(values.iter().copied()).collect()
}

fn places(config: &Config, r: &RunResult) -> Vec<Place> {
    let flows: Vec<Values> = r.flows.iter().map(|f| f.named().collect()).collect();
    let goodputs = |of: &dyn Fn(usize) -> bool| {
        let lasts = |i: usize| !config.flows[i].open_loop;
        let mine = flows.iter().enumerate().filter(|(i, _)| of(*i) && lasts(*i));
        mine.filter_map(|(_, f)| f["goodput_bps"]).collect::<Vec<_>>()
    };
    let place = |name: String, values, goodputs| Place { name, values, goodputs };
    let mut run = named(METRICS, &r.metrics);
    run.extend(named(PAGE_METRICS, r.page_metrics()));
    let mut all = vec![place("run".into(), run, goodputs(&|i| config.flows[i].counts))];
    for g in 0..r.groups.len() {
        let mut values: Values = r.group(g).collect();
        values.extend(named(PAGE_METRICS, r.pages_of(g)));
        let goodputs = goodputs(&|i| r.flows[i].group as usize == g);
        all.push(place(format!("group {g}"), values, goodputs));
    }
    for (i, values) in flows.iter().enumerate() {
        all.push(place(format!("flow {i}"), values.clone(), vec![]));
    }
    for l in &r.links {
        all.push(place(l.name.clone(), named(LINK_METRICS, &l.metrics), vec![]));
    }
    all
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()) + 1e-12
}

/// Whether `both` is what the values `a` and `b` of adjoining windows make. `of` gives another
/// metric of the three windows, `seconds` the lengths of the first two.
fn holds(
    class: Combines,
    [a, b, both]: [Option<f64>; 3],
    of: &dyn Fn(&str) -> [f64; 3],
    seconds: [f64; 2],
    goodputs: &[f64],
) -> bool {
    let between = |slack: f64| match (a, b, both) {
        (Some(a), Some(b), Some(c)) => {
            let (low, high) = (a.min(b), a.max(b) + slack);
            (low < c && c < high) || close(low, c) || close(high, c)
        }
        (Some(x), None, Some(c)) | (None, Some(x), Some(c)) => close(x, c),
        (None, None, c) => c.is_none(),
        _ => false,
    };
    let weighted = |[x, y]: [f64; 2]| {
        let mean = (a.unwrap_or(0.0) * x + b.unwrap_or(0.0) * y) / (x + y);
        between(0.0) && (x + y == 0.0 || close(mean, both.unwrap_or(0.0)))
    };
    match class {
        Sum => {
            let sum = a.is_some().then(|| a.unwrap_or(0.0) + b.unwrap_or(0.0));
            a.is_some() == b.is_some()
                && sum.is_some() == both.is_some()
                && close(sum.unwrap_or(0.0), both.unwrap_or(0.0))
        }
        Rate => {
            let [a, b, c] = [a, b, both].map(|x| x.unwrap_or(0.0));
            let [x, y] = seconds;
            close((a * x + b * y) / (x + y), c)
        }
        MeanOf(name) => {
            let [x, y, _] = of(name);
            weighted([x, y])
        }
        Between => between(0.0),
        Losses => match (a, b, both) {
            (Some(x), None, Some(c)) | (None, Some(x), Some(c)) => c > x || close(x, c),
            _ => between(0.0),
        },
        Share => {
            let ([x, y, c], [s, t]) = (of("throughput_bps"), seconds);
            // What could be carried in the one is what could be in both.
            let all = |u: f64, bits: f64| {
                bits == 0.0 || close(c * (s + t) / (bits / u), both.unwrap_or(0.0))
            };
            match (a, b) {
                (Some(u), None) => all(u, x * s),
                (None, Some(u)) => all(u, y * t),
                _ => between(0.0),
            }
        }
        Spread(mean, root) => {
            let [x, y, _] = of(mean);
            if root {
                let [a, b, both] = [a, b, both].map(|x| x.map(|x| x * x));
                return holds(Spread(mean, false), [a, b, both], of, seconds, goodputs);
            }
            between((x - y) * (x - y) / 4.0)
        }
        Pairs => {
            let pairs = of("departures").map(|n| (n - 1.0).max(0.0));
            let [x, y, c] = [a, b, both].map(|x| x.unwrap_or(0.0));
            let more = c * pairs[2] - x * pairs[0] - y * pairs[1];
            // No delay lasts longer than the windows before the boundary's two packets.
            more >= -1e-9 && more <= of("delay_p99_s").map(|d| d * 1e3)[2] + 60.0
        }
        Jain => {
            let (s1, s2) = goodputs.iter().fold((0.0, 0.0), |(s, t), x| (s + x, t + x * x));
            let jain = (s2 > 0.0).then(|| s1 * s1 / (goodputs.len() as f64 * s2));
            jain.is_some() == both.is_some() && close(jain.unwrap_or(0.0), both.unwrap_or(0.0))
        }
        AtTheEnd => b == both,
    }
}

/// Measures a run over [a, b), [b, c) and [a, c), compares every number, and returns the values of
/// the first two windows.
fn adjoining(config: &Config, [a, b, c]: [Duration; 3], text: &str) -> [Vec<Place>; 2] {
    let at = |d: Duration| Time::ZERO + d;
    let measured = |from, to, duration: Option<Duration>| {
        let duration = duration.unwrap_or(config.duration);
        let (measure_from, measure_to) = (at(from), at(to));
        let config = Config { measure_from, measure_to, duration, ..config.clone() };
        let ran = run(&config, &Handle::default()).expect("a lowered scenario runs");
        places(&config, &ran)
    };
    let (first, second, both) = (measured(a, b, None), measured(b, c, None), measured(a, c, None));
    for (x, cut) in first.iter().zip(measured(a, b, Some(b))) {
        assert_eq!(x.values, cut.values, "{} knows what comes after its window in\n{text}", x.name);
    }
    let seconds = [at(b).since(at(a)), at(c).since(at(b))].map(Duration::as_secs_f64);
    assert!(first.len() == both.len() && second.len() == both.len());
    for ((x, y), z) in first.iter().zip(&second).zip(&both) {
        assert_eq!(x.values.keys().collect::<Vec<_>>(), z.values.keys().collect::<Vec<_>>());
        for name in z.values.keys() {
            let of = |name: &str| [x, y, z].map(|p| p.values[name].unwrap_or(0.0));
            let values = [x, y, z].map(|p| p.values[name]);
            assert!(
                holds(class(name), values, &of, seconds, &z.goodputs),
                "{} of {}: {values:?} over {a:?}, {b:?}, {c:?} do not combine as {:?} in\n{text}",
                name,
                z.name,
                class(name)
            );
        }
    }
    [first, second]
}

/// A bottleneck of 2 Mbit/s behind which the entries of `traffic` come, both ways; packets wait and
/// are lost.
fn dumbbell(traffic: &str) -> String {
    format!(
        "duration = \"12 s\"\n[topology]\n\
         bottleneck = {{ rate = \"2 Mbit/s\", delay = \"10 ms\", buffer = 20 }}\n\
         access = {{ rate = \"10 Mbit/s\", delay = \"3 ms\" }}\n\
         [aqm]\nkind = \"mecn\"\necn = true\n{traffic}"
    )
}

/// The kind, its entry, and the metric that says that something happened in each window.
const TRAFFIC: &[(&str, &str, &str)] = &[
    ("ftp", "flows = 3\necn = \"mecn\"", "goodput_bps"),
    ("ftp", "flows = 3\nstart = { every = \"2.5 s\", from = \"0.5 s\" }", "goodput_bps"),
    (
        "ftp",
        "flows = 30\nbytes = \"30 kB\"\nstart = { every = \"0.3 s\", from = \"0 s\" }",
        "transfers",
    ),
    ("web", "sessions = 8\npairs = 3\nthink = { constant = \"0.2 s\" }", "transfers"),
    (
        "web",
        "sessions = 6\nobjects_per_page = 3\nconnections = 2\nrequest = \"300 B\"\n\
         object = { constant = \"8 kB\" }\nthink = { exponential = \"0.3 s\" }",
        "pages",
    ),
    (
        "web",
        "sessions = 4\nobjects_per_page = 4\nconnections = 2\npersistent = true\n\
         object = { constant = \"8 kB\" }\nthink = { exponential = \"0.3 s\" }",
        "pages",
    ),
    (
        "video",
        "flows = 2\nbitrates = [\"0.3 Mbit/s\", \"0.7 Mbit/s\", \"2 Mbit/s\"]\nchunk = \"0.5 s\"\n\
         buffer = \"2 s\"\nstartup = \"0.5 s\"",
        "video_chunks",
    ),
    ("cbr", "rate = \"1.1 Mbit/s\"\npacket = \"1000 B\"", "sent"),
    ("cbr", "flows = 2\nrate = \"1.5 Mbit/s\"\npacket = \"700 B\"\njitter = 0.5", "sent"),
    // Its own access link is full.
    ("cbr", "rate = \"12 Mbit/s\"\npacket = \"1000 B\"", "sent"),
    ("poisson", "rate = \"2.5 Mbit/s\"\npacket = \"1000 B\"", "sent"),
    (
        "onoff",
        "rate = \"4 Mbit/s\"\npacket = \"500 B\"\non = { exponential = \"0.3 s\" }\n\
         off = { exponential = \"0.3 s\" }",
        "sent",
    ),
    ("voip", "flows = 3", "sent"),
    (
        "voip",
        "flows = 3\nsilence = { exponential = \"0.4 s\" }\ntalk = { exponential = \"0.4 s\" }",
        "sent",
    ),
    ("replay", "file = \"PACKETS\"", "sent"),
];

/// Instants at which packets leave, and others.
const WINDOWS: &[[u64; 3]] = &[
    [0, 4_000, 9_000],
    [2_000, 5_003, 12_000],
    [3_000, 6_000, 8_000],
    // Before anything has come through.
    [0, 15, 5_000],
];

fn lowered(text: &str) -> Config {
    let scenario =
        Scenario::from_toml(text, "windows.toml").unwrap_or_else(|e| panic!("{e}\n{text}"));
    scenario.lower(scenario.seed()).unwrap_or_else(|e| panic!("{e}"))
}

/// A file of datagrams that the tests share.
fn packets() -> String {
    let file = std::env::temp_dir().join(format!("penstock-windows-{}.csv", std::process::id()));
    let lines = (0..400).map(|i| format!("{},{}\n", f64::from(i) * 0.025, 200 + i % 900));
    let text = format!("t_s,bytes\n{}", lines.collect::<String>());
    std::fs::write(&file, text).expect("a file");
    file.display().to_string()
}

#[test]
fn every_kind_of_traffic_counts_the_window() {
    let packets = packets();
    let kinds = list("traffic").expect("a list");
    let declared: BTreeSet<_> = kinds
        .as_array()
        .expect("kinds")
        .iter()
        .map(|k| k["name"].as_str().expect("a name"))
        .collect();
    let declared: BTreeSet<_> = declared.into_iter().filter(|kind| *kind != "any").collect();
    assert_eq!(TRAFFIC.iter().map(|t| t.0).collect::<BTreeSet<_>>(), declared);
    for (kind, keys, happens) in TRAFFIC {
        for direction in ["forward", "reverse"] {
            let entry = format!(
                "[[traffic]]\nkind = \"{kind}\"\ndirection = \"{direction}\"\n{}\n",
                keys.replace("PACKETS", &packets)
            );
            for more in ["", "[[traffic]]\nkind = \"ftp\"\nflows = 2\n"] {
                let config = lowered(&dumbbell(&format!("{entry}{more}")));
                for ms in WINDOWS {
                    let ends = ms.map(Duration::from_millis);
                    let early = ms[1] < 1_000;
                    for places in adjoining(&config, ends, &entry).iter().skip(usize::from(early)) {
                        let group = places.iter().find(|p| p.name == "group 0").expect("it");
                        let n = group.values[happens];
                        assert!(n > Some(0.0), "{kind}, {keys}: {happens} is {n:?}");
                    }
                }
            }
        }
    }
    let _ = std::fs::remove_file(packets);
}

/// What arithmetic says: a packet every 10 ms from zero on, 200 in two seconds, none of them lost.
#[test]
fn a_source_sends_what_leaves_in_the_window() {
    let cbr = "duration = \"10 s\"\nmeasure = { from = \"4 s\", to = \"6 s\" }\n[topology]\n\
        bottleneck = { rate = \"1 Mbit/s\", delay = \"10 ms\" }\n\
        [[traffic]]\nkind = \"cbr\"\nrate = \"0.8 Mbit/s\"\npacket = \"1000 B\"\n";
    let sent = |text: &str| {
        let config = lowered(text);
        let ran = run(&config, &Handle::default()).expect("it runs");
        let sent = |p: &Place| p.values["sent"].expect("it");
        places(&config, &ran)[1..3].iter().map(sent).collect::<Vec<_>>()
    };
    assert_eq!(sent(cbr), [200.0, 200.0]);
    // The run ends while a packet is on its access link, which it left its source for.
    let access = "access = { rate = \"0.9 Mbit/s\", delay = \"1 s\" }\n[[traffic]]";
    let late = cbr.replacen("[[traffic]]", access, 1).replace("\"10 s\"", "\"6 s\"");
    assert_eq!(sent(&late), [200.0, 200.0]);
    // The source stops in the window, and has sent nothing before it begins.
    let stops = format!("{cbr}start = \"5 s\"\nstop = \"5.5 s\"\n");
    assert_eq!(sent(&stops), [50.0, 50.0]);
    assert_eq!(sent(&stops.replace("\"5 s\"", "\"7 s\"").replace("5.5 s", "8 s")), [0.0, 0.0]);
}

/// Parking lots, graphs, every discipline and every key that the space has.
#[test]
fn drawn_scenarios_count_the_window() {
    let mut rng = Rng::stream(1, "windows");
    let mut ran = 0;
    while ran < 100 {
        let bytes: Vec<u8> = (0..300).map(|_| (rng.unit() * 256.0) as u8).collect();
        let text = space::scenario(&bytes);
        let Ok(scenario) = Scenario::from_toml(&text, "drawn.toml") else { continue };
        let Ok(config) = scenario.lower_within(scenario.seed(), 1 << 30) else { continue };
        let part = |k: u64| Duration::from_nanos(config.duration.as_nanos() / 8 * k);
        adjoining(&config, [part(1), part(3), part(8)], &text);
        adjoining(&config, [part(2), part(3), part(6)], &text);
        ran += 1;
    }
}
