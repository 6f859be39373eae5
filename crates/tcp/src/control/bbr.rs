//! BBR, version 1, as Linux ships it (`tcp_bbr.c`, since 4.9). N. Cardwell, Y. Cheng, C. S. Gunn,
//! S. H. Yeganeh, V. Jacobson, "BBR: congestion-based congestion control", ACM Queue 14(5), 2016.
//!
//! It measures two things of the path, and sends by them; losses and marks do not slow it down.
//!
//! bw = max of delivered/interval over 10 rounds,   min_rtt = min over 10 s,
//! pacing rate = pacing_gain · bw · 99 %,
//! cwnd = cwnd_gain · bw · min_rtt + 3 · burst + what ACKs bring in aggregates.
//!
//! STARTUP doubles the rate every round (gains of 2.89) until bw has grown by less than a quarter
//! in three rounds. DRAIN (1/2.89) empties the queue that this has made. PROBE_BW goes through
//! eight phases of a min_rtt each, with gains of 5/4, 3/4, and 1 six times. If min_rtt is ten
//! seconds old, PROBE_RTT holds four segments for 200 ms and a round, so that the queue empties.
//!
//! The arithmetic is Linux's, in integers: gains in 1/256, bandwidth in segments/µs · 2^24, times
//! in µs. Its policer detection is here too: two intervals of 4 to 16 rounds, each with a fifth of
//! the segments lost, at nearly one bandwidth, fix bw for 48 rounds.
//!
//! Departs from it: `HZ` does not round the times of the minimum and of PROBE_RTT, and a burst is
//! what Linux would hand down at once, although segments leave one by one here.

use crate::control::algorithm::{CongestionControl, Did, Random, Steered};
use crate::control::extremum::Maximum;
use crate::control::model::{Model, Phase};
use crate::control::variant::{VariantInfo, VARIANT};
use crate::control::window::Window;
use crate::ecn::bits::Ecn;
use crate::info::CaState;
use crate::pace::MAX_BURST;
use crate::recovery::kind::Recovery;
use crate::sent::DeliveryRate;
use penstock_units::param::{num, OwnDefaults, ParamError};
use penstock_units::{Duration, Time, TICKS_PER_NANO};

penstock_units::params! {
    /// What may be set of BBR; Linux has constants.
    pub struct BbrParams: Default {
        /// BBR's congestion window in bandwidth-delay products, once the pipe is full.
        pub bbr_cwnd_gain: f64 {
            ty: num(1.0, 16.0),
            unit: "1",
            default: 2,
            source: "Linux: bbr_cwnd_gain",
        },
        /// How long BBR keeps a minimum round trip before it lets the queue empty to measure again.
        pub bbr_min_rtt_window: Duration {
            default: "10 s",
            source: "Linux: bbr_min_rtt_win_sec",
        },
    }
}

pub(crate) const INFO: VariantInfo = VariantInfo {
    name: "bbr",
    doc: "Sends at the rate that the path has delivered, whatever is lost or marked (version 1).",
    source: "Cardwell et al. 2016; Linux's tcp_bbr.c",
    own: &[BbrParams::TABLE, Recovery::TABLE],
    defaults: OwnDefaults::any(&[("recovery", "\"rack\"")]),
    linux: Some("bbr"),
    ..VARIANT
};

/// One in gains.
const UNIT: u64 = 256;
/// One segment per µs in bandwidths.
const BW_UNIT: u64 = 1 << 24;
/// 2/ln 2: the smallest gain that doubles the rate every round.
const HIGH_GAIN: u64 = 739;
/// 1/2.89.
const DRAIN_GAIN: u64 = 88;
const CYCLE: [u64; 8] = [320, 192, 256, 256, 256, 256, 256, 256];
/// Rounds of which bandwidth is the maximum.
const BW_ROUNDS: u64 = 10;
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
const MIN_CWND: u64 = 4;
/// `TCP_INIT_CWND`.
const INITIAL_CWND: u64 = 10;
/// Below this rate in B/s a burst is one segment: 1.2 Mbit/s.
const ONE_SEGMENT_RATE: u64 = 150_000;
/// Rounds of a slot of the extra acknowledged, and its bounds: 100 ms of bandwidth, 2^20 segments.
const EXTRA_ROUNDS: u64 = 5;
const EXTRA_US: u64 = 100_000;
const EPOCH_END: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// What detects a policer.
#[derive(Clone, Copy, Debug, Default)]
struct Policer {
    sampling: bool,
    /// `bandwidth` is that of the policer.
    used: bool,
    bandwidth: u64,
    rounds: u64,
    /// The interval's start: segments delivered and lost, and the time.
    delivered: u64,
    lost: u64,
    at: Time,
}

