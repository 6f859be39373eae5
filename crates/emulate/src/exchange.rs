//! The connections of web sessions and videos: an event loop for each host, a thread of this
//! process.
//!
//! One end of a flow drives it: it opens the connection and knows what to fetch. Where the scenario
//! has a `request`, that is the client, which asks for each object and has it with its last byte.
//! Without one it is the server, which begins by itself and is done with the last ACK. The other
//! end listens, and answers or reads.

use crate::connection::{Open, Served};
use crate::socket;
use crate::stream::{Carried, Shared, Stream};
use crate::sys;
use crate::work::{Begun, Log, Work};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use penstock_sim::Config;
use penstock_units::Time;
use std::io::{self, ErrorKind};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::thread;
use std::time::Duration as Wall;

/// Events taken at once.
const EVENTS: usize = 256;
/// The loop wakes at least this often while a server waits for its last ACK: should the kernel have
/// no room for the report, it is found by asking.
const LOOK_MS: u16 = 20;

/// A message of a loop.
#[derive(Debug)]
pub enum Message {
    /// A connection failed; nothing more will come.
    Failed(String),
    /// The run is over.
    Ended(Log),
}

/// A loop that has been prepared. It ends with the process.
pub struct Running {
    go: Sender<u64>,
    /// Its messages.
    pub messages: Receiver<Message>,
}

impl Running {
    /// Starts the clock: it shows zero at that time of the monotonic clock, in nanoseconds.
    pub fn go(&self, zero_ns: u64) {
        let _ = self.go.send(zero_ns);
    }
}

/// Makes the loop of a host in the namespace that this thread is in: it drives `driven`, and listens
/// for `heard`.
///
/// # Errors
/// If a port is taken, or the kernel refuses a congestion control.
pub fn prepare(
    config: &Config,
    driven: &[Carried],
    heard: &[Carried],
    shared: &Shared,
) -> io::Result<Running> {
    let (go, started) = channel::<u64>();
    let (say, messages) = channel();
    let flows: Vec<usize> = driven.iter().map(|c| c.flow).collect();
    let mut exchange = Exchange {
        epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
        clock: Clock { zero_ns: 0, end: Time::ZERO + config.duration },
        work: Work::new(config, &flows),
        lanes: driven.iter().map(|c| Lane { carried: c.clone(), open: None }).collect(),
        posts: vec![],
        served: vec![],
        free: vec![],
        shared: shared.clone(),
        quiet: false,
    };
    for carried in heard {
        exchange.listen(carried)?;
    }
    let body = move || {
        let Ok(zero_ns) = started.recv() else { return };
        thread::sleep(Wall::from_nanos(zero_ns.saturating_sub(sys::monotonic_ns())));
        exchange.clock.zero_ns = zero_ns;
        exchange.run(&say);
    };
    thread::Builder::new().stack_size(512 << 10).spawn(body)?;
    Ok(Running { go, messages })
}

#[derive(Clone, Copy)]
struct Clock {
    zero_ns: u64,
    end: Time,
}

impl Clock {
    fn now(self) -> Time {
        Time::from_nanos(sys::monotonic_ns().saturating_sub(self.zero_ns))
    }
}

/// A flow that is driven from here.
struct Lane {
    carried: Carried,
    open: Option<Open>,
}

/// A port at which connections of a flow arrive.
struct Post {
    carried: Carried,
    listener: TcpListener,
}

/// The subject of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    Lane(usize),
    Post(usize),
    Served(usize),
}

impl About {
    fn number(self) -> u64 {
        let (kind, index) = match self {
            About::Lane(i) => (0, i),
            About::Post(i) => (1, i),
            About::Served(i) => (2, i),
        };
        (index as u64) << 2 | kind
    }

    fn of(number: u64) -> Self {
        let index = (number >> 2) as usize;
        match number & 3 {
            0 => About::Lane(index),
            1 => About::Post(index),
            _ => About::Served(index),
        }
    }
}

/// The event loop of a host.
struct Exchange {
    epoll: Epoll,
    clock: Clock,
    work: Work,
    lanes: Vec<Lane>,
    posts: Vec<Post>,
    served: Vec<Option<Served>>,
    /// Free places in `served`.
    free: Vec<usize>,
    shared: Shared,
    /// The run is over: what arrives is read, but nothing is sent any more.
    quiet: bool,
}

