//! `penstock list` prints these lists, which are made from the declarations.

use crate::keys;
use crate::tables::{
    Access, DesignKeys, GraphLink, Group, Link, Measure, Record, Router, Top, GRAPH_LINK_DOC,
    NODE_DOC, RECORD_DOC, SIDES, SWEEP_SEEDS, TOPOLOGIES, TOPOLOGY, TRAFFICS,
};
use penstock_aqm::{Context, Discipline, Kind, COMMON, KINDS};
use penstock_sim::{
    Of, FLOW_METRICS, GROUP_METRICS, LINK_METRICS, METRICS, PACKET_METRICS, PAGE_METRICS,
    VIDEO_METRICS,
};
use penstock_tcp::VARIANTS;
use penstock_units::param::{OwnDefaults, Param, Profile, Ty, Under, Values};
use penstock_units::{Duration, QueueLen, Rate};
use serde_json::{json, Value as Json};

type Make = fn() -> Vec<Json>;

/// The names that [`list`] takes.
const LISTS: &[(&str, Make)] = &[
    ("aqm", aqm),
    ("tcp", tcp),
    ("traffic", traffic),
    ("metrics", metrics),
    ("topology", topology),
    ("scenario", scenario),
    ("profiles", profiles),
];

/// Returns everything of one sort (`aqm`, `tcp`, `traffic`, `metrics`, `topology`, `scenario`,
/// `profiles`): a list of objects with `name`, `doc`, `source` and `params` (`name`, `doc`, `range`,
/// `unit`, `default`, a column for each profile, `auto`, `source`; those of a table by name as its
/// own `params`), disciplines also with `state`, `state_bytes`, `packet_bytes` (what they keep for
/// the queue and of each waiting packet), `equations`, `expect` and `weaknesses`. A profile has its
/// own defaults as `params`, with the table of each, and the name of its `column`. `None` if there
/// is no such list.
pub fn list(what: &str) -> Option<Json> {
    let (_, make) = LISTS.iter().find(|(name, _)| *name == what)?;
    Some(Json::Array(make()))
}

/// Returns [`list`] as text.
pub fn list_json(what: &str) -> Option<String> {
    list(what).map(|l| l.to_string())
}

/// A declaration as an object; defaults as a person would write them, without TOML's quotes around
/// a lone string.
pub(crate) fn param(p: &Param) -> Json {
    let plain = |text: &str| {
        text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text).to_string()
    };
    let mut out = json!({
        "name": p.name,
        "doc": p.doc,
        "type": type_name(&p.ty),
        "range": p.ty.allowed(),
        "unit": p.unit,
        "default": p.default.map(plain),
        "auto": p.auto,
        "source": p.source,
    });
    for profile in Profile::ALL {
        if let Some(column) = profile.column() {
            out[column] = json!(p.under.get(*profile).flatten().map(plain));
        }
    }
    if let Ty::Tables(inner) = p.ty {
        out["params"] = params(inner);
    }
    out
}

/// A table's parameter with the defaults that a kind or a variant has instead.
fn with_own(p: &Param, own: &OwnDefaults) -> Param {
    let mut under = Under::all(None);
    for profile in Profile::ALL {
        under.set(*profile, p.of_profile(*profile, own));
    }
    Param { default: p.default_under(Profile::Rfc, own), under, ..*p }
}

/// Returns one word for a type, for programs.
fn type_name(ty: &Ty) -> &'static str {
    match ty {
        Ty::Bool => "bool",
        Ty::Int { .. } => "int",
        Ty::Num { .. } => "number",
        Ty::Loss => "loss",
        Ty::Word(_) => "word",
        Ty::Text => "text",
        Ty::Duration => "duration",
        Ty::Rate => "rate",
        Ty::Rates => "rates",
        Ty::Size => "size",
        Ty::Queue => "queue",
        Ty::Delay => "delay",
        Ty::Start => "start",
        Ty::SizeDist => "size distribution",
        Ty::Sizes => "sizes",
        Ty::TimeDist => "time distribution",
        Ty::Arrivals => "arrivals",
        Ty::Schedule => "schedule",
        Ty::Or(&Ty::Bool, _) => "bool or word",
        Ty::Or(..) => "number or word",
        Ty::Tables(_) => "tables",
    }
}

