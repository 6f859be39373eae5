//! A discipline that holds packets back: a token bucket in front of a faster link.

use penstock_aqm::parts::isolation::{Chain, Chains};
use penstock_aqm::{Aqm, Packet, Queue, Reason, Service, Turn, Verdict};
use penstock_scenario::Scenario;
use penstock_sim::{
    run, Column, Config, Handle, Record, RunResult, Schedule, Tap, Trace, UserAqm, METRICS,
};
use penstock_units::{Duration, Rng, Time};
use std::sync::Arc;

/// A token bucket (Linux's `tbf`) for class 0; class 46 passes it by. A full buffer costs class 0 its
/// first packet.
struct Tbf {
    rate: f64,
    burst: f64,
    tokens: f64,
    /// Until when they have been counted.
    since: Time,
    queues: [Chain; 2],
    packets: Chains,
}

impl Tbf {
    /// Of so many bytes a second, and as many at once.
    fn new(rate: f64, burst: f64) -> Self {
        let (tokens, since) = (burst, Time::ZERO);
        Tbf { rate, burst, tokens, since, queues: Default::default(), packets: Chains::default() }
    }
}

impl Aqm for Tbf {
    fn service(&self) -> Service {
        Service::Orders
    }

    fn arrive(&mut self, _: Time, _: &Packet, _: &Queue, _: &mut Rng) -> Verdict {
        Verdict::Pass
    }

    fn evict(&mut self, _: Time, _: &Packet, _: &Queue, full: bool) -> Option<(u32, Reason)> {
        let shaped = &mut self.queues[1];
        let handle = if full { self.packets.pop(shaped) } else { None };
        handle.map(|handle| (handle, Reason::Overflow))
    }

    fn enqueued(&mut self, _: Time, pkt: &Packet, handle: u32) {
        let queue = &mut self.queues[usize::from(pkt.class == 0)];
        self.packets.push(queue, handle, pkt.bytes);
    }

    fn next(&mut self, now: Time) -> Turn<u32> {
        let [free, shaped] = &mut self.queues;
        if let Some(handle) = self.packets.pop(free) {
            return Turn::Packet(handle);
        }
        self.tokens += now.since(self.since).as_secs_f64() * self.rate;
        (self.tokens, self.since) = (self.tokens.min(self.burst), now);
        let before = *shaped;
        let Some(handle) = self.packets.pop(shaped) else { return Turn::Empty };
        let lacking = f64::from(self.packets.bytes(handle)) - self.tokens;
        // To a nanosecond, so that rounding asks no question twice.
        if lacking > 1e-9 * self.rate {
            *shaped = before;
            return Turn::NotBefore(now + Duration::from_secs_f64(lacking / self.rate));
        }
        self.tokens = -lacking;
        Turn::Packet(handle)
    }
}

fn tbf(text: &str, rate: f64, burst: f64) -> Config {
    let file = Scenario::from_toml(text, "tbf.toml").unwrap();
    let own = UserAqm::new("rust:tbf", move |_| Ok(Box::new(Tbf::new(rate, burst))));
    file.with_user_aqm(own).unwrap().lower(1).unwrap()
}

fn ran(config: &Config, record: Record) -> RunResult {
    run(&Config { record, ..config.clone() }, &Handle::default()).unwrap()
}

/// When packets of each size began to be sent, in nanoseconds.
fn departures(r: &RunResult) -> Vec<(u64, u64)> {
    let table = r.series.iter().find(|t| t.name == "events").unwrap();
    let column = |name: &str| &table.columns.iter().find(|c| c.0 == name).unwrap().1;
    let (Column::U64(t), Column::Word(word, words), Column::U64(bytes)) =
        (column("t_ns"), column("event"), column("bytes"))
    else {
        panic!("{table:?}")
    };
    let rows = t.iter().zip(word).zip(bytes);
    rows.filter(|((_, w), _)| words[usize::from(**w)] == "dequeue")
        .map(|((t, _), bytes)| (*t, *bytes))
        .collect()
}

const EVENTS: Record =
    Record { events: true, series: None, groups: false, tally: false, pcap: None };

/// 125 kB/s, 5000 B at once, and six packets of 1500 B in 60 µs: three go as they come, the others
/// when there are tokens again: 40 − 3·12 = 4 ms of them are left, so after 8, 20, 32 ms.
#[test]
fn a_token_bucket_by_hand() {
    let text = r#"
duration = "100 ms"
topology.bottleneck = { rate = "1 Gbit/s", delay = "10 ms", buffer = 100 }
[[traffic]]
kind = "cbr"
rate = "1 Gbit/s"
packet = "1500 B"
stop = "70 us"
"#;
    let found = departures(&ran(&tbf(text, 125e3, 5000.0), EVENTS));
    let since: Vec<u64> = found.iter().map(|(t, _)| t - found[0].0).collect();
    let want = [0, 12_000, 24_000, 8_000_000, 20_000_000, 32_000_000];
    assert_eq!(since.len(), want.len(), "{since:?}");
    assert!(since.iter().zip(want).all(|(t, want)| t.abs_diff(want) <= 1), "{since:?}");
}

