//! What a script's shell commands set, and the host that follows from that.

use penstock_tcp::{TcpParams, PARAMS, VARIANTS};
use penstock_units::param::{Profile, Values};
use std::collections::BTreeMap;

/// The values that sysctls have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    sysctls: BTreeMap<String, String>,
    /// The congestion control that the socket asked for.
    pub control: Option<String>,
    /// The host's queue paces: `fq`.
    paces: bool,
}

/// The sysctls that say what the model does, with the kernel's own values.
const KERNEL: &[(&str, &str)] = &[
    ("tcp_congestion_control", "cubic"),
    ("tcp_early_retrans", "3"),
    ("tcp_ecn", "2"),
    ("tcp_ecn_fallback", "1"),
    ("tcp_ecn_option", "2"),
    ("tcp_sack", "1"),
    ("tcp_slow_start_after_idle", "1"),
    ("tcp_timestamps", "1"),
];

/// What the scripts' `defaults.sh` sets of these.
const DEFAULTS_SH: &[(&str, &str)] =
    &[("tcp_early_retrans", "4"), ("tcp_ecn", "0"), ("tcp_slow_start_after_idle", "0")];

/// Sysctls whose values the model has fixed, as nearly every host has them.
const FIXED: &[(&str, &[&str])] = &[
    ("tcp_dsack", &["1"]),
    ("tcp_frto", &["2"]),
    ("tcp_pacing_ca_ratio", &["120"]),
    ("tcp_pacing_ss_ratio", &["200"]),
    ("tcp_recovery", &["1"]),
    ("tcp_reordering", &["3"]),
];

/// Sysctls of which nothing in these scripts depends that the model can show: buffers beyond the
/// scripts' few segments, the sizes of aggregates, what is kept between connections, options of a
/// SYN that are not compared, how often a SYN is tried.
const NO_MATTER: &[&str] = &[
    "tcp_fack",
    "tcp_min_tso_segs",
    "tcp_no_metrics_save",
    "tcp_notsent_lowat",
    "tcp_rmem",
    "tcp_syn_retries",
    "tcp_synack_retries",
    "tcp_syncookies",
    "tcp_tso_win_divisor",
    "tcp_window_scaling",
    "tcp_wmem",
];

/// The room that AccECN's option takes in a segment.
const OPTION: u64 = 12;

impl Default for Settings {
    fn default() -> Self {
        let mut settings = Settings { sysctls: BTreeMap::new(), control: None, paces: false };
        settings.take(KERNEL);
        settings
    }
}

impl Settings {
    fn take(&mut self, values: &[(&str, &str)]) {
        for (name, value) in values {
            self.sysctls.insert((*name).to_string(), (*value).to_string());
        }
    }

    fn get(&self, name: &str) -> &str {
        self.sysctls.get(name).map_or("", String::as_str)
    }

    /// Takes in the shell commands of a script.
    ///
    /// # Errors
    /// The one that means nothing here.
    pub fn commands(&mut self, text: &str) -> Result<(), String> {
        for line in text.replace("\\\n", " ").split(['\n', ';']) {
            let line = line.split('#').next().unwrap_or("").trim();
            let mut words = line.split_whitespace();
            let Some(program) = words.next() else { continue };
            let words: Vec<&str> = words.collect();
            self.command(program.rsplit('/').next().unwrap_or(program), &words)?;
        }
        Ok(())
    }

    fn command(&mut self, program: &str, words: &[&str]) -> Result<(), String> {
        match (program, words) {
            ("defaults.sh", _) => self.take(DEFAULTS_SH),
            ("sysctl" | "set_sysctls.py", words) => {
                for word in words.iter().filter(|word| word.contains('=')) {
                    self.sysctl(word)?;
                }
            }
            ("echo", [value, ">", to]) => {
                let name = to.rsplit('/').next().unwrap_or(to);
                match name {
                    "hystart_detect" if *value == "3" => {}
                    _ => return Err(format!("the setting {name} = {value}")),
                }
            }
            ("tc", words) if words.contains(&"limit") => {
                return Err("a transmission that fails at the host".to_string());
            }
            ("tc", words) => match words.last() {
                Some(&"fq") => self.paces = true,
                Some(&"pfifo") => self.paces = false,
                _ => return Err("a queue at the host that is neither fq nor pfifo".to_string()),
            },
            ("ip", ["tcp_metrics", ..]) | ("true", _) => {}
            (program, _) if program.starts_with("sysctl_restore_") => {}
            (program, _) => return Err(format!("the command {program}")),
        }
        Ok(())
    }

