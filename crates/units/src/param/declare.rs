//! The macros that make types and tables from one declaration.

/// Declares parameters once: the struct that holds them, the table of [`Param`](crate::param::Param)
/// rows from which files, lists, docs and messages are made, and the reader between the two.
///
/// A field's doc comment is the parameter's `doc`, its name the key. In braces stand the other
/// parts of its row: `ty` (a range, where the field's type alone is too wide), `unit`, `default`
/// (a literal; `default_toml` for one that is a TOML table, as a string), `auto` (what an absent key
/// means, for an `Option`), `source`, `quiet`, and the columns of profiles whose default differs
/// ([`Under`](crate::param::Under): `ns2`, `linux`; literals). With `: Default` behind its name the struct also gets `Default` (every key then has a default or is an `Option`).
/// Fields that stand after `with` are structs of parameters themselves, whose tables follow.
///
/// ```
/// use penstock_units::param::{num_open, Params};
/// penstock_units::params! {
///     /// The ramp.
///     pub struct Ramp: Default {
///         /// Signalling probability at max_th.
///         pub max_p: f64 {
///             ty: num_open(0.0, 1.0),
///             unit: "1",
///             default: 0.1,
///             ns2: 0.02,
///             source: "Floyd 1997",
///         },
///         /// Ramp from max_p at max_th to 1 at 2·max_th.
///         pub gentle: bool { default: true, source: "Floyd 2000" },
///     }
/// }
/// let ramp = Ramp { gentle: false, ..Ramp::default() };
/// assert_eq!((ramp.max_p, Ramp::TABLE[0].under.ns2), (0.1, Some("0.02")));
/// let error = Ramp { max_p: 2.0, ..ramp }.check().unwrap_err();
/// assert_eq!(error.to_string(), "max_p: must be a number in (0, 1]");
/// ```
#[macro_export]
macro_rules! params {
    (
        $(#[doc = $about:literal])*
        $vis:vis struct $name:ident $(: $default:ident)? {
            $(
                $(#[doc = $doc:literal])*
                $fvis:vis $field:ident: $ty:ty { $($part:ident: $value:expr),* $(,)? }
            ),* $(,)?
        }
        $( with {
            $( $(#[doc = $inner_doc:literal])* $ivis:vis $inner:ident: $inner_ty:ty ),* $(,)?
        } )?
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $( $(#[doc = $doc])* $fvis $field: $ty, )*
            $($( $(#[doc = $inner_doc])* $ivis $inner: $inner_ty, )*)?
        }

        impl $name {
            /// The declarations of its fields, in their order.
            pub const TABLE: &'static [$crate::param::Param] = &[$(
                {
                    #[allow(unused_mut, reason = "a key may have no other part")]
                    let mut p = $crate::param::PARAM;
                    p.name = stringify!($field);
                    p.ty = <$ty as $crate::param::Field>::TY;
                    p.doc = $crate::param::without_indent(concat!($($doc),*));
                    $( $crate::params!(@part p $part $value); )*
                    p
                }
            ),*];
        }

        impl $crate::param::Params for $name {
            const TABLES: &'static [&'static [$crate::param::Param]] =
                &[$name::TABLE, $($( <$inner_ty>::TABLE ),*)?];
            fn read(values: &$crate::param::Values) -> Self {
                $name {
                    $( $field: $crate::param::field(values, stringify!($field)), )*
                    $($( $inner: <$inner_ty as $crate::param::Params>::read(values), )*)?
                }
            }
            fn write(&self, out: &mut $crate::param::Values) {
                $( out.put(stringify!($field), &self.$field); )*
                $($( $crate::param::Params::write(&self.$inner, out); )*)?
            }
        }

        $( $crate::params!(@default $default $name); )?
    };
    (@part $p:ident default $value:expr) => { $p.default = Some(stringify!($value)); };
    (@part $p:ident default_toml $value:expr) => { $p.default = Some($value); };
    (@part $p:ident ty $value:expr) => { $p.ty = $value; };
    (@part $p:ident unit $value:expr) => { $p.unit = $value; };
    (@part $p:ident auto $value:expr) => { $p.auto = $value; };
    (@part $p:ident source $value:expr) => { $p.source = $value; };
    (@part $p:ident quiet $value:expr) => { $p.quiet = $value; };
    (@part $p:ident $column:ident $value:expr) => { $p.under.$column = Some(stringify!($value)); };
    (@default Default $name:ident) => {
        impl Default for $name {
            /// The defaults of its declaration.
            fn default() -> Self {
                <$name as $crate::param::Params>::read(&$crate::param::Values::defaults(
                    <$name as $crate::param::Params>::TABLES,
                    &$crate::param::OwnDefaults::NONE,
                    $crate::param::Profile::Rfc,
                ))
            }
        }
    };
}

/// Composes structs made by [`params!`] into one: its tables are theirs, in order.
///
/// `defaults` lists the keys whose default differs from the table's, with TOML literals, and `under`
/// those that differ under a profile, by its column. They become the constant `DEFAULTS`, which
/// `default()` and `under()` use.
///
/// ```
/// penstock_units::params! {
///     /// The ramp.
///     pub struct Ramp: Default {
///         /// Signalling probability at max_th.
///         pub max_p: f64 { default: 0.1, source: "Floyd 1997" },
///     }
/// }
/// penstock_units::group! {
///     /// What a user sets.
///     pub struct MyRedParams {
///         /// The ramp.
///         pub ramp: Ramp,
///     }
///     defaults: [("max_p", "0.05")],
///     under: { ns2: [("max_p", "0.02")] },
/// }
/// use penstock_units::param::Profile;
/// assert_eq!(MyRedParams::default().ramp.max_p, 0.05);
/// assert_eq!(MyRedParams::under(Profile::Ns2).ramp.max_p, 0.02);
/// ```
#[macro_export]
macro_rules! group {
    (
        $(#[doc = $about:literal])*
        $vis:vis struct $name:ident {
            $( $(#[doc = $doc:literal])* $fvis:vis $field:ident: $ty:ty ),* $(,)?
        }
        $(defaults: [$($own:expr),* $(,)?],)?
        $(under: { $($column:ident: [$($of_column:expr),* $(,)?]),* $(,)? },)?
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $( $(#[doc = $doc])* $fvis $field: $ty, )*
        }

        impl $name {
            /// Defaults that differ from those of the tables.
            pub const DEFAULTS: $crate::param::OwnDefaults = $crate::param::OwnDefaults {
                any: &[$($($own),*)?],
                under: $crate::param::Under {
                    $($( $column: &[$($of_column),*], )*)?
                    ..$crate::param::Under::all(&[])
                },
            };

            /// The defaults under a profile.
            pub fn under(profile: $crate::param::Profile) -> Self {
                let tables = <Self as $crate::param::Params>::TABLES;
                let values =
                    $crate::param::Values::defaults(tables, &Self::DEFAULTS, profile);
                <Self as $crate::param::Params>::read(&values)
            }
        }

        impl $crate::param::Params for $name {
            const TABLES: &'static [&'static [$crate::param::Param]] = &[$(<$ty>::TABLE),*];
            fn read(values: &$crate::param::Values) -> Self {
                $name { $( $field: <$ty as $crate::param::Params>::read(values) ),* }
            }
            fn write(&self, out: &mut $crate::param::Values) {
                $( $crate::param::Params::write(&self.$field, out); )*
            }
        }

        impl Default for $name {
            /// The defaults of its declaration.
            fn default() -> Self {
                Self::under($crate::param::Profile::Rfc)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::param::{int, num, Named, Params, Profile, Ty, Value, Values};
    use crate::{Bytes, Duration, QueueLen};

    crate::words! {
        /// Spacing of signals.
        pub enum Spacing {
            /// Uniform gaps.
            Uniform = "uniform",
            /// ns-2's gaps.
            Wait = "wait",
        }
    }
    crate::words! {
        /// A weight.
        pub enum Weight or num(0.0, 1.0) {
            /// From the rate.
            Auto = "auto",
        }
    }
    crate::params! {
        /// One of each.
        pub struct Each: Default {
            /// A weight, which
            /// takes two lines.
            pub w_q: Weight { default: "auto", ns2: 0.5, unit: "1", source: "a paper" },
            /// Gaps.
            pub gate: Spacing { default: "uniform", ns2: "wait" },
            /// A threshold.
            pub min_th: Option<QueueLen> { auto: "a formula", unit: "packets" },
            /// A whole number.
            pub window: u32 { ty: int(1, 100), default: 20 },
            /// A time.
            pub tick: Duration { default: "10 ms" },
            /// A size.
            pub segment: Bytes { default: "1000 B" },
            /// A queue.
            pub limit: QueueLen { default: 40 },
            /// A switch.
            pub gentle: bool { default: true },
        }
    }
    crate::params! {
        /// A class.
        pub struct Class: Default {
            /// A share.
            pub share: f64 { ty: num(0.0, 1.0), default: 0.5 },
            /// A limit.
            pub most: Option<QueueLen> { auto: "none" },
        }
    }
    crate::params! {
        /// Classes by name.
        pub struct Classes: Default {
            /// One for each name.
            pub class: Named<Class> { auto: "none" },
        }
    }
    crate::group! {
        /// With defaults of its own.
        pub struct Whole {
            /// All.
            pub each: Each,
        }
        defaults: [("window", "5")],
        under: { ns2: [("tick", "\"1 s\"")] },
    }

    #[test]
    fn a_declaration_makes_a_table() {
        let row = |name: &str| Each::TABLE.iter().find(|p| p.name == name).unwrap();
        let w_q = row("w_q");
        assert_eq!((w_q.default, w_q.under.ns2, w_q.unit), (Some("\"auto\""), Some("0.5"), "1"));
        assert_eq!(w_q.doc, "A weight, which takes two lines.");
        const WEIGHT: Ty = Ty::Or(&num(0.0, 1.0), &["auto"]);
        assert_eq!(w_q.ty, WEIGHT);
        assert_eq!(row("window").ty, int(1, 100));
        assert_eq!((row("min_th").default, row("min_th").auto), (None, "a formula"));
        let literals = Each::TABLE.iter().filter_map(|p| Some((p.ty, p.default?)));
        literals.for_each(|(ty, text)| assert!(ty.literal(text).is_some(), "{text}"));
    }

    #[test]
    fn defaults_are_typed() {
        let each = Each::default();
        assert_eq!((each.w_q, each.gate, each.min_th), (Weight::Auto, Spacing::Uniform, None));
        assert_eq!((each.window, each.tick), (20, Duration::from_millis(10)));
        assert_eq!((each.segment, each.limit), (Bytes(1000), QueueLen::Packets(40.0)));
        let (own, ns2) = (Whole::default().each, Whole::under(Profile::Ns2).each);
        assert_eq!((own.window, own.tick, own.gate), (5, each.tick, Spacing::Uniform));
        assert_eq!((ns2.window, ns2.tick, ns2.gate), (5, Duration::from_secs(1), Spacing::Wait));
        assert_eq!(ns2.w_q, Weight::Number(0.5));
    }

    #[test]
    fn what_is_written_reads_back() {
        let each =
            Each { min_th: Some(QueueLen::Bytes(7)), gate: Spacing::Wait, ..Each::default() };
        let mut values = Values::new();
        each.write(&mut values);
        assert_eq!(Each::read(&values), each);
        assert_eq!(values.get("gate"), Some(&Value::Word("wait".into())));
    }

    #[test]
    fn tables_by_name_are_structs_by_name() {
        assert_eq!(Classes::TABLE[0].ty, Ty::Tables(Class::TABLE));
        assert_eq!(Classes::default().class, Named(vec![]));
        let gold = Class { most: Some(QueueLen::Bytes(9000)), ..Class::default() };
        let classes = |gold| Classes { class: Named(vec![("gold".into(), gold)]) };
        let mut values = Values::new();
        classes(gold.clone()).write(&mut values);
        assert_eq!(Classes::read(&values), classes(gold.clone()));
        assert!(values.any(&|v| matches!(v, Value::Queue(QueueLen::Bytes(_)))));
        assert_eq!(classes(gold.clone()).check(), Ok(()));
        let error = classes(Class { share: 1.5, ..gold }).check().unwrap_err().to_string();
        let want = "class: must be tables by name, each with the keys share (a number in [0, 1]), ";
        assert!(error.starts_with(want), "{error}");
    }

    #[test]
    fn a_value_out_of_range_names_its_key() {
        let error = |each: Each| each.check().map_err(|e| e.to_string());
        assert_eq!(error(Each::default()), Ok(()));
        for (each, text) in [
            (Each { window: 0, ..Each::default() }, "window: must be a whole number in [1, 100]"),
            (
                Each { w_q: Weight::Number(f64::NAN), ..Each::default() },
                "w_q: must be a number in [0, 1] or one of \"auto\"",
            ),
        ] {
            assert_eq!(error(each), Err(text.into()));
        }
    }
}
