//! The scenario space: any sequence of bytes is a scenario. The property tests draw the bytes at
//! random, the fuzz target `engine` mutates them; both then do the same with it. Zeros (and an
//! exhausted input) mean the simplest choice, so inputs shrink well. Disciplines and TCP are drawn
//! from their declarations: a new kind or key is covered as soon as it is declared.

use penstock_aqm::{COMMON, KINDS};
use penstock_tcp::{PARAMS, VARIANTS};
use penstock_units::param::{Param, Profile, Ty};
use std::fmt::Write;

/// Packets that one link may carry in a run, about; the run is cut short accordingly.
const PACKETS: f64 = 15_000.0;

/// The bytes of an input, one choice after the other.
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Choices(bytes)
    }
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }
    /// In [0, 1].
    fn unit(&mut self) -> f64 {
        f64::from(u16::from_be_bytes([self.byte(), self.byte()])) / 65_535.0
    }
    fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
    /// True once in `n` times.
    fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }
    /// Every order of magnitude is as likely as every other.
    fn log(&mut self, lo: f64, hi: f64) -> f64 {
        lo * libm::pow(hi / lo, self.unit())
    }
    fn whole(&mut self, lo: f64, hi: f64) -> u64 {
        self.log(lo, hi).round() as u64
    }
}

