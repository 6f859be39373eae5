//! The document that `penstock run --json` prints. It contains no clock time, so that the same
//! input gives the same bytes.

use crate::interval::{estimate, Estimate};
use crate::scenario::Scenario;
use crate::warnings::warnings;
use penstock_sim::{Bounds, Of, RunResult, LINK_METRICS, METRICS, PACKET_METRICS, PAGE_METRICS};
use serde_json::{json, Map, Value as Json};

/// A scenario's results: the resolved scenario, each run, mean and 95 % interval over the runs, and
/// whether the runs are all the same.
pub fn document(scenario: &Scenario, runs: &[&RunResult]) -> String {
    let document = json!({
        "scenario": scenario.resolved(),
        "version": env!("CARGO_PKG_VERSION"),
        "runs": runs.iter().map(|r| run(scenario, r)).collect::<Json>(),
        "summary": summary(runs),
        "identical": identical(runs),
    });
    document.to_string()
}

/// `null` stands for what does not apply, and for what JSON has no number for.
fn named<V>(table: &[Of<V>], values: &[Option<f64>]) -> Map<String, Json> {
    table.iter().zip(values).map(|(m, v)| (m.name.to_string(), json!(v))).collect()
}

fn run(scenario: &Scenario, result: &RunResult) -> Json {
    let value = |(name, value): (&str, Option<f64>)| (name.to_string(), json!(value));
    let names = scenario.group_names();
    let group = |i: usize| {
        let mut out = Map::new();
        out.insert("name".into(), json!(names.get(i)));
        out.extend(result.group(i).map(value));
        out.extend(named(PAGE_METRICS, result.pages_of(i)));
        out.extend(named(PACKET_METRICS, result.packets_of(i)));
        (i.to_string(), Json::Object(out))
    };
    let groups: Map<String, Json> = (0..result.groups.len()).map(group).collect();
    let mut metrics = named(METRICS, &result.metrics);
    metrics.extend(named(PAGE_METRICS, result.page_metrics()));
    let flows = result.flows.iter().enumerate().map(|(i, flow)| {
        let mut out = Map::new();
        out.insert("group".into(), json!(flow.group));
        out.extend(flow.named().map(value));
        out.extend(named(PACKET_METRICS, result.packets_of_flow(i)));
        Json::Object(out)
    });
    let mut out = json!({
        "seed": result.seed,
        "events": result.events,
        "metrics": metrics,
        "groups": groups,
        "flows": flows.collect::<Json>(),
    });
    if let Some(lead_in) = result.lead_in {
        out["lead_in_s"] = json!(lead_in.as_secs_f64());
    }
    let warnings = warnings(scenario, &[result]);
    if !warnings.is_empty() {
        out["warnings"] = json!(warnings);
    }
    if !result.links.is_empty() {
        let links = result.links.iter();
        out["links"] = links
            .map(|l| (l.name.clone(), Json::Object(named(LINK_METRICS, &l.metrics))))
            .collect();
    }
    for band in &result.bands {
        let metrics = Json::Object(named(LINK_METRICS, &band.metrics));
        out["links"][&band.link]["bands"][&band.name] = metrics;
    }
    out
}

fn summary(runs: &[&RunResult]) -> Json {
    let row = |(name, bounds): (&str, Bounds), i: usize, of: fn(&RunResult) -> &[Option<f64>]| {
        let values: Vec<f64> =
            runs.iter().filter_map(|r| of(r).get(i).copied().flatten()).collect();
        (name.to_string(), estimated(&values, bounds))
    };
    let metrics =
        METRICS.iter().enumerate().map(|(i, m)| row((m.name, m.bounds), i, |r| &r.metrics));
    let timed = runs.iter().any(|r| r.pages.is_some());
    let pages = PAGE_METRICS.iter().enumerate().filter(|_| timed);
    Json::Object(
        metrics
            .chain(pages.map(|(i, m)| row((m.name, m.bounds), i, RunResult::page_metrics)))
            .collect(),
    )
}

/// Mean, half-width of Student's 95 % interval, the number of values, and the ends of the interval
/// within the metric's bounds.
fn estimated(values: &[f64], bounds: Bounds) -> Json {
    let Estimate { mean, half, ends, n } = estimate(values, bounds, 0.95);
    let (low, high) = ends.unzip();
    json!({ "mean": mean, "ci95": half, "n": n, "low": low, "high": high })
}

/// Whether there are several runs and their results are the same: no seed changes anything.
pub fn identical(runs: &[&RunResult]) -> bool {
    let same = |a: &RunResult, b: &RunResult| {
        let flows = a.flows.iter().zip(&b.flows).all(|(x, y)| x.metrics == y.metrics);
        let links = a.links.iter().zip(&b.links).all(|(x, y)| x.metrics == y.metrics);
        let pages = a.page_metrics() == b.page_metrics();
        a.metrics == b.metrics
            && a.bands == b.bands
            && a.groups == b.groups
            && a.packets == b.packets
            && a.events == b.events
            && flows
            && links
            && pages
    };
    runs.len() > 1 && runs.windows(2).all(|pair| same(pair[0], pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_has_its_ends() {
        let e = estimated(&[0.5, 0.0], Bounds::SHARE);
        assert_eq!(
            (e["mean"].as_f64(), e["low"].as_f64(), e["n"].as_u64()),
            (Some(0.25), Some(0.0), Some(2))
        );
        assert!(e["ci95"].as_f64() > Some(1.0) && e["high"].as_f64() <= Some(1.0), "{e}");
        let one = json!({ "mean": 7.0, "ci95": null, "n": 1, "low": null, "high": null });
        assert_eq!(estimated(&[7.0], Bounds::FROM_ZERO), one);
    }

    /// Zipping would drop a metric without a word.
    #[test]
    fn every_metric_is_named() {
        let values = vec![Some(f64::NAN); METRICS.len()];
        let named = named(METRICS, &values);
        assert_eq!(named.len(), METRICS.len());
        assert!(named.values().all(Json::is_null));
    }
}
