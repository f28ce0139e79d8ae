//! Devices: which there are, what they are, how they reach each other.
//! Numbers come from the driver's attributes; none is known here.

pub mod choice;
pub mod peer;
pub mod properties;
pub mod settings;
