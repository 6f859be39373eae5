//! Round-trip estimation and the retransmission timeout: RFC 6298, the integer arithmetic of 4.4BSD
//! and ns-2, or that of Linux, whose lower bound is one of the deviation and not of the timeout.

use penstock_units::param::int;
use penstock_units::{Duration, Time};

penstock_units::words! {
    /// How round trips are measured.
    pub enum RttClock {
        /// Exactly.
        Exact = "exact",
        /// In whole ticks with integer arithmetic.
        Ticks = "ticks",
        /// In microseconds, as Linux does.
        Linux = "linux",
    }
}

penstock_units::params! {
    /// The clock and the bounds of the retransmission timer.
    pub struct RttParams: Default {
        /// Lower bound of the retransmission timeout, before back-off; with the clock linux that of
        /// the deviation in it.
        pub min_rto: Duration {
            default: "1 s",
            ns2: "200 ms",
            linux: "200 ms",
            quic: "0 s",
            source: "RFC 6298 (2.4); Linux: TCP_RTO_MIN; RFC 9002 has none",
        },
        /// Upper bound of the retransmission timeout.
        pub max_rto: Duration {
            default: "60 s",
            linux: "120 s",
            source: "RFC 6298 (2.5); Linux: TCP_RTO_MAX",
        },
        /// Timeout before the first round-trip sample.
        pub initial_rto: Duration { default: "1 s", ns2: "3 s", source: "RFC 6298 (2.1)" },
        /// Granularity of the host's clock, by which round trips are measured (its phase is random)
        /// and timestamps are made; with `rtt_clock` linux these are in milliseconds, and it is the
        /// jiffy of delayed ACKs and of CUBIC.
        pub tick: Duration {
            default: "1 ms",
            ns2: "10 ms",
            source: "RFC 6298 (2): clock granularity G",
        },
        /// Whether round trips are measured exactly, or with integer arithmetic: in whole ticks, or
        /// in microseconds as Linux does, where the timeout is the smoothed round trip and at least
        /// `min_rto`.
        pub rtt_clock: RttClock {
            default: "exact",
            ns2: "ticks",
            linux: "linux",
            source: "RFC 6298; ns-2 and 4.4BSD count ticks in integers; Linux: tcp_rtt_estimator",
        },
        /// So many SYNs are sent again after `initial_rto` each, before that doubles.
        pub linear_syns: u32 {
            ty: int(0, 255),
            default: 0,
            linux: 4,
            quiet: true,
            source: "RFC 6298 (5.5): none; Linux: tcp_syn_linear_timeouts",
        },
    }
}

impl RttParams {
    /// The unit of timestamps (RFC 7323): a tick; Linux's is a millisecond, whatever its tick.
    #[inline]
    pub fn stamp_unit(&self) -> Duration {
        match self.rtt_clock {
            RttClock::Linux => Duration::from_millis(1),
            RttClock::Exact | RttClock::Ticks => self.tick,
        }
    }
}

/// srtt, rttvar and the back-off.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    state: State,
    /// The timeout before bounds and back-off.
    rto: Duration,
    backoff: u32,
    /// The timeout in force.
    timeout: Duration,
    /// The last sample; [`NO_SAMPLE`] before the first.
    last: Duration,
}

const NO_SAMPLE: Duration = Duration::from_ticks(u64::MAX);

#[derive(Clone, Debug)]
enum State {
    /// Seconds.
    Exact {
        srtt: Option<f64>,
        rttvar: f64,
    },
    /// Ticks: srtt scaled by 8, rttvar by 4. Zero srtt means that there is none.
    Ticks {
        srtt8: i64,
        rttvar4: i64,
        phase: Duration,
    },
    Linux(Micros),
}

/// Linux's state, in microseconds: srtt scaled by 8, the deviations by 4.
#[derive(Clone, Copy, Debug, Default)]
struct Micros {
    /// Zero: there is no sample.
    srtt8: i64,
    /// The deviation of late, the largest of this round trip, and the one of the timeout.
    mdev4: i64,
    max4: i64,
    var4: i64,
    /// The round trip ends when a segment beyond this is acknowledged.
    end: i64,
}

