//! Recovery finds and repairs losses. Each way has one file, and one line in the list of [`kind`].
//! It is a value with the state that it needs, and works on what all senders share.
//!
//! [`kind`] and [`scoreboard`] lie below the [`Connection`]; the other files lie above it.

pub(crate) mod kind;
mod newreno;
mod prr;
pub(crate) mod quic;
mod rack;
mod reno;
mod sack;
pub(crate) mod scoreboard;
mod tahoe;
mod undo;
mod vegas;

use crate::connection::{Connection, Event, Io};
use crate::ecn::answer;
use crate::info::{CaState, Info};
use crate::segment::Ack;
use kind::{recoveries, Recovery};
use penstock_units::Time;

/// A way of repairing losses.
pub(crate) trait LossRecovery: Default {
    /// Whether a record of each segment under way is kept for it.
    const RECORDS: bool = false;

    /// The first data were given, at `now`.
    fn started(&mut self, _now: Time) {}

    /// Returns the duplicate ACKs since the last ACK of new data.
    fn dupacks(&self) -> u32;

    /// Returns what it believes of the path.
    fn state(&self, c: &Connection) -> CaState {
        match c.last_event {
            _ if c.highest_ack >= c.recover && self.dupacks() > 0 => CaState::Disorder,
            _ if c.highest_ack >= c.recover => CaState::Open,
            Event::DupAcks => CaState::Recovery,
            Event::Timeout => CaState::Loss,
            Event::Mark => CaState::Cwr,
            Event::None | Event::Exited => CaState::Open,
        }
    }

    /// Adds to `info` what it knows.
    fn tell(&self, _info: &mut Info) {}

    /// Returns by how much the window is inflated.
    fn inflation(&self) -> f64 {
        0.0
    }

    /// An ACK has arrived that newly reports `marked` segments as marked: tells the record and the
    /// control.
    #[inline]
    fn hear(&mut self, c: &mut Connection, now: Time, ack: &Ack, marked: i64) {
        c.tell(now, ack, marked, |_, _| {});
    }

    /// An ACK tells of a mark, and the control has heard of it.
    fn on_mark(&mut self, c: &mut Connection, now: Time, ack: &Ack) {
        answer::on_mark(c, now, ack, self.inflation());
    }

    /// An ACK has arrived. The control has heard of it, and its marks have been answered.
    fn on_ack(&mut self, c: &mut Connection, now: Time, ack: &Ack, io: &mut impl Io);

    /// The retransmission timer has expired: what was being repaired is forgotten.
    fn forget(&mut self, c: &mut Connection);

    /// The retransmission timer has expired.
    fn on_timeout(&mut self, c: &mut Connection, now: Time, io: &mut impl Io) {
        self.forget(c);
        c.timeout(now);
        self.send(c, now, false, u32::MAX, io);
    }

    /// Sends at most `burst` segments, as far as nothing speaks against it. `force`: the
    /// delayed-send timer has expired.
    #[inline]
    fn send(&mut self, c: &mut Connection, now: Time, force: bool, burst: u32, io: &mut impl Io) {
        c.send_window(now, self.inflation(), force, burst, io);
    }
}

/// Makes of the list the values that senders hold.
macro_rules! values {
    ($( $(#[$meta:meta])* $name:ident: $module:ident;)*) => {
        /// What a sender's recovery keeps.
        #[derive(Clone, Debug)]
        pub(crate) enum Recovering {
            $( $name($module::$name), )*
        }

        impl Recovering {
            pub(crate) fn new(way: Recovery) -> Self {
                match way {
                    $( Recovery::$name => Recovering::$name($module::$name::default()), )*
                }
            }

            /// Whether a record of each segment under way is kept for it.
            pub(crate) fn records(way: Recovery) -> bool {
                match way {
                    $( Recovery::$name => $module::$name::RECORDS, )*
                }
            }

            pub(crate) fn started(&mut self, now: Time) {
                match self {
                    $( Recovering::$name(r) => r.started(now), )*
                }
            }

            pub(crate) fn dupacks(&self) -> u32 {
                match self {
                    $( Recovering::$name(r) => r.dupacks(), )*
                }
            }

            #[inline]
            pub(crate) fn state(&self, c: &Connection) -> CaState {
                match self {
                    $( Recovering::$name(r) => r.state(c), )*
                }
            }

            pub(crate) fn tell(&self, info: &mut Info) {
                match self {
                    $( Recovering::$name(r) => r.tell(info), )*
                }
            }

            pub(crate) fn hear(&mut self, c: &mut Connection, now: Time, ack: &Ack, marked: i64) {
                match self {
                    $( Recovering::$name(r) => r.hear(c, now, ack, marked), )*
                }
            }

            pub(crate) fn on_mark(&mut self, c: &mut Connection, now: Time, ack: &Ack) {
                match self {
                    $( Recovering::$name(r) => r.on_mark(c, now, ack), )*
                }
            }

            #[inline]
            pub(crate) fn on_ack(
                &mut self,
                c: &mut Connection,
                now: Time,
                ack: &Ack,
                io: &mut impl Io,
            ) {
                match self {
                    $( Recovering::$name(r) => r.on_ack(c, now, ack, io), )*
                }
            }

            pub(crate) fn on_timeout(&mut self, c: &mut Connection, now: Time, io: &mut impl Io) {
                match self {
                    $( Recovering::$name(r) => r.on_timeout(c, now, io), )*
                }
            }

            pub(crate) fn send(
                &mut self,
                c: &mut Connection,
                now: Time,
                force: bool,
                burst: u32,
                io: &mut impl Io,
            ) {
                match self {
                    $( Recovering::$name(r) => r.send(c, now, force, burst, io), )*
                }
            }
        }
    };
}
recoveries!(values);
