//! Links and sources whose behaviour is written down in files or follows from arithmetic: traces,
//! replays, asymmetry, jitter, classes.

use crate::common::{good, metric};
use penstock_scenario::Scenario;
use penstock_sim::{
    run, Column, Handle, Record, RunResult, Schedule, Tap, FLOW_METRICS, GROUP_METRICS,
    VIDEO_METRICS,
};
use std::path::PathBuf;

fn simulate(s: &Scenario, record: Record) -> RunResult {
    let config = s.lower(s.seed()).unwrap();
    run(&penstock_sim::Config { record, ..config }, &Handle::default()).unwrap()
}

fn quiet(text: &str) -> RunResult {
    simulate(&good(text), Record::default())
}

/// A folder of a test's own, with files in it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &[u8])]) -> Self {
        let folder = std::env::temp_dir().join(format!("penstock-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (file, content) in files {
            std::fs::write(folder.join(file), content).unwrap();
        }
        Folder(folder)
    }

    fn read(&self, text: &str) -> Result<Scenario, String> {
        let file = self.0.join("s.toml");
        Scenario::from_toml(text, &file.display().to_string()).map_err(|e| e.to_string())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// (time in ns, event, bytes) at the bottleneck.
fn events(s: &Scenario) -> Vec<(u64, &'static str, u64)> {
    let r = simulate(s, Record { events: true, ..Record::default() });
    let table = r.series.iter().find(|t| t.name == "events").unwrap();
    let column = |name: &str| &table.columns.iter().find(|c| c.0 == name).unwrap().1;
    let (Column::U64(t), Column::Word(word, words), Column::U64(bytes)) =
        (column("t_ns"), column("event"), column("bytes"))
    else {
        panic!("{table:?}")
    };
    t.iter().zip(word).zip(bytes).map(|((t, w), b)| (*t, words[usize::from(*w)], *b)).collect()
}

const MS: u64 = 1_000_000;

/// Packets of a file over a trace: what waits at 3 ms shares its opportunity, 1500 B at most; a
/// large packet takes two.
#[test]
fn a_replay_over_a_trace() {
    let files: &[(&str, &[u8])] = &[
        ("up.trace", b"3\n5\n"),
        ("p.csv", b"t_s,bytes\n0.001,600\n0.002,700\n0.0025,1000\n0.003,100\n0.011,40\n"),
    ];
    let folder = Folder::new("replay", files);
    let text = "duration = \"30 ms\"\n[topology]\n\
        bottleneck = { delay = \"1 ms\", schedule = { mahimahi = \"up.trace\" } }\n\
        [[traffic]]\nkind = \"replay\"\nfile = \"p.csv\"\n";
    let s = folder.read(text).unwrap();
    // At 3 ms 600 + 700 + 200 of 1000; at 5 ms the other 800, then 100 of who came at 3 ms. Rounds
    // are 5 ms long.
    let want = [
        (MS, "enqueue", 600),
        (2 * MS, "enqueue", 700),
        (2 * MS + MS / 2, "enqueue", 1000),
        (3 * MS, "dequeue", 600),
        (3 * MS, "dequeue", 700),
        (3 * MS, "dequeue", 1000),
        (3 * MS, "enqueue", 100),
        (5 * MS, "dequeue", 100),
        (11 * MS, "enqueue", 40),
        (13 * MS, "dequeue", 40),
    ];
    assert_eq!(events(&s), want);
    let r = simulate(&s, Record::default());
    // Five packets; delays 2, 1, 0.5, 2 and 2 ms.
    assert!((metric(&r, "delay_mean_s") - 1.5e-3).abs() < 1e-12, "{}", metric(&r, "delay_mean_s"));
    // Opportunities at 3, 5, 8, 10, … 28 ms: 11 of 12000 bits.
    assert!((metric(&r, "utilization") - 2440.0 * 8.0 / (11.0 * 12_000.0)).abs() < 1e-12);
    let resolved = s.resolved();
    assert_eq!(resolved["topology"]["bottleneck"]["schedule"]["mahimahi"], "up.trace");
    assert!(resolved["traffic"][0]["hash"].is_string());

    // A discipline that decides at departure serves the same packets at the same times; within an
    // instant the order may differ.
    let eager = s
        .set_all(&[("aqm.kind", "rem"), ("aqm.ecn", "true"), ("aqm.mark_at", "departure")])
        .unwrap();
    let mut found = events(&eager);
    found.sort_by_key(|e| (e.0, e.1 == "enqueue"));
    assert_eq!(found, want);
    let later = folder.read(
        &text
            .replace("kind = \"replay\"", "kind = \"replay\"\nstart = \"7 ms\"\nstop = \"9.6 ms\""),
    );
    let arrivals = events(&later.unwrap());
    let arrivals: Vec<_> =
        arrivals.into_iter().filter(|e| e.1 == "enqueue").map(|e| (e.0, e.2)).collect();
    assert_eq!(
        arrivals,
        [(8 * MS, 600), (9 * MS, 700), (9 * MS + MS / 2, 1000)],
        "from the start on, until the stop"
    );
}

/// Forward a trace; back 8 Mbit/s for 10 ms, nothing for 10, 4 Mbit/s for 10, and again.
#[test]
fn each_direction_has_its_own_rate_over_time() {
    let files: &[(&str, &[u8])] =
        &[("up.trace", b"3\n5\n"), ("down.txt", b"5 8\n5.01 0\n5.02 4\n")];
    let folder = Folder::new("both", files);
    let text = "duration = \"65 ms\"\n[topology]\n\
        bottleneck = { delay = \"1 ms\", schedule = { mahimahi = \"up.trace\" }, \
        reverse_schedule = { steps = \"down.txt\" } }\n\
        [[traffic]]\nkind = \"cbr\"\nrate = \"8 Mbit/s\"\npacket = \"1000 B\"\ndirection = \"reverse\"\n";
    let s = folder.read(text).unwrap();
    let c = s.lower(1).unwrap();
    assert!(matches!(c.links[0].schedule, Schedule::Trace(_)));
    let Schedule::Steps(steps) = &c.links[1].schedule else { panic!() };
    let steps: Vec<_> = steps
        .iter()
        .map(|(at, rate)| (at.as_nanos() / MS, rate.map_or(0, |r| r.as_bps() / 1_000_000)))
        .collect();
    let round = [(0, 8), (10, 0), (20, 4)];
    let rounds = [0, 30, 60].map(|begin| round.map(|(at, mbit)| (begin + at, mbit))).concat();
    assert_eq!((steps, c.links[1].rate.as_bps()), (rounds, 4_000_000), "the mean of a round");
    let resolved = s.resolved();
    assert_eq!(resolved["topology"]["bottleneck"]["reverse_schedule"]["steps"], "down.txt");
    // A packet each millisecond; the one that begins at 10 ms waits for the rate, and takes 2 ms of
    // 4 Mbit/s, as do the next; from 30 ms on they take 1 ms again.
    let r = simulate(&s, Record { events: true, ..Record::default() });
    let table = r.links[1].series.iter().find(|t| t.name == "events").unwrap();
    let column = |name: &str| &table.columns.iter().find(|c| c.0 == name).unwrap().1;
    let (Column::U64(t), Column::Word(word, words)) = (column("t_ns"), column("event")) else {
        panic!("{table:?}")
    };
    let went = t.iter().zip(word).filter(|(_, w)| words[usize::from(**w)] == "dequeue");
    let went: Vec<u64> = went.map(|(t, _)| t / MS).filter(|t| *t < 32).collect();
    let want: Vec<u64> = (0..=10).chain([22, 24, 26, 28, 30, 31]).collect();
    assert_eq!(went, want);
}

/// A packet every 2 ms over two hops of 5 ms, whose packets take up to 4 ms longer.
#[test]
fn packets_overtake_each_other_where_they_may() {
    for reorder in [false, true] {
        let text = format!(
            "duration = \"2 s\"\n[topology]\nkind = \"parking-lot\"\nhops = 2\n\
             link = {{ rate = \"8 Mbit/s\", delay = \"5 ms\", jitter = {{ uniform = [\"0 s\", \"4 ms\"] }}, \
             reorder = {reorder} }}\naccess = {{ rate = \"100 Mbit/s\", delay = \"1 ms\" }}\n\
             [[traffic]]\nkind = \"cbr\"\nrate = \"4 Mbit/s\"\npacket = \"1000 B\"\n\
             [[traffic]]\nkind = \"ftp\"\ntcp = \"cubic\"\nwindow = 5\n"
        );
        let s = Scenario::from_toml(&text, "s.toml").unwrap();
        let r = simulate(&s, Record { events: true, ..Record::default() });
        // Of the datagrams at each forward hop: time and number.
        let at = |tables: &[penstock_sim::Table], want: &str| -> Vec<(u64, u64)> {
            let table = tables.iter().find(|t| t.name == "events").unwrap();
            let column = |name: &str| &table.columns.iter().find(|c| c.0 == name).unwrap().1;
            let (Column::U64(t), Column::U64(flow), Column::U64(seq), Column::Word(word, words)) =
                (column("t_ns"), column("flow"), column("seq"), column("event"))
            else {
                panic!("{table:?}")
            };
            let rows = t.iter().zip(flow).zip(seq).zip(word);
            let rows =
                rows.filter(|(((_, flow), _), w)| **flow == 0 && words[usize::from(**w)] == want);
            rows.map(|(((t, _), seq), _)| (*t, *seq)).collect()
        };
        let second = r.links.iter().find(|l| l.name == "R1-R2").unwrap();
        let (left, came) = (at(&r.series, "dequeue"), at(&second.series, "enqueue"));
        assert!(came.len() > 900, "{}", came.len());
        let late = came.iter().map(|(t, seq)| {
            let (began, _) = left.iter().find(|(_, other)| other == seq).unwrap();
            t - began - 6 * MS // 1 ms to send it, and 5 on the way
        });
        let late: Vec<u64> = late.collect();
        let overtaken = came.windows(2).filter(|pair| pair[0].1 > pair[1].1).count();
        if reorder {
            assert!(overtaken > 50 && late.iter().all(|ns| *ns < 4 * MS), "{overtaken}");
            let mean = late.iter().sum::<u64>() / late.len() as u64;
            assert!(mean.abs_diff(2 * MS) < MS / 5, "{mean}");
        } else {
            assert_eq!(overtaken, 0);
        }
        assert!(metric(&r, "goodput_bps") > 0.0);
    }
}

/// A resolved scenario needs no file.
#[test]
fn a_distribution_in_a_file() {
    let files: &[(&str, &[u8])] =
        &[("sizes.cdf", b"1 1 0\n10 1 0.5\n20 1 1\n"), ("times.cdf", b"0.001 0.5\n0.5 1\n")];
    let folder = Folder::new("cdf", files);
    let text =
        "duration = \"1 s\"\n[topology]\nbottleneck = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n\
        [[traffic]]\nkind = \"web\"\nobject = { empirical = \"sizes.cdf\", packet = \"1460 B\" }\n\
        think = { empirical = \"times.cdf\" }\n";
    let s = folder.read(text).unwrap();
    let (object, think) = (
        "[[\"1460 B\",0.0],[\"14600 B\",0.5],[\"29200 B\",1.0]]",
        "[[\"1 ms\",0.5],[\"500 ms\",1.0]]",
    );
    let resolved = s.resolved();
    let web = &resolved["traffic"][0];
    assert_eq!(web["object"]["empirical"].to_string(), object);
    assert_eq!(web["think"]["empirical"].to_string(), think);
    drop(folder);
    let again = penstock_scenario::Scenario::from_json(&resolved.to_string()).unwrap();
    assert_eq!(again.resolved(), resolved);
    assert_eq!(simulate(&again, Record::default()), simulate(&s, Record::default()));
}

#[test]
fn what_is_wrong_with_a_file() {
    let files: &[(&str, &[u8])] = &[
        ("good.trace", b"3\n5\n"),
        ("back.trace", b"3\n5\n4\n"),
        ("empty.trace", b""),
        ("back.csv", b"0,100\n2,100\n1,100\n"),
        ("good.csv", b"0,100\n"),
    ];
    let folder = Folder::new("wrong", files);
    let text = |schedule: &str, file: &str| {
        format!(
            "duration = \"1 s\"\n[topology.bottleneck]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nschedule = {schedule}\n\
             [[traffic]]\nkind = \"replay\"\nfile = \"{file}\"\n"
        )
    };
    let steps = "[{ at = \"1 ms\", rate = \"2 Mbit/s\" }]";
    for (schedule, file, parts) in [
        (
            "{ mahimahi = \"no.trace\" }",
            "good.csv",
            [
                "s.toml:5: topology.bottleneck.schedule = { mahimahi = \"no.trace\" }: ",
                "no.trace: there is no such file",
            ],
        ),
        (
            "{ mahimahi = \"back.trace\" }",
            "good.csv",
            ["s.toml:5: ", "back.trace:3: \"4\": must not be below the line before"],
        ),
        ("{ mahimahi = \"empty.trace\" }", "good.csv", ["s.toml:5: ", "empty.trace: is empty"]),
        (
            "{ mahimahi = \"good.trace\", hash = \"0\" }",
            "good.csv",
            ["s.toml:5: ", "good.trace: has changed: its hash is "],
        ),
        (
            "{ mahimaih = \"good.trace\" }",
            "good.csv",
            ["s.toml:5: ", "schedule.mahimaih: unknown key; nearest: mahimahi"],
        ),
        (
            "{ hash = \"0\" }",
            "good.csv",
            ["s.toml:5: ", "must be a list of steps ascending in time"],
        ),
        ("{ mahimahi = 3 }", "good.csv", ["s.toml:5: ", "schedule.mahimahi = 3: must be a text"]),
        (
            steps,
            "no.csv",
            ["s.toml:8: traffic.0.file = \"no.csv\": ", "no.csv: there is no such file"],
        ),
        (
            steps,
            "back.csv",
            [
                "s.toml:8: traffic.0.file = \"back.csv\": ",
                "must not be earlier than the line before",
            ],
        ),
        (steps, ".", ["s.toml:8: traffic.0.file = \".\": ", "is not a file"]),
        (steps, "good.csv\"\nhash = \"0", ["s.toml:8: traffic.0.file", "good.csv: has changed"]),
    ] {
        let found = folder.read(&text(schedule, file)).unwrap_err();
        for part in parts {
            assert!(found.contains(part), "\n{schedule} {file}\ngives   {found}\nwithout {part}");
        }
    }
    let counted =
        text("{ mahimahi = \"good.trace\" }", "good.csv") + "[aqm]\ncount_in_service = true\n";
    let found = folder.read(&counted).unwrap_err();
    assert!(
        found.contains("s.toml:10: aqm.count_in_service = true: on a link with a mahimahi trace"),
        "{found}"
    );
}

/// A capture of two packets, 1 ms and 5 us apart from the first; the second began in the capture
/// before the third.
#[test]
fn a_capture_is_replayed() {
    let mut pcap: Vec<u8> = vec![];
    let mut put = |words: &[u32]| words.iter().for_each(|w| pcap.extend(w.to_le_bytes()));
    put(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1]);
    for (us, bytes) in [(1_000_000u32, 60), (1_001_000, 1514), (1_000_005, 98)] {
        put(&[us / 1_000_000, us % 1_000_000, 0, bytes]);
    }
    let folder = Folder::new("capture", &[("c.pcap", &pcap)]);
    let text =
        "duration = \"1 s\"\n[topology]\nbottleneck = { rate = \"1 Gbit/s\", delay = \"1 ms\" }\n\
        [[traffic]]\nkind = \"replay\"\nfile = \"c.pcap\"\nstart = \"1 ms\"\n";
    let arrivals: Vec<_> =
        events(&folder.read(text).unwrap()).into_iter().filter(|e| e.1 == "enqueue").collect();
    assert_eq!(
        arrivals,
        [(MS, "enqueue", 60), (MS + 5000, "enqueue", 98), (2 * MS, "enqueue", 1514)]
    );
}

