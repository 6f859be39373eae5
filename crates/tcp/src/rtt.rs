//! Round-trip estimation and the retransmission timeout: RFC 6298, or the integer arithmetic of
//! 4.4BSD and ns-2.

use penstock_units::{Duration, Time};

penstock_units::words! {
    /// How round trips are measured.
    pub enum RttClock {
        /// Exactly.
        Exact = "exact",
        /// In whole ticks with integer arithmetic.
        Ticks = "ticks",
    }
}

penstock_units::params! {
    /// The clock and the bounds of the retransmission timer.
    pub struct RttParams: Default {
        /// Lower bound of the retransmission timeout, before back-off.
        pub min_rto: Duration { default: "1 s", ns2: "200 ms", source: "RFC 6298 (2.4)" },
        /// Upper bound of the retransmission timeout.
        pub max_rto: Duration { default: "60 s", source: "RFC 6298 (2.5)" },
        /// Timeout before the first round-trip sample.
        pub initial_rto: Duration { default: "1 s", ns2: "3 s", source: "RFC 6298 (2.1)" },
        /// Granularity of the clock that measures round trips; its phase is random.
        pub tick: Duration {
            default: "1 ms",
            ns2: "10 ms",
            source: "RFC 6298 (2): clock granularity G",
        },
        /// Whether round trips are measured exactly, or in whole ticks with integer arithmetic.
        pub rtt_clock: RttClock {
            default: "exact",
            ns2: "ticks",
            source: "RFC 6298; ns-2 and 4.4BSD count ticks in integers",
        },
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
    Exact { srtt: Option<f64>, rttvar: f64 },
    /// Ticks: srtt scaled by 8, rttvar by 4. Zero srtt means that there is none.
    Ticks { srtt8: i64, rttvar4: i64, phase: Duration },
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
        }
    }

    /// Returns the smoothed round trip in seconds, or where there is none the last sample, or 0.
    pub(crate) fn smoothed(&self, p: &RttParams) -> f64 {
        self.srtt(p).unwrap_or_else(|| self.last().map_or(0.0, Duration::as_secs_f64))
    }

    /// Takes a sample: a segment sent at `sent` was acknowledged at `now`. The caller leaves out
    /// retransmissions (Karn's rule).
    pub fn sample(&mut self, p: &RttParams, sent: Time, now: Time) {
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
                        *rttvar = 0.75 * *rttvar + 0.25 * (s - r).abs();
                        0.875 * s + 0.125 * r
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
        }
        self.bound(p);
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
