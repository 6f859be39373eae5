//! A connection uses one of these ways of repairing losses. The parameters of all of them are here.

use penstock_units::param::{int, num, Param, Ty, Under, Value, Values, PARAM};

/// The list. A line adds a way of repairing losses; the key `recovery` offers those in [`WORDS`].
macro_rules! recoveries {
    ($makes:ident) => {
        $makes! {
            /// Fast retransmit, then slow start.
            Tahoe: tahoe;
            /// Fast recovery, left on the first new ACK (RFC 5681).
            #[default]
            Reno: reno;
            /// Fast recovery that partial ACKs do not end (RFC 6582).
            NewReno: newreno;
            /// Recovery driven by selective ACKs (RFC 6675).
            Sack: sack;
            /// Losses found by time (RFC 8985), a window that shrinks over a round trip (RFC 9937).
            Rack: rack;
            /// Losses found by later arrivals or by time, probes, cuts at once (RFC 9002).
            Quic: quic;
            /// Retransmission on the first duplicate ACK that finds a segment expired: for Vegas's
            /// window alone.
            Vegas: vegas;
        }
    };
}
pub(crate) use recoveries;

/// Makes of the list the names of its members.
macro_rules! names {
    ($( $(#[$meta:meta])* $name:ident: $module:ident;)*) => {
        /// How a sender repairs losses.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum Recovery {
            $( $(#[$meta])* $name, )*
        }
    };
}
recoveries!(names);

/// The words of the key `recovery`: ways that a modern stack has, under any control.
const WORDS: &[(&str, Recovery)] = &[
    ("newreno", Recovery::NewReno),
    ("sack", Recovery::Sack),
    ("rack", Recovery::Rack),
    ("quic", Recovery::Quic),
];

const ONLY_WORDS: &[&str] = &{
    let mut words = [""; WORDS.len()];
    let mut i = 0;
    while i < words.len() {
        words[i] = WORDS[i].0;
        i += 1;
    }
    words
};

impl Recovery {
    /// The declaration of the key `recovery`.
    pub const TABLE: &'static [Param] = &[Param {
        name: "recovery",
        ty: Ty::Word(ONLY_WORDS),
        default: Some("\"sack\""),
        under: Under { linux: Some("\"rack\""), quic: Some("\"quic\""), ..Under::all(None) },
        source: "RFC 6582, RFC 6675; rack: RFC 8985 as in Linux; quic: RFC 9002; Westwood+ was \
                 written on NewReno",
        doc: "How controls other than Reno's and Vegas's repair losses; selective \
              acknowledgements are negotiated for sack, rack and quic. rack and quic go with reno, \
              too.",
        ..PARAM
    }];

    /// Reads the key `recovery`.
    pub(crate) fn of_key(values: &Values) -> Recovery {
        let of = |word: &str| WORDS.iter().find(|w| w.0 == word).map(|w| w.1);
        match values.get("recovery") {
            Some(Value::Word(word)) => of(word),
            _ => None,
        }
        .expect("the key has a default, and is one of its words")
    }

    /// Returns the word of the key `recovery`, if it has one for this way.
    pub(crate) fn word(self) -> Option<Value> {
        WORDS.iter().find(|w| w.1 == self).map(|w| Value::Word(w.0.into()))
    }

    /// Whether it reads selective acknowledgements, which the SYN then negotiates: all but those
    /// that are older than RFC 2018, and NewReno, which does without.
    pub(crate) fn reads_reports(self) -> bool {
        use Recovery::{NewReno, Reno, Tahoe, Vegas};
        !matches!(self, Tahoe | Reno | NewReno | Vegas)
    }
}

penstock_units::words! {
    /// Whose book-keeping recovery follows.
    pub enum BookKeeping {
        /// The RFCs'.
        Rfc = "rfc",
        /// That of ns-2 2.35.
        Ns2 = "ns-2",
    }
}

penstock_units::words! {
    /// How a cut takes effect.
    pub enum Reduction {
        /// Over a round trip (RFC 9937).
        Prr = "prr",
        /// At once.
        AtOnce = "at once",
    }
}

penstock_units::params! {
    /// What RACK-TLP reads.
    pub struct RackParams: Default {
        /// rack: a cut for a loss or a mark takes effect over a round trip, by proportional rate
        /// reduction, or at once.
        pub reduction: Reduction { default: "prr", source: "RFC 9937; for marks: Linux" },
        /// rack: a probe of the tail goes out after two round trips of silence.
        pub tlp: bool { default: true, source: "RFC 8985 7" },
        /// rack, quic: a cut for a loss that turns out to be none is taken back: by DSACK, and with
        /// rack after a timeout by F-RTO.
        pub undo: bool { default: true, source: "RFC 3708, RFC 5682; Linux" },
    }
}

penstock_units::params! {
    /// What QUIC's way of repairing losses reads.
    pub struct QuicParams: Default {
        /// quic: a transmission is lost once one that was sent so many later has arrived.
        pub packet_threshold: u32 {
            ty: int(1, 10_000),
            unit: "packets",
            default: 3,
            quiet: true,
            source: "RFC 9002 6.1.1: kPacketThreshold",
        },
        /// quic: a transmission is lost once a later one has arrived and so many round trips have
        /// passed, 1 ms at least.
        pub time_threshold: f64 {
            ty: num(1.0, 100.0),
            unit: "round trips",
            default: 1.125,
            quiet: true,
            source: "RFC 9002 6.1.2: kTimeThreshold, kGranularity",
        },
        /// quic: so many probes go out when nothing has arrived for the probe timeout: new
        /// segments, or the oldest again.
        pub pto_probes: u32 {
            ty: int(1, 2),
            default: 2,
            quiet: true,
            source: "RFC 9002 6.2.4",
        },
        /// quic: losses that span so many probe timeouts leave the smallest window, `cwnd_floor`.
        pub persistent_congestion: f64 {
            ty: num(1.0, 1000.0),
            unit: "probe timeouts",
            default: 3,
            quiet: true,
            source: "RFC 9002 7.6.1: kPersistentCongestionThreshold",
        },
        /// quic: one lost segment is sent again at once, however much is in flight.
        pub first_repair_free: bool { default: false, quiet: true, source: "RFC 9002 7.3.2; s2n-quic" },
    }
}

penstock_units::params! {
    /// What every way of repairing losses reads.
    pub struct LossParams: Default {
        /// After a timeout send everything outstanding again from the first hole; false: only what
        /// no SACK has reported (variant sack).
        pub go_back_n: bool {
            default: true,
            ns2: true,
            linux: false,
            source: "ns-2; 4.4BSD; Linux: tcp_timeout_mark_lost",
        },
        /// Recovery's book-keeping: the RFCs', or ns-2's (bugfix rule, impatient partial ACKs, pipe
        /// of SACK).
        pub loss_recovery: BookKeeping {
            default: "rfc",
            ns2: "ns-2",
            source: "RFC 6582, RFC 6675; ns-2 2.35",
        },
    }
}
