//! Every kind of discipline, with its parameters, state variables and source, declared once.

use crate::Discipline;
use penstock_units::param::{Param, ParamError, Ty, Values, PARAM};
use penstock_units::{Bytes, Duration, QueueLen, Rate};

/// What a discipline may know of the link that it stands on.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Rate of the link at the start.
    pub rate: Rate,
    /// Its propagation delay.
    pub delay: Duration,
    /// What may wait.
    pub buffer: QueueLen,
}

/// A named variable that a discipline publishes.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Column name, unit included: `avg_pkts`.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
}

/// A kind of discipline.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Its name in scenario files.
    pub name: &'static str,
    /// A line for a person.
    pub doc: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// The algorithm in a few lines of plain text, in the source's symbols.
    pub equations: &'static str,
    /// What it does to a queue, in plain words.
    pub expect: &'static str,
    /// Where it fails, and what was settled where its source is silent.
    pub weaknesses: &'static str,
    /// Its parameters, besides [`COMMON`]. Families share tables, so this is a list of tables.
    pub params: &'static [&'static [Param]],
    /// What it publishes.
    pub state: &'static [State],
    /// Defaults of shared tables that this kind changes: key, TOML literal (as for
    /// [`Param::default`]).
    pub defaults: &'static [(&'static str, &'static str)],
    /// The same under `profile = "ns-2"`.
    pub ns2: &'static [(&'static str, &'static str)],
    /// Makes it from checked values (defaults filled in, automatic keys absent).
    pub build: fn(&Values, &Context) -> Result<Discipline, ParamError>,
}

/// Parameters that every kind takes.
pub const COMMON: &[Param] = &[
    Param {
        name: "ecn",
        ty: Ty::Bool,
        default: Some("false"),
        source: "RFC 3168",
        doc: "Mark packets that allow it instead of dropping them.",
        ..PARAM
    },
    Param {
        name: "unit",
        ty: Ty::Word(&["packets", "bytes"]),
        auto: "bytes where the buffer or a threshold is in bytes, else packets",
        source: "Floyd, Jacobson 1993, section 8",
        doc: "Whether the queue is measured in packets or bytes.",
        ..PARAM
    },
    Param {
        name: "mean_packet",
        ty: Ty::Size,
        default: Some("\"1000 B\""),
        source: "Floyd, Jacobson 1993",
        doc: "Mean packet size, from which the link's packets per second follow.",
        ..PARAM
    },
    Param {
        name: "count_in_service",
        ty: Ty::Bool,
        default: Some("false"),
        source: "ns-2: DropTail and REM hold limit − 1 waiting packets",
        doc: "Whether the packet in transmission counts against the buffer.",
        ..PARAM
    },
];

/// The mean packet size among checked values.
pub(crate) fn mean_packet(v: &Values) -> Result<Bytes, ParamError> {
    let size = v.size("mean_packet");
    if size.0 == 0 {
        return Err(ParamError::new("mean_packet", "must be above 0 B"));
    }
    Ok(size)
}

/// A number, or its declared default where the key is automatic: keys of which several parts, with
/// defaults of their own, may be the reader.
///
/// # Panics
/// If the table declares no such number.
pub(crate) fn num_or_default(v: &Values, table: &[Param], name: &str) -> f64 {
    v.opt_num(name).unwrap_or_else(|| {
        let declared = table.iter().find(|p| p.name == name).and_then(|p| p.default);
        declared
            .and_then(|text| text.parse().ok())
            .unwrap_or_else(|| panic!("no default number {name}"))
    })
}

/// Refuses a period that would flood the clock.
pub(crate) fn at_least_a_microsecond(
    name: &'static str,
    period: Duration,
) -> Result<(), ParamError> {
    if period < Duration::from_micros(1) {
        return Err(ParamError::new(name, "must be at least 1 us"));
    }
    Ok(())
}

/// A length in the unit of the queue; packets are of the mean size.
pub(crate) fn in_unit(q: QueueLen, bytes: bool, mean: Bytes) -> f64 {
    match q {
        QueueLen::Packets(n) if bytes => n * mean.0 as f64,
        QueueLen::Packets(n) => n,
        QueueLen::Bytes(b) if bytes => b as f64,
        QueueLen::Bytes(b) => b as f64 / mean.0 as f64,
    }
}

