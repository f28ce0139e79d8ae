//! The ghostrack command.
fn main() {}
