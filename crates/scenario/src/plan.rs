//! The second pass: defaults filled in, values checked together, disciplines and transports tried
//! out.

use crate::error::{Problem, ScenarioError};
use crate::files::Files;
use crate::node::{Item, Node};
use crate::tables::{Measure, Record, Top};
use crate::user::UserAqms;
use penstock_sim::Schedule;
use penstock_units::format_duration;
use penstock_units::param::{Params as _, Profile};
use penstock_units::Duration;
use std::sync::Arc;

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
pub(crate) use traffic::{Poisson, Source, Traffic};

type Result<T> = std::result::Result<T, ScenarioError>;

/// A scenario whose values are complete and fit together.
#[derive(Clone)]
pub(crate) struct Plan {
    pub top: Top,
    pub measure: Measure,
    pub record: Record,
    pub topology: Topology,
    pub aqm: Discipline,
    pub reverse: Discipline,
    pub traffic: Vec<Traffic>,
}

impl Plan {
    /// Gives the user disciplines the values of their parameters.
    pub fn settle(&mut self, root: &Node, user: &UserAqms) -> Result<()> {
        for (path, planned) in [("aqm", &mut self.aqm), ("aqm.reverse", &mut self.reverse)] {
            let Some(own) = user.at(path) else { continue };
            let section = Section::new(root, path);
            let values = section.fill(&vec![own.params()], Defaults::of(self.top.profile))?;
            let settled = own.settled(&values).map_err(|error| {
                let problem = Problem::Conflict(error.to_string());
                ScenarioError::new(section.origin, path, problem)
            })?;
            for line in self.topology.links.iter_mut().filter(|line| line.place == path) {
                line.user = Some(settled.clone());
                let known = Arc::make_mut(&mut line.values);
                values.iter().for_each(|(name, value)| known.set(name, value.clone()));
            }
            values.iter().for_each(|(name, value)| planned.values.set(name, value.clone()));
            planned.user = Some(settled);
        }
        Ok(())
    }

    /// Whether each link is measured, and not the bottleneck alone.
    pub fn measures_links(&self) -> bool {
        let topology = &self.topology;
        let dumbbell = topology.kind.name == "dumbbell" && topology.links.len() == 2;
        self.record.links.unwrap_or_else(|| !dumbbell || self.queues_back())
    }

    /// Whether a queue may form at a dumbbell's link back: not where it carries ACKs alone, and is as
    /// the bottleneck is.
    fn queues_back(&self) -> bool {
        let (forward, back) = (&self.topology.links[0], &self.topology.links[1]);
        let steady = matches!(&back.schedule, Schedule::Steps(steps) if steps.is_empty());
        self.traffic.iter().any(|t| !t.forward || t.source.is_call())
            || back.rate != forward.rate
            || !steady
            || back.user.is_some()
            || back.aqm.name != "droptail"
    }
}

/// Reads a tree that has passed [`crate::walk::scenario`].
pub(crate) fn plan(root: &Node, files: &Files) -> Result<Plan> {
    let top = top(root)?;
    let measure = measured(root, top.duration)?;
    let record = Section::new(root, "record").fill(&vec![Record::TABLE], Defaults::GENERAL)?;
    let record = Record::read(&record);
    let aqm = discipline(root, "aqm", top.profile)?;
    let reverse = discipline(root, "aqm.reverse", top.profile)?;
    let topology = topology(root, files, (&aqm, &reverse), top.profile)?;
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
    if topology.cross_flows() > 0 && !traffic.iter().any(|t| t.source.lends()) {
        let problem =
            "needs a [[traffic]] of kind \"ftp\" without arrivals, whose transport the cross \
                       flows take";
        return Err(Section::new(root, "topology").conflict(
            "cross_flows",
            &topology.values,
            problem,
        ));
    }
    Ok(Plan { top, measure, record, topology, aqm, reverse, traffic })
}

/// The keys at the top. The profile, which is one of them, decides the others' defaults.
fn top(root: &Node) -> Result<Top> {
    let head = Section::new(root, "");
    let fill = |profile| head.fill(&vec![Top::TABLE], Defaults::of(profile));
    let values = fill(Top::read(&fill(Profile::Rfc)?).profile)?;
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
    let values = section.fill(&vec![Measure::TABLE], Defaults::GENERAL)?;
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
