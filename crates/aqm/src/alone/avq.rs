//! AVQ, adaptive virtual queue. S. Kunniyur, R. Srikant, "Analysis and design of an adaptive
//! virtual queue (AVQ) algorithm for active queue management", SIGCOMM 2001. A virtual queue of
//! capacity `C̃ <= C` sees the same arrivals; what overflows it is signalled. `C̃` moves so that
//! the arrival rate λ settles at γC: `dC̃/dt = α(γC − λ)`. With `b` the packet, `B` the virtual
//! buffer, `s` the previous arrival:
//!
//! ```text
//! VQ <- max(VQ − C̃(t − s), 0)
//! if VQ + b > B: signal   else VQ <- VQ + b
//! C̃ <- max(min(C̃ + αγC(t − s), C) − αb, 0);   s <- t
//! ```
//! λ counts what is dropped too: with drops, the link carries γC less the losses, and an
//! unresponsive λ above γC takes C̃ to 0 and loses all. Everything counts bytes, whatever `unit`
//! says: in packets a 40 B ACK would weigh as much against C as 1000 B of data.

use crate::aqm::Aqm;
use crate::context::{Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::signal::Classic;
use crate::verdict::Verdict;
use penstock_units::param::{num_open, ParamError};
use penstock_units::{group, params, QueueLen, Rng, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "avq",
    doc: "Adaptive virtual queue: signals what would overflow a slower link whose rate follows \
        the arrivals.",
    source: "Kunniyur, Srikant 2001",
    equations: "arrival of b bytes at t, the previous one at s:\n\
        VQ ← max(VQ − C̃·(t − s), 0)\n\
        VQ + b > B:  signal,  else VQ ← VQ + b\n\
        C̃ ← max(min(C̃ + α·γ·C·(t − s), C) − α·b, 0)",
    expect: "The virtual queue belongs to a link a little slower than the real one, so signals \
        come before the real queue has grown: it stays short, at a utilisation of γ. What counts \
        is the rate of the arrivals, not the queue; the figure therefore runs over the load. \
        Below γ nothing is signalled; above it C̃ falls, and what the virtual link cannot carry \
        is signalled.",
    weaknesses: "With drops instead of marks the dropped packets count as load, and the link \
        carries γ·C less the losses. A load above γ·C that does not respond takes C̃ to zero, and \
        then every packet is signalled. α must suit round-trip time and load (the paper has a \
        rule); the default is its example. Lengths count in bytes whatever `unit` says.",
    params: own_tables::<AvqParams>(),
    state: &states(COLUMNS),
    defaults: AvqParams::DEFAULTS,
};

group! {
    /// What the user of AVQ sets.
    pub struct AvqParams {
        /// Its own.
        pub own: AvqOwn,
        /// What every kind takes.
        pub common: Common,
    }
}

params! {
    /// Parameters.
    pub struct AvqOwn: Default {
        /// Desired utilisation of the link.
        pub gamma: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 0.98,
            source: "Kunniyur, Srikant 2001, section 4",
        },
        /// How fast the virtual capacity follows.
        pub alpha: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1/s",
            default: 0.15,
            source: "Kunniyur, Srikant 2001, section 4",
        },
        /// Size of the virtual queue; packets count as many bytes as the mean one.
        pub virtual_buffer: Option<QueueLen> {
            unit: "packets",
            auto: "the link's buffer",
            source: "Kunniyur, Srikant 2001, section 2",
        },
    }
}

const COLUMNS: &[Column<Avq>; 2] = &[
    column("c_tilde_bps", "Capacity of the virtual queue, bits per second.", |d| d.c_tilde * 8.0),
    column("vq_pkts", "Length of the virtual queue, in packets of the mean size.", |d| {
        d.vq / d.mean
    }),
];

/// AVQ. Lengths are in bytes, capacities in bytes a second.
#[derive(Clone, Debug)]
pub struct Avq {
    gamma: f64,
    alpha: f64,
    /// B.
    buffer: f64,
    /// C.
    capacity: f64,
    /// Bytes of a mean packet.
    mean: f64,
    signal: Classic,
    c_tilde: f64,
    vq: f64,
    last: Time,
}

impl Avq {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &AvqParams, cx: &Context) -> Result<Self, ParamError> {
        let unit = Unit::of(p, &p.common, cx)?.in_bytes();
        let capacity = cx.rate.as_bps() as f64 / 8.0;
        Ok(Avq {
            gamma: p.own.gamma,
            alpha: p.own.alpha,
            buffer: unit.length(p.own.virtual_buffer.unwrap_or(cx.buffer)),
            capacity,
            mean: unit.per_pkt,
            signal: Classic::new(p.common.ecn),
            c_tilde: capacity,
            vq: 0.0,
            last: Time::ZERO,
        })
    }
}

