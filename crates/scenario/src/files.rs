//! Files that a scenario names: mahimahi traces, packets to replay, distributions. They are read
//! together with the scenario, so that a mistake in one is a mistake in the scenario. A hash
//! identifies their content; a resolved scenario has a distribution in itself.

use crate::cdf;
use pcap_file::pcap::PcapParser;
use pcap_file::{PcapError, TsResolution};
use penstock_sim::{Datagram, Trace, MAX_TIME};
use penstock_units::param::Dist;
use penstock_units::{parse_duration, shorten, Duration, Rate};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longer files are refused.
const LONGEST: u64 = 1 << 28;

/// The names that the columns of a CSV file may have; none names another unit.
const TIME: &[&str] = &["t_s", "t", "time_s", "time"];
const SIZE: &[&str] = &["bytes", "size_bytes", "size", "length"];

/// The steps of a rate: when each begins, and at which rate; and when they begin again.
type Steps = (Vec<(Duration, Option<Rate>)>, Duration);

/// The folder of a scenario's files.
pub(crate) struct Files {
    folder: PathBuf,
}

/// A file's content.
pub(crate) struct Content {
    /// Its path, for messages.
    path: String,
    bytes: Vec<u8>,
}

impl Files {
    /// Looks beside this scenario file, or in the working directory.
    pub fn beside(scenario: Option<&str>) -> Self {
        let folder = scenario.and_then(|file| Path::new(file).parent()).map(Path::to_owned);
        Files { folder: folder.unwrap_or_default() }
    }

    /// Reads a file whose content must have this hash, where one is given.
    pub fn read(&self, name: &str, hash: Option<&str>) -> Result<Content, String> {
        let path = self.folder.join(name);
        let fail = |problem: String| format!("{}: {problem}", path.display());
        let plain = |e: std::io::Error| match e.kind() {
            std::io::ErrorKind::NotFound => fail("there is no such file".into()),
            _ => fail(e.to_string()),
        };
        let found = std::fs::metadata(&path).map_err(plain)?;
        if !found.is_file() {
            return Err(fail("is not a file".into()));
        }
        let mut bytes = vec![];
        let file = std::fs::File::open(&path).map_err(plain)?;
        file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(plain)?;
        if bytes.len() as u64 > LONGEST {
            return Err(fail("is longer than 256 MiB".into()));
        }
        let content = Content { path: path.display().to_string(), bytes };
        match hash {
            Some(hash) if hash != content.hash() => {
                Err(fail(format!("has changed: its hash is {}, not {hash}", content.hash())))
            }
            _ => Ok(content),
        }
    }
}

