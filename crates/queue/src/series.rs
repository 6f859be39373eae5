//! What a link writes down when asked: its series, and counters of each flow.

use crate::config::Keep;
use crate::packets::PerFlow;
use crate::table::{Column, Table};
use penstock_aqm::{Discipline, Packet, Queue};
use penstock_units::{Duration, Time};

/// `mark`: let in and marked; `mark_head`: marked when it leaves, a `dequeue` follows.
/// `drop_early`, `_forced`, `_overflow`: not let in; `drop_head`: dropped when its turn came;
/// `evict`: dropped while it waited, in favour of the packet that arrives.
const EVENTS: &[&str] = &[
    "enqueue",
    "mark",
    "mark_head",
    "dequeue",
    "drop_early",
    "drop_forced",
    "drop_overflow",
    "drop_head",
    "evict",
];

/// The `queue` and `events` series of one link, and what it counts of each flow.
pub(crate) struct QueueSeries {
    interval: Option<Duration>,
    next: Time,
    t: Vec<f64>,
    pkts: Vec<u64>,
    bytes: Vec<u64>,
    state: Vec<(&'static str, Vec<f64>)>,
    events: Option<Events>,
    flows: Option<PerFlow>,
}

#[derive(Default)]
struct Events {
    t_ns: Vec<u64>,
    what: Vec<u8>,
    flow: Vec<u64>,
    bytes: Vec<u64>,
    pkts: Vec<u64>,
}

impl QueueSeries {
    /// What a link is to keep; `None` where that is nothing.
    pub(crate) fn new(keep: &Keep, state: &[&'static str]) -> Option<Self> {
        let Keep { series: interval, events, flows, .. } = *keep;
        (interval.is_some() || events || flows.is_some()).then(|| QueueSeries {
            flows: flows.map(PerFlow::new),
            ..QueueSeries::empty(interval, events, state)
        })
    }

    fn empty(interval: Option<Duration>, events: bool, state: &[&'static str]) -> Self {
        QueueSeries {
            interval,
            next: if interval.is_some() { Time::ZERO } else { Time::NEVER },
            t: vec![],
            pkts: vec![],
            bytes: vec![],
            state: state.iter().map(|name| (*name, vec![])).collect(),
            events: events.then(Events::default),
            flows: None,
        }
    }

    #[inline]
    pub(crate) fn next_sample(&self) -> Time {
        self.next
    }

    pub(crate) fn sample(&mut self, t: Time, q: &Queue, aqm: &Discipline) {
        self.t.push(t.as_secs_f64());
        self.pkts.push(u64::from(q.pkts));
        self.bytes.push(q.bytes);
        let mut columns = self.state.iter_mut();
        aqm.state(&mut |_, value| {
            if let Some((_, column)) = columns.next() {
                column.push(value);
            }
        });
        // A custom discipline may publish less than it did at the start.
        columns.for_each(|(_, column)| column.push(f64::NAN));
        self.next = self.interval.map_or(Time::NEVER, |d| t + d);
    }

    pub(crate) fn event(&mut self, t: Time, word: &str, flow: u32, bytes: u32, pkts: u32) {
        if let Some(e) = &mut self.events {
            let code = EVENTS.iter().position(|w| *w == word).expect("a declared word");
            e.t_ns.push(t.as_nanos());
            e.what.push(code as u8);
            e.flow.push(u64::from(flow));
            e.bytes.push(u64::from(bytes));
            e.pkts.push(u64::from(pkts));
        }
    }

    /// A packet was let in at `now` and starts to be sent at `start` (an eager link tells later).
    pub(crate) fn accepted(
        &mut self,
        now: Time,
        start: Time,
        marked: bool,
        pkt: &Packet,
        data: bool,
        q: &Queue,
    ) {
        let word = if marked { "mark" } else { "enqueue" };
        self.event(now, word, pkt.flow, pkt.bytes, q.pkts);
        if start == now {
            self.event(now, "dequeue", pkt.flow, pkt.bytes, q.pkts);
        }
        if let Some(flows) = self.flows.as_mut().filter(|_| data) {
            flows.arrives(now, pkt.flow);
            if start != Time::NEVER {
                flows.starts(now, start, pkt.flow);
            }
        }
    }

    /// A packet that carries `data`, or else an ACK, was held at an eager link since `arrived`; it
    /// starts to be sent at `now`.
    pub(crate) fn sent(&mut self, arrived: Time, now: Time, flow: u32, data: bool) {
        if let Some(flows) = self.flows.as_mut().filter(|_| data) {
            flows.starts(arrived, now, flow);
        }
    }

    /// A packet is dropped: one that was not let in, or one that was.
    pub(crate) fn dropped(&mut self, now: Time, word: &str, pkt: &Packet, data: bool, q: &Queue) {
        self.event(now, word, pkt.flow, pkt.bytes, q.pkts);
        if let Some(flows) = self.flows.as_mut().filter(|_| data) {
            if !matches!(word, "drop_head" | "evict") {
                flows.arrives(now, pkt.flow);
            }
            flows.dropped(now, pkt.flow);
        }
    }

    /// What was counted of each flow, where that is asked for.
    pub(crate) fn flows(&mut self) -> Option<&mut PerFlow> {
        self.flows.as_mut()
    }

    /// Takes out what was written down so far; goes on with empty tables.
    pub(crate) fn taken(&mut self) -> Vec<Table> {
        let state: Vec<_> = self.state.iter().map(|(name, _)| *name).collect();
        let events = self.events.is_some();
        let (next, flows) = (self.next, self.flows.take());
        let rest = QueueSeries { next, flows, ..QueueSeries::empty(self.interval, events, &state) };
        std::mem::replace(self, rest).tables()
    }

    pub(crate) fn tables(self) -> Vec<Table> {
        let mut tables = vec![];
        if self.interval.is_some() {
            let mut columns = vec![
                ("t_s".to_owned(), Column::F64(self.t)),
                ("queue_pkts".to_owned(), Column::U64(self.pkts)),
                ("queue_bytes".to_owned(), Column::U64(self.bytes)),
            ];
            columns.extend(self.state.into_iter().map(|(n, v)| (n.to_owned(), Column::F64(v))));
            tables.push(Table { name: "queue", columns });
        }
        if let Some(e) = self.events {
            tables.push(Table {
                name: "events",
                columns: vec![
                    ("t_ns".to_owned(), Column::U64(e.t_ns)),
                    ("event".to_owned(), Column::Word(e.what, EVENTS)),
                    ("flow".to_owned(), Column::U64(e.flow)),
                    ("bytes".to_owned(), Column::U64(e.bytes)),
                    ("queue_pkts".to_owned(), Column::U64(e.pkts)),
                ],
            });
        }
        tables
    }
}
