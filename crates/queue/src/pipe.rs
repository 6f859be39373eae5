//! A host's access link: a FIFO with one feeder, so that a packet's arrival at the other end is
//! known when it is sent. A queue there is no object: it is how long a packet waits. A pipe that may
//! hold one counts that.

use crate::config::HostConfig;
use crate::stats::seconds;
use penstock_units::{Duration, Time, TxClock};
use std::collections::VecDeque;

/// One direction of an access link: half a cache line, since with thousands of flows every packet
/// finds four of them cold.
#[derive(Clone)]
pub struct Pipe {
    busy_until: Time,
    delay: Duration,
    /// What most links do without. Where all that asks for it is that the queue is measured, it is
    /// there from the first packet on: hosts may be many, and idle.
    slow: Option<Box<Slow>>,
    /// Ticks that a byte takes, where that is a whole number of them; 0: there is no link, only a
    /// delay. With [`SLOWLY`] or [`WATCHED`], packets take the long way.
    ticks_per_byte: u32,
    /// For the caller, who finds it where the pipe is: a pipe has no use for it.
    pub note: u8,
}

/// See [`Pipe::ticks_per_byte`].
const SLOWLY: u32 = 1 << 31;
/// The caller is to see each packet.
const WATCHED: u32 = 1 << 30;

/// A link whose rate does not divide, whose buffer is limited, or whose queue is measured.
#[derive(Clone)]
struct Slow {
    tx: TxClock,
    room: Option<u32>,
    /// Where the buffer is limited: when the packets that wait will start.
    waiting: VecDeque<Time>,
    /// What is measured.
    queue: Option<Queued>,
}

/// The queue of a pipe, over the packets that entered it in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queued {
    packets: u64,
    waited: u64,
    sending: u64,
}

impl Queued {
    /// Returns a packet's mean time in the queue, until its transmission starts; none without
    /// packets.
    pub fn mean_s(&self) -> Option<f64> {
        (self.packets > 0).then(|| seconds(self.waited as f64 / self.packets as f64))
    }

    /// Returns whether there was a queue: packets waited longer than they took to send, so that on
    /// average more than one was ahead.
    pub fn is_one(&self) -> bool {
        self.waited > self.sending
    }
}

impl Pipe {
    /// An idle one. `measured`: its queue is.
    pub fn new(c: &HostConfig, measured: bool) -> Self {
        let tx = c.rate.map(TxClock::new);
        let whole = tx.and_then(|tx| tx.ticks_per_byte()).filter(|ticks| *ticks < WATCHED);
        let queue = measured.then(Queued::default);
        let (slow, ticks_per_byte) = match (tx, whole) {
            (None, _) => (None, 0),
            (_, Some(ticks)) if c.buffer.is_none() => {
                (None, ticks | (u32::from(measured) * SLOWLY))
            }
            (Some(tx), _) => {
                let slow = Slow { tx, room: c.buffer, waiting: VecDeque::new(), queue };
                (Some(Box::new(slow)), SLOWLY)
            }
        };
        Pipe { busy_until: Time::ZERO, delay: c.delay, slow, ticks_per_byte, note: 0 }
    }

    /// Returns the queue, where it is measured.
    pub fn queued(&self) -> Option<Queued> {
        match &self.slow {
            Some(slow) => slow.queue,
            None => (self.ticks_per_byte & SLOWLY != 0).then(Queued::default),
        }
    }

    /// Returns how long before its arrival at the other end a packet of `bytes` began to be sent.
    pub fn crossing(&self, bytes: u32) -> Duration {
        let tx = match &self.slow {
            Some(slow) => slow.tx.alone(bytes),
            None => Duration::from_ticks(u64::from(bytes) * u64::from(self.ticks())),
        };
        tx + self.delay
    }

    /// A packet enters at `now`, never before the last one did. Returns when it comes out, or
    /// `None` where the buffer is full. From the window's first instant to before its last, the
    /// queue is measured.
    #[inline]
    pub fn send(&mut self, now: Time, bytes: u32, window: (Time, Time)) -> Option<Time> {
        if let Some(at) = self.send_at_once(now, bytes) {
            return Some(at);
        }
        self.send_slowly(now, bytes, window)
    }

    /// A packet enters the pipe. Returns when it comes out; `None`: it has yet to enter, by
    /// [`Pipe::send_slowly`].
    #[inline(always)]
    pub fn send_at_once(&mut self, now: Time, bytes: u32) -> Option<Time> {
        if self.ticks_per_byte >= WATCHED {
            return None;
        }
        Some(self.pass(now, bytes, self.ticks_per_byte))
    }

    /// From now on no packet enters by [`Pipe::send_at_once`], so that the caller can tell those that
    /// it watches.
    pub fn watch(&mut self) {
        self.ticks_per_byte |= WATCHED;
    }

