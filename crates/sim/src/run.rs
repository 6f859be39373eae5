//! A run in steps: for whoever watches it while it runs, and changes it.

use crate::config::Config;
use crate::engine::{ended, prepared, Engine};
use crate::error::SimError;
use crate::handle::Handle;
use crate::result::RunResult;
#[cfg(doc)]
use penstock_queue::Link;
use penstock_queue::{LinkConfig, Table};
use penstock_units::{Duration, Time};

/// A run that goes on when it is told to.
///
/// Where it pauses makes no difference to what happens: [`Run::finish`] gives the numbers of
/// [`crate::run`], and the pieces of a table that [`Run::taken_tables`] gives, one behind the other,
/// are the table.
pub struct Run {
    engine: Engine,
    handle: Handle,
    lead_in: Option<Duration>,
    now: Time,
}

impl Run {
    /// A run at its beginning. The lead-in, where there is one, has been tried.
    ///
    /// # Errors
    /// As for [`crate::run`].
    pub fn new(config: &Config) -> Result<Self, SimError> {
        let handle = Handle::default();
        let (engine, lead_in) = prepared(config, &handle, &mut || ())?;
        Ok(Run { engine, handle, lead_in, now: Time::ZERO })
    }

    /// What happens before this time has happened.
    pub fn now(&self) -> Time {
        self.now
    }

    /// When it ends, the lead-in included.
    pub fn end(&self) -> Time {
        self.engine.end()
    }

    /// Lets everything happen that comes before `until`.
    ///
    /// # Errors
    /// If a custom discipline ends the run.
    pub fn advance(&mut self, until: Time) -> Result<(), SimError> {
        let until = until.min(self.end());
        if until > self.now {
            self.engine.advance(until, &self.handle, &mut || ())?;
            self.now = until;
        }
        if self.handle.abort.raised() {
            return Err(SimError::Aborted(self.handle.abort.message()));
        }
        Ok(())
    }

    /// Takes out what the series of the bottleneck and of the flows have recorded since the last
    /// time.
    pub fn taken_tables(&mut self) -> Vec<Table> {
        self.engine.taken_tables(self.now)
    }

    /// The bottleneck's discipline and buffer are those of `link` from now on, the discipline of
    /// the same kind as before. The flows, the packets that wait and what the discipline has
    /// learned stay ([`Link::retune`]). Returns false, and changes nothing, where packets would
    /// have to wait in another way.
    ///
    /// # Errors
    /// If the discipline's values do not fit together.
    pub fn retune(&mut self, link: &LinkConfig) -> Result<bool, SimError> {
        let bottleneck = self.engine.bottleneck_at(self.now);
        if !bottleneck.retune(self.now, link)? {
            return Ok(false);
        }
        bottleneck.resize(link.buffer);
        Ok(true)
    }

    /// Lets the rest happen.
    ///
    /// # Errors
    /// As for [`Run::advance`].
    pub fn finish(self) -> Result<RunResult, SimError> {
        let engine = ended(self.engine, &self.handle, &mut || ())?;
        Ok(RunResult { lead_in: self.lead_in, ..engine.result() })
    }
}
