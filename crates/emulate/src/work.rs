//! This module decides what web sessions and viewers of videos fetch, and when. It is sans-IO: the
//! time and the arrivals come in, objects to fetch come out.
//!
//! The sizes, the times and the choice of a video's bitrate are the simulator's own, drawn from the
//! same streams: with one seed both fetch the same objects.

use penstock_sim::{
    App, Browsing, Config, FlowConfig, Follows, Page, Transfer, Viewer, WebSession,
};
use penstock_units::{Duration, Rng, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// A record of what arrived, and of what the viewers saw.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Objects and chunks, in the order of their ends.
    pub transfers: Vec<Transfer>,
    /// Complete pages, in the order of their ends.
    pub pages: Vec<Page>,
    /// The viewers, each with its flow.
    pub viewers: Vec<(u32, Viewer)>,
}

/// An object that a lane is to fetch now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The lane that fetches it.
    pub lane: usize,
    /// Its size.
    pub bytes: u64,
}

/// A flow: one connection at a time, with one object at a time.
struct Lane {
    flow: u32,
    source: usize,
    /// The present object's size, and when it was begun.
    bytes: u64,
    began: Time,
    /// The time to wait after the present object.
    pause: Duration,
    /// The time at which the lane goes on by itself.
    due: Time,
}

/// A source, which decides for its lanes.
enum Source {
    /// A browser's session, of several lanes.
    Browser(Browsing, Range<usize>),
    /// A session with one connection after the other.
    Web(WebSession, Rng),
    /// A viewer, whose chunks are cut into whole segments of that size.
    Video(Viewer, u64),
}

/// The objects that the flows of one host fetch.
#[derive(Default)]
pub struct Work {
    lanes: Vec<Lane>,
    sources: Vec<Source>,
    /// The times at which something may be due, each with its lane. Some have been overtaken.
    timers: BinaryHeap<Reverse<(Time, usize)>>,
    log: Log,
}

impl Work {
    /// The work of these flows, indices into the configuration's, ascending. Each is a lane: the
    /// first is lane 0. A browser's session is there with all of its connections.
    pub fn new(config: &Config, flows: &[usize]) -> Self {
        let mut work = Work::default();
        for (lane, flow) in flows.iter().enumerate() {
            work.add(config, lane, *flow);
        }
        work
    }

    fn add(&mut self, config: &Config, lane: usize, flow: usize) {
        let f = &config.flows[flow];
        let source = match &f.app {
            App::Browser { session, connection: 0, .. } => {
                let lanes = lane..lane + session.connections as usize;
                self.timers.push(Reverse((session.start, lane)));
                Some(Source::Browser(Browsing::new(f, session, config.seed), lanes))
            }
            App::Web { start, stop, pages, .. } => {
                let session = WebSession::new(pages, *start, *stop);
                Some(Source::Web(session, stream(f, config.seed)))
            }
            App::Video { tcp, start, stop, config } => {
                let viewer = Viewer::new(config, *start, *stop);
                Some(Source::Video(viewer, u64::from(tcp.segment_bytes())))
            }
            // A further connection of the session before it.
            _ => None,
        };
        self.sources.extend(source);
        let due = match &f.app {
            App::Web { start, .. } | App::Video { start, .. } => *start,
            _ => Time::NEVER,
        };
        if due < Time::NEVER {
            self.timers.push(Reverse((due, lane)));
        }
        self.lanes.push(Lane {
            flow: flow as u32,
            source: self.sources.len().saturating_sub(1),
            bytes: 0,
            began: Time::ZERO,
            pause: Duration::ZERO,
            due,
        });
    }

