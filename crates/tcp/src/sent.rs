//! A sender keeps a record of each segment under way, but only where its control or its way of
//! recovery asks for that. Delivery rates are estimated as in draft-ietf-ccwg-bbr, section 4.1, and
//! in Linux's `tcp_rate.c`, in segments.

use crate::recovery::scoreboard::Scoreboard;
use crate::segment::{Ack, Block, MAX_BLOCKS};
use penstock_units::{Duration, Time};
use std::collections::VecDeque;

/// A segment that was sent and is not acknowledged. There may be millions, so it is narrow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    /// The time at which it was sent last.
    pub(crate) at: Time,
    /// The time when the last of the `delivered` segments was.
    delivered_at: Time,
    /// The time at which the segment was sent that was delivered last at that time.
    first_sent: Time,
    /// The number of segments that had been delivered when it was sent: its low bits, as far fewer
    /// are delivered meanwhile.
    delivered: u32,
    /// The same of segments that had been declared lost.
    lost_total: u32,
    /// Segments in flight when it was sent, itself included.
    pub(crate) tx_in_flight: u32,
    /// The number of times that it was sent.
    pub(crate) times: u16,
    known: Known,
    /// It was sent while the application, and not the window, limited sending.
    pub(crate) app_limited: bool,
}

const _: () = assert!(size_of::<Sent>() == 40);

/// What is known of a segment's fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Known {
    #[default]
    Nothing,
    /// It was declared lost, and has not been reported since.
    Lost,
    /// It is lost, and its retransmission is outstanding.
    SentAgain,
    /// An ACK has reported it.
    Arrived,
}

impl Sent {
    /// Whether it was ever sent again (Karn).
    pub(crate) fn ever_rtx(&self) -> bool {
        self.times > 1
    }

    /// Whether an ACK has reported it.
    pub(crate) fn sacked(&self) -> bool {
        self.known == Known::Arrived
    }

    /// Whether it was declared lost, and has not been reported since.
    pub(crate) fn lost(&self) -> bool {
        matches!(self.known, Known::Lost | Known::SentAgain)
    }

    /// Whether it was sent once, and was neither reported nor declared lost.
    pub(crate) fn is_first(&self) -> bool {
        self.known == Known::Nothing && self.times == 1
    }

    /// Whether it is lost, and its retransmission is not outstanding.
    pub(crate) fn waits(&self) -> bool {
        self.known == Known::Lost
    }

    fn rtx(&self) -> bool {
        self.known == Known::SentAgain
    }

    /// Returns how many segments were declared lost since it was sent; `total`: so far.
    pub(crate) fn lost_since(&self, total: u64) -> u64 {
        u64::from((total as u32).wrapping_sub(self.lost_total))
    }

    /// Returns how many had been delivered when it was sent; `total`: so far.
    fn delivered(&self, total: u64) -> u64 {
        total - u64::from((total as u32).wrapping_sub(self.delivered))
    }
}

#[cfg(test)]
impl Sent {
    /// A segment of `tx_in_flight` under way when it was sent, after which `before` were lost.
    pub(crate) fn among(tx_in_flight: u32, before: u32) -> Self {
        Sent { tx_in_flight, lost_total: before, ..Sent::default() }
    }
}

/// What is told of a segment that an ACK acknowledges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    /// As [`Sent::at`], [`Sent::times`] and [`Sent::sacked`].
    pub(crate) at: Time,
    pub(crate) times: u16,
    pub(crate) sacked: bool,
}

/// The rate at which a connection delivered segments between the sending of one and its delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryRate {
    /// Segments delivered.
    pub delivered: u64,
    /// The time of their sending or that of their ACKs, whichever is longer.
    pub interval: Duration,
    /// Segments that had been delivered when the interval began: a round trip is over when this
    /// reaches what had been delivered at its start.
    pub prior: u64,
    /// Segments that had been declared lost by then.
    pub prior_lost: u64,
    /// Segments in flight when the interval began, the one just sent included.
    pub tx_in_flight: u32,
    /// The application limited sending, so that the path may be faster.
    pub app_limited: bool,
}

/// The news that an ACK has of the segments under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct News {
    /// The last segment that it newly acknowledges.
    pub(crate) newest: Option<Acknowledged>,
    /// Each segment that it newly acknowledges was sent once (Karn).
    pub(crate) once: bool,
    /// Segments that it newly reports, in order or not: the last estimate of the rate is of them.
    pub(crate) delivered: u64,
}