/// A scenario file; most are accepted.
pub fn scenario(bytes: &[u8]) -> String {
    let c = &mut Choices::new(bytes);
    let mut body = String::new();
    let hops = if c.once_in(4) { 1 + c.below(3) } else { 0 };
    let rate = c.log(64e3, 1e9);
    let mut fastest = rate;
    let mut smallest = f64::INFINITY;
    // Routers of a graph.
    let nodes = if hops == 0 && c.once_in(4) { 2 + c.below(4) } else { 0 };
    let traffic: Vec<Entry> = (0..=c.below(3)).map(|_| entry(c, hops, nodes, rate)).collect();
    for t in &traffic {
        smallest = smallest.min(t.wire);
    }
    let mut link = vec![
        format!("rate = \"{rate:.0} bit/s\""),
        format!("delay = {}", delay(c)),
        format!("buffer = {}", buffer(c)),
    ];
    if c.once_in(4) {
        let reverse = c.log(64e3, 1e9);
        fastest = fastest.max(reverse);
        link.push(format!("reverse_rate = \"{reverse:.0} bit/s\""));
        link.push(format!("reverse_delay = {}", delay(c)));
        link.push(format!("reverse_buffer = {}", buffer(c)));
    }
    for key in ["loss", "reverse_loss"] {
        if c.once_in(4) {
            link.push(format!("{key} = {}", loss(c)));
        }
    }
    let jitter = ["jitter", "reverse_jitter"]
        .map(|key| c.once_in(8).then(|| link.push(format!("{key} = {}", jitter(c)))).is_some());
    if jitter.contains(&true) && c.once_in(2) {
        link.push("reorder = true".into());
    }
    for key in ["bleach", "reverse_bleach"] {
        if c.once_in(8) {
            link.push(format!("{key} = true"));
        }
    }
    for key in ["overhead", "mpu"] {
        if c.once_in(8) {
            link.push(format!("{key} = \"{} B\"", c.below(257)));
        }
    }
    if c.once_in(8) {
        link.push(format!("framing = \"{}\"", c.pick(&["atm", "ptm"])));
    }
    if c.once_in(6) {
        let shaped = c.pick(&["shaped", "reverse_shaped"]);
        link.push(format!("{shaped} = \"{} %\"", 20 + c.below(100)));
        if c.once_in(2) {
            link.push(format!("shaper_burst = {}", time(c.log(1e-6, 1e-1))));
        }
        if c.once_in(2) {
            link.push("shaper_framed = false".into());
        }
        if c.once_in(2) {
            link.push(format!("modem_buffer = {}", 1 + c.below(100)));
        }
    }
    let trace = c.once_in(6).then(|| trace(c));
    fastest = trace.iter().map(|t| t.1).fold(fastest, f64::max);
    let steps: Vec<Option<f64>> = if trace.is_none() && c.once_in(4) {
        (0..=c.below(4)).map(|_| (!c.once_in(3)).then(|| c.log(64e3, 1e9))).collect()
    } else {
        vec![]
    };
    let back: Vec<f64> =
        if c.once_in(8) { (0..2).map(|_| c.log(64e3, 1e9)).collect() } else { vec![] };
    fastest = steps.iter().flatten().chain(&back).copied().fold(fastest, f64::max);
    let duration = (PACKETS * 8.0 * smallest / fastest).clamp(1e-3, 3.0);
    if !steps.is_empty() {
        let gap = duration / (steps.len() + 1) as f64;
        let list: Vec<String> = steps
            .iter()
            .enumerate()
            .map(|(i, r)| {
                format!(
                    "{{ at = {}, rate = \"{:.0} bit/s\" }}",
                    time(gap * (i + 1) as f64),
                    r.unwrap_or(0.0)
                )
            })
            .collect();
        link.push(format!("schedule = [{}]", list.join(", ")));
    }
    if let [one, other] = back[..] {
        let every = time(duration * c.log(0.01, 0.5));
        link.push(format!(
            "reverse_schedule = {{ cycle = [\"{one:.0} bit/s\", \"{other:.0} bit/s\"], every = {every} }}"
        ));
    }
    if let Some((file, _)) = trace {
        link.push(format!("schedule = {{ mahimahi = '{file}' }}"));
    }
    let _ = writeln!(body, "duration = {}", time(duration));
    let profile = c.pick(Profile::WORDS);
    if profile != "rfc" {
        let _ = writeln!(body, "profile = \"{profile}\"");
    }
    match c.below(4) {
        0 => {}
        1 => {
            let (from, to) = (c.unit() * 0.6, 0.61 + c.unit() * 0.39);
            let _ = writeln!(
                body,
                "measure = {{ from = {}, to = {} }}",
                time(from * duration),
                time(to * duration)
            );
        }
        _ => {
            let from = c.unit() * 0.9;
            let _ = writeln!(body, "measure = {{ from = {} }}", time(from * duration));
        }
    }
    if c.once_in(8) {
        let _ = writeln!(body, "overhead = \"{} B\"", c.below(200));
    }
    let _ = writeln!(body, "seed = {}", c.below(256));
    let mut links = String::new();
    if nodes > 0 {
        let _ = writeln!(body, "[topology]\nkind = \"graph\"");
        links = graph(c, nodes, &link, rate);
    } else if hops == 0 {
        let _ = writeln!(body, "[topology]\nbottleneck = {{ {} }}", link.join(", "));
    } else {
        let cross = if traffic.iter().any(|t| t.kind == "ftp") { c.below(4) } else { 0 };
        let _ = writeln!(
            body,
            "[topology]\nkind = \"parking-lot\"\nhops = {hops}\ncross_flows = {cross}\nlink = {{ {} }}",
            link.join(", ")
        );
    }
    let access = c.below(3);
    for side in &["access", "egress"][..access] {
        let rate = rate * c.pick(&[4.0, 1.0, 0.3, 30.0]);
        let _ = write!(body, "{side} = {{ rate = \"{rate:.0} bit/s\", delay = {}", delays(c));
        if c.once_in(4) {
            let _ = write!(body, ", buffer = {}", buffer(c));
        }
        let _ = writeln!(body, " }}");
    }
    body += &links;
    aqm(c, "aqm", &mut body);
    if c.once_in(3) {
        aqm(c, "aqm.reverse", &mut body);
    }
    for t in &traffic {
        let _ = writeln!(body, "[[traffic]]\nkind = \"{}\"\n{}", t.kind, t.keys);
        let start = if t.late { c.unit() * 0.8 } else { 0.0 };
        match if t.open { 3 } else { c.below(4) } {
            0 => {
                let _ = writeln!(
                    body,
                    "start = {{ uniform = [{}, {}] }}",
                    time(start * duration),
                    time(duration)
                );
            }
            1 => {
                let (every, from) = (time(0.05 * duration), time(start * duration));
                let _ = writeln!(body, "start = {{ every = {every}, from = {from} }}");
            }
            _ => {
                let _ = writeln!(body, "start = {}", time(start * duration));
            }
        }
        if t.stops {
            let stop = start + 0.001 + c.unit();
            let _ = writeln!(body, "stop = {}", time(stop * duration));
        }
        if access > 0 && c.once_in(4) {
            let _ = writeln!(body, "access_delay = {}", delays(c));
        }
    }
    body
}

