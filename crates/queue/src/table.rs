//! Tables, in which a run writes down more than its metrics.

/// A table of equally long columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// `"queue"`, `"cwnd"`, …
    pub name: &'static str,
    /// Column names and values.
    pub columns: Vec<(String, Column)>,
}

/// A column of a [`Table`].
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Real numbers.
    F64(Vec<f64>),
    /// Whole numbers.
    U64(Vec<u64>),
    /// Words out of a small set: the code of each row, and the words.
    Word(Vec<u8>, &'static [&'static str]),
}

impl Column {
    /// Returns how many rows it has.
    pub fn rows(&self) -> usize {
        match self {
            Column::F64(values) => values.len(),
            Column::U64(values) => values.len(),
            Column::Word(values, _) => values.len(),
        }
    }
}
