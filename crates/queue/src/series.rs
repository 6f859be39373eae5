//! What a link writes down when asked: its series, and counters of each flow.

use crate::config::Keep;
use crate::packets::PerFlow;
use crate::table::{Column, Table};
use crate::tally::{Counting, Tally};
use penstock_aqm::{Aqm, Discipline, Ecn, Packet, Queue};
use penstock_units::{Duration, Time};
use std::collections::VecDeque;

/// The words of the column `event`. `enqueue`: let in; `mark`: let in and marked; `dequeue`: its
/// transmission starts; `mark_head`: marked as it leaves, a `dequeue` follows. `drop_early`,
/// `_forced`, `_overflow`: not let in; `drop_head`: dropped when its turn came; `evict`: dropped
/// while it waited, in favour of the packet that arrives.
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
#[derive(Clone)]
pub(crate) struct QueueSeries {
    interval: Option<Duration>,
    next: Time,
    t: Vec<f64>,
    pkts: Vec<u64>,
    bytes: Vec<u64>,
    state: Vec<(&'static str, Vec<f64>)>,
    events: Option<Events>,
    flows: Option<PerFlow>,
    counting: Option<Box<Counting>>,
}

/// The rows of `events`.
#[derive(Clone, Default)]
struct Events {
    t_ns: Vec<u64>,
    what: Vec<u8>,
    flow: Vec<u64>,
    bytes: Vec<u64>,
    pkts: Vec<u64>,
    place: Vec<u64>,
    kind: Vec<u8>,
    ecn: Vec<u8>,
    sojourn_ns: Vec<u64>,
    /// Packets that have come so far.
    came: u64,
    /// The packets that wait at a lazy link, in their order.
    waiting: VecDeque<Waits>,
    /// Those that wait at an eager one, by their places in the caller's pool.
    held: Vec<u64>,
}

/// A packet that waits: its place among all that came, when it came, and its ECN field.
#[derive(Clone)]
struct Waits {
    place: u64,
    at: Time,
    ecn: Ecn,
    data: bool,
}

/// The column `type`: a pure ACK or the receiver's SYN, or anything else.
const TYPES: &[&str] = &["ack", "data"];
/// The column `ecn`: the field by its two bits (RFC 3168).
const FIELDS: &[&str] = &["Not-ECT", "ECT(1)", "ECT(0)", "CE"];

impl Events {
    /// A row about a packet that came to the queue at `came`, with this place among all that did.
    fn row(&mut self, t: Time, word: &str, p: &AtQueue, place: u64, pkts: u32) {
        let code = EVENTS.iter().position(|w| *w == word).expect("a declared word");
        self.t_ns.push(t.as_nanos());
        self.what.push(code as u8);
        self.flow.push(u64::from(p.pkt.flow));
        self.bytes.push(u64::from(p.pkt.bytes));
        self.pkts.push(u64::from(pkts));
        self.place.push(place);
        self.kind.push(u8::from(p.data));
        self.ecn.push(p.pkt.ecn as u8);
        self.sojourn_ns.push(t.as_nanos() - p.came.as_nanos());
    }

    /// A packet comes. Returns its place among all that did.
    fn comes(&mut self) -> u64 {
        self.came += 1;
        self.came - 1
    }

    fn hold(&mut self, index: u32, place: u64) {
        let index = index as usize;
        if index >= self.held.len() {
            self.held.resize(index + 1, 0);
        }
        self.held[index] = place;
    }

