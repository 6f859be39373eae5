//! What the engine works out ahead of time, without events, is what it works out with them. A
//! capture has it use an event for everything, so a run with one must give the numbers of a run
//! without: over the kept scenarios, random ones, and some in which packets meet at the same
//! instants again and again.

use crate::common::space;
use penstock_aqm::KINDS;
use penstock_scenario::Scenario;
use penstock_sim::{run, AqmConfig, Config, Handle, Record, Tap, UserAqm};
use penstock_units::Rng;
use std::path::PathBuf;

fn the_same(text: &str, name: &str) {
    let scenario = Scenario::from_toml(text, name).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let config = scenario.lower(scenario.seed()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let runs = [None, Some(Tap { link: config.bottleneck as u32, out: false })].map(|pcap| {
        let record = Record { pcap, ..Record::default() };
        run(&Config { record, ..config.clone() }, &Handle::default()).expect("it runs")
    });
    let [ahead, mut one_by_one] = runs;
    one_by_one.pcap = None;
    assert_eq!(ahead, one_by_one, "{name}\n{text}");
    let custom = run(&behind_the_trait(config), &Handle::default()).expect("it runs");
    assert_eq!(ahead, custom, "as a custom discipline: {name}\n{text}");
}

/// The same with the bottleneck's discipline as a custom one.
fn behind_the_trait(mut config: Config) -> Config {
    let link = &mut config.links[config.bottleneck];
    if let AqmConfig::Kind(kind) = link.aqm {
        link.aqm = AqmConfig::User(UserAqm::new(kind, move |start| {
            Ok(penstock_aqm::build(kind, start.values, start.context)?.into())
        }));
    }
    config
}

#[test]
fn the_kept_scenarios() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/documents");
    let mut seen = 0;
    for file in std::fs::read_dir(folder).expect("tests/documents") {
        let path = file.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "toml") {
            the_same(&std::fs::read_to_string(&path).expect("a file"), &path.to_string_lossy());
            seen += 1;
        }
    }
    assert_eq!(seen, 50);
}

