//! Quantities as a person writes them: `"1.5 Mbit/s"`, `"40 ms"`, `"64 KiB"`, `"40 packets"`.
//!
//! Decimal numbers are read exactly: the digits become an integer, the unit a power of ten, and
//! what does not fill the smallest unit is rounded half up (`"0.1 s"` is 100 000 000 ns, not 100
//! 000 000.000 000 01).

use crate::{Bytes, Duration, QueueLen, Rate, TICKS_PER_NANO};

/// A unit: its spelling and how many of the smallest unit it holds.
type Unit = (&'static str, u64);

/// Units of time, in nanoseconds. The first spelling of each size is the one that messages
/// recommend.
const DURATION: &[Unit] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000), // U+00B5, the micro sign
    ("μs", 1_000), // U+03BC, the Greek letter, which looks the same
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Units of rate, in bits per second.
const RATE: &[Unit] = &[
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Tbit/s", 1_000_000_000_000),
    ("bps", 1),
    ("kbps", 1_000),
    ("Mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
    ("b/s", 1),
    ("kb/s", 1_000),
    ("Mb/s", 1_000_000),
    ("Gb/s", 1_000_000_000),
    ("B/s", 8),
    ("kB/s", 8_000),
    ("MB/s", 8_000_000),
    ("GB/s", 8_000_000_000),
];

/// Units of size, in bytes.
const SIZE: &[Unit] = &[
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

const PACKETS: &[&str] = &["packets", "packet", "pkts", "pkt"];

const DURATION_ALLOWED: &[&str] = &["ns", "us", "ms", "s", "min", "h"];
const RATE_ALLOWED: &[&str] =
    &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "B/s", "kB/s", "MB/s", "GB/s"];
const SIZE_ALLOWED: &[&str] = &["B", "kB", "MB", "GB", "KiB", "MiB", "GiB"];
const QUEUE_ALLOWED: &[&str] = &["packets", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB"];

/// More significant digits than this are refused: every quantity fits into far fewer, and so the
/// arithmetic below cannot overflow unnoticed.
const MAX_DIGITS: u32 = 25;

/// A text that is not a quantity of the requested kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantityError {
    /// It does not begin with a number.
    #[error("{found:?} is not a number with a unit; for example \"{example}\"; allowed units: {}", .allowed.join(", "))]
    NotANumber {
        /// The whole text.
        found: String,
        /// Units that are accepted.
        allowed: &'static [&'static str],
        /// A text that is accepted.
        example: &'static str,
    },
    /// A number alone.
    #[error("needs a unit, for example \"{found} {nearest}\"; allowed units: {}", .allowed.join(", "))]
    NoUnit {
        /// The whole text.
        found: String,
        /// Units that are accepted.
        allowed: &'static [&'static str],
        /// The usual unit.
        nearest: &'static str,
    },
    /// A number followed by something else.
    #[error("unknown unit {found:?}; allowed: {}; nearest: {nearest}", .allowed.join(", "))]
    UnknownUnit {
        /// What was found in the unit's place.
        found: String,
        /// Units that are accepted.
        allowed: &'static [&'static str],
        /// The most similar unit.
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
        /// What is wrong with the value.
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
            | QuantityError::Zero { allowed, .. }
            | QuantityError::OutOfRange { allowed, .. } => allowed,
        }
    }
    /// Returns the unit that was probably meant.
    pub fn nearest(&self) -> Option<&'static str> {
        match self {
            QuantityError::NoUnit { nearest, .. } | QuantityError::UnknownUnit { nearest, .. } => {
                Some(nearest)
            }
            _ => None,
        }
    }
}

/// One kind of quantity: what its parser needs to know.
struct Kind {
    units: &'static [Unit],
    allowed: &'static [&'static str],
    /// The unit that a message proposes for a bare number.
    usual: &'static str,
    example: &'static str,
}

const DURATIONS: Kind =
    Kind { units: DURATION, allowed: DURATION_ALLOWED, usual: "s", example: "40 ms" };
const RATES: Kind =
    Kind { units: RATE, allowed: RATE_ALLOWED, usual: "Mbit/s", example: "1.5 Mbit/s" };
const SIZES: Kind = Kind { units: SIZE, allowed: SIZE_ALLOWED, usual: "B", example: "1000 B" };
const QUEUES: Kind =
    Kind { units: SIZE, allowed: QUEUE_ALLOWED, usual: "packets", example: "40 packets" };

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

/// A rate: `"1.5 Mbit/s"`, `"150 kbps"`, `"1 MB/s"`. Below a bit per second it is rounded.
///
/// # Errors
/// If the text is not a number with a unit of rate, or is not above zero, or is beyond 2⁶⁴ bit/s.
pub fn parse_rate(text: &str) -> Result<Rate, QuantityError> {
    let (number, unit) = split(text, &RATES)?;
    let bps = number.scale(unit_of(unit, number.text, &RATES)?, text, &RATES)?;
    Rate::from_bps(bps)
        .ok_or_else(|| QuantityError::Zero { found: text.into(), allowed: RATES.allowed })
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
    if unit.is_empty() || PACKETS.contains(&unit) {
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
    if let Some((_, factor)) = kind.units.iter().find(|(name, _)| *name == unit) {
        return Ok(*factor);
    }
    if unit.is_empty() {
        return Err(QuantityError::NoUnit {
            found: number.into(),
            allowed: kind.allowed,
            nearest: kind.usual,
        });
    }
    let names = kind.units.iter().map(|(name, _)| *name);
    let packets =
        PACKETS.iter().copied().take(if kind.usual == "packets" { usize::MAX } else { 0 });
    // Wrong case alone ("mbit/s") is nearer than any wrong letter.
    let cost = |name: &str| {
        2 * strsim::osa_distance(name, unit) - usize::from(name.eq_ignore_ascii_case(unit))
    };
    let nearest = names.chain(packets).min_by_key(|name| cost(name)).unwrap_or(kind.usual);
    Err(QuantityError::UnknownUnit { found: unit.into(), allowed: kind.allowed, nearest })
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
