//! The parameters of a TCP connection, and the one table of all of them.
//!
//! Each group is declared beside what it parametrises; here are those of the connection itself.

use crate::control::hystart::{HyStart, HyStartParams};
use crate::control::{ControlParams, VariantInfo, VARIANTS};
use crate::ecn::abe::AbeParams;
use crate::ecn::accecn::{AccEcnParams, EctOn};
use crate::ecn::bits::Ecn;
use crate::ecn::mecn::MecnParams;
use crate::pace::{PaceKeys, PacingParams};
use crate::quirks::Quirks;
use crate::recovery::kind::{BookKeeping, LossParams, QuicParams, RackParams, Recovery, Reduction};
use crate::rtt::RttParams;
use crate::segment;
use crate::usage::Validation;
use penstock_units::param::{int, num, Param, ParamError, Params, Profile, Values};
use penstock_units::{Bytes, Codepoints, Duration, Ecn as Codepoint, TxClock};

penstock_units::words! {
    /// What a cut halves.
    pub enum SsthreshFrom {
        /// The data outstanding (RFC 5681).
        Flight = "flight",
        /// min(cwnd, window), rounded down (ns-2).
        Window = "window",
        /// cwnd, however much of it is outstanding (Linux).
        Cwnd = "cwnd",
    }
}

penstock_units::words! {
    /// What an ACK counts for in growth.
    pub enum GrowthPer {
        /// The segments that it covers; in slow start one at most.
        Bytes = "bytes",
        /// One step.
        Acks = "acks",
        /// The segments that it covers, in slow start as well.
        Segments = "segments",
    }
}

