//! A profile says whose defaults the keys take that a scenario leaves out. The list is here.
//!
//! A declaration names the profiles whose default differs from the general one beside `default`:
//! `default: 2, linux: 10`. A line in the list adds a profile. Files, `penstock list`, the schema,
//! the messages and the docs then know it, and declarations may name its column.

/// Makes of the list the enum, and a struct with a column for each but the first, whose defaults
/// are the general ones.
macro_rules! profiles {
    (
        $(#[doc = $of_all:literal])* $all:ident = $all_word:literal;
        $( $(#[doc = $doc:literal])* $name:ident = $word:literal, $column:ident; )*
    ) => {
        crate::words! {
            /// Whose defaults hold.
            pub enum Profile {
                $(#[doc = $of_all])* $all = $all_word,
                $( $(#[doc = $doc])* $name = $word, )*
            }
        }

        impl Profile {
            /// Every profile, that of the general defaults first.
            pub const ALL: &'static [Profile] = &[Profile::$all, $( Profile::$name ),*];

            /// A line for a person.
            pub const fn doc(self) -> &'static str {
                $crate::param::without_indent(match self {
                    Profile::$all => concat!($($of_all),*),
                    $( Profile::$name => concat!($($doc),*), )*
                })
            }

            /// Returns the name of its column in declarations; `None` for that of the general
            /// defaults.
            pub const fn column(self) -> Option<&'static str> {
                match self {
                    Profile::$all => None,
                    $( Profile::$name => Some(stringify!($column)), )*
                }
            }
        }

        /// What each profile has that differs from the general.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Under<T> {
            $( $(#[doc = $doc])* pub $column: T, )*
        }

        impl<T: Copy> Under<T> {
            /// Returns the same for every profile.
            pub const fn all(value: T) -> Self {
                Under { $( $column: value, )* }
            }

            /// Returns a profile's; `None` for that of the general defaults.
            pub fn get(&self, profile: Profile) -> Option<T> {
                match profile {
                    Profile::$all => None,
                    $( Profile::$name => Some(self.$column), )*
                }
            }

            /// Sets a profile's; that of the general defaults has none.
            pub fn set(&mut self, profile: Profile, value: T) {
                match profile {
                    Profile::$all => {}
                    $( Profile::$name => self.$column = value, )*
                }
            }
        }
    };
}

profiles! {
    /// The RFCs' and the papers'.
    Rfc = "rfc";
    /// Those of ns-2 2.35.
    Ns2 = "ns-2", ns2;
    /// Those of a Linux 6.18 host, as it comes.
    Linux = "linux", linux;
    /// Those of QUIC stacks, RFC 9002.
    Quic = "quic", quic;
}

/// Keys and TOML literals.
pub type Literals = &'static [(&'static str, &'static str)];

/// The defaults that a kind or a variant has instead of its tables'.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnDefaults {
    /// Under every profile.
    pub any: Literals,
    /// Under one profile.
    pub under: Under<Literals>,
}

impl OwnDefaults {
    /// None.
    pub const NONE: OwnDefaults = OwnDefaults { any: &[], under: Under::all(&[]) };

    /// These, under every profile.
    pub const fn any(any: Literals) -> Self {
        OwnDefaults { any, ..OwnDefaults::NONE }
    }
}

impl super::Param {
    /// Returns the default that is in force: the kind's before the table's, and in each the
    /// profile's before the general one.
    pub fn default_under(&self, profile: Profile, own: &OwnDefaults) -> Option<&'static str> {
        self.of_profile(profile, own).or_else(|| self.among(own.any)).or(self.default)
    }

    /// Returns the default that is a profile's own: the kind's, or the table's unless the kind has
    /// a general one.
    pub fn of_profile(&self, profile: Profile, own: &OwnDefaults) -> Option<&'static str> {
        let of_kind = own.under.get(profile).and_then(|list| self.among(list));
        let of_table = self.under.get(profile).flatten();
        of_kind.or(of_table.filter(|_| self.among(own.any).is_none()))
    }

    fn among(&self, list: Literals) -> Option<&'static str> {
        list.iter().find(|(key, _)| *key == self.name).map(|(_, text)| *text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::{Param, PARAM};

    /// A window of 4 under every profile, 20 under ns-2. One kind has 7, and 9 under Linux.
    #[test]
    fn the_narrower_default_wins() {
        let under = Under { ns2: Some("20"), ..Under::all(None) };
        let window = Param { name: "window", default: Some("4"), under, ..PARAM };
        let of = |own: &OwnDefaults| {
            [Profile::Rfc, Profile::Ns2, Profile::Linux].map(|p| window.default_under(p, own))
        };
        assert_eq!(of(&OwnDefaults::NONE), [Some("4"), Some("20"), Some("4")]);
        let own = OwnDefaults::any(&[("other", "1"), ("window", "7")]);
        assert_eq!(of(&own), [Some("7"), Some("7"), Some("7")]);
        let linux: Literals = &[("window", "9")];
        let own = OwnDefaults { under: Under { linux, ..Under::all(&[]) }, ..own };
        assert_eq!(of(&own), [Some("7"), Some("7"), Some("9")]);
        assert_eq!(window.of_profile(Profile::Ns2, &OwnDefaults::NONE), Some("20"));
        assert_eq!(window.of_profile(Profile::Ns2, &own), None);
        assert_eq!(window.of_profile(Profile::Linux, &own), Some("9"));
    }

    #[test]
    fn each_profile_has_a_word_a_line_and_a_column() {
        for profile in Profile::ALL {
            assert!(profile.doc().ends_with('.'), "{profile:?}");
            assert_eq!(profile.column().is_none(), *profile == Profile::Rfc, "{profile:?}");
        }
        assert_eq!(Profile::WORDS, ["rfc", "ns-2", "linux", "quic"]);
    }
}
