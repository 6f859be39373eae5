//! The second pass: defaults filled in, values checked together, disciplines and transports tried
//! out.

use crate::error::{Problem, ScenarioError};
use crate::files::Files;
use crate::node::{Item, Node};
use crate::tables::{Access, Measure, Profile, Top};
use crate::walk::{self, join};
use penstock_aqm::{Context, Kind};
use penstock_sim::Schedule;
use penstock_units::param::{Loss, Params as _, Value, Values};
use penstock_units::{format_duration, Bytes, Duration, QueueLen, Rate};
use std::sync::Arc;

mod section;
mod topology;
mod traffic;

use section::{Defaults, Section};
use topology::{topology, LONGEST_ROUTE};
pub(crate) use topology::{Line, Topology, Wire};
use traffic::entry;
pub(crate) use traffic::{is_read, Source, Traffic};

type Result<T> = std::result::Result<T, ScenarioError>;

/// More header bytes than this are taken for a mistake.
const LARGEST_HEADER: u64 = 10_000;

/// A scenario whose values are complete and fit together.
#[derive(Clone)]
pub(crate) struct Plan {
    pub top: Top,
    pub measure: Measure,
    pub topology: Topology,
    pub aqm: Discipline,
    pub reverse: Discipline,
    pub traffic: Vec<Traffic>,
}

#[derive(Clone)]
pub(crate) struct Discipline {
    pub kind: &'static Kind,
    pub values: Values,
}

/// Reads a tree that has passed [`walk::scenario`].
pub(crate) fn plan(root: &Node, files: &Files) -> Result<Plan> {
    let top = top(root)?;
    let ns2 = top.profile == Profile::Ns2;
    let measure = measured(root, top.duration)?;
    let aqm = discipline(root, "aqm", ns2)?;
    let reverse = discipline(root, "aqm.reverse", ns2)?;
    let topology = topology(root, files, (&aqm, &reverse), ns2)?;
    let entries = match root.child("traffic").map(|n| &n.item) {
        Some(Item::List(list)) => list.as_slice(),
        _ => &[],
    };
    if entries.is_empty() {
        let problem = Problem::Missing { allowed: "at least one [[traffic]]".into() };
        return Err(ScenarioError::new(root.origin, "traffic", problem));
    }
    let traffic = entries.iter().enumerate();
    let traffic = traffic.map(|(i, e)| entry(root, e, i, &top, &topology, files));
    let traffic = traffic.collect::<Result<Vec<_>>>()?;
    if topology.cross_flows() > 0 && !traffic.iter().any(|t| t.source.is_ftp()) {
        let problem = "needs a [[traffic]] of kind \"ftp\", whose transport the cross flows take";
        return Err(Section::new(root, "topology").conflict(
            "cross_flows",
            &topology.values,
            problem,
        ));
    }
    Ok(Plan { top, measure, topology, aqm, reverse, traffic })
}

/// The keys at the top. The profile, which is one of them, decides the others' defaults.
fn top(root: &Node) -> Result<Top> {
    let head = Section::new(root, "");
    let fill = |ns2| head.fill(&vec![Top::TABLE], Defaults { ns2, ..Defaults::default() });
    let ns2 = Top::read(&fill(false)?).profile == Profile::Ns2;
    let values = fill(ns2)?;
    let top = Top::read(&values);
    if top.duration == Duration::ZERO {
        return Err(head.conflict("duration", &values, "must be above 0 s"));
    }
    if top.overhead.0 > LARGEST_HEADER {
        return Err(head.conflict("overhead", &values, "must be at most 10 kB"));
    }
    Ok(top)
}

fn measured(root: &Node, duration: Duration) -> Result<Measure> {
    let section = Section::new(root, "measure");
    let values = section.fill(&vec![Measure::TABLE], Defaults::default())?;
    let measure = Measure::read(&values);
    let to = measure.to.unwrap_or(duration);
    if to > duration {
        let problem = format!("must not be above duration ({})", format_duration(duration));
        return Err(section.conflict("to", &values, problem));
    }
    if measure.from >= to {
        let end = if measure.to.is_some() { "measure.to" } else { "the end of the run" };
        let problem = format!("must be below {end} ({})", format_duration(to));
        return Err(section.conflict("from", &values, problem));
    }
    Ok(measure)
}

fn discipline(root: &Node, path: &str, ns2: bool) -> Result<Discipline> {
    let kind = walk::aqm_kind(root, path)?;
    let section = Section::new(root, path);
    let defaults = Defaults { ns2, kind: kind.defaults, kind_ns2: kind.ns2 };
    let values = section.fill(&walk::aqm_params(kind), defaults)?;
    if values.size("mean_packet").0 == 0 {
        return Err(section.conflict("mean_packet", &values, "must be above 0 B"));
    }
    Ok(Discipline { kind, values })
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
    let automatic = if in_bytes(&buffer) || threshold_in_bytes { "bytes" } else { "packets" };
    let unit = values.opt_word("unit").unwrap_or_else(|| automatic.into());
    let mean = values.size("mean_packet").0;
    let buffer = match buffer {
        // A float times a whole number; both far below 2^53.
        QueueLen::Packets(n) if unit == "bytes" => {
            QueueLen::Bytes((n * mean as f64).round() as u64)
        }
        QueueLen::Bytes(b) if unit == "packets" => {
            let problem = format!(
                "contradicts the buffer, which is given in bytes ({}); leave unit out, or give the buffer in packets",
                penstock_units::format_size(Bytes(b)),
            );
            return Err(section.conflict("unit", &values, problem));
        }
        other => other,
    };
    values.set("unit", Value::Word(unit));
    let context = Context { rate, delay, buffer };
    if let Err(error) = penstock_aqm::build(aqm.kind.name, &values, &context) {
        return Err(section.param_error(&values, error));
    }
    Ok(Line {
        name: String::new(),
        from: 0,
        to: 0,
        cost: 1,
        rate,
        delay,
        buffer,
        aqm: aqm.kind,
        values: Arc::new(values),
        user: None,
        place: path.into(),
        loss: Loss::Bernoulli(0.0),
        schedule: Schedule::Steps(vec![]),
    })
}

/// `topology.access` or `.egress`; `None` where it is left out.
fn side(root: &Node, name: &str) -> Result<Option<Access>> {
    let section = Section::new(root, &join("topology", name));
    if section.node.is_none() {
        return Ok(None);
    }
    let values = section.fill(&vec![Access::TABLE], Defaults::default())?;
    let access = Access::read(&values);
    if let Some(buffer) = access.buffer {
        check_buffer(&section, "buffer", &values, buffer)?;
    }
    Ok(Some(access))
}
