//! The programs of a run: iperf3 and this process's own threads for the scenario's traffic, the
//! user's programs ([`crate::own`]), and those of multi-level ECN.

use crate::diag::Diag;
use crate::error::EmulateError;
use crate::exchange::{self, Message, Running};
use crate::hosts::{Hosts, DEVICE};
use crate::netns::{Namespace, Privilege};
use crate::options::Options;
use crate::own::Own;
use crate::side::Side;
use crate::stream::{Carried, Shared, Sockets};
use crate::traffic::{By, Planned, TrafficPlan};
use crate::transfer::{self, Sending};
use crate::work::Log;
use crate::{socket, sys};
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use penstock_sim::Config;
use penstock_tcp::Ecn;
use penstock_units::Time;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration as Wall, Instant};

/// The time that the event loops may take to notice the run's end.
const NOTICE: Wall = Wall::from_secs(5);

/// The programs of a run. They die with this process, the first of its process namespace.
pub(crate) struct Programs {
    listeners: Vec<Child>,
    senders: Vec<Sender>,
    /// The event loops of both hosts, where there are web or video.
    loops: Vec<Running>,
    /// The sockets of those flows.
    pub(crate) sockets: Sockets,
    /// The logs of the loops that have ended.
    logs: Vec<Log>,
    own: Option<Own>,
    mecn: Option<Child>,
    /// The congestion control of multi-level ECN, where it is in force.
    pub(crate) mecn_name: Option<&'static str>,
    pub(crate) mecn_counts: Option<serde_json::Value>,
    pub(crate) notes: Vec<String>,
}

struct Sender {
    program: Program,
    start: Time,
    stop: Time,
    state: Stage,
}

enum Program {
    Iperf3(Child),
    Threads(Sending),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waits,
    Runs,
    Ended,
}

impl Programs {
    pub(crate) fn start(
        hosts: &Hosts,
        plan: &TrafficPlan,
        config: &Config,
        options: &Options,
        privilege: Privilege,
        alive: &mut dyn FnMut() -> bool,
    ) -> Result<Self, EmulateError> {
        let mut p = Programs {
            listeners: vec![],
            senders: vec![],
            loops: vec![],
            sockets: Sockets::default(),
            logs: vec![],
            own: None,
            mecn: None,
            mecn_name: None,
            mecn_counts: None,
            notes: vec![],
        };
        if options.own {
            p.own = Some(Own { shell: options.shell });
            return Ok(p);
        }
        if let Some(betas) = plan.betas {
            match start_mecn(hosts, options, privilege, betas) {
                Ok(child) => {
                    p.mecn = Some(child);
                    p.mecn_name = Some("penstock_mecn");
                }
                Err(why) => p.notes.push(format!(
                    "ecn = \"mecn\": {why}; the flows use classic ECN, the marks are those that \
                     MECN would have made"
                )),
            }
        }
        p.senders(hosts, plan)?;
        p.loops(hosts, plan, config)?;
        listening(hosts, plan, alive)?;
        Ok(p)
    }

    /// Makes the flows ready that programs or threads of their own carry.
    fn senders(&mut self, hosts: &Hosts, plan: &TrafficPlan) -> Result<(), EmulateError> {
        for f in &plan.flows {
            let congestion = self.congestion(f);
            let from = &hosts.namespaces[f.known.sender as usize];
            let to = &hosts.namespaces[f.known.sender.other() as usize];
            let program = match &f.by {
                By::Threads(t) => {
                    let failed = |e| EmulateError::system("preparing a transfer", e);
                    to.with(|| transfer::listen(t)).map_err(failed)?;
                    let sending = from.with(|| transfer::prepare(t, congestion.unwrap_or("reno")));
                    Program::Threads(sending.map_err(failed)?)
                }
                By::Iperf3 { sender, listener } => {
                    self.listeners.push(iperf3_listener(listener, to)?);
                    Program::Iperf3(iperf3_sender(sender, congestion, from)?)
                }
                By::Loops(_) => continue,
            };
            let (start, stop) = (f.start, f.stop);
            self.senders.push(Sender { program, start, stop, state: Stage::Waits });
        }
        Ok(())
    }

