//! A script as it was read: events, each with its line and its time.

use penstock_units::Duration;

/// A script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// Lines `--name=value`.
    pub options: Vec<ScriptOption>,
    /// What happens, in order.
    pub events: Vec<Event>,
}

/// A line `--name=value`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptOption {
    /// Where it stands.
    pub line: usize,
    /// Its name, without the dashes.
    pub name: String,
    /// Its value; empty where there is none.
    pub value: String,
}

/// Something that happens, or should.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The line on which it begins.
    pub line: usize,
    /// When.
    pub when: When,
    /// What.
    pub action: Action,
}

/// The time of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    /// What the two times count from.
    pub base: Base,
    /// The first time that is right.
    pub from: Duration,
    /// The last one.
    pub to: Duration,
}

/// What a time counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The script's start.
    Start,
    /// The end of the previous event.
    Previous,
    /// Any time will do.
    Any,
}

/// What happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A packet arrives at the host under test, or should leave it.
    Packet(Packet),
    /// The application calls the system.
    Call(Call),
    /// Shell commands.
    Command(String),
    /// Assertions.
    Code(String),
}

/// A TCP packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Whether it arrives at the host under test.
    pub inbound: bool,
    /// The IP header's ECN field; `None`: nobody looks at it.
    pub ecn: Option<EcnField>,
    /// The TCP header's flags.
    pub flags: Flags,
    /// The first byte's number.
    pub start: u64,
    /// The number of bytes.
    pub len: u64,
    /// The acknowledgement number.
    pub ack: Option<u64>,
    /// The window field.
    pub window: Option<u64>,
    /// The TCP options.
    pub options: Options,
}

/// What a packet's ECN field is, or should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnField {
    /// Exactly this.
    Is(penstock_units::Ecn),
    /// One of the two capable code points.
    Capable,
}

/// The TCP header's flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// SYN.
    pub syn: bool,
    /// FIN.
    pub fin: bool,
    /// RST.
    pub rst: bool,
    /// ACK.
    pub ack: bool,
    /// AE, CWR, ECE, from the highest to the lowest bit.
    pub ecn: u8,
}

/// The TCP options of a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Options {
    /// Nobody looks at them.
    Any,
    /// These.
    List(Vec<TcpOption>),
}

/// A TCP option.
#[derive(Clone, Debug, PartialEq)]
pub enum TcpOption {
    /// Maximum segment size.
    Mss(u64),
    /// Padding.
    Padding,
    /// The window's scale.
    WindowScale(u64),
    /// Selective acknowledgements are understood.
    SackOk,
    /// Blocks, each from its first byte up to, but not including, its last number.
    Sack(Vec<(u64, u64)>),
    /// Timestamps.
    Timestamps,
    /// AccECN's counters of bytes: those that came with ECT(1), with CE, and with ECT(0), as far as
    /// the option has them.
    AccEcn([Option<u32>; 3]),
    /// Another, by its name.
    Other(String),
}

/// A system call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// Its arguments as they are written.
    pub args: Vec<String>,
    /// Its result as it is written.
    pub result: String,
}
