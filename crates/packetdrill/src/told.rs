//! What a connection tells, by the names that scripts have for it: those of Linux's `tcp_info`.

use penstock_tcp::Sender;

/// A number that a sender tells.
type Told = (&'static str, fn(&Sender) -> i64);

const TOLD: &[Told] = &[
    ("tcpi_snd_cwnd", |s| s.cwnd() as i64),
    ("tcpi_snd_ssthresh", |s| if s.ssthresh() < 1e9 { s.ssthresh() as i64 } else { NO_LIMIT }),
    ("tcpi_rtt", |s| (s.srtt().unwrap_or(0.0) * 1e6) as i64),
    ("tcpi_total_retrans", |s| s.counters().retransmits as i64),
];

/// Linux's slow-start threshold before the first cut.
const NO_LIMIT: i64 = 0x7fff_ffff;

/// Linux's states.
const STATES: &[(&str, i64)] = &[
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
];

/// Whether assertions may use a name.
pub(crate) fn tells(name: &str) -> bool {
    TOLD.iter().any(|(known, _)| *known == name) || STATES.iter().any(|(known, _)| *known == name)
}

/// Returns what a name stands for.
pub(crate) fn told(sender: &Sender, name: &str) -> Option<i64> {
    let state = STATES.iter().find(|(known, _)| *known == name).map(|(_, n)| *n);
    state.or_else(|| TOLD.iter().find(|(known, _)| *known == name).map(|(_, of)| of(sender)))
}