    /// Returns the congestion control that the sender of a flow asks for.
    fn congestion(&self, f: &Planned) -> Option<&'static str> {
        self.mecn_name.filter(|_| f.ecn == Ecn::Mecn).or(f.congestion)
    }

    /// Makes the event loops ready, where any flow needs them.
    fn loops(
        &mut self,
        hosts: &Hosts,
        plan: &TrafficPlan,
        config: &Config,
    ) -> Result<(), EmulateError> {
        if plan.streams() == 0 {
            return Ok(());
        }
        enough_files(plan)?;
        let shared = Shared::new(plan.flows.len());
        self.sockets = shared.sockets.clone();
        let (mut driven, mut heard) = ([vec![], vec![]], [vec![], vec![]]);
        for (flow, f) in plan.flows.iter().enumerate() {
            let Some(stream) = f.by.stream().cloned() else { continue };
            let sender = f.known.sender;
            let driver = if stream.request.is_some() { sender.other() } else { sender };
            let congestion = self.congestion(f).unwrap_or("reno").to_owned();
            let carried = Carried { flow, stream, congestion };
            driven[driver as usize].push(carried.clone());
            heard[driver.other() as usize].push(carried);
        }
        for side in [Side::Left, Side::Right] {
            let (driven, heard) = (&driven[side as usize], &heard[side as usize]);
            let prepare = || exchange::prepare(config, driven, heard, &shared);
            let running = hosts.namespaces[side as usize].with(prepare);
            let failed = |e| EmulateError::system("preparing web and video", e);
            self.loops.push(running.map_err(failed)?);
        }
        Ok(())
    }

    /// Tells the programs when the run's clock shows zero.
    pub(crate) fn begin(&self, zero_ns: u64) {
        for running in &self.loops {
            running.go(zero_ns);
        }
    }

    /// Returns what the event loops have to say at the end of the run.
    pub(crate) fn log(&mut self) -> Result<Log, EmulateError> {
        let until = Instant::now() + NOTICE;
        while self.logs.len() < self.loops.len() {
            self.listen()?;
            if Instant::now() > until {
                let text = "web and video: the threads that carry them do not answer";
                return Err(EmulateError::Program(text.into()));
            }
            std::thread::sleep(Wall::from_millis(1));
        }
        let mut all = Log::default();
        for log in self.logs.drain(..) {
            all.transfers.extend(log.transfers);
            all.pages.extend(log.pages);
            all.viewers.extend(log.viewers);
        }
        all.transfers.sort_by_key(|t| t.end);
        all.pages.sort_by_key(|p| p.end);
        Ok(all)
    }

    /// Takes what the event loops have said.
    fn listen(&mut self) -> Result<(), EmulateError> {
        for message in self.loops.iter().flat_map(|running| running.messages.try_iter()) {
            match message {
                Message::Failed(text) => return Err(EmulateError::Program(text)),
                Message::Ended(log) => self.logs.push(log),
            }
        }
        Ok(())
    }

    /// Starts and stops the programs that are due at `now`. Returns when the next is due.
    pub(crate) fn at(&mut self, now: Time) -> Result<Time, EmulateError> {
        self.listen()?;
        let mut next = Time::NEVER;
        for s in &mut self.senders {
            if s.state == Stage::Waits && s.start <= now {
                s.go()?;
            }
            if s.state == Stage::Runs {
                s.look()?;
            }
            if s.state == Stage::Runs && s.stop <= now {
                s.stop();
            }
            next = next.min(match s.state {
                Stage::Waits => s.start,
                Stage::Runs => s.stop,
                Stage::Ended => Time::NEVER,
            });
        }
        Ok(next)
    }

    /// Ends all programs.
    pub(crate) fn finish(&mut self) {
        self.own = None;
        if let Some(mut child) = self.mecn.take() {
            drop(child.stdin.take());
            let mut text = String::new();
            if let Some(mut out) = child.stdout.take() {
                let _ = out.read_to_string(&mut text);
            }
            let _ = child.wait();
            self.mecn_counts = text.lines().rev().find_map(|line| serde_json::from_str(line).ok());
        }
        let all = self.senders.iter_mut().filter_map(|s| match &mut s.program {
            Program::Iperf3(child) => Some(child),
            Program::Threads(_) => None,
        });
        for child in all.chain(&mut self.listeners) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Sender {
    fn go(&mut self) -> Result<(), EmulateError> {
        match &mut self.program {
            Program::Iperf3(child) => {
                let told = child.stdin.take().map(|mut pipe| pipe.write_all(b"go\n"));
                told.transpose().map_err(|e| EmulateError::system("starting iperf3", e))?;
            }
            Program::Threads(sending) => sending.go(),
        }
        self.state = Stage::Runs;
        Ok(())
    }

    /// An iperf3 that ends before it is stopped has failed, or the flow's time was up.
    fn look(&mut self) -> Result<(), EmulateError> {
        let Program::Iperf3(child) = &mut self.program else { return Ok(()) };
        if let Ok(Some(status)) = child.try_wait() {
            self.state = Stage::Ended;
            if !status.success() {
                return Err(EmulateError::Program(complaint(child)));
            }
        }
        Ok(())
    }

    /// Stops a sender without ending it. If it ended, its peer would end as well, and nobody would
    /// count the packets that are still on their way.
    fn stop(&mut self) {
        match &self.program {
            Program::Iperf3(child) => {
                let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGSTOP);
            }
            Program::Threads(sending) => sending.quiet(),
        }
        self.state = Stage::Ended;
    }
}

