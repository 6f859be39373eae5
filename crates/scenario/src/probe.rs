//! The discipline of a scenario's bottleneck by itself (see [`penstock_aqm::probe`]).

use crate::error::{Problem, ScenarioError};
use crate::node::Origin;
use crate::scenario::Scenario;
use penstock_aqm::probe::{probe, Counts, Held};
use penstock_aqm::{Codepoints, Common, Ecn};
use penstock_sim::AqmConfig;
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

impl Scenario {
    /// Returns what the bottleneck's discipline does to packets of the mean size while the queue is
    /// held: counts for each of `from`.
    ///
    /// # Errors
    /// If the discipline is a user discipline, or the scenario is too large to be laid out.
    pub fn probe(&self, how: &Probe) -> Result<Vec<Counts>, ScenarioError> {
        let config = self.lower(self.seed())?;
        let link = &config.links[config.bottleneck];
        let AqmConfig::Kind(kind) = link.aqm else {
            let problem = Problem::Conflict("a discipline of your own is not probed".into());
            return Err(ScenarioError::new(Origin::Unknown, "aqm", problem));
        };
        let windows: Vec<_> = how.from.iter().map(|from| (*from, how.window)).collect();
        let mut sums = vec![Counts::default(); windows.len()];
        for run in 0..how.runs {
            let aqm = penstock_aqm::build(kind, &link.aqm_values, &link.aqm_context);
            let mut aqm = aqm.expect("was built when the scenario was checked");
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
            let rng = Rng::stream(self.seed().wrapping_add(run), "aqm/probe");
            probe(&mut *aqm, rng, &held, &windows, &mut sums);
        }
        Ok(sums)
    }
}
