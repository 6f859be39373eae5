//! Graphs: routes, a discipline on each link, what they share with the chains, and what they
//! refuse.

use crate::common::{good, message};
use penstock_scenario::Scenario;
use penstock_sim::{run, Config, Handle, RunResult, Schedule, LINK_METRICS};
use penstock_units::param::Loss;
use penstock_units::Rng;
use serde_json::{json, Value};

fn simulate(s: &Scenario) -> RunResult {
    run(&s.lower(s.seed()).unwrap(), &Handle::default()).unwrap()
}

/// A link from its ends and further keys.
fn link(ends: &str, more: &str) -> String {
    let (from, to) = ends.split_once('-').unwrap();
    format!("[[topology.link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\n{more}\n")
}

/// Links, given as `"a-b"` or `"a-b cost = 3"`, and an FTP flow from `from` to `to`.
fn graph(links: &[&str], from: &str, to: &str) -> String {
    let head = "duration = \"2 s\"\n[topology]\nkind = \"graph\"\n".to_string();
    let links = links.iter().map(|l| {
        let (ends, more) = l.split_once(' ').unwrap_or((l, ""));
        link(ends, more)
    });
    let traffic = format!("[[traffic]]\nkind = \"ftp\"\nfrom = \"{from}\"\nto = \"{to}\"\n");
    head + &links.collect::<String>() + &traffic
}

