//! This file declares the parameters that the members of the family share, and makes the family's
//! parts from them.

use crate::context::{Common, Context, Unit};
use crate::kind::Column;
use crate::parts::compose::Composed;
use crate::parts::estimator::{Ewma, Idle, Weight};
use crate::parts::gate::{Gate, Sizes, Spacing};
use crate::parts::profile::{Point, Ramp, Straight};
use crate::parts::signal::{Classic, Signal};
use penstock_units::param::{num, num_open, ParamError};
use penstock_units::{params, words, Duration, QueueLen};

words! {
    /// What happens to a capable packet when the average is beyond the end of the ramp.
    pub enum Forced {
        /// It is dropped.
        Drop = "drop",
        /// It is marked.
        Mark = "mark",
    }
}

words! {
    /// Which probability byte mode scales.
    pub enum ByteScale {
        /// The one before the gate.
        Before = "p_b",
        /// The gate's.
        After = "p_a",
    }
}

params! {
    /// Parameters of the whole family.
    pub struct Base: Default {
        /// Weight of the newest sample in the average; smaller is smoother and slower. "auto": 1 −
        /// exp(−1/C); "rtt": 1 − exp(−1/(10·R·C)), R = max(100 ms, 3·(delay + 1/C)).
        pub w_q: Weight {
            unit: "1",
            default: "auto",
            ns2: "rtt",
            source: "Floyd, Gummadi, Shenker 2001, section 4; ns-2",
        },
        /// How signals are spaced at constant p_b: gaps uniform on 1…1/p_b, uniform on 1/p_b…2/p_b, or
        /// geometric. drawn is uniform too: a signal comes where count·p_b reaches R, drawn from [0,
        /// 1) after each one; so a higher p_b counts for the packets since then as well.
        pub gate: Spacing {
            default: "uniform",
            ns2: "wait",
            source: "Floyd, Jacobson 1993, section 7; ns-2: wait_; Linux: red_action",
        },
        /// Above this p_b a capable packet is dropped all the same.
        pub mark_p: f64 {
            ty: num(0.0, 1.0),
            unit: "1",
            default: 1,
            ns2: 0.1,
            source: "ns-2 since 2002",
        },
        /// What happens to a capable packet when avg is beyond the end of the ramp.
        pub forced: Forced { default: "drop", source: "Floyd, Jacobson 1993; Linux marks" },
        /// Scale the probability with packet size / mean packet size.
        pub byte_mode: bool {
            default: false,
            source: "Floyd, Jacobson 1993, section 8; ns-2: bytes_",
        },
        /// Which probability byte mode scales; with p_a the count is in mean packets' worth of
        /// bytes.
        pub byte_scale: ByteScale {
            default: "p_b",
            ns2: "p_a",
            source: "Floyd, Jacobson 1993, section 8; ns-2",
        },
        /// Whether idle time decays the average by a real or a whole number of packet times.
        pub idle: Idle {
            default: "exact",
            ns2: "floor",
            source: "Floyd, Jacobson 1993, Fig. 2; ns-2",
        },
        /// No early decision while less than this is waiting.
        pub early_min_queue: f64 {
            ty: num(0.0, 1e9),
            unit: "the queue's unit",
            default: 0,
            ns2: 2,
            source: "ns-2",
        },
        /// The first packet of an excursion above min_th passes and counts as one.
        pub first_passes: bool { default: false, ns2: true, source: "ns-2" },
    }
}

params! {
    /// Where the ramp lies.
    pub struct Thresholds: Default {
        /// Average queue below which nothing is signalled.
        pub min_th: Option<QueueLen> {
            unit: "packets",
            auto: "max(5, target_delay·C/2); nred: at most half the buffer",
            source: "Floyd, Gummadi, Shenker 2001, section 5",
        },
        /// Average queue at which the ramp reaches max_p.
        pub max_th: Option<QueueLen> {
            unit: "packets",
            auto: "3·min_th",
            source: "Floyd, Gummadi, Shenker 2001, section 5",
        },
        /// Queueing delay from which an automatic min_th follows.
        pub target_delay: Duration {
            default: "5 ms",
            source: "Floyd, Gummadi, Shenker 2001, section 5",
        },
    }
}

