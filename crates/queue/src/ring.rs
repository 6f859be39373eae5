//! A queue in a ring, whose places are found by a mask.

/// See the module. It grows to the most that it holds, and keeps that memory.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// As many as a power of two.
    items: Vec<T>,
    /// The places of the first item and behind the last one. They run on, and are masked.
    first: usize,
    end: usize,
}

impl<T: Copy> Ring<T> {
    /// Returns a ring that holds nothing. `blank` fills unused places.
    pub fn new(blank: T) -> Self {
        Ring { items: vec![blank; 16], first: 0, end: 0 }
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
            return self.insert_further(item, most);
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
        let mut place = self.end - 1;
        while place > self.first && self.items[(place - 1) & mask] > item {
            self.items[place & mask] = self.items[(place - 1) & mask];
            place -= 1;
        }
        self.items[place & mask] = item;
        true
    }

    #[cold]
    fn grow(&mut self) {
        let n = self.items.len();
        self.items.rotate_left(self.first & (n - 1));
        self.items.resize(2 * n, self.items[0]);
        (self.first, self.end) = (0, n);
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
        let first = *self.get(0)?;
        self.first += 1;
        Some(first)
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
