//! A driver with verbs, so that a test reads as a story: the sender on one side, the test plays the
//! network and the receiver.

use penstock_tcp::{
    Ack, Bits, Block, BookKeeping, Ecn, GrowthPer, Io, LossParams, Mark, MecnParams, RttClock,
    RttParams, Segment, Sender, SsthreshFrom, Stamp, TcpParams, Validation,
};
use penstock_units::{Duration, Time};
use std::sync::Arc;

/// The defaults of `tcp = variant`: RFC behaviour, windows wide open.
pub fn rfc(variant: &str) -> TcpParams {
    TcpParams::of(variant).unwrap_or_else(|| panic!("tcp = {variant}"))
}

/// ns-2 2.35's behaviour, except for the window of 20.
pub fn ns2(variant: &str) -> TcpParams {
    let p = rfc(variant);
    TcpParams {
        rtt: RttParams {
            min_rto: Duration::from_millis(200),
            initial_rto: Duration::from_secs(3),
            tick: Duration::from_millis(10),
            rtt_clock: RttClock::Ticks,
            ..p.rtt
        },
        initial_ssthresh: Some(1000.0),
        cwnd_floor: 0.0,
        ssthresh_from: SsthreshFrom::Window,
        growth: GrowthPer::Acks,
        window_validation: Validation::Off,
        loss: LossParams { loss_recovery: BookKeeping::Ns2, ..p.loss },
        retransmit_ect: true,
        ecn_across_connections: true,
        whole_segments: true,
        ..p
    }
}

/// Whether `p` follows ns-2's book-keeping.
pub fn is_ns2(p: &TcpParams) -> bool {
    p.loss.loss_recovery == BookKeeping::Ns2
}

/// The same with other answers to marks.
pub fn with_mecn(p: TcpParams, change: impl FnOnce(&mut MecnParams)) -> TcpParams {
    let mut p = TcpParams { ecn: Ecn::Mecn, ..p };
    change(&mut p.mecn);
    p
}

pub const LOSS_BASED: [&str; 4] = ["tahoe", "reno", "newreno", "sack"];

pub fn ms(n: u64) -> Time {
    Time::from_nanos(n * 1_000_000)
}

/// Collects what the sender sends, and when each segment may leave.
#[derive(Default)]
pub struct Outbox(pub Vec<Segment>, pub Vec<Time>);

impl Io for Outbox {
    fn send(&mut self, segment: Segment, not_before: Time) {
        self.0.push(segment);
        self.1.push(not_before);
    }
    fn random(&mut self) -> f64 {
        0.5
    }
}

/// A sender under test. Time stands still unless told: `wait`, `timer`.
pub struct Story {
    pub tcp: Sender,
    pub now: Time,
    /// Sent since the test last looked.
    out: Outbox,
    ecn: Ecn,
    /// AccECN: the receiver's count.
    count: u8,
}

impl Story {
    /// Connected at 100 ms by a handshake of 100 ms, with no end of data; the initial window is on
    /// its way.
    pub fn connected(p: TcpParams) -> Self {
        let mut s = Self::given(p, 1 << 40);
        s.wait(100);
        if s.tcp.first_data() == 1 {
            assert_eq!(s.sent(), [0], "the SYN");
            s.ack(0);
        }
        s
    }

    /// Connected, with cwnd grown to `cwnd` in slow start, ssthresh there, and as much outstanding:
    /// the segments after `last_acked()`.
    pub fn at_window(p: TcpParams, cwnd: u32) -> Self {
        let p = TcpParams { initial_window: cwnd, initial_ssthresh: Some(f64::from(cwnd)), ..p };
        let mut s = Self::connected(p);
        assert_eq!(s.sent().len(), cwnd as usize);
        s
    }

    /// At time zero, given so many segments; the first is sent.
    pub fn given(p: TcpParams, segments: u64) -> Self {
        let ecn = p.ecn;
        let tcp = Sender::new(Arc::new(p), 0.0);
        let mut s = Story { tcp, now: Time::ZERO, out: Outbox::default(), ecn, count: 5 };
        s.tcp.give(s.now, segments, &mut s.out);
        s
    }

    /// The application gives `segments` more.
    pub fn give(&mut self, segments: u64) -> &mut Self {
        self.tcp.give(self.now, segments, &mut self.out);
        self
    }

    pub fn wait(&mut self, n: u64) -> &mut Self {
        self.now += Duration::from_millis(n);
        self
    }

    fn give_ack(&mut self, ack: Ack) -> &mut Self {
        self.tcp.on_ack(self.now, &ack, &mut self.out);
        self
    }

