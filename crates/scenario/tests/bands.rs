//! Disciplines that tell packets apart: what becomes of each band is counted by itself.

use penstock_aqm::parts::isolation::{Chain, Chains};
use penstock_aqm::{Aqm, Packet, Queue, Reason, Service, Turn, Verdict};
use penstock_scenario::{document, Scenario};
use penstock_sim::{run, Config, Handle, Record, RunResult, Tap, UserAqm, LINK_METRICS, METRICS};
use penstock_units::{Duration, Rng, Time};

/// 8 Mbit/s for 6 Mbit/s of class 0 and 3 Mbit/s of class 46, most of it at the same time.
const FILE: &str = r#"
duration = "8 s"
topology.bottleneck = { rate = "8 Mbit/s", delay = "5 ms", buffer = 30 }
aqm = { kind = "droptail", ecn = true }
measure = { from = "1 s" }
[[traffic]]
kind = "poisson"
rate = "6 Mbit/s"
[[traffic]]
kind = "poisson"
rate = "3 Mbit/s"
class = 46
[[traffic]]
kind = "ftp"
flows = 1
class = 7
ecn = "classic"
"#;

/// Class 46 is urgent, class 0 is the rest; of other classes nothing is counted by itself.
fn band(pkt: &Packet) -> Option<u8> {
    [46, 0].iter().position(|class| *class == pkt.class).map(|i| i as u8)
}

fn names() -> Vec<String> {
    ["urgent", "rest"].map(String::from).to_vec()
}

/// One FIFO: drops every tenth packet, and marks every fifth one that may be marked.
struct Fifo(u32);

impl Aqm for Fifo {
    fn arrive(&mut self, _: Time, _: &Packet, _: &Queue, _: &mut Rng) -> Verdict {
        self.0 += 1;
        match self.0 % 10 {
            0 => Verdict::Drop(Reason::Early),
            5 => Verdict::Mark(penstock_aqm::Level::Ce, Reason::Forced),
            _ => Verdict::Pass,
        }
    }
    fn bands(&self) -> Vec<String> {
        names()
    }
    fn band(&self, pkt: &Packet) -> Option<u8> {
        band(pkt)
    }
}

/// A queue for each band and one for the others. The urgent one goes first. A full buffer costs the
/// last queue that holds anything its first packet; at the head every hundredth packet is dropped.
#[derive(Default)]
struct Strict {
    queues: [Chain; 3],
    packets: Chains,
    sent: u32,
}

impl Aqm for Strict {
    fn service(&self) -> Service {
        Service::Orders
    }
    fn arrive(&mut self, _: Time, _: &Packet, _: &Queue, _: &mut Rng) -> Verdict {
        Verdict::Pass
    }
    fn evict(&mut self, _: Time, _: &Packet, _: &Queue, full: bool) -> Option<(u32, Reason)> {
        let last = self.queues.iter_mut().rev().filter(|_| full);
        let handle = last.filter_map(|queue| self.packets.pop(queue)).next();
        handle.map(|handle| (handle, Reason::Overflow))
    }
    fn enqueued(&mut self, _: Time, pkt: &Packet, handle: u32) {
        let queue = band(pkt).map_or(2, usize::from);
        self.packets.push(&mut self.queues[queue], handle, pkt.bytes);
    }
    fn next(&mut self, _: Time) -> Turn<u32> {
        let next = self.queues.iter_mut().find_map(|queue| self.packets.pop(queue));
        next.map_or(Turn::Empty, Turn::Packet)
    }
    fn depart(&mut self, _: Time, _: &Packet, _: Duration, _: &Queue, _: &mut Rng) -> Verdict {
        self.sent += 1;
        if self.sent % 100 == 0 {
            Verdict::Drop(Reason::Early)
        } else {
            Verdict::Pass
        }
    }
    fn bands(&self) -> Vec<String> {
        names()
    }
    fn band(&self, pkt: &Packet) -> Option<u8> {
        band(pkt)
    }
}

fn with(make: fn() -> Box<dyn Aqm + Send>) -> Scenario {
    let file = Scenario::from_toml(FILE, "bands.toml").unwrap();
    file.with_user_aqm(UserAqm::new("rust:bands", move |_| Ok(make()))).unwrap()
}

