//! Many scripts at once: what is expected of each, and the page that shows what came of them.

use crate::run::{run, Compared, Failure, Verdict};
use penstock_units::param::Profile;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

/// A script, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its collection, and its path there.
    pub name: String,
    /// What came of it.
    pub verdict: Verdict,
}

/// Runs every script below a folder. Their names begin with `collection`.
///
/// # Errors
/// If the folder cannot be read.
pub fn judge(collection: &str, folder: &Path, profile: Profile) -> io::Result<Vec<Row>> {
    let mut paths = Vec::new();
    walk(folder, &mut paths)?;
    let mut rows = Vec::new();
    for path in paths {
        let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        let inner = path.strip_prefix(folder).unwrap_or(&path);
        let inner: Vec<_> = inner.iter().map(|part| part.to_string_lossy()).collect();
        let name = format!("{collection}/{}", inner.join("/"));
        rows.push(Row { name, verdict: run(&text, profile) });
    }
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(rows)
}

fn walk(folder: &Path, paths: &mut Vec<std::path::PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            walk(&path, paths)?;
        } else if path.extension().is_some_and(|end| end == "pkt") {
            paths.push(path);
        }
    }
    Ok(())
}

/// What is expected of scripts, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected(BTreeMap<String, Outcome>);

/// What is expected of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Passes,
    /// It fails, for this cause.
    Fails(String),
}

impl Expected {
    /// Reads a list: lines `pass NAME` or `fail NAME CAUSE`.
    ///
    /// # Errors
    /// The first line that is neither.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut expected = BTreeMap::new();
        for line in text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
            let mut words = line.splitn(3, ' ');
            let outcome = match (words.next(), words.next(), words.next()) {
                (Some("pass"), Some(name), None) => (name, Outcome::Passes),
                (Some("fail"), Some(name), Some(cause)) => (name, Outcome::Fails(cause.into())),
                _ => return Err(format!("neither `pass NAME` nor `fail NAME CAUSE`: {line}")),
            };
            if expected.insert(outcome.0.to_string(), outcome.1).is_some() {
                return Err(format!("twice on the list: {line}"));
            }
        }
        Ok(Expected(expected))
    }

    /// Returns the names of the scripts that have to pass.
    pub fn passing(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, o)| **o == Outcome::Passes).map(|(name, _)| name.as_str())
    }

    /// Returns the names of the scripts that fail for a known cause.
    pub fn failing(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, o)| **o != Outcome::Passes).map(|(name, _)| name.as_str())
    }

    /// Returns what is not as it should be, a line each. Scripts of a collection that was not run
    /// are left out.
    pub fn surprises(&self, rows: &[Row]) -> Vec<String> {
        let mut surprises = Vec::new();
        for row in rows {
            let name = &row.name;
            let surprise = match (self.0.get(name), &row.verdict) {
                (Some(Outcome::Passes), Verdict::Passed(_))
                | (Some(Outcome::Fails(_)), Verdict::Failed(_))
                | (None, Verdict::Refused { .. }) => continue,
                (Some(Outcome::Passes), verdict) => format!("has to pass: {}", say(verdict)),
                (Some(Outcome::Fails(_)), Verdict::Passed(_)) => "passes now".to_string(),
                (None, Verdict::Passed(_)) => "passes, and is not on the list".to_string(),
                (None, Verdict::Failed(_)) => {
                    format!("fails without a cause: {}", say(&row.verdict))
                }
                (Some(Outcome::Fails(_)), Verdict::Refused { .. }) => {
                    "cannot be run now".to_string()
                }
            };
            surprises.push(format!("{name}: {surprise}"));
        }
        let collection = |name: &str| name.split('/').next().map(str::to_string);
        let ran = |name: &&String| rows.iter().any(|row| collection(&row.name) == collection(name));
        for name in self.0.keys().filter(ran) {
            if rows.iter().all(|row| row.name != *name) {
                surprises.push(format!("{name}: is not there"));
            }
        }
        surprises
    }
}

/// Says what came of a script, in a line.
pub fn say(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Passed(passed) => {
            let mut text = format!("passes, {} checks", passed.checks);
            if passed.off.as_nanos() > 0 {
                let _ = write!(text, ", at most {:.1} ms off", passed.off.as_secs_f64() * 1e3);
            }
            if let Some(line) = passed.stopped {
                let _ = write!(text, ", up to the closing on line {line}");
            }
            text
        }
        Verdict::Failed(Failure { line, expected, got, .. }) => {
            format!("fails on line {line}: expected {expected}; got {got}")
        }
        Verdict::Refused { line, reason } => format!("not expressible, line {line}: {reason}"),
    }
}

