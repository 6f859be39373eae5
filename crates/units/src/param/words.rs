//! The macro that makes an enum of words, and the text of its doc comments.

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
            const TY: $crate::param::Ty = $crate::param::Ty::Or(
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
