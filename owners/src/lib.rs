//! The owners' protocol.
