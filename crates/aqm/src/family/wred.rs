//! WRED, weighted RED: packets have colours, and each colour a RED of its own on one FIFO. Routers
//! and switches have it (Cisco, Juniper, SONiC); no paper describes it. The drop precedences of
//! assured forwarding are RFC 2597's: of class x the DSCP is 8·x + 2·y with precedence y, and a
//! higher precedence must not be dropped less.
//!
//! Linux's GRED (net/sched/sch_gred.c, Linux 7.3) is the same with another average: that of each
//! colour's own packets (`average = "own"`), or beside it of all colours that rank before (`"rio"`,
//! its grio); its "WRED mode" is `"shared"`. The kernel's departs from this in its idle time, which
//! it keeps for each colour, and its spacing of signals.
//!
//! A second profile for marks, apart from that of drops, is what SONiC's users ask for. The
//! averages and the gate are RED's ([`super::red`]).

use crate::aqm::{Aqm, Service};
use crate::context::{Common, Context, Unit};
use crate::family::params::{Base, Ceiling, Setting, Thresholds};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::estimator::Ewma;
use crate::parts::gate::Gate;
use crate::parts::profile::{Arrival, Point, Profile, Ramp, Straight};
use crate::parts::signal::Signal;
use crate::verdict::{Reason, Verdict};
use penstock_units::param::{int, num_open, Named, ParamError};
use penstock_units::{group, params, words, QueueLen, Rng, Time};
use penstock_units::{Ecn, Level};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "wred",
    doc: "RED by colour: packets of a class or a drop precedence have thresholds of their own.",
    source: "RFC 2597; Cisco's WRED, Linux: sch_gred",
    equations:
        "colour = by DSCP: of its own, of a drop precedence y = (DSCP mod 8)/2, or of all others\n\
        avg ← RED's average: of the queue (shared), of the colour's packets (own),\n\
        \u{20}      own + those of all colours of a lower rank (rio)\n\
        p_b = RED's ramp between the colour's min_th and max_th, to its max_p;  beyond: drop\n\
        capable packets of a colour with ecn_max_th: the ramp of ecn_…, beyond: mark",
    expect: "Colours lose in stages: while the average is between the thresholds of two colours, \
        only the worse one is dropped. So traffic that was marked down (out of its contract) gives \
        way first, and what is within its contract loses little, in one FIFO and without \
        reordering. With an average of its own a colour is judged by what it holds itself, and a \
        flood of one does not drop the other.",
    weaknesses: "It protects colours, not flows, and trusts whoever sets the DSCP: where all \
        packets are of one colour it is RED. With the shared average a colour with low thresholds \
        is starved by the others' queue, as long as that stands. RED's own weaknesses remain: the \
        thresholds are of queue lengths, and suit one load and one rate. The ratios of the \
        built-in colours are a switch's defaults, no rule.",
    params: own_tables::<WredParams>(),
    state: &states(COLUMNS),
    defaults: WredParams::DEFAULTS,
};

group! {
    /// What the user of WRED sets.
    pub struct WredParams {
        /// What the whole family takes.
        pub base: Base,
        /// Where the ramp lies.
        pub thresholds: Thresholds,
        /// The ramp's ceiling.
        pub ceiling: Ceiling,
        /// The colours.
        pub own: WredOwn,
        /// What every kind takes.
        pub common: Common,
    }
    // Routers drop every packet above max_th.
    defaults: [("gentle", "false")],
}

words! {
    /// The average that a colour's ramp looks at.
    pub enum AverageOf {
        /// That of the whole queue.
        Shared = "shared",
        /// That of the colour's own packets.
        Own = "own",
        /// Its own, and those of all colours of a lower rank.
        Rio = "rio",
    }
}

params! {
    /// Its own parameters.
    pub struct WredOwn: Default {
        /// Whose average decides: the whole queue's (WRED), the colour's own (GRED), or the
        /// colour's and those of lower ranks (RIO, GRED's grio).
        pub average: AverageOf { default: "shared", source: "Cisco: WRED; Linux: sch_gred" },
        /// The colours by name, `[aqm.colour.red]`. Without any: green for drop precedence 1 and
        /// all other packets, with the thresholds above; yellow for 2 with ¾ of min_th and 0.9 of
        /// max_th; red for 3 with half and 0.8.
        pub colour: Named<Colour> {
            auto: "green, yellow, red, by drop precedence",
            source: "RFC 2597; Dell N-series: 40, 30, 20 % to 100, 90, 80 % of the buffer",
        },
    }
}

