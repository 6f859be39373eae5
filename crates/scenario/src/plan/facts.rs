//! These are facts that a scenario states about its paths before anything runs.

use super::topology::Topology;
use super::traffic::Traffic;
use crate::tables::{Access, Shape};
use penstock_units::param::DelaySpec;
use penstock_units::Duration;

impl Topology {
    /// Returns the shortest and the longest round trip over empty queues of a group's flows in
    /// seconds, transmissions left out; `None` where no route leads back.
    ///
    /// It leads over the whole of a chain, or on the group's routes in a graph.
    pub fn round_trip_s(&self, traffic: &Traffic) -> Option<(f64, f64)> {
        let egress = self.egress.as_ref().or(self.access.as_ref());
        let of = |side: Option<&Access>| side.map(|each| each.delay);
        let near = ends_s(traffic.group.access_delay.or(of(self.access.as_ref())));
        let far = ends_s(of(egress));
        let between = match self.shape {
            Shape::Graph(_) => {
                self.one_way_s(traffic.from, traffic.to)?
                    + self.one_way_s(traffic.to, traffic.from)?
            }
            Shape::Dumbbell | Shape::ParkingLot(_) => {
                let there_and_back =
                    self.links[0].delay.as_secs_f64() + self.links[1].delay.as_secs_f64();
                f64::from(self.hops()) * there_and_back
            }
        };
        Some((2.0 * (near.0 + far.0) + between, 2.0 * (near.1 + far.1) + between))
    }

    fn one_way_s(&self, from: u32, to: u32) -> Option<f64> {
        let route = self.route(from, to)?;
        Some(route.iter().fold(0.0, |sum, i| sum + self.links[*i as usize].delay.as_secs_f64()))
    }
}

/// Returns the least and the greatest of a delay, of which flows may have different ones.
fn ends_s(delay: Option<DelaySpec>) -> (f64, f64) {
    let (low, high) = match delay {
        None => (Duration::ZERO, Duration::ZERO),
        Some(DelaySpec::Fixed(one)) => (one, one),
        Some(DelaySpec::Uniform(low, high) | DelaySpec::Spread(low, high)) => (low, high),
    };
    let (low, high) = (low.as_secs_f64(), high.as_secs_f64());
    (low.min(high), low.max(high))
}
