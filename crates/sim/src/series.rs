//! The series of the flows: what a run writes down when asked.

use penstock_queue::{Column, Table};

/// The `cwnd`, `rtt` and `goodput` series of all flows.
#[derive(Default)]
pub(crate) struct FlowSeries {
    pub(crate) cwnd: [Vec<f64>; 3],
    pub(crate) cwnd_flow: Vec<u64>,
    pub(crate) rtt: [Vec<f64>; 2],
    pub(crate) rtt_flow: Vec<u64>,
    /// Payload bytes acknowledged since the beginning, a row with each of `cwnd`.
    pub(crate) acked: Vec<u64>,
}

impl FlowSeries {
    pub(crate) fn tables(self) -> [Table; 3] {
        let [t, cwnd, ssthresh] = self.cwnd;
        let [rt, rtt] = self.rtt;
        let column = |name: &str, c| (name.to_owned(), c);
        let (t_acked, flow_acked) = (t.clone(), self.cwnd_flow.clone());
        [
            Table {
                name: "cwnd",
                columns: vec![
                    column("t_s", Column::F64(t)),
                    column("flow", Column::U64(self.cwnd_flow)),
                    column("cwnd_segments", Column::F64(cwnd)),
                    column("ssthresh_segments", Column::F64(ssthresh)),
                ],
            },
            Table {
                name: "rtt",
                columns: vec![
                    column("t_s", Column::F64(rt)),
                    column("flow", Column::U64(self.rtt_flow)),
                    column("rtt_s", Column::F64(rtt)),
                ],
            },
            Table {
                name: "goodput",
                columns: vec![
                    column("t_s", Column::F64(t_acked)),
                    column("flow", Column::U64(flow_acked)),
                    column("acked_bytes", Column::U64(self.acked)),
                ],
            },
        ]
    }
}
