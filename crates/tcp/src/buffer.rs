//! The send buffer of a socket in Linux: what the application has written waits in it, and stays there
//! until an ACK covers it. While a hole is there, a sender falls silent once the buffer is full. It
//! grows with the window (`tcp_sndbuf_expand`), and who waits for room goes on once a third is free
//! (`sk_stream_write_space`).
//!
//! Departs from Linux: the application writes at once; a segment takes 4 % more than its payload,
//! which is what was measured; and reordering does not count for the size.

use crate::params::TcpParams;

/// What a buffer begins with (`tcp_wmem`).
const FIRST: u64 = 16_384;
/// The window for which it has room at least (`TCP_INIT_CWND`).
const LEAST: i64 = 10;
/// What a frame has beside its payload: timestamps, room for headers, and the kernel's own account.
const BESIDE: u64 = 12 + 256 + 320;
const ACCOUNT: u64 = 256;
/// What the application writes at once: iperf3's default.
const WRITE: u64 = 131_072;

/// A send buffer.
#[derive(Clone, Debug)]
pub(crate) struct SendBuffer {
    /// One past the last segment that the application has to send.
    given: i64,
    /// Bytes that it has room for, and may grow to.
    size: u64,
    most: u64,
    /// Bytes that a segment takes, and by which the buffer grows for each of the window.
    takes: u64,
    grows: u64,
    /// Segments that the application writes at once.
    write: i64,
}

impl SendBuffer {
    /// Returns the buffer of a connection, where it has one: `windows` fit into it.
    pub(crate) fn new(p: &TcpParams, windows: u64) -> Option<Box<Self>> {
        let payload = u64::from(p.segment_bytes());
        p.send_buffer.map(|most| {
            let mut b = SendBuffer {
                given: 0,
                size: FIRST.min(most.0),
                most: most.0,
                takes: payload + payload / 25,
                grows: windows * ((payload + BESIDE).next_power_of_two() + ACCOUNT),
                write: (WRITE / payload).max(1) as i64,
            };
            b.grow(LEAST);
            Box::new(b)
        })
    }

    fn grow(&mut self, cwnd: i64) {
        let wanted = self.grows.saturating_mul(cwnd.max(LEAST) as u64);
        self.size = self.size.max(wanted.min(self.most));
    }

    /// The application has `segments` more.
    pub(crate) fn give(&mut self, segments: i64) {
        self.given = self.given.saturating_add(segments);
    }

    /// Returns one past the last segment that the application has to send.
    pub(crate) fn given(&self) -> i64 {
        self.given
    }

    /// Returns how many segments the application writes at once.
    pub(crate) fn write(&self) -> i64 {
        self.write
    }

    /// The application writes what there is room for. `first` is the first segment that no ACK has
    /// covered, `limit` one past the last that was written; `open`: the window, if it has room for
    /// more. Returns the new `limit`.
    pub(crate) fn written(&mut self, first: i64, limit: i64, open: Option<i64>) -> i64 {
        if limit >= self.given {
            return limit;
        }
        if let Some(cwnd) = open {
            self.grow(cwnd);
        }
        let queued = (limit - first).max(0) as u64 * self.takes;
        if 3 * queued > 2 * self.size {
            return limit;
        }
        let room = self.size.div_ceil(self.takes) as i64;
        limit.max((first + room).min(self.given))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_units::Bytes;

    fn of(most: u64, windows: u64) -> SendBuffer {
        let p = TcpParams {
            segment: Bytes(1448),
            send_buffer: Some(Bytes(most)),
            ..TcpParams::default()
        };
        let mut b = *SendBuffer::new(&p, windows).expect("it has one");
        b.give(1_000_000);
        b
    }

    /// A frame of 1448 B counts for 2304 B: twice ten are 46,080 B, as `ss` shows of a new socket (tb).
    /// Segments take 1505 B: 31 fit. With 20 of them 11 are outstanding, and with 21, 31,605 B of
    /// 46,080 are more than two thirds.
    #[test]
    fn a_write_goes_on_when_a_third_is_free() {
        let mut b = of(4 << 20, 2);
        assert_eq!((b.size, b.takes), (46_080, 1505));
        assert_eq!(b.written(1, 0, None), 32);
        assert_eq!(b.written(11, 32, None), 32, "21 are in it");
        assert_eq!(b.written(12, 32, None), 43);
    }

    /// A window of 86 of bbr's is 594,432 B, as `ss` shows. It does not shrink, nor grow while the
    /// window is full, nor beyond its most.
    #[test]
    fn it_grows_with_the_window() {
        let mut b = of(4 << 20, 3);
        assert_eq!(b.size, 69_120);
        b.written(1, 400, None);
        assert_eq!(b.size, 69_120);
        b.written(1, 400, Some(86));
        assert_eq!(b.size, 594_432);
        b.written(1, 400, Some(10));
        assert_eq!(b.size, 594_432);
        b.written(1, 400, Some(10_000));
        assert_eq!(b.size, 4 << 20);
        assert_eq!(b.written(1, 400, None), 2788);
    }

    /// The application has no more than it was given.
    #[test]
    fn all_is_written() {
        let p = TcpParams { send_buffer: Some(Bytes(1 << 20)), ..TcpParams::default() };
        let mut b = *SendBuffer::new(&p, 2).expect("it has one");
        b.give(5);
        assert_eq!(b.written(0, 0, None), 5);
        assert_eq!(b.written(5, 5, None), 5);
    }
}
