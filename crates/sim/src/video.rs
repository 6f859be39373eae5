//! An adaptive video over one TCP connection, as DASH and HLS play it. A viewer fetches chunk after
//! chunk, each at the highest bitrate that the throughput of those before it allows. Once the
//! playback buffer is full it waits until there is room for one more: so it sends in bursts.
//!
//! A chunk has arrived when its last segment is acknowledged, half a round trip after its receiver
//! has it. The request has no packet. Whether the window stays as it is over a pause is for the
//! sender's parameters to say.

use crate::config::VideoConfig;
use penstock_queue::Of;
use penstock_units::{Duration, Rate, Time};
use std::sync::Arc;

/// A viewer of a video, whatever carries its chunks: the simulator's packets or real ones.
#[derive(Clone, Debug)]
pub struct Viewer {
    config: Arc<VideoConfig>,
    pub(crate) start: Time,
    /// When it stops watching; [`Time::NEVER`]: with the run.
    stop: Time,
    /// Which of the bitrates the next chunk has.
    rung: usize,
    /// The average of the chunks' throughputs, bits per second.
    throughput: Option<f64>,
    /// Playing time that was ready at `looked`, in ticks.
    ready: u64,
    looked: Time,
    playing: bool,
    /// When playback began.
    began: Option<Time>,
    /// When it ran dry for the last time.
    halted: Time,
    /// The chunks so far: when each arrived, and its bitrate.
    chunks: Vec<(Time, f64)>,
    /// The stalls that are over.
    stalls: Vec<(Time, Time)>,
}

impl Viewer {
    /// A viewer from `start` on, until `stop` or the run's end.
    pub fn new(config: &Arc<VideoConfig>, start: Time, stop: Option<Time>) -> Self {
        Viewer {
            config: Arc::clone(config),
            start,
            stop: stop.unwrap_or(Time::NEVER),
            rung: 0,
            throughput: None,
            ready: 0,
            looked: start,
            playing: false,
            began: None,
            halted: start,
            chunks: vec![],
            stalls: vec![],
        }
    }

    /// Returns how many bytes to fetch at `now`; `None` once it has stopped.
    pub fn next(&self, now: Time) -> Option<u64> {
        let seconds = self.config.chunk.as_secs_f64();
        let bytes = self.bitrate() * seconds / 8.0;
        (now < self.stop).then_some(libm::ceil(bytes) as u64)
    }

    fn bitrate(&self) -> f64 {
        self.config.bitrates[self.rung].as_bps() as f64
    }

    /// Plays what is ready, until `now` or until nothing is.
    fn play(&mut self, now: Time) {
        let passed = now.since(self.looked).as_ticks();
        if self.playing && passed > self.ready {
            self.halted = self.looked + Duration::from_ticks(self.ready);
            self.playing = false;
            self.ready = 0;
        } else if self.playing {
            self.ready -= passed;
        }
        self.looked = now;
    }

    /// A chunk of that many bytes has arrived, `took` after it was asked for. Chooses the next
    /// one's bitrate, and returns how long to wait before it is asked for.
    pub fn arrived(&mut self, now: Time, bytes: u64, took: Duration) -> Duration {
        self.play(now);
        self.chunks.push((now, self.bitrate()));
        let config = Arc::clone(&self.config);
        self.ready += config.chunk.as_ticks();
        if !self.playing && self.ready >= config.startup.as_ticks() {
            self.playing = true;
            match self.began {
                None => self.began = Some(now),
                Some(_) => self.stalls.push((self.halted, now)),
            }
        }
        let bps = bytes as f64 * 8.0 / took.as_secs_f64().max(1e-9);
        let weight = config.weight;
        let average = self.throughput.map_or(bps, |a| (1.0 - weight) * a + weight * bps);
        self.throughput = Some(average);
        let fits = |rate: &Rate| rate.as_bps() as f64 <= config.safety * average;
        self.rung = config.bitrates.iter().rposition(fits).unwrap_or(0);
        let room = config.buffer.as_ticks().saturating_sub(config.chunk.as_ticks());
        Duration::from_ticks(self.ready.saturating_sub(room))
    }

