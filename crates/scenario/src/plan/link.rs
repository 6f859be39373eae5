//! A link's table describes both directions, and the discipline of each.

use super::section::{Defaults, Section};
use crate::check::duration;
use crate::error::{Problem, ScenarioError};
use crate::files::Files;
use crate::keys::{self, join, Params};
use crate::node::{Item, Node};
use crate::tables::{Access, Link};
use penstock_aqm::{Common, Context, Kind, QueueUnit};
use penstock_sim::{Jitter, Schedule, UserAqm};
use penstock_units::param::{
    field, Dist, Loss, Params as _, Profile, RateSchedule, Ty, Value, Values,
};
use penstock_units::{parse_rate, Bytes, Duration, Framing, QueueLen, Rate, Time, TxClock};
use std::sync::Arc;

type Result<T> = std::result::Result<T, ScenarioError>;

/// Steps that the rate of a link may take in a run.
const MOST_STEPS: u64 = 1_000_000;

/// A table that names a discipline.
#[derive(Clone)]
pub(crate) struct Discipline {
    pub kind: &'static Kind,
    /// Every key of the table, those of `common` among them.
    pub values: Values,
    /// The keys that every kind has.
    pub common: Common,
    /// A user discipline, in place of `kind`.
    pub user: Option<UserAqm>,
}

/// One direction of a link between routers.
#[derive(Clone)]
pub(crate) struct Line {
    pub name: String,
    /// Its place in [`super::Topology::wires`].
    pub wire: usize,
    pub from: u32,
    pub to: u32,
    /// The router at which the line ends; `to` is the modem where a shaper stands in front of one.
    pub end: u32,
    pub cost: u32,
    pub rate: Rate,
    pub delay: Duration,
    pub buffer: QueueLen,
    pub aqm: &'static Kind,
    pub values: Arc<Values>,
    /// The keys that every kind has, as they were written.
    pub common: Common,
    /// A user discipline, in place of `aqm`.
    pub user: Option<UserAqm>,
    /// The table from which `aqm` was read: `aqm`, `aqm.reverse`, or the link's table.
    pub place: String,
    pub loss: Loss,
    /// Whether the wire clears ECN fields, behind the queue.
    pub bleach: bool,
    /// What the wire adds to its delay.
    pub jitter: Option<Jitter>,
    pub schedule: Schedule,
    pub framing: Option<Framing>,
    /// What a shaper lets go at once.
    pub burst: Option<Duration>,
    /// The modem that has yet to be put behind the shaper.
    pub modem: Option<Modem>,
}

impl Line {
    /// Its mean rate from the scenario's time zero on, bits per second.
    pub fn mean_rate(&self, duration: Duration) -> f64 {
        self.schedule.mean_rate(self.rate, (Time::ZERO, Time::ZERO + duration))
    }

    /// What its discipline may know of it.
    pub fn context(&self) -> Context {
        let framing = self.framing.unwrap_or(Framing::NONE);
        Context { framing, ..Context::new(self.rate, self.delay, self.buffer) }
    }
}

/// What stands behind a shaper.
#[derive(Clone)]
pub(crate) struct Modem {
    pub rate: Rate,
    pub framing: Option<Framing>,
    pub buffer: QueueLen,
}

/// Reads a table that names a discipline.
pub(super) fn discipline(root: &Node, path: &str, profile: Profile) -> Result<Discipline> {
    let kind = keys::aqm_kind(root, path)?;
    let section = Section::new(root, path);
    let defaults = Defaults { profile, own: kind.defaults };
    let values = section.fill(&keys::aqm_params(kind), defaults)?;
    let common = Common::read(&values);
    if common.mean_packet.0 == 0 {
        return Err(section.conflict("mean_packet", &values, "must be above 0 B"));
    }
    Ok(Discipline { kind, values, common, user: None })
}

/// Checks that a buffer holds at least one packet and has a possible length.
fn check_buffer(section: &Section, key: &str, values: &Values, buffer: QueueLen) -> Result<()> {
    let fits = match buffer {
        QueueLen::Packets(n) => n.fract() == 0.0 && (1.0..=1e9).contains(&n),
        QueueLen::Bytes(b) => (1..=1 << 50).contains(&b),
    };
    if fits {
        return Ok(());
    }
    let problem = "must be a whole number of packets in [1, 1000000000], or a size of at least 1 B";
    Err(section.conflict(key, values, problem))
}