    /// What a receiver's header bits are, where it has `marked` more packets marked with `mark`.
    fn bits(&mut self, seq: i64, mark: Mark, marked: u8) -> Bits {
        match self.ecn {
            Ecn::Off => Bits::NONE,
            Ecn::Classic if seq == 0 || mark == Mark::Ce => Bits::ECE,
            Ecn::Sce if seq == 0 => Bits::ECE,
            Ecn::Sce if mark == Mark::Ce => Bits::ECE,
            Ecn::Sce if mark == Mark::Incipient => Bits::from_number(0b100),
            Ecn::Classic | Ecn::Sce => Bits::NONE,
            Ecn::Mecn if seq == 0 || mark == Mark::Incipient => Bits::CWR,
            Ecn::Mecn if mark == Mark::Ce => Bits::CWR_ECE,
            Ecn::Mecn => Bits::ECE,
            Ecn::AccEcn if seq == 0 => Bits::CWR,
            Ecn::AccEcn => {
                self.count += marked;
                Bits::from_number(self.count)
            }
        }
    }

    /// An ACK of everything up to `seq`; that of the SYN says that the receiver is ECN-capable.
    pub fn ack(&mut self, seq: i64) -> &mut Self {
        let bits = self.bits(seq, Mark::None, 0);
        self.give_ack(Ack { seq, bits, ..Ack::default() })
    }

    /// An ACK from a receiver with room for `window` segments more.
    pub fn offered(&mut self, seq: i64, window: u32) -> &mut Self {
        self.give_ack(Ack { seq, window, ..Ack::default() })
    }

    /// An ACK that tells of a mark.
    pub fn marked(&mut self, seq: i64, mark: Mark) -> &mut Self {
        let bits = self.bits(seq, mark, 1);
        self.give_ack(Ack { seq, bits, ..Ack::default() })
    }

    /// An ACK with these header bits.
    pub fn ack_with(&mut self, seq: i64, bits: Bits) -> &mut Self {
        self.give_ack(Ack { seq, bits, ..Ack::default() })
    }

    /// An ACK that returns the timestamp of what left at `sent` ms.
    pub fn echoed(&mut self, seq: i64, sent: u64) -> &mut Self {
        let echo = Stamp::of(ms(sent), Duration::from_millis(1));
        self.give_ack(Ack { seq, echo, ..Ack::default() })
    }

    /// ACKs one after the other.
    pub fn acks(&mut self, seqs: std::ops::RangeInclusive<i64>) -> &mut Self {
        for seq in seqs {
            self.ack(seq);
        }
        self
    }

    /// `n` duplicates of the ACK of `seq`.
    pub fn dup(&mut self, seq: i64, n: usize) -> &mut Self {
        for _ in 0..n {
            self.ack(seq);
        }
        self
    }

    /// An ACK with ECN-Echo.
    pub fn echo(&mut self, seq: i64) -> &mut Self {
        self.ack_with(seq, Bits::ECE)
    }

    /// An ACK with SACK blocks, both ends of which are included: `sack(4, &[(6, 8)])`.
    pub fn sack(&mut self, seq: i64, blocks: &[(i64, i64)]) -> &mut Self {
        let bits =
            if self.ecn == Ecn::Classic { Bits::NONE } else { self.bits(seq, Mark::None, 0) };
        let mut ack = Ack { seq, bits, n_blocks: blocks.len() as u8, ..Ack::default() };
        for (to, (left, last)) in ack.blocks.iter_mut().zip(blocks) {
            *to = Block { left: *left, right: last + 1 };
        }
        self.give_ack(ack)
    }

    /// The timer expires, at its deadline.
    pub fn timer(&mut self) -> &mut Self {
        self.now = self.tcp.deadline().expect("the timer runs");
        self.tcp.on_timer(self.now, &mut self.out);
        self
    }

    /// What has been sent since the last look.
    pub fn take(&mut self) -> Vec<Segment> {
        self.out.1.clear();
        std::mem::take(&mut self.out.0)
    }

    /// The numbers of what has been sent since the last look, and when each may leave its host.
    pub fn departures(&mut self) -> Vec<(i64, Time)> {
        let times = std::mem::take(&mut self.out.1);
        self.sent().into_iter().zip(times).collect()
    }

    /// The numbers of what has been sent since the last look.
    pub fn sent(&mut self) -> Vec<i64> {
        self.take().iter().map(|s| s.seq).collect()
    }

    pub fn cwnd(&self) -> f64 {
        self.tcp.cwnd()
    }

    pub fn ssthresh(&self) -> f64 {
        self.tcp.ssthresh()
    }

    /// How far ahead the timer is.
    pub fn rto(&self) -> Duration {
        self.tcp.deadline().expect("the timer runs").since(self.now)
    }

    pub fn rto_ms(&self) -> f64 {
        self.rto().as_secs_f64() * 1e3
    }
}

/// Equal but for rounding.
#[track_caller]
pub fn near(got: f64, want: f64) {
    assert!((got - want).abs() < 1e-6, "{got}, should be {want}");
}
