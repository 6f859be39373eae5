//! A flow's two ends and its application.

use crate::config::{App, Datagram, Early, FlowConfig, OnOff, UdpPattern};
use crate::line::EventLine;
use crate::sched::Present;
use crate::session::Connection;
use crate::video::Viewer;
use crate::web::WebSession;
use penstock_tcp::{Counters, Receiver, Sender, TcpParams, Timer};
use penstock_units::{Duration, Rng, Time, TxClock};
use std::sync::Arc;

/// What all flows have.
#[derive(Clone)]
#[repr(C)]
pub(crate) struct Flow {
    pub(crate) ends: Ends,
    pub(crate) kind: FlowKind,
    pub(crate) rng: Rng,
    pub(crate) group: u32,
    pub(crate) counts: bool,
    pub(crate) open_loop: bool,
}

/// Between which hosts a flow's packets go, and how.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) forward: u16,
    pub(crate) backward: u16,
    /// Which of the flow's connections this is: packets of earlier ones are ignored.
    pub(crate) epoch: u16,
    pub(crate) class: u8,
}

/// What differs between them. Inline, not boxed: a pointer to follow costs a cache miss a packet
/// where flows are many, and scenarios with many flows are scenarios of TCP.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "see above")]
pub(crate) enum FlowKind {
    /// TCP.
    Tcp(Tcp),
    /// Datagrams.
    Udp(Box<Udp>),
}

/// A TCP flow: what a data packet touches, what an ACK touches, what neither does.
#[derive(Clone)]
#[repr(C)]
pub(crate) struct Tcp {
    pub(crate) receiver: Receiver,
    /// The times for which timer events stand in the queue.
    pub(crate) ack_timer_at: Time,
    /// What was worked out when an ACK was held back last.
    pub(crate) held_back: Present,
    /// The same of segments at a host that may hold ACKs back.
    pub(crate) segments: EventLine,
    pub(crate) timer_at: Time,
    /// Where the sender is paced, its next turn to send.
    pub(crate) turn: Option<Box<Turn>>,
    /// ACKs before this may be worked out ahead of time: until then nothing but ACKs and the timer
    /// touches the sender, and nobody else sends from its host.
    pub(crate) undisturbed_until: Time,
    /// ACKs that must wait for their time, and those behind them. The first of them has an event.
    pub(crate) acks: EventLine,
    /// The bytes of a full segment, and the last one of the transfer with its payload, which may be
    /// short.
    pub(crate) full: u32,
    pub(crate) last_bytes: u32,
    pub(crate) last: i64,
    pub(crate) p: Arc<TcpParams>,
    /// Bytes of the present transfer, or of a long one to come; `None`: without end.
    pub(crate) bytes: Option<u64>,
    pub(crate) sender: Sender,
    pub(crate) app: TcpApp,
    /// Payload bytes acknowledged by earlier connections, less what the last segments of earlier
    /// transfers of this connection lack.
    pub(crate) acked_before: i64,
    /// When the present transfer began, or a long one will begin.
    pub(crate) began: Time,
    /// Events of the timer that were passed over, once there were any. See [`Tcp::foresees`].
    pub(crate) passed: Option<Box<Passed>>,
    /// What had been counted when the measured window began; from its end on, what was counted in
    /// it. `None`: nothing.
    pub(crate) window: Option<Box<Snapshot>>,
}

/// When a paced sender looks next whether its pace lets a segment out. That needs an event only if
/// the time comes before it is worked out: with an ACK that comes later, it is worked out ahead.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    /// [`Time::NEVER`]: nothing waits.
    pub(crate) at: Time,
    /// What was worked out when that was settled.
    pub(crate) since: Present,
    /// For when an event stands in the queue: then or earlier.
    pub(crate) event_at: Time,
}

impl Turn {
    /// Nothing waits.
    pub(crate) const NONE: Turn =
        Turn { at: Time::NEVER, since: Present::NONE, event_at: Time::NEVER };
}

/// Events of a sender's timer that were passed over: each would have done nothing but schedule the
/// next one. The first of them stands in the queue, and schedules the one behind the last when it
/// comes.
#[derive(Clone, Copy)]
pub(crate) struct Passed {
    /// When the first comes; [`Time::NEVER`]: there is none.
    pub(crate) first: Time,
    /// When the last two would have come; the same twice where there is one.
    pub(crate) last: [Time; 2],
    /// For when the last one schedules the next.
    pub(crate) moves_to: Time,
}