    /// Returns when something may be due next.
    pub fn next(&self) -> Time {
        self.timers.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    /// Begins what is due at `now`.
    pub fn advance(&mut self, now: Time, begun: &mut Vec<Begun>) {
        while let Some(Reverse((at, lane))) = self.timers.peek().copied().filter(|t| t.0 .0 <= now)
        {
            self.timers.pop();
            self.page_is_due(now, at, lane, begun);
            if self.lanes[lane].due == at {
                self.lanes[lane].due = Time::NEVER;
                self.fetch(now, lane, begun);
            }
        }
    }

    /// Begins the page that was to begin at `at`, if `lane` is the first of a session that has one.
    fn page_is_due(&mut self, now: Time, at: Time, lane: usize, begun: &mut Vec<Begun>) {
        let Source::Browser(pages, lanes) = &mut self.sources[self.lanes[lane].source] else {
            return;
        };
        if lanes.start != lane || pages.next() != at || !pages.begin(now) {
            return;
        }
        let lanes = lanes.clone();
        for lane in lanes.clone() {
            // Some may wait for the end of a pause that no object came after.
            self.lanes[lane].due = Time::NEVER;
        }
        for lane in lanes {
            self.fetch(now, lane, begun);
        }
    }

    /// A lane that is free fetches what its source has for it.
    fn fetch(&mut self, now: Time, lane: usize, begun: &mut Vec<Begun>) {
        let l = &mut self.lanes[lane];
        let bytes = match &mut self.sources[l.source] {
            Source::Browser(pages, _) => pages.hand_out(now).map(|object| {
                l.pause = object.pause;
                object.bytes
            }),
            Source::Web(session, rng) => session.next(now, rng).map(|(bytes, later)| {
                if later {
                    rng.unit(); // as the simulator's new connection
                }
                bytes
            }),
            Source::Video(viewer, segment) => {
                viewer.next(now).map(|bytes| bytes.div_ceil(*segment).max(1) * *segment)
            }
        };
        if let Some(bytes) = bytes {
            (l.bytes, l.began) = (bytes, now);
            begun.push(Begun { lane, bytes });
        }
    }

    /// A lane's object has arrived at `now`.
    pub fn arrived(&mut self, now: Time, lane: usize, begun: &mut Vec<Begun>) {
        let l = &self.lanes[lane];
        let (flow, bytes, pause) = (l.flow, l.bytes, l.pause);
        let took = now.since(l.began);
        self.log.transfers.push(Transfer { end: now, flow, bytes, took });
        match &mut self.sources[l.source] {
            Source::Browser(pages, lanes) => {
                let first = lanes.start;
                match pages.arrived(now, self.lanes[first].flow) {
                    Follows::Nothing => {}
                    Follows::NextPage(page) => {
                        self.log.pages.push(page);
                        self.timers.push(Reverse((pages.next(), first)));
                    }
                    Follows::Another if pause == Duration::ZERO => self.fetch(now, lane, begun),
                    Follows::Another => self.wait(now, lane, pause),
                }
            }
            Source::Web(session, rng) => {
                let pause = session.arrived(rng);
                self.wait(now, lane, pause);
            }
            Source::Video(viewer, _) => {
                let pause = viewer.arrived(now, bytes, took);
                self.wait(now, lane, pause);
            }
        }
    }

    fn wait(&mut self, now: Time, lane: usize, pause: Duration) {
        self.lanes[lane].due = now + pause;
        self.timers.push(Reverse((now + pause, lane)));
    }

    /// Ends the work. Returns what came of it.
    pub fn end(&mut self) -> Log {
        for l in &self.lanes {
            if let Source::Video(viewer, _) = &self.sources[l.source] {
                self.log.viewers.push((l.flow, viewer.clone()));
            }
        }
        *self = Work { log: std::mem::take(&mut self.log), ..Work::default() };
        std::mem::take(&mut self.log)
    }
}

/// Returns the stream of a flow after what the simulator's first connection takes of it.
fn stream(f: &FlowConfig, seed: u64) -> Rng {
    let mut rng = Rng::stream(seed, &format!("flow/{}/{}", f.group, f.index));
    rng.unit();
    rng
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_queue::Column;
    use penstock_scenario::Scenario;
    use penstock_sim::{run, Handle, RunResult, MAX_TIME};

    fn config(traffic: &str) -> Config {
        let text = format!(
            "duration = '30 s'\n[topology]\nkind = 'dumbbell'\nbottleneck = {{ rate = '20 Mbit/s', \
             delay = '10 ms', buffer = '100 packets' }}\n[aqm]\nkind = 'droptail'\n\
             [[traffic]]\n{traffic}\n"
        );
        Scenario::from_toml(&text, "<test>").unwrap().lower(7).unwrap()
    }

    /// Plays all flows of a scenario; each object takes a time that its size decides.
    fn play(config: &Config) -> (Log, Vec<Begun>) {
        let flows: Vec<usize> = (0..config.flows.len()).collect();
        let mut work = Work::new(config, &flows);
        let (mut now, end) = (Time::ZERO, Time::ZERO + config.duration);
        let (mut begun, mut all) = (vec![], vec![]);
        let mut arrivals: BinaryHeap<Reverse<(Time, usize)>> = BinaryHeap::new();
        while now < end {
            work.advance(now, &mut begun);
            while let Some(Reverse((_, lane))) = arrivals.peek().copied().filter(|a| a.0 .0 <= now)
            {
                arrivals.pop();
                work.arrived(now, lane, &mut begun);
            }
            for b in begun.drain(..) {
                all.push(b);
                let took = Duration::from_micros(40_000 + b.bytes);
                arrivals.push(Reverse((now + took, b.lane)));
            }
            let next = arrivals.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
            now = next.min(work.next()).min(MAX_TIME);
        }
        (work.end(), all)
    }

    fn simulated(config: &Config) -> RunResult {
        let mut config = config.clone();
        config.record.series = Some(Duration::from_secs(1));
        run(&config, &Handle::default()).unwrap()
    }

    fn column(result: &RunResult, table: &str, name: &str) -> Vec<u64> {
        let table = result.series.iter().find(|t| t.name == table).unwrap();
        let column = table.columns.iter().find(|(n, _)| n == name).unwrap();
        let Column::U64(values) = &column.1 else { panic!("{name} is no number") };
        values.clone()
    }

    /// The first of two lists, as far as both go; some at least.
    fn begin_alike<T: PartialEq + std::fmt::Debug>(a: &[T], b: &[T], least: usize) {
        let n = a.len().min(b.len());
        assert!(n >= least, "{} and {}", a.len(), b.len());
        assert_eq!(a[..n], b[..n]);
    }

    #[test]
    fn a_browser_fetches_the_simulators_pages() {
        let config = config(
            "kind = 'web'\nsessions = 2\nconnections = 3\npersistent = true\nrequest = '300 B'\n\
             objects_per_page = 8\nthink = { exponential = '0.5 s' }\n\
             inter_object = { exponential = '10 ms' }",
        );
        let (log, begun) = play(&config);
        let result = simulated(&config);
        for first in [0, 3] {
            let (flows, bytes) =
                (column(&result, "pages", "flow"), column(&result, "pages", "bytes"));
            let theirs: Vec<u64> =
                flows.iter().zip(bytes).filter(|(f, _)| **f == first).map(|(_, b)| b).collect();
            let ours: Vec<u64> =
                log.pages.iter().filter(|p| u64::from(p.flow) == first).map(|p| p.bytes).collect();
            begin_alike(&ours, &theirs, 5);
        }
        // Three at once, and never more than one on a lane.
        assert_eq!(begun[..6].iter().map(|b| b.lane).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        let beyond = log.transfers.len() - 8 * log.pages.len();
        assert!(beyond < 16, "at most a page of each session is incomplete");
        assert!(log.pages.iter().all(|p| p.objects == 8 && p.took > Duration::from_millis(120)));
    }

    #[test]
    fn a_session_without_parallel_connections_has_the_simulators_sizes() {
        let config = config(
            "kind = 'web'\nsessions = 2\nobjects_per_page = 2\nthink = { exponential = '0.3 s' }",
        );
        let (log, _) = play(&config);
        let result = simulated(&config);
        for flow in [0, 1] {
            let (flows, bytes) = (column(&result, "fct", "flow"), column(&result, "fct", "bytes"));
            let theirs: Vec<u64> =
                flows.iter().zip(bytes).filter(|(f, _)| **f == flow).map(|(_, b)| b).collect();
            let mine = log.transfers.iter().filter(|t| u64::from(t.flow) == flow);
            begin_alike(&mine.map(|t| t.bytes).collect::<Vec<_>>(), &theirs, 20);
        }
        assert!(log.pages.is_empty());
    }

    /// Chunks of 2 s at 300 kbit/s first: 75 kB are 75 segments of 1000 B.
    #[test]
    fn a_viewer_fetches_whole_segments_and_waits() {
        let config = config("kind = 'video'\nstart = '1 s'\nstop = '25 s'");
        let (log, begun) = play(&config);
        assert_eq!(begun[0], Begun { lane: 0, bytes: 75_000 });
        assert!(begun.iter().all(|b| b.bytes % 1000 == 0));
        // A byte takes a microsecond here, so that the bitrate is soon the highest.
        assert_eq!(begun.last().unwrap().bytes, 1_075_000);
        let [(0, viewer)] = &log.viewers[..] else { panic!("one viewer") };
        let seen = viewer.view(Time::ZERO, Time::ZERO + config.duration);
        // At most 20 s are ready when it asks for the last one, which is before it stops at 25 s.
        assert!((19..=22).contains(&seen.chunks) && seen.stalls == 0, "{seen:?}");
        assert!(log.transfers.len() as u64 - seen.chunks <= 1);
    }
}