/// Plans one direction of a link: settles the unit of its queue, converts the buffer, and tries out
/// the discipline.
fn line(
    root: &Node,
    (path, aqm): (&str, &Discipline),
    link: (Rate, Duration, QueueLen),
) -> Result<Line> {
    let section = Section::new(root, path);
    let (rate, delay, buffer) = link;
    let mut values = aqm.values.clone();
    let in_bytes = |q: &QueueLen| matches!(q, QueueLen::Bytes(_));
    let threshold_in_bytes =
        values.iter().any(|(_, v)| matches!(v, Value::Queue(q) if in_bytes(q)));
    let automatic =
        if in_bytes(&buffer) || threshold_in_bytes { QueueUnit::Bytes } else { QueueUnit::Packets };
    let unit = aqm.common.unit.unwrap_or(automatic);
    let mean = aqm.common.mean_packet.0;
    let buffer = match buffer {
        // A float times a whole number; both far below 2^53.
        QueueLen::Packets(n) if unit == QueueUnit::Bytes => {
            QueueLen::Bytes((n * mean as f64).round() as u64)
        }
        QueueLen::Bytes(b) if unit == QueueUnit::Packets => {
            let problem = format!(
                "contradicts the buffer, which is given in bytes ({}); leave unit out, or give the \
                 buffer in packets",
                penstock_units::format_size(Bytes(b)),
            );
            return Err(section.conflict("unit", &values, problem));
        }
        other => other,
    };
    values.put("unit", &unit);
    let context = Context::new(rate, delay, buffer);
    if let Err(error) = penstock_aqm::build(aqm.kind.name, &values, &context) {
        return Err(section.param_error(&values, error));
    }
    Ok(Line {
        name: String::new(),
        wire: 0,
        from: 0,
        to: 0,
        end: 0,
        cost: 1,
        rate,
        delay,
        buffer,
        aqm: aqm.kind,
        values: Arc::new(values),
        common: aqm.common.clone(),
        user: None,
        place: path.into(),
        loss: Loss::Bernoulli(0.0),
        bleach: false,
        jitter: None,
        schedule: Schedule::Steps(vec![]),
        framing: None,
        burst: None,
        modem: None,
    })
}

/// A link's values. A file of the rate over time tells its rate, nothing else does.
pub(super) fn fill_link(section: &Section, params: &Params, files: &Files) -> Result<Values> {
    let trace = section
        .node
        .and_then(|n| n.child("schedule"))
        .is_some_and(|n| !matches!(n.item, Item::List(_)) && n.child("cycle").is_none());
    if !trace && !section.given("rate") {
        return Err(missing_rate(section));
    }
    let mut values = section.fill(params, Defaults::GENERAL)?;
    section.read_files(params, &mut values, files)?;
    Ok(values)
}

fn missing_rate(section: &Section) -> ScenarioError {
    let problem = Problem::Missing { allowed: Ty::Rate.allowed() };
    ScenarioError::new(section.origin, join(&section.path, "rate"), problem)
}

/// Reads both directions of a link. The caller gives them their names and ends.
pub(super) fn directions(
    root: &Node,
    section: &Section,
    values: &mut Values,
    files: &Files,
    [forward, backward]: [(&str, &Discipline); 2],
) -> Result<[Line; 2]> {
    let (schedule, mean) = read_schedule(root, section, values, "schedule", files)?;
    let (back_schedule, back_mean) =
        read_schedule(root, section, values, "reverse_schedule", files)?;
    let link = Link::read(values);
    let rate = link.rate.or(mean).ok_or_else(|| missing_rate(section))?;
    check_buffer(section, "buffer", values, link.buffer)?;
    let reverse_buffer = link.reverse_buffer.unwrap_or(link.buffer);
    check_buffer(section, "reverse_buffer", values, reverse_buffer)?;
    for ((place, aqm), schedule) in [(forward, &schedule), (backward, &back_schedule)] {
        let at = Section::new(root, place);
        let counts = at.given("count_in_service") && aqm.common.count_in_service;
        if counts && matches!(schedule, Schedule::Trace(_)) {
            let problem = "on a link with a mahimahi trace no packet counts as in service";
            return Err(at.conflict("count_in_service", &aqm.values, problem));
        }
    }
    let framing = framing(section, values, &link)?;
    let back_rate = link.reverse_rate.or(back_mean).unwrap_or(rate);
    let back_delay = link.reverse_delay.unwrap_or(link.delay);
    let shaped = |key, text: &Option<String>, rate| {
        let read = |text: &String| shaped_rate(section, values, (key, text), rate);
        text.as_ref().map(read).transpose()
    };
    let ahead_shaped = shaped("shaped", &link.shaped, rate)?;
    let back_shaped = shaped("reverse_shaped", &link.reverse_shaped, back_rate)?;
    check_shaper(section, values, &link)?;
    let one = |places, (rate, shaped): (Rate, Option<Rate>), delay, buffer| {
        let line = line(root, places, (shaped.unwrap_or(rate), delay, buffer))?;
        Ok(match shaped {
            None => Line { framing, ..line },
            Some(shaped) => Line {
                framing: framing.filter(|_| link.shaper_framed),
                burst: Some(burst(shaped, link.shaper_burst)),
                modem: Some(Modem { rate, framing, buffer: link.modem_buffer }),
                ..line
            },
        })
    };
    let ahead = one(forward, (rate, ahead_shaped), link.delay, link.buffer)?;
    let back = one(backward, (back_rate, back_shaped), back_delay, reverse_buffer)?;
    if section.given("reorder") && link.jitter.is_none() && link.reverse_jitter.is_none() {
        let problem = "says something of jitter, and there is none: `jitter`";
        return Err(section.conflict("reorder", values, problem));
    }
    let jitter = |law: Option<Dist>| law.map(|law| Jitter { law, reorder: link.reorder });
    let (there, back_again) = (jitter(link.jitter.clone()), jitter(link.reverse_jitter.clone()));
    Ok([
        Line { loss: link.loss, bleach: link.bleach, schedule, jitter: there, ..ahead },
        Line {
            loss: link.reverse_loss,
            bleach: link.reverse_bleach,
            schedule: back_schedule,
            jitter: back_again,
            ..back
        },
    ])
}

