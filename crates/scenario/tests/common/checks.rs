//! What holds of every run, whatever the scenario.

use penstock_aqm::Service;
use penstock_scenario::Scenario;
use penstock_sim::{
    run, Column, Config, Handle, Record, RunResult, Schedule, Table, Tap, LINK_METRICS, METRICS,
};
use penstock_units::{Duration, QueueLen};

/// A metric of a run.
pub fn metric(r: &RunResult, name: &str) -> Option<f64> {
    r.metrics[METRICS.iter().position(|m| m.name == name).expect("a declared metric")]
}

/// Returns where the bottleneck's discipline acts.
fn service(config: &Config) -> Service {
    let link = &config.links[config.bottleneck];
    let aqm = penstock_aqm::build(link.aqm.name(), &link.aqm_values, &link.aqm_context);
    aqm.expect("was built when the scenario was checked").service()
}

/// Runs a scenario of [`super::space`] and checks everything; false: it was refused.
pub fn check(text: &str) -> bool {
    let Ok(scenario) = Scenario::from_toml(text, "space.toml") else { return false };
    let Ok(config) = scenario.lower_within(scenario.seed(), 1 << 30) else { return false };
    let first = go(&config);
    assert_eq!(first, go(&config), "the same seed gives the same result");
    let interval = Duration::from_nanos((config.duration.as_nanos() / 50).max(1));
    let record = Record {
        series: Some(interval),
        events: true,
        groups: true,
        tally: true,
        pcap: Some(Tap { link: config.bottleneck as u32, out: true }),
    };
    let watched = go(&Config { record, ..config.clone() });
    let numbers = |r: &RunResult| {
        let links: Vec<_> = r.links.iter().map(|l| (l.name.clone(), l.metrics.clone())).collect();
        (r.events, r.metrics.clone(), r.groups.clone(), r.flows.clone(), links)
    };
    assert_eq!(numbers(&first), numbers(&watched), "to watch a run does not change it");
    ranges(&config, &first);
    links(&config, &first);
    queue_series(&config, &watched);
    recount(&config, &watched);
    true
}

fn go(config: &Config) -> RunResult {
    run(config, &Handle::default()).expect("a lowered scenario runs")
}

fn ranges(config: &Config, r: &RunResult) {
    let all = r
        .metrics
        .iter()
        .chain(r.groups.iter().flatten())
        .chain(r.flows.iter().flat_map(|f| &f.metrics));
    assert!(all.flatten().all(|x| x.is_finite() && *x >= 0.0), "finite and not negative: {r:?}");
    let within = |name: &str, lo: f64, hi: f64| {
        if let Some(x) = metric(r, name) {
            assert!(x >= lo - 1e-9 && x <= hi + 1e-9, "{name} = {x}, not in [{lo}, {hi}]");
        }
    };
    let forward_ftp = config.flows.iter().filter(|f| f.counts).count().max(1) as f64;
    within("jain", 1.0 / forward_ftp, 1.0);
    for g in r.groups.iter().enumerate() {
        let n = r.flows.iter().filter(|f| f.group as usize == g.0).count() as f64;
        let jain =
            penstock_sim::GROUP_METRICS.iter().position(|m| m.name == "jain").expect("declared");
        assert!(g.1[jain].is_none_or(|j| j >= 1.0 / n - 1e-9 && j <= 1.0 + 1e-9), "{g:?}");
    }
    // What waits when the window begins may be dropped in it, without having arrived in it.
    let kind = config.links[config.bottleneck].aqm.name();
    let drops_waiting = service(config).evicts()
        || ["codel", "cobalt"].contains(&kind)
        || kind == "step" && service(config) == Service::AtDeparture;
    if !drops_waiting || config.measure_from.as_nanos() == 0 {
        within("loss_ratio", 0.0, 1.0);
        within("data_loss_ratio", 0.0, 1.0);
        for part in ["drops_early", "drops_forced", "drops_overflow"] {
            within(part, 0.0, metric(r, "arrivals").unwrap_or(0.0));
        }
    }
    let link = &config.links[config.bottleneck];
    if let QueueLen::Packets(n) = link.buffer {
        within("queue_mean_pkts", 0.0, n);
        within("queue_p99_pkts", 0.0, n);
        // A number in [0, n] strays at most n/2 from its mean.
        within("queue_sd_pkts", 0.0, n / 2.0 + 1e-6);
    }
    for (low, high) in [("delay_p50_s", "delay_p99_s"), ("departures", "arrivals")] {
        if low != "departures" || config.measure_from.as_nanos() == 0 {
            assert!(metric(r, low) <= metric(r, high), "{low} {high}: {r:?}");
        }
    }
    within("marks_ce", 0.0, metric(r, "departures").unwrap_or(0.0));
    // What has been acknowledged since the start has been through the queue.
    if config.measure_from.as_nanos() == 0 && config.links.len() == 2 {
        assert!(
            metric(r, "goodput_bps").unwrap_or(0.0)
                <= metric(r, "throughput_bps").unwrap_or(0.0) + 1e-9
        );
    }
}

