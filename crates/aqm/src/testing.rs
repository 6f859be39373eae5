//! The crate's tests share these helpers.

use crate::{Context, Discipline, Kind, Packet, Queue, COMMON};
use penstock_units::param::{ParamError, Params, Profile, Values};
use penstock_units::{Duration, QueueLen, Rate};

/// 10 Mbit/s, 20 ms, 100 packets.
pub(crate) fn context() -> Context {
    Context::new(
        Rate::from_bps(10_000_000).unwrap(),
        Duration::from_millis(20),
        QueueLen::Packets(100.0),
    )
}

/// A kind's defaults with some keys set, as TOML literals.
pub(crate) fn values(kind: &Kind, set: &[(&'static str, &'static str)]) -> Values {
    let tables: Vec<_> = kind.params.iter().copied().chain([COMMON]).collect();
    let mut values = Values::defaults(&tables, &kind.defaults, Profile::Rfc);
    for p in tables.iter().copied().flatten() {
        if let Some((_, text)) = set.iter().find(|(key, _)| *key == p.name) {
            values.set(p.name, p.ty.literal(text).expect("of its type"));
        }
    }
    values
}

/// A discipline of that kind with some keys set.
pub(crate) fn build(
    kind: &Kind,
    set: &[(&'static str, &'static str)],
) -> Result<Discipline, ParamError> {
    crate::build(kind.name, &values(kind, set), &context())
}

/// A kind's parameters with some keys set.
pub(crate) fn params<P: Params>(kind: &Kind, set: &[(&'static str, &'static str)]) -> P {
    P::read(&values(kind, set))
}

/// A packet of 1000 B that is not ECN-capable.
pub(crate) const PKT: Packet = Packet { bytes: 1000, ecn: crate::Ecn::NotEct, flow: 0, class: 0 };

/// A queue in front of a busy link.
pub(crate) fn busy(pkts: u32) -> Queue {
    Queue { pkts, bytes: u64::from(pkts) * 1000, idle_since: None }
}