params! {
    /// A colour: whose packets it has, and its ramps. One without `dscp` and `drop_precedence` has
    /// all packets that no other has.
    pub struct Colour: Default {
        /// Packets of this DSCP.
        pub dscp: Option<u32> { ty: int(0, 63), unit: "1", auto: "any", source: "RFC 2474" },
        /// With `dscp`: packets up to this one, too.
        pub dscp_to: Option<u32> { ty: int(0, 63), unit: "1", auto: "dscp", source: "RFC 2474" },
        /// Packets of this drop precedence in any class of assured forwarding.
        pub drop_precedence: Option<u32> {
            ty: int(1, 3),
            unit: "1",
            auto: "any",
            source: "RFC 2597, section 6",
        },
        /// Its place for `average = "rio"`: colours of a lower rank count for it.
        pub rank: Option<u32> {
            ty: int(0, 63),
            unit: "1",
            auto: "its place in the list, from 0",
            source: "Linux: sch_gred, prio",
        },
        /// Average queue below which nothing of it is dropped.
        pub min_th: Option<QueueLen> { unit: "packets", auto: "the kind's", source: "as RED" },
        /// Average queue at which its ramp reaches its max_p.
        pub max_th: Option<QueueLen> { unit: "packets", auto: "the kind's", source: "as RED" },
        /// Its probability there.
        pub max_p: Option<f64> {
            ty: num_open(0.0, 1.0),
            unit: "1",
            auto: "the kind's",
            source: "as RED",
        },
        /// With `ecn`: average queue below which nothing of it is marked.
        pub ecn_min_th: Option<QueueLen> {
            unit: "packets",
            auto: "min_th",
            source: "SONiC: ecn thresholds apart from those of drops",
        },
        /// With `ecn`: average queue from which all of it is marked; capable packets are then not
        /// dropped but by a full buffer.
        pub ecn_max_th: Option<QueueLen> {
            unit: "packets",
            auto: "marks are where drops would be",
            source: "SONiC: ecn thresholds apart from those of drops",
        },
        /// With `ecn`: the probability of a mark just below that.
        pub ecn_max_p: Option<f64> {
            ty: num_open(0.0, 1.0),
            unit: "1",
            auto: "max_p",
            source: "SONiC: ecn thresholds apart from those of drops",
        },
    }
}

const COLUMNS: &[Column<Wred>; 2] = &[
    column("avg_pkts", "The average that the last packet met, in packets of the mean size.", |d| {
        d.unit.pkts(d.met)
    }),
    column("p_b", "The last packet's probability before the gate.", |d| d.last.p()[0]),
];

/// What a colour has.
#[derive(Clone, Debug)]
struct Profiled {
    name: String,
    rank: u32,
    drops: Ramp,
    marks: Option<Ramp>,
    gate: Gate,
    /// The average of its own packets, where it counts them.
    own: Ewma,
    /// Its packets that wait, in the unit of the queue.
    backlog: u64,
}

/// WRED.
#[derive(Clone, Debug)]
pub struct Wred {
    average: AverageOf,
    shared: Ewma,
    curve: Straight,
    signal: Signal,
    ecn: bool,
    unit: Unit,
    early_min_queue: f64,
    /// The colour of each DSCP.
    of: [u8; 64],
    colours: Vec<Profiled>,
    /// Published, not consulted: the average at the last arrival, and where it was on the profile.
    met: f64,
    last: Point,
}

/// The drop precedence of a DSCP, if it is one of assured forwarding (RFC 2597, section 6).
fn drop_precedence(dscp: u8) -> Option<u32> {
    let (class, precedence) = (dscp >> 3, (dscp & 7) >> 1);
    let assured = (1..=4).contains(&class) && (1..=3).contains(&precedence) && dscp & 1 == 0;
    assured.then_some(u32::from(precedence))
}

