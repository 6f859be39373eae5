//! The discipline of a scenario's bottleneck by itself (see [`penstock_aqm::probe`]).

use crate::error::ScenarioError;
use crate::scenario::Scenario;
use penstock_aqm::probe::{probe, Counts, Held};
use penstock_aqm::{Codepoints, Common, Discipline, Ecn};
use penstock_sim::{Abort, AqmConfig, Start, UserError};
use penstock_units::param::Params as _;
use penstock_units::{Duration, Rng};

/// The settings with which the discipline is probed; the link is the scenario's.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Packets in the queue.
    pub queue: u32,
    /// Arrivals over the link's rate.
    pub load: f64,
    /// Whether packets are ECN-capable, and so marked where they may be.
    pub capable: bool,
    /// The number of flows, which all send equally.
    pub flows: u32,
    /// The times at which counting begins, each time for `window`. The queue has been held from the
    /// start.
    pub from: Vec<Duration>,
    /// The time for which packets are counted, from each time in `from`.
    pub window: Duration,
    /// The number of runs that are added up, each with a separate random stream.
    pub runs: u64,
}

/// Why there are no counts.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The scenario cannot be laid out.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// What a user discipline failed with.
    #[error("{0}")]
    Own(UserError),
}

impl Scenario {
    /// Returns what the bottleneck's discipline does to packets of the mean size while the queue is
    /// held: counts for each of `from`.
    ///
    /// # Errors
    /// If the scenario is too large to be laid out, or what a user discipline raised.
    pub fn probe(&self, how: &Probe) -> Result<Vec<Counts>, ProbeError> {
        let config = self.lower(self.seed())?;
        let link = &config.links[config.bottleneck];
        let windows: Vec<_> = how.from.iter().map(|from| (*from, how.window)).collect();
        let mut sums = vec![Counts::default(); windows.len()];
        for run in 0..how.runs {
            let abort = Abort::default();
            let rng = Rng::stream(self.seed().wrapping_add(run), "aqm/probe");
            let (values, context) = (&*link.aqm_values, &link.aqm_context);
            let mut aqm = match &link.aqm {
                AqmConfig::Kind(kind) => penstock_aqm::build(kind, values, context)
                    .expect("was built when the scenario was checked"),
                AqmConfig::User(own) => {
                    let (link, abort, rng) = (link.name.as_str(), &abort, rng.clone());
                    let made = own.make(Start { link, context, values, rng, abort });
                    Discipline::User(made.map_err(ProbeError::Own)?)
                }
            };
            let unmarked = match aqm.codepoints() {
                Codepoints::Wire => Ecn::Ect0,
                Codepoints::Literal => Ecn::Ect1,
            };
            let held = Held {
                queue: how.queue,
                buffer: link.buffer,
                rate: link.rate,
                load: how.load,
                bytes: u32::try_from(Common::read(&link.aqm_values).mean_packet.0)
                    .unwrap_or(u32::MAX),
                ecn: if how.capable { unmarked } else { Ecn::NotEct },
                flows: how.flows,
            };
            probe(&mut *aqm, rng, &held, &windows, &mut sums);
            if let Some(error) = abort.take() {
                return Err(ProbeError::Own(error));
            }
        }
        Ok(sums)
    }
}
