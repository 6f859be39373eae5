use super::*;
use proptest::prelude::*;

#[test]
fn durations() {
    for (text, ns) in [
        ("40 ms", 40_000_000),
        ("0.1 s", 100_000_000),
        ("0.3s", 300_000_000),
        ("5 us", 5_000),
        ("5 µs", 5_000),
        ("5 μs", 5_000),
        ("10 ns", 10),
        ("1 min", 60_000_000_000),
        ("1.5 h", 5_400_000_000_000),
        ("  2.50   s ", 2_500_000_000),
        ("0 s", 0),
        ("1e3 ms", 1_000_000_000),
        ("1E-3 s", 1_000_000),
        (".5 s", 500_000_000),
        ("5. s", 5_000_000_000),
        ("0.4 ns", 0),
        ("0.5 ns", 1),
        ("1e-99 s", 0),
        ("0e99999999999 s", 0),
        ("7320136.53718633 s", u64::MAX / TICKS_PER_NANO),
        ("000000000000000000000000000001 s", 1_000_000_000),
        ("20msec", 20_000_000),
        ("20 msecs", 20_000_000),
        ("1sec", 1_000_000_000),
        ("2secs", 2_000_000_000),
        ("5usec", 5_000),
        ("5usecs", 5_000),
        ("7nsec", 7),
        ("7nsecs", 7),
    ] {
        assert_eq!(parse_duration(text).map(Duration::as_nanos), Ok(ns), "{text}");
    }
}

#[test]
fn rates() {
    for (text, bps) in [
        ("1.5 Mbit/s", 1_500_000),
        ("10 Gbit/s", 10_000_000_000),
        ("150 kbit/s", 150_000),
        ("1 bit/s", 1),
        ("45 Mbps", 45_000_000),
        ("9600 bps", 9_600),
        ("150 kbps", 150_000),
        ("1.5 Gbps", 1_500_000_000),
        ("10mbit", 10_000_000),
        ("10Mbit", 10_000_000),
        ("795Kbit", 795_000),
        ("100bit", 100),
        ("1gbit", 1_000_000_000),
        ("1tbit", 1_000_000_000_000),
        ("1.5 mbit/s", 1_500_000),
        ("2Kibit", 2_048),
        ("2mibit", 2 << 20),
        ("1Gibit", 1 << 30),
        ("1tibit", 1 << 40),
        ("1.5Mb/s", 1_500_000),
        ("1 MB/s", 8_000_000),
        ("0.5 Tbit/s", 500_000_000_000),
    ] {
        assert_eq!(parse_rate(text).map(Rate::as_bps), Ok(bps), "{text}");
    }
}

#[test]
fn sizes_and_queues() {
    for (text, bytes) in [
        ("1000 B", 1000),
        ("1 kB", 1000),
        ("64 KiB", 65_536),
        ("1.5 MB", 1_500_000),
        ("0 B", 0),
        ("1500b", 1500),
    ] {
        assert_eq!(parse_size(text), Ok(Bytes(bytes)), "{text}");
        assert_eq!(parse_queue(text), Ok(QueueLen::Bytes(bytes)), "{text}");
    }
    for (text, packets) in [
        ("40", 40.0),
        ("40 packets", 40.0),
        ("1 packet", 1.0),
        ("2.5 pkts", 2.5),
        ("1000p", 1000.0),
    ] {
        assert_eq!(parse_queue(text), Ok(QueueLen::Packets(packets)), "{text}");
    }
}

#[test]
fn errors_say_what_was_found_and_what_is_near() {
    let rate = |t| parse_rate(t).unwrap_err().to_string();
    for (message, part) in [
        (rate("1.5 Mbi/s"), "unknown unit \"Mbi/s\"; allowed: bit/s, kbit/s, Mbit/s"),
        (rate("1.5 Mbi/s"), "nearest: Mbit/s"),
        (rate("1.5 mb/s"), "nearest: Mb/s"),
        (rate("1 MB"), "nearest: MB/s"),
        (rate("1.5"), "needs a unit, for example \"1.5 Mbit/s\""),
        (rate("fast"), "must be a number with a unit, for example \"1.5 Mbit/s\""),
        (rate("NaN bit/s"), "must be a number"),
        (rate("inf bit/s"), "must be a number"),
        (rate("1,5 Mbit/s"), "unknown unit \",5 Mbit/s\""),
        (rate("-1 Mbit/s"), "must not be negative"),
        (rate("0 bit/s"), "must be above 0;"),
        (rate("1e99 Gbit/s"), "is too large"),
        (rate("99999999999999999999 Gbit/s"), "is too large"),
        (rate("1.00000000000000000000000000001 bit/s"), "has too many digits"),
        (parse_duration("40 mesc").unwrap_err().to_string(), "nearest: msec"),
        (parse_duration("").unwrap_err().to_string(), "\"40 ms\""),
        (parse_duration("7320136.537186331 s").unwrap_err().to_string(), "is too large"),
        (parse_size("1.5 B").unwrap_err().to_string(), "must be a whole number of bytes"),
        (parse_size("40 packets").unwrap_err().to_string(), "unknown unit \"packets\""),
        (parse_queue("40 s").unwrap_err().to_string(), "nearest: pkts"),
        (parse_queue("40 packet s").unwrap_err().to_string(), "nearest: packets"),
        (parse_queue("1e400").unwrap_err().to_string(), "is too large"),
    ] {
        assert!(message.contains(part), "{message:?} does not contain {part:?}");
    }
}