    /// The place of a packet that was held.
    fn held(&self, index: u32) -> u64 {
        self.held[index as usize]
    }
}

/// A packet at the queue, as its row tells of it.
#[derive(Clone, Copy)]
pub(crate) struct AtQueue {
    pub(crate) pkt: Packet,
    /// Its place in the caller's pool.
    pub(crate) index: u32,
    /// Whether it carries data; else it is an ACK.
    pub(crate) data: bool,
    /// When it came.
    pub(crate) came: Time,
}

impl QueueSeries {
    /// What a link is to keep; `None` where that is nothing.
    pub(crate) fn new(keep: &Keep, state: &[&'static str]) -> Option<Self> {
        let Keep { series: interval, events, flows, tally, .. } = *keep;
        (interval.is_some() || events || flows.is_some() || tally).then(|| QueueSeries {
            flows: flows.map(PerFlow::new),
            counting: tally.then(|| Box::new(Counting::new())),
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
            counting: None,
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
        let columns = &mut self.state;
        aqm.state(&mut |name, value| {
            if let Some((_, column)) = columns.iter_mut().find(|(own, _)| *own == name) {
                column.push(value);
            }
        });
        // A custom discipline may publish less than it did at the start, and one that took over
        // has other columns.
        let rows = self.t.len();
        columns.iter_mut().for_each(|(_, column)| column.resize(rows, f64::NAN));
        self.next = self.interval.map_or(Time::NEVER, |d| t + d);
    }

    /// Another discipline takes over. Its columns come behind those that are there.
    pub(crate) fn renew(&mut self, aqm: &dyn Aqm) {
        let (rows, columns) = (self.t.len(), &mut self.state);
        aqm.state(&mut |name, _| {
            if columns.iter().all(|(own, _)| *own != name) {
                columns.push((name, vec![f64::NAN; rows]));
            }
        });
    }

    /// A packet was let in, with this ECN field, and starts to be sent at `start` (an eager link tells
    /// later).
    pub(crate) fn accepted(&mut self, start: Time, ecn: Ecn, p: &AtQueue, pkts: u32) {
        let now = p.came;
        if let Some(e) = &mut self.events {
            let word = if ecn == p.pkt.ecn { "enqueue" } else { "mark" };
            let (place, p) = (e.comes(), AtQueue { pkt: Packet { ecn, ..p.pkt }, ..*p });
            e.row(now, word, &p, place, pkts);
            if start == now {
                e.row(now, "dequeue", &p, place, pkts);
            } else if start == Time::NEVER {
                e.hold(p.index, place);
            } else {
                e.waiting.push_back(Waits { place, at: now, ecn, data: p.data });
            }
        }
        if let Some(counting) = &mut self.counting {
            counting.accepted(now, start, p.pkt.bytes, ecn != p.pkt.ecn);
        }
        if let Some(flows) = self.flows.as_mut().filter(|_| p.data) {
            flows.arrives(now, p.pkt.flow);
            if start != Time::NEVER {
                flows.starts(now, start, p.pkt.flow);
            }
        }
    }

    /// The first packet that waits at a lazy link starts to be sent.
    pub(crate) fn starts(&mut self, now: Time, flow: u32, bytes: u32, pkts: u32) {
        if let Some(counting) = &mut self.counting {
            counting.started(now, bytes);
        }
        let Some(e) = &mut self.events else { return };
        let Some(Waits { place, at, ecn, data }) = e.waiting.pop_front() else { return };
        let p = AtQueue { pkt: Packet { bytes, ecn, flow, class: 0 }, index: 0, data, came: at };
        e.row(now, "dequeue", &p, place, pkts);
    }

    /// A packet that was held at an eager link starts to be sent, with this ECN field.
    pub(crate) fn sent(&mut self, now: Time, ecn: Ecn, p: &AtQueue, pkts: u32) {
        if let Some(e) = &mut self.events {
            let (place, marked) = (e.held(p.index), ecn != p.pkt.ecn);
            let p = AtQueue { pkt: Packet { ecn, ..p.pkt }, ..*p };
            if marked {
                e.row(now, "mark_head", &p, place, pkts);
            }
            e.row(now, "dequeue", &p, place, pkts);
        }
        if let Some(counting) = &mut self.counting {
            counting.tally.marks += u64::from(ecn != p.pkt.ecn);
            counting.sent(p.came, now, p.pkt.bytes);
        }
        if let Some(flows) = self.flows.as_mut().filter(|_| p.data) {
            flows.starts(p.came, now, p.pkt.flow);
        }
    }

    /// A packet that was held will start to be sent at `start`, behind the others: from now on it waits
    /// as at a lazy link.
    pub(crate) fn will_start(&mut self, start: Time, p: &AtQueue) {
        if let Some(e) = &mut self.events {
            let place = e.held(p.index);
            e.waiting.push_back(Waits { place, at: p.came, ecn: p.pkt.ecn, data: p.data });
        }
        if let Some(counting) = &mut self.counting {
            counting.will_start(p.came);
        }
        if let Some(flows) = self.flows.as_mut().filter(|_| p.data) {
            flows.starts(p.came, start, p.pkt.flow);
        }
    }

    /// A packet is dropped: one that comes, or one that was held.
    pub(crate) fn dropped(&mut self, now: Time, word: &str, p: &AtQueue, pkts: u32) {
        let held = matches!(word, "drop_head" | "evict");
        if let Some(e) = &mut self.events {
            let place = if held { e.held(p.index) } else { e.comes() };
            e.row(now, word, p, place, pkts);
        }
        if let Some(counting) = &mut self.counting {
            counting.tally.arrivals += u64::from(!held);
            counting.tally.drops += 1;
        }
        if let Some(flows) = self.flows.as_mut().filter(|_| p.data) {
            if !held {
                flows.arrives(now, p.pkt.flow);
            }
            flows.dropped(now, p.pkt.flow);
        }
    }

    /// What was counted of each flow, where that is asked for.
    pub(crate) fn flows(&mut self) -> Option<&mut PerFlow> {
        self.flows.as_mut()
    }

    /// What has become of the packets so far, where that is asked for.
    pub(crate) fn tally(&self) -> Option<Tally> {
        self.counting.as_deref().map(|counting| counting.tally)
    }

    /// Takes out what was written down so far; goes on with empty tables.
    pub(crate) fn taken(&mut self) -> Vec<Table> {
        let state: Vec<_> = self.state.iter().map(|(name, _)| *name).collect();
        let events = self.events.is_some();
        let (next, flows, counting) = (self.next, self.flows.take(), self.counting.take());
        let empty = QueueSeries::empty(self.interval, events, &state);
        let mut rest = QueueSeries { next, flows, counting, ..empty };
        if let (Some(old), Some(new)) = (&mut self.events, &mut rest.events) {
            // What waits is still there.
            new.came = old.came;
            (new.waiting, new.held) =
                (std::mem::take(&mut old.waiting), std::mem::take(&mut old.held));
        }
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
                    ("packet".to_owned(), Column::U64(e.place)),
                    ("type".to_owned(), Column::Word(e.kind, TYPES)),
                    ("ecn".to_owned(), Column::Word(e.ecn, FIELDS)),
                    ("sojourn_ns".to_owned(), Column::U64(e.sojourn_ns)),
                ],
            });
        }
        tables
    }
}
