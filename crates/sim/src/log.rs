//! The packet log: which packet it was that the `events` series of a link tells of. A link knows a
//! packet by its place among all that came to it; here stands whose that is.

use crate::packet::{flag, Pkt};
use penstock_queue::{Column, Table};

/// See the module.
#[derive(Clone)]
pub(crate) struct PacketLog {
    /// By the packets' places in the pool.
    here: Vec<Identity>,
    /// Of each flow the datagrams that came so far.
    datagrams: Vec<u64>,
    /// Of each link the packets that came to it, in order.
    came: Vec<Vec<Identity>>,
}

/// A packet's number, and its segment.
#[derive(Clone, Copy, Default)]
struct Identity {
    packet: u64,
    sequence: u64,
}

impl PacketLog {
    pub(crate) fn new(links: usize, flows: usize) -> Self {
        let came = vec![vec![]; links];
        PacketLog { here: vec![], datagrams: vec![0; flows], came }
    }

    /// The packet at `index` comes to a link. The first one gives it its number, which does not
    /// depend on what else has been worked out by then.
    pub(crate) fn arrives(&mut self, link: u32, index: u32, p: &Pkt) {
        let (links, index) = (self.came.len() as u64, index as usize);
        let came = &mut self.came[link as usize];
        if index >= self.here.len() {
            self.here.resize(index + 1, Identity::default());
        }
        if p.hop == 0 {
            let sequence = if p.is(flag::DATAGRAM) {
                let of_flow = &mut self.datagrams[p.flow as usize];
                std::mem::replace(of_flow, *of_flow + 1)
            } else {
                // As in TCP's headers an ACK tells what it expects next.
                (p.seq + i64::from(p.is(flag::ACK | flag::REQUEST))).max(0) as u64
            };
            let packet = came.len() as u64 * links + u64::from(link);
            self.here[index] = Identity { packet, sequence };
        }
        came.push(self.here[index]);
    }

    /// Puts packets and segments into the `events` series of a link, where it stands among `tables`.
    pub(crate) fn name(&self, link: usize, tables: &mut [Table]) {
        for table in tables.iter_mut().filter(|t| t.name == "events") {
            let at = table.columns.iter().position(|(name, _)| name == "packet");
            let Some((at, Column::U64(places))) = at.map(|at| (at, &table.columns[at].1)) else {
                continue;
            };
            let of = |place: &u64| self.came[link][*place as usize];
            let packets = places.iter().map(|place| of(place).packet).collect();
            let sequence = places.iter().map(|place| of(place).sequence).collect();
            table.columns[at].1 = Column::U64(packets);
            table.columns.insert(at + 1, ("seq".into(), Column::U64(sequence)));
        }
    }
}
