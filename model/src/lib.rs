//! What a machine is.
