//! These are facts that a scenario states about itself before anything runs.

use super::link::Line;
use super::topology::Topology;
use super::traffic::{Source, Traffic};
use super::Plan;
use crate::keys;
use crate::tables::{Access, Shape};
use penstock_aqm::QueueUnit;
use penstock_units::param::{field, DelaySpec};
use penstock_units::{Duration, QueueLen, Rate};

/// What follows from a scenario before anything runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The beginning of the measured window, in seconds.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// The link that the run's metrics describe.
    pub bottleneck: LinkFacts,
    /// The other direction of the table that describes the bottleneck, where it has one.
    pub opposite: Option<LinkFacts>,
    /// The entries of `[[traffic]]`, in their order.
    pub groups: Vec<GroupFacts>,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkFacts {
    /// The path of the table that describes it, such as `topology.link.3`.
    pub path: String,
    /// The path of the table that describes its discipline, such as `aqm.reverse`.
    pub aqm_path: String,
    /// Whether it is the direction in which its table is written.
    pub forward: bool,
    /// The rate at the beginning, in bits per second: a trace's mean.
    pub rate_bps: f64,
    /// The propagation delay, in seconds.
    pub delay_s: f64,
    /// The size of a packet for what is said in packets, in bytes.
    pub mean_packet: u64,
    /// Whether the queue counts bytes.
    pub in_bytes: bool,
    /// The bytes that may wait; a packet counts as a mean one.
    pub buffer_bytes: u64,
    /// What the discipline's keys come to that may be left out or hold a word, such as RED's
    /// thresholds and weight. A length is in bytes where the queue counts them, else in packets.
    pub settled: Vec<(&'static str, f64)>,
}

impl LinkFacts {
    /// Returns how many packets of the mean size may wait.
    pub fn room_pkts(&self) -> u64 {
        self.buffer_bytes / self.mean_packet
    }
}

/// An entry of `[[traffic]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupFacts {
    /// Its name in the results.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// The number of its flows, or of its sessions.
    pub flows: u32,
    /// Whether its data come from the side of `access`.
    pub forward: bool,
    /// Whether it is a transfer that neither its size nor a time ends.
    pub endless: bool,
    /// The shortest and the longest round trip of its flows over empty queues in seconds,
    /// transmissions left out; `None` where no route leads back.
    pub round_trip_s: Option<(f64, f64)>,
    /// TCP's full packets.
    pub full_packet: Option<FullPacket>,
}

/// A full packet of a group that sends TCP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FullPacket {
    /// Payload, in bytes.
    pub segment: u32,
    /// The other bytes on the wire.
    pub header: u32,
    /// The time that its transmissions take from the sender to the receiver, in seconds.
    pub sending_s: f64,
}

impl Plan {
    pub fn facts(&self) -> Facts {
        let topology = &self.topology;
        let bottleneck = &topology.links[topology.bottleneck];
        let goes_back = |l: &&Line| {
            l.wire == bottleneck.wire && (l.end, l.from) == (bottleneck.from, bottleneck.end)
        };
        Facts {
            from_s: self.measure.from.as_secs_f64(),
            to_s: self.measure.to.unwrap_or(self.top.duration).as_secs_f64(),
            bottleneck: topology.link_facts(bottleneck),
            opposite: topology.links.iter().find(goes_back).map(|l| topology.link_facts(l)),
            groups: self.traffic.iter().map(|each| topology.group_facts(each)).collect(),
        }
    }
}

impl Topology {
    fn link_facts(&self, line: &Line) -> LinkFacts {
        let table = format!("topology.{}", self.kind.link);
        let first = self.links.iter().find(|l| l.wire == line.wire);
        let mean = line.common.mean_packet.0;
        LinkFacts {
            path: if self.kind.graph { format!("{table}.{}", line.wire) } else { table },
            aqm_path: line.place.clone(),
            forward: first.is_some_and(|l| l.from == line.from),
            rate_bps: line.rate.as_bps() as f64,
            delay_s: line.delay.as_secs_f64(),
            mean_packet: mean,
            in_bytes: field::<Option<QueueUnit>>(&line.values, "unit") == Some(QueueUnit::Bytes),
            buffer_bytes: match line.buffer {
                QueueLen::Packets(n) => n as u64 * mean,
                QueueLen::Bytes(n) => n,
            },
            settled: settled(line),
        }
    }

    fn group_facts(&self, traffic: &Traffic) -> GroupFacts {
        let long = matches!(&traffic.source, Source::Ftp(_, ftp) if ftp.bytes.is_none());
        GroupFacts {
            name: traffic.name().into(),
            kind: traffic.kind.name,
            flows: traffic.group.flows,
            forward: traffic.forward,
            endless: long && traffic.group.stop.is_none(),
            round_trip_s: self.round_trip_s(traffic),
            full_packet: traffic.source.tcp().map(|tcp| {
                let (segment, header) = (tcp.segment_bytes(), tcp.header_bytes());
                let sending_s = self.sending_s(traffic, segment + header);
                FullPacket { segment, header, sending_s }
            }),
        }
    }

    /// Returns the shortest and the longest round trip over empty queues of a group's flows in
    /// seconds, transmissions left out; `None` where no route leads back.
    ///
    /// It leads over the whole of a chain, or on the group's routes in a graph.
    fn round_trip_s(&self, traffic: &Traffic) -> Option<(f64, f64)> {
        let of = |side: Option<&Access>| side.map(|each| each.delay);
        let near = ends_s(traffic.group.access_delay.or(of(self.access.as_ref())));
        let far = ends_s(of(self.far_side()));
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

    /// Returns the time that the transmissions of a packet take, at the access links and on its
    /// way.
    fn sending_s(&self, traffic: &Traffic, bytes: u32) -> f64 {
        let route = self.route(traffic.from, traffic.to).unwrap_or_default();
        let seconds = |bytes: u32, rate: Rate| f64::from(bytes) * 8.0 / rate.as_bps() as f64;
        let links = route.iter().map(|i| &self.links[*i as usize]);
        // A shaper lets a packet go at once.
        let lines = links.filter(|line| line.burst.is_none());
        let between = lines.map(|line| {
            seconds(line.framing.map_or(bytes, |framing| framing.wire(bytes)), line.rate)
        });
        let ends = [self.access.as_ref(), self.far_side()].into_iter().flatten();
        between.chain(ends.map(|side| seconds(bytes, side.rate))).sum()
    }

    /// Returns the access links on the side of `egress`.
    fn far_side(&self) -> Option<&Access> {
        self.egress.as_ref().or(self.access.as_ref())
    }
}

/// Asks the discipline what its keys come to; a user discipline has none.
fn settled(line: &Line) -> Vec<(&'static str, f64)> {
    let mut found = vec![];
    if line.user.is_none() {
        let aqm = penstock_aqm::build(line.aqm.name, &line.values, &line.context());
        let aqm = aqm.expect("was built when the scenario was checked");
        let params = keys::aqm_params(line.aqm);
        aqm.settled(&mut |name, value| {
            if keys::find(&params, name).is_some() {
                found.push((name, value));
            }
        });
    }
    found
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
