//! A discipline of RED's family: the five parts, composed.
//!
//! On each arrival the estimator moves `avg`, and the adapter may retune the profile. The profile
//! turns `avg` into probabilities, a gate for each level turns them into a verdict for this packet,
//! and the signal drops or marks it.
//!
//! Profile and adapter are type parameters: a member of the family is the type that they make, and
//! a packet costs neither a virtual call nor a `match` on which member this is.

use crate::aqm::Aqm;
use crate::context::Unit;
use crate::kind::{column, publish, Column};
use crate::packet::{Packet, Queue};
use crate::parts::adapter::{Adapter, Instead};
use crate::parts::estimator::Ewma;
use crate::parts::gate::Gate;
use crate::parts::profile::{Arrival, Point, Profile, Ramp};
use crate::parts::signal::{Severity, Signal};
use crate::verdict::Verdict;
use penstock_units::Codepoints;
use penstock_units::{Rng, Time};

/// The five parts, and what they need.
#[derive(Clone, Debug)]
pub struct Composed<P: 'static, A: 'static> {
    pub(crate) estimator: Ewma,
    pub(crate) profile: P,
    /// The gates, one for each level: a signal restarts the count of its own level only.
    pub(crate) gates: [Gate; 2],
    pub(crate) signal: Signal,
    pub(crate) adapter: A,
    /// The ramp, which the adapter moves.
    pub(crate) ramp: Ramp,
    pub(crate) unit: Unit,
    pub(crate) early_min_queue: f64,
    /// Published, not consulted: where the average was on the profile at the last arrival.
    pub(crate) last: Point,
    pub(crate) columns: &'static [Column<Self>],
}

/// Columns that any member may publish.
impl<P: Profile + 'static, A: 'static> Composed<P, A> {
    pub(crate) const AVG: Column<Self> =
        column("avg_pkts", "The average queue, in packets of the mean size.", |d| {
            d.unit.pkts(d.estimator.value())
        });
    pub(crate) const MAX_P: Column<Self> =
        column("max_p", "The ceiling of the ramp in force.", |d| d.ramp.max_p);
    pub(crate) const P_B: Column<Self> =
        column("p_b", "The probability before the gate, at the last arrival.", |d| d.last.p()[0]);
    pub(crate) const MIN_TH: Column<Self> =
        column("min_th", "The lower threshold in force, in packets.", |d| {
            d.unit.pkts(d.profile.in_force(&d.ramp).min_th)
        });
    pub(crate) const MAX_TH: Column<Self> =
        column("max_th", "The upper threshold in force, in packets.", |d| {
            d.unit.pkts(d.profile.in_force(&d.ramp).max_th)
        });
}

impl<P: Profile, A: Adapter<P>> Composed<P, A> {
    /// A packet arrives. Returns the queue in its unit, and the new average.
    #[inline]
    pub(crate) fn average(&mut self, now: Time, q: &Queue) -> (f64, f64) {
        let length = q.length(self.unit.bytes);
        (length, self.estimator.update(now, length, q.idle_since))
    }

    /// Decides about the packet that [`Composed::average`] was called for.
    #[inline(always)]
    pub(crate) fn decide(
        &mut self,
        now: Time,
        length: f64,
        avg: f64,
        pkt: &Packet,
        rng: &mut Rng,
    ) -> Verdict {
        let arrival = Arrival { now, avg, q: length, pkt };
        self.adapter.arrived(&arrival, &mut self.ramp, &mut self.profile);
        let at = if length < self.early_min_queue {
            Point::Below
        } else {
            self.profile.at(&arrival, &self.ramp)
        };
        let instead = self.adapter.instead(&arrival, self.profile.in_force(&self.ramp));
        self.last = at;
        match (at, instead) {
            (Point::Below, _) => {
                self.gates[0].leave();
                self.gates[1].leave();
                Verdict::Pass
            }
            (Point::Beyond, _) => {
                self.gates[0].restart();
                self.gates[1].restart();
                self.signal.forced(pkt)
            }
            (_, Some(instead)) => self.decided_by(instead, &arrival, rng),
            (Point::On(p), None) => {
                self.gated(Severity::Incipient, p, pkt, rng).unwrap_or(Verdict::Pass)
            }
            (Point::Levels(p1, p2), None) => {
                // The moderate coin comes first. Where it falls, the incipient count goes on all
                // the same.
                if let Some(verdict) = self.gated(Severity::Moderate, p2, pkt, rng) {
                    self.gates[0].count(pkt.bytes);
                    return verdict;
                }
                self.gated(Severity::Incipient, p1, pkt, rng).unwrap_or(Verdict::Pass)
            }
            (Point::Severe(p), None) => {
                self.gates[0].count(pkt.bytes);
                self.gated(Severity::Severe, p, pkt, rng).unwrap_or(Verdict::Pass)
            }
        }
    }