/// The built-in colours, as shares of the kind's min_th and max_th.
const BUILT_IN: [(&str, Option<u32>, f64, f64); 3] =
    [("green", None, 1.0, 1.0), ("yellow", Some(2), 0.75, 0.9), ("red", Some(3), 0.5, 0.8)];

impl Wred {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &WredParams, cx: &Context) -> Result<Self, ParamError> {
        let setting = Setting::of(p, &p.common, cx)?;
        let ramp = p.thresholds.ramp(&setting, p.ceiling.max_p)?;
        // RED's parts, of which each colour has a gate and an average of its own.
        let parts = p.base.compose(&setting, ramp, p.ceiling.profile(), (), &[]);
        let [gate, _] = parts.gates;
        let own = parts.estimator;
        let profiled = |name: &str, rank, drops, marks| {
            let (gate, own) = (gate.clone(), own.clone());
            Profiled { name: name.into(), rank, drops, marks, gate, own, backlog: 0 }
        };
        let (colours, of) = if p.own.colour.0.is_empty() {
            let built_in = BUILT_IN.iter().zip(0..).map(|((name, _, min, max), rank)| {
                let (min_th, max_th) = (min * ramp.min_th, max * ramp.max_th);
                profiled(name, rank, Ramp { min_th, max_th, ..ramp }, None)
            });
            let claims = BUILT_IN.map(|(_, precedence, ..)| match precedence {
                Some(y) => Claim::Precedence(y),
                None => Claim::Others,
            });
            (built_in.collect(), map(&claims)?)
        } else {
            let mut colours = vec![];
            for (place, (name, colour)) in (0..).zip(&p.own.colour.0) {
                let (drops, marks) = colour.ramps(name, &ramp, &setting.unit)?;
                colours.push(profiled(name, colour.rank.unwrap_or(place), drops, marks));
            }
            let claims: Result<Vec<_>, _> = p.own.colour.0.iter().map(Colour::claim).collect();
            (colours, map(&claims?)?)
        };
        Ok(Wred {
            average: p.own.average,
            shared: own.clone(),
            curve: parts.profile,
            signal: parts.signal,
            ecn: p.common.ecn,
            unit: setting.unit,
            early_min_queue: parts.early_min_queue,
            of,
            colours,
            met: 0.0,
            last: Point::Below,
        })
    }
}

/// Which packets a colour has.
#[derive(Clone, Copy, PartialEq)]
enum Claim {
    Dscp(u32, u32),
    Precedence(u32),
    Others,
}

impl Colour {
    fn claim((name, colour): &(String, Colour)) -> Result<Claim, ParamError> {
        let wrong = |problem: &str| Err(ParamError::new("colour", format!("{name}: {problem}")));
        match (colour.dscp, colour.dscp_to, colour.drop_precedence) {
            (Some(_), _, Some(_)) => wrong("has dscp or drop_precedence, not both"),
            (None, Some(_), _) => wrong("dscp_to goes with dscp"),
            (Some(from), Some(to), _) if to < from => wrong("dscp_to must not be below dscp"),
            (Some(from), to, None) => Ok(Claim::Dscp(from, to.unwrap_or(from))),
            (None, None, Some(precedence)) => Ok(Claim::Precedence(precedence)),
            (None, None, None) => Ok(Claim::Others),
        }
    }

    /// The ramps of drops and of marks, from the kind's.
    fn ramps(
        &self,
        name: &str,
        kinds: &Ramp,
        unit: &Unit,
    ) -> Result<(Ramp, Option<Ramp>), ParamError> {
        let length = |q: Option<QueueLen>, or: f64| q.map_or(or, |q| unit.length(q));
        let drops = Ramp {
            min_th: length(self.min_th, kinds.min_th),
            max_th: length(self.max_th, kinds.max_th),
            max_p: self.max_p.unwrap_or(kinds.max_p),
        };
        let marks = self.ecn_max_th.map(|max_th| Ramp {
            min_th: length(self.ecn_min_th, drops.min_th),
            max_th: unit.length(max_th),
            max_p: self.ecn_max_p.unwrap_or(drops.max_p),
        });
        let wrong = |problem| Err(ParamError::new("colour", format!("{name}: {problem}")));
        if drops.min_th >= drops.max_th {
            return wrong("min_th must be below max_th");
        }
        if marks.is_some_and(|marks| marks.min_th >= marks.max_th) {
            return wrong("ecn_min_th must be below ecn_max_th");
        }
        if marks.is_none() && (self.ecn_min_th.is_some() || self.ecn_max_p.is_some()) {
            return wrong("ecn_min_th and ecn_max_p go with ecn_max_th");
        }
        Ok((drops, marks))
    }
}

