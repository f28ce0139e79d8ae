//! Which exit code an error becomes: 2 for what the user typed or wrote, 1 for everything else.
//! It words no message; each place says what was found and what is accepted.

use std::process::ExitCode;

use crate::say;

/// An error in an argument, a variable or a file that the user wrote.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// A usage error with this message.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    Usage(message.into()).into()
}

/// Prints the error and gives its exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    say::note!("{error:#}");
    ExitCode::from(if error.chain().any(|cause| cause.is::<Usage>()) { 2 } else { 1 })
}
