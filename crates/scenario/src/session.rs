//! A run of a scenario in steps, which shows how it stands and is changed under way.

use crate::check;
use crate::error::{nearest, Problem, ScenarioError};
use crate::keys;
use crate::node::{Item, Node, Origin};
use crate::plan::Line;
use crate::scenario::Scenario;
use penstock_sim::{
    Config, Handle, Link, LinkConfig, Record, Run, RunResult, SenderState, Sent, SimError, Tally,
};
use penstock_units::param::{Param, Ty};
use penstock_units::Time;
use std::sync::Arc;

/// A link as it is now, with what has become of its packets since the last step began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkNow {
    /// Packets that wait.
    pub queue_pkts: u32,
    /// Their bytes.
    pub queue_bytes: u64,
    /// Since the last step began.
    pub step: Tally,
}

impl LinkNow {
    /// `then`: what had become of its packets when the last step began.
    fn of(link: &Link, then: Tally) -> Self {
        let (q, tally) = (link.state(&mut |_, _| ()), link.tally().unwrap_or_default());
        LinkNow { queue_pkts: q.pkts, queue_bytes: q.bytes, step: tally.since(then) }
    }
}

/// What is wrong with a wish.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The scenario would be wrong, or what changed cannot change under way.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The run failed.
    #[error(transparent)]
    Run(#[from] SimError),
    /// Nothing can be done with it any more, or not that.
    #[error("{0}")]
    Refused(String),
}

/// A run of a scenario that goes on when it is told to.
///
/// Where it pauses makes no difference to what happens, and neither does looking: without a change
/// [`Session::finish`] gives what [`penstock_sim::run`] does.
pub struct Session {
    /// As it has been changed.
    scenario: Scenario,
    config: Config,
    run: Run,
    /// When the last step began, what had become of each link's packets and each flow's segments.
    links: Vec<Tally>,
    flows: Vec<Sent>,
}

impl Session {
    /// A run at its beginning.
    ///
    /// # Errors
    /// If it is too large, or its discipline cannot be made.
    pub fn new(scenario: Scenario, seed: u64, record: &Record) -> Result<Self, SessionError> {
        let mut config = scenario.lower(seed)?;
        let groups = config.record.groups;
        config.record = Record { groups, tally: true, ..record.clone() };
        let run = Run::new(&config)?;
        let (links, flows) = (config.links.len(), config.flows.len());
        let (links, flows) = (vec![Tally::default(); links], vec![Sent::default(); flows]);
        Ok(Session { scenario, config, run, links, flows })
    }

    /// Returns the run.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the configuration that runs, as it has been changed.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the number of the link of that name; without a name, of the bottleneck.
    ///
    /// # Errors
    /// If no link is called so.
    pub fn link_named(&self, name: Option<&str>) -> Result<usize, SessionError> {
        let Some(name) = name else { return Ok(self.config.bottleneck) };
        let names = || self.config.links.iter().map(|l| l.name.as_str());
        if let Some(i) = names().position(|each| each == name) {
            return Ok(i);
        }
        let (near, all) = (nearest(name, names()), names().collect::<Vec<_>>().join(", "));
        let refused = format!("no link is called {name}; nearest: {near}; there are: {all}");
        Err(SessionError::Refused(refused))
    }

    /// Goes on until `until`, or to the end. `watch` is called every few thousand events.
    ///
    /// # Errors
    /// If that is before now, the run is over, or it fails.
    pub fn advance(
        &mut self,
        until: Time,
        watch: &mut dyn FnMut(&Handle),
    ) -> Result<(), SessionError> {
        let (now, end) = (self.run.now(), self.run.end());
        if now >= end {
            let s = end.as_secs_f64();
            return Err(SessionError::Refused(format!("the run is over: it ends at {s} s")));
        }
        if until < now {
            let (until, now) = (until.as_secs_f64(), now.as_secs_f64());
            let refused = format!("a run does not go back: it is at {now} s, not before {until} s");
            return Err(SessionError::Refused(refused));
        }
        for (tally, link) in self.links.iter_mut().zip(self.run.links()) {
            *tally = link.tally().unwrap_or_default();
        }
        for (i, sent) in self.flows.iter_mut().enumerate() {
            *sent = self.run.sender(i).map(|state| state.done).unwrap_or_default();
        }
        Ok(self.run.advance_watched(until, watch)?)
    }