/// What BBR keeps.
#[derive(Clone, Debug)]
pub(crate) struct Bbr {
    cwnd_gain: u64,
    min_rtt_window: Duration,
    mode: Mode,
    /// The gain in force of the pacing rate.
    pacing_gain: u64,
    bandwidth: Maximum,
    /// µs.
    min_rtt: Option<u64>,
    min_rtt_at: Time,
    rounds: u64,
    round_start: bool,
    /// The round ends when a segment is delivered that was sent after so many had been.
    next_round: u64,
    full: bool,
    full_bandwidth: u64,
    full_rounds: u32,
    phase: usize,
    phase_at: Time,
    /// When PROBE_RTT may end, once few segments are under way, and whether a round has passed.
    probe_rtt_until: Option<Time>,
    probe_rtt_round: bool,
    /// The window to go back to.
    prior_cwnd: u64,
    conserves: bool,
    before: CaState,
    idle_restart: bool,
    /// When an ACK last delivered something.
    delivered_at: Time,
    epoch_at: Time,
    epoch_acked: u64,
    extra: [u64; 2],
    extra_slot: usize,
    extra_rounds: u64,
    policer: Policer,
    /// The rate was set by the first round trip.
    measured_rtt: bool,
    /// Payload of a segment; 0 before the first ACK.
    mss: u64,
    /// Segments delivered and lost up to the last ACK.
    totals: (u64, u64),
    /// Bytes per second, and what follows from it: the time from one segment to the next, and the
    /// segments of a burst.
    rate: u64,
    gap: Option<Duration>,
    burst: u64,
}

fn us(d: Duration) -> u64 {
    d.as_nanos() / 1000
}

/// Returns a · b · c / 2^shift.
fn scaled(a: u64, b: u64, c: u64, shift: u32) -> u64 {
    ((u128::from(a) * u128::from(b) * u128::from(c)) >> shift) as u64
}

// ---- the equations ----------------------------------------------------------------------------

/// Returns the bandwidth of a sample.
fn bandwidth(r: &DeliveryRate) -> u64 {
    r.delivered * BW_UNIT / us(r.interval).max(1)
}

/// Returns `gain` times the product of bandwidth and delay, rounded up.
fn product(bw: u64, min_rtt: u64, gain: u64) -> u64 {
    scaled(bw, min_rtt, gain, 8).div_ceil(BW_UNIT)
}

/// Returns the pacing rate in bytes per second: 1 % below `gain` times the bandwidth.
fn rate(bw: u64, gain: u64, mss: u64) -> u64 {
    scaled(scaled(bw, mss, gain, 8), 10_000 * 99, 1, 24)
}

/// Returns the rate before anything was delivered: `cwnd` segments in a round trip.
fn first_rate(cwnd: u64, rtt: u64, mss: u64) -> u64 {
    rate(cwnd * BW_UNIT / rtt.max(1), HIGH_GAIN, mss)
}

/// Returns the segments that Linux hands down at once: a millisecond of the rate.
fn burst(rate: u64, mss: u64) -> u64 {
    let least = if rate < ONE_SEGMENT_RATE { 1 } else { 2 };
    ((rate >> 10).min(MAX_BURST) / mss).max(least).min(127)
}

impl Bbr {
    /// The bandwidth in use.
    fn bw(&self) -> u64 {
        if self.policer.used {
            self.policer.bandwidth
        } else {
            self.bandwidth.get()
        }
    }

    fn bdp(&self, bw: u64, gain: u64) -> u64 {
        self.min_rtt.map_or(INITIAL_CWND, |rtt| product(bw, rtt, gain))
    }

    /// Room for bursts at the sender, on the path and at the receiver; an even number, because
    /// every second segment is acknowledged; two more to probe with.
    fn with_bursts(&self, cwnd: u64) -> u64 {
        let cwnd = cwnd + 3 * self.burst;
        let even = cwnd + cwnd % 2;
        even + if self.mode == Mode::ProbeBw && self.phase == 0 { 2 } else { 0 }
    }

    fn inflight(&self, bw: u64, gain: u64) -> u64 {
        self.with_bursts(self.bdp(bw, gain))
    }

    /// Returns how many of `in_flight` will be in the network when the next segment leaves.
    fn in_network(&self, s: &Steered, in_flight: u64) -> u64 {
        let gone = scaled(self.bandwidth.get(), us(s.departs.since(s.now)), 1, 24);
        let more = if self.pacing_gain > UNIT { self.burst } else { 0 };
        (in_flight + more).saturating_sub(gone)
    }

    // ---- the model ----------------------------------------------------------------------------

    fn on_sample(&mut self, s: &Steered, r: &DeliveryRate, cwnd: u64, random: Random<'_>) {
        if r.prior >= self.next_round {
            self.next_round = s.delivered_total;
            self.rounds += 1;
            self.round_start = true;
            self.conserves = false;
        }
        let totals = (s.delivered_total, s.lost_total);
        if self.police(totals, s.lost > 0, r.app_limited) {
            self.probe_bw(random);
        }
        let sample = bandwidth(r);
        if !r.app_limited || sample >= self.bandwidth.get() {
            self.bandwidth.add(self.rounds, sample, BW_ROUNDS);
        }
        self.aggregate(s.delivered, cwnd);
    }