/// Counters at an end of the measured window, or within it.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) acked_bytes: u64,
    pub(crate) counters: Counters,
    /// The handshake is over.
    pub(crate) connected: bool,
    /// The smoothed round-trip time, seconds; that of the window's end is its own.
    pub(crate) srtt_s: Option<f64>,
}

impl Snapshot {
    /// Puts it away, unless nothing was counted.
    pub(crate) fn kept(self) -> Option<Box<Self>> {
        (self != Snapshot::default()).then(|| Box::new(self))
    }

    /// Returns what has come since `then`.
    pub(crate) fn since(self, then: Self) -> Self {
        Snapshot {
            acked_bytes: self.acked_bytes - then.acked_bytes,
            counters: self.counters.since(then.counters),
            connected: self.connected && !then.connected,
            srtt_s: self.srtt_s,
        }
    }
}

/// What runs over TCP. Sessions of the web and viewers are boxed: transfers, of which there may be
/// a hundred thousand, need a third of their memory.
#[derive(Clone)]
pub(crate) enum TcpApp {
    /// `stop`: [`Time::NEVER`] with the run; `early`: it connects before its start.
    Ftp {
        stop: Time,
        early: Option<Box<Early>>,
    },
    Web(Box<WebSession>),
    Browser(Box<Connection>),
    Video(Box<Viewer>),
}

/// A datagram source.
#[derive(Clone)]
pub(crate) struct Udp {
    /// Size of the next packet.
    pub(crate) bytes: u32,
    rhythm: Rhythm,
    start: Time,
    /// When it ends; [`Time::NEVER`]: with the run.
    stop: Time,
    /// When the next packet leaves the source; [`Time::NEVER`]: none is left.
    next: Time,
    /// The measured window's ends and, once a packet leaves there or later, how many have left
    /// before.
    ends: [(Time, Option<u64>); 2],
    /// The first of these ends, and of the stop, that no packet has come to.
    until: Time,
    /// The gaps between packets where all are alike.
    even: Option<TxClock>,
    /// Payload delivered in the measured window.
    pub(crate) delivered: u64,
    /// Packets that have left the source, whenever that was.
    pub(crate) sent: u64,
    /// Nothing else sends from its host.
    pub(crate) own_host: bool,
    /// It is the only source of datagrams, so that its packets may be worked out ahead. Of two
    /// sources with one rhythm the packets may come at the same instants for ever, in an order that
    /// only events can tell.
    pub(crate) foreseen: bool,
    /// All that comes to its first link is its own, besides.
    pub(crate) lone: bool,
}

/// When a datagram source's packets leave.
#[derive(Clone)]
enum Rhythm {
    /// One after the other with gaps of a pattern.
    Gaps {
        gap: TxClock,
        gap_ns: f64,
        pattern: UdpPattern,
        jitter: f64,
        /// End of the present on-period.
        on_until: Time,
    },
    /// As written down: the packets, and the number of the next.
    Replay(Arc<[Datagram]>, usize),
}

