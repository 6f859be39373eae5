//! Scripts count bytes, and the crate counts segments: this is where each segment ends.

use penstock_tcp::Block;

/// The bytes of one direction, cut into segments. Segment 0 is the SYN; the first byte of data is
/// number 1, as in scripts.
#[derive(Clone, Debug)]
pub struct Cuts {
    /// Bytes up to the end of each segment.
    ends: Vec<u64>,
}

impl Cuts {
    /// Returns the SYN alone.
    pub fn syn() -> Self {
        Cuts { ends: vec![0] }
    }

    /// Returns the segments that have these bytes as their ends.
    pub fn at(mut edges: Vec<u64>) -> Self {
        edges.push(0);
        edges.sort_unstable();
        edges.dedup();
        Cuts { ends: edges }
    }

    /// Adds so many bytes, in segments of `full` bytes; the last may be shorter.
    pub fn add(&mut self, bytes: u64, full: u64) -> u64 {
        let before = self.ends.len();
        let mut end = self.end();
        let last = end + bytes;
        while end < last {
            end = (end + full).min(last);
            self.ends.push(end);
        }
        (self.ends.len() - before) as u64
    }

    /// Returns the number of bytes.
    pub fn end(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Returns the last segment.
    pub fn last(&self) -> i64 {
        self.ends.len() as i64 - 1
    }

    /// Whether a segment is shorter than `full`.
    pub fn is_short(&self, segment: i64, full: u64) -> bool {
        self.of(segment).is_some_and(|(first, next)| next - first < full)
    }

    /// Returns the segment that ends where sequence number `number` begins.
    pub fn ending_at(&self, number: u64) -> Option<i64> {
        let byte = number.checked_sub(1)?;
        self.ends.binary_search(&byte).ok().map(|i| i as i64)
    }

    /// Returns the sequence numbers of a segment: its first, and the one past its last.
    pub fn of(&self, segment: i64) -> Option<(u64, u64)> {
        let i = usize::try_from(segment).ok().filter(|i| *i > 0)?;
        Some((self.ends.get(i - 1)? + 1, self.ends.get(i)? + 1))
    }

    /// Returns the sequence number that follows segment `segment`.
    pub fn after(&self, segment: i64) -> u64 {
        let i = usize::try_from(segment).unwrap_or(0).min(self.ends.len() - 1);
        self.ends[i] + 1
    }

    /// Returns the segments that lie in a block whole. Linux takes no part of a segment for
    /// reported.
    pub fn within(&self, left: u64, right: u64) -> Option<Block> {
        let first = self.ends.partition_point(|end| end + 1 < left);
        let last = self.ends.partition_point(|end| end < &right);
        (first + 1 < last).then_some(Block { left: first as i64 + 1, right: last as i64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_and_bytes() {
        let mut cuts = Cuts::syn();
        assert_eq!(cuts.add(2500, 1000), 3);
        assert_eq!((cuts.end(), cuts.last()), (2500, 3));
        assert_eq!([0, 1, 3, 4].map(|n| cuts.is_short(n, 1000)), [false, false, true, false]);
        assert_eq!([1, 1001, 2001, 2501].map(|n| cuts.ending_at(n)), [0, 1, 2, 3].map(Some));
        assert_eq!([0, 2, 1000, 2502].map(|n| cuts.ending_at(n)), [None; 4]);
        assert_eq!(cuts.of(3), Some((2001, 2501)));
        assert_eq!((cuts.of(0), cuts.of(4), cuts.after(0), cuts.after(2)), (None, None, 1, 2001));
    }

    #[test]
    fn blocks_hold_whole_segments() {
        let mut cuts = Cuts::syn();
        cuts.add(4000, 1000);
        let of = |left, right| cuts.within(left, right).map(|b| (b.left, b.right));
        assert_eq!(of(1001, 3001), Some((2, 4)));
        assert_eq!(of(1, 4001), Some((1, 5)));
        assert_eq!(of(4000, 4001), None, "a segment's last byte");
        assert_eq!(of(1000, 3500), Some((2, 4)));
        assert_eq!(of(3001, 9001), Some((4, 5)), "past the end");
        assert_eq!(of(3001, 1001), None);
    }

    #[test]
    fn inbound_edges() {
        let cuts = Cuts::at(vec![1000, 0, 1500, 1000]);
        assert_eq!((cuts.of(1), cuts.of(2)), (Some((1, 1001)), Some((1001, 1501))));
    }
}