impl Content {
    /// Returns the FNV-1a hash, 64 bit.
    pub fn hash(&self) -> String {
        let step = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
        format!("{:016x}", self.bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
    }

    fn wrong(&self, number: usize, line: &str, problem: &str) -> String {
        format!("{}:{number}: \"{}\": {problem}", self.path, shorten(line))
    }

    /// Returns the lines that are not empty, numbered from 1.
    fn lines(&self) -> Result<impl Iterator<Item = (usize, &str)>, String> {
        let text = std::str::from_utf8(&self.bytes).map_err(|e| {
            let line = 1 + self.bytes[..e.valid_up_to()].iter().filter(|b| **b == b'\n').count();
            format!("{}:{line}: is not text", self.path)
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text); // what spreadsheets put first
        let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
        Ok(lines.filter(|(_, line)| !line.is_empty()))
    }

    /// Reads a mahimahi trace: a line for each opportunity to send, with its time in milliseconds.
    pub fn trace(&self) -> Result<Trace, String> {
        let mut at: Vec<Duration> = vec![];
        for (number, line) in self.lines()? {
            let Some(ms) =
                line.parse::<u64>().ok().filter(|ms| *ms <= MAX_TIME.as_nanos() / 1_000_000)
            else {
                return Err(self.wrong(
                    number,
                    line,
                    "must be a whole number of milliseconds: this is read as a mahimahi trace, a line for each \
                     opportunity to send up to 1500 B; a file with seconds and Mbit/s in each line is \
                     { steps = \"…\" }",
                ));
            };
            let next = Duration::from_millis(ms);
            if at.last().is_some_and(|last| next < *last) {
                return Err(self.wrong(number, line, "must not be below the line before"));
            }
            at.push(next);
        }
        let problem = if at.is_empty() {
            "is empty"
        } else {
            "must end above 0 ms, which is when it begins again"
        };
        Trace::new(at).ok_or_else(|| format!("{}: {problem}", self.path))
    }

    /// Reads steps of a rate: a line for each with seconds and Mbit/s. Returns when each begins,
    /// counted from the first one, with its rate; and when they begin again.
    pub fn steps(&self) -> Result<Steps, String> {
        let mut at: Vec<(f64, Option<Rate>)> = vec![];
        for (number, line) in self.lines()? {
            let separates = |c: char| c.is_whitespace() || c == ',' || c == ';';
            let words = line.split(separates).filter(|word| !word.is_empty());
            let numbers: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
            let possible = |seconds: f64, rate: f64| {
                (0.0..=MAX_TIME.as_secs_f64()).contains(&seconds) && (0.0..=1e9).contains(&rate)
            };
            let (seconds, mbit) = match numbers.as_deref() {
                Some([seconds, mbit]) if possible(*seconds, *mbit) => (*seconds, *mbit),
                _ => {
                    let problem = "must be seconds and Mbit/s, for example \"0.5 4.2\"";
                    return Err(self.wrong(number, line, problem));
                }
            };
            if at.last().is_some_and(|last| seconds <= last.0) {
                return Err(self.wrong(number, line, "must be later than the line before"));
            }
            at.push((seconds, Rate::from_bps((mbit * 1e6).round() as u64)));
        }
        let (Some((first, _)), [.., (before, _), (last, _)]) = (at.first(), &at[..]) else {
            return Err(format!("{}: must have two lines at least", self.path));
        };
        if at.iter().all(|(_, rate)| rate.is_none()) {
            return Err(format!("{}: must have a rate above 0", self.path));
        }
        let since = |t: f64| Duration::from_nanos(((t - first) * 1e9).round() as u64);
        let period = since(last + (last - before));
        Ok((at.iter().map(|(t, rate)| (since(*t), *rate)).collect(), period))
    }

    /// Reads an empirical distribution: a line for each point, with a value and the share of all that
    /// is not above it. ns-2's files have a column between the two, which nothing uses, and count
    /// packets. `as_held` turns a value of the file into the one that the distribution has.
    pub fn distribution(
        &self,
        counts_bytes: bool,
        as_held: impl Fn(f64) -> Option<f64>,
    ) -> Result<Dist, String> {
        const FORM: &str =
            "must be a value and the share of all that is not above it, for example \"10000 0.5\"";
        let (mut points, mut lines) = (vec![], vec![]);
        for (number, line) in self.lines()? {
            let columns: Option<Vec<f64>> =
                line.split_whitespace().map(|word| word.parse().ok()).collect();
            let (value, share) = match columns.as_deref() {
                Some([value, share]) => (*value, *share),
                Some([_, _, _]) if counts_bytes => {
                    return Err(self.wrong(
                        number,
                        line,
                        "three columns are ns-2's, whose first one counts packets: say what one has, \
                         for example packet = \"1460 B\"",
                    ));
                }
                Some([value, _, share]) => (*value, *share),
                _ => return Err(self.wrong(number, line, FORM)),
            };
            let Some(held) = as_held(value).filter(|held| held.is_finite()) else {
                return Err(self.wrong(number, line, "the value is too large"));
            };
            points.push((held, share));
            lines.push((number, line));
        }
        cdf::distribution(points).map_err(|(i, problem)| match lines.get(i) {
            Some((number, line)) => self.wrong(*number, line, &problem),
            None => format!("{}: {problem}", self.path),
        })
    }

    /// Reads datagrams from a capture or a CSV file.
    pub fn datagrams(&self) -> Result<Vec<Datagram>, String> {
        let packets = match self.bytes.first_chunk() {
            // Seconds and micro- or nanoseconds, of either byte order.
            Some(
                [0xa1, 0xb2, 0xc3, 0xd4]
                | [0xd4, 0xc3, 0xb2, 0xa1]
                | [0xa1, 0xb2, 0x3c, 0x4d]
                | [0x4d, 0x3c, 0xb2, 0xa1],
            ) => self.capture(),
            Some([0x0a, 0x0d, 0x0d, 0x0a]) => Err(format!(
                "{}: is a pcapng file; `editcap -F pcap` turns it into a pcap file",
                self.path
            )),
            _ => self.csv(),
        }?;
        if packets.is_empty() {
            return Err(format!("{}: is empty", self.path));
        }
        Ok(packets)
    }

    fn csv(&self) -> Result<Vec<Datagram>, String> {
        let mut packets: Vec<Datagram> = vec![];
        let mut lines = self.lines()?.peekable();
        let fields = |line: &str| line.split(',').map(|f| f.trim().to_owned()).collect::<Vec<_>>();
        let names = |line: &str| match &fields(line)[..] {
            [t, bytes] => TIME.contains(&t.as_str()) && SIZE.contains(&bytes.as_str()),
            _ => false,
        };
        lines.next_if(|(_, line)| names(line));
        for (number, line) in lines {
            let read = match &fields(line)[..] {
                [t, bytes] => parse_duration(&format!("{t} s")).ok().zip(bytes.parse::<u32>().ok()),
                _ => None,
            };
            let Some((at, bytes)) = read.filter(|(at, bytes)| within(*at, u64::from(*bytes)))
            else {
                return Err(self.wrong(
                    number,
                    line,
                    "must be seconds and bytes (1 to 1000000), for example 0.125,1500",
                ));
            };
            if packets.last().is_some_and(|last| at < last.at) {
                return Err(self.wrong(number, line, "must not be earlier than the line before"));
            }
            packets.push(Datagram { at, bytes });
        }
        Ok(packets)
    }

    /// Returns lengths as they were on the wire, and times from the earliest on: captures are not
    /// always in order.
    fn capture(&self) -> Result<Vec<Datagram>, String> {
        let wrong = |n: usize, problem: &str| format!("{}: packet {n}: {problem}", self.path);
        let broken = |e: PcapError| format!("{}: {e}", self.path);
        let (mut rest, parser) = PcapParser::new(&self.bytes).map_err(broken)?;
        let fraction = match parser.header().ts_resolution {
            TsResolution::MicroSecond => 1_000,
            TsResolution::NanoSecond => 1,
        };
        let mut packets = vec![];
        while !rest.is_empty() {
            // Raw: the checked one refuses packets that were longer than what was kept of them.
            let (after, packet) = parser
                .next_raw_packet(rest)
                .map_err(|e| wrong(packets.len() + 1, &e.to_string()))?;
            rest = after;
            let at =
                u64::from(packet.ts_sec) * 1_000_000_000 + u64::from(packet.ts_frac) * fraction;
            packets.push((at, packet.orig_len));
        }
        packets.sort_by_key(|packet| packet.0);
        let first = packets.first().map_or(0, |packet| packet.0);
        let relative = packets.iter().enumerate().map(|(i, (at, bytes))| {
            let at = Duration::from_nanos(at - first);
            if within(at, u64::from(*bytes)) {
                Ok(Datagram { at, bytes: *bytes })
            } else {
                Err(wrong(
                    i + 1,
                    "its length must be 1 to 1000000 B, its time within 5 days of the first",
                ))
            }
        });
        relative.collect()
    }
}

fn within(at: Duration, bytes: u64) -> bool {
    at.as_nanos() <= MAX_TIME.as_nanos() && (1..=1_000_000).contains(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(bytes: &[u8]) -> Content {
        Content { path: "f".into(), bytes: bytes.into() }
    }

    #[test]
    fn hashes_are_fnv_1a() {
        // The algorithm's own test vectors.
        assert_eq!(content(b"").hash(), "cbf29ce484222325");
        assert_eq!(content(b"foobar").hash(), "85944171f73967e8");
    }

    #[test]
    fn traces() {
        let good = content(b"1\n2\n\n2\r\n5").trace().unwrap();
        assert_eq!(good.instants(), [1, 2, 2, 5].map(Duration::from_millis));
        for (text, problem) in [
            (&b""[..], "f: is empty"),
            (b"0\n0\n", "f: must end above 0 ms"),
            (b"1\n3\n2\n", "f:3: \"2\": must not be below the line before"),
            (b"1\n1.5\n", "f:2: \"1.5\": must be a whole number of milliseconds: this is read as a mahimahi trace"),
            (b"-1\n", "f:1: \"-1\": must be a whole number"),
            (b"99999999999999\n", "f:1: \"99999999999999\": must be a whole number"),
            (b"1\n\xff\n", "f:2: is not text"),
        ] {
            let found = content(text).trace().unwrap_err();
            assert!(found.starts_with(problem), "{found}, not {problem}");
        }
    }

    /// The three published forms: shares, percent, and ns-2's packets with a column between.
    #[test]
    fn distributions() {
        let want = Dist::Empirical([(0.0, 0.0), (10_000.0, 0.15), (2e6, 1.0)].into());
        let bytes = |text: &[u8]| content(text).distribution(true, Some);
        assert_eq!(bytes(b"0 0\n10000 0.15\n\n2000000\t1.0\n"), Ok(want.clone()));
        assert_eq!(bytes(b"0 0\n1e4 15\n2000000 100"), Ok(want.clone()));
        let packets = content(b"0 1 0\n10 1 0.15\n2000 1 1\n");
        assert_eq!(packets.distribution(false, |x| Some(x * 1000.0)), Ok(want));
        for (text, problem) in [
            (&b""[..], "f: is empty"),
            (b"0 0\n10 0.5\n", "f:2: \"10 0.5\": the last share must be 1, or 100"),
            (b"0 0\n10 0.5\n5 1\n", "f:3: \"5 1\": the value must not be below the one before"),
            (
                b"0 0\n10 0.5\n20 0.4\n",
                "f:3: \"20 0.4\": the share must not be below the one before (0.5)",
            ),
            (b"-1 0\n1 1\n", "f:1: \"-1 0\": the value must not be below 0"),
            (b"0 -1\n1 1\n", "f:1: \"0 -1\": the share must not be below 0"),
            (b"0 0\nsize 1\n", "f:2: \"size 1\": must be a value and the share of all"),
            (b"0 nan\n1 1\n", "f:1: \"0 nan\": the share must not be below 0"),
            (b"0 0\n0 1\n", "f:2: \"0 1\": the last value must be above 0"),
            (
                b"1 1 0\n",
                "f:1: \"1 1 0\": three columns are ns-2's, whose first one counts packets",
            ),
        ] {
            let found = bytes(text).unwrap_err();
            assert!(found.starts_with(problem), "{found}, not {problem}");
        }
    }

    #[test]
    fn steps() {
        let rate = |mbit: u64| Rate::from_bps(mbit * 1_000_000);
        let want = vec![
            (Duration::ZERO, rate(4)),
            (Duration::from_millis(500), None),
            (Duration::from_millis(1500), rate(2)),
        ];
        for text in
            ["10 4\n10.5 0\n11.5 2\n", "10,4.0\n\n10.5,0\n11.5, 2e0", "10\t4\n10.5\t0\n11.5\t2"]
        {
            let found = content(text.as_bytes()).steps();
            assert_eq!(found, Ok((want.clone(), Duration::from_millis(2500))));
        }
        for (text, problem) in [
            ("", "f: must have two lines at least"),
            ("0 1\n", "f: must have two lines at least"),
            ("0 0\n1 0\n", "f: must have a rate above 0"),
            ("0 1\n0 2\n", "f:2: \"0 2\": must be later than the line before"),
            ("0 1\n1\n", "f:2: \"1\": must be seconds and Mbit/s"),
            ("0 1\n1 -1\n", "f:2: \"1 -1\": must be seconds and Mbit/s"),
            ("0 nan\n1 1\n", "f:1: \"0 nan\": must be seconds and Mbit/s"),
            ("t rate\n0 1\n", "f:1: \"t rate\": must be seconds and Mbit/s"),
        ] {
            let found = content(text.as_bytes()).steps().unwrap_err();
            assert!(found.starts_with(problem), "{found}, not {problem}");
        }
    }

    fn at(ns: u64, bytes: u32) -> Datagram {
        Datagram { at: Duration::from_nanos(ns), bytes }
    }

    #[test]
    fn tables_of_packets() {
        let want = [at(0, 40), at(1_000_001, 1500), at(1_000_001, 1)];
        for text in [
            "t_s, bytes\n0,40\n0.001000001,1500\n1.000001e-3, 1\n",
            "0,40\n\n.001000001,1500\n0.001000001,1",
        ] {
            assert_eq!(content(text.as_bytes()).datagrams().unwrap(), want);
        }
        for (text, problem) in [
            ("", "f: is empty"),
            ("t_s,bytes\n", "f: is empty"),
            ("t_ms,bytes\n1,1\n", "f:1: \"t_ms,bytes\": must be seconds and bytes"),
            ("t_s,bytes\nt_s,bytes\n", "f:2: \"t_s,bytes\": must be seconds and bytes"),
            ("1,100\n0.5,100\n", "f:2: \"0.5,100\": must not be earlier than the line before"),
            ("1,0\n", "f:1: \"1,0\": must be seconds and bytes (1 to 1000000)"),
            ("1,1000001\n", "f:1: \"1,1000001\": must be"),
            ("-1,100\n", "f:1: \"-1,100\": must be"),
            ("1,100,3\n", "f:1: \"1,100,3\": must be"),
            ("1e30,100\n", "f:1: \"1e30,100\": must be"),
        ] {
            let found = content(text.as_bytes()).datagrams().unwrap_err();
            assert!(found.starts_with(problem), "{found}, not {problem}");
        }
    }

    /// A capture by hand: magic, version 2.4, zone, digits, snap length 64, Ethernet; then
    /// (seconds, fraction, captured, original).
    fn capture(little: bool, nano: bool, packets: &[[u32; 3]]) -> Vec<u8> {
        let magic = if nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        let four = |x: u32| if little { x.to_le_bytes() } else { x.to_be_bytes() };
        let version = if little { [2, 0, 4, 0] } else { [0, 2, 0, 4] };
        let mut out = [four(magic), version, four(0), four(0), four(64), four(1)].concat();
        for [s, fraction, length] in packets {
            out.extend([four(*s), four(*fraction), four(2), four(*length)].concat());
            out.extend([7, 7]);
        }
        out
    }

    #[test]
    fn captures() {
        for little in [true, false] {
            let micro = capture(little, false, &[[100, 999_999, 60], [101, 1, 1514], [101, 0, 98]]);
            assert_eq!(
                content(&micro).datagrams().unwrap(),
                [at(0, 60), at(1_000, 98), at(2_000, 1514)]
            );
            let nano = capture(little, true, &[[100, 999_999_999, 60], [101, 1, 1514]]);
            assert_eq!(content(&nano).datagrams().unwrap(), [at(0, 60), at(2, 1514)]);
            assert_eq!(
                content(&capture(little, true, &[])).datagrams().unwrap_err(),
                "f: is empty"
            );
            let cut = &nano[..nano.len() - 1];
            assert!(content(cut).datagrams().unwrap_err().starts_with("f: packet 2: "));
            let none = content(&capture(little, true, &[[0, 0, 0]])).datagrams().unwrap_err();
            assert!(none.starts_with("f: packet 1: its length must be"), "{none}");
        }
        assert!(content(b"\x0a\x0d\x0d\x0a....")
            .datagrams()
            .unwrap_err()
            .contains("is a pcapng file"));
        assert!(content(b"\xa1\xb2\xc3\xd4").datagrams().is_err());
    }

    #[test]
    fn files_that_cannot_be_read() {
        let here = Files::beside(None);
        for (name, hash, problem) in [
            ("no such file", None, "no such file: there is no such file"),
            ("src", None, "src: is not a file"),
            ("Cargo.toml", Some("0"), "Cargo.toml: has changed: its hash is "),
        ] {
            let found = here.read(name, hash).err().unwrap_or_default();
            assert!(found.starts_with(problem), "{found}, not {problem}");
        }
        assert!(Files::beside(Some("src/x.toml")).read("lib.rs", None).is_ok());
    }
}
