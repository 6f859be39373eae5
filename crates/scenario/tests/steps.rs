//! A run in steps is the run: the same numbers and the same tables, wherever it pauses. And what a
//! change while it runs changes.

use penstock_scenario::Scenario;
use penstock_sim::{
    run, Column, Config, Handle, Record, Run, RunResult, SenderState, Table, Tally, Tap,
};
use penstock_units::{Duration, Rng, Time};
use std::path::PathBuf;

const SAMPLE: Duration = Duration::from_millis(100);

fn recorded(text: &str, name: &str) -> Config {
    let scenario = Scenario::from_toml(text, name).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut config = scenario.lower(scenario.seed()).unwrap();
    config.record.series = Some(SAMPLE);
    config.record.events = true;
    config
}

/// Appends the rows of a piece to its table.
fn join(tables: &mut Vec<Table>, pieces: Vec<Table>) {
    for piece in pieces {
        let Some(table) = tables.iter_mut().find(|t| t.name == piece.name) else {
            tables.push(piece);
            continue;
        };
        for ((_, to), (_, from)) in table.columns.iter_mut().zip(piece.columns) {
            match (to, from) {
                (Column::F64(to), Column::F64(from)) => to.extend(from),
                (Column::U64(to), Column::U64(from)) => to.extend(from),
                (Column::Word(to, _), Column::Word(from, _)) => to.extend(from),
                _ => panic!("columns change their type"),
            }
        }
    }
}

/// Runs in steps of all lengths, and puts the tables together again.
fn in_steps(config: &Config, rng: &mut Rng) -> RunResult {
    let mut run = Run::new(config).unwrap();
    let mut tables = vec![];
    while run.now() < run.end() {
        // From nothing to a second; now and then nothing is taken.
        let step = Duration::from_secs_f64(rng.unit() * rng.unit() * rng.unit());
        run.advance(run.now() + step).unwrap();
        if rng.unit() < 0.9 {
            join(&mut tables, run.taken_tables());
        }
    }
    let mut result = run.finish().unwrap();
    join(&mut tables, std::mem::take(&mut result.series));
    RunResult { series: tables, ..result }
}

#[test]
fn steps_change_nothing() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/documents");
    let mut rng = Rng::stream(1, "steps");
    let mut seen = 0;
    for file in std::fs::read_dir(folder).expect("tests/documents") {
        let path = file.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a file");
        let config = recorded(&text, &path.to_string_lossy());
        let whole = run(&config, &Handle::default()).unwrap();
        let pieces = in_steps(&config, &mut rng);
        for table in &whole.series {
            let joined = pieces.series.iter().find(|t| t.name == table.name);
            assert!(joined == Some(table), "{} of {}", table.name, path.display());
        }
        assert_eq!(whole.series.len(), pieces.series.len());
        let bare = |r: RunResult| RunResult { series: vec![], ..r };
        assert!(bare(whole) == bare(pieces), "{}", path.display());
        seen += 1;
    }
    assert_eq!(seen, 50);
}