    /// The packet passes unless the gate of `level` chooses it at `p`.
    #[inline(always)]
    fn gated(&mut self, level: Severity, p: f64, pkt: &Packet, rng: &mut Rng) -> Option<Verdict> {
        let gate = &mut self.gates[usize::from(level != Severity::Incipient)];
        gate.decide(p, pkt.bytes, rng).then(|| self.signal.early(level, pkt, p))
    }

    /// The adapter decides this packet in place of the profile in force.
    #[cold]
    fn decided_by(&mut self, instead: Instead, a: &Arrival, rng: &mut Rng) -> Verdict {
        let pkt = a.pkt;
        self.last = Point::Below;
        let signalled = match instead {
            Instead::Coin(p) => {
                self.last = Point::On(p);
                self.gates[0].coin(p, pkt.bytes, rng)
            }
            Instead::Ceiling(max_p) => {
                let p = match self.profile.at(a, &Ramp { max_p, ..self.ramp }) {
                    Point::On(p) | Point::Levels(p, _) | Point::Severe(p) => Some(p),
                    Point::Below | Point::Beyond => None,
                };
                p.is_some_and(|p| {
                    self.last = Point::On(p);
                    self.gates[0].decide(p, pkt.bytes, rng)
                })
            }
        };
        let verdict = if signalled {
            self.signal.early(Severity::Incipient, pkt, self.last.p()[0])
        } else {
            Verdict::Pass
        };
        self.adapter.decided(verdict);
        verdict
    }
}

impl<P: Profile, A: Adapter<P>> Aqm for Composed<P, A> {
    #[inline(always)]
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        let (length, avg) = self.average(now, q);
        self.decide(now, length, avg, pkt, rng)
    }

    fn overflow(&mut self, _: Time, _: &Packet, _: &Queue) {
        self.gates[0].restart();
        self.gates[1].restart();
    }

    #[inline]
    fn average_pkts(&self) -> Option<f64> {
        Some(self.unit.pkts(self.estimator.value()))
    }

    #[inline]
    fn next_tick(&self) -> Option<Time> {
        self.adapter.next_tick()
    }

    fn tick(&mut self, _: Time, q: &Queue) {
        let length = q.length(self.unit.bytes);
        self.adapter.tick(self.estimator.value(), length, &mut self.ramp, &mut self.profile);
    }

    fn codepoints(&self) -> Codepoints {
        self.signal.codepoints()
    }

    fn state_bytes(&self) -> usize {
        size_of_val(self) + self.adapter.heap_bytes()
    }

    fn begin(&mut self, now: Time) {
        self.adapter.start(now);
    }

    fn go_on(&mut self, before: Self, now: Time) {
        let avg = before.estimator.value();
        let same = before.unit.per_pkt == self.unit.per_pkt;
        let scale = if same { 1.0 } else { self.unit.per_pkt / before.unit.per_pkt };
        self.estimator.start_from(avg * scale);
        for (gate, before) in self.gates.iter_mut().zip(&before.gates) {
            gate.go_on(before);
        }
        self.last = before.last;
        self.adapter.start(now);
    }

    fn settled(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("w_q", self.estimator.weight());
        out("min_th", self.ramp.min_th);
        out("max_th", self.ramp.max_th);
        self.profile.settled(out);
        self.adapter.settled(out);
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(self.columns, self, out);
    }
}
