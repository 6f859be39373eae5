//! The units that quantities are written in: the one table of each kind.
//!
//! Beside this project's spellings stand those of `tc` and netem (tc(8), "PARAMETERS": `10mbit`,
//! `20msec`, `1500b`, `1000p`) wherever they can mean nothing else. A spelling with two readings is
//! refused, and the message names both. `bps` and `kbps` are bits, as they always were in scenario
//! files, though tc reads them as bytes.

/// A unit: its spelling and how many of the smallest unit it holds.
pub(crate) type Unit = (&'static str, u64);

/// Units of time, in nanoseconds.
const DURATION: &[Unit] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("nsec", 1),
    ("nsecs", 1),
    ("usec", 1_000),
    ("usecs", 1_000),
    ("msec", 1_000_000),
    ("msecs", 1_000_000),
    ("sec", 1_000_000_000),
    ("secs", 1_000_000_000),
];

/// Units of rate, in bits per second.
const RATE: &[Unit] = &[
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Tbit/s", 1_000_000_000_000),
    ("B/s", 8),
    ("kB/s", 8_000),
    ("MB/s", 8_000_000),
    ("GB/s", 8_000_000_000),
    ("bps", 1),
    ("kbps", 1_000),
    ("Mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
    ("b/s", 1),
    ("kb/s", 1_000),
    ("Mb/s", 1_000_000),
    ("Gb/s", 1_000_000_000),
    ("bit", 1),
    ("kbit", 1_000),
    ("Mbit", 1_000_000),
    ("Gbit", 1_000_000_000),
    ("Tbit", 1_000_000_000_000),
    ("Kibit", 1 << 10),
    ("Mibit", 1 << 20),
    ("Gibit", 1 << 30),
    ("Tibit", 1 << 40),
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
    ("b", 1),
];

/// Units of how often something happens, per second.
const FREQUENCY: &[Unit] = &[("/s", 1), ("/ms", 1_000)];

/// Words behind a number of packets.
const PACKETS: &[Unit] = &[("packets", 1), ("packet", 1), ("pkts", 1), ("pkt", 1), ("p", 1)];

/// Spellings with several readings: the readings, and the spelling that is most probably meant.
type Ambiguous = (&'static [&'static str], &'static str, &'static str);

const TIMES_AMBIGUOUS: &[Ambiguous] =
    &[(&["m", "M"], "it is read as minutes, as milliseconds or as months: write min or ms", "ms")];

const RATES_AMBIGUOUS: &[Ambiguous] = &[
    (
        &["Kbps"],
        "tc reads it as kilobytes per second, others as kilobits: write kB/s or kbit/s",
        "kbit/s",
    ),
    (
        &["mbps"],
        "tc reads it as megabytes per second, others as megabits: write MB/s or Mbit/s",
        "Mbit/s",
    ),
    (
        &["gbps"],
        "tc reads it as gigabytes per second, others as gigabits: write GB/s or Gbit/s",
        "Gbit/s",
    ),
    (
        &["k", "K", "m", "M", "g", "G", "t", "T"],
        "a letter alone says neither bits nor bytes: write kbit/s, Mbit/s or MB/s",
        "Mbit/s",
    ),
];

const SIZES_AMBIGUOUS: &[Ambiguous] = &[
    (
        &["k", "K", "kb", "Kb", "KB"],
        "tc reads it as 1024 B, others as 1000 B or as bits: write KiB or kB",
        "kB",
    ),
    (
        &["m", "M", "mb", "Mb", "mB"],
        "tc reads it as 1048576 B, others as 1000000 B or as bits: write MiB or MB",
        "MB",
    ),
    (
        &["g", "G", "gb", "Gb", "gB"],
        "tc reads it as 1073741824 B, others as 1000000000 B or as bits: write GiB or GB",
        "GB",
    ),
    (
        &["kbit", "Kbit", "mbit", "Mbit", "gbit", "Gbit"],
        "tc counts 1024 bits to a kbit of data, others 1000: write bytes, such as kB or KiB",
        "kB",
    ),
];

/// One kind of quantity, as its parser needs to know it.
pub(crate) struct Kind {
    /// Units, this project's own spellings first.
    pub units: &'static [Unit],
    /// Words behind a number that is a count; empty where none is.
    pub counts: &'static [Unit],
    /// Every spelling that is taken.
    pub allowed: &'static [&'static str],
    /// Spellings that are refused for having several readings.
    pub ambiguous: &'static [Ambiguous],
    /// The unit that a message proposes for a bare number.
    pub usual: &'static str,
    /// A text that is taken.
    pub example: &'static str,
}

