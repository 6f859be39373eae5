//! Accurate ECN in a network: paths that clear ECN's field, and a queue in the way of the ACKs.

use crate::common::{good, metric};
use penstock_sim::{run, Config, Handle, RunResult, GROUP_METRICS, LINK_METRICS};

fn simulate(text: &str) -> RunResult {
    let scenario = good(text);
    let config = scenario.lower(scenario.seed()).unwrap();
    run(&Config { measure_links: true, ..config }, &Handle::default()).unwrap()
}

/// Cuts of all flows for marks.
fn cuts(r: &RunResult) -> f64 {
    let i = GROUP_METRICS.iter().position(|m| m.name == "ecn_cuts").expect("a metric");
    r.groups.iter().filter_map(|group| group[i]).sum()
}

/// Four flows through RED with marks, over a link with `link` more keys.
fn four_flows(link: &str, traffic: &str) -> String {
    format!(
        "seed = 1\nduration = \"20 s\"\n\
         [topology.bottleneck]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nbuffer = 100\n{link}\n\
         [aqm]\nkind = \"red\"\nmin_th = 5\nmax_th = 15\necn = true\n\
         [[traffic]]\nkind = \"ftp\"\nflows = 4\ntcp = \"sack\"\n{traffic}\n"
    )
}

/// Marks that a wire clears never reach anybody: the senders go on until the queue drops. Where the
/// SYN is capable too, its answer tells, and careful senders send nothing more that could be marked.
#[test]
fn a_bleaching_path_is_found_out() {
    let accurate = "ecn = \"accecn\"\naccecn_option = true\nect_on = \"all\"";
    let heard = simulate(&four_flows("", accurate));
    assert!(metric(&heard, "marks_ce") > 100.0 && cuts(&heard) > 50.0);
    let bleached = simulate(&four_flows("bleach = true", accurate));
    assert_eq!(cuts(&bleached), 0.0);
    assert!(metric(&bleached, "marks_ce") > 1000.0, "and in vain");
    assert!(metric(&bleached, "loss_ratio") > metric(&heard, "loss_ratio"));
    let careful = format!("{accurate}\necn_fallback = true");
    let found = simulate(&four_flows("bleach = true", &careful));
    assert!(metric(&found, "marks_ce") <= 4.0, "the SYNs alone");
    assert!(metric(&found, "loss_ratio") > 0.0);
    // On a path that leaves the field alone, care changes nothing.
    let careful = simulate(&four_flows("", &careful));
    assert_eq!(careful.metrics, heard.metrics);
}

/// Short transfers whose ACKs, and answers to SYNs, share a queue with a long transfer the other
/// way. Capable ones are marked there instead of dropped.
#[test]
fn capable_acks_get_through_a_full_queue() {
    let run = |ect_on: &str| {
        simulate(&format!(
            "seed = 1\nduration = \"60 s\"\n\
             [topology.bottleneck]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nbuffer = 200\n\
             reverse_rate = \"1 Mbit/s\"\n\
             [aqm]\nkind = \"droptail\"\n\
             [aqm.reverse]\nkind = \"codel\"\necn = true\n\
             [[traffic]]\nkind = \"ftp\"\nflows = 4\ntcp = \"sack\"\ndirection = \"reverse\"\n\
             ecn = \"accecn\"\nect_on = \"{ect_on}\"\n\
             [[traffic]]\nkind = \"ftp\"\nflows = 4\ntcp = \"sack\"\n\
             ecn = \"accecn\"\nect_on = \"{ect_on}\"\n"
        ))
    };
    let of_link = |r: &RunResult, name: &str| {
        let link = r.links.iter().find(|l| l.name == "bottleneck.reverse").expect("it is measured");
        let of = LINK_METRICS.iter().position(|m| m.name == name).expect("a metric");
        link.metrics[of].expect("it applies")
    };
    let (data, all) = (run("data"), run("all"));
    assert!(of_link(&data, "drops_early") > 50.0, "{}", of_link(&data, "drops_early"));
    assert_eq!(of_link(&all, "drops_early"), 0.0);
    assert!(of_link(&all, "marks_ce") > of_link(&data, "marks_ce"));
}
