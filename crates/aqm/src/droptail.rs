//! DropTail: first in, first out, and what does not fit is dropped.

use crate::{Aqm, Discipline, Kind, Packet, Queue, Verdict};
use penstock_units::{Rng, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "droptail",
    doc: "First in, first out; the arriving packet is dropped when the buffer is full.",
    source: "ns-2: DropTail",
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