    /// Returns how a link stands.
    pub fn link(&mut self, link: usize) -> LinkNow {
        LinkNow::of(self.run.link(link), self.links[link])
    }

    /// Returns how the links stand.
    pub fn links(&mut self) -> impl Iterator<Item = LinkNow> + '_ {
        self.run.links().iter().zip(&self.links).map(|(link, then)| LinkNow::of(link, *then))
    }

    /// Publishes the variables of a link's discipline.
    pub fn variables(&mut self, link: usize, out: &mut dyn FnMut(&'static str, f64)) {
        self.run.link(link).state(out);
    }

    /// Returns how a flow's sender stands, and what has become of its segments since the last step
    /// began; `None` for datagrams.
    pub fn sender(&self, flow: usize) -> Option<(SenderState, Sent)> {
        let state = self.run.sender(flow)?;
        Some((state, state.done.since(self.flows[flow])))
    }

    /// Changes one key now, as [`Scenario::set`] does in a file: a parameter of a link's discipline,
    /// which goes on where it was, or a link's buffer.
    ///
    /// # Errors
    /// If there is no such key, the value does not fit, or the key cannot change under way; nothing
    /// has changed then.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), SessionError> {
        let scenario = self.scenario.set(path, value)?;
        let refused = |why: String| {
            let error = ScenarioError::new(Origin::Set, path, Problem::Conflict(why));
            SessionError::Scenario(error)
        };
        let wanted = scenario.lower(self.config.seed)?;
        let (place, key) = path.rsplit_once('.').unwrap_or(("", path));
        let topology = &self.scenario.plan.topology;
        let lines = &topology.links;
        let tunes = |line: &Line| line.place == place && Scenario::tunes(key);
        let buffers = matches!(key, "buffer" | "reverse_buffer")
            && path.strip_prefix("topology.").is_some_and(|p| p.starts_with(topology.kind.link));
        let changes: Vec<usize> =
            (0..lines.len()).filter(|i| buffers || tunes(&lines[*i])).collect();
        if changes.is_empty() {
            let mut places: Vec<_> = lines.iter().map(|line| line.place.as_str()).collect();
            places.dedup();
            return Err(refused(format!(
                "cannot change while the run goes on; what can: the parameters in {}, a link's \
                 buffer, and another discipline takes over by a swap",
                places.join(", ")
            )));
        }
        let mut tuned = vec![];
        for i in changes {
            let (now, then) = (&self.config.links[i], &wanted.links[i]);
            let link = if buffers {
                LinkConfig { buffer: then.buffer, ..now.clone() }
            } else if now.aqm.name() == then.aqm.name() {
                LinkConfig { aqm_values: Arc::clone(&then.aqm_values), ..now.clone() }
            } else {
                continue;
            };
            tuned.push((i, link));
        }
        if tuned.is_empty() {
            return Err(refused("another discipline has taken over there: swap it again".into()));
        }
        for (i, link) in tuned {
            if buffers {
                self.run.resize(i, link.buffer);
            } else if !self.run.retune(i, &link)? {
                return Err(refused(
                    "would have packets wait in another way, or belongs to a discipline of your \
                     own: swap the discipline"
                        .into(),
                ));
            }
            self.config.links[i] = link;
        }
        self.scenario = scenario;
        Ok(())
    }

    /// Sets parameters of the bottleneck's discipline, which are numbers, now: as [`Session::set`] does,
    /// for a controller that does so again and again. [`Session::scenario`] does not tell.
    ///
    /// # Errors
    /// If a value does not fit; nothing has changed then.
    pub fn tune(
        &mut self,
        values: impl Iterator<Item = (&'static Param, f64)>,
    ) -> Result<(), SessionError> {
        let i = self.config.bottleneck;
        let mut link = self.config.links[i].clone();
        let known = Arc::make_mut(&mut link.aqm_values);
        for (param, x) in values {
            let node = Node { origin: Origin::Set, item: Item::Float(x) };
            known.set(param.name, check::value(&node, param, param.name)?);
        }
        if !self.run.retune(i, &link)? {
            return Err(SessionError::Refused("packets would have to wait in another way".into()));
        }
        self.config.links[i] = link;
        Ok(())
    }

    /// A controller outside sets a flow's window, segments, and the rate of its payload, bits per
    /// second; `None`: it is not paced.
    ///
    /// # Errors
    /// If there is no such flow, or its control is another than `fixed`.
    pub fn steer(
        &mut self,
        flow: usize,
        window: f64,
        rate: Option<f64>,
    ) -> Result<(), SessionError> {
        let (flows, positive) = (self.config.flows.len(), |x: f64| x.is_finite() && x > 0.0);
        let refused = if flow >= flows {
            format!("there is no flow {flow}: there are {flows}, from 0 on")
        } else if !(window.is_finite() && window >= 1.0 && rate.is_none_or(positive)) {
            "a window is one segment or more, and a rate is above zero".into()
        } else if self.run.steer(flow, window, rate) {
            return Ok(());
        } else {
            format!("flow {flow} has a congestion control: tcp = \"fixed\" leaves it to you")
        };
        Err(SessionError::Refused(refused))
    }

    /// The discipline that `scenario`, which was made from [`Session::scenario`], has at the
    /// bottleneck takes over at `link`, now: it begins here, and what waits is sent as it came.
    ///
    /// # Errors
    /// If it does not fit the link.
    pub fn swap(&mut self, link: usize, scenario: &Scenario) -> Result<(), SessionError> {
        let wanted = scenario.lower(self.config.seed)?;
        let from = &wanted.links[wanted.bottleneck];
        let to = LinkConfig {
            aqm: from.aqm.clone(),
            aqm_values: Arc::clone(&from.aqm_values),
            ..self.config.links[link].clone()
        };
        self.run.swap(link, &to)?;
        self.config.links[link] = to;
        if link == self.config.bottleneck {
            self.scenario = scenario.clone();
        }
        Ok(())
    }

    /// Returns the scenario, as it has been changed.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Returns a session that stands where this one does, and goes on by itself.
    ///
    /// # Errors
    /// If a custom discipline cannot be copied.
    pub fn copy(&self) -> Result<Self, penstock_sim::UserError> {
        let Session { scenario, config, run, links, flows } = self;
        Ok(Session {
            scenario: scenario.clone(),
            config: config.clone(),
            run: run.copy()?,
            links: links.clone(),
            flows: flows.clone(),
        })
    }

    /// Lets the rest happen.
    ///
    /// # Errors
    /// As for [`Session::advance`].
    pub fn finish(self) -> Result<RunResult, SessionError> {
        Ok(self.run.finish()?)
    }
}

