//! The packet loop: reads both sides, asks the path, sends what is due, sleeps until the next
//! departure.
//!
//! One thread for both directions. It never spins: under SCHED_FIFO a spinning thread is stopped by
//! the kernel for 50 ms of every second.

use crate::capture::Recorder;
use crate::options::Status;
use crate::path::Path;
use crate::port::{Port, BATCH};
use crate::side::Side;
use crate::sys::{self, Priority};
use penstock_queue::DelayHistogram;
use penstock_sim::MAX_TIME;
use penstock_units::{Duration, Time};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::time::Duration as Wall;

/// A link on which a full packet takes less than this sends its packets in groups: the loop sleeps
/// no shorter, because most of what a packet costs there is to be woken for it.
const GROUP: Duration = Duration::from_micros(50);
/// The time for which the right side's answers are waited for at the end: Linux delays an ACK by 40
/// ms, or up to 200.
const ANSWER: Duration = Duration::from_millis(60);
/// From when the loop is ready to its clock's zero: the others hear of it in this time.
const LEAD_NS: u64 = 50_000_000;

/// The time in which the router does what it is asked for, at the longest.
const ANSWERS: Wall = Wall::from_secs(5);

/// Something that the router does between two packets.
type Job = Box<dyn FnOnce(&mut Path, Time) + Send>;

/// The state that the router's thread and the others share.
pub struct Shared {
    /// The end of arrivals, in nanoseconds of the router's clock; may be moved forward.
    pub until_ns: AtomicU64,
    /// Ends the loop at once.
    pub stop: AtomicBool,
    /// The router's clock.
    pub now_ns: AtomicU64,
    /// Packets that wait at the bottleneck.
    pub waiting: AtomicU64,
    /// Frames received, dropped, given CE or ECT(1).
    pub counts: [AtomicU64; 3],
    /// Whether there are jobs.
    asked: AtomicBool,
    jobs: Mutex<Vec<Job>>,
}

impl Shared {
    /// Until that time.
    pub fn new(until: Time) -> Self {
        Shared {
            until_ns: AtomicU64::new(until.as_nanos()),
            stop: AtomicBool::new(false),
            now_ns: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            counts: Default::default(),
            asked: AtomicBool::new(false),
            jobs: Mutex::default(),
        }
    }

    /// Lets the router do something with its path, where everything has happened up to the time
    /// that comes along. Returns what that gave; `None` where the router has ended.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Path, Time) -> T + Send + 'static,
    ) -> Option<T> {
        let (done, gave) = channel();
        let job = move |path: &mut Path, now| done.send(job(path, now)).unwrap_or(());
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(job));
        self.asked.store(true, Ordering::Release);
        gave.recv_timeout(ANSWERS).ok()
    }

    #[cold]
    fn work(&self, path: &mut Path, now: Time) {
        self.asked.store(false, Ordering::Release);
        let jobs = std::mem::take(&mut *self.jobs.lock().unwrap_or_else(PoisonError::into_inner));
        for job in jobs {
            job(path, now);
        }
    }

    /// Says how far the router is.
    fn tell(&self, now: Time, path: &mut Path) {
        self.now_ns.store(now.as_nanos(), Ordering::Relaxed);
        self.waiting.store(u64::from(path.waiting(now.min(MAX_TIME))), Ordering::Relaxed);
        let c = path.counts();
        for (shared, count) in
            self.counts.iter().zip([c.received, c.dropped, c.made_ce + c.made_ect1])
        {
            shared.store(count, Ordering::Relaxed);
        }
    }

    /// Returns how far the router is, `t_s` seconds after the beginning.
    pub(crate) fn status(&self, t_s: f64) -> Status {
        let count = |i: usize| self.counts[i].load(Ordering::Relaxed);
        Status {
            t_s,
            queue_pkts: self.waiting.load(Ordering::Relaxed),
            received: count(0),
            dropped: count(1),
            marked: count(2),
        }
    }
}

/// The lateness of frames: the time at which the kernel was given them minus the time at which the
/// ideal path would have delivered them.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    histogram: DelayHistogram,
    max: Duration,
    n: u64,
    late: u64,
    beyond: u64,
}

impl Lateness {
    fn add(&mut self, late: Duration, transmission: Duration, bound: Duration) {
        self.histogram.add(late);
        self.max = self.max.max(late);
        self.n += 1;
        self.late += u64::from(late > transmission);
        self.beyond += u64::from(late > bound);
    }

    /// A quantile in seconds.
    pub fn quantile_s(&self, q: f64) -> Option<f64> {
        self.histogram.quantile_s(q)
    }

    /// The largest, in seconds.
    pub fn max_s(&self) -> f64 {
        self.max.as_secs_f64()
    }

    /// The share of frames that were more than one transmission time of a full packet late.
    pub fn share_late(&self) -> f64 {
        self.share(self.late)
    }

