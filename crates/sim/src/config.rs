//! What a run is made of: the fully resolved scenario, one value for everything. The scenario crate
//! makes it from a file; a test or a program may make it by hand.

use crate::user::AqmConfig;
use penstock_aqm::Context;
use penstock_tcp::TcpParams;
use penstock_units::param::{Dist, Loss, Values};
use penstock_units::{Bytes, Duration, QueueLen, Rate, Time};
use std::sync::Arc;

/// One run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The root of every random stream.
    pub seed: u64,
    /// When the run ends.
    pub duration: Duration,
    /// Start of the measured window.
    pub measure_from: Time,
    /// End of the measured window (excluded).
    pub measure_to: Time,
    /// Links between routers, each with a queue and a discipline. The order is free.
    pub links: Vec<LinkConfig>,
    /// The link that the run's metrics describe (the bottleneck, forward).
    pub bottleneck: usize,
    /// Whether every link is measured, for [`crate::RunResult::links`]; else the bottleneck alone.
    pub measure_links: bool,
    /// When a packet arrives at the very instant of a departure, what was scheduled first goes
    /// first, as in ns-2; else the departure does.
    pub ties_by_scheduling: bool,
    /// Hosts, each with its own full-duplex access link to its router.
    pub hosts: Vec<HostConfig>,
    /// Sequences of links (indices into `links`) from a source's router to a sink's router.
    pub routes: Vec<Vec<u32>>,
    /// The number of traffic groups (entries of `[[traffic]]`).
    pub groups: usize,
    /// All flows, in the order of the groups.
    pub flows: Vec<FlowConfig>,
    /// What to write down besides the metrics.
    pub record: Record,
}

/// A link between two routers and the queue in front of it.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Its name in series, traces and random streams: `"bottleneck"`, `"bottleneck.reverse"`,
    /// `"R0-R1"`.
    pub name: String,
    /// The link the other way, an index into [`Config::links`]; a capture takes both.
    pub opposite: Option<u32>,
    /// Rate at the start of the run; with a trace what the discipline may believe.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// What may wait.
    pub buffer: QueueLen,
    /// Whether the packet in transmission counts against `buffer`.
    pub count_in_service: bool,
    /// The discipline.
    pub aqm: AqmConfig,
    /// Its checked values.
    pub aqm_values: Arc<Values>,
    /// What the discipline may know of the link.
    pub aqm_context: Context,
    /// What the wire loses, after the queue.
    pub loss: Loss,
    /// How the rate changes.
    pub schedule: Schedule,
}

/// A link's rate over time.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// Steps, ascending in time; `None` is a link that is down. Without steps the rate never
    /// changes.
    Steps(Vec<(Time, Option<Rate>)>),
    /// Opportunities to send, instead of a rate.
    Trace(Arc<Trace>),
}

/// A mahimahi trace (Netravali et al. 2015): at each of these instants up to [`Trace::OPPORTUNITY`]
/// bytes leave, at once. They may be several small packets or part of a large one; what finds
/// nothing to send is lost. After the last instant it begins again.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace(Vec<Duration>);

impl Trace {
    /// Bytes that one opportunity takes: an MTU. (mahimahi itself counts 1504, with the four bytes
    /// that its TUN device prepends to each packet.)
    pub const OPPORTUNITY: u32 = 1500;

    /// From instants in ascending order, the last above zero; `None` if they are not so.
    pub fn new(at: Vec<Duration>) -> Option<Self> {
        let ascending = at.windows(2).all(|w| w[0] <= w[1]);
        (ascending && at.last().is_some_and(|last| *last > Duration::ZERO)).then_some(Trace(at))
    }
    /// The opportunities of one round.
    pub fn instants(&self) -> &[Duration] {
        &self.0
    }
    /// The length of one round.
    pub fn period(&self) -> Duration {
        *self.0.last().expect("checked when it was made")
    }
    /// Opportunities before `t`.
    pub fn before(&self, t: Time) -> u64 {
        let period = self.period().as_ticks();
        // Rounds that ended before `t`; the next begins where the last one's last opportunity is.
        let rounds = t.as_ticks().saturating_sub(1) / period;
        let rest = t.as_ticks() - rounds * period;
        rounds * self.0.len() as u64 + self.0.partition_point(|at| at.as_ticks() < rest) as u64
    }
    /// Bits per second over one round, at least 1.
    pub fn mean_rate(&self) -> Rate {
        let bits = self.0.len() as f64 * f64::from(Trace::OPPORTUNITY) * 8.0;
        let bps = (bits / self.period().as_secs_f64()).round().max(1.0);
        Rate::from_bps(bps as u64).expect("at least 1")
    }
}

impl LinkConfig {
    /// Mean rate from `from` to `to`, bits per second.
    pub fn mean_rate(&self, from: Time, to: Time) -> f64 {
        let seconds = to.since(from).as_secs_f64();
        match &self.schedule {
            Schedule::Trace(trace) => {
                let n = trace.before(to) - trace.before(from);
                n as f64 * f64::from(Trace::OPPORTUNITY) * 8.0 / seconds
            }
            Schedule::Steps(steps) => {
                let mut bits = 0.0;
                let start = std::iter::once((Time::ZERO, Some(self.rate)));
                let mut steps = start.chain(steps.iter().copied()).peekable();
                while let Some((at, rate)) = steps.next() {
                    let until = steps.peek().map_or(to, |step| step.0).min(to);
                    bits += until.since(at.max(from)).as_secs_f64()
                        * rate.map_or(0.0, |r| r.as_bps() as f64);
                }
                bits / seconds
            }
        }
    }
}