impl Scenario {
    /// Whether a discipline can go on with another value of a key, as far as that does not depend
    /// on the discipline.
    pub fn tunes(key: &str) -> bool {
        !matches!(key, "kind" | "count_in_service")
    }

    /// Returns a parameter of the bottleneck's discipline that is a number.
    ///
    /// # Errors
    /// If it has none of that name.
    pub fn parameter(&self, name: &str) -> Result<&'static Param, ScenarioError> {
        let line = &self.plan.topology.links[self.plan.topology.bottleneck];
        let number = |ty: &Ty| match ty {
            Ty::Num { .. } | Ty::Queue => true,
            Ty::Or(number, _) => matches!(number, Ty::Num { .. }),
            _ => false,
        };
        let own = if line.user.is_none() { keys::aqm_params(line.aqm) } else { vec![] };
        let numbers: Vec<_> = own.into_iter().flatten().filter(|p| number(&p.ty)).collect();
        if let Some(found) = numbers.iter().find(|p| p.name == name) {
            return Ok(found);
        }
        let names: Vec<_> = numbers.iter().map(|p| p.name).collect();
        let problem =
            format!("{} has no number {name}; there are: {}", self.aqm(), names.join(", "));
        let path = format!("{}.{name}", line.place);
        Err(ScenarioError::new(Origin::Set, path, Problem::Conflict(problem)))
    }
}
