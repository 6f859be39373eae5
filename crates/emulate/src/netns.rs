//! Namespaces: how this process leaves the caller's network, and how the two hosts get theirs.
//!
//! Nothing here has a name. A namespace lives as long as a process or a descriptor holds it, and
//! the devices in it die with it; the process that holds them is the first of a process namespace,
//! so that with it everything dies that was started. Whatever ends the command, nothing is left.

use crate::error::EmulateError;
use crate::sys;
use nix::mount::{mount, MsFlags};
use nix::sched::{setns, unshare, CloneFlags};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

/// The source of the privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Privilege {
    /// CAP_SYS_ADMIN and CAP_NET_ADMIN of the machine.
    Root,
    /// Those of a separate user namespace.
    UserNamespace,
}

/// Takes this process, which must have one thread, out of the caller's network: into new network
/// and mount namespaces, and a new user namespace where it is not privileged. Its next child is the
/// first process of a process namespace.
///
/// # Errors
/// Where the machine refuses, with the rule that does so and what helps.
pub fn isolate(rootless: bool) -> Result<Privilege, EmulateError> {
    let spaces = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID;
    let privilege = if !rootless && unshare(spaces).is_ok() {
        Privilege::Root
    } else {
        let (uid, gid) = (nix::unistd::getuid(), nix::unistd::getgid());
        unshare(CloneFlags::CLONE_NEWUSER | spaces)
            .map_err(|e| EmulateError::Refused(refusal(e.into())))?;
        // Root of the namespace, which is nobody else outside.
        let write = |file: &str, text: String| fs::write(Path::new("/proc/self").join(file), text);
        write("setgroups", "deny".into())
            .and_then(|()| write("uid_map", format!("0 {uid} 1\n")))
            .and_then(|()| write("gid_map", format!("0 {gid} 1\n")))
            .map_err(|e| EmulateError::Refused(refusal(e)))?;
        Privilege::UserNamespace
    };
    // Mounts that follow are nobody else's.
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .map_err(|e| EmulateError::system("making mounts private", e.into()))?;
    // Changing credentials clears it: here, not before.
    sys::die_with_parent();
    Ok(privilege)
}

/// Prepares the first process of the new process namespace.
pub fn settle() {
    sys::die_with_parent();
    // Without it ps and the like show the wrong processes; some containers forbid it.
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let _ = mount(Some("proc"), "/proc", Some("proc"), flags, None::<&str>);
}

/// Returns why the kernel refused, as far as that can be found out, and the remedy.
fn refusal(e: io::Error) -> String {
    let read = |path: &str| fs::read_to_string(path).ok().map(|s| s.trim().to_owned());
    let is = |path: &str, value: &str| read(path).as_deref() == Some(value);
    let status = read("/proc/self/status").unwrap_or_default();
    let mut why = format!("a network namespace could not be made: {e}.");
    let mut say = |text: &str| {
        why.push(' ');
        why.push_str(text);
    };
    if is("/proc/sys/user/max_user_namespaces", "0") {
        say("The sysctl user.max_user_namespaces is 0: `sudo sysctl user.max_user_namespaces=10000`, or run as root.");
    } else if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        say("The sysctl kernel.unprivileged_userns_clone is 0: `sudo sysctl kernel.unprivileged_userns_clone=1`, or run as root.");
    } else if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        say("AppArmor restricts unprivileged user namespaces (Ubuntu 23.10 and later): `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`, a profile with `userns,` for this program, or run as root.");
    } else if status.lines().any(|l| l.strip_prefix("Seccomp:").is_some_and(|s| s.trim() == "2")) {
        say("A seccomp filter is in force, as in Docker: `docker run --security-opt seccomp=unconfined`, or `--cap-add SYS_ADMIN --cap-add NET_ADMIN`.");
    } else {
        say("Run as root, or with CAP_SYS_ADMIN and CAP_NET_ADMIN.");
    }
    why
}

/// A network namespace, held by a descriptor.
pub struct Namespace(File);

impl Namespace {
    /// Returns the namespace that this thread is in.
    pub fn current() -> io::Result<Self> {
        File::open("/proc/thread-self/ns/net")
            .or_else(|_| File::open("/proc/self/ns/net"))
            .map(Namespace)
    }

    /// Makes a new namespace, with `lo` up.
    pub fn new() -> io::Result<Self> {
        in_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            let made = Namespace::current()?;
            crate::links::Links::open()?.up("lo")?;
            Ok(made)
        })
    }

    /// Returns the descriptor.
    pub fn fd(&self) -> &File {
        &self.0
    }

    /// Runs `f` on a new thread inside the namespace.
    pub fn with<T: Send>(&self, f: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        in_thread(|| {
            setns(self.0.as_fd(), CloneFlags::CLONE_NEWNET)?;
            f()
        })
    }

    /// Sets a sysctl of the namespace (`net/ipv4/tcp_ecn`) and reads it back.
    pub fn sysctl(&self, name: &str, value: &str) -> io::Result<()> {
        self.with(|| {
            let path = Path::new("/proc/sys").join(name);
            let said = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
            fs::write(&path, value).map_err(said)?;
            let now = fs::read_to_string(&path).map_err(said)?;
            if now.split_whitespace().eq(value.split_whitespace()) {
                return Ok(());
            }
            Err(io::Error::other(format!(
                "{}: is {} after {value} was written",
                path.display(),
                now.trim()
            )))
        })
    }
}

fn in_thread<T: Send>(f: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        scope.spawn(f).join().unwrap_or_else(|_| Err(io::Error::other("a helper thread panicked")))
    })
}
