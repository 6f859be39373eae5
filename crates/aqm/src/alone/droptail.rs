//! DropTail: first in, first out, and what does not fit is dropped.

use crate::aqm::Aqm;
use crate::context::{Common, Context, Unit};
use crate::kind::{own_tables, Kind};
use crate::packet::{Packet, Queue};
use crate::verdict::Verdict;
use penstock_units::param::ParamError;
use penstock_units::{group, Rng, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "droptail",
    doc: "First in, first out; the arriving packet is dropped when the buffer is full.",
    source: "ns-2: DropTail",
    equations: "arrival:  the buffer is full → drop, else queue",
    expect: "Long TCP flows fill whatever buffer there is, so the buffer sets the delay: 100 \
        packets of 1000 B at 10 Mbit/s are 80 ms. The link is busy as long as the buffer holds \
        about a bandwidth-delay product. Losses come in bursts, when the buffer overflows. All \
        other disciplines are measured against it.",
    weaknesses: "Delay grows with the buffer. Flows that lose together back off together, and a \
        flow that sends in bursts loses more than its share. There is no signal before a loss: \
        with ECN nothing is ever marked.",
    params: own_tables::<DropTailParams>(),
    state: &[],
    defaults: DropTailParams::DEFAULTS,
};

group! {
    /// What the user of DropTail sets.
    pub struct DropTailParams {
        /// What every kind takes.
        pub common: Common,
    }
    defaults: [],
    under: { ns2: [("count_in_service", "true")] },
}

/// The discipline. The driver's full buffer is all that it needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct DropTail;

impl DropTail {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range.
    pub fn new(p: &DropTailParams, cx: &Context) -> Result<Self, ParamError> {
        Unit::of(p, &p.common, cx).map(|_| DropTail)
    }
}

impl Aqm for DropTail {
    #[inline]
    fn arrive(&mut self, _: Time, _: &Packet, _: &Queue, _: &mut Rng) -> Verdict {
        Verdict::Pass
    }
}
