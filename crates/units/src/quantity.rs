//! Quantities as a person writes them: `"1.5 Mbit/s"`, `"40 ms"`, `"64 KiB"`, `"40 packets"`.
//!
//! Decimal numbers are read exactly: the digits become an integer, the unit a power of ten, and
//! what does not fill the smallest unit is rounded half up (`"0.1 s"` is 100 000 000 ns, not 100
//! 000 000.000 000 01).

use crate::{Bytes, Duration, QueueLen, Rate, TICKS_PER_NANO};
use units::{Kind, Unit, DURATIONS, FREQUENCIES, QUEUES, RATES, SIZES};

mod units;
pub use units::{any_case, DURATION_UNITS, FREQUENCY_UNITS, QUEUE_UNITS, RATE_UNITS, SIZE_UNITS};

/// More significant digits than this are refused: every quantity fits into far fewer, and so the
/// arithmetic below cannot overflow unnoticed.
const MAX_DIGITS: u32 = 25;

/// A text that is not a quantity of the requested kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantityError {
    /// It does not begin with a number.
    #[error("must be a number with a unit, for example \"{example}\"; allowed units: {}", .allowed.join(", "))]
    NotANumber {
        /// The whole text.
        found: String,
        /// Units that are accepted.
        allowed: &'static [&'static str],
        /// A text that is accepted.
        example: &'static str,
    },
    /// A number alone.
    #[error("needs a unit, for example \"{} {nearest}\"; allowed units: {}", shorten(.found), .allowed.join(", "))]
    NoUnit {
        /// The whole text.
        found: String,
        /// Units that are accepted.
        allowed: &'static [&'static str],
        /// The usual unit.
        nearest: &'static str,
    },
    /// A number followed by something else.
    #[error("unknown unit \"{}\"; allowed: {}; nearest: {nearest}", shorten(.found), .allowed.join(", "))]
    UnknownUnit {
        /// The text found in the unit's place.
        found: String,
        /// Units that are accepted.
        allowed: &'static [&'static str],
        /// The most similar unit.
        nearest: &'static str,
    },
    /// A number followed by a unit that is not read in one way alone.
    #[error("unit \"{found}\" is ambiguous: {readings}; allowed: {}; nearest: {nearest}", .allowed.join(", "))]
    AmbiguousUnit {
        /// The text found in the unit's place.
        found: String,
        /// The ways in which it is read, and the spelling to write instead.
        readings: &'static str,
        /// Units that are accepted.
        allowed: &'static [&'static str],
        /// The unit that is most probably meant.
        nearest: &'static str,
    },
    /// Zero, where it makes no sense.
    #[error("must be above 0; allowed units: {}", .allowed.join(", "))]
    Zero {
        /// The whole text.
        found: String,
        /// Units that are accepted.
        allowed: &'static [&'static str],
    },
    /// A number and a unit, but an impossible value.
    #[error("{problem}; allowed units: {}", .allowed.join(", "))]
    OutOfRange {
        /// The whole text.
        found: String,
        /// The problem with the value.
        problem: &'static str,
        /// Units that are accepted.
        allowed: &'static [&'static str],
    },
}

impl QuantityError {
    /// Returns what was found in the text's (or its unit's) place.
    pub fn found(&self) -> &str {
        match self {
            QuantityError::NotANumber { found, .. }
            | QuantityError::NoUnit { found, .. }
            | QuantityError::UnknownUnit { found, .. }
            | QuantityError::AmbiguousUnit { found, .. }
            | QuantityError::Zero { found, .. }
            | QuantityError::OutOfRange { found, .. } => found,
        }
    }
    /// Returns the units that are accepted.
    pub fn allowed(&self) -> &'static [&'static str] {
        match self {
            QuantityError::NotANumber { allowed, .. }
            | QuantityError::NoUnit { allowed, .. }
            | QuantityError::UnknownUnit { allowed, .. }
            | QuantityError::AmbiguousUnit { allowed, .. }
            | QuantityError::Zero { allowed, .. }
            | QuantityError::OutOfRange { allowed, .. } => allowed,
        }
    }
    /// Returns the unit that was probably meant.
    pub fn nearest(&self) -> Option<&'static str> {
        match self {
            QuantityError::NoUnit { nearest, .. }
            | QuantityError::UnknownUnit { nearest, .. }
            | QuantityError::AmbiguousUnit { nearest, .. } => Some(nearest),
            _ => None,
        }
    }
}

/// A span of time: `"40 ms"`, `"0.1 s"`, `"5 us"`, `"1 min"`. Below a nanosecond it is rounded.
///
/// # Errors
/// If the text is not a number with a unit of time, or is negative or beyond 84 days, which 2⁶⁴
/// ticks are.
pub fn parse_duration(text: &str) -> Result<Duration, QuantityError> {
    let (number, unit) = split(text, &DURATIONS)?;
    let ns = number.scale(unit_of(unit, number.text, &DURATIONS)?, text, &DURATIONS)?;
    if ns > u64::MAX / TICKS_PER_NANO {
        return Err(too_large(text, &DURATIONS));
    }
    Ok(Duration::from_nanos(ns))
}

