//! Every message: where, what was found, what is allowed, what is nearest.

use crate::common::{self, good, message, EXAMPLE, SMALL};
use penstock_scenario::Scenario;

/// A line put at the end of `SMALL` (an `ftp` entry; line 7), and parts of its message.
#[test]
fn one_line_too_many() {
    for (line, parts) in [
        (
            "flwos = 2",
            &["load.toml:7: traffic.0.flwos: unknown key; nearest: flows; allowed: kind, name"][..],
        ),
        ("flows = 0", &["load.toml:7: traffic.0.flows = 0: must be a whole number in [1, 10000000]"]),
        ("flows = 1000000000000000000", &["traffic.0.flows = 1000000000000000000: must be a whole number"]),
        ("flows = 99999999999999999999999", &["traffic.0.flows = 1e23: must be a whole number"]),
        ("flows = 2.5", &["traffic.0.flows = 2.5: must be a whole number"]),
        ("flows = \"2\"", &["traffic.0.flows = \"2\": must be a whole number"]),
        ("flows = nan", &["must be a whole number"]),
        ("cwnd_floor = nan", &["must be a number in [0, 1000]"]),
        ("cwnd_floor = inf", &["must be a number in [0, 1000]"]),
        ("gamma = 0.0", &["traffic.0.gamma = 0.0: must be a number in (0, "]),
        ("delayed_ack = 1", &["traffic.0.delayed_ack = 1: must be true or false"]),
        (
            "tcp = \"rneo\"",
            &["traffic.0.tcp = \"rneo\": must be one of \"tahoe\", \"reno\"", "nearest: \"reno\""],
        ),
        ("tcp = 3", &["traffic.0.tcp = 3: must be one of"]),
        ("name = 3", &["traffic.0.name = 3: must be a text"]),
        (
            "min_rto = 1",
            &[
                "load.toml:7: traffic.0.min_rto = 1: needs a unit, for example \"1 s\"",
                "allowed units: ns, us",
            ],
        ),
        ("min_rto = \"1 sek\"", &["unknown unit \"sek\"; allowed: ns, us, µs, ms, s, min, h, nsec", "nearest: sec"]),
        ("min_rto = \"-1 s\"", &["must not be negative"]),
        ("min_rto = \"soon\"", &["must be a number with a unit, for example \"40 ms\""]),
        ("min_rto = true", &["must be a time with its unit, for example \"40 ms\""]),
        ("min_rto = 07:32:00", &["traffic.0.min_rto = 07:32:00: must be a time with its unit"]),
        ("min_rto = \"100 s\"", &["load.toml:7: traffic.0.min_rto = \"100 s\": must not be above max_rto"]),
        (
            "tcp = \"vegas\"\necn = \"accecn\"",
            &["load.toml:8: traffic.0.ecn = \"accecn\": must be \"off\" with"],
        ),
        (
            "tcp = \"vegas\"\necn = \"mecn\"",
            &[
                "load.toml:8: traffic.0.ecn = \"mecn\": must be \"off\" with tcp = \"vegas\": table 3",
                "Vegas stops by the round-trip time",
            ],
        ),
        (
            "tcp = \"dctcp\"\necn = \"mecn\"",
            &[
                "load.toml:8: traffic.0.ecn = \"mecn\": must be \"classic\", \"accecn\" or \"sce\"",
                "table 3 of multi-level ECN has a cut for each mark",
            ],
        ),
        (
            "tcp = \"highspeed\"\nlow_window = 90000",
            &["load.toml:8: traffic.0.low_window = 90000: must be below high_window (83000)"],
        ),
        (
            "tcp = \"dctcp\"\necn = \"off\"",
            &["load.toml:8: traffic.0.ecn = \"off\": must be \"classic\", \"accecn\" or \"sce\""],
        ),
        (
            "ecn = \"mecn\"\nbeta1 = 0.41",
            &["load.toml:8: traffic.0.beta1 = 0.41: must not be above beta2 (0.4)"],
        ),
        ("ecn = \"mecn\"\nbeta3 = 0.3", &["traffic.0.beta2 = 0.4 (default): must not be above beta3 (0.3)"]),
        (
            "ecn = \"classic\"\nhandshake = false",
            &["load.toml:8: traffic.0.handshake = false: must be true with ECN"],
        ),
        ("segment = 1000", &["traffic.0.segment = 1000: needs a unit, for example \"1000 B\""]),
        ("segment = \"0 B\"", &["traffic.0.segment = \"0 B\": must be between 1 B"]),
        ("segment = \"1 GB\"", &["traffic.0.segment = \"1 GB\": must be between 1 B"]),
        ("bytes = 0", &["traffic.0.bytes = 0: must be between 1 B"]),
        (
            "start = { unifrom = [\"0 s\", \"1 s\"] }",
            &["traffic.0.start.unifrom: unknown key; nearest: uniform"],
        ),
        ("start = { uniform = [\"2 s\", \"1 s\"] }", &["the first time must not be above the second"]),
        (
            "start = { uniform = [\"2 s\"] }",
            &["traffic.0.start.uniform = [\"2 s\"]: must be a list of two times"],
        ),
        ("start = { from = \"2 s\" }", &["must be a time, { uniform = [a, b] } or { every = d, from = t }"]),
        ("start = [1]", &["must be a time, { uniform"]),
        ("start = 3", &["traffic.0.start = 3: needs a unit, for example \"3 s\""]),
        (
            "start = \"5 s\"\nstop = \"5 s\"",
            &["load.toml:8: traffic.0.stop = \"5 s\": must be above start (5 s)"],
        ),
        ("access_delay = \"5 ms\"", &["traffic.0.access_delay = \"5 ms\": needs topology.access"]),
        (
            "access_delay = { spred = [\"1 s\", \"2 s\"] }",
            &["traffic.0.access_delay.spred: unknown key; nearest: spread"],
        ),
        ("from = \"R2\"", &["traffic.0.from = \"R2\": must be a router, \"R0\" to \"R1\""]),
        ("from = \"R1\"", &["traffic.0.from = \"R1\": the data would stay at R1"]),
        (
            "from = \"R1\"\nto = \"R0\"\ndirection = \"forward\"",
            &["traffic.0.direction = \"forward\": contradicts from and to"],
        ),
        ("class = 64", &["must be a whole number in [0, 63]"]),
        (
            "[aqm]\nkind = \"rde\"",
            &["load.toml:8: aqm.kind = \"rde\": must be one of \"droptail\", \"red\"", "nearest: \"red\""],
        ),
        ("[aqm]\nmax_pp = 0.1", &["load.toml:8: aqm.max_pp: unknown key; nearest: max_p"]),
        ("[aqm]\nmax_p = 1.5", &["load.toml:8: aqm.max_p = 1.5: must be a number in (0, 1]"]),
        ("[aqm]\nw_q = \"atuo\"", &["nearest: \"auto\""]),
        (
            "[aqm]\nkind = \"red\"\nw_q = 2",
            &["aqm.w_q = 2: must be a number in (0, 1] or one of \"auto\", \"rtt\""],
        ),
        (
            "[aqm]\nkind = \"red\"\nmax_th = 15\nmin_th = 20",
            &["load.toml:10: aqm.min_th = 20: must be below", "15"],
        ),
        (
            "[aqm]\nkind = \"red\"\nmin_th = \"5 pakets\"",
            &["unknown unit \"pakets\"; allowed: packets, packet, pkts, pkt, p, B", "nearest: packets"],
        ),
        ("[aqm]\nmean_packet = \"0 B\"", &["aqm.mean_packet = \"0 B\": must be above 0 B"]),
        ("[aqm.reverse]\nkind = \"x\"", &["load.toml:8: aqm.reverse.kind = \"x\": must be one of"]),
        ("[aqm]\nreverse = 3", &["load.toml:8: aqm.reverse = 3: must be a table"]),
        (
            "[measure]\nfrom = \"10 s\"",
            &["load.toml:8: measure.from = \"10 s\": must be below the end of the run (10 s)"],
        ),
        (
            "[measure]\nto = \"11 s\"",
            &["load.toml:8: measure.to = \"11 s\": must not be above duration (10 s)"],
        ),
        (
            "[measure]\nfrom = \"5 s\"\nto = \"5 s\"",
            &["load.toml:8: measure.from = \"5 s\": must be below measure.to (5 s)"],
        ),
        ("[measure]\nform = \"5 s\"", &["measure.form: unknown key; nearest: from; allowed: from, to"]),
        ("[[traffic]]", &["load.toml:7: traffic.1.kind: is required: one of \"ftp\", \"web\""]),
        (
            "[[traffic]]\nkind = \"cbr\"",
            &["load.toml:7: traffic.1.rate: is required: a rate with its unit, for example \"1.5 Mbit/s\""],
        ),
        (
            "[[traffic]]\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\ntcp = \"reno\"",
            &["load.toml:10: traffic.1.tcp: unknown key"],
        ),
        ("[[traffic]]\nkind = \"cbr\"\nrate = \"0 bit/s\"", &["must be above 0"]),
        (
            "[[traffic]]\nkind = \"onoff\"\nrate = \"1 Mbit/s\"\njitter = 1.5",
            &["traffic.1.jitter = 1.5: must be a number in [0, 1]"],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nsessions = 2\npairs = 3",
            &["traffic.1.pairs = 3: must not be above the sessions (2)"],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nsessions = 2\nflows = 3",
            &["traffic.1.flows = 3: must be left out beside sessions (2)"],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nobject = { parteo = 1 }",
            &["traffic.1.object.parteo: unknown key; nearest: pareto"],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nthink = { uniform = [\"2 s\", \"1 s\"] }",
            &["traffic.1.think.uniform = [\"2 s\", \"1 s\"]: the first value must be below the second"],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nobject = { empirical = [[\"1 kB\", 0.5], [\"2 kB\", 0.4]] }",
            &["traffic.1.object.empirical.1 = [\"2 kB\", 0.4]: the share must not be below the one \
               before (0.5): it is cumulative"],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nobject = { empirical = [[\"2 kB\", 0], [\"1 kB\", 1]] }",
            &["traffic.1.object.empirical.1 = [\"1 kB\", 1]: the value must not be below the one before"],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nobject = { empirical = [[\"1 kB\", 0], [\"2 kB\", 0.9]] }",
            &["traffic.1.object.empirical.1 = [\"2 kB\", 0.9]: the last share must be 1, or 100"],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nobject = { empirical = [] }",
            &["traffic.1.object.empirical = []: is empty"],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nobject = { empirical = [[\"1 kB\"]] }",
            &["traffic.1.object.empirical.0 = [\"1 kB\"]: must be a value and the share of all"],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nobject = { empirical = 3 }",
            &["traffic.1.object.empirical = 3: must be the name of a file, or a list of values"],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nobject = { empirical = [[\"1 kB\", 1]], packet = \"1 kB\" }",
            &["traffic.1.object.packet = \"1 kB\": says what a file counts in"],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nthink = { empirical = \"t.cdf\", packet = \"1 kB\" }",
            &["traffic.1.think.packet: unknown key; nearest: empirical; allowed: empirical"],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nobject = { empirical = \"no.cdf\" }",
            &["traffic.1.object = { empirical = \"no.cdf\" }: no.cdf: there is no such file"],
        ),
        (
            "[[traffic]]\nkind = \"ftp\"\nbytes = \"0 B\"",
            &["traffic.1.bytes = \"0 B\": must be between 1 B and 1 PB"],
        ),
        (
            "[[traffic]]\nkind = \"ftp\"\narrivals = { poisson = { load = 0 } }",
            &["traffic.1.arrivals.poisson.load = 0: must be a number in (0, 10]"],
        ),
        (
            "[[traffic]]\nkind = \"ftp\"\narrivals = { poisson = { lod = 0.5 } }",
            &["traffic.1.arrivals.poisson.lod: unknown key; nearest: load; allowed: load, rate"],
        ),
        (
            "[[traffic]]\nkind = \"ftp\"\narrivals = { load = 0.5 }",
            &["traffic.1.arrivals.load: unknown key; nearest: poisson; allowed: poisson"],
        ),
        (
            "[[traffic]]\nkind = \"ftp\"\narrivals = { poisson = { rate = 200 } }",
            &["traffic.1.arrivals.poisson.rate = 200: needs a unit, for example \"200 /s\""],
        ),
        (
            "[[traffic]]\nkind = \"ftp\"\narrivals = { poisson = { rate = \"0 /s\" } }",
            &["traffic.1.arrivals.poisson.rate = \"0 /s\": must be above 0; allowed units: /s, /ms"],
        ),
        (
            "[[traffic]]\nkind = \"ftp\"\narrivals = { poisson = { rate = \"2 /ns\" } }",
            &["unknown unit \"/ns\"; allowed: /s, /ms; nearest: /s"],
        ),
        (
            "[[traffic]]\nkind = \"ftp\"\narrivals = { poisson = { load = 0.5 } }",
            &["traffic.1.arrivals = ", "needs bytes, which says how much a transfer sends"],
        ),
        (
            "[[traffic]]\nkind = \"ftp\"\nbytes = 1000\nflows = 2\narrivals = { poisson = { load = 0.5 } }",
            &["traffic.1.flows = 2: must be left out beside arrivals"],
        ),
        (
            "[[traffic]]\nkind = \"ftp\"\nbytes = 1000\nstart = { uniform = [\"0 s\", \"1 s\"] }\n\
             arrivals = { poisson = { load = 0.5 } }",
            &["traffic.1.start = ", "must be a time beside arrivals"],
        ),
        (
            "[[traffic]]\nkind = \"ftp\"\nflows = 2\npairs = 3",
            &["traffic.1.pairs = 3: must not be above the flows (2)"],
        ),
        (
            "[[traffic]]\nkind = \"ftp\"\nbytes = 1000\nconnect = \"0 s\"\nstart = \"1 s\"",
            &["traffic.1.connect = ", "must be left out beside bytes and arrivals"],
        ),
        (
            "[[traffic]]\nkind = \"ftp\"\nflows = 3\nconnect = { every = \"1 s\", from = \"0 s\" }\n\
             start = \"1500 ms\"",
            &["traffic.1.connect = ", "must be before start, of each flow"],
        ),
        (
            "[[traffic]]\nkind = \"ftp\"\nconnect = \"0 s\"\nstart = \"1 s\"\ngreeting = \"2 kB\"",
            &["traffic.1.greeting = ", "must be between 1 B and a segment (1000 B)"],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nobject = { pareto = { shape = 1, mean = \"1 kB\" } }",
            &["traffic.1.object.pareto.shape = 1: must be a number in (1, "],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nobject = { pareto = { shape = 2 } }",
            &["must be a distribution, for example { pareto"],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nobject = { exponential = \"1 s\" }",
            &["traffic.1.object.exponential = \"1 s\": unknown unit \"s\""],
        ),
        (
            "[[traffic]]\nkind = \"web\"\nthink = { exponential = \"0 s\" }",
            &["traffic.1.think.exponential = \"0 s\": must be above zero"],
        ),
        ("[sweep]\n\"aqm.knd\" = [\"red\"]", &["load.toml:8: aqm.knd: unknown key; nearest: kind"]),
        (
            "[sweep]\n\"aqm.kind\" = \"red\"",
            &["load.toml:8: sweep.aqm.kind = \"red\": must be a list of values"],
        ),
        ("[sweep]\n\"aqm.kind\" = []", &["must be a list of values, at least one"]),
        ("[sweep]\naqm.kind = [\"red\", \"blu\"]", &["load.toml:8: aqm.kind = \"blu\": must be one of"]),
        (
            "[sweep]\n\"traffic.1.flows\" = [1]",
            &["load.toml:8: traffic.1: there is no such entry; allowed: traffic.0"],
        ),
        ("[sweep]\n\"trafic.0.flows\" = [1]", &["load.toml:8: trafic: unknown key; nearest: traffic"]),
        ("[sweep]\n\"topology.bottleneck\" = [1]", &["load.toml:8: topology.bottleneck = 1: is a table"]),
        (
            "[sweep]\n\"topology.botleneck.rate\" = [1]",
            &["load.toml:8: topology.botleneck: unknown key; nearest: bottleneck"],
        ),
        ("[sweep]\n\"duration.x\" = [1]", &["duration: unknown key; nearest: duration"]),
        ("[sweep]\nseeds = 0", &["load.toml:8: sweep.seeds = 0: must be a whole number in [1, "]),
        ("[sweep]\naqm.max_p = { unifrom = [0.1, 0.2] }\nsamples = 2", &["sweep.aqm.max_p.unifrom: unknown key; nearest: uniform; allowed: uniform, log_uniform, integer"]),
        ("[sweep]\naqm.max_p = { uniform = [0.1] }\nsamples = 2", &["sweep.aqm.max_p.uniform = [0.1]: must be two values, the lower one first"]),
        ("[sweep]\naqm.max_p = { uniform = [0.1, 2] }\nsamples = 2", &["load.toml:8: aqm.max_p = 2: must be a number in (0, 1]"]),
        ("[sweep]\naqm.max_p = { uniform = [0.2, 0.1] }\nsamples = 2", &["the first value must be below the second"]),
        ("[sweep]\naqm.max_p = {}\nsamples = 2", &["must be one of { uniform = [a, b] }"]),
        ("[sweep]\naqm.kind = { uniform = [\"red\", \"pie\"] }\nsamples = 2", &["has no values in between: write a list"]),
        ("[sweep]\ntraffic.0.flows = { uniform = [1, 9] }\nsamples = 2", &["takes whole numbers: write { integer = [a, b] }"]),
        ("[sweep]\ntopology.bottleneck.delay = { integer = [\"1 ms\", \"2 ms\"] }\nsamples = 2", &["has a unit: write { uniform = [a, b] }"]),
        ("[sweep]\ntopology.bottleneck.delay = { log_uniform = [\"0 s\", \"2 ms\"] }\nsamples = 2", &["a logarithmic range must begin above zero"]),
        ("[sweep]\ntopology.bottleneck.delay = { uniform = [1, 2] }\nsamples = 2", &["topology.bottleneck.delay = 1: needs a unit"]),
        ("[sweep]\ntopology.bottleneck.buffer = { uniform = [1, \"2 kB\"] }\nsamples = 2", &["both ends must count the same: packets or bytes"]),
        ("[sweep]\naqm.max_p = { uniform = [0.1, 0.2] }\n", &["sweep.samples: is required: a whole number in [1, 1000000]"]),
        ("[sweep]\naqm.max_p = [0.1, 0.2]\nsamples = 2", &["sweep.samples = 2: chooses values of ranges, and no axis has one"]),
        ("[sweep]\naqm.max_p = { uniform = [0.1, 0.2] }\nsamples = 2\nmethod = \"lsh\"", &["sweep.method = \"lsh\": must be one of \"lhs\", \"random\", \"grid\"; nearest: \"lhs\""]),
        ("[[variant]]\nname = \"a\"", &["load.toml:7: variant.0.set: is required"]),
        (
            "[[variant]]\nname = \"a\"\nset = { \"aqm.max_p\" = 2 }",
            &["load.toml:9: aqm.max_p = 2: must be a number in (0, 1]"],
        ),
        (
            "[[variant]]\nname = \"a\"\nset = {}\n[[variant]]\nname = \"a\"\nset = {}",
            &["load.toml:11: variant.1.name = \"a\": an earlier variant has this name"],
        ),
        ("[[variant]]\nnaem = \"a\"", &["variant.0.naem: unknown key; nearest: name; allowed: name, set"]),
    ] {
        let found = message(&format!("{SMALL}{line}\n"));
        for part in parts {
            assert!(found.contains(part), "\n{line}\ngives   {found}\nwithout {part}");
        }
        assert!(!found.contains('\n'), "one line: {found}");
    }
}

#[test]
fn other_files() {
    for (text, part) in [
        ("duration = \n", "load.toml:1: "),
        ("a = 1\na = 2\n", "load.toml:2: duplicate key"),
        ("name = \"\0\"", "load.toml:1: "),
        ("", "load.toml:1: duration: is required: a time with its unit, for example \"40 ms\""),
        ("duration = \"1 s\"", "topology.bottleneck.rate: is required"),
        ("drration = \"1 s\"", "load.toml:1: drration: unknown key; nearest: duration; allowed: name, duration"),
        ("topology = 3", "load.toml:1: topology = 3: must be a table"),
        ("traffic = 3", "load.toml:1: traffic = 3: must be a list of tables, each under its own [[traffic]]"),
        ("traffic = [3]", "load.toml:1: traffic.0 = 3: must be a table"),
        ("measure = 3", "load.toml:1: measure = 3: must be a table"),
        ("aqm = 3", "load.toml:1: aqm = 3: must be a table"),
        ("sweep = 3", "load.toml:1: sweep = 3: must be a table"),
        ("variant = 3", "load.toml:1: variant = 3: must be a list of tables"),
        ("seed = -1", "seed = -1: must be a whole number in [0, "),
        ("duration = 100", "load.toml:1: duration = 100: needs a unit, for example \"100 s\""),
        ("duration = \"0 s\"", "duration = \"0 s\": must be above 0 s"),
        ("duration = \"60 days\"", "unknown unit \"days\""),
        ("duration = \"200 h\"", "must be at most 457508.533574145 s"),
        ("duration = \"1 s\"\n[topology]\nkind = \"graph\"", "load.toml:2: topology.link: is required: at least one [[topology.link]]"),
        ("[topology]\nkind = \"ring\"", "load.toml:2: topology.kind = \"ring\": must be one of"),
        ("[topology]\nhops = 2", "load.toml:2: topology.hops: unknown key"),
        ("[topology]\nbottleneck = 2", "load.toml:2: topology.bottleneck = 2: must be a table"),
        ("\n[topology]\nbottleneck = { rate = \"1.5 Mbi/s\" }", "load.toml:3: topology.bottleneck.rate = \"1.5 Mbi/s\": unknown unit \"Mbi/s\"; allowed: bit/s, kbit/s, Mbit/s"),
        ("\n[topology]\nbottleneck = { rate = \"1.5 Mbi/s\" }", "nearest: Mbit/s"),
        ("\n[topology]\nbottleneck = { rate = \"10mbps\" }", "load.toml:3: topology.bottleneck.rate = \"10mbps\": unit \"mbps\" is ambiguous: tc reads it as megabytes"),
        ("\n[topology]\nbottleneck = { rate = 2 }", "needs a unit, for example \"2 Mbit/s\""),
        ("[topology.bottleneck]\nloss = 1.1", "must be a probability in [0, 1]"),
        ("[topology.bottleneck]\nbuffer = -1", "topology.bottleneck.buffer = -1: must not be negative"),
        ("[topology.bottleneck]\nschedule = 1", "must be a list of steps"),
        ("[topology.bottleneck]\nschedule = [{ at = \"1 s\", rat = \"1 bit/s\" }]", "topology.bottleneck.schedule.0.rat: unknown key; nearest: rate"),
        ("[topology.bottleneck]\nschedule = [{ at = \"1 s\" }]", "must be a list of steps"),
        ("[topology.bottleneck]\nschedule = [{ at = \"1 s\", rate = \"0 bit/s\" }, { at = \"1 s\", rate = \"1 bit/s\" }]", "topology.bottleneck.schedule.1 = { at = \"1 s\", rate = \"1 bit/s\" }: must be later than the step before"),
    ] {
        let found = message(text);
        assert!(found.contains(part), "\n{text}\ngives   {found}\nwithout {part}");
    }
}

#[test]
fn queues_and_their_unit() {
    let with = |buffer: &str, aqm: &str| {
        SMALL.replace("delay = \"40 ms\"", &format!("delay = \"40 ms\"\nbuffer = {buffer}")) + aqm
    };
    for (text, part) in [
        (
            with("0", ""),
            "load.toml:5: topology.bottleneck.buffer = 0: must be a whole number of packets in [1, ",
        ),
        (with("2.5", ""), "must be a whole number of packets"),
        (
            with("\"0 B\"", ""),
            "must be a whole number of packets in [1, 1000000000], or a size of at least 1 B",
        ),
        (with("1e300", ""), "must be a whole number of packets"),
        (
            with("\"30 kB\"", "[aqm]\nunit = \"packets\"\n"),
            "load.toml:9: aqm.unit = \"packets\": contradicts the buffer, which is given in bytes (30 kB)",
        ),
    ] {
        let found = message(&text);
        assert!(found.contains(part), "\n{text}\ngives   {found}\nwithout {part}");
    }
}

#[test]
fn set_and_json_have_no_lines() {
    let s = good(EXAMPLE);
    for (path, value, part) in [
        ("aqm.kidn", "red", "load.toml with aqm.kidn: unknown key; nearest: kind"),
        ("aqmm.kind", "red", "load.toml with aqmm: unknown key; nearest: aqm"),
        ("aqm.kind", "rde", "load.toml with aqm.kind = \"rde\": must be one of"),
        ("aqm.min_th", "20", "load.toml with aqm.min_th = 20: must be below"),
        (
            "traffic.7.flows",
            "20",
            "load.toml with traffic.7: there is no such entry; allowed: traffic.0, traffic.1",
        ),
        ("traffic.x.flows", "20", "load.toml with traffic.x: there is no such entry"),
        ("duration.x", "20", "duration has no keys inside"),
        ("", "20", "unknown key"),
        ("aqm..kind", "20", "unknown key"),
        ("topology.bottleneck.rate", "2", "needs a unit, for example \"2 Mbit/s\""),
        ("duration", "1\nseed = 2", "duration = \"1\u{fffd}seed = 2\": unknown unit"),
    ] {
        let found = s.set(path, value).unwrap_err().to_string();
        assert!(found.contains(part), "\n{path}={value}\ngives   {found}\nwithout {part}");
    }
    for (text, part) in [
        ("{", "line 1: EOF"),
        ("[]", "must be a table"),
        ("{\"duration\": 3}", "duration = 3: needs a unit"),
        ("{\"duration\": null}", "duration: is required"),
        ("{\"traffic\": [null]}", "traffic.0 = null: must be a table"),
    ] {
        let found = Scenario::from_json(text).unwrap_err().to_string();
        assert!(found.contains(part), "\n{text}\ngives   {found}\nwithout {part}");
    }
}

#[test]
fn facts_of_an_error() {
    let e = common::read("duration = \"1 s\"\naqm.kind = \"x\"").unwrap_err();
    assert_eq!((e.file(), e.line(), e.path()), (Some("load.toml"), Some(2), "aqm.kind"));
    assert_eq!(e.found_value(), Some("\"x\""));
    assert_eq!((e.problem().kind(), e.problem().nearest()), ("unknown-word", Some("pi")));
    assert!(e.problem().allowed().contains(&"droptail"));

    let e = common::read("duration = \"1 sek\"").unwrap_err();
    assert_eq!((e.problem().kind(), e.problem().nearest()), ("quantity", Some("sec")));
    assert!(e.problem().allowed().contains(&"ms"));

    let e = common::read("seed = true").unwrap_err();
    assert_eq!((e.problem().kind(), e.problem().nearest()), ("value", None));
    assert_eq!(e.problem().allowed().len(), 1, "one description");
}

#[test]
fn a_run_that_would_not_fit_into_memory_is_refused_with_numbers() {
    let s = good(&format!("{SMALL}flows = 10000000\n"));
    let found = s.lower(1).unwrap_err().to_string();
    assert!(found.contains("would take about") && found.contains("10000000 flows"), "{found}");
    assert!(good(SMALL).lower_within(1, 1000).is_err());
}
