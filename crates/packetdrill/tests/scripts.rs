//! Scripts of our own, written from the RFCs: each passes, and each change to one is noticed.

use penstock_packetdrill::{run, say, Expected, Verdict};
use penstock_units::param::Profile;
use std::fs;
use std::path::Path;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts")
}

fn script(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The first line of a script names its profile.
fn verdict(text: &str) -> Verdict {
    let first = text.lines().next().unwrap_or("");
    let name = first.strip_prefix("// profile ").unwrap_or_else(|| panic!("no profile: {first}"));
    let profile = Profile::ALL.iter().find(|profile| profile.word() == name);
    run(text, *profile.unwrap_or_else(|| panic!("no profile {name}")))
}

#[test]
fn our_own_scripts_pass() {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder()).expect("the folder") {
        names.push(entry.expect("an entry").file_name().to_string_lossy().into_owned());
    }
    names.sort();
    for name in &names {
        let verdict = verdict(&script(name));
        assert!(matches!(verdict, Verdict::Passed(_)), "{name}: {}", say(&verdict));
    }
    let unbroken: Vec<&String> =
        names.iter().filter(|name| BROKEN.iter().all(|b| b.0 != name.as_str())).collect();
    assert!(unbroken.is_empty(), "nothing is known to break these: {unbroken:?}");
}

