//! The pages of browsers' sessions: their series and metrics. A run has them only where there are
//! such sessions.

use crate::result::PageResult;
use crate::statistics::{mean, quantile};
use crate::transfers::Transfer;
use penstock_queue::{values, Column, Of, Table};
use penstock_units::{Duration, Time};
use std::collections::BTreeMap;

/// A page that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// When its last object was there.
    pub end: Time,
    /// The first connection of its session, an index into [`crate::Config::flows`].
    pub flow: u32,
    /// The session's number within its group.
    pub session: u32,
    /// How many objects it had.
    pub objects: u32,
    /// Their length together.
    pub bytes: u64,
    /// How long it took.
    pub took: Duration,
}

/// What ended, in the order of the ends.
#[derive(Clone, Default)]
pub(crate) struct Ended {
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) pages: Vec<Page>,
}

/// What the metrics of pages are computed from: those of a run, or of a group.
#[derive(Clone, Debug, Default)]
pub struct PageView {
    /// Pages that were complete in the window, in the order of their ends.
    pub ended: Vec<Page>,
    /// Requests sent again in the window.
    pub repeats: u64,
}

/// Metrics of pages, of a run and of a traffic group alike.
pub const PAGE_METRICS: &[Of<PageView>] = &[
    Of::new(
        "page_time_mean_s",
        "Mean page time",
        "Mean time from the beginning of a page to the end of its last object, over the pages that \
         ended in the window; only where a web group has `connections`, as the rows below.",
        |p| mean(&p.seconds()),
    ),
    Of::new("page_time_p50_s", "Median page time", "Median of the same.", |p| quantile(&mut p.seconds(), 0.5)),
    Of::new("page_time_p95_s", "95th-percentile page time", "95th percentile of the same.", |p| {
        quantile(&mut p.seconds(), 0.95)
    }),
    Of::new("page_time_p99_s", "99th-percentile page time", "99th percentile of the same.", |p| {
        quantile(&mut p.seconds(), 0.99)
    }),
    Of::new("pages", "Pages", "Pages that ended in the window.", |p| Some(p.ended.len() as f64)),
    Of::new(
        "request_repeats",
        "Requests sent again",
        "Requests that were sent again in the window, because no answer came.",
        |p| Some(p.repeats as f64),
    ),
];

impl PageView {
    fn seconds(&self) -> Vec<f64> {
        self.ended.iter().map(|p| p.took.as_secs_f64()).collect()
    }
}

impl PageResult {
    /// Returns the numbers of pages over the window; `None` where no group has sessions.
    ///
    /// `repeats`: of each group that has sessions, the requests sent again in the window.
    /// `group_of`: the group of a flow.
    pub fn of(
        pages: &[Page],
        (from, to): (Time, Time),
        repeats: &BTreeMap<u32, u64>,
        group_of: impl Fn(u32) -> u32,
    ) -> Option<Self> {
        let view = |repeats| PageView { ended: vec![], repeats };
        let mut run = view(repeats.values().sum());
        let mut groups: BTreeMap<u32, PageView> =
            repeats.iter().map(|(group, repeats)| (*group, view(*repeats))).collect();
        for page in pages.iter().filter(|p| p.end >= from && p.end < to) {
            run.ended.push(*page);
            groups.entry(group_of(page.flow)).or_default().ended.push(*page);
        }
        let of = |view: &PageView| values(PAGE_METRICS, view);
        (!groups.is_empty()).then(|| PageResult {
            metrics: of(&run),
            groups: groups.iter().map(|(group, view)| (*group, of(view))).collect(),
        })
    }
}

/// Returns the `pages` series: every page with its end, session, objects, bytes and time.
pub fn page_table(pages: &[Page]) -> Table {
    let reals = |of: fn(&Page) -> f64| Column::F64(pages.iter().map(of).collect());
    let counts = |of: fn(&Page) -> u64| Column::U64(pages.iter().map(of).collect());
    Table {
        name: "pages",
        columns: vec![
            ("t_s".into(), reals(|p| p.end.as_secs_f64())),
            ("flow".into(), counts(|p| u64::from(p.flow))),
            ("session".into(), counts(|p| u64::from(p.session))),
            ("objects".into(), counts(|p| u64::from(p.objects))),
            ("bytes".into(), counts(|p| p.bytes)),
            ("page_time_s".into(), reals(|p| p.took.as_secs_f64())),
        ],
    }
}