impl Micros {
    /// `least4`: the deviation in the timeout is no smaller.
    fn sample(&mut self, micros: i64, least4: i64) {
        if self.srtt8 == 0 {
            let mdev4 = 2 * micros;
            let var4 = mdev4.max(least4);
            *self = Micros { srtt8: 8 * micros.max(1), mdev4, max4: var4, var4, end: -1 };
            return;
        }
        let error = micros - (self.srtt8 >> 3);
        self.srtt8 = (self.srtt8 + error).max(1);
        let mut more = error.abs() - (self.mdev4 >> 2);
        if error < 0 && more > 0 {
            more >>= 3; // a path that gets faster raises the deviation slowly
        }
        self.mdev4 += more;
        self.max4 = self.max4.max(self.mdev4);
        self.var4 = self.var4.max(self.max4);
    }

    /// Segment `acked` is acknowledged, and `max_sent` is the highest sent: once in a round trip
    /// the deviation falls towards the largest of that.
    fn acknowledged(&mut self, acked: i64, max_sent: i64, least4: i64) {
        if self.end == -1 {
            self.end = max_sent;
        } else if acked > self.end {
            if self.max4 < self.var4 {
                self.var4 -= (self.var4 - self.max4) >> 2;
            }
            self.end = max_sent;
            self.max4 = least4;
        }
    }
}

impl RttEstimator {
    /// Returns an estimator without samples. `phase` is where in its tick the host's clock stood at
    /// time zero.
    pub fn new(p: &RttParams, phase: Duration) -> Self {
        let mut made = RttEstimator {
            timeout: Duration::ZERO,
            state: match p.rtt_clock {
                RttClock::Ticks => State::Ticks { srtt8: 0, rttvar4: 0, phase },
                RttClock::Exact => State::Exact { srtt: None, rttvar: 0.0 },
                RttClock::Linux => State::Linux(Micros::default()),
            },
            rto: p.initial_rto,
            backoff: 1,
            last: NO_SAMPLE,
        };
        made.bound(p);
        made
    }

    /// Returns the last sample.
    pub fn last(&self) -> Option<Duration> {
        (self.last != NO_SAMPLE).then_some(self.last)
    }

    /// Returns the smoothed round-trip time in seconds; `None` before the first sample.
    pub fn srtt(&self, p: &RttParams) -> Option<f64> {
        match self.state {
            State::Exact { srtt, .. } => srtt,
            State::Ticks { srtt8, .. } => {
                (srtt8 > 0).then(|| srtt8 as f64 / 8.0 * p.tick.as_secs_f64())
            }
            State::Linux(m) => (m.srtt8 > 0).then_some(m.srtt8 as f64 / 8e6),
        }
    }

    /// Returns the smoothed round-trip time in whole nanoseconds.
    pub(crate) fn srtt_whole(&self, p: &RttParams) -> Option<Duration> {
        match self.state {
            // An eighth of a microsecond has 125 of them.
            State::Linux(m) => (m.srtt8 > 0).then(|| Duration::from_nanos(125 * m.srtt8 as u64)),
            _ => self.srtt(p).map(Duration::from_secs_f64),
        }
    }

    /// Returns the smoothed round trip in seconds, or where there is none the last sample, or 0.
    pub(crate) fn smoothed(&self, p: &RttParams) -> f64 {
        self.srtt(p).unwrap_or_else(|| self.last().map_or(0.0, Duration::as_secs_f64))
    }

    /// Takes a sample: a segment sent at `sent` was acknowledged at `now`. The caller leaves out
    /// retransmissions (Karn's rule).
    pub fn sample(&mut self, p: &RttParams, sent: Time, now: Time) {
        self.sample_of(p, sent, now, 1.0);
    }

