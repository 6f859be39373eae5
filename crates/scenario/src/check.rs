//! From a written value to a checked one: one function for every parameter of every table.

use crate::cdf;
use crate::error::{nearest, Problem, ScenarioError};
use crate::node::{Item, Node, Table};
use penstock_units::param::{
    Arrivals, DelaySpec, Dist, DistFile, Loss, Param, RateSchedule, StartSpec, Ty, Value, Values,
    REQUIRED,
};
use penstock_units::{
    format_duration, parse_duration, parse_frequency, parse_queue, parse_rate, parse_size, Bytes,
    Duration, QuantityError, QueueLen, Rate,
};

type Result<T> = std::result::Result<T, ScenarioError>;

/// Reads the value of `param` from `node`, which was written at `path`.
pub(crate) fn value(node: &Node, param: &Param, path: &str) -> Result<Value> {
    match (&param.ty, &node.item) {
        // The declaration names the unit, so a number alone is one.
        (Ty::Size, Item::Int(n)) if !param.unit.is_empty() && *n >= 0 => {
            Ok(Value::Size(Bytes(*n as u64)))
        }
        (Ty::Sizes, Item::Int(n)) if !param.unit.is_empty() && *n >= 0 => {
            Ok(Value::Dist(Dist::Constant(*n as f64)))
        }
        (ty, _) => typed(node, ty, path),
    }
}

fn typed(node: &Node, ty: &Ty, path: &str) -> Result<Value> {
    let wrong = || ScenarioError::at(node, path, Problem::Value { allowed: ty.allowed() });
    match ty {
        Ty::Bool => match node.item {
            Item::Bool(b) => Ok(Value::Bool(b)),
            _ => Err(wrong()),
        },
        Ty::Int { min, max } => {
            whole(node).filter(|n| (min..=max).contains(&n)).map(Value::Int).ok_or_else(wrong)
        }
        Ty::Num { min, max, open } => {
            let inside =
                |x: &f64| x.is_finite() && (*x > *min || *x == *min && !open) && *x <= *max;
            number(node).filter(inside).map(Value::Num).ok_or_else(wrong)
        }
        Ty::Loss => loss(node, path, wrong).map(Value::Loss),
        Ty::Word(words) => word(node, words, path, wrong),
        Ty::Text => text(node).map(|s| Value::Word(s.into())).ok_or_else(wrong),
        Ty::Duration => duration(node, path).map(Value::Duration),
        Ty::Rate => rate(node, path).map(Value::Rate),
        Ty::Rates => rates(node, path, wrong).map(Value::Rates),
        Ty::Size => size(node, path).map(Value::Size),
        Ty::Queue => queue(node, path).map(Value::Queue),
        Ty::Delay => delay(node, path, wrong).map(Value::Delay),
        Ty::Start => start(node, path, wrong).map(Value::Start),
        Ty::Sizes if text(node).is_some() || number(node).is_some() => {
            object_size(node, path).map(|bytes| Value::Dist(Dist::Constant(bytes)))
        }
        Ty::SizeDist | Ty::Sizes => dist(node, path, &object_size, true, wrong),
        Ty::TimeDist => {
            dist(node, path, &|n, p| duration(n, p).map(Duration::as_secs_f64), false, wrong)
        }
        Ty::Arrivals => arrivals(node, path, wrong).map(Value::Arrivals),
        Ty::Schedule => schedule(node, path, wrong).map(Value::Schedule),
        Ty::Tables(params) => tables(node, params, path, wrong).map(Value::Tables),
        Ty::Or(_, words) if text(node).is_some() => word(node, words, path, wrong),
        Ty::Or(number, _) => typed(node, number, path).map_err(|_| wrong()),
    }
}

fn number(node: &Node) -> Option<f64> {
    match node.item {
        Item::Int(i) => Some(i as f64),
        Item::Float(x) => Some(x),
        _ => None,
    }
}

/// Reads a whole number, also if it is written with a point (as Python and JSON may).
fn whole(node: &Node) -> Option<i64> {
    match node.item {
        Item::Int(i) => Some(i),
        Item::Float(x) if x.trunc() == x && x.abs() < 9e15 => Some(x as i64),
        _ => None,
    }
}

