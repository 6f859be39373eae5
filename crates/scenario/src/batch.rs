//! Many runs on many threads: in the order of the runs, whichever was faster.

use penstock_sim::{run_watched, Config, Handle, RunResult, SimError};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// The interval at which the caller is asked whether to go on, and told how far the runs are.
const WAKE: Duration = Duration::from_millis(50);

/// The progress of the runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Simulated time of all runs so far, seconds.
    pub simulated_s: f64,
    /// Runs that have ended.
    pub done: usize,
    /// All runs.
    pub total: usize,
}

/// A run that has ended, with its number.
type Ended<P, T> = (usize, Result<RunResult, BatchError<P, T>>);

/// The reason why a batch has no results.
#[derive(Debug)]
pub enum BatchError<P, T> {
    /// A configuration could not be prepared.
    Prepare(P),
    /// A run ended without a result.
    Run(SimError),
    /// A custom discipline ended its run with this error.
    Custom(penstock_sim::UserError),
    /// The caller ended the batch with this error.
    Told(T),
}

impl<P, T> BatchError<P, T> {
    fn of(error: SimError, control: &Handle) -> Self {
        control.abort.take().map_or(BatchError::Run(error), BatchError::Custom)
    }
}

/// Runs `total` configurations, which `prepare` makes by number, and returns their results in that
/// order. `tell` is called about twenty times a second on this thread; its error ends all runs at
/// once and goes before every other. Of the runs' errors the first in their order is returned.
///
/// With one job the runs go one after the other on this thread.
///
/// # Errors
/// As [`BatchError`] says.
pub fn run_many<P: Send, T: Send>(
    total: usize,
    jobs: usize,
    prepare: impl Fn(usize) -> Result<Config, P> + Sync,
    mut tell: impl FnMut(Progress) -> Result<(), T>,
) -> Result<Vec<RunResult>, BatchError<P, T>> {
    let batch = Batch {
        prepare: &prepare,
        controls: (0..total).map(|_| Handle::default()).collect(),
        next: AtomicUsize::new(0),
        stopped: AtomicBool::new(false),
    };
    // One after the other needs no thread, which would cost a short run a tenth of its time.
    if jobs.min(total) <= 1 {
        batch.in_turn(&mut tell)
    } else {
        batch.on_threads(jobs, &mut tell)
    }
}

struct Batch<'a, F> {
    prepare: &'a F,
    controls: Vec<Handle>,
    /// The number of the next run that nobody has begun.
    next: AtomicUsize,
    stopped: AtomicBool,
}

