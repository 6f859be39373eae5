//! The lead-in: it runs by itself first, to learn how long it takes, and then again as the beginning
//! of the whole run, whose other times move by as much. Both begin alike: a flow that has not
//! started touches nothing, and every component draws from a stream of its own.

use crate::config::{App, Config, LeadIn, Record};
use crate::flow::{Flow, FlowKind};
use penstock_queue::Schedule;
use penstock_units::{Duration, Time};

/// How often the flows are looked at.
const LOOK: Duration = Duration::from_millis(10);

/// Returns the run of the lead-in alone.
pub(crate) fn alone(c: &Config, lead: &LeadIn) -> Config {
    let mut c = c.clone();
    c.lead_in = None;
    c.duration = lead.limit;
    c.record = Record { series: Some(LOOK), ..Record::default() };
    for link in &mut c.links {
        if let Schedule::Steps(steps) = &mut link.schedule {
            steps.clear();
        }
    }
    for flow in &mut c.flows {
        let (start, stop) = flow.app.times_mut();
        *stop = None;
        if !lead.groups[flow.group as usize] {
            *start = Time::ZERO + lead.limit; // when the run is over
        }
    }
    c
}

/// Returns the whole run, whose time zero is at `zero`. For who runs a configuration otherwise than
/// with [`crate::run`], and cannot look at its flows.
pub fn shifted(c: &Config, lead: &LeadIn, zero: Duration) -> Config {
    let mut c = c.clone();
    c.lead_in = None;
    c.duration = c.duration + zero;
    c.measure_from += zero;
    c.measure_to += zero;
    for link in &mut c.links {
        if let Schedule::Steps(steps) = &mut link.schedule {
            for (at, _) in steps {
                *at += zero;
            }
        }
    }
    for flow in &mut c.flows {
        let early = lead.groups[flow.group as usize];
        let (start, stop) = flow.app.times_mut();
        if !early {
            *start += zero;
        }
        if let Some(stop) = stop {
            *stop += zero;
        }
    }
    c
}

/// Returns whether every flow has left slow start once; `left` keeps which ones have.
pub(crate) fn settled(flows: &[Flow], left: &mut [bool]) -> bool {
    for (flow, left) in flows.iter().zip(left.iter_mut()) {
        let FlowKind::Tcp(t) = &flow.kind else { continue };
        *left |= t.sender.acknowledged() >= 0 && t.sender.cwnd() >= t.sender.ssthresh();
    }
    left.iter().all(|left| *left)
}

/// Returns of each flow whether the lead-in need not wait for it.
pub(crate) fn others(c: &Config, lead: &LeadIn) -> Vec<bool> {
    let waits = |f: &crate::config::FlowConfig| {
        lead.groups[f.group as usize] && matches!(f.app, App::Ftp { .. })
    };
    c.flows.iter().map(|f| !waits(f)).collect()
}
