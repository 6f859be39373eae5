//! Queues at hosts' access links. Who simulates a bottleneck wants the queue there: a run in which
//! one at an access link was longer says so.
//!
//! To measure what waits costs work per packet, so only pipes that may hold such a queue are
//! measured ([`queues`]):
//!
//! - *Down* to a host, packets come from a link one after the other. Where the access link is at
//!   least as fast as that link, none waits.
//! - *Up* from a host, TCP sends as ACKs come, at the rate of the slowest link on the way, and in
//!   bursts. Of a burst of n packets the last waits n/r behind an access link of rate r, and
//!   n/b − n/r at a link of rate b: longer where r is above 2b.
//! - Datagrams pile up behind an access link that is slower than their source.

use crate::config::{App, Config, FlowConfig};
use crate::host::Host;
use penstock_queue::{HostConfig, LinkConfig, LinkView, Queued, Schedule};

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

/// The longest queue at an access link, in a run in which it was longer than at the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccessQueue {
    /// Where it was.
    pub link: AccessLink,
    /// The mean time that packets waited there, seconds, over those that came in the measured
    /// window.
    pub mean_s: f64,
    /// The same at the bottleneck: `delay_mean_s`, and 0 where no packet left.
    pub bottleneck_s: f64,
}

/// An [`AccessQueue`] as it goes to another process: group, flow, sender, up, the two means.
pub type AccessParts = (Option<u32>, u32, bool, bool, f64, f64);

impl From<AccessQueue> for AccessParts {
    fn from(q: AccessQueue) -> Self {
        let AccessLink { group, flow, sender, up } = q.link;
        (group, flow, sender, up, q.mean_s, q.bottleneck_s)
    }
}

impl From<AccessParts> for AccessQueue {
    fn from((group, flow, sender, up, mean_s, bottleneck_s): AccessParts) -> Self {
        AccessQueue { link: AccessLink { group, flow, sender, up }, mean_s, bottleneck_s }
    }
}

impl AccessQueue {
    /// Returns the longest of the queues, the first of equal ones; it has yet to be compared with the
    /// bottleneck's.
    pub fn longest(queues: impl IntoIterator<Item = (AccessLink, Queued)>) -> Option<Self> {
        let mut longest: Option<Self> = None;
        for (link, queue) in queues {
            let Some(mean_s) = queue.mean_s().filter(|_| queue.is_one()) else { continue };
            if longest.is_none_or(|longest| mean_s > longest.mean_s) {
                longest = Some(AccessQueue { link, mean_s, bottleneck_s: 0.0 });
            }
        }
        longest
    }

    /// Returns it if it is longer than at the bottleneck.
    pub fn beyond(self, bottleneck: &LinkView) -> Option<Self> {
        let bottleneck_s = bottleneck.delay_mean_s().unwrap_or(0.0);
        (self.mean_s > bottleneck_s).then_some(AccessQueue { bottleneck_s, ..self })
    }
}

/// Returns the access links whose queues are measured, each with its host. What flows share is the
/// first one's.
pub(crate) fn links(c: &Config, hosts: &[Host]) -> Vec<(AccessLink, u32)> {
    let mut seen = vec![false; hosts.len()];
    let mut all = vec![];
    for f in &c.flows {
        for (host, sender) in [(f.src, true), (f.dst, false)] {
            if std::mem::replace(&mut seen[host as usize], true) {
                continue;
            }
            let Host { up, down } = &hosts[host as usize];
            for (pipe, up) in [(up, true), (down, false)] {
                let link = AccessLink { group: Some(f.group), flow: f.index, sender, up };
                all.extend(pipe.queued().map(|_| (link, host)));
            }
        }
    }
    all
}

/// Returns the queues of these links.
pub(crate) fn measured<'a>(
    links: &'a [(AccessLink, u32)],
    hosts: &'a [Host],
) -> impl Iterator<Item = (AccessLink, Queued)> + 'a {
    links.iter().filter_map(|(link, host)| {
        let host = &hosts[*host as usize];
        let pipe = if link.up { &host.up } else { &host.down };
        Some((*link, pipe.queued()?))
    })
}

/// Returns for each host whether a queue that is longer than the bottleneck's may form up from it
/// and down to it.
pub(crate) fn queues(c: &Config) -> Vec<[bool; 2]> {
    let links: Vec<f64> = c.links.iter().map(fastest).collect();
    let least = |r: &Vec<u32>| r.iter().map(|l| links[*l as usize]).fold(f64::INFINITY, f64::min);
    let slowest: Vec<f64> = c.routes.iter().map(least).collect();
    let last = |route: u16| c.routes[usize::from(route)].last().copied();
    let mut hosts = vec![Load::default(); c.hosts.len()];
    for f in &c.flows {
        let (src, dst) = (f.src as usize, f.dst as usize);
        hosts[src].sends(f, slowest[usize::from(f.forward)]);
        hosts[dst].fed_by(last(f.forward));
        if f.app.tcp().is_some() {
            hosts[dst].paced = hosts[dst].paced.max(slowest[usize::from(f.backward)]);
            hosts[src].fed_by(last(f.backward));
        }
    }
    let of = |(host, c): (&Load, &HostConfig)| {
        let Some(rate) = c.rate.map(|r| r.as_bps() as f64) else { return [false; 2] };
        let fed = host.feeders.iter().map(|l| links.get(*l as usize).unwrap_or(&f64::INFINITY));
        [rate < 2.0 * host.paced || rate < host.datagrams, rate < fed.sum()]
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
    /// The links from which packets come down to it.
    feeders: Vec<u32>,
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

    /// Without a link packets come from another host's access link.
    fn fed_by(&mut self, link: Option<u32>) {
        let link = link.unwrap_or(u32::MAX);
        if !self.feeders.contains(&link) {
            self.feeders.push(link);
        }
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
