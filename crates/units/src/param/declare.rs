//! The macros that make types and tables from one declaration.

/// Declares parameters once: the struct that holds them, the table of [`Param`](crate::param::Param)
/// rows from which files, lists, docs and messages are made, and the reader between the two.
///
/// A field's doc comment is the parameter's `doc`, its name the key. In braces stand the other
/// parts of its row: `ty` (a range, where the field's type alone is too wide), `unit`, `default` and
/// `ns2` (literals; `default_toml` for one that is a TOML table, as a string), `auto` (what an absent key means, for an `Option`), `source`. With `: Default`
/// behind its name the struct also gets `Default` (every key then has a default or is an `Option`).
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
/// assert_eq!((ramp.max_p, Ramp::TABLE[0].ns2), (0.1, Some("0.02")));
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
    (@part $p:ident ns2 $value:expr) => { $p.ns2 = Some(stringify!($value)); };
    (@part $p:ident default_toml $value:expr) => { $p.default = Some($value); };
    (@part $p:ident $part:ident $value:expr) => { $p.$part = $value; };
    (@default Default $name:ident) => {
        impl Default for $name {
            /// The defaults of its declaration.
            fn default() -> Self {
                <$name as $crate::param::Params>::read(&$crate::param::Values::defaults(
                    <$name as $crate::param::Params>::TABLES,
                    &[],
                    false,
                ))
            }
        }
    };
}

/// Composes structs made by [`params!`] into one: its tables are theirs, in order.
///
/// `defaults` and `ns2` list the keys whose default differs from the table's, with TOML literals;
/// they become the constants `DEFAULTS` and `NS2`, and `default()` and `ns2()` use them.
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
///     ns2: [],
/// }
/// assert_eq!(MyRedParams::default().ramp.max_p, 0.05);
/// ```
#[macro_export]
macro_rules! group {
    (
        $(#[doc = $about:literal])*
        $vis:vis struct $name:ident {
            $( $(#[doc = $doc:literal])* $fvis:vis $field:ident: $ty:ty ),* $(,)?
        }
        $(defaults: [$($own:expr),* $(,)?],)?
        $(ns2: [$($own_ns2:expr),* $(,)?],)?
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $( $(#[doc = $doc])* $fvis $field: $ty, )*
        }

        impl $name {
            /// Defaults that differ from those of the tables: key, TOML literal.
            pub const DEFAULTS: &'static [(&'static str, &'static str)] = &[$($($own),*)?];
            /// The same under `profile = "ns-2"`.
            pub const NS2: &'static [(&'static str, &'static str)] = &[$($($own_ns2),*)?];

            /// The defaults under `profile = "ns-2"`.
            pub fn ns2() -> Self {
                let own: Vec<_> = Self::NS2.iter().chain(Self::DEFAULTS).copied().collect();
                let tables = <Self as $crate::param::Params>::TABLES;
                let values = $crate::param::Values::defaults(tables, &own, true);
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
                let tables = <Self as $crate::param::Params>::TABLES;
                let values = $crate::param::Values::defaults(tables, Self::DEFAULTS, false);
                <Self as $crate::param::Params>::read(&values)
            }
        }
    };
}

/// Declares an enum whose variants are words in scenario files.
///
/// `or` and a range add the variant `Number(f64)`: a number in that range, or one of the words.
///
/// ```
/// use penstock_units::param::{num_open, Field, Value};
/// penstock_units::words! {
///     /// Weight of the newest sample.
///     pub enum Weight or num_open(0.0, 1.0) {
///         /// 1 − exp(−1/C).
///         Auto = "auto",
///     }
/// }
/// assert_eq!(Weight::read(Some(&Value::Word("auto".into()))), Some(Weight::Auto));
/// assert_eq!(Weight::read(Some(&Value::Num(0.002))), Some(Weight::Number(0.002)));
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[doc = $about:literal])*
        $vis:vis enum $name:ident {
            $( $(#[doc = $doc:literal])* $variant:ident = $word:literal ),* $(,)?
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $( $(#[doc = $doc])* $variant ),*
        }
        impl $name {
            /// The words, in the order of the variants.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            /// Its word in scenario files.
            pub const fn word(self) -> &'static str {
                match self { $( $name::$variant => $word ),* }
            }
        }
        impl $crate::param::Field for $name {
            const TY: $crate::param::Ty = $crate::param::Ty::Word($name::WORDS);
            fn read(value: Option<&$crate::param::Value>) -> Option<Self> {
                match value? {
                    $crate::param::Value::Word(w) => match w.as_str() {
                        $( $word => Some($name::$variant), )*
                        _ => None,
                    },
                    _ => None,
                }
            }
            fn value(&self) -> Option<$crate::param::Value> {
                Some($crate::param::Value::Word(self.word().into()))
            }
        }
    };
    (
        $(#[doc = $about:literal])*
        $vis:vis enum $name:ident or $range:ident($min:literal, $max:literal) {
            $( $(#[doc = $doc:literal])* $variant:ident = $word:literal ),* $(,)?
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        $vis enum $name {
            $( $(#[doc = $doc])* $variant, )*
            /// A number.
            Number(f64),
        }
        impl $crate::param::Field for $name {
            const TY: $crate::param::Ty = $crate::param::Ty::NumOr(
                &$crate::param::$range($min, $max),
                &[$($word),*],
            );
            fn read(value: Option<&$crate::param::Value>) -> Option<Self> {
                match value? {
                    $crate::param::Value::Num(x) => Some($name::Number(*x)),
                    $crate::param::Value::Int(n) => Some($name::Number(*n as f64)),
                    $crate::param::Value::Word(w) => match w.as_str() {
                        $( $word => Some($name::$variant), )*
                        _ => None,
                    },
                    _ => None,
                }
            }
            fn value(&self) -> Option<$crate::param::Value> {
                Some(match self {
                    $( $name::$variant => $crate::param::Value::Word($word.into()), )*
                    $name::Number(x) => $crate::param::Value::Num(*x),
                })
            }
        }
    };
}

/// A doc comment's text without the blank that stands before it.
///
/// Several lines of a doc comment are joined by the blanks that they begin with.
pub const fn without_indent(doc: &'static str) -> &'static str {
    match doc.as_bytes() {
        [b' ', rest @ ..] => match std::str::from_utf8(rest) {
            Ok(text) => text,
            Err(_) => doc,
        },
        _ => doc,
    }
}

#[cfg(test)]
mod tests {
    use crate::param::{int, num, Named, Params, Ty, Value, Values};
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
        ns2: [("tick", "\"1 s\"")],
    }

    #[test]
    fn a_declaration_makes_a_table() {
        let row = |name: &str| Each::TABLE.iter().find(|p| p.name == name).unwrap();
        let w_q = row("w_q");
        assert_eq!((w_q.default, w_q.ns2, w_q.unit), (Some("\"auto\""), Some("0.5"), "1"));
        assert_eq!(w_q.doc, "A weight, which takes two lines.");
        const WEIGHT: Ty = Ty::NumOr(&num(0.0, 1.0), &["auto"]);
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
        let (own, ns2) = (Whole::default().each, Whole::ns2().each);
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