impl Flow {
    pub(crate) fn new(c: &FlowConfig, seed: u64, window: (Time, Time)) -> Self {
        let mut rng = Rng::stream(seed, &format!("flow/{}/{}", c.group, c.index));
        let kind = match &c.app {
            App::Ftp { tcp, start, early, stop, bytes } => {
                let stop = stop.unwrap_or(Time::NEVER);
                let app = TcpApp::Ftp { stop, early: early.clone() };
                let t = Tcp::new(tcp, app, &mut rng);
                FlowKind::Tcp(t.with_one(*start, *bytes))
            }
            App::Web { tcp, start, stop, pages } => {
                let app = TcpApp::Web(Box::new(WebSession::new(pages, *start, *stop)));
                FlowKind::Tcp(Tcp::new(tcp, app, &mut rng))
            }
            App::Browser { tcp, session, connection } => {
                let connection = Connection::new(c, session, *connection, seed);
                FlowKind::Tcp(Tcp::new(tcp, TcpApp::Browser(Box::new(connection)), &mut rng))
            }
            App::Video { tcp, start, stop, config } => {
                let app = TcpApp::Video(Box::new(Viewer::new(config, *start, *stop)));
                FlowKind::Tcp(Tcp::new(tcp, app, &mut rng))
            }
            App::Udp { rate, packet, pattern, jitter, start, stop } => {
                let bytes = packet.0.clamp(1, u64::from(u32::MAX)) as u32;
                let rhythm = Rhythm::Gaps {
                    gap: TxClock::new(*rate),
                    gap_ns: packet.0 as f64 * 8e9 / rate.as_bps() as f64,
                    pattern: pattern.clone(),
                    jitter: *jitter,
                    on_until: Time::ZERO,
                };
                FlowKind::Udp(Box::new(Udp::new(bytes, rhythm, (*start, *stop), window)))
            }
            App::Replay { packets, start, stop } => {
                let rhythm = Rhythm::Replay(Arc::clone(packets), 0);
                FlowKind::Udp(Box::new(Udp::new(0, rhythm, (*start, *stop), window)))
            }
        };
        Flow {
            group: c.group,
            ends: Ends {
                src: c.src,
                dst: c.dst,
                forward: c.forward,
                backward: c.backward,
                class: c.class,
                epoch: 0,
            },
            counts: c.counts,
            open_loop: c.open_loop,
            rng,
            kind,
        }
    }
}

impl Tcp {
    fn new(p: &Arc<TcpParams>, app: TcpApp, rng: &mut Rng) -> Self {
        Tcp {
            sender: Sender::new(Arc::clone(p), rng.unit()),
            receiver: Receiver::new(p),
            p: Arc::clone(p),
            full: p.segment_bytes() + p.header_bytes(),
            last_bytes: p.segment_bytes(),
            last: i64::MAX,
            timer_at: Time::NEVER,
            turn: None,
            undisturbed_until: match app {
                // The end of a transfer is an event for others as well.
                TcpApp::Web(_) | TcpApp::Browser(_) | TcpApp::Video(_) => Time::ZERO,
                // So is the start of one that has connected before.
                TcpApp::Ftp { early: Some(_), .. } => Time::ZERO,
                TcpApp::Ftp { stop, .. } => stop,
            },
            acks: EventLine::EMPTY,
            ack_timer_at: Time::NEVER,
            held_back: Present::NONE,
            segments: EventLine::EMPTY,
            app,
            acked_before: 0,
            window: None,
            began: Time::ZERO,
            passed: None,
            bytes: None,
        }
    }

    /// It makes one transfer, of so many bytes, which will begin at `start`.
    fn with_one(mut self, start: Time, bytes: Option<u64>) -> Self {
        (self.began, self.bytes) = (start, bytes);
        if bytes.is_some() {
            self.undisturbed_until = Time::ZERO;
        }
        self
    }

    /// Cuts a transfer of `bytes` into segments; how many.
    pub(crate) fn cut(&mut self, bytes: Option<u64>) -> u64 {
        self.bytes = bytes;
        let segment = u64::from(self.p.segment_bytes());
        let Some(bytes) = bytes else {
            (self.last, self.last_bytes) = (i64::MAX, self.p.segment_bytes());
            return u64::MAX;
        };
        let n = bytes.div_ceil(segment).max(1);
        let short = bytes - (n - 1) * segment;
        let last = if self.p.whole_segments { segment } else { short.max(1) };
        let first = self.sender.given().max(self.sender.first_data());
        (self.last, self.last_bytes) = (first + n as i64 - 1, last as u32);
        n
    }

    /// Starts a fresh connection of the same two ends.
    pub(crate) fn reconnect(&mut self, ends: &mut Ends, rng: &mut Rng) {
        let phase = rng.unit();
        self.acked_before = self.acked_bytes() as i64;
        self.sender.reset(phase);
        self.receiver.reset();
        ends.epoch = ends.epoch.wrapping_add(1);
    }

    /// Gets ready for a further transfer on the same connection. All before it is acknowledged.
    pub(crate) fn keep_open(&mut self) {
        debug_assert!(self.sender.acknowledged() >= self.last);
        self.acked_before -= i64::from(self.p.segment_bytes() - self.last_bytes);
    }