pub(crate) const DURATIONS: Kind = Kind {
    units: DURATION,
    counts: &[],
    allowed: DURATION_UNITS,
    ambiguous: TIMES_AMBIGUOUS,
    usual: "s",
    example: "40 ms",
};
pub(crate) const RATES: Kind = Kind {
    units: RATE,
    counts: &[],
    allowed: RATE_UNITS,
    ambiguous: RATES_AMBIGUOUS,
    usual: "Mbit/s",
    example: "1.5 Mbit/s",
};
pub(crate) const FREQUENCIES: Kind = Kind {
    units: FREQUENCY,
    counts: &[],
    allowed: FREQUENCY_UNITS,
    ambiguous: &[],
    usual: "/s",
    example: "200 /s",
};
pub(crate) const SIZES: Kind = Kind {
    units: SIZE,
    counts: &[],
    allowed: SIZE_UNITS,
    ambiguous: SIZES_AMBIGUOUS,
    usual: "B",
    example: "1000 B",
};
pub(crate) const QUEUES: Kind = Kind {
    units: SIZE,
    counts: PACKETS,
    allowed: QUEUE_UNITS,
    ambiguous: SIZES_AMBIGUOUS,
    usual: "packets",
    example: "40 packets",
};

/// Spellings of the units of time that are taken.
pub const DURATION_UNITS: &[&str] = &names::<{ DURATION.len() }>(DURATION, &[]);
/// Spellings of the units of rate that are taken; see [`any_case`].
pub const RATE_UNITS: &[&str] = &names::<{ RATE.len() }>(RATE, &[]);
/// Spellings of the units of how often something happens.
pub const FREQUENCY_UNITS: &[&str] = &names::<{ FREQUENCY.len() }>(FREQUENCY, &[]);
/// Spellings of the units of size that are taken.
pub const SIZE_UNITS: &[&str] = &names::<{ SIZE.len() }>(SIZE, &[]);
/// Spellings of what may stand behind the length of a queue.
pub const QUEUE_UNITS: &[&str] = &names::<{ PACKETS.len() + SIZE.len() }>(PACKETS, SIZE);

const fn names<const N: usize>(first: &[Unit], then: &[Unit]) -> [&'static str; N] {
    let mut all = [""; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < first.len() { first[i].0 } else { then[i - first.len()].0 };
        i += 1;
    }
    all
}

/// Whether upper and lower case are the same in a unit: where it says "bit", which no other unit
/// does.
pub fn any_case(unit: &str) -> bool {
    unit.contains("bit")
}

impl Kind {
    /// The factor of a spelling that is taken.
    pub fn factor(&self, unit: &str) -> Option<u64> {
        find(self.units, unit)
    }

    /// Whether a spelling says that the number is a count.
    pub fn counts(&self, unit: &str) -> bool {
        !self.counts.is_empty() && (unit.is_empty() || find(self.counts, unit).is_some())
    }

    /// The readings of a spelling that has several, and the one that is most probably meant.
    pub fn readings(&self, unit: &str) -> Option<(&'static str, &'static str)> {
        let row = self.ambiguous.iter().find(|(spellings, ..)| spellings.contains(&unit))?;
        Some((row.1, row.2))
    }

    /// The spelling that looks most like an unknown one.
    pub fn nearest(&self, unit: &str) -> &'static str {
        // Long garbage would cost time and tell nothing.
        let unit: String = unit.chars().take(64).collect();
        let distance = |name: &str| strsim::osa_distance(name, &unit);
        // A spelling that shares no letter with it is not near.
        let near = self
            .allowed
            .iter()
            .copied()
            .filter(|name| distance(name) < name.chars().count().max(unit.chars().count()));
        // Wrong case alone ("mB/s") is nearer than any wrong letter.
        let cost = |name: &str| 2 * distance(name) - usize::from(name.eq_ignore_ascii_case(&unit));
        near.min_by_key(|name| cost(name)).unwrap_or(self.usual)
    }
}

fn find(units: &[Unit], unit: &str) -> Option<u64> {
    // U+03BC, the Greek letter, looks the same as U+00B5, the micro sign.
    let unit = if unit == "μs" { "µs" } else { unit };
    let same = |name: &str| name == unit || any_case(name) && name.eq_ignore_ascii_case(unit);
    units.iter().find(|(name, _)| same(name)).map(|(_, factor)| *factor)
}