    /// ACKs that come in aggregates bring more at once than the bandwidth: the most that they have
    /// brought in five to ten rounds may be under way besides.
    fn aggregate(&mut self, delivered: u64, cwnd: u64) {
        if delivered == 0 {
            return;
        }
        if self.round_start {
            self.extra_rounds += 1;
            if self.extra_rounds >= EXTRA_ROUNDS {
                self.extra_rounds = 0;
                self.extra_slot ^= 1;
                self.extra[self.extra_slot] = 0;
            }
        }
        let mut expected = scaled(self.bw(), us(self.delivered_at.since(self.epoch_at)), 1, 24);
        if self.epoch_acked <= expected || self.epoch_acked + delivered >= EPOCH_END {
            self.epoch_acked = 0;
            self.epoch_at = self.delivered_at;
            expected = 0;
        }
        self.epoch_acked += delivered;
        let extra = (self.epoch_acked - expected).min(cwnd);
        let slot = &mut self.extra[self.extra_slot];
        *slot = extra.max(*slot);
    }

    fn aggregates(&self) -> u64 {
        if !self.full {
            return 0;
        }
        let most = scaled(self.bw(), EXTRA_US, 1, 24);
        self.extra[0].max(self.extra[1]).min(most)
    }

    fn next_phase(&mut self) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_at = self.delivered_at;
    }

    fn cycles(&mut self, s: &Steered) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let long = us(self.delivered_at.since(self.phase_at)) > self.min_rtt.unwrap_or(u64::MAX);
        let over = if self.pacing_gain == UNIT {
            long
        } else {
            let in_network = self.in_network(s, s.prior_in_flight);
            let bw = self.bandwidth.get();
            if self.pacing_gain > UNIT {
                // The pipe has to be filled as far as the gain asks, unless that costs losses.
                long && (s.lost > 0 || in_network >= self.inflight(bw, self.pacing_gain))
            } else {
                long || in_network <= self.inflight(bw, UNIT)
            }
        };
        if over {
            self.next_phase();
        }
    }

    fn fills(&mut self, app_limited: bool) {
        if self.full || !self.round_start || app_limited {
            return;
        }
        let bw = self.bandwidth.get();
        if bw >= self.full_bandwidth * 320 / UNIT {
            self.full_bandwidth = bw;
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= 3;
    }

    fn drains(&mut self, s: &Steered, w: &mut Window, random: Random<'_>) {
        let bw = self.bandwidth.get();
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            w.ssthresh = self.inflight(bw, UNIT) as f64;
        }
        if self.mode == Mode::Drain && self.in_network(s, s.in_flight) <= self.inflight(bw, UNIT) {
            self.probe_bw(random);
        }
    }

    /// Starts in any phase but that of 3/4.
    fn probe_bw(&mut self, random: Random<'_>) {
        self.mode = Mode::ProbeBw;
        self.phase = 7 - (random() * 7.0) as usize;
        self.next_phase();
    }

    /// Returns whether it has to send little now, so that rates say nothing of the path.
    fn on_rtt(&mut self, s: &Steered, w: &mut Window, random: Random<'_>) -> bool {
        let expired = s.now > self.min_rtt_at + self.min_rtt_window;
        if let Some(rtt) = s.rtt.map(us) {
            if self.min_rtt.is_none_or(|min| rtt < min) || (expired && !s.delayed) {
                self.min_rtt = Some(rtt);
                self.min_rtt_at = s.now;
            }
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save(w);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_until = None;
        }
        let probes = self.mode == Mode::ProbeRtt;
        if probes {
            if self.probe_rtt_until.is_some() {
                self.probe_rtt_round |= self.round_start;
                if self.probe_rtt_round {
                    self.ends_probe_rtt(s.now, w, random);
                }
            } else if s.in_flight <= MIN_CWND {
                self.probe_rtt_until = Some(s.now + PROBE_RTT_TIME);
                self.probe_rtt_round = false;
                self.next_round = s.delivered_total;
            }
        }
        if s.delivered > 0 {
            self.idle_restart = false;
        }
        probes
    }

    fn ends_probe_rtt(&mut self, now: Time, w: &mut Window, random: Random<'_>) {
        if self.probe_rtt_until.is_none_or(|until| now <= until) {
            return;
        }
        self.min_rtt_at = now;
        w.cwnd = w.cwnd.max(self.prior_cwnd as f64);
        if self.full {
            self.probe_bw(random);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// Returns the gains in force, of the pacing rate and of the window.
    fn gains(&self) -> (u64, u64) {
        match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.used => (UNIT, self.cwnd_gain),
            Mode::ProbeBw => (CYCLE[self.phase], self.cwnd_gain),
            Mode::ProbeRtt => (UNIT, UNIT),
        }
    }

    // ---- the policer --------------------------------------------------------------------------

    /// `totals` are the segments delivered and lost so far. Returns whether the bandwidth of a
    /// policer has been in use for long enough, and PROBE_BW starts again.
    fn police(&mut self, totals: (u64, u64), lost_now: bool, app_limited: bool) -> bool {
        let p = &mut self.policer;
        let (delivered, lost) = totals;
        let start = Policer { delivered, lost, at: self.delivered_at, ..Policer::default() };
        if p.used {
            p.rounds += u64::from(self.mode == Mode::ProbeBw && self.round_start);
            let over = self.mode == Mode::ProbeBw && self.round_start && p.rounds >= 48;
            if over {
                *p = start;
            }
            return over;
        }
        if !p.sampling {
            if !lost_now {
                return false;
            }
            *p = Policer { sampling: true, bandwidth: p.bandwidth, ..start };
        }
        if app_limited {
            *p = start;
            return false;
        }
        p.rounds += u64::from(self.round_start);
        if p.rounds > 16 {
            *p = start;
        }
        // An interval ends with a loss: the policer's bucket is empty.
        if p.rounds < 4 || !lost_now {
            return false;
        }
        let (delivered, lost) = (delivered - p.delivered, lost - p.lost);
        let ms = self.delivered_at.since(p.at).as_nanos() / 1_000_000;
        if delivered == 0 || lost * UNIT < 50 * delivered || ms == 0 {
            return false;
        }
        let bw = delivered * BW_UNIT / (ms * 1000);
        let off = bw.abs_diff(p.bandwidth);
        // Within 1/8, or 4 kbit/s.
        let near = off * UNIT <= 32 * p.bandwidth || rate(off, UNIT, self.mss) <= 500;
        *p = if p.bandwidth > 0 && near {
            Policer { used: true, bandwidth: (bw + p.bandwidth) / 2, ..start }
        } else {
            Policer { sampling: true, bandwidth: bw, ..start }
        };
        false
    }

    // ---- what it sets -------------------------------------------------------------------------

    /// Remembers the window to go back to after recovery or PROBE_RTT.
    fn save(&mut self, w: &Window) {
        let cwnd = w.cwnd as u64;
        let good = self.before < CaState::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// Until the pipe is full the rate only rises: samples lag behind.
    fn set_rate(&mut self, srtt: Option<Duration>, gain: u64, cwnd: u64) {
        let rate = rate(self.bw(), gain, self.mss);
        if !self.measured_rtt {
            if let Some(srtt) = srtt {
                self.measured_rtt = true;
                self.paces_at(first_rate(cwnd, us(srtt), self.mss));
            }
        }
        if self.full || rate > self.rate {
            self.paces_at(rate);
        }
    }

    fn paces_at(&mut self, rate: u64) {
        if rate != self.rate {
            self.rate = rate;
            self.burst = burst(rate, self.mss);
            let ticks = self.mss * 1_000_000_000 * TICKS_PER_NANO;
            self.gap = ticks.checked_div(rate).map(Duration::from_ticks);
        }
    }

    fn set_cwnd(&mut self, s: &Steered, gain: u64, w: &mut Window) {
        let mut cwnd = w.cwnd as u64;
        if s.delivered > 0 && !self.repairs(s, &mut cwnd) {
            let target = self.with_bursts(self.bdp(self.bw(), gain) + self.aggregates());
            if self.full {
                cwnd = (cwnd + s.delivered).min(target);
            } else if cwnd < target || s.delivered_total < INITIAL_CWND {
                cwnd += s.delivered;
            }
            cwnd = cwnd.max(MIN_CWND);
        }
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(MIN_CWND);
        }
        w.cwnd = cwnd as f64;
    }

    /// In the first round of a recovery a segment goes out for each that arrives; after it, the
    /// window is what it was. Returns whether that sets the window.
    fn repairs(&mut self, s: &Steered, cwnd: &mut u64) -> bool {
        if s.lost > 0 {
            *cwnd = cwnd.saturating_sub(s.lost).max(1);
        }
        let (before, state) = (std::mem::replace(&mut self.before, s.state), s.state);
        if state == CaState::Recovery && before != CaState::Recovery {
            self.conserves = true;
            self.next_round = s.delivered_total;
            *cwnd = s.in_flight + s.delivered;
        } else if before >= CaState::Recovery && state < CaState::Recovery {
            *cwnd = self.prior_cwnd.max(*cwnd);
            self.conserves = false;
        }
        if self.conserves {
            *cwnd = (s.in_flight + s.delivered).max(*cwnd);
        }
        self.conserves
    }
}