    /// The share of frames beyond the bound of validity.
    pub fn share_beyond(&self) -> f64 {
        self.share(self.beyond)
    }

    fn share(&self, n: u64) -> f64 {
        if self.n == 0 {
            0.0
        } else {
            n as f64 / self.n as f64
        }
    }
}

/// The result that the loop returns at its end.
pub struct Ran {
    /// The path, with all that was counted.
    pub path: Path,
    /// The lateness of the frames in the measured window.
    pub lateness: Lateness,
    /// The ports, still open: a TUN device disappears with its descriptor, and with it what its
    /// host's kernel knows of the path.
    pub ports: [Port; 2],
    /// The scheduling of the thread.
    pub priority: Priority,
    /// CPU of this thread, seconds.
    pub cpu_s: f64,
    /// Frames that could not be sent although they were due: the device took none.
    pub unsent: u64,
    /// Frames longer than an MTU: offload was not off.
    pub oversized: u64,
    /// Frames that the kernel dropped in front of the router.
    pub missed: u64,
    /// Frames that the capture could not take in time.
    pub uncaptured: u64,
}

/// The things that one run of the loop needs.
pub struct Loop<'a> {
    /// The access links and the bottleneck.
    pub path: Path,
    /// The ports to the left and the right host.
    pub ports: [Port; 2],
    /// Whether to ask for SCHED_FIFO.
    pub fifo: bool,
    /// The time that a full packet takes.
    pub bound: Duration,
    /// A frame that is later than this counts against validity.
    pub valid_bound: Duration,
    /// The measured window: lateness of frames due in it counts.
    pub window: (Time, Time),
    /// The capture, if one was asked for.
    pub capture: Option<Recorder>,
    /// If true, frames are captured when they are delivered, with the time at which that is due.
    /// Otherwise they are captured when they arrive.
    pub capture_out: bool,
    /// The state that this thread shares with the others.
    pub shared: &'a Shared,
    /// The time at which the clock shows zero, in nanoseconds of the monotonic clock. The loop sets
    /// it when it runs.
    pub zero_ns: u64,
}

impl Loop<'_> {
    /// Runs the loop on this thread. When the thread has what timing needs, the loop sets its clock
    /// and tells `begin` when that will show zero: what sends to the router begins no earlier.
    ///
    /// # Errors
    /// If a port fails.
    pub fn run(mut self, begin: impl FnOnce(u64)) -> io::Result<Ran> {
        let priority = sys::prioritise(self.fifo);
        let _awake = (priority == Priority::Fifo).then(sys::stay_awake);
        let cpu = sys::thread_cpu_ns();
        self.zero_ns = sys::monotonic_ns() + LEAD_NS;
        begin(self.zero_ns);
        let mut out = Out::default();
        let mut doors = Doors { open: [true; 2], ready: [true; 2], answered: None, oversized: 0 };
        while sys::monotonic_ns() < self.zero_ns {
            sys::wait(&[], Wall::from_nanos(self.zero_ns.saturating_sub(sys::monotonic_ns())));
        }
        loop {
            let until = Time::from_nanos(self.shared.until_ns.load(Ordering::Relaxed));
            let busy = self.take_in(&mut doors, until)?;
            let now = self.now();
            self.path.advance(now.min(MAX_TIME));
            if self.shared.asked.load(Ordering::Acquire) {
                self.shared.work(&mut self.path, now.min(MAX_TIME));
            }
            out.pending.extend(self.path.due());
            if let Some(capture) = self.capture.as_mut().filter(|_| self.capture_out) {
                for (due, slot) in &out.pending {
                    capture.frame(*due, self.path.frame(*slot));
                }
            }
            let zero_ns = self.zero_ns;
            out.send(
                &mut self.path,
                &mut self.ports,
                (self.bound, self.valid_bound),
                self.window,
                || since(zero_ns),
            )?;
            self.shared.tell(now, &mut self.path);
            let empty = self.path.empty(Side::Left) && self.path.empty(Side::Right);
            if self.shared.stop.load(Ordering::Relaxed) || (doors.open == [false; 2] && empty) {
                break;
            }
            doors.ready = if busy { [true; 2] } else { self.sleep(&doors, now, until) };
        }
        let missed = self.ports.iter().map(Port::missed).sum();
        Ok(Ran {
            path: self.path,
            ports: self.ports,
            lateness: out.lateness,
            priority,
            cpu_s: (sys::thread_cpu_ns() - cpu) as f64 / 1e9,
            unsent: out.unsent,
            oversized: doors.oversized,
            missed,
            uncaptured: self.capture.map_or(0, Recorder::finish),
        })
    }

    /// Returns the time on the router's clock.
    fn now(&self) -> Time {
        since(self.zero_ns)
    }

    /// Takes what has come from both sides, and closes the doors when the time is up. Returns
    /// whether more may wait.
    fn take_in(&mut self, doors: &mut Doors, until: Time) -> io::Result<bool> {
        let mut busy = false;
        for side in [Side::Left, Side::Right] {
            let at = side as usize;
            let reads = doors.open[at] && doors.ready[at];
            let n = if reads { self.ports[at].receive()? } else { 0 };
            let now = self.now();
            if now >= until {
                doors.open[Side::Left as usize] = false;
                // What the right side answers to the last of it still passes.
                if self.path.empty(Side::Left)
                    && now.since(*doors.answered.get_or_insert(now)) >= ANSWER
                {
                    doors.open[Side::Right as usize] = false;
                }
            }
            busy |= n == BATCH;
            for i in 0..if doors.open[at] { n } else { 0 } {
                // Frames that were read together came one after another: a discipline that looks at
                // the time between two arrivals must not see none.
                let now = self.now();
                self.path.advance(now.min(MAX_TIME));
                let slot = self.path.take();
                let s = self.path.slot(slot);
                s.len = self.ports[at].hand_over(i, &mut s.bytes);
                doors.oversized += u64::from(s.len > self.ports[at].most());
                if let Some(capture) = self.capture.as_mut().filter(|_| !self.capture_out) {
                    capture.frame(now, &s.bytes[..s.len]);
                }
                self.path.arrive(now, side, slot);
            }
        }
        Ok(busy)
    }

    /// Sleeps until a frame comes or a departure is due. Returns the sides from which one has come.
    fn sleep(&self, doors: &Doors, now: Time, until: Time) -> [bool; 2] {
        // Others may move the end: look at it a few times a second.
        let mut most = Wall::from_millis(50);
        if let Some(next) = self.path.next() {
            let least = if self.bound < GROUP { GROUP } else { Duration::ZERO };
            most = most.min(Wall::from_nanos(next.since(now).max(least).as_nanos()));
        }
        if doors.open[Side::Left as usize] {
            most = most.min(Wall::from_nanos(until.since(now).as_nanos()));
            sys::wait(&[self.ports[0].fd(), self.ports[1].fd()], most)
        } else if doors.open[Side::Right as usize] {
            let [right, _] = sys::wait(&[self.ports[1].fd()], most.min(Wall::from_millis(10)));
            [false, right]
        } else {
            sys::wait(&[], most)
        }
    }
}