fn params<'a>(list: impl IntoIterator<Item = &'a Param>) -> Json {
    list.into_iter().map(param).collect()
}

fn entry(name: &str, doc: &str, source: &str, params: Json) -> Json {
    json!({ "name": name, "doc": doc, "source": source, "params": params })
}

/// Each kind with the defaults that it changes written over its tables'.
fn aqm() -> Vec<Json> {
    let kinds = KINDS.iter().map(|kind| {
        let tables = kind.params.iter().copied().chain([COMMON]).flatten();
        let effective: Vec<Param> = tables.map(|p| with_own(p, &kind.defaults)).collect();
        let state: Json =
            kind.state.iter().map(|s| json!({ "name": s.name, "doc": s.doc })).collect();
        let mut out = entry(kind.name, kind.doc, kind.source, params(&effective));
        out["state"] = state;
        let made = with_defaults(kind);
        out["state_bytes"] = made.state_bytes().into();
        out["packet_bytes"] = made.packet_bytes().into();
        for (key, text) in [
            ("equations", kind.equations),
            ("expect", kind.expect),
            ("weaknesses", kind.weaknesses),
        ] {
            out[key] = text.into();
        }
        out
    });
    kinds.collect()
}

/// The discipline with its defaults, on some link.
fn with_defaults(kind: &Kind) -> Discipline {
    let tables: Vec<_> = kind.params.iter().copied().chain([COMMON]).collect();
    let values = Values::defaults(&tables, &kind.defaults, Profile::Rfc);
    let cx = Context::new(
        Rate::from_bps(10_000_000).expect("above 0"),
        Duration::from_millis(20),
        QueueLen::Packets(100.0),
    );
    penstock_aqm::build(kind.name, &values, &cx).expect("defaults hold together")
}

/// Returns each variant with the keys that belong to it alone, and the keys of all.
fn tcp() -> Vec<Json> {
    let owned = |p: &Param| VARIANTS.iter().any(|v| v.owns(p.name));
    let variants = VARIANTS.iter().map(|v| {
        let own = penstock_tcp::PARAMS.iter().filter(|p| v.owns(p.name));
        let own: Vec<Param> = own.map(|p| with_own(p, &v.defaults)).collect();
        entry(v.name, v.doc, v.source, params(&own))
    });
    let all = penstock_tcp::PARAMS.iter().filter(|p| !owned(p));
    let all = entry("any", "Keys of every TCP flow.", "", params(all));
    variants.chain([all]).collect()
}

fn traffic() -> Vec<Json> {
    let kinds = TRAFFICS.iter().map(|kind| {
        // TCP's keys have a separate list.
        let own = kind
            .params
            .iter()
            .copied()
            .filter(|t| !std::ptr::eq(*t, penstock_tcp::PARAMS))
            .flatten();
        let own =
            own.filter(|p| !kind.tcp || !penstock_tcp::PARAMS.iter().any(|q| q.name == p.name));
        let mut out = entry(kind.name, kind.doc, kind.source, params(own));
        out["tcp"] = kind.tcp.into();
        out
    });
    kinds.chain([entry("any", "Keys of every [[traffic]].", "", params(Group::TABLE))]).collect()
}

fn topology() -> Vec<Json> {
    let kinds = TOPOLOGIES.iter().map(|k| entry(k.name, k.doc, "", params(k.params)));
    let all = entry("any", "Keys of every [topology].", "", params(TOPOLOGY));
    let link = entry("bottleneck, link", "A link between routers.", "", params(Link::TABLE));
    let sides = SIDES.iter().map(|(name, doc)| entry(name, doc, "", params(Access::TABLE)));
    let node = entry("[[topology.node]]", NODE_DOC, "", params(Router::TABLE));
    let graph_link = entry("[[topology.link]]", GRAPH_LINK_DOC, "", params(GraphLink::TABLE));
    kinds.chain([all, link, node, graph_link]).chain(sides).collect()
}

