//! RED and its descendants, one paper per file. Each states the part that it changes, its
//! parameters and its equations, and composes itself from the parts in [`crate::parts`].

pub mod amecn;
pub mod ared;
pub mod custom;
pub mod dt_red;
pub mod feng;
pub mod mecn;
pub mod nlred;
pub mod nred;
pub mod params;
pub mod pdt_red;
pub mod rared;
pub mod red;
pub mod red_at;
pub mod wred;