/// The segments under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentLog {
    /// The number of the first.
    first: i64,
    segments: VecDeque<Sent>,
    /// The segments that ACKs have reported above the cumulative one: the scoreboard finds what is
    /// new in a block.
    reported: Scoreboard,
    /// The blocks of the last ACK, most of which the next one repeats.
    repeated: [Block; MAX_BLOCKS],
    /// The number of the segments under way that those are.
    above: u64,
    /// Those that are lost, and those of the lost whose retransmission is outstanding.
    lost: u64,
    retrans: u64,
    /// Those that were ever declared lost.
    lost_total: u64,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Until so many segments are delivered, rates are limited by the application; 0: they are not.
    limited_until: u64,
    rate: Option<DeliveryRate>,
    /// The news of the last ACK.
    newest: Option<Acknowledged>,
}

/// Of the segments delivered now the one that was sent last, which gives the rate: by what had been
/// delivered then, and by the time.
#[derive(Clone, Copy, Default)]
struct Latest {
    order: (u64, Time),
    /// One more than its place; 0: there is none.
    place: usize,
}

impl Latest {
    #[inline]
    fn take(&mut self, i: usize, segment: &Sent, total: u64) {
        let order = (segment.delivered(total), segment.at);
        if order >= self.order {
            *self = Latest { order, place: i + 1 };
        }
    }
}

impl SentLog {
    /// Returns how many of the segments up to `seq` ACKs have reported.
    pub(crate) fn reported(&self, seq: i64) -> i64 {
        let acked = usize::try_from(seq - self.first + 1).unwrap_or(0);
        self.segments.iter().take(acked).filter(|s| s.sacked()).count() as i64
    }

    /// Returns what is remembered of segment `seq`.
    pub(crate) fn get(&self, seq: i64) -> Option<&Sent> {
        self.segments.get(usize::try_from(seq - self.first).ok()?)
    }

    /// Returns the last segment that the last ACK newly acknowledged.
    pub(crate) fn newest(&self) -> Option<Acknowledged> {
        self.newest
    }

    /// Returns the last estimate of the delivery rate.
    pub(crate) fn rate(&self) -> Option<DeliveryRate> {
        self.rate
    }

