//! DualPI2 in closed loop, as the RFCs that define it say: Scalable flows wait about a millisecond,
//! Classic ones about the target, and both get the same rate (RFC 9332, sections 1.4 and 4.2,
//! appendix C).

use crate::common::{band, good, goodput, simulate};
use penstock_aqm::alone::dualpi2::Variant;
use penstock_aqm::{
    Aqm, Context, DualPi2, DualPi2Params, Ecn, Packet, Queue, Service, Turn, Verdict,
};
use penstock_sim::{run, Handle, RunResult, UserAqm};
use penstock_units::{Duration, QueueLen, Rate, Rng, Time};

/// A link, and hosts as Linux has them.
fn line(variant: &str, mbit: u32, rtt_ms: u32, seconds: u32, traffic: &str) -> String {
    format!(
        "profile = \"linux\"\nduration = \"{seconds} s\"\nmeasure = {{ from = \"10 s\" }}\n\
         [topology]\nkind = \"dumbbell\"\n\
         bottleneck = {{ rate = \"{mbit} Mbit/s\", delay = \"{} ms\", buffer = \"10000 packets\" }}\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"0 ms\" }}\n\
         [aqm]\nkind = \"dualpi2\"\nvariant = \"{variant}\"\n{traffic}",
        f64::from(rtt_ms) / 2.0,
    )
}

/// One Prague flow and one CUBIC flow at a point of the grid.
struct Point {
    ratio: f64,
    l_mean_ms: f64,
    l_p99_ms: f64,
    c_mean_ms: f64,
    drops_l: f64,
    two_packets_ms: f64,
}

impl Point {
    fn of(variant: &str, mbit: u32, rtt_ms: u32, seconds: u32) -> Point {
        Point::with(variant, mbit, rtt_ms, seconds, "")
    }

    /// With more keys of the discipline.
    fn with(variant: &str, mbit: u32, rtt_ms: u32, seconds: u32, keys: &str) -> Point {
        let one = |tcp| {
            let start = "start = { uniform = [\"0 s\", \"1 s\"] }\n";
            format!("[[traffic]]\nkind = \"ftp\"\nflows = 1\ntcp = \"{tcp}\"\n{start}")
        };
        let traffic = keys.to_owned() + &one("prague") + &one("cubic");
        let r = simulate(&line(variant, mbit, rtt_ms, seconds, &traffic));
        let p = Point {
            ratio: goodput(&r, 0) / goodput(&r, 1),
            l_mean_ms: 1e3 * band(&r, "L", "delay_mean_s"),
            l_p99_ms: 1e3 * band(&r, "L", "delay_p99_s"),
            c_mean_ms: 1e3 * band(&r, "C", "delay_mean_s"),
            drops_l: ["drops_early", "drops_overflow"].iter().map(|m| band(&r, "L", m)).sum(),
            two_packets_ms: 2.0 * 8.0 * 1514.0 / f64::from(mbit) / 1e3,
        };
        println!(
            "{variant:6} {mbit:4} Mbit/s {rtt_ms:3} ms: Prague/CUBIC {:.2}, L {:.2} ms, 99 % {:.2} ms, C {:.1} ms, \
             drops in L {}",
            p.ratio, p.l_mean_ms, p.l_p99_ms, p.c_mean_ms, p.drops_l
        );
        p
    }

    /// What is published, and does not hold here.
    fn misses(&self) -> Vec<&'static str> {
        let claims = [
            ("ratio", (0.5..=2.0).contains(&self.ratio)),
            ("L mean", self.l_mean_ms < self.two_packets_ms.max(1.0)),
            ("L 99 %", self.l_p99_ms <= self.two_packets_ms.max(2.0)),
            ("C mean", (10.0..=20.0).contains(&self.c_mean_ms)),
            ("no loss in L", self.drops_l == 0.0),
        ];
        claims.iter().filter(|(_, holds)| !holds).map(|(name, _)| *name).collect()
    }
}

#[test]
fn prague_and_cubic_share_a_link() {
    assert_eq!(Point::of("rfc", 40, 25, 40).misses(), [""; 0]);
    // Over twenty seeds 1.7 to 2.6, 2.05 in the mean; that of the RFC's form is 1.90 to 1.93.
    let linux = Point::of("linux", 40, 25, 40);
    assert!((1.5..2.7).contains(&linux.ratio), "{}", linux.ratio);
    assert!(linux.misses().iter().all(|miss| *miss == "ratio"));
}

/// A packet takes 1.2 ms at 10 Mbit/s, so Linux's step at 1 ms marks all that is not alone, and Prague
/// gets a third of CUBIC's rate. With `min_qlen_step 1` they share.
#[test]
fn a_step_below_a_packets_time_starves_prague() {
    let [as_it_comes, with_length] =
        ["", "th_len = 1\n"].map(|more| Point::with("linux", 10, 25, 40, more));
    assert_eq!(as_it_comes.misses(), ["ratio"]);
    assert!(as_it_comes.ratio < 0.5);
    assert_eq!(with_length.misses(), [""; 0]);
}

