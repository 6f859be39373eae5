//! While the router runs: asks the hosts' kernels about their connections, starts and stops
//! programs, takes samples and informs the caller.

use crate::diag::{Connection, Destroyed, Diag, TcpInfo};
use crate::error::EmulateError;
use crate::flows::Known;
use crate::holder::Holder;
use crate::hosts::DEVICE;
use crate::netns::Namespace;
use crate::programs::Programs;
use crate::report::{FlowFacts, KernelFlow};
use crate::router::Shared;
use crate::stream::{Sending, Sockets};
use crate::sys;
use crate::traffic::{Planned, TrafficPlan};
use penstock_queue::{Abort, Column, Table};
use penstock_sim::Config;
use penstock_tcp::Ecn;
use penstock_units::{Duration, Time};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::{Duration as Wall, Instant};

/// The interval at which the kernels are asked about their connections.
const ASK: Wall = Wall::from_millis(250);
/// The interval at which the caller may end the run.
const LOOK: Wall = Wall::from_millis(100);
/// The time to wait for the last `tcp_info` of all sockets.
const SETTLE: Wall = Wall::from_secs(1);

/// The watch asks and records while the router runs.
pub(crate) struct Watch<'a> {
    hosts: &'a [Namespace; 2],
    /// The host on the right of the bottleneck.
    right: usize,
    plan: &'a TrafficPlan,
    /// The sockets of flows with many connections.
    sockets: Sockets,
    diags: [Diag; 2],
    destroyed: [Destroyed; 2],
    zero_ns: u64,
    window: (Time, Time),
    interval: Option<Duration>,
    /// The latest `tcp_info` of every connection, by side and the socket's number.
    seen: HashMap<(usize, u64), Connection>,
    /// Connections that have ended. Their `tcp_info` is final.
    gone: HashSet<(usize, u64)>,
    /// Whether more sockets were destroyed than the kernel could report.
    overrun: bool,
    /// Timeouts of each flow at the window's ends.
    timeouts: [Option<Vec<Option<u32>>>; 2],
    /// Round-trip times of each flow at the window's end, seconds.
    srtt_s: Option<Vec<Option<f64>>>,
    cwnd: [Vec<f64>; 3],
    cwnd_flow: Vec<u64>,
    rtt: [Vec<f64>; 2],
    rtt_flow: Vec<u64>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(
        hosts: &'a [Namespace; 2],
        plan: &'a TrafficPlan,
        sockets: Sockets,
        config: &Config,
        right: usize,
    ) -> Result<Self, EmulateError> {
        let open = |host: &Namespace| {
            host.with(Diag::open).map_err(|e| EmulateError::system("opening sock_diag", e))
        };
        let hear = |host: &Namespace| {
            host.with(Destroyed::open)
                .map_err(|e| EmulateError::system("listening to sock_diag", e))
        };
        Ok(Watch {
            hosts,
            right,
            plan,
            sockets,
            diags: [open(&hosts[0])?, open(&hosts[1])?],
            destroyed: [hear(&hosts[0])?, hear(&hosts[1])?],
            zero_ns: u64::MAX,
            window: (config.measure_from, config.measure_to),
            interval: config.record.series,
            seen: HashMap::new(),
            gone: HashSet::new(),
            overrun: false,
            timeouts: [None, None],
            srtt_s: None,
            cwnd: Default::default(),
            cwnd_flow: vec![],
            rtt: Default::default(),
            rtt_flow: vec![],
        })
    }

    /// Says when the run's clock shows zero.
    pub(crate) fn begin(&mut self, zero_ns: u64) {
        self.zero_ns = zero_ns;
    }

    /// Watches until the router has ended. Returns whether the caller ended it.
    pub(crate) fn run(
        &mut self,
        shared: &Shared,
        programs: &mut Programs,
        abort: &Abort,
        holder: &mut Holder<'_>,
        alive: &mut dyn FnMut() -> bool,
        finished: impl Fn() -> bool,
    ) -> Result<bool, EmulateError> {
        let (mut looked, mut asked) = (Instant::now(), Instant::now());
        let mut sample = Time::ZERO;
        loop {
            let now_ns = sys::monotonic_ns();
            let now = Time::from_nanos(now_ns.saturating_sub(self.zero_ns));
            if finished() {
                return Ok(false);
            }
            let begun = now_ns >= self.zero_ns;
            let mut next = if begun { programs.at(now)? } else { Time::ZERO };
            for side in 0..2 {
                self.hear(side)?;
            }
            if abort.raised() {
                shared.stop.store(true, Ordering::Relaxed);
            }
            next = next.min(self.window_ends(now, begun)?);
            if let Some(interval) = self.interval {
                if begun && now >= sample {
                    self.ask()?;
                    self.sample(now);
                    // Where asking takes longer than the interval, samples are left out.
                    while sample <= now {
                        sample += interval.max(Duration::from_millis(10));
                    }
                }
                next = next.min(sample);
            } else if asked.elapsed() >= ASK {
                self.ask()?;
                asked = Instant::now();
            }
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                if !alive() {
                    shared.stop.store(true, Ordering::Relaxed);
                    return Ok(true);
                }
            }
            let until = Wall::from_nanos(next.since(now).as_nanos()).min(Wall::from_millis(20));
            let t_s = (now_ns as f64 - self.zero_ns as f64) / 1e9;
            if holder.hears(shared, t_s, until.max(Wall::from_micros(100)))? {
                // It ends now: the request has woken this thread.
                let now = sys::monotonic_ns().saturating_sub(self.zero_ns);
                shared.until_ns.fetch_min(now, Ordering::Relaxed);
            }
        }
    }

    /// Notes the flows' timeouts at both ends of the measured window. Returns when the next end is.
    fn window_ends(&mut self, now: Time, begun: bool) -> Result<Time, EmulateError> {
        let mut next = Time::NEVER;
        for (i, at) in [self.window.0, self.window.1].into_iter().enumerate() {
            if self.timeouts[i].is_none() {
                if now >= at && begun {
                    self.ask()?;
                    self.timeouts[i] = Some(self.flow_timeouts());
                    self.srtt_s = Some(self.flow_srtts());
                } else {
                    next = next.min(at);
                }
            }
        }
        Ok(next)
    }

    /// Records what both kernels report. Returns whether the last `tcp_info` of every socket that
    /// is gone has arrived.
    fn ask(&mut self) -> Result<bool, EmulateError> {
        let mut complete = true;
        for side in 0..2 {
            let failed = |e| EmulateError::system("asking for connections", e);
            let all = self.diags[side].connections().map_err(failed)?;
            let mut there = HashSet::new();
            for c in all.into_iter().filter(|c| !c.listens && c.info.is_some()) {
                there.insert(c.cookie);
                self.seen.insert((side, c.cookie), c);
            }
            self.hear(side)?;
            complete &= self.seen.keys().all(|(s, cookie)| {
                *s != side || there.contains(cookie) || self.gone.contains(&(side, *cookie))
            });
        }
        Ok(complete || self.overrun)
    }

    /// Records the last `tcp_info` of sockets of that side.
    fn hear(&mut self, side: usize) -> Result<(), EmulateError> {
        let mut last = vec![];
        if let Err(e) = self.destroyed[side].take(&mut last) {
            if e.raw_os_error() != Some(libc::ENOBUFS) {
                return Err(EmulateError::system("listening to sock_diag", e));
            }
            self.overrun = true;
        }
        for c in last.into_iter().filter(|c| !c.listens && c.info.is_some()) {
            let key = (side, c.cookie);
            self.gone.insert(key);
            let known = self.seen.entry(key).or_insert_with(|| c.clone());
            known.info = c.info;
        }
        Ok(())
    }

    /// Asks, after the router has stopped, until nothing changes any more. What it sent last may
    /// still be on its way up, and the last `tcp_info` of a socket comes a moment after its end.
    pub(crate) fn settle(&mut self) -> Result<(), EmulateError> {
        let begun = Instant::now();
        let mut before = None;
        loop {
            let complete = self.ask()?;
            let now: (u64, u64, usize) =
                self.seen.values().filter_map(|c| c.info).fold((0, 0, 0), |sum, i| {
                    (
                        sum.0 + u64::from(i.received_ce.unwrap_or(0)),
                        sum.1 + i.bytes_received,
                        sum.2 + 1,
                    )
                });
            if (complete && before == Some(now)) || begun.elapsed() > SETTLE {
                return Ok(());
            }
            before = Some(now);
            std::thread::sleep(Wall::from_millis(20));
        }
    }

    /// Returns the data connection of a flow at its sender: the one with the flow's port at both
    /// ends. If only its end was seen, it is the one with more bytes. Of a flow with many
    /// connections it is the latest that the kernel has reported.
    fn sender(&self, flow: usize) -> Option<(&Connection, TcpInfo)> {
        let Known { port, sender, every_connection, .. } = self.plan.flows[flow].known;
        if every_connection {
            return self.senders(flow).next_back();
        }
        let mine =
            self.seen.iter().filter(|((side, _), c)| *side == sender as usize && c.ports.1 == port);
        let mine = mine.filter_map(|(_, c)| Some((c, c.info?)));
        mine.max_by_key(|(c, info)| (c.ports.0 == port, info.bytes_acked, c.cookie))
    }

    /// Returns the connections of a flow with many, at its sender, the latest one last.
    fn senders(&self, flow: usize) -> impl DoubleEndedIterator<Item = (&Connection, TcpInfo)> + '_ {
        let side = self.plan.flows[flow].known.sender as usize;
        let cookies = self.sockets.of(flow, |all| all.iter().map(|s| s.cookie).collect::<Vec<_>>());
        let seen = move |cookie| self.seen.get(&(side, cookie));
        cookies.into_iter().filter_map(seen).filter_map(|c| Some((c, c.info?)))
    }

    /// Returns what the kernel uses where it is not what the scenario asks for. `mecn` is the
    /// congestion control of multi-level ECN's flows, if it is loaded.
    pub(crate) fn mismatch(&self, mecn: Option<&str>) -> Option<String> {
        self.plan.flows.iter().enumerate().find_map(|(i, f)| {
            let what = if f.known.every_connection {
                self.mismatch_of_many(i, mecn)?
            } else {
                // iperf3 chooses the congestion control when it has connected and sent its 37
                // bytes; the SYN counts as one.
                let (c, info) = self
                    .sender(i)
                    .filter(|(c, info)| c.ports.0 == f.known.port && info.bytes_acked > 38)?;
                differs(f, mecn, &c.congestion, info.ecn)?
            };
            Some(format!("flow {i}: {what}"))
        })
    }

    /// Returns the mismatch of a flow with many connections, of which each must have what was asked
    /// for.
    fn mismatch_of_many(&self, flow: usize, mecn: Option<&str>) -> Option<String> {
        let f = &self.plan.flows[flow];
        let side = f.known.sender as usize;
        self.sockets.of(flow, |all| {
            all.iter().find_map(|s| {
                let info = self.seen.get(&(side, s.cookie)).and_then(|c| c.info);
                // ECN is known once more than the SYN was acknowledged.
                let ecn = info.filter(|info| info.bytes_acked > 1).map(|info| info.ecn);
                differs(f, mecn, &s.congestion, ecn.unwrap_or(f.ecn != Ecn::Off))
            })
        })
    }

    fn flow_timeouts(&self) -> Vec<Option<u32>> {
        let of = |i: usize| {
            if self.plan.flows[i].known.every_connection {
                return self.senders(i).map(|(_, info)| info.timeouts).sum();
            }
            self.sender(i).map_or(Some(0), |(_, info)| info.timeouts)
        };
        (0..self.plan.flows.len()).map(of).collect()
    }

    fn flow_srtts(&self) -> Vec<Option<f64>> {
        let of = |i| self.sender(i).and_then(|(_, info)| seconds(info.rtt_us));
        (0..self.plan.flows.len()).map(of).collect()
    }

    fn sample(&mut self, now: Time) {
        for i in 0..self.plan.flows.len() {
            // A datagram flow's connection is iperf3's own talk.
            let sender = self.sender(i).filter(|_| self.plan.flows[i].congestion.is_some());
            let Some((_, TcpInfo { cwnd, ssthresh, rtt_us, .. })) = sender else { continue };
            let [t, w, s] = &mut self.cwnd;
            t.push(now.as_secs_f64());
            w.push(f64::from(cwnd));
            s.push(ssthresh.map_or(f64::NAN, f64::from));
            self.cwnd_flow.push(i as u64);
            let Some(rtt_s) = seconds(rtt_us) else { continue };
            let [t, r] = &mut self.rtt;
            t.push(now.as_secs_f64());
            r.push(rtt_s);
            self.rtt_flow.push(i as u64);
        }
    }

    /// Returns how many packets a host's TUN device dropped because the router had not read earlier
    /// ones.
    pub(crate) fn device_drops(&self) -> u64 {
        let of = |host: &Namespace| {
            let text = host
                .with(|| std::fs::read_to_string("/proc/thread-self/net/dev"))
                .unwrap_or_default();
            let line = text
                .lines()
                .find_map(|l| l.trim().strip_prefix(&format!("{DEVICE}:")).map(str::to_owned));
            // Eight columns of reception, then bytes, packets, errors, drops of transmission.
            line.and_then(|l| l.split_whitespace().nth(11).and_then(|n| n.parse::<u64>().ok()))
                .unwrap_or(0)
        };
        self.hosts.iter().map(of).sum()
    }

    fn facts(&self) -> Vec<FlowFacts> {
        let [from, to] = &self.timeouts;
        // A window that ends with the run ends with what the kernels said last.
        let noted = self.srtt_s.clone().filter(|_| to.is_some());
        let srtt_s = noted.unwrap_or_else(|| self.flow_srtts());
        (0..self.plan.flows.len())
            .map(|i| {
                let of = |at: &Option<Vec<Option<u32>>>| at.as_ref().and_then(|all| all[i]);
                let timeouts = of(to).zip(of(from)).map(|(b, a)| b.saturating_sub(a));
                FlowFacts { timeouts, srtt_s: srtt_s[i] }
            })
            .collect()
    }

    fn kernel(&self) -> Vec<KernelFlow> {
        (0..self.plan.flows.len())
            .map(|i| {
                let sender = self.sender(i).filter(|_| self.plan.flows[i].congestion.is_some());
                let said = sender.map(|(c, _)| c.congestion.clone());
                let opened = |all: &[Sending]| Some(all.last()?.congestion.clone());
                KernelFlow {
                    congestion: if self.plan.flows[i].known.every_connection {
                        self.sockets.of(i, opened)
                    } else {
                        said.filter(|name| !name.is_empty())
                    },
                    ecn: sender.map(|(_, info)| info.ecn),
                    mss: sender.map(|(_, info)| info.mss),
                    min_rtt_s: sender.and_then(|(_, info)| seconds(info.min_rtt_us)),
                }
            })
            .collect()
    }

    /// Returns the congestion controls of the connections that own programs sent over, that with
    /// most payload acknowledged first.
    fn congestion(&self) -> Vec<String> {
        let mut acked = BTreeMap::<&str, u64>::new();
        for (c, info) in self.seen.values().filter_map(|c| Some((c, c.info?))) {
            // The SYN counts as one.
            if self.plan.flows.is_empty() && !c.congestion.is_empty() && info.bytes_acked > 1 {
                *acked.entry(&c.congestion).or_default() += info.bytes_acked;
            }
        }
        let mut names: Vec<&str> = acked.keys().copied().collect();
        names.sort_by_key(|name| std::cmp::Reverse(acked[name]));
        names.into_iter().map(str::to_owned).collect()
    }

    pub(crate) fn said(self) -> Said {
        Said {
            facts: self.facts(),
            congestion: self.congestion(),
            kernel: self.kernel(),
            received_ce: self.received(|i| i.received_ce),
            received_ect1_bytes: self.received(|i| i.received_ect1_bytes),
            series: self.tables(),
        }
    }

    fn tables(&self) -> Vec<Table> {
        if self.interval.is_none() {
            return vec![];
        }
        let column = |name: &str, c| (name.to_owned(), c);
        let [t, cwnd, ssthresh] = self.cwnd.clone();
        let [rt, rtt] = self.rtt.clone();
        let cwnd = vec![
            column("t_s", Column::F64(t)),
            column("flow", Column::U64(self.cwnd_flow.clone())),
            column("cwnd_segments", Column::F64(cwnd)),
            column("ssthresh_segments", Column::F64(ssthresh)),
        ];
        let rtt = vec![
            column("t_s", Column::F64(rt)),
            column("flow", Column::U64(self.rtt_flow.clone())),
            column("rtt_s", Column::F64(rtt)),
        ];
        vec![Table { name: "cwnd", columns: cwnd }, Table { name: "rtt", columns: rtt }]
    }

    /// Sums over all connections of the right side; `None` if the last `tcp_info` of one was lost.
    fn received(&self, of: impl Fn(&TcpInfo) -> Option<u32>) -> Option<u64> {
        let mine = self.seen.iter().filter(|((side, _), _)| *side == self.right);
        let sum = mine.filter_map(|(_, c)| c.info).map(|info| of(&info).map(u64::from)).sum();
        if self.overrun {
            None
        } else {
            sum
        }
    }
}

