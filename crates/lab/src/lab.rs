//! The lab answers the page's requests.

use crate::session::Session;
use crate::tables::{append, TABLES};
use penstock_scenario::{document, list, Scenario};
use penstock_sim::{run, Config, FlowConfig, Handle, Schedule};
use penstock_units::{Duration, Time};
use serde_json::{json, Value as Json};

/// Memory that a scenario may take here, as far as can be estimated: 256 MiB.
const MEMORY: u64 = 256 << 20;

/// The sessions of a page, by number.
#[derive(Default)]
pub struct Lab {
    sessions: Vec<Option<Session>>,
}

impl Lab {
    fn session(&mut self, number: usize) -> Result<&mut Session, String> {
        let session = self.sessions.get_mut(number).and_then(Option::as_mut);
        session.ok_or_else(|| format!("there is no session {number}"))
    }

    /// Lets a session go on until that time. Returns its time then, whether it has ended (1), how
    /// many tables follow, and what was recorded meanwhile (`tables.rs`).
    ///
    /// # Errors
    /// If there is no such session, or its run fails.
    pub fn advance(&mut self, session: usize, until_s: f64) -> Result<Vec<f64>, String> {
        let session = self.session(session)?;
        let until = Time::ZERO + Duration::from_secs_f64(until_s.clamp(0.0, 1e7));
        let tables = session.advance(until)?;
        let ended = session.now() >= session.end();
        let mut out =
            vec![session.now().as_secs_f64(), f64::from(u8::from(ended)), tables.len() as f64];
        append(&mut out, &tables);
        Ok(out)
    }

    fn open(&mut self, request: &Json) -> Result<Json, String> {
        let scenario = scenario(request)?;
        let scenario = match request["aqm"].as_str() {
            Some(kind) if kind != scenario.aqm() => {
                scenario.with_aqm(kind).map_err(|e| e.to_string())?
            }
            _ => scenario,
        };
        scenario.lower_within(scenario.seed(), MEMORY).map_err(|e| e.to_string())?;
        let sample = Duration::from_secs_f64(number(request, "sample_s")?.clamp(1e-4, 10.0));
        let session = Session::new(scenario, sample)?;
        let free = self.sessions.iter().position(Option::is_none);
        let place = free.unwrap_or(self.sessions.len());
        if free.is_none() {
            self.sessions.push(None);
        }
        self.sessions[place] = Some(session);
        Ok(json!({ "session": place }))
    }
}

/// Answers a request, an object whose `do` says what:
///
/// - `kinds`: every discipline, as `penstock list aqm` knows it.
/// - `document`: what `penstock run --json` prints for `toml` with `seeds` seeds.
/// - `open`: a session of `toml`, under the discipline `aqm` where that is given, with a sample
///   every `sample_s`. Returns its number, `session`.
/// - `close`: forgets a session.
/// - `describe`: what the form of a session shows.
/// - `set`: changes the key `path` of a session to `value`. Returns what that did.
/// - `profile`: what a session's discipline does to packets while `queue` wait.
///
/// # Errors
/// A message for a person.
pub fn answer(lab: &mut Lab, request: &[u8]) -> Result<String, String> {
    let request: Json = serde_json::from_slice(request).map_err(|e| e.to_string())?;
    let session = || request["session"].as_u64().map_or(usize::MAX, |n| n as usize);
    let said = match text(&request, "do")? {
        "kinds" => list("aqm").unwrap_or_default(),
        "document" => return documented(&request),
        "open" => lab.open(&request)?,
        "close" => {
            lab.session(session())?;
            lab.sessions[session()] = None;
            json!({})
        }
        "describe" => described(lab.session(session())?),
        "set" => {
            let (path, value) = (text(&request, "path")?, text(&request, "value")?);
            let did = lab.session(session())?.set(path, value)?;
            json!({ "did": did.word() })
        }
        "profile" => {
            let queue = number(&request, "queue")? as u32;
            json!(lab.session(session())?.profile(queue)?)
        }
        other => return Err(format!("nobody knows how to {other}")),
    };
    Ok(said.to_string())
}

fn text<'a>(request: &'a Json, key: &str) -> Result<&'a str, String> {
    request[key].as_str().ok_or_else(|| format!("the request has no {key}"))
}

fn number(request: &Json, key: &str) -> Result<f64, String> {
    request[key].as_f64().ok_or_else(|| format!("the request has no {key}"))
}

fn scenario(request: &Json) -> Result<Scenario, String> {
    Scenario::from_toml(text(request, "toml")?, "scenario").map_err(|e| e.to_string())
}

fn documented(request: &Json) -> Result<String, String> {
    let scenario = scenario(request)?;
    let mut results = vec![];
    for seed in 0..number(request, "seeds")? as u64 {
        let config = scenario.lower(scenario.seed() + seed).map_err(|e| e.to_string())?;
        results.push(run(&config, &Handle::default()).map_err(|e| e.to_string())?);
    }
    Ok(document(&scenario, &results.iter().collect::<Vec<_>>()))
}

/// A flow's round trip where nothing waits and sending takes no time, seconds.
fn round_trip(config: &Config, flow: &FlowConfig) -> f64 {
    let way = |route: u16| config.routes[usize::from(route)].iter();
    let links = way(flow.forward).chain(way(flow.backward));
    let hosts = [flow.src, flow.dst].map(|host| config.hosts[host as usize].delay.as_secs_f64());
    links.map(|link| config.links[*link as usize].delay.as_secs_f64()).sum::<f64>()
        + 2.0 * hosts.iter().sum::<f64>()
}

fn described(session: &Session) -> Json {
    let (scenario, config) = (session.scenario(), session.config());
    let link = &config.links[config.bottleneck];
    let rate = match &link.schedule {
        Schedule::Steps(steps) => {
            let past = steps.iter().rev().find(|step| step.0 <= session.latest());
            past.map_or(Some(link.rate), |step| step.1)
        }
        Schedule::Trace(_) => Some(link.rate),
    };
    let kind = penstock_aqm::kind(scenario.aqm());
    let state = kind.map_or(&[][..], |k| k.state).iter();
    json!({
        "name": scenario.name(),
        "aqm": scenario.aqm(),
        "seed": scenario.seed(),
        "end_s": session.end().as_secs_f64(),
        "dumbbell": scenario.topology().is_dumbbell(),
        "rate_bps": rate.map_or(0, |rate| rate.as_bps()),
        "room_pkts": scenario.facts().bottleneck.room_pkts(),
        "delay_s": link.delay.as_secs_f64(),
        "flows": config.flows.iter().map(|f| json!({ "group": f.group, "forward": f.leads_forward(), "rtt_s": round_trip(config, f) })).collect::<Json>(),
        "groups": scenario.group_names(),
        "state": state.map(|s| json!({ "name": s.name, "doc": s.doc })).collect::<Json>(),
        "tables": TABLES,
        "controls": scenario.controls(),
        "toml": scenario.to_toml(),
    })
}
