//! Empirical distributions: points of a cumulative distribution, from a scenario or from a file.

use penstock_units::param::Dist;

/// More points are taken for a mistake: every document holds them.
const MOST: usize = 10_000;

/// Makes a distribution of values and the shares of all that are not above them, which may be
/// percent.
///
/// # Errors
/// What is wrong, and with which of the points; with none where it is about all of them.
pub(crate) fn distribution(points: Vec<(f64, f64)>) -> Result<Dist, (usize, String)> {
    let all = points.len();
    let Some((largest, whole)) = points.last().copied() else {
        return Err((all, "is empty".into()));
    };
    if all > MOST {
        return Err((all, format!("has {all} points; there may be {MOST}")));
    }
    let mut before = (0.0, 0.0);
    for (i, (value, share)) in points.iter().copied().enumerate() {
        let problem = if !value.is_finite() || value < 0.0 {
            "the value must not be below 0".into()
        } else if value < before.0 {
            "the value must not be below the one before".into()
        } else if !share.is_finite() || share < 0.0 {
            "the share must not be below 0".into()
        } else if share < before.1 {
            format!("the share must not be below the one before ({}): it is cumulative", before.1)
        } else {
            before = (value, share);
            continue;
        };
        return Err((i, problem));
    }
    if whole != 1.0 && whole != 100.0 {
        let problem = "the last share must be 1, or 100 where shares are percent";
        return Err((all - 1, problem.into()));
    }
    if largest == 0.0 {
        return Err((all - 1, "the last value must be above 0".into()));
    }
    Ok(Dist::Empirical(points.into_iter().map(|(value, share)| (value, share / whole)).collect()))
}