    /// Returns what the last segments of earlier transfers of this connection lack, where it is the
    /// flow's only one; modulo 2^32, as sequence numbers.
    pub(crate) fn lacking(&self) -> u32 {
        self.acked_before.wrapping_neg() as u32
    }

    /// Returns whether an ACK that comes at `at` may be worked out now, once those before it are.
    /// Nobody looks at the senders before `until`. What is passed over counts in `events`.
    #[inline]
    pub(crate) fn foresees(&mut self, at: Time, until: Time, events: &mut u64) -> bool {
        at < until.min(self.undisturbed_until)
            && (at < self.timer_at || self.passes_over(at, events))
    }

    /// When the sender's timers expire, except for pacing's. That has an event of its own: one for
    /// both would move at each segment, and leave an event of the other behind.
    #[inline]
    pub(crate) fn slow_timer(&self) -> Time {
        let timers = self.sender.timers();
        timers.at(Timer::Rtx).min(timers.at(Timer::Overhead))
    }

    /// The timer's event comes before an ACK at `at`. While its time has not come at `at` either,
    /// that event will do nothing but move on to the deadline that holds now, before the ACK: it
    /// can be passed over. The timer then stands where it will be moved to.
    #[inline(never)]
    fn passes_over(&mut self, at: Time, events: &mut u64) -> bool {
        let due = self.slow_timer();
        if due == Time::NEVER || due <= at || at == self.timer_at {
            return false;
        }
        let none = Passed { first: Time::NEVER, last: [Time::NEVER; 2], moves_to: Time::NEVER };
        let passed = self.passed.get_or_insert_with(|| Box::new(none));
        if passed.first == Time::NEVER {
            (passed.first, passed.last) = (self.timer_at, [self.timer_at; 2]);
        } else if passed.moves_to == self.timer_at {
            passed.last = [passed.last[1], self.timer_at];
            *events += 1; // it has none of its own
        } else {
            return false; // an earlier one has overtaken them
        }
        passed.moves_to = due;
        self.timer_at = due;
        true
    }

    /// Payload bytes acknowledged so far.
    pub(crate) fn acked_bytes(&self) -> u64 {
        let n = (self.sender.acknowledged() + 1 - self.sender.first_data()).max(0);
        let full = n * i64::from(self.p.segment_bytes());
        let short = if self.sender.acknowledged() >= self.last {
            self.p.segment_bytes() - self.last_bytes
        } else {
            0
        };
        (self.acked_before + full - i64::from(short)).max(0) as u64
    }

    /// Returns what [`Tcp::window`] says.
    pub(crate) fn in_window(&self) -> Snapshot {
        self.window.as_deref().copied().unwrap_or_default()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            acked_bytes: self.acked_bytes(),
            counters: self.sender.counters(),
            connected: self.sender.acknowledged() >= 0,
            srtt_s: self.sender.srtt(),
        }
    }
}

impl Udp {
    fn new(
        bytes: u32,
        rhythm: Rhythm,
        (start, stop): (Time, Option<Time>),
        window: (Time, Time),
    ) -> Self {
        let stop = stop.unwrap_or(Time::NEVER);
        let even = match &rhythm {
            Rhythm::Gaps { gap, pattern: UdpPattern::Cbr, jitter, .. } if *jitter == 0.0 => {
                Some(*gap)
            }
            _ => None,
        };
        Udp {
            bytes,
            rhythm,
            start,
            stop,
            next: start,
            ends: [(window.0, None), (window.1, None)],
            until: stop.min(window.0),
            even,
            delivered: 0,
            sent: 0,
            own_host: false,
            foreseen: false,
            lone: false,
        }
    }

    /// The source is switched on: when its first packet leaves.
    pub(crate) fn begin(&mut self, rng: &mut Rng) -> Option<Time> {
        match &mut self.rhythm {
            Rhythm::Gaps { pattern: UdpPattern::Cbr, .. } => {}
            Rhythm::Gaps { pattern: UdpPattern::Poisson, gap_ns, jitter, .. } => {
                self.next +=
                    Duration::from_nanos((rng.exponential(*gap_ns) * factor(*jitter, rng)) as u64);
            }
            Rhythm::Gaps { pattern: UdpPattern::OnOff(periods), on_until, .. } => {
                *on_until = self.start + Duration::from_secs_f64(periods.on.draw(rng));
            }
            Rhythm::Replay(..) => return self.rarer(),
        }
        self.on_time()
    }

