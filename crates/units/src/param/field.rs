//! Rust types that hold a parameter's value, and the structs that are made of them.

use super::{
    Arrivals, DelaySpec, Dist, Loss, Param, ParamError, RateSchedule, StartSpec, Ty, Value, Values,
};
use crate::{Bytes, Duration, QueueLen, Rate};

/// A Rust type that can hold the value of a parameter.
///
/// [`words!`](crate::words) implements it for enums whose variants are words.
pub trait Field: Sized {
    /// The values that may be written. A declaration narrows it with `ty`, for example to a range.
    const TY: Ty;

    /// Returns the checked value of a key, which is `None` where the key is automatic.
    ///
    /// Returns `None` if the value is of another type, which the key's declaration excludes.
    fn read(value: Option<&Value>) -> Option<Self>;

    /// Returns the value as a scenario holds it; `None` where it is automatic.
    fn value(&self) -> Option<Value>;
}

/// A struct made by [`params!`](crate::params) or [`group!`](crate::group): what a user sets.
pub trait Params: Sized {
    /// The declarations of its fields, table by table.
    const TABLES: &'static [&'static [Param]];

    /// Reads the fields from values that are checked and have their defaults filled in.
    ///
    /// # Panics
    /// If a key that must have a value has none. Declarations exclude that.
    fn read(values: &Values) -> Self;

    /// Adds the fields to `out`, except those that are automatic.
    fn write(&self, out: &mut Values);

    /// Checks every field against its declaration.
    ///
    /// # Errors
    /// If a field is out of its range. The error names it and says what is allowed.
    fn check(&self) -> Result<(), ParamError> {
        let mut values = Values::new();
        self.write(&mut values);
        for param in Self::TABLES.iter().copied().flatten() {
            if values.get(param.name).is_some_and(|v| !param.ty.holds(v)) {
                let problem = format!("must be {}", param.ty.allowed());
                return Err(ParamError::new(param.name, problem));
            }
        }
        Ok(())
    }
}

impl Values {
    /// Sets a key to a field's value, or leaves it automatic.
    pub fn put<T: Field>(&mut self, name: &'static str, field: &T) {
        if let Some(value) = field.value() {
            self.set(name, value);
        }
    }
}

/// Reads one field; the macros call it with the field's own name.
///
/// # Panics
/// If the key has no value of the field's type. Declarations exclude that.
pub fn field<T: Field>(values: &Values, name: &str) -> T {
    T::read(values.get(name)).unwrap_or_else(|| panic!("{name} has no value of its type"))
}

impl<T: Field> Field for Option<T> {
    const TY: Ty = T::TY;
    fn read(value: Option<&Value>) -> Option<Self> {
        match value {
            None => Some(None),
            some => T::read(some).map(Some),
        }
    }
    fn value(&self) -> Option<Value> {
        self.as_ref().and_then(T::value)
    }
}

/// The smallest and the largest number that are declared where a declaration gives no range.
const ANY: Ty = Ty::Num { min: f64::MIN, max: f64::MAX, open: false };

impl Field for f64 {
    const TY: Ty = ANY;
    fn read(value: Option<&Value>) -> Option<Self> {
        match value? {
            Value::Num(x) => Some(*x),
            Value::Int(n) => Some(*n as f64),
            _ => None,
        }
    }
    fn value(&self) -> Option<Value> {
        Some(Value::Num(*self))
    }
}

macro_rules! whole {
    ($($ty:ty),*) => {$(
        impl Field for $ty {
            const TY: Ty = Ty::Int { min: <$ty>::MIN as i64, max: <$ty>::MAX as i64 };
            fn read(value: Option<&Value>) -> Option<Self> {
                match value? {
                    Value::Int(n) => <$ty>::try_from(*n).ok(),
                    _ => None,
                }
            }
            fn value(&self) -> Option<Value> {
                Some(Value::Int(i64::from(*self)))
            }
        }
    )*};
}
whole!(u8, u16, u32, i64);

macro_rules! as_it_is {
    ($($ty:ty: $shape:expr, $variant:ident;)*) => {$(
        impl Field for $ty {
            const TY: Ty = $shape;
            fn read(value: Option<&Value>) -> Option<Self> {
                match value? {
                    Value::$variant(x) => Some(x.clone()),
                    _ => None,
                }
            }
            fn value(&self) -> Option<Value> {
                Some(Value::$variant(self.clone()))
            }
        }
    )*};
}
as_it_is! {
    bool: Ty::Bool, Bool;
    String: Ty::Text, Word;
    Duration: Ty::Duration, Duration;
    Rate: Ty::Rate, Rate;
    Vec<Rate>: Ty::Rates, Rates;
    Bytes: Ty::Size, Size;
    QueueLen: Ty::Queue, Queue;
    DelaySpec: Ty::Delay, Delay;
    Dist: Ty::SizeDist, Dist; // the declaration says if it is another one
    StartSpec: Ty::Start, Start;
    Arrivals: Ty::Arrivals, Arrivals;
    Loss: Ty::Loss, Loss;
    RateSchedule: Ty::Schedule, Schedule;
}

/// Tables with the keys of `T`, each under a name of the user's choice: `[aqm.class.gold]`.
///
/// The declaration of the key names what holds without any as its `auto`, such as `"none"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T: Params> Field for Named<T> {
    const TY: Ty = match T::TABLES {
        [table] => Ty::Tables(table),
        _ => panic!("one table of keys"),
    };
    fn read(value: Option<&Value>) -> Option<Self> {
        let read = |(name, values): &(String, Values)| (name.clone(), T::read(values));
        match value {
            None => Some(Named(vec![])),
            Some(Value::Tables(tables)) => Some(Named(tables.iter().map(read).collect())),
            Some(_) => None,
        }
    }
    fn value(&self) -> Option<Value> {
        let write = |(name, own): &(String, T)| {
            let mut values = Values::new();
            own.write(&mut values);
            (name.clone(), values)
        };
        (!self.0.is_empty()).then(|| Value::Tables(self.0.iter().map(write).collect()))
    }
}
