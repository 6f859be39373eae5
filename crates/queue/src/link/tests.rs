//! A stretch against the same packets one by one.

use super::*;
use crate::Schedule;
use penstock_aqm::{kind, Context, Packet, COMMON, KINDS};
use penstock_units::param::{Loss, Profile, Value, Values};
use std::sync::Arc;

/// 8 Mbit/s, so that 1000 B take a millisecond, and room for 20 packets.
fn link(name: &str, ties: bool, loss: f64) -> Link {
    let kind = kind(name).expect("a kind");
    let tables: Vec<_> = kind.params.iter().copied().chain([COMMON]).collect();
    let mut values = Values::defaults(&tables, &kind.defaults, Profile::Rfc);
    values.set("unit", Value::Word("packets".into()));
    let rate = penstock_units::Rate::from_bps(8_000_000).expect("not zero");
    let (delay, buffer) = (Duration::from_millis(10), QueueLen::Packets(20.0));
    let config = LinkConfig {
        name: "link".into(),
        opposite: None,
        rate,
        delay,
        buffer,
        count_in_service: true,
        aqm: AqmConfig::Kind(kind.name),
        aqm_values: Arc::new(values),
        aqm_context: Context::new(rate, delay, buffer),
        loss: Loss::Bernoulli(loss),
        bleach: false,
        jitter: None,
        schedule: Schedule::Steps(vec![]),
        framing: None,
        burst: None,
    };
    let keep = Keep {
        window: Some((Time::from_nanos(500_000_000), Time::from_nanos(3_000_000_000))),
        series: Some(Duration::from_millis(50)),
        events: true,
        flows: None,
        tally: false,
    };
    Link::new(&config, 1, ties, &keep, &Abort::default()).unwrap()
}

/// Packets, when they began to be sent, and what became of them.
struct Packets {
    all: Vec<(Arriving, Time)>,
    next: usize,
    became: Vec<Fate>,
    turns: Vec<String>,
    gone: Vec<u32>,
    until: Time,
}

impl Source for Packets {
    fn next(&mut self) -> bool {
        self.next += 1;
        self.next <= self.all.len()
    }

    fn packet(&self) -> Arriving {
        self.all[self.next - 1].0
    }

    fn scheduled(&self) -> Time {
        self.all[self.next - 1].1
    }

    fn became(&mut self, fate: Fate) {
        self.became.push(fate);
    }

    fn turn(&mut self, now: Time, served: Served) {
        self.turns.push(format!("{now:?} {served:?}"));
    }

    fn discard(&mut self, index: u32) {
        self.gone.push(index);
    }

    fn until(&self) -> Time {
        self.until
    }
}

/// A packet every millisecond, more or less, on a grid of a quarter of one: transmissions start at
/// the instants of arrivals, samples and timers come at them, and what was sent at the same time as
/// the packet in service is among them.
fn packets() -> Packets {
    let mut rng = Rng::stream(2, "packets");
    let quarter = |n: u64| Time::from_nanos(n * 250_000);
    let mut at = 0;
    let all = (0..4000u32).map(|i| {
        at += if i % 500 == 0 { 60 } else { (rng.unit() * 7.9) as u64 };
        let ecn = if i % 3 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
        let pkt = Packet { bytes: [1000, 1000, 500][i as usize % 3], ecn, flow: i % 7, class: 0 };
        let sent = quarter(at.saturating_sub((rng.unit() * 5.0) as u64));
        (Arriving { at: quarter(at), pkt, index: i, data: i % 5 != 0 }, sent)
    });
    let all = all.collect();
    Packets { all, next: 0, became: vec![], turns: vec![], gone: vec![], until: Time::ZERO }
}

#[test]
fn a_stretch_is_its_packets_one_by_one() {
    let mut kinds = [0; 2];
    let mut ties_at_once = 0;
    for kind in KINDS {
        for (ties, loss, turns_left) in [(false, 0.0, 0), (true, 0.0, 10), (true, 0.1, 200)] {
            let [mut a, mut b] = [(); 2].map(|()| link(kind.name, ties, loss));
            kinds[usize::from(a.is_eager())] += 1;
            let last = packets().all.last().expect("packets").0.at;
            let until = last + Duration::from_millis(turns_left);
            let (mut want, mut turns, mut gone, mut due) = (vec![], vec![], vec![], Time::NEVER);
            let mut turn = |link: &mut Link, gone: &mut Vec<u32>, now: Time| {
                let served = link.serve(now, |index| gone.push(index));
                turns.push(format!("{now:?} {served:?}"));
                served.again
            };
            for (packet, sent) in packets().all {
                while due <= packet.at {
                    due = turn(&mut a, &mut gone, due);
                }
                if a.catch_up(packet.at) {
                    ties_at_once += usize::from(a.port.buffer.in_service_since == sent);
                }
                let fate = a.arrive(&packet, || sent, |index| gone.push(index));
                if let Fate::Held(Some(at)) = fate {
                    due = at;
                }
                want.push(fate);
            }
            while due < until {
                due = turn(&mut a, &mut gone, due);
            }
            let (source, due_then) = b.stretch(Packets { until, ..packets() }, Time::NEVER);
            assert_eq!(source.became, want, "{}, {ties}, {loss}", kind.name);
            assert!(source.turns == turns && due_then == due, "{}, {ties}, {loss}", kind.name);
            assert_eq!(source.gone, gone, "{}, {ties}, {loss}", kind.name);
            let end = Time::from_nanos(5_000_000_000);
            let [mut a, mut b] = [a, b].map(|mut link| {
                link.finish(end);
                link
            });
            assert!(a.conserves() && b.conserves());
            let counted = |link: &Link| format!("{:?}", link.port.buffer.stats);
            assert_eq!(counted(&a), counted(&b), "{}, {ties}, {loss}", kind.name);
            assert_eq!(
                format!("{:?}", a.taken_tables()),
                format!("{:?}", b.taken_tables()),
                "{}",
                kind.name
            );
        }
    }
    assert!(kinds[0] >= 40 && kinds[1] >= 12 && ties_at_once > 100, "{kinds:?}, {ties_at_once}");
}
