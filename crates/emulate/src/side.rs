//! The two sides of the router.

/// The side of the router that a frame comes from or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Side {
    /// The hosts on the scenario's `access` side.
    Left = 0,
    /// The hosts on its `egress` side.
    Right = 1,
}

impl Side {
    /// Returns the other side.
    pub fn other(self) -> Self {
        if self == Side::Left {
            Side::Right
        } else {
            Side::Left
        }
    }
}