    /// The same of a sample that is one of `of` in a round trip: measured exactly, all of them
    /// together weigh as one (RFC 7323, appendix G). 4.4BSD and Linux weigh each in full.
    pub fn sample_of(&mut self, p: &RttParams, sent: Time, now: Time, of: f64) {
        let r = now.since(sent);
        self.last = r;
        match &mut self.state {
            State::Exact { srtt, rttvar } => {
                // RFC 6298 (2.2), (2.3): alpha = 1/8, beta = 1/4.
                let r = r.as_secs_f64();
                let smooth = match *srtt {
                    None => {
                        *rttvar = r / 2.0;
                        r
                    }
                    Some(s) => {
                        let (alpha, beta) = (0.125 / of, 0.25 / of);
                        *rttvar = (1.0 - beta) * *rttvar + beta * (s - r).abs();
                        (1.0 - alpha) * s + alpha * r
                    }
                };
                *srtt = Some(smooth);
                let g = p.tick.as_secs_f64();
                self.rto = Duration::from_secs_f64(smooth + g.max(4.0 * *rttvar));
            }
            State::Ticks { srtt8, rttvar4, phase } => {
                // Whole ticks that began between the two instants, at least one.
                let tick = p.tick.as_nanos();
                let off = (sent.as_nanos() + phase.as_nanos()) % tick;
                let ticks = (((r.as_nanos() + off) / tick) as i64).max(1);
                if *srtt8 == 0 {
                    *srtt8 = ticks << 3;
                    *rttvar4 = ticks << 1;
                } else {
                    let mut delta = ticks - (*srtt8 >> 3);
                    *srtt8 = (*srtt8 + delta).max(1);
                    delta = delta.abs() - (*rttvar4 >> 2);
                    *rttvar4 = (*rttvar4 + delta).max(1);
                }
                // srtt + 4 rttvar in whole ticks: (8 srtt + 8 * 4 rttvar) >> 3.
                let rto = ((*rttvar4 << 3) + *srtt8) >> 3;
                self.rto = Duration::from_nanos(rto as u64 * tick);
            }
            State::Linux(m) => {
                m.sample(micros(r), micros(p.min_rto));
                self.rto = Duration::from_micros(((m.srtt8 >> 3) + m.var4) as u64);
            }
        }
        self.bound(p);
    }

    /// After a sample: `acked` is acknowledged, and `max_sent` is the highest segment sent.
    #[inline]
    pub fn acknowledged(&mut self, p: &RttParams, acked: i64, max_sent: i64) {
        if let State::Linux(m) = &mut self.state {
            m.acknowledged(acked, max_sent, micros(p.min_rto));
            self.rto = Duration::from_micros(((m.srtt8 >> 3) + m.var4) as u64);
            self.bound(p);
        }
    }

    /// Returns the timeout in force.
    #[inline]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Returns how often in a row the timeout has doubled.
    pub fn backoff(&self) -> u32 {
        self.backoff.ilog2()
    }

    /// Brings the timeout within its bounds.
    fn bound(&mut self, p: &RttParams) {
        let base = self.rto.max(p.min_rto).as_nanos();
        let backed = base.saturating_mul(u64::from(self.backoff)).min(p.max_rto.as_nanos());
        self.timeout = Duration::from_nanos(backed.max(2 * p.tick.as_nanos()));
    }

    /// The timer expired: back off (RFC 6298, 5.5).
    pub fn back_off(&mut self, p: &RttParams) {
        if self.backoff < 64 || self.timeout < p.max_rto {
            self.backoff = self.backoff.saturating_mul(2);
        }
        if self.backoff > 8 {
            // After so many back-offs the old srtt is no guide: the next sample starts afresh
            // (4.4BSD; RFC 6298, 5.7 allows it).
            match &mut self.state {
                State::Exact { srtt, .. } => *srtt = None,
                State::Ticks { srtt8, rttvar4, .. } => {
                    *rttvar4 += *srtt8 >> 3;
                    *srtt8 = 0;
                }
                State::Linux(_) => {} // keeps what it knows
            }
        }
        self.bound(p);
    }

    /// A valid sample came: the back-off ends.
    #[inline]
    pub fn restore(&mut self, p: &RttParams) {
        if self.backoff != 1 {
            self.backoff = 1;
            self.bound(p);
        }
    }
}

fn micros(d: Duration) -> i64 {
    (d.as_nanos() / 1000) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_units::Rng;

    /// Whole nanoseconds are those nearest to the seconds, under every clock, from microseconds to
    /// minutes.
    #[test]
    fn whole_nanoseconds_are_the_nearest() {
        let mut rng = Rng::stream(1, "srtt");
        for rtt_clock in [RttClock::Exact, RttClock::Ticks, RttClock::Linux] {
            let p = RttParams { rtt_clock, ..RttParams::default() };
            let mut rtt = RttEstimator::new(&p, Duration::ZERO);
            assert_eq!(rtt.srtt_whole(&p), None);
            for _ in 0..1000 {
                let micros = libm::exp(rng.unit() * 18.0) as u64;
                rtt.sample(&p, Time::ZERO, Time::ZERO + Duration::from_micros(micros));
                assert_eq!(rtt.srtt_whole(&p), rtt.srtt(&p).map(Duration::from_secs_f64));
            }
        }
    }
}