    fn ticks(&self) -> u32 {
        self.ticks_per_byte & !(SLOWLY | WATCHED)
    }

    #[inline(always)]
    fn pass(&mut self, now: Time, bytes: u32, ticks: u32) -> Time {
        let tx = Duration::from_ticks(u64::from(bytes) * u64::from(ticks));
        self.busy_until = self.busy_until.max(now) + tx;
        self.busy_until + self.delay
    }

    /// As [`Pipe::send`], by the long way.
    pub fn send_slowly(&mut self, now: Time, bytes: u32, (from, to): (Time, Time)) -> Option<Time> {
        let ticks = self.ticks();
        if self.ticks_per_byte & SLOWLY == 0 {
            return Some(self.pass(now, bytes, ticks));
        }
        let slow = self.slow.get_or_insert_with(|| {
            let (tx, queue) = (TxClock::of_ticks_per_byte(ticks), Some(Queued::default()));
            Box::new(Slow { tx, room: None, waiting: VecDeque::new(), queue })
        });
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
        if let Some(queue) = &mut slow.queue {
            if now >= from && now < to {
                queue.packets += 1;
                queue.waited += start.since(now).as_ticks();
                queue.sending += self.busy_until.since(start).as_ticks();
            }
        }
        Some(self.busy_until + self.delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_units::Rate;

    const ALL: (Time, Time) = (Time::ZERO, Time::NEVER);

    #[test]
    fn packets_queue_and_overflow() {
        // 8 kbit/s: 1000 B take a second; 2 ms of delay; one may wait.
        let c = HostConfig {
            rate: Rate::from_bps(8_000),
            delay: Duration::from_millis(2),
            buffer: Some(1),
        };
        let mut p = Pipe::new(&c, false);
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        assert_eq!(p.send(ms(0), 1000, ALL), Some(ms(1002)));
        assert_eq!(p.send(ms(10), 1000, ALL), Some(ms(2002)));
        assert_eq!(p.send(ms(20), 1000, ALL), None);
        assert_eq!(p.send(ms(1000), 1000, ALL), Some(ms(3002)), "the second has started");
        assert_eq!(p.send(ms(5000), 500, ALL), Some(ms(5502)));
    }

    /// 8 Mbit/s: 1000 B take 1 ms. From 10 ms to 20 ms three packets enter, and wait for 1, 0 and 1
    /// ms; a fourth waits 2 ms, and then on average more than one is ahead.
    #[test]
    fn a_queue_is_what_packets_wait() {
        let c = HostConfig { rate: Rate::from_bps(8_000_000), delay: Duration::ZERO, buffer: None };
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        let mut p = Pipe::new(&c, true);
        assert_eq!(p.queued().map(|q| (q.mean_s(), q.is_one())), Some((None, false)));
        for at in [1, 1, 1, 1, 9, 9, 10, 15, 15] {
            p.send(ms(at), 1000, (ms(10), ms(20)));
        }
        let near =
            |p: &Pipe, mean: f64| (p.queued().unwrap().mean_s().unwrap() - mean).abs() < 1e-12;
        assert!(near(&p, 2e-3 / 3.0) && !p.queued().unwrap().is_one());
        for at in [15, 15, 20, 20] {
            p.send(ms(at), 1000, (ms(10), ms(20)));
        }
        assert!(near(&p, 7e-3 / 5.0) && p.queued().unwrap().is_one());
        assert_eq!(Pipe::new(&c, false).queued(), None);
        let no_link = HostConfig { rate: None, ..c };
        assert_eq!(Pipe::new(&no_link, true).queued(), None);
    }

    /// 2 ms of delay; with and without a link, with a rate that does not divide.
    #[test]
    fn the_short_way_is_the_long_way() {
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        for rate in
            [None, Rate::from_bps(8_000_000), Rate::from_bps(1_100_000), Rate::from_bps(1_000)]
        {
            let c = HostConfig { rate, delay: Duration::from_millis(2), buffer: None };
            let (mut p, mut tx) = (Pipe::new(&c, false), rate.map(TxClock::new));
            let (mut measured, mut watched) = (Pipe::new(&c, true), Pipe::new(&c, false));
            watched.watch();
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
                    p.send(ms(t), 1000, ALL),
                    Some(busy + Duration::from_millis(2)),
                    "{rate:?} at {t} ms"
                );
                assert_eq!(measured.send(ms(t), 1000, ALL), Some(busy + Duration::from_millis(2)));
                assert_eq!(watched.send_at_once(ms(t), 1000), None);
                assert_eq!(watched.send(ms(t), 1000, ALL), Some(busy + Duration::from_millis(2)));
            }
        }
    }
}