/// TCP and 1.5 Mbit/s of datagrams through 1 Mbit/s of a link of 8 Mbit/s, past which 2 Mbit/s of
/// class 46 go.
const BUSY: &str = r#"
duration = "20 s"
topology.bottleneck = { rate = "8 Mbit/s", delay = "20 ms", buffer = 40 }
measure = { from = "2 s" }
[[traffic]]
kind = "ftp"
[[traffic]]
kind = "poisson"
rate = "1.5 Mbit/s"
[[traffic]]
kind = "poisson"
rate = "2 Mbit/s"
packet = "500 B"
class = 46
"#;

#[test]
fn no_packet_leaves_before_its_time() {
    let r = ran(&tbf(BUSY, 125e3, 5000.0), EVENTS);
    let (mut tokens, mut since, mut bytes) = (5000.0f64, 0, 0);
    for (t, size) in departures(&r).into_iter().filter(|(_, size)| *size != 500) {
        // A token for each byte, and half of one for the nanoseconds.
        tokens = (tokens + (t - since) as f64 * 125e-6).min(5000.0) - size as f64;
        assert!(tokens > -0.5, "{size} B at {t} ns");
        (since, bytes) = (t, bytes + size);
    }
    // Packets wait all the time, so nothing of the rate is lost, and the link is idle in between.
    assert!((bytes as f64 / 20.0 / 125e3 - 1.0).abs() < 0.01, "{bytes} B in 20 s");
    let metric = |name: &str| r.metrics[METRICS.iter().position(|m| m.name == name).unwrap()];
    let utilization = metric("utilization").unwrap();
    assert!((utilization - 3.0 / 8.0).abs() < 0.02, "{utilization}");
}

/// An arrival that may go at once goes at once, although the link was not to be served yet: of
/// class 46 no packet waits for more than one that is being sent, 1500 B at most.
#[test]
fn what_may_go_does_not_wait_for_what_may_not() {
    let r = ran(&tbf(BUSY, 125e3, 5000.0), EVENTS);
    let table = r.series.iter().find(|t| t.name == "events").unwrap();
    let column = |name: &str| &table.columns.iter().find(|c| c.0 == name).unwrap().1;
    let (Column::U64(t), Column::Word(word, words), Column::U64(bytes)) =
        (column("t_ns"), column("event"), column("bytes"))
    else {
        panic!("{table:?}")
    };
    let mut waiting = std::collections::VecDeque::new();
    let mut longest = 0;
    for ((t, word), _) in t.iter().zip(word).zip(bytes).filter(|(_, bytes)| **bytes == 500) {
        match words[usize::from(*word)] {
            "enqueue" => waiting.push_back(*t),
            "dequeue" => longest = longest.max(t - waiting.pop_front().unwrap()),
            other => panic!("{other}"),
        }
    }
    // A full packet takes 1.5 ms, and a few of its own kind may stand before it.
    assert!((1_000_000..4_000_000).contains(&longest), "{longest} ns");
}

/// Whether packets are worked out ahead or one by one.
#[test]
fn a_shaper_is_foreseen() {
    let config = tbf(BUSY, 125e3, 5000.0);
    let tap = Some(Tap { link: config.bottleneck as u32, out: false });
    let ahead = ran(&config, EVENTS);
    let one_by_one = ran(&config, Record { pcap: tap, ..EVENTS });
    assert_eq!(ahead.series, one_by_one.series);
    assert_eq!((ahead.metrics, ahead.flows), (one_by_one.metrics, one_by_one.flows));
}

/// Between two opportunities of a trace nothing is sent, and none is lost to a packet that has its
/// tokens in time.
#[test]
fn a_shaper_on_a_trace() {
    let mut config = tbf(BUSY, 125e3, 5000.0);
    let trace = Trace::new(vec![Duration::from_millis(1)]).unwrap();
    config.links[config.bottleneck].schedule = Schedule::Trace(Arc::new(trace));
    let found = departures(&ran(&config, EVENTS));
    assert!(found.iter().all(|(t, _)| t % 1_000_000 == 0));
    let shaped: u64 = found.iter().filter(|(_, size)| *size != 500).map(|(_, size)| size).sum();
    assert!((shaped as f64 / 20.0 / 125e3 - 1.0).abs() < 0.02, "{shaped} B in 20 s");
}
