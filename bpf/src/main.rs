//! Gives the kernel's TCP the two ends of multi-level ECN, in two network namespaces, for as long
//! as the process lives. The programs are in `mecn.bpf.c`; this loads them, waits, and prints what
//! they counted.

use std::fs::File;
use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{ErrorKind, Link, OpenObject, PrintLevel, ProgramMut};
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sched::{setns, CloneFlags};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;

#[allow(missing_docs, unsafe_code, clippy::all)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/mecn.skel.rs"));
}
mod machine;
mod tcx;

use machine::{Facts, Failure};
use skel::{MecnSkel, MecnSkelBuilder};

/// The congestion control's name, in the kernel and for `iperf3 -C`.
const NAME: &str = "penstock_mecn";
/// The levels as `enum level` in `mecn.bpf.c` counts them.
const LEVELS: [(usize, &str); 3] = [(1, "incipient"), (2, "moderate"), (3, "loss")];

/// Multi-level ECN's two ends for the kernel's TCP: echoes ECT(1) from the server's device to the
/// client's, and registers the congestion control `penstock_mecn`. Prints `ready`; at SIGTERM,
/// SIGINT or the end of its input it removes everything and prints its counts as JSON.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Only say whether this machine can run it; if not, why, with exit status 3.
    #[arg(long, conflicts_with_all = ["client_ns", "client_dev", "server_ns", "server_dev"])]
    check: bool,
    /// Also print what libbpf and the kernel's verifier have to say, on standard error.
    #[arg(long)]
    verbose: bool,
    /// The sender's network namespace: a path, or the number of an open descriptor.
    #[arg(long, required_unless_present = "check", value_name = "PATH|FD")]
    client_ns: Option<String>,
    /// The sender's device, on which ACKs come in.
    #[arg(long, required_unless_present = "check", value_name = "DEVICE")]
    client_dev: Option<String>,
    /// The receiver's network namespace.
    #[arg(long, required_unless_present = "check", value_name = "PATH|FD")]
    server_ns: Option<String>,
    /// The receiver's device, on which data come in.
    #[arg(long, required_unless_present = "check", value_name = "DEVICE")]
    server_dev: Option<String>,
    /// The part of the window that an incipient mark takes.
    #[arg(long, default_value = "0.2", value_parser = beta)]
    beta1: f64,
    /// The part that a moderate mark, CE, takes.
    #[arg(long, default_value = "0.4", value_parser = beta)]
    beta2: f64,
    /// The part that a loss takes.
    #[arg(long, default_value = "0.5", value_parser = beta)]
    beta3: f64,
    /// The codepoint of an incipient mark; the kernel sends ECT(0), so there is one choice.
    #[arg(long, default_value = "ect1", value_parser = ["ect1"])]
    incipient: String,
}

/// As `beta1` to `beta3` in a scenario.
fn beta(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(beta) if (0.0..=0.99).contains(&beta) => Ok(beta),
        _ => Err("a number from 0 to 0.99".into()),
    }
}

/// What is left after a cut by beta, in 1/65536; rounded up, so that a window that divides evenly
/// does.
fn keep(beta: f64) -> u32 {
    ((1.0 - beta) * 65536.0 - 1e-6).ceil() as u32
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("penstock-mecn: {failure}");
            ExitCode::from(failure.status())
        }
    }
}

fn run(options: &Options) -> Result<(), Failure> {
    libbpf_rs::set_print(
        options.verbose.then_some((PrintLevel::Info, |_, line| eprint!("{line}"))),
    );
    let mut storage = MaybeUninit::uninit();
    if options.check {
        load(&mut storage, [0.2, 0.4, 0.5])?;
        println!("penstock-mecn: can run here");
        return Ok(());
    }
    let [client_ns, client_dev, server_ns, server_dev] =
        [&options.client_ns, &options.client_dev, &options.server_ns, &options.server_dev]
            .map(|given| given.as_deref().expect("required where --check is absent"));

    // From here on a signal ends the wait below instead of the process.
    let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT]);
    signals.thread_block().map_err(|e| Failure::Other(format!("cannot block signals: {e}")))?;
    let signals = SignalFd::new(&signals)
        .map_err(|e| Failure::Other(format!("cannot wait for signals: {e}")))?;
    nix::sys::prctl::set_pdeathsig(Signal::SIGTERM)
        .map_err(|e| Failure::Other(format!("cannot follow the parent's end: {e}")))?;

    let mut mecn = load(&mut storage, [options.beta1, options.beta2, options.beta3])?;
    let mut links = Vec::new(); // what they attach goes with them, or with the process
    within(client_ns, || attach(&mut links, client_dev, [Some(&mecn.progs.ack_in), None]))?;
    within(server_ns, || {
        attach(&mut links, server_dev, [Some(&mecn.progs.data_in), Some(&mecn.progs.ack_out)])
    })?;
    links.push(mecn.maps.mecn.attach_struct_ops().map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => {
            Failure::Other(format!("{NAME} is registered already: another penstock-mecn runs"))
        }
        _ => Failure::Missing(format!("the kernel refuses the congestion control: {e}")),
    })?);
    say("ready")?;
    wait(&signals)?;
    let counts = counts(&mecn);
    drop(links);
    say(&counts)
}

