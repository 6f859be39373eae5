//! CAKE in closed loop, as its authors say: hosts are equal before their flows are, tins have their
//! shares, and a load that answers nothing takes nothing from the others' shares.

use crate::common::{band, goodput, shipped, simulate};

/// Four downloads of one host and one of another: half each; with flows alone four to one. The
/// hosts are the sources for what goes the other way.
#[test]
fn hosts_are_equal() {
    let text = shipped("cake-hosts");
    let share = |text: &str| {
        let r = simulate(text);
        goodput(&r, 1) / (goodput(&r, 0) + goodput(&r, 1))
    };
    let isolation = |word: &str| text.replace("tins", &format!("isolation = \"{word}\"\ntins"));
    // Jain's index of 0.48 and 0.52 is 0.998.
    for (word, want) in
        [("triple-isolate", 0.5), ("dual-dsthost", 0.5), ("flows", 0.2), ("dual-srchost", 0.2)]
    {
        let got = share(&isolation(word));
        assert!((got - want).abs() < 0.02, "{word}: {got}");
    }
    // ACKs go the other way: data from right to left pass the link's reverse direction, where the
    // same names are their destinations, too.
    let back = isolation("dual-dsthost")
        .replace("[aqm]\n", "[aqm.reverse]\nkind = \"cake\"\nisolation = \"dual-dsthost\"\n[aqm]\n")
        .replace("kind = \"ftp\"", "kind = \"ftp\"\ndirection = \"reverse\"");
    let got = share(&back);
    assert!((got - 0.5).abs() < 0.02, "{got}");
}

/// 10 Mbit/s: full tins have 6.25, 50 and, with the calls' 0.24 Mbit/s, the rest. Calls wait for a
/// packet in service, two at most.
#[test]
fn tins_have_their_shares() {
    let r = simulate(&shipped("cake-tins"));
    let got = ["best-effort", "bulk", "video", "voice"].map(|name| {
        (100.0 * band(&r, name, "throughput_bps") / 10e6, 1e3 * band(&r, name, "delay_p99_s"))
    });
    println!("{got:?}");
    for ((share, _), want) in got.iter().zip([41.3, 6.25, 50.0, 2.4]) {
        assert!((share - want).abs() < 1.5, "{got:?}");
    }
    assert!(got[3].1 < 3.0, "{got:?}");
}

/// Datagrams at twice the rate beside one TCP: TCP has its half.
#[test]
fn a_flood_takes_its_share_and_no_more() {
    let text = shipped("cake-hosts");
    let start = text.find("[[traffic]]").unwrap();
    let traffic =
        "[[traffic]]\nkind = \"ftp\"\n[[traffic]]\nkind = \"cbr\"\nrate = \"40 Mbit/s\"\n\
                   packet = \"1500 B\"\n";
    let got = goodput(&simulate(&(text[..start].to_owned() + traffic)), 0) / 1e6;
    assert!((9.0..10.2).contains(&got), "{got}");
}