/// Enough datagrams for every opportunity: what leaves is the number of opportunities in the
/// window.
#[test]
fn a_full_link_uses_every_opportunity() {
    let folder = Folder::new("full", &[("t", b"0\n1\n1\n4\n7\n")]);
    for (aqm, packet) in [("droptail", 1500), ("droptail", 700), ("red", 1500), ("droptail", 4000)]
    {
        let text = format!(
            "duration = \"8 s\"\nmeasure = {{ from = \"1 s\", to = \"6 s\" }}\n[topology]\n\
             bottleneck = {{ rate = \"8 Mbit/s\", delay = \"1 ms\", buffer = 500, schedule = {{ mahimahi = \"t\" }} }}\n\
             [aqm]\nkind = \"{aqm}\"\n[[traffic]]\nkind = \"cbr\"\nrate = \"30 Mbit/s\"\npacket = \"{packet} B\"\n"
        );
        let r = simulate(&folder.read(&text).unwrap(), Record::default());
        // Five in 7 ms: from 1 s to 6 s 5000/7 rounds, and the ends cut one each.
        let bits = metric(&r, "throughput_bps") * 5.0;
        assert!(
            (bits - 12_000.0 * 5.0 * 5000.0 / 7.0).abs() < 6.0 * 12_000.0 + 8.0 * f64::from(packet),
            "{bits}"
        );
        assert!((metric(&r, "utilization") - 1.0).abs() < 1e-3, "{aqm} {packet}");
    }
}