impl CongestionControl for Bbr {
    type Params = BbrParams;
    const FULL: bool = true;
    const RECORDS: bool = true;
    const PACES: bool = true;
    const MINDS_USE: bool = false;

    fn new(p: &BbrParams) -> Self {
        Bbr {
            cwnd_gain: (p.bbr_cwnd_gain * UNIT as f64) as u64,
            min_rtt_window: p.bbr_min_rtt_window,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            bandwidth: Maximum::default(),
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            rounds: 0,
            round_start: false,
            next_round: 0,
            full: false,
            full_bandwidth: 0,
            full_rounds: 0,
            phase: 0,
            phase_at: Time::ZERO,
            probe_rtt_until: None,
            probe_rtt_round: false,
            prior_cwnd: 0,
            conserves: false,
            before: CaState::Open,
            idle_restart: false,
            delivered_at: Time::ZERO,
            epoch_at: Time::ZERO,
            epoch_acked: 0,
            extra: [0; 2],
            extra_slot: 0,
            extra_rounds: 0,
            policer: Policer::default(),
            measured_rtt: false,
            mss: 0,
            totals: (0, 0),
            rate: 0,
            gap: None,
            burst: 2,
        }
    }

    fn check(_p: &BbrParams, ecn: Ecn) -> Result<(), ParamError> {
        match ecn {
            Ecn::Mecn => Err(ParamError::new(
                "ecn",
                "must not be \"mecn\" with tcp = \"bbr\", which ignores marks",
            )),
            Ecn::Off | Ecn::Classic | Ecn::AccEcn | Ecn::Sce => Ok(()),
        }
    }

