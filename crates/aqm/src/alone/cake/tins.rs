//! Tins: the classes of traffic, and which of them is served next.

use super::flows::Queues;
use crate::alone::cobalt::Law;
use penstock_units::{words, Rate, Time, TxClock};

words! {
    /// The tins, and which DSCPs belong to which.
    pub enum Tins {
        /// One for all.
        BestEffort = "besteffort",
        /// Best effort, bulk, latency.
        Diffserv3 = "diffserv3",
        /// Best effort, bulk, video, voice.
        Diffserv4 = "diffserv4",
        /// Eight, by RFC 4594's classes.
        Diffserv8 = "diffserv8",
        /// Eight, by the first three bits of the DSCP.
        Precedence = "precedence",
    }
}

/// A tin as its scheme lists it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed {
    pub name: &'static str,
    /// Its part of the link's rate.
    share: f64,
    /// Bytes of a round, where tins take turns by deficit round robin.
    round: u32,
}

/// Tins, in the order in which clocks are looked at, and the DSCPs of each but the rest.
#[derive(Debug)]
pub(super) struct Scheme {
    pub tins: &'static [Listed],
    /// By DSCP: the place in `tins`.
    classes: [u8; 64],
}

/// The rate of a tin's clock.
pub(super) fn rate(link: Rate, tin: &Listed) -> Rate {
    let bps = (link.as_bps() as f64 * tin.share) as u64;
    // Linux counts less than 64 B/s as that.
    Rate::from_bps(bps.max(512)).expect("above 0")
}

const fn tin(name: &'static str, share: f64, round: u32) -> Listed {
    Listed { name, share, round }
}

/// The place of each DSCP: `rest` where no list has it.
const fn classes(rest: u8, lists: &[(u8, &[u8])]) -> [u8; 64] {
    let mut out = [rest; 64];
    let mut i = 0;
    while i < lists.len() {
        let (tin, dscps) = lists[i];
        let mut j = 0;
        while j < dscps.len() {
            out[dscps[j] as usize] = tin;
            j += 1;
        }
        i += 1;
    }
    out
}

/// The first three bits of each DSCP.
const fn precedences() -> [u8; 64] {
    let mut out = [0; 64];
    let mut dscp = 0;
    while dscp < 64 {
        out[dscp] = dscp as u8 / 8;
        dscp += 1;
    }
    out
}

const BEST_EFFORT: Scheme = Scheme { tins: &[tin("best-effort", 1.0, 65_535)], classes: [0; 64] };

const DIFFSERV3: Scheme = Scheme {
    tins: &[
        tin("best-effort", 1.0, 1024),
        tin("bulk", 1.0 / 16.0, 64),
        tin("latency", 1.0 / 4.0, 256),
    ],
    classes: classes(0, &[(1, &[1, 8]), (2, &[4, 44, 46, 48, 56])]),
};

const DIFFSERV4: Scheme = Scheme {
    tins: &[
        tin("best-effort", 1.0, 1024),
        tin("bulk", 1.0 / 16.0, 64),
        tin("video", 1.0 / 2.0, 512),
        tin("voice", 1.0 / 4.0, 256),
    ],
    classes: classes(
        0,
        &[
            (1, &[1, 8]),
            (2, &[4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38]),
            (3, &[32, 40, 44, 46, 48, 56]),
        ],
    ),
};

/// Each has 7/8 of the one before it.
const EIGHTHS: [Listed; 8] = [
    tin("tin0", 1.0, 256),
    tin("tin1", 0.875, 224),
    tin("tin2", 0.765_625, 196),
    tin("tin3", 0.669_921_875, 171),
    tin("tin4", 0.586_181_640_625, 149),
    tin("tin5", 0.512_908_935_546_875, 130),
    tin("tin6", 0.448_795_318_603_515_6, 113),
    tin("tin7", 0.392_695_903_778_076_2, 98),
];