fn text(node: &Node) -> Option<&str> {
    match &node.item {
        Item::Text(s) => Some(s),
        _ => None,
    }
}

fn word(
    node: &Node,
    words: &[&str],
    path: &str,
    wrong: impl Fn() -> ScenarioError,
) -> Result<Value> {
    let found = text(node).ok_or_else(wrong)?;
    if words.contains(&found) {
        return Ok(Value::Word(found.into()));
    }
    let allowed = words.iter().map(|w| w.to_string()).collect();
    let nearest = nearest(found, words.iter().copied());
    Err(ScenarioError::at(node, path, Problem::UnknownWord { allowed, nearest }))
}

/// Reads a quantity from a string. A number alone is an error, which shows it with a unit.
fn quantity<T>(
    node: &Node,
    path: &str,
    ty: &Ty,
    parse: fn(&str) -> std::result::Result<T, QuantityError>,
) -> Result<T> {
    let parsed = match &node.item {
        Item::Text(s) => parse(s),
        Item::Int(i) => parse(&i.to_string()),
        // Debug writes large numbers with an exponent, not with hundreds of digits.
        Item::Float(x) if x.is_finite() => parse(&format!("{x:?}")),
        _ => return Err(ScenarioError::at(node, path, Problem::Value { allowed: ty.allowed() })),
    };
    parsed.map_err(|e| ScenarioError::at(node, path, Problem::Quantity(e)))
}

/// No event is later than this (5 days), and up to here times are exact in an f64.
const LONGEST: Duration = Duration::from_nanos(penstock_sim::MAX_TIME.as_nanos());

pub(crate) fn duration(node: &Node, path: &str) -> Result<Duration> {
    let time = quantity(node, path, &Ty::Duration, parse_duration)?;
    if time > LONGEST {
        let problem = Problem::Conflict(format!("must be at most {}", format_duration(LONGEST)));
        return Err(ScenarioError::at(node, path, problem));
    }
    Ok(time)
}

fn rate(node: &Node, path: &str) -> Result<Rate> {
    quantity(node, path, &Ty::Rate, parse_rate)
}

/// Reads a list of rates, of which there is one at least; a rate alone is a list.
fn rates(node: &Node, path: &str, wrong: impl Fn() -> ScenarioError) -> Result<Vec<Rate>> {
    match &node.item {
        Item::List(list) if list.is_empty() => Err(wrong()),
        Item::List(list) => list.iter().map(|item| rate(item, path)).collect(),
        Item::Text(_) => Ok(vec![rate(node, path)?]),
        _ => Err(wrong()),
    }
}

fn size(node: &Node, path: &str) -> Result<Bytes> {
    quantity(node, path, &Ty::Size, parse_size)
}

/// Reads the size of something that is sent. A petabyte is taken for a mistake.
fn object_size(node: &Node, path: &str) -> Result<f64> {
    let bytes = size(node, path)?.0;
    if bytes > 1 << 50 {
        return Err(ScenarioError::at(
            node,
            path,
            Problem::Conflict("must be at most 1 PB".into()),
        ));
    }
    Ok(bytes as f64)
}

fn queue(node: &Node, path: &str) -> Result<QueueLen> {
    quantity(node, path, &Ty::Queue, parse_queue)
}

/// Returns the only entry of a table that chooses one of several forms.
fn form<'a>(table: &'a Table, wrong: &impl Fn() -> ScenarioError) -> Result<(&'a str, &'a Node)> {
    let mut entries = table.iter();
    match (entries.next(), entries.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(wrong()),
    }
}

fn unknown(key: &str, node: &Node, path: &str, allowed: &[&str]) -> ScenarioError {
    let nearest = nearest(key, allowed.iter().copied());
    let allowed = allowed.iter().map(|w| w.to_string()).collect();
    ScenarioError::new(
        node.origin,
        format!("{path}.{key}"),
        Problem::UnknownKey { allowed, nearest },
    )
}