    /// Returns the segments in flight (RFC 9937, 6.2): those that are neither reported nor lost, and
    /// retransmissions.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        self.segments.len() as u64 + self.retrans - self.above - self.lost
    }

    /// Returns how many segments under way ACKs have reported, how many are lost, and of how many
    /// of these a retransmission is outstanding.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        (self.above, self.lost, self.retrans)
    }

    /// Returns how many segments were delivered so far, and how many were declared lost.
    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.delivered, self.lost_total)
    }

    /// Whether what is sent now is sent while the application limits sending.
    pub(crate) fn app_limited(&self) -> bool {
        self.limited_until != 0
    }

    /// Returns the first segment from `seq` on that no ACK has reported.
    #[inline]
    pub(crate) fn unreported(&self, seq: i64) -> i64 {
        if self.get(seq).is_some_and(Sent::sacked) {
            return self.reported.skip(seq);
        }
        seq
    }

    /// Segment `seq`, which is under way, is lost, or its retransmission is. Returns what is
    /// remembered of it, unless that was known or it has arrived.
    pub(crate) fn lose(&mut self, seq: i64) -> Option<Sent> {
        let segment = self.segments.get_mut(usize::try_from(seq - self.first).ok()?)?;
        match segment.known {
            Known::Arrived | Known::Lost => return None,
            Known::Nothing => self.lost += 1,
            Known::SentAgain => self.retrans -= 1,
        }
        self.lost_total += 1;
        segment.known = Known::Lost;
        Some(*segment)
    }

    /// No segment is lost after all.
    pub(crate) fn find(&mut self) {
        for segment in &mut self.segments {
            if segment.lost() {
                segment.known = Known::Nothing;
            }
        }
        (self.lost, self.retrans) = (0, 0);
    }

    /// Segment `seq` leaves. Those sent for the first time follow each other.
    #[inline(always)]
    pub(crate) fn sent(&mut self, now: Time, seq: i64) {
        if self.segments.is_empty() {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let mut segment = Sent {
            at: now,
            times: 1,
            known: Known::Nothing,
            tx_in_flight: 0,
            delivered: self.delivered as u32,
            delivered_at: self.delivered_at,
            lost_total: self.lost_total as u32,
            first_sent: self.first_sent,
            app_limited: self.limited_until != 0,
        };
        let Ok(i) = usize::try_from(seq - self.first) else { return };
        let in_flight = self.in_flight() as u32;
        match self.segments.get_mut(i) {
            Some(before) => {
                let again = before.waits();
                self.retrans += u64::from(again);
                segment.tx_in_flight = in_flight + u32::from(again);
                segment.times = before.times.saturating_add(1);
                segment.known = if again { Known::SentAgain } else { before.known };
                *before = segment;
            }
            None => {
                segment.tx_in_flight = in_flight + 1;
                if self.segments.len() == self.segments.capacity() {
                    self.make_room();
                }
                self.segments.push_back(segment);
            }
        }
    }

    /// Memory grows by a quarter, not to the double.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        self.segments.reserve_exact((self.segments.len() / 4).max(4));
    }

    /// Everything that the application gave has been sent, and the window would let more out.
    #[cold]
    #[inline(never)]
    pub(crate) fn starved(&mut self) {
        let in_flight = self.segments.len() as u64 - self.above;
        self.limited_until = (self.delivered + in_flight).max(1);
    }

    /// An ACK has arrived. `each` hears of every segment that it newly reports, in order or not.
    pub(crate) fn on_ack(
        &mut self,
        now: Time,
        ack: &Ack,
        mut each: impl FnMut(i64, &Sent),
    ) -> News {
        let mut news = News { newest: None, once: true, delivered: 0 };
        let mut latest = Latest::default();
        let before = self.delivered;
        let n = usize::try_from(ack.seq + 1 - self.first).unwrap_or(0).min(self.segments.len());
        for i in 0..n {
            let segment = &self.segments[i];
            let (Sent { at, times, .. }, sacked) = (*segment, segment.sacked());
            news.once &= times == 1;
            news.newest = Some(Acknowledged { at, times, sacked });
            self.lost -= u64::from(segment.lost());
            self.retrans -= u64::from(segment.rtx());
            if sacked {
                self.above -= 1;
            } else {
                self.delivered += 1;
                latest.take(i, segment, self.delivered);
                each(self.first + i as i64, segment);
            }
        }
        self.newest = news.newest;
        if ack.n_blocks > 0 || !self.reported.is_empty() {
            self.reported.acknowledge(self.first + n as i64 - 1);
            for block in &ack.blocks[..usize::from(ack.n_blocks)] {
                self.report(*block, n, &mut latest, &mut each);
            }
            self.repeated = ack.blocks;
        }
        news.delivered = self.delivered - before;
        if latest.place > 0 {
            self.delivered_at = now;
            self.estimate(now, latest.place - 1);
        }
        // Mostly one or two: `drain` is for many.
        for _ in 0..n {
            self.segments.pop_front();
        }
        self.first += n as i64;
        news
    }

    /// An ACK reports a block. The first `acked` of the segments are acknowledged.
    fn report(
        &mut self,
        block: Block,
        acked: usize,
        latest: &mut Latest,
        each: &mut impl FnMut(i64, &Sent),
    ) {
        let end = self.first + self.segments.len() as i64;
        let (left, right) = (block.left.max(self.first + acked as i64), block.right.min(end));
        let before = self.repeated.iter().find(|b| b.left == block.left);
        let mut new = before.map_or(left, |b| left.max(b.right));
        if new < right {
            new = self.unreported(new);
        }
        if new >= right {
            return;
        }
        while new < right {
            let i = (new - self.first) as usize;
            let segment = self.segments[i];
            self.lost -= u64::from(segment.lost());
            self.retrans -= u64::from(segment.rtx());
            self.segments[i].known = Known::Arrived;
            self.above += 1;
            self.delivered += 1;
            latest.take(i, &segment, self.delivered);
            each(new, &segment);
            new += 1;
            if new < right {
                new = self.unreported(new);
            }
        }
        self.reported.add(Block { left, right });
    }

    /// Segment `i` is the latest of those delivered now.
    fn estimate(&mut self, now: Time, i: usize) {
        let latest = &self.segments[i];
        self.first_sent = latest.at;
        let sending = latest.at.since(latest.first_sent);
        let acking = now.since(latest.delivered_at);
        let prior = latest.delivered(self.delivered);
        self.rate = Some(DeliveryRate {
            delivered: self.delivered - prior,
            interval: sending.max(acking),
            prior,
            prior_lost: self.lost_total - latest.lost_since(self.lost_total),
            tx_in_flight: latest.tx_in_flight,
            app_limited: latest.app_limited,
        });
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    fn ack(log: &mut SentLog, now: u64, seq: i64, blocks: &[(i64, i64)]) -> News {
        let mut ack = Ack { seq, n_blocks: blocks.len() as u8, ..Ack::default() };
        for (to, (left, last)) in ack.blocks.iter_mut().zip(blocks) {
            *to = Block { left: *left, right: last + 1 };
        }
        log.on_ack(ms(now), &ack, |_, _| {})
    }

    fn rate(log: &SentLog) -> (u64, u64) {
        let rate = log.rate().expect("a rate");
        (rate.delivered, rate.interval.as_nanos() / 1_000_000)
    }

    /// Segments 0, 1, … leave every millisecond, and their ACKs come at 40, 42, 44 … ms. When
    /// segment 10 left, nothing had been delivered since 0 ms. Its ACK at 60 ms is the eleventh:
    /// eleven segments in 60 ms, although they were sent in 10. Segment 40 left at 40 ms, after
    /// the first delivery; its ACK at 120 ms is the 41st, and 40 were delivered in 80 ms.
    #[test]
    fn the_slower_of_sending_and_acknowledging() {
        let mut log = SentLog::default();
        for t in 0..=120 {
            if t >= 40 && t % 2 == 0 {
                let seq = (t as i64 - 40) / 2;
                let news = ack(&mut log, t, seq, &[]);
                assert_eq!((news.delivered, news.newest.map(|s| s.at)), (1, Some(ms(seq as u64))));
                match seq {
                    10 => assert_eq!(rate(&log), (11, 60)),
                    40 => assert_eq!(rate(&log), (40, 80)),
                    _ => {}
                }
            }
            log.sent(ms(t), t as i64);
        }
    }

    /// The ACKs of 0 to 9 come at once, at 100 ms: ten in 100 ms. Those of what was then sent, one
    /// every 10 ms, come at once as well, and the sending of them took longer: 90 ms.
    #[test]
    fn acks_that_come_at_once_do_not_raise_it() {
        let mut log = SentLog::default();
        (0..10).for_each(|seq| log.sent(ms(0), seq));
        ack(&mut log, 100, 9, &[]);
        assert_eq!(rate(&log), (10, 100));
        (10..20).for_each(|seq| log.sent(ms(10 * seq as u64), seq));
        ack(&mut log, 191, 19, &[]);
        assert_eq!(rate(&log), (10, 91));
    }

    /// Of 0 to 9, segments 0, 3 and 6 are late. Blocks grow to the right, to the left, and join;
    /// the same block again, and one that ACKs have passed, bring no news.
    #[test]
    fn each_segment_is_delivered_once() {
        let mut log = SentLog::default();
        (0..10).for_each(|seq| log.sent(ms(0), seq));
        for (seq, blocks, delivered) in [
            (-1, vec![(1, 1)], 1),
            (-1, vec![(1, 2)], 1),
            (-1, vec![(1, 2)], 0),
            (-1, vec![(8, 8), (1, 2)], 1),
            (-1, vec![(7, 8), (4, 5), (1, 2)], 3),
            (-1, vec![(1, 5)], 1),
            (-1, vec![(1, 9)], 2),
            (5, vec![(1, 5)], 1),
            (9, vec![], 0),
        ] {
            assert_eq!(ack(&mut log, 50, seq, &blocks).delivered, delivered, "{seq} {blocks:?}");
        }
        assert_eq!((log.delivered, log.above, log.segments.len()), (10, 0, 0));
    }

    /// Segment 1 is sent again: the ACK of 0 to 2 is no measure of a round trip, that of 3 is.
    #[test]
    fn what_was_sent_again_is_known() {
        let mut log = SentLog::default();
        (0..4).for_each(|seq| log.sent(ms(seq as u64), seq));
        log.sent(ms(50), 1);
        assert_eq!(log.get(1).map(|s| (s.at, s.times)), Some((ms(50), 2)));
        let news = ack(&mut log, 100, 2, &[]);
        assert_eq!((news.once, news.newest.map(|s| (s.at, s.times))), (false, Some((ms(2), 1))));
        assert!(ack(&mut log, 101, 3, &[]).once);
        assert!(log.get(3).is_none());
    }

    /// Two segments are all there is to send: their rate, and that of what follows before they are
    /// delivered, says little of the path.
    #[test]
    fn an_application_may_limit_the_rate() {
        let mut log = SentLog::default();
        (0..2).for_each(|seq| log.sent(ms(0), seq));
        log.starved();
        log.sent(ms(10), 2);
        for (t, seq, limited) in [(40, 1, false), (50, 2, true)] {
            ack(&mut log, t, seq, &[]);
            assert_eq!(log.rate().map(|r| r.app_limited), Some(limited), "segment {seq}");
        }
        log.sent(ms(60), 3);
        ack(&mut log, 100, 3, &[]);
        assert_eq!(log.rate().map(|r| r.app_limited), Some(false));
    }
}
