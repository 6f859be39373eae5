//! Proportional rate reduction, RFC 9937: a cut of the window takes effect over a round trip. While
//! more is in flight than ssthresh, as many segments leave as are in proportion to those that were
//! delivered; below it, as many as were delivered, and one more with each ACK that tells of
//! progress and of no loss.
//!
//! Counts are in whole segments, as in Linux (`tcp_cwnd_reduction`), and so is ssthresh while the
//! reduction lasts. RecoverFS is what the cut multiplied: the data outstanding or the window, as
//! `ssthresh_from` says. A reduction also answers marks, as in Linux; the RFC speaks of losses.

/// A reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    /// RecoverFS, or the window before the cut (Linux).
    base: f64,
    /// Segments delivered and sent since the cut.
    delivered: u64,
    out: u64,
}

impl Prr {
    /// A cut of `base` segments begins a reduction.
    pub(crate) fn begin(base: f64) -> Self {
        Prr { base: base.max(1.0), delivered: 0, out: 0 }
    }

    /// Returns the window after an ACK that delivered `newly` segments, of which there was one at
    /// least; `safe`: the cumulative ACK moved, and nothing was declared lost.
    pub(crate) fn on_ack(&mut self, ssthresh: f64, in_flight: u64, newly: u64, safe: bool) -> f64 {
        self.delivered += newly;
        let ssthresh = ssthresh.trunc();
        let (delivered, out) = (self.delivered as i64, self.out as i64);
        let room = ssthresh as i64 - in_flight as i64;
        let sends = if room < 0 {
            (self.delivered as f64 * ssthresh / self.base).ceil() as i64 - out
        } else {
            // The conservative bound; with `safe` that of slow start.
            ((delivered - out).max(newly as i64) + i64::from(safe)).min(room)
        };
        let least = i64::from(self.out == 0); // the retransmission that begins recovery
        (in_flight as i64 + sends.max(least)) as f64
    }

    /// A segment has left, new or again.
    pub(crate) fn sent(&mut self) {
        self.out += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets what the window allows out, after an ACK. Returns what was in flight, the window, and
    /// how many were sent.
    fn step(prr: &mut Prr, ssthresh: f64, flight: &mut u64, newly: u64) -> (u64, u64, u64) {
        *flight -= newly;
        let before = *flight;
        let cwnd = prr.on_ack(ssthresh, *flight, newly, true) as u64;
        while *flight < cwnd {
            *flight += 1;
            prr.sent();
        }
        (before, cwnd, *flight - before)
    }

    /// A mark: 20 outstanding, ssthresh 10, and one ACK for each segment. One leaves for every two
    /// that arrive; when ten are in flight, one for each.
    #[test]
    fn a_mark_halves_the_window_over_a_round_trip() {
        let (mut prr, mut flight) = (Prr::begin(20.0), 20);
        let mut at = 20;
        for ack in 0..18 {
            let got = step(&mut prr, 10.0, &mut flight, 1);
            if ack % 2 == 0 {
                at -= 1;
                assert_eq!(got, (at, at + 1, 1), "ACK {ack}");
            } else {
                assert_eq!(got, (at, at, 0), "ACK {ack}");
            }
        }
        assert_eq!(step(&mut prr, 10.0, &mut flight, 1), (10, 10, 0));
        assert_eq!(step(&mut prr, 10.0, &mut flight, 1), (9, 10, 1));
    }

    /// The same with an ACK for every two: (18, 19), (17, 18) … (11, 12), (10, 10), (8, 10).
    #[test]
    fn acks_of_two_segments_reduce_as_well() {
        let (mut prr, mut flight) = (Prr::begin(20.0), 20);
        for want in (11..=18).rev() {
            assert_eq!(step(&mut prr, 10.0, &mut flight, 2), (want, want + 1, 1));
        }
        assert_eq!(step(&mut prr, 10.0, &mut flight, 2), (10, 10, 0));
        assert_eq!(step(&mut prr, 10.0, &mut flight, 2), (8, 10, 2));
    }

    /// CUBIC's 14 of 20, and DCTCP's 19.
    #[test]
    fn any_cut_is_in_proportion() {
        let of = |ssthresh: f64, acks: usize| {
            let (mut prr, mut flight) = (Prr::begin(20.0), 20);
            let mut seen = vec![];
            for _ in 0..acks {
                let (before, cwnd, sent) = step(&mut prr, ssthresh, &mut flight, 1);
                seen.push((before, sent, cwnd));
            }
            seen
        };
        let mut want = vec![];
        for (n, at) in [(3, 19), (2, 18), (2, 17), (3, 16), (2, 15)] {
            want.extend(std::iter::repeat_n((at, 1, at + 1), n));
            want.push((at, 0, at));
        }
        want.extend([(14, 0, 14), (13, 1, 14), (13, 1, 14)]);
        assert_eq!(of(14.0, 20), want);
        let mut want = vec![(19, 1, 20), (19, 0, 19)];
        want.extend([(18, 1, 19); 18]);
        assert_eq!(of(19.0, 20), want);
    }

    /// Four of twenty-two are lost, one after the other, each known after three reports; ssthresh is
    /// 10 of 20.
    #[test]
    fn losses_shrink_what_is_in_flight() {
        let mut prr = Prr::begin(20.0);
        let rows = [18, 18, 17, 17, 15, 15, 14, 14, 12, 12, 11, 11, 9];
        let windows = [19, 18, 18, 17, 16, 15, 15, 14, 13, 12, 12, 11, 10];
        for (in_flight, cwnd) in rows.into_iter().zip(windows) {
            assert_eq!(prr.on_ack(10.0, in_flight, 1, false) as u64, cwnd, "{in_flight}");
            (in_flight..cwnd).for_each(|_| prr.sent());
        }
        for _ in 0..9 {
            assert_eq!(prr.on_ack(10.0, 9, 1, true), 10.0);
            prr.sent();
        }
    }

    /// Fifteen of twenty are lost: four are in flight, and the conservative bound lets one out for
    /// each that arrives; an ACK that tells of progress alone lets two.
    #[test]
    fn heavy_losses_are_repaired_in_slow_start() {
        let mut prr = Prr::begin(20.0);
        for _ in 0..5 {
            assert_eq!(prr.on_ack(10.0, 4, 1, false), 5.0);
            prr.sent();
        }
        for (flight, cwnd) in [(4, 6.0), (5, 7.0), (6, 8.0), (7, 9.0), (8, 10.0), (9, 10.0)] {
            assert_eq!(prr.on_ack(10.0, flight, 1, true), cwnd);
            for _ in flight..cwnd as u64 {
                prr.sent();
            }
        }
    }
}