/// What a packet takes on the line, where that is not its own size.
fn framing(section: &Section, values: &Values, link: &Link) -> Result<Option<Framing>> {
    const MOST: u64 = 256;
    for (key, size) in [("overhead", link.overhead), ("mpu", link.mpu)] {
        if size.0 > MOST {
            return Err(section.conflict(key, values, format!("must be at most {MOST} B")));
        }
    }
    let framing =
        Framing { overhead: link.overhead.0 as i64, mpu: link.mpu.0 as u32, cells: link.framing };
    Ok((framing != Framing::NONE).then_some(framing))
}

/// The rate of a shaper in front of a line of `rate`.
fn shaped_rate(
    section: &Section,
    values: &Values,
    (key, text): (&str, &str),
    rate: Rate,
) -> Result<Rate> {
    let share = |text: &str| {
        let percent: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
        (percent > 0.0 && percent <= 1000.0).then(|| rate.as_bps() as f64 * percent / 100.0)
    };
    let shaped = match share(text) {
        Some(bps) => Rate::from_bps(bps.round() as u64),
        None => parse_rate(text).ok(),
    };
    shaped.ok_or_else(|| {
        let problem = "must be a rate, such as \"9.5 Mbit/s\", or a share of the line's rate, \
                       such as \"95 %\", up to 1000 %";
        section.conflict(key, values, problem)
    })
}

/// Checks what is said of a shaper, and that there is one where something is.
fn check_shaper(section: &Section, values: &Values, link: &Link) -> Result<()> {
    let any = link.shaped.is_some() || link.reverse_shaped.is_some();
    for key in ["shaper_burst", "shaper_framed", "modem_buffer"] {
        if section.given(key) && !any {
            return Err(section.conflict(
                key,
                values,
                "says something of a shaper, and there is none: `shaped`",
            ));
        }
    }
    match link.modem_buffer {
        QueueLen::Packets(_) => check_buffer(section, "modem_buffer", values, link.modem_buffer),
        QueueLen::Bytes(_) => {
            Err(section.conflict("modem_buffer", values, "must be a number of packets"))
        }
    }
}

/// What a shaper of `rate` lets go at once.
fn burst(rate: Rate, given: Option<Duration>) -> Duration {
    const LEAST: u32 = 1514;
    given.unwrap_or_else(|| Duration::from_millis(1).max(TxClock::new(rate).alone(LEAST)))
}

