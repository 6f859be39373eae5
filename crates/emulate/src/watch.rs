//! What the hosts' kernels say of their connections while the router runs, and what follows from the time: programs that start and
//! stop, samples, the caller's news.

use crate::diag::{Connection, Diag, TcpInfo};
use crate::error::EmulateError;
use crate::netns::Namespace;
use crate::programs::Programs;
use crate::report::{FlowFacts, KernelFlow};
use crate::router::Shared;
use crate::session::{Status, DEVICE};
use crate::sys;
use crate::traffic::TrafficPlan;
use penstock_sim::{Abort, Column, Config, Table};
use penstock_units::{Duration, Time};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::{Duration as Wall, Instant};

/// How often the kernels are asked about their connections.
const ASK: Wall = Wall::from_millis(250);
/// How often the caller is told.
const TELL: Wall = Wall::from_millis(100);

/// What is asked and noted while the router runs.
pub(crate) struct Watch<'a> {
    hosts: &'a [Namespace; 2],
    /// The host on the right of the bottleneck.
    right: usize,
    plan: &'a TrafficPlan,
    diags: [Diag; 2],
    zero_ns: u64,
    window: (Time, Time),
    interval: Option<Duration>,
    /// The latest of every connection, by side and ports.
    seen: HashMap<(usize, u16, u16), Connection>,
    /// Timeouts of each flow at the window's ends.
    timeouts: [Option<Vec<Option<u32>>>; 2],
    cwnd: [Vec<f64>; 3],
    cwnd_flow: Vec<u64>,
    rtt: [Vec<f64>; 2],
    rtt_flow: Vec<u64>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(
        hosts: &'a [Namespace; 2],
        plan: &'a TrafficPlan,
        config: &Config,
        zero_ns: u64,
        right: usize,
    ) -> Result<Self, EmulateError> {
        let open = |host: &Namespace| {
            host.with(Diag::open).map_err(|e| EmulateError::system("opening sock_diag", e))
        };
        Ok(Watch {
            hosts,
            right,
            plan,
            diags: [open(&hosts[0])?, open(&hosts[1])?],
            zero_ns,
            window: (config.measure_from, config.measure_to),
            interval: config.record.series,
            seen: HashMap::new(),
            timeouts: [None, None],
            cwnd: Default::default(),
            cwnd_flow: vec![],
            rtt: Default::default(),
            rtt_flow: vec![],
        })
    }

    /// Until the router has ended; whether the caller ended it.
    pub(crate) fn run(
        &mut self,
        shared: &Shared,
        programs: &mut Programs,
        endless: bool,
        abort: &Abort,
        tell: &mut dyn FnMut(Status) -> bool,
        finished: impl Fn() -> bool,
    ) -> Result<bool, EmulateError> {
        let (mut told, mut asked) = (Instant::now(), Instant::now());
        let mut sample = Time::ZERO;
        loop {
            let now_ns = sys::monotonic_ns();
            let now = Time::from_nanos(now_ns.saturating_sub(self.zero_ns));
            if finished() {
                return Ok(false);
            }
            let begun = now_ns >= self.zero_ns;
            let mut next = if begun { programs.at(now)? } else { Time::ZERO };
            if endless && programs.ended().is_some() {
                shared.until_ns.fetch_min(now.as_nanos(), Ordering::Relaxed);
            }
            if abort.raised() {
                shared.stop.store(true, Ordering::Relaxed);
            }
            for (i, at) in [self.window.0, self.window.1].into_iter().enumerate() {
                if self.timeouts[i].is_none() {
                    if now >= at && begun {
                        self.ask()?;
                        self.timeouts[i] = Some(self.flow_timeouts());
                    } else {
                        next = next.min(at);
                    }
                }
            }
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
            if told.elapsed() >= TELL {
                told = Instant::now();
                let count = |i: usize| shared.counts[i].load(Ordering::Relaxed);
                let status = Status {
                    t_s: (now_ns as f64 - self.zero_ns as f64) / 1e9,
                    queue_pkts: shared.waiting.load(Ordering::Relaxed),
                    received: count(0),
                    dropped: count(1),
                    marked: count(2),
                };
                if !tell(status) {
                    shared.stop.store(true, Ordering::Relaxed);
                    return Ok(true);
                }
            }
            let until = Wall::from_nanos(next.since(now).as_nanos()).min(Wall::from_millis(20));
            std::thread::sleep(until.max(Wall::from_micros(100)));
        }
    }

    /// Notes what both kernels say.
    pub(crate) fn ask(&mut self) -> Result<(), EmulateError> {
        for (side, diag) in self.diags.iter().enumerate() {
            let all = diag.connections().map_err(|e| EmulateError::system("asking for connections", e))?;
            for c in all.into_iter().filter(|c| !c.listens) {
                self.seen.insert((side, c.ports.0, c.ports.1), c);
            }
        }
        Ok(())
    }

    /// The data connection of a flow at its sender: of those to its port the one with more bytes.
    fn sender(&self, flow: usize) -> Option<&Connection> {
        let f = &self.plan.flows[flow];
        let side = f.known.sender as usize;
        let mine = self.seen.iter().filter(|((s, _, remote), _)| *s == side && *remote == f.known.port);
        mine.map(|(_, c)| c).max_by_key(|c| (c.info.bytes_acked, c.ports.0))
    }

    fn flow_timeouts(&self) -> Vec<Option<u32>> {
        (0..self.plan.flows.len()).map(|i| self.sender(i).map_or(Some(0), |c| c.info.timeouts)).collect()
    }

    fn sample(&mut self, now: Time) {
        for i in 0..self.plan.flows.len() {
            let Some(info) = self.sender(i).map(|c| c.info) else { continue };
            let TcpInfo { cwnd, ssthresh, rtt_us, .. } = info;
            let [t, w, s] = &mut self.cwnd;
            t.push(now.as_secs_f64());
            w.push(f64::from(cwnd));
            s.push(ssthresh.map_or(f64::NAN, f64::from));
            self.cwnd_flow.push(i as u64);
            let [t, r] = &mut self.rtt;
            t.push(now.as_secs_f64());
            r.push(f64::from(rtt_us) / 1e6);
            self.rtt_flow.push(i as u64);
        }
    }

    /// Packets that a TUN device of a host dropped because the router had not read those before.
    pub(crate) fn device_drops(&self) -> u64 {
        let of = |host: &Namespace| {
            let text = host.with(|| std::fs::read_to_string("/proc/thread-self/net/dev")).unwrap_or_default();
            let line =
                text.lines().find_map(|l| l.trim().strip_prefix(&format!("{DEVICE}:")).map(str::to_owned));
            // Eight columns of reception, then bytes, packets, errors, drops of transmission.
            line.and_then(|l| l.split_whitespace().nth(11).and_then(|n| n.parse::<u64>().ok())).unwrap_or(0)
        };
        self.hosts.iter().map(of).sum()
    }

    fn facts(&self) -> Vec<FlowFacts> {
        let [from, to] = &self.timeouts;
        (0..self.plan.flows.len())
            .map(|i| {
                let of = |at: &Option<Vec<Option<u32>>>| at.as_ref().and_then(|all| all[i]);
                let timeouts = of(to).zip(of(from)).map(|(b, a)| u64::from(b.saturating_sub(a)));
                let srtt_s = self.sender(i).map(|c| f64::from(c.info.rtt_us) / 1e6);
                FlowFacts { timeouts, srtt_s }
            })
            .collect()
    }

    fn kernel(&self) -> Vec<KernelFlow> {
        (0..self.plan.flows.len())
            .map(|i| {
                let sender = self.sender(i).filter(|_| self.plan.flows[i].congestion.is_some());
                KernelFlow {
                    congestion: sender.map(|c| c.congestion.clone()),
                    ecn: sender.map(|c| c.info.ecn),
                    mss: sender.map(|c| c.info.mss),
                    min_rtt_s: sender.map(|c| f64::from(c.info.min_rtt_us) / 1e6),
                }
            })
            .collect()
    }

    pub(crate) fn said(self) -> Said {
        Said {
            facts: self.facts(),
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

    /// Over all connections of the right side.
    fn received(&self, of: impl Fn(&TcpInfo) -> Option<u32>) -> Option<u64> {
        let mine = self.seen.iter().filter(|((side, ..), _)| *side == self.right);
        mine.map(|(_, c)| of(&c.info).map(u64::from)).sum()
    }
}

/// What the hosts' kernels said.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) facts: Vec<FlowFacts>,
    pub(crate) kernel: Vec<KernelFlow>,
    pub(crate) received_ce: Option<u64>,
    pub(crate) received_ect1_bytes: Option<u64>,
    pub(crate) series: Vec<Table>,
}