impl Exchange {
    fn listen(&mut self, carried: &Carried) -> io::Result<()> {
        let Stream { to, port, mss, buffer, class, request, .. } = carried.stream;
        // Connections inherit what the socket that listens has.
        let congestion = request.is_some().then_some(carried.congestion.as_str());
        let socket = socket::tcp_socket(congestion, mss, buffer, class)?;
        let listener = socket::listen(socket, SocketAddrV4::new(to, port))?;
        listener.set_nonblocking(true)?;
        let about = About::Post(self.posts.len()).number();
        self.epoll.add(&listener, EpollEvent::new(edges(EpollFlags::EPOLLIN), about))?;
        self.posts.push(Post { carried: carried.clone(), listener });
        Ok(())
    }

    /// Runs for ever: the process ends it.
    fn run(&mut self, say: &Sender<Message>) {
        let mut begun = vec![];
        loop {
            let done = self.turn(&mut begun);
            if let Err((flow, e)) = done {
                if !self.quiet {
                    let text = format!("flow {flow}: a connection failed: {e}");
                    let _ = say.send(Message::Failed(text));
                    self.quiet = true;
                }
            } else if !self.quiet && self.clock.now() >= self.clock.end {
                self.quiet = true;
                let _ = say.send(Message::Ended(self.work.end()));
            }
        }
    }

    /// Begins what is due, waits for events and handles them.
    fn turn(&mut self, begun: &mut Vec<Begun>) -> Result<(), (usize, io::Error)> {
        if !self.quiet {
            self.work.advance(self.clock.now(), begun);
            self.start(begun)?;
        }
        let mut events = [EpollEvent::empty(); EVENTS];
        let n = match self.wait(&mut events) {
            Ok(n) => n,
            Err(Errno::EINTR) => 0,
            Err(e) => return Err((0, e.into())),
        };
        for event in &events[..n] {
            match About::of(event.data()) {
                About::Lane(i) => self.look(i, begun)?,
                About::Post(i) => self.accept(i)?,
                About::Served(i) => self.serve(i)?,
            }
            self.start(begun)?;
        }
        if n == 0 {
            for i in 0..self.lanes.len() {
                if self.waits_for_ack(i) {
                    self.look(i, begun)?;
                }
            }
            self.start(begun)?;
        }
        Ok(())
    }

    fn wait(&self, events: &mut [EpollEvent]) -> nix::Result<usize> {
        let mut most = u16::MAX;
        if !self.quiet {
            let until = self.work.next().min(self.clock.end).since(self.clock.now());
            most = until.as_nanos().div_ceil(1_000_000).min(u64::from(most)) as u16;
            if (0..self.lanes.len()).any(|i| self.waits_for_ack(i)) {
                most = most.min(LOOK_MS);
            }
        }
        self.epoll.wait(events, most)
    }

    /// Whether a lane has written its object, and waits for the last ACK.
    fn waits_for_ack(&self, lane: usize) -> bool {
        let Lane { carried, open } = &self.lanes[lane];
        !self.quiet && open.as_ref().is_some_and(|open| open.waits_for_ack(&carried.stream))
    }

    /// Begins to fetch objects.
    fn start(&mut self, begun: &mut Vec<Begun>) -> Result<(), (usize, io::Error)> {
        let mut next = 0;
        // An object may arrive at once, and then another begins.
        while let Some(Begun { lane, bytes }) = begun.get(next).copied().filter(|_| !self.quiet) {
            next += 1;
            let flow = self.lanes[lane].carried.flow;
            self.fetch(lane, bytes).map_err(|e| (flow, e))?;
            self.look(lane, begun)?;
        }
        begun.clear();
        Ok(())
    }

    fn fetch(&mut self, lane: usize, bytes: u64) -> io::Result<()> {
        if self.lanes[lane].open.is_none() {
            self.open(lane)?;
        }
        let Lane { carried, open: Some(open) } = &mut self.lanes[lane] else { return Ok(()) };
        self.shared.sizes[carried.flow].store(bytes, Ordering::Release);
        open.begin(bytes, &carried.stream);
        Ok(())
    }

