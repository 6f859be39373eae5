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
    /// Westwood+: sets ssthresh from an estimate of the bandwidth.
    Westwood,
    /// Grows with the cube of the time since the last cut.
    Cubic,
    /// Cuts by the fraction of marked packets.
    Dctcp,
}

impl Variant {
    /// Whether it answers multi-level ECN's marks; the others' cuts are their own.
    pub fn speaks_mecn(self) -> bool {
        matches!(self, Variant::Tahoe | Variant::Reno | Variant::NewReno | Variant::Sack)
    }
}

/// How the two ends use ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ecn {
    /// Not at all.
    Off,
    /// RFC 3168.
    Classic,
    /// Multi-level ECN.
    Mecn,
    /// RFC 9768.
    AccEcn,
}

/// How a variant that only says how far to cut repairs losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// RFC 6582.
    NewReno,
    /// RFC 6675.
    Sack,
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
    /// Defaults that differ from those of [`PARAMS`]: key and TOML literal.
    pub defaults: &'static [(&'static str, &'static str)],
    /// Defaults under `profile = "ns-2"` that differ from those of [`PARAMS`]: key and TOML
    /// literal.
    pub ns2: &'static [(&'static str, &'static str)],
}

/// Every variant, in the order in which they were published.
pub const VARIANTS: &[VariantInfo] = &[
    VariantInfo {
        name: "tahoe",
        doc: "Fast retransmit on the third duplicate ACK, then slow start from one segment.",
        source: "Jacobson 1988",
        own: &[],
        defaults: &[],
        ns2: &[],
    },
    VariantInfo {
        name: "reno",
        doc: "Fast recovery with window inflation; the first new ACK ends it.",
        source: "RFC 5681",
        own: &[],
        defaults: &[],
        ns2: &[],
    },
    VariantInfo {
        name: "newreno",
        doc: "Fast recovery that partial ACKs do not end: one hole repaired each round trip.",
        source: "RFC 6582",
        own: &[],
        defaults: &[],
        ns2: &[],
    },
    VariantInfo {
        name: "sack",
        doc: "Loss recovery from selective acknowledgements: holes are repaired as the pipe allows.",
        source: "RFC 2018, RFC 6675",
        own: &[],
        defaults: &[],
        ns2: &[],
    },
    VariantInfo {
        name: "vegas",
        doc:
            "Keeps between alpha and beta segments of its own in the queue, judged from the round-trip time.",
        source: "Brakmo, O'Malley, Peterson 1994",
        own: &["alpha", "beta", "gamma"],
        defaults: &[],
        ns2: &[("alpha", "1"), ("beta", "3"), ("header", "\"0 B\""), ("handshake", "false")],
    },
    VariantInfo {
        name: "westwood",
        doc: "Westwood+: a loss sets ssthresh to what the estimated bandwidth delivers in the shortest round trip.",
        source: "Mascolo, Casetti, Gerla, Sanadidi, Wang 2001; Grieco, Mascolo 2004",
        own: &["gain", "westwood_cwnd", "recovery"],
        defaults: &[("recovery", "\"newreno\"")],
        ns2: &[],
    },
    VariantInfo {
        name: "cubic",
        doc: "The window is a cubic function of the time since the last cut, and never below Reno's.",
        source: "RFC 9438",
        own: &["cubic_c", "cubic_beta", "fast_convergence", "recovery"],
        defaults: &[],
        ns2: &[],
    },
    VariantInfo {
        name: "dctcp",
        doc: "Cuts the window by half the estimated fraction of marked packets.",
        source: "RFC 8257",
        own: &["g", "recovery"],
        defaults: &[("ecn", "\"classic\"")],
        ns2: &[],
    },
];

const WORDS_VARIANT: &[&str] =
    &["tahoe", "reno", "newreno", "sack", "vegas", "westwood", "cubic", "dctcp"];
