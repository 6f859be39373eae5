//! Facts that follow from a scenario before anything runs, worked out by hand.

use penstock_scenario::{Facts, FullPacket, Scenario};

fn facts(text: &str) -> Facts {
    Scenario::from_toml(text, "facts.toml").unwrap_or_else(|e| panic!("{e}")).facts()
}

const DUMBBELL: &str = r#"
duration = "9 s"
measure = { from = "2 s" }
overhead = "40 B"
aqm = { kind = "mecn", mean_packet = "500 B" }
[topology]
bottleneck = { rate = "8 Mbit/s", delay = "10 ms", buffer = 100, reverse_rate = "1 Mbit/s" }
access = { rate = "80 Mbit/s", delay = "1 ms" }
egress = { rate = "16 Mbit/s", delay = "2 ms" }
[[traffic]]
kind = "ftp"
flows = 3
segment = "960 B"
[[traffic]]
kind = "ftp"
name = "one file"
bytes = "1 MB"
from = "R1"
to = "R0"
[[traffic]]
kind = "cbr"
rate = "1 Mbit/s"
packet = "100 B"
"#;

/// C is 2000 packets of 500 B: min_th = max(5, 5 ms · C/2) = 5, max_th three times that, mid_th at
/// five eighths.
#[test]
fn of_a_dumbbell() {
    let found = facts(DUMBBELL);
    assert_eq!((found.from_s, found.to_s), (2.0, 9.0));
    let link = &found.bottleneck;
    assert_eq!((link.path.as_str(), link.aqm_path.as_str()), ("topology.bottleneck", "aqm"));
    assert_eq!((link.rate_bps, link.delay_s, link.forward), (8e6, 0.010, true));
    assert_eq!((link.buffer_bytes, link.room_pkts(), link.in_bytes), (50_000, 100, false));
    let settled = |name| link.settled.iter().find(|each| each.0 == name).unwrap().1;
    assert_eq!([settled("min_th"), settled("mid_th"), settled("max_th")], [5.0, 11.25, 15.0]);
    assert!((settled("w_q") - (1.0 - libm::exp(-1.0 / 2000.0))).abs() < 1e-12);
    let back = found.opposite.unwrap();
    assert_eq!((back.aqm_path.as_str(), back.rate_bps, back.forward), ("aqm.reverse", 1e6, false));
    assert!(back.settled.is_empty(), "a plain queue has no such keys");
}

/// 8000 bits take 1 ms at the bottleneck, 0.1 and 0.5 ms at the ends.
#[test]
fn of_groups() {
    let found = facts(DUMBBELL).groups;
    let [long, file, datagrams] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((long.name.as_str(), long.kind, long.flows), ("ftp", "ftp", 3));
    assert_eq!((long.endless, long.forward), (true, true));
    assert_eq!((file.name.as_str(), file.endless, file.forward), ("one file", false, false));
    assert!(!datagrams.endless && datagrams.full_packet.is_none());
    let Some(FullPacket { segment, header, sending_s }) = long.full_packet else { panic!() };
    assert_eq!((segment, header), (960, 40));
    assert!((sending_s - 0.0016).abs() < 1e-12, "{sending_s}");
    let (least, most) = long.round_trip_s.unwrap();
    assert!((least - 0.026).abs() < 1e-12 && least == most, "{least} {most}");
}

const GRAPH: &str = r#"
duration = "1 s"
aqm = { kind = "red", min_th = "5 kB", max_th = "20 kB" }
[topology]
kind = "graph"
bottleneck = "B-C"
link = [
  { from = "A", to = "B", rate = "8 Mbit/s", delay = "1 ms", buffer = 9, one_way = true },
  { from = "B", to = "C", rate = "1 Mbit/s", delay = "2 ms", buffer = 10 },
  { from = "B", to = "A", rate = "4 Mbit/s", delay = "3 ms", buffer = 9, one_way = true },
]
[[traffic]]
kind = "ftp"
from = "A"
to = "C"
"#;

/// A threshold in bytes makes the queue count bytes, the buffer's ten packets of 1000 B among them.
#[test]
fn of_a_link_in_a_graph() {
    let link = facts(GRAPH).bottleneck;
    assert_eq!((link.path.as_str(), link.aqm_path.as_str()), ("topology.link.1", "aqm"));
    assert_eq!((link.in_bytes, link.buffer_bytes, link.room_pkts()), (true, 10_000, 10));
    assert!(link.settled.contains(&("min_th", 5e3)) && link.settled.contains(&("max_th", 20e3)));
    let found = facts(&GRAPH.replace("B-C", "C-B"));
    assert_eq!(
        (found.bottleneck.path.as_str(), found.bottleneck.forward),
        ("topology.link.1", false)
    );
    assert!(found.opposite.is_some_and(|link| link.forward));
    let found = facts(&GRAPH.replace("B-C", "B-A"));
    assert_eq!(found.bottleneck.path, "topology.link.2");
    assert_eq!(found.opposite, None, "another table's link goes back");
}
