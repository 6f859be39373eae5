//! A run in steps: for whoever watches it while it runs, and changes it.

use crate::config::Config;
use crate::engine::{ended, prepared, Engine};
use crate::error::SimError;
use crate::handle::Handle;
use crate::observe::SenderState;
use crate::result::RunResult;
use penstock_queue::{Link, LinkConfig, Table, UserError};
use penstock_units::{Duration, QueueLen, Time};

/// A run that goes on when it is told to.
///
/// Where it pauses makes no difference to what happens: [`Run::finish`] gives the numbers of
/// [`crate::run`], and the pieces of a table that [`Run::taken_tables`] gives, one behind the other,
/// are the table. Links and senders stand as they do at the pause: nothing later has been worked
/// out there.
pub struct Run {
    engine: Engine,
    handle: Handle,
    lead_in: Option<Duration>,
}

impl Run {
    /// A run at its beginning. The lead-in, where there is one, has been tried.
    ///
    /// # Errors
    /// As for [`crate::run`].
    pub fn new(config: &Config) -> Result<Self, SimError> {
        let handle = Handle::default();
        let (engine, lead_in) = prepared(config, &handle, &mut || ())?;
        Ok(Run { engine, handle, lead_in })
    }

    /// What happens before this time has happened.
    pub fn now(&self) -> Time {
        self.engine.now()
    }

    /// When it ends, the lead-in included.
    pub fn end(&self) -> Time {
        self.engine.end()
    }

    /// How long its lead-in takes, where it has one.
    pub fn lead_in(&self) -> Option<Duration> {
        self.lead_in
    }

    /// What ends it, and tells why it ended.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Lets everything happen that comes before `until`.
    ///
    /// # Errors
    /// If a custom discipline ends the run.
    pub fn advance(&mut self, until: Time) -> Result<(), SimError> {
        self.advance_watched(until, &mut |_| ())
    }

    /// [`Run::advance`], calling `watch` every few thousand events with what stops the run. One that
    /// was stopped does not go on.
    ///
    /// # Errors
    /// As for [`Run::advance`]; also where it was stopped.
    pub fn advance_watched(
        &mut self,
        until: Time,
        watch: &mut dyn FnMut(&Handle),
    ) -> Result<(), SimError> {
        let until = until.min(self.end());
        if until > self.now() {
            self.engine.advance(until, &self.handle, &mut || watch(&self.handle))?;
        }
        self.going()
    }

    /// # Errors
    /// If a custom discipline has ended the run.
    fn going(&self) -> Result<(), SimError> {
        if self.handle.abort.raised() {
            return Err(SimError::Aborted(self.handle.abort.message()));
        }
        Ok(())
    }

    /// Takes out what the series of the bottleneck and of the flows have recorded since the last
    /// time.
    pub fn taken_tables(&mut self) -> Vec<Table> {
        self.engine.taken_tables()
    }

    /// Returns the links as they are now.
    pub fn links(&mut self) -> &[Link] {
        self.engine.links_now()
    }

    /// Returns a link as it is now.
    pub fn link(&mut self, link: usize) -> &Link {
        &self.links()[link]
    }

    /// Returns how a flow's sender stands now; `None` for datagrams.
    pub fn sender(&self, flow: usize) -> Option<SenderState> {
        self.engine.sender(flow)
    }

    /// A controller outside sets a flow's window, segments, and the rate at which its segments leave,
    /// bits of payload per second; `None`: they are not paced. Returns false, and changes nothing,
    /// where the flow has another control than `fixed`.
    pub fn steer(&mut self, flow: usize, window: f64, rate: Option<f64>) -> bool {
        self.engine.steer(flow, window, rate)
    }

    /// A link's discipline and buffer are those of `c` from now on, the discipline of the same kind
    /// as before. The flows, the packets that wait and what the discipline has learned stay
    /// ([`Link::retune`]). Returns false, and changes nothing, where packets would have to wait in
    /// another way.
    ///
    /// # Errors
    /// If the discipline's values do not fit together.
    pub fn retune(&mut self, link: usize, c: &LinkConfig) -> Result<bool, SimError> {
        let now = self.now();
        let own = &mut self.engine.links_now()[link];
        if !own.retune(now, c)? {
            return Ok(false);
        }
        own.resize(c.buffer);
        Ok(true)
    }

    /// A link's buffer holds so much from now on. What waits above that stays.
    pub fn resize(&mut self, link: usize, buffer: QueueLen) {
        self.engine.links_now()[link].resize(buffer);
    }

    /// A link's discipline and buffer are those of `c` from now on, whatever kind it is. The
    /// discipline begins here, and what waits is sent as it came ([`Link::swap`]).
    ///
    /// # Errors
    /// If the discipline's values do not fit together, or a custom one cannot be made.
    pub fn swap(&mut self, link: usize, c: &LinkConfig) -> Result<(), SimError> {
        self.engine.swap(link, c, &self.handle.abort)?;
        self.going()
    }

    /// Returns a run that stands where this one does, and goes on by itself.
    ///
    /// # Errors
    /// If a custom discipline cannot be copied.
    pub fn copy(&self) -> Result<Self, UserError> {
        let handle = Handle::default();
        let engine = self.engine.copy(&handle.abort)?;
        Ok(Run { engine, handle, lead_in: self.lead_in })
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
