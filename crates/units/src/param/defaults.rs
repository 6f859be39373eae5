//! The values that a table has where a user sets none.

use super::{Param, Values};

impl Values {
    /// The defaults of some tables. `own` lists keys whose default differs, with TOML literals; the
    /// first entry of a key counts. `ns2` takes the defaults under `profile = "ns-2"`.
    ///
    /// # Panics
    /// If a default is not of its declared type.
    pub fn defaults(
        tables: &[&'static [Param]],
        own: &[(&'static str, &'static str)],
        ns2: bool,
    ) -> Self {
        let mut values = Values::new();
        for param in tables.iter().copied().flatten() {
            let of_own = own.iter().find(|(key, _)| *key == param.name).map(|(_, text)| *text);
            let of_table = param.ns2.filter(|_| ns2).or(param.default);
            let Some(text) = of_own.or(of_table) else { continue };
            let value = param.ty.literal(text);
            values.set(param.name, value.unwrap_or_else(|| panic!("{}: {text}", param.name)));
        }
        values
    }
}
