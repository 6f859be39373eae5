//! A host's access link: a FIFO with one feeder, so that a packet's arrival at the other end is
//! known when it is sent.

use crate::config::HostConfig;
use penstock_units::{Duration, Time, TxClock};
use std::collections::VecDeque;

/// One direction of an access link: half a cache line, since with thousands of flows every packet
/// finds four of them cold.
pub struct Pipe {
    busy_until: Time,
    delay: Duration,
    /// What most links do without.
    slow: Option<Box<Slow>>,
    /// Ticks that a byte takes, where that is a whole number of them and `slow` is empty; 0: there
    /// is no link, only a delay.
    ticks_per_byte: u32,
    /// For the caller, who finds it where the pipe is: a pipe has no use for it.
    pub note: u8,
}

/// A link whose rate does not divide, or whose buffer is limited.
struct Slow {
    tx: TxClock,
    room: Option<u32>,
    /// Where the buffer is limited: when the packets that wait will start.
    waiting: VecDeque<Time>,
}

impl Pipe {
    /// An idle one.
    pub fn new(c: &HostConfig) -> Self {
        let tx = c.rate.map(TxClock::new);
        let whole = tx.and_then(|tx| tx.ticks_per_byte());
        let slow = match (tx, whole, c.buffer) {
            (None, ..) | (_, Some(_), None) => None,
            (Some(tx), ..) => Some(Box::new(Slow { tx, room: c.buffer, waiting: VecDeque::new() })),
        };
        Pipe {
            busy_until: Time::ZERO,
            delay: c.delay,
            slow,
            ticks_per_byte: whole.unwrap_or(0),
            note: 0,
        }
    }

    /// Returns how long before its arrival at the other end a packet of `bytes` began to be sent.
    pub fn crossing(&self, bytes: u32) -> Duration {
        let tx = match &self.slow {
            Some(slow) => slow.tx.alone(bytes),
            None => Duration::from_ticks(u64::from(bytes) * u64::from(self.ticks_per_byte)),
        };
        tx + self.delay
    }

    /// A packet enters at `now`, never before the last one did. Returns when it comes out, or
    /// `None` where the buffer is full.
    #[inline]
    pub fn send(&mut self, now: Time, bytes: u32) -> Option<Time> {
        if self.slow.is_some() {
            return self.send_slowly(now, bytes);
        }
        let tx = Duration::from_ticks(u64::from(bytes) * u64::from(self.ticks_per_byte));
        self.busy_until = self.busy_until.max(now) + tx;
        Some(self.busy_until + self.delay)
    }

    fn send_slowly(&mut self, now: Time, bytes: u32) -> Option<Time> {
        let slow = self.slow.as_mut()?;
        let start = if self.busy_until > now {
            if let Some(room) = slow.room {
                while slow.waiting.front().is_some_and(|t| *t <= now) {
                    slow.waiting.pop_front();
                }
                if slow.waiting.len() >= room as usize {
                    return None;
                }
                slow.waiting.push_back(self.busy_until);
            }
            self.busy_until
        } else {
            slow.tx.idle();
            now
        };
        self.busy_until = start + slow.tx.next(bytes);
        Some(self.busy_until + self.delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_units::Rate;

    #[test]
    fn packets_queue_and_overflow() {
        // 8 kbit/s: 1000 B take a second; 2 ms of delay; one may wait.
        let c = HostConfig {
            rate: Rate::from_bps(8_000),
            delay: Duration::from_millis(2),
            buffer: Some(1),
        };
        let mut p = Pipe::new(&c);
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        assert_eq!(p.send(ms(0), 1000), Some(ms(1002)));
        assert_eq!(p.send(ms(10), 1000), Some(ms(2002)));
        assert_eq!(p.send(ms(20), 1000), None);
        assert_eq!(p.send(ms(1000), 1000), Some(ms(3002)), "the second has started");
        assert_eq!(p.send(ms(5000), 500), Some(ms(5502)));
    }

    /// 2 ms of delay; with and without a link, with a rate that does not divide.
    #[test]
    fn the_short_way_is_the_long_way() {
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        for rate in
            [None, Rate::from_bps(8_000_000), Rate::from_bps(1_100_000), Rate::from_bps(1_000)]
        {
            let c = HostConfig { rate, delay: Duration::from_millis(2), buffer: None };
            let (mut p, mut tx) = (Pipe::new(&c), rate.map(TxClock::new));
            let mut busy = Time::ZERO;
            for t in [0, 0, 1, 1, 50_000] {
                if let Some(tx) = &mut tx {
                    if busy <= ms(t) {
                        tx.idle();
                    }
                    busy = busy.max(ms(t)) + tx.next(1000);
                } else {
                    busy = ms(t);
                }
                assert_eq!(
                    p.send(ms(t), 1000),
                    Some(busy + Duration::from_millis(2)),
                    "{rate:?} at {t} ms"
                );
            }
        }
    }
}
