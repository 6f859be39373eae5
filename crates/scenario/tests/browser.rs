//! Pages as browsers fetch them. On a link of 8 Mbit/s a byte takes a microsecond, so that times
//! follow from arithmetic: 10 ms each way, 1.04 ms for a segment, 0.04 ms for a SYN or an ACK, and
//! 0.4 ms for a request of 360 B.

use crate::common::{good, message};
use penstock_scenario::document;
use penstock_sim::{run, Column, Config, Handle, Record, RunResult, Tap, PAGE_METRICS};
use penstock_units::Duration;

const MS: f64 = 1e-3;

/// One session that fetches a page of two objects of 3000 B, three segments each. `web` are keys of
/// its entry, `link` of the bottleneck.
fn text(web: &str, link: &str) -> String {
    let given = |key: &str| web.lines().any(|line| line.starts_with(key));
    let or = |key: &str, line: &'static str| if given(key) { "" } else { line };
    format!(
        "duration = \"20 s\"\n\
         [topology.bottleneck]\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = 1000\n{link}\n\
         [[traffic]]\nkind = \"web\"\ninitial_window = 10\nthink = {{ constant = \"1 h\" }}\n\
         {}{}{web}",
        or("objects_per_page", "objects_per_page = 2\n"),
        or("object =", "object = { constant = \"3000 B\" }\n"),
    )
}

fn ran(text: &str) -> RunResult {
    let s = good(text);
    let record = Record { series: Some(Duration::from_secs(1)), ..Record::default() };
    let config = s.lower(s.seed()).unwrap();
    run(&Config { record, ..config }, &Handle::default()).unwrap()
}

fn of_pages(r: &RunResult, name: &str) -> Option<f64> {
    let i = PAGE_METRICS.iter().position(|m| m.name == name).expect("a metric");
    r.page_metrics()[i]
}

/// A column of a series.
fn column(r: &RunResult, table: &str, name: &str) -> Vec<f64> {
    let table = r.series.iter().find(|t| t.name == table).expect("a series");
    match &table.columns.iter().find(|c| c.0 == name).expect("a column").1 {
        Column::F64(x) => x.clone(),
        Column::U64(x) => x.iter().map(|x| *x as f64).collect(),
        Column::Word(..) => panic!("numbers"),
    }
}

fn near(a: &[f64], b: &[f64]) {
    let close = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
    assert!(close, "{a:?} is not {b:?}");
}

/// When objects ended, in milliseconds, with `web` beside the keys of [`text`].
fn ends(web: &str) -> Vec<f64> {
    column(&ran(&text(web, "")), "fct", "t_s").iter().map(|t| t / MS).collect()
}

/// Request 0.4 + 10; SYN and SYN-ACK 10.04 each; three segments 3.12 + 10: the last byte is there
/// at 43.6 ms. Its ACK goes first, 0.04, then the next request. A connection that is open needs
/// neither SYN nor SYN-ACK. Without a request an object ends when its last ACK is back: SYN and
/// SYN-ACK 20.08, three segments 13.12, ACK 10.04.
#[test]
fn a_page_by_hand() {
    near(&ends("request = \"360 B\"\n"), &[43.6, 43.6 + 0.04 + 43.6]);
    near(&ends("request = \"360 B\"\npersistent = true\n"), &[43.6, 43.6 + 0.04 + 23.52]);
    near(&ends("connections = 1\n"), &[43.24, 2.0 * 43.24]);
    near(&ends("persistent = true\n"), &[43.24, 43.24 + 23.16]);
    let r = ran(&text("request = \"360 B\"\n", ""));
    near(&column(&r, "fct", "fct_s"), &[43.6 * MS, 43.64 * MS]);
    for (name, want) in [
        ("t_s", 87.24 * MS),
        ("page_time_s", 87.24 * MS),
        ("objects", 2.0),
        ("bytes", 6000.0),
        ("session", 0.0),
        ("flow", 0.0),
    ] {
        near(&column(&r, "pages", name), &[want]);
    }
    for (name, want) in [
        ("page_time_mean_s", 87.24 * MS),
        ("page_time_p50_s", 87.24 * MS),
        ("page_time_p99_s", 87.24 * MS),
        ("pages", 1.0),
        ("request_repeats", 0.0),
    ] {
        near(&[of_pages(&r, name).expect(name)], &[want]);
    }
    assert_eq!(r.pages_of(0), r.page_metrics());
}