fn scenario() -> Vec<Json> {
    vec![
        entry("top", "Keys at the top of a scenario.", "", params(Top::TABLE)),
        entry("measure", "The measured window.", "", params(Measure::TABLE)),
        entry("record", RECORD_DOC, "", params(Record::TABLE)),
        entry(
            "sweep",
            "Axes of a grid: a key path to a list of values, or to a range between two: { uniform = [a, b] }, \
             { log_uniform = [a, b] } or { integer = [a, b] } (of packets, whole ends give whole numbers); besides:",
            "",
            params([&SWEEP_SEEDS].into_iter().chain(DesignKeys::TABLE)),
        ),
    ]
}

/// Returns each profile with the defaults that it changes.
fn profiles() -> Vec<Json> {
    Profile::ALL
        .iter()
        .map(|profile| {
            let mut changed = vec![];
            let mut add = |whose: &str, p: &Param, text: &'static str| {
                let mut row = param(&Param { default: Some(text), ..*p });
                row["table"] = whose.into();
                changed.push(row);
            };
            let shared = KINDS.iter().flat_map(|k| k.params.iter().copied()).chain([COMMON]);
            let mut of_aqm: Vec<&Param> = vec![];
            for p in shared.flatten() {
                if !of_aqm.iter().any(|seen| std::ptr::eq(*seen, p)) {
                    of_aqm.push(p);
                }
            }
            let tables: [(&str, Vec<&Param>); 3] = [
                ("top", Top::TABLE.iter().collect()),
                ("traffic", penstock_tcp::PARAMS.iter().collect()),
                ("aqm", of_aqm),
            ];
            for (whose, params) in tables {
                for p in params {
                    if let Some(text) = p.of_profile(*profile, &OwnDefaults::NONE) {
                        add(whose, p, text);
                    }
                }
            }
            let variants =
                VARIANTS.iter().map(|v| ("tcp", v.name, &v.defaults, vec![penstock_tcp::PARAMS]));
            let kinds = KINDS.iter().map(|k| ("kind", k.name, &k.defaults, keys::aqm_params(k)));
            for (key, name, own, tables) in variants.chain(kinds) {
                for (changed, text) in own.under.get(*profile).unwrap_or_default() {
                    let p = keys::find(&tables, changed).expect("a test looks for it");
                    add(&format!("{key} = \"{name}\""), p, text);
                }
            }
            let mut out = entry(profile.word(), profile.doc(), "", changed.into());
            out["column"] = json!(profile.column());
            out
        })
        .collect()
}

fn metrics() -> Vec<Json> {
    // Those of a run that each link has, too, where there are several.
    let of_a_link = |name: &str| LINK_METRICS.iter().any(|m| m.name == name);
    let run = METRICS.iter().map(|m| metric(m, "run", of_a_link(m.name)));
    let group = GROUP_METRICS.iter().map(|m| metric(m, "group", false));
    let flow = FLOW_METRICS.iter().map(|m| metric(m, "flow", false));
    let pages = |per: &'static str| PAGE_METRICS.iter().map(move |m| metric(m, per, false));
    let video = |per: &'static str| VIDEO_METRICS.iter().map(move |m| metric(m, per, false));
    // Those that `record.groups` asks for.
    let packets = |per: &'static str| {
        PACKET_METRICS.iter().map(move |m| {
            let mut row = metric(m, per, false);
            row["record"] = "groups".into();
            row
        })
    };
    let groups = group.chain(pages("group")).chain(video("group")).chain(packets("group"));
    let flows = flow.chain(video("flow")).chain(packets("flow"));
    run.chain(pages("run")).chain(groups).chain(flows).collect()
}

fn metric<V>(m: &Of<V>, per: &str, links: bool) -> Json {
    let finite = |x: f64| x.is_finite().then_some(x);
    let bounds = [finite(m.bounds.least), finite(m.bounds.most)];
    json!({ "name": m.name, "label": m.label, "doc": m.doc, "per": per, "links": links, "bounds": bounds })
}