/// A rate: `"1.5 Mbit/s"`, `"10mbit"`, `"1 MB/s"`. Below a bit per second it is rounded.
///
/// # Errors
/// If the text is not a number with a unit of rate, or is not above zero, or is beyond 2⁶⁴ bit/s.
pub fn parse_rate(text: &str) -> Result<Rate, QuantityError> {
    let (number, unit) = split(text, &RATES)?;
    let bps = number.scale(unit_of(unit, number.text, &RATES)?, text, &RATES)?;
    Rate::from_bps(bps)
        .ok_or_else(|| QuantityError::Zero { found: text.into(), allowed: RATES.allowed })
}

/// How often something happens, per second: `"200 /s"`.
///
/// # Errors
/// If the text is not a number with such a unit, or is not above zero, or is too large.
pub fn parse_frequency(text: &str) -> Result<f64, QuantityError> {
    let (number, unit) = split(text, &FREQUENCIES)?;
    let factor = unit_of(unit, number.text, &FREQUENCIES)? as f64;
    // The digits have been checked, so this parses; it is correctly rounded.
    let count = number.text.parse::<f64>().ok().filter(|n| n.is_finite());
    let often = count.ok_or_else(|| too_large(text, &FREQUENCIES))? * factor;
    if often > 0.0 {
        return Ok(often);
    }
    Err(QuantityError::Zero { found: text.into(), allowed: FREQUENCIES.allowed })
}

/// A size: `"1000 B"`, `"1 kB"` (1000 B), `"64 KiB"` (65 536 B).
///
/// # Errors
/// If the text is not a number with a unit of size, or is negative, beyond 2⁶⁴ B or not whole
/// bytes.
pub fn parse_size(text: &str) -> Result<Bytes, QuantityError> {
    let (number, unit) = split(text, &SIZES)?;
    let factor = unit_of(unit, number.text, &SIZES)?;
    number.whole(factor, text, &SIZES).map(Bytes)
}

/// A queue length: `"40"` and `"40 packets"` count packets, `"30 kB"` bytes.
///
/// # Errors
/// If the text is neither, or is negative, too large or not whole bytes.
pub fn parse_queue(text: &str) -> Result<QueueLen, QuantityError> {
    let (number, unit) = split(text, &QUEUES)?;
    if QUEUES.counts(unit) {
        // The digits have been checked, so this parses; it is correctly rounded and finite.
        let packets = number.text.parse::<f64>().ok().filter(|n| n.is_finite());
        return packets
            .map(QueueLen::Packets)
            .ok_or_else(|| out_of_range(text, "is too large", &QUEUES));
    }
    let factor = unit_of(unit, number.text, &QUEUES)?;
    number.whole(factor, text, &QUEUES).map(QueueLen::Bytes)
}

/// The duration in the largest unit of which it is at least one, exact.
pub fn format_duration(d: Duration) -> String {
    format_exact(
        d.as_nanos(),
        &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)],
        "0 s",
    )
}

/// The rate in the largest unit of which it is at least one, exact.
pub fn format_rate(r: Rate) -> String {
    let units = [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];
    format_exact(r.as_bps(), &units, "0 bit/s")
}

/// How often something happens, as [`parse_frequency`] reads it.
pub fn format_frequency(often: f64) -> String {
    format!("{often} /s")
}

/// The size in bytes; from 10 000 B on in the largest decimal unit that leaves a whole number.
pub fn format_size(b: Bytes) -> String {
    let units: [Unit; 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    let unit = units.iter().find(|(_, per)| b.0 >= 10_000 && b.0 % per == 0).unwrap_or(&("B", 1));
    format!("{} {}", b.0 / unit.1, unit.0)
}

/// A non-negative decimal number: `digits · 10^exponent`.
struct Number<'a> {
    text: &'a str,
    digits: u128,
    exponent: i32,
}

impl Number<'_> {
    /// Returns the number times `factor`, rounded half up.
    fn scale(&self, factor: u64, text: &str, kind: &Kind) -> Result<u64, QuantityError> {
        let (value, rest) = self.times(factor, text, kind)?;
        let value = if rest >= Rest::Half { value.checked_add(1) } else { Some(value) };
        value.ok_or_else(|| too_large(text, kind))
    }

    /// Returns the number times `factor`, which must be whole.
    fn whole(&self, factor: u64, text: &str, kind: &Kind) -> Result<u64, QuantityError> {
        match self.times(factor, text, kind)? {
            (value, Rest::Zero) => Ok(value),
            _ => Err(out_of_range(text, "must be a whole number of bytes", kind)),
        }
    }

    /// Returns the number times `factor`: the whole part, and how the rest compares with a half.
    fn times(&self, factor: u64, text: &str, kind: &Kind) -> Result<(u64, Rest), QuantityError> {
        // digits < 10^25 and factor < 2^42 (an hour): below 2^128.
        let product = self.digits * u128::from(factor);
        let Some(power) = 10u128.checked_pow(self.exponent.unsigned_abs()) else {
            // 10^39 and more. Nothing but zero survives a multiplication by it, and nothing a
            // division.
            return match (product, self.exponent < 0) {
                (0, _) => Ok((0, Rest::Zero)),
                (_, true) => Ok((0, Rest::Less)),
                (_, false) => Err(too_large(text, kind)),
            };
        };
        let (value, rest) = if self.exponent >= 0 {
            (product.checked_mul(power).ok_or_else(|| too_large(text, kind))?, Rest::Zero)
        } else {
            (product / power, Rest::of(product % power, power))
        };
        Ok((u64::try_from(value).map_err(|_| too_large(text, kind))?, rest))
    }
}

