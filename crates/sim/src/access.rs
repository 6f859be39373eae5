//! Queues at hosts' access links. A bottleneck is simulated to have the queue there: a run in which
//! one at an access link was longer says so.
//!
//! A queue is measured at a price per packet, so only those pipes are that may hold a longer one
//! ([`queues`]). A pipe at least twice as fast as the slowest link on a packet's way holds none, apart
//! from bursts that this link drops:
//!
//! - *Up* from a host, TCP sends as ACKs come, at the rate b of that link, and in bursts. Of a burst
//!   of n packets the last waits n/r behind an access link of rate r, and n/b − n/r at that link,
//!   which is more where r is above 2b.
//! - *Down* to a host, packets come one after the other. Behind a large one small ones wait for
//!   less than its length.
//! - Datagrams pile up behind an access link that is not faster than their source. Where they come
//!   at random (M/D/1), more than one waits from a load of two thirds on.
//!
//! What waits is compared with the links on the flow's own way whose queues are measured: in a
//! dumbbell the bottleneck, else all.

use crate::config::{App, Config, FlowConfig};
use penstock_queue::{HostConfig, LinkConfig, Queued, Schedule};

/// An access link of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessLink {
    /// The flow's entry of `[[traffic]]`; `None`: of a program that no entry describes.
    pub group: Option<u32>,
    /// Its number within the group.
    pub flow: u32,
    /// Whether it is that of the host that sends the data; else of the one that receives them.
    pub sender: bool,
    /// Whether packets wait for it at the host; else at its router.
    pub up: bool,
}

/// The longest queue at an access link that was longer than at each link on the flow's way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccessQueue {
    /// Where it was.
    pub link: AccessLink,
    /// The mean time that packets waited there, seconds, over those that came in the measured
    /// window.
    pub mean_s: f64,
    /// The longest `delay_mean_s` of those links: in a dumbbell the bottleneck's.
    pub on_the_way_s: f64,
}

/// An [`AccessQueue`] as it goes to another process: group, flow, sender, up, the two means.
pub type AccessParts = (Option<u32>, u32, bool, bool, f64, f64);

impl From<AccessQueue> for AccessParts {
    fn from(q: AccessQueue) -> Self {
        let AccessLink { group, flow, sender, up } = q.link;
        (group, flow, sender, up, q.mean_s, q.on_the_way_s)
    }
}

impl From<AccessParts> for AccessQueue {
    fn from((group, flow, sender, up, mean_s, on_the_way_s): AccessParts) -> Self {
        AccessQueue { link: AccessLink { group, flow, sender, up }, mean_s, on_the_way_s }
    }
}

impl AccessQueue {
    /// Returns the longest of the queues that are longer than on their way, the first of equal ones.
    /// With each goes the longest `delay_mean_s` there; none where no packet left a link.
    pub fn longest(
        queues: impl IntoIterator<Item = (AccessLink, Queued, Option<f64>)>,
    ) -> Option<Self> {
        let mut longest: Option<Self> = None;
        for (link, queue, on_the_way_s) in queues {
            let (Some(mean_s), Some(on_the_way_s)) = (queue.mean_s(), on_the_way_s) else {
                continue;
            };
            let more = mean_s > on_the_way_s && longest.is_none_or(|l| mean_s > l.mean_s);
            if queue.is_one() && more {
                longest = Some(AccessQueue { link, mean_s, on_the_way_s });
            }
        }
        longest
    }
}

/// Returns for each host whether a queue that is longer than on its packets' way may form up from it
/// and down to it.
pub(crate) fn queues(c: &Config) -> Vec<[bool; 2]> {
    let links: Vec<f64> = c.links.iter().map(fastest).collect();
    let least = |r: &Vec<u32>| r.iter().map(|l| links[*l as usize]).fold(f64::INFINITY, f64::min);
    let slowest: Vec<f64> = c.routes.iter().map(least).collect();
    let last = |route: u16| c.routes[usize::from(route)].last().copied();
    let mut hosts = vec![Load::default(); c.hosts.len()];
    // Which links feed which host: one list, as hosts may be many.
    let mut feeders = vec![];
    for f in &c.flows {
        let (src, dst) = (f.src as usize, f.dst as usize);
        hosts[src].sends(f, slowest[usize::from(f.forward)]);
        feeders.push((dst, last(f.forward)));
        if f.app.tcp().is_some() {
            hosts[dst].paced = hosts[dst].paced.max(slowest[usize::from(f.backward)]);
            feeders.push((src, last(f.backward)));
        }
    }
    feeders.sort_unstable();
    feeders.dedup();
    for (host, link) in feeders {
        // Without a link packets come from another host's access link.
        hosts[host].fed += link.map_or(f64::INFINITY, |l| links[l as usize]);
    }
    let of = |(host, c): (&Load, &HostConfig)| {
        let Some(rate) = c.rate.map(|r| r.as_bps() as f64) else { return [false; 2] };
        let up = rate <= 2.0 * host.paced || rate < 1.5 * host.datagrams;
        [up, rate <= 2.0 * host.fed]
    };
    hosts.iter().zip(&c.hosts).map(of).collect()
}

/// What comes to a host's access link.
#[derive(Clone, Default)]
struct Load {
    /// The rate of the slowest link on the way of what TCP sends from it; of several ways the
    /// largest.
    paced: f64,
    /// The rate of the datagrams that it sends.
    datagrams: f64,
    /// The rate of the links from which packets come down to it, together.
    fed: f64,
}

impl Load {
    fn sends(&mut self, f: &FlowConfig, slowest: f64) {
        self.paced = self.paced.max(slowest);
        self.datagrams += match &f.app {
            App::Udp { rate, .. } => rate.as_bps() as f64,
            // As they were written down.
            App::Replay { .. } => f64::INFINITY,
            _ => 0.0,
        };
    }
}

/// Returns the highest rate of a link. One that sends at opportunities sends several packets at
/// once.
fn fastest(link: &LinkConfig) -> f64 {
    match &link.schedule {
        Schedule::Trace(_) => f64::INFINITY,
        Schedule::Steps(steps) => {
            let rates = steps.iter().filter_map(|(_, rate)| *rate).chain([link.rate]);
            rates.map(|r| r.as_bps() as f64).fold(0.0, f64::max)
        }
    }
}
