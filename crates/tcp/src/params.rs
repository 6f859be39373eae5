//! The parameters of a TCP connection, declared once, and their checked form.

use penstock_units::param::{int, num, num_open, Param, ParamError, Ty, Values, PARAM};
use penstock_units::Duration;

/// How a sender answers loss and congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Variant {
    /// Fast retransmit, then slow start.
    Tahoe,
    /// Fast recovery, left on the first new ACK.
    Reno,
    /// Partial ACKs stay in recovery.
    NewReno,
    /// Recovery driven by selective ACKs.
    Sack,
    /// Delay-based.
    Vegas,
}

/// How the two ends use ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ecn {
    /// Not at all.
    Off,
    /// RFC 3168.
    Classic,
}

/// How a multi-level sender answers an incipient mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incipient {
    /// By β1.
    Decrease,
    /// By not growing.
    Hold,
    /// By one segment.
    Additive,
}

/// What `penstock list tcp` says of a variant.
#[derive(Clone, Copy, Debug)]
pub struct VariantInfo {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One line.
    pub doc: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Keys of [`PARAMS`] that only this variant reads.
    pub own: &'static [&'static str],
    /// Defaults under `profile = "ns-2"` that differ from those of [`PARAMS`]: key and TOML literal.
    pub ns2: &'static [(&'static str, &'static str)],
}

/// Every variant, in the order in which they were published.
pub const VARIANTS: &[VariantInfo] = &[
    VariantInfo {
        name: "tahoe",
        doc: "Fast retransmit on the third duplicate ACK, then slow start from one segment.",
        source: "Jacobson 1988",
        own: &[],
        ns2: &[],
    },
    VariantInfo {
        name: "reno",
        doc: "Fast recovery with window inflation; the first new ACK ends it.",
        source: "RFC 5681",
        own: &[],
        ns2: &[],
    },
    VariantInfo {
        name: "newreno",
        doc: "Fast recovery that partial ACKs do not end: one hole repaired each round trip.",
        source: "RFC 6582",
        own: &[],
        ns2: &[],
    },
    VariantInfo {
        name: "sack",
        doc: "Loss recovery from selective acknowledgements: holes are repaired as the pipe allows.",
        source: "RFC 2018, RFC 6675",
        own: &[],
        ns2: &[],
    },
    VariantInfo {
        name: "vegas",
        doc:
            "Keeps between alpha and beta segments of its own in the queue, judged from the round-trip time.",
        source: "Brakmo, O'Malley, Peterson 1994",
        own: &["alpha", "beta", "gamma"],
        ns2: &[("alpha", "1"), ("beta", "3"), ("header", "\"0 B\""), ("handshake", "false")],
    },
];

const WORDS_VARIANT: &[&str] = &["tahoe", "reno", "newreno", "sack", "vegas"];
const WORDS_ECN: &[&str] = &["off", "classic"];

