//! The caller while it holds an emulation: it gets the hosts, and what it asks for.

use crate::control::{Control, Request};
use crate::diag::Diag;
use crate::error::EmulateError;
use crate::flows::Measured;
use crate::hosts::address6;
use crate::netns::{Namespace, Privilege};
use crate::path::Path;
use crate::report::{self, Window};
use crate::router::Shared;
use crate::side::Side;
use crate::traffic::ADDRESSES;
use crate::work::Log;
use penstock_queue::{LinkConfig, LinkView};
use penstock_scenario::Scenario;
use penstock_sim::{Config, METRICS};
use penstock_units::Time;
use serde_json::{json, Value};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration as Wall;

/// The interval at which a caller that has not begun may end the run.
const LOOK: Wall = Wall::from_millis(100);
/// The keys beside those of `[aqm]` and `[aqm.reverse]` that may change while packets wait.
const BUFFERS: [&str; 2] = ["topology.bottleneck.buffer", "topology.bottleneck.reverse_buffer"];

/// The caller of one emulation.
pub(crate) struct Holder<'a> {
    control: Control,
    /// The hosts, where this program has made them.
    hosts: Option<&'a [Namespace; 2]>,
    /// The scenario with the changes that were made.
    scenario: Scenario,
    config: &'a Config,
    /// The request to begin has not been answered.
    begins: bool,
    /// The exit code of the program that the run ended with.
    pub(crate) exit_code: Option<i32>,
    /// What the caller said of its programs, and what it changed.
    pub(crate) notes: Vec<String>,
}

impl<'a> Holder<'a> {
    pub(crate) fn new(
        control: Control,
        hosts: Option<&'a [Namespace; 2]>,
        scenario: &Scenario,
        config: &'a Config,
    ) -> Self {
        let scenario = scenario.clone();
        Holder { control, hosts, scenario, config, begins: false, exit_code: None, notes: vec![] }
    }

    /// Gives the caller what it needs to start programs on the hosts: their environment, and the
    /// namespaces of both hosts' networks, of processes, of mounts, and of users if there is one.
    pub(crate) fn hand_over(&self, privilege: Privilege) -> Result<(), EmulateError> {
        let open = |kind: &str| {
            File::open(format!("/proc/self/ns/{kind}"))
                .map_err(|e| EmulateError::system("opening a namespace", e))
        };
        let mut others = vec![open("pid")?, open("mnt")?];
        if privilege == Privilege::UserNamespace {
            others.push(open("user")?);
        }
        let all = self.hosts.into_iter().flatten().map(Namespace::fd).chain(&others);
        let environment = json!({
            "PENSTOCK_CLIENT": ADDRESSES[0][0],
            "PENSTOCK_SERVER": ADDRESSES[1][0],
            "PENSTOCK_CLIENT6": address6(0),
            "PENSTOCK_SERVER6": address6(1),
        });
        self.control.pass(&environment, &all.map(AsRawFd::as_raw_fd).collect::<Vec<_>>())
    }

    /// Waits until the caller wants the run to begin.
    pub(crate) fn begins(&mut self, alive: &mut dyn FnMut() -> bool) -> Result<(), EmulateError> {
        while !self.begins {
            match self.control.wait(LOOK)? {
                Some(Request::Begin) => self.begins = true,
                Some(Request::Listening(host)) => {
                    let said = self.listening(host);
                    self.control.answer(said);
                }
                Some(Request::End { .. }) => return Err(EmulateError::Interrupted),
                Some(_) => self.control.answer(Err("the run has not begun".into())),
                None if !alive() => return Err(EmulateError::Interrupted),
                None => {}
            }
        }
        Ok(())
    }

    /// Does what the caller asks for within `most`, `t_s` after the run's beginning. Returns whether
    /// the run is to end.
    pub(crate) fn hears(
        &mut self,
        shared: &Shared,
        t_s: f64,
        most: Wall,
    ) -> Result<bool, EmulateError> {
        if self.begins && t_s >= 0.0 {
            self.begins = false;
            self.control.answer(Ok(Value::Null));
        }
        let said = match self.control.wait(most)? {
            None | Some(Request::Begin) => return Ok(false),
            Some(Request::End { exit_code, notes }) => {
                self.exit_code = exit_code;
                self.notes.extend(notes);
                return Ok(true);
            }
            Some(Request::Listening(host)) => self.listening(host),
            Some(Request::Status) => Ok(json!(shared.status(t_s))),
            Some(Request::Metrics) => self.metrics(shared),
            Some(Request::Set(pairs)) => self.set(shared, &pairs).map(|()| Value::Null),
        };
        self.control.answer(said);
        Ok(false)
    }

