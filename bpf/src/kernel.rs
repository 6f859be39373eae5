//! Puts a discipline on a device's egress, shows it, changes it and takes it away. The program is in
//! `aqm.bpf.c`; `penstock kernel` computes what it is told, and reads what comes back.
//!
//! What is loaded has one name in the BPF file system, its link's. The kernel keeps all else for as
//! long as the link: so a load that is cut short leaves nothing, and one file removed leaves nothing.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::mem::{offset_of, MaybeUninit};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use libbpf_rs::query::{LinkTypeInfo, ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, OpenObject, PrintLevel};
use nix::mount::MsFlags;
use nix::sys::statfs::{statfs, BPF_FS_MAGIC};
use nix::time::{clock_gettime, ClockId};
use serde_json::{json, Map, Value};

#[allow(missing_docs, unsafe_code, clippy::all)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/aqm.skel.rs"));
}
include!(concat!(env!("OUT_DIR"), "/fields.rs"));
mod machine;
mod tcx;

use machine::{device_index, Facts, Failure};
use skel::{types, AqmSkel, AqmSkelBuilder};

const BPF_FS: &str = "/sys/fs/bpf";
/// Bytes that the scenario may take, with an end.
const TEXT: usize = size_of::<types::rodata>() - offset_of!(types::rodata, scenario);
/// Where the state begins in the map's value, behind the lock.
const STATE_AT: usize = offset_of!(types::virtual_queue, state);

/// A discipline at a device's egress. `penstock kernel` calls it.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Also print what libbpf and the kernel's verifier have to say, on standard error.
    #[arg(long, global = true)]
    verbose: bool,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Only say whether this machine can run it; if not, why, with exit status 3.
    Check,
    /// Load the words and the scenario of a document on standard input, where nothing is loaded.
    Load { device: String },
    /// Replace what is loaded by such a document; the state stays.
    Set { device: String },
    /// Print what is loaded and its state, as JSON.
    Show { device: String },
    /// Remove it.
    Unload { device: String },
}

fn main() -> ExitCode {
    let options = Options::parse();
    libbpf_rs::set_print(
        options.verbose.then_some((PrintLevel::Info, |_, line| eprint!("{line}"))),
    );
    match run(&options.what) {
        Ok(said) => match writeln!(std::io::stdout(), "{said}") {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(failure) => {
            eprintln!("penstock-kernel: {failure}");
            ExitCode::from(failure.status())
        }
    }
}

fn run(what: &What) -> Result<Value, Failure> {
    Facts::here().missing(false)?;
    let mut storage = MaybeUninit::uninit();
    match what {
        What::Check => {
            program(&mut storage, &Told::nothing(), None)?;
            Ok(json!({ "can": true }))
        }
        What::Load { device } => {
            let index = device_index(device)?;
            let told = Told::read()?;
            let pin = pin(device)?;
            if Loaded::on(device, index, &pin)?.is_some() {
                return Err(Failure::Input(format!("{device} has a discipline already")));
            }
            let aqm = program(&mut storage, &told, None)?;
            let folder = pin.parent().expect("a name has a folder");
            std::fs::create_dir_all(folder)
                .map_err(|e| Failure::Other(format!("{}: {e}", folder.display())))?;
            let mut link = tcx::attach(&aqm.progs.egress, index).map_err(|e| {
                Failure::Missing(format!("the kernel refuses a tcx program on {device}: {e}"))
            })?;
            link.pin(&pin).map_err(|e| Failure::Other(format!("{}: {e}", pin.display())))?;
            Ok(json!({ "pinned": pin }))
        }
        What::Set { device } => {
            let (mut loaded, _) = Loaded::there(device)?;
            let aqm = program(&mut storage, &Told::read()?, Some(&loaded))?;
            loaded.link.update_prog(&aqm.progs.egress).map_err(|e| Failure::refused(&e))?;
            Ok(json!({}))
        }
        What::Show { device } => Loaded::there(device)?.0.show(),
        What::Unload { device } => {
            let (loaded, pin) = Loaded::there(device)?;
            // What is cut short here leaves a name without a device, which the next load removes.
            loaded.link.detach().map_err(|e| Failure::Other(format!("cannot detach: {e}")))?;
            std::fs::remove_file(&pin)
                .map_err(|e| Failure::Other(format!("{}: {e}", pin.display())))?;
            // The folders, too, if it was the last in them.
            for folder in pin.ancestors().skip(1).take(2) {
                let _ = std::fs::remove_dir(folder);
            }
            Ok(json!({}))
        }
    }
}

/// What a program is told: its words, and the scenario that they come from.
struct Told {
    words: [u64; WORDS.len()],
    scenario: String,
}

impl Told {
    fn nothing() -> Self {
        Told { words: [0; WORDS.len()], scenario: String::new() }
    }

    /// From standard input.
    fn read() -> Result<Self, Failure> {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|e| Failure::Other(format!("standard input: {e}")))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = |what: String| Failure::Input(format!("standard input: {what}"));
        let document: Value = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
        let words: BTreeMap<String, u64> = serde_json::from_value(document["words"].clone())
            .map_err(|e| wrong(format!("words: {e}")))?;
        if let Some(unknown) = words.keys().find(|name| !WORDS.contains(&name.as_str())) {
            return Err(wrong(format!("words: {unknown:?} is none of this version's")));
        }
        let mut told = Self::nothing();
        for (name, word) in WORDS.iter().zip(&mut told.words) {
            *word = words.get(*name).copied().unwrap_or_default();
        }
        told.scenario = document["scenario"].as_str().unwrap_or_default().to_owned();
        if told.scenario.len() >= TEXT {
            return Err(wrong(format!("the scenario must be shorter than {TEXT} B")));
        }
        Ok(told)
    }
}