/// Reads `[a, b]`, both durations.
fn pair(node: &Node, path: &str) -> Result<(Duration, Duration)> {
    match &node.item {
        Item::List(list) if list.len() == 2 => {
            Ok((duration(&list[0], path)?, duration(&list[1], path)?))
        }
        _ => {
            let allowed = "a list of two times, for example [\"40 ms\", \"60 ms\"]".into();
            Err(ScenarioError::at(node, path, Problem::Value { allowed }))
        }
    }
}

fn uniform(node: &Node, path: &str) -> Result<(Duration, Duration)> {
    let (low, high) = pair(node, path)?;
    if low > high {
        let problem = Problem::Conflict("the first time must not be above the second".into());
        return Err(ScenarioError::at(node, path, problem));
    }
    Ok((low, high))
}

fn delay(node: &Node, path: &str, wrong: impl Fn() -> ScenarioError) -> Result<DelaySpec> {
    let Some(table) = node.table() else {
        return if text(node).is_some() || number(node).is_some() {
            duration(node, path).map(DelaySpec::Fixed)
        } else {
            Err(wrong())
        };
    };
    let (key, inner) = form(table, &wrong)?;
    let inner_path = format!("{path}.{key}");
    match key {
        "uniform" => uniform(inner, &inner_path).map(|(a, b)| DelaySpec::Uniform(a, b)),
        "spread" => pair(inner, &inner_path).map(|(a, b)| DelaySpec::Spread(a, b)),
        _ => Err(unknown(key, inner, path, &["uniform", "spread"])),
    }
}

fn start(node: &Node, path: &str, wrong: impl Fn() -> ScenarioError) -> Result<StartSpec> {
    let Some(table) = node.table() else {
        return if text(node).is_some() || number(node).is_some() {
            duration(node, path).map(StartSpec::Fixed)
        } else {
            Err(wrong())
        };
    };
    let (mut every, mut from) = (None, None);
    for (key, inner) in table.iter() {
        let inner_path = format!("{path}.{key}");
        match key {
            "every" => every = Some(duration(inner, &inner_path)?),
            "from" => from = Some(duration(inner, &inner_path)?),
            "uniform" => {
                let (_, only) = form(table, &wrong)?;
                return uniform(only, &inner_path).map(|(a, b)| StartSpec::Uniform(a, b));
            }
            _ => return Err(unknown(key, inner, path, &["uniform", "every", "from"])),
        }
    }
    let every = every.ok_or_else(wrong)?;
    Ok(StartSpec::Every { every, from: from.unwrap_or(Duration::ZERO) })
}

type Quantity<'a> = &'a dyn Fn(&Node, &str) -> Result<f64>;

/// Reads a distribution; `sizes`: of sizes, else of times.
fn dist(
    node: &Node,
    path: &str,
    quantity: Quantity,
    sizes: bool,
    wrong: impl Fn() -> ScenarioError,
) -> Result<Value> {
    let table = node.table().ok_or_else(&wrong)?;
    if let Some(inner) = table.get("empirical") {
        return empirical(table, inner, path, quantity, sizes);
    }
    let (key, inner) = form(table, &wrong)?;
    let parent = path;
    let path = &format!("{path}.{key}");
    let law = match key {
        "constant" => quantity(inner, path).map(Dist::Constant),
        "exponential" => positive(inner, path, quantity).map(Dist::Exponential),
        "pareto" => pareto(inner.table().ok_or_else(&wrong)?, path, quantity, wrong),
        "uniform" => between(inner, path, quantity, wrong),
        _ => {
            const LAWS: &[&str] = &["pareto", "exponential", "constant", "uniform", "empirical"];
            Err(unknown(key, inner, parent, LAWS))
        }
    };
    law.map(Value::Dist)
}

/// Reads `[low, high]`.
fn between(
    node: &Node,
    path: &str,
    quantity: Quantity,
    wrong: impl Fn() -> ScenarioError,
) -> Result<Dist> {
    let Item::List(pair) = &node.item else { return Err(wrong()) };
    let [low, high] = &pair[..] else { return Err(wrong()) };
    let (low, high) = (quantity(low, path)?, quantity(high, path)?);
    if low >= high {
        let problem = Problem::Conflict("the first value must be below the second".into());
        return Err(ScenarioError::at(node, path, problem));
    }
    Ok(Dist::Uniform(low, high))
}