/// One segment a round trip: 1040 B at 8 Mbit/s, 10 ms, 40 B at 80 kbit/s, 30 ms.
#[test]
fn the_way_back_may_be_slower() {
    let text = "duration = \"20 s\"\nmeasure.from = \"2 s\"\n[topology]\nbottleneck = { rate = \"8 Mbit/s\", delay = \"10 ms\", \
        buffer = 100, reverse_rate = \"80 kbit/s\", reverse_delay = \"30 ms\", reverse_buffer = 5 }\n\
        [[traffic]]\nkind = \"ftp\"\n";
    let one = quiet(&format!("{text}window = 1\n"));
    let rtt = 1040.0 * 8.0 / 8e6 + 0.010 + 40.0 * 8.0 / 80e3 + 0.030;
    let want = 8000.0 / rtt;
    assert!(
        (metric(&one, "goodput_bps") - want).abs() < 0.003 * want,
        "{}",
        metric(&one, "goodput_bps")
    );
    // Many: an ACK takes 4 ms, so 250 a second come back. Where all fit, each answers one segment
    // of 8000 bits and the forward link idles; where five wait at most, ACKs are lost, and those
    // that come answer for them.
    let full = text.replace("reverse_buffer = 5", "reverse_buffer = 500") + "window = 60\n";
    let full = quiet(&full);
    assert!(
        (metric(&full, "goodput_bps") - 2e6).abs() < 0.01 * 2e6,
        "{}",
        metric(&full, "goodput_bps")
    );
    let five = quiet(&format!("{text}window = 60\n"));
    assert!(
        metric(&five, "goodput_bps") > 1.5 * metric(&full, "goodput_bps"),
        "{}",
        metric(&five, "goodput_bps")
    );
    assert!(metric(&five, "retransmits") == 0.0 && metric(&full, "retransmits") == 0.0);
}

