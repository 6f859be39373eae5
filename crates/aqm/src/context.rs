//! A discipline is made from its own parameters and from the things in this file: the link, the
//! parameters that all kinds share, and the unit of the queue.

use penstock_units::param::{Param, ParamError, Params, Value, Values};
use penstock_units::{params, words, Bytes, Duration, Framing, QueueLen, Rate};
use std::sync::Arc;

/// The facts that a discipline may know of the link that it stands on.
#[derive(Clone, Debug)]
pub struct Context {
    /// Rate of the link at the start.
    pub rate: Rate,
    /// Its propagation delay.
    pub delay: Duration,
    /// The queue length that may wait.
    pub buffer: QueueLen,
    /// What a packet takes on the line.
    pub framing: Framing,
    /// Between which hosts its flows are.
    pub hosts: Hosts,
}

impl Context {
    /// A link that adds nothing to its packets, whose flows are each between hosts of their own.
    pub fn new(rate: Rate, delay: Duration, buffer: QueueLen) -> Self {
        Context { rate, delay, buffer, framing: Framing::NONE, hosts: Hosts::default() }
    }
}

/// The hosts of flows, as numbers: source and destination of what passes the link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts(Option<Arc<[(u32, u32)]>>);

impl Hosts {
    /// The hosts of flow 0, 1, …. Numbers are below 2³¹.
    pub fn new(of_flows: Vec<(u32, u32)>) -> Self {
        Hosts(Some(of_flows.into()))
    }

    /// Returns the source and the destination of a flow's packets. A flow of which nothing is said
    /// has two hosts to itself.
    #[inline]
    pub fn of(&self, flow: u32) -> (u32, u32) {
        let own = flow | 1 << 31;
        self.0.as_ref().and_then(|all| all.get(flow as usize)).copied().unwrap_or((own, own))
    }
}

words! {
    /// What the queue's length counts.
    pub enum QueueUnit {
        /// Packets.
        Packets = "packets",
        /// Bytes.
        Bytes = "bytes",
    }
}

params! {
    /// Parameters that every kind takes.
    pub struct Common: Default {
        /// Mark packets that allow it instead of dropping them.
        pub ecn: bool { default: false, source: "RFC 3168" },
        /// Whether the queue is measured in packets or bytes.
        pub unit: Option<QueueUnit> {
            auto: "bytes where the buffer or a threshold is in bytes, else packets",
            source: "Floyd, Jacobson 1993, section 8",
        },
        /// Mean packet size, from which the link's packets per second follow.
        pub mean_packet: Bytes { default: "1000 B", source: "Floyd, Jacobson 1993" },
        /// Whether the packet in transmission counts against the buffer.
        pub count_in_service: bool {
            default: false,
            source: "ns-2: DropTail and REM hold limit − 1 waiting packets",
        },
    }
}

/// Parameters that every kind takes.
pub const COMMON: &[Param] = Common::TABLE;

/// The unit in which a discipline measures its queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    /// Bytes, not packets.
    pub(crate) bytes: bool,
    /// Units in a packet of the mean size.
    pub(crate) per_pkt: f64,
    /// The mean size.
    pub(crate) mean: Bytes,
}

impl Unit {
    /// Returns a length in packets of the mean size.
    #[inline(always)]
    pub(crate) fn pkts(&self, length: f64) -> f64 {
        if self.bytes {
            length / self.per_pkt
        } else {
            length
        }
    }

    /// Checks a kind's parameters, and returns the unit that they ask for.
    pub(crate) fn of<P: Params>(
        params: &P,
        common: &Common,
        cx: &Context,
    ) -> Result<Self, ParamError> {
        params.check()?;
        if common.mean_packet.0 == 0 {
            return Err(ParamError::new("mean_packet", "must be above 0 B"));
        }
        let bytes = match common.unit {
            Some(unit) => unit == QueueUnit::Bytes,
            None => matches!(cx.buffer, QueueLen::Bytes(_)) || has_length_in_bytes(params),
        };
        Ok(Unit::new(bytes, common.mean_packet))
    }

    fn new(bytes: bool, mean: Bytes) -> Self {
        Unit { bytes, per_pkt: if bytes { mean.0 as f64 } else { 1.0 }, mean }
    }

    /// Returns a length in this unit. Packets are of the mean size.
    pub(crate) fn length(&self, q: QueueLen) -> f64 {
        match q {
            QueueLen::Packets(n) if self.bytes => n * self.mean.0 as f64,
            QueueLen::Packets(n) => n,
            QueueLen::Bytes(b) if self.bytes => b as f64,
            QueueLen::Bytes(b) => b as f64 / self.mean.0 as f64,
        }
    }

    /// Returns the unit that counts in bytes, whatever the queue counts.
    pub(crate) fn in_bytes(self) -> Self {
        Unit::new(true, self.mean)
    }

    /// Returns the unit that counts in packets, whatever the queue counts.
    pub(crate) fn in_packets(self) -> Self {
        Unit::new(false, self.mean)
    }
}

fn has_length_in_bytes<P: Params>(params: &P) -> bool {
    let mut values = Values::new();
    params.write(&mut values);
    values.any(&|value| matches!(value, Value::Queue(QueueLen::Bytes(_))))
}

/// Refuses a period that would flood the clock.
pub(crate) fn at_least_a_microsecond(
    name: &'static str,
    period: Duration,
) -> Result<(), ParamError> {
    if period < Duration::from_micros(1) {
        return Err(ParamError::new(name, "must be at least 1 us"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_come_in_the_unit_of_the_queue() {
        let (pkts, bytes) = (QueueLen::Packets(20.0), QueueLen::Bytes(10_000));
        for (length, in_bytes, want) in [
            (pkts, false, 20.0),
            (pkts, true, 8_000.0),
            (bytes, true, 10_000.0),
            (bytes, false, 25.0),
        ] {
            assert_eq!(Unit::new(in_bytes, Bytes(400)).length(length), want, "{length:?}");
        }
    }
}
