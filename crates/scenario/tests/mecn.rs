//! Multi-level ECN end to end (docs/mecn.md): who is told what where multi-level, classic and no
//! ECN meet.

use crate::common::metric;
use penstock_scenario::Scenario;
use penstock_sim::{run, Handle, RunResult, GROUP_METRICS};

fn simulate(text: &str) -> RunResult {
    let scenario = Scenario::from_toml(text, "mecn.toml").unwrap_or_else(|e| panic!("{e}\n{text}"));
    run(&scenario.lower(1).expect("a small run"), &Handle::default()).expect("a run")
}

fn of_group(r: &RunResult, group: usize, name: &str) -> f64 {
    let i = GROUP_METRICS.iter().position(|m| m.name == name).expect("a metric");
    r.groups[group][i].unwrap_or(0.0)
}

/// Eight flows into 10 Mbit/s; thresholds wide enough that the average stays below the upper one.
fn dumbbell(aqm: &str, ecn: &str) -> RunResult {
    simulate(&format!(
        "duration = \"40 s\"\nmeasure = {{ from = \"5 s\" }}\n[topology]\n\
         bottleneck = {{ rate = \"10 Mbit/s\", delay = \"20 ms\", buffer = 400 }}\n\
         [aqm]\nmin_th = 5\nmax_th = 90\n{aqm}\n\
         [[traffic]]\nkind = \"ftp\"\nflows = 8\nstart = {{ uniform = [\"0 s\", \"1 s\"] }}\necn = \"{ecn}\"\n"
    ))
}

const MECN: &str = "kind = \"mecn\"\nmid_th = 15\np2_max = 0.3";

#[test]
fn both_ends_and_the_router_speak_it() {
    for codepoints in ["wire", "literal"] {
        let r = dumbbell(&format!("{MECN}\ncodepoints = \"{codepoints}\""), "mecn");
        let (incipient, moderate) = (metric(&r, "marks_incipient"), metric(&r, "marks_ce"));
        assert!(incipient > 100.0 && moderate > 20.0, "{codepoints}: {incipient} {moderate}");
        // Retransmissions after the first slow start may not be marked.
        assert!(metric(&r, "loss_ratio") < 0.001, "{codepoints}: {}", metric(&r, "loss_ratio"));
        // Each level is answered as such, at most once a window: no more cuts than marks.
        let cuts = ["cuts_incipient", "cuts_moderate"].map(|n| of_group(&r, 0, n));
        assert!(cuts[0] > 50.0 && cuts[1] > 10.0, "{codepoints}: {cuts:?}");
        assert!(cuts[0] <= incipient + 8.0 && cuts[1] <= moderate + 8.0, "{codepoints}: {cuts:?}");
        assert_eq!(of_group(&r, 0, "ecn_cuts"), cuts[0] + cuts[1]);
        assert!(metric(&r, "utilization") > 0.95);
    }
}

/// A classic router knows one mark, CE, which a multi-level sender reads as moderate congestion.
#[test]
fn multi_level_traffic_through_a_classic_router() {
    let r = dumbbell("kind = \"red\"\necn = true", "mecn");
    assert_eq!(metric(&r, "marks_incipient"), 0.0);
    assert!(metric(&r, "marks_ce") > 50.0 && metric(&r, "loss_ratio") < 0.001);
    assert_eq!(of_group(&r, 0, "cuts_incipient"), 0.0);
    assert!(of_group(&r, 0, "cuts_moderate") > 20.0);
    assert!(metric(&r, "utilization") > 0.95);
}

/// A classic receiver sees nothing in ECT(1): only moderate marks are answered.
#[test]
fn classic_traffic_through_a_multi_level_router() {
    let r = dumbbell(MECN, "classic");
    assert!(metric(&r, "marks_incipient") > 100.0 && metric(&r, "marks_ce") > 20.0);
    let cuts = of_group(&r, 0, "ecn_cuts");
    assert!(cuts > 10.0 && cuts <= metric(&r, "marks_ce") + 8.0, "{cuts}");
    // Without moderate marks nothing holds it below max_th, where drops begin.
    let r = dumbbell("kind = \"mecn\"\nmid_th = 90\np2_max = 0\np1_max = 1", "classic");
    assert!(metric(&r, "marks_incipient") > 1000.0);
    assert_eq!((metric(&r, "marks_ce"), of_group(&r, 0, "ecn_cuts")), (0.0, 0.0));
    assert!(metric(&r, "drops_early") > 0.0);
}