/// A host's access link, the same in both directions. Each direction is a FIFO.
#[derive(Clone, Copy, Debug)]
pub struct HostConfig {
    /// `None`: the host is the router itself, there is no access link.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Duration,
    /// Packets that may wait in each direction; `None`: any number.
    pub buffer: Option<u32>,
}

/// One flow (for web: one session).
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Its entry of `[[traffic]]`.
    pub group: u32,
    /// Its number within the group.
    pub index: u32,
    /// The host that sends data.
    pub src: u32,
    /// The host that receives them.
    pub dst: u32,
    /// Route of the data, an index into `Config::routes`.
    pub forward: u16,
    /// Route of the ACKs.
    pub backward: u16,
    /// Whether `goodput_bps` and `jain` count this flow (forward FTP).
    pub counts: bool,
    /// Priority class (DSCP) of its data.
    pub class: u8,
    /// What it sends.
    pub app: App,
}

/// What a flow sends.
#[derive(Clone, Debug)]
pub enum App {
    /// A long transfer.
    Ftp {
        /// The transport.
        tcp: Arc<TcpParams>,
        /// When it starts.
        start: Time,
        /// When it stops sending anything, retransmissions included.
        stop: Option<Time>,
        /// How much it sends; `None`: without end.
        bytes: Option<u64>,
    },
    /// Sessions of pages.
    Web {
        /// The transport; each object is a connection of its own.
        tcp: Arc<TcpParams>,
        /// When the first page is fetched.
        start: Time,
        /// No new object after this.
        stop: Option<Time>,
        /// Object size in bytes.
        object: Dist,
        /// Objects of one page, fetched one after the other.
        objects_per_page: u32,
        /// Seconds from the end of a page to the start of the next.
        think: Dist,
        /// Seconds between two objects of one page.
        inter_object: Dist,
    },
    /// Unresponsive datagrams.
    Udp {
        /// Mean rate while on, counted on the wire.
        rate: Rate,
        /// Size of a packet on the wire.
        packet: Bytes,
        /// When they leave.
        pattern: UdpPattern,
        /// Each gap is multiplied by `1 + U(−jitter, jitter)`; in [0, 1].
        jitter: f64,
        /// When it starts.
        start: Time,
        /// When it stops.
        stop: Option<Time>,
    },
    /// Datagrams that were written down.
    Replay {
        /// In ascending order of time.
        packets: Arc<[Datagram]>,
        /// When it starts.
        start: Time,
        /// When it stops.
        stop: Option<Time>,
    },
}

/// A datagram to replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// When it leaves, counted from the flow's start.
    pub at: Duration,
    /// Its size on the wire.
    pub bytes: u32,
}

/// The rhythm of a datagram source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UdpPattern {
    /// Even gaps.
    Cbr,
    /// Exponential gaps.
    Poisson,
    /// Even gaps during on-periods, silence during off-periods; both in seconds.
    OnOff {
        /// Length of an on-period.
        on: Dist,
        /// Length of an off-period.
        off: Dist,
    },
}

/// What a run writes down besides its metrics. Off, it costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Sampling interval of the queue and flow series.
    pub series: Option<Duration>,
    /// Every arrival, drop, mark and departure at the bottleneck as the `events` series.
    pub events: bool,
    /// Capture packets here as pcap.
    pub pcap: Option<Tap>,
}

/// Where packets are captured: at a link and its opposite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tap {
    /// The link, an index into [`Config::links`].
    pub link: u32,
    /// Behind the queue, when a packet's transmission starts; else in front of it, when a packet
    /// arrives.
    pub out: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 2, 2, 5 ms, again and again: 6, 7, 7, 10, 11 …
    #[test]
    fn opportunities_are_counted_over_rounds() {
        let at = [1, 2, 2, 5].map(Duration::from_millis);
        let trace = Trace::new(at.to_vec()).unwrap();
        let micro = |us: u64| Time::from_nanos(us * 1000);
        for (us, n) in [
            (0, 0),
            (1000, 0),
            (1001, 1),
            (2001, 3),
            (5000, 3),
            (5001, 4),
            (6000, 4),
            (7001, 7),
            (50_001, 40),
        ] {
            assert_eq!(trace.before(micro(us)), n, "before {us} us");
        }
        // 4 · 12000 bits in 5 ms.
        assert_eq!(trace.mean_rate().as_bps(), 9_600_000);
        // An opportunity at zero falls together with the last one of the round before.
        let zero = Trace::new(vec![Duration::ZERO, Duration::from_millis(10)]).unwrap();
        assert_eq!([1, 10_000, 10_001, 20_001].map(|us| zero.before(micro(us))), [1, 1, 3, 5]);
        assert_eq!(Trace::new(vec![]), None);
        assert_eq!(Trace::new(vec![Duration::ZERO]), None);
        assert_eq!(Trace::new(vec![at[3], at[0]]), None);
    }
}