fn time(seconds: f64) -> String {
    format!("\"{} ns\"", (seconds * 1e9).max(0.0).round() as u64)
}

fn delay(c: &mut Choices) -> String {
    time(if c.once_in(4) { 0.0 } else { c.log(1e-5, 0.5) })
}

fn delays(c: &mut Choices) -> String {
    match c.below(3) {
        0 => delay(c),
        1 => format!("{{ uniform = [{}, {}] }}", time(c.log(1e-6, 1e-3)), time(c.log(1e-3, 0.2))),
        _ => format!("{{ spread = [{}, {}] }}", time(c.log(1e-6, 1e-3)), time(c.log(1e-3, 0.2))),
    }
}

/// What a delay is longer than the link says: now and then by many packets' times.
fn jitter(c: &mut Choices) -> String {
    let (low, high) = (time(c.log(1e-7, 1e-4)), time(c.log(1e-4, 0.1)));
    match c.below(5) {
        0 => format!("{{ constant = {high} }}"),
        1 => format!("{{ uniform = [{low}, {high}] }}"),
        2 => format!("{{ exponential = {low} }}"),
        3 => format!("{{ pareto = {{ shape = 1.3, mean = {low} }} }}"),
        _ => format!("{{ empirical = [[{low}, 0.9], [{high}, 1]] }}"),
    }
}

fn buffer(c: &mut Choices) -> String {
    if c.once_in(4) {
        format!("\"{} B\"", c.whole(40.0, 1e6))
    } else {
        c.whole(1.0, 1000.0).to_string()
    }
}

fn loss(c: &mut Choices) -> String {
    let p = |c: &mut Choices| if c.once_in(8) { 1.0 } else { c.log(1e-4, 0.5) };
    if c.once_in(3) {
        let (p, r, good, bad) = (p(c), p(c), p(c) * 0.1, p(c));
        format!("{{ gilbert_elliott = {{ p = {p}, r = {r}, good = {good}, bad = {bad} }} }}")
    } else {
        p(c).to_string()
    }
}

/// The links of a graph: a tree, which reaches every router, and some more. The first has these
/// keys.
fn graph(c: &mut Choices, nodes: usize, first: &[String], rate: f64) -> String {
    let mut out = String::new();
    let mut taken = vec![];
    let more = c.below(4);
    for i in 1..nodes + more {
        let (a, b) = if i < nodes { (c.below(i), i) } else { (c.below(nodes), c.below(nodes)) };
        if a == b || taken.contains(&(a, b)) || taken.contains(&(b, a)) {
            continue;
        }
        taken.push((a, b));
        let _ = writeln!(out, "[[topology.link]]\nfrom = \"n{a}\"\nto = \"n{b}\"");
        if i == 1 {
            let _ = writeln!(out, "{}", first.join("\n"));
        } else {
            let own = rate * c.pick(&[1.0, 0.5, 0.1]);
            let _ = writeln!(
                out,
                "rate = \"{own:.0} bit/s\"\ndelay = {}\nbuffer = {}",
                delay(c),
                buffer(c)
            );
        }
        if c.once_in(4) {
            let _ = writeln!(out, "cost = {}", 1 + c.below(4));
        }
        if i >= nodes && c.once_in(3) {
            let _ = writeln!(out, "one_way = true");
        }
        for table in ["topology.link.aqm", "topology.link.aqm.reverse"] {
            if c.once_in(3) {
                aqm(c, table, &mut out);
            }
        }
    }
    out
}