penstock_units::params! {
    /// Everything that a user sets of one connection.
    ///
    /// ```
    /// use penstock_tcp::{ControlParams, CubicParams, Recovery, TcpParams};
    /// let cubic = CubicParams { cubic_beta: 0.8, ..CubicParams::default() };
    /// let p = TcpParams {
    ///     window: 25,
    ///     control: ControlParams::Cubic(cubic),
    ///     recovery: Recovery::Sack,
    ///     ..TcpParams::default()
    /// };
    /// assert!(p.check().is_ok());
    /// assert_eq!(
    ///     TcpParams { window: 0, ..p }.check().unwrap_err().to_string(),
    ///     "window: must be a whole number in [1, 268435456]"
    /// );
    /// ```
    pub struct TcpParams: Default {
        /// How the two ends use ECN. mecn: not with vegas and dctcp. accecn: the header's counter;
        /// with `accecn_option` the TCP option as well. sce: with Reno's four, cubic and dctcp. With
        /// dctcp the default is classic.
        pub ecn: Ecn {
            default: "off",
            source: "RFC 3168; mecn: Durresi 2007, tables 1 to 3; accecn: RFC 9768; sce: \
                     draft-morton-tsvwg-sce-04",
        },
        /// Payload of a full segment.
        pub segment: Bytes {
            default: "1000 B",
            linux: "1448 B",
            quic: "1165 B",
            source: "the papers' packets; Ethernet's 1500 B less IPv4, TCP and timestamps; QUIC: \
                     1200 B less its header, a STREAM frame's and the tag",
        },
        /// Header bytes that the wire counts on a data segment; an ACK and a SYN are 40 B, and with
        /// `timestamps` as long as their options make them.
        pub header: Option<Bytes> {
            auto: "the scenario's `overhead` (40 B), with `timestamps` 12 B more",
            source: "IPv4 and TCP without options",
        },
        /// Every packet has a timestamp, and an ACK returns that of the segment which it answers:
        /// each ACK of new data gives a sample of the round trip, and with rack a cut is taken back
        /// when the original turns out to have arrived. The clock is `tick`.
        pub timestamps: bool {
            default: false,
            linux: true,
            quiet: true,
            source: "RFC 7323; RFC 3522 (Eifel); Linux: tcp_timestamps",
        },
        /// The receiver's window: at most this much is outstanding.
        pub window: u32 {
            ty: int(1, 1 << 28),
            unit: "segments",
            default: 1000,
            ns2: 20,
            linux: 11586,
            source: "ns-2: window_; Linux: half of tcp_rmem's 32 MiB, which it grows to",
        },
        /// The receiver's window at the start, from which it grows to `window` with what arrives in a
        /// round trip.
        pub window_start: Option<u32> {
            ty: int(1, 1 << 28),
            unit: "segments",
            auto: "`window`, from the start",
            quiet: true,
            source: "Linux: tcp_rcv_space_adjust, tcp_grow_window; half of tcp_rmem's 128 KiB is 45",
        },
        /// The most that a socket's send buffer grows to. What the application has written stays in
        /// it until an ACK covers it. It grows with the window, to two of them (bbr: three).
        pub send_buffer: Option<Bytes> {
            auto: "it holds every window",
            quiet: true,
            source: "Linux: tcp_sndbuf_expand, sk_stream_write_space; tcp_wmem's most is 4 MiB",
        },
        /// Acknowledge every second segment, or after `delayed_ack_timeout`.
        pub delayed_ack: bool {
            default: false,
            linux: true,
            quic: true,
            source: "RFC 1122 4.2.3.2; RFC 9000 13.2.2; the papers do without",
        },
        /// How long a delayed ACK waits for a second segment; part of the timeout with recovery quic.
        pub delayed_ack_timeout: Duration {
            default: "100 ms",
            linux: "40 ms",
            quic: "25 ms",
            source: "RFC 5681 4.2: at most 500 ms; ns-2: 100 ms; Linux: TCP_DELACK_MIN; RFC 9000 \
                     18.2: max_ack_delay",
        },
        /// How long a delayed ACK waits follows the gaps between segments, and doubles when it was in
        /// vain: from `delayed_ack_timeout` up to the round trip of the handshake, in whole ticks of
        /// the host's clock, with one of which it ends.
        pub delayed_ack_adapts: bool {
            default: false,
            linux: true,
            quiet: true,
            source: "Linux: tcp_event_data_recv, tcp_delack_timer_handler",
        },
        /// With delayed ACKs: so many at the start, and after a pause longer than a timeout, are
        /// not delayed. Where they adapt, five more at the start, while the window grows.
        pub quickack: u32 {
            ty: int(0, 1000),
            unit: "ACKs",
            default: 0,
            linux: 16,
            quiet: true,
            source: "Linux: TCP_MAX_QUICKACKS",
        },
        /// With delayed ACKs and SACK: after three duplicate ACKs, those of further segments out of
        /// order wait for each other so long, but no longer than a twentieth of the handshake's round
        /// trip.
        pub sack_compression: Duration {
            default: "0 s",
            linux: "1 ms",
            quiet: true,
            source: "Linux: tcp_comp_sack_delay_ns",
        },
        /// Congestion window after the handshake.
        pub initial_window: u32 {
            ty: int(1, 1000),
            unit: "segments",
            default: 2,
            linux: 10,
            quic: 10,
            source: "RFC 2581; ns-2: windowInit_ 2; Linux: RFC 6928; RFC 9002 7.2",
        },
        /// Slow-start threshold at the start.
        pub initial_ssthresh: Option<f64> {
            ty: num(1.0, 1e9),
            unit: "segments",
            auto: "no limit; under profile ns-2 the window",
            source: "RFC 5681 3.1: arbitrarily high",
        },
        /// Send a new segment on the first and second duplicate ACK.
        pub limited_transmit: bool { default: true, source: "RFC 3042" },
        /// Each transmission waits a random time up to this, against phase effects.
        pub send_overhead: Duration { default: "0 s", source: "ns-2: overhead_" },
        /// The congestion window never goes below this.
        pub cwnd_floor: f64 {
            ty: num(0.0, 1000.0),
            unit: "segments",
            default: 1,
            ns2: 0,
            quic: 2,
            source: "RFC 3168 6.1.2; ns-2 has no floor after ECN cuts; RFC 9002: kMinimumWindow",
        },
        /// What a cut halves: the data outstanding, at most cwnd; the window in force, rounded
        /// down to whole segments; or cwnd.
        pub ssthresh_from: SsthreshFrom {
            default: "flight",
            ns2: "window",
            linux: "cwnd",
            quic: "cwnd",
            source: "RFC 5681 (4): FlightSize; ns-2: min(cwnd, window); Linux: snd_cwnd; RFC 9002 7.3.2",
        },
        /// Keep cwnd and ssthresh in whole segments: what growth has short of one is counted until
        /// it makes one, and forgotten at a cut.
        pub whole_cwnd: bool { default: false, linux: true, quiet: true, source: "Linux: snd_cwnd_cnt" },
        /// Whether growth counts the bytes that an ACK covers (in slow start at most one segment),
        /// one step for each ACK, or every segment that it covers.
        pub growth: GrowthPer {
            default: "bytes",
            ns2: "acks",
            linux: "segments",
            quic: "segments",
            source: "RFC 5681 3.1 (min(N, SMSS)); ns-2 takes one step an ACK; Linux, RFC 9002 7.3.1: no \
                     limit an ACK",
        },
        /// Grow cwnd only while it, not the receiver or the application, limits sending. linux
        /// judges that by a round trip: in slow start more than half of cwnd must have been
        /// outstanding, later all of it; and a window that goes unused for a timeout shrinks
        /// towards what is used.
        pub window_validation: Validation {
            default: true,
            ns2: false,
            linux: "linux",
            quic: "linux",
            source: "RFC 7661 4.1, RFC 5681 4.1; ns-2 lets cwnd grow without a cap; Linux: tcp_cwnd_validate",
        },
        /// A sender that has had nothing outstanding for longer than a timeout halves cwnd for each
        /// of these, down to the initial window.
        pub idle_restart: bool {
            default: false,
            linux: true,
            quiet: true,
            source: "RFC 2861; RFC 5681 4.1; Linux: tcp_slow_start_after_idle",
        },
        /// Whether retransmissions are ECN-capable.
        pub retransmit_ect: bool {
            default: false,
            ns2: true,
            quic: true,
            source: "RFC 3168 6.1.5; RFC 9000 13.4",
        },
        /// Whether successive connections of the same two ends (web) inherit the receiver's echo
        /// and the sender's CWR.
        pub ecn_across_connections: bool {
            default: false,
            ns2: true,
            source: "ns-2: a sink's echo and a sender's CWR outlive a reset",
        },
        /// Open with SYN and SYN-ACK; false: the first data segment takes their place.
        pub handshake: bool { default: true, source: "RFC 9293; ns-2's Vegas has none" },
        /// Round a byte count up to whole segments.
        pub whole_segments: bool { default: false, ns2: true, source: "ns-2 counts packets" },
    } with {
        /// The retransmission timer.
        pub rtt: RttParams,
        /// What every way of repairing losses reads.
        pub loss: LossParams,
        /// Multi-level ECN.
        pub mecn: MecnParams,
        /// What a mark leaves, where that differs from what a loss leaves.
        pub abe: AbeParams,
        /// What ends slow start before a loss.
        pub hystart: HyStartParams,
        /// Accurate ECN beyond its counter.
        pub accecn: AccEcnParams,
        /// Pacing that does not depend on the control.
        pub pacing: PacingParams,
        /// The congestion control: how the window grows and shrinks.
        pub control: ControlParams,
        /// How losses are repaired.
        pub recovery: Recovery,
        /// What RACK-TLP reads.
        pub rack: RackParams,
        /// What QUIC's recovery reads.
        pub quic: QuicParams,
    }
}