params! {
    /// The ramp of one level.
    pub struct Ceiling: Default {
        /// Signalling probability at max_th (for an adaptive kind: at the start).
        pub max_p: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 0.1,
            source: "Floyd 1997; ns-2: linterm_ 10",
        },
        /// Ramp from max_p at max_th to 1 at 2·max_th instead of a step at max_th.
        pub gentle: bool { default: true, source: "Floyd 2000" },
        /// Whether the gentle part of the ramp starts at the adapted max_p.
        pub gentle_tracks_max_p: bool {
            default: true,
            ns2: false,
            source: "Floyd 2000; ns-2 freezes the slope at the first max_p",
        },
    }
}

impl Base {
    /// Composes a discipline that classic ECN signals. The ramp, the profile and the adapter are in
    /// the unit of the queue.
    pub(crate) fn compose<P, A>(
        &self,
        setting: &Setting,
        ramp: Ramp,
        profile: P,
        adapter: A,
        columns: &'static [Column<Composed<P, A>>],
    ) -> Composed<P, A> {
        let Setting { unit, ecn, c, ref cx } = *setting;
        let mean = unit.mean.0 as f64;
        let sizes = match (self.byte_mode, self.byte_scale) {
            (false, _) => Sizes::Ignored,
            (true, ByteScale::Before) => Sizes::ScaleB(mean),
            (true, ByteScale::After) => Sizes::ScaleA(mean),
        };
        Composed {
            estimator: Ewma::new(self.w_q.on(c, cx.delay), c, self.idle),
            profile,
            gates: [
                Gate::new(self.gate, sizes, self.first_passes),
                Gate::new(self.gate, sizes, false),
            ],
            signal: Signal::Classic(Classic {
                ecn,
                mark_p: self.mark_p,
                mark_forced: self.forced == Forced::Mark,
            }),
            adapter,
            ramp,
            unit,
            early_min_queue: self.early_min_queue,
            last: Point::Below,
            columns,
        }
    }
}

/// The values that every member is made from besides its own parameters.
#[derive(Clone)]
pub(crate) struct Setting {
    pub(crate) unit: Unit,
    pub(crate) ecn: bool,
    /// Packets of the mean size that the link sends per second.
    pub(crate) c: f64,
    pub(crate) cx: Context,
}

impl Setting {
    /// Checks a member's parameters.
    pub(crate) fn of<P: penstock_units::param::Params>(
        params: &P,
        common: &Common,
        cx: &Context,
    ) -> Result<Self, ParamError> {
        let unit = Unit::of(params, common, cx)?;
        Ok(Setting { unit, ecn: common.ecn, c: cx.rate.packets_per_sec(unit.mean), cx: cx.clone() })
    }

    /// Returns the buffer in the unit of the queue.
    pub(crate) fn limit(&self) -> f64 {
        self.unit.length(self.cx.buffer)
    }

    /// Returns the automatic `min_th` for a delay (Floyd, Gummadi, Shenker 2001, section 5).
    pub(crate) fn min_th_for(&self, target_delay: Duration) -> f64 {
        self.unit.per_pkt * f64::max(5.0, target_delay.as_secs_f64() * self.c / 2.0)
    }
}

impl Thresholds {
    /// Returns `min_th` and `max_th` in the unit of the queue. `automatic` is the `min_th` of a
    /// member that has a rule of its own for it.
    pub(crate) fn place(
        &self,
        setting: &Setting,
        automatic: Option<f64>,
    ) -> Result<(f64, f64), ParamError> {
        let unit = &setting.unit;
        let min_th = match (self.min_th, automatic) {
            (Some(q), _) => unit.length(q),
            (None, Some(min_th)) => min_th,
            (None, None) => setting.min_th_for(self.target_delay),
        };
        let max_th = self.max_th.map_or(3.0 * min_th, |q| unit.length(q));
        if min_th >= max_th {
            let shown = max_th / unit.per_pkt;
            let problem = format!("must be below max_th ({shown} packets)");
            return Err(ParamError::new("min_th", problem));
        }
        Ok((min_th, max_th))
    }

    /// Returns the ramp between the thresholds.
    pub(crate) fn ramp(&self, setting: &Setting, max_p: f64) -> Result<Ramp, ParamError> {
        let (min_th, max_th) = self.place(setting, None)?;
        Ok(Ramp { min_th, max_th, max_p })
    }
}

impl Ceiling {
    /// Returns RED's profile.
    pub(crate) fn profile(&self) -> Straight {
        if self.gentle {
            Straight::Gentle { frozen: (!self.gentle_tracks_max_p).then_some(self.max_p) }
        } else {
            Straight::Linear
        }
    }
}
