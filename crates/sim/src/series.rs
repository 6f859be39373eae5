//! The series of the flows: what a run writes down when asked.

use penstock_queue::{Column, Table};

/// The `cwnd` and `rtt` series of all flows.
#[derive(Default)]
pub(crate) struct FlowSeries {
    pub(crate) cwnd: [Vec<f64>; 3],
    pub(crate) cwnd_flow: Vec<u64>,
    pub(crate) rtt: [Vec<f64>; 2],
    pub(crate) rtt_flow: Vec<u64>,
}

impl FlowSeries {
    pub(crate) fn tables(self) -> [Table; 2] {
        let [t, cwnd, ssthresh] = self.cwnd;
        let [rt, rtt] = self.rtt;
        let column = |name: &str, c| (name.to_owned(), c);
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
        ]
    }
}