    fn open(&mut self, lane: usize) -> io::Result<()> {
        let Carried { flow, stream, congestion } = &self.lanes[lane].carried;
        let Stream { to, port, mss, buffer, class, request, .. } = *stream;
        let sends = request.is_none();
        let socket = socket::tcp_socket(sends.then_some(congestion.as_str()), mss, buffer, class)?;
        let stream = socket::begin_connect(socket, SocketAddrV4::new(to, port))?;
        stream.set_nodelay(true)?;
        if sends {
            socket::report_acks(&stream)?;
            self.shared.sockets.add(*flow, &stream)?;
        }
        self.watch(&stream, About::Lane(lane))?;
        self.lanes[lane].open = Some(Open::new(stream));
        Ok(())
    }

    fn watch(&self, stream: &TcpStream, about: About) -> io::Result<()> {
        let both = edges(EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT);
        Ok(self.epoll.add(stream, EpollEvent::new(both, about.number()))?)
    }

    /// Looks after a lane: its object may be complete.
    fn look(&mut self, lane: usize, begun: &mut Vec<Begun>) -> Result<(), (usize, io::Error)> {
        let Lane { carried, open } = &mut self.lanes[lane];
        let Some(connection) = open else { return Ok(()) };
        let complete = connection.advance(&carried.stream, self.quiet);
        if complete.map_err(|e| (carried.flow, e))? && !self.quiet {
            if !carried.stream.persistent {
                *open = None;
            }
            self.work.arrived(self.clock.now(), lane, begun);
        }
        Ok(())
    }

    fn accept(&mut self, post: usize) -> Result<(), (usize, io::Error)> {
        let flow = self.posts[post].carried.flow;
        loop {
            let stream = match self.posts[post].listener.accept() {
                Ok((stream, _)) => stream,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == ErrorKind::ConnectionAborted => continue,
                Err(e) => return Err((flow, e)),
            };
            let place = self.free.pop().unwrap_or(self.served.len());
            self.take(post, place, &stream).map_err(|e| (flow, e))?;
            let served = Some(Served::new(stream, post));
            if place < self.served.len() {
                self.served[place] = served;
            } else {
                self.served.push(served);
            }
            self.serve(place)?;
        }
    }

    fn take(&self, post: usize, place: usize, stream: &TcpStream) -> io::Result<()> {
        let Carried { flow, stream: Stream { request, .. }, .. } = &self.posts[post].carried;
        stream.set_nodelay(true)?;
        if request.is_some() {
            self.shared.sockets.add(*flow, stream)?;
        }
        self.watch(stream, About::Served(place))
    }

    /// Looks after a connection that has arrived.
    fn serve(&mut self, place: usize) -> Result<(), (usize, io::Error)> {
        let Some(served) = &mut self.served[place] else { return Ok(()) };
        let Carried { flow, stream, .. } = &self.posts[served.post].carried;
        let size = &self.shared.sizes[*flow];
        match served.advance(stream, size, self.quiet) {
            Ok(false) => Ok(()),
            Ok(true) => {
                self.served[place] = None;
                self.free.push(place);
                Ok(())
            }
            Err(e) => Err((*flow, e)),
        }
    }
}

