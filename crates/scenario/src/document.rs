//! The document that `penstock run --json` prints. It contains no clock time, so that the same
//! input gives the same bytes.

use crate::scenario::Scenario;
use crate::warnings::warnings;
use penstock_sim::{Of, RunResult, LINK_METRICS, METRICS, PAGE_METRICS};
use serde_json::{json, Map, Value as Json};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A scenario's results: the resolved scenario, each run, and mean and 95 % interval over the runs.
pub fn document(scenario: &Scenario, runs: &[&RunResult]) -> String {
    let document = json!({
        "scenario": scenario.resolved(),
        "version": env!("CARGO_PKG_VERSION"),
        "runs": runs.iter().map(|r| run(scenario, r)).collect::<Json>(),
        "summary": summary(runs),
    });
    document.to_string()
}

/// `null` stands for what does not apply, and for what JSON has no number for.
fn named<V>(table: &[Of<V>], values: &[Option<f64>]) -> Map<String, Json> {
    table.iter().zip(values).map(|(m, v)| (m.name.to_string(), json!(v))).collect()
}

fn run(scenario: &Scenario, result: &RunResult) -> Json {
    let value = |(name, value): (&str, Option<f64>)| (name.to_string(), json!(value));
    let group = |i: usize| {
        let mut out: Map<String, Json> = result.group(i).map(value).collect();
        out.extend(named(PAGE_METRICS, result.pages_of(i)));
        (i.to_string(), Json::Object(out))
    };
    let groups: Map<String, Json> = (0..result.groups.len()).map(group).collect();
    let mut metrics = named(METRICS, &result.metrics);
    metrics.extend(named(PAGE_METRICS, result.page_metrics()));
    let flows = result.flows.iter().map(|flow| {
        let mut out = Map::new();
        out.insert("group".into(), json!(flow.group));
        out.extend(flow.named().map(value));
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
    out
}

fn summary(runs: &[&RunResult]) -> Json {
    let row = |name: &str, i: usize, of: fn(&RunResult) -> &[Option<f64>]| {
        let values: Vec<f64> =
            runs.iter().filter_map(|r| of(r).get(i).copied().flatten()).collect();
        (name.to_string(), estimate(&values))
    };
    let metrics = METRICS.iter().enumerate().map(|(i, m)| row(m.name, i, |r| &r.metrics));
    let timed = runs.iter().any(|r| r.pages.is_some());
    let pages = PAGE_METRICS.iter().enumerate().filter(|_| timed);
    Json::Object(
        metrics.chain(pages.map(|(i, m)| row(m.name, i, RunResult::page_metrics))).collect(),
    )
}

/// Mean, half-width of the 95 % interval, and the number of values, summed in the order of the
/// seeds.
fn estimate(values: &[f64]) -> Json {
    let n = values.len();
    if n == 0 {
        return json!({ "mean": null, "ci95": null, "n": 0 });
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let ci95 = (n > 1).then(|| {
        let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1) as f64;
        twelve_digits(t95(n) * (variance / n as f64).sqrt())
    });
    json!({ "mean": mean, "ci95": ci95, "n": n })
}

/// The factor of a 95 % confidence interval of a mean of `n` values: Student's t with n − 1 degrees
/// of freedom at 0.975. Infinite below two values, which have no interval.
pub fn t95(n: usize) -> f64 {
    // The law exists for every positive number of degrees of freedom.
    let law = StudentsT::new(0.0, 1.0, n.saturating_sub(1) as f64);
    law.map_or(f64::INFINITY, |law| twelve_digits(law.inverse_cdf(0.975)))
}

/// Rounds to twelve significant digits, because the quantile's last digits depend on the platform's
/// logarithm.
fn twelve_digits(x: f64) -> f64 {
    format!("{x:.11e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (n, t) in
            [(2, 12.706_204_736), (3, 4.302_652_730), (10, 2.262_157_163), (30, 2.045_229_642)]
        {
            assert!((t95(n) - t).abs() < 1e-8, "n = {n}: {}", t95(n));
        }
        assert_eq!(t95(1), f64::INFINITY);
    }

    /// 1, 2, 3, 4: mean 2.5, variance 5/3, standard error sqrt(5/12), t(3) = 3.182446305284.
    #[test]
    fn intervals_by_hand() {
        let e = estimate(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!((e["mean"].as_f64(), e["n"].as_u64()), (Some(2.5), Some(4)));
        let ci95 = e["ci95"].as_f64().unwrap();
        assert!((ci95 - 3.182_446_305_284 * (5.0f64 / 12.0).sqrt()).abs() < 1e-9, "{ci95}");
        assert_eq!(estimate(&[7.0]), json!({ "mean": 7.0, "ci95": null, "n": 1 }));
        assert_eq!(estimate(&[]), json!({ "mean": null, "ci95": null, "n": 0 }));
        assert_eq!(estimate(&[2.0, 2.0])["ci95"], json!(0.0));
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