    /// Takes in `net.ipv4.name=value`, in any of its spellings.
    fn sysctl(&mut self, word: &str) -> Result<(), String> {
        let (path, value) = word.split_once('=').unwrap_or((word, ""));
        let name = path.rsplit(['/', '.']).next().unwrap_or(path);
        let value = value.trim_matches(['"', '\'']);
        if NO_MATTER.contains(&name) {
            return Ok(());
        }
        if let Some((_, values)) = FIXED.iter().find(|(fixed, _)| *fixed == name) {
            if values.contains(&value) {
                return Ok(());
            }
        } else if KERNEL.iter().any(|(known, _)| *known == name) {
            self.take(&[(name, value)]);
            return Ok(());
        }
        Err(format!("the sysctl {name} = {value}"))
    }

    /// Whether the host asks for selective acknowledgements, or grants them.
    pub fn sack(&self) -> bool {
        self.get("tcp_sack") != "0"
    }

    /// Returns the host that the settings make.
    ///
    /// # Errors
    /// What the model does not have.
    pub fn host(&self, profile: Profile, peer: &Peer) -> Result<TcpParams, String> {
        let control = self.control.as_deref().unwrap_or(self.get("tcp_congestion_control"));
        let linux = profile == Profile::Linux;
        let name = match (control, peer.sack) {
            ("reno", _) if linux => "reno",
            ("reno", false) => "newreno",
            ("reno", true) => "sack",
            (control, _) => control,
        };
        let variant = VARIANTS.iter().find(|variant| variant.name == name);
        let variant = variant.ok_or_else(|| format!("the congestion control {control}"))?;
        let mut host = Host { values: Values::defaults(&[PARAMS], &variant.defaults, profile) };
        host.values.put("tcp", &variant);

        host.set("initial_window", "10")?;
        if !peer.sack {
            host.set("recovery", "\"newreno\"")?;
        }
        // 2 is classic for whom is asked, 4 asks for classic and grants AccECN, 5 only grants it.
        let ecn = match (self.get("tcp_ecn"), peer.asks_first) {
            ("0", _) | ("2" | "5", false) => "\"off\"",
            ("1", _) | ("2", true) | ("4", false) => "\"classic\"",
            ("3", _) | ("4" | "5", true) => "\"accecn\"",
            (value, _) => return Err(format!("the sysctl tcp_ecn = {value}")),
        };
        let mut segment = peer.segment;
        if ecn == "\"accecn\"" {
            if peer.counts && self.get("tcp_ecn_option") != "0" {
                segment = segment.saturating_sub(OPTION).max(1);
            }
            let on = |name| if self.get(name) == "0" { "false" } else { "true" };
            host.set("accecn_option", on("tcp_ecn_option"))?;
            host.set("ecn_fallback", on("tcp_ecn_fallback"))?;
            host.set("ace", "\"linux\"")?;
            host.set("ect_on", "\"established\"")?;
        }
        host.set("segment", &format!("\"{segment} B\""))?;
        host.set("ecn", ecn)?;
        if self.paces {
            host.set("pacing", "\"fq\"")?;
        }
        if linux {
            // What ACKs return is not read (`plan.rs`): round trips are those of the record.
            host.set("timestamps", "false")?;
            let on = |value: &str| if value == "0" { "false" } else { "true" };
            // Linux tries a SYN a second apart at first, and the answer to one not.
            if peer.asks_first {
                host.set("linear_syns", "0")?;
            }
            host.set("tlp", on(self.get("tcp_early_retrans")))?;
            host.set("idle_restart", on(self.get("tcp_slow_start_after_idle")))?;
        }
        TcpParams::from_values(&host.values).map_err(|e| format!("these settings together: {e}"))
    }
}

/// The values of a host's keys.
struct Host {
    values: Values,
}

impl Host {
    fn set(&mut self, key: &str, literal: &str) -> Result<(), String> {
        let param = PARAMS.iter().find(|param| param.name == key);
        let value = param.and_then(|param| Some((param.name, param.ty.literal(literal)?)));
        let (name, value) = value.ok_or_else(|| format!("a host with {key} = {literal}"))?;
        self.values.set(name, value);
        Ok(())
    }
}

/// What the two SYNs of a script settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Selective acknowledgements.
    pub sack: bool,
    /// Payload of a full segment that the host sends, in bytes.
    pub segment: u64,
    /// Windows that arrive count in two to the power of this.
    pub scale: u32,
    /// The peer opens the connection.
    pub asks_first: bool,
    /// Payload of the segments that it sends, in bytes, if all are alike.
    pub inbound: Option<u64>,
    /// It sends AccECN's option.
    pub counts: bool,
}
