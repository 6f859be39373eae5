//! The parameters that belong to the scenario itself: the top level, topologies, traffic and sweeps.
//! Those of disciplines and of TCP are declared in their crates.

/// Returns the names of a list of kinds: the words that its `kind` takes.
macro_rules! names {
    ($kinds:expr) => {{
        const NAMES: [&str; $kinds.len()] = {
            let mut names = [""; $kinds.len()];
            let mut i = 0;
            while i < names.len() {
                names[i] = $kinds[i].name;
                i += 1;
            }
            names
        };
        &NAMES
    }};
}

mod sweep;
mod top;
mod topology;
mod traffic;

pub(crate) use sweep::{DesignKeys, SWEEP_SEEDS};
pub(crate) use top::{Measure, Record, Ties, Top, RECORD_DOC};
pub(crate) use topology::{
    topology, Access, Graph, GraphLink, Link, Router, Shape, TopologyKind, GRAPH_LINK_DOC,
    NODE_DOC, SIDES, TOPOLOGIES, TOPOLOGY,
};
pub(crate) use traffic::{
    traffic, Browser, Datagrams, Direction, Ftp, Group, OnOff, Replay, Sends, TrafficKind, Video,
    Voip, Web, TRAFFICS, TRAFFIC_KIND,
};

pub(crate) use penstock_units::param::REQUIRED;
use penstock_units::param::{Param, Ty, PARAM};

/// `aqm.kind`, `aqm.reverse.kind`.
pub(crate) const AQM_KIND: &[Param] = &[Param {
    name: "kind",
    ty: Ty::Word(names!(penstock_aqm::KINDS)),
    default: Some("\"droptail\""),
    doc: "The queue's discipline.",
    ..PARAM
}];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;
    use penstock_units::param::{OwnDefaults, Profile};

    /// Every table of every crate, with the kind that it belongs to.
    fn all() -> Vec<(&'static str, Vec<&'static Param>)> {
        let mut all: Vec<(&str, Vec<&Param>)> = vec![
            ("top", Top::TABLE.iter().collect()),
            ("measure", Measure::TABLE.iter().collect()),
            ("record", Record::TABLE.iter().collect()),
            ("topology", TOPOLOGY.iter().collect()),
            ("link", Link::TABLE.iter().collect()),
            ("node", Router::TABLE.iter().collect()),
            ("graph's link", GraphLink::TABLE.iter().chain(Link::TABLE).collect()),
            ("access", Access::TABLE.iter().collect()),
        ];
        all.extend(TOPOLOGIES.iter().map(|k| (k.name, k.params.iter().collect())));
        let flat = |tables: keys::Params| tables.into_iter().flatten().collect();
        all.extend(TRAFFICS.iter().map(|k| (k.name, flat(keys::traffic_params(k)))));
        all.extend(penstock_aqm::KINDS.iter().map(|k| (k.name, flat(keys::aqm_params(k)))));
        all
    }

    #[test]
    fn every_default_parses_and_passes_its_own_type() {
        for (_, params) in all() {
            for p in params {
                let under = Profile::ALL.iter().map(|each| p.under.get(*each).flatten());
                for text in under.chain([p.default]).flatten() {
                    keys::literal(p, text); // panics with the name
                }
            }
        }
    }

    #[test]
    fn own_defaults_are_of_keys_that_exist() {
        let own = |d: &OwnDefaults| {
            let under = Profile::ALL.iter().filter_map(|each| d.under.get(*each));
            under.chain([d.any]).flatten().copied().collect::<Vec<_>>()
        };
        for kind in penstock_aqm::KINDS {
            let tables = keys::aqm_params(kind);
            for (key, text) in own(&kind.defaults) {
                keys::literal(
                    keys::find(&tables, key).unwrap_or_else(|| panic!("{}: {key}", kind.name)),
                    text,
                );
            }
        }
        for variant in penstock_tcp::VARIANTS {
            let tables = [penstock_tcp::PARAMS];
            for (key, text) in own(&variant.defaults) {
                keys::literal(
                    keys::find(&tables, key).unwrap_or_else(|| panic!("{}: {key}", variant.name)),
                    text,
                );
            }
            let mut own = variant.own.iter().copied().flatten();
            assert!(own.all(|p| keys::find(&tables, p.name) == Some(p)), "{}", variant.name);
        }
    }

    #[test]
    fn declarations_are_complete() {
        for (table, params) in all() {
            let mut names: Vec<_> = params.iter().map(|p| p.name).collect();
            names.sort_unstable();
            let count = names.len();
            names.dedup();
            assert_eq!(names.len(), count, "{table}: a name stands twice");
            for p in params {
                assert!(!p.doc.is_empty(), "{table}.{}: no doc", p.name);
                assert!(
                    p.default.is_some() || !p.auto.is_empty(),
                    "{table}.{}: absent means what?",
                    p.name
                );
            }
        }
    }

    #[test]
    fn words_of_kinds_are_the_kinds() {
        let words = |p: &Param| match p.ty {
            Ty::Word(words) => words.to_vec(),
            _ => vec![],
        };
        assert_eq!(words(&TRAFFIC_KIND[0]), TRAFFICS.iter().map(|k| k.name).collect::<Vec<_>>());
        assert!(words(&TOPOLOGY[0]).iter().all(|w| topology(w).is_some()));
        assert_eq!(
            words(&AQM_KIND[0]),
            penstock_aqm::KINDS.iter().map(|k| k.name).collect::<Vec<_>>()
        );
    }
}