/// Jitter moves packets, but not their rate.
#[test]
fn jitter_keeps_the_mean() {
    for kind in
        ["cbr", "poisson", "onoff\"\non = { constant = \"1 s\" }\noff = { constant = \"1 s\" }\n#"]
    {
        let text = |jitter: f64| {
            format!(
                "duration = \"200 s\"\n[topology]\nbottleneck = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n[[traffic]]\n\
                 kind = \"{kind}\"\nrate = \"1.6 Mbit/s\"\npacket = \"1000 B\"\njitter = {jitter}\n"
            )
        };
        let (without, with) = (quiet(&text(0.0)), quiet(&text(1.0)));
        let n = if kind.starts_with("onoff") { 20_000.0 } else { 40_000.0 };
        // A gap's variance is 0, and 1/3 more with jitter; poisson's 1, and 1 + 2/3: four standard
        // errors.
        let slack = 4.0 * (5.0f64 / 3.0 / n).sqrt() * n;
        for r in [&without, &with] {
            assert!((metric(r, "arrivals") - n).abs() < slack, "{kind}: {}", metric(r, "arrivals"));
        }
        assert_ne!(metric(&without, "arrivals"), metric(&with, "arrivals"), "{kind}");
    }
}

/// A group's class is in its packets, and so in a capture: DSCP 46 above the two ECN bits. ACKs
/// carry it back.
#[test]
fn classes_reach_the_packets() {
    let text = "duration = \"1 s\"\n[topology]\nbottleneck = { rate = \"8 Mbit/s\", delay = \"1 ms\" }\n\
        [[traffic]]\nkind = \"ftp\"\necn = \"classic\"\nclass = 46\ndelayed_ack = true\nbytes = \"20 kB\"\n";
    let r = simulate(
        &good(text),
        Record { pcap: Some(Tap { link: 0, out: false }), ..Record::default() },
    );
    let capture = r.pcap.unwrap();
    let mut at = 24;
    let mut dscp = vec![];
    while at < capture.len() {
        let kept = u32::from_le_bytes(capture[at + 8..at + 12].try_into().unwrap()) as usize;
        dscp.push(capture[at + 17] >> 2);
        at += 16 + kept;
    }
    assert!(dscp.len() > 30 && dscp.iter().all(|d| *d == 46), "{dscp:?}");
}

