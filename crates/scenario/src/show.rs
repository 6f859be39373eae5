//! Checked values as a person writes them: for the resolved scenario and for messages.

use crate::node::{Node, Origin};
use penstock_units::param::{
    Arrivals, DelaySpec, Dist, DistFile, Loss, Param, Params, RateSchedule, StartSpec, Ty, Value,
    Values,
};
use penstock_units::{
    format_duration, format_frequency, format_rate, format_size, Bytes, Duration, QueueLen, Rate,
};
use serde_json::{json, Map, Value as Json};

/// A value in a message.
pub(crate) fn value(value: &Value) -> String {
    Node::from_json(&json(value, &Ty::TimeDist), Origin::Unknown).shown()
}

/// A value as JSON that [`crate::check::value`] reads back; the type tells sizes from times in a
/// distribution.
pub(crate) fn json(value: &Value, ty: &Ty) -> Json {
    match value {
        Value::Bool(b) => json!(b),
        Value::Int(i) => json!(i),
        Value::Num(x) => json!(x),
        Value::Word(w) => json!(w),
        Value::Duration(d) => json!(format_duration(*d)),
        Value::Rate(r) => json!(format_rate(*r)),
        Value::Rates(list) => list.iter().map(|r| json!(format_rate(*r))).collect(),
        Value::Size(b) => json!(format_size(*b)),
        Value::Queue(q) => json!(queue(*q)),
        Value::Delay(d) => delay(d),
        Value::Start(s) => start(s),
        Value::Dist(d) => dist(d, ty),
        Value::DistFile(DistFile { file, unit: None }) => json!({ "empirical": file }),
        Value::DistFile(DistFile { file, unit: Some(bytes) }) => {
            json!({ "empirical": file, "packet": format_size(Bytes(*bytes as u64)) })
        }
        Value::Arrivals(Arrivals::PoissonLoad(load)) => json!({ "poisson": { "load": load } }),
        Value::Arrivals(Arrivals::PoissonRate(often)) => {
            json!({ "poisson": { "rate": format_frequency(*often) } })
        }
        Value::Loss(Loss::Bernoulli(p)) => json!(p),
        Value::Loss(Loss::GilbertElliott { p, r, good, bad }) => {
            json!({ "gilbert_elliott": { "p": p, "r": r, "good": good, "bad": bad } })
        }
        Value::Schedule(RateSchedule::Steps(steps)) => steps.iter().map(step).collect(),
        Value::Schedule(RateSchedule::Cycle { rates, every }) => {
            let rates: Json = rates.iter().map(|r| json!(rate_or_down(*r))).collect();
            json!({ "cycle": rates, "every": format_duration(*every) })
        }
        Value::Schedule(RateSchedule::StepsFile { file, hash }) => {
            json!({ "steps": file, "hash": hash })
        }
        Value::Schedule(RateSchedule::Mahimahi { file, hash }) => {
            json!({ "mahimahi": file, "hash": hash })
        }
        Value::Tables(tables) => {
            let inner = if let Ty::Tables(params) = ty { params } else { &[][..] };
            let table = |(name, own): &(String, Values)| (name.clone(), values(inner.iter(), own));
            tables.iter().map(table).collect()
        }
    }
}

/// The values of some tables in declared order, `null` where a key is automatic.
pub(crate) fn values<'a>(
    params: impl Iterator<Item = &'a Param>,
    values: &Values,
) -> Map<String, Json> {
    params
        .map(|p| (p.name.to_string(), values.get(p.name).map_or(Json::Null, |v| json(v, &p.ty))))
        .collect()
}

/// The keys of a typed table in declared order, `null` where one is automatic.
pub(crate) fn params<T: Params>(typed: &T) -> Map<String, Json> {
    let mut written = Values::new();
    typed.write(&mut written);
    values(T::TABLES.iter().copied().flatten(), &written)
}

fn queue(q: QueueLen) -> String {
    match q {
        QueueLen::Bytes(b) => format_size(Bytes(b)),
        QueueLen::Packets(1.0) => "1 packet".into(),
        // Hundreds of digits would not parse back.
        QueueLen::Packets(n) if n >= 1e15 => format!("{n:e} packets"),
        QueueLen::Packets(n) => format!("{n} packets"),
    }
}

fn pair(a: Duration, b: Duration) -> Json {
    json!([format_duration(a), format_duration(b)])
}

fn delay(d: &DelaySpec) -> Json {
    match *d {
        DelaySpec::Fixed(d) => json!(format_duration(d)),
        DelaySpec::Uniform(a, b) => json!({ "uniform": pair(a, b) }),
        DelaySpec::Spread(a, b) => json!({ "spread": pair(a, b) }),
    }
}

fn start(s: &StartSpec) -> Json {
    match *s {
        StartSpec::Fixed(d) => json!(format_duration(d)),
        StartSpec::Uniform(a, b) => json!({ "uniform": pair(a, b) }),
        StartSpec::Every { every, from } => {
            json!({ "every": format_duration(every), "from": format_duration(from) })
        }
    }
}

fn dist(d: &Dist, ty: &Ty) -> Json {
    // Both were whole bytes or nanoseconds before they became real numbers.
    let quantity = |x: f64| match ty {
        Ty::SizeDist | Ty::Sizes => format_size(Bytes(x as u64)),
        _ => format_duration(Duration::from_secs_f64(x)),
    };
    match *d {
        Dist::Constant(x) if *ty == Ty::Sizes => json!(quantity(x)),
        Dist::Constant(x) => json!({ "constant": quantity(x) }),
        Dist::Exponential(mean) => json!({ "exponential": quantity(mean) }),
        Dist::Uniform(low, high) => json!({ "uniform": [quantity(low), quantity(high)] }),
        Dist::Pareto { shape, mean, max: None } => {
            json!({ "pareto": { "shape": shape, "mean": quantity(mean) } })
        }
        Dist::Pareto { shape, mean, max: Some(max) } => {
            json!({ "pareto": { "shape": shape, "mean": quantity(mean), "max": quantity(max) } })
        }
        Dist::Empirical(ref points) => {
            let points: Json =
                points.iter().map(|(x, share)| json!([quantity(*x), share])).collect();
            json!({ "empirical": points })
        }
    }
}

fn step((at, rate): &(Duration, Option<Rate>)) -> Json {
    json!({ "at": format_duration(*at), "rate": rate_or_down(*rate) })
}

fn rate_or_down(rate: Option<Rate>) -> String {
    rate.map_or("0 bit/s".into(), format_rate)
}
