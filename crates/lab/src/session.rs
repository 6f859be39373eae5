//! A run that a visitor watches and changes.

use penstock_scenario::{Probe, Scenario};
use penstock_sim::{App, Config, LinkConfig, Run, Schedule, Table};
use penstock_units::{Duration, Time};
use std::sync::Arc;

/// The effect of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// The run goes on with it.
    Now,
    /// The run stands at its beginning again, and will come to the present time as before: the
    /// change is part of its configuration.
    Again,
    /// Another run begins.
    Anew,
}

impl Did {
    /// Returns the word for the page.
    pub fn word(self) -> &'static str {
        match self {
            Did::Now => "now",
            Did::Again => "again",
            Did::Anew => "anew",
        }
    }
}

/// One run of one discipline, with the changes that were made.
pub struct Session {
    /// The scenario as the sliders say it.
    scenario: Scenario,
    sample: Duration,
    /// The configuration that runs, with the steps of rate and load that were made.
    config: Config,
    run: Run,
    /// Other disciplines, parameters and buffers of the bottleneck, and since when.
    tuned: Vec<(Time, LinkConfig)>,
    /// The number of them that the run has come to.
    reached: usize,
    /// The time of the last change that put the run at its beginning again.
    latest: Time,
}

impl Session {
    /// The run of a scenario with its first seed, which records a sample every `sample`.
    ///
    /// # Errors
    /// If it is too large, or its discipline cannot be made.
    pub fn new(scenario: Scenario, sample: Duration) -> Result<Self, String> {
        let config = lowered(&scenario, sample)?;
        let run = Run::new(&config).map_err(|e| e.to_string())?;
        Ok(Session { scenario, sample, config, run, tuned: vec![], reached: 0, latest: Time::ZERO })
    }

    /// Returns the scenario as the sliders say it.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Returns what is running.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the time before which everything has happened.
    pub fn now(&self) -> Time {
        self.run.now()
    }

    /// Returns the time up to which the visitor has seen it, at least.
    pub fn latest(&self) -> Time {
        self.latest.max(self.now())
    }

    /// Returns the time at which the run ends.
    pub fn end(&self) -> Time {
        self.run.end()
    }

    /// Goes on until `until`. Returns what was recorded meanwhile, in one or more pieces.
    ///
    /// # Errors
    /// If the run fails.
    pub fn advance(&mut self, until: Time) -> Result<Vec<Table>, String> {
        let failed = |e: penstock_sim::SimError| e.to_string();
        let mut tables = vec![];
        while let Some((at, _)) = self.tuned.get(self.reached).filter(|(at, _)| *at <= until) {
            self.run.advance(*at).map_err(failed)?;
            tables.extend(self.run.taken_tables());
            let present = self.present().clone();
            let (_, link) = &self.tuned[self.reached];
            renewed(&mut self.run, self.config.bottleneck, &present, link)?;
            self.reached += 1;
        }
        self.run.advance(until).map_err(failed)?;
        tables.extend(self.run.taken_tables());
        Ok(tables)
    }

    /// Changes one key, now. What was recorded and not yet taken goes with the next step.
    ///
    /// # Errors
    /// If the value does not fit; nothing has changed then.
    pub fn set(&mut self, path: &str, value: &str) -> Result<Did, String> {
        let scenario = match path {
            "aqm.kind" => self.scenario.with_aqm(value),
            _ => self.scenario.set(path, value),
        };
        let scenario = scenario.map_err(|e| e.to_string())?;
        let wanted = lowered(&scenario, self.sample)?;
        // MECN changes what its senders say.
        let others = |s: &Scenario| s.controls().as_array().map(|groups| groups[1..].to_vec());
        let alike = path != "aqm.kind" || others(&scenario) == others(&self.scenario);
        let did = if alike { self.change(path, &wanted)? } else { Did::Anew };
        if did == Did::Anew {
            self.run = Run::new(&wanted).map_err(|e| e.to_string())?;
            self.config = wanted;
            self.tuned.clear();
            (self.reached, self.latest) = (0, Time::ZERO);
        }
        self.scenario = scenario;
        Ok(did)
    }

    fn change(&mut self, path: &str, wanted: &Config) -> Result<Did, String> {
        let keys: Vec<&str> = path.split('.').collect();
        let started = self.latest() > Time::ZERO && self.config.lead_in.is_none();
        let in_the_config = match keys[..] {
            ["aqm", _] => return self.tune(wanted),
            ["topology", "bottleneck", "buffer"] => return self.tune(wanted),
            ["topology", "bottleneck", "rate"] if started => self.step(wanted),
            ["traffic", entry, "flows"] if started => {
                entry.parse().is_ok_and(|group| self.load(group, wanted))
            }
            _ => false,
        };
        if !in_the_config {
            return Ok(Did::Anew);
        }
        self.latest = self.latest();
        self.run = Run::new(&self.config).map_err(|e| e.to_string())?;
        self.reached = 0;
        Ok(Did::Again)
    }

    /// Returns the bottleneck as it has been since the last change that the run has come to.
    fn present(&self) -> &LinkConfig {
        let last = self.reached.checked_sub(1).map(|i| &self.tuned[i].1);
        last.unwrap_or(&self.config.links[self.config.bottleneck])
    }