impl Avq {
    /// An arrival of `b` at `now`: whether it overflows the virtual queue.
    #[inline]
    fn overflows(&mut self, now: Time, b: f64) -> bool {
        let gap = now.since(self.last).as_secs_f64();
        self.last = now;
        self.vq = (self.vq - self.c_tilde * gap).max(0.0);
        let overflows = self.vq + b > self.buffer;
        if !overflows {
            self.vq += b;
        }
        let raised =
            (self.c_tilde + self.alpha * self.gamma * self.capacity * gap).min(self.capacity);
        self.c_tilde = (raised - self.alpha * b).max(0.0);
        overflows
    }
}

impl Aqm for Avq {
    #[inline]
    fn arrive(&mut self, now: Time, pkt: &Packet, _: &Queue, _: &mut Rng) -> Verdict {
        if self.overflows(now, f64::from(pkt.bytes)) {
            self.signal.early(pkt, 1.0)
        } else {
            Verdict::Pass
        }
    }

    fn go_on(&mut self, before: Self, _: Time) {
        self.vq = before.vq;
        self.last = before.last;
        self.c_tilde = before.c_tilde.min(self.capacity);
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(COLUMNS, self, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, params};
    use crate::Ecn;
    use penstock_units::Rate;

    /// 1.024 Mbit/s: C = 128 kB/s. Two packets of 1000 B in the virtual buffer.
    fn avq(set: &[(&'static str, &'static str)]) -> Avq {
        let cx = crate::Context { rate: Rate::from_bps(1_024_000).unwrap(), ..context() };
        let halves = [("gamma", "0.5"), ("alpha", "0.25"), ("virtual_buffer", "2")];
        let set: Vec<_> = halves.into_iter().chain(set.iter().copied()).collect();
        Avq::new(&params(&KIND, &set), &cx).unwrap()
    }

    #[test]
    fn virtual_queue_by_hand() {
        let mut a = avq(&[]);
        let at = |sixtyfourths: u64| Time::from_nanos(sixtyfourths * 1_000_000_000 / 64);
        // Time in 1/64 s. C̃: + 1/4·1/2·128000·gap (250 in 1/64 s), at most 128000, then − 1000/4.
        for (t, overflows, vq, c_tilde) in [
            (0, false, 1000.0, 127_750.0),
            (0, false, 2000.0, 127_500.0),
            (0, true, 2000.0, 127_250.0),
            (1, false, 2000.0 - 127_250.0 / 64.0 + 1000.0, 127_250.0), // + 250 − 250
            (65, false, 1000.0, 127_750.0), // a second: empty, and C̃ at its ceiling
        ] {
            assert_eq!(a.overflows(at(t), 1000.0), overflows, "at {t}/64 s");
            let near = |x: f64, want: f64| (x - want).abs() < 1e-6;
            assert!(
                near(a.vq, vq) && near(a.c_tilde, c_tilde),
                "at {t}/64 s: {} {}",
                a.vq,
                a.c_tilde
            );
        }
        for _ in 0..1000 {
            let _ = a.overflows(at(65), 1000.0);
        }
        assert_eq!((a.c_tilde, a.vq), (0.0, 2000.0), "a capacity is never negative");
    }

    #[test]
    fn a_packet_counts_its_size() {
        for unit in ["\"bytes\"", "\"packets\""] {
            let mut a = avq(&[("unit", unit), ("ecn", "true")]);
            let mut rng = Rng::stream(1, "test");
            let q = Queue { pkts: 0, bytes: 0, idle_since: Some(Time::ZERO) };
            let mut arrive = |bytes| {
                a.arrive(
                    Time::ZERO,
                    &Packet { bytes, ecn: Ecn::Ect0, flow: 0, class: 0 },
                    &q,
                    &mut rng,
                )
            };
            assert_eq!(arrive(1500), Verdict::Pass);
            assert_eq!(arrive(501), Verdict::Mark(crate::Level::Ce, crate::Reason::Early)); // 1500 + 501 > 2000
            assert_eq!(arrive(500), Verdict::Pass);
            let mut state = vec![];
            a.state(&mut |name, x| state.push((name, x)));
            // 128000 − 1/4·(1500 + 501 + 500) = 127374.75 B/s
            assert_eq!(state, [("c_tilde_bps", 8.0 * 127_374.75), ("vq_pkts", 2.0)]);
        }
    }
}