    /// Returns what was seen between two instants, up to `to` of which the run has come.
    pub fn view(&self, from: Time, to: Time) -> VideoView {
        let end = to.min(self.stop);
        let inside = |t: Time| t >= from && t < end;
        let mut view = VideoView::default();
        let mut before = None;
        for (at, bitrate) in &self.chunks {
            if inside(*at) {
                view.chunks += 1;
                view.bitrates_bps += bitrate;
                view.switches += u64::from(before.is_some_and(|b| b != bitrate));
            }
            before = Some(bitrate);
        }
        let Some(began) = self.began.filter(|began| *began < end) else { return view };
        let within = |a: Time, b: Time| b.min(end).since(a.max(from)).as_secs_f64();
        // What is ready may run dry before the next chunk, or has.
        let dry =
            if self.playing { self.looked + Duration::from_ticks(self.ready) } else { self.halted };
        for (halted, resumed) in self.stalls.iter().copied().chain([(dry, Time::NEVER)]) {
            view.stalls += u64::from(inside(halted));
            view.stalled_s += within(halted, resumed);
        }
        view.watched_s = within(began, end);
        view.startup_s = began.since(self.start).as_secs_f64();
        view.started = 1;
        view
    }
}

/// What one viewer or several saw within the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VideoView {
    /// Chunks that arrived.
    pub chunks: u64,
    /// The sum of their bitrates, bits per second.
    pub bitrates_bps: f64,
    /// Those whose bitrate was not that of the chunk before.
    pub switches: u64,
    /// How often playback ran dry.
    pub stalls: u64,
    /// Seconds in which playback stood still after it had begun.
    pub stalled_s: f64,
    /// Seconds since playback began, stalls among them.
    pub watched_s: f64,
    /// Seconds from the start of each viewer to that of its playback, wherever the window lies.
    pub startup_s: f64,
    /// Viewers whose playback began.
    pub started: u64,
}

impl VideoView {
    /// Returns what both together saw.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        VideoView {
            chunks: self.chunks + other.chunks,
            bitrates_bps: self.bitrates_bps + other.bitrates_bps,
            switches: self.switches + other.switches,
            stalls: self.stalls + other.stalls,
            stalled_s: self.stalled_s + other.stalled_s,
            watched_s: self.watched_s + other.watched_s,
            startup_s: self.startup_s + other.startup_s,
            started: self.started + other.started,
        }
    }
}

/// Returns a mean; `None` of nothing.
fn over(sum: f64, n: f64) -> Option<f64> {
    (n > 0.0).then(|| sum / n)
}