impl<F> Batch<'_, F> {
    fn progress(&self, done: usize) -> Progress {
        let now_ns: u64 = self.controls.iter().map(|c| c.now_ns.load(Ordering::Relaxed)).sum();
        Progress { simulated_s: now_ns as f64 / 1e9, done, total: self.controls.len() }
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.controls.iter().for_each(|c| c.stop.store(true, Ordering::Relaxed));
    }

    fn in_turn<P, T>(
        &self,
        tell: &mut dyn FnMut(Progress) -> Result<(), T>,
    ) -> Result<Vec<RunResult>, BatchError<P, T>>
    where
        F: Fn(usize) -> Result<Config, P>,
    {
        let woken = Cell::new(Instant::now());
        let mut results = vec![];
        for (i, control) in self.controls.iter().enumerate() {
            let config = (self.prepare)(i).map_err(BatchError::Prepare)?;
            let mut told = None;
            let result = run_watched(&config, control, &mut || {
                if woken.get().elapsed() >= WAKE && told.is_none() {
                    woken.set(Instant::now());
                    told = tell(self.progress(i)).err();
                    control.stop.store(told.is_some(), Ordering::Relaxed);
                }
            });
            if let Some(told) = told {
                return Err(BatchError::Told(told));
            }
            results.push(result.map_err(|error| BatchError::of(error, control))?);
            if woken.get().elapsed() >= WAKE {
                woken.set(Instant::now());
                tell(self.progress(i + 1)).map_err(BatchError::Told)?;
            }
        }
        Ok(results)
    }

    fn on_threads<P: Send, T: Send>(
        &self,
        jobs: usize,
        tell: &mut dyn FnMut(Progress) -> Result<(), T>,
    ) -> Result<Vec<RunResult>, BatchError<P, T>>
    where
        F: Fn(usize) -> Result<Config, P> + Sync,
    {
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            for _ in 0..jobs.min(self.controls.len()) {
                let sender = sender.clone();
                scope.spawn(move || self.work(&sender));
            }
            drop(sender);
            self.gather(&receiver, tell)
        })
    }

    /// Takes runs until none is left.
    fn work<P, T>(&self, sender: &Sender<Ended<P, T>>)
    where
        F: Fn(usize) -> Result<Config, P>,
    {
        loop {
            let i = self.next.fetch_add(1, Ordering::Relaxed);
            if i >= self.controls.len() || self.stopped.load(Ordering::Relaxed) {
                return;
            }
            let control = &self.controls[i];
            let result = (self.prepare)(i).map_err(BatchError::Prepare).and_then(|config| {
                let result = penstock_sim::run(&config, control);
                result.map_err(|error| BatchError::of(error, control))
            });
            // The receiver lives until every sender is gone, so this cannot fail.
            let _ = sender.send((i, result));
        }
    }

    /// Collects the results, and tells the caller meanwhile.
    fn gather<P, T>(
        &self,
        receiver: &Receiver<Ended<P, T>>,
        tell: &mut dyn FnMut(Progress) -> Result<(), T>,
    ) -> Result<Vec<RunResult>, BatchError<P, T>> {
        let mut results: Vec<Option<RunResult>> = self.controls.iter().map(|_| None).collect();
        let mut failed: Option<(usize, BatchError<P, T>)> = None;
        let mut told = None;
        let (mut done, mut woken) = (0, Instant::now());
        loop {
            match receiver.recv_timeout(WAKE.saturating_sub(woken.elapsed())) {
                Ok((i, Ok(result))) => {
                    results[i] = Some(result);
                    done += 1;
                }
                Ok((i, Err(error))) => {
                    self.stop();
                    if failed.as_ref().is_none_or(|(first, _)| i < *first) {
                        failed = Some((i, error));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if woken.elapsed() >= WAKE {
                woken = Instant::now();
                if told.is_none() {
                    told = tell(self.progress(done)).err();
                    if told.is_some() {
                        self.stop();
                    }
                }
            }
        }
        match (told, failed) {
            (Some(told), _) => Err(BatchError::Told(told)),
            (None, Some((_, error))) => Err(error),
            (None, None) => Ok(results.into_iter().flatten().collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    const TEXT: &str = "
        duration = \"2 s\"
        [topology.bottleneck]
        rate = \"1 Mbit/s\"
        delay = \"10 ms\"
        [[traffic]]
        kind = \"ftp\"
    ";

    fn seeds(jobs: usize) -> Vec<u64> {
        let scenario = Scenario::from_toml(TEXT, "batch.toml").unwrap();
        let prepare = |i: usize| scenario.lower(7 + i as u64).map_err(|e| e.to_string());
        let results = run_many(5, jobs, prepare, |_| Ok::<(), ()>(()));
        results.unwrap().iter().map(|r| r.seed).collect()
    }

    #[test]
    fn results_are_in_order() {
        assert_eq!(seeds(1), [7, 8, 9, 10, 11]);
        assert_eq!(seeds(3), [7, 8, 9, 10, 11]);
    }

    #[test]
    fn the_first_error_in_order_is_returned() {
        for jobs in [1, 4] {
            let prepare = |i: usize| Err::<Config, usize>(i);
            let failed = run_many(4, jobs, prepare, |_| Ok::<(), ()>(()));
            assert!(matches!(failed, Err(BatchError::Prepare(0))), "{jobs} jobs");
        }
    }

    /// An hour of simulated time takes far longer than the caller waits.
    #[test]
    fn the_caller_ends_all_runs() {
        let scenario = Scenario::from_toml(TEXT, "batch.toml").unwrap();
        let scenario = scenario.set("duration", "100 h").unwrap();
        for jobs in [1, 2] {
            let prepare = |i: usize| scenario.lower(i as u64).map_err(|e| e.to_string());
            let told =
                run_many(
                    2,
                    jobs,
                    prepare,
                    |p| if p.simulated_s > 0.0 { Err("no") } else { Ok(()) },
                );
            assert!(matches!(told, Err(BatchError::Told("no"))), "{jobs} jobs");
        }
    }
}
