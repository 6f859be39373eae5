//! BBR, version 3: draft-ietf-ccwg-bbr (August 2026). N. Cardwell, I. Swett, J. Beshay. Names of
//! functions and variables are the draft's, in a few words fewer; windows are in segments.
//!
//! As version 1 it sends at the rate that was delivered, bw = max of two probes for bandwidth, and
//! keeps gain · bw · min_rtt under way. Unlike it, it learns two bounds from losses:
//!
//! - long-term: probing ends when 2 % of what was under way is lost; `inflight_longterm` is then
//!   what was under way, at least 0.7 of the window. Only probing raises it: 1, 2, 4, … segments
//!   per round.
//! - short-term: a round with a loss, while it does not probe, leaves
//!   bw_shortterm = max(what this round delivered, 0.7 · bw_shortterm), and inflight_shortterm
//!   likewise. The next probe forgets them.
//!
//! STARTUP (gain 2.77) ends after three rounds of less than a quarter's growth, or one of losses;
//! DRAIN (0.5) empties the queue. Then PROBE_BW: DOWN (0.9) until less than 85 % of the long-term
//! bound is under way; CRUISE (1) for two to three seconds, or as many rounds as Reno would take;
//! REFILL (1) for a round; UP (1.25) until it is too much. PROBE_RTT: every 5 s, unless the round
//! trip was short enough by itself, 200 ms and a round at half of the product.
//!
//! The draft leaves ECN to experiments: marks do not count here. A loss event is an ACK that
//! declares losses (Linux), where the draft counts ranges of sequence numbers.

use crate::control::algorithm::{CongestionControl, Did, Random, Steered};
use crate::control::extremum::Maximum;
use crate::control::model::{Model, Phase};
use crate::control::variant::{VariantInfo, VARIANT};
use crate::control::window::Window;
use crate::ecn::bits::Ecn;
use crate::info::CaState;
use crate::recovery::kind::Recovery;
use crate::sent::{DeliveryRate, Sent};
use penstock_units::param::{num, num_open, OwnDefaults, ParamError};
use penstock_units::{Duration, Time};

penstock_units::params! {
    /// What may be set of version 3 of BBR.
    pub struct Bbr3Params: Default {
        /// The lost fraction of what was under way above which a probe was too high.
        pub bbr_loss_threshold: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 0.02,
            source: "draft-ietf-ccwg-bbr: BBR.LossThresh",
        },
        /// What a lossy round leaves of the bounds, at least.
        pub bbr_beta: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 0.7,
            source: "draft-ietf-ccwg-bbr: BBR.Beta",
        },
        /// The share of the long-term bound that is left to others between probes.
        pub bbr_headroom: f64 {
            ty: num(0.0, 0.9),
            unit: "1",
            default: 0.15,
            source: "draft-ietf-ccwg-bbr: BBR.Headroom",
        },
    }
}

pub(crate) const INFO: VariantInfo = VariantInfo {
    name: "bbr3",
    doc: "BBR, version 3: bounds learned from losses of more than 2 %, and rarer probes.",
    source: "draft-ietf-ccwg-bbr",
    own: &[Bbr3Params::TABLE, Recovery::TABLE],
    defaults: OwnDefaults::any(&[("recovery", "\"rack\"")]),
    ..VARIANT
};

const STARTUP_GAIN: f64 = 2.77;
const CWND_GAIN: f64 = 2.0;
const UP_CWND_GAIN: f64 = 2.25;
const PROBE_RTT_GAIN: f64 = 0.5;
const MARGIN: f64 = 0.99;
const MIN_CWND: f64 = 4.0;
const INITIAL_CWND: u64 = 10;
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// Probes at least as often as Reno would at 63 segments.
const MAX_ROUNDS: f64 = 63.0;
const EXTRA_ROUNDS: u64 = 10;
const LOSS_EVENTS: u32 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// What ACKs tell of the last probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acks {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// What a false alarm gives back.
#[derive(Clone, Copy, Debug)]
struct Undo {
    state: Option<State>,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

/// What BBR keeps. Bandwidths are in segments per second; bounds that are not known are infinite.
#[derive(Clone, Debug)]
pub(crate) struct Bbr3 {
    p: Bbr3Params,
    /// `None` before the first ACK.
    mss: Option<f64>,
    state: State,
    // the path
    /// The largest of the probe before and of this one.
    max_bw: [f64; 2],
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
    min_rtt: Option<Duration>,
    min_rtt_at: Time,
    probe_rtt_min: Option<Duration>,
    probe_rtt_min_at: Time,
    extra: Maximum,
    extra_since: Time,
    extra_delivered: u64,
    // this round
    rounds: u64,
    round_start: bool,
    next_round: u64,
    loss_round_start: bool,
    loss_round: u64,
    loss_in_round: bool,
    loss_events: u32,
    bw_latest: f64,
    inflight_latest: f64,
    // the full pipe
    full_reached: bool,
    full_now: bool,
    full_bw: f64,
    full_rounds: u32,
    // probes
    drain_from: u64,
    acks: Acks,
    probe_sample: bool,
    too_high: bool,
    precautionary: bool,
    /// A probe was too high: DOWN is to begin.
    goes_down: bool,
    cycle_at: Time,
    wait: Duration,
    rounds_since_up: u64,
    up_rounds: u32,
    up_acked: f64,
    up_acked_per_inc: f64,
    probe_rtt_until: Option<Time>,
    probe_rtt_round: bool,
    // the sender
    before: CaState,
    idle_restart: bool,
    prior_cwnd: f64,
    undo: Undo,
    delivered_total: u64,
    measured_rtt: bool,
    /// Segments per second.
    rate: f64,
}

/// Returns the bandwidth of a sample.
fn bandwidth(r: &DeliveryRate) -> f64 {
    r.delivered as f64 / r.interval.as_secs_f64().max(1e-9)
}

/// InflightAtLoss: at how many segments under way losses crossed `threshold`, of which one segment
/// of `in_flight` was lost after `lost_before` others.
fn inflight_at_loss(in_flight: f64, lost: f64, threshold: f64) -> f64 {
    let (inflight_prev, lost_prev) = (in_flight - 1.0, lost - 1.0);
    inflight_prev + (threshold * inflight_prev - lost_prev) / (1.0 - threshold)
}

impl Bbr3 {
    fn top_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    fn bw(&self) -> f64 {
        self.top_bw().min(self.bw_shortterm)
    }

