//! Parameters for tests, without the parser; the crate's own unit tests include this file too.

use penstock_tcp::{Ecn, Incipient, Recovery, TcpParams, Variant};
use penstock_units::Duration;

/// RFC behaviour, windows wide open.
pub fn rfc(variant: Variant) -> TcpParams {
    TcpParams {
        variant,
        ecn: Ecn::Off,
        segment: 1000,
        header: 40,
        window: 1000,
        delayed_ack: false,
        delayed_ack_timeout: Duration::from_millis(100),
        min_rto: Duration::from_secs(1),
        max_rto: Duration::from_secs(60),
        initial_rto: Duration::from_secs(1),
        tick: Duration::from_millis(1),
        rtt_ticks: false,
        initial_window: 2,
        initial_ssthresh: f64::INFINITY,
        limited_transmit: true,
        send_overhead: Duration::ZERO,
        cwnd_floor: 1.0,
        cut_window: false,
        growth_per_ack: false,
        window_validation: true,
        go_back_n: true,
        ns2_recovery: false,
        retransmit_ect: false,
        ecn_across_connections: false,
        handshake: true,
        whole_segments: false,
        alpha: 2.0,
        beta: 4.0,
        gamma: 1.0,
        beta1: 0.2,
        beta2: 0.4,
        beta3: 0.5,
        incipient: Incipient::Decrease,
        escalate: false,
        latch: false,
        literal: false,
        gain: 0.9,
        westwood_printed: false,
        g: 0.0625,
        cubic_c: 0.4,
        cubic_beta: 0.7,
        fast_convergence: true,
        recovery: Recovery::Sack,
    }
}