/// Reads a distribution as it was measured: its points, or the file that holds them.
fn empirical(
    table: &Table,
    inner: &Node,
    path: &str,
    quantity: Quantity,
    sizes: bool,
) -> Result<Value> {
    let known: &[&str] = if sizes { &["empirical", "packet"] } else { &["empirical"] };
    if let Some((key, other)) = table.iter().find(|(key, _)| !known.contains(key)) {
        return Err(unknown(key, other, path, known));
    }
    let packet = table.get("packet").map(|n| (n, positive(n, &format!("{path}.packet"), quantity)));
    let path = &format!("{path}.empirical");
    let list = match &inner.item {
        Item::Text(file) => {
            let unit = packet.map(|(_, unit)| unit).transpose()?;
            return Ok(Value::DistFile(DistFile { file: file.clone(), unit }));
        }
        Item::List(list) => list,
        _ => return Err(ScenarioError::at(inner, path, Problem::Value { allowed: POINTS.into() })),
    };
    if let Some((node, _)) = packet {
        let problem =
            Problem::Conflict("says what a file counts in; here each value has a unit".into());
        return Err(ScenarioError::at(node, &path.replace("empirical", "packet"), problem));
    }
    let mut points = vec![];
    for (i, point) in list.iter().enumerate() {
        let path = &format!("{path}.{i}");
        let wrong = || ScenarioError::at(point, path, Problem::Value { allowed: POINT.into() });
        let Item::List(pair) = &point.item else { return Err(wrong()) };
        let [value, share] = &pair[..] else { return Err(wrong()) };
        points.push((quantity(value, path)?, number(share).ok_or_else(wrong)?));
    }
    let points = cdf::distribution(points).map_err(|(i, problem)| {
        let problem = Problem::Conflict(problem);
        match list.get(i) {
            Some(point) => ScenarioError::at(point, &format!("{path}.{i}"), problem),
            None => ScenarioError::at(inner, path, problem),
        }
    })?;
    Ok(Value::Dist(points))
}

/// What an empirical distribution is.
const POINTS: &str = "the name of a file, or a list of values, each with the share of all that is not above it, \
                      for example [[\"1 kB\", 0.5], [\"10 kB\", 1]] or, of times, [[\"1 ms\", 0.5], [\"5 ms\", 1]]";
const POINT: &str =
    "a value and the share of all that is not above it, for example [\"10 kB\", 0.5]";

/// More transfers in a second are taken for a mistake.
const MOST_ARRIVALS: f64 = 1e9;

fn arrivals(node: &Node, path: &str, wrong: impl Fn() -> ScenarioError) -> Result<Arrivals> {
    let (key, inner) = form(node.table().ok_or_else(&wrong)?, &wrong)?;
    if key != "poisson" {
        return Err(unknown(key, inner, path, &["poisson"]));
    }
    let path = &format!("{path}.{key}");
    let (key, inner) = form(inner.table().ok_or_else(&wrong)?, &wrong)?;
    let path_of = &format!("{path}.{key}");
    match key {
        "load" => {
            // Much above 1 nothing is measured but how long the run was.
            const LOAD: Ty = Ty::Num { min: 0.0, max: 10.0, open: true };
            typed(inner, &LOAD, path_of)?;
            number(inner).map(Arrivals::PoissonLoad).ok_or_else(wrong)
        }
        "rate" => {
            let often = quantity(inner, path_of, &Ty::Arrivals, parse_frequency)?;
            if often > MOST_ARRIVALS {
                let problem = Problem::Conflict(format!("must be at most {MOST_ARRIVALS} /s"));
                return Err(ScenarioError::at(inner, path_of, problem));
            }
            Ok(Arrivals::PoissonRate(often))
        }
        _ => Err(unknown(key, inner, path, &["load", "rate"])),
    }
}

fn positive(node: &Node, path: &str, quantity: Quantity) -> Result<f64> {
    let x = quantity(node, path)?;
    if x > 0.0 {
        Ok(x)
    } else {
        Err(ScenarioError::at(node, path, Problem::Conflict("must be above zero".into())))
    }
}