/// The whole grid, over two minutes. Where it does not hold: Linux's step at 10 Mbit/s, see above, and
/// a ratio that is 2.05 for 2 at 100 Mbit/s and 25 ms.
#[test]
#[ignore = "the whole grid: make test-long"]
fn prague_and_cubic_share_any_link() {
    for variant in ["rfc", "linux"] {
        for mbit in [10, 40, 100] {
            for rtt_ms in [10, 25, 50] {
                let point = Point::of(variant, mbit, rtt_ms, 130);
                match (variant, mbit, rtt_ms) {
                    ("linux", 10, _) => assert!(point.misses() == ["ratio"] && point.ratio < 0.5),
                    ("linux", 100, 25) => assert!((1.8..=2.2).contains(&point.ratio)),
                    _ => assert_eq!(point.misses(), [""; 0], "{variant} {mbit} {rtt_ms}"),
                }
            }
        }
    }
}

/// DualPI2 to which datagrams of class 46 are ECT(1). Nobody hears their marks.
struct Claimed(DualPi2);

fn claimed(pkt: &Packet) -> Packet {
    Packet { ecn: if pkt.class == 46 { Ecn::Ect1 } else { pkt.ecn }, ..*pkt }
}

fn unheard(pkt: &Packet, verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Mark(..) if pkt.class == 46 => Verdict::Pass,
        other => other,
    }
}

impl Aqm for Claimed {
    fn service(&self) -> Service {
        self.0.service()
    }
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        let verdict = self.0.arrive(now, &claimed(pkt), q, rng);
        unheard(pkt, verdict)
    }
    fn enqueued(&mut self, now: Time, pkt: &Packet, handle: u32) {
        self.0.enqueued(now, &claimed(pkt), handle);
    }
    fn next(&mut self, now: Time) -> Turn<u32> {
        self.0.next(now)
    }
    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        sojourn: Duration,
        q: &Queue,
        rng: &mut Rng,
    ) -> Verdict {
        let verdict = self.0.depart(now, &claimed(pkt), sojourn, q, rng);
        unheard(pkt, verdict)
    }
    fn next_tick(&self) -> Option<Time> {
        self.0.next_tick()
    }
    fn tick(&mut self, now: Time, q: &Queue) {
        self.0.tick(now, q);
    }
    fn bands(&self) -> Vec<String> {
        self.0.bands()
    }
    fn band(&self, pkt: &Packet) -> Option<u8> {
        self.0.band(pkt)
    }
}

/// The link under 1.2 times its rate of ECT(1) that answers no mark, beside other traffic.
fn overloaded(variant: Variant, traffic: &str) -> RunResult {
    let claims =
        "[[traffic]]\nkind = \"cbr\"\nrate = \"24 Mbit/s\"\npacket = \"1500 B\"\nclass = 46\n";
    let mut params = DualPi2Params::default();
    params.own.variant = variant;
    let link = Context::new(
        Rate::from_bps(20_000_000).unwrap(),
        Duration::from_micros(12_500),
        QueueLen::Packets(10_000.0),
    );
    let own = UserAqm::new("rust:claimed", move |_| {
        Ok(Box::new(Claimed(DualPi2::new(&params, &link).expect("its defaults"))))
    });
    let text = line(variant.word(), 20, 25, 40, &format!("{claims}{traffic}"));
    let s = good(&text).with_user_aqm(own).unwrap();
    run(&s.lower(1).unwrap(), &Handle::default()).unwrap()
}

/// Both queues lose packets, and C gets its share at least: 4 Mbit/s of datagrams, or thirty flows. A
/// single flow of CUBIC could not tell: a loss of a quarter, which is L's, makes it small by itself.
#[test]
fn overload_does_not_starve_c() {
    let datagrams = "[[traffic]]\nkind = \"poisson\"\nrate = \"4 Mbit/s\"\npacket = \"1500 B\"\n";
    let flows = "[[traffic]]\nkind = \"ftp\"\nflows = 30\ntcp = \"cubic\"\n";
    for (variant, share) in [(Variant::Rfc, 1.0 / 16.0), (Variant::Linux, 0.1)] {
        for traffic in [datagrams, flows] {
            let r = overloaded(variant, traffic);
            let of = |name, metric| band(&r, name, metric);
            let kept = of("C", "throughput_bps") / 20e6;
            let lost = ["L", "C"].map(|name| of(name, "drops_early"));
            let waits = ["L", "C"].map(|name| 1e3 * of(name, "delay_mean_s"));
            println!("{variant:?}: C keeps {kept:.3}, drops {lost:?}, delays {waits:.1?} ms");
            assert!(kept >= share, "{variant:?}: {kept}");
            assert!(lost[0] > 1000.0 && lost[1] > 500.0, "{variant:?}: {lost:?}");
            assert!(waits[0] < 5.0 && (10.0..=20.0).contains(&waits[1]), "{variant:?}: {waits:?}");
        }
    }
}