const WORDS_ECN: &[&str] = &["off", "classic", "mecn", "accecn"];

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
        source: "RFC 3168; mecn: Durresi 2007, tables 1 to 3; accecn: RFC 9768",
        doc: "How the two ends use ECN. mecn: with tahoe, reno, newreno and sack. accecn: the header's counter, without the TCP option. With dctcp the default is classic.",
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
        name: "beta1",
        ty: num(0.0, 0.99),
        unit: "1",
        default: Some("0.2"),
        source: "Durresi 2007, table 3",
        doc: "mecn: the part of the window that an incipient mark takes.",
        ..PARAM
    },
    Param {
        name: "beta2",
        ty: num(0.0, 0.99),
        unit: "1",
        default: Some("0.4"),
        source: "Durresi 2007, table 3",
        doc: "mecn: the part of the window that a moderate mark takes.",
        ..PARAM
    },
    Param {
        name: "beta3",
        ty: num(0.0, 0.99),
        unit: "1",
        default: Some("0.5"),
        source: "Durresi 2007, table 3",
        doc: "mecn: the part of the window that a loss takes.",
        ..PARAM
    },
    Param {
        name: "incipient",
        ty: Ty::Word(&["decrease", "hold", "additive"]),
        default: Some("\"decrease\""),
        source: "Durresi 2007, table 3; hold and additive: section 2.3",
        doc: "mecn: an incipient mark takes beta1 of the window, only keeps its ACK from growing it, or takes one segment (at most half).",
        ..PARAM
    },
    Param {
        name: "escalate",
        ty: Ty::Bool,
        default: Some("false"),
        source: "our reading: the paper is silent",
        doc: "mecn: a moderate mark in a window already cut for an incipient one deepens that cut.",
        ..PARAM
    },
    Param {
        name: "latch",
        ty: Ty::Bool,
        default: Some("false"),
        source: "RFC 3168 6.1.3 does so; Durresi 2007 reflects each mark once",
        doc: "mecn: the receiver repeats the highest level until the sender says that it has reduced its window; false: each ACK tells the highest level among the packets that it answers.",
        ..PARAM
    },
    Param {
        name: "codepoints",
        ty: Ty::Word(&["wire", "literal"]),
        auto: "as the discipline says",
        source: "Durresi 2007, table 1; RFC 2481",
        doc: "mecn: wire: data are ECT(0), ECT(1) is incipient; literal: Table 1's order of the bits, the other way round.",
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
    Param {
        name: "gain",
        ty: num(0.0, 0.999_999),
        unit: "1",
        default: Some("0.9"),
        source: "Mascolo 2001; Patel 2014, eq. 3",
        doc: "Westwood's filter: how much of the bandwidth estimate stays from one round trip to the next.",
        ..PARAM
    },
    Param {
        name: "westwood_cwnd",
        ty: Ty::Word(&["min", "printed"]),
        default: Some("\"min\""),
        source: "Grieco 2004; printed: Patel 2014, fig. 3",
        doc: "Three duplicate ACKs set cwnd to min(cwnd, ssthresh), or as printed to ssthresh.",
        ..PARAM
    },
    Param {
        name: "g",
        ty: num_open(0.0, 1.0),
        unit: "1",
        default: Some("0.0625"),
        source: "RFC 8257 4.2",
        doc: "Weight of the newest window in DCTCP's estimate of the marked fraction.",
        ..PARAM
    },
    Param {
        name: "cubic_c",
        ty: num_open(0.0, 1000.0),
        unit: "segments/s^3",
        default: Some("0.4"),
        source: "RFC 9438 5.1",
        doc: "CUBIC's C: how steeply the window grows.",
        ..PARAM
    },
    Param {
        name: "cubic_beta",
        ty: num_open(0.0, 0.999_999),
        unit: "1",
        default: Some("0.7"),
        source: "RFC 9438 4.6",
        doc: "CUBIC's beta: what a cut leaves of the window.",
        ..PARAM
    },
    Param {
        name: "fast_convergence",
        ty: Ty::Bool,
        default: Some("true"),
        source: "RFC 9438 4.7",
        doc: "CUBIC aims lower than the last maximum where that was below the one before.",
        ..PARAM
    },
    Param {
        name: "recovery",
        ty: Ty::Word(&["newreno", "sack"]),
        default: Some("\"sack\""),
        source: "RFC 6582, RFC 6675; Westwood+ was written on NewReno",
        doc: "How westwood, cubic and dctcp repair losses; selective acknowledgements are negotiated for sack.",
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
    /// Multi-level ECN's cuts: incipient, moderate, loss.
    pub beta1: f64,
    /// Moderate.
    pub beta2: f64,
    /// Loss.
    pub beta3: f64,
    /// Multi-level ECN.
    pub incipient: Incipient,
    /// Multi-level ECN.
    pub escalate: bool,
    /// Multi-level ECN.
    pub latch: bool,
    /// Multi-level ECN: data carry ECT(1), and ECT(0) is incipient congestion.
    pub literal: bool,
    /// Westwood+: a.
    pub gain: f64,
    /// Westwood+: cwnd follows ssthresh upwards as well.
    pub westwood_printed: bool,
    /// DCTCP.
    pub g: f64,
    /// CUBIC.
    pub cubic_c: f64,
    /// CUBIC.
    pub cubic_beta: f64,
    /// CUBIC.
    pub fast_convergence: bool,
    /// Westwood+, CUBIC, DCTCP.
    pub recovery: Recovery,
}

impl TcpParams {
    /// From values checked against [`PARAMS`] with defaults filled in. `header` and
    /// `initial_ssthresh` may be absent: 40 B, and no limit.
    pub fn from_values(v: &Values) -> Result<Self, ParamError> {
        let variant = match v.word("tcp").as_str() {
            "tahoe" => Variant::Tahoe,
            "reno" => Variant::Reno,
            "newreno" => Variant::NewReno,
            "sack" => Variant::Sack,
            "vegas" => Variant::Vegas,
            "westwood" => Variant::Westwood,
            "cubic" => Variant::Cubic,
            _ => Variant::Dctcp,
        };
        let ecn = match v.word("ecn").as_str() {
            "classic" => Ecn::Classic,
            "mecn" => Ecn::Mecn,
            "accecn" => Ecn::AccEcn,
            _ => Ecn::Off,
        };
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
            return Err(ParamError::new(
                "alpha",
                format!("must not be above beta ({})", v.num("beta")),
            ));
        }
        if variant == Variant::Vegas && ecn != Ecn::Off {
            return Err(ParamError::new(
                "ecn",
                "must be \"off\" with tcp = \"vegas\", which has no answer to marks",
            ));
        }
        if variant == Variant::Dctcp && !matches!(ecn, Ecn::Classic | Ecn::AccEcn) {
            let problem =
                "must be \"classic\" or \"accecn\" with tcp = \"dctcp\", which lives on marks";
            return Err(ParamError::new("ecn", problem));
        }
        if ecn == Ecn::Mecn {
            let tcp = v.word("tcp");
            if !variant.speaks_mecn() {
                let problem = format!(
                    "must not be \"mecn\" with tcp = \"{tcp}\", whose cuts are its own; use tahoe, reno, newreno or sack"
                );
                return Err(ParamError::new("ecn", problem));
            }
            for (low, high) in [("beta1", "beta2"), ("beta2", "beta3")] {
                if v.num(low) > v.num(high) {
                    return Err(ParamError::new(
                        low,
                        format!("must not be above {high} ({})", v.num(high)),
                    ));
                }
            }
        }
        if ecn != Ecn::Off && !v.bool("handshake") {
            return Err(ParamError::new(
                "handshake",
                "must be true with ECN, which is negotiated on the SYN",
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
            beta1: v.num("beta1"),
            beta2: v.num("beta2"),
            beta3: v.num("beta3"),
            incipient: match v.word("incipient").as_str() {
                "hold" => Incipient::Hold,
                "additive" => Incipient::Additive,
                _ => Incipient::Decrease,
            },
            escalate: v.bool("escalate"),
            latch: v.bool("latch"),
            literal: ecn == Ecn::Mecn && v.is("codepoints", "literal"),
            gain: v.num("gain"),
            westwood_printed: v.is("westwood_cwnd", "printed"),
            g: v.num("g"),
            cubic_c: v.num("cubic_c"),
            cubic_beta: v.num("cubic_beta"),
            fast_convergence: v.bool("fast_convergence"),
            recovery: if v.is("recovery", "sack") { Recovery::Sack } else { Recovery::NewReno },
        })
    }

    /// Whether losses are repaired from selective acknowledgements, which the SYN then negotiates.
    #[inline]
    pub fn sack(&self) -> bool {
        match self.variant {
            Variant::Sack => true,
            Variant::Westwood | Variant::Cubic | Variant::Dctcp => self.recovery == Recovery::Sack,
            Variant::Tahoe | Variant::Reno | Variant::NewReno | Variant::Vegas => false,
        }
    }
}