/// Every key of a TCP flow.
pub const PARAMS: &[Param] = &[
    Param {
        name: "tcp",
        ty: Ty::Word(WORDS_VARIANT),
        default: Some("\"reno\""),
        source: "the papers' experiments use Reno",
        doc: "The sender's variant.",
        ..PARAM
    },
    Param {
        name: "ecn",
        ty: Ty::Word(WORDS_ECN),
        default: Some("\"off\""),
        source: "RFC 3168",
        doc: "How the two ends use ECN.",
        ..PARAM
    },
    Param {
        name: "segment",
        ty: Ty::Size,
        default: Some("\"1000 B\""),
        source: "the papers' packets",
        doc: "Payload of a full segment.",
        ..PARAM
    },
    Param {
        name: "header",
        ty: Ty::Size,
        auto: "the scenario's `overhead` (40 B)",
        source: "IPv4 and TCP without options",
        doc: "Header bytes that the wire counts on a data segment; an ACK and a SYN are 40 B.",
        ..PARAM
    },
    Param {
        name: "window",
        ty: int(1, 1 << 28),
        unit: "segments",
        default: Some("1000"),
        ns2: Some("20"),
        source: "ns-2: window_",
        doc: "The receiver's window: at most this much is outstanding.",
        ..PARAM
    },
    Param {
        name: "delayed_ack",
        ty: Ty::Bool,
        default: Some("false"),
        source: "RFC 1122 4.2.3.2; the papers do without",
        doc: "Acknowledge every second segment, or after `delayed_ack_timeout`.",
        ..PARAM
    },
    Param {
        name: "delayed_ack_timeout",
        ty: Ty::Duration,
        default: Some("\"100 ms\""),
        source: "RFC 5681 4.2: at most 500 ms; ns-2: 100 ms",
        doc: "How long a delayed ACK waits for a second segment.",
        ..PARAM
    },
    Param {
        name: "min_rto",
        ty: Ty::Duration,
        default: Some("\"1 s\""),
        ns2: Some("\"200 ms\""),
        source: "RFC 6298 (2.4)",
        doc: "Lower bound of the retransmission timeout, before back-off.",
        ..PARAM
    },
    Param {
        name: "max_rto",
        ty: Ty::Duration,
        default: Some("\"60 s\""),
        source: "RFC 6298 (2.5)",
        doc: "Upper bound of the retransmission timeout.",
        ..PARAM
    },
    Param {
        name: "initial_rto",
        ty: Ty::Duration,
        default: Some("\"1 s\""),
        ns2: Some("\"3 s\""),
        source: "RFC 6298 (2.1)",
        doc: "Timeout before the first round-trip sample.",
        ..PARAM
    },
    Param {
        name: "tick",
        ty: Ty::Duration,
        default: Some("\"1 ms\""),
        ns2: Some("\"10 ms\""),
        source: "RFC 6298 (2): clock granularity G",
        doc: "Granularity of the clock that measures round trips; its phase is random.",
        ..PARAM
    },
    Param {
        name: "rtt_clock",
        ty: Ty::Word(&["exact", "ticks"]),
        default: Some("\"exact\""),
        ns2: Some("\"ticks\""),
        source: "RFC 6298; ns-2 and 4.4BSD count ticks in integers",
        doc: "Whether round trips are measured exactly, or in whole ticks with integer arithmetic.",
        ..PARAM
    },
    Param {
        name: "initial_window",
        ty: int(1, 1000),
        unit: "segments",
        default: Some("2"),
        source: "RFC 2581; ns-2: windowInit_ 2 (RFC 6928: 10)",
        doc: "Congestion window after the handshake.",
        ..PARAM
    },
    Param {
        name: "initial_ssthresh",
        ty: num(1.0, 1e9),
        unit: "segments",
        auto: "no limit; under profile ns-2 the window",
        source: "RFC 5681 3.1: arbitrarily high",
        doc: "Slow-start threshold at the start.",
        ..PARAM
    },
    Param {
        name: "limited_transmit",
        ty: Ty::Bool,
        default: Some("true"),
        source: "RFC 3042",
        doc: "Send a new segment on the first and second duplicate ACK.",
        ..PARAM
    },
    Param {
        name: "send_overhead",
        ty: Ty::Duration,
        default: Some("\"0 s\""),
        source: "ns-2: overhead_",
        doc: "Each transmission waits a random time up to this, against phase effects.",
        ..PARAM
    },
    Param {
        name: "cwnd_floor",
        ty: num(0.0, 1000.0),
        unit: "segments",
        default: Some("1"),
        ns2: Some("0"),
        source: "RFC 3168 6.1.2; ns-2 has no floor after ECN cuts",
        doc: "The congestion window never goes below this.",
        ..PARAM
    },
    Param {
        name: "ssthresh_from",
        ty: Ty::Word(&["flight", "window"]),
        default: Some("\"flight\""),
        ns2: Some("\"window\""),
        source: "RFC 5681 (4): FlightSize; ns-2: min(cwnd, window)",
        doc: "What a cut halves: the data outstanding, or the window in force, rounded down to whole segments.",
        ..PARAM
    },
    Param {
        name: "growth",
        ty: Ty::Word(&["bytes", "acks"]),
        default: Some("\"bytes\""),
        ns2: Some("\"acks\""),
        source: "RFC 5681 3.1 (min(N, SMSS)); ns-2 takes one step an ACK",
        doc: "Whether growth counts the bytes that an ACK covers (at most one segment) or one step for each ACK.",
        ..PARAM
    },
    Param {
        name: "window_validation",
        ty: Ty::Bool,
        default: Some("true"),
        ns2: Some("false"),
        source: "RFC 7661 4.1, RFC 5681 4.1; ns-2 lets cwnd grow without a cap",
        doc: "Grow cwnd only while it, not the receiver or the application, limits sending.",
        ..PARAM
    },
    Param {
        name: "go_back_n",
        ty: Ty::Bool,
        default: Some("true"),
        ns2: Some("true"),
        source: "ns-2; 4.4BSD",
        doc: "After a timeout send everything outstanding again from the first hole; false: only what no SACK has reported (variant sack).",
        ..PARAM
    },
    Param {
        name: "loss_recovery",
        ty: Ty::Word(&["rfc", "ns-2"]),
        default: Some("\"rfc\""),
        ns2: Some("\"ns-2\""),
        source: "RFC 6582, RFC 6675; ns-2 2.35",
        doc: "Recovery's book-keeping: the RFCs', or ns-2's (bugfix rule, impatient partial ACKs, pipe of SACK).",
        ..PARAM
    },
    Param {
        name: "retransmit_ect",
        ty: Ty::Bool,
        default: Some("false"),
        ns2: Some("true"),
        source: "RFC 3168 6.1.5",
        doc: "Whether retransmissions are ECN-capable.",
        ..PARAM
    },
    Param {
        name: "ecn_across_connections",
        ty: Ty::Bool,
        default: Some("false"),
        ns2: Some("true"),
        source: "ns-2: a sink's echo and a sender's CWR outlive a reset",
        doc: "Whether successive connections of the same two ends (web) inherit the receiver's echo and the sender's CWR.",
        ..PARAM
    },
    Param {
        name: "handshake",
        ty: Ty::Bool,
        default: Some("true"),
        source: "RFC 9293; ns-2's Vegas has none",
        doc: "Open with SYN and SYN-ACK; false: the first data segment takes their place.",
        ..PARAM
    },
    Param {
        name: "whole_segments",
        ty: Ty::Bool,
        default: Some("false"),
        ns2: Some("true"),
        source: "ns-2 counts packets",
        doc: "Round a byte count up to whole segments.",
        ..PARAM
    },
    Param {
        name: "alpha",
        ty: num(0.0, 1e6),
        unit: "segments",
        default: Some("2"),
        source: "Brakmo 1994",
        doc: "Vegas grows below this many segments queued.",
        ..PARAM
    },
    Param {
        name: "beta",
        ty: num(0.0, 1e6),
        unit: "segments",
        default: Some("4"),
        source: "Brakmo 1994",
        doc: "Vegas shrinks above this many segments queued.",
        ..PARAM
    },
    Param {
        name: "gamma",
        ty: num_open(0.0, 1e6),
        unit: "segments",
        default: Some("1"),
        source: "Brakmo 1994",
        doc: "Vegas leaves slow start above this many segments queued.",
        ..PARAM
    },
];

