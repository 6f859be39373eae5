//! Facts of a scenario, as Python reads them.

use pyo3::prelude::*;
use std::collections::BTreeMap;

/// What follows from a scenario before anything runs.
#[pyclass(frozen, get_all, module = "penstock._penstock")]
pub struct Facts {
    from_s: f64,
    to_s: f64,
    bottleneck: LinkFacts,
    opposite: Option<LinkFacts>,
    groups: Vec<GroupFacts>,
}

/// One direction of a link.
#[pyclass(frozen, get_all, module = "penstock._penstock")]
#[derive(Clone)]
pub struct LinkFacts {
    path: String,
    aqm_path: String,
    forward: bool,
    rate_bps: f64,
    delay_s: f64,
    mean_packet: u64,
    in_bytes: bool,
    buffer_bytes: u64,
    room_pkts: u64,
    settled: BTreeMap<&'static str, f64>,
}

/// An entry of `[[traffic]]`.
#[pyclass(frozen, get_all, module = "penstock._penstock")]
#[derive(Clone)]
pub struct GroupFacts {
    name: String,
    kind: &'static str,
    flows: u32,
    forward: bool,
    endless: bool,
    round_trip_s: Option<(f64, f64)>,
    full_packet: Option<FullPacket>,
}

/// A full packet of a group that sends TCP.
#[pyclass(frozen, get_all, module = "penstock._penstock")]
#[derive(Clone)]
pub struct FullPacket {
    segment: u32,
    header: u32,
    sending_s: f64,
}

impl From<penstock_scenario::Facts> for Facts {
    fn from(f: penstock_scenario::Facts) -> Self {
        Facts {
            from_s: f.from_s,
            to_s: f.to_s,
            bottleneck: f.bottleneck.into(),
            opposite: f.opposite.map(Into::into),
            groups: f.groups.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<penstock_scenario::LinkFacts> for LinkFacts {
    fn from(f: penstock_scenario::LinkFacts) -> Self {
        LinkFacts {
            room_pkts: f.room_pkts(),
            path: f.path,
            aqm_path: f.aqm_path,
            forward: f.forward,
            rate_bps: f.rate_bps,
            delay_s: f.delay_s,
            mean_packet: f.mean_packet,
            in_bytes: f.in_bytes,
            buffer_bytes: f.buffer_bytes,
            settled: f.settled.into_iter().collect(),
        }
    }
}

impl From<penstock_scenario::GroupFacts> for GroupFacts {
    fn from(f: penstock_scenario::GroupFacts) -> Self {
        let full = |p: penstock_scenario::FullPacket| FullPacket {
            segment: p.segment,
            header: p.header,
            sending_s: p.sending_s,
        };
        GroupFacts {
            name: f.name,
            kind: f.kind,
            flows: f.flows,
            forward: f.forward,
            endless: f.endless,
            round_trip_s: f.round_trip_s,
            full_packet: f.full_packet.map(full),
        }
    }
}