    fn listening(&self, host: usize) -> Result<Value, String> {
        let host = self.hosts.and_then(|hosts| hosts.get(host)).ok_or("there is no such host")?;
        let all = host.with(|| Diag::open()?.connections()).map_err(|e| e.to_string())?;
        Ok(all.iter().filter(|c| c.listens).map(|c| json!(c.ports.0)).collect())
    }

    /// The metrics of the window up to now.
    fn metrics(&self, shared: &Shared) -> Result<Value, String> {
        let rate = self.config.mean_rate(self.config.bottleneck);
        let look = move |path: &mut Path, now: Time| {
            let view = path.link(Side::Left).view_at(now, rate);
            (now, view, path.flows.measured().to_vec())
        };
        let (now, view, measured): (Time, Option<LinkView>, Vec<Measured>) =
            shared.ask(look).ok_or("the run has ended")?;
        let window = Window {
            packets: None,
            from_to: (self.config.measure_from, now.min(self.config.measure_to)),
            end: now,
            link: view.expect("the bottleneck is measured"),
            links: vec![],
            bands: vec![],
            measured: &measured,
            transfers: &[],
            log: &Log::default(),
            facts: &[],
            zero: None,
            access: None,
        };
        let found = report::result(self.config, &window, vec![]).metrics;
        Ok(METRICS.iter().zip(found).map(|(m, value)| (m.name.to_owned(), json!(value))).collect())
    }

    /// Changes keys of the scenario, now.
    fn set(&mut self, shared: &Shared, pairs: &[(String, String)]) -> Result<(), String> {
        // The direction whose discipline a key tunes.
        let tunes = |path: &str| {
            let key = path.strip_prefix("aqm.")?;
            let (side, key) = match key.strip_prefix("reverse.") {
                Some(key) => (Side::Right, key),
                None => (Side::Left, key),
            };
            (Scenario::tunes(key) && key != "reverse").then_some(side)
        };
        let fixed = |path: &str| !BUFFERS.contains(&path) && tunes(path).is_none();
        if let Some((path, _)) = pairs.iter().find(|(path, _)| fixed(path)) {
            return Err(format!(
                "{path}: it cannot change while packets wait; allowed: {}, and the keys of [aqm] \
                 and [aqm.reverse] without kind and count_in_service",
                BUFFERS.join(", ")
            ));
        }
        let changes: Vec<_> = pairs.iter().map(|(p, v)| (p.as_str(), v.as_str())).collect();
        let scenario = self.scenario.set_all(&changes).map_err(|e| e.to_string())?;
        let wanted = scenario.lower(self.config.seed).map_err(|e| e.to_string())?;
        let ahead = self.config.bottleneck;
        let back = self.config.links[ahead].opposite.expect("a dumbbell's link has an opposite");
        let changes = [(Side::Left, ahead), (Side::Right, back as usize)].map(|(side, i)| {
            // The discipline goes on believing of the link what it did.
            let link = LinkConfig {
                aqm_values: Arc::clone(&wanted.links[i].aqm_values),
                buffer: wanted.links[i].buffer,
                ..self.config.links[i].clone()
            };
            (side, link, pairs.iter().any(|(path, _)| tunes(path) == Some(side)))
        });
        let job = move |path: &mut Path, now: Time| -> Result<Time, String> {
            for (side, link, retunes) in changes {
                let here = path.link(side);
                if retunes && !here.retune(now, &link).map_err(|e| e.to_string())? {
                    let place = if side == Side::Left { "aqm" } else { "aqm.reverse" };
                    let why = "this discipline's keys cannot change while packets wait";
                    return Err(format!("[{place}]: {why}"));
                }
                here.resize(link.buffer);
            }
            Ok(now)
        };
        let now = shared.ask(job).unwrap_or_else(|| Err("the run has ended".into()))?;
        let at_s = now.since(Time::ZERO).as_secs_f64();
        let said =
            pairs.iter().map(|(path, value)| format!("{path} = {value} from {at_s:.3} s on"));
        self.notes.extend(said);
        self.scenario = scenario;
        Ok(())
    }
}