/// The checked parameters of one connection.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpParams {
    /// See [`PARAMS`]; fields have the keys' names.
    pub variant: Variant,
    /// ECN.
    pub ecn: Ecn,
    /// Payload bytes of a full segment.
    pub segment: u32,
    /// Header bytes on a data segment.
    pub header: u32,
    /// Receiver's window, segments.
    pub window: u32,
    /// Delayed ACKs.
    pub delayed_ack: bool,
    /// Their longest delay.
    pub delayed_ack_timeout: Duration,
    /// Bounds and start of the retransmission timeout.
    pub min_rto: Duration,
    /// Upper bound.
    pub max_rto: Duration,
    /// Before the first sample.
    pub initial_rto: Duration,
    /// Clock granularity.
    pub tick: Duration,
    /// Round trips in whole ticks.
    pub rtt_ticks: bool,
    /// Segments.
    pub initial_window: u32,
    /// Segments.
    pub initial_ssthresh: f64,
    /// RFC 3042.
    pub limited_transmit: bool,
    /// Random delay of a transmission.
    pub send_overhead: Duration,
    /// Segments.
    pub cwnd_floor: f64,
    /// A cut halves min(cwnd, window) instead of the data outstanding.
    pub cut_window: bool,
    /// One step of growth an ACK, whatever it covers.
    pub growth_per_ack: bool,
    /// Grow only while cwnd limits.
    pub window_validation: bool,
    /// After a timeout everything again.
    pub go_back_n: bool,
    /// ns-2's book-keeping in recovery.
    pub ns2_recovery: bool,
    /// Retransmissions are ECT.
    pub retransmit_ect: bool,
    /// ECN's state outlives a connection.
    pub ecn_across_connections: bool,
    /// SYN and SYN-ACK.
    pub handshake: bool,
    /// Transfers are whole segments.
    pub whole_segments: bool,
    /// Vegas.
    pub alpha: f64,
    /// Vegas.
    pub beta: f64,
    /// Vegas.
    pub gamma: f64,
}

