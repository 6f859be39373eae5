//! The reasons why a link cannot be made.

use penstock_units::param::ParamError;

/// Why a link cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// A discipline's values do not fit together.
    #[error("{link}: {error}")]
    Aqm {
        /// The link's name.
        link: String,
        /// What is wrong.
        error: ParamError,
    },
    /// A custom discipline could not be made; [`crate::Abort::take`] has its error.
    #[error("{0}")]
    Custom(String),
}
