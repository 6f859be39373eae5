//! One-way delays (RFC 7679) and losses (RFC 7680): of the data packets that leave their hosts in the
//! measured window, how long each takes to its receiver's host, and whether it arrives. A run in which
//! nobody asks for them has none of this, and its packets cost nothing more: where it is there, all
//! access links are watched ([`penstock_queue::Pipe::watch`]).

use crate::packet::{flag, Pkt};
use penstock_queue::PacketStats;
use penstock_units::Time;

/// See the module.
#[derive(Clone)]
pub(crate) struct OneWay {
    window: (Time, Time),
    /// When the run ends.
    end: Time,
    /// By the packets' places in the pool: when one left its host, if it is watched and under way.
    left: Vec<Option<Time>>,
    /// By flow: when the datagram left that has yet to get a place, behind its source's own access
    /// link.
    ahead: Vec<Time>,
    flows: Vec<PacketStats>,
}

impl OneWay {
    pub(crate) fn new(flows: usize, window: (Time, Time), end: Time) -> Self {
        let stats = vec![PacketStats::default(); flows];
        OneWay { window, end, left: vec![], ahead: vec![Time::ZERO; flows], flows: stats }
    }

    fn inside(&self, t: Time) -> bool {
        t >= self.window.0 && t < self.window.1
    }

    /// The packet at `index` leaves its host at `at`.
    pub(crate) fn leaves(&mut self, at: Time, index: u32, p: &Pkt) {
        let watched = self.inside(at) && !p.is(flag::ACK) && !p.is(flag::REQUEST);
        self.put(index, watched.then_some(at));
        self.flows[p.flow as usize].came += u64::from(watched);
    }

    /// The packet at `index` has yet to leave its host. Its place may be that of one that was lost.
    pub(crate) fn waits(&mut self, index: u32) {
        self.put(index, None);
    }

    fn put(&mut self, index: u32, left: Option<Time>) {
        let index = index as usize;
        if index >= self.left.len() {
            self.left.resize(index + 1, None);
        }
        self.left[index] = left;
    }

    /// The packet at `index` is at its receiver's host at `at`.
    pub(crate) fn arrives(&mut self, at: Time, index: u32, p: &Pkt) {
        if at >= self.end {
            return;
        }
        let left = self.left.get_mut(index as usize).and_then(Option::take);
        if let Some(left) = left {
            self.flows[p.flow as usize].through(at.since(left));
        }
    }

    /// A flow's datagram leaves its host at `at`, and will get a place later.
    pub(crate) fn leaves_ahead(&mut self, at: Time, flow: usize) {
        self.ahead[flow] = at;
    }

    /// That one gets its place.
    pub(crate) fn placed(&mut self, index: u32, p: &Pkt) {
        self.leaves(self.ahead[p.flow as usize], index, p);
    }

    /// A flow's datagram does not get through its own access link at `at`.
    pub(crate) fn lost_ahead(&mut self, at: Time, flow: usize) {
        self.flows[flow].came += u64::from(self.inside(at));
    }

    /// Returns what was counted of each flow. `live` are the packets in the pool: those under way
    /// when the run ends are not lost, and do not count.
    pub(crate) fn finish<'a>(
        mut self,
        live: impl Iterator<Item = (u32, &'a Pkt)>,
    ) -> Vec<PacketStats> {
        for (index, p) in live {
            if self.left.get(index as usize).is_some_and(Option::is_some) {
                self.flows[p.flow as usize].came -= 1;
            }
        }
        for stats in &mut self.flows {
            stats.lost = stats.came - stats.through_n();
        }
        self.flows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_units::Duration;

    /// A packet of flow 0 is lost on its way, and one of flow 1 gets its place, but has yet to leave
    /// its host when the run ends: one has come and is lost, and it is flow 0's.
    #[test]
    fn a_place_does_not_remember_a_lost_packet() {
        let end = Time::ZERO + Duration::from_secs_f64(1.0);
        let mut one_way = OneWay::new(2, (Time::ZERO, end), end);
        one_way.leaves(Time::ZERO, 0, &Pkt::BLANK);
        one_way.waits(0);
        let next = Pkt { flow: 1, ..Pkt::BLANK };
        let found = one_way.finish([(0, &next)].into_iter());
        let counts: Vec<_> = found.iter().map(|stats| (stats.came, stats.lost)).collect();
        assert_eq!(counts, [(1, 1), (0, 0)]);
    }
}