/// The requests leave one after the other, and so connection i has its handshake behind it at 30.48
/// + 0.4 i ms. From the first on the link is busy: 3.12 ms an object, 10 ms to the client.
#[test]
fn six_connections_at_once() {
    let six = "connections = 6\nrequest = \"360 B\"\nobjects_per_page = 6\n";
    let want: Vec<f64> = (1..=6).map(|i| 30.48 + 3.12 * f64::from(i) + 10.0).collect();
    near(&ends(six), &want);
    let r = ran(&text(six, ""));
    assert_eq!(column(&r, "fct", "flow"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(r.flows.len(), 6);
    // One after the other they take six times two round trips, and an ACK's 0.04 between.
    let one = ran(&text(&six.replace("= 6\nrequest", "= 1\nrequest"), ""));
    near(&column(&one, "pages", "page_time_s"), &[(6.0 * 43.6 + 5.0 * 0.04) * MS]);
}

/// A seventh object goes to the connection that is free first.
#[test]
fn the_next_object_goes_to_who_is_free() {
    let r = ran(&text("connections = 6\nrequest = \"360 B\"\nobjects_per_page = 8\n", ""));
    assert_eq!(column(&r, "fct", "flow"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 1.0]);
    assert_eq!(column(&r, "pages", "objects"), [8.0]);
}

/// Every object is fetched once, and in the same order over one connection as over six: sizes by
/// the time at which the fetch began. What was counted at the senders is what the pages hold.
#[test]
fn objects_are_fetched_once_and_in_order() {
    let sizes = |web: &str| {
        let web = format!(
            "{web}sessions = 2\npairs = 1\nobjects_per_page = 7\n\
             think = {{ constant = \"0.2 s\" }}\n\
             object = {{ pareto = {{ shape = 1.5, mean = \"12 kB\", max = \"500 kB\" }} }}\n"
        );
        let plain = text("", "").replace("think = { constant = \"1 h\" }\n", "");
        let keys = ["objects_per_page = 2\n", "object = { constant = \"3000 B\" }\n"];
        let r = ran(&(keys.iter().fold(plain, |text, key| text.replace(key, "")) + &web));
        let [end, took, flow, bytes] =
            ["t_s", "fct_s", "flow", "bytes"].map(|name| column(&r, "fct", name));
        let pages = column(&r, "pages", "bytes");
        assert!(pages.len() > 4 && of_pages(&r, "pages") == Some(pages.len() as f64));
        // What a page has that was not complete comes on top.
        let (fetched, complete) = (bytes.iter().sum::<f64>(), pages.iter().sum::<f64>());
        assert!(fetched >= complete && bytes.len() >= 7 * pages.len(), "{fetched} {complete}");
        let goodput = r.groups[0][0].expect("goodput") * 20.0 / 8.0;
        assert!(goodput >= fetched - 1.0, "{goodput} of {fetched}");
        let first = if web.contains("connections = 6") { 6.0 } else { 1.0 };
        let mut began: Vec<(f64, f64, f64)> = (0..end.len())
            .filter(|i| flow[*i] < first)
            .map(|i| (((end[i] - took[i]) * 1e9).round(), flow[i], bytes[i]))
            .collect();
        began.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        began.iter().map(|b| b.2).take(70).collect::<Vec<_>>()
    };
    let one = sizes("connections = 1\nrequest = \"360 B\"\n");
    assert!(one.len() == 70 && one.iter().any(|b| *b != one[0]));
    for web in [
        "connections = 6\nrequest = \"360 B\"\n",
        "connections = 6\nrequest = \"360 B\"\npersistent = true\n",
        "connections = 6\npersistent = true\n",
        "connections = 1\n",
    ] {
        assert_eq!(sizes(web), one, "{web}");
    }
}

/// Three requests at once, and room for one behind the one that is being sent: the third is lost. A
/// second later it goes out again, and its object takes what the first did.
#[test]
fn a_lost_request_is_repeated() {
    let web = "connections = 3\nobjects_per_page = 3\nrequest = \"360 B\"\n";
    let r = ran(&text(web, "reverse_buffer = 1"));
    assert_eq!(of_pages(&r, "request_repeats"), Some(1.0));
    near(&column(&r, "pages", "page_time_s"), &[1.0436]);
    // Nothing gets through: again after 1, 3, 7 and 15 s.
    let r = ran(&text("request = \"360 B\"\n", "reverse_loss = 1.0"));
    assert_eq!((of_pages(&r, "request_repeats"), of_pages(&r, "pages")), (Some(4.0), Some(0.0)));
    assert_eq!(of_pages(&r, "page_time_mean_s"), None);
    // The timer is TCP's: after 2, 4 … 18 s.
    let web = "request = \"360 B\"\ninitial_rto = \"2 s\"\nmax_rto = \"2 s\"\n";
    let r = ran(&text(web, "reverse_loss = 1.0"));
    assert_eq!(of_pages(&r, "request_repeats"), Some(9.0));
}

/// What comes after a full second is a repetition that the server does not answer twice.
#[test]
fn a_late_answer_is_answered_once() {
    let web = "request = \"360 B\"\nobject = { constant = \"1000 B\" }\n";
    let r = ran(&text(web, "reverse_delay = \"1.2 s\""));
    // Request 1200.4, SYN 10.04, SYN-ACK 1200.04, data 11.04; then again, behind an ACK.
    let object = 1200.4 + 10.04 + 1200.04 + 11.04;
    near(&column(&r, "fct", "t_s"), &[object * MS, (2.0 * object + 0.04) * MS]);
    assert_eq!(of_pages(&r, "request_repeats"), Some(2.0));
    assert_eq!(column(&r, "fct", "bytes"), [1000.0, 1000.0]);
    // An object that takes longer than the timeout has been answered by its first byte.
    let r = ran(&text("request = \"360 B\"\nobject = { constant = \"2 MB\" }\n", ""));
    assert!(column(&r, "fct", "fct_s").iter().all(|t| *t > 2.0));
    assert_eq!((of_pages(&r, "request_repeats"), of_pages(&r, "pages")), (Some(0.0), Some(1.0)));
}

/// 60 segments with an initial window of 10. On an open connection the second object begins with
/// the window that the first one reached: it saves the handshake and most of slow start.
#[test]
fn an_open_connection_keeps_its_window() {
    let large = "object = { constant = \"60 kB\" }\nrequest = \"360 B\"\n";
    let fresh = column(&ran(&text(large, "")), "fct", "fct_s");
    let open = column(&ran(&text(&format!("{large}persistent = true\n"), "")), "fct", "fct_s");
    near(&fresh[..1], &open[..1]);
    near(&fresh[1..], &[fresh[0] + 0.04 * MS]);
    // An ACK, the request, and all 60 segments in one burst.
    near(&open[1..], &[(0.04 + 10.4 + 60.0 * 1.04 + 10.0) * MS]);
    assert!(open[1] < fresh[1] - 20.08 * MS - 10.0 * MS, "{open:?} {fresh:?}");
}

/// A delayed ACK goes with the request. A short last segment counts what it has.
#[test]
fn a_request_takes_the_held_back_ack_along() {
    let web = "object = { constant = \"2500 B\" }\nrequest = \"360 B\"\npersistent = true\n\
               delayed_ack = true\n";
    let r = ran(&text(web, ""));
    // The first object: 10.4, 20.08, 2.62 + 10. The third segment's ACK waits, and goes along.
    near(&column(&r, "fct", "t_s"), &[43.1 * MS, (43.1 + 10.4 + 12.62) * MS]);
    assert_eq!(r.groups[0][0], Some(5000.0 * 8.0 / 20.0));
    assert_eq!(column(&r, "pages", "bytes"), [5000.0]);
}

/// The next object of a connection waits for `inter_object`, the next page for `think`.
#[test]
fn pauses() {
    let web = "connections = 2\nobjects_per_page = 3\ninter_object = { constant = \"100 ms\" }\n";
    let ends = ends(web);
    // Two SYNs; the second connection's data wait for the first's.
    near(&ends, &[43.24, 46.36, 143.24 + 43.24]);
    let text = text("request = \"360 B\"\n", "").replace("\"1 h\"", "\"1 s\"");
    let r = ran(&text);
    near(&column(&r, "pages", "t_s")[..2], &[87.24 * MS, 1.0 + 2.0 * 87.24 * MS]);
    near(&column(&r, "pages", "page_time_s")[..2], &[87.24 * MS, 87.24 * MS]);
}

/// No object begins after `stop`; a page that is not complete is none.
#[test]
fn a_stop_ends_the_session() {
    let r = ran(&text("request = \"360 B\"\nstop = \"40 ms\"\n", ""));
    near(&column(&r, "fct", "t_s"), &[43.6 * MS]);
    assert_eq!(of_pages(&r, "pages"), Some(0.0));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let web = "connections = 6\nrequest = \"360 B\"\npersistent = true\nobjects_per_page = 20\n\
               sessions = 5\nstart = { uniform = [\"0 s\", \"1 s\"] }\n\
               inter_object = { exponential = \"1 ms\" }\n\
               object = { exponential = \"20 kB\" }\n";
    let text =
        text(web, "").replace("\"1 h\"", "\"10 ms\"").replace("buffer = 1000", "buffer = 20");
    let (s, r) = (good(&text), ran(&text));
    assert!(of_pages(&r, "pages") > Some(10.0), "{:?}", r.pages);
    assert_eq!(document(&s, &[&r]), document(&s, &[&ran(&text)]));
    // With an event for everything.
    let config = s.lower(s.seed()).unwrap();
    let tap = Some(Tap { link: 1, out: false });
    let record = Record { pcap: tap, series: Some(Duration::from_secs(1)), ..Record::default() };
    let mut captured = run(&Config { record, ..config }, &Handle::default()).unwrap();
    assert!(captured.pcap.take().is_some_and(|file| file.len() > 1000));
    assert_eq!(captured, r);
}

/// The keys stand in the resolved scenario where one of them is given, and only there; so do the
/// metrics in the document.
#[test]
fn who_gives_none_of_the_keys_has_none_of_it() {
    let (plain, browser) = (good(&text("", "")), good(&text("persistent = true\n", "")));
    let entry = |s: &penstock_scenario::Scenario| s.resolved()["traffic"][0].clone();
    assert!(entry(&plain).get("connections").is_none());
    assert_eq!(
        (&entry(&browser)["connections"], &entry(&browser)["request"]),
        (&1.into(), &().into())
    );
    let of = |s: &penstock_scenario::Scenario| {
        let r = run(&s.lower(1).unwrap(), &Handle::default()).unwrap();
        document(s, &[&r])
    };
    assert!(!of(&plain).contains("page_time") && of(&browser).contains("page_time_mean_s"));
    let again = penstock_scenario::Scenario::from_json(&browser.resolved_json()).unwrap();
    assert_eq!(again.resolved(), browser.resolved());
}

#[test]
fn what_does_not_fit_is_said() {
    for (web, part) in [
        ("connections = 0\n", "traffic.0.connections = 0: must be a whole number in [1, 1000]"),
        ("connections = 1.5\n", "traffic.0.connections = 1.5: must be a whole number"),
        ("persistent = 1\n", "traffic.0.persistent = 1: must be true or false"),
        ("request = true\n", "traffic.0.request = true: must be a size"),
        (
            "request = \"0 B\"\n",
            "request = \"0 B\": must be between 1 B and a segment (1000 B): it is one packet",
        ),
        ("request = \"2 kB\"\n", "must be between 1 B and a segment (1000 B)"),
    ] {
        let found = message(&text(web, ""));
        assert!(found.contains(part), "{found}");
    }
}

/// The example's pages are complete, and faster where the queues are kept short.
#[test]
fn the_example() {
    let s = good(include_str!("../../../scenarios/browsers.toml"));
    let mean = |kind: &str| {
        let s = s.set_all(&[("aqm.kind", kind), ("aqm.reverse.kind", kind), ("duration", "40 s")]);
        let r = run(&s.unwrap().lower(1).unwrap(), &Handle::default()).unwrap();
        assert_eq!(r.pages_of(2), r.page_metrics());
        assert!(r.pages_of(0).is_empty() && of_pages(&r, "pages") > Some(20.0), "{:?}", r.pages);
        of_pages(&r, "page_time_mean_s").expect("pages")
    };
    let (pie, droptail) = (mean("pie"), mean("droptail"));
    assert!(pie < 0.9 * droptail, "{pie} s with PIE, {droptail} s with DropTail");
}