/// Returns the page: a row a script. Assertions are not quoted.
pub fn page(rows: &[Row], expected: &Expected, profile: Profile) -> String {
    let of = |what: fn(&Verdict) -> bool| -> Vec<&Row> {
        rows.iter().filter(|row| what(&row.verdict)).collect()
    };
    let passed = of(|v| matches!(v, Verdict::Passed(_)));
    let failed = of(|v| matches!(v, Verdict::Failed(_)));
    let refused = of(|v| matches!(v, Verdict::Refused { .. }));
    let mut distinct: Vec<String> = passed.iter().map(|row| same(&row.name)).collect();
    distinct.sort();
    distinct.dedup();

    let mut page = String::from(HEAD);
    let _ = writeln!(page, "The host has `profile = \"{}\"`.\n", profile.word());
    let _ = writeln!(page, "| collection | scripts | pass | fail | not expressible |");
    let _ = writeln!(page, "| --- | ---: | ---: | ---: | ---: |");
    for collection in ["google", "kernel"] {
        let count = |rows: &[&Row]| {
            rows.iter().filter(|row| row.name.split('/').next() == Some(collection)).count()
        };
        let counts = [count(&passed), count(&failed), count(&refused)];
        let all: usize = counts.iter().sum();
        if all > 0 {
            let [pass, fail, not] = counts;
            let _ = writeln!(page, "| {collection} | {all} | {pass} | {fail} | {not} |");
        }
    }
    let _ = writeln!(page, "\n{} distinct scripts pass.\n", distinct.len());
    if !failed.is_empty() {
        page += "## Scripts that fail\n\nThe cause of each was looked at.\n\n";
        page += "| script | what differs | cause |\n| --- | --- | --- |\n";
        for row in &failed {
            let Verdict::Failed(failure) = &row.verdict else { continue };
            let cause = match expected.0.get(&row.name) {
                Some(Outcome::Fails(cause)) => cause.as_str(),
                _ => "not looked at",
            };
            let _ = writeln!(page, "| `{}` | {} | {cause} |", row.name, differs(failure));
        }
        page.push('\n');
    }
    page += "## Scripts that pass\n\n| script | compared | off by at most | |\n";
    page += "| --- | ---: | ---: | --- |\n";
    for row in &passed {
        let Verdict::Passed(passed) = &row.verdict else { continue };
        let off = passed.off.as_secs_f64() * 1e3;
        let until = passed.stopped.map_or(String::new(), |line| format!("up to line {line}"));
        let _ = writeln!(page, "| `{}` | {} | {off:.1} ms | {until} |", row.name, passed.checks);
    }
    page += "\n## Scripts that cannot be expressed\n\n| script | line | reason |\n";
    page += "| --- | ---: | --- |\n";
    for row in &refused {
        let Verdict::Refused { line, reason } = &row.verdict else { continue };
        let reason = reason.replace('|', "\\|");
        let _ = writeln!(page, "| `{}` | {line} | {reason} |", row.name);
    }
    page
}

/// Says what differs, without the words of the script.
fn differs(f: &Failure) -> String {
    match f.of {
        Compared::Assertion => format!("line {}, an assertion: {}", f.line, f.got),
        Compared::Packet | Compared::Time => {
            format!("line {}: {} instead of {}", f.line, f.got, f.expected)
        }
    }
}

/// Returns what the two collections call a script alike: the kernel's has the folder in its name.
fn same(name: &str) -> String {
    name.replace('/', "_").trim_start_matches("google_").trim_start_matches("kernel_").to_string()
}

const HEAD: &str = "\
# Linux's own scripts

<!-- Made by `make packetdrill`; edits are lost. -->

