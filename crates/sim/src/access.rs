//! A host's access link: a FIFO with one feeder, so that a packet's arrival at the other end is known when it is sent.

use crate::config::HostConfig;
use penstock_units::{Duration, Time, TxClock};
use std::collections::VecDeque;

/// One direction of an access link.
#[repr(align(64))]
pub(crate) struct Pipe {
    tx: Option<TxClock>,
    busy_until: Time,
    delay: Duration,
    /// Where the buffer is limited: when the packets that wait will start.
    limit: Option<Box<(u32, VecDeque<Time>)>>,
}

impl Pipe {
    fn new(c: &HostConfig) -> Self {
        Pipe {
            tx: c.rate.map(TxClock::new),
            busy_until: Time::ZERO,
            delay: c.delay,
            limit: c.buffer.map(|n| Box::new((n, VecDeque::new()))),
        }
    }

    /// How long before its arrival at the other end a packet of `bytes` began to be sent.
    pub(crate) fn crossing(&self, bytes: u32) -> Duration {
        self.tx.map_or(Duration::ZERO, |tx| tx.alone(bytes)) + self.delay
    }

    /// A packet enters at `now` (never before the last one did); when it comes out, or `None` where the buffer is full.
    #[inline]
    pub(crate) fn send(&mut self, now: Time, bytes: u32) -> Option<Time> {
        let Some(tx) = &mut self.tx else { return Some(now + self.delay) };
        let start = if self.busy_until > now {
            if let Some(limit) = &mut self.limit {
                let (room, waiting) = &mut **limit;
                while waiting.front().is_some_and(|t| *t <= now) {
                    waiting.pop_front();
                }
                if waiting.len() >= *room as usize {
                    return None;
                }
                waiting.push_back(self.busy_until);
            }
            self.busy_until
        } else {
            tx.idle();
            now
        };
        self.busy_until = start + tx.next(bytes);
        Some(self.busy_until + self.delay)
    }
}

/// A host. Each direction has a cache line of its own.
#[repr(C, align(64))]
pub(crate) struct Host {
    /// Towards the router.
    pub(crate) up: Pipe,
    /// From the router.
    pub(crate) down: Pipe,
    /// Packets reach the router's end of `down` from more than one link: each needs an event there.
    pub(crate) merges: bool,
}

impl Host {
    pub(crate) fn new(c: &HostConfig, merges: bool) -> Self {
        Host { up: Pipe::new(c), down: Pipe::new(c), merges }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_units::Rate;

    #[test]
    fn packets_queue_and_overflow() {
        // 8 kbit/s: 1000 B take a second; 2 ms of delay; one may wait.
        let c = HostConfig { rate: Rate::from_bps(8_000), delay: Duration::from_millis(2), buffer: Some(1) };
        let mut p = Pipe::new(&c);
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        assert_eq!(p.send(ms(0), 1000), Some(ms(1002)));
        assert_eq!(p.send(ms(10), 1000), Some(ms(2002)));
        assert_eq!(p.send(ms(20), 1000), None);
        assert_eq!(p.send(ms(1000), 1000), Some(ms(3002)), "the second has started");
        assert_eq!(p.send(ms(5000), 500), Some(ms(5502)));
    }
}