/// Every link is described, the bottleneck as the run is.
fn links(config: &Config, r: &RunResult) {
    if !config.measure_links {
        return assert!(r.links.is_empty());
    }
    let described: Vec<String> = r.links.iter().map(|l| l.name.clone()).collect();
    assert_eq!(described, config.links.iter().map(|l| l.name.clone()).collect::<Vec<_>>());
    let bottleneck: Vec<Option<f64>> = LINK_METRICS.iter().map(|m| metric(r, m.name)).collect();
    assert_eq!(r.links[config.bottleneck].metrics, bottleneck);
    let values = r.links.iter().flat_map(|l| l.metrics.iter().flatten());
    assert!(
        values.into_iter().all(|x| x.is_finite() && *x >= 0.0),
        "finite and not negative: {r:?}"
    );
}

fn table<'a>(r: &'a RunResult, name: &str) -> &'a Table {
    r.series.iter().find(|t| t.name == name).unwrap_or_else(|| panic!("no series {name}"))
}

fn whole<'a>(t: &'a Table, name: &str) -> &'a [u64] {
    match t.columns.iter().find(|c| c.0 == name) {
        Some((_, Column::U64(v))) => v,
        other => panic!("{name}: {other:?}"),
    }
}

/// Columns are equally long, numbers finite, probabilities are ones, the buffer holds what it can.
fn queue_series(config: &Config, r: &RunResult) {
    for t in &r.series {
        let lengths: Vec<usize> = t
            .columns
            .iter()
            .map(|(_, c)| match c {
                Column::F64(v) => v.len(),
                Column::U64(v) => v.len(),
                Column::Word(v, _) => v.len(),
            })
            .collect();
        assert!(lengths.windows(2).all(|w| w[0] == w[1]), "{}: {lengths:?}", t.name);
        for (name, c) in &t.columns {
            let Column::F64(v) = c else { continue };
            let infinite = name == "ssthresh_segments";
            // What a control has no estimate of.
            let unknown = t.name == "model";
            assert!(
                v.iter().all(|x| {
                    x.is_finite() || infinite && *x == f64::INFINITY || unknown && x.is_nan()
                }),
                "{}.{name}",
                t.name
            );
            // Feng's adapter has no bound under profile ns-2.
            let free = name == "max_p"
                && ["feng-ared", "custom"].contains(&config.links[config.bottleneck].aqm.name());
            if ["p", "p_b", "p_m", "max_p"].contains(&name.as_str()) && !free {
                assert!(v.iter().all(|p| (0.0..=1.0).contains(p)), "{name}: {v:?}");
            }
        }
    }
    let t = table(r, "queue");
    let over = match config.links[config.bottleneck].buffer {
        QueueLen::Packets(n) => whole(t, "queue_pkts").iter().any(|q| *q as f64 > n),
        QueueLen::Bytes(b) => whole(t, "queue_bytes").iter().any(|q| *q > b),
    };
    assert!(!over, "the buffer holds no more than its limit");
}

/// The waiting packets, as the events tell of them: when each arrived, its flow, its bytes, and
/// whether it was marked.
struct Waiting {
    line: std::collections::VecDeque<(u64, u64, u64, bool)>,
    /// Each flow has a line of its own (FQ-CoDel).
    of_flow: bool,
    /// Evicted packets whose place the event does not tell: CHOKe's are drawn from the whole line.
    gone: Vec<(u64, u64)>,
}

impl Waiting {
    fn len(&self) -> usize {
        self.line.len() - self.gone.len()
    }

    /// Takes the first packet out, or that of its flow, and checks that it is the one.
    fn take(&mut self, row: usize, flow: u64, bytes: u64) -> (u64, bool) {
        let wanted = |w: &(u64, u64, u64, bool)| (w.1, w.2) == (flow, bytes);
        // In front of it may be packets that were evicted.
        while let Some(front) = self.line.front().filter(|w| !self.gone.is_empty() && !wanted(w)) {
            let gone = self.gone.iter().position(|g| *g == (front.1, front.2));
            let Some(gone) = gone else { break };
            self.gone.swap_remove(gone);
            self.line.pop_front();
        }
        let place = if self.of_flow { self.line.iter().position(|w| w.1 == flow) } else { Some(0) };
        let waiting = place.and_then(|i| self.line.remove(i));
        let (arrived, f, b, marked) = waiting.unwrap_or_else(|| panic!("row {row}: nothing waits"));
        assert_eq!((f, b), (flow, bytes), "row {row}: first in, first out");
        (arrived, marked)
    }