/// Of a group: its goodput, and what each of its flows has sent.
fn group(r: &RunResult, group: usize) -> (f64, Vec<f64>) {
    let place = |name| FLOW_METRICS.iter().position(|m| m.name == name).unwrap();
    let (goodput, sent) = (place("goodput_bps"), place("sent"));
    let flows: Vec<_> = r.flows.iter().filter(|f| f.group as usize == group).collect();
    let sum = flows.iter().map(|f| f.metrics[goodput].unwrap()).sum();
    (sum, flows.iter().map(|f| f.metrics[sent].unwrap()).collect())
}

/// Three calls: a packet of 200 B every 20 ms from each of six ends, so 450 in the 9 s measured and
/// 80 kbit/s. Where the link back carries 120 kbit/s, it loses half.
#[test]
fn a_call_goes_both_ways() {
    let text = "duration = \"10 s\"\nmeasure = { from = \"1 s\" }\n[topology.bottleneck]\n\
        rate = \"1 Mbit/s\"\ndelay = \"10 ms\"\nreverse_rate = \"120 kbit/s\"\n\
        reverse_buffer = 10\n[[traffic]]\nkind = \"ftp\"\nstart = \"9.99 s\"\n\
        [[traffic]]\nkind = \"voip\"\nname = \"call\"\nflows = 3\n";
    for (text, [there, back]) in [
        (text.to_string(), [240e3, 120e3]),
        (format!("{text}direction = \"reverse\"\n"), [120e3, 240e3]),
    ] {
        let s = good(&text);
        assert_eq!(s.group_names(), ["ftp", "call", "call back"]);
        let r = simulate(&s, Record::default());
        assert_eq!((r.groups.len(), r.flows.len()), (3, 7));
        for (number, want) in [(1, there), (2, back)] {
            let (goodput, sent) = group(&r, number);
            assert!((goodput - want).abs() < 600.0, "{goodput}, should be {want}");
            assert_eq!(sent, [450.0; 3]);
        }
    }
}