    fn steer(&mut self, s: &Steered, w: &mut Window, random: Random<'_>) -> Did {
        if self.mss == 0 {
            self.mss = u64::from(s.segment);
            (self.min_rtt_at, self.epoch_at) = (s.now, s.now);
            self.min_rtt = s.min_rtt.map(us);
            self.paces_at(first_rate(w.cwnd as u64, 1000, self.mss));
        }
        self.totals = (s.delivered_total, s.lost_total);
        if s.delivered > 0 {
            self.delivered_at = s.now;
        }
        self.round_start = false;
        if let Some(r) = &s.rate {
            self.on_sample(s, r, w.cwnd as u64, random);
        }
        self.cycles(s);
        if let Some(r) = &s.rate {
            self.fills(r.app_limited);
        }
        self.drains(s, w, random);
        let holds_back = self.on_rtt(s, w, random);
        let (pacing_gain, cwnd_gain) = self.gains();
        self.pacing_gain = pacing_gain;
        self.set_rate(s.srtt, pacing_gain, w.cwnd as u64);
        self.set_cwnd(s, cwnd_gain, w);
        Did { holds_back, cut: false }
    }

    fn resumes(&mut self, now: Time, w: &mut Window, random: Random<'_>) {
        if self.mss == 0 {
            return;
        }
        self.idle_restart = true;
        (self.epoch_at, self.epoch_acked) = (now, 0);
        match self.mode {
            Mode::ProbeBw => self.set_rate(None, UNIT, 0),
            Mode::ProbeRtt => self.ends_probe_rtt(now, w, random),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_state(&mut self, from: CaState, to: CaState, w: &mut Window) {
        if to >= CaState::Cwr && (from <= CaState::Disorder || to == CaState::Loss) {
            self.save(w);
        }
        if to == CaState::Loss {
            self.before = to;
            self.full_bandwidth = 0;
            self.round_start = true;
            self.police(self.totals, true, false);
        }
    }

    fn undo(&mut self, _w: &mut Window) {
        self.full_bandwidth = 0;
        self.full_rounds = 0;
        let (delivered, lost) = self.totals;
        self.policer = Policer { delivered, lost, at: self.delivered_at, ..Policer::default() };
    }

    fn pacing(&self, _w: &Window) -> Option<Duration> {
        self.gap
    }

    /// `bbr_min_tso_segs`: two, or one at a low rate.
    fn least_burst(&self) -> Option<u32> {
        Some(self.burst.clamp(1, 2) as u32)
    }

    fn buffered(&self) -> u64 {
        3
    }

    fn model(&self) -> Option<Model> {
        Some(Model {
            bandwidth: Some(self.bw() as f64 * 1e6 / BW_UNIT as f64),
            min_rtt: self.min_rtt.map(Duration::from_micros),
            phase: Some(match self.mode {
                Mode::Startup => Phase::Startup,
                Mode::Drain => Phase::Drain,
                Mode::ProbeBw => Phase::ProbeBw,
                Mode::ProbeRtt => Phase::ProbeRtt,
            }),
            alpha: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    fn bbr() -> Bbr {
        Bbr { mss: MSS, ..Bbr::new(&BbrParams::default()) }
    }

    /// One whose pipe is full at `bw` segments per 10 ms, over 40 ms.
    fn cruising(bw: u64, phase: usize) -> Bbr {
        let mut b = Bbr { full: true, mode: Mode::ProbeBw, phase, measured_rtt: true, ..bbr() };
        b.bandwidth.add(0, bandwidth(&sample(bw, 10, 0)), BW_ROUNDS);
        b.min_rtt = Some(40_000);
        b.pacing_gain = CYCLE[phase];
        b.set_rate(None, b.pacing_gain, 0);
        b
    }

    fn sample(delivered: u64, interval: u64, prior: u64) -> DeliveryRate {
        let interval = Duration::from_millis(interval);
        let (prior_lost, tx_in_flight, app_limited) = (0, 0, false);
        DeliveryRate { delivered, interval, prior, prior_lost, tx_in_flight, app_limited }
    }

    fn window(cwnd: u64) -> Window {
        Window { cwnd: cwnd as f64, ssthresh: f64::INFINITY }
    }

    fn steer(b: &mut Bbr, s: &Steered, w: &mut Window) -> bool {
        b.steer(s, w, &mut || 0.9).holds_back
    }

    /// Ten segments in 10 ms, a round trip of 40 ms: 11.58 Mbit/s, and 40 segments.
    #[test]
    fn the_equations_by_hand() {
        let bw = bandwidth(&sample(10, 10, 0));
        assert_eq!(bw, 16_777); // 10 · 2^24/10000
        let products = [256, 739, 512, 320, 192, 88].map(|gain| product(bw, 40_000, gain));
        assert_eq!(products, [40, 116, 80, 50, 30, 14]);
        let rates = [256, 320, 192, 739, 88].map(|gain| rate(bw, gain, MSS));
        assert_eq!(rates, [1_433_501, 1_791_876, 1_075_126, 4_138_115, 492_766]);
        // 1399 B in a millisecond: two segments at least.
        assert_eq!(burst(1_433_501, MSS), 2);
        assert_eq!([149_999, 150_000, 10_000_000].map(|r| burst(r, MSS)), [1, 2, 6]);
        let least = |burst| Bbr { burst, ..bbr() }.least_burst();
        assert_eq!([1, 2, 6].map(least), [Some(1), Some(2), Some(2)]);
        assert_eq!([1 << 30, 1 << 40].map(|r| burst(r, MSS)), [45, 45]);
        assert_eq!([1, 0].map(|phase| cruising(10, phase).inflight(bw, 512)), [86, 88]);
    }

    /// Ten segments over the 40 ms of the first round trip, 2.89 times.
    #[test]
    fn the_first_rate() {
        let (mut b, mut w) = (Bbr::new(&BbrParams::default()), window(10));
        let srtt = Some(Duration::from_millis(40));
        steer(&mut b, &Steered { srtt, rtt: srtt, ..Steered::of(ms(40), 1, 0) }, &mut w);
        assert_eq!(b.rate, 1_034_467);
        // 1448 B at that rate: 1.3998 ms.
        let gap = b.pacing(&w).expect("it paces");
        assert_eq!(gap.as_nanos(), 1_448_000_000_000 / 1_034_467);
        // A lower sample does not bring it down before the pipe is full; a higher one raises it.
        let rate = |delivered| Some(sample(delivered, 40, delivered));
        steer(&mut b, &Steered { rate: rate(5), ..Steered::of(ms(80), 6, 9) }, &mut w);
        assert_eq!(b.rate, 1_034_467);
        steer(&mut b, &Steered { rate: rate(20), ..Steered::of(ms(120), 26, 9) }, &mut w);
        assert_eq!(b.rate, rate_of(20, 40, HIGH_GAIN));
    }

    fn rate_of(delivered: u64, interval: u64, gain: u64) -> u64 {
        rate(bandwidth(&sample(delivered, interval, 0)), gain, MSS)
    }

    /// 500 is above 1.25 · 390; then 1.25 · 500 is not reached in three rounds.
    #[test]
    fn the_pipe_is_full_after_three_rounds_without_growth() {
        let (mut b, mut w) = (bbr(), window(10));
        let mut full = vec![];
        for (round, bw) in [100, 200, 390, 500, 520, 540, 550].into_iter().enumerate() {
            let total = 1000 * (round as u64 + 1);
            let rate = Some(DeliveryRate { prior: total - 1000, ..sample(bw, 40, 0) });
            let s = Steered { rate, ..Steered::of(ms(40 * (1 + round as u64)), total, 900) };
            steer(&mut b, &s, &mut w);
            full.push(b.full);
        }
        assert_eq!(full, [false, false, false, false, false, false, true]);
        assert_eq!(b.mode, Mode::Drain);
        assert_eq!((b.rate, b.gains()), (rate_of(550, 40, DRAIN_GAIN), (DRAIN_GAIN, HIGH_GAIN)));
    }

    /// A round in which the application limited sending says nothing of the pipe.
    #[test]
    fn limited_rounds_do_not_fill_the_pipe() {
        let mut b = Bbr { round_start: true, ..bbr() };
        b.bandwidth.add(0, 100, BW_ROUNDS);
        b.fills(false);
        (0..9).for_each(|_| b.fills(true));
        assert_eq!((b.full_bandwidth, b.full_rounds), (100, 0));
    }

    /// The maximum of 10 is of round 0. In round 5, 8 counts unless the application limited it, and
    /// 12 always. In round 12 that is the best there is.
    #[test]
    fn limited_samples_only_raise_the_maximum() {
        for (delivered, app_limited, left) in [(8, true, 0), (8, false, 8), (12, true, 12)] {
            let mut b = Bbr { rounds: 4, ..cruising(10, 2) };
            let limited = DeliveryRate { app_limited, ..sample(delivered, 10, 0) };
            b.on_sample(&Steered::of(ms(10), 20, 40), &limited, 86, &mut || 0.0);
            assert_eq!(b.bandwidth.get(), bandwidth(&sample(delivered.max(10), 10, 0)));
            b.bandwidth.add(12, 0, BW_ROUNDS);
            let left = bandwidth(&sample(left, 10, 0));
            assert_eq!(b.bandwidth.get(), left, "{delivered} {app_limited}");
        }
    }

    /// Phases of 40 ms; that of 5/4 also waits for 56 under way, that of 3/4 ends at 46.
    #[test]
    fn gains_go_round() {
        let over = |phase, in_flight, after: u64, lost| {
            let mut b = cruising(10, phase);
            let s = Steered { lost, ..Steered::of(ms(after), 1, in_flight) };
            b.delivered_at = s.now;
            b.cycles(&Steered { prior_in_flight: in_flight, ..s });
            b.phase != phase
        };
        // inflight(5/4) = 50 + 6 + 2 and two to be sent at once count as under way.
        let ends = [(55, 41, 0), (56, 41, 0), (56, 40, 0), (10, 41, 1)];
        assert_eq!(ends.map(|(n, t, lost)| over(0, n, t, lost)), [false, true, false, true]);
        assert_eq!(
            [(47, 1), (46, 1), (47, 41)].map(|(n, t)| over(1, n, t, 0)),
            [false, true, true]
        );
        assert_eq!([(10, 40), (10, 41)].map(|(n, t)| over(2, n, t, 0)), [false, true]);
    }

    /// What has left the queue by the time the next segment leaves is not under way: 5 ms at a
    /// segment per ms.
    #[test]
    fn in_flight_is_that_of_the_next_departure() {
        let b = cruising(10, 2);
        let s = Steered { departs: ms(105), ..Steered::of(ms(100), 1, 50) };
        assert_eq!(b.in_network(&s, 50), 46); // 16777 · 5000/2^24 = 4.99
    }

    /// PROBE_BW starts in any phase but that of 3/4.
    #[test]
    fn the_first_phase_is_random() {
        let mut b = bbr();
        let phases: Vec<usize> = (0..7)
            .map(|n| {
                b.probe_bw(&mut || (f64::from(n) + 0.5) / 7.0);
                b.phase
            })
            .collect();
        assert_eq!(phases, [0, 7, 6, 5, 4, 3, 2]);
    }

    /// The minimum is of 0 s. After 10 s the window is four; once no more are under way, 200 ms and
    /// a round pass; then it is as before.
    #[test]
    fn the_queue_empties_every_ten_seconds() {
        let (mut b, mut w) = (cruising(10, 2), window(86));
        let rtt = Some(Duration::from_millis(40));
        let at = |now, total, in_flight| Steered { rtt, ..Steered::of(ms(now), total, in_flight) };
        assert!(!steer(&mut b, &at(10_000, 1000, 85), &mut w));
        assert_eq!((b.mode, w.cwnd), (Mode::ProbeBw, 86.0));
        assert!(steer(&mut b, &at(10_001, 1001, 85), &mut w), "rates say nothing now");
        assert_eq!((b.mode, w.cwnd, b.min_rtt), (Mode::ProbeRtt, 4.0, Some(40_000)));
        steer(&mut b, &at(10_080, 1082, 4), &mut w);
        assert_eq!((b.probe_rtt_until, b.next_round), (Some(ms(10_280)), 1082));
        // A round has passed before 200 ms have.
        let round = |now, total, prior| {
            let limited = DeliveryRate { app_limited: true, ..sample(4, 40, prior) };
            Steered { rate: Some(limited), ..at(now, total, 3) }
        };
        steer(&mut b, &round(10_120, 1083, 1082), &mut w);
        assert_eq!((b.probe_rtt_round, w.cwnd), (true, 4.0));
        steer(&mut b, &round(10_280, 1099, 1095), &mut w);
        assert_eq!(w.cwnd, 4.0);
        steer(&mut b, &round(10_281, 1100, 1096), &mut w);
        // What it was, and one more for this ACK.
        assert_eq!((b.mode, w.cwnd, b.min_rtt_at), (Mode::ProbeBw, 87.0, ms(10_281)));
    }

    /// A smaller round trip counts at once, an equal one does not renew it, and a delayed ACK never
    /// replaces one that is too old.
    #[test]
    fn what_renews_the_minimum() {
        for (now, rtt, delayed, want) in [
            (5_000, 39, true, (39_000, 5_000)),
            (5_000, 40, false, (40_000, 0)),
            (10_001, 60, true, (40_000, 0)),
            (10_001, 60, false, (60_000, 10_001)),
        ] {
            let (mut b, mut w) = (cruising(10, 2), window(86));
            let rtt = Some(Duration::from_millis(rtt));
            steer(&mut b, &Steered { rtt, delayed, ..Steered::of(ms(now), 1000, 85) }, &mut w);
            assert_eq!((b.min_rtt, b.min_rtt_at), (Some(want.0), ms(want.1)), "{now} {rtt:?}");
        }
    }

    /// The first ACK of a recovery finds 80 under way of 86, and the window is what is there; so it
    /// is for a round; after that it goes on from 86.
    #[test]
    fn a_recovery_conserves_for_a_round() {
        let (mut b, mut w) = (cruising(10, 2), window(86));
        b.on_state(CaState::Disorder, CaState::Recovery, &mut w);
        let s = Steered { state: CaState::Recovery, ..Steered::of(ms(100), 1000, 80) };
        steer(&mut b, &Steered { lost: 3, ..s }, &mut w);
        assert_eq!((w.cwnd, b.prior_cwnd, b.conserves), (81.0, 86, true));
        steer(&mut b, &Steered { lost: 2, in_flight: 78, ..s }, &mut w);
        assert_eq!(w.cwnd, 79.0);
        let rate = Some(sample(40, 40, 1000));
        steer(&mut b, &Steered { rate, delivered_total: 1040, ..s }, &mut w);
        assert_eq!((w.cwnd, b.conserves), (80.0, false));
        steer(&mut b, &Steered::of(ms(140), 1041, 80), &mut w);
        assert_eq!(w.cwnd, 87.0);
    }

    /// A timeout leaves one segment; the first ACK after it finds the window as it was.
    #[test]
    fn a_timeout_is_forgotten_when_it_is_over() {
        let (mut b, mut w) = (cruising(10, 2), window(86));
        b.on_state(CaState::Open, CaState::Loss, &mut w);
        w.cwnd = 1.0;
        let s = Steered { state: CaState::Loss, ..Steered::of(ms(500), 1000, 0) };
        steer(&mut b, &s, &mut w);
        assert_eq!((w.cwnd, b.full_bandwidth, b.policer.sampling), (4.0, 0, true));
        steer(&mut b, &Steered::of(ms(540), 1001, 3), &mut w);
        assert_eq!(w.cwnd, 86.0);
    }

    /// ACKs of 20 segments every 20 ms at a segment per ms: the first brings twenty where none was
    /// expected, and the others 20 where 19.99 were.
    #[test]
    fn aggregates_are_allowed_for() {
        let mut b = cruising(10, 2);
        for n in 1..=3 {
            b.delivered_at = ms(20 * n);
            b.aggregate(20, 86);
        }
        assert_eq!((b.extra[0], b.aggregates()), (21, 21));
        // It is the most of five to ten rounds, and no more than 100 ms bring.
        b.extra[0] = 500;
        assert_eq!(b.aggregates(), 99);
        b.round_start = true;
        for n in 10..20 {
            b.delivered_at = ms(20 * n);
            b.aggregate(1, 86);
        }
        assert_eq!(b.extra, [1, 1]);
    }

    /// Two intervals of four rounds at a segment per ms, each with a fifth lost: 48 rounds at that.
    #[test]
    fn a_policer_is_believed() {
        let mut b = Bbr { round_start: true, ..cruising(30, 2) };
        assert!(!b.police((0, 0), true, false), "the first loss starts an interval");
        let used = (1..=10).find(|n| {
            b.delivered_at = ms(40 * n);
            b.police((40 * n, 8 * n), true, false);
            b.policer.used
        });
        assert_eq!(used, Some(7));
        let bw = b.policer.bandwidth;
        assert!((16_000..=17_500).contains(&bw), "{bw}");
        assert_eq!((b.bw(), b.gains().0), (bw, UNIT));
        let over = (0..60).position(|_| b.police((900, 80), false, false));
        assert_eq!((over, b.policer.used), (Some(47), false));
        // With less than a fifth lost there is none.
        let mut b = Bbr { round_start: true, ..cruising(30, 2) };
        for n in 0..=40 {
            b.delivered_at = ms(40 * n);
            b.police((40 * n, 7 * n), true, false);
        }
        assert!(!b.policer.used);
    }

    /// After a pause it sends at the bandwidth, and does not measure an empty queue again.
    #[test]
    fn a_pause_needs_no_probe() {
        let (mut b, mut w) = (cruising(10, 0), window(86));
        b.resumes(ms(20_000), &mut w, &mut || 0.0);
        assert_eq!(b.rate, 1_433_501);
        let rtt = Some(Duration::from_millis(45));
        steer(&mut b, &Steered { rtt, ..Steered::of(ms(20_045), 1000, 3) }, &mut w);
        assert_eq!((b.mode, b.min_rtt), (Mode::ProbeBw, Some(45_000)));
    }
}