const DIFFSERV8: Scheme = Scheme {
    tins: &EIGHTHS,
    classes: classes(
        2,
        &[
            (0, &[1]),
            (1, &[2, 8, 10, 12, 14]),
            (3, &[24, 26, 28, 30, 34, 36, 38]),
            (4, &[4, 18, 20, 22]),
            (5, &[16]),
            (6, &[32, 40, 44, 46]),
            (7, &[48, 56]),
        ],
    ),
};

const PRECEDENCE: Scheme = Scheme { tins: &EIGHTHS, classes: precedences() };

impl Scheme {
    pub(super) fn of(tins: Tins) -> &'static Self {
        match tins {
            Tins::BestEffort => &BEST_EFFORT,
            Tins::Diffserv3 => &DIFFSERV3,
            Tins::Diffserv4 => &DIFFSERV4,
            Tins::Diffserv8 => &DIFFSERV8,
            Tins::Precedence => &PRECEDENCE,
        }
    }

    /// Returns the tin of a packet with this DSCP.
    #[inline]
    pub(super) fn tin(&self, dscp: u8) -> u8 {
        self.classes[usize::from(dscp) & 63]
    }
}

/// What decides when it is a tin's turn.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    /// Packets that wait in it.
    pub packets: u32,
    clock: TxClock,
    /// From this time on the tin is within its rate.
    due: Time,
    round: i64,
    deficit: i64,
}

impl Turns {
    /// A tin whose clock runs at `rate`.
    pub(super) fn new(tin: &Listed, rate: Rate) -> Self {
        let round = tin.round.into();
        Turns { packets: 0, clock: TxClock::new(rate), due: Time::ZERO, round, deficit: 0 }
    }

    /// Its rate and its rounds are those of `new` from now on.
    pub(super) fn takes(&mut self, new: Self) {
        let Turns { packets, due, deficit, .. } = *self;
        *self = Turns { packets, due, deficit, ..new };
    }

    /// A packet waits in it from now on.
    #[inline]
    pub(super) fn arrives(&mut self, now: Time) {
        if self.packets == 0 {
            self.due = self.due.max(now);
        }
        self.packets += 1;
    }

    /// `bytes` on the wire leave it.
    #[inline]
    pub(super) fn sends(&mut self, now: Time, bytes: u32) {
        self.deficit -= i64::from(bytes);
        let long = self.clock.next(bytes);
        // What it was late is caught up, but not more than a packet of it.
        if self.due < now {
            self.due += long;
        } else {
            self.due = self.due.max(now + long);
        }
    }
}

/// One tin: its place among the others, and its queues.
#[derive(Clone, Debug)]
pub(super) struct Tin {
    pub turn: Turns,
    pub queues: Queues,
    pub law: Law,
}

/// How tins take turns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    /// By deficit round robin.
    rounds: bool,
    /// The tin whose turn it is then.
    at: usize,
}

impl Choice {
    pub(super) fn new(rounds: bool) -> Self {
        Choice { rounds, at: 0 }
    }

    /// Returns the tin whose turn it is, of those that have flows; one has.
    #[inline]
    pub(super) fn tin(&mut self, tins: &mut [Tin], now: Time) -> usize {
        if let [_] = tins {
            return 0;
        }
        if self.rounds {
            return self.round(tins);
        }
        // The last one that is due; where none is, the one that is so first, the last of equals.
        let mut best = (u64::MAX, 0);
        for (i, tin) in tins.iter().enumerate().filter(|(_, tin)| tin.queues.has_flows()) {
            let wait = if tin.turn.due <= now { 0 } else { tin.turn.due.since(now).as_ticks() };
            if wait <= best.0 {
                best = (wait, i);
            }
        }
        best.1
    }

    fn round(&mut self, tins: &mut [Tin]) -> usize {
        self.at %= tins.len();
        loop {
            let tin = &mut tins[self.at];
            if tin.turn.deficit >= 0 && tin.queues.has_flows() {
                return self.at;
            }
            if tin.turn.deficit <= 0 {
                tin.turn.deficit += tin.turn.round;
            }
            self.at = (self.at + 1) % tins.len();
        }
    }
}