/// Lets this process have as many files open as the connections of web and video need: both ends of
/// each, the socket that listens, and as many again for those that are being closed.
fn enough_files(plan: &TrafficPlan) -> Result<(), EmulateError> {
    let wanted = 256 + 2 * plan.flows.len() as u64 + 6 * plan.streams() as u64;
    let allowed = socket::allow_files(wanted)
        .map_err(|e| EmulateError::system("asking for more open files", e))?;
    if allowed >= wanted {
        return Ok(());
    }
    Err(EmulateError::Refused(format!(
        "{} connections of web and video need {wanted} open files, and this process may have \
         {allowed}: `ulimit -n {wanted}`, or fewer sessions",
        plan.streams()
    )))
}

fn start_mecn(
    hosts: &Hosts,
    options: &Options,
    privilege: Privilege,
    betas: [f64; 3],
) -> Result<Child, String> {
    let program =
        options.mecn.as_ref().ok_or("the program penstock-mecn is not there (`make mecn`)")?;
    if privilege != Privilege::Root {
        return Err("the kernel takes its programs from root alone".into());
    }
    let fds = [hosts.namespaces[0].fd(), hosts.namespaces[1].fd()].map(|fd| fd.as_raw_fd());
    let mut command = Command::new(program);
    let pid = std::process::id();
    command.args(["--client-ns", &format!("/proc/{pid}/fd/{}", fds[0]), "--client-dev", DEVICE]);
    command.args(["--server-ns", &format!("/proc/{pid}/fd/{}", fds[1]), "--server-dev", DEVICE]);
    for (name, beta) in ["--beta1", "--beta2", "--beta3"].iter().zip(betas) {
        command.args([*name, &beta.to_string()]);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("{}: {e}", program.display()))?;
    let mut line = vec![];
    let out = child.stdout.as_mut().ok_or("no pipe")?;
    let mut byte = [0];
    while out.read(&mut byte).is_ok_and(|n| n == 1) && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    if line == b"ready" {
        return Ok(child);
    }
    let mut why = String::new();
    if let Some(mut e) = child.stderr.take() {
        let _ = e.read_to_string(&mut why);
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(why.trim().lines().last().unwrap_or("penstock-mecn did not start").to_owned())
}

/// Starts the listening end of a flow on its host.
fn iperf3_listener(args: &[String], host: &Namespace) -> Result<Child, EmulateError> {
    let mut command = Command::new("iperf3");
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // The terminal's Ctrl-C is for the run, which ends this program.
    command.process_group(0);
    sys::enter_on_exec(&mut command, host.fd().as_raw_fd());
    command.spawn().map_err(no_iperf3)
}

/// Makes the sending end of a flow ready on its host. A shell waits for a line, so that the flow
/// starts when it is to start.
fn iperf3_sender(
    args: &[String],
    congestion: Option<&str>,
    host: &Namespace,
) -> Result<Child, EmulateError> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "read -r go && exec iperf3 \"$@\"", "sh"]).args(args);
    if let Some(congestion) = congestion {
        command.args(["-C", congestion]);
    }
    command.process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    sys::enter_on_exec(&mut command, host.fd().as_raw_fd());
    command.spawn().map_err(|e| EmulateError::system("starting /bin/sh", e))
}

fn no_iperf3(e: io::Error) -> EmulateError {
    if e.kind() == io::ErrorKind::NotFound {
        return EmulateError::Missing(
            "iperf3 is not installed, which sends the scenario's traffic: `apt install iperf3`; or \
             run your own program (--client, --server)"
                .into(),
        );
    }
    EmulateError::system("starting iperf3", e)
}

/// Returns the message with which iperf3 gave up.
fn complaint(child: &mut Child) -> String {
    let mut text = String::new();
    if let Some(mut out) = child.stdout.take() {
        let _ = out.read_to_string(&mut text);
    }
    let error = serde_json::from_str::<serde_json::Value>(&text)
        .ok()
        .and_then(|v| v["error"].as_str().map(str::to_owned));
    format!("iperf3: {}", error.unwrap_or_else(|| format!("ended: {}", text.trim())))
}

/// Waits until every flow's listening end listens.
fn listening(
    hosts: &Hosts,
    plan: &TrafficPlan,
    alive: &mut dyn FnMut() -> bool,
) -> Result<(), EmulateError> {
    let begun = Instant::now();
    let most = Wall::from_secs(10) + Wall::from_millis(100) * plan.flows.len() as u32;
    loop {
        let mut found = 0;
        for host in &hosts.namespaces {
            let all = host
                .with(|| Diag::open()?.connections())
                .map_err(|e| EmulateError::system("asking for listening sockets", e))?;
            found += all.iter().filter(|c| c.listens).count();
        }
        if found >= plan.flows.len() {
            return Ok(());
        }
        if !alive() {
            return Err(EmulateError::Interrupted);
        }
        if begun.elapsed() > most {
            return Err(EmulateError::Program(format!(
                "iperf3: {found} of {} servers listen after {:.0} s",
                plan.flows.len(),
                most.as_secs_f64()
            )));
        }
        std::thread::sleep(Wall::from_millis(20));
    }
}