/// One change to a script, and what the runner says then: each kind of check can fail.
const BROKEN: &[(&str, &str, &str, &str)] = &[
    // Bytes: a run of segments that is too short, too long, or another.
    (
        "slow-start.pkt",
        "1:10001(10000)",
        "1:9501(9500)",
        "line 14: expected data 1:9501; got data 9001:10001",
    ),
    (
        "slow-start.pkt",
        "1:10001(10000)",
        "1:11001(11000)",
        "expected data 1:11001 at 0.100000 s; got data 1:1001 again at 1.1",
    ),
    ("slow-start.pkt", "10001:12001(2000)", "11001:13001(2000)", "got data 10001:11001"),
    // Assertions.
    ("slow-start.pkt", "cwnd == 10", "cwnd == 11", "expected tcpi_snd_cwnd == 11 and"),
    ("slow-start.pkt", "cwnd += 2", "cwnd += 3", "got tcpi_snd_cwnd = 12, cwnd = 13"),
    ("slow-start.pkt", "tcpi_rtt < 113000", "tcpi_rtt < 100000", "tcpi_rtt = 1"),
    // Times: too early, too late, outside of a range, not at all.
    ("timeout.pkt", "+2 > ", "+2.3 > ", "at 3.500000 s; got data 1:1001 again at 3.200000 s"),
    ("timeout.pkt", "+2 > ", "+1.7 > ", "at 2.900000 s; got data 1:1001 again at 3.200000 s"),
    (
        "timeout.pkt",
        "1.2~1.21",
        "1.4~1.5",
        "at 1.400000 to 1.500000 s; got data 1:1001 again at 1.2",
    ),
    ("timeout.pkt", "1.2~1.21", ".2", "line 14: expected data 1:1001 at 0.200000 s"),
    // A retransmission, and which.
    ("recovery.pkt", "> . 1:1001(1000)", "> . 4001:5001(1000)", "got data 1:1001 again"),
    (
        "recovery.pkt",
        "1001:4001",
        "1001:3001",
        "at 0.202000 s; got data 1:1001 again at 1.100000 s",
    ),
    // ECN: the SYN's bits, code points, the header's bits.
    ("marks.pkt", "SE. 0", "S. 0", "expected a SYN, NotEct; got a SYN"),
    ("marks.pkt", "[ect0] P.", "[ect1] P.", "expected data 1:10001, Ect1; got data 1:1001"),
    ("marks.pkt", "[ect01]", "[noecn]", "expected data 10001:11001, CWR, NotEct"),
    ("marks.pkt", "WP.", "P.", "got data 10001:11001, CWR"),
    ("marks.pkt", "[ect0] . 11001", "[ect0] W. 11001", "expected data 11001:12001, CWR, Ect0"),
    // The receiver: numbers, blocks and their order, the echo, the ACK on data.
    ("receiver.pkt", "> . 1:1(0) ack 1001\n", "> . 1:1(0) ack 1\n", "got an ACK of 1001"),
    (
        "receiver.pkt",
        "sack 4001:4501 2001:3001",
        "sack 2001:3001 4001:4501",
        "4001:4501, 2001:3001",
    ),
    ("receiver.pkt", "<nop,nop,sack 4001:4501>", "", "got an ACK of 3001, 4001:4501, ECE"),
    ("receiver.pkt", "> E.", "> .", "got an ACK of 3001, 4001:4501, ECE"),
    ("receiver.pkt", "[ect0] W.", "[ect0] .", "got an ACK of 4501, ECE"),
    (
        "receiver.pkt",
        "(1000) ack 3001",
        "(1000) ack 1",
        "expected data 1:1001, Ect0; got data 1:1001",
    ),
    ("receiver.pkt", "write(4, ..., 1000) = 1000", "bind(3) = 0", "got nothing until"),
    ("connect.pkt", "> SEW", "> S", "expected a SYN; got a SYN, CWR ECE"),
    ("connect.pkt", "> . 1:1(0) ack 1", "> P. 1:2001(2000) ack 1", "got an ACK of 1"),
    // Linux: growth, restart, RACK's timer, PRR, undo, the probe and the timeout, held-back ACKs.
    ("linux-slow-start.pkt", "cwnd == 17", "cwnd == 14", "got tcpi_snd_cwnd = 17"),
    ("linux-slow-start.pkt", "cwnd == 10", "cwnd == 17", "got tcpi_snd_cwnd = 10"),
    ("linux-slow-start.pkt", "after_idle=1", "after_idle=0", "expected tcpi_snd_cwnd == 10"),
    ("linux-recovery.pkt", "+.027", "+.04", "at 0.240000 s; got data 8001:9001 again at 0.227"),
    ("linux-recovery.pkt", "tcpi_lost == 1", "tcpi_lost == 0", "tcpi_lost = 1, tcpi_retrans = 1"),
    ("linux-recovery.pkt", "tcpi_unacked == 2", "tcpi_unacked == 3", "tcpi_unacked = 2"),
    ("linux-recovery.pkt", "<sack 8001:9001", "<sack 9001:9001", "got data 23001:24001 at 0.4"),
    ("linux-probe.pkt", "P. 4001:5001", "P. 1:1001", "got data 4001:5001 again"),
    ("linux-probe.pkt", "rto == 300000", "rto == 200000", "tcpi_rto = 300000"),
    ("linux-probe.pkt", "tcp_ecn=0", "tcp_early_retrans=0", "got data 1:1001 again at 0.4"),
    ("linux-receiver.pkt", "+.04 >", "+.2 >", "got an ACK of 24001 at 0.165000 s"),
    ("linux-receiver.pkt", "ack 24001 <nop,nop,sack 22001:23001>", "ack 24001", "22001:23001"),
    // AccECN: reflection, fallback, the field, the option's counters.
    ("accecn-server.pkt", "> [noecn] SEW.", "> [noecn] SW.", "got a SYN, CWR ECE, e1b 1"),
    ("accecn-server.pkt", "+2 > S.", "+2 > SEW.", "expected a SYN, CWR ECE; got a SYN"),
    (
        "accecn-server.pkt",
        "[ect0] P.6 1:1001(1000) ack 1 <",
        "[ect0] P.5 1:1001(1000) ack 1 <",
        "AE CWR",
    ),
    ("accecn-server.pkt", "e0b 1001,nop>\n   +0 read", "e0b 1,nop>\n   +0 read", "e0b 1001"),
    ("accecn-server.pkt", "ce_bytes == 1000", "ce_bytes == 0", "tcpi_delivered_ce_bytes = 1000"),
    ("accecn-client.pkt", "> S 0", "> SEWA 0", "expected a SYN, AE CWR ECE; got a SYN"),
    ("accecn-client.pkt", "WA. 1:1", "W. 1:1", "got an ACK of 1, AE CWR, Ect0"),
    ("accecn-client.pkt", "+1 > S", "+2 > S", "got a SYN, AE CWR ECE at 1.000000 s"),
];

