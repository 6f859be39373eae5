//! Recorded tables as plain numbers.

use penstock_sim::{Column, Table};

/// The tables that a session records. A table's number is its place here.
pub(crate) const TABLES: &[&str] =
    &["queue", "events", "cwnd", "rtt", "goodput", "model", "fct", "pages"];

/// Appends tables to `out`: of each its number, its columns, its rows, then column after column.
pub(crate) fn append(out: &mut Vec<f64>, tables: &[Table]) {
    for table in tables {
        let number = TABLES.iter().position(|name| *name == table.name).expect("a known table");
        let rows = table.columns.first().map_or(0, |(_, column)| column.rows());
        out.extend([number as f64, table.columns.len() as f64, rows as f64]);
        for (_, column) in &table.columns {
            match column {
                Column::F64(values) => out.extend(values),
                Column::U64(values) => out.extend(values.iter().map(|v| *v as f64)),
                Column::Word(values, _) => out.extend(values.iter().map(|v| f64::from(*v))),
            }
        }
    }
}
