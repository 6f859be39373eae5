//! What a connection tells, by the names that scripts have for it: those of Linux's `tcp_info`.

use penstock_tcp::{CaState, Info, Sender};
use penstock_units::Duration;

/// A number that a sender tells.
type Told = (&'static str, fn(&Info) -> i64);

const TOLD: &[Told] = &[
    ("tcpi_backoff", |i| i.backoff.into()),
    ("tcpi_ca_state", |i| i.state as i64),
    ("tcpi_delivered", |i| i.delivered as i64),
    ("tcpi_delivered_ce", |i| i.delivered_ce as i64),
    ("tcpi_delivered_ce_bytes", |i| i.delivered_bytes.ce.into()),
    ("tcpi_delivered_e0_bytes", |i| i.delivered_bytes.ect0.into()),
    ("tcpi_delivered_e1_bytes", |i| i.delivered_bytes.ect1.into()),
    ("tcpi_lost", |i| i.lost as i64),
    ("tcpi_min_rtt", |i| i.min_rtt.map_or(0, micros)),
    ("tcpi_reord_seen", |i| i.reord_seen.into()),
    ("tcpi_reordering", |i| i.reordering.into()),
    ("tcpi_retrans", |i| i.retrans as i64),
    ("tcpi_rto", |i| micros(i.rto)),
    ("tcpi_rtt", |i| i.srtt.map_or(0, micros)),
    ("tcpi_sacked", |i| i.sacked as i64),
    ("tcpi_snd_cwnd", |i| i.cwnd.into()),
    ("tcpi_snd_ssthresh", |i| i.ssthresh.map_or(NO_LIMIT, i64::from)),
    ("tcpi_total_retrans", |i| i.total_retrans as i64),
    ("tcpi_unacked", |i| i.unacked as i64),
];

/// Linux's slow-start threshold before the first cut.
const NO_LIMIT: i64 = 0x7fff_ffff;

/// Linux's states.
const STATES: &[(&str, i64)] = &[
    ("TCP_CA_Open", CaState::Open as i64),
    ("TCP_CA_Disorder", CaState::Disorder as i64),
    ("TCP_CA_CWR", CaState::Cwr as i64),
    ("TCP_CA_Recovery", CaState::Recovery as i64),
    ("TCP_CA_Loss", CaState::Loss as i64),
];

/// Whether assertions may use a name.
pub(crate) fn tells(name: &str) -> bool {
    TOLD.iter().any(|(known, _)| *known == name) || STATES.iter().any(|(known, _)| *known == name)
}

/// Returns what a name stands for.
pub(crate) fn told(sender: &Sender, name: &str) -> Option<i64> {
    let state = STATES.iter().find(|(known, _)| *known == name).map(|(_, n)| *n);
    state
        .or_else(|| TOLD.iter().find(|(known, _)| *known == name).map(|(_, of)| of(&sender.info())))
}

fn micros(d: Duration) -> i64 {
    (d.as_nanos() / 1000) as i64
}
