"""Lists what the reference's script and ns-2 2.35 take where a case is silent, and which variables have a meaning
here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Table = dict[str, Any]
# What the script takes where a case is silent.
DEFAULTS: Mapping[str, str] = {
    "topo": "dumbbell",
    "bw": "1.5e6",
    "delay": "0.04",
    "buf": "50",
    "abw": "10e6",
    "adelay1": "fixed:0.002",
    "adelay2": "fixed:0.004",
    "abuf": "100000",
    "rq": "DropTail",
    "rbuf": "1000",
    "q": "DropTail",
    "qset": "",
    "ecn": "0",
    "thresh": "",
    "maxthresh": "",
    "linterm": "",
    "qw": "",
    "gentle": "",
    "adaptive": "",
    "targetdelay": "",
    "meanpkt": "",
    "bytes": "0",
    "qib": "0",
    "tcp": "Reno",
    "delack": "0",
    "latch": "0",
    "window": "20",
    "pkt": "1000",
    "tcpset": "",
    "n1": "1",
    "start1": "fixed:0",
    "stop1": "-1",
    "n2": "0",
    "start2": "fixed:0",
    "gap2": "0",
    "stop2": "-1",
    "window2": "-1",
    "nrev": "0",
    "startrev": "fixed:0",
    "cbr": "0",
    "cbrpkt": "1000",
    "cbrn": "1",
    "cbrstart": "fixed:0",
    "cbrrandom": "0",
    "poisson": "0",
    "poispkt": "1000",
    "web": "0",
    "webpairs": "10",
    "webthink": "1.0",
    "webmean": "12",
    "webshape": "1.5",
    "webmax": "500",
    "webstart": "uniform:0:1",
    "hops": "3",
    "plcross": "20",
    "plin": "20 20 0",
    "dur": "50",
    "t0": "25",
    "t1": "50",
}
# Keys that steer only what the script prints or where it writes, or that it declares and does not read.
IGNORED = frozenset({"name", "seed", "qtrace", "sample", "series", "flows", "tmp", "webbytes"})
# Stock class variables of ns-2 2.35 that the mapping reads, by queue class.
STOCK_QUEUE: Mapping[str, Mapping[str, str]] = {
    "DropTail": {"queue_in_bytes_": "false", "mean_pktsize_": "500"},
    "RED": {
        "bytes_": "true",
        "queue_in_bytes_": "true",
        "mean_pktsize_": "500",
        "q_weight_": "-1",
        "thresh_": "0",
        "maxthresh_": "0",
        "linterm_": "10",
        "gentle_": "true",
        "wait_": "true",
        "use_mark_p_": "true",
        "mark_p_": "0.1",
        "setbit_": "false",
        "adaptive_": "0",
        "feng_adaptive_": "0",
        "alpha_": "0.01",
        "beta_": "0.9",
        "interval_": "0.5",
        "top_": "0.5",
        "bottom_": "0",
        "targetdelay_": "0.005",
    },
    "REM": {
        "mean_pktsize_": "1000",
        "phi_": "1.001",
        "gamma_": "0.001",
        "inw_": "1",
        "pupdtime_": "0.002",
        "pbo_": "20",
        "markpkts_": "false",
        "qib_": "false",
    },
    "PI": {
        "bytes_": "false",
        "queue_in_bytes_": "false",
        "mean_pktsize_": "500",
        "setbit_": "false",
        "a_": "0.00001822",
        "b_": "0.00001816",
        "w_": "170",
        "qref_": "50",
    },
}
# The queue classes of the extended binary are children of RED: they have its variables and these. Those that mean an
# unset threshold have 0.
RED_CHILDREN: Mapping[str, Mapping[str, str]] = {
    "RED/MECN": {
        "mid_": "0",
        "m_adapt_": "0",
        "p2ratio_": "1",
        "p2fix_": "0",
        "m_inside_": "0",
        "m_ascale_": "1",
        "m_gdrop_": "1",
    },
    "RED/RARED": {"slope_th_": "20", "maxp2_": "0.8", "rmode_": "0", "rsrc_": "0"},
    "RED/NRED": {"n_0_": "2", "n_min_": "1", "n_max_": "5", "n_gate_": "1"},
    "RED/REDAT": {
        "at_dmin_": "0.5",
        "at_dmax_": "0.2",
        "at_alpha_": "0.1",
        "at_beta_": "0.05",
        "at_hold_": "4",
        "at_region_": "0",
        "at_reset_": "1",
    },
    "RED/BLUE": {"b_d1_": "0.0025", "b_d2_": "0.00025", "b_freeze_": "0.1", "b_limit_": "0"},
}
# Variables that we can take only as ns-2 ships them.
FIXED_QUEUE: Mapping[str, Mapping[str, str]] = {
    "DropTail": {"drop_front_": "false", "drop_smart_": "false", "drop_prio_": "false"},
    "RED": {
        "drop_tail_": "true",
        "drop_front_": "false",
        "drop_rand_": "false",
        "doubleq_": "false",
        "ns1_compat_": "false",
        "cautious_": "0",
    },
    "REM": {},
    "PI": {},
}
# Variables without any effect in the script's experiments: overwritten by it, or outputs, or read only by what is off.
INERT_QUEUE: Mapping[str, frozenset[str]] = {
    "DropTail": frozenset({"limit_", "summarystats_"}),
    "RED": frozenset(
        {"limit_", "summarystats_", "idle_pktsize_", "dqthresh_", "thresh_queue_", "curq_", "ave_", "prob1_"}
    ),
    "REM": frozenset({"limit_", "prob_", "curq_", "pmark_"}),
    "PI": frozenset({"limit_", "prob_", "curq_"}),
}
# Variables of Agent/TCP that are times: our key, and the stock value in seconds.
TCP_TIMES: Mapping[str, tuple[str, str]] = {
    "tcpTick_": ("tick", "0.01"),
    "minrto_": ("min_rto", "0.2"),
    "maxrto_": ("max_rto", "60"),
    "rtxcur_init_": ("initial_rto", "3"),
    "overhead_": ("send_overhead", "0"),
}
# Those that we can take only as ns-2 ships them. (The header's size is the SYN's too, which ours does not vary.)
FIXED_TCP: Mapping[str, str] = {
    "windowInitOption_": "1",
    "tcpip_base_hdr_size_": "40",
    "windowOption_": "1",
    "bugFix_": "true",
    "bugFix_ack_": "false",
    "bugFix_ts_": "false",
    "LimTransmitFix_": "false",
    "SetCWRonRetransmit_": "true",
    "partial_ack_": "false",
    "srtt_init_": "0",
    "rttvar_init_": "12",
    "rttvar_exp_": "2",
    "T_SRTT_BITS": "3",
    "T_RTTVAR_BITS": "2",
    "rfc2988_": "true",
    "timerfix_": "true",
    "maxburst_": "0",
    "aggressive_maxburst_": "1",
    "maxcwnd_": "0",
    "numdupacks_": "3",
    "numdupacksFrac_": "-1",
    "noFastRetrans_": "false",
    "exitFastRetrans_": "true",
    "oldCode_": "false",
    "timestamps_": "false",
    "increase_num_": "1",
    "decrease_num_": "0.5",
    "delay_growth_": "true",
    "syn_": "true",
    "old_ecn_": "0",
    "eln_": "0",
    "max_ssthresh_": "0",
    "cwnd_range_": "0",
    "sfrto_enabled_": "0",
    "frto_enabled_": "0",
    "qs_enabled_": "false",
    "QOption_": "0",
    "EnblRTTCtr_": "0",
    "control_increase_": "0",
}
# Read only by options that are off, by other variants, or outputs.
INERT_TCP = frozenset(
    {
        "windowConstant_",
        "windowThresh_",
        "low_window_",
        "high_window_",
        "k_parameter_",
        "l_parameter_",
        "ts_resetRTO_",
        "ts_option_size_",
        "slow_start_restart_",
        "restart_bugfix_",
        "CoarseTimer_",
        "spurious_response_",
        "tcp_qs_recovery_",
        "rate_request_",
        "trace_all_oneline_",
    }
)
VARIANTS: Mapping[str, str] = {
    "Tahoe": "tahoe",
    "Reno": "reno",
    "Newreno": "newreno",
    "Sack1": "sack",
    "Vegas": "vegas",
    "MecnReno": "reno",
    "Westwood": "westwood",
}
# The multi-level ECN of the extended binary's Reno: its variables and their stock values.
MECN_TCP: Mapping[str, str] = {
    "mecnMode_": "0",
    "mecnB1_": "0.2",
    "mecnB2_": "0.4",
    "mecnEscalate_": "0",
    "mecnFloor_": "0",
}
MECN_MODES = ("decrease", "hold", "additive")