/// Events are edges: each is reported once, and all that can be done is done then.
fn edges(flags: EpollFlags) -> EpollFlags {
    flags | EpollFlags::EPOLLET
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_scenario::Scenario;
    use std::net::Ipv4Addr;
    use std::time::Duration as Wall;

    /// Plays a scenario of one entry for two seconds, both hosts being this machine.
    fn play(traffic: &str, request: Option<u32>, persistent: bool) -> (Log, Shared) {
        let text = format!(
            "duration = '2 s'\ntopology.bottleneck = {{ rate = '10 Mbit/s', delay = '1 ms', \
             buffer = 10 }}\n[[traffic]]\n{traffic}\n"
        );
        let config = Scenario::from_toml(&text, "<test>").unwrap().lower(1).unwrap();
        let carried = |flow| {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let (to, mss, buffer, class) = (Ipv4Addr::LOCALHOST, 1012, None, 0);
            let stream = Stream { to, port, mss, buffer, class, request, persistent };
            Carried { flow, stream, congestion: "reno".into() }
        };
        let all: Vec<Carried> = (0..config.flows.len()).map(carried).collect();
        let shared = Shared::new(all.len());
        let hears = prepare(&config, &[], &all, &shared).unwrap();
        let drives = prepare(&config, &all, &[], &shared).unwrap();
        let zero = sys::monotonic_ns() + 10_000_000;
        hears.go(zero);
        drives.go(zero);
        let log = match drives.messages.recv_timeout(Wall::from_secs(20)) {
            Ok(Message::Ended(log)) => log,
            other => panic!("{other:?}"),
        };
        (log, shared)
    }

    const WEB: &str =
        "kind = 'web'\nobject = { pareto = { shape = 1.2, mean = '12 kB', max = '500 kB' } }\n\
                       objects_per_page = 10\nthink = { constant = '20 ms' }";

    #[test]
    fn pages_come_in_each_way() {
        for (request, persistent) in
            [(Some(400), true), (Some(400), false), (None, true), (None, false)]
        {
            let keys = match request {
                Some(bytes) => format!("request = '{bytes} B'"),
                None => String::new(),
            };
            let entry = format!("{WEB}\nconnections = 3\npersistent = {persistent}\n{keys}");
            let (log, shared) = play(&entry, request, persistent);
            assert!(log.pages.len() >= 2, "{request:?} {persistent}: {} pages", log.pages.len());
            let bytes: u64 = log.transfers.iter().take(10).map(|t| t.bytes).sum();
            assert_eq!(bytes, log.pages[0].bytes);
            let sockets: usize = (0..3).map(|i| shared.sockets.of(i, <[_]>::len)).sum();
            let fetched = log.transfers.len();
            let wanted = if persistent { 3..=3 } else { fetched..=fetched + 3 };
            assert!(wanted.contains(&sockets), "{sockets} sockets, {fetched} objects");
            assert!(shared.sockets.of(0, |all| all.iter().all(|s| s.congestion == "reno")));
        }
    }

    #[test]
    fn sessions_and_viewers_are_served() {
        let (log, _) = play(WEB, None, false);
        assert!(log.pages.is_empty() && log.transfers.len() >= 10, "{}", log.transfers.len());
        let (log, shared) = play("kind = 'video'\nchunk = '0.1 s'\nstartup = '0.1 s'", None, true);
        let [(0, viewer)] = &log.viewers[..] else { panic!("one viewer") };
        let seen = viewer.view(Time::ZERO, Time::ZERO + penstock_units::Duration::from_secs(3));
        assert_eq!((seen.chunks as usize, seen.stalls), (log.transfers.len(), 0));
        assert!(seen.chunks > 4);
        assert_eq!(shared.sockets.of(0, <[_]>::len), 1);
    }

    #[test]
    fn a_failed_connection_is_said() {
        let (config, flow) = ("kind = 'video'", 0);
        let text = format!(
            "duration = '9 s'\ntopology.bottleneck = {{ rate = '10 Mbit/s', delay = '1 ms', \
             buffer = 10 }}\n[[traffic]]\n{config}\n"
        );
        let config = Scenario::from_toml(&text, "<test>").unwrap().lower(1).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (to, mss, buffer, class) = (Ipv4Addr::LOCALHOST, 1012, None, 0);
        let stream = Stream { to, port, mss, buffer, class, request: None, persistent: true };
        let carried = Carried { flow, stream, congestion: "reno".into() };
        let drives = prepare(&config, &[carried], &[], &Shared::new(1)).unwrap();
        drives.go(sys::monotonic_ns());
        match drives.messages.recv_timeout(Wall::from_secs(20)) {
            Ok(Message::Failed(text)) => {
                assert!(text.starts_with("flow 0: a connection failed: "), "{text}");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn events_say_what_they_are_about() {
        for about in [About::Lane(0), About::Post(7), About::Served(70_000)] {
            assert_eq!(About::of(about.number()), about);
        }
    }
}