/// The colour of each DSCP: that which names it, then that of its drop precedence, then that of all
/// others.
fn map(claims: &[Claim]) -> Result<[u8; 64], ParamError> {
    let wrong = |problem: String| Err(ParamError::new("colour", problem));
    if claims.len() > 64 {
        return wrong("must be no more than 64 colours".into());
    }
    let mut of = [0; 64];
    for (dscp, place) in (0u8..).zip(&mut of) {
        let precedence = drop_precedence(dscp);
        let all = |which: &dyn Fn(&Claim) -> bool| -> Vec<u8> {
            (0..).zip(claims).filter(|(_, claim)| which(claim)).map(|(i, _)| i).collect()
        };
        let named = all(&|claim| match claim {
            Claim::Dscp(from, to) => (*from..=*to).contains(&u32::from(dscp)),
            _ => false,
        });
        let assured = all(&|claim| match claim {
            Claim::Precedence(y) => Some(*y) == precedence,
            _ => false,
        });
        let others = all(&|claim| *claim == Claim::Others);
        let found = [named, assured, others].into_iter().find(|found| !found.is_empty());
        *place = match found.as_deref() {
            Some([one]) => *one,
            Some(_) => return wrong(format!("two have the packets of DSCP {dscp}")),
            None => return wrong(format!("none has the packets of DSCP {dscp}")),
        };
    }
    Ok(of)
}

impl Wred {
    #[inline(always)]
    fn colour(&self, pkt: &Packet) -> usize {
        usize::from(self.of[usize::from(pkt.class & 63)])
    }

    /// Each colour counts its own packets.
    #[inline(always)]
    fn counts(&self) -> bool {
        self.average != AverageOf::Shared
    }

    #[inline(always)]
    fn amount(&self, pkt: &Packet) -> u64 {
        if self.unit.bytes {
            u64::from(pkt.bytes)
        } else {
            1
        }
    }

    /// The average that decides about a packet of colour `i`, which finds `q`.
    #[inline]
    fn averaged(&mut self, now: Time, i: usize, q: &Queue) -> f64 {
        if !self.counts() {
            return self.shared.update(now, q.length(self.unit.bytes), q.idle_since);
        }
        if q.pkts == 0 {
            self.colours.iter_mut().for_each(|colour| colour.backlog = 0);
        }
        let colour = &mut self.colours[i];
        let own = colour.own.update(now, colour.backlog as f64, q.idle_since);
        if self.average == AverageOf::Own {
            return own;
        }
        let rank = colour.rank;
        let before = self.colours.iter().filter(|other| other.rank < rank && other.backlog > 0);
        own + before.map(|other| other.own.value()).sum::<f64>()
    }
}