fn names(c: &Config, route: u16) -> String {
    let route = c.routes[usize::from(route)].iter();
    route.map(|l| c.links[*l as usize].name.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn routes_are_the_cheapest() {
    let diamond = &["a-b", "b-d", "a-c", "c-d"][..];
    for (links, ends, ahead, back) in [
        (&["a-b"][..], "a-b", "a-b", "b-a"),
        (&["a-b"], "b-a", "b-a", "a-b"),
        // Equal costs: at each router the link that stands first.
        (diamond, "a-d", "a-b b-d", "d-b b-a"),
        (diamond, "d-a", "d-b b-a", "a-b b-d"),
        (&["c-d", "a-c", "b-d", "a-b"], "a-d", "a-c c-d", "d-c c-a"),
        // Fewest hops, unless a link costs more.
        (&["a-b", "b-c", "c-d", "a-d"], "a-d", "a-d", "d-a"),
        (&["a-b", "b-c", "c-d", "a-d cost = 3"], "a-d", "a-b b-c c-d", "d-c c-b b-a"),
        (&["a-b", "b-c", "c-d", "a-d cost = 4"], "a-d", "a-b b-c c-d", "d-c c-b b-a"),
        (&["a-c cost = 5", "a-b cost = 2", "b-c cost = 2"], "a-c", "a-b b-c", "c-b b-a"),
        (&["a-b cost = 2", "b-c cost = 2", "a-c cost = 4"], "a-c", "a-b b-c", "c-b b-a"),
        (&["a-b cost = 2", "b-c cost = 3", "a-c cost = 4"], "a-c", "a-c", "c-a"),
        // By way of a satellite, and back by modem.
        (
            &["a-s one_way = true", "s-b one_way = true", "b-a one_way = true"],
            "a-b",
            "a-s s-b",
            "b-a",
        ),
        (&["a-b one_way = true", "b-a one_way = true"], "b-a", "b-a", "a-b"),
    ] {
        let (from, to) = ends.split_once('-').unwrap();
        let c = good(&graph(links, from, to)).lower(1).unwrap();
        let f = &c.flows[0];
        assert_eq!(
            (names(&c, f.forward), names(&c, f.backward)),
            (ahead.into(), back.into()),
            "{links:?} {ends}"
        );
    }
}

/// Against the costs of all pairs (Floyd 1962): of the links from a router that begin a cheapest way
/// a route takes the one that stands first in the file.
#[test]
fn random_routes_are_the_cheapest() {
    let mut rng = Rng::stream(1, "routes");
    for _ in 0..200 {
        let mut below = |n: usize| (rng.unit() * n as f64) as usize;
        let n = 3 + below(6);
        let mut cost = vec![vec![u64::MAX / 2; n]; n];
        let mut written = vec![];
        for i in 0..n + below(2 * n) {
            let a = if i < n { i } else { below(n) };
            let (b, c) = ((a + 1 + below(n - 1)) % n, 1 + below(3));
            if cost[a][b] < u64::MAX / 2 {
                continue; // a link of that name stands there already
            }
            cost[a][b] = c as u64;
            cost[b][a] = c as u64;
            written.push((a, b, c));
        }
        (0..n).for_each(|i| cost[i][i] = 0);
        for (via, a, b) in
            (0..n).flat_map(|v| (0..n).flat_map(move |a| (0..n).map(move |b| (v, a, b))))
        {
            cost[a][b] = cost[a][b].min(cost[a][via] + cost[via][b]);
        }
        let links: Vec<_> =
            written.iter().map(|(a, b, c)| format!("n{a}-n{b} cost = {c}")).collect();
        let links: Vec<_> = links.iter().map(String::as_str).collect();
        let from = below(n);
        let Some(to) = (0..n).rev().find(|to| *to != from && cost[from][*to] < u64::MAX / 2) else {
            continue;
        };
        let mut want = vec![];
        let mut at = from;
        while at != to {
            let both = written.iter().flat_map(|(a, b, c)| [(*a, *b, *c), (*b, *a, *c)]);
            let begins = |(a, b, c): &(usize, usize, usize)| {
                *a == at && cost[*a][to] == *c as u64 + cost[*b][to]
            };
            let (a, b, _) = both.clone().find(begins).unwrap();
            want.push(format!("n{a}-n{b}"));
            at = b;
        }
        let c = good(&graph(&links, &format!("n{from}"), &format!("n{to}"))).lower(1).unwrap();
        assert_eq!(names(&c, c.flows[0].forward), want.join(" "), "{links:?} {from}-{to}");
    }
}

#[test]
fn what_is_wrong_with_a_graph() {
    for (links, ends, part) in [
        (
            &["a-b", "c-d"][..],
            "a-d",
            "load.toml:19: traffic.0.to = \"d\": there is no route from a to d",
        ),
        (
            &["a-b one_way = true"],
            "a-b",
            "traffic.0.to = \"b\": there is no route from b back to a, which acknowledgements need",
        ),
        (
            &["a-b"],
            "a-c",
            "load.toml:13: traffic.0.to = \"c\": must be one of \"a\", \"b\"; nearest: \"",
        ),
        (&["a-b"], "x-b", "traffic.0.from = \"x\": must be one of"),
        (&["a-b"], "a-a", "traffic.0.to = \"a\": the data would stay at a"),
        (
            &["a-a"],
            "a-a",
            "load.toml:6: topology.link.0.to = \"a\": must not be where the link begins",
        ),
        (
            &["a-b", "b-a"],
            "a-b",
            "load.toml:12: topology.link.1.to = \"a\": topology.link.0 goes from b to a already",
        ),
        (
            &["a-b", "a-b one_way = true"],
            "a-b",
            "topology.link.1.to = \"b\": topology.link.0 goes from a to b already",
        ),
        (&["a-b\\u0007"], "a-b", "topology.link.0.to = \"b\u{fffd}\": must be 1 to 64 characters"),
        (&["a-"], "a-b", "topology.link.0.to = \"\": must be 1 to 64 characters"),
        (&["a-b cost = 0"], "a-b", "topology.link.0.cost = 0: must be a whole number in [1, "),
        (&["a-b hops = 1"], "a-b", "load.toml:9: topology.link.0.hops: unknown key; nearest: "),
        (&["a-b loss = 2"], "a-b", "topology.link.0.loss = 2: must be a probability in [0, 1], or"),
        (
            &["a-b loss = { gilbert_elliott = { p = 0.1 } }"],
            "a-b",
            "topology.link.0.loss.gilbert_elliott.r: is required",
        ),
        (
            &["a-b loss = { gilbert_eliott = { p = 0.1 } }"],
            "a-b",
            "topology.link.0.loss.gilbert_eliott: unknown key; nearest: gilbert_elliott",
        ),
        (
            &["a-b loss = { gilbert_elliott = { p = 0.1, r = 2 } }"],
            "a-b",
            "topology.link.0.loss.gilbert_elliott.r = 2: must be a probability",
        ),
        (
            &["a-b aqm = { kind = \"red\", max_pp = 1 }"],
            "a-b",
            "load.toml:9: topology.link.0.aqm.max_pp: unknown key; nearest: max_p",
        ),
        (
            &["a-b aqm.kind = \"rde\""],
            "a-b",
            "load.toml:9: topology.link.0.aqm.kind = \"rde\": must be one of",
        ),
        (
            &["a-b", "b-c aqm = { kind = \"red\", min_th = 20, max_th = 15 }"],
            "a-c",
            "load.toml:15: topology.link.1.aqm.min_th = 20: must be below",
        ),
        (
            &["a-b aqm.reverse = { kind = \"red\", max_p = 2 }"],
            "a-b",
            "topology.link.0.aqm.reverse.max_p = 2: must be a number in (0, 1]",
        ),
        (
            &["a-b buffer = 0"],
            "a-b",
            "topology.link.0.buffer = 0: must be a whole number of packets",
        ),
    ] {
        let (from, to) = ends.split_once('-').unwrap();
        let found = message(&graph(links, from, to));
        assert!(found.contains(part), "\n{links:?}\ngives   {found}\nwithout {part}");
    }
    let text = graph(&["a-b"], "a", "b");
    let (first, second) = (("to = \"b\"", "to = \"b-c\""), ("from = \"a\"", "from = \"a-b\""));
    let second = link("a-c", "").replacen(second.0, second.1, 1);
    let same =
        text.replacen(first.0, first.1, 1).replacen("[[traffic]]", &(second + "[[traffic]]"), 1);
    let same = message(&same);
    assert!(
        same.contains("topology.link.1.to = \"c\": topology.link.0 is called a-b-c too"),
        "{same}"
    );
    for (old, new, part) in [
        (
            "kind = \"graph\"",
            "kind = \"graph\"\nbottleneck = \"b-c\"",
            "load.toml:4: topology.bottleneck = \"b-c\": must be one of \"a-b\", \"b-a\"; nearest: \"b-a\"",
        ),
        ("kind = \"graph\"", "kind = \"graph\"\nhops = 2", "load.toml:4: topology.hops: unknown key"),
        (
            "[[topology.link]]",
            "[[topology.node]]\nname = \"a\"\n[[topology.node]]\nname = \"bb\"\n[[topology.link]]",
            "topology.link.0.to = \"b\": must be one of \"a\", \"bb\"; nearest: \"bb\"",
        ),
        (
            "[[topology.link]]",
            "[[topology.node]]\nname = \"a\"\n[[topology.node]]\nname = \"a\"\n[[topology.link]]",
            "load.toml:7: topology.node.1.name = \"a\": an earlier router has this name",
        ),
        ("[[topology.link]]", "[[topology.node]]\n[[topology.link]]", "topology.node.0.name: is required"),
        ("[[topology.link]]", "[topology.link]", "topology.link = {"),
        ("rate = \"8 Mbit/s\"\n", "", "load.toml:4: topology.link.0.rate: is required"),
        (
            "from = \"a\"\nto = \"b\"\nrate",
            "from = \"a\"\nrate",
            "load.toml:4: topology.link.0.to: is required",
        ),
        (
            "kind = \"ftp\"\nfrom = \"a\"",
            "kind = \"ftp\"",
            "traffic.0.from: is required: a router's name, for example \"a\"",
        ),
        (
            "kind = \"ftp\"",
            "kind = \"ftp\"\ndirection = \"reverse\"",
            "traffic.0.direction = \"reverse\": has no meaning in a graph",
        ),
        (
            "[[traffic]]",
            "[sweep]\n\"topology.link.1.rate\" = [\"1 Mbit/s\"]\n[[traffic]]",
            "topology.link.1: there is no such entry; allowed: topology.link.0",
        ),
        (
            "[[traffic]]",
            "[sweep]\n\"topology.link.0.aqm.max_pp\" = [1]\n[[traffic]]",
            "topology.link.0.aqm.max_pp: unknown key; nearest: max_p",
        ),
        (
            "[[traffic]]",
            "[sweep]\n\"topology.link.0.aqn.kind\" = [1]\n[[traffic]]",
            "topology.link.0.aqn: unknown key; nearest: aqm",
        ),
        (
            "[[traffic]]",
            "[sweep]\n\"topology.link.0.aqm.x.y\" = [1]\n[[traffic]]",
            "topology.link.0.aqm.x: unknown key",
        ),
        (
            "[[traffic]]",
            "[sweep]\n\"topology.link.rate\" = [1]\n[[traffic]]",
            "topology.link: is a list: name one of its entries, for example topology.link.0",
        ),
    ] {
        let found = message(&text.replacen(old, new, 1));
        assert!(found.contains(part), "\n{new}\ngives   {found}\nwithout {part}");
    }
    let s = good(&text);
    for (path, value, part) in [
        (
            "topology.link.1.rate",
            "1 Mbit/s",
            "topology.link.1: there is no such entry; allowed: topology.link.0",
        ),
        (
            "topology.link.0.aqm.max_p",
            "2",
            "topology.link.0.aqm.max_p = 2: must be a number in (0, 1]",
        ),
    ] {
        let found = s.set(path, value).unwrap_err().to_string();
        assert!(found.contains(part), "\n{path}={value}\ngives   {found}\nwithout {part}");
    }
}

/// A capture takes both directions of a link, whatever the routers are called.
#[test]
fn opposites() {
    let c = good(&graph(
        &["a-b-c", "b-d", "d-a one_way = true", "a-d one_way = true", "d-x one_way = true"],
        "a",
        "d",
    ));
    let c = c.lower(1).unwrap();
    let opposites: Vec<_> = c.links.iter().map(|l| (l.name.as_str(), l.opposite)).collect();
    let want = [("a-b-c", Some(1)), ("b-c-a", Some(0)), ("b-d", Some(3)), ("d-b", Some(2))];
    assert_eq!(opposites[..4], want);
    assert_eq!(opposites[4..], [("d-a", Some(5)), ("a-d", Some(4)), ("d-x", None)]);
}

/// `[aqm]` where a link has none of its own, in each direction for itself.
#[test]
fn each_link_has_its_discipline() {
    let links = [
        "a-b",
        "b-c aqm = { kind = \"ared\", min_th = 5 }",
        "c-d aqm.reverse.kind = \"rem\"",
        "d-e aqm = { kind = \"droptail\", reverse = { kind = \"pi\" } }",
    ];
    let text = graph(&links, "a", "e") + "[aqm]\nkind = \"red\"\n[aqm.reverse]\nkind = \"ared\"\n";
    let s = good(&text);
    let kinds = |s: &Scenario| {
        s.lower(1).unwrap().links.iter().map(|l| l.aqm.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&s), ["red", "ared", "ared", "ared", "red", "rem", "droptail", "pi"]);
    // A comparison is about the bottleneck, whichever table its discipline stands in.
    let compared = |name: &str| {
        let s = s.set("topology.bottleneck", name).unwrap();
        let other = s.with_aqm("pi").unwrap();
        assert_eq!(other.aqm(), "pi");
        kinds(&other)
    };
    assert_eq!(compared("a-b"), ["pi", "ared", "ared", "ared", "pi", "rem", "droptail", "pi"]);
    assert_eq!(compared("b-c"), ["red", "ared", "pi", "ared", "red", "rem", "droptail", "pi"]);
    assert_eq!(compared("b-a"), ["red", "pi", "ared", "pi", "red", "rem", "droptail", "pi"]);
    assert_eq!(compared("d-c"), ["red", "ared", "ared", "ared", "red", "pi", "droptail", "pi"]);

    let changed = s
        .set_all(&[("topology.link.1.aqm.max_p", "0.3"), ("topology.link.0.rate", "2 Mbit/s")])
        .unwrap();
    let r = changed.resolved();
    for (pointer, found) in [
        ("/topology/link/1/aqm/max_p", json!(0.3)),
        ("/topology/link/1/aqm/min_th", json!("5 packets")),
        ("/topology/link/0/rate", json!("2 Mbit/s")),
        ("/topology/link/3/aqm/reverse/kind", json!("pi")),
        ("/topology/node/4/name", json!("e")),
        ("/topology/link/0/one_way", json!(false)),
        ("/topology/bottleneck", Value::Null),
    ] {
        assert_eq!(r.pointer(pointer), Some(&found), "{pointer}");
    }
    assert_eq!(r.pointer("/topology/link/0/aqm"), None, "it takes [aqm]");
    let again = Scenario::from_json(&changed.resolved_json()).unwrap();
    assert_eq!(again.resolved_json(), changed.resolved_json());
    assert_eq!(kinds(&again), kinds(&s));

    let swept = good(
        &(text
            + "[sweep]\n\"topology.link.1.aqm.max_p\" = [0.1, 0.2]\ntopology.link.0.rate = [\"1 Mbit/s\"]\n"),
    );
    let axes: Vec<_> = swept.axes().into_iter().map(|a| (a.path, a.values.len())).collect();
    assert_eq!(axes, [("topology.link.1.aqm.max_p".into(), 2), ("topology.link.0.rate".into(), 1)]);
    let point = swept.point(None, &[("topology.link.1.aqm.max_p", &json!(0.2))]).unwrap();
    assert_eq!(point.resolved()["topology"]["link"][1]["aqm"]["max_p"], json!(0.2));
}

#[test]
fn the_bottleneck_is_the_link_that_is_named() {
    let text = graph(&["a-b", "b-c"], "a", "c")
        + "[[traffic]]\nkind = \"ftp\"\nfrom = \"a\"\nto = \"b\"\n";
    for (name, index, counts) in
        [("a-b", 0, [true, true]), ("b-c", 2, [true, false]), ("c-b", 3, [false, false])]
    {
        let c = good(&text.replacen("[[", &format!("bottleneck = \"{name}\"\n[["), 1))
            .lower(1)
            .unwrap();
        assert_eq!((c.bottleneck, c.links[index].name.as_str()), (index, name));
        assert_eq!(c.flows.iter().map(|f| f.counts).collect::<Vec<_>>(), counts, "at {name}");
    }
}

const SHARED: &str = "duration = \"20 s\"\nmeasure = { from = \"2 s\" }\n";

/// What hangs on two ends, with a discipline that draws.
fn ends(traffic: &str) -> String {
    format!(
        "access = {{ rate = \"50 Mbit/s\", delay = {{ uniform = [\"1 ms\", \"9 ms\"] }} }}\n{traffic}\
         [aqm]\nkind = \"red\"\necn = true\n[aqm.reverse]\nkind = \"ared\"\n"
    )
}

/// A dumbbell is a graph of one link: with the same names, to the last digit.
#[test]
fn a_chain_is_a_graph() {
    let wire =
        "rate = \"4 Mbit/s\", delay = \"10 ms\", buffer = 30, reverse_rate = \"3 Mbit/s\", loss = 0.001";
    let flows = |from: &str, to: &str, n: u32| {
        format!(
            "[[traffic]]\nkind = \"ftp\"\ntcp = \"newreno\"\necn = \"classic\"\nflows = {n}\n\
             start = {{ uniform = [\"0 s\", \"1 s\"] }}\nfrom = \"{from}\"\nto = \"{to}\"\n"
        )
    };
    for hops in [1, 3] {
        let last = format!("R{hops}");
        let mut traffic = flows("R0", &last, 4);
        traffic += &format!(
            "[[traffic]]\nkind = \"poisson\"\nrate = \"200 kbit/s\"\nfrom = \"R0\"\nto = \"{last}\"\n"
        );
        traffic += &flows("R0", "R1", 2);
        let chain = format!(
            "{SHARED}[topology]\nkind = \"parking-lot\"\nhops = {hops}\nlink = {{ {wire} }}\n"
        );
        let links: Vec<String> = (0..hops)
            .map(|i| format!("{{ from = \"R{i}\", to = \"R{}\", {wire} }}", i + 1))
            .collect();
        let graph =
            format!("{SHARED}[topology]\nkind = \"graph\"\nlink = [{}]\n", links.join(", "));
        let a = simulate(&good(&(chain + &ends(&traffic))));
        let b = simulate(&good(&(graph + &ends(&traffic))));
        assert_eq!(
            (a.events, &a.metrics, &a.flows, &a.groups),
            (b.events, &b.metrics, &b.flows, &b.groups)
        );
        assert_eq!(a.links, b.links);
        assert_eq!(a.links.len(), 2 * hops);
    }
    // A dumbbell's one link has other names, and so other dice; without any they agree too.
    let still =
        |text: &str| text.replace("kind = \"red\"\necn = true", "").replace("kind = \"ared\"", "");
    let wire = wire.replace(", loss = 0.001", "");
    let traffic = flows("R0", "R1", 4);
    let dumbbell = simulate(&good(&still(&format!(
        "{SHARED}[topology]\nbottleneck = {{ {wire} }}\n{}",
        ends(&traffic)
    ))));
    let graph = format!(
        "{SHARED}[topology]\nkind = \"graph\"\nlink = [{{ from = \"R0\", to = \"R1\", {wire} }}]\n{}",
        ends(&traffic)
    );
    assert_eq!(dumbbell.metrics, simulate(&good(&still(&graph))).metrics);
    assert_eq!(dumbbell.links.len(), 2, "its reverse has a rate of its own");
}

/// Two flows of datagrams at 6 Mbit/s each: a-b carries both at 8, b-c one of them at 4 Mbit/s. A
/// third is lost at the first link, of both alike; the 4 Mbit/s that are left of each just fill the
/// second.
#[test]
fn every_link_is_described() {
    let mut text = graph(&["a-b", "b-c"], "a", "c")
        .replace("duration = \"2 s\"", "duration = \"20 s\"\nmeasure.from = \"1 s\"");
    text = text.replacen(
        "from = \"b\"\nto = \"c\"\nrate = \"8 Mbit/s\"",
        "from = \"b\"\nto = \"c\"\nrate = \"4 Mbit/s\"",
        1,
    );
    let traffic = |to| {
        format!(
            "[[traffic]]\nkind = \"cbr\"\nrate = \"6 Mbit/s\"\njitter = 0.9\nfrom = \"a\"\nto = \"{to}\"\n"
        )
    };
    let at = text.find("[[traffic]]").unwrap();
    let r = simulate(&good(&format!("{}{}{}", &text[..at], traffic("c"), traffic("b"))));
    let link = |name: &str| &r.links.iter().find(|l| l.name == name).unwrap().metrics;
    let metric = |name: &str, metric: &str| {
        link(name)[LINK_METRICS.iter().position(|m| m.name == metric).unwrap()].unwrap_or(f64::NAN)
    };
    let near = |got: f64, want: f64| assert!((got - want).abs() < 0.02 * want, "{got}, not {want}");
    near(metric("a-b", "throughput_bps"), 8e6);
    near(metric("b-c", "throughput_bps"), 4e6);
    near(metric("a-b", "loss_ratio"), 1.0 / 3.0);
    near(metric("a-b", "utilization"), 1.0);
    near(metric("b-c", "utilization"), 1.0);
    assert!(metric("b-c", "loss_ratio") < 0.1);
    assert_eq!(metric("b-a", "arrivals"), 0.0);
    let document: Value =
        serde_json::from_str(&penstock_scenario::document(&good(&text), &[&r])).unwrap();
    let links = document["runs"][0]["links"].as_object().unwrap();
    assert_eq!(links.keys().collect::<Vec<_>>(), ["a-b", "b-a", "b-c", "c-b"]);
    assert_eq!(links["b-c"]["throughput_bps"], json!(metric("b-c", "throughput_bps")));
    assert_eq!(links["a-b"].get("jain"), None, "of the flows, not of a link");
}

#[test]
fn what_a_link_may_lose_and_how_it_changes() {
    let keys = "loss = { gilbert_elliott = { p = 0.01, r = 0.5 } }\nreverse_loss = 0.25\n\
                reverse_bleach = true\n\
                schedule = [{ at = \"1 s\", rate = \"0 bit/s\" }]\nreverse_delay = \"7 ms\"";
    let s = good(&graph(&[&format!("a-b {keys}")], "a", "b"));
    let c = s.lower(1).unwrap();
    assert_eq!(c.links[0].loss, Loss::GilbertElliott { p: 0.01, r: 0.5, good: 0.0, bad: 1.0 });
    assert_eq!(c.links[1].loss, Loss::Bernoulli(0.25));
    assert_eq!([c.links[0].bleach, c.links[1].bleach], [false, true]);
    assert!(matches!(&c.links[0].schedule, Schedule::Steps(steps) if steps.len() == 1));
    assert_eq!(c.links[1].delay.as_nanos(), 7_000_000);
    let again = Scenario::from_json(&s.resolved_json()).unwrap();
    assert_eq!(again.resolved_json(), s.resolved_json());
}

/// The shipped parking lot: what leaves each link is what the flows over it get, with 40 B of
/// header on every 1000 B. Loss behind a link and what is under way at the window's ends is a
/// thousandth.
#[test]
fn each_link_carries_its_flows() {
    let text = include_str!("../../../scenarios/parking-lot.toml");
    let s = good(text);
    let (config, r) = (s.lower(1).unwrap(), simulate(&s));
    assert_eq!((config.flows.len(), r.groups.len(), r.links.len()), (20 + 20 + 60, 3, 6));
    let throughput = LINK_METRICS.iter().position(|m| m.name == "throughput_bps").unwrap();
    let mut sum = 0.0;
    for hop in 0..3 {
        let over = config.flows.iter().zip(&r.flows);
        let over = over.filter(|(f, _)| config.routes[usize::from(f.forward)].contains(&(2 * hop)));
        let goodput: Vec<f64> = over.map(|(_, result)| result.metrics[0].unwrap()).collect();
        assert_eq!(goodput.len(), [40, 60, 60][hop as usize]);
        let link = &r.links[2 * hop as usize];
        let (sent, got) = (link.metrics[throughput].unwrap(), goodput.iter().sum::<f64>() * 1.04);
        assert!((sent - got).abs() < 0.002 * sent, "{}: {sent} left, {got} arrived", link.name);
        assert!(sent > 9.5e6, "{}: {sent}", link.name);
        sum += goodput.iter().sum::<f64>();
    }
    // Who crosses three hops is counted three times above, and gets less than who crosses one.
    let of = |g: usize| r.groups[g][0].unwrap();
    assert!((sum - 3.0 * of(0) - 2.0 * of(1) - of(2)).abs() < 1.0);
    assert!(of(0) < of(1) && of(1) < of(2) / 3.0, "{} {} {}", of(0), of(1), of(2) / 3.0);
}

/// The shipped graph: uploads and call cross the uplink, downloads come the other way.
#[test]
fn the_home_line() {
    let s = good(include_str!("../../../scenarios/home-line.toml"));
    let c = s.lower(1).unwrap();
    let route = |flow: usize| names(&c, c.flows[flow].forward);
    assert_eq!(route(0), "laptop-box box-isp isp-server");
    assert_eq!(route(2), "laptop-box box-isp isp-peer");
    assert_eq!(route(3), "server-isp isp-box box-laptop");
    assert_eq!(c.links[c.bottleneck].name, "box-isp");
    assert_eq!(
        c.links.iter().map(|l| l.aqm.name()).collect::<Vec<_>>()[..4],
        ["droptail", "droptail", "pi", "red"]
    );
    assert_eq!(
        c.flows.iter().filter(|f| f.counts).count(),
        2,
        "the downloads do not cross it forward"
    );
}