/// The program, loaded and attached to nothing, with a state of its own or that of another.
fn program<'a>(
    storage: &'a mut MaybeUninit<OpenObject>,
    told: &Told,
    before: Option<&Loaded>,
) -> Result<AqmSkel<'a>, Failure> {
    let refused = |e: libbpf_rs::Error| Failure::refused(&e);
    let mut open = AqmSkelBuilder::default().open(storage).map_err(refused)?;
    let rodata = open.maps.rodata_data.as_mut().expect("the object has constants");
    rodata.words = told.words;
    for (to, from) in rodata.scenario.iter_mut().zip(told.scenario.bytes()) {
        *to = from as _;
    }
    if let Some(before) = before {
        open.maps.queue.reuse_fd(before.queue.as_fd()).map_err(refused)?;
        open.maps.ring.reuse_fd(before.ring.as_fd()).map_err(refused)?;
    }
    open.load().map_err(refused)
}

/// What a device has.
struct Loaded {
    link: Link,
    queue: MapHandle,
    ring: MapHandle,
    constants: MapHandle,
}

impl Loaded {
    /// What a device has, and its name; an error where it has nothing.
    fn there(device: &str) -> Result<(Self, PathBuf), Failure> {
        let pin = pin(device)?;
        let loaded = Self::on(device, device_index(device)?, &pin)?;
        let loaded = loaded.ok_or_else(|| Failure::Input(format!("{device} has no discipline")))?;
        Ok((loaded, pin))
    }

    /// What the device with this name and index has. A name whose device has gone is removed.
    fn on(device: &str, index: u32, pin: &Path) -> Result<Option<Self>, Failure> {
        if !pin.exists() {
            return Ok(None);
        }
        let other = |e: &dyn std::fmt::Display| Failure::Other(format!("{}: {e}", pin.display()));
        let link = Link::open(pin).map_err(|e| other(&e))?;
        let info = link.info().map_err(|e| other(&e))?;
        match info.info {
            LinkTypeInfo::Tcx(at) if at.ifindex == index => {}
            LinkTypeInfo::Tcx(at) if at.ifindex == 0 => {
                std::fs::remove_file(pin).map_err(|e| other(&e))?;
                return Ok(None);
            }
            _ => {
                let where_ = "is the link of another device; remove it to detach that";
                return Err(Failure::Input(format!("{device}: {} {where_}", pin.display())));
            }
        }
        let id = info.prog_id;
        let program =
            ProgInfoIter::with_query_opts(ProgInfoQueryOptions::default().include_map_ids(true))
                .find(|program| program.id == id)
                .ok_or_else(|| other(&"its program has gone"))?;
        let [mut queue, mut ring, mut constants] = [None, None, None];
        for id in program.map_ids {
            let map = MapHandle::from_map_id(id).map_err(|e| other(&e))?;
            let place = match map.name().to_str() {
                Some("queue") => &mut queue,
                Some("ring") => &mut ring,
                Some(name) if name.ends_with(".rodata") => &mut constants,
                _ => continue,
            };
            *place = Some(map);
        }
        let same =
            |map: Option<MapHandle>, size: usize| map.filter(|m| m.value_size() as usize == size);
        match (
            same(queue, size_of::<types::virtual_queue>()),
            same(ring, size_of::<types::ring>()),
            same(constants, size_of::<types::rodata>()),
        ) {
            (Some(queue), Some(ring), Some(constants)) => {
                Ok(Some(Loaded { link, queue, ring, constants }))
            }
            _ => Err(Failure::Input(format!(
                "{device} has the discipline of another version; remove {} to detach it",
                pin.display()
            ))),
        }
    }