/// Reads a link's rate over time, and its mean where a file holds it. The file's hash goes into
/// `values`.
fn read_schedule(
    root: &Node,
    section: &Section,
    values: &mut Values,
    key: &'static str,
    files: &Files,
) -> Result<(Schedule, Option<Rate>)> {
    let run = root.child("duration").map(|n| duration(n, "duration")).transpose()?;
    let run = run.unwrap_or(Duration::ZERO);
    let wrong = |values: &Values, problem: String| section.conflict(key, values, problem);
    let few = |values: &Values, steps: u64| match steps {
        0..=MOST_STEPS => Ok(steps),
        _ => Err(wrong(values, format!("would take {steps} steps; there may be {MOST_STEPS}"))),
    };
    match field::<Option<RateSchedule>>(values, key) {
        None => Ok((Schedule::Steps(vec![]), None)),
        Some(RateSchedule::Steps(steps)) => {
            let steps = steps.iter().map(|(at, rate)| (Time::ZERO + *at, *rate)).collect();
            Ok((Schedule::Steps(steps), None))
        }
        Some(RateSchedule::Cycle { rates, every }) => {
            let turns = few(values, run.as_ticks() / every.as_ticks())?;
            let turn = |i: u64| {
                let at = Duration::from_ticks(i * every.as_ticks());
                (Time::ZERO + at, rates[i as usize % rates.len()])
            };
            Ok((Schedule::Steps((0..=turns).map(turn).collect()), None))
        }
        Some(RateSchedule::StepsFile { file, hash }) => {
            let content = files.read(&file, hash.as_deref()).map_err(|e| wrong(values, e))?;
            let (steps, period) = content.steps().map_err(|e| wrong(values, e))?;
            let rounds = run.as_ticks() / period.as_ticks();
            few(values, (rounds + 1).saturating_mul(steps.len() as u64))?;
            let round = |i: u64| {
                let begins = Time::ZERO + Duration::from_ticks(i * period.as_ticks());
                steps.iter().map(move |(at, rate)| (begins + *at, *rate))
            };
            let once = Schedule::Steps(round(0).collect());
            let lowest = Rate::from_bps(1).expect("above 0");
            let mean = once.mean_rate(lowest, (Time::ZERO, Time::ZERO + period));
            let all = Schedule::Steps((0..=rounds).flat_map(round).collect());
            let hash = Some(content.hash());
            values.set(key, Value::Schedule(RateSchedule::StepsFile { file, hash }));
            Ok((all, Rate::from_bps(mean.round().max(1.0) as u64)))
        }
        Some(RateSchedule::Mahimahi { file, hash }) => {
            let content = files.read(&file, hash.as_deref()).map_err(|e| wrong(values, e))?;
            let trace = Arc::new(content.trace().map_err(|e| wrong(values, e))?);
            let (hash, mean) = (Some(content.hash()), trace.mean_rate());
            values.set(key, Value::Schedule(RateSchedule::Mahimahi { file, hash }));
            Ok((Schedule::Trace(trace), Some(mean)))
        }
    }
}

/// Takes a line's modem from behind its shaper: the link from router `at`, where the shaper's link
/// ends from now on.
pub(super) fn modem(root: &Node, shaper: &mut Line, at: u32) -> Result<Option<Line>> {
    let Some(Modem { rate, framing, buffer }) = shaper.modem.take() else { return Ok(None) };
    let fifo = penstock_aqm::kind("droptail").expect("droptail is a kind");
    // A table that is not there: all that a FIFO takes has a default.
    let nowhere = Section::new(root, "topology.modem");
    let values = nowhere.fill(&keys::aqm_params(fifo), Defaults::GENERAL)?;
    let common = Common::read(&values);
    let fifo = Discipline { kind: fifo, common, values, user: None };
    let behind = line(root, ("topology.modem", &fifo), (rate, Duration::ZERO, buffer))?;
    let modem = Line {
        name: format!("{}.modem", shaper.name),
        wire: shaper.wire,
        from: at,
        to: shaper.end,
        end: shaper.end,
        cost: 0,
        place: shaper.place.clone(),
        loss: std::mem::replace(&mut shaper.loss, Loss::Bernoulli(0.0)),
        bleach: std::mem::replace(&mut shaper.bleach, false),
        jitter: shaper.jitter.take(),
        schedule: std::mem::replace(&mut shaper.schedule, Schedule::Steps(vec![])),
        framing,
        ..behind
    };
    shaper.to = at;
    Ok(Some(modem))
}

/// `topology.access` or `.egress`; `None` where it is left out.
pub(super) fn side(root: &Node, name: &str) -> Result<Option<Access>> {
    let section = Section::new(root, &join("topology", name));
    if section.node.is_none() {
        return Ok(None);
    }
    let values = section.fill(&vec![Access::TABLE], Defaults::GENERAL)?;
    let access = Access::read(&values);
    if let Some(buffer) = access.buffer {
        check_buffer(&section, "buffer", &values, buffer)?;
    }
    Ok(Some(access))
}