/// Returns where `name` stands in a table.
const fn position(table: &[Param], name: &str) -> usize {
    let mut i = 0;
    while !same(table[i].name, name) {
        i += 1;
    }
    i
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// The tables in the order in which users read the keys: a group stands where its subject comes up.
const PIECES: &[&[Param]] = {
    const TCP: (&[Param], &[Param]) = ControlParams::TABLE.split_at(1);
    const TIMER: (&[Param], &[Param]) =
        TcpParams::TABLE.split_at(position(TcpParams::TABLE, "initial_window"));
    const LOSS: (&[Param], &[Param]) = TIMER.1.split_at(position(TIMER.1, "retransmit_ect"));
    const MECN: (&[Param], &[Param]) = LOSS.1.split_at(position(LOSS.1, "handshake"));
    &[
        TCP.0,
        TIMER.0,
        RttParams::TABLE,
        LOSS.0,
        LossParams::TABLE,
        MECN.0,
        MecnParams::TABLE,
        AccEcnParams::TABLE,
        MECN.1,
        PacingParams::TABLE,
        TCP.1,
        HyStartParams::TABLE,
        AbeParams::TABLE,
        Recovery::TABLE,
        RackParams::TABLE,
        QuicParams::TABLE,
    ]
};

/// Every key of a TCP flow.
pub const PARAMS: &[Param] = penstock_units::joined!(PIECES);

impl TcpParams {
    /// Reads values that are checked against [`PARAMS`] and have their defaults filled in.
    ///
    /// # Errors
    /// If they do not fit together.
    pub fn from_values(values: &Values) -> Result<Self, ParamError> {
        let p = TcpParams::read(values);
        p.check_together()?;
        Ok(p)
    }

    /// Returns the defaults of `tcp = name`, if there is such a variant.
    pub fn of(name: &str) -> Option<Self> {
        TcpParams::under(Profile::Rfc, name)
    }

    /// Returns the defaults of `tcp = name` under a profile, if there is such a variant.
    pub fn under(profile: Profile, name: &str) -> Option<Self> {
        let variant = VARIANTS.iter().find(|v| v.name == name)?;
        let mut values = Values::defaults(&[PARAMS], &variant.defaults, profile);
        values.put("tcp", &variant);
        Some(TcpParams::read(&values))
    }

    /// Checks every parameter by itself, and all together.
    ///
    /// # Errors
    /// If one is out of its range, or does not fit another.
    pub fn check(&self) -> Result<(), ParamError> {
        Params::check(self)?;
        self.check_together()
    }

    fn check_together(&self) -> Result<(), ParamError> {
        let refuse = |name, problem| Err(ParamError::new(name, problem));
        if !(1..=1_000_000).contains(&self.segment.0) {
            return refuse("segment", "must be between 1 B and 1 MB");
        }
        if self.window_start.is_some_and(|start| start > self.window) {
            return refuse("window_start", "must not be above window");
        }
        if self.send_buffer.is_some_and(|most| most.0 < self.segment.0) {
            return refuse("send_buffer", "must not be below segment");
        }
        if self.send_buffer.is_some() && self.recovery == Recovery::Quic {
            return refuse("send_buffer", "must be left out with recovery \"quic\", no socket's");
        }
        if self.rtt.tick == Duration::ZERO {
            return refuse("tick", "must be above 0 s");
        }
        if self.timestamps && self.rtt.stamp_unit() < Duration::from_micros(1) {
            return refuse("tick", "must be at least 1 us with timestamps, whose clock it is");
        }
        if self.timestamps && self.recovery == Recovery::Quic {
            return refuse("timestamps", "must be false with recovery \"quic\", which has none");
        }
        if self.rtt.min_rto > self.rtt.max_rto {
            return refuse("min_rto", "must not be above max_rto");
        }
        if self.ecn == Ecn::Sce && !self.control.answers_sce() {
            let problem = "must not be \"sce\" with this tcp: SCE has answers for the windows of \
                           Reno, cubic and dctcp";
            return refuse("ecn", problem);
        }
        self.control.check_with(self.ecn)?;
        if self.ecn == Ecn::Mecn {
            self.mecn.check_order()?;
        }
        if self.ecn != Ecn::Off && !self.handshake {
            return refuse("handshake", "must be true with ECN, which is negotiated on the SYN");
        }
        if self.accecn.ect_on == EctOn::All && self.ecn != Ecn::AccEcn {
            return refuse(
                "ect_on",
                "must be \"data\" or \"established\" unless ecn = \"accecn\", which alone tells of \
                 marks on SYNs and ACKs",
            );
        }
        if self.control.full() && self.recovery != Recovery::Rack {
            return refuse(
                "recovery",
                "must be \"rack\" under this tcp, which sets its window itself",
            );
        }
        if self.control.hears_of_states() && self.recovery != Recovery::Rack {
            return refuse("recovery", "must be \"rack\" with Linux's form of this tcp");
        }
        let PaceKeys { pacing_gain, pacing_gain_start, min_tso_segments, .. } = self.pacing.keys;
        if min_tso_segments > 0 && self.recovery != Recovery::Rack {
            return refuse("min_tso_segments", "must be 0 unless recovery is \"rack\"");
        }
        if !self.pacing.by_window() || self.control.paces() {
            let problem = if self.control.paces() {
                "must be left out with this tcp, which has a pace of its own"
            } else {
                "must be left out unless pacing is \"fq\" or \"always\""
            };
            if pacing_gain.is_some() {
                return refuse("pacing_gain", problem);
            }
            if pacing_gain_start.is_some() {
                return refuse("pacing_gain_start", problem);
            }
        }
        if self.hystart.hystart != HyStart::Off && !self.variant().owns("hystart") {
            let problem = "must be \"off\" with a control that has a slow start of its own";
            return refuse("hystart", problem);
        }
        if self.abe.beta_ecn.is_some()
            && (matches!(self.ecn, Ecn::Mecn | Ecn::Sce) || !self.variant().owns("beta_ecn"))
        {
            let problem = "must be left out: this tcp and ecn have answers of their own to marks";
            return refuse("beta_ecn", problem);
        }
        if !self.control.takes(self.recovery) {
            return refuse(
                "recovery",
                "must be \"newreno\", \"sack\", \"rack\" or \"quic\", or what the control has",
            );
        }
        Ok(())
    }

    /// Returns the row of [`VARIANTS`](crate::VARIANTS) that this connection is.
    pub fn variant(&self) -> &'static VariantInfo {
        self.control.variant(self.recovery)
    }

    /// Whether losses are repaired from selective acknowledgements, which the SYN then negotiates.
    #[inline]
    pub fn sack(&self) -> bool {
        self.recovery.reads_reports()
    }

    /// Whether a cut takes effect over a round trip.
    #[inline]
    pub(crate) fn gradual(&self) -> bool {
        self.recovery == Recovery::Rack && self.rack.reduction == Reduction::Prr
    }

    /// Whether the receiver reports what arrives twice (DSACK).
    #[inline]
    pub(crate) fn dsack(&self) -> bool {
        matches!(self.recovery, Recovery::Rack | Recovery::Quic)
    }

    /// Returns what ns-2 does differently, where recovery follows its book-keeping.
    #[inline]
    pub(crate) fn quirks(&self) -> Quirks {
        Quirks::new(self.loss.loss_recovery == BookKeeping::Ns2)
    }

    /// Returns the payload of a full segment in bytes.
    #[inline]
    pub fn segment_bytes(&self) -> u32 {
        self.segment.0 as u32 // at most 1 MB
    }

    /// Returns the header bytes that the wire counts on a data segment.
    #[inline]
    pub fn header_bytes(&self) -> u32 {
        self.header.map_or(self.bare_bytes(), |b| b.0.min(10_000) as u32)
    }

    /// Returns the header bytes of a packet without data, and without options but timestamps.
    #[inline]
    pub fn bare_bytes(&self) -> u32 {
        segment::bare_bytes(self.timestamps)
    }

    /// Returns how many of a header's bytes are timestamps.
    pub fn stamp_bytes(&self) -> u32 {
        self.bare_bytes() - segment::bare_bytes(false)
    }

    /// Returns the bytes of a SYN.
    #[inline]
    pub fn syn_bytes(&self) -> u32 {
        segment::syn_bytes(self.timestamps)
    }

    /// Returns the time that a full segment takes at the highest pacing rate.
    #[inline]
    pub(crate) fn least_gap(&self) -> Option<Duration> {
        let bytes = self.segment_bytes() + self.header_bytes();
        self.pacing.max_rate.map(|rate| TxClock::new(rate).alone(bytes))
    }

    /// Returns the code point of an ECN-capable packet that nobody has marked.
    #[inline]
    pub(crate) fn unmarked(&self) -> Codepoint {
        if self.control.scalable() {
            Codepoint::Ect1 // RFC 9331 4.1
        } else {
            self.codepoints().unmarked()
        }
    }

    /// Returns the ECN field of a SYN.
    pub(crate) fn syn_field(&self) -> Codepoint {
        // RFC 8257 3.6, or ECN++.
        if self.control.counts_marks() || self.accecn.ect_on == EctOn::All {
            self.unmarked()
        } else {
            Codepoint::NotEct
        }
    }

    /// Returns the ECN field of an ACK of a connection that uses `agreed`.
    pub(crate) fn ack_field(&self, agreed: Ecn) -> Codepoint {
        if agreed == Ecn::AccEcn && self.accecn.ect_on != EctOn::Data {
            self.unmarked()
        } else {
            Codepoint::NotEct
        }
    }

    /// Returns what the two ECN-capable code points mean.
    #[inline]
    pub(crate) fn codepoints(&self) -> Codepoints {
        match (self.ecn, self.mecn.codepoints) {
            (Ecn::Mecn, Some(codepoints)) => codepoints,
            _ => Codepoints::Wire,
        }
    }
}