    /// The words, the scenario and the state, by name.
    fn show(&self) -> Result<Value, Failure> {
        let read = |map: &MapHandle, flags| {
            let value = map.lookup(&0u32.to_ne_bytes(), flags);
            value.ok().flatten().ok_or_else(|| Failure::Other("cannot read the maps".into()))
        };
        let constants = read(&self.constants, MapFlags::ANY)?;
        let text = &constants[offset_of!(types::rodata, scenario)..];
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC)
            .map_err(|e| Failure::Other(format!("no clock: {e}")))?;
        Ok(json!({
            "scenario": String::from_utf8_lossy(text),
            "words": named(&WORDS, &constants[offset_of!(types::rodata, words)..]),
            "state": named(&STATE, &read(&self.queue, MapFlags::LOCK)?[STATE_AT..]),
            "now_ns": now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64,
        }))
    }
}

fn named(names: &[&str], bytes: &[u8]) -> Map<String, Value> {
    let words = bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("8")));
    names.iter().map(|name| (*name).to_owned()).zip(words.map(Value::from)).collect()
}

/// The name of a device's link: of each network namespace, its number's folder. Names survive in
/// the machine's own mount namespace only.
fn pin(device: &str) -> Result<PathBuf, Failure> {
    let other = |what: &str, e: &dyn std::fmt::Display| Failure::Other(format!("{what}: {e}"));
    if !statfs(BPF_FS).is_ok_and(|fs| fs.filesystem_type() == BPF_FS_MAGIC) {
        let of = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
        if of("1").is_some_and(|first| of("self") != Some(first)) {
            return Err(Failure::Missing(format!(
                "no BPF file system at {BPF_FS}, and this mount namespace is not the machine's (`ip netns exec` \
                 makes one): nsenter --net=/run/netns/NAME instead"
            )));
        }
        nix::mount::mount(Some("bpf"), BPF_FS, Some("bpf"), MsFlags::empty(), None::<&str>)
            .map_err(|e| Failure::Missing(format!("no BPF file system at {BPF_FS}: {e}")))?;
    }
    let namespace = std::fs::metadata("/proc/self/ns/net").map_err(|e| other("/proc", &e))?;
    let number = std::os::unix::fs::MetadataExt::ino(&namespace);
    let folder = Path::new(BPF_FS).join("penstock").join(number.to_string());
    // A dot is no letter of the BPF file system's names.
    Ok(folder.join(device.replace('.', "_")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn options_are_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn fields_are_those_of_the_program() {
        assert_eq!(offset_of!(types::rodata, scenario), 8 * WORDS.len());
        assert_eq!(size_of::<types::state>(), 8 * STATE.len());
        assert_eq!((WORDS[0], STATE[0]), ("generation", "generation"));
        assert!(WORDS.contains(&"min_th_3") && STATE.contains(&"drops_early"));
    }

    #[test]
    fn words_are_told_by_name() {
        let document = |words: Value| json!({ "words": words, "scenario": "x" }).to_string();
        let told = Told::parse(&document(json!({ "mean_packet": 7 }))).unwrap();
        assert_eq!((told.words[2..4].to_vec(), told.scenario.as_str()), (vec![0, 7], "x"));
        let error = Told::parse(&document(json!({ "nothing": 1 }))).err().unwrap().to_string();
        assert!(error.contains("\"nothing\""), "{error}");
    }
}
