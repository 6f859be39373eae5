//! Kinds by name.

use crate::context::Context;
use crate::discipline::{Discipline, BUILD, KINDS};
use crate::kind::Kind;
use penstock_units::param::{ParamError, Values};

/// Returns the kind of that name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|k| k.name == name)
}

/// Makes a discipline from checked values (defaults filled in, automatic keys absent).
///
/// # Errors
/// If the values do not fit together; the error names the key.
///
/// # Panics
/// If there is no such kind: names are checked where they are read.
pub fn build(name: &str, values: &Values, context: &Context) -> Result<Discipline, ParamError> {
    let i = KINDS.iter().position(|k| k.name == name);
    BUILD[i.unwrap_or_else(|| panic!("no discipline {name}"))](values, context)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, values};
    use crate::COMMON;

    #[test]
    fn every_kind_is_built_from_its_defaults_and_publishes_what_it_declares() {
        for kind in KINDS {
            let d = build(kind.name, &values(kind, &[]), &context()).unwrap();
            let mut names = vec![];
            d.state(&mut |name, value| {
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
