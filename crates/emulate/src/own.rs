//! The user may run programs of their own: a client, and a server that is started before it. This
//! module starts them, reports their ends, and ends them and all that they have started.

use crate::diag::Diag;
use crate::error::EmulateError;
use crate::hosts::{address6, Hosts};
use crate::options::{Options, Status};
use crate::sys;
use crate::traffic::ADDRESSES;
use nix::errno::Errno;
use nix::sys::signal::{kill, Signal};
use nix::sys::wait::{waitpid, WaitPidFlag, WaitStatus};
use nix::unistd::Pid;
use penstock_units::Time;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration as Wall, Instant};

/// The time that a server may take to listen; one of datagrams never shows.
const READY: Wall = Wall::from_secs(2);
/// The time that programs have to end after SIGTERM.
const GRACE: Wall = Wall::from_secs(1);
/// The number of bytes kept of what a server writes to its standard error.
const KEPT: usize = 4096;

/// The user's programs. What still runs of them is ended when this is dropped.
pub(crate) struct Own {
    server: Option<Server>,
    /// The client's command, until its time has come.
    command: Option<Command>,
    client: Option<Child>,
    /// The client is an interactive shell, which does not listen to SIGTERM.
    shell: bool,
}

struct Server {
    line: String,
    child: Child,
    said: Arc<Mutex<Vec<u8>>>,
    /// Its exit status, and the time of its end.
    ended: Option<(ExitStatus, Time)>,
}

impl Own {
    /// Starts the server, waits until it listens, and makes the client ready.
    pub(crate) fn start(
        hosts: &Hosts,
        options: &Options,
        tell: &mut dyn FnMut(Status) -> bool,
    ) -> Result<Self, EmulateError> {
        let environment = [
            ("PENSTOCK_CLIENT", ADDRESSES[0][0].to_string()),
            ("PENSTOCK_SERVER", ADDRESSES[1][0].to_string()),
            ("PENSTOCK_CLIENT6", address6(0).to_string()),
            ("PENSTOCK_SERVER6", address6(1).to_string()),
        ];
        let mut own = Own { server: None, command: None, client: None, shell: false };
        if let Some(line) = &options.server {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", line]).envs(environment.clone()).process_group(0);
            command.stdin(Stdio::null()).stderr(Stdio::piped());
            sys::enter_on_exec(&mut command, hosts.namespaces[1].fd().as_raw_fd());
            let failed = |e| EmulateError::system("starting the server", e);
            let server = own.server.insert(Server::new(line, command.spawn().map_err(failed)?));
            server.ready(hosts, tell)?;
        }
        let argv = options.client.clone().unwrap_or_default();
        own.shell = argv.is_empty();
        let shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".into());
        let (program, arguments) = argv.split_first().map_or((&shell, &[][..]), |(p, a)| (p, a));
        let mut command = Command::new(program);
        command.args(arguments).envs(environment);
        sys::enter_on_exec(&mut command, hosts.namespaces[0].fd().as_raw_fd());
        if options.foreground {
            sys::foreground_on_exec(&mut command, own.shell);
        }
        own.command = Some(command);
        Ok(own)
    }

    /// Starts the client, the first time; notes whether the server has ended by `now`.
    pub(crate) fn at(&mut self, now: Time) -> Result<(), EmulateError> {
        if let Some(mut command) = self.command.take() {
            self.client = Some(command.spawn().map_err(|e| {
                let program = command.get_program().to_string_lossy();
                match e.kind() {
                    io::ErrorKind::NotFound => {
                        EmulateError::Scenario(format!("{program}: no such program"))
                    }
                    _ => EmulateError::system(format!("starting {program}"), e),
                }
            })?);
        }
        if let Some(server) = self.server.as_mut().filter(|server| server.ended.is_none()) {
            server.ended = server.child.try_wait().ok().flatten().map(|status| (status, now));
        }
        Ok(())
    }