/// Metrics of a flow of kind `video`, and of a group of them.
pub const VIDEO_METRICS: &[Of<VideoView>] = &[
    Of::new(
        "video_bitrate_bps",
        "Bitrate of video",
        "Mean bitrate of the chunks of video that arrived in the window, bits per second; null \
         without one.",
        |v| over(v.bitrates_bps, v.chunks as f64),
    ),
    Of::new(
        "video_chunks",
        "Chunks of video",
        "Chunks of video that arrived in the window.",
        |v| Some(v.chunks as f64),
    ),
    Of::new(
        "video_switches",
        "Changes of the bitrate",
        "Those whose bitrate is not that of the chunk before.",
        |v| Some(v.switches as f64),
    ),
    Of::new("video_stalls", "Stalls", "How often playback ran dry in the window.", |v| {
        Some(v.stalls as f64)
    }),
    Of::new(
        "video_stalled_s",
        "Time stalled",
        "Seconds of the window in which playback stood still after it had begun, sum over the \
         viewers.",
        |v| Some(v.stalled_s),
    ),
    Of::share(
        "video_stalled_share",
        "Share of the time stalled",
        "The part of the window in which playback stood still, of that since playback began; null \
         before it began.",
        |v| over(v.stalled_s, v.watched_s),
    ),
    Of::new(
        "video_startup_s",
        "Start-up time",
        "Seconds from a viewer's start to the start of playback, before the window's end, be that \
         before the window or in it; mean over the viewers, null before the first of them.",
        |v| over(v.startup_s, v.started as f64),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Chunks of 2 s at 1, 2 and 4 Mbit/s, so 250, 500 and 1000 kB; playback from 4 s on, 8 s at
    /// most ready; the last chunk weighs one half.
    fn viewer() -> Viewer {
        let mbps = |n: u64| Rate::from_bps(n * 1_000_000).expect("a rate");
        let config = VideoConfig {
            chunk: Duration::from_secs(2),
            bitrates: [1, 2, 4].map(mbps).to_vec(),
            safety: 0.8,
            weight: 0.5,
            buffer: Duration::from_secs(8),
            startup: Duration::from_secs(4),
        };
        Viewer::new(&Arc::new(config), at(0), None)
    }

    /// A chunk that arrives at `now`, `took` milliseconds after it was asked for.
    fn arrives(v: &mut Viewer, now: u64, took: u64) -> u64 {
        let bytes = v.next(at(now)).expect("it has not stopped");
        let wait = v.arrived(at(now), bytes, Duration::from_millis(took));
        wait.as_nanos() / 1_000_000
    }

    /// 250 kB in 1 s are 2 Mbit/s, of which 0.8 allow 1; 250 kB in 0.25 s are 8, with the former 5,
    /// of which 4 are allowed; 1000 kB in 8 s are 1, with the former 3, of which 2.4 allow 2.
    #[test]
    fn the_bitrate_follows_the_throughput() {
        let mut v = viewer();
        let mut bytes = vec![];
        for (now, took) in [(1000, 1000), (1250, 250), (9250, 8000)] {
            bytes.push(v.next(at(now)).expect("a chunk"));
            arrives(&mut v, now, took);
        }
        bytes.push(v.next(at(9250)).expect("a chunk"));
        assert_eq!(bytes, [250_000, 250_000, 1_000_000, 500_000]);
        let seen = v.view(at(0), at(9250 + 1));
        // 1, 1 and 4 Mbit/s.
        assert_eq!((seen.chunks, seen.bitrates_bps, seen.switches), (3, 6e6, 1));
        assert_eq!(v.view(at(1250), at(9250)).chunks, 1);
        assert!(Viewer { stop: at(9000), ..v }.next(at(9000)).is_none());
    }

    /// Chunks at 1, 2, 3 and 4 s. Playback begins with the second, at 2 s. At 4 s 8 − 2 = 6 s are
    /// ready, of which at most 6 leave room for a chunk: none to wait. At 5 s there are 7, so that
    /// the next is asked for a second later.
    #[test]
    fn a_full_buffer_waits_for_room() {
        let mut v = viewer();
        let waits = [1000, 2000, 3000, 4000, 5000].map(|now| arrives(&mut v, now, 1000));
        assert_eq!(waits, [0, 0, 0, 0, 1000]);
        assert_eq!(v.view(at(0), at(5000)).startup_s, 2.0);
    }

    /// Playback begins at 2 s with 4 s ready, and runs dry at 6 s. Chunks at 7 s and 9 s let it
    /// resume at 9 s. It runs dry again at 13 s, and the run ends at 14 s.
    #[test]
    fn playback_stalls_and_resumes() {
        let mut v = viewer();
        for now in [1000, 2000, 7000, 9000] {
            arrives(&mut v, now, 1000);
        }
        let seen = v.view(at(0), at(14_000));
        assert_eq!((seen.stalls, seen.stalled_s, seen.watched_s), (2, 4.0, 12.0));
        // From 8 s to 13.5 s: 1 s of the first, 0.5 s of the second, which began inside.
        let seen = v.view(at(8000), at(13_500));
        assert_eq!((seen.stalls, seen.stalled_s, seen.watched_s), (1, 1.5, 5.5));
        // While it waits to resume, and before playback.
        arrives(&mut v, 15_000, 1000);
        assert_eq!(v.view(at(0), at(16_000)).stalled_s, 6.0);
        assert_eq!(v.view(at(0), at(1000)).stalled_s, 0.0);
        assert_eq!(viewer().view(at(0), at(16_000)), VideoView::default());
        // Nobody watches after the stop.
        let seen = Viewer { stop: at(7000), ..v }.view(at(0), at(14_000));
        assert_eq!((seen.stalls, seen.stalled_s, seen.watched_s), (1, 1.0, 5.0));
    }

    /// Two viewers: 1 of 4 s and 3 of 4 s stalled, 2 and 4 s to start, chunks of 1 and 3 Mbit/s.
    #[test]
    fn a_group_is_its_viewers_together() {
        let one = VideoView {
            chunks: 1,
            bitrates_bps: 1e6,
            switches: 0,
            stalls: 1,
            stalled_s: 1.0,
            watched_s: 4.0,
            startup_s: 2.0,
            started: 1,
        };
        let two = VideoView { bitrates_bps: 3e6, stalled_s: 3.0, startup_s: 4.0, ..one };
        let of = |v: &VideoView| penstock_queue::values(VIDEO_METRICS, v);
        let want = [2e6, 2.0, 0.0, 2.0, 4.0, 0.5, 3.0].map(Some);
        assert_eq!(of(&one.and(two)), want);
        let none = [None, Some(0.0), Some(0.0), Some(0.0), Some(0.0), None, None];
        assert_eq!(of(&VideoView::default()), none);
    }
}