fn ran(config: &Config) -> RunResult {
    run(config, &Handle::default()).unwrap()
}

/// A metric of the run's link, and of each of its bands.
fn metric(r: &RunResult, name: &str) -> (f64, [f64; 2]) {
    let i = METRICS.iter().position(|m| m.name == name).unwrap();
    let of_link = LINK_METRICS.iter().position(|m| m.name == name).unwrap();
    let band = |n: usize| r.bands[n].metrics[of_link].unwrap();
    (r.metrics[i].unwrap(), [band(0), band(1)])
}

/// Class 7 is in no band: what the bands have together is the link's without it.
#[test]
fn bands_add_up_to_their_link() {
    let counts = ["arrivals", "departures", "drops_early", "drops_overflow", "marks_ce"];
    let areas = ["queue_mean_pkts", "throughput_bps"];
    for make in [|| Box::new(Fifo(0)) as _, || Box::<Strict>::default() as _] {
        let all = with(make);
        let without =
            all.set_all(&[("traffic.2.start", "7.9 s"), ("measure.to", "7.8 s")]).unwrap();
        let r = ran(&without.lower(1).unwrap());
        assert_eq!(r.bands.iter().map(|b| &*b.name).collect::<Vec<_>>(), ["urgent", "rest"]);
        assert!(r.bands.iter().all(|b| b.link == "bottleneck"));
        for name in counts.into_iter().chain(areas) {
            let (link, bands) = metric(&r, name);
            let sum: f64 = bands.iter().sum();
            assert!((link - sum).abs() <= 1e-9 * link, "{name}: {link}, {bands:?}");
        }
        let (link, bands) = metric(&ran(&all.lower(1).unwrap()), "arrivals");
        assert!(link > bands.iter().sum(), "{link}, {bands:?}");
    }
}

/// 3 Mbit/s pass an empty queue of their own; the rest waits for them.
#[test]
fn the_urgent_band_does_not_wait() {
    let r = ran(&with(|| Box::<Strict>::default()).lower(1).unwrap());
    let (_, [urgent, rest]) = metric(&r, "delay_mean_s");
    assert!(urgent < 0.001 && rest > 10.0 * urgent, "{urgent} {rest}");
    let (_, [urgent, rest]) = metric(&r, "drops_overflow");
    assert!(urgent == 0.0 && rest > 100.0, "{urgent} {rest}");
    let fifo = ran(&with(|| Box::new(Fifo(0))).lower(1).unwrap());
    let (_, [urgent, rest]) = metric(&fifo, "delay_mean_s");
    assert!((urgent / rest - 1.0).abs() < 0.1, "{urgent} {rest}");
}

/// Whether packets are worked out ahead or one by one.
#[test]
fn bands_do_not_depend_on_foresight() {
    for make in [|| Box::new(Fifo(0)) as _, || Box::<Strict>::default() as _] {
        let config = with(make).lower(1).unwrap();
        let tap = Some(Tap { link: config.bottleneck as u32, out: false });
        let record = Record { pcap: tap, ..Record::default() };
        let captured = ran(&Config { record, ..config.clone() });
        assert_eq!(ran(&config).bands, captured.bands);
    }
}

#[test]
fn a_document_has_bands_where_there_are_some() {
    let s = with(|| Box::<Strict>::default());
    let r = ran(&s.lower(1).unwrap());
    let json: serde_json::Value = serde_json::from_str(&document(&s, &[&r])).unwrap();
    let bands = &json["runs"][0]["links"]["bottleneck"]["bands"];
    let names: Vec<_> = bands.as_object().unwrap().keys().collect();
    assert_eq!(names, ["urgent", "rest"]);
    let (_, [urgent, _]) = metric(&r, "delay_p99_s");
    assert_eq!(bands["urgent"]["delay_p99_s"], urgent);
    assert_eq!(bands["rest"].as_object().unwrap().len(), LINK_METRICS.len());
    let without = Scenario::from_toml(FILE, "bands.toml").unwrap();
    let r = ran(&without.lower(1).unwrap());
    assert!(r.bands.is_empty());
    assert!(!document(&without, &[&r]).contains("\"bands\""));
}