[packetdrill](https://github.com/google/packetdrill) is how Linux's developers test its TCP. A
script says which packets arrive at a host, which have to leave it, and when, and what the host has
to believe of its connection in between. Nobody of Penstock wrote these scripts. Here they are run
against Penstock's own sender and receiver, in virtual time.

## How to run them

The scripts are under the GPL and are no part of Penstock. Get them, then:

```sh
git clone https://github.com/google/packetdrill ../packetdrill
make packetdrill PACKETDRILL=../packetdrill
```

The kernel's own scripts are in its folder `tools/testing/selftests/net/packetdrill`; the tables
below are of Linux 7.3's, from Debian's package `linux-source-7.3`. With `KERNEL=` and that folder
they are run as well. The run fails if a script of `crates/packetdrill/scripts.txt` does not do what
that list says of it.

To run one script, perhaps your own, and see every packet:

```sh
cargo run -p penstock-packetdrill -- --trace my-script.pkt
```

The scripts in `crates/packetdrill/tests/scripts` are Penstock's own, and show the language. They
are run by `cargo test -p penstock-packetdrill`.

## What is compared

- **Packets.** Each packet that a script expects has to be the next that the host sends: its bytes,
  its ECN bits and code point, the blocks of an ACK. A packet of several segments is a run of single
  ones. PSH, the window field, timestamps, and a SYN's options but AccECN's are not compared.
- **Times.** A packet has to leave within packetdrill's own tolerance, 4 ms or an eighth of the time
  since the last event, or what the script states. The tables say by how much it missed.
- **Assertions** about the window, the threshold, the state, and the counts of segments.

A script starts from the settings that its first lines make, which most often are those of the
scripts' `defaults.sh`: CUBIC, SACK, no ECN, no restart after idling. A run stops where a connection
begins to close, since Penstock's connections have no end. What the model does not have at all, such
as Fast Open, timestamps on data, or the socket calls of applications, makes a script \"not
expressible\": it is not run.

## Result

";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Passed;
    use penstock_units::Duration;

    fn rows() -> Vec<Row> {
        let passed = Verdict::Passed(Passed { checks: 3, off: Duration::ZERO, stopped: Some(9) });
        let failed = Verdict::Failed(Failure {
            line: 7,
            of: Compared::Assertion,
            expected: "secret == 1".into(),
            got: "secret = 2".into(),
        });
        let refused = Verdict::Refused { line: 2, reason: "data | SYN".into() };
        [
            ("google/tcp/a/one.pkt", passed.clone()),
            ("google/tcp/a/two.pkt", failed),
            ("google/tcp/b/three.pkt", refused),
            ("kernel/tcp_a_one.pkt", passed),
        ]
        .into_iter()
        .map(|(name, verdict)| Row { name: name.into(), verdict })
        .collect()
    }

    #[test]
    fn a_page_has_a_row_a_script_and_no_words_of_it() {
        let expected = Expected::read("fail google/tcp/a/two.pkt it is old").expect("a list");
        let page = page(&rows(), &expected, Profile::Linux);
        for part in [
            "| google | 3 | 1 | 1 | 1 |",
            "\n1 distinct scripts pass.",
            "| `google/tcp/a/two.pkt` | line 7, an assertion: secret = 2 | it is old |",
            "| `google/tcp/b/three.pkt` | 2 | data \\| SYN |",
            "| `kernel/tcp_a_one.pkt` | 3 | 0.0 ms | up to line 9 |",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
        assert!(!page.contains("secret == 1"));
    }

    #[test]
    fn what_is_not_as_listed_is_said() {
        let list = "# a comment\npass google/tcp/a/one.pkt\nfail google/tcp/a/two.pkt it is old\n";
        let all = format!("{list}pass kernel/tcp_a_one.pkt");
        let surprises = |list: &str| Expected::read(list).expect("a list").surprises(&rows());
        assert_eq!(surprises(&all), [""; 0]);
        assert_eq!(surprises(list), ["kernel/tcp_a_one.pkt: passes, and is not on the list"]);
        let wrong =
            all.replace("fail google/tcp/a/two.pkt it is old", "pass google/tcp/a/gone.pkt");
        let wrong = surprises(&wrong);
        assert!(wrong[0].contains("two.pkt: fails without a cause"), "{wrong:?}");
        assert_eq!(wrong[1], "google/tcp/a/gone.pkt: is not there");
        let wrong = surprises(&format!("{all}\npass google/tcp/b/three.pkt\npass other/x.pkt"));
        assert_eq!(wrong.len(), 1, "a collection that was not run: {wrong:?}");
        for bad in ["pass", "fail a", "pass a\npass a", "good a"] {
            assert!(Expected::read(bad).is_err(), "{bad}");
        }
    }
}
