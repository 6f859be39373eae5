//! A queue in a ring, whose places are found by a mask.

/// See the module. It grows to the most that it holds, and keeps that memory unless it is asked to
/// give some back.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// As many as a power of two, at least [`Ring::LEAST`].
    items: Vec<T>,
    /// The places of the first item and behind the last one. They run on, and are masked.
    first: usize,
    end: usize,
    /// Where `first` was when [`Ring::relax`] was called last: the lower bits.
    asked: u32,
    /// How many calls in a row have found that half of the memory would have done.
    spare: u32,
}

impl<T: Copy> Ring<T> {
    /// It keeps memory for so many items in any case.
    const LEAST: usize = 16;
    /// So many calls of [`Ring::relax`] in a row have to find that half of the memory would have
    /// done.
    const CALM: u32 = 32;

    /// Returns a ring that holds nothing. `blank` fills unused places.
    pub fn new(blank: T) -> Self {
        Ring { items: vec![blank; Self::LEAST], first: 0, end: 0, asked: 0, spare: 0 }
    }

    /// Returns how many items it holds.
    #[inline]
    pub fn len(&self) -> usize {
        self.end - self.first
    }

    /// Returns whether it holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.end == self.first
    }

    /// Adds an item at the end.
    #[inline(always)]
    pub fn push(&mut self, item: T) {
        if self.len() == self.items.len() {
            self.grow();
        }
        let mask = self.items.len() - 1;
        self.items[self.end & mask] = item;
        self.end += 1;
    }

    /// Adds an item behind all that do not come after it, which are all but the last `most` or
    /// fewer. Returns false, and adds nothing, where they are more.
    #[inline(always)]
    pub fn insert(&mut self, item: T, most: usize) -> bool
    where
        T: PartialOrd,
    {
        let mask = self.items.len() - 1;
        if !self.is_empty() && self.items[self.end.wrapping_sub(1) & mask] > item {
            return most > 0 && self.insert_further(item, most);
        }
        self.push(item);
        true
    }

    #[inline(never)]
    fn insert_further(&mut self, item: T, most: usize) -> bool
    where
        T: PartialOrd,
    {
        let mask = self.items.len() - 1;
        if self.len() > most && self.items[(self.end - 1 - most) & mask] > item {
            return false;
        }
        self.push(item);
        let mask = self.items.len() - 1;
        let last = self.end - 1;
        let behind = most.min(last - self.first);
        let to = last & mask;
        if behind <= to {
            // They stand in one piece, as they nearly always do.
            let near = &mut self.items[to - behind..=to];
            let mut place = behind;
            for before in (0..behind).rev() {
                if near[before] <= item {
                    break;
                }
                near[before + 1] = near[before];
                place = before;
            }
            near[place] = item;
            return true;
        }
        let mut place = last;
        while place > self.first && self.items[(place - 1) & mask] > item {
            self.items[place & mask] = self.items[(place - 1) & mask];
            place -= 1;
        }
        self.items[place & mask] = item;
        true
    }

    /// Adds items, which are in order, each behind all that do not come after it. Moves only what is
    /// in front of the last of them.
    pub fn merge(&mut self, items: &[T])
    where
        T: PartialOrd,
    {
        while self.items.len() - self.len() < items.len() {
            self.grow();
        }
        let (n, more) = (self.items.len(), items.len());
        // Places run on, and the memory is as many as a power of two.
        let on = if self.first < more { n } else { 0 };
        (self.first, self.end) = (self.first + on, self.end + on);
        self.asked = self.asked.wrapping_add(on as u32).wrapping_sub(more as u32);
        let (mut from, mut to) = (self.first, self.first - more);
        self.first = to;
        for item in items {
            while from < self.end && self.items[from & (n - 1)] <= *item {
                self.items[to & (n - 1)] = self.items[from & (n - 1)];
                (from, to) = (from + 1, to + 1);
            }
            self.items[to & (n - 1)] = *item;
            to += 1;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let (n, held) = (self.items.len(), self.len());
        self.items.rotate_left(self.first & (n - 1));
        self.items.resize(2 * n, self.items[0]);
        (self.first, self.end, self.asked) = (0, held, 0);
    }

    /// Gives half of its memory back where it has long been too much. What is under way moves in
    /// bursts from ring to ring; each would else keep room for all of it. And a ring goes through
    /// all of its memory, however few items it holds: they would never be in the processor's cache.
    #[inline]
    pub fn relax(&mut self) {
        // Since the last call it never held more than this.
        let most = (self.end as u32).wrapping_sub(self.asked) as usize;
        self.rewind();
        self.asked = self.first as u32;
        let n = self.items.len();
        if most >= n / 2 || n == Self::LEAST {
            self.spare = 0;
            return;
        }
        self.spare += 1;
        if self.spare == Self::CALM {
            self.shrink();
        }
    }

    /// Begins again at the first place where it holds nothing: few items then use few places.
    #[inline]
    fn rewind(&mut self) {
        if self.is_empty() {
            (self.first, self.end) = (0, 0);
        }
    }

    #[cold]
    fn shrink(&mut self) {
        let (n, held) = (self.items.len(), self.len());
        self.items.rotate_left(self.first & (n - 1));
        self.items.truncate(n / 2);
        self.items.shrink_to_fit();
        (self.first, self.end, self.asked, self.spare) = (0, held, 0, 0);
    }

    /// Returns the item `ahead` places behind the first.
    #[inline]
    pub fn get(&self, ahead: usize) -> Option<&T> {
        let place = self.first + ahead;
        if place < self.end {
            self.items.get(place & (self.items.len() - 1))
        } else {
            None
        }
    }

    /// Takes the first item out.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        Some(self.step()?.0)
    }

    /// Takes the first item out. Returns also the one that is first from now on.
    #[inline(always)]
    pub fn step(&mut self) -> Option<(T, Option<&T>)> {
        let (place, mask) = (self.first, self.items.len() - 1);
        if place == self.end {
            return None;
        }
        let first = self.items[place & mask];
        self.first = place + 1;
        let behind = self.first != self.end;
        Some((first, if behind { Some(&self.items[self.first & mask]) } else { None }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Against a sorted list.
    #[test]
    fn it_keeps_an_order() {
        let (mut ring, mut list) = (Ring::new(0u32), Vec::new());
        for i in 0..2_000u32 {
            let item = (i * 7919) % 60 + 3 * i;
            let behind = list.iter().filter(|x| **x > item).count();
            assert_eq!(ring.insert(item, 8), behind <= 8, "{item}, {behind} behind");
            if behind <= 8 {
                list.insert(list.len() - behind, item);
            }
            if i % 3 > 0 {
                assert_eq!(ring.pop(), (!list.is_empty()).then(|| list.remove(0)));
            }
        }
        while !ring.is_empty() {
            assert_eq!(ring.pop(), Some(list.remove(0)));
        }
    }

    /// Against a sorted list, through several growths with the first item anywhere.
    #[test]
    fn it_merges_what_is_in_order() {
        let (mut ring, mut list) = (Ring::new(0u32), Vec::new());
        for i in 0..2_000u32 {
            let more: Vec<u32> =
                (0..i * 7919 % 23).map(|k| 3 * i + (k * k) / (1 + i % 5)).collect();
            ring.merge(&more);
            list.extend(more);
            list.sort_unstable();
            for _ in 0..(i * 31 % 21).min(list.len() as u32) {
                assert_eq!(ring.pop(), Some(list.remove(0)));
            }
            ring.relax();
            assert_eq!(ring.len(), list.len());
        }
        assert!(list.iter().all(|item| ring.pop() == Some(*item)) && ring.is_empty());
    }

    /// What comes in bursts leaves no more memory than what comes between them needs.
    #[test]
    fn it_gives_memory_back() {
        let mut ring = Ring::new(0u32);
        let (mut put, mut taken) = (0, 0);
        let mut turn = |ring: &mut Ring<u32>, n: u32, keep: usize| {
            for _ in 0..n {
                ring.push(put);
                put += 1;
            }
            while ring.len() > keep {
                assert_eq!(ring.pop(), Some(taken));
                taken += 1;
            }
            ring.relax();
        };
        turn(&mut ring, 40_000, 5);
        assert_eq!(ring.items.len(), 65_536);
        for calls in 1..=11 * Ring::<u32>::CALM {
            turn(&mut ring, 20, 5);
            assert_eq!(ring.items.len(), 65_536 >> (calls / Ring::<u32>::CALM), "{calls}");
        }
        // 25 at a time need 32 places, and are given no more.
        for _ in 0..1_000 {
            turn(&mut ring, 20, 5);
        }
        assert_eq!(ring.items.len(), 32);
        assert_eq!(ring.get(4).copied(), ring.pop().map(|first| first + 4));
    }

    /// One that is seldom filled gives nothing back: it would soon have to grow again.
    #[test]
    fn it_keeps_what_it_needs_now_and_then() {
        let mut ring = Ring::new(0u32);
        for turn in 0..10 * Ring::<u32>::CALM {
            for i in 0..if turn % (Ring::<u32>::CALM - 1) == 0 { 100 } else { 3 } {
                ring.push(i);
            }
            while ring.pop().is_some() {}
            ring.relax();
            assert_eq!((ring.items.len(), ring.first, ring.end), (128, 0, 0), "turn {turn}");
        }
    }

    /// Against a deque, through several growths with the first item anywhere.
    #[test]
    fn it_is_a_queue() {
        let (mut ring, mut deque) = (Ring::new(0u32), VecDeque::new());
        for i in 0..5_000u32 {
            ring.push(i);
            deque.push_back(i);
            if i % 7 < 3 {
                assert_eq!(ring.pop(), deque.pop_front());
            }
            assert_eq!(ring.len(), deque.len());
            assert_eq!(ring.get(2), deque.get(2));
        }
        while let Some(i) = deque.pop_front() {
            assert!(!ring.is_empty());
            assert_eq!(ring.pop(), Some(i));
        }
        assert_eq!((ring.pop(), ring.get(0)), (None, None));
    }
}