    // ---- what may be under way ----------------------------------------------------------------

    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(INITIAL_CWND as f64, |rtt| gain * bw * rtt.as_secs_f64())
    }

    /// A millisecond of the rate: 2 segments to 64 kB.
    fn quantum(&self) -> f64 {
        let most = self.mss.map_or(2.0, |mss| 65_536.0 / mss);
        (self.rate * 1e-3).min(most).max(2.0)
    }

    fn with_budget(&self, inflight: f64) -> f64 {
        let inflight = inflight.max(3.0 * self.quantum()).max(MIN_CWND);
        inflight + if self.state == State::Up { 2.0 } else { 0.0 }
    }

    fn inflight(&self, gain: f64) -> f64 {
        self.with_budget(self.bdp(self.top_bw(), gain))
    }

    fn with_headroom(&self) -> f64 {
        let headroom = (self.p.bbr_headroom * self.inflight_longterm).max(1.0);
        if self.inflight_longterm.is_finite() {
            (self.inflight_longterm - headroom).max(MIN_CWND)
        } else {
            f64::INFINITY
        }
    }

    fn target_inflight(&self, w: &Window) -> f64 {
        self.bdp(self.bw(), 1.0).min(w.cwnd)
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(self.bw(), PROBE_RTT_GAIN).max(MIN_CWND)
    }

    // ---- rounds and signals -------------------------------------------------------------------

    fn start_round(&mut self) {
        self.next_round = self.delivered_total;
    }

    fn on_sample(&mut self, s: &Steered, r: &DeliveryRate, w: &Window) {
        let sample = bandwidth(r);
        // UpdateLatestDeliverySignals
        self.bw_latest = sample.max(self.bw_latest);
        self.inflight_latest = self.inflight_latest.max(r.delivered as f64);
        self.loss_round_start = r.prior >= self.loss_round;
        if self.loss_round_start {
            self.loss_round = s.delivered_total;
        }
        // UpdateRound, UpdateMaxBw
        self.round_start = r.prior >= self.next_round;
        if self.round_start {
            self.start_round();
            self.rounds += 1;
            self.rounds_since_up += 1;
        }
        if sample >= self.top_bw() || !r.app_limited {
            self.max_bw[1] = self.max_bw[1].max(sample);
        }
        // UpdateCongestionSignals
        if self.loss_round_start {
            if self.loss_in_round && !self.probes() {
                self.adapt_lower_bounds(w);
            }
            self.loss_in_round = false;
        }
        self.aggregate(s, w);
        self.check_full_bw(sample, r.app_limited);
        self.check_startup_loss(s, r);
    }

    fn probes(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }

