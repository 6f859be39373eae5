//! The values that a table has where a user sets none.

use super::{OwnDefaults, Param, Profile, Values};

impl Values {
    /// Returns the defaults of some tables under a profile. `own` lists keys whose default differs.
    ///
    /// # Panics
    /// If a default is not of its declared type.
    pub fn defaults(tables: &[&'static [Param]], own: &OwnDefaults, profile: Profile) -> Self {
        let mut values = Values::new();
        for param in tables.iter().copied().flatten() {
            let Some(text) = param.default_under(profile, own) else { continue };
            let value = param.ty.literal(text);
            values.set(param.name, value.unwrap_or_else(|| panic!("{}: {text}", param.name)));
        }
        values
    }
}
