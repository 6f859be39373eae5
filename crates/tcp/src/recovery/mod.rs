//! How losses are found and repaired. One file per way, each a few functions of a [`Sender`]:
//! what an ACK, new or duplicate, makes it do.
//!
//! [`kind`] and [`scoreboard`] lie below the sender, which holds their values; the other files lie
//! above it.
//!
//! [`Sender`]: crate::Sender

pub(crate) mod kind;
pub(crate) mod newreno;
pub(crate) mod reno;
pub(crate) mod sack;
pub(crate) mod scoreboard;
pub(crate) mod tahoe;
pub(crate) mod vegas;
