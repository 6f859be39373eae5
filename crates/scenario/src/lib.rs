//! Scenario files: from text to a checked [`Scenario`], from there to a run of the simulator, and
//! everything else that is made from the same declarations: the JSON Schema, the lists of `penstock
//! list`, result documents.
//!
//! A file is read in two passes. The first (`walk`) checks each key and value against its
//! declaration, in the order of the file. The second (`plan`) fills in defaults, checks values
//! together and tries out every discipline and transport. What has passed both can be lowered
//! without further errors, except for lack of memory.

mod batch;
mod cdf;
mod check;
mod controls;
mod document;
mod error;
mod files;
mod interval;
mod keys;
mod list;
mod lower;
#[cfg(test)]
mod named_tables;
mod node;
mod plan;
mod probe;
mod range;
mod scenario;
mod schema;
mod session;
mod show;
mod sweep;
mod tables;
mod user;
mod view;
mod walk;
mod warnings;
mod write;

pub use batch::{run_many, BatchError, Progress};
pub use document::{document, identical};
pub use error::{nearest, Problem, ScenarioError};
pub use interval::{ends, estimate, student, student_p, Estimate};
pub use list::{list, list_json};
pub use lower::MEMORY_LIMIT;
pub use penstock_aqm::probe::Counts;
pub use plan::facts::{Facts, FullPacket, GroupFacts, LinkFacts};
pub use probe::{Probe, ProbeError};
pub use range::Range;
pub use scenario::Scenario;
pub use schema::{schema, schema_json};
pub use session::{LinkNow, Session, SessionError};
pub use sweep::{Axis, Design};
pub use view::{AqmView, TopologyView, TrafficView};
pub use warnings::warnings;

/// A commented scenario to start from.
pub fn init_template() -> &'static str {
    include_str!("template.toml")
}