impl TcpParams {
    /// From values checked against [`PARAMS`] with defaults filled in. `header` and `initial_ssthresh` may be absent:
    /// 40 B, and no limit.
    pub fn from_values(v: &Values) -> Result<Self, ParamError> {
        let variant = match v.word("tcp").as_str() {
            "tahoe" => Variant::Tahoe,
            "reno" => Variant::Reno,
            "newreno" => Variant::NewReno,
            "sack" => Variant::Sack,
            _ => Variant::Vegas,
        };
        let ecn = if v.is("ecn", "classic") { Ecn::Classic } else { Ecn::Off };
        let segment = v.size("segment").0;
        if !(1..=1_000_000).contains(&segment) {
            return Err(ParamError::new("segment", "must be between 1 B and 1 MB"));
        }
        if v.duration("tick") == Duration::ZERO {
            return Err(ParamError::new("tick", "must be above 0 s"));
        }
        if v.duration("min_rto") > v.duration("max_rto") {
            return Err(ParamError::new("min_rto", "must not be above max_rto"));
        }
        if variant == Variant::Vegas && v.num("alpha") > v.num("beta") {
            return Err(ParamError::new("alpha", format!("must not be above beta ({})", v.num("beta"))));
        }
        if variant == Variant::Vegas && ecn != Ecn::Off {
            return Err(ParamError::new(
                "ecn",
                "must be \"off\" with tcp = \"vegas\", which has no answer to marks",
            ));
        }
        Ok(TcpParams {
            variant,
            ecn,
            segment: segment as u32,
            header: v.opt_size("header").map_or(40, |b| b.0.min(10_000) as u32),
            window: v.int("window") as u32,
            delayed_ack: v.bool("delayed_ack"),
            delayed_ack_timeout: v.duration("delayed_ack_timeout"),
            min_rto: v.duration("min_rto"),
            max_rto: v.duration("max_rto"),
            initial_rto: v.duration("initial_rto"),
            tick: v.duration("tick"),
            rtt_ticks: v.is("rtt_clock", "ticks"),
            initial_window: v.int("initial_window") as u32,
            initial_ssthresh: v.opt_num("initial_ssthresh").unwrap_or(f64::INFINITY),
            limited_transmit: v.bool("limited_transmit"),
            send_overhead: v.duration("send_overhead"),
            cwnd_floor: v.num("cwnd_floor"),
            cut_window: v.is("ssthresh_from", "window"),
            growth_per_ack: v.is("growth", "acks"),
            window_validation: v.bool("window_validation"),
            go_back_n: v.bool("go_back_n"),
            ns2_recovery: v.is("loss_recovery", "ns-2"),
            retransmit_ect: v.bool("retransmit_ect"),
            ecn_across_connections: v.bool("ecn_across_connections"),
            handshake: v.bool("handshake"),
            whole_segments: v.bool("whole_segments"),
            alpha: v.num("alpha"),
            beta: v.num("beta"),
            gamma: v.num("gamma"),
        })
    }
}