/// Every kind, in the order of `penstock list aqm`.
pub const KINDS: &[Kind] = &[
    crate::droptail::KIND,
    crate::red::KIND,
    crate::ared::KIND,
    crate::feng::KIND,
    crate::blue::KIND,
    crate::rem::KIND,
    crate::pi::KIND,
    crate::avq::KIND,
    crate::mecn::KIND,
    crate::amecn::KIND,
    crate::rared::KIND,
    crate::nred::KIND,
    crate::red_at::KIND,
    crate::dt_red::KIND,
    crate::pdt_red::KIND,
    crate::nlred::KIND,
    crate::codel::KIND,
    crate::pie::KIND,
    crate::fq_codel::KIND,
    crate::step::KIND,
    crate::custom::KIND,
];

/// The kind of that name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|k| k.name == name)
}

/// Makes a discipline.
///
/// # Errors
/// If the values do not fit together; the error names the key.
///
/// # Panics
/// If there is no such kind: names are checked where they are read.
pub fn build(name: &str, values: &Values, context: &Context) -> Result<Discipline, ParamError> {
    let kind = kind(name).unwrap_or_else(|| panic!("no discipline {name}"));
    (kind.build)(values, context)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::literal::literal;

    /// 10 Mbit/s, 20 ms, 100 packets.
    pub(crate) fn context() -> Context {
        Context {
            rate: Rate::from_bps(10_000_000).unwrap(),
            delay: Duration::from_millis(20),
            buffer: QueueLen::Packets(100.0),
        }
    }

    /// A kind's defaults with some keys set, from the literals that the tables hold.
    pub(crate) fn values(kind: &Kind, set: &[(&'static str, &str)]) -> Values {
        let mut v = Values::new();
        let tables = kind.params.iter().copied().chain([COMMON]);
        for p in tables.flatten() {
            let given = |list: &[(&'static str, &'static str)]| {
                list.iter().find(|(k, _)| *k == p.name).map(|(_, text)| (*text).to_owned())
            };
            let set = set.iter().find(|(k, _)| *k == p.name).map(|(_, text)| (*text).to_owned());
            let chosen =
                set.or_else(|| given(kind.defaults)).or_else(|| p.default.map(str::to_owned));
            if let Some(text) = chosen {
                v.set(p.name, literal(&p.ty, &text));
            }
        }
        v
    }

    #[test]
    fn every_kind_is_built_from_its_defaults_and_publishes_what_it_declares() {
        for kind in KINDS {
            let d = build(kind.name, &values(kind, &[]), &context()).unwrap();
            let mut names = vec![];
            crate::Aqm::state(&d, &mut |name, value| {
                assert!(value.is_finite(), "{} {name}", kind.name);
                names.push(name);
            });
            let declared: Vec<_> = kind.state.iter().map(|s| s.name).collect();
            assert_eq!(names, declared, "{}", kind.name);
        }
    }

    #[test]
    fn every_kind_is_told() {
        for kind in KINDS {
            assert!(!kind.equations.is_empty() && !kind.equations.contains('\t'), "{}", kind.name);
            for text in [kind.expect, kind.weaknesses] {
                let sentences = text.matches(['.', ':']).count();
                assert!(
                    sentences >= 2 && text.ends_with('.') && !text.contains('\n'),
                    "{}: {text}",
                    kind.name
                );
            }
        }
    }

    #[test]
    fn lengths_come_in_the_unit_of_the_queue() {
        let (pkts, bytes) = (QueueLen::Packets(20.0), QueueLen::Bytes(10_000));
        for (length, in_bytes, want) in [
            (pkts, false, 20.0),
            (pkts, true, 8_000.0),
            (bytes, true, 10_000.0),
            (bytes, false, 25.0),
        ] {
            assert_eq!(in_unit(length, in_bytes, Bytes(400)), want, "{length:?} {in_bytes}");
        }
    }

    #[test]
    fn names_are_unique_within_a_kind() {
        for kind in KINDS {
            let mut names: Vec<_> =
                kind.params.iter().copied().chain([COMMON]).flatten().map(|p| p.name).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{}", kind.name);
        }
    }
}