    /// The run ends at `end`. Counts the packets that leave the source until then and reach their
    /// first link later: nobody has asked for them.
    pub(crate) fn finish(&mut self, end: Time, rng: &mut Rng) {
        while self.next < end.min(self.stop) {
            self.sent += 1;
            self.after(rng);
        }
    }

    /// Returns how many packets left the source in the measured window, after the run.
    pub(crate) fn sent_in_window(&self) -> u64 {
        let [from, to] = self.ends.map(|(_, before)| before.unwrap_or(self.sent));
        to - from
    }

    /// A datagram of `bytes` comes to its receiver at `at`; `None`: to a full access link.
    #[inline(always)]
    pub(crate) fn arrives(&mut self, at: Option<Time>, bytes: u32, window: (Time, Time)) {
        if at.is_some_and(|at| at >= window.0 && at < window.1) {
            self.delivered += u64::from(bytes);
        }
    }

    /// A packet has left at `self.next`: when the one after it does.
    #[inline(always)]
    pub(crate) fn after(&mut self, rng: &mut Rng) -> Option<Time> {
        let Some(gap) = &mut self.even else { return self.after_a_gap(rng) };
        self.next += gap.next(self.bytes);
        self.on_time()
    }

    fn after_a_gap(&mut self, rng: &mut Rng) -> Option<Time> {
        let Rhythm::Gaps { gap, gap_ns, pattern, jitter, on_until } = &mut self.rhythm else {
            return self.rarer();
        };
        let even = |rng: &mut Rng| {
            if *jitter == 0.0 {
                gap.next(self.bytes)
            } else {
                Duration::from_nanos((*gap_ns * factor(*jitter, rng)) as u64)
            }
        };
        match pattern {
            UdpPattern::Cbr => self.next += { even }(rng),
            UdpPattern::Poisson => {
                self.next +=
                    Duration::from_nanos((rng.exponential(*gap_ns) * factor(*jitter, rng)) as u64);
            }
            UdpPattern::OnOff(periods) => {
                let OnOff { on, off } = &**periods;
                self.next += { even }(rng);
                // A period that is over is followed by silence, and that by the next period's first
                // packet.
                while self.next >= *on_until {
                    self.next = *on_until + Duration::from_secs_f64(off.draw(rng));
                    *on_until = self.next + Duration::from_secs_f64(on.draw(rng)).max_one();
                }
            }
        }
        self.on_time()
    }

    /// Returns when the next packet leaves in the rhythms that are kept out of the common path.
    #[cold]
    fn rarer(&mut self) -> Option<Time> {
        match &mut self.rhythm {
            Rhythm::Gaps { .. } => return None,
            Rhythm::Replay(packets, number) => {
                let Some(packet) = packets.get(*number) else {
                    self.next = Time::NEVER;
                    return None;
                };
                *number += 1;
                self.bytes = packet.bytes;
                self.next = self.start + packet.at;
            }
        }
        self.on_time()
    }

    /// Returns when the next packet leaves, if it does. All before it have been counted.
    #[inline]
    fn on_time(&mut self) -> Option<Time> {
        if self.next < self.until {
            return Some(self.next);
        }
        self.passes()
    }

    /// The next packet leaves at an end of the measured window, or later, or never.
    #[cold]
    fn passes(&mut self) -> Option<Time> {
        let (next, sent) = (self.next, self.sent);
        self.until = self.stop;
        for (end, before) in &mut self.ends {
            if next >= *end {
                before.get_or_insert(sent);
            } else {
                self.until = self.until.min(*end);
            }
        }
        (next < self.stop).then_some(next)
    }
}

/// `1 + U(−jitter, jitter)`; without jitter no dice.
fn factor(jitter: f64, rng: &mut Rng) -> f64 {
    if jitter == 0.0 {
        1.0
    } else {
        1.0 + rng.uniform(-jitter, jitter)
    }
}

/// Keeps a drawn period from being (almost) empty, so that on and off cannot alternate without end.
trait MaxOne {
    fn max_one(self) -> Self;
}
impl MaxOne for Duration {
    fn max_one(self) -> Self {
        self.max(Duration::from_micros(1))
    }
}