/// What cannot be marked is dropped where it would be.
#[test]
fn no_ecn_through_a_multi_level_router() {
    let r = dumbbell(MECN, "off");
    assert_eq!((metric(&r, "marks_incipient"), metric(&r, "marks_ce")), (0.0, 0.0));
    assert!(metric(&r, "drops_early") > 50.0);
    assert!(of_group(&r, 0, "retransmits") >= metric(&r, "drops_early") - 8.0);
}

/// Two links, both with a queue: the first's from bursts, the second's because it is slower.
#[test]
fn routers_in_series_never_lower_a_mark() {
    let incipient =
        "kind = \"mecn\"\nmin_th = 0.1\nmid_th = 200\nmax_th = 200\np1_max = 1\nw_q = 1\n";
    let moderate = "kind = \"step\"\nthreshold = 0\n"; // whatever does not find the queue empty
    let through = |first: &str, second: &str| {
        simulate(&format!(
            "duration = \"20 s\"\nmeasure = {{ from = \"2 s\" }}\n[topology]\nkind = \"graph\"\nbottleneck = \"b-c\"\n\
             [[topology.link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"4 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = 300\n\
             [topology.link.aqm]\n{first}\
             [[topology.link]]\nfrom = \"b\"\nto = \"c\"\nrate = \"3.9 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = 300\n\
             [topology.link.aqm]\n{second}\
             [[traffic]]\nkind = \"ftp\"\nfrom = \"a\"\nto = \"c\"\nflows = 4\necn = \"mecn\"\n"
        ))
    };
    let marks = |r: &RunResult| (metric(r, "marks_incipient"), metric(r, "marks_ce"));
    let cuts = |r: &RunResult| (of_group(r, 0, "cuts_incipient"), of_group(r, 0, "cuts_moderate"));
    let alone = through("kind = \"droptail\"\n", incipient);
    assert!(marks(&alone).0 > 50.0 && marks(&alone).1 == 0.0 && cuts(&alone).1 == 0.0);
    // A second router raises an incipient mark to a moderate one, and never the other way.
    let raised = through(incipient, moderate);
    assert!(
        marks(&raised).1 > 20.0 && cuts(&raised).1 > 20.0,
        "{:?} {:?}",
        marks(&raised),
        cuts(&raised)
    );
    let kept = through(moderate, incipient);
    assert_eq!(marks(&kept).1, 0.0, "no moderate mark is the second router's");
    assert!(cuts(&kept).1 > 20.0, "those of the first arrive: {:?}", cuts(&kept));
}

/// Classes share a buffer under overload: the higher a class, the less of it is lost.
#[test]
fn classes_are_dropped_in_the_order_of_their_priority() {
    let udp = |class: u32| {
        format!(
            "[[traffic]]\nkind = \"poisson\"\nrate = \"8 Mbit/s\"\npacket = \"1000 B\"\nclass = {class}\n"
        )
    };
    for classes in [[0, 1, 2], [0, 8, 46]] {
        let r = simulate(&format!(
            "duration = \"30 s\"\nmeasure = {{ from = \"2 s\" }}\n[topology]\n\
             bottleneck = {{ rate = \"10 Mbit/s\", delay = \"20 ms\", buffer = 100 }}\n[aqm]\nkind = \"pdt-red\"\n{}",
            classes.map(udp).concat()
        ));
        let through = [0, 1, 2].map(|g| of_group(&r, g, "goodput_bps") / 8e6);
        assert!(through[0] < 0.05 && through[1] + 0.02 < through[2], "{classes:?}: {through:?}");
        assert!((through.iter().sum::<f64>() - 1.25).abs() < 0.05, "the link is full: {through:?}");
    }
}
