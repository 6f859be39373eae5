//! Disciplines outside RED's family, one paper or RFC per file.

pub mod afd;
pub mod avq;
pub mod bernoulli;
pub mod blue;
pub mod cake;
pub mod choke;
pub mod cobalt;
pub mod codel;
pub mod docsis_pie;
pub mod droptail;
pub mod dualpi2;
pub mod fq_cobalt;
pub mod fq_codel;
pub mod fq_pie;
pub mod pi;
pub mod pi2;
pub mod pie;
pub mod rem;
pub mod sfb;
pub mod sfq;
pub mod step;