fn pareto(
    table: &Table,
    path: &str,
    quantity: Quantity,
    wrong: impl Fn() -> ScenarioError,
) -> Result<Dist> {
    // At 1 the mean is infinite; far above it the law is a constant.
    const SHAPE: Ty = Ty::Num { min: 1.0, max: 1000.0, open: true };
    let (mut shape, mut mean, mut max) = (None, None, None);
    for (key, inner) in table.iter() {
        let inner_path = &format!("{path}.{key}");
        match key {
            "shape" => {
                typed(inner, &SHAPE, inner_path)?;
                shape = number(inner);
            }
            "mean" => mean = Some(positive(inner, inner_path, quantity)?),
            "max" => max = Some(positive(inner, inner_path, quantity)?),
            _ => return Err(unknown(key, inner, path, &["shape", "mean", "max"])),
        }
    }
    match (shape, mean) {
        (Some(shape), Some(mean)) => Ok(Dist::Pareto { shape, mean, max }),
        _ => Err(wrong()),
    }
}

/// Reads tables by name, each with its defaults filled in.
fn tables(
    node: &Node,
    params: &'static [Param],
    path: &str,
    wrong: impl Fn() -> ScenarioError,
) -> Result<Vec<(String, Values)>> {
    let tables = node.table().ok_or_else(wrong)?.iter();
    tables.map(|(name, inner)| Ok((name.into(), entry(inner, params, path, name)?))).collect()
}

fn entry(node: &Node, params: &'static [Param], path: &str, name: &str) -> Result<Values> {
    let path = &format!("{path}.{name}");
    let not_a_table =
        || ScenarioError::at(node, path, Problem::Value { allowed: "a table".into() });
    let table = node.table().ok_or_else(not_a_table)?;
    let known: Vec<_> = params.iter().map(|p| p.name).collect();
    if let Some((key, inner)) = table.iter().find(|(key, _)| !known.contains(key)) {
        return Err(unknown(key, inner, path, &known));
    }
    let mut values = Values::new();
    for p in params {
        let path = format!("{path}.{}", p.name);
        if let Some(inner) = table.get(p.name) {
            values.set(p.name, value(inner, p, &path)?);
        } else if let Some(text) = p.default {
            let default = Node::from_literal(text, node.origin).ok_or_else(not_a_table)?;
            values.set(p.name, value(&default, p, &path)?);
        } else if p.auto == REQUIRED {
            let problem = Problem::Missing { allowed: p.ty.allowed() };
            return Err(ScenarioError::new(node.origin, path, problem));
        }
    }
    Ok(values)
}

fn probability(node: &Node, path: &str) -> Result<f64> {
    number(node).filter(|p| (0.0..=1.0).contains(p)).ok_or_else(|| {
        let allowed = "a probability in [0, 1]".into();
        ScenarioError::at(node, path, Problem::Value { allowed })
    })
}

fn loss(node: &Node, path: &str, wrong: impl Fn() -> ScenarioError) -> Result<Loss> {
    let Some(table) = node.table() else {
        return probability(node, path).map(Loss::Bernoulli).map_err(|_| wrong());
    };
    let (key, inner) = form(table, &wrong)?;
    if key != "gilbert_elliott" {
        return Err(unknown(key, inner, path, &["gilbert_elliott"]));
    }
    let path = format!("{path}.{key}");
    let (mut p, mut r, mut good, mut bad) = (None, None, 0.0, 1.0);
    for (key, inner) in inner.table().ok_or_else(&wrong)?.iter() {
        let value = || probability(inner, &format!("{path}.{key}"));
        match key {
            "p" => p = Some(value()?),
            "r" => r = Some(value()?),
            "good" => good = value()?,
            "bad" => bad = value()?,
            _ => return Err(unknown(key, inner, &path, &["p", "r", "good", "bad"])),
        }
    }
    let missing = |key: &str| {
        let problem = Problem::Missing { allowed: "a probability in [0, 1]".into() };
        ScenarioError::new(inner.origin, format!("{path}.{key}"), problem)
    };
    let (p, r) = (p.ok_or_else(|| missing("p"))?, r.ok_or_else(|| missing("r"))?);
    Ok(Loss::GilbertElliott { p, r, good, bad })
}