    fn in_probe_bw(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// InitLowerBounds, LossLowerBounds.
    fn adapt_lower_bounds(&mut self, w: &Window) {
        if self.bw_shortterm.is_infinite() {
            self.bw_shortterm = self.top_bw();
        }
        if self.inflight_shortterm.is_infinite() {
            self.inflight_shortterm = w.cwnd;
        }
        let beta = self.p.bbr_beta;
        self.bw_shortterm = self.bw_latest.max(beta * self.bw_shortterm);
        self.inflight_shortterm = self.inflight_latest.max(beta * self.inflight_shortterm);
    }

    fn forget_shortterm(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    fn forget_signals(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }

    /// UpdateACKAggregation.
    fn aggregate(&mut self, s: &Steered, w: &Window) {
        let mut expected = self.bw() * s.now.since(self.extra_since).as_secs_f64();
        if self.extra_delivered as f64 <= expected {
            self.extra_delivered = 0;
            self.extra_since = s.now;
            expected = 0.0;
        }
        self.extra_delivered += s.delivered;
        let extra = (self.extra_delivered as f64 - expected).min(w.cwnd);
        let rounds = if self.full_reached { EXTRA_ROUNDS } else { 1 };
        self.extra.add(self.rounds, extra as u64, rounds);
    }

    // ---- the full pipe ------------------------------------------------------------------------

    fn reset_full_bw(&mut self, baseline: f64) {
        self.full_bw = baseline;
        self.full_rounds = 0;
        self.full_now = false;
    }

    fn check_full_bw(&mut self, sample: f64, app_limited: bool) {
        if self.full_now || !self.round_start || app_limited {
            return;
        }
        if sample >= self.full_bw * 1.25 {
            return self.reset_full_bw(sample);
        }
        self.full_rounds += 1;
        self.full_now = self.full_rounds >= 3;
        self.full_reached |= self.full_now;
    }

    /// CheckStartupHighLoss: a round in recovery with six losses or more, above 2 %.
    fn check_startup_loss(&mut self, s: &Steered, r: &DeliveryRate) {
        if self.full_reached {
            return;
        }
        self.loss_events += u32::from(s.lost > 0);
        if !self.loss_round_start {
            return;
        }
        let events = std::mem::take(&mut self.loss_events);
        let lossy = self.loses_too_much(s.lost_total - r.prior_lost, r.tx_in_flight);
        if s.state == CaState::Recovery && events >= LOSS_EVENTS && lossy {
            self.undo.state = Some(State::Startup);
            self.full_reached = true;
            self.inflight_longterm = self.bdp(self.top_bw(), 1.0).max(self.inflight_latest);
        }
    }

    fn check_startup_and_drain(&mut self, s: &Steered, random: Random<'_>) {
        if self.state == State::Startup && self.full_reached {
            self.state = State::Drain;
            self.drain_from = self.rounds;
        }
        if self.state == State::Drain {
            let drained = s.in_flight as f64 <= self.inflight(1.0);
            if drained || self.rounds > self.drain_from + 3 {
                self.start_down(s.now, random);
            }
        }
    }

    // ---- PROBE_BW -----------------------------------------------------------------------------

    fn start_down(&mut self, now: Time, random: Random<'_>) {
        self.forget_signals();
        self.up_acked_per_inc = f64::INFINITY;
        // PickProbeWait
        self.rounds_since_up = u64::from(random() >= 0.5);
        self.wait = Duration::from_secs_f64(2.0 + random());
        self.cycle_at = now;
        self.acks = Acks::Stopping;
        self.start_round();
        self.state = State::Down;
    }

    fn start_refill(&mut self) {
        self.forget_shortterm();
        self.up_rounds = 0;
        self.up_acked = 0.0;
        self.precautionary = false;
        self.acks = Acks::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    fn start_up(&mut self, sample: f64, w: &Window) {
        self.acks = Acks::Starting;
        self.start_round();
        self.reset_full_bw(sample);
        self.state = State::Up;
        self.raise_slope(w);
    }

    fn update_phase(&mut self, s: &Steered, w: &Window, random: Random<'_>) {
        if !self.full_reached || self.adapt_longterm(s, w) || !self.in_probe_bw() {
            return;
        }
        let sample = s.rate.as_ref().map_or(0.0, bandwidth);
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(s.now, w) => self.start_refill(),
            State::Down if self.is_time_to_cruise(s) => self.state = State::Cruise,
            // After one round of REFILL.
            State::Refill if self.round_start => {
                self.probe_sample = true;
                self.start_up(sample, w);
            }
            State::Up => self.check_up(s, sample, w, random),
            _ => {}
        }
    }

    fn check_up(&mut self, s: &Steered, sample: f64, w: &Window, random: Random<'_>) {
        if self.is_time_to_go_down(s, sample, w) {
            self.too_high = false;
            self.start_down(s.now, random);
        }
    }

    fn is_time_to_probe(&self, now: Time, w: &Window) -> bool {
        let rounds = self.target_inflight(w).min(MAX_ROUNDS);
        now > self.cycle_at + self.wait || self.rounds_since_up as f64 >= rounds
    }

    fn is_time_to_cruise(&self, s: &Steered) -> bool {
        let in_flight = s.in_flight as f64;
        in_flight <= self.with_headroom() && in_flight <= self.inflight(1.0)
    }

    fn is_time_to_go_down(&mut self, s: &Steered, sample: f64, w: &Window) -> bool {
        // The last probe was too high at this: go no further, and try again at once if that is
        // fine.
        if self.too_high && s.in_flight as f64 >= self.inflight_longterm {
            self.precautionary = true;
            return true;
        }
        if s.window_limited && w.cwnd >= self.inflight_longterm {
            self.reset_full_bw(sample);
            return false;
        }
        self.full_now
    }

    fn raise_slope(&mut self, w: &Window) {
        let growth = f64::from(1_u32 << self.up_rounds);
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_acked_per_inc = (w.cwnd / growth).max(1.0);
    }

    /// ProbeInflightLongtermUpward.
    fn raise_longterm(&mut self, s: &Steered, w: &Window) {
        if !s.window_limited || w.cwnd < self.inflight_longterm {
            return;
        }
        self.up_acked += s.delivered as f64;
        if self.up_acked >= self.up_acked_per_inc {
            let delta = (self.up_acked / self.up_acked_per_inc).trunc();
            self.up_acked -= delta * self.up_acked_per_inc;
            self.inflight_longterm += delta;
        }
        if self.round_start {
            self.raise_slope(w);
        }
    }

    fn loses_too_much(&self, lost: u64, in_flight: u32) -> bool {
        lost as f64 > f64::from(in_flight) * self.p.bbr_loss_threshold
    }

    /// AdaptLongTermModel. Returns whether it has decided on the next phase.
    fn adapt_longterm(&mut self, s: &Steered, w: &Window) -> bool {
        if self.acks == Acks::Starting && self.round_start {
            self.acks = Acks::Feedback;
        }
        if self.acks == Acks::Stopping && self.round_start {
            self.probe_sample = false;
            self.acks = Acks::Init;
            let limited = s.rate.is_none_or(|r| r.app_limited);
            if self.in_probe_bw() && !limited && self.max_bw[1] > 0.0 {
                self.max_bw = [self.max_bw[1], 0.0]; // AdvanceMaxBwFilter
            }
            if self.in_probe_bw() && self.precautionary && !self.too_high {
                self.start_refill();
                return true;
            }
        }
        let Some(r) = &s.rate else { return false };
        if self.loses_too_much(s.lost_total - r.prior_lost, r.tx_in_flight)
            || self.inflight_longterm.is_infinite()
        {
            return false;
        }
        self.inflight_longterm = self.inflight_longterm.max(f64::from(r.tx_in_flight));
        if self.state == State::Up {
            self.raise_longterm(s, w);
        }
        false
    }

    // ---- PROBE_RTT ----------------------------------------------------------------------------

    /// UpdateMinRTT, CheckProbeRTT. Returns whether it has to send little now.
    fn check_probe_rtt(&mut self, s: &Steered, w: &mut Window, random: Random<'_>) -> bool {
        let expired = s.now > self.probe_rtt_min_at + PROBE_RTT_INTERVAL;
        if let Some(rtt) = s.rtt {
            if self.probe_rtt_min.is_none_or(|min| rtt < min) || expired {
                self.probe_rtt_min = Some(rtt);
                self.probe_rtt_min_at = s.now;
            }
        }
        let old = s.now > self.min_rtt_at + MIN_RTT_WINDOW;
        if let Some(rtt) = self.probe_rtt_min {
            if self.min_rtt.is_none_or(|min| rtt < min) || old {
                self.min_rtt = Some(rtt);
                self.min_rtt_at = self.probe_rtt_min_at;
            }
        }
        if expired && !self.idle_restart && self.state != State::ProbeRtt {
            self.save_cwnd(w);
            self.state = State::ProbeRtt;
            self.probe_rtt_until = None;
            self.acks = Acks::Stopping;
            self.start_round();
        }
        let probes = self.state == State::ProbeRtt;
        if probes {
            self.handle_probe_rtt(s, w, random);
        }
        if s.delivered > 0 {
            self.idle_restart = false;
        }
        probes
    }

    fn handle_probe_rtt(&mut self, s: &Steered, w: &mut Window, random: Random<'_>) {
        if self.probe_rtt_until.is_some() {
            self.probe_rtt_round |= self.round_start;
            if self.probe_rtt_round {
                self.check_probe_rtt_done(s.now, w, random);
            }
        } else if s.in_flight as f64 <= self.probe_rtt_cwnd() {
            self.probe_rtt_until = Some(s.now + PROBE_RTT_TIME);
            self.probe_rtt_round = false;
            self.start_round();
        }
    }

    fn check_probe_rtt_done(&mut self, now: Time, w: &mut Window, random: Random<'_>) {
        if self.probe_rtt_until.is_none_or(|until| now <= until) {
            return;
        }
        self.probe_rtt_min_at = now;
        self.restore_cwnd(w);
        // ExitProbeRTT
        self.forget_shortterm();
        if self.full_reached {
            self.start_down(now, random);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    // ---- losses -------------------------------------------------------------------------------

    fn save_undo(&mut self) {
        self.undo = Undo {
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    fn save_cwnd(&mut self, w: &Window) {
        let good = self.before < CaState::Recovery && self.state != State::ProbeRtt;
        self.prior_cwnd = if good { w.cwnd } else { self.prior_cwnd.max(w.cwnd) };
    }

    fn restore_cwnd(&self, w: &mut Window) {
        w.cwnd = w.cwnd.max(self.prior_cwnd);
    }

    // ---- what it sets -------------------------------------------------------------------------

    /// Returns the gains in force, of the pacing rate and of the window.
    fn gains(&self) -> (f64, f64) {
        match self.state {
            State::Startup => (STARTUP_GAIN, CWND_GAIN),
            State::Drain => (0.5, CWND_GAIN),
            State::Down => (0.9, CWND_GAIN),
            State::Cruise | State::Refill => (1.0, CWND_GAIN),
            State::Up => (1.25, UP_CWND_GAIN),
            State::ProbeRtt => (1.0, PROBE_RTT_GAIN),
        }
    }

    fn set_rate(&mut self, gain: f64) {
        let rate = gain * self.bw() * MARGIN;
        if self.full_reached || rate > self.rate {
            self.rate = rate;
        }
    }

    fn set_cwnd(&mut self, s: &Steered, gain: f64, w: &mut Window) {
        let max_inflight = self.with_budget(self.bdp(self.bw(), gain) + self.extra.get() as f64);
        let delivered = s.delivered as f64;
        if self.full_reached {
            w.cwnd = (w.cwnd + delivered).min(max_inflight);
        } else if w.cwnd < max_inflight || s.delivered_total < INITIAL_CWND {
            w.cwnd += delivered;
        }
        w.cwnd = w.cwnd.max(MIN_CWND);
        if self.state == State::ProbeRtt {
            w.cwnd = w.cwnd.min(self.probe_rtt_cwnd());
        }
        // BoundCwndForModel
        let cap = match self.state {
            State::Startup | State::Drain => f64::INFINITY,
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.with_headroom(),
        };
        w.cwnd = w.cwnd.min(cap.min(self.inflight_shortterm).max(MIN_CWND));
    }
}

impl CongestionControl for Bbr3 {
    type Params = Bbr3Params;
    const FULL: bool = true;
    const RECORDS: bool = true;
    const PACES: bool = true;

    fn new(p: &Bbr3Params) -> Self {
        let far = f64::INFINITY;
        let (bw_shortterm, inflight_shortterm, inflight_longterm) = (far, far, far);
        Bbr3 {
            p: p.clone(),
            mss: None,
            state: State::Startup,
            max_bw: [0.0; 2],
            bw_shortterm,
            inflight_shortterm,
            inflight_longterm,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            probe_rtt_min: None,
            probe_rtt_min_at: Time::ZERO,
            extra: Maximum::default(),
            extra_since: Time::ZERO,
            extra_delivered: 0,
            rounds: 0,
            round_start: false,
            next_round: 0,
            loss_round_start: false,
            loss_round: 0,
            loss_in_round: false,
            loss_events: 0,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            full_reached: false,
            full_now: false,
            full_bw: 0.0,
            full_rounds: 0,
            drain_from: 0,
            acks: Acks::Init,
            probe_sample: false,
            too_high: false,
            precautionary: false,
            goes_down: false,
            cycle_at: Time::ZERO,
            wait: Duration::ZERO,
            rounds_since_up: 0,
            up_rounds: 0,
            up_acked: 0.0,
            up_acked_per_inc: far,
            probe_rtt_until: None,
            probe_rtt_round: false,
            before: CaState::Open,
            idle_restart: false,
            prior_cwnd: 0.0,
            undo: Undo { state: None, bw_shortterm, inflight_shortterm, inflight_longterm },
            delivered_total: 0,
            measured_rtt: false,
            rate: 0.0,
        }
    }

    fn check(_p: &Bbr3Params, ecn: Ecn) -> Result<(), ParamError> {
        match ecn {
            Ecn::Mecn => Err(ParamError::new(
                "ecn",
                "must not be \"mecn\" with tcp = \"bbr3\", which ignores marks",
            )),
            Ecn::Off | Ecn::Classic | Ecn::AccEcn | Ecn::Sce => Ok(()),
        }
    }

    fn steer(&mut self, s: &Steered, w: &mut Window, random: Random<'_>) -> Did {
        if self.mss.is_none() {
            self.mss = Some(f64::from(s.segment));
            (self.min_rtt, self.probe_rtt_min) = (s.min_rtt, s.min_rtt);
            (self.min_rtt_at, self.probe_rtt_min_at, self.extra_since) = (s.now, s.now, s.now);
            self.rate = STARTUP_GAIN * w.cwnd / 1e-3;
        }
        if let Some(srtt) = s.srtt.filter(|_| !self.measured_rtt) {
            self.measured_rtt = true;
            self.rate = STARTUP_GAIN * w.cwnd / srtt.as_secs_f64();
        }
        self.delivered_total = s.delivered_total;
        (self.round_start, self.loss_round_start) = (false, false);
        if std::mem::take(&mut self.goes_down) && self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(s.now, random);
        }
        let before = std::mem::replace(&mut self.before, s.state);
        if before >= CaState::Recovery && s.state < CaState::Recovery {
            self.restore_cwnd(w);
        }
        if let Some(r) = &s.rate {
            self.on_sample(s, r, w);
        }
        self.check_startup_and_drain(s, random);
        self.update_phase(s, w, random);
        let holds_back = self.check_probe_rtt(s, w, random);
        if let Some(r) = s.rate.filter(|_| self.loss_round_start) {
            // AdvanceLatestDeliverySignals
            self.bw_latest = bandwidth(&r);
            self.inflight_latest = r.delivered as f64;
        }
        let (pacing_gain, cwnd_gain) = self.gains();
        self.set_rate(pacing_gain);
        self.set_cwnd(s, cwnd_gain, w);
        Did { holds_back, cut: false }
    }

    fn resumes(&mut self, now: Time, w: &mut Window, random: Random<'_>) {
        if self.mss.is_none() {
            return;
        }
        self.idle_restart = true;
        self.extra_since = now;
        if self.in_probe_bw() {
            self.set_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now, w, random);
        }
    }

    /// HandleLostPacket.
    fn on_lost(&mut self, sent: &Sent, lost_total: u64, w: &mut Window) {
        if !self.loss_in_round {
            self.loss_round = self.delivered_total;
            self.save_cwnd(w);
            self.save_undo();
        }
        self.loss_in_round = true;
        let lost = sent.lost_since(lost_total);
        if !self.probe_sample || !self.loses_too_much(lost, sent.tx_in_flight) {
            return;
        }
        // HandleInflightTooHigh, once per probe.
        let in_flight = f64::from(sent.tx_in_flight);
        let level = inflight_at_loss(in_flight, lost as f64, self.p.bbr_loss_threshold);
        self.too_high = true;
        self.probe_sample = false;
        if !sent.app_limited {
            self.inflight_longterm = level.max(self.target_inflight(w) * self.p.bbr_beta);
        }
        self.goes_down = self.state == State::Up;
    }

    fn on_state(&mut self, from: CaState, to: CaState, w: &mut Window) {
        if to >= CaState::Recovery && to != from {
            self.save_cwnd(w);
            self.save_undo();
        }
        if to == CaState::Loss {
            self.before = to;
        }
    }

    /// HandleSpuriousLossDetection.
    fn undo(&mut self, w: &mut Window) {
        self.restore_cwnd(w);
        self.loss_in_round = false;
        self.goes_down = false;
        self.reset_full_bw(0.0);
        let undo = &mut self.undo;
        self.bw_shortterm = self.bw_shortterm.max(undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(undo.inflight_longterm);
        match undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => {
                self.start_refill();
            }
            _ => {}
        }
    }

    fn pacing(&self, _w: &Window) -> Option<Duration> {
        (self.rate > 0.0).then(|| Duration::from_secs_f64(1.0 / self.rate))
    }

    fn buffered(&self) -> u64 {
        3
    }

    fn model(&self) -> Option<Model> {
        Some(Model {
            bandwidth: Some(self.bw()),
            min_rtt: self.min_rtt,
            alpha: None,
            phase: Some(match self.state {
                State::Startup => Phase::Startup,
                State::Drain => Phase::Drain,
                State::Down => Phase::Down,
                State::Cruise => Phase::Cruise,
                State::Refill => Phase::Refill,
                State::Up => Phase::Up,
                State::ProbeRtt => Phase::ProbeRtt,
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() < 0.01, "{got}, should be {want}");
    }

    fn bbr() -> Bbr3 {
        Bbr3 { mss: Some(1448.0), ..Bbr3::new(&Bbr3Params::default()) }
    }

    /// One whose pipe is full: 40 segments in 40 ms.
    fn cruising(state: State) -> Bbr3 {
        let rtt = Some(Duration::from_millis(40));
        let mut b = Bbr3 { state, full_reached: true, measured_rtt: true, ..bbr() };
        (b.max_bw, b.min_rtt, b.probe_rtt_min) = ([1000.0, 0.0], rtt, rtt);
        b.wait = Duration::from_secs(60);
        b.set_rate(1.0);
        b
    }

    fn window(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: f64::INFINITY }
    }

    /// 40 ms, of which `delivered` segments were measured since `prior`.
    fn sample(delivered: u64, prior: u64) -> DeliveryRate {
        DeliveryRate {
            delivered,
            interval: Duration::from_millis(40),
            prior,
            prior_lost: 0,
            tx_in_flight: delivered as u32,
            app_limited: false,
        }
    }

    fn round(now: u64, total: u64, delivered: u64, in_flight: u64) -> Steered {
        let rate = Some(sample(delivered, total));
        Steered { rate, ..Steered::of(ms(now), total, in_flight) }
    }

    fn steer(b: &mut Bbr3, s: &Steered, w: &mut Window) -> bool {
        b.steer(s, w, &mut || 0.25).holds_back
    }

    #[test]
    fn headroom_by_hand() {
        for (longterm, want) in [(60.0, 51.0), (5.0, 4.0), (f64::INFINITY, f64::INFINITY)] {
            let b = Bbr3 { inflight_longterm: longterm, ..cruising(State::Cruise) };
            assert_eq!(b.with_headroom(), want);
        }
    }

    /// 40 rounds at a product of 40, 63 at 200; the clock ends what takes longer.
    #[test]
    fn when_it_is_time_to_probe() {
        for (bw, rtt, rounds, now, want) in [
            (1000.0, 40, 39, 1560, false),
            (1000.0, 40, 40, 1600, true),
            (20_000.0, 10, 62, 620, false),
            (20_000.0, 10, 63, 630, true),
            (10_000.0, 100, 25, 2500, false),
            (10_000.0, 100, 25, 2501, true),
        ] {
            let mut b = cruising(State::Cruise);
            (b.max_bw[0], b.min_rtt) = (bw, Some(Duration::from_millis(rtt)));
            b.start_down(Time::ZERO, &mut || 0.5);
            assert_eq!((b.rounds_since_up, b.wait), (1, Duration::from_millis(2500)));
            b.rounds_since_up = rounds;
            assert_eq!(b.is_time_to_probe(ms(now), &window(4000.0)), want, "{bw} {rounds}");
        }
    }

    /// Three lost of 100: 99 + (1.98 − 2)/0.98.
    #[test]
    fn where_losses_crossed_the_threshold() {
        near(inflight_at_loss(100.0, 3.0, 0.02), 98.98);
        let mut b = Bbr3 { probe_sample: true, ..cruising(State::Up) };
        let mut w = window(82.0);
        b.on_lost(&Sent::among(100, 5), 7, &mut w);
        assert!(!b.too_high, "two of 100 are 2 %");
        b.on_lost(&Sent::among(100, 5), 8, &mut w);
        assert!(b.too_high && !b.probe_sample);
        near(b.inflight_longterm, 98.98);
        steer(&mut b, &Steered::of(ms(100), 1000, 80), &mut w);
        assert_eq!(b.state, State::Down);
        // Once per probe; and never below 0.7 of the product.
        b.on_lost(&Sent::among(100, 0), 90, &mut w);
        near(b.inflight_longterm, 98.98);
        let mut b = Bbr3 { probe_sample: true, ..cruising(State::Refill) };
        b.on_lost(&Sent::among(20, 0), 3, &mut w);
        near(b.inflight_longterm, 28.0);
        assert_eq!((b.state, b.goes_down), (State::Refill, false));
    }

    /// From 100: a round that delivered 60 leaves 70, the next 60, not 49.
    #[test]
    fn lossy_rounds_lower_the_short_term() {
        let mut b = cruising(State::Cruise);
        b.max_bw = [100.0, 0.0];
        let w = window(80.0);
        let mut seen = vec![];
        for _ in 0..2 {
            (b.bw_latest, b.inflight_latest) = (60.0, 10.0);
            b.adapt_lower_bounds(&w);
            seen.push((b.bw_shortterm, b.inflight_shortterm));
        }
        assert_eq!(seen, [(70.0, 56.0), (60.0, 39.199999999999996)]);
        b.start_refill();
        assert_eq!(b.bw(), 100.0);
    }

    /// A loss in CRUISE is answered when its round is over, one while it probes is not.
    #[test]
    fn who_answers_a_lossy_round() {
        for (state, want) in [(State::Cruise, 700.0), (State::Refill, 1000.0)] {
            let (mut b, mut w) = (cruising(state), window(80.0));
            b.delivered_total = 1000;
            b.on_lost(&Sent::among(40, 0), 1, &mut w);
            let at = |prior, total| Steered {
                rate: Some(sample(20, prior)),
                ..Steered::of(ms(40), total, 40)
            };
            steer(&mut b, &at(999, 1020), &mut w);
            assert_eq!(b.bw(), 1000.0, "the round is not over");
            steer(&mut b, &at(1000, 1040), &mut w);
            assert_eq!(b.bw(), want, "{state:?}");
        }
    }

    /// With a window of 40 that limits: a segment more per 40 acknowledged, then per 20, per 10.
    #[test]
    fn the_long_term_rises_ever_faster() {
        let mut b = cruising(State::Refill);
        let w = window(40.0);
        b.start_up(1000.0, &w);
        let mut seen = vec![];
        for round in 0..3_u64 {
            b.inflight_longterm = 36.0;
            for n in 0..40 {
                b.round_start = n == 39;
                b.raise_longterm(&Steered::of(ms(40 * round + n), 1, 40), &w);
            }
            seen.push(b.inflight_longterm);
        }
        assert_eq!(seen, [37.0, 38.0, 40.0]);
        b.raise_longterm(&Steered { window_limited: false, ..Steered::of(ms(1), 1, 40) }, &w);
        b.raise_longterm(&Steered::of(ms(1), 1, 40), &window(39.0));
        assert_eq!(b.up_acked, 0.0);
    }

    /// 10 Mbit/s are 0.86 segments in a millisecond: two at least, and six under way; 64 kB at
    /// most.
    #[test]
    fn bursts_by_hand() {
        let quantum = |rate| Bbr3 { rate, ..bbr() }.quantum();
        assert_eq!([863.0, 10_000.0].map(quantum), [2.0, 10.0]);
        near(quantum(1e6), 45.26);
        let mut b = cruising(State::Cruise);
        b.max_bw = [50.0, 0.0];
        b.rate = 50.0;
        assert_eq!(b.inflight(2.0), 6.0);
    }

    /// 500 is above 1.25 · 390. STARTUP ends three rounds later; DRAIN at the product or after
    /// three rounds.
    #[test]
    fn startup_and_drain() {
        for empties in [true, false] {
            let (mut b, mut w) = (Bbr3::new(&Bbr3Params::default()), window(10.0));
            let rtt = Some(Duration::from_millis(40));
            let mut states = vec![];
            for (n, delivered) in [4, 8, 16, 20, 21, 21, 21, 21, 21, 21, 21].into_iter().enumerate()
            {
                let in_flight = if empties && n > 7 { 20 } else { 60 };
                let s = round(40 * n as u64, 100 * n as u64, delivered, in_flight);
                steer(&mut b, &Steered { rtt, srtt: rtt, min_rtt: rtt, ..s }, &mut w);
                states.push(b.state);
            }
            use State::{Cruise, Down, Drain, Startup};
            let drains = if empties { [Drain, Cruise, Cruise] } else { [Drain, Drain, Drain] };
            assert_eq!(states[..6], [Startup; 6]);
            assert_eq!(states[7..10], drains, "{empties}");
            assert!(empties || states[10] == Down, "{states:?}");
        }
    }

    /// A round in recovery, six ACKs with losses, more than 2 %: the pipe is full.
    #[test]
    fn losses_end_startup() {
        for (events, lost, full) in [(6, 3, true), (5, 3, false), (6, 2, false)] {
            let (mut b, mut w) = (bbr(), window(100.0));
            let state = CaState::Recovery;
            for n in 0..events {
                let mut rate = sample(100, 10);
                rate.prior_lost = 7;
                b.loss_round = if n + 1 == events { 10 } else { 11 };
                let s = Steered { lost: 1, lost_total: 7 + lost, state, ..round(n, 50, 1, 90) };
                steer(&mut b, &Steered { rate: Some(rate), ..s }, &mut w);
            }
            assert_eq!((b.full_reached, b.state == State::Startup), (full, !full), "{events}");
        }
    }

    /// DOWN until no more than the product is under way, CRUISE until it is time, REFILL a round,
    /// UP until three rounds bring no more.
    #[test]
    fn a_probe_goes_round() {
        let (mut b, mut w) = (cruising(State::Cruise), window(80.0));
        b.start_down(ms(0), &mut || 0.0);
        let mut total = 1000;
        let mut states = vec![];
        for (now, in_flight) in [
            (40, 50),
            (80, 40),
            (120, 40),
            (2001, 40),
            (2041, 40),
            (2081, 44),
            (2121, 50),
            (2161, 50),
            (2201, 40),
        ] {
            total += 40;
            let mut s = round(now, total, 40, in_flight);
            s.window_limited = false;
            steer(&mut b, &s, &mut w);
            states.push(b.state);
        }
        use State::{Cruise, Down, Refill, Up};
        assert_eq!(states, [Down, Cruise, Cruise, Refill, Up, Up, Up, Down, Cruise]);
        near(b.top_bw(), 1000.0);
    }

    /// The minimum is of 0 s. After 5 s half of the product is under way, for 200 ms and a round.
    #[test]
    fn the_queue_is_halved_every_five_seconds() {
        let (mut b, mut w) = (cruising(State::Cruise), window(80.0));
        let rtt = Some(Duration::from_millis(50));
        let at = |now, total, in_flight| Steered { rtt, ..Steered::of(ms(now), total, in_flight) };
        assert!(!steer(&mut b, &at(5000, 1000, 79), &mut w));
        assert!(steer(&mut b, &at(5001, 1001, 79), &mut w));
        // The minimum itself holds for ten seconds.
        assert_eq!(
            (b.state, w.cwnd, b.min_rtt),
            (State::ProbeRtt, 20.0, b.probe_rtt_min.min(Some(Duration::from_millis(40))))
        );
        steer(&mut b, &at(5060, 1060, 20), &mut w);
        let over = |now, total| Steered { rate: Some(sample(20, total)), ..at(now, total, 20) };
        steer(&mut b, &over(5100, 1080), &mut w);
        assert_eq!((b.probe_rtt_round, w.cwnd), (true, 20.0));
        steer(&mut b, &over(5261, 1100), &mut w);
        assert_eq!((b.state, b.probe_rtt_min_at), (State::Cruise, ms(5261)));
        assert!(w.cwnd >= 80.0);
    }

    /// The draft's table, and 1 % less for the pace.
    #[test]
    fn gains_by_state() {
        for (state, gains) in [
            (State::Startup, (2.77, 2.0)),
            (State::Drain, (0.5, 2.0)),
            (State::Down, (0.9, 2.0)),
            (State::Cruise, (1.0, 2.0)),
            (State::Refill, (1.0, 2.0)),
            (State::Up, (1.25, 2.25)),
            (State::ProbeRtt, (1.0, 0.5)),
        ] {
            let mut b = cruising(state);
            assert_eq!(b.gains(), gains, "{state:?}");
            b.set_rate(gains.0);
            near(b.rate, 990.0 * gains.0);
        }
    }

    /// A pause of more than 5 s was long enough for the queue to empty.
    #[test]
    fn a_pause_needs_no_probe() {
        let (mut b, mut w) = (cruising(State::Cruise), window(80.0));
        b.resumes(ms(20_000), &mut w, &mut || 0.0);
        let rtt = Some(Duration::from_millis(45));
        steer(&mut b, &Steered { rtt, ..Steered::of(ms(20_045), 1000, 3) }, &mut w);
        assert_eq!((b.state, b.min_rtt), (State::Cruise, rtt));
    }

    /// A timeout leaves one segment; when all is repaired, the window is as before, within the
    /// bounds. A false alarm gives the bounds back.
    #[test]
    fn what_repairs_and_false_alarms_give_back() {
        let (mut b, mut w) = (cruising(State::Cruise), window(80.0));
        b.on_state(CaState::Open, CaState::Loss, &mut w);
        w.cwnd = 1.0;
        let s = Steered { state: CaState::Loss, ..Steered::of(ms(500), 1000, 0) };
        steer(&mut b, &s, &mut w);
        assert_eq!(w.cwnd, 4.0);
        b.inflight_shortterm = 56.0;
        steer(&mut b, &Steered::of(ms(540), 1001, 3), &mut w);
        assert_eq!(w.cwnd, 56.0);
        b.undo(&mut w);
        assert_eq!((b.inflight_shortterm, w.cwnd), (f64::INFINITY, 80.0));
    }
}
