//! Sums, means, quantiles, and an index of fairness.

/// Returns the sum; `None` of nothing.
pub(crate) fn sum(parts: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut parts = parts.into_iter().peekable();
    parts.peek().is_some().then(|| parts.sum())
}

/// Returns the mean; `None` of nothing.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    sum(values.iter().copied()).map(|all| all / values.len() as f64)
}

/// Returns Jain's index; `None` where nobody got anything.
pub fn jain(x: &[f64]) -> Option<f64> {
    let (s1, s2) = x.iter().fold((0.0, 0.0), |(a, b), v| (a + v, b + v * v));
    (s2 > 0.0).then(|| s1 * s1 / (x.len() as f64 * s2))
}

/// Returns the q-quantile of unsorted values: the smallest with at least `q·n` at or below it.
pub fn quantile(values: &mut [f64], q: f64) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let rank = (libm::ceil(q * values.len() as f64) as usize).max(1);
    values.get(rank - 1).copied()
}
