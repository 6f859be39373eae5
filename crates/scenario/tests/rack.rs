//! `recovery = "rack"` in the simulator: CUBIC and Reno through DropTail, RED with ECN and CoDel.

use crate::common::{good, metric};
use penstock_sim::{run, Handle, RunResult};

fn through(aqm: &str, rate: &str, tcp: &str, recovery: &str) -> RunResult {
    let ecn = if aqm == "red" { "ecn = \"classic\"" } else { "" };
    let s = good(&format!(
        r#"
duration = "24 s"
[topology]
bottleneck = {{ rate = "{rate}", delay = "20 ms", buffer = 40 }}
access = {{ rate = "100 Mbit/s", delay = "1 ms" }}
[aqm]
kind = "{aqm}"
[[traffic]]
kind = "ftp"
flows = 4
start = {{ every = "100 ms", from = "0 s" }}
tcp = "{tcp}"
recovery = "{recovery}"
delayed_ack = true
initial_window = 10
{ecn}
"#
    ));
    run(&s.lower(s.seed()).unwrap(), &Handle::default()).unwrap()
}

/// Windows of a few segments live on probes and on the timer for reordering: where SACK falls back
/// on its timeout time and again, RACK hardly does. The links are as busy.
#[test]
fn timeouts_go_away() {
    let (mut timeouts, mut busy) = ([0.0, 0.0], [0.0, 0.0]);
    for aqm in ["droptail", "red", "codel"] {
        for tcp in ["cubic", "reno"] {
            for rate in ["1.5 Mbit/s", "10 Mbit/s"] {
                let with_sack = if tcp == "reno" { "sack" } else { tcp };
                for (i, (tcp, recovery)) in [(tcp, "rack"), (with_sack, "sack")].iter().enumerate()
                {
                    let r = through(aqm, rate, tcp, recovery);
                    timeouts[i] += metric(&r, "timeouts");
                    busy[i] += metric(&r, "utilization") / 12.0;
                }
            }
        }
    }
    assert!(10.0 * timeouts[0] < timeouts[1], "{timeouts:?}");
    assert!(busy[0] > busy[1] - 0.01, "{busy:?}");
}

/// 100 Mbit/s over 100 ms, a product of 833 segments. A window of 45 carries 5.2 Mbit/s for ever. One
/// that grows from 45 never limits a slow start, which is what it is made for; one from 10 costs some
/// round trips at first, and later nothing.
#[test]
fn a_receive_window_grows() {
    let goodput = |from: u32, keys: &str| {
        let to = from + 1;
        let s = good(&format!(
            r#"
profile = "linux"
duration = "{to} s"
measure = {{ from = "{from} s" }}
[topology]
bottleneck = {{ rate = "100 Mbit/s", delay = "50 ms", buffer = 800 }}
access = {{ rate = "1 Gbit/s", delay = "0 ms" }}
[aqm]
kind = "droptail"
[[traffic]]
kind = "ftp"
tcp = "reno"
start = "0 s"
{keys}
"#
        ));
        metric(&run(&s.lower(1).unwrap(), &Handle::default()).unwrap(), "goodput_bps")
    };
    let fixed = 45.0 * 1448.0 * 8.0 / 0.1;
    assert!((goodput(5, "window = 45") / fixed - 1.0).abs() < 0.02);
    let whole = goodput(0, "");
    assert_eq!(goodput(0, "window_start = 45"), whole);
    let grown = goodput(0, "window_start = 10");
    assert!(grown > 2.0 * fixed && grown < 0.7 * whole, "{grown} of {whole}");
    let (whole, grown) = (goodput(10, ""), goodput(10, "window_start = 10"));
    assert!(grown > 0.97 * whole && grown > 15.0 * fixed, "{grown} of {whole}");
    // A send buffer of 150 kB holds 100 segments, and is filled again when 66 are left.
    let held = goodput(5, "send_buffer = \"150 kB\"") / fixed;
    assert!(held > 66.0 / 45.0 && held < 100.0 / 45.0, "{held}");
    let large = goodput(10, "send_buffer = \"64 MiB\"");
    assert!((large / whole - 1.0).abs() < 0.01, "{large} of {whole}");
}