    /// A packet from anywhere in the line is evicted.
    fn evict(&mut self, row: usize, flow: u64, bytes: u64) {
        let of = |list: &mut dyn Iterator<Item = (u64, u64)>| {
            list.filter(|label| *label == (flow, bytes)).count()
        };
        let waiting = of(&mut self.line.iter().map(|w| (w.1, w.2)));
        let gone = of(&mut self.gone.iter().copied());
        assert!(waiting > gone, "row {row}: no such packet waits");
        self.gone.push((flow, bytes));
    }
}

/// Counts everything again from the events, by a FIFO (FQ-CoDel: one for each flow) that knows
/// nothing of the engine's.
fn recount(config: &Config, r: &RunResult) {
    let t = table(r, "events");
    let (t_ns, flow, bytes, pkts) =
        (whole(t, "t_ns"), whole(t, "flow"), whole(t, "bytes"), whole(t, "queue_pkts"));
    let Some((_, Column::Word(codes, words))) = t.columns.iter().find(|c| c.0 == "event") else {
        panic!("events have words")
    };
    let (from, to, end) =
        (config.measure_from.as_nanos(), config.measure_to.as_nanos(), config.duration.as_nanos());
    let inside = |t: u64| (from..to).contains(&t);
    let seconds = (to - from) as f64 * 1e-9;
    let framing = config.links[config.bottleneck].framing;
    let of_flow = service(config) == Service::Orders;
    let mut fifo = Waiting { line: [].into(), of_flow, gone: vec![] };
    // Which of several alike was evicted is not told, so neither are the delays of the others.
    let draws = service(config) == Service::Draws;
    let mut drawn = false;
    // SFQ evicts a flow's last packet, unless told otherwise.
    let last_of_flow = config.links[config.bottleneck].aqm.name() == "sfq";
    let (mut arrivals, mut drops, mut departures, mut marks, mut out_bytes) =
        (0u64, [0u64; 3], 0u64, 0u64, 0u64);
    let (mut area, mut held_bytes, mut last) = (0.0, 0u64, 0u64);
    let mut delays: Vec<f64> = vec![];
    let largest = bytes.iter().copied().max().unwrap_or(0);
    for i in 0..t_ns.len() {
        let now = t_ns[i];
        assert!(now >= last && now <= end, "row {i}: time runs forward");
        let (a, b) = (last.clamp(from, to), now.clamp(from, to));
        area += fifo.len() as f64 * (b - a) as f64;
        last = now;
        let word = words[usize::from(codes[i])];
        arrivals += u64::from(
            inside(now) && !["dequeue", "mark_head", "drop_head", "evict"].contains(&word),
        );
        match word {
            "enqueue" | "mark" => {
                fifo.line.push_back((now, flow[i], bytes[i], word == "mark"));
                held_bytes += bytes[i];
            }
            "drop_early" | "drop_forced" | "drop_overflow" => {
                let which =
                    ["drop_early", "drop_forced", "drop_overflow"].iter().position(|w| *w == word);
                drops[which.expect("one of them")] += u64::from(inside(now));
            }
            "drop_head" | "evict" => {
                if draws && word == "evict" {
                    fifo.evict(i, flow[i], bytes[i]);
                    drawn = true;
                } else {
                    let _ = fifo.take(i, flow[i], bytes[i]);
                    drawn |= last_of_flow && word == "evict";
                }
                assert_eq!(fifo.len() as u64, pkts[i], "row {i}: the length after it");
                held_bytes -= bytes[i];
                drops[if word == "evict" && !draws { 2 } else { 0 }] += u64::from(inside(now));
            }
            "mark_head" => marks += u64::from(inside(now)),
            "dequeue" => {
                let (arrived, marked) = fifo.take(i, flow[i], bytes[i]);
                assert_eq!(fifo.len() as u64, pkts[i], "row {i}: the length after it");
                held_bytes -= bytes[i];
                if inside(now) {
                    departures += 1;
                    marks += u64::from(marked);
                    let wire = framing.map_or(bytes[i], |f| u64::from(f.wire(bytes[i] as u32)));
                    out_bytes += wire;
                    delays.push((now - arrived) as f64 * 1e-9);
                }
            }
            other => panic!("row {i}: {other}"),
        }
        // A packet that goes on at once has two rows at one instant; between them it does not wait.
        let waits = fifo.len() as u64
            - u64::from(fifo.len() > 0 && fifo.line.back().is_some_and(|w| w.0 == now));
        let fits = match config.links[config.bottleneck].buffer {
            QueueLen::Packets(n) => waits as f64 <= n && pkts[i] as f64 <= n,
            QueueLen::Bytes(b) => held_bytes <= b + largest,
        };
        assert!(fits, "row {i}: {waits} packets, {held_bytes} bytes wait");
    }
    area += fifo.len() as f64 * (end.clamp(from, to) - last.clamp(from, to)) as f64;

    let within = |name: &str, want: Option<f64>, slack: f64| {
        let got = metric(r, name);
        let close = match (got, want) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * b.abs() + slack,
            (a, b) => a == b,
        };
        assert!(close, "{name}: {got:?}, counted again {want:?}");
    };
    let same = |name: &str, want: Option<f64>| within(name, want, 0.0);
    let n = delays.len() as f64;
    let mean = (n > 0.0).then(|| delays.iter().sum::<f64>() / n);
    same("arrivals", Some(arrivals as f64));
    same("departures", Some(departures as f64));
    same("drops_early", Some(drops[0] as f64));
    same("drops_forced", Some(drops[1] as f64));
    same("drops_overflow", Some(drops[2] as f64));
    let levels = ["marks_ce", "marks_incipient"].map(|name| metric(r, name).unwrap_or(0.0));
    assert!(drawn || levels[0] + levels[1] == marks as f64, "marks of both levels");
    same("loss_ratio", (arrivals > 0).then(|| drops.iter().sum::<u64>() as f64 / arrivals as f64));
    same("throughput_bps", Some(out_bytes as f64 * 8.0 / seconds));
    // The rows' times are whole nanoseconds, the engine's are finer.
    within("queue_mean_pkts", Some(area * 1e-9 / seconds), t_ns.len() as f64 * 1e-9 / seconds);
    if !drawn {
        within("delay_mean_s", mean, 1e-9);
        let longest = delays.iter().copied().fold(0.0, f64::max);
        let var = mean.map(|m| delays.iter().map(|d| (d - m) * (d - m)).sum::<f64>() / n);
        within("delay_var_s2", var, 4e-9 * longest + 1e-15 * longest * longest + 1e-20);
        let steps = delays.windows(2).map(|w| (w[1] - w[0]).abs());
        within("delay_variation_s", (n > 1.0).then(|| steps.sum::<f64>() / (n - 1.0)), 2e-9);
        delays.sort_by(f64::total_cmp);
        for (name, q) in [("delay_p50_s", 0.5), ("delay_p99_s", 0.99)] {
            let want = delays.get(((q * n).ceil() as usize).max(1) - 1).copied();
            let got = metric(r, name);
            assert_eq!(got.is_some(), want.is_some(), "{name}");
            assert!(
                got.zip(want).is_none_or(|(a, b)| (a - b).abs() <= b / 128.0 + 1e-9),
                "{name}: {got:?} {want:?}"
            );
        }
    }
    // The integral of the rate over the window, and at most a packet that ends outside; each idle
    // period rounds a nanosecond.
    let link = &config.links[config.bottleneck];
    let mut bits = 0.0;
    let mut steps: Vec<(u64, u64)> = vec![(0, link.rate.as_bps())];
    match &link.schedule {
        Schedule::Steps(later) => {
            steps.extend(later.iter().map(|(t, r)| (t.as_nanos(), r.map_or(0, |r| r.as_bps()))));
            for (i, (at, bps)) in steps.iter().enumerate() {
                let until = steps.get(i + 1).map_or(end, |s| s.0).clamp(from, to);
                bits += *bps as f64 * until.saturating_sub((*at).clamp(from, to)) as f64 * 1e-9;
            }
        }
        Schedule::Trace(trace) => {
            let period = trace.period().as_nanos();
            let all = (0..=to / period)
                .flat_map(|round| trace.instants().iter().map(move |at| (round, at)));
            bits = all.filter(|(round, at)| inside(round * period + at.as_nanos())).count() as f64
                * 12_000.0;
        }
    }
    let fastest = steps.iter().map(|s| s.1).max().unwrap_or(0) as f64;
    let largest = framing.map_or(largest, |f| u64::from(f.wire(largest as u32)));
    let packet = 8.0 * largest as f64;
    // A shaper's bucket may be full when the window begins, and lets go a packet larger than itself.
    let burst = link.burst.map_or(0.0, |burst| (burst.as_secs_f64() * fastest).max(packet));
    let most = bits + burst + packet + departures as f64 * fastest * 1e-9;
    assert!(out_bytes as f64 * 8.0 <= most + 1e-6, "{out_bytes} B sent, {bits} bit possible");
    match metric(r, "utilization") {
        Some(u) => {
            assert!((u - out_bytes as f64 * 8.0 / bits).abs() <= 1e-6 * u, "utilization {u}")
        }
        None => assert!(bits < 1.0),
    }
}