    /// The bottleneck's discipline and buffer become the wanted ones. The discipline goes on
    /// believing of the link what it did.
    fn tune(&mut self, wanted: &Config) -> Result<Did, String> {
        let bottleneck = &wanted.links[wanted.bottleneck];
        let link = LinkConfig {
            aqm: bottleneck.aqm.clone(),
            aqm_values: Arc::clone(&bottleneck.aqm_values),
            buffer: bottleneck.buffer,
            ..self.config.links[self.config.bottleneck].clone()
        };
        if self.now() < self.latest {
            // It has not come to where the visitor is: the change waits there.
            self.tuned.push((self.latest, link));
            return Ok(Did::Now);
        }
        let present = self.present().clone();
        if !renewed(&mut self.run, self.config.bottleneck, &present, &link)? {
            return Ok(Did::Anew);
        }
        self.tuned.push((self.now(), link));
        self.reached = self.tuned.len();
        Ok(Did::Now)
    }

    /// The links get the wanted rates now, as a scenario's `schedule` would say it. Returns false
    /// where a link has a schedule of its own.
    fn step(&mut self, wanted: &Config) -> bool {
        let now = self.latest();
        let mine = |l: &LinkConfig| matches!(&l.schedule, Schedule::Steps(s) if s.iter().all(|s| s.0 <= now));
        if !self.config.links.iter().all(mine) {
            return false;
        }
        for (link, wanted) in self.config.links.iter_mut().zip(&wanted.links) {
            let first = link.rate;
            let Schedule::Steps(steps) = &mut link.schedule else { continue };
            let present = steps.last().map_or(Some(first), |step| step.1);
            if present != Some(wanted.rate) {
                steps.retain(|step| step.0 < now);
                steps.push((now, Some(wanted.rate)));
            }
        }
        true
    }

    /// Lets as many long transfers of a group run from now on as are wanted: some start, or the
    /// last ones stop. Returns false where its flows are something else.
    fn load(&mut self, group: u32, wanted: &Config) -> bool {
        let now = self.latest();
        let of = |c: &Config| {
            let flows = (0..c.flows.len()).filter(|i| c.flows[*i].group == group);
            flows.collect::<Vec<_>>()
        };
        let (mine, theirs) = (of(&self.config), of(wanted));
        let (Some(last), Some(like)) = (mine.last().copied(), theirs.last()) else { return false };
        let like = wanted.flows[*like].clone();
        let App::Ftp { tcp, bytes: None, .. } = &like.app else { return false };
        let runs = |i: &usize| matches!(self.config.flows[*i].app, App::Ftp { stop, .. } if stop.is_none_or(|s| s > now));
        let running: Vec<usize> = mine.iter().copied().filter(runs).collect();
        for i in running.iter().skip(theirs.len()) {
            if let App::Ftp { stop, .. } = &mut self.config.flows[*i].app {
                *stop = Some(now);
            }
        }
        for k in running.len()..theirs.len() {
            let (src, dst) = (self.config.hosts.len() as u32, self.config.hosts.len() as u32 + 1);
            let hosts = [like.src, like.dst].map(|host| wanted.hosts[host as usize]);
            self.config.hosts.extend(hosts);
            let after = &self.config.flows[last];
            let (forward, backward) = (after.forward, after.backward);
            let index = mine.len() as u32 + (k - running.len()) as u32;
            let app =
                App::Ftp { tcp: Arc::clone(tcp), start: now, early: None, stop: None, bytes: None };
            let flow = penstock_sim::FlowConfig {
                index,
                src,
                dst,
                forward,
                backward,
                app,
                ..like.clone()
            };
            self.config.flows.insert(last + 1 + (k - running.len()), flow);
        }
        true
    }

    /// Returns what the discipline, as the sliders set it, does to packets while `queue` of them
    /// wait: how many of a few thousand it marks at the lower level, at the higher level, and drops.
    ///
    /// # Errors
    /// If the scenario is too large.
    pub fn profile(&self, queue: u32) -> Result<[f64; 4], String> {
        let how = Probe {
            queue,
            load: 1.0,
            capable: true,
            flows: 10,
            from: vec![Duration::from_secs(8)],
            window: Duration::from_secs(3),
            runs: 1,
        };
        let counts = self.scenario.probe(&how).map_err(|e| e.to_string())?;
        let c = counts[0];
        Ok([c.packets, c.incipient, c.ce, c.dropped].map(|n| n as f64))
    }
}

/// A link goes on with the discipline and the buffer of `wanted`: parameters change, or another
/// discipline takes over. Returns false, and changes nothing, where packets would have to wait in
/// another way.
fn renewed(
    run: &mut Run,
    link: usize,
    present: &LinkConfig,
    wanted: &LinkConfig,
) -> Result<bool, String> {
    let failed = |e: penstock_sim::SimError| e.to_string();
    if present.aqm.name() == wanted.aqm.name() {
        return run.retune(link, wanted).map_err(failed);
    }
    run.swap(link, wanted).map_err(failed)?;
    Ok(true)
}

/// The run of a scenario with its first seed, recorded.
fn lowered(scenario: &Scenario, sample: Duration) -> Result<Config, String> {
    let mut config = scenario.lower(scenario.seed()).map_err(|e| e.to_string())?;
    config.record.series = Some(sample);
    config.record.events = true;
    Ok(config)
}