/// Returns the time since a clock showed zero.
fn since(zero_ns: u64) -> Time {
    Time::from_nanos(sys::monotonic_ns().saturating_sub(zero_ns))
}

/// The sides that still send.
struct Doors {
    open: [bool; 2],
    /// The sides from which frames have come, as far as is known.
    ready: [bool; 2],
    /// The time at which the last frame from the left had passed after the end.
    answered: Option<Time>,
    /// Frames longer than an MTU.
    oversized: u64,
}

/// Frames that are due.
#[derive(Default)]
struct Out {
    pending: Vec<(Time, u32)>,
    lateness: Lateness,
    unsent: u64,
}

impl Out {
    fn send(
        &mut self,
        path: &mut Path,
        ports: &mut [Port; 2],
        bounds: (Duration, Duration),
        window: (Time, Time),
        clock: impl Fn() -> Time,
    ) -> io::Result<()> {
        let mut done = 0;
        while done < self.pending.len() {
            // Frames to one side that follow each other go in one call.
            let to = path.to(self.pending[done].1);
            let run = self.pending[done..]
                .iter()
                .take(BATCH)
                .take_while(|(_, slot)| path.to(*slot) == to)
                .count();
            let mut sent = 0;
            // A frame departs when the kernel is given it; what the call does besides is the
            // receiving host's work.
            let mut at = [Time::ZERO; BATCH];
            for attempt in 0..100 {
                let slots = &self.pending[done + sent..done + run];
                let mut frames: [&[u8]; BATCH] = [&[]; BATCH];
                for (frame, (_, slot)) in frames.iter_mut().zip(slots) {
                    *frame = path.frame(*slot);
                }
                at[sent..run].fill(clock());
                sent += ports[to as usize].send(&frames[..slots.len()])?;
                if sent == run {
                    break;
                }
                // The device is full: its reader is behind. A moment, not a spin.
                if attempt > 0 {
                    sys::wait(&[], Wall::from_micros(100));
                }
            }
            for (i, (due, slot)) in self.pending[done..done + run].iter().enumerate() {
                if window.0 <= *due && *due < window.1 {
                    self.lateness.add(at[i].since(*due), bounds.0, bounds.1);
                }
                self.unsent += u64::from(i >= sent);
                path.release(*slot);
            }
            done += run;
        }
        self.pending.clear();
        Ok(())
    }
}
