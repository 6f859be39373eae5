//! Tables put together while the program is compiled.

/// Returns how many rows the parts of a table have together.
pub const fn length<T>(parts: &[&[T]]) -> usize {
    let (mut n, mut part) = (0, 0);
    while part < parts.len() {
        n += parts[part].len();
        part += 1;
    }
    n
}

/// Puts the parts of a table together, of which the first is not empty: see [`joined!`](crate::joined).
pub const fn join<T: Copy, const N: usize>(parts: &[&[T]]) -> [T; N] {
    let mut all = [parts[0][0]; N];
    let (mut n, mut part) = (0, 0);
    while part < parts.len() {
        let mut row = 0;
        while row < parts[part].len() {
            all[n] = parts[part][row];
            n += 1;
            row += 1;
        }
        part += 1;
    }
    assert!(n == N, "as many rows as the table has room for");
    all
}

/// Makes one table of the rows of a constant list of tables, of which the first is not empty.
///
/// ```
/// const PARTS: &[&[u8]] = &[&[1, 2], &[], &[3]];
/// const ALL: &[u8] = penstock_units::joined!(PARTS);
/// assert_eq!(ALL, [1, 2, 3]);
/// ```
#[macro_export]
macro_rules! joined {
    ($parts:expr) => {
        &$crate::join::<_, { $crate::length($parts) }>($parts)
    };
}
