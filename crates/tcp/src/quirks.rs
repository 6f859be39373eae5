//! ns-2 2.35 has quirks where RFCs say otherwise, or nothing. This file holds all that
//! `loss_recovery = "ns-2"` asks for, in one place. Peculiarities that users may choose one by one
//! are parameters.

/// The book-keeping that a connection follows: the RFCs', or ns-2's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quirks {
    ns2: bool,
}

/// Declares peculiarities: each is there or not with all the others.
macro_rules! quirks {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        impl Quirks {
            $(
                $(#[$doc])*
                #[inline]
                pub(crate) fn $name(self) -> bool {
                    self.ns2
                }
            )*
        }
    };
}

impl Quirks {
    #[inline]
    pub(crate) const fn new(ns2: bool) -> Self {
        Quirks { ns2 }
    }
}

// The sender.
quirks! {
    /// `recover` is 0 before the first loss, as if segment 0 had been lost.
    recover_starts_at_0;
    /// The timer runs even with nothing outstanding; that matters only when cwnd is below 1.
    timer_always_runs;
    /// A timeout in a window that was cut for a mark does not cut ssthresh again.
    timeout_spares_a_marked_window;
    /// A timeout of a segment that the timer has already sent again cuts ssthresh again.
    every_timeout_cuts;
}

// Marks.
quirks! {
    /// A mark cuts although a timeout has cut for its window.
    marks_cut_after_a_timeout;
    /// At a window of one an incipient mark, or one that DCTCP counts, backs the timer off.
    mild_marks_back_off;
    /// At a window of one multi-level ECN sends on.
    levels_do_not_wait;
}

// Tahoe, Reno and NewReno.
quirks! {
    /// Tahoe goes on counting duplicate ACKs after a timeout.
    tahoe_keeps_duplicates;
    /// The ACK that ends recovery grows the window; it does not become ssthresh.
    recovery_ends_by_growing;
}

// SACK: the pipe of Fall and Floyd.
quirks! {
    /// `pipe` is counted up and down, and every hole below a report is lost.
    pipe_is_counted;
    /// A new ACK forgets what was reported.
    new_acks_forget_reports;
    /// Only the third duplicate ACK starts recovery, whatever has been reported.
    only_three_duplicates_count;
    /// Recovery starts with one segment, whatever the pipe allows.
    starts_with_one_segment;
    /// The end of recovery forgets `recover`.
    end_forgets_recover;
    /// A partial ACK leaves the window's left edge where it was.
    left_edge_waits;
    /// No duplicates are counted between a timeout and the next new ACK.
    deaf_after_a_timeout;
}

// Vegas.
quirks! {
    /// Diff is rounded to whole segments.
    vegas_rounds_diff;
    /// A segment that has expired is sent again even if it was never sent.
    vegas_resends_the_unsent;
    /// Duplicates after a timeout bring the window down to nothing, and only the timer helps.
    vegas_falls_to_nothing;
}
