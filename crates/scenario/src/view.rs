//! Typed views of a scenario, for programs that play it otherwise than by the simulator.

use crate::node::{Item, Node, Table};
use crate::plan;
use crate::scenario::Scenario;
use penstock_units::param::Value;

/// The topology of a scenario.
#[derive(Clone, Copy)]
pub struct TopologyView<'a>(&'a plan::Topology);

impl TopologyView<'_> {
    /// Returns the kind: `"dumbbell"`, `"parking-lot"`, `"graph"`.
    pub fn kind(&self) -> &'static str {
        self.0.kind.name
    }

    /// Whether there is one link each way between two groups of hosts.
    pub fn is_dumbbell(&self) -> bool {
        self.kind() == "dumbbell"
    }
}

/// The discipline at the bottleneck, as `[aqm]` describes it.
#[derive(Clone, Copy)]
pub struct AqmView<'a>(&'a plan::Discipline);

impl AqmView<'_> {
    /// Whether it marks packets instead of dropping them; false for a discipline that cannot.
    pub fn ecn(&self) -> bool {
        self.0.values.get("ecn") == Some(&Value::Bool(true))
    }
}

/// An entry of `[[traffic]]`, as it was written.
#[derive(Clone, Copy)]
pub struct TrafficView<'a>(Option<&'a Table>);

impl<'a> TrafficView<'a> {
    /// Returns the keys that were written, in their order.
    pub fn written(&self) -> impl Iterator<Item = &'a str> {
        self.0.into_iter().flat_map(|table| table.iter().map(|(key, _)| key))
    }

    /// Whether that key was written, rather than left at its default.
    pub fn has(&self, key: &str) -> bool {
        self.0.is_some_and(|table| table.get(key).is_some())
    }
}

impl Scenario {
    /// Returns the topology.
    pub fn topology(&self) -> TopologyView<'_> {
        TopologyView(&self.plan.topology)
    }

    /// Returns the discipline at the bottleneck. [`Scenario::aqm`] has its name.
    pub fn discipline(&self) -> AqmView<'_> {
        AqmView(&self.plan.aqm)
    }

    /// Returns the entries of `[[traffic]]` in their order, which is that of the traffic groups.
    pub fn traffic(&self) -> Vec<TrafficView<'_>> {
        let entries = match self.root.child("traffic").map(|node| &node.item) {
            Some(Item::List(entries)) => entries.as_slice(),
            _ => &[],
        };
        entries.iter().map(|entry: &Node| TrafficView(entry.table())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_tell_what_was_written() {
        let text = "
            duration = \"10 s\"
            [topology.bottleneck]
            rate = \"1 Mbit/s\"
            delay = \"10 ms\"
            [aqm]
            kind = \"red\"
            ecn = true
            [[traffic]]
            kind = \"ftp\"
            window = 20
        ";
        let scenario = Scenario::from_toml(text, "views.toml").unwrap();
        assert!(scenario.topology().is_dumbbell() && scenario.discipline().ecn());
        let traffic = scenario.traffic();
        assert_eq!(traffic[0].written().collect::<Vec<_>>(), ["kind", "window"]);
        assert!(traffic[0].has("window") && !traffic[0].has("flows"));
        let droptail = scenario.set("aqm.kind", "droptail").and_then(|s| s.set("aqm.ecn", "false"));
        assert!(!droptail.unwrap().discipline().ecn());
    }
}