#[test]
fn formats_are_the_ones_a_person_writes() {
    for (ns, text) in [
        (0, "0 s"),
        (40_000_000, "40 ms"),
        (100_000_000, "100 ms"),
        (1_500_000_000, "1.5 s"),
        (100_000_000_000, "100 s"),
        (1, "1 ns"),
        (1_000_000_001, "1.000000001 s"),
        (2_500, "2.5 us"),
    ] {
        assert_eq!(format_duration(Duration::from_nanos(ns)), text);
    }
    for (bps, text) in [
        (1_500_000, "1.5 Mbit/s"),
        (150_000, "150 kbit/s"),
        (10_000_000_000, "10 Gbit/s"),
        (7, "7 bit/s"),
    ] {
        assert_eq!(Rate::from_bps(bps).map(format_rate).as_deref(), Some(text));
    }
    for (bytes, text) in
        [(0, "0 B"), (1000, "1000 B"), (1040, "1040 B"), (30_000, "30 kB"), (65_536, "65536 B")]
    {
        assert_eq!(format_size(Bytes(bytes)), text);
    }
}

/// Every spelling that a message lists is read, and every one that is read is listed.
#[test]
fn what_is_taken_is_what_is_listed() {
    for unit in DURATION_UNITS {
        assert!(parse_duration(&format!("1{unit}")).is_ok(), "{unit}");
    }
    for unit in RATE_UNITS {
        assert!(parse_rate(&format!("1 {unit}")).is_ok(), "{unit}");
    }
    for unit in SIZE_UNITS {
        assert!(parse_size(&format!("1 {unit}")).is_ok(), "{unit}");
    }
    for unit in QUEUE_UNITS {
        assert!(parse_queue(&format!("1 {unit}")).is_ok(), "{unit}");
    }
    let Err(error) = parse_rate("1") else { panic!("a bare number is no rate") };
    assert!(RATE_UNITS.iter().all(|unit| error.to_string().contains(unit)));
}

/// A spelling that others read otherwise is refused, and the message says how it is read.
#[test]
fn several_readings() {
    let why = |error: QuantityError| match &error {
        QuantityError::AmbiguousUnit { nearest, .. } => (error.to_string(), *nearest),
        _ => panic!("{error}"),
    };
    for (text, both, likely) in [
        ("1Kbps", ["kB/s", "kbit/s"], "kbit/s"),
        ("1mbps", ["MB/s", "Mbit/s"], "Mbit/s"),
        ("1gbps", ["GB/s", "Gbit/s"], "Gbit/s"),
        ("10M", ["MB/s", "Mbit/s"], "Mbit/s"),
    ] {
        let (message, nearest) = why(parse_rate(text).unwrap_err());
        assert!(both.iter().all(|unit| message.contains(unit)), "{message}");
        assert!(message.contains("ambiguous") && nearest == likely, "{message}");
    }
    for (text, both, likely) in [
        ("1k", ["KiB", "kB"], "kB"),
        ("1kb", ["KiB", "kB"], "kB"),
        ("1KB", ["KiB", "kB"], "kB"),
        ("4Mb", ["MiB", "MB"], "MB"),
        ("4m", ["MiB", "MB"], "MB"),
        ("1gb", ["GiB", "GB"], "GB"),
        ("1kbit", ["kB", "KiB"], "kB"),
    ] {
        for error in [parse_size(text).unwrap_err(), parse_queue(text).unwrap_err()] {
            let (message, nearest) = why(error);
            assert!(both.iter().all(|unit| message.contains(unit)), "{message}");
            assert_eq!(nearest, likely, "{message}");
        }
    }
    let (message, _) = why(parse_duration("5m").unwrap_err());
    assert!(message.contains("minutes") && message.contains("milliseconds"), "{message}");
}

proptest! {
    #[test]
    fn what_is_formatted_parses_back(n in any::<u64>(), shift in 0u32..64) {
        let n = n >> shift;
        let d = Duration::from_nanos(n / TICKS_PER_NANO);
        prop_assert_eq!(parse_duration(&format_duration(d)), Ok(d));
        prop_assert_eq!(parse_size(&format_size(Bytes(n))), Ok(Bytes(n)));
        if let Some(r) = Rate::from_bps(n) {
            prop_assert_eq!(parse_rate(&format_rate(r)), Ok(r));
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC*|[0-9.eE+-]{0,60} ?[a-zA-Zµ/]{0,8}") {
        let _ = (parse_duration(&text), parse_rate(&text), parse_size(&text), parse_queue(&text));
        let _ = parse_frequency(&text);
    }
}