/// Returns a round-trip time in seconds.
fn seconds(rtt_us: Option<u32>) -> Option<f64> {
    rtt_us.map(|us| f64::from(us) / 1e6)
}

/// Returns what a flow asks for and does not have. Without the name of a congestion control, the
/// kernel did not report it.
fn differs(f: &Planned, mecn: Option<&str>, congestion: &str, ecn: bool) -> Option<String> {
    let own = mecn.filter(|_| f.ecn == Ecn::Mecn);
    let asked = own.or(f.congestion)?;
    if !congestion.is_empty() && congestion != asked {
        return Some(format!(
            "congestion control {asked} was asked for, the kernel uses {congestion}"
        ));
    }
    let say = |on| if on { "on" } else { "off" };
    let wanted = f.ecn != Ecn::Off;
    (ecn != wanted)
        .then(|| format!("ECN {} was asked for, the kernel has it {}", say(wanted), say(ecn)))
}

/// The reports of the hosts' kernels.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) facts: Vec<FlowFacts>,
    pub(crate) congestion: Vec<String>,
    pub(crate) kernel: Vec<KernelFlow>,
    pub(crate) received_ce: Option<u64>,
    pub(crate) received_ect1_bytes: Option<u64>,
    pub(crate) series: Vec<Table>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::side::Side;
    use crate::traffic::By;

    #[test]
    fn what_is_not_in_force_is_said() {
        let flow = |congestion, ecn| Planned {
            known: Known {
                port: 1,
                sender: Side::Left,
                udp: false,
                header: 0,
                bytes: None,
                every_connection: false,
            },
            start: Time::ZERO,
            stop: Time::ZERO,
            congestion,
            ecn,
            by: By::Iperf3 { sender: vec![], listener: vec![] },
        };
        let (reno, own) = (Some("reno"), Some("penstock_mecn"));
        for (f, mecn, congestion, ecn, says) in [
            (flow(reno, Ecn::Off), None, "reno", false, None),
            (flow(reno, Ecn::Off), None, "", false, None),
            (flow(reno, Ecn::Classic), own, "reno", true, None),
            (flow(reno, Ecn::Mecn), own, "penstock_mecn", true, None),
            (flow(reno, Ecn::Mecn), None, "reno", true, None),
            (flow(None, Ecn::Off), None, "bbr", true, None),
            (
                flow(reno, Ecn::Off),
                None,
                "bbr",
                false,
                Some("control reno was asked for, the kernel uses bbr"),
            ),
            (flow(reno, Ecn::Mecn), own, "reno", true, Some("control penstock_mecn was")),
            (
                flow(reno, Ecn::Classic),
                None,
                "reno",
                false,
                Some("ECN on was asked for, the kernel has it off"),
            ),
            (
                flow(reno, Ecn::Off),
                None,
                "reno",
                true,
                Some("ECN off was asked for, the kernel has it on"),
            ),
        ] {
            let found = differs(&f, mecn, congestion, ecn);
            assert_eq!(found.is_some(), says.is_some(), "{found:?}");
            assert!(found.unwrap_or_default().contains(says.unwrap_or("")), "{says:?}");
        }
    }
}
