//! Which way of repairing losses a connection uses, and the parameters of all of them.

use penstock_units::param::{Field, Param, Ty, Value, Values, PARAM};

/// How a sender repairs losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// Fast retransmit, then slow start.
    Tahoe,
    /// Fast recovery, left on the first new ACK (RFC 5681).
    #[default]
    Reno,
    /// Fast recovery that partial ACKs do not end (RFC 6582).
    NewReno,
    /// Recovery driven by selective ACKs (RFC 6675).
    Sack,
}

penstock_units::words! {
    /// The ways that the key `recovery` offers: those that a modern stack has.
    enum Modern {
        /// RFC 6582.
        NewReno = "newreno",
        /// RFC 6675.
        Sack = "sack",
    }
}

impl Recovery {
    /// The declaration of the key `recovery`.
    pub const TABLE: &'static [Param] = &[Param {
        name: "recovery",
        ty: Ty::Word(Modern::WORDS),
        default: Some("\"sack\""),
        source: "RFC 6582, RFC 6675; Westwood+ was written on NewReno",
        doc: "How controls other than Reno's and Vegas's repair losses; selective \
              acknowledgements are negotiated for sack.",
        ..PARAM
    }];

    /// Reads the key `recovery`.
    pub(crate) fn of_key(values: &Values) -> Recovery {
        match penstock_units::param::field(values, "recovery") {
            Modern::NewReno => Recovery::NewReno,
            Modern::Sack => Recovery::Sack,
        }
    }

    /// Returns the word of the key `recovery`, if it has one for this way.
    pub(crate) fn word(self) -> Option<Value> {
        match self {
            Recovery::Tahoe | Recovery::Reno => None,
            Recovery::NewReno => Modern::NewReno.value(),
            Recovery::Sack => Modern::Sack.value(),
        }
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

penstock_units::params! {
    /// What every way of repairing losses reads.
    pub struct LossParams: Default {
        /// After a timeout send everything outstanding again from the first hole; false: only what
        /// no SACK has reported (variant sack).
        pub go_back_n: bool { default: true, ns2: true, source: "ns-2; 4.4BSD" },
        /// Recovery's book-keeping: the RFCs', or ns-2's (bugfix rule, impatient partial ACKs, pipe
        /// of SACK).
        pub loss_recovery: BookKeeping {
            default: "rfc",
            ns2: "ns-2",
            source: "RFC 6582, RFC 6675; ns-2 2.35",
        },
    }
}
