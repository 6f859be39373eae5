//! The second pass: defaults filled in, values checked together, disciplines and transports tried
//! out.

use crate::error::{Problem, ScenarioError};
use crate::files::Files;
use crate::node::{Item, Node};
use crate::tables::{Measure, Profile, Top};
use penstock_units::format_duration;
use penstock_units::param::Params as _;
use penstock_units::Duration;

pub(crate) mod facts;
mod link;
mod section;
mod topology;
mod traffic;

use link::discipline;
pub(crate) use link::{Discipline, Line};
use section::{Defaults, Section};
use topology::topology;
pub(crate) use topology::{Topology, Wire};
use traffic::{entry, LARGEST_HEADER};
pub(crate) use traffic::{Source, Traffic};

type Result<T> = std::result::Result<T, ScenarioError>;

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

/// Reads a tree that has passed [`crate::walk::scenario`].
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