/// Both ends talk for a second and are silent for a second: 50 packets in each of five spurts. With
/// P.59's means they talk for 1.004/(1.004 + 1.587) = 38.75 % of the time: of 100 calls and their
/// ways back 0.3875 · 80 kbit/s each, to within 4 %: a spurt lasts a whole number of intervals.
#[test]
fn talk_spurts() {
    let text = |pauses: &str, flows: u32, duration: u32| {
        format!(
            "duration = \"{duration} s\"\n[topology]\nbottleneck = {{ rate = \"100 Mbit/s\", \
             delay = \"1 ms\" }}\n[[traffic]]\nkind = \"voip\"\nflows = {flows}\n{pauses}"
        )
    };
    let second = "talk = { constant = \"1 s\" }\nsilence = { constant = \"1 s\" }\n";
    let r = quiet(&text(second, 1, 10));
    assert_eq!([group(&r, 0).1, group(&r, 1).1], [[250.0], [250.0]]);
    let p59 = "silence = { exponential = \"1.587 s\" }\n";
    let r = quiet(&text(p59, 100, 200));
    let mean = (group(&r, 0).0 + group(&r, 1).0) / 200.0;
    assert!((mean / (80e3 * 1.004 / 2.591) - 1.0).abs() < 0.04, "{mean}");
}

#[test]
fn what_is_no_call() {
    for (keys, problem) in [
        ("interval = \"0 s\"", "interval = \"0 s\": must be above 0 s"),
        ("interval = \"10 h\"", "interval = \"10 h\": gives a rate that is not between"),
        ("packet = \"0 B\"", "packet = \"0 B\": must be between 1 B and 1 MB"),
    ] {
        let text = format!(
            "duration = \"1 s\"\n[topology]\nbottleneck = {{ rate = \"1 Mbit/s\", delay = \"1 ms\" }}\n\
             [[traffic]]\nkind = \"voip\"\n{keys}\n"
        );
        let Err(error) = Scenario::from_toml(&text, "call.toml") else { panic!("{keys}") };
        let error = error.to_string();
        assert!(error.contains(&format!("traffic.0.{problem}")), "{error}");
    }
}

/// A value of a flow by its name; `None` where it has none, or no such number.
fn of_flow(r: &RunResult, flow: usize, name: &str) -> Option<f64> {
    r.flows[flow].named().find(|(n, _)| *n == name).and_then(|(_, value)| value)
}

