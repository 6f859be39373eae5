//! A kind of discipline is declared by its texts, its parameters and its state.

use penstock_units::param::{OwnDefaults, Param, Params};

/// A kind of discipline as it is listed.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Its name in scenario files.
    pub name: &'static str,
    /// A line for a person.
    pub doc: &'static str,
    /// The source that it comes from.
    pub source: &'static str,
    /// The algorithm in a few lines of plain text, in the source's symbols.
    pub equations: &'static str,
    /// Its effect on a queue, in plain words.
    pub expect: &'static str,
    /// The cases where it fails, and the points settled where its source is silent.
    pub weaknesses: &'static str,
    /// Its parameters, besides [`crate::COMMON`]. Several kinds share a table, so this is a list of
    /// tables.
    pub params: &'static [&'static [Param]],
    /// The variables that it publishes.
    pub state: &'static [State],
    /// Defaults of shared tables that this kind changes.
    pub defaults: OwnDefaults,
}

/// A named variable that a discipline publishes.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Column name, unit included: `avg_pkts`.
    pub name: &'static str,
    /// Its meaning.
    pub doc: &'static str,
}

/// A published variable of a discipline `T`, and its value.
pub(crate) struct Column<T> {
    pub(crate) state: State,
    pub(crate) value: fn(&T) -> f64,
}

impl<T> std::fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.state.name)
    }
}

/// Declares a column.
pub(crate) const fn column<T>(
    name: &'static str,
    doc: &'static str,
    value: fn(&T) -> f64,
) -> Column<T> {
    Column { state: State { name, doc }, value }
}

/// Returns the declarations of columns.
pub(crate) const fn states<T, const N: usize>(columns: &[Column<T>; N]) -> [State; N] {
    let mut out = [State { name: "", doc: "" }; N];
    let mut i = 0;
    while i < N {
        out[i] = columns[i].state;
        i += 1;
    }
    out
}

/// Publishes the columns of `d`.
pub(crate) fn publish<T>(columns: &[Column<T>], d: &T, out: &mut dyn FnMut(&'static str, f64)) {
    for column in columns {
        out(column.state.name, (column.value)(d));
    }
}

/// Returns the tables of a kind's own parameters. The last field of its parameters is
/// [`crate::Common`].
pub(crate) const fn own_tables<P: Params>() -> &'static [&'static [Param]] {
    match P::TABLES {
        [own @ .., _] => own,
        [] => &[],
    }
}
