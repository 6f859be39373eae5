//! The series of the flows: what a run writes down when asked.

use penstock_queue::{Column, Table};
use penstock_tcp::{Phase, Sender};

/// What the controls believe of their paths: the `model` series.
#[derive(Clone, Default)]
pub(crate) struct Models {
    t: Vec<f64>,
    flow: Vec<u64>,
    /// Pacing rate, bandwidth, minimum round trip, marked fraction.
    numbers: [Vec<f64>; 4],
    phase: Vec<u8>,
}

/// The words of the column `state`: those of [`Phase`], and nothing for a control without.
const PHASES: &[&str] = &{
    let mut words = [""; Phase::WORDS.len() + 1];
    let mut i = 0;
    while i < Phase::WORDS.len() {
        words[i + 1] = Phase::WORDS[i];
        i += 1;
    }
    words
};

impl Models {
    /// Adds a row, if the sender's control has a model.
    pub(crate) fn sample(&mut self, t_s: f64, flow: u64, s: &Sender, segment_bytes: u32) {
        let Some(m) = s.model() else { return };
        let bits = f64::from(segment_bytes) * 8.0;
        let row = [
            s.pacing_rate(),
            m.bandwidth.map(|segments| segments * bits),
            m.min_rtt.map(|rtt| rtt.as_secs_f64()),
            m.alpha,
        ];
        self.t.push(t_s);
        self.flow.push(flow);
        for (column, value) in self.numbers.iter_mut().zip(row) {
            column.push(value.unwrap_or(f64::NAN));
        }
        self.phase.push(m.phase.map_or(0, |phase| phase as u8 + 1));
    }

    fn table(self) -> Table {
        let [pacing, bandwidth, min_rtt, alpha] = self.numbers;
        let column = |name: &str, c| (name.to_owned(), c);
        Table {
            name: "model",
            columns: vec![
                column("t_s", Column::F64(self.t)),
                column("flow", Column::U64(self.flow)),
                column("pacing_bps", Column::F64(pacing)),
                column("bandwidth_bps", Column::F64(bandwidth)),
                column("min_rtt_s", Column::F64(min_rtt)),
                column("alpha", Column::F64(alpha)),
                column("state", Column::Word(self.phase, PHASES)),
            ],
        }
    }
}

/// The `model` series of a run none of whose controls has a model.
pub fn no_models() -> Table {
    Models::default().table()
}

/// The `cwnd`, `rtt`, `goodput` and `model` series of all flows.
#[derive(Clone, Default)]
pub(crate) struct FlowSeries {
    pub(crate) cwnd: [Vec<f64>; 3],
    pub(crate) cwnd_flow: Vec<u64>,
    pub(crate) rtt: [Vec<f64>; 2],
    pub(crate) rtt_flow: Vec<u64>,
    /// Payload bytes acknowledged since the beginning, a row with each of `cwnd`.
    pub(crate) acked: Vec<u64>,
    pub(crate) models: Models,
}

impl FlowSeries {
    /// Returns the tables; that of models only where there is one.
    pub(crate) fn tables(self) -> Vec<Table> {
        let [t, cwnd, ssthresh] = self.cwnd;
        let [rt, rtt] = self.rtt;
        let column = |name: &str, c| (name.to_owned(), c);
        let (t_acked, flow_acked) = (t.clone(), self.cwnd_flow.clone());
        let mut tables = vec![
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
        ];
        if !self.models.t.is_empty() {
            tables.push(self.models.table());
        }
        tables
    }
}