    /// Returns how the client ended, once it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.client.as_mut()?.try_wait().ok()?
    }

    /// Ends them. Returns the client's exit code, if it has ended by itself; notes a server that
    /// failed before.
    pub(crate) fn finish(mut self, notes: &mut Vec<String>) -> Result<Option<i32>, EmulateError> {
        let status = self.ended();
        if status.is_some_and(|status| status.signal() == Some(libc::SIGINT)) {
            return Err(EmulateError::Interrupted);
        }
        if let Some((server, (ended, at))) = self.server.as_ref().and_then(|s| Some((s, s.ended?)))
        {
            if !ended.success() {
                notes.push(format!(
                    "{} at {:.3} s{}",
                    server.ending(ended),
                    at.as_secs_f64(),
                    server.last()
                ));
            }
        }
        Ok(status.map(code))
    }

    /// Ends all that still runs: the programs, and what they have started, in whatever process
    /// group or session.
    fn end(&mut self) {
        if std::process::id() != 1 {
            // Not the first process of a namespace: "everyone" would be everyone on this machine.
            for child in self.client.iter_mut().chain(self.server.iter_mut().map(|s| &mut s.child))
            {
                let _ = child.kill();
            }
            return;
        }
        let everyone = Pid::from_raw(-1);
        if let Some(client) = self.client.as_mut().filter(|_| self.shell) {
            if matches!(client.try_wait(), Ok(None)) {
                let _ = kill(Pid::from_raw(client.id() as i32), Signal::SIGHUP);
            }
        }
        // One that was stopped hears it when it goes on.
        for signal in [Signal::SIGTERM, Signal::SIGCONT] {
            let _ = kill(everyone, signal);
        }
        if !none_left(GRACE) {
            let _ = kill(everyone, Signal::SIGKILL);
            none_left(GRACE);
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.end();
    }
}

impl Server {
    fn new(line: &str, mut child: Child) -> Self {
        let said = Arc::default();
        if let Some(from) = child.stderr.take() {
            let said = Arc::clone(&said);
            std::thread::spawn(move || pass_on(from, &said));
        }
        Server { line: line.into(), child, said, ended: None }
    }

    /// Waits until it listens.
    fn ready(
        &mut self,
        hosts: &Hosts,
        tell: &mut dyn FnMut(Status) -> bool,
    ) -> Result<(), EmulateError> {
        let begun = Instant::now();
        while begun.elapsed() < READY {
            let ask = hosts.namespaces[1].with(|| Diag::open()?.connections());
            if ask.is_ok_and(|all| all.iter().any(|c| c.listens)) {
                break;
            }
            if let Some(status) = self.child.try_wait().ok().flatten() {
                // One that has put itself into the background may still come to listen.
                if !status.success() {
                    // What it wrote last may still be on its way.
                    std::thread::sleep(Wall::from_millis(50));
                    return Err(EmulateError::Program(format!(
                        "{} before the client was started{}",
                        self.ending(status),
                        self.last()
                    )));
                }
            }
            if !tell(Status::PREPARING) {
                return Err(EmulateError::Interrupted);
            }
            std::thread::sleep(Wall::from_millis(20));
        }
        Ok(())
    }

    fn ending(&self, status: ExitStatus) -> String {
        format!("the server ({}) ended with exit code {}", self.line, code(status))
    }

    /// Returns the last line that it wrote to its standard error, behind a colon.
    fn last(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&said);
        let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
        line.map_or_else(String::new, |line| format!(": {line}"))
    }
}

/// Passes on what a server writes to its standard error, and keeps the last of it.
fn pass_on(mut from: ChildStderr, said: &Mutex<Vec<u8>>) {
    let mut part = [0; KEPT];
    while let Ok(n @ 1..) = from.read(&mut part) {
        let _ = io::stderr().write_all(&part[..n]);
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(&part[..n]);
        let beyond = said.len().saturating_sub(KEPT);
        said.drain(..beyond);
    }
}

/// Returns an exit code as a shell says it: 128 + n if signal n ended the program.
fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Waits until no process is left below this one, which adopts the orphans of its namespace.
fn none_left(most: Wall) -> bool {
    let begun = Instant::now();
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Err(Errno::ECHILD) => return true,
            Ok(WaitStatus::StillAlive) => {
                if begun.elapsed() > most {
                    return false;
                }
                std::thread::sleep(Wall::from_millis(5));
            }
            _ => {}
        }
    }
}
