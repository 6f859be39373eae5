//! The errors of an emulation.

use std::fmt;
use std::io;

/// The reason why an emulation did not start, or did not finish.
#[derive(Debug)]
#[non_exhaustive]
pub enum EmulateError {
    /// Real packets cannot carry out this scenario.
    Scenario(String),
    /// The machine does not allow it. The text says what forbids it and what helps.
    Refused(String),
    /// A program or a part of the kernel is missing. The text says which, and how to get it.
    Missing(String),
    /// A system call failed.
    System {
        /// The action that failed.
        doing: String,
        /// The kernel's answer.
        error: io::Error,
    },
    /// The capture could not be written: the system's error number. The caller knows the file.
    Capture(i32),
    /// A program that was started failed.
    Program(String),
    /// The emulation was interrupted.
    Interrupted,
}

impl EmulateError {
    /// Makes the error for a system call that failed while doing this.
    pub fn system(doing: impl Into<String>, error: io::Error) -> Self {
        EmulateError::System { doing: doing.into(), error }
    }
}

impl fmt::Display for EmulateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmulateError::Scenario(s)
            | EmulateError::Refused(s)
            | EmulateError::Missing(s)
            | EmulateError::Program(s) => f.write_str(s),
            EmulateError::System { doing, error } => write!(f, "{doing}: {error}"),
            EmulateError::Capture(errno) => {
                write!(f, "writing the capture: {}", io::Error::from_raw_os_error(*errno))
            }
            EmulateError::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for EmulateError {}
