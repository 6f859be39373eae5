//! Warnings tell a reader of a run's numbers what the numbers do not show.

use crate::plan::{Plan, Traffic};
use crate::scenario::Scenario;
use penstock_sim::{AccessQueue, RunResult};
use penstock_units::format_rate;

/// Returns what is to be said of these runs of the scenario: sentences, most often none.
pub fn warnings(scenario: &Scenario, runs: &[&RunResult]) -> Vec<String> {
    let queues: Vec<AccessQueue> = runs.iter().filter_map(|run| run.access).collect();
    let longest = queues.iter().copied().reduce(|a, b| if b.mean_s > a.mean_s { b } else { a });
    let often = match (queues.len(), runs.len()) {
        (_, 1) => String::new(),
        (n, all) if n == all => format!(", in all {all} runs"),
        (n, all) => format!(", in {n} of {all} runs"),
    };
    longest.map(|queue| of_access(&scenario.plan, queue, &often)).into_iter().collect()
}

fn of_access(plan: &Plan, queue: AccessQueue, often: &str) -> String {
    let AccessQueue { link, mean_s, on_the_way_s } = queue;
    let entry = |group: u32| plan.traffic.get(group as usize);
    // Cross flows of a parking lot, and programs that no entry describes, go forward.
    let forward = link.group.and_then(entry).is_none_or(|t: &Traffic| t.forward);
    let side = if link.sender == forward { "access" } else { "egress" };
    let whose = link.group.map_or_else(String::new, |group| {
        let name = entry(group).and_then(|t| t.group.name.as_ref());
        let name = name.map_or_else(String::new, |name| format!(" \"{name}\""));
        format!(" of traffic.{group}{name}, flow {}", link.flow)
    });
    let towards = if link.up { "from its host" } else { "to its host" };
    let topology = &plan.topology;
    let (key, table) = match (side, &topology.egress) {
        ("egress", Some(egress)) => ("egress", Some(egress)),
        _ => ("access", topology.access.as_ref()),
    };
    let rate = table.map_or_else(String::new, |t| format!(" (now {})", format_rate(t.rate)));
    let (than, there) = if topology.kind.name == "dumbbell" {
        ("at the bottleneck", "at the bottleneck")
    } else {
        ("at the links between routers", "at most at one on its way")
    };
    format!(
        "a queue at an access link was longer than {than}{often}: packets waited {} on average at \
         the {side} link{whose}, {towards}, and {} {there}; make topology.{key}.rate \
         larger{rate}, so that the queue is where the discipline is",
        milliseconds(mean_s),
        milliseconds(on_the_way_s),
    )
}

/// Three digits.
fn milliseconds(s: f64) -> String {
    let ms = s * 1e3;
    let digits = match ms {
        0.0 => 0,
        _ if ms < 10.0 => 2,
        _ => usize::from(ms < 100.0),
    };
    format!("{ms:.digits$} ms")
}
