//! The user runs programs of their own on the hosts: the caller starts them there ([`sys::enter`]).
//! This module ends them, and all that they have started, in whatever process group or session.

use nix::errno::Errno;
use nix::sys::signal::{kill, Signal};
use nix::sys::wait::{waitpid, WaitPidFlag, WaitStatus};
use nix::unistd::Pid;
use std::time::{Duration as Wall, Instant};

/// The time that programs have to end after SIGTERM.
const GRACE: Wall = Wall::from_secs(1);

/// Everything in this process namespace but its first process, which this one is.
fn everyone() -> Pid {
    Pid::from_raw(-1)
}

/// Ends the user's programs when it is dropped.
pub(crate) struct Own {
    /// One is an interactive shell, which does not listen to SIGTERM.
    pub(crate) shell: bool,
}

impl Drop for Own {
    fn drop(&mut self) {
        if std::process::id() != 1 {
            // Not the first process of a namespace: "everyone" would be everyone on this machine.
            return;
        }
        // A shell hears that its terminal is gone. One that was stopped hears it when it goes on.
        let hangup = self.shell.then_some(Signal::SIGHUP);
        for signal in hangup.into_iter().chain([Signal::SIGTERM, Signal::SIGCONT]) {
            let _ = kill(everyone(), signal);
        }
        if !none_left(GRACE) {
            let _ = kill(everyone(), Signal::SIGKILL);
            none_left(GRACE);
        }
    }
}

/// Waits until no other process is left in the namespace, whose orphans this one adopts.
fn none_left(most: Wall) -> bool {
    let begun = Instant::now();
    loop {
        while matches!(waitpid(None, Some(WaitPidFlag::WNOHANG)), Ok(s) if s != WaitStatus::StillAlive)
        {
        }
        if kill(everyone(), None) == Err(Errno::ESRCH) {
            return true;
        }
        if begun.elapsed() > most {
            return false;
        }
        std::thread::sleep(Wall::from_millis(5));
    }
}