fn say(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|e| Failure::Other(format!("standard output: {e}")))
}

/// Loads all programs, attaches none.
fn load(storage: &mut MaybeUninit<OpenObject>, betas: [f64; 3]) -> Result<MecnSkel<'_>, Failure> {
    Facts::here().missing(true)?;
    let refuses = |e: libbpf_rs::Error| Failure::refused(&e);
    let mut open = MecnSkelBuilder::default().open(storage).map_err(refuses)?;
    let rodata = open.maps.rodata_data.as_mut().expect("the object has constants");
    for ((level, _), beta) in LEVELS.into_iter().zip(betas) {
        rodata.keep[level] = keep(beta);
    }
    open.load().map_err(refuses)
}

/// Runs `work` in the network namespace, then comes back.
fn within<T>(netns: &str, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let descriptor = !netns.is_empty() && netns.bytes().all(|b| b.is_ascii_digit());
    let path =
        if descriptor { Path::new("/proc/self/fd").join(netns) } else { PathBuf::from(netns) };
    let refused =
        |e: &dyn std::fmt::Display| Failure::Input(format!("network namespace {netns:?}: {e}"));
    let enter = |namespace: &File| setns(namespace, CloneFlags::CLONE_NEWNET);
    let home = File::open("/proc/self/ns/net")
        .map_err(|e| Failure::Other(format!("/proc/self/ns/net: {e}")))?;
    let there = File::open(path).map_err(|e| refused(&e))?;
    enter(&there).map_err(|e| refused(&e))?;
    let done = work();
    enter(&home)
        .map_err(|e| Failure::Other(format!("cannot leave network namespace {netns:?}: {e}")))?;
    done
}

/// Attaches programs to a device of the current network namespace: at ingress and at egress.
fn attach(
    links: &mut Vec<Link>,
    device: &str,
    programs: [Option<&ProgramMut>; 2],
) -> Result<(), Failure> {
    let index = machine::device_index(device)?;
    for program in programs.into_iter().flatten() {
        let link = tcx::attach(program, index).map_err(|e| {
            Failure::Missing(format!("the kernel refuses a tcx program on {device}: {e}"))
        })?;
        links.push(link);
    }
    Ok(())
}

/// Until a signal comes or the input ends.
fn wait(signals: &SignalFd) -> Result<(), Failure> {
    let failed = |e: &dyn std::fmt::Display| Failure::Other(format!("waiting: {e}"));
    let mut input = std::io::stdin();
    loop {
        let stdin = std::io::stdin();
        let mut watched = [
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut watched, PollTimeout::NONE) {
            Ok(_) => {}
            Err(nix::errno::Errno::EINTR) => continue,
            Err(e) => return Err(failed(&e)),
        }
        if watched[0].any() == Some(true) {
            return Ok(());
        }
        if watched[1].any() == Some(true)
            && input.read(&mut [0; 4096]).map_err(|e| failed(&e))? == 0
        {
            return Ok(());
        }
    }
}

fn counts(mecn: &MecnSkel<'_>) -> String {
    let count = &mecn.maps.bss_data.as_ref().expect("the object has counters").count;
    let mut document = serde_json::json!({
        "ect1_received": count.ect1_received,
        "ce_received": count.ce_received,
        "ae_sent": count.ae_sent,
        "ae_received": count.ae_received,
    });
    for (level, name) in LEVELS {
        document[format!("cuts_{name}")] = count.cuts[level].into();
    }
    document["cuts_deepened"] = count.deepened.into();
    for (level, name) in LEVELS {
        document["windows"][name] =
            serde_json::json!({ "before": count.before[level], "after": count.after[level] });
    }
    document.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_that_divide_evenly_do() {
        let left = |window: u64, beta| (window * u64::from(keep(beta))) >> 16;
        assert_eq!(left(10, 0.2), 8);
        assert_eq!(left(10, 0.4), 6);
        assert_eq!(left(100_000, 0.4), 60_000);
        assert_eq!(left(11, 0.5), 5);
        assert_eq!((keep(0.0), keep(0.5), keep(0.75)), (65536, 32768, 16384));
    }

    #[test]
    fn betas_are_bounded() {
        assert_eq!((beta("0"), beta("0.99")), (Ok(0.0), Ok(0.99)));
        for wrong in ["-0.1", "1", "NaN", "inf", "", "20%"] {
            assert!(beta(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn options_are_consistent() {
        use clap::CommandFactory;
        Options::command().debug_assert();
        assert!(Options::try_parse_from(["x", "--check"]).is_ok());
        assert!(Options::try_parse_from(["x", "--client-ns", "3"]).is_err());
    }
}