const LINK: &str = "
    duration = \"20 s\"
    topology.bottleneck = { rate = \"5 Mbit/s\", delay = \"20 ms\", buffer = \"60 packets\" }
    topology.access = { rate = \"50 Mbit/s\", delay = \"2 ms\" }
    traffic = [{ kind = \"ftp\", flows = 5, ecn = \"classic\" }]
";

fn under(aqm: &str) -> Config {
    recorded(&format!("{LINK}\naqm = {{ {aqm} }}"), "steps.toml")
}

/// Runs `config`, whose bottleneck becomes that of `then` after ten seconds.
fn changed(config: &Config, then: &Config) -> RunResult {
    let mut run = Run::new(config).unwrap();
    run.advance(Time::ZERO + Duration::from_secs(10)).unwrap();
    assert!(run.retune(config.bottleneck, &then.links[then.bottleneck]).unwrap());
    run.finish().unwrap()
}

/// Kinds without an adapter go on with the same parameters as if nothing had been said.
#[test]
fn the_same_parameters_change_nothing() {
    for kind in penstock_aqm::KINDS {
        let config = under(&format!("kind = \"{}\", ecn = true", kind.name));
        let whole = run(&config, &Handle::default()).unwrap();
        let again = changed(&config, &config);
        let adapts = ["ared", "feng-ared", "amecn", "nred", "red-at", "dt-red", "pdt-red", "rared"];
        if adapts.contains(&kind.name) {
            continue; // what adapts starts again; that it runs on is checked
        }
        assert!(whole == again, "{}", kind.name);
    }
}

/// The queue series before and after the change.
fn queue(result: &RunResult, from: f64, to: f64) -> Vec<u64> {
    let table = result.series.iter().find(|t| t.name == "queue").unwrap();
    let (Column::F64(t), Column::U64(q)) = (&table.columns[0].1, &table.columns[1].1) else {
        panic!("time and packets")
    };
    t.iter().zip(q).filter(|(t, _)| (from..to).contains(*t)).map(|(_, q)| *q).collect()
}

#[test]
fn a_change_acts_from_then_on() {
    let mean = |q: &[u64]| q.iter().sum::<u64>() as f64 / q.len() as f64;
    for (before, after) in [
        (
            "kind = \"red\", min_th = 5, max_th = 15, ecn = true",
            "kind = \"red\", min_th = 25, max_th = 55, ecn = true",
        ),
        ("kind = \"pie\", qdelay_ref = \"5 ms\"", "kind = \"pie\", qdelay_ref = \"60 ms\""),
        ("kind = \"codel\", target = \"5 ms\"", "kind = \"codel\", target = \"60 ms\""),
        ("kind = \"fq-codel\", target = \"5 ms\"", "kind = \"fq-codel\", target = \"60 ms\""),
        ("kind = \"ared\", min_th = 5, max_th = 15", "kind = \"ared\", min_th = 25, max_th = 55"),
    ] {
        let what = after;
        let (before, after) = (under(before), under(after));
        let (whole, changed) =
            (run(&before, &Handle::default()).unwrap(), changed(&before, &after));
        assert_eq!(queue(&whole, 0.0, 10.0), queue(&changed, 0.0, 10.0));
        let (short, long) = (queue(&whole, 12.0, 20.0), queue(&changed, 12.0, 20.0));
        assert!(mean(&long) > 1.3 * mean(&short), "{what}: {} {}", mean(&short), mean(&long));
    }
}

/// REM that marks at departures needs its packets to wait where the other kind's need not.
#[test]
fn what_waits_otherwise_is_not_changed_under_way() {
    let at = |place| under(&format!("kind = \"rem\", ecn = true, mark_at = \"{place}\""));
    let (arrival, departure) = (at("arrival"), at("departure"));
    let mut run = Run::new(&arrival).unwrap();
    run.advance(Time::ZERO + Duration::from_secs(1)).unwrap();
    assert!(!run.retune(arrival.bottleneck, &departure.links[departure.bottleneck]).unwrap());
}

/// What can be seen of a run: of each link its queue, its discipline's variables and its tally, and
/// the senders.
type Seen = (Vec<(u32, u64, Vec<(&'static str, u64)>, Tally)>, Vec<Option<SenderState>>);

fn seen(run: &mut Run, config: &Config) -> Seen {
    let link = |i| {
        let (mut state, link) = (vec![], run.link(i));
        // Bits, so that what is not a number is like itself.
        let q = link.state(&mut |name, value| state.push((name, value.to_bits())));
        (q.pkts, q.bytes, state, link.tally().expect("it counts"))
    };
    let links = (0..config.links.len()).map(link).collect();
    (links, (0..config.flows.len()).map(|flow| run.sender(flow)).collect())
}

/// Nothing is written down, so that the engine works ahead as far as it can. What is seen at a pause
/// is what is seen where it works everything out in its turn, as a capture has it; looking changes
/// nothing, and a copy has the same future.
fn looked_at(text: &str, name: &str, rng: &mut Rng) {
    let scenario = Scenario::from_toml(text, name).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let plain = scenario.lower(scenario.seed()).unwrap();
    let whole = run(&plain, &Handle::default()).unwrap();
    let record = Record { tally: true, ..plain.record.clone() };
    let ahead = Config { record: record.clone(), ..plain.clone() };
    let tap = Some(Tap { link: plain.bottleneck as u32, out: false });
    let in_turn = Config { record: Record { pcap: tap, ..record }, ..plain };
    let (mut a, mut b) = (Run::new(&ahead).unwrap(), Run::new(&in_turn).unwrap());
    let end = a.end().since(Time::ZERO).as_secs_f64();
    let mut copies = vec![];
    for _ in 0..30 {
        let step = Duration::from_secs_f64(end / 12.0 * rng.unit() * rng.unit());
        a.advance(a.now() + step).unwrap();
        b.advance(b.now() + step).unwrap();
        if rng.unit() < 0.8 {
            assert_eq!(seen(&mut a, &ahead), seen(&mut b, &in_turn), "{name} at {:?}", a.now());
        }
        if rng.unit() < 0.1 {
            copies.push(a.copy().unwrap());
        }
    }
    for run in copies.into_iter().chain([a]) {
        assert!(run.finish().unwrap() == whole, "{name}");
    }
    assert!(RunResult { pcap: None, ..b.finish().unwrap() } == whole, "{name}");
}

#[test]
fn whoever_looks_sees_what_has_happened() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/documents");
    let mut rng = Rng::stream(1, "looks");
    for file in std::fs::read_dir(folder).expect("tests/documents") {
        let path = file.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "toml") {
            let text = std::fs::read_to_string(&path).expect("a file");
            looked_at(&text, &path.to_string_lossy(), &mut rng);
        }
    }
    // A lone source, at lazy links and eager ones; many hosts' ACKs; a shaper; short links.
    let cbr = "traffic = [{ kind = \"cbr\", rate = \"6 Mbit/s\", packet = \"500 B\" }]";
    let link = LINK.replace(LINK.lines().nth(4).expect("traffic"), cbr);
    for kind in ["droptail", "red", "codel", "pie", "fq-codel", "sfb", "dualpi2"] {
        for text in [LINK, &link] {
            looked_at(&format!("{text}\naqm.kind = \"{kind}\""), kind, &mut rng);
        }
    }
    let short = LINK.replace("delay = \"20 ms\"", "delay = \"0.1 ms\"");
    looked_at(&short, "a short link", &mut rng);
}

/// Any discipline takes over from a third of the others. When the engine works what out makes no
/// difference, nor do the steps.
#[test]
fn any_discipline_takes_over() {
    let text = LINK.replace("20 s", "1.5 s");
    let under = |kind: &str| {
        let text = format!("{text}\naqm = {{ kind = \"{kind}\", ecn = true }}");
        let scenario = Scenario::from_toml(&text, "swap.toml").unwrap_or_else(|e| panic!("{e}"));
        scenario.lower(3).unwrap()
    };
    let configs: Vec<_> = penstock_aqm::KINDS.iter().map(|kind| under(kind.name)).collect();
    let at = Time::ZERO + Duration::from_millis(250); // slow start has filled the queue
    let mut waited = 0;
    for (from, before) in configs.iter().enumerate() {
        for (to, after) in configs.iter().enumerate().skip(from % 3).step_by(3) {
            let swapped = |pcap: bool, step: Duration| {
                let mut config = before.clone();
                config.record.tally = true;
                config.record.pcap = pcap.then_some(Tap { link: 0, out: false });
                let mut run = Run::new(&config).unwrap();
                while run.now() < at {
                    run.advance((run.now() + step).min(at)).unwrap();
                }
                run.swap(config.bottleneck, &after.links[after.bottleneck]).unwrap();
                let waits = run.link(config.bottleneck).waiting();
                run.advance(run.now() + step).unwrap();
                (RunResult { pcap: None, ..run.finish().unwrap() }, waits)
            };
            let (whole, waits) = swapped(false, Duration::from_secs(2));
            let what = [from, to].map(|i| penstock_aqm::KINDS[i].name);
            waited += u32::from(waits > 0);
            let in_turn = swapped(true, Duration::from_millis(30)).0;
            assert!(whole == in_turn, "{what:?}: {} {}", whole.events, in_turn.events);
        }
    }
    assert!(waited > 160, "packets waited {waited} times");
}

#[test]
fn a_discipline_that_takes_over_acts_from_then_on() {
    let mean = |q: &[u64]| q.iter().sum::<u64>() as f64 / q.len() as f64;
    for (before, after) in [("droptail", "codel"), ("fq-codel", "droptail"), ("pie", "red")] {
        let (before, after) =
            (under(&format!("kind = \"{before}\"")), under(&format!("kind = \"{after}\"")));
        let whole = |config| run(config, &Handle::default()).unwrap();
        let mut swapped = Run::new(&before).unwrap();
        swapped.advance(Time::ZERO + Duration::from_secs(10)).unwrap();
        swapped.swap(before.bottleneck, &after.links[after.bottleneck]).unwrap();
        let swapped = swapped.finish().unwrap();
        assert_eq!(queue(&whole(&before), 0.0, 10.0), queue(&swapped, 0.0, 10.0));
        let (want, got) =
            (mean(&queue(&whole(&after), 13.0, 20.0)), mean(&queue(&swapped, 13.0, 20.0)));
        assert!((got / want - 1.0).abs() < 0.3, "{want} {got}");
    }
}