fn schedule(node: &Node, path: &str, wrong: impl Fn() -> ScenarioError) -> Result<RateSchedule> {
    let list = match &node.item {
        Item::List(list) => list,
        Item::Table(table) if table.iter().any(|(key, _)| matches!(key, "cycle" | "every")) => {
            return cycle(table, path, wrong)
        }
        Item::Table(table) => return from_file(table, path, wrong),
        // A name alone is a trace's.
        Item::Text(file) => return Ok(RateSchedule::Mahimahi { file: file.clone(), hash: None }),
        _ => return Err(wrong()),
    };
    let mut steps: Vec<(Duration, Option<Rate>)> = vec![];
    for (i, step) in list.iter().enumerate() {
        let path = &format!("{path}.{i}");
        let (at, rate) = schedule_step(step, path, &wrong)?;
        if steps.last().is_some_and(|(last, _)| at <= *last) {
            let problem = Problem::Conflict("must be later than the step before".into());
            return Err(ScenarioError::at(step, path, problem));
        }
        steps.push((at, rate));
    }
    Ok(RateSchedule::Steps(steps))
}

/// Reads the name of a file, and perhaps the hash of its content.
fn from_file(table: &Table, path: &str, wrong: impl Fn() -> ScenarioError) -> Result<RateSchedule> {
    let (mut mahimahi, mut steps, mut hash) = (None, None, None);
    for (key, inner) in table.iter() {
        let of = match key {
            "mahimahi" => &mut mahimahi,
            "steps" => &mut steps,
            "hash" => &mut hash,
            _ => return Err(unknown(key, inner, path, &["mahimahi", "steps", "cycle", "hash"])),
        };
        match typed(inner, &Ty::Text, &format!("{path}.{key}"))? {
            Value::Word(text) => *of = Some(text),
            _ => return Err(wrong()),
        }
    }
    match (mahimahi, steps) {
        (Some(file), None) => Ok(RateSchedule::Mahimahi { file, hash }),
        (None, Some(file)) => Ok(RateSchedule::StepsFile { file, hash }),
        _ => Err(wrong()),
    }
}

fn cycle(table: &Table, path: &str, wrong: impl Fn() -> ScenarioError) -> Result<RateSchedule> {
    let (mut rates, mut every) = (vec![], None);
    for (key, inner) in table.iter() {
        let path_of = format!("{path}.{key}");
        match key {
            "cycle" => {
                let Item::List(list) = &inner.item else { return Err(wrong()) };
                let turns = list.iter().enumerate();
                let turns = turns.map(|(i, r)| rate_or_down(r, &format!("{path_of}.{i}")));
                rates = turns.collect::<Result<Vec<_>>>()?;
            }
            "every" => {
                let length = duration(inner, &path_of)?;
                if length == Duration::ZERO {
                    let problem = Problem::Conflict("must be above 0 s".into());
                    return Err(ScenarioError::at(inner, &path_of, problem));
                }
                every = Some(length);
            }
            _ => return Err(unknown(key, inner, path, &["cycle", "every"])),
        }
    }
    match every {
        Some(every) if !rates.is_empty() => Ok(RateSchedule::Cycle { rates, every }),
        _ => Err(wrong()),
    }
}

fn schedule_step(
    step: &Node,
    path: &str,
    wrong: &impl Fn() -> ScenarioError,
) -> Result<(Duration, Option<Rate>)> {
    let (mut at, mut to) = (None, None);
    for (key, inner) in step.table().ok_or_else(wrong)?.iter() {
        let path_of = format!("{path}.{key}");
        match key {
            "at" => at = Some(duration(inner, &path_of)?),
            "rate" => to = Some(rate_or_down(inner, &path_of)?),
            _ => return Err(unknown(key, inner, path, &["at", "rate"])),
        }
    }
    at.zip(to).ok_or_else(wrong)
}

/// Reads a rate; `"0 bit/s"` is a link that is down.
fn rate_or_down(node: &Node, path: &str) -> Result<Option<Rate>> {
    match rate(node, path) {
        Ok(rate) => Ok(Some(rate)),
        Err(e) if matches!(e.problem(), Problem::Quantity(QuantityError::Zero { .. })) => Ok(None),
        Err(e) => Err(e),
    }
}