#[test]
fn each_change_is_noticed() {
    let mut wrong = Vec::new();
    for (name, part, instead, says) in BROKEN {
        let text = script(name);
        assert!(text.contains(part), "{name}: {part}");
        let verdict = verdict(&text.replacen(part, instead, 1));
        let said = say(&verdict);
        if !matches!(verdict, Verdict::Failed(_)) || !said.contains(says) {
            wrong.push(format!("{name}: {part} -> {instead}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What makes a script not expressible, and the reason that is given.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "`sysctl -q net.ipv4.tcp_ecn=1`",
        "`sysctl net.ipv4.tcp_tw_reuse=1`",
        "the sysctl tcp_tw_reuse = 1",
    ),
    (
        "`sysctl -q net.ipv4.tcp_ecn=1`",
        "`sysctl net.ipv4.tcp_recovery=0`",
        "the sysctl tcp_recovery = 0",
    ),
    ("`sysctl -q net.ipv4.tcp_ecn=1`", "`ethtool -K tun0`", "the command ethtool"),
    ("`sysctl -q net.ipv4.tcp_ecn=1`", "--strict_segments", "the option strict_segments"),
    ("= 0\n   +0 > SEW", "= 0\n+0 ioctl(3, 1) = 0\n   +0 > SEW", "the call ioctl"),
    (
        "= 0\n   +0 > SEW",
        "= 0\n+0 setsockopt(3, SOL_TCP, TCP_CORK, [1], 4) = 0\n   +0 > SEW",
        "TCP_CORK",
    ),
    ("+0 write(3, ..., 2000) = 2000", "+0 write(3, ..., 2000) = 1000", "a write that takes less"),
    (
        "+0 write(3, ..., 2000) = 2000",
        "+0 accept(3, ..., ...) = -1 EAGAIN",
        "the call accept that fails",
    ),
    ("+0 write(3, ..., 2000) = 2000", "+0...1 accept(3, ..., ...) = 4", "a call that blocks"),
    ("+0 write(3, ..., 2000) = 2000", "+0 `sysctl -q net.ipv4.tcp_ecn=0`", "changes under way"),
    ("+0 write(3, ..., 2000) = 2000", "+0 %{ import os }%", "the statement `import`"),
    ("+0 write(3, ..., 2000) = 2000", "+0 %{ assert tcpi_advmss == 1 }%", "the name tcpi_advmss"),
    ("+0 write(3, ..., 2000) = 2000", "+0 < . 1:1(0) ack 1 win 0", "without room for a segment"),
    (
        "+0 write(3, ..., 2000) = 2000",
        "+0 < . 1:1(0) ack 1 win 9 <nop,nop,TS val 1 ecr 2>",
        "timestamps of the peer",
    ),
    ("[ect0] P. 1:2001(2000) ack 1", "P. 1:2001(2000) ack 1 <md5 aa>", "the TCP option md5"),
    ("[ect0] P. 1:2001(2000) ack 1", "P. 1:2001(2000)", "without an acknowledgement"),
];

#[test]
fn what_cannot_be_expressed_is_not_run() {
    let text = script("connect.pkt");
    for (part, instead, reason) in REFUSED {
        assert_eq!(text.matches(part).count(), 1, "{part}");
        let text = text.replacen(part, instead, 1);
        let text = text.replace("P. 1:2001(2000)\n", "P 1:2001(2000)\n");
        let verdict = verdict(&text);
        let said = say(&verdict);
        assert!(matches!(verdict, Verdict::Refused { .. }), "{instead}: {said}");
        assert!(said.contains(reason), "{instead}: {said}");
    }
}

/// A run stops where closing begins; a script that does nothing else shows nothing.
#[test]
fn closing_ends_a_run() {
    let text = script("recovery.pkt");
    let Verdict::Passed(passed) = verdict(&text) else { panic!("passes") };
    assert_eq!(passed.stopped, Some(26));
    let shut = "// profile rfc\n+0 < S 0:0(0) win 9 <mss 1000>\n+0 > S. 0:0(0) ack 1 <...>\n\
                +0 < . 1:1(0) ack 1 win 9\n+0 < F. 1:1(0) ack 1 win 9\n";
    assert!(say(&verdict(shut)).contains("line 5: the end of a connection"));
}

/// The list and the page tell the same of each script.
#[test]
fn the_page_is_that_of_the_list() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| fs::read_to_string(here.join(name)).expect(name);
    let expected = Expected::read(&read("scripts.txt")).expect("a list");
    let page = read("../../docs/packetdrill.md");
    let (failing, rest) = page.split_once("\n## Scripts that pass\n").expect("two tables");
    let passing = rest.split("\n## ").next().unwrap_or("");
    let rows = |table: &str| -> Vec<String> {
        let names = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        names.filter(|name| name.ends_with(".pkt")).map(str::to_string).collect()
    };
    assert_eq!(rows(passing), expected.passing().collect::<Vec<_>>());
    assert_eq!(rows(failing), expected.failing().collect::<Vec<_>>());
}