/// Compares the remainder of a division with half its divisor.
#[derive(PartialEq, PartialOrd)]
enum Rest {
    Zero,
    Less,
    Half,
}

impl Rest {
    fn of(rest: u128, divisor: u128) -> Rest {
        match rest {
            0 => Rest::Zero,
            _ if rest >= divisor - rest => Rest::Half,
            _ => Rest::Less,
        }
    }
}

fn out_of_range(text: &str, problem: &'static str, kind: &Kind) -> QuantityError {
    QuantityError::OutOfRange { found: text.into(), problem, allowed: kind.allowed }
}

fn too_large(text: &str, kind: &Kind) -> QuantityError {
    out_of_range(text, "is too large", kind)
}

/// Splits a text into its number and its unit (which may be empty).
fn split<'a>(text: &'a str, kind: &Kind) -> Result<(Number<'a>, &'a str), QuantityError> {
    let trimmed = text.trim();
    let negative = trimmed
        .strip_prefix(['-', '−'])
        .is_some_and(|t| t.trim_start().starts_with(|c: char| c.is_ascii_digit()));
    if negative {
        return Err(out_of_range(text, "must not be negative", kind));
    }
    let not_a_number = || QuantityError::NotANumber {
        found: text.into(),
        allowed: kind.allowed,
        example: kind.example,
    };
    let length = number_length(trimmed).ok_or_else(not_a_number)?;
    let (number, unit) = trimmed.split_at(length);
    let (digits, exponent) =
        decimal(number).ok_or_else(|| out_of_range(text, "has too many digits", kind))?;
    Ok((Number { text: number, digits, exponent }, unit.trim_start()))
}

/// The length of the number at the start: digits with at most one point, then perhaps `e±digits`.
fn number_length(text: &str) -> Option<usize> {
    let b = text.as_bytes();
    let digits_from = |i: usize| b[i..].iter().take_while(|c| c.is_ascii_digit()).count();
    let whole = digits_from(0);
    let mut end = whole;
    let mut fraction = 0;
    if b.get(end) == Some(&b'.') {
        fraction = digits_from(end + 1);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return None;
    }
    if matches!(b.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(b.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits_from((end + 1 + sign).min(b.len()));
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    Some(end)
}

/// A number that [`number_length`] has measured, as digits and exponent; `None` if it has too many
/// digits.
fn decimal(number: &str) -> Option<(u128, i32)> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    // Beyond four digits every exponent means the same: far too large, or zero.
    let mut exponent = exponent.parse::<i32>().map_or_else(
        |_| if exponent.starts_with('-') { -9999 } else { 9999 },
        |e| e.clamp(-9999, 9999),
    );
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let (mut digits, mut count) = (0u128, 0);
    for c in whole.bytes().chain(fraction.bytes()) {
        digits = digits * 10 + u128::from(c - b'0');
        count += u32::from(digits > 0);
        if count > MAX_DIGITS {
            return None;
        }
    }
    exponent = exponent.saturating_sub(i32::try_from(fraction.len()).ok()?);
    Some((digits, exponent))
}

/// Returns the factor of a unit.
fn unit_of(unit: &str, number: &str, kind: &Kind) -> Result<u64, QuantityError> {
    if let Some(factor) = kind.factor(unit) {
        return Ok(factor);
    }
    let allowed = kind.allowed;
    if unit.is_empty() {
        return Err(QuantityError::NoUnit { found: number.into(), allowed, nearest: kind.usual });
    }
    let found = unit.into();
    Err(match kind.readings(unit) {
        Some((readings, nearest)) => {
            QuantityError::AmbiguousUnit { found, readings, allowed, nearest }
        }
        None => QuantityError::UnknownUnit { found, allowed, nearest: kind.nearest(unit) },
    })
}

/// Returns a text cut to a readable length, without control characters, as messages quote it.
pub fn shorten(text: &str) -> String {
    const MAX: usize = 60;
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut out: String = text.chars().take(MAX).map(clean).collect();
    if text.chars().nth(MAX).is_some() {
        out.push('…');
    }
    out
}

/// `value` in the largest unit of which it holds one, with as many decimals as it needs.
fn format_exact(value: u64, units: &[Unit], zero: &str) -> String {
    let Some((name, per)) = units.iter().find(|(_, per)| value >= *per) else {
        return zero.into();
    };
    let rest = value % per;
    if rest == 0 {
        return format!("{} {name}", value / per);
    }
    let width = per.ilog10() as usize;
    let decimals = format!("{rest:0width$}");
    format!("{}.{} {name}", value / per, decimals.trim_end_matches('0'))
}

#[cfg(test)]
mod tests;
