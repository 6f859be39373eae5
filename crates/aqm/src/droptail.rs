//! DropTail: first in, first out, and what does not fit is dropped.

use crate::{Aqm, Discipline, Kind, Packet, Queue, Verdict};
use penstock_units::{Rng, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "droptail",
    doc: "First in, first out; the arriving packet is dropped when the buffer is full.",
    source: "ns-2: DropTail",
    equations: "arrival:  the buffer is full → drop, else queue",
    expect: "Long TCP flows fill whatever buffer there is, so the buffer sets the delay: 100 packets of 1000 B at \
        10 Mbit/s are 80 ms. The link is busy as long as the buffer holds about a bandwidth-delay product. \
        Losses come in bursts, when the buffer overflows. It is what all others are measured against.",
    weaknesses: "Delay grows with the buffer. Flows that lose together back off together, and a flow that sends in \
        bursts loses more than its share. There is no signal before a loss: with ECN nothing is ever marked.",
    params: &[],
    state: &[],
    defaults: &[],
    ns2: &[("count_in_service", "true")],
    build: |_, _| Ok(Discipline::DropTail(DropTail)),
};

/// The discipline; the caller's full buffer is all that it needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct DropTail;

impl Aqm for DropTail {
    #[inline]
    fn arrive(&mut self, _: Time, _: &Packet, _: &Queue, _: &mut Rng) -> Verdict {
        Verdict::Pass
    }
}