/// `PENSTOCK_CASES=5000` looks further.
fn cases() -> u32 {
    std::env::var("PENSTOCK_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(75)
}

#[test]
fn random_scenarios() {
    let mut rng = Rng::stream(2, "ahead");
    let mut ran = 0;
    while ran < cases() {
        let bytes: Vec<u8> = (0..300).map(|_| (rng.unit() * 256.0) as u8).collect();
        let text = space::scenario(&bytes);
        let Ok(scenario) = Scenario::from_toml(&text, "drawn.toml") else { continue };
        if scenario.lower_within(scenario.seed(), 1 << 30).is_ok() {
            the_same(&text, "drawn.toml");
            ran += 1;
        }
    }
}

/// Access links as fast as the bottleneck and a start every packet time or so: timers, ACKs and
/// starts of different flows fall on one instant, and their packets meet at the bottleneck.
#[test]
fn packets_that_meet() {
    for (flows, every, access, egress, extra) in [
        (300, "0.1 ms", "100 Mbit/s", "100 Mbit/s", ""),
        (300, "0 ms", "100 Mbit/s", "1 Gbit/s", ""),
        (50, "1.2 ms", "100 Mbit/s", "50 Mbit/s", "delayed_ack = true\n"),
        (
            40,
            "0.12 ms",
            "100 Mbit/s",
            "100 Mbit/s",
            "[[traffic]]\nkind = \"cbr\"\nrate = \"10 Mbit/s\"\npacket = \"1500 B\"\n",
        ),
        (
            20,
            "0.12 ms",
            "100 Mbit/s",
            "100 Mbit/s",
            "[[traffic]]\nkind = \"cbr\"\nflows = 5\nrate = \"10 Mbit/s\"\npacket = \"1500 B\"\n",
        ),
        (
            30,
            "0.12 ms",
            "100 Mbit/s",
            "100 Mbit/s",
            "[[traffic]]\nkind = \"ftp\"\nflows = 30\ndirection = \"reverse\"\n",
        ),
    ] {
        for profile in ["ns-2", "rfc"] {
            let text = format!(
                "duration = \"2 s\"\nprofile = \"{profile}\"\nmeasure = {{ from = \"0.5 s\" }}\n\
                 [topology]\n\
                 bottleneck = {{ rate = \"100 Mbit/s\", delay = \"10 ms\", buffer = 60 }}\n\
                 access = {{ rate = \"{access}\", delay = \"0.12 ms\" }}\n\
                 egress = {{ rate = \"{egress}\", delay = \"0.12 ms\" }}\n\
                 [aqm]\nkind = \"red\"\nmin_th = 5\nmax_th = 20\n\
                 [[traffic]]\nkind = \"ftp\"\nflows = {flows}\ntcp = \"newreno\"\n\
                 start = {{ every = \"{every}\", from = \"0 s\" }}\nsegment = \"1460 B\"\n{extra}"
            );
            the_same(&text, "meet.toml");
        }
    }
}

/// A link of a graph.
fn link((from, to, rate, delay): (&str, &str, &str, &str)) -> String {
    format!(
        "[[topology.link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate} Mbit/s\"\n\
         delay = \"{delay} ms\"\nreverse_rate = \"10 Mbit/s\"\nbuffer = 30\n"
    )
}

/// A source whose packets end behind a graph's last link.
fn source((from, rate, start): (&str, &str, &str)) -> String {
    format!(
        "[[traffic]]\nfrom = \"{from}\"\nto = \"R3\"\nkind = \"cbr\"\nrate = \"{rate} Mbit/s\"\n\
         start = \"{start} ms\"\npacket = \"1500 B\"\n"
    )
}

/// Runs a graph of these links with these sources.
fn meet(kind: &str, profile: &str, access: &str, links: &str, sources: &str) {
    let text = format!(
        "duration = \"0.6 s\"\nprofile = \"{profile}\"\n[topology]\nkind = \"graph\"\n\
         access = {{ rate = \"100 Mbit/s\", delay = \"{access} ms\" }}\n\
         egress = {{ rate = \"100 Mbit/s\", delay = \"0.12 ms\" }}\n\
         [aqm]\nkind = \"{kind}\"\n{links}{sources}"
    );
    the_same(&text, "links.toml");
}

/// Two links lead to a third, and all are busy all the time. What they send comes to the third at
/// one instant, or at those of its departures, and so do packets from hosts there. Whether something
/// was put on the wire before the packet in service, or before something else, depends on the way
/// that it came: one link is short, and an access link may be as long as the others.
#[test]
fn links_that_meet() {
    let all = [
        // Beside R0's: the links begin in step, and take in what comes to them at different times.
        [("R1", "40", "0"), ("R1", "60", "0.07"), ("R1", "30", "0.1")],
        [("R0", "50", "0"), ("R0", "50", "0.05"), ("R0", "30", "0.03")],
        [("R1", "50", "0"), ("R1", "50", "0.07"), ("R1", "30", "0.03")],
        [("R2", "50", "0"), ("R2", "50", "0.07"), ("R2", "20", "0.12")],
    ];
    let [last, one, short] =
        [("R2", "R3", "100", "12"), ("R1", "R2", "100", "12"), ("R0", "R2", "1000", "0")];
    let other = ("R0", "R2", "100", "12");
    for kind in ["red", "droptail", "codel", "choke", "fq-codel"] {
        for (profile, access, from) in [
            ("ns-2", "0.12", 0..2),
            ("ns-2", "0.12", 1..3),
            ("rfc", "0.12", 1..3),
            ("ns-2", "12", 2..4),
        ] {
            let sources = all[from].as_flattened().iter().copied().map(source);
            for links in [[one, other, last], [last, short, one], [one, short, last]] {
                let (links, sources) =
                    (links.map(link).concat(), sources.clone().collect::<String>());
                meet(kind, profile, access, &links, &sources);
            }
        }
    }
}

/// The same with links and sources that are drawn from a few rates and times, so that many of them
/// go in step. Two to four links lead to the last one. Sources come straight to them, by events of
/// their own, or by way of a link of their own, so that there is nothing but inboxes.
#[test]
fn drawn_links_that_meet() {
    let mut rng = Rng::stream(3, "ahead");
    let mut draw = |from: &[&'static str]| from[(rng.unit() * from.len() as f64) as usize];
    for _ in 0..cases() {
        let ends = [("S0", "R0"), ("S1", "R1"), ("S4", "R4"), ("S5", "R5")];
        let ends = &ends[..draw(&["2", "3", "4"]).parse().expect("a number")];
        let fed = draw(&["yes", "no"]) == "yes";
        let rates =
            if draw(&["busy", "idle"]) == "idle" { ["10", "20", "50"] } else { ["40", "50", "60"] };
        let (mut links, mut sources) = (String::new(), String::new());
        for (source, end) in ends {
            links += &link((end, "R2", draw(&["100", "100", "50"]), draw(&["12", "12", "6"])));
            if fed {
                links += &link((source, end, draw(&["100", "1000"]), draw(&["12", "6"])));
            }
            for _ in 0..3 {
                let from = if fed { source } else { end };
                let start = draw(&["0", "0", "0.07", "0.03", "0.12", "1"]);
                sources += &self::source((from, draw(&rates), start));
            }
        }
        links += &link(("R2", "R3", "100", "12"));
        let kind = draw(&["red", "droptail", "codel", "choke", "fq-codel"]);
        let (profile, access) = (draw(&["ns-2", "rfc"]), draw(&["0.12", "12"]));
        meet(kind, profile, access, &links, &sources);
    }
}

/// One source of datagrams, whose packets nobody else's meet: all of them are worked out in one
/// loop, through every discipline. At the link's own rate a packet comes whenever another one
/// leaves. Behind a second link, and where a reverse source makes it two, the loop is another one.
#[test]
fn a_lone_source() {
    let links = [
        "[topology]\nbottleneck = { rate = \"10 Mbit/s\", delay = \"10 ms\", buffer = 40 }\n",
        "[topology]\nbottleneck = { rate = \"10 Mbit/s\", delay = \"20 ms\", buffer = 30, loss = 0.02,\n\
         schedule = [{ at = \"0.5 s\", rate = \"3 Mbit/s\" }, { at = \"0.9 s\", rate = \"20 Mbit/s\" }] }\n",
        "[topology]\nkind = \"parking-lot\"\nhops = 2\ncross_flows = 0\n\
         link = { rate = \"10 Mbit/s\", delay = \"10 ms\", buffer = 40 }\n",
    ];
    let sources = [
        "kind = \"cbr\"\nrate = \"10 Mbit/s\"\n",
        "kind = \"cbr\"\nrate = \"20 Mbit/s\"\nstop = \"0.7 s\"\n",
        "kind = \"poisson\"\nrate = \"11 Mbit/s\"\n",
    ];
    for kind in KINDS {
        for link in links {
            for source in sources {
                let text = format!(
                    "duration = \"1.2 s\"\nmeasure = {{ from = \"0.3 s\", to = \"1.1 s\" }}\n{link}\
                     [aqm]\nkind = \"{}\"\n[[traffic]]\n{source}packet = \"1250 B\"\n",
                    kind.name
                );
                the_same(&text, "lone.toml");
            }
        }
    }
}