impl Aqm for Wred {
    #[inline]
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        let i = self.colour(pkt);
        let avg = self.averaged(now, i, q);
        let length = q.length(self.unit.bytes);
        let arrival = Arrival { now, avg, q: length, pkt };
        let capable = self.ecn && pkt.ecn != Ecn::NotEct;
        let colour = &mut self.colours[i];
        let marks = colour.marks.filter(|_| capable);
        let at = if length < self.early_min_queue {
            Point::Below
        } else if let Some(marks) = marks {
            Straight::Linear.at(&arrival, &marks)
        } else {
            self.curve.at(&arrival, &colour.drops)
        };
        (self.met, self.last) = (avg, at);
        let verdict = match at {
            Point::Below => {
                colour.gate.leave();
                Verdict::Pass
            }
            Point::Beyond => {
                colour.gate.restart();
                if marks.is_some() {
                    Verdict::Mark(Level::Ce, Reason::Forced)
                } else {
                    self.signal.forced(pkt)
                }
            }
            Point::On(p) | Point::Levels(p, _) | Point::Severe(p) => {
                if !colour.gate.decide(p, pkt.bytes, rng) {
                    Verdict::Pass
                } else if marks.is_some() {
                    Verdict::Mark(Level::Ce, Reason::Early)
                } else {
                    self.signal.early(crate::parts::signal::Severity::Incipient, pkt, p)
                }
            }
        };
        let enters = match verdict {
            Verdict::Pass => true,
            Verdict::Mark(..) => capable,
            Verdict::Drop(_) => false,
        };
        // A packet that finds the link idle does not wait.
        if self.counts() && enters && q.idle_since.is_none() {
            self.colours[i].backlog += self.amount(pkt);
        }
        verdict
    }

    fn overflow(&mut self, _: Time, pkt: &Packet, q: &Queue) {
        let (i, amount) = (self.colour(pkt), self.amount(pkt));
        let colour = &mut self.colours[i];
        colour.gate.restart();
        if q.idle_since.is_none() {
            colour.backlog = colour.backlog.saturating_sub(amount);
        }
    }

    #[inline]
    fn depart(
        &mut self,
        _: Time,
        pkt: &Packet,
        _: penstock_units::Duration,
        _: &Queue,
        _: &mut Rng,
    ) -> Verdict {
        let (i, amount) = (self.colour(pkt), self.amount(pkt));
        let colour = &mut self.colours[i];
        colour.backlog = colour.backlog.saturating_sub(amount);
        Verdict::Pass
    }

    /// Who counts each colour's packets has to see them leave.
    #[inline(always)]
    fn service(&self) -> Service {
        if self.counts() {
            Service::AtDeparture
        } else {
            Service::AtArrival
        }
    }

    fn average_pkts(&self) -> Option<f64> {
        (!self.counts()).then(|| self.unit.pkts(self.shared.value()))
    }

    fn bands(&self) -> Vec<String> {
        self.colours.iter().map(|colour| colour.name.clone()).collect()
    }

    #[inline]
    fn band(&self, pkt: &Packet) -> Option<u8> {
        Some(self.of[usize::from(pkt.class & 63)])
    }

    fn state_bytes(&self) -> usize {
        size_of_val(self) + size_of_val(&*self.colours)
    }

    fn go_on(&mut self, before: Self, _: Time) {
        if before.unit.bytes == self.unit.bytes {
            self.shared.start_from(before.shared.value());
        }
        let same = before.colours.len() == self.colours.len() && before.of == self.of;
        if same && before.unit.bytes == self.unit.bytes && before.average == self.average {
            for (colour, before) in self.colours.iter_mut().zip(&before.colours) {
                colour.own.start_from(before.own.value());
                colour.gate.go_on(&before.gate);
                colour.backlog = before.backlog;
            }
            (self.met, self.last) = (before.met, before.last);
        }
    }

    fn settled(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("w_q", self.shared.weight());
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(COLUMNS, self, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{busy, context, PKT};
    use penstock_units::Duration;

    fn packets(n: f64) -> Option<QueueLen> {
        Some(QueueLen::Packets(n))
    }

    /// The colours of a router: AFx1, AFx2, AFx3 from 32, 28, 24 to 40 packets.
    fn af(average: AverageOf) -> WredParams {
        let colour = |y: Option<u32>, min_th| Colour {
            drop_precedence: y,
            min_th: packets(min_th),
            max_th: packets(40.0),
            ..Colour::default()
        };
        let colours = [("green", None, 32.0), ("yellow", Some(2), 28.0), ("red", Some(3), 24.0)];
        let colour = colours.map(|(name, y, min_th)| (name.into(), colour(y, min_th)));
        let own = WredOwn { average, colour: Named(colour.into()) };
        let mut p = WredParams { own, ..WredParams::default() };
        p.base.w_q = crate::parts::estimator::Weight::Number(1.0);
        p.base.gate = crate::parts::gate::Spacing::Geometric;
        p.common.unit = Some(crate::QueueUnit::Packets);
        p
    }

    fn build(p: &WredParams) -> Wred {
        Wred::new(p, &context()).unwrap()
    }

    /// AF11, AF12, AF13; other classes likewise.
    const AF1: [u8; 3] = [10, 12, 14];

    /// At an average of 30: AFx1 below its ramp, AFx2 (30 − 28)/12/10 = 1.667 %, AFx3 (30 −
    /// 24)/16/10 = 3.75 %. From 40 on all is dropped.
    #[test]
    fn colours_lose_in_stages() {
        for (queue, want) in [
            (23, [0.0, 0.0, 0.0]),
            (26, [0.0, 0.0, 0.0125]),
            (30, [0.0, 1.0 / 60.0, 0.0375]),
            (36, [0.05, 2.0 / 30.0, 0.075]),
            (40, [1.0, 1.0, 1.0]),
        ] {
            let mut d = build(&af(AverageOf::Shared));
            let mut rng = Rng::stream(1, "wred");
            for (class, want) in AF1.into_iter().zip(want) {
                let pkt = Packet { class, ..PKT };
                let mut drop = || d.arrive(Time::ZERO, &pkt, &busy(queue), &mut rng);
                let n = 40_000;
                let lost = (0..n).filter(|_| drop() != Verdict::Pass).count() as f64 / f64::from(n);
                // Four standard errors of a count.
                let error = 4.0 * (want * (1.0 - want) / f64::from(n)).sqrt();
                assert!((lost - want).abs() <= error + 1e-12, "{queue} {class}: {lost} {want}");
                assert!((d.last.p()[0] - want).abs() < 1e-12);
            }
        }
    }

    /// RFC 2597, section 6: AF11 is 10, AF43 is 38. EF (46), CS1 (8) and 11 are none.
    #[test]
    fn precedences_by_hand() {
        for (dscp, y) in [(10, Some(1)), (12, Some(2)), (38, Some(3)), (46, None), (8, None)] {
            assert_eq!(drop_precedence(dscp), y, "{dscp}");
        }
        assert_eq!((drop_precedence(11), drop_precedence(42)), (None, None));
        let d = build(&WredParams::default());
        assert_eq!(d.bands(), ["green", "yellow", "red"]);
        let of = |class| d.band(&Packet { class, ..PKT });
        assert_eq!([0, 10, 12, 14, 46, 36].map(of), [0, 0, 1, 2, 0, 1].map(Some));
        // 5 … 15 packets at 10 Mbit/s: yellow 3.75 … 13.5, red 2.5 … 12.
        let ramps = [(5.0, 15.0), (3.75, 13.5), (2.5, 12.0)];
        assert_eq!(
            [0, 1, 2].map(|i| (d.colours[i].drops.min_th, d.colours[i].drops.max_th)),
            ramps
        );
    }

    /// The narrowest claim wins: the DSCP, the precedence, all others.
    #[test]
    fn a_dscp_belongs_to_one_colour() {
        let own = |dscp, dscp_to, drop_precedence| Colour {
            dscp,
            dscp_to,
            drop_precedence,
            ..Colour::default()
        };
        let named = |colours: &[Colour]| {
            let colour = (0..).zip(colours).map(|(i, c): (u32, _)| (format!("c{i}"), c.clone()));
            let mut p = WredParams::default();
            p.own.colour = Named(colour.collect());
            Wred::new(&p, &context())
        };
        let others = own(None, None, None);
        let d = named(&[own(Some(8), Some(14), None), own(None, None, Some(3)), others.clone()]);
        let d = d.unwrap();
        assert_eq!([0, 8, 14, 22, 46].map(|class| d.of[class]), [2, 0, 0, 1, 2]);
        for (colours, problem) in [
            (vec![own(Some(46), None, None)], "colour: none has the packets of DSCP 0"),
            (vec![others.clone(), others.clone()], "colour: two have the packets of DSCP 0"),
            (
                vec![own(Some(9), None, Some(1)), others.clone()],
                "colour: c0: has dscp or drop_precedence, not both",
            ),
            (vec![own(None, Some(9), None), others.clone()], "colour: c0: dscp_to goes with dscp"),
            (
                vec![own(Some(9), Some(8), None), others],
                "colour: c0: dscp_to must not be below dscp",
            ),
        ] {
            assert_eq!(named(&colours).unwrap_err().to_string(), problem);
        }
    }

    #[test]
    fn thresholds_out_of_order_name_the_colour() {
        let with = |colour: Colour| {
            let mut p = WredParams::default();
            p.own.colour = Named(vec![("gold".into(), colour)]);
            Wred::new(&p, &context()).unwrap_err().to_string()
        };
        let colour = Colour { min_th: packets(9.0), max_th: packets(9.0), ..Colour::default() };
        assert_eq!(with(colour), "colour: gold: min_th must be below max_th");
        let colour = Colour { ecn_max_th: packets(4.0), ..Colour::default() };
        assert_eq!(with(colour), "colour: gold: ecn_min_th must be below ecn_max_th");
        let colour = Colour { ecn_max_p: Some(0.5), ..Colour::default() };
        assert_eq!(with(colour), "colour: gold: ecn_min_th and ecn_max_p go with ecn_max_th");
    }

    /// Marks from 10 to 20 packets up to 0.4, drops from 24 to 40: at 15 a capable packet is marked
    /// with 0.2, at 20 and above always; one that is not capable has the drops' ramp.
    #[test]
    fn marks_have_a_profile_of_their_own() {
        let mut p = af(AverageOf::Shared);
        p.common.ecn = true;
        for (_, colour) in &mut p.own.colour.0 {
            (colour.ecn_min_th, colour.ecn_max_th) = (packets(10.0), packets(20.0));
            colour.ecn_max_p = Some(0.4);
        }
        for (queue, ecn, p_b, forced) in [
            (9, Ecn::Ect0, 0.0, None),
            (15, Ecn::Ect0, 0.2, None),
            (20, Ecn::Ect0, 1.0, Some(Verdict::Mark(Level::Ce, Reason::Forced))),
            (90, Ecn::Ect0, 1.0, Some(Verdict::Mark(Level::Ce, Reason::Forced))),
            (20, Ecn::NotEct, 0.0, None),
            (30, Ecn::NotEct, 0.0375, None),
            (40, Ecn::NotEct, 1.0, Some(Verdict::Drop(Reason::Forced))),
        ] {
            let mut d = build(&p);
            let pkt = Packet { ecn, class: 14, ..PKT };
            let got = d.arrive(Time::ZERO, &pkt, &busy(queue), &mut Rng::stream(1, "wred"));
            assert!((d.last.p()[0] - p_b).abs() < 1e-12, "{queue} {ecn:?}");
            assert!(forced.is_none_or(|want| got == want), "{queue} {ecn:?}: {got:?}");
        }
    }

    /// 30 green packets wait and 3 red ones. Own: red's average is 3. Rio: 33 counts for red, and
    /// 30 for green. Shared: 33 for both.
    #[test]
    fn whose_average_it_is() {
        for (average, green, red) in [
            (AverageOf::Shared, 33.0, 33.0),
            (AverageOf::Own, 30.0, 3.0),
            (AverageOf::Rio, 30.0, 33.0),
        ] {
            let mut p = af(average);
            for (_, colour) in &mut p.own.colour.0 {
                (colour.min_th, colour.max_th) = (packets(80.0), packets(90.0));
            }
            let mut d = build(&p);
            let mut rng = Rng::stream(1, "wred");
            let mut held = 0;
            let mut met = |d: &mut Wred, class, held: &mut u32| {
                let q = Queue { pkts: *held, bytes: 1000 * u64::from(*held), idle_since: None };
                let _ = d.arrive(Time::ZERO, &Packet { class, ..PKT }, &q, &mut rng);
                *held += 1;
                d.met
            };
            for class in [10; 30].into_iter().chain([14; 3]) {
                met(&mut d, class, &mut held);
            }
            let mut again = d.clone();
            assert_eq!(met(&mut d, 10, &mut held.clone()), green, "{average:?}");
            // Green's average is of its last arrival, which found 29.
            let of_green = if average == AverageOf::Rio { red - 1.0 } else { red };
            assert_eq!(met(&mut again, 14, &mut held.clone()), of_green, "{average:?}");
            // What leaves, and what found no room, is no longer counted.
            let pkt = Packet { class: 14, ..PKT };
            let _ = again.depart(Time::ZERO, &pkt, Duration::ZERO, &busy(33), &mut rng.clone());
            again.overflow(Time::ZERO, &pkt, &busy(33));
            let left = if average == AverageOf::Shared { 0 } else { 2 };
            assert_eq!(again.colours[2].backlog, left, "{average:?}");
        }
    }
}