/// A mahimahi trace: its file and its rate in bits a second.
fn trace(c: &mut Choices) -> (String, f64) {
    let mut at = 0;
    let n = 1 + c.below(20);
    let mut text = String::new();
    for i in 0..n {
        at += c.pick(&[0, 1, 0, 1, 2, 10]);
        at = at.max(u32::from(i == n - 1));
        let _ = writeln!(text, "{at}");
    }
    (file(&text), n as f64 * 12e6 / f64::from(at))
}

/// Packets to replay.
fn packets(c: &mut Choices) -> String {
    let mut at = 0.0;
    let mut text = String::new();
    for _ in 0..=c.below(40) {
        at += if c.once_in(3) { 0.0 } else { c.log(1e-6, 1e-2) };
        let _ = writeln!(text, "{at:.9},{}", c.whole(1.0, 9000.0));
    }
    file(&text)
}

/// A file of this content, for scenarios that name one.
fn file(content: &str) -> String {
    let step = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
    let name = content.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step);
    let folder = std::env::temp_dir().join("penstock-space");
    let path = folder.join(format!("{name:016x}"));
    if !path.exists() {
        std::fs::create_dir_all(&folder).expect("a folder for files");
        // Others may draw the same at the same time.
        let own = folder.join(format!(
            "{name:016x}-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::write(&own, content).and_then(|()| std::fs::rename(&own, &path)).expect("a file");
    }
    path.display().to_string()
}

/// An entry of `[[traffic]]`.
struct Entry {
    kind: &'static str,
    keys: String,
    late: bool,
    stops: bool,
    /// Its transfers begin whatever became of those before.
    open: bool,
    /// Bytes of its packets on the wire, about.
    wire: f64,
}

fn entry(c: &mut Choices, hops: usize, nodes: usize, rate: f64) -> Entry {
    let kind =
        c.pick(&["ftp", "ftp", "ftp", "web", "video", "cbr", "poisson", "onoff", "voip", "replay"]);
    let mut keys = String::new();
    let flows = 1 + c.below(6);
    let wire;
    let mut open = false;
    if matches!(kind, "ftp" | "web" | "video") {
        let segment = c.whole(40.0, 9000.0);
        wire = segment as f64 + 40.0;
        let tcp = VARIANTS[c.below(VARIANTS.len())].name;
        let ecn = match tcp {
            "vegas" => "off",
            "dctcp" => c.pick(&["classic", "accecn", "sce"]),
            "prague" => "accecn",
            _ => c.pick(&["off", "classic"]),
        };
        let window = c.whole(1.0, 500.0);
        let _ = writeln!(
            keys,
            "tcp = \"{tcp}\"\necn = \"{ecn}\"\nsegment = \"{segment} B\"\nwindow = {window}"
        );
        for p in PARAMS.iter().filter(|p| !["tcp", "ecn", "segment", "window"].contains(&p.name)) {
            if c.once_in(8) {
                // Not below any `min_rto`.
                let span = if p.name == "max_rto" { (3.0, 60.0) } else { (1e-3, 3.0) };
                let _ = writeln!(keys, "{} = {}", p.name, value(c, p, span));
            }
        }
        if kind == "ftp" && c.once_in(3) {
            let size = c.whole(1.0, 1e6);
            let _ = match size % 4 {
                0 => writeln!(
                    keys,
                    "bytes = {{ empirical = [[\"{} B\", 0.2], [\"{size} B\", 1]] }}\npairs = {}",
                    size / 2,
                    1 + flows / 2
                ),
                _ => writeln!(keys, "bytes = \"{size} B\""),
            };
            open = c.once_in(3);
            if open {
                let often = match c.below(2) {
                    // Of the smallest as many as of those with a thousand bytes.
                    0 => format!("load = {}", c.log(1e-3, 1.0) * (size as f64 / 1e3).min(1.0)),
                    _ => format!("rate = \"{} /s\"", c.log(1.0, 300.0)),
                };
                let _ = writeln!(keys, "arrivals = {{ poisson = {{ {often} }} }}");
            }
        }
        if kind == "video" {
            let low = (rate * c.log(1e-3, 1.0) / flows as f64).max(1.0);
            let chunk = c.log(1e-2, 0.3);
            let startup = chunk * c.unit() * 4.0;
            let _ = writeln!(keys, "bitrates = [\"{low:.0} bit/s\", \"{:.0} bit/s\"]", low * 3.0);
            let _ = writeln!(keys, "chunk = {}\nstartup = {}", time(chunk), time(startup));
            let _ = writeln!(keys, "buffer = {}", time(1e-6 + startup + chunk * c.log(1.0, 4.0)));
            let _ = writeln!(keys, "safety = {}\nweight = {}", c.log(0.1, 2.0), c.log(0.01, 1.0));
        }
        if kind == "web" {
            let _ = writeln!(keys, "sessions = {flows}\npairs = {}", 1 + c.below(flows));
            let _ = writeln!(keys, "objects_per_page = {}", 1 + c.below(4));
            let object = c.whole(1.0, 1e5);
            let shapes = [
                "constant = \"# B\"",
                "exponential = \"# B\"",
                "pareto = { shape = 1.3, mean = \"# B\" }",
            ];
            let _ = writeln!(
                keys,
                "object = {{ {} }}",
                c.pick(&shapes).replace('#', &object.to_string())
            );
            for key in ["think", "inter_object"] {
                // Not below a millisecond: an object may take no time, and so may the next.
                let _ = writeln!(keys, "{key} = {{ constant = {} }}", time(c.log(1e-3, 0.3)));
            }
            browser(c, &mut keys, segment as f64);
        }
    } else if kind == "replay" {
        let _ = writeln!(keys, "file = '{}'", packets(c));
        wire = 1000.0;
    } else if kind == "voip" {
        let packet = c.whole(40.0, 9000.0);
        wire = packet as f64;
        let own = rate * c.pick(&[0.5, 0.01, 0.95, 1.3]) / flows as f64;
        let _ = writeln!(keys, "interval = {}", time((wire * 8.0 / own).clamp(1e-5, 1e3)));
        let _ = writeln!(keys, "packet = \"{packet} B\"");
        if c.once_in(2) {
            for key in ["talk", "silence"] {
                let _ = writeln!(keys, "{key} = {{ exponential = {} }}", time(c.log(1e-3, 0.3)));
            }
        }
    } else {
        let packet = c.whole(40.0, 9000.0);
        wire = packet as f64;
        let own = rate * c.pick(&[0.5, 0.01, 0.95, 1.0, 1.3]) / flows as f64;
        let _ = writeln!(keys, "rate = \"{:.0} bit/s\"\npacket = \"{packet} B\"", own.max(1.0));
        if c.once_in(2) {
            let _ = writeln!(keys, "jitter = {}", c.unit());
        }
        if kind == "onoff" {
            for key in ["on", "off"] {
                let mean = time(c.log(1e-3, 0.3));
                let shapes = [
                    format!("exponential = {mean}"),
                    format!("pareto = {{ shape = 1.5, mean = {mean} }}"),
                ];
                let _ = writeln!(keys, "{key} = {{ {} }}", shapes[c.below(2)]);
            }
        }
    }
    if kind != "web" && !open {
        let _ = writeln!(keys, "flows = {flows}");
    }
    if nodes > 0 {
        let from = c.below(nodes);
        let to = (from + 1 + c.below(nodes - 1)) % nodes;
        let _ = writeln!(keys, "from = \"n{from}\"\nto = \"n{to}\"");
    } else if c.once_in(3) {
        let _ = writeln!(keys, "direction = \"reverse\"");
    } else if hops > 1 && c.once_in(2) {
        let _ = writeln!(keys, "from = \"R{}\"", c.below(hops));
    }
    Entry { kind, keys, late: c.once_in(3), stops: c.once_in(3), open, wire }
}

/// Keys of a web entry that fetches as a browser does; half of them do.
fn browser(c: &mut Choices, keys: &mut String, segment: f64) {
    if c.once_in(2) {
        let _ = writeln!(keys, "connections = {}", 1 + c.below(6));
        let _ = writeln!(keys, "persistent = {}", c.once_in(2));
        if c.once_in(2) {
            let _ = writeln!(keys, "request = \"{} B\"", c.whole(1.0, segment));
        }
    }
}

fn aqm(c: &mut Choices, table: &str, body: &mut String) {
    let kind = &KINDS[c.below(KINDS.len())];
    let _ = writeln!(body, "[{table}]\nkind = \"{}\"", kind.name);
    for p in kind.params.iter().copied().chain([COMMON]).flatten() {
        // ECN is on more often than a key is set.
        if c.once_in(if p.name == "ecn" { 2 } else { 6 }) {
            let _ = writeln!(body, "{} = {}", p.name, value(c, p, (1e-4, 3.0)));
        }
    }
}

/// A literal in the range of a declaration; durations within `span`.
fn value(c: &mut Choices, p: &Param, span: (f64, f64)) -> String {
    typed(c, &p.ty, span)
}

fn typed(c: &mut Choices, ty: &Ty, span: (f64, f64)) -> String {
    match ty {
        Ty::Bool => (!c.once_in(2)).to_string(),
        Ty::Int { min, max } => {
            let (lo, hi) = (*min as f64, *max as f64);
            format!(
                "{:.0}",
                if c.once_in(8) {
                    c.pick(&[lo, hi])
                } else {
                    lo + c.log(1.0, hi.min(1000.0)) - 1.0
                }
            )
        }
        Ty::Num { min, max, open } => {
            let least = if *open { min + (max - min) * 1e-9 } else { *min };
            let x = match c.below(4) {
                0 => min + (max - min) * c.log(1e-6, 1.0),
                1 => (min + c.log(1e-3, 100.0)).min(*max),
                2 => *max,
                _ => least,
            };
            format!("{x:?}")
        }
        Ty::Or(inner, words) => {
            if c.once_in(2) {
                format!("\"{}\"", words[c.below(words.len())])
            } else {
                typed(c, inner, span)
            }
        }
        Ty::Word(words) => format!("\"{}\"", words[c.below(words.len())]),
        Ty::Duration => time(c.log(span.0, span.1)),
        Ty::Size => format!("\"{} B\"", c.whole(40.0, 9000.0)),
        Ty::Queue => match c.below(4) {
            0 => format!("\"{} B\"", c.whole(40.0, 1e6)),
            1 => format!("{:.2}", c.log(0.1, 300.0)),
            _ => c.whole(1.0, 300.0).to_string(),
        },
        Ty::Tables(params) => {
            let one = |c: &mut Choices, p: &Param| format!("{} = {}", p.name, value(c, p, span));
            let table = |c: &mut Choices| params.iter().map(|p| one(c, p)).collect::<Vec<_>>();
            let tables: Vec<_> =
                (0..c.below(4)).map(|i| format!("t{i} = {{ {} }}", table(c).join(", "))).collect();
            format!("{{ {} }}", tables.join(", "))
        }
        other => {
            panic!("a discipline's or a transport's key of type {other:?}: say here how to draw it")
        }
    }
}