/// A ladder of 1, 2 and 8 Mbit/s alone on a link of 4 Mbit/s, whose payload is 4 · 1000/1040 = 3.85
/// Mbit/s: from the second or third chunk on at 2 Mbit/s, without a stall. Once 10 s are ready it
/// fetches a chunk of 2 s every 2 s: 80 in the last 160 s, and 2 Mbit/s. Beside ftp, no more columns.
#[test]
fn a_video_settles_at_what_the_link_carries() {
    let text = "duration = \"200 s\"\nmeasure = { from = \"40 s\" }\n[topology]\n\
        bottleneck = { rate = \"4 Mbit/s\", delay = \"10 ms\", buffer = 50 }\n\
        [[traffic]]\nkind = \"video\"\nbitrates = [\"1 Mbit/s\", \"2 Mbit/s\", \"8 Mbit/s\"]\n\
        buffer = \"10 s\"\n[[traffic]]\nkind = \"ftp\"\nstart = \"199.9 s\"\n";
    let r = quiet(text);
    let video = |name| of_flow(&r, 0, name).unwrap_or_else(|| panic!("{name}"));
    assert_eq!(video("video_bitrate_bps"), 2e6);
    assert_eq!(video("video_chunks"), 80.0);
    let none = ["video_switches", "video_stalls", "video_stalled_s", "video_stalled_share"];
    assert_eq!(none.map(video), [0.0; 4]);
    assert!((video("goodput_bps") / 2e6 - 1.0).abs() < 0.01, "{}", video("goodput_bps"));
    // Chunks of 250 and 500 kB take 1.56 s at 3.85 Mbit/s; slow start and its losses cost more.
    let startup = video("video_startup_s");
    assert!((1.56..2.6).contains(&startup), "{startup}");
    assert_eq!(r.groups[0][GROUP_METRICS.len()], Some(2e6), "the group's bitrate");
    assert_eq!(r.flows[0].metrics.len(), FLOW_METRICS.len() + VIDEO_METRICS.len());
    assert_eq!(r.flows[1].metrics.len(), FLOW_METRICS.len());
    assert_eq!(r.groups[1].len(), GROUP_METRICS.len());
}

/// The lowest bitrate is twice what the link carries: a chunk of 2 s takes 4.16 s, as the headers
/// count. In a long run playback stands still for 1 − 0.96/2 = 52 % of the time.
#[test]
fn a_video_stalls_where_its_lowest_bitrate_is_too_high() {
    let text = "duration = \"2000 s\"\n[topology]\n\
        bottleneck = { rate = \"1 Mbit/s\", delay = \"1 ms\", buffer = 50 }\n\
        [[traffic]]\nkind = \"video\"\nbitrates = \"2 Mbit/s\"\n";
    let r = quiet(text);
    let video = |name| of_flow(&r, 0, name).unwrap_or_else(|| panic!("{name}"));
    let share = video("video_stalled_share");
    assert!((share - 0.52).abs() < 0.01, "{share}");
    // Two chunks in 8.3 s, and so on: a stall every 8.3 s.
    assert!((video("video_stalls") - 2000.0 / 8.32).abs() < 6.0, "{}", video("video_stalls"));
}

#[test]
fn what_is_no_video() {
    for (keys, problem) in [
        ("chunk = \"0 s\"", "chunk = \"0 s\": must be above 0 s"),
        ("bitrates = []", "bitrates = []: must be a rate, or a list of rates"),
        ("bitrates = [\"2 Mbit/s\", \"1 Mbit/s\"]", "\"1 Mbit/s\"]: must be ascending"),
        ("bitrates = [\"2 Mbi\"]", "unknown unit"),
        ("buffer = \"5 s\"", "buffer = \"5 s\": must be at least startup and a chunk (6 s)"),
    ] {
        let text = format!(
            "duration = \"1 s\"\n[topology]\nbottleneck = {{ rate = \"1 Mbit/s\", delay = \"1 ms\" }}\n\
             [[traffic]]\nkind = \"video\"\n{keys}\n"
        );
        let Err(error) = Scenario::from_toml(&text, "video.toml") else { panic!("{keys}") };
        let error = error.to_string();
        assert!(error.contains("traffic.0.") && error.contains(problem), "{error}");
    }
}
