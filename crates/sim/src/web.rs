//! A session of `web` without parallel connections: object after object, each over a connection of
//! its own.

use crate::config::Pages;
use penstock_units::{Duration, Rng, Time};
use std::sync::Arc;

/// The pages of such a session, whatever carries them: the simulator's packets or real ones.
///
/// All is drawn from the stream of the flow, in which the simulator's TCP also draws: once for the
/// flow's first connection, and once after each later object's size, for the connection that the
/// object opens.
#[derive(Clone, Debug)]
pub struct WebSession {
    pub(crate) start: Time,
    stop: Option<Time>,
    pages: Arc<Pages>,
    /// Objects of this page still to fetch.
    left: u32,
    active: bool,
}

impl WebSession {
    /// A session with the values of [`crate::App::Web`].
    pub fn new(pages: &Arc<Pages>, start: Time, stop: Option<Time>) -> Self {
        let (pages, left) = (Arc::clone(pages), pages.objects_per_page);
        WebSession { start, stop, pages, left, active: false }
    }

    /// Returns the size of the object to fetch at `now`, and whether it is a later one; `None` once
    /// the session has stopped.
    pub fn next(&mut self, now: Time, rng: &mut Rng) -> Option<(u64, bool)> {
        if self.stop.is_some_and(|stop| now >= stop) {
            return None;
        }
        let bytes = libm::ceil(self.pages.object.draw(rng).max(1.0)) as u64;
        Some((bytes, std::mem::replace(&mut self.active, true)))
    }

    /// An object has arrived. Returns how long to wait before the next one.
    pub fn arrived(&mut self, rng: &mut Rng) -> Duration {
        self.left = self.left.saturating_sub(1);
        let seconds = if self.left > 0 {
            self.pages.inter_object.draw(rng)
        } else {
            self.left = self.pages.objects_per_page;
            self.pages.think.draw(rng)
        };
        Duration::from_secs_f64(seconds)
    }
}
